/* SPDX-License-Identifier: MIT
 * Family slicek: fragments directly from global memory, K shared by warps and clusters. Mirrors kernels/slicek.cu; docs/internals/slicek.md explains it. */
#include "family/slicek.h"

#include <stdio.h>

#include "base/error.h"
#include "family/direct.h"
#include "family/shared.h"
#include "kernel/kernel.h"
#include "problem/layout.h"
#include "schedule/family.h"
#include "schedule/model.h"

/* ---- parameters ---- */

static const gs_parameter_value tile_values[] = {   /* of a block, M x N */
    {"16x16",  { 16, 16}}, {"16x32",  { 16, 32}}, {"16x64",  { 16, 64}}, {"16x128", { 16, 128}},
    {"32x16",  { 32, 16}}, {"32x32",  { 32, 32}}, {"32x64",  { 32, 64}}, {"32x128", { 32, 128}},
    {"64x16",  { 64, 16}}, {"64x32",  { 64, 32}}, {"64x64",  { 64, 64}}, {"64x128", { 64, 128}},
    {"128x16", {128, 16}}, {"128x32", {128, 32}}, {"128x64", {128, 64}},
};
static const gs_parameter_value warps_values[] = {   /* along M x along N x along K */
    {"w1x1x1", {1, 1, 1}}, {"w1x1x2", {1, 1, 2}}, {"w1x1x4", {1, 1, 4}}, {"w1x1x8", {1, 1, 8}}, {"w1x1x16", {1, 1, 16}},
    {"w2x1x1", {2, 1, 1}}, {"w2x1x2", {2, 1, 2}}, {"w2x1x4", {2, 1, 4}}, {"w2x1x8", {2, 1, 8}},
    {"w1x2x1", {1, 2, 1}}, {"w1x2x2", {1, 2, 2}}, {"w1x2x4", {1, 2, 4}}, {"w1x2x8", {1, 2, 8}},
    {"w2x2x1", {2, 2, 1}}, {"w2x2x2", {2, 2, 2}}, {"w2x2x4", {2, 2, 4}},
    {"w4x1x1", {4, 1, 1}}, {"w4x1x2", {4, 1, 2}}, {"w4x1x4", {4, 1, 4}},
    {"w1x4x1", {1, 4, 1}}, {"w1x4x2", {1, 4, 2}}, {"w1x4x4", {1, 4, 4}},
    {"w4x2x1", {4, 2, 1}}, {"w4x2x2", {4, 2, 2}}, {"w2x4x1", {2, 4, 1}}, {"w2x4x2", {2, 4, 2}}, {"w4x4x1", {4, 4, 1}},
};
static const gs_parameter_value depth_values[] = {{"d1", {1}}, {"d2", {2}}, {"d3", {3}}, {"d4", {4}}, {"d8", {8}}};   /* steps of 32 k in flight per warp */
static const gs_parameter_value split_values[] = {{"k1", {1}}, {"k2", {2}}, {"k4", {4}}, {"k8", {8}}, {"k16", {16}}};   /* blocks per cluster along K */
static const gs_parameter_value fetch_values[] = {{"f128", {128}}, {"f256", {256}}};   /* bytes that a load which misses brings into L2 */

static const gs_parameter parameters[] = {
    [GS_SLICEK_TILE]  = {"tile",  GS_VALUES(tile_values)},
    [GS_SLICEK_WARPS] = {"warps", GS_VALUES(warps_values)},
    [GS_SLICEK_DEPTH] = {"depth", GS_VALUES(depth_values)},
    [GS_SLICEK_SPLIT] = {"split", GS_VALUES(split_values)},
    [GS_SLICEK_SIZES] = {"sizes", GS_VALUES(gs_sizes_values)},
    [GS_SLICEK_FETCH] = {"fetch", GS_VALUES(fetch_values)},
};

static const int16_t *value_of(const gs_schedule *schedule, int parameter) { return gs_parameter_numbers(parameters, schedule, parameter); }

/* ---- which schedule strings are valid, and their resources ---- */

enum {
    STEP           = 32,           /* k per step of a warp */
    MOST_REGISTERS = 255,          /* per thread */
    MOST_TILES     = 65535,        /* limit of a grid's y and z dimensions */
    MOST_BLOCKS    = 2147483647,   /* limit of its x dimension */
    MOST_LD        = 1073741823,   /* largest leading dimension in elements: twice it fits an int */
    RESERVED_SMEM  = 1024,         /* bytes of shared memory that the driver reserves per resident block */
    BARRIER_BYTES  = 16,
    BESIDE         = 26,           /* registers not counted otherwise */
    C_REGISTERS    = 16,           /* most registers for loading C */
    LOOP_REGISTERS = 12,           /* more in a loop over K, besides a set of fragments */
    RAW_REGISTERS  = 24,           /* more for rows of any alignment: ends of matrices, masks, pairs */
    STRIDED_REGISTERS = 16,        /* more if rows of B are loaded with a stride that is not a constant */
    PARTS          = 4             /* partitions of a multiprocessor: each has a quarter of the registers, allocated to whole warps */
};

/* A schedule string applied to a problem. */
typedef struct shape {
    int  bm, bn, wm, wn, wk, depth, split;
    bool fixed;
    int  mt, nt;       /* mma tiles per warp: 16 rows, 8 columns */
    int  threads;
    bool raw_a, raw_b; /* rows whose start, or whose multiplied length, is not a multiple of 16 bytes */
} shape;

static shape shape_of(const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = value_of(schedule, GS_SLICEK_TILE);
    const int16_t *const warps = value_of(schedule, GS_SLICEK_WARPS);
    return (shape){
        .bm = tile[0], .bn = tile[1], .wm = warps[0], .wn = warps[1], .wk = warps[2],
        .depth = value_of(schedule, GS_SLICEK_DEPTH)[0], .split = value_of(schedule, GS_SLICEK_SPLIT)[0],
        .fixed = value_of(schedule, GS_SLICEK_SIZES)[0] != 0,
        .mt = tile[0] / warps[0] / 16, .nt = tile[1] / warps[1] / 8, .threads = 32 * warps[0] * warps[1] * warps[2],
        .raw_a = gs_rows_unit(problem, 'a') % 8 != 0 || problem->k % 8 != 0,
        .raw_b = gs_rows_unit(problem, 'b') % 8 != 0 || (problem->layout == GS_TN ? problem->k : problem->n) % 8 != 0,
    };
}

/* Partial tiles of the warps along K, the buffer for other blocks of the cluster, and its barrier. */
static int smem_of(const shape *s)
{
    const int tile = s->bm * s->bn * 4;
    return (s->wk > 1 ? s->wk * tile : 0) + (s->split > 1 ? tile + BARRIER_BYTES : 0);
}

/* Steps of the warp with the most; at least 1, so that K = 0 has a shortest schedule string, too. */
static int64_t rounds_of(const shape *s, const gs_problem *p)
{
    const int64_t span = (int64_t)STEP * s->wk * s->split;
    return GS_MAX((p->k + span - 1) / span, 1);
}

/* Whether all loads of a warp are in flight at once, without a loop. */
static bool is_straight(const shape *s, const gs_problem *p) { return s->fixed && rounds_of(s, p) <= s->depth; }

/* Registers for the operands of a step: raw pieces of 8 elements (of up to 8 columns with nn) need one more word. */
static int step_registers(const shape *s, const gs_problem *p)
{
    const int columns = GS_MIN(s->nt, 8), pieces = p->layout == GS_TN ? s->nt : s->nt * 8 / columns;
    return s->mt * 8 + s->nt * 4 + (s->raw_a ? s->mt * 2 : 0) + (s->raw_b ? pieces : 0);
}

/* Registers that a thread needs without spilling: sums, operands in flight, addresses of rows unless they are at a constant distance, values of C. Checked against the
 * compiler in tests/family/slicek.c. */
static int registers_of(const shape *s, const gs_problem *p)
{
    const bool tn = p->layout == GS_TN, edge_m = !s->fixed || p->m % s->bm, edge_n = !s->fixed || p->n % s->bn;
    const int sums = s->mt * s->nt * 4 * (s->mt * s->nt <= 4 ? 2 : 1);
    const int rows = edge_m ? 2 * s->mt : 1, columns = !tn ? (s->nt + 7) / 8 : edge_n ? s->nt : 1;
    const int loop = is_straight(s, p) ? 0 : LOOP_REGISTERS + 4 * (tn && s->mt * 2 <= s->nt ? s->mt : s->nt / 2);
    const int raw = s->raw_a || s->raw_b ? RAW_REGISTERS + s->nt * 2 : 0;
    const int strided = !tn && !s->fixed ? STRIDED_REGISTERS : 0;
    return sums + s->depth * step_registers(s, p) + 2 * (rows + columns) + (gs_has_epilogue(p) ? C_REGISTERS : 0) + loop + strided + raw + BESIDE;
}

/* Registers granted to the compiler: in a loop it tends to load a step before it has used up the one that it replaces. */
static int granted_registers(const shape *s, const gs_problem *p)
{
    const int wanted = registers_of(s, p) + (is_straight(s, p) ? 0 : step_registers(s, p));
    return GS_MIN((wanted + 7) / 8 * 8, 256);
}

/* Resident blocks per multiprocessor; 0: not even one. */
static int blocks_of(const shape *s, const gs_problem *p, const gs_caps *caps)
{
    const int by_registers = caps->registers_sm / PARTS / (granted_registers(s, p) * 32) * PARTS * 32 / s->threads;
    const int by_smem = caps->smem_sm / (smem_of(s) + RESERVED_SMEM);
    const int by_slots = caps->cc == 80 || caps->cc >= 90 ? 32 : caps->cc == 89 ? 24 : 16;
    return GS_MIN(GS_MIN(by_registers, by_smem), GS_MIN(caps->threads_sm / s->threads, by_slots));
}

/* Requirements of loads and stores. */
static gs_status check_problem(const shape *s, const gs_problem *p, const gs_caps *caps, gs_error *error)
{
    if (caps->cc < 80)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "slicek needs compute capability 8.0 (mma.sync of 16 x 8 x 16); this device has %d.%d",
                       caps->cc / 10, caps->cc % 10);
    if (s->split > 1 && caps->cc < 90)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "a cluster needs compute capability 9.0; this device has %d.%d", caps->cc / 10, caps->cc % 10);
    if (p->m < 1 || p->n < 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, p->m < 1 ? "m" : "n", "slicek needs at least one row and one column");
    return GS_OK;
}

/* Limits of the grid and of the kernel's integers. */
static gs_status check_extents(const shape *s, const gs_problem *p, gs_error *error)
{
    const int64_t tiles_m = (p->m + s->bm - 1) / s->bm, tiles_n = (p->n + s->bn - 1) / s->bn;
    if (tiles_m > MOST_BLOCKS / s->split) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too many tiles along M; take a larger tile");
    if (tiles_n > MOST_TILES) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too many tiles along N; take a larger tile");
    if (p->batch > MOST_TILES) return gs_fail(error, GS_ERROR_UNSUPPORTED, "b", "a batch of more than %d", MOST_TILES);
    if (tiles_m * s->bm > MOST_BLOCKS || tiles_n * s->bn > MOST_BLOCKS)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, tiles_m * s->bm > MOST_BLOCKS ? "m" : "n", "the last tile's end does not fit an int");
    const int64_t ld[] = {p->lda, p->ldb, p->ldc, p->ldd};
    static const char *const names[] = {"lda", "ldb", "ldc", "ldd"};
    for (int i = 0; i < 4; i++)
        if (ld[i] > MOST_LD) return gs_fail(error, GS_ERROR_UNSUPPORTED, names[i], "rows of more than %d elements", MOST_LD);
    return GS_OK;
}

/* Refuses schedule strings that do the same as a smaller one, with idle parts. */
static gs_status check_use(const gs_schedule *schedule, const shape *s, const gs_problem *p, gs_error *error)
{
    const int64_t steps = GS_MAX((p->k + STEP - 1) / STEP, 1), parts = s->wk * s->split, rounds = rounds_of(s, p);
    if (s->bm > 16 && s->bm / 2 >= p->m) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "half of its rows suffice");
    if (s->bn > 16 && s->bn / 2 >= p->n) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "half of its columns suffice");
    if (s->wk > 1 && parts / 2 >= steps) return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "K has %d steps of 32 for %d parts", (int)steps, (int)parts);
    if (s->split > 1 && parts / 2 >= steps) return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "K has %d steps of 32 for %d parts", (int)steps, (int)parts);
    const int depth = schedule->value[GS_SLICEK_DEPTH];
    if (depth > 0 && depth_values[depth - 1].number[0] >= rounds)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "depth", "a warp has only %d steps", (int)rounds);
    return GS_OK;
}

static gs_status check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const shape s = shape_of(schedule, problem);
    GS_TRY(check_problem(&s, problem, caps, error));
    GS_TRY(check_extents(&s, problem, error));
    if (s.mt < 1 || s.nt < 2)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "each warp needs 16 x 16 of the tile or more; this gives it %d x %d", s.bm / s.wm, s.bn / s.wn);
    GS_TRY(check_use(schedule, &s, problem, error));
    const int registers = registers_of(&s, problem), smem = smem_of(&s);
    if (registers > MOST_REGISTERS)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "depth", "%d steps of %d x %d in flight take about %d registers, a thread has %d", s.depth, s.mt * 16,
                       s.nt * 8, registers, MOST_REGISTERS);
    if (smem > caps->smem_block) return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "%d bytes of shared memory, a block has %d", smem, caps->smem_block);
    if (blocks_of(&s, problem, caps) < 1)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "depth", "%d threads with about %d registers do not fit a multiprocessor", s.threads, registers);
    return GS_OK;
}

static gs_resources resources_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const shape s = shape_of(schedule, problem);
    const int blocks = blocks_of(&s, problem, caps), warps_part = (blocks * s.threads / 32 + PARTS - 1) / PARTS;
    return (gs_resources){
        .threads   = s.threads,
        .registers = GS_MIN(MOST_REGISTERS, caps->registers_sm / PARTS / (warps_part * 32) / 8 * 8),   /* registers per thread that allow so many resident blocks */
        .smem      = smem_of(&s),
        .blocks_sm = blocks,
        .cluster   = s.split,
    };
}

/* ---- the time model ---- */

static gs_work work_of(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    const int16_t *const tile = value_of(schedule, GS_SLICEK_TILE);
    const int16_t *const warps = value_of(schedule, GS_SLICEK_WARPS);
    const shape s = shape_of(schedule, problem);
    const gs_direct d = {
        .bm = tile[0], .bn = tile[1], .rows = warps[0], .columns = warps[1], .parts = warps[2],
        .depth = value_of(schedule, GS_SLICEK_DEPTH)[0], .split = value_of(schedule, GS_SLICEK_SPLIT)[0],
        .swap_ab = problem->layout == GS_NN, .raw_a = s.raw_a, .raw_b = s.raw_b,
    };
    const gs_resources resources = resources_of(schedule, problem, &profile->caps);
    return gs_direct_work(&d, &resources, problem, profile);
}

/* ---- the kernel: kernels/slicek.cu with its defines and manifest ---- */

/* Elements per access to C or D: as many as the alignment of its rows allows, given an aligned pointer. */
static int vector_of(const gs_problem *problem, int64_t unit)
{
    int vector = 16 / (int)gs_type_size(problem->out);
    while (unit % vector) vector /= 2;
    return vector;
}

static void define_schedule(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = value_of(schedule, GS_SLICEK_TILE);
    const int16_t *const warps = value_of(schedule, GS_SLICEK_WARPS);
    gs_kernel_define(kernel, "GS_BM", tile[0]);
    gs_kernel_define(kernel, "GS_BN", tile[1]);
    gs_kernel_define(kernel, "GS_WM", warps[0]);
    gs_kernel_define(kernel, "GS_WN", warps[1]);
    gs_kernel_define(kernel, "GS_WK", warps[2]);
    gs_kernel_define(kernel, "GS_DEPTH", value_of(schedule, GS_SLICEK_DEPTH)[0]);
    gs_kernel_define(kernel, "GS_SPLIT", value_of(schedule, GS_SLICEK_SPLIT)[0]);
    gs_kernel_define(kernel, "GS_FETCH", value_of(schedule, GS_SLICEK_FETCH)[0]);
    if (value_of(schedule, GS_SLICEK_SIZES)[0]) gs_kernel_define_sizes(kernel, problem);
}

static gs_status make_grid(gs_entry *entry, const gs_schedule *schedule, gs_error *error)
{
    const int16_t *const tile = value_of(schedule, GS_SLICEK_TILE);
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "cdiv(m,%d)*%d", tile[0], value_of(schedule, GS_SLICEK_SPLIT)[0]);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    snprintf(text, sizeof text, "cdiv(n,%d)", tile[1]);
    GS_TRY(gs_formula_set(&entry->grid[1], text, error));
    return gs_formula_set(&entry->grid[2], "batch", error);
}

static gs_status build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const gs_resources resources = resources_of(schedule, problem, caps);
    const shape s = shape_of(schedule, problem);
    const int out_bytes = (int)gs_type_size(problem->out);
    const int vector_c = vector_of(problem, gs_rows_unit(problem, 'c')), vector_d = vector_of(problem, gs_rows_unit(problem, 'd'));

    kernel->name = "slicek.cu";
    kernel->source = gs_embedded_find("slicek.cu");
    if (!kernel->source) return gs_fail(error, GS_ERROR_NOT_FOUND, "slicek.cu", "kernel source is not part of this build");
    gs_kernel_define_problem(kernel, problem);
    define_schedule(kernel, schedule, problem);
    gs_kernel_define(kernel, "GS_VEC_C", vector_c);
    gs_kernel_define(kernel, "GS_VEC_D", vector_d);
    gs_kernel_define(kernel, "GS_BATCHED", problem->batch > 1);
    gs_kernel_define(kernel, "GS_BLOCKS", resources.blocks_sm);
    gs_kernel_define(kernel, "GS_RAW_A", s.raw_a);
    gs_kernel_define(kernel, "GS_RAW_B", s.raw_b);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = GS_F32;
    manifest->bitwise = true;
    manifest->align[0] = s.raw_a ? 2 : 16;
    manifest->align[1] = s.raw_b ? 2 : 16;
    manifest->align[2] = problem->beta != 0 ? vector_c * out_bytes : out_bytes;
    manifest->align[3] = vector_d * out_bytes;
    manifest->entry_count = 1;

    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_slicek");
    GS_TRY(make_grid(entry, schedule, error));
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "%d", resources.smem);
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = resources.threads;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = resources.cluster;
    entry->cluster[1] = entry->cluster[2] = 1;
    entry->dependent = caps->cc >= 90;
    entry->map_count = 0;
    return GS_OK;
}

/* ---- the family ---- */

const gs_family gs_family_slicek = {
    .name       = "slicek",
    .old_name   = "sliced",
    .summary    = "Ampere and later: fragments straight from global memory, warps and clusters share K, mma.sync; for what takes microseconds",
    .parameters = parameters, .parameter_count = GS_COUNT(parameters),
    .takes      = GS_WANTS_SCALARS | GS_WANTS_STRIDES | GS_WANTS_SCALES,
    .check      = check,
    .resources  = resources_of,
    .work       = work_of,
    .build      = build,
};
