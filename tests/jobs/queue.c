/* SPDX-License-Identifier: MIT
 * Proves the table of open jobs and the queues: who is found, in which order jobs are taken, how long a device stays with a problem, what is
 * timed beside what, and that
 * nothing is counted twice or forgotten. The threads are the test's own: nothing runs at the same time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stop.h"
#include "jobs/internal.h"
#include "leaks.h"

enum { ALIKE_MOST = 16 };   /* jobs of a problem in a row that others are passed over for */

static gs_service_jobs jobs;

static int start(void **state)
{
    (void)state;
    memset(&jobs, 0, sizeof jobs);
    pthread_mutex_init(&jobs.lock, NULL);
    pthread_cond_init(&jobs.changed, NULL);
    pthread_cond_init(&jobs.work, NULL);
    for (int i = 0; i < GS_JOBS_STAGES; i++) pthread_cond_init(&jobs.queue[i].filled, NULL);
    gs_stop_requested = 0;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    gs_stop_requested = 0;
    for (int i = 0; i < GS_SERVICE_BUCKETS; i++)
        while (jobs.bucket[i]) gs_service_open_drop(&jobs, jobs.bucket[i]);
    return jobs.open == 0 && jobs.bytes == 0 ? 0 : -1;
}

static gs_service_job *add(int number, int64_t turn, uint64_t alike)
{
    char id[GS_HASH_TEXT];
    snprintf(id, sizeof id, "%032x", (unsigned)number);
    gs_service_job *const job = gs_service_open_add(&jobs, id, 10, 0);
    assert_non_null(job);
    job->turn = turn;
    job->alike = alike;
    return job;
}

static gs_service_job *queued(int number, int64_t turn, uint64_t alike, gs_jobs_stage stage)
{
    gs_service_job *const job = add(number, turn, alike);
    gs_service_enqueue(&jobs, job, stage, false);
    return job;
}

static int number_of(const gs_service_job *job) { return job ? (int)strtol(job->id, NULL, 16) : -1; }

/* Numbers of the jobs of a queue, "1 2 3"; what it counts and its tail must fit. */
static const char *order(gs_jobs_stage stage)
{
    static char text[256];
    const gs_jobs_queue *const q = &jobs.queue[stage];
    const gs_service_job *last = NULL;
    int count = 0, used = 0;
    text[0] = '\0';
    for (const gs_service_job *job = q->head; job; job = job->after, count++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%d", used ? " " : "", number_of(job));
        assert_true(job->queued && job->stage == stage);
        last = job;
    }
    assert_int_equal(q->load.waiting, count);
    assert_ptr_equal(q->tail, last);
    return text;
}

static gs_service_evaluator device(gs_jobs_stage stage) { return (gs_service_evaluator){.jobs = &jobs, .stage = stage}; }

/* Takes the next job, and is done with it. */
static int next(gs_service_evaluator *e)
{
    int part = -1;
    gs_service_job *const job = gs_service_take(e, &part);
    const int number = number_of(job);
    if (job) gs_service_leave(e, job);
    return number;
}

static void an_id_is_32_digits(void **state)
{
    (void)state;
    assert_true(gs_service_id_valid("0123456789abcdef0123456789abcdef"));
    assert_false(gs_service_id_valid(""));
    assert_false(gs_service_id_valid("0123456789abcdef0123456789abcde"));
    assert_false(gs_service_id_valid("0123456789abcdef0123456789abcdef0"));
    assert_false(gs_service_id_valid("0123456789ABCDEF0123456789abcdef"));
    assert_false(gs_service_id_valid("0123456789abcdef0123456789abcdeg"));
}

static void the_table_has_each_job_once(void **state)
{
    enum { MANY = 3000 };   /* several in each bucket */
    gs_service_job *list[MANY];
    (void)state;
    for (int i = 0; i < MANY; i++) list[i] = add(i, 0, 0);
    assert_int_equal(jobs.open, MANY);
    assert_int_equal(jobs.bytes, 10 * MANY);
    for (int i = 0; i < MANY; i++) {
        assert_ptr_equal(gs_service_open_find(&jobs, list[i]->id), list[i]);
        assert_int_equal(list[i]->holders, 1);
    }
    for (int i = 0; i < MANY; i += 2) gs_service_open_drop(&jobs, list[i]);
    assert_int_equal(jobs.open, MANY / 2);
    assert_int_equal(jobs.bytes, 10 * MANY / 2);
    for (int i = 0; i < MANY; i++) {
        char id[GS_HASH_TEXT];
        snprintf(id, sizeof id, "%032x", (unsigned)i);
        assert_ptr_equal(gs_service_open_find(&jobs, id), i % 2 ? list[i] : NULL);
    }
}

static void a_job_lives_as_long_as_somebody_holds_it(void **state)
{
    gs_service_found found = {.failed = true};
    (void)state;
    gs_service_job *const job = add(1, 0, 0);
    gs_service_hold(&found, job);
    assert_ptr_equal(found.job, job);
    assert_false(found.running || found.failed || found.answer);
    gs_service_open_drop(&jobs, job);
    assert_int_equal(job->holders, 1);
    gs_service_open_drop(&jobs, job);   /* not in the table: it is not let go a second time */
    assert_int_equal(job->holders, 1);
    job->at_work = 1;
    gs_service_hold(&found, job);
    assert_true(found.running);
    gs_service_release(job);
    assert_int_equal(job->holders, 1);
    gs_service_release(job);
}

static void a_queue_is_in_the_order_of_turns(void **state)
{
    (void)state;
    queued(1, 5, 0, GS_JOBS_DEVICE);
    queued(2, 5, 0, GS_JOBS_DEVICE);
    queued(3, 1, 0, GS_JOBS_DEVICE);
    queued(4, 3, 0, GS_JOBS_DEVICE);
    queued(5, 9, 0, GS_JOBS_DEVICE);
    assert_string_equal(order(GS_JOBS_DEVICE), "3 4 1 2 5");
    assert_string_equal(order(GS_JOBS_PREPARE), "");
    gs_service_enqueue(&jobs, add(6, 9, 0), GS_JOBS_DEVICE, true);
    queued(7, 9, 0, GS_JOBS_DEVICE);
    assert_string_equal(order(GS_JOBS_DEVICE), "6 3 4 1 2 5 7");
    gs_service_enqueue(&jobs, add(8, 9, 0), GS_JOBS_PREPARE, true);
    assert_string_equal(order(GS_JOBS_PREPARE), "8");
}

static void first_middle_and_last_leave_a_queue(void **state)
{
    gs_service_job *list[6];
    (void)state;
    for (int i = 1; i < 6; i++) list[i] = queued(i, i, 0, GS_JOBS_DEVICE);
    assert_true(gs_service_unqueue(&jobs, list[1]));
    assert_string_equal(order(GS_JOBS_DEVICE), "2 3 4 5");
    assert_true(gs_service_unqueue(&jobs, list[3]));
    assert_string_equal(order(GS_JOBS_DEVICE), "2 4 5");
    assert_true(gs_service_unqueue(&jobs, list[5]));
    assert_string_equal(order(GS_JOBS_DEVICE), "2 4");
    assert_false(list[1]->queued || list[3]->queued || list[5]->queued || list[3]->after);
    assert_false(gs_service_unqueue(&jobs, list[3]));
    assert_string_equal(order(GS_JOBS_DEVICE), "2 4");
    assert_true(gs_service_unqueue(&jobs, list[4]) && gs_service_unqueue(&jobs, list[2]));
    assert_string_equal(order(GS_JOBS_DEVICE), "");
}

static void a_job_alone_has_no_others_waiting(void **state)
{
    (void)state;
    gs_service_job *const job = add(1, 1, 0);
    assert_false(gs_service_others_wait(&jobs, job));
    gs_service_enqueue(&jobs, job, GS_JOBS_DEVICE, false);
    assert_false(gs_service_others_wait(&jobs, job));
    gs_service_job *const second = queued(2, 2, 0, GS_JOBS_DEVICE);
    assert_true(gs_service_others_wait(&jobs, job));
    gs_service_unqueue(&jobs, job);
    assert_true(gs_service_others_wait(&jobs, job));
    assert_false(gs_service_others_wait(&jobs, second));
    gs_service_unqueue(&jobs, second);
    queued(3, 3, 0, GS_JOBS_PREPARE);   /* in the other stage */
    assert_true(gs_service_others_wait(&jobs, job));
}

static void where_nobody_prepares_a_job_begins_on_a_device(void **state)
{
    (void)state;
    assert_int_equal(gs_service_first_stage(&jobs), GS_JOBS_DEVICE);
    jobs.options.prepare = 1;
    assert_int_equal(gs_service_first_stage(&jobs), GS_JOBS_PREPARE);
}

static void what_is_taken_is_counted_until_it_is_left(void **state)
{
    int part = -1;
    gs_service_found found;
    (void)state;
    gs_service_evaluator e = device(GS_JOBS_DEVICE), other = device(GS_JOBS_DEVICE);
    gs_service_job *const job = queued(1, 7, 3, GS_JOBS_DEVICE);
    queued(2, 9, 4, GS_JOBS_DEVICE);
    const int64_t before = gs_clock_ns();
    assert_ptr_equal(gs_service_take(&e, &part), job);
    assert_int_equal(part, 0);
    assert_string_equal(order(GS_JOBS_DEVICE), "2");
    assert_int_equal(jobs.turn, 7);
    assert_int_equal(jobs.running, 1);
    assert_int_equal(jobs.queue[GS_JOBS_DEVICE].load.working, 1);
    assert_int_equal(job->holders, 2);
    assert_int_equal(job->at_work, 1);
    assert_ptr_equal(e.job, job);
    assert_true(e.state.busy && e.state.since >= before && e.alike == 3);
    gs_service_hold(&found, job);
    assert_true(found.running);
    job->at_work++;   /* another thread has another part of it */
    e.state.since -= 5000000;
    gs_service_leave(&e, job);
    assert_int_equal(jobs.running, 1);
    assert_int_equal(job->at_work, 1);
    assert_int_equal(job->holders, 2);
    assert_int_equal(jobs.queue[GS_JOBS_DEVICE].load.working, 0);
    assert_true(e.state.busy_us >= 5000 && e.state.busy_us < 5000 + (gs_clock_ns() - before) / 1000 + 1);
    assert_int_equal(jobs.queue[GS_JOBS_DEVICE].load.busy_us, e.state.busy_us);
    assert_false(e.state.busy);
    assert_null(e.job);
    other.state.since = gs_clock_ns();
    job->holders++;
    gs_service_leave(&other, job);
    assert_int_equal(jobs.running, 0);
    assert_int_equal(job->at_work, 0);
    assert_int_equal(job->holders, 2);
    gs_service_release(job);
}

static void turns_never_go_back(void **state)
{
    (void)state;
    gs_service_evaluator e = device(GS_JOBS_DEVICE), p = device(GS_JOBS_PREPARE);
    jobs.turn = 5;
    queued(1, 3, 0, GS_JOBS_DEVICE);
    assert_int_equal(next(&e), 1);
    assert_int_equal(jobs.turn, 5);
    queued(2, 8, 0, GS_JOBS_PREPARE);
    assert_int_equal(next(&p), 2);
    assert_int_equal(jobs.turn, 5);   /* how far devices have come */
    gs_service_job *const job = queued(3, 4, 0, GS_JOBS_DEVICE), *const late = queued(4, 9, 0, GS_JOBS_DEVICE);
    gs_service_done(&jobs, job, NULL, false);
    assert_int_equal(jobs.turn, 5);
    gs_service_done(&jobs, late, NULL, false);
    assert_int_equal(jobs.turn, 9);
}

static void a_device_stays_with_a_problem_for_a_while(void **state)
{
    (void)state;
    gs_service_evaluator e = device(GS_JOBS_DEVICE);
    for (int i = 0; i < 40; i++) queued(i, i, i % 2 ? 7 : 8, GS_JOBS_DEVICE);
    assert_int_equal(next(&e), 0);
    for (int i = 1; i <= ALIKE_MOST + 1; i++) {
        const int got = next(&e);   /* the first is passed over for those of the same problem */
        if (i <= ALIKE_MOST) assert_int_equal(got, 2 * i);
        else assert_int_equal(got, 1);
    }
    assert_int_equal(next(&e), 3);   /* where it is now */
    assert_int_equal(e.streak, 0);
    assert_int_equal(next(&e), 5);
}

static void a_device_stays_only_with_a_known_problem(void **state)
{
    (void)state;
    gs_service_evaluator e = device(GS_JOBS_DEVICE), p = device(GS_JOBS_PREPARE);
    queued(1, 1, 0, GS_JOBS_DEVICE);
    queued(2, 2, 9, GS_JOBS_DEVICE);
    queued(3, 3, 0, GS_JOBS_DEVICE);
    assert_int_equal(next(&e), 1);
    assert_int_equal(next(&e), 2);
    assert_int_equal(next(&e), 3);
    queued(4, 1, 9, GS_JOBS_PREPARE);
    queued(5, 2, 8, GS_JOBS_PREPARE);
    queued(6, 3, 9, GS_JOBS_PREPARE);
    assert_int_equal(next(&p), 4);   /* whoever prepares has no reason to */
    assert_int_equal(next(&p), 5);
}

static void what_another_device_has_timed_is_left_to_it(void **state)
{
    (void)state;
    gs_service_evaluator e = device(GS_JOBS_DEVICE), other = device(GS_JOBS_DEVICE);
    gs_service_job *const first = queued(1, 1, 7, GS_JOBS_DEVICE);
    queued(2, 2, 8, GS_JOBS_DEVICE);
    gs_service_job *const third = queued(3, 3, 7, GS_JOBS_DEVICE);
    first->timed = &other;
    third->timed = &e;
    assert_int_equal(next(&e), 2);
    e.alike = 7;
    assert_int_equal(next(&e), 3);
    assert_int_equal(next(&e), 1);   /* there is nothing else */
    assert_string_equal(order(GS_JOBS_DEVICE), "");
}

static void schedules_of_the_same_problem_are_timed_together(void **state)
{
    char ids[3][GS_HASH_TEXT];
    gs_service_job *list[9];
    (void)state;
    gs_service_evaluator e = device(GS_JOBS_DEVICE), other = device(GS_JOBS_DEVICE);
    gs_service_job *const mine = add(100, 1, 7);
    for (int i = 0; i < 9; i++) {
        list[i] = queued(i, i, i == 1 ? 8 : 7, GS_JOBS_DEVICE);
        list[i]->schedule = i != 2;
    }
    list[3]->cancelled = true;
    list[4]->timed = &other;
    assert_int_equal(gs_service_peers(&e, mine, ids, 3), 3);
    assert_int_equal(strtol(ids[0], NULL, 16), 0);
    assert_int_equal(strtol(ids[1], NULL, 16), 5);
    assert_int_equal(strtol(ids[2], NULL, 16), 6);
    for (int i = 0; i < 9; i++) assert_ptr_equal(list[i]->timed, i == 0 || i == 5 || i == 6 ? &e : i == 4 ? &other : NULL);
    assert_string_equal(order(GS_JOBS_DEVICE), "0 1 2 3 4 5 6 7 8");   /* where they were */
    assert_int_equal(gs_service_peers(&e, list[0], ids, 3), 0);         /* it has been timed with others already */
    assert_int_equal(gs_service_peers(&other, list[0], ids, 3), 2);     /* by another device: here it is timed anew */
    mine->alike = 0;
    for (int i = 0; i < 9; i++) list[i]->alike = 0, list[i]->timed = NULL;
    assert_int_equal(gs_service_peers(&e, mine, ids, 3), 0);            /* nobody knows of which problem they are */
}

static void parts_of_a_race_are_prepared_by_many(void **state)
{
    int part = -1;
    (void)state;
    gs_service_evaluator a = device(GS_JOBS_PREPARE), b = device(GS_JOBS_PREPARE), c = device(GS_JOBS_PREPARE);
    gs_service_job *const race = queued(1, 1, 0, GS_JOBS_PREPARE), *const one = queued(2, 2, 0, GS_JOBS_PREPARE);
    race->parts = 3;
    assert_ptr_equal(gs_service_take(&a, &part), race);
    assert_int_equal(part, 0);
    assert_string_equal(order(GS_JOBS_PREPARE), "2 1");   /* one turn later, behind whoever has that turn already */
    assert_ptr_equal(gs_service_take(&b, &part), one);
    assert_int_equal(part, 0);
    gs_service_leave(&b, one);
    assert_ptr_equal(gs_service_take(&b, &part), race);
    assert_int_equal(part, 1);
    assert_int_equal(jobs.running, 1);
    assert_ptr_equal(gs_service_take(&c, &part), race);
    assert_int_equal(part, 2);
    assert_int_equal(race->at_work, 3);
    assert_string_equal(order(GS_JOBS_PREPARE), "");
    gs_service_leave(&a, race);
    gs_service_leave(&b, race);
    assert_int_equal(jobs.running, 1);
    gs_service_leave(&c, race);
    assert_int_equal(jobs.running, 0);
}

static void nothing_is_taken_from_a_service_that_stops(void **state)
{
    int part = -1;
    (void)state;
    gs_service_evaluator e = device(GS_JOBS_DEVICE);
    queued(1, 1, 0, GS_JOBS_DEVICE);
    gs_stop_requested = 15;
    assert_null(gs_service_take(&e, &part));
    gs_stop_requested = 0;
    assert_false(gs_service_jobs_stopping(&jobs));
    jobs.stopping = true;
    assert_true(gs_service_jobs_stopping(&jobs));
    assert_null(gs_service_take(&e, &part));
    assert_string_equal(order(GS_JOBS_DEVICE), "1");
    assert_false(e.state.busy);
    assert_int_equal(jobs.running, 0);
}

static void the_latest_wish_counts(void **state)
{
    (void)state;
    gs_service_job *const job = add(1, 0, 0);
    const int64_t now = gs_date_ms();
    job->expires = now - 1000;
    assert_true(gs_service_job_expired(job));
    gs_service_want(job, now - 2000);
    assert_int_equal(job->expires, now - 1000);
    gs_service_want(job, now + 60000);
    assert_int_equal(job->expires, now + 60000);
    assert_false(gs_service_job_expired(job));
    gs_service_want(job, 0);
    assert_int_equal(job->expires, 0);
    assert_false(gs_service_job_expired(job));
    gs_service_want(job, now);   /* somebody always wants it */
    assert_int_equal(job->expires, 0);
}

static void who_waits_finds_the_answer_of_a_job_that_is_done(void **state)
{
    gs_service_found found;
    (void)state;
    gs_service_job *const job = queued(1, 2, 0, GS_JOBS_DEVICE);
    gs_service_hold(&found, job);
    gs_service_done(&jobs, job, strdup("{}"), true);
    assert_true(job->done && job->failed && !job->queued);
    assert_int_equal(jobs.open, 0);
    assert_string_equal(order(GS_JOBS_DEVICE), "");
    assert_null(gs_service_open_find(&jobs, job->id));
    assert_true(gs_service_jobs_wait(&jobs, &found, gs_clock_ns()));
    assert_string_equal(found.answer, "{}");
    assert_true(found.failed && !found.running);
    gs_service_found_free(&jobs, &found);
    assert_null(found.job);
    assert_null(found.answer);
    assert_true(gs_service_jobs_wait(&jobs, &found, gs_clock_ns()));   /* of nothing: there is nothing to wait for */
}

static void only_the_same_problem_is_alike(void **state)
{
    (void)state;
    const gs_problem a = gs_problem_make(GS_F16, GS_TN, 64, 64, 64), copy = a, b = gs_problem_make(GS_F16, GS_NN, 64, 64, 64);
    assert_true(gs_service_alike(&a) == gs_service_alike(&copy));
    assert_true(gs_service_alike(&a) != gs_service_alike(&b));
    assert_true(gs_service_alike(&a) != 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_id_is_32_digits), TEST(the_table_has_each_job_once), TEST(a_job_lives_as_long_as_somebody_holds_it), TEST(a_queue_is_in_the_order_of_turns),
        TEST(first_middle_and_last_leave_a_queue), TEST(a_job_alone_has_no_others_waiting), TEST(where_nobody_prepares_a_job_begins_on_a_device),
        TEST(what_is_taken_is_counted_until_it_is_left), TEST(turns_never_go_back), TEST(a_device_stays_with_a_problem_for_a_while),
        TEST(a_device_stays_only_with_a_known_problem), TEST(what_another_device_has_timed_is_left_to_it), TEST(schedules_of_the_same_problem_are_timed_together),
        TEST(parts_of_a_race_are_prepared_by_many), TEST(nothing_is_taken_from_a_service_that_stops), TEST(the_latest_wish_counts),
        TEST(who_waits_finds_the_answer_of_a_job_that_is_done), TEST(only_the_same_problem_is_alike)};
    return run_without_leaks("jobs/queue", tests, GS_COUNT(tests));
}
