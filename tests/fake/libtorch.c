/* SPDX-License-Identifier: MIT */
#include "fake_torch.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef fake_tensor *tensor;   /* a handle is a copy of a tensor's description */

#ifndef FAKE_TORCH_CUDA

enum { KERNELS = 32 };

static struct { char space[16], name[24]; fake_torch_kernel kernel; const void *library; } kernels[KERNELS];
static fake_torch_state state;
typedef struct library { char space[16]; } library;

EXPORT fake_torch_state *fake_torch(void);
EXPORT fake_torch_state *fake_torch(void) { return &state; }

EXPORT fake_torch_kernel fake_torch_find(const char *space, const char *name);
EXPORT fake_torch_kernel fake_torch_find(const char *space, const char *name)
{
    for (int i = 0; i < KERNELS; i++)
        if (kernels[i].kernel && strcmp(kernels[i].space, space) == 0 && strcmp(kernels[i].name, name) == 0) return kernels[i].kernel;
    return NULL;
}

static bool fails(const char *call) { return state.fail && strcmp(state.fail, call) == 0; }

EXPORT int32_t aoti_torch_library_init_impl(const char *space, const char *key, const char *file, uint32_t line, void **out);
EXPORT int32_t aoti_torch_library_init_impl(const char *space, const char *key, const char *file, uint32_t line, void **out)
{
    (void)key, (void)file, (void)line;
    if (fails("library_init_impl")) return 1;
    library *const made = calloc(1, sizeof *made);
    if (!made) return 1;
    snprintf(made->space, sizeof made->space, "%s", space);
    state.libraries++;
    *out = made;
    return 0;
}

EXPORT int32_t aoti_torch_library_impl(void *of, const char *name, fake_torch_kernel kernel);
EXPORT int32_t aoti_torch_library_impl(void *of, const char *name, fake_torch_kernel kernel)
{
    int i = 0;
    if (fails(name)) return 1;
    while (i < KERNELS && kernels[i].kernel) i++;
    if (i == KERNELS) return 1;
    snprintf(kernels[i].space, sizeof kernels[i].space, "%s", ((library *)of)->space);
    snprintf(kernels[i].name, sizeof kernels[i].name, "%s", name);
    kernels[i].kernel = kernel;
    kernels[i].library = of;
    return 0;
}

EXPORT int32_t aoti_torch_delete_library_object(void *of);
EXPORT int32_t aoti_torch_delete_library_object(void *of)
{
    if (fails("delete_library_object")) return 1;
    for (int i = 0; i < KERNELS; i++)
        if (kernels[i].library == of) memset(&kernels[i], 0, sizeof kernels[i]);
    free(of);
    state.libraries--;
    return 0;
}

EXPORT int32_t aoti_torch_delete_tensor_object(tensor t);
EXPORT int32_t aoti_torch_delete_tensor_object(tensor t)
{
    free(t);
    state.handles--;
    return 0;
}

#define GETTER(name, type, value)                            \
    EXPORT int32_t aoti_torch_get_##name(tensor t, type *out); \
    EXPORT int32_t aoti_torch_get_##name(tensor t, type *out)  \
    {                                                        \
        *out = value;                                        \
        return 0;                                            \
    }
GETTER(data_ptr, void *, t->data)
GETTER(dim, int64_t, t->dim)
GETTER(sizes, int64_t *, t->size)
GETTER(strides, int64_t *, t->stride)
GETTER(dtype, int32_t, t->dtype)
GETTER(device_type, int32_t, t->device)
GETTER(device_index, int32_t, t->index)

#define NUMBER(name, value)                       \
    EXPORT int32_t aoti_torch_##name(void);       \
    EXPORT int32_t aoti_torch_##name(void) { return value; }
NUMBER(dtype_float16, FAKE_TORCH_F16)
NUMBER(dtype_bfloat16, FAKE_TORCH_BF16)
NUMBER(dtype_float32, FAKE_TORCH_F32)
NUMBER(dtype_int32, FAKE_TORCH_I32)
NUMBER(device_type_cpu, FAKE_TORCH_CPU)
NUMBER(device_type_cuda, FAKE_TORCH_CUDA_DEVICE)

/* The memory is never freed: a test makes few tensors. */
EXPORT int32_t aoti_torch_empty_strided(int64_t dim, const int64_t *sizes, const int64_t *strides, int32_t dtype, int32_t device, int32_t index, tensor *out);
EXPORT int32_t aoti_torch_empty_strided(int64_t dim, const int64_t *sizes, const int64_t *strides, int32_t dtype, int32_t device, int32_t index, tensor *out)
{
    static _Alignas(256) unsigned char memory[1 << 20];
    static size_t used;
    size_t bytes = 4;
    if (fails("empty_strided")) return 1;
    tensor t = calloc(1, sizeof *t);
    if (!t) return 1;
    *t = (fake_tensor){.dim = dim, .dtype = dtype, .device = device, .index = index};
    for (int64_t i = 0; i < dim; i++) {
        t->size[i] = sizes[i], t->stride[i] = strides[i];
        bytes *= (size_t)sizes[i];
    }
    bytes = (bytes + 255) / 256 * 256;
    if (used + bytes > sizeof memory) used = 0;
    t->data = memory + used;
    used += bytes;
    state.handles++;
    *out = t;
    return 0;
}

EXPORT void aoti_torch_check(bool good, const char *function, const char *file, uint32_t line, const char *text);
EXPORT void aoti_torch_check(bool good, const char *function, const char *file, uint32_t line, const char *text)
{
    (void)function, (void)file, (void)line;
    if (good) return;
    snprintf(state.text, sizeof state.text, "%s", text);
    if (!state.raised) abort();
    longjmp(*state.raised, 1);
}

#define KEYED(name) aoti_torch_cpu_##name
#else

/* The state is in libtorch_cpu.so, which is already loaded. */
static fake_torch_state *shared(void)
{
    fake_torch_state_function *find = NULL;
    void *const library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD), *const found = library ? dlsym(library, "fake_torch") : NULL;
    if (!found) abort();
    memcpy(&find, &found, sizeof find);
    return find();
}
#define state (*shared())
static bool fails(const char *call) { return state.fail && strcmp(state.fail, call) == 0; }

EXPORT int32_t aoti_torch_get_current_cuda_stream(int32_t index, void **out);
EXPORT int32_t aoti_torch_get_current_cuda_stream(int32_t index, void **out)
{
    (void)index;
    *out = state.stream;
    return fails("get_current_cuda_stream");
}
#define KEYED(name) aoti_torch_cuda_##name
#endif

static int32_t product(const char *name, tensor out)
{
    if (fails(name)) return 1;
    state.products++;
    if (out->size[0] > 0) *(unsigned char *)out->data = 7;
    return 0;
}

#ifndef FAKE_TORCH_OLD
EXPORT int32_t KEYED(mm_out)(tensor out, tensor a, tensor b);
EXPORT int32_t KEYED(mm_out)(tensor out, tensor a, tensor b)
{
    (void)a, (void)b;
    return product("mm_out", out);
}
#endif

EXPORT int32_t KEYED(bmm_out)(tensor out, tensor a, tensor b);
EXPORT int32_t KEYED(bmm_out)(tensor out, tensor a, tensor b)
{
    (void)a, (void)b;
    return product("bmm_out", out);
}

EXPORT int32_t KEYED(addmm_out)(tensor out, tensor c, tensor a, tensor b, double beta, double alpha);
EXPORT int32_t KEYED(addmm_out)(tensor out, tensor c, tensor a, tensor b, double beta, double alpha)
{
    (void)a, (void)b, (void)c, (void)beta, (void)alpha;
    return product("addmm_out", out);
}

EXPORT int32_t KEYED(baddbmm_out)(tensor out, tensor c, tensor a, tensor b, double beta, double alpha);
EXPORT int32_t KEYED(baddbmm_out)(tensor out, tensor c, tensor a, tensor b, double beta, double alpha)
{
    (void)a, (void)b, (void)c, (void)beta, (void)alpha;
    return product("baddbmm_out", out);
}
