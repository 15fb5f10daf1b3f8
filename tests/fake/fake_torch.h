/* SPDX-License-Identifier: MIT
 * A torch of plain C: tensors in host memory, operators that remember their kernels, and products that only count and fill their result with 7.
 * One source makes libtorch_cpu.so, and with FAKE_TORCH_CUDA libtorch_cuda.so, which has what is CUDA's. With FAKE_TORCH_OLD the former lacks a call. */
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

/* What a test asks of the libraries, by dlsym. */
typedef struct fake_torch_state {
    int         handles;          /* that have not been deleted */
    int         libraries;
    int         products;         /* of torch's own that ran */
    void       *stream;           /* the current one */
    const char *fail;             /* this call fails */
    jmp_buf    *raised;           /* where a raised error goes; NULL: abort */
    char        text[400];        /* of what was raised */
} fake_torch_state;

typedef fake_torch_state *fake_torch_state_function(void);
typedef fake_torch_kernel fake_torch_kernel_function(const char *space, const char *name);

#endif
