/* SPDX-License-Identifier: MIT
 * A cuBLASLt that computes nothing: it suggests FAKE_CUBLASLT_COUNT algorithms (3), and tells a test which one a multiplication used
 * (fake_cublaslt_hook). Each suggestion needs 256 bytes of workspace more than the one before. */
#include <stdlib.h>
#include <string.h>

#include "cublas/cublas.h"

void (*fake_cublaslt_hook)(int suggestion, void *stream);

size_t cublasLtGetVersion(void) { return 130100; }

static int make(void **handle)
{
    *handle = malloc(1);
    return *handle ? GS_CUBLAS_SUCCESS : GS_CUBLAS_ALLOC_FAILED;
}

static int drop(void *handle)
{
    free(handle);
    return GS_CUBLAS_SUCCESS;
}

int cublasLtCreate(void **handle) { return make(handle); }
int cublasLtDestroy(void *handle) { return drop(handle); }

int cublasLtMatmulDescCreate(void **desc, int compute_type, int scale_type)
{
    (void)compute_type, (void)scale_type;
    return make(desc);
}

int cublasLtMatmulDescDestroy(void *desc) { return drop(desc); }

int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t size)
{
    (void)desc, (void)attribute, (void)value, (void)size;
    return GS_CUBLAS_SUCCESS;
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    (void)type, (void)rows, (void)cols, (void)ld;
    return make(layout);
}

int cublasLtMatrixLayoutDestroy(void *layout) { return drop(layout); }

int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t size)
{
    (void)layout, (void)attribute, (void)value, (void)size;
    return GS_CUBLAS_SUCCESS;
}

int cublasLtMatmulPreferenceCreate(void **preference) { return make(preference); }
int cublasLtMatmulPreferenceDestroy(void *preference) { return drop(preference); }

int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t size)
{
    (void)preference, (void)attribute, (void)value, (void)size;
    return GS_CUBLAS_SUCCESS;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int asked, gs_lt_heuristic *results,
                                   int *returned)
{
    (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d, (void)preference;
    const char *const text = getenv("FAKE_CUBLASLT_COUNT");
    const int count = text ? atoi(text) : 3;
    for (*returned = 0; *returned < count && *returned < asked; ++*returned) {
        memset(&results[*returned], 0, sizeof *results);
        results[*returned].algo.data[0] = (uint64_t)*returned + 1;
        results[*returned].workspace = (size_t)*returned * 256;
    }
    return GS_CUBLAS_SUCCESS;
}

static int no_value(size_t size, size_t *written)
{
    (void)size;
    *written = 0;
    return GS_CUBLAS_INVALID_VALUE;
}

int cublasLtMatmulAlgoConfigGetAttribute(const gs_lt_algo *algo, int attribute, void *value, size_t size, size_t *written)
{
    (void)algo, (void)attribute, (void)value;
    return no_value(size, written);
}

int cublasLtMatmulAlgoCapGetAttribute(const gs_lt_algo *algo, int attribute, void *value, size_t size, size_t *written)
{
    (void)algo, (void)attribute, (void)value;
    return no_value(size, written);
}

int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, const void *beta, const void *c,
                   void *c_layout, void *d, void *d_layout, const gs_lt_algo *algo, void *workspace, size_t workspace_size, void *stream)
{
    (void)handle, (void)desc, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout, (void)beta, (void)c, (void)c_layout, (void)d, (void)d_layout;
    (void)workspace, (void)workspace_size;
    if (fake_cublaslt_hook) fake_cublaslt_hook((int)algo->data[0], stream);
    return GS_CUBLAS_SUCCESS;
}
