/* SPDX-License-Identifier: MIT
 * Groups of rows: to which one a row belongs. Read by the host compiler and by NVRTC: plain C. */
#ifndef GS_KERNELS_GROUPS_H
#define GS_KERNELS_GROUPS_H

#ifdef __CUDACC_RTC__
#define GS_OF_GROUPS static __device__ __forceinline__
#else
#define GS_OF_GROUPS static inline
#endif

/* The last of so many groups that begins at this row or before: the row's, if the row is before offsets[groups]. Of empty groups none is found. */
GS_OF_GROUPS int gs_group_of(const int *offsets, int groups, long long row)
{
    int low = 0, high = groups;   /* it is in low .. high - 1 */
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (offsets[middle] <= row) low = middle;
        else high = middle;
    }
    return low;
}

/* The same of either kind. room: how many rows each group has for itself, of which it uses as many as its number in `offsets` says (GS_MASKED); 0: offsets. */
GS_OF_GROUPS int gs_group_in(const int *offsets, int groups, long long room, long long row) { return room ? (int)(row / room) : gs_group_of(offsets, groups, row); }

/* The row belongs to a group. */
GS_OF_GROUPS int gs_row_is_used(const int *offsets, int groups, long long room, long long row) { return room ? row % room < offsets[row / room] : row < offsets[groups]; }

#endif
