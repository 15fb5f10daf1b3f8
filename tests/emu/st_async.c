/* SPDX-License-Identifier: MIT
 * st.async on the emulated machine: what arrives where, on which barrier it completes, and what the checker finds in wrong kernels. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "support/leaks.h"
#include "emu.h"

#define SEEDS 16

/* %r0: thread, %r1: rank, %r2: the other block, %r10, %r11: buffer and barrier of the other block, %r12, %r13: this block's, %r20..23: four words of the thread, %rd2:
 * out. The barriers are initialised, and both blocks know it. */
#define HEAD                                                                                                                       \
    ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"                                      \
    ".reg .b32 %r<40>; .reg .b64 %rd<10>; .reg .pred %p<8>;\n"                                                                      \
    ".shared .align 1024 .b8 buffer[2048];\n.shared .align 8 .b8 bar[16];\n"                                                        \
    "mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; mov.u32 %r12, buffer; mov.u32 %r13, bar;\n"          \
    "ld.param.u64 %rd2, [out]; setp.eq.u32 %p0, %r0, 0;\n"                                                                          \
    "mapa.shared::cluster.u32 %r10, %r12, %r2; mapa.shared::cluster.u32 %r11, %r13, %r2; shl.b32 %r3, %r0, 4;\n"                    \
    "add.u32 %r10, %r10, %r3; mad.lo.u32 %r20, %r1, 1000, %r3; add.u32 %r21, %r20, 1; add.u32 %r22, %r20, 2; add.u32 %r23, %r20, 3;\n"
#define INIT "@%p0 mbarrier.init.shared::cta.b64 [%r13], 1;\n@%p0 fence.mbarrier_init.release.cluster;\n"
#define EXPECT(bytes) "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r13], " bytes ";\n"
#define MEET "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
#define SEND "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r10], {%r20, %r21, %r22, %r23}, [%r11];\n"
#define SEND_BEHIND "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r10+512], {%r20, %r21, %r22, %r23}, [%r11];\n"
#define SEND_APART "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r10], %r20, [%r11];\n"   /* 12 bytes between lanes */
#define WAIT "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r13], 0;\n@!%p1 bra W;\n"
#define DUMP                                                                                                                       \
    "add.u32 %r4, %r12, %r3; ld.shared.v4.u32 {%r30, %r31, %r32, %r33}, [%r4]; mad.lo.u32 %r5, %r1, 512, %r3; cvt.u64.u32 %rd3, %r5;\n" \
    "add.u64 %rd3, %rd3, %rd2; st.global.v4.u32 [%rd3], {%r30, %r31, %r32, %r33};\n"
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

static gs_status run(uint64_t seed) { return emu_rerun(&test, seed); }

/* The finding, with this word, must appear with some seed. */
static void finds(const char *ptx, gs_emu_finding_kind kind, const char *word)
{
    int said = 0;
    char other[200] = "nothing";
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        start(ptx);
        run(seed);
        for (int i = 0; i < test.launch.findings; i++) {
            const gs_emu_finding *const f = &test.launch.finding[i];
            said += f->kind == kind && strstr(f->text, word);
            if (f->kind != kind) snprintf(other, sizeof other, "%.180s", f->text);
        }
        emu_end(&test);
    }
    if (!said) fail_msg("never %s: \"%s\", but \"%s\"", gs_emu_finding_name(kind), word, other);
}

/* After its barrier each block has the other's words, and may end. */
static void arrives(void **state)
{
    (void)state;
    start(HEAD INIT EXPECT("512") MEET SEND WAIT DUMP TAIL);
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        if (run(seed) != GS_OK) fail_msg("seed %u: %s", (unsigned)seed, test.error.text);
        if (test.launch.findings) fail_msg("seed %u: %s", (unsigned)seed, test.launch.finding[0].text);
        const uint32_t *const words = emu_bytes(&test, out, 1024);
        for (uint32_t block = 0; block < 2; block++)
            for (uint32_t i = 0; i < 128; i++) assert_int_equal(words[block * 128 + i], (1 - block) * 1000 + i / 4 * 16 + i % 4);
    }
    assert_int_equal(test.launch.counters.distributed, 1024);
    emu_end(&test);
}

/* One element, and 64-bit ones; to this block itself; with a predicate; with an offset. */
static void forms(void **state)
{
    static const struct {
        const char *send, *bytes;
    } form[] = {
        {"st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%r10], %r20, [%r11];\n", "128"},
        {"st.async.weak.mbarrier::complete_tx::bytes.v2.b32 [%r10+8], {%r20, %r21}, [%r11];\n", "256"},
        {"mov.b64 %rd4, {%r20, %r21};\nst.async.shared::cluster.mbarrier::complete_tx::bytes.v2.s64 [%r10], {%rd4, %rd4}, [%r11];\n", "512"},
        {"@%p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r10], %rd2, [%r11];\n", "8"},
    };
    char text[4096];
    (void)state;
    for (size_t i = 0; i < sizeof form / sizeof form[0]; i++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            snprintf(text, sizeof text, "%s%s%s%s%s", HEAD INIT "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r13], ", form[i].bytes,
                     ";\n" MEET, form[i].send, WAIT TAIL);
            start(text);
            if (run(seed) != GS_OK) fail_msg("%s: %s", form[i].send, test.error.text);
            if (test.launch.findings) fail_msg("%s: %s", form[i].send, test.launch.finding[0].text);
            emu_end(&test);
        }
}

static void wrong(void **state)
{
    (void)state;
    finds(HEAD INIT EXPECT("512") MEET SEND DUMP WAIT TAIL, GS_EMU_EARLY_READ_FINDING, "read of");
    finds(HEAD INIT EXPECT("500") MEET SEND WAIT DUMP TAIL, GS_EMU_DEADLOCK_FINDING, "bytes");
    finds(HEAD INIT EXPECT("512") MEET SEND SEND_BEHIND WAIT DUMP TAIL, GS_EMU_BYTE_COUNT_FINDING, "under way");
    finds(HEAD INIT EXPECT("512") MEET SEND TAIL, GS_EMU_EXIT_IN_USE_FINDING, "under way");
    finds(HEAD INIT EXPECT("512") SEND WAIT DUMP TAIL, GS_EMU_BARRIER_FINDING, "barrier");
    finds(HEAD INIT EXPECT("512") MEET SEND SEND WAIT DUMP TAIL, GS_EMU_OVERWRITE_FINDING, "copy of 512 bytes");   /* adjacent lanes count as one range */
    finds(HEAD INIT EXPECT("512") MEET SEND_APART SEND_APART WAIT DUMP TAIL, GS_EMU_OVERWRITE_FINDING, "copy of 4 bytes");
    finds(HEAD INIT EXPECT("512") MEET "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r10], {%r20, %r21, %r22, %r23}, [%r13];\n"
          WAIT DUMP TAIL, GS_EMU_BARRIER_FINDING, "completes on an mbarrier of block");
    finds(HEAD INIT EXPECT("512") MEET "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r10+8], {%r20, %r21, %r22, %r23}, [%r11];\n"
          WAIT DUMP TAIL, GS_EMU_MISALIGNED_FINDING, "multiple of 16");
    finds(HEAD INIT EXPECT("512") MEET "st.shared.u32 [%r12], %r0;\n" SEND WAIT DUMP TAIL, GS_EMU_RACE_FINDING, "");
}

/* Nothing is sent, and only the first lane is reported. */
static void barrier_outside_of_shared_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        start(HEAD INIT MEET "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r10], %r20, [%r11+65536];\n" TAIL);
        assert_int_not_equal(run(seed), GS_OK);
        assert_int_equal(test.launch.findings, 1);
        assert_int_equal(test.launch.finding[0].kind, GS_EMU_OUT_OF_BOUNDS_FINDING);
        assert_int_equal(test.launch.finding[0].times, 1);
        if (!strstr(test.launch.finding[0].text, "8 bytes at shared address")) fail_msg("%s", test.launch.finding[0].text);
        emu_end(&test);
    }
}

static void refuses(void **state)
{
    static const char *const line[] = {
        "st.async.release.global.u32 [%rd2], %r20;\n",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r10], {%rd2, %rd2, %rd2, %rd2}, [%r11];\n",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [%r10], %r20, [%r11];\n",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r10], %r20, [%r11];\n",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r10], %r20;\n",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r10], %r20, [%r11], %rd2;\n",
        "st.async.shared::cluster.b32 [%r10], %r20, [%r11];\n",
    };
    char text[4096];
    (void)state;
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        snprintf(text, sizeof text, "%s%s%s", HEAD, line[i], TAIL);
        assert_int_equal(emu_load(&test, text, NULL), GS_ERROR_UNSUPPORTED);
        emu_end(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrives),
        cmocka_unit_test(forms),
        cmocka_unit_test(wrong),
        cmocka_unit_test(barrier_outside_of_shared_memory),
        cmocka_unit_test(refuses),
    };
    return run_without_leaks("st async", tests, sizeof tests / sizeof *tests);
}
