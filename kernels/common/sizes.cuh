/* SPDX-License-Identifier: MIT
 * Extents and leading dimensions of a problem: constants of this compilation where the schedule says `fixed` (GS_FIXED), else arguments.
 * Constants let the compiler drop the guards of edges that do not exist and turn divisions into shifts. */
#ifndef GS_COMMON_SIZES_CUH
#define GS_COMMON_SIZES_CUH

#include "common/args.h"

#ifdef GS_FIXED
#define GS_SIZE(constant, value) ((void)(value), constant)
#else
#define GS_SIZE(constant, value) (value)
#define GS_M 0
#define GS_N 0
#define GS_K 0
#define GS_LDA 0
#define GS_LDB 0
#define GS_LDC 0
#define GS_LDD 0
#endif

/* p: gs_kernel_args by value or reference. Leading dimensions in elements, 64 bits wide. */
#define gs_size_m(p) GS_SIZE(GS_M, (p).m)
#define gs_size_n(p) GS_SIZE(GS_N, (p).n)
#define gs_size_k(p) GS_SIZE(GS_K, (p).k)
#define gs_size_lda(p) GS_SIZE((long long)GS_LDA, (p).lda)
#define gs_size_ldb(p) GS_SIZE((long long)GS_LDB, (p).ldb)
#define gs_size_ldc(p) GS_SIZE((long long)GS_LDC, (p).ldc)
#define gs_size_ldd(p) GS_SIZE((long long)GS_LDD, (p).ldd)

#endif
