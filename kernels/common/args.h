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
    const void *bias;       /* read; written with GS_DBIAS; unused if the problem has none */
#if !defined(__CUDACC__) || defined(GS_MORE)
    /* After the 104 bytes that every kernel takes. The builder sets GS_MORE for problems that need these. */
    long long    stride_a, stride_b, stride_c, stride_d;   /* elements between consecutive matrices of the batch; 0: all share one */
    long long    stride_bias;
    const float *alpha_at, *beta_at;   /* device memory; with GS_SCALARS, in place of alpha and beta. beta_at may be NULL where the problem's beta is 0 */
    const int   *offsets;              /* GS_GROUPED (number of groups): first row of each group, then the end of the last; GS_MASKED: number of rows of each;
                                          GS_K_GROUPS: first k of each of `batch` ranges, then the end */
    void        *aux;                  /* D's type, rows ldaux elements apart; written with GS_AUX, read by the gradient of an activation */
    long long    ldaux, stride_aux;
    const float *scale_m, *scale_n;    /* factors of A B's rows and columns; GS_SCALES says which are read */
#endif
#if !defined(__CUDACC__) || (defined(GS_EARLY_B) && GS_EARLY_B)
    int          early_b;              /* 1: B may be read before the previous launch has ended: B is constant, and this is a dependent launch */
#endif
} gs_kernel_args;

#endif
