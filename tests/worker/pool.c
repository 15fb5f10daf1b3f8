/* SPDX-License-Identifier: MIT
 * Proves that a pool does every job once, urgent ones first, that a job which kills its child costs that job alone, and that no child
 * and no file of the parent stays behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "worker/pool.h"
#include "worker/worker.h"
#include "interrupted_waits.h"
#include "patience.h"
#include "leaks.h"

enum { JOBS = 60 };

/* What the children write down, in shared memory. */
typedef struct book {
    atomic_int done[GS_LANES][JOBS], order[2 * JOBS], entries;
    int        crashes_at, fails_at, no_compiler_at;   /* jobs of the normal lane; -1: none */
    int        file;                                   /* of the parent */
    atomic_int file_open, waits;
    atomic_int pid;                                    /* of the child that had the last job */
} book;

static gs_status work(void *self, gs_lane lane, int job)
{
    book *const b = self;
    atomic_fetch_add(&b->done[lane][job], 1);
    atomic_store(&b->pid, (int)getpid());
    b->order[atomic_fetch_add(&b->entries, 1)] = (int)lane * JOBS + job;
    if (b->file >= 0 && fcntl(b->file, F_GETFD) >= 0) atomic_store(&b->file_open, 1);
    while (atomic_load(&b->waits)) gs_clock_sleep_ns(1000000);
    if (lane == GS_LANE_NORMAL && job == b->crashes_at) {
        prctl(PR_SET_DUMPABLE, 0);
        abort();
    }
    if (lane == GS_LANE_NORMAL && job == b->no_compiler_at) return GS_ERROR_NO_COMPILER;
    return lane == GS_LANE_NORMAL && job == b->fails_at ? GS_ERROR_COMPILE : GS_OK;
}

static int open_book(void **state)
{
    book *const b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) return -1;
    b->crashes_at = b->fails_at = b->no_compiler_at = b->file = -1;
    gs_stop_requested = 0;
    *state = b;
    return 0;
}

static int close_book(void **state)
{
    gs_stop_requested = 0;
    const bool no_child = waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
    return munmap(*state, sizeof(book)) || !no_child;
}

static gs_pool *start(book *b, int children)
{
    gs_pool *pool;
    gs_error error = {0};
    const gs_pool_plan plan = {.children = children, .background = true, .capacity = {JOBS, JOBS}, .work = work, .self = b};
    assert_int_equal(gs_pool_start(&pool, &plan, &error), GS_OK);
    return pool;
}

static void wait_all(gs_pool *pool)
{
    const int64_t deadline = gs_clock_ns() + (int64_t)(20e9 * patience());
    while (gs_pool_look(pool)) {
        assert_true(gs_clock_ns() < deadline);
        gs_clock_sleep_ns(1000000);
    }
}

static void every_job_once(void **state)
{
    book *const b = *state;
    b->file = dup(STDIN_FILENO);
    assert_true(b->file > 2);
    b->fails_at = 7;
    gs_pool *pool = start(b, 3);
    gs_pool_offer(pool, GS_LANE_NORMAL, 20);
    gs_pool_offer(pool, GS_LANE_NORMAL, 2 * JOBS);   /* never more than was planned for */
    gs_pool_offer(pool, GS_LANE_URGENT, 5);
    gs_pool_close(pool);
    wait_all(pool);
    for (int job = 0; job < JOBS; job++) {
        assert_int_equal(b->done[GS_LANE_NORMAL][job], 1);
        assert_int_equal(b->done[GS_LANE_URGENT][job], job < 5);
        assert_int_equal(gs_pool_state(pool, GS_LANE_NORMAL, job), job == 7 ? GS_JOB_FAILED : GS_JOB_DONE);
        assert_int_equal(gs_pool_state(pool, GS_LANE_URGENT, job), job < 5 ? GS_JOB_DONE : GS_JOB_WAITING);
    }
    assert_false(b->file_open);   /* a worker's pipe would never see its end */
    close(b->file);
    gs_pool_end(&pool);
    assert_null(pool);
    gs_pool_end(&pool);
}

static void urgent_ones_go_first(void **state)
{
    book *const b = *state;
    atomic_store(&b->waits, 1);
    gs_pool *pool = start(b, 1);
    gs_pool_offer(pool, GS_LANE_NORMAL, JOBS);
    while (atomic_load(&b->entries) == 0) gs_clock_sleep_ns(1000000);
    gs_pool_offer(pool, GS_LANE_URGENT, 3);
    atomic_store(&b->waits, 0);
    while (!gs_pool_finished(pool, GS_LANE_NORMAL, JOBS - 1)) gs_clock_sleep_ns(1000000);
    for (int i = 0; i < 3; i++) assert_int_equal(b->order[1 + i], GS_LANE_URGENT * JOBS + i);
    assert_int_equal(b->order[4], GS_LANE_NORMAL * JOBS + 1);
    gs_pool_offer(pool, GS_LANE_URGENT, 1);   /* they wait for more until they are told that there is none */
    while (!gs_pool_finished(pool, GS_LANE_URGENT, 3)) gs_clock_sleep_ns(1000000);
    assert_true(gs_pool_look(pool));
    gs_pool_end(&pool);
}

static void a_crash_costs_one_job(void **state)
{
    book *const b = *state;
    b->crashes_at = 3;
    gs_pool *pool = start(b, 1);
    gs_pool_offer(pool, GS_LANE_NORMAL, 10);
    gs_pool_close(pool);
    wait_all(pool);
    for (int job = 0; job < 10; job++) {
        assert_int_equal(b->done[GS_LANE_NORMAL][job], 1);
        assert_int_equal(gs_pool_state(pool, GS_LANE_NORMAL, job), job == 3 ? GS_JOB_FAILED : GS_JOB_DONE);
    }
    gs_pool_end(&pool);
}

/* One that dies while it waits costs none; another takes its place. */
static void a_death_between_jobs_costs_none(void **state)
{
    book *const b = *state;
    gs_pool *pool = start(b, 1);
    for (int job = 0; job < 3; job++) {
        gs_pool_offer(pool, GS_LANE_NORMAL, 1);
        while (!gs_pool_finished(pool, GS_LANE_NORMAL, job)) gs_clock_sleep_ns(1000000);
        const pid_t pid = (pid_t)atomic_load(&b->pid);
        assert_int_equal(kill(pid, SIGKILL), 0);
        const int64_t deadline = gs_clock_ns() + (int64_t)(20e9 * patience());
        while (kill(pid, 0) == 0) {   /* until it has been waited for */
            assert_true(gs_clock_ns() < deadline && gs_pool_look(pool));
            gs_clock_sleep_ns(1000000);
        }
    }
    for (int job = 0; job < 3; job++) {
        assert_int_equal(b->done[GS_LANE_NORMAL][job], 1);
        assert_int_equal(gs_pool_state(pool, GS_LANE_NORMAL, job), GS_JOB_DONE);
    }
    gs_pool_end(&pool);
}

static void what_ends_it(void **state)
{
    book *const b = *state;
    b->no_compiler_at = 2;
    gs_pool *pool = start(b, 1);
    gs_pool_offer(pool, GS_LANE_NORMAL, 10);
    wait_all(pool);
    assert_true(gs_pool_no_compiler(pool));
    assert_int_equal(b->done[GS_LANE_NORMAL][3], 0);
    gs_pool_end(&pool);

    /* a stop, and an end in the middle of a job that takes for ever */
    pool = start(b, 2);
    gs_stop_requested = 1;
    wait_all(pool);
    assert_false(gs_pool_no_compiler(pool));
    gs_pool_end(&pool);
    gs_stop_requested = 0;
    atomic_store(&b->waits, 1);
    pool = start(b, 2);
    gs_pool_offer(pool, GS_LANE_URGENT, 2);
    while (atomic_load(&b->done[GS_LANE_URGENT][1]) == 0) gs_clock_sleep_ns(1000000);
    const int64_t began = gs_clock_ns();
    interruptions = 2;
    gs_pool_end(&pool);
    assert_int_equal(interruptions, 0);
    assert_true((double)(gs_clock_ns() - began) < 5e9 * patience());
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_book, close_book)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_job_once), CASE(urgent_ones_go_first), CASE(a_crash_costs_one_job), CASE(a_death_between_jobs_costs_none), CASE(what_ends_it),
    };
    return run_without_leaks("worker/pool", tests, GS_COUNT(tests));
}
