/* SPDX-License-Identifier: MIT
 * Copies of A and B with rows that tensor copies take well, made in the workspace by a launch before the kernel's own (kernels/common/pack.cuh):
 * what the families that can do with them share. */
#ifndef GS_FAMILY_PACK_H
#define GS_FAMILY_PACK_H

#include "kernel/kernel.h"
#include "schedule/family.h"

/* The optional last parameter of such a family: rows of A and B as they are given, or packed. */
extern const gs_parameter_value gs_rows_values[2];

/* Whether the problem's A and B can be read by tensor copies: as they are, or of the copies. UNSUPPORTED: they cannot, or there is nothing to
 * copy. Rows that start 16 bytes past a multiple of 32 are copied, too: tensor copies of them take twice as long. */
gs_status gs_pack_check(bool pack, const gs_problem *problem, gs_error *error);

/* What the bytes of an operand's tensor copies ('a', 'b') count: more than 1 where its rows start 16 bytes past a multiple of 32 and are not copied. */
double gs_pack_feed(bool pack, const gs_problem *problem, char operand, const gs_profile *profile);

/* Cycles that the launch takes which copies. */
double gs_pack_cycles(const gs_problem *problem, const gs_profile *profile);

/* Of a kernel whose manifest has no entry yet: which operands are copied, the workspace, the entry that copies, the alignment of A and B, the
 * defines. pack false: that A and B are aligned to 16 bytes, nothing else. */
gs_status gs_pack_build(gs_kernel *kernel, bool pack, const gs_problem *problem, gs_error *error);

#endif
