/* SPDX-License-Identifier: MIT
 * A problem: what is multiplied.
 *
 *     D[M x N] = alpha * A[M x K] * B[K x N] + beta * C[M x N]        all row-major
 *
 * and, where it has an epilogue, D = activation(alpha A B + beta C + bias), computed in f32 before the one rounding to D's type. With a gate B has 2N columns,
 * those of the gate and those that it lets up, and
 *
 *     D = activation(alpha A B_gate + bias_gate) * (alpha A B_up + bias_up)        or, with a residual, that plus beta C
 *
 * With scales the product has a factor for each row, for each column, or both, before anything is added: scale_m[i] * scale_n[j] * (alpha A B) in place of alpha A B. These
 * are vectors of f32 in device memory; one number for all of D is alpha, with scalars=device in device memory as well.
 *
 * For training: what the activation is applied to can be written beside D, to an auxiliary matrix of M x N, and with the gradient of an activation
 *
 *     D = (alpha A B + beta C) * activation'(aux)                                  or, with a residual, alpha A B * activation'(aux) + beta C
 *
 * reads it. With a gate it has both factors before they meet, alpha A B_gate + bias_gate and alpha A B_up + bias_up, in M x 2N, columns as those of B.
 *
 * Layout nn: A is stored M x K, B is stored K x N. tn: B is stored N x K (a weight matrix), so that both operands have K contiguous.
 * nt: A is stored K x M, B is stored K x N (the gradient of a weight matrix). tt: A is stored K x M, B is stored N x K.
 * Text form, the same on the command line, in logs, in the store and in tuned tables:
 *
 *     f16:4096x4096x4096:tn                                    M x N x K
 *     bf16:257x4096x4096:nn:d=f32:lda=4104:beta=1
 *
 * Optional fields, in this order when printed, only where they differ from the default:
 *     acc=f16|f32    accumulator                              f32
 *     d=f16|bf16|f32 type of D and C                          the input type
 *     lda= ldb= ldc= ldd= ldaux=  leading dimensions, in elements    the row length
 *     b=             batch                                    1
 *     sa= sb= sc= sd=  elements from a matrix of the batch to the next; 0: all have the same one (not D)     ld * rows
 *     se=            the same of the bias                     0: all have the same
 *     saux=          the same of the auxiliary matrix         ldaux * M
 *     matrices=strided|pointers  how those of a batch are found  strided
 *     g= gm= gk=     groups: of rows, masked, along K        none
 *     alpha= beta=                                            1, 0
 *     scalars=host|device  where those of a run are           host
 *     inv=1          a row's bits depend neither on M nor on the rows beside it     0
 *     ep=            epilogue: words joined by +, in this order:     none
 *         scale_m, scale_n     a factor for each row, for each column: of alpha A B, before anything is added. One of M, one of N elements, with a gate 2N
 *         bias, bias_m         a vector is added: an element per column of D, or one per row
 *         relu, gelu, gelu_erf, silu    the activation
 *         gate, gate_i         B has 2N columns: the N of the gate first, or gate and up in turn. Needs an activation; no bias_m
 *         drelu, dgelu, dgelu_erf, dsilu    in place of an activation the gradient of one: aux is read. No bias, no gate
 *         residual             beta * C is added behind the activation, not before it; with a gate also behind the product
 *         dbias                the sum of each column of D is written to bias, N elements; of each group its own, one behind the other. No gate
 *         aux                  what the activation is applied to is written to aux, with a gate also what it lets up. Needs an activation
 *
 *     bf16:2048x11008x4096:tn:ep=bias+gelu
 *     bf16:2048x14336x4096:tn:ep=silu+gate          B is 28672 x 4096
 *     bf16:2048x11008x4096:tn:ep=scale_m+scale_n+bias   a factor for each token, one for each channel of the weight
 *     bf16:2048x11008x4096:tn:ep=bias+gelu+aux      forward, and
 *     bf16:2048x11008x4096:nn:ep=dgelu              backward
 *     bf16:2048x14336x4096:tn:ep=silu+gate+aux      aux is 2048 x 28672
 *
 * Pointers, matrices=pointers: a, b, c and d of a call are arrays in device memory, of as many device pointers as the batch has matrices, and the kernel reads these
 * when it runs. Each matrix lies where its pointer says: those of A, B and C anywhere, so that several may be the same, those of D apart from each other. No strides and no
 * groups; one bias for all, no aux.
 *
 *     f16:16x16x16:tn:b=4096:matrices=pointers
 *
 * Groups (mixtures of experts): the rows of A and D, sorted by group, and a matrix B for each group, one behind the other as those of a batch.
 * Rows offsets[i] to offsets[i + 1] - 1 of D are those rows of A times B of group i, where offsets, in device memory, are groups + 1 numbers that the
 * kernel reads when it runs: ascending, from 0, the last at most M. Groups may be empty. M is the capacity; rows of D behind the last group are not
 * written. A bias along N has a row of N elements for each group, scale_n as well; with a gate each group's B has 2N columns, and its bias 2N elements.
 *
 *     bf16:4096x14336x4096:tn:g=8
 *     bf16:4096x14336x4096:tn:g=8:ep=silu+gate      the first half of an expert's MLP
 *
 * Masked groups, gm=8: each group has a room of M / 8 rows of A, C and D (M is that of all), of which the first counts[i] are used; counts are `groups` numbers in device
 * memory, each at most M / groups, in the place of the offsets. Rows of D behind a group's count are not written.
 *
 *     bf16:4096x14336x4096:tn:gm=8                  8 groups of up to 512 rows
 *
 * Groups along K, gk=8 (gradients of the weights of experts): A and B are one matrix each, sorted by group along K, and D and C are a batch of 8. Matrix i of D is the
 * product of k offsets[i] to offsets[i + 1] - 1; K is the capacity. An empty group gives beta C. No strides, no epilogue.
 *
 *     bf16:14336x4096x4096:nt:gk=8                  A: 4096 x 14336, B: 4096 x 4096, D: 8 of 14336 x 4096
 *
 * Batch-invariant, inv=1: the bits of a row of D depend on that row of A (and of C, aux and what else has rows), on B, N, K and the rest of the problem, but neither on M nor on
 * what the other rows hold, nor on where among them it stands. A language model answers the same then, whatever else is in its batch. Every plan of such a problem on a
 * device adds up in the same order; cuBLASLt is never taken. No groups along K, no dbias.
 *
 *     bf16:16x14336x4096:tn:inv=1
 *
 * Constant weights, const=b: nothing that is under way when a run is put on its stream writes B. In a chain of dependent launches B is then asked for before the kernel in front
 * has ended, where a row of the tuned table says that it wins. It changes no result.
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

/* The letters are cuBLAS's. cuBLAS reads column-major matrices, so it is given row-major data with the operands exchanged: B first, A
 * second. The first letter says whether cuBLAS transposes B, the second whether it transposes A. In the words of row-major data: t in the
 * first place, B is stored N x K, else K x N; t in the second, A is stored K x M, else M x K. Of our kernels simple, mma, ws and splitk take A stored K x M. */
typedef enum gs_layout { GS_NN = 0, GS_TN = 1, GS_NT = 2, GS_TT = 3 } gs_layout;

/* What is applied to an element of D before it is rounded. Minus infinity gives 0 or NaN with gelu, gelu_erf and silu. The gradients multiply it by the activation's slope at
 * the element of aux. */
typedef enum gs_activation {
    GS_ACTIVATION_NONE = 0,
    GS_RELU            = 1,   /* max(x, 0); NaN stays NaN */
    GS_GELU            = 2,   /* the approximation by tanh: x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3))) */
    GS_GELU_ERF        = 3,   /* x / 2 (1 + erf(x / sqrt(2))) */
    GS_SILU            = 4,   /* x / (1 + exp(-x)) */
    GS_DRELU           = 5,   /* 0 where aux <= 0, else x */
    GS_DGELU           = 6,   /* x * gelu'(aux), and so on: 0 for aux of minus infinity, x for infinity */
    GS_DGELU_ERF       = 7,
    GS_DSILU           = 8
} gs_activation;

/* A vector that is added to D before the activation, of D's type; each group has its own along N. Or one that is written: the gradient of a bias. */
typedef enum gs_bias {
    GS_BIAS_NONE = 0,
    GS_BIAS_N    = 1,         /* N elements, one for each column of D: that of a linear layer. With a gate 2N, in the order of B's columns */
    GS_BIAS_M    = 2,         /* M elements, one for each row; not with a gate */
    GS_DBIAS     = 3          /* N elements that are written: the sum of each column of D, of its elements before they are rounded, over all matrices of the batch, or with
                                 stride_bias of each; of groups of rows each has its own N elements, 0 where it is empty. In f32, in an order that depends on the problem, its
                                 offsets and the kernel alone. Not with a gate. Not written where M is 0 */
} gs_bias;

/* Whether B has two columns for each of D, whose results are combined: D = activation(A B_gate) * (A B_up). N stays the width of D, ldb the length of
 * a stored row of B. Needs an activation. C is added with a residual only: with a gate, beta is 0 or residual is 1. */
typedef enum gs_gate {
    GS_GATE_NONE        = 0,
    GS_GATE_STACKED     = 1,  /* the N columns of the gate, then the N of up: torch.cat of both weights */
    GS_GATE_INTERLEAVED = 2   /* columns 2j: of the gate, 2j + 1: of up */
} gs_gate;

/* Where the alpha and beta of a run are. In device memory they are two f32, and may change between the replays of a graph; the problem's own are then not used, but for
 * whether beta is 0, which says that C is not read. A beta of 0 there counts as 0: C may hold anything. */
typedef enum gs_scalars {
    GS_SCALARS_HOST     = 0,
    GS_SCALARS_DEVICE   = 1
} gs_scalars;

/* Factors of alpha A B, f32, before anything is added: bits. alpha times the sum, times that of the row, times that of the column, each rounded to f32. NaN, infinities and
 * zeros count as they do in products. */
typedef enum gs_scales {
    GS_SCALE_M = 1,           /* M elements, one for each row of D; with groups of all rows. All matrices of a batch share them */
    GS_SCALE_N = 2            /* N elements, one for each column; all matrices of a batch share them, each group has its own. With a gate 2N, in the order of B's columns */
} gs_scales;

/* How groups lie. */
typedef enum gs_grouping {
    GS_GROUPS_SORTED    = 0,  /* one group behind the other: offsets say where each begins */
    GS_GROUPS_MASKED    = 1,  /* each in M / groups rows of its own: counts say how many of them it uses */
    GS_GROUPS_K         = 2   /* along K, sorted: of a batch without strides that shares A and B; groups is 0, batch says how many there are */
} gs_grouping;

/* Operands of which the caller promises that nothing which is still under way when a run is put on a stream writes them. A launch that begins while the kernel in front of it
 * ends (gs_config.dependent) may then read them before that kernel has ended. Whoever changes such an operand waits for the stream before the next run; else results are wrong. */
typedef enum gs_constant {
    GS_CONSTANT_NONE = 0,
    GS_CONSTANT_B    = 1      /* B: the weights of a layer in inference */
} gs_constant;

/* How the matrices of a batch are found. */
typedef enum gs_matrices {
    GS_MATRICES_STRIDED  = 0, /* by stride_a to stride_d */
    GS_MATRICES_POINTERS = 1  /* by arrays of pointers in device memory, one for each of a batch of any length, 1 too; no strides, groups or aux */
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
    int64_t   m, n, k;            /* extents, >= 0; an extent of 0 is an empty problem, K = 0 gives D = beta * C */
    int64_t   lda, ldb, ldc, ldd; /* leading dimensions in elements; never 0 once initialised */
    int64_t   batch;              /* >= 1 */
    float     alpha, beta;        /* beta = 0 never reads C */
    gs_activation activation;
    gs_bias   bias;
    uint32_t  residual;           /* 1: beta * C is added behind the activation; needs both, else 0 */
    uint32_t  gate;               /* gs_gate: B has two columns for each of D */
    int64_t   stride_a, stride_b, stride_c, stride_d;   /* elements from a matrix of the batch to the next; 0: ld * rows; GS_SAME_MATRIX: all have one, not of D.
                                     Matrices of A, B or C may overlap, those of D lie one behind the other or side by side: rows of heads, ldd apart */
    int64_t   stride_bias;        /* the same of the bias; 0: all matrices have one bias */
    int64_t   groups;             /* 0: none; or how many groups of rows, at most GS_MAX_GROUPS, then batch is 1 */
    uint32_t  aux;                /* 1: what the activation is applied to is written to gs_args.aux; needs an activation that is no gradient */
    uint32_t  grouping;           /* gs_grouping; without groups 0. GS_GROUPS_MASKED: M is a multiple of groups; GS_GROUPS_K: batch is at most GS_MAX_GROUPS */
    int64_t   ldaux;              /* leading dimension of aux, in elements; 0: n, with a gate 2n. Only where aux is written or read */
    int64_t   stride_aux;         /* elements from a matrix of aux to the next; 0: ldaux * m. As of D they do not overlap */
    uint32_t  matrices;           /* gs_matrices */
    uint32_t  scales;             /* gs_scales, joined by |: gs_args.scale_m and scale_n are read */
    uint32_t  invariant;          /* 1: a row's bits depend neither on M nor on the rows beside it; not with GS_GROUPS_K and GS_DBIAS, else 0 */
    uint32_t  constant;           /* gs_constant: operands that no work in front of a run changes */
    uint32_t  reserved[2];        /* zero */
} gs_problem;

/* Used by the inline calls below. size is the caller's sizeof(gs_problem); no byte beyond it is written. */
GS_API void      gs_problem_init(gs_problem *problem, size_t size, gs_type in, gs_layout layout, int64_t m, int64_t n, int64_t k);
GS_API gs_status gs_problem_read(gs_problem *problem, size_t size, const char *text, gs_error *error);

/* f16 in, f32 accumulator, f16 out, packed, alpha 1, beta 0. Cannot fail: gs_problem_check finds invalid values. */
static inline gs_problem gs_problem_make(gs_type in, gs_layout layout, int64_t m, int64_t n, int64_t k)
{
    gs_problem problem;
    gs_problem_init(&problem, sizeof problem, in, layout, m, n, k);
    return problem;
}

/* Reads a text form. On failure *problem is unchanged and *error (may be NULL) names field and column.
 * Returns GS_OK, GS_ERROR_PARSE (syntax) or GS_ERROR_RANGE (a value no problem may have). */
static inline gs_status gs_problem_parse(gs_problem *problem, const char *text, gs_error *error)
{
    return gs_problem_read(problem, sizeof *problem, text, error);
}

/* Writes the canonical text form; gs_problem_parse gives the same problem back. Returns text. */
GS_API char *gs_problem_format(const gs_problem *problem, char text[GS_PROBLEM_TEXT]);

/* GS_OK if the problem is valid; GS_ERROR_ARGUMENT (size), GS_ERROR_RANGE or GS_ERROR_UNSUPPORTED with the
 * field otherwise. */
GS_API gs_status gs_problem_check(const gs_problem *problem, gs_error *error);

/* Bytes from the first to one past the last element of A, B, C or D (operand 'a', 'b', 'c', 'd'), all of the batch, of the bias ('e'), of
 * the groups' offsets or counts ('f'), of aux ('g'), of scale_m ('h') or scale_n ('i'), 0 without. Of a batch by pointers as if its matrices lay one behind the other. */
GS_API size_t gs_problem_bytes(const gs_problem *problem, char operand);

/* 2 M N K batch, twice that with a gate; of groups as if all M rows, or all of K, were in one. */
GS_API double gs_problem_flops(const gs_problem *problem);

/* Size in bytes of an element. */
GS_API size_t gs_type_size(gs_type type);

#ifdef __cplusplus
}
#endif
#endif
