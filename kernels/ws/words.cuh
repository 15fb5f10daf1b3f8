/* SPDX-License-Identifier: MIT
 * Part of family ws (ws.cu): from a thread's accumulators to words of D, or of aux, and sums of columns. */
#ifndef GS_WS_WORDS_CUH
#define GS_WS_WORDS_CUH

#if GS_BETA
static __device__ __forceinline__ float load_c(const gs_kernel_args *p, int index, int row, int col)
{
    if (row >= p->m || col >= p->n) return 0;
    const long long at = gs_row_of_c(*p, GS_GROUPED ? 0 : index, row) + col;
    return gs_raw_to_f32(((const gs_raw *)p->c)[at]);
}
#endif

/* Multiplies f32 sums by alpha, which is usually 1. f16 sums are multiplied when they are converted for D. */
static __device__ __forceinline__ void scale(accumulator (&acc)[BLOCKS][ACC_COUNT], float alpha)
{
#if GS_ACC == 2
    if (alpha == 1) return;
#pragma unroll
    for (int block = 0; block < BLOCKS; block++) {
#pragma unroll
        for (int i = 0; i < ACC_COUNT; i++) acc[block][i] *= alpha;
    }
#endif
}

#if GS_ACC == 0
static __device__ __forceinline__ float2 scaled_pair(unsigned pair, float alpha)
{
    return make_float2(alpha * gs_f16_to_f32((unsigned short)pair), alpha * gs_f16_to_f32((unsigned short)(pair >> 16)));
}
#endif

/* The sums of two neighbours along Y, in f32: in group g of 8 along Y, half h along X. */
static __device__ __forceinline__ float2 sum_pair(const accumulator *acc, int g, int h, const gs_kernel_args *p)
{
#if GS_ACC == 2
    return make_float2(acc[4 * g + 2 * h], acc[4 * g + 2 * h + 1]);
#else
    return scaled_pair(acc[2 * g + h], gs_alpha(*p));
#endif
}

template <int PART>
struct part {
    static constexpr int block = PART / CHUNKS, chunk = PART % CHUNKS;
    static constexpr int wide = chunk == CHUNKS - 1 && TAIL ? TAIL : CHUNK;   /* along Y */
    static constexpr int row = GS_SWAP_AB ? chunk * CHUNK : block * 64, col = GS_SWAP_AB ? block * 64 / HALF_X : chunk * CHUNK;   /* in the consumer's share */
    static constexpr int rows = GS_SWAP_AB ? wide : 16, span = (GS_SWAP_AB ? 16 / HALF_X : wide) * OUT_BYTES;   /* of the slab; bytes of a row in it */
};

/* What the epilogue of a part needs besides its sums, loaded before these are complete or while the previous part is stored. */
typedef struct beside {
#if GS_BIAS && BIAS_ALONG_Y
    gs_bias_word bias[2];   /* a run along Y; with a gate also that of up */
#elif GS_BIAS
    gs_raw bias[2];         /* of this thread's first element along X and of its second or, with a gate, of up */
#endif
} beside;

/* The end of the rows that a tile may store: of its group, or of D. */
static __device__ __forceinline__ int end_of_rows(const gs_kernel_args *p, place at)
{
#if GS_GROUPED
    (void)p;
    return at.end;
#else
    return p->m;
#endif
}

#if READ_UNITS
/* The start of a row of the operand that is read by units, C or aux. */
static __device__ __forceinline__ const gs_raw *row_of_units(const gs_kernel_args *p, int index, int row)
{
#if GS_UNITS == 2
    return (const gs_raw *)p->aux + gs_place_in_aux(*p, row, 0, index);
#else
    return (const gs_raw *)p->c + gs_row_of_c(*p, GS_GROUPED ? 0 : index, row);
#endif
}
#endif

/* at: the warp's share of the tile. */
template <int PART>
static __device__ __forceinline__ void load_beside(beside *of, const gs_kernel_args *p, place at)
{
    const int lane = threadIdx.x % 32, row = at.row + part<PART>::row, col = at.col + part<PART>::col;
#if GS_BIAS
    const int from = GS_BIAS == 1 ? col : row;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (BIAS_ALONG_Y && i > 0 && !GS_GATE) break;
#if BIAS_ALONG_Y
        of->bias[i] = gs_bias_run(*p, from, i, index_of(at));
#else
        of->bias[i] = gs_bias_at(*p, from + lane / 4 + (GS_GATE ? 0 : 8 * i), GS_GATE && i, index_of(at));
#endif
    }
#endif
    (void)of, (void)p, (void)lane, (void)row, (void)col;
}

#if READ_UNITS
/* Prefetches the warp's share of what is read by units into L2 from part PART on, while the tile is multiplied. */
template <int PART>
static __device__ __forceinline__ void prefetch_units(const gs_kernel_args *p, place at)
{
    constexpr int sectors = part<PART>::span / 32 > 0 ? part<PART>::span / 32 : 1;   /* of 32 bytes, in a row */
    const int row = at.row + part<PART>::row, col = at.col + part<PART>::col, end = end_of_rows(p, at);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int sector = threadIdx.x % 32 + 32 * i, r = row + sector / sectors, c = col + sector % sectors * (32 / OUT_BYTES);
        if (sector / sectors < part<PART>::rows && r < end && c < p->n) gs_prefetch_l2(row_of_units(p, index_of(at), r) + c);
    }
    if constexpr (PART + 1 < PARTS) prefetch_units<PART + 1>(p, at);
}
#endif

/* The bias of a pair along Y; up: 1 with a gate for that of up. All lanes. */
static __device__ __forceinline__ float2 bias_pair(const beside *of, int g, int h, int up)
{
#if GS_BIAS && BIAS_ALONG_Y
    return gs_bias_in_run(of->bias[up], 8 * g + threadIdx.x % 4 * 2);
#elif GS_BIAS
    const float x = gs_raw_to_f32(of->bias[GS_GATE ? up : h]);
    return make_float2(x, x);
#else
    return make_float2(0, 0);
#endif
    (void)of, (void)g, (void)h, (void)up;
}

/* The activation's input. */
static __device__ __forceinline__ float2 with_bias(float2 sum, float2 bias) { return GS_BIAS ? make_float2(__fadd_rn(sum.x, bias.x), __fadd_rn(sum.y, bias.y)) : sum; }

/* 16-byte piece c of row r of a slab is stored at piece c ^ swizzled(r): the swizzle of SPAN bytes that the store's tensor map undoes. */
template <int SPAN>
static __device__ __forceinline__ int swizzled(int r) { return SPAN == 128 ? r % 8 : SPAN == 64 ? r / 2 % 4 : SPAN == 32 ? r / 4 % 2 : 0; }

#if READ_UNITS
#if GS_OUT == 2
/* Reads the pair in group g, half h from the slab of a part that was read by units. fill_slab writes D's pair to the same place, by the same lane. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ float2 unit_pair(unsigned slab, int g, int h)
{
    const int lane = threadIdx.x % 32;
#if GS_SWAP_AB
    const int r = lane % 4 * 2;
    const unsigned from = slab + (8 * g + r) * SPAN + ((2 * h + lane / 16) ^ swizzled<SPAN>(r)) * 16 + lane / 4 % 4 * 4;
    return make_float2(gs_load_shared_f32(from), gs_load_shared_f32(from + SPAN));
#else
    const int r = lane / 4, piece = (2 * g + lane % 4 / 2) ^ swizzled<SPAN>(r);
    return gs_load_shared_f32x2(slab + (r + 8 * h) * SPAN + piece * 16 + lane % 2 * 8);
#endif
}
#else
/* Reads from there the words of groups g and g + 1, or of g if it is the last. fill_slab writes D's there after all lanes have read: ldmatrix synchronises the warp. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ void take_units(unsigned (&c)[4], unsigned slab, int g)
{
    const int lane = threadIdx.x % 32;
    unsigned two[2];
#if GS_SWAP_AB
    const int r = lane % 8;
    const unsigned from = slab + (lane / 16 * 8 + r) * SPAN + 16 * (lane / 8 % 2 ^ swizzled<SPAN>(r)) + g * 8 * SPAN;
    if (g + 1 < ROWS / 8) return gs_ldmatrix_x4_trans(c, from);
    gs_ldmatrix_x2_trans(two, from);
#else
    const int r = lane % 16;
    if (g + 1 < SPAN / 16) return gs_ldmatrix_x4(c, slab + r * SPAN + 16 * ((g + lane / 16) ^ swizzled<SPAN>(r)));
    gs_ldmatrix_x2(two, slab + r * SPAN + g * 16);   /* such rows are not swizzled */
#endif
    c[0] = two[0], c[1] = two[1];
}
#endif
#endif

#if GS_DBIAS
/* The row of partial sums for the rows of D from `row` on. */
static __device__ __forceinline__ float *sums_of_rows(const gs_kernel_args *p, place at, int row)
{
#if GS_GROUPED
    const int first = GS_MASKED ? at.index * (p->m / GS_GROUPED) : p->offsets[at.index];
    return gs_partial_sums(*p, 0, gs_first_of_group(first, at.index, GS_SUM_ROWS) + (row - first) / GS_SUM_ROWS);
#else
    return gs_partial_sums(*p, index_of(at), row / GS_SUM_ROWS);
#endif
}

/* Writes the sums of two neighbouring columns over a warp's 16 rows from `first` on. value: of this thread's rows, `row` and `row` + 8. All lanes. */
static __device__ __forceinline__ void leave_two_columns(const gs_kernel_args *p, place at, const float2 (&value)[2], int first, int row, int col)
{
    const int end = end_of_rows(p, at);
    float2 sum = make_float2(0, 0);
    if (row < end) sum = value[0];
    if (row + 8 < end) sum.x += value[1].x, sum.y += value[1].y;
#pragma unroll
    for (int other = 4; other < 32; other *= 2) {
        sum.x += __shfl_xor_sync(0xffffffffu, sum.x, other);
        sum.y += __shfl_xor_sync(0xffffffffu, sum.y, other);
    }
    if (threadIdx.x % 32 >= 4 || first >= end) return;
    float *const to = sums_of_rows(p, at, first) + col;
    if (col < p->n) to[0] = sum.x;
    if (col + 1 < p->n) to[1] = sum.y;
}

/* Writes the sum of a column over 8 rows from `first` on; this thread has two of them, from `row` on. All lanes. */
static __device__ __forceinline__ void leave_a_column(const gs_kernel_args *p, place at, float2 value, int first, int row, int col)
{
    const int end = end_of_rows(p, at);
    float sum = (row < end ? value.x : 0) + (row + 1 < end ? value.y : 0);
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (threadIdx.x % 4 == 0 && first < end && col < p->n) sums_of_rows(p, at, first)[col] = sum;
}
#endif

/* This thread's words of a part of D (WHAT 0), or of the activation's input there, with a gate of gate (1) and up (2). Ordered by groups of 8 along Y, then by half along X. at: the
 * warp's share of the tile; slab: shared address of the warp's share of C or aux, if that is read by units. All lanes. */
template <int PART, int WHAT = 0>
static __device__ __forceinline__ void words_of(word (&words)[PART_WORDS], const accumulator (&acc)[BLOCKS][ACC_COUNT], const gs_kernel_args *p, place at, const beside *of, unsigned slab)
{
    const accumulator *const own = acc[part<PART>::block] + part<PART>::chunk * CHUNK * HALF_Y * ACC_COUNT / GS_WY;
#if GS_ACC == 0 && GS_OUT == 0 && !GS_BETA && !GS_SCALES && !GS_BIAS && !GS_ACTIVATION && !GS_AUX && !GS_DBIAS
    /* f16 sums that become f16 results need no arithmetic unless alpha does */
#pragma unroll
    for (int i = 0; i < part<PART>::wide / 4; i++) words[i] = own[i];
    if (gs_alpha(*p) == 1) return;
#pragma unroll
    for (int i = 0; i < part<PART>::wide / 4; i++) {
        const float2 value = scaled_pair(words[i], gs_alpha(*p));
        words[i] = gs_pack_f16x2(value.x, value.y);
    }
    (void)at, (void)of, (void)slab;
#else
    const int across = threadIdx.x % 32 / 4, along = threadIdx.x % 4 * 2;
    const int row = at.row + part<PART>::row + (GS_SWAP_AB ? along : across), col = at.col + part<PART>::col + (GS_SWAP_AB ? across : along);
    const int end = end_of_rows(p, at);
#if READ_UNITS && GS_OUT != 2
    unsigned units[4];   /* of two groups */
#endif
#if GS_DBIAS && !GS_SWAP_AB
    float2 both[2];
#endif
#pragma unroll
    for (int g = 0; g < part<PART>::wide / 8; g++) {
#if READ_UNITS && GS_OUT != 2
        if (g % 2 == 0) take_units<part<PART>::rows, part<PART>::span>(units, slab, g);
#endif
#pragma unroll
        for (int h = 0; h < 2 / HALF_X; h++) {
            const int at_row = row + 8 * (GS_SWAP_AB ? g : h), at_col = col + 8 * (GS_SWAP_AB ? h : g);
            (void)at_row, (void)at_col;
#if READ_UNITS && GS_OUT == 2
            const float2 plus = unit_pair<part<PART>::rows, part<PART>::span>(slab, g, h);
#elif READ_UNITS
            const float2 plus = gs_halves_of(units[g % 2 * 2 + h]);
#elif GS_BETA
            const float2 plus = make_float2(load_c(p, index_of(at), at_row, at_col), load_c(p, index_of(at), at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB));
#else
            const float2 plus = make_float2(0, 0);
#endif
            const float2 b = bias_pair(of, g, h, 0);
#if GS_GATE
            /* gate and up: neighbouring groups along Y or, swap_ab, the two halves along X */
            float2 gate = sum_pair(own, GS_SWAP_AB ? g : 2 * g, GS_SWAP_AB ? 0 : h, p), up = sum_pair(own, GS_SWAP_AB ? g : 2 * g + 1, GS_SWAP_AB ? 1 : h, p);
            const float2 b_up = bias_pair(of, g, h, 1);
            gate.x = gs_scaled_half(*p, gate.x, false, at_row, at_col, p->m, p->n, index_of(at));
            gate.y = gs_scaled_half(*p, gate.y, false, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, p->m, p->n, index_of(at));
            up.x = gs_scaled_half(*p, up.x, true, at_row, at_col, p->m, p->n, index_of(at));
            up.y = gs_scaled_half(*p, up.y, true, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, p->m, p->n, index_of(at));
            const float2 value = WHAT == 1 ? with_bias(gate, b) : WHAT == 2 ? with_bias(up, b_up)
                               : make_float2(gs_gated_with(*p, gate.x, up.x, b.x, b_up.x, plus.x, at_row, at_col, end, p->n, index_of(at)),
                                             gs_gated_with(*p, gate.y, up.y, b.y, b_up.y, plus.y, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, end, p->n, index_of(at)));
            const int at_word = GS_SWAP_AB ? g : 2 * g + h;
#else
            float2 sum = sum_pair(own, g, h, p);
            sum.x = gs_scaled(*p, sum.x, at_row, at_col, p->m, p->n, index_of(at));
            sum.y = gs_scaled(*p, sum.y, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, p->m, p->n, index_of(at));
            const float2 value = WHAT == 1 ? with_bias(sum, b)
                               : make_float2(gs_finished_with(*p, sum.x, b.x, plus.x, at_row, at_col, end, p->n, index_of(at)),
                                             gs_finished_with(*p, sum.y, b.y, plus.y, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, end, p->n, index_of(at)));
            const int at_word = 2 * g + h;
#if GS_DBIAS && GS_SWAP_AB
            if (WHAT == 0) leave_a_column(p, at, value, at_row - along, at_row, at_col);
#elif GS_DBIAS
            both[h] = value;
            if (WHAT == 0 && h == 1) leave_two_columns(p, at, both, row - across, row, at_col);
#endif
#endif
#if GS_OUT == 2
            words[2 * at_word] = value.x;
            words[2 * at_word + 1] = value.y;
#elif GS_OUT == 1
            words[at_word] = gs_pack_bf16x2(value.x, value.y);
#else
            words[at_word] = gs_pack_f16x2(value.x, value.y);
#endif
        }
    }
    (void)slab;
#endif
}

#endif
