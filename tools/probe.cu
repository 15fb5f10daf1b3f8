/* SPDX-License-Identifier: MIT
 * The small kernels behind tools/probe.c: each does one thing, and writes how long it took by the clock of its multiprocessor.
 *
 * All entries take the same parameters and use what they need: from, memory that is only read; out, zero before every launch, two words
 * for each block and then what the blocks share; size, count and group as the entry says. */
#include "common/block.cuh"
#include "common/exchange.cuh"
#include "common/mbarrier.cuh"
#include "common/stream.cuh"

#define PARAMETERS const unsigned char *from, unsigned long long *out, unsigned size, unsigned count, unsigned group

typedef unsigned long long word;

enum {
    STAGES     = 8,                 /* copies under way, and pieces of what a block reads over and over */
    WARM       = 2 * STAGES,        /* copies before the clock starts: they bring everything to L2 and fill the ring */
    SENDERS    = 256,               /* threads of gs_probe_exchange */
    TICKETS    = 4,
    CODE_LANES = 8, CODE_STEPS = 128   /* 1024 instructions of 16 bytes */
};

/* Cycles of this multiprocessor. Stays where it stands between volatile statements. */
static __device__ __forceinline__ word cycles_now(void)
{
    word now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

/* Nanoseconds, the same on all multiprocessors, in coarse steps. */
static __device__ __forceinline__ word nanoseconds_now(void)
{
    word now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

/* A use of r that the compiler cannot drop: what follows is issued when r is there. */
static __device__ __forceinline__ void settle(unsigned shared, const unsigned (&r)[4])
{
    asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(shared), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}

static __device__ __forceinline__ void report(word *out, word first, word second)
{
    out[2 * blockIdx.x] = first;
    out[2 * blockIdx.x + 1] = second;
}

/* Cycles and nanoseconds of the same wait of `count` nanoseconds: the clock rate. Bound by nothing; long enough for the steps of the timer
 * not to matter. */
extern "C" __global__ void __launch_bounds__(32) gs_probe_clock(PARAMETERS)
{
    if (threadIdx.x) return;
    const word ns = nanoseconds_now(), cycles = cycles_now();
    while (nanoseconds_now() - ns < count) continue;
    const word cycles_end = cycles_now(), ns_end = nanoseconds_now();
    report(out, cycles_end - cycles, ns_end - ns);
}

/* Nothing: bound by what a launch costs. */
extern "C" __global__ void __launch_bounds__(32) gs_probe_empty(PARAMETERS) {}

/* One load of 16 bytes that no cache has, each block `size` bytes behind the last one: bound by the latency of device memory, and with many blocks by
 * all of them asking at once. Counts from the first instruction, so the parameters are fetched in it. */
extern "C" __global__ void __launch_bounds__(32) gs_probe_first(PARAMETERS)
{
    __shared__ uint4 landed;
    const word start = cycles_now();
    if (threadIdx.x) return;
    unsigned r[4];
    gs_kept_load(r, from + (word)blockIdx.x * size);
    settle(gs_shared_address(&landed), r);
    report(out, cycles_now() - start, 0);
}

/* A ticket of the last of four blocks: from its add, behind a store as where parts are left, until it may go on. Bound by the way to L2 and
 * back, once for the store that the release waits for and once for the add. */
extern "C" __global__ void __launch_bounds__(32) gs_probe_ticket(PARAMETERS)
{
    if (threadIdx.x) return;
    word *const parts = out + 2 * gridDim.x;
    unsigned *const counter = (unsigned *)(parts + gridDim.x);
    parts[blockIdx.x] = blockIdx.x;
    const word start = cycles_now();
    if (gs_ticket(counter, TICKETS - 1) != TICKETS - 1) return;
    report(out, cycles_now() - start, 0);
}

/* The number of the multiprocessor that runs the block. It stays for `count` cycles, so that blocks behind it find other ones; with more
 * than half of the shared memory no two blocks share one. */
extern "C" __global__ void __launch_bounds__(32) gs_probe_place(PARAMETERS)
{
    const word start = cycles_now();
    unsigned number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    while (cycles_now() - start < count) continue;
    if (threadIdx.x == 0) report(out, number, 0);
}

/* 1024 independent multiply-adds of one warp, twice by the same code: bound by issue and, if the code is not there yet, by its fetch.
 * Cycles of the first and of the second pass. */
extern "C" __global__ void __launch_bounds__(32) gs_probe_code(PARAMETERS)
{
    const float x = (float)size, y = (float)count;
    float sum[CODE_LANES];
    word taken[2];
#pragma unroll
    for (int i = 0; i < CODE_LANES; i++) sum[i] = x + i;
#pragma unroll 1
    for (int pass = 0; pass < 2; pass++) {
        const word start = cycles_now();
#pragma unroll
        for (int i = 0; i < CODE_STEPS * CODE_LANES; i++) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(sum[i % CODE_LANES]) : "f"(x), "f"(y));
        taken[1] = cycles_now() - start;
        if (pass == 0) taken[0] = taken[1];
    }
    float *const used = (float *)(out + 2 * gridDim.x);
#pragma unroll
    for (int i = 0; i < CODE_LANES; i++) used[i] = sum[i];   /* the same from all lanes */
    if (threadIdx.x == 0) report(out, taken[0], taken[1]);
}

#if __CUDA_ARCH__ >= 900

/* A bulk copy of `bytes` (a multiple of 16) to this block's shared memory; they count on `barrier`. One thread. */
static __device__ __forceinline__ void bulk_load(unsigned to, const unsigned char *from, unsigned bytes, unsigned barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes),
                 "r"(barrier)
                 : "memory");
}

/* `count` bulk copies of `size` bytes into one block, STAGES of them under way, from STAGES pieces over and over; `group` neighbouring
 * blocks read the same pieces. Bound by the port of the multiprocessor, or by what L2 gives the GPC where much of it differs. Cycles from
 * the arrival of copy WARM - 1 to the last one, and bytes that came in between. */
extern "C" __global__ void __launch_bounds__(32) gs_probe_copies(PARAMETERS)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ word full[STAGES];
    if (threadIdx.x) return;
    const unsigned stages = gs_shared_address(shared), barriers = gs_shared_address(full);
    const unsigned char *const own = from + (word)(blockIdx.x / group) * STAGES * size;
    word start = 0;
    for (int i = 0; i < STAGES; i++) gs_mbarrier_init(barriers + i * 8, 1);
    gs_mbarrier_fence_init();
#pragma unroll 1
    for (unsigned i = 0; i < count + STAGES; i++) {
        const unsigned stage = i % STAGES, barrier = barriers + stage * 8;
        if (i >= STAGES) gs_mbarrier_wait(barrier, i / STAGES - 1 & 1);
        if (i == WARM + STAGES - 1) start = cycles_now();
        if (i >= count) continue;
        gs_mbarrier_expect(barrier, size);
        bulk_load(stages + stage * size, own + stage * size, size, barrier);
    }
    report(out, cycles_now() - start, (word)(count - WARM) * size);
}

/* Both blocks of a cluster of two send each other `size` bytes from registers (a multiple of 16 * SENDERS), as blocks do that share K.
 * Bound by the network between multiprocessors. Cycles from the first send until all that the other one sent is there, and its bytes. */
extern "C" __global__ void __launch_bounds__(SENDERS) gs_probe_exchange(PARAMETERS)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ word landed;
    const unsigned barrier = gs_shared_address(&landed), other = gs_cluster_rank() ^ 1;
    if (threadIdx.x == 0) {
        gs_mbarrier_init(barrier, 1);
        gs_mbarrier_fence_init();
        gs_mbarrier_expect(barrier, size);
    }
    const unsigned to = gs_cluster_address(gs_shared_address(shared) + threadIdx.x * 16, other), count_on = gs_cluster_address(barrier, other);
    const float x = (float)threadIdx.x, y = x + 1, z = x + 2, w = x + 3;   /* four registers that stay: nothing waits for them to be read */
    gs_cluster_barrier();
    const word start = cycles_now();
#pragma unroll 8
    for (unsigned at = 0; at < size; at += SENDERS * 16) gs_send(to + at, x, y, z, w, count_on);
    gs_mbarrier_wait(barrier, 0);
    if (threadIdx.x == 0) report(out, cycles_now() - start, size);
}

#endif
