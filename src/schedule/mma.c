/* SPDX-License-Identifier: MIT
 * Which schedule strings of family mma are valid for a problem, and what they ask of a multiprocessor. Mirrors kernels/mma.cu. */
#include "base/error.h"
#include "schedule/grammar.h"

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
    const int16_t *const tile = gs_schedule_value(schedule, GS_MMA_TILE);
    const int16_t *const warps = gs_schedule_value(schedule, GS_MMA_WARPS);
    return (shape){
        .bm = tile[0], .bn = tile[1], .bk = tile[2], .wm = warps[0], .wn = warps[1],
        .stages = gs_schedule_value(schedule, GS_MMA_STAGES)[0],
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

int gs_mma_resident(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const shape s = shape_of(schedule);
    const int vector = gs_problem_vector(problem), promised = blocks_of(&s, problem, caps);
    if (vector == 1) return promised;
    const int accumulators = s.warp_m * s.warp_n / (problem->acc == GS_F32 ? 32 : 64);
    const int used = accumulators + 2 * (s.warp_m / 4 + s.warp_n / 4) + copies_of(&s, vector) + USED_BESIDE;
    return GS_MAX(promised, blocks_with(&s, used, problem, caps));
}

gs_status gs_check_mma(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const shape s = shape_of(schedule);
    if (caps->cc < 80)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "mma needs compute capability 8.0 (cp.async); this device has %d.%d",
                       caps->cc / 10, caps->cc % 10);
    if (problem->epilogue) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "mma has no epilogue operations");
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

gs_resources gs_resources_mma(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
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
