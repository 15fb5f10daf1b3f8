/* SPDX-License-Identifier: MIT
 * What fake/libcublaslt.c shows tests. */
#ifndef GS_TESTS_FAKE_CUBLASLT_H
#define GS_TESTS_FAKE_CUBLASLT_H

#include <stdint.h>

/* The last multiplication. */
typedef struct fake_call {
    uint32_t    epilogue;   /* 0: none was set */
    const void *bias, *c;
    void       *d;
    float       beta;       /* as f32 */
    const void *a, *b;      /* cuBLASLt's A and B: our B is its A */
    uint64_t    cols;       /* columns of cuBLASLt's D, which are our rows */
    void       *workspace;
    size_t      workspace_size;
    int         by_pointers;   /* how many of A, B, C and D are arrays of pointers */
    const void *aux;
    int64_t     aux_ld, aux_stride;
} fake_call;

#endif
