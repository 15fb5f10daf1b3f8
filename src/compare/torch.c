/* SPDX-License-Identifier: MIT */
#include "compare/torch.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

#define SCRIPT      "gemmsmith/torch_contender.py"
#define LIBRARY     "libgemmsmith.so"
#define REPLY_LIMIT (16u << 20)

extern char **environ;

/* "<folder of this program>/<tail>" */
static bool beside_program(char path[GS_PATH], const char *tail)
{
    char self[GS_PATH];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return false;
    self[length] = '\0';
    char *const slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    const int size = snprintf(path, GS_PATH, "%s/%s", self, tail);
    return size < GS_PATH && gs_file_exists(path);
}

/* In $GEMMSMITH_PYTHON, in python/ of the working directory, or in the installation. */
static bool find_script(char path[GS_PATH])
{
    const char *const set = getenv("GEMMSMITH_PYTHON");
    if (set && *set) return snprintf(path, GS_PATH, "%s/" SCRIPT, set) < GS_PATH && gs_file_exists(path);
    snprintf(path, GS_PATH, "python/" SCRIPT);
    return gs_file_exists(path) || beside_program(path, "../share/gemmsmith/python/" SCRIPT);
}

static void find_library(char path[GS_PATH])
{
    const char *const set = getenv("GEMMSMITH_LIBRARY");
    if (set && *set)
        snprintf(path, GS_PATH, "%s", set);
    else if (!beside_program(path, LIBRARY) && !beside_program(path, "../lib/" LIBRARY))
        snprintf(path, GS_PATH, LIBRARY);
}

static json_t *no_result(const char *message) { return json_pack("{s:s}", "message", message); }

/* Starts python3 with its standard error in `errors`; *from: the reading end of its standard output. */
static int start(char *const *arguments, FILE *errors, pid_t *child, int *from)
{
    int ends[2];
    if (pipe(ends) != 0) return errno;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    const int failed = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *from = ends[0];
    if (failed) close(ends[0]);
    return failed;
}

static char *read_all(int from)
{
    gs_text text = {0};
    char bytes[65536];
    ssize_t got;
    while ((got = read(from, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno != EINTR) break;
        if (got > 0 && text.size < REPLY_LIMIT) gs_text_add_bytes(&text, bytes, (size_t)got);
    }
    gs_text_add(&text, "");
    return gs_text_take(&text);
}

/* The last non-empty line of the child's standard error. */
static void last_line(FILE *errors, char line[256])
{
    char read[256];
    line[0] = '\0';
    rewind(errors);
    while (fgets(read, sizeof read, errors)) {
        read[strcspn(read, "\n")] = '\0';
        if (*read) memcpy(line, read, sizeof read);
    }
}

static json_t *run(char *const *arguments, FILE *errors)
{
    pid_t child;
    int from = -1, code = 0;
    const int failed = start(arguments, errors, &child, &from);
    if (failed) return no_result("python3 is not there");
    char *const reply = read_all(from);
    close(from);
    while (waitpid(child, &code, 0) < 0 && errno == EINTR) continue;
    json_t *const result = reply ? json_loads(reply, 0, NULL) : NULL;
    free(reply);
    if (json_is_object(result)) return result;
    json_decref(result);
    char why[256];
    last_line(errors, why);
    return no_result(*why ? why : "the script gave no result");
}

json_t *gs_torch_measure(const char *problem, const char *device, bool dependent, int64_t rounds)
{
    char script[GS_PATH], library[GS_PATH], count[24];
    if (!find_script(script)) return no_result(SCRIPT " is not there: set GEMMSMITH_PYTHON to the folder python/");
    find_library(library);
    snprintf(count, sizeof count, "%lld", (long long)(rounds > 0 ? rounds : 30));
    const char *const arguments[] = {"python3", script, problem, "--library", library, "--rounds", count, "--json", NULL};
    FILE *const errors = tmpfile();
    if (!errors) return no_result("no temporary file");
    setenv("GEMMSMITH_DEVICE", device, 1);
    setenv("GEMMSMITH_DEPENDENT", dependent ? "1" : "0", 1);
    json_t *const result = run((char *const *)arguments, errors);
    fclose(errors);
    return result;
}
