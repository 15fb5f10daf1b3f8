/* SPDX-License-Identifier: MIT
 * Which schedule strings of family slicek are valid for a problem, and what they ask of a multiprocessor. Mirrors kernels/slicek.cu. */
#include "base/error.h"
#include "schedule/grammar.h"

enum {
    STEP           = 32,           /* k of a warp's step */
    MOST_REGISTERS = 255,          /* of a thread */
    MOST_TILES     = 65535,        /* blocks along y and z of a grid */
    MOST_BLOCKS    = 2147483647,   /* along x */
    MOST_LD        = 1073741823,   /* elements from row to row: twice that fits an int */
    RESERVED_SMEM  = 1024,         /* bytes that every resident block costs beyond its own */
    BARRIER_BYTES  = 16,
    BESIDE         = 26,           /* registers beside what is counted */
    C_REGISTERS    = 16,           /* of C on its way, at most */
    LOOP_REGISTERS = 12,           /* more in a loop over K, beside a set of fragments */
    STRIDED_REGISTERS = 16,        /* more where rows of B are loaded with a stride that is no constant */
    PARTS          = 4             /* of a multiprocessor: each holds a quarter of the registers, for whole warps */
};

/* The numbers of a schedule string, and of a warp. */
typedef struct shape {
    int  bm, bn, wm, wn, wk, depth, split;
    bool fixed;
    int  mt, nt;       /* mma tiles of a warp: 16 rows, 8 columns */
    int  threads;
} shape;

static shape shape_of(const gs_schedule *schedule)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_SLICEK_TILE);
    const int16_t *const warps = gs_schedule_value(schedule, GS_SLICEK_WARPS);
    return (shape){
        .bm = tile[0], .bn = tile[1], .wm = warps[0], .wn = warps[1], .wk = warps[2],
        .depth = gs_schedule_value(schedule, GS_SLICEK_DEPTH)[0], .split = gs_schedule_value(schedule, GS_SLICEK_SPLIT)[0],
        .fixed = gs_schedule_value(schedule, GS_SLICEK_SIZES)[0] != 0,
        .mt = tile[0] / warps[0] / 16, .nt = tile[1] / warps[1] / 8, .threads = 32 * warps[0] * warps[1] * warps[2],
    };
}

/* Partial tiles of the warps along K, what the cluster's blocks send, and their barrier. */
static int smem_of(const shape *s)
{
    const int tile = s->bm * s->bn * 4;
    return (s->wk > 1 ? s->wk * tile : 0) + (s->split > 1 ? tile + BARRIER_BYTES : 0);
}

/* Steps of the warp with most of them; at least 1, so that K = 0 has a shortest schedule string, too. */
static int64_t rounds_of(const shape *s, const gs_problem *p)
{
    const int64_t span = (int64_t)STEP * s->wk * s->split;
    return GS_MAX((p->k + span - 1) / span, 1);
}

/* All loads of a warp at once, without a loop. */
static bool is_straight(const shape *s, const gs_problem *p) { return s->fixed && rounds_of(s, p) <= s->depth; }

static int step_registers(const shape *s) { return s->mt * 8 + s->nt * 4; }

/* Registers that a thread needs without spilling: sums, operands in flight, addresses of rows where they are not a constant apart, C on
 * its way. Checked against the compiler in tests/family/slicek.c. */
static int registers_of(const shape *s, const gs_problem *p)
{
    const bool tn = p->layout == GS_TN, edge_m = !s->fixed || p->m % s->bm, edge_n = !s->fixed || p->n % s->bn;
    const int sums = s->mt * s->nt * 4 * (s->mt * s->nt <= 4 ? 2 : 1);
    const int rows = edge_m ? 2 * s->mt : 1, columns = !tn ? (s->nt + 7) / 8 : edge_n ? s->nt : 1;
    const int loop = is_straight(s, p) ? 0 : LOOP_REGISTERS + 4 * (tn && s->mt * 2 <= s->nt ? s->mt : s->nt / 2);
    const int strided = !tn && !s->fixed ? STRIDED_REGISTERS : 0;
    return sums + s->depth * step_registers(s) + 2 * (rows + columns) + (p->beta != 0 ? C_REGISTERS : 0) + loop + strided + BESIDE;
}

/* What the compiler is allowed: in a loop it likes to load a step before it has used up the one whose place it takes. */
static int granted_registers(const shape *s, const gs_problem *p)
{
    const int wanted = registers_of(s, p) + (is_straight(s, p) ? 0 : step_registers(s));
    return GS_MIN((wanted + 7) / 8 * 8, 256);
}

/* Blocks of a multiprocessor at the same time; 0: not even one. */
static int blocks_of(const shape *s, const gs_problem *p, const gs_caps *caps)
{
    const int by_registers = caps->registers_sm / PARTS / (granted_registers(s, p) * 32) * PARTS * 32 / s->threads;
    const int by_smem = caps->smem_sm / (smem_of(s) + RESERVED_SMEM);
    const int by_slots = caps->cc == 80 || caps->cc >= 90 ? 32 : caps->cc == 89 ? 24 : 16;
    return GS_MIN(GS_MIN(by_registers, by_smem), GS_MIN(caps->threads_sm / s->threads, by_slots));
}

/* What loads and stores need of the problem. */
static gs_status check_problem(const shape *s, const gs_problem *p, const gs_caps *caps, gs_error *error)
{
    if (caps->cc < 80)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "slicek needs compute capability 8.0 (mma.sync of 16 x 8 x 16); this device has %d.%d",
                       caps->cc / 10, caps->cc % 10);
    if (s->split > 1 && caps->cc < 90)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "a cluster needs compute capability 9.0; this device has %d.%d", caps->cc / 10, caps->cc % 10);
    if (p->epilogue) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "slicek has no epilogue operations");
    if (p->m < 1 || p->n < 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, p->m < 1 ? "m" : "n", "slicek needs at least one row and one column");
    if (p->lda % 8) return gs_fail(error, GS_ERROR_UNSUPPORTED, "lda", "rows of A must start at multiples of 16 bytes");
    if (p->ldb % 8) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ldb", "rows of B must start at multiples of 16 bytes");
    if (p->k % 8) return gs_fail(error, GS_ERROR_UNSUPPORTED, "k", "loads of 16 bytes need a K that is a multiple of 8");
    if (p->layout == GS_NN && p->n % 8) return gs_fail(error, GS_ERROR_UNSUPPORTED, "n", "loads of 16 bytes along the rows of B need an N that is a multiple of 8");
    return GS_OK;
}

/* What the grid and the kernel's integers hold. */
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

/* Schedule strings that do the same as a smaller one, with idle parts. */
static gs_status check_use(const gs_schedule *schedule, const shape *s, const gs_problem *p, gs_error *error)
{
    const int64_t steps = GS_MAX((p->k + STEP - 1) / STEP, 1), parts = s->wk * s->split, rounds = rounds_of(s, p);
    if (s->bm > 16 && s->bm / 2 >= p->m) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "half of its rows suffice");
    if (s->bn > 16 && s->bn / 2 >= p->n) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "half of its columns suffice");
    if (s->wk > 1 && parts / 2 >= steps) return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "K has %d steps of 32 for %d parts", (int)steps, (int)parts);
    if (s->split > 1 && parts / 2 >= steps) return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "K has %d steps of 32 for %d parts", (int)steps, (int)parts);
    const int depth = schedule->word[GS_SLICEK_DEPTH];
    if (depth > 0 && gs_family_slot(GS_FAMILY_SLICEK, GS_SLICEK_DEPTH)->words[depth - 1].value[0] >= rounds)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "depth", "a warp has only %d steps", (int)rounds);
    return GS_OK;
}

gs_status gs_check_slicek(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const shape s = shape_of(schedule);
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

gs_resources gs_resources_slicek(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const shape s = shape_of(schedule);
    const int blocks = blocks_of(&s, problem, caps), warps_part = (blocks * s.threads / 32 + PARTS - 1) / PARTS;
    return (gs_resources){
        .threads   = s.threads,
        .registers = GS_MIN(MOST_REGISTERS, caps->registers_sm / PARTS / (warps_part * 32) / 8 * 8),   /* what the compiler may use for that many blocks */
        .smem      = smem_of(&s),
        .blocks_sm = blocks,
        .cluster   = s.split,
    };
}
