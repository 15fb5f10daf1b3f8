/* SPDX-License-Identifier: MIT
 * Shared by the memory instructions: modifiers of opcodes, and the addresses that the lanes of an instruction access.
 *   access.c         loads and stores              access_reach.c   addresses to host memory, checks, counters
 *   access_parts.c   modifiers and operands        access_ranges.c  addresses of lanes, and ranges of them
 *   access_atomic.c  atom, red                     access_address.c instructions on addresses, cache hints
 *   cp_async.c       cp.async without bulk         st_async.c       st.async */
#ifndef GS_EMU_ISA_ACCESS_H
#define GS_EMU_ISA_ACCESS_H

#include "emu/isa/isa.h"

/* op->flags of memory instructions, besides GS_EMU_ADDRESS_64. */
enum {
    GS_EMU_ACCESS_CLUSTER    = 0x01,   /* addresses may be in shared memory of other blocks */
    GS_EMU_ACCESS_STRONG     = 0x02,   /* volatile, relaxed, acquire, release: other threads may access the same bytes */
    GS_EMU_ACCESS_ACQUIRE    = 0x04,
    GS_EMU_ACCESS_RELEASE    = 0x08,
    GS_EMU_ACCESS_UNREAD     = 0x10,   /* atom: the result is never read */
    GS_EMU_ACCESS_IN_BLOCK   = 0x20,   /* scope cta: only this block's threads may access the bytes */
    GS_EMU_ACCESS_IN_CLUSTER = 0x40,   /* scope cluster: only this cluster's threads may */
    GS_EMU_ACCESS_CONSTANT   = 0x80,   /* .nc, ldu: the bytes may not be written during the launch */
    GS_EMU_ACCESS_OWN        = 0x100   /* the first flag that each file may define for itself */
};

/* ---- modifiers ---- */

/* On which instructions a modifier is allowed. */
enum { GS_EMU_ON_LOAD = 1, GS_EMU_ON_STORE = 2, GS_EMU_ON_ATOM = 4, GS_EMU_ON_RED = 8 };

typedef enum gs_emu_atomic {
    GS_EMU_ATOMIC_NONE, GS_EMU_ATOMIC_ADD, GS_EMU_ATOMIC_INC, GS_EMU_ATOMIC_DEC, GS_EMU_ATOMIC_MIN, GS_EMU_ATOMIC_MAX,
    GS_EMU_ATOMIC_AND, GS_EMU_ATOMIC_OR, GS_EMU_ATOMIC_XOR, GS_EMU_ATOMIC_EXCH, GS_EMU_ATOMIC_CAS, GS_EMU_ATOMIC_KINDS
} gs_emu_atomic;

typedef struct gs_emu_access_parts {
    gs_ptx_space  space;
    bool          spaced;       /* the opcode names a space */
    uint16_t      flags;        /* for op->flags */
    int           vector;       /* number of elements, 1 without .v2, .v4, .v8 */
    gs_ptx_type   type;
    bool          hint;         /* .L2::cache_hint: the last operand is a policy */
    bool          noftz;
    gs_emu_atomic operation;
} gs_emu_access_parts;

/* Reads the opcode's parts from the second on. UNSUPPORTED: a part is unknown, not allowed on this instruction, or given twice. */
gs_status gs_emu_access_parts_read(gs_emu_decoder *d, const gs_ptx_instruction *in, int on, gs_emu_access_parts *out);

/* UNSUPPORTED unless the number of operands is in this range. */
gs_status gs_emu_access_operands(gs_emu_decoder *d, int least, int most);

/* gs_emu_address into slot 0, for an access to this space; a variable must be in it. */
void gs_emu_access_address(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_space space);

/* ---- addresses of lanes ---- */

/* Executes the statement for each of the lanes; for a full warp in a plain loop. */
#define GS_EMU_ACCESS_EACH(lane, lanes, statement)                                           \
    do {                                                                                     \
        if ((lanes) == GS_EMU_FULL)                                                          \
            for (int lane = 0; lane < GS_EMU_LANES; lane++) { statement; }                   \
        else                                                                                 \
            for (uint32_t left_ = (lanes); left_; left_ &= left_ - 1) {                      \
                const int lane = __builtin_ctz(left_);                                       \
                statement;                                                                   \
            }                                                                                \
    } while (0)

typedef struct gs_emu_reach {
    gs_ptx_space space;         /* GLOBAL, SHARED of the own block, LOCAL or PARAM, for all lanes. GENERIC: see place of each lane */
    bool     straight;          /* 32 lanes with adjacent accesses */
    bool     uniform;           /* all lanes have the same address */
    uint32_t lanes;
    const gs_emu_allocation *allocation;   /* GLOBAL */
    uint64_t address[GS_EMU_LANES];        /* in the space; inactive lanes have the address of an active one */
    uint8_t *at[GS_EMU_LANES];             /* host address */
    gs_emu_place place[GS_EMU_LANES];      /* space GENERIC: for active lanes */
} gs_emu_reach;

typedef struct gs_emu_range {
    uint64_t start;
    uint32_t bytes;
} gs_emu_range;

/* Computes the addresses of an op's operand; for an instruction with one address, gs_emu_lane_address for each lane. */
void gs_emu_reach_addresses(gs_emu_warp *w, uint32_t base, bool wide, int64_t displacement, gs_emu_reach *reach);
/* Finds the host addresses of aligned accesses of `size` bytes, a power of two. false: a fatal finding was reported. */
bool gs_emu_reach_find(gs_emu_warp *w, const gs_emu_op *op, gs_ptx_space space, uint32_t lanes, uint32_t size, gs_emu_reach *reach);
/* Reports a generic access to the checker. */
void gs_emu_reach_touch(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, gs_emu_access access);
/* Adds to the traffic counters. */
void gs_emu_reach_count(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size, bool store);

static inline gs_emu_result gs_emu_reach_op(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, uint32_t size, gs_emu_reach *reach)
{
    gs_emu_reach_addresses(w, op->src[0], op->flags & GS_EMU_ADDRESS_64, op->immediate, reach);
    return gs_emu_reach_find(w, op, (gs_ptx_space)op->space, lanes, size, reach) ? GS_EMU_NEXT : GS_EMU_FAILED;
}

/* Counts polling of a place; news: the access found or made a change. A warp that waits polls few places. */
static inline void gs_emu_count_poll(gs_emu_warp *w, uint64_t address, bool news)
{
    bool again = false;
    for (int i = 0; i < GS_EMU_POLLED; i++) again |= w->polled[i] == address;
    w->polls = news || !again ? 0 : w->polls + 1;
    w->all_polls += w->polls > 0;
    if (!again) w->polled[w->polled_next++ % GS_EMU_POLLED] = address;
}

/* lanes.c: records a plain write or read of the own block's shared memory for the checker. */
void gs_emu_lanes_wrote(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size);
void gs_emu_lanes_read(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size);
/* The description of such an access now; and that lanes wait, now, for copies to that place. */
gs_emu_lane_access gs_emu_lanes_access(const gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size);
void gs_emu_lanes_copied(gs_emu_warp *w, const gs_emu_lane_access *copied, uint32_t lanes);

/* Lowest and highest address of the lanes. */
void gs_emu_reach_span(const gs_emu_reach *reach, uint32_t lanes, uint64_t *low, uint64_t *high);
/* The bytes that the lanes access, as ranges, usually the fewest possible. Returns their number. Not for space GENERIC. */
int gs_emu_reach_ranges(const gs_emu_reach *reach, uint32_t lanes, uint32_t size, gs_emu_range range[GS_EMU_LANES]);

/* ---- decoders of the other files ---- */

gs_emu_decode gs_emu_decode_atomic, gs_emu_decode_address, gs_emu_decode_copy, gs_emu_decode_store_async;

#endif
