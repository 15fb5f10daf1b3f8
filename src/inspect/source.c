/* SPDX-License-Identifier: MIT
 * The includes of a user's CUDA C source. The compiler searches no folder, but it opens absolute paths, and its messages would show what it found there. The text is
 * not parsed as C: wherever `#` and `include` follow each other, even in a comment or a string, a plain name in common/ must follow. So nothing can hide behind
 * quotes, comments, joined lines, digraphs or macros. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "inspect/internal.h"

#define COMMENT_MAX 1024   /* characters between "#" and "include" */
#define LINE_NAME_MAX 32   /* characters of the name of a #line */

typedef struct reader {
    const char *name, *at;
    int         line;
    gs_error   *error;
} reader;

/* Skips line joins: a "\" at the end of a line. */
static void skip_joins(reader *r)
{
    while (r->at[0] == '\\') {
        const char *end = r->at + 1;
        while (*end == ' ' || *end == '\t' || *end == '\r') end++;
        if (*end != '\n') return;
        r->at = end + 1;
        r->line++;
    }
}

static char peek(reader *r)
{
    skip_joins(r);
    return *r->at;
}

static void step(reader *r)
{
    if (*r->at == '\n') r->line++;
    if (*r->at) r->at++;
}

static gs_status refuse_as(const reader *r, gs_refusal why, const char *what, const char *name)
{
    return gs_fail(r->error, GS_ERROR_FORBIDDEN, gs_refusal_name(why), "%.60s:%d: %s%s%.80s%s", r->name, r->line, what, *name ? " \"" : "", name,
                   *name ? "\"" : "");
}

static gs_status refuse(const reader *r, const char *what, const char *name) { return refuse_as(r, GS_REFUSAL_INCLUDE, what, name); }

/* Skips blanks and comments, which may be anywhere in a directive. A long comment there is refused, because it is scanned again for each `#`. */
static gs_status skip_blanks(reader *r)
{
    for (;;) {
        while (peek(r) == ' ' || *r->at == '\t' || *r->at == '\v' || *r->at == '\f' || *r->at == '\r') step(r);
        reader ahead = *r;
        if (peek(&ahead) != '/') return GS_OK;
        step(&ahead);
        if (peek(&ahead) != '*') return GS_OK;
        step(&ahead);
        const char *const start = ahead.at;
        for (char last = '\0', c; (c = peek(&ahead)) != '\0' && !(last == '*' && c == '/'); step(&ahead)) {
            if (ahead.at - start > COMMENT_MAX) return refuse(r, "a long comment in a directive", "");
            last = c;
        }
        step(&ahead);
        *r = ahead;
    }
}

/* Reads a word such as the "include" of "#include". It is cut to the buffer; cut words match none that matter. */
static void read_word(reader *r, char word[32])
{
    size_t n = 0;
    for (; isalnum((unsigned char)peek(r)) || *r->at == '_'; step(r))
        if (n < 31) word[n++] = *r->at;
    word[n] = '\0';
}

/* After "include": a name in quotes or angle brackets that starts with common/ and stays in that folder. */
static gs_status check_name(reader *r)
{
    char name[96];
    size_t n = 0;
    GS_TRY(skip_blanks(r));
    const char open = peek(r), close = open == '<' ? '>' : open == '"' ? '"' : '\0';
    if (!close) return refuse(r, "an include that does not name its file", "");
    for (step(r); peek(r) != close; step(r)) {
        if ((!isalnum((unsigned char)*r->at) && !memchr("_.-/", *r->at, 4)) || n == sizeof name - 1) return refuse(r, "an include whose file has no plain name", "");
        name[n++] = *r->at;
    }
    name[n] = '\0';
    if (strncmp(name, "common/", 7) != 0 || strstr(name, "..")) return refuse(r, "only headers of common/ can be included, not", name);
    return GS_OK;
}

/* After the number of a #line: nothing, or a file name. The name appears in every later message of the compiler, so it must be a single word like an identifier. */
static gs_status check_line_name(reader *r)
{
    GS_TRY(skip_blanks(r));
    if (peek(r) == '"') {
        step(r);
        for (int n = 0; peek(r) != '"'; step(r), n++)
            if ((!isalnum((unsigned char)*r->at) && !memchr("_.-", *r->at, 3)) || n == LINE_NAME_MAX) return refuse(r, "a #line with a name that is no plain word", "");
        step(r);
        GS_TRY(skip_blanks(r));
    }
    return peek(r) == '\n' || peek(r) == '\0' ? GS_OK : refuse(r, "a #line with more than a number and a name", "");
}

static gs_status check_line(reader *r)
{
    char digits[32];
    GS_TRY(skip_blanks(r));
    read_word(r, digits);
    return isdigit((unsigned char)*digits) ? check_line_name(r) : refuse(r, "a #line without a number", "");
}

/* Checks a directive, after its "#", "%:" or "??=". */
static gs_status check_directive(reader *r)
{
    char word[32];
    GS_TRY(skip_blanks(r));
    read_word(r, word);
    if (strcmp(word, "include_next") == 0 || strcmp(word, "import") == 0 || strcmp(word, "embed") == 0) return refuse(r, "another directive than include:", word);
    if (strcmp(word, "line") == 0) return check_line(r);
    if (isdigit((unsigned char)*word)) {
        reader ahead = *r;
        GS_TRY(skip_blanks(&ahead));
        return peek(&ahead) == '"' ? check_line_name(&ahead) : GS_OK;   /* without a name it is no directive */
    }
    return strcmp(word, "include") == 0 ? check_name(r) : GS_OK;
}

/* Whether a word is a macro that the compiler replaces by the time, or with token pasting could be the last part of one. */
static bool tells_time(const char *word, bool pastes)
{
    static const char *const names[] = {"__TIME__", "__DATE__", "__TIMESTAMP__"};
    const size_t length = strlen(word);
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        const size_t all = strlen(names[i]);
        if (length <= all && strcmp(names[i] + all - length, word) == 0 && (pastes || length == all)) return true;
    }
    return false;
}

/* Whether "##" is used anywhere, in any spelling: "%:%:", "??=??=". */
static bool has_pasting(const char *text)
{
    reader r = {.at = text};
    for (int marks = 0; peek(&r);) {
        const bool mark = *r.at == '#' || (*r.at == '%' && r.at[1] == ':') || (*r.at == '?' && r.at[1] == '?' && r.at[2] == '=');
        marks = mark ? marks + 1 : *r.at == ':' || *r.at == '=' || *r.at == '?' ? marks : 0;
        if (marks == 2) return true;
        step(&r);
    }
    return false;
}

/* Refuses words outside of include directives that make the compiler look for files, and words for the time. */
static gs_status check_word(const reader *r, const char *word, bool pastes)
{
    if (tells_time(word, pastes)) return refuse_as(r, GS_REFUSAL_CLOCK, "the time of compilation:", word);
    static const char *const asking[] = {"__has_include", "__has_include_next", "__has_embed"};
    for (size_t i = 0; i < GS_COUNT(asking); i++)
        if (strcmp(word, asking[i]) == 0) return refuse(r, "asks for files:", word);
    return GS_OK;
}

gs_status gs_inspect_source(const char *name, const char *text, gs_error *error)
{
    reader r = {.name = name ? name : "the source", .at = text ? text : "", .line = 1, .error = error};
    if (strnlen(r.at, GS_INSPECT_SOURCE_MAX + 1) > GS_INSPECT_SOURCE_MAX)
        return gs_fail(error, GS_ERROR_FORBIDDEN, gs_refusal_name(GS_REFUSAL_SIZE), "more than %zu bytes of source", GS_INSPECT_SOURCE_MAX);
    const bool pastes = has_pasting(r.at);
    while (peek(&r)) {
        if (isalpha((unsigned char)*r.at) || *r.at == '_') {
            char word[32];
            read_word(&r, word);
            GS_TRY(check_word(&r, word, pastes));
            continue;
        }
        reader ahead = r;
        step(&ahead);
        bool directive = *r.at == '#';
        if (*r.at == '%' && peek(&ahead) == ':') {
            step(&ahead);
            directive = true;
        } else if (*r.at == '?' && peek(&ahead) == '?') {
            step(&ahead);
            directive = peek(&ahead) == '=';
            if (peek(&ahead) == '/') return refuse(&ahead, "a trigraph that joins lines", "");
            if (directive) step(&ahead);
        }
        if (!directive) {
            step(&r);
            continue;
        }
        r = ahead;
        GS_TRY(check_directive(&ahead));   /* what the directive skipped is scanned again, because for the compiler it may not be a comment */
    }
    return GS_OK;
}
