/* SPDX-License-Identifier: MIT
 * Why a result is wrong. The launch is repeated under other conditions, from the specific to the general: what memory held
 * before, C, chance, rounding, and then with data that only one kind of fault gets wrong. */
#include <stdio.h>

#include "base/error.h"
#include "verify/check_run.h"

#define LEAN 16   /* wrong elements, all to one side, that are no chance */

static const gs_verdict_code of_part[6] = {
    GS_VERDICT_EXACT, GS_VERDICT_EXACT, GS_VERDICT_CANCELLATION, GS_VERDICT_INDEX, GS_VERDICT_TOLERANCE, GS_VERDICT_EDGE,
};

/* First mismatch into the verdict, and into a line. */
static gs_status describe(gs_check_run *trial, const gs_check_counts *counts, char text[128], gs_error *error)
{
    gs_compare compare;
    GS_TRY(gs_check_summary(trial->verifier, &trial->problem, counts, trial->operand[3].at, trial->reference, &compare, error));
    gs_verdict *const verdict = trial->verdict;
    verdict->mismatches = compare.mismatches;
    verdict->row = compare.row;
    verdict->col = compare.col;
    verdict->got = compare.got;
    verdict->want = compare.want;
    const double elements = (double)trial->problem.m * (double)trial->problem.batch * (double)trial->problem.n;
    snprintf(text, 128, "%lld of %.0f elements, first (%lld, %lld): got %.9g, want %.9g", (long long)compare.mismatches, elements,
             (long long)compare.row, (long long)compare.col, compare.got, compare.want);
    return GS_OK;
}

/* Another launch over the same data; *right says whether it was right. Nothing is blamed here but a fault, after which the device
 * is lost. */
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

/* The conditions of memory. */
static gs_status diagnose_memory(gs_check_run *trial, int part, double tolerance, const char *where, gs_error *error)
{
    bool right;
    gs_check_counts counts;
    GS_TRY(try_again(trial, true, tolerance, &right, &counts, error));
    if (right) {
        gs_check_run_blame(trial, GS_VERDICT_STATE, 6,
                       "right only when output and workspace are zero before the launch; otherwise %s", where);
        return GS_OK;
    }
    if (gs_check_run_failed(trial) || trial->problem.beta != 0) return GS_OK;
    GS_TRY(gs_check_run_data(trial, trial->kind, GS_VALUES_ZERO, error));
    GS_TRY(try_again(trial, false, tolerance, &right, &counts, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    if (right) gs_check_run_blame(trial, GS_VERDICT_SPECIAL, part, "reads C although beta is 0: right only when C holds zeros");
    return right ? GS_OK : gs_check_run_data(trial, trial->kind, -1, error);
}

static gs_status diagnose_chance(gs_check_run *trial, double tolerance, const char *where, gs_error *error)
{
    bool right;
    uint64_t hash[3];
    gs_check_counts counts;
    for (int i = 0; i < 3; i++) {
        GS_TRY(try_again(trial, false, tolerance, &right, &counts, error));
        /* The poison alternates: where some of it is left, hashes differ for another reason. */
        if (gs_check_run_failed(trial) || counts.unwritten) return GS_OK;
        GS_TRY(gs_check_run_output_hash(trial, &hash[i], error));
        if (right || (i > 0 && hash[i] != hash[0] && trial->contender->bitwise)) {
            gs_check_run_blame(trial, GS_VERDICT_REPEAT, 7, "the same launch gives different results: %s", where);
            return GS_OK;
        }
    }
    return GS_OK;
}

/* Integers failed: structure, accumulator or inputs? */
static gs_status diagnose_exact(gs_check_run *trial, const char *where, gs_error *error)
{
    bool right;
    gs_check_counts counts;
    GS_TRY(with_data(trial, GS_VALUES_QUIET, &right, &counts, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    if (!right) {
        GS_TRY(with_data(trial, GS_VALUES_INDEX, &right, &counts, error));
        if (gs_check_run_failed(trial)) return GS_OK;
        if (right) gs_check_run_blame(trial, GS_VERDICT_EXACT, 1, "%s; single products are right, sums are not", where);
        else if (counts.zeros == counts.mismatches)
            gs_check_run_blame(trial, GS_VERDICT_EXACT, 1, "%s; terms of the sum are missing", where);
        else gs_check_run_blame(trial, GS_VERDICT_INDEX, 3, "%s; elements show the product of another row or column", where);
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

gs_status gs_check_run_diagnose(gs_check_run *trial, int part, double tolerance, const gs_check_counts *counts, gs_error *error)
{
    char where[128];
    GS_TRY(describe(trial, counts, where, error));
    if (counts->unwritten && trial->right) {
        gs_check_run_blame(trial, GS_VERDICT_STATE, 6, "an earlier launch was right, this one left %llu elements unwritten",
                       (unsigned long long)counts->unwritten);
        return GS_OK;
    }
    if (counts->unwritten) {
        gs_check_run_blame(trial, GS_VERDICT_UNWRITTEN, part, "%llu elements never written; %s",
                       (unsigned long long)counts->unwritten, where);
        return GS_OK;
    }
    const bool rounded_down = tolerance == 0 && counts->truncated == counts->mismatches && counts->mismatches >= LEAN;
    const bool special = part == 5 && trial->kind == GS_VALUES_SPECIAL;
    GS_TRY(diagnose_memory(trial, part, tolerance, where, error));
    if (!gs_check_run_failed(trial)) GS_TRY(diagnose_chance(trial, tolerance, where, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    if (rounded_down)
        gs_check_run_blame(trial, GS_VERDICT_BIAS, part,
                       "wrong results are all one step towards zero: truncated, not rounded to nearest; %s", where);
    else if (special) gs_check_run_blame(trial, GS_VERDICT_SPECIAL, part, "inf or NaN in the inputs: %s", where);
    else if (part == 1) return diagnose_exact(trial, where, error);
    else gs_check_run_blame(trial, of_part[part], part, "%s", where);
    return GS_OK;
}
