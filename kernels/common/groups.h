/* SPDX-License-Identifier: MIT
 * Groups of rows: which group a row belongs to. Read by the host compiler and by NVRTC: plain C. */
#ifndef GS_KERNELS_GROUPS_H
#define GS_KERNELS_GROUPS_H

#ifdef __CUDACC_RTC__
#define GS_OF_GROUPS static __device__ __forceinline__
#else
#define GS_OF_GROUPS static inline
#endif

/* The last of `groups` groups that begins at this row or before: the row's group, if row < offsets[groups]; never an empty one then. */
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

/* The row's group for either kind of groups. room: rows reserved for each group, of which it uses offsets[group] (GS_MASKED); 0: offsets are first rows. */
GS_OF_GROUPS int gs_group_in(const int *offsets, int groups, long long room, long long row) { return room ? (int)(row / room) : gs_group_of(offsets, groups, row); }

/* The row belongs to a group. */
GS_OF_GROUPS int gs_row_is_used(const int *offsets, int groups, long long room, long long row) { return room ? row % room < offsets[row / room] : row < offsets[groups]; }

#endif
