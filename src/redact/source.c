/* SPDX-License-Identifier: MIT
 * The tokens of a source (scanner.h). They are read as a compiler does (joined lines, comments, raw strings, separators in numbers). Where this scanner differs from a
 * compiler, what it shows is still limited to the allowed words and characters. */
#include "redact/scanner.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

enum { NUMBER = 24, INDENT = 40, DELIMITER = 16, LITERAL = 16 << 10 };

/* ---- characters ---- */

/* Digits, points, separators, exponents and suffixes; any other number is shown as 0. */
static void number(gs_scanner *s)
{
    char text[NUMBER + 1];
    size_t size = 0, letters = 0;
    bool fine = true, hex = false;
    for (char c, last = '\0'; (c = gs_scanner_peek(s)) != '\0'; last = c) {
        const bool sign = (c == '+' || c == '-') && last && strchr(hex ? "pP" : "eEpP", last);
        if (!gs_scanner_is_word(c) && c != '.' && !(c == '\'' && gs_scanner_is_word(gs_scanner_second(s))) && !sign) break;
        hex = hex || (size == 1 && (c == 'x' || c == 'X') && last == '0');
        letters = isalpha((unsigned char)c) && !(hex && isxdigit((unsigned char)c)) ? letters + 1 : 0;
        fine = fine && size < NUMBER && letters <= 3 && (isxdigit((unsigned char)c) || strchr("xX.'+-uUlLfFpPeEbB", c));
        if (size < NUMBER) text[size] = c;
        size++;
        gs_scanner_step(s);
    }
    if (fine) gs_scanner_show(s, text, size);
    else gs_scanner_show(s, "0", 1);
}

/* ---- literals ---- */

/* Reads a literal after its opening quote. Adds its contents to *content (may be NULL), with escapes resolved; false: it does not end in its line, or has other
 * escapes than newline, tab, quotes and backslash. */
static bool read_quoted(gs_scanner *s, char quote, gs_text *content)
{
    const char *const from = s->at;
    bool fine = true;
    for (char c; (c = gs_scanner_peek(s)) != quote; gs_scanner_step(s)) {
        if (!c || c == '\n') {
            gs_scanner_drop(s, from, (size_t)(s->at - from));
            return false;
        }
        if (c == '\\') {
            gs_scanner_step(s);
            const char code = gs_scanner_peek(s);
            static const char codes[] = "nt\"\\'", means[] = "\n\t\"\\'";
            const char *const known = code ? strchr(codes, code) : NULL;
            if (!code || code == '\n') continue;
            fine = fine && known;
            c = known ? means[known - codes] : ' ';
        }
        if (content && content->size < LITERAL) gs_text_add_bytes(content, &c, 1);
        else fine = fine && !content;
    }
    gs_scanner_drop(s, from, (size_t)(s->at - from));
    if (*s->at != quote) return false;
    gs_scanner_step(s);
    return fine;
}

/* Skips a raw string after R", including line joins. */
static void skip_raw(gs_scanner *s)
{
    char end[DELIMITER + 4] = ")";
    size_t size = 1;
    const char *const from = s->at;
    while (*s->at && *s->at != '(' && *s->at != '\n' && size <= DELIMITER) {
        end[size++] = *s->at;
        gs_scanner_step(s);
    }
    end[size++] = '"';
    end[size] = '\0';
    while (*s->at && strncmp(s->at, end, size) != 0) gs_scanner_step(s);
    gs_scanner_drop(s, from, (size_t)(s->at - from));
    for (; size > 0 && *s->at; size--) gs_scanner_step(s);
}

static void character(gs_scanner *s)
{
    gs_text content = {0};
    char text[4] = "' '";
    gs_scanner_step(s);
    if (read_quoted(s, '\'', &content) && content.size == 1 && isalnum((unsigned char)content.data[0])) text[1] = content.data[0];
    s->out->failed |= content.failed;
    gs_text_free(&content);
    gs_scanner_show(s, text, 3);
}

/* "=r", "+f", "memory". */
static bool is_constraint(const char *text, size_t size)
{
    if (gs_scanner_same("memory", text, size)) return true;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("=+&%#,", text[i])) return false;
    return size <= 4;
}

static void show_assembly(gs_scanner *s, const char *text)
{
    const int indent = s->indent;
    do {
        const size_t size = strcspn(text, "\n");
        gs_scanner_open_line(s);
        gs_text_addf(&s->out->text, "\"%.*s%s\"", (int)size, text, text[size] ? "\\n" : "");
        text += size + (text[size] != '\0');
        if (*text) {
            s->breaks = s->directive ? 0 : 1;
            s->blank = true;
            s->indent = GS_MIN(indent + 4, INDENT);
        }
    } while (*text);
    s->indent = indent;
}

/* Shows the string, and the strings joined to it, as assembly; shows "" if it is not assembly. */
static void assembly(gs_scanner *s)
{
    gs_text content = {0}, clean = {0};
    bool fine = true;
    for (;;) {
        gs_scanner_step(s);
        fine = read_quoted(s, '"', &content) && fine;
        gs_scanner ahead = *s;
        ahead.out = &(gs_source_shown){0};
        while (gs_scanner_peek(&ahead) && (isspace((unsigned char)*ahead.at) || gs_scanner_at_comment(&ahead))) {
            if (*ahead.at == '\n' && s->directive) break;
            if (isspace((unsigned char)*ahead.at)) gs_scanner_step(&ahead);
            else gs_scanner_skip_comment(&ahead);
        }
        gs_text_free(&ahead.out->dropped);
        if (*ahead.at != '"') break;
        while (s->at < ahead.at) {
            if (gs_scanner_at_comment(s)) gs_scanner_skip_comment(s);
            else gs_scanner_step(s);
        }
    }
    if (fine && content.size > 0 && is_constraint(content.data, content.size)) {
        gs_scanner_open_line(s);
        gs_text_addf(&s->out->text, "\"%s\"", gs_text_string(&content));
    } else if (fine && strlen(gs_text_string(&content)) == content.size && gs_asm_show(&clean, gs_text_string(&content), content.size)) {
        show_assembly(s, gs_text_string(&clean));
    } else {
        gs_scanner_show(s, "\"\"", 2);
    }
    s->out->failed |= content.failed || clean.failed;
    gs_text_free(&content);
    gs_text_free(&clean);
}

static void string(gs_scanner *s)
{
    if (s->asm_at > 0 && s->parens == s->asm_at) {
        assembly(s);
    } else {
        gs_text content = {0};
        char text[4] = "\"\"";
        gs_scanner_step(s);
        if (read_quoted(s, '"', &content) && content.size == 1 && isalnum((unsigned char)content.data[0])) snprintf(text, sizeof text, "\"%c\"", content.data[0]);
        s->out->failed |= content.failed;
        gs_text_free(&content);
        gs_scanner_show(s, text, strlen(text));
    }
    gs_scanner_end_row(s);
}

/* ---- the whole ---- */

static void end_line(gs_scanner *s)
{
    gs_scanner_step(s);
    s->breaks++;
    s->indent = 0;
    s->fresh = true;
    s->blank = false;
    if (s->directive) gs_scanner_end_row(s);
    s->commented = s->directive = s->open_angle = s->joined = false;
}

static void word(gs_scanner *s)
{
    static const char *const raw[] = {"R", "u8R", "uR", "UR", "LR"};
    char text[GS_SOURCE_WORD];
    const size_t size = gs_scanner_read_word(s, text);
    if (gs_scanner_peek(s) == '"')
        for (size_t i = 0; i < GS_COUNT(raw); i++)
            if (gs_scanner_same(raw[i], text, size)) {
                gs_scanner_step(s);
                skip_raw(s);
                gs_scanner_show(s, "\"\"", 2);
                gs_scanner_end_row(s);
                return;
            }
    if (gs_scanner_same("asm", text, size) || gs_scanner_same("__asm__", text, size) || gs_scanner_same("__asm", text, size)) s->asm_next = true;
    else if (!gs_scanner_same("volatile", text, size) && !gs_scanner_same("__volatile__", text, size) && !gs_scanner_same("goto", text, size)) s->asm_next = false;
    gs_scanner_show_word(s, text, size);
}

static void punctuation(gs_scanner *s, char c)
{
    const gs_text *const text = &s->out->text;
    const char last = s->begun && !s->blank && text->size > 0 ? text->data[text->size - 1] : ' ';
    if (c == '(') {
        s->parens++;
        if (s->asm_next) s->asm_at = s->parens;
    }
    if (c == ')') {
        if (s->parens == s->asm_at) s->asm_at = 0;
        s->parens -= s->parens > 0;
    }
    s->asm_next = false;
    if ((last == '<' && strchr("|/!", c)) || (last == '|' && c == '>') || (last == '/' && strchr("/*", c))) s->blank = true;   /* a byte between them was left out */
    gs_scanner_show(s, &c, 1);
    s->open_angle = c == '<';
    gs_scanner_end_row(s);
}

static void token(gs_scanner *s)
{
    const char c = gs_scanner_peek(s);
    if (c == '\n') {
        end_line(s);
    } else if (isspace((unsigned char)c)) {
        if (s->fresh && !s->commented && s->breaks + !s->begun > 0) s->indent = GS_MIN(s->indent + (c == '\t' ? 4 : c == ' '), INDENT);
        s->blank = true;
        s->open_angle = false;
        gs_scanner_step(s);
    } else if (gs_scanner_at_comment(s)) {
        gs_scanner_skip_comment(s);
        s->blank = s->commented = true;
    } else if (s->fresh && gs_scanner_at_hash(s)) {
        s->fresh = false;
        gs_scanner_directive(s);
    } else if (c == '"') {
        string(s);
    } else if (c == '\'') {
        character(s);
        gs_scanner_end_row(s);
    } else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)gs_scanner_second(s)))) {
        number(s);
    } else if (gs_scanner_is_word(c) && c != '$') {
        s->fresh = false;
        word(s);
    } else {
        gs_scanner_step(s);
        if (strchr("{}()[]<>;:,.?~!%^&*+-/|=#", c)) punctuation(s, c);
        else s->blank = true;
        s->fresh = false;
    }
}

gs_status gs_source_show(gs_source_shown *out, const char *source, size_t limit, gs_error *error)
{
    gs_scanner s = {.at = source, .out = out, .line = 1, .shown = 1, .fresh = true};
    while (gs_scanner_peek(&s) && !out->cut && !out->failed && !out->text.failed && !out->dropped.failed) {
        token(&s);
        if (out->text.size > limit) out->cut = true;
    }
    gs_scanner_map_lines(&s, s.shown);
    if (out->failed || out->text.failed || out->dropped.failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel's text");
    if (out->text.size > 0) gs_text_add(&out->text, "\n");
    if (out->text.size > limit) {
        size_t size = limit;
        while (size > 0 && out->text.data[size - 1] != '\n') size--;
        out->text.size = size;
        out->text.data[size] = '\0';
    }
    return out->text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel's text") : GS_OK;
}

void gs_source_shown_free(gs_source_shown *shown)
{
    gs_text_free(&shown->text);
    gs_text_free(&shown->dropped);
    free(shown->line);
    *shown = (gs_source_shown){0};
}
