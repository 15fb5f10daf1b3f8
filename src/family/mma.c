/* SPDX-License-Identifier: MIT
 * Family mma: cp.async stages, ldmatrix, mma.sync. Mirrors kernels/mma.cu; docs/internals/mma.md explains it. */
#include "family/mma.h"

#include <stdio.h>

#include "base/error.h"
#include "family/shared.h"
#include "kernel/kernel.h"
#include "schedule/family.h"
#include "schedule/model.h"

/* ---- parameters ---- */

static const gs_parameter_value tile_values[] = {
    {"16x16x64",   { 16,  16, 64}}, {"16x32x64",   { 16,  32, 64}}, {"16x64x64",   { 16,  64, 64}}, {"16x128x64",  { 16, 128, 64}},
    {"32x32x64",   { 32,  32, 64}}, {"32x64x64",   { 32,  64, 64}}, {"32x128x64",  { 32, 128, 64}},
    {"64x32x64",   { 64,  32, 64}}, {"64x64x32",   { 64,  64, 32}}, {"64x64x64",   { 64,  64, 64}}, {"64x128x32",  { 64, 128, 32}},
    {"64x128x64",  { 64, 128, 64}}, {"128x32x64",  {128,  32, 64}}, {"128x64x32",  {128,  64, 32}}, {"128x64x64",  {128,  64, 64}},
    {"128x128x32", {128, 128, 32}}, {"128x128x64", {128, 128, 64}}, {"128x256x32", {128, 256, 32}}, {"256x128x32", {256, 128, 32}},
};
static const gs_parameter_value warps_values[] = {   /* warps along M x along N */
    {"w1x1", {1, 1}}, {"w1x2", {1, 2}}, {"w2x1", {2, 1}}, {"w2x2", {2, 2}}, {"w1x4", {1, 4}}, {"w4x1", {4, 1}}, {"w2x4", {2, 4}},
    {"w4x2", {4, 2}},
};
static const gs_parameter_value stages_values[] = {{"s2", {2}}, {"s3", {3}}, {"s4", {4}}, {"s5", {5}}, {"s6", {6}}};

static const gs_parameter parameters[] = {
    [GS_MMA_TILE]   = {"tile",   GS_VALUES(tile_values)},
    [GS_MMA_WARPS]  = {"warps",  GS_VALUES(warps_values)},
    [GS_MMA_STAGES] = {"stages", GS_VALUES(stages_values)},
    [GS_MMA_RASTER] = {"raster", GS_VALUES(gs_raster_values)},
};

static const int16_t *value_of(const gs_schedule *schedule, int parameter) { return gs_parameter_numbers(parameters, schedule, parameter); }

/* ---- which schedule strings are valid, and what they ask of a multiprocessor ---- */

enum {
    MOST_REGISTERS   = 255,        /* of a thread */
    RESERVED_SMEM    = 1024,       /* bytes that every resident block costs beyond its own */
    MOST_TILES       = 2147483647, /* blocks along x of a grid */
    NARROW_SPARE     = 24,         /* registers beyond the need, so that narrow copies are not squeezed into spilling */
    PAIR_REGISTERS   = 6,          /* of a pair of single elements in flight: values, predicates, addresses */
    PAIRS_SPARE      = 96,         /* the same for single elements, whose loads the compiler gathers */
    MOST_PAIRS       = 15,         /* pairs of single elements in flight per thread; more end up in local memory */
    USED_BESIDE      = 34,         /* registers beside accumulators, fragments and copies that the compiler took (NVRTC 13.0) */
    SLAB_ROWS        = 16,         /* rows of a warp's epilogue buffer */
    PARTS            = 4           /* of a multiprocessor: each holds a quarter of the registers, for whole warps */
};

/* The numbers of a schedule string, and of a warp. */
typedef struct shape {
    int bm, bn, bk, wm, wn, stages;
    int warp_m, warp_n, threads;
} shape;

static shape shape_of(const gs_schedule *schedule)
{
    const int16_t *const tile = value_of(schedule, GS_MMA_TILE);
    const int16_t *const warps = value_of(schedule, GS_MMA_WARPS);
    return (shape){
        .bm = tile[0], .bn = tile[1], .bk = tile[2], .wm = warps[0], .wn = warps[1],
        .stages = value_of(schedule, GS_MMA_STAGES)[0],
        .warp_m = tile[0] / warps[0], .warp_n = tile[1] / warps[1], .threads = warps[0] * warps[1] * 32,
    };
}

int gs_problem_vector(const gs_problem *problem)
{
    const int64_t both = problem->lda | problem->ldb;
    return both % 8 == 0 ? 8 : both % 4 == 0 ? 4 : both % 2 == 0 ? 2 : 1;
}

/* Stages, or the epilogue's slabs, which take their place: 16 rows of each warp's tile, in an odd number of 8-column units. */
static int smem_of(const shape *s, const gs_problem *problem)
{
    const int ring = s->stages * (s->bm + s->bn) * s->bk * 2;
    const int slabs = s->threads / 32 * SLAB_ROWS * ((s->warp_n / 8 | 1) * 8) * (int)gs_type_size(problem->out);
    return GS_MAX(ring, slabs);
}

/* Copy instructions of a thread for one k-block, and pairs of single elements that one slice of them keeps in registers. */
static int copies_of(const shape *s, int vector) { return (s->bm + s->bn) * s->bk / GS_MAX(vector, 2) / s->threads; }
static int pairs_of(const shape *s)
{
    const int slices = s->bk / 16 - 1;
    return (copies_of(s, 1) + slices - 1) / slices;
}

/* Registers that a thread needs without spilling: accumulators, two sets of fragments, the pairs in flight where rows have any
 * alignment, and addresses, which grow with the number of copies. Checked against the compiler in tests/family/mma.c. */
static int registers_of(const shape *s, const gs_problem *problem)
{
    const int vector = gs_problem_vector(problem);
    const int accumulators = s->warp_m * s->warp_n / (problem->acc == GS_F32 ? 32 : 64);
    const int fragments = 2 * (s->warp_m / 4 + s->warp_n / 4);
    const int copies = vector == 1 ? PAIR_REGISTERS * pairs_of(s) : copies_of(s, vector);
    const bool narrow = vector == 4 || vector == 2;
    const int addresses = 44 + copies + (narrow ? 20 : s->threads == 32 ? 8 : 0);
    return accumulators + fragments + addresses;
}

/* Blocks of a multiprocessor at the same time, with so many registers per thread; at least 1. */
static int blocks_with(const shape *s, int registers, const gs_problem *problem, const gs_caps *caps)
{
    const int granted = GS_MIN((registers + 7) / 8 * 8, 256);
    const int by_registers = caps->registers_sm / PARTS / (granted * 32) * PARTS * 32 / s->threads;
    const int by_smem = caps->smem_sm / (smem_of(s, problem) + RESERVED_SMEM);
    const int by_threads = caps->threads_sm / s->threads;
    const int by_slots = caps->cc == 80 || caps->cc >= 90 ? 32 : caps->cc == 89 ? 24 : 16;
    return GS_MAX(1, GS_MIN(GS_MIN(by_registers, by_smem), GS_MIN(by_threads, by_slots)));
}

/* The same, promised. */
static int blocks_of(const shape *s, const gs_problem *problem, const gs_caps *caps)
{
    const int vector = gs_problem_vector(problem);
    const int spare = vector == 8 ? 0 : vector > 1 ? NARROW_SPARE : PAIRS_SPARE;
    return blocks_with(s, registers_of(s, problem) + spare, problem, caps);
}

/* Blocks that a multiprocessor is expected to hold: the compiler takes fewer registers than resources promise. */
static int resident_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const shape s = shape_of(schedule);
    const int vector = gs_problem_vector(problem), promised = blocks_of(&s, problem, caps);
    if (vector == 1) return promised;
    const int accumulators = s.warp_m * s.warp_n / (problem->acc == GS_F32 ? 32 : 64);
    const int used = accumulators + 2 * (s.warp_m / 4 + s.warp_n / 4) + copies_of(&s, vector) + USED_BESIDE;
    return GS_MAX(promised, blocks_with(&s, used, problem, caps));
}

static gs_status check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const shape s = shape_of(schedule);
    if (caps->cc < 80)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "mma needs compute capability 8.0 (cp.async); this device has %d.%d",
                       caps->cc / 10, caps->cc % 10);
    const int64_t tiles_m = (problem->m + s.bm - 1) / s.bm;
    const int64_t tiles_n = (problem->n + s.bn - 1) / s.bn;
    if (tiles_m * tiles_n > MOST_TILES) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too many tiles for one grid; take a larger tile");

    if (s.warp_m < 16 || s.warp_n < 8)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "each warp needs 16 x 8 of the tile or more; this gives it %d x %d", s.warp_m, s.warp_n);
    if (gs_problem_vector(problem) == 1 && pairs_of(&s) > MOST_PAIRS)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps",
                       "rows of A or B of odd length take %d loads in flight per thread, at most %d fit; take more warps", 2 * pairs_of(&s), 2 * MOST_PAIRS);
    const int registers = registers_of(&s, problem);
    if (registers > MOST_REGISTERS)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "%d x %d of the tile per warp take about %d registers, a thread has %d; take more warps",
                       s.warp_m, s.warp_n, registers, MOST_REGISTERS);
    const int smem = smem_of(&s, problem);
    if (smem > caps->smem_block)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%d bytes of shared memory, a block has %d", smem, caps->smem_block);
    return GS_OK;
}

static gs_resources resources_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const shape s = shape_of(schedule);
    const int blocks = blocks_of(&s, problem, caps);
    const int warps_part = (blocks * s.threads / 32 + PARTS - 1) / PARTS;
    const int allowed = caps->registers_sm / PARTS / (warps_part * 32) / 8 * 8;   /* what the compiler may use for that many blocks */
    return (gs_resources){
        .threads   = s.threads,
        .registers = GS_MIN(MOST_REGISTERS, allowed),
        .smem      = smem_of(&s, problem),
        .blocks_sm = blocks,
        .cluster   = 1,
    };
}

/* ---- the time model ---- */

/* Elements per store of D: the widest that its rows allow, given an aligned pointer. */
static int store_vector(const gs_problem *problem)
{
    const int64_t size = (int64_t)gs_type_size(problem->out);
    int vector = (int)(16 / size);
    while (problem->ldd % vector) vector /= 2;
    return vector;
}

static gs_work work_of(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const int16_t *const tile = value_of(schedule, GS_MMA_TILE);
    const int16_t *const split = value_of(schedule, GS_MMA_WARPS);
    const int16_t *const raster = value_of(schedule, GS_MMA_RASTER);
    const int resident = resident_of(schedule, p, &profile->caps);
    const int stages = value_of(schedule, GS_MMA_STAGES)[0], vector = gs_problem_vector(p);
    const double bm = tile[0], bn = tile[1], bk = tile[2], warps = split[0] * split[1], k_steps = bk / 16;
    const double wm = bm / split[0], wn = bn / split[1], mmas = wm / 16 * wn / 8;      /* of a warp and k-step */
    const double copies = (bm + bn) * bk / GS_MAX(vector, 2) / 32;                     /* warp instructions, or pairs of loads */
    const double copy_port = vector == 8 ? r->copy_port : vector > 1 ? r->narrow_port : r->pair_port;
    const double reads = warps * (wm + wn) * bk * 2;                                   /* bytes of fragments */
    const double pieces = fmax(1, 16 * wn / store_vector(p) / 32);                     /* stores of a warp's slab */
    const double slabs = ceil(gs_inside(wm, p->m) / 16);                                  /* that lie in D, of a warp */
    const gs_walk walked = {bm, bn, raster[0], raster[1] != 0, (double)profile->caps.sms * resident};
    return (gs_work){
        .blocks = fmax(1, gs_ceil_div((double)p->m, bm) * gs_ceil_div((double)p->n, bn) * (double)p->batch),
        .cluster = 1, .resident = resident,
        .steps   = gs_ceil_div((double)p->k, bk),
        .matrix  = 2 * bm * bn * bk / (profile->caps.tensor_flops * r->mma_share),
        .port    = ((bm + bn) * bk * 2 + reads) / r->port_bytes + copies * copy_port,
        .issue   = warps * k_steps * (mmas + wm / 16 + wn / 16) + copies * r->copy_issue,
        .feed    = (gs_inside(bm, p->m) + gs_inside(bn, p->n)) * gs_inside(bk, p->k) * 2,
        .chain   = r->mma_sync + warps * r->mma_warp_sync + k_steps * gs_together(r->mma_fragment, mmas * r->mma_step) +
                    copies / warps * r->copy_chain + (vector == 1 ? (k_steps - 1) * r->pair_wait : 0),
        .latency = r->mma_latency,
        .ahead   = stages - 1,
        .held    = r->mma_held,
        .start   = r->mma_start,
        .finish  = r->mma_finish + slabs * (r->mma_slab + pieces * r->mma_piece),
        .finish_port = warps * slabs * pieces * r->mma_store_port,
        .store   = gs_inside(bm, p->m) * gs_inside(bn, p->n) * (double)gs_type_size(p->out) * (p->beta != 0 ? 2 : 1),
        .memory_bytes = gs_memory_bytes(&walked, p, profile),
    };
}

/* ---- the kernel: kernels/mma.cu with its defines and manifest ---- */

static gs_status build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const int16_t *const tile = value_of(schedule, GS_MMA_TILE);
    const int16_t *const warps = value_of(schedule, GS_MMA_WARPS);
    const int16_t *const raster = value_of(schedule, GS_MMA_RASTER);
    const gs_resources resources = resources_of(schedule, problem, caps);
    const int out_bytes = (int)gs_type_size(problem->out);
    const int vector = gs_problem_vector(problem);
    const int vector_d = store_vector(problem);

    kernel->name = "mma.cu";
    kernel->source = gs_embedded_find("mma.cu");
    if (!kernel->source) return gs_fail(error, GS_ERROR_NOT_FOUND, "mma.cu", "kernel source is not part of this build");
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_BM", tile[0]);
    gs_kernel_define(kernel, "GS_BN", tile[1]);
    gs_kernel_define(kernel, "GS_BK", tile[2]);
    gs_kernel_define(kernel, "GS_WM", warps[0]);
    gs_kernel_define(kernel, "GS_WN", warps[1]);
    gs_kernel_define(kernel, "GS_STAGES", value_of(schedule, GS_MMA_STAGES)[0]);
    gs_kernel_define(kernel, "GS_GROUP", raster[0]);
    gs_kernel_define(kernel, "GS_ALONG_N", raster[1]);
    gs_kernel_define(kernel, "GS_BLOCKS", resources.blocks_sm);
    gs_kernel_define(kernel, "GS_VEC", vector);
    gs_kernel_define(kernel, "GS_VEC_D", vector_d);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = problem->acc;
    manifest->bitwise = true;
    manifest->align[0] = manifest->align[1] = vector * 2;
    manifest->align[2] = out_bytes;
    manifest->align[3] = vector_d * out_bytes;
    manifest->entry_count = 1;

    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_mma");
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "cdiv(m,%d)*cdiv(n,%d)", tile[0], tile[1]);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "min(batch,65535)", error));
    GS_TRY(gs_formula_set(&entry->grid[2], "cdiv(batch,65535)", error));
    snprintf(text, sizeof text, "%d", resources.smem);
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = resources.threads;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = entry->cluster[1] = entry->cluster[2] = 1;
    entry->dependent = caps->cc >= 90;
    entry->map_count = 0;
    return GS_OK;
}

/* ---- the family ---- */

const gs_family gs_family_mma = {
    .name       = "mma",
    .summary    = "Ampere and later: cp.async stages, ldmatrix, mma.sync; any alignment",
    .parameters = parameters, .parameter_count = GS_COUNT(parameters),
    .check      = check,
    .resources  = resources_of,
    .work       = work_of,
    .build      = build,
};
