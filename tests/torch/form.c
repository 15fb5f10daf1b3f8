/* SPDX-License-Identifier: MIT
 * The tensors of a call give the right problem, and calls that are no problem of ours get the right reason. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/error.h"
#include "torch/form.h"

typedef struct made {
    gs_torch_tensor t;
    int64_t         size[3], stride[3];
} made;

static char memory[8][1 << 16];   /* operands that do not overlap */

static gs_torch_tensor *tensor(made *m, int place, int type, int64_t dim, const int64_t *size, const int64_t *stride)
{
    for (int64_t i = 0; i < dim; i++) m->size[i] = size[i], m->stride[i] = stride[i];
    m->t = (gs_torch_tensor){dim, m->size, m->stride, type, true, memory[place]};
    return &m->t;
}

#define L(...) ((const int64_t[]){__VA_ARGS__})
#define T2(m, place, s, t) tensor(m, place, GS_BF16, 2, s, t)

static gs_torch_reason form(const gs_torch_call *call, char text[GS_PROBLEM_TEXT], gs_torch_pointers *pointers)
{
    gs_torch_key key;
    gs_problem problem;
    gs_error error = {0};
    const gs_torch_reason reason = gs_torch_form(call, &key, pointers);
    strcpy(text, "none");
    if (reason == GS_TORCH_FITS) {
        assert_int_equal(gs_torch_problem(&key, &problem, &error), GS_OK);
        gs_problem_format(&problem, text);
        gs_torch_key again;   /* back to the key */
        assert_int_equal(gs_torch_key_of(&problem, &again, &error), GS_OK);
        assert_memory_equal(&again, &key, sizeof key);
        gs_problem same;
        char other[GS_PROBLEM_TEXT];
        assert_int_equal(gs_torch_problem(&again, &same, &error), GS_OK);
        assert_string_equal(gs_problem_format(&same, other), text);
    }
    return reason;
}

static void expect(const gs_torch_call *call, const char *wanted)
{
    char text[GS_PROBLEM_TEXT];
    gs_torch_pointers pointers;
    assert_int_equal(form(call, text, &pointers), GS_TORCH_FITS);
    assert_string_equal(text, wanted);
    assert_ptr_equal(pointers.a, call->a->data);
    assert_ptr_equal(pointers.b, call->b->data);
}

static void expect_reason(const gs_torch_call *call, gs_torch_reason wanted)
{
    char text[GS_PROBLEM_TEXT];
    gs_torch_pointers pointers;
    assert_int_equal(form(call, text, &pointers), wanted);
    assert_true(*gs_torch_reason_text(wanted));
}

static void layouts(void **state)
{
    (void)state;
    made a, b;
    gs_torch_call call = {.a = T2(&a, 0, L(24, 32), L(32, 1)), .b = T2(&b, 1, L(32, 40), L(40, 1))};
    expect(&call, "bf16:24x40x32:nn");
    T2(&b, 1, L(32, 40), L(1, 32));
    expect(&call, "bf16:24x40x32:tn");
    T2(&a, 0, L(24, 32), L(1, 24));
    expect(&call, "bf16:24x40x32:tt");
    T2(&b, 1, L(32, 40), L(48, 1));
    expect(&call, "bf16:24x40x32:nt:ldb=48");
    T2(&a, 0, L(24, 32), L(40, 1));
    expect(&call, "bf16:24x40x32:nn:lda=40:ldb=48");
    T2(&a, 0, L(1, 32), L(777, 1));   /* the stride of a single row does not matter */
    T2(&b, 1, L(32, 1), L(1, 9));
    expect(&call, "bf16:1x1x32:tn");
    T2(&a, 0, L(24, 1), L(3, 5));
    T2(&b, 1, L(1, 40), L(9, 1));
    expect(&call, "bf16:24x40x1:nn:lda=3");
    a.t.type = b.t.type = GS_F16;
    T2(&a, 0, L(24, 1), L(3, 5))->type = GS_F16;
    expect(&call, "f16:24x40x1:nn:lda=3");
}

static void not_ours(void **state)
{
    (void)state;
    made a, b, d;
    gs_torch_call call = {.a = T2(&a, 0, L(24, 32), L(32, 1)), .b = T2(&b, 1, L(32, 40), L(40, 1))};
    T2(&a, 0, L(24, 32), L(64, 2));
    expect_reason(&call, GS_TORCH_STRIDES);
    T2(&a, 0, L(24, 32), L(0, 1));
    expect_reason(&call, GS_TORCH_STRIDES);
    T2(&a, 0, L(24, 32), L(31, 1));   /* overlapping rows */
    expect_reason(&call, GS_TORCH_STRIDES);
    T2(&a, 0, L(24, 31), L(31, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    T2(&a, 0, L(0, 32), L(32, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    T2(&a, 0, L(GS_MAX_EXTENT + 1, 32), L(32, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    T2(&a, 0, L(24, 32), L(GS_MAX_LD + 1, 1));
    expect_reason(&call, GS_TORCH_STRIDES);
    T2(&a, 0, L(24, 32), L(32, 1))->type = GS_F16;
    expect_reason(&call, GS_TORCH_TYPE);
    a.t.type = b.t.type = GS_F32;
    expect_reason(&call, GS_TORCH_TYPE);
    a.t.type = b.t.type = GS_BF16;
    a.t.dim = 1;
    expect_reason(&call, GS_TORCH_SHAPE);
    a.t.dim = 2;
    b.t.here = false;
    expect_reason(&call, GS_TORCH_DEVICE);
    b.t.here = true;
    call.d = T2(&d, 2, L(24, 40), L(1, 24));
    expect_reason(&call, GS_TORCH_STRIDES);
    T2(&d, 2, L(24, 41), L(41, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    T2(&d, 2, L(24, 40), L(40, 1))->type = GS_F32;
    expect_reason(&call, GS_TORCH_TYPE);
    T2(&d, 1, L(24, 40), L(40, 1))->data += 32 * 40 * 2 - 2;   /* D's first element is B's last */
    expect_reason(&call, GS_TORCH_OVERLAP);
    d.t.data += 2;
    expect(&call, "bf16:24x40x32:nn");
}

static void batched(void **state)
{
    (void)state;
    made a, b, d;
    gs_torch_key key;
    gs_torch_pointers pointers;
    gs_torch_call call = {.a = tensor(&a, 0, GS_F16, 3, L(3, 8, 32), L(256, 32, 1)), .b = tensor(&b, 1, GS_F16, 3, L(3, 32, 24), L(768, 24, 1))};
    expect(&call, "f16:8x24x32:nn:b=3");
    tensor(&b, 1, GS_F16, 3, L(3, 32, 24), L(0, 24, 1));
    expect(&call, "f16:8x24x32:nn:b=3:sb=0");
    tensor(&a, 0, GS_F16, 3, L(3, 8, 32), L(32, 96, 1));   /* heads side by side */
    expect(&call, "f16:8x24x32:nn:lda=96:b=3:sa=32:sb=0");
    call.d = tensor(&d, 2, GS_F16, 3, L(3, 8, 24), L(24, 72, 1));
    expect(&call, "f16:8x24x32:nn:lda=96:ldd=72:b=3:sa=32:sb=0:sd=24");
    tensor(&d, 2, GS_F16, 3, L(3, 8, 24), L(0, 24, 1));
    expect_reason(&call, GS_TORCH_STRIDES);
    call.d = NULL;
    tensor(&b, 1, GS_F16, 3, L(2, 32, 24), L(768, 24, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    tensor(&b, 1, GS_F16, 3, L(3, 32, 24), L(GS_MAX_STRIDE + 1, 24, 1));
    expect_reason(&call, GS_TORCH_STRIDES);
    tensor(&b, 1, GS_F16, 3, L(3, 32, 24), L(GS_MAX_STRIDE, 24, 1));
    assert_int_equal(gs_torch_form(&call, &key, &pointers), GS_TORCH_FITS);   /* the largest stride; as a problem it has too many bytes */
    assert_true(key.stride_b == GS_MAX_STRIDE);
    tensor(&a, 0, GS_F16, 3, L(1, 8, 32), L(5, 32, 1));
    tensor(&b, 1, GS_F16, 3, L(1, 32, 24), L(0, 24, 1));
    expect(&call, "f16:8x24x32:nn");
}

static void added(void **state)
{
    (void)state;
    made a, b, c, d;
    char text[GS_PROBLEM_TEXT];
    gs_torch_pointers p;
    gs_torch_call call = {.a = T2(&a, 0, L(24, 32), L(32, 1)), .b = T2(&b, 1, L(32, 40), L(40, 1)), .c = tensor(&c, 3, GS_BF16, 1, L(40), L(1)), .alpha = 1, .beta = 1};
    assert_int_equal(form(&call, text, &p), GS_TORCH_FITS);
    assert_string_equal(text, "bf16:24x40x32:nn:ep=bias");
    assert_ptr_equal(p.bias, memory[3]);
    assert_null(p.c);
    T2(&c, 3, L(1, 40), L(77, 1));
    expect(&call, "bf16:24x40x32:nn:ep=bias");
    T2(&c, 3, L(24, 40), L(40, 1));
    assert_int_equal(form(&call, text, &p), GS_TORCH_FITS);
    assert_string_equal(text, "bf16:24x40x32:nn:beta=1");
    assert_ptr_equal(p.c, memory[3]);
    call.d = T2(&d, 3, L(24, 40), L(40, 1));   /* in place: C and D are the same memory */
    expect(&call, "bf16:24x40x32:nn:beta=1");
    d.t.data += 2;
    expect_reason(&call, GS_TORCH_OVERLAP);
    call.d = NULL;
    call.beta = 0;
    expect(&call, "bf16:24x40x32:nn");
    call.beta = 2;
    tensor(&c, 3, GS_BF16, 1, L(40), L(1));
    expect_reason(&call, GS_TORCH_ADDED);
    call.beta = 1;
    T2(&c, 3, L(24, 1), L(1, 1));
    expect_reason(&call, GS_TORCH_ADDED);
    tensor(&c, 3, GS_BF16, 0, L(1), L(1));
    expect_reason(&call, GS_TORCH_ADDED);
    T2(&c, 3, L(24, 40), L(1, 24));
    expect_reason(&call, GS_TORCH_STRIDES);
    T2(&c, 3, L(24, 40), L(40, 1))->type = GS_F16;
    expect_reason(&call, GS_TORCH_TYPE);
}

static void more(void **state)
{
    (void)state;
    made x, w, c, bias, offsets, d;
    char text[GS_PROBLEM_TEXT];
    gs_torch_pointers p;
    gs_torch_call call = {.a = T2(&x, 0, L(16, 32), L(32, 1)), .b = T2(&w, 1, L(80, 32), L(32, 1)), .d = T2(&d, 2, L(16, 40), L(40, 1)), .weight = true, .activation = GS_SILU,
                          .gate = GS_GATE_STACKED, .alpha = 1};
    expect(&call, "bf16:16x40x32:tn:ep=silu+gate");
    call.bias = tensor(&bias, 4, GS_BF16, 1, L(80), L(1));
    expect(&call, "bf16:16x40x32:tn:ep=bias+silu+gate");
    tensor(&bias, 4, GS_BF16, 1, L(40), L(1));
    expect_reason(&call, GS_TORCH_SHAPE);
    call.bias = NULL;
    T2(&w, 1, L(81, 32), L(32, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    call.gate = 0, call.residual = 1, call.beta = 1;
    T2(&w, 1, L(40, 32), L(32, 1));
    call.c = T2(&c, 3, L(16, 40), L(40, 1));
    expect(&call, "bf16:16x40x32:tn:beta=1:ep=silu+residual");
    call.c = NULL, call.residual = 0, call.activation = 0;
    tensor(&w, 1, GS_BF16, 3, L(4, 40, 32), L(1280, 32, 1));
    call.offsets = tensor(&offsets, 5, GS_TORCH_INT32, 1, L(5), L(1));
    assert_int_equal(form(&call, text, &p), GS_TORCH_FITS);
    assert_string_equal(text, "bf16:16x40x32:tn:g=4");
    assert_ptr_equal(p.offsets, memory[5]);
    call.bias = T2(&bias, 4, L(4, 40), L(40, 1));
    expect(&call, "bf16:16x40x32:tn:g=4:ep=bias");
    call.bias = NULL;
    tensor(&offsets, 5, GS_TORCH_INT32, 1, L(4), L(1));
    expect_reason(&call, GS_TORCH_SHAPE);
    tensor(&offsets, 5, GS_BF16, 1, L(5), L(1));
    expect_reason(&call, GS_TORCH_TYPE);
    tensor(&offsets, 5, GS_TORCH_INT32, 1, L(5), L(1));
    tensor(&w, 1, GS_BF16, 3, L(4, 40, 32), L(1288, 32, 1));
    expect_reason(&call, GS_TORCH_STRIDES);
}

static void aux(void **state)
{
    (void)state;
    made x, w, d, aux;
    char text[GS_PROBLEM_TEXT];
    gs_torch_pointers p;
    gs_torch_call call = {.a = T2(&x, 0, L(16, 32), L(32, 1)), .b = T2(&w, 1, L(80, 32), L(32, 1)), .d = T2(&d, 2, L(16, 40), L(40, 1)), .aux = T2(&aux, 3, L(16, 80), L(80, 1)), .weight = true,
                          .activation = GS_SILU, .gate = GS_GATE_STACKED, .alpha = 1};
    assert_int_equal(form(&call, text, &p), GS_TORCH_FITS);
    assert_string_equal(text, "bf16:16x40x32:tn:ep=silu+gate+aux");
    assert_ptr_equal(p.aux, memory[3]);
    T2(&aux, 3, L(16, 40), L(40, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    T2(&aux, 3, L(15, 80), L(80, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    T2(&aux, 3, L(16, 80), L(88, 1));   /* rows with gaps */
    expect_reason(&call, GS_TORCH_STRIDES);
    T2(&aux, 3, L(16, 80), L(1, 16));
    expect_reason(&call, GS_TORCH_STRIDES);
    T2(&aux, 3, L(16, 80), L(80, 1))->type = GS_F16;
    expect_reason(&call, GS_TORCH_TYPE);
    T2(&aux, 3, L(16, 80), L(80, 1))->here = false;
    expect_reason(&call, GS_TORCH_DEVICE);
    T2(&aux, 2, L(16, 80), L(80, 1));
    expect_reason(&call, GS_TORCH_OVERLAP);
    T2(&aux, 0, L(16, 80), L(80, 1))->data += 2 * (16 * 32 - 1);
    expect_reason(&call, GS_TORCH_OVERLAP);
    call.gate = 0, call.activation = GS_DGELU;
    T2(&w, 1, L(40, 32), L(32, 1));
    call.aux = T2(&aux, 3, L(16, 40), L(40, 1));
    assert_int_equal(form(&call, text, &p), GS_TORCH_FITS);
    assert_string_equal(text, "bf16:16x40x32:tn:ep=dgelu");
    assert_ptr_equal(p.aux, memory[3]);
    call.aux = NULL;   /* a gradient needs its aux */
    expect_reason(&call, GS_TORCH_SHAPE);
}

static void groups_along_k(void **state)
{
    (void)state;
    made a, b, d, offsets;
    char text[GS_PROBLEM_TEXT];
    gs_torch_pointers p;
    /* 32 rows in 4 groups: gradients of 24 output features times 40 input features */
    gs_torch_call call = {.a = T2(&a, 0, L(24, 32), L(1, 24)), .b = T2(&b, 1, L(40, 32), L(1, 40)), .d = tensor(&d, 2, GS_BF16, 3, L(4, 24, 40), L(960, 40, 1)),
                          .offsets = tensor(&offsets, 5, GS_TORCH_INT32, 1, L(5), L(1)), .along_k = true, .weight = true, .alpha = 1, .constant = true};
    assert_int_equal(form(&call, text, &p), GS_TORCH_FITS);
    assert_string_equal(text, "bf16:24x40x32:nt:gk=4");
    assert_ptr_equal(p.offsets, memory[5]);
    assert_ptr_equal(p.d, memory[2]);
    tensor(&offsets, 5, GS_TORCH_INT32, 1, L(4), L(1));
    expect_reason(&call, GS_TORCH_SHAPE);
    tensor(&offsets, 5, GS_TORCH_INT32, 1, L(5), L(1));
    T2(&d, 2, L(24, 40), L(40, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    tensor(&d, 2, GS_BF16, 3, L(4, 24, 41), L(984, 41, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    tensor(&d, 2, GS_BF16, 3, L(GS_MAX_GROUPS + 1, 1, 1), L(1, 1, 1));
    expect_reason(&call, GS_TORCH_SHAPE);
    call.d = NULL;
    expect_reason(&call, GS_TORCH_SHAPE);
    call.d = tensor(&d, 2, GS_BF16, 3, L(4, 24, 40), L(960, 40, 1));
    tensor(&a, 0, GS_BF16, 3, L(4, 24, 32), L(768, 1, 24));
    expect_reason(&call, GS_TORCH_SHAPE);
}

static void keys(void **state)
{
    (void)state;
    gs_problem problem;
    gs_torch_key key;
    gs_error error = {0};
    assert_int_equal(gs_problem_parse(&problem, "bf16:16x40x32:tn:d=f32", &error), GS_OK);
    assert_int_equal(gs_torch_key_of(&problem, &key, &error), GS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "no call of torch"));
    assert_int_equal(gs_problem_parse(&problem, "bf16:16x40x32:tn:alpha=3:beta=0.5", &error), GS_OK);
    assert_int_equal(gs_torch_key_of(&problem, &key, &error), GS_OK);
    assert_int_equal(gs_problem_parse(&problem, "bf16:16x40x32:tn:beta=1:inv=1:ep=bias", &error), GS_OK);
    assert_int_equal(gs_torch_key_of(&problem, &key, &error), GS_OK);
    gs_problem back;
    assert_int_equal(gs_torch_problem(&key, &back, &error), GS_OK);
    assert_true(back.invariant == 1 && back.beta == 1 && back.bias == GS_BIAS_N);
    assert_int_equal(back.constant, GS_CONSTANT_NONE);
    assert_int_equal(gs_problem_parse(&problem, "bf16:16x40x32:tn:const=b:ep=bias", &error), GS_OK);
    assert_int_equal(gs_torch_key_of(&problem, &key, &error), GS_OK);
    assert_int_equal(gs_torch_problem(&key, &back, &error), GS_OK);
    assert_int_equal(back.constant, GS_CONSTANT_B);
    problem.m = -1;
    assert_int_not_equal(gs_torch_key_of(&problem, &key, &error), GS_OK);
    assert_string_equal(gs_torch_reason_text(GS_TORCH_REASONS), "");
}

/* ---- the problem and the tensor agree on the address of each element ---- */

static uint64_t drawn = 4711;
static int64_t draw(int64_t below)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((drawn >> 33) % (uint64_t)below);
}

/* Strides as in views: in any order, with gaps, sometimes 0. */
static void draw_tensor(made *m, int place, int64_t dim, const int64_t *size)
{
    int64_t order[3] = {0, 1, 2}, stride[3] = {0}, step = 1;
    for (int64_t i = dim - 1; i > 0; i--) {
        const int64_t j = draw(4) == 0 ? draw(i + 1) : i, kept = order[i];
        order[i] = order[j], order[j] = kept;
    }
    for (int64_t i = dim - 1; i >= 0; i--) {
        stride[order[i]] = draw(12) == 0 ? 0 : step;
        step = step * size[order[i]] + (draw(3) == 0 ? draw(5) : 0);
    }
    if (draw(10) == 0) stride[dim - 1] = 2;
    tensor(m, place, GS_BF16, dim, size, stride);
}

/* The offset of an element in the problem, for a stored matrix of rows x cols. */
static int64_t at(int64_t batch, int64_t i, int64_t j, bool exchanged, int64_t ld, int64_t stride, int64_t rows, int64_t cols)
{
    const int64_t step = stride == GS_SAME_MATRIX ? 0 : stride ? stride : ld * (exchanged ? cols : rows);
    return batch * step + (exchanged ? j * ld + i : i * ld + j);
}

static void compare(const made *m, const gs_problem *p, bool exchanged, int64_t ld, int64_t stride, int64_t rows, int64_t cols)
{
    const int64_t last = m->t.dim - 1;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++) {
                const int64_t there = (last == 2 ? b * m->stride[0] : 0) + i * m->stride[last - 1] + j * m->stride[last];
                assert_int_equal(at(b, i, j, exchanged, ld, stride, rows, cols), there);
            }
}

static void random_views(void **state)
{
    (void)state;
    int fitted = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        made a, b, c, d;
        gs_torch_key key;
        gs_torch_pointers pointers;
        gs_problem p;
        gs_error error = {0};
        const int64_t dim = 2 + draw(2), batch = 1 + draw(3), m = 1 + draw(4), n = 1 + draw(4), k = 1 + draw(4);
        const int64_t *const as = dim == 3 ? L(batch, m, k) : L(m, k), *const bs = dim == 3 ? L(batch, k, n) : L(k, n), *const ds = dim == 3 ? L(batch, m, n) : L(m, n);
        draw_tensor(&a, 0, dim, as);
        draw_tensor(&b, 1, dim, bs);
        draw_tensor(&c, 2, dim, ds);
        draw_tensor(&d, 3, dim, ds);
        const gs_torch_call call = {.a = &a.t, .b = &b.t, .c = draw(2) ? &c.t : NULL, .d = draw(2) ? &d.t : NULL, .alpha = 1, .beta = 2};
        if (gs_torch_form(&call, &key, &pointers) != GS_TORCH_FITS) {
            refused++;
            continue;
        }
        fitted++;
        if (gs_torch_problem(&key, &p, &error) != GS_OK) fail_msg("%s: %s", error.field, error.text);
        compare(&a, &p, p.layout == GS_NT || p.layout == GS_TT, p.lda, p.stride_a, m, k);
        compare(&b, &p, p.layout == GS_TN || p.layout == GS_TT, p.ldb, p.stride_b, k, n);
        if (call.c) compare(&c, &p, false, p.ldc, p.stride_c, m, n);
        if (call.d) compare(&d, &p, false, p.ldd, p.stride_d, m, n);
    }
    assert_in_range(fitted, 3000, 19000);
    assert_in_range(refused, 1000, 17000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_views), cmocka_unit_test(layouts), cmocka_unit_test(not_ours), cmocka_unit_test(batched), cmocka_unit_test(added), cmocka_unit_test(more),
                                       cmocka_unit_test(aux),
                                       cmocka_unit_test(groups_along_k), cmocka_unit_test(keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
