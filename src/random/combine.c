/* SPDX-License-Identifier: MIT */
#include "random/combine.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "problem/layout.h"

#define VALUES_MOST 10
#define PASSES      4      /* refused values are tried again beside those taken later; after so many passes nothing changes */

/* A problem that is being made. */
typedef struct draft {
    gs_problem     p;
    const uint8_t *value;     /* of each feature */
    gs_random      number;    /* random numbers of the feature that is being applied: the same in every attempt */
    int64_t        largest;
} draft;

static int64_t below(draft *d, int64_t limit) { return (int64_t)gs_random_below(&d->number, (uint64_t)limit); }

/* ---- types, layout, extents ---- */

static bool in(draft *d, int value)
{
    d->p.in = d->p.out = value ? GS_BF16 : GS_F16;
    return true;
}

static bool acc(draft *d, int value)
{
    d->p.acc = value ? GS_F16 : GS_F32;
    return true;
}

static bool out(draft *d, int value)
{
    if (value) d->p.out = GS_F32;
    return true;
}

static bool layout(draft *d, int value)
{
    d->p.layout = (gs_layout)value;
    return true;
}

/* An extent of a class of EXTENTS, by its index. */
static int64_t extent_of(draft *d, int value)
{
    static const int64_t tiles[] = {32, 64, 128, 192, 256}, odd[] = {31, 33, 63, 65, 127, 129, 200, 255};
    switch (value) {
    case 0:  return tiles[below(d, GS_COUNT(tiles))];
    case 1:  return 8 * (1 + below(d, 31));
    case 2:  return odd[below(d, GS_COUNT(odd))];
    case 3:  return 2 + below(d, 29);
    case 4:  return 1;
    default: return (int64_t)(64 * pow((double)d->largest / 64, gs_random_unit(&d->number)));   /* log-uniform from 64 to the largest */
    }
}

static bool m(draft *d, int value) { return d->p.m = GS_MIN(extent_of(d, value), d->largest), true; }
static bool n(draft *d, int value) { return d->p.n = GS_MIN(extent_of(d, value), d->largest), true; }
static bool k(draft *d, int value) { return d->p.k = GS_MIN(extent_of(d, value), d->largest), true; }

static bool empty(draft *d, int value)
{
    int64_t *const extent[] = {NULL, &d->p.m, &d->p.n, &d->p.k};
    if (value) *extent[value] = 0;
    return true;
}

/* At most 64, and divisible by 8 if it was. */
static int64_t tiny_of(int64_t extent) { return extent <= 64 ? extent : extent % 64 ? extent % 64 : 64; }

/* One matrix, a batch, many tiny matrices, groups of rows, masked groups, groups along K. */
static bool many(draft *d, int value)
{
    gs_problem *const p = &d->p;
    const int64_t count = 1 + (below(d, 4) ? below(d, 8) : below(d, 40));
    switch (value) {
    case 1: p->batch = 2 + below(d, 4); break;
    case 2:
        p->batch = 64 + below(d, 40);
        p->m = tiny_of(p->m), p->n = tiny_of(p->n), p->k = tiny_of(p->k);
        break;
    case 3: p->groups = count; break;
    case 4:
        p->groups = count;
        p->grouping = GS_GROUPS_MASKED;
        p->m = (p->m + count - 1) / count * count;
        break;
    case 5:
        p->grouping = GS_GROUPS_K;
        p->batch = GS_MIN(count, 8);
        break;
    default: break;
    }
    /* limits the work */
    const int64_t most = d->largest * d->largest * d->largest / 4, unit = p->k % 8 ? 1 : 8;
    while (p->m * p->n * p->k > most / (p->grouping == GS_GROUPS_K ? 1 : p->batch) && p->k > unit) p->k = GS_MAX(p->k / 2 / unit * unit, unit);
    return true;
}

/* ---- scalars and epilogue ---- */

static bool alpha(draft *d, int value)
{
    static const float exact[] = {-2, 0.5f, -1.5f, 2.5f, 0}, inexact[] = {0.3f, -1.1f, 1e-3f, 3.14159274f};
    d->p.alpha = value == 0 ? 1 : value == 1 ? exact[below(d, GS_COUNT(exact))] : inexact[below(d, GS_COUNT(inexact))];
    return true;
}

static bool beta(draft *d, int value)
{
    static const float exact[] = {-1, 0.5f, 2, -1.5f}, inexact[] = {0.7f, -0.1f, 1.3f};
    d->p.beta = value == 0 ? 0 : value == 1 ? 1 : value == 2 ? exact[below(d, GS_COUNT(exact))] : inexact[below(d, GS_COUNT(inexact))];
    return true;
}

static bool scalars(draft *d, int value)
{
    d->p.scalars = value ? GS_SCALARS_DEVICE : GS_SCALARS_HOST;
    return true;
}

static bool bias(draft *d, int value)
{
    d->p.bias = (gs_bias)value;
    return true;
}

static bool activation(draft *d, int value)
{
    d->p.activation = (gs_activation)value;
    return true;
}

static bool gate(draft *d, int value)
{
    d->p.gate = (uint32_t)value;
    return true;
}

static bool residual(draft *d, int value)
{
    d->p.residual = (uint32_t)value;
    return true;
}

static bool scales(draft *d, int value)
{
    d->p.scales = (uint32_t)value;
    return true;
}

static bool aux(draft *d, int value)
{
    d->p.aux = (uint32_t)value;
    return true;
}

/* ---- where rows and matrices lie ---- */

/* A row's length in memory by an index of ROWS: packed; longer, a multiple of eight elements; longer, no multiple of eight. */
static int64_t row_of(draft *d, int value, int64_t row)
{
    row = GS_MAX(row, 1);
    if (value == 0) return row;
    if (value == 1) return (row + 7) / 8 * 8 + 8 * below(d, 3);
    row += 1 + below(d, 7);
    return row % 8 ? row : row + 1;
}

static bool rows_a(draft *d, int value) { return d->p.lda = row_of(d, value, gs_shape_of(&d->p, 'a').row), true; }
static bool rows_b(draft *d, int value) { return d->p.ldb = row_of(d, value, gs_shape_of(&d->p, 'b').row), true; }
static bool rows_c(draft *d, int value) { return d->p.ldc = row_of(d, value, d->p.n), true; }
static bool rows_d(draft *d, int value) { return d->p.ldd = row_of(d, value, d->p.n), true; }

static bool rows_aux(draft *d, int value)
{
    if (value == 0) return true;
    d->p.ldaux = row_of(d, value, gs_columns_of_b(&d->p));
    return gs_has_aux(&d->p);
}

/* Where the matrices of a batch lie, by an index of STRIDES: one behind the other, with gaps, side by side as rows of heads, one for all. */
static bool place(draft *d, char operand, int value, int64_t *ld, int64_t *stride)
{
    if (value == 0) return true;
    if (d->p.batch == 1 || d->p.grouping == GS_GROUPS_K) return false;
    const gs_shape s = gs_shape_of(&d->p, operand);
    switch (value) {
    case 1:  *stride = s.ld * s.rows + (below(d, 2) ? 8 * (1 + below(d, 3)) : 1 + below(d, 7)); break;
    case 2:
        *stride = s.ld;
        *ld = d->p.batch * s.ld;
        if (s.rows <= 1) return false;   /* that is one behind the other */
        break;
    default: *stride = GS_SAME_MATRIX; break;
    }
    return true;
}

static bool matrices_a(draft *d, int value) { return place(d, 'a', value, &d->p.lda, &d->p.stride_a); }
static bool matrices_b(draft *d, int value) { return place(d, 'b', value, &d->p.ldb, &d->p.stride_b); }
static bool matrices_c(draft *d, int value) { return place(d, 'c', value, &d->p.ldc, &d->p.stride_c); }
static bool matrices_d(draft *d, int value) { return place(d, 'd', value, &d->p.ldd, &d->p.stride_d); }

static bool matrices_aux(draft *d, int value)
{
    if (value == 0) return true;
    if (!gs_has_aux(&d->p)) return false;
    d->p.ldaux = gs_shape_of(&d->p, 'g').ld;
    return place(d, 'g', value, &d->p.ldaux, &d->p.stride_aux);
}

/* One for all matrices, or one for each. */
static bool biases(draft *d, int value)
{
    if (value == 0) return true;
    if (d->p.batch == 1) return false;
    d->p.stride_bias = GS_MAX(gs_shape_of(&d->p, 'e').row, 1) + below(d, 5);
    return d->p.bias != GS_BIAS_NONE;
}

/* For any batch, also of one matrix. */
static bool pointers(draft *d, int value)
{
    d->p.matrices = (uint32_t)value;
    return true;
}

/* Half of the families have no schedule for it. */
static bool invariant(draft *d, int value)
{
    d->p.invariant = (uint32_t)value;
    return true;
}

static bool constant(draft *d, int value)
{
    d->p.constant = (uint32_t)value;
    return true;
}

/* ---- the table ---- */

#define EXTENTS "tiles", "eights", "odd", "few", "1", "any"
#define ROWS    "packed", "eights", "odd"
#define STRIDES "behind", "apart", "beside"

/* In the order of application: a feature that depends on others comes after them. The problem need not be valid in between. */
static const struct feature {
    const char *name;
    bool      (*apply)(draft *d, int value);   /* false: such a problem cannot have it */
    int         plain;                         /* additional weight of value 0 in the draw; every value has weight 1 */
    const char *values[VALUES_MOST];
} features[] = {
    {"in",           in,           0,  {"f16", "bf16"}},
    {"acc",          acc,          0,  {"f32", "f16"}},
    {"d",            out,          0,  {"as in", "f32"}},
    {"layout",       layout,       0,  {"nn", "tn", "nt", "tt"}},
    {"M",            m,            0,  {EXTENTS}},
    {"N",            n,            0,  {EXTENTS}},
    {"K",            k,            0,  {EXTENTS}},
    {"empty",        empty,        24, {"none", "M", "N", "K"}},
    {"matrices",     many,         0,  {"one", "batch", "tiny", "groups", "masked", "along K"}},
    {"alpha",        alpha,        0,  {"1", "exact", "inexact"}},
    {"beta",         beta,         0,  {"0", "1", "exact", "inexact"}},
    {"scalars",      scalars,      0,  {"host", "device"}},
    {"scales",       scales,       0,  {"none", "m", "n", "both"}},
    {"bias",         bias,         0,  {"none", "n", "m", "dbias"}},
    {"activation",   activation,   0,  {"none", "relu", "gelu", "gelu_erf", "silu", "drelu", "dgelu", "dgelu_erf", "dsilu"}},
    {"gate",         gate,         0,  {"none", "stacked", "interleaved"}},
    {"residual",     residual,     0,  {"none", "behind"}},
    {"aux",          aux,          0,  {"none", "written"}},
    {"rows of A",    rows_a,       0,  {ROWS}},
    {"rows of B",    rows_b,       0,  {ROWS}},
    {"rows of C",    rows_c,       0,  {ROWS}},
    {"rows of D",    rows_d,       0,  {ROWS}},
    {"rows of aux",  rows_aux,     0,  {ROWS}},
    {"batch of A",   matrices_a,   0,  {STRIDES, "same"}},
    {"batch of B",   matrices_b,   0,  {STRIDES, "same"}},
    {"batch of C",   matrices_c,   0,  {STRIDES, "same"}},
    {"batch of D",   matrices_d,   0,  {STRIDES}},
    {"batch of aux", matrices_aux, 0,  {STRIDES}},
    {"biases",       biases,       0,  {"one", "each"}},
    {"found by",     pointers,     0,  {"strides", "pointers"}},
    {"bits of rows", invariant,    8,  {"any", "invariant"}},
    {"B",            constant,     0,  {"any", "constant"}},
};
enum { FEATURES = (int)GS_COUNT(features), LAST_BASE = 3 };   /* types and layout are always drawn: none of their values is plain */
_Static_assert(FEATURES <= GS_FEATURES_MOST, "a combination has a value of each");

int         gs_feature_count(void) { return FEATURES; }
const char *gs_feature_name(int feature) { return features[feature].name; }
const char *gs_feature_value(int feature, int value) { return features[feature].values[value]; }

int gs_feature_values(int feature)
{
    int count = 0;
    while (count < VALUES_MOST && features[feature].values[count]) count++;
    return count;
}

/* ---- drawing ---- */

/* Makes the problem with these values; false: they cannot be combined. */
static bool make(const uint8_t *value, const uint64_t *number, int64_t largest, gs_problem *problem)
{
    draft d = {.p = gs_problem_make(GS_F16, GS_NN, 64, 64, 64), .value = value, .largest = largest};
    for (int i = 0; i < FEATURES; i++) {
        d.number.state = number[i];
        if (!features[i].apply(&d, value[i])) return false;
    }
    *problem = d.p;
    return gs_problem_check(problem, NULL) == GS_OK;
}

gs_combination gs_random_combination(gs_random *random, int64_t largest)
{
    static const uint64_t shares[] = {4, 4, 2, 1};   /* quarters of the features that need not be plain: some families take few at once */
    gs_combination made = {.value = {0}};
    uint64_t number[FEATURES];
    uint8_t  wanted[FEATURES], order[FEATURES] = {0};
    const uint64_t density = shares[gs_random_below(random, GS_COUNT(shares))];
    for (int i = 0; i < FEATURES; i++) {
        const int values = gs_feature_values(i), drawn = (int)gs_random_below(random, (uint64_t)(values + features[i].plain));
        const bool plain = gs_random_below(random, 4) >= density && i > LAST_BASE;
        wanted[i] = (uint8_t)(drawn < values && !plain ? drawn : 0);
        number[i] = gs_random_next(random);
        const int at = (int)gs_random_below(random, (uint64_t)i + 1);
        order[i] = order[at];
        order[at] = (uint8_t)i;
    }
    make(made.value, number, largest, &made.problem);
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < FEATURES; i++) {
            const int f = order[i];
            const uint8_t before = made.value[f];
            if (before == wanted[f]) continue;
            made.value[f] = wanted[f];
            if (!make(made.value, number, largest, &made.problem)) made.value[f] = before;
        }
    make(made.value, number, largest, &made.problem);
    return made;
}
