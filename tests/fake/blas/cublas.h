/* SPDX-License-Identifier: MIT
 * cuBLAS as a program declares it, without NVIDIA's headers, and what the fake tells tests. Enums are int in the ABI. */
#ifndef FAKE_BLAS_CUBLAS_H
#define FAKE_BLAS_CUBLAS_H

#include <stdint.h>

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetStream_v2(void *handle, void *stream);
int cublasGetStream_v2(void *handle, void **stream);
int cublasSetPointerMode_v2(void *handle, int mode);
int cublasGetPointerMode_v2(void *handle, int *mode);
int cublasSetMathMode(void *handle, int mode);
int cublasGetMathMode(void *handle, int *mode);
int cublasSetWorkspace_v2(void *handle, void *workspace, uint64_t bytes);
int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                 void *c, int type_c, int ldc, int compute, int algo);
int cublasGemmEx_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a, int64_t lda, const void *b, int type_b, int64_t ldb,
                    const void *beta, void *c, int type_c, int64_t ldc, int compute, int algo);
int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda, long long stride_a, const void *b, int type_b,
                               int ldb, long long stride_b, const void *beta, void *c, int type_c, int ldc, long long stride_c, int batch, int compute, int algo);
int cublasGemmStridedBatchedEx_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a, int64_t lda, long long stride_a,
                                  const void *b, int type_b, int64_t ldb, long long stride_b, const void *beta, void *c, int type_c, int64_t ldc, long long stride_c, int64_t batch, int compute,
                                  int algo);
int cublasGemmBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *const *a, int type_a, int lda, const void *const *b, int type_b, int ldb,
                        const void *beta, void *const *c, int type_c, int ldc, int batch, int compute, int algo);
int cublasGemmBatchedEx_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *const *a, int type_a, int64_t lda, const void *const *b,
                           int type_b, int64_t ldb, const void *beta, void *const *c, int type_c, int64_t ldc, int64_t batch, int compute, int algo);
int cublasHgemm(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
int cublasHgemm_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c,
                   int64_t ldc);
int cublasHgemmStridedBatched(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, long long stride_a, const void *b, int ldb, long long stride_b,
                              const void *beta, void *c, int ldc, long long stride_c, int batch);
int cublasHgemmStridedBatched_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda, long long stride_a, const void *b,
                                 int64_t ldb, long long stride_b, const void *beta, void *c, int64_t ldc, long long stride_c, int64_t batch);

/* Multiplications that reached the fake library. */
int fake_blas_calls(void);

/* From now on, multiplications compute nothing and write their arguments there, as the program's call has them; NULL: as usual again. */
void fake_blas_note(int64_t *arguments);

#endif
