/* SPDX-License-Identifier: MIT
 * Parses edits, finds each in the parent, and applies them all at once. */
#include "llm/edit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "llm/edit_lines.h"

enum { COMPARED = 64 };   /* lines of an edit that are compared when searching for the most similar place */

/* Line numbers in the edits' text; from, to: in the parent. */
typedef struct edit {
    int search, search_count, replace, replace_count;
    int from, to, number;
} edit;

/* A text without comments, blank lines and white space. */
typedef struct code {
    gs_edit_lines lines;
    int          *origin;   /* line number in the original text, per line */
    gs_text       text;
} code;

typedef struct applying {
    const char   *name;
    gs_edit_lines parent, edits;
    code          code;          /* of the parent; made when first needed */
    edit          list[GS_EDITS];
    int           count;
} applying;

static gs_status wrong(const applying *a, int number, const char *what, gs_error *error)
{
    char field[32];
    snprintf(field, sizeof field, "edit %d of %.16s", number, a->name);
    return gs_fail(error, GS_ERROR_PARSE, field, "%s", what);
}

static gs_status no_memory(gs_error *error) { return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for edits"); }

bool gs_edit_is(const char *text)
{
    text += strspn(text, " \t\r\n");
    const size_t size = strcspn(text, "\n");
    gs_edit_line line = {text, size, size, 0};
    while (line.bare > 0 && isspace((unsigned char)text[line.bare - 1])) line.bare--;
    return gs_edit_mark(&line, '<') > 0;
}

/* ---- reading ---- */

/* Reads an edit from the line after its first marker; *at: moved to the line after its last one. */
static gs_status read_edit(applying *a, int signs, int *at, gs_error *error)
{
    if (a->count == GS_EDITS) return gs_fail(error, GS_ERROR_RANGE, a->name, "has more than %d edits", GS_EDITS);
    edit *const e = &a->list[a->count++];
    *e = (edit){.search = *at, .number = a->count};
    bool second = false;
    for (int i = *at; i < a->edits.count; i++) {
        const gs_edit_line *const line = &a->edits.line[i];
        if (gs_edit_mark(line, '<') == signs) return wrong(a, e->number, "another edit begins before this one has ended", error);
        if (gs_edit_mark(line, '=') == signs) {
            if (second) return wrong(a, e->number, "has two lines =======", error);
            second = true;
            e->search_count = i - e->search;
            e->replace = i + 1;
        } else if (gs_edit_mark(line, '>') == signs) {
            if (!second) return wrong(a, e->number, "has no line ======= before >>>>>>> REPLACE", error);
            e->replace_count = i - e->replace;
            *at = i + 1;
            return GS_OK;
        }
    }
    return wrong(a, e->number, second ? "does not end with >>>>>>> REPLACE: was the answer cut?" : "has no line =======: was the answer cut?", error);
}

static gs_status read_edits(applying *a, gs_error *error)
{
    for (int i = 0; i < a->edits.count;) {
        const gs_edit_line *const line = &a->edits.line[i++];
        const int signs = gs_edit_mark(line, '<');
        if (signs > 0) GS_TRY(read_edit(a, signs, &i, error));
        else if (line->bare > 0) return wrong(a, a->count + 1, "there is text outside of the edits: each begins with a line <<<<<<< SEARCH", error);
    }
    return a->count > 0 ? GS_OK : wrong(a, 1, "there is no edit", error);
}

/* ---- comparing without comments ---- */

/* Appends a line without comments and white space; *within: inside a comment that began on an earlier line. */
static void add_code(gs_text *out, const gs_edit_line *line, bool *within)
{
    char quote = '\0';
    for (size_t i = 0; i < line->bare; i++) {
        const char c = line->at[i], next = i + 1 < line->bare ? line->at[i + 1] : '\0';
        if (*within) {
            if (c == '*' && next == '/') *within = false, i++;
        } else if (quote) {
            gs_text_add_bytes(out, &c, 1);
            if (c == '\\' && next) gs_text_add_bytes(out, &line->at[++i], 1);
            else if (c == quote) quote = '\0';
        } else if (c == '/' && next == '/') {
            return;
        } else if (c == '/' && next == '*') {
            *within = true;
            i++;
        } else if (!isspace((unsigned char)c)) {
            if (c == '"' || c == '\'') quote = c;
            gs_text_add_bytes(out, &c, 1);
        }
    }
}

static void free_code(code *c)
{
    free(c->lines.line);
    free(c->origin);
    gs_text_free(&c->text);
    *c = (code){0};
}

static gs_status read_code(code *out, const gs_edit_line *line, int count, gs_error *error)
{
    bool within = false;
    *out = (code){.origin = malloc(((size_t)count + 1) * sizeof *out->origin)};
    size_t *const starts = malloc(((size_t)count + 1) * sizeof *starts);
    int kept = 0;
    for (int i = 0; i < count && starts && out->origin; i++) {
        const size_t before = out->text.size;
        add_code(&out->text, &line[i], &within);
        if (out->text.size == before) continue;
        starts[kept] = before;
        out->origin[kept++] = i;
    }
    gs_status status = starts && out->origin && !out->text.failed ? GS_OK : no_memory(error);
    for (int i = 0; i < kept && status == GS_OK; i++)
        status = gs_edit_lines_add(&out->lines, out->text.data + starts[i], (i + 1 < kept ? starts[i + 1] : out->text.size) - starts[i], error);
    free(starts);
    if (status != GS_OK) free_code(out);
    return status;
}

/* ---- finding ---- */

static gs_status not_there(const applying *a, const edit *e, const code *search, gs_error *error)
{
    const int count = GS_MIN(search->lines.count, COMPARED);
    int best = 0, at = 0;
    for (int i = 0; i < a->code.lines.count && count > 0; i++) {
        int equal = 0;
        for (int k = 0; k < count && i + k < a->code.lines.count; k++) equal += a->code.lines.line[i + k].hash == search->lines.line[k].hash;
        if (equal > best) best = equal, at = i;
    }
    char what[320];
    if (best == 0) return wrong(a, e->number, "its SEARCH lines are not there, not even one of them: copy whole lines as they are shown", error);
    int differs = 0;
    while (differs < search->lines.count && at + differs < a->code.lines.count && a->code.lines.line[at + differs].hash == search->lines.line[differs].hash) differs++;
    const int last = GS_MIN(at + count, a->code.lines.count) - 1;
    snprintf(what, sizeof what, "its SEARCH lines are not there; the nearest are lines %d to %d, of which %d of %d are the same; the first that differs is line %d of SEARCH",
             a->code.origin[at] + 1, a->code.origin[last] + 1, best, count, search->origin[GS_MIN(differs, search->lines.count - 1)] + 1);
    return wrong(a, e->number, what, error);
}

static gs_status ambiguous(const applying *a, const edit *e, int times, gs_error *error)
{
    char what[160];
    snprintf(what, sizeof what, "its SEARCH lines are there %d times: add lines before or after them until they are there once", times);
    return wrong(a, e->number, what, error);
}

static gs_status find_code(applying *a, edit *e, gs_error *error)
{
    code search;
    int at = 0;
    if (!a->code.origin) GS_TRY(read_code(&a->code, a->parent.line, a->parent.count, error));
    GS_TRY(read_code(&search, &a->edits.line[e->search], e->search_count, error));
    const int times = gs_edit_find(&a->code.lines, search.lines.line, search.lines.count, &at);
    gs_status status = times < 0 ? no_memory(error) : times > 1 ? ambiguous(a, e, times, error) : times == 0 ? not_there(a, e, &search, error) : GS_OK;
    if (status == GS_OK) {
        e->from = a->code.origin[at];
        e->to = a->code.origin[at + search.lines.count - 1] + 1;
    }
    free_code(&search);
    return status;
}

static gs_status find_edit(applying *a, edit *e, gs_error *error)
{
    const gs_edit_line *const search = &a->edits.line[e->search];
    bool blank = true;
    int at = 0;
    for (int i = 0; i < e->search_count; i++) blank &= search[i].bare == 0;
    if (blank) return wrong(a, e->number, "its SEARCH lines are empty: to insert, search the lines beside the place and repeat them in the replacement", error);
    const int times = gs_edit_find(&a->parent, search, e->search_count, &at);
    if (times < 0) return no_memory(error);
    if (times > 1) return ambiguous(a, e, times, error);
    if (times == 0) return find_code(a, e, error);
    e->from = at;
    e->to = at + e->search_count;
    return GS_OK;
}

static int by_place(const void *left, const void *right)
{
    const edit *const a = left, *const b = right;
    return a->from != b->from ? a->from - b->from : a->number - b->number;
}

static gs_status find_all(applying *a, gs_error *error)
{
    for (int i = 0; i < a->count; i++) GS_TRY(find_edit(a, &a->list[i], error));
    qsort(a->list, (size_t)a->count, sizeof a->list[0], by_place);
    for (int i = 1; i < a->count; i++) {
        const int first = GS_MIN(a->list[i - 1].number, a->list[i].number), second = GS_MAX(a->list[i - 1].number, a->list[i].number);
        char what[96];
        if (a->list[i].from >= a->list[i - 1].to) continue;
        snprintf(what, sizeof what, "its lines overlap with those of edit %d: make one edit of both", first);
        return wrong(a, second, what, error);
    }
    return GS_OK;
}

/* ---- applying ---- */

static void add_lines(gs_text *out, const gs_edit_line *line, int count)
{
    for (int i = 0; i < count; i++) {
        const size_t size = line[i].size - (line[i].size > 0 && line[i].at[line[i].size - 1] == '\r');
        gs_text_add_bytes(out, line[i].at, size);
        gs_text_add(out, "\n");
    }
}

static gs_status build(const applying *a, gs_text *out, gs_error *error)
{
    gs_text before = {0}, after = {0};
    int at = 0;
    for (int i = 0; i < a->count; i++) {
        const edit *const e = &a->list[i];
        add_lines(&after, &a->parent.line[at], e->from - at);
        add_lines(&after, &a->edits.line[e->replace], e->replace_count);
        at = e->to;
    }
    add_lines(&after, &a->parent.line[at], a->parent.count - at);
    add_lines(&before, a->parent.line, a->parent.count);
    gs_status status = before.failed || after.failed ? no_memory(error) : GS_OK;
    const char *const text = gs_text_string(&after);
    if (status == GS_OK && text[strspn(text, " \t\r\n")] == '\0') status = wrong(a, a->count, "nothing is left", error);
    else if (status == GS_OK && strcmp(gs_text_string(&before), text) == 0) status = wrong(a, a->count, "the edits change nothing", error);
    else if (status == GS_OK && after.size > GS_EDIT_BYTES) status = gs_fail(error, GS_ERROR_RANGE, a->name, "would be longer than %d bytes", GS_EDIT_BYTES);
    if (status == GS_OK) gs_text_add_bytes(out, text, after.size);
    if (status == GS_OK && out->failed) status = no_memory(error);
    gs_text_free(&before);
    gs_text_free(&after);
    return status;
}

gs_status gs_edit_apply(gs_text *out, const char *parent, const char *edits, const char *name, gs_error *error)
{
    applying *const a = calloc(1, sizeof *a);
    if (!a) return no_memory(error);
    a->name = name;
    gs_status status = gs_edit_lines_read(&a->parent, parent, error);
    if (status == GS_OK) status = gs_edit_lines_read(&a->edits, edits, error);
    if (status == GS_OK) status = read_edits(a, error);
    if (status == GS_OK) status = find_all(a, error);
    if (status == GS_OK) status = build(a, out, error);
    free(a->parent.line);
    free(a->edits.line);
    free_code(&a->code);
    free(a);
    return status;
}

/* One of the two texts of a kernel. */
static gs_status text_of(char **out, bool *edited, const char *parent, const char *block, const char *name, gs_error *error)
{
    gs_text text = {0};
    gs_status status = GS_OK;
    if (!block || gs_edit_is(block)) {
        if (!parent) return gs_fail(error, GS_ERROR_PARSE, name, block ? "has edits, and there is no kernel that they are of" : "is missing");
        *edited = true;
    }
    if (!block) gs_text_add(&text, parent);
    else if (!gs_edit_is(block)) gs_text_add(&text, block);
    else status = gs_edit_apply(&text, parent, block, name, error);
    *out = status == GS_OK ? gs_text_take(&text) : NULL;
    if (status == GS_OK && !*out) status = no_memory(error);
    gs_text_free(&text);
    return status;
}

gs_status gs_edit_kernel(char **source, char **manifest, bool *edited, const gs_parent *parent, const char *source_block, const char *manifest_block, gs_error *error)
{
    const bool any = parent && parent->source && parent->manifest;
    *source = *manifest = NULL;
    *edited = false;
    if (!source_block && !manifest_block) return gs_fail(error, GS_ERROR_PARSE, "code", "has no block kernel.cu and no block manifest");
    gs_status status = text_of(source, edited, any ? parent->source : NULL, source_block, "kernel.cu", error);
    if (status == GS_OK) status = text_of(manifest, edited, any ? parent->manifest : NULL, manifest_block, "manifest", error);
    if (status == GS_OK) return GS_OK;
    free(*source);
    free(*manifest);
    *source = *manifest = NULL;
    return status;
}
