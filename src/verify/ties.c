/* SPDX-License-Identifier: MIT */
#include "verify/ties.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/half.h"
#include "base/random.h"
#include "problem/layout.h"

#define MOST      96        /* ties, one per line */
#define ENOUGH    (1 << 20) /* results: among more, some show another order by chance */
#define HALF      5         /* steps in a half, which has SUMS combinations of changes */
#define SUMS      1024      /* 4 ^ HALF */
#define COLUMNS   8         /* results that are tried per line */
#define LARGEST   64        /* most units of change: an element changes by up to twice as many */

int64_t gs_ties_most(const gs_problem *p)
{
    const int64_t rows = p->m * p->batch, cols = gs_columns_of_b(p);
    if (p->out == GS_F32 || p->acc != GS_F32 || p->groups || p->grouping || p->alpha == 0 || p->k < GS_TIE_STEPS || rows * cols > ENOUGH) return 0;
    return GS_MIN(p->gate ? p->n : GS_MAX(p->m, p->n), MOST);
}

/* Host copies of A and B, and the result that is to become a tie. */
typedef struct finder {
    gs_check_run *trial;
    gs_args       args;
    uint16_t     *of[2];
    gs_random     random;
    int64_t       matrix, row, col;   /* row: counted through all matrices; col: column of B whose sum is changed */
    int64_t       d_col;
} finder;

static double number(const gs_problem *p, uint16_t element) { return p->in == GS_BF16 ? gs_bf16_to_f32(element) : gs_f16_to_f32(element); }
static uint16_t *a_at(const finder *f, int64_t k) { return &f->of[0][gs_place_in_a(&f->trial->problem, f->row, k)]; }
static uint16_t *b_at(const finder *f, int64_t k, int64_t col) { return &f->of[1][gs_place_in_b(&f->trial->problem, f->matrix, k, col)]; }

static double sum_of(const finder *f, int64_t col)
{
    const gs_problem *const p = &f->trial->problem;
    double sum = 0;
    for (int64_t k = 0; k < p->k; k++) sum += number(p, *a_at(f, k)) * number(p, *b_at(f, k, col));
    return sum;
}

static gs_status value_of(const finder *f, double sum, double up, double *value, gs_error *error)
{
    return gs_check_value(f->trial->verifier, &f->trial->problem, &f->args, (const double[]){sum, up}, f->row, f->d_col, value, error);
}

/* Finds the sum for which the result is halfway between two numbers of D's type; *step is their distance in terms of the sum. *found false: there is none near. */
static gs_status middle_of(const finder *f, double sum, double up, double *middle, double *step, bool *found, gs_error *error)
{
    const gs_problem *const p = &f->trial->problem;
    const double near = 0x1p-9 * (fabs(sum) + 1);
    double value, below, above;
    int exponent;
    *found = false;
    GS_TRY(value_of(f, sum, up, &value, error));
    GS_TRY(value_of(f, sum - near, up, &below, error));
    GS_TRY(value_of(f, sum + near, up, &above, error));
    double slope = (above - below) / (2 * near);
    if (!(fabs(value) > 0x1p-10) || !(fabs(value) < 0x1p15) || !(fabs(slope) * (fabs(sum) + 1) > 0x1p-4 * fabs(value))) return GS_OK;
    frexp(value, &exponent);
    const double unit = ldexp(1, exponent - (p->out == GS_F16 ? 11 : 8)), wanted = (floor(value / unit) + 0.5) * unit;
    *middle = sum;
    *step = unit / fabs(slope);
    for (int i = 0; i < 4; i++) {
        *middle += (wanted - value) / slope;
        GS_TRY(value_of(f, *middle, up, &value, error));
    }
    *found = fabs(value - wanted) < 0x1p-12 * unit;
    return GS_OK;
}

typedef struct half {
    double sum;
    int    digits;   /* in base 4, one per step: which change it has */
} half;

static int by_sum(const void *a, const void *b)
{
    const double x = ((const half *)a)->sum, y = ((const half *)b)->sum;
    return (x > y) - (x < y);
}

/* Digits 0 to 3 change an element by -1, 0, 1 or 2 times `units` of its last place. */
static uint16_t changed(uint16_t element, int digit, int units) { return (uint16_t)(element + (digit - 1) * units); }

/* For all combinations of changes in one half of the steps: by how much the sum changes. */
static void sums_of_half(const finder *f, const gs_tie *t, int operand, int from, int units, half out[SUMS])
{
    const gs_problem *const p = &f->trial->problem;
    for (int i = 0; i < SUMS; i++) {
        out[i] = (half){0, i};
        for (int j = 0; j < HALF; j++) {
            const int64_t k = t->k[from + j];
            const uint16_t before = operand ? *b_at(f, k, f->col) : *a_at(f, k), other = operand ? *a_at(f, k) : *b_at(f, k, f->col);
            out[i].sum += (number(p, changed(before, i >> 2 * j & 3, units)) - number(p, before)) * number(p, other);
        }
    }
}

/* Chooses different elements to change. Neither they nor what they are multiplied by is near 0. */
static bool choose_steps(finder *f, gs_tie *t)
{
    const gs_problem *const p = &f->trial->problem;
    int count = 0;
    for (int tries = 0; tries < 40 * GS_TIE_STEPS && count < GS_TIE_STEPS; tries++) {
        const int64_t k = (int64_t)gs_random_below(&f->random, (uint64_t)p->k);
        const double a = fabs(number(p, *a_at(f, k))), b = fabs(number(p, *b_at(f, k, f->col)));
        bool fresh = a > 0.05 && a < 64 && b > 0.05 && b < 64;
        for (int i = 0; i < count; i++) fresh &= t->k[i] != k;
        if (fresh) t->k[count++] = k;
    }
    return count == GS_TIE_STEPS;
}

/* Finds the combination of changes that changes the sum by an amount nearest to `wanted`. */
static void change_by(const finder *f, gs_tie *t, int operand, double wanted, int units)
{
    static _Thread_local half first[SUMS], second[SUMS];
    double best = INFINITY;
    int digits[2] = {0, 0};
    sums_of_half(f, t, operand, 0, units, first);
    sums_of_half(f, t, operand, HALF, units, second);
    qsort(second, SUMS, sizeof *second, by_sum);
    for (int i = 0; i < SUMS; i++) {
        int low = 0, high = SUMS;
        while (low < high) {
            const int middle = (low + high) / 2;
            if (second[middle].sum < wanted - first[i].sum) low = middle + 1;
            else high = middle;
        }
        for (int j = GS_MAX(low - 1, 0); j <= GS_MIN(low, SUMS - 1); j++) {
            const double off = fabs(first[i].sum + second[j].sum - wanted);
            if (off < best) best = off, digits[0] = first[i].digits, digits[1] = second[j].digits;
        }
    }
    for (int i = 0; i < GS_TIE_STEPS; i++) {
        const uint16_t before = operand ? *b_at(f, t->k[i], f->col) : *a_at(f, t->k[i]);
        t->element[i] = changed(before, digits[i / HALF] >> 2 * (i % HALF) & 3, units);
    }
}

/* How far the sums of two orders may be from the exact one: each step rounds or truncates a partial sum of about sqrt(k). */
static double error_of(const gs_problem *p) { return 0.4 * (double)p->k * 0x1p-25; }

/* The width of the range of sums that changes by one unit can reach. */
static double reach_of(const finder *f, const gs_tie *t, int operand)
{
    const gs_problem *const p = &f->trial->problem;
    double reach = 0;
    for (int i = 0; i < GS_TIE_STEPS; i++) {
        const uint16_t before = operand ? *b_at(f, t->k[i], f->col) : *a_at(f, t->k[i]), other = operand ? *a_at(f, t->k[i]) : *b_at(f, t->k[i], f->col);
        reach += 3 * fabs((number(p, changed(before, 2, 1)) - number(p, before)) * number(p, other));
    }
    return reach;
}

/* Tries a few results of the line, until one can be made a tie. */
static gs_status find_one(finder *f, int operand, gs_tie *t, bool *found, gs_error *error)
{
    const gs_problem *const p = &f->trial->problem;
    *found = false;
    for (int i = 0; i < COLUMNS && !*found; i++) {
        double middle, step, up = 0;
        if (operand == 0) f->d_col = (int64_t)gs_random_below(&f->random, (uint64_t)p->n);
        else f->row = f->matrix * p->m + (int64_t)gs_random_below(&f->random, (uint64_t)p->m);
        f->col = p->gate ? gs_gate_column((int)p->gate, p->n, f->d_col, false) : f->d_col;
        if (p->gate) up = sum_of(f, gs_gate_column((int)p->gate, p->n, f->d_col, true));
        if (!choose_steps(f, t)) continue;
        const double sum = sum_of(f, f->col);
        GS_TRY(middle_of(f, sum, up, &middle, &step, found, error));
        if (!*found) continue;
        const double wanted = middle + error_of(p) * (2.4 * gs_random_unit(&f->random) - 1.2) - sum, units = ceil(1.5 * step / reach_of(f, t, operand));
        *found = units <= LARGEST;
        if (*found) change_by(f, t, operand, wanted, (int)units);
    }
    t->matrix = f->matrix;
    t->line = operand ? f->col : f->row % p->m;
    return GS_OK;
}

static gs_status copy_operand(const gs_check_run *trial, int operand, uint16_t **out, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    *out = malloc(GS_MAX(trial->operand[operand].bytes, 1u));
    if (!*out) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a copy of an operand");
    return device->ops->copy_out(device, *out, trial->operand[operand].at, trial->operand[operand].bytes, error);
}

gs_status gs_ties_find(gs_check_run *trial, int64_t matrices, gs_ties *out, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const int64_t most = gs_ties_most(p);
    finder f = {.trial = trial, .args = gs_check_run_args(trial), .random = {gs_mix(trial->seed + 0x243185beu)}};
    *out = (gs_ties){.operand = p->gate || p->n > p->m};
    if (most == 0) return GS_OK;
    out->tie = calloc((size_t)most, sizeof *out->tie);
    if (!out->tie) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for ties");
    gs_status status = GS_OK;
    for (int i = 0; i < 2 && status == GS_OK; i++) status = copy_operand(trial, i, &f.of[i], error);
    const int64_t lines = out->operand ? p->n : p->m, own = gs_shape_of(p, out->operand ? 'b' : 'a').matrices, from = (int64_t)gs_random_below(&f.random, (uint64_t)lines);
    for (int64_t i = 0; i < most && status == GS_OK; i++) {
        const int64_t line = (from + i) % lines;
        bool found;
        f.matrix = (int64_t)gs_random_below(&f.random, (uint64_t)GS_MIN(own, matrices));
        f.row = f.matrix * p->m + line;
        f.d_col = line;
        status = find_one(&f, out->operand, &out->tie[out->count], &found, error);
        out->count += status == GS_OK && found;
    }
    for (int i = 0; i < 2; i++) free(f.of[i]);
    return status;
}

gs_status gs_ties_put(gs_check_run *trial, const gs_ties *ties, const gs_pool_rows *rows, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    for (int i = 0; i < ties->count; i++) {
        const gs_tie *const t = &ties->tie[i];
        int64_t row = 0;
        while (!ties->operand && row < p->m && gs_pool_row(rows, row) != t->line) row++;
        if (row == p->m) continue;   /* the row is not in this matrix */
        for (int j = 0; j < GS_TIE_STEPS; j++) {
            const int64_t at = ties->operand ? gs_place_in_b(p, t->matrix, t->k[j], t->line) : gs_place_in_a(p, t->matrix * p->m + row, t->k[j]);
            GS_TRY(gs_check_run_put(trial, ties->operand, at, t->element[j], error));
        }
    }
    return GS_OK;
}
