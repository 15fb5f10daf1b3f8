/* SPDX-License-Identifier: MIT
 * Batches by pointers in our own memory, for verification and timing: where the matrices lie, and the arrays of pointers. */
#ifndef GS_PROBLEM_POOL_H
#define GS_PROBLEM_POOL_H

#include <stdbool.h>
#include <gemmsmith/problem.h>

/* The memory of a batch by pointers, described as a strided batch. The gap between matrices is different for each operand. Matrices are aligned exactly as far as their leading
 * dimension implies, so that a kernel which assumes more fails. Any other problem is returned unchanged. */
gs_problem gs_problem_pool(const gs_problem *problem);

/* Other strides, as in programs. packed: one matrix right behind the other, as those of one tensor; else multiples of 256 bytes, as if each were allocated separately. */
void gs_pool_align(gs_problem *pool, bool packed);

/* Bytes of the four arrays of pointers, for A, B, C and D. */
static inline size_t gs_pool_pointers_size(const gs_problem *pool) { return 4 * (size_t)pool->batch * sizeof(uint64_t); }

/* Writes the four arrays to out, one after the other. at: device addresses of the pool's operands. Matrices come in a random order given by seed, the same for all operands, so
 * that the products are unchanged, and never evenly spaced for a batch of three or more; or, with GS_POOL_IN_ORDER, in memory order. */
#define GS_POOL_IN_ORDER UINT64_MAX
void gs_pool_pointers(const gs_problem *pool, const uint64_t at[4], uint64_t seed, uint64_t *out);

#endif
