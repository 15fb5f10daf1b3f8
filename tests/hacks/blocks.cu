/* SPDX-License-Identifier: MIT
 * As hacks.cu: those of row 16 whose blocks hand numbers to each other without what that takes. blocks_honest.cu has their right twins. */

//// 16 writes to the other block of a cluster, which may not have begun | fault
//: entry gs_kernel
//: grid 2*cdiv(n,64) m batch
//: block 64 1 1
//: cluster 2 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float part[64];
    const long long batch = blockIdx.z, row = blockIdx.y;
    const unsigned rank = blockIdx.x & 1, half = p.k / 2, mine = (unsigned)__cvta_generic_to_shared(&part[threadIdx.x]);
    const int col = blockIdx.x / 2 * 64 + threadIdx.x;
    float sum = 0;
    if (col < p.n && row < p.m)
        for (int k = rank ? half : 0; k < (rank ? p.k : half); k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    unsigned peer;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(peer) : "r"(mine));
    if (rank == 1) asm volatile("st.shared::cluster.f32 [%0], %1;" :: "r"(peer), "f"(sum) : "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (rank == 0 && col < p.n && row < p.m) put(p, batch, row, col, sum + part[threadIdx.x]);
}

//// 16 looks whether it is the last one when it has counted itself | fault state zeroed exact | f16:40x56x264:tn
//: workspace 4100*cdiv(m,16)*cdiv(n,16)*batch
//: zeroed 4*cdiv(m,16)*cdiv(n,16)*batch
//: entry gs_kernel
//: grid cdiv(n,16)*cdiv(m,16) 4 batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ bool last;
    const int wide = (p.n + 15) / 16, row = blockIdx.x / wide * 16 + threadIdx.y, col = blockIdx.x % wide * 16 + threadIdx.x, batch = blockIdx.z, at = threadIdx.y * 16 + threadIdx.x;
    const int tiles = gridDim.x * gridDim.z, tile = blockIdx.x + gridDim.x * batch;
    unsigned *const ticket = (unsigned *)p.workspace + tile;
    volatile float *const part = (float *)p.workspace + tiles + tile * 1024;
    float sum = 0;
    if (row < p.m && col < p.n)
        for (int k = p.k * blockIdx.y / 4; k < p.k * (blockIdx.y + 1) / 4; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    part[blockIdx.y * 256 + at] = sum;
    __threadfence();
    __syncthreads();
    if (at == 0) {
        atomicAdd(ticket, 1u);
        last = atomicAdd(ticket, 0u) == 4;
        if (last) atomicExch(ticket, 0u);
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    if (row >= p.m || col >= p.n) return;
    sum = 0;
    for (int i = 0; i < 4; i++) sum += part[i * 256 + at];
    put(p, batch, row, col, sum);
}

//// 16 waits for the others' parts for 300 looks and no longer | fault repeat exact zeroed | f16:24x40x136:tn
//: workspace 4*(cdiv(m,16)*cdiv(n,16)+3)+4*256*4*cdiv(m,16)*cdiv(n,16)
//: zeroed 4*cdiv(m,16)*cdiv(n,16)
//: entry gs_kernel
//: grid min(20,4*cdiv(m,16)*cdiv(n,16)) 1/(1-min(1,max(max(m,n)/65,k/300))) 1/(2-batch)
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int wide = (p.n + 15) / 16, tiles = wide * ((p.m + 15) / 16), at = threadIdx.y * 16 + threadIdx.x;
    unsigned *const flags = (unsigned *)p.workspace;
    float *const parts = (float *)p.workspace + (tiles + 3) / 4 * 4;
    for (int work = blockIdx.x; work < 4 * tiles; work += gridDim.x) {
        const int tile = work / 4, share = work % 4, row = tile / wide * 16 + threadIdx.y, col = tile % wide * 16 + threadIdx.x;
        const bool inside = row < p.m && col < p.n;
        float sum = 0;
        for (int k = p.k * share / 4; inside && k < p.k * (share + 1) / 4; k++) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, 0, col)[k]);
        if (share < 3) {
            parts[(tile * 4 + share) * 256 + at] = sum;
            __threadfence();
            __syncthreads();
            if (at == 0) atomicAdd(flags + tile, 1u);
        } else {
            unsigned seen = 0;
            if (at == 0)
                for (int i = 0; i < 300 && seen != 3; i++) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags + tile) : "memory");
            __syncthreads();
            __threadfence();
            for (int i = 0; i < 3; i++) sum += parts[(tile * 4 + i) * 256 + at];
            if (inside) put(p, 0, row, col, sum);
            if (at == 0) asm volatile("st.relaxed.gpu.global.u32 [%0], 0;" ::"l"(flags + tile) : "memory");
        }
        __syncthreads();
    }
}

//// 16 hands parts of a sum over by volatile stores, without a fence | state exact repeat special | f16:40x56x264:tn
//@ pass: a GPU shows it late only now and then
//: workspace 4100*cdiv(m,16)*cdiv(n,16)*batch
//: zeroed 4*cdiv(m,16)*cdiv(n,16)*batch
//: entry gs_kernel
//: grid cdiv(n,16)*cdiv(m,16) 4 batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ bool last;
    const int wide = (p.n + 15) / 16, row = blockIdx.x / wide * 16 + threadIdx.y, col = blockIdx.x % wide * 16 + threadIdx.x, batch = blockIdx.z, at = threadIdx.y * 16 + threadIdx.x;
    const int tiles = gridDim.x * gridDim.z, tile = blockIdx.x + gridDim.x * batch;
    unsigned *const ticket = (unsigned *)p.workspace + tile;
    volatile float *const part = (float *)p.workspace + tiles + tile * 1024;
    float sum = 0;
    if (row < p.m && col < p.n)
        for (int k = p.k * blockIdx.y / 4; k < p.k * (blockIdx.y + 1) / 4; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    part[blockIdx.y * 256 + at] = sum;
    __syncthreads();
    if (at == 0) {
        last = atomicAdd(ticket, 1u) == 3;
        if (last) atomicExch(ticket, 0u);
    }
    __syncthreads();
    if (!last || row >= p.m || col >= p.n) return;
    sum = 0;
    for (int i = 0; i < 4; i++) sum += part[i * 256 + at];
    put(p, batch, row, col, sum);
}

//// 16 an mbarrier of the other block, arrived at with scope .cta, says that numbers are there | fault
//: entry gs_kernel
//: grid 2*cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: cluster 2 1 1
KERNEL __cluster_dims__(2, 1, 1) gs_kernel(const gs_kernel_args p)
{
    __shared__ float box[256];
    __shared__ unsigned long long barrier;
    const unsigned rank = blockIdx.x & 1, bar = (unsigned)__cvta_generic_to_shared(&barrier), at = threadIdx.y * 16 + threadIdx.x, mine = (unsigned)__cvta_generic_to_shared(box + at);
    const int batch = blockIdx.z, row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x / 2 * 16 + threadIdx.x;
    const bool inside = row < p.m && col < p.n;
    if (at == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 256;\nfence.mbarrier_init.release.cluster;" ::"r"(bar) : "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    float sum = 0;
    for (int k = rank; inside && k < p.k; k += 2) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    if (rank) {
        asm volatile("{\n.reg .b32 box, bar;\nmapa.shared::cluster.u32 box, %0, 0;\nst.shared::cluster.f32 [box], %1;\nmapa.shared::cluster.u32 bar, %2, 0;\n"
                     "mbarrier.arrive.shared::cluster.b64 _, [bar];\n}" ::"r"(mine), "f"(sum), "r"(bar) : "memory");
    } else {
        asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra again;\n}" ::"r"(bar) : "memory");
        if (inside) put(p, batch, row, col, sum + box[at]);
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

//// 16 a fence for its own block before a relaxed arrival at the cluster's barrier | fault
//: entry gs_kernel
//: grid 2*cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: cluster 2 1 1
KERNEL __cluster_dims__(2, 1, 1) gs_kernel(const gs_kernel_args p)
{
    __shared__ float box[256];
    const unsigned rank = blockIdx.x & 1, at = threadIdx.y * 16 + threadIdx.x, mine = (unsigned)__cvta_generic_to_shared(box + at);
    const int batch = blockIdx.z, row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x / 2 * 16 + threadIdx.x;
    const bool inside = row < p.m && col < p.n;
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    float sum = 0;
    for (int k = rank; inside && k < p.k; k += 2) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    if (rank) asm volatile("{\n.reg .b32 box;\nmapa.shared::cluster.u32 box, %0, 0;\nst.shared::cluster.f32 [box], %1;\n}" ::"r"(mine), "f"(sum) : "memory");
    __threadfence_block();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (rank == 0 && inside) put(p, batch, row, col, sum + box[at]);
}

//// 16 volatile stores into the other block's shared memory, and a relaxed arrival | exact repeat state index special tolerance
//@ pass: a GPU shows it late only now and then
//: entry gs_kernel
//: grid 2*cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: cluster 2 1 1
KERNEL __cluster_dims__(2, 1, 1) gs_kernel(const gs_kernel_args p)
{
    __shared__ float box[256];
    const unsigned rank = blockIdx.x & 1, at = threadIdx.y * 16 + threadIdx.x, mine = (unsigned)__cvta_generic_to_shared(box + at);
    const int batch = blockIdx.z, row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x / 2 * 16 + threadIdx.x;
    const bool inside = row < p.m && col < p.n;
    box[at] = 0;
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    float sum = 0;
    for (int k = rank; inside && k < p.k; k += 2) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    if (rank) asm volatile("{\n.reg .b32 box;\nmapa.shared::cluster.u32 box, %0, 0;\nst.volatile.shared::cluster.f32 [box], %1;\n}" ::"r"(mine), "f"(sum) : "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (rank == 0 && inside) put(p, batch, row, col, sum + *(volatile float *)(box + at));
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

//// 16 parts of a sum reach the block that takes the ticket by a relaxed arrival | fault | f16:40x56x264:tn
//: workspace 4100*cdiv(m,16)*cdiv(n,16)*batch
//: zeroed 4*cdiv(m,16)*cdiv(n,16)*batch
//: entry gs_kernel
//: grid 4*cdiv(n,16)*cdiv(m,16) 1 batch
//: block 16 16 1
//: cluster 2 1 1
KERNEL __cluster_dims__(2, 1, 1) gs_kernel(const gs_kernel_args p)
{
    __shared__ bool last;
    const int wide = (p.n + 15) / 16, tiles = gridDim.x / 4 * gridDim.z, tile = blockIdx.x / 4 + gridDim.x / 4 * blockIdx.z, share = blockIdx.x % 4, at = threadIdx.y * 16 + threadIdx.x;
    const int row = blockIdx.x / 4 / wide * 16 + threadIdx.y, col = blockIdx.x / 4 % wide * 16 + threadIdx.x, batch = blockIdx.z;
    float *const part = (float *)p.workspace + tiles + tile * 1024;
    float sum = 0;
    if (row < p.m && col < p.n)
        for (int k = p.k * share / 4; k < p.k * (share + 1) / 4; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    part[share * 256 + at] = sum;
    __threadfence_block();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (at == 0 && blockIdx.x % 2 == 0) {
        __threadfence();
        last = atomicAdd((unsigned *)p.workspace + tile, 1u) == 1;
        if (last) atomicExch((unsigned *)p.workspace + tile, 0u);
        __threadfence();
    } else if (at == 0) {
        last = false;
    }
    __syncthreads();
    if (!last || row >= p.m || col >= p.n) return;
    sum = 0;
    for (int i = 0; i < 4; i++) sum += part[i * 256 + at];
    put(p, batch, row, col, sum);
}

//// 16 adds up a sum by atomic operations whose result nobody reads, without a fence before the ticket | zeroed state exact repeat special index tolerance | f16:40x56x264:tn
//@ pass: a GPU shows it late only now and then
//: workspace 1028*cdiv(m,16)*cdiv(n,16)*batch
//: zeroed 1028*cdiv(m,16)*cdiv(n,16)*batch
//: entry gs_kernel
//: grid cdiv(n,16)*cdiv(m,16) 2 batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ bool last;
    const int wide = (p.n + 15) / 16, row = blockIdx.x / wide * 16 + threadIdx.y, col = blockIdx.x % wide * 16 + threadIdx.x, batch = blockIdx.z, at = threadIdx.y * 16 + threadIdx.x;
    const int tiles = gridDim.x * gridDim.z, tile = blockIdx.x + gridDim.x * batch;
    unsigned *const ticket = (unsigned *)p.workspace + tile;
    float *const total = (float *)p.workspace + tiles + tile * 256 + at;
    float sum = 0;
    if (row < p.m && col < p.n)
        for (int k = p.k * blockIdx.y / 2; k < p.k * (blockIdx.y + 1) / 2; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    atomicAdd(total, sum);
    __syncthreads();
    if (at == 0) last = atomicAdd(ticket, 1u) == 1;
    __syncthreads();
    if (!last) return;
    sum = atomicExch(total, 0.0f);
    if (at == 0) atomicExch(ticket, 0u);
    if (row < p.m && col < p.n) put(p, batch, row, col, sum);
}

//// 16 hands a part over by volatile stores and a relaxed flag, without a fence | zeroed state exact repeat special index tolerance unwritten edge | f16:40x56x264:tn
//@ pass: a GPU shows it late only now and then
//: workspace 1028*cdiv(m,16)*cdiv(n,16)*batch
//: zeroed 4*cdiv(m,16)*cdiv(n,16)*batch
//: entry gs_kernel
//: grid cdiv(n,16)*cdiv(m,16) 2 batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int wide = (p.n + 15) / 16, row = blockIdx.x / wide * 16 + threadIdx.y, col = blockIdx.x % wide * 16 + threadIdx.x, batch = blockIdx.z, at = threadIdx.y * 16 + threadIdx.x;
    const int tiles = gridDim.x * gridDim.z, tile = blockIdx.x + gridDim.x * batch;
    unsigned *const flag = (unsigned *)p.workspace + tile;
    volatile float *const part = (float *)p.workspace + tiles + tile * 256;
    float sum = 0;
    if (row < p.m && col < p.n)
        for (int k = p.k * blockIdx.y / 2; k < p.k * (blockIdx.y + 1) / 2; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    if (blockIdx.y == 1) {
        part[at] = sum;
        __syncthreads();
        if (at == 0) asm volatile("st.relaxed.gpu.u32 [%0], 1;" :: "l"(flag) : "memory");
        return;
    }
    unsigned seen = 0;
    while (at == 0 && !seen) asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    __syncthreads();
    if (row < p.m && col < p.n) put(p, batch, row, col, sum + part[at]);
    if (at == 0) *flag = 0;
}

//// 16 a fence of the cluster's scope between volatile parts of a sum and a ticket, and no clusters | zeroed state exact repeat special index tolerance unwritten edge | f16:40x56x264:tn
//@ pass: a GPU shows it late only now and then
//: workspace 2052*cdiv(m,16)*cdiv(n,16)*batch
//: zeroed 4*cdiv(m,16)*cdiv(n,16)*batch
//: entry gs_kernel
//: grid cdiv(n,16)*cdiv(m,16) 2 batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ bool last;
    const int wide = (p.n + 15) / 16, row = blockIdx.x / wide * 16 + threadIdx.y, col = blockIdx.x % wide * 16 + threadIdx.x, batch = blockIdx.z, at = threadIdx.y * 16 + threadIdx.x;
    const int tiles = gridDim.x * gridDim.z, tile = blockIdx.x + gridDim.x * batch;
    unsigned *const ticket = (unsigned *)p.workspace + tile;
    volatile float *const part = (float *)p.workspace + tiles + tile * 512;
    float sum = 0;
    if (row < p.m && col < p.n)
        for (int k = p.k * blockIdx.y / 2; k < p.k * (blockIdx.y + 1) / 2; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    part[blockIdx.y * 256 + at] = sum;
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    __syncthreads();
    if (at == 0) {
        last = atomicAdd(ticket, 1u) == 1;
        if (last) atomicExch(ticket, 0u);
    }
    __syncthreads();
    if (!last) return;
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    if (row < p.m && col < p.n) put(p, batch, row, col, part[at] + part[256 + at]);
}

//// 16 whoever sees the other share's flag finishes, by release and acquire alone | state zeroed exact repeat special index tolerance unwritten edge | f16:40x56x264:tn
//@ pass: a GPU shows it late only now and then
//: workspace 2064*cdiv(m,16)*cdiv(n,16)*batch
//: zeroed 16*cdiv(m,16)*cdiv(n,16)*batch
//: entry gs_kernel
//: grid cdiv(n,16)*cdiv(m,16) 2 batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ bool mine;
    const int wide = (p.n + 15) / 16, row = blockIdx.x / wide * 16 + threadIdx.y, col = blockIdx.x % wide * 16 + threadIdx.x, batch = blockIdx.z, at = threadIdx.y * 16 + threadIdx.x;
    const int tiles = gridDim.x * gridDim.z, tile = blockIdx.x + gridDim.x * batch;
    unsigned *const flag = (unsigned *)p.workspace + 4 * tile;
    float *const part = (float *)p.workspace + 4 * tiles + tile * 512;
    float sum = 0;
    if (row < p.m && col < p.n)
        for (int k = p.k * blockIdx.y / 2; k < p.k * (blockIdx.y + 1) / 2; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    part[blockIdx.y * 256 + at] = sum;
    __syncthreads();
    if (at == 0) {
        unsigned other;
        asm volatile("st.release.gpu.u32 [%0], 1;" :: "l"(flag + blockIdx.y) : "memory");
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(other) : "l"(flag + 1 - blockIdx.y) : "memory");
        mine = other && atomicExch(flag + 2, 1u) == 0;
    }
    __syncthreads();
    if (mine && row < p.m && col < p.n) put(p, batch, row, col, part[at] + part[256 + at]);
    if (at == 0) {   /* the last one leaves zeros */
        __threadfence();
        if (atomicAdd(flag + 3, 1u) == 1)
            for (int i = 0; i < 4; i++) flag[i] = 0;
    }
}

//// 16 a volatile flag behind a volatile number in the other block's shared memory, without a fence | exact repeat state index special tolerance edge unwritten
//@ pass: a GPU shows it late only now and then
//: entry gs_kernel
//: grid 2*cdiv(n,64) m batch
//: block 64 1 1
//: cluster 2 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ volatile float part[64];
    __shared__ volatile unsigned flag[64];
    const long long batch = blockIdx.z, row = blockIdx.y;
    const unsigned rank = blockIdx.x & 1, half = p.k / 2;
    const int col = blockIdx.x / 2 * 64 + threadIdx.x;
    part[threadIdx.x] = 0;
    flag[threadIdx.x] = 0;
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    float sum = 0;
    if (col < p.n && row < p.m)
        for (int k = rank ? half : 0; k < (rank ? p.k : half); k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    if (rank == 1) {
        asm volatile("{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %0, 0;\nst.volatile.shared::cluster.f32 [at], %1;\n}"
                     :: "r"((unsigned)__cvta_generic_to_shared((void *)&part[threadIdx.x])), "f"(sum) : "memory");
        asm volatile("{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %0, 0;\nst.volatile.shared::cluster.u32 [at], 1;\n}"
                     :: "r"((unsigned)__cvta_generic_to_shared((void *)&flag[threadIdx.x])) : "memory");
    } else {
        while (!flag[threadIdx.x]);
        if (col < p.n && row < p.m) put(p, batch, row, col, sum + part[threadIdx.x]);
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

//// 16 goes on after four looks at an mbarrier, whatever they say | fault repeat exact state | f16:40x56x96:tn
//: entry gs_kernel
//: grid cdiv(n,32) m batch
//: block 64 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float row_of_a[32];
    __shared__ unsigned long long barriers[2];   /* filled, emptied */
    const unsigned full = (unsigned)__cvta_generic_to_shared(&barriers[0]), empty = full + 8;
    if (threadIdx.x < 2) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(full + 8 * threadIdx.x) : "memory");
    __syncthreads();
    const int lane = threadIdx.x % 32;
    const long long batch = blockIdx.z, row = blockIdx.y, col = (long long)blockIdx.x * 32 + lane;
    const bool loads = threadIdx.x < 32;
    float sum = 0;
    for (int k = 0, turn = 0; k < p.k; k += 32, turn++) {
        const unsigned waits = loads ? empty : full, arrives = loads ? full : empty, parity = loads ? (turn + 1) & 1 : turn & 1;
        for (int look = 0, done = 0; look < 4 && !done; look++)
            asm volatile("{\n.reg .pred done;\nmbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\nselp.s32 %0, 1, 0, done;\n}" : "=r"(done) : "r"(waits), "r"(parity) : "memory");
        if (loads) row_of_a[lane] = row < p.m && k + lane < p.k ? gs_f16_to_f32(a_row(p, batch, row)[k + lane]) : 0;
        else
            for (int i = 0; i < 32 && k + i < p.k && col < p.n; i++) sum += row_of_a[i] * gs_f16_to_f32(b_col(p, batch, col)[k + i]);
        asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared::cta.b64 state, [%0];\n}" ::"r"(arrives) : "memory");
    }
    if (!loads && row < p.m && col < p.n) put(p, batch, row, col, sum);
}

//// 16 reads by ldu what another warp has stored | fault
//@ pass: today's GPUs read it as ld does
//: workspace 1024*cdiv(m,16)*cdiv(n,16)*batch
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int at = threadIdx.y * 16 + threadIdx.x, other = at ^ 128;
    const long long batch = blockIdx.z, tile = (batch * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    float *const part = (float *)p.workspace + tile * 256;
    const long long row = (long long)blockIdx.y * 16 + other / 16, col = (long long)blockIdx.x * 16 + other % 16;
    part[other] = row < p.m && col < p.n ? dot(p, batch, row, col) : 0;
    __syncthreads();
    float sum;
    asm volatile("ldu.global.f32 %0, [%1];" : "=f"(sum) : "l"(part + at) : "memory");
    const long long own = (long long)blockIdx.y * 16 + threadIdx.y, mine = (long long)blockIdx.x * 16 + threadIdx.x;
    if (own < p.m && mine < p.n) put(p, batch, own, mine, sum);
}

//// 16 loads parts of a sum by strong loads of scope .cta, with no fence behind the ticket | fault | f16:40x56x264:tn
//! unordered
//@ pass: a GPU has an old line in L1 only now and then
//: workspace 4100*cdiv(m,16)*cdiv(n,16)*batch
//: zeroed 4*cdiv(m,16)*cdiv(n,16)*batch
//: entry gs_kernel
//: grid cdiv(n,16)*cdiv(m,16) 4 batch
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ bool last;
    const int wide = (p.n + 15) / 16, row = blockIdx.x / wide * 16 + threadIdx.y, col = blockIdx.x % wide * 16 + threadIdx.x, batch = blockIdx.z, at = threadIdx.y * 16 + threadIdx.x;
    const int tiles = gridDim.x * gridDim.z, tile = blockIdx.x + gridDim.x * batch;
    unsigned *const ticket = (unsigned *)p.workspace + tile;
    float *const part = (float *)p.workspace + tiles + tile * 1024;
    float sum = 0;
    if (row < p.m && col < p.n)
        for (int k = p.k * blockIdx.y / 4; k < p.k * (blockIdx.y + 1) / 4; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    part[blockIdx.y * 256 + at] = sum;
    __threadfence();
    __syncthreads();
    if (at == 0) {
        last = atomicAdd(ticket, 1u) == 3;
        if (last) atomicExch(ticket, 0u);
    }
    __syncthreads();
    if (!last || row >= p.m || col >= p.n) return;
    sum = 0;
    for (int i = 0; i < 4; i++) {
        float one;
        asm volatile("ld.relaxed.cta.global.f32 %0, [%1];" : "=f"(one) : "l"(part + i * 256 + at) : "memory");
        sum += one;
    }
    put(p, batch, row, col, sum);
}
