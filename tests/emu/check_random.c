/* SPDX-License-Identifier: MIT
 * The race checker of the emulated device against the definition of a race: in random programs of generic, asynchronous and copied accesses with random synchronisation,
 * it must report exactly the accesses that a comparison with every earlier access finds, which uses sets of events instead of clocks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "emu/check/check.h"

#define WARPS    6
#define OBJECTS  4
#define BARRIERS 2
#define BYTES    16u
#define STEPS    150
#define PROGRAMS 10000

/* ---- events, and sets of known events ---- */

typedef struct set {
    uint64_t word[(STEPS + 63) / 64];
} set;

static void put(set *s, int event) { s->word[event / 64] |= 1ull << event % 64; }
static bool in(const set *s, int event) { return s->word[event / 64] >> event % 64 & 1; }

static void unite(set *into, const set *from)
{
    for (size_t i = 0; i < sizeof into->word / sizeof into->word[0]; i++) into->word[i] |= from->word[i];
}

typedef enum what { READ, WRITE, ATOMIC, STRONG_READ, STRONG_WRITE, MATRIX_READ, STORE_READ, COPY, BULK, WHATS } what;

typedef struct event {
    what     what;
    int      warp;
    uint32_t offset, bytes;
    uint32_t group;     /* MATRIX_READ, STORE_READ, COPY */
    int      barrier;   /* BULK: the barrier on which it completes, -1: already complete */
    bool     ended;
    set      known;     /* events known to the warp at this event */
} event;

typedef struct carrier {
    set known, fenced;
    gs_emu_vector *vector;
} carrier;

static struct program {
    gs_random random;
    event    event[STEPS];
    int      events;
    set      known[WARPS], fenced[WARPS];
    uint32_t committed[WARPS][GS_EMU_AGENT_KINDS];
    carrier  object[OBJECTS];
    carrier  barrier[BARRIERS];
    uint32_t phase[BARRIERS];
    uint32_t tainted;   /* bytes with an earlier race, on which later findings are ignored */
} p;

static gs_emu_check *check;
static uint32_t found;   /* bit mask of kinds */

static void report(void *context, gs_emu_finding_kind kind, int warp, uint32_t op, const char *text)
{
    assert_ptr_equal(context, &p);
    assert_int_equal(warp, p.event[op].warp);
    assert_true(text[0] != '\0');
    found |= 1u << kind;
}

static void describe(void *context, uint32_t op, char *text, unsigned long size)
{
    assert_ptr_equal(context, &p);
    snprintf(text, size, "event %u", op);
}

static uint32_t below(uint32_t limit) { return (uint32_t)gs_random_below(&p.random, limit); }

/* ---- the definition ---- */

static bool reads(what w) { return w == READ || w == ATOMIC || w == STRONG_READ || w == MATRIX_READ || w == STORE_READ; }
static bool writes(what w) { return w == WRITE || w == ATOMIC || w == STRONG_WRITE || w == COPY || w == BULK; }
static bool strong(what w) { return w == ATOMIC || w == STRONG_READ || w == STRONG_WRITE; }
static bool of_generic_proxy(what w) { return w <= STRONG_WRITE || w == COPY; }
static bool has_byte(const event *e, uint32_t byte) { return byte >= e->offset && byte < e->offset + e->bytes; }

enum { UNORDERED = 1, UNFENCED = 2, UNWRITTEN = 4 };

/* Whether a later write of the byte was ordered after `write`. */
static bool replaced(int write, int end, uint32_t byte)
{
    for (int i = write + 1; i < end; i++)
        if (writes(p.event[i].what) && has_byte(&p.event[i], byte) && in(&p.event[i].known, write)) return true;
    return false;
}

/* The event is known, or it precedes a known bulk copy of the byte: waiting for the copy tells nothing else about its issuer. */
static bool ordered(const event *e, int before, int end, uint32_t byte)
{
    if (in(&e->known, before)) return true;
    for (int i = before + 1; i < end; i++)
        if (p.event[i].what == BULK && has_byte(&p.event[i], byte) && in(&e->known, i) && in(&p.event[i].known, before)) return true;
    return false;
}

static unsigned faults_of_byte(int number, uint32_t byte)
{
    const event *const e = &p.event[number];
    unsigned faults = reads(e->what) ? UNWRITTEN : 0;
    for (int i = 0; i < number; i++) {
        const event *const before = &p.event[i];
        if (!has_byte(before, byte)) continue;
        if (writes(before->what)) faults &= ~(unsigned)UNWRITTEN;
        if (!writes(before->what) && !writes(e->what)) continue;
        if (!ordered(e, i, number, byte)) {
            if (!strong(before->what) || !strong(e->what)) faults |= UNORDERED;
        } else if (writes(before->what) && of_generic_proxy(before->what) && !of_generic_proxy(e->what) && !in(&p.fenced[e->warp], i) &&
                   !replaced(i, number, byte)) {
            faults |= UNFENCED;
        }
    }
    return faults;
}

/* Compares the checker's findings with the definition, except for tainted bytes; returns the faults. */
static unsigned compare(int number)
{
    const event *const e = &p.event[number];
    unsigned faults = 0;
    bool open = false;
    for (uint32_t byte = e->offset; byte < e->offset + e->bytes; byte++) {
        const unsigned here = faults_of_byte(number, byte);
        open = open || (p.tainted >> byte & 1);
        if (here & UNORDERED) p.tainted |= 1u << byte;
        faults |= here;
    }
    if (open) return 0;
    const bool unordered = found & (1u << GS_EMU_RACE_FINDING | 1u << GS_EMU_EARLY_READ_FINDING | 1u << GS_EMU_OVERWRITE_FINDING);
    if (unordered != ((faults & UNORDERED) != 0)) fail_msg("event %d: race %d, by definition %u", number, unordered, faults & UNORDERED);
    if (!unordered && !(found & 1u << GS_EMU_PROXY_FENCE_FINDING) != !(faults & UNFENCED))
        fail_msg("event %d: fences, by definition %u", number, faults & UNFENCED);
    if (!(found & 1u << GS_EMU_UNINITIALIZED_FINDING) != !(faults & UNWRITTEN))
        fail_msg("event %d: unwritten, by definition %u", number, faults & UNWRITTEN);
    return faults;
}

/* ---- steps: each changes the checker and the sets in the same way ---- */

static unsigned access_step(int warp)
{
    static const struct { gs_emu_access access; gs_emu_agent_kind kind; } calls[] = {
        [READ]         = {GS_EMU_READ,         GS_EMU_AGENT_GENERIC},
        [WRITE]        = {GS_EMU_WRITE,        GS_EMU_AGENT_GENERIC},
        [ATOMIC]       = {GS_EMU_ATOMIC,       GS_EMU_AGENT_GENERIC},
        [STRONG_READ]  = {GS_EMU_STRONG_READ,  GS_EMU_AGENT_GENERIC},
        [STRONG_WRITE] = {GS_EMU_STRONG_WRITE, GS_EMU_AGENT_GENERIC},
        [MATRIX_READ]  = {GS_EMU_ASYNC_READ,   GS_EMU_AGENT_WGMMA},
        [STORE_READ]   = {GS_EMU_ASYNC_READ,   GS_EMU_AGENT_BULK},
        [COPY]         = {GS_EMU_COPY_WRITE,   GS_EMU_AGENT_COPY},
    };
    const int number = p.events++;
    event *const e = &p.event[number];
    *e = (event){.what = (what)below(WHATS), .warp = warp, .known = p.known[warp], .barrier = -1};
    e->bytes = e->what == BULK ? BYTES : 1u << below(5);
    e->offset = below(BYTES / e->bytes) * e->bytes;
    found = 0;
    if (e->what == BULK) {
        e->barrier = (int)below(BARRIERS);
        gs_emu_check_copy_begin(check, warp, (uint32_t)number, 0, e->offset, e->bytes, (uint32_t)number);
    } else {
        e->group = p.committed[warp][calls[e->what].kind] + 1;
        gs_emu_check_access(check, warp, (uint32_t)number, 0, e->offset, e->bytes, calls[e->what].access, calls[e->what].kind, e->group);
    }
    const unsigned faults = compare(number);
    if (e->what <= STRONG_WRITE) put(&p.known[warp], number);
    return faults;
}

static void release(int warp, carrier *into)
{
    gs_emu_check_release(check, warp, into->vector);
    unite(&into->known, &p.known[warp]);
    unite(&into->fenced, &p.fenced[warp]);
}

static void acquire(int warp, const carrier *from)
{
    gs_emu_check_acquire(check, warp, from->vector);
    unite(&p.known[warp], &from->known);
    unite(&p.fenced[warp], &from->fenced);
}

static void clear(carrier *c)
{
    gs_emu_vector_clear(c->vector);
    c->known = c->fenced = (set){{0}};
}

static void barrier_step(void)
{
    clear(&p.object[0]);
    for (int warp = 0; warp < WARPS; warp++) release(warp, &p.object[0]);
    for (int warp = 0; warp < WARPS; warp++) acquire(warp, &p.object[0]);
}

static void fence_step(int warp)
{
    gs_emu_check_fence_async(check, warp);
    p.fenced[warp] = p.known[warp];
}

static gs_emu_agent_kind agent_of(what w)
{
    return w == MATRIX_READ ? GS_EMU_AGENT_WGMMA : w == STORE_READ ? GS_EMU_AGENT_BULK : w == COPY ? GS_EMU_AGENT_COPY : GS_EMU_AGENT_GENERIC;
}

static void wait_step(int warp)
{
    const gs_emu_agent_kind kind = (gs_emu_agent_kind)(1 + below(GS_EMU_AGENT_KINDS - 1));
    const uint32_t group = p.committed[warp][kind] - below(2) * below(p.committed[warp][kind] + 1);
    gs_emu_check_done(check, warp, kind, group);
    for (int i = 0; i < p.events; i++)
        if (p.event[i].warp == warp && agent_of(p.event[i].what) == kind && p.event[i].group <= group) put(&p.known[warp], i);
}

/* cp.async.mbarrier.arrive */
static void copies_step(int warp, carrier *into)
{
    release(warp, into);
    gs_emu_check_copies(check, warp, into->vector);
    for (int i = 0; i < p.events; i++)
        if (p.event[i].warp == warp && p.event[i].what == COPY) put(&into->known, i);
}

static void end_copies(int barrier)
{
    const int agent = gs_emu_check_mbarrier(check, 0, 8 * (uint32_t)barrier);
    for (int i = 0; i < p.events; i++) {
        event *const e = &p.event[i];
        if (e->what != BULK || e->barrier != barrier || e->ended) continue;
        gs_emu_check_copy_end(check, 0, e->offset, e->bytes, (uint32_t)i, agent, p.phase[barrier] + 1);
        e->ended = true;
    }
}

static void phase_step(int barrier)
{
    const int agent = gs_emu_check_mbarrier(check, 0, 8 * (uint32_t)barrier);
    end_copies(barrier);
    gs_emu_check_phase(check, agent, ++p.phase[barrier], p.barrier[barrier].vector);
    for (int i = 0; i < p.events; i++)
        if (p.event[i].what == BULK && p.event[i].barrier == barrier) put(&p.barrier[barrier].known, i);
}

static unsigned any_step(void)
{
    const int warp = (int)below(WARPS), barrier = (int)below(BARRIERS);
    carrier *const object = &p.object[below(OBJECTS)];
    switch (below(20)) {
    case 0: barrier_step(); return 0;
    case 1:
    case 2: release(warp, object); return 0;
    case 3:
    case 4:
    case 5: acquire(warp, object); return 0;
    case 6: fence_step(warp); return 0;
    case 7:
    case 8: wait_step(warp); return 0;
    case 9: p.committed[warp][1 + below(GS_EMU_AGENT_KINDS - 1)]++; return 0;
    case 10: copies_step(warp, object); return 0;
    case 11: end_copies(barrier); return 0;
    case 12: phase_step(barrier); return 0;
    case 13:
    case 14: acquire(warp, &p.barrier[barrier]); return 0;
    case 15: clear(object); return 0;
    default: return access_step(warp);
    }
}

static void start(uint64_t seed)
{
    carrier object[OBJECTS], barrier[BARRIERS];
    memcpy(object, p.object, sizeof object);
    memcpy(barrier, p.barrier, sizeof barrier);
    memset(&p, 0, sizeof p);
    p.random.state = seed;
    gs_emu_check_reset(check);
    for (int i = 0; i < OBJECTS; i++) p.object[i].vector = object[i].vector, clear(&p.object[i]);
    for (int i = 0; i < BARRIERS; i++) p.barrier[i].vector = barrier[i].vector, clear(&p.barrier[i]);
}

/* Every warp learns and fences everything, so that a program has several parts without races. */
static void settle(void)
{
    for (int barrier = 0; barrier < BARRIERS; barrier++) phase_step(barrier);
    for (int warp = 0; warp < WARPS; warp++) {
        for (int kind = 1; kind < GS_EMU_AGENT_KINDS; kind++) p.committed[warp][kind]++;
        for (int kind = 1; kind < GS_EMU_AGENT_KINDS; kind++) gs_emu_check_done(check, warp, (gs_emu_agent_kind)kind, p.committed[warp][kind]);
        for (int i = 0; i < p.events; i++)
            if (p.event[i].warp == warp && p.event[i].what != BULK) put(&p.known[warp], i);
        for (int barrier = 0; barrier < BARRIERS; barrier++) acquire(warp, &p.barrier[barrier]);
    }
    barrier_step();
    for (int warp = 0; warp < WARPS; warp++) fence_step(warp);
    p.tainted = 0;
}

static void random_programs_are_judged_as_the_definition_says(void **state)
{
    int seen[3] = {0}, right = 0;
    (void)state;
    check = gs_emu_check_create(1, WARPS, BYTES, false, report, describe, &p);
    assert_non_null(check);
    for (int i = 0; i < OBJECTS; i++) assert_non_null(p.object[i].vector = gs_emu_vector_create(check));
    for (int i = 0; i < BARRIERS; i++) assert_non_null(p.barrier[i].vector = gs_emu_vector_create(check));
    for (int program = 0; program < PROGRAMS; program++) {
        start((uint64_t)program);
        for (int step = 0; step < STEPS; step++) {
            const int before = p.events;
            const unsigned faults = any_step();
            for (int i = 0; i < 3; i++) seen[i] += faults >> i & 1;
            right += p.events > before && faults == 0 && p.tainted == 0;
            if (below(24) == 0) settle();
        }
    }
    for (int i = 0; i < OBJECTS; i++) gs_emu_vector_destroy(p.object[i].vector);
    for (int i = 0; i < BARRIERS; i++) gs_emu_vector_destroy(p.barrier[i].vector);
    gs_emu_check_destroy(check);
    print_message("accesses: %d right, %d unordered, %d unfenced, %d unwritten\n", right, seen[0], seen[1], seen[2]);
    assert_true(right > PROGRAMS && seen[0] > PROGRAMS && seen[1] > PROGRAMS / 4 && seen[2] > PROGRAMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_are_judged_as_the_definition_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
