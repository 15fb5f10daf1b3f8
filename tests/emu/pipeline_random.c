/* SPDX-License-Identifier: MIT
 * Random pipelines on the emulated machine: producers fill the stages of a ring, consumers empty them, ordered by mbarriers or named barriers. A correct one ends with
 * the right data and no finding with every seed; if one synchronisation is removed, each run has a finding. The kernels are unrolled: each warp and item has its own
 * instructions, so that a single one can be removed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "emu.h"

enum { PROGRAMS = 90, RIGHT_SEEDS = 6, BROKEN_SEEDS = 3, MOST_ITEMS = 10, MOST_WARPS = 6, MOST_PRODUCERS = 3, ROW = 32, TEXT = 1 << 18 };

typedef enum filling { BY_STORES, BY_COPIES, BY_COPIES_AND_ARRIVAL, BY_BULK, BY_STORES_AND_BARRIERS, FILLINGS } filling;

/* What is removed, at one item of one warp. */
typedef enum fault {
    NOTHING,
    FULL_WAIT, EMPTY_WAIT,          /* of a consumer, of a producer; a named barrier's wait becomes an arrival */
    FULL_ARRIVAL, EMPTY_ARRIVAL,
    FULL_RELEASE, EMPTY_RELEASE,    /* the arrival becomes relaxed */
    READ_WAIT,                      /* of bulk stores, before the stage is released */
    PROXY_FENCE,                    /* after stores, before bulk stores read them */
    INIT_BARRIER, INIT_FENCE,       /* after the initialisation */
    BYTES,                          /* too few bytes are expected */
    FAULTS
} fault;

typedef struct pipeline {
    filling   how;
    bool      stores;               /* consumers store to global memory in bulk */
    bool      elected;              /* one lane of each warp arrives instead of all */
    bool      tests;                /* waits with test_wait */
    bool      fenced;               /* relaxed arrivals after a fence */
    int       producers, consumers, stages, items;
    fault     wrong;
    int       warp, item;           /* where the fault is */
    gs_random random;
    int       labels;
    size_t    size;
    char      text[TEXT];
} pipeline;

static int below(pipeline *p, int limit) { return (int)gs_random_below(&p->random, (uint64_t)limit); }

static void draw(pipeline *p)
{
    p->how = (filling)below(p, FILLINGS);
    p->producers = 1 + below(p, MOST_PRODUCERS);
    p->consumers = 1 + below(p, MOST_WARPS - p->producers);
    p->stages = 1 + below(p, 4);
    p->items = p->stages + 1 + below(p, MOST_ITEMS - p->stages);
    p->stores = (p->how == BY_STORES || p->how == BY_BULK || p->how == BY_STORES_AND_BARRIERS) && below(p, 2);
    p->elected = below(p, 2);
    p->tests = below(p, 3) == 0;
    p->fenced = below(p, 4) == 0;
}

static bool named(const pipeline *p) { return p->how == BY_STORES_AND_BARRIERS; }

/* Whether the pipeline can have the fault with an effect; if so, chooses its place. A stage that is not filled again need not be released, and a consumer without a row to
 * store reads nothing. */
static bool place_fault(pipeline *p, fault wrong)
{
    const bool consumer = wrong == FULL_WAIT || wrong == EMPTY_ARRIVAL || wrong == EMPTY_RELEASE || wrong == READ_WAIT;
    p->wrong = wrong;
    p->warp = consumer ? p->producers + below(p, p->consumers) : below(p, p->producers);
    p->item = below(p, p->items);
    if (wrong == EMPTY_ARRIVAL || wrong == EMPTY_RELEASE || wrong == READ_WAIT) p->item = below(p, p->items - p->stages);
    if (wrong == EMPTY_WAIT) p->item = p->stages + below(p, p->items - p->stages);
    const bool reads = !p->stores || p->warp - p->producers < p->producers;
    switch (wrong) {
    case FULL_WAIT: return reads;
    case FULL_RELEASE: return p->how == BY_STORES;
    case EMPTY_RELEASE: return reads && !named(p);
    case READ_WAIT: return reads && p->stores;
    case PROXY_FENCE: return p->stores && p->how != BY_BULK;
    case INIT_BARRIER: return !named(p);
    case INIT_FENCE:
    case BYTES: return p->how == BY_BULK;
    default: return true;
    }
}

static bool is_out(const pipeline *p, fault what, int warp, int item) { return p->wrong == what && p->warp == warp && p->item == item; }

/* ---- as PTX ---- */

static void say(pipeline *p, const char *format, ...) GS_PRINTF(2, 3);
static void say(pipeline *p, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    p->size += (size_t)vsnprintf(p->text + p->size, TEXT - p->size, format, values);
    va_end(values);
    assert_true(p->size < TEXT);
}

/* Barriers: the full barriers of all stages, then the empty ones. */
static int full(const pipeline *p, int item) { return item % p->stages; }
static int empty(const pipeline *p, int item) { return p->stages + item % p->stages; }
static int row_of(const pipeline *p, int item, int producer) { return 4 * ROW * (item % p->stages * p->producers + producer); }

static void say_wait(pipeline *p, int barrier, int phase, bool out)
{
    if (named(p)) {
        say(p, "bar.%s %d, %d;\n", out ? "arrive" : "sync", 1 + barrier, 32 * (p->producers + p->consumers));
    } else if (!out) {
        const int label = p->labels++;
        say(p, "L%d:\nmbarrier.%s.parity.shared::cta.b64 q, [bar+%d], %d;\n@!q bra L%d;\n", label, p->tests ? "test_wait" : "try_wait", 8 * barrier, phase & 1, label);
    }
}

static void say_arrival(pipeline *p, int barrier, bool relaxed)
{
    if (named(p)) {
        say(p, "bar.arrive %d, %d;\n", 1 + barrier, 32 * (p->producers + p->consumers));
        return;
    }
    if (p->elected) say(p, "bar.warp.sync -1;\n");
    if (p->fenced && !relaxed) say(p, "fence.acq_rel.cta;\n");
    say(p, "%s mbarrier.arrive%s.shared::cta.b64 _, [bar+%d];\n", p->elected ? "@z" : "", p->fenced || relaxed ? ".relaxed.cta" : "", 8 * barrier);
}

static void say_filling(pipeline *p, int producer, int item)
{
    const int source = 4 * ROW * (item * p->producers + producer), row = row_of(p, item, producer), barrier = 8 * full(p, item);
    const bool out = is_out(p, FULL_ARRIVAL, producer, item);
    switch (p->how) {
    case BY_COPIES:
    case BY_COPIES_AND_ARRIVAL:
        say(p, "cp.async.ca.shared.global [b+%d], [i+%d], 4;\n", row, source);
        if (p->how == BY_COPIES && !out) say(p, "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar+%d];\n", barrier);
        if (p->how == BY_COPIES) return;
        say(p, "cp.async.mbarrier.arrive.shared::cta.b64 [bar+%d];\n", barrier);
        break;
    case BY_BULK:
        if (!out) say(p, "@z mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar+%d], %d;\n", barrier, is_out(p, BYTES, producer, item) ? 64 : 128);
        say(p, "@z cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buf+%d], [g+%d], 128, [bar+%d];\n", row, source, barrier);
        return;
    default:
        say(p, "ld.global.u32 a, [i+%d];\nst.shared.u32 [b+%d], a;\n", source, row);
        if (p->stores && !is_out(p, PROXY_FENCE, producer, item)) say(p, "fence.proxy.async.shared::cta;\n");
        break;
    }
    if (!out) say_arrival(p, full(p, item), is_out(p, FULL_RELEASE, producer, item));
}

static void say_use(pipeline *p, int consumer, int item)
{
    const int warp = p->producers + consumer;
    for (int row = 0; row < p->producers; row++) {
        if (!p->stores) {
            say(p, "add.u32 c, l, %d;\nand.b32 c, c, 31;\nshl.b32 c, c, 2;\nadd.u32 c, c, base;\nld.shared.u32 a, [c+%d];\nmad.lo.u32 sum, a, %d, sum;\n", item + consumer,
                row_of(p, item, row), 2 * item + 1);
        } else if (row % p->consumers == consumer) {
            say(p, "@z cp.async.bulk.global.shared::cta.bulk_group [o+%d], [buf+%d], 128;\n@z cp.async.bulk.commit_group;\n", 4 * ROW * (item * p->producers + row), row_of(p, item, row));
        }
    }
    if (p->stores && !is_out(p, READ_WAIT, warp, item)) say(p, "@z cp.async.bulk.wait_group.read 0;\n");
}

static void say_warp(pipeline *p, int warp)
{
    say(p, "WARP%d:\n", warp);
    for (int item = 0; item < p->items; item++) {
        const int phase = item / p->stages;
        if (warp < p->producers) {
            if (item >= p->stages) say_wait(p, empty(p, item), phase - 1, is_out(p, EMPTY_WAIT, warp, item));
            say_filling(p, warp, item);
        } else {
            say_wait(p, full(p, item), phase, is_out(p, FULL_WAIT, warp, item));
            say_use(p, warp - p->producers, item);
            if (item + p->stages >= p->items) continue;
            if (!is_out(p, EMPTY_ARRIVAL, warp, item)) say_arrival(p, empty(p, item), is_out(p, EMPTY_RELEASE, warp, item));
        }
    }
    if (warp < p->producers) say(p, "cp.async.wait_all;\nret;\n");
    else if (p->stores) say(p, "cp.async.bulk.wait_group 0;\nret;\n");
    else say(p, "mul.wide.u32 i, t, 4;\nadd.s64 o, o, i;\nst.global.u32 [o], sum;\nret;\n");
}

static void say_start(pipeline *p)
{
    const int arrivals = p->elected ? 1 : 32;
    const int of_producer = p->how == BY_COPIES ? 32 : p->how == BY_BULK ? 1 : arrivals;
    if (!named(p)) {
        say(p, "setp.ne.u32 p, t, 0;\n@p bra READY;\n");
        for (int stage = 0; stage < p->stages; stage++)
            say(p, "mbarrier.init.shared::cta.b64 [bar+%d], %d;\nmbarrier.init.shared::cta.b64 [bar+%d], %d;\n", 8 * full(p, stage), of_producer * p->producers, 8 * empty(p, stage),
                arrivals * p->consumers);
        if (p->wrong != INIT_FENCE) say(p, "fence.mbarrier_init.release.cluster;\n");
        say(p, "READY:\n");
        if (p->wrong != INIT_BARRIER) say(p, "bar.sync 0;\n");
    }
    for (int warp = 1; warp < p->producers + p->consumers; warp++) say(p, "setp.eq.u32 p, w, %d;\n@p bra WARP%d;\n", warp, warp);
}

static void write_kernel(pipeline *p)
{
    p->size = 0;
    p->labels = 0;
    say(p, ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .pred p, q, z;\n.reg .b32 a, b, c, base, l, sum, t, w;\n.reg .b64 g, i, o;\n"
           ".shared .align 8 .b8 bar[128];\n.shared .align 128 .b8 buf[%d];\n", 4 * ROW * 4 * MOST_PRODUCERS);
    say(p, "ld.param.u64 g, [in];\nld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nand.b32 l, t, 31;\nshr.u32 w, t, 5;\nsetp.eq.u32 z, l, 0;\nmul.wide.u32 i, l, 4;\nadd.s64 i, i, g;\n"
           "mov.u32 base, buf;\nshl.b32 b, l, 2;\nadd.u32 b, b, base;\nmov.u32 sum, 0;\n");
    say_start(p);
    for (int warp = 0; warp < p->producers + p->consumers; warp++) say_warp(p, warp);
    say(p, "}\n");
}

/* ---- the runs ---- */

static uint32_t input_of(int item, int producers, int producer, int lane) { return (uint32_t)(item * producers + producer) * 40503u + (uint32_t)lane * 2654435761u + 12345u; }

static uint32_t sum_of(const pipeline *p, int consumer, int lane)
{
    uint32_t sum = 0;
    for (int item = 0; item < p->items; item++)
        for (int row = 0; row < p->producers; row++) sum += input_of(item, p->producers, row, (lane + item + consumer) % ROW) * (uint32_t)(2 * item + 1);
    return sum;
}

static bool is_right(const pipeline *p, const uint32_t *out)
{
    for (int i = 0; i < (p->stores ? p->items * p->producers : p->consumers) * ROW; i++) {
        const int row = i / ROW, lane = i % ROW;
        if (p->stores ? out[i] != input_of(row / p->producers, p->producers, row % p->producers, lane) : out[p->producers * ROW + i] != sum_of(p, row, lane)) return false;
    }
    return true;
}

static void run_pipeline(pipeline *p, int number)
{
    enum { WORDS = MOST_ITEMS * MOST_PRODUCERS * ROW };
    static uint32_t in[WORDS];
    emu_test t;
    write_kernel(p);
    if (emu_load(&t, p->text, NULL) != GS_OK) fail_msg("pipeline %d: %s\n%s", number, t.error.text, p->text);
    for (int i = 0; i < p->items * p->producers * ROW; i++) in[i] = input_of(i / ROW, 1, 0, i % ROW);
    const uint64_t from = emu_buffer(&t, in, sizeof in), to = emu_buffer(&t, NULL, sizeof in);
    emu_param(&t, 0, &from, sizeof from);
    emu_param(&t, 1, &to, sizeof to);
    t.launch.block[0] = 32 * (uint32_t)(p->producers + p->consumers);
    t.launch.step_limit = p->wrong == NOTHING ? 4000000 : 200000;
    for (uint64_t seed = 1; seed <= (p->wrong == NOTHING ? RIGHT_SEEDS : BROKEN_SEEDS); seed++) {
        t.launch.seed = seed + 100 * (uint64_t)number;
        const gs_status status = emu_run(&t);
        if (p->wrong == NOTHING && status != GS_OK) fail_msg("pipeline %d, seed %d: %s\n%s", number, (int)seed, t.error.text, p->text);
        if (p->wrong == NOTHING && !is_right(p, emu_bytes(&t, to, sizeof in))) fail_msg("pipeline %d, seed %d: wrong data\n%s", number, (int)seed, p->text);
        if (p->wrong != NOTHING && status != GS_ERROR_FAULT)
            fail_msg("pipeline %d, seed %d: fault %d at item %d of warp %d is not found\n%s", number, (int)seed, (int)p->wrong, p->item, p->warp, p->text);
    }
    emu_end(&t);
}

static void test_random_pipelines(void **state)
{
    static pipeline p;
    int runs[FAULTS] = {0};
    (void)state;
    for (int number = 1; number <= PROGRAMS; number++) {
        p = (pipeline){.random = {(uint64_t)number * 7919}};
        draw(&p);
        for (int wrong = NOTHING; wrong < FAULTS; wrong++) {
            if (!place_fault(&p, (fault)wrong)) continue;
            run_pipeline(&p, number);
            runs[wrong]++;
        }
    }
    for (int wrong = NOTHING; wrong < FAULTS; wrong++) assert_true(runs[wrong] >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_pipelines)};
    return cmocka_run_group_tests_name("random pipelines on the emulated machine", tests, NULL, NULL);
}
