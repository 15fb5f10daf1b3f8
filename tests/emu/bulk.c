/* SPDX-License-Identifier: MIT
 * Bulk copies on the emulated machine: what arrives and when, and what the checker finds in wrong kernels. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/leaks.h"
#include "base/error.h"
#include "base/half.h"
#include "emu.h"

#define SEEDS 12

/* ---- kernels ---- */

/* %r0: thread, %r9: 0, %r10: buffer, %r11: barrier, %rd0: map, %rd1: in, %rd2: out, %p0: thread 0 */
#define HEAD                                                                                                              \
    ".version 9.0\n.target sm_90a\n.address_size 64\n"                                                                    \
    ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out)\n{\n"                              \
    ".reg .b16 %rs<4>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .pred %p<8>;\n"                                          \
    ".shared .align 1024 .b8 buffer[16384];\n.shared .align 8 .b8 bar[16];\n"                                             \
    "mov.u32 %r0, %tid.x; mov.u32 %r9, 0; mov.u32 %r10, buffer; mov.u32 %r11, bar;\n"                                     \
    "mov.b64 %rd3, map; cvta.param.u64 %rd0, %rd3; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"                  \
    "setp.eq.u32 %p0, %r0, 0;\n"
#define TAIL "ret;\n}\n"
#define INIT "@%p0 mbarrier.init.shared::cta.b64 [%r11], 1;\n@%p0 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
#define EXPECT(bytes) "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], " bytes ";\n"
#define WAIT "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r11], 0;\n@!%p1 bra W;\n"
/* Copies words between the buffer and global memory, with all 32 threads. */
#define LOOP(name, bytes, what)                                                                                           \
    "shl.b32 %r20, %r0, 2;\n" name ": setp.ge.u32 %p2, %r20, " bytes ";\n@%p2 bra " name "E;\n"                           \
    "add.u32 %r21, %r10, %r20; mov.b64 %rd20, {%r20, %r9};\n" what "add.u32 %r20, %r20, 128;\nbra " name ";\n" name "E:\n"
#define DUMP(bytes) LOOP("D", bytes, "add.u64 %rd21, %rd2, %rd20; ld.shared.u32 %r22, [%r21]; st.global.u32 [%rd21], %r22;\n")
#define FILL(bytes) LOOP("F", bytes, "add.u64 %rd21, %rd1, %rd20; ld.global.u32 %r22, [%rd21]; st.shared.u32 [%r21], %r22;\n")
#define FENCE "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
#define LOAD2 "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
#define LOAD1 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
#define LOAD1_OWN "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
#define STORE2 "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group "
#define STORE1 "cp.async.bulk.global.shared::cta.bulk_group "
#define COMMIT "@%p0 cp.async.bulk.commit_group;\n"

static emu_test test;
static uint64_t in, out;
static uint8_t  data[16384];

static gs_emu_map a_map(uint64_t address, uint8_t swizzle)
{
    return (gs_emu_map){.magic = GS_EMU_MAP_MAGIC, .address = address, .extent = {60, 40}, .stride = {128}, .box = {64, 16}, .dimensions = 2,
                        .element = 2, .type = GS_PTX_F16, .swizzle = swizzle};
}

/* in: 8192 bytes of numbers; out: 16384 unwritten bytes. The map describes `in`. */
static void start(const char *ptx)
{
    for (size_t i = 0; i < sizeof data / 2; i++) memcpy(data + 2 * i, &(uint16_t){(uint16_t)(0x1000 + i)}, 2);
    if (emu_load(&test, ptx, NULL) != GS_OK) fail_msg("%s", test.error.text);
    in = emu_buffer(&test, data, 8192);
    out = emu_buffer(&test, NULL, 16384);
    const gs_emu_map map = a_map(in, 128);
    emu_param(&test, 0, &map, sizeof map);
    emu_param(&test, 1, &in, sizeof in);
    emu_param(&test, 2, &out, sizeof out);
}

static void set_map(const gs_emu_map *map) { emu_param(&test, 0, map, sizeof *map); }

static void set_blocks(uint32_t blocks, uint32_t cluster)
{
    test.launch.grid[0] = blocks;
    test.launch.cluster[0] = cluster;
}

static gs_status run(uint64_t seed) { return emu_rerun(&test, seed); }

static const char *first_text(void) { return test.launch.findings ? test.launch.finding[0].text : ""; }

static void run_clean(uint64_t seed)
{
    if (run(seed) != GS_OK) fail_msg("seed %u: %s", (unsigned)seed, test.error.text);
    if (test.launch.findings) fail_msg("seed %u: %s: %s", (unsigned)seed, gs_emu_finding_name(test.launch.finding[0].kind), first_text());
}

static void clear_out(void) { memset(emu_bytes(&test, out, 16384), 0xdd, 16384); }

/* Runs in a cluster of two; the finding must appear with some seed. */
static void finds_in_cluster(const char *ptx, gs_emu_finding_kind kind, const char *word)
{
    int said = 0;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        start(ptx);
        set_blocks(2, 2);
        run(seed);
        for (int i = 0; i < test.launch.findings; i++)
            said += test.launch.finding[i].kind == kind && strstr(test.launch.finding[i].text, word);
        emu_end(&test);
    }
    if (!said) fail_msg("never %s: \"%s\"", gs_emu_finding_name(kind), word);
}

/* Runs with several seeds; every run must have this finding with this word. */
static void finds(const char *ptx, gs_emu_finding_kind kind, const char *word)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool said = false;
        start(ptx);
        run(seed);
        if (!emu_found(&test, kind)) fail_msg("seed %u: no %s but \"%s\"", (unsigned)seed, gs_emu_finding_name(kind), first_text());
        for (int i = 0; i < test.launch.findings; i++)
            said = said || (test.launch.finding[i].kind == kind && strstr(test.launch.finding[i].text, word));
        if (!said) fail_msg("\"%s\" does not say \"%s\"", first_text(), word);
        emu_end(&test);
    }
}

/* ---- loads ---- */

/* Expected shared memory for the box of a_map at (x, y). */
static void expect_box(uint8_t *to, const gs_emu_map *map, int32_t x, int32_t y)
{
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 64; column++) {
            const uint32_t at = (uint32_t)(row * 128 + column * 2), mask = map->swizzle ? map->swizzle - 16u : 0;
            const bool inside = x + column >= 0 && x + column < 60 && y + row >= 0 && y + row < 40;
            const uint16_t value = inside ? (uint16_t)(0x1000 + (y + row) * 64 + x + column) : map->fill_nan ? 0x7ff7 : 0;
            memcpy(to + (at ^ (at >> 3 & mask)), &value, 2);
        }
}

static const char load_box[] = HEAD INIT EXPECT("2048")
    "ld.global.u32 %r1, [%rd1+8184]; ld.global.u32 %r2, [%rd1+8188];\n"
    "@%p0 " LOAD2 "[%r10], [%rd0, {%r1, %r2}], [%r11];\n" WAIT DUMP("2048") TAIL;

static void a_box_arrives(void **state)
{
    static const int32_t at[][2] = {{0, 0}, {8, 3}, {-16, -5}, {56, 30}, {-64, 0}, {64, 50}, {0, -16}};
    static const uint8_t swizzles[] = {0, 128};
    uint8_t expected[2048];
    (void)state;
    start(load_box);
    for (size_t i = 0; i < GS_COUNT(at); i++)
        for (int s = 0; s < 4; s++) {
            gs_emu_map map = a_map(in, swizzles[s / 2]);
            map.fill_nan = s % 2;
            set_map(&map);
            memcpy(emu_bytes(&test, in + 8184, 8), at[i], 8);
            expect_box(expected, &map, at[i][0], at[i][1]);
            clear_out();
            run_clean(i * 4 + (uint64_t)s);
            assert_memory_equal(expected, emu_bytes(&test, out, 2048), 2048);
        }
    emu_end(&test);
}

static void what_a_load_counts(void **state)
{
    (void)state;
    start(load_box);
    memcpy(emu_bytes(&test, in + 8184, 8), (int32_t[]){0, 30}, 8);
    run_clean(1);
    assert_int_equal(test.launch.counters.copy_load, 10 * 128);         /* ten rows inside, each 120 bytes, which touch 128 */
    assert_true(test.launch.counters.global_load > 10 * 128);           /* plus the coordinates */
    assert_int_equal(test.launch.counters.shared_store, 2048);
    assert_int_equal(test.launch.counters.shared_passes, 32);
    assert_int_equal(test.launch.counters.issued[GS_EMU_COPY], 1);
    assert_int_equal(test.launch.counters.multicast, 0);
    emu_end(&test);
}

/* A kernel that does not wait is found; without the checker it sees wrong data with some seeds. */
static void not_waiting_is_seen(void **state)
{
    static const char kernel[] = HEAD INIT EXPECT("2048") "@%p0 " LOAD2 "[%r10], [%rd0, {%r9, %r9}], [%r11];\nbar.sync 0;\n" DUMP("2048") WAIT TAIL;
    uint8_t expected[2048];
    int wrong = 0, poisoned = 0;
    (void)state;
    finds(kernel, GS_EMU_EARLY_READ_FINDING, "under way");
    start(kernel);
    const gs_emu_map map = a_map(in, 128);
    expect_box(expected, &map, 0, 0);
    test.launch.check = false;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        clear_out();
        run_clean(seed);
        const uint16_t *const found = emu_bytes(&test, out, 2048);
        wrong += memcmp(found, expected, 2048) != 0;
        for (int i = 0; i < 1024; i++)
            if (found[i] == 0x7fff) {
                poisoned++;
                break;
            }
    }
    assert_in_range(wrong, 16, 64);
    assert_in_range(poisoned, 2, 62);
    emu_end(&test);
}

static void a_line_arrives(void **state)
{
    static const char kernel[] = HEAD INIT EXPECT("4112")
        "mov.u32 %r1, 2064;\n@%p0 " LOAD1 "[%r10], [%rd1], %r1, [%r11];\n"
        "@%p0 " LOAD1_OWN "[%r10+2064], [%rd1+2064], 2048, [bar];\n" WAIT DUMP("4112") TAIL;
    (void)state;
    start(kernel);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        clear_out();
        run_clean(seed);
        assert_memory_equal(data, emu_bytes(&test, out, 4112), 4112);
    }
    assert_int_equal(test.launch.counters.copy_load, 2080 + 2080);   /* the second line starts and ends within a sector */
    assert_int_equal(test.launch.counters.shared_passes, 66);
    emu_end(&test);
}

/* A copy of 0 bytes does nothing; the barrier need not even exist. */
static void a_line_of_no_bytes(void **state)
{
    (void)state;
    start(HEAD "@%p0 " LOAD1 "[%r10], [%rd1], %r9, [%r11];\n@%p0 " STORE1 "[%rd2], [%r10], %r9;\n" TAIL);
    run_clean(1);
    emu_end(&test);
}

/* Each block copies half of the rows to both blocks. */
static void multicast_reaches_every_block(void **state)
{
    static const char kernel[] = HEAD INIT EXPECT("4096")
        "mov.u32 %r1, %cluster_ctarank; shl.b32 %r2, %r1, 4; shl.b32 %r3, %r1, 11; add.u32 %r4, %r10, %r3; mov.u16 %rs1, 3;\n"
        "barrier.cluster.arrive; barrier.cluster.wait;\n"
        "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%r4], [%rd0, {%r9, %r2}], [%r11], %rs1;\n" WAIT
        "shl.b32 %r5, %r1, 12; mov.b64 %rd5, {%r5, %r9}; add.u64 %rd2, %rd2, %rd5;\n" DUMP("4096")
        "barrier.cluster.arrive; barrier.cluster.wait;\n" TAIL;
    uint8_t expected[4096];
    (void)state;
    start(kernel);
    const gs_emu_map map = a_map(in, 128);
    expect_box(expected, &map, 0, 0);
    expect_box(expected + 2048, &map, 0, 16);
    set_blocks(2, 2);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        clear_out();
        run_clean(seed);
        assert_memory_equal(expected, emu_bytes(&test, out, 4096), 4096);
        assert_memory_equal(expected, emu_bytes(&test, out + 4096, 4096), 4096);
    }
    assert_int_equal(test.launch.counters.copy_load, 32 * 128);
    assert_int_equal(test.launch.counters.multicast, 4096);
    emu_end(&test);
    finds(kernel, GS_EMU_OUT_OF_BOUNDS_FINDING, "multicast mask 0x3");   /* needs a cluster */
}

/* Block 0 copies its buffer to block 1. */
#define SENT HEAD INIT FILL("2048") FENCE                                                                                                            \
    "mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p3, %r1, 0; mov.u32 %r2, 1;\n"                                                                      \
    "barrier.cluster.arrive; barrier.cluster.wait;\n"                                                                                               \
    "@!%p3 bra R;\n@!%p0 bra E;\n"                                                                                                                  \
    "mapa.shared::cluster.u32 %r4, %r10, %r2; mapa.shared::cluster.u32 %r5, %r11, %r2;\n"                                                           \
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4+4096], [%r10], 2048, [%r5];\nbra E;\n"                             \
    "R:\n" EXPECT("2048") WAIT "add.u32 %r10, %r10, 4096;\n" DUMP("2048")

static void expect_sent(const char *kernel)
{
    start(kernel);
    set_blocks(2, 2);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        clear_out();
        run_clean(seed);
        assert_memory_equal(data, emu_bytes(&test, out, 2048), 2048);
    }
    assert_int_equal(test.launch.counters.distributed, 2048);
    emu_end(&test);
}

static void between_blocks(void **state)
{
    (void)state;
    expect_sent(SENT "E: barrier.cluster.arrive; barrier.cluster.wait;\n" TAIL);
}

/* Block 1 ends as soon as it has told block 0, by the mbarrier of that one, that the copy is there: block 0 has not touched it otherwise. */
static void the_receiver_ends_first(void **state)
{
    (void)state;
    expect_sent(SENT "bar.sync 0;\nmapa.shared::cluster.u32 %r5, %r11, 0;\n@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\nbra X;\n"
                "E: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r11], 0;\n@!%p1 bra E;\nX:\n" TAIL);
}

static void wrong_in_a_cluster(void **state)
{
#define PEER INIT FILL("2048") "mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p3, %r1, 0; and.pred %p4, %p0, %p3; mov.u32 %r2, 1; mov.u16 %rs1, 3;\n" \
    "mapa.shared::cluster.u32 %r4, %r10, %r2; mapa.shared::cluster.u32 %r5, %r11, %r2;\n"
#define MEET "barrier.cluster.arrive; barrier.cluster.wait;\n"
#define SEND "@%p4 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4+4096], [%r10], 2048, [%r5];\n"
    (void)state;
    finds_in_cluster(HEAD PEER MEET SEND MEET TAIL, GS_EMU_PROXY_FENCE_FINDING, "fence.proxy.async");
    finds_in_cluster(HEAD PEER FENCE MEET SEND "@%p3 bra E;\n" EXPECT("2048") WAIT "E:\n" TAIL, GS_EMU_EXIT_IN_USE_FINDING, "1 copies");
    finds_in_cluster(HEAD PEER FENCE MEET "@%p4 " LOAD1 "[%r10+4096], [%rd1], 64, [%r5];\n" MEET TAIL, GS_EMU_BARRIER_FINDING,
                     "an mbarrier of block 1");
    finds_in_cluster(HEAD PEER FENCE MEET "@%p4 " LOAD1_OWN "[%r4+4096], [%rd1], 64, [%r5];\n" MEET TAIL,
                     GS_EMU_OUT_OF_BOUNDS_FINDING, "block 1 of the cluster");
    finds_in_cluster(HEAD PEER FENCE MEET EXPECT("64") "@!%p3 bra E;\n@%p0 "
                     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%r10+4096], [%rd1], 64, [%r11], %rs1;\n" WAIT "E:\n" TAIL, GS_EMU_EXIT_IN_USE_FINDING, "which has ended");
#undef PEER
#undef MEET
#undef SEND
}

static void wrong_loads(void **state)
{
    (void)state;
    finds(HEAD INIT EXPECT("2048") "mov.u32 %r1, 4;\n@%p0 " LOAD2 "[%r10], [%rd0, {%r1, %r9}], [%r11];\n" TAIL, GS_EMU_MISALIGNED_FINDING,
          "inner coordinate 4");
    finds(HEAD INIT "@%p0 " LOAD2 "[%r10+64], [%rd0, {%r9, %r9}], [%r11];\n" TAIL, GS_EMU_MISALIGNED_FINDING, "multiple of 128");
    finds(HEAD INIT "@%p0 " LOAD2 "[%r10+15360], [%rd0, {%r9, %r9}], [%r11];\n" TAIL, GS_EMU_OUT_OF_BOUNDS_FINDING, "shared");
    finds(HEAD INIT "@%p0 " LOAD2 "[%r10], [%rd0, {%r9, %r9}], [%r11+8];\n" TAIL, GS_EMU_BARRIER_FINDING, "no mbarrier");
    finds(HEAD INIT "@%p0 " LOAD2 "[%r10], [%rd2, {%r9, %r9}], [%r11];\n" TAIL, GS_EMU_DESCRIPTOR_FINDING, "no tensor map");
    finds(HEAD INIT "@%p0 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd0, {%r9}], [%r11];\n" TAIL,
          GS_EMU_DESCRIPTOR_FINDING, "1 dimensions");
    start(HEAD INIT "@%p0 cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10+15360], [%rd0, {%r9, %r9, %r9}], [%r11];\n" TAIL);
    run(1);
    assert_true(test.launch.findings == 1 && test.launch.finding[0].kind == GS_EMU_DESCRIPTOR_FINDING);   /* no further finding about its address */
    emu_end(&test);
    finds(HEAD INIT "mov.u32 %r1, 24;\n@%p0 " LOAD1 "[%r10], [%rd1], %r1, [%r11];\n" TAIL, GS_EMU_MISALIGNED_FINDING, "24 bytes");
    finds(HEAD INIT "@%p0 " LOAD1 "[%r10], [%rd1+8], 16, [%r11];\n" TAIL, GS_EMU_MISALIGNED_FINDING, "multiple of 16");
    finds(HEAD INIT "@%p0 " LOAD1 "[%r10], [%rd1+8192], 16, [%r11];\n" TAIL, GS_EMU_OUT_OF_BOUNDS_FINDING, "");
    finds(HEAD INIT EXPECT("16") "@%p0 " LOAD1 "[%r10], [%rd2], 16, [%r11];\n" WAIT TAIL, GS_EMU_UNINITIALIZED_FINDING, "nothing wrote");
    finds(HEAD INIT EXPECT("64") "@%p0 " LOAD1 "[%r10], [%rd1], 64, [%r11];\n" TAIL, GS_EMU_EXIT_IN_USE_FINDING, "under way");
    finds(HEAD INIT EXPECT("64") "@%p0 st.shared.u32 [%r10], %r9;\n@%p0 " LOAD1 "[%r10], [%rd1], 64, [%r11];\n" WAIT TAIL,
          GS_EMU_PROXY_FENCE_FINDING, "");
    finds(HEAD INIT EXPECT("64") "@%p0 " LOAD1 "[%r10], [%rd1], 64, [%r11];\nst.shared.u32 [%r10], %r9;\n" WAIT TAIL,
          GS_EMU_OVERWRITE_FINDING, "under way");
}

static void a_map_beyond_its_memory(void **state)
{
    (void)state;
    start(load_box);
    memcpy(emu_bytes(&test, in + 8184, 8), (int32_t[]){0, 48}, 8);
    gs_emu_map map = a_map(in, 128);
    map.extent[1] = 80;              /* `in` has 64 rows */
    set_map(&map);
    run_clean(1);
    memcpy(emu_bytes(&test, in + 8184, 8), (int32_t[]){0, 50}, 8);
    assert_int_equal(run(1), GS_ERROR_FAULT);
    assert_int_equal(test.launch.finding[0].kind, GS_EMU_OUT_OF_BOUNDS_FINDING);
    assert_non_null(strstr(first_text(), "row 14 of the copy"));
    emu_end(&test);
}

/* ---- stores ---- */

#define STORE_HEAD HEAD FILL("2048") FENCE
static const char store_box[] = STORE_HEAD "@%p0 " STORE2 "[%rd0, {%r9, %r9}], [%r10];\n" COMMIT "@%p0 cp.async.bulk.wait_group.read 0;\n" TAIL;

static void a_box_is_stored(void **state)
{
    (void)state;
    start(store_box);
    gs_emu_map map = a_map(out, 128);
    map.extent[0] = 37;
    map.extent[1] = 10;
    set_map(&map);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        clear_out();
        run_clean(seed);
        const uint16_t *const found = emu_bytes(&test, out, 2048);
        for (int row = 0; row < 16; row++)
            for (int column = 0; column < 64; column++) {
                const uint32_t at = (uint32_t)(row * 128 + column * 2);
                const uint16_t value = (uint16_t)(0x1000 + (at ^ (at >> 3 & 0x70)) / 2);
                assert_int_equal(found[at / 2], row < 10 && column < 40 ? value : 0xdddd);   /* 37 columns, rounded up to 16 bytes */
            }
    }
    assert_int_equal(test.launch.counters.copy_store, 10 * 96);
    const gs_emu_allocation *const a = gs_emu_memory_find(test.memory, out, 16384);
    assert_true(gs_emu_memory_written(a, out, 80));
    assert_false(gs_emu_memory_written(a, out + 80, 16));
    emu_end(&test);
}

static void a_line_is_stored(void **state)
{
    static const char kernel[] = STORE_HEAD "@%p0 " STORE1 "[%rd2+16], [%r10], 1040;\n" COMMIT
        "@%p0 cp.async.bulk.wait_group 0;\n@!%p0 bra E;\nld.global.u32 %r1, [%rd2+16];\nst.global.u32 [%rd2], %r1;\nE:\n" TAIL;
    (void)state;
    start(kernel);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        clear_out();
        run_clean(seed);
        assert_memory_equal(data, emu_bytes(&test, out + 16, 1040), 1040);
        assert_memory_equal(data, emu_bytes(&test, out, 4), 4);         /* after the wait the thread sees its own store */
        assert_int_equal(*(uint8_t *)emu_bytes(&test, out + 16 + 1040, 1), 0xdd);
    }
    emu_end(&test);
}

/* Three groups, waiting for all but one: the first two buffers may be overwritten. */
static void groups_are_counted(void **state)
{
#define THREE                                                                                                         \
    STORE_HEAD "@%p0 " STORE1 "[%rd2], [%r10], 512;\n" COMMIT "@%p0 " STORE1 "[%rd2+512], [%r10+512], 512;\n" COMMIT  \
    "@%p0 " STORE1 "[%rd2+1024], [%r10+1024], 512;\n" COMMIT
#define LAST "@%p0 cp.async.bulk.wait_group.read 0;\n"
    static const char fine[] = THREE
        "@%p0 cp.async.bulk.wait_group.read 1;\n@%p0 st.shared.u32 [%r10], %r9;\n@%p0 st.shared.u32 [%r10+1020], %r9;\n" LAST TAIL;
    (void)state;
    start(fine);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        clear_out();
        run_clean(seed);
        assert_memory_equal(data, emu_bytes(&test, out, 1536), 1536);
    }
    emu_end(&test);
    finds(THREE "@%p0 cp.async.bulk.wait_group.read 1;\n@%p0 st.shared.u32 [%r10+1024], %r9;\n" LAST TAIL, GS_EMU_OVERWRITE_FINDING, "bulk store");
    finds(THREE "@%p0 st.shared.u32 [%r10], %r9;\n" LAST TAIL, GS_EMU_OVERWRITE_FINDING, "wait_group");
    finds(THREE "@%p0 cp.async.bulk.wait_group.read 1;\n" TAIL, GS_EMU_EXIT_STORES_FINDING, "never waited for");
    finds(THREE TAIL, GS_EMU_EXIT_STORES_FINDING, "group 3");
    finds(STORE_HEAD "@%p0 " STORE1 "[%rd2], [%r10], 512;\n@%p0 cp.async.bulk.wait_group 0;\n" TAIL, GS_EMU_EXIT_STORES_FINDING, "committed");
    /* No lane waits: one finding for the warp, at its first lane. */
    start(STORE_HEAD STORE1 "[%rd2], [%r10], 512;\n" COMMIT TAIL);
    run(1);
    const int found = emu_found(&test, GS_EMU_EXIT_STORES_FINDING);
    emu_end(&test);
    assert_int_equal(found, 1);
#undef THREE
#undef LAST
}

/* A store's data arrives even if no one waits for it. */
static void stores_outlive_their_block(void **state)
{
    (void)state;
    start(STORE_HEAD "@%p0 " STORE1 "[%rd2], [%r10], 2048;\n" COMMIT TAIL);
    test.launch.check = false;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        clear_out();
        run_clean(seed);
        assert_memory_equal(data, emu_bytes(&test, out, 2048), 2048);
    }
    emu_end(&test);
}

/* wait_group.read does not wait for the write. */
static void a_read_wait_is_no_write_wait(void **state)
{
    int early = 0;
    (void)state;
    start(STORE_HEAD "@%p0 " STORE1 "[%rd2+64], [%r10], 16;\n" COMMIT
          "@%p0 cp.async.bulk.wait_group.read 0;\n@%p0 ld.global.u32 %r1, [%rd2+64];\n@%p0 st.global.u32 [%rd2], %r1;\n" TAIL);
    test.launch.check = false;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        clear_out();
        run_clean(seed);
        early += memcmp(data, emu_bytes(&test, out, 4), 4) != 0;
    }
    assert_in_range(early, 4, 64);
    emu_end(&test);
}

/* Overwriting the source too early changes the stored data with some seeds. */
static void not_waiting_for_the_read_is_seen(void **state)
{
    int wrong = 0;
    (void)state;
    start(STORE_HEAD "@%p0 " STORE1 "[%rd2], [%r10], 2048;\n" COMMIT "add.u64 %rd1, %rd1, 2048; bar.sync 0;\n"
          LOOP("G", "2048", "add.u64 %rd21, %rd1, %rd20; ld.global.u32 %r22, [%rd21]; st.shared.u32 [%r21], %r22;\n")
          "@%p0 cp.async.bulk.wait_group 0;\n" TAIL);
    test.launch.check = false;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        clear_out();
        run_clean(seed);
        wrong += memcmp(data, emu_bytes(&test, out, 2048), 2048) != 0;
    }
    assert_in_range(wrong, 4, 64);
    emu_end(&test);
}

static void wrong_stores(void **state)
{
    (void)state;
    finds(HEAD FILL("2048") "bar.sync 0;\n@%p0 " STORE1 "[%rd2], [%r10], 64;\n" COMMIT "@%p0 cp.async.bulk.wait_group 0;\n" TAIL,
          GS_EMU_PROXY_FENCE_FINDING, "fence.proxy.async");
    finds(HEAD "@%p0 " STORE1 "[%rd2], [%r10], 64;\n" COMMIT "@%p0 cp.async.bulk.wait_group 0;\n" TAIL, GS_EMU_UNINITIALIZED_FINDING,
          "never written");
    finds(STORE_HEAD "mov.u32 %r1, -8;\n@%p0 " STORE2 "[%rd0, {%r1, %r9}], [%r10];\n" TAIL, GS_EMU_TRAP_FINDING, "coordinate -8");
    finds(STORE_HEAD "mov.u32 %r1, -1;\n@%p0 " STORE2 "[%rd0, {%r9, %r1}], [%r10];\n" TAIL, GS_EMU_TRAP_FINDING, "dimension 1");
    finds(STORE_HEAD "mov.u32 %r1, 12;\n@%p0 " STORE2 "[%rd0, {%r1, %r9}], [%r10];\n" TAIL, GS_EMU_MISALIGNED_FINDING, "byte 24");
    finds(STORE_HEAD "@%p0 " STORE1 "[%rd2+8], [%r10], 64;\n" TAIL, GS_EMU_MISALIGNED_FINDING, "16");
    finds(STORE_HEAD "@%p0 " STORE1 "[%rd2+16384], [%r10], 64;\n" TAIL, GS_EMU_OUT_OF_BOUNDS_FINDING, "");
    finds(STORE_HEAD "@%p0 " STORE1 "[%rd2], [%r10+8], 64;\n" TAIL, GS_EMU_MISALIGNED_FINDING, "16");
    finds(STORE_HEAD "@%p0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.bulk_group [%rd0, {%r9, %r9}], [%r10];\n" TAIL,
          GS_EMU_TRAP_FINDING, "reduction");
    finds(HEAD "@%p0 prefetch.tensormap [%rd2];\n" TAIL, GS_EMU_DESCRIPTOR_FINDING, "no tensor map");
    finds(HEAD "mov.u64 %rd5, 0x16a000000;\n@%p0 prefetch.tensormap [%rd5];\n" TAIL, GS_EMU_DESCRIPTOR_FINDING, "shared");
}

/* ---- reductions ---- */

/* 16 blocks add at the same time, on several host threads. */
static void blocks_add_up(void **state)
{
    static const char kernel[] = STORE_HEAD "@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r10], 2048;\n" COMMIT
        "@%p0 cp.async.bulk.wait_group 0;\n" TAIL;
    (void)state;
    start(kernel);
    set_blocks(16, 1);
    test.launch.threads = 4;
    uint32_t *const found = emu_bytes(&test, out, 2048);
    memset(found, 0, 2048);
    gs_emu_memory_mark(gs_emu_memory_find(test.memory, out, 2048), out, 2048);
    run_clean(3);
    for (uint32_t i = 0; i < 512; i++) {
        uint32_t value;
        memcpy(&value, data + 4 * i, 4);
        assert_int_equal(found[i], 16 * value);
    }
    emu_end(&test);
    finds(kernel, GS_EMU_UNINITIALIZED_FINDING, "nothing wrote");   /* the destination of a sum must be written before */
}

static void a_box_is_added(void **state)
{
    (void)state;
    start(STORE_HEAD "@%p0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%rd0, {%r9, %r9}], [%r10];\n" COMMIT
          "@%p0 cp.async.bulk.wait_group 0;\n" TAIL);
    gs_emu_map map = a_map(out, 0);
    map.extent[0] = 37;
    set_map(&map);
    uint16_t *const found = emu_bytes(&test, out, 2048), *const from = emu_bytes(&test, in, 2048);
    for (int i = 0; i < 1024; i++) {
        from[i] = gs_f32_to_f16((float)(i % 64));
        found[i] = gs_f32_to_f16(2.5f);
    }
    gs_emu_memory_mark(gs_emu_memory_find(test.memory, out, 2048), out, 2048);
    run_clean(1);
    for (int i = 0; i < 1024; i++) {
        const float expected = i % 64 < 40 ? (float)(i % 64) + 2.5f : 2.5f;
        assert_true(gs_f16_to_f32(found[i]) == expected);
    }
    emu_end(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_arrives),
        cmocka_unit_test(what_a_load_counts),
        cmocka_unit_test(not_waiting_is_seen),
        cmocka_unit_test(a_line_arrives),
        cmocka_unit_test(a_line_of_no_bytes),
        cmocka_unit_test(multicast_reaches_every_block),
        cmocka_unit_test(between_blocks), cmocka_unit_test(the_receiver_ends_first),
        cmocka_unit_test(wrong_loads),
        cmocka_unit_test(wrong_in_a_cluster),
        cmocka_unit_test(a_map_beyond_its_memory),
        cmocka_unit_test(a_box_is_stored),
        cmocka_unit_test(a_line_is_stored),
        cmocka_unit_test(groups_are_counted),
        cmocka_unit_test(stores_outlive_their_block),
        cmocka_unit_test(a_read_wait_is_no_write_wait),
        cmocka_unit_test(not_waiting_for_the_read_is_seen),
        cmocka_unit_test(wrong_stores),
        cmocka_unit_test(blocks_add_up),
        cmocka_unit_test(a_box_is_added),
    };
    return run_without_leaks("emu_bulk", tests, sizeof tests / sizeof *tests);
}
