/* SPDX-License-Identifier: MIT
 * A warp's wgmma operations, shared by wgmma.c (instructions, queue) and wgmma_registers.c (accumulators under way).
 *
 * Accumulators of operations under way live in a chain: the tile of one warp, to which operations on the same registers are appended.
 * Registers hold elements of a chain by a tag. Moves copy tags, because the compiler writes them between wgmmas and the assembler makes
 * them disappear. A wait that covers the chain's last operation writes its elements to the registers and ends it. */
#ifndef GS_EMU_ISA_WGMMA_H
#define GS_EMU_ISA_WGMMA_H

#include "emu/isa/isa.h"
#include "emu/isa/wgmma_math.h"

/* gs_emu_op of wgmma.mma_async: type of the operands, type2 F32 or F16, count = N / 8, src[0] descriptor of A, src[1] of B, src[2] scale-d,
 * list: accumulators, list2: A's registers, and these flags. */
#define GS_EMU_WGMMA_A_REGISTERS 0x01
#define GS_EMU_WGMMA_A_MN_MAJOR  0x02
#define GS_EMU_WGMMA_B_MN_MAJOR  0x04
#define GS_EMU_WGMMA_NEGATE      0x08   /* the product's sign: scale-a * scale-b */
#define GS_EMU_WGMMA_SCALE_NOT   0x10   /* scale-d is negated */

#define GS_EMU_WGMMA_HISTORY 64         /* issued operations that are remembered, to compare the warps of a warpgroup */

/* What the guard must know of each op. */
#define GS_EMU_WATCH_REGISTERS 0x01     /* it reads or writes watched registers: entry[first[op]..] */
#define GS_EMU_WATCH_MOVE      0x02     /* a plain move of one register: entries are its source and destination, or its destination */
#define GS_EMU_WATCH_MOV       0x04     /* some mov: does not count as a write that needs a fence */
#define GS_EMU_WATCH_FLUSH     0x08     /* may order memory accesses: the reads noted so far are told to the checker first */

/* The watched registers of a code: accumulators and A operands of wgmma, and what moves connect with them. Made at first use. */
struct gs_emu_wgmma_code {
    atomic_bool ready;
    uint32_t    slots;
    uint32_t   *offset;     /* per slot: of the register */
    uint8_t    *watch;      /* per op */
    uint32_t   *first;      /* per op, and the end */
    uint32_t   *entry;      /* slot * 2, plus 1 for a write; reads first. Of a wgmma.mma_async: the slots of its accumulators, then of A, or NONE */
};

typedef struct gs_emu_chain {
    struct gs_emu_chain *next;
    uint32_t last_group;    /* that its latest operation belongs to */
    int32_t  line;          /* of that operation */
    int      n;
    bool     half;
    float    tile[];        /* n columns of 16 rows */
} gs_emu_chain;

typedef struct gs_emu_tag {
    gs_emu_chain *chain;    /* NULL: the register holds its value itself */
    uint32_t element;
    uint32_t written;       /* number of fences executed before the last write, plus one; 0: never */
    uint32_t held;          /* group that reads it as A, 0: none */
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
    uint32_t group;         /* 1 and up */
    gs_emu_wgmma_record what;
    uint32_t a[4][GS_EMU_LANES];   /* A in registers, as it was at issue */
} gs_emu_wgmma_operation;

struct gs_emu_wgmma_state {
    const struct gs_emu_wgmma_code *code;
    gs_emu_tag   *tag;                  /* per slot */
    gs_emu_chain *chain;                /* under way */
    uint32_t fences;                    /* wgmma.fence executed */
    uint32_t committed, waited;         /* groups committed; known finished by a wait */
    gs_emu_wgmma_operation *queue;      /* ring of operations that have not run, in order */
    uint32_t head, count, capacity;
    bool     armed;                     /* a task is there to run them */
    gs_emu_wgmma_record history[GS_EMU_WGMMA_HISTORY];
    uint64_t issued;
    uint64_t *read;                     /* checker: pieces of shared memory read by operations issued since the last flush; NULL: off */
    uint32_t read_words, read_low, read_high;
    uint32_t read_op;
};

/* ---- wgmma_reads.c ---- */

void gs_emu_wgmma_note_reads(struct gs_emu_wgmma_state *s, const uint32_t *piece, int pieces);
void gs_emu_wgmma_flush(gs_emu_warp *w);   /* tells the checker the reads noted so far */

/* ---- wgmma_registers.c ---- */

/* The watched registers of a code; NULL: no memory. From any thread. */
const struct gs_emu_wgmma_code *gs_emu_wgmma_watch(const gs_emu_code *code);
/* The chain of an operation's accumulators: the one they are in, or a new one, with their present values if it accumulates. NULL: no memory. */
gs_emu_chain *gs_emu_wgmma_chain(gs_emu_warp *w, const gs_emu_op *op, bool accumulate);
/* A's registers: read now, held until `group` is waited for. */
void gs_emu_wgmma_hold(gs_emu_warp *w, const gs_emu_op *op, uint32_t a[4][GS_EMU_LANES], uint32_t group);
void gs_emu_wgmma_check_fence(gs_emu_warp *w, const gs_emu_op *op);
/* Ends the chains whose groups the warp has waited for. */
void gs_emu_wgmma_release(gs_emu_warp *w);

#endif
