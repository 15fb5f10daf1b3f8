/* SPDX-License-Identifier: MIT */
#include "race/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/log.h"
#include "common/race.h"
#include "kernel/kernel.h"
#include "problem/pool.h"

#define THREADS    256
#define MOST_SETS  256
#define CACHES     4       /* all sets together take so many times the L2, if there is room: then no set is still in the cache */
#define GAP        4352    /* bytes between sets, so that their distance is no power of two */
#define SHARE      8       /* a race may take 1 / SHARE of the free memory */
#define SAMPLES    2048
#define EMULATED_SAMPLES 64
#define SCALARS    64      /* bytes: where alpha and beta are behind the count of wrong results, if they are in device memory */
#define SEED       0x6765656dull
#define POISON     0x7fe57fe5u   /* NaN in every type */

static void *address(gs_pointer pointer) { return (void *)(uintptr_t)pointer; }

/* ---- the kernels ---- */

static gs_status load(gs_track *track, gs_error *error)
{
    static const char *const headers[] = {"common/race.h", "common/placed.h", "common/datagen.h", "common/epilogue.h", "common/groups.h", "common/convert.cuh"};
    const char *texts[GS_COUNT(headers)];
    gs_device *const device = track->device;
    for (size_t i = 0; i < GS_COUNT(headers); i++) texts[i] = gs_embedded_find(headers[i]);
    const gs_source source = {.name = "race.cu", .text = gs_embedded_find("race.cu"), .header_names = headers, .header_texts = texts, .header_count = (int)GS_COUNT(headers)};
    if (!source.text) return gs_fail(error, GS_ERROR_NOT_FOUND, source.name, "kernel source is not part of this build");
    GS_TRY(gs_device_build(device, &source, &track->module, error));
    gs_function_info info;
    GS_TRY(device->ops->function(device, track->module, "gs_race_fill_random", &track->fill, &info, error));
    GS_TRY(device->ops->function(device, track->module, "gs_race_sample", &track->sample, &info, error));
    return device->ops->function(device, track->module, "gs_race_scan", &track->scan, &info, error);
}

/* The kernels have grid-stride loops: any grid will do. */
static gs_status launch(const gs_track *track, gs_function function, void *param, uint64_t threads, gs_error *error)
{
    const gs_caps *const caps = &track->device->caps;
    const uint64_t each = caps->emulated ? 16 : 1, blocks = (threads + THREADS * each - 1) / (THREADS * each), most = (uint64_t)GS_MAX(caps->sms, 1) * 16;
    const gs_launch what = {.function = function, .grid = {(uint32_t)GS_MIN(blocks, most), 1, 1}, .block = {THREADS, 1, 1}, .cluster = {1, 1, 1}, .params = (void *[]){param}};
    return track->device->ops->launch(track->device, &what, track->queue, error);
}

static gs_status fill_random(const gs_track *track, int operand, gs_error *error)
{
    const gs_type type = gs_shape_of(&track->problem, GS_OPERAND_LETTERS[operand]).type;
    gs_race_fill fill = {
        .to = address(track->at[operand]), .elements = track->room[operand] * (size_t)track->sets / gs_type_size(type), .seed = SEED + (gs_u64)operand, .type = type,
    };
    return launch(track, track->fill, &fill, fill.elements, error);
}

/* Each row goes to a random group, the same in every set. */
static gs_status fill_offsets(const gs_track *track, gs_error *error)
{
    const gs_problem *const p = &track->problem;
    gs_device *const device = track->device;
    const int64_t extent = p->grouping == GS_GROUPS_K ? p->k : p->m, each = extent / (1 << 20) + 1, groups = gs_group_count(p), room = gs_group_room(p);
    const bool masked = p->grouping == GS_GROUPS_MASKED;
    const size_t bytes = gs_problem_bytes(p, 'f');
    int32_t *const offsets = calloc(1, bytes);
    if (!offsets) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the offsets of %lld groups", (long long)groups);
    for (int64_t i = 0; i < extent; i += each) offsets[!masked + gs_pick_below(gs_mix(SEED + (gs_u64)i), groups)] += (int32_t)GS_MIN(each, extent - i);
    for (int64_t i = 0; i < groups; i++) {
        if (masked) offsets[i] = (int32_t)GS_MIN(offsets[i], room);
        else offsets[i + 1] += offsets[i];
    }
    gs_status status = GS_OK;
    for (int set = 0; set < track->sets && status == GS_OK; set++) status = device->ops->copy_in(device, track->at[5] + track->room[5] * (size_t)set, offsets, bytes, error);
    free(offsets);
    return status;
}

static gs_status put_pointers(const gs_track *track, gs_error *error)
{
    gs_device *const device = track->device;
    const size_t bytes = gs_pool_pointers_size(&track->problem);
    uint64_t *const pointers = malloc(bytes);
    if (!pointers) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for pointers to %lld matrices", (long long)track->problem.batch);
    gs_status status = GS_OK;
    for (int set = 0; set < track->sets && status == GS_OK; set++) {
        uint64_t at[4];
        for (int i = 0; i < 4; i++) at[i] = track->at[i] + track->room[i] * (size_t)set;
        gs_pool_pointers(&track->problem, at, SEED + (gs_u64)set, pointers);
        status = device->ops->copy_in(device, track->pointers + bytes * (size_t)set, pointers, bytes, error);
    }
    free(pointers);
    return status;
}

/* ---- memory ---- */

static size_t round_up(size_t bytes) { return (bytes + 255) / 256 * 256; }

gs_status gs_track_size(gs_track *track, gs_error *error)
{
    gs_device *const device = track->device;
    const gs_problem *const problem = &track->problem;
    size_t used = 0, set = 0, free_bytes, total_bytes;
    for (int i = 0; i < GS_OPERANDS; i++) {
        if (!gs_is_written(problem, GS_OPERAND_LETTERS[i]) && !gs_is_read(problem, GS_OPERAND_LETTERS[i])) continue;
        const size_t bytes = gs_problem_bytes(problem, GS_OPERAND_LETTERS[i]);
        track->room[i] = round_up(bytes) + GAP;
        used += bytes;
        set += track->room[i];
    }
    if (track->by_pointers) set += gs_pool_pointers_size(problem), used += gs_pool_pointers_size(problem);
    GS_TRY(device->ops->memory_info(device, &free_bytes, &total_bytes, error));
    const size_t most = free_bytes / SHARE, cache = device->caps.emulated ? 0 : (size_t)device->caps.l2_bytes;
    if (set > most)
        return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "measuring takes %zu MiB of device memory, and may take an eighth of the %zu MiB that are free", set >> 20, free_bytes >> 20);
    const size_t wanted = GS_MIN(CACHES * cache / GS_MAX(used, 1u) + 1, (size_t)MOST_SETS);
    track->sets = (int)GS_MIN(wanted, most / set);
    /* Filled before every replay: so much that nothing else stays in the cache or, where the sets see to that, that the device is busy until the host has issued the replay. */
    const size_t scratch = (size_t)track->sets * used < CACHES * cache ? 2 * cache : cache / 8 * 4;
    if (most - (size_t)track->sets * set >= scratch) track->scratch_bytes = scratch;
    track->bytes = set * (size_t)track->sets + track->scratch_bytes + 256;
    return GS_OK;
}

static gs_status place(gs_track *track, gs_error *error)
{
    GS_TRY(gs_track_size(track, error));
    GS_TRY(track->device->ops->alloc(track->device, track->bytes, &track->memory, error));
    gs_pointer next = track->memory;
    track->wrong = next;
    const float scalars[] = {track->problem.alpha, track->problem.beta};
    if (track->problem.scalars == GS_SCALARS_DEVICE) GS_TRY(track->device->ops->copy_in(track->device, next + SCALARS, scalars, sizeof scalars, error));
    next += 256;
    for (int i = 0; i < GS_OPERANDS; i++) {
        if (track->room[i] == 0) continue;
        track->at[i] = next;
        next += track->room[i] * (size_t)track->sets;
    }
    if (track->by_pointers) {
        track->pointers = next;
        next += gs_pool_pointers_size(&track->problem) * (size_t)track->sets;
    }
    if (track->scratch_bytes) track->scratch = next;
    return GS_OK;
}

gs_args gs_track_args(const gs_track *track, int set)
{
    gs_pointer at[GS_OPERANDS];
    for (int i = 0; i < GS_OPERANDS; i++) at[i] = track->at[i] + track->room[i] * (size_t)set;
    gs_args args = gs_args_make(address(at[0]), address(at[1]), address(at[2]), address(at[3]));
    args.bias = address(at[4]);
    args.offsets = address(at[5]);
    args.aux = address(at[6]);
    args.scale_m = address(at[7]);
    args.scale_n = address(at[8]);
    if (track->by_pointers) {
        const size_t each = gs_pool_pointers_size(&track->problem) / 4;
        const gs_pointer first = track->pointers + 4 * each * (size_t)set;
        args.a = address(first);
        args.b = address(first + each);
        args.c = address(first + 2 * each);
        args.d = address(first + 3 * each);
    }
    if (track->problem.scalars == GS_SCALARS_DEVICE) {
        args.alpha = address(track->wrong + SCALARS);
        args.beta = args.alpha + 1;
    }
    return args;
}

/* ---- the clock ---- */

/* Waits for `end`, and counts what was spent since `lead`. */
static gs_status stop(gs_track *track, double *us, gs_error *error)
{
    gs_device *const device = track->device;
    double all;
    GS_TRY(device->ops->event_record(device, track->end, track->queue, error));
    GS_TRY(device->ops->event_us(device, track->lead, track->end, &all, error));
    track->spent_us += all;
    if (us) GS_TRY(device->ops->event_us(device, track->start, track->end, us, error));
    return device->ops->queue_wait(device, track->queue, error);
}

static gs_status begin(const gs_track *track, gs_error *error)
{
    gs_device *const device = track->device;
    GS_TRY(device->ops->event_record(device, track->lead, track->queue, error));
    if (track->scratch) GS_TRY(device->ops->fill(device, track->scratch, 0, track->scratch_bytes, track->queue, error));
    return device->ops->event_record(device, track->start, track->queue, error);
}

gs_status gs_track_time(gs_track *track, gs_track_call *call, void *self, int index, double *us, gs_error *error)
{
    GS_TRY(begin(track, error));
    GS_TRY(call(self, index, track->queue, error));
    return stop(track, us, error);
}

gs_status gs_track_record(gs_track *track, gs_track_call *call, void *self, int index, gs_graph *graph, gs_error *error)
{
    gs_device *const device = track->device;
    GS_TRY(device->ops->capture_begin(device, track->queue, error));
    const gs_status status = call(self, index, track->queue, error);
    const gs_status ended = device->ops->capture_end(device, track->queue, graph, status == GS_OK ? error : NULL);
    if (status == GS_OK || !*graph) return status == GS_OK ? ended : status;
    device->ops->graph_destroy(device, *graph);
    *graph = NULL;
    return status;
}

gs_status gs_track_replay(gs_track *track, gs_graph graph, double *us, gs_error *error)
{
    GS_TRY(begin(track, error));
    GS_TRY(track->device->ops->graph_launch(track->device, graph, track->queue, error));
    return stop(track, us, error);
}

/* ---- results ---- */

gs_status gs_track_poison(gs_track *track, gs_error *error)
{
    return track->device->ops->fill(track->device, track->at[3], POISON, round_up(gs_problem_bytes(&track->problem, 'd')), track->queue, error);
}

gs_status gs_track_check(gs_track *track, bool *wrong, gs_error *error)
{
    gs_device *const device = track->device;
    const gs_problem *const p = &track->problem;
    uint64_t count = 0;
    gs_race_check check = {
        .a = address(track->at[0]), .b = address(track->at[1]), .c = address(track->at[2]), .d = address(track->at[3]), .bias = address(track->at[4]), .aux = address(track->at[6]), .scale_m = address(track->at[7]), .scale_n = address(track->at[8]), .wrong = address(track->wrong),
        .lda = p->lda, .ldb = p->ldb, .ldc = p->ldc, .ldd = p->ldd, .ldaux = gs_shape_of(p, 'g').ld, .m = p->m, .n = p->n, .k = p->k, .batch = p->batch,
        .stride_a = gs_shape_of(p, 'a').stride, .stride_b = gs_shape_of(p, 'b').stride, .stride_c = gs_shape_of(p, 'c').stride, .stride_d = gs_shape_of(p, 'd').stride,
        .stride_bias = gs_shape_of(p, 'e').stride, .stride_aux = gs_shape_of(p, 'g').stride, .writes_aux = (int)p->aux,
        .in = p->in, .out = p->out, .layout = (int)p->layout, .alpha = p->alpha, .beta = p->beta,
        .activation = (int)p->activation, .along = gs_adds_bias(p) ? (int)p->bias : 0, .dbias = p->bias == GS_DBIAS ? (int)gs_dbias_vectors(p) : 0, .residual = (int)p->residual, .gate = (int)p->gate, .offsets = address(track->at[5]), .groups = (int)p->groups, .room = gs_group_room(p), .k_groups = p->grouping == GS_GROUPS_K, .seed = SEED,
        .samples = device->caps.emulated ? EMULATED_SAMPLES : SAMPLES,
        .relative = p->out == GS_F32 ? 1e-4 : p->out == GS_BF16 ? 0x1p-7 : 0x1p-10,
        .spread = p->acc == GS_F16 ? 0.05 + 0x1p-15 * (double)p->k : 0.01,   /* f16: every 16 products may round the sum so far */
    };
    *wrong = false;
    GS_TRY(device->ops->event_record(device, track->lead, track->queue, error));
    GS_TRY(device->ops->fill(device, track->wrong, 0, sizeof count, track->queue, error));
    GS_TRY(launch(track, track->scan, &check, (uint64_t)(p->m * p->n * p->batch), error));
    GS_TRY(launch(track, track->sample, &check, (uint64_t)check.samples * 32, error));
    GS_TRY(stop(track, NULL, error));
    GS_TRY(device->ops->copy_out(device, &count, track->wrong, sizeof count, error));
    *wrong = count != 0;
    return GS_OK;
}

/* ---- opening and closing ---- */

gs_status gs_track_open(gs_track *track, gs_device *device, const gs_problem *problem, gs_error *error)
{
    *track = (gs_track){.device = device, .problem = gs_problem_pool(problem), .by_pointers = problem->matrices == GS_MATRICES_POINTERS};
    const gs_device_ops *const ops = device->ops;
    GS_TRY(ops->queue_create(device, &track->queue, error));
    GS_TRY(ops->event_create(device, &track->lead, error));
    GS_TRY(ops->event_create(device, &track->start, error));
    GS_TRY(ops->event_create(device, &track->end, error));
    GS_TRY(place(track, error));
    GS_TRY(load(track, error));
    GS_TRY(ops->event_record(device, track->lead, track->queue, error));
    for (int i = 0; i < GS_OPERANDS; i++)
        if (!gs_is_written(problem, GS_OPERAND_LETTERS[i]) && track->at[i]) GS_TRY(i == 5 ? fill_offsets(track, error) : fill_random(track, i, error));
    if (track->by_pointers) GS_TRY(put_pointers(track, error));
    return stop(track, NULL, error);
}

void gs_track_close(gs_track *track)
{
    gs_device *const device = track->device;
    const gs_device_ops *const ops = device->ops;
    if (track->queue) ops->queue_wait(device, track->queue, NULL);
    if (track->module) ops->unload(device, track->module);
    if (track->memory) ops->free(device, track->memory);
    if (track->lead) ops->event_destroy(device, track->lead);
    if (track->start) ops->event_destroy(device, track->start);
    if (track->end) ops->event_destroy(device, track->end);
    if (track->queue) ops->queue_destroy(device, track->queue);
    *track = (gs_track){0};
}
