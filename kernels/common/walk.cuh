/* SPDX-License-Identifier: MIT
 * The tiles of a persistent block: every step-th one in the order of raster.cuh, without a division per tile. Plain integer code. */
#ifndef GS_KERNELS_WALK_CUH
#define GS_KERNELS_WALK_CUH

/* Tiles form `lines` lines (tile rows or tile columns) of `length` tiles. They are walked in groups of `group` neighbouring lines, across
 * the lines first. The last group may have fewer lines. group: >= 1, best a power of two that the compiler knows. */
typedef struct gs_tile_walk {
    unsigned tile, step;           /* its number, and the distance to the next one */
    unsigned group, place;         /* its group, and its number in the group */
    unsigned step_group, step_place;
} gs_tile_walk;

/* The first tile. Needs: first, step < 2^31; lines * length < 2^31. */
__device__ __forceinline__ gs_tile_walk gs_tile_walk_start(unsigned first, unsigned step, unsigned group, unsigned length)
{
    const unsigned size = group * length;
    gs_tile_walk w = {first, step, 0, first, 0, step};
    if (first >= size) w.group = first / size, w.place = first % size;
    return w;
}

/* The tile's line and place along it; false behind the last tile. Only the last group, when it has fewer lines, divides by a variable. */
__device__ __forceinline__ bool gs_tile_walk_at(const gs_tile_walk *w, unsigned group, unsigned lines, unsigned length, unsigned *line, unsigned *along)
{
    if (w->tile >= lines * length) return false;
    const unsigned left = lines - w->group * group;
    if (left >= group) {
        *line = w->place % group;
        *along = w->place / group;
    } else {
        *line = w->place % left;
        *along = w->place / left;
    }
    *line += w->group * group;
    return true;
}

/* To be called before the second tile: separate, so that the first one need not wait for it. A short step, the usual case, costs no division. */
__device__ __forceinline__ void gs_tile_walk_step(gs_tile_walk *w, unsigned group, unsigned length)
{
    const unsigned size = group * length;
    w->step_group = w->step >= size ? w->step / size : 0;
    w->step_place = w->step - w->step_group * size;
}

__device__ __forceinline__ void gs_tile_walk_on(gs_tile_walk *w, unsigned group, unsigned length)
{
    w->tile += w->step;
    w->group += w->step_group;
    w->place += w->step_place;
    if (w->place >= group * length) {
        w->place -= group * length;
        w->group++;
    }
}

#endif
