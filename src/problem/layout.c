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

static gs_shape shape(int64_t rows, int64_t row, int64_t ld, gs_type type, int64_t stride, int64_t batch)
{
    const bool same = stride == GS_SAME_MATRIX || batch == 1;
    return (gs_shape){rows, row, ld, same ? 0 : stride ? stride : gs_packed_stride(ld, rows), same ? 1 : batch, type};
}

gs_shape gs_shape_of(const gs_problem *p, char operand)
{
    const bool a = gs_is_a_transposed(p->layout), b = gs_is_b_transposed(p->layout);
    const int64_t factors = p->grouping == GS_GROUPS_K ? 1 : p->batch;   /* number of matrices of A and of B */
    switch (operand) {
    case 'a': return shape(a ? p->k : p->m, a ? p->m : p->k, p->lda, p->in, p->stride_a, factors);
    case 'b': return shape(b ? gs_columns_of_b(p) : p->k, b ? p->k : gs_columns_of_b(p), p->ldb, p->in, p->stride_b, p->groups ? p->groups : factors);
    case 'c': return shape(p->m, p->n, p->ldc, p->out, p->stride_c, p->batch);
    case 'e': {
        const int64_t count = p->bias == GS_BIAS_N || p->bias == GS_DBIAS ? gs_columns_of_b(p) : p->bias == GS_BIAS_M ? p->m : 0;
        if (p->groups && p->bias != GS_BIAS_M) return shape(p->groups, count, GS_MAX(count, 1), p->out, 0, 1);
        return shape(1, count, GS_MAX(count, 1), p->out, p->stride_bias ? p->stride_bias : GS_SAME_MATRIX, p->batch);
    }
    case 'f': return shape(1, gs_has_offsets(p) ? gs_group_count(p) + (p->grouping != GS_GROUPS_MASKED) : 0, gs_group_count(p) + 1, GS_F32, 0, 1);
    case 'g': return shape(gs_has_aux(p) ? p->m : 0, gs_columns_of_b(p), p->ldaux ? p->ldaux : GS_MAX(gs_columns_of_b(p), 1), p->out, p->stride_aux, p->batch);
    case 'h': return shape(1, p->scales & GS_SCALE_M ? p->m : 0, GS_MAX(p->m, 1), GS_F32, GS_SAME_MATRIX, 1);
    case 'i': return shape(p->groups ? p->groups : 1, p->scales & GS_SCALE_N ? gs_columns_of_b(p) : 0, GS_MAX(gs_columns_of_b(p), 1), GS_F32, GS_SAME_MATRIX, 1);
    default:  return shape(p->m, p->n, p->ldd, p->out, p->stride_d, p->batch);
    }
}

unsigned gs_problem_wants(const gs_problem *p)
{
    const bool strides = p->batch > 1 && (p->stride_a || p->stride_b || p->stride_c || p->stride_d || p->stride_bias);
    return (strides ? GS_WANTS_STRIDES : 0) | (p->scalars ? GS_WANTS_SCALARS : 0) | (p->gate ? GS_WANTS_GATE : 0) | (p->groups ? GS_WANTS_GROUPS : 0) |
           (gs_has_aux(p) ? GS_WANTS_AUX : 0) | (p->bias == GS_DBIAS ? GS_WANTS_DBIAS : 0) |
           (p->grouping == GS_GROUPS_K ? GS_WANTS_K_GROUPS : 0) | (p->matrices ? GS_WANTS_POINTERS : 0) | (p->scales ? GS_WANTS_SCALES : 0) |
           (p->invariant ? GS_WANTS_INVARIANT : 0);
}

bool gs_same_wishes(const gs_problem *x, const gs_problem *y)
{
    return x->stride_a == y->stride_a && x->stride_b == y->stride_b && x->stride_c == y->stride_c && x->stride_d == y->stride_d &&
           x->stride_bias == y->stride_bias && x->scalars == y->scalars && x->gate == y->gate && x->groups == y->groups && x->grouping == y->grouping && x->aux == y->aux &&
           x->ldaux == y->ldaux && x->stride_aux == y->stride_aux && x->matrices == y->matrices && x->scales == y->scales && x->invariant == y->invariant && x->constant == y->constant;
}

int64_t gs_place_in_a(const gs_problem *p, int64_t row, int64_t k)
{
    const int64_t m = p->m > 0 ? p->m : 1, begin = row / m * gs_shape_of(p, 'a').stride;
    row %= m;
    return begin + (gs_is_a_transposed(p->layout) ? k * p->lda + row : row * p->lda + k);
}

int64_t gs_place_in_b(const gs_problem *p, int64_t batch, int64_t k, int64_t col)
{
    return batch * gs_shape_of(p, 'b').stride + (gs_is_b_transposed(p->layout) ? col * p->ldb + k : k * p->ldb + col);
}

static int64_t place_in(const gs_problem *p, char operand, int64_t row, int64_t col)
{
    const gs_shape s = gs_shape_of(p, operand);
    const int64_t m = p->m > 0 ? p->m : 1;
    return row / m * s.stride + row % m * s.ld + col;
}

int64_t gs_place_in_c(const gs_problem *p, int64_t row, int64_t col) { return place_in(p, 'c', row, col); }
int64_t gs_place_in_d(const gs_problem *p, int64_t row, int64_t col) { return place_in(p, 'd', row, col); }

int64_t gs_rows_unit(const gs_problem *p, char operand)
{
    const bool one = p->batch == 1 && !p->groups;   /* shortcut without a stride: this is called for each of a million schedules */
    if (one && operand >= 'a' && operand <= 'd') return operand == 'a' ? p->lda : operand == 'b' ? p->ldb : operand == 'c' ? p->ldc : p->ldd;
    const gs_shape s = gs_shape_of(p, operand);
    return s.ld | s.stride;
}

/* Elements of a packed row of B, at least 1, even for an empty B. */
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
    if (other.layout != problem->layout && other.stride_b != GS_SAME_MATRIX) other.stride_b = 0;
    return other;
}

gs_problem gs_problem_sums(const gs_problem *problem)
{
    gs_problem sums = *problem;
    sums.beta = 0;
    sums.bias = GS_BIAS_NONE;
    sums.activation = GS_ACTIVATION_NONE;
    sums.residual = 0;
    sums.scalars = GS_SCALARS_HOST;
    sums.scales = 0;
    sums.stride_bias = 0;
    sums.aux = 0;
    sums.ldaux = sums.stride_aux = 0;
    if (sums.gate) {
        sums.gate = GS_GATE_NONE;
        sums.n *= 2;
        sums.ldc += problem->n;
        sums.ldd += problem->n;
    }
    return sums;
}

gs_problem gs_problem_of_aux(const gs_problem *problem)
{
    gs_problem product = *problem;
    const gs_shape s = gs_shape_of(problem, 'g');
    if (problem->residual) product.beta = 0;
    product.activation = GS_ACTIVATION_NONE;
    product.residual = product.aux = 0;
    if (product.gate) {
        product.gate = GS_GATE_NONE;
        product.n *= 2;
        product.ldc += problem->n;
    }
    if (!gs_adds_bias(problem)) product.bias = GS_BIAS_NONE, product.stride_bias = 0;
    product.ldd = s.ld;
    product.stride_d = problem->stride_aux;
    product.ldaux = product.stride_aux = 0;
    return product;
}

gs_problem gs_problem_packed(const gs_problem *problem)
{
    gs_problem packed = gs_problem_make(problem->in, problem->layout, problem->m, problem->n, problem->k);
    packed.acc = problem->acc;
    packed.out = problem->out;
    packed.batch = problem->batch;
    packed.grouping = problem->grouping == GS_GROUPS_K ? problem->grouping : 0;
    packed.alpha = problem->alpha;
    packed.invariant = problem->invariant;
    packed.constant = problem->constant;
    return packed;
}

void gs_resize_stride(const gs_problem *was, const gs_shape *before, const gs_shape *after, int64_t *ld, int64_t *stride)
{
    if (*stride == 0 || *stride == GS_SAME_MATRIX) return;
    const bool beside = *stride < before->ld && was->batch > 1;
    if (beside) {
        *stride += after->row - before->row;
        if (*stride < 1) *stride = 1;
        if (*ld < was->batch * *stride) *ld = was->batch * *stride;
    } else {
        const int64_t between = *stride - before->ld * before->rows;
        *stride = (between > 0 ? between : 0) + *ld * after->rows;
    }
}

gs_problem gs_problem_resized(const gs_problem *problem, int64_t m, int64_t n, int64_t k)
{
    const gs_problem was = gs_problem_make(problem->in, problem->layout, problem->m, problem->n, problem->k);
    const gs_problem is = gs_problem_make(problem->in, problem->layout, m, n, k);
    gs_problem other = *problem;
    const int64_t had = row_of_b(problem);
    other.m = m;
    other.n = n;
    other.k = k;
    other.lda += is.lda - was.lda;
    other.ldb += row_of_b(&other) - had;
    other.ldc += is.ldc - was.ldc;
    other.ldd += is.ldd - was.ldd;
    int64_t *const ld[] = {&other.lda, &other.ldb, &other.ldc, &other.ldd}, *const stride[] = {&other.stride_a, &other.stride_b, &other.stride_c, &other.stride_d};
    for (int i = 0; i < 4; i++) {
        const gs_shape before = gs_shape_of(problem, "abcd"[i]), after = gs_shape_of(&other, "abcd"[i]);
        gs_resize_stride(problem, &before, &after, ld[i], stride[i]);
    }
    if (gs_has_aux(problem)) {
        const gs_shape before = gs_shape_of(problem, 'g');
        gs_problem unpadded = *problem;
        unpadded.ldaux = other.ldaux = 0;
        const gs_shape after = gs_shape_of(&other, 'g');
        int64_t ldaux = before.ld + after.ld - gs_shape_of(&unpadded, 'g').ld;
        gs_resize_stride(problem, &before, &after, &ldaux, &other.stride_aux);
        other.ldaux = ldaux == after.ld ? 0 : ldaux;
    }
    if (other.stride_bias) other.stride_bias += gs_shape_of(&other, 'e').row - gs_shape_of(problem, 'e').row;
    if (other.stride_bias < 0) other.stride_bias = 0;
    return other;
}
