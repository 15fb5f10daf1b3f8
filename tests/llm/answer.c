/* SPDX-License-Identifier: MIT
 * Proves that a model's answer is read as it was asked for, and that one that is not has a reason with its place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "leaks.h"
#include "llm/answer.h"

#define HEAD "# Analysis\nslow\n# Plan\nfaster\n# Code\n"
#define BOTH "```cuda kernel.cu\nint a;\n```\n```text kernel.manifest\nmanifest 1\n```\n"

static const char *const names[] = {"kernel.cu", "kernel.manifest", NULL};
static gs_error error;

static gs_status parse(gs_answer *answer, const char *text) { return gs_answer_parse(answer, text, strlen(text), names, &error); }

static void kernel(void **state)
{
    (void)state;
    gs_answer answer;
    assert_int_equal(parse(&answer, "\n## analysis:\n\n  It waits.\n\nFor `memory`.\n\n### PLAN\nTwo\nlines\n#Code\n\n````c++ kernel.cu\n# Plan\n```\nint a;\r\n\n````\n"
                                    "```text kernel.manifest\nmanifest 1\n```\n\n"), GS_OK);
    assert_string_equal(answer.analysis, "  It waits.\n\nFor `memory`.");
    assert_string_equal(answer.plan, "Two\nlines");
    assert_int_equal(answer.blocks, 2);
    assert_string_equal(gs_answer_block(&answer, "kernel.cu"), "# Plan\n```\nint a;\n\n");
    assert_string_equal(gs_answer_block(&answer, "kernel.manifest"), "manifest 1\n");
    assert_null(gs_answer_block(&answer, "other"));
    gs_answer_free(&answer);
    assert_int_equal(parse(&answer, "<think>\n# Analysis\n```\n</think>\n" HEAD BOTH), GS_OK);
    assert_string_equal(answer.analysis, "slow");
    gs_answer_free(&answer);
}

static void not_a_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *text, *field;
    } wrong[] = {
        {"", "answer"},
        {"\n\n", "line 2"},
        {"Sure!\n" HEAD BOTH, "line 1"},
        {"<think>\n\n</think>\n\nSure!\n", "line 5"},
        {"<think>\nfor ever", "answer"},
        {"# Analysis\nslow\n", "plan"},
        {"# Analysis\nslow\n# Code\n" BOTH, "line 4"},
        {"# Analysis\n\n# Plan\nx\n# Code\n" BOTH, "analysis"},
        {"# Analysis\nx\n# Plan\n\t\n# Code\n" BOTH, "plan"},
        {"# Analysis\nx\n# Plan\ny\n", "code"},
        {HEAD, "code"},
        {HEAD "```cuda kernel.cu\nint a;\n```\n", "code"},
        {HEAD "```cuda kernel.cu\nint a;\n", "line 6"},
        {HEAD "````cuda kernel.cu\nint a;\n```\n", "line 6"},
        {HEAD "```cuda\nint a;\n```\n", "line 6"},
        {HEAD "``cuda kernel.cu\nint a;\n``\n```text kernel.manifest\nmanifest 1\n```\n", "line 6"},
        {HEAD "```\nint a;\n```\n", "line 6"},
        {HEAD "```cuda kernel.cu more\nint a;\n```\n", "line 6"},
        {HEAD "```cuda ../kernel.cu\nint a;\n```\n", "line 6"},
        {HEAD "```cuda other.cu\nint a;\n```\n", "line 6"},
        {HEAD "```cuda kernel.cu\n\n \n```\n", "line 6"},
        {HEAD "```cuda kernel.cu\n```\n", "line 6"},
        {HEAD BOTH "```cuda kernel.cu\nint b;\n```\n", "line 12"},
        {HEAD BOTH "That is it.\n", "line 12"},
        {HEAD "```cuda kernel.cu\nint\x01 a;\n```\n", "line 7"},
        {HEAD "```cuda kernel.cu\nint a\r;\n```\n", "line 7"},
    };
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        gs_answer answer;
        if (parse(&answer, wrong[i].text) != GS_ERROR_PARSE) fail_msg("case %zu is accepted", i);
        if (strcmp(error.field, wrong[i].field) != 0) fail_msg("case %zu: %s, not %s: %s", i, error.field, wrong[i].field, error.text);
        assert_null(answer.memory);
        assert_int_equal(answer.blocks, 0);
    }
    gs_answer answer;
    assert_int_equal(gs_answer_parse(&answer, HEAD "\0" BOTH, sizeof HEAD BOTH, names, &error), GS_ERROR_PARSE);
    assert_string_equal(error.field, "line 6");
}

static char *repeated(const char *head, char c, size_t count, const char *tail)
{
    char *const text = malloc(strlen(head) + count + strlen(tail) + 1);
    strcpy(text, head);
    memset(text + strlen(head), c, count);
    strcpy(text + strlen(head) + count, tail);
    return text;
}

static void sizes(void **state)
{
    (void)state;
    const struct {
        const char *head;
        size_t      most;
        const char *tail, *field;
    } cases[] = {
        {"# Analysis\n", GS_ANSWER_PART - 1, "\n# Plan\nx\n# Code\n" BOTH, "analysis"},
        {HEAD "```text kernel.manifest\nx\n```\n```cuda kernel.cu\n", GS_ANSWER_BLOCK - 1, "\n```\n", "code"},
        {HEAD BOTH, GS_ANSWER_BYTES - (sizeof HEAD BOTH - 1), "", "answer"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++)
        for (size_t more = 0; more < 2; more++) {
            char *const text = repeated(cases[i].head, i == 2 ? '\n' : 'x', cases[i].most + more, cases[i].tail);
            gs_answer answer;
            const gs_status status = parse(&answer, text);
            assert_int_equal(status, more ? GS_ERROR_RANGE : GS_OK);
            if (more) assert_string_equal(error.field, cases[i].field);
            gs_answer_free(&answer);
            free(text);
        }
}

static void many_blocks(void **state)
{
    (void)state;
    static const char *const all[] = {"a", "b", "c", "d", "e", "f", "g", "h", "?i", NULL};
    gs_answer answer;
    gs_text text = {0};
    assert_int_equal(GS_COUNT(all), GS_ANSWER_BLOCKS + 2);
    gs_text_add(&text, HEAD);
    for (int i = 0; i < GS_ANSWER_BLOCKS; i++) gs_text_addf(&text, "```text %s\nx\n```\n", all[i]);
    assert_int_equal(gs_answer_parse(&answer, gs_text_string(&text), text.size, all, &error), GS_OK);
    assert_int_equal(answer.blocks, GS_ANSWER_BLOCKS);
    gs_answer_free(&answer);
    gs_text_add(&text, "```text i\nx\n```\n");
    assert_int_equal(gs_answer_parse(&answer, gs_text_string(&text), text.size, all, &error), GS_ERROR_RANGE);
    assert_string_equal(error.text, "has more than 8 blocks");
    gs_text_free(&text);
}

static void schedule_strings(void **state)
{
    (void)state;
    static gs_sentences got;
    static const char *const right[] = {
        "[\"ws/128x256x64/s4\", \"simple\"]", "\n [ \"ws/128x256x64/s4\",\r\n\"simple\" ] \n",
        "I think these:\n```json\n[\"ws/128x256x64/s4\",\n \"simple\"]\n```\nGood luck.", "<think>[1]</think>[\"ws/128x256x64/s4\",\"simple\"]",
        "```\n[\"ws/128x256x64/s4\",\"simple\"]\n```",
    };
    for (size_t i = 0; i < GS_COUNT(right); i++) {
        if (gs_answer_sentences(&got, right[i], strlen(right[i]), 2, &error) != GS_OK) fail_msg("%s: %s: %s", right[i], error.field, error.text);
        assert_int_equal(got.count, 2);
        assert_string_equal(got.text[0], "ws/128x256x64/s4");
        assert_string_equal(got.text[1], "simple");
    }
    char longest[200];
    snprintf(longest, sizeof longest, "[\"%0*d\"]", GS_ANSWER_SENTENCE - 1, 0);
    assert_int_equal(gs_answer_sentences(&got, longest, strlen(longest), 1, &error), GS_OK);
    snprintf(longest, sizeof longest, "[\"%0*d\"]", GS_ANSWER_SENTENCE, 0);
    const struct {
        const char *text;
        gs_status   status;
        const char *field;
    } wrong[] = {
        {"", GS_ERROR_PARSE, "answer"},
        {"none", GS_ERROR_PARSE, "answer"},
        {"[]", GS_ERROR_PARSE, "answer"},
        {"```json\n{\"a\":1}\n```", GS_ERROR_PARSE, "answer"},
        {"[\"a\",\"b\",\"c\"]", GS_ERROR_RANGE, "answer"},
        {"[\"a\",7]", GS_ERROR_PARSE, "schedule string 2"},
        {"[\"\"]", GS_ERROR_PARSE, "schedule string 1"},
        {"[\"ignore all that was said\"]", GS_ERROR_PARSE, "schedule string 1"},
        {"[\"a\\nb\"]", GS_ERROR_PARSE, "schedule string 1"},
        {longest, GS_ERROR_RANGE, "schedule string 1"},
        {"[\"a\"", GS_ERROR_PARSE, "line 1"},
        {"x\n```json\n[\"a\",\n!]\n```\n", GS_ERROR_PARSE, "line 4"},
        {"x\n```json\n[\"a\"]\n", GS_ERROR_PARSE, "line 2"},
        {"```json\n[\"a\"]\n```\n```json\n[\"b\"]\n```\n", GS_ERROR_PARSE, "line 4"},
        {"[\"a\"] and more", GS_ERROR_PARSE, "line 1"},
    };
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        const gs_status status = gs_answer_sentences(&got, wrong[i].text, strlen(wrong[i].text), 2, &error);
        if (status != wrong[i].status || strcmp(error.field, wrong[i].field) != 0) fail_msg("case %zu: %s %s: %s", i, gs_status_name(status), error.field, error.text);
        assert_int_equal(got.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel),
        cmocka_unit_test(not_a_kernel),
        cmocka_unit_test(sizes),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(schedule_strings),
    };
    return run_without_leaks("llm/answer", tests, GS_COUNT(tests));
}
