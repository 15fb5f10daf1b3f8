/* SPDX-License-Identifier: MIT
 * The PTX parser: every construct gives the right tables. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/leaks.h"
#include "ptx.h"

/* ---- the module ---- */

static void types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int         bits;
    } all[] = {
        {"pred", 1},  {"b8", 8},     {"b16", 16},  {"b32", 32},    {"b64", 64},  {"b128", 128}, {"u8", 8},    {"u16", 16}, {"u32", 32}, {"u64", 64},
        {"s8", 8},    {"s16", 16},   {"s32", 32},  {"s64", 64},    {"f16", 16},  {"f16x2", 32}, {"bf16", 16}, {"bf16x2", 32},
        {"tf32", 32}, {"f32", 32},   {"f64", 64},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        assert_int_equal(gs_ptx_type_of(all[i].name), GS_PTX_PRED + i);
        assert_int_equal(gs_ptx_type_bits((gs_ptx_type)(GS_PTX_PRED + i)), all[i].bits);
    }
    assert_int_equal(gs_ptx_type_of("v2"), GS_PTX_NONE);
    assert_int_equal(gs_ptx_type_of(""), GS_PTX_NONE);
    assert_int_equal(gs_ptx_type_bits(GS_PTX_NONE), 0);
}

static void head(void **state)
{
    (void)state;
    good("//\n// comment\n/* another\n*/ .version 8.3 // here\n.target sm_90a, debug\n.address_size 64\n");
    assert_int_equal(module->version, 83);
    assert_string_equal(module->target, "sm_90a");
    assert_int_equal(module->entries, 0);
    assert_int_equal(module->variables, 0);
    assert_int_equal(module->files, 0);
    good(".version 7.0 .target sm_80");
    assert_int_equal(module->version, 70);
    gs_error error;
    assert_int_equal(parse(HEAD, sizeof HEAD, &error), GS_OK);   /* with its terminator, which NVRTC counts too */
    assert_int_equal(parse(HEAD "\0", sizeof HEAD + 1, &error), GS_ERROR_PARSE);
    gs_ptx_module *none = NULL;
    gs_ptx_free(&none);
}

static void files_and_sections(void **state)
{
    (void)state;
    good(HEAD ".pragma \"nounroll\";\n"
         ".file 1 \"/a/ws.cu\"\n\t.file\t3 \"b \\\"q\\\" {.cuh\", 1700000000, 4567\n"
         ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90\n.b32 $L__a-$L__b\n/* } */ { .b8 1 // }\n } .b64 \"}\" \n}\n"
         ".section\t.debug_loc { }\n"
         ".visible .entry k()\n{\nret;\n}\n.file 2 \"late\"\n");
    assert_int_equal(module->files, 4);
    assert_null(module->file[0]);
    assert_string_equal(module->file[1], "/a/ws.cu");
    assert_string_equal(module->file[2], "late");
    assert_string_equal(module->file[3], "b \\\"q\\\" {.cuh");
    assert_int_equal(module->entries, 1);
    assert_int_equal(at(0)->line, 18);
}

/* ---- entries ---- */

static void parameters(void **state)
{
    (void)state;
    good(HEAD ".visible .entry first(\n.param .u8 c,\n.param .align 64 .b8 map[128],\n.param .u32 n,\n.param .u64 .ptr .global .align 16 p,\n"
         ".param .b16 h,\n.param .align 8 .b8 s[13],\n.param .f32 f\n)\n{\nret;\n}\n"
         ".entry second(.param .b8 x)\n{\nret;\n}\n.weak .entry third { ret; }\n.entry fourth() { ret; }");
    static const struct {
        const char *name;
        uint32_t    align, size, address;
    } want[] = {
        {"c", 1, 1, 0}, {"map", 64, 128, 64}, {"n", 4, 4, 192}, {"p", 8, 8, 200}, {"h", 2, 2, 208}, {"s", 8, 13, 216}, {"f", 4, 4, 232},
    };
    assert_int_equal(module->entries, 4);
    assert_int_equal(module->variables, 8);
    assert_string_equal(entry->name, "first");
    assert_int_equal(entry->line, 4);
    assert_int_equal(entry->parameters, 7);
    assert_int_equal(entry->parameter_bytes, 236);
    for (int i = 0; i < 7; i++) {
        const gs_ptx_variable *const v = variable(want[i].name);
        assert_int_equal(v->space, GS_PTX_PARAM);
        assert_int_equal(v->entry, 0);
        assert_int_equal(v->parameter, i);
        assert_int_equal(v->align, want[i].align);
        assert_int_equal(v->size, want[i].size);
        assert_int_equal(v->address, want[i].address);
        assert_false(v->external);
    }
    assert_int_equal(variable("x")->entry, 1);
    assert_int_equal(variable("x")->address, 0);
    assert_string_equal(module->entry[2].name, "third");
    assert_int_equal(module->entry[3].parameters, 0);
    assert_int_equal(module->entry[3].instructions, 1);
}

static void performance(void **state)
{
    (void)state;
    good(HEAD ".entry a()\n.maxntid 384, 1, 2\n.minnctapersm 1\n.maxnreg 168\n.pragma \"nounroll\";\n{ ret; }\n"
         ".entry b()\n.reqntid 128\n.reqnctapercluster 2, 4\n.explicitcluster\n.maxclusterrank 8\n.noreturn { ret; }");
    const gs_ptx_entry *const b = &module->entry[1];
    assert_int_equal(entry->maxntid[0], 384);
    assert_int_equal(entry->maxntid[1], 1);
    assert_int_equal(entry->maxntid[2], 2);
    assert_int_equal(entry->reqntid[0], 0);
    assert_int_equal(entry->reqnctapercluster[0], 0);
    assert_int_equal(b->maxntid[0], 0);
    assert_int_equal(b->reqntid[0], 128);
    assert_int_equal(b->reqntid[1], 1);
    assert_int_equal(b->reqntid[2], 1);
    assert_int_equal(b->reqnctapercluster[0], 2);
    assert_int_equal(b->reqnctapercluster[1], 4);
    assert_int_equal(b->reqnctapercluster[2], 1);
}

/* ---- variables ---- */

static void variables(void **state)
{
    (void)state;
    good(HEAD ".extern .shared .align 1024 .b8 dynamic[];\n.extern .shared .align 16 .b8 dynamic[];\n.visible .global .u32 one, list[3], two;\n"
         ".const .align 16 .b64 c[2];\n.global .align 4 .b8 big[1073741824];\n.shared .v4 .f32 v[2];\n.global .b16 m[2][3];\n.common .global .b8 w;\n"
         ".entry k(.param .u64 a) { .shared .align 128 .b8 tile[4096]; .local .b8 depot[24]; .extern .shared .b32 inner[]; .global .u8 one; }\n");
    static const struct {
        const char *name;
        int         space;
        int         entry;
        bool        external;
        uint32_t    align, size;
    } want[] = {
        {"dynamic", GS_PTX_SHARED, -1, true,  1024, 0},          {"one",     GS_PTX_GLOBAL, -1, false, 4,    4},
        {"list",    GS_PTX_GLOBAL, -1, false, 4,    12},         {"two",     GS_PTX_GLOBAL, -1, false, 4,    4},
        {"c",       GS_PTX_CONST,  -1, false, 16,   16},         {"big",     GS_PTX_GLOBAL, -1, false, 4,    1u << 30},
        {"v",       GS_PTX_SHARED, -1, false, 16,   32},         {"m",       GS_PTX_GLOBAL, -1, false, 2,    12},
        {"w",       GS_PTX_GLOBAL, -1, false, 1,    1},          {"a",       GS_PTX_PARAM,  0,  false, 8,    8},
        {"tile",    GS_PTX_SHARED, 0,  false, 128,  4096},       {"depot",   GS_PTX_LOCAL,  0,  false, 1,    24},
        {"inner",   GS_PTX_SHARED, 0,  true,  4,    0},          {"one",     GS_PTX_GLOBAL, 0,  false, 1,    1},
    };
    assert_int_equal(module->variables, GS_COUNT(want));
    for (size_t i = 0; i < GS_COUNT(want); i++) {
        const gs_ptx_variable *const v = &module->variable[i];
        assert_string_equal(v->name, want[i].name);
        assert_int_equal(v->space, want[i].space);
        assert_int_equal(v->entry, want[i].entry);
        assert_int_equal(v->external, want[i].external);
        assert_int_equal(v->align, want[i].align);
        assert_int_equal(v->size, want[i].size);
        assert_int_equal(v->parameter, want[i].space == GS_PTX_PARAM ? 0 : -1);
        assert_null(v->init);
    }
}

static void starts_as(const char *declaration, const void *bytes, size_t size)
{
    char text[512];
    snprintf(text, sizeof text, HEAD ".global %s;\n", declaration);
    good(text);
    assert_int_equal(module->variables, 1);
    assert_int_equal(module->variable[0].size, size);
    assert_non_null(module->variable[0].init);
    assert_memory_equal(module->variable[0].init, bytes, size);
}

static void initialisers(void **state)
{
    (void)state;
    starts_as(".align 8 .b8 x[6] = {0, 255, 256, -1, 0x12, 010}", "\x00\xff\x00\xff\x12\x08", 6);
    starts_as(".u8 x = 0b101U", "\x05", 1);
    starts_as(".b8 x[5] = {1, 2}", "\x01\x02\0\0\0", 5);
    starts_as(".s16 x[] = {-2, +3}", "\xfe\xff\x03\x00", 4);
    starts_as(".u32 x = 0xdeadbeef", "\xef\xbe\xad\xde", 4);
    starts_as(".u64 x[1] = {0x0102030405060708}", "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
    starts_as(".f32 x[4] = {0f3F800000, 0d4000000000000000, 1.5, -2.5e-1}", "\0\0\x80\x3f\0\0\0\x40\0\0\xc0\x3f\0\0\x80\xbe", 16);
    starts_as(".b32 x = 0F40400000", "\0\0\x40\x40", 4);
    starts_as(".f64 x[2] = {0f3f800000, 0D3ff8000000000000}", "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\xf8\x3f", 16);
    starts_as(".b8 x[2][3] = {{1, 2}, {3}}", "\x01\x02\0\x03\0\0", 6);
    starts_as(".b8 x[][2][2] = {{{1}, {2, 3}}, {{4}}}", "\x01\0\x02\x03\x04\0\0\0", 8);
    starts_as(".v2 .b8 x[2] = {{1, 2}, {3, 4}}", "\x01\x02\x03\x04", 4);
    good(HEAD ".const .f32 one = 1.0, two[2] = {2.0}, none;\n.global .u8 n = 7;\n");
    assert_memory_equal(variable("one")->init, "\0\0\x80\x3f", 4);
    assert_memory_equal(variable("two")->init, "\0\0\0\x40\0\0\0\0", 8);
    assert_null(variable("none")->init);
    assert_memory_equal(variable("n")->init, "\x07", 1);
}

/* ---- instructions ---- */

/* The table has only registers that instructions name, in the order of their first use. */
static void registers(void **state)
{
    (void)state;
    body(".reg .pred %p<3>, q; .reg .b32 %r<1000000>; .reg .b16 s, t, $u, _v;\n.reg .b64 %SP; .reg .b128 w; .reg .f32 %r1<3>;\n"
         "mov.u32 %r999999, %r7; mov.b16 t, s; mov.b64 %SP, %SP; setp.ne.s32 q, %r7, 0; mov.u32 %r2, %r0; mov.f32 %r17, %r2;");
    static const struct {
        const char *name;
        int         type;
    } want[] = {
        {"%r999999", GS_PTX_B32}, {"%r7", GS_PTX_B32}, {"t", GS_PTX_B16}, {"s", GS_PTX_B16}, {"%SP", GS_PTX_B64}, {"q", GS_PTX_PRED},
        {"%r2", GS_PTX_B32},      {"%r0", GS_PTX_B32}, {"%r17", GS_PTX_B32},
    };
    assert_int_equal(entry->registers, GS_COUNT(want));
    for (size_t i = 0; i < GS_COUNT(want); i++) {
        assert_string_equal(entry->reg[i].name, want[i].name);
        assert_int_equal(entry->reg[i].type, want[i].type);
    }
    assert_int_equal(operand(4, 0)->index, operand(5, 1)->index);
    bad_body(".reg .b32 %r12; .reg .b32 %r<20>;\nmov.u32 %r12, 0;", GS_ERROR_PARSE, "line 7: mov.u32: \"%r12\" is declared twice");
    good(HEAD ".entry a { .reg .b32 r<700000>; }\n.entry b { .reg .b32 r<700000>; }");   /* the limit is per entry */
    bad_body(".reg .b32 %r<20>; .reg .f32 %r1<3>;\nmov.u32 %r12, 0;", GS_ERROR_PARSE, "line 7: mov.u32: \"%r12\" is declared twice");
}

/* The largest number is accepted wherever a number may occur. */
static void largest_numbers(void **state)
{
    (void)state;
    good(HEAD ".section .debug_str { }\n.section name { .b8 1; }");
    good(HEAD ".file 65535 \"a\"\n.file 1 \"b\", 18446744073709551615, 18446744073709551615\n");
    good(HEAD ".file 1 \"b\"\n.entry a { .loc 1 2147483647 2147483647\ni; }");
    assert_int_equal(at(0)->line, 6);
}

static void register_scopes(void **state)
{
    (void)state;
    body(".reg .b32 %r<4>, p;\nmov.b32 p, %r1;\n{ .reg .pred p; .reg .b64 %r<2>; setp.eq.u64 p, %r1, 0; mov.b32 %r3, %r2;\n"
         "{ .reg .f32 p; mov.f32 p, 0f00000000; } setp.eq.u64 p, %r0, 0; }\n{ .reg .pred p; @p ret; }\nmov.b32 p, %r1;");
    static const int type[] = {GS_PTX_B32, GS_PTX_PRED, GS_PTX_F32, GS_PTX_PRED, GS_PTX_B32};
    static const int where[] = {0, 1, 3, 4, 6};
    for (size_t i = 0; i < GS_COUNT(type); i++) {
        assert_string_equal(register_name(operand(where[i], 0)), "p");
        assert_int_equal(entry->reg[operand(where[i], 0)->index].type, type[i]);
    }
    assert_int_equal(operand(0, 0)->index, operand(6, 0)->index);
    assert_int_equal(operand(1, 0)->index, operand(4, 0)->index);
    assert_string_equal(register_name(operand(1, 1)), "%r1");
    assert_int_equal(entry->reg[operand(1, 1)->index].type, GS_PTX_B64);
    assert_int_equal(entry->reg[operand(6, 1)->index].type, GS_PTX_B32);
    assert_int_equal(entry->reg[operand(2, 0)->index].type, GS_PTX_B32);   /* %r3: beyond the inner range */
    assert_int_equal(entry->reg[at(5)->guard].type, GS_PTX_PRED);
    assert_int_not_equal(at(5)->guard, operand(1, 0)->index);
    body(".reg .b32 %r<4>; neg %r1;\n{ .reg .b64 x<2>; neg %r1; neg x1; }");   /* outer ranges do not hide the register of another range */
    assert_int_equal(operand(0, 0)->index, operand(1, 0)->index);
    assert_int_equal(entry->registers, 2);
}

static void opcodes(void **state)
{
    (void)state;
    body(".reg .b32 %r<9>; .reg .b64 %rd<9>;\nret;\nret ;add .s32 %r1, %r2,3; bar.sync 0;\n"
         "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r1, %r2}], [%r3];\n"
         "wgmma.fence.sync.aligned; add.s32 %r1,%r2,/* three */3;");
    static const char *const parts[] = {"cp", "async", "bulk", "tensor", "2d", "shared::cluster", "global", "mbarrier::complete_tx::bytes"};
    assert_int_equal(entry->instructions, 7);
    assert_string_equal(at(0)->name, "ret");
    assert_int_equal(at(0)->parts, 1);
    assert_int_equal(at(0)->operands, 0);
    assert_int_equal(at(0)->line, 7);
    assert_int_equal(at(1)->line, 8);
    assert_ptr_equal(at(0)->name, at(1)->name);
    assert_string_equal(at(2)->name, "add.s32");
    assert_ptr_equal(at(2)->name, at(6)->name);
    assert_ptr_equal(at(2)->part[1], at(6)->part[1]);
    assert_string_equal(at(2)->part[1], "s32");
    assert_string_equal(at(2)->part[2], "");
    assert_string_equal(at(0)->part[GS_PTX_PARTS - 1], "");
    assert_int_equal(at(4)->parts, GS_COUNT(parts));
    for (size_t i = 0; i < GS_COUNT(parts); i++) assert_string_equal(at(4)->part[i], parts[i]);
    assert_string_equal(at(5)->name, "wgmma.fence.sync.aligned");
    assert_int_equal(at(5)->operands, 0);
    assert_int_equal(at(4)->guard, -1);
}

static void guards(void **state)
{
    (void)state;
    body(".reg .pred %p<3>; .reg .b32 x;\n@%p1 ret;\n@!%p2 ret;\n@ ! %p1\n ret;");
    assert_string_equal(entry->reg[at(0)->guard].name, "%p1");
    assert_false(at(0)->guard_not);
    assert_string_equal(entry->reg[at(1)->guard].name, "%p2");
    assert_true(at(1)->guard_not);
    assert_int_equal(at(2)->guard, at(0)->guard);
    assert_true(at(2)->guard_not);
    assert_int_equal(at(2)->line, 9);
    bad_body(".reg .b32 x;\n@x ret;", GS_ERROR_PARSE, "line 7: \"x\" stands where a predicate register");
    bad_body("@y ret;", GS_ERROR_PARSE, "line 6: ");
    bad_body(".reg .pred p;\n@p l: ret;", GS_ERROR_PARSE, "line 7: ");
    bad_body(".reg .pred p;\n@p { ret; }", GS_ERROR_PARSE, "line 7: ");
}


static void is_float(int instruction, bool wide, uint64_t bits)
{
    const gs_ptx_operand *const o = operand(instruction, 0);
    assert_int_equal(o->kind, GS_PTX_FLOAT);
    assert_int_equal(o->wide, wide);
    assert_true(o->bits == bits);
}

static void numbers(void **state)
{
    (void)state;
    body("i 0, 7, -1, 0x1F, 0X1fU, 017, 0b1011, 18446744073709551615, -9223372036854775808, +5, - 3, 42U, 0xffffffffffffffff, 0U;\n"
         "f 0f3F800000; f 0fff800000; f 0d3FF0000000000000; f 1.5; f -1.5; f .5; f 1.; f 1e5; f 25e-2; f 0.1; f 123456789012345678901234567890.0;\n"
         "f 1e-400; f 0e5; f 1e999999999999; f 0F7fc00000; f 4.9406564584124654e-324;");
    static const uint64_t integers[] = {
        0, 7, UINT64_MAX, 31, 31, 15, 11, UINT64_MAX, 1ull << 63, 5, (uint64_t)-3, 42, UINT64_MAX, 0,
    };
    for (int i = 0; i < (int)GS_COUNT(integers); i++) is_integer(0, i, integers[i]);
    static const struct {
        bool     wide;
        uint64_t bits;
    } floats[] = {
        {false, 0x3f800000}, {false, 0xff800000}, {true, 0x3ff0000000000000}, {true, 0x3ff8000000000000}, {true, 0xbff8000000000000},
        {true, 0x3fe0000000000000}, {true, 0x3ff0000000000000}, {true, 0x40f86a0000000000}, {true, 0x3fd0000000000000}, {true, 0x3fb999999999999a},
        {true, 0x45f8ee90ff6c373e}, {true, 0}, {true, 0}, {true, 0x7ff0000000000000}, {false, 0x7fc00000}, {true, 1},
    };
    assert_int_equal(entry->instructions, 1 + GS_COUNT(floats));
    for (int i = 0; i < (int)GS_COUNT(floats); i++) is_float(1 + i, floats[i].wide, floats[i].bits);
    static const char *const wrong[] = {
        "0x", "08", "0b2", "0b", "12a", "1u", "0f3f80000", "0f3f8000000", "0fgf800000", "0d3f800000", "1e", "1e+", "1.2.3", "1.5U", "0x1g", "1_0",
    };
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        char text[64];
        snprintf(text, sizeof text, "\n\ni 1, %s;", wrong[i]);
        bad_body(text, GS_ERROR_PARSE, "line 8: i: ");
    }
    bad_body("i 18446744073709551616;", GS_ERROR_PARSE, "more than 64 bits");
    bad_body("i 0x10000000000000000;", GS_ERROR_PARSE, "more than 64 bits");
    bad_body("i -0f3f800000;", GS_ERROR_PARSE, "sign");
}

static void scalars(void **state)
{
    (void)state;
    body(".reg .b32 %r<5>; .reg .pred %p<3>; .shared .b32 s[4];\n"
         "x %r1, !%p1, -%r2, _, %tid.x, %laneid, WARP_SZ, %cluster_ctarank, %ntid.z, %tid, %pm7, %envreg31, %clock64, %pm3_64;\n"
         "mov.u64 s, s+8, s-4, a, a + 0x10, s+-8;");
    static const char *const special[] = {
        "%tid.x", "%laneid", "WARP_SZ", "%cluster_ctarank", "%ntid.z", "%tid", "%pm7", "%envreg31", "%clock64", "%pm3_64",
    };
    assert_string_equal(register_name(operand(0, 0)), "%r1");
    assert_false(operand(0, 0)->negated);
    assert_string_equal(register_name(operand(0, 1)), "%p1");
    assert_true(operand(0, 1)->negated);
    assert_string_equal(register_name(operand(0, 2)), "%r2");
    assert_true(operand(0, 2)->negated);
    assert_int_equal(operand(0, 3)->kind, GS_PTX_SINK);
    for (int i = 0; i < (int)GS_COUNT(special); i++) {
        assert_int_equal(operand(0, 4 + i)->kind, GS_PTX_SPECIAL);
        assert_string_equal(operand(0, 4 + i)->name, special[i]);
    }
    static const int64_t offset[] = {0, 8, -4, 0, 16, -8};
    for (int i = 0; i < (int)GS_COUNT(offset); i++) {
        assert_int_equal(operand(1, i)->kind, GS_PTX_VARIABLE);
        assert_ptr_equal(&module->variable[operand(1, i)->index], variable(i == 3 || i == 4 ? "a" : "s"));
        assert_int_equal(operand(1, i)->offset, offset[i]);
    }
    body(".reg .b32 %laneid; mov.u32 %laneid, %laneid;");   /* a declared register hides the special one */
    assert_string_equal(register_name(operand(0, 1)), "%laneid");
}

static void addresses(void **state)
{
    (void)state;
    body(".reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .b8 s[64];\n"
         "x [%rd1], [%rd1+8], [%rd1 + -16], [%rd1-4], [s], [s+0x20], [a], [4096], [4096+8], [ %rd2 ];\n"
         "cp [%r1], [%rd1+64, {%r2, 7, %r3}], [%r4];");
    static const struct {
        int     kind;
        int64_t offset;
    } want[] = {
        {GS_PTX_REGISTER, 0}, {GS_PTX_REGISTER, 8},  {GS_PTX_REGISTER, -16}, {GS_PTX_REGISTER, -4}, {GS_PTX_VARIABLE, 0},
        {GS_PTX_VARIABLE, 32}, {GS_PTX_VARIABLE, 0}, {GS_PTX_INTEGER, 0},    {GS_PTX_INTEGER, 8},   {GS_PTX_REGISTER, 0},
    };
    for (int i = 0; i < (int)GS_COUNT(want); i++) {
        const gs_ptx_operand *const o = operand(0, i);
        assert_int_equal(o->kind, GS_PTX_ADDRESS);
        assert_int_equal(o->offset, want[i].offset);
        assert_int_equal(o->children, 1);
        assert_int_equal(child(o, 0)->kind, want[i].kind);
        assert_int_equal(child(o, 0)->offset, 0);
    }
    assert_ptr_equal(&module->variable[child(operand(0, 5), 0)->index], variable("s"));
    assert_int_equal(child(operand(0, 8), 0)->bits, 4096);
    const gs_ptx_operand *const tensor = operand(1, 1);
    assert_int_equal(at(1)->operands, 3);
    assert_int_equal(tensor->children, 4);
    assert_int_equal(tensor->offset, 64);
    assert_string_equal(register_name(child(tensor, 0)), "%rd1");
    assert_string_equal(register_name(child(tensor, 1)), "%r2");
    assert_int_equal(child(tensor, 2)->bits, 7);
    assert_string_equal(register_name(child(tensor, 3)), "%r3");
    assert_string_equal(register_name(child(operand(1, 2), 0)), "%r4");
}

static void vectors_and_pairs(void **state)
{
    (void)state;
    body(".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred p, %p<3>;\n"
         "mov.b64 {%r1, %r2}, %rd3; mov.b64 %rd1, {_, 5}; shfl.sync.idx.b32 %r2|%p1, %r3, 0, 31, -1; elect.sync _|p, 0xffffffff;\n"
         "wgmma.x {%f1,%f2, %f3,%f4}, %rd1, %rd2, p, 1, -1, 0, 1;\nsetp.lt.and.s32 p | %p2, %r1, %r2, !%p1; st [%rd1], {1.0, -%f1, a+4};");
    assert_int_equal(operand(0, 0)->kind, GS_PTX_VECTOR);
    assert_int_equal(operand(0, 0)->children, 2);
    assert_string_equal(register_name(child(operand(0, 0), 1)), "%r2");
    assert_string_equal(register_name(operand(0, 1)), "%rd3");
    assert_int_equal(child(operand(1, 1), 0)->kind, GS_PTX_SINK);
    assert_int_equal(child(operand(1, 1), 1)->bits, 5);
    assert_int_equal(at(2)->operands, 5);
    assert_int_equal(operand(2, 0)->kind, GS_PTX_PAIR);
    assert_int_equal(operand(2, 0)->children, 2);
    assert_string_equal(register_name(child(operand(2, 0), 0)), "%r2");
    assert_string_equal(register_name(child(operand(2, 0), 1)), "%p1");
    assert_int_equal(child(operand(3, 0), 0)->kind, GS_PTX_SINK);
    assert_string_equal(register_name(child(operand(3, 0), 1)), "p");
    assert_int_equal(at(4)->operands, 8);
    assert_int_equal(operand(4, 0)->children, 4);
    assert_string_equal(register_name(child(operand(4, 0), 3)), "%f4");
    assert_string_equal(register_name(operand(4, 3)), "p");
    is_integer(4, 5, UINT64_MAX);
    assert_string_equal(register_name(child(operand(5, 0), 1)), "%p2");
    assert_true(operand(5, 3)->negated);
    assert_int_equal(child(operand(6, 1), 0)->kind, GS_PTX_FLOAT);
    assert_true(child(operand(6, 1), 1)->negated);
    assert_int_equal(child(operand(6, 1), 2)->offset, 4);
}

/* The longest possible vector, and one more. */
static void long_vectors(void **state)
{
    (void)state;
    static char text[16384];
    for (int count = 512; count <= 513; count++) {
        int size = snprintf(text, sizeof text, KERNEL ".reg .f32 f<600>;\nx {f0");
        for (int i = 1; i < count; i++) size += snprintf(text + size, sizeof text - (size_t)size, ", f%d", i);
        snprintf(text + size, sizeof text - (size_t)size, "}, 1;\n}");
        if (count == 513) {
            bad(text, GS_ERROR_RANGE, "line 7: x: a list of more than 512");
            return;
        }
        good(text);
        assert_int_equal(operand(0, 0)->children, 512);
        assert_string_equal(register_name(child(operand(0, 0), 511)), "f511");
        is_integer(0, 1, 1);
    }
}


static void labels(void **state)
{
    (void)state;
    body("$L__BB0_1:\nbra $L__BB0_2; bra.uni $L__BB0_1;\n$L__BB0_2: ret; bra end; end:");
    is_label(0, 0, 2);
    is_label(1, 0, 0);
    is_label(3, 0, 4);
    assert_int_equal(entry->instructions, 4);
    assert_int_equal(at(2)->line, 8);
    /* Each block has its own labels, also if an outer block has the same name; other labels are looked up in the outer blocks, before and after it. */
    body("{ again: bra again; bra done; done: } { again: bra done; bra again; done : bra out; }\nagain: { bra again; { bra out; again: } }\n"
         "{ .reg .pred again; bra again; }\nout: bra again;");
    static const int target[] = {0, 2, 4, 2, 8, 5, 8, 5, 5};
    assert_int_equal(entry->instructions, GS_COUNT(target));
    for (int i = 0; i < (int)GS_COUNT(target); i++) is_label(i, 0, target[i]);
    body("x: ret; { { bra x; } x: ret; }");   /* the nearest label, even if it comes last */
    is_label(1, 0, 2);
    body("x later; later: ret;");   /* labels are not only for branches */
    is_label(0, 0, 1);
    bad_body("bra x;\n{ x: }\nret;", GS_ERROR_PARSE, "line 6: bra: nothing here is named \"x\"");
    bad_body("ret;\nbra y;\n{ bra.uni z; }\n", GS_ERROR_PARSE, "line 7: bra: nothing here is named \"y\"");
    bad_body("l: ret;\nl: ret;", GS_ERROR_PARSE, "line 7: \"l\" is declared twice");
    bad_body(".reg .b32 l;\nl: ret;", GS_ERROR_PARSE, "line 7: \"l\" is declared twice");
}

static void is_at(int instruction, int file, int line, int at_file, int at_line)
{
    const gs_ptx_location *const l = &at(instruction)->location;
    assert_int_equal(l->file, file);
    assert_int_equal(l->line, line);
    assert_int_equal(l->at_file, at_file);
    assert_int_equal(l->at_line, at_line);
}

static void locations(void **state)
{
    (void)state;
    body("i;\n.loc 1 10 5\ni; i;\n.loc 1 342 17\n.loc\t1 130 5, function_name $L__info_string10, inlined_at 1 342 17\n"
         ".loc 4 12 33, function_name $L__info_string14+10, inlined_at 1 130 5\ni;\n"          /* 3: two levels, in 1:342 */
         ".loc 5 9 1, function_name x, inlined_at 4 12 33\n{ i; }\n"                           /* 4: three levels */
         ".loc 2 7 1, function_name x, inlined_at 1 77 5\ni;\n.loc 1 0 5\ni;\n"                /* 5: 1:77 is unknown; 6: line 0 */
         ".loc 1 130 5, function_name x, inlined_at 1 319 21\ni;\n"                            /* 7: 1:130 again, inlined elsewhere */
         ".loc 4 12 33, function_name x, inlined_at 1 130 5\ni;\n");                           /* 8: ambiguous: there were two of 1:130 */
    is_at(0, 0, 0, 0, 0);
    is_at(1, 1, 10, 0, 0);
    is_at(2, 1, 10, 0, 0);
    is_at(3, 4, 12, 1, 342);
    is_at(4, 5, 9, 1, 342);
    is_at(5, 2, 7, 1, 77);
    is_at(6, 1, 0, 0, 0);
    is_at(7, 1, 130, 1, 319);
    is_at(8, 4, 12, 1, 130);
    /* another entry does not use the first one's lines */
    good(HEAD ".entry a { .loc 1 5 1, function_name x, inlined_at 1 20 1\ni; }\n.entry b { i;\n.loc 2 3 1, function_name x, inlined_at 1 5 1\ni; }");
    is_at(0, 1, 5, 1, 20);
    entry = &module->entry[1];
    is_at(0, 0, 0, 0, 0);
    is_at(1, 2, 3, 1, 5);
}

/* A text of realistic length that uses its registers out of order. */
static void many_registers(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    char *const text = PTX_MALLOC(COUNT * 32);
    int size = sprintf(text, KERNEL ".reg .b32 %%r<%d>;\n", COUNT);
    for (int i = 0; i < COUNT; i++) size += sprintf(text + size, "neg.s32 %%r%d, %%r%d;\n", COUNT - 1 - i, i);
    sprintf(text + size, "}\n");
    good(text);
    free(text);
    assert_int_equal(entry->instructions, COUNT);
    assert_int_equal(entry->registers, COUNT);
    assert_int_equal(entry->operands, 2 * COUNT);
    char name[16];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "%%r%d", i);
        assert_string_equal(register_name(operand(i, 1)), name);
        assert_int_equal(operand(i, 1)->index, operand(COUNT - 1 - i, 0)->index);
        assert_int_equal(at(i)->line, 7 + i);
    }
}

/* Each ~ stands for blanks of any kind, or for nothing. */
static void blanks_say_nothing(void **state)
{
    (void)state;
    static const char *const statements[] = {
        ".reg~ .b32~ %r<4>~;", ".reg .b32 x~,~y~;", ".reg .pred~ p~,~q~;", ".reg .b64 %d~<~3~>~;", ".reg .b32 A1, Z9, z9, _u, $v;", ".shared .align~ 16~ .b8 buf~[~64~]~;",
        "mov.u32~ %r1~,~-~5~;", "sub.s32~ %r1~,~-~%r2~,~x~;", "sub.s32 y~,~-~x~,~+~3~;", "sub.s32 A1~,~-~Z9~,~-~z9~;", "sub.s32 $v~,~-~_u~,~-~$v~;", "sub.s32 A1~,~-~A1~,~-~9~;", "mov.u32 %r1~,~buf~+~4~;", "mov.u32 %r1~,~buf~-~4~;",
        "@~p~ mov.u32~ %r1~,~%tid.x~;", "@~!~p ld.global.u32~ %r1~,~[~%d1~+~8~]~;", "ld.global.v2.u32~ {~%r1~,~x~}~,~[~%d1~-~8~]~;", "and.pred~ p~,~q~,~!~q~;",
        "setp.eq.u32~ p~|~q~,~%r1~,~0~;", "st.shared.u32~ [~buf~]~,~_~;", "LOOP~:~@p bra~ LOOP~;", "mov.f32~ x~,~0f3f800000~;",
    };
    static const char *const fillers[] = {"", " ", "\t", "\t  \t"};
    gs_ptx_operand *wanted = NULL;
    int operands = 0, instructions = 0;
    for (size_t f = 0; f < GS_COUNT(fillers); f++) {
        char text[8192] = "";
        for (size_t i = 0; i < GS_COUNT(statements); i++) {
            for (const char *c = statements[i]; *c; c++) strncat(text, *c == '~' ? fillers[f] : c, *c == '~' ? strlen(fillers[f]) : 1);
            strcat(text, "\n");
        }
        body(text);
        if (f == 0) {
            operands = entry->operands, instructions = entry->instructions;
            wanted = malloc((size_t)operands * sizeof *wanted);
            memcpy(wanted, entry->operand, (size_t)operands * sizeof *wanted);
            assert_true(operand(1, 1)->negated && operand(2, 1)->negated && operand(0, 1)->bits == (uint64_t)-5);
        }
        assert_int_equal(entry->operands, operands);
        assert_int_equal(entry->instructions, instructions);
        for (int i = 0; i < operands; i++) {
            const gs_ptx_operand *const a = &entry->operand[i], *const b = &wanted[i];
            assert_true(a->kind == b->kind && a->negated == b->negated && a->index == b->index && a->bits == b->bits && a->offset == b->offset && a->child == b->child && a->children == b->children);
        }
    }
    free(wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(types, teardown),
        cmocka_unit_test_teardown(head, teardown),
        cmocka_unit_test_teardown(files_and_sections, teardown),
        cmocka_unit_test_teardown(parameters, teardown),
        cmocka_unit_test_teardown(performance, teardown),
        cmocka_unit_test_teardown(variables, teardown),
        cmocka_unit_test_teardown(initialisers, teardown),
        cmocka_unit_test_teardown(registers, teardown),
        cmocka_unit_test_teardown(register_scopes, teardown), cmocka_unit_test_teardown(largest_numbers, teardown),
        cmocka_unit_test_teardown(opcodes, teardown),
        cmocka_unit_test_teardown(guards, teardown),
        cmocka_unit_test_teardown(numbers, teardown),
        cmocka_unit_test_teardown(scalars, teardown),
        cmocka_unit_test_teardown(addresses, teardown),
        cmocka_unit_test_teardown(vectors_and_pairs, teardown),
        cmocka_unit_test_teardown(long_vectors, teardown),
        cmocka_unit_test_teardown(labels, teardown),
        cmocka_unit_test_teardown(locations, teardown),
        cmocka_unit_test_teardown(many_registers, teardown),
        cmocka_unit_test_teardown(blanks_say_nothing, teardown),
    };
    return run_without_leaks("ptx", tests, sizeof tests / sizeof *tests);
}
