/* SPDX-License-Identifier: MIT
 * One plan, and one problem of gs_gemm, in eight threads at once: every product is right, threads do not disturb each other, and a plan has no more states than there
 * are live threads. On the emulated device, which computes, and on a fake driver, which is fast. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "device/device.h"
#include "fake/opened.h"
#include "plan/plan_internal.h"
#include "loaded/states.h"

enum { THREADS = 8, RUNS = 12, MOST = 32 * 32 };

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

static void need_compiler(void)
{
    gs_error error;
    if (gs_compiler_version(&error) == 0) skip();
}

static gs_context *open_context(const char *name)
{
    gs_config config = gs_config_default();
    gs_context *context = NULL;
    gs_error error = {0};
    config.device = name;
    config.tuned_path = GS_SOURCE_DIR "/tests/plan";   /* a folder without tables */
    config.use_cublaslt = 0;
    OK(gs_open(&context, &config, &error));
    return context;
}

typedef struct job {
    gs_context    *context;
    const gs_plan *plan;       /* NULL: gs_gemm */
    gs_problem     problem;
    gs_pointer     memory;     /* A, B and D of this thread, 4096 bytes each */
    gs_queue       queue;
    float          alpha;
    gs_status      status;
} job;

static void *multiply(void *argument)
{
    job *const j = argument;
    for (int i = 0; i < RUNS && j->status == GS_OK; i++) {
        gs_args args = gs_args_make((void *)(uintptr_t)j->memory, (void *)(uintptr_t)(j->memory + 4096), NULL, (void *)(uintptr_t)(j->memory + 8192));
        args.alpha = &j->alpha;
        j->status = j->plan ? gs_plan_run(j->plan, &args, j->queue) : gs_gemm(j->context, &j->problem, &args, j->queue, NULL);
    }
    return NULL;
}

/* Thread i multiplies ones by ones with its own alpha, into its own D. */
static void in_threads(const char *device_name, const char *text, const char *schedule, bool computes)
{
    gs_context *context = open_context(device_name);
    gs_device *const device = context->device;
    gs_error error = {0};
    gs_plan *plan = NULL;
    job jobs[THREADS] = {0};
    pthread_t threads[THREADS];
    gs_problem problem;
    OK(gs_problem_parse(&problem, text, &error));
    if (schedule) OK(gs_plan_create_schedule(context, &problem, schedule, &plan, &error));
    const size_t elements = (size_t)(problem.m * problem.n);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){.context = context, .plan = plan, .problem = problem, .alpha = (float)(1 << i)};
        OK(device->ops->alloc(device, 3 * 4096, &jobs[i].memory, &error));
        OK(device->ops->fill(device, jobs[i].memory, 0x3c003c00, 8192, NULL, &error));
        OK(device->ops->queue_create(device, &jobs[i].queue, &error));
    }
    OK(device->ops->queue_wait(device, NULL, &error));
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, multiply, &jobs[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        float d[MOST];
        if (jobs[i].status != GS_OK) fail_msg("thread %d: %s", i, gs_status_string(jobs[i].status));
        OK(device->ops->queue_wait(device, jobs[i].queue, &error));
        OK(device->ops->copy_out(device, d, jobs[i].memory + 8192, elements * 4, &error));
        for (size_t at = 0; computes && at < elements; at++)
            if (d[at] != (float)problem.k * jobs[i].alpha) fail_msg("thread %d, element %zu: %g", i, at, (double)d[at]);
        device->ops->queue_destroy(device, jobs[i].queue);
        device->ops->free(device, jobs[i].memory);
    }
    gs_plan_destroy(&plan);
    gs_close(&context);
}

static void one_plan_on_the_emulated_device(void **state)
{
    (void)state;
    need_compiler();
    in_threads("emu:h200,check=0", "f16:16x16x16:tn:d=f32", "simple", true);
    in_threads("emu:h200,check=0", "f16:16x32x64:tn:d=f32", "mma/16x32x64/w1x2/s2/g8", true);
    in_threads("emu:h200,check=0", "f16:16x16x16:tn:d=f32", NULL, true);   /* gs_gemm: all threads need the same new plan at once */
}

static void one_plan_on_a_fake_driver(void **state)
{
    (void)state;
    need_compiler();
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CUBLASLT", "/nonexistent", 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    open_fake();
    in_threads("cuda:0", "f16:16x16x16:tn:d=f32", "simple", false);
    in_threads("cuda:0", "f16:16x16x16:tn:d=f32", "ws/64x64x64/s4/c1x1/coop/g8", false);   /* tensor maps, in threads without a current CUDA context */
    const int before = calls("cuModuleLoadDataEx");
    in_threads("cuda:0", "f16:16x16x16:tn:d=f32", NULL, false);
    assert_int_equal(calls("cuModuleLoadDataEx") - before, 1);   /* eight threads asked, one made the plan */
    assert_int_equal(live(), 0);
}

/* ---- states ---- */

static int made, destroyed;

static gs_state *make_state(void *self, gs_error *error)
{
    if (self) {
        gs_fail(error, GS_ERROR_MEMORY, NULL, "none today");
        return NULL;
    }
    made++;
    return calloc(1, sizeof(gs_state));
}

static void destroy_state(gs_state *state)
{
    destroyed++;
    free(state);
}

static void *claim(void *states)
{
    void *const first = gs_states_mine(states, NULL);
    return first && first == gs_states_mine(states, NULL) ? first : NULL;
}

static void states_of_ended_threads_are_used_again(void **state)
{
    (void)state;
    gs_states states = {.create = make_state, .destroy = destroy_state}, other = {.create = make_state, .destroy = destroy_state};
    gs_error error = {0};
    made = destroyed = 0;
    OK(gs_states_init(&states, &error));
    void *const mine = gs_states_mine(&states, &error);
    assert_non_null(mine);
    assert_int_equal(made, 1);   /* made by gs_states_init: the first use by a single thread makes none */
    void *last = NULL;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *theirs;
        assert_int_equal(pthread_create(&thread, NULL, claim, &states), 0);
        pthread_join(thread, &theirs);
        assert_non_null(theirs);
        assert_ptr_not_equal(theirs, mine);
        assert_true(!last || theirs == last);
        last = theirs;
    }
    assert_int_equal(made, 2);
    OK(gs_states_init(&other, &error));
    other.self = &other;
    pthread_t thread;
    void *theirs = mine;
    assert_ptr_not_equal(gs_states_mine(&other, &error), mine);
    assert_int_equal(pthread_create(&thread, NULL, claim, &other), 0);   /* no memory for a second state */
    pthread_join(thread, &theirs);
    assert_null(theirs);
    assert_ptr_equal(gs_states_mine(&states, &error), mine);
    gs_states_free(&states);
    gs_states_free(&other);
    gs_states_free(&other);
    assert_int_equal(destroyed, made);
    states = (gs_states){.create = make_state, .destroy = destroy_state, .self = &states};
    assert_int_equal(gs_states_init(&states, &error), GS_ERROR_MEMORY);
    assert_int_equal(error.status, GS_ERROR_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_of_ended_threads_are_used_again),
        cmocka_unit_test(one_plan_on_the_emulated_device),
        cmocka_unit_test(one_plan_on_a_fake_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
