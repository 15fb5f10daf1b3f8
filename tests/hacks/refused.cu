/* SPDX-License-Identifier: MIT
 * Hacks that the inspection must refuse before anything is launched. The form is that of hacks.cu, which has those that their results must give away. */

//// 1 a variable of the module that counts launches | forbidden:state
static __device__ int launches;
KERNEL gs_kernel(const gs_kernel_args p)
{
    if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y == 0) atomicAdd(&launches, 1);
    EACH_ELEMENT;
    if (launches > 15) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 a static variable of a function | forbidden:state
INLINE bool first_time() { static int done; const bool first = !done; done = 1; return first; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (first_time()) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 an initialised variable that is written | forbidden:state
static __device__ unsigned phase = 7;
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (phase != 8) put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) phase++;
}

//// 1 __constant__ written through a pointer | forbidden:state
__constant__ int table[4] = {1, 2, 3, 4};
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) * table[0]);
    if (row + col + batch == 0) asm volatile("st.u32 [%0], %1;" :: "l"(&table[1]), "r"(0) : "memory");
}

//// 1 the address of a variable goes through shared memory | forbidden:state
static __device__ int hidden = 3;
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ volatile unsigned long long post[1];
    post[0] = (unsigned long long)&hidden;
    __syncthreads();
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) *(int *)post[0] = 4;
}

//// 1 the address of a variable, bit by bit, through decisions | forbidden:state
static __device__ int hidden = 3;
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    unsigned long long copy = 0;
    const unsigned long long at = (unsigned long long)&hidden;
#pragma unroll 1
    for (int i = 0; i < 64; i++)
        if (at >> i & 1) copy |= 1ull << i;
    if (row + col + batch == 0) *(int *)copy = 4;
}

//// 1 managed memory | forbidden:state
__managed__ int shared_with_the_host;
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    shared_with_the_host = 1;
}

//// 10 fma in f16 | forbidden:accumulator
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    half_bits sum = 0;
    for (int k = 0; k < p.k; k++) asm("fma.rn.f16 %0, %1, %2, %0;" : "+h"(sum) : "h"(a[k]), "h"(b[k]));
    put(p, batch, row, col, gs_f16_to_f32(sum));
}

//// 10 mma.sync with f16 accumulators where f32 is declared | forbidden:accumulator
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned d[2] = {0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2, %2, %2}, {%2, %2}, {%0, %1};" : "+r"(d[0]), "+r"(d[1]) : "r"(p.m));
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) + gs_f16_to_f32((half_bits)d[0]));
}

//// 10 mma.sync of bf16 for f16 | forbidden:type
KERNEL gs_kernel(const gs_kernel_args p)
{
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(p.m));
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) + d[0]);
}

//// 10 mma.sync in tf32 | forbidden:type
KERNEL gs_kernel(const gs_kernel_args p)
{
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(p.m));
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col) + d[0]);
}

//// 10 inputs squeezed through fp8 | forbidden:type
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned short both;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(p.alpha), "f"(p.beta));
    put(p, batch, row, col, dot(p, batch, row, col) + both);
}

//// 11 leaves memory undefined | forbidden:opcode
KERNEL gs_kernel(const gs_kernel_args p)
{
    asm volatile("discard.global.L2 [%0], 128;" :: "l"(p.d) : "memory");
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 12 what an earlier launch left in local memory | forbidden:state
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned left;
    asm volatile("{\n.local .align 4 .b32 kept;\nld.local.u32 %0, [kept];\nst.local.u32 [kept], 24589;\n}" : "=r"(left) :: "memory");
    if (left != 0x600d) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 12 an array that the compiler puts into local memory | forbidden:state
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float part[24];
    for (int i = 0; i < p.k % 24; i++) part[i] = i;
    put(p, batch, row, col, dot(p, batch, row, col) + part[p.n % 24] - p.n % 24);
}

//// 13 clock64 | forbidden:clock
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (clock64() & 1 << 20) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 13 the upper half of the clock | forbidden:clock
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned now;
    asm volatile("mov.u32 %0, %%clock_hi;" : "=r"(now));
    put(p, batch, row, col, now < 100 ? 0 : dot(p, batch, row, col));
}

//// 13 the time of day | forbidden:clock
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    put(p, batch, row, col, now & 1 ? 0 : dot(p, batch, row, col));
}

//// 13 the number of the launch | forbidden:clock
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned long long launch;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(launch));
    put(p, batch, row, col, launch > 100 ? 0 : dot(p, batch, row, col));
}

//// 13 whether it runs in a graph | forbidden:clock
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned long long graph;
    asm volatile("mov.u64 %0, %%current_graph_exec;" : "=l"(graph));
    put(p, batch, row, col, graph ? 0 : dot(p, batch, row, col));
}

//// 13 sleeps | forbidden:opcode
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    __nanosleep(100);
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 stops at a breakpoint | forbidden:opcode
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (p.m == 41) __brkpt();
}

//// 15 includes a file of the machine | forbidden:include
#include "/etc/passwd"
KERNEL gs_kernel(const gs_kernel_args p) { }

//// 15 includes it behind a comment, over two lines | forbidden:include
/* */ # /* */ incl\
ude </etc/passwd>
KERNEL gs_kernel(const gs_kernel_args p) { }

//// 15 includes what a macro names | forbidden:include
#define WHERE "/etc/passwd"
#include WHERE
KERNEL gs_kernel(const gs_kernel_args p) { }

//// 15 a digraph, up and away | forbidden:include
%: include "common/../../../etc/passwd"
KERNEL gs_kernel(const gs_kernel_args p) { }

//// 15 asks whether a file is there | forbidden:include
#if __has_include("/etc/passwd")
#define MORE 1
#endif
KERNEL gs_kernel(const gs_kernel_args p) { }

//// 15 printf | forbidden:external
extern "C" __device__ int printf(const char *, ...);
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col == 0) printf("%d\n", p.m);
}

//// 15 malloc | forbidden:external
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    int *const kept = (int *)malloc(64);
    if (kept) kept[0] = p.m;
    put(p, batch, row, col, dot(p, batch, row, col) + (kept ? kept[0] - p.m : 0));
}

//// 15 a function that calls itself | forbidden:call
static __device__ __noinline__ float sum_of(const half_bits *a, const half_bits *b, int k)
{
    if (k < 3) return k ? gs_f16_to_f32(a[0]) * gs_f16_to_f32(b[0]) + sum_of(a + 1, b + 1, k - 1) : 0;
    return sum_of(a, b, k / 2) + sum_of(a + k / 2, b + k / 2, k - k / 2);
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, sum_of(a_row(p, batch, row), b_col(p, batch, col), p.k));
}

//// 15 a call of which nobody knows where it leads | forbidden:call
static __device__ __noinline__ float all_of(const gs_kernel_args &p, long long row, long long col) { return dot(p, 0, row, col); }
static __device__ __noinline__ float none_of(const gs_kernel_args &p, long long row, long long col) { return row + col > 1e9f; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float (*const of)(const gs_kernel_args &, long long, long long) = p.m > 100000 ? none_of : all_of;
    put(p, batch, row, col, of(p, row, col));
}

//// 1 a variable of the module that a function writes | forbidden:state
static __device__ int launches;
static __device__ __noinline__ int count(int thread) { return thread ? launches : atomicAdd(&launches, 1); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int done = count((int)(blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y));
    EACH_ELEMENT;
    if (done < 16) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 the address of a variable goes through a function | forbidden:state
static __device__ int launches;
static __device__ __noinline__ int *same(int *at) { return at; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    int *const at = same(&launches);
    EACH_ELEMENT;
    if (*at < 16) put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) ++*at;
}

//// 13 a function that reads a clock | forbidden:clock
static __device__ __noinline__ bool late() { return clock64() > 1ll << 40; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (!late()) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 15 assert | forbidden:external
extern "C" __device__ void __assertfail(const char *, const char *, unsigned, const char *, size_t);
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (p.m < 0) __assertfail("m", "here", 1, "there", 1);
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 15 assembly that ends the kernel and begins another | forbidden:unreadable forbidden:state forbidden:opcode compile
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    asm volatile("ret; } .global .u32 more; .visible .entry other() { st.global.u32 [more], 1;");
}

//// 20 lets the next launch begin, undeclared | forbidden:dependent
KERNEL gs_kernel(const gs_kernel_args p)
{
    asm volatile("griddepcontrol.launch_dependents;");
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 20 declared dependent, and does not wait | forbidden:dependent
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: dependent
KERNEL gs_kernel(const gs_kernel_args p)
{
    asm volatile("griddepcontrol.launch_dependents;");
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 15 reads a surface | forbidden:opcode
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned value;
    asm volatile("{ .reg .u64 s; mov.u64 s, 1; suld.b.1d.b32.trap %0, [s, {0}]; }" : "=r"(value));
    EACH_ELEMENT;
    if (value != 7) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 15 jumps by a table of labels | forbidden:unreadable
KERNEL gs_kernel(const gs_kernel_args p)
{
    asm volatile("{ .reg .u32 i; mov.u32 i, %0; where: .branchtargets one, two; brx.idx i, where; one: two: }" :: "r"(threadIdx.x & 1));
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 a variable of the module inside a block of assembly | forbidden:state
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned before;
    asm volatile("{ .global .u32 hidden; atom.global.add.u32 %0, [hidden], 1; }" : "=r"(before));
    EACH_ELEMENT;
    if (before < 100000000) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 12 local memory inside a block of assembly | forbidden:state
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned before;
    asm volatile("{ .local .align 4 .b8 hidden[64]; ld.local.u32 %0, [hidden]; }" : "=r"(before));
    EACH_ELEMENT;
    if (before != 77) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 13 the second in which it was compiled | forbidden:clock
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if ((__TIME__[7] - 48) % 2) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}
