/* SPDX-License-Identifier: MIT
 * Control flow of the emulated machine: divergence, exchanges between lanes, barriers, mbarriers, clusters, setmaxnreg, deadlocks, and that a seed gives the same run
 * again. Every kernel here is PTX text. */
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
/* out[thread of the block] = a */
#define STORE "mul.wide.u32 x, t, 4;\nadd.s64 x, x, o;\nst.global.u32 [x], a;\n"

enum { WORDS = 1024 };

typedef struct run {
    emu_test  t;
    uint64_t  out;
    uint32_t *words;
} run;

static void start(run *r, const char *ptx, uint32_t threads)
{
    static uint32_t zero[WORDS];
    if (emu_load(&r->t, ptx, NULL) != GS_OK) fail_msg("%s", r->t.error.text);
    r->out = emu_buffer(&r->t, zero, sizeof zero);
    r->words = emu_bytes(&r->t, r->out, sizeof zero);
    emu_param(&r->t, 0, &r->out, sizeof r->out);
    r->t.launch.block[0] = threads;
}

static void run_clean(run *r, const char *ptx, uint32_t threads)
{
    start(r, ptx, threads);
    if (emu_run(&r->t) != GS_OK) fail_msg("%s", r->t.error.text);
}

/* Runs with several seeds; each must report this kind, and may report others after it. */
static void expect(const char *ptx, uint32_t threads, uint32_t cluster, gs_emu_finding_kind kind, const char *part)
{
    run r;
    start(&r, ptx, threads);
    r.t.launch.grid[0] = r.t.launch.cluster[0] = cluster;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        r.t.launch.seed = seed;
        assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
        if (!emu_found(&r.t, kind)) fail_msg("seed %d: not %s but: %s", (int)seed, gs_emu_finding_name(kind), r.t.error.text);
        bool mentioned = false;
        for (int i = 0; i < r.t.launch.findings; i++) mentioned = mentioned || strstr(r.t.launch.finding[i].text, part);
        if (!mentioned) fail_msg("no finding says \"%s\": %s", part, r.t.launch.finding[0].text);
    }
    emu_end(&r.t);
}

/* ---- divergence ---- */

static void test_nested_divergence(void **state)
{
    (void)state;
    run r;
    /* Odd lanes loop lane/2 times, even lanes branch again; all reconverge for a shuffle of the whole warp. */
    run_clean(&r, KERNEL("and.b32 b, t, 1;\nsetp.eq.u32 p, b, 0;\nmov.u32 a, 0;\n@p bra EVEN;\n"
                         "shr.u32 c, t, 1;\nLOOP:\nadd.u32 a, a, 3;\nsetp.eq.u32 q, c, 0;\nsub.u32 c, c, 1;\n@q bra MEET;\nbra LOOP;\n"
                         "EVEN:\nand.b32 b, t, 2;\nsetp.eq.u32 q, b, 0;\n@q bra FOUR;\nadd.u32 a, a, 1000;\nbra MEET;\nFOUR:\nadd.u32 a, a, 2000;\n"
                         "MEET:\nshfl.sync.bfly.b32 b, a, 1, 31, 0xffffffff;\nadd.u32 a, a, b;\n" STORE), 32);
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t even = lane & ~1u, odd = lane | 1;
        assert_int_equal(r.words[lane], (even & 2 ? 1000 : 2000) + 3 * (odd / 2 + 1));
    }
    emu_end(&r.t);
}

static void test_spin_inside_a_warp(void **state)
{
    (void)state;
    run r;   /* lane 0 waits for what lane 1 stores after the branch: both sides must make progress */
    run_clean(&r, KERNEL("setp.ne.u32 p, t, 0;\nmov.u32 a, 7;\n@p bra OTHER;\nWAIT:\nld.volatile.global.u32 a, [o+4];\nsetp.eq.u32 q, a, 0;\n@q bra WAIT;\nbra DONE;\n"
                         "OTHER:\nst.volatile.global.u32 [o+4], a;\nDONE:\nmul.wide.u32 x, t, 4;\nadd.s64 x, x, o;\nst.global.u32 [x+512], a;\n"), 2);
    assert_int_equal(r.words[128], 7);
    emu_end(&r.t);
}

static void test_exit_of_some_lanes(void **state)
{
    (void)state;
    run r;   /* half of the lanes end inside a branch; the others still reconverge */
    run_clean(&r, KERNEL("setp.lt.u32 p, t, 16;\n@p bra LOW;\nand.b32 b, t, 1;\nsetp.eq.u32 q, b, 0;\n@q exit;\nmov.u32 a, 5;\nbra MEET;\nLOW:\nmov.u32 a, 6;\n"
                         "MEET:\nvote.sync.ballot.b32 c, 1, 0xaaaaffff;\nmov.u32 a, c;\n" STORE), 32);
    for (uint32_t lane = 0; lane < 32; lane++) assert_int_equal(r.words[lane], lane >= 16 && lane % 2 == 0 ? 0 : 0xaaaaffffu);
    emu_end(&r.t);
}

static void test_exchanges(void **state)
{
    (void)state;
    run r;
    run_clean(&r, KERNEL("mov.u32 a, t;\nshfl.sync.up.b32 b|p, a, 3, 0, -1;\nselp.u32 c, 1, 0, p;\nshfl.sync.down.b32 d|q, a, 5, 0x1807, -1;\n"
                         "selp.u32 e, 1, 0, q;\nshl.b32 c, c, 8;\nshl.b32 d, d, 16;\nshl.b32 e, e, 24;\nor.b32 a, b, c;\nor.b32 a, a, d;\nor.b32 a, a, e;\n" STORE), 32);
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t up = lane >= 3 ? lane - 3 : lane, down = lane % 8 + 5 <= 7 ? lane + 5 : lane;
        assert_int_equal(r.words[lane], up | (uint32_t)(lane >= 3) << 8 | down << 16 | (uint32_t)(lane % 8 + 5 <= 7) << 24);
    }
    emu_end(&r.t);
    run_clean(&r, KERNEL("elect.sync b|p, 0xffffffff;\nselp.u32 a, 100, 0, p;\nredux.sync.add.u32 c, t, 0xffffffff;\nadd.u32 a, a, c;\n"
                         "and.b32 d, t, 3;\nmatch.any.sync.b32 e, d, 0xffffffff;\npopc.b32 e, e;\nadd.u32 a, a, e;\nsetp.lt.u32 q, t, 3;\n"
                         "vote.sync.any.pred r, q, 0xffffffff;\nselp.u32 f, 1000, 0, r;\nadd.u32 a, a, f;\n" STORE), 32);
    for (uint32_t lane = 0; lane < 32; lane++) assert_int_equal(r.words[lane], (lane == 0 ? 100 : 0) + 496 + 8 + 1000);
    emu_end(&r.t);
}

static uint32_t reduced(const char *how, uint32_t a, uint32_t b)
{
    if (strcmp(how, "add.u32") == 0) return a + b;
    if (strcmp(how, "min.u32") == 0) return a < b ? a : b;
    if (strcmp(how, "max.u32") == 0) return a < b ? b : a;
    if (strcmp(how, "min.s32") == 0) return (int32_t)a < (int32_t)b ? a : b;
    if (strcmp(how, "max.s32") == 0) return (int32_t)a < (int32_t)b ? b : a;
    return strcmp(how, "and.b32") == 0 ? a & b : strcmp(how, "or.b32") == 0 ? a | b : a ^ b;
}

/* Reduces each half of the warp. Bit 0 is set in all of the upper half; the highest bits are mixed. */
#define REDUX(how)                                                                                                                           \
    {how, KERNEL("mul.lo.u32 b, t, 0x9e3779b1;\nshr.u32 c, t, 4;\nor.b32 b, b, c;\nsetp.lt.u32 p, t, 16;\n@p bra LOW;\n"                     \
                 "redux.sync." how " a, b, 0xffff0000;\nbra MEET;\nLOW:\nredux.sync." how " a, b, 0xffff;\nMEET:\n" STORE)}

static void test_reductions_of_a_warp(void **state)
{
    (void)state;
    static const struct { const char *how, *text; } forms[] = {REDUX("add.u32"), REDUX("min.u32"), REDUX("max.u32"), REDUX("min.s32"), REDUX("max.s32"),
                                                               REDUX("and.b32"), REDUX("or.b32"),  REDUX("xor.b32")};
    for (size_t i = 0; i < GS_COUNT(forms); i++) {
        run r;
        run_clean(&r, forms[i].text, 32);
        for (uint32_t lane = 0; lane < 32; lane++) {
            const uint32_t first = lane & 16;
            uint32_t want = first * 0x9e3779b1u | first >> 4;
            for (uint32_t other = first + 1; other < first + 16; other++) want = reduced(forms[i].how, want, other * 0x9e3779b1u | other >> 4);
            if (r.words[lane] != want) fail_msg("%s, lane %u: %#x, not %#x", forms[i].how, lane, r.words[lane], want);
        }
        emu_end(&r.t);
    }
}

/* q is true in lanes 0 to below - 1. */
#define VOTES(below)                                                                                                                         \
    KERNEL("setp.lt.u32 q, t, " below ";\nvote.sync.all.pred r, q, -1;\nselp.u32 a, 100, 0, r;\nvote.sync.any.pred r, q, -1;\n"              \
           "selp.u32 b, 10, 0, r;\nadd.u32 a, a, b;\nvote.sync.uni.pred r, q, -1;\nselp.u32 b, 1, 0, r;\nadd.u32 a, a, b;\n" STORE)

static void test_votes(void **state)
{
    (void)state;
    static const struct { const char *text; uint32_t all, any, uni; } cases[] = {{VOTES("32"), 1, 1, 1}, {VOTES("0"), 0, 0, 1}, {VOTES("31"), 0, 1, 0}, {VOTES("1"), 0, 1, 0}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        run r;
        run_clean(&r, cases[i].text, 32);
        for (uint32_t lane = 0; lane < 32; lane++) assert_int_equal(r.words[lane], 100 * cases[i].all + 10 * cases[i].any + cases[i].uni);
        emu_end(&r.t);
    }
}

/* ---- barriers of a block ---- */

#define EXCHANGE(sync)                                                                                                        \
    KERNEL("mov.u32 b, buf;\nshl.b32 c, t, 2;\nadd.u32 d, b, c;\nst.shared.u32 [d], t;\n" sync "\nxor.b32 e, c, 252;\nadd.u32 d, b, e;\n" \
           "ld.shared.u32 a, [d];\n" STORE)

static void test_barrier(void **state)
{
    (void)state;
    static const char *const forms[] = {EXCHANGE("bar.sync 0;"), EXCHANGE("barrier.sync 3;"), EXCHANGE("bar.sync 2, 64;"), EXCHANGE("barrier.cta.sync.aligned 0;"),
                                        EXCHANGE("bar.red.popc.u32 f, 1, 64, 1;"), EXCHANGE("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;")};
    for (size_t i = 0; i < GS_COUNT(forms); i++) {
        run r;
        run_clean(&r, forms[i], 64);
        for (uint32_t thread = 0; thread < 64; thread++) assert_int_equal(r.words[thread], thread ^ 63);
        emu_end(&r.t);
    }
    expect(EXCHANGE(""), 64, 1, GS_EMU_RACE_FINDING, "no barrier");
    expect(EXCHANGE("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;"), 64, 1, GS_EMU_RACE_FINDING, "no barrier");
}

static void test_barrier_misuse(void **state)
{
    (void)state;
    expect(KERNEL("bar.sync 1, 96;"), 64, 1, GS_EMU_DEADLOCK_FINDING, "64 of 96 threads");
    expect(KERNEL("setp.lt.u32 p, t, 32;\n@p bar.sync 1, 64;\n@!p bar.sync 1, 96;"), 96, 1, GS_EMU_ARRIVAL_COUNT_FINDING, "take part");
    expect(KERNEL("setp.lt.u32 p, t, 16;\n@p bar.sync 0;"), 64, 1, GS_EMU_DIVERGED_FINDING, "lanes");
    expect(KERNEL("barrier.cluster.wait.aligned;"), 32, 1, GS_EMU_BARRIER_FINDING, "without an arrival");
    expect(KERNEL("bar.sync 1, 96;"), 64, 1, GS_EMU_ARRIVAL_COUNT_FINDING, "96 threads in a block of 64");
    expect(KERNEL("bar.sync 1, 48;"), 64, 1, GS_EMU_ARRIVAL_COUNT_FINDING, "multiple of 32");
}

/* ---- mbarriers ---- */

#define INIT(count) "setp.ne.u32 p, t, 0;\nmov.u32 f, bar;\n@p bra READY;\nmbarrier.init.shared::cta.b64 [f], " #count ";\nREADY:\nbar.sync 0;\n"
#define WAIT(parity) "AGAIN" #parity ":\nmbarrier.try_wait.parity.shared::cta.b64 q, [f], " #parity ";\n@!q bra AGAIN" #parity ";\n"

static void test_mbarrier(void **state)
{
    (void)state;
    run r;   /* two phases order an exchange */
    run_clean(&r, KERNEL(INIT(64) "mov.u32 b, buf;\nshl.b32 c, t, 2;\nadd.u32 d, b, c;\nst.shared.u32 [d], t;\nmbarrier.arrive.shared::cta.b64 s, [f];\n" WAIT(0)
                         "xor.b32 e, c, 252;\nadd.u32 e, b, e;\nld.shared.u32 a, [e];\nmbarrier.arrive.shared::cta.b64 _, [f];\n" WAIT(1)
                         "add.u32 e, t, 100;\nst.shared.u32 [d], e;\n" STORE), 64);
    for (uint32_t thread = 0; thread < 64; thread++) assert_int_equal(r.words[thread], thread ^ 63);
    assert_true(r.t.launch.counters.mbarrier_waits > 0);
    emu_end(&r.t);
}

static void test_mbarrier_misuse(void **state)
{
    (void)state;
    expect(KERNEL(INIT(65) "mbarrier.arrive.shared::cta.b64 _, [f];\n" WAIT(0)), 64, 1, GS_EMU_DEADLOCK_FINDING, "phase 0: 1 of 65 arrivals");
    expect(KERNEL(INIT(63) "mbarrier.arrive.shared::cta.b64 _, [f], 32;\n"), 2, 1, GS_EMU_ARRIVAL_COUNT_FINDING, "expects 31 more");
    expect(KERNEL(INIT(1) "@!p mbarrier.arrive.expect_tx.shared::cta.b64 _, [f], 128;\n" WAIT(0)), 32, 1, GS_EMU_DEADLOCK_FINDING, "128 bytes");
    expect(KERNEL("mov.u32 f, bar;\n" WAIT(0)), 32, 1, GS_EMU_BARRIER_FINDING, "no mbarrier");
    expect(KERNEL("setp.ne.u32 p, t, 0;\nmov.u32 f, bar;\n@p bra READY;\nmbarrier.init.shared::cta.b64 [f], 64;\nREADY:\n"
                  "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\nmbarrier.arrive.shared::cta.b64 _, [f];\n"),
           64, 1, GS_EMU_BARRIER_FINDING, "no barrier stands");
    expect(KERNEL(INIT(64) "st.shared.u64 [f], 0;\nbar.sync 0;\nmbarrier.arrive.shared::cta.b64 _, [f];\n"), 32, 1, GS_EMU_BARRIER_FINDING, "overwritten");
}

/* Warp 1 tests phase 0, then the others advance two phases. */
static void test_phase_behind(void **state)
{
    (void)state;
    expect(KERNEL(INIT(1) "setp.lt.u32 q, t, 32;\n@q bra FIRST;\nLOOK:\nmbarrier.test_wait.parity.shared::cta.b64 r, [f], 0;\nbar.sync 1, 64;\nbar.sync 2, 64;\n"
                          "mbarrier.test_wait.parity.shared::cta.b64 r, [f], 0;\nbra END;\n"
                          "FIRST:\nbar.sync 1, 64;\nsetp.eq.u32 r, t, 0;\n@r mbarrier.arrive.shared::cta.b64 _, [f];\n@r mbarrier.arrive.shared::cta.b64 _, [f];\nbar.sync 2, 64;\nEND:\n"),
           64, 1, GS_EMU_PHASE_FINDING, "phase 2");
}

/* ---- clusters ---- */

#define CLUSTER(sync)                                                                                                                          \
    KERNEL("mov.u32 b, buf;\nshl.b32 c, t, 2;\nadd.u32 b, b, c;\nmov.u32 d, %cluster_ctarank;\nxor.b32 e, d, 1;\nmapa.shared::cluster.u32 f, b, e;\n" \
           "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"                                                                   \
           "mad.lo.u32 a, d, 100, t;\nst.shared::cluster.u32 [f], a;\n" sync "\nld.shared.u32 a, [b];\nmad.lo.u32 t, d, 32, t;\n" STORE)

static void test_cluster(void **state)
{
    (void)state;
    run r;
    start(&r, CLUSTER("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"), 32);
    r.t.launch.grid[0] = r.t.launch.cluster[0] = 2;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        r.t.launch.seed = seed;
        if (emu_run(&r.t) != GS_OK) fail_msg("%s", r.t.error.text);
        for (uint32_t i = 0; i < 64; i++) assert_int_equal(r.words[i], i < 32 ? 100 + i : i - 32);
    }
    assert_true(r.t.launch.counters.distributed > 0);
    emu_end(&r.t);
    expect(CLUSTER("bar.sync 0;"), 32, 2, GS_EMU_RACE_FINDING, "no barrier");
}

static void test_exit_before_a_peer_writes(void **state)
{
    (void)state;
    run r;
    start(&r, KERNEL("mov.u32 b, buf;\nmov.u32 d, %cluster_ctarank;\nsetp.eq.u32 p, d, 1;\n@p exit;\nmapa.shared::cluster.u32 f, b, 1;\nmov.u32 c, 2000;\n"
                     "DELAY:\nsub.u32 c, c, 1;\nsetp.ne.u32 q, c, 0;\nnanosleep.u32 10;\n@q bra DELAY;\nst.shared::cluster.u32 [f], d;\n"), 32);
    r.t.launch.grid[0] = r.t.launch.cluster[0] = 2;
    assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
    assert_true(emu_found(&r.t, GS_EMU_EXIT_IN_USE_FINDING) > 0);
    emu_end(&r.t);
}

/* A block may access another block's shared memory after the cluster's barrier, which may be relaxed, or after something that the other block did. Earlier clusters of the
 * launch on the same host thread do not count. */
static void test_blocks_begin(void **state)
{
    (void)state;
#define PAIR_HEAD "mov.u32 b, buf;\nmov.u32 d, %cluster_ctarank;\nsetp.eq.u32 q, d, 1;\nmapa.shared::cluster.u32 f, b, 1;\n"
#define PAIR_REACH "@q bra MEET;\nst.shared::cluster.u32 [f], d;\nMEET:\n"
#define MET "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
#define FIRST_ALONE "mov.u32 c, %clusterid.x;\nsetp.ne.u32 p, c, 0;\n@p bra REACH;\n" MET "REACH:\n"
#define TOLD(load)   /* by a flag in global memory */                                                                             \
    "mov.u32 c, %clusterid.x;\nmul.wide.u32 x, c, 4;\nadd.s64 x, x, o;\n@q bra TELL;\nAGAIN:\n" load " e, [x];\nsetp.eq.u32 p, e, 0;\n@p bra AGAIN;\n" \
    "st.shared::cluster.u32 [f], d;\nbra.uni MEET;\nTELL:\nst.release.gpu.global.u32 [x], 1;\nMEET:\n"
    static const struct { const char *text; bool found; } cases[] = {
        {KERNEL(PAIR_HEAD MET PAIR_REACH MET), false}, {KERNEL(PAIR_HEAD "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n" PAIR_REACH MET), false}, {KERNEL(PAIR_HEAD PAIR_REACH MET), true},
        {KERNEL(PAIR_HEAD "@q bra MEET;\natom.shared::cluster.add.u32 c, [f], 1;\nMEET:\n" MET), true}, {KERNEL(PAIR_HEAD "@q bra MEET;\nld.shared::cluster.u32 c, [f];\nMEET:\n" MET), true},
        {KERNEL(PAIR_HEAD FIRST_ALONE PAIR_REACH MET), true}, {KERNEL(PAIR_HEAD TOLD("ld.acquire.gpu.global.u32") MET), false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        run r;
        start(&r, cases[i].text, 32);
        r.t.launch.grid[0] = 4;
        r.t.launch.cluster[0] = 2;
        r.t.launch.threads = 1;
        emu_run(&r.t);
        if ((emu_found(&r.t, GS_EMU_NOT_BEGUN_FINDING) > 0) != cases[i].found) fail_msg("%zu: %s", i, r.t.error.text);
        emu_end(&r.t);
    }
}

/* The blocks of one cluster synchronise after a write; later clusters on the same host thread neither write nor synchronise. */
static void test_clusters_know_nothing_of_earlier_ones(void **state)
{
    (void)state;
    run r;
    start(&r, KERNEL("mov.u32 c, %clusterid.x;\nsetp.ne.u32 p, c, 0;\n@p exit;\nmov.u32 b, buf;\nmov.u32 d, %cluster_ctarank;\nsetp.eq.u32 q, d, 1;\n"
                     "mapa.shared::cluster.u32 f, b, 1;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n@q bra MEET;\nst.shared::cluster.u32 [f], d;\n"
                     "MEET:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"), 32);
    r.t.launch.grid[0] = 32;
    r.t.launch.cluster[0] = 2;
    r.t.launch.threads = 1;
    if (emu_run(&r.t) != GS_OK) fail_msg("%s", r.t.error.text);
    assert_int_equal(r.t.launch.findings_total, 0);
    emu_end(&r.t);
}

/* ---- registers, limits, traps ---- */

static void test_setmaxnreg(void **state)
{
    (void)state;
    static const char ptx[] = KERNEL("setp.lt.u32 p, t, 128;\n@p bra FIRST;\nsetmaxnreg.inc.sync.aligned.u32 152;\nbra END;\nFIRST:\nsetmaxnreg.dec.sync.aligned.u32 104;\nEND:\n");
    run r;
    start(&r, ptx, 256);
    r.t.code->registers = 128;
    if (emu_run(&r.t) != GS_OK) fail_msg("%s", r.t.error.text);
    r.t.code->registers = 112;   /* 8 registers are free, 40 are wanted */
    assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
    assert_true(emu_found(&r.t, GS_EMU_DEADLOCK_FINDING) > 0);
    assert_non_null(strstr(r.t.launch.finding[0].text, "spare"));
    r.t.code->registers = 96;    /* dec to more registers than a thread has */
    assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
    assert_true(emu_found(&r.t, GS_EMU_REGISTERS_FINDING) > 0);
    emu_end(&r.t);

    /* three of a warpgroup's four warps; a single warp */
    static const struct { const char *ptx; uint32_t threads; } alone[] = {
        {KERNEL("setp.lt.u32 p, t, 96;\n@!p bra END;\nsetmaxnreg.dec.sync.aligned.u32 104;\nEND:\n"), 128},
        {KERNEL("setp.lt.u32 p, t, 128;\n@p bra END;\nsetmaxnreg.dec.sync.aligned.u32 104;\nEND:\n"), 160},
    };
    for (size_t i = 0; i < GS_COUNT(alone); i++) {
        start(&r, alone[i].ptx, alone[i].threads);
        r.t.code->registers = 128;
        assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
        assert_true(emu_found(&r.t, GS_EMU_REGISTERS_FINDING) > 0);
        assert_non_null(strstr(r.t.launch.finding[0].text, "four warps"));
        emu_end(&r.t);
    }
}

static void test_endless(void **state)
{
    (void)state;
    run r;
    start(&r, KERNEL("FOREVER:\nbra FOREVER;"), 32);
    r.t.launch.step_limit = 100000;
    assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
    assert_true(emu_found(&r.t, GS_EMU_ENDLESS_FINDING) > 0);
    emu_end(&r.t);
    expect(KERNEL("trap;"), 32, 1, GS_EMU_TRAP_FINDING, "stopped itself");
}

/* A finding names the PTX line, the source line and the place of inlining. */
static void test_place(void **state)
{
    (void)state;
    run r;
    start(&r, HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b64 o;\n.loc 1 7 3\nld.param.u64 o, [out];\n.loc 2 43 5, function_name $L__x, inlined_at 1 9 1\n"
                   "st.global.u32 [o+8000000], 1;\nret;\n}\n.file 1 \"a/b.cu\"\n.file 2 \"c.cuh\"\n.section .debug_str\n{\n$L__x:\n.b8 1,0\n}\n", 1);
    assert_int_equal(emu_run(&r.t), GS_ERROR_FAULT);
    const gs_emu_finding *const f = &r.t.launch.finding[0];
    char text[1024];
    gs_emu_finding_format(f, text, sizeof text);
    assert_int_equal(f->kind, GS_EMU_OUT_OF_BOUNDS_FINDING);
    assert_int_equal(f->ptx_line, 10);
    assert_int_equal(f->line, 43);
    assert_int_equal(f->at_line, 9);
    assert_non_null(strstr(text, "c.cuh:43"));
    assert_non_null(strstr(text, "k, block"));
    emu_end(&r.t);
}

/* ---- launches ---- */

static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        uint32_t grid, block, cluster, smem;
        gs_status status;
    } cases[] = {
        {0, 32, 1, 0, GS_ERROR_LAUNCH}, {1, 0, 1, 0, GS_ERROR_LAUNCH}, {3, 32, 2, 0, GS_ERROR_LAUNCH}, {4, 1056, 1, 0, GS_ERROR_LAUNCH},
        {32, 32, 32, 0, GS_ERROR_LAUNCH}, {1, 32, 1, 1 << 20, GS_ERROR_LAUNCH}, {1, 33, 1, 0, GS_OK}, {8, 1024, 8, 0, GS_OK}, {100, 1, 1, 1000, GS_OK},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        run r;
        start(&r, KERNEL("mov.u32 a, t;\n" STORE), cases[i].block);
        r.t.launch.grid[0] = cases[i].grid;
        r.t.launch.cluster[0] = cases[i].cluster;
        r.t.launch.smem = cases[i].smem;
        assert_int_equal(emu_run(&r.t), cases[i].status);
        if (cases[i].grid == 3) assert_string_equal(r.t.error.text, "a grid of 3 blocks is no multiple of a cluster of 2");
        emu_end(&r.t);
    }
}

/* The same seed gives the same run, other seeds other runs. The order of two unordered stores shows it. */
static void test_seed(void **state)
{
    (void)state;
    run r;
    start(&r, KERNEL("mov.u32 a, %tid.x;\nst.volatile.global.u32 [o], a;\natom.global.add.u32 b, [o+4], 1;\nmov.u32 a, b;\nadd.u32 t, t, 2;\n" STORE), 256);
    uint32_t first[WORDS];
    int different = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        r.t.launch.seed = seed;
        memset(r.words, 0, WORDS * sizeof *r.words);
        if (emu_run(&r.t) != GS_OK) fail_msg("%s", r.t.error.text);
        memcpy(first, r.words, sizeof first);
        memset(r.words, 0, WORDS * sizeof *r.words);
        assert_int_equal(emu_run(&r.t), GS_OK);
        assert_memory_equal(first, r.words, sizeof first);
        different += r.words[2] != 0;
    }
    assert_true(different > 0);   /* warp 0 is not always the first */
    emu_end(&r.t);
}

/* More blocks than host threads, and a wait between blocks that needs all of them to run. */
static void test_many_blocks(void **state)
{
    (void)state;
    run r;
    start(&r, KERNEL("mov.u32 b, %ctaid.x;\nadd.u32 a, b, 1;\nmul.wide.u32 x, b, 4;\nadd.s64 x, x, o;\nst.global.u32 [x], a;\n"), 1);
    r.t.launch.grid[0] = 1000;
    r.t.launch.threads = 4;
    if (emu_run(&r.t) != GS_OK) fail_msg("%s", r.t.error.text);
    for (uint32_t i = 0; i < 1000; i++) assert_int_equal(r.words[i], i + 1);
    assert_int_equal(r.t.launch.counters.blocks, 1000);
    emu_end(&r.t);
    start(&r, KERNEL("atom.global.add.u32 a, [o], 1;\nWAIT:\nld.acquire.gpu.global.u32 b, [o];\nsetp.lt.u32 p, b, 40;\n@p bra WAIT;\n"), 1);
    r.t.launch.grid[0] = 40;
    if (emu_run(&r.t) != GS_OK) fail_msg("%s", r.t.error.text);
    assert_int_equal(r.words[0], 40);
    emu_end(&r.t);
}

static void test_unknown_instruction(void **state)
{
    (void)state;
    static const struct { const char *ptx, *part; } cases[] = {
        {KERNEL("frobnicate.b32 a, b;"), "frobnicate.b32"}, {KERNEL("add.q7 a, a, b;"), "add.q7"}, {KERNEL("mov.u32 a, %nosuch;"), "nosuch"},
        {KERNEL("bar.sync.foo 0;"), "foo"}, {KERNEL("mbarrier.explode.b64 [f];"), "explode"}, {KERNEL("fence.proxy.quantum;"), "proxy"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        emu_test t;
        const gs_status status = emu_load(&t, cases[i].ptx, NULL);
        assert_true(status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_PARSE);
        if (!strstr(t.error.text, cases[i].part) || !strstr(t.error.text, "line ")) fail_msg("%s", t.error.text);
        emu_end(&t);
    }
}

/* An endless loop that begins with the kernel's first instruction: its lanes must reconverge inside the loop, where a whole-warp instruction is. */
static void test_loop_at_the_first_instruction(void **state)
{
    (void)state;
    run r;
    run_clean(&r, HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .pred p, q;\n.reg .b32 a, b, c, e, t;\n"
                       "TOP:\nmov.u32 t, %tid.x;\nand.b32 b, t, 1;\nsetp.eq.u32 q, b, 0;\n@q bra EVEN;\nadd.u32 a, a, 1;\nbra.uni JOIN;\n"
                       "EVEN:\nadd.u32 a, a, 2;\nJOIN:\nmovmatrix.sync.aligned.m8n8.trans.b16 e, a;\n"
                       "add.u32 c, c, 1;\nsetp.lt.u32 p, c, 3;\n@p bra TOP;\nret;\n}\n", 32);
    emu_end(&r.t);
}

/* Lanes exchange words in shared memory: each writes its own and reads its neighbour's. */
#define SWAP_WORDS(between) "mov.u64 s, buf;\nmul.wide.u32 x, t, 4;\nadd.s64 x, x, s;\nst.shared.u32 [x], t;\n" between \
                          "xor.b32 b, t, 1;\nmul.wide.u32 x, b, 4;\nadd.s64 x, x, s;\nld.shared.u32 a, [x];\n"

static void test_lanes_that_exchange(void **state)
{
    (void)state;
    run r;
    static const char *const right[] = {
        KERNEL(SWAP_WORDS("bar.warp.sync -1;\n")), KERNEL(SWAP_WORDS("bar.sync 0;\n")), KERNEL(SWAP_WORDS("shfl.sync.idx.b32 c, t, 0, 31, -1;\n")),
        KERNEL("mov.u64 s, buf;\nmul.wide.u32 x, t, 4;\nadd.s64 x, x, s;\nst.shared.u32 [x], t;\nld.shared.u32 a, [x];\n"),   /* each lane its own word */
        KERNEL("mov.u64 s, buf;\nmov.u32 c, 7;\nst.shared.u32 [s], c;\nld.shared.u32 a, [s];\n"),                               /* all lanes the same word */
    };
    for (size_t i = 0; i < GS_COUNT(right); i++) {
        run_clean(&r, right[i], 32);
        emu_end(&r.t);
    }
    expect(KERNEL(SWAP_WORDS("")), 32, 1, GS_EMU_RACE_FINDING, "no __syncwarp between");
    expect(KERNEL("setp.eq.u32 p, t, 0;\nmov.u64 s, buf;\n@p st.shared.u32 [s], t;\nld.shared.u32 a, [s];\n"), 32, 1, GS_EMU_RACE_FINDING,
           "written by lane 0 of the same warp");
    /* A lane overwrites what another lane has read. */
#define AGAIN "add.u32 c, a, 1;\nmul.wide.u32 x, t, 4;\nadd.s64 x, x, s;\nst.shared.u32 [x], c;\n"
    run_clean(&r, KERNEL(SWAP_WORDS("bar.warp.sync -1;\n") "bar.warp.sync -1;\n" AGAIN), 32);
    emu_end(&r.t);
    expect(KERNEL(SWAP_WORDS("bar.warp.sync -1;\n") AGAIN), 32, 1, GS_EMU_RACE_FINDING, "read by lane 1 of the same warp");
}

/* Each lane copies its own word and reads its neighbour's, or its own if `other` is 0. */
#define COPY_WORDS(wait, between, other) "mul.wide.u32 y, t, 4;\nmov.u64 s, buf;\nadd.s64 x, y, s;\nadd.s64 y, y, o;\ncp.async.ca.shared.global [x], [y], 4;\ncp.async.commit_group;\n" wait between \
                                         "xor.b32 b, t, " other ";\nmul.wide.u32 x, b, 4;\nadd.s64 x, x, s;\nld.shared.u32 a, [x];\n"

static void test_lanes_that_copy(void **state)
{
    (void)state;
    run r;
    static const char *const right[] = {
        KERNEL(COPY_WORDS("cp.async.wait_group 0;\n", "bar.warp.sync -1;\n", "1")), KERNEL(COPY_WORDS("cp.async.wait_all;\n", "bar.sync 0;\n", "1")),
        KERNEL(COPY_WORDS("cp.async.wait_group 0;\n", "", "0")),
    };
    for (size_t i = 0; i < GS_COUNT(right); i++) {
        run_clean(&r, right[i], 32);
        emu_end(&r.t);
    }
    expect(KERNEL(COPY_WORDS("cp.async.wait_group 0;\n", "", "1")), 32, 1, GS_EMU_RACE_FINDING, "by lane 1 of the same warp");
    expect(KERNEL(COPY_WORDS("cp.async.wait_all;\n", "", "1")), 32, 1, GS_EMU_RACE_FINDING, "no __syncwarp between");
    /* Two groups: the first is waited for before the barrier, the second only after it. */
    expect(KERNEL(COPY_WORDS("cp.async.ca.shared.global [x+128], [y], 4;\ncp.async.commit_group;\ncp.async.wait_group 1;\n", "bar.warp.sync -1;\n", "1")
                  "cp.async.wait_group 0;\nld.shared.u32 a, [x+128];\n"), 32, 1, GS_EMU_RACE_FINDING, "no __syncwarp between");
}

/* Unwritten local memory has the same garbage in every block, also after a block that wrote there. */
static void test_local_memory_begins_unwritten(void **state)
{
    (void)state;
    static const char ptx[] = ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.local .align 4 .b8 own[16];\n.reg .b32 %a, %b, %t;\n.reg .b64 %d, %x;\n.reg .pred %p;\n"
        "ld.param.u64 %d, [out];\nmov.u32 %b, %ctaid.x;\nmov.u32 %t, %tid.x;\nmad.lo.u32 %t, %b, 64, %t;\nmul.wide.u32 %x, %t, 4;\nadd.s64 %d, %d, %x;\n"
        "ld.local.u32 %a, [own+8];\nst.global.u32 [%d], %a;\nst.local.u32 [own+8], %b;\nld.local.u32 %a, [own+8];\nsetp.ne.u32 %p, %a, %b;\n@%p st.global.u32 [%d], 0;\nret;\n}\n";
    run r;
    start(&r, ptx, 64);
    r.t.launch.grid[0] = 5;
    assert_int_equal(emu_run(&r.t), GS_OK);
    for (int i = 0; i < 5 * 64; i++) assert_int_equal(r.words[i], 0xa5a5a5a5u);
    emu_end(&r.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_divergence), cmocka_unit_test(test_spin_inside_a_warp), cmocka_unit_test(test_exit_of_some_lanes),
        cmocka_unit_test(test_exchanges), cmocka_unit_test(test_reductions_of_a_warp), cmocka_unit_test(test_votes), cmocka_unit_test(test_barrier), cmocka_unit_test(test_barrier_misuse), cmocka_unit_test(test_mbarrier),
        cmocka_unit_test(test_mbarrier_misuse), cmocka_unit_test(test_phase_behind), cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_exit_before_a_peer_writes), cmocka_unit_test(test_blocks_begin), cmocka_unit_test(test_clusters_know_nothing_of_earlier_ones), cmocka_unit_test(test_setmaxnreg), cmocka_unit_test(test_endless), cmocka_unit_test(test_place),
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_seed), cmocka_unit_test(test_many_blocks), cmocka_unit_test(test_loop_at_the_first_instruction),
        cmocka_unit_test(test_lanes_that_exchange), cmocka_unit_test(test_lanes_that_copy),
        cmocka_unit_test(test_unknown_instruction), cmocka_unit_test(test_local_memory_begins_unwritten),
    };
    return run_without_leaks("the emulated machine", tests, sizeof tests / sizeof *tests);
}
