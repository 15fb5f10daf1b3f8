/* SPDX-License-Identifier: MIT
 * Rows of A and B that tensor copies (TMA) cannot read, or read slowly: what the families that support them share. Tensor copies need rows that start at multiples of
 * 16 bytes; rows that start 16 bytes past a multiple of 32 take twice as long. */
#ifndef GS_FAMILY_ROWS_H
#define GS_FAMILY_ROWS_H

#include "kernel/kernel.h"
#include "schedule/family.h"

/* The optional last parameter of such a family. GIVEN: tensor copies read A and B as they are. PACK: a launch before the kernel's own copies them to aligned rows in
 * the workspace (kernels/common/pack.cuh). CPASYNC: threads of the kernel load the operands whose rows do not start at multiples of 32 bytes
 * (kernels/common/feed.cuh). SHIFT: tensor copies load the 16-byte units that contain rows starting at any element, and the consumers shift them
 * (kernels/common/eighths.cuh). */
enum { GS_ROWS_GIVEN, GS_ROWS_PACK, GS_ROWS_CPASYNC, GS_ROWS_SHIFT };
extern const gs_parameter_value gs_rows_values[4];

/* How an operand is loaded, as in the kernels' GS_FEED_A and GS_FEED_B. TENSOR: by tensor copies. UNITS: by threads, in aligned 16-byte units. SHIFTED: the same for
 * rows that start at any element, shifted into place. EIGHTHS: by tensor copies of every eighth row, shifted into place by the consumers. */
enum { GS_FEED_TENSOR, GS_FEED_UNITS, GS_FEED_SHIFTED, GS_FEED_EIGHTHS };
int gs_rows_feed(int rows, const gs_problem *problem, char operand);

/* Whether the problem's A and B can be read this way. UNSUPPORTED: they cannot, or no operand would be read differently than with GIVEN. */
gs_status gs_rows_check(int rows, const gs_problem *problem, gs_error *error);

/* With a gate: whether the map of B loads rows of gate and up alternately, eight at a time. If not, the packed copy has them in this order (kernels/common/pack.cuh). */
bool gs_rows_turn(int rows, const gs_problem *problem);

/* Relative cost of an operand's ('a', 'b') bytes in global memory traffic, and in shared memory traffic (gs_rows_port): 1 for tensor copies of aligned rows. */
double gs_rows_bytes(int rows, const gs_problem *problem, char operand, const gs_profile *profile);
double gs_rows_port(int rows, const gs_problem *problem, char operand);

/* Bytes of shared memory per stage of k elements, in addition to the operand's `extent` rows. */
int gs_rows_beside(int rows, const gs_problem *problem, char operand, int extent, int k);

/* For SHIFT, for an operand of a tile: padding bytes per stage; bytes of the ring of shifted rows; elements that are added to K. Otherwise 0. */
int gs_rows_padding(int rows, int extent);
int gs_rows_ring(int rows, int extent);
int gs_rows_more_k(int rows);

/* Adds the tensor maps of every eighth row, of A, then of B, for a tile. */
void gs_rows_eighths(gs_entry *entry, int bm, int bn);

/* Cycles of the launch that packs; 0 if there is none. */
double gs_rows_cycles(int rows, const gs_problem *problem, const gs_profile *profile);

/* Whether the kernel itself reads both operands as stored, by tensor copies. */
bool gs_rows_copied(int rows, const gs_problem *problem);

/* For a kernel whose manifest has no entry yet: sets which operands are packed, the workspace, the packing entry, the alignment of A and B, and the defines. */
gs_status gs_rows_build(gs_kernel *kernel, int rows, const gs_problem *problem, gs_error *error);

#endif
