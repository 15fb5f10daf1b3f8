/* SPDX-License-Identifier: MIT
 * Part of family splitk (splitk.cu): the consumers finish their slice of the sums, and store it to D. */
#ifndef GS_SPLITK_STORES_CUH
#define GS_SPLITK_STORES_CUH

/* Where a block stores to, and where that ends. */
typedef struct target {
    int m, n;                  /* end of the rows and of the columns that it stores */
    long long ldd;
    void *d;
#if GS_BATCHED
    const void *c;             /* of this matrix */
    int index;                 /* of the batch */
#endif
} target;

static __device__ __forceinline__ bool inside_m(const target &to, int row) { return row < to.m; }
static __device__ __forceinline__ bool inside_n(const target &to, int col) { return !GUARD_N || col < to.n; }

static __device__ __forceinline__ int index_of(const target &to)
{
#if GS_BATCHED
    return to.index;
#else
    (void)to;
    return 0;
#endif
}

/* Where C of a matrix of the batch begins, in elements. */
static __device__ __forceinline__ long long begin_of_c(const gs_kernel_args &p, int index)
{
#if GS_STRIDES
    return index * p.stride_c;
#else
    return (long long)index * gs_size_m(p) * gs_size_ldc(p);
#endif
}

/* The operand that the epilogue reads, C or with GS_UNITS 2 aux: its first element in a matrix, and elements from row to row. */
static __device__ __forceinline__ const gs_raw *beside_of(const gs_kernel_args &p, int index)
{
#if GS_UNITS == 2
    return (const gs_raw *)p.aux + gs_place_in_aux(p, 0, 0, index);
#else
    return (const gs_raw *)p.c + begin_of_c(p, index);
#endif
}
static __device__ __forceinline__ long long pitch_beside(const gs_kernel_args &p)
{
#if GS_UNITS == 2
    return p.ldaux;
#else
    return gs_size_ldc(p);
#endif
}

/* An element of C; 0 outside D, or if C is not read. */
static __device__ __forceinline__ float own_c(const gs_kernel_args &p, const target &to, int row, int col)
{
    float own = 0;
#if GS_BETA
#if GS_BATCHED
    const void *const c = to.c;
#else
    const void *const c = p.c;
#endif
    if (row < to.m && col < to.n) {
        const long long at = row * gs_size_ldc(p) + col;
        own = gs_raw_to_f32(((const gs_raw *)c)[at]);
    }
#endif
    (void)p, (void)to, (void)row, (void)col;
    return own;
}

/* What the epilogue of a block's slice needs besides the sums, loaded before these are complete. */
typedef struct early {
#if EARLY_BIAS && BIAS_ALONG_Y
    gs_bias_word run[RUNS];
#elif EARLY_BIAS
    gs_raw of[ROW_BLOCKS][2];   /* of this thread's two elements along X */
#endif
#if GS_UNITS
    uint4 units[(FIRST_COUNT + 1) / 2];   /* of C, or of aux: of the groups that are stored first */
#endif
} early;

/* Groups of a slice that are stored together: their 64-row block, and the first of them. */
typedef struct part {
    const early *asked;
    int block, group;
} part;

#if GS_GATE
/* With a gate the values are finished earlier, where the two sums of an element are combined. */
static __device__ __forceinline__ float2 output(float first, float second, const gs_kernel_args &, const target &, int, int, const part &, int, int, unsigned) { return make_float2(first, second); }
#else
/* Applies the epilogue to two sums that are neighbours along Y. x, y: of the first one in the product; g: its group in the part; h: half along X; c: their elements of C or aux,
 * if that is read by units. */
static __device__ __forceinline__ float2 output(float first, float second, const gs_kernel_args &p, const target &to, int x, int y, const part &in, int g, int h, unsigned c)
{
    const int row = GS_ORDER ? y : x, col = GS_ORDER ? x : y;
    float2 bias = make_float2(0, 0);
#if EARLY_BIAS && BIAS_ALONG_Y
    const int at = (in.group + g) * 8;
    bias = gs_bias_in_run(in.asked->run[at / GS_BIAS_RUN], at % GS_BIAS_RUN + threadIdx.x % 4 * 2);
#elif EARLY_BIAS
    bias.x = bias.y = gs_raw_to_f32(in.asked->of[in.block][h]);
#endif
#if GS_UNITS
    const float2 own = gs_halves_of(c);
#else
    const float2 own = make_float2(own_c(p, to, row, col), own_c(p, to, row + GS_ORDER, col + 1 - GS_ORDER));
#endif
    (void)in, (void)g, (void)h, (void)c;
    return make_float2(gs_finished_with(p, gs_scaled(p, gs_alpha(p) * first, row, col, to.m, to.n, index_of(to)), bias.x, own.x, row, col, to.m, to.n, index_of(to)),
                       gs_finished_with(p, gs_scaled(p, gs_alpha(p) * second, row + GS_ORDER, col + 1 - GS_ORDER, to.m, to.n, index_of(to)), bias.y, own.y, row + GS_ORDER, col + 1 - GS_ORDER, to.m, to.n, index_of(to)));
}
#endif

#if GS_OUT == 2

/* Stores COUNT groups of a warp's 16 rows of X: runs of 32 bytes, directly from the accumulators. */
template <int COUNT>
static __device__ __forceinline__ void store_chunk(const float (&sum)[4 * COUNT], unsigned buffer, const gs_kernel_args &p, const target &to, int x, int y, const part &in)
{
    const int lane = threadIdx.x % 32;
    (void)buffer;
#pragma unroll
    for (int i = 0; i < 2 * COUNT; i++) {
        const int own_x = x + lane / 4 + i % 2 * 8, own_y = y + i / 2 * 8 + lane % 4 * 2;
        const float2 pair = output(sum[2 * i], sum[2 * i + 1], p, to, own_x, own_y, in, i / 2, i % 2, 0);
        const float v0 = pair.x, v1 = pair.y;
        float *const d = (float *)to.d + (GS_ORDER ? own_y : own_x) * to.ldd + (GS_ORDER ? own_x : own_y);
        if (GS_ORDER) {
            if (inside_m(to, own_y) && inside_n(to, own_x)) d[0] = v0;
            if (inside_m(to, own_y + 1) && inside_n(to, own_x)) d[to.ldd] = v1;
        } else if (inside_m(to, own_x)) {
            if (GS_VECTOR) {
                if (inside_n(to, own_y)) *(float2 *)d = make_float2(v0, v1);
            } else {
                if (inside_n(to, own_y)) d[0] = v0;
                if (inside_n(to, own_y + 1)) d[1] = v1;
            }
        }
    }
}

#else

static __device__ __forceinline__ unsigned pack(float lo, float hi) { return GS_OUT == 1 ? gs_pack_bf16x2(lo, hi) : gs_pack_f16x2(lo, hi); }

/* Address of a 16-byte piece of a row of PIECES pieces in a warp's buffer: pieces are swizzled, so that 8 rows of a matrix are in different banks. */
template <int PIECES>
static __device__ __forceinline__ unsigned piece_at(unsigned buffer, int row, int piece)
{
    const int swap = PIECES == 8 ? row : PIECES == 4 ? row / 2 : PIECES == 2 ? row / 4 : 0;
    return buffer + row * PIECES * 16 + (piece ^ (swap & (PIECES - 1))) * 16;
}

#if GS_UNITS
/* Row and 16-byte piece of the i-th piece in this lane's share of COUNT groups. */
template <int COUNT>
static __device__ __forceinline__ int2 share_at(int i)
{
    constexpr int PIECES = GS_ORDER ? 2 : COUNT, STRIDE = 32 / PIECES;
    const int lane = threadIdx.x % 32;
    return make_int2(lane / PIECES + i * STRIDE, lane % PIECES);
}

/* Loads this lane's share of C or aux for COUNT groups, whose first element is at (row, col) of a matrix of rows x columns. */
template <int COUNT>
static __device__ __forceinline__ void load_units(uint4 *c, const gs_kernel_args &p, int index, int row, int col, int rows, int columns)
{
    const gs_raw *const from = beside_of(p, index);
#pragma unroll
    for (int i = 0; i < (COUNT + 1) / 2; i++) {
        const int2 at = share_at<COUNT>(i);
        const int own_row = row + at.x, own_col = col + at.y * 8;
        c[i] = make_uint4(0, 0, 0, 0);
        if ((COUNT > 1 || threadIdx.x % 32 < 16) && own_row < rows && own_col < columns) c[i] = *(const uint4 *)(from + own_row * pitch_beside(p) + own_col);
    }
}

/* Writes this lane's share to the warp's buffer. */
template <int COUNT>
static __device__ __forceinline__ void put_units(unsigned buffer, const uint4 *c)
{
#pragma unroll
    for (int i = 0; i < (COUNT + 1) / 2; i++) {
        const int2 at = share_at<COUNT>(i);
        const unsigned v[4] = {c[i].x, c[i].y, c[i].z, c[i].w};
        if (COUNT > 1 || threadIdx.x % 32 < 16) gs_store_shared_u32x4(piece_at<GS_ORDER ? 2 : COUNT>(buffer, at.x, at.y), v);
    }
    __syncwarp();
}

/* Reads from the buffer the words of groups g and g + 1, or of the only one: first half along X and second of each. ldmatrix synchronises the warp,
 * so D may overwrite the buffer next. */
template <int COUNT, int PIECES>
static __device__ __forceinline__ void take_units(unsigned (&c)[4], unsigned buffer, int g)
{
    const int lane = threadIdx.x % 32, group = g + (COUNT > 1 ? lane / 16 : 0);
    const unsigned from = GS_ORDER ? piece_at<PIECES>(buffer, group * 8 + lane % 8, lane / 8 % 2) : piece_at<PIECES>(buffer, lane % 16, group);
    if constexpr (COUNT == 1) {
        unsigned two[2];
        GS_ORDER ? gs_ldmatrix_x2_trans(two, from) : gs_ldmatrix_x2(two, from);
        c[0] = two[0], c[1] = two[1];
    } else {
        GS_ORDER ? gs_ldmatrix_x4_trans(c, from) : gs_ldmatrix_x4(c, from);
    }
}
#endif

/* Stores COUNT groups from a warp's buffer to D, from (row, col) on: as whole pieces, all of them read before the first is stored, or by
 * gs_store_rows if rows of D start at any element. */
template <int COUNT, int PIECES>
static __device__ __forceinline__ void drain(unsigned buffer, const target &to, int row, int col)
{
    const int lane = threadIdx.x % 32;
#if GS_VECTOR
    constexpr int STEPS = COUNT > 1 ? COUNT / 2 : 1, STRIDE = 32 / PIECES;   /* rows from a step to the next */
    uint4 value[STEPS];
    row += lane / PIECES, col += lane % PIECES * 8;
    unsigned short *const d = (unsigned short *)to.d + row * to.ldd + col;
    if (COUNT == 1 && lane >= 16) return;
#pragma unroll
    for (int i = 0; i < STEPS; i++) value[i] = gs_load_shared_u32x4(piece_at<PIECES>(buffer, lane / PIECES + i * STRIDE, lane % PIECES));
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        if (inside_m(to, row + i * STRIDE) && inside_n(to, col)) *(uint4 *)(d + i * STRIDE * to.ldd) = value[i];
#else
    const unsigned char *const pieces = (const unsigned char *)__cvta_shared_to_generic(buffer);
    const auto piece = [pieces](int r, int i) { return pieces + piece_at<PIECES>(0, r, i); };
    gs_store_rows<16 * COUNT / PIECES, PIECES, 2, 1, 1>((unsigned char *)to.d + (row * to.ldd + col) * 2, to.ldd * 2, to.m - row, to.n - col, lane, piece);
#endif
}

/* Stores COUNT groups of a warp's 16 rows of X through its buffer, which has rows as D: of 16 bytes times COUNT (ab), or 32 bytes (ba, transposed). */
template <int COUNT>
static __device__ __forceinline__ void store_chunk(const float (&sum)[4 * COUNT], unsigned buffer, const gs_kernel_args &p, const target &to, int x, int y, const part &in)
{
    constexpr int PIECES = GS_ORDER ? 2 : COUNT;
    const int lane = threadIdx.x % 32;
    unsigned words[2 * COUNT], c[4] = {0};
#pragma unroll
    for (int i = 0; i < 2 * COUNT; i++) {
#if GS_UNITS
        if (i % 4 == 0) take_units<COUNT, PIECES>(c, buffer, i / 2);
#endif
        const int own_x = x + lane / 4 + i % 2 * 8, own_y = y + i / 2 * 8 + lane % 4 * 2;
        const float2 pair = output(sum[2 * i], sum[2 * i + 1], p, to, own_x, own_y, in, i / 2, i % 2, c[i % 4]);
        words[i] = pack(pair.x, pair.y);
    }
#pragma unroll
    for (int g = 0; g < COUNT; g += 2) {
        const int group = g + (COUNT > 1 ? lane / 16 : 0);
        const unsigned row = GS_ORDER ? piece_at<PIECES>(buffer, group * 8 + lane % 8, lane / 8 % 2) : piece_at<PIECES>(buffer, lane % 16, group);
        if constexpr (COUNT == 1)
            GS_ORDER ? gs_stmatrix_x2_trans(row, words[0], words[1]) : gs_stmatrix_x2(row, words[0], words[1]);
        else if constexpr (GS_ORDER)
            gs_stmatrix_x4_trans(row, words[2 * g], words[2 * g + 1], words[2 * g + 2], words[2 * g + 3]);
        else
            gs_stmatrix_x4(row, words[2 * g], words[2 * g + 1], words[2 * g + 2], words[2 * g + 3]);
    }
    __syncwarp();
    drain<COUNT, PIECES>(buffer, to, GS_ORDER ? y : x, GS_ORDER ? x : y);
    __syncwarp();
}

#endif

#if GS_GATE
/* The element of D from the sums of gate and up. */
static __device__ __forceinline__ float gated(float gate, float up, const gs_kernel_args &p, const target &to, int row, int col)
{
    return gs_gated(p, gs_alpha(p) * gate, gs_alpha(p) * up, own_c(p, to, row, col), row, col, to.m, gs_size_n(p), index_of(to));
}

#if GS_ORDER
/* Stores COUNT groups of a warp's 16 rows of X, 8 of the gate and 8 of up: 8 columns of D in 8 * COUNT rows. x, y: in the product. */
template <int COUNT>
static __device__ __forceinline__ void store_gated(const float (&sum)[4 * COUNT], unsigned buffer, const gs_kernel_args &p, const target &to, int x, int y)
{
    const int lane = threadIdx.x % 32, col = x / 2 + lane / 4;
#if GS_OUT == 2
    (void)buffer;
#pragma unroll
    for (int i = 0; i < 2 * COUNT; i++) {
        const int row = y + i / 2 * 8 + lane % 4 * 2 + i % 2;
        const float value = gated(sum[i / 2 * 4 + i % 2], sum[i / 2 * 4 + 2 + i % 2], p, to, row, col);
        if (inside_m(to, row) && inside_n(to, col)) ((float *)to.d)[row * to.ldd + col] = value;
    }
#else
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const int row = y + i * 8 + lane % 4 * 2;
        const unsigned part = pack(gated(sum[4 * i], sum[4 * i + 2], p, to, row, col), gated(sum[4 * i + 1], sum[4 * i + 3], p, to, row + 1, col));
        gs_stmatrix_x1_trans(buffer + i * 128 + lane % 8 * 16, part);
    }
    __syncwarp();
#if GS_VECTOR
#pragma unroll
    for (int i = 0; i < 8 * COUNT; i += 32)
        if (i + lane < 8 * COUNT && inside_m(to, y + i + lane) && inside_n(to, x / 2))
            *(uint4 *)((unsigned short *)to.d + (y + i + lane) * to.ldd + x / 2) = gs_load_shared_u32x4(buffer + (i + lane) * 16);
#else
    const unsigned char *const pieces = (const unsigned char *)__cvta_shared_to_generic(buffer);
    const auto piece = [pieces](int r, int) { return pieces + r * 16; };
    gs_store_rows<8 * COUNT, 1, 2, 1, 1>((unsigned char *)to.d + (y * to.ldd + x / 2) * 2, to.ldd * 2, to.m - y, to.n - x / 2, lane, piece);
#endif
    __syncwarp();
#endif
}
#else
/* Stores COUNT groups, alternately of the gate and of up: half as many groups of D, of all 16 rows. */
template <int COUNT>
static __device__ __forceinline__ void store_gated(const float (&sum)[4 * COUNT], unsigned buffer, const gs_kernel_args &p, const target &to, int x, int y)
{
    float value[2 * COUNT];
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2 * COUNT; i++) {
        const int row = x + lane / 4 + i % 4 / 2 * 8, col = y / 2 + i / 4 * 8 + lane % 4 * 2 + i % 2;
        value[i] = gated(sum[i / 4 * 8 + i % 4], sum[i / 4 * 8 + 4 + i % 4], p, to, row, col);
    }
    store_chunk<COUNT / 2>(value, buffer, p, to, x, y / 2, part{});
}
#endif
#endif

/* Stores group FIRST and those after it of a warp's 16 rows of a 64-row block. c: this lane's share of C or aux for the first ones. */
template <int FIRST>
static __device__ __forceinline__ void store_groups(const float (&own)[4 * SLICE], const float4 *parts, unsigned mine, int block, unsigned buffer,
                                                    const gs_kernel_args &p, const target &to, int x, int y, const early &asked, const uint4 *c)
{
    constexpr int LEFT = SLICE - FIRST, COUNT = LEFT >= 8 ? 8 : LEFT >= 4 ? 4 : LEFT >= 2 ? 2 : 1;
    float sum[4 * COUNT];
    uint4 next[4];
#if GS_UNITS
    constexpr int THEN = LEFT - COUNT, MORE = THEN >= 8 ? 8 : THEN >= 4 ? 4 : THEN >= 2 ? 2 : 1;
    put_units<COUNT>(buffer, c);
    if (THEN > 0) load_units<MORE>(next, p, index_of(to), GS_ORDER ? y + (FIRST + COUNT) * 8 : x, GS_ORDER ? x : y + (FIRST + COUNT) * 8, to.m, to.n);
#endif
    gather<FIRST, COUNT>(sum, own, parts, mine, block);
#if GS_GATE
    store_gated<COUNT>(sum, buffer, p, to, x, y + FIRST * 8);
    (void)asked;
#else
    store_chunk<COUNT>(sum, buffer, p, to, x, y + FIRST * 8, part{&asked, block, FIRST});
#endif
    (void)c;
    if constexpr (FIRST + COUNT < SLICE) store_groups<FIRST + COUNT>(own, parts, mine, block, buffer, p, to, x, y, asked, next);
}

/* Where this warp's share of the block's slice begins in the product. */
static __device__ __forceinline__ int first_x(const place &at, int consumer) { return (GS_ORDER ? at.n : at.m) + consumer * ROW_BLOCKS * 64 + threadIdx.x / 32 % 4 * 16; }
static __device__ __forceinline__ int first_y(const place &at) { return (GS_ORDER ? at.m : at.n) + at.rank_k * SLICE * 8; }

/* Before the sums are complete: loads the bias and the first part of C or aux, and prefetches the rest of it into L2. After gs_dependent_wait. */
static __device__ __forceinline__ void ask_early(early *asked, const gs_kernel_args &p, const place &at, int consumer)
{
    const int x = first_x(at, consumer), y = first_y(at);
#if EARLY_BIAS && BIAS_ALONG_Y
#pragma unroll
    for (int i = 0; i < RUNS; i++) asked->run[i] = gs_bias_run(p, y + i * GS_BIAS_RUN, false, index_of(at));
#elif EARLY_BIAS
#pragma unroll
    for (int i = 0; i < 2 * ROW_BLOCKS; i++) asked->of[i / 2][i % 2] = gs_bias_at(p, x + i / 2 * 64 + i % 2 * 8 + threadIdx.x % 32 / 4, false, index_of(at));
#endif
#if GS_UNITS
    load_units<FIRST_COUNT>(asked->units, p, index_of(at), GS_ORDER ? y : x, GS_ORDER ? x : y, gs_size_m(p), gs_size_n(p));
#endif
#if (GS_BETA || GS_UNITS) && !(GS_UNITS && SLICE == FIRST_COUNT && ROW_BLOCKS == 1)   /* else there is no rest */
    constexpr int halves = GS_GATE ? 2 : 1, rows = GS_ORDER ? SLICE * 8 : 16, columns = (GS_ORDER ? 16 : SLICE * 8) / halves, sectors = (columns * OUT_BYTES + 31) / 32;
    const int row = GS_ORDER ? y : x, col = (GS_ORDER ? x : y) / halves;
#pragma unroll
    for (int block = 0; block < ROW_BLOCKS; block++) {
        const int from_row = row + (GS_ORDER ? 0 : block * 64), from_col = col + (GS_ORDER ? block * 64 / halves : 0);
#pragma unroll 1
        for (int i = threadIdx.x % 32; i < rows * sectors; i += 32) {
            const int r = from_row + i / sectors, c = from_col + i % sectors * (32 / OUT_BYTES);
            if (r < gs_size_m(p) && c < gs_size_n(p)) gs_prefetch_l2(beside_of(p, index_of(at)) + r * pitch_beside(p) + c);
        }
    }
#endif
    (void)asked, (void)p, (void)x, (void)y;
}

/* Stores the slice of this block to D; no rows of it if not `on`. parts: as returned by leave. */
static __device__ __forceinline__ void store_slice(const slice &sum, const float4 *parts, unsigned buffer, const gs_kernel_args &p, const place &at, int consumer,
                                                   bool on, const early &asked)
{
    const int x = first_x(at, consumer), y = first_y(at);
    target to = {on ? gs_size_m(p) : 0, gs_size_n(p), gs_size_ldd(p), p.d};
#if GS_BATCHED
#if GS_STRIDES
    const long long before_d = at.index * p.stride_d;
#else
    const long long before_d = (long long)at.index * gs_size_m(p) * gs_size_ldd(p);
#endif
    to.index = at.index;
    to.d = (unsigned char *)p.d + before_d * OUT_BYTES;
    to.c = (const unsigned char *)p.c + begin_of_c(p, at.index) * OUT_BYTES;
#endif
    if (RAGGED && GS_ORDER) to.m = min(to.m, at.m + GS_BM);
    if (RAGGED && !GS_ORDER) to.n = min(to.n, GS_GATE ? (at.n + GS_BN) / 2 : at.n + GS_BN);
#pragma unroll
    for (int block = 0; block < ROW_BLOCKS; block++) {
#if GS_UNITS
        uint4 c[4];
        if (block > 0) load_units<FIRST_COUNT>(c, p, index_of(to), GS_ORDER ? y : x + block * 64, GS_ORDER ? x + block * 64 : y, to.m, to.n);
        const uint4 *const own = block > 0 ? c : asked.units;
#else
        const uint4 *const own = 0;
#endif
        store_groups<0>(sum[block], parts, at.share / GS_CK, block, buffer, p, to, x + block * 64, y, asked, own);
    }
}

#endif
