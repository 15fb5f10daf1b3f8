/* SPDX-License-Identifier: MIT
 * The constraint of an early-clobber output: a register that inline assembly writes before it has read all inputs. NVRTC has it from CUDA 12.3 on; before that the register
 * is declared as an input, too, so that no input shares it. */
#ifndef GS_COMMON_EARLY_CUH
#define GS_COMMON_EARLY_CUH

#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 3
#define GS_EARLY "+r"
#else
#define GS_EARLY "=&r"
#endif

#endif
