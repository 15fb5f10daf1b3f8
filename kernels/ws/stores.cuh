/* SPDX-License-Identifier: MIT
 * Part of family ws (ws.cu): words are stored to D through slabs in shared memory, by tensor copies or by threads. */
#ifndef GS_WS_STORES_CUH
#define GS_WS_STORES_CUH

/* Writes the warp's share of a part to a slab: 16 rows of SPAN bytes or, with swap_ab, ROWS rows of 16 columns. */
#if GS_SWAP_AB && GS_GATE
/* Rows of 8 columns. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ void fill_slab(unsigned slab, const word (&words)[PART_WORDS])
{
    const int lane = threadIdx.x % 32;
#if GS_OUT == 2
    const int r = lane % 4 * 2;   /* and the next row, which is swizzled alike */
#pragma unroll
    for (int g = 0; g < ROWS / 8; g++) {
        const unsigned to = slab + (8 * g + r) * SPAN + (lane / 16 ^ swizzled<SPAN>(r)) * 16 + lane / 4 % 4 * 4;
        gs_store_shared_f32(to, words[2 * g]);
        gs_store_shared_f32(to + SPAN, words[2 * g + 1]);
    }
#else
    constexpr int whole = ROWS / 32 * 4;   /* groups of 8 rows that are stored four at a time; rows are not swizzled */
#pragma unroll
    for (int g = 0; g < whole; g += 4) gs_stmatrix_x4_trans(slab + (8 * g + lane) * SPAN, words[g], words[g + 1], words[g + 2], words[g + 3]);
    if (ROWS / 16 % 2) gs_stmatrix_x2_trans(slab + (8 * whole + lane % 16) * SPAN, words[whole], words[whole + 1]);
    if (ROWS / 8 % 2) gs_stmatrix_x1_trans(slab + (ROWS - 8 + lane % 8) * SPAN, words[ROWS / 8 - 1]);
#endif
}
#elif GS_SWAP_AB
template <int ROWS, int SPAN>
static __device__ __forceinline__ void fill_slab(unsigned slab, const word (&words)[PART_WORDS])
{
    const int lane = threadIdx.x % 32;
#if GS_OUT == 2
    const int r = lane % 4 * 2;   /* and the next row, which is swizzled alike */
#pragma unroll
    for (int g = 0; g < ROWS / 8; g++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const unsigned to = slab + (8 * g + r) * SPAN + ((2 * h + lane / 16) ^ swizzled<SPAN>(r)) * 16 + lane / 4 % 4 * 4;
            gs_store_shared_f32(to, words[4 * g + 2 * h]);
            gs_store_shared_f32(to + SPAN, words[4 * g + 2 * h + 1]);
        }
    }
#else
    const int r = lane % 8;       /* matrices: (g, first 8 columns), (g, the others), (g + 1, first), (g + 1, others) */
    const unsigned to = slab + (lane / 16 * 8 + r) * SPAN + (lane / 8 % 2 ^ swizzled<SPAN>(r)) * 16;
#pragma unroll
    for (int g = 0; g + 1 < ROWS / 8; g += 2)
        gs_stmatrix_x4_trans(to + g * 8 * SPAN, words[2 * g], words[2 * g + 1], words[2 * g + 2], words[2 * g + 3]);
    if (ROWS / 8 % 2) gs_stmatrix_x2_trans(to + (ROWS / 8 - 1) * 8 * SPAN, words[ROWS / 4 - 2], words[ROWS / 4 - 1]);
#endif
}
#else
template <int ROWS, int SPAN>
static __device__ __forceinline__ void fill_slab(unsigned slab, const word (&words)[PART_WORDS])
{
    const int lane = threadIdx.x % 32;
#if GS_OUT == 2
    const int r = lane / 4;   /* and r + 8, which is swizzled alike at 128 and 64 bytes */
#pragma unroll
    for (int g = 0; g < SPAN / 32; g++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int piece = (2 * g + lane % 4 / 2) ^ swizzled<SPAN>(r);
            gs_store_shared_f32x2(slab + (r + 8 * h) * SPAN + piece * 16 + lane % 2 * 8, words[4 * g + 2 * h], words[4 * g + 2 * h + 1]);
        }
    }
#else
    const int r = lane % 16;  /* matrices: (g, upper), (g, lower), (g + 1, upper), (g + 1, lower) */
#pragma unroll
    for (int g = 0; g + 1 < SPAN / 16; g += 2) {
        const int piece = (g + lane / 16) ^ swizzled<SPAN>(r);
        gs_stmatrix_x4(slab + r * SPAN + piece * 16, words[2 * g], words[2 * g + 1], words[2 * g + 2], words[2 * g + 3]);
    }
    if (SPAN / 16 % 2) gs_stmatrix_x2(slab + r * SPAN + (SPAN / 16 - 1) * 16, words[SPAN / 8 - 2], words[SPAN / 8 - 1]);   /* such rows are not swizzled */
#endif
}
#endif

#if GS_DIRECT
/* Stores the warp's rows of a part from its slab to D, whose rows start at any element. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ void store_slab_direct(const unsigned char *slab, const gs_kernel_args *p, int index, int end, int row, int col)
{
    unsigned char *const d = (unsigned char *)p->d + (gs_row_of_d(*p, index, row) + col) * OUT_BYTES;
    const auto piece = [slab](int r, int i) { return slab + r * SPAN + (i ^ swizzled<SPAN>(r)) * 16; };
    gs_store_rows<ROWS, SPAN / 16, OUT_BYTES, 1, 2>(d, p->ldd * OUT_BYTES, end - row, p->n - col, threadIdx.x % 32, piece);
}
#else
/* The same to rows of whole units of 16 bytes: of aux, or of D if a tensor copy would also store rows of the next group. at: the first element. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ void store_slab_rows(const unsigned char *slab, gs_raw *at, long long pitch, int rows, int cols)
{
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = lane; i < ROWS * (SPAN / 16); i += 32) {
        const int r = i / (SPAN / 16), c = i % (SPAN / 16);
        if (r < rows && c * (16 / OUT_BYTES) < cols) *(uint4 *)(at + r * pitch + c * (16 / OUT_BYTES)) = *(const uint4 *)(slab + r * SPAN + (c ^ swizzled<SPAN>(r)) * 16);
    }
}
#endif

/* What a consumer warp needs to store: its slabs and D. */
typedef struct sink {
    unsigned char *slabs;
#if !GS_DIRECT
    const gs_tensor_map *map, *map_tail;
#endif
    const gs_kernel_args *p;
} sink;

/* The slab of a part: the warp's slabs are used in turn, from the first one in each tile. */
template <int PART>
static __device__ __forceinline__ unsigned char *slab_of(const sink *to) { return to->slabs + PART % GS_SLABS * SLAB_BYTES; }

/* Waits until the part's slab is free. */
template <int PART>
static __device__ __forceinline__ void wait_for_slab(void)
{
#if !GS_DIRECT
    /* the stores since this slab's last one, in this tile or in the previous one, may still be in flight */
    constexpr int pending = PART >= GS_SLABS ? GS_SLABS - 1 : PARTS - 1 - (PARTS - 1 - PART) / GS_SLABS * GS_SLABS;
    if (gs_elect()) gs_tma_wait_read<pending>();
    __syncwarp();
#endif
}

#if READ_UNITS
/* Waits until every slab is free. */
static __device__ __forceinline__ void wait_for_slabs(void)
{
#if !GS_DIRECT
    if (gs_elect()) gs_tma_wait_read<0>();
#endif
    __syncwarp();
}

/* Starts copying the warp's share of a part of C or aux to the part's slab, which is free: units of 16 bytes, row by row, a unit for each lane in turn; one group of copies. */
template <int PART>
static __device__ __forceinline__ void load_units(const sink *to, place at)
{
    constexpr int span = part<PART>::span, units = span / 16;
    const unsigned slab = gs_shared_address(slab_of<PART>(to));
    const int row = at.row + part<PART>::row, col = at.col + part<PART>::col, end = end_of_rows(to->p, at);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int unit = threadIdx.x % 32 + 32 * i, r = unit / units, c = col + unit % units * (16 / OUT_BYTES);
        const bool there = row + r < end && c < to->p->n;
        gs_cp_async<16>(slab + r * span + (unit % units ^ swizzled<span>(r)) * 16, row_of_units(to->p, index_of(at), row + r) + c, there ? 16 : 0, r < part<PART>::rows);
    }
    gs_cp_async_commit();
}

/* While the tile is multiplied: starts copying as many parts as there are slabs, and prefetches the others into L2. */
template <int PART>
static __device__ __forceinline__ void begin_units(const sink *to, place at)
{
    if constexpr (PART == 0) wait_for_slabs();
    load_units<PART>(to, at);
    if constexpr (PART + 1 < PARTS && PART + 1 < GS_SLABS) begin_units<PART + 1>(to, at);
    else if constexpr (PART + 1 < PARTS) prefetch_units<PART + 1>(to->p, at);
}
#endif

/* Stores a part through its slab, which is free. */
template <int PART>
static __device__ __forceinline__ void store_part(const sink *to, const word (&words)[PART_WORDS], place at)
{
    unsigned char *const slab = slab_of<PART>(to);
    const int row = at.row + part<PART>::row, col = at.col + part<PART>::col;
    constexpr int rows = part<PART>::rows, span = part<PART>::span;
    fill_slab<rows, span>(gs_shared_address(slab), words);
#if GS_DIRECT
    __syncwarp();
#if GS_GROUPED
    store_slab_direct<rows, span>(slab, to->p, 0, at.end, row, col);
#else
    store_slab_direct<rows, span>(slab, to->p, index_of(at), to->p->m, row, col);
#endif
    __syncwarp();
#elif GS_GROUPED
    const bool whole = row + rows <= at.end;   /* else its box contains rows of the next group */
    if (whole) gs_tma_fence();
    __syncwarp();
    if (!whole) {
        store_slab_rows<rows, span>(slab, (gs_raw *)to->p->d + row * to->p->ldd + col, to->p->ldd, at.end - row, to->p->n - col);
        __syncwarp();
    }
    if (gs_elect()) {
        if (whole && col < to->p->n) gs_tma_store(part<PART>::wide < CHUNK ? to->map_tail : to->map, col, row, gs_shared_address(slab));
        gs_tma_commit();
    }
#else
    gs_tma_fence();
    __syncwarp();
    if (gs_elect()) {
        const gs_tensor_map *const map = part<PART>::wide < CHUNK ? to->map_tail : to->map;
        if (row < to->p->m && col < to->p->n) {
#if GS_BATCHED
            gs_tma_store_of(map, col, row, at.index, gs_shared_address(slab));
#elif GS_FIRST
            gs_tma_store_hint(map, col, row, gs_shared_address(slab), gs_policy_evict_first());
#else
            gs_tma_store(map, col, row, gs_shared_address(slab));
#endif
        }
        gs_tma_commit();
    }
#endif
}

#if GS_UNITS == 3
/* Stores a part of aux through D's slab, which is free before and after. WHAT: as in words_of. */
template <int PART, int WHAT>
static __device__ __forceinline__ void store_aux(const sink *to, const accumulator (&acc)[BLOCKS][ACC_COUNT], place at, const beside *of)
{
    const gs_kernel_args *const p = to->p;
    unsigned char *const slab = slab_of<PART>(to);
    const int row = at.row + part<PART>::row, col = at.col + part<PART>::col;
    constexpr int rows = part<PART>::rows, span = part<PART>::span;
    word words[PART_WORDS];
    words_of<PART, WHAT>(words, acc, p, at, of, 0);
    fill_slab<rows, span>(gs_shared_address(slab), words);
    __syncwarp();
    store_slab_rows<rows, span>(slab, (gs_raw *)p->aux + gs_place_in_aux(*p, row, col + (WHAT == 2 ? p->n : 0), index_of(at)), p->ldaux, end_of_rows(p, at) - row, p->n - col);
    __syncwarp();
}
#endif

/* Part PART and those after it. A template, not a loop: a loop of this size is not always unrolled, and accumulators that are indexed
 * at run time would live in local memory. */
template <int PART>
static __device__ __forceinline__ void store_tile(const sink *to, const accumulator (&acc)[BLOCKS][ACC_COUNT], place at, const beside *of)
{
    word words[PART_WORDS];
    beside next;
#if READ_UNITS
    constexpr int more = PART - 1 + GS_SLABS;   /* uses the slab of the previous part */
    if constexpr (PART > 0 && more < PARTS) {
        wait_for_slabs();
        load_units<more>(to, at);
    }
    if constexpr (PART + 1 < PARTS) load_beside<PART + 1>(&next, to->p, at);
    gs_cp_async_wait<(PARTS - 1 < more ? PARTS - 1 : more) - PART>();
    __syncwarp();
    words_of<PART>(words, acc, to->p, at, of, gs_shared_address(slab_of<PART>(to)));
#else
#if GS_UNITS == 3
    wait_for_slab<PART>();
    store_aux<PART, 1>(to, acc, at, of);
    if (GS_GATE) store_aux<PART, 2>(to, acc, at, of);
#endif
    if constexpr (PART + 1 < PARTS) load_beside<PART + 1>(&next, to->p, at);
    words_of<PART>(words, acc, to->p, at, of, 0);
    if (GS_UNITS != 3) wait_for_slab<PART>();   /* here, to save registers */
#endif
    store_part<PART>(to, words, at);
    if constexpr (PART + 1 < PARTS) store_tile<PART + 1>(to, acc, at, &next);
}

#if GS_MODE == LAG
/* A tile that is multiplied and not yet stored. */
typedef struct lagging {
    word  words[PARTS][PART_WORDS];
    place at;
    int   next;   /* part to store; PARTS: none */
} lagging;

template <int PART>
static __device__ __forceinline__ void keep_tile(lagging *late, const accumulator (&acc)[BLOCKS][ACC_COUNT], const gs_kernel_args *p, const beside *of)
{
    beside next;
    if constexpr (PART + 1 < PARTS) load_beside<PART + 1>(&next, p, late->at);
    words_of<PART>(late->words[PART], acc, p, late->at, of, 0);
    if constexpr (PART + 1 < PARTS) keep_tile<PART + 1>(late, acc, p, &next);
}

template <int PART>
static __device__ __forceinline__ void store_late(const sink *to, lagging *late)
{
    if (late->next == PART) {
        wait_for_slab<PART>();
        store_part<PART>(to, late->words[PART], late->at);
    } else if constexpr (PART + 1 < PARTS) {
        store_late<PART + 1>(to, late);
    }
}
#endif

/* Where a warp's share of a tile begins in D. x, y: in the tile. */
static __device__ __forceinline__ place corner_of(place tile, int x, int y)
{
#if GS_GATE
    tile.col /= 2;
#endif
#if GS_SWAP_AB
    return place_in(tile, y, x / HALF_X);
#else
    return place_in(tile, x, y / HALF_Y);
#endif
}

#endif
