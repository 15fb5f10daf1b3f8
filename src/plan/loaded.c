/* SPDX-License-Identifier: MIT
 * The generic launch. Everything is worked out when the kernel is loaded but the pointers and, for a pointer that was not among the last
 * few, its tensor maps. */
#include "plan/loaded.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "base/error.h"
#include "kernel/inspector.h"

#define GROUPS  16   /* of kept maps; a pointer belongs to one. A power of two */
#define MEMBERS 4    /* of a group */

/* A tensor map for each of the last pointers: encoding one costs more than the rest of a call, and callers rotate buffers. */
typedef struct kept_maps {
    gs_tensor_map map[GROUPS * MEMBERS];  /* first: aligned to 64 bytes */
    gs_pointer    address[GROUPS * MEMBERS];   /* 0: none yet */
    uint8_t       next[GROUPS];           /* the member that goes for a new pointer */
    gs_tensor     tensor;                 /* without the address */
    size_t        pointer;                /* offset of the operand's pointer in gs_args */
} kept_maps;

typedef struct launch_state {
    kept_maps      *maps;                 /* map_count of them */
    int             map_count;
    void           *params[GS_MAX_MAPS + 1];   /* of maps: the ones in use */
    gs_launch       launch;
    gs_launch_ready ready;
} launch_state;

struct gs_loaded {
    launch_state   state[GS_MAX_ENTRIES];
    int            entry_count;
    gs_kernel_args args;                  /* starts with the pointers, as gs_args does */
    gs_device     *device;
    gs_module      module;
    gs_manifest    manifest;
    gs_image       image;
    size_t         workspace, zeroed;       /* bytes */
};

void gs_kernel_to_source(const gs_kernel *kernel, gs_kernel_source *out)
{
    int headers = 0;
    for (const gs_embedded *file = gs_embedded_files; file->name && headers < GS_MAX_HEADERS; file++) {
        if (!strchr(file->name, '/')) continue;   /* only common/ can be included */
        out->header_names[headers] = file->name;
        out->header_texts[headers++] = file->text;
    }
    for (int i = 0; i < kernel->option_count; i++) out->options[i] = kernel->option[i];
    out->source = (gs_source){
        .name = kernel->name, .text = kernel->source,
        .options = out->options, .option_count = kernel->option_count,
        .header_names = out->header_names, .header_texts = out->header_texts, .header_count = headers,
    };
}

static gs_formula_names names_of(const gs_problem *problem, const gs_caps *caps)
{
    return (gs_formula_names){problem->m, problem->n, problem->k, problem->batch, problem->lda, problem->ldb, problem->ldc, problem->ldd, caps->sms};
}

static gs_status value_of(const gs_formula *formula, const gs_formula_names *names, int64_t limit, const char *field, int64_t *value, gs_error *error)
{
    GS_TRY(gs_formula_value(formula, names, value, error));
    if (*value > limit) return gs_fail(error, GS_ERROR_RANGE, field, "%s is %lld, at most %lld is possible", formula->text, (long long)*value, (long long)limit);
    return GS_OK;
}

/* The tensor that a map describes: an operand as it is stored, row by row. Along K a block goes on where its box ended, so the next 128 bytes
 * may come along; along N they are another block's (measured: docs/performance/grid). */
static gs_tensor tensor_of(const gs_map *map, const gs_problem *problem)
{
    const bool input = map->operand == 'a' || map->operand == 'b';
    const bool tn = problem->layout == GS_TN;
    int64_t inner = problem->n, outer = problem->m, ld = map->operand == 'c' ? problem->ldc : problem->ldd;
    if (map->operand == 'a') inner = problem->k, outer = problem->m, ld = problem->lda;
    if (map->operand == 'b') inner = tn ? problem->k : problem->n, outer = tn ? problem->n : problem->k, ld = problem->ldb;
    const gs_type type = input ? problem->in : problem->out;
    return (gs_tensor){
        .element = type, .extent = {(uint64_t)inner, (uint64_t)outer}, .stride = (uint64_t)ld * gs_type_size(type),
        .box = {(uint32_t)map->inner, (uint32_t)map->outer}, .swizzle = map->swizzle, .fetch = map->operand == 'b' && !tn ? 128 : 256,
    };
}

#define SAME_PLACE(field) (offsetof(gs_kernel_args, field) == offsetof(gs_args, field))
_Static_assert(SAME_PLACE(a) && SAME_PLACE(b) && SAME_PLACE(c) && SAME_PLACE(d) && SAME_PLACE(workspace) && sizeof(gs_args) == 5 * sizeof(void *),
               "a kernel's pointers are the caller's, in their order");

static size_t pointer_of(char operand)
{
    switch (operand) {
    case 'a': return offsetof(gs_args, a);
    case 'b': return offsetof(gs_args, b);
    case 'c': return offsetof(gs_args, c);
    default:  return offsetof(gs_args, d);
    }
}

static gs_status prepare_entry(gs_loaded *loaded, launch_state *state, const gs_entry *entry, const gs_problem *problem, gs_error *error)
{
    gs_device *const device = loaded->device;
    const gs_formula_names names = names_of(problem, &device->caps);
    gs_function_info info;
    GS_TRY(device->ops->function(device, loaded->module, entry->name, &state->launch.function, &info, error));
    if (info.local_bytes > 0 && loaded->image.spill_bytes > 0)
        return gs_fail(error, GS_ERROR_SPILL, entry->name, "%d bytes of local memory per thread", info.local_bytes);
    int64_t value;
    for (int i = 0; i < 3; i++) {
        GS_TRY(value_of(&entry->grid[i], &names, i == 0 ? 2147483647 : 65535, "grid", &value, error));
        state->launch.grid[i] = (uint32_t)GS_MAX(value, 1);
        state->launch.block[i] = (uint32_t)entry->block[i];
        state->launch.cluster[i] = (uint32_t)entry->cluster[i];
    }
    GS_TRY(value_of(&entry->smem, &names, device->caps.smem_block, "smem", &value, error));
    state->launch.smem = (uint32_t)value;
    state->launch.dependent = entry->dependent;
    const uint32_t cluster = state->launch.cluster[0] * state->launch.cluster[1] * state->launch.cluster[2];
    GS_TRY(device->ops->function_smem(device, state->launch.function, state->launch.smem, cluster, error));

    state->map_count = entry->map_count;
    if (entry->map_count > 0) {
        const size_t size = (size_t)entry->map_count * sizeof *state->maps;
        state->maps = aligned_alloc(_Alignof(kept_maps), size);
        if (!state->maps) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a loaded kernel");
        memset(state->maps, 0, size);
    }
    for (int i = 0; i < entry->map_count; i++) {
        state->maps[i].tensor = tensor_of(&entry->map[i], problem);
        state->maps[i].pointer = pointer_of(entry->map[i].operand);
        state->params[i] = &state->maps[i].map[0];
    }
    state->params[entry->map_count] = &loaded->args;
    state->launch.params = state->params;
    if (cluster > 1) {
        int clusters = 0;
        GS_TRY(device->ops->max_clusters(device, &state->launch, &clusters, error));
        if (clusters < 1) return gs_fail(error, GS_ERROR_LAUNCH, "cluster", "%u blocks of a cluster do not fit together", cluster);
    }
    if (device->ops->prepare) device->ops->prepare(device, &state->launch, &state->ready);
    return GS_OK;
}

static gs_status prepare_workspace(gs_loaded *loaded, const gs_problem *problem, gs_error *error)
{
    const gs_formula_names names = names_of(problem, &loaded->device->caps);
    int64_t bytes, zeroed;
    GS_TRY(value_of(&loaded->manifest.workspace, &names, (int64_t)1 << 40, "workspace", &bytes, error));
    GS_TRY(value_of(&loaded->manifest.zeroed, &names, bytes, "zeroed", &zeroed, error));
    if (zeroed % 4) return gs_fail(error, GS_ERROR_RANGE, "zeroed", "%s is %lld, no multiple of 4", loaded->manifest.zeroed.text, (long long)zeroed);
    loaded->workspace = (size_t)bytes;
    loaded->zeroed = (size_t)zeroed;
    return GS_OK;
}

/* With the assembler's own line about it. What else the log says may be a user text's own words. */
static gs_status serialized(const gs_kernel *kernel, const char *log, gs_error *error)
{
    size_t length = 0;
    for (const char *line = log; *line; line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        if (strncmp(line, "ptxas", 5) != 0 || (!memmem(line, length, "serialized", 10) && !memmem(line, length, "ignored", 7))) continue;
        return gs_fail(error, GS_ERROR_SERIALIZED, NULL, "%s: %.*s", kernel->name, (int)GS_MIN(length, 300), line);
    }
    return gs_fail(error, GS_ERROR_SERIALIZED, NULL, "%s", kernel->name);
}

static gs_status compile(gs_loaded *loaded, const gs_kernel *kernel, const gs_problem *problem, bool user, gs_error *error)
{
    gs_kernel_source source;
    gs_kernel_to_source(kernel, &source);
    gs_device *const device = loaded->device;
    source.source.ptx = user;
    source.source.compiler = user ? device->user_compiler : NULL;
    const gs_kernel_inspector *const inspector = user ? device->inspector : NULL;
    if (user && !inspector) return gs_fail(error, GS_ERROR_FORBIDDEN, NULL, "%s: nobody inspects user kernels here, so none is run", kernel->name);
    if (user) GS_TRY(inspector->source(kernel->name, kernel->source, error));
    GS_TRY(device->ops->compile(device, &source.source, &loaded->image, error));
    if (user) GS_TRY(inspector->ptx(loaded->image.ptx, loaded->image.ptx_size, &kernel->manifest, problem, error));
    if (loaded->image.serialized) return serialized(kernel, loaded->image.log, error);
    if (loaded->image.spill_bytes > 0) return gs_fail(error, GS_ERROR_SPILL, NULL, "%s: %d bytes spilled", kernel->name, loaded->image.spill_bytes);
    GS_TRY(device->ops->load(device, &loaded->image, &loaded->module, error));
    free(loaded->image.code);
    loaded->image.code = NULL;
    if (user) return GS_OK;   /* its PTX stays, for whoever counts what is in it: the text is not compiled again */
    free(loaded->image.ptx);
    loaded->image.ptx = NULL;
    return GS_OK;
}

static gs_status create(gs_loaded **out, gs_device *device, const gs_kernel *kernel, const gs_problem *problem, bool user, gs_error *error)
{
    *out = NULL;
    GS_TRY(gs_manifest_check(&kernel->manifest, error));
    gs_loaded *loaded = aligned_alloc(_Alignof(gs_loaded), sizeof *loaded);
    if (!loaded) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a loaded kernel");
    memset(loaded, 0, sizeof *loaded);
    loaded->device = device;
    loaded->manifest = kernel->manifest;
    loaded->entry_count = kernel->manifest.entry_count;
    loaded->args = (gs_kernel_args){
        .lda = problem->lda, .ldb = problem->ldb, .ldc = problem->ldc, .ldd = problem->ldd,
        .m = (int)problem->m, .n = (int)problem->n, .k = (int)problem->k, .batch = (int)problem->batch,
        .alpha = problem->alpha, .beta = problem->beta,
    };
    gs_status status = compile(loaded, kernel, problem, user, error);
    for (int i = 0; status == GS_OK && i < loaded->manifest.entry_count; i++)
        status = prepare_entry(loaded, &loaded->state[i], &loaded->manifest.entry[i], problem, error);
    if (status == GS_OK) status = prepare_workspace(loaded, problem, error);
    if (status != GS_OK) {
        gs_loaded_destroy(&loaded);
        return status;
    }
    *out = loaded;
    return GS_OK;
}

gs_status gs_loaded_create(gs_loaded **out, gs_device *device, const gs_kernel *kernel, const gs_problem *problem, gs_error *error)
{
    return create(out, device, kernel, problem, false, error);
}

gs_status gs_loaded_create_user(gs_loaded **out, gs_device *device, const gs_kernel *kernel, const gs_problem *problem, gs_error *error)
{
    return create(out, device, kernel, problem, true, error);
}

void gs_loaded_destroy(gs_loaded **loaded)
{
    if (!loaded || !*loaded) return;
    gs_loaded *const l = *loaded;
    if (l->module) l->device->ops->unload(l->device, l->module);
    for (int i = 0; i < GS_MAX_ENTRIES; i++) free(l->state[i].maps);
    gs_image_free(&l->image);
    free(l);
    *loaded = NULL;
}

gs_status gs_loaded_alloc(const gs_loaded *loaded, gs_pointer *workspace, gs_error *error)
{
    gs_device *const device = loaded->device;
    *workspace = 0;
    if (loaded->workspace == 0) return GS_OK;
    GS_TRY(device->ops->alloc(device, loaded->workspace, workspace, error));
    if (loaded->zeroed == 0) return GS_OK;
    gs_status status = device->ops->fill(device, *workspace, 0, loaded->zeroed, NULL, error);
    if (status == GS_OK) status = device->ops->queue_wait(device, NULL, error);   /* other queues do not wait for this one */
    if (status == GS_OK) return GS_OK;
    device->ops->free(device, *workspace);
    *workspace = 0;
    return status;
}

/* A pointer whose map is not the one in use: another of its group, or a new one in the place of the group's oldest. */
static gs_status change_map(gs_device *device, kept_maps *maps, gs_pointer pointer, void **param, gs_error *error)
{
    const size_t group = (size_t)(pointer * 0x9e3779b97f4a7c15ull >> 60) % GROUPS, first = group * MEMBERS;
    size_t at = first;
    while (at < first + MEMBERS && maps->address[at] != pointer) at++;
    if (at == first + MEMBERS) {
        gs_tensor tensor = maps->tensor;
        at = first + maps->next[group];
        tensor.address = pointer;
        maps->address[at] = 0;
        GS_TRY(device->ops->tensor_map(device, &tensor, &maps->map[at], error));
        maps->address[at] = pointer;
        maps->next[group] = (uint8_t)((maps->next[group] + 1) % MEMBERS);
    }
    *param = &maps->map[at];
    return GS_OK;
}

gs_status gs_loaded_run(gs_loaded *loaded, const gs_args *args, gs_queue queue, gs_error *error)
{
    gs_device *const device = loaded->device;
    memcpy(&loaded->args, args, sizeof *args);
    for (int i = 0; i < loaded->entry_count; i++) {
        launch_state *const state = &loaded->state[i];
        for (int j = 0; j < state->map_count; j++) {
            kept_maps *const maps = &state->maps[j];
            const gs_pointer pointer = (gs_pointer)(uintptr_t)*(void *const *)(const void *)((const char *)args + maps->pointer);
            const size_t in_use = (size_t)((const gs_tensor_map *)state->params[j] - maps->map);
            if (maps->address[in_use] != pointer) GS_TRY(change_map(device, maps, pointer, &state->params[j], error));
        }
        GS_TRY(device->ops->launch(device, &state->launch, queue, error));
    }
    return GS_OK;
}

void gs_loaded_set_scalars(gs_loaded *loaded, float alpha, float beta)
{
    loaded->args.alpha = alpha;
    loaded->args.beta = beta;
}

size_t gs_loaded_workspace(const gs_loaded *loaded) { return loaded->workspace; }
size_t gs_loaded_zeroed(const gs_loaded *loaded) { return loaded->zeroed; }

int gs_loaded_smem(const gs_loaded *loaded)
{
    int most = 0;
    for (int i = 0; i < loaded->entry_count; i++) most = GS_MAX(most, (int)loaded->state[i].launch.smem);
    return most + loaded->image.static_smem;
}

const gs_manifest *gs_loaded_manifest(const gs_loaded *loaded) { return &loaded->manifest; }
const gs_image *gs_loaded_image(const gs_loaded *loaded) { return &loaded->image; }
