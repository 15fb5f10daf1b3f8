/* SPDX-License-Identifier: MIT
 * The part of torch's stable C interface that the adapter calls. Nothing is linked: the names are looked up in the torch that the process has loaded. The types are
 * torch's (torch/csrc/inductor/aoti_torch/c/shim.h): a handle is a pointer, status 0 is success, and a kernel's arguments are 64-bit values on a stack. A kernel owns
 * the handles of its arguments and passes ownership of its results to the caller. */
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
    int32_t f16, bf16, f32, i32;   /* torch's numbers for the types */
    int32_t device;                /* torch's number for the device type whose calls are taken */
} gs_torch_shim;

/* key: the dispatch key whose calls are taken, "CUDA" or "CPU". UNSUPPORTED: no torch is loaded, it is older than 2.7, or it has no CUDA; *error names what is
 * missing. */
gs_status gs_torch_shim_find(gs_torch_shim *out, const char *key, gs_error *error);

#endif
