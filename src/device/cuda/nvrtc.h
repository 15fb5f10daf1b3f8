/* SPDX-License-Identifier: MIT
 * NVRTC: the kernel compiler, opened with dlopen at first use from $GEMMSMITH_NVRTC, the loader's path, $CUDA_HOME,
 * /usr/local/cuda or lib/ beside the program. The public calls (gs_compile_for, ...) are declared in device/device.h. */
#ifndef GS_DEVICE_CUDA_NVRTC_H
#define GS_DEVICE_CUDA_NVRTC_H

#include "device/device.h"

/* Our own declaration of NVRTC's ABI. */
typedef struct gs_nvrtc_program_ *gs_nvrtc_program;
typedef enum gs_nvrtc_result {
    GS_NVRTC_SUCCESS              = 0,
    GS_NVRTC_ERROR_OUT_OF_MEMORY  = 1,
    GS_NVRTC_ERROR_INVALID_OPTION = 5,
    GS_NVRTC_ERROR_COMPILATION    = 6
} gs_nvrtc_result;

/* Fills registers, spills, stack, shared memory and serialized from image->log, as ptxas -v writes it. */
void gs_nvrtc_read_log(gs_image *image);

#endif
