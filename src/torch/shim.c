/* SPDX-License-Identifier: MIT */
#include "torch/shim.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum where { ANY, CUDA, KEYED };

typedef struct call {
    enum where  where;
    const char *name;
    size_t      at;   /* offset in gs_torch_shim */
} call;

static const call calls[] = {
#define GS_TORCH_CALL(where, result, name, arguments) {where, #name, offsetof(gs_torch_shim, name)},
#include "torch/shim.def"
#undef GS_TORCH_CALL
};

/* libtorch_cuda.so depends on libtorch_cpu.so; a name that is not in one is searched in the other. */
static void *look_up(void *cpu, void *cuda, const char *name)
{
    void *const found = dlsym(cpu, name);
    return found || !cuda ? found : dlsym(cuda, name);
}

gs_status gs_torch_shim_find(gs_torch_shim *out, const char *key, gs_error *error)
{
    char small[16] = "", name[96];
    const bool on_cuda = strcmp(key, "CUDA") == 0;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; key[i] && i + 1 < sizeof small; i++) small[i] = (char)tolower((unsigned char)key[i]);
    void *const cpu = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
    if (!cpu) return gs_fail(error, GS_ERROR_UNSUPPORTED, "torch", "this process has not loaded libtorch_cpu.so: import torch first");
    void *const cuda = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    if (on_cuda && !cuda) return gs_fail(error, GS_ERROR_UNSUPPORTED, "torch", "this torch was built without CUDA");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const call *const c = &calls[i];
        if (c->where == CUDA && !on_cuda) continue;
        snprintf(name, sizeof name, "aoti_torch_%s%s%s", c->where == KEYED ? small : "", c->where == KEYED ? "_" : "", c->name);
        void *const found = look_up(cpu, cuda, name);
        if (!found) return gs_fail(error, GS_ERROR_UNSUPPORTED, "torch", "this torch has no %s: torch 2.7 or newer is needed", name);
        memcpy((char *)out + c->at, &found, sizeof found);
    }
    out->f16 = out->dtype_float16();
    out->bf16 = out->dtype_bfloat16();
    out->f32 = out->dtype_float32();
    out->i32 = out->dtype_int32();
    out->device = on_cuda ? out->device_type_cuda() : out->device_type_cpu();
    return GS_OK;
}
