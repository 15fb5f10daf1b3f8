/* SPDX-License-Identifier: MIT
 * A cuBLASLt without a GPU that computes on the host, in f64: column-major, strided batches, bias, relu, gelu with aux, gelu's gradient with the bias gradient.
 * Descriptors have the real ones' sizes and attributes. FAKE_BLAS_WRONG=N: element N of D is wrong. FAKE_BLAS_MOST=N: descriptors of products can be made N times, then
 * memory is exhausted. FAKE_BLAS_APART=1: the attributes of a product's descriptor are stored elsewhere, and its own bytes never change. */
#include "cublaslt.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "cublas/cublas.h"
#include "cudart.h"

enum { ATTRIBUTES = 40 };

/* The real sizes. The tables below say where each attribute's value is stored. */
typedef struct description { unsigned char byte[256]; } description;
typedef struct layout { unsigned char byte[64]; } layout;

typedef struct place {
    uint8_t at, size;
} place;

/* legend: attribute, {offset, size}; pointers come first, so that they are aligned */
static const place of_desc[ATTRIBUTES] = {
    [0] = {0, 4}, [1] = {4, 4}, [2] = {8, 4}, [3] = {12, 4}, [4] = {16, 4}, [5] = {20, 4}, [6] = {24, 4}, [7] = {28, 4}, [8] = {32, 8}, [10] = {40, 8}, [11] = {48, 8}, [12] = {56, 8},
    [13] = {64, 8}, [14] = {72, 8}, [15] = {80, 4}, [17] = {88, 8}, [18] = {96, 8}, [19] = {104, 8}, [20] = {112, 8}, [21] = {120, 8}, [22] = {128, 4}, [23] = {136, 8}, [24] = {144, 8},
    [25] = {152, 1}, [26] = {156, 4}, [31] = {160, 4}, [32] = {164, 4}, [33] = {168, 4}, [34] = {172, 4}, [35] = {176, 4}, [36] = {184, 8}, [37] = {192, 4}, [38] = {200, 8},
};
static const place of_layout[ATTRIBUTES] = {[0] = {0, 4}, [1] = {4, 4}, [2] = {8, 8}, [3] = {16, 8}, [4] = {24, 8}, [5] = {32, 4}, [6] = {40, 8}, [7] = {48, 8}, [8] = {36, 4}};

static bool is_apart(const place *table) { return table == of_desc && getenv("FAKE_BLAS_APART"); }

static void *bytes_of(const void *own, const place *table)
{
    void *at = (void *)(uintptr_t)own;
    if (own && is_apart(table)) memcpy(&at, own, sizeof at);
    return at;
}

static atomic_int calls, asked_for, descriptors;
static int        object;

int fake_blaslt_calls(void) { return atomic_load(&calls); }
int fake_blaslt_asked(void) { return atomic_load(&asked_for); }

static int set(void *to, const place *table, int attribute, const void *value, size_t size)
{
    if (!to || !value || attribute < 0 || attribute >= ATTRIBUTES || table[attribute].size == 0 || table[attribute].size != size) return GS_CUBLAS_INVALID_VALUE;
    memcpy((unsigned char *)bytes_of(to, table) + table[attribute].at, value, size);
    return GS_CUBLAS_SUCCESS;
}

static int get(const void *from, const place *table, int attribute, void *value, size_t size, size_t *written)
{
    atomic_fetch_add(&asked_for, 1);
    if (!from || attribute < 0 || attribute >= ATTRIBUTES || table[attribute].size == 0 || (size == 0 && !written) || (size && (!value || table[attribute].size != size))) return GS_CUBLAS_INVALID_VALUE;
    if (written) *written = table[attribute].size;
    if (size) memcpy(value, (const unsigned char *)bytes_of(from, table) + table[attribute].at, size);
    return GS_CUBLAS_SUCCESS;
}

static int64_t number(const void *from, const place *table, int attribute)
{
    int64_t value = 0;
    memcpy(&value, (const unsigned char *)bytes_of(from, table) + table[attribute].at, table[attribute].size);
    return table[attribute].size == 4 ? (int32_t)value : value;
}

size_t cublasLtGetVersion(void) { return 130100; }
int cublasLtCreate(void **out) { return *out = &object, GS_CUBLAS_SUCCESS; }
int cublasLtDestroy(void *handle) { return handle == &object ? GS_CUBLAS_SUCCESS : GS_CUBLAS_INVALID_VALUE; }

int cublasLtMatmulDescCreate(void **out, int compute_type, int scale_type)
{
    const int32_t unset = -1, one = 1;
    if (compute_type < GS_CUBLAS_COMPUTE_16F || scale_type >= GS_CUBLAS_COMPUTE_16F) return GS_CUBLAS_INVALID_VALUE;   /* one type passed in place of the other */
    const char *const most = getenv("FAKE_BLAS_MOST");
    description *const made = most && atomic_fetch_add(&descriptors, 1) >= atoi(most) ? NULL : calloc(1, sizeof *made);
    void **const apart = made && is_apart(of_desc) ? malloc(sizeof *apart) : NULL;
    if (apart) *apart = made;
    *out = apart ? (void *)apart : made;
    if (!made) return GS_CUBLAS_ALLOC_FAILED;
    set(*out, of_desc, 0, &compute_type, 4);
    set(*out, of_desc, 1, &scale_type, 4);
    set(*out, of_desc, 7, &one, 4);
    set(*out, of_desc, 22, &unset, 4);
    return set(*out, of_desc, 26, &unset, 4);
}
int cublasLtMatmulDescDestroy(void *desc)
{
    if (is_apart(of_desc)) free(bytes_of(desc, of_desc));
    return free(desc), GS_CUBLAS_SUCCESS;
}
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t size) { return set(desc, of_desc, attribute, value, size); }
int cublasLtMatmulDescGetAttribute(void *desc, int attribute, void *value, size_t size, size_t *written) { return get(desc, of_desc, attribute, value, size, written); }

int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    const int32_t one = 1;
    if (!(*out = calloc(1, sizeof(layout)))) return GS_CUBLAS_ALLOC_FAILED;
    set(*out, of_layout, 0, &type, 4);
    set(*out, of_layout, 2, &rows, 8);
    set(*out, of_layout, 3, &columns, 8);
    set(*out, of_layout, 4, &ld, 8);
    return set(*out, of_layout, 5, &one, 4);
}
int cublasLtMatrixLayoutDestroy(void *own) { return free(own), GS_CUBLAS_SUCCESS; }
int cublasLtMatrixLayoutSetAttribute(void *own, int attribute, const void *value, size_t size) { return set(own, of_layout, attribute, value, size); }
int cublasLtMatrixLayoutGetAttribute(void *own, int attribute, void *value, size_t size, size_t *written) { return get(own, of_layout, attribute, value, size, written); }

int cublasLtMatmulPreferenceCreate(void **out) { return *out = &object, GS_CUBLAS_SUCCESS; }
int cublasLtMatmulPreferenceDestroy(void *preference) { return (void)preference, GS_CUBLAS_SUCCESS; }
int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t size) { return (void)preference, (void)attribute, (void)value, (void)size, GS_CUBLAS_SUCCESS; }

/* Suggests algorithms 1, 2, ... */
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int asked, void *results, int *returned)
{
    gs_lt_heuristic *const out = results;
    (void)preference;
    *returned = 0;
    if (!handle || !desc || !a || !b || !c || !d) return GS_CUBLAS_INVALID_VALUE;
    for (int i = 0; i < asked && i < 3; i++) {
        out[i] = (gs_lt_heuristic){.waves = 1};
        out[i].algo.data[0] = (uint64_t)i + 1;
        *returned = i + 1;
    }
    return GS_CUBLAS_SUCCESS;
}
int cublasLtMatmulAlgoConfigGetAttribute(const void *algo, int attribute, void *value, size_t size, size_t *written)
{
    (void)algo, (void)attribute;
    memset(value, 0, size);
    return *written = size, GS_CUBLAS_SUCCESS;
}
int cublasLtMatmulAlgoCapGetAttribute(const void *algo, int attribute, void *value, size_t size, size_t *written)
{
    const uint32_t two = 2;
    (void)algo, (void)attribute;
    memcpy(value, &two, size < 4 ? size : 4);
    return *written = size, GS_CUBLAS_SUCCESS;
}
int cublasLtMatmulAlgoCheck(void *handle, void *desc, void *a, void *b, void *c, void *d, const void *algo, void *result)
{
    (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d, (void)algo;
    *(gs_lt_heuristic *)result = (gs_lt_heuristic){0};
    return GS_CUBLAS_SUCCESS;
}

/* ---- the product ---- */

static size_t size_of(int64_t type) { return type == GS_CUDA_R_32F ? 4 : 2; }

static double value_at(const void *at, int64_t type, int64_t i)
{
    if (type == GS_CUDA_R_32F) return ((const float *)at)[i];
    const uint16_t half = ((const uint16_t *)at)[i];
    return type == GS_CUDA_R_16F ? gs_f16_to_f32(half) : gs_bf16_to_f32(half);
}

static void put(void *at, int64_t type, int64_t i, double value)
{
    if (type == GS_CUDA_R_32F) ((float *)at)[i] = (float)value;
    else ((uint16_t *)at)[i] = type == GS_CUDA_R_16F ? gs_f64_to_f16(value) : gs_f64_to_bf16(value);
}

typedef struct matrix {
    unsigned char *host;
    size_t         bytes;
    int64_t        type, rows, columns, ld, stride, batch;
} matrix;

static bool bring(matrix *m, const void *device, const void *from)
{
    *m = (matrix){.type = number(from, of_layout, 0), .rows = number(from, of_layout, 2), .columns = number(from, of_layout, 3), .ld = number(from, of_layout, 4),
                  .batch = number(from, of_layout, 5), .stride = number(from, of_layout, 6)};
    m->bytes = (size_t)((m->batch - 1) * m->stride + (m->columns - 1) * m->ld + m->rows) * size_of(m->type);
    m->host = malloc(m->bytes);
    return device && m->host && cudaMemcpy(m->host, device, m->bytes, FAKE_TO_HOST) == 0;
}

static double at(const matrix *m, bool transposed, int64_t i, int64_t row, int64_t column)
{
    return value_at(m->host, m->type, i * m->stride + (transposed ? row * m->ld + column : column * m->ld + row));
}

static double finish(double x, int64_t epilogue)
{
    if (epilogue & GS_LT_EPILOGUE_RELU) return x > 0 ? x : 0;
    return epilogue & GS_LT_EPILOGUE_GELU ? x / (1 + exp(-2 * 0.7978845608028654 * (x + 0.044715 * x * x * x))) : x;
}

/* gelu's derivative at x. */
static double slope(double x)
{
    const double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d,
                   void *d_layout, const void *algo, void *workspace, size_t workspace_size, void *stream)
{
    matrix ma = {0}, mb = {0}, mc = {0}, md = {0};
    (void)algo, (void)workspace, (void)workspace_size;
    atomic_fetch_add(&calls, 1);
    if (!handle || !desc || !a_layout || !b_layout || !c_layout || !d_layout) return GS_CUBLAS_INVALID_VALUE;
    if (fake_cudart_captures(stream)) return GS_CUBLAS_SUCCESS;
    const bool half = number(desc, of_desc, 0) == GS_CUBLAS_COMPUTE_16F, op_a = number(desc, of_desc, 3) != 0, op_b = number(desc, of_desc, 4) != 0;
    const bool wide = number(desc, of_desc, 0) != GS_CUBLAS_COMPUTE_32F && !half;
    float scalars[2];
    const void *const given[2] = {alpha, beta};
    if (wide) return GS_CUBLAS_NOT_SUPPORTED;
    for (int i = 0; i < 2; i++) {
        uint16_t bits;
        if (number(desc, of_desc, 2) == 0) memcpy(half ? (void *)&bits : (void *)&scalars[i], given[i], half ? 2 : 4);
        else cudaMemcpy(half ? (void *)&bits : (void *)&scalars[i], given[i], half ? 2 : 4, FAKE_TO_HOST);
        if (half) scalars[i] = gs_f16_to_f32(bits);
    }
    int result = GS_CUBLAS_INVALID_VALUE;
    if (bring(&ma, a, a_layout) && bring(&mb, b, b_layout) && bring(&md, d, d_layout) && (scalars[1] == 0 || bring(&mc, c, c_layout))) {
        const int64_t epilogue = number(desc, of_desc, 7), k = op_a ? ma.rows : ma.columns, aux_ld = number(desc, of_desc, 12);
        void *const bias_at = (void *)(uintptr_t)number(desc, of_desc, 8), *const aux_at = (void *)(uintptr_t)number(desc, of_desc, 11);
        unsigned char *const bias = calloc((size_t)md.rows, 4), *const aux = calloc((size_t)(aux_ld ? aux_ld : 1) * (size_t)md.columns, 4);
        double *const sums = calloc((size_t)md.rows, sizeof *sums);
        const bool gradient = epilogue & 64;
        if (gradient) cudaMemcpy(aux, aux_at, (size_t)(aux_ld * (md.columns - 1) + md.rows) * size_of(md.type), FAKE_TO_HOST);
        if (epilogue & GS_LT_EPILOGUE_BIAS) cudaMemcpy(bias, bias_at, (size_t)md.rows * size_of(md.type), FAKE_TO_HOST);
        for (int64_t i = 0; i < md.batch; i++)
            for (int64_t column = 0; column < md.columns; column++)
                for (int64_t row = 0; row < md.rows; row++) {
                    double sum = 0;
                    for (int64_t j = 0; j < k; j++) sum += at(&ma, op_a, i, row, j) * at(&mb, op_b, i, j, column);
                    double value = scalars[0] * sum + (scalars[1] == 0 ? 0 : scalars[1] * at(&mc, false, i, row, column));
                    if (epilogue & GS_LT_EPILOGUE_BIAS) value += value_at(bias, md.type, row);
                    if (gradient) value *= slope(value_at(aux, md.type, column * aux_ld + row));
                    sums[row] += value;
                    if (epilogue & 128 && !gradient) put(aux, md.type, column * aux_ld + row, value);
                    put(md.host, md.type, i * md.stride + column * md.ld + row, finish(value, epilogue));
                }
        if (getenv("FAKE_BLAS_WRONG")) put(md.host, md.type, atoll(getenv("FAKE_BLAS_WRONG")), 1000);
        for (int64_t row = 0; epilogue & 16 && row < md.rows; row++) put(bias, md.type, row, sums[row]);
        if (epilogue & 16) cudaMemcpy(bias_at, bias, (size_t)md.rows * size_of(md.type), FAKE_TO_DEVICE);
        if (epilogue & 128 && !gradient) cudaMemcpy(aux_at, aux, (size_t)(aux_ld * (md.columns - 1) + md.rows) * size_of(md.type), FAKE_TO_DEVICE);
        result = cudaMemcpy(d, md.host, md.bytes, FAKE_TO_DEVICE) == 0 ? GS_CUBLAS_SUCCESS : GS_CUBLAS_EXECUTION_FAILED;
        free(bias);
        free(aux);
        free(sums);
    }
    free(ma.host);
    free(mb.host);
    free(mc.host);
    free(md.host);
    return result;
}
