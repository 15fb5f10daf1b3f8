/* SPDX-License-Identifier: MIT
 * Family splitk: one tile and a share of K per block, wgmma. Mirrors kernels/splitk.cu; docs/internals/splitk.md explains it. */
#include "family/splitk.h"

#include <stdio.h>

#include "base/error.h"
#include "family/rows.h"
#include "family/shared.h"
#include "kernel/kernel.h"
#include "problem/layout.h"
#include "schedule/family.h"
#include "schedule/model.h"

/* ---- parameters ---- */

static const gs_parameter_value tile_values[] = {   /* of D, M x N x K; the side on wgmma's 64-row dimension has 64, 128, 192 or 256 */
    {"64x16x64", {64, 16, 64}}, {"64x32x64", {64, 32, 64}}, {"64x64x64", {64, 64, 64}}, {"64x96x64", {64, 96, 64}}, {"64x128x64", {64, 128, 64}},
    {"64x192x64", {64, 192, 64}}, {"64x256x64", {64, 256, 64}},
    {"128x32x64", {128, 32, 64}}, {"128x64x64", {128, 64, 64}}, {"128x96x64", {128, 96, 64}}, {"128x128x64", {128, 128, 64}},
    {"128x192x64", {128, 192, 64}}, {"128x256x64", {128, 256, 64}}, {"256x64x64", {256, 64, 64}}, {"256x128x64", {256, 128, 64}},
    {"8x64x64", {8, 64, 64}}, {"16x64x64", {16, 64, 64}}, {"24x64x64", {24, 64, 64}}, {"32x64x64", {32, 64, 64}}, {"48x64x64", {48, 64, 64}},
    {"96x64x64", {96, 64, 64}}, {"192x64x64", {192, 64, 64}},
    {"8x128x64", {8, 128, 64}}, {"16x128x64", {16, 128, 64}}, {"24x128x64", {24, 128, 64}}, {"32x128x64", {32, 128, 64}},
    {"48x128x64", {48, 128, 64}}, {"96x128x64", {96, 128, 64}}, {"192x128x64", {192, 128, 64}}, {"16x256x64", {16, 256, 64}},
    {"32x256x64", {32, 256, 64}},
    {"64x32x128", {64, 32, 128}}, {"64x64x128", {64, 64, 128}}, {"64x128x128", {64, 128, 128}}, {"128x64x128", {128, 64, 128}},
    {"8x64x128", {8, 64, 128}}, {"16x64x128", {16, 64, 128}}, {"32x64x128", {32, 64, 128}}, {"16x128x128", {16, 128, 128}},
    {"32x128x128", {32, 128, 128}},
    {"80x64x64", {80, 64, 64}}, {"80x128x64", {80, 128, 64}}, {"112x64x64", {112, 64, 64}}, {"112x128x64", {112, 128, 64}},
    {"136x64x64", {136, 64, 64}}, {"136x128x64", {136, 128, 64}}, {"160x128x64", {160, 128, 64}},
    {"72x64x64", {72, 64, 64}}, {"72x128x64", {72, 128, 64}}, {"88x64x64", {88, 64, 64}}, {"88x128x64", {88, 128, 64}}, {"104x128x64", {104, 128, 64}},
    {"120x128x64", {120, 128, 64}}, {"128x88x64", {128, 88, 64}}, {"128x112x64", {128, 112, 64}}, {"128x120x64", {128, 120, 64}}, {"64x112x64", {64, 112, 64}},
    {"128x72x64", {128, 72, 64}}, {"128x80x64", {128, 80, 64}}, {"128x104x64", {128, 104, 64}}, {"128x136x64", {128, 136, 64}}, {"128x152x64", {128, 152, 64}},
    {"128x176x64", {128, 176, 64}}, {"192x72x64", {192, 72, 64}}, {"192x88x64", {192, 88, 64}}, {"192x96x64", {192, 96, 64}}, {"192x104x64", {192, 104, 64}},
    {"192x120x64", {192, 120, 64}}, {"192x136x64", {192, 136, 64}}, {"192x160x64", {192, 160, 64}},
    {"256x80x64", {256, 80, 64}}, {"256x96x64", {256, 96, 64}}, {"256x104x64", {256, 104, 64}}, {"256x112x64", {256, 112, 64}},
    {"152x128x64", {152, 128, 64}}, {"176x128x64", {176, 128, 64}}, {"208x128x64", {208, 128, 64}}, {"72x192x64", {72, 192, 64}}, {"80x192x64", {80, 192, 64}},
    {"88x192x64", {88, 192, 64}}, {"96x192x64", {96, 192, 64}}, {"104x192x64", {104, 192, 64}}, {"112x192x64", {112, 192, 64}}, {"120x192x64", {120, 192, 64}},
    {"136x192x64", {136, 192, 64}}, {"152x192x64", {152, 192, 64}}, {"160x192x64", {160, 192, 64}},
    {"72x256x64", {72, 256, 64}}, {"80x256x64", {80, 256, 64}}, {"88x256x64", {88, 256, 64}}, {"96x256x64", {96, 256, 64}}, {"104x256x64", {104, 256, 64}},
    {"112x256x64", {112, 256, 64}}, {"120x256x64", {120, 256, 64}}, {"48x256x64", {48, 256, 64}}, {"48x192x64", {48, 192, 64}},
};
static const gs_parameter_value stages_values[] = {{"s2", {2}}, {"s4", {4}}, {"s6", {6}}, {"s8", {8}}, {"s12", {12}}, {"s16", {16}}, {"s3", {3}}, {"s5", {5}}};
static const gs_parameter_value order_values[] = {{"ab", {0}}, {"ba", {1}}};   /* operand on wgmma's 64-row side: rows of A, or columns of B */
static const gs_parameter_value cluster_values[] = {   /* blocks along M x along N that share an operand */
    {"c1x1", {1, 1}}, {"c2x1", {2, 1}}, {"c1x2", {1, 2}}, {"c4x1", {4, 1}}, {"c1x4", {1, 4}},
};
static const gs_parameter_value split_values[] = {   /* shares of K; whether some are combined in the workspace (t); blocks per cluster along K (k) */
    {"k1", {1, 0, 1}}, {"k2", {2, 0, 2}}, {"k3", {3, 0, 3}}, {"k4", {4, 0, 4}}, {"k8", {8, 0, 8}}, {"k16", {16, 0, 16}},
    {"t2", {2, 1, 1}}, {"t4", {4, 1, 1}}, {"k4t4", {16, 1, 4}}, {"k8t4", {32, 1, 8}}, {"k8t8", {64, 1, 8}}, {"k8t16", {128, 1, 8}},
    {"t3", {3, 1, 1}}, {"t5", {5, 1, 1}}, {"t6", {6, 1, 1}}, {"t8", {8, 1, 1}}, {"k2t2", {4, 1, 2}}, {"k2t3", {6, 1, 2}},
};

static const gs_parameter parameters[] = {
    [GS_SPLITK_TILE]    = {"tile",    GS_VALUES(tile_values)},
    [GS_SPLITK_STAGES]  = {"stages",  GS_VALUES(stages_values)},
    [GS_SPLITK_ORDER]   = {"order",   GS_VALUES(order_values)},
    [GS_SPLITK_CLUSTER] = {"cluster", GS_VALUES(cluster_values)},
    [GS_SPLITK_SPLIT]   = {"split",   GS_VALUES(split_values)},
    [GS_SPLITK_SIZES]   = {"sizes",   GS_VALUES(gs_sizes_values)},
    [GS_SPLITK_ROWS]    = {"rows",    GS_VALUES(gs_rows_values), .optional = true},
};

static const int16_t *value_of(const gs_schedule *schedule, int parameter) { return gs_parameter_numbers(parameters, schedule, parameter); }
static int rows_of(const gs_schedule *schedule) { return value_of(schedule, GS_SPLITK_ROWS)[0]; }

/* ---- which schedule strings are valid, and their resources ---- */

enum {
    ALIGN_SLACK      = 1024,
    RESERVED_SMEM    = 1024,     /* bytes of shared memory that the driver reserves per resident block */
    PORTABLE_CLUSTER = 8,        /* blocks; only k16 may have more */
    MOST_GRID_Y      = 65535,
    MOST_REGISTERS   = 255,
    REGISTERS_BESIDE = 40,       /* besides the accumulators, if the compiler must economise (NVRTC 13.0) */
    REGISTERS_C      = 40,       /* more if C is read: addresses */
    REGISTERS_BATCH  = 16,       /* more if C is a batch */
    REGISTERS_PARTS  = 32,       /* more if parts are read from the workspace, many at once */
    REGISTERS_FEED   = 80,       /* of threads that load operands */
    MOST_WITH_C      = 96,       /* most accumulators with C, whose addresses take registers */
    MOST_SPLIT_C     = 64,       /* the same if K is split */
    MOST_OF_THREE    = 80,       /* most of three consumers, which have 128 registers per thread */
    MOST_OF_THREE_C  = 40,       /* the same with C */
    MOST_SMOOTH      = 80,       /* most with gelu, silu and similar activations */
    MOST_OF_THREE_FED = 32,      /* most of three consumers if threads load operands */
    MOST_OF_THREE_SHIFT = 56,    /* most of three consumers that shift rows */
    MOST_SHIFT       = 96,       /* most of other consumers that shift rows */
    MOST_SHIFT_PARTS = 80,       /* the same if parts are combined in the workspace; 40 for three consumers */
    MOST_BOTH        = 48,       /* most with C and a bias or an activation */
    MOST_OF_THREE_BOTH = 24,
    PARTS            = 4,        /* partitions of a multiprocessor: each has a quarter of the registers, allocated to whole warps */
    MOST_RESIDENT    = 8,
    MOST_WAVES       = 32,       /* for more tiles a persistent kernel is better */
    SPLIT_BLOCKS     = 2,        /* K is not split if that gives more blocks per multiprocessor */
    DEEP_SHARE       = 1024,     /* k; a share of at least this is split further while less than a fifth of the multiprocessors would be busy */
    LEAST_AHEAD      = 49152,    /* least bytes in the stages of a block, if they do not hold its whole share: hides memory latency */
    LEAST_STAGES     = 3         /* least stages in that case, unless a single one has so many bytes */
};

static int64_t tiles_of(int64_t extent, int tile) { return (extent + tile - 1) / tile; }

/* Whether D cannot be stored by whole vectors: its rows do not start or end at multiples of 16 bytes (8 bytes for f32, which is stored in pairs). */
static bool is_direct(const gs_problem *problem)
{
    const int whole = problem->out == GS_F32 ? 2 : 8;
    return gs_rows_unit(problem, 'd') % whole != 0 || problem->n % whole != 0;
}

/* C or aux is read by units of 16 bytes through the buffers that only 16-bit outputs have; aux is written by element. */
static int units_of(const gs_problem *problem)
{
    const int units = gs_units_of(problem);
    return problem->out == GS_F32 || problem->gate || units == 3 ? 0 : units;
}

gs_splitk_shape gs_splitk_shape_of(const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = value_of(schedule, GS_SPLITK_TILE);
    const int16_t *const cluster = value_of(schedule, GS_SPLITK_CLUSTER);
    const int16_t *const split = value_of(schedule, GS_SPLITK_SPLIT);
    gs_splitk_shape s = {
        .bm = tile[0], .bn = tile[1], .bk = tile[2], .stages = value_of(schedule, GS_SPLITK_STAGES)[0],
        .swap_ab = value_of(schedule, GS_SPLITK_ORDER)[0] != 0, .fixed = value_of(schedule, GS_SPLITK_SIZES)[0] != 0,
        .cm = cluster[0], .cn = cluster[1], .ck = split[2], .tickets = split[0] / split[2], .shares = split[0],
    };
    s.bx = s.swap_ab ? s.bn : s.bm;
    s.by = s.swap_ab ? s.bm : s.bn;
    s.consumers = s.bx == 64 ? 1 : s.bx == 192 ? 3 : 2;
    const int row_blocks = GS_MAX(1, s.bx / 64 / s.consumers), groups = s.by / 8, pairs = problem->gate && !s.swap_ab ? 2 : 1, slice = (groups / pairs + s.ck - 1) / s.ck * pairs;
    s.accumulators = row_blocks * s.by / 2;
    s.slice_bytes = row_blocks * slice * s.consumers * 128 * 16;
    const int rows = rows_of(schedule), feed_a = gs_rows_feed(rows, problem, 'a'), feed_b = gs_rows_feed(rows, problem, 'b');
    const int beside = gs_rows_beside(rows, problem, 'a', s.bm, s.bk) + gs_rows_beside(rows, problem, 'b', s.bn, s.bk);
    s.feeds = rows == GS_ROWS_CPASYNC && (feed_a != GS_FEED_TENSOR || feed_b != GS_FEED_TENSOR);
    s.shifts = rows == GS_ROWS_SHIFT;
    s.rows_a = !gs_is_a_transposed(problem->layout) && feed_a == GS_FEED_TENSOR ? (int)GS_MIN(s.bm, problem->m) : s.bm;   /* threads write zeros for missing rows */
    s.rows_b = gs_is_b_transposed(problem->layout) && feed_b == GS_FEED_TENSOR ? (int)GS_MIN(s.bn, gs_columns_of_b(problem)) : s.bn;
    s.tiles_m = tiles_of(problem->m, s.bm);
    s.tiles_n = tiles_of(gs_columns_of_b(problem), s.bn);
    s.blocks = tiles_of(tiles_of(problem->k + gs_rows_more_k(rows), s.bk), s.shares) + (s.shifts && s.shares > 1);   /* the k-block after a share: shifted rows need its first units */
    const int buffers = problem->out == GS_F32 ? 0 : s.consumers * 4 * GS_MIN(slice, 8) * 256;
    s.stage = (s.bm + s.bn) * s.bk * 2 + gs_rows_padding(rows, s.bm) + gs_rows_padding(rows, s.bn);
    s.smem = ALIGN_SLACK + gs_rows_ring(rows, s.bm) + gs_rows_ring(rows, s.bn) + s.stages * (s.stage + beside) + (s.ck - 1) * s.slice_bytes + buffers + s.stages * 2 * 8 +
             (beside > 0 ? 32 : 16);
    return s;
}

static int threads_of(const gs_splitk_shape *s) { return s->consumers * 128 + (s->feeds ? 128 : 32); }

/* Registers per thread that allow so many resident blocks. The warps of each block may start at the same partition of the multiprocessor. */
static int registers_for(int blocks, int threads, const gs_caps *caps)
{
    const int warps_part = blocks * ((threads / 32 + PARTS - 1) / PARTS);
    return GS_MIN(MOST_REGISTERS, caps->registers_sm / PARTS / (warps_part * 32) / 8 * 8);
}

/* Resident blocks per multiprocessor with so much shared memory. */
static int resident(const gs_splitk_shape *s, int smem, const gs_problem *problem, const gs_caps *caps)
{
    const int sums = s->accumulators + REGISTERS_BESIDE + (gs_has_epilogue(problem) ? REGISTERS_C : 0) + ((problem->beta != 0 || gs_has_aux(problem)) && (problem->bias || problem->activation || problem->scales) ? REGISTERS_C : 0) + (s->tickets > 1 ? REGISTERS_PARTS : 0) + (problem->gate ? REGISTERS_C : 0) + (problem->batch > 1 && problem->beta != 0 ? REGISTERS_BATCH : 0);
    const int needed = s->feeds ? GS_MAX(sums, REGISTERS_FEED) : sums;
    int blocks = GS_MAX(1, GS_MIN(MOST_RESIDENT, caps->smem_sm / (smem + RESERVED_SMEM)));
    while (blocks > 1 && registers_for(blocks, threads_of(s), caps) < needed) blocks--;
    return blocks;
}

static gs_status check_extents(const gs_problem *p, gs_error *error)
{
    if (p->m < 1 || p->n < 1 || p->k < 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "splitk needs extents of at least 1");
    if (p->m > GS_MAX_EXTENT - 256 || gs_columns_of_b(p) > GS_MAX_EXTENT - 256 || p->k > GS_MAX_EXTENT - 256)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "too near to 2^31 for coordinates of whole tiles");
    return GS_OK;
}

static gs_status check_problem(const gs_splitk_shape *s, const gs_problem *p, gs_error *error)
{
    if (p->batch * s->shares > MOST_GRID_Y) return gs_fail(error, GS_ERROR_UNSUPPORTED, "b", "a batch of more than %d shares", MOST_GRID_Y);
    if (s->fixed && (p->lda > GS_MAX_EXTENT || p->ldb > GS_MAX_EXTENT || p->ldc > GS_MAX_EXTENT || p->ldd > GS_MAX_EXTENT))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "sizes", "leading dimensions that are compiled in have at most 31 bits");
    return GS_OK;
}

/* Whether the tile has whole boxes of the operands that are not stored along K. */
static bool takes_columns(const gs_problem *p, const int16_t tile[2])
{
    return (!gs_is_a_transposed(p->layout) || tile[0] % 64 == 0) && (gs_is_b_transposed(p->layout) || tile[1] % 64 == 0);
}

#define WRONG_WAY "a tile of %d x %d does not meet wgmma's 64 rows this way"

static gs_status check_order(const gs_schedule *schedule, gs_error *error)
{
    const int16_t *const tile = value_of(schedule, GS_SPLITK_TILE);
    const int rows = tile[value_of(schedule, GS_SPLITK_ORDER)[0] != 0];
    return rows >= 64 && rows % 64 == 0 ? GS_OK : gs_fail(error, GS_ERROR_UNSUPPORTED, "order", WRONG_WAY, tile[0], tile[1]);
}

/* Limits of wgmma, and tiles that only waste rows. */
static gs_status check_tile(const gs_splitk_shape *s, const gs_problem *p, gs_error *error)
{
    const int64_t x = s->swap_ab ? gs_columns_of_b(p) : p->m;
    if (s->accumulators > 128) return gs_fail(error, GS_ERROR_UNSUPPORTED, "order", WRONG_WAY, s->bm, s->bn);
    if (!takes_columns(p, (const int16_t[]){(int16_t)s->bm, (int16_t)s->bn}))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "what is not stored along K is copied 64 columns at a time");
    if (p->gate && s->bn % 16 != 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "a gate takes columns in sixteens: eight of the gate, eight of up");
    if (s->bx > 64 && s->bx / 2 >= x) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "half of it would hold all %lld rows", (long long)x);
    if (gs_has_aux(p) && p->beta != 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "aux", "splitk has no aux beside C");
    if (s->accumulators > (s->shares > 1 ? MOST_SPLIT_C : MOST_WITH_C) && gs_has_epilogue(p))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%d accumulators per thread are too many for an epilogue", s->accumulators);
    if (p->activation > GS_RELU && s->accumulators > MOST_SMOOTH)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%d accumulators per thread are too many for such an activation", s->accumulators);
    if ((p->beta != 0 || gs_has_aux(p)) && (p->bias || p->activation || p->scales) && s->accumulators > (s->consumers == 3 ? MOST_OF_THREE_BOTH : MOST_BOTH))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%d accumulators per thread are too many for C beside a bias or an activation", s->accumulators);
    if (s->feeds && s->bk > 64 && gs_has_epilogue(p)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "threads that bring 128 of K at a time spill with an epilogue");
    if (s->fixed && s->bk > 64 && !s->swap_ab && gs_has_epilogue(p) && p->n % 8 != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "sizes", "a tail of N that is compiled in beside 128 of K spills with an epilogue");
    if ((s->feeds || s->shifts) && s->cm * s->cn > 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "what threads bring or shift is not shared by a cluster");
    if (s->bx == 256 && p->batch > 1 && p->beta != 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "addresses of a batch's C take the registers of 256 rows");
    if (s->shifts && s->accumulators > (s->consumers == 3 ? s->tickets > 1 ? MOST_SHIFT_PARTS / 2 : MOST_OF_THREE_SHIFT : s->tickets > 1 ? MOST_SHIFT_PARTS : MOST_SHIFT))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "consumers that shift rows have no registers for so many sums");
    if (s->consumers == 3 && s->accumulators > (!gs_has_epilogue(p) ? MOST_OF_THREE : s->feeds ? MOST_OF_THREE_FED : MOST_OF_THREE_C))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%d accumulators per thread are too many for three consumers", s->accumulators);
    if (s->bk > 64 && p->k <= 64) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "K fits into 64");
    return GS_OK;
}

/* Stages that are reused must keep enough bytes in flight; an odd number of stages is allowed only if one more does not fit. */
static gs_status check_stages(const gs_splitk_shape *s, const gs_problem *p, const gs_caps *caps, gs_error *error)
{
    const int stage = s->stage;
    if (s->smem > caps->smem_block) return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%d bytes of shared memory, a block has %d", s->smem, caps->smem_block);
    if (s->blocks <= s->stages) return GS_OK;
    if (s->stages * stage < LEAST_AHEAD || (s->stages < LEAST_STAGES && stage < LEAST_AHEAD))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%d of %d bytes are too little under way", s->stages, stage);
    const int more = s->smem + stage + 2 * 8;
    if (s->stages % 2 && more <= caps->smem_block && resident(s, more, p, caps) == resident(s, s->smem, p, caps))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "one more has room, too");
    return GS_OK;
}

/* Refuses a tile if a narrower one makes as few tiles, and stages if fewer hold all k-blocks. */
static gs_status check_smaller(const gs_splitk_shape *s, const gs_problem *p, gs_error *error)
{
    const int64_t y = s->swap_ab ? p->m : gs_columns_of_b(p), across = s->swap_ab ? s->tiles_m : s->tiles_n;
    const gs_parameter *const tiles = &parameters[GS_SPLITK_TILE], *const stages = &parameters[GS_SPLITK_STAGES];
    for (int i = 0; i < stages->count; i++)
        if (stages->values[i].number[0] < s->stages && stages->values[i].number[0] >= s->blocks)
            return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%s hold all %lld k-blocks of a share", stages->values[i].text, (long long)s->blocks);
    for (int i = 0; across * s->by != y && i < tiles->count; i++) {
        const int16_t *const tile = tiles->values[i].number;
        const int bx = tile[s->swap_ab], by = tile[!s->swap_ab];
        if (p->gate && !s->swap_ab && by % 16 != 0) continue;
        if (bx == s->bx && by < s->by && tiles_of(y, by) == across && takes_columns(p, tile))
            return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%s is narrower and makes no more tiles", tiles->values[i].text);
    }
    return GS_OK;
}

static gs_status check_cluster(const gs_splitk_shape *s, int64_t batch, const gs_caps *caps, gs_error *error)
{
    const int cluster = s->cm * s->cn * s->ck;
    if (s->tiles_m % s->cm || s->tiles_n % s->cn)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "%lld x %lld tiles do not make whole clusters", (long long)s->tiles_m, (long long)s->tiles_n);
    if (cluster > PORTABLE_CLUSTER && s->cm * s->cn > 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "%d blocks, at most %d", cluster, PORTABLE_CLUSTER);
    if (GS_MAX(s->tiles_m, s->tiles_n) > GS_MAX_EXTENT || GS_MAX(s->tiles_m, s->tiles_n) > MOST_GRID_Y)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too many tiles for one grid");
    if (s->tiles_m * s->tiles_n * batch > (int64_t)MOST_WAVES * caps->sms)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%lld tiles: more than %d for each multiprocessor", (long long)(s->tiles_m * s->tiles_n * batch), MOST_WAVES);
    return GS_OK;
}

static gs_status check_split(const gs_splitk_shape *s, const gs_problem *p, const gs_caps *caps, gs_error *error)
{
    const int64_t blocks = tiles_of(p->k, s->bk), tiles = s->tiles_m * s->tiles_n * p->batch;
    if (s->shares > blocks) return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "%d shares of %lld k-blocks", s->shares, (long long)blocks);
    if (s->shares > 1 && p->invariant) return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "rows whose bits do not depend on M are added up in one share");
    if (p->acc == GS_F16 && p->invariant) return gs_fail(error, GS_ERROR_UNSUPPORTED, "inv", "splitk adds up in f32, where other families add up in f16");
    if (s->shares > 1 && tiles * s->shares > (int64_t)SPLIT_BLOCKS * caps->sms)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "%lld tiles are enough blocks", (long long)tiles);
    if (tiles * s->shares * 5 < caps->sms && s->blocks * s->bk >= DEEP_SHARE)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "%lld blocks leave the device idle and K deep", (long long)tiles * s->shares);
    return GS_OK;
}

static gs_status check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    GS_TRY(check_extents(problem, error));   /* cheapest check first: most schedules of an enumeration fail here */
    GS_TRY(gs_rows_check(rows_of(schedule), problem, error));
    GS_TRY(check_order(schedule, error));
    const gs_splitk_shape s = gs_splitk_shape_of(schedule, problem);
    GS_TRY(check_problem(&s, problem, error));
    if (problem->batch > 1 && rows_of(schedule) != GS_ROWS_GIVEN) return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "a batch is read by tensor copies, as it is given");
    if (s.shifts && s.bk != 64) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "rows are shifted 64 elements at a time");
    if (rows_of(schedule) == GS_ROWS_PACK && s.tickets > 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "copies and shares of K that meet in the workspace do not go together");
    GS_TRY(check_tile(&s, problem, error));
    GS_TRY(check_cluster(&s, problem->batch, caps, error));
    GS_TRY(check_split(&s, problem, caps, error));
    GS_TRY(check_stages(&s, problem, caps, error));
    return check_smaller(&s, problem, error);
}

static gs_resources resources_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const gs_splitk_shape s = gs_splitk_shape_of(schedule, problem);
    const int blocks = resident(&s, s.smem, problem, caps);
    return (gs_resources){
        .threads   = threads_of(&s),
        .registers = registers_for(blocks, threads_of(&s), caps),
        .smem      = s.smem,
        .blocks_sm = blocks,
        .cluster   = s.cm * s.cn * s.ck,
    };
}

/* ---- the time model ---- */

/* Cycles per block to exchange partial tiles: within the cluster, then between clusters through the workspace. */
static double exchange(double elements, int blocks, int clusters, const gs_rates *r)
{
    double cycles = 0;
    if (blocks > 1) cycles += blocks * r->split_sync + elements * 4 * (1 - 1.0 / blocks) / r->split_bytes;
    if (clusters > 1) cycles += r->ticket_sync + clusters * elements / blocks * 4 / r->ticket_bytes;
    return cycles;
}

static gs_work work_of(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const gs_resources resources = resources_of(schedule, p, &profile->caps);
    const int16_t *const tile = value_of(schedule, GS_SPLITK_TILE);
    const int16_t *const cluster = value_of(schedule, GS_SPLITK_CLUSTER);
    const int16_t *const split = value_of(schedule, GS_SPLITK_SPLIT);
    const bool swap_ab = value_of(schedule, GS_SPLITK_ORDER)[0] != 0;
    const int sharing = split[2], meeting = split[0] / split[2];   /* blocks per cluster along K; clusters that are combined by tickets */
    const double bm = tile[0], bn = tile[1], bk = tile[2];
    const double tiles = gs_ceil_div((double)p->m, bm * cluster[0]) * cluster[0] * gs_ceil_div((double)p->n, bn * cluster[1]) * cluster[1] * (double)p->batch;
    const double wide = swap_ab ? bm : bn, blocks64 = (swap_ab ? bn : bm) / 64;   /* columns of wgmma; blocks of 64 rows */
    const double wgmmas = blocks64 * bk / 16, elements = gs_inside(bm, p->m) * gs_inside(bn, p->n);
    const double ideal = 64.0 * 16 * 2 / profile->caps.tensor_flops;
    const double a = gs_inside(bm, p->m) * gs_rows_bytes(rows_of(schedule), p, 'a', profile) * (1 - (cluster[1] > 1 ? r->multicast * (1 - 1.0 / cluster[1]) : 0));
    const double b = gs_inside(bn, p->n) * gs_rows_bytes(rows_of(schedule), p, 'b', profile) * (1 - (cluster[0] > 1 ? r->multicast * (1 - 1.0 / cluster[0]) : 0));
    const double stored = elements * (double)gs_type_size(p->out) / sharing;   /* bytes stored by each storing block */
    const gs_walk walked = {bm, bn, 1, p->m > p->n, (double)profile->caps.sms * resources.blocks_sm};
    const double clusters_m = gs_ceil_div((double)p->m, bm * cluster[0]), clusters_n = gs_ceil_div((double)p->n, bn * cluster[1]);
    const bool along_n = gs_ceil_div((double)p->n, bn) < gs_ceil_div((double)p->m, bm);   /* tiles of the shorter side are launched first */
    const gs_order order = {along_n ? clusters_n : clusters_m, along_n ? clusters_m : clusters_n, along_n ? clusters_n : clusters_m,
                            along_n ? bn : bm, along_n ? bm : bn, cluster[along_n], cluster[!along_n], resources.cluster,
                            clusters_m * clusters_n * meeting * (double)p->batch};
    return (gs_work){
        .blocks = tiles * split[0], .cluster = resources.cluster, .resident = resources.blocks_sm,
        .steps   = fmax(1, gs_ceil_div(gs_ceil_div((double)p->k + gs_rows_more_k(rows_of(schedule)), bk), split[0])),
        .matrix  = wgmmas * (fmax(wide, 32) * ideal / r->wgmma_share + r->wgmma_issue),
        .port    = (wgmmas * (2048 + 32 * wide) + (bm * gs_rows_port(rows_of(schedule), p, 'a') + bn * gs_rows_port(rows_of(schedule), p, 'b')) * bk * 2) / r->port_bytes,
        .feed    = (a + b) * bk * 2,
        .fresh   = gs_fresh(&order),
        .outside = gs_outside(bm, p->m) + gs_outside(bn, p->n),
        .chain   = wgmmas * (wide * ideal + r->wgmma_issue) + r->splitk_sync + (cluster[0] * cluster[1] > 1 ? r->cluster_sync : 0),
        .latency = r->splitk_latency,
        .ahead   = value_of(schedule, GS_SPLITK_STAGES)[0],
        .held    = 1,
        .start   = gs_rows_cycles(rows_of(schedule), p, profile) + r->splitk_start - r->hbm_latency + (cluster[0] * cluster[1] > 1 ? r->cluster_start : resources.cluster > 1 ? r->split_start : 0),
        .finish  = r->splitk_finish + exchange(elements, sharing, meeting, r) + stored / 16 / resources.threads * r->splitk_element +
                    (p->beta != 0 ? r->ws_read_c : 0),
        .store   = stored * (p->beta != 0 ? 2 : 1) + (meeting > 1 ? elements * 4 / sharing : 0),
        .memory_bytes = gs_memory_bytes(&walked, p, profile),
    };
}

/* ---- the kernel: kernels/splitk.cu with its defines and manifest ---- */

static gs_map map_of(char operand, int outer) { return (gs_map){.operand = operand, .inner = 64, .outer = outer, .swizzle = 128}; }

static void define(gs_kernel *kernel, const gs_splitk_shape *s, const gs_problem *problem, const gs_resources *resources)
{
    kernel->name = "splitk.cu";
    kernel->source = gs_embedded_find(kernel->name);
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_BM", s->bm);
    gs_kernel_define(kernel, "GS_BN", s->bn);
    gs_kernel_define(kernel, "GS_BK", s->bk);
    gs_kernel_define(kernel, "GS_STAGES", s->stages);
    gs_kernel_define(kernel, "GS_ORDER", s->swap_ab);
    gs_kernel_define(kernel, "GS_CM", s->cm);
    gs_kernel_define(kernel, "GS_CN", s->cn);
    gs_kernel_define(kernel, "GS_CK", s->ck);
    gs_kernel_define(kernel, "GS_TICKETS", s->tickets);
    gs_kernel_define(kernel, "GS_ROWS_A", s->rows_a);
    gs_kernel_define(kernel, "GS_ROWS_B", s->rows_b);
    gs_kernel_define(kernel, "GS_WALK_N", s->tiles_n < s->tiles_m);
    gs_kernel_define(kernel, "GS_VECTOR", !is_direct(problem));
    gs_kernel_define(kernel, "GS_UNITS", units_of(problem));
    gs_kernel_define(kernel, "GS_BLOCKS", resources->blocks_sm);
    if (problem->batch > 1) gs_kernel_define(kernel, "GS_BATCHED", 1);
    if (s->fixed) gs_kernel_define_sizes(kernel, problem);
}

/* Slices of the tiles, by tile, ticket and rank along K, after one counter per slice of a tile. */
static gs_status set_workspace(gs_manifest *manifest, const gs_splitk_shape *s, const gs_problem *problem, gs_error *error)
{
    char text[GS_FORMULA];
    const char *const times = problem->batch > 1 ? "batch*" : "", *const n = problem->gate ? "2*n" : "n";
    if (s->tickets == 1) return GS_OK;
    snprintf(text, sizeof text, "cdiv(%scdiv(m,%d)*cdiv(%s,%d)*%d,128)*128", times, s->bm, n, s->bn, s->ck * 4);
    GS_TRY(gs_formula_set(&manifest->zeroed, text, error));
    snprintf(text, sizeof text, "cdiv(%scdiv(m,%d)*cdiv(%s,%d)*%d,128)*128+%scdiv(m,%d)*cdiv(%s,%d)*%d", times, s->bm, n, s->bn, s->ck * 4, times, s->bm, n, s->bn,
             s->shares * s->slice_bytes);
    return gs_formula_set(&manifest->workspace, text, error);
}

static gs_status build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const gs_splitk_shape s = gs_splitk_shape_of(schedule, problem);
    const gs_resources resources = resources_of(schedule, problem, caps);
    const bool direct = is_direct(problem), along_n = s.tiles_n < s.tiles_m;   /* the shorter side varies fastest */
    const int out_bytes = (int)gs_type_size(problem->out);
    define(kernel, &s, problem, &resources);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = GS_F32;   /* also for f16 accumulation: it is as fast, and the accumulators of a tile fit */
    manifest->bitwise = true;
    manifest->align[2] = units_of(problem) ? 16 : out_bytes;
    manifest->align[3] = direct ? out_bytes : problem->out == GS_F32 ? 8 : 16;
    GS_TRY(gs_rows_build(kernel, rows_of(schedule), problem, error));
    if (gs_rows_copied(rows_of(schedule), problem)) gs_kernel_define_early_b(kernel, problem);
    GS_TRY(set_workspace(manifest, &s, problem, error));

    gs_entry *const entry = &manifest->entry[manifest->entry_count++];
    snprintf(entry->name, sizeof entry->name, "gs_splitk");
    char text[3][GS_FORMULA];
    snprintf(text[along_n], sizeof text[0], "cdiv(m,%d)", s.bm);
    snprintf(text[!along_n], sizeof text[0], "cdiv(%sn,%d)", problem->gate ? "2*" : "", s.bn);
    snprintf(text[2], sizeof text[0], "%s%d", problem->batch > 1 ? "batch*" : "", s.shares);
    for (int i = 0; i < 3; i++) GS_TRY(gs_formula_set(&entry->grid[i], text[i], error));
    snprintf(text[0], sizeof text[0], "%d", s.smem);
    GS_TRY(gs_formula_set(&entry->smem, text[0], error));
    entry->block[0] = resources.threads;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = along_n ? s.cn : s.cm;
    entry->cluster[1] = along_n ? s.cm : s.cn;
    entry->cluster[2] = s.ck;
    entry->dependent = true;
    if (gs_rows_feed(rows_of(schedule), problem, 'a') == GS_FEED_TENSOR) entry->map[entry->map_count++] = map_of('a', gs_is_a_transposed(problem->layout) ? s.bk : s.rows_a);
    if (gs_rows_feed(rows_of(schedule), problem, 'b') == GS_FEED_TENSOR)
        entry->map[entry->map_count++] = map_of('b', gs_is_b_transposed(problem->layout) ? s.rows_b : s.bk);
    if (s.shifts) gs_rows_eighths(entry, s.bm, s.bn);
    for (int i = 0; i < entry->map_count; i++) {
        entry->map[i].batch = problem->batch > 1;
        entry->map[i].turn = entry->map[i].operand == 'b' && gs_rows_turn(rows_of(schedule), problem);
    }
    return GS_OK;
}

/* ---- the family ---- */

const gs_family gs_family_splitk = {
    .name       = "splitk",
    .old_name   = "wave",
    .summary    = "Hopper: one tile and a share of K per block, wgmma, deep prefetch, operands in either order; for one wave and for streamed weights",
    .parameters = parameters, .parameter_count = GS_COUNT(parameters),
    .hopper     = true, .a_transposed = true,
    .takes      = GS_WANTS_STRIDES | GS_WANTS_SCALARS | GS_WANTS_GATE | GS_WANTS_AUX | GS_WANTS_SCALES | GS_WANTS_INVARIANT,
    .check      = check,
    .resources  = resources_of,
    .work       = work_of,
    .build      = build,
};
