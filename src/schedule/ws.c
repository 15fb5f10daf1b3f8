/* SPDX-License-Identifier: MIT
 * Which sentences of family ws are valid for a problem, and what they ask of a multiprocessor. Mirrors kernels/ws.cu. */
#include "base/error.h"
#include "schedule/grammar.h"

enum { CHUNK_BYTES = 8192, ALIGN_SLACK = 1024 };

int gs_ws_consumers(const gs_schedule *schedule)
{
    const int bm = gs_schedule_value(schedule, GS_WS_TILE)[0];
    return bm == 64 ? 1 : bm == 192 ? 3 : 2;
}

int gs_ws_smem(const gs_schedule *schedule, const gs_problem *problem)
{
    (void)problem;
    const int16_t *const tile = gs_schedule_value(schedule, GS_WS_TILE);
    const int stages = gs_schedule_value(schedule, GS_WS_STAGES)[0];
    return ALIGN_SLACK + stages * (tile[0] + tile[1]) * tile[2] * 2 + gs_ws_consumers(schedule) * 2 * CHUNK_BYTES + stages * 2 * 8;
}

bool gs_ws_direct(const gs_problem *problem)
{
    return (problem->ldd * (int64_t)gs_type_size(problem->out)) % 16 != 0 || (problem->n * (int64_t)gs_type_size(problem->out)) % 16 != 0;
}

/* 32-bit accumulator registers of a consumer thread. */
static int accumulators(const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_WS_TILE);
    return tile[0] / 64 / gs_ws_consumers(schedule) * tile[1] / (problem->acc == GS_F32 ? 2 : 4);
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

    /* 208 of 232 registers (two consumers), 112 of 152 (three) leave room for addresses; more spills. */
    const int consumers = gs_ws_consumers(schedule);
    const int limit = consumers == 3 ? 112 : 208;
    const int needed = accumulators(schedule, problem);
    if (needed > limit) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%d accumulators per thread, at most %d fit", needed, limit);
    if (needed > 112 && consumers == 2 && tile[0] * tile[1] > 256 * 128 && (problem->beta != 0 || gs_ws_direct(problem)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too large a tile for beta or unaligned rows of D");
    if (needed > 160 && cluster[0] * cluster[1] > 1 && problem->out == GS_F32)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "too large a tile for a cluster and f32 output: newer compilers spill");
    if (cluster[0] * cluster[1] > 1 && tile[0] / cluster[1] % 8 + tile[1] / cluster[0] % 8)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "a block's slice of the shared operand must be whole groups of 8 rows");
    const int smem = gs_ws_smem(schedule, problem);
    if (smem > caps->smem_block) return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%d bytes of shared memory, a block has %d", smem, caps->smem_block);
    return GS_OK;
}

gs_resources gs_resources_ws(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    (void)caps;
    const int16_t *const cluster = gs_schedule_value(schedule, GS_WS_CLUSTER);
    const int consumers = gs_ws_consumers(schedule);
    return (gs_resources){
        .threads   = (consumers + 1) * 128,
        .registers = consumers == 1 ? 255 : consumers == 2 ? 168 : 128,
        .smem      = gs_ws_smem(schedule, problem),
        .blocks_sm = 1,
        .cluster   = cluster[0] * cluster[1],
    };
}
