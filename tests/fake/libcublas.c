/* SPDX-License-Identifier: MIT
 * A cuBLAS without a GPU, where host memory stands for device memory. Nothing is computed: a test reads the arguments of the last multiplication (fake_cublas_grouped).
 * As with the real library, a handle needs a workspace each time its stream is set. */
#include "cublas.h"
#include "cublas/cublas.h"

fake_grouped fake_cublas_grouped;

#define CALL(type, name, ...) \
    type name(__VA_ARGS__); \
    type name(__VA_ARGS__)

static int object, ready;   /* ready: a workspace was set after the stream */

CALL(int, cublasCreate_v2, gs_cublas_handle *out) { return *out = &object, ready = 0, GS_CUBLAS_SUCCESS; }
CALL(int, cublasDestroy_v2, gs_cublas_handle handle) { return handle == &object ? GS_CUBLAS_SUCCESS : GS_CUBLAS_NOT_INITIALIZED; }
CALL(int, cublasGetVersion_v2, gs_cublas_handle handle, int *version) { return *version = 130100, handle ? GS_CUBLAS_SUCCESS : GS_CUBLAS_NOT_INITIALIZED; }
CALL(int, cublasSetStream_v2, gs_cublas_handle handle, void *stream) { return (void)stream, ready = 0, handle ? GS_CUBLAS_SUCCESS : GS_CUBLAS_NOT_INITIALIZED; }
CALL(int, cublasSetWorkspace_v2, gs_cublas_handle handle, void *workspace, size_t size)
{
    ready = workspace && size > 0;
    return handle && ready ? GS_CUBLAS_SUCCESS : GS_CUBLAS_INVALID_VALUE;
}

/* Records other products as a single group. */
static int remember(gs_cublas_handle handle, const fake_grouped *one)
{
    if (handle != &object || !ready) return GS_CUBLAS_INVALID_VALUE;
    const int before = fake_cublas_grouped.calls;
    fake_cublas_grouped = *one;
    fake_cublas_grouped.calls = before + 1;
    fake_cublas_grouped.groups = 1;
    return GS_CUBLAS_SUCCESS;
}
#define ONE(batch)                                                                                                                                              \
    &(fake_grouped){.compute_type = compute, .type_a = type_a, .type_b = type_b, .type_c = type_c, .op_a = {op_a}, .op_b = {op_b}, .m = {(int)m}, .n = {(int)n}, \
                    .k = {(int)k}, .lda = {(int)lda}, .ldb = {(int)ldb}, .ldc = {(int)ldc}, .size = {(int)(batch)}, .alpha = {*(const float *)alpha},            \
                    .beta = {*(const float *)beta}, .a = {a}, .b = {b}, .c = {(void *)(uintptr_t)c}}

CALL(int, cublasGemmEx_64, gs_cublas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a, int64_t lda,
     const void *b, int type_b, int64_t ldb, const void *beta, void *c, int type_c, int64_t ldc, int compute, int algo)
{
    (void)algo;
    return remember(handle, ONE(1));
}

CALL(int, cublasGemmStridedBatchedEx_64, gs_cublas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a,
     int64_t lda, long long stride_a, const void *b, int type_b, int64_t ldb, long long stride_b, const void *beta, void *c, int type_c, int64_t ldc, long long stride_c,
     int64_t batch, int compute, int algo)
{
    (void)algo;
    fake_grouped *const one = ONE(batch);
    one->stride_a = stride_a, one->stride_b = stride_b, one->stride_c = stride_c;
    return remember(handle, one);
}

CALL(int, cublasGemmBatchedEx_64, gs_cublas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *const *a, int type_a,
     int64_t lda, const void *const *b, int type_b, int64_t ldb, const void *beta, void *const *c, int type_c, int64_t ldc, int64_t batch, int compute, int algo)
{
    (void)algo;
    return remember(handle, ONE(batch));
}

#ifndef FAKE_CUBLAS_OLD
CALL(int, cublasGemmGroupedBatchedEx, gs_cublas_handle handle, const int *op_a, const int *op_b, const int *m, const int *n, const int *k, const void *alpha,
     const void *const *a, int type_a, const int *lda, const void *const *b, int type_b, const int *ldb, const void *beta, void *const *c, int type_c, const int *ldc,
     int groups, const int *size, int compute_type)
{
    fake_grouped *const to = &fake_cublas_grouped;
    if (handle != &object || !ready || groups < 1 || groups > FAKE_GROUPS) return GS_CUBLAS_INVALID_VALUE;
    *to = (fake_grouped){.calls = to->calls + 1, .groups = groups, .compute_type = compute_type, .type_a = type_a, .type_b = type_b, .type_c = type_c};
    for (int i = 0; i < groups; i++) {
        to->op_a[i] = op_a[i], to->op_b[i] = op_b[i], to->m[i] = m[i], to->n[i] = n[i], to->k[i] = k[i], to->size[i] = size[i];
        to->lda[i] = lda[i], to->ldb[i] = ldb[i], to->ldc[i] = ldc[i];
        to->alpha[i] = ((const float *)alpha)[i], to->beta[i] = ((const float *)beta)[i];
        to->a[i] = a[i], to->b[i] = b[i], to->c[i] = c[i];
    }
    return GS_CUBLAS_SUCCESS;
}
#endif
