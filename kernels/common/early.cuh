/* SPDX-License-Identifier: MIT
 * The constraint of a register that inline assembly writes before it has read all others. Before CUDA 12.3 compilers have none: there the register is an input, too, so
 * that no other shares it. */
#ifndef GS_COMMON_EARLY_CUH
#define GS_COMMON_EARLY_CUH

#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 3
#define GS_EARLY "+r"
#else
#define GS_EARLY "=&r"
#endif

#endif
