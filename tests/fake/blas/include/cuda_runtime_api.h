/* SPDX-License-Identifier: MIT
 * As much of CUDA's runtime as examples/blas uses, for a build without CUDA: the fake one's. */
#ifndef FAKE_CUDA_RUNTIME_API_H
#define FAKE_CUDA_RUNTIME_API_H

#include "../cudart.h"

typedef void *cudaStream_t;
enum { cudaSuccess = 0, cudaMemcpyHostToDevice = FAKE_TO_DEVICE, cudaMemcpyDeviceToHost = FAKE_TO_HOST };

#endif
