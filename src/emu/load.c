/* SPDX-License-Identifier: MIT
 * Code of the emulated device: modules with their variables, functions, tensor maps, launches and the time that they are predicted
 * to take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "emu/emu.h"
#include "emu/isa/tensor.h"
#include "schedule/predict.h"

#define MOST_THREADS     1024
#define DEFAULT_SMEM     49152u   /* shared memory of a block that need not be asked for */
#define PORTABLE_CLUSTER 8u
#define LARGEST_CLUSTER  16u

typedef struct module {
    gs_ptx_module   *ptx;
    uint64_t        *address;     /* per variable; 0: none of its own */
    int              registers, stack;
    gs_emu_function *functions;
} module;

struct gs_emu_function {
    gs_emu_code     *code;
    gs_function_info info;
    uint32_t         allowed;     /* dynamic shared memory */
    bool             large;       /* clusters of more than 8 were asked for */
    gs_emu_function *next;
};

/* ---- modules ---- */

/* A variable of the module in global or constant memory: its own allocation, with its initial bytes. */
static gs_status place_variable(gs_emu_device *emu, const gs_ptx_variable *variable, uint64_t *address, gs_error *error)
{
    if ((variable->space != GS_PTX_GLOBAL && variable->space != GS_PTX_CONST) || variable->size == 0) return GS_OK;
    if (variable->external) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the variable %.64s is defined elsewhere", variable->name);
    GS_TRY(gs_emu_memory_alloc(emu->memory, variable->size, address, error));
    const gs_emu_allocation *const a = gs_emu_memory_find(emu->memory, *address, variable->size);
    if (variable->init)
        memcpy(a->bytes, variable->init, variable->size);
    else
        memset(a->bytes, 0, variable->size);
    gs_emu_memory_mark(a, *address, variable->size);
    return GS_OK;
}

static void free_module(gs_emu_device *emu, module *m)
{
    while (m->functions) {
        gs_emu_function *const function = m->functions;
        m->functions = function->next;
        gs_emu_code_free(&function->code);
        free(function);
    }
    for (int i = 0; m->address && i < m->ptx->variables; i++)
        if (m->address[i]) gs_emu_memory_free(emu->memory, m->address[i]);
    free(m->address);
    gs_ptx_free(&m->ptx);
    free(m);
}

static gs_status fill_module(gs_emu_device *emu, module *m, const gs_image *image, gs_error *error)
{
    gs_error why = {0};
    const gs_status status = gs_ptx_parse(&m->ptx, image->ptx, image->ptx_size, &why);
    /* the text is the compiler's, not the caller's */
    if (status != GS_OK)
        return gs_fail(error, status == GS_ERROR_PARSE ? GS_ERROR_UNSUPPORTED : status, NULL, "PTX cannot be executed: %s", why.text);
    m->address = calloc((size_t)m->ptx->variables + 1, sizeof *m->address);
    if (!m->address) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a module");
    m->registers = image->registers;
    m->stack = image->stack_bytes;
    for (int i = 0; i < m->ptx->variables; i++) GS_TRY(place_variable(emu, &m->ptx->variable[i], &m->address[i], error));
    return GS_OK;
}

gs_status gs_emu_load(gs_device *device, const gs_image *image, gs_module *out, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    *out = NULL;
    if (!image->ptx || image->ptx_size == 0) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "the image holds no PTX");
    module *const m = calloc(1, sizeof *m);
    if (!m) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a module");
    pthread_mutex_lock(&emu->lock);
    const gs_status status = fill_module(emu, m, image, error);
    if (status == GS_OK) *out = m;
    else free_module(emu, m);
    pthread_mutex_unlock(&emu->lock);
    return status;
}

void gs_emu_unload(gs_device *device, gs_module handle)
{
    gs_emu_device *const emu = gs_emu_of(device);
    if (!handle) return;
    pthread_mutex_lock(&emu->lock);
    free_module(emu, handle);
    pthread_mutex_unlock(&emu->lock);
}

/* ---- functions ---- */

static uint32_t product(const uint32_t extent[3]) { return extent[0] * extent[1] * extent[2]; }

static gs_function_info info_of(const module *m, const gs_emu_code *code)
{
    const uint32_t asked = product(code->entry->reqntid), most = product(code->entry->maxntid);
    return (gs_function_info){
        .registers = m->registers, .local_bytes = m->stack, .static_smem = (int)code->static_shared,
        .max_threads = asked ? (int)asked : most ? (int)most : MOST_THREADS,
    };
}

static gs_status make_function(module *m, const gs_ptx_entry *entry, gs_emu_function **out, gs_error *error)
{
    gs_emu_function *const function = calloc(1, sizeof *function);
    if (!function) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel");
    const gs_status status = gs_emu_code_create(&function->code, m->ptx, entry, m->address, error);
    if (status != GS_OK) {
        free(function);
        return status;
    }
    function->code->registers = m->registers;
    function->info = info_of(m, function->code);
    function->allowed = DEFAULT_SMEM - GS_MIN((uint32_t)function->info.static_smem, DEFAULT_SMEM);
    function->next = m->functions;
    *out = m->functions = function;
    return GS_OK;
}

gs_status gs_emu_function_get(gs_device *device, gs_module handle, const char *name, gs_function *out, gs_function_info *info, gs_error *error)
{
    (void)device;
    module *const m = handle;
    *out = NULL;
    gs_emu_function *function = m->functions;
    while (function && strcmp(function->code->entry->name, name) != 0) function = function->next;
    for (int i = 0; i < m->ptx->entries && !function; i++)
        if (strcmp(m->ptx->entry[i].name, name) == 0) GS_TRY(make_function(m, &m->ptx->entry[i], &function, error));
    if (!function)
        return gs_fail(error, GS_ERROR_NOT_FOUND, "entry", "the code has no kernel named \"%.64s\" (is it extern \"C\" __global__?)", name);
    if (info) *info = function->info;
    *out = function;
    return GS_OK;
}

gs_status gs_emu_function_smem(gs_device *device, gs_function handle, uint32_t smem, uint32_t cluster, gs_error *error)
{
    gs_emu_function *const function = handle;
    const uint32_t most = (uint32_t)(device->caps.smem_block - GS_MIN(function->info.static_smem, device->caps.smem_block));
    if (smem > most)
        return gs_fail(error, GS_ERROR_LAUNCH, "smem", "%u bytes of shared memory: %s allows %u to a block of %.64s", smem, device->caps.name,
                       most, function->code->entry->name);
    if (cluster > LARGEST_CLUSTER) return gs_fail(error, GS_ERROR_LAUNCH, "cluster", "clusters of %u: at most %u are possible", cluster, LARGEST_CLUSTER);
    function->allowed = smem;
    if (cluster > PORTABLE_CLUSTER) function->large = true;
    return GS_OK;
}

gs_status gs_emu_tensor_map(gs_device *device, const gs_tensor *tensor, gs_tensor_map *out, gs_error *error)
{
    if (device->caps.cc < 90) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "%s knows no tensor maps", device->caps.name);
    return gs_emu_map_encode(tensor, out, error);
}

/* ---- what a launch may ask for ---- */

static gs_launch_shape shape_of(const gs_emu_work *work)
{
    const gs_emu_function *const function = work->function;
    return (gs_launch_shape){
        .grid = (double)work->grid[0] * work->grid[1] * work->grid[2], .threads = (int)product(work->block), .cluster = (int)product(work->cluster),
        .smem = (int)work->smem + function->info.static_smem, .registers = function->info.registers,
    };
}

static gs_status refuse(const gs_emu_function *function, const char *field, const char *why, gs_error *error)
{
    return gs_fail(error, GS_ERROR_LAUNCH, field, "%.64s: %s", function->code->entry->name, why);
}

/* What the driver would refuse; what depends on running is the machine's. */
static gs_status check_shape(const gs_emu_device *emu, const gs_emu_work *work, gs_error *error)
{
    const gs_emu_function *const function = work->function;
    const uint32_t *const asked = function->code->entry->reqntid;
    uint64_t threads = 1, cluster = 1;
    for (int i = 0; i < 3; i++) {
        if (work->grid[i] == 0 || work->block[i] == 0 || work->cluster[i] == 0) return refuse(function, "grid", "an extent is 0", error);
        if (i > 0 && work->grid[i] > 65535) return refuse(function, "grid", "more than 65535 blocks in y or z", error);
        if (work->grid[i] % work->cluster[i] != 0) return refuse(function, "cluster", "the grid is no multiple of the cluster", error);
        if (asked[0] && work->block[i] != GS_MAX(asked[i], 1u)) return refuse(function, "block", "the kernel was compiled for another block", error);
        threads *= GS_MIN(work->block[i], 2048u);
        cluster *= GS_MIN(work->cluster[i], 2048u);
    }
    if (threads > (uint64_t)function->info.max_threads) return refuse(function, "block", "more threads than the kernel takes", error);
    if (cluster > 1 && emu->caps.cc < 90) return refuse(function, "cluster", "the device has no clusters", error);
    if (cluster > (function->large ? LARGEST_CLUSTER : PORTABLE_CLUSTER)) return refuse(function, "cluster", "a larger cluster than was asked for", error);
    if (work->smem > function->allowed) return refuse(function, "smem", "more dynamic shared memory than was asked for", error);
    const gs_launch_shape shape = shape_of(work);
    if (gs_launch_resident(&shape, emu->profile) < 1) return refuse(function, "block", "a block does not fit on a multiprocessor", error);
    return GS_OK;
}

static gs_emu_work work_of(const gs_launch *launch)
{
    gs_emu_work work = {.function = launch->function, .smem = launch->smem};
    memcpy(work.grid, launch->grid, sizeof work.grid);
    memcpy(work.block, launch->block, sizeof work.block);
    for (int i = 0; i < 3; i++) work.cluster[i] = GS_MAX(launch->cluster[i], 1u);
    return work;
}

gs_status gs_emu_max_clusters(gs_device *device, const gs_launch *launch, int *out, gs_error *error)
{
    const gs_emu_device *const emu = gs_emu_of(device);
    gs_emu_work work = work_of(launch);
    *out = 0;
    /* asked for a cluster, not for a grid */
    for (int i = 0; i < 3; i++) work.grid[i] = work.cluster[i];
    GS_TRY(check_shape(emu, &work, error));
    const gs_launch_shape shape = shape_of(&work);
    *out = gs_launch_resident(&shape, emu->profile) * (device->caps.sms / shape.cluster);
    return GS_OK;
}

/* ---- launches ---- */

/* The parameter block, from the caller's addresses by the sizes that the kernel declares. */
static gs_status copy_params(const gs_ptx_module *ptx, const gs_ptx_entry *entry, void **params, uint8_t **out, gs_error *error)
{
    uint8_t *const block = calloc(1, (size_t)entry->parameter_bytes + 1);
    if (!block) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a launch");
    const int index = (int)(entry - ptx->entry);
    for (int i = 0; i < ptx->variables; i++) {
        const gs_ptx_variable *const v = &ptx->variable[i];
        if (v->space != GS_PTX_PARAM || v->entry != index || v->parameter < 0) continue;
        memcpy(block + v->address, params[v->parameter], v->size);
    }
    *out = block;
    return GS_OK;
}

gs_status gs_emu_launch_put(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    const gs_emu_code *const code = ((const gs_emu_function *)launch->function)->code;
    gs_emu_work work = work_of(launch);
    GS_TRY(check_shape(emu, &work, error));
    work.dependent = launch->dependent && device->caps.cc >= 90;
    GS_TRY(copy_params(code->module, code->entry, launch->params, &work.params, error));
    return gs_emu_work_submit(emu, queue, &work, error);
}

gs_launch_counts gs_emu_counts(const gs_emu_counters *c)
{
    return (gs_launch_counts){
        .integer = (double)c->issued[GS_EMU_INTEGER], .floating = (double)c->issued[GS_EMU_FLOAT], .doubles = (double)c->issued[GS_EMU_DOUBLE],
        .special = (double)c->issued[GS_EMU_SPECIAL], .control = (double)c->issued[GS_EMU_CONTROL], .global = (double)c->issued[GS_EMU_GLOBAL],
        .shared = (double)c->issued[GS_EMU_SHARED], .other = (double)c->issued[GS_EMU_OTHER], .copy = (double)c->issued[GS_EMU_COPY],
        .matrix = (double)c->issued[GS_EMU_MATRIX], .barrier = (double)c->issued[GS_EMU_BARRIER], .exchange = (double)c->issued[GS_EMU_EXCHANGE],
        .global_load = (double)c->global_load, .global_store = (double)c->global_store, .copy_load = (double)c->copy_load,
        .copy_store = (double)c->copy_store, .multicast = (double)c->multicast, .distributed = (double)c->distributed,
        .shared_passes = (double)c->shared_passes, .matrix_flops = (double)c->matrix_flops, .wgmma_flops = (double)c->wgmma_flops,
        .wgmma = (double)c->wgmma, .mma = (double)c->mma, .footprint_load = (double)c->device_load, .footprint_store = (double)c->device_store,
    };
}

/* ---- findings ---- */

static bool same_place(const gs_emu_finding *a, const gs_emu_finding *b)
{
    return a->kind == b->kind && a->ptx_line == b->ptx_line && a->line == b->line && a->at_line == b->at_line &&
           strcmp(a->kernel, b->kernel) == 0 && strcmp(a->file, b->file) == 0;
}

/* Keeps it and says so once; what was found there before only counts. */
static void keep(gs_emu_device *emu, const gs_emu_finding *found)
{
    char text[640];
    for (int i = 0; i < emu->findings; i++) {
        if (!same_place(&emu->finding[i], found)) continue;
        emu->finding[i].times += found->times;
        return;
    }
    if (emu->findings == GS_EMU_KEPT) return;
    emu->finding[emu->findings++] = *found;
    gs_log(GS_LOG_WARNING, "%s: %s", emu->name, gs_emu_finding_format(found, text, sizeof text));
}

static gs_status report(gs_emu_device *emu, const gs_emu_launch *launch, gs_error *error)
{
    char text[400];
    for (int i = 0; i < launch->findings; i++) keep(emu, &launch->finding[i]);
    gs_emu_finding_format(&launch->finding[0], text, sizeof text);
    return gs_fail(error, GS_ERROR_FAULT, NULL, "%s", text);
}

/* Predicts the time of a launch that ran, and keeps what it did. */
static double remember(gs_emu_device *emu, const gs_emu_work *work, const gs_emu_counters *counters)
{
    gs_emu_last *const last = &emu->last;
    const gs_launch_counts counts = gs_emu_counts(counters);
    *last = (gs_emu_last){.shape = shape_of(work), .counters = *counters};
    last->resident = gs_launch_resident(&last->shape, emu->profile);
    last->us = gs_launch_us(&counts, &last->shape, emu->profile);
    snprintf(last->kernel, sizeof last->kernel, "%s", work->function->code->entry->name);
    memcpy(last->grid, work->grid, sizeof last->grid);
    memcpy(last->block, work->block, sizeof last->block);
    memcpy(last->cluster, work->cluster, sizeof last->cluster);
    return last->us;
}

bool gs_emu_last_launch(gs_device *device, gs_emu_last *out)
{
    gs_emu_device *const emu = gs_emu_of(device);
    pthread_mutex_lock(&emu->lock);
    *out = emu->last;
    pthread_mutex_unlock(&emu->lock);
    return out->kernel[0] != '\0';
}

gs_status gs_emu_launch_now(gs_emu_device *emu, const gs_emu_work *work, double *us, gs_error *error)
{
    gs_random random = {emu->seed + emu->launches++ * 0x9e3779b97f4a7c15ull};
    gs_emu_launch launch = {
        .code = work->function->code, .memory = emu->memory, .smem = work->smem, .params = work->params, .check = emu->check, .order = emu->order,
        .dependent = work->dependent,
        .seed = gs_random_next(&random), .threads = emu->threads, .sms = emu->caps.sms,
        .smem_limit = (uint32_t)emu->caps.smem_block, .registers_sm = emu->caps.registers_sm,
    };
    memcpy(launch.grid, work->grid, sizeof launch.grid);
    memcpy(launch.block, work->block, sizeof launch.block);
    memcpy(launch.cluster, work->cluster, sizeof launch.cluster);
    *us = 0;
    gs_status status = gs_emu_run(&launch, error);
    if (launch.findings > 0) status = report(emu, &launch, error);
    if (status == GS_OK) *us = remember(emu, work, &launch.counters);
    free(launch.finding);
    return status;
}
