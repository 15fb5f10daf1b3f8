/* SPDX-License-Identifier: MIT
 * Code on the emulated device: modules with their variables, functions, tensor maps, and checks of launches. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "emu/emu.h"
#include "emu/isa/tensor.h"
#include "schedule/predict.h"

#define MOST_THREADS     1024
#define DEFAULT_SMEM     49152u   /* shared memory that a block has without a request */
#define PORTABLE_CLUSTER 8u
#define LARGEST_CLUSTER  16u
#define SHARED_RESERVED  1024u   /* at the beginning of a user kernel's shared memory, where a GPU reserves memory for itself: no variable has address 0 */
#define USER_BLOCKS      (1u << 26)   /* even if each ends at once, these take half a minute */

typedef struct module {
    gs_ptx_module   *ptx;
    uint64_t        *address;     /* per variable; 0: no allocation of its own */
    int              registers, stack;
    bool             user;
    gs_emu_function *functions;
} module;

/* ---- modules ---- */

/* Allocates a variable of the module in global or constant memory, with its initial bytes. */
static gs_status place_variable(gs_emu_device *emu, const gs_ptx_variable *variable, bool table, uint64_t *address, gs_error *error)
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
    if (table) gs_emu_memory_protect(emu->memory, *address);
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
    const gs_status status = gs_ptx_parse(&m->ptx, image->ptx, image->ptx_size, NULL, &why);
    /* an error in the text is the compiler's, not the caller's */
    if (status != GS_OK)
        return gs_fail(error, status == GS_ERROR_PARSE ? GS_ERROR_UNSUPPORTED : status, NULL, "PTX cannot be executed: %s", why.text);
    m->address = calloc((size_t)m->ptx->variables + 1, sizeof *m->address);
    if (!m->address) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a module");
    m->registers = image->registers;
    m->stack = image->stack_bytes;
    m->user = image->user;
    for (int i = 0; i < m->ptx->variables; i++) GS_TRY(place_variable(emu, &m->ptx->variable[i], image->user, &m->address[i], error));
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

static gs_function_info info_of(const module *m, const gs_emu_code *code)
{
    const int index = (int)(code->entry - m->ptx->entry);
    const uint32_t asked = gs_emu_product(code->entry->reqntid), most = gs_emu_product(code->entry->maxntid);
    gs_function_info info = {
        .registers = m->registers, .local_bytes = m->stack, .static_smem = (int)code->static_shared,
        .max_threads = asked ? (int)asked : most ? (int)most : MOST_THREADS,
        .parameters = GS_MIN(code->entry->parameters, GS_FUNCTION_PARAMETERS + 1),
    };
    for (int i = 0; i < m->ptx->variables; i++) {
        const gs_ptx_variable *const v = &m->ptx->variable[i];
        const bool one = v->space == GS_PTX_PARAM && v->entry == index && v->parameter >= 0 && v->parameter < GS_FUNCTION_PARAMETERS;
        if (one) info.parameter_bytes[v->parameter] = v->size;
    }
    return info;
}

static gs_status make_function(module *m, const gs_ptx_entry *entry, gs_emu_function **out, gs_error *error)
{
    gs_emu_function *const function = calloc(1, sizeof *function);
    if (!function) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel");
    const gs_status status = gs_emu_code_create(&function->code, m->ptx, entry, m->address, m->user ? SHARED_RESERVED : 0, error);
    if (status != GS_OK) {
        free(function);
        return status;
    }
    function->code->registers = m->registers;
    function->user = m->user;
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

/* ---- checks of launches ---- */

static gs_status refuse(const gs_emu_function *function, const char *field, const char *why, gs_error *error)
{
    return gs_fail(error, GS_ERROR_LAUNCH, field, "%.64s: %s", function->code->entry->name, why);
}

/* Refuses what the driver would refuse at launch; the machine checks the rest while running. */
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
    if (function->user && (uint64_t)work->grid[0] * work->grid[1] * work->grid[2] > USER_BLOCKS)
        return refuse(function, "grid", "more than 2^26 blocks: the emulated device runs no more of a user kernel", error);
    if (work->smem > function->allowed) return refuse(function, "smem", "more dynamic shared memory than was asked for", error);
    const gs_launch_shape shape = gs_emu_shape_of(work);
    if (gs_launch_resident(&shape, emu->profile) < 1) return refuse(function, "block", "a block does not fit on a multiprocessor", error);
    return GS_OK;
}

static gs_emu_work work_of(const gs_launch *launch)
{
    gs_emu_work work = {.function = launch->function, .smem = launch->smem};
    memcpy(work.grid, launch->grid, sizeof work.grid);
    memcpy(work.block, launch->block, sizeof work.block);
    memcpy(work.reach, launch->reach, sizeof work.reach);
    work.constant = launch->constant;
    for (int i = 0; i < 3; i++) work.cluster[i] = GS_MAX(launch->cluster[i], 1u);
    return work;
}

gs_status gs_emu_max_clusters(gs_device *device, const gs_launch *launch, int *out, gs_error *error)
{
    const gs_emu_device *const emu = gs_emu_of(device);
    gs_emu_work work = work_of(launch);
    *out = 0;
    /* as if the grid were one cluster */
    for (int i = 0; i < 3; i++) work.grid[i] = work.cluster[i];
    GS_TRY(check_shape(emu, &work, error));
    const gs_launch_shape shape = gs_emu_shape_of(&work);
    *out = gs_launch_resident(&shape, emu->profile) * (device->caps.sms / shape.cluster);
    return GS_OK;
}

/* ---- launches ---- */

/* Copies the parameters from the caller's addresses to a parameter block, by the sizes that the kernel declares. */
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

/* The caller frees out->params. */
static gs_status make_work(gs_device *device, const gs_launch *launch, gs_emu_work *out, gs_error *error)
{
    const gs_emu_code *const code = ((const gs_emu_function *)launch->function)->code;
    *out = work_of(launch);
    GS_TRY(check_shape(gs_emu_of(device), out, error));
    out->dependent = launch->dependent && device->caps.cc >= 90;
    return copy_params(code->module, code->entry, launch->params, &out->params, error);
}

gs_status gs_emu_launch_put(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error)
{
    gs_emu_work work;
    GS_TRY(make_work(device, launch, &work, error));
    return gs_emu_work_submit(gs_emu_of(device), queue, &work, error);
}

gs_status gs_emu_graph_change(gs_device *device, gs_graph handle, gs_node node, const gs_launch *launch, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    gs_emu_list *const graph = handle;
    const size_t number = (size_t)(uintptr_t)node;   /* numbered from 1 */
    gs_emu_work work;
    if (number < 1 || number > (size_t)graph->count || graph->work[number - 1].function != launch->function)
        return gs_fail(error, GS_ERROR_LAUNCH, NULL, "changing a graph: it has no such launch of this kernel");
    GS_TRY(make_work(device, launch, &work, error));
    pthread_mutex_lock(&emu->lock);
    gs_emu_work_free(&graph->work[number - 1]);
    graph->work[number - 1] = work;
    pthread_mutex_unlock(&emu->lock);
    return GS_OK;
}
