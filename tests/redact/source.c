/* SPDX-License-Identifier: MIT
 * Proves what is shown of each kind of token and of each directive, each beside a text that is nearly one and is not shown. What must
 * never be shown is in redact.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "allocations.h"
#include "base/error.h"
#include "leaks.h"
#include "redact/redact.h"

typedef struct written {
    const char *source, *shown;
} written;

static void check_all(const written *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gs_source_shown shown = {0};
        assert_int_equal(gs_source_show(&shown, cases[i].source, 1000, NULL), GS_OK);
        if (strcmp(gs_text_string(&shown.text), cases[i].shown) != 0)
            fail_msg("of\n%s\nis shown\n%s\ninstead of\n%s", cases[i].source, gs_text_string(&shown.text), cases[i].shown);
        gs_source_shown_free(&shown);
    }
}

static void numbers(void **state)
{
    (void)state;
    static const written cases[] = {
        {"1e+5", "1e+5\n"}, {"1e-5f", "1e-5f\n"}, {"0x1e+5", "0x1e+5\n"}, {"0x1p+5", "0x1p+5\n"}, {"0x1p-5", "0x1p-5\n"}, {"1p+3", "1p+3\n"},
        {"1+2", "1+2\n"}, {"1+y", "1+y\n"}, {"0x1+y", "0x1+y\n"}, {"0X1Fu", "0X1Fu\n"}, {"0b101", "0b101\n"}, {"1ull", "1ull\n"}, {"1abcd", "0\n"}, {"1abc", "1abc\n"}, {"0abcd", "0\n"}, {"0xabcd", "0xabcd\n"},
        {"0xabcdef", "0xabcdef\n"}, {"0xabcdefg", "0\n"}, {"1'000", "1'000\n"}, {"1' 0", "1' '\n"}, {"1.5.2", "1.5.2\n"}, {".5f", ".5f\n"},
        {". 5", ". 5\n"}, {".a", ".a\n"}, {"123456789012345678901234", "123456789012345678901234\n"}, {"1234567890123456789012345", "0\n"},
        {"1_000", "0\n"}, {"1z", "0\n"}, {"00x12", "00x12\n"}, {"0x", "0x\n"}, {"1e", "1e\n"}, {"1e+", "1e+\n"}, {"1u+x", "1u+x\n"},
        {"0xe+1", "0xe+1\n"}, {"1$2", "0\n"}, {"1x2g", "0\n"}, {"0xgggg", "0\n"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void quotes(void **state)
{
    (void)state;
    static const written cases[] = {
        {"'a'", "'a'\n"}, {"'ab'", "' '\n"}, {"'\\n'", "' '\n"}, {"'\\''", "' '\n"}, {"'\\\\'", "' '\n"}, {"' '", "' '\n"}, {"'", "' '\n"},
        {"'a", "' '\n"}, {"'a\nb'", "' '\nb' '\n"}, {"''", "' '\n"}, {"'9'", "'9'\n"}, {"\"a\"", "\"a\"\n"}, {"\"ab\"", "\"\"\n"}, {"\"\"", "\"\"\n"},
        {"\"\\n\"", "\"\"\n"}, {"\"a\nb", "\"\"\nb\n"}, {"\"a\\\nb\" c", "\"\" c\n"}, {"\"\\", "\"\"\n"}, {"\"a\\", "\"\"\n"}, {"'\\q'", "' '\n"},
        {"\"\\q\"", "\"\"\n"}, {"\"\\x41\"", "\"\"\n"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void raw_literals(void **state)
{
    (void)state;
    static const written cases[] = {
        {"R\"(a)\" b", "\"\" b\n"}, {"R\"x(a)x\" b", "\"\" b\n"}, {"u8R\"(a)\" b", "\"\" b\n"}, {"uR\"(a)\" b", "\"\" b\n"},
        {"UR\"(a)\" b", "\"\" b\n"}, {"LR\"(a)\" b", "\"\" b\n"}, {"XR\"(a)\" b", "XR\"\" b\n"}, {"R \"(a)\" b", "R \"\" b\n"}, {"R\"(a", "\"\"\n"},
        {"R\"0123456789abcdef(a)0123456789abcdef\" b", "\"\" b\n"}, {"R\"0123456789abcdefg(a)0123456789abcdefg\" b", "\"\"\n"},
        {"R\"x\n(a)\" b", "\"\"\n"}, {"R\"(a\\\nb)\" c", "\"\" c\n"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void words(void **state)
{
    (void)state;
    static const written cases[] = {
        {"a", "a\n"}, {"a b", "a b\n"}, {"a b c", ""}, {"a b c; d e", "; d e\n"}, {"a b\n#define c 1", "a b\n#define c 1\n"}, {"a b 'c' d e", "a b 'c' d e\n"}, {"a b \"c\" d e", "a b \"c\" d e\n"}, {"a\nb\nc", ""}, {"const a b", "const a b\n"},
        {"a const b", "a const b\n"}, {"a const b const c", ""}, {"int_a int_b", "int_a int_b\n"}, {"A_a$b", "A_a$b\n"}, {"$a", "a\n"},
        {"a$", "a$\n"}, {"abcdefghijabcdefghijabcdefghijabcdefghij", "abcdefghijabcdefghijabcdefghijabcdefghij\n"}, {"a < b", "a < b\n"},
        {"a <b", "a < b\n"}, {"a <B", "a <B\n"}, {"a< b", "a< b\n"}, {"a<b", "a< b\n"}, {"a<System", "a< System\n"}, {"a <system>", "a < system>\n"},
        {"a[inst]", "a[ inst]\n"}, {"a [ inst ]", "a [ inst ]\n"}, {"a[b]", "a[b]\n"}, {"a[ sys", "a[ sys\n"}, {"a<1", "a<1\n"},
        {"< assistant >", "< assistant >\n"}, {"a\\\nb", "ab\n"}, {"a \\\n b", "a b\n"}, {"a?\?/\nb", "ab\n"}, {"a?\?/b", "a?\?/b\n"},
        {"a \\ b", "a b\n"}, {"a \\", "a\n"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void punctuation(void **state)
{
    (void)state;
    static const written cases[] = {
        {"a@b", "a b\n"}, {"a`b", "a b\n"}, {"<|x", "< |x\n"}, {"</x", "< /x\n"}, {"<!x", "< !x\n"}, {"x|>", "x| >\n"}, {"x | >", "x | >\n"},
        {"a//b", "a\n"}, {"a/ /b", "a/ /b\n"}, {"a/**/b", "a b\n"}, {"a/ *b", "a/ *b\n"}, {"a/@/b", "a/ /b\n"}, {"a/\x80*b", "a/ *b\n"},
        {"<@|", "< |\n"}, {"|@>", "| >\n"}, {"a ? b : c", "a ? b : c\n"}, {"~a", "~a\n"}, {"a#b", "a#b\n"}, {"#", ""}, {"a # b", "a # b\n"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void lines_and_indentation(void **state)
{
    (void)state;
    static const written cases[] = {
        {"\n\na", "a\n"}, {"a\n\n\n\nb", "a\n\nb\n"}, {"a\n  b", "a\n  b\n"}, {"a\n\tb", "a\n    b\n"}, {"a\n \t b", "a\n      b\n"},
        {"a\n/* c */  b", "a\nb\n"}, {"  a", "  a\n"},
        {"a\n                                                b", "a\n                                        b\n"}, {"a\n\n  b", "a\n\n  b\n"},
        {"a /* x\n */ b", "a b\n"}, {"a // x\nb", "a\nb\n"}, {"a // x\\\nb\nc", "a\nc\n"}, {"{\n  a;\n}", "{\n  a;\n}\n"}, {"a\x0c" "b", "a b\n"},
        {"a\x0d\nb", "a\nb\n"}, {"a \n b", "a\n b\n"}, {"a\n  \n   b", "a\n\n   b\n"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void asm_statements(void **state)
{
    (void)state;
    static const written cases[] = {
        {"asm(\"ret;\")", "asm(\"ret;\")\n"}, {"__asm__(\"ret;\")", "__asm__(\"ret;\")\n"}, {"__asm(\"ret;\")", "__asm(\"ret;\")\n"},
        {"asm volatile(\"ret;\")", "asm volatile(\"ret;\")\n"}, {"asm __volatile__(\"ret;\")", "asm __volatile__(\"ret;\")\n"},
        {"asm goto(\"ret;\")", "asm goto(\"ret;\")\n"}, {"asm inline(\"ret;\")", "asm inline(\"\")\n"}, {"asm x(\"ret;\")", "asm x(\"\")\n"},
        {"asm, (\"ret;\")", "asm, (\"\")\n"}, {"asm(f(\"ret;\"))", "asm(f(\"\"))\n"}, {"asm(\"ret;\" \"ret;\")", "asm(\"ret;ret;\")\n"},
        {"asm(\"ret;\"\n  // c\n  \"ret;\\n\"\n  \"ret;\")", "asm(\"ret;ret;\\n\"\n    \"ret;\")\n"},
        {"asm(\"ret;\" /* a */ \"ret;\" : \"=r\"(a), \"+f\"(b) : \"l\"(c), \"%&=#\"(d) : \"memory\", \"memoryx\")", "asm(\"ret;ret;\" : \"=r\"(a), \"+f\"(b) : \"l\"(c), \"%&=#\"(d) : \"memory\", \"\")\n"},
        {"asm(\"\" : \"=r,r\"(a))", "asm(\"\" : \"=r,r\"(a))\n"}, {"asm(\"\" : \"=rrrr\"(a))", "asm(\"\" : \"\"(a))\n"},
        {"asm(\"\" : \"=!\"(a))", "asm(\"\" : \"\"(a))\n"}, {"asm(\"ret;\\tret;\")", "asm(\"ret; ret;\")\n"}, {"asm(\"ret;\\0ret;\")", "asm(\"\")\n"},
        {"  asm(\"ret;\\nret;\\n\");\n  b", "  asm(\"ret;\\n\"\n      \"ret;\\n\");\n  b\n"},
        {"#define X asm(\"ret;\\nret;\" \\\n  \"ret;\")\na", "#define X asm( \\\n    \"ret;\\n\" \"ret;ret;\")\na\n"},
        {"#define X asm(\"ret;\"\n\"ret;\")\na", "#define X asm(\"ret;\"\n\"ret;\")\na\n"}, {"asm(\"a\") + \"b\"", "asm(\"a\") + \"b\"\n"},
        {"asm ((\"ret;\"))", "asm ((\"\"))\n"}, {"(asm(\"ret;\"), \"b\")", "(asm(\"ret;\"), \"b\")\n"},
        {") asm(\"ret;\") \"b\"", ") asm(\"ret;\") \"b\"\n"}, {"asm(\"ret;", "asm(\"\"\n"}, {"asm(\"re\\\nt;\")", "asm(\"ret;\")\n"},
    };
    check_all(cases, GS_COUNT(cases));
}

static void directives(void **state)
{
    (void)state;
    static const written cases[] = {
        {"#define A", "#define A\n"}, {"#define A 1", "#define A 1\n"}, {"#define A(x) x", "#define A(x) x\n"},
        {"#define A (x) x", "#define A (x) x\n"}, {"# define A \\\n 1\nb", "#define A \\\n    1\nb\n"},
        {"#define A b c\nA b c", "#define A b c\nA b c\n"}, {"#define A b c d\n", "#define A\n"}, {"#define\na", "#define\na\n"},
        {"#undef A", "#undef A\n"}, {"#undef A b", "#undef A\n"},
        {"#if A\na\n#elif B\nb\n#else\nc\n#endif", "#if A\na\n#elif B\nb\n#else\nc\n#endif\n"}, {"#ifdef A\n#endif", "#ifdef A\n#endif\n"},
        {"#ifndef A\n#endif", "#ifndef A\n#endif\n"}, {"#if 0\na\n#elif 1\nb\n#endif", "#if 0\n#elif 1\nb\n#endif\n"},
        {"#if 0\na\n#elif 0\nb\n#else\nc\n#endif\nd", "#if 0\n#elif 0\n#else\nc\n#endif\nd\n"}, {"#if false\na\n#endif\nd", "#if 0\n#endif\nd\n"},
        {"#if 1\na\n#else\nb\n#endif\nc", "#if 1\na\n#else\n#endif\nc\n"},
        {"#if true\na\n#elif X\nb\n#endif\nc", "#if true\na\n#elif 0\n#endif\nc\n"},
        {"#if 1\na\n#elifdef X\nb\n#endif\nc", "#if 1\na\n#elifdef\n#endif\nc\n"},
        {"#if 1\na\n#elifndef X\nb\n#endif\nc", "#if 1\na\n#elifndef\n#endif\nc\n"}, {"#ifdef 0\na\n#endif", "#ifdef 0\na\n#endif\n"},
        {"#ifndef 1\na\n#else\nb\n#endif", "#ifndef 1\na\n#else\nb\n#endif\n"}, {"#if 00\na\n#endif", "#if 00\na\n#endif\n"},
        {"#if 0 // x\na\n#endif\nb", "#if 0\n#endif\nb\n"}, {"#if 0\n#ifdef A\n#endif\na\n#endif\nb", "#if 0\n#endif\nb\n"},
        {"#if 0\n#ifndef A\n#else\n#endif\na\n#endif\nb", "#if 0\n#endif\nb\n"}, {"#if 0\n/* \n#endif */a\n#endif\nb", "#if 0\n#endif\nb\n"},
        {"#if 0\na // \\\n#endif\n#endif\nb", "#if 0\n#endif\nb\n"}, {"#if 0\n  # endif\nb", "#if 0\n#endif\nb\n"},
        {"#if 0\n\"\n#endif\nb", "#if 0\n#endif\nb\n"}, {"#else\na", "#else\na\n"}, {"#elif 0\na\n#endif\nb", "#elif 0\n#endif\nb\n"},
        {"#endif\na", "#endif\na\n"}, {"#endif\n#if 1\na\n#else\nb\n#endif", "#endif\n#if 1\na\n#else\n#endif\n"}, {"#if 0\na", "#if 0\n"},
        {"#if 0", "#if 0\n"}, {"a\n#if 0\n b\n#endif\n  c", "a\n#if 0\n#endif\n  c\n"}, {"#if 0\n%:endif\nb", "#if 0\n#endif\nb\n"},
        {"#if 0\n?\?=endif\nb", "#if 0\n#endif\nb\n"},
        {"#if 1\n#if 0\nx\n#endif\na\n#else\nb\n#endif\nc", "#if 1\n#if 0\n#endif\na\n#else\n#endif\nc\n"},
        {"#if (0)\na\n#endif", "#if (0)\na\n#endif\n"},
        {"#if 0\n#elif 1\n#if 1\na\n#else\nb\n#endif\n#endif", "#if 0\n#elif 1\n#if 1\na\n#else\n#endif\n#endif\n"},
        {"#include \"common/args.h\"", "#include \"common/args.h\"\n"}, {"#include <common/args.h>", "#include \"common/args.h\"\n"},
        {"#include \"common/args.h\" // x", "#include \"common/args.h\"\n"}, {"#include \"common/args.h>", "#include \"common/args.h\"\n"},
        {"#include common/args.h", ""}, {"#include \"args.h\"", ""}, {"#include \"\"", ""}, {"#include \"", ""}, {"#include <cuda.h>\na", "a\n"},
        {"#include \"ws.cu\"", "#include \"ws.cu\"\n"}, {"#include xcommon/args.hx", ""}, {"#include \"common/args.hx", ""},
        {"#include xcommon/args.h\"", ""}, {"#include \"common/args.h\" x", ""}, {"#pragma unroll", "#pragma unroll\n"},
        {"#pragma unroll 4\na", "#pragma unroll 4\na\n"}, {"#pragma nounroll", "#pragma nounroll\n"}, {"#pragma once\na", "a\n"},
        {"#pragma unrol\na", "a\n"}, {"#pragma nounrol\na", "a\n"}, {"#pragma GCC unroll 4\na", "a\n"},
        {"# pragma unroll (N)", "#pragma unroll (N)\n"}, {"%:define A", "#define A\n"}, {"%\\\n:define A", "#define A\n"}, {"# \\\n define A", "#define A\n"}, {"?\?=define A", "#define A\n"}, {"?\?=error x\na", "a\n"},
        {"?a?=b", "?a?=b\n"}, {"%:%: a", ""}, {"a %: b", "a %: b\n"}, {"%a", "%a\n"}, {"#error a\nb", "b\n"}, {"#warning a\nb", "b\n"},
        {"#line 3\nb", "b\n"}, {"# 3\nb", "b\n"}, {"#3\nb", "b\n"}, {"#x\nb", "b\n"}, {"# \nb", "b\n"}, {"/* */ #define A", "#define A\n"},
        {"a #define A", "a #define A\n"}, {"; #define A", "; #define A\n"}, {"#define A /* x */ 1 // y\nb", "#define A 1\nb\n"},
        {"#define A \"x\"\n", "#define A \"x\"\n"}, {"#define STR(x) #x\n", "#define STR(x) #x\n"},
        {"#define A \\\n\\\n1\nb", "#define A \\\n    1\nb\n"}, {"#define A 1 \\\n\n b", "#define A 1\n b\n"},
        {"#define a_b c d\na_b c d\n", "#define a_b c d\na_b c d\n"},
    };
    check_all(cases, GS_COUNT(cases));
}

/* What is shown of a literal has an end, and so has what is remembered of what was left out. */
static void limits(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {   /* an asm statement of 16 KiB, and of a character more */
        gs_text source = {0};
        gs_source_shown shown = {0};
        gs_text_add(&source, "asm(\"");
        for (int i = 0; i < (16 << 10) / 4; i++) gs_text_add(&source, "ret;");
        gs_text_add(&source, more ? ";\");" : "\");");
        assert_int_equal(gs_source_show(&shown, gs_text_string(&source), 1 << 20, NULL), GS_OK);
        if (more) assert_string_equal(gs_text_string(&shown.text), "asm(\"\");\n");
        else assert_int_equal(shown.text.size, (16 << 10) + 9);
        gs_source_shown_free(&shown);
        gs_text_free(&source);
    }
    gs_text long_comment = {0};
    gs_source_shown shown = {0};
    gs_text_add(&long_comment, "/*");
    for (int i = 0; i < GS_SOURCE_DROPPED / 8; i++) gs_text_add(&long_comment, "comment ");
    gs_text_add(&long_comment, "*/ a // b\n");
    assert_int_equal(gs_source_show(&shown, gs_text_string(&long_comment), 1000, NULL), GS_OK);
    assert_int_equal(shown.dropped.size, GS_SOURCE_DROPPED + 1);
    assert_string_equal(gs_text_string(&shown.text), "a\n");
    gs_source_shown_free(&shown);
    gs_text_free(&long_comment);
}

/* Whichever allocation fails: it is said, unless the same is shown without it. */
static void no_memory_for_a_source(void **state)
{
    (void)state;
    static const char source[] = "// comment\n#define A 1\n#include \"common/args.h\"\nint a = 'x'; asm(\"mov.u32 %0, 1;\\n\" // c\n \"ret;\" : \"=r\"(a));\nf(\"a\", R\"(b)\");\n#if 0\nx\n#endif\na b c;\n";
    gs_source_shown whole = {0};
    gs_error error;
    assert_int_equal(gs_source_show(&whole, source, 1000, &error), GS_OK);
    int failures = 0;
    for (int at = 1;; at++) {
        gs_source_shown shown = {0};
        fail_at = at;
        const gs_status status = gs_source_show(&shown, source, 1000, &error);
        const bool reached = allocation_failed();
        if (status != GS_OK && status != GS_ERROR_MEMORY) fail_msg("allocation %d: %s", at, error.text);
        if (status == GS_OK && strcmp(gs_text_string(&shown.text), gs_text_string(&whole.text)) != 0) fail_msg("allocation %d: %s", at, gs_text_string(&shown.text));
        failures += status == GS_ERROR_MEMORY;
        gs_source_shown_free(&shown);
        if (!reached) break;
    }
    assert_true(failures > 3);
    gs_source_shown_free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers), cmocka_unit_test(quotes), cmocka_unit_test(raw_literals), cmocka_unit_test(words),
        cmocka_unit_test(punctuation), cmocka_unit_test(lines_and_indentation), cmocka_unit_test(asm_statements),
        cmocka_unit_test(directives), cmocka_unit_test(limits), cmocka_unit_test(no_memory_for_a_source),
    };
    return run_without_leaks("redact/source", tests, GS_COUNT(tests));
}
