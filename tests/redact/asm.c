/* SPDX-License-Identifier: MIT
 * Proves what of an asm statement's text is taken for PTX, and so shown: opcodes, their parts, guards, labels, operands and declarations;
 * each beside a text that is nearly one and is not shown. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "leaks.h"
#include "redact/redact.h"

/* NULL: it is no PTX. */
typedef struct written {
    const char *text, *shown;
} written;

/* Nothing behind the text may matter: it lies in memory of its own size, and then before more of the same. */
static void check(const char *text, size_t size, const char *want)
{
    char *const exact = malloc(size + (size == 0));
    for (int more = 0; more < 2; more++) {
        gs_text out = {0};
        gs_text_add(&out, "before ");
        if (!more) memcpy(exact, text, size);
        const bool fine = gs_asm_show(&out, more ? text : exact, size);
        if (fine != (want != NULL)) fail_msg("%s: %d", text, fine);
        if (strcmp(gs_text_string(&out) + 7, want ? want : "") != 0) fail_msg("of %s is shown %s", text, gs_text_string(&out));
        gs_text_free(&out);
    }
    free(exact);
}

static void check_all(const written *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) check(cases[i].text, strlen(cases[i].text), cases[i].shown);
}

static void comments_and_bytes(void **state)
{
    (void)state;
    static const written cases[] = {
        {"", ""}, {" \n\t ", " \n  "}, {"/", NULL}, {"/x", NULL}, {"// a", ""}, {"// a\nret;", "\nret;"}, {"/**/ret;", " ret;"}, {"/*/ret;", NULL},
        {"/*/ret;*/", " "}, {"ret; /* a", NULL}, {"ret; /* a *", NULL}, {"ret; /* a */", "ret;  "}, {"ret;/***/", "ret; "}, {"\tret;", " ret;"},
        {"\x1fret;", NULL}, {"ret;\x7f", NULL}, {"ret;\x0d", NULL},
    };
    check_all(cases, GS_COUNT(cases));
}

static void opcodes_and_their_parts(void **state)
{
    (void)state;
    static const written cases[] = {
        {"ret", "ret"}, {"ret;ret", "ret;ret"}, {"RET;", NULL}, {"retx;", NULL}, {"re;", NULL}, {"ret .u32;", "ret .u32;"}, {"ret.;", "ret.;"},
        {"ret..u32;", NULL}, {"ret.u32.;", "ret.u32.;"}, {".;", ".;"}, {"..;", NULL}, {".u32;", ".u32;"}, {".x32;", ".x32;"}, {"u32;", NULL},
        {"ld.global", "ld.global"}, {"ld.global.%0;", NULL}, {"ld.global.;", "ld.global.;"}, {"ld.global. %0, [%1];", "ld.global. %0, [%1];"},
        {"cp.async.cg.shared.global.L2::128B [%0], [%1], 16;", "cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"},
        {"cp.async.cg.shared.global.L2:128B [%0], [%1], 16;", NULL}, {"cp.async.shared::cta [%0], [%1], 16;", "cp.async.shared::cta [%0], [%1], 16;"},
        {"cp.async.shared:: [%0], [%1], 16;", NULL}, {"cp.async.::cta [%0], [%1];", NULL},
        {"cp.async.shared::cta::cta [%0], [%1], 16;", "cp.async.shared::cta::cta [%0], [%1], 16;"}, {"cp.async.shared::ctx [%0], [%1], 16;", NULL},
        {"cp.async.shared::m8n8 [%0], [%1], 16;", "cp.async.shared::m8n8 [%0], [%1], 16;"},
        {"cp.async.shared::8 [%0], [%1], 16;", "cp.async.shared::8 [%0], [%1], 16;"}, {"cp.async.shared::c;", NULL},
        {"cp.async.shared::cta: [%0];", NULL}, {"cp.async.shared:c;", NULL}, {"mma.m16n8k16 %0;", "mma.m16n8k16 %0;"}, {"mma.m16nn8 %0;", NULL},
        {"mma.mn8 %0;", NULL}, {"mma.m %0;", NULL}, {"mma.16x256b %0;", "mma.16x256b %0;"}, {"mma.16q %0;", NULL}, {"mma.8 %0;", "mma.8 %0;"},
        {"mma.8m %0;", "mma.8m %0;"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void guards(void **state)
{
    (void)state;
    static const written cases[] = {
        {"@p ret; setp p;", "@p ret; setp p;"}, {"@!p ret; setp p;", "@!p ret; setp p;"}, {"@p ret; setp.u32 q;", NULL}, {"@ p ret;", NULL},
        {"@", NULL}, {"@!", NULL}, {"@;", NULL}, {"@%0 ret;", "@%0 ret;"}, {"@!%%p1 ret; mov %%p1;", "@!%%p1 ret; mov %%p1;"}, {"@1 ret;", "@1 ret;"},
        {"@ld.global ret;", NULL}, {"@pret;", NULL}, {"@p", NULL},
    };
    check_all(cases, GS_COUNT(cases));
}

static void labels(void **state)
{
    (void)state;
    static const written cases[] = {
        {"L: bra L;", "L: bra L;"}, {"L:", NULL}, {"L: L2:", NULL}, {"L: bra M;", NULL}, {"%0: ret;", "%0: ret;"}, {"L : bra L;", "L : bra L;"},
        {"ld.global: bra L;", NULL}, {"1: bra 1;", "1: bra 1;"}, {": ret;", NULL}, {"L:bra L;", "L:bra L;"},
        {"A: B: bra A; bra B;", "A: B: bra A; bra B;"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void operands(void **state)
{
    (void)state;
    static const written cases[] = {
        {"mov.u32 %0, 1;", "mov.u32 %0, 1;"}, {"mov.u32 %0 1;", NULL}, {"mov.u32 %0, 0x1F;", "mov.u32 %0, 0x1F;"}, {"mov.u32 %0, 0x1G;", NULL},
        {"mov.u32 %0, 0f3F800000;", "mov.u32 %0, 0f3F800000;"}, {"mov.u32 %0, 1.5;", "mov.u32 %0, 1.5;"}, {"mov.u32 %0, 10U;", "mov.u32 %0, 10U;"},
        {"mov.u32 %0, 1z;", NULL}, {"mov.u32 %0, 12345678901234567890;", "mov.u32 %0, 12345678901234567890;"},
        {"mov.u32 %0, 123456789012345678901;", NULL}, {"mov.u32 %0, -1;", "mov.u32 %0, -1;"}, {"mov.u32 %0, %1+4;", "mov.u32 %0, %1+4;"},
        {"mov.u32 %0, %1 + 4;", "mov.u32 %0, %1 + 4;"}, {"mov.u32 {%0, %1}, %2;", "mov.u32 {%0, %1}, %2;"},
        {"mov.u32 [%0+4], (%1)|!&*-;", "mov.u32 [%0+4], (%1)|!&*-;"}, {"mov.u32 %0, \"a\";", NULL}, {"mov.u32 %0, #1;", NULL},
        {"mov.u32 %0, a/b;", NULL}, {"mov.u32 %0, ~a;", NULL}, {"mov.u32 %0, %%tid.x;", "mov.u32 %0, %%tid.x;"},
        {"mov.u32 %0, %tid.x;", "mov.u32 %0, %tid.x;"}, {"mov.u32 %0, tid.x;", "mov.u32 %0, tid.x;"}, {"mov.u32 %0, %%tid.q;", NULL},
        {"mov.u32 %0, %%tid.x.y;", NULL}, {"mov.u32 %0, %%tid.;", NULL}, {"mov.u32 %0, %%tid;", "mov.u32 %0, %%tid;"},
        {"mov.u32 %0, %%clock.x;", NULL}, {"mov.u32 %0, _;", "mov.u32 %0, _;"}, {"mov.u32 %0, %;", NULL},
        {"mov.u32 %0, %%%%1;", "mov.u32 %0, %%%%1;"}, {"mov.u32 %0, %%;", NULL},
    };
    check_all(cases, GS_COUNT(cases));
}

static void names_stand_there_twice(void **state)
{
    (void)state;
    static const written cases[] = {
        {"mov.u32 a, 1; mov.u32 b, a;", NULL}, {"mov.u32 a, a;", "mov.u32 a, a;"}, {"mov.u32 a, a; mov.u32 b, b;", "mov.u32 a, a; mov.u32 b, b;"},
        {"mov.u32 a;", NULL}, {"mov.u32 abcdefghijklmnop, abcdefghijklmnop;", "mov.u32 abcdefghijklmnop, abcdefghijklmnop;"},
        {"mov.u32 abcdefghijklmnopq, abcdefghijklmnopq;", NULL}, {"mov.u32 a.b, a.b;", NULL}, {"mov.u32 a$, a$;", "mov.u32 a$, a$;"},
        {"mov.u32 a_1, a_1;", "mov.u32 a_1, a_1;"}, {"mov.u32 a b, a b;", NULL}, {"mov.u32 a,a b,b;", NULL},
        {"mov.u32 a, b; mov.u32 aa, bb; mov.u32 a, bb; mov.u32 aa, b;", "mov.u32 a, b; mov.u32 aa, bb; mov.u32 a, bb; mov.u32 aa, b;"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void declarations(void **state)
{
    (void)state;
    static const written cases[] = {
        {".reg .pred p; mov p;", ".reg .pred p; mov p;"}, {".reg .pred p, q; mov p, q;", ".reg .pred p, q; mov p, q;"},
        {".reg .pred p q; mov p, q;", NULL}, {".reg p; mov p;", ".reg p; mov p;"}, {".reg p q; mov p, q;", NULL},
        {".reg .b32 %r<4>; mov %r;", ".reg .b32 %r<4>; mov %r;"}, {".reg .b32 %r<n>; mov %r, n;", NULL},
        {".reg .b32 %r<4; mov %r;", ".reg .b32 %r<4; mov %r;"}, {".reg .b32 %r4>; mov %r4;", ".reg .b32 %r4>; mov %r4;"},
        {".reg .b32 %r<4a>; mov %r;", NULL}, {"mov.u32 <1>, %0;", "mov.u32 <1>, %0;"}, {"mov.u32 <%0>, 1;", NULL}, {"mov.u32 %0 >, 1;", NULL},
        {"mov.u32 .b32 %0, 1;", "mov.u32 .b32 %0, 1;"}, {"mov.u32 %0 .b32, 1;", NULL}, {"mov.u32 .x32 %0, 1;", "mov.u32 .x32 %0, 1;"},
        {".reg .b32 a .b32 b; mov a, b;", NULL}, {".reg .b32 .b32 a b; mov a, b;", NULL},
        {".reg .pred p; ; {mov p;} }{", ".reg .pred p; ; {mov p;} }{"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void the_rest(void **state)
{
    (void)state;
    static const written cases[] = {
        {"mov.u32 %0, LAB_%=;", NULL}, {"LAB_%=: bra LAB_%=;", "LAB_%=: bra LAB_%=;"}, {"mov.u32 %0, =1;", NULL}, {"mov.u32 %0, a=; mov a=;", NULL},
        {"mov.u32 %0, %=; mov %=;", "mov.u32 %0, %=; mov %=;"}, {"{ret;}", "{ret;}"}, {"(ret);", NULL}, {"ret;;", "ret;;"}, {"!ret;", NULL},
        {"add.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32 %0;", NULL},
        {"add.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32. %0;", "add.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32. %0;"},
        {"add.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32.u32. %0;", NULL}, {"a::b: bra a::b;", "a::b: bra a::b;"},
        {"mov a::b, a::b;", "mov a::b, a::b;"}, {"mov ::b, ::b;", NULL}, {"mov a::, a::;", NULL}, {"mov a:: , a:: ;", NULL}, {"mov a::b", NULL},
        {"mov a::", NULL}, {"mov a:b, a:b;", NULL},
    };
    check_all(cases, GS_COUNT(cases));
}

/* A text is as long as it is said to be. */
static void it_ends_where_it_ends(void **state)
{
    (void)state;
    static const struct { const char *text; size_t size; const char *shown; } cases[] = {
        {"ret;// a", 5, NULL}, {"ret;/**/", 5, NULL}, {"ret;/* a */", 10, NULL}, {"ret;/* a */", 11, "ret; "}, {"// a\nret;", 4, ""},
        {"mov.u32 %0, 1;", 3, "mov"}, {"mov.u32 %r<4>;", 11, NULL}, {".reg .b32 %r<4>; mov %r;", 14, NULL}, {"ret;x", 4, "ret;"}, {"L: bra L; L", 8, "L: bra L"},
        {"mov %0::a", 6, "mov %0"}, {"mov %0::a", 8, NULL}, {"@p", 1, NULL}, {"@!p", 2, NULL}, {"ret;L:", 5, NULL},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) check(cases[i].text, cases[i].size, cases[i].shown);
}

/* So many names, and no more. */
static void names_have_an_end(void **state)
{
    (void)state;
    for (int count = 48; count <= 49; count++) {
        gs_text text = {0};
        for (int i = 0; i < count; i++) gs_text_addf(&text, "mov n%d, n%d;", i, i);
        check(gs_text_string(&text), text.size, count == 48 ? gs_text_string(&text) : NULL);
        gs_text_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_and_bytes), cmocka_unit_test(opcodes_and_their_parts), cmocka_unit_test(guards), cmocka_unit_test(labels),
        cmocka_unit_test(operands), cmocka_unit_test(names_stand_there_twice), cmocka_unit_test(declarations), cmocka_unit_test(the_rest),
        cmocka_unit_test(it_ends_where_it_ends), cmocka_unit_test(names_have_an_end),
    };
    return run_without_leaks("redact/asm", tests, GS_COUNT(tests));
}
