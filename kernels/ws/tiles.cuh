/* SPDX-License-Identifier: MIT
 * Part of family ws (ws.cu): which tiles of D a block computes, in which order; with groups, by a table in shared memory. */
#ifndef GS_WS_TILES_CUH
#define GS_WS_TILES_CUH

/* Tiles are numbered per cluster. Extents are computed from the arguments again for each tile: a few instructions between tiles cost less than
 * registers. */
static __device__ __forceinline__ unsigned columns_of(const gs_kernel_args *p) { return GS_GATE ? 2u * p->n : p->n; }   /* of the product */
static __device__ __forceinline__ unsigned lines(const gs_kernel_args *p)
{
    return GS_ALONG_N ? (unsigned)(columns_of(p) - 1) / (GS_BN * GS_CN) + 1 : (unsigned)(p->m - 1) / (GS_BM * GS_CM) + 1;
}
static __device__ __forceinline__ unsigned length(const gs_kernel_args *p)
{
    return GS_ALONG_N ? (unsigned)(p->m - 1) / (GS_BM * GS_CM) + 1 : (unsigned)(columns_of(p) - 1) / (GS_BN * GS_CN) + 1;
}

#if GS_GROUPED
/* For each group its first row (masked: its number of rows) and the number of its first tile; after the last group the ends. In shared memory. */
typedef struct group_table {
    int      row[GS_GROUPED + 1];
    unsigned tile[GS_GROUPED + 1];
} group_table;

static __device__ __forceinline__ unsigned lines_m(int rows) { return (unsigned)(rows + GS_BM * GS_CM - 1) / (GS_BM * GS_CM); }

/* One warp, after gs_dependent_wait: the previous kernel may have written the offsets. */
static __device__ __forceinline__ void fill_table(group_table *table, const gs_kernel_args *p)
{
    const unsigned lane = threadIdx.x % 32, columns = (columns_of(p) - 1) / (GS_BN * GS_CN) + 1;
    unsigned before = 0;
#pragma unroll 1
    for (unsigned first = 0; first < GS_GROUPED; first += 32) {
        const unsigned group = first + lane, here = group < GS_GROUPED ? group : GS_GROUPED, next = group < GS_GROUPED ? group + 1 : GS_GROUPED;
#if GS_MASKED
        (void)next;
        const int row = group < GS_GROUPED ? p->offsets[here] : 0;
        const unsigned own = lines_m(row) * columns;
#else
        const int row = p->offsets[here], end = p->offsets[next];
        const unsigned own = lines_m(end - row) * columns;
#endif
        unsigned sum = own;   /* of this lane and those before it */
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const unsigned other = __shfl_up_sync(0xffffffff, sum, step);
            if (lane >= step) sum += other;
        }
        if (group < GS_GROUPED) {
            table->row[group] = row;
            table->tile[group] = before + sum - own;
        }
        before += __shfl_sync(0xffffffff, sum, 31);
    }
    if (lane == 0) {
        if (!GS_MASKED) table->row[GS_GROUPED] = p->offsets[GS_GROUPED];
        table->tile[GS_GROUPED] = before;
    }
}
#endif

/* A cluster takes every (gridDim / CLUSTER)-th tile. If `turns` consumers take turns, this one has every turns-th of those. */
#if GS_GROUPED
typedef struct tile_walk {
    const group_table *table;
    unsigned tile, step;
    int      group;      /* of the previous tile, or an earlier one */
} tile_walk;

static __device__ __forceinline__ tile_walk walk_start(const group_table *table, unsigned turn, unsigned turns)
{
    const unsigned clusters = gridDim.x / CLUSTER;
    const tile_walk w = {table, blockIdx.x / CLUSTER + turn * clusters, turns * clusters, 0};
    return w;
}
#else
typedef gs_tile_walk tile_walk;

static __device__ __forceinline__ gs_tile_walk walk_start(const gs_kernel_args *p, unsigned turn, unsigned turns)
{
    const unsigned clusters = gridDim.x / CLUSTER;
    return gs_tile_walk_start(blockIdx.x / CLUSTER + turn * clusters, turns * clusters, GS_GROUP, length(p));
}
#endif

/* Where a tile, or a warp's share of it, lies in D. */
typedef struct place {
    int row, col;
#if GS_BATCHED || GS_GROUPED
    int index;   /* of the batch, or the group */
#endif
#if GS_GROUPED
    int end;     /* of the group's rows */
#endif
} place;

/* The place that is `rows` rows and `cols` columns further. */
static __device__ __forceinline__ place place_in(place tile, int rows, int cols)
{
    tile.row += rows;
    tile.col += cols;
    return tile;
}

static __device__ __forceinline__ int index_of(place at)
{
#if GS_BATCHED || GS_GROUPED
    return at.index;
#else
    (void)at;
    return 0;
#endif
}

#if GS_GROUPED
/* This block's tile; false after the last one. Within a group tiles are walked as in a matrix. In a cluster, a tile may begin after the group's end: nothing of it is stored. */
static __device__ __forceinline__ bool walk_at(tile_walk *w, const gs_kernel_args *p, unsigned rank, place *tile)
{
    const group_table *const table = w->table;
    if (w->tile >= table->tile[GS_GROUPED]) return false;
    int low = w->group, high = GS_GROUPED;   /* finds the last group that begins at this tile or before; never an empty one */
    if (w->tile < table->tile[low + 1]) high = low + 1;
#pragma unroll 1
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (table->tile[middle] <= w->tile) low = middle;
        else high = middle;
    }
    w->group = low;
    const int first = GS_MASKED ? low * (p->m / GS_GROUPED) : table->row[low], end = GS_MASKED ? first + table->row[low] : table->row[low + 1];
    const unsigned lines_of_m = lines_m(end - first), lines_of_n = (columns_of(p) - 1) / (GS_BN * GS_CN) + 1;
    const unsigned lines = GS_ALONG_N ? lines_of_n : lines_of_m, length = GS_ALONG_N ? lines_of_m : lines_of_n;
    const unsigned number = w->tile - table->tile[low], size = GS_GROUP * length, before = number / size * GS_GROUP, in = number % size;
    const unsigned wide = lines - before < GS_GROUP ? lines - before : GS_GROUP, line = before + in % wide, along = in / wide;
    tile->index = low;
    tile->end = end;
    tile->row = first + (int)(((GS_ALONG_N ? along : line) * GS_CM + (GS_SWAP_AB ? rank % CY : rank / CY)) * GS_BM);
    tile->col = (int)(((GS_ALONG_N ? line : along) * GS_CN + (GS_SWAP_AB ? rank / CY : rank % CY)) * GS_BN);
    return true;
}

static __device__ __forceinline__ void walk_step(tile_walk *w, const gs_kernel_args *p) { (void)w, (void)p; }
static __device__ __forceinline__ void walk_on(tile_walk *w, const gs_kernel_args *p) { (void)p, w->tile += w->step; }
#else
/* This block's tile; false after the last one. In a cluster, a tile may be entirely outside D: its copies are empty. */
static __device__ __forceinline__ bool walk_at(const gs_tile_walk *w, const gs_kernel_args *p, unsigned rank, place *tile)
{
    unsigned line, along;
#if GS_BATCHED
    /* the lines of all matrices are one list; groups of lines do not cross matrices if a matrix has whole groups */
    if (!gs_tile_walk_at(w, GS_GROUP, lines(p) * (unsigned)p->batch, length(p), &line, &along)) return false;
    tile->index = (int)(line / lines(p));
    line -= (unsigned)tile->index * lines(p);
#else
    if (!gs_tile_walk_at(w, GS_GROUP, lines(p), length(p), &line, &along)) return false;
#endif
    tile->row = (int)(((GS_ALONG_N ? along : line) * GS_CM + (GS_SWAP_AB ? rank % CY : rank / CY)) * GS_BM);
    tile->col = (int)(((GS_ALONG_N ? line : along) * GS_CN + (GS_SWAP_AB ? rank / CY : rank % CY)) * GS_BN);
    return true;
}

static __device__ __forceinline__ void walk_step(gs_tile_walk *w, const gs_kernel_args *p) { gs_tile_walk_step(w, GS_GROUP, length(p)); }
static __device__ __forceinline__ void walk_on(gs_tile_walk *w, const gs_kernel_args *p) { gs_tile_walk_on(w, GS_GROUP, length(p)); }
#endif

#endif
