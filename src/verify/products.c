/* SPDX-License-Identifier: MIT
 * Describes where a result is wrong, and why if every output is one product (GS_VALUES_INDEX, GS_VALUES_RANGE): there the wrong value itself says much. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "verify/check_run.h"

#define FEW 16   /* fewer wrong elements than this do not suggest a permutation */

/* ---- where ---- */

/* ", all in rows 64 to 127, columns 0 to 63": the area of several wrong elements, if there are right ones outside it. */
static void describe_area(const gs_problem *p, const gs_check_counts *counts, char *text, size_t size)
{
    const uint64_t rows = counts->row_high - counts->row_low + 1, cols = counts->col_high - counts->col_low + 1;
    text[0] = '\0';
    if (counts->mismatches < 2 || (rows == (uint64_t)(p->m * p->batch) && cols == (uint64_t)p->n)) return;
    snprintf(text, size, ", all in rows %llu to %llu, columns %llu to %llu", (unsigned long long)counts->row_low, (unsigned long long)counts->row_high,
             (unsigned long long)counts->col_low, (unsigned long long)counts->col_high);
}

gs_status gs_check_run_describe(gs_check_run *trial, const gs_check_counts *counts, char text[GS_WHERE], gs_error *error)
{
    gs_compare compare;
    gs_args args = gs_check_run_args(trial);
    const gs_problem of = trial->of_aux ? gs_problem_of_aux(&trial->problem) : trial->problem;
    if (trial->of_aux) args.d = args.aux;
    GS_TRY(gs_check_summary(trial->verifier, &of, counts, &args, trial->reference, &compare, error));
    if (trial->of_sums) GS_TRY(gs_check_summary_of_sums(trial->verifier, &of, counts->first, &args, trial->reference, &compare, error));
    gs_verdict *const verdict = trial->verdict;
    verdict->mismatches = compare.mismatches;
    verdict->row = compare.row;
    verdict->col = compare.col;
    verdict->got = compare.got;
    verdict->want = compare.want;
    if (trial->of_sums) {
        snprintf(text, GS_WHERE, "of the gradient of the bias, beside a right D, %lld of %lld sums, first column %lld: got %.9g, want %.9g", (long long)compare.mismatches,
                 (long long)(of.n * gs_dbias_vectors(&of)), (long long)compare.col, compare.got, compare.want);
        return GS_OK;
    }
    char area[96];
    const double elements = (double)trial->problem.m * (double)trial->problem.batch * (double)trial->problem.n;
    describe_area(&trial->problem, counts, area, sizeof area);
    snprintf(text, GS_WHERE, "%s%lld of %.0f elements, first (%lld, %lld): got %.9g, want %.9g%s", trial->of_aux ? "of aux, beside a right D, " : "", (long long)compare.mismatches, elements,
             (long long)compare.row, (long long)compare.col, compare.got, compare.want, area);
    return GS_OK;
}

/* ---- INDEX ---- */

static uint32_t bits_of(gs_type type, double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return type == GS_F32 ? bits : type == GS_BF16 ? gs_f32_to_bf16(narrow) : gs_f32_to_f16(narrow);
}

static float round_once(gs_type type, double value)
{
    const float odd = gs_round_to_odd(value);
    return type == GS_F32 ? (float)value : type == GS_BF16 ? gs_bf16_to_f32(gs_f32_to_bf16(odd)) : gs_f16_to_f32(gs_f32_to_f16(odd));
}

/* The number of the bit in which the two differ, if it is only one; else -1. */
static int single_bit(gs_type type, double got, double want)
{
    const uint32_t changed = bits_of(type, got) ^ bits_of(type, want);
    if (changed == 0 || (changed & (changed - 1)) != 0) return -1;
    int bit = 0;
    while (changed >> bit != 1) bit++;
    return bit;
}

/* Finds another element of the row or column whose right value is the wrong one here. *found false: there is none. */
static gs_status find_owner(gs_check_run *trial, double got, bool *found, int64_t *row, int64_t *col, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    const gs_problem *const p = &trial->problem;
    const gs_verdict *const v = trial->verdict;
    double *const line = malloc((size_t)GS_MAX(p->n, 1) * sizeof *line);
    *found = false;
    if (!line) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a row of the reference");
    gs_status status = device->ops->copy_out(device, line, trial->reference + (gs_pointer)(v->row * p->n) * sizeof *line, (size_t)p->n * sizeof *line, error);
    for (int64_t i = 0; status == GS_OK && i < p->n && !*found; i++)
        if (i != v->col && line[i] == got) *found = true, *row = v->row, *col = i;
    free(line);
    const int64_t first = v->row / p->m * p->m;
    for (int64_t i = first; status == GS_OK && i < first + p->m && !*found; i++) {
        double value = 0;
        status = device->ops->copy_out(device, &value, trial->reference + (gs_pointer)(i * p->n + v->col) * sizeof value, sizeof value, error);
        if (i != v->row && value == got) *found = true, *row = i, *col = v->col;
    }
    return status;
}

/* The factor by which the first wrong element and two others are too large; 0: it is not the same. */
static gs_status find_factor(gs_check_run *trial, double *factor, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const gs_verdict *const v = trial->verdict;
    const uint64_t probes[] = {(uint64_t)(v->row * p->n + p->n - 1), (uint64_t)(p->m * p->batch * p->n - 1)};
    *factor = v->got / v->want;
    for (size_t i = 0; i < GS_COUNT(probes); i++) {
        gs_compare other;
        const gs_args args = gs_check_run_args(trial);
        const gs_check_counts counts = {.first = probes[i]};
        GS_TRY(gs_check_summary(trial->verifier, p, &counts, &args, trial->reference, &other, error));
        if (other.got != *factor * other.want) *factor = 0;
    }
    if (!isfinite(*factor) || fmod(*factor * 4, 1) != 0) *factor = 0;
    return GS_OK;
}

gs_status gs_check_run_blame_index(gs_check_run *trial, const gs_check_counts *counts, const char *where, gs_error *error)
{
    char text[GS_WHERE];
    if (counts->zeros == counts->mismatches) {
        gs_check_run_blame(trial, GS_VERDICT_EXACT, 1, "%s; terms of the sum are missing: look at the loop over K", where);
        return GS_OK;
    }
    GS_TRY(gs_check_run_describe(trial, counts, text, error));
    const double got = trial->verdict->got, want = trial->verdict->want;
    const int bit = single_bit(trial->problem.out, got, want);
    if (counts->mismatches < FEW && bit >= 0) {
        gs_check_run_blame(trial, GS_VERDICT_EXACT, 1, "%s; of single products too, where bit %d alone is wrong: look at what changes a result after its sum", text, bit);
        return GS_OK;
    }
    if (isnan(got)) {
        gs_check_run_blame(trial, GS_VERDICT_EXACT, 1, "%s; single products give NaN too: look at divisions and at reads of memory that nothing was written to", where);
        return GS_OK;
    }
    double factor = 0;
    if (counts->mismatches >= FEW) GS_TRY(find_factor(trial, &factor, error));
    if (factor != 0) {
        gs_check_run_blame(trial, GS_VERDICT_EXACT, 1, "%s; elements are %g times their products: look at alpha and at parts that are added more than once", where,
                           factor);
        return GS_OK;
    }
    bool found;
    int64_t row = 0, col = 0;
    GS_TRY(find_owner(trial, got, &found, &row, &col, error));
    if (found && counts->mismatches >= FEW)
        gs_check_run_blame(trial, GS_VERDICT_INDEX, 3, "%s; element (%lld, %lld) shows the product of (%lld, %lld): look at the indices of operands and of the store", where,
                           (long long)trial->verdict->row, (long long)trial->verdict->col, (long long)row, (long long)col);
    else if (counts->mismatches >= FEW)
        gs_check_run_blame(trial, GS_VERDICT_INDEX, 3, "%s; elements show the product of another row or column, or parts of several", where);
    else
        gs_check_run_blame(trial, GS_VERDICT_EXACT, 1, "%s; few elements, with single products too: look at conditions that hold for these rows and columns only", text);
    return GS_OK;
}

/* ---- RANGE ---- */

static bool subnormal(gs_type type, double value) { return value != 0 && fabs(value) < (type == GS_F16 ? 0x1p-14 : 0x1p-126); }

/* A hint for the cause, from the wrong value and the right one. */
static const char *range_hint(gs_type in, gs_type out, double a, double b, double got, double want, bool single)
{
    if (isnan(got) && want == 0) return "a row of zeros must give 0: look at divisions by the size of a row";
    if (isnan(want)) return "an input is NaN, or inf beside zeros: look at what drops NaN, skips zeros or clamps inf";
    if (isinf(want) && single && isfinite(a) && isfinite(b)) return "the product overflows and must give inf: look at what saturates";
    if (isinf(want) && isnan(got)) return "inf times a number must give inf: look at what flushes subnormal inputs to zero";
    if (isinf(want)) return "an input is inf: look at what clamps it";
    if (want == 0 && !single) return "no product is here: look at what is added to a sum of zeros, C included";
    if (subnormal(in, a) || subnormal(in, b)) return "an input is subnormal: look at what flushes it to zero";
    if (subnormal(out, want)) return "the result is subnormal: look at what flushes it to zero, as atomic additions of f32 in global memory do";
    return "look at what limits the size of inputs or loses their bits";
}

void gs_check_run_blame_range(gs_check_run *trial, int part, const gs_check_counts *counts, const char *where)
{
    const gs_problem *const p = &trial->problem;
    const gs_verdict *const v = trial->verdict;
    const int64_t batch = v->row / p->m, row = v->row % p->m;
    const uint64_t seed = gs_mix(trial->seed + (uint64_t)GS_VALUES_RANGE);
    const gs_datagen a = gs_datagen_make(p, 'a', GS_VALUES_RANGE, seed), b = gs_datagen_make(p, 'b', GS_VALUES_RANGE, seed);
    int exponent;
    const bool of_a = a.plan.range.lone == 0;
    const long long k = gs_range_place(of_a ? &a : &b, batch, of_a ? row : v->col, &exponent);
    const double x = (double)gs_value(&a, batch, row, k), y = (double)gs_value(&b, batch, k, v->col);
    const bool single = x != 0 && y != 0;
    char product[96] = "";
    if (single && isfinite(x) && isfinite(y)) snprintf(product, sizeof product, " (%.6g x %.6g)", x, y);
    const double want = (double)round_once(p->out, v->want);   /* which may have overflowed */
    const int bit = isfinite(v->got) && isfinite(want) ? single_bit(p->out, v->got, want) : -1;
    if (counts->mismatches < FEW && bit >= 0) {
        gs_check_run_blame(trial, GS_VERDICT_EXACT, part, "%s%s; bit %d alone is wrong: look at what changes a result after its sum", where, product, bit);
        return;
    }
    const bool special = isnan(want) || (isinf(want) && product[0] == '\0');
    gs_check_run_blame(trial, special ? GS_VERDICT_SPECIAL : GS_VERDICT_EXACT, part, "%s%s; %s", where, product,
                       range_hint(p->in, p->out, x, y, v->got, want, single));
}
