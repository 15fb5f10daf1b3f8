/* SPDX-License-Identifier: MIT
 * From the tensors of a call to the problem that it is: types, extents, layout, strides. Knows nothing of torch but how it describes tensors. */
#ifndef GS_TORCH_FORM_H
#define GS_TORCH_FORM_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

enum { GS_TORCH_OTHER_TYPE = -1 };

typedef struct gs_torch_tensor {
    int64_t        dim;
    const int64_t *size, *stride;   /* dim of each, in elements */
    int            type;            /* gs_type; 3: int32; GS_TORCH_OTHER_TYPE */
    bool           here;            /* on the device of the call */
    char          *data;
} gs_torch_tensor;

enum { GS_TORCH_INT32 = 3 };

/* What a call asks for. NULL: it has none. */
typedef struct gs_torch_call {
    const gs_torch_tensor *a;         /* M x K, or a batch of these */
    const gs_torch_tensor *b;         /* K x N, or a batch of these; of a weight N x K, with a gate 2N x K, with groups a batch of these */
    const gs_torch_tensor *c;         /* what is added, times beta; it may be broadcast */
    const gs_torch_tensor *d;         /* M x N; NULL: it is made, packed */
    const gs_torch_tensor *bias;      /* N, with a gate 2N, with groups a row for each */
    const gs_torch_tensor *offsets;   /* groups + 1 int32 */
    bool                   along_k;   /* the groups are along K: A and B are one matrix each, and D is a batch of one for each group */
    const gs_torch_tensor *aux;       /* M x N, with a gate M x 2N, without gaps: written, with the gradient of an activation read */
    float                  alpha, beta;
    bool                   weight;
    bool                   constant;  /* B does not change while work is under way, if it is N x K in memory */
    int                    activation, gate, residual;   /* gs_activation, gs_gate */
} gs_torch_call;

/* What plans are found by: two calls with one key are the same problem, whatever alpha, and beta if it is not 0. Without padding. */
typedef struct gs_torch_key {
    uint32_t in, layout;
    uint32_t epilogue;    /* activation, gate << 8, bias << 16, residual << 20, C is read << 24, invariant << 25, constant << 26, aux is written << 27, groups along K, whose number is the batch << 28 */
    uint32_t groups;
    int64_t  m, n, k, lda, ldb, ldc, ldd, batch, stride_a, stride_b, stride_c, stride_d;   /* as in gs_problem */
} gs_torch_key;

/* The addresses of a run; those that are not there are NULL. */
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

/* GS_TORCH_FITS and the key and the addresses, or why it is none of ours. A call that torch would refuse is none of ours. */
gs_torch_reason gs_torch_form(const gs_torch_call *call, gs_torch_key *key, gs_torch_pointers *pointers);

/* Whether they have memory in common; strides are not negative. */
bool gs_torch_overlap(const gs_torch_tensor *x, const gs_torch_tensor *y);

/* The problem of a key, beta 1 where C is read. */
gs_status gs_torch_problem(const gs_torch_key *key, gs_problem *out, gs_error *error);

/* The key of a problem that a call could ask for. UNSUPPORTED: none could. */
gs_status gs_torch_key_of(const gs_problem *problem, gs_torch_key *out, gs_error *error);

#endif
