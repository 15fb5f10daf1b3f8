/* SPDX-License-Identifier: MIT
 * Odd and honest: modules with tables, parameters and shapes that are unusual, and agree with their manifest. The form is that of hacks.cu. */

//// a table of structures | pass
struct order { int at; float sign; short unused; };
static __device__ const order orders[4] = {{2, 1, 7}, {0, -1, 7}, {3, 1, 7}, {1, -1, 7}};
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < (p.k + 3) / 4 * 4; k++) {
        const order &o = orders[k & 3];
        const int at = k / 4 * 4 + o.at;
        if (at < p.k) sum += o.sign * gs_f16_to_f32(a_row(p, batch, row)[at]) * (o.sign * gs_f16_to_f32(b_col(p, batch, col)[at]));
    }
    put(p, batch, row, col, sum);
}

//// a row of a table, chosen when it runs | pass
static constexpr int steps[2][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}};
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    const int (&step)[4] = steps[(p.m + p.n) & 1];
    for (int k = 0; k < p.k; k += 4)
        for (int i : step)
            if (k + i < p.k) sum += gs_f16_to_f32(a_row(p, batch, row)[k + i]) * gs_f16_to_f32(b_col(p, batch, col)[k + i]);
    put(p, batch, row, col, sum);
}

//// one of two tables by pointer, which is moved along | pass
__device__ const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, halves[8] = {.5f, .5f, .5f, .5f, .5f, .5f, .5f, .5f};
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float *at = p.k & 1 ? ones : halves;
    float sum = 0, weight = 0;
    for (int i = 0; i < p.k % 8 + 1; i++) weight += *at++;
    weight /= p.k & 1 ? p.k % 8 + 1 : (p.k % 8 + 1) * .5f;
    for (int k = 0; k < p.k; k++) sum += weight * gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}

//// a table that goes to shared memory by cp.async | pass
__device__ const float ones[4] = {1, 1, 1, 1};
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ __align__(16) float copy[4];
    if (threadIdx.x + threadIdx.y == 0)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.wait_all;" :: "r"((unsigned)__cvta_generic_to_shared(copy)), "l"(ones) : "memory");
    __syncthreads();
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) * copy[col & 3]);
}

//// letters of a word as a permutation | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const char *const word = "dbca";
    float sum = 0;
    for (int k = 0; k < (p.k + 3) / 4 * 4; k++) {
        const int at = k / 4 * 4 + word[k & 3] - 'a';
        if (at < p.k) sum += gs_f16_to_f32(a_row(p, batch, row)[at]) * gs_f16_to_f32(b_col(p, batch, col)[at]);
    }
    put(p, batch, row, col, sum);
}

//// tables as large as they may be | pass
__device__ const unsigned char large[65472] = {1};
__constant__ float zeros[16];
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) * large[0] + zeros[p.k & 15]);
}

//// clusters in the code as in the manifest | pass
//: entry gs_kernel
//: grid 2*cdiv(n,32) cdiv(m,16) batch
//: block 16 16 1
//: cluster 2 1 1
KERNEL __cluster_dims__(2,1,1) gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// room for larger blocks and clusters than there are | pass
//: entry gs_kernel
//: grid 2*cdiv(n,32) cdiv(m,16) batch
//: block 16 16 1
//: cluster 2 1 1
KERNEL __launch_bounds__(512, 1, 4) gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// arguments in a structure of its own, as large as the given one | pass
struct mine : gs_kernel_args { __device__ int elements() const { return m * n; } };
KERNEL gs_kernel(const __grid_constant__ mine p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, p.elements() > 0 ? dot(p, batch, row, col) : 0);
}

//// entries that nobody launches | pass
KERNEL gs_other(const gs_kernel_args p, const int more) { if (more) *(half_bits *)p.d = 0; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// a tensor map that is declared, and not used | pass | f16:64x64x64:tn
//: align a=16 b=2 c=2 d=2
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: map a 64x64 sw128
struct __align__(64) map { char bytes[128]; };
KERNEL gs_kernel(const __grid_constant__ map a, const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// as much dynamic shared memory as there is | pass
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: smem 227*1024
extern __shared__ float dynamic[];
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    const int own = 227 * 256 - 1 - (threadIdx.y * 16 + threadIdx.x);
    dynamic[own] = row < p.m && col < p.n ? dot(p, batch, row, col) : 0;
    __syncthreads();
    if (row < p.m && col < p.n) put(p, batch, row, col, dynamic[own]);
}

//// static and dynamic shared memory, together all that there is | pass
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: smem 227*1024-1024
extern __shared__ float dynamic[];
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float fixed[256];
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    const int own = threadIdx.y * 16 + threadIdx.x;
    fixed[own] = row < p.m && col < p.n ? dot(p, batch, row, col) : 0;
    dynamic[226 * 256 - 1 - own] = fixed[own];
    __syncthreads();
    if (row < p.m && col < p.n) put(p, batch, row, col, dynamic[226 * 256 - 1 - own]);
}

//// a warp that loads for others, behind mbarriers, with a long time to wait | pass
//: entry gs_kernel
//: grid cdiv(n,32) m batch
//: block 64 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float row_of_a[32];
    __shared__ unsigned long long barriers[2];   /* filled, emptied */
    const unsigned full = (unsigned)__cvta_generic_to_shared(&barriers[0]), empty = full + 8;
    if (threadIdx.x < 2) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(full + 8 * threadIdx.x) : "memory");
    __syncthreads();
    const int lane = threadIdx.x % 32;
    const long long batch = blockIdx.z, row = blockIdx.y, col = (long long)blockIdx.x * 32 + lane;
    const bool loads = threadIdx.x < 32;
    float sum = 0;
    for (int k = 0, turn = 0; k < p.k; k += 32, turn++) {
        const unsigned waits = loads ? empty : full, arrives = loads ? full : empty, parity = loads ? (turn + 1) & 1 : turn & 1;
        asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, %2;\n@!done bra again;\n}" :: "r"(waits), "r"(parity), "r"(10000000) : "memory");
        if (loads) row_of_a[lane] = row < p.m && k + lane < p.k ? gs_f16_to_f32(a_row(p, batch, row)[k + lane]) : 0;
        else
            for (int i = 0; i < 32 && k + i < p.k && col < p.n; i++) sum += row_of_a[i] * gs_f16_to_f32(b_col(p, batch, col)[k + i]);
        asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared::cta.b64 state, [%0];\n}" :: "r"(arrives) : "memory");
    }
    if (!loads && row < p.m && col < p.n) put(p, batch, row, col, sum);
}

//// halves of a block that meet at named barriers | pass
//: entry gs_kernel
//: grid cdiv(n,32) m batch
//: block 128 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float part[2][32];
    const int lane = threadIdx.x % 32, half = threadIdx.x / 64, odd = threadIdx.x / 32 % 2;
    const long long batch = blockIdx.z, row = blockIdx.y, col = (long long)blockIdx.x * 32 + lane;
    const bool inside = row < p.m && col < p.n;
    float sum = 0;
    for (int k = half * 2 + odd; inside && k < p.k; k += 4) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    if (odd) part[half][lane] = sum;
    asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
    if (!odd) part[half][lane] += sum;
    __syncthreads();
    if (threadIdx.x < 32 && inside) put(p, batch, row, col, part[0][lane] + part[1][lane]);
}

//// atomics in the workspace: the last of three blocks adds up | pass
//: workspace 4*max(1,cdiv(n,16))*max(1,cdiv(m,16))*max(1,batch)+12*m*n*batch
//: zeroed 4*max(1,cdiv(n,16))*max(1,cdiv(m,16))*max(1,batch)
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) 3*batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned before;
    const long long batch = blockIdx.z / 3, third = blockIdx.z % 3, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    const long long tiles = (long long)gridDim.x * gridDim.y * p.batch, elements = (long long)p.m * p.n * p.batch, own = (batch * p.m + row) * p.n + col;
    unsigned *const count = (unsigned *)p.workspace + (batch * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    volatile float *const parts = (volatile float *)p.workspace + tiles;
    const bool inside = row < p.m && col < p.n && batch < p.batch;
    float sum = 0;
    for (int k = third; inside && k < p.k; k += 3) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    if (inside) parts[third * elements + own] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x + threadIdx.y == 0) before = atomicInc(count, 2);   /* 0, 1, 2, and 0 again */
    __syncthreads();
    __threadfence();
    if (before == 2 && inside) put(p, batch, row, col, parts[own] + parts[elements + own] + parts[2 * elements + own]);
}

//// a grid and blocks along z alone | pass | f16:13x11x40:tn
//: entry gs_kernel
//: grid 1 1 cdiv(m*n*batch,64)
//: block 1 1 64
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long i = (long long)blockIdx.z * 64 + threadIdx.z;
    if (i < (long long)p.m * p.n * p.batch) put(p, i / p.n / p.m, i / p.n % p.m, i % p.n, dot(p, i / p.n / p.m, i / p.n % p.m, i % p.n));
}

//// threads that leave early, and others that go on | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (p.k == 0) {
        put(p, batch, row, col, 0);
        return;
    }
    unsigned rest = __activemask();
    const unsigned same = __match_any_sync(rest, (int)row);
    float sum = dot(p, batch, row, col);
    sum = __shfl_sync(same, sum, threadIdx.x + threadIdx.y % 2 * 16);
    put(p, batch, row, col, sum);
}
