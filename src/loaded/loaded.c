/* SPDX-License-Identifier: MIT
 * The generic launch. Everything is computed when the kernel is loaded, except the pointers and, for a pointer that was not among the last few, its tensor maps. What a run
 * changes belongs to its thread (loaded/states.h); the rest never changes again. */
#include "loaded/loaded.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "base/error.h"
#include "base/random.h"
#include "loaded/code.h"
#include "loaded/states.h"
#include "problem/layout.h"

#define GROUPS  16   /* of kept maps; a pointer belongs to one. A power of two */
#define MEMBERS 4    /* of a group */

/* A tensor map for each of the last pointers: encoding one costs more than the rest of a call, and callers rotate buffers. */
typedef struct kept_maps {
    gs_tensor_map map[GROUPS * MEMBERS];  /* first: aligned to 64 bytes */
    gs_pointer    address[GROUPS * MEMBERS];   /* 0: none yet */
    uint8_t       next[GROUPS];           /* the member to replace next */
} kept_maps;

/* The constant part of an entry's launch. */
typedef struct entry_plan {
    gs_launch launch;                     /* no parameters, not prepared */
    int       map_count, idle;            /* idle: the output and the grid are empty, nothing is launched */
    gs_tensor tensor[GS_MAX_MAPS];        /* without the address */
    size_t    pointer[GS_MAX_MAPS];       /* offset of the operand's pointer in gs_kernel_args: its own, or the workspace's */
    size_t    behind[GS_MAX_MAPS];        /* bytes from there to the tensor */
    bool      from_unit[GS_MAX_MAPS];     /* the map starts at the 16-byte boundary before the first element */
} entry_plan;

typedef struct launch_state {
    kept_maps      *maps;                 /* map_count of them */
    int             map_count;
    void           *params[GS_MAX_MAPS + 1];   /* of maps: the ones in use */
    gs_pointer      in_use[GS_MAX_MAPS];       /* the pointers that these describe; 0: none yet */
    size_t          pointer[GS_MAX_MAPS], behind[GS_MAX_MAPS];   /* as in entry_plan */
    bool            from_unit[GS_MAX_MAPS];
    gs_launch       launch;
    gs_launch_ready ready;
} launch_state;

/* What a thread changes when it runs the kernel. */
typedef struct run_state {
    gs_state       base;
    int            entry_count;
    bool           scaled;                /* args has other scalars than the problem */
    unsigned       asked;                 /* calls of set_early so far */
    gs_kernel_args args;
    launch_state   entry[];
} run_state;

struct gs_loaded {
    gs_states      states;                /* one run_state per thread */
    entry_plan     entry[GS_MAX_ENTRIES];
    int            entry_count;
    gs_kernel_args args;                  /* without pointers */
    bool           scalars;               /* alpha and beta of a run are in device memory */
    size_t         constant_bytes;        /* of B, if a dependent launch may read it before the kernel in front has ended; else 0 */
    gs_memory_use  reach[GS_REACHES];     /* the memory that a call's pointers lead to, in the order of set_reach */
    gs_device     *device;
    gs_loaded_code *code;
    gs_manifest    manifest;
    bool           user;                    /* code->image.user, where each call finds it */
    size_t         workspace, zeroed;       /* bytes */
};

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

/* The tensor that a map describes: an operand as it is stored, row by row. Along K a block continues where its box ended, so the next 128 bytes may be fetched too; along N they
 * are another block's (measured: docs/performance/grid). */
static gs_tensor tensor_of(const gs_map *map, const gs_problem *problem)
{
    const gs_shape s = gs_shape_of(problem, map->operand);
    const bool along_k = map->operand == 'a' ? !gs_is_a_transposed(problem->layout) : map->operand != 'b' || gs_is_b_transposed(problem->layout);
    gs_tensor tensor = {
        .element = s.type, .extent = {(uint64_t)s.row, (uint64_t)s.rows}, .stride = (uint64_t)s.ld * gs_type_size(s.type),
        .box = {(uint32_t)map->inner, (uint32_t)map->outer}, .swizzle = map->swizzle, .fetch = along_k ? 256 : 128,
        .matrices = map->batch ? (uint64_t)s.matrices : 0, .step = (uint64_t)(s.stride ? s.stride : s.ld * s.rows) * gs_type_size(s.type),
    };
    if (map->eighth) {
        tensor.extent[1] = (tensor.extent[1] + 8 - (uint64_t)map->eighth) / 8;
        tensor.stride *= 8;
    }
    if (map->turn && problem->gate == GS_GATE_STACKED) tensor.second = (uint64_t)problem->n * tensor.stride;
    if (map->turn && problem->gate == GS_GATE_INTERLEAVED) tensor.second = tensor.stride, tensor.stride *= 2;
    return tensor;
}

/* A copy's rows are a multiple of this, bytes (kernels/common/pack.cuh). */
#define PACKED_ROW 128u

static bool is_packed(const gs_manifest *manifest, char operand) { return (operand == 'a' && manifest->packed[0]) || (operand == 'b' && manifest->packed[1]); }

/* The same with a manifest whose operands may be packed copies in the workspace. */
static gs_tensor tensor_in(const gs_manifest *manifest, const gs_map *map, const gs_problem *problem)
{
    gs_tensor tensor = tensor_of(map, problem);
    if (is_packed(manifest, map->operand)) tensor.stride = (tensor.extent[0] * gs_type_size(tensor.element) + PACKED_ROW - 1) / PACKED_ROW * PACKED_ROW;
    return tensor;
}

/* Bytes of all packed copies; b_at: offset of B's. */
static size_t packed_bytes(const gs_manifest *manifest, const gs_problem *problem, size_t *b_at)
{
    const gs_map a = {.operand = 'a'}, b = {.operand = 'b'};
    const gs_tensor of_a = tensor_in(manifest, &a, problem), of_b = tensor_in(manifest, &b, problem);
    *b_at = manifest->packed[0] ? of_a.stride * of_a.extent[1] : 0;
    return *b_at + (manifest->packed[1] ? of_b.stride * of_b.extent[1] : 0);
}

static size_t pointer_of(const gs_manifest *manifest, char operand)
{
    if (is_packed(manifest, operand)) return offsetof(gs_kernel_args, workspace);
    return operand == 'a' ? offsetof(gs_kernel_args, a) : operand == 'b' ? offsetof(gs_kernel_args, b) : operand == 'c' ? offsetof(gs_kernel_args, c) : offsetof(gs_kernel_args, d);
}

static gs_status prepare_entry(gs_loaded *loaded, entry_plan *state, const gs_entry *entry, const gs_problem *problem, gs_error *error)
{
    gs_device *const device = loaded->device;
    const gs_formula_names names = names_of(problem, &device->caps);
    gs_function_info info;
    size_t bytes[GS_MAX_MAPS + 1];
    GS_TRY(device->ops->function(device, loaded->code->module, entry->name, &state->launch.function, &info, error));
    if (info.local_bytes > 0 && loaded->code->image.spill_bytes > 0) return gs_fail(error, GS_ERROR_SPILL, entry->name, "%d bytes of local memory per thread", info.local_bytes);
    int64_t value;
    for (int i = 0; i < 3; i++) {
        GS_TRY(value_of(&entry->grid[i], &names, i == 0 ? 2147483647 : 65535, "grid", &value, error));
        state->idle |= value == 0 && (problem->m == 0 || problem->n == 0 || problem->batch == 0);
        if (value == 0 && !state->idle && problem->k > 0) return gs_fail(error, GS_ERROR_LAUNCH, "grid", "%s is 0: no block, although there is an output", entry->grid[i].text);
        state->launch.grid[i] = (uint32_t)GS_MAX(value, 1);
        state->launch.block[i] = (uint32_t)entry->block[i];
        state->launch.cluster[i] = (uint32_t)entry->cluster[i];
    }
    GS_TRY(value_of(&entry->smem, &names, device->caps.smem_block, "smem", &value, error));
    state->launch.smem = (uint32_t)value;
    state->launch.dependent = entry->dependent;
    for (int i = 0; i < entry->map_count; i++) bytes[i] = sizeof(gs_tensor_map);
    bytes[entry->map_count] = gs_args_taken(problem, info.parameters > entry->map_count ? info.parameter_bytes[entry->map_count] : 0);
    GS_TRY(gs_device_check(device, entry->name, &info, &state->launch, bytes, entry->map_count + 1, error));
    const uint32_t cluster = state->launch.cluster[0] * state->launch.cluster[1] * state->launch.cluster[2];
    GS_TRY(device->ops->function_smem(device, state->launch.function, state->launch.smem, cluster, error));
    state->map_count = entry->map_count;
    if (entry->map_count && problem->matrices) return gs_fail(error, GS_ERROR_UNSUPPORTED, "map", "a tensor map describes no matrices that are found by pointers");
    for (int i = 0; i < entry->map_count; i++)
        if (entry->map[i].turn && (!problem->gate || !gs_is_b_transposed(problem->layout) || problem->n % 8 != 0 || is_packed(&loaded->manifest, 'b')))
            return gs_fail(error, GS_ERROR_UNSUPPORTED, "map", "rows are read in turn where B has a gate, is stored N x K with N a multiple of 8, and is no copy");
    for (int i = 0; i < entry->map_count; i++)
        if (entry->map[i].eighth && loaded->user)   /* a row's first unit may begin before the operand */
            return gs_fail(error, GS_ERROR_UNSUPPORTED, "map", "every eighth row is for kernels of this library alone");
        else if (entry->map[i].eighth && (gs_shape_of(problem, entry->map[i].operand).rows < 8 || gs_shape_of(problem, entry->map[i].operand).matrices > 1 || is_packed(&loaded->manifest, entry->map[i].operand)))
            return gs_fail(error, GS_ERROR_UNSUPPORTED, "map", "every eighth row is read of one matrix of eight rows or more that is no copy");
    size_t b_at;
    packed_bytes(&loaded->manifest, problem, &b_at);
    for (int i = 0; i < entry->map_count; i++) {
        const char operand = entry->map[i].operand;
        state->tensor[i] = tensor_in(&loaded->manifest, &entry->map[i], problem);
        state->pointer[i] = pointer_of(&loaded->manifest, operand);
        state->behind[i] = operand == 'b' && is_packed(&loaded->manifest, operand) ? b_at : 0;
        state->from_unit[i] = entry->map[i].eighth > 0;
        if (entry->map[i].eighth) state->behind[i] = (size_t)(entry->map[i].eighth - 1) * (size_t)state->tensor[i].stride / 8;
    }
    if (cluster > 1 && !state->idle) {
        int clusters = 0;
        GS_TRY(device->ops->max_clusters(device, &state->launch, &clusters, error));
        if (clusters < 1) return gs_fail(error, GS_ERROR_LAUNCH, "cluster", "%u blocks of a cluster do not fit together", cluster);
    }
    return GS_OK;
}

/* ---- a thread's state ---- */

static void destroy_state(gs_state *base)
{
    run_state *const state = (run_state *)(void *)base;
    for (int i = 0; i < state->entry_count; i++) free(state->entry[i].maps);
    free(state);
}

static bool fill_entry(const gs_loaded *loaded, run_state *run, launch_state *state, const entry_plan *plan)
{
    state->launch = plan->launch;
    state->map_count = plan->map_count;
    if (plan->map_count > 0) {
        const size_t size = (size_t)plan->map_count * sizeof *state->maps;
        state->maps = aligned_alloc(_Alignof(kept_maps), size);
        if (!state->maps) return false;
        memset(state->maps, 0, size);
    }
    for (int i = 0; i < plan->map_count; i++) {
        state->params[i] = &state->maps[i].map[0];
        state->pointer[i] = plan->pointer[i];
        state->behind[i] = plan->behind[i];
        state->from_unit[i] = plan->from_unit[i];
    }
    state->params[plan->map_count] = &run->args;
    state->launch.params = state->params;
    if (loaded->device->ops->prepare) loaded->device->ops->prepare(loaded->device, &state->launch, &state->ready);
    return true;
}

/* Calls no driver function: a thread's first run may be during a capture. */
static gs_state *create_state(void *self, gs_error *error)
{
    const gs_loaded *const loaded = self;
    run_state *const state = calloc(1, sizeof *state + (size_t)loaded->entry_count * sizeof state->entry[0]);
    bool filled = state != NULL;
    if (filled) state->args = loaded->args;
    for (int i = 0; filled && i < loaded->entry_count; i++) {
        state->entry_count = i + 1;
        filled = fill_entry(loaded, state, &state->entry[i], &loaded->entry[i]);
    }
    if (filled) return &state->base;
    if (state) destroy_state(&state->base);
    gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a launch");
    return NULL;
}

/* ---- loading ---- */

static gs_status prepare_workspace(gs_loaded *loaded, const gs_problem *problem, gs_error *error)
{
    const gs_formula_names names = names_of(problem, &loaded->device->caps);
    int64_t bytes, zeroed;
    GS_TRY(value_of(&loaded->manifest.workspace, &names, (int64_t)1 << 40, "workspace", &bytes, error));
    GS_TRY(value_of(&loaded->manifest.zeroed, &names, bytes, "zeroed", &zeroed, error));
    if (zeroed % 4) return gs_fail(error, GS_ERROR_RANGE, "zeroed", "%s is %lld, no multiple of 4", loaded->manifest.zeroed.text, (long long)zeroed);
    size_t b_at;
    const size_t packed = packed_bytes(&loaded->manifest, problem, &b_at);
    if (packed > (size_t)bytes)
        return gs_fail(error, GS_ERROR_RANGE, "workspace", "%s is %lld, copies of the operands take %zu", loaded->manifest.workspace.text, (long long)bytes, packed);
    loaded->workspace = (size_t)bytes;
    loaded->zeroed = (size_t)zeroed;
    return GS_OK;
}

/* Only the elements of an output may be written: what lies between its rows and matrices belongs to others. */
static void note_elements(gs_memory_use *use, const gs_shape *s)
{
    const size_t size = gs_type_size(s->type), row = (size_t)s->row * size, ld = (size_t)s->ld * size, stride = (size_t)s->stride * size, matrix = s->rows > 0 ? (size_t)(s->rows - 1) * ld + row : 0;
    const bool several = s->matrices > 1, behind = !several || stride >= matrix;
    use->row = row;
    use->pitch = !behind ? stride : ld > row ? ld : 0;
    if (several && stride != (size_t)s->rows * ld) {
        use->part = behind ? matrix : (size_t)(s->matrices - 1) * stride + row;
        use->period = behind ? stride : ld;
    }
}

/* In the order of set_reach. */
static void note_reach(gs_loaded *loaded, const gs_problem *problem)
{
    for (int i = 0; i < GS_REACHES - 3; i++) {
        const char letter = "abcdefghi"[i];
        const gs_shape s = gs_shape_of(problem, letter);
        const bool array = i < 4 && problem->matrices, none = letter == 'c' && problem->beta == 0;   /* arrays of pointers are only read, D's too */
        const bool written = !array && gs_is_written(problem, letter);
        const size_t bytes = i < 4 ? gs_args_bytes(problem, letter) : gs_problem_bytes(problem, letter);
        loaded->reach[i] = (gs_memory_use){.bytes = none ? 0 : bytes, .written = written};
        if (written) note_elements(&loaded->reach[i], &s);
    }
    loaded->reach[9].bytes = loaded->reach[10].bytes = loaded->scalars ? sizeof(float) : 0;
    loaded->reach[11] = (gs_memory_use){.bytes = loaded->workspace, .written = true};
}

gs_loaded_code *gs_loaded_share(const gs_loaded *loaded)
{
    loaded->code->users++;
    return loaded->code;
}

/* Takes over the caller's use of the code, also on failure. code NULL: creating it has failed, returns NULL. */
static gs_loaded *loaded_new(gs_loaded_code *code, const gs_manifest *manifest, const gs_problem *problem, gs_error *error)
{
    if (!code) return NULL;
    gs_loaded *const loaded = calloc(1, sizeof *loaded);
    if (!loaded) {
        gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a loaded kernel");
        gs_loaded_code_drop(&code);
        return NULL;
    }
    gs_device *const device = code->device;
    loaded->code = code;
    loaded->device = device;
    loaded->manifest = *manifest;
    loaded->entry_count = manifest->entry_count;
    loaded->states = (gs_states){.create = create_state, .destroy = destroy_state, .self = loaded};
    loaded->scalars = problem->scalars == GS_SCALARS_DEVICE;
    loaded->constant_bytes = problem->constant == GS_CONSTANT_B ? gs_problem_bytes(problem, 'b') : 0;
    loaded->args = (gs_kernel_args){
        .lda = problem->lda, .ldb = problem->ldb, .ldc = problem->ldc, .ldd = problem->ldd,
        .m = (int)problem->m, .n = (int)problem->n, .k = (int)problem->k, .batch = (int)problem->batch,
        .alpha = loaded->scalars ? NAN : problem->alpha, .beta = loaded->scalars ? NAN : problem->beta,   /* so that a kernel that reads the wrong ones is wrong */
        .stride_a = gs_shape_of(problem, 'a').stride, .stride_b = gs_shape_of(problem, 'b').stride, .stride_c = gs_shape_of(problem, 'c').stride,
        .stride_d = gs_shape_of(problem, 'd').stride, .stride_bias = gs_shape_of(problem, 'e').stride,
        .ldaux = gs_shape_of(problem, 'g').ld, .stride_aux = gs_shape_of(problem, 'g').stride,
    };
    return loaded;
}

/* After loading the code: everything that follows from the manifest. Destroys `loaded` on failure. */
static gs_status prepare(gs_loaded *loaded, const gs_problem *problem, gs_status status, gs_loaded **out, gs_error *error)
{
    loaded->user = loaded->code->image.user;
    for (int i = 0; status == GS_OK && i < loaded->manifest.entry_count; i++)
        status = prepare_entry(loaded, &loaded->entry[i], &loaded->manifest.entry[i], problem, error);
    if (status == GS_OK) status = prepare_workspace(loaded, problem, error);
    note_reach(loaded, problem);
    if (status == GS_OK) status = gs_states_init(&loaded->states, error);
    if (status != GS_OK) {
        gs_loaded_destroy(&loaded);
        return status;
    }
    *out = loaded;
    return GS_OK;
}

static gs_status create(gs_loaded **out, gs_device *device, const gs_kernel *kernel, const gs_problem *problem, bool user, gs_error *error)
{
    *out = NULL;
    GS_TRY(gs_manifest_check(&kernel->manifest, error));
    gs_loaded *const loaded = loaded_new(gs_loaded_code_new(device, error), &kernel->manifest, problem, error);
    if (!loaded) return GS_ERROR_MEMORY;
    return prepare(loaded, problem, gs_loaded_code_compile(loaded->code, kernel, problem, user, error), out, error);
}

gs_status gs_loaded_create_image(gs_loaded **out, gs_device *device, const gs_manifest *manifest, gs_image *image, const gs_problem *problem, gs_error *error)
{
    *out = NULL;
    GS_TRY(gs_manifest_check(manifest, error));
    gs_loaded *const loaded = loaded_new(gs_loaded_code_new(device, error), manifest, problem, error);
    if (!loaded) return GS_ERROR_MEMORY;
    loaded->code->image = *image;
    *image = (gs_image){0};
    return prepare(loaded, problem, device->ops->load(device, &loaded->code->image, &loaded->code->module, error), out, error);
}

gs_status gs_loaded_create_shared(gs_loaded **out, gs_loaded_code *code, const gs_manifest *manifest, const gs_problem *problem, gs_error *error)
{
    *out = NULL;
    GS_TRY(gs_manifest_check(manifest, error));
    code->users++;
    gs_loaded *const loaded = loaded_new(code, manifest, problem, error);
    return loaded ? prepare(loaded, problem, GS_OK, out, error) : GS_ERROR_MEMORY;
}

gs_status gs_loaded_create(gs_loaded **out, gs_device *device, const gs_kernel *kernel, const gs_problem *problem, gs_error *error) { return create(out, device, kernel, problem, false, error); }

gs_status gs_loaded_create_user(gs_loaded **out, gs_device *device, const gs_kernel *kernel, const gs_problem *problem, gs_error *error) { return create(out, device, kernel, problem, true, error); }

void gs_loaded_destroy(gs_loaded **loaded)
{
    if (!loaded || !*loaded) return;
    gs_loaded *const l = *loaded;
    gs_states_free(&l->states);
    gs_loaded_code_drop(&l->code);
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

/* Encodes a map in place of the group's oldest one. */
static __attribute__((noinline)) gs_status encode_map(gs_device *device, const gs_tensor *described, launch_state *state, int index, size_t group, gs_pointer pointer, gs_error *error)
{
    kept_maps *const maps = &state->maps[index];
    const size_t at = group * MEMBERS + maps->next[group];
    const gs_pointer before = state->from_unit[index] ? pointer % 16 : 0;
    gs_tensor tensor = *described;
    tensor.address = pointer - before;
    tensor.extent[0] += before / gs_type_size((gs_type)tensor.element);
    maps->address[at] = 0;
    state->in_use[index] = 0;   /* this map may be the one that is replaced */
    GS_TRY(device->ops->tensor_map(device, &tensor, &maps->map[at], error));
    maps->address[at] = pointer;
    maps->next[group] = (uint8_t)((maps->next[group] + 1) % MEMBERS);
    state->params[index] = &maps->map[at];
    state->in_use[index] = pointer;
    return GS_OK;
}

/* A pointer whose map is not the one in use: another of its group, or a new one. */
static inline gs_status change_map(gs_device *device, const gs_tensor *described, launch_state *state, int index, gs_pointer pointer, gs_error *error)
{
    kept_maps *const maps = &state->maps[index];
    const size_t group = (size_t)(pointer * 0x9e3779b97f4a7c15ull >> 60) % GROUPS, first = group * MEMBERS;
    for (size_t at = first; at < first + MEMBERS; at++) {
        if (maps->address[at] != pointer) continue;
        state->params[index] = &maps->map[at];
        state->in_use[index] = pointer;
        return GS_OK;
    }
    return encode_map(device, described, state, index, group, pointer, error);
}

/* Scalars of a call stay in run->args until a call without them. */
static inline void set_scalars(run_state *run, const gs_loaded *loaded, const gs_args *args)
{
    if (__builtin_expect(loaded->scalars, 0)) {
        run->args.alpha_at = args->alpha;
        run->args.beta_at = args->beta;
        return;
    }
    if (__builtin_expect(!args->alpha && !args->beta && !run->scaled, 1)) return;
    run->args.alpha = args->alpha ? *args->alpha : loaded->args.alpha;
    run->args.beta = args->beta ? *args->beta : loaded->args.beta;
    run->scaled = args->alpha || args->beta;
}

static inline void set_args(run_state *run, const gs_loaded *loaded, const gs_args *args, void *workspace)
{
    run->args.a = args->a, run->args.b = args->b, run->args.c = args->c, run->args.d = args->d;
    run->args.bias = args->bias;
    run->args.offsets = args->offsets;
    run->args.aux = args->aux;
    run->args.scale_m = args->scale_m, run->args.scale_n = args->scale_n;
    run->args.workspace = workspace;
    set_scalars(run, loaded, args);
}

/* The memory that a user kernel may reach, for a launch on an emulated device. */
static void set_reach(const gs_loaded *loaded, const gs_args *args, const void *workspace, gs_launch *launch)
{
    const void *const to[GS_REACHES] = {args->a, args->b, args->c == args->d ? NULL : args->c, args->d, args->bias, args->offsets, args->aux, args->scale_m, args->scale_n, args->alpha, args->beta, workspace};
    int count = 0;
    memset(launch->reach, 0, sizeof launch->reach);
    for (int i = 0; i < GS_REACHES; i++)
        if (to[i]) launch->reach[count] = loaded->reach[i], launch->reach[count++].at = (gs_pointer)(uintptr_t)to[i];
}

/* After set_args: the maps of an entry's launch, and its reach. */
static inline gs_status set_entry(run_state *run, const gs_loaded *loaded, int entry, const gs_args *args, gs_error *error)
{
    launch_state *const state = &run->entry[entry];
    for (int j = 0; j < state->map_count; j++) {
        const void *const operand = *(void *const *)(const void *)((const char *)&run->args + state->pointer[j]);
        const gs_pointer pointer = (gs_pointer)(uintptr_t)operand + state->behind[j];
        if (state->in_use[j] != pointer && operand) GS_TRY(change_map(loaded->device, &loaded->entry[entry].tensor[j], state, j, pointer, error));   /* a call may have no C; then nothing reads its map */
    }
    if (loaded->user && loaded->device->caps.emulated) set_reach(loaded, args, run->args.workspace, &state->launch);
    return GS_OK;
}

/* For a problem with a constant B, after set_entry: whether the launch may read B early. On an emulated device half of a user kernel's dependent launches may not, at random, so
 * that the kernel cannot tell which (every second one would be one entry of two). */
static __attribute__((noinline)) void set_early(run_state *run, const gs_loaded *loaded, int entry, const gs_args *args, bool dependent)
{
    gs_launch *const launch = &run->entry[entry].launch;
    gs_random random = {(uint64_t)(uintptr_t)args->d ^ ((uint64_t)run->asked++ << 47)};
    const bool withheld = loaded->user && loaded->device->caps.emulated && gs_random_next(&random) >> 63;
    run->args.early_b = dependent && launch->dependent && !withheld;
    launch->constant = run->args.early_b ? (gs_memory_range){(gs_pointer)(uintptr_t)args->b, loaded->constant_bytes} : (gs_memory_range){0, 0};
}

gs_status gs_loaded_run_in(gs_loaded *loaded, const gs_args *args, void *workspace, gs_queue queue, gs_error *error)
{
    run_state *const run = gs_states_mine(&loaded->states, error);
    if (!run) return GS_ERROR_MEMORY;
    set_args(run, loaded, args, workspace);
    for (int i = 0; i < run->entry_count; i++) {
        if (__builtin_expect(loaded->entry[i].idle, 0)) continue;
        GS_TRY(set_entry(run, loaded, i, args, error));
        const gs_launch_mode mode = run->entry[i].launch.mode;
        if (__builtin_expect(loaded->constant_bytes != 0, 0)) set_early(run, loaded, i, args, mode == GS_LAUNCH_DEPENDENT || (mode == GS_LAUNCH_AS_DEVICE && loaded->device->dependent));
        GS_TRY(loaded->device->ops->launch(loaded->device, &run->entry[i].launch, queue, error));
    }
    return GS_OK;
}

/* ---- in a graph ---- */

/* Launches with another mode, this time only: what was prepared has the kernel's own. */
static gs_status launch_as(gs_device *device, const gs_launch *prepared, gs_launch_mode mode, gs_queue queue, gs_error *error)
{
    gs_launch launch = *prepared;
    launch.mode = mode;
    launch.ready = NULL;
    return device->ops->launch(device, &launch, queue, error);
}

/* Records which node a launch became, if the caller needs it. */
static gs_status name_node(gs_device *device, gs_queue queue, int entry, gs_captured *out, gs_error *error)
{
    if (!out || !out->changeable) return GS_OK;
    const gs_status named = device->ops->capture_node(device, queue, &out->node[entry], error);
    if (named != GS_ERROR_UNSUPPORTED) return named;
    out->changeable = false;
    return GS_OK;
}

gs_status gs_loaded_capture(gs_loaded *loaded, const gs_args *args, void *workspace, bool dependent, gs_queue queue, gs_captured *out, gs_error *error)
{
    gs_device *const device = loaded->device;
    run_state *const run = gs_states_mine(&loaded->states, error);
    if (out) *out = (gs_captured){.changeable = device->ops->capture_node != NULL};
    if (!run) return GS_ERROR_MEMORY;
    set_args(run, loaded, args, workspace);
    for (int i = 0, launched = 0; i < run->entry_count; i++) {
        const gs_launch *const launch = &run->entry[i].launch;
        if (loaded->entry[i].idle) continue;
        const bool early = dependent && launch->dependent && device->ops->predecessor && device->ops->predecessor(device, queue) == GS_PREDECESSOR_TRIGGERS;
        GS_TRY(set_entry(run, loaded, i, args, error));
        if (loaded->constant_bytes) set_early(run, loaded, i, args, early);
        GS_TRY(launch_as(device, launch, early ? GS_LAUNCH_DEPENDENT : GS_LAUNCH_PLAIN, queue, error));
        if (out && launched++ == 0) out->dependent = early;
        if (launch->dependent && device->ops->triggers) device->ops->triggers(device, queue);
        GS_TRY(name_node(device, queue, i, out, error));
    }
    return GS_OK;
}

/* Whatever may be refused because of the arguments comes before the first launch is changed. */
gs_status gs_loaded_change(gs_loaded *loaded, const gs_args *args, void *workspace, gs_graph graph, const gs_captured *captured, gs_error *error)
{
    gs_device *const device = loaded->device;
    run_state *const run = gs_states_mine(&loaded->states, error);
    if (!run) return GS_ERROR_MEMORY;
    set_args(run, loaded, args, workspace);
    for (int i = 0; i < run->entry_count; i++)
        if (!loaded->entry[i].idle) GS_TRY(set_entry(run, loaded, i, args, error));
    for (int i = 0; i < run->entry_count; i++) {
        if (loaded->entry[i].idle) continue;
        if (loaded->constant_bytes) set_early(run, loaded, i, args, captured->dependent);
        GS_TRY(device->ops->graph_change(device, graph, captured->node[i], &run->entry[i].launch, error));
    }
    return GS_OK;
}

gs_status gs_loaded_run(gs_loaded *loaded, const gs_args *args, gs_queue queue, gs_error *error) { return gs_loaded_run_in(loaded, args, args->workspace, queue, error); }

gs_status gs_loaded_need(const gs_manifest *manifest, const gs_problem *problem, const gs_caps *caps, size_t *bytes, gs_error *error)
{
    const gs_formula_names names = names_of(problem, caps);
    int64_t value;
    GS_TRY(value_of(&manifest->workspace, &names, (int64_t)1 << 40, "workspace", &value, error));
    *bytes = (size_t)value;
    return GS_OK;
}

gs_status gs_loaded_set_mode(gs_loaded *loaded, gs_launch_mode mode, gs_error *error)
{
    if (mode == GS_LAUNCH_AS_DEVICE) return GS_OK;
    for (int i = 0; i < loaded->entry_count; i++) loaded->entry[i].launch.mode = mode;
    gs_states_free(&loaded->states);   /* the existing state has the old mode */
    loaded->states = (gs_states){.create = create_state, .destroy = destroy_state, .self = loaded};
    return gs_states_init(&loaded->states, error);
}

size_t gs_loaded_workspace(const gs_loaded *loaded) { return loaded->workspace; }
size_t gs_loaded_zeroed(const gs_loaded *loaded) { return loaded->zeroed; }

int gs_loaded_smem(const gs_loaded *loaded)
{
    int most = 0;
    for (int i = 0; i < loaded->entry_count; i++) most = GS_MAX(most, (int)loaded->entry[i].launch.smem);
    return most + loaded->code->image.static_smem;
}

const gs_manifest *gs_loaded_manifest(const gs_loaded *loaded) { return &loaded->manifest; }
const gs_image *gs_loaded_image(const gs_loaded *loaded) { return &loaded->code->image; }
