/* SPDX-License-Identifier: MIT
 * Shared by the parts of the bulk copies: bulk_decode.c decodes, bulk.c issues copies and waits for them, bulk_move.c moves their bytes in steps, bulk_reduce.c has
 * the arithmetic of reductions. */
#ifndef GS_EMU_ISA_BULK_H
#define GS_EMU_ISA_BULK_H

#include "emu/isa/isa.h"
#include "emu/isa/tensor.h"

typedef enum gs_emu_reduction {
    GS_EMU_REDUCE_NONE, GS_EMU_REDUCE_ADD, GS_EMU_REDUCE_MIN, GS_EMU_REDUCE_MAX, GS_EMU_REDUCE_INC, GS_EMU_REDUCE_DEC, GS_EMU_REDUCE_AND,
    GS_EMU_REDUCE_OR, GS_EMU_REDUCE_XOR
} gs_emu_reduction;

/* ---- bulk.c ---- */

/* The operands of a copy are in its op's list. An address has two entries: its base, and its displacement as a 64-bit constant. Missing operands are 0. Coordinates
 * come last. */
enum {
    GS_EMU_BULK_SHARED = 0, GS_EMU_BULK_OTHER = 2, GS_EMU_BULK_BARRIER = 4, GS_EMU_BULK_SIZE = 6, GS_EMU_BULK_MASK = 7, GS_EMU_BULK_COORDINATE = 8
};

/* op->flags. The first three bits: the base of the address at 0, 2, 4 is a 64-bit register. */
enum {
    GS_EMU_BULK_OWN        = 1 << 3,    /* the destination is .shared::cta */
    GS_EMU_BULK_FROM_BLOCK = 1 << 4,    /* shared memory to shared memory; OTHER is the source */
    GS_EMU_BULK_MULTICAST  = 1 << 5,
    GS_EMU_BULK_TENSOR     = 1 << 6,    /* op->count dimensions; OTHER is the tensor map, in space op->space */
    GS_EMU_BULK_ONLY_READ  = 1 << 7     /* wait_group.read; op->immediate: number of groups that may be pending */
};

/* For a reduction op->type2 is its gs_emu_reduction, and op->type the type of its elements, unless the map gives it. */
gs_emu_exec gs_emu_bulk_exec_load, gs_emu_bulk_exec_store, gs_emu_bulk_exec_commit, gs_emu_bulk_exec_wait, gs_emu_bulk_exec_prefetch_map,
            gs_emu_bulk_exec_prefetch;

/* ---- bulk_reduce.c ---- */

/* Whether the hardware supports it. B32 and B64 are the types of logic operations; the others are types of tensor maps. */
bool gs_emu_reduction_exists(gs_emu_reduction reduction, gs_ptx_type type);
/* to = to (op) from, each element atomically. Both hold whole elements; `to` is aligned. */
void gs_emu_reduce(gs_emu_reduction reduction, gs_ptx_type type, uint8_t *to, const uint8_t *from, uint32_t bytes);

/* ---- bulk_move.c ---- */

typedef struct gs_emu_bulk_store gs_emu_bulk_store;

/* The bulk groups of a warp. Each lane's groups are numbered from 1; the open group is committed + 1. */
struct gs_emu_bulk_state {
    uint32_t committed[GS_EMU_LANES];
    uint32_t covered[GS_EMU_LANES];    /* groups up to here were waited for, at least until they were read */
    uint32_t last[GS_EMU_LANES];       /* group of the last store; 0: none */
    gs_emu_bulk_store *first;          /* list of pending stores */
};

/* Whether stores of these lanes in groups other than their newest `pending` are still to be read (only_read) or to be completed. */
bool gs_emu_bulk_pending(const struct gs_emu_bulk_state *state, uint32_t lanes, uint32_t pending, bool only_read);

/* Starts a load into `to`, from global memory or, if `from` is not NULL, from its shared memory (tile->address is then an offset). It completes on the barrier. false:
 * no memory. */
bool gs_emu_bulk_load(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_tile *tile, gs_emu_block *from, gs_emu_block *to, gs_emu_mbarrier *barrier,
                      uint32_t copy);
/* Starts a store or reduction from w's block, in the open group of the lane. type: of the elements. false: no memory. */
bool gs_emu_bulk_store_add(gs_emu_warp *w, int lane, const gs_emu_tile *tile, gs_emu_reduction reduction, gs_ptx_type type);

#endif
