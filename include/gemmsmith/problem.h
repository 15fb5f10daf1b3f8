/* SPDX-License-Identifier: MIT
 * A problem: the description of one matrix multiplication.
 *
 *     D[M x N] = alpha * A[M x K] * B[K x N] + beta * C[M x N]        all row-major
 *
 * With an epilogue, D = activation(alpha A B + beta C + bias), computed in f32 and rounded once, to D's type. With a gate, B has 2N columns, N of the gate and N of up
 * (the linear half), and
 *
 *     D = activation(alpha A B_gate + bias_gate) * (alpha A B_up + bias_up)        or, with a residual, that plus beta C
 *
 * With scales, alpha A B is multiplied by a factor per row, per column, or both, before anything is added: scale_m[i] * scale_n[j] * (alpha A B). The factors are f32
 * vectors in device memory. A single factor for all of D is alpha, which scalars=device reads from device memory as well.
 *
 * For training, the input of the activation can be written to an auxiliary M x N matrix, aux, in addition to D. The gradient of an activation reads aux:
 *
 *     D = (alpha A B + beta C) * activation'(aux)                                  or, with a residual, alpha A B * activation'(aux) + beta C
 *
 * With a gate, aux is M x 2N and has both factors before they are combined, alpha A B_gate + bias_gate and alpha A B_up + bias_up, its columns in the order of B's.
 *
 * Layout nn: A is stored M x K, B is stored K x N. tn: B is stored N x K (a weight matrix), so that both operands have K contiguous.
 * nt: A is stored K x M, B is stored K x N (the gradient of a weight matrix). tt: A is stored K x M, B is stored N x K.
 * Text form, the same on the command line, in logs, in the store and in tuned tables:
 *
 *     f16:4096x4096x4096:tn                                    M x N x K
 *     bf16:257x4096x4096:nn:d=f32:lda=4104:beta=1
 *
 * Optional fields with their defaults. They are printed in this order, and only where they differ from the default:
 *     acc=f16|f32    accumulator                              f32
 *     d=f16|bf16|f32 type of D and C                          the input type
 *     lda= ldb= ldc= ldd= ldaux=  leading dimensions, in elements    the row length
 *     b=             batch                                    1
 *     sa= sb= sc= sd=  elements from one matrix of the batch to the next; 0: all share one matrix (not D)     ld * rows
 *     se=            the same for the bias                    0: all share one bias
 *     saux=          the same for aux                         ldaux * M
 *     matrices=strided|pointers  how the matrices of a batch are found  strided
 *     g= gm= gk=     groups: of rows, masked, along K        none
 *     alpha= beta=                                            1, 0
 *     scalars=host|device  where alpha and beta of a run are  host
 *     inv=1          batch-invariant, see below               0
 *     const=b        constant weights, see below              none
 *     ep=            epilogue: words joined by +, in this order:     none
 *         scale_m, scale_n     alpha A B times a factor per row (M elements), per column (N elements, with a gate 2N), before anything is added
 *         bias, bias_m         a vector is added: one element per column of D, or one per row
 *         relu, gelu, gelu_erf, silu    the activation
 *         gate, gate_i         B has 2N columns: all of the gate before all of up, or the two alternating. Needs an activation; no bias_m
 *         drelu, dgelu, dgelu_erf, dsilu    instead of an activation, the gradient of one: aux is read. No bias, no gate
 *         residual             beta * C is added after the activation, not before it; with a gate after the two halves are multiplied
 *         dbias                the sum of each column of D is written to bias, N elements; N for each group, in the order of the groups. No gate
 *         aux                  the input of the activation is written to aux, with a gate both halves. Needs an activation
 *
 *     bf16:2048x11008x4096:tn:ep=bias+gelu
 *     bf16:2048x14336x4096:tn:ep=silu+gate          B is 28672 x 4096
 *     bf16:2048x11008x4096:tn:ep=scale_m+scale_n+bias   a factor per token and one per output channel of the weight
 *     bf16:2048x11008x4096:tn:ep=bias+gelu+aux      forward, and
 *     bf16:2048x11008x4096:nn:ep=dgelu              backward
 *     bf16:2048x14336x4096:tn:ep=silu+gate+aux      aux is 2048 x 28672
 *
 * Batch by pointers, matrices=pointers: the arguments a, b, c and d of a run are arrays in device memory of `batch` device pointers each, which the kernel reads when
 * it runs. Matrices of A, B and C may be anywhere and may repeat; matrices of D must not overlap. No strides, no groups and no aux; all matrices share one bias.
 *
 *     f16:16x16x16:tn:b=4096:matrices=pointers
 *
 * Groups (mixtures of experts), g=8: the rows of A and D are sorted by group. Each group has its own matrix B; these are stored one after the other, as in a batch.
 * Rows offsets[i] to offsets[i + 1] - 1 of D are the same rows of A times the B of group i. offsets are groups + 1 int32 values in device memory, which the kernel
 * reads when it runs: ascending, starting with 0, the last at most M. Groups may be empty. M is the capacity; rows of D after the last group are not written. A bias
 * along N and scale_n have N elements for each group; with a gate each group's B has 2N columns and its bias 2N elements.
 *
 *     bf16:4096x14336x4096:tn:g=8
 *     bf16:4096x14336x4096:tn:g=8:ep=silu+gate      the first half of an expert's MLP
 *
 * Masked groups, gm=8: each group owns M / 8 rows of A, C and D (M counts the rows of all groups) and uses the first counts[i] of them. gs_args.offsets then points to
 * the `groups` counts, each at most M / groups. Rows of D beyond a group's count are not written.
 *
 *     bf16:4096x14336x4096:tn:gm=8                  8 groups of up to 512 rows
 *
 * Groups along K, gk=8 (gradients of the weights of experts): A and B are one matrix each, sorted by group along K, and D and C are a batch of 8. Matrix i of D is the
 * product over k = offsets[i] to offsets[i + 1] - 1; K is the capacity. An empty group gives beta C. No strides, no epilogue.
 *
 *     bf16:14336x4096x4096:nt:gk=8                  A: 4096 x 14336, B: 4096 x 4096, D: 8 of 14336 x 4096
 *
 * Batch-invariant, inv=1: the bits of a row of D depend on the same row of A (and of C, aux and other operands with rows), on B, N, K and the rest of the problem, but
 * not on M, on the other rows, or on the row's position. A language model then gives the same answer whatever else is in its batch. All plans of such a problem on a
 * device add in the same order; cuBLASLt is never used. No groups along K, no dbias.
 *
 *     bf16:16x14336x4096:tn:inv=1
 *
 * Constant weights, const=b: no work that is pending when a run is put on its stream writes B. In a chain of dependent launches a kernel may then load B before the
 * previous kernel has ended. That is done where a row of the tuned table says that it is faster. It changes no result.
 *
 *     bf16:16x14336x4096:tn:const=b
 *
 * 64_4096_64 is a short form of f16:64x4096x64:nn. */
#ifndef GEMMSMITH_PROBLEM_H
#define GEMMSMITH_PROBLEM_H

#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gs_type { GS_F16 = 0, GS_BF16 = 1, GS_F32 = 2 } gs_type;

/* The letters are those of cuBLAS, which reads column-major matrices. It is given row-major data with the operands exchanged: B first, A second. The first letter says
 * whether cuBLAS transposes B, the second whether it transposes A. In row-major terms: first letter t, B is stored N x K, else K x N; second letter t, A is stored K x
 * M, else M x K. Of our kernels simple, mma, ws and splitk support A stored K x M. */
typedef enum gs_layout { GS_NN = 0, GS_TN = 1, GS_NT = 2, GS_TT = 3 } gs_layout;

/* Applied to an element of D before it is rounded. For minus infinity, gelu, gelu_erf and silu give 0 or NaN. A gradient multiplies the element by the derivative of
 * the activation at the element of aux. */
typedef enum gs_activation {
    GS_ACTIVATION_NONE = 0,
    GS_RELU            = 1,   /* max(x, 0); NaN stays NaN */
    GS_GELU            = 2,   /* the approximation by tanh: x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3))) */
    GS_GELU_ERF        = 3,   /* x / 2 (1 + erf(x / sqrt(2))) */
    GS_SILU            = 4,   /* x / (1 + exp(-x)) */
    GS_DRELU           = 5,   /* 0 where aux <= 0, else x */
    GS_DGELU           = 6,   /* x * gelu'(aux); this and the next two: 0 where aux is minus infinity, x where it is infinity */
    GS_DGELU_ERF       = 7,
    GS_DSILU           = 8
} gs_activation;

/* A vector of D's type that is added before the activation (along N, each group has its own), or, for GS_DBIAS, a vector that is written: the gradient of a bias. */
typedef enum gs_bias {
    GS_BIAS_NONE = 0,
    GS_BIAS_N    = 1,         /* N elements, one for each column of D, as in a linear layer. With a gate 2N, in the order of B's columns */
    GS_BIAS_M    = 2,         /* M elements, one for each row; not with a gate */
    GS_DBIAS     = 3          /* N elements that are written: the sum of each column of D, taken in f32 before its elements are rounded, over all matrices of the
                                 batch, or with stride_bias for each matrix. With groups of rows, N elements for each group, 0 for an empty group. The order of
                                 addition depends only on the problem, its offsets and the kernel. Not with a gate. Not written where M is 0 */
} gs_bias;

/* Whether B has two columns for each column of D, whose results are combined: D = activation(A B_gate) * (A B_up). N stays the width of D, ldb the length of a stored
 * row of B. Needs an activation. C is added only as a residual: with a gate, beta is 0 or residual is 1. */
typedef enum gs_gate {
    GS_GATE_NONE        = 0,
    GS_GATE_STACKED     = 1,  /* the N columns of the gate, then the N of up: torch.cat of both weights */
    GS_GATE_INTERLEAVED = 2   /* column 2j is of the gate, 2j + 1 of up */
} gs_gate;

/* Where the alpha and beta of a run are. In device memory they are two f32 values, which may change between replays of a graph. The problem's alpha and beta are then
 * ignored, except that a problem with beta 0 never reads C. If beta in device memory is 0, C may hold anything. */
typedef enum gs_scalars {
    GS_SCALARS_HOST     = 0,
    GS_SCALARS_DEVICE   = 1
} gs_scalars;

/* Combined by |. f32 factors of alpha A B, before anything is added. The sum is multiplied by alpha, then by the row's factor, then by the column's, each product
 * rounded to f32. NaN, infinities and zeros act as in any multiplication. */
typedef enum gs_scales {
    GS_SCALE_M = 1,           /* M elements, one for each row of D, also with groups. All matrices of a batch share them */
    GS_SCALE_N = 2            /* N elements, one for each column; all matrices of a batch share them, each group has its own. With a gate 2N, in the order of B's
                                 columns */
} gs_scales;

/* How the groups are stored. */
typedef enum gs_grouping {
    GS_GROUPS_SORTED    = 0,  /* rows, one group after the other: offsets say where each begins */
    GS_GROUPS_MASKED    = 1,  /* rows, each group in M / groups rows of its own: counts say how many of them it uses */
    GS_GROUPS_K         = 2   /* along K, sorted: a batch without strides whose matrices share A and B; groups is 0, batch is the number of groups */
} gs_grouping;

/* Operands that no pending work writes when a run is put on a stream: a promise of the caller. A dependent launch (gs_config.dependent) may then read them before the
 * previous kernel has ended. Before the next run, a caller who changed such an operand must wait for the stream; otherwise results are wrong. */
typedef enum gs_constant {
    GS_CONSTANT_NONE = 0,
    GS_CONSTANT_B    = 1      /* B: the weights of a layer in inference */
} gs_constant;

/* How the matrices of a batch are found. */
typedef enum gs_matrices {
    GS_MATRICES_STRIDED  = 0, /* by stride_a to stride_d */
    GS_MATRICES_POINTERS = 1  /* by arrays of pointers in device memory, one pointer for each matrix of the batch (the batch may be 1); no strides, groups or aux */
} gs_matrices;

#define GS_SAME_MATRIX  (-1LL)        /* stride of an operand that all matrices of a batch share */
#define GS_PROBLEM_TEXT 384           /* bytes that hold the text form of any problem, terminator included */
#define GS_MAX_EXTENT   2147483647LL  /* largest M, N, K, batch */
#define GS_MAX_STRIDE   (1LL << 46)   /* largest stride of a batch, in elements */
#define GS_MAX_LD       (1LL << 36)   /* largest leading dimension, in elements */
#define GS_MAX_GROUPS   4096LL        /* most groups */

/* Start from gs_problem_make or gs_problem_parse, which set size and reserved, then change fields. */
typedef struct gs_problem {
    uint32_t  size;               /* sizeof(gs_problem) as the caller was compiled; see status.h */
    gs_type   in;                 /* type of A and B: GS_F16 or GS_BF16 */
    gs_type   acc;                /* accumulator: GS_F32 or GS_F16 (f16 inputs only) */
    gs_type   out;                /* type of C and D */
    gs_layout layout;
    uint32_t  scalars;            /* gs_scalars: where alpha and beta of a run are */
    int64_t   m, n, k;            /* extents, >= 0; nothing is computed if M or N is 0; K = 0 gives D = beta * C */
    int64_t   lda, ldb, ldc, ldd; /* leading dimensions in elements; never 0 once initialised */
    int64_t   batch;              /* >= 1 */
    float     alpha, beta;        /* if beta is 0, C is not read */
    gs_activation activation;
    gs_bias   bias;
    uint32_t  residual;           /* 1: beta * C is added after the activation; needs an activation and a beta that is not 0. Else 0 */
    uint32_t  gate;               /* gs_gate: B has two columns for each column of D */
    int64_t   stride_a, stride_b, stride_c, stride_d;   /* elements from one matrix of the batch to the next; 0: ld * rows; GS_SAME_MATRIX: all share one matrix (not
                                                           D). Matrices of A, B or C may overlap. Those of D lie one after the other, or side by side: attention heads
                                                           in one row, ldd apart */
    int64_t   stride_bias;        /* elements from one bias of the batch to the next; 0: all matrices share one bias */
    int64_t   groups;             /* number of groups of rows, at most GS_MAX_GROUPS, and batch is then 1; 0: none */
    uint32_t  aux;                /* 1: the input of the activation is written to gs_args.aux; needs an activation that is not a gradient */
    uint32_t  grouping;           /* gs_grouping; 0 without groups. GS_GROUPS_MASKED: M is a multiple of groups; GS_GROUPS_K: batch is at most GS_MAX_GROUPS */
    int64_t   ldaux;              /* leading dimension of aux, in elements; 0: n, with a gate 2n. Only where aux is written or read */
    int64_t   stride_aux;         /* elements from one matrix of aux to the next; 0: ldaux * m. Like those of D they do not overlap */
    uint32_t  matrices;           /* gs_matrices */
    uint32_t  scales;             /* gs_scales, combined by |: gs_args.scale_m and scale_n are read */
    uint32_t  invariant;          /* 1: the bits of a row of D depend neither on M nor on the other rows; not with GS_GROUPS_K and GS_DBIAS. Else 0 */
    uint32_t  constant;           /* gs_constant: operands that no pending work writes */
    uint32_t  reserved[2];        /* zero */
} gs_problem;

/* Used by gs_problem_make and gs_problem_parse. size is the caller's sizeof(gs_problem); no byte beyond it is written. */
GS_API void      gs_problem_init(gs_problem *problem, size_t size, gs_type in, gs_layout layout, int64_t m, int64_t n, int64_t k);
GS_API gs_status gs_problem_read(gs_problem *problem, size_t size, const char *text, gs_error *error);

/* A problem where C and D have the input type, with f32 accumulator, packed, alpha 1, beta 0. Cannot fail: gs_problem_check finds invalid values. */
static inline gs_problem gs_problem_make(gs_type in, gs_layout layout, int64_t m, int64_t n, int64_t k)
{
    gs_problem problem;
    gs_problem_init(&problem, sizeof problem, in, layout, m, n, k);
    return problem;
}

/* Reads the text form. On failure *problem is unchanged and *error (may be NULL) names field and column. Returns GS_OK, GS_ERROR_PARSE (syntax) or GS_ERROR_RANGE (a
 * value that no problem may have). */
static inline gs_status gs_problem_parse(gs_problem *problem, const char *text, gs_error *error)
{
    return gs_problem_read(problem, sizeof *problem, text, error);
}

/* Writes the canonical text form; gs_problem_parse gives the same problem back. Returns text. */
GS_API char *gs_problem_format(const gs_problem *problem, char text[GS_PROBLEM_TEXT]);

/* GS_OK if the problem is valid; GS_ERROR_ARGUMENT (size), GS_ERROR_RANGE or GS_ERROR_UNSUPPORTED with the
 * field otherwise. */
GS_API gs_status gs_problem_check(const gs_problem *problem, gs_error *error);

/* Bytes from the first element to the end of the last, over the whole batch, of A, B, C or D (operand 'a', 'b', 'c', 'd'), the bias ('e'), the offsets or counts of
 * groups ('f'), aux ('g'), scale_m ('h') or scale_n ('i'); 0 if the problem has no such operand. For a batch by pointers, as if its matrices lay one after the other. */
GS_API size_t gs_problem_bytes(const gs_problem *problem, char operand);

/* 2 M N K batch, twice that with a gate; with groups as if one group had all M rows, or all of K. */
GS_API double gs_problem_flops(const gs_problem *problem);

/* Size in bytes of an element. */
GS_API size_t gs_type_size(gs_type type);

#ifdef __cplusplus
}
#endif
#endif
