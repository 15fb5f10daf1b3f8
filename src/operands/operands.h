/* SPDX-License-Identifier: MIT
 * What a launch is given, in proof and in timing alike: where operands lie, what C holds where it is not read, the poison of an output. Both
 * take it from here, so that a kernel cannot tell by it which of the two it is in. */
#ifndef GS_OPERANDS_OPERANDS_H
#define GS_OPERANDS_OPERANDS_H

#include <stdbool.h>

#include "base/random.h"
#include "loaded/contender.h"
#include "problem/layout.h"
#include "problem/pool.h"

#define GS_OPERAND_GRAIN     256    /* bytes: every address is a multiple of it */
#define GS_OPERAND_SETS      2000   /* most operand sets */
#define GS_OPERAND_REPLAY_US 500    /* of a replay in timing, unless another length is asked for */

/* The two patterns that outputs and workspaces hold before a launch: a NaN in every type, and no NaN that arithmetic makes. */
#define GS_POISON_FIRST  0x7fe57fe5u
#define GS_POISON_SECOND 0xffdbffdbu

/* Bytes of a guard band. An emulated device knows the bounds of every allocation by itself, and each byte costs time there. */
static inline size_t gs_guard(const gs_device *device) { return device->caps.emulated ? 4096 : 65536; }

/* Operand sets for a contender that touches used_bytes per call: more than four times the L2 in all, at least 2 and as many as a replay has
 * calls, so that no call finds what it has computed before; at most GS_OPERAND_SETS and 60 % of the free memory at set_bytes each (all layouts in
 * use). Warm: 1. */
int gs_operand_sets(size_t used_bytes, size_t set_bytes, size_t l2_bytes, size_t free_bytes, int calls, bool warm);

/* The most calls of a replay: none is faster than the problem's floor. */
int gs_operand_calls(const gs_problem *problem, const gs_caps *caps, double replay_us);

/* The most sets that a replay can use, which begins at the first and finds the caches cold: one for each call, if calls were twice as fast
 * as the shortest kernel. launch_us 0: not known, GS_OPERAND_SETS. */
int gs_operand_most_sets(double launch_us, double replay_us);

/* The sets of a cold run of this problem alone, where the verifier places its operands; 1 on an emulated device, and where two do not fit. */
gs_status gs_operand_sets_of(gs_device *device, const gs_problem *problem, int *out, gs_error *error);

/* What a contender touches per call: A, B (of groups as many as have rows where every row goes to any) and D, C where it is read, the bias. */
size_t gs_operand_used(const gs_problem *problem);

/* Largest room that one set of an operand of so many bytes can take, with the gap before it; what so many take with their guard bands. */
size_t gs_operand_room(size_t bytes);
size_t gs_operand_size(const gs_device *device, size_t bytes, int sets);

/* Places so many sets of an operand in memory of gs_operand_size, 256-byte aligned, with gaps of irregular size between them and a guard band before the first and behind the last;
 * at[i]: the address of set i. Sets lie in a random order: neither the distance between two operands of a set nor what lies behind one says anything of the
 * next call's. sets: at most GS_OPERAND_SETS. */
void gs_operand_place(const gs_device *device, size_t bytes, int sets, gs_random *random, gs_pointer memory, gs_pointer *at);

/* The same in memory that is allocated, and the caller's to free. */
gs_status gs_operand_alloc(gs_device *device, size_t bytes, int sets, gs_random *random, gs_pointer *memory, gs_pointer *at, gs_error *error);

/* Those that have memory: A, B, C, D, the bias where there is one, and behind a bias that may be empty the offsets, behind both aux, behind all of them the scales. */
static inline int gs_operand_count(const gs_problem *problem) { return problem->scales ? 9 : gs_has_aux(problem) ? 7 : gs_has_offsets(problem) ? 6 : problem->bias ? 5 : 4; }

/* An order in which so many operands are allocated: which of them lies before which is chance, and no kernel may count on it. */
void gs_operand_order(gs_random *random, int count, int order[]);

/* Writes gs_pool_pointers to device memory of gs_pool_pointers_size. */
gs_status gs_operand_put_pointers(gs_device *device, const gs_problem *pool, const gs_pointer at[4], uint64_t seed, gs_pointer to, gs_error *error);

/* Arguments with those; 0: as they were. */
void gs_operand_set_pointers(gs_args *args, const gs_problem *pool, gs_pointer pointers);

/* The arguments of a launch, of the addresses of A, B, C, D, the bias, the offsets, aux and the scales. C is always an operand of its own, also where beta is 0. */
gs_args gs_operand_args(const gs_pointer at[GS_OPERANDS]);

/* Device memory with the problem's alpha and beta, apart from each other, where it has them there (GS_SCALARS_DEVICE); 0 where it has not. The caller's to free. */
gs_status gs_operand_scalars(gs_device *device, const gs_problem *problem, gs_pointer *out, gs_error *error);

/* Others into the same memory; apart: as before, else beta right behind alpha, which the next two calls are told as well. Nothing may be running. */
gs_status gs_operand_put_scalars(gs_device *device, const gs_problem *problem, bool apart, gs_pointer to, gs_error *error);

/* They are still there, and nothing beside them has changed. at 0: true. Waits for nothing. */
gs_status gs_operand_scalars_kept(gs_device *device, const gs_problem *problem, bool apart, gs_pointer at, bool *kept, gs_error *error);

/* Arguments with those; 0: as they were. */
void gs_operand_set_scalars(gs_args *args, bool apart, gs_pointer scalars);

/* The data that C holds where A and B hold this kind: all NaN when beta is 0, except in the kinds cancel and range. */
int gs_operand_c_kind(const gs_problem *problem, int kind);

#endif
