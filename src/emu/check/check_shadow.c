/* SPDX-License-Identifier: MIT
 * The record of accesses: states of cells, transitions between states, and the loop over the cells of an access. */
#include "emu/check/check_internal.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_TRACES 4u   /* least capacity of a state */

/* ---- the table of states ---- */

static void put_back(gs_emu_check *check, uint32_t index)
{
    gs_emu_state *const state = &check->state[index];
    state->serial = 0;
    state->next_free = check->free_state;
    check->free_state = index;
}

/* Index of an unused entry; 0: no memory. */
static uint32_t take(gs_emu_check *check)
{
    const uint32_t index = check->free_state;
    if (index) {
        check->free_state = check->state[index].next_free;
        return index;
    }
    if (check->states == check->state_capacity) {
        const uint32_t capacity = 2 * check->state_capacity;
        gs_emu_state *const state = realloc(check->state, capacity * sizeof *state);
        if (!state) return 0;
        memset(state + check->state_capacity, 0, (capacity - check->state_capacity) * sizeof *state);
        check->state = state;
        check->state_capacity = capacity;
    }
    return check->states++;
}

static bool reserve(gs_emu_check *check, gs_emu_state *state, uint32_t traces)
{
    if (traces <= state->capacity) return true;
    uint32_t capacity = LEAST_TRACES;
    while (capacity < traces) capacity *= 2;
    if (check->traces + (capacity - state->capacity) > GS_EMU_CHECK_TRACES) return false;
    gs_emu_trace *const trace = malloc(capacity * sizeof *trace);
    if (!trace) return false;
    free(state->trace);
    state->trace = trace;
    check->traces += capacity - state->capacity;
    state->capacity = capacity;
    return true;
}

/* Creates a state without cells and traces, with room for so many traces; may move the table. GS_EMU_STATE_LOST: no memory. */
static uint32_t make(gs_emu_check *check, uint32_t traces, uint32_t written)
{
    const uint32_t index = take(check);
    if (!index) return GS_EMU_STATE_LOST;
    gs_emu_state *const state = &check->state[index];
    if (!reserve(check, state, traces)) {
        put_back(check, index);
        return GS_EMU_STATE_LOST;
    }
    state->serial = ++check->serial;
    state->traces = 0;
    state->cells = 0;
    state->written = (uint8_t)written;
    return index;
}

static void move(gs_emu_check *check, uint32_t from, uint32_t to, uint32_t cells)
{
    check->state[to].cells += cells;
    if (from <= GS_EMU_STATE_LOST) return;
    check->state[from].cells -= cells;
    if (check->state[from].cells == 0) put_back(check, from);
}

/* ---- transitions ---- */

/* Adds the bytes to a trace of the same agent and clock, or adds a trace. There must be room. */
static void add(gs_emu_state *state, const gs_emu_trace *trace)
{
    for (uint32_t i = 0; i < state->traces; i++) {
        gs_emu_trace *const t = &state->trace[i];
        if (t->agent != trace->agent || t->clock != trace->clock || t->kind != trace->kind) continue;
        t->mask |= trace->mask;
        t->op = trace->op;
        return;
    }
    state->trace[state->traces++] = *trace;
}

static void keep(gs_emu_state *state, const gs_emu_trace *trace, uint32_t mask)
{
    if (!mask) return;
    state->trace[state->traces] = *trace;
    state->trace[state->traces++].mask = (uint8_t)mask;
}

static gs_emu_trace trace_of(const gs_emu_action *action, uint32_t mask)
{
    static const uint8_t kinds[] = {
        [GS_EMU_DEED_READ] = GS_EMU_TRACE_READ,               [GS_EMU_DEED_ASYNC_READ] = GS_EMU_TRACE_READ,
        [GS_EMU_DEED_WRITE] = GS_EMU_TRACE_WRITE,             [GS_EMU_DEED_SYNC] = GS_EMU_TRACE_WRITE,
        [GS_EMU_DEED_COPY_WRITE] = GS_EMU_TRACE_WRITE,        [GS_EMU_DEED_BULK_WRITE] = GS_EMU_TRACE_WRITE,
        [GS_EMU_DEED_ATOMIC] = GS_EMU_TRACE_ATOMIC,           [GS_EMU_DEED_STRONG_READ] = GS_EMU_TRACE_STRONG_READ,
        [GS_EMU_DEED_STRONG_WRITE] = GS_EMU_TRACE_STRONG_WRITE,
    };
    return (gs_emu_trace){action->agent, action->clock, action->op, (uint8_t)mask, kinds[action->deed]};
}

/* Whether the agent already has a trace that conflicts with at least as much as this access. */
static bool covered(const gs_emu_state *state, const gs_emu_action *action, uint32_t mask)
{
    const bool strong = gs_emu_deed_strong(action->deed);
    for (uint32_t i = 0; i < state->traces; i++) {
        const gs_emu_trace *const t = &state->trace[i];
        if (t->agent == action->agent && t->clock == action->clock && !(mask & ~t->mask) && (strong || !gs_emu_trace_strong(t))) return true;
    }
    return false;
}

/* Earlier reads that happen before this one are dropped: whoever knows this read knows them too. A strong read does not replace a read that is not strong, because an
 * access unordered with both may conflict with the latter only. Without memory the read is not recorded. */
static uint32_t after_read(gs_emu_check *check, const gs_emu_action *action, uint32_t from, uint32_t mask)
{
    if (covered(&check->state[from], action, mask)) return from;
    const uint32_t index = make(check, check->state[from].traces + 1, check->state[from].written);
    if (index == GS_EMU_STATE_LOST) return from;
    const gs_emu_state *const old = &check->state[from];
    const uint32_t *const known = gs_emu_known(check, action->warp);
    const gs_emu_trace trace = trace_of(action, mask);
    const bool strong = gs_emu_deed_strong(action->deed);
    for (uint32_t i = 0; i < old->traces; i++) {
        const gs_emu_trace *const t = &old->trace[i];
        const bool before = (t->agent == action->agent && t->clock <= action->clock) || gs_emu_has(known, t);
        const bool drop = before && gs_emu_trace_reads_only(t) && (gs_emu_trace_strong(t) || !strong);
        keep(&check->state[index], t, drop ? t->mask & ~mask : t->mask);
    }
    add(&check->state[index], &trace);
    return index;
}

/* A write of a whole cell gives the same state whatever the cell's state was before. But a strong write, for example an atomic, replaces only strong accesses that
 * happen before it, for the same reason as above. */
static uint32_t after_write(gs_emu_check *check, const gs_emu_action *action, uint32_t from, uint32_t mask)
{
    const bool strong = gs_emu_deed_strong(action->deed);
    const bool whole = mask == GS_EMU_WHOLE_CELL && !strong;
    if (whole && check->whole && check->state[check->whole_index].serial == check->whole) return check->whole_index;
    const uint32_t index = make(check, whole ? 1 : check->state[from].traces + 1, check->state[from].written | mask);
    if (index == GS_EMU_STATE_LOST) return index;
    const gs_emu_state *const old = &check->state[from];
    gs_emu_state *const state = &check->state[index];
    const uint32_t *const known = gs_emu_known(check, action->warp);
    const gs_emu_trace trace = trace_of(action, mask);
    for (uint32_t i = 0; i < old->traces && !whole; i++) {
        const gs_emu_trace *const t = &old->trace[i];
        const bool stays = strong && !(gs_emu_trace_strong(t) && gs_emu_has(known, t));
        keep(state, t, stays ? t->mask : t->mask & ~mask);
    }
    add(state, &trace);
    if (whole) {
        check->whole = state->serial;
        check->whole_index = index;
    }
    return index;
}

static uint32_t bytes_of_copy(const gs_emu_state *state, uint32_t copy)
{
    for (uint32_t i = 0; i < state->traces; i++)
        if (state->trace[i].agent == GS_EMU_AGENT_COPYING && state->trace[i].clock == copy) return state->trace[i].mask;
    return 0;
}

/* Bytes that still belong to the copy get its heir as their owner, without later reads. */
static uint32_t after_end(gs_emu_check *check, const gs_emu_action *action, uint32_t from)
{
    const uint32_t mine = bytes_of_copy(&check->state[from], action->clock);
    if (!mine) return from;
    const uint32_t index = make(check, check->state[from].traces, check->state[from].written);
    if (index == GS_EMU_STATE_LOST) return index;
    const gs_emu_state *const old = &check->state[from];
    gs_emu_state *const state = &check->state[index];
    for (uint32_t i = 0; i < old->traces; i++) {
        gs_emu_trace t = old->trace[i];
        if (t.agent != GS_EMU_AGENT_COPYING || t.clock != action->clock) {
            keep(state, &t, gs_emu_trace_reads_only(&t) ? t.mask & ~mine : t.mask);
        } else if (action->heir != GS_EMU_AGENT_COPYING) {
            t.agent = action->heir;
            t.clock = action->heir_clock;
            keep(state, &t, t.mask);
        }
    }
    return index;
}

static uint32_t next_state(gs_emu_check *check, const gs_emu_action *action, uint32_t from, uint32_t mask)
{
    switch (action->deed) {
    case GS_EMU_DEED_READ:
    case GS_EMU_DEED_STRONG_READ:
    case GS_EMU_DEED_ASYNC_READ: return after_read(check, action, from, mask);
    case GS_EMU_DEED_BULK_END: return after_end(check, action, from);
    default: return after_write(check, action, from, mask);
    }
}

/* ---- the loop over cells ---- */

/* Returns the next state and reports findings. A transition without findings may be cached for the same action, because knowledge only grows. */
static uint32_t step(gs_emu_check *check, gs_emu_action *action, uint32_t from, uint32_t cell, uint32_t mask)
{
    const uint64_t serial = check->state[from].serial;
    gs_emu_memo *const memo = &check->memo[(from * 5 + mask) % GS_EMU_CHECK_MEMOS];   /* one place for each state and mask */
    if (memo->from == serial && memo->action == check->action && check->state[memo->to_index].serial == memo->to) return memo->to_index;
    const bool right = gs_emu_judge(check, action, &check->state[from], cell, mask);
    const uint32_t to = next_state(check, action, from, mask);
    if (right) *memo = (gs_emu_memo){serial, check->state[to].serial, check->action, to};
    return to;
}

static void walk(gs_emu_check *check, gs_emu_action *action, uint32_t first, uint32_t end, uint32_t mask)
{
    uint32_t *const cell = check->shadow + (size_t)action->block * check->cells;
    for (uint32_t i = first; i < end;) {
        const uint32_t from = cell[i], start = i;
        const uint32_t to = step(check, action, from, i, mask);
        if (to == from) {
            do i++;
            while (i < end && cell[i] == from);
        } else {
            do cell[i++] = to;
            while (i < end && cell[i] == from);
            move(check, from, to, i - start);
        }
    }
}

/* Gives the action a new number, unless it differs from the last one only in its place. */
static void number(gs_emu_check *check, const gs_emu_action *action)
{
    const gs_emu_action *const last = &check->last;
    if (last->deed == action->deed && last->warp == action->warp && last->op == action->op && last->agent == action->agent &&
        last->clock == action->clock && last->heir == action->heir && last->heir_clock == action->heir_clock)
        return;
    check->last = *action;
    check->action++;
    check->whole = 0;
}

void gs_emu_shadow_act(gs_emu_check *check, gs_emu_action *action)
{
    if (!action->bytes) return;
    number(check, action);
    const uint32_t last_byte = action->offset + action->bytes - 1;
    uint32_t first = action->offset / GS_EMU_CELL, end = last_byte / GS_EMU_CELL + 1;
    const uint32_t head = GS_EMU_WHOLE_CELL << action->offset % GS_EMU_CELL & GS_EMU_WHOLE_CELL;
    const uint32_t tail = GS_EMU_WHOLE_CELL >> (GS_EMU_CELL - 1 - last_byte % GS_EMU_CELL);
    if (end - first == 1) {
        walk(check, action, first, end, head & tail);
        return;
    }
    if (head != GS_EMU_WHOLE_CELL) walk(check, action, first, first + 1, head), first++;
    if (tail != GS_EMU_WHOLE_CELL) walk(check, action, end - 1, end, tail), end--;
    walk(check, action, first, end, GS_EMU_WHOLE_CELL);
}

/* ---- creation, reset ---- */

bool gs_emu_shadow_create(gs_emu_check *check)
{
    check->cells = (check->shared_bytes + GS_EMU_CELL - 1) / GS_EMU_CELL;
    check->state_capacity = 64;
    check->state = calloc(check->state_capacity, sizeof *check->state);
    check->shadow = malloc(((size_t)check->blocks * check->cells + 1) * sizeof *check->shadow);   /* + 1: never of size 0 */
    return check->state && check->shadow;
}

/* States keep the memory of their traces. Serials continue, so that no cached transition matches; the two fixed states get new ones too. */
void gs_emu_shadow_reset(gs_emu_check *check)
{
    memset(check->shadow, 0, (size_t)check->blocks * check->cells * sizeof *check->shadow);
    check->state[GS_EMU_STATE_EMPTY].serial = ++check->serial;
    check->state[GS_EMU_STATE_LOST].serial = ++check->serial;
    check->state[GS_EMU_STATE_LOST].written = GS_EMU_WHOLE_CELL;
    check->states = GS_EMU_STATE_LOST + 1;
    check->free_state = 0;
    check->whole = 0;
}

void gs_emu_shadow_destroy(gs_emu_check *check)
{
    for (uint32_t i = 0; check->state && i < check->state_capacity; i++) free(check->state[i].trace);
    free(check->state);
    free(check->shadow);
}
