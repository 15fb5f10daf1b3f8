/* SPDX-License-Identifier: MIT
 * How kernels that read A and B by tensor copies come by rows that those do not take, or take slowly: what the families that can do it share.
 * Tensor copies need rows that start at multiples of 16 bytes; of rows that start 16 bytes past a multiple of 32 they take twice as long. */
#ifndef GS_FAMILY_ROWS_H
#define GS_FAMILY_ROWS_H

#include "kernel/kernel.h"
#include "schedule/family.h"

/* The optional last parameter of such a family: A and B are read by tensor copies as they are given; or of copies with aligned rows in the
 * workspace, which a launch before the kernel's own makes (kernels/common/pack.cuh); or threads of the kernel bring those operands whose rows
 * do not start at multiples of 32 bytes (kernels/common/feed.cuh); or tensor copies bring the 16-byte units in which rows of A and B start at any
 * element, and those who multiply shift them (kernels/common/eighths.cuh). */
enum { GS_ROWS_GIVEN, GS_ROWS_PACK, GS_ROWS_CPASYNC, GS_ROWS_SHIFT };
extern const gs_parameter_value gs_rows_values[4];

/* Who brings an operand, as the kernels' GS_FEED_A and GS_FEED_B have it: tensor copies; threads, by units of 16 aligned bytes; the same, shifted
 * into place, of rows that start at any element; tensor copies of every eighth row, which those who multiply shift into place. */
enum { GS_FEED_TENSOR, GS_FEED_UNITS, GS_FEED_SHIFTED, GS_FEED_EIGHTHS };
int gs_rows_feed(int rows, const gs_problem *problem, char operand);

/* Whether the problem's A and B can be read that way. UNSUPPORTED: they cannot, or there is no operand that is read in another way for it. */
gs_status gs_rows_check(int rows, const gs_problem *problem, gs_error *error);

/* With a gate: the map of B brings its rows in turn, eight of the gate and eight of up. Else a packed copy has them so (kernels/common/pack.cuh). */
bool gs_rows_turn(int rows, const gs_problem *problem);

/* What the bytes of an operand ('a', 'b') count on their way to a multiprocessor, and in its shared memory: 1 for tensor copies of aligned rows. */
double gs_rows_bytes(int rows, const gs_problem *problem, char operand, const gs_profile *profile);
double gs_rows_port(int rows, const gs_problem *problem, char operand);

/* Bytes of a stage of k elements beside those of the operand's `extent` rows. */
int gs_rows_beside(int rows, const gs_problem *problem, char operand, int extent, int k);

/* Where rows are shifted, for an operand of a tile: bytes that a stage has more than its rows; those of the ring that is multiplied from; what K counts more. Else 0. */
int gs_rows_padding(int rows, int extent);
int gs_rows_ring(int rows, int extent);
int gs_rows_more_k(int rows);

/* The maps of every eighth row, of A, then of B, for a tile. */
void gs_rows_eighths(gs_entry *entry, int bm, int bn);

/* Cycles of the launch that makes copies, if there is one. */
double gs_rows_cycles(int rows, const gs_problem *problem, const gs_profile *profile);

/* Both operands are copied as they lie, by tensor copies, by the kernel that multiplies them. */
bool gs_rows_copied(int rows, const gs_problem *problem);

/* Of a kernel whose manifest has no entry yet: which operands are copied, the workspace, the entry that copies, the alignment of A and B, the
 * defines. */
gs_status gs_rows_build(gs_kernel *kernel, int rows, const gs_problem *problem, gs_error *error);

#endif
