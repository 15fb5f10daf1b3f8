/* SPDX-License-Identifier: MIT
 * What a launch gets, in verification and in timing alike: addresses of operands, contents of C where it is not read, poison of outputs. Both take it from here, so that a kernel
 * cannot tell in which of the two it runs. */
#ifndef GS_OPERANDS_OPERANDS_H
#define GS_OPERANDS_OPERANDS_H

#include <stdbool.h>

#include "base/random.h"
#include "loaded/contender.h"
#include "problem/layout.h"
#include "problem/pool.h"

#define GS_OPERAND_GRAIN     256    /* bytes: every address is a multiple of it */
#define GS_OPERAND_SETS      2000   /* most operand sets */
#define GS_OPERAND_REPLAY_US 500    /* length of a replay in timing, unless another one is asked for */

/* The two patterns that outputs and workspaces hold before a launch: NaN in every type, and none that arithmetic produces. */
#define GS_POISON_FIRST  0x7fe57fe5u
#define GS_POISON_SECOND 0xffdbffdbu

/* Bytes of a guard band. An emulated device checks the bounds of every allocation itself, and each byte costs time there. */
static inline size_t gs_guard(const gs_device *device) { return device->caps.emulated ? 4096 : 65536; }

/* Number of operand sets for a contender that touches used_bytes per call: together more than four times the L2, at least 2, and as many as a replay has calls, so that no call
 * finds what it has computed before; at most GS_OPERAND_SETS, and 60 % of the free memory at set_bytes each (all layouts in use). Warm: 1. */
int gs_operand_sets(size_t used_bytes, size_t set_bytes, size_t l2_bytes, size_t free_bytes, int calls, bool warm);

/* The most calls of a replay: none is faster than the problem's floor. */
int gs_operand_calls(const gs_problem *problem, const gs_caps *caps, double replay_us);

/* The most sets that a replay can use, which begins at the first one with cold caches: one for each call, if calls took half as long as the shortest kernel. launch_us 0: not
 * known, GS_OPERAND_SETS. */
int gs_operand_most_sets(double launch_us, double replay_us);

/* The number of sets of a cold run of this problem alone: the verifier places its operands among as many. 1 on an emulated device, and where two do not fit. */
gs_status gs_operand_sets_of(gs_device *device, const gs_problem *problem, int *out, gs_error *error);

/* Bytes that a contender touches per call: A, B (of groups as many as have rows if every row goes to a random one), D, C where it is read, and the vectors. */
size_t gs_operand_used(const gs_problem *problem);

/* The most bytes that one set of an operand takes, with the gap before it; bytes for `sets` of them, with guard bands. */
size_t gs_operand_room(size_t bytes);
size_t gs_operand_size(const gs_device *device, size_t bytes, int sets);

/* Places `sets` sets of an operand in memory of gs_operand_size bytes: 256-byte aligned, with gaps of irregular size, and a guard band before the first and behind the last.
 * at[i]: the address of set i. Their order is random: neither the distance between two operands of a set nor what lies behind one tells where the next call's are. sets: at most
 * GS_OPERAND_SETS. */
void gs_operand_place(const gs_device *device, size_t bytes, int sets, gs_random *random, gs_pointer memory, gs_pointer *at);

/* The same in memory that it allocates; the caller frees it. */
gs_status gs_operand_alloc(gs_device *device, size_t bytes, int sets, gs_random *random, gs_pointer *memory, gs_pointer *at, gs_error *error);

/* How many of GS_OPERAND_LETTERS have memory: A, B, C, D, then bias, offsets, aux and scales, as far as the last one that the problem has; those before it may be empty. */
static inline int gs_operand_count(const gs_problem *problem) { return problem->scales ? 9 : gs_has_aux(problem) ? 7 : gs_has_offsets(problem) ? 6 : problem->bias ? 5 : 4; }

/* A random order in which to allocate operands, so that no kernel can count on which lies before which. */
void gs_operand_order(gs_random *random, int count, int order[]);

/* Writes gs_pool_pointers to device memory of gs_pool_pointers_size. */
gs_status gs_operand_put_pointers(gs_device *device, const gs_problem *pool, const gs_pointer at[4], uint64_t seed, gs_pointer to, gs_error *error);

/* Replaces a, b, c and d by the arrays of pointers; pointers 0: changes nothing. */
void gs_operand_set_pointers(gs_args *args, const gs_problem *pool, gs_pointer pointers);

/* The arguments of a launch from the operands' addresses, in the order of GS_OPERAND_LETTERS. C is always an operand of its own, also where beta is 0. */
gs_args gs_operand_args(const gs_pointer at[GS_OPERANDS]);

/* Allocates device memory with the problem's alpha and beta, apart from each other, if they are in device memory (GS_SCALARS_DEVICE); else *out is 0. The caller frees it. */
gs_status gs_operand_scalars(gs_device *device, const gs_problem *problem, gs_pointer *out, gs_error *error);

/* Writes other scalars to the same memory. apart: as above, else beta right behind alpha; tell the next two calls the same. Nothing may be running. */
gs_status gs_operand_put_scalars(gs_device *device, const gs_problem *problem, bool apart, gs_pointer to, gs_error *error);

/* *kept: the scalars are still there, and nothing beside them has changed; true for at 0. Does not wait. */
gs_status gs_operand_scalars_kept(gs_device *device, const gs_problem *problem, bool apart, gs_pointer at, bool *kept, gs_error *error);

/* Sets alpha and beta to this memory; scalars 0: changes nothing. */
void gs_operand_set_scalars(gs_args *args, bool apart, gs_pointer scalars);

/* The kind of data of C where A and B have this kind: all NaN when beta is 0, except for the kinds CANCEL and RANGE. */
int gs_operand_c_kind(const gs_problem *problem, int kind);

#endif
