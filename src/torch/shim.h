/* SPDX-License-Identifier: MIT
 * torch's stable C interface, as far as the adapter calls it. Nothing is linked: the names are looked up in the torch that the process has loaded.
 * The types are torch's (torch/csrc/inductor/aoti_torch/c/shim.h): a handle is a pointer, a status is 0 for success, and what a kernel is
 * given lies on a stack of 64-bit values. A kernel owns the handles of its arguments and gives its results away. */
#ifndef GS_TORCH_SHIM_H
#define GS_TORCH_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/status.h>

typedef void *gs_torch_handle;    /* AtenTensorHandle */
typedef void *gs_torch_library;   /* TorchLibraryHandle */
typedef void (*gs_torch_kernel)(uint64_t *stack, uint64_t arguments, uint64_t results);

typedef struct gs_torch_shim {
#define GS_TORCH_CALL(where, result, name, arguments) result (*name) arguments;
#include "torch/shim.def"
#undef GS_TORCH_CALL
    int32_t f16, bf16, f32, i32;   /* torch's numbers of types */
    int32_t device;                /* its number of the kind of device that calls are taken from */
} gs_torch_shim;

/* key: "CUDA" or "CPU", whose calls are taken. UNSUPPORTED: no torch is loaded, it is older than 2.7, or it has no CUDA; *error names what is missing. */
gs_status gs_torch_shim_find(gs_torch_shim *out, const char *key, gs_error *error);

#endif
