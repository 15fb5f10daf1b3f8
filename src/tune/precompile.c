/* SPDX-License-Identifier: MIT
 * Compiling into the cubin cache without a device, in child processes: schedules while the caller waits
 * (gs_precompile, gs_precompile_pairs), or ahead of time for a list of problems while the device is busy with the first ones (gs_ahead): first the policy's
 * proposals for each problem, later the kernels that verification of the races' winners runs on its edge problems. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "loaded/loaded.h"
#include "worker/ahead.h"
#include "worker/pool.h"
#include "tune/run.h"

#define LOOK_NS 3000000

static gs_status compile_one(const gs_caps *caps, const gs_problem *problem, const gs_schedule *schedule, const char *cache)
{
    gs_error why = {0};
    const gs_status status = gs_compile_ahead(caps, problem, schedule, cache, &why);
    if (status != GS_OK) {
        char text[GS_SCHEDULE_TEXT];
        gs_log(GS_LOG_INFO, "%s: %s", gs_schedule_format(schedule, text), why.text);
    }
    return status;
}

/* The cache directory; empty: no cache, so there is nothing to compile. */
static void choose_cache(char path[GS_PATH], const char *cache)
{
    if (cache)
        snprintf(path, GS_PATH, "%s", cache);
    else if (!gs_user_path(path, 'c', "GEMMSMITH_CACHE", NULL))
        path[0] = '\0';
}

static gs_status no_compiler(gs_error *error)
{
    return gs_fail(error, GS_ERROR_NO_COMPILER, NULL, "schedules cannot be compiled here: NVRTC was not found");
}

/* ---- while the caller waits ---- */

typedef struct work {
    const gs_caps     *caps;
    const gs_problem  *problems;
    int                step;       /* index step between the schedules' problems; 0: all schedules are for one problem */
    const gs_schedule *list;
    const int         *jobs;       /* indices into list; NULL: all */
    char               cache[GS_PATH];
} work;

static gs_status work_on(void *self, gs_lane lane, int job)
{
    const work *const w = self;
    const int at = w->jobs ? w->jobs[job] : job;
    (void)lane;
    return compile_one(w->caps, &w->problems[at * w->step], &w->list[at], w->cache);
}

static bool is_late(int64_t until) { return until != 0 && gs_clock_ns() >= until; }

static gs_status too_late(gs_error *error) { return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "the time limit was reached while compiling"); }

static gs_status compile_all(work w, int count, int jobs, int64_t until, int *failed, gs_error *error)
{
    if (count <= 0 || !w.cache[0]) return GS_OK;
    const gs_pool_plan plan = {
        .children = jobs, .capacity = {[GS_LANE_NORMAL] = count}, .work = work_on, .self = &w,
    };
    gs_pool *pool;
    GS_TRY(gs_pool_start(&pool, &plan, error));
    gs_pool_offer(pool, GS_LANE_NORMAL, count);
    gs_pool_close(pool);
    while (!is_late(until) && gs_pool_look(pool)) gs_clock_sleep_ns(LOOK_NS);
    const bool late = is_late(until) && gs_pool_look(pool);
    for (int i = 0; i < count; i++) *failed += gs_pool_state(pool, GS_LANE_NORMAL, i) == GS_JOB_FAILED;
    const bool none = gs_pool_no_compiler(pool);
    gs_pool_end(&pool);
    if (none) return no_compiler(error);
    if (late) return too_late(error);
    return gs_stop_requested ? gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped while compiling") : GS_OK;
}

gs_status gs_precompile(const gs_caps *caps, const gs_problem *problem, const gs_schedule *list, int count, int jobs, int64_t until,
                        const char *cache, int *failed, gs_error *error)
{
    work w = {.caps = caps, .problems = problem, .list = list};
    *failed = 0;
    choose_cache(w.cache, cache);
    return compile_all(w, count, jobs, until, failed, error);
}

/* Identifies a kernel by its source and options. */
static gs_hash kernel_of(const gs_caps *caps, const gs_problem *problem, const gs_schedule *schedule)
{
    gs_kernel kernel;
    const char *texts[GS_MAX_OPTIONS + 1];
    if (gs_schedule_check(schedule, problem, caps, NULL) != GS_OK || gs_kernel_build(&kernel, schedule, problem, caps, NULL) != GS_OK) return (gs_hash){0, 0};
    for (int i = 0; i < kernel.option_count; i++) texts[i] = kernel.option[i];
    texts[kernel.option_count] = kernel.name;
    return gs_hash_strings(texts, (size_t)kernel.option_count + 1);
}

gs_status gs_precompile_pairs(const gs_caps *caps, const gs_problem *problems, const gs_schedule *list, int count, int jobs, int64_t until, const char *cache,
                              int *failed, gs_error *error)
{
    work w = {.caps = caps, .problems = problems, .step = 1, .list = list};
    *failed = 0;
    choose_cache(w.cache, cache);
    if (count <= 0) return GS_OK;
    int *const which = calloc((size_t)count, sizeof *which), once = 0;
    gs_hash *const seen = calloc((size_t)count, sizeof *seen);
    if (!which || !seen) {
        free(which);
        free(seen);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the compilation");
    }
    for (int i = 0; i < count; i++) {
        const gs_hash hash = kernel_of(caps, &problems[i], &list[i]);
        int at = 0;
        while (at < once && (seen[at].low != hash.low || seen[at].high != hash.high)) at++;
        if (at == once && (hash.low || hash.high)) {
            seen[once] = hash;
            which[once++] = i;
        }
    }
    w.jobs = which;
    const gs_status status = compile_all(w, once, jobs, until, failed, error);
    free(which);
    free(seen);
    return status;
}

/* ---- a list of problems, ahead of time ---- */

/* The proposals for one problem, in shared memory. */
typedef struct proposals {
    atomic_int  count;      /* -1: not proposed yet */
    gs_schedule list[];
} proposals;

typedef struct edge_job {
    int         problem;
    gs_schedule schedule;
    int         edge;
} edge_job;

struct gs_ahead {
    const gs_caps    *caps;
    const gs_problem *problems;
    int               count, most;
    const gs_tune_options *options;   /* for the policy */
    char              cache[GS_PATH];
    int64_t           until;       /* gs_clock_ns: end of all waits; 0: no limit */
    size_t            stride;      /* bytes of one problem's proposals */
    size_t            size;
    char             *shared;      /* proposals, then edge jobs */
    int               edges;       /* edge jobs started */
    gs_pool          *pool;
};

/* Jobs per problem: one to propose, then one per schedule. */
static int jobs_each(const gs_ahead *ahead) { return 1 + ahead->most; }

static proposals *proposals_of(const gs_ahead *ahead, int problem)
{
    return (proposals *)(void *)(ahead->shared + (size_t)problem * ahead->stride);
}

static edge_job *edge_jobs(const gs_ahead *ahead) { return (edge_job *)(void *)(ahead->shared + (size_t)ahead->count * ahead->stride); }

static gs_status propose(gs_ahead *ahead, int problem)
{
    gs_policy policy;
    proposals *const p = proposals_of(ahead, problem);
    gs_status status = gs_run_policy(&policy, ahead->options, ahead->options->seed, NULL);
    int count = 0;
    if (status == GS_OK) {
        count = policy.propose(&policy, &ahead->problems[problem], ahead->caps, p->list, ahead->most);
        policy.destroy(&policy);
    }
    atomic_store(&p->count, count);
    return status;
}

/* Waits for the proposals: the job that makes them is always started before the problem's other jobs. If its child dies, the parent sets the count to 0. */
static gs_status compile_proposed(gs_ahead *ahead, int problem, int index)
{
    proposals *const p = proposals_of(ahead, problem);
    while (atomic_load(&p->count) < 0) gs_clock_sleep_ns(LOOK_NS);
    if (index >= atomic_load(&p->count) || !ahead->cache[0]) return GS_OK;
    return compile_one(ahead->caps, &ahead->problems[problem], &p->list[index], ahead->cache);
}

/* A schedule that cannot run an edge problem needs no kernel for it. */
static gs_status compile_edge(const gs_ahead *ahead, const edge_job *job)
{
    const gs_problem edge = gs_verify_edge(&ahead->problems[job->problem], job->edge);
    if (gs_schedule_check(&job->schedule, &edge, ahead->caps, NULL) != GS_OK) return GS_OK;
    return compile_one(ahead->caps, &edge, &job->schedule, ahead->cache);
}

static gs_status work_ahead(void *self, gs_lane lane, int job)
{
    gs_ahead *const ahead = self;
    if (lane == GS_LANE_URGENT) return compile_edge(ahead, &edge_jobs(ahead)[job]);
    const int problem = job / jobs_each(ahead), part = job % jobs_each(ahead);
    return part == 0 ? propose(ahead, problem) : compile_proposed(ahead, problem, part - 1);
}

gs_status gs_ahead_start(gs_ahead **out, const gs_caps *caps, const gs_problem *problems, int count, int most,
                         const gs_tune_options *options, int64_t until, gs_error *error)
{
    *out = NULL;
    if (count < 1) return GS_OK;
    gs_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to compile ahead");
    *ahead = (gs_ahead){.caps = caps, .problems = problems, .count = count, .most = most, .options = options, .until = until};
    choose_cache(ahead->cache, options->cache_path);
    ahead->stride = (sizeof(proposals) + (size_t)most * sizeof(gs_schedule) + 15) / 16 * 16;
    const size_t edges = (size_t)count * (size_t)gs_verify_edges_count();
    ahead->size = (size_t)count * ahead->stride + edges * sizeof(edge_job);
    ahead->shared = mmap(NULL, ahead->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ahead->shared == MAP_FAILED) {
        const int why = errno;
        free(ahead);
        return gs_fail_errno(error, why, NULL, "no shared memory to compile ahead");
    }
    for (int i = 0; i < count; i++) atomic_store(&proposals_of(ahead, i)->count, -1);
    const gs_pool_plan plan = {
        .children = options->jobs, .background = true, .work = work_ahead, .self = ahead,
        .capacity = {[GS_LANE_URGENT] = ahead->cache[0] ? (int)edges : 0, [GS_LANE_NORMAL] = count * jobs_each(ahead)},
    };
    const gs_status status = gs_pool_start(&ahead->pool, &plan, error);
    if (status == GS_OK)
        gs_pool_offer(ahead->pool, GS_LANE_NORMAL, count * jobs_each(ahead));
    else
        gs_ahead_end(&ahead);
    *out = ahead;
    return status;
}

void gs_ahead_end(gs_ahead **ahead_address)
{
    gs_ahead *const ahead = *ahead_address;
    if (!ahead) return;
    gs_pool_end(&ahead->pool);
    munmap(ahead->shared, ahead->size);
    free(ahead);
    *ahead_address = NULL;
}

static gs_status look(gs_ahead *ahead, gs_error *error)
{
    const bool some = gs_pool_look(ahead->pool);
    if (gs_pool_no_compiler(ahead->pool)) return no_compiler(error);
    if (gs_stop_requested) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped while compiling");
    if (is_late(ahead->until)) return too_late(error);
    if (!some) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no compiler process is left, and none can be started");
    gs_clock_sleep_ns(LOOK_NS);
    return GS_OK;
}

gs_status gs_ahead_take(gs_ahead *ahead, int problem, gs_schedule *list, int *count, int *failed, gs_error *error)
{
    proposals *const p = proposals_of(ahead, problem);
    const int first = problem * jobs_each(ahead);
    *count = *failed = 0;
    for (int job = 0; job < jobs_each(ahead); job++) {
        while (!gs_pool_finished(ahead->pool, GS_LANE_NORMAL, first + job)) GS_TRY(look(ahead, error));
        if (job == 0 && atomic_load(&p->count) < 0) atomic_store(&p->count, 0);   /* the child that should propose died */
        if (job > 0) *failed += gs_pool_state(ahead->pool, GS_LANE_NORMAL, first + job) == GS_JOB_FAILED;
    }
    *count = atomic_load(&p->count);
    memcpy(list, p->list, (size_t)*count * sizeof *list);
    return GS_OK;
}

/* Whether two problems have the same edge problems: they depend only on types and layout. */
static bool same_edges(const gs_problem *a, const gs_problem *b)
{
    return a->in == b->in && a->acc == b->acc && a->out == b->out && a->layout == b->layout;
}

void gs_ahead_edges(gs_ahead *ahead, int problem, const gs_schedule *schedule)
{
    edge_job *const list = edge_jobs(ahead);
    const int each = gs_verify_edges_count();
    if (!ahead->cache[0] || ahead->edges + each > ahead->count * each) return;
    for (int i = 0; i < ahead->edges; i += each)
        if (memcmp(&list[i].schedule, schedule, sizeof *schedule) == 0 && same_edges(&ahead->problems[list[i].problem], &ahead->problems[problem]))
            return;
    for (int edge = 0; edge < each; edge++) list[ahead->edges++] = (edge_job){problem, *schedule, edge};
    gs_pool_offer(ahead->pool, GS_LANE_URGENT, each);
}

gs_status gs_ahead_wait_edges(gs_ahead *ahead, gs_error *error)
{
    for (int job = 0; ahead && job < ahead->edges; job++)
        while (!gs_pool_finished(ahead->pool, GS_LANE_URGENT, job)) GS_TRY(look(ahead, error));
    return GS_OK;
}
