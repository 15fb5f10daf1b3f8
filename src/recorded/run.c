/* SPDX-License-Identifier: MIT
 * Runs a program in this process's group. Signals are blocked and taken one by one with sigwaitinfo, so none is lost and none interrupts a call. */
#include "recorded/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* The folder of this program. */
static bool own_folder(char folder[GS_PATH])
{
    const ssize_t length = readlink("/proc/self/exe", folder, GS_PATH - 1);
    if (length <= 0 || length >= GS_PATH - 1) return false;
    folder[length] = '\0';
    char *const slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    return slash;
}

bool gs_recorded_find_shim(char path[GS_PATH])
{
    static const char *const beside[] = {"", "../" GS_LIBRARY_FOLDER "/", "../lib/"};   /* a build folder; an installed prefix */
    char folder[GS_PATH], real[GS_PATH + 128];
    if (!own_folder(folder)) return false;
    for (size_t i = 0; i < GS_COUNT(beside); i++) {
        snprintf(real, sizeof real, "%s/%s" GS_RECORDED_SHIM, folder, beside[i]);
        if (!gs_file_exists(real)) continue;
        char *const whole = realpath(real, NULL);
        const bool fits = whole && strlen(whole) < GS_PATH && !strpbrk(whole, ": ");   /* separators in LD_PRELOAD */
        if (fits) strcpy(path, whole);
        free(whole);
        return fits;
    }
    return false;
}

/* Libraries that are preloaded already stay, before the shim: a sanitizer's runtime must be first. */
static bool set_environment(const gs_recorded_run *run)
{
    const char *const before = getenv("LD_PRELOAD");
    char list[4 * GS_PATH];
    bool good = setenv("GEMMSMITH_RECORD", run->folder, 1) == 0;
    if (!run->shim) return good;
    const int size = snprintf(list, sizeof list, "%s%s%s", before ? before : "", before && *before ? ":" : "", run->shim);
    return good && size < (int)sizeof list && setenv("LD_PRELOAD", list, 1) == 0 && setenv("GEMMSMITH_BLAS", "record", 1) == 0;
}

/* In the child. made: the folder was created for this run; it is removed if the program does not exist. */
static void start(const gs_recorded_run *run, bool made, char *const *argv, const sigset_t *mask)
{
    if (!set_environment(run)) {
        fprintf(stderr, "gemmsmith record: no memory for the environment of %s\n", argv[0]);
        _exit(126);
    }
    signal(SIGXFSZ, SIG_DFL);   /* this process ignores it, and the program would inherit that */
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    const int number = errno;
    if (made) rmdir(run->folder);
    fprintf(stderr, "gemmsmith record: %s: %s\n", argv[0], number == ENOENT ? "no such program" : strerror(number));
    _exit(number == ENOENT ? 127 : 126);
}

/* Waits for the end of the program and forwards signals, except those from the terminal or kernel (si_code > 0), which the program gets itself. */
static int watch(pid_t child, const sigset_t *taken)
{
    for (int status;;) {
        siginfo_t got = {0};
        const int number = sigwaitinfo(taken, &got);
        if (number > 0 && number != SIGCHLD && got.si_code <= 0) kill(child, number);
        if (waitpid(child, &status, WNOHANG) != child) continue;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

gs_status gs_recorded_run_program(const gs_recorded_run *run, char *const *argv, int *code, gs_error *error)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t taken, before;
    const bool made = !gs_file_exists(run->folder);
    GS_TRY(gs_directory_make(run->folder, error));
    char *const folder = realpath(run->folder, NULL);
    if (!folder || access(folder, W_OK | X_OK) != 0) {
        const int number = errno;
        free(folder);
        return gs_fail_errno(error, number, run->folder, "cannot be written to");
    }
    const gs_recorded_run whole = {.folder = folder, .shim = run->shim};
    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    for (size_t i = 0; i < GS_COUNT(passed); i++) sigaddset(&taken, passed[i]);
    sigprocmask(SIG_BLOCK, &taken, &before);
    sigaction(SIGCHLD, &usual, NULL);   /* if it were ignored, the end of the program would not be reported */
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) start(&whole, made, argv, &before);
    const int number = errno;
    if (child > 0) *code = watch(child, &taken);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(folder);
    return child > 0 ? GS_OK : gs_fail_errno(error, number, argv[0], "cannot be started");
}
