/* SPDX-License-Identifier: MIT
 * Nsight Compute by its command line: one launch of a candidate under the profiler. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "worker/metrics.h"

extern char **environ;

enum { OUTPUT = 16 << 20 };

/* Metrics that are asked for besides the sections of scripts/profile.sh. */
#define SUMS "smsp__inst_executed.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_op_read.sum,lts__t_sectors_op_write.sum," \
             "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"

static bool find_profiler(char path[GS_PATH])
{
    const char *const asked = getenv("GEMMSMITH_NCU"), *folders = getenv("PATH");
    if (asked) return snprintf(path, GS_PATH, "%s", asked) < GS_PATH && access(path, X_OK) == 0;
    while (folders && *folders) {
        const size_t size = strcspn(folders, ":");
        if (size > 0 && snprintf(path, GS_PATH, "%.*s/ncu", (int)size, folders) < GS_PATH && access(path, X_OK) == 0) return true;
        folders += size + (folders[size] == ':');
    }
    snprintf(path, GS_PATH, "/usr/local/cuda/bin/ncu");
    return access(path, X_OK) == 0;
}

static gs_status start(char *const *argument, int *from, pid_t *pid, gs_error *error)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (pipe2(ends, O_CLOEXEC) != 0) return gs_fail_errno(error, errno, NULL, "no pipe for the profiler");
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int failed = posix_spawn(pid, argument[0], &actions, &attributes, argument, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *from = ends[0];
    if (failed == 0) return GS_OK;
    close(ends[0]);
    return gs_fail_errno(error, failed, argument[0], "cannot be started");
}

static gs_status read_all(int from, double timeout_s, gs_text *out, gs_error *error)
{
    const int64_t end = gs_clock_ns() + (int64_t)(timeout_s * 1e9);
    char bytes[1 << 16];
    for (;;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (gs_stop_requested) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "interrupted");
        if (gs_clock_ns() > end) return gs_fail(error, GS_ERROR_TIMEOUT, "ncu", "the profiler was not done in %.0f s", timeout_s);
        if (poll(&ready, 1, 50) <= 0) continue;
        const ssize_t got = read(from, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return GS_OK;
        if (out->size + (size_t)got > OUTPUT) return gs_fail(error, GS_ERROR_RANGE, "ncu", "the profiler does not stop talking");
        gs_text_add_bytes(out, bytes, (size_t)got);
    }
}

static gs_status run(char *const *argument, double timeout_s, gs_text *out, gs_error *error)
{
    int from = -1, code = 0;
    pid_t pid = 0;
    GS_TRY(start(argument, &from, &pid, error));
    const gs_status status = read_all(from, timeout_s, out, error);
    close(from);
    if (status != GS_OK) kill(-pid, SIGKILL);
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR) continue;
    if (status == GS_OK && out->failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for metrics");
    return status;
}

/* A pattern for the kernel's name: its first entry; of a schedule, whose entries begin alike, any of them. */
static gs_status name_pattern(const gs_metrics_request *r, char *out, size_t size, gs_error *error)
{
    gs_manifest manifest;
    if (!r->source) {
        snprintf(out, size, "regex:^gs_%.*s", (int)strcspn(r->candidate, "/"), r->candidate);
        return GS_OK;
    }
    GS_TRY(gs_manifest_parse(&manifest, r->manifest, error));
    snprintf(out, size, "regex:^%s$", manifest.entry[0].name);
    return GS_OK;
}

/* sums: ask for SUMS too. */
static gs_status profile_with(const gs_metrics_request *r, const char *ncu, bool sums, const char *source, const char *manifest, gs_text *out, gs_error *error)
{
    char pattern[128], problem[GS_PROBLEM_TEXT];
    GS_TRY(name_pattern(r, pattern, sizeof pattern, error));
    gs_problem_format(r->problem, problem);
    const char *list[48] = {
        ncu, "--clock-control", "none", "--target-processes", "all", "--kill", "yes", "--kernel-name", pattern, "--launch-count", "1", "--csv", "--page", "raw",
        "--section", "SpeedOfLight", "--section", "ComputeWorkloadAnalysis", "--section", "MemoryWorkloadAnalysis", "--section", "WarpStateStats", "--section", "Occupancy",
        "--section", "LaunchStats",
    };
    const char *const of_schedule[] = {"verify", problem, "--schedule", r->candidate, "--parts", "normal", "--device", r->device, "--quiet"};
    const char *const of_source[] = {"score", problem, "--source", source, "--manifest", manifest, "--device", r->device, "--quiet", "--no-emulator"};   /* it has run on the emulated device */
    int count = 0;
    while (list[count]) count++;
    if (sums) list[count++] = "--metrics", list[count++] = SUMS;
    list[count++] = r->profile;
    if (source) memcpy(list + count, of_source, sizeof of_source);
    else memcpy(list + count, of_schedule, sizeof of_schedule);
    gs_text csv = {0};
    const size_t before = out->size;
    gs_status status = run((char *const *)(uintptr_t)list, r->timeout_s > 0 ? r->timeout_s : 60, &csv, error);
    if (status == GS_OK && (gs_metrics_read_ncu(gs_text_string(&csv), out, error) != GS_OK || out->size == before))
        status = gs_fail(error, GS_ERROR_UNSUPPORTED, "ncu", "the profiler gave no figures: it may not read the counters, or does not know them");
    gs_text_free(&csv);
    return status;
}

/* A profiler that does not know one of SUMS gives no figures at all: then it is asked without them. */
static gs_status profile(const gs_metrics_request *r, const char *source, const char *manifest, gs_text *out, gs_error *error)
{
    char ncu[GS_PATH];
    if (!find_profiler(ncu)) return gs_fail(error, GS_ERROR_NOT_FOUND, "ncu", "there is no Nsight Compute");
    const gs_status status = profile_with(r, ncu, true, source, manifest, out, error);
    return status == GS_ERROR_UNSUPPORTED ? profile_with(r, ncu, false, source, manifest, out, error) : status;
}

gs_status gs_metrics_ncu(const gs_metrics_request *r, gs_text *out, gs_error *error)
{
    char folder[] = "/tmp/gemmsmith-profile-XXXXXX", source[64], manifest[64];
    if (!r->source) return profile(r, NULL, NULL, out, error);
    if (!mkdtemp(folder)) return gs_fail_errno(error, errno, folder, "no folder for the profiler");
    snprintf(source, sizeof source, "%s/kernel.cu", folder);
    snprintf(manifest, sizeof manifest, "%s/kernel.manifest", folder);
    gs_status status = gs_file_write(source, r->source, strlen(r->source), error);
    if (status == GS_OK) status = gs_file_write(manifest, r->manifest, strlen(r->manifest), error);
    if (status == GS_OK) status = profile(r, source, manifest, out, error);
    unlink(source);
    unlink(manifest);
    rmdir(folder);
    return status;
}
