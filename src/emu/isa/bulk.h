/* SPDX-License-Identifier: MIT
 * What the parts of the bulk copies share: bulk_decode.c decodes, bulk.c issues copies and waits for them, bulk_move.c moves their bytes
 * in steps, bulk_reduce.c is the arithmetic of reductions. */
#ifndef GS_EMU_ISA_BULK_H
#define GS_EMU_ISA_BULK_H

#include "emu/isa/isa.h"
#include "emu/isa/tensor.h"

typedef enum gs_emu_reduction {
    GS_EMU_REDUCE_NONE, GS_EMU_REDUCE_ADD, GS_EMU_REDUCE_MIN, GS_EMU_REDUCE_MAX, GS_EMU_REDUCE_INC, GS_EMU_REDUCE_DEC, GS_EMU_REDUCE_AND,
    GS_EMU_REDUCE_OR, GS_EMU_REDUCE_XOR
} gs_emu_reduction;

/* ---- bulk.c ---- */

/* Operands of a copy are the list of its op. An address is two entries: its base, and its displacement as a 64-bit constant. What the
 * instruction has not is 0. Coordinates are the last ones. */
enum {
    GS_EMU_BULK_SHARED = 0, GS_EMU_BULK_OTHER = 2, GS_EMU_BULK_BARRIER = 4, GS_EMU_BULK_SIZE = 6, GS_EMU_BULK_MASK = 7, GS_EMU_BULK_COORDINATE = 8
};

/* op->flags. The first three bits: the base of the address at 0, 2, 4 has 64 bits. */
enum {
    GS_EMU_BULK_OWN        = 1 << 3,    /* a destination .shared::cta */
    GS_EMU_BULK_FROM_BLOCK = 1 << 4,    /* from shared memory to shared memory; the other address is the source's */
    GS_EMU_BULK_MULTICAST  = 1 << 5,
    GS_EMU_BULK_TENSOR     = 1 << 6,    /* op->count dimensions; the other address is the map's, in op->space */
    GS_EMU_BULK_ONLY_READ  = 1 << 7     /* wait_group.read; op->immediate: groups that may be pending */
};

/* A reduction has its gs_emu_reduction in op->type2, and the type of its elements, unless the map says it, in op->type. */
gs_emu_exec gs_emu_bulk_exec_load, gs_emu_bulk_exec_store, gs_emu_bulk_exec_commit, gs_emu_bulk_exec_wait, gs_emu_bulk_exec_prefetch_map,
            gs_emu_bulk_exec_prefetch;

/* ---- bulk_reduce.c ---- */

/* Whether the hardware has it. B32 and B64 are the types of logic, beside those that tensor maps have. */
bool gs_emu_reduction_exists(gs_emu_reduction reduction, gs_ptx_type type);
/* to = to (op) from, each element atomically. Both hold whole elements, `to` aligned. */
void gs_emu_reduce(gs_emu_reduction reduction, gs_ptx_type type, uint8_t *to, const uint8_t *from, uint32_t bytes);

/* ---- bulk_move.c ---- */

typedef struct gs_emu_bulk_store gs_emu_bulk_store;

/* The bulk groups of a warp. A lane's groups are numbered from 1, an open one is committed + 1. */
struct gs_emu_bulk_state {
    uint32_t committed[GS_EMU_LANES];
    uint32_t covered[GS_EMU_LANES];    /* groups up to here were waited for, to be read at least */
    uint32_t last[GS_EMU_LANES];       /* group of the last store, 0: none */
    gs_emu_bulk_store *first;          /* under way */
};

/* Whether stores of these lanes in any but their newest `pending` groups are still to be read (or also to be written). */
bool gs_emu_bulk_pending(const struct gs_emu_bulk_state *state, uint32_t lanes, uint32_t pending, bool only_read);

/* A load under way: into `to`, from global memory, or, when `from` is not NULL, from shared memory there (tile->address is an offset).
 * It completes on the barrier. false: no memory. */
bool gs_emu_bulk_load(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_tile *tile, gs_emu_block *from, gs_emu_block *to, gs_emu_mbarrier *barrier,
                      uint32_t copy);
/* A store or reduction under way from w's block, in the open group of the lane. type: of the elements. false: no memory. */
bool gs_emu_bulk_store_add(gs_emu_warp *w, int lane, const gs_emu_tile *tile, gs_emu_reduction reduction, gs_ptx_type type);

#endif
