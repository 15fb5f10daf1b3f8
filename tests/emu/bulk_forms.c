/* SPDX-License-Identifier: MIT
 * Which forms of bulk copies can be decoded, and the arithmetic of their reductions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "support/leaks.h"
#include "base/error.h"
#include "emu/isa/bulk.h"
#include "emu.h"

/* ---- arithmetic ---- */

static uint64_t reduce(gs_emu_reduction reduction, gs_ptx_type type, uint64_t old, uint64_t value)
{
    uint64_t to[2] = {old, 0x5555}, from[2] = {value, 0};
    gs_emu_reduce(reduction, type, (uint8_t *)to, (const uint8_t *)from, (uint32_t)gs_ptx_type_bits(type) / 8);
    assert_int_equal(to[1], 0x5555);
    return to[0];
}

/* Results measured on an H200. */
static void arithmetic_of_reductions(void **state)
{
    static const struct { gs_emu_reduction reduction; gs_ptx_type type; uint64_t old, value, result; } cases[] = {
        {GS_EMU_REDUCE_ADD, GS_PTX_F32, 0x807fffff, 0x00800000, 0x00000001},
        {GS_EMU_REDUCE_ADD, GS_PTX_F32, 0x00000001, 0x00000001, 0x00000002},
        {GS_EMU_REDUCE_ADD, GS_PTX_F32, 0x80000000, 0x80000000, 0x80000000},
        {GS_EMU_REDUCE_ADD, GS_PTX_F32, 0xbf800000, 0x33800000, 0xbf7fffff},
        {GS_EMU_REDUCE_ADD, GS_PTX_F32, 0x7f7fffff, 0x7f7fffff, 0x7f800000},
        {GS_EMU_REDUCE_ADD, GS_PTX_F32, 0x7f800000, 0xff800000, 0x7fffffff},
        {GS_EMU_REDUCE_ADD, GS_PTX_F32, 0xffffffff, 0x3f800000, 0x7fffffff},
        {GS_EMU_REDUCE_ADD, GS_PTX_F64, 0x7ff0000000000000, 0xfff0000000000000, 0xfff8000000000000},
        {GS_EMU_REDUCE_ADD, GS_PTX_F64, 0x7ff8000000000001, 0x7ff0000000000001, 0x7ff0000000000001},
        {GS_EMU_REDUCE_ADD, GS_PTX_F64, 0x7ff0000000000001, 0x3ff0000000000000, 0x7ff0000000000001},
        {GS_EMU_REDUCE_ADD, GS_PTX_F64, 0xbff0000000000000, 0x3ca0000000000000, 0xbfefffffffffffff},
        {GS_EMU_REDUCE_ADD, GS_PTX_F16, 0x83ff, 0x1000, 0x0f00},
        {GS_EMU_REDUCE_ADD, GS_PTX_F16, 0x7bff, 0x7bff, 0x7c00},
        {GS_EMU_REDUCE_ADD, GS_PTX_F16, 0x8000, 0x0000, 0x0000},
        {GS_EMU_REDUCE_ADD, GS_PTX_F16, 0x7c01, 0x0000, 0x7fff},
        {GS_EMU_REDUCE_ADD, GS_PTX_BF16, 0x807f, 0x0080, 0x0001},
        {GS_EMU_REDUCE_ADD, GS_PTX_BF16, 0xbf80, 0x3b80, 0xbf7f},
        {GS_EMU_REDUCE_MIN, GS_PTX_F16, 0x0000, 0x8000, 0x8000},
        {GS_EMU_REDUCE_MIN, GS_PTX_F16, 0x7e01, 0x83ff, 0x83ff},
        {GS_EMU_REDUCE_MIN, GS_PTX_F16, 0x8401, 0xffff, 0x8401},
        {GS_EMU_REDUCE_MIN, GS_PTX_F16, 0x7c01, 0x7e01, 0x7fff},
        {GS_EMU_REDUCE_MIN, GS_PTX_F16, 0x8401, 0xfc00, 0xfc00},
        {GS_EMU_REDUCE_MAX, GS_PTX_F16, 0x8000, 0x0000, 0x0000},
        {GS_EMU_REDUCE_MAX, GS_PTX_F16, 0x8401, 0x83ff, 0x83ff},
        {GS_EMU_REDUCE_MAX, GS_PTX_F16, 0x7c00, 0xffff, 0x7c00},
        {GS_EMU_REDUCE_MAX, GS_PTX_BF16, 0x7f81, 0x7f80, 0x7f80},
        {GS_EMU_REDUCE_MIN, GS_PTX_BF16, 0x7f81, 0x7f80, 0x7f80},
        {GS_EMU_REDUCE_MIN, GS_PTX_S32, 1, 0xffffffff, 0xffffffff},
        {GS_EMU_REDUCE_MIN, GS_PTX_U32, 1, 0xffffffff, 1},
        {GS_EMU_REDUCE_MAX, GS_PTX_S64, 1, ~0ull, 1},
        {GS_EMU_REDUCE_MAX, GS_PTX_U64, 1, ~0ull, ~0ull},
        {GS_EMU_REDUCE_ADD, GS_PTX_U32, 0x7fffffff, 0x80000001, 0},
        {GS_EMU_REDUCE_ADD, GS_PTX_U64, ~0ull, 2, 1},
        {GS_EMU_REDUCE_INC, GS_PTX_U32, 5, 5, 0},
        {GS_EMU_REDUCE_INC, GS_PTX_U32, 5, 6, 6},
        {GS_EMU_REDUCE_DEC, GS_PTX_U32, 0, 5, 5},
        {GS_EMU_REDUCE_DEC, GS_PTX_U32, 6, 5, 5},
        {GS_EMU_REDUCE_DEC, GS_PTX_U32, 5, 5, 4},
        {GS_EMU_REDUCE_AND, GS_PTX_B32, 6, 3, 2},
        {GS_EMU_REDUCE_OR,  GS_PTX_B64, 6, 3, 7},
        {GS_EMU_REDUCE_XOR, GS_PTX_B32, 6, 3, 5},
    };
    (void)state;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        assert_true(gs_emu_reduction_exists(cases[i].reduction, cases[i].type));
        const uint64_t found = reduce(cases[i].reduction, cases[i].type, cases[i].old, cases[i].value);
        if (found != cases[i].result) fail_msg("case %d: %#llx", (int)i, (unsigned long long)found);
    }
}

/* These make a kernel fail on an H200. */
static void what_a_type_has_not(void **state)
{
    static const struct { gs_emu_reduction reduction; gs_ptx_type type; } cases[] = {
        {GS_EMU_REDUCE_MIN, GS_PTX_F32}, {GS_EMU_REDUCE_MIN, GS_PTX_F64}, {GS_EMU_REDUCE_ADD, GS_PTX_U16}, {GS_EMU_REDUCE_ADD, GS_PTX_U8},
        {GS_EMU_REDUCE_INC, GS_PTX_S32}, {GS_EMU_REDUCE_INC, GS_PTX_U64}, {GS_EMU_REDUCE_ADD, GS_PTX_S64}, {GS_EMU_REDUCE_INC, GS_PTX_F16},
        {GS_EMU_REDUCE_AND, GS_PTX_F16}, {GS_EMU_REDUCE_XOR, GS_PTX_F32}, {GS_EMU_REDUCE_OR, GS_PTX_S64}, {GS_EMU_REDUCE_XOR, GS_PTX_U16},
    };
    (void)state;
    for (size_t i = 0; i < GS_COUNT(cases); i++)
        if (gs_emu_reduction_exists(cases[i].reduction, cases[i].type)) fail_msg("case %d", (int)i);
}

/* ---- decoding ---- */

static gs_status decodes(const char *instruction, char *text, size_t size)
{
    static emu_test test;
    char ptx[1024];
    snprintf(ptx, sizeof ptx,
             ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 64 .b8 map[128])\n{\n"
             ".reg .b16 %%rs<4>; .reg .b32 %%r<8>; .reg .b64 %%rd<8>;\n%s\nret;\n}\n", instruction);
    const gs_status status = emu_load(&test, ptx, NULL);
    snprintf(text, size, "%s", test.error.text);
    emu_end(&test);
    return status;
}

/* Forms that the assembler of CUDA 13 accepts for sm_90a. */
static void forms_that_exist(void **state)
{
    static const char *const forms[] = {
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd3], %r3, [%r2];",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+16], [%rd3+32], 32, [%r2+8];",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd3], 128, [%r2];",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd3], 128, [%r2], %rs1;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd3], 128, [%r2], 3;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], [%rd3], 128, [%r2], %rd3;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r1], [%rd3], 128, [%r2], %rs1, %rd3;",
        "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r1], 128;",
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd3], [%r1], 128, %rd3;",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], 128, [%r3];",
        "cp.async.bulk.prefetch.L2.global [%rd3], 128;",
        "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%rd3], %r1, %rd3;",
        "cp.async.bulk.prefetch.tensor.2d.L2.global [%rd2, {%r1, %r2}];",
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile.L2::cache_hint [%rd2, {%r1, %r2}], %rd3;",
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2, {3}], [%r4];",
        "cp.async.bulk.tensor.5d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r1, %r2, %r3, %r4, %r5}], [%r4];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
        " [%r1], [%rd2, {%r1, %r2}], [%r4], %rs1, %rd3;",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r1, %r2}], [%r1];",
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint [%rd2, {%r1, %r2, 0}], [%r1], %rd3;",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%rd2, {%r1, %r2}], [%r1];",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group.L2::cache_hint [%rd2, {%r1, %r2}], [%r1], %rd3;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32 [%rd3], [%r1], 128, %rd3;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%rd3], [%r1], 128;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s64 [%rd3], [%r1], 128;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64 [%rd3], [%r1], 128;",
        "cp.async.bulk.commit_group;",
        "cp.async.bulk.wait_group 3;",
        "cp.async.bulk.wait_group.read 0;",
        "prefetch.tensormap [%rd0];",
        "prefetch.param.tensormap [map];",
    };
    char text[416];
    (void)state;
    for (size_t i = 0; i < GS_COUNT(forms); i++)
        if (decodes(forms[i], text, sizeof text) != GS_OK) fail_msg("%s: %s", forms[i], text);
}

static void forms_that_do_not(void **state)
{
    static const struct { const char *form, *word; } forms[] = {
        {"cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], 128, [%r3];", "state spaces"},
        {"cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd3], [%r1], 128, %rs1;", ".cp_mask"},
        {"cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%rd3], [%r1], 128;", "complete"},
        {"cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r1], 128, %rd3;", "operands"},
        {"cp.async.bulk.shared::cluster.global.bulk_group [%r1], [%rd3], 128;", "complete"},
        {"cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd2, {%r1, %r2}], [%r4], %rs1;",
         "multicast"},
        {"cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r1, %r2, %r3}], [%r4], {%rs1};",
         "im2col"},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::1 [%r1], [%rd2, {%r1, %r2}], [%r4];", "cta_group"},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r1}], [%r4];", "1 coordinates"},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2], [%r4];", "coordinates"},
        {"cp.async.bulk.tensor.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r1}], [%r4];", "dimensions"},
        {"cp.async.bulk.tensor.6d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r1}], [%r4];", ".6d"},
        {"cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%rd2, {%r1, %r2, %r1, %r1}], {%rs1, %rs1};", "im2col"},
        {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1], [%r2], 128, [%r3];", "shared memory"},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd3], [%r1], 128;", "noftz"},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f32 [%rd3], [%r1], 128;", "noftz"},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%rd3], [%r1], 128;", "type"},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%rd3], [%r1], 128;", "type"},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u64 [%rd3], [%r1], 128;", "type"},
        {"cp.async.bulk.wait_group %r1;", "constant"},
        {"cp.async.bulk.wait_group.write 0;", ".write"},
        {"prefetch.tensormap [%rd0], 1;", "2 operands where 1"},
        {"prefetch.tensormap;", "0 operands where 1"},
        {"tensormap.replace.tile.global_address.global.b1024.b64 [%rd0], %rd1;", "tensor maps"},
    };
    char text[416];
    (void)state;
    for (size_t i = 0; i < GS_COUNT(forms); i++) {
        if (decodes(forms[i].form, text, sizeof text) != GS_ERROR_UNSUPPORTED) fail_msg("%s: taken, or \"%s\"", forms[i].form, text);
        if (!strstr(text, forms[i].word)) fail_msg("%s: \"%s\" does not say \"%s\"", forms[i].form, text, forms[i].word);
    }
}

/* ---- addresses ---- */

/* Addresses of shared memory and barriers in 32-bit or 64-bit registers, with and without an offset. */
static void addresses_of_either_width(void **state)
{
    (void)state;
    static const char form[] =
        ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n.reg .pred p;\n.reg .b32 s, r, b, c, a<4>;\n.reg .b64 d, sw, rw, bw;\n"
        ".shared .align 128 .b8 buf[512];\n.shared .align 8 .b64 bar[4];\nld.param.u64 d, [data];\nmov.u32 s, buf;\nadd.u32 s, s, 128;\nmov.u32 r, buf;\nmov.u32 b, bar;\ncvt.u64.u32 sw, s;\ncvt.u64.u32 rw, r;\ncvt.u64.u32 bw, b;\n"
        "mbarrier.init.shared::cta.b64 [b+8], 1;\nfence.mbarrier_init.release.cluster;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [b+8], 32;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s+16], [d+16], 32, [%s+8];\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%s+8], 0;\n@!p bra AGAIN;\n"
        "ld.shared.v4.u32 {a0, a1, a2, a3}, [s+32];\nst.shared.v4.u32 [r+64], {a3, a2, a1, a0};\nfence.proxy.async.shared::cta;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [d+256], [%s+64], 16;\ncp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d+320], [%s+64], 16;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n";
    for (int wide = 0; wide < 32; wide++) {
        char text[4096];
        emu_test t;
        uint32_t words[128];
        snprintf(text, sizeof text, form, wide & 1 ? "sw" : "s", wide & 2 ? "bw" : "b", wide & 4 ? "bw" : "b", wide & 8 ? "rw" : "r", wide & 16 ? "rw" : "r");
        if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%d: %s", wide, t.error.text);
        for (int i = 0; i < 128; i++) words[i] = 1000 + (uint32_t)i;
        const uint64_t data = emu_buffer(&t, words, sizeof words);
        emu_param(&t, 0, &data, sizeof data);
        t.launch.block[0] = 1;
        if (emu_run(&t) != GS_OK) fail_msg("%d: %s", wide, t.error.text);
        memcpy(words, emu_bytes(&t, data, sizeof words), sizeof words);
        for (uint32_t i = 0; i < 4; i++) {   /* words 8 to 11 in reverse order */
            assert_int_equal(words[64 + i], 1000 + 11 - i);
            assert_int_equal(words[80 + i], 1000 + 80 + i + 1000 + 11 - i);
        }
        assert_true(words[63] == 1063 && words[68] == 1068 && words[79] == 1079 && words[84] == 1084);
        emu_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_of_reductions),
        cmocka_unit_test(what_a_type_has_not),
        cmocka_unit_test(forms_that_exist),
        cmocka_unit_test(forms_that_do_not), cmocka_unit_test(addresses_of_either_width),
    };
    return run_without_leaks("emu_bulk_forms", tests, sizeof tests / sizeof *tests);
}
