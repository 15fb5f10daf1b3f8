/* SPDX-License-Identifier: MIT
 * The scanner of a source: moves over the text and adds words and blanks to what is shown. */
#include "redact/scanner.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

/* Skips line joins; some compilers also read the trigraph "?\?/" as a backslash. */
static void skip_joins(gs_scanner *s)
{
    for (;;) {
        const size_t size = s->at[0] == '\\' ? 1 : s->at[0] == '?' && s->at[1] == '?' && s->at[2] == '/' ? 3 : 0;
        const char *end = s->at + size;
        if (size == 0) return;
        while (*end == ' ' || *end == '\t' || *end == '\r' || *end == '\f' || *end == '\v') end++;
        if (*end != '\n') return;
        s->at = end + 1;
        s->line++;
        s->joined = true;
    }
}

char gs_scanner_peek(gs_scanner *s)
{
    skip_joins(s);
    return *s->at;
}

void gs_scanner_step(gs_scanner *s)
{
    if (*s->at == '\n') s->line++;
    if (*s->at) s->at++;
}

char gs_scanner_second(const gs_scanner *s)
{
    gs_scanner ahead = *s;
    if (!gs_scanner_peek(&ahead)) return '\0';
    gs_scanner_step(&ahead);
    return gs_scanner_peek(&ahead);
}

bool gs_scanner_same(const char *a, const char *word, size_t size) { return strlen(a) == size && memcmp(a, word, size) == 0; }
bool gs_scanner_is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* ---- what is left out ---- */

void gs_scanner_drop(gs_scanner *s, const char *from, size_t size)
{
    gs_text *const dropped = &s->out->dropped;
    if (size == 0 || dropped->size >= GS_SOURCE_DROPPED) return;
    gs_text_add_bytes(dropped, from, GS_MIN(size, GS_SOURCE_DROPPED - dropped->size));
    gs_text_add(dropped, "\n");
}

void gs_scanner_skip_comment(gs_scanner *s)
{
    const char *const from = s->at;
    gs_scanner_step(s);
    const bool line = gs_scanner_peek(s) == '/';
    gs_scanner_step(s);
    if (line) {
        while (gs_scanner_peek(s) && *s->at != '\n') gs_scanner_step(s);
    } else {
        for (char last = '\0', c; (c = gs_scanner_peek(s)) != '\0'; last = c) {
            gs_scanner_step(s);
            if (last == '*' && c == '/') break;
        }
    }
    gs_scanner_drop(s, from, (size_t)(s->at - from));
}

bool gs_scanner_at_comment(gs_scanner *s)
{
    if (gs_scanner_peek(s) != '/') return false;
    const char next = gs_scanner_second(s);
    return next == '/' || next == '*';
}

/* Drops the rest of the logical line. */
void gs_scanner_drop_line(gs_scanner *s)
{
    const char *from = s->at;
    while (gs_scanner_peek(s) && *s->at != '\n') {
        if (gs_scanner_at_comment(s)) {
            gs_scanner_drop(s, from, (size_t)(s->at - from));
            gs_scanner_skip_comment(s);
            from = s->at;
        } else {
            gs_scanner_step(s);
        }
    }
    gs_scanner_drop(s, from, (size_t)(s->at - from));
}

/* ---- what is shown ---- */

void gs_scanner_map_lines(gs_scanner *s, int to)
{
    gs_source_shown *const out = s->out;
    for (; s->mapped < s->line; s->mapped++) {
        if (!gs_grow(&out->line, out->lines, &out->capacity, sizeof *out->line)) {
            out->failed = true;
            return;
        }
        out->line[out->lines++] = to;
    }
}

void gs_scanner_open_line(gs_scanner *s)
{
    gs_text *const text = &s->out->text;
    if (s->begun && s->breaks > 0) {
        gs_text_add(text, s->breaks > 1 ? "\n\n" : "\n");
        s->shown += s->breaks > 1 ? 2 : 1;
        s->begun = false;
    } else if (s->begun && s->joined && s->directive) {
        gs_text_add(text, " \\\n    ");
        s->shown++;
    } else if (s->begun && s->blank) {
        gs_text_add(text, " ");
    }
    if (!s->begun) gs_text_addf(text, "%*s", s->indent, "");
    s->begun = true;
    s->breaks = 0;
    s->blank = s->joined = s->fresh = s->open_angle = false;
    gs_scanner_map_lines(s, s->shown);
}

void gs_scanner_show(gs_scanner *s, const char *bytes, size_t size)
{
    gs_scanner_open_line(s);
    gs_text_add_bytes(&s->out->text, bytes, size);
}

static gs_scanner_mark mark_here(const gs_scanner *s) { return (gs_scanner_mark){s->out->text.size, s->shown, s->begun}; }

static void take_back(gs_scanner *s, gs_scanner_mark to)
{
    gs_text *const text = &s->out->text;
    if (!text->data || to.size > text->size) return;
    gs_scanner_drop(s, text->data + to.size, text->size - to.size);
    text->size = to.size;
    text->data[to.size] = '\0';
    s->shown = to.line;
    s->begun = to.begun;
    for (int i = s->out->lines; i-- > 0 && s->out->line[i] > to.line;) s->out->line[i] = to.line;
}

void gs_scanner_end_row(gs_scanner *s) { s->row = 0; }

/* ---- words ---- */

/* Reads the whole word; of a word that does not fit into the buffer only the length is kept. */
size_t gs_scanner_read_word(gs_scanner *s, char word[GS_SOURCE_WORD])
{
    size_t size = 0;
    while (gs_scanner_is_word(gs_scanner_peek(s))) {
        if (size < GS_SOURCE_WORD) word[size] = *s->at;
        size++;
        gs_scanner_step(s);
    }
    return GS_MIN(size, GS_SOURCE_WORD);
}

static bool is_macro(const gs_scanner *s, const char *word, size_t size)
{
    const uint64_t hash = s->macros > 0 ? gs_hash64(word, size) : 0;
    for (int i = 0; i < s->macros; i++)
        if (s->macro[i] == hash) return true;
    return false;
}

void gs_scanner_show_word(gs_scanner *s, const char *word, size_t size)
{
    if (!gs_word_plain(word, size) && !is_macro(s, word, size)) {
        if (s->row == 0) s->row_from = mark_here(s);
        if (++s->row > GS_SOURCE_ROW) {
            if (s->row == GS_SOURCE_ROW + 1) take_back(s, s->row_from);
            gs_scanner_drop(s, word, size);
            return;
        }
        bool lower = true;
        for (size_t i = 0; i < size; i++) lower = lower && (islower((unsigned char)word[i]) || word[i] == '_');
        const gs_text *const text = &s->out->text;
        const bool bracket = s->begun && !s->blank && text->size > 0 && text->data[text->size - 1] == '[';
        if ((s->open_angle && (lower || gs_word_role(word, size))) || (bracket && gs_word_role(word, size))) s->blank = true;
    }
    gs_scanner_open_line(s);
    gs_name_show(&s->out->text, word, size);
}
