/* SPDX-License-Identifier: MIT
 * The kernels of kernels/verify.cu as host code, on the memory of an emulated device: emulated they would take most of the time of a verification. */
#include <stdlib.h>

#include "checks/calls.h"

static const struct { unsigned int x, y, z; } gridDim = {1, 1, 1}, blockDim = {1, 1, 1}, blockIdx, threadIdx;
#include "checks/one_thread.h"
#include "verify.cu"

/* Finds host addresses of a kernel's memory. whole: all were found. */
typedef struct memory {
    gs_device *device;
    gs_queue   queue;
    bool       whole;
} memory;

static void *host(memory *m, const void *at, gs_u64 bytes, bool writes)
{
    void *const found = at ? m->device->ops->host(m->device, (gs_pointer)(uintptr_t)at, GS_MAX(bytes, 1), writes, m->queue) : NULL;
    m->whole = m->whole && (found || !at);
    return found;
}

static const void *read_at(memory *m, const void *at, gs_u64 bytes) { return host(m, at, bytes, false); }

static gs_u64 size_of(const gs_placed *placed, int type) { return (gs_u64)gs_placed_end(placed) * gs_type_size((gs_type)type); }

static gs_range of_range(memory *m, gs_range range, gs_u64 each, bool writes)
{
    range.at = host(m, range.at, range.units * each, writes);
    range.count = host(m, range.count, sizeof *range.count, false);
    return range;
}

static gs_changed of_changed(memory *m, gs_changed changed)
{
    changed.at = host(m, changed.at, size_of(&changed.placed, changed.type), false);
    return changed;
}

static gs_rows of_rows(memory *m, gs_rows rows)
{
    rows.at = read_at(m, rows.at, (gs_u64)gs_placed_end(&rows.placed) * sizeof(unit));
    rows.out = host(m, rows.out, sizeof *rows.out, false);
    return rows;
}

static gs_bands of_bands(memory *m, gs_bands bands)
{
    for (gs_u64 i = 0; i < bands.count; i++) bands.at[i] = read_at(m, bands.at[i], bands.units * sizeof(unit));
    bands.out = host(m, bands.out, (bands.count + 1) / 2 * sizeof *bands.out, false);
    return bands;
}

/* Vectors with a value for each row, column or group are taken to be long enough. */
static gs_epilogue of_epilogue(memory *m, gs_epilogue e, int type)
{
    e.c = read_at(m, e.c, size_of(&e.placed_c, type));
    e.aux = read_at(m, e.aux, size_of(&e.placed_aux, type));
    e.bias = read_at(m, e.bias, 1);
    e.offsets = read_at(m, e.offsets, sizeof *e.offsets);
    e.scale_m = read_at(m, e.scale_m, sizeof *e.scale_m);
    e.scale_n = read_at(m, e.scale_n, sizeof *e.scale_n);
    return e;
}

static gs_check of_check(memory *m, gs_check check)
{
    check.d = read_at(m, check.d, size_of(&check.placed, check.type));
    check.reference = read_at(m, check.reference, check.rows * check.cols * (check.epilogue.gate ? 2 : 1) * sizeof *check.reference);
    check.epilogue = of_epilogue(m, check.epilogue, check.type);
    check.counts = host(m, check.counts, sizeof *check.counts, false);
    return check;
}

static void move_address(memory *m, gs_u64 *address) { *address = (gs_u64)(uintptr_t)read_at(m, (const void *)(uintptr_t)*address, 1); }

/* begin and end may lie in guard bands, which are in the output's allocation, so they move with it. */
static gs_timed_set *of_sets(memory *m, const gs_timed *timed)
{
    const gs_timed_set *const from = read_at(m, timed->sets, timed->count * sizeof *from);
    gs_timed_set *const sets = from ? malloc(timed->count * sizeof *sets) : NULL;
    if (!sets) m->whole = false;
    for (gs_u64 i = 0; sets && i < timed->count; i++) {
        gs_timed_set *const s = &sets[i];
        *s = from[i];
        gs_u64 *const address[] = {&s->a, &s->b, &s->c, &s->d, &s->bias, &s->offsets, &s->aux, &s->scale_m, &s->scale_n};
        const gs_u64 output[GS_TIMED_OUTPUTS] = {s->d, s->aux, s->bias};
        for (size_t j = 0; j < GS_COUNT(address); j++) move_address(m, address[j]);
        const gs_u64 moved[GS_TIMED_OUTPUTS] = {s->d, s->aux, s->bias};
        for (int j = 0; j < GS_TIMED_OUTPUTS; j++) {
            s->begin[j] += moved[j] - output[j];
            s->end[j] += moved[j] - output[j];
        }
    }
    return sets;
}

static void run_timed(memory *m, gs_timed timed, bool samples)
{
    gs_timed_set *const sets = of_sets(m, &timed);
    timed.sets = sets;
    timed.found = host(m, timed.found, 2 * sizeof *timed.found, false);
    if (m->whole && samples) gs_verify_timed_samples(timed);
    else if (m->whole) gs_verify_timed(timed);
    free(sets);
}

#define ON_RANGE(name, each, writes)                                                        \
    {                                                                                       \
        const gs_range range = of_range(&m, *(const gs_range *)param, each, writes);        \
        if (m.whole) name(range);                                                           \
        break;                                                                              \
    }
#define ON(name, type, of)                               \
    {                                                    \
        const type what = of(&m, *(const type *)param);  \
        if (m.whole) name(what);                         \
        break;                                           \
    }

static gs_datagen of_data(memory *m, gs_datagen g)
{
    const gs_placed placed = gs_datagen_placed(&g);
    g.to = host(m, g.to, size_of(&placed, g.type), true);
    return g;
}

static gs_check_sums of_sums(memory *m, gs_check_sums sums)
{
    sums.of = of_check(m, sums.of);
    sums.at = read_at(m, sums.at, 1);
    return sums;
}

bool gs_check_native(gs_verifier *verifier, int kernel, const void *param, gs_queue queue)
{
    memory m = {verifier->device, queue, true};
    if (!verifier->device->ops->host) return false;
    switch (kernel) {
    case GS_CHECK_GENERATE:      ON(gs_verify_generate, gs_datagen, of_data)
    case GS_CHECK_POISON:        ON_RANGE(gs_verify_poison, sizeof(unit), true)
    case GS_CHECK_GUARD_FILL:    ON_RANGE(gs_verify_guard_fill, sizeof(unit), true)
    case GS_CHECK_GUARD:         ON_RANGE(gs_verify_guard_check, sizeof(unit), false)
    case GS_CHECK_VEIL:          ON_RANGE(gs_verify_veil, sizeof(gs_u64), false)
    case GS_CHECK_WORDS:         ON_RANGE(gs_verify_words, sizeof(unit), false)
    case GS_CHECK_CHANGE:        ON(gs_verify_change, gs_changed, of_changed)
    case GS_CHECK_HASH:          ON(gs_verify_hash, gs_rows, of_rows)
    case GS_CHECK_PADDING:       ON(gs_verify_padding, gs_rows, of_rows)
    case GS_CHECK_BANDS:         ON(gs_verify_bands, gs_bands, of_bands)
    case GS_CHECK_MEASURE:       ON(gs_verify_measure, gs_check, of_check)
    case GS_CHECK_COMPARE:       ON(gs_verify_compare, gs_check, of_check)
    case GS_CHECK_SUMS:          ON(gs_verify_sums, gs_check_sums, of_sums)
    case GS_CHECK_TIMED:         run_timed(&m, *(const gs_timed *)param, false); break;
    case GS_CHECK_TIMED_SAMPLES: run_timed(&m, *(const gs_timed *)param, true); break;
    default:                     (void)gs_verify_pass; return false;   /* stands for another program's kernel, whose time counts */
    }
    return m.whole;
}
