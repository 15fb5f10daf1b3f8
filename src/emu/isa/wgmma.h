/* SPDX-License-Identifier: MIT
 * A warp's wgmma operations, shared by wgmma.c (instructions, queue) and wgmma_registers.c (pending accumulators).
 *
 * The accumulators of pending operations are in a chain: the tile of one warp, to which operations on the same registers are added. Registers refer to elements of a
 * chain by a tag. Moves copy tags, because the compiler emits moves between wgmmas that the assembler eliminates. A wait that covers the chain's last operation writes
 * its elements to the registers and ends the chain. */
#ifndef GS_EMU_ISA_WGMMA_H
#define GS_EMU_ISA_WGMMA_H

#include "emu/isa/isa.h"
#include "emu/isa/wgmma_math.h"

/* gs_emu_op of wgmma.mma_async: type of the operands, type2 F32 or F16, count = N / 8, src[0] descriptor of A, src[1] of B, src[2] scale-d,
 * list: accumulators, list2: A's registers, and these flags. */
#define GS_EMU_WGMMA_A_REGISTERS 0x01
#define GS_EMU_WGMMA_A_MN_MAJOR  0x02
#define GS_EMU_WGMMA_B_MN_MAJOR  0x04
#define GS_EMU_WGMMA_NEGATE      0x08   /* sign of the product: scale-a * scale-b */
#define GS_EMU_WGMMA_SCALE_NOT   0x10   /* scale-d is negated */

#define GS_EMU_WGMMA_HISTORY 64         /* issued operations that are kept for comparing the warps of a warpgroup */

/* What the guard needs to know of each op. */
#define GS_EMU_WATCH_REGISTERS 0x01     /* it accesses watched registers: entry[first[op]..] */
#define GS_EMU_WATCH_MOVE      0x02     /* a plain move of one register: entries are its source and destination, or its destination only */
#define GS_EMU_WATCH_MOV       0x04     /* any mov: does not count as a write that needs a fence */
#define GS_EMU_WATCH_FLUSH     0x08     /* may order memory accesses: pending reads must be reported to the checker first */

/* The watched registers of a kernel: accumulators and A operands of wgmma, and registers connected with them by moves. Created on first use. */
struct gs_emu_wgmma_code {
    atomic_bool ready;
    uint32_t    slots;
    uint32_t   *offset;     /* per slot: offset of the register */
    uint8_t    *watch;      /* per op */
    uint32_t   *first;      /* per op, with an end entry */
    uint32_t   *entry;      /* slot * 2, plus 1 for a write; reads first. For a wgmma.mma_async: slots of its accumulators, then of A, or NONE */
};

typedef struct gs_emu_chain {
    struct gs_emu_chain *next;
    uint32_t last_group;    /* group of its latest operation */
    int32_t  line;          /* PTX line of that operation */
    int      n;
    bool     half;
    float    tile[];        /* n columns of 16 rows */
} gs_emu_chain;

typedef struct gs_emu_tag {
    gs_emu_chain *chain;    /* NULL: the register holds its own value */
    uint32_t element;
    uint32_t written;       /* number of fences before the last write, plus one; 0: never written */
    uint32_t held;          /* group that reads it as A; 0: none */
    int32_t  held_line;
} gs_emu_tag;

typedef struct gs_emu_wgmma_record {
    uint32_t op;
    bool     accumulate;
    uint64_t a, b;          /* descriptors */
} gs_emu_wgmma_record;

typedef struct gs_emu_wgmma_operation {
    const gs_emu_op *op;
    gs_emu_chain    *chain;
    uint32_t group;         /* numbered from 1 */
    gs_emu_wgmma_record what;
    uint32_t a[4][GS_EMU_LANES];   /* A in registers, copied at issue */
} gs_emu_wgmma_operation;

struct gs_emu_wgmma_state {
    const struct gs_emu_wgmma_code *code;
    gs_emu_tag   *tag;                  /* per slot */
    gs_emu_chain *chain;                /* pending chains */
    uint32_t fences;                    /* wgmma.fence executed */
    uint32_t committed, waited;         /* groups committed; groups known to be complete by a wait */
    gs_emu_wgmma_operation *queue;      /* ring of operations that have not run, in order */
    uint32_t head, count, capacity;
    bool     armed;                     /* a task exists to run them */
    gs_emu_wgmma_record history[GS_EMU_WGMMA_HISTORY];
    uint64_t issued;
    uint64_t *read;                     /* for the checker: pieces of shared memory read by operations since the last flush; NULL: off */
    uint32_t read_words, read_low, read_high;
    uint32_t read_op;
};

/* ---- wgmma_reads.c ---- */

void gs_emu_wgmma_note_reads(struct gs_emu_wgmma_state *s, const uint32_t *piece, int pieces);
void gs_emu_wgmma_flush(gs_emu_warp *w);   /* reports the pending reads to the checker */

/* ---- wgmma_registers.c ---- */

/* The watched registers of a kernel; NULL: no memory. May be called from any thread. */
const struct gs_emu_wgmma_code *gs_emu_wgmma_watch(const gs_emu_code *code);
/* The chain of an operation's accumulators: the one that they are in, or a new one, with their current values if it accumulates. NULL: no memory. */
gs_emu_chain *gs_emu_wgmma_chain(gs_emu_warp *w, const gs_emu_op *op, bool accumulate);
/* Reads A's registers, which are then held until `group` is waited for. */
void gs_emu_wgmma_hold(gs_emu_warp *w, const gs_emu_op *op, uint32_t a[4][GS_EMU_LANES], uint32_t group);
void gs_emu_wgmma_check_fence(gs_emu_warp *w, const gs_emu_op *op);
/* Ends the chains whose groups the warp has waited for. */
void gs_emu_wgmma_release(gs_emu_warp *w);

#endif
