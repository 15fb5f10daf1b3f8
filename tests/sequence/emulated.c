/* SPDX-License-Identifier: MIT
 * Sequences on the emulated device, which computes: three layers with a kernel of the caller between two of them, against a reference; operands and scalars of every kind
 * of kernel changed in the graph; what is refused, and in which words. */
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

enum { MOST = 64 * 512 };

static gs_context *context;
static gs_device  *device;
static gs_error    error;

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

static gs_context *open_one(void)
{
    gs_config config = gs_config_default();
    gs_context *out = NULL;
    config.device = "emu:h200";
    config.tuned_path = GS_SOURCE_DIR "/tests/plan";   /* a folder without tables */
    config.use_cublaslt = 0;
    gs_open(&out, &config, &error);
    return out;
}

static int open_all(void **state)
{
    (void)state;
    if (gs_compiler_version(&error) == 0) return 0;
    context = open_one();
    if (!context) return 1;
    device = context->device;
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    gs_close(&context);
    return 0;
}

/* ---- matrices of small integers: sums are exact, and rounded once ---- */

typedef struct matrix {
    void    *at;             /* on the device */
    int      count;
    uint16_t host[MOST];     /* f16 */
} matrix;

static void copy_matrix(matrix *m) { OK(gs_memory_write(context, m->at, m->host, (size_t)m->count * 2, &error)); }

static matrix *make_matrix(int rows, int columns, uint32_t seed)
{
    matrix *const m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->count = rows * columns;
    assert_in_range(m->count, 1, MOST);
    for (int i = 0; i < m->count; i++) {
        seed = seed * 1664525u + 1013904223u;
        m->host[i] = gs_f32_to_f16((float)((int)(seed >> 24) % 5 - 2));
    }
    OK(gs_memory_create(context, (size_t)m->count * 2, &m->at, &error));
    copy_matrix(m);
    return m;
}

static void free_matrix(matrix *m)
{
    gs_memory_destroy(context, m->at);
    free(m);
}

static float number(const matrix *m, int at) { return gs_f16_to_f32(m->host[at]); }

/* What the plan makes of these. B is stored N x K. c NULL: none. */
static void reference(const gs_problem *p, const matrix *a, const matrix *b, const matrix *c, float alpha, float beta, matrix *d)
{
    for (int i = 0; i < (int)p->m; i++) {
        for (int j = 0; j < (int)p->n; j++) {
            float sum = 0;
            for (int k = 0; k < (int)p->k; k++) sum += number(a, i * (int)p->lda + k) * number(b, j * (int)p->ldb + k);
            d->host[i * (int)p->ldd + j] = gs_f32_to_f16(alpha * sum + (c ? beta * number(c, i * (int)p->ldc + j) : 0));
        }
    }
}

static void expect(const matrix *d, const char *what)
{
    static uint16_t got[MOST];
    OK(gs_memory_read(context, got, d->at, (size_t)d->count * 2, &error));
    for (int i = 0; i < d->count; i++)
        if (gs_f16_to_f32(got[i]) != number(d, i)) fail_msg("%s: element %d is %g instead of %g", what, i, (double)gs_f16_to_f32(got[i]), (double)number(d, i));
}

static gs_plan *plan_of(const gs_problem *problem, const char *schedule)
{
    gs_plan *plan = NULL;
    OK(gs_plan_create_schedule(context, problem, schedule, &plan, &error));
    return plan;
}

/* ---- a kernel of the caller ---- */

typedef struct relu {
    gs_module   module;
    gs_function function;
    gs_pointer  at;
    int         count, calls;
} relu;

static relu make_relu(matrix *m)
{
    static const char text[] = "extern \"C\" __global__ void relu(unsigned short *x, int n)\n"
                               "{ const int i = blockIdx.x * 64 + threadIdx.x; if (i < n && (x[i] & 0x8000)) x[i] = 0; }\n";
    const gs_source source = {.name = "relu.cu", .text = text};
    gs_image image = {0};
    relu r = {.at = (gs_pointer)(uintptr_t)m->at, .count = m->count};
    OK(device->ops->compile(device, &source, &image, &error));
    OK(device->ops->load(device, &image, &r.module, &error));
    OK(device->ops->function(device, r.module, "relu", &r.function, NULL, &error));
    gs_image_free(&image);
    return r;
}

static gs_status run_relu(void *self, gs_stream stream)
{
    relu *const r = self;
    r->calls++;
    const gs_launch launch = {.function = r->function, .grid = {(uint32_t)(r->count + 63) / 64, 1, 1}, .block = {64, 1, 1}, .cluster = {1, 1, 1}, .params = (void *[]){&r->at, &r->count}};
    return device->ops->launch(device, &launch, stream, NULL);
}

static void relu_reference(matrix *m)
{
    for (int i = 0; i < m->count; i++)
        if (number(m, i) < 0) m->host[i] = 0;
}

/* ---- three layers ---- */

enum { X, W1, H, W2, G, W3, C, Y, OTHER_X, OTHER_W2, OTHER_Y, MATRICES };

typedef struct layers {
    gs_problem   problem[3];
    gs_plan     *plan[3];
    matrix      *m[MATRICES];
    gs_args      args[3];
    int          index[3];
    relu         relu;
    gs_sequence *sequence;
} layers;

static layers make_layers(const char *schedule)
{
    static const int rows[MATRICES] = {16, 48, 16, 32, 16, 40, 16, 16, 16, 32, 16}, columns[MATRICES] = {32, 32, 48, 48, 32, 32, 40, 40, 32, 48, 40};
    layers l = {.problem = {gs_problem_make(GS_F16, GS_TN, 16, 48, 32), gs_problem_make(GS_F16, GS_TN, 16, 32, 48), gs_problem_make(GS_F16, GS_TN, 16, 40, 32)}};
    l.problem[2].beta = 1;
    for (int i = 0; i < 3; i++) l.plan[i] = plan_of(&l.problem[i], schedule);
    for (int i = 0; i < MATRICES; i++) l.m[i] = make_matrix(rows[i], columns[i], (uint32_t)i + 1);
    l.relu = make_relu(l.m[H]);
    l.args[0] = gs_args_make(l.m[X]->at, l.m[W1]->at, NULL, l.m[H]->at);
    l.args[1] = gs_args_make(l.m[H]->at, l.m[W2]->at, NULL, l.m[G]->at);
    l.args[2] = gs_args_make(l.m[G]->at, l.m[W3]->at, l.m[C]->at, l.m[Y]->at);
    OK(gs_sequence_create(context, &l.sequence, &error));
    return l;
}

static void free_layers(layers *l)
{
    gs_sequence_destroy(&l->sequence);
    assert_null(l->sequence);
    device->ops->unload(device, l->relu.module);
    for (int i = 0; i < 3; i++) gs_plan_destroy(&l->plan[i]);
    for (int i = 0; i < MATRICES; i++) free_matrix(l->m[i]);
}

static void launch(gs_sequence *sequence)
{
    assert_int_equal(gs_sequence_launch(sequence, NULL), GS_OK);
    OK(device->ops->queue_wait(device, NULL, &error));
}

static void expect_layers(layers *l, int x, int w2, float alpha, float beta, int y, const char *what)
{
    reference(&l->problem[0], l->m[x], l->m[W1], NULL, 1, 0, l->m[H]);
    relu_reference(l->m[H]);
    reference(&l->problem[1], l->m[H], l->m[w2], NULL, alpha, 0, l->m[G]);
    reference(&l->problem[2], l->m[G], l->m[W3], l->m[C], 1, beta, l->m[y]);
    expect(l->m[y], what);
}

static void layers_with_a_kernel_between(void **state)
{
    (void)state;
    static const char *const schedules[] = {"simple", "mma/16x16x64/w1x2/s2/g1"};
    if (!context) skip();
    for (size_t s = 0; s < GS_COUNT(schedules); s++) {
        layers l = make_layers(schedules[s]);
        float half = 0.5f, quarter = 0.25f, one = 1;
        l.args[1].alpha = &half;
        l.args[2].beta = &one;
        OK(gs_sequence_add(l.sequence, l.plan[0], &l.args[0], &l.index[0], &error));
        OK(gs_sequence_add_call(l.sequence, run_relu, &l.relu, &error));
        OK(gs_sequence_add(l.sequence, l.plan[1], &l.args[1], &l.index[1], &error));
        OK(gs_sequence_add(l.sequence, l.plan[2], &l.args[2], &l.index[2], &error));
        assert_true(l.index[0] == 0 && l.index[1] == 2 && l.index[2] == 3);
        half = one = 77;   /* their values were taken */
        OK(gs_sequence_build(l.sequence, &error));
        launch(l.sequence);
        expect_layers(&l, X, W2, 0.5f, 1, Y, schedules[s]);
        for (int i = 0; i < 4; i++) assert_false(gs_sequence_dependent(l.sequence, i));   /* nothing overlaps here */

        l.args[0].a = l.m[OTHER_X]->at;   /* one pointer after the other, then scalars */
        OK(gs_sequence_set(l.sequence, l.index[0], &l.args[0], &error));
        launch(l.sequence);
        expect_layers(&l, OTHER_X, W2, 0.5f, 1, Y, "another x");
        l.args[1].b = l.m[OTHER_W2]->at;
        l.args[1].alpha = NULL;
        OK(gs_sequence_set(l.sequence, l.index[1], &l.args[1], &error));
        l.args[2].d = l.m[OTHER_Y]->at;
        l.args[2].beta = NULL;
        OK(gs_sequence_set(l.sequence, l.index[2], &l.args[2], &error));
        launch(l.sequence);
        expect_layers(&l, OTHER_X, OTHER_W2, 1, 1, OTHER_Y, "another w2 and y, alpha of the problem");
        l.args[1].alpha = l.args[2].beta = &quarter;
        OK(gs_sequence_set(l.sequence, l.index[1], &l.args[1], &error));
        OK(gs_sequence_set(l.sequence, l.index[2], &l.args[2], &error));
        launch(l.sequence);
        expect_layers(&l, OTHER_X, OTHER_W2, 0.25f, 0.25f, OTHER_Y, "other scalars");
        assert_int_equal(l.relu.calls, 1);   /* captured once */
        free_layers(&l);
    }
}

/* ---- every kind of kernel, changed in the graph ---- */

static void kernels_are_changed(void **state)
{
    (void)state;
    /* legend: schedule, M, N, K. With tensor maps; with operands that are copied first, so of two launches and with a workspace; with split sums */
    static const struct { const char *schedule; int64_t m, n, k; } cases[] = {
        {"ws/128x128x64/s4/c1x1/coop/g8",      64, 64, 64},
        {"ws/128x128x64/s4/c1x1/coop/g8/pack", 37, 41, 43},
        {"splitk/64x64x64/s4/ab/c1x1/k1/fixed", 64, 64, 512},
        {"mma/16x16x64/w1x1/s2/g1/k4",          8, 8, 1024},
        {"gemv/8x16/w8/d4/r128/p0/k1/any",     8, 16, 2048},
        {"slicek/32x32/w1x1x8/d1/k1/any/f128", 32, 32, 512},
    };
    if (!context) skip();
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = gs_problem_make(GS_F16, GS_TN, cases[i].m, cases[i].n, cases[i].k);
        const int m = (int)p.m, n = (int)p.n, k = (int)p.k;
        gs_plan *plan = plan_of(&p, cases[i].schedule);
        matrix *const a[2] = {make_matrix(m, k, 1), make_matrix(m, k, 2)}, *const b[2] = {make_matrix(n, k, 3), make_matrix(n, k, 4)};
        matrix *const d[2] = {make_matrix(m, n, 5), make_matrix(m, n, 6)};
        gs_sequence *sequence = NULL;
        gs_args args = gs_args_make(a[0]->at, b[0]->at, NULL, d[0]->at);
        const float two = 2;
        void *workspace = NULL;
        int index = -1;
        if (gs_plan_workspace(plan)) {   /* the caller's own, as for sequences that overlap */
            static const char zeros[1 << 20];
            assert_in_range(gs_plan_workspace(plan), 1, sizeof zeros);
            OK(gs_memory_create(context, gs_plan_workspace(plan), &workspace, &error));
            OK(gs_memory_write(context, workspace, zeros, gs_plan_workspace(plan), &error));
        }
        OK(gs_sequence_create(context, &sequence, &error));
        OK(gs_sequence_add(sequence, plan, &args, &index, &error));
        OK(gs_sequence_build(sequence, &error));
        launch(sequence);
        reference(&p, a[0], b[0], NULL, 1, 0, d[0]);
        expect(d[0], cases[i].schedule);
        args = gs_args_make(a[1]->at, b[1]->at, NULL, d[1]->at);
        args.workspace = workspace;
        args.alpha = &two;
        OK(gs_sequence_set(sequence, index, &args, &error));
        launch(sequence);
        launch(sequence);
        reference(&p, a[1], b[1], NULL, 2, 0, d[1]);
        expect(d[1], cases[i].schedule);
        expect(d[0], "what was computed before");
        gs_sequence_destroy(&sequence);
        gs_memory_destroy(context, workspace);
        gs_plan_destroy(&plan);
        for (int j = 0; j < 2; j++) free_matrix(a[j]), free_matrix(b[j]), free_matrix(d[j]);
    }
}

/* ---- what is refused ---- */

static void expect_refusal(gs_status got, gs_status status, const char *field, const char *text)
{
    if (got != status || strcmp(error.field, field) != 0 || !strstr(error.text, text)) fail_msg("%d, %s: %s; expected %d, %s: %s", (int)got, error.field, error.text, (int)status, field, text);
}

static gs_sequence *used_in_call;

static gs_status call_that_fails(void *self, gs_stream stream)
{
    (void)stream;
    return *(const gs_status *)self;
}

static gs_status call_that_meddles(void *self, gs_stream stream)
{
    const gs_args *const args = self;
    gs_sequence *same = used_in_call;
    expect_refusal(gs_sequence_set(used_in_call, 0, args, &error), GS_ERROR_ARGUMENT, "sequence", "being captured");
    expect_refusal(gs_sequence_build(used_in_call, &error), GS_ERROR_ARGUMENT, "sequence", "being captured");
    expect_refusal(gs_sequence_add_call(used_in_call, call_that_fails, NULL, &error), GS_ERROR_ARGUMENT, "sequence", "being captured");
    assert_int_equal(gs_sequence_launch(used_in_call, stream), GS_ERROR_ARGUMENT);
    gs_sequence_destroy(&same);
    assert_non_null(same);
    return GS_OK;
}

static void arguments_are_refused(void **state)
{
    (void)state;
    if (!context) skip();
    layers l = make_layers("simple");
    gs_sequence *const s = l.sequence;
    gs_args args = l.args[2];
    const float zero = 0;
    int index = 77;
    args.a = NULL;
    expect_refusal(gs_sequence_add(s, l.plan[2], &args, &index, &error), GS_ERROR_ARGUMENT, "a", "NULL");
    args = l.args[2], args.c = NULL;
    expect_refusal(gs_sequence_add(s, l.plan[2], &args, &index, &error), GS_ERROR_ARGUMENT, "c", "NULL");
    args = l.args[2], args.beta = &zero;
    expect_refusal(gs_sequence_add(s, l.plan[2], &args, &index, &error), GS_ERROR_ARGUMENT, "beta", "exactly where the problem's is, which is 1");
    args = l.args[2], args.d = (char *)args.d + 1;
    expect_refusal(gs_sequence_add(s, l.plan[2], &args, &index, &error), GS_ERROR_ALIGNMENT, "d", "no multiple of 2 bytes");
    args = l.args[2], args.reserved_flags = 1;
    expect_refusal(gs_sequence_add(s, l.plan[2], &args, &index, &error), GS_ERROR_UNSUPPORTED, "reserved_flags", "not zero");
    args = l.args[2], args.size = 8;
    assert_int_equal(gs_sequence_add(s, l.plan[2], &args, &index, &error), GS_ERROR_ARGUMENT);
    expect_refusal(gs_sequence_add(s, NULL, &args, &index, &error), GS_ERROR_ARGUMENT, "plan", "NULL");
    expect_refusal(gs_sequence_add(s, l.plan[2], NULL, &index, &error), GS_ERROR_ARGUMENT, "args", "NULL");
    expect_refusal(gs_sequence_add(NULL, l.plan[2], &args, &index, &error), GS_ERROR_ARGUMENT, "sequence", "NULL");
    expect_refusal(gs_sequence_add_call(s, NULL, NULL, &error), GS_ERROR_ARGUMENT, "call", "NULL");
    expect_refusal(gs_sequence_create(NULL, &(gs_sequence *){NULL}, &error), GS_ERROR_ARGUMENT, "context", "NULL");
    expect_refusal(gs_sequence_create(context, NULL, &error), GS_ERROR_ARGUMENT, "out", "NULL");
    assert_int_equal(index, 77);
    gs_context *other = open_one();
    gs_plan *foreign = NULL;
    OK(gs_plan_create_schedule(other, &l.problem[0], "simple", &foreign, &error));
    expect_refusal(gs_sequence_add(s, foreign, &l.args[0], NULL, &error), GS_ERROR_ARGUMENT, "plan", "another context");
    gs_plan_destroy(&foreign);
    gs_close(&other);

    expect_refusal(gs_sequence_build(s, &error), GS_ERROR_ARGUMENT, "sequence", "no members");
    assert_int_equal(gs_sequence_launch(s, NULL), GS_ERROR_ARGUMENT);
    OK(gs_sequence_add(s, l.plan[0], &l.args[0], NULL, &error));
    OK(gs_sequence_add_call(s, run_relu, &l.relu, &error));
    assert_int_equal(gs_sequence_launch(s, NULL), GS_ERROR_ARGUMENT);
    args = l.args[0], args.a = l.m[OTHER_X]->at;   /* before it is built, that is what is captured */
    OK(gs_sequence_set(s, 0, &args, &error));
    OK(gs_sequence_build(s, &error));
    expect_refusal(gs_sequence_build(s, &error), GS_ERROR_ARGUMENT, "sequence", "built already");
    expect_refusal(gs_sequence_add(s, l.plan[0], &l.args[0], NULL, &error), GS_ERROR_ARGUMENT, "sequence", "is built");
    expect_refusal(gs_sequence_add_call(s, run_relu, &l.relu, &error), GS_ERROR_ARGUMENT, "sequence", "is built");
    expect_refusal(gs_sequence_set(s, 1, &args, &error), GS_ERROR_ARGUMENT, "index", "is a call");
    expect_refusal(gs_sequence_set(s, 2, &args, &error), GS_ERROR_ARGUMENT, "index", "no member 2, but 2 members");
    expect_refusal(gs_sequence_set(s, -1, &args, &error), GS_ERROR_ARGUMENT, "index", "no member -1");
    expect_refusal(gs_sequence_set(s, 0, NULL, &error), GS_ERROR_ARGUMENT, "args", "NULL");
    args.b = NULL;
    expect_refusal(gs_sequence_set(s, 0, &args, &error), GS_ERROR_ARGUMENT, "b", "NULL");
    launch(s);
    reference(&l.problem[0], l.m[OTHER_X], l.m[W1], NULL, 1, 0, l.m[H]);
    relu_reference(l.m[H]);
    expect(l.m[H], "what was set before it was built, and not what was refused");

    gs_queue queue;
    gs_graph graph;
    OK(device->ops->queue_create(device, &queue, &error));
    OK(device->ops->capture_begin(device, queue, &error));
    assert_int_equal(gs_sequence_launch(s, queue), GS_ERROR_ARGUMENT);
    OK(device->ops->capture_end(device, queue, &graph, &error));   /* which goes on as if nothing had been */
    device->ops->graph_destroy(device, graph);
    device->ops->queue_destroy(device, queue);
    assert_int_equal(gs_sequence_launch(NULL, NULL), GS_ERROR_ARGUMENT);
    assert_false(gs_sequence_dependent(NULL, 0));
    gs_sequence_destroy(&(gs_sequence *){NULL});
    gs_sequence_destroy(NULL);
    free_layers(&l);
}

static void calls_that_fail(void **state)
{
    (void)state;
    if (!context) skip();
    layers l = make_layers("simple");
    gs_status result = GS_ERROR_NOT_FOUND;
    OK(gs_sequence_add(l.sequence, l.plan[0], &l.args[0], NULL, &error));
    OK(gs_sequence_add_call(l.sequence, call_that_fails, &result, &error));
    used_in_call = l.sequence;
    OK(gs_sequence_add_call(l.sequence, call_that_meddles, &l.args[0], &error));
    expect_refusal(gs_sequence_build(l.sequence, &error), GS_ERROR_NOT_FOUND, "call", "member 1, a call, returned GS_ERROR_NOT_FOUND");
    assert_int_equal(gs_sequence_launch(l.sequence, NULL), GS_ERROR_ARGUMENT);
    result = GS_OK;
    OK(gs_sequence_build(l.sequence, &error));   /* it may be built again */
    launch(l.sequence);
    reference(&l.problem[0], l.m[X], l.m[W1], NULL, 1, 0, l.m[H]);
    expect(l.m[H], "built at the second try");
    free_layers(&l);
}

/* A plan with nothing to compute is a member like any other, and a sequence of such plans launches nothing. */
static void empty_plans(void **state)
{
    (void)state;
    if (!context) skip();
    const gs_problem p = gs_problem_make(GS_F16, GS_TN, 0, 16, 16);
    const gs_args args = gs_args_make(NULL, NULL, NULL, NULL);
    gs_plan *plan = NULL;
    gs_sequence *sequence = NULL;
    OK(gs_plan_create(context, &p, &plan, &error));
    OK(gs_sequence_create(context, &sequence, &error));
    OK(gs_sequence_add(sequence, plan, &args, NULL, &error));
    OK(gs_sequence_build(sequence, &error));
    OK(gs_sequence_set(sequence, 0, &args, &error));
    launch(sequence);
    gs_sequence_destroy(&sequence);
    gs_plan_destroy(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_with_a_kernel_between), cmocka_unit_test(kernels_are_changed), cmocka_unit_test(arguments_are_refused),
        cmocka_unit_test(calls_that_fail), cmocka_unit_test(empty_plans),
    };
    return cmocka_run_group_tests_name("sequence/emulated", tests, open_all, close_all);
}
