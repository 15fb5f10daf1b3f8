/* SPDX-License-Identifier: MIT */
#include "group.h"

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
#include "device/device.h"
#include "output.h"
#include "tune/tune.h"

#define LOOK_NS INT64_C(20000000)
#define RENEW_NS ((int64_t)(GS_LEASE_S * 1e9 / 10))

/* ---- names ---- */

static int no_room(const cli_command *command, int why)
{
    gs_error error;
    gs_fail_errno(&error, why, NULL, "no child for a device");
    return cli_fail(command, NULL, &error);
}

static int add(const cli_command *command, cli_group *group, const char *name, size_t length)
{
    if (length == 0 || length >= sizeof group->member->device) return cli_usage(command, "--devices: '%.*s' is no device", (int)length, name);
    if (group->count == CLI_GROUP_MOST) return cli_usage(command, "--devices: more than %d devices", CLI_GROUP_MOST);
    cli_member *const member = &group->member[group->count];
    *member = (cli_member){.index = group->count};
    memcpy(member->device, name, length);
    for (int i = 0; i < group->count; i++)   /* two that measure at once on one GPU would measure each other */
        if (strcmp(group->member[i].device, member->device) == 0 && strncmp(name, "emu:", 4) != 0)
            return cli_usage(command, "--devices: %s is named twice", member->device);
    group->count++;
    return -1;
}

/* The driver is asked in a child: nothing of it shall be in the process that starts others. */
static int count_gpus(const cli_command *command, int *count)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) return no_room(command, errno);
    if (child == 0) {
        gs_error error;
        const int gpus = gs_device_count(&error);
        if (gpus == 0) cli_fail(command, "needs an NVIDIA GPU", &error);
        fflush(NULL);
        _exit(GS_MIN(gpus, CLI_GROUP_MOST));
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    *count = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return *count > 0 ? -1 : CLI_NO_DEVICE;
}

static int add_all(const cli_command *command, cli_group *group)
{
    int count = 0, code = count_gpus(command, &count);
    for (int i = 0; i < count && code < 0; i++) {
        char name[GS_WORKER_DEVICE];
        snprintf(name, sizeof name, "cuda:%d", i);
        code = add(command, group, name, strlen(name));
    }
    return code;
}

int cli_group_name(const cli_command *command, cli_group *group, const char *devices)
{
    const size_t size = CLI_GROUP_MOST * sizeof *group->member;
    group->member = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (group->member == MAP_FAILED) {
        group->member = NULL;
        return no_room(command, errno);
    }
    int code = -1;
    if (strcmp(devices, "all") == 0) {
        code = add_all(command, group);
    } else {
        for (const char *at = devices; at && code < 0;) {
            const size_t length = strcspn(at, ",");
            code = add(command, group, at, length);
            at = at[length] ? at + length + 1 : NULL;
        }
    }
    for (int i = 0; i < group->count; i++) group->member[i].count = group->count;
    if (code >= 0) cli_group_free(group);
    return code;
}

void cli_group_free(cli_group *group)
{
    if (group->member) munmap(group->member, CLI_GROUP_MOST * sizeof *group->member);
    group->member = NULL;
    group->count = 0;
}

/* ---- children ---- */

typedef struct child {
    pid_t pid;      /* 0: it has ended */
    int   status;   /* then, as waitpid says it */
} child;

/* In a group of processes of its own, so that a terminal's Ctrl-C comes once, from the parent. A parent that is killed stops it, too. */
static _Noreturn void be_child(const cli_group *group, cli_member *member, pid_t parent, const char *run)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(CLI_FAILED);
    gs_lessee_of(&member->lessee, run, getpid());
    const int code = group->work(group->self, member);
    fflush(NULL);
    _exit(code);
}

static int start(const cli_command *command, cli_group *group, child *children, const char *run)
{
    const pid_t parent = getpid();
    fflush(NULL);
    for (int i = 0; i < group->count; i++) {
        const pid_t pid = fork();
        if (pid == 0) be_child(group, &group->member[i], parent, run);
        if (pid < 0) {
            const int why = errno;
            for (int k = 0; k < i; k++) kill(children[k].pid, SIGTERM);
            return no_room(command, why);
        }
        setpgid(pid, pid);
        children[i].pid = pid;
    }
    return -1;
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

/* A renewal that fails is tried again long before the lease ends. */
static void renew(const cli_group *group, const child *children)
{
    for (int i = 0; i < group->count; i++) {
        gs_error error = {0};
        const cli_member *const m = &group->member[i];
        if (children[i].pid == 0 || !m->lessee.run[0]) continue;
        if (gs_store_renew(group->store, &m->lessee, GS_LEASE_S, NULL, &error) != GS_OK)
            gs_log(GS_LOG_WARNING, "leases of %s were not renewed: %s", m->device, error.text);
    }
}

static void watch(const cli_group *group, child *children)
{
    int64_t renewed = gs_clock_ns();
    bool stopped = false;
    while (collect(children, group->count) > 0) {
        int done = 0;
        for (int i = 0; i < group->count; i++) done += group->member[i].sum.tuned + group->member[i].sum.failed;
        if (cli_stopped() && !stopped) {
            stopped = true;
            for (int i = 0; i < group->count; i++)
                if (children[i].pid > 0) kill(children[i].pid, cli_stopped() - 128);
        }
        if (group->store && gs_clock_ns() - renewed > RENEW_NS) {
            renew(group, children);
            renewed = gs_clock_ns();
        }
        cli_progress("%d of %d problems  %d devices", done, group->problems, group->count);
        gs_clock_sleep_ns(LOOK_NS);
    }
    cli_progress_clear();
}

/* ---- the end ---- */

/* Whether two have the same problems to do. One that was killed early did not say what it was. */
static bool same_gpu(const cli_member *a, const cli_member *b)
{
    if (a->slug[0] && b->slug[0]) return strcmp(a->slug, b->slug) == 0;
    return strcmp(a->device, b->device) == 0 || (strncmp(a->device, "cuda:", 5) == 0 && strncmp(b->device, "cuda:", 5) == 0);
}

/* What one child's end means for all; 0 says nothing. */
static int judge(const cli_group *group, const child *children, int index)
{
    const cli_member *const m = &group->member[index];
    const int status = children[index].status;
    bool complete = false;
    for (int i = 0; i < group->count; i++) complete |= group->member[i].complete && same_gpu(m, &group->member[i]);
    if (WIFEXITED(status)) return complete && WEXITSTATUS(status) == CLI_MORE ? CLI_OK : WEXITSTATUS(status);
    cli_note("%s: its process was ended by signal %d; %s", m->device, WTERMSIG(status),
             complete ? "others did what it had left" : "the same command goes on from here");
    return complete ? CLI_OK : CLI_FAILED;
}

static int weight(int code) { return code == CLI_OK ? 0 : code == CLI_FAILED ? 1 : code == CLI_MORE ? 2 : 3; }

static int merge(const cli_group *group, const child *children)
{
    int worst = CLI_OK;
    if (cli_stopped()) return cli_stopped();
    for (int i = 0; i < group->count; i++) {
        const int code = judge(group, children, i);
        if (weight(code) > weight(worst)) worst = code;
    }
    return worst;
}

/* Opened and closed before there are children, so that what is wrong with the store is said once; it must not go across a fork. */
static int try_store(const cli_command *command, cli_group *group)
{
    gs_error error;
    if (gs_store_open(&group->store, group->store_path, &error) != GS_OK) return cli_fail(command, NULL, &error);
    gs_store_close(&group->store);
    return -1;
}

int cli_group_run(const cli_command *command, cli_group *group)
{
    child children[CLI_GROUP_MOST] = {0};
    char run[GS_LEASE_RUN];
    gs_error error = {0};
    int code = try_store(command, group);
    if (code >= 0) return code;
    gs_lessee_run(run);
    cli_signals();
    code = start(command, group, children, run);
    gs_status status = gs_store_open(&group->store, group->store_path, &error);
    if (status != GS_OK) gs_log(GS_LOG_WARNING, "leases will not be renewed: %s", error.text);
    watch(group, children);
    if (group->store && (status = gs_store_release_run(group->store, run, &error)) != GS_OK)
        gs_log(GS_LOG_WARNING, "leases of this run stay in the store: %s", error.text);
    return code < 0 ? merge(group, children) : code;
}
