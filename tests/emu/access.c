/* SPDX-License-Identifier: MIT
 * Loads, stores and address instructions do what the PTX ISA says in every state space; accesses that are out of bounds, misaligned or too early are found; and the
 * traffic that the time model uses is counted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/leaks.h"
#include "emu_body.h"

/* ---- loads and stores ---- */

static const struct width { const char *type; int bytes; bool is_signed; } widths[] = {
    {"u8", 1, false}, {"s8", 1, true}, {"b8", 1, false}, {"u16", 2, false}, {"s16", 2, true}, {"b16", 2, false},
    {"u32", 4, false}, {"s32", 4, true}, {"b32", 4, false}, {"u64", 8, false}, {"s64", 8, true}, {"b64", 8, false},
};
static const char *const registers[] = {[2] = "%rs2", [4] = "%r2", [8] = "%rd5"};

static uint64_t extended(const uint8_t *at, const struct width *w)
{
    uint64_t value = 0;
    memcpy(&value, at, (size_t)w->bytes);
    if (w->is_signed && w->bytes < 8 && value >> (8 * w->bytes - 1)) value |= UINT64_MAX << 8 * w->bytes;
    return value;
}

/* Loads of each type into registers of each width, contiguous or scattered over lanes, in all or some lanes. */
static void loads_extend_into_wider_registers(void **state)
{
    (void)state;
    uint8_t data[BYTES];
    for (int i = 0; i < BYTES; i++) data[i] = (uint8_t)(i * 37 + 11);
    for (size_t t = 0; t < GS_COUNT(widths); t++)
        for (int wide = GS_MAX(widths[t].bytes, 2); wide <= 8; wide *= 2)
            for (int form = 0; form < 4; form++) {
                const int stride = form & 1 ? 24 : widths[t].bytes, lanes = form & 2 ? 19 : LANES;
                char body[500];
                machine m;
                snprintf(body, sizeof body,
                         "mul.wide.u32 %%rd3, %%r1, %d;\nadd.s64 %%rd3, %%rd3, %%rd1;\nmul.wide.u32 %%rd4, %%r1, 8;\nadd.s64 %%rd4, %%rd4, %%rd2;\n"
                         "mov.b64 %%rd5, 0x7777777777777777;\nmov.b32 %%r2, 0x77777777;\nmov.b16 %%rs2, 0x7777;\n"
                         "%s ld.global.%s %s, [%%rd3+8];\nst.global.b%d [%%rd4], %s;",
                         stride, form & 2 ? "@%p1" : "", widths[t].type, registers[wide], 8 * wide, registers[wide]);
                run_body(&m, body, data, sizeof data);
                for (int l = 0; l < LANES; l++) {
                    const uint64_t right = l < lanes ? extended(data + 8 + stride * l, &widths[t]) : 0x7777777777777777;
                    uint64_t got = 0;
                    memcpy(&got, m.to + 8 * l, (size_t)wide);
                    if (got != (wide < 8 ? right & ((1ull << 8 * wide) - 1) : right))
                        fail_msg("ld.%s into %d bytes, lane %d: %llx", widths[t].type, wide, l, (unsigned long long)got);
                }
                close_machine(&m);
            }
}

static void stores_take_the_low_bits(void **state)
{
    (void)state;
    for (size_t t = 0; t < GS_COUNT(widths); t++)
        for (int wide = GS_MAX(widths[t].bytes, 2); wide <= 8; wide *= 2)
            for (int form = 0; form < 4; form++) {
                const int stride = form & 1 ? 24 : widths[t].bytes, lanes = form & 2 ? 19 : LANES;
                uint8_t right[BYTES];
                char body[500];
                machine m;
                snprintf(body, sizeof body,
                         "mul.wide.u32 %%rd3, %%r1, %d;\nadd.s64 %%rd3, %%rd3, %%rd2;\nmul.wide.u32 %%rd4, %%r1, 8;\nadd.s64 %%rd4, %%rd4, %%rd1;\n"
                         "ld.global.b%d %s, [%%rd4];\n%s st.global.%s [%%rd3+16], %s;",
                         stride, 8 * wide, registers[wide], form & 2 ? "@%p1" : "", widths[t].type, registers[wide]);
                run_body(&m, body, NULL, 1);
                memset(right, 0xee, sizeof right);
                for (int l = 0; l < lanes; l++) memcpy(right + 16 + stride * l, m.from + 8 * l, (size_t)widths[t].bytes);
                assert_memory_equal(m.to, right, BYTES);
                close_machine(&m);
            }
}

static void vectors_move_whole(void **state)
{
    (void)state;
    static const struct { const char *form, *list; int bytes; } vectors[] = {
        {"v2.u8", "{%rs1, %rs2}", 2},      {"v4.u8", "{%r2, %r3, %r4, %r5}", 4},      {"v2.u16", "{%rs1, %rs2}", 4},
        {"v4.b16", "{%rs1, %rs2, %rs3, %rs4}", 8}, {"v2.u32", "{%r2, %r3}", 8},      {"v4.u32", "{%r2, %r3, %r4, %r5}", 16},
        {"v2.f32", "{%f1, %f2}", 8},       {"v4.f32", "{%f1, %f2, %f3, %f4}", 16},   {"v2.b64", "{%rd5, %rd6}", 16},
        {"v2.f64", "{%fd1, %fd2}", 16},    {"v4.b64", "{%rd5, %rd6, %rd7, %rd8}", 32},
        {"v8.b32", "{%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9}", 32},
    };
    for (size_t v = 0; v < GS_COUNT(vectors); v++)
        for (int stride = vectors[v].bytes; stride <= 96; stride += 96 - vectors[v].bytes) {
            char body[500];
            machine m;
            snprintf(body, sizeof body,
                     "mul.wide.u32 %%rd3, %%r1, %d;\nadd.s64 %%rd4, %%rd3, %%rd2;\nadd.s64 %%rd3, %%rd3, %%rd1;\n"
                     "ld.global.%s %s, [%%rd3];\nst.global.%s [%%rd4], %s;",
                     stride, vectors[v].form, vectors[v].list, vectors[v].form, vectors[v].list);
            run_body(&m, body, NULL, 1);
            for (int l = 0; l < LANES; l++) assert_memory_equal(m.to + l * stride, m.from + l * stride, vectors[v].bytes);
            assert_int_equal(m.to[31 * stride + vectors[v].bytes], 0xee);
            close_machine(&m);
        }
    /* Elements may be left out, constants or special registers; the base register may be among the results. */
    machine m;
    run_body(&m, "mul.wide.u32 %rd3, %r1, 16;\nadd.s64 %rd4, %rd3, %rd2;\nadd.s64 %rd3, %rd3, %rd1;\n"
                 "ld.global.v2.b64 {%rd3, _}, [%rd3];\nst.global.v2.b64 [%rd4], {%rd3, 5};\n"
                 "setp.eq.u32 %p2, %r1, 3;\n@%p2 st.global.v4.f32 [%rd4], {0f3F800000, 0f40000000, 1.5, 0f00000000};\n"
                 "setp.eq.u32 %p2, %r1, 4;\n@%p2 st.global.u16 [%rd4], %tid.x;", NULL, 1);
    for (size_t l = 5; l < LANES; l++) {
        assert_int_equal(u64_at(m.to, 2 * l), u64_at(m.from, 2 * l));
        assert_int_equal(u64_at(m.to, 2 * l + 1), 5);
    }
    assert_true(f32_at(m.to + 48, 0) == 1 && f32_at(m.to + 48, 1) == 2 && f32_at(m.to + 48, 2) == 1.5 && f32_at(m.to + 48, 3) == 0);
    assert_int_equal(m.to[64], 4);
    assert_int_equal(m.to[65], 0);
    close_machine(&m);
}

static void every_space_is_reached_directly_and_generically(void **state)
{
    (void)state;
    machine m;
    const uint32_t blob[] = {100, 101, 102, 103};
    open_machine(&m,
                 "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd3, %rd2;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, smem;\nadd.u32 %r4, %r2, %r3;\n"
                 "add.u32 %r5, %r1, 1000;\nst.shared.u32 [%r4], %r5;\n"                                 /* shared: 1000 + lane */
                 "mov.u64 %rd5, smem;\ncvta.shared.u64 %rd6, %rd5;\nadd.s64 %rd7, %rd6, %rd3;\n"
                 "ld.u32 %r6, [%rd7];\nst.global.u32 [%rd4], %r6;\n"
                 "st.local.u32 [depot+4], %r1;\nmov.u64 %rd8, depot;\ncvta.local.u64 %rd9, %rd8;\n"     /* local: lane */
                 "ld.u32 %r7, [%rd9+4];\nst.global.u32 [%rd4+128], %r7;\n"
                 "ld.param.u32 %r8, [blob+8];\nst.global.u32 [%rd4+256], %r8;\n"                        /* parameter */
                 "mov.b64 %rd10, blob;\ncvta.param.u64 %rd11, %rd10;\nld.u32 %r9, [%rd11+12];\nst.global.u32 [%rd4+384], %r9;\n"
                 "ld.param.v2.u32 {%r9, %r10}, [%rd10];\nst.global.u32 [%rd4+512], %r10;\n"
                 "cvta.to.shared.u64 %rd12, %rd7;\nld.shared.u32 %r11, [%rd12];\nst.global.u32 [%rd4+640], %r11;\n"
                 "cvta.global.u64 %rd13, %rd1;\ncvta.to.global.u64 %rd13, %rd13;\nld.u32 %r12, [%rd13+20];\nst.u32 [%rd4+768], %r12;\n"
                 /* each lane uses its own space */
                 "and.b32 %r13, %r1, 3;\nsetp.eq.u32 %p2, %r13, 0;\nsetp.eq.u32 %p3, %r13, 1;\nsetp.eq.u32 %p4, %r13, 2;\n"
                 "add.s64 %rd14, %rd9, 4;\n@%p2 mov.b64 %rd14, %rd7;\n@%p3 add.s64 %rd14, %rd1, %rd3;\n@%p4 add.s64 %rd14, %rd11, 4;\n"
                 "ld.u32 %r14, [%rd14];\nst.global.u32 [%rd4+896], %r14;\n"
                 /* stores to three of the spaces */
                 "@%p4 mov.b64 %rd14, %rd7;\n@%p3 add.s64 %rd14, %rd4, 1024;\nst.u32 [%rd14], %r1;\nld.u32 %r15, [%rd14];\n"
                 "st.global.u32 [%rd4+1152], %r15;",
                 NULL, 1);
    emu_param(&m.t, 2, blob, sizeof blob);
    run_clean(&m);
    for (uint32_t l = 0; l < LANES; l++) {
        assert_int_equal(u32_at(m.to, l), 1000 + l);
        assert_int_equal(u32_at(m.to, 32 + l), l);
        assert_int_equal(u32_at(m.to, 64 + l), 102);
        assert_int_equal(u32_at(m.to, 96 + l), 103);
        assert_int_equal(u32_at(m.to, 128 + l), 101);
        assert_int_equal(u32_at(m.to, 160 + l), 1000 + l);
        assert_int_equal(u32_at(m.to, 192 + l), u32_at(m.from, 5));
        const uint32_t mixed[] = {1000 + l, u32_at(m.from, l), 101, l};
        assert_int_equal(u32_at(m.to, 224 + l), mixed[l % 4]);
        assert_int_equal(u32_at(m.to, 256 + l), l % 4 == 1 ? l : 0xeeeeeeee);
        assert_int_equal(u32_at(m.to, 288 + l), l);
    }
    close_machine(&m);
}

/* Constant and global variables are allocations, whose addresses are known when the code is decoded. */
static void module_variables_live_in_device_memory(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.6\n.target sm_90a\n.address_size 64\n.const .align 4 .b8 table[128];\n.global .align 4 .u32 total;\n.visible .entry k()\n{\n"
        ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, 4;\nmov.u64 %rd2, table;\nadd.s64 %rd2, %rd2, %rd1;\n"
        "ld.const.u32 %r2, [%rd2];\nld.const.u32 %r3, [table+8];\nadd.u32 %r2, %r2, %r3;\nred.global.add.u32 [total], %r2;\nld.u32 %r4, [total];\n"
        "cvta.const.u64 %rd3, %rd2;\nld.u32 %r5, [%rd3];\nred.global.add.u32 [total], %r5;\nret;\n}\n";
    emu_test t;
    uint32_t table[32];
    uint64_t address[2];
    assert_int_equal(emu_load(&t, text, NULL), GS_OK);
    for (uint32_t i = 0; i < 32; i++) table[i] = i;
    for (int v = 0; v < t.module->variables; v++) address[v] = emu_buffer(&t, table, t.module->variable[v].space == GS_PTX_CONST ? 128 : 4);
    gs_emu_code_free(&t.code);
    assert_int_equal(gs_emu_code_create(&t.code, t.module, &t.module->entry[0], address, 0, &t.error), GS_OK);
    t.launch.code = t.code;
    assert_int_equal(emu_run(&t), GS_OK);
    for (int v = 0; v < t.module->variables; v++)
        if (t.module->variable[v].space == GS_PTX_GLOBAL) assert_int_equal(u32_at(emu_bytes(&t, address[v], 4), 0), 496 + 2 * 32 + 496);
    assert_int_equal(t.launch.counters.global_load, 32 + 128);   /* constant loads do not reach the L2; a generic load is not known to be a constant one */
    emu_end(&t);
}

static void every_modifier_is_accepted(void **state)
{
    (void)state;
    static const char *const accepted[] = {
        "ld.weak.global.ca.u32 %r2, [%rd1];", "ld.volatile.global.u32 %r2, [%rd1];", "ld.relaxed.gpu.global.u32 %r2, [%rd1];",
        "ld.acquire.sys.global.u32 %r2, [%rd1];", "ld.acquire.cta.u32 %r2, [%rd1];", "ld.mmio.relaxed.sys.global.u32 %r2, [%rd1];",
        "ld.global.nc.u32 %r2, [%rd1];", "ld.global.ca.nc.L2::128B.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];",
        "ld.global.nc.L1::no_allocate.L2::256B.v2.f32 {%f1, %f2}, [%rd1];", "ld.global.cg.u32 %r2, [%rd1];", "ld.global.cs.u32 %r2, [%rd1];",
        "ld.global.lu.u32 %r2, [%rd1];", "ld.global.cv.u32 %r2, [%rd1];", "ldu.global.u32 %r2, [%rd1];",
        "ld.global.L1::evict_last.L2::cache_hint.u32 %r2, [%rd1], %rd3;", "ld.param::entry.u32 %r2, [blob];",
        "st.weak.global.wb.u32 [%rd2], 1;", "st.volatile.u32 [%rd2], 1;", "st.relaxed.cluster.global.u32 [%rd2], 1;",
        "st.release.gpu.global.u32 [%rd2], 1;", "st.global.cg.u32 [%rd2], 1;", "st.global.cs.u32 [%rd2], 1;", "st.global.wt.u32 [%rd2], 1;",
        "st.global.L1::evict_first.L2::cache_hint.v2.u32 [%rd2], {1, 2}, %rd3;", "st.shared::cta.u32 [smem], 1;",
        "st.shared::cluster.u32 [smem], 1;", "st.global.b16 [%rd2], 1;",
        "prefetch.global.L1 [%rd1];", "prefetch.L2 [%rd1+64];", "prefetch.global.L2::evict_last [%rd1];", "prefetchu.L1 [%rd1];",
        "applypriority.global.L2::evict_normal [%rd2], 128;", "discard.global.L2 [%rd2], 128;",
        "createpolicy.fractional.L2::evict_last.b64 %rd4, 0.25;", "createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %rd4;",
        "createpolicy.range.global.L2::evict_last.b64 %rd4, [%rd1], 128, 256;", "createpolicy.cvt.L2.b64 %rd4, %rd3;",
        "atom.global.add.L2::cache_hint.u32 %r2, [%rd2], 1, %rd3;", "atom.add.acq_rel.gpu.global.u32 %r2, [%rd2], 1;",
        "red.relaxed.cta.shared::cta.add.u32 [smem+64], 1;",
        /* the last bytes of local memory and of the parameters */
        "st.local.u32 [depot+60], 1;", "mov.b64 %rd3, depot;\ncvta.local.u64 %rd3, %rd3;\nst.u32 [%rd3+60], 1;", "mov.b64 %rd3, blob;\nld.param.u32 %r2, [%rd3+60];",
    };
    for (size_t i = 0; i < GS_COUNT(accepted); i++) {
        char body[300];
        machine m;
        snprintf(body, sizeof body, "setp.ne.u32 %%p2, %%r1, 0;\n@%%p2 ret;\nst.shared.u32 [smem+64], 0;\nmov.b64 %%rd3, 0;\n%s", accepted[i]);
        open_machine(&m, body, NULL, 1);
        if (emu_run(&m.t) != GS_OK) fail_msg("%s: %s", accepted[i], m.t.error.text);
        close_machine(&m);
    }
}

static void what_is_not_known_is_refused(void **state)
{
    (void)state;
    static const struct { const char *text, *words; } refused[] = {
        {"ld.global.foo.u32 %r2, [%rd1];", "unknown modifier .foo"}, {"ld.global.wb.u32 %r2, [%rd1];", "unknown modifier .wb"},
        {"st.global.nc.u32 [%rd2], %r2;", "unknown modifier .nc"}, {"ld.global.u32.u32 %r2, [%rd1];", "another of its kind"},
        {"ld.global.shared.u32 %r2, [%rd1];", "another of its kind"}, {"ld.global %r2, [%rd1];", "type is missing"},
        {"ld.global.b128 %rd3, [%rd1];", "cannot be loaded"}, {"ld.global.v2.u32 {%r2, %r3, %r4}, [%rd1];", "3 elements where 2"},
        {"ld.global.u32 {%r2, %r3}, [%rd1];", "2 elements where 1"},
        {"ld.global.v8.b64 {%rd3, %rd4, %rd5, %rd6, %rd7, %rd8, %rd9, %rd10}, [%rd1];", "more than 32 bytes"},
        {"ld.global.u32 %rs1, [%rd1];", "16 bits where 32"}, {"ld.global.f32 %rd3, [%rd1];", "width that does not fit"},
        {"ld.global.u32 %r2, [%rd1], %rd3;", "3 operands"}, {"ld.global.L2::cache_hint.u32 %r2, [%rd1];", "2 operands where 3"}, {"st.global.L2::cache_hint.u32 [%rd2], %r2;", "2 operands where 3"},
        {"ld.global.L2::cache_hint.u32 %r2, [%rd1], %rd3, %rd3;", "4 operands where 3"}, {"st.global.u32 [%rd2], %r2, %rd3;", "3 operands where 2"}, {"ld.global.u32 %r2;", "1 operands where 2"},
        {"atom.global.add.L2::cache_hint.u32 %r2, [%rd1], 1;", "3 operands where 4"}, {"red.global.add.L2::cache_hint.u32 [%rd1], 1;", "2 operands where 3"}, {"red.global.add.u32 [%rd1], 1, %rd3;", "3 operands where 2"},
        {"atom.global.cas.b32 %r2, [%rd1], 1;", "3 operands where 4"}, {"cp.async.cg.shared.global [smem], [%rd1];", "2 operands where 3 to 4"}, {"cp.async.cg.shared.global.L2::cache_hint [smem], [%rd1], 16;", "3 operands where 4 to 5"},
        {"cp.async.ca.shared.global [smem], [%rd1], 4, %r2, %r3;", "5 operands where 3 to 4"}, {"cp.async.ca.shared.global.L2::cache_hint [smem], [%rd1], 4, %r2, %rd3, %rd3;", "6 operands where 4 to 5"},
        {"prefetch.global.L1 [%rd1], 1;", "2 operands where 1"}, {"add.f32 %f1, %f1, 1;", "an integer where a floating-point number is expected"}, {"add.f64 %fd1, %fd1, 1;", "an integer where a floating-point number"},
        {"mov.b16 %rs1, 0f3f800000;", "a floating-point number has 32 or 64 bits"}, {"add.u32 %r1, -%r1, 1;", "a negated operand is not expected"}, {"add.u32 1, %r1, 1;", "the destination is no register"}, {"add.u32 -%r2, %r1, 1;", "the destination is no register"}, {"ld.global.u32 %r2, [smem];", "another state space"},
        {"ld.shared.u32 %r2, [depot];", "another state space"}, {"ld.u32 %r2, [smem];", "another state space"},
        {"ld.global.u32 %p2, [%rd1];", "bits"}, {"st.param.u32 [blob], %r2;", "unknown modifier .param"},
        {"st.bulk.weak.shared::cta [%rd1], 64, 0;", "unknown modifier .bulk"},
        {"red.async.relaxed.cluster.u32 [%r2], %r3, [%r4];", "unknown modifier .async"},
        {"atom.global.add.b32 %r2, [%rd1], 1;", "no such operation"}, {"atom.global.min.f32 %f1, [%rd1], %f2;", "no such operation"},
        {"atom.global.cas.b128 %rd3, [%rd1], %rd4, %rd5;", "no such operation"}, {"atom.global.add.f16 %rs1, [%rd1], %rs2;", ".noftz is missing"},
        {"atom.global.add.noftz.u32 %r2, [%rd1], 1;", ".noftz is not expected"}, {"red.global.exch.b32 [%rd1], 1;", "unknown modifier .exch"},
        {"red.shared.add.v2.f32 [smem], {%f1, %f2};", "global memory only"}, {"atom.local.add.u32 %r2, [depot], 1;", "unknown modifier .local"},
        {"red.global.v8.add.noftz.f16x2 [%rd1], {%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9};", "more than 16 bytes"},
        {"atom.global.add.u32 %r2, [%rd1];", "2 operands"}, {"red.global.add.v2.f32 [%rd1], %f1;", "operand of 2 elements"},
        {"cp.async.cg.shared.global [smem], [%rd1], 8;", "16 bytes, with .ca"},
        {"cp.async.ca.shared.global [smem], [%rd1], 12;", "16 bytes, with .ca"},
        {"cp.async.ca.shared.global [smem], [%rd1], %r2;", "16 bytes, with .ca"},
        {"cp.async.ca.shared.global.L2::32B [smem], [%rd1], 4;", "unknown modifier"},
        {"cp.async.ca.shared::cluster.global [smem], [%rd1], 4;", "only from .global"}, {"cp.async.wait_group %r2;", "number of groups"},
        {"cp.async.wait_group 1, 2;", "2 operands"}, {"cp.async.commit_group 1;", "1 operands"}, {"cp.async.foo;", "unknown form"},
        {"cp.async.mbarrier.arrive.foo.b64 [smem];", "only .arrive"},
        {"cvta.shared.u32 %r2, %r3;", "64 bits"}, {"cvta.reg.u64 %rd3, %rd4;", "state space"},
        {"mapa.shared::cta.u32 %r2, %r3, 1;", "only {.shared::cluster}"},
        {"mapa.u32 %r2, %r3, 1;", "64 bits"}, {"isspacep.foo %p2, %rd1;", "state space"}, {"prefetch.global.L3 [%rd1];", "unknown modifier .L3"},
        {"discard.global.L2 [%rd1], 64;", "only 128 bytes"}, {"createpolicy.L2::evict_last.b64 %rd3;", "one of .fractional"},
    };
    for (size_t i = 0; i < GS_COUNT(refused); i++) {
        char text[3000];
        emu_test t;
        write_kernel(text, sizeof text, refused[i].text);
        const gs_status status = emu_load(&t, text, NULL);
        if (status != GS_ERROR_UNSUPPORTED || !strstr(t.error.text, refused[i].words) || !strstr(t.error.text, "line "))
            fail_msg("%s: %d, %s", refused[i].text, status, t.error.text);
        emu_end(&t);
    }
}

/* ---- findings ---- */

static void stray_accesses_are_found(void **state)
{
    (void)state;
    static const struct { const char *body, *words; } stray[] = {
        {EACH_LANE "ld.global.u32 %r2, [%rd3+4000];", "lane 24: read of 4 bytes at 0x700001000: 0x700001000 is the end of the allocation"},
        {EACH_LANE "st.global.v2.u32 [%rd2+4096], {%r1, %r1};", "lane 0: write of 8 bytes"},
        {EACH_LANE "@%p1 ld.global.u32 %r2, [%rd3+4024];", "lane 18: read of 4 bytes"},
        {"ld.global.u32 %r2, [8];", "0x8 is near no allocation"},
        {"ld.u32 %r2, [%rd1+-4];", "is 4 bytes before the allocation"},
        {"mov.b64 %rd3, 0xfffffffffffffff8;\nld.global.v2.u64 {%rd4, %rd5}, [%rd3];", "read of 16 bytes"},
        {EACH_LANE "setp.eq.u32 %p2, %r1, 9;\n@%p2 mov.b64 %rd3, 0xfffffffffffffffc;\nld.global.u32 %r2, [%rd3];", "lane 9: read of 4 bytes"},
        {"red.global.add.u32 [%rd1+4096], 1;", "lane 0: atomic access of 4 bytes"},
        {"atom.global.add.u32 %r2, [%rd1+4096], 1;", "lane 0: atomic access of 4 bytes"},
        {"st.shared.u32 [smem+4096], %r1;", "shared address 0x1000: the block has 4096 bytes"},
        {"shl.b32 %r2, %r1, 7;\nld.shared.u32 %r3, [%r2+128];", "lane 31: read of 4 bytes at shared address 0x1000"},
        {"mov.u32 %r2, 0x5000000;\nld.shared::cluster.u32 %r3, [%r2];", "names no block of the cluster, which has 1"},
        {"mov.b64 %rd3, 0x200000000000;\nld.shared.u32 %r3, [%rd3];", "names no block"},
        {"st.local.u32 [depot+64], %r1;", "local address 0x40: the thread has 64 bytes"},
        {"mov.u32 %r2, -4;\nld.local.u32 %r3, [%r2];", "local address 0xfffffffc"},
        {"mov.b64 %rd3, blob;\nld.param.u32 %r3, [%rd3+64];", "the kernel has 80 bytes of parameters"},
        {"mov.u32 %r2, smem;\ncp.async.ca.shared.global [%r2+4095], [%rd1], 4;", "shared address 0xfff"},
        {"cp.async.ca.shared.global [smem], [%rd1+4096], 4;", "access of 4 bytes at 0x700001000"},
    };
    for (size_t i = 0; i < GS_COUNT(stray); i++) expect_finding(stray[i].body, GS_EMU_OUT_OF_BOUNDS_FINDING, stray[i].words);
    expect_finding("mov.b64 %rd3, blob;\ncvta.param.u64 %rd3, %rd3;\nst.u32 [%rd3], %r1;", GS_EMU_TRAP_FINDING, "write to the kernel's parameters");
    expect_finding("mov.b64 %rd3, depot;\ncvta.local.u64 %rd3, %rd3;\nred.add.u32 [%rd3], 1;", GS_EMU_TRAP_FINDING, "does not have");
    /* Hints may reach a line past the end, but no farther, because the next launch may use that memory; a hint for a null pointer has no effect. */
    static const char *const hints[] = {"prefetch.global.L2 [%rd3];", "prefetch.L2 [%rd3];", "prefetch.global.L2::evict_last [%rd3];", "prefetchu.L1 [%rd3];",
                                        "applypriority.global.L2::evict_normal [%rd3], 128;", "cp.async.bulk.prefetch.L2.global [%rd3], 16;"};
    for (size_t i = 0; i < GS_COUNT(hints); i++) {
        char body[200];
        for (int far = 0; far < 2; far++) {
            machine m;
            snprintf(body, sizeof body, "add.u64 %%rd3, %%rd1, %d;\n%s", far ? (1 << 20) : -128, hints[i]);
            if (far) expect_finding(body, GS_EMU_OUT_OF_BOUNDS_FINDING, "hint");
            else {
                open_machine(&m, body, NULL, 1);
                if (emu_run(&m.t) != GS_OK) fail_msg("%s: %s", hints[i], m.t.error.text);
                close_machine(&m);
            }
        }
    }
    expect_finding("cp.async.bulk.prefetch.L2.global [%rd1], 1048576;", GS_EMU_OUT_OF_BOUNDS_FINDING, "hint");
    expect_finding("sub.u64 %rd3, %rd2, %rd1;\nadd.u64 %rd3, %rd3, 16;\ncvt.u32.u64 %r2, %rd3;\ncp.async.bulk.prefetch.L2.global [%rd1], %r2;", GS_EMU_OUT_OF_BOUNDS_FINDING,
                   "hint");   /* everything between two allocations */
    expect_finding("mov.u32 %r2, 20;\ncp.async.cg.shared.global [smem], [%rd1], 16, %r2;", GS_EMU_TRAP_FINDING, "20 bytes for a copy of 16");
}

static void misaligned_accesses_are_found(void **state)
{
    (void)state;
    static const struct { const char *body, *words; } crooked[] = {
        {EACH_LANE "ld.global.u32 %r2, [%rd3+2];", "lane 0: read at 0x700000002, which must be a multiple of 4"},
        {EACH_LANE "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];", "lane 1: read at 0x700000004, which must be a multiple of 16"},
        {"st.shared.u64 [smem+4], %rd1;", "which must be a multiple of 8"},
        {"ld.local.u16 %rs1, [depot+1];", "which must be a multiple of 2"},
        {"ld.param.u64 %rd3, [blob+4];", "which must be a multiple of 8"},
        {"red.global.add.u64 [%rd1+4], 1;", "lane 0: atomic access at"},
        {"cp.async.cg.shared.global [smem+8], [%rd1], 16;", "multiple of 16"},
        {"cp.async.cg.shared.global [smem], [%rd1+8], 16;", "multiple of 16"},
    };
    for (size_t i = 0; i < GS_COUNT(crooked); i++) expect_finding(crooked[i].body, GS_EMU_MISALIGNED_FINDING, crooked[i].words);
}

static void reads_of_unwritten_global_memory_are_found(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        EACH_LANE "ld.global.u32 %r2, [%rd3];", EACH_LANE "red.global.add.u32 [%rd3], 1;", EACH_LANE "atom.global.exch.b32 %r2, [%rd3], 1;\nst.shared.u32 [smem], %r2;", "cp.async.ca.shared.global [smem], [%rd1], 4;",
        EACH_LANE "@%p1 st.global.u32 [%rd3], 1;\nld.global.u32 %r2, [%rd3];", "st.global.u8 [%rd1+1], 1;\nld.global.u16 %rs1, [%rd1];",
    };
    for (size_t i = 0; i < GS_COUNT(bodies); i++)
        for (int check = 0; check < 2; check++) {
            machine m;
            open_machine(&m, bodies[i], NULL, 0);
            m.t.launch.check = check;
            emu_run(&m.t);
            if (emu_found(&m.t, GS_EMU_UNINITIALIZED_FINDING) != (uint64_t)check) fail_msg("%s", bodies[i]);
            close_machine(&m);
        }
    machine m;   /* Written memory gives no finding, with or without gaps. An exchange whose result is unused only writes. */
    open_machine(&m, EACH_LANE "atom.global.exch.b32 %r2, [%rd3+256], 1;\nld.global.u32 %r2, [%rd3+256];\natom.shared.exch.b32 %r3, [smem], 1;\nst.global.u32 [%rd3], 1;\nld.global.u32 %r2, [%rd3];\nred.global.add.u32 [%rd3], 1;\nmul.wide.u32 %rd5, %r1, 64;\n"
                     "add.s64 %rd5, %rd5, %rd1;\nst.global.u32 [%rd5+1024], 1;\nld.global.u32 %r2, [%rd5+1024];", NULL, 0);
    run_clean(&m);
    const gs_emu_allocation *const a = gs_emu_memory_find(m.t.memory, m.in, 1);
    assert_true(gs_emu_memory_written(a, m.in, 128) && gs_emu_memory_written(a, m.in + 1024 + 64 * 31, 4));
    assert_false(gs_emu_memory_written(a, m.in + 128, 1) || gs_emu_memory_written(a, m.in + 1028, 1));
    close_machine(&m);
}

static void unordered_shared_accesses_are_found(void **state)
{
    (void)state;
    static const char *const racy[] = {
        "xor.b32 %r2, %r1, 32;\nshl.b32 %r3, %r1, 2;\nshl.b32 %r4, %r2, 2;\nst.shared.u32 [%r3], %r1;\nld.shared.u32 %r5, [%r4];",
        "shl.b32 %r3, %r1, 2;\nand.b32 %r3, %r3, 127;\nst.shared.u32 [%r3], %r1;",
        "st.shared.u32 [smem], 0;\nred.shared.add.u32 [smem], 1;",
    };
    for (size_t i = 0; i < GS_COUNT(racy); i++) {
        machine m;
        open_machine(&m, racy[i], NULL, 1);
        m.t.launch.block[0] = 64;
        emu_run(&m.t);
        if (!emu_found(&m.t, GS_EMU_RACE_FINDING)) fail_msg("%s", racy[i]);
        close_machine(&m);
    }
    machine m;
    open_machine(&m, "xor.b32 %r2, %r1, 32;\nshl.b32 %r3, %r1, 2;\nshl.b32 %r4, %r2, 2;\nst.shared.u32 [%r3], %r1;\nbar.sync 0;\n"
                     "ld.shared.u32 %r5, [%r4];\nred.shared.add.u32 [%r3+256], 1;\nbar.sync 0;", NULL, 1);
    m.t.launch.block[0] = 64;
    assert_int_equal(emu_run(&m.t), GS_ERROR_FAULT);   /* the reductions add to unwritten memory: one finding, no others */
    assert_int_equal(m.t.launch.findings, 1);
    assert_int_equal(m.t.launch.finding[0].kind, GS_EMU_UNINITIALIZED_FINDING);
    close_machine(&m);
}

/* ---- addresses ---- */

static void addresses_are_converted_and_classified(void **state)
{
    (void)state;
    static const char *const spaces[] = {"global", "shared", "shared::cluster", "local", "param"};
    static const char *const makers[] = {
        "mov.b64 %rd3, %rd1;", "mov.u64 %rd3, smem;\ncvta.shared.u64 %rd3, %rd3;", "mov.u64 %rd3, depot;\ncvta.local.u64 %rd3, %rd3;",
        "mov.b64 %rd3, blob;\ncvta.param.u64 %rd3, %rd3;",
    };
    static const char right[][6] = {"10000", "01100", "00010", "10001"};   /* parameters are also in global memory */
    for (size_t i = 0; i < GS_COUNT(makers); i++)
        for (size_t j = 0; j < GS_COUNT(spaces); j++) {
            char body[400];
            machine m;
            snprintf(body, sizeof body, "%s\nisspacep.%s %%p2, %%rd3;\nselp.u32 %%r2, 1, 0, %%p2;\nst.global.u32 [%%rd2], %%r2;",
                     makers[i], spaces[j]);
            run_body(&m, body, NULL, 1);
            if (u32_at(m.to, 0) != (uint32_t)(right[i][j] - '0')) fail_msg("%s: .%s %u", makers[i], spaces[j], u32_at(m.to, 0));
            close_machine(&m);
        }
}

/* Two blocks: each writes to the other's shared memory and reads it back through a generic address. */
#define CLUSTER_SYNC "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"

static void blocks_of_a_cluster_reach_each_other(void **state)
{
    (void)state;
    machine m;
    open_machine(&m,
                 "mov.u32 %r2, %cluster_ctarank;\nxor.b32 %r3, %r2, 1;\nshl.b32 %r4, %r1, 2;\nmov.u32 %r5, smem;\nadd.u32 %r5, %r5, %r4;\n"
                 "mapa.shared::cluster.u32 %r6, %r5, %r3;\nmad.lo.u32 %r7, %r2, 100, %r1;\n" CLUSTER_SYNC
                 "st.shared::cluster.u32 [%r6+512], %r7;\n" CLUSTER_SYNC
                 "ld.shared.u32 %r8, [%r5+512];\n"                                    /* written by the other block */
                 "cvt.u64.u32 %rd3, %r5;\ncvta.shared.u64 %rd3, %rd3;\n"
                 "mapa.u64 %rd4, %rd3, %r3;\nld.u32 %r9, [%rd4+512];\n"   /* written by this block */
                 CLUSTER_SYNC "red.shared::cluster.add.u32 [%r6+512], 1000;\n" CLUSTER_SYNC
                 "ld.shared::cluster.u32 %r10, [%r5+512];\ngetctarank.shared::cluster.u32 %r11, %r6;\ngetctarank.u64 %r12, %rd3;\n"
                 "isspacep.shared::cta %p2, %rd4;\nisspacep.shared::cluster %p3, %rd4;\nselp.u32 %r13, 1, 0, %p2;\nselp.u32 %r14, 1, 0, %p3;\n"
                 "mul.wide.u32 %rd5, %r2, 1024;\nadd.s64 %rd5, %rd5, %rd2;\nmul.wide.u32 %rd6, %r1, 32;\nadd.s64 %rd5, %rd5, %rd6;\n"
                 "st.global.v4.u32 [%rd5], {%r8, %r9, %r10, %r11};\nst.global.v4.u32 [%rd5+16], {%r12, %r13, %r14, 0};\n" CLUSTER_SYNC, NULL, 1);
    m.t.launch.grid[0] = m.t.launch.cluster[0] = 2;
    run_clean(&m);
    for (uint32_t block = 0; block < 2; block++)
        for (uint32_t l = 0; l < LANES; l++) {
            const uint8_t *const got = m.to + 1024 * block + 32 * l;
            assert_int_equal(u32_at(got, 0), 100 * !block + l);
            assert_int_equal(u32_at(got, 1), 100 * block + l);
            assert_int_equal(u32_at(got, 2), 1000 + 100 * !block + l);
            assert_int_equal(u32_at(got, 3), !block);
            assert_int_equal(u32_at(got, 4), block);
            assert_int_equal(u32_at(got, 5), 0);
            assert_int_equal(u32_at(got, 6), 1);
        }
    assert_int_equal(m.t.launch.counters.distributed, 2 * 3 * 128);
    close_machine(&m);

    open_machine(&m, "mov.u32 %r2, smem;\nmapa.shared::cluster.u32 %r2, %r2, 1;\nmov.u32 %r3, %cluster_ctarank;\nsetp.eq.u32 %p2, %r3, 0;\n" CLUSTER_SYNC
                     "@%p2 st.shared::cta.u32 [%r2], %r1;\n" CLUSTER_SYNC, NULL, 1);
    m.t.launch.grid[0] = m.t.launch.cluster[0] = 2;
    assert_int_equal(emu_run(&m.t), GS_ERROR_FAULT);
    assert_non_null(strstr(m.t.launch.finding[0].text, "which only .shared::cluster can"));
    close_machine(&m);

    /* In a cluster, a variable's address contains its block, in 32 and 64 bits, with and without an offset. */
    for (uint32_t blocks = 1; blocks <= 2; blocks++) {
        open_machine(&m, "mov.u32 %r2, %cluster_ctarank;\nmov.u32 %r3, smem;\nmov.u32 %r4, smem+512;\nmov.u64 %rd3, smem;\ncvta.shared.u64 %rd3, %rd3;\n"
                         "shl.b32 %r5, %r1, 2;\nadd.u32 %r6, %r4, %r5;\nst.shared.u32 [%r6], %r1;\nbar.warp.sync 0xffffffff;\ncvt.u64.u32 %rd4, %r5;\nadd.s64 %rd4, %rd4, %rd3;\n"
                         "ld.u32 %r7, [%rd4+512];\nld.shared.u32 %r8, [smem+516];\nshr.u64 %rd3, %rd3, 24;\ncvt.u32.u64 %r9, %rd3;\nand.b32 %r9, %r9, 255;\n"
                         "mul.wide.u32 %rd5, %r2, 1024;\nadd.s64 %rd5, %rd5, %rd2;\nmul.wide.u32 %rd6, %r1, 32;\nadd.s64 %rd5, %rd5, %rd6;\n"
                         "st.global.v4.u32 [%rd5], {%r3, %r4, %r7, %r8};\nst.global.u32 [%rd5+16], %r9;\n", NULL, 1);
        m.t.launch.grid[0] = m.t.launch.cluster[0] = blocks;
        run_clean(&m);
        for (uint32_t block = 0; block < blocks; block++)
            for (uint32_t l = 0; l < LANES; l++) {
                const uint8_t *const got = m.to + 1024 * block + 32 * l;
                const uint32_t name = blocks > 1 ? block + 1 : 0;
                assert_int_equal(u32_at(got, 0) >> 24, name);
                assert_int_equal(u32_at(got, 1) - u32_at(got, 0), 512);
                assert_int_equal(u32_at(got, 2), l);
                assert_int_equal(u32_at(got, 3), 1);
                assert_int_equal(u32_at(got, 4), ((GS_EMU_SHARED_WINDOW >> GS_EMU_RANK_SHIFT) + name) & 255);
            }
        close_machine(&m);
    }

    /* block 1 has ended when block 0 accesses its shared memory */
    open_machine(&m, "mov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p2, %r2, 1;\n@%p2 bra gone;\nmov.u32 %r5, 0;\n"
                     "again:\nadd.u32 %r5, %r5, 1;\nld.volatile.global.u32 %r3, [%rd2];\nsetp.lt.u32 %p3, %r5, 3000;\n@%p3 bra again;\n"
                     "mov.u32 %r4, smem;\nmapa.shared::cluster.u32 %r4, %r4, 1;\nst.shared::cluster.u32 [%r4], %r1;\ngone:\n", NULL, 1);
    m.t.launch.grid[0] = m.t.launch.cluster[0] = 2;
    emu_run(&m.t);
    assert_true(emu_found(&m.t, GS_EMU_EXIT_IN_USE_FINDING) > 0);
    close_machine(&m);
}

/* ---- traffic ---- */

static void traffic_is_counted(void **state)
{
    (void)state;
    static const struct { const char *body; uint64_t load, store, shared_load, shared_store, passes; } counted[] = {
        {EACH_LANE "ld.global.u32 %r2, [%rd3];", 128, 0, 0, 0, 0},
        {EACH_LANE "ld.global.u32 %r2, [%rd3+4];", 160, 0, 0, 0, 0},
        {EACH_LANE "@%p1 ld.global.u32 %r2, [%rd3];", 96, 0, 0, 0, 0},
        {"ld.global.u32 %r2, [%rd1];", 32, 0, 0, 0, 0},
        {"mul.wide.u32 %rd3, %r1, 64;\nadd.s64 %rd3, %rd3, %rd1;\nld.global.u8 %r2, [%rd3];", 1024, 0, 0, 0, 0},
        {"mul.lo.u32 %r2, %r1, 13;\nand.b32 %r2, %r2, 31;\nmul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd3, %rd3, %rd1;\nld.global.u32 %r2, [%rd3];",
         128, 0, 0, 0, 0},
        {"mul.wide.u32 %rd3, %r1, 16;\nadd.s64 %rd3, %rd3, %rd2;\nst.global.v4.u32 [%rd3], {1, 2, 3, 4};", 0, 512, 0, 0, 0},
        {EACH_LANE "st.global.u32 [%rd4+16], %r1;", 0, 160, 0, 0, 0},
        {"shl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2], %r1;", 0, 0, 0, 128, 1},
        {"shl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2+4], %r1;", 0, 0, 0, 128, 1},
        {"shl.b32 %r2, %r1, 3;\nst.shared.u32 [%r2], %r1;", 0, 0, 0, 128, 2},
        {"shl.b32 %r2, %r1, 7;\nst.shared.u32 [%r2], %r1;", 0, 0, 0, 128, 32},
        {"shl.b32 %r2, %r1, 7;\n@%p1 st.shared.u32 [%r2], %r1;", 0, 0, 0, 76, 19},
        {"shl.b32 %r2, %r1, 1;\nst.shared.u16 [%r2], %r1;", 0, 0, 0, 64, 1},
        {"shl.b32 %r2, %r1, 3;\nst.shared.u64 [%r2], %rd1;", 0, 0, 0, 256, 2},
        {"shl.b32 %r2, %r1, 4;\nst.shared.v4.u32 [%r2], {1, 2, 3, 4};", 0, 0, 0, 512, 4},
        {"shl.b32 %r2, %r1, 5;\nst.shared.v4.u32 [%r2], {1, 2, 3, 4};", 0, 0, 0, 512, 8},
        {"xor.b32 %r2, %r1, 5;\nshl.b32 %r2, %r2, 4;\nst.shared.v4.u32 [%r2], {1, 2, 3, 4};", 0, 0, 0, 512, 4},
        {"shl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r3, [smem];", 0, 0, 128, 128, 2},
        {"shl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2], 0;\nbar.warp.sync -1;\nred.shared.add.u32 [%r2], 1;", 0, 0, 0, 256, 2},
        {"shl.b32 %r2, %r1, 4;\nmul.wide.u32 %rd3, %r1, 16;\nadd.s64 %rd3, %rd3, %rd1;\ncp.async.cg.shared.global [%r2], [%rd3], 16;\n"
         "cp.async.wait_all;", 512, 0, 0, 512, 4},
    };
    for (size_t i = 0; i < GS_COUNT(counted); i++) {
        machine m;
        run_body(&m, counted[i].body, NULL, 1);
        const gs_emu_counters *const c = &m.t.launch.counters;
        if (c->global_load != counted[i].load || c->global_store != counted[i].store || c->shared_load != counted[i].shared_load ||
            c->shared_store != counted[i].shared_store || c->shared_passes != counted[i].passes)
            fail_msg("%s: %llu %llu %llu %llu %llu", counted[i].body, (unsigned long long)c->global_load, (unsigned long long)c->global_store,
                     (unsigned long long)c->shared_load, (unsigned long long)c->shared_store, (unsigned long long)c->shared_passes);
        close_machine(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_extend_into_wider_registers),
        cmocka_unit_test(stores_take_the_low_bits),
        cmocka_unit_test(vectors_move_whole),
        cmocka_unit_test(every_space_is_reached_directly_and_generically),
        cmocka_unit_test(module_variables_live_in_device_memory),
        cmocka_unit_test(every_modifier_is_accepted),
        cmocka_unit_test(what_is_not_known_is_refused),
        cmocka_unit_test(stray_accesses_are_found),
        cmocka_unit_test(misaligned_accesses_are_found),
        cmocka_unit_test(reads_of_unwritten_global_memory_are_found),
        cmocka_unit_test(unordered_shared_accesses_are_found),
        cmocka_unit_test(addresses_are_converted_and_classified),
        cmocka_unit_test(blocks_of_a_cluster_reach_each_other),
        cmocka_unit_test(traffic_is_counted),
    };
    return run_without_leaks("access", tests, sizeof tests / sizeof *tests);
}
