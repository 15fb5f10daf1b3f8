/* SPDX-License-Identifier: MIT */
#include "llm/completion.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "llm/edit_lines.h"

typedef struct piece {
    const char *at;
    size_t      size;
} piece;

enum { SCHEDULE, SOURCE, MANIFEST, ARRAY, NAMES };

static const struct {
    const char *word;   /* the last word of at most two */
    int         name;
} words[] = {{"schedule", SCHEDULE}, {"cuda", SOURCE}, {"kernel.cu", SOURCE}, {"manifest", MANIFEST}, {"json", ARRAY}};

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static piece trim(piece p)
{
    while (p.size > 0 && is_blank(p.at[p.size - 1])) p.size--;
    while (p.size > 0 && is_blank(p.at[0])) p.at++, p.size--;
    return p;
}

/* The text behind the last </think>; nothing if a leading <think> is not closed. */
static piece without_thoughts(piece p)
{
    static const char open[] = "<think>", close[] = "</think>";
    const size_t size = sizeof close - 1;
    for (size_t end = p.size; end >= size; end--)
        if (memcmp(p.at + end - size, close, size) == 0) return (piece){p.at + end, p.size - end};
    const piece text = trim(p);
    return text.size >= sizeof open - 1 && memcmp(text.at, open, sizeof open - 1) == 0 ? (piece){p.at, 0} : p;
}

/* Removes end-of-text marks: <|im_end|>, </s>. */
static piece without_marks(piece p)
{
    for (;;) {
        size_t end = p.size;
        while (end > 0 && is_blank(p.at[end - 1])) end--;
        if (end < 3 || p.at[end - 1] != '>') return p;
        size_t from = end - 1;
        while (from > 0 && p.at[from - 1] != '<' && p.at[from - 1] != '>' && p.at[from - 1] != '`' && !is_blank(p.at[from - 1])) from--;
        if (from == 0 || from == end - 1 || p.at[from - 1] != '<') return p;
        p.size = from - 1;
    }
}

/* The number of backticks that begin the line, three or more, *rest: what follows them; 0: not a fence. */
static size_t fence(piece line, piece *rest)
{
    size_t ticks = 0;
    while (ticks < line.size && line.at[ticks] == '`') ticks++;
    if (ticks < 3 || memchr(line.at + ticks, '`', line.size - ticks)) return 0;
    *rest = trim((piece){line.at + ticks, line.size - ticks});
    return ticks;
}

/* The kind of block that these words open; NAMES: another one. */
static int name_of(piece info)
{
    size_t first = 0, last;
    while (first < info.size && !is_blank(info.at[first])) first++;
    const piece second = trim((piece){info.at + first, info.size - first});
    const piece word = second.size ? second : info;
    for (last = 0; last < word.size; last++)
        if (is_blank(word.at[last])) return NAMES;
    for (size_t i = 0; i < GS_COUNT(words); i++)
        if (word.size == strlen(words[i].word) && memcmp(word.at, words[i].word, word.size) == 0) return words[i].name;
    return NAMES;
}

static bool begins_edit(piece text)
{
    piece line = trim(text);
    const char *const stop = memchr(line.at, '\n', line.size);
    if (stop) line = trim((piece){line.at, (size_t)(stop - line.at)});
    return gs_edit_mark(&(gs_edit_line){line.at, line.size, line.size, 0}, '<') > 0;
}

/* edits: for each name, the blocks of edits behind its last other block, joined; NULL: not wanted. */
static void find_blocks(piece text, piece block[NAMES], gs_text edits[NAMES])
{
    const char *const end = text.at + text.size, *body = NULL;
    size_t ticks = 0;
    int name = NAMES;
    for (const char *at = text.at, *next; at < end; at = next) {
        const char *const stop = memchr(at, '\n', (size_t)(end - at));
        piece rest;
        next = stop ? stop + 1 : end;
        const size_t found = fence((piece){at, (size_t)((stop ? stop : end) - at)}, &rest);
        if (!found) continue;
        if (name == NAMES) {
            name = name_of(rest);
            ticks = found;
            body = next;
        } else if (found >= ticks && rest.size == 0) {
            const piece whole = {body, (size_t)(at - body)};
            if (trim(whole).size > 0) block[name] = whole;
            if (edits && trim(whole).size > 0 && !begins_edit(whole)) gs_text_clear(&edits[name]);
            else if (edits && trim(whole).size > 0) gs_text_add_bytes(&edits[name], whole.at, whole.size);
            name = NAMES;
        }
    }
}

/* The first schedule string if the text is a JSON array of schedule strings and nothing else; otherwise empty. */
static piece first_sentence(piece text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
    piece first = {0}, rest = trim(text);
    if (rest.size < 2 || rest.at[0] != '[' || rest.at[rest.size - 1] != ']') return (piece){0};
    for (rest = trim((piece){rest.at + 1, rest.size - 2});; rest = trim((piece){rest.at + 1, rest.size - 1})) {
        size_t size = 0;
        if (rest.size == 0 || rest.at[0] != '"') return (piece){0};
        while (1 + size < rest.size && rest.at[1 + size] != '\0' && strchr(letters, rest.at[1 + size])) size++;
        if (size == 0 || 1 + size >= rest.size || rest.at[1 + size] != '"') return (piece){0};
        if (first.size == 0) first = (piece){rest.at + 1, size};
        rest = trim((piece){rest.at + size + 2, rest.size - size - 2});
        if (rest.size == 0) return first;
        if (rest.at[0] != ',') return (piece){0};
    }
}

static char *copy(piece p)
{
    char *const out = malloc(p.size + 1);
    size_t size = 0;
    if (!out) return NULL;
    for (size_t i = 0; i < p.size; i++)
        if (p.at[i] != '\r' || i + 1 == p.size || p.at[i + 1] != '\n') out[size++] = p.at[i];
    out[size] = '\0';
    return out;
}

static gs_status take_schedule(gs_completion *out, piece schedule_string, gs_error *error)
{
    if (schedule_string.size > GS_COMPLETION_SCHEDULE) return GS_OK;
    out->schedule = copy(schedule_string);
    return out->schedule ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a candidate");
}

gs_status gs_completion_read(gs_completion *out, const char *text, size_t size, gs_error *error)
{
    piece block[NAMES] = {0};
    *out = (gs_completion){0};
    if (size == 0 || memchr(text, '\0', size)) return GS_OK;
    const piece answer = without_marks(without_thoughts((piece){text, size}));
    find_blocks(answer, block, NULL);
    piece schedule_string = trim(block[SCHEDULE]);
    const bool kernel = block[SOURCE].size > 0 && block[MANIFEST].size > 0;
    if (schedule_string.size == 0 && !kernel) schedule_string = first_sentence(block[ARRAY].size > 0 ? block[ARRAY] : answer);
    if (schedule_string.size > 0) return take_schedule(out, schedule_string, error);
    if (!kernel || block[SOURCE].size > GS_COMPLETION_SOURCE || block[MANIFEST].size > GS_COMPLETION_MANIFEST) return GS_OK;
    out->source = copy(block[SOURCE]);
    out->manifest = copy(block[MANIFEST]);
    if (out->source && out->manifest) return GS_OK;
    gs_completion_free(out);
    return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a candidate");
}

/* ---- edits ---- */

/* Appends the lines of edits in a text that has other lines around them. */
static void add_bare_edits(gs_text *out, piece text)
{
    const char *const end = text.at + text.size;
    int signs = 0;
    for (const char *at = text.at, *next; at < end; at = next) {
        const char *const stop = memchr(at, '\n', (size_t)(end - at));
        next = stop ? stop + 1 : end;
        const piece whole = {at, (size_t)((stop ? stop : end) - at)}, bare = trim(whole);
        const gs_edit_line line = {bare.at, bare.size, bare.at == at ? bare.size : 0, 0};   /* a marker must begin its line */
        const int begins = gs_edit_mark(&line, '<');
        if (signs == 0) signs = begins;
        if (signs == 0) continue;
        gs_text_add_bytes(out, whole.at, whole.size);
        gs_text_add(out, "\n");
        if (gs_edit_mark(&line, '>') == signs) signs = 0;
    }
}

/* The joined edits if there are any, else the block. */
static char *block_of(const gs_text *edits, piece block)
{
    if (edits->size > 0) return copy((piece){edits->data, edits->size});
    return copy(block);
}

/* Reads code without comments and white space, except inside quotes. */
typedef struct code_reader {
    const char *at;
    char        quote;     /* the quote character while inside quotes; 0: outside */
    bool        escaped;   /* after a backslash inside quotes */
    char        comment;   /* begins a line comment; 0: C comments */
} code_reader;

static int next_code(code_reader *r)
{
    for (;;) {
        const char c = *r->at;
        if (c == '\0') return c;
        if (r->quote) {
            if (r->escaped || c == '\\') r->escaped = !r->escaped;
            else if (c == r->quote || c == '\n') r->quote = 0;
        } else if (c == '"' || c == '\'') {
            r->quote = c;
        } else if (r->comment ? c == r->comment : c == '/' && r->at[1] == '/') {
            r->at += strcspn(r->at, "\n");
            continue;
        } else if (c == '/' && r->at[1] == '*') {
            const char *const end = strstr(r->at + 2, "*/");
            r->at = end ? end + 2 : r->at + strlen(r->at);
            continue;
        } else if (strchr(" \t\r\n\v\f", c)) {
            r->at++;
            continue;
        }
        r->at++;
        return (unsigned char)c;
    }
}

/* Whether two texts differ only in comments and white space. comment: begins a comment (a manifest's); 0: C code. */
static bool is_same_code(const char *text, const char *other, char comment)
{
    for (code_reader a = {.at = text, .comment = comment}, b = {.at = other, .comment = comment};;) {
        const int x = next_code(&a), y = next_code(&b);
        if (x != y) return false;
        if (x == '\0') return true;
    }
}

/* Rejects a kernel that equals its parent: it would be rewarded for another's work. */
static void refuse_parent(gs_completion *out, const gs_parent *parent)
{
    if (!out->source || !parent || !parent->source || !is_same_code(out->source, parent->source, 0) || !is_same_code(out->manifest, parent->manifest, '#')) return;
    gs_completion_free(out);
    gs_fail(&out->fault, GS_ERROR_PARSE, NULL, "the kernel is its parent: nothing but comments and white space differ");
}

static gs_status read_kernel(gs_completion *out, const gs_text edits[NAMES], const piece block[NAMES], const gs_parent *parent, gs_error *error)
{
    const bool source = edits[SOURCE].size > 0 || block[SOURCE].size > 0, manifest = edits[MANIFEST].size > 0 || block[MANIFEST].size > 0;
    bool edited;
    if (!source && !manifest) return GS_OK;
    char *const first = source ? block_of(&edits[SOURCE], block[SOURCE]) : NULL, *const second = manifest ? block_of(&edits[MANIFEST], block[MANIFEST]) : NULL;
    gs_status status = (source && !first) || (manifest && !second) ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a candidate") : GS_OK;
    if (status == GS_OK) {
        status = gs_edit_kernel(&out->source, &out->manifest, &edited, parent, first, second, &out->fault);
        if (status == GS_ERROR_MEMORY) gs_fail(error, status, NULL, "no memory for a candidate");
        else status = GS_OK;
    }
    free(first);
    free(second);
    refuse_parent(out, parent);
    if (out->source && (strlen(out->source) > GS_COMPLETION_SOURCE || strlen(out->manifest) > GS_COMPLETION_MANIFEST)) gs_completion_free(out);
    return status;
}

gs_status gs_completion_read_edit(gs_completion *out, const char *text, size_t size, const gs_parent *parent, gs_error *error)
{
    piece block[NAMES] = {0};
    gs_text edits[NAMES] = {{0}};
    *out = (gs_completion){0};
    if (size == 0 || memchr(text, '\0', size)) return GS_OK;
    const piece answer = without_marks(without_thoughts((piece){text, size}));
    find_blocks(answer, block, edits);
    gs_status status = GS_OK;
    if (block[SOURCE].size == 0 && block[MANIFEST].size == 0) add_bare_edits(&edits[SOURCE], answer);
    if (edits[SOURCE].failed || edits[MANIFEST].failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a candidate");
    else if (block[SOURCE].size > 0 || block[MANIFEST].size > 0 || edits[SOURCE].size > 0) status = read_kernel(out, edits, block, parent, error);
    else if (trim(block[SCHEDULE]).size > 0 || first_sentence(block[ARRAY].size > 0 ? block[ARRAY] : answer).size > 0)
        gs_fail(&out->fault, GS_ERROR_PARSE, NULL, "a schedule is no answer where a kernel is to be developed");
    for (int i = 0; i < NAMES; i++) gs_text_free(&edits[i]);
    return status;
}

void gs_completion_free(gs_completion *completion)
{
    free(completion->schedule);
    free(completion->source);
    free(completion->manifest);
    *completion = (gs_completion){0};
}
