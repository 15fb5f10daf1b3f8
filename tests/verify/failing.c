/* SPDX-License-Identifier: MIT
 * One device call fails: whichever it is, gs_verify must return its error instead of a verdict, and free everything that it allocated. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "loaded/contender.h"
#include "texts.h"
#include "memory_in_use.h"
#include "verify/check_run.h"
#define VERIFYING_DEVICE "emu:h200,threads=1"   /* one thread: host memory is counted */
#include "verifying.h"

/* ---- the device ---- */

typedef enum call { ALLOC, COPY_IN, COPY_OUT, FILL, LAUNCH, WAIT, CALLS } call;
static const char *const call_names[CALLS] = {"alloc", "copy_in", "copy_out", "fill", "launch", "queue_wait"};

static const gs_device_ops *real;
static call                 fails;
static long                 made[CALLS], fails_at;   /* made: calls so far; fails_at: which of them fails, 0: none */
static int                  taken;                   /* allocations that were not freed */

static bool failing(call which) { return ++made[which] == fails_at && which == fails; }

static gs_status injected(gs_error *error) { return gs_fail(error, GS_ERROR_DEVICE, NULL, "injected"); }

static gs_status try_alloc(gs_device *d, size_t bytes, gs_pointer *out, gs_error *error)
{
    if (failing(ALLOC)) return injected(error);
    const gs_status status = real->alloc(d, bytes, out, error);
    taken += status == GS_OK;
    return status;
}

static void give_back(gs_device *d, gs_pointer pointer)
{
    taken--;
    real->free(d, pointer);
}

static gs_status try_copy_in(gs_device *d, gs_pointer to, const void *from, size_t bytes, gs_error *error)
{
    return failing(COPY_IN) ? injected(error) : real->copy_in(d, to, from, bytes, error);
}

static gs_status try_copy_out(gs_device *d, void *to, gs_pointer from, size_t bytes, gs_error *error)
{
    return failing(COPY_OUT) ? injected(error) : real->copy_out(d, to, from, bytes, error);
}

static gs_status try_fill(gs_device *d, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error)
{
    return failing(FILL) ? injected(error) : real->fill(d, to, pattern, bytes, queue, error);
}

static gs_status try_launch(gs_device *d, const gs_launch *launch, gs_queue queue, gs_error *error)
{
    return failing(LAUNCH) ? injected(error) : real->launch(d, launch, queue, error);
}

static gs_status try_wait(gs_device *d, gs_queue queue, gs_error *error) { return failing(WAIT) ? injected(error) : real->queue_wait(d, queue, error); }

typedef struct task {
    const char *what, *schedule, *problem;
    uint32_t    parts;
    long        every;   /* after the first ones, only every so-many-th call is made to fail */
    bool        tests_itself;
} task;

static gs_status (*real_run)(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error);
static int runs;   /* runs of the contender */

static gs_status count_run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    runs++;
    return real_run(contender, args, queue, error);
}

static gs_status verify(const task *t, gs_verdict *verdict, gs_error *error)
{
    gs_contender contender;
    const gs_problem problem = problem_of(t->problem);
    const gs_verify_options options = {.seed = 7, .parts = t->parts, .repeats = 2};
    gs_device_ops ops = *real;
    ops.alloc = try_alloc, ops.free = give_back, ops.copy_in = try_copy_in, ops.copy_out = try_copy_out;
    ops.fill = try_fill, ops.launch = try_launch, ops.queue_wait = try_wait;
    assert_int_equal(gs_contender_schedule(&contender, device, t->schedule, error), GS_OK);
    real_run = contender.run;
    contender.run = count_run;
    runs = 0;
    memset(made, 0, sizeof made);
    taken = 0;
    verifier->tested = !t->tests_itself;
    device->ops = &ops;
    const gs_status status = gs_verify(verifier, &contender, &problem, &options, verdict, error);
    if (device->ops != &ops) fail_msg("the device is not as it was");
    contender.destroy(&contender);
    device->ops = real;
    return status;
}

/* ---- each call ---- */

static const task tasks[] = {
    {"all that a plain product has", "simple", "f16:24x16x32:tn:beta=1", GS_PART_EXACT | GS_PART_CANCELLATION | GS_PART_INDEX | GS_PART_MEMORY, 13, false},
    {"the verifier's test of itself", "simple", "f16:8x8x8:tn", GS_PART_MEMORY, 7, true},
    {"errors and repeats", "simple", "f16:24x16x32:tn:alpha=0.3", GS_PART_NORMAL | GS_PART_REPEAT, 11, false},
    {"groups, with an epilogue", "simple", "bf16:24x16x32:tn:g=3:ep=bias+silu", GS_PART_EXACT | GS_PART_MEMORY, 13, false},
    {"a batch by pointers", "simple", "f16:24x16x32:tn:b=2:matrices=pointers:scalars=device", GS_PART_EXACT, 11, false},
    {"what is written beside D", "mma/64x64x32/w2x2/s3/g8", "f16:24x16x32:tn:ep=dbias", GS_PART_EXACT, 17, false},
    {"rows of their own", "mma/64x64x32/w2x2/s3/g8", "f16:24x16x32:tn:inv=1:ep=bias+relu+aux", GS_PART_INVARIANT, 97, false},
};

#ifdef __SANITIZE_ADDRESS__   /* sanitizers make each launch ten times as slow */
enum { FIRST = 1, SPARING = 6 };
#else
enum { FIRST = 3, SPARING = 1 };
#endif

static void every_failure_is_returned(void **state)
{
    (void)state;
    int missed = 0;
    long all = 0;
    real = device->ops;
    if (gs_compiler_version(NULL) == 0) skip();
    for (size_t t = 0; t < GS_COUNT(tasks); t++) {
        gs_verdict verdict;
        gs_error error = {0};
        long calls[CALLS];
        fails_at = 0;
        const gs_status without = verify(&tasks[t], &verdict, &error);
        if (without != GS_OK || verdict.code != GS_VERDICT_PASS) fail_msg("%s: %s %s", tasks[t].what, error.text, verdict.reason);
        assert_int_equal(taken, 0);
        memcpy(calls, made, sizeof calls);
        for (int c = 0; c < CALLS; c++) {
            for (long at = 1; at <= calls[c]; at += at < FIRST ? 1 : SPARING * tasks[t].every) {
                error = (gs_error){0};
                fails = (call)c;
                fails_at = at;
                const gs_status status = verify(&tasks[t], &verdict, &error);
                fails_at = 0;
                all++;
                if (status == GS_ERROR_DEVICE && strstr(error.text, "injected") && taken == 0) continue;
                print_message("%s: %s %ld of %ld: %s \"%s\", verdict %s, %d blocks\n", tasks[t].what, call_names[c], at, calls[c], gs_status_name(status),
                              error.text, gs_verdict_name(verdict.code), taken);
                missed++;
            }
        }
    }
    print_message("%ld failures\n", all);
    assert_int_equal(missed, 0);
}

/* Verification leaks no host memory either. LeakSanitizer checks that by itself. */
static void nothing_is_kept(void **state)
{
    (void)state;
    if (SPARING > 1) skip();
    if (gs_compiler_version(NULL) == 0) skip();
    for (size_t t = 0; t < GS_COUNT(tasks); t++) {
        memory_watch watch = {0};
        if (strcmp(tasks[t].schedule, "simple") != 0) continue;   /* for other kernels the emulated device's caches take long to reach a constant size */
        for (int i = 0; i < MEMORY_ROUNDS; i++) {
            gs_verdict verdict;
            gs_error error = {0};
            memory_round(&watch);
            assert_int_equal(verify(&tasks[t], &verdict, &error), GS_OK);
        }
        if (memory_grows(&watch)) fail_msg("%s: more memory in every round", tasks[t].what);
    }
}

/* Time limits rely on it: the contender runs exactly as often as gs_verify_seconds counts (tests/verify/range.c). */
static void runs_are_those_that_are_counted(void **state)
{
    (void)state;
    static const struct { uint32_t parts; const char *problem; int runs; } cases[] = {
        {GS_PART_EXACT, "f16:24x16x32:tn", 2},        {GS_PART_EXACT, "f16:24x16x32:tn:beta=1", 3},     {GS_PART_CANCELLATION, "f16:24x16x32:tn", 2},
        {GS_PART_CANCELLATION, "f16:24x16x32:tn:beta=1", 2}, {GS_PART_INDEX, "f16:24x16x32:tn", 3},     {GS_PART_NORMAL, "f16:24x16x32:tn", 1},
        {GS_PART_REPEAT, "f16:24x16x32:tn", 2},       {GS_PART_MEMORY, "f16:24x16x32:tn", 3},           {GS_PART_EXACT | GS_PART_MEMORY, "f16:24x16x32:tn", 3},
        {GS_PART_CANCELLATION | GS_PART_MEMORY, "f16:24x16x32:tn", 2},
    };
    if (gs_compiler_version(NULL) == 0) skip();
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const task t = {"", "simple", cases[i].problem, cases[i].parts, 1, false};
        gs_verdict verdict;
        gs_error error = {0};
        assert_int_equal(verify(&t, &verdict, &error), GS_OK);
        assert_int_equal(verdict.code, GS_VERDICT_PASS);
        assert_string_equal(verdict.reason, "the chosen tests passed");
        assert_string_equal(verdict.problem, cases[i].problem);
        assert_true(verdict.part == 0 && verdict.row == -1 && verdict.col == -1);
        if (runs != cases[i].runs) fail_msg("parts %x of %s: %d runs, not %d", cases[i].parts, cases[i].problem, runs, cases[i].runs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_failure_is_returned), cmocka_unit_test(nothing_is_kept),
                                       cmocka_unit_test(runs_are_those_that_are_counted)};
    return cmocka_run_group_tests_name("verify/failing", tests, open_device, close_device);
}
