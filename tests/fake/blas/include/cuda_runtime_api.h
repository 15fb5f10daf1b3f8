/* SPDX-License-Identifier: MIT
 * The part of the CUDA runtime that examples/blas uses, for a build without CUDA, with the fake library. */
#ifndef FAKE_CUDA_RUNTIME_API_H
#define FAKE_CUDA_RUNTIME_API_H

#include "../cudart.h"

typedef void *cudaStream_t;
enum { cudaSuccess = 0, cudaMemcpyHostToDevice = FAKE_TO_DEVICE, cudaMemcpyDeviceToHost = FAKE_TO_HOST };

#endif
