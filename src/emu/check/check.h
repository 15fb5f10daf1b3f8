/* SPDX-License-Identifier: MIT
 * The race checker of one cluster: which accesses to shared memory are ordered by barriers, waits and fences (happens-before,
 * with vector clocks), and which bytes were written at all.
 *
 * Who acts is an agent with a clock:
 *   generic    a warp's own instructions. Its clock ticks when the warp releases, and when it fences.
 *   wgmma      a warp's asynchronous matrix reads;  clock = number of its wgmma groups committed so far + 1
 *   copy       a warp's cp.async writes;            clock = the same for cp.async groups
 *   bulk       a warp's bulk stores' reads of shared memory; clock = the same for bulk groups
 *   mbarrier   the bulk copies that complete on one mbarrier; clock = phase + 1, phase counted from 0 since its first initialisation
 * Each warp has two vectors over all agents: `known` (what happened before its next instruction) and `fenced` (of that, what is also
 * visible to the asynchronous proxy). An access is right if every conflicting earlier access of the same bytes is in `known`; an
 * asynchronous access of bytes that generic instructions wrote needs them in `fenced`. cp.async belongs to the generic proxy.
 * A write by generic instructions or by copies after reads of either proxy needs no proxy fence, only `known`.
 * Where asked for, a third vector, over the warps' generic clocks: `published`, what of `known` a fence has made visible to other clusters
 * (order.h). It goes where the others go. So does a fourth, of clusters: `clustered`, what of `known` was released to the cluster; what warps of other blocks wrote is read with
 * that only. An arrival of scope .cta says that a block has read its memory, as buffers are given back, and nothing about what it wrote.
 *
 * All calls of one cluster come from one thread. Findings go to the `report` function. Warps are numbered block * warps + warp. */
#ifndef GS_EMU_CHECK_CHECK_H
#define GS_EMU_CHECK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/check/finding.h"

typedef struct gs_emu_check gs_emu_check;

typedef enum gs_emu_agent_kind {
    GS_EMU_AGENT_GENERIC, GS_EMU_AGENT_WGMMA, GS_EMU_AGENT_COPY, GS_EMU_AGENT_BULK, GS_EMU_AGENT_KINDS
} gs_emu_agent_kind;

/* Text: the two accesses in words. op: index of the instruction of the access that revealed it. */
typedef void gs_emu_report_fn(void *context, gs_emu_finding_kind kind, int warp, uint32_t op, const char *text);

/* describe: writes where instruction `op` stands ("wgmma.cuh:43") into text, for messages that name the earlier access. */
typedef void gs_emu_describe_fn(void *context, uint32_t op, char *text, unsigned long size);

/* NULL when there is no memory. shared_bytes: of each block. publishes: with the third vector. Reset for each cluster: cheap, no allocation. */
gs_emu_check *gs_emu_check_create(int blocks, int warps, uint32_t shared_bytes, bool publishes, gs_emu_report_fn *report, gs_emu_describe_fn *describe,
                                  void *context);
void          gs_emu_check_reset(gs_emu_check *check);
void          gs_emu_check_destroy(gs_emu_check *check);

/* ---- synchronisation ---- */

/* What one synchronisation object (a barrier phase, a released flag) carries from its releasers to its acquirers. */
typedef struct gs_emu_vector gs_emu_vector;
gs_emu_vector *gs_emu_vector_create(const gs_emu_check *check);   /* empty; NULL: no memory */
void           gs_emu_vector_destroy(gs_emu_vector *vector);
void           gs_emu_vector_clear(gs_emu_vector *vector);
void           gs_emu_vector_join(gs_emu_vector *into, const gs_emu_vector *from);

/* Whether anything that a warp of the block did is known to have happened, or was published in global memory, where who has seen it is not kept for a cluster's own blocks: then
 * the block has begun. */
bool gs_emu_check_knows(const gs_emu_check *check, int warp, int block);

void gs_emu_check_release(gs_emu_check *check, int warp, gs_emu_vector *into);         /* joins the warp's vectors into it; the warp's clock ticks */
void gs_emu_check_acquire(gs_emu_check *check, int warp, const gs_emu_vector *from);
void gs_emu_check_fence_async(gs_emu_check *check, int warp);                          /* fence.proxy.async: fenced = known */
void gs_emu_check_done(gs_emu_check *check, int warp, gs_emu_agent_kind kind, uint32_t clock);   /* it waited: its groups up to clock are done */

/* Adds to `into` that every cp.async which the warp has issued so far, committed or not, is done: for cp.async.mbarrier.arrive. */
void gs_emu_check_copies(gs_emu_check *check, int warp, gs_emu_vector *into);

/* The agent of the mbarrier at `offset` in a block's shared memory, made at first use. */
int  gs_emu_check_mbarrier(gs_emu_check *check, int block, uint32_t offset);
/* A phase of it completed: whoever acquires `into` knows its copies up to clock. */
void gs_emu_check_phase(gs_emu_check *check, int agent, uint32_t clock, gs_emu_vector *into);
/* Whether what `warp` did up to its clock value `clock` is known to, or visible to asynchronous work of, warp `by`. */
bool gs_emu_check_known(const gs_emu_check *check, int by, int warp, uint32_t clock);
bool gs_emu_check_fenced(const gs_emu_check *check, int by, int warp, uint32_t clock);
uint32_t gs_emu_check_clock(const gs_emu_check *check, int warp);                      /* its generic clock now */
void gs_emu_check_publish(gs_emu_check *check, int warp);                              /* published = known; the warp's clock ticks */
void gs_emu_check_to_cluster(gs_emu_check *check, int warp);                           /* a release of the cluster's scope or a wider one: clustered = known of its own block; its clock ticks */
const uint32_t *gs_emu_check_released(const gs_emu_check *check, int warp);            /* clustered, or of a block alone published: a clock for each warp */
void gs_emu_check_learn(gs_emu_check *check, int warp, const uint32_t *clock);         /* it acquired what a flag in global memory carries, a clock for each warp */
void gs_emu_vector_learn(const gs_emu_check *check, gs_emu_vector *into, const uint32_t *clock);   /* the same for whoever acquires `into` */
bool gs_emu_check_clustered(const gs_emu_check *check, int by, int warp, uint32_t clock);   /* as known; of its own block everything is */
const uint32_t *gs_emu_check_published(const gs_emu_check *check, int warp);           /* a clock for each warp */

/* ---- accesses ---- */

typedef enum gs_emu_access {
    GS_EMU_READ,              /* generic */
    GS_EMU_WRITE,
    GS_EMU_ATOMIC,            /* generic; does not race with other atomics */
    GS_EMU_SYNC,              /* an mbarrier operation on its own eight bytes: marks them written, checks nothing else; before its release */
    GS_EMU_ASYNC_READ,        /* wgmma, bulk store, from the issue on: kind and clock say until when */
    GS_EMU_COPY_WRITE,        /* cp.async, from the issue on */
    GS_EMU_STRONG_READ,       /* generic: a volatile, relaxed or acquire load; does not race with strong writes and atomics */
    GS_EMU_STRONG_WRITE       /* generic: a volatile, relaxed or release store; does not race with strong accesses and atomics */
} gs_emu_access;

/* An access of shared memory of `block` by `warp` at its present point. For ASYNC_READ and COPY_WRITE, kind and clock name the agent that the
 * access belongs to (WGMMA, BULK or COPY) and the group that will hold it; otherwise ignored. Bounds were checked before. */
void gs_emu_check_access(gs_emu_check *check, int warp, uint32_t op, int block, uint32_t offset, uint32_t bytes, gs_emu_access access,
                         gs_emu_agent_kind kind, uint32_t clock);

/* A bulk copy into shared memory, issued by warp: from begin to end its bytes are neither readable nor writable. `copy` is a number
 * that no other copy under way has. At the end the bytes belong to an mbarrier's agent at the clock of the phase that it completes in. */
void gs_emu_check_copy_begin(gs_emu_check *check, int warp, uint32_t op, int block, uint32_t offset, uint32_t bytes, uint32_t copy);
void gs_emu_check_copy_end(gs_emu_check *check, int block, uint32_t offset, uint32_t bytes, uint32_t copy, int agent, uint32_t clock);

/* Registers that wgmma groups hold are checked by the machine, not here. */

#endif
