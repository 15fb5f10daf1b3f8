/* SPDX-License-Identifier: MIT
 * Part of family mma (mma.cu): from a warp's accumulators to D, or aux. */
#ifndef GS_MMA_EPILOGUE_CUH
#define GS_MMA_EPILOGUE_CUH

/* Columns 2t and 2t + 1 of row g (half 0) or g + 8 (half 1) of an mma tile. */
__device__ __forceinline__ float2 accumulated(const accumulator &acc, int half)
{
#if GS_ACC == 2
    return make_float2(acc[2 * half], acc[2 * half + 1]);
#else
    return make_float2(gs_f16_to_f32((half_bits)acc[half]), gs_f16_to_f32((half_bits)(acc[half] >> 16)));
#endif
}

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

__device__ __forceinline__ void put_pair(unsigned char *to, float2 x)
{
#if GS_OUT == 2
    *(float2 *)to = x;
#elif GS_OUT == 1
    *(unsigned *)to = gs_pack_bf16x2(x.x, x.y);
#else
    *(unsigned *)to = gs_pack_f16x2(x.x, x.y);
#endif
}

/* Stores 16 rows of WIDE columns of a warp's tile from its slab in shared memory to D or aux: as vectors, at the edge of the matrix as elements.
 * rows, columns: what is left of D from d. */
template <int WIDE = WARP_D> __device__ __forceinline__ void store_slab(unsigned char *d, long long ldd, const unsigned char *slab, int rows, int columns, int lane)
{
#if RAGGED
    const auto piece = [slab](int row, int i) { return slab + row * SLAB_ROW + i * 16; };
    gs_store_rows<16, WIDE / UNIT, OUT_BYTES, GS_VEC_D, 2>(d, ldd * OUT_BYTES, rows, columns, lane, piece);
#else
    constexpr int per_row = WIDE / GS_VEC_D;
#pragma unroll 4
    for (int i = 0; i < (16 * per_row + 31) / 32; i++) {
        const int piece = lane + 32 * i;
        const int row = piece / per_row;
        const int column = piece % per_row * GS_VEC_D;
        if (row >= 16 || row >= rows || column >= columns) continue;
        gs_copy_vector<OUT_BYTES, GS_VEC_D>(d + (row * ldd + column) * OUT_BYTES, slab + row * SLAB_ROW + column * OUT_BYTES, columns - column);
    }
#endif
}

#if GS_BETA
/* Reads an element of C and adds beta times it to x or, if it is a residual, returns it in `residual`. */
__device__ __forceinline__ void add_c(const gs_kernel_args &p, const void *c, long long at, float &x, float &residual)
{
    if (GS_RESIDUAL) residual = read_c(c, at);
    else x = gs_plus_c(p, read_c(c, at), x);
}
#endif

#if GS_GATE
/* Two neighbours of a row of D, from the sums of gate and up. In a cluster it also writes aux, which is otherwise written as vectors. */
__device__ __forceinline__ float2 gated_pair(const gs_kernel_args &p, float2 gate, float2 up, long long index, long long row, int column)
{
    float2 own = make_float2(0, 0);
#if GS_BETA
    if (row < p.m && column < p.n) own.x = read_c(gs_base_c(p, index), gs_row_of_c(p, index, row) + column);
    if (row < p.m && column + 1 < p.n) own.y = read_c(gs_base_c(p, index), gs_row_of_c(p, index, row) + column + 1);
#endif
    gate.x *= gs_alpha(p), gate.y *= gs_alpha(p), up.x *= gs_alpha(p), up.y *= gs_alpha(p);
#if GS_SPLIT > 1
    return make_float2(gs_gated(p, gate.x, up.x, own.x, row, column, p.m, p.n, index), gs_gated(p, gate.y, up.y, own.y, row, column + 1, p.m, p.n, index));
#else
    gs_biased_halves(p, gate.x, up.x, row, column, p.m, p.n, index);
    gs_biased_halves(p, gate.y, up.y, row, column + 1, p.m, p.n, index);
    return make_float2(gs_behind_halves(p, gate.x, up.x, own.x), gs_behind_halves(p, gate.y, up.y, own.y));
#endif
}

#if GS_AUX && GS_SPLIT == 1
/* Writes 16 rows for aux to the slab: of up if `lets`, else of gate; if their columns alternate in aux, of both. */
__device__ __forceinline__ void halves_to_slab(const gs_kernel_args &p, const accumulator (&acc)[NT], unsigned char *slab, bool lets, long long index, long long row, int column, int lane)
{
#pragma unroll
    for (int n = 0; n < NT / 2; n++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int r = lane / 4 + half * 8, c = n * 8 + lane % 4 * 2;
            unsigned char *const to = slab + r * SLAB_ROW + c * (GS_GATE == 2 ? 2 : 1) * OUT_BYTES;
            float2 gate = accumulated(acc[2 * n], half), up = accumulated(acc[2 * n + 1], half);
            gate.x *= gs_alpha(p), gate.y *= gs_alpha(p), up.x *= gs_alpha(p), up.y *= gs_alpha(p);
            gs_biased_halves(p, gate.x, up.x, row + r, column + c, p.m, p.n, index);
            gs_biased_halves(p, gate.y, up.y, row + r, column + c + 1, p.m, p.n, index);
            if (GS_GATE == 1) {
                put_pair(to, lets ? up : gate);
            } else {
                put_pair(to, make_float2(gate.x, up.x));
                put_pair(to + 2 * OUT_BYTES, make_float2(gate.y, up.y));
            }
        }
    }
}

/* Stores 16 rows of aux. */
__device__ __forceinline__ void store_halves(const gs_kernel_args &p, const accumulator (&acc)[NT], unsigned char *slab, long long index, long long row, int column, int lane)
{
#pragma unroll
    for (int lets = 0; lets < (GS_GATE == 1 ? 2 : 1); lets++) {
        const long long from = GS_GATE == 2 ? 2LL * column : lets ? gs_column_of_up(column, p.n) : column;
        halves_to_slab(p, acc, slab, lets, index, row, column, lane);
        __syncwarp();
        store_slab<GS_GATE == 2 ? 2 * WARP_D : WARP_D>((unsigned char *)p.aux + gs_place_in_aux(p, row, from, index) * OUT_BYTES, p.ldaux, slab, (int)min(p.m - row, 16LL),
                                                       (GS_GATE == 2 ? 2 : 1) * (p.n - column), lane);
        __syncwarp();
    }
}
#endif
#endif

#if !GS_GATE
/* The activation's input for two neighbours of a row; own: their C if it is a residual. */
__device__ __forceinline__ float2 biased_pair(const gs_kernel_args &p, float2 x, float2 &own, long long index, long long row, int column)
{
    x.x = gs_scaled(p, x.x * gs_alpha(p), row, column, p.m, p.n, index);
    x.y = gs_scaled(p, x.y * gs_alpha(p), row, column + 1, p.m, p.n, index);
#if GS_BETA
    const long long at = gs_row_of_c(p, index, row) + column;
    if (row < p.m && column < p.n) add_c(p, gs_base_c(p, index), at, x.x, own.x);
    if (row < p.m && column + 1 < p.n) add_c(p, gs_base_c(p, index), at + 1, x.y, own.y);
#endif
#if GS_BIAS
    x.x = __fadd_rn(x.x, gs_bias_of(p, row, column, p.m, p.n, index));
    x.y = __fadd_rn(x.y, gs_bias_of(p, row, column + 1, p.m, p.n, index));
#endif
    return x;
}

/* Writes 16 rows of the activation's input, rounded, to the slab. */
__device__ __forceinline__ void before_activation(const gs_kernel_args &p, const accumulator (&acc)[NT], unsigned char *slab, long long index, long long row, int column, int lane)
{
#pragma unroll
    for (int n = 0; n < NT; n++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int r = lane / 4 + half * 8, c = n * 8 + lane % 4 * 2;
            float2 own = make_float2(0, 0);
            put_pair(slab + r * SLAB_ROW + c * OUT_BYTES, biased_pair(p, accumulated(acc[n], half), own, index, row + r, column + c));
        }
    }
}
#endif

#if GS_DBIAS
/* Writes the sums of a warp's columns, from each thread's sums over its rows. columns: what is left of D. */
__device__ __forceinline__ void leave_column_sums(float *to, const float2 (&sums)[NT], int columns, int lane)
{
#pragma unroll
    for (int n = 0; n < NT; n++) {
        float2 sum = sums[n];
#pragma unroll
        for (int other = 4; other < 32; other *= 2) {
            sum.x += __shfl_xor_sync(0xffffffffu, sum.x, other);
            sum.y += __shfl_xor_sync(0xffffffffu, sum.y, other);
        }
        const int c = n * 8 + lane % 4 * 2;
        if (lane < 4 && c < columns) to[c] = sum.x;
        if (lane < 4 && c + 1 < columns) to[c + 1] = sum.y;
    }
}
#endif

/* Stores D for the warp's tile, whose corner is (row, column) of matrix `index` of the batch. C may be D: a warp reads
 * its 16 rows of C before it writes them. */
__device__ __forceinline__ void epilogue(const gs_kernel_args &p, const accumulator (&acc)[MT][NT], unsigned char *slab, long long index, long long row,
                                         int column, int lane)
{
    unsigned char *const d = (unsigned char *)gs_base_d(p, index) + (gs_row_of_d(p, index, row) + column) * OUT_BYTES;
    const int columns = p.n - column;
#if GS_DBIAS
    float2 sums[NT] = {};
#endif
#pragma unroll
    for (int m = 0; m < MT; m++) {
        const long long first = row + m * 16;
        if (m) __syncwarp();
#if GS_AUX && GS_GATE && GS_SPLIT == 1
        store_halves(p, acc[m], slab, index, first, column, lane);
#elif GS_AUX && !GS_GATE
        before_activation(p, acc[m], slab, index, first, column, lane);
        __syncwarp();
        store_slab((unsigned char *)p.aux + gs_place_in_aux(p, first, column, index) * OUT_BYTES, p.ldaux, slab, (int)min(p.m - first, 16LL), columns, lane);
        __syncwarp();
#endif
#if GS_GATE
#pragma unroll
        for (int n = 0; n < NT / 2; n++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int r = lane / 4 + half * 8, c = n * 8 + lane % 4 * 2;
                put_pair(slab + r * SLAB_ROW + c * OUT_BYTES,
                         gated_pair(p, accumulated(acc[m][2 * n], half), accumulated(acc[m][2 * n + 1], half), index, first + r, column + c));
            }
        }
#else
#pragma unroll
        for (int n = 0; n < NT; n++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int r = lane / 4 + half * 8;
                const int c = n * 8 + lane % 4 * 2;
                float2 own = make_float2(0, 0);   /* of a residual */
                float2 x = biased_pair(p, accumulated(acc[m][n], half), own, index, first + r, column + c);
                x.x = gs_behind_bias(p, x.x, own.x, first + r, column + c, p.m, p.n, index);
                x.y = gs_behind_bias(p, x.y, own.y, first + r, column + c + 1, p.m, p.n, index);
#if GS_DBIAS
                if (first + r < p.m) sums[n].x += x.x, sums[n].y += x.y;
#endif
                put_pair(slab + r * SLAB_ROW + c * OUT_BYTES, x);
            }
        }
#endif
        __syncwarp();
        store_slab(d + m * 16 * p.ldd * OUT_BYTES, p.ldd, slab, (int)min(p.m - first, 16LL), columns, lane);
    }
#if GS_DBIAS
    if (row < p.m) leave_column_sums(gs_partial_sums(p, index, row / WARP_M) + column, sums, columns, lane);
#endif
}

#endif
