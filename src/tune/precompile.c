/* SPDX-License-Identifier: MIT
 * Compiling many schedules at once into the cubin cache, without a device. Children take the next index from a counter in shared
 * memory; one that crashes or never ends costs the schedule it was at, and another child goes on. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "plan/loaded.h"
#include "tune/tune.h"

enum { MAX_JOBS = 256, COMPILE_LIMIT_S = 300 };

/* What happened to a schedule; 0: nothing yet. */
enum { COMPILING = 1, COMPILED, FAILED };

typedef struct board {
    atomic_int stop, next, no_compiler;
    struct {
        atomic_llong since;    /* when its current compilation began, ns; 0: idle */
        atomic_int   index;    /* which schedule that is */
    } child[MAX_JOBS];
    atomic_uchar state[];      /* one per schedule */
} board;

typedef struct work {
    const gs_caps     *caps;
    const gs_problem  *problem;
    const gs_schedule *list;
    int                count;
    const char        *cache;
    board             *shared;
    size_t             shared_size;
} work;

static gs_status compile_one(const work *w, int index)
{
    gs_kernel kernel;
    gs_kernel_source source;
    gs_image image = {0};
    gs_error why = {0};
    gs_status status = gs_schedule_check(&w->list[index], w->problem, w->caps, &why);
    if (status == GS_OK) status = gs_kernel_build(&kernel, &w->list[index], w->problem, w->caps, &why);
    if (status == GS_OK) {
        gs_kernel_to_source(&kernel, &source);
        source.source.ptx = w->caps->emulated;
        status = gs_compile_cached(w->caps->target, w->cache, &source.source, &image, &why);
        gs_image_free(&image);
    }
    if (status != GS_OK) {
        char text[GS_SCHEDULE_TEXT];
        gs_log(GS_LOG_INFO, "%s: %s", gs_schedule_format(&w->list[index], text), why.text);
    }
    return status;
}

static _Noreturn void child_main(const work *w, int slot, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    board *const b = w->shared;
    for (;;) {
        if (gs_stop_requested || atomic_load(&b->stop)) _exit(0);
        const int index = atomic_fetch_add(&b->next, 1);
        if (index >= w->count) _exit(0);
        atomic_store(&b->child[slot].index, index);
        atomic_store(&b->state[index], COMPILING);
        atomic_store(&b->child[slot].since, gs_clock_ns());
        const gs_status status = compile_one(w, index);
        atomic_store(&b->child[slot].since, 0);
        atomic_store(&b->state[index], status == GS_OK ? COMPILED : FAILED);
        if (status == GS_ERROR_NO_COMPILER) {
            atomic_store(&b->no_compiler, 1);
            atomic_store(&b->stop, 1);
        }
    }
}

static pid_t start_child(const work *w, int slot)
{
    atomic_store(&w->shared->child[slot].since, 0);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) child_main(w, slot, parent);
    return pid;
}

/* One look at a child: false once it is gone and nobody needs to take its place. */
static bool look_after(const work *w, int slot, pid_t *pid)
{
    board *const b = w->shared;
    const long long since = atomic_load(&b->child[slot].since);
    if (since && gs_clock_ns() - since > COMPILE_LIMIT_S * 1000000000ll) kill(*pid, SIGKILL);
    int code = 0;
    const pid_t got = waitpid(*pid, &code, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return true;
    if (got == *pid && WIFEXITED(code) && WEXITSTATUS(code) == 0) return false;
    const int index = atomic_load(&b->child[slot].index);
    if (atomic_load(&b->state[index]) == COMPILING) atomic_store(&b->state[index], FAILED);
    gs_log(GS_LOG_WARNING, "a compiler process died at schedule %d of %d", index + 1, w->count);
    if (atomic_load(&b->stop) || atomic_load(&b->next) >= w->count) return false;
    *pid = start_child(w, slot);
    return *pid > 0;
}

static gs_status run_children(const work *w, int jobs, gs_error *error)
{
    pid_t pid[MAX_JOBS];
    int running = 0, first_error = 0;
    for (int i = 0; i < jobs; i++) {
        pid[i] = start_child(w, i);
        if (pid[i] > 0)
            running++;
        else
            first_error = errno;
    }
    if (running == 0) return gs_fail_errno(error, first_error, NULL, "no compiler process could be started");
    while (running > 0) {
        if (gs_stop_requested) atomic_store(&w->shared->stop, 1);
        running = 0;
        for (int i = 0; i < jobs; i++) {
            if (pid[i] <= 0) continue;
            if (look_after(w, i, &pid[i]))
                running++;
            else
                pid[i] = 0;
        }
        if (running > 0) gs_clock_sleep_ns(3000000);
    }
    return GS_OK;
}

static int usable_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

gs_status gs_precompile(const gs_caps *caps, const gs_problem *problem, const gs_schedule *list, int count, int jobs,
                        const char *cache, int *failed, gs_error *error)
{
    *failed = 0;
    if (count <= 0) return GS_OK;
    char path[GS_PATH] = "";
    if (!cache && !gs_user_path(path, 'c', "GEMMSMITH_CACHE", NULL)) path[0] = '\0';
    if (!cache) cache = path;
    if (!*cache) return GS_OK;   /* compiling for nothing */

    work w = {caps, problem, list, count, cache, NULL, sizeof(board) + (size_t)count};
    w.shared = mmap(NULL, w.shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.shared == MAP_FAILED) return gs_fail_errno(error, errno, NULL, "no shared memory for the compiler processes");
    if (jobs <= 0) jobs = usable_cores();
    gs_status status = run_children(&w, GS_MIN(GS_MIN(jobs, count), MAX_JOBS), error);
    for (int i = 0; i < count; i++)
        if (atomic_load(&w.shared->state[i]) == FAILED) ++*failed;
    if (status == GS_OK && atomic_load(&w.shared->no_compiler))
        status = gs_fail(error, GS_ERROR_NO_COMPILER, NULL, "schedules cannot be compiled here: NVRTC was not found");
    munmap(w.shared, w.shared_size);
    if (status == GS_OK && gs_stop_requested) status = gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped while compiling");
    return status;
}
