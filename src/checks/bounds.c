/* SPDX-License-Identifier: MIT */
#include "checks/bounds.h"

#include <math.h>

#include "common/epilogue.h"
#include "operands/data.h"
#include "problem/layout.h"

#define F16_LARGE 65504.0

/* Half a unit in the last place of 1, and half of the least subnormal. */
static double unit_of(gs_type type) { return type == GS_F16 ? 0x1p-11 : type == GS_BF16 ? 0x1p-8 : 0x1p-24; }
static double largest_of(gs_type type) { return type == GS_F16 ? F16_LARGE : 0x1p127; }
static double least_of(gs_type type) { return type == GS_F16 ? 0x1p-25 : type == GS_BF16 ? 0x1p-134 : 0x1p-150; }

/* Worst element's accumulation error, against the size of the sum. f32: tensor cores truncate once per 16 terms, the rest is a
 * random walk; f16: a rounding per term at most. Generous: six deviations. */
static double worst_accumulation(const gs_problem *problem)
{
    const double k = (double)problem->k;
    return problem->acc == GS_F16 ? 0x1p-11 * (4 + 2 * sqrt(k)) : 0x1p-24 * (8 + k / 4 + 4 * sqrt(k));
}

static double typical_accumulation(const gs_problem *problem)
{
    const double k = (double)problem->k;
    return problem->acc == GS_F16 ? 0x1p-11 * (1 + 0.5 * sqrt(k)) : 0x1p-24 * (4 + k / 16 + sqrt(k));
}

/* The root mean square of so few results says nothing of products that C nearly cancels, or of sums whose products do. */
static bool is_few(const gs_problem *problem) { return (double)problem->m * (double)problem->batch * (double)problem->n < 8; }

/* Of few sums of normal data, which one of them may be far below; 0: there are many. */
static double least_rms(const gs_problem *problem) { return is_few(problem) ? fabs((double)problem->alpha) * sqrt((double)problem->k) : 0; }

double gs_exact_tolerance(const gs_problem *problem)
{
    if (gs_scalars_exact(problem)) return 0;
    return problem->acc == GS_F16 ? 1 : fmin(0x1p-20 / worst_accumulation(problem), 0.5);
}

double gs_least_sum(const gs_problem *problem)
{
    return -fmin(fabs((double)problem->alpha), 1) * (problem->acc == GS_F16 ? F16_LARGE : 0x1.fffffep127);
}

gs_bound gs_bound_make(const gs_problem *problem, double tolerance)
{
    const bool smooth = gs_is_smooth((int)problem->activation);
    const double accumulation = worst_accumulation(problem), steepest = smooth ? 1.13 : 1;
    const bool cancels = is_few(problem) && problem->acc == GS_F16 && problem->beta != 0;
    /* where a product and what is added to it nearly cancel, the rounding error of the product is left; both are then a few times the root mean square */
    const double rounded = tolerance >= GS_TOLERANCE_ROUNDED && (gs_adds_bias(problem) || problem->beta != 0) ? 4 * steepest * unit_of(problem->out) : 0;
    const int roundings = smooth && problem->acc == GS_F16 ? 2 : 1;   /* single products are rounded by the accumulator first */
    const double rounding = fmax(tolerance, 1) * unit_of(problem->out) * (1 + 0x1p-10), least = fmax(tolerance, 1) * least_of(problem->out);
    return (gs_bound){
        .rounding = rounding, .least = least, .relative = rounding + (roundings - 1) * 0x1p-11 + tolerance * accumulation,
        .spread = rounded + (cancels ? 8 : 1) * tolerance * accumulation * steepest * (problem->grouping == GS_GROUPS_K ? sqrt((double)problem->batch) : 1),   /* one group may have all of K */
        .least_rms = tolerance >= 1 ? least_rms(problem) : 0,   /* below 1: integers, whose sums are exact */
        .absolute = least + (roundings - 1) * steepest * least_of(GS_F16) + (smooth ? 0x1p-119 : 0),
        .activation = gs_activation_error((int)problem->activation, (int)problem->gate),
    };
}

gs_check_sums gs_sums_bound(const gs_problem *problem, double tolerance)
{
    const double rows = (double)problem->m * (double)problem->batch / (problem->groups ? 1 : (double)gs_dbias_vectors(problem));   /* one group may have all rows */
    const bool rounds = problem->acc == GS_F16;   /* single products, before they are added up */
    return (gs_check_sums){
        .relative = unit_of(problem->out) * (1 + 0x1p-10), .absolute = least_of(problem->out),
        .added = 0x1p-24 * fmax(tolerance, 1) * (8 + rows / 16 + 4 * sqrt(rows)),   /* tensor cores truncate once per sixteen rows */
        .element = fmax(rounds ? 0x1p-11 : 0, tolerance >= GS_TOLERANCE_ROUNDED ? unit_of(problem->out) : 0),
        .least = (rounds ? least_of(GS_F16) * 1.13 : 0) + (gs_is_smooth((int)problem->activation) ? 0x1p-119 : 0),   /* as for an element */
    };
}

/* Every matrix of the batch has the same D, but for a bias of its own. */
static bool one_result(const gs_problem *p, bool products)
{
    return (!products || (p->stride_a == GS_SAME_MATRIX && p->stride_b == GS_SAME_MATRIX)) && (p->beta == 0 || p->stride_c == GS_SAME_MATRIX);
}

/* The number of elements of D with independent rounding errors. Without products those of a column or a row may all be one bias. C lies on so coarse a grid that what is added to
 * it decides how sums round: C alone gives as many different errors as it has mantissas. */
static double independent(const gs_problem *p, double elements)
{
    const bool products = p->k > 0 && p->alpha != 0;
    const double rows = (double)p->m * (one_result(p, products) ? 1 : (double)p->batch), cols = (double)p->n, all = fmin(rows * cols, elements);
    if (products) return fmax(all, 1);
    if (p->bias == GS_BIAS_M || p->bias == GS_BIAS_N) return fmax(p->bias == GS_BIAS_M ? rows : cols, 1);
    return p->beta == 0 ? 1 : fmax(fmin(all, 0.5 / unit_of(p->out)), 1);
}

/* The number of elements that make up the error: where scales differ, few elements have most of it. */
static double that_count(const gs_problem *p, double elements)
{
    return fmax(independent(p, elements) * (!p->scales ? 1 : p->gate ? 0.1 : 0.3), 1);
}

double gs_frobenius_limit(const gs_problem *problem, const gs_compare *yardstick, double rms, double elements)
{
    const double sums = typical_accumulation(problem) * (problem->gate ? 1.6 : 1) *   /* two of them, one through the activation's slope */
                        (rms > 0 ? fmax(1, least_rms(problem) / rms) : 1);
    const double honest = hypot(0.45 * unit_of(problem->out), sums);   /* rounding: 0.41 units, rms */
    const double subnormal = rms > 0 ? least_of(problem->out) / rms : 0;   /* a small alpha leaves results few bits, or none */
    /* one result alone may be wrong by a whole unit; the rms of n errors by four of its own deviations */
    const double part = 1 / sqrt(that_count(problem, elements)), few = honest * fmax(part, 2.83 * part - 0.5);
    const double limit = (yardstick ? fmax(1.5 * yardstick->frobenius, honest + 1.5 * few) : 1.5 * honest + few) + subnormal;
    /* a product that was rounded to f16 and nearly cancelled by C: the bound of an element knows how large the product was, this one does not */
    return problem->acc == GS_F16 && problem->beta != 0 && independent(problem, elements) < 8 ? fmax(limit, 0.1) : limit;
}

double gs_bias_limit(const gs_problem *problem, const gs_compare *yardstick, double rms, double elements)
{
    /* elements that overflow are not counted, so the others lean; what underflows is all lost to one side */
    if (8 * rms > largest_of(problem->out) || rms < 64 * least_of(problem->out)) return 2;
    /* Tensor cores truncate their sums: where no wider rounding follows, that is the only error, and all of it leans towards
     * zero (0.9 to 1.0 of its size, measured on an H200). Its size is what the Frobenius limit judges. */
    if (problem->out == GS_F32 || problem->acc == GS_F16) return 2;
    const double chance = 6 / sqrt(that_count(problem, elements)), theirs = yardstick ? fabs(yardstick->bias) : 0;
    return theirs + chance + 0.25 + (problem->gate ? 2 : 1) * (double)problem->k / 65536 * (0x1p-11 / unit_of(problem->out));
}
