/* SPDX-License-Identifier: MIT
 * Shared by the parts of the race checker: check.c has clocks, vectors and the public functions; check_shadow.c records accesses; check_rules.c decides what conflicts
 * and describes it.
 *
 * Every 4-byte cell of shared memory holds the number of a state: which of its bytes were written, and the earlier accesses with which a later one may conflict, each
 * with its own byte mask. States are immutable and shared by cells with the same history, so an access to a tile computes each new state once and then only changes
 * the numbers of cells. A state is freed when its last cell leaves it. The latest transitions are cached, because the lanes of one instruction mostly make the same
 * one.
 *
 * Not all accesses to a cell are kept, but enough for an exact check: per byte the last write, and the atomics and other strong accesses since then that no kept one
 * follows; and the reads since that write that no kept read follows. An access that conflicts with a dropped one also conflicts with a kept one. If memory runs out,
 * cells get the state GS_EMU_STATE_LOST, in which all bytes count as written, by nobody: findings may be missed then, but none are false. */
#ifndef GS_EMU_CHECK_CHECK_INTERNAL_H
#define GS_EMU_CHECK_CHECK_INTERNAL_H

#include <stddef.h>

#include "emu/check/check.h"

#define GS_EMU_CELL           4u            /* bytes */
#define GS_EMU_WHOLE_CELL     0xfu          /* mask of its bytes */
#define GS_EMU_CHECK_BARRIERS 256           /* most mbarriers of a block that have an agent */
#define GS_EMU_CHECK_PAD      16u           /* vectors are joined in pieces of this many clocks */
#define GS_EMU_CHECK_MEMOS    256u          /* cached transitions */
#define GS_EMU_CHECK_TRACES   (4u << 20)    /* most traces in all states together */
#define GS_EMU_AGENT_COPYING  0xffffffffu   /* the agent of pending bulk copies; their clock is the copy's number */
#define GS_EMU_STATE_EMPTY    0u            /* no access yet */
#define GS_EMU_STATE_LOST     1u            /* written, by nobody */

/* Kinds of accesses; the first are those of gs_emu_access. */
typedef enum gs_emu_deed {
    GS_EMU_DEED_READ       = GS_EMU_READ,
    GS_EMU_DEED_WRITE      = GS_EMU_WRITE,
    GS_EMU_DEED_ATOMIC     = GS_EMU_ATOMIC,
    GS_EMU_DEED_SYNC       = GS_EMU_SYNC,
    GS_EMU_DEED_ASYNC_READ = GS_EMU_ASYNC_READ,
    GS_EMU_DEED_COPY_WRITE = GS_EMU_COPY_WRITE,
    GS_EMU_DEED_STRONG_READ = GS_EMU_STRONG_READ,
    GS_EMU_DEED_STRONG_WRITE = GS_EMU_STRONG_WRITE,
    GS_EMU_DEED_BULK_WRITE,                  /* a bulk copy, from its issue */
    GS_EMU_DEED_BULK_END                     /* a bulk copy completes: its bytes pass to the mbarrier's agent */
} gs_emu_deed;

/* The kept kinds of accesses. The last three are strong: they do not race with each other. */
typedef enum gs_emu_trace_kind {
    GS_EMU_TRACE_READ, GS_EMU_TRACE_WRITE, GS_EMU_TRACE_ATOMIC, GS_EMU_TRACE_STRONG_READ, GS_EMU_TRACE_STRONG_WRITE
} gs_emu_trace_kind;

/* An earlier access to some bytes of a cell. */
typedef struct gs_emu_trace {
    uint32_t agent, clock;
    uint32_t op;
    uint8_t  mask;
    uint8_t  kind;            /* gs_emu_trace_kind */
} gs_emu_trace;

typedef struct gs_emu_state {
    uint64_t      serial;     /* unique number of this use of the entry; 0: unused */
    gs_emu_trace *trace;      /* the memory stays allocated for the entry's next use */
    uint32_t      traces, capacity;
    uint32_t      cells;      /* cells in this state */
    uint32_t      next_free;
    uint8_t       written;    /* mask of bytes */
} gs_emu_state;

/* A cached transition of a cell from state `from` to state `to` without a finding; both by serial, which is never reused. */
typedef struct gs_emu_memo {
    uint64_t from, to, action;
    uint32_t to_index;
} gs_emu_memo;

/* The current access. */
typedef struct gs_emu_action {
    gs_emu_deed deed;
    int         warp, block;
    uint32_t    offset, bytes;
    uint32_t    op;
    uint32_t    agent, clock;      /* of the trace that it adds; BULK_END: of the trace that it changes */
    uint32_t    heir, heir_clock;  /* BULK_END: the new owner of the bytes; GS_EMU_AGENT_COPYING: nobody */
    uint32_t    reported;          /* a bit for each kind of finding that was reported */
} gs_emu_action;

typedef struct gs_emu_check_barrier {
    int      block;
    uint32_t offset;
} gs_emu_check_barrier;

/* The clock of a warp's cp.async agent. Arrivals on mbarriers (gs_emu_check_copies) separate copies just as groups do, so the agent's clock counts both. */
typedef struct gs_emu_copy_clock {
    uint32_t latest;          /* clock of the agent's latest write */
    uint32_t group;           /* the group of that write */
    uint32_t arrivals;        /* arrivals so far; the agent's clock is the group plus this */
    uint32_t arrival_group;   /* `group` at the last arrival */
    bool     fresh;           /* there were writes since the last arrival */
} gs_emu_copy_clock;

struct gs_emu_check {
    int       blocks, warps;       /* warps: per block */
    uint32_t  all_warps;
    uint32_t  shared_bytes, cells; /* per block */
    gs_emu_report_fn   *report;
    gs_emu_describe_fn *describe;
    void               *context;

    uint32_t  agents;              /* in use: four per warp, then one per mbarrier */
    uint32_t  row;                 /* clocks per vector */
    uint32_t *known, *fenced;      /* one row per warp */
    uint32_t *published;           /* the same over clocks of warps; NULL: not requested */
    uint32_t  published_row;       /* clocks per row, 0 without */
    uint32_t *clustered;           /* the same; NULL: a single block */
    uint32_t  clustered_row;
    gs_emu_copy_clock *copy;       /* per warp */
    gs_emu_check_barrier *barrier; /* the mbarrier of agent all_warps * GS_EMU_AGENT_KINDS + index */
    uint32_t  barriers;
    int      *block_barriers;      /* per block */

    uint32_t *shadow;              /* the state of each cell, block after block */
    gs_emu_state *state;
    uint32_t  states, state_capacity;   /* entries used so far, entries allocated */
    uint32_t  free_state;          /* 0: none */
    uint32_t  traces;              /* allocated in all states */
    uint64_t  serial;

    gs_emu_action last;            /* the access with number `action` */
    uint64_t  action;
    gs_emu_memo memo[GS_EMU_CHECK_MEMOS];
    uint64_t  whole;               /* serial of the state that `last` leaves when it writes whole cells, 0: not created yet */
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

/* Whether the vector contains the trace. No vector contains a pending copy. */
static inline bool gs_emu_has(const uint32_t *vector, const gs_emu_trace *trace)
{
    return trace->agent != GS_EMU_AGENT_COPYING && vector[trace->agent] >= trace->clock;
}

/* check_shadow.c */
bool gs_emu_shadow_create(gs_emu_check *check);
void gs_emu_shadow_reset(gs_emu_check *check);
void gs_emu_shadow_destroy(gs_emu_check *check);
void gs_emu_shadow_act(gs_emu_check *check, gs_emu_action *action);   /* applies an access to all its cells */

/* check_rules.c: reports the conflicts of the access with those bytes of a cell; false if there are any. */
bool gs_emu_judge(gs_emu_check *check, gs_emu_action *action, const gs_emu_state *state, uint32_t cell, uint32_t mask);

#endif
