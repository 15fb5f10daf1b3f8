/* SPDX-License-Identifier: MIT */
#include "verify/random.h"

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

/* A few rows of A, or with tn columns of B, times a large matrix, half of them in eights: what some families are for. Others hardly ever give one. */
static gs_problem random_few(gs_random *random, gs_type in, gs_layout layout, bool emulated)
{
    const uint64_t most = emulated ? 32 : 1024;
    const int64_t unit = gs_random_below(random, 2) ? 8 : 1;
    const int64_t few = 1 + (int64_t)gs_random_below(random, 16), k = unit * (1 + (int64_t)gs_random_below(random, 32 / (uint64_t)unit * most));
    const int64_t many = layout == GS_TN ? 16 + (int64_t)gs_random_below(random, 8 * most) : 64 + unit * (int64_t)gs_random_below(random, 8 / (uint64_t)unit * most);
    return layout == GS_TN && gs_random_below(random, 2) ? gs_problem_make(in, layout, many, few, k) : gs_problem_make(in, layout, few, many, k);
}

static gs_layout random_layout(gs_random *random, bool a_transposed)
{
    static const gs_layout layouts[] = {GS_NN, GS_TN, GS_NT, GS_TT};
    return layouts[gs_random_below(random, a_transposed ? 4 : 2)];
}

/* Half of the problems have one. */
static void add_epilogue(gs_random *random, gs_problem *problem)
{
    if (gs_random_below(random, 2)) return;
    problem->bias = (gs_bias)gs_random_below(random, GS_BIAS_M + 1);
    problem->activation = (gs_activation)gs_random_below(random, GS_SILU + 1);
    problem->residual = problem->activation && problem->beta != 0 && gs_random_below(random, 2);
}

/* Whether a chosen family takes what problems may want. */
static bool any_takes(uint32_t families, unsigned what)
{
    for (unsigned family = 0; family < GS_FAMILIES; family++)
        if ((families == 0 || families & 1u << family) && gs_families[family]->takes & what) return true;
    return false;
}

static void add_groups(gs_random *random, gs_problem *problem)
{
    if (gs_random_below(random, 4)) return;
    problem->batch = 1;
    problem->groups = 1 + (int64_t)gs_random_below(random, gs_random_below(random, 4) ? 8 : 100);
}

static gs_problem any_problem(gs_random *random, uint32_t families, bool few, bool a_transposed, bool emulated)
{
    static const float alphas[] = {1, 1, 1, 0.5f, -2}, betas[] = {0, 0, 1, 0.5f, -1};
    for (;;) {
        const gs_type in = gs_random_below(random, 2) ? GS_BF16 : GS_F16;
        const int64_t m = random_extent(random, emulated), n = random_extent(random, emulated), k = random_extent(random, emulated);
        gs_problem problem = gs_problem_make(in, random_layout(random, a_transposed), m, n, k);
        if (few) problem = random_few(random, in, problem.layout, emulated);
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
        add_epilogue(random, &problem);
        if (gs_random_below(random, 4) == 0) problem.batch = 2 + (int64_t)gs_random_below(random, 4);
        if (any_takes(families, GS_WANTS_GROUPS)) add_groups(random, &problem);
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

/* Whether all chosen families take a few rows or columns only. */
static bool only_few(uint32_t families)
{
    bool few = families != 0;
    for (unsigned family = 0; family < GS_FAMILIES; family++)
        if (families & 1u << family && !gs_families[family]->few) few = false;
    return few;
}

/* Whether a chosen family takes A stored K x M. */
static bool any_a_transposed(uint32_t families)
{
    for (unsigned family = 0; family < GS_FAMILIES; family++)
        if ((families == 0 || families & 1u << family) && gs_families[family]->a_transposed) return true;
    return false;
}

gs_problem gs_random_problem(gs_random *random, uint32_t families, const gs_caps *caps)
{
    gs_problem problem;
    for (int i = 0; i < PROBLEM_TRIES; i++) {
        problem = any_problem(random, families, only_few(families), any_a_transposed(families), caps->emulated);
        if (!families) return problem;
        for (unsigned family = 0; family < GS_FAMILIES; family++) {
            gs_schedule schedule;
            if (families & 1u << family && gs_random_schedule(random, (gs_family_id)family, &problem, caps, &schedule)) return problem;
        }
    }
    return problem;
}
