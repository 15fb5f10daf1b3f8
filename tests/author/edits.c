/* SPDX-License-Identifier: MIT
 * Answers that are edits, of the kernel of an earlier turn and of the template, and several questions under way: what is judged, what is asked again, what the store
 * has, and that budgets and stops hold. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llm/edit.h"
#include "write_run.h"

static char events[256];   /* "b0": a turn of island 0 begins; "t0": it is told */
static int  edited;

static void begins(void *self, int done, int total, int island)
{
    const size_t size = strlen(events);
    (void)self, (void)done, (void)total;
    snprintf(events + size, sizeof events - size, "b%d ", island);
}

static void told_edits(void *self, const gs_author_turn *turn)
{
    const size_t size = strlen(events);
    edited += turn->edited;
    snprintf(events + size, sizeof events - size, "t%d ", turn->island);
    told(self, turn);
}

static int begin_edits(void **state)
{
    const int code = begin(state);
    events[0] = '\0';
    edited = 0;
    how.begins = begins;
    how.told = told_edits;
    how.edits = GS_EDITS_ALSO;
    return code;
}

#define EDITS(name) cmocka_unit_test_setup_teardown(name, begin_edits, end)

/* The text of an answer with these blocks. */
static said says_blocks(const char *blocks)
{
    gs_text text = {0};
    gs_text_addf(&text, "# Analysis\nIt waits for memory.\n# Plan\nIt shall not.\n# Code\n%s", blocks);
    const said s = says_answer(gs_text_string(&text));
    gs_text_free(&text);
    return s;
}

static said says_edit(const char *search, const char *replace)
{
    gs_text text = {0};
    gs_text_addf(&text, "```cuda kernel.cu\n<<<<<<< SEARCH\n%s=======\n%s>>>>>>> REPLACE\n```\n", search, replace);
    const said s = says_blocks(gs_text_string(&text));
    gs_text_free(&text);
    return s;
}

/* "source:<hash>" of the texts, short. */
static const char *name_of(char out[32], const char *source)
{
    char name[GS_CONTENDER_NAME];
    short_name(out, gs_submission_name(source, SIMPLE_MANIFEST, name));
    return out;
}

/* ---- edits ---- */

static void a_kernel_is_edited(void **state)
{
    bench *const b = *state;
    char first[128], second[128], line[64], a[32], c[32], expected[160];
    snprintf(first, sizeof first, "int x;   // here\nint y;\n// fake: us=%g\n", 2 * lib());
    snprintf(second, sizeof second, "int z;\n// fake: us=%g\n", lib());
    snprintf(line, sizeof line, "// fake: us=%g\n", 2 * lib());
    how.turns = 2;
    how.from = GS_AUTHOR_NOTHING;
    char *const whole = kernel_answer(first, SIMPLE_MANIFEST);
    gs_text edits = {0};
    gs_text_addf(&edits, "```cuda kernel.cu\n<<<<<<< SEARCH\nint x;\nint y;\n=======\nint z;\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n%s=======\n// fake: us=%g\n>>>>>>> REPLACE\n```\n", line, lib());
    assert_int_equal(write_script(b, says_answer(whole), says_edit("int w;\n", "int z;\n"), says_blocks(gs_text_string(&edits))), GS_OK);
    snprintf(expected, sizeof expected, "0.1 >pass +!; 0.2 %s>pass +!; ", name_of(a, first));
    assert_string_equal(told_text, expected);
    assert_int_equal(edited, 1);
    short_name(c, result.elite[0].candidate);
    assert_string_equal(c, name_of(a, second));
    assert_string_equal(result.elite[0].source, second);
    assert_string_equal(result.elite[0].manifest, SIMPLE_MANIFEST);
    has_not(server.request[0], "SEARCH");                        /* there is nothing to edit yet */
    has(server.request[1], "Instead of whole texts you may answer with edits");
    has(server.request[2], "edit 1 of kernel.cu: its SEARCH lines are not there");
    has(result.elite[0].base, "source:");                        /* who it came from */
    free(whole);
    gs_text_free(&edits);
    /* a run that goes on has the same */
    how.turns = 3;
    assert_int_equal(write_script(b, says_edit("int z;\n", "int z;\nint more;\n")), GS_OK);
    has(told_text, ">pass; ");
    assert_int_equal(edited, 2);
    has(server.request[0], "Developed from source:");
    has(server.request[0], ", which takes ");                    /* the parent of the parent */
}

static void a_template_is_edited(void **state)
{
    bench *const b = *state;
    gs_text source = {0}, manifest = {0}, child = {0}, blocks = {0};
    how.turns = 1;
    assert_int_equal(write_script(b, takes(lib(), "for the best schedule")), GS_OK);
    const gs_problem problem = problem_of(PROBLEM);
    const gs_source_view view = {.caps = gs_caps_find("h200"), .problem = &problem, .family = "mma", .best = result.schedule};
    assert_int_equal(gs_source_template(&view, &source, &manifest, &error), GS_OK);
    assert_true(source.size > 1000);
    gs_text_addf(&child, "// fake: us=%g\n%s", 0.9 * lib(), gs_text_string(&source));
    const gs_parent from = {gs_text_string(&source), gs_text_string(&manifest)}, to = {gs_text_string(&child), from.manifest};
    assert_int_equal(gs_edit_blocks(&blocks, &from, &to, &error), GS_OK);
    how.islands = 2;   /* the second one begins with the template */
    assert_int_equal(write_script(b, says_blocks(gs_text_string(&blocks))), GS_OK);
    assert_string_equal(told_text, "1.1 mma>pass +!; ");
    assert_string_equal(result.elite[0].source, gs_text_string(&child));
    has(server.request[0], "Instead of whole texts you may answer with edits");
    /* the same as an answer that an earlier run could not judge any more */
    char *const owed = malloc(blocks.size + 128);
    snprintf(owed, blocks.size + 128, "# Analysis\nIt.\n# Plan\nIt.\n# Code\n%s", gs_text_string(&blocks));
    const gs_turn turn = {.problem = PROBLEM, .mode = "source", .model = "tiny", .island = 2, .number = 1, .base = "mma", .system = "s", .ask = "a", .answer = owed};
    assert_int_equal(gs_store_turn_put(b->store, &b->session, &turn, &error), GS_OK);
    assert_int_equal(write_script(b, takes(lib(), "unasked")), GS_OK);
    assert_string_equal(told_text, "2.1 mma>pass again +; ");
    assert_int_equal(server.requests, 0);
    free(owed);
    gs_text_free(&source);
    gs_text_free(&manifest);
    gs_text_free(&child);
    gs_text_free(&blocks);
}

static void what_was_not_asked_for_is_not_read(void **state)
{
    bench *const b = *state;
    how.from = GS_AUTHOR_NOTHING;
    how.turns = 1;
    how.edits = GS_EDITS_ONLY;   /* of nothing: whole */
    assert_int_equal(write_script(b, takes(lib(), "first")), GS_OK);
    has(told_text, "0.1 >pass");
    how.turns = 2;
    assert_int_equal(write_script(b, takes(lib(), "second")), GS_OK);
    has(told_text, ">unread; ");
    has(server.request[0], "Answer with edits");
    has(server.request[1], "edits were asked for, and a block is a whole text");
    how.turns = 3;
    how.edits = GS_EDITS_NONE;
    assert_int_equal(write_script(b, says_edit("// first\n", "// third\n")), GS_OK);
    has(told_text, ">unread; ");
    has_not(server.request[0], "SEARCH");
    has(server.request[1], "the block manifest is missing");
}

/* ---- several questions ---- */

static void several_questions_are_under_way(void **state)
{
    bench *const b = *state;
    how.islands = 3;
    how.turns = 2;
    how.asks = 3;
    assert_int_equal(write_script(b, takes(2 * lib(), "a"), SAYS_TEXT("no"), takes(1.9 * lib(), "b"), takes(1.8 * lib(), "c"), misbehaves("wrong"), takes(1.7 * lib(), "d")), GS_OK);
    assert_int_equal(strncmp(events, "b0 b1 b2 t", 10), 0);
    assert_int_equal(server.requests, 7);   /* six, and the one that could not be read */
    assert_int_equal(result.turns, 6);
    assert_int_equal(result.judged, 6);
    assert_int_equal(result.unread, 0);
    assert_int_equal(result.end, GS_AUTHOR_DONE);
    for (int i = 0; i < 3; i++) {   /* an island has one question at a time */
        char word[8], told_word[8];
        snprintf(word, sizeof word, "b%d ", i);
        snprintf(told_word, sizeof told_word, "t%d ", i);
        const char *const first = strstr(events, word), *const then = strstr(first, told_word), *const second = strstr(first + 1, word);
        assert_true(then && second && then < second);
    }
    assert_int_equal(write_script(b, takes(lib(), "e")), GS_OK);
    assert_int_equal(server.requests, 0);
}

/* Three islands, which ask at the same time, answered four times and well. */
static gs_status ask_at_once(bench *b, int turns, const char *budget)
{
    how.islands = 3;
    how.turns = turns;
    how.asks = 3;
    llm.budget = budget;
    return write_script(b, takes(2 * lib(), "a"), takes(1.9 * lib(), "b"), takes(1.8 * lib(), "c"), takes(1.7 * lib(), "d"));
}

static int count(const char *text, const char *what)
{
    int times = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) times++;
    return times;
}

/* What was asked is judged, and no more is asked than the budget has. */
static void a_budget_is_of_all_questions(void **state)
{
    bench *const b = *state;
    assert_int_equal(ask_at_once(b, 3, "requests=4"), GS_OK);
    assert_int_equal(server.requests, 4);
    assert_int_equal(count(told_text, ">pass"), 4);
    assert_int_equal(result.end, GS_AUTHOR_SILENT);
    assert_int_equal(notes, 1);
}

/* The most that questions may take is more than there is, what they take is less: then they are asked one after the other. */
static void a_budget_for_one_question_at_a_time(void **state)
{
    bench *const b = *state;
    assert_int_equal(ask_at_once(b, 2, "tokens=140000"), GS_OK);
    assert_int_equal(server.requests, 6);
    assert_int_equal(result.judged, 6);
    assert_int_equal(result.end, GS_AUTHOR_DONE);
    assert_int_equal(notes, 0);
}

/* Answers that came while the run was stopped are kept, and judged by the next one. */
static void a_stop_keeps_what_was_answered(void **state)
{
    bench *const b = *state;
    how.islands = 3;
    how.turns = 2;
    how.asks = 3;
    stop_after = 1;
    assert_int_equal(write_script(b, takes(2 * lib(), "a"), takes(1.9 * lib(), "b"), takes(1.8 * lib(), "c"), takes(1.7 * lib(), "d")), GS_OK);
    assert_int_equal(result.end, GS_AUTHOR_STOPPED);
    const int before = server.requests;
    assert_in_range(before, 1, 4);
    gs_stop_requested = 0;
    assert_int_equal(write_script(b, takes(1.6 * lib(), "e"), takes(1.5 * lib(), "f")), GS_OK);
    assert_int_equal(result.end, GS_AUTHOR_DONE);
    assert_int_equal(result.turns, 6);
    assert_in_range(before + server.requests, 6, 8);   /* at most those are asked again that nobody heard */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EDITS(a_kernel_is_edited), EDITS(a_template_is_edited), EDITS(what_was_not_asked_for_is_not_read), EDITS(several_questions_are_under_way),
        EDITS(a_budget_is_of_all_questions), EDITS(a_budget_for_one_question_at_a_time), EDITS(a_stop_keeps_what_was_answered),
    };
    return cmocka_run_group_tests_name("author/edits", tests, NULL, NULL);
}
