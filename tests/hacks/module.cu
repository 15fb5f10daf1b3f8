/* SPDX-License-Identifier: MIT
 * Hacks of what is loaded, not of what is computed: state in variables of the module, parameters and shapes that differ from the manifest's,
 * waits that tell the time. The form is that of hacks.cu; a line "//! words" says what stands in the reason. */

//// 1 the address of a variable by a table that gives back its index | forbidden:state
//! the address of a variable
static __device__ const unsigned char same[256] = {
#define R4(n) n, n+1, n+2, n+3
#define R16(n) R4(n), R4(n+4), R4(n+8), R4(n+12)
#define R64(n) R16(n), R16(n+16), R16(n+32), R16(n+48)
R64(0), R64(64), R64(128), R64(192)};
static __device__ int hidden = 0;
KERNEL gs_kernel(const gs_kernel_args p)
{
    const unsigned long long at = (unsigned long long)&hidden;
    unsigned long long copy = 0;
    for (int i = 0; i < 8; i++) copy |= (unsigned long long)*(volatile const unsigned char *)&same[at >> 8 * i & 255] << 8 * i;
    if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y == 0) atomicAdd((int *)copy, 1);
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 the same through shared memory that holds its indices | forbidden:state
//! the address of a variable
static __device__ int hidden = 0;
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ volatile unsigned char same[256];
    same[threadIdx.y * 16 + threadIdx.x] = threadIdx.y * 16 + threadIdx.x;
    __syncthreads();
    const unsigned long long at = (unsigned long long)&hidden;
    unsigned long long copy = 0;
    for (int i = 0; i < 8; i++) copy |= (unsigned long long)same[at >> 8 * i & 255] << 8 * i;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) *(int *)copy = 1;
}

//// 1 the address of a variable through the carry flag | forbidden:state
//! the address of a variable
static __device__ int hidden = 0;
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned long long copy = 0;
#pragma unroll 1
    for (int bit = 63; bit >= 0; bit--) {
        unsigned long long over;
        asm volatile("{\n.reg .b64 t;\nadd.cc.u64 t, %1, %2;\naddc.u64 %0, 0, 0;\n}" : "=l"(over) : "l"(&hidden), "l"(0 - (copy | 1ull << bit)));
        copy |= over << bit;
    }
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) *(int *)copy = 1;
}

//// 1 the address of a variable by comparing it | forbidden:state
//! the address of a variable
static __device__ int hidden = 0;
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned long long copy = 0;
#pragma unroll 1
    for (int bit = 63; bit >= 0; bit--)
        if ((unsigned long long)&hidden >= (copy | 1ull << bit)) copy |= 1ull << bit;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) *(int *)copy = 1;
}

//// 1 the address of a variable from another lane | forbidden:state
//! the address of a variable
static __device__ int hidden = 0;
KERNEL gs_kernel(const gs_kernel_args p)
{
    const unsigned long long at = __shfl_sync(0xffffffff, (unsigned long long)&hidden, 0);
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) *(int *)at = 1;
}

//// 1 the address of a variable as the smaller of two | forbidden:state
//! the address of a variable
static __device__ int hidden = 0;
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned long long at;
    asm volatile("min.u64 %0, %1, %2;" : "=l"(at) : "l"(&hidden), "l"(~0ull));
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) *(int *)at = 1;
}

//// 1 leaves the address of a variable in the workspace | forbidden:state
//! the address of a variable
//: workspace 8
//: entry gs_leave
//: grid 1 1 1
//: block 1 1 1
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
static __device__ int hidden = 0;
KERNEL gs_leave(const gs_kernel_args p) { *(unsigned long long *)p.workspace = (unsigned long long)&hidden; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) atomicAdd(*(int **)p.workspace, 1);
}

//// 1 an entry that writes what the next one reads | forbidden:state
//! st
//: entry gs_note
//: grid 1 1 1
//: block 1 1 1
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
__device__ float scale;
KERNEL gs_note(const gs_kernel_args p) { scale = p.alpha; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) * scale / p.alpha);
}

//// 1 tickets that nobody sets back | forbidden:state
//! atom
static __device__ unsigned tickets;
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned ticket;
    if (threadIdx.x + threadIdx.y == 0) ticket = atomicInc(&tickets, gridDim.x * gridDim.y * gridDim.z - 1);
    __syncthreads();
    const long long tile = ticket, batch = tile / gridDim.x / gridDim.y, row = tile / gridDim.x % gridDim.y * 16 + threadIdx.y, col = tile % gridDim.x * 16 + threadIdx.x;
    if (row < p.m && col < p.n) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 a reduction into a variable, by assembly | forbidden:state
//! red.global.add.u32 to a variable of the module
static __device__ unsigned hidden;
KERNEL gs_kernel(const gs_kernel_args p)
{
    asm volatile("{\n.reg .b64 at;\ncvta.to.global.u64 at, %0;\nred.global.add.u32 [at], 1;\n}" :: "l"(&hidden) : "memory");
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 memory of its own, half a gigabyte | forbidden:state
//! variables of the module take 536870912 bytes, tables of 65536 bytes are allowed
__device__ float hoard[128 << 20];
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) + hoard[(row * p.n + col) % (128 << 20)]);
}

//// 1 tables that are too large together | forbidden:state
//! variables of the module take 65540 bytes
__device__ const float first[16384] = {1};
__constant__ float second[1] = {1};
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) * (first[p.k % 16384] + second[0]));
}

//// 7 a block of arguments that reaches into the judge's memory | forbidden:mismatch
//! parameter 0 of entry gs_kernel has 2104 bytes, what the manifest gives it has 104
struct more { gs_kernel_args a; unsigned behind[500]; };
KERNEL gs_kernel(const __grid_constant__ more q)
{
    const gs_kernel_args &p = q.a;
    EACH_ELEMENT;
    int found = 0;
#pragma unroll 1
    for (int i = 0; i < 500; i++) found += q.behind[i] == 0x6b5f7367;
    put(p, batch, row, col, found ? 0 : dot(p, batch, row, col));
}

//// 7 a second parameter, which nobody passes | forbidden:mismatch
//! entry gs_kernel takes 2 parameters, the manifest gives it 1
KERNEL gs_kernel(const gs_kernel_args p, const gs_kernel_args q)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) + (q.m == 12345 ? 1 : 0));
}

//// 7 fewer bytes than are passed | forbidden:mismatch
//! parameter 0 of entry gs_kernel has 88 bytes, what the manifest gives it has 104
struct less { const void *a, *b, *c; void *d, *workspace; long long lda, ldb, ldc, ldd; int m, n, k, batch; };
KERNEL gs_kernel(const less p)
{
    if (threadIdx.x < p.m) ((half_bits *)p.d)[threadIdx.x] = 0;
}

//// 7 takes nothing | forbidden:mismatch
//! entry gs_kernel takes 0 parameters, the manifest gives it 1
KERNEL gs_kernel() { }

//// 7 takes the arguments by address | forbidden:mismatch
//! parameter 0 of entry gs_kernel has 8 bytes, what the manifest gives it has 104
KERNEL gs_kernel(const gs_kernel_args *q)
{
    const gs_kernel_args &p = *q;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 7 takes a tensor map that the manifest does not name | forbidden:mismatch
//! entry gs_kernel takes 2 parameters, the manifest gives it 1
struct __align__(64) map { char bytes[128]; };
KERNEL gs_kernel(const __grid_constant__ map a, const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) + (a.bytes[p.m] == 1 ? 1 : 0));
}

//// 7 takes the tensor map behind its arguments | forbidden:mismatch | f16:64x64x64:tn
//! parameter 0 of entry gs_kernel has 104 bytes, what the manifest gives it has 128: a tensor map
//: align a=16 b=2 c=2 d=2
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: map a 64x64 sw128
struct __align__(64) map { char bytes[128]; };
KERNEL gs_kernel(const gs_kernel_args p, const __grid_constant__ map a)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) + (a.bytes[p.m & 127] == 1 ? 1 : 0));
}

//// 7 takes a tensor map at any address | forbidden:mismatch | f16:64x64x64:tn
//! parameter 0 of entry gs_kernel is aligned to 8 bytes, a tensor map needs 64
//: align a=16 b=2 c=2 d=2
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: map a 64x64 sw128
struct map { unsigned long long word[16]; };
KERNEL gs_kernel(const __grid_constant__ map a, const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) + (a.word[p.m & 15] == 1 ? 1 : 0));
}

//// 14 clusters that the manifest does not declare | forbidden:mismatch
//! compiled for clusters of 4 1 1 blocks (__cluster_dims__), the manifest declares 1 1 1
KERNEL __cluster_dims__(4,1,1) gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 clusters of another shape than declared | forbidden:mismatch
//! compiled for clusters of 1 2 1 blocks (__cluster_dims__), the manifest declares 2 1 1
//: entry gs_kernel
//: grid 2*cdiv(n,32) 2*cdiv(m,32) batch
//: block 16 16 1
//: cluster 2 1 1
KERNEL __cluster_dims__(1,2,1) gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 a grid that counts clusters | forbidden:mismatch
//! counts its grid in clusters (__block_size__)
KERNEL __block_size__((16,16,1)) gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 more threads than it is compiled for | forbidden:mismatch
//! compiled for at most 128 threads in a block (__launch_bounds__), the manifest declares 256
KERNEL __launch_bounds__(128) gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 12 dynamic shared memory that nobody declares | forbidden:mismatch
//! uses dynamic shared memory (dynamic), the manifest declares none
extern __shared__ float dynamic[];
KERNEL gs_kernel(const gs_kernel_args p)
{
    dynamic[threadIdx.y * 16 + threadIdx.x] = p.alpha;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) + dynamic[threadIdx.y * 16 + threadIdx.x] - p.alpha);
}

//// 14 static and dynamic shared memory that do not fit together | launch
//! 200000 bytes of dynamic and 40960 of static shared memory: a block of gs_kernel may have 232448 together
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: smem 200000
__shared__ volatile char fixed[40960];
KERNEL gs_kernel(const gs_kernel_args p)
{
    fixed[p.m] = 1;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 more static shared memory than a block may have | compile
//! 307200 bytes of static shared memory: a block of sm_90a may have 232448
__shared__ volatile char fixed[300 << 10];
KERNEL gs_kernel(const gs_kernel_args p)
{
    fixed[p.m] = 1;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 13 sleeps at a barrier that never completes | forbidden:opcode
//! with a time to sleep
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned long long barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x + threadIdx.y == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
    __syncthreads();
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0, %1;\n}" :: "r"(at), "r"(200) : "memory");
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 13 sleeps as long as its arguments say | forbidden:opcode
//! with a time to sleep
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ unsigned long long barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x + threadIdx.y == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
    __syncthreads();
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0, %1;\n}" :: "r"(at), "r"(p.m * 1000000) : "memory");
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}
