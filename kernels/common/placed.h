/* SPDX-License-Identifier: MIT
 * Where the matrices of a batch are in an operand's memory, for test data and checks of results. They do not overlap: each begins after the end of the previous one, or
 * all are side by side, so that a row of memory has a row of each. Read by the host compiler and by NVRTC: plain C. */
#ifndef GS_KERNELS_PLACED_H
#define GS_KERNELS_PLACED_H

#ifdef __CUDACC_RTC__
#define GS_SHARED static __device__ __forceinline__
#else
#include <stdbool.h>
#define GS_SHARED static inline
#endif

typedef struct gs_placed {
    long long rows, cols, ld;      /* of a matrix as it is stored; elements, or units of 16 bits */
    long long stride, matrices;    /* from one to the next */
} gs_placed;

/* Offset of an element from the operand's start. row: counted over all matrices. */
GS_SHARED long long gs_placed_at(const gs_placed *p, long long row, long long col)
{
    if (p->matrices == 1) return row * p->ld + col;
    return row / p->rows * p->stride + row % p->rows * p->ld + col;
}

/* The same for an operand that all matrices of a batch may share. */
GS_SHARED long long gs_placed_shared(const gs_placed *p, long long row, long long col)
{
    return gs_placed_at(p, p->matrices == 1 && row >= p->rows && p->rows > 0 ? row % p->rows : row, col);
}

/* Offset of the operand's end. */
GS_SHARED long long gs_placed_end(const gs_placed *p)
{
    return p->rows > 0 && p->matrices > 0 ? (p->matrices - 1) * p->stride + (p->rows - 1) * p->ld + p->cols : 0;
}

/* Each matrix ends before the next begins. */
GS_SHARED bool gs_placed_behind(const gs_placed *p) { return p->matrices == 1 || p->stride >= (p->rows - 1) * p->ld + p->cols; }

/* The matrices do not overlap. */
GS_SHARED bool gs_placed_apart(const gs_placed *p) { return gs_placed_behind(p) || (p->stride >= p->cols && (p->matrices - 1) * p->stride + p->cols <= p->ld); }

/* The matrix, row and column at offset `at`; false: it is padding. */
GS_SHARED bool gs_placed_find(const gs_placed *p, long long at, long long *matrix, long long *row, long long *col)
{
    long long rest;
    if (gs_placed_behind(p)) {
        *matrix = p->matrices == 1 ? 0 : at / p->stride;
        rest = at - *matrix * p->stride;
        *row = rest / p->ld;
        *col = rest - *row * p->ld;
    } else {
        *row = at / p->ld;
        rest = at - *row * p->ld;
        *matrix = rest / p->stride;
        *col = rest - *matrix * p->stride;
    }
    return *matrix < p->matrices && *row < p->rows && *col < p->cols;
}

#endif
