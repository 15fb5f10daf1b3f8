/* SPDX-License-Identifier: MIT
 * Dependent launches on the emulated machine: every kind of access to global memory before griddepcontrol.wait is reported, and after it allowed; other memory is always
 * allowed; a thread's wait counts for other threads if something orders them after it; and some thread must wait. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "emu.h"

#define WAIT "griddepcontrol.wait;\n"
#define ONE  "setp.ne.u32 p, t, 0;\n@p bra DONE;\n"   /* the rest runs in thread 0 only */

/* x, y: this thread's 16 bytes of in and out; f: of shared memory; bar: an initialised mbarrier with one arrival. */
static void write_kernel(char *text, size_t size, const char *body)
{
    snprintf(text, size,
             ".version 8.4\n.target sm_90a\n.address_size 64\n"
             ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
             ".reg .pred p, q;\n.reg .b32 a, b, c, d, f, g, t;\n.reg .b64 x, y, z;\n.shared .align 16 .b8 buf[4096];\n.shared .align 8 .b8 bar[8];\n"
             "ld.param.u64 x, [in];\nld.param.u64 y, [out];\nmov.u32 t, %%tid.x;\nmul.wide.u32 z, t, 16;\nadd.s64 x, x, z;\nadd.s64 y, y, z;\n"
             "mov.u32 f, buf;\nmad.lo.u32 f, t, 16, f;\nmov.u32 g, bar;\nmov.u32 a, 1;\n"
             "setp.ne.u32 p, t, 0;\n@p bra READY;\nmbarrier.init.shared::cta.b64 [g], 1;\nfence.mbarrier_init.release.cluster;\nREADY:\nbar.sync 0;\n"
             "%s\nDONE:\nret;\n}\n", body);
}

/* Number of seeds that give an early-access finding; any other finding fails the test. */
static int early(const char *body, uint32_t threads, bool dependent, bool check, const char *words)
{
    static char text[8192];
    static const uint8_t zero[4096];
    int found = 0;
    write_kernel(text, sizeof text, body);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        emu_test t;
        if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s: %s", body, t.error.text);
        const uint64_t in = emu_buffer(&t, zero, sizeof zero), out = emu_buffer(&t, zero, sizeof zero);
        emu_param(&t, 0, &in, sizeof in);
        emu_param(&t, 1, &out, sizeof out);
        t.launch.block[0] = threads;
        t.launch.seed = seed;
        t.launch.dependent = dependent;
        t.launch.check = check;
        emu_run(&t);
        for (int i = 0; i < t.launch.findings; i++) {
            const gs_emu_finding *const finding = &t.launch.finding[i];
            if (finding->kind != GS_EMU_EARLY_ACCESS_FINDING || !strstr(finding->text, words)) fail_msg("%s: %s", body, finding->text);
            if (strncmp(finding->text, "no thread ", 10) == 0) assert_int_equal(finding->warp, -1);
        }
        found += t.launch.findings > 0;
        emu_end(&t);
    }
    if (found != 0 && found != 8) fail_msg("%s: found under %d of 8 seeds", body, found);
    return found;
}

#define BULK_IN "mbarrier.arrive.expect_tx.shared::cta.b64 _, [g], 16;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [f], [x], 16, [g];\n" \
                "AGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 q, [g], 0;\n@!q bra AGAIN;\n"
#define BULK_OUT "st.shared.v4.u32 [f], {a, a, a, a};\nfence.proxy.async.shared::cta;\ncp.async.bulk.global.shared::cta.bulk_group [y], [f], 16;\n" \
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
#define REDUCE   "st.shared.v4.u32 [f], {a, a, a, a};\nfence.proxy.async.shared::cta;\n" \
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [y], [f], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"

static void test_every_access(void **state)
{
    (void)state;
    static const struct {
        const char *access, *words;
        bool        one;         /* in one thread only */
    } cases[] = {
        {"ld.global.u32 b, [x];\n",              "ld.global.u32 of", false},
        {"ld.global.nc.u32 b, [x];\n",           "ld.global.nc.u32 of", false},
        {"ld.u32 b, [x];\n",                     "ld.u32 of", false},
        {"ld.volatile.global.u32 b, [x];\n",     "ld.volatile", false},
        {"st.global.u32 [y], a;\n",              "st.global", false},
        {"st.u32 [y], a;\n",                     "st.u32", false},
        {"red.global.add.u32 [y], a;\n",         "red.global", false},
        {"atom.global.add.u32 b, [y], a;\n",     "atom.global", false},
        {"cp.async.ca.shared.global [f], [x], 16;\ncp.async.wait_all;\n",     "cp.async", false},
        {"cp.async.ca.shared.global [f], [x], 16, 4;\ncp.async.wait_all;\n",  "cp.async", false},
        {BULK_IN,                                "cp.async.bulk.shared", true},
        {BULK_OUT,                               "cp.async.bulk.global", true},
        {REDUCE,                                 "cp.reduce", true},
        {"discard.global.L2 [y], 128;\n",        "discard", true},
    };
    char body[1024];
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const char *const one = cases[i].one ? ONE : "";
        snprintf(body, sizeof body, "%s%s" WAIT, one, cases[i].access);
        assert_int_equal(early(body, 64, true, true, cases[i].words), 8);
        assert_int_equal(early(body, 64, false, true, ""), 0);   /* an ordinary launch */
        assert_int_equal(early(body, 64, true, false, ""), 0);   /* without the checker */
        snprintf(body, sizeof body, "%s" WAIT "%s", one, cases[i].access);
        assert_int_equal(early(body, 64, true, true, ""), 0);
        snprintf(body, sizeof body, "%s%s", one, cases[i].access);
        assert_int_equal(early(body, 64, true, true, cases[i].words), 8);   /* never waits */
    }
}

static void test_what_is_free(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "ld.param.u64 z, [in];\n", "st.shared.u32 [f], a;\nld.shared.u32 b, [f];\n", "prefetch.global.L2 [x];\n",
        "griddepcontrol.launch_dependents;\n", "cp.async.bulk.prefetch.L2.global [x], 16;\n", "cp.async.ca.shared.global [f], [x], 16, 0;\ncp.async.wait_all;\n",
    };
    char body[512];
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        snprintf(body, sizeof body, "%s" WAIT "ld.global.u32 b, [x];\n", cases[i]);
        assert_int_equal(early(body, 64, true, true, ""), 0);
    }
    assert_int_equal(early("st.shared.u32 [f], a;\n", 64, true, true, "no thread of a dependent launch"), 8);
    assert_int_equal(early("st.shared.u32 [f], a;\n", 64, false, true, ""), 0);
}

/* Threads that do not wait themselves. */
static void test_the_wait_of_another_thread(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int         found;
    } cases[] = {
        {"setp.eq.u32 p, t, 0;\n@p " WAIT "bar.sync 0;\nld.global.u32 b, [x];\n", 0},
        {"setp.eq.u32 p, t, 0;\n@p " WAIT "ld.global.u32 b, [x];\n", 8},
        {"setp.lt.u32 p, t, 32;\n@p " WAIT "ld.global.u32 b, [x];\n", 8},                      /* the other warp does not wait */
        {"bar.sync 0;\nsetp.eq.u32 p, t, 0;\n@p " WAIT "ld.global.u32 b, [x];\n", 8},           /* the barrier precedes the wait */
        {"and.b32 c, t, 31;\nsetp.eq.u32 p, c, 5;\n@p " WAIT "ld.global.u32 b, [x];\n", 8},     /* one lane of each warp */
        {"and.b32 c, t, 31;\nsetp.eq.u32 p, c, 5;\n@p " WAIT "bar.warp.sync -1;\nld.global.u32 b, [x];\n", 0},
        /* the waiting lane is not in the mask */
        {"and.b32 c, t, 31;\nsetp.eq.u32 p, c, 5;\n@p " WAIT "@p bra DONE;\nbar.warp.sync 0xffffffdf;\nld.global.u32 b, [x];\n", 8},
        {"and.b32 c, t, 31;\nsetp.eq.u32 p, c, 5;\n@p " WAIT "setp.eq.u32 q, c, 9;\n@q bra DONE;\n@p ld.global.u32 b, [x];\n", 0},
        /* through an mbarrier: the first warp waits for the previous launch, the second for the first */
        {"setp.lt.u32 p, t, 32;\n@!p bra LOOP;\nsetp.ne.u32 p, t, 0;\n@p bra DONE;\n" WAIT "mbarrier.arrive.shared::cta.b64 _, [g];\nbra DONE;\n"
         "LOOP:\nmbarrier.try_wait.parity.shared::cta.b64 q, [g], 0;\n@!q bra LOOP;\nld.global.u32 b, [x];\n", 0},
        {"setp.lt.u32 p, t, 32;\n@!p bra LOOP;\nsetp.ne.u32 p, t, 0;\n@p bra DONE;\nmbarrier.arrive.shared::cta.b64 _, [g];\n" WAIT "bra DONE;\n"
         "LOOP:\nmbarrier.try_wait.parity.shared::cta.b64 q, [g], 0;\n@!q bra LOOP;\nld.global.u32 b, [x];\n", 8},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const int found = early(cases[i].body, 64, true, true, "before griddepcontrol.wait");
        if (found != cases[i].found) fail_msg("%s: %d", cases[i].body, found);
    }
}

/* Memory that the launch declares constant may be read early, if the previous launch did not write it, or if all launches had ended in between. */
static void test_constant(void **state)
{
    (void)state;
    static const uint8_t zero[4096];
    static const struct { const char *body; uint64_t from, to; const char *words; } early_copies[] = {
        {ONE BULK_IN WAIT, 0, 4096, NULL}, {ONE BULK_IN WAIT, 0, 1, NULL}, {ONE BULK_IN WAIT, 0, 0, "cp.async.bulk"}, {ONE BULK_IN WAIT, 16, 4096, "cp.async.bulk"},
        {ONE BULK_OUT WAIT, 0, 4096, "cp.async.bulk"}, {"ld.global.u32 b, [x];\n" WAIT, 0, 4096, NULL}, {"ld.global.u32 b, [x];\n" WAIT, 0, 3, "ld.global"}, {"ld.global.u32 b, [x];\n" WAIT, 4, 4096, "ld.global"},
        {"ld.volatile.global.u32 b, [x];\n" WAIT, 0, 4096, "ld.volatile"}, {"st.global.u32 [x], a;\n" WAIT, 0, 4096, "st.global"}, {"cp.async.ca.shared.global [f], [x], 4;\n" WAIT, 0, 4096, NULL},
        {"cp.async.ca.shared.global [f], [x], 4;\n" WAIT, 8, 4096, "cp.async"},
    };
    static char text[8192];
    for (size_t i = 0; i < sizeof early_copies / sizeof *early_copies; i++) {
        emu_test t;
        write_kernel(text, sizeof text, early_copies[i].body);
        if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s", t.error.text);
        const uint64_t in = emu_buffer(&t, zero, sizeof zero), out = emu_buffer(&t, zero, sizeof zero);
        emu_param(&t, 0, &in, sizeof in);
        emu_param(&t, 1, &out, sizeof out);
        t.launch.block[0] = 32;
        t.launch.dependent = t.launch.check = true;
        t.launch.constant = (gs_emu_span){in + early_copies[i].from, in + early_copies[i].to};
        emu_run(&t);
        if (t.launch.findings != (early_copies[i].words != NULL)) fail_msg("case %zu: %d findings", i, t.launch.findings);
        if (early_copies[i].words) assert_non_null(strstr(t.launch.finding[0].text, early_copies[i].words));
        emu_end(&t);
    }
    write_kernel(text, sizeof text, WAIT "st.global.u32 [y], a;\n");
    for (int i = 0; i < 4; i++) {   /* it was written; other memory was written; it was written, but everything has ended; nothing is declared constant */
        emu_test t;
        if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s", t.error.text);
        const uint64_t in = emu_buffer(&t, zero, sizeof zero), out = emu_buffer(&t, zero, sizeof zero), *const written = i == 1 ? &out : &in;
        emu_param(&t, 0, &in, sizeof in);
        emu_param(&t, 1, written, sizeof in);
        t.launch.block[0] = 32;
        t.launch.dependent = t.launch.check = true;
        emu_run(&t);
        assert_int_equal(t.launch.findings, 0);
        if (i == 2) gs_emu_memory_settle(t.launch.memory);
        emu_param(&t, 1, &out, sizeof out);
        t.launch.constant = (gs_emu_span){in, in + sizeof zero};
        t.launch.check = i != 3;
        emu_run(&t);
        assert_int_equal(t.launch.findings, i == 0);
        if (i == 0) assert_non_null(strstr(t.launch.finding[0].text, "the launch before wrote to B"));
        emu_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_access), cmocka_unit_test(test_what_is_free), cmocka_unit_test(test_the_wait_of_another_thread), cmocka_unit_test(test_constant),
    };
    return cmocka_run_group_tests_name("dependent launches", tests, NULL, NULL);
}
