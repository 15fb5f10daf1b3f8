/* SPDX-License-Identifier: MIT
 * The RMS norm kernel on the emulated device, which reports accesses out of bounds: compared with f64, for rows of whole and partial 16-byte pieces, rows with gaps,
 * several pieces for each thread, in place; and special values. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "cublas/rms_norm.h"
#include "emu_group.h"

enum { MOST = 20000, EDGE = 7 };   /* MOST: elements; EDGE: elements before x, before the weight and after the result, so that pointers have the alignment of one element */

static double wide(uint16_t bits, gs_type type) { return type == GS_BF16 ? gs_bf16_to_f32(bits) : gs_f16_to_f32(bits); }
static uint16_t narrow(double x, gs_type type) { return type == GS_BF16 ? gs_f64_to_bf16(x) : gs_f64_to_f16(x); }

typedef struct shape {
    int64_t m, n, ldx;
    int     shift;      /* elements by which x and the weight are offset from a multiple of 16 bytes */
    bool    weighted, in_place;
    float   eps, offset;
} shape;

/* Reproducible numbers of up to this size. */
static void draw(uint16_t *to, int64_t count, double size, gs_type type, unsigned seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = narrow(size * ((int)(seed >> 16) - 32768) / 32768.0, type);
    }
}

/* The root that a row is divided by. */
static double root(const uint16_t *x, const shape *s, gs_type type)
{
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++) sum += wide(x[i], type) * wide(x[i], type);
    return sqrt(sum / (double)s->n + (double)s->eps);
}

static double expected(double y, const uint16_t *weight, double offset, gs_type type, bool rounds)
{
    if (rounds) y = wide(narrow(y, type), type);
    return weight ? y * (wide(*weight, type) + offset) : y;
}

static void check(const gs_rms_norm *norm, const shape *s, gs_type type, bool rounds)
{
    static uint16_t x[MOST], weight[MOST], result[MOST];
    gs_error error = {0};
    const gs_device_ops *const ops = device->ops;
    const int64_t extent = (s->m - 1) * s->ldx + s->n, last = s->m * s->n;
    const double unit = type == GS_BF16 ? 0x1p-8 : 0x1p-11, least = type == GS_BF16 ? 0 : 0x1p-25;
    gs_pointer at_x, at_weight, at_result;
    draw(x, MOST, 1, type, 7);
    draw(weight, MOST, 4, type, 11);
    for (int64_t row = 1; row < s->m; row += 2) draw(x + row * s->ldx, s->n, 0x1p-9, type, (unsigned)row);   /* small rows, for which eps matters */
    memset(result, 0x5a, sizeof result);
    OK(ops->alloc(device, (size_t)(extent + s->shift) * 2, &at_x, &error));
    OK(ops->alloc(device, (size_t)(s->n + s->shift) * 2, &at_weight, &error));
    OK(ops->alloc(device, (size_t)(last + EDGE) * 2, &at_result, &error));
    OK(ops->copy_in(device, at_x + 2 * (gs_pointer)s->shift, x, (size_t)extent * 2, &error));
    OK(ops->copy_in(device, at_weight + 2 * (gs_pointer)s->shift, weight, (size_t)s->n * 2, &error));
    OK(ops->copy_in(device, at_result, result, (size_t)(last + EDGE) * 2, &error));
    const gs_pointer operand = at_x + 2 * (gs_pointer)s->shift, to = s->in_place ? operand : at_result;
    OK(gs_rms_norm_run(norm, s->m, s->n, (const void *)(uintptr_t)operand, s->ldx, s->weighted ? (const void *)(uintptr_t)(at_weight + 2 * (gs_pointer)s->shift) : NULL, s->offset, s->eps,
                       (void *)(uintptr_t)to, NULL, &error));
    OK(ops->queue_wait(device, NULL, &error));
    OK(ops->copy_out(device, result, to, (size_t)(last + (s->in_place ? 0 : EDGE)) * 2, &error));
    double by = 0;
    for (int64_t i = 0; i < last; i++) {
        const int64_t col = i % s->n;
        const uint16_t *const row = x + i / s->n * s->ldx;
        if (col == 0) by = root(row, s, type);
        const double want = expected(wide(row[col], type) / by, s->weighted ? &weight[col] : NULL, (double)s->offset, type, rounds), got = wide(result[i], type);
        /* f32 may also round differently before the product */
        if (!(fabs(got - want) <= (rounds && s->weighted ? 3.2 : 1.05) * unit * fabs(want) + least * (rounds && s->weighted ? 9 : 1)))
            fail_msg("%lld x %lld, rounds %d: element %lld is %g, not %g", (long long)s->m, (long long)s->n, rounds, (long long)i, got, want);
    }
    for (int i = 0; i < EDGE && !s->in_place; i++) assert_int_equal(result[last + i], 0x5a5a);
    ops->free(device, at_x);
    ops->free(device, at_weight);
    ops->free(device, at_result);
}

static void right(void **state)
{
    (void)state;
    need_compiler();
    static const shape shapes[] = {
        {1, 64, 64, 0, true, false, 1e-5f, 0},     {5, 520, 528, 0, true, false, 1e-6f, 0},   {3, 7, 7, 0, true, false, 1e-5f, 1},     {4, 33, 40, 1, true, false, 1e-5f, 0},
        {2, 8200, 8200, 0, true, false, 1e-5f, 0}, {1, 9001, 9001, 3, true, false, 1e-5f, 1}, {2, 1, 1, 0, true, false, 1.0f, 0},      {3, 64, 64, 0, false, false, 1e-5f, 1},
        {3, 264, 264, 0, true, true, 1e-3f, 1},    {2, 9000, 9000, 0, true, true, 1e-5f, 0},  {2, 4104, 4104, 4, false, true, 1e-5f, 0},
    };
    for (int kind = 0; kind < 4; kind++) {
        gs_error error = {0};
        gs_rms_norm norm;
        const gs_type type = kind / 2 ? GS_BF16 : GS_F16;
        device->dependent = kind / 2 == 1;   /* then the device also checks accesses before the wait */
        OK(gs_rms_norm_open(&norm, device, type, kind % 2, &error));
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check(&norm, &shapes[i], type, kind % 2);
        gs_rms_norm_close(&norm);
        assert_null(norm.module);
    }
    device->dependent = false;
}

/* Rows with an infinity, a NaN and squares that overflow; rows of zeros stay zero. */
static void special(void **state)
{
    (void)state;
    need_compiler();
    gs_error error = {0};
    gs_rms_norm norm;
    enum { N = 16 };
    uint16_t x[4][N], result[4][N];
    gs_pointer at;
    OK(gs_rms_norm_open(&norm, device, GS_BF16, false, &error));
    for (int row = 0; row < 4; row++)
        for (int i = 0; i < N; i++) x[row][i] = row == 3 ? 0 : 0x3f80;   /* 1 */
    x[0][3] = 0x7f80;   /* infinity */
    x[1][3] = 0x7fc0;   /* NaN */
    x[2][3] = 0x7f7f;   /* the largest number */
    OK(device->ops->alloc(device, sizeof x, &at, &error));
    OK(device->ops->copy_in(device, at, x, sizeof x, &error));
    OK(gs_rms_norm_run(&norm, 4, N, (const void *)(uintptr_t)at, N, NULL, 0, 1e-6f, (void *)(uintptr_t)at, NULL, &error));
    OK(device->ops->queue_wait(device, NULL, &error));
    OK(device->ops->copy_out(device, result, at, sizeof result, &error));
    for (int i = 0; i < N; i++) {
        assert_true(i == 3 ? isnan(wide(result[0][i], GS_BF16)) : result[0][i] == 0);
        assert_true(isnan(wide(result[1][i], GS_BF16)));
        assert_int_equal(result[2][i], 0);
        assert_int_equal(result[3][i], 0);
    }
    device->ops->free(device, at);
    gs_rms_norm_close(&norm);
}

static void bad_environment(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_rms_norm norm;
    setenv("GEMMSMITH_DEPENDENT", "maybe", 1);
    assert_int_equal(gs_rms_norm_open(&norm, device, GS_BF16, false, &error), GS_ERROR_PARSE);
    gs_rms_norm_close(&norm);
    assert_null(norm.module);
    unsetenv("GEMMSMITH_DEPENDENT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(right), cmocka_unit_test(special), cmocka_unit_test(bad_environment)};
    return cmocka_run_group_tests(tests, open_group, close_group);
}
