/* SPDX-License-Identifier: MIT
 * The PTX parser: functions, which are expanded where they are called. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/leaks.h"
#include "ptx.h"

#define ONE   ".func (.param .b32 back) one(.param .b32 in) {\n.reg .b32 r<2>; ld.param.u32 r1, [in]; st.param.u32 [back+0], r1; ret; }\n"
#define ASKED "{ .param .b32 p; .param .b32 q; st.param.b32 [p+0], s; call.uni (q), one, (p); ld.param.b32 s, [q+0]; }\n"

static const gs_ptx_instruction *nth(int i) { return &entry->instruction[i]; }

static const gs_ptx_operand *part_of(int instruction, int operand) { return &entry->operand[nth(instruction)->operand + operand]; }

/* Registers, variables and labels belong to one call; arguments and results are the caller's variables. */
static void twice(void **state)
{
    (void)state;
    good(HEAD ONE ".entry k() {\n.reg .b32 s, r1; mov.u32 r1, 5; mov.u32 s, 1;\n" ASKED ASKED "ret; }");
    static const char *const names[] = {"mov.u32", "mov.u32", "st.param.b32", "ld.param.u32", "st.param.u32", "bra", "ld.param.b32",
                                        "st.param.b32", "ld.param.u32", "st.param.u32", "bra", "ld.param.b32", "ret"};
    assert_int_equal(entry->instructions, GS_COUNT(names));
    for (size_t i = 0; i < GS_COUNT(names); i++) assert_string_equal(nth((int)i)->name, names[i]);
    assert_int_equal(module->variables, 4);
    for (int v = 0; v < 4; v++) {
        assert_true(module->variable[v].passed);
        assert_int_equal(module->variable[v].space, GS_PTX_LOCAL);
        assert_int_equal(module->variable[v].size, 4);
    }
    assert_int_equal(entry->operand[part_of(3, 1)->child].index, 0);   /* argument: p of the first call */
    assert_int_equal(entry->operand[part_of(8, 1)->child].index, 2);
    assert_int_equal(entry->operand[part_of(4, 0)->child].index, 1);   /* result: q */
    assert_string_equal(nth(4)->part[1], "local");
    assert_int_not_equal(part_of(3, 0)->index, part_of(0, 0)->index);  /* r1 of the caller */
    assert_int_not_equal(part_of(3, 0)->index, part_of(8, 0)->index);
    assert_int_equal(part_of(5, 0)->index, 6);
    assert_int_equal(part_of(10, 0)->index, 11);
    assert_int_equal(nth(3)->line, 5);
    assert_int_equal(nth(12)->line, 10);
}

/* Declared before and defined after the call; nested calls; shared memory exists once, local memory once for each call; a guarded call. */
static void places(void **state)
{
    (void)state;
    good(HEAD ".func one();\n.entry k() {\n.reg .pred a; setp.eq.s32 a, 1, 2; call two; @!a call.uni one; }\n"
         ".func one() { .shared .b32 kept[8]; .local .b32 own; .reg .b32 r; ld.shared.u32 r, [kept]; }\n.visible .func two() { call one; call one; ret; }");
    static const char *const names[] = {"setp.eq.s32", "ld.shared.u32", "ld.shared.u32", "bra", "bra", "ld.shared.u32"};
    assert_int_equal(entry->instructions, GS_COUNT(names));
    for (size_t i = 0; i < GS_COUNT(names); i++) assert_string_equal(nth((int)i)->name, names[i]);
    assert_int_equal(nth(4)->guard, part_of(0, 0)->index);
    assert_false(nth(4)->guard_not);
    assert_int_equal(part_of(4, 0)->index, 6);   /* skips the call: jumps to the end */
    assert_int_equal(module->variables, 4);      /* one shared, three local */
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        gs_status   status;
    } all[] = {
        {".func f() { call g; }\n.func g() { call f; }\n.entry k() { call f; }",  "line 5: call: a function that calls itself", GS_ERROR_UNSUPPORTED},
        {".func f() { ret; }\n.entry k() {\n.reg .b64 f; call f; }",              "line 6: call: an indirect call",             GS_ERROR_UNSUPPORTED},
        {".func f() { ret; }\n.entry k() {\n.reg .b64 r; mov.u64 r, f; }",        "line 6: mov.u64: nothing here is named \"f\"",        GS_ERROR_PARSE},
        {".func f() { ret; }\n.func f() { ret; }",                                "\"f\" is declared twice",                    GS_ERROR_PARSE},
        {".func f();\n.entry k() { call f; }",                                    "line 5: call: calls what is no function",    GS_ERROR_UNSUPPORTED},
        {".func f() {\nmov.u32 r, 1; }\n.entry k() { .reg .b32 r; call f; }",     "line 5: mov.u32: nothing here is named",     GS_ERROR_PARSE},
        {".func f() {\nmov.u32 r1, 1; }\n.entry k() { .reg .b32 r<4>; call f; }", "line 5: mov.u32: nothing here is named",     GS_ERROR_PARSE},
        {".func f() {\nbra l; }\n.entry k() { call f; l: ret; }",                 "line 5: bra: nothing here is named \"l\"",   GS_ERROR_PARSE},
        {".func f() {\n.global .b32 g; }\n.entry k() { call f; }",                "line 5: a variable of the module",           GS_ERROR_UNSUPPORTED},
        {".func f() { .shared .b32 s; }\n.func g() { .shared .b32 s; }\n.entry k() { call f; call g; }", "line 5: \"s\" in shared", GS_ERROR_UNSUPPORTED},
        {ONE ".entry k() { .param .b32 p; call one, (p); }",                      "gives back 1, and a call takes 0",           GS_ERROR_PARSE},
        {ONE ".entry k() { .param .b32 p; call (p), one; }",                      "more parameters",                            GS_ERROR_PARSE},
        {ONE ".entry k() { .param .b32 p; call (p), one, (p, p); }",              "fewer parameters",                           GS_ERROR_PARSE},
        {ONE ".entry k() { .param .b64 p; call (p), one, (p); }",                 "another size",                               GS_ERROR_PARSE},
        {".func f(.reg .b32 r) { ret; }\n.entry k() { .param .b32 p; call f, (p); }", "line 4: call: .reg in the parameters",         GS_ERROR_UNSUPPORTED},
        {ONE ".entry k() { .reg .b32 r; call (r), one, (r); }",                   "what is passed is no variable",              GS_ERROR_UNSUPPORTED},
        {".entry k() { .param .b32 p; .reg .b64 r;\nmov.u64 r, p; }",             "line 5: mov.u64: a parameter of a call",     GS_ERROR_UNSUPPORTED},
        {".entry k() { .param .b32 p; .reg .b64 r;\nld.param.b64 r, [p]; }",      "line 5: ld.param.b64: an access beyond",     GS_ERROR_PARSE},
        {".entry k() { .param .b32 p; .reg .b32 r;\nst.param.b32 [p+1], r; }",    "line 5: st.param.b32: an access beyond",     GS_ERROR_PARSE},
        {".entry k() { .param .b8 p[32765]; }",                                   "line 4: more than 32764 bytes",              GS_ERROR_RANGE},
        {".func f() {\n{ ret; }\n.entry k() { call f; }",                         "a block that is never closed",               GS_ERROR_PARSE},
        {".func .frob f() { ret; }",                                              "line 4: .frob in a function",                GS_ERROR_UNSUPPORTED},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        char text[1024];
        snprintf(text, sizeof text, HEAD "%s", all[i].text);
        bad(text, all[i].status, all[i].message);
    }
}

/* The maximum number of parameters of a call, and one more. */
static void many(void **state)
{
    (void)state;
    for (int count = 64; count <= 65; count++) {
        char text[2048];
        size_t size = (size_t)snprintf(text, sizeof text, HEAD ONE ".entry k() { .param .b32 p; call one, (");
        for (int i = 0; i < count; i++) size += (size_t)snprintf(text + size, sizeof text - size, "%sp", i ? ", " : "");
        snprintf(text + size, sizeof text - size, "); }");
        bad(text, count > 64 ? GS_ERROR_RANGE : GS_ERROR_PARSE, count > 64 ? "more than 64 parameters of a call" : "gives back 1, and a call takes 0");
    }
}

/* Each function calls the previous one twice: the text would be expanded 2^40 times. */
static void doubling(void **state)
{
    (void)state;
    static char text[8192];
    size_t size = (size_t)snprintf(text, sizeof text, HEAD ".func f0() { ret; }\n");
    for (int i = 1; i <= 40; i++) size += (size_t)snprintf(text + size, sizeof text - size, ".func f%d() { call f%d; call f%d; ret; }\n", i, i - 1, i - 1);
    snprintf(text + size, sizeof text - size, ".entry k() { call f40; ret; }\n");
    bad(text, GS_ERROR_UNSUPPORTED, "are too long a text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(twice, teardown),
        cmocka_unit_test_teardown(places, teardown),
        cmocka_unit_test_teardown(refused, teardown),
        cmocka_unit_test_teardown(many, teardown),
        cmocka_unit_test_teardown(doubling, teardown),
    };
    return run_without_leaks("calls", tests, sizeof tests / sizeof *tests);
}
