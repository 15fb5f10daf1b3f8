/* SPDX-License-Identifier: MIT
 * gs_verify: the parts in order, the cheap and telling ones first; the first failure is the verdict. */
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "verify/check_run.h"

#define FEW_LINES 4   /* rows or columns of D: with fewer, an infinity and a NaN leave no element to judge */
#define STALE_TOLERANCE 4   /* for normal data that are judged before the yardstick's errors are known */

/* A launch as in timing: nothing is poisoned, outputs and workspace hold what an earlier launch left. A wrong result is tried again over poison. since: what changed, for the
 * reason. */
static gs_status launch_over(gs_check_run *trial, int part, double tolerance, const char *since, gs_error *error)
{
    gs_check_counts stale, counts;
    GS_TRY(gs_check_run_launch_stale(trial, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    GS_TRY(gs_check_run_compare(trial, tolerance, &stale, error));
    if (!stale.mismatches) return GS_OK;
    GS_TRY(gs_check_run_launch(trial, false, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    GS_TRY(gs_check_run_compare(trial, tolerance, &counts, error));
    if (counts.mismatches) return gs_check_run_diagnose(trial, part, tolerance, &counts, error);
    gs_check_run_blame(trial, GS_VERDICT_STATE, 6, "%llu elements are wrong over what its launch before left in output and workspace, %s",
                       (unsigned long long)stale.mismatches, since);
    return GS_OK;
}

/* Changes one element of A and one of B, so that a contender that takes its old output for the new result is wrong. */
static gs_status stale_launch(gs_check_run *trial, gs_error *error)
{
    if (trial->problem.m == 0 || trial->problem.n == 0 || trial->problem.k == 0) return GS_OK;
    GS_TRY(gs_check_run_change(trial, error));
    return launch_over(trial, 1, 0, "after one element of A and one of B changed", error);
}

/* A launch over the right outputs, changed a little: detects a contender that keeps output that is nearly right, or behaves differently over right output. */
static gs_status over_nearly_right(gs_check_run *trial, double tolerance, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    if (p->m == 0 || p->n == 0) return GS_OK;
    for (int i = 0; i < GS_OPERANDS; i++)
        if (gs_is_written(p, GS_OPERAND_LETTERS[i])) GS_TRY(gs_check_change(trial->verifier, p, GS_OPERAND_LETTERS[i], trial->operand[i].at, trial->verifier->queue, error));
    return launch_over(trial, 4, tolerance, "every second element of its outputs a little changed", error);
}

/* A launch over old outputs after all operands have changed: copies of groups, a bias or aux in the workspace must not be used again. */
static gs_status stale_data(gs_check_run *trial, int part, int kind, double tolerance, gs_error *error)
{
    GS_TRY(gs_check_run_data(trial, kind, -1, error));
    return launch_over(trial, part, tolerance, "from other data", error);
}

static gs_status exact_launch(gs_check_run *trial, int part, gs_error *error) { return gs_check_run_judge(trial, part, gs_exact_tolerance(&trial->problem), error); }

/* A launch with C and D the same matrix. D holds C's elements then, or poison where beta is 0. A wrong result is tried again with a separate C, to tell the cause. */
static gs_status in_place_launch(gs_check_run *trial, int part, gs_error *error)
{
    gs_check_counts counts;
    trial->in_place = true;
    gs_status status = gs_check_run_launch(trial, false, error);
    trial->in_place = false;
    if (status != GS_OK || gs_check_run_failed(trial)) return status;
    GS_TRY(gs_check_run_compare(trial, gs_exact_tolerance(&trial->problem), &counts, error));
    trial->right |= !counts.mismatches;
    if (!counts.mismatches) return GS_OK;
    GS_TRY(exact_launch(trial, part, error));
    if (!gs_check_run_failed(trial))
        gs_check_run_blame(trial, GS_VERDICT_EXACT, part, "%llu elements are wrong where C and D are the same matrix: look at what reads C after D was written there",
                           (unsigned long long)counts.mismatches);
    return GS_OK;
}

/* Launches with C and D the same matrix or not, by the seed: so they are also the same with NaN, large numbers and less aligned pointers. */
static gs_status either_launch(gs_check_run *trial, int part, uint64_t bits, gs_error *error)
{
    const bool there = trial->once && gs_check_run_is_aligned_in_place(trial) && (trial->problem.beta == 0 || gs_check_run_may_be_in_place(trial)) && gs_mix(trial->seed + bits) & 1;
    return there ? in_place_launch(trial, part, error) : exact_launch(trial, part, error);
}

/* Data of the second launch of an exact part: in parts 1 and 2 special values are put into the present data; part 3 gets data over the whole range of the types. */
static gs_status second_data(gs_check_run *trial, int part, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    gs_data_plan plan;
    const bool empty = p->m == 0 || p->n == 0 || p->k == 0 || p->alpha == 0;
    if (part != 3) return empty ? GS_OK : gs_check_run_poke(trial, part == 2, error);
    return gs_check_run_data(trial, !empty && gs_data_plan_make(p, GS_VALUES_RANGE, &plan) ? GS_VALUES_RANGE : GS_VALUES_INDEX, -1, error);
}

/* The data of the launch before at addresses aligned no better than the contender demands. The well aligned ones, which timing uses, are verified by the other launches. */
static gs_status least_aligned_launch(gs_check_run *trial, int part, gs_error *error)
{
    GS_TRY(gs_check_run_move(trial, true, error));
    GS_TRY(gs_check_run_refill(trial, error));
    GS_TRY(either_launch(trial, part, 0x0fc19dc6u, error));
    return gs_check_run_move(trial, false, error);
}

/* Changes beta in device memory without preparing the contender again. */
static gs_status put_beta(gs_check_run *trial, float beta, gs_error *error)
{
    trial->asked.beta = trial->problem.beta = beta;
    return gs_operand_put_scalars(trial->verifier->device, &trial->asked, !trial->aligned, trial->scalars, error);
}

/* Second launch of part 2: makes sums of many products large or small, where possible, and alpha the inverse, so that the reference stays the same. */
static gs_status move_far(gs_check_run *trial, gs_error *error)
{
    const uint64_t bits = gs_mix(trial->seed + 0x2748774cu);
    const bool other = trial->lift && trial->problem.acc == GS_F16;   /* f16 sums: where results are lifted, products move the other way */
    const int far = gs_data_far(&trial->problem, other ? trial->lift < 0 : bits & 1, bits);
    if (!trial->once || trial->near || trial->kind != GS_VALUES_CANCEL || trial->problem.alpha == 0 || !far) return GS_OK;
    GS_TRY(gs_check_run_far(trial, far, error));
    return gs_check_run_failed(trial) ? GS_OK : gs_check_run_refill(trial, error);
}

/* Part 2: makes results large or small as well, by the seed, where possible. */
static void lift_results(gs_check_run *trial, int kind)
{
    const uint64_t bits = gs_mix(trial->seed + 0x1e376c08u);
    if (trial->once && !trial->near && kind == GS_VALUES_CANCEL && trial->problem.alpha != 0 && gs_data_lifts(&trial->problem))
        gs_check_run_lift(trial, gs_data_far(&trial->problem, bits & 1, bits));
}

/* A launch in which no group has a row, as when all tokens have gone to other devices. */
static gs_status no_rows_launch(gs_check_run *trial, int part, gs_error *error)
{
    if (!gs_has_offsets(&trial->problem)) return GS_OK;
    trial->no_rows = true;
    const gs_status status = gs_check_run_data(trial, GS_VALUES_INDEX, -1, error);
    trial->no_rows = false;
    return status == GS_OK ? exact_launch(trial, part, error) : status;
}

/* Parts 1 to 3: one kind of data, compared bit for bit, over both poisons. Part 3 begins with a launch over the outputs of part 1. */
static gs_status exact_part(gs_check_run *trial, int part, int kind, gs_error *error)
{
    gs_data_plan plan;
    const bool made = gs_data_plan_make(&trial->problem, kind, &plan);   /* otherwise no such data are exact for this accumulator and K */
    if (!made) return GS_OK;
    const bool over = part == 3 && trial->launches > 0 && (trial->parts & GS_PART_MEMORY);
    const float beta = trial->asked.beta;
    if (part == 2) lift_results(trial, kind);
    const bool idle = part == 3 && trial->scalars && trial->once && beta != 0;   /* a call may find a beta of 0 there */
    if (idle) GS_TRY(put_beta(trial, 0, error));
    if (!over) GS_TRY(gs_check_run_data(trial, kind, -1, error));
    GS_TRY(over ? stale_data(trial, part, kind, 0, error) : exact_launch(trial, part, error));
    if (idle && !gs_check_run_failed(trial)) {
        GS_TRY(put_beta(trial, -0.0f, error));
        GS_TRY(exact_launch(trial, part, error));
    }
    if (!gs_check_run_failed(trial) && part == 1 && (trial->parts & GS_PART_MEMORY)) GS_TRY(stale_launch(trial, error));
    if (!gs_check_run_failed(trial) && part == 1 && gs_check_run_may_be_in_place(trial)) GS_TRY(in_place_launch(trial, part, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    if (idle) GS_TRY(put_beta(trial, beta, error));
    if (part == 2) GS_TRY(move_far(trial, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    const gs_problem *const p = &trial->problem;
    const bool alone = trial->far && GS_MIN(p->m * p->batch, p->n) < FEW_LINES;
    trial->in_order = trial->packed = part == 3;
    if (!alone) GS_TRY(second_data(trial, part, error));
    GS_TRY(either_launch(trial, part, 0x240ca1ccu + (uint64_t)part, error));
    if (trial->far && !gs_check_run_failed(trial)) GS_TRY(gs_check_run_far(trial, trial->lift, error));
    if (!gs_check_run_failed(trial)) gs_check_run_lift(trial, 0);
    if (part == 1 && !gs_check_run_failed(trial)) GS_TRY(gs_check_run_few(trial, part, kind, gs_exact_tolerance(&trial->problem), error));
    if (part == 3 && !gs_check_run_failed(trial)) GS_TRY(least_aligned_launch(trial, part, error));
    trial->in_order = false;
    return part == 3 && !gs_check_run_failed(trial) ? no_rows_launch(trial, part, error) : GS_OK;
}

/* Part 3 with alpha and beta in device memory: they change without another prepare, as they may between calls. */
static gs_status moved_scalars_part(gs_check_run *trial, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    const float alpha = trial->asked.alpha;
    trial->asked.alpha = trial->problem.alpha = alpha == -1.5f ? 2.5f : -1.5f;
    GS_TRY(gs_operand_put_scalars(device, &trial->asked, !trial->aligned, trial->scalars, error));
    GS_TRY(exact_part(trial, 3, GS_VALUES_INDEX, error));
    trial->asked.alpha = trial->problem.alpha = alpha;
    return gs_operand_put_scalars(device, &trial->asked, !trial->aligned, trial->scalars, error);
}

/* Other scalars that a call may have. A kernel of ours or a user's gets scalars that 16 bits cannot hold, an alpha of the other sign and a beta of either. With scales alpha is
 * so large that some scales are far below 1 and, if rows and columns have scales, others far above. Libraries and f16 sums get scalars that leave results exact. */
static gs_problem with_other_scalars(const gs_check_run *trial, const gs_problem *asked)
{
    const uint64_t bits = gs_mix(trial->seed + 0x550c7dc3u);
    gs_problem other = *asked;
    if (asked->acc == GS_F16 || !trial->once) {
        other.alpha = asked->alpha == -1.5f ? 2.5f : -1.5f;
        if (asked->beta != 0) other.beta = asked->beta == 0.5f ? -2 : 0.5f;
        return other;
    }
    other.alpha = copysignf(gs_scalar_of_many_bits(bits), -asked->alpha);
    if (asked->beta != 0) other.beta = copysignf(gs_scalar_of_many_bits(bits >> 20), bits >> 60 & 1 ? asked->beta : -asked->beta);
    if (asked->scales) other.alpha = ldexpf(other.alpha, 26 + (int)gs_pick_below(gs_mix(bits), 64));
    return other;
}

/* Part 2 once more, with results of the usual size. */
static gs_status without_lift(gs_check_run *trial, const gs_problem *problem, gs_error *error)
{
    gs_check_run_lift(trial, 0);
    trial->near = true;
    *trial->verdict = (gs_verdict){.code = GS_VERDICT_PASS, .row = -1, .col = -1};
    GS_TRY(gs_check_run_prepare(trial, problem, error));
    return gs_check_run_failed(trial) ? GS_OK : exact_part(trial, 2, GS_VALUES_CANCEL, error);
}

/* Part 2, with other scalars than the problem's, because edge problems test scalars at small sizes only. Where CANCEL data are not exact with these, part 1's integers are used.
 * A contender that fails is tried again with the problem's own scalars, to tell whether the scalars are the cause. */
static gs_status cancellation_part(gs_check_run *trial, gs_error *error)
{
    gs_data_plan plan;
    const gs_problem asked = trial->asked;
    const gs_problem other = with_other_scalars(trial, &asked);
    const bool cancels = gs_data_plan_make(&other, GS_VALUES_CANCEL, &plan);
    if (asked.m == 0 || asked.n == 0 || asked.k == 0 || (!cancels && !gs_data_plan_make(&other, GS_VALUES_INTEGER, &plan))) return exact_part(trial, 2, GS_VALUES_CANCEL, error);

    GS_TRY(gs_check_run_prepare(trial, &other, error));
    if (!gs_check_run_failed(trial)) GS_TRY(exact_part(trial, 2, cancels ? GS_VALUES_CANCEL : GS_VALUES_INTEGER, error));
    gs_verdict found = *trial->verdict;
    if (trial->lift && gs_verdict_of_results(found.code)) {
        GS_TRY(without_lift(trial, &other, error));
        if (!gs_check_run_failed(trial)) {   /* the size of the results was the cause */
            *trial->verdict = found;
            return GS_OK;
        }
        found = *trial->verdict;
    }
    const bool wrong = gs_verdict_of_results(found.code);
    trial->near = wrong && !trial->far;   /* it failed with unscaled products: the next run, with its own scalars, does not scale them either */
    gs_check_run_lift(trial, 0);
    if (gs_check_run_failed(trial) && !wrong) return GS_OK;
    *trial->verdict = (gs_verdict){.code = GS_VERDICT_PASS, .row = -1, .col = -1};
    GS_TRY(gs_check_run_prepare(trial, &asked, error));
    if (gs_check_run_failed(trial) || (cancels && !wrong)) return GS_OK;
    GS_TRY(exact_part(trial, 2, GS_VALUES_CANCEL, error));
    if (gs_check_run_failed(trial) || !wrong) return GS_OK;
    *trial->verdict = found;
    char scales[64] = "";
    if (gs_scale_shift(&other)) snprintf(scales, sizeof scales, " and scales the other way, of about 2^%d together", -gs_scale_shift(&other));
    gs_check_run_blame(trial, GS_VERDICT_EDGE, 5, "wrong with alpha %.9g, beta %.9g%s, right with alpha %g, beta %g at the same size: a call may bring any, look at p.alpha and p.beta%s",
                       (double)other.alpha, (double)other.beta, scales, (double)asked.alpha, (double)asked.beta, *scales ? ", and at what small or large scales become" : "");
    return GS_OK;
}

/* Measures the yardstick's errors on the data in place. *measured stays false when it cannot compute the problem. */
static gs_status measure_yardstick(gs_check_run *trial, gs_contender *yardstick, gs_compare *compare, bool *measured, gs_error *error)
{
    *measured = false;
    gs_watch_pause(&trial->watch, true);
    gs_error why = {0};
    gs_status status = yardstick->prepare(yardstick, &trial->asked, &why);
    if (status == GS_OK) status = gs_check_run_launch_other(trial, yardstick, &why);
    gs_watch_pause(&trial->watch, false);
    if (status == GS_ERROR_FAULT) return gs_fail(error, status, "yardstick", "%s faulted: %.300s", yardstick->name, why.text);
    if (status != GS_OK) return GS_OK;
    gs_check_counts counts;
    const bool once = trial->once;
    trial->once = false;   /* gs_check_counts.worst is not counted with `once` */
    status = gs_check_run_compare(trial, 1, &counts, error);
    trial->once = once;
    if (status != GS_OK) return status;
    *measured = counts.unwritten == 0 && counts.nans == 0;
    const gs_args args = gs_check_run_args(trial);
    if (trial->of_aux || trial->of_sums) return GS_OK;   /* there is no yardstick for either */
    return gs_check_summary(trial->verifier, &trial->problem, &counts, &args, trial->reference, compare, error);
}

static gs_status judge_normal(gs_check_run *trial, const gs_compare *yardstick, gs_error *error)
{
    /* A single element may be as wrong as the yardstick's worst, or as the error model allows. */
    const double tolerance = yardstick ? fmax(1, 1.5 * yardstick->worst) : 1;
    gs_check_counts counts;
    GS_TRY(gs_check_run_compare(trial, tolerance, &counts, error));
    if (counts.mismatches) return gs_check_run_diagnose(trial, 4, tolerance, &counts, error);
    gs_compare compare;
    const gs_args args = gs_check_run_args(trial);
    GS_TRY(gs_check_summary(trial->verifier, &trial->problem, &counts, &args, trial->reference, &compare, error));
    const double rms = counts.finite ? sqrt(counts.reference2 / (double)counts.finite) : 0;
    const double limit = gs_frobenius_limit(&trial->problem, yardstick, rms, (double)counts.finite), lean = gs_bias_limit(&trial->problem, yardstick, rms, (double)counts.finite);
    trial->verdict->error = compare.frobenius;
    trial->verdict->limit = limit;
    if (compare.frobenius > limit)
        gs_check_run_blame(trial, GS_VERDICT_TOLERANCE, 4, "error of %.3g on normal data, at most %.3g is allowed%s",
                       compare.frobenius, limit, yardstick ? " (1.5 times the library's)" : "");
    else if (fabs(compare.bias) > lean)
        gs_check_run_blame(trial, GS_VERDICT_BIAS, 4, "errors lean to one side by %.2f of their size, at most %.2f is allowed",
                       compare.bias, lean);
    return GS_OK;
}

/* A launch on the data in place, judged like normal data. */
static gs_status normal_launch(gs_check_run *trial, const gs_compare *yardstick, gs_error *error)
{
    return gs_check_run_judge(trial, 4, yardstick ? fmax(1, 1.5 * yardstick->worst) : 1, error);
}

/* Normal data with groups that lie as in timing, which no other launch of normal data has. */
static gs_status as_timed(gs_check_run *trial, const gs_compare *yardstick, gs_error *error)
{
    GS_TRY(gs_check_run_data(trial, GS_VALUES_NORMAL, -1, error));
    return normal_launch(trial, yardstick, error);
}

/* Replaces the last repeats: the same data with C and D the same matrix, and at addresses aligned no better than the contender demands. Their bits may differ from the repeats'. */
static gs_status other_places(gs_check_run *trial, const gs_compare *yardstick, gs_error *error)
{
    trial->in_place = trial->once && gs_check_run_may_be_in_place(trial);
    if (trial->in_place) GS_TRY(normal_launch(trial, yardstick, error));
    trial->in_place = false;
    if (gs_check_run_failed(trial)) return GS_OK;
    GS_TRY(gs_check_run_move(trial, true, error));
    GS_TRY(gs_check_run_refill(trial, error));
    GS_TRY(normal_launch(trial, yardstick, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    trial->in_order = true;
    trial->packed = false;
    GS_TRY(gs_check_run_move(trial, false, error));
    return gs_has_offsets(&trial->problem) ? as_timed(trial, yardstick, error) : gs_check_run_refill(trial, error);
}

/* Replaces the last repeat: normal data with special values put in, otherwise the same as timing's. */
static gs_status poked_launch(gs_check_run *trial, const gs_compare *yardstick, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    if (p->m == 0 || p->n == 0 || p->k == 0 || p->alpha == 0) return GS_OK;
    GS_TRY(gs_check_run_poke(trial, trial->seed & 1 && p->m > 1, error));   /* with a single row, a NaN in A would hide what B has */
    return normal_launch(trial, yardstick, error);
}

/* Normal data whose lines have very different sizes, with large elements here and there, where D is alpha A B alone: errors of large lines must not reach small ones. */
static gs_status uneven_launch(gs_check_run *trial, const gs_compare *yardstick, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    if (p->m == 0 || p->n == 0 || p->k == 0 || p->alpha == 0 || p->acc != GS_F32 || p->activation || p->gate || p->bias || p->aux || p->scales) return GS_OK;
    const bool half = p->in == GS_F16;
    const double largest = fabs((double)p->alpha) * 256 * sqrt((double)p->k / 32 + 4);   /* results of lines of the usual size */
    const int low = half ? -8 : -10, high = p->out == GS_F16 ? (int)fmin(fmax(floor(log2(60000 / largest) / 2), 0), 8) : half ? 8 : 10;
    trial->uneven = (gs_uneven){gs_mix(trial->seed + 0x3c6ef372u), low, high - low + 1, half ? 5 : 8};
    GS_TRY(gs_check_run_data(trial, GS_VALUES_NORMAL, p->beta != 0 ? GS_VALUES_ZERO : -1, error));
    GS_TRY(normal_launch(trial, yardstick, error));
    trial->uneven = (gs_uneven){0};
    return GS_OK;
}

/* Parts 4 and 7 share their data: errors are judged on the first launch over poison, and repeats are compared with it. Before these comes a launch over what other data left in
 * the outputs: part 1 tests this with integers only, and a contender might look at the data first. */
static gs_status normal_part(gs_check_run *trial, const gs_verify_options *options, gs_error *error)
{
    const int repeats = !(trial->parts & GS_PART_REPEAT) ? 1 : options->repeats > 0 ? options->repeats : GS_VERIFY_REPEATS;
    const bool over = repeats > 1 && trial->launches > 0 && (trial->parts & GS_PART_MEMORY);
    uint64_t first = 0;
    GS_TRY(gs_check_run_data(trial, GS_VALUES_NORMAL, -1, error));
    if (over) {
        GS_TRY(gs_check_run_age(trial, error));
        GS_TRY(launch_over(trial, 4, STALE_TOLERANCE, "from other data", error));
        if (gs_check_run_failed(trial)) return GS_OK;
        GS_TRY(gs_check_run_output_hash(trial, &first, error));
    }
    gs_compare theirs;
    bool measured = false;
    if (options->yardstick && (trial->parts & GS_PART_NORMAL))
        GS_TRY(measure_yardstick(trial, options->yardstick, &theirs, &measured, error));
    const bool poked = repeats - over > 2 && trial->parts & GS_PART_NORMAL;
    const int places = poked && repeats >= GS_VERIFY_REPEATS ? 1 + (trial->once && gs_check_run_may_be_in_place(trial)) : 0;
    for (int i = over; i < repeats - poked - places; i++) {
        const bool judged = i == over || !trial->contender->bitwise;
        uint64_t hash;
        GS_TRY(gs_check_run_launch(trial, false, error));
        if (gs_check_run_failed(trial)) return GS_OK;
        GS_TRY(gs_check_run_output_hash(trial, &hash, error));
        if (judged && trial->parts & GS_PART_NORMAL) GS_TRY(judge_normal(trial, measured ? &theirs : NULL, error));
        if (gs_check_run_failed(trial)) return GS_OK;
        if (judged) trial->right = true;
        if (i == 0) first = hash;
        if (hash == first || !trial->contender->bitwise) continue;
        gs_check_run_blame(trial, GS_VERDICT_REPEAT, 7, "launch %d of the same data gives other bits than the first", i + 1);
        return GS_OK;
    }
    if (poked && trial->once) GS_TRY(over_nearly_right(trial, measured ? fmax(1, 1.5 * theirs.worst) : 1, error));
    if (places && !gs_check_run_failed(trial)) GS_TRY(other_places(trial, measured ? &theirs : NULL, error));
    if (poked && !gs_check_run_failed(trial)) GS_TRY(poked_launch(trial, measured ? &theirs : NULL, error));
    trial->in_order = false;
    if (poked && !gs_check_run_failed(trial)) GS_TRY(uneven_launch(trial, measured ? &theirs : NULL, error));
    return GS_OK;
}

/* For scalars of many bits, which parts 1 to 3 replaced: their range data, special values and old outputs once more with the real scalars, bit for bit where rounding leaves one
 * right answer, else within the tolerance. */
static gs_status scalar_part(gs_check_run *trial, gs_error *error)
{
    static const struct { int kind; double tolerance; } data[] = {{GS_VALUES_RANGE, 0}, {GS_VALUES_SPECIAL, 1}};
    const gs_problem *const p = &trial->problem;
    if (p->m == 0 || p->n == 0 || p->k == 0) return GS_OK;
    for (size_t i = 0; i < GS_COUNT(data); i++) {
        gs_data_plan plan;
        if (!gs_data_plan_make(p, data[i].kind, &plan)) continue;
        GS_TRY(gs_check_run_data(trial, data[i].kind, -1, error));
        GS_TRY(gs_check_run_judge(trial, 4, data[i].tolerance, error));
        if (gs_check_run_failed(trial)) return GS_OK;
    }
    return stale_data(trial, 4, GS_VALUES_INTEGER, gs_exact_tolerance(p), error);
}

/* All parts that use the requested problem itself. */
static gs_status main_parts(gs_check_run *trial, const gs_problem *problem, const gs_verify_options *options, gs_error *error)
{
    static const struct { uint32_t bit; int part, kind; } exact[] = {
        {GS_PART_EXACT, 1, GS_VALUES_INTEGER}, {GS_PART_INDEX, 3, GS_VALUES_INDEX}, {GS_PART_CANCELLATION, 2, GS_VALUES_CANCEL},
    };
    const gs_problem first = gs_problem_exact(problem);
    GS_TRY(gs_check_run_prepare(trial, &first, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    trial->once = gs_contender_loaded(trial->contender) != NULL;
    GS_TRY(gs_check_run_alloc(trial, true, false, error));
    /* If part 6 alone is chosen, memory is checked during part 1's launches. */
    for (size_t i = 0; i < GS_COUNT(exact); i++) {
        if (!(trial->parts & exact[i].bit) && !(i == 0 && trial->parts == GS_PART_MEMORY)) continue;
        if (exact[i].part == 3 && trial->scalars && problem->k > 0) GS_TRY(moved_scalars_part(trial, error));
        else GS_TRY(exact[i].part == 2 ? cancellation_part(trial, error) : exact_part(trial, exact[i].part, exact[i].kind, error));
        if (gs_check_run_failed(trial)) return GS_OK;
    }
    if (!(trial->parts & (GS_PART_NORMAL | GS_PART_REPEAT))) return GS_OK;
    const bool other = !gs_scalars_exact(problem);
    if (other) GS_TRY(gs_check_run_prepare(trial, problem, error));
    if (!gs_check_run_failed(trial)) GS_TRY(normal_part(trial, options, error));
    return other && !gs_check_run_failed(trial) && (trial->parts & GS_PART_NORMAL) ? scalar_part(trial, error) : GS_OK;
}

static gs_status all_parts(gs_check_run *trial, const gs_problem *problem, const gs_verify_options *options, gs_error *error)
{
    const gs_status status = main_parts(trial, problem, options, error);
    gs_check_run_free(trial);
    if (status != GS_OK || gs_check_run_failed(trial)) return status;
    const double frobenius = trial->verdict->error, limit = trial->verdict->limit;
    char edges[160] = "";
    if (trial->parts & GS_PART_EDGES) {
        int taken, offered;
        GS_TRY(gs_verify_edges(trial, problem, &taken, &offered, error));
        if (gs_check_run_failed(trial)) return GS_OK;
        if (taken) snprintf(edges, sizeof edges, "; %d of %d edge problems taken", taken, offered);
        else snprintf(edges, sizeof edges, "; none of %d edge problems is supported, so no edge was tested", offered);
    }
    trial->edge = false;
    if (problem->invariant && trial->parts & GS_PART_INVARIANT && !trial->contender->any_order) {
        int sizes;
        GS_TRY(gs_verify_rows(trial, problem, &sizes, error));
        if (gs_check_run_failed(trial)) return GS_OK;
        const size_t length = strlen(edges);
        snprintf(edges + length, sizeof edges - length, "; rows have the same bits in %d sizes", sizes);
    }
    *trial->verdict = (gs_verdict){.code = GS_VERDICT_PASS, .row = -1, .col = -1, .error = frobenius, .limit = limit};
    gs_problem_format(problem, trial->verdict->problem);
    snprintf(trial->verdict->reason, sizeof trial->verdict->reason, "%s%s", trial->parts == GS_PART_ALL ? "every test passed" : "the chosen tests passed", edges);
    return GS_OK;
}

gs_status gs_verify(gs_verifier *verifier, gs_contender *contender, const gs_problem *problem, const gs_verify_options *options, gs_verdict *verdict, gs_error *error)
{
    static const gs_verify_options defaults;
    if (!options) options = &defaults;
    *verdict = (gs_verdict){.code = GS_VERDICT_PASS, .row = -1, .col = -1};
    GS_TRY(gs_problem_check(problem, error));
    if (options->parts & ~(uint32_t)(GS_PART_ALL | GS_EDGES_ONCE))
        return gs_fail(error, GS_ERROR_ARGUMENT, "parts", "0x%x has bits that are no part", options->parts);
    GS_TRY(gs_placed_check(problem, error));
    if (options->repeats < 0) return gs_fail(error, GS_ERROR_ARGUMENT, "repeats", "must not be negative");
    GS_TRY(gs_check_selftest(verifier, error));
    gs_check_run trial = {
        .verifier = verifier, .contender = contender, .verdict = verdict,
        .parts = options->parts ? options->parts : GS_PART_ALL, .seed = options->seed ? options->seed : gs_random_entropy(),
    };
    trial.null_c = trial.seed & 1;
    gs_watch_begin(&trial.watch, verifier);
    gs_status status = all_parts(&trial, problem, options, error);
    gs_watch_end(&trial.watch);
    if (status == GS_ERROR_FAULT && gs_check_run_failed(&trial)) status = GS_OK;   /* the fault is in the verdict already */
    return status;
}
