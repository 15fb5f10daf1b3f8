/* SPDX-License-Identifier: MIT
 * Family ws: TMA producer warp, wgmma consumers, persistent tiles. Mirrors kernels/ws.cu; docs/internals/ws.md explains it. */
#include "family/ws.h"

#include <stdio.h>

#include "base/error.h"
#include "family/rows.h"
#include "family/shared.h"
#include "kernel/kernel.h"
#include "problem/layout.h"
#include "schedule/family.h"
#include "schedule/model.h"

/* ---- parameters ---- */

/* M x N x K, per block or, in mode pp, per consumer (there are two). Consumer warpgroups that share a tile: 1 for M = 64, 3 for M = 192, else 2; they divide its rows,
 * or its columns if N > 256. If M is not a multiple of 64, the columns are on wgmma's 64-row side, and the statements about M hold for N */
static const gs_parameter_value tile_values[] = {
    {"64x64x64",   { 64,  64, 64}}, {"64x128x64",  { 64, 128, 64}}, {"64x192x64",  { 64, 192, 64}}, {"64x256x64",  { 64, 256, 64}},
    {"128x64x64",  {128,  64, 64}}, {"128x128x64", {128, 128, 64}}, {"128x192x64", {128, 192, 64}}, {"128x256x64", {128, 256, 64}},
    {"192x64x64",  {192,  64, 64}}, {"192x128x64", {192, 128, 64}}, {"192x192x64", {192, 192, 64}},
    {"256x64x64",  {256,  64, 64}}, {"256x128x64", {256, 128, 64}}, {"256x192x64", {256, 192, 64}}, {"256x256x64", {256, 256, 64}},
    {"128x160x64", {128, 160, 64}}, {"128x208x64", {128, 208, 64}}, {"128x224x64", {128, 224, 64}}, {"128x320x64", {128, 320, 64}},
    {"192x160x64", {192, 160, 64}}, {"256x96x64",  {256,  96, 64}}, {"256x160x64", {256, 160, 64}}, {"256x208x64", {256, 208, 64}},
    {"128x112x64", {128, 112, 64}}, {"128x144x64", {128, 144, 64}}, {"128x176x64", {128, 176, 64}},
    {"16x128x64",  { 16, 128, 64}}, {"32x128x64",  { 32, 128, 64}}, {"136x128x64", {136, 128, 64}},
    {"16x256x64",  { 16, 256, 64}}, {"32x256x64",  { 32, 256, 64}}, {"48x256x64",  { 48, 256, 64}}, {"80x256x64",  { 80, 256, 64}},
    {"96x256x64",  { 96, 256, 64}}, {"112x256x64", {112, 256, 64}}, {"136x256x64", {136, 256, 64}}, {"160x256x64", {160, 256, 64}},
    {"176x256x64", {176, 256, 64}},
    {"128x120x64", {128, 120, 64}}, {"128x136x64", {128, 136, 64}}, {"128x152x64", {128, 152, 64}}, {"128x168x64", {128, 168, 64}},
    {"128x184x64", {128, 184, 64}}, {"128x200x64", {128, 200, 64}}, {"192x176x64", {192, 176, 64}},
    {"72x128x64",  { 72, 128, 64}}, {"88x128x64",  { 88, 128, 64}}, {"104x128x64", {104, 128, 64}}, {"120x128x64", {120, 128, 64}},
    {"152x128x64", {152, 128, 64}}, {"168x128x64", {168, 128, 64}},
    {"72x192x64",  { 72, 192, 64}}, {"88x192x64",  { 88, 192, 64}}, {"136x192x64", {136, 192, 64}}, {"144x192x64", {144, 192, 64}},
    {"88x256x64",  { 88, 256, 64}},
    {"64x80x64",   { 64,  80, 64}}, {"64x96x64",   { 64,  96, 64}}, {"64x112x64",  { 64, 112, 64}}, {"64x160x64",  { 64, 160, 64}},
    {"64x176x64",  { 64, 176, 64}}, {"64x208x64",  { 64, 208, 64}}, {"64x224x64",  { 64, 224, 64}}, {"128x72x64",  {128,  72, 64}},
    {"128x80x64",  {128,  80, 64}}, {"128x88x64",  {128,  88, 64}}, {"128x96x64",  {128,  96, 64}}, {"128x104x64", {128, 104, 64}},
    {"128x240x64", {128, 240, 64}}, {"192x80x64",  {192,  80, 64}},
    {"192x88x64",  {192,  88, 64}}, {"192x96x64",  {192,  96, 64}}, {"192x104x64", {192, 104, 64}}, {"192x112x64", {192, 112, 64}},
    {"192x120x64", {192, 120, 64}}, {"192x136x64", {192, 136, 64}}, {"192x144x64", {192, 144, 64}}, {"192x152x64", {192, 152, 64}},
    {"192x168x64", {192, 168, 64}}, {"192x184x64", {192, 184, 64}}, {"256x72x64",  {256,  72, 64}},
    {"256x80x64",  {256,  80, 64}}, {"256x88x64",  {256,  88, 64}}, {"256x104x64", {256, 104, 64}}, {"256x112x64", {256, 112, 64}},
    {"256x120x64", {256, 120, 64}}, {"256x136x64", {256, 136, 64}}, {"256x144x64", {256, 144, 64}}, {"256x152x64", {256, 152, 64}},
    {"256x168x64", {256, 168, 64}}, {"256x176x64", {256, 176, 64}}, {"256x184x64", {256, 184, 64}}, {"48x128x64",  { 48, 128, 64}},
    {"80x128x64",  { 80, 128, 64}}, {"96x128x64",  { 96, 128, 64}}, {"112x128x64", {112, 128, 64}}, {"144x128x64", {144, 128, 64}},
    {"160x128x64", {160, 128, 64}}, {"176x128x64", {176, 128, 64}}, {"184x128x64", {184, 128, 64}}, {"200x128x64", {200, 128, 64}},
    {"208x128x64", {208, 128, 64}}, {"80x192x64",  { 80, 192, 64}}, {"96x192x64",  { 96, 192, 64}}, {"104x192x64", {104, 192, 64}},
    {"112x192x64", {112, 192, 64}}, {"120x192x64", {120, 192, 64}}, {"152x192x64", {152, 192, 64}}, {"160x192x64", {160, 192, 64}},
    {"168x192x64", {168, 192, 64}}, {"176x192x64", {176, 192, 64}}, {"184x192x64", {184, 192, 64}},
    {"72x256x64",  { 72, 256, 64}}, {"104x256x64", {104, 256, 64}}, {"120x256x64", {120, 256, 64}}, {"144x256x64", {144, 256, 64}},
    {"152x256x64", {152, 256, 64}}, {"168x256x64", {168, 256, 64}}, {"184x256x64", {184, 256, 64}}, {"200x256x64", {200, 256, 64}},
    {"208x256x64", {208, 256, 64}},
};
static const gs_parameter_value stages_values[] = {
    {"s2", {2}}, {"s3", {3}}, {"s4", {4}}, {"s5", {5}}, {"s6", {6}}, {"s7", {7}}, {"s8", {8}}, {"s10", {10}}, {"s12", {12}},
};
static const gs_parameter_value cluster_values[] = {{"c1x1", {1, 1}}, {"c2x1", {2, 1}}, {"c1x2", {1, 2}}, {"c2x2", {2, 2}}};   /* blocks along M x along N */

/* consumers, 0: determined by the tile; how they work; 1: D is stored with the L2 policy evict_first */
static const gs_parameter_value mode_values[] = {
    {"coop",  {0, GS_WS_COOP, 0}}, {"pp",    {0, GS_WS_PP, 0}}, {"lag",   {0, GS_WS_LAG, 0}}, {"coop4", {4, GS_WS_COOP, 0}},
    {"coopf", {0, GS_WS_COOP, 1}}, {"ppf",   {0, GS_WS_PP, 1}}, {"lagf",  {0, GS_WS_LAG, 1}},
};

static const gs_parameter parameters[] = {
    [GS_WS_TILE]    = {"tile",    GS_VALUES(tile_values)},
    [GS_WS_STAGES]  = {"stages",  GS_VALUES(stages_values)},
    [GS_WS_CLUSTER] = {"cluster", GS_VALUES(cluster_values)},
    [GS_WS_MODE]    = {"mode",    GS_VALUES(mode_values), .hint = true},
    [GS_WS_RASTER]  = {"raster",  GS_VALUES(gs_raster_values), .free = true},
    [GS_WS_ROWS]    = {"rows",    GS_VALUES(gs_rows_values), .optional = true},
};

static const int16_t *value_of(const gs_schedule *schedule, int parameter) { return gs_parameter_numbers(parameters, schedule, parameter); }
static int rows_of(const gs_schedule *schedule) { return value_of(schedule, GS_WS_ROWS)[0]; }

/* Whether threads load A or B. */
static bool feeds(const gs_schedule *schedule, const gs_problem *problem)
{
    const int rows = rows_of(schedule);
    return rows == GS_ROWS_CPASYNC && (gs_rows_feed(rows, problem, 'a') != GS_FEED_TENSOR || gs_rows_feed(rows, problem, 'b') != GS_FEED_TENSOR);
}

/* ---- which schedule strings are valid, and their resources ---- */

enum {
    SMEM_BLOCK = 232448,    /* of all devices with compute capability 9.0 */
    ALIGN_SLACK = 1024,
    SLAB_BYTES = 2048,      /* 16 rows of 128 bytes */
    BARRIER_BYTES = 8,
    GROUP_BYTES = 8,        /* first row and first tile of a group */
    MOST_GROUPS = 1024,     /* limits their table, to leave memory for stages */
};

/* Whether D is stored by threads: a tensor copy needs rows that start at multiples of 16 bytes, and it writes whole 16-byte units, even beyond the last column: into
 * the padding of rows, and past the end of D. */
static bool is_direct(const gs_problem *problem)
{
    return (gs_rows_unit(problem, 'd') * (int64_t)gs_type_size(problem->out)) % 16 != 0 || (problem->n * (int64_t)gs_type_size(problem->out)) % 16 != 0;
}

gs_ws_shape gs_ws_shape_of(const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = value_of(schedule, GS_WS_TILE), *const mode = value_of(schedule, GS_WS_MODE);
    const int stages = value_of(schedule, GS_WS_STAGES)[0];
    const bool swap_ab = tile[0] % 64 != 0;
    gs_ws_shape s = {.mode = mode[1], .first = mode[2] != 0, .swap_ab = swap_ab, .bx = tile[swap_ab], .by = tile[!swap_ab]};
    s.wx = s.bx;
    s.wy = s.by;
    s.consumers = s.mode == GS_WS_PP ? 2 : mode[0] ? mode[0] : s.bx == 64 ? 1 : s.bx == 192 ? 3 : 2;
    if (s.mode != GS_WS_PP && s.by > 256)
        s.wy /= s.consumers;
    else if (s.mode != GS_WS_PP)
        s.wx /= s.consumers;
    s.accumulators = s.wx / 64 * s.wy / (problem->acc == GS_F32 ? 2 : 4);
    s.chunk = 128 / (int)gs_type_size(problem->out);
    s.dy = problem->gate && !swap_ab ? s.wy / 2 : s.wy;
    s.parts = s.wx / 64 * ((s.dy + s.chunk - 1) / s.chunk);
    const int rows = rows_of(schedule);
    const int beside = gs_rows_beside(rows, problem, 'a', tile[0], tile[2]) + gs_rows_beside(rows, problem, 'b', tile[1], tile[2]);
    const int table = problem->groups ? (int)(problem->groups + 1) * GROUP_BYTES : 0;
    const int ring = gs_rows_ring(rows, tile[0]) + gs_rows_ring(rows, tile[1]), padding = gs_rows_padding(rows, tile[0]) + gs_rows_padding(rows, tile[1]);
    const int fixed = ALIGN_SLACK + table + ring + stages * ((tile[0] + tile[1]) * tile[2] * 2 + beside + padding + 2 * BARRIER_BYTES) + 2 * BARRIER_BYTES;
    const int slab = s.consumers * 4 * SLAB_BYTES;
    s.slabs = is_direct(problem) ? 1 : GS_MAX(GS_MIN(s.parts, (SMEM_BLOCK - fixed) / slab), 1);
    s.smem = fixed + s.slabs * slab;
    return s;
}

/* GS_UNITS: what is accessed by units of 16 bytes. C is read by element if registers are scarce, and with swapped operands and a gate, where a warp's share has rows
 * of 8 columns; the aux of a gradient if the rows of D are not aligned. */
static int units_of(const gs_schedule *schedule, const gs_problem *problem, const gs_ws_shape *s)
{
    const int units = gs_units_of(problem);
    if (units >= 2) return is_direct(problem) ? 0 : units;
    return (problem->gate && s->swap_ab) || s->consumers >= (feeds(schedule, problem) ? 3 : 4) ? 0 : units;
}

/* Whether a tile has enough registers to read the aux of a gradient by units. By element it would take twice as long. */
static bool has_room_for_aux(const gs_ws_shape *s, const gs_schedule *schedule, const gs_problem *problem, int blocks)
{
    if (s->consumers > 2 && (problem->batch > 1 || gs_has_offsets(problem) || problem->acc == GS_F16 || feeds(schedule, problem))) return false;
    return s->accumulators <= 64 || (s->consumers <= 2 && blocks <= 2 && !gs_has_offsets(problem) && (problem->batch == 1 || s->dy % s->chunk == 0));
}

/* A consumer thread has 232 registers (240 for more than 200 sums), 152 or 104 with 2, 3, 4 consumers. The number of sums that fit was found by compiling. */
static gs_status check_registers(const gs_ws_shape *s, const gs_schedule *schedule, const gs_problem *problem, gs_error *error)
{
    const int16_t *const cluster = value_of(schedule, GS_WS_CLUSTER);
    const int limit = rows_of(schedule) == GS_ROWS_SHIFT ? (s->consumers == 3 ? 64 : 128) : s->consumers == 2 && feeds(schedule, problem) ? 176 : s->consumers == 4 ? 64 : s->consumers == 3 ? 112 : s->mode == GS_WS_PP ? 200 : 208;
    const int kept = s->mode == GS_WS_LAG ? s->wx / 64 * s->wy / 4 : 0;   /* words of the previous tile */
    if (s->accumulators + kept > limit)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%d registers per thread for sums, at most %d fit", s->accumulators + kept, limit);
    if (s->accumulators > 128 && s->consumers == 2 && (gs_has_epilogue(problem) || is_direct(problem)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for an epilogue or unaligned rows of D");
    if (units_of(schedule, problem, s) == 2 && !has_room_for_aux(s, schedule, problem, cluster[0] * cluster[1]))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile, or too many consumers, for aux of a gradient");
    const bool both = (problem->beta != 0 || gs_has_aux(problem)) && (problem->bias || problem->activation || problem->scales);
    if (gs_has_aux(problem) && problem->beta != 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "aux", "ws has no aux beside C");
    if (gs_has_offsets(problem) && (s->accumulators + kept > 200 || (both && s->consumers == 2 && s->accumulators > 96)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for groups");
    if (problem->groups && problem->gate && ((s->mode == GS_WS_PP && s->accumulators > (problem->acc == GS_F16 ? 64 : 112)) || (problem->scales && s->accumulators > (s->mode == GS_WS_PP ? 96 : 112)) || (both && s->consumers == 3 && problem->acc == GS_F16 && s->accumulators > 28)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for groups with a gate");
    if (both && ((s->consumers == 2 && is_direct(problem) && s->accumulators >= 80) || (s->consumers > 2 && s->accumulators > limit / 8 * 5)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for C beside a bias or an activation");
    if ((gs_has_aux(problem) && gs_has_offsets(problem)) || problem->bias == GS_DBIAS) {
        if (s->accumulators + kept > (s->consumers > 2 ? 48 : gs_has_offsets(problem) || problem->batch > 1 ? 96 : 128)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for aux with groups, or the gradient of a bias");
        if (problem->bias == GS_DBIAS && s->mode == GS_WS_LAG) return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "lag has no registers for the gradient of a bias");
        if (problem->bias == GS_DBIAS && rows_of(schedule) == GS_ROWS_PACK) return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "copies and the sums of columns do not share a workspace");
    }
    if (both && s->consumers == 4 && is_direct(problem) && s->accumulators >= 40 && cluster[0] * cluster[1] > 1)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "too large a tile for C beside a bias or an activation, unaligned rows of D and a cluster");
    if (both && rows_of(schedule) == GS_ROWS_SHIFT && s->accumulators > 64) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for C beside a bias or an activation, and rows that are shifted");
    if (s->consumers == 4 && problem->activation == GS_GELU_ERF) return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "four consumers have no registers for gelu_erf");
    if (s->consumers == 3 && problem->beta != 0 && problem->out == GS_F32 && s->accumulators > 88)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for C and f32 output");
    if (both && problem->activation == GS_GELU_ERF && s->accumulators > (s->consumers == 3 ? 48 : 100))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for C and gelu_erf");
    if (gs_has_epilogue(problem) && problem->acc == GS_F16 && s->mode == GS_WS_PP && s->accumulators > 96)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for an epilogue and f16 sums");
    if (problem->gate && both && s->consumers == 3 && is_direct(problem) && s->accumulators > 56)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for a gate, C and unaligned rows of D");
    if (problem->beta != 0 && problem->batch > 1 && is_direct(problem) && s->accumulators > 96)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for beta, a batch and unaligned rows of D");
    if (problem->beta != 0 && feeds(schedule, problem) && ((s->mode == GS_WS_PP && s->accumulators > 96) || (s->consumers == 4 && s->accumulators > 48)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for beta and rows that threads bring");
    if (s->swap_ab && s->wy > 192 && gs_has_epilogue(problem) && problem->out == GS_F32)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for an epilogue and f32 output");
    if (s->swap_ab && s->accumulators > 200 && cluster[0] * cluster[1] > 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "too large a tile for a cluster");
    if (s->accumulators > 160 && cluster[0] * cluster[1] > 1 && problem->out == GS_F32)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "too large a tile for a cluster and f32 output: newer compilers spill");
    return GS_OK;
}

/* Whether the operand on wgmma's column side is stored along K. */
static bool is_y_along_k(const gs_ws_shape *s, const gs_problem *problem) { return s->swap_ab ? !gs_is_a_transposed(problem->layout) : gs_is_b_transposed(problem->layout); }

/* Which tiles and problems a mode supports. */
static gs_status check_mode(const gs_ws_shape *s, const gs_schedule *schedule, const gs_problem *problem, gs_error *error)
{
    const int16_t *const mode = value_of(schedule, GS_WS_MODE);
    if (mode[0] > 0 && s->bx != 256) return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "four consumers share the rows of tiles of 256");
    if (rows_of(schedule) == GS_ROWS_SHIFT && (s->mode != GS_WS_COOP || mode[0] > 0)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "consumers that share a tile, three at most, shift its rows");
    if (s->wy > 256) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "a consumer multiplies at most 256 columns");
    if (problem->gate && (s->swap_ab ? s->bx : s->wy) % 16 != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "a gate takes columns in sixteens: eight of the gate, eight of up");
    if (s->mode == GS_WS_LAG && (problem->out == GS_F32 || problem->beta != 0 || gs_has_aux(problem) || is_direct(problem)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "lag keeps 16-bit results without C and aux, for rows of D at multiples of 16 bytes");
    if (s->first && is_direct(problem)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "D is stored by threads, without cache hints");
    if (!is_y_along_k(s, problem) && s->wy % 32 != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "an operand that is not stored along K needs tiles of whole boxes of 32");
    return GS_OK;
}

/* A batch, or the matrices B of groups, adds a dimension to the tensor maps. */
static gs_status check_batch(const gs_ws_shape *s, const gs_schedule *schedule, const gs_problem *p, gs_error *error)
{
    const int16_t *const tile = value_of(schedule, GS_WS_TILE);
    if (p->batch == 1 && !gs_has_offsets(p)) return GS_OK;
    if (p->grouping == GS_GROUPS_K && p->layout != GS_NT) return gs_fail(error, GS_ERROR_UNSUPPORTED, "layout", "groups along K need A stored K x M and B stored K x N: nt");
    if (p->grouping == GS_GROUPS_K && s->mode == GS_WS_PP) return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "consumers that take turns do not know how long the other's sums are");
    if (p->groups > MOST_GROUPS) return gs_fail(error, GS_ERROR_UNSUPPORTED, "g", "at most %d groups", MOST_GROUPS);
    if (p->groups && gs_is_a_transposed(p->layout)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "layout", "a group may begin at any row: tensor copies of A stored K x M cannot");
    if (rows_of(schedule) != GS_ROWS_GIVEN) return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "a batch and groups are read by tensor copies, as they are given");
    if (s->first) return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "a batch and groups are stored without cache hints");
    const double tiles = (gs_ceil_div((double)p->m, tile[0]) + (double)p->groups) * gs_ceil_div((double)gs_columns_of_b(p), tile[1]) * (double)p->batch;
    return tiles < 1e9 ? GS_OK : gs_fail(error, GS_ERROR_UNSUPPORTED, "b", "too many tiles to count");
}

static gs_status check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const int16_t *const tile = value_of(schedule, GS_WS_TILE);
    const int16_t *const cluster = value_of(schedule, GS_WS_CLUSTER);
    if (problem->m < 1 || problem->n < 1 || problem->k < 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "ws needs extents of at least 1");
    if (problem->m > GS_MAX_EXTENT - 2 * tile[0] || gs_columns_of_b(problem) > GS_MAX_EXTENT - 2 * tile[1])
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "too near to 2^31 for a padded grid of tiles");
    GS_TRY(gs_rows_check(rows_of(schedule), problem, error));
    if (rows_of(schedule) == GS_ROWS_SHIFT && problem->k > GS_MAX_EXTENT - 128) return gs_fail(error, GS_ERROR_UNSUPPORTED, "k", "too near to 2^31 for coordinates of whole k-blocks");
    const gs_ws_shape shape = gs_ws_shape_of(schedule, problem);
    GS_TRY(check_batch(&shape, schedule, problem, error));
    GS_TRY(check_mode(&shape, schedule, problem, error));
    GS_TRY(check_registers(&shape, schedule, problem, error));
    if (cluster[0] * cluster[1] > 1 && tile[0] / cluster[1] % 8 + tile[1] / cluster[0] % 8)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "a block's slice of the shared operand must be whole groups of 8 rows");
    if (problem->gate && tile[1] / cluster[0] % 16 != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "a block's slice of a gated B must be whole groups of 16 rows");
    if ((feeds(schedule, problem) || rows_of(schedule) == GS_ROWS_SHIFT) && cluster[0] * cluster[1] > 1)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "what threads bring or shift is not shared by a cluster");
    if (gs_rows_feed(rows_of(schedule), problem, shape.swap_ab ? 'a' : 'b') != GS_FEED_TENSOR && !is_y_along_k(&shape, problem) && shape.wy % 64 != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "threads bring what is not stored along K 64 at a time");
    if (shape.smem > caps->smem_block)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%d bytes of shared memory, a block has %d", shape.smem, caps->smem_block);
    return GS_OK;
}

static gs_resources resources_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    (void)caps;
    const int16_t *const cluster = value_of(schedule, GS_WS_CLUSTER);
    const gs_ws_shape shape = gs_ws_shape_of(schedule, problem);
    static const int registers[] = {0, 255, 168, 128, 96};   /* at launch, by number of consumers */
    return (gs_resources){
        .threads   = (shape.consumers + 1) * 128,
        .registers = registers[shape.consumers],
        .smem      = shape.smem,
        .blocks_sm = 1,
        .cluster   = cluster[0] * cluster[1],
    };
}

/* ---- the time model ---- */

/* The end of a tile, in cycles: the work of the consumers that the next tile's main loop does not hide. */
typedef struct ws_end {
    double finish;   /* delays the next main loop */
    double last;     /* in addition at the end of the launch, where nothing hides it */
    double store;    /* bytes that are stored meanwhile */
} ws_end;

static ws_end ws_end_of(const gs_schedule *schedule, const gs_problem *problem, double loop, const gs_rates *r)
{
    enum { HAND_OVER = 60, ROUNDING = 40 };   /* pp: hand-over to the other consumer; lag: rounding into registers, per chunk [judgement] */
    const int16_t *const tile = value_of(schedule, GS_WS_TILE);
    const gs_ws_shape shape = gs_ws_shape_of(schedule, problem);
    const double chunks = shape.wx / 64.0 * shape.wy / shape.chunk;
    const double chunk = r->ws_chunk + (is_direct(problem) ? r->ws_direct : 0) + (problem->beta != 0 ? r->ws_read_c : 0);
    const double finish = r->ws_finish + chunks * chunk;
    const double store = gs_inside(tile[0], problem->m) * gs_inside(tile[1], problem->n) * (double)gs_type_size(problem->out) * (problem->beta != 0 ? 2 : 1);
    if (shape.mode == GS_WS_COOP) return (ws_end){finish, 0, store};
    const double all = gs_together(finish, store / r->store_bytes);   /* pp: of one consumer, during the other one's main loop */
    const double shown = shape.mode == GS_WS_PP ? HAND_OVER + fmax(0, all - loop) / 2 : chunks * ROUNDING + fmax(0, all - loop);
    return (ws_end){shown, fmax(0, all - shown), 0};
}

static gs_work work_of(const gs_schedule *schedule, const gs_problem *given, const gs_profile *profile)
{
    const gs_problem average = gs_problem_average(given), *const p = &average;
    const gs_rates *const r = &profile->rates;
    const int16_t *const tile = value_of(schedule, GS_WS_TILE);
    const int16_t *const cluster = value_of(schedule, GS_WS_CLUSTER);
    const int16_t *const raster = value_of(schedule, GS_WS_RASTER);
    const int stages = value_of(schedule, GS_WS_STAGES)[0], blocks = cluster[0] * cluster[1];
    const double bm = tile[0], bn = tile[1], bk = tile[2];
    const double lines = given->groups ? gs_group_tiles(given, bm * cluster[0]) / (double)p->batch : gs_ceil_div((double)p->m, bm * cluster[0]);
    const double rows = fmax(1, lines) * cluster[0];
    const double columns = fmax(1, gs_ceil_div((double)p->n, bn * cluster[1])) * cluster[1];
    const double ideal = 64.0 * 16 * 2 / profile->caps.tensor_flops;   /* cycles of a wgmma, per column */
    const gs_ws_shape shape = gs_ws_shape_of(schedule, p);
    const double wgmmas = shape.bx / 64.0 * (shape.by / (double)shape.wy) * bk / 16;
    const bool alone = shape.consumers == 1 || shape.mode == GS_WS_PP;
    const double sync = (alone ? r->ws_sync_alone : r->ws_sync) + (blocks > 1 ? r->cluster_sync : 0);
    const double a = bm * gs_rows_bytes(rows_of(schedule), p, 'a', profile) * (1 - (cluster[1] > 1 ? r->multicast / 2 : 0));   /* whole boxes: rows outside cost as much */
    const double b = bn * gs_rows_bytes(rows_of(schedule), p, 'b', profile) * (1 - (cluster[0] > 1 ? r->multicast / 2 : 0));
    const gs_walk walked = {bm * cluster[0], bn * cluster[1], raster[0], raster[1] != 0, fmax(1, profile->caps.sms / blocks)};
    const bool along_n = raster[1] != 0;
    const double lines_m = rows / cluster[0], lines_n = columns / cluster[1];
    const gs_order order = {along_n ? lines_n : lines_m, along_n ? lines_m : lines_n, fmax(1, raster[0]), along_n ? bn : bm, along_n ? bm : bn,
                            cluster[along_n], cluster[!along_n], blocks, lines_m * lines_n * (double)p->batch};
    const double steps = fmax(1, gs_ceil_div((double)p->k + gs_rows_more_k(rows_of(schedule)), bk)), matrix = wgmmas * (shape.wy * ideal / r->wgmma_share + r->wgmma_issue) + sync;
    const ws_end end = ws_end_of(schedule, p, steps * matrix, r);
    return (gs_work){
        .blocks = rows * columns * (double)p->batch, .cluster = blocks, .resident = 1, .persistent = true,
        .steps   = steps,
        .matrix  = matrix,
        .port    = (wgmmas * (2048 + 32.0 * shape.wy) + (bm * gs_rows_port(rows_of(schedule), p, 'a') + bn * gs_rows_port(rows_of(schedule), p, 'b')) * bk * 2) / r->port_bytes,
        .feed    = (a + b) * bk * 2,
        .fresh   = gs_fresh(&order),
        .outside = gs_outside(bm, p->m) + gs_outside(bn, p->n),
        .latency = r->ws_latency,
        .ahead   = stages,
        .held    = 1 + r->ws_held,
        .start   = gs_rows_cycles(rows_of(schedule), p, profile) + r->ws_start + stages * r->ws_stage + (blocks > 1 ? r->cluster_start : 0) + end.last,
        .finish  = end.finish,
        .store   = end.store,
        .memory_bytes = gs_memory_bytes(&walked, p, profile),
    };
}

/* ---- the kernel: kernels/ws.cu with its defines and manifest ---- */

static gs_map map_of(char operand, int inner, int outer, int swizzle)
{
    return (gs_map){.operand = operand, .inner = inner, .outer = outer, .swizzle = swizzle};
}

/* The box that a warp stores of a part: 16 along X (8 with gated pairs), `wide` along Y. Rows of 32, 64 and 128 bytes are swizzled. */
static gs_map stored_map(const gs_ws_shape *shape, int wide, bool gated, int out_bytes)
{
    const int columns = shape->swap_ab ? gated ? 8 : 16 : wide, row_bytes = columns * out_bytes;
    return map_of('d', columns, shape->swap_ab ? wide : 16, row_bytes == 128 || row_bytes == 64 || row_bytes == 32 ? row_bytes : 0);
}

/* The boxes match kernels/ws.cu. If a cluster shares an operand, it is divided by rows if it is stored along K, else by k. */
static void set_maps(gs_entry *entry, const gs_ws_shape *shape, const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = value_of(schedule, GS_WS_TILE), *const cluster = value_of(schedule, GS_WS_CLUSTER);
    const int a_rows = tile[0] / cluster[1], b_rows = tile[1] / cluster[0], tail = shape->dy % shape->chunk, out_bytes = (int)gs_type_size(problem->out);
    const int y_columns = shape->wy % 64 == 0 ? 64 : 32, a_columns = shape->swap_ab ? y_columns : 64, b_columns = shape->swap_ab ? 64 : y_columns;
    if (gs_rows_feed(rows_of(schedule), problem, 'a') == GS_FEED_TENSOR)
        entry->map[entry->map_count++] = gs_is_a_transposed(problem->layout) ? map_of('a', a_columns, 64 / cluster[1], 2 * a_columns) : map_of('a', 64, a_rows, 128);
    if (gs_rows_feed(rows_of(schedule), problem, 'b') == GS_FEED_TENSOR)
        entry->map[entry->map_count++] = gs_is_b_transposed(problem->layout) ? map_of('b', 64, b_rows > 256 ? b_rows / 2 : b_rows, 128)
                                                                             : map_of('b', b_columns, 64 / cluster[0], 2 * b_columns);
    if (rows_of(schedule) == GS_ROWS_SHIFT) gs_rows_eighths(entry, tile[0], tile[1]);
    if (!is_direct(problem)) entry->map[entry->map_count++] = stored_map(shape, shape->chunk, problem->gate, out_bytes);
    if (!is_direct(problem) && tail > 0) entry->map[entry->map_count++] = stored_map(shape, tail, problem->gate, out_bytes);
    for (int i = 0; i < entry->map_count; i++) {
        entry->map[i].batch = problem->batch > 1 || (problem->groups && entry->map[i].operand == 'b');
        entry->map[i].turn = entry->map[i].operand == 'b' && gs_rows_turn(rows_of(schedule), problem);
    }
}

static gs_status build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    (void)caps;
    const int16_t *const tile = value_of(schedule, GS_WS_TILE);
    const int16_t *const cluster = value_of(schedule, GS_WS_CLUSTER);
    const int16_t *const raster = value_of(schedule, GS_WS_RASTER);
    const gs_ws_shape shape = gs_ws_shape_of(schedule, problem);
    const int out_bytes = (int)gs_type_size(problem->out);
    const bool direct = is_direct(problem);
    const int blocks = cluster[0] * cluster[1];

    kernel->name = "ws.cu";
    kernel->source = gs_embedded_find(kernel->name);
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_BM", tile[0]);
    gs_kernel_define(kernel, "GS_BN", tile[1]);
    gs_kernel_define(kernel, "GS_SWAP_AB", shape.swap_ab);
    gs_kernel_define(kernel, "GS_WY", shape.wy);
    gs_kernel_define(kernel, "GS_STAGES", value_of(schedule, GS_WS_STAGES)[0]);
    gs_kernel_define(kernel, "GS_CM", cluster[0]);
    gs_kernel_define(kernel, "GS_CN", cluster[1]);
    gs_kernel_define(kernel, "GS_GROUP", raster[0]);
    gs_kernel_define(kernel, "GS_ALONG_N", raster[1]);
    gs_kernel_define(kernel, "GS_CONSUMERS", shape.consumers);
    gs_kernel_define(kernel, "GS_MODE", shape.mode);
    gs_kernel_define(kernel, "GS_SLABS", shape.slabs);
    gs_kernel_define(kernel, "GS_FIRST", shape.first);
    gs_kernel_define(kernel, "GS_DIRECT", direct);
    gs_kernel_define(kernel, "GS_UNITS", units_of(schedule, problem, &shape));
    if (problem->batch > 1) gs_kernel_define(kernel, "GS_BATCHED", 1);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = problem->acc;
    manifest->bitwise = true;
    manifest->align[2] = units_of(schedule, problem, &shape) % 3 ? 16 : out_bytes;   /* the operand that is read by units */
    manifest->align[3] = direct ? out_bytes : 16;
    GS_TRY(gs_rows_build(kernel, rows_of(schedule), problem, error));

    /* Clusters of four cannot use every multiprocessor of each GPC. A cluster that had to wait for another one's end would double the time, so the grid is one cluster
     * smaller. */
    gs_entry *const entry = &manifest->entry[manifest->entry_count++];
    snprintf(entry->name, sizeof entry->name, "gs_ws");
    char text[GS_FORMULA], more[24] = "";   /* each group may have a last, partial tile of its own */
    if (problem->groups) snprintf(more, sizeof more, "+%d)", (int)problem->groups);
    snprintf(text, sizeof text, "min(%s%d%s,%scdiv(cdiv(m,%d),%d)%s*cdiv(cdiv(%sn,%d),%d)%s)*%d", blocks > 2 ? "max(sms/" : "sms/", blocks,
             blocks > 2 ? "-1,1)" : "", problem->groups ? "(" : "", tile[0], cluster[0], more, problem->gate ? "2*" : "", tile[1], cluster[1], problem->batch > 1 ? "*batch" : "", blocks);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "1", error));
    GS_TRY(gs_formula_set(&entry->grid[2], "1", error));
    snprintf(text, sizeof text, "%d", shape.smem);
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = (shape.consumers + 1) * 128;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = blocks;
    entry->cluster[1] = entry->cluster[2] = 1;
    entry->dependent = true;
    set_maps(entry, &shape, schedule, problem);
    return problem->bias == GS_DBIAS ? gs_kernel_add_column_sums(kernel, problem, shape.swap_ab ? 8 : 16, 1, error) : GS_OK;
}

/* ---- the family ---- */

const gs_family gs_family_ws = {
    .name       = "ws",
    .summary    = "Hopper: TMA producer warp, wgmma consumer warpgroups, persistent tiles, clusters",
    .parameters = parameters, .parameter_count = GS_COUNT(parameters),
    .hopper     = true, .a_transposed = true,
    .takes      = GS_WANTS_STRIDES | GS_WANTS_SCALARS | GS_WANTS_GATE | GS_WANTS_GROUPS | GS_WANTS_K_GROUPS | GS_WANTS_AUX | GS_WANTS_DBIAS | GS_WANTS_SCALES |
                  GS_WANTS_INVARIANT,
    .check      = check,
    .resources  = resources_of,
    .work       = work_of,
    .build      = build,
};
