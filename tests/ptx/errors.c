/* SPDX-License-Identifier: MIT
 * The PTX parser: what it refuses, with code, line and message; and its limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/leaks.h"
#include "ptx.h"

static void module_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        gs_status   status;
        const char *message;
    } all[] = {
        {"",                                            GS_ERROR_PARSE,       "line 1: the text ends where .version"},
        {"\n.target sm_90",                             GS_ERROR_PARSE,       "line 2: \".target\" stands where .version"},
        {".version 9",                                  GS_ERROR_PARSE,       "line 1: "},
        {".version 6.5 .target sm_70",                  GS_ERROR_UNSUPPORTED, "line 1: PTX ISA 6.5"},
        {".version 9.0\n.entry k { }",                  GS_ERROR_PARSE,       "line 2: \".entry\" stands where .target"},
        {".version 9.0\n.target tesla",                 GS_ERROR_PARSE,       "line 2: "},
        {".version 9.0\n.target sm_90a_and_much_more",  GS_ERROR_PARSE,       "line 2: "},
        {".version 9.0 .target sm_90\n.address_size 32", GS_ERROR_UNSUPPORTED, "line 2: addresses"},
        {HEAD "\n/* open",                              GS_ERROR_PARSE,       "line 5: a comment"},
        {HEAD "/* a\nb */ // c\n;",                     GS_ERROR_PARSE,       "line 6: \";\" stands where a directive"},
        {HEAD ".file 1 \"open\n\"",                     GS_ERROR_PARSE,       "line 4: a string"},
        {HEAD ".file 65536 \"a\"",                      GS_ERROR_RANGE,       "line 4: 65536"},
        {HEAD ".section 5 { }",                         GS_ERROR_PARSE,       "line 4: \"5\" stands where the name of a section"},
        {HEAD ".section .debug_str\n{ { }\n",           GS_ERROR_PARSE,       "line 4: a block that is never closed"},
        {HEAD ".section .debug_str }",                  GS_ERROR_PARSE,       "line 4: a block that is never opened"},
        {HEAD "\x01",                                   GS_ERROR_PARSE,       "line 4: a byte 0x01"},
        {HEAD "mov",                                    GS_ERROR_PARSE,       "line 4: \"mov\" stands where a directive"},
        {HEAD "\n.extern .func (.param .b32 r) vprintf(.param .b64 a);", GS_ERROR_UNSUPPORTED, "line 5: .func"},
        {HEAD ".extern .entry k();",                    GS_ERROR_UNSUPPORTED, "line 4: .entry"},
        {HEAD ".alias a, b;",                           GS_ERROR_UNSUPPORTED, "line 4: .alias"},
        {HEAD ".global .texref t;",                     GS_ERROR_UNSUPPORTED, "line 4: .texref"},
        {HEAD ".global .attribute(.managed) .b32 t;",   GS_ERROR_UNSUPPORTED, "line 4: .attribute"},
        {HEAD ".reg .b32 r;",                           GS_ERROR_UNSUPPORTED, "line 4: registers outside"},
        {HEAD ".local .b32 r;",                         GS_ERROR_UNSUPPORTED, "line 4: .local"},
        {HEAD ".param .b32 r;",                         GS_ERROR_UNSUPPORTED, "line 4: .param"},
        {HEAD ".global .u32 x;\n.global .u32 x;",       GS_ERROR_PARSE,       "line 5: \"x\" is declared twice"},
        {HEAD ".extern .shared .b8 x[];\n.shared .b8 x[4];", GS_ERROR_PARSE,  "line 5: \"x\" is declared twice"},
        {HEAD ".entry k { }\n.entry k { }",             GS_ERROR_PARSE,       "line 5: \"k\" is declared twice"},
        {HEAD ".entry k();",                            GS_ERROR_PARSE,       "line 4: \";\" stands where \"{\""},
        {HEAD ".entry\nk() { ret;",                     GS_ERROR_PARSE,       "line 5: the text ends where the end of the entry"},
        {HEAD ".entry k() .frobnicate { }",             GS_ERROR_UNSUPPORTED, "line 4: .frobnicate"},
        {HEAD ".entry k() .maxntid 1,2,3,4 { }",        GS_ERROR_PARSE,       "line 4: "},
        {HEAD ".entry k() .maxntid 4294967296 { }",     GS_ERROR_RANGE,       "line 4: "},
        {HEAD ".entry k(.param .u32 a,\n.param .u32 a) { }", GS_ERROR_PARSE,  "line 5: \"a\" is declared twice"},
        {HEAD ".entry k(.reg .u32 a) { }",              GS_ERROR_PARSE,       "line 4: \".reg\" stands where .param"},
        {HEAD ".entry k(.param .u32) { }",              GS_ERROR_PARSE,       "line 4: \")\" stands where a name"},
        {HEAD ".entry k(.param .v2 .u32 a) { }",        GS_ERROR_UNSUPPORTED, "line 4: vector parameters"},
        {HEAD ".entry k(.param .b8 a[]) { }",           GS_ERROR_PARSE,       "line 4: \"a\" has no size"},
        {HEAD ".entry k(.param .b8 a[32764], .param .b8 b) { }", GS_ERROR_RANGE, "line 4: more than 32764"},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) bad(all[i].text, all[i].status, all[i].message);
}

static void variable_errors(void **state)
{
    (void)state;
    static const struct {
        const char *declaration;
        gs_status   status;
        const char *message;
    } all[] = {
        {".global x;",                                 GS_ERROR_PARSE,       "a type"},
        {".global .u32 .u8 x;",                        GS_ERROR_PARSE,       "one type only"},
        {".global .pred x;",                           GS_ERROR_PARSE,       "a predicate"},
        {".global .frob .u32 x;",                      GS_ERROR_UNSUPPORTED, ".frob in a variable"},
        {".global .shared .u32 x;",                    GS_ERROR_UNSUPPORTED, ".shared in a variable"},
        {".const[2] .u32 x;",                          GS_ERROR_PARSE,       "\"[\" stands"},
        {".global .u32 x",                             GS_ERROR_PARSE,       "\";\" must stand"},
        {".global .u32 _;",                            GS_ERROR_PARSE,       "a name"},
        {".global .align 3 .u32 x;",                   GS_ERROR_PARSE,       "no power of two"},
        {".global .align 0 .u32 x;",                   GS_ERROR_PARSE,       "no power of two"},
        {".global .align 131072 .u32 x;",              GS_ERROR_RANGE,       "131072"},
        {".shared .u32 x[];",                          GS_ERROR_PARSE,       "has no size"},
        {".global .u32 x[0];",                         GS_ERROR_PARSE,       "has no size"},
        {".global .u32 x[2][];",                       GS_ERROR_PARSE,       "a whole number"},
        {".global .u32 x[2*2];",                       GS_ERROR_PARSE,       "\"]\""},
        {".global .b8 x[1073741825];",                 GS_ERROR_RANGE,       "larger than"},
        {".global .b64 x[134217729];",                 GS_ERROR_RANGE,       "larger than"},
        {".global .b8 x[65536][65536][65536][65536];", GS_ERROR_RANGE,       "larger than"},
        {".global .b8 x[1][1][1][1][1][1][1][1][1];",  GS_ERROR_RANGE,       "dimensions"},
        {".shared .u32 x = 1;",                        GS_ERROR_PARSE,       "only .global and .const"},
        {".extern .global .u32 x = 1;",                GS_ERROR_PARSE,       "only .global and .const"},
        {".global .u64 x = y;",                        GS_ERROR_UNSUPPORTED, "an address"},
        {".global .u64 x[2] = {1, generic(y)};",       GS_ERROR_UNSUPPORTED, "an address"},
        {".global .u32 x = (1);",                      GS_ERROR_UNSUPPORTED, "an expression"},
        {".global .u32 x = 1 + 1;",                    GS_ERROR_PARSE,       "\"+\" stands"},
        {".global .f32 x = 1;",                        GS_ERROR_PARSE,       "another type"},
        {".global .u32 x = 1.0;",                      GS_ERROR_PARSE,       "another type"},
        {".global .b16 x = 0f3f800000;",               GS_ERROR_PARSE,       "another type"},
        {".global .f16 x = 1;",                        GS_ERROR_UNSUPPORTED, "does not allow"},
        {".global .b128 x = 1;",                       GS_ERROR_UNSUPPORTED, "128 bits"},
        {".global .u32 x = {1};",                      GS_ERROR_PARSE,       "a number"},
        {".global .u32 x[1] = 1;",                     GS_ERROR_PARSE,       "\"{\" must stand"},
        {".global .u32 x[1] = {1, 2};",                GS_ERROR_PARSE,       "more values"},
        {".global .u32 x[2][1] = {{1, 2}};",           GS_ERROR_PARSE,       "more values"},
        {".global .u32 x[1][1] = {{1}, {2}};",         GS_ERROR_PARSE,       "more values"},
        {".global .u32 x[2][2] = {1, 2};",             GS_ERROR_PARSE,       "\"{\" must stand"},
        {".global .u32 x[2] = {1, };",                 GS_ERROR_PARSE,       "a number"},
        {".global .u32 x[2] = {};",                    GS_ERROR_PARSE,       "a number"},
        {".global .b8 x[4194304] = {1};",              GS_ERROR_RANGE,       "can stand for"},
        {".global .b8 x[][4194304] = {{1}, {2}};",     GS_ERROR_RANGE,       "can stand for"},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        char text[256], message[128];
        snprintf(text, sizeof text, HEAD "\n%s\n", all[i].declaration);
        bad(text, all[i].status, all[i].message);
        snprintf(message, sizeof message, "line %d: ", strchr(all[i].declaration, ';') ? 5 : 6);
        bad(text, all[i].status, message);
    }
}

static void body_errors(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        gs_status   status;
        const char *message;
    } all[] = {
        {"add.s32 r, r, r",                         GS_ERROR_PARSE,       "line 8: add.s32: \"}\" stands"},
        {"add.s32 r, r r;",                         GS_ERROR_PARSE,       "line 7: add.s32: \"r\" stands where"},
        {"add.s32 r, ;",                            GS_ERROR_PARSE,       "line 7: add.s32: \";\" stands where an operand"},
        {"add.s32 , r;",                            GS_ERROR_PARSE,       "line 7: add.s32: \",\" stands where an operand"},
        {"add.s32 r, nothing;",                     GS_ERROR_PARSE,       "line 7: add.s32: nothing here is named \"nothing\""},
        {"add.s32 r, %r5;",                         GS_ERROR_PARSE,       "nothing here is named \"%r5\""},
        {"add.s32 r, %r01;",                        GS_ERROR_PARSE,       "nothing here is named \"%r01\""},
        {"add.s32 r, %pm8, %envreg32;",             GS_ERROR_PARSE,       "nothing here is named"},
        {"add.s32 {r, nothing}, r;",                GS_ERROR_PARSE,       "line 7: add.s32: nothing here is named \"nothing\""},
        {"add.s32 [nothing], r;",                   GS_ERROR_PARSE,       "nothing here is named \"nothing\""},
        {"add.s32 r, 4*2;",                         GS_ERROR_UNSUPPORTED, "line 7: add.s32: an expression"},
        {"add.s32 r, 4|2;",                         GS_ERROR_UNSUPPORTED, "an expression"},
        {"add.s32 r, ~2;",                          GS_ERROR_UNSUPPORTED, "an expression"},
        {"add.s32 r, (2);",                         GS_ERROR_UNSUPPORTED, "brackets"},
        {"add.s32 r, !1;",                          GS_ERROR_UNSUPPORTED, "an expression"},
        {"add.s32 r, !a;",                          GS_ERROR_UNSUPPORTED, "no register"},
        {"add.s32 r, !nothing;",                    GS_ERROR_PARSE,       "nothing here"},
        {"add.s32 r, r.x;",                         GS_ERROR_UNSUPPORTED, "a component"},
        {"add.s32 r, %tid.q;",                      GS_ERROR_UNSUPPORTED, "a component"},
        {"add.s32 r, %laneid.x;",                   GS_ERROR_UNSUPPORTED, "a component"},
        {"add.s32 r, a[2];",                        GS_ERROR_UNSUPPORTED, "an expression"},
        {"add.s32 r, a+r;",                         GS_ERROR_UNSUPPORTED, "a sum of names"},
        {"add.s32 r, a+1+1;",                       GS_ERROR_UNSUPPORTED, "an expression"},
        {"add.s32 r, a+1.5;",                       GS_ERROR_PARSE,       "whole number"},
        {"add.s32 {r, {r, r}}, r;",                 GS_ERROR_UNSUPPORTED, "a list inside a list"},
        {"add.s32 {r, [r]}, r;",                    GS_ERROR_UNSUPPORTED, "a list inside a list"},
        {"add.s32 {}, r;",                          GS_ERROR_PARSE,       "\"}\" stands where an operand"},
        {"add.s32 {r; r}, r;",                      GS_ERROR_PARSE,       "\";\" stands where \",\" or \"}\""},
        {"add.s32 {r, r}|p, r;",                    GS_ERROR_UNSUPPORTED, "an expression"},
        {"add.s32 r|p|p, r;",                       GS_ERROR_UNSUPPORTED, "an expression"},
        {"add.s32 r|{p}, r;",                       GS_ERROR_UNSUPPORTED, "a list inside a list"},
        {"add.s32 [], r;",                          GS_ERROR_PARSE,       "\"]\" stands where an address"},
        {"add.s32 [-r], r;",                        GS_ERROR_UNSUPPORTED, "an expression"},
        {"add.s32 [_], r;",                         GS_ERROR_UNSUPPORTED, "an address that starts so"},
        {"add.s32 [1.5], r;",                       GS_ERROR_UNSUPPORTED, "an address that starts so"},
        {"add.s32 [%tid.x], r;",                    GS_ERROR_UNSUPPORTED, "an address that starts so"},
        {"add.s32 [r+r], r;",                       GS_ERROR_UNSUPPORTED, "a sum of names"},
        {"add.s32 [r+4*2], r;",                     GS_ERROR_UNSUPPORTED, "an expression"},
        {"add.s32 [r, r], r;",                      GS_ERROR_UNSUPPORTED, "several parts"},
        {"add.s32 [r, {r}, r], r;",                 GS_ERROR_UNSUPPORTED, "several parts"},
        {"add.s32 [r, r;",                          GS_ERROR_UNSUPPORTED, "several parts"},
        {"add.s32 [r;",                             GS_ERROR_PARSE,       "\";\" stands where \"]\""},
        {"call f, (r);",                            GS_ERROR_UNSUPPORTED, "line 7: call: calls what is no function"},
        {"call.uni (r), f, (r);",                   GS_ERROR_UNSUPPORTED, "line 7: call.uni: what is passed"},
        {"t: .branchtargets l, m;",                 GS_ERROR_UNSUPPORTED, "line 7: .branchtargets"},
        {"t: .callprototype _ ();",                 GS_ERROR_UNSUPPORTED, "line 7: .callprototype"},
        {".frob x;",                                GS_ERROR_UNSUPPORTED, "line 7: .frob"},
        {".reg .v2 .f32 x;",                        GS_ERROR_UNSUPPORTED, "line 7: vector registers"},
        {".reg .b32 x<4>; .reg .b64 x<4>;",         GS_ERROR_PARSE,       "line 7: \"x\" is declared twice"},
        {".reg .b32 r;",                            GS_ERROR_PARSE,       "line 7: \"r\" is declared twice"},
        {".reg .b32 x<;",                           GS_ERROR_PARSE,       "line 7: "},
        {".reg .b32 x<4;",                          GS_ERROR_PARSE,       "line 7: "},
        {".reg .b32 x<1048577>;",                   GS_ERROR_RANGE,       "line 7: "},
        {".reg .b32 x<1048570>, y<5>;",             GS_ERROR_RANGE,       "line 7: more than 1048576 registers"},
        {"{ .reg .b32 x<700000>; } { .reg .b32 x<700000>; }", GS_ERROR_RANGE, "line 7: more than 1048576 registers"},
        {";",                                       GS_ERROR_PARSE,       "line 7: \";\" stands where an instruction"},
        {"%r1 r;",                                  GS_ERROR_PARSE,       "line 7: \"%r1\" stands where an instruction"},
        {"5 r;",                                    GS_ERROR_PARSE,       "line 7: \"5\" stands where an instruction"},
        {"\"s\";",                                  GS_ERROR_PARSE,       "line 7: a string stands where an instruction"},
        {"bra;\nret; bra 5;",                       GS_ERROR_PARSE,       "line 8: bra: \"5\" stands where a label"},
        {".loc 1 2",                                GS_ERROR_PARSE,       "line 8: "},
        {".loc 1 2 3, inlined_at 1 2 3",            GS_ERROR_PARSE,       "line 7: \"inlined_at\" stands where function_name"},
        {".loc 1 2 3, function_name x",             GS_ERROR_PARSE,       "line 8: "},
        {".loc 1 2147483648 3",                     GS_ERROR_RANGE,       "line 7: "},
        {".pragma nounroll;",                       GS_ERROR_PARSE,       "line 7: "},
        {"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u r;", GS_ERROR_RANGE,  "line 7: "},
        {"} }",                                     GS_ERROR_PARSE,       "line 7: \"}\" stands where a directive"},
        {"add.s32 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32;", GS_ERROR_RANGE, "line 7: "},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        char text[512];
        snprintf(text, sizeof text, ".reg .b32 r, %%r<5>; .reg .pred p;\n%s", all[i].statement);
        bad_body(text, all[i].status, all[i].message);
    }
    /* quoted text in a message has a limited length */
    char text[4096] = "x";
    memset(text + 1, 'y', 3000);
    strcpy(text + 3001, " r;");
    bad_body(text, GS_ERROR_RANGE, "line 6: an opcode of more than 256");
    memcpy(text + 100, ".z ", 3);
    bad_body(text, GS_ERROR_PARSE, "line 6: ");
    memcpy(text + 100, ".zz", 3);
    bad_body(text, GS_ERROR_RANGE, "line 6: an opcode of more than 256");
    strcpy(text + 3001, ": bra z;");
    memset(text + 100, 'y', 3);
    bad_body(text, GS_ERROR_PARSE, "line 6: bra: nothing here is named \"z\"");
}

static void depth(void **state)
{
    (void)state;
    char text[1024] = "";
    for (int i = 0; i < 62; i++) strcat(text, "{ ");
    strcat(text, "bra l; ");
    for (int i = 0; i < 62; i++) strcat(text, "} ");
    strcat(text, "ret; l:");
    body(text);
    is_label(0, 0, 2);
    for (int i = 0; i < 63; i++) text[2 * i] = '{';
    text[126] = '\0';
    bad_body(text, GS_ERROR_RANGE, "line 6: more than 63 scopes");
}

static void text_size(void **state)
{
    (void)state;
    const size_t size = (64u << 20) + 1;
    char *const text = PTX_MALLOC(size);
    gs_error error;
    memset(text, ' ', size);
    assert_int_equal(gs_ptx_parse(&module, text, size, NULL, &error), GS_ERROR_RANGE);
    assert_null(module);
    memcpy(text, HEAD, strlen(HEAD));
    assert_int_equal(gs_ptx_parse(&module, text, size - 1, NULL, &error), GS_OK);
    gs_ptx_free(&module);
    assert_null(module);
    free(text);
    assert_int_equal(gs_ptx_parse(&module, NULL, 0, NULL, NULL), GS_ERROR_PARSE);
}

static void unread_as(const char *text, gs_ptx_unread_kind kind, int line)
{
    gs_ptx_unread unread = {GS_PTX_UNREAD_OTHER, -1};
    assert_int_not_equal(gs_ptx_parse(&module, text, strlen(text), &unread, NULL), GS_OK);
    assert_int_equal(unread.kind, kind);
    assert_int_equal(unread.line, line);
}

static void what_was_unread(void **state)
{
    (void)state;
    gs_ptx_unread unread = {GS_PTX_UNREAD_FUNCTION, 7};
    unread_as(HEAD ".func f() { call f; }\n.entry k() {\n  call f; }", GS_PTX_UNREAD_FUNCTION, 4);
    unread_as(HEAD ".entry k() {\n  t: .callprototype _ ();\n}", GS_PTX_UNREAD_FUNCTION, 5);
    unread_as(HEAD ".entry k() {\n  call f;\n}", GS_PTX_UNREAD_FUNCTION, 5);
    unread_as(HEAD "\n.extern .func f();", GS_PTX_UNREAD_EXTERNAL, 5);
    unread_as(HEAD ".extern .entry k();", GS_PTX_UNREAD_EXTERNAL, 4);
    unread_as(HEAD ".alias a, b;", GS_PTX_UNREAD_EXTERNAL, 4);
    unread_as(HEAD ".global .attribute(.managed) .u32 g;", GS_PTX_UNREAD_ATTRIBUTE, 4);
    unread_as(HEAD ".extern .shared .u32 s[];\n.entry k() { call f; }", GS_PTX_UNREAD_FUNCTION, 5);   /* the ".extern" before it does not count for this line */
    unread_as(HEAD ".global .texref t;", GS_PTX_UNREAD_OTHER, 4);
    unread_as("", GS_PTX_UNREAD_OTHER, 1);
    assert_int_equal(gs_ptx_parse(&module, HEAD, strlen(HEAD), &unread, NULL), GS_OK);
    assert_int_equal(unread.kind, GS_PTX_UNREAD_OTHER);
    assert_int_equal(unread.line, 0);
    gs_ptx_free(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(module_errors, teardown),
        cmocka_unit_test_teardown(variable_errors, teardown),
        cmocka_unit_test_teardown(body_errors, teardown),
        cmocka_unit_test_teardown(depth, teardown),
        cmocka_unit_test_teardown(text_size, teardown),
        cmocka_unit_test_teardown(what_was_unread, teardown),
    };
    return run_without_leaks("errors", tests, sizeof tests / sizeof *tests);
}
