/* SPDX-License-Identifier: MIT
 * Converts the tensors of a call to a problem: types, shape, layout, strides. Depends on torch only in how tensors are described. */
#ifndef GS_TORCH_FORM_H
#define GS_TORCH_FORM_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

enum { GS_TORCH_OTHER_TYPE = -1 };

typedef struct gs_torch_tensor {
    int64_t        dim;
    const int64_t *size, *stride;   /* size and stride of each dimension, in elements */
    int            type;            /* gs_type; 3: int32; GS_TORCH_OTHER_TYPE */
    bool           here;            /* it is on the device of the call */
    char          *data;
} gs_torch_tensor;

enum { GS_TORCH_INT32 = 3 };

/* The operands and options of a call. NULL: the call has no such operand. */
typedef struct gs_torch_call {
    const gs_torch_tensor *a;         /* M x K, or a batch of these */
    const gs_torch_tensor *b;         /* K x N, or a batch of these; a weight: N x K, with a gate 2N x K, with groups a batch of these */
    const gs_torch_tensor *c;         /* added to the product, times beta; may be broadcast */
    const gs_torch_tensor *d;         /* M x N; NULL: the result is allocated later, packed */
    const gs_torch_tensor *bias;      /* N elements, with a gate 2N, with groups one row for each */
    const gs_torch_tensor *offsets;   /* groups + 1 int32 */
    bool                   along_k;   /* groups along K: A and B are one matrix each, and D is a batch with one matrix for each group */
    const gs_torch_tensor *aux;       /* M x N, with a gate M x 2N, packed: written, or read with the gradient of an activation */
    float                  alpha, beta;
    bool                   weight;
    bool                   constant;  /* no pending work writes B; applies if it is N x K in memory */
    int                    activation, gate, residual;   /* gs_activation, gs_gate */
} gs_torch_call;

/* Plans are found by key: calls with equal keys are the same problem, whatever alpha is, and beta if it is not 0. No padding, because keys are compared by their
 * bytes. */
typedef struct gs_torch_key {
    uint32_t in, layout;
    uint32_t epilogue;    /* bits: activation, gate << 8, bias << 16, residual << 20, C is read << 24, invariant << 25, constant << 26, aux is written << 27, groups
                             along K (then batch is their number) << 28 */
    uint32_t groups;
    int64_t  m, n, k, lda, ldb, ldc, ldd, batch, stride_a, stride_b, stride_c, stride_d;   /* as in gs_problem */
} gs_torch_key;

/* The addresses of a run; NULL where there is no such operand. */
typedef struct gs_torch_pointers {
    void *a, *b, *c, *d, *bias, *offsets, *aux;
} gs_torch_pointers;

/* Why a call is left to torch. */
typedef enum gs_torch_reason {
#define GS_TORCH_REASON(name, text) GS_TORCH_##name,
#include "torch/reasons.def"
#undef GS_TORCH_REASON
    GS_TORCH_REASONS
} gs_torch_reason;

const char *gs_torch_reason_text(gs_torch_reason reason);

/* GS_TORCH_FITS with the key and the addresses, or why the call is left to torch. Calls that torch would refuse are also left to it. */
gs_torch_reason gs_torch_form(const gs_torch_call *call, gs_torch_key *key, gs_torch_pointers *pointers);

/* Whether the two share memory; strides are not negative. */
bool gs_torch_overlap(const gs_torch_tensor *x, const gs_torch_tensor *y);

/* The problem of a key, with beta 1 if C is read. */
gs_status gs_torch_problem(const gs_torch_key *key, gs_problem *out, gs_error *error);

/* The key that a call for this problem would have. UNSUPPORTED: no call could ask for it. */
gs_status gs_torch_key_of(const gs_problem *problem, gs_torch_key *out, gs_error *error);

#endif
