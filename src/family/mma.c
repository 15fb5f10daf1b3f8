/* SPDX-License-Identifier: MIT
 * Family mma: cp.async stages, ldmatrix, mma.sync. Mirrors kernels/mma.cu; docs/internals/mma.md explains it. */
#include "family/mma.h"

#include <stdio.h>

#include "base/error.h"
#include "family/shared.h"
#include "kernel/kernel.h"
#include "problem/layout.h"
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
static const gs_parameter_value split_values[] = {{"k1", {1}}, {"k2", {2}}, {"k4", {4}}, {"k8", {8}}};   /* blocks per cluster along K */

static const gs_parameter parameters[] = {
    [GS_MMA_TILE]   = {"tile",   GS_VALUES(tile_values)},
    [GS_MMA_WARPS]  = {"warps",  GS_VALUES(warps_values)},
    [GS_MMA_STAGES] = {"stages", GS_VALUES(stages_values)},
    [GS_MMA_RASTER] = {"raster", GS_VALUES(gs_raster_values), .free = true},
    [GS_MMA_SPLIT]  = {"split",  GS_VALUES(split_values), .optional = true},
};

static const int16_t *value_of(const gs_schedule *schedule, int parameter) { return gs_parameter_numbers(parameters, schedule, parameter); }

/* ---- which schedule strings are valid, and their resources ---- */

enum {
    MOST_REGISTERS   = 255,        /* per thread */
    RESERVED_SMEM    = 1024,       /* bytes of shared memory that the driver reserves per resident block */
    MOST_TILES       = 2147483647, /* limit of a grid's x dimension */
    SPARE            = 24,         /* registers added to the need, so that raw rows and sums of several blocks do not cause spilling */
    RAW_REGISTERS    = 21,         /* per operand with raw rows: addresses, and words before they are assembled */
    USED_BESIDE      = 34,         /* registers besides accumulators, fragments and copies that the compiler used (NVRTC 13.0) */
    SLAB_ROWS        = 16,         /* rows of a warp's epilogue buffer */
    PARTS            = 4           /* partitions of a multiprocessor: each has a quarter of the registers, allocated to whole warps */
};

/* A schedule string applied to a problem. */
typedef struct shape {
    int  bm, bn, bk, wm, wn, stages, split;
    int  warp_m, warp_n, threads;
    bool raw_a, raw_b;      /* rows that do not start at multiples of 16 bytes */
    int  pitch_a, pitch_b;  /* bytes from one row to the next in shared memory */
    int  halves;            /* tiles of B: two with a gate, unless gate and up alternate along stored rows */
} shape;

static shape shape_of(const gs_schedule *schedule, const gs_problem *problem)
{
    const bool along_k = gs_is_b_transposed(problem->layout), turn = problem->gate == GS_GATE_INTERLEAVED && !along_k;
    const bool raw_a = gs_rows_unit(problem, 'a') % 8 != 0, raw_b = gs_rows_unit(problem, 'b') % 8 != 0 || turn || (problem->gate && !along_k && problem->n % 8 != 0);
    const int halves = problem->gate && !turn ? 2 : 1;
    const int16_t *const tile = value_of(schedule, GS_MMA_TILE);
    const int16_t *const warps = value_of(schedule, GS_MMA_WARPS);
    return (shape){
        .bm = tile[0], .bn = tile[1], .bk = tile[2], .wm = warps[0], .wn = warps[1],
        .stages = value_of(schedule, GS_MMA_STAGES)[0], .split = value_of(schedule, GS_MMA_SPLIT)[0],
        .raw_a = raw_a, .raw_b = raw_b, .pitch_a = (gs_is_a_transposed(problem->layout) ? tile[0] : tile[2]) * 2 + raw_a * 16,
        .pitch_b = (along_k ? tile[2] : tile[1] / halves) * 2 + raw_b * 16, .halves = halves,
        .warp_m = tile[0] / warps[0], .warp_n = tile[1] / warps[1], .threads = warps[0] * warps[1] * 32,
    };
}

/* Bytes of a stage. Its rows are along K for an operand stored along K, else along M or N. */
static int stage_of(const shape *s, const gs_problem *problem)
{
    return (gs_is_a_transposed(problem->layout) ? s->bk : s->bm) * s->pitch_a + (gs_is_b_transposed(problem->layout) ? s->bn : s->halves * s->bk) * s->pitch_b;
}

/* Stages, or what reuses their memory: the epilogue's slabs (16 rows of each warp's tile in an odd number of 8-column units), or the sums of a block that shares K. */
static int smem_of(const shape *s, const gs_problem *problem)
{
    const int ring = s->stages * stage_of(s, problem);
    const int slabs = s->threads / 32 * SLAB_ROWS * ((s->warp_n / 8 | 1) * 8) * (int)gs_type_size(problem->out);
    const int sums = s->bm * (s->bn * 4 + 16);
    return GS_MAX(ring, s->split > 1 ? sums : slabs);
}

/* Copy instructions per thread and k-block. */
static int copies_of(const shape *s) { return (s->bm + s->bn) * s->bk / 8 / s->threads + (s->raw_a || s->raw_b); }

/* Registers that a thread needs without spilling: accumulators, two sets of fragments, and addresses, whose number grows with the number of copies. Checked against
 * the compiler in tests/family/mma.c. */
static int registers_of(const shape *s, const gs_problem *problem)
{
    const int accumulators = s->warp_m * s->warp_n / (problem->acc == GS_F32 ? 32 : 64);
    const int fragments = 2 * (s->warp_m / 4 + s->warp_n / 4);
    const int raw = s->raw_a + s->raw_b, addresses = 44 + copies_of(s) * (raw ? 3 : 1) + raw * RAW_REGISTERS + (s->threads == 32 || gs_is_a_transposed(problem->layout) ? 8 : 0);
    const int sums = problem->bias == GS_DBIAS ? s->warp_n / 4 : 0;   /* column sums */
    const int pointers = !problem->matrices ? 0 : problem->beta != 0 ? 48 : 16;   /* pointers to the matrices of A to D, and values that are reloaded through them */
    return accumulators + fragments + addresses + sums + pointers + (problem->gate ? 8 + s->raw_b * RAW_REGISTERS : 0);
}

/* Resident blocks per multiprocessor with so many registers per thread; at least 1. */
static int blocks_with(const shape *s, int registers, const gs_problem *problem, const gs_caps *caps)
{
    const int granted = GS_MIN((registers + 7) / 8 * 8, 256);
    const int by_registers = caps->registers_sm / PARTS / (granted * 32) * PARTS * 32 / s->threads;
    const int by_smem = caps->smem_sm / (smem_of(s, problem) + RESERVED_SMEM);
    const int by_threads = caps->threads_sm / s->threads;
    const int by_slots = caps->cc == 80 || caps->cc >= 90 ? 32 : caps->cc == 89 ? 24 : 16;
    return GS_MAX(1, GS_MIN(GS_MIN(by_registers, by_smem), GS_MIN(by_threads, by_slots)));
}

static bool has_ends(const gs_problem *problem) { return problem->bias || problem->activation || problem->scales; }

/* Registers granted beyond the need. */
static int spare_of(const shape *s, const gs_problem *problem)
{
    if (has_ends(problem)) return gs_is_gradient(problem->activation) ? 3 * SPARE : problem->beta != 0 || gs_has_aux(problem) ? 2 * SPARE : SPARE;
    return s->raw_a || s->raw_b || s->split > 1 ? SPARE : 0;
}

/* Least registers for C and the operations after it, found by compiling: few for C alone, more with an epilogue or if rows are assembled from unaligned units. */
static int beside_c(const shape *s, const gs_problem *problem)
{
    const bool widens = problem->acc == GS_F16 && problem->out == GS_F32 && (s->raw_a || s->raw_b);
    if (problem->beta == 0) return widens && has_ends(problem) ? SPARE : 0;
    return widens || has_ends(problem) ? SPARE : 8;
}

/* Resident blocks per multiprocessor with the registers that are granted. */
static int blocks_of(const shape *s, const gs_problem *problem, const gs_caps *caps)
{
    return blocks_with(s, registers_of(s, problem) + spare_of(s, problem), problem, caps);
}

/* Resident blocks per multiprocessor to expect: the compiler uses fewer registers than are granted. */
static int resident_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const shape s = shape_of(schedule, problem);
    const int promised = blocks_of(&s, problem, caps);
    const int accumulators = s.warp_m * s.warp_n / (problem->acc == GS_F32 ? 32 : 64);
    const int used = accumulators + 2 * (s.warp_m / 4 + s.warp_n / 4) + copies_of(&s) + USED_BESIDE;
    return GS_MAX(promised, blocks_with(&s, used, problem, caps));
}

static gs_status check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const shape s = shape_of(schedule, problem);
    if (caps->cc < 80)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "mma needs compute capability 8.0 (cp.async); this device has %d.%d",
                       caps->cc / 10, caps->cc % 10);
    const int64_t tiles_m = (problem->m + s.bm - 1) / s.bm;
    const int64_t tiles_n = (gs_columns_of_b(problem) + s.bn - 1) / s.bn;
    if (tiles_m * tiles_n > MOST_TILES) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too many tiles for one grid; take a larger tile");

    if (s.warp_m < 16 || s.warp_n < 8)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "each warp needs 16 x 8 of the tile or more; this gives it %d x %d", s.warp_m, s.warp_n);
    if (problem->gate && s.warp_n < 16) return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "with a gate a warp needs 16 columns: eight of the gate, eight of up");
    if (problem->gate && s.bn / s.halves * s.bk / 8 % s.threads != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "%d threads do not share the copies of the gate's columns evenly", s.threads);
    if (s.split > 1 && problem->invariant) return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "rows whose bits do not depend on M are added up by one block");
    if (s.split > 1 && caps->cc < 90) return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "clusters need compute capability 9.0");
    if (s.split > 1 && (problem->k + s.bk - 1) / s.bk < 2 * s.split)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "K has %lld blocks for %d parts", (long long)((problem->k + s.bk - 1) / s.bk), s.split);
    if (tiles_m * tiles_n > MOST_TILES / s.split) return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "too many blocks for one grid");
    if (problem->beta != 0 && has_ends(problem) && s.warp_m * s.warp_n >= 32 * 128)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "128 results per thread are too many for C beside a bias or an activation; take more warps");
    if (problem->scales && gs_is_gradient(problem->activation) && s.warp_m * s.warp_n >= 32 * 64)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "64 results per thread are too many for scales beside the gradient of an activation; take more warps");
    if (problem->matrices && problem->beta != 0 && s.warp_m >= 128)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "%d rows of a warp are too many for C that is found by pointers; take more warps along M", s.warp_m);
    if (gs_is_gradient(problem->activation) && s.warp_m * s.warp_n >= 64 * 64)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "%d x %d results of a warp are too many for the gradient of an activation", s.warp_m, s.warp_n);
    const int beside = gs_has_aux(problem) + (problem->beta != 0) + (problem->bias == GS_DBIAS) + (problem->scales != 0);   /* epilogue operands besides the product */
    if (problem->activation && beside > 1 && s.warp_n >= 64 && s.warp_m * s.warp_n >= 32 * 64)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "%d x %d results of a warp are too many for an activation with two of C, aux, scales and the gradient of a bias; take fewer columns",
                       s.warp_m, s.warp_n);
    const int registers = registers_of(&s, problem) + beside_c(&s, problem);
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
    const shape s = shape_of(schedule, problem);
    const int blocks = blocks_of(&s, problem, caps);
    const int warps_part = (blocks * s.threads / 32 + PARTS - 1) / PARTS;
    const int allowed = caps->registers_sm / PARTS / (warps_part * 32) / 8 * 8;   /* registers per thread that allow so many resident blocks */
    return (gs_resources){
        .threads   = s.threads,
        .registers = GS_MIN(MOST_REGISTERS, allowed),
        .smem      = smem_of(&s, problem),
        .blocks_sm = blocks,
        .cluster   = s.split,
    };
}

/* ---- the time model ---- */

/* Elements per store of D and of aux: as many as the alignment of their rows allows, given an aligned pointer. */
static int store_vector(const gs_problem *problem)
{
    const int64_t size = (int64_t)gs_type_size(problem->out);
    int vector = (int)(16 / size);
    const int64_t in_aux = gs_rows_unit(problem, 'g') | (problem->gate == GS_GATE_STACKED ? problem->n : 0);   /* up begins after the gate */
    while (gs_rows_unit(problem, 'd') % vector || (problem->aux && in_aux % vector)) vector /= 2;
    return vector;
}

/* Stores for a warp's slab of 16 rows of D, wn columns: 16 bytes each, except at the ends of rows that are not aligned to 16 bytes. */
static double slab_stores(const gs_problem *problem, double wn)
{
    const double unit = 16 / (double)gs_type_size(problem->out), vector = store_vector(problem);
    if (vector < unit && wn > unit) return ceil((wn / unit - 1) / 2) + fmax(1, unit / vector / 2);
    return fmax(1, 16 * wn / vector / 32);
}

static gs_work work_of(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const int16_t *const tile = value_of(schedule, GS_MMA_TILE);
    const shape s = shape_of(schedule, p);
    const int16_t *const raster = value_of(schedule, GS_MMA_RASTER);
    const int resident = resident_of(schedule, p, &profile->caps);
    const int stages = s.stages;
    const double bm = tile[0], bn = tile[1], bk = tile[2], warps = s.wm * s.wn, k_steps = bk / 16, split = s.split;
    const double wm = bm / s.wm, wn = bn / s.wn, mmas = wm / 16 * wn / 8;              /* per warp and k-step */
    const double copies = (bm + bn) * bk / 8 / 32;                                     /* warp instructions for copies */
    const double copy_port = s.raw_a || s.raw_b ? r->raw_port : r->copy_port;
    const double reads = warps * (wm + wn) * bk * 2;                                   /* bytes of fragments read */
    const double words = warps * k_steps * (s.raw_a * wm / 16 * 8 + s.raw_b * wn / 8 * 4);   /* warp loads of single words instead of ldmatrix */
    const double pieces = slab_stores(p, wn);
    const double slabs = ceil(gs_inside(wm, p->m) / 16);                                  /* slabs of a warp that are inside D */
    const gs_walk walked = {bm, bn, raster[0], raster[1] != 0, (double)profile->caps.sms * resident};
    return (gs_work){
        .blocks = fmax(1, gs_ceil_div((double)p->m, bm) * gs_ceil_div((double)p->n, bn) * (double)p->batch) * split,
        .cluster = s.split, .resident = resident,
        .steps   = ceil(gs_ceil_div((double)p->k, bk) / split),
        .matrix  = 2 * bm * bn * bk / (profile->caps.tensor_flops * r->mma_share),
        .port    = ((bm + bn) * bk * 2 + reads) / r->port_bytes + copies * copy_port + words * r->word_port,
        .issue   = warps * k_steps * (mmas + wm / 16 + wn / 16) + copies * r->copy_issue + words * r->word_issue,
        .feed    = (gs_inside(bm, p->m) + gs_inside(bn, p->n)) * gs_inside(bk, p->k) * 2,
        .chain   = r->mma_sync + warps * r->mma_warp_sync + k_steps * gs_together(r->mma_fragment, mmas * r->mma_step) +
                    copies / warps * r->copy_chain,
        .latency = r->mma_latency,
        .ahead   = stages - 1,
        .held    = r->mma_held,
        .start   = r->mma_start + (split > 1 ? r->split_start : 0),
        .finish  = r->mma_finish + (split > 1 ? r->split_sync + bm * bn * 4 / r->split_bytes : slabs * (r->mma_slab + pieces * r->mma_piece)),
        .finish_port = warps * slabs * pieces * r->mma_store_port,
        .store   = gs_inside(bm, p->m) * gs_inside(bn, p->n) * (double)gs_type_size(p->out) * (p->beta != 0 ? 2 : 1) / split,
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
    const shape s = shape_of(schedule, problem);
    const int out_bytes = (int)gs_type_size(problem->out);
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
    gs_kernel_define(kernel, "GS_RAW_A", s.raw_a);
    gs_kernel_define(kernel, "GS_RAW_B", s.raw_b);
    gs_kernel_define(kernel, "GS_SPLIT", s.split);
    gs_kernel_define(kernel, "GS_VEC_D", vector_d);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = problem->acc;
    manifest->bitwise = true;
    manifest->align[0] = s.raw_a ? 2 : 16;
    manifest->align[1] = s.raw_b ? 2 : 16;
    manifest->align[2] = out_bytes;
    manifest->align[3] = vector_d * out_bytes;
    manifest->entry_count = 1;

    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_mma");
    char text[GS_FORMULA];
    snprintf(text, sizeof text, s.split > 1 ? "cdiv(m,%d)*cdiv(%sn,%d)*%d" : "cdiv(m,%d)*cdiv(%sn,%d)", tile[0], problem->gate ? "2*" : "", tile[1], s.split);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "min(batch,65535)", error));
    GS_TRY(gs_formula_set(&entry->grid[2], "cdiv(batch,65535)", error));
    snprintf(text, sizeof text, "%d", resources.smem);
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = resources.threads;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = s.split;
    entry->cluster[1] = entry->cluster[2] = 1;
    entry->dependent = caps->cc >= 90;
    entry->map_count = 0;
    return problem->bias == GS_DBIAS ? (s.split > 1 ? gs_kernel_add_column_sums(kernel, problem, s.bm, s.split, error) : gs_kernel_add_column_sums(kernel, problem, s.bm / warps[0], 1, error)) : GS_OK;
}

/* ---- the family ---- */

const gs_family gs_family_mma = {
    .name       = "mma",
    .summary    = "Ampere and later: cp.async stages, ldmatrix, mma.sync; any alignment",
    .parameters = parameters, .parameter_count = GS_COUNT(parameters),
    .a_transposed = true,
    .takes      = GS_WANTS_STRIDES | GS_WANTS_SCALARS | GS_WANTS_GATE | GS_WANTS_AUX | GS_WANTS_DBIAS | GS_WANTS_POINTERS | GS_WANTS_SCALES | GS_WANTS_INVARIANT,
    .check      = check,
    .resources  = resources_of,
    .work       = work_of,
    .build      = build,
};
