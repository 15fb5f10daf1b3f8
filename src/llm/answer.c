/* SPDX-License-Identifier: MIT
 * Parses an answer line by line. Parts are cut out of the copy in place. */
#include "llm/answer.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

const char *const gs_answer_kernel[] = {"kernel.cu", "manifest", NULL};
const char *const gs_answer_edits[] = {"?kernel.cu", "?manifest", NULL};

typedef struct lines {
    char *at, *end;       /* text not read yet; *end is '\0' */
    int   number;         /* of the last line read */
} lines;

static gs_status wrong(int line, const char *what, gs_error *error)
{
    char field[32];
    snprintf(field, sizeof field, "line %d", line);
    return gs_fail(error, GS_ERROR_PARSE, field, "%s", what);
}

/* The next line; its line end is replaced by a NUL. NULL: no more. */
static char *next_line(lines *l)
{
    if (l->at >= l->end) return NULL;
    char *const line = l->at;
    char *const stop = memchr(line, '\n', (size_t)(l->end - line));
    l->at = stop ? stop + 1 : l->end;
    if (stop) *stop = '\0';
    l->number++;
    return line;
}

/* The last line read belongs to a longer text: restores its line end. */
static void keep_end(lines *l)
{
    if (l->at[-1] == '\0') l->at[-1] = '\n';
}

static bool is_blank(const char *line) { return line[strspn(line, " \t")] == '\0'; }

/* The number of backticks if the line is a fence (three or more), *info: what follows them; 0: it is none. */
static int fence(const char *line, const char **info)
{
    const int indent = (int)strspn(line, " ");
    const int ticks = (int)strspn(line + indent, "`");
    if (indent > 3 || ticks < 3) return 0;
    *info = line + indent + ticks + strspn(line + indent + ticks, " \t");
    return strchr(*info, '`') ? 0 : ticks;
}

static bool is_heading(const char *line, const char *word)
{
    const size_t marks = strspn(line, "#"), size = strlen(word);
    if (marks < 1 || marks > 3) return false;
    line += marks;
    line += strspn(line, " \t");
    if (strncasecmp(line, word, size) != 0) return false;
    line += size;
    return is_blank(line + (*line == ':'));
}

/* A copy with LF line ends, read from behind a leading <think>; line numbers are those of the answer. */
static gs_status copy(char **out, lines *l, const char *text, size_t size, gs_error *error)
{
    *out = NULL;
    *l = (lines){0};
    if (size == 0) return gs_fail(error, GS_ERROR_PARSE, "answer", "is empty");
    if (size > GS_ANSWER_BYTES) return gs_fail(error, GS_ERROR_RANGE, "answer", "is longer than %d bytes", GS_ANSWER_BYTES);
    char *const to = malloc(size + 1);
    if (!to) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the answer");
    size_t length = 0;
    int line = 1;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\r' && i + 1 < size && text[i + 1] == '\n') continue;
        if (((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t') || text[i] == 0x7f) {
            free(to);
            return wrong(line, "has a control character", error);
        }
        line += text[i] == '\n';
        to[length++] = text[i];
    }
    to[length] = '\0';
    char *from = to + strspn(to, " \t\n");
    if (strncmp(from, "<think>", 7) == 0) {
        char *const close = strstr(from, "</think>");
        if (!close) {
            free(to);
            return gs_fail(error, GS_ERROR_PARSE, "answer", "ends within <think>");
        }
        from = close + 8;
    } else {
        from = to;
    }
    *out = to;
    *l = (lines){.at = from, .end = to + length};
    for (const char *p = to; p < from; p++) l->number += *p == '\n';
    return GS_OK;
}

/* ---- a kernel ---- */

/* Removes surrounding blank lines. */
static char *trim(char *from, char *to)
{
    while (to > from && isspace((unsigned char)to[-1])) to--;
    *to = '\0';
    for (char *p = from; *p && isspace((unsigned char)*p); p++)
        if (*p == '\n') from = p + 1;
    return from;
}

/* Reads text up to the heading of the next part. */
static gs_status read_part(lines *l, const char *part, const char *next, const char **out, gs_error *error)
{
    char *const from = l->at;
    const char *info;
    for (char *line; (line = next_line(l));) {
        if (is_heading(line, next)) {
            if ((size_t)(line - from) > GS_ANSWER_PART) return gs_fail(error, GS_ERROR_RANGE, part, "is longer than %d bytes", GS_ANSWER_PART);
            char *const text = trim(from, line);
            *out = text;
            return *text ? GS_OK : gs_fail(error, GS_ERROR_PARSE, part, "is empty");
        }
        if (fence(line, &info)) return wrong(l->number, "a fenced block before the heading \"# Code\"", error);
        keep_end(l);
    }
    return gs_fail(error, GS_ERROR_PARSE, next, "the heading \"# %c%s\" is missing", toupper((unsigned char)next[0]), next + 1);
}

static bool is_name(const char *word)
{
    return *word && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0';
}

static gs_status check_name(const gs_answer *answer, const char *name, int line, const char *const *names, gs_error *error)
{
    if (gs_answer_block(answer, name)) return wrong(line, "a second block of this name", error);
    for (; *names; names++)
        if (strcmp(name, *names + (**names == '?')) == 0) return GS_OK;
    return wrong(line, "a block of a name that was not asked for", error);
}

static gs_status read_block(gs_answer *out, lines *l, char *info, int ticks, const char *const *names, gs_error *error)
{
    const int first = l->number;
    char *rest = NULL;
    strtok_r(info, " \t", &rest);   /* the language */
    char *const name = strtok_r(NULL, " \t", &rest), *const more = strtok_r(NULL, " \t", &rest);
    if (!name || more || !is_name(name)) return wrong(first, "a block must open with its language and its name, as in ```cuda kernel.cu", error);
    GS_TRY(check_name(out, name, first, names, error));
    if (out->blocks == GS_ANSWER_BLOCKS) return gs_fail(error, GS_ERROR_RANGE, "code", "has more than %d blocks", GS_ANSWER_BLOCKS);
    char *const from = l->at;
    const char *after;
    for (char *line; (line = next_line(l));) {
        if (fence(line, &after) >= ticks && *after == '\0') {
            *line = '\0';
            if (line - from > GS_ANSWER_BLOCK) return gs_fail(error, GS_ERROR_RANGE, "code", "has a block longer than %d bytes", GS_ANSWER_BLOCK);
            if (is_blank(from) || from[strspn(from, " \t\n")] == '\0') return wrong(first, "the block is empty", error);
            out->block[out->blocks].name = name;
            out->block[out->blocks++].text = from;
            return GS_OK;
        }
        keep_end(l);
    }
    return wrong(first, "the block is not closed: was the answer cut?", error);
}

static gs_status read_answer(gs_answer *out, lines *l, const char *const *names, gs_error *error)
{
    char *line;
    while ((line = next_line(l)) && is_blank(line)) continue;
    if (!line || !is_heading(line, "analysis")) return wrong(GS_MAX(l->number, 1), "must be the heading \"# Analysis\"", error);
    GS_TRY(read_part(l, "analysis", "plan", &out->analysis, error));
    GS_TRY(read_part(l, "plan", "code", &out->plan, error));
    while ((line = next_line(l))) {
        const char *info;
        const int ticks = fence(line, &info);
        if (ticks) GS_TRY(read_block(out, l, line + (info - line), ticks, names, error));
        else if (!is_blank(line)) return wrong(l->number, "text outside the blocks of the code", error);
    }
    for (; *names; names++)
        if (**names != '?' && !gs_answer_block(out, *names)) return gs_fail(error, GS_ERROR_PARSE, "code", "the block %s is missing", *names);
    return out->blocks > 0 ? GS_OK : gs_fail(error, GS_ERROR_PARSE, "code", "has no block");
}

gs_status gs_answer_parse(gs_answer *out, const char *text, size_t size, const char *const *names, gs_error *error)
{
    *out = (gs_answer){0};
    lines l;
    gs_status status = copy(&out->memory, &l, text, size, error);
    if (status == GS_OK) status = read_answer(out, &l, names, error);
    if (status != GS_OK) gs_answer_free(out);
    return status;
}

const char *gs_answer_block(const gs_answer *answer, const char *name)
{
    for (int i = 0; i < answer->blocks; i++)
        if (strcmp(answer->block[i].name, name) == 0) return answer->block[i].text;
    return NULL;
}

void gs_answer_free(gs_answer *answer)
{
    free(answer->memory);
    *answer = (gs_answer){0};
}

/* ---- schedules ---- */

/* Finds the array: the whole answer, or its only fenced block. */
static gs_status find_array(lines *l, char **from, char **to, int *line_before, gs_error *error)
{
    char *const start = l->at + strspn(l->at, " \t\n");
    if (*start == '[') {
        *from = l->at;
        *to = l->end;
        *line_before = l->number;
        return GS_OK;
    }
    int ticks = 0, blocks = 0;
    const char *info = "";
    for (char *line; (line = next_line(l));) {
        const int here = fence(line, &info);
        if (!ticks && here) {
            if (blocks++) return wrong(l->number, "a second fenced block: one with the JSON array was asked for", error);
            ticks = here;
            *from = l->at;
            *line_before = l->number;
        } else if (ticks && here >= ticks && *info == '\0') {
            *to = line;
            ticks = 0;
        } else if (ticks) {
            keep_end(l);
        }
    }
    if (ticks) return wrong(*line_before, "the block is not closed: was the answer cut?", error);
    return blocks ? GS_OK : gs_fail(error, GS_ERROR_PARSE, "answer", "has no JSON array and no fenced block with one");
}

static gs_status take_sentences(gs_sentences *out, const json_t *array, int most, gs_error *error)
{
    if (!json_is_array(array)) return gs_fail(error, GS_ERROR_PARSE, "answer", "the JSON must be an array of strings");
    if (json_array_size(array) == 0) return gs_fail(error, GS_ERROR_PARSE, "answer", "the array is empty");
    if (json_array_size(array) > (size_t)most) return gs_fail(error, GS_ERROR_RANGE, "answer", "the array has more than %d schedule strings", most);
    size_t i;
    const json_t *one;
    json_array_foreach(array, i, one) {
        char field[32];
        snprintf(field, sizeof field, "schedule string %d", (int)i + 1);
        const char *const text = json_string_value(one);
        if (!text) return gs_fail(error, GS_ERROR_PARSE, field, "is no string");
        if (strlen(text) >= GS_ANSWER_SENTENCE) return gs_fail(error, GS_ERROR_RANGE, field, "is longer than %d characters", GS_ANSWER_SENTENCE - 1);
        if (!*text || text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/")])
            return gs_fail(error, GS_ERROR_PARSE, field, "is empty or has other characters than a schedule");
        memcpy(out->text[out->count++], text, strlen(text) + 1);
    }
    return GS_OK;
}

gs_status gs_answer_sentences(gs_sentences *out, const char *text, size_t size, int most, gs_error *error)
{
    out->count = 0;
    char *memory, *from = NULL, *to = NULL;
    lines l;
    int before = 0;
    GS_TRY(copy(&memory, &l, text, size, error));
    gs_status status = find_array(&l, &from, &to, &before, error);
    if (status == GS_OK) {
        json_error_t why;
        json_t *const array = json_loadb(from, (size_t)(to - from), 0, &why);
        if (array) status = take_sentences(out, array, GS_MIN(most, GS_ANSWER_SENTENCES), error);
        else if (json_error_code(&why) == json_error_out_of_memory) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the answer");
        else status = wrong(before + GS_MAX(why.line, 1), "not JSON: an array of strings was asked for", error);
        json_decref(array);
    }
    if (status != GS_OK) out->count = 0;
    free(memory);
    return status;
}
