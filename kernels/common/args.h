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
#if !defined(__CUDACC__) || defined(GS_MORE)
    /* Behind the 104 bytes that every kernel takes: for problems that need them, where the builder sets GS_MORE. */
    long long    stride_a, stride_b, stride_c, stride_d;   /* elements from a matrix of the batch to the next; 0: all are the same one */
    long long    stride_bias;
    const float *alpha_at, *beta_at;   /* in device memory, where GS_SCALARS is set: in place of alpha and beta */
    const int   *offsets;              /* where GS_GROUPED is set, to the number of groups: the first row of each, and behind the last the end. GS_MASKED: of each how many rows it has; GS_K_GROUPS: the same along K, batch groups */
    void        *aux;                  /* of D's type, rows ldaux elements apart; written or read */
    long long    ldaux, stride_aux;
    const float *scale_m, *scale_n;    /* where GS_SCALES says so */
#endif
#if !defined(__CUDACC__) || (defined(GS_EARLY_B) && GS_EARLY_B)
    int          early_b;              /* 1: B may be read before the launch before has ended: it is constant, and this launch is dependent */
#endif
} gs_kernel_args;

#endif
