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
} fake_call;

#endif
