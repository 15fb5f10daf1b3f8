/* SPDX-License-Identifier: MIT
 * Preprocessor directives of a source (scanner.h). Definitions, conditions, includes of common/ and #pragma unroll are shown. Other directives are left out, and so
 * are groups that are never compiled. */
#include <ctype.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/hash.h"
#include "redact/scanner.h"

static void skip_blanks(gs_scanner *s)
{
    while (gs_scanner_peek(s) && *s->at != '\n' && (isspace((unsigned char)*s->at) || gs_scanner_at_comment(s))) {
        if (isspace((unsigned char)*s->at)) gs_scanner_step(s);
        else gs_scanner_skip_comment(s);
    }
}

/* The rest of the line without blanks, cut to the buffer; the scanner does not move. */
static void rest_of_line(const gs_scanner *s, char *out, size_t size)
{
    gs_scanner ahead = *s;
    size_t n = 0;
    ahead.out = &(gs_source_shown){0};
    for (skip_blanks(&ahead); gs_scanner_peek(&ahead) && *ahead.at != '\n'; skip_blanks(&ahead)) {
        if (n + 1 < size) out[n++] = *ahead.at;
        gs_scanner_step(&ahead);
    }
    out[n] = '\0';
    gs_text_free(&ahead.out->dropped);
}

size_t gs_scanner_at_hash(gs_scanner *s)
{
    const char c = gs_scanner_peek(s);
    if (c == '#') return 1;
    if (c == '%' && gs_scanner_second(s) == ':') return 2;
    return c == '?' && s->at[1] == '?' && s->at[2] == '=' ? 3 : 0;
}

static void skip_hash(gs_scanner *s)
{
    for (size_t size = gs_scanner_at_hash(s); size > 0; size--) {
        gs_scanner_peek(s);
        gs_scanner_step(s);
    }
    skip_blanks(s);
}

static bool is_condition(const char *word, size_t size)
{
    return gs_scanner_same("if", word, size) || gs_scanner_same("ifdef", word, size) || gs_scanner_same("ifndef", word, size);
}

static bool is_turn(const char *word, size_t size)
{
    return gs_scanner_same("else", word, size) || gs_scanner_same("elif", word, size) || gs_scanner_same("elifdef", word, size) || gs_scanner_same("elifndef", word, size);
}

/* Skips a group that is never compiled, up to the # of its #else, #elif or #endif. */
static void skip_group(gs_scanner *s)
{
    const char *from = s->at;
    for (int inside = 0; gs_scanner_peek(s);) {
        skip_blanks(s);
        if (gs_scanner_at_hash(s)) {
            const gs_scanner before = *s;
            char word[GS_SOURCE_WORD];
            skip_hash(s);
            const size_t size = gs_scanner_read_word(s, word);
            if (inside == 0 && (is_turn(word, size) || gs_scanner_same("endif", word, size))) {
                *s = before;
                break;
            }
            inside += is_condition(word, size) ? 1 : gs_scanner_same("endif", word, size) ? -1 : 0;
        }
        while (gs_scanner_peek(s) && *s->at != '\n') {
            if (gs_scanner_at_comment(s)) gs_scanner_skip_comment(s);
            else gs_scanner_step(s);
        }
        gs_scanner_step(s);
    }
    gs_scanner_drop(s, from, (size_t)(s->at - from));
    s->fresh = true;
    s->breaks = GS_MAX(s->breaks, 1);
    s->indent = 0;
}

static void show_directive(gs_scanner *s, const char *word, size_t size)
{
    s->indent = 0;
    gs_scanner_open_line(s);
    gs_text_add(&s->out->text, "#");
    gs_text_add_bytes(&s->out->text, word, size);
    s->blank = true;
    s->directive = true;
    gs_scanner_end_row(s);
}

static void include(gs_scanner *s)
{
    char name[64];
    rest_of_line(s, name, sizeof name);
    gs_scanner_drop_line(s);
    const size_t size = strlen(name);
    if (size < 3 || (name[0] != '"' && name[0] != '<') || (name[size - 1] != '"' && name[size - 1] != '>')) return;
    name[size - 1] = '\0';
    for (const gs_embedded *e = gs_embedded_files; e->name; e++) {
        if (strcmp(e->name, name + 1) != 0) continue;
        show_directive(s, "include", 7);
        gs_text_addf(&s->out->text, " \"%s\"", e->name);
    }
}

static void condition(gs_scanner *s, const char *word, size_t size)
{
    char test[16];
    bool dead = false;
    rest_of_line(s, test, sizeof test);
    if (is_condition(word, size)) {
        if (s->depth == GS_SOURCE_NESTED) {
            s->out->cut = true;   /* nothing after it is read */
            return;
        }
        dead = gs_scanner_same("if", word, size) && (strcmp(test, "0") == 0 || strcmp(test, "false") == 0);
        s->other_dead[s->depth++] = gs_scanner_same("if", word, size) && (strcmp(test, "1") == 0 || strcmp(test, "true") == 0);
    } else if (is_turn(word, size)) {
        dead = (s->depth > 0 && s->other_dead[s->depth - 1]) || (gs_scanner_same("elif", word, size) && strcmp(test, "0") == 0);
    } else if (s->depth > 0) {
        s->depth--;
    }
    show_directive(s, word, size);
    if (!dead) return;
    if (gs_scanner_same("if", word, size) || gs_scanner_same("elif", word, size)) gs_scanner_show(s, "0", 1);   /* the original condition is not shown */
    gs_scanner_drop_line(s);
    s->directive = false;
    skip_group(s);
}

void gs_scanner_directive(gs_scanner *s)
{
    char word[GS_SOURCE_WORD];
    const char *const from = s->at;
    skip_hash(s);
    const size_t size = gs_scanner_read_word(s, word);
    char test[16];
    rest_of_line(s, test, sizeof test);
    if (gs_scanner_same("define", word, size) || gs_scanner_same("undef", word, size)) {
        const bool defines = word[0] == 'd';
        show_directive(s, word, size);
        skip_blanks(s);
        const size_t name = gs_scanner_read_word(s, word);
        s->joined = false;
        if (name > 0) gs_scanner_show_word(s, word, name);
        if (!defines) gs_scanner_drop_line(s);
        else if (s->macros < GS_SOURCE_MACROS) s->macro[s->macros++] = gs_hash64(word, name);
        if (gs_scanner_peek(s) != '(' && *s->at != '\n') s->blank = true;
        gs_scanner_end_row(s);
    } else if (is_condition(word, size) || is_turn(word, size) || gs_scanner_same("endif", word, size)) {
        condition(s, word, size);
    } else if (gs_scanner_same("include", word, size)) {
        include(s);
    } else if (gs_scanner_same("pragma", word, size) && (strncmp(test, "unroll", 6) == 0 || strncmp(test, "nounroll", 8) == 0)) {
        show_directive(s, word, size);
    } else {
        s->out->renamed = s->out->renamed || gs_scanner_same("line", word, size) || (size > 0 && isdigit((unsigned char)word[0]));
        gs_scanner_drop(s, from, (size_t)(s->at - from));
        gs_scanner_drop_line(s);
    }
}
