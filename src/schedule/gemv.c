/* SPDX-License-Identifier: MIT
 * Which schedule strings of family gemv are valid for a problem, and what they ask of a multiprocessor. Mirrors kernels/gemv.cu. */
#include "base/error.h"
#include "schedule/grammar.h"

enum {
    MOST_TOKENS      = 16,         /* rows of A (or columns of B) that any tile takes */
    MOST_REGISTERS   = 255,        /* of a thread */
    USED_BESIDE      = 28,         /* registers beside the ring, or the step that is read from it, and accumulators (NVRTC 13.0) */
    USED_BY_LAYOUT   = 8,          /* and for pairs of rows of nn, or for the rows that a lane copies of tn */
    USED_TO_TURN     = 16,         /* and where tiles have 8 columns and all sizes are known, of which the compiler makes much */
    RESERVED_SMEM    = 1024,       /* bytes that every resident block costs beyond its own */
    LEAST_IN_FLIGHT  = 16384,      /* bytes of a multiprocessor that anything serious has under way, unless all of K is */
    MOST_OF_L2       = 5,          /* eighths of it that blocks may fill before they read */
    MOST_BLOCKS      = 2147483647, /* along x of a grid */
    PARTS            = 4           /* of a multiprocessor: each holds a quarter of the registers, for whole warps */
};

/* The numbers of a schedule string for a problem. */
typedef struct shape {
    int     rows, cols, warps, depth, ahead, split;
    bool    shared, fixed, tn, swapped;
    int64_t tokens, columns;       /* rows of A that are multiplied; columns of the other operand */
    int     column_warps;          /* warps along the columns */
    int     parts;                 /* of K: warps and blocks */
    int     step;                  /* k of a warp's step */
    int     sums;                  /* accumulators of a thread */
    int     loads;                 /* 16-byte loads of a lane and step */
} shape;

bool gs_gemv_swapped(const gs_problem *problem)
{
    return problem->layout == GS_TN && problem->n <= MOST_TOKENS && problem->n < problem->m;
}

static shape shape_of(const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_GEMV_TILE);
    shape s = {
        .rows = tile[0], .cols = tile[1],
        .warps  = gs_schedule_value(schedule, GS_GEMV_WARPS)[0],
        .depth  = gs_schedule_value(schedule, GS_GEMV_DEPTH)[0],
        .ahead  = gs_schedule_value(schedule, GS_GEMV_AHEAD)[0],
        .shared = gs_schedule_value(schedule, GS_GEMV_RING)[1] != 0,
        .split  = gs_schedule_value(schedule, GS_GEMV_SPLIT)[0],
        .fixed  = gs_schedule_value(schedule, GS_GEMV_SIZES)[0] != 0,
        .tn = problem->layout == GS_TN, .swapped = gs_gemv_swapped(problem),
    };
    s.tokens = s.swapped ? problem->n : problem->m;
    s.columns = s.swapped ? problem->m : problem->n;
    s.column_warps = s.tn ? 1 : GS_MAX(s.cols / 64, 1);
    s.parts = s.warps / s.column_warps * s.split;
    s.step = s.tn ? 64 : 32;
    const int sets = s.cols / s.column_warps / 8;   /* of eight columns, of a warp */
    s.sums = sets == 1 ? 4 : sets / 2 * (s.rows / 8) * 4;
    s.loads = (s.tn ? sets * 2 : 8) + s.rows / 8 * (s.step / 32);
    return s;
}

/* Steps of K of the warp that has most. */
static int64_t steps_of(const shape *s, const gs_problem *problem)
{
    const int64_t steps = (problem->k + s->step - 1) / s->step;
    return (steps + s->parts - 1) / s->parts;
}

/* The ring of each warp, whose place its partial sums take, then what the leader of a cluster collects. */
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
    return steps * s->loads * 4 + s->sums + USED_BESIDE + layout + swap_ab;
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

/* What L2 is asked for first: of use beyond the rings only where there is more of K, and where it can stay until it is read. */
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
    if (problem->epilogue) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "gemv has no epilogue operations");
    if (problem->m > MOST_TOKENS && !gs_gemv_swapped(problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "gemv multiplies at most %d rows of A, or with tn columns of B", MOST_TOKENS);
    if (problem->k % 8) return gs_fail(error, GS_ERROR_UNSUPPORTED, "k", "gemv needs K to be a multiple of 8");
    if (problem->layout == GS_NN && problem->n % 8) return gs_fail(error, GS_ERROR_UNSUPPORTED, "n", "gemv needs N to be a multiple of 8 with nn");
    if (problem->lda % 8 || problem->ldb % 8)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, problem->lda % 8 ? "lda" : "ldb", "gemv needs rows of A and B that start at multiples of 16 bytes");
    return GS_OK;
}

/* Schedule strings that no problem can be computed by, or that a shorter one does as well. */
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

gs_status gs_check_gemv(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
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

gs_resources gs_resources_gemv(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const shape s = shape_of(schedule, problem);
    const int blocks = blocks_of(&s, caps);
    const int warps_part = (blocks * s.warps + PARTS - 1) / PARTS;
    const int allowed = caps->registers_sm / PARTS / (warps_part * 32) / 8 * 8;   /* what the compiler may use for that many blocks */
    return (gs_resources){
        .threads   = s.warps * 32,
        .registers = GS_MIN(MOST_REGISTERS, allowed),
        .smem      = smem_of(&s),
        .blocks_sm = blocks,
        .cluster   = s.split,
    };
}
