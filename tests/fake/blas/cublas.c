/* SPDX-License-Identifier: MIT
 * A cuBLAS without a GPU that computes on the host, in f64 with one rounding: column-major, f16, bf16 and f32, strided batches. As in the real library, all calls go
 * through cublasGemmStridedBatchedEx_64, which another library may interpose. FAKE_BLAS_WRONG=N: element N of C is wrong. FAKE_BLAS_COMPUTES=0: cublasGemmEx only
 * counts. */
#include "cublas.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "cublas/cublas.h"
#include "cudart.h"

#ifndef FAKE_BLAS_VERSION
#define FAKE_BLAS_VERSION 13
#endif

typedef struct handle {
    int   version;   /* version of the library that made it; other versions refuse the handle */
    void *stream;
    int   pointer_mode, math_mode;
} handle;

static atomic_int calls;
static bool       counts_only;
static int64_t   *noted;   /* where arguments are written; NULL: nowhere */

__attribute__((constructor)) static void start(void)
{
    const char *const computes = getenv("FAKE_BLAS_COMPUTES");
    counts_only = computes && *computes == '0';
}

int fake_blas_calls(void) { return atomic_load(&calls); }
void fake_blas_note(int64_t *arguments) { noted = arguments; }

/* Writes all arguments of a function to `noted`, if that is asked for, and returns. P: a pointer. */
#define P(pointer) ((int64_t)(intptr_t)(pointer))
#define NOTE(...)                                                    \
    do {                                                             \
        if (!noted) break;                                           \
        const int64_t arguments_[] = {__VA_ARGS__};                  \
        memcpy(noted, arguments_, sizeof arguments_);                \
        return atomic_fetch_add(&calls, 1), GS_CUBLAS_SUCCESS;       \
    } while (0)

int cublasCreate_v2(void **out)
{
    handle *const made = calloc(1, sizeof *made);
    *out = made;
    if (!made) return GS_CUBLAS_ALLOC_FAILED;
    made->version = FAKE_BLAS_VERSION;
    return GS_CUBLAS_SUCCESS;
}
int cublasDestroy_v2(void *h) { return free(h), GS_CUBLAS_SUCCESS; }

#define FIELD(kind, type, field)                                                                                                       \
    int cublasSet##kind(void *h, type value) { return h ? ((handle *)h)->field = value, GS_CUBLAS_SUCCESS : GS_CUBLAS_NOT_INITIALIZED; } \
    int cublasGet##kind(void *h, type *value) { return h ? *value = ((handle *)h)->field, GS_CUBLAS_SUCCESS : GS_CUBLAS_NOT_INITIALIZED; }
FIELD(Stream_v2, void *, stream)
FIELD(PointerMode_v2, int, pointer_mode)
FIELD(MathMode, int, math_mode)
int cublasSetWorkspace_v2(void *h, void *workspace, uint64_t bytes) { return (void)workspace, (void)bytes, h ? GS_CUBLAS_SUCCESS : GS_CUBLAS_NOT_INITIALIZED; }

/* ---- numbers ---- */

static size_t size_of(int type) { return type == GS_CUDA_R_32F ? 4 : 2; }

static double get(const void *at, int type, int64_t i)
{
    if (type == GS_CUDA_R_32F) return ((const float *)at)[i];
    const uint16_t half = ((const uint16_t *)at)[i];
    return type == GS_CUDA_R_16F ? gs_f16_to_f32(half) : gs_bf16_to_f32(half);
}

static void put(void *at, int type, int64_t i, double value)
{
    if (type == GS_CUDA_R_32F) ((float *)at)[i] = (float)value;
    else ((uint16_t *)at)[i] = type == GS_CUDA_R_16F ? gs_f64_to_f16(value) : gs_f64_to_bf16(value);
}

/* ---- the product ---- */

typedef struct matrix {
    void     *bytes;   /* host copy */
    void     *device;
    size_t    size;
    int       type;
    int64_t   ld;
    long long stride;
    bool      transposed;
} matrix;

static bool bring(matrix *m, const void *device, int type, bool transposed, int64_t rows, int64_t columns, int64_t ld, long long stride, int64_t batch)
{
    if (transposed) {
        const int64_t swap = rows;
        rows = columns, columns = swap;
    }
    *m = (matrix){.device = (void *)(uintptr_t)device, .type = type, .ld = ld, .stride = stride, .transposed = transposed};
    if (ld < rows) return false;
    m->size = (size_t)((batch - 1) * stride + (columns - 1) * ld + rows) * size_of(type);
    m->bytes = malloc(m->size);
    return m->bytes && cudaMemcpy(m->bytes, device, m->size, FAKE_TO_HOST) == 0;
}

static double at(const matrix *m, int64_t i, int64_t row, int64_t column)
{
    return get(m->bytes, m->type, i * m->stride + (m->transposed ? row * m->ld + column : column * m->ld + row));
}

static void product(const matrix *a, const matrix *b, matrix *c, int64_t m, int64_t n, int64_t k, int64_t batch, double alpha, double beta)
{
    for (int64_t i = 0; i < batch; i++)
        for (int64_t column = 0; column < n; column++)
            for (int64_t row = 0; row < m; row++) {
                double sum = 0;
                for (int64_t j = 0; j < k; j++) sum += at(a, i, row, j) * at(b, i, j, column);
                put(c->bytes, c->type, i * c->stride + column * c->ld + row, alpha * sum + (beta == 0 ? 0 : beta * at(c, i, row, column)));
            }
    const char *const wrong = getenv("FAKE_BLAS_WRONG");
    if (wrong) put(c->bytes, c->type, atoll(wrong), 1000);
}

static double scalar(const void *value, int compute) { return compute == GS_CUBLAS_COMPUTE_16F ? gs_f16_to_f32(*(const uint16_t *)value) : *(const float *)value; }

int cublasGemmStridedBatchedEx_64(void *h, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a, int64_t lda, long long stride_a, const void *b,
                                  int type_b, int64_t ldb, long long stride_b, const void *beta, void *c, int type_c, int64_t ldc, long long stride_c, int64_t batch, int compute, int algo)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), type_a, lda, stride_a, P(b), type_b, ldb, stride_b, P(beta), P(c), type_c, ldc, stride_c, batch, compute, algo);
    const handle *const own = h;
    matrix operands[3] = {{0}};
    (void)algo;
    atomic_fetch_add(&calls, 1);
    if (!h || own->version != FAKE_BLAS_VERSION) return GS_CUBLAS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || batch < 0 || op_a < 0 || op_a > 2 || op_b < 0 || op_b > 2) return GS_CUBLAS_INVALID_VALUE;
    if (compute != GS_CUBLAS_COMPUTE_16F && compute != GS_CUBLAS_COMPUTE_32F) return GS_CUBLAS_NOT_SUPPORTED;
    if (m == 0 || n == 0 || batch == 0) return GS_CUBLAS_SUCCESS;
    if (fake_cudart_captures(own->stream)) return GS_CUBLAS_SUCCESS;   /* C stays unchanged, so that a test sees that nothing was computed */
    float scalars[2];
    const void *const given[2] = {alpha, beta};
    for (int i = 0; i < 2; i++) {
        if (own->pointer_mode == 0) memcpy(&scalars[i], given[i], compute == GS_CUBLAS_COMPUTE_16F ? 2 : 4);
        else cudaMemcpy(&scalars[i], given[i], compute == GS_CUBLAS_COMPUTE_16F ? 2 : 4, FAKE_TO_HOST);
    }
    int result = GS_CUBLAS_INVALID_VALUE;
    if (bring(&operands[0], a, type_a, op_a != 0, m, k, lda, stride_a, batch) && bring(&operands[1], b, type_b, op_b != 0, k, n, ldb, stride_b, batch) &&
        bring(&operands[2], c, type_c, false, m, n, ldc, stride_c, batch)) {
        product(&operands[0], &operands[1], &operands[2], m, n, k, batch, scalar(&scalars[0], compute), scalar(&scalars[1], compute));
        result = cudaMemcpy(c, operands[2].bytes, operands[2].size, FAKE_TO_DEVICE) == 0 ? GS_CUBLAS_SUCCESS : GS_CUBLAS_EXECUTION_FAILED;
    }
    for (int i = 0; i < 3; i++) free(operands[i].bytes);
    return result;
}

/* ---- other entry points ---- */

int cublasGemmStridedBatchedEx(void *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda, long long stride_a, const void *b, int type_b, int ldb,
                               long long stride_b, const void *beta, void *c, int type_c, int ldc, long long stride_c, int batch, int compute, int algo)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), type_a, lda, stride_a, P(b), type_b, ldb, stride_b, P(beta), P(c), type_c, ldc, stride_c, batch, compute, algo);
    return cublasGemmStridedBatchedEx_64(h, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc, stride_c, batch, compute, algo);
}
int cublasGemmEx_64(void *h, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a, int64_t lda, const void *b, int type_b, int64_t ldb,
                    const void *beta, void *c, int type_c, int64_t ldc, int compute, int algo)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), type_a, lda, P(b), type_b, ldb, P(beta), P(c), type_c, ldc, compute, algo);
    return cublasGemmStridedBatchedEx_64(h, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c, type_c, ldc, 0, 1, compute, algo);
}
int cublasGemmEx(void *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                 int type_c, int ldc, int compute, int algo)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), type_a, lda, P(b), type_b, ldb, P(beta), P(c), type_c, ldc, compute, algo);
    if (counts_only) return atomic_fetch_add(&calls, 1), GS_CUBLAS_SUCCESS;
    return cublasGemmEx_64(h, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algo);
}
int cublasHgemmStridedBatched_64(void *h, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda, long long stride_a, const void *b, int64_t ldb,
                                 long long stride_b, const void *beta, void *c, int64_t ldc, long long stride_c, int64_t batch)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), lda, stride_a, P(b), ldb, stride_b, P(beta), P(c), ldc, stride_c, batch);
    return cublasGemmStridedBatchedEx_64(h, op_a, op_b, m, n, k, alpha, a, GS_CUDA_R_16F, lda, stride_a, b, GS_CUDA_R_16F, ldb, stride_b, beta, c, GS_CUDA_R_16F, ldc, stride_c, batch,
                                         GS_CUBLAS_COMPUTE_16F, GS_CUBLAS_GEMM_DEFAULT);
}
int cublasHgemmStridedBatched(void *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, long long stride_a, const void *b, int ldb, long long stride_b,
                              const void *beta, void *c, int ldc, long long stride_c, int batch)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), lda, stride_a, P(b), ldb, stride_b, P(beta), P(c), ldc, stride_c, batch);
    return cublasHgemmStridedBatched_64(h, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch);
}
int cublasHgemm_64(void *h, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c,
                   int64_t ldc)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), lda, P(b), ldb, P(beta), P(c), ldc);
    return cublasHgemmStridedBatched_64(h, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
int cublasHgemm(void *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), lda, P(b), ldb, P(beta), P(c), ldc);
    return cublasHgemm_64(h, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* Batches by pointers are only counted. */
int cublasGemmBatchedEx_64(void *h, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *const *a, int type_a, int64_t lda, const void *const *b, int type_b,
                           int64_t ldb, const void *beta, void *const *c, int type_c, int64_t ldc, int64_t batch, int compute, int algo)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), type_a, lda, P(b), type_b, ldb, P(beta), P(c), type_c, ldc, batch, compute, algo);
    atomic_fetch_add(&calls, 1);
    return h ? GS_CUBLAS_SUCCESS : GS_CUBLAS_NOT_INITIALIZED;
}
int cublasGemmBatchedEx(void *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *const *a, int type_a, int lda, const void *const *b, int type_b, int ldb,
                        const void *beta, void *const *c, int type_c, int ldc, int batch, int compute, int algo)
{
    NOTE(P(h), op_a, op_b, m, n, k, P(alpha), P(a), type_a, lda, P(b), type_b, ldb, P(beta), P(c), type_c, ldc, batch, compute, algo);
    return cublasGemmBatchedEx_64(h, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, batch, compute, algo);
}
