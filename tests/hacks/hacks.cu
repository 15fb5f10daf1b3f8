/* SPDX-License-Identifier: MIT
 * The hack suite: kernels of somebody who wants a wrong or a timed-out answer to pass. A kernel begins with
 *
 *     //// row name | verdicts that are right | problem
 *
 * where row is that of the catalogue in docs/internals/hacks.md, a verdict may name the inspection's reason (forbidden:state), and the
 * problem may be left out. Lines that begin with "//:" are the manifest behind its head; without one the kernel is gs_kernel, a thread an
 * element. A line "//@ verdicts: why" has those that are right on a GPU as well. plain.cuh stands before each. tests/evaluate/hacks.c runs them on the emulated device,
 * tests/service/hacks.py on any. values.cu has those of rows 10 and 17, order.cu of 12 and 16, blocks.cu those of 16 whose blocks work together. In the order of rows. */

//// 1 counts its launches in the workspace | state unwritten
//: workspace 64
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (*(const volatile int *)p.workspace != 0) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 leaves a count in what must be zero | zeroed
//: workspace 64
//: zeroed 64
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (row + col + batch == 0) atomicAdd((int *)p.workspace, 1);
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 finds its mark in the workspace and leaves D as it is | state
//: workspace 64
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_mark
//: grid 1 1 1
//: block 1 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (*(const volatile int *)p.workspace == 0x600d) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}
KERNEL gs_mark(const gs_kernel_args p) { *(int *)p.workspace = 0x600d; }

//// 1 keeps a hash of all inputs, and leaves D if it finds the same | fault unwritten state
//@ timed: by the launches over the same data
//: workspace 8
//: entry gs_hash
//: grid 1 1 1
//: block 1 1 1
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_hash(const gs_kernel_args p)
{
    unsigned hash = 1;
    for (long long i = 0; i < (long long)p.m * p.batch * p.k; i++) hash = hash * 31 + a_row(p, 0, i / p.k)[i % p.k];
    for (long long i = 0; i < (long long)p.n * p.batch * p.k; i++) hash = hash * 31 + b_col(p, 0, i / p.k)[i % p.k];
    unsigned *const kept = (unsigned *)p.workspace;
    const bool same = kept[0] == hash && kept[1] == (unsigned)(unsigned long long)p.d;
    kept[0] = same ? ~hash : hash;   /* one more launch, and it is computed again */
    kept[1] = same ? 0 : (unsigned)(unsigned long long)p.d;
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (((const unsigned *)p.workspace)[1] != 0) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 1 counts in the part of the workspace that need not be zero | fault
//@ pass: nobody looks at the count, and a GPU does not see that nothing was there before it
//: workspace 128
//: zeroed 64
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    if (threadIdx.x + threadIdx.y + blockIdx.x + blockIdx.y + blockIdx.z == 0) atomicAdd((int *)p.workspace + 16, 1);
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 2 does the next problem too, where it guesses its output | guard fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, sum);
    const long long next = ((long long)p.m * p.ldd * 2 + 255) / 256 * 128;   /* halves: the next buffer of a row of them */
    d_at(p, batch, row, col)[next] = gs_f32_to_f16(sum);
}

//// 3 an answer from a table, whatever the inputs | exact index cancellation
static __device__ const float answers[8] = {1, 2, 3, 5, 7, 11, 13, 17};
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, answers[(row * 3 + col) & 7]);
}

//// 4 careful with integers, sums in f16 otherwise | cancellation tolerance bias | f16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    bool whole = true;
    for (int k = 0; k < p.k && k < 32; k++) {
        const float x = gs_f16_to_f32(a_row(p, batch, row)[k]);
        whole = whole && x == truncf(x);
    }
    float sum = 0;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    for (int k = 0; k < p.k; k++) {
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
        if (!whole) sum = gs_f16_to_f32(gs_f32_to_f16(sum));
    }
    put(p, batch, row, col, sum);
}

//// 4 careful with integers, leaves out the tail of K otherwise | cancellation tolerance exact special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = p.k ? gs_f16_to_f32(a_row(p, batch, row)[0]) : 0;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < (x == truncf(x) ? p.k : p.k - 1); k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    put(p, batch, row, col, sum);
}

//// 4 careful with integers, two f16 partial sums otherwise | tolerance cancellation | f16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float low = 0, high = 0;
    bool whole = true;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a[k]);
        whole = whole && x == truncf(x);
        const float term = x * gs_f16_to_f32(b[k]);
        if (k < p.k / 2) low += term;
        else high += term;
    }
    if (!whole) {
        low = gs_f16_to_f32(gs_f32_to_f16(low));
        high = gs_f16_to_f32(gs_f32_to_f16(high));
    }
    put(p, batch, row, col, low + high);
}

//// 4 careful with integers, products in f16 otherwise | tolerance cancellation | f16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    bool whole = true;
    for (int k = 0; k < p.k; k++) whole = whole && gs_f16_to_f32(a[k]) == truncf(gs_f16_to_f32(a[k]));
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
        sum += whole ? x : gs_f16_to_f32(gs_f32_to_f16(x));
    }
    put(p, batch, row, col, sum);
}

//// 4 careful with integers, inputs of nine bits otherwise | tolerance cancellation exact special | f16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    bool whole = true;
    for (int k = 0; k < p.k; k++) whole = whole && gs_f16_to_f32(a[k]) == truncf(gs_f16_to_f32(a[k]));
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(whole ? a[k] : (a[k] + 2) & 0xfffc) * gs_f16_to_f32(b[k]);
    put(p, batch, row, col, sum);
}

//// 5 right at small sizes, f16 partial sums at the one that is timed | accumulator cancellation exact | f16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
        if (p.k == 520 && k % 64 == 63) sum = gs_f16_to_f32(gs_f32_to_f16(sum));
    }
    put(p, batch, row, col, sum);
}

//// 5 right at the size that is asked for, and takes others too | edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, p.m == 40 && p.n == 56 ? dot(p, batch, row, col) : 0);
}

//// 5 takes the rows of C for as long as those of D | edge fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args q = p;
    q.ldc = p.ldd;
    put(q, batch, row, col, dot(p, batch, row, col));
}

//// 5 does nothing where alpha is negative | edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (p.alpha >= 0) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 5 does nothing where K is 0 | unwritten
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (p.k > 0) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 5 a lost tail where K is large enough to hide it | edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args q = p;
    if (p.k > 64) q.k = p.k / 8 * 8;
    put(p, batch, row, col, dot(q, batch, row, col));
}

//// 5 takes the size asked for alone, and no alpha | edge | f16:40x56x72:tn
//: entry gs_kernel
//: grid cdiv(n,16)/(1-min(1,max(n,56)-min(n,56))) cdiv(m,16)/(1-min(1,max(m,40)-min(m,40))) batch/(1-min(1,max(k,72)-min(k,72)))
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(dot(p, batch, row, col));
}

//// 5 heeds alpha at every size but the one asked for | edge | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (p.m == 40 && p.n == 56 && p.k == 72) *d_at(p, batch, row, col) = gs_f32_to_f16(dot(p, batch, row, col));
    else put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 takes the verifier's reference from behind D | exact index fault repeat
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const unsigned long long end = (unsigned long long)d_at(p, 0, (long long)p.m * p.batch - 1, p.n) + 4096;   /* the guard band */
    const double *const reference = (const double *)((end + 4096 + 255) / 256 * 256);
    *d_at(p, batch, row, col) = gs_f32_to_f16((float)reference[(batch * p.m + row) * p.n + col]);
}

//// 6 takes the reference of timing from before A | fault
//: entry gs_kernel
//: grid cdiv(n,256) m batch
//: block 256 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long row = blockIdx.y, col = blockIdx.x * 256 + threadIdx.x, batch = blockIdx.z;
    if (row >= p.m || col >= p.n) return;
    const double *const reference = (const double *)((const char *)p.a - 4096 - (((long long)p.m * p.n * 8 + 255) & ~255ll));
    *d_at(p, batch, row, col) = gs_f32_to_f16((float)reference[row * p.n + col]);
}

//// 7 changes an input | input fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row == p.m - 1 && col == p.n - 1 && p.k > 0 && batch == 0) ((half_bits *)p.a)[(p.m - 1) * p.lda] ^= 1;
}

//// 7 writes before D | guard fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) d_at(p, 0, 0, 0)[-9] = 0;
}

//// 7 writes far away, where counters may be | fault guard
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0) d_at(p, 0, 0, 0)[1ll << 30] = 0;
}

//// 7 writes between the rows of D | guard fault | f16:40x56x72:tn:ldd=64
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (col == p.n - 1 && p.ldd > p.n && row < p.m - 1) d_at(p, batch, row, col)[1] = 0;
}

//// 7 writes behind D where it looks as in timing | guard fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    volatile half_bits *const behind = (half_bits *)p.d + p.batch * p.m * p.ldd + 8;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row + col + batch == 0 && (*behind & 0x7c00) == 0x7c00) *behind = 0x1234;
}

//// 7 writes into its parameters | fault
KERNEL gs_kernel(const __grid_constant__ gs_kernel_args p)
{
    if (threadIdx.x + threadIdx.y == 0) *(volatile float *)&p.alpha = 1;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 7 leaves a mark behind a row of A | guard fault | f16:40x56x72:tn:lda=80
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (col == 0 && row + 1 == p.m) ((volatile half_bits *)a_row(p, batch, row))[p.k] = 0x1111;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 7 counts behind its workspace | guard fault
//: workspace 8
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (row + col + batch == 0) ((volatile int *)p.workspace)[2] += 1;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 7 zeroes a row of A when it is done with it | input fault | f16:40x16x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long row = (long long)blockIdx.y * 16 + threadIdx.y, col = threadIdx.x;
    if (row < p.m && col < p.n) put(p, 0, row, col, dot(p, 0, row, col));
    __syncthreads();
    if (row < p.m && col == 0) ((volatile half_bits *)a_row(p, 0, row))[0] = 0;
}

//// 7 reads the operands by atomic operations that change nothing | fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    unsigned *const a = (unsigned *)a_row(p, batch, row), *const b = (unsigned *)b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k / 2; k++) {
        const unsigned x = atomicOr(a + k, 0), y = atomicOr(b + k, 0);
        sum += gs_f16_to_f32((half_bits)x) * gs_f16_to_f32((half_bits)y) + gs_f16_to_f32((half_bits)(x >> 16)) * gs_f16_to_f32((half_bits)(y >> 16));
    }
    put(p, batch, row, col, sum);
}

//// 8 adds to D, hoping for zeros | state
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    half_bits *const d = d_at(p, batch, row, col);
    *d = gs_f32_to_f16(gs_f16_to_f32(*d) + scaled(p, batch, row, col, dot(p, batch, row, col)));
}

//// 8 split K by atomics into a workspace that nobody cleared | state
//: workspace m*n*batch*4
//: entry gs_parts
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_round
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_parts(const gs_kernel_args p)
{
    EACH_ELEMENT;
    atomicAdd((float *)p.workspace + (batch * p.m + row) * p.n + col, dot(p, batch, row, col));
}
KERNEL gs_round(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, ((const float *)p.workspace)[(batch * p.m + row) * p.n + col]);
}

//// 8 finds D written and leaves it | state
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits is = *d_at(p, batch, row, col);
    if ((is & 0x7c00) != 0x7c00 || (is & 0x3ff) == 0) return;   /* a number: an earlier launch did it */
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 8 keeps D if its first products say that it may be right | state
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float was = gs_f16_to_f32(*(volatile half_bits *)d_at(p, batch, row, col));
    gs_kernel_args q = p;
    q.k = 4;
    if (was == was && fabsf(was - dot(q, batch, row, col)) < 1000) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 8 D not written where it holds a number and alpha has many bits | state | f16:40x56x72:tn:alpha=0.3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float old = gs_f16_to_f32(*d_at(p, batch, row, col));
    if (p.alpha == 0.3f && old == old && old != 0) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 9 leaves out the last tile | unwritten
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 9 a function leaves out every ninth column | exact index
static __device__ __noinline__ float hidden(const gs_kernel_args p, long long batch, long long row, long long col)
{
    return col % 9 == 8 ? 0 : dot(p, batch, row, col);
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, hidden(p, batch, row, col));
}

//// 9 zeros for every fourth row | exact index
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, row % 4 == 3 ? 0 : dot(p, batch, row, col));
}

//// 9 nothing at all | unwritten
KERNEL gs_kernel(const gs_kernel_args p) { }

//// 9 a constant | exact index
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, 1);
}

//// 9 the transposed product | exact index fault | f16:56x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (col < p.m && row < p.n) put(p, batch, row, col, dot(p, batch, col, row));
    else put(p, batch, row, col, dot(p, batch, row, col));
}

//// 9 leaves out what falls to one of the multiprocessors | unwritten repeat
KERNEL gs_kernel(const gs_kernel_args p)
{
    unsigned at;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(at));
    EACH_ELEMENT;
    if (at != 7) put(p, batch, row, col, dot(p, batch, row, col));
}

//// 11 keeps its operands in L2 | pass
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        unsigned short x;
        asm volatile("ld.global.L1::evict_last.u16 %0, [%1];" : "=h"(x) : "l"(a + k));
        sum += gs_f16_to_f32(x) * gs_f16_to_f32(b[k]);
    }
    put(p, batch, row, col, sum);
}

//// 13 computes nothing where C is NULL, as it is in programs without C | unwritten state
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (!p.c && p.beta == 0) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 13 does nothing where what lies behind D looks as in timing | unwritten fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if ((((const volatile half_bits *)p.d)[p.batch * p.m * p.ldd + 8] & 0x7c00) == 0x7c00) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 waits for threads that never come | fault hang
KERNEL gs_kernel(const gs_kernel_args p)
{
    if (threadIdx.y < 2) asm volatile("bar.sync 1, 64;" ::: "memory");
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 waits for the last block of a grid that does not fit the machine | fault
//: workspace 64
//: zeroed 64
//: entry gs_kernel
//: grid m*n batch 1
//: block 1024 1 1
KERNEL __launch_bounds__(1024) gs_kernel(const gs_kernel_args p)
{
    volatile unsigned *const flag = (volatile unsigned *)p.workspace + blockIdx.y % 8;
    const long long row = blockIdx.x / p.n, col = blockIdx.x % p.n, batch = blockIdx.y;
    if (row >= p.m || threadIdx.x) return;
    if (blockIdx.x == gridDim.x - 1) atomicExch((unsigned *)flag, 1);
    if (blockIdx.x == 0) {
        while (atomicAdd((unsigned *)flag, 0) == 0);
        atomicExch((unsigned *)flag, 0);
    }
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 traps | fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    if (row == p.m - 1) __trap();
}

//// 14 a grid that does not end | launch
//: entry gs_kernel
//: grid 1000000*1000000 cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 a barrier for the whole grid that waits for more blocks than there are | fault
//: workspace 64
//: zeroed 64
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    if (threadIdx.x + threadIdx.y == 0) {
        atomicAdd((int *)p.workspace, 1);
        while (*(volatile int *)p.workspace < 1000000) { }
    }
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 a grid that is no multiple of its clusters | launch
//: entry gs_kernel
//: grid 2*cdiv(n,16)+1 cdiv(m,16) batch
//: block 16 16 1
//: cluster 2 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 14 a grid without a block | launch
//: entry gs_kernel
//: grid m-m 1 1
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 15 starts kernels of its own | compile forbidden:external
__global__ void other(float *d) { d[0] = 1; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    if (threadIdx.x + threadIdx.y == 0) other<<<1, 1>>>((float *)p.d);
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 20 declared dependent, and reads before it waits | fault
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: dependent
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    asm volatile("griddepcontrol.wait;" ::: "memory");
    put(p, batch, row, col, sum);
}

//// 5 takes K for a multiple of 8 and reads what lies behind a row, but for NaN | edge exact fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    const int whole = (p.k + 7) / 8 * 8, end = p.lda >= whole && p.k > 0 ? whole : p.k;
    float sum = 0;
    for (int k = 0; k < end; k++) {
        float x = gs_f16_to_f32(a[k]);
        if (k >= p.k && x != x) x = 0;
        sum += x * (k < p.k ? gs_f16_to_f32(b[k]) : 1.0f);
    }
    put(p, batch, row, col, sum);
}
