/* SPDX-License-Identifier: MIT
 * The part of cuBLAS that examples/blas uses, for a build without CUDA, with the fake library. */
#ifndef FAKE_CUBLAS_V2_H
#define FAKE_CUBLAS_V2_H

#include "../cublas.h"

typedef void *cublasHandle_t;
typedef int   cublasStatus_t;
enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14, CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68,
       CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99, CUBLAS_TENSOR_OP_MATH = 1 };
#define cublasCreate    cublasCreate_v2
#define cublasDestroy   cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2

#endif
