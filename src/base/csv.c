/* SPDX-License-Identifier: MIT */
#include "base/csv.h"

#include <string.h>

/* Decodes the field at *at in place and moves *at past it. NULL: unbalanced quote. */
static char *read_field(char **at)
{
    char *from = *at, *to = *at;
    char *const field = to;
    if (*from != '"') {
        *at = from + strcspn(from, ",");
        return field;
    }
    for (from++; *from != '\0' && !(*from == '"' && from[1] != '"'); from++) {
        if (*from == '"') from++;
        *to++ = *from;
    }
    if (*from != '"') return NULL;
    *at = from + 1;
    *to = '\0';
    return field;
}

int gs_csv_split(char *line, char **fields, int most)
{
    size_t length = strlen(line);
    if (length > 0 && line[length - 1] == '\r') line[--length] = '\0';
    int count = 0;
    for (char *at = line;;) {
        if (count == most) return -1;
        fields[count] = read_field(&at);
        if (!fields[count++] || (*at != ',' && *at != '\0')) return -1;
        const bool last = *at == '\0';
        *at++ = '\0';
        if (last) return count;
    }
}

void gs_csv_put(gs_text *out, const char *field)
{
    if (!strpbrk(field, ",\"")) {
        gs_text_add(out, field);
        return;
    }
    gs_text_add(out, "\"");
    for (const char *c = field; *c; c++) gs_text_addf(out, *c == '"' ? "\"%c" : "%c", *c);
    gs_text_add(out, "\"");
}

char *gs_csv_line(char **at)
{
    char *const line = *at;
    if (*line == '\0') return NULL;
    char *const end = line + strcspn(line, "\n");
    *at = *end == '\0' ? end : end + 1;
    *end = '\0';
    return line;
}
