/* SPDX-License-Identifier: MIT
 * Which schedule strings of family splitk are valid for a problem, and what they ask of a multiprocessor. Mirrors kernels/splitk.cu. */
#include "base/error.h"
#include "schedule/grammar.h"

enum {
    ALIGN_SLACK      = 1024,
    RESERVED_SMEM    = 1024,     /* bytes that every resident block costs beyond its own */
    PORTABLE_CLUSTER = 8,        /* blocks; k16 alone may have more */
    MOST_GRID_Y      = 65535,
    MOST_REGISTERS   = 255,
    REGISTERS_BESIDE = 40,       /* the accumulators, where the compiler must be thrifty (NVRTC 13.0) */
    REGISTERS_C      = 40,       /* more where C is read: addresses */
    REGISTERS_PARTS  = 32,       /* more where parts come from the workspace, many at once */
    MOST_WITH_C      = 96,       /* accumulators: addresses of C take more registers */
    MOST_SPLIT_C     = 64,       /* the same where K is split */
    PARTS            = 4,        /* of a multiprocessor: each holds a quarter of the registers, for whole warps */
    MOST_RESIDENT    = 8,
    MOST_WAVES       = 32,       /* more tiles are for a persistent kernel */
    SPLIT_BLOCKS     = 2,        /* K is not split into more blocks per multiprocessor */
    DEEP_SHARE       = 1024,     /* a share of so much K is cut further while less than a fifth of the multiprocessors would be busy */
    LEAST_AHEAD      = 49152,    /* bytes of a block's stages, where they do not hold its whole share: memory answers late */
    LEAST_STAGES     = 3         /* there, unless one alone has so many bytes */
};

static int64_t tiles_of(int64_t extent, int tile) { return (extent + tile - 1) / tile; }

bool gs_splitk_direct(const gs_problem *problem)
{
    const int whole = problem->out == GS_F32 ? 2 : 8;
    return problem->ldd % whole != 0 || problem->n % whole != 0;
}

gs_splitk_shape gs_splitk_shape_of(const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_SPLITK_TILE);
    const int16_t *const cluster = gs_schedule_value(schedule, GS_SPLITK_CLUSTER);
    const int16_t *const split = gs_schedule_value(schedule, GS_SPLITK_SPLIT);
    gs_splitk_shape s = {
        .bm = tile[0], .bn = tile[1], .bk = tile[2], .stages = gs_schedule_value(schedule, GS_SPLITK_STAGES)[0],
        .swap_ab = gs_schedule_value(schedule, GS_SPLITK_ORDER)[0] != 0, .fixed = gs_schedule_value(schedule, GS_SPLITK_SIZES)[0] != 0,
        .cm = cluster[0], .cn = cluster[1], .ck = split[2], .tickets = split[0] / split[2], .shares = split[0],
    };
    s.bx = s.swap_ab ? s.bn : s.bm;
    s.by = s.swap_ab ? s.bm : s.bn;
    s.consumers = s.bx == 64 ? 1 : 2;
    const int row_blocks = GS_MAX(1, s.bx / 64 / s.consumers), groups = s.by / 8, slice = (groups + s.ck - 1) / s.ck;
    s.accumulators = row_blocks * s.by / 2;
    s.slice_bytes = row_blocks * slice * s.consumers * 128 * 16;
    s.rows_a = (int)GS_MIN(s.bm, problem->m);
    s.rows_b = problem->layout == GS_TN ? (int)GS_MIN(s.bn, problem->n) : s.bn;
    s.tiles_m = tiles_of(problem->m, s.bm);
    s.tiles_n = tiles_of(problem->n, s.bn);
    s.blocks = tiles_of(tiles_of(problem->k, s.bk), s.shares);
    const int buffers = problem->out == GS_F32 ? 0 : s.consumers * 4 * GS_MIN(slice, 8) * 256;
    s.smem = ALIGN_SLACK + s.stages * (s.bm + s.bn) * s.bk * 2 + (s.ck - 1) * s.slice_bytes + buffers + s.stages * 2 * 8 + 16;
    return s;
}

static int threads_of(const gs_splitk_shape *s) { return s->consumers * 128 + 32; }

/* Registers that the compiler may use for so many resident blocks; the warps of each may begin at the same part of the multiprocessor. */
static int registers_for(int blocks, int threads, const gs_caps *caps)
{
    const int warps_part = blocks * ((threads / 32 + PARTS - 1) / PARTS);
    return GS_MIN(MOST_REGISTERS, caps->registers_sm / PARTS / (warps_part * 32) / 8 * 8);
}

/* Blocks of a multiprocessor at the same time, with so much shared memory. */
static int resident(const gs_splitk_shape *s, int smem, const gs_problem *problem, const gs_caps *caps)
{
    const int needed = s->accumulators + REGISTERS_BESIDE + (problem->beta != 0 ? REGISTERS_C : 0) + (s->tickets > 1 ? REGISTERS_PARTS : 0);
    int blocks = GS_MAX(1, GS_MIN(MOST_RESIDENT, caps->smem_sm / (smem + RESERVED_SMEM)));
    while (blocks > 1 && registers_for(blocks, threads_of(s), caps) < needed) blocks--;
    return blocks;
}

static gs_status check_problem(const gs_splitk_shape *s, const gs_problem *p, const gs_caps *caps, gs_error *error)
{
    if (caps->cc != 90) return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "splitk needs compute capability 9.0 (wgmma); this device has %d.%d", caps->cc / 10, caps->cc % 10);
    if (p->epilogue) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "splitk has no epilogue operations");
    if (p->batch != 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "b", "splitk computes one product, not a batch");
    if (p->m < 1 || p->n < 1 || p->k < 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "splitk needs extents of at least 1");
    if (p->m > GS_MAX_EXTENT - 256 || p->n > GS_MAX_EXTENT - 256 || p->k > GS_MAX_EXTENT - 256)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "too near to 2^31 for coordinates of whole tiles");
    if (p->lda % 8 || p->ldb % 8)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, p->lda % 8 ? "lda" : "ldb", "splitk needs rows of A and B that start at multiples of 16 bytes (tensor copies)");
    if (s->fixed && (p->lda > GS_MAX_EXTENT || p->ldb > GS_MAX_EXTENT || p->ldc > GS_MAX_EXTENT || p->ldd > GS_MAX_EXTENT))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "sizes", "leading dimensions that are compiled in have at most 31 bits");
    return GS_OK;
}

/* What wgmma can do, and what only wastes rows. */
static gs_status check_tile(const gs_splitk_shape *s, const gs_problem *p, gs_error *error)
{
    const int64_t x = s->swap_ab ? p->n : p->m;
    if (s->bx < 64 || s->bx % 64 != 0 || s->bx == 192 || s->accumulators > 128)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "order", "a tile of %d x %d does not meet wgmma's 64 rows this way", s->bm, s->bn);
    if (p->layout == GS_NN && s->bn % 64 != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "B of layout nn is copied 64 columns at a time");
    if (s->bx > 64 && s->bx / 2 >= x) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "half of it would hold all %lld rows", (long long)x);
    if (s->accumulators > (s->shares > 1 ? MOST_SPLIT_C : MOST_WITH_C) && p->beta != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%d accumulators per thread are too many for beta", s->accumulators);
    if (s->bk > 64 && p->k <= 64) return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "K fits into 64");
    return GS_OK;
}

/* Stages that go around must have enough under way; an odd number is for where one more has no room. */
static gs_status check_stages(const gs_splitk_shape *s, const gs_problem *p, const gs_caps *caps, gs_error *error)
{
    const int stage = (s->bm + s->bn) * s->bk * 2;
    if (s->smem > caps->smem_block) return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%d bytes of shared memory, a block has %d", s->smem, caps->smem_block);
    if (s->blocks <= s->stages) return GS_OK;
    if (s->stages * stage < LEAST_AHEAD || (s->stages < LEAST_STAGES && stage < LEAST_AHEAD))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%d of %d bytes are too little under way", s->stages, stage);
    const int more = s->smem + stage + 2 * 8;
    if (s->stages % 2 && more <= caps->smem_block && resident(s, more, p, caps) == resident(s, s->smem, p, caps))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "one more has room, too");
    return GS_OK;
}

/* No narrower tile of the table makes as few, and no smaller number of stages holds all k-blocks. */
static gs_status check_smaller(const gs_splitk_shape *s, const gs_problem *p, gs_error *error)
{
    const int64_t y = s->swap_ab ? p->m : p->n, across = s->swap_ab ? s->tiles_m : s->tiles_n;
    const gs_slot *const tiles = gs_family_slot(GS_FAMILY_SPLITK, GS_SPLITK_TILE), *const stages = gs_family_slot(GS_FAMILY_SPLITK, GS_SPLITK_STAGES);
    for (int i = 0; i < stages->count; i++)
        if (stages->words[i].value[0] < s->stages && stages->words[i].value[0] >= s->blocks)
            return gs_fail(error, GS_ERROR_UNSUPPORTED, "stages", "%s hold all %lld k-blocks of a share", stages->words[i].text, (long long)s->blocks);
    for (int i = 0; across * s->by != y && i < tiles->count; i++) {
        const int16_t *const tile = tiles->words[i].value;
        const int bx = tile[s->swap_ab], by = tile[!s->swap_ab];
        if (bx == s->bx && by < s->by && tiles_of(y, by) == across && (p->layout == GS_TN || tile[1] % 64 == 0))
            return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%s is narrower and makes no more tiles", tiles->words[i].text);
    }
    return GS_OK;
}

static gs_status check_cluster(const gs_splitk_shape *s, const gs_caps *caps, gs_error *error)
{
    const int cluster = s->cm * s->cn * s->ck;
    if (s->tiles_m % s->cm || s->tiles_n % s->cn)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "%lld x %lld tiles do not make whole clusters", (long long)s->tiles_m, (long long)s->tiles_n);
    if (cluster > PORTABLE_CLUSTER && s->cm * s->cn > 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "cluster", "%d blocks, at most %d", cluster, PORTABLE_CLUSTER);
    if (GS_MAX(s->tiles_m, s->tiles_n) > GS_MAX_EXTENT || GS_MAX(s->tiles_m, s->tiles_n) > MOST_GRID_Y)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "too many tiles for one grid");
    if (s->tiles_m * s->tiles_n > (int64_t)MOST_WAVES * caps->sms)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "tile", "%lld tiles: more than %d for each multiprocessor", (long long)(s->tiles_m * s->tiles_n), MOST_WAVES);
    return GS_OK;
}

static gs_status check_split(const gs_splitk_shape *s, const gs_problem *p, const gs_caps *caps, gs_error *error)
{
    const int64_t blocks = tiles_of(p->k, s->bk), tiles = s->tiles_m * s->tiles_n;
    if (s->shares > blocks) return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "%d shares of %lld k-blocks", s->shares, (long long)blocks);
    if (s->shares > 1 && tiles * s->shares > (int64_t)SPLIT_BLOCKS * caps->sms)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "%lld tiles are enough blocks", (long long)tiles);
    if (tiles * s->shares * 5 < caps->sms && s->blocks * s->bk >= DEEP_SHARE)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "split", "%lld blocks leave the device idle and K deep", (long long)tiles * s->shares);
    return GS_OK;
}

gs_status gs_check_splitk(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const gs_splitk_shape s = gs_splitk_shape_of(schedule, problem);
    GS_TRY(check_problem(&s, problem, caps, error));
    GS_TRY(check_tile(&s, problem, error));
    GS_TRY(check_cluster(&s, caps, error));
    GS_TRY(check_split(&s, problem, caps, error));
    GS_TRY(check_stages(&s, problem, caps, error));
    return check_smaller(&s, problem, error);
}

gs_resources gs_resources_splitk(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
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
