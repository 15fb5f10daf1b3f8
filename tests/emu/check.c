/* SPDX-License-Identifier: MIT
 * The race checker of the emulated device reports nothing for correctly synchronised kernels, and finds each missing barrier, wait or fence, with the right kind and
 * text: pipelines of bulk copies and wgmma, cp.async stages, proxy fences, reused buffers, single bytes, atomics. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "support/leaks.h"
#include "base/error.h"
#include "emu/check/check.h"

#define BLOCKS 2
#define WARPS  8
#define SHARED 32768u
#define TILE   1024u
#define NONE   GS_EMU_FINDING_KINDS

static gs_emu_check *check;
static int           found[GS_EMU_FINDING_KINDS];
static int           found_warp;
static char          found_text[1024];   /* text of the first finding */
static uint32_t      op;                 /* number of the latest access, from 1 */
static uint32_t      copies;             /* bulk copies so far */

static void report(void *context, gs_emu_finding_kind kind, int warp, uint32_t at, const char *text)
{
    assert_null(context);
    assert_int_equal(at, op);
    if (!found_text[0]) snprintf(found_text, sizeof found_text, "%s", text);
    found_warp = warp;
    found[kind]++;
}

static void describe(void *context, uint32_t at, char *text, unsigned long size)
{
    assert_null(context);
    snprintf(text, size, "k.cu:%u", at);
}

static int start(void **state)
{
    (void)state;
    check = gs_emu_check_create(BLOCKS, WARPS, SHARED, false, report, describe, NULL);
    memset(found, 0, sizeof found);
    found_text[0] = '\0';
    op = copies = 0;
    return check ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    gs_emu_check_destroy(check);
    return 0;
}

/* Since the last call only this kind was found (NONE: nothing). */
static void expect(const char *name, gs_emu_finding_kind kind)
{
    for (int i = 0; i < GS_EMU_FINDING_KINDS; i++)
        if ((found[i] > 0) != (i == (int)kind))
            fail_msg("%s: %s %s; first: %s", name, found[i] ? "found" : "did not find", gs_emu_finding_name((gs_emu_finding_kind)i), found_text);
    memset(found, 0, sizeof found);
    found_text[0] = '\0';
}

/* ---- actions of warps; memory is that of block 0 unless stated otherwise ---- */

static void touch(int warp, int block, uint32_t offset, uint32_t bytes, gs_emu_access access)
{
    op++;
    gs_emu_check_access(check, warp, op, block, offset, bytes, access, GS_EMU_AGENT_GENERIC, 0);
}

static void reads(int warp, uint32_t offset, uint32_t bytes) { touch(warp, 0, offset, bytes, GS_EMU_READ); }
static void writes(int warp, uint32_t offset, uint32_t bytes) { touch(warp, 0, offset, bytes, GS_EMU_WRITE); }
static void atomic(int warp, uint32_t offset) { touch(warp, 0, offset, 4, GS_EMU_ATOMIC); }

static void async(int warp, int block, uint32_t offset, uint32_t bytes, gs_emu_agent_kind kind, uint32_t group)
{
    op++;
    gs_emu_check_access(check, warp, op, block, offset, bytes, kind == GS_EMU_AGENT_COPY ? GS_EMU_COPY_WRITE : GS_EMU_ASYNC_READ, kind, group);
}

static void multiplies(int warp, uint32_t offset, uint32_t group) { async(warp, 0, offset, TILE, GS_EMU_AGENT_WGMMA, group); }
static void stores(int warp, uint32_t offset, uint32_t group) { async(warp, 0, offset, TILE, GS_EMU_AGENT_BULK, group); }
static void copies_in(int warp, uint32_t offset, uint32_t group) { async(warp, 0, offset, TILE, GS_EMU_AGENT_COPY, group); }
static void waits(int warp, gs_emu_agent_kind kind, uint32_t group) { gs_emu_check_done(check, warp, kind, group); }
static void fences(int warp) { gs_emu_check_fence_async(check, warp); }

/* One warp releases, another acquires. */
static void signals(int from, int to)
{
    gs_emu_vector *const vector = gs_emu_vector_create(check);
    assert_non_null(vector);
    gs_emu_check_release(check, from, vector);
    gs_emu_check_acquire(check, to, vector);
    gs_emu_vector_destroy(vector);
}

static void barrier(int first, int end)
{
    gs_emu_vector *const vector = gs_emu_vector_create(check);
    assert_non_null(vector);
    for (int warp = first; warp < end; warp++) gs_emu_check_release(check, warp, vector);
    for (int warp = first; warp < end; warp++) gs_emu_check_acquire(check, warp, vector);
    gs_emu_vector_destroy(vector);
}

/* An mbarrier. The test completes its phases explicitly. */
typedef struct mbarrier {
    gs_emu_vector *now, *done;
    int            agent;
    uint32_t       phase;
} mbarrier;

static mbarrier mbarrier_make(int block, uint32_t offset)
{
    const mbarrier made = {gs_emu_vector_create(check), gs_emu_vector_create(check), gs_emu_check_mbarrier(check, block, offset), 0};
    assert_true(made.now && made.done && made.agent >= 0);
    return made;
}

static void mbarrier_free(mbarrier *b)
{
    gs_emu_vector_destroy(b->now);
    gs_emu_vector_destroy(b->done);
}

static void arrives(int warp, mbarrier *b) { gs_emu_check_release(check, warp, b->now); }
static void awaits(int warp, const mbarrier *b) { gs_emu_check_acquire(check, warp, b->done); }

static void completes(mbarrier *b)
{
    gs_emu_check_phase(check, b->agent, ++b->phase, b->now);
    gs_emu_vector_join(b->done, b->now);
    gs_emu_vector_clear(b->now);
}

static uint32_t bulk_begin(int warp, int block, uint32_t offset)
{
    op++;
    gs_emu_check_copy_begin(check, warp, op, block, offset, TILE, ++copies);
    return copies;
}

static void bulk_end(int block, uint32_t offset, uint32_t copy, const mbarrier *b)
{
    gs_emu_check_copy_end(check, block, offset, TILE, copy, b->agent, b->phase + 1);
}

/* ---- scenarios: correct as they are, and wrong in one way when something is left out ---- */

/* What is left out or done in the wrong place. */
enum { NOTHING, WAIT_FULL, WAIT_EMPTY, WAIT_WGMMA, STAGE, LAND, PEER, BARRIER, LAST_BARRIER, WAIT_GROUP, FENCE, LATER_FENCE, ARRIVAL, SWAP };

static void hand_over(int without)
{
    writes(0, 0x400, 16);
    if (without != BARRIER) barrier(0, WARPS);
    reads(1, 0x408, 4);
}

static void write_after_read(int without)
{
    writes(0, 0x400, 4);
    barrier(0, WARPS);
    reads(1, 0x400, 4);
    reads(2, 0x400, 4);
    if (without == BARRIER)
        signals(1, 0);   /* orders warp 1 only, not warp 2 */
    else
        barrier(0, WARPS);
    writes(0, 0x400, 4);
}

static void write_after_write(int without)
{
    writes(0, 0x400, 4);
    if (without != BARRIER) signals(0, 3);
    writes(3, 0x400, 4);
    writes(3, 0x400, 4);
}

static void through_a_third(int without)
{
    writes(0, 0x400, 64);
    if (without == SWAP) signals(1, 2);
    signals(0, 1);
    if (without != SWAP) signals(1, 2);
    reads(2, 0x400, 64);
}

static void after_the_release(int without)
{
    if (without != SWAP) writes(0, 0x400, 4);
    signals(0, 1);
    if (without == SWAP) writes(0, 0x400, 4);
    reads(1, 0x400, 4);
}

#define STAGES     3
#define ITERATIONS 8

/* Warp 0 fills a ring of stages; warps 4 and 5 multiply from it, with one group in flight. */
static void consume(int warp, int i, mbarrier *full, mbarrier *empty, int without)
{
    const int stage = i % STAGES, before = (i + STAGES - 1) % STAGES;
    if (without != WAIT_FULL || i < 4 || warp == 4) awaits(warp, &full[stage]);
    multiplies(warp, (uint32_t)(without == STAGE && i == 4 ? (stage + 1) % STAGES : stage) * TILE, (uint32_t)i + 1);
    if (without == WAIT_WGMMA) {
        arrives(warp, &empty[stage]);
        return;
    }
    waits(warp, GS_EMU_AGENT_WGMMA, (uint32_t)i);   /* all groups but the last */
    if (i > 0) arrives(warp, &empty[before]);
}

static void ring(int without)
{
    mbarrier full[STAGES], empty[STAGES];
    uint32_t copy[ITERATIONS];
    for (int s = 0; s < STAGES; s++) full[s] = mbarrier_make(0, 0x7000 + 16 * (uint32_t)s), empty[s] = mbarrier_make(0, 0x7008 + 16 * (uint32_t)s);
    barrier(0, WARPS);
    for (int i = 0; i < ITERATIONS + 1; i++) {
        if (i < ITERATIONS) {   /* the producer is one stage ahead */
            const int s = i % STAGES;
            if (i >= STAGES && without != WAIT_EMPTY) awaits(0, &empty[s]);
            arrives(0, &full[s]);
            copy[i] = bulk_begin(0, 0, (uint32_t)s * TILE);
        }
        if (i == 0) continue;
        const int s = (i - 1) % STAGES;
        const bool late = without == LAND && i == 5;   /* too few bytes were expected */
        if (!late) bulk_end(0, (uint32_t)s * TILE, copy[i - 1], &full[s]);
        completes(&full[s]);
        consume(4, i - 1, full, empty, without);
        consume(5, i - 1, full, empty, without);
        if (late) break;
        if (without == WAIT_WGMMA || i > 1) completes(&empty[without == WAIT_WGMMA ? s : (s + STAGES - 1) % STAGES]);
    }
    for (int s = 0; s < STAGES; s++) mbarrier_free(&full[s]), mbarrier_free(&empty[s]);
}

/* Warp 0 copies into both blocks; warp WARPS + 1 reads in the other block. */
static void multicast(int without)
{
    mbarrier full[BLOCKS] = {mbarrier_make(0, 0x7000), mbarrier_make(1, 0x7000)}, empty = mbarrier_make(0, 0x7008);
    assert_true(full[0].agent != full[1].agent);
    for (uint32_t i = 0; i < 3; i++) {
        if (i > 0) awaits(0, &empty);
        for (int block = 0; block < BLOCKS; block++) {
            const uint32_t copy = bulk_begin(0, block, 0);
            bulk_end(block, 0, copy, &full[block]);
            completes(&full[block]);
        }
        awaits(1, &full[0]);
        if (without != WAIT_FULL || i != 2) awaits(WARPS + 1, &full[1]);
        reads(1, 0, TILE);
        async(WARPS + 1, 1, 0, TILE, GS_EMU_AGENT_WGMMA, i + 1);
        waits(WARPS + 1, GS_EMU_AGENT_WGMMA, i + 1);
        arrives(1, &empty);
        if (without != PEER) arrives(WARPS + 1, &empty);
        completes(&empty);
    }
    mbarrier_free(&full[0]);
    mbarrier_free(&full[1]);
    mbarrier_free(&empty);
}

/* Four warps fill three stages with cp.async, a quarter each, two stages ahead. */
static void cp_async_stages(int without)
{
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t warp = 0; warp < 4; warp++) async((int)warp, 0, i % 3 * TILE + warp * TILE / 4, TILE / 4, GS_EMU_AGENT_COPY, i + 1);
        if (i < 1) continue;
        for (int warp = 0; warp < 4; warp++)
            if (without != WAIT_GROUP || warp > 0 || i < 7) waits(warp, GS_EMU_AGENT_COPY, i);
        if (without != BARRIER || i < 7) barrier(0, 4);
        for (int warp = 0; warp < 4; warp++) reads(warp, (i - 1) % 3 * TILE, TILE);
    }
}

static void cp_async_reuse(int without)
{
    copies_in(0, 0, 1);
    waits(0, GS_EMU_AGENT_COPY, 1);
    reads(0, 0, 64);         /* a warp's own copy needs no barrier */
    barrier(0, 4);
    reads(1, 0, TILE);
    if (without != BARRIER) barrier(0, 4);
    copies_in(0, 0, 2);
}

static void cp_async_twice(int without)
{
    copies_in(0, 0, 1);
    if (without != WAIT_GROUP) waits(0, GS_EMU_AGENT_COPY, 1);
    writes(0, 0, 16);
}

/* cp.async.mbarrier.arrive instead of groups: an arrival covers the copies before it, not later ones. */
static void cp_async_arrivals(int without)
{
    mbarrier full = mbarrier_make(0, 0x7000);
    for (uint32_t i = 0; i < 3; i++) {
        copies_in(2, i * TILE, 1);
        if (without != ARRIVAL || i != 1) {
            arrives(2, &full);
            gs_emu_check_copies(check, 2, full.now);
        }
        completes(&full);
        awaits(3, &full);
        reads(3, i * TILE, TILE);
    }
    mbarrier_free(&full);
}

/* Waiting for groups in addition to such an arrival. */
static void cp_async_both(int without)
{
    gs_emu_vector *const vector = gs_emu_vector_create(check);
    assert_non_null(vector);
    copies_in(0, 0, 1);
    copies_in(0, TILE, 2);
    gs_emu_check_copies(check, 0, vector);
    copies_in(0, 2 * TILE, 2);
    copies_in(0, 3 * TILE, 3);
    waits(0, GS_EMU_AGENT_COPY, 1);
    reads(0, without == STAGE ? TILE : 0, TILE);
    waits(0, GS_EMU_AGENT_COPY, 2);
    reads(0, TILE, 2 * TILE);
    if (without != WAIT_GROUP) waits(0, GS_EMU_AGENT_COPY, 3);
    reads(0, 3 * TILE, TILE);
    gs_emu_vector_destroy(vector);
}

static void fence_by_the_writers(int without)
{
    if (without == SWAP) fences(1);   /* before the write */
    writes(1, 0, TILE);
    if (without == NOTHING) fences(1);
    barrier(0, 4);
    if (without == LATER_FENCE) fences(1);   /* after the barrier, by another warp than the reader */
    stores(0, 0, 1);
}

static void fence_by_the_reader(int without)
{
    writes(1, 0, TILE);
    barrier(0, 4);
    if (without != FENCE) fences(0);
    multiplies(0, 0, 1);
}

static void fence_between(int without)
{
    writes(1, 0, TILE);
    signals(1, 2);
    if (without != FENCE) fences(2);
    signals(2, 3);
    multiplies(3, 0, 1);
}

static void fence_of_cp_async(int without)
{
    copies_in(1, 0, 1);
    if (without == SWAP) fences(1);
    waits(1, GS_EMU_AGENT_COPY, 1);
    if (without == NOTHING) fences(1);
    barrier(0, 4);
    multiplies(0, 0, 1);
}

static void bulk_copy_over_writes(int without)
{
    mbarrier full = mbarrier_make(0, 0x7000);
    writes(1, 0, TILE);
    if (without != FENCE) fences(1);
    reads(1, 0, TILE);   /* needs no fence */
    if (without != BARRIER) barrier(0, 4);
    bulk_end(0, 0, bulk_begin(0, 0, 0), &full);
    completes(&full);
    awaits(1, &full);
    reads(1, 0, TILE);
    writes(1, 0, 16);
    mbarrier_free(&full);
}

/* A buffer filled by warps 0 and 1, stored by warp 0, then filled again. */
static void store_buffer(int without)
{
    for (uint32_t i = 0; i < 3; i++) {
        if (i > 0 && without != WAIT_GROUP) waits(0, GS_EMU_AGENT_BULK, i);
        if (without != BARRIER) barrier(0, 2);
        writes(0, 0, TILE / 2);
        writes(1, TILE / 2, TILE / 2);
        fences(0);
        fences(1);
        if (without != LAST_BARRIER || i < 1) barrier(0, 2);
        stores(0, 0, i + 1);
    }
}

static void own_wgmma(int without)
{
    writes(4, 0, TILE);
    fences(4);
    multiplies(4, 0, 1);
    if (without != WAIT_WGMMA) waits(4, GS_EMU_AGENT_WGMMA, 1);
    writes(4, 0, 16);
}

/* Two halves of a cell are written by two warps, and each is read by both. */
static void halves(int without)
{
    writes(0, 0x400, 2);
    writes(1, without == STAGE ? 0x401 : 0x402, without == STAGE ? 3 : 2);
    reads(0, 0x400, without == SWAP ? 3 : 1);
    barrier(0, 2);
    writes(0, 0x402, 1);
    reads(1, without == BARRIER ? 0x402 : 0x403, 1);
    reads(1, 0x400, 1);
}

static void counters(int without)
{
    writes(0, 0x400, 4);
    barrier(0, 4);
    atomic(1, 0x400);
    atomic(2, 0x400);
    atomic(1, 0x400);
    atomic(3, 0x400);
    signals(3, 0);
    signals(1, 0);
    if (without != BARRIER) signals(2, 0);
    reads(0, 0x400, 4);
}

static void atomic_on_a_plain_write(int without)
{
    writes(0, 0x400, 4);
    atomic(0, 0x400);
    if (without != BARRIER) signals(0, 1);
    atomic(1, 0x400);
}

static void plain_write_on_an_atomic(int without)
{
    writes(0, 0x400, 4);
    barrier(0, 2);
    atomic(1, 0x400);
    if (without != BARRIER) barrier(0, 2);
    writes(0, 0x400, 4);
}

static void every_missing_step_is_found(void **state)
{
    static const struct {
        const char *name;
        void      (*run)(int without);
        int         without;
        gs_emu_finding_kind kind;
    } rows[] = {
        {"hand over",                       hand_over,                NOTHING,      NONE},
        {"hand over, no barrier",           hand_over,                BARRIER,      GS_EMU_RACE_FINDING},
        {"write after read",                write_after_read,         NOTHING,      NONE},
        {"write after read, no barrier",    write_after_read,         BARRIER,      GS_EMU_RACE_FINDING},
        {"write after write",               write_after_write,        NOTHING,      NONE},
        {"write after write, no barrier",   write_after_write,        BARRIER,      GS_EMU_RACE_FINDING},
        {"through a third",                 through_a_third,          NOTHING,      NONE},
        {"through a third, wrong order",    through_a_third,          SWAP,         GS_EMU_RACE_FINDING},
        {"before the release",              after_the_release,        NOTHING,      NONE},
        {"after the release",               after_the_release,        SWAP,         GS_EMU_RACE_FINDING},
        {"ring",                            ring,                     NOTHING,      NONE},
        {"ring, no wait for full",          ring,                     WAIT_FULL,    GS_EMU_EARLY_READ_FINDING},
        {"ring, no wait for empty",         ring,                     WAIT_EMPTY,   GS_EMU_OVERWRITE_FINDING},
        {"ring, empty before wgmma",        ring,                     WAIT_WGMMA,   GS_EMU_OVERWRITE_FINDING},
        {"ring, next stage",                ring,                     STAGE,        GS_EMU_EARLY_READ_FINDING},
        {"ring, copy under way",            ring,                     LAND,         GS_EMU_EARLY_READ_FINDING},
        {"multicast",                       multicast,                NOTHING,      NONE},
        {"multicast, no wait in the peer",  multicast,                WAIT_FULL,    GS_EMU_EARLY_READ_FINDING},
        {"multicast, peer not waited for",  multicast,                PEER,         GS_EMU_OVERWRITE_FINDING},
        {"cp.async",                        cp_async_stages,          NOTHING,      NONE},
        {"cp.async, no wait_group",         cp_async_stages,          WAIT_GROUP,   GS_EMU_EARLY_READ_FINDING},
        {"cp.async, no barrier",            cp_async_stages,          BARRIER,      GS_EMU_EARLY_READ_FINDING},
        {"cp.async reuse",                  cp_async_reuse,           NOTHING,      NONE},
        {"cp.async reuse, no barrier",      cp_async_reuse,           BARRIER,      GS_EMU_RACE_FINDING},
        {"cp.async, then a store",          cp_async_twice,           NOTHING,      NONE},
        {"cp.async, a store meanwhile",     cp_async_twice,           WAIT_GROUP,   GS_EMU_OVERWRITE_FINDING},
        {"cp.async arrivals",               cp_async_arrivals,        NOTHING,      NONE},
        {"cp.async arrivals, one missing",  cp_async_arrivals,        ARRIVAL,      GS_EMU_EARLY_READ_FINDING},
        {"cp.async groups and arrivals",    cp_async_both,            NOTHING,      NONE},
        {"cp.async, next group",            cp_async_both,            STAGE,        GS_EMU_EARLY_READ_FINDING},
        {"cp.async, last group",            cp_async_both,            WAIT_GROUP,   GS_EMU_EARLY_READ_FINDING},
        {"fence by the writers",            fence_by_the_writers,     NOTHING,      NONE},
        {"no fence by the writers",         fence_by_the_writers,     FENCE,        GS_EMU_PROXY_FENCE_FINDING},
        {"fence before the write",          fence_by_the_writers,     SWAP,         GS_EMU_PROXY_FENCE_FINDING},
        {"fence after the barrier",         fence_by_the_writers,     LATER_FENCE,  GS_EMU_PROXY_FENCE_FINDING},
        {"fence by the reader",             fence_by_the_reader,      NOTHING,      NONE},
        {"no fence by the reader",          fence_by_the_reader,      FENCE,        GS_EMU_PROXY_FENCE_FINDING},
        {"fence between",                   fence_between,            NOTHING,      NONE},
        {"no fence between",                fence_between,            FENCE,        GS_EMU_PROXY_FENCE_FINDING},
        {"fence of cp.async",               fence_of_cp_async,        NOTHING,      NONE},
        {"no fence of cp.async",            fence_of_cp_async,        FENCE,        GS_EMU_PROXY_FENCE_FINDING},
        {"fence before the group is done",  fence_of_cp_async,        SWAP,         GS_EMU_PROXY_FENCE_FINDING},
        {"bulk copy over writes",           bulk_copy_over_writes,    NOTHING,      NONE},
        {"bulk copy, no fence",             bulk_copy_over_writes,    FENCE,        GS_EMU_PROXY_FENCE_FINDING},
        {"bulk copy, no barrier",           bulk_copy_over_writes,    BARRIER,      GS_EMU_RACE_FINDING},
        {"store buffer",                    store_buffer,             NOTHING,      NONE},
        {"store buffer, no wait",           store_buffer,             WAIT_GROUP,   GS_EMU_OVERWRITE_FINDING},
        {"store buffer, wait unshared",     store_buffer,             BARRIER,      GS_EMU_OVERWRITE_FINDING},
        {"store buffer, early store",       store_buffer,             LAST_BARRIER, GS_EMU_RACE_FINDING},
        {"own wgmma",                       own_wgmma,                NOTHING,      NONE},
        {"own wgmma, no wait",              own_wgmma,                WAIT_WGMMA,   GS_EMU_OVERWRITE_FINDING},
        {"halves",                          halves,                   NOTHING,      NONE},
        {"halves that overlap",             halves,                   STAGE,        GS_EMU_RACE_FINDING},
        {"halves, read beyond",             halves,                   SWAP,         GS_EMU_RACE_FINDING},
        {"halves, read too early",          halves,                   BARRIER,      GS_EMU_RACE_FINDING},
        {"counters",                        counters,                 NOTHING,      NONE},
        {"counters, one not waited for",    counters,                 BARRIER,      GS_EMU_RACE_FINDING},
        {"atomic on a plain write",         atomic_on_a_plain_write,  NOTHING,      NONE},
        {"atomic on a plain write, early",  atomic_on_a_plain_write,  BARRIER,      GS_EMU_RACE_FINDING},
        {"plain write on an atomic",        plain_write_on_an_atomic, NOTHING,      NONE},
        {"plain write on an atomic, early", plain_write_on_an_atomic, BARRIER,      GS_EMU_RACE_FINDING},
    };
    (void)state;
    for (int round = 0; round < 2; round++) {   /* a reset leaves nothing behind */
        for (size_t i = 0; i < GS_COUNT(rows); i++) {
            gs_emu_check_reset(check);
            rows[i].run(rows[i].without);
            expect(rows[i].name, rows[i].kind);
        }
    }
}

/* ---- words ---- */

static void expect_text(const char *text)
{
    if (strcmp(found_text, text) != 0) fail_msg("said:\n  %s\nexpected:\n  %s", found_text, text);
    found_text[0] = '\0';
}

static void findings_name_both_accesses(void **state)
{
    mbarrier full = mbarrier_make(1, 0x7000);
    (void)state;
    writes(3, 0x400, 32);
    signals(3, 1);
    writes(1, 0x410, 4);
    reads(3, 0x400, 32);
    expect_text("read of 32 bytes at 0x400 by warp 3 of block 0; 0x410 written by warp 1 of block 0 at k.cu:2 with no barrier between");
    assert_int_equal(found_warp, 3);
    touch(WARPS + 2, 0, 0x410, 4, GS_EMU_WRITE);
    expect_text("write of 4 bytes at 0x410 of block 0 by warp 2 of block 1; written by warp 1 of block 0 at k.cu:2 with no barrier between");
    atomic(2, 0x410);
    expect_text("atomic of 4 bytes at 0x410 by warp 2 of block 0; written by warp 2 of block 1 at k.cu:4 with no barrier between");
    fences(1);
    reads(1, 0x500, 8);
    expect_text("read of 8 bytes at 0x500 by warp 1 of block 0; never written");
    writes(1, 0x500, TILE);
    stores(1, 0x500, 1);
    expect_text("bulk store of 1024 bytes at 0x500 by warp 1 of block 0; written by warp 1 of block 0 at k.cu:7 with no fence.proxy.async between");
    writes(1, 0x500, 4);
    expect_text("write of 4 bytes at 0x500 by warp 1 of block 0; read by the bulk store of warp 1 of block 0 at k.cu:8 "
                "with no cp.async.bulk.wait_group.read between");
    copies_in(1, 0x1000, 1);
    reads(0, 0x1000, 4);
    expect_text("read of 4 bytes at 0x1000 by warp 0 of block 0; written by the cp.async of warp 1 of block 0 at k.cu:10 "
                "with no cp.async.wait_group and barrier between");
    const uint32_t copy = bulk_begin(WARPS, 1, 0);
    async(WARPS + 4, 1, 512, 512, GS_EMU_AGENT_WGMMA, 1);
    expect_text("wgmma read of 512 bytes at 0x200 by warp 4 of block 1; written by the bulk copy at k.cu:12, which is still under way");
    bulk_end(1, 0, copy, &full);
    async(WARPS + 4, 1, 512, 512, GS_EMU_AGENT_WGMMA, 1);
    expect_text("wgmma read of 512 bytes at 0x200 by warp 4 of block 1; written by the bulk copy at k.cu:12 "
                "with no wait for phase 0 of the mbarrier at 0x7000 of block 1 between");
    completes(&full);
    awaits(0, &full);
    bulk_begin(0, 1, 0);
    expect_text("bulk copy of 1024 bytes at 0x0 of block 1 by warp 0 of block 0; 0x200 read by the wgmma of warp 4 of block 1 at k.cu:14 "
                "with no wgmma.wait_group and barrier between");
    mbarrier_free(&full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_missing_step_is_found, start, stop),
        cmocka_unit_test_setup_teardown(findings_name_both_accesses, start, stop),
    };
    return run_without_leaks("check", tests, sizeof tests / sizeof *tests);
}
