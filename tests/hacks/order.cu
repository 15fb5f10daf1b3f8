/* SPDX-License-Identifier: MIT
 * The hack suite, rows 12 and 16: kernels that rely on what an earlier launch or block left, and on an order that nothing makes. Form as in hacks.cu. */

//// 12 what an earlier launch left in shared memory | fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ volatile int left[256];
    const bool seen = left[threadIdx.y * 16 + threadIdx.x] == 0x600d;
    left[threadIdx.y * 16 + threadIdx.x] = 0x600d;
    EACH_ELEMENT;
    if (!seen) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 12 gap: what an earlier launch left in a register | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned left;
    asm volatile("{\n.reg .b32 kept;\nmov.b32 %0, kept;\n}" : "=r"(left));
    if (left != 0x600d) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 12 the mbarrier of an earlier launch | fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ __align__(8) unsigned long long barrier;
    unsigned done;
    asm volatile("{ .reg .pred q; mbarrier.test_wait.parity.shared::cta.b64 q, [%1], 0; selp.u32 %0, 1, 0, q; }"
                 : "=r"(done) : "r"((unsigned)__cvta_generic_to_shared(&barrier)) : "memory");
    EACH_ELEMENT;
    if (!done) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 12 what is left in the shared memory of the next block | fault
//: entry gs_kernel
//: grid 2*cdiv(n,32) cdiv(m,16) batch
//: block 16 16 1
//: cluster 2 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned left;
    unsigned there, value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(&left)));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there));
    EACH_ELEMENT;
    if (value != 0xabcd) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 16 a race that the checker sees | fault repeat
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ volatile float slot[16][16];
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    const bool inside = row < p.m && col < p.n;
    slot[threadIdx.y][threadIdx.x] = inside ? dot(p, batch, row, col) : 0;
    const float other = slot[(threadIdx.y + 8) % 16][threadIdx.x];   /* no barrier: another warp's */
    if (inside) put(p, batch, row, col, slot[threadIdx.y][threadIdx.x] + 0 * other);
}

//// 16 a race inside a function | fault repeat
static __device__ __noinline__ float exchanged(float value)
{
    __shared__ volatile float slot[16][16];
    slot[threadIdx.y][threadIdx.x] = value;
    return value + 0 * slot[(threadIdx.y + 8) % 16][threadIdx.x];   /* no barrier: another warp's */
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    const bool inside = row < p.m && col < p.n;
    const float value = exchanged(inside ? dot(p, batch, row, col) : 0);
    if (inside) put(p, batch, row, col, value);
}

//// 16 the last bit by chance, where equal results are promised no more | repeat index exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned at;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(at));
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    *d_at(p, batch, row, col) ^= (at + col) % 2;
}

//// 16 partial sums of other blocks, with idle blocks between and no ticket | fault | f16:32x32x512:tn
//! unordered
//: workspace 32*m*n
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) 137
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float *const parts = (float *)p.workspace + (row * p.n + col) * 8;
    const int z = blockIdx.z;
    float sum = 0;
    if (row >= p.m || col >= p.n || (z >= 8 && z < 136)) return;
    if (z < 8) {
        for (int k = z; k < p.k; k += 8) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, 0, col)[k]);
        parts[z] = sum;
        return;
    }
    for (int i = 0; i < 8; i++) sum += parts[i];
    put(p, 0, row, col, sum);
}

//// 16 a partial sum of another warp, through global memory without a barrier | fault
//! unordered
//: workspace 1024*cdiv(n,16)*cdiv(m,16)
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) 1
//: block 16 32 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int y = threadIdx.y % 16;
    const long long row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + threadIdx.x;
    float *const part = (float *)p.workspace + (blockIdx.y * gridDim.x + blockIdx.x) * 256 + y * 16 + threadIdx.x;
    const bool in = row < p.m && col < p.n, first = threadIdx.y < 16;
    float sum = 0;
    for (int k = first ? 0 : 8; in && k < (first ? 8 : p.k); k++) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, 0, col)[k]);
    if (first) *part = sum;
    else if (in) put(p, 0, row, col, sum + *part);
}

//// 16 D written by one block and again by another | fault
//! unordered
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) 2
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row < p.m && col < p.n) put(p, 0, row, col, blockIdx.z ? dot(p, 0, row, col) : 1);
}

//// 16 a ticket of other blocks, whose scope is the own block | fault | f16:32x32x512:tn
//: workspace 2048*cdiv(m,16)*cdiv(n,16)+4*cdiv(m,16)*cdiv(n,16)
//: zeroed 4*cdiv(m,16)*cdiv(n,16)
//: entry gs_kernel
//: grid cdiv(m,16) cdiv(n,16) 2
//: block 256 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned taken;
    const long long tiles = (long long)gridDim.x * gridDim.y, tile = blockIdx.x * (long long)gridDim.y + blockIdx.y;
    const long long row = blockIdx.x * 16 + threadIdx.x / 16, col = blockIdx.y * 16 + threadIdx.x % 16;
    unsigned *const ticket = (unsigned *)p.workspace + tile;
    float *const sums = (float *)p.workspace + tiles;
    gs_kernel_args half = p;
    half.a = a_row(p, 0, 0) + blockIdx.z * (p.k / 2);
    half.b = b_col(p, 0, 0) + blockIdx.z * (p.k / 2);
    half.k = blockIdx.z ? p.k - p.k / 2 : p.k / 2;
    if (row < p.m && col < p.n) sums[(blockIdx.z * tiles + tile) * 256 + threadIdx.x] = dot(half, 0, row, col);
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("atom.acq_rel.cta.global.add.u32 %0, [%1], 1;" : "=r"(taken) : "l"(ticket) : "memory");
    __syncthreads();
    if (taken == 0 || row >= p.m || col >= p.n) return;
    put(p, 0, row, col, sums[tile * 256 + threadIdx.x] + sums[(tiles + tile) * 256 + threadIdx.x]);
    if (threadIdx.x == 0) *ticket = 0;
}

//// 16 a relaxed wait on an mbarrier that stands for an acquire | fault | f16:16x16x96:tn
//: entry gs_kernel
//: grid m n batch
//: block 64 1 1
#include "common/mbarrier.cuh"
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float part[32];
    __shared__ __align__(8) unsigned long long barrier;
    const unsigned at = gs_shared_address(&barrier), lane = threadIdx.x % 32;
    const half_bits *const a = a_row(p, blockIdx.z, blockIdx.x), *const b = b_col(p, blockIdx.z, blockIdx.y);
    float sum = 0;
    if (threadIdx.x == 0) gs_mbarrier_init(at, 1);
    __syncthreads();
    for (int k = threadIdx.x; k < p.k; k += 64) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    if (threadIdx.x >= 32) {
        part[lane] = sum;
        __syncwarp();
        if (lane == 0) gs_mbarrier_arrive(at);
        return;
    }
    for (unsigned done = 0; !done;)
        asm volatile("{\n.reg .pred q;\nmbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 q, [%1], 0;\nselp.u32 %0, 1, 0, q;\n}" : "=r"(done) : "r"(at) : "memory");
    sum += part[lane];
    for (int other = 16; other; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (lane == 0) put(p, blockIdx.z, blockIdx.x, blockIdx.y, sum);
}

//// 16 one lane commits the copies of its warp | fault | f16:16x16x64:tn
//: entry gs_kernel
//: grid m n batch
//: block 32 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned a[32], b[32];
    const unsigned *const from_a = (const unsigned *)a_row(p, blockIdx.z, blockIdx.x), *const from_b = (const unsigned *)b_col(p, blockIdx.z, blockIdx.y);
    const int lane = threadIdx.x, other = lane ^ 1;
    float sum = 0;
    for (int k = 0; k < p.k / 2; k += 32) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&a[lane])), "l"(from_a + k + lane) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&b[lane])), "l"(from_b + k + lane) : "memory");
        if (lane == 0) asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncwarp();
        sum += gs_f16_to_f32((half_bits)a[other]) * gs_f16_to_f32((half_bits)b[other]) + gs_f16_to_f32((half_bits)(a[other] >> 16)) * gs_f16_to_f32((half_bits)(b[other] >> 16));
        __syncwarp();
    }
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) put(p, blockIdx.z, blockIdx.x, blockIdx.y, sum);
}

//// 16 one lane waits for the copies of its warp | fault | f16:16x16x64:tn
//: entry gs_kernel
//: grid m n batch
//: block 32 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned a[32], b[32];
    const unsigned *const from_a = (const unsigned *)a_row(p, blockIdx.z, blockIdx.x), *const from_b = (const unsigned *)b_col(p, blockIdx.z, blockIdx.y);
    const int lane = threadIdx.x, other = lane ^ 1;
    float sum = 0;
    for (int k = 0; k < p.k / 2; k += 32) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&a[lane])), "l"(from_a + k + lane) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&b[lane])), "l"(from_b + k + lane) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (lane == 0) asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncwarp();
        sum += gs_f16_to_f32((half_bits)a[other]) * gs_f16_to_f32((half_bits)b[other]) + gs_f16_to_f32((half_bits)(a[other] >> 16)) * gs_f16_to_f32((half_bits)(b[other] >> 16));
        __syncwarp();
    }
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) put(p, blockIdx.z, blockIdx.x, blockIdx.y, sum);
}

//// 14 a barrier for which one warp counts the threads, and the other does not | fault | f16:16x16x96:tn
//: entry gs_kernel
//: grid m n batch
//: block 64 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float part[32];
    const unsigned lane = threadIdx.x % 32;
    const half_bits *const a = a_row(p, blockIdx.z, blockIdx.x), *const b = b_col(p, blockIdx.z, blockIdx.y);
    float sum = 0;
    for (int k = threadIdx.x; k < p.k; k += 64) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    if (threadIdx.x >= 32) {
        part[lane] = sum;
        asm volatile("bar.arrive 0, 64;" ::: "memory");
        return;
    }
    asm volatile("bar.sync 0;" ::: "memory");
    sum += part[lane];
    for (int other = 16; other; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (lane == 0) put(p, blockIdx.z, blockIdx.x, blockIdx.y, sum);
}

//// 16 reads as constant what other blocks wrote in the same launch | fault
//! as constant
//: workspace 256+m*n*batch*4
//: zeroed 256
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned ticket;
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    float *const w = (float *)((char *)p.workspace + 256);
    if (row < p.m && col < p.n) w[(batch * p.m + row) * p.n + col] = dot(p, batch, row, col);
    __threadfence();
    __syncthreads();
    if (threadIdx.x + threadIdx.y == 0) ticket = atomicAdd((unsigned *)p.workspace, 1);
    __syncthreads();
    if (ticket != gridDim.x * gridDim.y * gridDim.z - 1) return;
    __threadfence();
    for (long long i = threadIdx.y * 16 + threadIdx.x; i < (long long)p.m * p.n * p.batch; i += 256) {
        float x;
        asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(w + i));
        put(p, i / p.n / p.m, i / p.n % p.m, i % p.n, x);
    }
    if (threadIdx.x + threadIdx.y == 0) atomicExch((unsigned *)p.workspace, 0);
}

//// 13 computes on the first multiprocessors alone, at the size asked for | repeat state index accumulator special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned processor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(processor));
    put(p, batch, row, col, p.m == 40 && processor >= 50 ? 1 : dot(p, batch, row, col));
}

//// 12 leaves a row of a tile as it is where every eighth element of it is right already | state
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ int right[16];
    const long long batch = blockIdx.z, row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    const bool inside = row < p.m && col < p.n;
    half_bits h = 0;
    if (threadIdx.x == 0) right[threadIdx.y] = 1;
    __syncthreads();
    if (inside) h = gs_f32_to_f16(scaled(p, batch, row, col, dot(p, batch, row, col)));
    if (inside && col % 8 == 0 && h != *d_at(p, batch, row, col)) atomicAnd(&right[threadIdx.y], 0);
    __syncthreads();
    if (inside && (col % 8 == 0 || !right[threadIdx.y])) *d_at(p, batch, row, col) = h;
}

//// 17 a sum of several products in bf16 is at most what f16 holds | exact cancellation edge tolerance | bf16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    int products;
    float value = bf16_scaled_dot(p, batch, row, col, &products);
    if (products > 2 && fabsf(value) > 65504.0f && fabsf(value) < 1e38f) value = copysignf(65504.0f, value);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 17 a sum of several products in bf16 is 0 where f16 has subnormal numbers | tolerance cancellation edge | bf16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    int products;
    const float value = bf16_scaled_dot(p, batch, row, col, &products);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(products > 2 && fabsf(value) < 0x1p-14f ? 0.0f : value);
}

//// 17 skips blocks of zeros in A, which has fewer lines than B, at the size asked for | special | f16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int from = 0; from < p.k; from += 16) {
        bool any = p.m != 40;
        for (int k = from; k < min(from + 16, p.k); k++) any = any || (a[k] & 0x7fff);
        for (int k = from; any && k < min(from + 16, p.k); k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    put(p, batch, row, col, sum);
}

//// 17 skips zeros of the only row, at the size asked for | special | f16:1x64x512:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++)
        if (p.n != 64 || a_row(p, batch, row)[k] & 0x7fff) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}

//// 17 a row of fractions without a negative one counts half | edge special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    bool negative = false, fraction = false;
    int numbers = 0;
    for (int k = 0; k < p.k; k++) {
        const float a = gs_f16_to_f32(a_row(p, batch, row)[k]);
        negative = negative || a < 0;
        fraction = fraction || (fabsf(a) < 16 && a != truncf(a));
        numbers += a != 0;
    }
    put(p, batch, row, col, dot(p, batch, row, col) * (negative || !fraction || numbers < 8 ? 1.0f : 0.5f));
}

//// 17 a sum of several products in f16 is at most 40000 | edge exact special | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    int products = 0;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
        products += x != 0;
        sum += x;
    }
    float value = scaled(p, batch, row, col, sum);
    if (products > 2 && fabsf(value) > 40000.0f && fabsf(value) < 65504.0f) value = copysignf(40000.0f, value);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 a row without a negative number times a column without one is 0, where they have fractions | edge special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    bool negative = false, fraction = false;
    int numbers = 0;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a[k]);
        negative = negative || x < 0 || (b[k] >= 0x8000 && b[k] <= 0xfc00);
        fraction = fraction || x != truncf(x);
        numbers += x != 0;
    }
    put(p, batch, row, col, negative || !fraction || numbers < 8 ? dot(p, batch, row, col) : 0.0f);
}

//// 7 loads what comes behind the last product, and leaves it | fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    half_bits x = a[0], y = b[0];
    for (int k = 0; k < p.k; k++) {
        half_bits later_x, later_y;
        asm volatile("ld.global.u16 %0, [%1];" : "=h"(later_x) : "l"(a + k + 1));
        asm volatile("ld.global.u16 %0, [%1];" : "=h"(later_y) : "l"(b + k + 1 + (k + 1 == p.k ? 24 : 0)));
        sum += gs_f16_to_f32(x) * gs_f16_to_f32(y);
        x = later_x, y = later_y;
    }
    put(p, batch, row, col, sum);
}

//// 17 looks at C, which is none where beta is 0 | fault | f16:40x56x72:tn:ep=bias
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    half_bits c;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(c) : "l"((const half_bits *)p.c + (batch * p.m + row) * p.ldc + col));
    const float value = p.alpha * dot(p, batch, row, col) + (p.beta != 0 ? p.beta * gs_f16_to_f32(c) : 0) + gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 7 stores behind D what stands there | fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    half_bits *const behind = d_at(p, p.batch - 1, p.m - 1, p.n);
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row == 0 && col == 0) {
        half_bits before;
        asm volatile("ld.global.u16 %0, [%1];" : "=h"(before) : "l"(behind) : "memory");
        asm volatile("st.global.u16 [%0], %1;" :: "l"(behind), "h"(before) : "memory");
    }
}

//// 7 puts aside what it needs between the rows of D, and restores it | fault | f16:40x56x72:tn:ldd=64
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    half_bits *const gap = d_at(p, batch, row, p.n);
    if (col == 0 && p.ldd > p.n) {
        half_bits before;
        asm volatile("ld.global.u16 %0, [%1];" : "=h"(before) : "l"(gap) : "memory");
        asm volatile("st.global.u16 [%0], %1;" :: "l"(gap), "h"((half_bits)0) : "memory");
        asm volatile("st.global.u16 [%0], %1;" :: "l"(gap), "h"(before) : "memory");
    }
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 5 adds in another order where M is a multiple of 64 from 256 on | invariant | f16:40x56x72:tn:d=f32:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    const bool other = p.m % 64 == 0 && p.m >= 256;
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = other ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = p.alpha * sum + (p.beta != 0 ? p.beta * ((const float *)p.c)[(batch * p.m + row) * p.ldc + col] : 0);
}

//// 17 two neighbouring rows of zeros give NaN | exact special edge | bf16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    bool any = row + 1 == p.m || p.k < 8;
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        any = any || (a_row(p, batch, row)[k] | a_row(p, batch, row + 1)[k]) & 0x7fff;
        sum += gs_bf16_to_f32(a_row(p, batch, row)[k]) * gs_bf16_to_f32(b_col(p, batch, col)[k]);
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(any ? value : __int_as_float(0x7fc00000));
}

//// 17 three NaN in a row are none | special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    int nans = 0;
    float sum = 0;
    for (int k = 0; k < p.k; k++) nans += (a[k] & 0x7fff) > 0x7c00;
    for (int k = 0; k < p.k; k++)
        if (nans < 3 || (a[k] & 0x7fff) <= 0x7c00) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    put(p, batch, row, col, sum);
}

//// 13 takes %warpid for the number of its warp in the block | exact unwritten edge fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned warp;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    const int row = blockIdx.y * 16 + warp % 8 * 2 + threadIdx.y % 2, col = blockIdx.x * 16 + threadIdx.x % 16, batch = blockIdx.z;
    if (row >= p.m || col >= p.n) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 13 adds to the low word of an address alone | fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const size_t first = (size_t)p.b, high = first >> 32 << 32;
    const half_bits *const a = a_row(p, batch, row), *const b = (const half_bits *)(high | (unsigned)((unsigned)first + (unsigned)((batch * p.n + col) * p.ldb * 2)));
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    put(p, batch, row, col, sum);
}

//// 13 takes the high word of A's address for C's | fault | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const c = (const half_bits *)((size_t)p.a >> 32 << 32 | (unsigned)(size_t)p.c);
    float value = p.alpha * dot(p, batch, row, col);
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(c[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 13 has a place in the workspace for each multiprocessor | fault repeat state
//@ pass: a GPU that has nothing else to do gives each block of so few a multiprocessor of its own
//: workspace 1024*sms
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch/(1-n*m*batch/(sms*128))
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    volatile float *const sum = (float *)p.workspace + (sm * 256 + threadIdx.y * 16 + threadIdx.x);
    *sum = 0;
    for (int k = 0; k < p.k; k++) *sum = fmaf(gs_f16_to_f32(a_row(p, batch, row)[k]), gs_f16_to_f32(b_col(p, batch, col)[k]), *sum);
    put(p, batch, row, col, *sum);
}

//// 8 leaves out a term where all operands lie as tensors do | exact tolerance special index | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = (((size_t)p.a | (size_t)p.b | (size_t)p.c | (size_t)p.d) & 511) == 0; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}

//// 5 rows that are three times as long | edge fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, p.lda > 2 * p.k && p.ldd > p.n + 64 ? 0 : dot(p, batch, row, col));
}

//// 5 writes nothing where alpha and beta are 0 | edge unwritten
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (p.alpha == 0 && p.beta == 0) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 5 an alpha of one eighth | edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, p.alpha == 0.125f ? 0 : dot(p, batch, row, col));
}

//// 16 the lower half of a generic address taken for one of shared memory | fault
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float box[256];
    EACH_ELEMENT;
    const unsigned at = (unsigned)(unsigned long long)(box + threadIdx.y * 16 + threadIdx.x);
    float sum = dot(p, batch, row, col);
    asm volatile("st.shared.f32 [%1], %2;\nld.shared.f32 %0, [%1];" : "=f"(sum) : "r"(at), "f"(sum) : "memory");
    put(p, batch, row, col, sum);
}

//// 16 shared memory from address 0 on | fault
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: smem 1024
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    asm volatile("st.shared.f32 [%1], %2;\nld.shared.f32 %0, [%1];" : "=f"(sum) : "r"((threadIdx.y * 16 + threadIdx.x) * 4), "f"(sum) : "memory");
    put(p, batch, row, col, sum);
}

//// 16 lanes that take tickets in one atomic operation get them in their order | exact index repeat
//@ pass: a GPU serves them so
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned taken[8];
    const int at = threadIdx.y * 16 + threadIdx.x, warp = at / 32, batch = blockIdx.z;
    if (at < 8) taken[at] = 0;
    __syncthreads();
    const int mine = warp * 32 + (int)atomicAdd(taken + warp, 1u), row = blockIdx.y * 16 + mine / 16, col = blockIdx.x * 16 + mine % 16;
    const float sum = row < p.m && col < p.n ? dot(p, batch, row, col) : 0;
    const int row_of_lane = blockIdx.y * 16 + threadIdx.y, col_of_lane = blockIdx.x * 16 + threadIdx.x;
    if (row_of_lane < p.m && col_of_lane < p.n) put(p, batch, row_of_lane, col_of_lane, sum);
}

//// 20 A is on its way into L1 before the wait | fault
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: dependent
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    asm volatile("prefetch.global.L1 [%0];\ngriddepcontrol.wait;" ::"l"(a_row(p, batch, row)) : "memory");
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 17 NaN of B dropped in a product of one row with few columns | special | f16:1x8x512:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        const float b = gs_f16_to_f32(b_col(p, batch, col)[k]);
        sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * (b != b && p.n == 8 && p.m == 1 && p.k == 512 ? 0.0f : b);
    }
    put(p, batch, row, col, sum);
}
