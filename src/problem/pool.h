/* SPDX-License-Identifier: MIT
 * Batches by pointers in memory of our own: what proves and times them lays their matrices out and makes the arrays of pointers. */
#ifndef GS_PROBLEM_POOL_H
#define GS_PROBLEM_POOL_H

#include <gemmsmith/problem.h>

/* A batch by pointers as it lies there: strided, with gaps that are another length for each operand. Matrices begin at multiples of what their rows do, and not of
 * more. Any other problem: as it is. */
gs_problem gs_problem_pool(const gs_problem *problem);

/* The same as programs have it that allocate each matrix, or take those of one tensor: they are multiples of 256 bytes apart. */
void gs_pool_align(gs_problem *pool);

/* Bytes of the arrays of A, B, C and D. */
static inline size_t gs_pool_pointers_size(const gs_problem *pool) { return 4 * (size_t)pool->batch * sizeof(uint64_t); }

/* The arrays, one behind the other, of a pool whose operands are at these addresses: in an order of the seed's, the same for all four, so that products stay what they
 * were and no distance from a matrix to the next says where the one after is; or, GS_POOL_IN_ORDER, as they lie in memory. */
#define GS_POOL_IN_ORDER UINT64_MAX
void gs_pool_pointers(const gs_problem *pool, const uint64_t at[4], uint64_t seed, uint64_t *out);

#endif
