/* SPDX-License-Identifier: MIT
 * The order in which output tiles are walked: groups of neighbouring tile rows or columns, so that blocks that run at the
 * same time share operands in L2. Plain integer code: also compiled on the host by the tests. */
#ifndef GS_KERNELS_RASTER_CUH
#define GS_KERNELS_RASTER_CUH

/* Tile number -> (tile_m, tile_n), a bijection from [0, tiles_m * tiles_n).
 * along_n false: groups of `group` tile rows, each walked column by column (tile_m runs fastest).
 * along_n true: groups of `group` tile columns, each walked row by row (tile_n runs fastest).
 * Needs: 0 <= tile < tiles_m * tiles_n < 2^31, group >= 1. The last group may be smaller. */
__device__ __forceinline__ void gs_raster(int tile, int tiles_m, int tiles_n, int group, bool along_n, int *tile_m, int *tile_n)
{
    const unsigned lines = (unsigned)(along_n ? tiles_n : tiles_m);    /* what is grouped */
    const unsigned length = (unsigned)(along_n ? tiles_m : tiles_n);   /* tiles of a line */
    const unsigned width = (unsigned)group;
    const unsigned first = width < lines ? (unsigned)tile / (width * length) : 0;
    const unsigned rest = (unsigned)tile - first * width * length;
    const unsigned left = lines - first * width;
    unsigned line, along;
    if (left >= width) {   /* the usual case divides by a constant */
        line = rest % width;
        along = rest / width;
    } else {
        line = rest % left;
        along = rest / left;
    }
    line += first * width;
    *tile_m = (int)(along_n ? along : line);
    *tile_n = (int)(along_n ? line : along);
}

#endif
