/* SPDX-License-Identifier: MIT
 * gs_reason_show: messages about a candidate by a compiler, the inspection or the verifier, without text that the candidate put into them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/embedded.h"
#include "base/error.h"
#include "redact/redact.h"

enum { LINE = 600, LINES = 20, WINDOW = 16, QUOTE = 120 };

/* ---- text that the candidate may have put there ---- */

/* Text after these phrases comes from the candidate. phrase: as a compiler writes it; instead: shown in its place */
static const struct { const char *phrase, *instead; } foreign[] = {
    {"static assertion",  "a static assertion failed"},
    {"static_assert",     "a static assertion failed"},
    {"#error",            "#error"},
    {"#warning",          "#warning"},
    {"#pragma",           "#pragma"},
    {"directive",         "a directive"},
    {"deprecated",        "it is deprecated"},
    {"nodiscard",         "nodiscard"},
    {"pragma message",    "#pragma message"},
    {"user-defined",      "a user-defined message"},
    {"message:",          "a message"},
    {"note:",             "a note"},
    {"attribute",         "an attribute"},
};

/* Position in the line of the first part of the source that was left out; the line's length if there is none. */
static size_t own_words(const char *line, const gs_source_shown *shown)
{
    const size_t size = strlen(line);
    if (!shown || shown->dropped.size < WINDOW) return size;
    for (size_t at = 0; at + WINDOW <= size; at++) {
        if (at > 0 && isalnum((unsigned char)line[at - 1])) continue;
        if (memmem(shown->dropped.data, shown->dropped.size, line + at, WINDOW)) return at;
    }
    return size;
}

/* ---- file names and line numbers ---- */

static bool is_header(const char *name, size_t size)
{
    for (const gs_embedded *e = gs_embedded_files; e->name; e++) {
        const char *const slash = strrchr(e->name, '/');
        const char *const base = slash ? slash + 1 : e->name;
        if ((strlen(e->name) == size && memcmp(e->name, name, size) == 0) || (strlen(base) == size && memcmp(base, name, size) == 0)) return true;
    }
    return false;
}

static void add_place(gs_text *out, const char *name, size_t size, long line, const gs_source_shown *shown)
{
    if (is_header(name, size)) {
        gs_text_addf(out, "%.*s line %ld", (int)size, name, line);
    } else if (shown && line >= 1 && line <= shown->lines) {
        gs_text_addf(out, "line %d", shown->line[line - 1]);
    } else {
        gs_text_add(out, "some line");
    }
}

static bool is_file(char c) { return isalnum((unsigned char)c) || (c != '\0' && strchr("_./-", c)); }

/* "candidate.cu(12): error: ...": adds the place and returns what follows it, or NULL. The file name before it may be arbitrary text because of a #line. */
static const char *compiler_place(gs_text *out, const char *line, const gs_source_shown *shown)
{
    static const char *const kinds[] = {"error", "warning", "fatal", "catastrophic", "remark", "internal"};
    for (const char *open = line; (open = strchr(open, '(')) != NULL; open++) {
        char *end;
        const long number = strtol(open + 1, &end, 10);
        if (end == open + 1 || strncmp(end, "): ", 3) != 0) continue;
        for (size_t i = 0; i < GS_COUNT(kinds); i++) {
            if (strncmp(end + 3, kinds[i], strlen(kinds[i])) != 0) continue;
            const char *name = open;
            while (name > line && is_file(name[-1])) name--;
            add_place(out, name, (size_t)(open - name), number, shown);
            gs_text_add(out, ": ");
            return end + 3;
        }
    }
    return NULL;
}

/* ---- words ---- */

/* Quoted text may be shown if it is an identifier, a type or a signature, without two names in a row. */
static bool is_quotable(const char *text, size_t size)
{
    bool beside = false;
    if (size > QUOTE) return false;
    for (size_t at = 0; at < size;) {
        size_t word = 0;
        while (at + word < size && (isalnum((unsigned char)text[at + word]) || text[at + word] == '_')) word++;
        if (word > 0) {
            const bool name = !gs_word_plain(text + at, word) && !isdigit((unsigned char)text[at]);
            if (word > GS_SOURCE_NAME || (name && beside) || (name && gs_word_role(text + at, word))) return false;
            beside = name || beside;
            at += word;
            continue;
        }
        if (!strchr(" <>:,&*()[]~+-=!.;%", text[at])) return false;
        if (text[at] != ' ') beside = false;
        at++;
    }
    return true;
}

static const char *add_quoted(gs_text *out, const char *at)
{
    const char quote = *at;
    const char *const end = strchr(at + 1, quote);
    if (!end) {
        gs_text_add(out, " ");   /* keeps the words on both sides apart */
        return quote == '\'' ? at + 1 : at + strlen(at);
    }
    const size_t size = (size_t)(end - at - 1);
    if (is_quotable(at + 1, size)) gs_text_addf(out, "'%.*s'", (int)size, at + 1);
    else gs_text_add(out, "'...'");
    return end + 1;
}

static const char *add_word(gs_text *out, const char *at, const gs_source_shown *shown)
{
    size_t size = 0, word = 0;
    while (is_file(at[size])) size++;
    if (size > 3 && at[size] == ':' && isdigit((unsigned char)at[size + 1]) && (memcmp(at + size - 3, ".cu", 3) == 0 || is_header(at, size))) {
        char *end;
        const long line = strtol(at + size + 1, &end, 10);
        add_place(out, at, size, line, shown);
        return end;
    }
    while (isalnum((unsigned char)at[word]) || at[word] == '_') word++;
    if (word == 0) word = 1;
    gs_name_show(out, at, word);
    return at + word;
}

/* Cuts the line where the candidate's text begins; returns the text to show instead. */
static const char *cut(char *line)
{
    for (char *at = line; *at; at++)
        for (size_t i = 0; i < GS_COUNT(foreign); i++) {
            if (strncasecmp(at, foreign[i].phrase, strlen(foreign[i].phrase)) != 0) continue;
            *at = '\0';
            return foreign[i].instead;
        }
    return "";
}

/* "PTX line 12: call: ...: the line": after its first words the parser quotes the PTX, which is cut. */
static void cut_ptx(char *line)
{
    char *const at = strstr(line, "PTX line ");
    if (!at) return;
    char *end = at + 9 + strspn(at + 9, "0123456789");
    if (strncmp(end, ": ", 2) != 0) return;
    char *const next = strstr(end + 2, ": ");
    if (next) *next = '\0';
    else if (strstr(line, "unreadable")) *end = '\0';
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Adds a blank between two words that were not separated in the line: together they could exceed the longest allowed word. */
static void part_words(gs_text *out, const char *next)
{
    if (out->size > 0 && is_word(out->data[out->size - 1]) && is_word(*next)) gs_text_add(out, " ");
}

static void add_line(gs_text *out, char *line, const gs_source_shown *shown)
{
    const bool known = shown && !shown->renamed && shown->dropped.size < GS_SOURCE_DROPPED;
    line[own_words(line, shown)] = '\0';
    const char *at = compiler_place(out, line, shown);
    const bool compiler = at != NULL;
    if (!at) at = line;
    if (!known && (compiler || strstr(line, ".cu") || strstr(line, "ptxas"))) {   /* only the place and the kind of message may be shown */
        gs_text_add(out, strstr(at, "error") ? "error" : strstr(at, "warning") ? "warning" : "a message that is not shown");
        return;
    }
    cut_ptx(line);
    const char *const instead = cut(line + (at - line));
    for (const char *before = at; *at; before = at) {
        const char last = out->size > 0 ? out->data[out->size - 1] : ' ';
        if (*at == '"' || (*at == '\'' && !isalnum((unsigned char)last))) at = add_quoted(out, at);
        else if (isalnum((unsigned char)*at) || *at == '_') {
            size_t word = 0;
            while (isalnum((unsigned char)at[word]) || at[word] == '_') word++;
            if ((last == '<' || last == '[') && gs_word_role(at, word)) gs_text_add(out, " ");
            part_words(out, at);
            at = add_word(out, at, shown);
        } else {
            if ((last == '<' && strchr("|/!", *at)) || (last == '|' && *at == '>') || (last == '/' && strchr("/*", *at))) gs_text_add(out, " ");
            if (strchr(" {}()[]<>;:,.?~!%^&*+-/|=#'", *at)) gs_text_add_bytes(out, at, 1);
            else gs_text_add(out, " ");
            at++;
        }
        if (at == before) break;
    }
    part_words(out, instead);
    gs_text_add(out, instead);
}

/* Lines that quote the source: indented lines, and lines that mark a column. */
static bool is_quotation(const char *line) { return isspace((unsigned char)line[0]) || line[strspn(line, "^~ ")] == '\0'; }

void gs_reason_show(gs_text *out, const char *reason, const gs_source_shown *shown)
{
    gs_text text = {0};
    int lines = 0;
    for (const char *at = reason; *at && lines < LINES && text.size < GS_REASON_SHOWN;) {
        char line[LINE];
        const size_t size = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)GS_MIN(size, sizeof line - 1), at);
        if (!is_quotation(line)) {
            const size_t before = text.size;
            add_line(&text, line, shown);
            if (text.size > before) gs_text_add(&text, "\n");
            lines++;
        }
        at += size + (at[size] == '\n');
    }
    if (text.size > GS_REASON_SHOWN) text.data[text.size = GS_REASON_SHOWN] = '\0';
    gs_text_trim(&text, " \t\n\v\f\r");
    if (text.failed) out->failed = true;
    gs_text_add(out, gs_text_string(&text));
    gs_text_free(&text);
}
