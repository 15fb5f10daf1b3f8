/* SPDX-License-Identifier: MIT
 * st.async on the emulated machine: what arrives in the other block and when, what the checker says of kernels that are wrong, and which
 * forms there are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "emu.h"

#define SEEDS 12

/* A cluster of two. %r0: thread, %r10: its 16 bytes of the buffer, %r11: barrier, %r12: rank, %r13, %r14: the two in the other block,
 * %r20 to %r23: its data, %p0: thread 0, %rd2: where its 16 bytes go */
#define HEAD                                                                                                              \
    ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"                             \
    ".reg .b32 %r<40>; .reg .f32 %f<8>; .reg .b64 %rd<16>; .reg .b64 %l<4>; .reg .pred %p<8>;\n"                          \
    ".shared .align 16 .b8 buffer[1024];\n.shared .align 8 .b8 bar[16];\n"                                                \
    "mov.u32 %r0, %tid.x; mov.u32 %r12, %cluster_ctarank; setp.eq.u32 %p0, %r0, 0;\n"                                     \
    "mov.u32 %r10, buffer; shl.b32 %r1, %r0, 4; add.u32 %r10, %r10, %r1; mov.u32 %r11, bar;\n"                            \
    "ld.param.u64 %rd2, [out]; shl.b32 %r2, %r12, 9; add.u32 %r2, %r2, %r1; cvt.u64.u32 %rd3, %r2; add.u64 %rd2, %rd2, %rd3;\n" \
    "xor.b32 %r3, %r12, 1; mapa.shared::cluster.u32 %r13, %r10, %r3; mapa.shared::cluster.u32 %r14, %r11, %r3;\n"         \
    "mad.lo.u32 %r20, %r12, 1000, %r0; add.u32 %r21, %r20, 100; add.u32 %r22, %r20, 200; add.u32 %r23, %r20, 300;\n"
#define INIT(bytes)                                                                                                       \
    "@%p0 mbarrier.init.shared::cta.b64 [%r11], 1;\n@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], " bytes ";\n" \
    "@%p0 fence.mbarrier_init.release.cluster;\n"
#define MEET "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
#define STORE "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
#define SEND STORE ".v4.u32 [%r13], {%r20, %r21, %r22, %r23}, [%r14];\n"
#define WAIT "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r11], 0;\n@!%p1 bra W;\n"
#define READ "ld.shared.v4.u32 {%r30, %r31, %r32, %r33}, [%r10];\nst.global.v4.u32 [%rd2], {%r30, %r31, %r32, %r33};\n"
#define TAIL "ret;\n}\n"

static emu_test test;
static uint64_t out;

static void start(const char *ptx)
{
    if (emu_load(&test, ptx, NULL) != GS_OK) fail_msg("%s", test.error.text);
    out = emu_buffer(&test, NULL, 1024);
    emu_param(&test, 0, &out, sizeof out);
    test.launch.grid[0] = test.launch.cluster[0] = 2;
}

static gs_status run(uint64_t seed)
{
    test.launch.seed = seed;
    memset(&test.launch.counters, 0, sizeof test.launch.counters);
    test.launch.findings = 0;
    test.launch.findings_total = 0;
    return emu_run(&test);
}

/* What thread t of block r has in word i: what the same thread of the other block sent. */
static uint32_t sent(int r, int t, int i) { return (uint32_t)((1 - r) * 1000 + t + i * 100); }

static void arrives(const char *ptx)
{
    start(ptx);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        memset(emu_bytes(&test, out, 1024), 0xdd, 1024);
        if (run(seed) != GS_OK) fail_msg("seed %u: %s", (unsigned)seed, test.error.text);
        if (test.launch.findings) fail_msg("seed %u: %s", (unsigned)seed, test.launch.finding[0].text);
        const uint32_t *const found = emu_bytes(&test, out, 1024);
        for (int i = 0; i < 256; i++) assert_int_equal(found[i], sent(i / 128, i / 4 % 32, i % 4));
    }
    assert_int_equal(test.launch.counters.distributed, 1024);
    assert_int_equal(test.launch.counters.shared_store, 1024);
    emu_end(&test);
}

static void data_arrive(void **state)
{
    (void)state;
    arrives(HEAD INIT("512") MEET SEND WAIT READ TAIL);
    arrives(HEAD INIT("512") MEET STORE ".v2.s32 [%r13], {%r20, %r21}, [%r14];\n" STORE ".v2.b32 [%r13+8], {%r22, %r23}, [%r14];\n" WAIT READ TAIL);
    arrives(HEAD INIT("512") MEET "mov.b32 %f0, %r20; mov.b32 %f1, %r21; mov.b32 %f2, %r22; mov.b32 %f3, %r23;\n" STORE
            ".v4.f32 [%r13], {%f0, %f1, %f2, %f3}, [%r14];\n" WAIT READ TAIL);
    arrives(HEAD INIT("512") MEET "mov.b64 %l0, {%r20, %r21}; mov.b64 %l1, {%r22, %r23};\nst.async.shared::cluster.mbarrier::complete_tx::bytes"
            ".v2.b64 [%r13], {%l0, %l1}, [%r14];\n" WAIT READ TAIL);
    /* lane by lane, word by word; the bytes may come before they are expected, as long as the phase waits for the arrival */
    arrives(HEAD "@%p0 mbarrier.init.shared::cta.b64 [%r11], 1;\n@%p0 fence.mbarrier_init.release.cluster;\n" MEET
            STORE ".u32 [%r13], %r20, [%r14];\n" STORE ".u32 [%r13+4], %r21, [%r14];\n" STORE ".u32 [%r13+8], %r22, [%r14];\n"
            STORE ".u32 [%r13+12], %r23, [%r14];\n@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 512;\n" WAIT READ TAIL);
}

/* To the own block, with generic registers of 64 bits for nothing but the data. */
static void the_own_block(void **state)
{
    (void)state;
    start(HEAD INIT("512") MEET "mapa.shared::cluster.u32 %r13, %r10, %r12; mapa.shared::cluster.u32 %r14, %r11, %r12;\n" SEND WAIT READ TAIL);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(run(seed), GS_OK);
        assert_int_equal(test.launch.findings, 0);
        assert_int_equal(((uint32_t *)emu_bytes(&test, out, 1024))[128 + 4 * 5 + 2], sent(0, 5, 2));
    }
    assert_int_equal(test.launch.counters.distributed, 0);
    emu_end(&test);
}

/* Every run has the finding, or (luck) some run. */
static void finds(const char *ptx, gs_emu_finding_kind kind, const char *word, bool luck)
{
    int runs = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool said = false;
        start(ptx);
        run(seed);
        for (int i = 0; i < test.launch.findings; i++)
            said = said || (test.launch.finding[i].kind == kind && strstr(test.launch.finding[i].text, word));
        if (!said && !luck) fail_msg("seed %u: no %s \"%s\"", (unsigned)seed, gs_emu_finding_name(kind), word);
        runs += said;
        emu_end(&test);
    }
    if (runs == 0) fail_msg("never %s: \"%s\"", gs_emu_finding_name(kind), word);
}

static void wrong_stores(void **state)
{
    (void)state;
    /* nobody waits: what is read may still be on its way, and the block may end too early */
    finds(HEAD INIT("512") MEET SEND READ WAIT TAIL, GS_EMU_EARLY_READ_FINDING, "", true);
    finds(HEAD INIT("512") MEET SEND TAIL, GS_EMU_EXIT_IN_USE_FINDING, "", true);
    /* no meeting: the other block may not have begun */
    finds(HEAD INIT("512") SEND WAIT READ TAIL, GS_EMU_BARRIER_FINDING, "no mbarrier", true);
    /* bytes: fewer are expected than come, or more */
    finds(HEAD INIT("256") MEET STORE ".v2.u32 [%r13], {%r20, %r21}, [%r14];\n" STORE ".v2.u32 [%r13+8], {%r22, %r23}, [%r14];\n" WAIT READ TAIL,
          GS_EMU_BYTE_COUNT_FINDING, "too few bytes", true);
    finds(HEAD INIT("528") MEET SEND WAIT READ TAIL, GS_EMU_DEADLOCK_FINDING, "16 bytes missing", false);
    /* addresses */
    finds(HEAD INIT("512") MEET STORE ".v4.u32 [%r13], {%r20, %r21, %r22, %r23}, [%r11];\n" TAIL, GS_EMU_BARRIER_FINDING, "mbarrier of block", false);
    finds(HEAD INIT("512") MEET STORE ".v4.u32 [%r13], {%r20, %r21, %r22, %r23}, [%r14+8];\n" TAIL, GS_EMU_BARRIER_FINDING, "no mbarrier", false);
    finds(HEAD INIT("512") MEET STORE ".v4.u32 [%r13+8], {%r20, %r21, %r22, %r23}, [%r14];\n" TAIL, GS_EMU_MISALIGNED_FINDING, "multiple of 16", false);
    finds(HEAD INIT("512") MEET STORE ".v4.u32 [%r13+4096], {%r20, %r21, %r22, %r23}, [%r14];\n" TAIL, GS_EMU_OUT_OF_BOUNDS_FINDING, "", false);
    /* a store of the receiver into what is under way */
    finds(HEAD INIT("512") MEET SEND "st.shared.u32 [%r10], %r0;\n" WAIT READ TAIL, GS_EMU_OVERWRITE_FINDING, "", true);
}

static void other_forms(void **state)
{
    static const char *const forms[] = {
        "st.async.shared::cluster.u32 [%r13], %r20, [%r14];",                                                /* completes nowhere */
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u16 [%r13], %r20, [%r14];",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r13], {%l0, %l1, %l2, %l3}, [%r14];",
        "st.async.weak.shared::cta.mbarrier::complete_tx::bytes.u32 [%r13], %r20, [%r14];",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r13], %r20, [%r14];",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r13], {%r20, %r21}, [%r14];",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r13], %r20;",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r13], %r20, %r14;",
        "st.async.mmio.release.sys.global.u32 [%rd2], %r20;",
    };
    (void)state;
    for (size_t i = 0; i < GS_COUNT(forms); i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s\n%s", HEAD, forms[i], TAIL);
        const gs_status status = emu_load(&test, text, NULL);
        if (status != GS_ERROR_UNSUPPORTED) fail_msg("%s: status %d", forms[i], (int)status);
        emu_end(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_arrive), cmocka_unit_test(the_own_block), cmocka_unit_test(wrong_stores), cmocka_unit_test(other_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
