/* SPDX-License-Identifier: MIT
 * A torch of plain C: tensors in host memory, operators that remember their kernels, and products that are only counted and fill their result with 7. One source makes
 * libtorch_cpu.so and, with FAKE_TORCH_CUDA, libtorch_cuda.so, which has the CUDA calls. With FAKE_TORCH_OLD the former lacks a call. */
#ifndef FAKE_TORCH_H
#define FAKE_TORCH_H

#include <setjmp.h>
#include <stdint.h>

enum { FAKE_TORCH_U8 = 0, FAKE_TORCH_I32 = 3, FAKE_TORCH_F16 = 5, FAKE_TORCH_F32 = 6, FAKE_TORCH_BF16 = 15, FAKE_TORCH_CPU = 0, FAKE_TORCH_CUDA_DEVICE = 1 };

typedef struct fake_tensor {
    int64_t dim, size[3], stride[3];
    int32_t dtype, device, index;
    void   *data;
} fake_tensor;

typedef void (*fake_torch_kernel)(uint64_t *stack, uint64_t arguments, uint64_t results);

/* Shared between test and libraries; tests find it by dlsym. */
typedef struct fake_torch_state {
    int         handles;          /* tensor handles that were not deleted */
    int         libraries;
    int         products;         /* products that torch computed itself */
    void       *stream;           /* the current stream */
    const char *fail;             /* name of the call that fails */
    jmp_buf    *raised;           /* where a raised error jumps to; NULL: abort */
    char        text[400];        /* text of the raised error */
} fake_torch_state;

typedef fake_torch_state *fake_torch_state_function(void);
typedef fake_torch_kernel fake_torch_kernel_function(const char *space, const char *name);

#endif
