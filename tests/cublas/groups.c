/* SPDX-License-Identifier: MIT
 * NVIDIA's libraries on problems with groups: the arguments of each call, that groups of similar size share a tuned algorithm, and what is refused. Both libraries are
 * fakes (fake/libcublas.c, fake/libcublaslt.c); host memory stands for device memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocations.h"
#include "base/error.h"
#include "baseline/baseline.h"
#include "cublas/cublas.h"
#include "fake/cublas.h"
#include "fake/cublaslt.h"
#include "host_device.h"
#include "memory_in_use.h"
#include "problem/layout.h"
#include "texts.h"

#define OK(call)                                                    \
    do {                                                            \
        if ((call) != GS_OK) fail_msg("%s: %s", #call, error.text); \
    } while (0)

static gs_error error;

/* ---- calls of the fakes ---- */

enum { CALLS = 64 };
static const fake_grouped *grouped;
static const fake_call *last;
static fake_call calls[CALLS];
static int       algorithm[CALLS];

static void remember(int id, void *stream)
{
    assert_true(called < CALLS);
    used[called] = stream;
    calls[called] = *last;
    algorithm[called++] = id;
}

static int64_t picked[16];   /* rows of the problems that were timed */
static int     picks, suggested = 2;

/* For more than four rows the second suggestion is faster. */
static gs_status pick(gs_device *on, const gs_problem *problem, gs_contender *list, int count, double *us, gs_error *why)
{
    (void)on, (void)list, (void)why;
    assert_int_equal(count, suggested);
    assert_int_equal(problem->groups, 0);
    picked[picks++ % 16] = problem->m;
    for (int i = 0; i < count; i++) us[i] = 2 + i;
    us[1] = problem->m > 4 ? 1 : 3;
    return GS_OK;
}

/* ---- operand sets ---- */

#define GROUPS 6
static const int32_t offsets[2][GROUPS + 1] = {{0, 5, 5, 12, 13, 19, 40}, {0, 0, 0, 0, 0, 40, 40}};

/* Addresses far apart; nothing is read or written there. */
static gs_args args_of(int set)
{
    const uintptr_t at = (uintptr_t)(set + 1) << 32;
    return (gs_args){.size = sizeof(gs_args), .a = (void *)at, .b = (void *)(at + (1 << 24)), .c = (void *)(at + (2 << 24)), .d = (void *)(at + (3 << 24)),
                     .bias = (void *)(at + (4 << 24)), .offsets = (void *)(at + (5 << 24))};
}

static void prepare(gs_contender *c, const char *name, const char *text)
{
    const gs_problem problem = problem_of(text);
    const gs_args args[] = {args_of(0), args_of(1)};
    OK(gs_baseline_create(c, &device, name, pick, &error));
    OK(c->prepare(c, &problem, &error));
    OK(c->expect(c, args, offsets[0], 2, &error));
}

static const char *behind(const void *from, int64_t elements) { return (const char *)from + 2 * elements; }

/* ---- tests ---- */

static void each_group_has_a_call(void **state)
{
    (void)state;
    static const int64_t sizes[] = {6, 8, 1, 24, 48};   /* sizes that are tuned: 6 for groups of 5 and 6 rows, 8 for 7; 24 and 48 for 21 and 40 rows */
    static const int groups[] = {0, 2, 3, 4, 5};
    const gs_problem p = problem_of("bf16:40x24x16:tn:lda=24:ldd=32:g=6");
    const gs_args args = args_of(0);
    gs_contender c;
    picks = called = 0;
    prepare(&c, "cublaslt-groups", "bf16:40x24x16:tn:lda=24:ldd=32:g=6");
    assert_int_equal(picks, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(picked[i], sizes[i]);
    OK(c.run(&c, &args, NULL, &error));
    assert_int_equal(called, 5);
    for (int i = 0; i < 5; i++) {
        const int32_t first = offsets[0][groups[i]], rows = offsets[0][groups[i] + 1] - first;
        assert_int_equal(calls[i].cols, rows);
        assert_int_equal(algorithm[i], rows > 4 ? 8 : 7);
        assert_ptr_equal(calls[i].b, behind(args.a, first * p.lda));
        assert_ptr_equal(calls[i].a, behind(args.b, (int64_t)groups[i] * 24 * 16));
        assert_ptr_equal(calls[i].d, behind(args.d, first * p.ldd));
        assert_ptr_equal(calls[i].c, calls[i].d);
        if (calls[i].workspace_size) assert_non_null(calls[i].workspace);
    }
    const gs_args second = args_of(1);
    called = 0;
    OK(c.run(&c, &second, NULL, &error));
    assert_int_equal(called, 1);
    assert_int_equal(calls[0].cols, 40);
    assert_ptr_equal(calls[0].a, behind(second.b, 4 * 24 * 16));
    assert_non_null(strstr(c.detail, "6 sizes of groups, algorithms of 5, 1 at once"));
    c.destroy(&c);
    assert_int_equal(live, 0);
}

/* Alpha and beta in device memory: cuBLAS gets the problem's values, and the pointers of the call are not read. */
static void scalars_on_the_device(void **state)
{
    (void)state;
    static uint16_t matrix[40 * 24];
    const gs_problem p = problem_of("bf16:40x24x16:tn:alpha=2:beta=0.5:scalars=device");
    gs_contender c;
    gs_args args = args_of(0);
    args.c = matrix;
    args.alpha = args.beta = (const float *)16;
    memory_watch watch = {0};
    for (int i = 0; i < MEMORY_ROUNDS; i++) {
        memory_round(&watch);
        OK(gs_baseline_create(&c, &device, "cublaslt-heuristic", pick, &error));
        OK(c.prepare(&c, &p, &error));
        called = 0;
        OK(c.run(&c, &args, NULL, &error));
        assert_int_equal(called, 1);
        assert_ptr_equal(calls[0].c, matrix);
        c.destroy(&c);
        assert_int_equal(live, 0);
    }
    assert_false(memory_grows(&watch));
}

/* Groups run in turn on up to eight queues. They start after the work in the caller's queue, which then waits for all of them. Each queue has its own workspace. */
static void groups_at_once(void **state)
{
    (void)state;
    gs_contender c;
    const gs_args args = args_of(0), second = args_of(1);
    const gs_queue own = (gs_queue)(uintptr_t)31;
    handles = 0;
    prepare(&c, "cublaslt-groups-8", "bf16:40x24x16:tn:lda=24:ldd=32:g=6");
    assert_int_equal(opened, 15);   /* seven queues, eight events */
    called = waits = 0;
    OK(c.run(&c, &args, own, &error));
    assert_int_equal(called, 5);
    assert_int_equal(waits, 8);
    for (int i = 0; i < 5; i++) {
        assert_ptr_equal(calls[i].d, behind(args.d, offsets[0][(int[]){0, 2, 3, 4, 5}[i]] * 32));
        for (int j = 0; j < i; j++) {
            assert_ptr_not_equal(used[i], used[j]);
            if (calls[i].workspace_size && calls[j].workspace_size)
                assert_true((uintptr_t)calls[i].workspace - (uintptr_t)calls[j].workspace >= calls[j].workspace_size);
        }
    }
    assert_ptr_equal(used[0], own);
    for (int i = 0; i < 4; i++) {
        assert_true(waited[i].queue == used[i + 1] && waited[i].behind == own && waited[i].calls == 0);
        assert_true(waited[4 + i].queue == own && waited[4 + i].behind == used[i + 1] && waited[4 + i].calls == 5);
    }
    called = waits = records = 0;
    OK(c.run(&c, &second, own, &error));   /* only one group has rows */
    assert_true(called == 1 && waits == 0 && records == 0 && used[0] == own);
    c.destroy(&c);
    assert_true(opened == 0 && live == 0);
}

/* Tuned algorithms are kept for problems that differ only in the number of rows, for new offsets and for another contender. */
static void what_was_tuned_is_kept(void **state)
{
    (void)state;
    gs_contender c;
    const gs_args args = args_of(0);
    prepare(&c, "cublaslt-groups", "f16:40x24x8:tn:g=6");
    picks = 0;
    OK(c.expect(&c, &args, offsets[1], 1, &error));
    OK(c.expect(&c, &args, offsets[0], 1, &error));
    c.destroy(&c);
    prepare(&c, "cublaslt-groups", "f16:48x24x8:tn:g=6");
    assert_int_equal(picks, 0);
    called = 0;
    OK(c.run(&c, &args, NULL, &error));
    assert_int_equal(algorithm[0], 8);
    c.destroy(&c);
    prepare(&c, "cublaslt-groups", "f16:40x32x8:tn:g=6");
    assert_int_equal(picks, 5);
    c.destroy(&c);
}

/* Where a tuned algorithm does not support the number of rows, cuBLASLt's own choice replaces it. */
static void an_algorithm_that_does_not_fit(void **state)
{
    (void)state;
    gs_contender c;
    const gs_args args = args_of(0);
    setenv("FAKE_CUBLASLT_COLUMNS", "4", 1);
    prepare(&c, "cublaslt-groups", "f16:40x24x24:tn:g=6");
    unsetenv("FAKE_CUBLASLT_COLUMNS");
    called = 0;
    OK(c.run(&c, &args, NULL, &error));
    assert_int_equal(calls[0].cols, 5);
    assert_int_equal(algorithm[0], 7);
    assert_int_equal(algorithm[3], 8);   /* 6 rows, the size for which it was tuned */
    c.destroy(&c);
}

static void an_epilogue_of_groups(void **state)
{
    (void)state;
    gs_contender c;
    const gs_args args = args_of(0);
    prepare(&c, "cublaslt-groups", "f16:40x24x16:tn:g=6:ep=bias+relu");
    called = 0;
    OK(c.run(&c, &args, NULL, &error));
    assert_int_equal(called, 5);
    assert_int_equal(calls[1].epilogue, GS_LT_EPILOGUE_RELU | GS_LT_EPILOGUE_BIAS);
    assert_ptr_equal(calls[1].bias, behind(args.bias, 2 * 24));
    c.destroy(&c);
}

/* With a gate, the products of all groups, with both weights, go to memory of the contender; then one kernel finishes the rows of all groups. */
static void a_gate_is_one_kernel_behind_all(void **state)
{
    (void)state;
    static const char *const names[] = {"cublaslt-groups", "cublas-groups"};
    const gs_args args = args_of(0);
    const gs_problem p = problem_of("bf16:64x24x16:tn:g=6:ldd=40:ep=silu+gate");   /* 40 of 64 rows belong to groups */
    compiles = true;
    for (int i = 0; i < 2; i++) {
        gs_contender c;
        launches = called = 0;
        prepare(&c, names[i], "bf16:64x24x16:tn:g=6:ldd=40:ep=silu+gate");
        OK(c.run(&c, &args, NULL, &error));
        assert_int_equal(launches, 1);
        assert_true(kernel_args.m == 40 && kernel_args.n == 24 && kernel_args.lda == 48 && kernel_args.ldd == p.ldd && kernel_args.d == args.d);
        const char *const middle = kernel_args.a;
        assert_int_equal(i ? grouped->groups : called, 5);
        assert_ptr_equal(i ? grouped->c[1] : calls[1].d, middle + (size_t)5 * 48 * 2);
        assert_ptr_equal(i ? grouped->a[1] : calls[1].a, behind(args.b, 2 * 48 * 16));
        if (i) assert_true(grouped->m[0] == 48 && grouped->ldc[0] == 48);
        c.destroy(&c);
    }
    compiles = false;
    assert_int_equal(live, 0);
}

/* Where each group has its own bias, each gets its own kernel with its own rows of aux. */
static void aux_of_groups(void **state)
{
    (void)state;
    gs_contender c;
    gs_args args = args_of(0);
    args.aux = (void *)((uintptr_t)7 << 40);
    compiles = true;
    prepare(&c, "cublaslt-groups", "f16:40x24x16:tn:g=6:ep=bias+silu+aux");
    launches = 0;
    OK(c.run(&c, &args, NULL, &error));
    assert_int_equal(launches, 5);
    assert_true(kernel_args.m == 21 && kernel_args.aux == behind(args.aux, 19 * 24) && kernel_args.bias == behind(args.bias, 5 * 24));
    c.destroy(&c);
    suggested = 4;   /* cuBLASLt has this epilogue: no kernel of ours */
    prepare(&c, "cublaslt-groups", "f16:40x24x16:tn:g=6:ep=bias+gelu+aux");
    launches = 0;
    OK(c.run(&c, &args, NULL, &error));
    assert_true(launches == 0 && last->aux == behind(args.aux, 19 * 24) && last->bias == behind(args.bias, 5 * 24));
    c.destroy(&c);
    suggested = 2;   /* the second group's bias starts at byte 40, which cuBLASLt cannot read */
    prepare(&c, "cublaslt-groups", "f16:40x20x16:tn:g=6:ldd=24:ep=bias+gelu");
    launches = 0;
    OK(c.run(&c, &args, NULL, &error));
    assert_true(launches == 5 && kernel_args.bias == behind(args.bias, 5 * 20));
    c.destroy(&c);
    prepare(&c, "cublas-groups", "f16:40x24x16:tn:g=6:ep=dgelu:ldaux=32");
    launches = 0;
    OK(c.run(&c, &args, NULL, &error));
    assert_true(launches == 1 && kernel_args.m == 40 && kernel_args.aux == args.aux && kernel_args.ldaux == 32);
    c.destroy(&c);
    compiles = false;
    assert_int_equal(live, 0);
}

/* Each group gets its own kernel with its own rows of scale_m and its own scale_n. */
static void scales_of_groups(void **state)
{
    (void)state;
    gs_contender c;
    gs_args args = args_of(0);
    args.scale_m = (const float *)((uintptr_t)7 << 40);
    args.scale_n = (const float *)((uintptr_t)9 << 40);
    compiles = true;
    prepare(&c, "cublaslt-groups", "f16:40x24x16:tn:g=6:ep=scale_m+scale_n");
    launches = 0;
    OK(c.run(&c, &args, NULL, &error));
    assert_int_equal(launches, 5);
    assert_true(kernel_args.m == 21 && kernel_args.scale_m == args.scale_m + 19 && kernel_args.scale_n == args.scale_n + 5 * 24);
    c.destroy(&c);
    compiles = false;
    assert_int_equal(live, 0);
}

static void one_call_for_all(void **state)
{
    (void)state;
    static const int groups[] = {0, 2, 3, 4, 5};
    gs_contender c;
    const gs_args args = args_of(0), second = args_of(1);
    prepare(&c, "cublas-groups", "bf16:40x24x16:nn:lda=24:ldd=32:g=6:alpha=2");
    const int before = grouped->calls;
    OK(c.run(&c, &args, NULL, &error));
    assert_int_equal(grouped->calls, before + 1);
    assert_int_equal(grouped->groups, 5);
    assert_int_equal(grouped->compute_type, GS_CUBLAS_COMPUTE_32F);
    assert_true(grouped->type_a == GS_CUDA_R_16BF && grouped->type_b == GS_CUDA_R_16BF && grouped->type_c == GS_CUDA_R_16BF);
    for (int i = 0; i < 5; i++) {
        const int32_t first = offsets[0][groups[i]], rows = offsets[0][groups[i] + 1] - first;
        assert_true(grouped->m[i] == 24 && grouped->n[i] == rows && grouped->k[i] == 16 && grouped->size[i] == 1);
        assert_true(grouped->op_a[i] == GS_CUBLAS_OP_N && grouped->op_b[i] == GS_CUBLAS_OP_N);
        assert_true(grouped->lda[i] == 24 && grouped->ldb[i] == 24 && grouped->ldc[i] == 32);
        assert_true(grouped->alpha[i] == 2 && grouped->beta[i] == 0);
        assert_ptr_equal(grouped->b[i], behind(args.a, (int64_t)first * 24));
        assert_ptr_equal(grouped->a[i], behind(args.b, (int64_t)groups[i] * 24 * 16));
        assert_ptr_equal(grouped->c[i], behind(args.d, (int64_t)first * 32));
    }
    OK(c.run(&c, &second, NULL, &error));
    assert_int_equal(grouped->groups, 1);
    assert_int_equal(grouped->n[0], 40);
    assert_ptr_equal(grouped->a[0], behind(second.b, 4 * 24 * 16));
    c.destroy(&c);
    prepare(&c, "cublas-groups", "f16:40x24x16:tn:g=6");
    OK(c.run(&c, &args, NULL, &error));
    assert_true(grouped->op_a[4] == GS_CUBLAS_OP_T && grouped->lda[4] == 16);
    c.destroy(&c);
    assert_int_equal(live, 0);
}

/* cases: contender, problem */
static void what_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"cublas-groups", "f16:40x24x16:tn"},       {"cublas-groups", "f16:40x24x16:tn:g=6:ep=bias"},  {"cublas-groups", "f16:40x24x16:tn:g=6:acc=f16"},
        {"cublas-groups", "f16:40x24x16:tn:g=6:d=f32"}, {"cublas-groups", "f16:40x24x16:nt:g=6"},      {"cublas-groups", "f16:40x0x16:tn:g=6"},
        {"cublaslt-groups", "f16:40x24x16:tn"},     {"cublaslt-groups", "f16:40x24x16:tt:g=6"},        {"cublaslt-groups", "f16:40x24x0:tn:g=6"},
        {"cublas-groups", "f16:40x24x16:tn:g=6:scalars=device"}, {"cublas-groups", "f16:40x24x16:tn:g=6:ep=scale_m"}, {"cublaslt-groups", "f16:40x24x16:tn:g=6:scalars=device"},
        {"cublas-groups", "f16:40x24x16:tn:g=6:ep=dbias"}, {"cublaslt-groups", "f16:40x24x16:tn:g=6:ep=dbias"},
    };
    gs_contender c;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i][1]);
        OK(gs_baseline_create(&c, &device, cases[i][0], pick, &error));
        if (c.prepare(&c, &problem, &error) != GS_ERROR_UNSUPPORTED) fail_msg("%s takes %s", cases[i][0], cases[i][1]);
        c.destroy(&c);
    }
    static const int32_t falling[GROUPS + 1] = {0, 5, 4, 12, 13, 19, 40}, late[GROUPS + 1] = {0, 5, 5, 12, 13, 19, 41};
    static const char *const names[] = {"cublas-groups", "cublaslt-groups"};
    for (int i = 0; i < 2; i++) {
        const gs_args args = args_of(0), other = args_of(7);
        prepare(&c, names[i], "f16:40x24x16:tn:g=6");
        assert_int_equal(c.run(&c, &other, NULL, &error), GS_ERROR_UNSUPPORTED);
        assert_string_equal(error.field, "offsets");
        assert_int_equal(c.expect(&c, &args, falling, 1, &error), GS_ERROR_CORRUPT);
        assert_int_equal(c.expect(&c, &args, late, 1, &error), GS_ERROR_CORRUPT);
        assert_int_equal(c.run(&c, &args, NULL, &error), GS_ERROR_UNSUPPORTED);   /* the earlier offsets are no longer valid */
        c.destroy(&c);
    }
    prepare(&c, "cublas-groups", "f16:40x24x16:tn:g=6:beta=1");
    const gs_args apart = args_of(0);
    assert_int_equal(c.run(&c, &apart, NULL, &error), GS_ERROR_UNSUPPORTED);
    gs_args in_place = args_of(0);
    in_place.c = in_place.d;
    OK(c.run(&c, &in_place, NULL, &error));
    assert_true(grouped->beta[0] == 1);
    c.destroy(&c);
    assert_int_equal(live, 0);
}

/* ---- the fastest way ---- */

/* A single product, a strided batch and a batch by pointers: row-major, so cuBLAS's first operand is our B. */
static void products_of_cublas(void **state)
{
    (void)state;
    static const struct { const char *text; int batch; bool strided; } cases[] = {{"f16:40x24x16:tn:lda=18:ldb=20:ldd=26", 1, false}, {"f16:40x24x16:tn:lda=18:ldb=20:ldd=26:b=3", 3, true},
                                                                                  {"f16:40x24x16:tn:lda=18:ldb=20:ldd=26:b=3:matrices=pointers", 3, false}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].text);
        const gs_args args = args_of(0);
        gs_contender c;
        OK(gs_baseline_create(&c, &device, "cublas", pick, &error));
        OK(c.prepare(&c, &problem, &error));
        OK(c.run(&c, &args, NULL, &error));
        assert_true(grouped->groups == 1 && grouped->m[0] == 24 && grouped->n[0] == 40 && grouped->k[0] == 16 && grouped->size[0] == cases[i].batch);
        assert_true(grouped->op_a[0] == GS_CUBLAS_OP_T && grouped->op_b[0] == GS_CUBLAS_OP_N && grouped->lda[0] == 20 && grouped->ldb[0] == 18 && grouped->ldc[0] == 26);
        assert_true(grouped->a[0] == args.b && grouped->b[0] == args.a && grouped->c[0] == args.d && grouped->alpha[0] == 1 && grouped->beta[0] == 0);
        if (cases[i].strided) assert_true(grouped->stride_a == 24 * 20 && grouped->stride_b == 40 * 18 && grouped->stride_c == 40 * 26);
        c.destroy(&c);
    }
}

static double way_us[3];
static int    way_count;
static char   way_name[3][GS_CONTENDER_NAME];
static gs_status way_status;

/* Times single products like `pick`; gives all ways to run the groups the same offsets, and the times that the test sets. */
static gs_status pick_way(gs_device *on, const gs_problem *problem, gs_contender *list, int count, double *us, gs_error *why)
{
    static const int32_t others[GROUPS + 1] = {0, 3, 3, 12, 13, 19, 31};
    if (!problem->groups) return pick(on, problem, list, count, us, why);
    const gs_args args = args_of(5);
    assert_int_equal(problem->scalars, GS_SCALARS_HOST);
    way_count = count;
    for (int i = 0; i < count; i++) {
        memcpy(way_name[i], list[i].name, sizeof way_name[i]);
        OK(list[i].expect(&list[i], &args, others, 1, &error));
        us[i] = way_us[i];
    }
    return way_status == GS_OK ? GS_OK : gs_fail(why, way_status, NULL, "lost");
}

static gs_status prepare_fastest(gs_contender *c, const char *text)
{
    const gs_problem problem = problem_of(text);
    OK(gs_baseline_create(c, &device, "cublaslt-autotuning", pick_way, &error));
    error = (gs_error){0};
    return c->prepare(c, &problem, &error);
}

static void the_fastest_way(void **state)
{
    (void)state;
    static const char text[] = "bf16:40x24x16:tn:g=6";
    const gs_args sets[] = {args_of(0), args_of(1)};
    gs_contender c;
    for (int fastest = 0; fastest < 3; fastest++) {
        for (int i = 0; i < 3; i++) way_us[i] = i == fastest ? 2 : 3 + i;
        if (fastest) way_us[0] = INFINITY;   /* its result was wrong */
        OK(prepare_fastest(&c, text));
        assert_int_equal(way_count, 3);
        assert_string_equal(way_name[0], "cublaslt-groups");
        assert_string_equal(way_name[1], "cublaslt-groups-8");
        assert_string_equal(way_name[2], "cublas-groups");
        assert_int_equal(strncmp(c.detail, way_name[fastest], strlen(way_name[fastest])), 0);
        assert_int_equal(c.detail[strlen(way_name[fastest])], ':');
        assert_int_equal(c.suggestion, 0);
        assert_string_equal(c.name, "cublaslt-autotuning");
        OK(c.expect(&c, sets, offsets[0], 2, &error));
        called = waits = 0;
        memset((void *)(uintptr_t)grouped, 0, sizeof *grouped);
        OK(c.run(&c, &sets[0], NULL, &error));
        assert_int_equal(called, fastest == 2 ? 0 : 5);
        assert_int_equal(waits > 0, fastest == 1);
        assert_int_equal(grouped->groups, fastest == 2 ? 5 : 0);
        const gs_args unknown = args_of(5);   /* the set of the timing that picked it */
        assert_int_equal(c.run(&c, &unknown, NULL, &error), GS_ERROR_UNSUPPORTED);
        /* The same contender prepared for a single product, and back. */
        gs_problem one = problem_of("bf16:40x24x16:tn");
        OK(c.prepare(&c, &one, &error));
        called = 0;
        OK(c.run(&c, &sets[0], NULL, &error));
        assert_int_equal(called, 1);
        assert_true(c.suggestion > 0);
        one = problem_of(text);
        OK(c.prepare(&c, &one, &error));
        assert_int_equal(c.suggestion, 0);
        c.destroy(&c);
        assert_int_equal(live, 0);
        assert_int_equal(opened, 0);
    }
    for (int i = 0; i < 3; i++) way_us[i] = 2;
    OK(prepare_fastest(&c, text));
    assert_int_equal(strncmp(c.detail, "cublaslt-groups:", 16), 0);   /* among equals the first */
    c.destroy(&c);
}

/* Alpha and beta in device memory do not change the choice. */
static void scalars_of_the_fastest_way(void **state)
{
    (void)state;
    gs_contender c;
    gs_args args = args_of(0);
    args.alpha = args.beta = (const float *)16;
    way_us[0] = 1, way_us[1] = way_us[2] = 2;
    OK(prepare_fastest(&c, "bf16:40x24x16:tn:alpha=2:g=6:scalars=device"));
    OK(c.expect(&c, &args, offsets[0], 1, &error));
    called = 0;
    OK(c.run(&c, &args, NULL, &error));
    assert_int_equal(called, 5);
    c.destroy(&c);
    assert_int_equal(live, 0);
}

static void ways_that_are_left_out(void **state)
{
    (void)state;
    gs_contender c;
    way_us[0] = 2, way_us[1] = 1;
    OK(prepare_fastest(&c, "f16:40x24x16:tn:d=f32:g=6"));   /* cublasGemmGroupedBatchedEx does not support f32 D */
    assert_int_equal(way_count, 2);
    assert_int_equal(strncmp(c.detail, "cublaslt-groups-8:", 18), 0);
    c.destroy(&c);
    static const char *const none[] = {"f16:40x24x16:tt:g=6", "f16:42x24x16:tn:gm=6"};
    for (size_t i = 0; i < GS_COUNT(none); i++) {
        way_count = 0;
        assert_int_equal(prepare_fastest(&c, none[i]), GS_ERROR_UNSUPPORTED);
        assert_string_equal(error.field, i ? "g" : "layout");
        assert_int_equal(way_count, 0);
        const gs_args args = args_of(0);
        assert_int_equal(c.run(&c, &args, NULL, &error), GS_ERROR_ARGUMENT);
        c.destroy(&c);
    }
    way_us[0] = way_us[1] = way_us[2] = INFINITY;
    assert_int_equal(prepare_fastest(&c, "f16:40x24x16:tn:g=6"), GS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "none of the 3 ways"));
    c.destroy(&c);
    const gs_problem untimed = problem_of("f16:40x24x16:tn:g=6");
    OK(gs_baseline_create(&c, &device, "cublaslt-autotuning", NULL, &error));
    assert_int_equal(c.prepare(&c, &untimed, &error), GS_ERROR_ARGUMENT);
    c.destroy(&c);
    c.destroy(&c);   /* a second destroy does nothing */
    way_status = GS_ERROR_FAULT;   /* a device failure is returned, not taken as a slow way */
    assert_int_equal(prepare_fastest(&c, "f16:40x24x16:tn:g=6"), GS_ERROR_FAULT);
    c.destroy(&c);
    way_status = GS_OK;
    lost = compiles = true;
    assert_int_equal(prepare_fastest(&c, "f16:40x24x16:tn:g=6:ep=silu+gate"), GS_ERROR_DEVICE_MEMORY);
    c.destroy(&c);
    lost = compiles = false;
    assert_int_equal(live, 0);
    assert_int_equal(opened, 0);
}

static void memory_for_the_sets_may_be_lacking(void **state)
{
    static const char *const names[] = {"cublas-groups", "cublaslt-groups"};
    const gs_args args[] = {args_of(0), args_of(1)};
    (void)state;
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        gs_contender c;
        prepare(&c, names[i], "bf16:40x24x16:tn:g=6");
        for (int which = 1; which <= 2; which++) {   /* the sets' addresses, and their offsets */
            fail_at = which;
            const gs_status status = c.expect(&c, args, offsets[0], 2, &error);
            assert_int_equal(fail_at, 0);
            assert_int_equal(status, GS_ERROR_MEMORY);
            assert_string_equal(error.text, "no memory for the offsets of 2 sets");
            assert_int_equal(c.run(&c, args, NULL, &error), GS_ERROR_UNSUPPORTED);
        }
        int refused = 0;
        for (int which = 3; which < 100; which++) {   /* memory for each size of groups, which may be optional */
            fail_at = which;
            const gs_status status = c.expect(&c, args, offsets[0], 2, &error);
            const bool over = !allocation_failed();
            assert_true(status == GS_OK || status == GS_ERROR_MEMORY || status == GS_ERROR_DEVICE_MEMORY);
            assert_int_equal(c.run(&c, args, NULL, &error), status == GS_OK ? GS_OK : GS_ERROR_UNSUPPORTED);
            refused += status != GS_OK;
            if (over) break;
        }
        assert_true(refused > 0);
        OK(c.expect(&c, args, offsets[0], 2, &error));
        OK(c.run(&c, args, NULL, &error));
        c.destroy(&c);
    }
    assert_int_equal(live, 0);
}

/* In a child process, because a process opens each library only once: an older cuBLAS has no grouped calls. */
static bool an_older_library_has_none(void)
{
    int code = 1;
    const pid_t child = fork();
    if (child == 0) {
        gs_contender c;
        setenv("GEMMSMITH_CUBLAS", GS_BINARY_DIR "/tests/fake/libfake_cublas_old.so", 1);
        const bool plain = gs_baseline_create(&c, &device, "cublas", NULL, &error) == GS_OK;
        if (plain) c.destroy(&c);
        _exit(plain && gs_baseline_create(&c, &device, "cublas-groups", NULL, &error) == GS_ERROR_NO_LIBRARY && strstr(error.text, "12.5") ? 0 : 1);
    }
    return child > 0 && waitpid(child, &code, 0) == child && code == 0;
}

int main(void)
{
    if (!an_older_library_has_none()) return 1;
    setenv("GEMMSMITH_CUBLASLT", GS_BINARY_DIR "/tests/fake/libfake_cublaslt.so", 1);
    setenv("GEMMSMITH_CUBLAS", GS_BINARY_DIR "/tests/fake/libfake_cublas.so", 1);
    setenv("FAKE_CUBLASLT", "7:0 8:0", 1);
    setenv("FAKE_CUBLASLT_MASKED", "", 1);
    void *const lt = dlopen(getenv("GEMMSMITH_CUBLASLT"), RTLD_NOW), *const blas = dlopen(getenv("GEMMSMITH_CUBLAS"), RTLD_NOW);
    if (!lt || !blas) return 1;
    last = dlsym(lt, "fake_cublaslt_call");
    grouped = dlsym(blas, "fake_cublas_grouped");
    *(void (**)(int, void *))dlsym(lt, "fake_cublaslt_hook") = remember;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_group_has_a_call), cmocka_unit_test(what_was_tuned_is_kept), cmocka_unit_test(an_algorithm_that_does_not_fit),
        cmocka_unit_test(scalars_on_the_device), cmocka_unit_test(groups_at_once), cmocka_unit_test(aux_of_groups), cmocka_unit_test(scales_of_groups), cmocka_unit_test(an_epilogue_of_groups), cmocka_unit_test(a_gate_is_one_kernel_behind_all), cmocka_unit_test(one_call_for_all),       cmocka_unit_test(what_is_refused),
        cmocka_unit_test(products_of_cublas), cmocka_unit_test(the_fastest_way), cmocka_unit_test(scalars_of_the_fastest_way), cmocka_unit_test(ways_that_are_left_out),
        cmocka_unit_test(memory_for_the_sets_may_be_lacking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
