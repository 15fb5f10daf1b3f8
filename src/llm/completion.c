/* SPDX-License-Identifier: MIT */
#include "llm/completion.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct piece {
    const char *at;
    size_t      size;
} piece;

enum { SCHEDULE, SOURCE, MANIFEST, ARRAY, NAMES };

static const struct {
    const char *word;   /* the last of at most two */
    int         name;
} words[] = {{"schedule", SCHEDULE}, {"cuda", SOURCE}, {"kernel.cu", SOURCE}, {"manifest", MANIFEST}, {"json", ARRAY}};

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static piece trim(piece p)
{
    while (p.size > 0 && is_blank(p.at[p.size - 1])) p.size--;
    while (p.size > 0 && is_blank(p.at[0])) p.at++, p.size--;
    return p;
}

/* What follows the thoughts; nothing where they do not end. */
static piece without_thoughts(piece p)
{
    static const char open[] = "<think>", close[] = "</think>";
    const size_t size = sizeof close - 1;
    for (size_t end = p.size; end >= size; end--)
        if (memcmp(p.at + end - size, close, size) == 0) return (piece){p.at + end, p.size - end};
    const piece text = trim(p);
    return text.size >= sizeof open - 1 && memcmp(text.at, open, sizeof open - 1) == 0 ? (piece){p.at, 0} : p;
}

/* Without marks of the vocabulary at its end: <|im_end|>, </s>. */
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

/* The backticks that a line begins with, three or more, and what follows them; 0: no fence. */
static size_t fence(piece line, piece *rest)
{
    size_t ticks = 0;
    while (ticks < line.size && line.at[ticks] == '`') ticks++;
    if (ticks < 3 || memchr(line.at + ticks, '`', line.size - ticks)) return 0;
    *rest = trim((piece){line.at + ticks, line.size - ticks});
    return ticks;
}

/* Whose block it is that opens with these words; NAMES: none of ours. */
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

static void find_blocks(piece text, piece block[NAMES])
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
            name = NAMES;
        }
    }
}

/* The first schedule string of a JSON array of schedule strings and nothing else; empty: it is none. */
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

gs_status gs_completion_read(gs_completion *out, const char *text, size_t size, gs_error *error)
{
    piece block[NAMES] = {0};
    *out = (gs_completion){0};
    if (size == 0 || memchr(text, '\0', size)) return GS_OK;
    const piece answer = without_marks(without_thoughts((piece){text, size}));
    find_blocks(answer, block);
    piece schedule_string = trim(block[SCHEDULE]);
    const bool kernel = block[SOURCE].size > 0 && block[MANIFEST].size > 0;
    if (schedule_string.size == 0 && !kernel) schedule_string = first_sentence(block[ARRAY].size > 0 ? block[ARRAY] : answer);
    if (schedule_string.size > 0) {
        if (schedule_string.size > GS_COMPLETION_SCHEDULE) return GS_OK;
        out->schedule = copy(schedule_string);
    } else if (kernel && block[SOURCE].size <= GS_COMPLETION_SOURCE && block[MANIFEST].size <= GS_COMPLETION_MANIFEST) {
        out->source = copy(block[SOURCE]);
        out->manifest = copy(block[MANIFEST]);
    } else {
        return GS_OK;
    }
    if (out->schedule || (out->source && out->manifest)) return GS_OK;
    gs_completion_free(out);
    return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a candidate");
}

void gs_completion_free(gs_completion *completion)
{
    free(completion->schedule);
    free(completion->source);
    free(completion->manifest);
    *completion = (gs_completion){0};
}
