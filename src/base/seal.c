/* SPDX-License-Identifier: MIT */
#include "base/seal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define WORD   "# checksum "
#define DIGITS 16

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static uint64_t sum_of(const char *text)
{
    uint64_t sum = 0;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        const char *first = line, *last = end;
        while (first < last && is_blank(*first)) first++;
        while (last > first && is_blank(last[-1])) last--;
        if (first < last && *first != '#') sum = (sum ^ gs_hash64(first, (size_t)(last - first))) * 0x9e3779b97f4a7c15u;   /* depends on the order of the lines */
    }
    return sum;
}

static void format(char line[sizeof WORD + DIGITS + 1], uint64_t sum) { snprintf(line, sizeof WORD + DIGITS + 1, WORD "%016llx\n", (unsigned long long)sum); }

void gs_seal_put(gs_text *text)
{
    char line[sizeof WORD + DIGITS + 1];
    const size_t first = strcspn(gs_text_string(text), "\n") + 1, size = sizeof line - 1;
    format(line, sum_of(gs_text_string(text)));
    if (first > text->size) return;
    gs_text_add(text, line);   /* only makes room: the line is copied to its place below */
    if (text->failed) return;
    memmove(text->data + first + size, text->data + first, text->size - size - first);
    memcpy(text->data + first, line, size);
}

bool gs_seal_broken(const char *text)
{
    char line[sizeof WORD + DIGITS + 1];
    const char *there = strncmp(text, WORD, sizeof WORD - 1) == 0 ? text : strstr(text, "\n" WORD);
    if (!there) return false;
    format(line, sum_of(text));
    there += *there == '\n';
    return strncmp(there, line, sizeof WORD - 1 + DIGITS) != 0 || strcspn(there + sizeof WORD - 1 + DIGITS, "\r \t\n") != 0;
}
