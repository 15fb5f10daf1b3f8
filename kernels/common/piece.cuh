/* SPDX-License-Identifier: MIT
 * Pieces of rows: 16 bytes of 16-bit elements, or as many elements of another type. */
#ifndef GS_COMMON_PIECE_CUH
#define GS_COMMON_PIECE_CUH

template <class T, int COUNT> struct __align__(16) gs_piece {
    T at[COUNT];
};

/* whole: the address is a multiple of 16 bytes and all elements are there; else the first `count` are loaded, and the others are 0. */
template <int COUNT, class T> static __device__ __forceinline__ gs_piece<T, COUNT> gs_load_piece(const T *from, bool whole, int count)
{
    gs_piece<T, COUNT> p = {};
    if (whole) return *(const gs_piece<T, COUNT> *)from;
    for (int i = 0; i < COUNT; i++)
        if (i < count) p.at[i] = from[i];
    return p;
}

template <int COUNT, class T> static __device__ __forceinline__ void gs_store_piece(T *to, const gs_piece<T, COUNT> &p, bool whole, int count)
{
    if (whole) {
        *(gs_piece<T, COUNT> *)to = p;
        return;
    }
    for (int i = 0; i < COUNT; i++)
        if (i < count) to[i] = p.at[i];
}

#endif
