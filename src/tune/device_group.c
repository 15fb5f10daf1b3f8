/* SPDX-License-Identifier: MIT */
#include "tune/device_group.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "device/device.h"
#include "tune/tune.h"

#define FAILED  1   /* exit code */
#define LOOK_NS INT64_C(20000000)
#define RENEW_NS ((int64_t)(GS_LEASE_S * 1e9 / 10))

/* ---- names ---- */

static gs_status no_child(int why, gs_error *error) { return gs_fail_errno(error, why, NULL, "no child for a device"); }

static void *shared_memory(size_t size)
{
    void *const at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static gs_status add(gs_device_group *group, const char *name, size_t length, gs_error *error)
{
    if (length == 0 || length >= sizeof group->member->device) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "'%.*s' is no device", (int)length, name);
    if (group->count == GS_GROUP_MOST) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "more than %d devices", GS_GROUP_MOST);
    gs_group_member *const member = &group->member[group->count];
    *member = (gs_group_member){.index = group->count};
    memcpy(member->device, name, length);
    for (int i = 0; i < group->count; i++)   /* two tuners on one GPU would disturb each other's measurements */
        if (strcmp(group->member[i].device, member->device) == 0 && strncmp(name, "emu:", 4) != 0)
            return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s is named twice", member->device);
    group->count++;
    return GS_OK;
}

/* Asks the driver in a child process: a process that forks must not have initialised CUDA. */
static gs_status count_gpus(int *count, gs_error *error)
{
    gs_error *const why = shared_memory(sizeof *why);
    if (!why) return no_child(errno, error);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) _exit(GS_MIN(gs_device_count(why), GS_GROUP_MOST));
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    *count = child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    gs_status result = child < 0 ? no_child(errno, error) : *count > 0 ? GS_OK : GS_ERROR_NO_DEVICE;
    if (result == GS_ERROR_NO_DEVICE) gs_fail(error, result, NULL, "the driver does not say how many GPUs there are");
    if (result == GS_ERROR_NO_DEVICE && why->status != GS_OK) {
        *error = *why;
        result = why->status;
    }
    munmap(why, sizeof *why);
    return result;
}

static gs_status add_all(gs_device_group *group, gs_error *error)
{
    int count = 0;
    GS_TRY(count_gpus(&count, error));
    for (int i = 0; i < count; i++) {
        char name[GS_WORKER_DEVICE];
        snprintf(name, sizeof name, "cuda:%d", i);
        GS_TRY(add(group, name, strlen(name), error));
    }
    return GS_OK;
}

static gs_status add_names(gs_device_group *group, const char *names, gs_error *error)
{
    for (const char *at = names; at;) {
        const size_t length = strcspn(at, ",");
        GS_TRY(add(group, at, length, error));
        at = at[length] ? at + length + 1 : NULL;
    }
    return GS_OK;
}

gs_status gs_device_group_name(gs_device_group *group, const char *devices, gs_error *error)
{
    group->member = shared_memory(GS_GROUP_MOST * sizeof *group->member);
    if (!group->member) return no_child(errno, error);
    gs_status status = GS_OK;
    if (!devices) group->count = 1;
    else status = strcmp(devices, "all") == 0 ? add_all(group, error) : add_names(group, devices, error);
    for (int i = 0; i < group->count; i++) group->member[i].count = group->count;
    if (status != GS_OK) gs_device_group_free(group);
    return status;
}

void gs_device_group_free(gs_device_group *group)
{
    if (group->member) munmap(group->member, GS_GROUP_MOST * sizeof *group->member);
    group->member = NULL;
    group->count = 0;
}

/* ---- children ---- */

typedef struct child {
    pid_t pid;      /* 0: ended */
    int   status;   /* then, as from waitpid */
} child;

/* The child has its own process group, so that Ctrl-C reaches it only through the parent. It gets SIGTERM if the parent dies. */
static _Noreturn void be_child(const gs_device_group *group, gs_group_member *member, pid_t parent, const char *run)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(FAILED);
    gs_lessee_of(&member->lessee, run, getpid());
    const int code = group->work(group->self, member);
    fflush(NULL);
    _exit(code);
}

static gs_status start(gs_device_group *group, child *children, const char *run, gs_error *error)
{
    const pid_t parent = getpid();
    fflush(NULL);
    for (int i = 0; i < group->count; i++) {
        const pid_t pid = fork();
        if (pid == 0) be_child(group, &group->member[i], parent, run);
        if (pid < 0) {
            const int why = errno;
            for (int k = 0; k < i; k++) kill(children[k].pid, SIGTERM);
            return no_child(why, error);
        }
        setpgid(pid, pid);
        children[i].pid = pid;
    }
    return GS_OK;
}

static int collect(child *children, int count)
{
    int living = 0;
    for (int i = 0; i < count; i++) {
        if (children[i].pid > 0 && waitpid(children[i].pid, &children[i].status, WNOHANG) == children[i].pid) children[i].pid = 0;
        living += children[i].pid > 0;
    }
    return living;
}

/* Renews the leases; a failure is retried long before a lease ends. */
static void renew(const gs_device_group *group, const child *children)
{
    for (int i = 0; i < group->count; i++) {
        gs_error error = {0};
        const gs_group_member *const m = &group->member[i];
        if (children[i].pid == 0 || !m->lessee.run[0]) continue;
        if (gs_store_renew(group->store, &m->lessee, GS_LEASE_S, NULL, &error) != GS_OK)
            gs_log(GS_LOG_WARNING, "leases of %s were not renewed: %s", m->device, error.text);
    }
}

static void watch(const gs_device_group *group, child *children)
{
    int64_t renewed = gs_clock_ns();
    bool stopped = false;
    while (collect(children, group->count) > 0) {
        int done = 0;
        for (int i = 0; i < group->count; i++) done += group->member[i].sum.tuned + group->member[i].sum.failed + group->member[i].sum.late;
        const int signal = gs_stop_requested;
        if (signal && !stopped) {
            stopped = true;
            for (int i = 0; i < group->count; i++)
                if (children[i].pid > 0) kill(children[i].pid, signal);
        }
        if (group->store && gs_clock_ns() - renewed > RENEW_NS) {
            renew(group, children);
            renewed = gs_clock_ns();
        }
        if (group->progress) group->progress(group->self, done);
        gs_clock_sleep_ns(LOOK_NS);
    }
}

/* ---- the end ---- */

/* Whether two children work on the same problems, i.e. have the same kind of GPU. One that was killed early has not entered its slug. */
static bool same_gpu(const gs_group_member *a, const gs_group_member *b)
{
    if (a->slug[0] && b->slug[0]) return strcmp(a->slug, b->slug) == 0;
    return strcmp(a->device, b->device) == 0 || (strncmp(a->device, "cuda:", 5) == 0 && strncmp(b->device, "cuda:", 5) == 0);
}

/* One child's contribution to the exit code; 0: none. */
static int judge(const gs_device_group *group, const child *children, int index)
{
    gs_group_member *const m = &group->member[index];
    const int status = children[index].status;
    for (int i = 0; i < group->count; i++) m->covered |= group->member[i].complete && same_gpu(m, &group->member[i]);
    if (WIFEXITED(status)) return m->covered && WEXITSTATUS(status) == group->late ? 0 : WEXITSTATUS(status);
    m->signal = WTERMSIG(status);
    return m->covered ? 0 : FAILED;
}

static int weight(const gs_device_group *group, int code) { return code == 0 ? 0 : code == FAILED ? 1 : code == group->late ? 2 : 3; }

static int merge(const gs_device_group *group, const child *children)
{
    int worst = 0;
    for (int i = 0; i < group->count; i++) {
        const int code = judge(group, children, i);
        if (weight(group, code) > weight(group, worst)) worst = code;
    }
    return worst;
}

/* Opens and closes the store before there are children, so that an error is reported once; an open store must not cross a fork. */
static gs_status try_store(gs_device_group *group, gs_error *error)
{
    GS_TRY(gs_store_open(&group->store, group->store_path, error));
    gs_store_close(&group->store);
    return GS_OK;
}

/* A named run is shared with other groups, so only leases are released, and they still see which problems are done. */
static gs_status release(const gs_device_group *group, const char *run, gs_error *error)
{
    if (!group->run) return gs_store_release_run(group->store, run, error);
    for (int i = 0; i < group->count; i++)
        if (group->member[i].lessee.run[0]) GS_TRY(gs_store_release_all(group->store, &group->member[i].lessee, error));
    return GS_OK;
}

gs_status gs_device_group_run(gs_device_group *group, int *code, gs_error *error)
{
    child children[GS_GROUP_MOST] = {0};
    char run[GS_LEASE_RUN];
    gs_error why = {0};
    *code = 0;
    GS_TRY(try_store(group, error));
    if (group->run) GS_TRY(gs_lessee_run_check(group->run, error));
    if (group->run) snprintf(run, sizeof run, "%s", group->run);
    else gs_lessee_run(run);
    const gs_status started = start(group, children, run, error);
    gs_status status = gs_store_open(&group->store, group->store_path, &why);
    if (status != GS_OK) gs_log(GS_LOG_WARNING, "leases will not be renewed: %s", why.text);
    watch(group, children);
    if (group->store && (status = release(group, run, &why)) != GS_OK)
        gs_log(GS_LOG_WARNING, "leases of this run stay in the store: %s", why.text);
    if (started == GS_OK) *code = merge(group, children);
    return started;
}
