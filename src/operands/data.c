/* SPDX-License-Identifier: MIT
 * Plans of the test data. The inequalities, with B the sum of the magnitudes of an output's products and g the granule of
 * alpha and beta:
 *     f32 accumulation   B < 2^22                                  exact in any order, with room for the tensor cores' alignment
 *     f16 accumulation   likely partial sums <= 2048               exact
 *     scalars            (|alpha| B + c |beta|) / g <= 2^24 (2048), where they are such that results are exact
 *     f16 output         |alpha| likely sum + c |beta| < 65504; c: the largest of C, 4080 or 15
 * RANGE has no sums: every output is one product, or none (plan_range). */
#include "operands/data.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "problem/layout.h"

#define C_MOST     15.0          /* largest integer of C */
#define TALL       5             /* powers of two that larger integers of C or a bias may have */
#define TALL_MOST  (255 << (TALL - 1))   /* the largest of them */
#define F16_EXACT  2048.0
#define F32_SAFE   4194304.0     /* 2^22 */
#define F32_EXACT  16777216.0    /* 2^24 */
#define F16_LARGE  65504.0
#define FARTHEST   100           /* exponent of scales: none is subnormal */
#define UP_A       5             /* CANCEL in f16: A's largest number is 2047 2^5, */
#define UP_B       8             /* B's 127 2^8, */
#define DOWN       24            /* the smallest of either 2^-24 */

static double granule(double value) { return fmod(value, 1) == 0 ? 1 : fmod(value * 2, 1) == 0 ? 0.5 : 0.25; }

static bool is_nice(float scalar) { return fabsf(scalar) <= 4 && fmodf(scalar * 4, 1) == 0; }

/* Its product with a power of two of the data is exact in f32. */
static bool is_moderate(float scalar) { return scalar == 0 || (fabsf(scalar) >= 0x1p-10f && fabsf(scalar) <= 0x1p10f); }

bool gs_scalars_exact(const gs_problem *problem) { return is_nice(problem->alpha) && is_nice(problem->beta); }

int gs_scale_shift(const gs_problem *problem)
{
    int exponent = 0;
    if (problem->scales && isfinite(problem->alpha)) frexp((double)problem->alpha, &exponent);
    return abs(exponent) > 20 ? GS_MAX(GS_MIN(exponent, FARTHEST), -FARTHEST) : 0;
}

int gs_data_far(const gs_problem *problem, bool large, uint64_t bits)
{
    const bool wide = problem->in == GS_BF16;
    const int least = large && !wide ? 8 : 24, most = wide ? 60 : large ? UP_A + UP_B : 2 * DOWN, far = least + (int)gs_pick_below(bits, most + 1 - least);
    if (problem->acc == GS_F16) return problem->scales ? 0 : large ? 1 + (int)gs_pick_below(bits, 3) : -8 - (int)gs_pick_below(bits, 4);   /* sums of up to 2048 units stay exact, and alpha a number of f16 */
    return problem->scales ? 0 : large ? far : -far;
}

bool gs_data_lifts(const gs_problem *p) { return (p->out != GS_F16 || p->acc == GS_F16) && !gs_has_epilogue(p); }

void gs_datagen_move(gs_datagen *g, int far)
{
    const int of_a = g->type == GS_F16 ? GS_MIN(far / 2, UP_A) : far / 2;
    g->shift = g->operand == 0 ? of_a : far - of_a;
}

float gs_scalar_of_many_bits(uint64_t bits)
{
    /* seven random bits, bf16's fraction; 1001: nine sixteenths of bf16's last step, the last 1 half a step of f16; then random bits that neither type has */
    const uint32_t significand = (uint32_t)(bits & 0x7f) << 16 | 0x9000u | (uint32_t)(bits >> 7 & 0xff);
    const float value = (float)ldexp(1 + significand * 0x1p-23, (int)(bits >> 16 & 1) - 1);
    return bits >> 17 & 1 ? -value : value;
}

gs_problem gs_problem_exact(const gs_problem *problem)
{
    gs_problem exact = *problem;
    if (!gs_scalars_exact(problem)) {
        exact.alpha = 1;
        exact.beta = problem->beta != 0;
    }
    return exact;
}

/* How many products are not 0, if `density` of them are on average: the mean plus eight deviations. */
static double filled(double terms, double density)
{
    return density >= 1 ? terms : fmin(terms, terms * density + 8 * sqrt(terms * density) + 64);
}

static double segments(const gs_problem *problem, const gs_data_plan *plan)
{
    return plan->heavy ? ceil((double)problem->k / plan->segment) : 0;
}

double gs_data_largest(const gs_problem *problem, int kind, const gs_data_plan *plan)
{
    const double k = (double)problem->k, light = plan->light, density = ldexp(1, -plan->sparse);
    switch (kind) {
    case GS_VALUES_INTEGER:
    case GS_VALUES_QUIET:  return filled(k, density * density) * light * light + 2 * segments(problem, plan) * plan->heavy * light;
    case GS_VALUES_CANCEL: return filled(k, density) * light * light + (filled(k, 0.125) + plan->heavy) * light;
    case GS_VALUES_INDEX:  return 15 * light;
    case GS_VALUES_LOUD:   return filled(k, density) * light * light;
    default:               return 0;
    }
}

double gs_data_likely(const gs_problem *problem, int kind, const gs_data_plan *plan)
{
    const double k = (double)problem->k, light = plan->light, density = ldexp(1, -plan->sparse);
    const double largest = gs_data_largest(problem, kind, plan), heavies = segments(problem, plan) * plan->heavy * light;
    double likely = largest;
    if (kind == GS_VALUES_INTEGER || kind == GS_VALUES_QUIET) {
        const double walk = light * light * density * sqrt(k);
        likely = 2 * heavies + 10 * walk + 40 * light * light * (plan->sparse > 0);
        if (heavies > 0) likely = fmin(likely, 5 * sqrt(walk * walk + 2 * heavies * heavies / segments(problem, plan)));
    } else if (kind == GS_VALUES_CANCEL) {
        const double pairs = k / 2 * density, mean = (light + 1) / 2;
        likely = pairs * mean * mean + 10 * sqrt(pairs) * light * light + 10 * sqrt(k / 16) * light + 40 * light;
    }
    return fmin(largest, likely);
}

/* A kernel that clamps C or a bias at C_MOST would pass, so some of their integers are larger, where D and the accumulator have room. */
static int tallest(const gs_problem *p) { return p->acc == GS_F32 && !p->gate ? TALL : 0; }

static bool fits(const gs_problem *problem, int kind, const gs_data_plan *plan)
{
    const double alpha = ldexp(fabs((double)problem->alpha), -gs_scale_shift(problem)), beta = fabs((double)problem->beta) + (problem->bias != GS_BIAS_NONE);   /* a bias's integers are as large as C's */
    const double c_most = tallest(problem) ? TALL_MOST : C_MOST;
    const double unit = fmin(granule(alpha), granule(problem->beta)), finest = problem->scales ? unit / 64 : unit;   /* both scales are an eighth at least */
    const double largest = gs_data_largest(problem, kind, plan), likely = gs_data_likely(problem, kind, plan);
    if (problem->acc == GS_F16) {
        /* the walk must stay exact for certain: no credit for heavy integers of opposite signs */
        const double heavies = 2 * segments(problem, plan) * plan->heavy * plan->light;
        const double spread = 10 * plan->light * plan->light * sqrt((double)problem->k) * ldexp(1, -plan->sparse);
        const double partial = heavies > 0 ? fmin(largest, heavies + spread + 40 * (plan->sparse > 0)) : likely;
        if (problem->gate && problem->out == GS_F16 && alpha * likely + c_most * beta >= sqrt(F16_LARGE)) return false;
        return partial <= F16_EXACT && (alpha * partial + c_most * beta) / unit <= F16_EXACT && (alpha * partial + c_most * beta) / finest <= F32_EXACT;
    }
    if (largest >= F32_SAFE || (gs_scalars_exact(problem) && (alpha * largest + c_most * beta) / finest > F32_EXACT)) return false;   /* other scalars round the results anyway */
    return problem->out != GS_F16 || kind == GS_VALUES_CANCEL || alpha * likely + c_most * beta < (problem->gate ? sqrt(F16_LARGE) : F16_LARGE);   /* a gate multiplies two results */
}

static bool plan_integer(const gs_problem *problem, gs_data_plan *plan)
{
    static const int lights[] = {15, 7, 3, 2, 1}, counts[] = {4, 2, 1};
    static const int heavies[2][4] = {{2047, 1023, 511, 257}, {127, 63, 31, 0}};   /* the longest that fits */
    const int most = problem->in == GS_BF16 ? 255 : 2047;
    for (int sparse = 0; sparse <= 14; sparse++)
        for (int set = 0; set < 2; set++)
            for (int h = 0; h < 4; h++)
                for (size_t c = 0; c < GS_COUNT(counts); c++)
                    for (size_t l = 0; l < GS_COUNT(lights); l++) {
                        const double length = ceil((double)problem->k / counts[c] / 2) * 2;
                        *plan = (gs_data_plan){.light = lights[l], .heavy = GS_MIN(heavies[set][h], most),
                                               .segment = (int)fmin(fmax(length, 2), 1 << 30), .sparse = sparse};
                        if (fits(problem, GS_VALUES_INTEGER, plan)) return true;
                    }
    return false;
}

static bool plan_sparse(const gs_problem *problem, int kind, int light, gs_data_plan *plan)
{
    for (int sparse = 0; sparse <= 20; sparse++) {
        *plan = (gs_data_plan){.light = light, .sparse = sparse};
        if (fits(problem, kind, plan)) return true;
    }
    return false;
}

/* What remains of a row's sum has a long odd integer in it, so that it needs more bits than D's type has: this detects a kernel that rounds before alpha, or adds up in 16 bits. */
static void plan_remainder(const gs_problem *p, gs_data_plan *plan)
{
    const double alpha = ldexp(fabs((double)p->alpha), -gs_scale_shift(p)) * (p->scales ? 16 : 1), beta = fabs((double)p->beta) + gs_adds_bias(p);
    const double most = p->out == GS_F16 ? (F16_LARGE / 2 - TALL_MOST * beta) / fmax(alpha, 1) : F32_SAFE / 4;
    const int longest = (p->in == GS_BF16 ? 255 : 2047) - plan->light;   /* leaves room for what cancels */
    if (p->acc == GS_F16 || (p->gate && p->out == GS_F16) || p->k < 2) return;
    plan->heavy = (int)fmin(longest, most / plan->light);
    plan->heavy -= plan->heavy % 2 == 0;
    if (plan->heavy < 17 || !fits(p, GS_VALUES_CANCEL, plan)) plan->heavy = 0;
}

/* Half of K sums to about 80000, more than f16 can hold; with f16 sums to about 600. */
static bool plan_cancel(const gs_problem *problem, gs_data_plan *plan)
{
    const double target = problem->acc == GS_F16 ? 600 : 80000, pairs = fmax((double)(problem->k / 2), 1);
    const int light = (int)fmin(fmax(2 * sqrt(target / pairs) - 1, 2), 127);
    bool made = false;
    for (int smaller = light; smaller >= 2 && !made; smaller /= 2) made = plan_sparse(problem, GS_VALUES_CANCEL, smaller, plan) && plan->sparse == 0;
    if (!made) made = plan_sparse(problem, GS_VALUES_CANCEL, 2, plan);
    if (made) plan_remainder(problem, plan);
    return made;
}

/* Sums of about 16000 from integers of four bits. */
static bool plan_loud(const gs_problem *problem, gs_data_plan *plan)
{
    const double target = fmin(16000, 16000 / fmax(fabs((double)problem->alpha), 1)), k = fmax((double)problem->k, 1);
    const int light = (int)fmin(fmax(2 * sqrt(target / k) - 1, 3), 15), mean = (light + 1) / 2;
    *plan = (gs_data_plan){.light = light};
    while (k * mean * mean * ldexp(1, -plan->sparse) > target * 1.5) plan->sparse++;
    return problem->acc == GS_F32 && gs_data_largest(problem, GS_VALUES_LOUD, plan) < F32_SAFE;
}

/* A single product gives the same result in every order if it is exact in the accumulator, or the accumulator's rounding is the output's, and if it neither overflows nor loses
 * bits before the scalars are applied. Scalars of many bits are combined with powers of two only. */
static bool plan_range(const gs_problem *p, gs_data_plan *plan)
{
    const double alpha = fabs((double)p->alpha);
    int exponent;
    const bool one = alpha == 1, power = frexp(alpha, &exponent) == 0.5, wide = p->in == GS_BF16, few = p->acc == GS_F16;
    gs_data_range *const r = &plan->range;
    const bool odd = !gs_scalars_exact(p);
    if (p->k == 0 || alpha == 0 || (odd && (few || !is_moderate(p->alpha) || !is_moderate(p->beta)))) return false;
    const int64_t columns = gs_columns_of_b(p);
    *r = (gs_data_range){.lone = p->m < columns, .lone_bits = few || odd ? 1 : wide || !power ? 8 : 11,
                         .bits = odd ? 1 : wide ? 8 : few && !power ? 7 : 11, .c_bits = odd ? 1 : p->out == GS_F16 ? 11 : 8,
                         .low = wide ? -133 : -24, .high = wide ? 127 : 15, .step = wide ? 8 : 1, .over = {1, 0}, .under = {1, 0}, .idle_c = p->beta == 0};
    const int64_t lines = GS_MAX(p->m, columns);
    r->lone_classes = lines >= 16 ? 16 : lines >= 8 ? 8 : lines >= 4 ? 4 : 0;
    r->full_classes = GS_MIN(p->m, columns) >= 16 ? 16 : 0;
    if (few && !(one && p->out == GS_F16)) {
        r->plain[0] = -6, r->plain[1] = 6;   /* of the products; inputs have all sizes */
        return true;
    }
    if (p->gate) {   /* the product of two such products must keep its bits in f32 and in D; an overflow of one would hide the other */
        const int far = p->out == GS_F16 ? 7 : wide ? 50 : 26;
        r->plain[0] = p->in == GS_F16 && p->out != GS_F16 ? -38 : -far, r->plain[1] = far;
        return true;
    }
    if (p->out == GS_F16) {
        r->plain[0] = -14, r->plain[1] = 14, r->over[0] = 20, r->over[1] = wide ? 100 : 25, r->under[0] = -28, r->under[1] = -16;
    } else if (wide) {
        r->plain[0] = -110, r->plain[1] = 110;
        if (!odd) r->over[0] = 134, r->over[1] = 180;   /* a small alpha would bring back what the accumulator has lost */
        if (one) r->under[0] = p->out == GS_F32 ? -138 : -132, r->under[1] = -129;   /* subnormal, and exact in f32 */
    } else {
        r->plain[0] = -38, r->plain[1] = 26;
    }
    return true;
}

bool gs_data_plan_make(const gs_problem *problem, int kind, gs_data_plan *plan)
{
    *plan = (gs_data_plan){0};
    switch (kind) {
    case GS_VALUES_INTEGER: return plan_integer(problem, plan);
    case GS_VALUES_CANCEL:  return plan_cancel(problem, plan);
    case GS_VALUES_QUIET:   return plan_sparse(problem, kind, 1, plan);
    case GS_VALUES_LOUD:    return plan_loud(problem, plan);
    case GS_VALUES_INDEX:
        for (plan->light = 127; plan->light > 1 && !fits(problem, kind, plan); plan->light /= 2) continue;
        return true;
    case GS_VALUES_RANGE: return plan_range(problem, plan);
    default: return true;
    }
}

/* Where a bias has numbers in RANGE data, as gs_data_range encodes it: beside lines of A or B that are zero (gs_range_class of this seed). 0, nowhere, if C is read or a gate
 * combines two results: then two numbers would meet. */
static int beside_zeros(const gs_problem *p, const gs_data_range *r, uint64_t seed)
{
    const bool lone = r->lone == (p->bias == GS_BIAS_N);
    if (!gs_adds_bias(p) || p->gate || p->beta != 0 || !(lone ? r->lone_classes : r->full_classes)) return 0;
    return 1 + (int)(seed >> (lone ? 60 : 56) & 15);
}

enum { LINES_OF_A_STYLE = 64, VECTORS_OF_A_STYLE = 32 };   /* of so many lines or vectors each style has one */

/* The sum of a line of one sign times another one grows with K, unlike a random walk's: where sums must stay small, or D would overflow, only A's or only B's lines have styles. */
static int styles_of(const gs_problem *p, char operand, uint64_t seed)
{
    const bool both = p->acc == GS_F32 && p->out != GS_F16 && !p->gate;
    if (operand == 'a' || operand == 'b') return both || (gs_mix(seed + 0x2545f491u) & 1) == (operand == 'b') ? LINES_OF_A_STYLE : 0;
    return operand == 'c' || operand == 'g' ? LINES_OF_A_STYLE : VECTORS_OF_A_STYLE;
}

gs_datagen gs_datagen_make(const gs_problem *p, char operand, int kind, uint64_t seed)
{
    const gs_shape s = gs_shape_of(p, operand == 'd' ? 'c' : operand);
    gs_datagen g = {.batch = s.matrices, .stride = s.stride, .k = p->k, .seed = seed, .kind = kind, .operand = operand - 'a'};
    gs_data_plan_make(p, kind, &g.plan);
    if (operand == 'e') {   /* like a row of another C; in RANGE no numbers, which would be added to its single products */
        g.operand = 2, g.seed = gs_mix(seed + 0x510e527fu);
        if (kind == GS_VALUES_RANGE) g.kind = GS_VALUES_IDLE;
        g.plan.range.bias = beside_zeros(p, &g.plan.range, seed);
        g.tall = gs_adds_bias(p) ? tallest(p) : 0;
    }
    if (operand == 'c' && p->beta != 0) g.tall = tallest(p);
    if (operand == 'g') {   /* in RANGE mostly small integers: an activation's slope is neither 0 nor 1 for some of them */
        g.operand = 2, g.seed = gs_mix(seed + 0x9b05688cu);
        if (kind == GS_VALUES_RANGE) g.kind = GS_VALUES_STEEP;
    }
    if (operand == 'h' || operand == 'i') {
        const bool any = kind == GS_VALUES_SPECIAL || kind == GS_VALUES_RANGE, many = kind == GS_VALUES_NORMAL || kind == GS_VALUES_WIDE || (!any && !gs_scalars_exact(p));
        const int shift = gs_scale_shift(p), apart = p->scales != (GS_SCALE_M | GS_SCALE_N) ? 0 : shift > 0 ? FARTHEST - shift : shift < 0 ? -FARTHEST - shift : 0;   /* both: what one makes too small, the other brings back */
        g.shift = operand == 'i' && p->scales & GS_SCALE_M ? apart : -shift - apart;
        g.operand = 2, g.seed = gs_mix(seed + 0x428a2f98u + (uint64_t)operand), g.kind = many ? GS_VALUES_WIDE : any ? GS_VALUES_SIGNS : GS_VALUES_POWERS;
    }
    if (kind == GS_VALUES_INTEGER) g.styled = styles_of(p, operand, seed);
    if (kind == GS_VALUES_NORMAL && (operand == 'e' || operand == 'h' || operand == 'i')) g.styled = GS_STYLES;
    if (kind == GS_VALUES_SPECIAL && g.operand < 3 && p->acc == GS_F32) g.styled = LINES_OF_A_STYLE / 2;
    g.rows = s.rows, g.cols = s.row, g.ld = s.ld, g.type = s.type;
    g.transposed = operand == 'a' ? gs_is_a_transposed(p->layout) : operand == 'b' && gs_is_b_transposed(p->layout);
    return g;
}

gs_placed gs_placed_of(const gs_problem *problem, char operand)
{
    const gs_shape s = gs_shape_of(problem, operand);
    return (gs_placed){s.rows, s.row, s.ld, s.stride, s.matrices};
}

gs_status gs_placed_check(const gs_problem *problem, gs_error *error)
{
    for (int i = 0; i < GS_OPERANDS; i++) {
        const char name[] = {GS_OPERAND_LETTERS[i], '\0'};
        const gs_placed placed = gs_placed_of(problem, *name);
        if (placed.rows > 0 && placed.cols > 0 && !gs_placed_apart(&placed))
            return gs_fail(error, GS_ERROR_UNSUPPORTED, name, "its matrices overlap: test data cannot be made for them; try the problem with a larger stride");
    }
    return GS_OK;
}
