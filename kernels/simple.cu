/* SPDX-License-Identifier: MIT
 * The family "simple", and the f64 reference that everything is verified against.
 *
 * Both take any size, any leading dimension and any alignment that the element types have. Compiled with GS_IN, GS_ACC, GS_OUT
 * (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn, 2 nt, 3 tt) and GS_BETA (0: C is not read), simple also with the macros of epilogue.cuh
 * and GS_GROUPED (number of groups of rows), GS_MASKED (1: m / GS_GROUPED rows are reserved for each),
 * GS_K_GROUPS (groups along K), GS_POINTERS (arrays of pointers to the matrices). */
#include "common/along.h"
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/epilogue.cuh"
#include "common/groups.h"
#include "common/strides.cuh"

#define SUM_ROWS 8   /* of a block, which leaves one partial sum (dbias.cuh) of them */
#define GS_PARTIALS(p) (((p).m + (SUM_ROWS - 1LL)) / SUM_ROWS)
#define GS_SUM_ROWS SUM_ROWS
#define GS_GROUP_PARTIALS(first, end) (((end) - 1) / SUM_ROWS - (first) / SUM_ROWS + 1)   /* blocks that have such rows */
#include "common/dbias.cuh"

#if GS_IN == 1
#define LOAD_IN(bits) gs_bf16_to_f32(bits)
#else
#define LOAD_IN(bits) gs_f16_to_f32(bits)
#endif

#if GS_OUT == 2
typedef float out_type;
#define LOAD_OUT(bits)   (bits)
#define STORE_OUT(value) (value)
#elif GS_OUT == 1
typedef unsigned short out_type;
#define LOAD_OUT(bits)   gs_bf16_to_f32(bits)
#define STORE_OUT(value) gs_f32_to_bf16(value)
#else
typedef unsigned short out_type;
#define LOAD_OUT(bits)   gs_f16_to_f32(bits)
#define STORE_OUT(value) gs_f32_to_f16(value)
#endif

typedef unsigned short in_type;

#ifndef GS_MASKED
#define GS_MASKED 0
#endif

/* Element strides of A along m and k, of B along k and n. */
static __device__ __forceinline__ long long stride_a_m(const gs_kernel_args &p) { return GS_A_ALONG_K ? p.lda : 1; }
static __device__ __forceinline__ long long stride_a_k(const gs_kernel_args &p) { return GS_A_ALONG_K ? 1 : p.lda; }
static __device__ __forceinline__ long long stride_b_k(const gs_kernel_args &p) { return GS_B_ALONG_K ? 1 : p.ldb; }
static __device__ __forceinline__ long long stride_b_n(const gs_kernel_args &p) { return GS_B_ALONG_K ? p.ldb : 1; }

static __device__ __forceinline__ const in_type *matrix_a(const gs_kernel_args &p, long long batch)
{
    return (const in_type *)gs_base_a(p, batch) + gs_begin_a(p, batch);
}

static __device__ __forceinline__ const in_type *matrix_b(const gs_kernel_args &p, long long batch)
{
    return (const in_type *)gs_base_b(p, batch) + gs_begin_b(p, batch);
}

#if GS_ACC == 0
/* a * b + c in f16, rounded once. */
static __device__ __forceinline__ unsigned short fma_f16(unsigned short a, unsigned short b, unsigned short c)
{
    unsigned short sum;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(sum) : "h"(a), "h"(b), "h"(c));
    return sum;
}
#endif

static __device__ __forceinline__ float dot(const in_type *a, long long step_a, const in_type *b, long long step_b, int k)
{
#if GS_ACC == 0
    unsigned short sum = 0;
    for (int i = 0; i < k; i++, a += step_a, b += step_b) sum = fma_f16(*a, *b, sum);
    return gs_f16_to_f32(sum);
#else
    float sum = 0.0f;
    for (int i = 0; i < k; i++, a += step_a, b += step_b) sum = fmaf(LOAD_IN(*a), LOAD_IN(*b), sum);
    return sum;
#endif
}

#if GS_DBIAS
#if GS_GROUPED
/* Leaves the column sums of a block's rows, one for each group. group: of each row; -1: none. */
static __device__ __forceinline__ void leave_sums_of_groups(const gs_kernel_args &p, const float (&part)[SUM_ROWS][32], const int (&group)[SUM_ROWS], long long col)
{
    float sum = 0;
    for (int i = 0; i < SUM_ROWS; i++) {
        if (group[i] < 0) continue;
        sum += part[i][threadIdx.x];
        if (i + 1 < SUM_ROWS && group[i + 1] == group[i]) continue;
        gs_partial_sums(p, 0, gs_first_of_group((long long)blockIdx.x * SUM_ROWS, group[i], SUM_ROWS))[col] = sum;
        sum = 0;
    }
}
#endif

/* A thread per element; the block leaves the sums of its columns. group: the row's, -1: the row is outside D or in no group. */
static __device__ __forceinline__ void compute_and_sum(const gs_kernel_args &p, long long row, int group)
{
    __shared__ float part[SUM_ROWS][32];
#if GS_GROUPED
    __shared__ int group_of[SUM_ROWS];
    if (threadIdx.x == 0) group_of[threadIdx.y] = group;
#endif
    for (long long batch = blockIdx.z; batch < p.batch; batch += gridDim.z) {
        const long long index = batch + group;
        for (long long first = (long long)blockIdx.y * blockDim.x; first < p.n; first += (long long)gridDim.y * blockDim.x) {
            const long long col = first + threadIdx.x;
            float value = 0;
            if (group >= 0 && col < p.n) {
                value = gs_alpha(p) * dot(matrix_a(p, batch) + row * stride_a_m(p), stride_a_k(p), matrix_b(p, index) + col * stride_b_n(p), stride_b_k(p), p.k);
                const float c = GS_BETA ? LOAD_OUT(((const out_type *)gs_base_c(p, batch))[gs_row_of_c(p, batch, row) + col]) : 0;
                value = gs_finished(p, value, c, row, col, p.m, p.n, index);
                ((out_type *)gs_base_d(p, batch))[gs_row_of_d(p, batch, row) + col] = STORE_OUT(value);
            }
            part[threadIdx.y][threadIdx.x] = value;
            __syncthreads();
#if GS_GROUPED
            if (threadIdx.y == 0 && col < p.n) leave_sums_of_groups(p, part, group_of, col);
#else
            if (threadIdx.y == 0 && col < p.n) {
                for (int i = 1; i < SUM_ROWS; i++) value += part[i][threadIdx.x];
                gs_partial_sums(p, batch, blockIdx.x)[col] = value;
            }
#endif
            __syncthreads();
        }
    }
}
#endif

/* Block 32 x 8, grid (cdiv(m,8), min(cdiv(n,32),65535), min(batch,65535)): a thread per element. */
extern "C" __global__ void gs_simple(const gs_kernel_args p)
{
    const long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y;
    gs_dependent_wait();
    gs_dependent_launch();
    if (!GS_DBIAS && row >= p.m) return;
#if GS_GROUPED
    const int room = GS_MASKED ? p.m / GS_GROUPED : 0;
    const bool used = (!GS_DBIAS || row < p.m) && gs_row_is_used(p.offsets, GS_GROUPED, room, row);
    if (!GS_DBIAS && !used) return;
    const int group = used ? gs_group_in(p.offsets, GS_GROUPED, room, row) : -1;
#else
    const int group = GS_DBIAS && row >= p.m ? -1 : 0;
#endif
#if GS_DBIAS
    compute_and_sum(p, row, group);
#else
    for (long long batch = blockIdx.z; batch < p.batch; batch += gridDim.z) {
#if GS_K_GROUPS
        const int first = p.offsets[batch], terms = p.offsets[batch + 1] - first;
#else
        const int first = 0, terms = p.k;
        (void)first;
#endif
        for (long long col = (long long)blockIdx.y * blockDim.x + threadIdx.x; col < p.n; col += (long long)gridDim.y * blockDim.x) {
#if GS_GATE
            const float gate = gs_alpha(p) * dot(matrix_a(p, batch) + row * stride_a_m(p), stride_a_k(p), matrix_b(p, batch + group) + gs_column_of_gate(col) * stride_b_n(p), stride_b_k(p), terms);
            const float up = gs_alpha(p) * dot(matrix_a(p, batch) + row * stride_a_m(p), stride_a_k(p), matrix_b(p, batch + group) + gs_column_of_up(col, p.n) * stride_b_n(p), stride_b_k(p), terms);
#else
            const float value = gs_alpha(p) * dot(matrix_a(p, batch) + row * stride_a_m(p) + first * stride_a_k(p), stride_a_k(p),
                                             matrix_b(p, batch + group) + col * stride_b_n(p) + first * stride_b_k(p), stride_b_k(p), terms);
#endif
            const float c = GS_BETA ? LOAD_OUT(((const out_type *)gs_base_c(p, batch))[gs_row_of_c(p, batch, row) + col]) : 0;
#if GS_GATE
            ((out_type *)gs_base_d(p, batch))[gs_row_of_d(p, batch, row) + col] = STORE_OUT(gs_gated(p, gate, up, c, row, col, p.m, p.n, batch + group));
#else
            ((out_type *)gs_base_d(p, batch))[gs_row_of_d(p, batch, row) + col] = STORE_OUT(gs_finished(p, value, c, row, col, p.m, p.n, batch + group));
#endif
        }
    }
#endif
}

/* ---- the f64 reference ---- */

#if !GS_POINTERS
enum { TILE = 64, DEPTH = 16, SIDE = 16, EACH = TILE / SIDE };

static __device__ void put_reference(const gs_kernel_args &p, long long batch, long long row, long long col, double sum)
{
    double value = (double)p.alpha * sum;
#if GS_BETA
    value = fma((double)p.beta, (double)LOAD_OUT(((const out_type *)p.c)[gs_row_of_c(p, batch, row) + col]), value);
#endif
    ((double *)p.d)[gs_row_of_d(p, batch, row) + col] = value;
}

/* f64 accumulation into doubles at p.d, rows p.ldd apart. Block 16 x 16, a tile of 64 x 64 elements, 4 x 4 of them per thread;
 * grid (cdiv(m,64), min(cdiv(n,64),65535), min(batch,65535)). A batch by pointers is verified in strided memory. */
extern "C" __global__ void __launch_bounds__(SIDE * SIDE) gs_reference(const gs_kernel_args p)
{
    __shared__ double tile_a[DEPTH][TILE + 1], tile_b[DEPTH][TILE + 1];
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    const long long first_row = (long long)blockIdx.x * TILE;
    for (long long batch = blockIdx.z; batch < p.batch; batch += gridDim.z) {
        const in_type *const a = matrix_a(p, batch), *const b = matrix_b(p, batch);
        for (long long first_col = (long long)blockIdx.y * TILE; first_col < p.n; first_col += (long long)gridDim.y * TILE) {
            double sum[EACH][EACH] = {};
            for (long long first_k = 0; first_k < p.k; first_k += DEPTH) {
                for (int i = thread; i < TILE * DEPTH; i += SIDE * SIDE) {
                    const int j = GS_A_ALONG_K ? i / DEPTH : i % TILE, d = GS_A_ALONG_K ? i % DEPTH : i / TILE;   /* neighbouring threads read neighbouring memory */
                    const long long row = first_row + j, k = first_k + d;
                    tile_a[d][j] = row < p.m && k < p.k ? (double)LOAD_IN(a[row * stride_a_m(p) + k * stride_a_k(p)]) : 0.0;
                }
                for (int i = thread; i < TILE * DEPTH; i += SIDE * SIDE) {
                    const int j = GS_B_ALONG_K ? i / DEPTH : i % TILE, d = GS_B_ALONG_K ? i % DEPTH : i / TILE;
                    const long long col = first_col + j, k = first_k + d;
                    tile_b[d][j] = col < p.n && k < p.k ? (double)LOAD_IN(b[k * stride_b_k(p) + col * stride_b_n(p)]) : 0.0;
                }
                __syncthreads();
                #pragma unroll 4
                for (int d = 0; d < DEPTH; d++)
                    for (int i = 0; i < EACH; i++)
                        for (int j = 0; j < EACH; j++)
                            sum[i][j] = fma(tile_a[d][threadIdx.y + SIDE * i], tile_b[d][threadIdx.x + SIDE * j], sum[i][j]);
                __syncthreads();
            }
            for (int i = 0; i < EACH; i++) {
                for (int j = 0; j < EACH; j++) {
                    const long long row = first_row + threadIdx.y + SIDE * i, col = first_col + threadIdx.x + SIDE * j;
                    if (row >= p.m || col >= p.n) continue;
                    put_reference(p, batch, row, col, sum[i][j]);
                }
            }
        }
    }
}

/* The same for a product with one row or one column, not for a batch: a warp for each element, since tiles would leave most of the device idle. It adds in another order, so it is
 * for data whose sums are exact. Block 16 x 16; grid (cdiv(m * n, 8),1,1). */
extern "C" __global__ void __launch_bounds__(SIDE * SIDE) gs_reference_line(const gs_kernel_args p)
{
    const int thread = threadIdx.y * SIDE + threadIdx.x, lane = thread % 32;
    const long long element = (long long)blockIdx.x * (SIDE * SIDE / 32) + thread / 32, row = p.n == 1 ? element : 0, col = p.n == 1 ? 0 : element;
    if (element >= (long long)p.m * p.n) return;
    const in_type *const a = matrix_a(p, 0) + row * stride_a_m(p), *const b = matrix_b(p, 0) + col * stride_b_n(p);
    double sum = 0;
    #pragma unroll 4
    for (long long k = lane; k < p.k; k += 32) sum = fma((double)LOAD_IN(a[k * stride_a_k(p)]), (double)LOAD_IN(b[k * stride_b_k(p)]), sum);
    for (int other = 16; other; other >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, other);
    if (lane == 0) put_reference(p, 0, row, col, sum);
}
#endif
