/* SPDX-License-Identifier: MIT */
#include "problem/layout.h"

#include <string.h>

#include "base/error.h"

static const char *const names[GS_LAYOUTS] = {[GS_NN] = "nn", [GS_TN] = "tn", [GS_NT] = "nt", [GS_TT] = "tt"};

const char *gs_layout_name(gs_layout layout) { return (unsigned)layout < GS_LAYOUTS ? names[layout] : "?"; }

bool gs_layout_parse(const char *name, gs_layout *layout)
{
    for (int i = 0; i < GS_LAYOUTS; i++)
        if (strcmp(name, names[i]) == 0) {
            *layout = (gs_layout)i;
            return true;
        }
    return false;
}

gs_shape gs_shape_of(const gs_problem *p, char operand)
{
    const bool a = gs_is_a_transposed(p->layout), b = gs_is_b_transposed(p->layout);
    switch (operand) {
    case 'a': return (gs_shape){a ? p->k : p->m, a ? p->m : p->k, p->lda, p->in};
    case 'b': return (gs_shape){b ? p->n : p->k, b ? p->k : p->n, p->ldb, p->in};
    case 'c': return (gs_shape){p->m, p->n, p->ldc, p->out};
    case 'e': {
        const int64_t count = p->bias == GS_BIAS_N ? p->n : p->bias == GS_BIAS_M ? p->m : 0;
        return (gs_shape){p->groups && p->bias == GS_BIAS_N ? p->groups : 1, count, GS_MAX(count, 1), p->out};
    }
    case 'f': return (gs_shape){1, p->groups ? p->groups + 1 : 0, p->groups + 1, GS_F32};
    default:  return (gs_shape){p->m, p->n, p->ldd, p->out};
    }
}

unsigned gs_problem_wants(const gs_problem *p)
{
    const bool strides = p->stride_a || p->stride_b || p->stride_c || p->stride_d || p->stride_bias;
    return (strides ? GS_WANTS_STRIDES : 0) | (p->scalars ? GS_WANTS_SCALARS : 0) | (p->gate ? GS_WANTS_GATE : 0) | (p->groups ? GS_WANTS_GROUPS : 0);
}

bool gs_same_wishes(const gs_problem *x, const gs_problem *y)
{
    return x->stride_a == y->stride_a && x->stride_b == y->stride_b && x->stride_c == y->stride_c && x->stride_d == y->stride_d &&
           x->stride_bias == y->stride_bias && x->scalars == y->scalars && x->gate == y->gate && x->groups == y->groups;
}

int64_t gs_place_in_a(const gs_problem *p, int64_t row, int64_t k)
{
    return gs_is_a_transposed(p->layout) ? (row / p->m * p->k + k) * p->lda + row % p->m : row * p->lda + k;
}

int64_t gs_place_in_b(const gs_problem *p, int64_t batch, int64_t k, int64_t col)
{
    return gs_is_b_transposed(p->layout) ? (batch * p->n + col) * p->ldb + k : (batch * p->k + k) * p->ldb + col;
}

/* Elements of a packed row of B; a row has at least one, whatever the extents. */
static int64_t row_of_b(const gs_problem *problem)
{
    const int64_t row = gs_shape_of(problem, 'b').row;
    return row > 0 ? row : 1;
}

gs_problem gs_problem_in_layout(const gs_problem *problem, gs_layout layout)
{
    gs_problem other = *problem;
    other.layout = gs_layout_with_b(problem->layout, layout);
    other.ldb += row_of_b(&other) - row_of_b(problem);
    return other;
}

gs_problem gs_problem_sums(const gs_problem *problem)
{
    gs_problem sums = *problem;
    sums.beta = 0;
    sums.bias = GS_BIAS_NONE;
    sums.activation = GS_ACTIVATION_NONE;
    sums.residual = 0;
    return sums;
}

gs_problem gs_problem_resized(const gs_problem *problem, int64_t m, int64_t n, int64_t k)
{
    const gs_problem was = gs_problem_make(problem->in, problem->layout, problem->m, problem->n, problem->k);
    const gs_problem is = gs_problem_make(problem->in, problem->layout, m, n, k);
    gs_problem other = *problem;
    other.m = m;
    other.n = n;
    other.k = k;
    other.lda += is.lda - was.lda;
    other.ldb += is.ldb - was.ldb;
    other.ldc += is.ldc - was.ldc;
    other.ldd += is.ldd - was.ldd;
    return other;
}
