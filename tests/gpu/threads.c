/* SPDX-License-Identifier: MIT
 * One plan in eight threads on eight streams of a GPU: every product is bit for bit what one thread computed alone, and no call fails.
 * Prints a JSON row with the rate of calls of one thread and of eight. */
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

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "device/device.h"

enum { THREADS = 8, SETS = 4, RIGHT_CALLS = 400, RATE_CALLS = 20000 };

static gs_device  *device;
static gs_context *context;

typedef struct job {
    const gs_plan     *plan;
    gs_queue           queue;
    gs_pointer         a[SETS], b[SETS], d[SETS];
    unsigned char     *want[SETS];    /* D, as one thread computed it alone */
    int                calls;
    gs_status          status;
    pthread_barrier_t *start;
} job;

static void put_random(gs_pointer *to, size_t bytes, gs_random *random)
{
    uint16_t *const numbers = malloc(bytes);
    assert_non_null(numbers);
    for (size_t i = 0; i < bytes / 2; i++) numbers[i] = (uint16_t)(0x3000 + gs_random_below(random, 0x0c00) + (gs_random_below(random, 2) << 15));   /* 0.125 to 1, either sign */
    assert_int_equal(device->ops->alloc(device, bytes, to, NULL), GS_OK);
    assert_int_equal(device->ops->copy_in(device, *to, numbers, bytes, NULL), GS_OK);
    free(numbers);
}

static void *run(void *argument)
{
    job *const j = argument;
    pthread_barrier_wait(j->start);
    for (int i = 0; i < j->calls && j->status == GS_OK; i++) {
        const int set = i % SETS;
        const gs_args args = gs_args_make((const void *)(uintptr_t)j->a[set], (const void *)(uintptr_t)j->b[set], NULL, (void *)(uintptr_t)j->d[set]);
        j->status = gs_plan_run(j->plan, &args, j->queue);
    }
    if (j->status == GS_OK) j->status = device->ops->queue_wait(device, j->queue, NULL);
    return NULL;
}

/* Calls per second of so many threads, everything awaited. */
static double rate(job *jobs, int threads, int calls)
{
    pthread_t thread[THREADS];
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, (unsigned)threads + 1), 0);
    for (int i = 0; i < threads; i++) {
        jobs[i].calls = calls;
        jobs[i].start = &start;
        assert_int_equal(pthread_create(&thread[i], NULL, run, &jobs[i]), 0);
    }
    pthread_barrier_wait(&start);
    const int64_t began = gs_clock_ns();
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    const double seconds = (double)(gs_clock_ns() - began) * 1e-9;
    pthread_barrier_destroy(&start);
    for (int i = 0; i < threads; i++)
        if (jobs[i].status != GS_OK) fail_msg("thread %d: %s", i, gs_status_string(jobs[i].status));
    return (double)threads * calls / seconds;
}

static void read_d(const job *j, int set, unsigned char *to, size_t bytes)
{
    assert_int_equal(device->ops->copy_out(device, to, j->d[set], bytes, NULL), GS_OK);
}

static void one_plan_in_eight_threads(void **state)
{
    static const char *const texts[] = {"f16:128x512x512:tn", "bf16:64x1024x256:nn", "f16:1x4096x4096:tn"};
    (void)state;
    for (size_t t = 0; t < GS_COUNT(texts); t++) {
        job jobs[THREADS] = {{0}};
        gs_problem problem;
        gs_plan *plan;
        gs_error error;
        gs_random random = {t + 1};
        assert_int_equal(gs_problem_parse(&problem, texts[t], &error), GS_OK);
        if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) fail_msg("%s: %s", texts[t], error.text);
        const size_t bytes = gs_problem_bytes(&problem, 'd');
        unsigned char *const got = malloc(bytes);
        assert_non_null(got);
        for (int i = 0; i < THREADS; i++) {
            jobs[i].plan = plan;
            assert_int_equal(device->ops->queue_create(device, &jobs[i].queue, NULL), GS_OK);
            for (int set = 0; set < SETS; set++) {
                put_random(&jobs[i].a[set], gs_problem_bytes(&problem, 'a'), &random);
                put_random(&jobs[i].b[set], gs_problem_bytes(&problem, 'b'), &random);
                put_random(&jobs[i].d[set], bytes, &random);
                assert_non_null(jobs[i].want[set] = malloc(bytes));
            }
            rate(&jobs[i], 1, SETS);
            for (int set = 0; set < SETS; set++) {
                read_d(&jobs[i], set, jobs[i].want[set], bytes);
                assert_int_equal(device->ops->fill(device, jobs[i].d[set], 0x7fff7fff, bytes, jobs[i].queue, NULL), GS_OK);
            }
            assert_int_equal(device->ops->queue_wait(device, jobs[i].queue, NULL), GS_OK);
        }
        rate(jobs, THREADS, RIGHT_CALLS);
        for (int i = 0; i < THREADS; i++)
            for (int set = 0; set < SETS; set++) {
                read_d(&jobs[i], set, got, bytes);
                assert_memory_equal(got, jobs[i].want[set], bytes);
            }
        const double alone = rate(jobs, 1, RATE_CALLS), together = rate(jobs, THREADS, RATE_CALLS);
        printf("{\"problem\":\"%s\",\"schedule\":\"%s\",\"calls_per_s_1_thread\":%.0f,\"calls_per_s_8_threads\":%.0f}\n", texts[t], gs_plan_schedule(plan), alone, together);
        gs_plan_destroy(&plan);
        for (int i = 0; i < THREADS; i++) {
            for (int set = 0; set < SETS; set++) {
                device->ops->free(device, jobs[i].a[set]);
                device->ops->free(device, jobs[i].b[set]);
                device->ops->free(device, jobs[i].d[set]);
                free(jobs[i].want[set]);
            }
            device->ops->queue_destroy(device, jobs[i].queue);
        }
        free(got);
    }
}

int main(void)
{
    gs_error error;
    if (gs_device_open(&device, gs_device_gpu(), NULL, &error) != GS_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    gs_config config = gs_config_default();
    config.use_cublaslt = 0;
    config.device = gs_device_gpu();
    if (gs_open(&context, &config, &error) != GS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_plan_in_eight_threads)};
    const int failed = cmocka_run_group_tests_name("gpu/threads", tests, NULL, NULL);
    gs_close(&context);
    gs_device_close(&device);
    return failed;
}
