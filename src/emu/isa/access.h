/* SPDX-License-Identifier: MIT
 * What the memory instructions share: modifiers of their opcodes, and where the lanes of one instruction reach.
 *   access.c         loads and stores              access_reach.c   addresses to host memory, checks, counters
 *   access_parts.c   modifiers and operands        access_ranges.c  addresses of lanes, and ranges of them
 *   access_atomic.c  atom, red                     access_address.c instructions that work on addresses, cache hints
 *   cp_async.c       cp.async that is not bulk       st_async.c       st.async */
#ifndef GS_EMU_ISA_ACCESS_H
#define GS_EMU_ISA_ACCESS_H

#include "emu/isa/isa.h"

/* op->flags of memory instructions, besides GS_EMU_ADDRESS_64. */
enum {
    GS_EMU_ACCESS_CLUSTER    = 0x01,   /* shared memory of other blocks may be named */
    GS_EMU_ACCESS_STRONG     = 0x02,   /* volatile, relaxed, acquire, release: other threads are expected to access the same bytes */
    GS_EMU_ACCESS_ACQUIRE    = 0x04,
    GS_EMU_ACCESS_RELEASE    = 0x08,
    GS_EMU_ACCESS_UNREAD     = 0x10,   /* atom: nobody reads the result */
    GS_EMU_ACCESS_IN_BLOCK   = 0x20,   /* scope cta: other blocks are not expected */
    GS_EMU_ACCESS_IN_CLUSTER = 0x40,   /* scope cluster: other clusters are not */
    GS_EMU_ACCESS_CONSTANT   = 0x80,   /* .nc, ldu: nobody may write the bytes during the launch */
    GS_EMU_ACCESS_OWN        = 0x100   /* the first flag of the file's own */
};

/* ---- modifiers ---- */

/* Who may have a modifier. */
enum { GS_EMU_ON_LOAD = 1, GS_EMU_ON_STORE = 2, GS_EMU_ON_ATOM = 4, GS_EMU_ON_RED = 8 };

typedef enum gs_emu_atomic {
    GS_EMU_ATOMIC_NONE, GS_EMU_ATOMIC_ADD, GS_EMU_ATOMIC_INC, GS_EMU_ATOMIC_DEC, GS_EMU_ATOMIC_MIN, GS_EMU_ATOMIC_MAX,
    GS_EMU_ATOMIC_AND, GS_EMU_ATOMIC_OR, GS_EMU_ATOMIC_XOR, GS_EMU_ATOMIC_EXCH, GS_EMU_ATOMIC_CAS, GS_EMU_ATOMIC_KINDS
} gs_emu_atomic;

typedef struct gs_emu_access_parts {
    gs_ptx_space  space;
    bool          spaced;       /* a space was named */
    uint16_t      flags;        /* for op->flags */
    int           vector;       /* elements, 1 without .v2, .v4, .v8 */
    gs_ptx_type   type;
    bool          hint;         /* .L2::cache_hint: a policy is the last operand */
    bool          noftz;
    gs_emu_atomic operation;
} gs_emu_access_parts;

/* Reads the opcode's parts from the second on. UNSUPPORTED: a part is not known, not allowed on such an instruction, or stands twice. */
gs_status gs_emu_access_parts_read(gs_emu_decoder *d, const gs_ptx_instruction *in, int on, gs_emu_access_parts *out);

/* UNSUPPORTED unless the instruction has that many operands. */
gs_status gs_emu_access_operands(gs_emu_decoder *d, int least, int most);

/* gs_emu_address into slot 0, for an access of that space: a variable must be in it. */
void gs_emu_access_address(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_space space);

/* ---- where lanes reach ---- */

/* The statement for each of the lanes; for a full warp a plain loop. */
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
    gs_ptx_space space;         /* GLOBAL, SHARED of the own block, LOCAL, PARAM, of all lanes. GENERIC: each lane has its place */
    bool     straight;          /* 32 lanes, one right behind the other */
    bool     uniform;           /* one address */
    uint32_t lanes;
    const gs_emu_allocation *allocation;   /* GLOBAL */
    uint64_t address[GS_EMU_LANES];        /* in the space; lanes that take no part have the address of one that does */
    uint8_t *at[GS_EMU_LANES];             /* on the host */
    gs_emu_place place[GS_EMU_LANES];      /* space GENERIC: of the lanes that take part */
} gs_emu_reach;

typedef struct gs_emu_range {
    uint64_t start;
    uint32_t bytes;
} gs_emu_range;

/* The addresses of an op's operand; for an instruction with one address this is gs_emu_lane_address for each lane. */
void gs_emu_reach_addresses(gs_emu_warp *w, uint32_t base, bool wide, int64_t displacement, gs_emu_reach *reach);
/* Finds the host addresses; accesses of `size` bytes, a power of two, aligned to it. false: a fatal finding was reported. */
bool gs_emu_reach_find(gs_emu_warp *w, const gs_emu_op *op, gs_ptx_space space, uint32_t lanes, uint32_t size, gs_emu_reach *reach);
/* Tells the checker: a generic access. */
void gs_emu_reach_touch(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, gs_emu_access access);
/* Adds to the counters of traffic. */
void gs_emu_reach_count(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size, bool store);

static inline gs_emu_result gs_emu_reach_op(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, uint32_t size, gs_emu_reach *reach)
{
    gs_emu_reach_addresses(w, op->src[0], op->flags & GS_EMU_ADDRESS_64, op->immediate, reach);
    return gs_emu_reach_find(w, op, (gs_ptx_space)op->space, lanes, size, reach) ? GS_EMU_NEXT : GS_EMU_FAILED;
}

/* The warp looked at that place for what others may have done; news: it found or did something new. Whoever waits looks at few places. */
static inline void gs_emu_count_poll(gs_emu_warp *w, uint64_t address, bool news)
{
    bool again = false;
    for (int i = 0; i < GS_EMU_POLLED; i++) again |= w->polled[i] == address;
    w->polls = news || !again ? 0 : w->polls + 1;
    w->all_polls += w->polls > 0;
    if (!again) w->polled[w->polled_next++ % GS_EMU_POLLED] = address;
}

/* lanes.c: a plain write or read of the own block's shared memory, with the checker. */
void gs_emu_lanes_wrote(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size);
void gs_emu_lanes_read(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size);
/* Such an access, now; and that lanes wait, now, for copies to there. */
gs_emu_lane_access gs_emu_lanes_access(const gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size);
void gs_emu_lanes_copied(gs_emu_warp *w, const gs_emu_lane_access *copied, uint32_t lanes);

/* Least and greatest address of the lanes. */
void gs_emu_reach_span(const gs_emu_reach *reach, uint32_t lanes, uint64_t *low, uint64_t *high);
/* The bytes that some of its lanes reach, as ranges; most often as few as there are. Returns their number. Not for space GENERIC. */
int gs_emu_reach_ranges(const gs_emu_reach *reach, uint32_t lanes, uint32_t size, gs_emu_range range[GS_EMU_LANES]);

/* ---- decoders of the other files ---- */

gs_emu_decode gs_emu_decode_atomic, gs_emu_decode_address, gs_emu_decode_copy, gs_emu_decode_store_async;

#endif
