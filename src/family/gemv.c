/* SPDX-License-Identifier: MIT
 * Family gemv: a few rows of A or columns of B. Mirrors kernels/gemv.cu; docs/internals/gemv.md explains it. */
#include "family/gemv.h"

#include <stdio.h>

#include "base/error.h"
#include "family/direct.h"
#include "family/shared.h"
#include "kernel/kernel.h"
#include "problem/layout.h"
#include "schedule/family.h"
#include "schedule/model.h"

/* ---- parameters ---- */

/* M x N: the most rows of A that are multiplied (or columns of B, if the operands are exchanged) x columns of D per block; nn: 64 columns per warp */
static const gs_parameter_value tile_values[] = {
    {"8x8",  { 8, 8}},  {"8x16",  { 8, 16}}, {"8x32",  { 8, 32}}, {"8x64",  { 8, 64}}, {"8x128",  { 8, 128}}, {"8x256",  { 8, 256}},
    {"16x8", {16, 8}},  {"16x16", {16, 16}}, {"16x32", {16, 32}}, {"16x64", {16, 64}}, {"16x128", {16, 128}}, {"16x256", {16, 256}},
};
static const gs_parameter_value warps_values[] = {{"w1", {1}}, {"w2", {2}}, {"w4", {4}}, {"w8", {8}}, {"w16", {16}}};
static const gs_parameter_value depth_values[] = {   /* steps of 64 k (tn) or 32 k (nn) in flight per warp */
    {"d1", {1}}, {"d2", {2}}, {"d3", {3}}, {"d4", {4}}, {"d6", {6}}, {"d8", {8}}, {"d12", {12}}, {"d16", {16}},
};
static const gs_parameter_value ring_values[] = {   /* where steps wait: registers or shared memory (second value 0 or 1); bytes per L2 fetch */
    {"r128", {128, 0}}, {"r256", {256, 0}}, {"s128", {128, 1}}, {"s256", {256, 1}},
};
static const gs_parameter_value ahead_values[] = {{"p0", {0}}, {"p1", {1}}, {"p4", {4}}};   /* how far a block first prefetches to L2, in ring sizes */
static const gs_parameter_value split_values[] = {{"k1", {1}}, {"k2", {2}}, {"k4", {4}}, {"k8", {8}}};   /* blocks per cluster along K */

static const gs_parameter parameters[] = {
    [GS_GEMV_TILE]  = {"tile",  GS_VALUES(tile_values)},
    [GS_GEMV_WARPS] = {"warps", GS_VALUES(warps_values)},
    [GS_GEMV_DEPTH] = {"depth", GS_VALUES(depth_values)},
    [GS_GEMV_RING]  = {"ring",  GS_VALUES(ring_values)},
    [GS_GEMV_AHEAD] = {"ahead", GS_VALUES(ahead_values)},
    [GS_GEMV_SPLIT] = {"split", GS_VALUES(split_values)},
    [GS_GEMV_SIZES] = {"sizes", GS_VALUES(gs_sizes_values)},
};

static const int16_t *value_of(const gs_schedule *schedule, int parameter) { return gs_parameter_numbers(parameters, schedule, parameter); }

/* ---- which schedule strings are valid, and their resources ---- */

enum {
    MOST_TOKENS      = 16,         /* most rows of A (or columns of B) of any tile */
    MOST_REGISTERS   = 255,        /* per thread */
    USED_BESIDE      = 28,         /* registers besides the ring (or the step read from it) and accumulators (NVRTC 13.0) */
    USED_BY_LAYOUT   = 8,          /* more for pairs of rows of nn, or for the rows that a lane copies of tn */
    USED_TO_SHIFT    = 32,         /* more if rows start at any element */
    USED_FOR_ROWS    = 40,         /* more in that case for rows of nn, each of which has its own shift */
    USED_PER_SET     = 11,         /* more in that case per eight columns of tn: the compiler shifts many at a time */
    USED_FOR_MORE    = 24,         /* more in that case with aux, strides or scalars in device memory, which add kernel arguments */
    USED_TO_TURN     = 16,         /* more if tiles have 8 columns and sizes are compiled in: the compiler then precomputes more */
    RESERVED_SMEM    = 1024,       /* bytes of shared memory that the driver reserves per resident block */
    LEAST_IN_FLIGHT  = 16384,      /* least bytes in flight per multiprocessor, unless that is all of K */
    MOST_OF_L2       = 5,          /* eighths of L2 that blocks may prefetch into */
    MOST_BLOCKS      = 2147483647, /* limit of a grid's x dimension */
    PARTS            = 4           /* partitions of a multiprocessor: each has a quarter of the registers, allocated to whole warps */
};

/* A schedule string applied to a problem. */
typedef struct shape {
    int     rows, cols, warps, depth, ahead, split;
    bool    shared, fixed, tn, swapped, more;
    int64_t tokens, columns;       /* rows of A that are multiplied; columns of the other operand (exchanged if swapped) */
    int     column_warps;          /* warps along the columns */
    int     parts;                 /* parts of K: warps and blocks */
    int     step;                  /* k per step of a warp */
    int     sums;                  /* accumulators per thread */
    bool    raw_weights, raw_tokens;   /* rows whose start, or whose multiplied length, is not a multiple of 16 bytes */
    int     loads;                 /* 16-byte loads per lane and step */
} shape;

/* Whether the operands are exchanged: B has few columns, which take the place of the few rows of A, and D is computed transposed. Only tn is symmetric. */
static bool is_swapped(const gs_problem *problem)
{
    return problem->layout == GS_TN && problem->n <= MOST_TOKENS && problem->n < problem->m;
}

static shape shape_of(const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = value_of(schedule, GS_GEMV_TILE);
    shape s = {
        .rows = tile[0], .cols = tile[1],
        .warps  = value_of(schedule, GS_GEMV_WARPS)[0],
        .depth  = value_of(schedule, GS_GEMV_DEPTH)[0],
        .ahead  = value_of(schedule, GS_GEMV_AHEAD)[0],
        .shared = value_of(schedule, GS_GEMV_RING)[1] != 0,
        .split  = value_of(schedule, GS_GEMV_SPLIT)[0],
        .fixed  = value_of(schedule, GS_GEMV_SIZES)[0] != 0,
        .tn = problem->layout == GS_TN, .swapped = is_swapped(problem), .more = (gs_problem_wants(problem) & GS_WANTS_MORE) != 0,
    };
    s.tokens = s.swapped ? problem->n : problem->m;
    s.columns = s.swapped ? problem->m : problem->n;
    s.column_warps = s.tn ? 1 : GS_MAX(s.cols / 64, 1);
    s.parts = s.warps / s.column_warps * s.split;
    s.step = s.tn ? 64 : 32;
    const int sets = s.cols / s.column_warps / 8;   /* sets of eight columns, per warp */
    s.sums = sets == 1 ? 4 : sets / 2 * (s.rows / 8) * 4;
    const bool raw_a = gs_rows_unit(problem, 'a') % 8 != 0 || problem->k % 8 != 0;
    const bool raw_b = gs_rows_unit(problem, 'b') % 8 != 0 || (s.tn ? problem->k : problem->n) % 8 != 0;
    s.raw_weights = s.swapped ? raw_a : raw_b;
    s.raw_tokens = s.swapped ? raw_b : raw_a;
    const int ends = (s.raw_weights ? s.tn ? (sets + 3) / 4 : 1 : 0) + s.raw_tokens;   /* units past the end of the step */
    s.loads = (s.tn ? sets * 2 : 8) + s.rows / 8 * (s.step / 32) + ends;
    return s;
}

/* Steps of K of the warp with the most. */
static int64_t steps_of(const shape *s, const gs_problem *problem)
{
    const int64_t steps = (problem->k + s->step - 1) / s->step;
    return (steps + s->parts - 1) / s->parts;
}

/* The ring of each warp, which its partial sums reuse, and the buffer in which a cluster's leader collects partial sums. */
static int smem_of(const shape *s)
{
    if (s->parts == 1 && !s->shared) return 0;
    const int ring = s->shared ? s->depth * s->loads * 512 : 0;
    const int exchange = s->split > 1 ? s->split * s->column_warps * s->sums * 128 : 0;
    return s->warps * GS_MAX(ring, s->sums * 128) + exchange;
}

/* Registers that a thread needs without spilling. Checked against the compiler in tests/family/gemv.c. */
static int registers_of(const shape *s)
{
    const int steps = s->shared ? 1 : s->depth;
    const int layout = s->tn && !s->shared ? 0 : USED_BY_LAYOUT, swap_ab = s->fixed && !s->shared && s->cols == 8 ? USED_TO_TURN : 0;
    int raw = s->raw_weights || s->raw_tokens ? USED_TO_SHIFT : 0;
    if (s->raw_weights) raw += s->tn ? USED_PER_SET * s->cols / 8 : s->shared ? 0 : USED_FOR_ROWS;
    return steps * s->loads * 4 + s->sums + USED_BESIDE + layout + swap_ab + raw + (raw && s->more ? USED_FOR_MORE : 0);
}

static int blocks_of(const shape *s, const gs_caps *caps)
{
    const int granted = GS_MIN((registers_of(s) + 7) / 8 * 8, 256);
    const int by_registers = caps->registers_sm / PARTS / (granted * 32) * PARTS / s->warps;
    const int by_smem = caps->smem_sm / (smem_of(s) + RESERVED_SMEM);
    const int by_threads = caps->threads_sm / (s->warps * 32);
    const int by_slots = caps->cc == 80 || caps->cc >= 90 ? 32 : caps->cc == 89 ? 24 : 16;
    return GS_MAX(1, GS_MIN(GS_MIN(by_registers, by_smem), GS_MIN(by_threads, by_slots)));
}

/* Prefetching to L2 beyond the rings is useful only if K is longer than they are, and if the data stay in L2 until they are read. */
static gs_status check_ahead(const shape *s, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    if (s->ahead == 0) return GS_OK;
    if (caps->cc < 90) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ahead", "bulk prefetches need compute capability 9.0");
    if (!s->tn) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ahead", "rows of a tile of nn are too short for bulk prefetches");
    const int64_t rings = (int64_t)s->depth * s->parts * s->step;
    if (s->ahead > 1 && rings >= problem->k) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ahead", "the rings take all of K");
    const int64_t tiles = (s->columns + s->cols - 1) / s->cols, resident = (int64_t)caps->sms * blocks_of(s, caps) / s->split;
    const int64_t bytes = GS_MIN(tiles * problem->batch, resident) * s->cols * GS_MIN(s->ahead * rings, problem->k) * 2;
    if (s->ahead > 1 && bytes > caps->l2_bytes / 8 * MOST_OF_L2)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "ahead", "%lld bytes at once would not stay in L2", (long long)bytes);
    return GS_OK;
}

static gs_status check_problem(const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    if (caps->cc < 80)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "gemv needs compute capability 8.0; this device has %d.%d", caps->cc / 10, caps->cc % 10);
    if (problem->m > MOST_TOKENS && !is_swapped(problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "gemv multiplies at most %d rows of A, or with tn columns of B", MOST_TOKENS);
    return GS_OK;
}

/* Refuses schedule strings that cannot compute the problem, or that do the same as a shorter one. */
static gs_status check_shape(const shape *s, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    if (s->tokens > s->rows || (s->rows == 16 && s->tokens <= 8))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%d rows are multiplied; the tile is for %s", (int)s->tokens, s->rows == 8 ? "up to 8" : "9 to 16");
    if (s->tokens < 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, s->swapped ? "n" : "m", "gemv needs a row to multiply");
    if (s->cols > s->columns) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "there are not that many columns");
    if (s->tn ? s->cols > 64 : s->cols < 64)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "a tile of %s has %s columns", s->tn ? "tn" : "nn", s->tn ? "8 to 64" : "64 to 256");
    if (s->warps < s->column_warps) return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "nn has 64 columns per warp; take %d warps or more", s->column_warps);
    if (s->split > 1 && caps->cc < 90) return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "clusters need compute capability 9.0");
    const int64_t steps = (problem->k + s->step - 1) / s->step;
    if (s->parts > 1 && s->parts > steps)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, s->split > 1 ? "split" : "warps", "%d parts of K, which has %d steps", s->parts, (int)steps);
    if (s->depth > 1 && s->depth > steps_of(s, problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "depth", "no warp has more than %d steps of K", (int)steps_of(s, problem));
    if (s->shared && s->depth < 2) return gs_fail(error, GS_ERROR_UNSUPPORTED, "depth", "one step needs no ring in shared memory");
    const int64_t tiles = (s->columns + s->cols - 1) / s->cols;
    if (tiles * s->split > MOST_BLOCKS) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too many tiles for one grid; take a larger tile");
    if (s->split > 1 && tiles * s->split >= 16 * (int64_t)caps->sms)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "there are blocks enough without parts of K");
    return GS_OK;
}

static gs_status check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    GS_TRY(check_problem(problem, caps, error));
    const shape s = shape_of(schedule, problem);
    GS_TRY(check_shape(&s, problem, caps, error));
    if (s.fixed && (problem->lda > GS_MAX_EXTENT || problem->ldb > GS_MAX_EXTENT || problem->ldc > GS_MAX_EXTENT || problem->ldd > GS_MAX_EXTENT))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "sizes", "a leading dimension is too large for a constant");
    const int registers = registers_of(&s), smem = smem_of(&s);
    if (registers > MOST_REGISTERS)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "depth", "the ring takes about %d registers, a thread has %d", registers, MOST_REGISTERS);
    if (s.warps * 32 * registers > caps->registers_sm)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "%d threads of %d registers are more than a multiprocessor has", s.warps * 32, registers);
    if (smem > caps->smem_block) return gs_fail(error, GS_ERROR_UNSUPPORTED, "depth", "%d bytes of shared memory, a block has %d", smem, caps->smem_block);
    const int in_flight = blocks_of(&s, caps) * s.warps * s.depth * s.loads * 512;
    if (in_flight < LEAST_IN_FLIGHT && s.depth < steps_of(&s, problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "depth", "%d bytes in flight per multiprocessor do not keep memory busy", in_flight);
    return check_ahead(&s, problem, caps, error);
}

static gs_resources resources_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const shape s = shape_of(schedule, problem);
    const int blocks = blocks_of(&s, caps);
    const int warps_part = (blocks * s.warps + PARTS - 1) / PARTS;
    const int allowed = caps->registers_sm / PARTS / (warps_part * 32) / 8 * 8;   /* registers per thread that allow so many resident blocks */
    return (gs_resources){
        .threads   = s.warps * 32,
        .registers = GS_MIN(MOST_REGISTERS, allowed),
        .smem      = smem_of(&s),
        .blocks_sm = blocks,
        .cluster   = s.split,
    };
}

/* ---- the time model ---- */

static gs_work work_of(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    const int16_t *const tile = value_of(schedule, GS_GEMV_TILE);
    const shape s = shape_of(schedule, problem);
    const bool swapped = s.swapped, tn = s.tn;
    const int columns = tn ? 1 : GS_MAX(tile[1] / 64, 1);     /* warps along the columns */
    const gs_direct d = {
        .bm = swapped ? tile[1] : tile[0], .bn = swapped ? tile[0] : tile[1], .rows = 1, .columns = columns,
        .parts = value_of(schedule, GS_GEMV_WARPS)[0] / columns,
        .depth = value_of(schedule, GS_GEMV_DEPTH)[0] * (tn ? 2 : 1), .split = value_of(schedule, GS_GEMV_SPLIT)[0],
        .shift_a = s.swapped ? s.raw_weights : s.raw_tokens, .shift_b = s.swapped ? s.raw_tokens : s.raw_weights,
        .swap_ab = !tn,
    };
    const gs_resources resources = resources_of(schedule, problem, &profile->caps);
    return gs_direct_work(&d, &resources, problem, profile);
}

/* ---- the kernel: kernels/gemv.cu with its defines and manifest ---- */

static gs_status build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const int16_t *const tile = value_of(schedule, GS_GEMV_TILE);
    const int16_t *const ring = value_of(schedule, GS_GEMV_RING);
    const int split = value_of(schedule, GS_GEMV_SPLIT)[0];
    const gs_resources resources = resources_of(schedule, problem, caps);
    const int out_bytes = (int)gs_type_size(problem->out);
    const bool swapped = is_swapped(problem);
    const shape s = shape_of(schedule, problem);

    kernel->name = "gemv.cu";
    kernel->source = gs_embedded_find(kernel->name);
    if (!kernel->source) return gs_fail(error, GS_ERROR_NOT_FOUND, kernel->name, "kernel source is not part of this build");
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_SWAP", swapped);
    gs_kernel_define(kernel, "GS_BATCH", problem->batch > 1);
    gs_kernel_define(kernel, "GS_ROWS", tile[0]);
    gs_kernel_define(kernel, "GS_COLS", tile[1]);
    gs_kernel_define(kernel, "GS_WARPS", value_of(schedule, GS_GEMV_WARPS)[0]);
    gs_kernel_define(kernel, "GS_DEPTH", value_of(schedule, GS_GEMV_DEPTH)[0]);
    gs_kernel_define(kernel, "GS_PREFETCH", ring[0]);
    gs_kernel_define(kernel, "GS_SHARED", ring[1]);
    gs_kernel_define(kernel, "GS_AHEAD", value_of(schedule, GS_GEMV_AHEAD)[0]);
    gs_kernel_define(kernel, "GS_SPLIT", split);
    gs_kernel_define(kernel, "GS_BLOCKS", resources.blocks_sm);
    gs_kernel_define(kernel, "GS_RAW_W", s.raw_weights);
    gs_kernel_define(kernel, "GS_RAW_T", s.raw_tokens);
    if (value_of(schedule, GS_GEMV_SIZES)[0]) gs_kernel_define_sizes(kernel, problem);

    /* f16 accumulation would save nothing, because there are few sums; f32 serves both. */
    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = GS_F32;
    manifest->bitwise = true;
    manifest->align[0] = (swapped ? s.raw_weights : s.raw_tokens) ? 2 : 16;
    manifest->align[1] = (swapped ? s.raw_tokens : s.raw_weights) ? 2 : 16;
    manifest->align[2] = manifest->align[3] = out_bytes;
    manifest->entry_count = 1;

    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_gemv");
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "cdiv(%c,%d)*%d", swapped ? 'm' : 'n', tile[1], split);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "min(batch,65535)", error));
    GS_TRY(gs_formula_set(&entry->grid[2], "cdiv(batch,65535)", error));
    snprintf(text, sizeof text, "%d", resources.smem);
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = resources.threads;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = split;
    entry->cluster[1] = entry->cluster[2] = 1;
    entry->dependent = caps->cc >= 90;
    return GS_OK;
}

/* ---- the family ---- */

const gs_family gs_family_gemv = {
    .name       = "gemv",
    .old_name   = "dot",
    .summary    = "a few rows of A or columns of B: dot products at the speed of memory",
    .parameters = parameters, .parameter_count = GS_COUNT(parameters),
    .few        = true,
    .takes      = GS_WANTS_STRIDES | GS_WANTS_SCALARS | GS_WANTS_AUX | GS_WANTS_POINTERS | GS_WANTS_SCALES,
    .check      = check,
    .resources  = resources_of,
    .work       = work_of,
    .build      = build,
};
