/* SPDX-License-Identifier: MIT
 * The names that programs call; each puts its arguments into a gs_shim_call. They must be found before the library's own, so they have the same types. */
#include "shim/shim.h"

#include "cublas/cublas.h"
#include "shim/real.h"

/* If the library lacks the function, no program that is linked to it calls this. */
#define REAL(field, ...) return i->library->field ? i->library->field(__VA_ARGS__) : GS_CUBLAS_NOT_INITIALIZED

/* library NULL: the program has no cuBLAS and found only our name. */
static int multiply(const gs_shim_call *call) { return call->library ? gs_shim_multiply(call) : GS_CUBLAS_NOT_INITIALIZED; }

/* ---- one product ---- */

static int pass_gemm_ex(const gs_shim_call *i)
{
    REAL(gemm_ex, i->handle, i->op_a, i->op_b, (int)i->m, (int)i->n, (int)i->k, i->alpha, i->a, i->type_a, (int)i->lda, i->b, i->type_b, (int)i->ldb,
                  i->beta, i->c, i->type_c, (int)i->ldc, i->compute, i->algo);
}
GS_API gs_real_gemm_ex cublasGemmEx;
int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda, const void *b,
                 int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algo)
{
    const gs_shim_call call = {GS_SHIM_GEMM_EX, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, type_a, type_b, type_c, compute, algo, m, n, k, lda, ldb, ldc, 1, alpha,
                               beta, a, b, c, pass_gemm_ex};
    return multiply(&call);
}

static int pass_gemm_ex_64(const gs_shim_call *i)
{
    REAL(gemm_ex_64, i->handle, i->op_a, i->op_b, i->m, i->n, i->k, i->alpha, i->a, i->type_a, i->lda, i->b, i->type_b, i->ldb, i->beta, i->c,
                     i->type_c, i->ldc, i->compute, i->algo);
}
GS_API gs_real_gemm_ex_64 cublasGemmEx_64;
int cublasGemmEx_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a, int64_t lda,
                    const void *b, int type_b, int64_t ldb, const void *beta, void *c, int type_c, int64_t ldc, int compute, int algo)
{
    const gs_shim_call call = {GS_SHIM_GEMM_EX_64, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, type_a, type_b, type_c, compute, algo, m, n, k, lda, ldb, ldc, 1,
                               alpha, beta, a, b, c, pass_gemm_ex_64};
    return multiply(&call);
}

/* ---- a batch by strides ---- */

static int pass_gemm_strided_ex(const gs_shim_call *i)
{
    REAL(gemm_strided_ex, i->handle, i->op_a, i->op_b, (int)i->m, (int)i->n, (int)i->k, i->alpha, i->a, i->type_a, (int)i->lda, i->stride_a, i->b,
                          i->type_b, (int)i->ldb, i->stride_b, i->beta, i->c, i->type_c, (int)i->ldc, i->stride_c, (int)i->batch, i->compute,
                          i->algo);
}
GS_API gs_real_gemm_strided_ex cublasGemmStridedBatchedEx;
int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,
                               long long stride_a, const void *b, int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c,
                               int ldc, long long stride_c, int batch, int compute, int algo)
{
    const gs_shim_call call = {GS_SHIM_GEMM_STRIDED_EX, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, type_a, type_b, type_c, compute, algo, m, n, k, lda, ldb, ldc, batch,
                               alpha, beta, a, b, c, pass_gemm_strided_ex, false, stride_a, stride_b, stride_c};
    return multiply(&call);
}

static int pass_gemm_strided_ex_64(const gs_shim_call *i)
{
    REAL(gemm_strided_ex_64, i->handle, i->op_a, i->op_b, i->m, i->n, i->k, i->alpha, i->a, i->type_a, i->lda, i->stride_a, i->b, i->type_b, i->ldb,
                             i->stride_b, i->beta, i->c, i->type_c, i->ldc, i->stride_c, i->batch, i->compute, i->algo);
}
GS_API gs_real_gemm_strided_ex_64 cublasGemmStridedBatchedEx_64;
int cublasGemmStridedBatchedEx_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a,
                                  int64_t lda, long long stride_a, const void *b, int type_b, int64_t ldb, long long stride_b, const void *beta,
                                  void *c, int type_c, int64_t ldc, long long stride_c, int64_t batch, int compute, int algo)
{
    const gs_shim_call call = {GS_SHIM_GEMM_STRIDED_EX_64, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, type_a, type_b, type_c, compute, algo, m, n, k, lda, ldb, ldc, batch,
                               alpha, beta, a, b, c, pass_gemm_strided_ex_64, false, stride_a, stride_b, stride_c};
    return multiply(&call);
}

/* ---- f16 with sums in f16 ---- */

static int pass_hgemm(const gs_shim_call *i)
{
    REAL(hgemm, i->handle, i->op_a, i->op_b, (int)i->m, (int)i->n, (int)i->k, i->alpha, i->a, (int)i->lda, i->b, (int)i->ldb, i->beta, i->c,
                (int)i->ldc);
}
GS_API gs_real_hgemm cublasHgemm;
int cublasHgemm(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, const void *b, int ldb,
                const void *beta, void *c, int ldc)
{
    const gs_shim_call call = {GS_SHIM_HGEMM, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, GS_CUDA_R_16F, GS_CUDA_R_16F, GS_CUDA_R_16F, GS_CUBLAS_COMPUTE_16F,
                               GS_CUBLAS_GEMM_DEFAULT, m, n, k, lda, ldb, ldc, 1, alpha, beta, a, b, c, pass_hgemm};
    return multiply(&call);
}

static int pass_hgemm_64(const gs_shim_call *i)
{
    REAL(hgemm_64, i->handle, i->op_a, i->op_b, i->m, i->n, i->k, i->alpha, i->a, i->lda, i->b, i->ldb, i->beta, i->c, i->ldc);
}
GS_API gs_real_hgemm_64 cublasHgemm_64;
int cublasHgemm_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda, const void *b,
                   int64_t ldb, const void *beta, void *c, int64_t ldc)
{
    const gs_shim_call call = {GS_SHIM_HGEMM_64, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, GS_CUDA_R_16F, GS_CUDA_R_16F, GS_CUDA_R_16F, GS_CUBLAS_COMPUTE_16F,
                               GS_CUBLAS_GEMM_DEFAULT, m, n, k, lda, ldb, ldc, 1, alpha, beta, a, b, c, pass_hgemm_64};
    return multiply(&call);
}

/* ---- a batch of these ---- */

static int pass_hgemm_strided(const gs_shim_call *i)
{
    REAL(hgemm_strided, i->handle, i->op_a, i->op_b, (int)i->m, (int)i->n, (int)i->k, i->alpha, i->a, (int)i->lda, i->stride_a, i->b, (int)i->ldb,
                        i->stride_b, i->beta, i->c, (int)i->ldc, i->stride_c, (int)i->batch);
}
GS_API gs_real_hgemm_strided cublasHgemmStridedBatched;
int cublasHgemmStridedBatched(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, long long stride_a,
                              const void *b, int ldb, long long stride_b, const void *beta, void *c, int ldc, long long stride_c, int batch)
{
    const gs_shim_call call = {GS_SHIM_HGEMM_STRIDED, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, GS_CUDA_R_16F, GS_CUDA_R_16F, GS_CUDA_R_16F, GS_CUBLAS_COMPUTE_16F,
                               GS_CUBLAS_GEMM_DEFAULT, m, n, k, lda, ldb, ldc, batch, alpha, beta, a, b, c, pass_hgemm_strided, false, stride_a, stride_b, stride_c};
    return multiply(&call);
}

static int pass_hgemm_strided_64(const gs_shim_call *i)
{
    REAL(hgemm_strided_64, i->handle, i->op_a, i->op_b, i->m, i->n, i->k, i->alpha, i->a, i->lda, i->stride_a, i->b, i->ldb, i->stride_b, i->beta,
                           i->c, i->ldc, i->stride_c, i->batch);
}
GS_API gs_real_hgemm_strided_64 cublasHgemmStridedBatched_64;
int cublasHgemmStridedBatched_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda,
                                 long long stride_a, const void *b, int64_t ldb, long long stride_b, const void *beta, void *c, int64_t ldc,
                                 long long stride_c, int64_t batch)
{
    const gs_shim_call call = {GS_SHIM_HGEMM_STRIDED_64, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, GS_CUDA_R_16F, GS_CUDA_R_16F, GS_CUDA_R_16F, GS_CUBLAS_COMPUTE_16F,
                               GS_CUBLAS_GEMM_DEFAULT, m, n, k, lda, ldb, ldc, batch, alpha, beta, a, b, c, pass_hgemm_strided_64, false, stride_a, stride_b, stride_c};
    return multiply(&call);
}

/* ---- a batch by pointers ---- */

static int pass_gemm_batched_ex(const gs_shim_call *i)
{
    REAL(gemm_batched_ex, i->handle, i->op_a, i->op_b, (int)i->m, (int)i->n, (int)i->k, i->alpha, i->a, i->type_a, (int)i->lda, i->b, i->type_b, (int)i->ldb, i->beta, i->c,
                          i->type_c, (int)i->ldc, (int)i->batch, i->compute, i->algo);
}
GS_API gs_real_gemm_batched_ex cublasGemmBatchedEx;
int cublasGemmBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *const *a, int type_a, int lda, const void *const *b, int type_b, int ldb,
                        const void *beta, void *const *c, int type_c, int ldc, int batch, int compute, int algo)
{
    const gs_shim_call call = {GS_SHIM_GEMM_BATCHED_EX, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, type_a, type_b, type_c, compute, algo, m, n, k, lda, ldb, ldc, batch,
                               alpha, beta, a, b, (void *)(uintptr_t)c, pass_gemm_batched_ex, true};
    return multiply(&call);
}

static int pass_gemm_batched_ex_64(const gs_shim_call *i)
{
    REAL(gemm_batched_ex_64, i->handle, i->op_a, i->op_b, i->m, i->n, i->k, i->alpha, i->a, i->type_a, i->lda, i->b, i->type_b, i->ldb, i->beta, i->c, i->type_c, i->ldc, i->batch,
                             i->compute, i->algo);
}
GS_API gs_real_gemm_batched_ex_64 cublasGemmBatchedEx_64;
int cublasGemmBatchedEx_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *const *a, int type_a, int64_t lda, const void *const *b,
                           int type_b, int64_t ldb, const void *beta, void *const *c, int type_c, int64_t ldc, int64_t batch, int compute, int algo)
{
    const gs_shim_call call = {GS_SHIM_GEMM_BATCHED_EX_64, gs_real_cublas_of(GS_CALLER), handle, op_a, op_b, type_a, type_b, type_c, compute, algo, m, n, k, lda, ldb, ldc, batch,
                               alpha, beta, a, b, (void *)(uintptr_t)c, pass_gemm_batched_ex_64, true};
    return multiply(&call);
}
