/* SPDX-License-Identifier: MIT
 * What the parts of the race checker share: check.c has clocks, vectors and the calls; check_shadow.c the memory of accesses;
 * check_rules.c decides what conflicts and says it in words.
 *
 * Every 4-byte cell of shared memory holds the number of a state: which of its bytes were written, and the accesses that a later
 * one may conflict with, each with its own byte mask. States are immutable and shared by the cells with the same history, so that
 * an access of a tile works out each state once and then only moves cells from one number to another. A state goes when its last cell
 * left it. The last moves are remembered, because the lanes of one instruction mostly make the same one.
 *
 * What is kept of a cell is exact: of writes the last one per byte, and the atomics and other strong ones since that no kept one
 * comes after; of reads those since that write that no kept read comes after. An access that conflicts with a forgotten one also
 * conflicts with a kept one.
 * When memory runs out, cells fall back to the state GS_EMU_STATE_LOST, in which everything counts as written, by nobody: findings are
 * missed then, never invented. */
#ifndef GS_EMU_CHECK_CHECK_INTERNAL_H
#define GS_EMU_CHECK_CHECK_INTERNAL_H

#include <stddef.h>

#include "emu/check/check.h"

#define GS_EMU_CELL           4u            /* bytes */
#define GS_EMU_WHOLE_CELL     0xfu          /* mask of its bytes */
#define GS_EMU_CHECK_BARRIERS 256           /* most mbarriers of a block that have an agent */
#define GS_EMU_CHECK_PAD      16u           /* vectors are joined in pieces of so many clocks */
#define GS_EMU_CHECK_MEMOS    256u          /* moves remembered */
#define GS_EMU_CHECK_TRACES   (4u << 20)    /* most traces held by all states together */
#define GS_EMU_AGENT_COPYING  0xffffffffu   /* the agent of bulk copies under way; their clock is the copy's number */
#define GS_EMU_STATE_EMPTY    0u            /* nothing happened */
#define GS_EMU_STATE_LOST     1u            /* written, by nobody */

/* What an access does; the first are those of gs_emu_access. */
typedef enum gs_emu_deed {
    GS_EMU_DEED_READ       = GS_EMU_READ,
    GS_EMU_DEED_WRITE      = GS_EMU_WRITE,
    GS_EMU_DEED_ATOMIC     = GS_EMU_ATOMIC,
    GS_EMU_DEED_SYNC       = GS_EMU_SYNC,
    GS_EMU_DEED_ASYNC_READ = GS_EMU_ASYNC_READ,
    GS_EMU_DEED_COPY_WRITE = GS_EMU_COPY_WRITE,
    GS_EMU_DEED_STRONG_READ = GS_EMU_STRONG_READ,
    GS_EMU_DEED_STRONG_WRITE = GS_EMU_STRONG_WRITE,
    GS_EMU_DEED_BULK_WRITE,                  /* a bulk copy, from its issue on */
    GS_EMU_DEED_BULK_END                     /* its bytes change hands */
} gs_emu_deed;

/* What remains of an access. The last three are strong: they do not race with each other. */
typedef enum gs_emu_trace_kind {
    GS_EMU_TRACE_READ, GS_EMU_TRACE_WRITE, GS_EMU_TRACE_ATOMIC, GS_EMU_TRACE_STRONG_READ, GS_EMU_TRACE_STRONG_WRITE
} gs_emu_trace_kind;

/* An earlier access of some bytes of a cell. */
typedef struct gs_emu_trace {
    uint32_t agent, clock;
    uint32_t op;
    uint8_t  mask;
    uint8_t  kind;            /* gs_emu_trace_kind */
} gs_emu_trace;

typedef struct gs_emu_state {
    uint64_t      serial;     /* of this use of the entry, 0: unused */
    gs_emu_trace *trace;      /* kept when the entry is used again */
    uint32_t      traces, capacity;
    uint32_t      cells;      /* that are in this state */
    uint32_t      next_free;
    uint8_t       written;    /* mask of bytes */
} gs_emu_state;

/* A cell in state `from` went to state `to` without a finding; both named by serial, which is never used twice. */
typedef struct gs_emu_memo {
    uint64_t from, to, action;
    uint32_t to_index;
} gs_emu_memo;

/* The access at hand. */
typedef struct gs_emu_action {
    gs_emu_deed deed;
    int         warp, block;
    uint32_t    offset, bytes;
    uint32_t    op;
    uint32_t    agent, clock;      /* of the trace that it leaves; BULK_END: of the trace that it changes */
    uint32_t    heir, heir_clock;  /* BULK_END: who has the bytes from now on, GS_EMU_AGENT_COPYING: nobody */
    uint32_t    reported;          /* bit per kind of finding: told already */
} gs_emu_action;

typedef struct gs_emu_check_barrier {
    int      block;
    uint32_t offset;
} gs_emu_check_barrier;

/* A warp's cp.async. Arrivals on mbarriers (gs_emu_check_copies) divide them as well as groups do: the agent's clock counts both. */
typedef struct gs_emu_copy_clock {
    uint32_t latest;          /* clock of the agent's latest write */
    uint32_t group;           /* of that write */
    uint32_t arrivals;        /* the agent's clock is the group's plus this */
    uint32_t arrival_group;   /* `group` at the last arrival */
    bool     fresh;           /* writes since then */
} gs_emu_copy_clock;

struct gs_emu_check {
    int       blocks, warps;       /* warps: of a block */
    uint32_t  all_warps;
    uint32_t  shared_bytes, cells; /* of a block */
    gs_emu_report_fn   *report;
    gs_emu_describe_fn *describe;
    void               *context;

    uint32_t  agents;              /* in use: four of each warp, then the mbarriers' */
    uint32_t  row;                 /* clocks of a vector */
    uint32_t *known, *fenced;      /* a row per warp */
    uint32_t *published;           /* the same of clocks of warps; NULL: not asked for */
    uint32_t  published_row;       /* clocks of it, 0 without */
    uint32_t *clustered;           /* the same; NULL: a block alone */
    uint32_t  clustered_row;
    gs_emu_copy_clock *copy;       /* per warp */
    gs_emu_check_barrier *barrier; /* of agent all_warps * GS_EMU_AGENT_KINDS + index */
    uint32_t  barriers;
    int      *block_barriers;      /* per block */

    uint32_t *shadow;              /* states of the cells, block after block */
    gs_emu_state *state;
    uint32_t  states, state_capacity;   /* used at any time, allocated */
    uint32_t  free_state;          /* 0: none */
    uint32_t  traces;              /* allocated, of all states */
    uint64_t  serial;

    gs_emu_action last;            /* what `action` numbers */
    uint64_t  action;
    gs_emu_memo memo[GS_EMU_CHECK_MEMOS];
    uint64_t  whole;               /* serial of the state in which a write of whole cells by `last` leaves them, 0: not yet made */
    uint32_t  whole_index;
};

static inline bool gs_emu_deed_reads_only(gs_emu_deed deed)
{
    return deed == GS_EMU_DEED_READ || deed == GS_EMU_DEED_ASYNC_READ || deed == GS_EMU_DEED_STRONG_READ;
}

static inline bool gs_emu_deed_strong(gs_emu_deed deed)
{
    return deed == GS_EMU_DEED_ATOMIC || deed == GS_EMU_DEED_STRONG_READ || deed == GS_EMU_DEED_STRONG_WRITE;
}

static inline bool gs_emu_trace_reads_only(const gs_emu_trace *trace)
{
    return trace->kind == GS_EMU_TRACE_READ || trace->kind == GS_EMU_TRACE_STRONG_READ;
}

static inline bool gs_emu_trace_strong(const gs_emu_trace *trace) { return trace->kind >= GS_EMU_TRACE_ATOMIC; }

static inline uint32_t gs_emu_generic_agent(int warp) { return (uint32_t)warp * GS_EMU_AGENT_KINDS + GS_EMU_AGENT_GENERIC; }

static inline uint32_t *gs_emu_known(const gs_emu_check *check, int warp) { return check->known + (size_t)warp * check->row; }
static inline uint32_t *gs_emu_fenced(const gs_emu_check *check, int warp) { return check->fenced + (size_t)warp * check->row; }

static inline uint32_t *gs_emu_clustered(const gs_emu_check *check, int warp) { return check->clustered + (size_t)warp * check->clustered_row; }

static inline bool gs_emu_reached(const gs_emu_check *check, int by, int warp, uint32_t clock)
{
    return by / check->warps == warp / check->warps || gs_emu_clustered(check, by)[warp] >= clock;
}

/* Whether that vector has the trace: nobody has a copy that is under way. */
static inline bool gs_emu_has(const uint32_t *vector, const gs_emu_trace *trace)
{
    return trace->agent != GS_EMU_AGENT_COPYING && vector[trace->agent] >= trace->clock;
}

/* check_shadow.c */
bool gs_emu_shadow_create(gs_emu_check *check);
void gs_emu_shadow_reset(gs_emu_check *check);
void gs_emu_shadow_destroy(gs_emu_check *check);
void gs_emu_shadow_act(gs_emu_check *check, gs_emu_action *action);   /* all cells of an access */

/* check_rules.c: reports what the action's access of those bytes of a cell conflicts with; false if anything. */
bool gs_emu_judge(gs_emu_check *check, gs_emu_action *action, const gs_emu_state *state, uint32_t cell, uint32_t mask);

#endif
