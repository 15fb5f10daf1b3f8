/* SPDX-License-Identifier: MIT */
#include "recorded/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "problem/layout.h"

#define FILE_LIMIT (64u << 20)
#define MARK "\xef\xbb\xbf"   /* UTF-8 byte order mark, which some editors write */

void gs_problem_list_free(gs_problem_list *list)
{
    free(list->list);
    gs_recorded_free(&list->calls);
    *list = (gs_problem_list){.acc = -1};
}

static gs_status at(gs_problem_list *list, const char *where, gs_status status)
{
    if (status != GS_OK && !list->where[0]) snprintf(list->where, sizeof list->where, "%s", where);
    return status;
}

gs_status gs_problem_list_add(gs_problem_list *list, const gs_problem *problem, uint64_t calls, gs_error *error)
{
    gs_problem same = *problem;
    char text[GS_PROBLEM_TEXT];
    GS_TRY(at(list, gs_problem_format(problem, text), gs_problem_check(problem, error)));
    gs_problem_parse(&same, text, NULL);   /* problems with the same text are the same */
    if (!gs_grow(&list->list, list->count, &list->capacity, sizeof *list->list)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no room for %d problems", list->count + 1);
    GS_TRY(gs_recorded_put(&list->calls, &same, "", calls, error));
    if (list->calls.count > list->count) list->list[list->count++] = *problem;
    return GS_OK;
}

static gs_status add_asked(gs_problem_list *list, gs_problem problem, uint64_t calls, gs_error *error)
{
    if (list->shards > 0 && list->seen++ % list->shards != list->shard) return GS_OK;
    if (list->acc >= 0) problem.acc = (gs_type)list->acc;
    if (!list->layouts) return gs_problem_list_add(list, &problem, calls, error);
    for (gs_layout layout = GS_NN; layout <= GS_TN; layout++) {
        const gs_problem one = gs_problem_in_layout(&problem, layout);
        if (list->layouts & 1u << layout) GS_TRY(gs_problem_list_add(list, &one, calls, error));
    }
    return GS_OK;
}

gs_status gs_problem_list_add_text(gs_problem_list *list, const char *text, const char *where, gs_error *error)
{
    gs_problem problem;
    GS_TRY(at(list, where, gs_problem_parse(&problem, text, error)));
    return add_asked(list, problem, 1, error);
}

/* text: content of a recorded file; NULL: path, a file or a folder, is read */
static gs_status add_recorded(gs_problem_list *list, const char *path, char *text, gs_error *error)
{
    gs_recorded r = {0};
    gs_status status = text ? gs_recorded_read_text(&r, text, path, error) : gs_recorded_read(&r, path, error);
    gs_recorded_sort(&r);
    for (int i = 0; i < r.count && status == GS_OK; i++) {
        const gs_problem *const p = &r.rows[i].problem;
        if (p->m > 0 && p->n > 0 && p->k > 0) status = add_asked(list, *p, r.rows[i].count, error);   /* empty problems cost nothing */
    }
    list->cut += r.cut;
    list->recorded = true;
    gs_recorded_free(&r);
    return status;
}

static gs_status add_lines(gs_problem_list *list, char *data, const char *name, gs_error *error)
{
    int number = 0;
    for (char *rest = data + (strncmp(data, MARK, strlen(MARK)) == 0 ? strlen(MARK) : 0); rest;) {
        char *text = rest, where[GS_PATH + 32];
        number++;
        rest = strchr(text, '\n');
        if (rest) *rest++ = '\0';
        text[strcspn(text, "#\r")] = '\0';
        text += strspn(text, " \t");
        for (size_t end = strlen(text); end > 0 && strchr(" \t", text[end - 1]); end--) text[end - 1] = '\0';
        snprintf(where, sizeof where, "%s line %d", name, number);
        if (*text) GS_TRY(gs_problem_list_add_text(list, text, where, error));
    }
    return GS_OK;
}

gs_status gs_problem_list_add_file(gs_problem_list *list, const char *path, gs_error *error)
{
    char *data;
    size_t size;
    const bool standard = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0;
    const char *const name = standard ? "standard input" : path;
    if (!standard && gs_recorded_is_path(path)) return add_recorded(list, path, NULL, error);
    GS_TRY(standard ? gs_file_read_standard(FILE_LIMIT, &data, error) : gs_file_read(path, FILE_LIMIT, &data, &size, error));
    const gs_status status = gs_recorded_is(data) ? add_recorded(list, name, data, error) : add_lines(list, data, name, error);
    free(data);
    return status;
}

/* Whether the word is neither f16:... nor 64_64_64, so that a file was probably meant. */
static bool looks_like_path(const char *word) { return !strchr(word, ':') && word[strspn(word, "0123456789_x")] != '\0'; }

gs_status gs_problem_list_add_word(gs_problem_list *list, const char *word, gs_error *error)
{
    gs_problem problem;
    const bool wrong = gs_problem_parse(&problem, word, NULL) != GS_OK;
    if (gs_recorded_is_path(word) || (wrong && gs_file_exists(word))) return gs_problem_list_add_file(list, word, error);
    if (wrong && looks_like_path(word)) return at(list, word, gs_fail(error, GS_ERROR_PARSE, NULL, "there is no such file, and a problem is written f16:64x4096x64:nn"));
    return gs_problem_list_add_text(list, word, word, error);
}
