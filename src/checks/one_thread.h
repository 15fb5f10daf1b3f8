/* SPDX-License-Identifier: MIT
 * CUDA's keywords and built-ins for a host compiler, so that the kernels of kernels/verify.cu run as one thread. gridDim, blockDim, blockIdx and threadIdx must be defined
 * before. */
#ifndef GS_CHECKS_ONE_THREAD_H
#define GS_CHECKS_ONE_THREAD_H

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"

static inline long long gs_bits_of_double(double value)
{
    long long bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define __device__
#define __double_as_longlong(value)        gs_bits_of_double(value)
#define __float_as_uint(value)             gs_f32_bits(value)
#define __uint_as_float(bits)              gs_bits_f32(bits)
#define __shfl_xor_sync(mask, value, lane) ((void)(lane), 0)
#define atomicAdd(at, value)               (*(at) += (value))
#define atomicMax(at, value)               (*(at) = GS_MAX(*(at), (value)))
#define atomicMin(at, value)               (*(at) = GS_MIN(*(at), (value)))
#define GS_KERNELS_CONVERT_CUH             /* the host's conversions have the same names */

#endif
