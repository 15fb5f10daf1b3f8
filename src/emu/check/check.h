/* SPDX-License-Identifier: MIT
 * The race checker of one cluster: checks that accesses to shared memory are ordered by barriers, waits and fences (happens-before, with vector clocks), and that
 * bytes are written before they are read.
 *
 * Every actor is an agent with a clock:
 *   generic    a warp's own instructions. Its clock ticks when the warp releases, and when it fences.
 *   wgmma      a warp's asynchronous matrix reads;  clock = number of its wgmma groups committed so far + 1
 *   copy       a warp's cp.async writes;            clock = the same for cp.async groups
 *   bulk       a warp's bulk stores' reads of shared memory; clock = the same for bulk groups
 *   mbarrier   the bulk copies that complete on one mbarrier; clock = phase + 1, phase counted from 0 since its first initialisation
 * Each warp has two vectors over all agents: `known` (what happened before its next instruction) and `fenced` (the part of it that is also visible to the asynchronous
 * proxy). An access is correct if every conflicting earlier access to the same bytes is in `known`; an asynchronous access to bytes that generic instructions wrote
 * needs them in `fenced`. cp.async belongs to the generic proxy. A write by generic instructions or by copies after reads of either proxy needs no proxy fence, only
 * `known`. An optional third vector, over the warps' generic clocks, is `published`: the part of `known` that a fence has made visible to other clusters (order.h). It
 * is passed on together with the others. So is a fourth one for clusters, `clustered`: the part of `known` that was released to the cluster. Data written by warps of
 * other blocks may be read only if the write is in it. An arrival of scope .cta tells that a block has read its memory, as when buffers are given back, but nothing
 * about its writes.
 *
 * All calls for one cluster come from one thread. Findings go to the `report` function. Warps are numbered block * warps + warp. */
#ifndef GS_EMU_CHECK_CHECK_H
#define GS_EMU_CHECK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/check/finding.h"

typedef struct gs_emu_check gs_emu_check;

typedef enum gs_emu_agent_kind {
    GS_EMU_AGENT_GENERIC, GS_EMU_AGENT_WGMMA, GS_EMU_AGENT_COPY, GS_EMU_AGENT_BULK, GS_EMU_AGENT_KINDS
} gs_emu_agent_kind;

/* text: both accesses in words. op: index of the instruction of the later access. */
typedef void gs_emu_report_fn(void *context, gs_emu_finding_kind kind, int warp, uint32_t op, const char *text);

/* Writes the source place of instruction `op` ("wgmma.cuh:43") into text, for messages that name the earlier access. */
typedef void gs_emu_describe_fn(void *context, uint32_t op, char *text, unsigned long size);

/* NULL if there is no memory. shared_bytes: per block. publishes: with the third vector. Reset it for each cluster; that is cheap and allocates nothing. */
gs_emu_check *gs_emu_check_create(int blocks, int warps, uint32_t shared_bytes, bool publishes, gs_emu_report_fn *report, gs_emu_describe_fn *describe,
                                  void *context);
void          gs_emu_check_reset(gs_emu_check *check);
void          gs_emu_check_destroy(gs_emu_check *check);

/* ---- synchronisation ---- */

/* What a synchronisation object (a barrier phase, a released flag) carries from its releasers to its acquirers. */
typedef struct gs_emu_vector gs_emu_vector;
gs_emu_vector *gs_emu_vector_create(const gs_emu_check *check);   /* empty; NULL: no memory */
void           gs_emu_vector_destroy(gs_emu_vector *vector);
void           gs_emu_vector_clear(gs_emu_vector *vector);
void           gs_emu_vector_join(gs_emu_vector *into, const gs_emu_vector *from);

/* Whether the warp knows that a block has begun: some action of one of the block's warps is in `known`, or was published in global memory (for a cluster's own blocks
 * it is not recorded who has seen published data). */
bool gs_emu_check_knows(const gs_emu_check *check, int warp, int block);

void gs_emu_check_release(gs_emu_check *check, int warp, gs_emu_vector *into);         /* joins the warp's vectors into it; the warp's clock ticks */
void gs_emu_check_acquire(gs_emu_check *check, int warp, const gs_emu_vector *from);
void gs_emu_check_fence_async(gs_emu_check *check, int warp);                          /* fence.proxy.async: fenced = known */
void gs_emu_check_done(gs_emu_check *check, int warp, gs_emu_agent_kind kind, uint32_t clock);   /* the warp waited: its groups up to clock are complete */

/* Adds to `into` that all cp.async issued by the warp so far, committed or not, are complete: for cp.async.mbarrier.arrive. */
void gs_emu_check_copies(gs_emu_check *check, int warp, gs_emu_vector *into);

/* The agent of the mbarrier at `offset` in a block's shared memory, created on first use. */
int  gs_emu_check_mbarrier(gs_emu_check *check, int block, uint32_t offset);
/* A phase of the mbarrier completed: acquirers of `into` know its copies up to clock. */
void gs_emu_check_phase(gs_emu_check *check, int agent, uint32_t clock, gs_emu_vector *into);
/* Whether warp `by` knows what `warp` did up to its clock value `clock`, or whether `by`'s asynchronous work sees it. */
bool gs_emu_check_known(const gs_emu_check *check, int by, int warp, uint32_t clock);
bool gs_emu_check_fenced(const gs_emu_check *check, int by, int warp, uint32_t clock);
uint32_t gs_emu_check_clock(const gs_emu_check *check, int warp);                      /* its generic clock */
void gs_emu_check_publish(gs_emu_check *check, int warp);                              /* published = known; the warp's clock ticks */
void gs_emu_check_to_cluster(gs_emu_check *check, int warp);                           /* release of cluster scope or wider: clustered = known of the own block; the clock ticks */
const uint32_t *gs_emu_check_released(const gs_emu_check *check, int warp);            /* clustered, or published for a single block: a clock for each warp */
void gs_emu_check_learn(gs_emu_check *check, int warp, const uint32_t *clock);         /* the warp acquired clocks, one for each warp, from a flag in global memory */
void gs_emu_vector_learn(const gs_emu_check *check, gs_emu_vector *into, const uint32_t *clock);   /* the same for later acquirers of `into` */
bool gs_emu_check_clustered(const gs_emu_check *check, int by, int warp, uint32_t clock);   /* like gs_emu_check_known for `clustered`; true for its own block */
const uint32_t *gs_emu_check_published(const gs_emu_check *check, int warp);           /* a clock for each warp */

/* ---- accesses ---- */

typedef enum gs_emu_access {
    GS_EMU_READ,              /* generic */
    GS_EMU_WRITE,
    GS_EMU_ATOMIC,            /* generic; does not race with other atomics */
    GS_EMU_SYNC,              /* an mbarrier operation on its own eight bytes: marks them as written, checks nothing else; call it before the release */
    GS_EMU_ASYNC_READ,        /* wgmma, bulk store, from issue; kind and clock tell when it ends */
    GS_EMU_COPY_WRITE,        /* cp.async, from issue */
    GS_EMU_STRONG_READ,       /* generic: a volatile, relaxed or acquire load; does not race with strong writes and atomics */
    GS_EMU_STRONG_WRITE       /* generic: a volatile, relaxed or release store; does not race with strong accesses and atomics */
} gs_emu_access;

/* An access by `warp`, now, to shared memory of `block`. For ASYNC_READ and COPY_WRITE, kind and clock name the agent that the access belongs to (WGMMA, BULK or COPY)
 * and the group that will contain it; otherwise they are ignored. Bounds must have been checked. */
void gs_emu_check_access(gs_emu_check *check, int warp, uint32_t op, int block, uint32_t offset, uint32_t bytes, gs_emu_access access,
                         gs_emu_agent_kind kind, uint32_t clock);

/* A bulk copy into shared memory, issued by warp: between begin and end its bytes may be neither read nor written. `copy` is a number that no other pending copy has.
 * At the end the bytes belong to an mbarrier's agent, with the clock of the phase in which the copy completes. */
void gs_emu_check_copy_begin(gs_emu_check *check, int warp, uint32_t op, int block, uint32_t offset, uint32_t bytes, uint32_t copy);
void gs_emu_check_copy_end(gs_emu_check *check, int block, uint32_t offset, uint32_t bytes, uint32_t copy, int agent, uint32_t clock);

/* Registers that wgmma groups hold are checked by the machine, not here. */

#endif
