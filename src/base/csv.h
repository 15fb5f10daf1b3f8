/* SPDX-License-Identifier: MIT
 * Rows of comma-separated values, a line each: fields with a comma or a quote stand in quotes, a quote is written twice. */
#ifndef GS_BASE_CSV_H
#define GS_BASE_CSV_H

#include "base/text.h"

/* Splits a line in place; fields point into it. Returns how many there are; -1: a quote without its partner, or more than most. A carriage
 * return at the end does not count. */
int gs_csv_split(char *line, char **fields, int most);

void gs_csv_put(gs_text *out, const char *field);   /* with quotes where it needs them; no comma */

/* The next line of a text, terminated in place; *at moves behind it. NULL at the end. */
char *gs_csv_line(char **at);

#endif
