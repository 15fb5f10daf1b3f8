/* SPDX-License-Identifier: MIT
 * Which schedule strings of family ws are valid for a problem, and what they ask of a multiprocessor. Mirrors kernels/ws.cu. */
#include "base/error.h"
#include "schedule/grammar.h"

enum {
    SMEM_BLOCK = 232448,    /* of every device with compute capability 9.0 */
    ALIGN_SLACK = 1024,
    SLAB_BYTES = 2048,      /* 16 rows of 128 bytes */
    BARRIER_BYTES = 8,
};

bool gs_ws_direct(const gs_problem *problem)
{
    return (problem->ldd * (int64_t)gs_type_size(problem->out)) % 16 != 0 || (problem->n * (int64_t)gs_type_size(problem->out)) % 16 != 0;
}

gs_ws_shape gs_ws_shape_of(const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_WS_TILE), *const mode = gs_schedule_value(schedule, GS_WS_MODE);
    const int stages = gs_schedule_value(schedule, GS_WS_STAGES)[0];
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
    s.parts = s.wx / 64 * ((s.wy + s.chunk - 1) / s.chunk);
    const int fixed = ALIGN_SLACK + stages * ((tile[0] + tile[1]) * tile[2] * 2 + 2 * BARRIER_BYTES) + 2 * BARRIER_BYTES;
    const int slab = s.consumers * 4 * SLAB_BYTES;
    s.slabs = gs_ws_direct(problem) ? 1 : GS_MAX(GS_MIN(s.parts, (SMEM_BLOCK - fixed) / slab), 1);
    s.smem = fixed + s.slabs * slab;
    return s;
}

/* The registers of a consumer thread are 232 (240 beyond 200 sums), 152 or 104 for 2, 3, 4 consumers; how many can be sums was found by
 * compiling. */
static gs_status check_registers(const gs_ws_shape *s, const gs_schedule *schedule, const gs_problem *problem, gs_error *error)
{
    const int16_t *const cluster = gs_schedule_value(schedule, GS_WS_CLUSTER);
    const int limit = s->consumers == 4 ? 64 : s->consumers == 3 ? 112 : s->mode == GS_WS_PP ? 200 : 208;
    const int kept = s->mode == GS_WS_LAG ? s->wx / 64 * s->wy / 4 : 0;   /* words of the tile before */
    if (s->accumulators + kept > limit)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%d registers per thread for sums, at most %d fit", s->accumulators + kept, limit);
    if (s->accumulators > 128 && s->consumers == 2 && (problem->beta != 0 || gs_ws_direct(problem)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for beta or unaligned rows of D");
    if (s->accumulators > 160 && cluster[0] * cluster[1] > 1 && problem->out == GS_F32)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "too large a tile for a cluster and f32 output: newer compilers spill");
    return GS_OK;
}

/* What a mode can do with a tile and a problem. */
static gs_status check_mode(const gs_ws_shape *s, const gs_schedule *schedule, const gs_problem *problem, gs_error *error)
{
    const int16_t *const mode = gs_schedule_value(schedule, GS_WS_MODE);
    if (mode[0] > 0 && s->bx != 256) return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "four consumers share the rows of tiles of 256");
    if (s->wy > 256) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "a consumer multiplies at most 256 columns");
    if (s->mode == GS_WS_LAG && (problem->out == GS_F32 || problem->beta != 0 || gs_ws_direct(problem)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "lag keeps 16-bit results without beta for rows of D at multiples of 16 bytes");
    if (s->first && gs_ws_direct(problem)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "D is stored by element, without cache hints");
    if (problem->layout == GS_NN && !s->swap_ab && s->wy % 32 != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "nn needs tiles of whole boxes of 32 columns");
    return GS_OK;
}

gs_status gs_check_ws(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_WS_TILE);
    const int16_t *const cluster = gs_schedule_value(schedule, GS_WS_CLUSTER);
    if (caps->cc != 90) return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "ws needs compute capability 9.0 (wgmma); this device has %d.%d", caps->cc / 10, caps->cc % 10);
    if (problem->epilogue) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "ws has no epilogue operations");
    if (problem->batch != 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "b", "ws computes one product, not a batch");
    if (problem->m < 1 || problem->n < 1 || problem->k < 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "ws needs extents of at least 1");
    if (problem->m > GS_MAX_EXTENT - 2 * tile[0] || problem->n > GS_MAX_EXTENT - 2 * tile[1])
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "too near to 2^31 for a padded grid of tiles");
    if (problem->lda % 8 || problem->ldb % 8)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, problem->lda % 8 ? "lda" : "ldb", "ws needs rows of A and B that start at multiples of 16 bytes (tensor copies)");
    const gs_ws_shape shape = gs_ws_shape_of(schedule, problem);
    GS_TRY(check_mode(&shape, schedule, problem, error));
    GS_TRY(check_registers(&shape, schedule, problem, error));
    if (cluster[0] * cluster[1] > 1 && tile[0] / cluster[1] % 8 + tile[1] / cluster[0] % 8)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "a block's slice of the shared operand must be whole groups of 8 rows");
    if (shape.smem > caps->smem_block)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%d bytes of shared memory, a block has %d", shape.smem, caps->smem_block);
    return GS_OK;
}

gs_resources gs_resources_ws(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    (void)caps;
    const int16_t *const cluster = gs_schedule_value(schedule, GS_WS_CLUSTER);
    const gs_ws_shape shape = gs_ws_shape_of(schedule, problem);
    static const int registers[] = {0, 255, 168, 128, 96};   /* at launch, by consumers */
    return (gs_resources){
        .threads   = (shape.consumers + 1) * 128,
        .registers = registers[shape.consumers],
        .smem      = shape.smem,
        .blocks_sm = 1,
        .cluster   = cluster[0] * cluster[1],
    };
}
