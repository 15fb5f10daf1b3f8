/* SPDX-License-Identifier: MIT */
#include "random/random.h"

#include "base/error.h"
#include "problem/layout.h"
#include "schedule/family.h"

#define SCHEDULE_TRIES 10000
#define PROBLEM_TRIES  100

/* Smaller on an emulated device, where a large problem takes minutes and shows nothing more. */
static int64_t random_extent(gs_random *random, bool emulated)
{
    static const int64_t most[2][4] = {{17, 130, 520, 1100}, {17, 65, 130, 200}};
    return 1 + (int64_t)gs_random_below(random, (uint64_t)most[emulated][gs_random_below(random, 4)]);
}

static int64_t random_padding(gs_random *random)
{
    return gs_random_below(random, 2) ? 1 + (int64_t)gs_random_below(random, 24) : 0;
}

/* A few rows of A, or with tn a few columns of B, times a large matrix, half of them with multiples of eight: some families take only such problems, which random extents hardly
 * ever give. */
static gs_problem random_few(gs_random *random, gs_type in, gs_layout layout, bool emulated)
{
    const uint64_t most = emulated ? 32 : 1024;
    const int64_t unit = gs_random_below(random, 2) ? 8 : 1;
    const int64_t few = 1 + (int64_t)gs_random_below(random, 16), k = unit * (1 + (int64_t)gs_random_below(random, 32 / (uint64_t)unit * most));
    const int64_t many = layout == GS_TN ? 16 + (int64_t)gs_random_below(random, 8 * most) : 64 + unit * (int64_t)gs_random_below(random, 8 / (uint64_t)unit * most);
    return layout == GS_TN && gs_random_below(random, 2) ? gs_problem_make(in, layout, many, few, k) : gs_problem_make(in, layout, few, many, k);
}

/* A batch of many tiny matrices, half of whose extents are multiples of eight. */
static gs_problem random_many(gs_random *random, gs_type in, gs_layout layout, bool emulated)
{
    int64_t extent[3];
    for (int i = 0; i < 3; i++) {
        const int64_t unit = gs_random_below(random, 2) ? 8 : 1;
        const uint64_t most = emulated && gs_random_below(random, 2) ? 16 : 64;
        extent[i] = unit * (1 + (int64_t)gs_random_below(random, most / (uint64_t)unit));
    }
    gs_problem problem = gs_problem_make(in, layout, extent[0], extent[1], extent[2]);
    problem.batch = 64 + (int64_t)gs_random_below(random, emulated ? 40 : 8000);
    return problem;
}

static gs_layout random_layout(gs_random *random, bool a_transposed)
{
    static const gs_layout layouts[] = {GS_NN, GS_TN, GS_NT, GS_TT};
    return layouts[gs_random_below(random, a_transposed ? 4 : 2)];
}

/* Adds an aux: written with an activation, or read with the gradient of one. */
static void add_aux(gs_random *random, gs_problem *problem)
{
    if (problem->activation && gs_random_below(random, 2)) {
        problem->aux = 1;
    } else {
        problem->activation = GS_DRELU + (gs_activation)gs_random_below(random, GS_DSILU - GS_DRELU + 1);
        if (problem->bias != GS_DBIAS) problem->bias = GS_BIAS_NONE;
    }
    if (gs_random_below(random, 2)) problem->ldaux = problem->n + 1 + (int64_t)gs_random_below(random, 24);
}

/* Adds an epilogue to half of the problems. */
static void add_epilogue(gs_random *random, bool gates, bool aux, bool dbias, gs_problem *problem)
{
    if (gs_random_below(random, 2)) return;
    problem->bias = (gs_bias)gs_random_below(random, GS_BIAS_M + 1);
    if (dbias && gs_random_below(random, 8) == 0) problem->bias = GS_DBIAS;
    problem->activation = (gs_activation)gs_random_below(random, GS_SILU + 1);
    problem->residual = problem->activation && problem->beta != 0 && gs_random_below(random, 2);
    if (aux && gs_random_below(random, 4) == 0) {
        add_aux(random, problem);
        return;
    }
    if (!gates || !problem->activation || problem->bias == GS_BIAS_M || problem->bias == GS_DBIAS || gs_random_below(random, 2)) return;
    if (gs_random_below(random, 4)) *problem = gs_problem_resized(problem, problem->m, (problem->n + 7) / 8 * 8, problem->k);   /* as tensor copies need it */
    const int64_t row = gs_shape_of(problem, 'b').row;
    problem->gate = 1 + (uint32_t)gs_random_below(random, GS_GATE_INTERLEAVED);
    problem->residual = problem->beta != 0;
    problem->ldb += gs_shape_of(problem, 'b').row - row;
}

/* Gives one operand in two other strides: matrices side by side, with gaps between them, or one for all. */
static void add_strides(gs_random *random, gs_problem *p)
{
    int64_t *const stride[] = {&p->stride_a, &p->stride_b, &p->stride_c, &p->stride_d}, *const ld[] = {&p->lda, &p->ldb, &p->ldc, &p->ldd};
    const int64_t unit = gs_random_below(random, 3) ? 8 : 1;   /* most as tensor copies take them */
    for (int i = 0; i < 4; i++) {
        const gs_shape s = gs_shape_of(p, "abcd"[i]);
        if (gs_random_below(random, 2)) continue;
        switch (gs_random_below(random, i == 3 ? 2 : 3)) {
        case 0:
            *stride[i] = (s.row + unit - 1) / unit * unit + unit * (int64_t)gs_random_below(random, 3);
            *ld[i] = p->batch * *stride[i] + unit * (int64_t)gs_random_below(random, 2);
            break;
        case 1:  *stride[i] = (s.ld * s.rows + unit - 1) / unit * unit + unit * (int64_t)gs_random_below(random, 9); break;
        default: *stride[i] = GS_SAME_MATRIX; break;
        }
        if (*stride[i] == *ld[i] * s.rows) *stride[i] = 0;
    }
    if (p->bias && gs_random_below(random, 2)) p->stride_bias = gs_shape_of(p, 'e').row + (int64_t)gs_random_below(random, 5);
    if (gs_has_aux(p) && gs_random_below(random, 2)) p->stride_aux = gs_shape_of(p, 'g').ld * p->m + 1 + (int64_t)gs_random_below(random, 9);
}

/* Pointers to matrices in place of strides. */
static void add_pointers(gs_problem *p)
{
    if (gs_has_aux(p)) return;
    p->stride_a = p->stride_b = p->stride_c = p->stride_d = p->stride_bias = 0;
    p->matrices = GS_MATRICES_POINTERS;
}

static void add_groups(gs_random *random, gs_problem *problem)
{
    if (problem->batch > 1 || gs_random_below(random, 4)) return;
    problem->groups = 1 + (int64_t)gs_random_below(random, gs_random_below(random, 4) ? 8 : 100);
    if (gs_random_below(random, 3) || problem->m < problem->groups) return;
    problem->grouping = GS_GROUPS_MASKED;
    *problem = gs_problem_resized(problem, problem->m / problem->groups * problem->groups, problem->n, problem->k);
}

static void add_groups_along_k(gs_random *random, gs_problem *problem)
{
    if (problem->groups || problem->batch > 1 || problem->bias || problem->activation || gs_random_below(random, 3)) return;
    problem->grouping = GS_GROUPS_K;
    problem->batch = 1 + (int64_t)gs_random_below(random, gs_random_below(random, 4) ? 6 : 20);
}

/* What a set of families takes. */
typedef struct kinds {
    bool few, many;      /* all of them take only such problems */
    bool a_transposed;   /* one of them takes a transposed A */
    unsigned takes;      /* GS_WANTS_* that one of them takes */
} kinds;

static gs_problem any_problem(gs_random *random, const kinds *all, bool emulated)
{
    static const float alphas[] = {1, 1, 1, 0.5f, -2}, betas[] = {0, 0, 1, 0.5f, -1};
    for (;;) {
        const gs_type in = gs_random_below(random, 2) ? GS_BF16 : GS_F16;
        const int64_t m = random_extent(random, emulated), n = random_extent(random, emulated), k = random_extent(random, emulated);
        gs_problem problem = gs_problem_make(in, random_layout(random, all->a_transposed), m, n, k);
        if (all->many) problem = random_many(random, in, problem.layout, emulated);
        if (all->few) problem = random_few(random, in, problem.layout, emulated);
        if (in == GS_F16 && gs_random_below(random, 3) == 0) problem.acc = GS_F16;
        if (gs_random_below(random, 4) == 0) problem.out = GS_F32;
        problem.lda += random_padding(random);
        problem.ldb += random_padding(random);
        if (gs_random_below(random, 2)) {   /* rows that tensor copies can take, whatever the extents */
            problem.lda = (problem.lda + 7) / 8 * 8;
            problem.ldb = (problem.ldb + 7) / 8 * 8;
        }
        problem.ldc += random_padding(random);
        problem.ldd += random_padding(random);
        problem.alpha = alphas[gs_random_below(random, GS_COUNT(alphas))];
        problem.beta = betas[gs_random_below(random, GS_COUNT(betas))];
        add_epilogue(random, all->takes & GS_WANTS_GATE, all->takes & GS_WANTS_AUX, all->takes & GS_WANTS_DBIAS, &problem);
        if (!all->many && gs_random_below(random, 4) == 0) problem.batch = 2 + (int64_t)gs_random_below(random, 4);
        if (all->takes & GS_WANTS_SCALARS && gs_random_below(random, 8) == 0) problem.scalars = GS_SCALARS_DEVICE;
        if (all->takes & GS_WANTS_STRIDES && problem.batch > 1 && gs_random_below(random, 2)) add_strides(random, &problem);
        if (all->takes & GS_WANTS_POINTERS && problem.batch > 1 && gs_random_below(random, 3) == 0) add_pointers(&problem);
        if (all->takes & GS_WANTS_GROUPS) add_groups(random, &problem);
        if (all->takes & GS_WANTS_K_GROUPS) add_groups_along_k(random, &problem);
        if (all->takes & GS_WANTS_SCALES && problem.grouping != GS_GROUPS_K && gs_random_below(random, 6) == 0) problem.scales = 1 + (uint32_t)gs_random_below(random, GS_SCALE_M | GS_SCALE_N);
        if (all->takes & GS_WANTS_AUX && problem.gate && (problem.m + problem.n + problem.k) % 3 == 0) {
            problem.aux = 1;
            if (problem.k % 2) problem.ldaux = gs_columns_of_b(&problem) + 1 + problem.k % 9;
        }
        const bool one_of_eight = (problem.m * 7 + problem.n * 13 + problem.k * 31) / 8 % 8 == 2;
        problem.invariant = all->takes & GS_WANTS_INVARIANT && problem.bias != GS_DBIAS && problem.grouping != GS_GROUPS_K && one_of_eight;
        if (gs_problem_check(&problem, NULL) == GS_OK) return problem;
    }
}

bool gs_random_schedule(gs_random *random, gs_family_id family, const gs_problem *problem, const gs_caps *caps, gs_schedule *schedule)
{
    for (int i = 0; i < SCHEDULE_TRIES; i++) {
        *schedule = gs_schedule_first(family);
        for (int parameter = 0; parameter < gs_family_parameters(family); parameter++)
            schedule->value[parameter] = (uint8_t)gs_random_below(random, (uint64_t)gs_family_parameter(family, parameter)->count);
        if (gs_schedule_check(schedule, problem, caps, NULL) == GS_OK) return true;
    }
    return false;
}

static kinds kinds_of(uint32_t families)
{
    kinds all = {.few = families != 0, .many = families != 0};
    for (unsigned family = 0; family < GS_FAMILIES; family++) {
        if (families != 0 && !(families & 1u << family)) continue;
        all.few &= gs_families[family]->few;
        all.many &= gs_families[family]->many;
        all.a_transposed |= gs_families[family]->a_transposed;
        all.takes |= gs_families[family]->takes;
    }
    return all;
}

gs_problem gs_random_problem(gs_random *random, uint32_t families, const gs_caps *caps)
{
    const kinds all = kinds_of(families);
    gs_problem problem;
    for (int i = 0; i < PROBLEM_TRIES; i++) {
        problem = any_problem(random, &all, caps->emulated);
        if (!families) return problem;
        for (unsigned family = 0; family < GS_FAMILIES; family++) {
            gs_schedule schedule;
            if (families & 1u << family && gs_random_schedule(random, (gs_family_id)family, &problem, caps, &schedule)) return problem;
        }
    }
    return problem;
}
