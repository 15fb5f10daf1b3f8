/* SPDX-License-Identifier: MIT
 * How a problem's operands are stored, and derived problems: B in the other layout, other extents, the plain sums. */
#ifndef GS_PROBLEM_LAYOUT_H
#define GS_PROBLEM_LAYOUT_H

#include <stdbool.h>
#include <gemmsmith/problem.h>

enum { GS_LAYOUTS = 4 };

const char *gs_layout_name(gs_layout layout);   /* "nn", "tn", "nt", "tt" */
bool        gs_layout_parse(const char *name, gs_layout *layout);

static inline bool gs_is_a_transposed(gs_layout layout) { return layout == GS_NT || layout == GS_TT; }   /* A is stored K x M */
static inline bool gs_is_b_transposed(gs_layout layout) { return layout == GS_TN || layout == GS_TT; }   /* B is stored N x K */

/* The layout that stores A as in `own` and B as in `b`. */
static inline gs_layout gs_layout_with_b(gs_layout own, gs_layout b) { return (gs_layout)((int)own & 2) | ((int)b & 1); }

/* How an operand is stored: `rows` rows of `row` elements, `ld` elements apart. Operands: 'a' to 'd' the matrices; 'e' the bias, one row or one per group; 'f' the groups'
 * offsets or counts (int32, given as GS_F32, which has the same size); 'g' aux; 'h' and 'i' scale_m and scale_n. For 'e' to 'i', rows or row is 0 if the problem has none. */
typedef struct gs_shape {
    int64_t rows, row, ld;
    int64_t stride, matrices;   /* elements from one matrix of the batch to the next, and number of matrices; 0 and 1 if the batch shares one. B with groups: one matrix per group */
    gs_type type;
} gs_shape;
gs_shape gs_shape_of(const gs_problem *problem, char operand);

/* ld * rows, without undefined overflow: the problem may be invalid. */
static inline int64_t gs_packed_stride(int64_t ld, int64_t rows) { return (int64_t)((uint64_t)ld * (uint64_t)rows); }

/* The letters of gs_shape_of: A, B, C, D, bias, offsets, aux, scale_m, scale_n. */
enum { GS_OPERANDS = 9 };
#define GS_OPERAND_LETTERS "abcdefghi"

/* Whether the activation is a gradient, which reads aux. */
static inline bool gs_is_gradient(gs_activation activation) { return activation >= GS_DRELU; }

static inline bool gs_has_aux(const gs_problem *p) { return p->aux || gs_is_gradient(p->activation); }

/* Whether a bias is added (GS_DBIAS is written instead). */
static inline bool gs_adds_bias(const gs_problem *p) { return p->bias == GS_BIAS_N || p->bias == GS_BIAS_M; }

/* Whether a kernel writes the operand. */
static inline bool gs_is_written(const gs_problem *p, char operand)
{
    return operand == 'd' || (operand == 'g' && p->aux) || (operand == 'e' && p->bias == GS_DBIAS);
}

/* Whether there are groups, of rows or along K, and so offsets or counts in device memory. */
static inline bool    gs_has_offsets(const gs_problem *p) { return p->groups != 0 || p->grouping == GS_GROUPS_K; }
static inline int64_t gs_group_count(const gs_problem *p) { return p->grouping == GS_GROUPS_K ? p->batch : p->groups; }

/* Whether a kernel reads the operand: C if beta is not 0, a bias that is added, offsets, aux for a gradient, scales. */
static inline bool gs_is_read(const gs_problem *p, char operand)
{
    return operand == 'c' ? p->beta != 0 : operand == 'e' ? gs_adds_bias(p) : operand == 'f' ? gs_has_offsets(p)
         : operand == 'g' ? gs_is_gradient(p->activation) : operand == 'h' ? (p->scales & GS_SCALE_M) != 0 : operand == 'i' ? (p->scales & GS_SCALE_N) != 0 : operand != 'd';
}

/* Features of a problem beyond a plain product, an epilogue and packed batches; gs_family.takes lists those that a family supports. */
enum {
    GS_WANTS_STRIDES = 1,    /* a batch with strides other than ld * rows, or with a bias per matrix */
    GS_WANTS_SCALARS = 2,    /* alpha and beta in device memory */
    GS_WANTS_GATE    = 4,
    GS_WANTS_GROUPS  = 8,
    GS_WANTS_AUX     = 16,   /* aux, written or read */
    GS_WANTS_DBIAS   = 32,
    GS_WANTS_K_GROUPS = 64,  /* groups along K */
    GS_WANTS_POINTERS = 128, /* arrays of pointers to the matrices of a batch */
    GS_WANTS_SCALES  = 256,
    GS_WANTS_INVARIANT = 512, /* the bits of a row depend on neither M nor other rows: K is added in one order, 16 at a time (docs/internals/invariant.md) */
    GS_WANTS_MORE    = GS_WANTS_STRIDES | GS_WANTS_SCALARS | GS_WANTS_GROUPS | GS_WANTS_AUX | GS_WANTS_DBIAS | GS_WANTS_K_GROUPS | GS_WANTS_SCALES   /* those whose kernels take arguments after GS_MORE, see args.h */
};
unsigned gs_problem_wants(const gs_problem *problem);
bool     gs_same_wishes(const gs_problem *x, const gs_problem *y);

/* Rows reserved for each masked group; 0 if groups are sorted or there are none. */
static inline int64_t gs_group_room(const gs_problem *p) { return p->groups && p->grouping == GS_GROUPS_MASKED ? p->m / p->groups : 0; }

/* Columns of B and of the sums: 2N with a gate, else N. */
static inline int64_t gs_columns_of_b(const gs_problem *p) { return p->gate ? gs_packed_stride(2, p->n) : p->n; }

/* Whether more than alpha is applied to the sums. */
static inline bool gs_has_epilogue(const gs_problem *p) { return p->beta != 0 || p->bias != GS_BIAS_NONE || p->activation != GS_ACTIVATION_NONE || p->scales != 0; }
static inline bool gs_same_epilogue(const gs_problem *x, const gs_problem *y)
{
    return (x->beta != 0) == (y->beta != 0) && x->activation == y->activation && x->bias == y->bias && x->residual == y->residual && x->aux == y->aux && x->scales == y->scales;
}

/* Offset of an element from the start of its operand, in elements. row: counted over the whole batch, row / M is the matrix. batch: the matrix of B; with groups the group. */
int64_t gs_place_in_a(const gs_problem *problem, int64_t row, int64_t k);
int64_t gs_place_in_b(const gs_problem *problem, int64_t batch, int64_t k, int64_t col);
int64_t gs_place_in_c(const gs_problem *problem, int64_t row, int64_t col);
int64_t gs_place_in_d(const gs_problem *problem, int64_t row, int64_t col);

/* Alignment of the rows of an operand ('a' to 'd'): a power of two divides the offset of every row, in elements, if it divides this number. */
int64_t gs_rows_unit(const gs_problem *problem, char operand);

/* For GS_DBIAS: how many vectors are written (one in all, one per matrix or one per group), and the distance between them in elements. */
static inline int64_t gs_dbias_vectors(const gs_problem *p) { return p->groups ? p->groups : p->stride_bias && p->batch > 1 ? p->batch : 1; }
static inline int64_t gs_dbias_stride(const gs_problem *p) { return p->groups ? p->n : gs_shape_of(p, 'e').stride; }

/* For a problem that writes aux: the problem whose D is aux. It has the same sums; with a gate those of all columns of B. */
gs_problem gs_problem_of_aux(const gs_problem *problem);

/* The same problem with B stored as in `layout` and A as before; the rows of B keep their padding. */
gs_problem gs_problem_in_layout(const gs_problem *problem, gs_layout layout);

/* The plain product: beta 0, no scales, bias or activation, alpha from the host. With a gate, over all columns of B: N is doubled, and ldc and ldd grow by N. */
gs_problem gs_problem_sums(const gs_problem *problem);

/* The plain product of packed matrices: no padding, matrices of a batch one after the other. */
gs_problem gs_problem_packed(const gs_problem *problem);

/* Bytes that a call's pointer to A, B, C or D refers to: the elements, or the array of pointers to the matrices. */
static inline size_t gs_args_bytes(const gs_problem *p, char operand) { return p->matrices ? (size_t)p->batch * sizeof(uint64_t) : gs_problem_bytes(p, operand); }

/* Changes the stride from one matrix to the next, if one is given, from that of `before` to that of `after`, whose rows lie *ld apart. Matrices side by side in shared rows stay so
 * with the same gaps (*ld grows if it must); others stay one after the other with the same gap. */
void gs_resize_stride(const gs_problem *was, const gs_shape *before, const gs_shape *after, int64_t *ld, int64_t *stride);

/* The same problem with other extents; every row keeps its padding. */
gs_problem gs_problem_resized(const gs_problem *problem, int64_t m, int64_t n, int64_t k);

#endif
