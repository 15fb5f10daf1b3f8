/* SPDX-License-Identifier: MIT
 * Proves what is shown of the parts of a reason: places, quotations, words, lines; each beside a text that is nearly one and is not
 * shown. What must never be shown is in redact.c. */
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

/* Lines 1, 3 and 4 of the source are lines 1, 1 and 3 of what is shown of it. */
#define SOURCE "// secret words here\nint a;\n\nint b;\n"

typedef struct said {
    const char *reason, *shown;
} said;

static void check_all(const said *cases, size_t count, bool known)
{
    gs_source_shown shown = {0};
    assert_int_equal(gs_source_show(&shown, SOURCE, 1000, NULL), GS_OK);
    for (size_t i = 0; i < count; i++) {
        gs_text out = {0};
        gs_text_add(&out, "before ");
        gs_reason_show(&out, cases[i].reason, known ? &shown : NULL);
        if (strcmp(gs_text_string(&out) + 7, cases[i].shown) != 0) fail_msg("of\n%s\nis shown\n%s\ninstead of\n%s", cases[i].reason, gs_text_string(&out) + 7, cases[i].shown);
        gs_text_free(&out);
    }
    gs_source_shown_free(&shown);
}

static void places(void **state)
{
    (void)state;
    static const said cases[] = {
        {"candidate.cu(1): error: x", "line 1: error: x"}, {"candidate.cu(1): warning: x", "line 1: warning: x"},
        {"candidate.cu(1): fatal: x", "line 1: fatal: x"}, {"candidate.cu(1): catastrophic error: x", "line 1: catastrophic error: x"},
        {"candidate.cu(1): remark: x", "line 1: remark: x"}, {"candidate.cu(1): internal error: x", "line 1: internal error: x"},
        {"candidate.cu(1): other: x", "candidate.cu(1): other: x"}, {"candidate.cu(1):error: x", "candidate.cu(1):error: x"},
        {"candidate.cu(1) : error: x", "candidate.cu(1) : error: x"}, {"candidate.cu(x): error: x", "candidate.cu(x): error: x"},
        {"candidate.cu(1x): error: x", "candidate.cu(1x): error: x"}, {"candidate.cu(): error: x", "candidate.cu(): error: x"},
        {"candidate.cu(-1): error: x", "some line: error: x"}, {"candidate.cu(2): error: x", "line 1: error: x"},
        {"candidate.cu(3): error: x", "line 3: error: x"}, {"candidate.cu(4): error: x", "line 3: error: x"},
        {"f(1) candidate.cu(2): error: x", "line 1: error: x"}, {"a b/candidate.cu(2): error: x", "line 1: error: x"},
        {"(2): error: x", "line 1: error: x"}, {"x y(2): error: x", "line 1: error: x"}, {"args.h(7): error: x", "args.h line 7: error: x"},
        {"common/args.h(7): error: x", "common/args.h line 7: error: x"}, {"mon/args.h(7): error: x", "some line: error: x"},
        {"other.h(7): error: x", "some line: error: x"}, {"error: x", "error: x"}, {"a: candidate.cu:2: b", "a: line 1: b"},
        {"candidate.cu:2", "line 1"}, {"candidate.cu:", "candidate.cu:"}, {"candidate.cu:x", "candidate.cu:x"}, {"candidate.c:2", "candidate.c:2"},
        {"cu:2", "cu:2"}, {".cu:2", ".cu:2"}, {"a.cu:2", "line 1"}, {"args.h:12", "args.h line 12"},
        {"common/args.h:12 x", "common/args.h line 12 x"}, {"other.h:12 x", "other.h:12 x"}, {"ws.cu:5", "ws.cu line 5"},
        {"candidate.cu:3x", "line 3 x"},
    };
    check_all(cases, GS_COUNT(cases), true);
}

static void quotations(void **state)
{
    (void)state;
    static const said cases[] = {
        {"'foo'", "'foo'"}, {"\"foo\"", "'foo'"}, {"'foo", " foo"}, {"\"foo", ""}, {"it's", "it's"}, {"x 'a b' y", "x '...' y"},
        {"'int a'", "'int a'"}, {"'const int *a'", "'const int *a'"}, {"'a'", "'a'"}, {"'<a>'", "'<a>'"}, {"'system'", "'...'"},
        {"'a, system'", "'...'"}, {"'a; b: c & (d) [e] ~ + - = ! . %'", "'a; b: c & (d) [e] ~ + - = ! . %'"}, {"'a/b'", "'...'"}, {"'a`b'", "'...'"},
        {"'a|b'", "'...'"}, {"'1a b'", "'1a b'"}, {"'a 1'", "'a 1'"},
        {"'abcdefghijabcdefghijabcdefghijabcdefghij'", "'abcdefghijabcdefghijabcdefghijabcdefghij'"},
        {"'abcdefghijabcdefghijabcdefghijabcdefghijk'", "'...'"}, {"'x, abcdefghijabcdefghijabcdefghijabcdefghijk'", "'...'"},
        {"'int int int int int int int int int int int int int int int int int int int int int int int int int int int int int int'", "'int int int int int int int int int int int int int int int int int int int int int int int int int int int int int int'"},
        {"'int int int int int int int int int int int int int int int int int int int int int int int int int int int int int in'", "'int int int int int int int int int int int int int int int int int int int int int int int int int int int int int in'"},
        {"'int  int int int int int int int int int int int int int int int int int int int int int int int int int int int int int'", "'int  int int int int int int int int int int int int int int int int int int int int int int int int int int int int int'"},
        {"\"it's\"", "'...'"}, {"''", "''"}, {"'a''b'", "'a''b'"}, {"'a'b", "'a'b"}, {"a'b'c", "a'b'c"}, {"(a'b')", "(a'b')"},
    };
    check_all(cases, GS_COUNT(cases), true);
}

static void what_quotes_the_source_ends_it(void **state)
{
    (void)state;
    static const said cases[] = {
        {"a static_assert b", "a a static assertion failed"}, {"a static assertion b", "a a static assertion failed"}, {"a #error b", "a #error"},
        {"a #warning b", "a #warning"}, {"a #pragma b", "a #pragma"}, {"a directive b", "a a directive"}, {"is deprecated: b", "is it is deprecated"},
        {"a NODISCARD b", "a nodiscard"}, {"a pragma message b", "a #pragma message"}, {"a user-defined b", "a a user-defined message"},
        {"a message: b", "a a message"}, {"a note: b", "a a note"}, {"an attribute b", "an an attribute"},
        {"a Static Assertion b", "a a static assertion failed"}, {"static_assert", "a static assertion failed"}, {"messages: b", "messages: b"},
        {"footnote: b", "foot a note"},
    };
    check_all(cases, GS_COUNT(cases), true);
}

static void words_of_the_parser(void **state)
{
    (void)state;
    static const said cases[] = {
        {"PTX line 12: call: b: c", "PTX line 12: call"}, {"PTX line 12: call", "PTX line 12: call"}, {"PTX line 12: unreadable", "PTX line 12"},
        {"unreadable: PTX line 12: call", "unreadable: PTX line 12"}, {"PTX line 12 x: y", "PTX line 12 x: y"}, {"PTX line : x: y", "PTX line : x"},
        {"PTX line x: a: b", "PTX line x: a: b"}, {"a: PTX line 3: b: c: d", "a: PTX line 3: b"}, {"PTX line 12:call: b", "PTX line 12:call: b"},
    };
    check_all(cases, GS_COUNT(cases), true);
}

static void lines(void **state)
{
    (void)state;
    static const said cases[] = {
        {"line one\nline two\n", "line one\nline two"}, {"\n\nline\n\n", "line"}, {"  quoted\nline", "line"}, {"\tquoted\nline", "line"},
        {"^~~\nline", "line"}, {"^ x\nline", "^ x\nline"}, {"~\nline", "line"}, {"line\n ^", "line"}, {"", ""},
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n21\n22", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20"},
    };
    check_all(cases, GS_COUNT(cases), true);
}

static void characters(void **state)
{
    (void)state;
    static const said cases[] = {
        {"a <|b|> </c> <!d> <sys> [inst] <system x> < sys", "a < |b| > < /c> < !d> < sys> [ inst] < system x> < sys"},
        {"a // b /* c", "a / / b / * c"}, {"a {} () [] <> ; : , . ? ~ ! % ^ & * + - / | = #", "a {} () [] <> ; : , . ? ~ ! % ^ & * + - / | = #"},
        {"a `b \\ $ @ c", "a  b       c"}, {"a\x01" "b\x80" "c", "a b c"}, {"/", "/"}, {"_a", "_a"}, {"a_", "a_"}, {"a1 1a 1.5", "a1 1a 1.5"},
        {"abcdefghijabcdefghijabcdefghijabcdefghij", "abcdefghijabcdefghijabcdefghijabcdefghij"},
        {"abcdefghijabcdefghijabcdefghijabcdefghijk", "name_3b9fecf8"},
        {"abcdefghijabcdefghijabcdefghijabcdefghijk abcdefghijabcdefghijabcdefghijabcdefghijk", "name_3b9fecf8 name_3b9fecf8"}, {"a\"", "a"},
        {"ptxas x", "ptxas x"}, {"ptxas error: x", "ptxas error: x"}, {"a.cu x", "a.cu x"}, {"a.cu warning: x", "a.cu warning: x"},
    };
    check_all(cases, GS_COUNT(cases), true);
}

static void what_was_left_out_ends_it(void **state)
{
    (void)state;
    static const said cases[] = {
        {"of x is // secret words here", "of x is"}, {"of x is secret words here // twice", "of x is"}, {"secret words her", ""},
        {"asecret words here", "asecret words here"},
    };
    check_all(cases, GS_COUNT(cases), true);
}

/* Of a candidate whose source is not known, places and kinds alone. */
static void without_a_source(void **state)
{
    (void)state;
    static const said cases[] = {
        {"candidate.cu(1): error: x", "some line: error"}, {"candidate.cu(1): warning: x", "some line: warning"},
        {"candidate.cu(1): fatal: x", "some line: a message that is not shown"}, {"candidate.cu(1): catastrophic error: x", "some line: error"},
        {"candidate.cu(1): remark: x", "some line: a message that is not shown"}, {"candidate.cu(1): internal error: x", "some line: error"},
        {"candidate.cu(1): other: x", "a message that is not shown"}, {"candidate.cu(1):error: x", "error"}, {"candidate.cu(1) : error: x", "error"},
        {"candidate.cu(x): error: x", "error"}, {"candidate.cu(1x): error: x", "error"}, {"candidate.cu(): error: x", "error"},
        {"candidate.cu(-1): error: x", "some line: error"}, {"candidate.cu(2): error: x", "some line: error"},
        {"candidate.cu(3): error: x", "some line: error"}, {"candidate.cu(4): error: x", "some line: error"},
        {"f(1) candidate.cu(2): error: x", "some line: error"}, {"a b/candidate.cu(2): error: x", "some line: error"},
        {"(2): error: x", "some line: error"}, {"x y(2): error: x", "some line: error"}, {"args.h(7): error: x", "args.h line 7: error"},
        {"common/args.h(7): error: x", "common/args.h line 7: error"}, {"mon/args.h(7): error: x", "some line: error"},
        {"other.h(7): error: x", "some line: error"}, {"a: candidate.cu:2: b", "a message that is not shown"},
        {"candidate.cu:2", "a message that is not shown"}, {"candidate.cu:", "a message that is not shown"},
        {"candidate.cu:x", "a message that is not shown"}, {".cu:2", "a message that is not shown"}, {"a.cu:2", "a message that is not shown"},
        {"ws.cu:5", "a message that is not shown"}, {"candidate.cu:3x", "a message that is not shown"}, {"ptxas x", "a message that is not shown"},
        {"ptxas error: x", "error"}, {"a.cu x", "a message that is not shown"}, {"a.cu warning: x", "warning"},
        {"of x is // secret words here", "of x is / / secret words here"},
        {"of x is secret words here // twice", "of x is secret words here / / twice"}, {"secret words her", "secret words her"},
    };
    check_all(cases, GS_COUNT(cases), false);
}

static void limits(void **state)
{
    (void)state;
    gs_text out = {0};
    char text[4000], quoted[128];
    memset(text, ';', sizeof text);
    text[3000] = '\0';
    gs_reason_show(&out, text, NULL);
    assert_int_equal(out.size, 599);   /* of a line */
    for (int i = 599; i < 3000; i += 600) text[i] = '\n';
    gs_text_clear(&out);
    gs_reason_show(&out, text, NULL);
    assert_int_equal(out.size, GS_REASON_SHOWN - 1);   /* the last of them is a line's end, which goes */
    for (int size = 120; size <= 121; size++) {
        memset(quoted, ';', sizeof quoted);
        quoted[0] = quoted[size + 1] = '\'';
        quoted[size + 2] = '\0';
        gs_text_clear(&out);
        gs_reason_show(&out, quoted, NULL);
        assert_string_equal(gs_text_string(&out), size == 120 ? quoted : "'...'");
    }
    gs_text_free(&out);
}

static void no_memory_for_a_reason(void **state)
{
    (void)state;
    static const char reason[] = "candidate.cu(3): error: identifier \"foo\" is undefined\nPTX line 12: call: b\nargs.h:12 'a b c'\n";
    gs_source_shown shown = {0};
    int failures = 0;
    assert_int_equal(gs_source_show(&shown, SOURCE, 1000, NULL), GS_OK);
    for (int at = 1;; at++) {
        gs_text out = {0};
        fail_at = at;
        gs_reason_show(&out, reason, &shown);
        const bool reached = allocation_failed();
        if (out.failed != reached) fail_msg("allocation %d: %d", at, out.failed);
        failures += out.failed;
        gs_text_free(&out);
        if (!reached) break;
    }
    assert_true(failures > 1);
    gs_source_shown_free(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places), cmocka_unit_test(quotations), cmocka_unit_test(what_quotes_the_source_ends_it),
        cmocka_unit_test(words_of_the_parser), cmocka_unit_test(lines), cmocka_unit_test(characters),
        cmocka_unit_test(what_was_left_out_ends_it), cmocka_unit_test(without_a_source), cmocka_unit_test(limits), cmocka_unit_test(no_memory_for_a_reason),
    };
    return run_without_leaks("redact/reason", tests, GS_COUNT(tests));
}
