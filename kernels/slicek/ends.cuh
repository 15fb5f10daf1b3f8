/* SPDX-License-Identifier: MIT
 * Part of family slicek (slicek.cu): from sums to D. Lanes store their runs, or first exchange sums through shared memory. */
#ifndef GS_SLICEK_ENDS_CUH
#define GS_SLICEK_ENDS_CUH

/* COUNT neighbouring columns of a row. */
template <int COUNT> struct piece {
    unsigned words[COUNT * OUT_BYTES / 4];
};

template <int COUNT> __device__ __forceinline__ void copy_elements(void *to, const void *from)
{
    if constexpr (COUNT * OUT_BYTES == 16) *(uint4 *)to = *(const uint4 *)from;
    else if constexpr (COUNT * OUT_BYTES == 8) *(uint2 *)to = *(const uint2 *)from;
    else if constexpr (COUNT * OUT_BYTES == 4) *(unsigned *)to = *(const unsigned *)from;
    else *(unsigned short *)to = *(const unsigned short *)from;
}

/* Copies `left` elements (at most all) of a piece between registers and memory, VEC at a time. */
template <int COUNT, int VEC> __device__ __forceinline__ void copy_piece(void *to, const void *from, int left)
{
    constexpr int vec = VEC < COUNT ? VEC : COUNT;
#pragma unroll
    for (int i = 0; i < COUNT; i += vec) {
        unsigned char *const t = (unsigned char *)to + i * OUT_BYTES;
        const unsigned char *const f = (const unsigned char *)from + i * OUT_BYTES;
        if (i + vec <= left) {
            copy_elements<vec>(t, f);
        } else {
#pragma unroll
            for (int e = 0; e < vec; e++)
                if (i + e < left) copy_elements<1>(t + e * OUT_BYTES, f + e * OUT_BYTES);
        }
    }
}

/* Columns of a piece that are inside D; may be negative, or more than `count`. */
__device__ __forceinline__ int left_of(const gs_kernel_args &p, int row, int column, int count)
{
    if (EDGE_M && row >= gs_size_m(p)) return 0;
    return EDGE_N ? gs_size_n(p) - column : count;
}

/* Byte offset of an element of C or D; stride: elements between their matrices, used with GS_STRIDES. */
__device__ __forceinline__ long long offset_of(const gs_kernel_args &p, int row, int column, int ld, long long stride)
{
    long long rows = (long long)row * ld;
#if GS_STRIDES
    rows += blockIdx.z * stride;
#elif GS_BATCHED
    rows += (long long)blockIdx.z * gs_size_m(p) * ld;
#endif
    (void)stride;
    return (rows + column) * OUT_BYTES;
}

#if GS_STRIDES
#define STRIDE_C p.stride_c
#define STRIDE_D p.stride_d
#else
#define STRIDE_C 0
#define STRIDE_D 0
#endif

template <int COUNT> __device__ __forceinline__ void read_c(piece<COUNT> *c, const gs_kernel_args &p, int row, int column)
{
    copy_piece<COUNT, GS_VEC_C>(c->words, (const unsigned char *)p.c + offset_of(p, row, column, (int)gs_size_ldc(p), STRIDE_C), left_of(p, row, column, COUNT));
}

template <int COUNT> __device__ __forceinline__ float element(const piece<COUNT> &c, int e)
{
#if GS_OUT == 2
    return __uint_as_float(c.words[e]);
#else
    const unsigned short bits = (unsigned short)(c.words[e / 2] >> e % 2 * 16);
    return GS_OUT == 1 ? gs_bf16_to_f32(bits) : gs_f16_to_f32(bits);
#endif
}

/* COUNT neighbours of a row of D from their sums x. */
template <int COUNT> __device__ __forceinline__ piece<COUNT> result(const gs_kernel_args &p, int row, int column, float (&x)[COUNT], const piece<COUNT> &c)
{
    piece<COUNT> d;
#pragma unroll
    for (int e = 0; e < COUNT; e++) x[e] = gs_finished(p, gs_alpha(p) * x[e], GS_BETA ? element(c, e) : 0, row, column + e, gs_size_m(p), gs_size_n(p), GS_STRIDES ? blockIdx.z : 0);
#pragma unroll
    for (int i = 0; i < COUNT * OUT_BYTES / 4; i++) {
#if GS_OUT == 2
        d.words[i] = __float_as_uint(x[i]);
#elif GS_OUT == 1
        d.words[i] = gs_pack_bf16x2(x[2 * i], x[2 * i + 1]);
#else
        d.words[i] = gs_pack_f16x2(x[2 * i], x[2 * i + 1]);
#endif
    }
    return d;
}

template <int COUNT> __device__ __forceinline__ void finish(const gs_kernel_args &p, int row, int column, float (&x)[COUNT], const piece<COUNT> &c)
{
    const piece<COUNT> d = result(p, row, column, x, c);
    copy_piece<COUNT, GS_VEC_D>((unsigned char *)p.d + offset_of(p, row, column, (int)gs_size_ldd(p), STRIDE_D), d.words, left_of(p, row, column, COUNT));
}

/* Finishes and stores a lane's run, which begins at `column`. All lanes of the warp. */
__device__ __forceinline__ void finish_run(const gs_kernel_args &p, int row, int column, float (&x)[RUN], const piece<RUN> &c, unsigned lane)
{
#if RAGGED
    const int first = column - (int)(lane / ROW_STRIDE % ROW_LANES) * RUN;
    const piece<RUN> d = result(p, row, column, x, c);
    gs_store_run<OUT_BYTES, RUN, ROW_LANES, ROW_STRIDE>((unsigned char *)p.d + offset_of(p, row, first, (int)gs_size_ldd(p), STRIDE_D), d.words,
                                                        left_of(p, row, first, ROW_LANES * RUN), (int)lane);
#else
    finish(p, row, column, x, c);
#endif
}

/* ---- without an exchange: each lane stores its runs ---- */

__device__ __forceinline__ float sum_of(const sums &acc, int i, int j, int at)
{
    return CHAINS == 2 ? acc[0][i][j][at] + acc[CHAINS - 1][i][j][at] : acc[0][i][j][at];
}

#define RUN_ROWS ((SWAPPED ? QT : PT) * 2)           /* of a lane */
typedef piece<RUN> runs_of_c[RUN_ROWS][COLUMN_GROUPS];

/* First row and column of a lane's run: its i-th row, in a group of columns. */
__device__ __forceinline__ int run_row(int i, unsigned warp, unsigned lane) { return (int)(warp / GS_WN * WARP_M) + quad_row(i / 2, i / 2, lane) + i % 2 * QUAD_ROWS; }
__device__ __forceinline__ int run_column(int group, unsigned warp, unsigned lane)
{
    return (int)(warp % GS_WN * WARP_N) + quad_column(group * (RUN / 2), group * (RUN / 2), lane);
}

__device__ __forceinline__ void read_runs(runs_of_c &c, const gs_kernel_args &p, int m0, int n0, unsigned warp, unsigned lane)
{
#pragma unroll
    for (int i = 0; i < RUN_ROWS; i++)
#pragma unroll
        for (int group = 0; group < COLUMN_GROUPS; group++) read_c(&c[i][group], p, m0 + run_row(i, warp, lane), n0 + run_column(group, warp, lane));
}

__device__ __forceinline__ void store_runs(const gs_kernel_args &p, const sums &acc, runs_of_c &c, int m0, int n0, unsigned warp, unsigned lane)
{
#pragma unroll
    for (int i = 0; i < RUN_ROWS; i++)
#pragma unroll
        for (int group = 0; group < COLUMN_GROUPS; group++) {
            const int row = m0 + run_row(i, warp, lane), column = n0 + run_column(group, warp, lane);
            float x[RUN];
#pragma unroll
            for (int e = 0; e < RUN; e++) {
                const int tile = group * (RUN / 2) + e / 2, at = in_quad(i % 2, e % 2);
                x[e] = SWAPPED ? sum_of(acc, tile, i / 2, at) : sum_of(acc, i / 2, tile, at);
            }
            if (GS_BETA && !EARLY_C) read_c(&c[i][group], p, row, column);
            finish_run(p, row, column, x, c[i][group], lane);
        }
}

/* ---- with an exchange ---- */

__device__ __forceinline__ void get_shared(float (&x)[4], unsigned from)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]) : "r"(from) : "memory");
}

__device__ __forceinline__ void put_shared(unsigned to, const float (&x)[4])
{
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]) : "memory");
}

/* A lane's quad of tile (i, j) of its warp. */
__device__ __forceinline__ void own_quad(float (&x)[4], const sums &acc, int i, int j)
{
#pragma unroll
    for (int e = 0; e < 4; e++) x[e] = sum_of(acc, i, j, e);
}

/* Adds PARTS quads that are `distance` bytes apart, always in the same order. */
template <int PARTS> __device__ __forceinline__ void add_quads(float (&x)[4], unsigned from, int distance)
{
    float part[PARTS][4];
#pragma unroll
    for (int i = 0; i < PARTS; i++) get_shared(part[i], from + i * distance);
#pragma unroll
    for (int further = 1; further < PARTS; further *= 2)
#pragma unroll
        for (int i = 0; i + further < PARTS; i += 2 * further)
#pragma unroll
            for (int e = 0; e < 4; e++) part[i][e] += part[i + further][e];
#pragma unroll
    for (int e = 0; e < 4; e++) x[e] = part[0][e];
}

/* Tile i of a warp: those of the same rows are consecutive if they are finished as runs. */
#define TILE_P(i) (SWAPPED && SHARED_RUNS ? (i) % PT : (i) / QT)
#define TILE_Q(i) (SWAPPED && SHARED_RUNS ? (i) / PT : (i) % QT)

/* Where quad `number` lies in D. */
typedef struct place {
    int row, column;
} place;

__device__ __forceinline__ place place_of(unsigned number, int m0, int n0)
{
    const unsigned lane = number % 32, tile = number / 32 % (PT * QT), warp = number / 32 / (PT * QT);
    const int p = TILE_P(tile), q = TILE_Q(tile);
    return {m0 + (int)(warp / GS_WN * WARP_M) + quad_row(p, q, lane), n0 + (int)(warp % GS_WN * WARP_N) + quad_column(p, q, lane)};
}

typedef struct quad_of_c {
    piece<2> row[2];
} quad_of_c;

__device__ __forceinline__ void read_c(quad_of_c *c, const gs_kernel_args &p, place at)
{
#pragma unroll
    for (int r = 0; r < 2; r++) read_c(&c->row[r], p, at.row + r * QUAD_ROWS, at.column);
}

__device__ __forceinline__ void store_quad(const gs_kernel_args &p, place at, const float (&x)[4], const quad_of_c &c)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float y[2] = {x[in_quad(r, 0)], x[in_quad(r, 1)]};
        finish(p, at.row + r * QUAD_ROWS, at.column, y, c.row[r]);
    }
}

/* Whether there is an i-th unit of tiles for the warp. */
__device__ __forceinline__ bool is_unit(int i) { return UNITS % WARPS == 0 || i * WARPS + threadIdx.x / 32 < UNITS; }

#if SHARED_RUNS
/* A lane's elements of C in a unit of tiles: a run in each of two rows. */
typedef piece<RUN> unit_of_c[2];

__device__ __forceinline__ unsigned first_quad(int i) { return (i * WARPS + threadIdx.x / 32) * RUN_TILES * 32 + threadIdx.x % 32; }

__device__ __forceinline__ void read_unit(unit_of_c &c, const gs_kernel_args &p, place at)
{
#pragma unroll
    for (int r = 0; r < 2; r++) read_c(&c[r], p, at.row + r * QUAD_ROWS, at.column);
}

/* quads: shared address of the lane's first quad of the unit, in the first part. */
__device__ __forceinline__ void store_unit(const gs_kernel_args &p, place at, unsigned quads, unit_of_c &c)
{
    float x[2][RUN];
#pragma unroll
    for (int i = 0; i < RUN_TILES; i++) {
        float quad[4];
        add_quads<(GS_SPLIT > 1 ? GS_SPLIT : GS_WK)>(quad, quads + i * 512, GS_SPLIT > 1 ? SHARE * 16 : TILE_BYTES);
#pragma unroll
        for (int e = 0; e < 4; e++) x[e / 2][2 * i + e % 2] = quad[in_quad(e / 2, e % 2)];
    }
    if (GS_BETA && !EARLY_C) read_unit(c, p, at);
#pragma unroll
    for (int r = 0; r < 2; r++) finish_run(p, at.row + r * QUAD_ROWS, at.column, x[r], c[r], threadIdx.x % 32);
}
#endif

/* The i-th quad of this thread, if the block's threads share COUNT quads; and whether there is one. */
__device__ __forceinline__ unsigned shared_quad(int i) { return i * THREADS + threadIdx.x; }
template <int COUNT> __device__ __forceinline__ bool is_shared_quad(int i) { return COUNT % THREADS == 0 || shared_quad(i) < COUNT; }

/* Sends a quad to the block of the cluster that finishes it. received, barrier: this block's addresses; every block has the same. */
__device__ __forceinline__ void send_quad(const float (&x)[4], unsigned number, unsigned received, unsigned barrier, unsigned rank)
{
    const unsigned to = number / SHARE;
    gs_send(gs_cluster_address(received + (rank * SHARE + number % SHARE) * 16, to), x[0], x[1], x[2], x[3], gs_cluster_address(barrier, to));
}

/* Sends the block's sums, and waits for its share. */
__device__ __forceinline__ void exchange(const sums &acc, unsigned parts, unsigned received, unsigned barrier, unsigned warp, unsigned lane, unsigned rank)
{
    gs_cluster_wait();
    float x[4];
    if (GS_WK > 1) {
#pragma unroll 1
        for (int i = 0; i < ROUNDS_OF(QUADS); i++) {
            if (!is_shared_quad<QUADS>(i)) break;
            add_quads<GS_WK>(x, parts + shared_quad(i) * 16, TILE_BYTES);
            send_quad(x, shared_quad(i), received, barrier, rank);
        }
    } else {
#pragma unroll
        for (int i = 0; i < PT * QT; i++) {
            own_quad(x, acc, TILE_P(i), TILE_Q(i));
            send_quad(x, (warp * PT * QT + i) * 32 + lane, received, barrier, rank);
        }
    }
    if (SHARED_RUNS ? is_unit(0) : is_shared_quad<SHARE>(0)) gs_mbarrier_wait(barrier, 0);
}

#endif
