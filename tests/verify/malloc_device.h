/* SPDX-License-Identifier: MIT
 * A device made of malloc: the kernels of verify.cu and the wrong ones (gpu/wrong) are compiled as C with the test and run thread by thread. It counts allocations, and
 * fails where the test says. For flow.c alone. */
#ifndef TESTS_VERIFY_MALLOC_DEVICE_H
#define TESTS_VERIFY_MALLOC_DEVICE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "common/args.h"
#include "device/device.h"
#include "gpu/wrong.h"

/* ---- CUDA built-ins ---- */

typedef struct dim { unsigned int x, y, z; } dim;
static dim gridDim, blockDim, blockIdx, threadIdx;
static int current_fault, current_layout;

static long long clock_now(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (long long)(state >> 40);
}

#include "checks/one_thread.h"
#define clock64()                          clock_now()
#define GS_FAULT                           current_fault
#define GS_LAYOUT                          current_layout
#include "verify.cu"

static float f16_values[65536];            /* a table: conversions would make the kernels take minutes instead of seconds */
#define gs_f16_to_f32(bits)                f16_values[bits]
#define WRONG(...) __VA_ARGS__
#include "gpu/wrong/faults.cu"
#undef WRONG

/* ---- a device of malloc ---- */

static const char *const names[] = {
    "gs_verify_generate", "gs_verify_poison", "gs_verify_guard_fill", "gs_verify_guard_check", "gs_verify_veil", "gs_verify_hash",
    "gs_verify_padding", "gs_verify_bands", "gs_verify_measure", "gs_verify_compare", "gs_verify_sums", "gs_verify_words", "gs_verify_timed",
    "gs_verify_timed_samples", "gs_verify_pass", "gs_verify_change", "gs_reference", "gs_reference_line", "gs_wrong", "gs_wrong_end",
};

typedef struct code code;

typedef struct entry {
    const char *name;
    const code *module;
} entry;

struct code {
    int   fault, layout, in, out;   /* values of the options; -1: not given */
    entry entries[GS_COUNT(names)];
};

static struct fake {
    gs_device device;
    int       live;              /* allocations and modules that were not freed */
    int       made;              /* allocations */
    int       loads;             /* loaded modules */
    int       until_failure;     /* allocations until one fails; negative: none fails */
    int       refused;           /* allocations that failed */
    int       until_fault;       /* the so-many-th launch of gs_wrong from now on faults; 0: none */
    int       until_damage;      /* the same: it changes A and gives a wrong result, and the next launch faults */
    int       until_other;       /* the same: it changes bits of D */
    bool      faulted;           /* every wait reports a fault */
} fake;

static gs_status fake_alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error)
{
    (void)device;
    if (fake.until_failure == 0) {
        fake.refused++;
        return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "no device memory");
    }
    if (fake.until_failure > 0) fake.until_failure--;
    *out = (gs_pointer)(uintptr_t)aligned_alloc(256, (bytes + 511) / 256 * 256);
    assert_true(*out != 0);
    memset((void *)(uintptr_t)*out, 0x5a, bytes);
    fake.live++;
    fake.made++;
    return GS_OK;
}

static void fake_free(gs_device *device, gs_pointer pointer)
{
    (void)device;
    free((void *)(uintptr_t)pointer);
    fake.live--;
}

static gs_status fake_in(gs_device *device, gs_pointer to, const void *from, size_t bytes, gs_error *error)
{
    (void)device, (void)error;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return GS_OK;
}

static gs_status fake_out(gs_device *device, void *to, gs_pointer from, size_t bytes, gs_error *error)
{
    (void)device, (void)error;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return GS_OK;
}

static gs_status fake_fill(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    for (size_t i = 0; i < bytes / 4; i++) memcpy((char *)(uintptr_t)to + i * 4, &pattern, 4);
    return GS_OK;
}

static gs_status fake_memory(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    (void)device, (void)error;
    *free_bytes = *total_bytes = (size_t)1 << 30;
    return GS_OK;
}

static int option(const gs_source *source, const char *prefix)
{
    for (int i = 0; i < source->option_count; i++)
        if (strncmp(source->options[i], prefix, strlen(prefix)) == 0) return atoi(source->options[i] + strlen(prefix));
    return -1;
}

static gs_status fake_compile(gs_device *device, const gs_source *source, gs_image *out, gs_error *error)
{
    (void)device, (void)error;
    const code options = {
        option(source, "-DGS_FAULT="), option(source, "-DGS_LAYOUT="), option(source, "-DGS_IN="), option(source, "-DGS_OUT="),
        {{0}},
    };
    *out = (gs_image){.code = malloc(sizeof options), .size = sizeof options, .log = calloc(1, 1), .registers = 32};
    assert_non_null(out->code);
    memcpy(out->code, &options, sizeof options);
    return GS_OK;
}

static gs_status fake_load(gs_device *device, const gs_image *image, gs_module *out, gs_error *error)
{
    (void)device, (void)error;
    *out = malloc(image->size);
    assert_non_null(*out);
    memcpy(*out, image->code, image->size);
    remembered = 0;
    fake.live++;
    fake.loads++;
    return GS_OK;
}

static void fake_unload(gs_device *device, gs_module module)
{
    (void)device;
    free(module);
    fake.live--;
}

static gs_status fake_function(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info,
                               gs_error *error)
{
    (void)device, (void)error;
    entry *e = NULL;
    for (size_t i = 0; i < GS_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0) e = &((code *)module)->entries[i], *e = (entry){names[i], module};
    assert_non_null(e);
    *out = e;
    *info = (gs_function_info){.registers = 32, .max_threads = 1024, .parameters = -1};
    return GS_OK;
}

static gs_status fake_smem(gs_device *device, gs_function function, uint32_t smem, uint32_t cluster, gs_error *error)
{
    (void)device, (void)function, (void)smem, (void)cluster, (void)error;
    return GS_OK;
}

static void reference_on_host(const gs_kernel_args *p, const code *module)
{
    assert_int_equal(module->in, GS_F16);
    assert_int_equal(module->out, GS_F16);
    const uint16_t *const a = p->a, *const b = p->b, *const c = p->c;
    const int64_t step_k = module->layout == GS_TN ? 1 : p->ldb, step_n = module->layout == GS_TN ? p->ldb : 1,
                  rows_b = module->layout == GS_TN ? p->n : p->k;
    for (int64_t row = 0; row < (int64_t)p->m * p->batch; row++)
        for (int64_t col = 0; col < p->n; col++) {
            const uint16_t *const line = a + row * p->lda, *const column = b + row / p->m * rows_b * p->ldb + col * step_n;
            double sum = 0;
            for (int64_t k = 0; k < p->k; k++) sum += (double)f16_values[line[k]] * (double)f16_values[column[k * step_k]];
            sum *= (double)p->alpha;
            if (p->beta != 0) sum += (double)p->beta * (double)f16_values[c[row * p->ldc + col]];
            ((double *)p->d)[row * p->ldd + col] = sum;
        }
}

static void wrong_on_host(const gs_kernel_args *p, const gs_launch *launch, const code *module)
{
    current_fault = module->fault;
    current_layout = module->layout;
    gridDim = (dim){launch->grid[0], launch->grid[1], launch->grid[2]};
    blockDim = (dim){launch->block[0], launch->block[1], launch->block[2]};
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
                for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++)
                    for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) gs_wrong(*p);
}

static void damage(const gs_kernel_args *p)
{
    *(uint16_t *)(uintptr_t)p->a ^= 1;
    *(uint16_t *)p->d ^= 1;
    fake.until_fault = 1;
}

static gs_status fake_launch(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    const entry *const e = launch->function;
    const void *const p = launch->params[0];
    if (strcmp(e->name, "gs_wrong") == 0) {
        wrong_on_host(p, launch, e->module);
        if (fake.until_fault > 0 && --fake.until_fault == 0) fake.faulted = true;
        if (fake.until_damage > 0 && --fake.until_damage == 0) damage(p);
        if (fake.until_other > 0 && --fake.until_other == 0) *(uint16_t *)((const gs_kernel_args *)p)->d ^= 1;
        return GS_OK;
    }
    gridDim = blockDim = (dim){1, 1, 1};
    blockIdx = threadIdx = (dim){0, 0, 0};
    if (strcmp(e->name, "gs_wrong_end") == 0)               gs_wrong_end(*(const gs_kernel_args *)p);
    else if (strncmp(e->name, "gs_reference", 12) == 0)     reference_on_host(p, e->module);
    else if (strcmp(e->name, "gs_verify_generate") == 0)    gs_verify_generate(*(const gs_datagen *)p);
    else if (strcmp(e->name, "gs_verify_poison") == 0)      gs_verify_poison(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_guard_fill") == 0)  gs_verify_guard_fill(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_guard_check") == 0) gs_verify_guard_check(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_veil") == 0)        gs_verify_veil(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_change") == 0)      gs_verify_change(*(const gs_changed *)p);
    else if (strcmp(e->name, "gs_verify_hash") == 0)        gs_verify_hash(*(const gs_rows *)p);
    else if (strcmp(e->name, "gs_verify_padding") == 0)     gs_verify_padding(*(const gs_rows *)p);
    else if (strcmp(e->name, "gs_verify_bands") == 0)       gs_verify_bands(*(const gs_bands *)p);
    else if (strcmp(e->name, "gs_verify_measure") == 0)     gs_verify_measure(*(const gs_check *)p);
    else if (strcmp(e->name, "gs_verify_sums") == 0)        gs_verify_sums(*(const gs_check_sums *)p);
    else if (strcmp(e->name, "gs_verify_words") == 0)       gs_verify_words(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_pass") == 0)        gs_verify_pass(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_timed") == 0)       gs_verify_timed(*(const gs_timed *)p);
    else if (strcmp(e->name, "gs_verify_timed_samples") == 0) gs_verify_timed_samples(*(const gs_timed *)p);
    else                                                    gs_verify_compare(*(const gs_check *)p);
    return GS_OK;
}

static gs_status fake_queue(gs_device *device, gs_queue *out, gs_error *error)
{
    (void)device, (void)error;
    *out = &fake;
    return GS_OK;
}

static void fake_queue_destroy(gs_device *device, gs_queue queue) { (void)device, (void)queue; }

static gs_status fake_wait(gs_device *device, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue;
    return fake.faulted ? gs_fail(error, GS_ERROR_FAULT, NULL, "an illegal memory access") : GS_OK;
}

static const gs_device_ops ops = {
    .alloc = fake_alloc, .free = fake_free, .copy_in = fake_in, .copy_out = fake_out, .fill = fake_fill, .memory_info = fake_memory, .compile = fake_compile, .load = fake_load,
    .unload = fake_unload,
    .function = fake_function, .function_smem = fake_smem, .launch = fake_launch, .queue_create = fake_queue,
    .queue_destroy = fake_queue_destroy, .queue_wait = fake_wait,
};

#endif
