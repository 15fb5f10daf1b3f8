/* SPDX-License-Identifier: MIT
 * Atomics compute what the PTX ISA says, also between host threads; and cp.async copies arrive, late or early, when their groups or barriers say so, and not before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/leaks.h"
#include "emu_body.h"

/* ---- atomics ---- */

typedef struct step {
    const char *operation, *type, *b, *c;   /* operands as PTX text */
    uint64_t before, after;
} step;

static const step steps[] = {
    {"add", "u32", "5", NULL, 0xfffffffe, 3},                 {"add", "s32", "-5", NULL, 3, 0xfffffffe},
    {"add", "u64", "1", NULL, UINT64_MAX, 0},                 {"add", "u64", "1", NULL, 0xffffffff, 0x100000000},
    {"inc", "u32", "7", NULL, 6, 7},                          {"inc", "u32", "7", NULL, 7, 0},
    {"inc", "u32", "7", NULL, 9, 0},                          {"dec", "u32", "7", NULL, 5, 4},
    {"dec", "u32", "7", NULL, 0, 7},                          {"dec", "u32", "7", NULL, 12, 7},
    {"min", "u32", "1", NULL, 0xffffffff, 1},                 {"min", "s32", "1", NULL, 0xffffffff, 0xffffffff},
    {"max", "u32", "1", NULL, 0xffffffff, 0xffffffff},        {"max", "s32", "1", NULL, 0xffffffff, 1},
    {"min", "u64", "1", NULL, UINT64_MAX, 1},                 {"min", "s64", "1", NULL, UINT64_MAX, UINT64_MAX},
    {"max", "u64", "1", NULL, UINT64_MAX, UINT64_MAX},        {"max", "s64", "1", NULL, UINT64_MAX, 1},
    {"and", "b32", "12", NULL, 10, 8},                        {"or", "b32", "12", NULL, 10, 14},
    {"xor", "b32", "12", NULL, 10, 6},                        {"and", "b64", "-2", NULL, UINT64_MAX, UINT64_MAX - 1},
    {"or", "b64", "0x100000000", NULL, 1, 0x100000001},       {"xor", "b64", "-1", NULL, 1, UINT64_MAX - 1},
    {"exch", "b32", "9", NULL, 4, 9},                         {"exch", "b64", "0x900000000", NULL, 4, 0x900000000},
    {"cas", "b32", "4", "9", 4, 9},                           {"cas", "b32", "5", "9", 4, 4},
    {"cas", "b64", "0x400000000", "9", 0x400000000, 9},       {"cas", "b64", "4", "9", 0x400000004, 0x400000004},
    {"cas", "b16", "4", "9", 4, 9},                           {"cas", "b16", "5", "9", 4, 4},
    {"add", "f32", "0f3FC00000", NULL, 0x3f800000, 0x40200000},   /* 1.5 + 1 */
    {"add", "f32", "0fFF800000", NULL, 0x7f800000, 0x7fffffff},   /* the infinities cancel */
    {"add", "f64", "0d3FF8000000000000", NULL, 0x3ff0000000000000, 0x4004000000000000},
    {"add.noftz", "f16", "0x3c00", NULL, 0x0001, 0x3c00},         {"add.noftz", "f16", "0x0003", NULL, 0x0001, 0x0004},
    {"add.noftz", "f16", "0x7c00", NULL, 0xfc00, 0x7fff},         {"add.noftz", "f16x2", "0x3c004000", NULL, 0x3c003c00, 0x40004200},
    {"add.noftz", "bf16", "0x3f80", NULL, 0x3f80, 0x4000},        {"add.noftz", "bf16x2", "0x3f804000", NULL, 0x3f803f80, 0x40004040},
};

static int bytes_of(const char *type) { return gs_ptx_type_bits(gs_ptx_type_of(type)) / 8; }

/* Every operation in global and shared memory, with and without the old value. */
static void atomics_compute_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(steps); i++)
        for (int form = 0; form < 4; form++) {
            const step *const s = &steps[i];
            const int bytes = bytes_of(s->type);
            const bool shared = form & 1, returns = form & 2;
            const char *const b = bytes == 2 ? "%rs3" : bytes == 8 ? "%rd6" : "%r6", *const d = bytes == 2 ? "%rs2" : bytes == 8 ? "%rd5" : "%r5";
            if (!returns && (s->c || strcmp(s->operation, "exch") == 0)) continue;
            char body[900], operands[60];
            machine m;
            snprintf(operands, sizeof operands, "%s%s%s", s->c ? b : s->b, s->c ? ", " : "", s->c ? s->c : "");
            snprintf(body, sizeof body,
                     "setp.ne.u32 %%p2, %%r1, 0;\n@%%p2 ret;\nmov.b%d %s, %s;\nld.global.b%d %s, [%%rd1];\n"
                     "st.shared.b%d [smem+8], %s;\nst.global.b%d [%%rd2+8], %s;\n%s.%s.%s.%s %s%s[%s+8], %s;\nst.global.b%d [%%rd2], %s;\n"
                     "ld.shared.b%d %s, [smem+8];\nst.global.b%d [%%rd2+16], %s;",
                     8 * bytes, b, s->c ? s->b : "0", 8 * bytes, d, 8 * bytes, d, 8 * bytes, d,
                     returns ? "atom" : "red", shared ? "shared" : "global", s->operation, s->type, returns ? d : "", returns ? ", " : "",
                     shared ? "smem" : "%rd2", operands, 8 * bytes, d, 8 * bytes, d, 8 * bytes, d);
            run_body(&m, body, &s->before, sizeof s->before);
            uint64_t old = 0, new = 0;
            memcpy(&old, m.to, (size_t)bytes);
            memcpy(&new, m.to + (shared ? 16 : 8), (size_t)bytes);
            if (old != s->before || new != s->after)
                fail_msg("%s.%s, form %d: %llx %llx", s->operation, s->type, form, (unsigned long long)old, (unsigned long long)new);
            close_machine(&m);
        }
}

static void single_sums_flush_subnormals_in_global_memory_only(void **state)
{
    (void)state;
    machine m;
    const uint32_t before = 0x80000003;   /* a negative subnormal */
    run_body(&m, "setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nld.global.f32 %f1, [%rd1];\nst.shared.f32 [smem], %f1;\nst.global.f32 [%rd2], %f1;\n"
                 "mov.f32 %f2, 0f80000005;\nred.global.add.f32 [%rd2], %f2;\nred.shared.add.f32 [smem], %f2;\n"
                 "ld.shared.f32 %f3, [smem];\nst.global.f32 [%rd2+4], %f3;", &before, sizeof before);
    assert_int_equal(u32_at(m.to, 0), 0x80000000);
    assert_int_equal(u32_at(m.to, 1), 0x80000008);
    close_machine(&m);
}

static void lanes_act_in_their_order(void **state)
{
    (void)state;
    machine m;
    const uint32_t zero[2] = {0};
    run_body(&m, EACH_LANE "st.shared.u32 [smem], 0;\nst.shared.u32 [smem+64], 0;\nbar.warp.sync -1;\nadd.u32 %r2, %r1, 1;\n"
                 "atom.global.add.u32 %r3, [%rd1], %r2;\natom.shared.add.u32 %r4, [smem], %r2;\natom.shared.exch.b32 %r5, [smem+64], %r2;\n"
                 "@%p1 atom.global.add.u32 _, [%rd1+4], 1;\nst.global.u32 [%rd4], %r3;\nst.global.u32 [%rd4+128], %r4;\n"
                 "setp.eq.u32 %p2, %r1, 0;\n@%p2 mov.u32 %r5, 0;\nst.global.u32 [%rd4+256], %r5;", zero, sizeof zero);
    for (uint32_t l = 0; l < LANES; l++) {
        assert_int_equal(u32_at(m.to, l), l * (l + 1) / 2);
        assert_int_equal(u32_at(m.to, 32 + l), l * (l + 1) / 2);
        assert_int_equal(u32_at(m.to, 64 + l), l);
    }
    assert_int_equal(u32_at(m.from, 0), 528);
    assert_int_equal(u32_at(m.from, 1), 19);
    close_machine(&m);
}

static void vectors_are_reduced_by_element(void **state)
{
    (void)state;
    machine m;
    const float before[4] = {1, 2, 3, 4};
    run_body(&m, "setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nmov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\nmov.f32 %f3, 0f00000000;\n"
                 "red.global.add.v4.f32 [%rd1], {%f1, %f2, %f3, %f1};\natom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f2, %f1};\n"
                 "st.global.v2.f32 [%rd2], {%f1, %f2};\n"
                 "mov.b32 %r2, 0x7e00bc00;\nmov.b32 %r3, 0x3c00c000;\nst.global.v2.b32 [%rd2+8], {%r2, %r2};\n"     /* NaN, -1 */
                 "red.global.v2.f16x2.min.noftz [%rd2+8], {%r3, %r3};\n"
                 "mov.b16 %rs1, 0x8000;\nmov.b16 %rs2, 0x0000;\nst.global.v2.b16 [%rd2+16], {%rs1, %rs2};\n"        /* -0, 0 */
                 "red.global.v2.bf16.max.noftz [%rd2+16], {%rs2, %rs1};", before, sizeof before);
    assert_true(f32_at(m.from, 0) == 4 && f32_at(m.from, 1) == 5 && f32_at(m.from, 2) == 3 && f32_at(m.from, 3) == 5);
    assert_true(f32_at(m.to, 0) == 2 && f32_at(m.to, 1) == 4);
    assert_int_equal(u32_at(m.to, 2), 0x3c00c000);
    assert_int_equal(u32_at(m.to, 3), 0x3c00c000);
    assert_int_equal(u32_at(m.to, 4), 0);
    close_machine(&m);
}

/* Many blocks on several host threads: no addition is lost. */
static void threads_share_global_atomics(void **state)
{
    (void)state;
    machine m;
    const uint64_t zero[4] = {0};
    open_machine(&m, "red.global.add.u32 [%rd1], 1;\nred.global.add.u64 [%rd1+8], 3;\nmov.f64 %fd1, 0d3FF0000000000000;\n"
                     "red.global.add.f64 [%rd1+16], %fd1;\n"
                     "mov.u32 %r2, %ctaid.x;\nred.global.max.u32 [%rd1+24], %r2;\nmov.b16 %rs1, 0x3c00;\nred.global.add.noftz.f16 [%rd1+30], %rs1;",
                 zero, sizeof zero);
    m.t.launch.grid[0] = 60;
    m.t.launch.threads = 4;
    run_clean(&m);
    assert_int_equal(u32_at(m.from, 0), 60 * 32);
    assert_int_equal(u64_at(m.from, 1), 3 * 60 * 32);
    assert_true(f64_at(m.from, 2) == 60 * 32);
    assert_int_equal(u32_at(m.from, 6), 59);
    assert_int_equal(m.from[30] | m.from[31] << 8, 0x6780);   /* 1920 */
    close_machine(&m);
}

static void a_spinning_warp_lets_others_run(void **state)
{
    (void)state;
    static const char *const spins[][2] = {
        {"ld.volatile.global.u32 %r2, [%rd1];", "st.release.gpu.global.u32 [%rd1], 1;"},
        {"ld.acquire.gpu.u32 %r2, [%rd1];", "st.volatile.u32 [%rd1], 1;"},
        {"atom.global.or.b32 %r2, [%rd1], 0;", "red.global.add.u32 [%rd1], 1;"},
        {"ld.acquire.cta.shared.u32 %r2, [smem];", "st.release.cta.shared.u32 [smem], 1;"},
        {"atom.shared.cta.or.b32 %r2, [smem], 0;", "st.relaxed.cta.shared.u32 [smem], 1;"},
    };
    for (size_t i = 0; i < GS_COUNT(spins); i++) {
        char body[400];
        machine m;
        const uint32_t zero = 0;
        snprintf(body, sizeof body, "st.volatile.shared.u32 [smem], 0;\nbar.sync 0;\nsetp.ge.u32 %%p2, %%r1, 32;\n@%%p2 bra other;\n"
                 "again:\n%s\nsetp.eq.u32 %%p3, %%r2, 0;\n@%%p3 bra again;\nret;\n"
                 "other:\n%s", spins[i][0], spins[i][1]);
        open_machine(&m, body, &zero, sizeof zero);
        m.t.launch.block[0] = 64;
        run_clean(&m);
        close_machine(&m);
    }
}

/* Instructions that may form a waiting loop end the warp's turn. */
static void waiting_loops_give_up_their_turn(void **state)
{
    (void)state;
    static const struct { const char *text; gs_emu_result right; } texts[] = {
        {"ld.volatile.global.u32 %r2, [%rd1];", GS_EMU_YIELD},  {"ld.acquire.cta.shared.u32 %r2, [smem];", GS_EMU_YIELD},
        {"ld.relaxed.gpu.u32 %r2, [%rd1];", GS_EMU_YIELD},      {"atom.global.add.u32 %r2, [%rd1], 1;", GS_EMU_YIELD},
        {"ld.global.u32 %r2, [%rd1];", GS_EMU_NEXT},            {"red.global.add.u32 [%rd1], 1;", GS_EMU_NEXT},
        {"atom.global.add.u32 _, [%rd1], 1;", GS_EMU_NEXT},     {"st.release.gpu.global.u32 [%rd1], 1;", GS_EMU_NEXT},
    };
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        _Alignas(64) uint8_t registers[8192], shared[SHARED];
        machine m;
        open_machine(&m, texts[i].text, NULL, 1);
        m.t.launch.shared_bytes = SHARED;
        gs_emu_cluster cluster = {.launch = &m.t.launch, .blocks = 1, .quiet_steps = 5};
        gs_emu_block block = {.cluster = &cluster, .shared = shared};
        gs_emu_warp *const warp = calloc(1, sizeof *warp);
        assert_non_null(warp);
        warp->block = cluster.block = &block;
        warp->cluster = &cluster;
        warp->code = m.t.code;
        warp->registers = registers;
        assert_true(m.t.code->register_bytes <= sizeof registers);
        memcpy(registers, m.t.code->image, m.t.code->register_bytes);
        const gs_emu_op *const op = &m.t.code->op[m.t.code->ops - 3];   /* the last one before ret and the end */
        for (int l = 0; l < LANES && op->src[0] != GS_EMU_NONE; l++) gs_emu_u64(warp, op->src[0])[l] = m.in;
        if (op->exec(warp, op, GS_EMU_FULL) != texts[i].right) fail_msg("%s", texts[i].text);
        assert_int_equal(cluster.quiet_steps, texts[i].text[0] == 'l' ? 5 : 0);   /* a store resets the count of steps without progress */
        free(warp);
        close_machine(&m);
    }
}

/* ---- cp.async ---- */

/* Each lane copies 16 bytes from %rd3 to shared memory at %r2 with the instructions `how`, then writes them to `out`. */
static void open_copy(machine *m, const char *how)
{
    char body[2000];
    snprintf(body, sizeof body, "%s%s%s",
             "shl.b32 %r2, %r1, 4;\nmul.wide.u32 %rd3, %r1, 16;\nadd.s64 %rd4, %rd3, %rd2;\nadd.s64 %rd3, %rd3, %rd1;\n", how,
             "\nld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2];\nst.global.v4.u32 [%rd4], {%r10, %r11, %r12, %r13};");
    open_machine(m, body, NULL, 1);
}

static void copies_arrive_and_fill_with_zeros(void **state)
{
    (void)state;
    static const struct { const char *copy; uint32_t bytes; bool odd_none; } copies[] = {
        {"cp.async.cg.shared.global [%r2], [%rd3], 16;", 16, false},
        {"cp.async.ca.shared::cta.global.L2::128B [%r2], [%rd3], 16;", 16, false},
        {"cp.async.cg.shared.global.L2::cache_hint.L2::256B [%r2], [%rd3], 16, %rd5;", 16, false},
        {"cp.async.cg.shared.global [%r2], [%rd3], 16, 16;", 16, false},
        {"cp.async.cg.shared.global [%r2], [%rd3], 16, 6;", 6, false},
        {"mov.b64 %rd3, 3;\ncp.async.cg.shared.global [%r2], [%rd3], 16, 0;", 0, false},   /* the source is not accessed */
        {"cp.async.cg.shared.global [%r2], [%rd3], 16, %p3;", 16, true},
        {"cp.async.cg.shared.global.L2::cache_hint [%r2], [%rd3], 16, !%p4, %rd5;", 16, true},
        {"selp.u32 %r3, 0, 9, %p3;\ncp.async.cg.shared.global [%r2], [%rd3], 16, %r3;", 9, true},
        {"cp.async.ca.shared.global [%r2], [%rd3], 8;\ncp.async.ca.shared.global [%r2+8], [%rd3+8], 4;\n"
         "cp.async.ca.shared.global [%r2+12], [%rd3+12], 4, 2;", 14, false},
        {"cvt.u64.u32 %rd6, %r2;\ncp.async.cg.shared.global [%rd6], [%rd3], 16;", 16, false},
    };
    static const char *const waits[] = {"cp.async.wait_all;", "cp.async.commit_group;\ncp.async.wait_group 0;"};
    for (size_t i = 0; i < GS_COUNT(copies); i++)
        for (unsigned seed = 0; seed < 6; seed++) {
            char how[900];
            machine m;
            snprintf(how, sizeof how, "mov.b64 %%rd5, 0;\nand.b32 %%r4, %%r1, 1;\nsetp.eq.u32 %%p3, %%r4, 1;\nsetp.eq.u32 %%p4, %%r4, 0;\n%s\n%s",
                     copies[i].copy, waits[seed & 1]);
            open_copy(&m, how);
            m.t.launch.seed = seed;
            run_clean(&m);
            for (uint32_t l = 0; l < LANES; l++) {
                const uint32_t bytes = copies[i].odd_none && l % 2 ? 0 : copies[i].bytes;
                uint8_t right[16] = {0};
                memcpy(right, m.from + 16 * l, bytes);
                if (memcmp(m.to + 16 * l, right, 16) != 0) fail_msg("%s: lane %u", copies[i].copy, l);
            }
            close_machine(&m);
        }
}

/* With some seed the copy happens late, so that a kernel that does not wait reads old bytes; the checker finds it with every seed. */
static void a_copy_is_asynchronous(void **state)
{
    (void)state;
    int late = 0, early = 0;
    for (unsigned seed = 0; seed < 40; seed++) {
        machine m;
        open_copy(&m, "st.shared.v4.u32 [%r2], {0, 0, 0, 0};\ncp.async.cg.shared.global [%r2], [%rd3], 16;\ncp.async.commit_group;\n"
                         "mov.u32 %r5, 0;\nagain:\nadd.u32 %r5, %r5, 1;\n"
                         "ld.volatile.global.u32 %r6, [%rd1];\nsetp.lt.u32 %p3, %r5, 40;\n@%p3 bra again;");
        m.t.launch.seed = seed;
        emu_run(&m.t);
        assert_true(emu_found(&m.t, GS_EMU_EARLY_READ_FINDING) + emu_found(&m.t, GS_EMU_RACE_FINDING) > 0);
        late += u32_at(m.to, 1) == 0;
        early += u32_at(m.to, 1) != 0;
        close_machine(&m);
    }
    assert_true(late > 0 && early > 0);
}

/* Twenty groups in flight: waiting for all but the newest N makes all older ones readable, and only those. */
static void groups_are_counted_per_lane(void **state)
{
    (void)state;
    for (int allowed = 0; allowed <= 20; allowed += 4)
        for (unsigned seed = 0; seed < 4; seed++)
            for (int excess = 0; excess < 2; excess++) {
                const int reads = 20 - allowed - 1 + excess;
                char body[4000] = "shl.b32 %r2, %r1, 2;\n" EACH_LANE, line[200];
                machine m;
                if (reads < 0 || reads >= 20) continue;
                for (int g = 0; g < 20; g++) {
                    snprintf(line, sizeof line, "cp.async.ca.shared.global [%%r2+%d], [%%rd3+%d], 4;\ncp.async.commit_group;\n", 128 * g, 128 * g);
                    strcat(body, line);
                }
                snprintf(line, sizeof line, "cp.async.wait_group %d;\nld.shared.u32 %%r3, [%%r2+%d];\nst.global.u32 [%%rd4], %%r3;", allowed,
                         128 * reads);
                strcat(body, line);
                open_machine(&m, body, NULL, 1);
                m.t.launch.seed = seed;
                const gs_status status = emu_run(&m.t);
                if ((status != GS_OK) != excess) fail_msg("wait_group %d, group %d: %d %s", allowed, reads + 1, status, m.t.error.text);
                if (!excess) assert_memory_equal(m.to, m.from + 128 * reads, 128);
                close_machine(&m);
            }
}

/* Diverged lanes: each waits for its own copies. */
static void parted_lanes_wait_for_their_own_copies(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 12; seed++) {
        machine m;
        open_copy(&m, "@%p1 bra low;\ncp.async.cg.shared.global [%r2], [%rd3], 16;\ncp.async.commit_group;\ncp.async.commit_group;\n"
                         "cp.async.wait_group 1;\nbra.uni both;\n"
                         "low:\ncp.async.ca.shared.global [%r2], [%rd3], 8;\ncp.async.ca.shared.global [%r2+8], [%rd3+8], 8;\ncp.async.wait_all;\n"
                         "both:");
        m.t.launch.seed = seed;
        run_clean(&m);
        assert_memory_equal(m.to, m.from, 512);
        close_machine(&m);
    }
}

/* A copy after wait_all is not covered by it. */
static void waiting_for_all_does_not_cover_what_follows(void **state)
{
    (void)state;
    machine m;
    open_copy(&m, "cp.async.cg.shared.global [%r2], [%rd3], 16;\ncp.async.wait_all;\ncp.async.cg.shared.global [%r2+1024], [%rd3], 16;\n"
                     "ld.shared.u32 %r10, [%r2+1024];");
    assert_int_equal(emu_run(&m.t), GS_ERROR_FAULT);
    close_machine(&m);
}

/* Warp 0 copies, warp 1 waits for the mbarrier that the copies' arrivals complete. */
static void copies_arrive_on_an_mbarrier(void **state)
{
    (void)state;
    static const struct { const char *arrive; int count, own; } arrivals[] = {
        {"cp.async.mbarrier.arrive.noinc.shared::cta.b64 [smem+2048];", 32, 0},
        {"cp.async.mbarrier.arrive.noinc.b64 [%rd9];", 32, 0},
        {"cp.async.mbarrier.arrive.shared.b64 [smem+2048];", 32, 1},   /* increments the pending count, so the lanes must arrive too */
    };
    for (size_t i = 0; i < GS_COUNT(arrivals); i++)
        for (unsigned seed = 0; seed < 12; seed++) {
            char how[1500];
            machine m;
            snprintf(how, sizeof how,
                     "mov.u64 %%rd9, smem;\ncvta.shared.u64 %%rd9, %%rd9;\nadd.s64 %%rd9, %%rd9, 2048;\nsetp.ne.u32 %%p3, %%r1, 0;\n"
                     "@!%%p3 mbarrier.init.shared::cta.b64 [smem+2048], %d;\nbar.sync 0;\nsetp.ge.u32 %%p2, %%r1, 32;\n@%%p2 bra reader;\n"
                     "cp.async.cg.shared.global [%%r2], [%%rd3], 16;\n%s\n%s\nret;\nreader:\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 %%p4, [smem+2048], 0;\n"
                     "@!%%p4 bra reader;\nadd.u32 %%r2, %%r2, -512;\nadd.s64 %%rd4, %%rd4, -512;",
                     arrivals[i].count, arrivals[i].arrive, arrivals[i].own ? "mbarrier.arrive.shared::cta.b64 _, [smem+2048];" : "");
            open_copy(&m, how);
            m.t.launch.block[0] = 64;
            m.t.launch.seed = seed;
            run_clean(&m);
            assert_memory_equal(m.to, m.from, 512);
            close_machine(&m);
        }
    expect_finding("cp.async.mbarrier.arrive.shared.b64 [smem];", GS_EMU_BARRIER_FINDING, "");
    expect_finding("cp.async.mbarrier.arrive.b64 [%rd1];", GS_EMU_TRAP_FINDING, "not in the block's own shared memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atomics_compute_what_they_say),
        cmocka_unit_test(single_sums_flush_subnormals_in_global_memory_only),
        cmocka_unit_test(lanes_act_in_their_order),
        cmocka_unit_test(vectors_are_reduced_by_element),
        cmocka_unit_test(threads_share_global_atomics),
        cmocka_unit_test(a_spinning_warp_lets_others_run),
        cmocka_unit_test(waiting_loops_give_up_their_turn),
        cmocka_unit_test(copies_arrive_and_fill_with_zeros),
        cmocka_unit_test(a_copy_is_asynchronous),
        cmocka_unit_test(groups_are_counted_per_lane),
        cmocka_unit_test(parted_lanes_wait_for_their_own_copies),
        cmocka_unit_test(waiting_for_all_does_not_cover_what_follows),
        cmocka_unit_test(copies_arrive_on_an_mbarrier),
    };
    return run_without_leaks("atomic", tests, sizeof tests / sizeof *tests);
}
