/* SPDX-License-Identifier: MIT
 * Odd and honest: kernels that look like hacks, or like nothing that a family builds, and that must pass. The form is that of hacks.cu. */

//// grid-stride over elements | pass edges
//: entry gs_kernel
//: grid 7 1 1
//: block 128 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long total = (long long)p.m * p.n * p.batch;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += (long long)gridDim.x * blockDim.x)
        put(p, i / p.n / p.m, i / p.n % p.m, i % p.n, dot(p, i / p.n / p.m, i / p.n % p.m, i % p.n));
}

//// one thread does everything | pass | f16:13x11x40:tn
//: entry gs_kernel
//: grid 1 1 1
//: block 1 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    for (int batch = 0; batch < p.batch; batch++)
        for (int row = 0; row < p.m; row++)
            for (int col = 0; col < p.n; col++) put(p, batch, row, col, dot(p, batch, row, col));
}

//// split K by atomics into a workspace that it clears itself | pass
//: workspace m*n*batch*4
//: entry gs_clear
//: grid cdiv(m*n*batch,256) 1 1
//: block 256 1 1
//: entry gs_parts
//: grid cdiv(n,16) cdiv(m,16) 2*batch
//: block 16 16 1
//: entry gs_round
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_clear(const gs_kernel_args p)
{
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < (long long)p.m * p.n * p.batch) ((float *)p.workspace)[i] = 0;
}
KERNEL gs_parts(const gs_kernel_args p)
{
    const long long batch = blockIdx.z / 2, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    if (row >= p.m || col >= p.n) return;
    float sum = 0;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    for (int k = blockIdx.z % 2; k < p.k; k += 2) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    atomicAdd((float *)p.workspace + (batch * p.m + row) * p.n + col, sum);   /* two addends: any order gives the same */
}
KERNEL gs_round(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, ((const float *)p.workspace)[(batch * p.m + row) * p.n + col]);
}

//// tickets in the zeroed part, left zero | pass
//: workspace 64+m*n*batch*4
//: zeroed 64
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned ticket;
    unsigned *const count = (unsigned *)p.workspace;
    if (threadIdx.x + threadIdx.y == 0) ticket = atomicAdd(count, 1);
    __syncthreads();
    if (ticket == gridDim.x * gridDim.y * gridDim.z - 1 && threadIdx.x + threadIdx.y == 0) atomicExch(count, 0);
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// loops the other way round | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = p.k - 1; k >= 0; k--) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}

//// computes everything twice and keeps the second | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    for (int i = 0; i < 2; i++) {
        put(p, batch, row, col, i ? dot(p, batch, row, col) : 0);
        __threadfence();
    }
}

//// volatile shared memory between the threads of a warp | pass
//: entry gs_kernel
//: grid cdiv(m*n,4) batch 1
//: block 128 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ volatile float part[128];
    const int lane = threadIdx.x % 32;
    const long long i = (long long)blockIdx.x * 4 + threadIdx.x / 32, row = i / p.n, col = i % p.n, batch = blockIdx.y;
    if (row >= p.m) return;
    float sum = 0;
    for (int k = lane; k < p.k; k += 32) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    part[threadIdx.x] = sum;
    __syncwarp();
    for (int step = 16; step; step /= 2) {
        const float other = lane < step ? part[threadIdx.x + step] : 0;
        __syncwarp();
        if (lane < step) part[threadIdx.x] += other;
        __syncwarp();
    }
    if (lane == 0) put(p, batch, row, col, part[threadIdx.x]);
}

//// a block of 1024 threads | pass
//: entry gs_kernel
//: grid cdiv(n,32) cdiv(m,32) batch
//: block 32 32 1
KERNEL __launch_bounds__(1024) gs_kernel(const gs_kernel_args p)
{
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 32 + threadIdx.y, col = (long long)blockIdx.x * 32 + threadIdx.x;
    if (row < p.m && col < p.n) put(p, batch, row, col, dot(p, batch, row, col));
}

//// blocks of one thread | pass | f16:13x11x40:tn
//: entry gs_kernel
//: grid n m batch
//: block 1 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    if (blockIdx.y < p.m && blockIdx.x < p.n) put(p, blockIdx.z, blockIdx.y, blockIdx.x, dot(p, blockIdx.z, blockIdx.y, blockIdx.x));   /* a grid has no 0 */
}

//// a warp an element, sums by shuffles | pass
//: entry gs_kernel
//: grid cdiv(m*n,8) batch 1
//: block 256 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int lane = threadIdx.x % 32;
    const long long i = (long long)blockIdx.x * 8 + threadIdx.x / 32, row = i / p.n, col = i % p.n, batch = blockIdx.y;
    if (row >= p.m) return;
    float sum = 0;
    for (int k = lane; k < p.k; k += 32) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    for (int mask = 16; mask; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (__ballot_sync(0xffffffff, true) == 0xffffffff && lane == 0) put(p, batch, row, col, sum);
}

//// loads of 16 bytes where the rows allow it | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    const bool aligned = ((unsigned long long)a | (unsigned long long)b) % 16 == 0;
    float sum = 0;
    int k = 0;
    for (; aligned && k + 8 <= p.k; k += 8) {
        const uint4 x = *(const uint4 *)(a + k), y = *(const uint4 *)(b + k);
        const unsigned *const u = &x.x, *const v = &y.x;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            sum += gs_f16_to_f32((half_bits)u[i]) * gs_f16_to_f32((half_bits)v[i]);
            sum += gs_f16_to_f32((half_bits)(u[i] >> 16)) * gs_f16_to_f32((half_bits)(v[i] >> 16));
        }
    }
    for (; k < p.k; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    put(p, batch, row, col, sum);
}

//// tails by predicates, no branch | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k += 4)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned short x, y;
            asm volatile("{\n.reg .pred p;\nsetp.lt.s32 p, %4, %5;\nmov.b16 %0, 0;\nmov.b16 %1, 0;\n@p ld.global.u16 %0, [%2];\n@p ld.global.u16 %1, [%3];\n}"
                         : "=h"(x), "=h"(y) : "l"(a + k + i), "l"(b + k + i), "r"(k + i), "r"(p.k));
            sum += gs_f16_to_f32(x) * gs_f16_to_f32(y);
        }
    put(p, batch, row, col, sum);
}

//// asserts by trap | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    if (p.m < 0 || p.lda < p.k || blockDim.x != 16) __trap();
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// tiles in static shared arrays | pass edges
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float x[16][17], y[16][17];
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, first = (long long)blockIdx.x * 16, col = first + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < p.k; k += 16) {
        const int own = k + threadIdx.x;
        x[threadIdx.y][threadIdx.x] = row < p.m && own < p.k ? gs_f16_to_f32(a_row(p, batch, row)[own]) : 0;
        y[threadIdx.y][threadIdx.x] = first + threadIdx.y < p.n && own < p.k ? gs_f16_to_f32(b_col(p, batch, first + threadIdx.y)[own]) : 0;
        __syncthreads();
        const int depth = p.k - k < 16 ? p.k - k : 16;   /* not beyond: 0 times inf is NaN */
        for (int i = 0; i < depth; i++) sum += x[threadIdx.y][i] * y[threadIdx.x][i];
        __syncthreads();
    }
    if (row < p.m && col < p.n) put(p, batch, row, col, sum);
}

//// dynamic shared memory | pass
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: smem 1024
extern __shared__ float dynamic[];
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    const bool inside = row < p.m && col < p.n;
    dynamic[threadIdx.y * 16 + threadIdx.x] = inside ? dot(p, batch, row, col) : 0;
    __syncthreads();
    if (inside) put(p, batch, row, col, dynamic[threadIdx.y * 16 + threadIdx.x]);
}

//// a table in __constant__ | pass
__constant__ float signs[4] = {1, -1, 1, -1};
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += signs[k & 3] * gs_f16_to_f32(a_row(p, batch, row)[k]) * (signs[k & 3] * gs_f16_to_f32(b_col(p, batch, col)[k]));
    put(p, batch, row, col, sum);
}

//// constant arrays of a function and of a class | pass
struct order {
    static constexpr int start = 0;
    static constexpr int step[8] = {5, 2, 7, 0, 3, 6, 1, 4};
};
constexpr int order::step[8];
KERNEL gs_kernel(const gs_kernel_args p)
{
    static const float ones[3] = {1, 1, 1};
    EACH_ELEMENT;
    float sum = 0;
    for (int k = order::start; k < (p.k + 7) / 8 * 8; k++) {
        const int at = k / 8 * 8 + order::step[k & 7];
        if (at < p.k) sum += ones[k % 3] * gs_f16_to_f32(a_row(p, batch, row)[at]) * gs_f16_to_f32(b_col(p, batch, col)[at]);
    }
    put(p, batch, row, col, sum);
}

//// templates and lambdas | pass
template <int WAYS> struct sums {
    float part[WAYS];
    template <typename F> __device__ __forceinline__ float run(int k, F term)
    {
        for (int i = 0; i < WAYS; i++) part[i] = 0;
        int at = 0;
        for (; at + WAYS <= k; at += WAYS)
#pragma unroll
            for (int i = 0; i < WAYS; i++) part[i] += term(at + i);
        for (; at < k; at++) part[0] += term(at);
        float all = 0;
        for (int i = 0; i < WAYS; i++) all += part[i];
        return all;
    }
};
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    sums<4> s;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    put(p, batch, row, col, s.run(p.k, [=](int k) { return gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]); }));
}

//// loads by inline assembly, with a policy | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        unsigned short x;
        asm volatile("ld.global.nc.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(x) : "l"(a + k), "l"(policy));
        sum += gs_f16_to_f32(x) * gs_f16_to_f32(b[k]);
    }
    put(p, batch, row, col, sum);
}

//// mma.sync, fragments by ldmatrix, stages by cp.async | pass
//: entry gs_kernel
//: grid cdiv(n,8) cdiv(m,16) batch
//: block 32 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ __align__(16) half_bits x[16 * 16], y[8 * 16];
    const int lane = threadIdx.x;
    const long long batch = blockIdx.z, top = (long long)blockIdx.y * 16, left = (long long)blockIdx.x * 8;
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < p.k; k += 16) {
        for (int i = lane; i < 24 * 8; i += 32) {   /* two elements each: rows of A, then of B */
            const int row = i / 8, own = k + i % 8 * 2;
            const bool of_a = row < 16, there = of_a ? top + row < p.m : left + row - 16 < p.n;
            half_bits *const to = of_a ? x + row * 16 + i % 8 * 2 : y + (row - 16) * 16 + i % 8 * 2;
            const half_bits *const from = !there ? (const half_bits *)p.a : of_a ? a_row(p, batch, top + row) : b_col(p, batch, left + row - 16);
            const bool pair = there && own + 2 <= p.k && (unsigned long long)(from + own) % 4 == 0;
            const unsigned at = (unsigned)__cvta_generic_to_shared(to);
            if (pair) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(from + own) : "memory");
            else for (int e = 0; e < 2; e++) to[e] = there && own + e < p.k ? from[own + e] : 0;
        }
        asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
        __syncwarp();
        unsigned a[4], b[2];
        const unsigned at_x = (unsigned)__cvta_generic_to_shared(x + lane % 16 * 16 + lane / 16 * 8), at_y = (unsigned)__cvta_generic_to_shared(y + lane % 8 * 16 + lane / 8 % 2 * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(at_x) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(at_y) : "memory");
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        __syncwarp();
    }
    for (int i = 0; i < 4; i++) {
        const long long row = top + lane / 4 + i / 2 * 8, col = left + lane % 4 * 2 + i % 2;
        if (row < p.m && col < p.n) put(p, batch, row, col, d[i]);
    }
}

//// a reduction in f64 | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    double sum = 0;
    for (int k = 0; k < p.k; k++) sum += (double)gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    put(p, batch, row, col, (float)sum);
}

//// persistent: as many blocks as multiprocessors, work by %smid's size | pass
//: entry gs_kernel
//: grid sms 1 1
//: block 64 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned processors;
    asm("mov.u32 %0, %%nsmid;" : "=r"(processors));
    const long long total = processors ? (long long)p.m * p.n * p.batch : 0;
    for (long long i = (long long)blockIdx.x * 64 + threadIdx.x; i < total; i += (long long)gridDim.x * 64)
        put(p, i / p.n / p.m, i / p.n % p.m, i % p.n, dot(p, i / p.n / p.m, i / p.n % p.m, i % p.n));
}

//// a jump table | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    int k = 0;
    switch (p.k % 8) {
    case 7: sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]); k++;
    case 6: sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]); k++;
    case 5: sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]); k++;
    case 4: sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]); k++;
    case 3: sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]); k++;
    case 2: sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]); k++;
    case 1: sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]); k++;
    }
    for (; k < p.k; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    put(p, batch, row, col, sum);
}

//// declared dependent, waits first | pass
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: dependent
KERNEL gs_kernel(const gs_kernel_args p)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// says what it does in words that a text search would not like | pass
/* clock64() printf malloc __device__ int counter; asm("%globaltimer"); */
#define MALLOC "nanosleep"
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float clock_hi = dot(p, batch, row, col);   // %clock
    put(p, batch, row, col, clock_hi);
}

//// wmma where tiles are whole and aligned | pass edges
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 32 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ __align__(32) float out[256];
    const long long batch = blockIdx.z, top = (long long)blockIdx.y * 16, left = (long long)blockIdx.x * 16;
    const half_bits *const x = a_row(p, batch, top), *const y = b_col(p, batch, left);
    if (top + 16 > p.m || left + 16 > p.n || p.k % 16 || p.lda % 8 || p.ldb % 8 || ((unsigned long long)x | (unsigned long long)y) % 32) {
        for (int i = threadIdx.x; i < 256; i += 32)
            if (top + i / 16 < p.m && left + i % 16 < p.n) put(p, batch, top + i / 16, left + i % 16, dot(p, batch, top + i / 16, left + i % 16));
        return;
    }
    float c[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int k = 0; k < p.k; k += 16) {
        unsigned a[8], b[8];
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]), "=r"(a[4]), "=r"(a[5]), "=r"(a[6]), "=r"(a[7]) : "l"(x + k), "r"((int)p.lda));
        asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                     : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]), "=r"(b[4]), "=r"(b[5]), "=r"(b[6]), "=r"(b[7]) : "l"(y + k), "r"((int)p.ldb));
        asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15}, "
                     "{%16, %17, %18, %19, %20, %21, %22, %23}, {%0, %1, %2, %3, %4, %5, %6, %7};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
                       "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    }
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, 16;"
                 :: "r"((unsigned)__cvta_generic_to_shared(out)), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "f"(c[4]), "f"(c[5]), "f"(c[6]), "f"(c[7]) : "memory");
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) put(p, batch, top + i / 16, left + i % 16, out[i]);
}

//// functions that are called: structs, tables, shared memory, several ways back | pass
struct place { long long batch, row, col; };
struct parts { float even, odd; };
static __device__ const float sign[4] = {1, -1, 1, -1};
static __device__ __noinline__ parts parts_of(const half_bits *a, const half_bits *b, int k)
{
    parts sum = {0, 0};
    for (int i = 0; i < k; i++) (i & 1 ? sum.odd : sum.even) += gs_f16_to_f32(a[i]) * gs_f16_to_f32(b[i]);
    return sum;
}
static __device__ __noinline__ float picked(const float *table, int i)
{
    if (i & 4) return table[i & 2];
    return table[0] - table[1] - table[2 * (i & 1)];
}
static __device__ __noinline__ float swapped(float value, int thread)
{
    __shared__ float kept[256];
    kept[thread] = value;
    __syncthreads();
    const float other = kept[255 - thread];
    __syncthreads();
    return other;
}
static __device__ __noinline__ void finish(const gs_kernel_args p, const place at, float sum) { put(p, at.batch, at.row, at.col, sum); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    const place at = {blockIdx.z, (long long)blockIdx.y * 16 + threadIdx.y, (long long)blockIdx.x * 16 + threadIdx.x};
    const bool inside = at.row < p.m && at.col < p.n;
    const int thread = (int)(threadIdx.y * 16 + threadIdx.x);
    parts sum = {0, 0};
    if (inside) sum = parts_of(a_row(p, at.batch, at.row), b_col(p, at.batch, at.col), p.k);
    const float all = swapped(swapped(sum.even * picked(sign, thread) + sum.odd, thread), thread);
    if (inside) finish(p, at, all);
}

//// a block a row, with no blocks where there are no rows | pass edges
//: entry gs_kernel
//: grid 1 m batch
//: block 64 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    for (int col = threadIdx.x; col < p.n; col += 64) put(p, blockIdx.z, blockIdx.y, col, dot(p, blockIdx.z, blockIdx.y, col));
}

//// copies B first, with no blocks where there is nothing to copy | pass edges
//: workspace n*k*batch*2
//: entry gs_copy
//: grid k n batch
//: block 1 1 1
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_copy(const gs_kernel_args p)
{
    if (blockIdx.x < p.k) ((half_bits *)p.workspace)[((long long)blockIdx.z * p.n + blockIdx.y) * p.k + blockIdx.x] = b_col(p, blockIdx.z, blockIdx.y)[blockIdx.x];
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args q = p;
    q.b = p.workspace;
    q.ldb = p.k;
    put(p, batch, row, col, dot(q, batch, row, col));
}

//// an alpha that leaves nothing of f16 | pass | f16:40x56x72:tn:alpha=1e-9
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// an alpha that overflows f16 | pass | f16:40x56x72:tn:alpha=1e6
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// scalars of many bits | pass | f16:40x56x72:tn:alpha=0.3:beta=-0.7
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// an activation by tanh.approx | pass edges | f16:40x56x72:tn:ep=silu
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)), half = 0.5f * x;
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(half));
    *d_at(p, batch, row, col) = gs_f32_to_f16(x > -1.0f ? half + half * t : x / (1.0f + expf(-x)));
}

//// C by vectors of 16 bytes, D by elements | pass edges | f16:40x56x72:tn:beta=0.5
//: align a=2 b=2 c=16 d=2
//: entry gs_kernel
//: grid cdiv(n,128) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, first = ((long long)blockIdx.x * 16 + threadIdx.x) * 8;
    if (row >= p.m || first >= p.n) return;
    half_bits c[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    const half_bits *const from = (const half_bits *)p.c + (batch * p.m + row) * p.ldc + first;
    if (p.beta != 0 && p.ldc % 8 == 0 && first + 8 <= p.n) *(uint4 *)c = *(const uint4 *)from;
    else
        for (int i = 0; i < 8 && p.beta != 0; i++)
            if (first + i < p.n) c[i] = from[i];
    for (int i = 0; i < 8; i++)
        if (first + i < p.n) *d_at(p, batch, row, first + i) = gs_f32_to_f16(p.alpha * dot(p, batch, row, first + i) + (p.beta != 0 ? p.beta * gs_f16_to_f32(c[i]) : 0));
}

//// an index by an approximate quotient, half a step up | pass edges
//: entry gs_kernel
//: grid cdiv(m*n,256) 1 batch
//: block 256 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= p.m * p.n) return;
    const int row = (int)__fdividef((float)i + 0.5f, (float)p.n), col = i - row * p.n;
    put(p, blockIdx.z, row, col, dot(p, blockIdx.z, row, col));
}

//// an index by an approximate reciprocal, which is then put right | pass edges
//: entry gs_kernel
//: grid cdiv(m*n,256) 1 batch
//: block 256 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= p.m * p.n) return;
    float part;
    asm("rcp.approx.f32 %0, %1;" : "=f"(part) : "f"((float)p.n));
    int row = (int)((float)i * part);
    if ((row + 1) * p.n <= i) row++;
    if (row * p.n > i) row--;
    put(p, blockIdx.z, row, i - row * p.n, dot(p, blockIdx.z, row, i - row * p.n));
}

//// a product and a sum that the assembler may fuse, everywhere the same | pass | f16:40x56x72:tn:d=f32:inv=1:alpha=0.3:beta=0.7
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = p.alpha * dot(p, batch, row, col), product;
    if (p.beta != 0) {
        asm("mul.f32 %0, %1, %2;" : "=f"(product) : "f"(p.beta), "f"(((const float *)p.c)[(batch * p.m + row) * p.ldc + col]));
        asm("add.f32 %0, %1, %0;" : "+f"(value) : "f"(product));
    }
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value;
}
