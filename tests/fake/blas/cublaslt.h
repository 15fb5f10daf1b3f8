/* SPDX-License-Identifier: MIT
 * cuBLASLt as a program declares it, without NVIDIA's headers. */
#ifndef FAKE_BLAS_CUBLASLT_H
#define FAKE_BLAS_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

int cublasLtCreate(void **handle);
int cublasLtDestroy(void *handle);
size_t cublasLtGetVersion(void);
int cublasLtMatmulDescCreate(void **desc, int compute_type, int scale_type);
int cublasLtMatmulDescDestroy(void *desc);
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t size);
int cublasLtMatmulDescGetAttribute(void *desc, int attribute, void *value, size_t size, size_t *written);
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t size);
int cublasLtMatrixLayoutGetAttribute(void *layout, int attribute, void *value, size_t size, size_t *written);
int cublasLtMatmulPreferenceCreate(void **preference);
int cublasLtMatmulPreferenceDestroy(void *preference);
int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t size);
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int asked, void *results, int *returned);
int cublasLtMatmulAlgoConfigGetAttribute(const void *algo, int attribute, void *value, size_t size, size_t *written);
int cublasLtMatmulAlgoCapGetAttribute(const void *algo, int attribute, void *value, size_t size, size_t *written);
int cublasLtMatmulAlgoCheck(void *handle, void *desc, void *a, void *b, void *c, void *d, const void *algo, void *result);
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d,
                   void *d_layout, const void *algo, void *workspace, size_t workspace_size, void *stream);

/* Multiplications so far, and attributes that were read. */
int fake_blaslt_calls(void);
int fake_blaslt_asked(void);

#endif
