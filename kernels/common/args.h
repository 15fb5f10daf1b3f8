/* SPDX-License-Identifier: MIT
 * The argument block that every kernel takes after its tensor maps. Read by the host compiler and by NVRTC: plain C.
 * Pointers and leading dimensions as in gs_args and gs_problem; leading dimensions in elements. */
#ifndef GS_KERNELS_ARGS_H
#define GS_KERNELS_ARGS_H

typedef struct gs_kernel_args {
    const void *a;
    const void *b;
    const void *c;          /* not read when beta is 0 */
    void       *d;
    void       *workspace;
    long long   lda, ldb, ldc, ldd;
    int         m, n, k, batch;
    float       alpha, beta;
    const void *bias;       /* not read where the problem has none */
} gs_kernel_args;

#endif
