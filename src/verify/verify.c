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

#define FEW_LINES 4   /* of D: with fewer an infinity and a NaN would leave nothing to judge */
#define STALE_TOLERANCE 4   /* of normal data that are looked at before the yardstick's are */

/* As in timing: nothing is poisoned, the output and the workspace are those of an earlier launch. since: what has changed. */
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

/* One element of A and one of B are others, so that who finds what it left there, and takes it for this launch's, is wrong. */
static gs_status stale_launch(gs_check_run *trial, gs_error *error)
{
    if (trial->problem.m == 0 || trial->problem.n == 0 || trial->problem.k == 0) return GS_OK;
    GS_TRY(gs_check_run_change(trial, error));
    return launch_over(trial, 1, 0, "after one element of A and one of B changed", error);
}

/* Every second element of an output is changed in one bit, from the last one to the seventh of its fraction; the first rows and matrices, where it is large. */
static gs_status change_a_little(gs_check_run *trial, int output, gs_error *error)
{
    enum { MOST = 4 << 20, MATRICES = 64, BITS = 6 };
    gs_device *const device = trial->verifier->device;
    const gs_placed placed = gs_placed_of(&trial->problem, GS_OPERAND_LETTERS[output]);
    const gs_type type = trial->problem.out;
    const size_t size = gs_type_size(type), pitch = (size_t)placed.ld * size;
    const int64_t rows = GS_MIN((int64_t)placed.rows, GS_MAX(MOST / (int64_t)GS_MAX(pitch, 1u), 1)), highest = (type == GS_F16 ? 10 : type == GS_BF16 ? 7 : 23) - BITS;
    if (rows == 0 || placed.cols == 0) return GS_OK;
    const size_t bytes = (size_t)(rows - 1) * pitch + (size_t)placed.cols * size;
    const int64_t matrices = GS_MIN(GS_MIN((int64_t)placed.matrices, MATRICES), GS_MAX(MOST / (int64_t)bytes, 1));
    unsigned char *const lines = malloc(bytes);
    if (!lines) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %zu bytes of an output", bytes);
    gs_status status = GS_OK;
    for (int64_t matrix = 0; matrix < matrices && status == GS_OK; matrix++) {
        const gs_pointer at = trial->operand[output].at + (gs_pointer)(matrix * placed.stride) * size;
        status = device->ops->copy_out(device, lines, at, bytes, error);
        for (int64_t row = 0; row < rows && status == GS_OK; row++)
            for (int64_t col = row & 1; col < placed.cols; col += 2) {
                const int64_t bit = (row + col / 2) % (highest + 1);
                lines[(size_t)row * pitch + (size_t)col * size + (size_t)bit / 8] ^= (unsigned char)(1 << bit % 8);   /* low bytes come first */
            }
        if (status == GS_OK) status = device->ops->copy_in(device, at, lines, bytes, error);
    }
    free(lines);
    return status;
}

/* Over what the last launch of the same data left, a little changed: who keeps what is nearly right, or does otherwise over what is right, is wrong. */
static gs_status over_nearly_right(gs_check_run *trial, double tolerance, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    if (p->m == 0 || p->n == 0) return GS_OK;
    GS_TRY(change_a_little(trial, 3, error));
    if (p->aux) GS_TRY(change_a_little(trial, 6, error));
    if (p->bias == GS_DBIAS) GS_TRY(change_a_little(trial, 4, error));
    return launch_over(trial, 4, tolerance, "every second element of its outputs a little changed", error);
}

/* All operands are others: of groups, a bias or aux that were copied to the workspace nothing may be left. */
static gs_status stale_data(gs_check_run *trial, int part, int kind, double tolerance, gs_error *error)
{
    GS_TRY(gs_check_run_data(trial, kind, -1, error));
    return launch_over(trial, part, tolerance, "from other data", error);
}

static gs_status exact_launch(gs_check_run *trial, int part, gs_error *error)
{
    const double tolerance = gs_exact_tolerance(&trial->problem);
    gs_check_counts counts;
    GS_TRY(gs_check_run_launch(trial, false, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    GS_TRY(gs_check_run_compare(trial, tolerance, &counts, error));
    if (counts.mismatches) return gs_check_run_diagnose(trial, part, tolerance, &counts, error);
    trial->right = true;
    return GS_OK;
}

/* A launch with C and D the same matrix. D holds C's elements then, or poison where beta is 0. Who is wrong is asked again with a C of its own. */
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

/* The seed says whether C and D are the same matrix: also beside NaN, large numbers, or where pointers are less aligned. */
static gs_status either_launch(gs_check_run *trial, int part, uint64_t bits, gs_error *error)
{
    const bool there = trial->once && gs_check_run_is_aligned_in_place(trial) && (trial->problem.beta == 0 || gs_check_run_may_be_in_place(trial)) && gs_mix(trial->seed + bits) & 1;
    return there ? in_place_launch(trial, part, error) : exact_launch(trial, part, error);
}

/* What the second launch of an exact part has: infinities and NaN somewhere among the integers, or in part 3 the whole range of the types. */
static gs_status second_data(gs_check_run *trial, int part, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    gs_data_plan plan;
    const bool empty = p->m == 0 || p->n == 0 || p->k == 0 || p->alpha == 0;
    if (part != 3) return empty ? GS_OK : gs_check_run_poke(trial, part == 2, error);
    return gs_check_run_data(trial, !empty && gs_data_plan_make(p, GS_VALUES_RANGE, &plan) ? GS_VALUES_RANGE : GS_VALUES_INDEX, -1, error);
}

/* The data of the launch before, where pointers are no better aligned than the contender asks for. Both are looked at: timing has well aligned ones. */
static gs_status least_aligned_launch(gs_check_run *trial, int part, gs_error *error)
{
    GS_TRY(gs_check_run_move(trial, true, error));
    GS_TRY(gs_check_run_refill(trial, error));
    GS_TRY(either_launch(trial, part, 0x0fc19dc6u, error));
    return gs_check_run_move(trial, false, error);
}

/* beta in device memory is another one, and nobody is prepared for it. */
static gs_status put_beta(gs_check_run *trial, float beta, gs_error *error)
{
    trial->asked.beta = trial->problem.beta = beta;
    return gs_operand_put_scalars(trial->verifier->device, &trial->asked, !trial->aligned, trial->scalars, error);
}

/* Sums of many products are large or small in the second launch of part 2, where that can be, beside an alpha that is so the other way: the reference is the same. */
static gs_status move_far(gs_check_run *trial, gs_error *error)
{
    const uint64_t bits = gs_mix(trial->seed + 0x2748774cu);
    const bool other = trial->lift && trial->problem.acc == GS_F16;   /* where results are large, products are small, or the other way round */
    const int far = gs_data_far(&trial->problem, other ? trial->lift < 0 : bits & 1, bits);
    if (!trial->once || trial->near || trial->kind != GS_VALUES_CANCEL || trial->problem.alpha == 0 || !far) return GS_OK;
    GS_TRY(gs_check_run_far(trial, far, error));
    return gs_check_run_failed(trial) ? GS_OK : gs_check_run_refill(trial, error);
}

/* Results of part 2 are large or small as well, as the seed says, where that can be. */
static void lift_results(gs_check_run *trial, int kind)
{
    const uint64_t bits = gs_mix(trial->seed + 0x1e376c08u);
    if (trial->once && !trial->near && kind == GS_VALUES_CANCEL && trial->problem.alpha != 0 && gs_data_lifts(&trial->problem))
        gs_check_run_lift(trial, gs_data_far(&trial->problem, bits & 1, bits));
}

/* Groups of which none has a row, as when all tokens have gone to other devices. */
static gs_status no_rows_launch(gs_check_run *trial, int part, gs_error *error)
{
    if (!gs_has_offsets(&trial->problem)) return GS_OK;
    trial->no_rows = true;
    const gs_status status = gs_check_run_data(trial, GS_VALUES_INDEX, -1, error);
    trial->no_rows = false;
    return status == GS_OK ? exact_launch(trial, part, error) : status;
}

/* Parts 1 to 3: data of a kind, bit for bit, over both poisons; part 3 first over what part 1 left. */
static gs_status exact_part(gs_check_run *trial, int part, int kind, gs_error *error)
{
    gs_data_plan plan;
    const bool made = gs_data_plan_make(&trial->problem, kind, &plan);   /* otherwise no such data are exact for this accumulator and K */
    if (!made) return GS_OK;
    const bool over = part == 3 && trial->launches > 0 && (trial->parts & GS_PART_MEMORY);
    const float beta = trial->asked.beta;
    if (part == 2) lift_results(trial, kind);
    const bool idle = part == 3 && trial->scalars && trial->once && beta != 0;   /* a call may have 0 there */
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
    trial->in_order = part == 3;
    if (!alone) GS_TRY(second_data(trial, part, error));
    GS_TRY(either_launch(trial, part, 0x240ca1ccu + (uint64_t)part, error));
    if (trial->far && !gs_check_run_failed(trial)) GS_TRY(gs_check_run_far(trial, trial->lift, error));
    if (!gs_check_run_failed(trial)) gs_check_run_lift(trial, 0);
    if (part == 3 && !gs_check_run_failed(trial)) GS_TRY(least_aligned_launch(trial, part, error));
    trial->in_order = false;
    return part == 3 && !gs_check_run_failed(trial) ? no_rows_launch(trial, part, error) : GS_OK;
}

/* Part 3 where alpha and beta are in device memory: others stand there, and nobody is prepared for them, as a call may find them. */
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

/* Scalars that a call may bring as well. A kernel, ours or a user's, gets an alpha of the other sign and a beta of either, which no 16 bits hold, and where there are scales an alpha so large that some are far below 1, and, if rows and
 * columns have them, others far above; a library, and sums in f16, such with which results are exact. */
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

/* Part 2 once more, of results that have their usual size. */
static gs_status without_lift(gs_check_run *trial, const gs_problem *problem, gs_error *error)
{
    gs_check_run_lift(trial, 0);
    trial->near = true;
    *trial->verdict = (gs_verdict){.code = GS_VERDICT_PASS, .row = -1, .col = -1};
    GS_TRY(gs_check_run_prepare(trial, problem, error));
    return gs_check_run_failed(trial) ? GS_OK : exact_part(trial, 2, GS_VALUES_CANCEL, error);
}

/* Part 2, with other scalars than the problem's: that edge problems heed theirs says nothing of the size asked for. Who is wrong is asked once
 * more with those of the problem: whether it was the scalars. Where such data are not exact then, integers show it. */
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
        if (!gs_check_run_failed(trial)) {   /* it was the size of the results */
            *trial->verdict = found;
            return GS_OK;
        }
        found = *trial->verdict;
    }
    const bool wrong = gs_verdict_of_results(found.code);
    trial->near = wrong && !trial->far;   /* who was wrong there before is asked no more */
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

/* The yardstick's errors on the data that are in place. *measured stays false when it cannot compute the problem. */
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
    trial->once = false;   /* its worst is wanted */
    status = gs_check_run_compare(trial, 1, &counts, error);
    trial->once = once;
    if (status != GS_OK) return status;
    *measured = counts.unwritten == 0 && counts.nans == 0;
    const gs_args args = gs_check_run_args(trial);
    if (trial->of_aux || trial->of_sums) return GS_OK;   /* a yardstick for neither */
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

/* What is in place, judged as normal data are. */
static gs_status normal_launch(gs_check_run *trial, const gs_compare *yardstick, gs_error *error)
{
    const double tolerance = yardstick ? fmax(1, 1.5 * yardstick->worst) : 1;
    gs_check_counts counts;
    GS_TRY(gs_check_run_launch(trial, false, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    GS_TRY(gs_check_run_compare(trial, tolerance, &counts, error));
    return counts.mismatches ? gs_check_run_diagnose(trial, 4, tolerance, &counts, error) : GS_OK;
}

/* Groups that lie as in timing, which no other launch of normal data has. */
static gs_status as_timed(gs_check_run *trial, const gs_compare *yardstick, gs_error *error)
{
    GS_TRY(gs_check_run_data(trial, GS_VALUES_NORMAL, -1, error));
    return normal_launch(trial, yardstick, error);
}

/* In place of the last repeats: the same data where C is D, and where pointers are no better aligned than the contender asks for. Neither needs have the bits of the others. */
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
    GS_TRY(gs_check_run_move(trial, false, error));
    return gs_has_offsets(&trial->problem) ? as_timed(trial, yardstick, error) : gs_check_run_refill(trial, error);
}

/* Normal data with an infinity and a NaN among them, in place of the last repeat: nothing else tells them from those of timing. */
static gs_status poked_launch(gs_check_run *trial, const gs_compare *yardstick, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    if (p->m == 0 || p->n == 0 || p->k == 0 || p->alpha == 0) return GS_OK;
    GS_TRY(gs_check_run_poke(trial, trial->seed & 1 && p->m > 1, error));   /* in the one row of a matrix a NaN would hide those of B */
    return normal_launch(trial, yardstick, error);
}

/* Parts 4 and 7 share their data: errors are judged on the first launch over poison, repeats are compared with it. One of them comes before, over what other data left in the outputs:
 * what part 1 shows of integers says nothing of who looks at the data first. */
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
    return GS_OK;
}

/* Parts 1 to 3 have other scalars than those asked for, if those have many bits: what they show is shown again with the real ones, as far as rounding
 * leaves one right answer, else within it. */
static gs_status scalar_part(gs_check_run *trial, gs_error *error)
{
    static const struct { int kind; double tolerance; } data[] = {{GS_VALUES_RANGE, 0}, {GS_VALUES_SPECIAL, 1}};
    const gs_problem *const p = &trial->problem;
    if (p->m == 0 || p->n == 0 || p->k == 0) return GS_OK;
    for (size_t i = 0; i < GS_COUNT(data); i++) {
        gs_check_counts counts;
        gs_data_plan plan;
        if (!gs_data_plan_make(p, data[i].kind, &plan)) continue;
        GS_TRY(gs_check_run_data(trial, data[i].kind, -1, error));
        GS_TRY(gs_check_run_launch(trial, false, error));
        if (gs_check_run_failed(trial)) return GS_OK;
        GS_TRY(gs_check_run_compare(trial, data[i].tolerance, &counts, error));
        if (counts.mismatches) return gs_check_run_diagnose(trial, 4, data[i].tolerance, &counts, error);
    }
    return stale_data(trial, 4, GS_VALUES_INTEGER, gs_exact_tolerance(p), error);
}

/* Everything on the problem that was asked for. */
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
    /* Memory alone is looked after during part 1's launches. */
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
    if (options->parts & ~(uint32_t)GS_PART_ALL)
        return gs_fail(error, GS_ERROR_ARGUMENT, "parts", "0x%x has bits that are no part", options->parts);
    GS_TRY(gs_placed_check(problem, error));
    if (options->repeats < 0) return gs_fail(error, GS_ERROR_ARGUMENT, "repeats", "must not be negative");
    GS_TRY(gs_check_selftest(verifier, error));
    gs_check_run trial = {
        .verifier = verifier, .contender = contender, .verdict = verdict,
        .parts = options->parts ? options->parts : GS_PART_ALL, .seed = options->seed ? options->seed : gs_random_entropy(),
    };
    gs_watch_begin(&trial.watch, verifier);
    gs_status status = all_parts(&trial, problem, options, error);
    gs_watch_end(&trial.watch);
    if (status == GS_ERROR_FAULT && gs_check_run_failed(&trial)) status = GS_OK;   /* the fault is in the verdict already */
    return status;
}
