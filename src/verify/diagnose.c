/* SPDX-License-Identifier: MIT
 * Finds out why a result is wrong. The launch is repeated under other conditions, from the specific to the general: what memory held before, C, chance, rounding, and then data
 * that only one kind of fault gets wrong. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "verify/check_run.h"

#define WITHOUT_SCALES 0x100u   /* no gs_scales, but keeps the field non-zero: the reference was computed without C because of scales */
#define LEAN 16   /* so many errors to one side are not chance */

static const gs_verdict_code of_part[6] = {
    GS_VERDICT_EXACT, GS_VERDICT_EXACT, GS_VERDICT_CANCELLATION, GS_VERDICT_INDEX, GS_VERDICT_TOLERANCE, GS_VERDICT_EDGE,
};

/* Another launch on the same data; *right says whether its result is right. The verdict stays, except for a fault, after which the device is lost. */
static gs_status try_again(gs_check_run *trial, bool zero, double tolerance, bool *right, gs_check_counts *counts, gs_error *error)
{
    const gs_verdict before = *trial->verdict;
    *right = false;
    *counts = (gs_check_counts){0};
    GS_TRY(gs_check_run_launch(trial, zero, error));
    if (trial->verdict->code == GS_VERDICT_FAULT) return GS_OK;
    if (!gs_check_run_failed(trial)) {
        GS_TRY(gs_check_run_compare(trial, tolerance, counts, error));
        *right = counts->mismatches == 0;
    }
    *trial->verdict = before;
    return GS_OK;
}

static gs_status with_data(gs_check_run *trial, int kind, bool *right, gs_check_counts *counts, gs_error *error)
{
    GS_TRY(gs_check_run_data(trial, kind, -1, error));
    return try_again(trial, false, 0, right, counts, error);
}

/* Is the result right over zeros? */
static gs_status diagnose_memory(gs_check_run *trial, double tolerance, const char *where, gs_error *error)
{
    bool right;
    gs_check_counts counts;
    GS_TRY(try_again(trial, true, tolerance, &right, &counts, error));
    if (right)
        gs_check_run_blame(trial, GS_VERDICT_STATE, 6,
                           "right only when output and workspace are zero before the launch; otherwise %s; where blocks read what others store, a fence may be missing", where);
    return GS_OK;
}

/* Is the result right with another C, which must not be read when beta is 0? Not asked where special values were put in: the same launch without them was right. */
static gs_status diagnose_c(gs_check_run *trial, int part, double tolerance, const char *where, gs_error *error)
{
    bool right;
    gs_check_counts counts;
    if (trial->problem.beta != 0 || trial->poked.any) return GS_OK;
    GS_TRY(gs_check_run_data(trial, trial->kind, GS_VALUES_ZERO, error));
    GS_TRY(try_again(trial, false, tolerance, &right, &counts, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    if (right) gs_check_run_blame(trial, GS_VERDICT_SPECIAL, part, "reads C although beta is 0: right only when C holds zeros; otherwise %s", where);
    return right ? GS_OK : gs_check_run_data(trial, trial->kind, -1, error);
}

/* Is the result right without the special values that were put into the data? */
static gs_status diagnose_poked(gs_check_run *trial, int part, double tolerance, const char *where, gs_error *error)
{
    const gs_poked poked = trial->poked;
    bool right;
    gs_check_counts counts;
    if (!poked.any) return GS_OK;
    GS_TRY(gs_check_run_data(trial, trial->kind, -1, error));
    GS_TRY(try_again(trial, false, tolerance, &right, &counts, error));
    if (gs_check_run_failed(trial) || !right) return GS_OK;
    const gs_problem *const p = &trial->problem;
    const double want = fabs(trial->verdict->want), largest = p->out == GS_F16 ? 65504 : 0x1.fep127, overflow = p->out == GS_F16 ? 65520 : 0x1.ffp127;
    const bool others = gs_check_run_has_others(p);
    char in_a[64] = "", in_b[64] = "";
    if (poked.in_a) snprintf(in_a, sizeof in_a, "the %s in A (%lld, %lld)", poked.nan_in_a ? "NaN" : "inf", (long long)poked.row, (long long)poked.k_a);
    if (poked.in_b) snprintf(in_b, sizeof in_b, "the %s in B (%lld, %lld)", poked.nan_in_a ? "inf" : "NaN", (long long)poked.k_b, (long long)poked.col);
    if (p->out != GS_F32 && isfinite(want) && want > largest)   /* gs_check_run_poke puts in two such outputs */
        gs_check_run_blame(trial, GS_VERDICT_EXACT, part, "%s; %s%.9g, the largest number: look at what limits results", where,
                           want >= overflow ? "the product overflows and must give inf, not " : "the product rounds to ", largest);
    else if ((p->beta != 0 || gs_adds_bias(p) || p->scales) && isfinite(want) && isfinite(trial->verdict->got))   /* and large numbers there */
        gs_check_run_blame(trial, GS_VERDICT_EXACT, part, "%s; right without a large number in C, a bias or scales: look at what limits it", where);
    else
        gs_check_run_blame(trial, GS_VERDICT_SPECIAL, part,
                           "%s; right without %s%s%s%s%s: look at what drops NaN or clamps inf, minima and tests of size", where, in_a, *in_a && *in_b ? " and " : "", in_b,
                           !others ? "" : *in_a || *in_b ? ", and " : "", others ? "those in C, a bias, scales or aux" : "");
    return GS_OK;
}

static gs_status diagnose_chance(gs_check_run *trial, double tolerance, const char *where, gs_error *error)
{
    bool right;
    uint64_t hash[3];
    gs_check_counts counts;
    for (int i = 0; i < 3; i++) {
        GS_TRY(try_again(trial, false, tolerance, &right, &counts, error));
        /* The poison alternates, so outputs with unwritten elements have another hash anyway. */
        if (gs_check_run_failed(trial) || counts.unwritten) return GS_OK;
        GS_TRY(gs_check_run_output_hash(trial, &hash[i], error));
        if (right || (i > 0 && hash[i] != hash[0] && trial->contender->bitwise)) {
            gs_check_run_blame(trial, GS_VERDICT_REPEAT, 7, "the same launch gives different results: %s", where);
            return GS_OK;
        }
    }
    return GS_OK;
}

/* Integers were wrong: is it the structure, the accumulator or the inputs? */
static gs_status diagnose_exact(gs_check_run *trial, const char *where, gs_error *error)
{
    bool right;
    gs_check_counts counts;
    GS_TRY(with_data(trial, GS_VALUES_QUIET, &right, &counts, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    if (!right) {
        GS_TRY(with_data(trial, GS_VALUES_INDEX, &right, &counts, error));
        if (gs_check_run_failed(trial)) return GS_OK;
        if (!right) return gs_check_run_blame_index(trial, &counts, where, error);
        gs_check_run_blame(trial, GS_VERDICT_EXACT, 1, "%s; single products are right, sums are not: look at the loop over K and at what adds its parts", where);
        return GS_OK;
    }
    gs_data_plan plan;
    if (gs_data_plan_make(&trial->problem, GS_VALUES_LOUD, &plan)) {
        GS_TRY(with_data(trial, GS_VALUES_LOUD, &right, &counts, error));
        if (gs_check_run_failed(trial)) return GS_OK;
        if (!right) {
            gs_check_run_blame(trial, GS_VERDICT_ACCUMULATOR, 1, "sums beyond 2048 lose bits, small ones are right: %s", where);
            return GS_OK;
        }
    }
    gs_check_run_blame(trial, GS_VERDICT_EXACT, 1,
                       "%s; right for inputs of four bits: inputs are rounded to fewer bits than they have", where);
    return GS_OK;
}

/* The verdict for a result that is wrong under every condition. */
static void blame_plain(gs_check_run *trial, int part, const char *where)
{
    static const char *const look[6] = {
        "", "", ": look at partial sums, which lose a small remainder or overflow", ": look at which row and column each element's operands come from",
        ": look at precision, of partial sums and of the last rounding", ": look at what is read and written beyond the last full tile",
    };
    if (trial->kind == GS_VALUES_SPECIAL)
        gs_check_run_blame(trial, GS_VERDICT_SPECIAL, part, "inf or NaN in the inputs: %s: look at what drops NaN or clamps inf, and at zeros, 0 x inf is NaN", where);
    else if (trial->far)
        gs_check_run_blame(trial, of_part[part], part, "%s; alpha is %.3g, and products of A and B are about 2^%d times as large: look at alpha, and at what small or large sums become", where,
                           (double)trial->problem.alpha, trial->far);
    else if (part == 5 && (trial->problem.alpha != 1 || trial->problem.beta != 0))
        gs_check_run_blame(trial, of_part[part], part, "%s: look at alpha, beta and C, and at what is read and written beyond the last full tile", where);
    else gs_check_run_blame(trial, of_part[part], part, "%s%s", where, look[part]);
}

/* "bias+gelu", as in the problem's text. */
static const char *epilogue_text(const gs_problem *p, char text[GS_PROBLEM_TEXT])
{
    gs_problem_format(p, text);
    const char *const found = strstr(text, ":ep=");
    return found ? found + 4 : "none";
}

/* Compares the last result with other epilogues. If none of them fits, the sums may be wrong as well. */
static gs_status diagnose_epilogue(gs_check_run *trial, int part, double tolerance, const char *where, gs_error *error)
{
    const gs_problem asked = trial->problem;
    char text[GS_PROBLEM_TEXT], other[GS_PROBLEM_TEXT];
    const char *const wanted = epilogue_text(&asked, text), *right = NULL;
    const int kinds = gs_is_gradient(asked.activation) ? GS_DSILU + 1 : GS_SILU + 1;   /* aux holds something for a gradient only */
    bool exchanged = false;
    const int others = (asked.gate ? 8 : 2) * kinds;
    for (int i = 0; i < (asked.scales ? 4 : 1) * others && !right; i++) {
        gs_check_counts counts;
        if (i % 2 && !gs_adds_bias(&asked)) continue;
        if (asked.scales && (asked.scales & (uint32_t)(i / others))) continue;
        if (asked.scales) trial->problem.scales = (asked.scales & ~(uint32_t)(i / others)) | WITHOUT_SCALES;
        trial->problem.activation = (gs_activation)(i / 2 % kinds);
        trial->problem.aux = 0;
        trial->problem.bias = i % 2 ? GS_BIAS_NONE : asked.bias;
        const int order = asked.gate ? i / (2 * kinds) % 4 : 0;   /* of gate and up: as asked, exchanged, the other storage order, that exchanged */
        if (order & 2) trial->problem.gate = GS_GATE_STACKED + GS_GATE_INTERLEAVED - asked.gate;
        const gs_problem tried = trial->problem;
        exchanged = order & 1;
        if (exchanged) trial->problem.gate |= GS_GATE_EXCHANGED;
        const gs_status status = gs_check_run_compare(trial, tolerance, &counts, error);
        if (counts.mismatches == 0) right = epilogue_text(&tried, other);
        trial->problem = asked;
        GS_TRY(status);
    }
    if (right && exchanged)
        gs_check_run_blame(trial, of_part[part], part, "%s; right for the epilogue %s with gate and up exchanged, instead of %s", where, right, wanted);
    else if (right) gs_check_run_blame(trial, of_part[part], part, "%s; right for the epilogue %s instead of %s", where, right, wanted);
    else gs_check_run_blame(trial, of_part[part], part, "%s: look at the epilogue, %s, and without it at the sums", where, wanted);
    return GS_OK;
}

gs_status gs_check_run_diagnose(gs_check_run *trial, int part, double tolerance, const gs_check_counts *counts, gs_error *error)
{
    char where[GS_WHERE];
    trial->explains = true;
    GS_TRY(gs_check_run_describe(trial, counts, where, error));
    if (counts->unwritten && trial->right) {
        gs_check_run_blame(trial, GS_VERDICT_STATE, 6, "an earlier launch was right, this one left %llu elements unwritten; %s",
                           (unsigned long long)counts->unwritten, where);
        return GS_OK;
    }
    if (counts->unwritten) {
        gs_check_run_blame(trial, GS_VERDICT_UNWRITTEN, part, "%llu elements never written; %s: look at the grid and at the predicate of the store",
                           (unsigned long long)counts->unwritten, where);
        return GS_OK;
    }
    const bool rounded_down = tolerance == 0 && counts->truncated == counts->mismatches && counts->mismatches >= LEAN;
    GS_TRY(diagnose_memory(trial, tolerance, where, error));
    if (!gs_check_run_failed(trial)) GS_TRY(diagnose_chance(trial, tolerance, where, error));
    if (!gs_check_run_failed(trial)) GS_TRY(diagnose_poked(trial, part, tolerance, where, error));
    if (!gs_check_run_failed(trial)) GS_TRY(diagnose_c(trial, part, tolerance, where, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    if (trial->kind == GS_VALUES_RANGE && !trial->problem.activation && !trial->problem.scales) gs_check_run_blame_range(trial, part, counts, where);
    else if (rounded_down)
        gs_check_run_blame(trial, GS_VERDICT_BIAS, part,
                       "wrong results are all one step towards zero: truncated, not rounded to nearest; %s", where);
    else if (trial->of_sums)
        gs_check_run_blame(trial, of_part[part], part, "%s: look at what adds up D's columns, before they are rounded, and at which rows it has", where);
    else if (trial->of_aux)
        gs_check_run_blame(trial, of_part[part], part, "%s: look at what is written beside D, alpha A B + beta C + bias before the activation, and where", where);
    else if (gs_adds_bias(&trial->problem) || trial->problem.activation || trial->problem.scales) return diagnose_epilogue(trial, part, tolerance, where, error);
    else if (part == 1) return diagnose_exact(trial, where, error);
    else blame_plain(trial, part, where);
    return GS_OK;
}

gs_status gs_check_run_judge(gs_check_run *trial, int part, double tolerance, gs_error *error)
{
    gs_check_counts counts;
    GS_TRY(gs_check_run_launch(trial, false, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    GS_TRY(gs_check_run_compare(trial, tolerance, &counts, error));
    if (counts.mismatches) return gs_check_run_diagnose(trial, part, tolerance, &counts, error);
    trial->right = true;
    return GS_OK;
}
