/* SPDX-License-Identifier: MIT
 * Plans on a GPU: every rung computes the right product, also captured in a CUDA graph and with pointers that tensor copies
 * cannot take; running allocates nothing and costs the host no more than cublasLtMatmul. Prints the host costs as JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemmsmith/gemmsmith.h>

#include "allocations.h"
#include "base/clock.h"
#include "bench/stats.h"
#include "cublas/library.h"
#include "learn/weights.h"
#include "verify/verify.h"

static gs_device   *device;
static gs_verifier *verifier;
static gs_context  *context;
static gs_error     error;

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

/* The operands of a problem on the device, `shift` bytes off their alignment, and its reference. */
typedef struct operands {
    gs_pointer memory[4], reference;
    gs_args    args;
} operands;

static void make_operands(operands *o, const gs_problem *problem, size_t shift)
{
    static const char names[4] = {'a', 'b', 'c', 'd'};
    for (int i = 0; i < 4; i++) OK(device->ops->alloc(device, gs_problem_bytes(problem, names[i]) + 256, &o->memory[i], &error));
    OK(device->ops->alloc(device, (size_t)(problem->m * problem->n) * 8 + 256, &o->reference, &error));
    gs_pointer at[4];
    for (int i = 0; i < 4; i++) at[i] = o->memory[i] + shift;
    for (int i = 0; i < 3; i++) OK(gs_generate(verifier, problem, names[i], GS_DATA_NORMAL, 7, at[i], NULL, &error));
    OK(gs_reference(verifier, problem, at[0], at[1], at[2], o->reference, NULL, &error));
    o->args = (gs_args){.size = sizeof(gs_args), .a = (void *)at[0], .b = (void *)at[1], .c = (void *)at[2], .d = (void *)at[3]};
    OK(device->ops->fill(device, o->memory[3], 0x7fff7fff, (gs_problem_bytes(problem, 'd') + 256) / 4 * 4, NULL, &error));
    OK(device->ops->queue_wait(device, NULL, &error));
}

static void check_operands(const operands *o, const gs_problem *problem, const char *what)
{
    gs_compare compare;
    OK(device->ops->queue_wait(device, NULL, &error));
    OK(gs_compare_reference(verifier, problem, &o->args, o->reference, 2, &compare, NULL, &error));
    char text[GS_PROBLEM_TEXT];
    if (compare.mismatches)
        fail_msg("%s %s: %lld wrong, first (%lld, %lld) %g instead of %g", what, gs_problem_format(problem, text), (long long)compare.mismatches,
                 (long long)compare.row, (long long)compare.col, compare.got, compare.want);
}

static void free_operands(operands *o)
{
    for (int i = 0; i < 4; i++) device->ops->free(device, o->memory[i]);
    device->ops->free(device, o->reference);
}

static gs_problem problem_of(const char *text)
{
    gs_problem problem;
    OK(gs_problem_parse(&problem, text, &error));
    return problem;
}

static const char *const problems[] = {
    "f16:128x256x64:tn", "f16:1000x1032x1048:nn", "bf16:257x511x1000:tn:beta=0.5", "f16:65x67x69:nn:acc=f16", "f16:1x1x1:tn", "f16:33x40x0:nn:beta=2", "bf16:2048x2048x2048:nn:d=f32",
};

static void test_rungs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        const gs_problem problem = problem_of(problems[i]);
        static const char *const how[] = {"choice", "cublaslt", "simple"};
        for (int j = 0; j < 3; j++) {
            if (j == 1 && problem.k == 0) continue;
            operands o;
            make_operands(&o, &problem, 0);
            gs_plan *plan = NULL;
            if (j == 0)
                OK(gs_plan_create(context, &problem, &plan, &error));
            else
                OK(gs_plan_create_schedule(context, &problem, how[j], &plan, &error));
            OK(gs_plan_run(plan, &o.args, NULL));
            check_operands(&o, &problem, gs_plan_why(plan));
            gs_plan_destroy(&plan);
            free_operands(&o);
        }
    }
}

/* Weights that expect more of cuBLASLt than of every schedule: the plan takes it, and says what was expected of both; and the other way round. */
static void test_doubt(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:333x504x520:tn");
    char path[] = "/tmp/gemmsmith-doubt-XXXXXX";
    close(mkstemp(path));
    setenv("GEMMSMITH_WEIGHTS", path, 1);
    setenv("GEMMSMITH_TUNED", "", 1);
    for (int faster = 0; faster < 2; faster++) {
        gs_weights weights;
        OK(gs_weights_create(&weights, 1, 1, &error));
        gs_net *const net = &weights.surrogate.net[0];   /* hidden 0 -> 0 -> out, and only cuBLASLt has a part in hidden 0 */
        memset(net->weights, 0, (size_t)net->count * sizeof *net->weights);
        net->weights[(GS_PROBLEM_FEATURES + GS_WORK_FEATURES + gs_token_of(GS_FAMILIES, -1, 0)) * GS_HIDDEN] = faster ? 0.001f : 9;
        net->weights[net->width[0] * GS_HIDDEN + GS_HIDDEN] = 1;
        net->weights[net->count - 1 - GS_HIDDEN] = 1;
        OK(gs_weights_save(&weights, path, &error));
        gs_weights_free(&weights);
        gs_context *other = NULL;
        gs_plan *plan = NULL;
        gs_config config = gs_config_default();
        OK(gs_open(&other, &config, &error));
        OK(gs_plan_create(other, &problem, &plan, &error));
        assert_int_equal(gs_plan_origin(plan), faster ? GS_ORIGIN_CUBLASLT : GS_ORIGIN_DEFAULT);
        assert_non_null(strstr(gs_plan_why(plan), faster ? "no table entry: cuBLASLt, " : "the learned weights' choice, "));
        assert_non_null(strstr(gs_plan_why(plan), "us expected"));
        gs_plan_destroy(&plan);
        gs_close(&other);
    }
    unsetenv("GEMMSMITH_WEIGHTS");
    unsetenv("GEMMSMITH_TUNED");
    remove(path);
}

/* What is written is read as the same choice, cuBLASLt's and our own, and computes the same product. */
static void test_saved(void **state)
{
    (void)state;
    static const char *const schedules[] = {"library", "library/2", "ws/128x128x64/s4/c2x1/coop/g8"};
    const gs_problem problem = problem_of("f16:512x512x512:tn");
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        gs_plan *plan = NULL, *again = NULL;
        size_t size = 0;
        operands o;
        make_operands(&o, &problem, 0);
        OK(gs_plan_create_schedule(context, &problem, schedules[i], &plan, &error));
        OK(gs_plan_save(plan, NULL, &size, &error));
        void *const bytes = malloc(size);
        assert_non_null(bytes);
        OK(gs_plan_save(plan, bytes, &size, &error));
        OK(gs_plan_load(context, bytes, size, &again, &error));
        assert_string_equal(gs_plan_schedule(again), gs_plan_schedule(plan));
        assert_string_equal(gs_plan_why(again), gs_plan_why(plan));
        assert_int_equal(gs_plan_workspace(again), gs_plan_workspace(plan));
        OK(gs_plan_run(again, &o.args, NULL));
        check_operands(&o, &problem, schedules[i]);
        free(bytes);
        gs_plan_destroy(&again);
        gs_plan_destroy(&plan);
        free_operands(&o);
    }
}

/* Pointers that are aligned to an element only. */
static void test_unaligned(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        const gs_problem problem = problem_of(problems[i]);
        operands o;
        make_operands(&o, &problem, gs_type_size(problem.out));
        OK(gs_gemm(context, &problem, &o.args, NULL, &error));
        check_operands(&o, &problem, "unaligned");
        free_operands(&o);
    }
}

static void test_graph(void **state)
{
    (void)state;
    static const char *const schedules[] = {NULL, "cublaslt", "ws/128x128x64/s4/c2x1/coop/g8", "mma/64x64x64/w2x2/s3/g8"};
    const gs_problem problem = problem_of("f16:512x768x640:tn");
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        gs_plan *plan = NULL;
        if (schedules[i] && strncmp(schedules[i], "ws", 2) == 0 && device->caps.cc != 90) continue;
        if (schedules[i])
            OK(gs_plan_create_schedule(context, &problem, schedules[i], &plan, &error));
        else
            OK(gs_plan_create(context, &problem, &plan, &error));
        operands x, y;
        make_operands(&x, &problem, 0);
        make_operands(&y, &problem, 0);
        gs_queue queue;
        gs_graph graph;
        OK(device->ops->queue_create(device, &queue, &error));
        OK(device->ops->capture_begin(device, queue, &error));
        const int before = allocations;
        OK(gs_plan_run(plan, &x.args, queue));
        OK(gs_plan_run(plan, &y.args, queue));
        assert_int_equal(allocations, before);
        OK(device->ops->capture_end(device, queue, &graph, &error));
        for (int replay = 0; replay < 3; replay++) {
            OK(device->ops->fill(device, y.memory[3], 0x7fff7fff, gs_problem_bytes(&problem, 'd'), queue, &error));
            OK(device->ops->graph_launch(device, graph, queue, &error));
            OK(device->ops->queue_wait(device, queue, &error));
            check_operands(&x, &problem, "graph, first");
            check_operands(&y, &problem, "graph, second");
        }
        device->ops->graph_destroy(device, graph);
        device->ops->queue_destroy(device, queue);
        free_operands(&x);
        free_operands(&y);
        gs_plan_destroy(&plan);
    }
}

/* C may be D: every family and cuBLASLt read C before they write it. */
static void test_in_place(void **state)
{
    (void)state;
    static const char *const schedules[] = {"simple", "cublaslt", "mma/64x64x64/w2x2/s3/g8", "ws/128x128x64/s4/c1x1/coop/g8"};
    const gs_problem problem = problem_of("f16:300x264x200:tn:alpha=0.5:beta=-1.5");
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        gs_plan *plan = NULL;
        if (strncmp(schedules[i], "ws", 2) == 0 && device->caps.cc != 90) continue;
        OK(gs_plan_create_schedule(context, &problem, schedules[i], &plan, &error));
        operands o;
        make_operands(&o, &problem, 0);
        const size_t bytes = gs_problem_bytes(&problem, 'c');
        char *const copy = malloc(bytes);
        assert_non_null(copy);
        OK(device->ops->copy_out(device, copy, o.memory[2], bytes, &error));
        OK(device->ops->copy_in(device, o.memory[3], copy, bytes, &error));
        free(copy);
        o.args.c = o.args.d;
        OK(gs_plan_run(plan, &o.args, NULL));
        check_operands(&o, &problem, schedules[i]);
        free_operands(&o);
        gs_plan_destroy(&plan);
    }
}

/* Many short tiles per block: the epilogue of a tile starts while the last store of the tile before may still read its buffer.
 * The tiles have an odd and an even number of chunks per consumer. */
static void test_many_tiles(void **state)
{
    (void)state;
    if (device->caps.cc != 90) skip();
    static const char *const schedules[] = {"ws/192x192x64/s3/c1x1/coop/g8", "ws/128x64x64/s8/c1x1/coop/g8", "ws/64x192x64/s4/c1x2/coop/h4",
                                            "ws/128x192x64/s4/c2x1/coop/g8", "ws/128x256x64/s4/c2x1/coop/g8"};
    const gs_problem problem = problem_of("f16:6144x6144x64:tn");
    operands o;
    make_operands(&o, &problem, 0);
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        gs_plan *plan = NULL;
        OK(gs_plan_create_schedule(context, &problem, schedules[i], &plan, &error));
        for (int repeat = 0; repeat < 10; repeat++) {
            OK(device->ops->fill(device, o.memory[3], 0x7fff7fff, gs_problem_bytes(&problem, 'd'), NULL, &error));
            OK(gs_plan_run(plan, &o.args, NULL));
            check_operands(&o, &problem, schedules[i]);
        }
        gs_plan_destroy(&plan);
    }
    free_operands(&o);
}

/* A chain in which every call reads what the one before wrote, two plans in turn: dependent launches give the bits of ordinary ones, on a
 * stream and in a graph. */
static void run_chain(gs_context *on, const char *const schedule[2], const gs_problem *problem, operands *o, bool captured, char *out)
{
    enum { LINKS = 65 };
    gs_plan *plan[2];
    gs_queue queue;
    gs_graph graph = NULL;
    const size_t bytes = gs_problem_bytes(problem, 'd');
    gs_pointer at[2] = {o->memory[3], o->memory[2]};
    for (int i = 0; i < 2; i++) OK(gs_plan_create_schedule(on, problem, schedule[i], &plan[i], &error));
    OK(device->ops->queue_create(device, &queue, &error));
    for (int i = 0; i < 2; i++) OK(device->ops->fill(device, at[i], 0x7fff7fff, bytes, queue, &error));
    if (captured) OK(device->ops->capture_begin(device, queue, &error));
    for (int i = 0; i < LINKS; i++) {
        const void *const a = i ? (const void *)(uintptr_t)at[(i + 1) % 2] : o->args.a;
        OK(gs_plan_run(plan[i % 2], &(gs_args){.size = sizeof(gs_args), .a = a, .b = o->args.b, .d = (void *)(uintptr_t)at[i % 2]}, queue));
    }
    if (captured) OK(device->ops->capture_end(device, queue, &graph, &error));
    for (int replay = 0; captured && replay < 3; replay++) OK(device->ops->graph_launch(device, graph, queue, &error));
    OK(device->ops->queue_wait(device, queue, &error));
    OK(device->ops->copy_out(device, out, at[(LINKS - 1) % 2], bytes, &error));
    if (graph) device->ops->graph_destroy(device, graph);
    device->ops->queue_destroy(device, queue);
    for (int i = 0; i < 2; i++) gs_plan_destroy(&plan[i]);
}

static void test_dependent_chain(void **state)
{
    (void)state;
    static const char *const schedules[][2] = {
        {"simple", "simple"}, {"mma/64x64x64/w2x2/s3/g8", "mma/64x64x64/w2x2/s3/g8"}, {"mma/64x64x64/w2x2/s3/g8", "simple"},
        {"ws/64x64x64/s4/c1x1/coop/g8", "ws/128x64x64/s4/c1x1/coop/g8"}, {"ws/64x64x64/s4/c1x1/coop/g8", "mma/64x64x64/w2x2/s3/g8"},
    };
    const gs_problem problem = problem_of("f16:320x320x320:tn:alpha=0.056");   /* 1 / sqrt(320): values stay about 1 */
    const size_t bytes = gs_problem_bytes(&problem, 'd');
    gs_context *with, *without;
    gs_config config = gs_config_default();
    config.dependent = 1;
    OK(gs_open(&with, &config, &error));
    config.dependent = -1;
    OK(gs_open(&without, &config, &error));
    char *const want = malloc(bytes), *const got = malloc(bytes);
    assert_true(want && got);
    operands o;
    make_operands(&o, &problem, 0);
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        if (strncmp(schedules[i][0], "ws", 2) == 0 && device->caps.cc != 90) continue;
        run_chain(without, schedules[i], &problem, &o, false, want);
        for (int captured = 0; captured < 2; captured++) {
            run_chain(with, schedules[i], &problem, &o, captured, got);
            if (memcmp(want, got, bytes) != 0) fail_msg("%s, %s: other bits%s", schedules[i][0], schedules[i][1], captured ? " in a graph" : "");
        }
    }
    free_operands(&o);
    free(want);
    free(got);
    gs_close(&with);
    gs_close(&without);
}

/* Host time per call, issued without waiting, of three ways in the same loop; small enough never to wait for the GPU. */
static void test_host_cost(void **state)
{
    (void)state;
    enum { ROUNDS = 41, CALLS = 200, WAYS = 3 };
    static const char *const name[WAYS] = {"gs_plan_run ws", "gs_plan_run mma", "cublasLtMatmul"};
    const gs_problem problem = problem_of("f16:64x256x64:tn");
    gs_plan *plan[2] = {NULL, NULL};
    gs_library *library = NULL;
    const bool hopper = device->caps.cc == 90;
    if (hopper) OK(gs_plan_create_schedule(context, &problem, "ws/64x64x64/s4/c1x1/coop/g8", &plan[0], &error));
    OK(gs_plan_create_schedule(context, &problem, "mma/16x32x64/w1x2/s2/g8", &plan[1], &error));
    OK(gs_library_create(&library, device, &problem, &error));
    operands o;
    make_operands(&o, &problem, 0);
    gs_queue queue;
    OK(device->ops->queue_create(device, &queue, &error));
    double ns[WAYS][ROUNDS];
    int allocated[WAYS] = {0};
    for (int round = -3; round < ROUNDS; round++) {
        for (int j = 0; j < WAYS; j++) {
            const int way = (j + round + 3) % WAYS;
            if (way == 0 && !hopper) continue;
            const int before = allocations;
            const int64_t start = gs_clock_ns();
            for (int i = 0; i < CALLS; i++) {
                const gs_status status = way < 2 ? gs_plan_run(plan[way], &o.args, queue) : gs_library_run(library, &o.args, queue, &error);
                if (status != GS_OK) fail_msg("%s: %s", name[way], gs_status_string(status));
            }
            const int64_t end = gs_clock_ns();
            OK(device->ops->queue_wait(device, queue, &error));
            allocated[way] += allocations - before;
            if (round >= 0) ns[way][round] = (double)(end - start) / CALLS;
        }
    }
    double median[WAYS] = {0};
    for (int way = hopper ? 0 : 1; way < WAYS; way++) {
        median[way] = gs_median(ns[way], ROUNDS);
        printf("{\"host_cost\":\"%s\",\"problem\":\"f16:64x256x64:tn\",\"ns_per_call\":%.0f,\"p5\":%.0f,\"p95\":%.0f,\"rounds\":%d,\"calls\":%d,\"allocations\":%d}\n", name[way],
               median[way], gs_percentile(ns[way], ROUNDS, 5), gs_percentile(ns[way], ROUNDS, 95), ROUNDS, CALLS, allocated[way]);
        if (way < 2) assert_int_equal(allocated[way], 0);
    }
    assert_true(median[1] < median[2] * 1.1);
    device->ops->queue_destroy(device, queue);
    free_operands(&o);
    gs_library_destroy(&library);
    gs_plan_destroy(&plan[0]);
    gs_plan_destroy(&plan[1]);
}

int main(void)
{
    if (gs_device_open(&device, gs_device_gpu(), NULL, &error) != GS_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    if (gs_verifier_create(&verifier, device, &error) != GS_OK || gs_open(&context, NULL, &error) != GS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rungs),
        cmocka_unit_test(test_doubt),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_many_tiles),
        cmocka_unit_test(test_dependent_chain),
        cmocka_unit_test(test_host_cost),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gs_close(&context);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return failed;
}
