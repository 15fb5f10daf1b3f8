/* SPDX-License-Identifier: MIT
 * Comparisons for timing. gs_compare_reference runs the self-test first. */
#include "base/error.h"
#include "checks/calls.h"

gs_status gs_compare_sums(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference,
                          double tolerance, gs_compare *out, gs_queue queue, gs_error *error)
{
    gs_check_counts counts;
    GS_TRY(gs_check_compare(verifier, problem, args, reference, tolerance, false, GS_POISON_FIRST, NULL, &counts, queue, error));
    GS_TRY(gs_check_compare_sums(verifier, problem, args, reference, tolerance, false, GS_POISON_FIRST, &counts, queue, error));
    *out = (gs_compare){.mismatches = (int64_t)counts.mismatches, .row = -1, .col = -1};
    return counts.mismatches ? gs_check_summary_of_sums(verifier, problem, counts.first, args, reference, out, error) : GS_OK;
}

gs_status gs_compare_reference(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference,
                               double tolerance, gs_compare *out, gs_queue queue, gs_error *error)
{
    GS_TRY(gs_check_selftest(verifier, error));
    gs_check_counts counts;
    GS_TRY(gs_check_compare(verifier, problem, args, reference, tolerance, false, GS_POISON_FIRST, NULL, &counts, queue, error));
    return gs_check_summary(verifier, problem, &counts, args, reference, out, error);
}
