/* SPDX-License-Identifier: MIT
 * Random problems for a comparison of two devices, their data, made on the host, and what D may be. */
#ifndef GS_TESTS_GPU_EMU_DATA_H
#define GS_TESTS_GPU_EMU_DATA_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/random.h"
#include "operands/data.h"
#include "verify/verify.h"

enum { GPU, EMULATED, SIDES };
enum { BEHIND = 256 };   /* bytes behind D that nobody may write */

/* ---- problems ---- */

static int64_t random_extent(gs_random *random)
{
    static const int64_t most[] = {17, 65, 200, 300};
    return 1 + (int64_t)gs_random_below(random, (uint64_t)most[gs_random_below(random, GS_COUNT(most))]);
}

static int64_t random_padding(gs_random *random) { return gs_random_below(random, 2) ? 1 + (int64_t)gs_random_below(random, 24) : 0; }

/* large: so many tiles that a multiprocessor gets several of them. */
static gs_problem random_problem(gs_random *random, bool large)
{
    static const float alphas[] = {1, 1, 1, 0.5f, -2}, betas[] = {0, 0, 1, 0.5f, -1};
    for (;;) {
        const gs_type in = gs_random_below(random, 2) ? GS_BF16 : GS_F16, out = (gs_type)gs_random_below(random, 3);
        const int64_t more = large ? 1500 : 0, m = more + random_extent(random), n = more + random_extent(random);
        const int64_t k = large ? 1 + (int64_t)gs_random_below(random, 72) : random_extent(random);
        gs_problem problem = gs_problem_make(in, gs_random_below(random, 2) ? GS_TN : GS_NN, m, n, k);
        problem.out = out;
        if (in == GS_F16 && gs_random_below(random, 3) == 0) problem.acc = GS_F16;
        problem.lda += random_padding(random);
        problem.ldb += random_padding(random);
        if (large || gs_random_below(random, 2)) {   /* rows that tensor copies can take, whatever the extents */
            problem.lda = (problem.lda + 7) / 8 * 8;
            problem.ldb = (problem.ldb + 7) / 8 * 8;
        }
        problem.ldc += random_padding(random);
        problem.ldd += random_padding(random);
        problem.alpha = alphas[gs_random_below(random, GS_COUNT(alphas))];
        problem.beta = betas[gs_random_below(random, GS_COUNT(betas))];
        if (gs_problem_check(&problem, NULL) == GS_OK) return problem;
    }
}

/* ---- data ---- */

enum { EXACT, NORMAL, KINDS };

/* Of one problem: the operands of both kinds, on the host, and what D must be. */
typedef struct data {
    gs_problem problem;
    size_t     bytes[4], behind;      /* of A, B, C and all rows of D; D with what lies behind it */
    uint8_t   *operand[KINDS][3];
    double    *reference[KINDS], *magnitude;
    uint8_t   *d[SIDES];              /* as the devices gave it */
} data;

static void put(void *matrix, gs_type type, int64_t index, float value)
{
    if (type == GS_F32)
        ((float *)matrix)[index] = value;
    else
        ((uint16_t *)matrix)[index] = type == GS_F16 ? gs_f32_to_f16(value) : gs_f32_to_bf16(value);
}

static double get(const void *matrix, gs_type type, int64_t index)
{
    if (type == GS_F32) return (double)((const float *)matrix)[index];
    const uint16_t bits = ((const uint16_t *)matrix)[index];
    return (double)(type == GS_F16 ? gs_f16_to_f32(bits) : gs_bf16_to_f32(bits));
}

/* NaN between the rows and, where C must not be read, all over it. */
static void make_operand(const data *x, char name, int kind, uint64_t seed, uint8_t *to)
{
    static const int values[KINDS] = {GS_VALUES_INTEGER, GS_VALUES_NORMAL};
    const gs_datagen g = gs_datagen_make(&x->problem, name, values[kind], seed);
    memset(to, 0xff, x->bytes[name - 'a']);
    if (name == 'c' && x->problem.beta == 0) return;
    for (int64_t row = 0; row < g.rows; row++)
        for (int64_t col = 0; col < g.cols; col++)
            put(to, (gs_type)g.type, row * g.ld + col, g.transposed ? gs_value(&g, 0, col, row) : gs_value(&g, 0, row, col));
}

static void *must_have(size_t bytes)
{
    void *const memory = malloc(bytes);
    if (!memory) abort();
    return memory;
}

static void clear_signs(uint8_t *matrix, size_t bytes, gs_type type)
{
    const size_t size = gs_type_size(type);
    for (size_t at = size - 1; at < bytes; at += size) matrix[at] &= 0x7f;
}

/* The magnitude is the reference of the operands without their signs. */
static void make_magnitude(data *x)
{
    gs_problem unsigned_problem = x->problem;
    unsigned_problem.alpha = fabsf(unsigned_problem.alpha);
    unsigned_problem.beta = fabsf(unsigned_problem.beta);
    uint8_t *copy[3];
    for (int i = 0; i < 3; i++) {
        copy[i] = must_have(x->bytes[i]);
        memcpy(copy[i], x->operand[NORMAL][i], x->bytes[i]);
        clear_signs(copy[i], x->bytes[i], i < 2 ? x->problem.in : x->problem.out);
    }
    gs_reference_cpu(&unsigned_problem, copy[0], copy[1], copy[2], x->magnitude);
    for (int i = 0; i < 3; i++) free(copy[i]);
}

static void make_data(data *x, const gs_problem *problem, uint64_t seed)
{
    const size_t elements = (size_t)(problem->m * problem->n);
    *x = (data){.problem = *problem};
    for (int i = 0; i < 3; i++) x->bytes[i] = gs_problem_bytes(problem, (char)('a' + i));
    x->bytes[3] = (size_t)(problem->m * problem->ldd) * gs_type_size(problem->out);
    x->behind = (x->bytes[3] + BEHIND) / 4 * 4;
    x->magnitude = must_have(elements * sizeof(double));
    for (int side = 0; side < SIDES; side++) x->d[side] = must_have(x->behind);
    for (int kind = 0; kind < KINDS; kind++) {
        uint8_t **const o = x->operand[kind];
        for (int i = 0; i < 3; i++) {
            o[i] = must_have(x->bytes[i]);
            make_operand(x, (char)('a' + i), kind, seed, o[i]);
        }
        x->reference[kind] = must_have(elements * sizeof(double));
        gs_reference_cpu(problem, o[0], o[1], o[2], x->reference[kind]);
    }
    make_magnitude(x);
}

static void free_data(data *x)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < 3; i++) free(x->operand[kind][i]);
        free(x->reference[kind]);
    }
    for (int side = 0; side < SIDES; side++) free(x->d[side]);
    free(x->magnitude);
}

/* ---- what D may be ---- */

/* An integer result, rounded once; zeros of either sign are equal. */
static bool is_right(const data *x, int side)
{
    const gs_problem *const p = &x->problem;
    for (int64_t row = 0; row < p->m; row++)
        for (int64_t col = 0; col < p->n; col++) {
            const float once = gs_round_to_odd(x->reference[EXACT][row * p->n + col]);
            uint8_t want[sizeof(float)];
            put(want, p->out, 0, once);
            if (get(x->d[side], p->out, row * p->ldd + col) != get(want, p->out, 0)) return false;
        }
    return true;
}

static double bound_of(const gs_problem *p, double reference, double magnitude)
{
    const double steps = (double)p->k + 8, u = p->acc == GS_F16 ? 0x1p-11 : 0x1p-24;
    const double v = p->out == GS_F16 ? 0x1p-11 : p->out == GS_BF16 ? 0x1p-8 : 0x1p-24;
    const double least = (p->out == GS_F16 ? 0x1p-25 : 0) + (p->acc == GS_F16 ? steps * 0x1p-25 * fabs((double)p->alpha) : 0);
    const double sums = steps * u / (1 - steps * u) * magnitude;
    return sums + v * (fabs(reference) + sums) + least + 0x1p-134;
}

/* Of a number that is none, the error is infinite. */
static double error_of(double got, double reference, double bound)
{
    const double error = fabs(got - reference) / bound;
    return isnan(error) ? INFINITY : error;
}

#endif
