/* SPDX-License-Identifier: MIT
 * Family gemv: Ampere and later; clusters on Hopper. A few rows times a large matrix, at the speed of memory.
 *
 * The large matrix, called the weights, is B; the few rows, called the tokens, are the rows of A; each column of B gives a column of D. Layout
 * tn is symmetric: with GS_SWAP the weights are A and the tokens B, and D is written transposed.
 *
 * A block computes all tokens times GS_COLS columns. Its warps share K in steps of STEP, which are dealt out in turn to the warps, and to the
 * GS_SPLIT blocks of a cluster, so that neighbours read neighbouring memory. A warp loads its steps directly into fragments of mma.sync,
 * through a ring of GS_DEPTH steps: registers, or (GS_SHARED) the warp's own shared memory, filled by cp.async. The order of K within a step
 * is permuted in the same way for both operands, so that each lane's part of a fragment is 16 contiguous bytes:
 *
 *   g = lane / 4, t = lane % 4. In k16 step s, slots 2t, 2t + 1 (i = 0) and 2t + 8, 2t + 9 (i = 1) of mma's K stand for
 *   tn, STEP 64   k = 32 (s / 2) + 8 t + 4 (s % 2) + 2 i and the next: a register of lane t's 16 bytes of that row
 *   nn, STEP 32   k = 8 t + 4 s + 2 i and the next: a lane's 8 rows of B have 8 columns each; two rows' halves make a register
 *
 * Rows that start at any element (GS_RAW_W for the weights, GS_RAW_T for the tokens: the start or the length of rows is not a multiple of 16
 * bytes): lanes load the aligned units of 16 bytes that contain the row, and get the next unit from the lane that has it. Of the unit after
 * the step's last one at most 7 elements are needed; these ends are distributed over the lanes, one or two for each. Rows eight apart have
 * the same offset in their units, because eight rows are a multiple of 16 bytes.
 *
 * At the end partial sums are added up in shared memory, in the order of the warps, then of the cluster's blocks.
 *
 * Set by the builder (src/family/gemv.c): GS_IN GS_OUT (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn), GS_BETA (1: C is read), GS_SWAP,
 * GS_BATCH (0: a single matrix), GS_ROWS (8 or 16: the most tokens), GS_COLS, GS_WARPS, GS_DEPTH, GS_SHARED, GS_PREFETCH (bytes), GS_AHEAD, GS_SPLIT, GS_BLOCKS (resident blocks
 * that registers must allow), GS_RAW_W GS_RAW_T, and the sizes if they are fixed (common/sizes.cuh). There are at least GS_COLS columns. */
#include "common/along.h"
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/epilogue.cuh"
#include "common/cp_async.cuh"
#include "common/mma_sync.cuh"
#include "common/peers.cuh"
#include "common/sizes.cuh"
#include "common/stream.cuh"
#include "common/strides.cuh"
#include "common/units.cuh"

#define THREADS (32 * GS_WARPS)
#define STEP (GS_LAYOUT ? 64 : 32)                           /* k of a warp's step */
#define COLUMN_WARPS (GS_LAYOUT ? 1 : GS_COLS / 64)          /* nn: a warp has 64 columns */
#define WARP_COLS (GS_COLS / COLUMN_WARPS)
#define K_WARPS (GS_WARPS / COLUMN_WARPS)
#define PARTS (K_WARPS * GS_SPLIT)                           /* of K */
#define SETS (WARP_COLS / 8)                                 /* of eight columns */
#define GROUPS (GS_ROWS / 8)                                 /* of eight tokens */
#define TURNED (SETS == 1)                                   /* tokens are mma's 16 rows, columns its 8 columns; else the reverse */
#define TILES (TURNED ? 1 : SETS / 2 * GROUPS)               /* mma instructions of a warp in a k16 step */
#define SUMS (TILES * 4)                                     /* a lane's accumulators */
#define HALVES (STEP / 32)                                   /* 16-byte pieces of a row that a lane has in a step */
#define WEIGHTS (GS_LAYOUT ? SETS * HALVES : 8)              /* 16-byte loads of a lane in a step */
#define TOKENS (GROUPS * HALVES)
#define LINES (GS_SHARED && GS_LAYOUT)                       /* eight lanes copy 128 bytes of a row; else a lane copies what its fragments need */
#define TOKEN_ROWS (LINES ? TOKENS : GROUPS)                 /* rows of tokens that a lane loads from */
#define WEIGHT_ENDS (GS_RAW_W ? (GS_LAYOUT ? (SETS + 3) / 4 : 1) : 0)   /* units after the step's last ones that a lane loads */
#define STEP_BYTES ((WEIGHTS + TOKENS + WEIGHT_ENDS + GS_RAW_T) * 512)   /* of a warp */
#define RING_BYTES (GS_SHARED ? GS_DEPTH * STEP_BYTES : 0)
#define WARP_BYTES (RING_BYTES > SUMS * 128 ? RING_BYTES : SUMS * 128)   /* a warp's ring, later its partial sums */
#define ROWS (COLUMN_WARPS * SUMS)                           /* of 32 sums, of the block */
#define ROUNDS ((ROWS + GS_WARPS - 1) / GS_WARPS)

static_assert(GS_LAYOUT || GS_COLS % 64 == 0, "a warp of nn has 64 columns");
static_assert(GS_WARPS % COLUMN_WARPS == 0, "each group of columns has as many warps");
static_assert(GS_LAYOUT || GS_AHEAD == 0, "rows of nn are too short to be asked for one by one");

typedef unsigned short half_bits;

/* A lane's data of a step. */
typedef struct piece {
    unsigned w[WEIGHTS][4];   /* tn: [set * HALVES + half]; nn: [row] */
    unsigned t[TOKENS][4];    /* [group * HALVES + half] */
#if GS_RAW_W
    unsigned w_end[WEIGHT_ENDS][4];   /* tn: lane (g, t) has row g of set 4 i + t; nn: row 8 t + g */
#endif
#if GS_RAW_T
    unsigned t_end[4];                /* lane (g, t) has row g of group t */
#endif
} piece;

/* ---- fragments and products ---- */

/* Two neighbours along K of column `set` of this lane's eight (nn), or of column g of the set (tn). */
__device__ __forceinline__ unsigned weight_pair(const piece &x, int set, int s, int i)
{
#if GS_LAYOUT
    return x.w[set * HALVES + s / 2][s % 2 * 2 + i];
#else
    return __byte_perm(x.w[4 * s + 2 * i][set / 2], x.w[4 * s + 2 * i + 1][set / 2], set % 2 ? 0x7632 : 0x5410);
#endif
}

__device__ __forceinline__ unsigned token_pair(const piece &x, int group, int s, int i)
{
    return x.t[group * HALVES + s / 2][s % 2 * 2 + i];
}

__device__ __forceinline__ void product(float (&acc)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
#if GS_IN == 0
    gs_mma_f16_f32(acc, a, b);
#else
    gs_mma_bf16_f32(acc, a, b);
#endif
}

__device__ __forceinline__ void multiply(float (&acc)[TILES][4], const piece &x)
{
#pragma unroll
    for (int s = 0; s < STEP / 16; s++) {
#if TURNED
        const unsigned a[4] = {token_pair(x, 0, s, 0), GROUPS > 1 ? token_pair(x, GROUPS - 1, s, 0) : 0,
                               token_pair(x, 0, s, 1), GROUPS > 1 ? token_pair(x, GROUPS - 1, s, 1) : 0};
        const unsigned b[2] = {weight_pair(x, 0, s, 0), weight_pair(x, 0, s, 1)};
        product(acc[0], a, b);
#else
#pragma unroll
        for (int set = 0; set < SETS; set += 2) {
            const unsigned a[4] = {weight_pair(x, set, s, 0), weight_pair(x, set + 1, s, 0), weight_pair(x, set, s, 1), weight_pair(x, set + 1, s, 1)};
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                const unsigned b[2] = {token_pair(x, group, s, 0), token_pair(x, group, s, 1)};
                product(acc[set / 2 * GROUPS + group], a, b);
            }
        }
#endif
    }
}

/* ---- rows at any element ---- */

/* Bytes between the start of a unit and a row's first element in it. */
typedef struct shifts {
    unsigned w, line;       /* tn: of row g of each set; nn: of row 8 t, and what each row adds */
    unsigned t[GROUPS];
} shifts;

/* The unit after this lane's, in a row that four lanes share; lane t = 3 gets `wrap` of lane t = 0. */
__device__ __forceinline__ void next_in_row(unsigned (&next)[4], const unsigned (&own)[4], const unsigned (&wrap)[4], int lane)
{
#pragma unroll
    for (int i = 0; i < 4; i++) next[i] = __shfl_sync(0xffffffff, lane % 4 == 0 ? wrap[i] : own[i], lane / 4 * 4 + (lane + 1) % 4);
}

/* Shifts the halves of a row of a step into place. ends: in lane `holder` of the four, the unit after the step. */
__device__ __forceinline__ void shift_row(unsigned (*halves)[4], const unsigned (&ends)[4], int holder, unsigned before, int lane)
{
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
        unsigned next[4];
        next_in_row(next, halves[half], half + 1 < HALVES ? halves[half + 1] : halves[half], lane);
#pragma unroll
        for (int i = 0; half + 1 == HALVES && i < 4; i++) {
            const unsigned end = __shfl_sync(0xffffffff, ends[i], lane / 4 * 4 + holder);
            if (lane % 4 == 3) next[i] = end;
        }
        gs_unit_shift(halves[half], next, before);
    }
}

/* Shifts what was loaded in units, so that fragments can be taken from it. All lanes. */
__device__ __forceinline__ void put_together(piece &x, const shifts &by, int lane)
{
#if GS_RAW_T
#pragma unroll
    for (int group = 0; group < GROUPS; group++) shift_row(x.t + group * HALVES, x.t_end, group, by.t[group], lane);
#endif
#if GS_RAW_W && GS_LAYOUT
#pragma unroll
    for (int set = 0; set < SETS; set++) shift_row(x.w + set * HALVES, x.w_end[set / 4], set % 4, by.w, lane);
#elif GS_RAW_W
#pragma unroll
    for (int row = 0; row < 8; row++) {
        unsigned next[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            next[i] = __shfl_sync(0xffffffff, x.w[row][i], (lane + 4) % 32);
            const unsigned end = __shfl_sync(0xffffffff, x.w_end[0][i], row * 4 + lane % 4);
            if (lane / 4 == 7) next[i] = end;
        }
        gs_unit_shift(x.w[row], next, (by.w + row * by.line) & 15);
    }
#endif
}

/* The token, and the column of the warp's, to which accumulator i (tile * 4 + element) of a lane belongs. */
__device__ __forceinline__ int token_of(int i, int lane)
{
    return TURNED ? lane / 4 + i / 2 * 8 : i / 4 % GROUPS * 8 + lane % 4 * 2 + i % 2;
}

__device__ __forceinline__ int column_of(int i, int lane)
{
    if (TURNED) return lane % 4 * 2 + i % 2;
    const int set = i / (4 * GROUPS) * 2 + i / 2 % 2;
    return GS_LAYOUT ? set * 8 + lane / 4 : lane / 4 * 8 + set;
}

/* ---- loads ---- */

/* Where this lane's pieces of the next step are. */
typedef struct source {
    const unsigned char *w, *t[TOKEN_ROWS];
    long long            line;      /* bytes: tn from one set of columns to the next, with LINES half a set; nn from one row to the next */
    long long            next_w;    /* bytes to the warp's next step */
    unsigned long long   policy;
#if GS_RAW_W
    const unsigned char *w_end, *w_limit;   /* after the step, in the row whose end this lane loads; the end of the matrix */
    long long            end_line;          /* bytes from one of its ends to the next */
#endif
#if GS_RAW_T
    const unsigned char *t_end, *t_limit;
#endif

    __device__ __forceinline__ const unsigned char *weight(int i) const
    {
        return GS_LAYOUT && !LINES ? w + i / HALVES * line + i % HALVES * 64 : w + i * line;
    }

    __device__ __forceinline__ const unsigned char *token(int i) const { return LINES ? t[i] : t[i / HALVES] + i % HALVES * 64; }

    __device__ __forceinline__ void move(long long w_bytes, long long t_bytes)
    {
        w += w_bytes;
#pragma unroll
        for (int i = 0; i < TOKEN_ROWS; i++) t[i] += t_bytes;
#if GS_RAW_W
        w_end += w_bytes;
#endif
#if GS_RAW_T
        t_end += t_bytes;
#endif
    }

    __device__ __forceinline__ void advance(void) { move(next_w, PARTS * STEP * 2); }
} source;

/* Prefetches the first GS_AHEAD times as much of the weights as the rings of the cluster hold into L2: before the wait for the previous launch, and
 * more than the rings have in flight. corner: the block's columns at K = 0. The instruction takes a uniform address, so each warp prefetches some
 * of the rows; each block of a cluster prefetches its share of K. Only for tn: rows of nn are too short. */
__device__ __forceinline__ void prefetch(const half_bits *corner, long long ld, unsigned k, unsigned rank, int warp, int lane)
{
    const unsigned all = min(k, (unsigned)(GS_AHEAD * GS_DEPTH * PARTS * STEP)) / 8;
    const unsigned first = all * rank / GS_SPLIT * 8, end = all * (rank + 1) / GS_SPLIT * 8;
    if (lane != 0 || first == end) return;
#pragma unroll 1
    for (int row = warp; row < GS_COLS; row += GS_WARPS) {
#if GS_RAW_W
        const unsigned char *const element = (const unsigned char *)(corner + row * ld + first);
        const unsigned bytes = (gs_before_in_unit(element) + (end - first) * 2) & ~15u;   /* whole units that end at the row's end or before */
        gs_stream_prefetch(gs_unit_of(element), bytes);
#else
        gs_stream_prefetch(corner + row * ld + first, (end - first) * 2);
#endif
    }
}

/* First k of a lane's i-th 16 bytes of a row within the step. */
__device__ __forceinline__ int k_of(int i, int lane) { return LINES ? lane % 8 * 8 : i % HALVES * 32 + lane % 4 * 8; }

/* Bytes to load of a lane's i-th unit: those within K, of which `left` is left from the step's start. 16 in a whole step. */
__device__ __forceinline__ int token_bytes(const source &from, int i, int left, int lane)
{
    if (GS_RAW_T) return gs_unit_bytes(from.token(i), left - k_of(i, lane));
    return k_of(i, lane) < left ? 16 : 0;
}

__device__ __forceinline__ int weight_bytes(const source &from, int i, int left, int lane)
{
    if (GS_LAYOUT && GS_RAW_W) return gs_unit_bytes(from.weight(i), left - k_of(i, lane));
    if (!GS_LAYOUT && (GS_RAW_W || GS_RAW_T)) return lane % 4 * 8 + i < left ? 16 : 0;
    return k_of(i, lane) < left ? 16 : 0;
}

/* The same for the units after the step, of which only a part is needed. */
#if GS_RAW_T
__device__ __forceinline__ int token_end_bytes(const source &from, int left, int lane)
{
    return lane % 4 < GROUPS ? gs_unit_bytes(from.t_end, left - STEP) : 0;
}
#endif
#if GS_RAW_W
__device__ __forceinline__ int weight_end_bytes(const source &from, int i, int left, int lane)
{
    if (GS_LAYOUT) return 4 * i + lane % 4 < SETS ? gs_unit_bytes(from.w_end, left - STEP) : 0;
    return lane % 4 * 8 + lane / 4 < left ? (int)gs_before_in_unit(from.w_end) : 0;
}
#endif

__device__ __forceinline__ const unsigned char *token_unit(const unsigned char *element) { return GS_RAW_T ? gs_unit_of(element) : element; }
__device__ __forceinline__ const unsigned char *weight_unit(const unsigned char *element) { return GS_RAW_W ? gs_unit_of(element) : element; }

#if !GS_SHARED

/* Loads the units after a whole step. They may extend beyond the row, but not beyond the matrix. */
__device__ __forceinline__ void load_ends(piece &x, const source &from, int lane)
{
#if GS_RAW_T
    const int bytes = token_end_bytes(from, STEP, lane);
    if (bytes > 0) gs_unit_load(x.t_end, gs_unit_of(from.t_end), gs_unit_of(from.t_end) + 16 <= from.t_limit ? 16 : bytes);
#endif
#if GS_RAW_W
#pragma unroll
    for (int i = 0; i < WEIGHT_ENDS; i++) {
        const unsigned char *const unit = gs_unit_of(from.w_end + i * from.end_line);
        const int needed = weight_end_bytes(from, i, STEP, lane);
        if (needed == 0) continue;
        if (unit + 16 <= from.w_limit) gs_stream_load<GS_PREFETCH>(x.w_end[i], unit, from.policy);
        else gs_unit_load(x.w_end[i], unit, needed);
    }
#endif
}

/* Loads a whole step. Addresses in `from` are those of units, except nn's rows of weights. */
__device__ __forceinline__ void load(piece &x, const source &from, int lane)
{
#pragma unroll
    for (int i = 0; i < TOKENS; i++) gs_kept_load(x.t[i], from.token(i));
#pragma unroll
    for (int i = 0; i < WEIGHTS; i++)
        gs_stream_load<GS_PREFETCH>(x.w[i], GS_LAYOUT ? from.weight(i) : weight_unit(from.weight(i)), from.policy);
    load_ends(x, from, lane);
}

/* Loads the last, incomplete step of K, with zeros beyond. */
__device__ __forceinline__ void load_tail(piece &x, const source &from, int left, int lane)
{
#pragma unroll
    for (int i = 0; i < TOKENS; i++) {
#if GS_RAW_T
        gs_unit_load(x.t[i], token_unit(from.token(i)), token_bytes(from, i, left, lane));
#else
#pragma unroll
        for (int j = 0; j < 4; j++) x.t[i][j] = 0;
        if (token_bytes(from, i, left, lane)) gs_kept_load(x.t[i], from.token(i));
#endif
    }
#pragma unroll
    for (int i = 0; i < WEIGHTS; i++) {
#if GS_RAW_W && GS_LAYOUT
        gs_unit_load(x.w[i], weight_unit(from.weight(i)), weight_bytes(from, i, left, lane));
#else
#pragma unroll
        for (int j = 0; j < 4; j++) x.w[i][j] = 0;
        if (weight_bytes(from, i, left, lane)) gs_stream_load<GS_PREFETCH>(x.w[i], weight_unit(from.weight(i)), from.policy);
#endif
    }
#if GS_RAW_T
    gs_unit_load(x.t_end, gs_unit_of(from.t_end), token_end_bytes(from, left, lane));
#endif
#if GS_RAW_W
#pragma unroll
    for (int i = 0; i < WEIGHT_ENDS; i++) gs_unit_load(x.w_end[i], gs_unit_of(from.w_end + i * from.end_line), weight_end_bytes(from, i, left, lane));
#endif
}

/* Multiplies all steps of this warp: first the incomplete one (`left` of K; 0: none), then `steps` whole ones. */
__device__ __forceinline__ void stream(float (&acc)[TILES][4], source from, const source &last, int steps, int left, const shifts &by, unsigned, int lane)
{
    piece ring[GS_DEPTH];
#if !GS_LAYOUT || GS_RAW_W || GS_RAW_T || SETS * GROUPS > 8
    asm volatile("" : "+r"(steps));   /* if it knew the number, ptxas would unroll the loop and load ahead until registers spill */
#endif
    if (left) {
        load_tail(ring[0], last, left, lane);
        steps++;
    } else {
        if (steps > 0) load(ring[0], from, lane);
        from.advance();
    }
#pragma unroll
    for (int i = 1; i < GS_DEPTH; i++) {
        if (i < steps) load(ring[i], from, lane);
        from.advance();
    }
    int step = 0;
#pragma unroll 1
    for (; step + 2 * GS_DEPTH <= steps; step += GS_DEPTH) {
#pragma unroll
        for (int i = 0; i < GS_DEPTH; i++) {
            put_together(ring[i], by, lane);
            multiply(acc, ring[i]);
            load(ring[i], from, lane);
            from.advance();
        }
    }
#if __CUDA_ARCH__ >= 900
    gs_dependent_launch();   /* the loads end here: earlier, the next launch's prefetches would compete with them */
#endif
#pragma unroll
    for (int i = 0; i < 2 * GS_DEPTH - 1; i++) {   /* what is left is less than twice the ring */
        if (step + i < steps) {
            put_together(ring[i % GS_DEPTH], by, lane);
            multiply(acc, ring[i % GS_DEPTH]);
        }
        if (i < GS_DEPTH - 1 && step + i + GS_DEPTH < steps) {
            load(ring[i], from, lane);
            from.advance();
        }
    }
}

#else

/* The layout of a step in the ring. nn: consecutive pieces of 16 bytes per lane; a lane copies what it reads. tn (LINES): rows of 128 bytes,
 * those of the weights, then those of the tokens; in odd rows the halves are exchanged, so that the eight lanes of g = 2 i, 2 i + 1, which
 * read together, access different banks. */
__device__ __forceinline__ unsigned copy_offset(int lane) { return LINES ? lane / 8 * 128 + (lane % 8 * 16 ^ lane / 8 % 2 * 64) : lane * 16; }
__device__ __forceinline__ unsigned read_offset(int lane) { return LINES ? lane / 4 * 128 + lane % 4 * 16 + lane / 4 % 2 * 64 : lane * 16; }

/* Bytes from copy_offset or read_offset to a lane's first unit after the step; a lane copies and reads the same ones. */
__device__ __forceinline__ unsigned end_offset(unsigned offset, int lane) { return (WEIGHTS + TOKENS) * 512 + lane * 16 - offset; }

__device__ __forceinline__ void copy(unsigned to, const source &from, int left, int lane)
{
#pragma unroll
    for (int i = 0; i < TOKENS; i++) gs_kept_copy(to + (WEIGHTS + i) * 512, token_unit(from.token(i)), token_bytes(from, i, left, lane));
#pragma unroll
    for (int i = 0; i < WEIGHTS; i++) gs_stream_copy<GS_PREFETCH>(to + i * 512, weight_unit(from.weight(i)), weight_bytes(from, i, left, lane), from.policy);
#if GS_RAW_T
    gs_kept_copy(to + end_offset(copy_offset(lane), lane), gs_unit_of(from.t_end), token_end_bytes(from, left, lane));
#endif
#if GS_RAW_W
#pragma unroll
    for (int i = 0; i < WEIGHT_ENDS; i++)
        gs_stream_copy<GS_PREFETCH>(to + end_offset(copy_offset(lane), lane) + (GS_RAW_T + i) * 512, gs_unit_of(from.w_end + i * from.end_line),
                                    weight_end_bytes(from, i, left, lane), from.policy);
#endif
}

/* Piece i of a lane: with LINES half i % 2 of set or group i / 2. */
__device__ __forceinline__ unsigned piece_address(unsigned at, int i) { return LINES ? (at ^ i % 2 * 64) + i / 2 * 1024 : at + i * 512; }

__device__ __forceinline__ void read(piece &x, unsigned at, int lane)
{
#pragma unroll
    for (int i = 0; i < TOKENS; i++) gs_read_shared(x.t[i], piece_address(at, WEIGHTS + i));
#pragma unroll
    for (int i = 0; i < WEIGHTS; i++) gs_read_shared(x.w[i], piece_address(at, i));
#if GS_RAW_T
    gs_read_shared(x.t_end, at + end_offset(read_offset(lane), lane));
#endif
#if GS_RAW_W
#pragma unroll
    for (int i = 0; i < WEIGHT_ENDS; i++) gs_read_shared(x.w_end[i], at + end_offset(read_offset(lane), lane) + (GS_RAW_T + i) * 512);
#endif
}

/* The same with the ring in shared memory at `base`. Each lane waits for its own copies; with LINES lanes then wait for each other, and again
 * before a place that they have read is refilled. */
__device__ __forceinline__ void stream(float (&acc)[TILES][4], source from, const source &last, int steps, int left, const shifts &by, unsigned base, int lane)
{
    const unsigned to = copy_offset(lane), at = read_offset(lane), end = base + GS_DEPTH * STEP_BYTES;
    unsigned place = base;
    if (left) {
        copy(place + to, last, left, lane);
        steps++;
    } else {
        if (steps > 0) copy(place + to, from, STEP, lane);
        from.advance();
    }
    gs_cp_async_commit();
#pragma unroll 1
    for (int i = 1; i < GS_DEPTH; i++) {
        place += STEP_BYTES;
        asm volatile("" : "+r"(place));   /* not base plus a count of the loop: see gs_stream_copy */
        if (i < steps) copy(place + to, from, STEP, lane);
        gs_cp_async_commit();
        from.advance();
    }
    place = base;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        piece x;
        gs_cp_async_wait<GS_DEPTH - 1>();
        if (LINES) __syncwarp();
        read(x, place + at, lane);
        if (LINES) __syncwarp();
#if __CUDA_ARCH__ >= 900
        if (step == max(steps - GS_DEPTH, 0)) gs_dependent_launch();   /* the copies end here */
#endif
        if (step + GS_DEPTH < steps) copy(place + to, from, STEP, lane);
        gs_cp_async_commit();   /* groups are counted, so there is one in every step */
        from.advance();
        place = place + STEP_BYTES == end ? base : place + STEP_BYTES;
        put_together(x, by, lane);
        multiply(acc, x);
    }
}

#endif

/* ---- sums ---- */

__device__ __forceinline__ float read_c(const void *c, long long index)
{
#if GS_OUT == 2
    return ((const float *)c)[index];
#elif GS_OUT == 1
    return gs_bf16_to_f32(((const half_bits *)c)[index]);
#else
    return gs_f16_to_f32(((const half_bits *)c)[index]);
#endif
}

/* Where D and C are written and read. */
typedef struct target {
    int       tokens;
    int       column;       /* the block's first in the matrix */
    int       owned;        /* columns before this one are another block's */
    long long index;        /* of the batch */
} target;

/* D = alpha * sum + beta * C for one element. C may be D: nobody else touches the element. */
__device__ __forceinline__ void put(const gs_kernel_args &p, const target &to, int token, int column, float sum)
{
    column += to.column;
    if (column < to.owned) return;
    const long long in_matrix = GS_SWAP ? column : token, row = to.index * gs_size_m(p) + in_matrix, col = GS_SWAP ? token : column;
#if GS_BETA
    const float own = read_c(p.c, (GS_STRIDES || GS_POINTERS ? gs_row_of_c(p, to.index, in_matrix) : row * gs_size_ldc(p)) + col);
#else
    const float own = 0;
#endif
    const float x = gs_finished(p, gs_alpha(p) * sum, own, in_matrix, col, gs_size_m(p), gs_size_n(p), to.index);
    const long long at = (GS_STRIDES || GS_POINTERS ? gs_row_of_d(p, to.index, in_matrix) : row * gs_size_ldd(p)) + col;
#if GS_OUT == 2
    ((float *)p.d)[at] = x;
#elif GS_OUT == 1
    ((half_bits *)p.d)[at] = gs_f32_to_bf16(x);
#else
    ((half_bits *)p.d)[at] = gs_f32_to_f16(x);
#endif
}

/* Adds up the warps' partial sums in shared memory and, with a cluster, those of its blocks in the leader's, and stores D. Sums are indexed
 * [group of columns][accumulator][lane]; each warp adds up some rows of 32 lanes. */
__device__ __forceinline__ void finish(const gs_kernel_args &p, const float (&acc)[TILES][4], const target &to, unsigned char *shared, unsigned rank,
                                       int warp, int lane)
{
    if (PARTS == 1) {
#pragma unroll
        for (int i = 0; i < SUMS; i++)
            if (token_of(i, lane) < to.tokens) put(p, to, token_of(i, lane), warp * WARP_COLS + column_of(i, lane), acc[i / 4][i % 4]);
        return;
    }
    float *const own = (float *)(shared + warp * WARP_BYTES) + lane;
    if (GS_SHARED) __syncwarp();   /* all lanes have read the ring, which is overwritten */
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        if (token_of(i, lane) < to.tokens) own[i * 32] = acc[i / 4][i % 4];
    __syncthreads();

    float *const exchange = (float *)(shared + GS_WARPS * WARP_BYTES) + lane;
    if (GS_SPLIT > 1) gs_peers_wait();   /* the leader has started */
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        const int row = warp + round * GS_WARPS, i = row % SUMS, group = row / SUMS;
        if (row >= ROWS || token_of(i, lane) >= to.tokens) continue;
        const unsigned char *const first = shared + group * WARP_BYTES + (i * 32 + lane) * 4;
        float sum = *(const float *)first;
#pragma unroll
        for (int part = 1; part < K_WARPS; part++) sum += *(const float *)(first + part * COLUMN_WARPS * WARP_BYTES);
        if (GS_SPLIT == 1) put(p, to, token_of(i, lane), group * WARP_COLS + column_of(i, lane), sum);
        else gs_peer_store_f32(gs_shared_address(exchange + (rank * ROWS + row) * 32), 0, sum);
    }
    if (GS_SPLIT == 1) return;
    gs_peers_arrive();
    if (rank != 0) return;
    gs_peers_wait();
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        const int row = warp + round * GS_WARPS, i = row % SUMS, group = row / SUMS;
        if (row >= ROWS || token_of(i, lane) >= to.tokens) continue;
        float sum = exchange[row * 32];
#pragma unroll
        for (int part = 1; part < GS_SPLIT; part++) sum += exchange[(part * ROWS + row) * 32];
        put(p, to, token_of(i, lane), group * WARP_COLS + column_of(i, lane), sum);
    }
}

/* ---- the kernel ---- */

extern "C" __global__ void __launch_bounds__(THREADS, GS_BLOCKS) gs_gemv(const gs_kernel_args given)
{
    extern __shared__ __align__(128) unsigned char shared[];
    const int m = gs_size_m(given), n = gs_size_n(given), k = gs_size_k(given);
    const long long index = GS_BATCH ? blockIdx.y + (long long)blockIdx.z * gridDim.y : 0;   /* in the batch */
    if (GS_BATCH && index >= given.batch) return;
#if GS_POINTERS
    gs_dependent_wait();
    const gs_kernel_args p = gs_args_of_matrix(given, index);
#else
    const gs_kernel_args &p = given;
#endif
    if (GS_SPLIT > 1) gs_peers_started();   /* waited for before the first store into the leader */

    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const unsigned rank = GS_SPLIT > 1 ? gs_cluster_rank() : 0;
    const unsigned part = rank * K_WARPS + threadIdx.x / (32 * COLUMN_WARPS);   /* which steps of K this warp has */
    const int columns = GS_SWAP ? m : n;                          /* of the weights */

    target to;
    to.tokens = GS_SWAP ? n : m;
    to.owned = (int)(blockIdx.x / GS_SPLIT) * GS_COLS;
    to.column = min(to.owned, columns - GS_COLS);                 /* the last block moves back so that its columns exist, and does not store those of others */
    to.index = index;

    const half_bits *const a = (const half_bits *)p.a + (GS_STRIDES || GS_POINTERS ? gs_begin_a(p, index) : index * m * gs_size_lda(p));
    const half_bits *const b = (const half_bits *)p.b + (GS_STRIDES || GS_POINTERS ? gs_begin_b(p, index) : index * (GS_LAYOUT ? n : k) * gs_size_ldb(p));
    const long long ldw = GS_SWAP ? gs_size_lda(p) : gs_size_ldb(p), ldt = GS_SWAP ? gs_size_ldb(p) : gs_size_lda(p);
    const half_bits *const weights = GS_SWAP ? a : b, *const tokens = GS_SWAP ? b : a;

    source zero;                                                  /* at K = 0 */
    zero.line = GS_LAYOUT ? ldw * (LINES ? 8 : 16) : ldw * 2;
    zero.next_w = GS_LAYOUT ? PARTS * STEP * 2 : PARTS * STEP * 2 * ldw;
    zero.policy = gs_stream_policy();
    const int row = LINES ? lane / 8 : lane / 4, eight = LINES ? lane % 8 : lane % 4;
    zero.w = (const unsigned char *)(weights + (GS_LAYOUT ? (to.column + row) * ldw + eight * 8
                                                          : eight * 8 * ldw + to.column + warp % COLUMN_WARPS * WARP_COLS + row * 8));
#pragma unroll
    for (int i = 0; i < TOKEN_ROWS; i++)   /* rows beyond the last token repeat it and are not stored */
        zero.t[i] = (const unsigned char *)(tokens + min(row + (LINES ? 4 : 8) * i, to.tokens - 1) * ldt + eight * 8);

    shifts by = {};
    const int g = lane / 4, t = lane % 4;
#if GS_RAW_W
    const half_bits *const first = weights + (GS_LAYOUT ? to.column + g : t * 8LL) * ldw + (GS_LAYOUT ? 0 : to.column + warp % COLUMN_WARPS * WARP_COLS);
    by.w = gs_before_in_unit((const unsigned char *)first);
    by.line = (unsigned)ldw * 2 & 15;
    zero.w_end = (const unsigned char *)(first + (GS_LAYOUT ? t * 8 * ldw + STEP : g * ldw + WARP_COLS));
    zero.end_line = ldw * 64;
    zero.w_limit = (const unsigned char *)(weights + (GS_LAYOUT ? (columns - 1) * ldw + k : (k - 1) * ldw + n));
#endif
#if GS_RAW_T
#pragma unroll
    for (int i = 0; i < GROUPS; i++) by.t[i] = gs_before_in_unit((const unsigned char *)(tokens + min(g + 8 * i, to.tokens - 1) * ldt));
    zero.t_end = (const unsigned char *)(tokens + min(g + 8 * t, to.tokens - 1) * ldt + STEP);
    zero.t_limit = (const unsigned char *)(tokens + (to.tokens - 1) * ldt + k);
#endif

    const unsigned whole = (unsigned)k / STEP;
    const int steps = (int)(whole / PARTS + (part < whole % PARTS));
    const int left = whole % PARTS == part ? (int)((unsigned)k % STEP) : 0;
    source from = zero, last = zero;
    from.move((long long)part * STEP * 2 * (GS_LAYOUT ? 1 : ldw), part * STEP * 2);
    last.move((long long)whole * STEP * 2 * (GS_LAYOUT ? 1 : ldw), (long long)whole * STEP * 2);

#if !GS_SHARED   /* tn's weights and the tokens have the same offset in units in all steps: unit addresses from here on */
    if (GS_LAYOUT) from.w = weight_unit(from.w);
#pragma unroll
    for (int i = 0; i < TOKEN_ROWS; i++) from.t[i] = token_unit(from.t[i]);
#endif

    float acc[TILES][4];
#pragma unroll
    for (int i = 0; i < SUMS; i++) acc[i / 4][i % 4] = 0;

    /* never true, not even with the null pointers of K = 0, but ptxas then computes the addresses before the wait */
    if ((unsigned long long)from.w == 1 || (unsigned long long)from.t[0] == 1) return;
#if __CUDA_ARCH__ >= 900
    if (GS_AHEAD) prefetch(weights + to.column * ldw, ldw, (unsigned)k, rank, warp, lane);
    gs_dependent_wait();
#endif
    stream(acc, from, last, steps, left, by, gs_shared_address(shared) + warp * WARP_BYTES, lane);
    finish(p, acc, to, shared, rank, warp, lane);
}
