/* SPDX-License-Identifier: MIT
 * The children take the next job from a counter in shared memory (the board), which also has every job's state. */
#include "worker/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "worker/worker.h"

enum { MOST_CHILDREN = 256, JOB_LIMIT_S = 300, NICE = 10, IDLE_NS = 2000000, LEAVE_NS = 2000000000, HIGHEST_FILE = 4096 };

typedef struct board {
    atomic_int stop, closed, no_compiler;
    atomic_int next[GS_LANES], offered[GS_LANES];
    struct {
        atomic_llong since;    /* when its job began, ns; 0: idle */
        atomic_int   lane, job;
    } child[MOST_CHILDREN];
    atomic_uchar state[];      /* of every job, lane after lane */
} board;

struct gs_pool {
    gs_pool_plan plan;
    int          count;                /* of children */
    pid_t        pid[MOST_CHILDREN];   /* 0: ended */
    size_t       size;
    board       *shared;
};

static atomic_uchar *state_of(const gs_pool *pool, gs_lane lane, int job)
{
    return &pool->shared->state[(lane == GS_LANE_URGENT ? 0 : pool->plan.capacity[GS_LANE_URGENT]) + job];
}

/* ---- in a child ---- */

/* The next job of a lane, -1 if there is none. */
static int take(board *b, gs_lane lane)
{
    int job = atomic_load(&b->next[lane]);
    while (job < atomic_load(&b->offered[lane]))
        if (atomic_compare_exchange_weak(&b->next[lane], &job, job + 1)) return job;
    return -1;
}

static void work_on(const gs_pool *pool, int slot, gs_lane lane, int job)
{
    board *const b = pool->shared;
    atomic_store(&b->child[slot].lane, (int)lane);
    atomic_store(&b->child[slot].job, job);
    atomic_store(state_of(pool, lane, job), GS_JOB_RUNNING);
    atomic_store(&b->child[slot].since, gs_clock_ns());
    const gs_status status = pool->plan.work(pool->plan.self, lane, job);
    atomic_store(&b->child[slot].since, 0);
    atomic_store(state_of(pool, lane, job), status == GS_OK ? GS_JOB_DONE : GS_JOB_FAILED);
    if (status == GS_ERROR_NO_COMPILER) {
        atomic_store(&b->no_compiler, 1);
        atomic_store(&b->stop, 1);
    }
}

/* Closes inherited pipes: a worker sees the end of its input only when no process has the other end open. */
static void close_files(void)
{
    for (int file = 3; file < HIGHEST_FILE; file++) close(file);
}

static _Noreturn void child_main(const gs_pool *pool, int slot, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close_files();
    if (pool->plan.background) setpriority(PRIO_PROCESS, 0, NICE);
    board *const b = pool->shared;
    while (!gs_stop_requested && !atomic_load(&b->stop)) {
        const bool closed = atomic_load(&b->closed) != 0;   /* read before looking for a job */
        gs_lane lane = GS_LANE_URGENT;
        int job = take(b, lane);
        if (job < 0) job = take(b, lane = GS_LANE_NORMAL);
        if (job >= 0)
            work_on(pool, slot, lane, job);
        else if (closed)
            break;
        else
            gs_clock_sleep_ns(IDLE_NS);
    }
    _exit(0);
}

/* ---- in the parent ---- */

static pid_t start_child(const gs_pool *pool, int slot)
{
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) child_main(pool, slot, parent);
    return pid;
}

/* Cleans up after a child that has ended; if it died, another one takes its place. */
static void replace(gs_pool *pool, int slot, int code)
{
    board *const b = pool->shared;
    pool->pid[slot] = 0;
    if (WIFEXITED(code) && WEXITSTATUS(code) == 0) return;
    if (atomic_exchange(&b->child[slot].since, 0)) {
        const gs_lane lane = (gs_lane)atomic_load(&b->child[slot].lane);
        const int job = atomic_load(&b->child[slot].job);
        atomic_store(state_of(pool, lane, job), GS_JOB_FAILED);
        gs_log(GS_LOG_WARNING, "a compiler process died at job %d of %d", job + 1, atomic_load(&b->offered[lane]));
    }
    if (atomic_load(&b->stop)) return;
    const pid_t pid = start_child(pool, slot);
    if (pid > 0) pool->pid[slot] = pid;
}

bool gs_pool_look(gs_pool *pool)
{
    bool some = false;
    if (gs_stop_requested) atomic_store(&pool->shared->stop, 1);
    for (int i = 0; i < pool->count; i++) {
        if (pool->pid[i] <= 0) continue;
        const long long since = atomic_load(&pool->shared->child[i].since);
        if (since && gs_clock_ns() - since > JOB_LIMIT_S * 1000000000ll) kill(pool->pid[i], SIGKILL);
        int code = 0;
        const pid_t got = waitpid(pool->pid[i], &code, WNOHANG);
        if (got == pool->pid[i]) replace(pool, i, code);
        some |= pool->pid[i] > 0;
    }
    return some;
}

int gs_pool_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

gs_status gs_pool_start(gs_pool **out, const gs_pool_plan *plan, gs_error *error)
{
    *out = NULL;
    gs_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the compiler processes");
    pool->plan = *plan;
    pool->size = sizeof(board) + (size_t)plan->capacity[GS_LANE_URGENT] + (size_t)plan->capacity[GS_LANE_NORMAL];
    pool->shared = mmap(NULL, pool->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pool->shared == MAP_FAILED) {
        const int why = errno;
        free(pool);
        return gs_fail_errno(error, why, NULL, "no shared memory for the compiler processes");
    }
    const int jobs = GS_MIN(plan->capacity[GS_LANE_URGENT] + plan->capacity[GS_LANE_NORMAL], MOST_CHILDREN);
    const int wanted = GS_MIN(plan->children > 0 ? plan->children : gs_pool_cores(), jobs);
    int first_error = 0, running = 0;
    pool->count = wanted;
    for (int i = 0; i < wanted; i++) {
        pool->pid[i] = start_child(pool, i);
        if (pool->pid[i] > 0)
            running++;
        else
            first_error = errno;
    }
    *out = pool;
    if (running > 0) return GS_OK;
    gs_pool_end(out);
    return gs_fail_errno(error, first_error, NULL, "no compiler process could be started");
}

void gs_pool_end(gs_pool **pool_address)
{
    gs_pool *const pool = *pool_address;
    if (!pool) return;
    atomic_store(&pool->shared->stop, 1);
    const int64_t deadline = gs_clock_ns() + LEAVE_NS;   /* a child that is killed at work leaves a half-written file */
    while (gs_pool_look(pool) && gs_clock_ns() < deadline) gs_clock_sleep_ns(IDLE_NS);
    for (int i = 0; i < pool->count; i++)
        if (pool->pid[i] > 0) kill(pool->pid[i], SIGKILL);
    for (int i = 0; i < pool->count; i++)
        while (pool->pid[i] > 0 && waitpid(pool->pid[i], NULL, 0) < 0 && errno == EINTR) continue;
    munmap(pool->shared, pool->size);
    free(pool);
    *pool_address = NULL;
}

void gs_pool_offer(gs_pool *pool, gs_lane lane, int count)
{
    const int offered = atomic_load(&pool->shared->offered[lane]);
    atomic_store(&pool->shared->offered[lane], GS_MIN(offered + count, pool->plan.capacity[lane]));
}

void gs_pool_close(gs_pool *pool) { atomic_store(&pool->shared->closed, 1); }

gs_job_state gs_pool_state(const gs_pool *pool, gs_lane lane, int job) { return (gs_job_state)atomic_load(state_of(pool, lane, job)); }

bool gs_pool_no_compiler(const gs_pool *pool) { return atomic_load(&pool->shared->no_compiler) != 0; }
