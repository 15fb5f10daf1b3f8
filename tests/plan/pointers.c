/* SPDX-License-Identifier: MIT
 * Plans of batches by pointers, on the emulated device: pointer arrays that change between runs and between replays of a graph, required alignment, and which families
 * support them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/half.h"
#include "device/device.h"
#include "plan/plan_internal.h"

enum { SIDE = 16, BATCH = 3, EACH = SIDE * SIDE };

static gs_context *context;
static gs_device  *device;
static gs_error    error;

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

static int open_all(void **state)
{
    (void)state;
    gs_config config = gs_config_default();
    if (gs_compiler_version(&error) == 0) return 0;
    config.device = "emu:h200";
    config.tuned_path = GS_SOURCE_DIR "/tests/plan";   /* a folder without tables */
    config.use_cublaslt = 0;
    if (gs_open(&context, &config, &error) != GS_OK) return 1;
    device = context->device;
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    gs_close(&context);
    return 0;
}

static gs_pointer memory_of(size_t bytes)
{
    gs_pointer at = 0;
    OK(device->ops->alloc(device, bytes, &at, &error));
    OK(device->ops->fill(device, at, 0x7fff7fff, bytes, NULL, &error));
    OK(device->ops->queue_wait(device, NULL, &error));
    return at;
}

/* Fills a matrix with one number. */
static void put_matrix(gs_pointer at, float value)
{
    uint16_t elements[EACH];
    for (int i = 0; i < EACH; i++) elements[i] = gs_f32_to_f16(value);
    OK(device->ops->copy_in(device, at, elements, sizeof elements, &error));
}

static void expect_matrix(gs_pointer at, float value)
{
    uint16_t elements[EACH];
    OK(device->ops->copy_out(device, elements, at, sizeof elements, &error));
    for (int i = 0; i < EACH; i++)
        if (gs_f16_to_f32(elements[i]) != value) fail_msg("element %d is %g instead of %g", i, (double)gs_f16_to_f32(elements[i]), (double)value);
}

/* Operands and pointer arrays of a batch. put_pointers chooses the matrices of A and D; all of them share one B. */
typedef struct batch {
    gs_pointer a, b, d, pointers;
    gs_args    args;
} batch;

static gs_pointer matrix(gs_pointer first, int index) { return first + (gs_pointer)index * (EACH * 2 + 32); }

static void put_pointers(const batch *b, const int of_a[BATCH], const int of_d[BATCH])
{
    gs_pointer pointers[3 * BATCH];
    for (int i = 0; i < BATCH; i++) {
        pointers[i] = matrix(b->a, of_a[i]);
        pointers[BATCH + i] = b->b;
        pointers[2 * BATCH + i] = matrix(b->d, of_d[i]);
    }
    OK(device->ops->copy_in(device, b->pointers, pointers, sizeof pointers, &error));
}

static batch make_batch(void)
{
    batch b = {.a = memory_of(4 * EACH * BATCH), .b = memory_of(2 * EACH), .d = memory_of(4 * EACH * BATCH), .pointers = memory_of(3 * BATCH * 8)};
    for (int i = 0; i < BATCH; i++) put_matrix(matrix(b.a, i), (float)(i + 1));
    put_matrix(b.b, 0.125f);
    b.args = gs_args_make((void *)b.pointers, (void *)(b.pointers + 8 * BATCH), NULL, (void *)(b.pointers + 16 * BATCH));
    return b;
}

static void free_batch(const batch *b)
{
    device->ops->free(device, b->a);
    device->ops->free(device, b->b);
    device->ops->free(device, b->d);
    device->ops->free(device, b->pointers);
}

static void expect(const batch *b, const int of_a[BATCH], const int of_d[BATCH])
{
    for (int i = 0; i < BATCH; i++) expect_matrix(matrix(b->d, of_d[i]), 2.0f * (float)(of_a[i] + 1));
}

static const int straight[BATCH] = {0, 1, 2}, turned[BATCH] = {2, 0, 1}, one[BATCH] = {1, 1, 1};

static void arrays_are_read_by_the_kernel(void **state)
{
    (void)state;
    static const char *const schedules[] = {"simple", "mma/16x16x64/w1x2/s2/g1"};
    if (!context) skip();
    gs_problem problem;
    OK(gs_problem_parse(&problem, "f16:16x16x16:tn:b=3:matrices=pointers", &error));
    for (size_t i = 0; i < GS_COUNT(schedules); i++) {
        gs_plan *plan;
        gs_queue queue;
        gs_graph graph = NULL;
        const batch b = make_batch();
        OK(gs_plan_create_schedule(context, &problem, schedules[i], &plan, &error));
        OK(device->ops->queue_create(device, &queue, &error));
        put_pointers(&b, straight, turned);
        OK(gs_plan_run(plan, &b.args, queue));
        OK(device->ops->queue_wait(device, queue, &error));
        expect(&b, straight, turned);
        put_pointers(&b, one, straight);   /* several pointers of A may be equal */
        OK(gs_plan_run(plan, &b.args, queue));
        OK(device->ops->queue_wait(device, queue, &error));
        expect(&b, one, straight);
        OK(device->ops->capture_begin(device, queue, &error));
        OK(gs_plan_run(plan, &b.args, queue));
        OK(device->ops->capture_end(device, queue, &graph, &error));
        for (int replay = 0; replay < 2; replay++) {
            const int *const of_a = replay ? turned : straight, *const of_d = replay ? straight : turned;
            put_pointers(&b, of_a, of_d);
            OK(device->ops->graph_launch(device, graph, queue, &error));
            OK(device->ops->queue_wait(device, queue, &error));
            expect(&b, of_a, of_d);
        }
        device->ops->graph_destroy(device, graph);
        device->ops->queue_destroy(device, queue);
        gs_plan_destroy(&plan);
        free_batch(&b);
    }
}

static void arrays_are_aligned_to_pointers(void **state)
{
    (void)state;
    if (!context) skip();
    gs_problem problem;
    OK(gs_problem_parse(&problem, "f16:16x16x16:tn:b=3:matrices=pointers", &error));
    gs_plan *plan;
    const batch b = make_batch();
    put_pointers(&b, straight, straight);
    OK(gs_plan_create(context, &problem, &plan, &error));
    gs_args args = b.args;
    args.d = (char *)args.d + 4;
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_ERROR_ALIGNMENT);
    assert_int_equal(gs_gemm(context, &problem, &args, NULL, &error), GS_ERROR_ALIGNMENT);
    OK(gs_gemm(context, &problem, &b.args, NULL, &error));
    OK(device->ops->queue_wait(device, NULL, &error));
    expect(&b, straight, straight);
    for (const char *name = "abd"; *name; name++) assert_true(gs_plan_alignment(plan, *name) <= 16);
    gs_plan_destroy(&plan);
    free_batch(&b);
}

/* A plan for one of them is not used for the other. */
static void strided_and_by_pointers_are_two_problems(void **state)
{
    (void)state;
    if (!context) skip();
    gs_problem problem, strided;
    OK(gs_problem_parse(&problem, "f16:16x16x16:tn:b=3:matrices=pointers", &error));
    OK(gs_problem_parse(&strided, "f16:16x16x16:tn:b=3", &error));
    const batch b = make_batch();
    const gs_args args = gs_args_make((void *)b.a, (void *)b.a, NULL, (void *)b.d);
    OK(gs_gemm(context, &strided, &args, NULL, &error));
    put_pointers(&b, straight, straight);
    OK(gs_gemm(context, &problem, &b.args, NULL, &error));
    OK(device->ops->queue_wait(device, NULL, &error));
    expect(&b, straight, straight);
    free_batch(&b);
}

/* If K is 0, A, B and their pointer arrays may be missing. */
static void empty_sums_need_no_operands(void **state)
{
    (void)state;
    static const char *const schedules[] = {"simple", "mma/16x16x64/w1x2/s2/g1"};
    if (!context) skip();
    gs_problem problem;
    OK(gs_problem_parse(&problem, "f16:16x16x0:tn:b=3:matrices=pointers", &error));
    for (size_t i = 0; i < GS_COUNT(schedules); i++) {
        gs_plan *plan;
        const batch b = make_batch();
        const gs_args args = gs_args_make(NULL, NULL, NULL, b.args.d);
        put_pointers(&b, straight, turned);
        OK(gs_plan_create_schedule(context, &problem, schedules[i], &plan, &error));
        OK(gs_plan_run(plan, &args, NULL));
        OK(device->ops->queue_wait(device, NULL, &error));
        for (int index = 0; index < BATCH; index++) expect_matrix(matrix(b.d, index), 0);
        gs_plan_destroy(&plan);
        free_batch(&b);
    }
}

/* Which families refuse pointers, and why. */
static void families_say_no(void **state)
{
    (void)state;
    static const char *const schedules[] = {"ws/64x64x64/s4/c2x1/coop/g8", "slicek/32x32/w1x1x8/d4/k16/fixed/f128"};
    if (!context) skip();
    gs_problem problem;
    OK(gs_problem_parse(&problem, "f16:64x64x256:tn:b=3:matrices=pointers", &error));
    for (size_t i = 0; i < GS_COUNT(schedules); i++) {
        gs_plan *plan;
        assert_int_equal(gs_plan_create_schedule(context, &problem, schedules[i], &plan, &error), GS_ERROR_UNSUPPORTED);
        assert_string_equal(error.field, "matrices");
        assert_non_null(strstr(error.text, "pointers to the matrices"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_read_by_the_kernel), cmocka_unit_test(arrays_are_aligned_to_pointers), cmocka_unit_test(strided_and_by_pointers_are_two_problems),
        cmocka_unit_test(families_say_no), cmocka_unit_test(empty_sums_need_no_operands),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
