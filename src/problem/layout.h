/* SPDX-License-Identifier: MIT
 * How matrices are stored, and the same problem with its B stored the other way, or with other extents. */
#ifndef GS_PROBLEM_LAYOUT_H
#define GS_PROBLEM_LAYOUT_H

#include <stdbool.h>
#include <gemmsmith/problem.h>

enum { GS_LAYOUTS = 4 };

const char *gs_layout_name(gs_layout layout);   /* "nn", "tn", "nt", "tt" */
bool        gs_layout_parse(const char *name, gs_layout *layout);

static inline bool gs_is_a_transposed(gs_layout layout) { return layout == GS_NT || layout == GS_TT; }   /* A is stored K x M */
static inline bool gs_is_b_transposed(gs_layout layout) { return layout == GS_TN || layout == GS_TT; }   /* B is stored N x K */

/* A as in `own`, B as in `b`. */
static inline gs_layout gs_layout_with_b(gs_layout own, gs_layout b) { return (gs_layout)((int)own & 2) | ((int)b & 1); }

/* An operand ('a' to 'd') of one matrix of the batch as it is stored: so many rows of `row` elements, which begin `ld` elements apart. 'e', the bias: one row,
 * or one for each group; 'f', the groups' offsets or counts, whose type is another one of their size; 'g', aux; 'h' and 'i', scale_m and scale_n. Empty where there are none. */
typedef struct gs_shape {
    int64_t rows, row, ld;
    int64_t stride, matrices;   /* elements from one to the next, and how many there are; 0 and 1 where all of the batch have the same. Of B with groups each has one */
    gs_type type;
} gs_shape;
gs_shape gs_shape_of(const gs_problem *problem, char operand);

/* ld * rows, of a problem that need not be valid. */
static inline int64_t gs_packed_stride(int64_t ld, int64_t rows) { return (int64_t)((uint64_t)ld * (uint64_t)rows); }

/* A, B, C, D, the bias, the groups' offsets, aux, scale_m and scale_n, by their letters. */
enum { GS_OPERANDS = 9 };
#define GS_OPERAND_LETTERS "abcdefghi"

/* The activation is the gradient of one, which reads aux. */
static inline bool gs_is_gradient(gs_activation activation) { return activation >= GS_DRELU; }

static inline bool gs_has_aux(const gs_problem *p) { return p->aux || gs_is_gradient(p->activation); }

/* A bias is added to the sums. */
static inline bool gs_adds_bias(const gs_problem *p) { return p->bias == GS_BIAS_N || p->bias == GS_BIAS_M; }

/* Elements of an operand are written. */
static inline bool gs_is_written(const gs_problem *p, char operand)
{
    return operand == 'd' || (operand == 'g' && p->aux) || (operand == 'e' && p->bias == GS_DBIAS);
}

/* Groups of rows or along K: offsets, or counts, in device memory. */
static inline bool    gs_has_offsets(const gs_problem *p) { return p->groups != 0 || p->grouping == GS_GROUPS_K; }
static inline int64_t gs_group_count(const gs_problem *p) { return p->grouping == GS_GROUPS_K ? p->batch : p->groups; }

/* Elements of an operand are read: C where beta is not 0, the bias and the offsets where there are any, aux with a gradient, scales. */
static inline bool gs_is_read(const gs_problem *p, char operand)
{
    return operand == 'c' ? p->beta != 0 : operand == 'e' ? gs_adds_bias(p) : operand == 'f' ? gs_has_offsets(p)
         : operand == 'g' ? gs_is_gradient(p->activation) : operand == 'h' ? (p->scales & GS_SCALE_M) != 0 : operand == 'i' ? (p->scales & GS_SCALE_N) != 0 : operand != 'd';
}

/* What a problem has beside a plain product, an epilogue and packed batches: a family says which of these it takes. */
enum {
    GS_WANTS_STRIDES = 1,    /* other strides of a batch than ld * rows, or a bias for each matrix */
    GS_WANTS_SCALARS = 2,    /* alpha and beta in device memory */
    GS_WANTS_GATE    = 4,
    GS_WANTS_GROUPS  = 8,
    GS_WANTS_AUX     = 16,   /* aux, written or read */
    GS_WANTS_DBIAS   = 32,
    GS_WANTS_K_GROUPS = 64,  /* groups along K */
    GS_WANTS_POINTERS = 128, /* arrays of pointers to the matrices of a batch */
    GS_WANTS_SCALES  = 256,
    GS_WANTS_INVARIANT = 512, /* rows whose bits depend on neither M nor their neighbours: k is added up in one order, by 16 at a time (docs/internals/invariant.md) */
    GS_WANTS_MORE    = GS_WANTS_STRIDES | GS_WANTS_SCALARS | GS_WANTS_GROUPS | GS_WANTS_AUX | GS_WANTS_DBIAS | GS_WANTS_K_GROUPS | GS_WANTS_SCALES   /* arguments behind GS_MORE, see args.h */
};
unsigned gs_problem_wants(const gs_problem *problem);
bool     gs_same_wishes(const gs_problem *x, const gs_problem *y);

/* Rows of a masked group; 0 where groups are sorted, or none. */
static inline int64_t gs_group_room(const gs_problem *p) { return p->groups && p->grouping == GS_GROUPS_MASKED ? p->m / p->groups : 0; }

/* Columns of B, and of the sums: two for each of D with a gate. */
static inline int64_t gs_columns_of_b(const gs_problem *p) { return p->gate ? gs_packed_stride(2, p->n) : p->n; }

/* More than alpha is applied to a sum. */
static inline bool gs_has_epilogue(const gs_problem *p) { return p->beta != 0 || p->bias != GS_BIAS_NONE || p->activation != GS_ACTIVATION_NONE || p->scales != 0; }
static inline bool gs_same_epilogue(const gs_problem *x, const gs_problem *y)
{
    return (x->beta != 0) == (y->beta != 0) && x->activation == y->activation && x->bias == y->bias && x->residual == y->residual && x->aux == y->aux && x->scales == y->scales;
}

/* Where an element is, in elements from the operand's begin. row: of the whole batch, so that it says which matrix of A. batch: of groups the group. */
int64_t gs_place_in_a(const gs_problem *problem, int64_t row, int64_t k);
int64_t gs_place_in_b(const gs_problem *problem, int64_t batch, int64_t k, int64_t col);
int64_t gs_place_in_c(const gs_problem *problem, int64_t row, int64_t col);
int64_t gs_place_in_d(const gs_problem *problem, int64_t row, int64_t col);

/* What every row of an operand ('a' to 'd') begins at a multiple of, as far as powers of two go, is that of this number of elements. */
int64_t gs_rows_unit(const gs_problem *problem, char operand);

/* The sums of D's columns that are written: of the whole batch, of each matrix, or of each group; and how many elements one begins behind the other. */
static inline int64_t gs_dbias_vectors(const gs_problem *p) { return p->groups ? p->groups : p->stride_bias && p->batch > 1 ? p->batch : 1; }
static inline int64_t gs_dbias_stride(const gs_problem *p) { return p->groups ? p->n : gs_shape_of(p, 'e').stride; }

/* The product whose D is aux: of a problem that writes it. Its sums are those of the problem's reference; with a gate those of all columns of B. */
gs_problem gs_problem_of_aux(const gs_problem *problem);

/* The same matrices with B as in `layout`, A as it was; the rows of B keep their padding. */
gs_problem gs_problem_in_layout(const gs_problem *problem, gs_layout layout);

/* The sums alone: beta 0, no scales, no bias, no activation, alpha from the host; with a gate, those of all columns of B, so that N, ldc and ldd grow by N. */
gs_problem gs_problem_sums(const gs_problem *problem);

/* The sums of matrices without padding, one behind the other. */
gs_problem gs_problem_packed(const gs_problem *problem);

/* What a call's pointer to A, B, C or D leads to: the elements, or the pointers to the matrices. Bytes. */
static inline size_t gs_args_bytes(const gs_problem *p, char operand) { return p->matrices ? (size_t)p->batch * sizeof(uint64_t) : gs_problem_bytes(p, operand); }

/* With other extents; every row keeps its padding. */
gs_problem gs_problem_resized(const gs_problem *problem, int64_t m, int64_t n, int64_t k);

#endif
