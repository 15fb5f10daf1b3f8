/* SPDX-License-Identifier: MIT
 * What a test sees of fake/libcublaslt.c. */
#ifndef GS_TESTS_FAKE_CUBLASLT_H
#define GS_TESTS_FAKE_CUBLASLT_H

#include <stdint.h>

/* The last multiplication. */
typedef struct fake_call {
    uint32_t    epilogue;   /* 0: none was set */
    const void *bias, *c;
    void       *d;
    float       beta;       /* of f32 */
    const void *a, *b;      /* as it names them: our B is its A */
    uint64_t    cols;       /* of its D: our rows */
    void       *workspace;
    size_t      workspace_size;
    int         by_pointers;   /* how many of A, B, C and D */
    const void *aux;
    int64_t     aux_ld, aux_stride;
} fake_call;

#endif
