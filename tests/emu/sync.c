/* SPDX-License-Identifier: MIT
 * Rare forms of synchronisation on the emulated machine: lanes that end inside branches, masks of part of a warp, barriers with diverged lanes, relaxed arrivals after
 * fences, waits that give up, progress of copies next to spinning warps. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/leaks.h"
#include "emu.h"

#define HEAD ".version 8.4\n.target sm_90a\n.address_size 64\n"
#define KERNEL(body)                                                                                                              \
    HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .pred p, q, r;\n.reg .b32 a, b, c, d, e, f, t;\n.reg .b64 o, x, y, s;\n"    \
         ".shared .align 8 .b8 bar[64];\n.shared .align 16 .b8 buf[1024];\n"                                                      \
         "ld.param.u64 o, [out];\nmov.u32 t, %tid.x;\n" body "\nret;\n}\n"
#define STORE "mul.wide.u32 x, t, 4;\nadd.s64 x, x, o;\nst.global.u32 [x], a;\n"   /* out[t] = a */
#define INIT(count) "setp.ne.u32 p, t, 0;\nmov.u32 f, bar;\n@p bra READY;\nmbarrier.init.shared::cta.b64 [f], " #count ";\nREADY:\nbar.sync 0;\n"

enum { WORDS = 1024, SEEDS = 24 };

typedef struct run {
    emu_test  t;
    uint64_t  out;
    uint32_t *words;
} run;

static void start(run *r, const char *ptx, uint32_t threads, uint32_t cluster)
{
    static uint32_t zero[WORDS];
    if (emu_load(&r->t, ptx, NULL) != GS_OK) fail_msg("%s", r->t.error.text);
    r->out = emu_buffer(&r->t, zero, sizeof zero);
    r->words = emu_bytes(&r->t, r->out, sizeof zero);
    emu_param(&r->t, 0, &r->out, sizeof r->out);
    r->t.launch.block[0] = threads;
    r->t.launch.grid[0] = r->t.launch.cluster[0] = cluster;
    r->t.launch.step_limit = 20000000;
}

/* Prepares the next run. It must have no finding; the caller checks the words. */
static void next_seed(run *r, uint64_t seed)
{
    r->t.launch.seed = seed;
    memset(r->words, 0, WORDS * sizeof *r->words);
    if (emu_run(&r->t) != GS_OK) fail_msg("seed %d: %s", (int)seed, r->t.error.text);
}

static void expect_words(const char *ptx, uint32_t threads, uint32_t cluster, uint32_t count, uint32_t word)
{
    run r;
    start(&r, ptx, threads, cluster);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        next_seed(&r, seed);
        for (uint32_t i = 0; i < count; i++)
            if (r.words[i] != word) fail_msg("seed %d: word %u is %u, not %u", (int)seed, i, r.words[i], word);
    }
    emu_end(&r.t);
}

static void expect_finding(const char *ptx, uint32_t threads, uint32_t cluster, gs_emu_finding_kind kind, const char *part)
{
    run r;
    start(&r, ptx, threads, cluster);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        r.t.launch.seed = seed;
        assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
        bool found = false;
        for (int i = 0; i < r.t.launch.findings; i++) found = found || (r.t.launch.finding[i].kind == kind && strstr(r.t.launch.finding[i].text, part));
        if (!found) fail_msg("seed %d: no %s with \"%s\", but: %s", (int)seed, gs_emu_finding_name(kind), part, r.t.error.text);
    }
    emu_end(&r.t);
}

/* ---- lanes that end inside a branch ---- */

/* The other lanes reconverge after the branch, as arranged by the hardware's assembler: aligned barriers follow. */
static void test_exit_inside_a_branch(void **state)
{
    (void)state;
    /* a guarded exit */
    expect_words(KERNEL("mov.u32 a, 7;\nsetp.lt.u32 p, t, 16;\n@p bra LOW;\nand.b32 b, t, 1;\nsetp.eq.u32 q, b, 0;\n@q exit;\nadd.u32 a, a, 1;\nbra MEET;\n"
                        "LOW:\nadd.u32 a, a, 1;\nMEET:\nbar.sync 0;\n" STORE), 64, 1, 16, 8);
    /* a branch to the only return */
    expect_words(KERNEL("mov.u32 a, 7;\nsetp.lt.u32 p, t, 16;\n@p bra LOW;\nand.b32 b, t, 1;\nsetp.eq.u32 q, b, 0;\n@q bra DONE;\nadd.u32 a, a, 1;\nbra MEET;\n"
                        "LOW:\nadd.u32 a, a, 1;\nMEET:\nbar.sync 0;\n" STORE "DONE:"), 64, 1, 16, 8);
    /* out of two loops */
    expect_words(KERNEL("mov.u32 a, 0;\nmov.u32 b, 0;\nOUTER:\nmov.u32 c, 0;\nINNER:\nadd.u32 d, b, c;\nadd.u32 d, d, 50;\nsetp.eq.u32 p, d, t;\n@p bra DONE;\n"
                        "add.u32 a, a, 1;\nadd.u32 c, c, 1;\nsetp.lt.u32 q, c, t;\n@q bra INNER;\nbar.warp.sync 0xffffffff;\nadd.u32 b, b, 1;\nsetp.lt.u32 q, b, 3;\n@q bra OUTER;\n"
                        "bar.sync 0;\nmov.u32 a, 5;\n" STORE "DONE:"), 64, 1, 50, 5);
    /* Lanes that loop until they return must not be waited for at a reconvergence point. */
    expect_words(KERNEL("setp.ge.u32 p, t, 16;\nmov.u32 a, 3;\n@p bra CLIENT;\nSERVE:\nld.volatile.global.u32 b, [o+1024];\nsetp.eq.u32 q, b, 16;\n@q bra DONE;\nbra SERVE;\n"
                        "CLIENT:\nred.global.add.u32 [o+1024], 1;\nDONE:\nret;"), 32, 1, 1, 0);
}

/* ---- masks ---- */

static void test_masks_of_halves(void **state)
{
    (void)state;
    /* Two halves of the warp with separate masks in one instruction; then each half diverged further. */
    expect_words(KERNEL("setp.lt.u32 p, t, 16;\nselp.b32 b, 0x0000ffff, 0xffff0000, p;\nshfl.sync.bfly.b32 c, t, 1, 31, b;\nxor.b32 c, c, t;\n"
                        "redux.sync.add.u32 d, 1, b;\nvote.sync.ballot.b32 e, 1, b;\npopc.b32 e, e;\nelect.sync f|q, b;\nselp.u32 a, 1, 0, q;\n"
                        "redux.sync.add.u32 a, a, b;\nadd.u32 a, a, c;\nadd.u32 a, a, d;\nadd.u32 a, a, e;\n" STORE), 32, 1, 32, 34);
    expect_words(KERNEL("and.b32 c, t, 1;\nsetp.eq.u32 q, c, 0;\nsetp.lt.u32 p, t, 16;\nselp.b32 b, 0x0000ffff, 0xffff0000, p;\n@q bra EVEN;\nand.b32 c, t, 16;\nsetp.eq.u32 q, c, 0;\n@q bra ODD;\nbra ODD;\n"
                        "ODD:\nEVEN:\nnanosleep.u32 1;\nshfl.sync.bfly.b32 c, t, 1, 31, b;\nxor.b32 a, c, t;\n" STORE), 32, 1, 32, 1);
    /* The first four lanes diverge before one instruction with two masks: each group must wait for its own members only. */
    expect_words(KERNEL("setp.ge.u32 p, t, 4;\n@p exit;\nsetp.lt.u32 p, t, 2;\nselp.b32 b, 3, 12, p;\nand.b32 c, t, 1;\nsetp.eq.u32 q, c, 0;\nmov.u32 d, 1;\n@q bra SLOW;\nbra GO;\n"
                        "SLOW:\nnanosleep.u32 1;\nGO:\nshfl.sync.bfly.b32 c, t, 1, 31, b;\nxor.b32 a, c, t;\n" STORE), 32, 1, 4, 1);
    expect_finding(KERNEL("setp.lt.u32 p, t, 16;\nselp.b32 b, 0x0000ffff, 0x0ff00000, p;\nshfl.sync.bfly.b32 c, t, 1, 31, b;\n"), 32, 1, GS_EMU_TRAP_FINDING, "mask");
}

/* Two parts of a warp reach the same instruction on different paths: the first one waits, and reads the values that the others have then. */
static void test_members_are_waited_for(void **state)
{
    (void)state;
    expect_words(KERNEL("mov.u32 c, 1;\nsetp.lt.u32 p, t, 16;\nsetp.lt.u32 q, t, 32;\n@p bra SLOW;\nmov.u32 c, 5;\n@q bra BOTH;\nbra END;\n"
                        "SLOW:\nnanosleep.u32 1;\nnanosleep.u32 1;\nmov.u32 c, 5;\nBOTH:\nshfl.sync.bfly.b32 a, c, 16, 31, 0xffffffff;\n" STORE "END:\n"), 32, 1, 32, 5);
}

/* Lanes without a common reconvergence point are converged after a warp barrier. */
static void test_warp_barrier_joins(void **state)
{
    (void)state;
    expect_words(KERNEL("setp.lt.u32 p, t, 16;\n@p bra A;\nmov.u32 a, 4;\nbra C;\nA:\nmov.u32 a, 4;\nC:\nbar.warp.sync 0xffffffff;\nbar.sync 0;\n" STORE), 64, 1, 64, 4);
}

/* ---- barriers of a block ---- */

/* The barrier is used by other warps before the first waiting warp reads its result. */
static void test_reduction_of_subsets(void **state)
{
    (void)state;
    expect_words(KERNEL("setp.lt.u32 p, t, 32;\n@p bra FIRST;\nsetp.ge.u32 q, t, 64;\n@q bra THIRD;\nbar.red.popc.u32 a, 1, 64, 1;\nbar.arrive 2, 64;\nsetp.ne.u32 q, t, t;\nbar.red.popc.u32 b, 1, 64, q;\nbra OUT;\n"
                        "FIRST:\nbar.red.popc.u32 a, 1, 64, 1;\nbra OUT;\nTHIRD:\nbar.sync 2, 64;\nsetp.ne.u32 q, t, t;\nbar.red.popc.u32 b, 1, 64, q;\nmov.u32 a, 64;\nOUT:\n" STORE), 96, 1, 96, 64);
}

/* ---- mbarriers ---- */

/* A barrier without pending arrivals may be initialised again, others must not. */
static void test_mbarrier_initialised_again(void **state)
{
#define AGAIN "@!p mbarrier.init.shared::cta.b64 [f], 1;\n"
#define LIFE  "@!p mbarrier.arrive.shared::cta.b64 _, [f];\nbar.sync 0;\nmov.u32 a, 5;\n" STORE
    (void)state;
    expect_words(KERNEL(INIT(2) AGAIN LIFE), 32, 1, 32, 5);
    expect_words(KERNEL(INIT(1) "@!p mbarrier.arrive.shared::cta.b64 _, [f];\n" AGAIN LIFE), 32, 1, 32, 5);
    expect_finding(KERNEL(INIT(2) "@!p mbarrier.arrive.shared::cta.b64 _, [f];\n" AGAIN), 32, 1, GS_EMU_BARRIER_FINDING, "initialised again");
    expect_finding(KERNEL(INIT(1) "@!p mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [f], 16;\n" AGAIN), 32, 1, GS_EMU_BARRIER_FINDING, "initialised again");
#undef AGAIN
#undef LIFE
}

/* ---- the cluster's barrier ---- */

static void test_cluster_barrier_by_parted_lanes(void **state)
{
    (void)state;
    expect_words(KERNEL("mov.u32 a, 1;\nsetp.lt.u32 p, t, 16;\n@p bra LOW;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nbra MEET;\nLOW:\nnanosleep.u32 1;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                        "MEET:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nmov.u32 b, %cluster_ctarank;\nmad.lo.u32 t, b, 32, t;\n" STORE), 32, 2, 64, 1);
    /* the other lanes of the warp end, and those that arrived continue */
    expect_words(KERNEL("mov.u32 a, 1;\nsetp.ge.u32 p, t, 16;\n@p bra HIGH;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n" STORE "bra END;\nHIGH:\nnanosleep.u32 1;\nEND:"), 32, 1, 16, 1);
    /* a whole warp ends while the other one is waiting */
    expect_words(KERNEL("mov.u32 a, 1;\nsetp.ge.u32 p, t, 32;\n@p bra HIGH;\nbarrier.cluster.arrive;\nred.global.add.u32 [o+1024], 1;\nbarrier.cluster.wait;\n" STORE "bra END;\n"
                        "HIGH:\nld.volatile.global.u32 b, [o+1024];\nsetp.ne.u32 q, b, 32;\n@q bra HIGH;\nEND:"), 64, 1, 32, 1);
    expect_finding(KERNEL("setp.lt.u32 p, t, 16;\nbarrier.cluster.arrive.aligned;\n@p barrier.cluster.wait.aligned;\n"), 32, 1, GS_EMU_DIVERGED_FINDING, "cluster");
    expect_finding(KERNEL("setp.lt.u32 p, t, 16;\n@p barrier.cluster.arrive;\n@p barrier.cluster.arrive;\n"), 32, 1, GS_EMU_BARRIER_FINDING, "second arrival");
    /* refused lanes do not count as a second arrival */
    run r;
    start(&r, KERNEL("setp.lt.u32 p, t, 16;\nbarrier.cluster.arrive.aligned;\n@p barrier.cluster.arrive.aligned;\n"), 32, 1);
    assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
    assert_true(emu_found(&r.t, GS_EMU_DIVERGED_FINDING) == 1 && r.t.launch.findings == 1);
    emu_end(&r.t);
}

#define PREPARE "setp.ne.u32 p, t, 0;\nmov.u32 f, bar;\n@p bra READY;\nmbarrier.init.shared::cta.b64 [f], 64;\nst.shared.u32 [buf], 9;\n"
#define MEET    "READY:\nbarrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n"
#define ARRIVE  "mbarrier.arrive.shared::cta.b64 _, [f];\n"

/* A relaxed arrival releases what a preceding fence covers; the fence of an initialisation covers only the initialisation. */
static void test_relaxed_arrival(void **state)
{
    (void)state;
    expect_words(KERNEL(PREPARE "fence.mbarrier_init.release.cluster;\n" MEET ARRIVE), 64, 1, 1, 0);
    expect_words(KERNEL(PREPARE "fence.acq_rel.cluster;\n" MEET ARRIVE "ld.shared.u32 a, [buf];\n" STORE), 64, 1, 64, 9);
    expect_finding(KERNEL(PREPARE MEET ARRIVE), 64, 1, GS_EMU_BARRIER_FINDING, "no barrier stands");
    expect_finding(KERNEL(PREPARE "fence.mbarrier_init.release.cluster;\n" MEET ARRIVE "ld.shared.u32 a, [buf];\n"), 64, 1, GS_EMU_RACE_FINDING, "no barrier between");
    expect_finding(KERNEL(PREPARE MEET "fence.acq_rel.cluster;\nld.shared.u32 a, [buf];\n"), 64, 1, GS_EMU_RACE_FINDING, "no barrier between");
    /* the same with an mbarrier between two warps */
#define HAND_OVER(fence, sem) INIT(32) "setp.ge.u32 p, t, 32;\n@p bra READER;\nshl.b32 b, t, 2;\nmov.u32 c, buf;\nadd.u32 b, b, c;\nst.shared.u32 [b], 5;\n" fence  \
    "mbarrier.arrive" sem ".shared::cta.b64 _, [f];\nbra END;\nREADER:\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 q, [f], 0;\n@!q bra AGAIN;\nld.shared.u32 a, [buf+124];\nadd.u32 t, t, -32;\n" STORE "END:"
    expect_words(KERNEL(HAND_OVER("", "")), 64, 1, 32, 5);
    expect_words(KERNEL(HAND_OVER("fence.acq_rel.cta;\n", ".relaxed.cta")), 64, 1, 32, 5);
    expect_finding(KERNEL(HAND_OVER("", ".relaxed.cta")), 64, 1, GS_EMU_RACE_FINDING, "no barrier between");
}

/* ---- mbarriers ---- */

/* Drops more than one arrival at once. */
static void test_drop_of_many(void **state)
{
    (void)state;
    expect_words(KERNEL(INIT(34) "setp.ge.u32 p, t, 32;\n@p bra OTHER;\nmbarrier.arrive.shared::cta.b64 _, [f];\nONE:\nmbarrier.try_wait.parity.shared::cta.b64 q, [f], 0;\n@!q bra ONE;\n"
                        "mbarrier.arrive.shared::cta.b64 _, [f];\nTWO:\nmbarrier.try_wait.parity.shared::cta.b64 q, [f], 1;\n@!q bra TWO;\nmov.u32 a, 6;\n" STORE "bra END;\n"
                        "OTHER:\nsetp.eq.u32 q, t, 32;\n@q mbarrier.arrive_drop.shared::cta.b64 _, [f], 2;\nEND:"), 64, 1, 32, 6);
}

/* A wait may give up, so that a warp can do itself what it waits for. */
static void test_wait_gives_up(void **state)
{
    (void)state;
    expect_words(KERNEL(INIT(1) "mov.u32 a, 0;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 q, [f], 0;\n@q bra DONE;\nadd.u32 a, a, 1;\nsetp.eq.u32 r, a, 3;\n@!r bra AGAIN;\n"
                        "setp.eq.u32 r, t, 0;\n@r mbarrier.arrive.shared::cta.b64 _, [f];\nbra AGAIN;\nDONE:\nmov.u32 a, 1;\n" STORE), 32, 1, 32, 1);
    expect_finding(KERNEL(INIT(2) "AGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 q, [f], 0;\n@!q bra AGAIN;\n"), 32, 1, GS_EMU_DEADLOCK_FINDING, "2 of 2 arrivals");
}

/* A test without success does not bind the warp: the phases may advance without it. */
static void test_look_without_wait(void **state)
{
    (void)state;
    expect_words(KERNEL(INIT(1) "mov.u32 a, 2;\nsetp.lt.u32 q, t, 32;\n@q bra FIRST;\nmbarrier.test_wait.parity.shared::cta.b64 r, [f], 0;\nbar.sync 1, 64;\nbar.sync 2, 64;\n"
                        "mbarrier.test_wait.parity.shared::cta.b64 r, [f], 1;\nbra END;\n"
                        "FIRST:\nbar.sync 1, 64;\nsetp.eq.u32 r, t, 0;\n@r mbarrier.arrive.shared::cta.b64 _, [f];\n@r mbarrier.arrive.shared::cta.b64 _, [f];\nbar.sync 2, 64;\nEND:\n" STORE), 64, 1, 64, 2);
}

/* A state of the second phase: a test with it fails until that phase ends. */
static void test_state_of_a_later_phase(void **state)
{
    (void)state;
    expect_words(KERNEL(INIT(2) "@p bra END;\nmbarrier.arrive.shared::cta.b64 _, [f];\nmbarrier.arrive.shared::cta.b64 _, [f];\nmbarrier.arrive.shared::cta.b64 y, [f];\n"
                        "mbarrier.test_wait.shared::cta.b64 q, [f], y;\nmbarrier.arrive.shared::cta.b64 _, [f];\nmbarrier.test_wait.shared::cta.b64 r, [f], y;\n"
                        "selp.u32 a, 1, 2, q;\nselp.u32 b, 4, 8, r;\nadd.u32 a, a, b;\n" STORE "END:"), 32, 1, 1, 6);
}

/* A state says how many arrivals were missing before the one that returned it. */
static void test_pending_count_of_a_state(void **state)
{
    (void)state;
    expect_words(KERNEL(INIT(7) "@p bra END;\nmbarrier.arrive.shared::cta.b64 _, [f], 2;\nmbarrier.arrive.shared::cta.b64 y, [f];\nmbarrier.arrive.shared::cta.b64 _, [f];\n"
                        "mbarrier.pending_count.b64 a, y;\n" STORE "END:"), 32, 1, 1, 5);
}

/* Waiting for something that is no mbarrier is reported without the checker too. */
static void test_wait_for_nothing(void **state)
{
    (void)state;
    run r;
    start(&r, KERNEL("mov.u32 f, bar;\nmbarrier.test_wait.parity.shared::cta.b64 q, [f], 0;\n"), 32, 1);
    r.t.launch.check = false;
    assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
    assert_int_equal(r.t.launch.findings, 1);
    emu_end(&r.t);
}

/* ---- progress ---- */

/* A warp that polls with fences, or with atomics that change nothing, does not prevent copies from completing. */
static void test_copies_beside_a_poll(void **state)
{
    (void)state;
    static const char *const polls[] = {
#define POLL(poll) KERNEL("setp.eq.u32 p, t, 0;\n@p st.shared.u32 [buf+64], 0;\n" INIT(1) "setp.ge.u32 p, t, 32;\n@p bra WATCH;\nsetp.ne.u32 q, t, 0;\n@q bra END;\n"                                                      \
    "fence.proxy.async;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [f], 16;\nmov.u32 a, buf;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [o], 16, [f];\n"  \
    "AGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 q, [f], 0;\n@!q bra AGAIN;\natom.shared.exch.b32 b, [buf+64], 1;\nbra END;\nWATCH:\n" poll "setp.eq.u32 q, a, 0;\n@q bra WATCH;\nEND:")
        POLL("atom.shared.add.u32 a, [buf+64], 0;\n"), POLL("ld.volatile.shared.u32 a, [buf+64];\nfence.acq_rel.cta;\n"),
        POLL("st.shared.u32 [buf+128], t;\nld.volatile.shared.u32 a, [buf+64];\n"),
    };
    for (size_t i = 0; i < GS_COUNT(polls); i++) {
        run r;
        start(&r, polls[i], 64, 1);
        for (uint64_t seed = 1; seed <= SEEDS; seed++) next_seed(&r, seed);
        emu_end(&r.t);
    }
}

/* As many blocks as there are multiprocessors can wait for each other. */
static void test_grid_barrier(void **state)
{
    (void)state;
    run r;
    start(&r, KERNEL("atom.global.add.u32 a, [o], 1;\nWAIT:\nld.acquire.gpu.global.u32 b, [o];\nsetp.lt.u32 p, b, 132;\n@p bra WAIT;\n"), 1, 1);
    r.t.launch.grid[0] = 132;
    r.t.launch.step_limit = 20000000;
    if (emu_run(&r.t) != GS_OK) fail_msg("%s", r.t.error.text);
    assert_int_equal(r.words[0], 132);
    emu_end(&r.t);
}

/* ---- what a seed decides ---- */

/* Unwritten registers have the same garbage, whatever ran before on the same host thread; a finding is the same for any number of host threads. */
static void test_threads_change_nothing(void **state)
{
    (void)state;
    run r;
    start(&r, KERNEL("mov.u32 b, %ctaid.x;\nadd.u32 a, c, b;\nadd.u32 c, b, 77;\nmov.u32 t, b;\n" STORE), 1, 1);
    r.t.launch.grid[0] = 200;
    next_seed(&r, 1);
    for (uint32_t i = 0; i < 200; i++) assert_int_equal(r.words[i], 0x7f7f7f7f + i);
    emu_end(&r.t);
    start(&r, KERNEL("mov.u32 b, %ctaid.x;\nand.b32 c, b, 7;\nsetp.eq.u32 p, c, 3;\nmov.u32 d, buf;\n@p ld.shared.u32 a, [d];\nmov.u32 e, 100;\nLOOP:\nsub.u32 e, e, 1;\nsetp.ne.u32 q, e, b;\n@q bra LOOP;\n"
                     "setp.gt.u32 p, b, 40;\n@p trap;\n"), 32, 1);
    r.t.launch.grid[0] = 100;
    gs_error first = {0};
    for (int i = 0; i < 12; i++) {
        r.t.launch.threads = 1 + i % 4;
        assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
        if (i == 0) first = r.t.error;
        assert_string_equal(first.text, r.t.error.text);
        assert_int_equal(r.t.launch.findings, 2);
        assert_int_equal(r.t.launch.finding[0].block[0], 3);
        assert_int_equal(r.t.launch.finding[1].block[0], 41);
    }
    emu_end(&r.t);
}

/* The same for the carry, and for registers that are written on one path and read after both, written by some lanes only, or written at the end of a loop that reads them
 * first: each block sees what the first one sees. */
static void test_every_block_starts_alike(void **state)
{
    (void)state;
    static const struct { const char *ptx; uint32_t even, odd, each; } cases[] = {   /* even, odd: the value in such a block; each: added for each block number */
        {KERNEL("mov.u32 t, %ctaid.x;\nand.b32 d, t, 1;\nsetp.eq.u32 p, d, 1;\n@p bra BOTH;\nmov.u32 a, 7;\nBOTH:\n" STORE), 7, 0x7f7f7f7f, 0},
        {KERNEL("mov.u32 t, %ctaid.x;\nand.b32 d, t, 1;\nsetp.eq.u32 p, d, 0;\n@p mov.u32 a, 7;\n" STORE), 7, 0x7f7f7f7f, 0},
        {KERNEL("mov.u32 t, %ctaid.x;\nmov.u32 a, t;\nmov.u32 e, 0;\nLOOP:\nadd.u32 a, a, c;\nmov.u32 c, 5;\nadd.u32 e, e, 1;\nsetp.lt.u32 q, e, 3;\n@q bra LOOP;\n" STORE),
         0x7f7f7f7f + 10, 0x7f7f7f7f + 10, 1},
        {KERNEL("mov.u32 t, %ctaid.x;\nand.b32 d, t, 1;\nsetp.eq.u32 p, d, 1;\n@!p bra EVEN;\nsetp.eq.u32 q, d, 0;\nEVEN:\nselp.u32 a, 1, 2, q;\n" STORE), 1, 2, 0},
        {KERNEL("mov.u32 t, %ctaid.x;\nand.b32 d, t, 1;\nsetp.eq.u32 p, d, 1;\n@!p bra EVEN;\nsetp.eq.u32 q, d, 0;\nEVEN:\nmov.u32 a, 2;\n@q mov.u32 a, 1;\n" STORE), 1, 2, 0},
        {KERNEL("mov.u32 t, %ctaid.x;\naddc.u32 a, t, 0;\nadd.cc.u32 c, t, 0xfffffff0;\n" STORE), 1, 1, 1},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        run r;
        start(&r, cases[i].ptx, 1, 1);
        r.t.launch.grid[0] = 200;
        next_seed(&r, 1);
        for (uint32_t b = 0; b < 200; b++)
            if (r.words[b] != (b % 2 ? cases[i].odd : cases[i].even) + b * cases[i].each) fail_msg("case %d, block %u: %#x", (int)i, b, r.words[b]);
        emu_end(&r.t);
    }
}

static void test_required_shape(void **state)
{
    (void)state;
    static const struct { uint32_t x, y; gs_status status; } cases[] = {{32, 2, GS_OK}, {64, 1, GS_ERROR_LAUNCH}, {32, 1, GS_ERROR_LAUNCH}, {2, 32, GS_ERROR_LAUNCH}};
    run r;
    start(&r, HEAD ".visible .entry k(.param .u64 out)\n.reqntid 32, 2, 1\n{\nret;\n}\n", 32, 1);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        r.t.launch.block[0] = cases[i].x;
        r.t.launch.block[1] = cases[i].y;
        assert_int_equal(emu_run(&r.t), cases[i].status);
    }
    emu_end(&r.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_inside_a_branch), cmocka_unit_test(test_masks_of_halves), cmocka_unit_test(test_members_are_waited_for), cmocka_unit_test(test_warp_barrier_joins),
        cmocka_unit_test(test_reduction_of_subsets), cmocka_unit_test(test_mbarrier_initialised_again), cmocka_unit_test(test_cluster_barrier_by_parted_lanes), cmocka_unit_test(test_relaxed_arrival),
        cmocka_unit_test(test_drop_of_many), cmocka_unit_test(test_wait_gives_up), cmocka_unit_test(test_look_without_wait),
        cmocka_unit_test(test_state_of_a_later_phase), cmocka_unit_test(test_pending_count_of_a_state), cmocka_unit_test(test_wait_for_nothing),
        cmocka_unit_test(test_copies_beside_a_poll), cmocka_unit_test(test_grid_barrier),
        cmocka_unit_test(test_threads_change_nothing), cmocka_unit_test(test_every_block_starts_alike), cmocka_unit_test(test_required_shape),
    };
    return run_without_leaks("synchronisation of the emulated machine", tests, sizeof tests / sizeof *tests);
}
