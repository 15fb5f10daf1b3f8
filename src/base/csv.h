/* SPDX-License-Identifier: MIT
 * Rows of comma-separated values, one per line. Fields with a comma or a quote are quoted; a quote in a field is doubled. */
#ifndef GS_BASE_CSV_H
#define GS_BASE_CSV_H

#include "base/text.h"

/* Splits a line in place; fields point into it. Returns the number of fields, or -1 for an unbalanced quote or more than `most` fields. A trailing carriage return is
 * ignored. */
int gs_csv_split(char *line, char **fields, int most);

void gs_csv_put(gs_text *out, const char *field);   /* quoted if necessary; the caller adds the commas */

/* The next line of a text, terminated in place; *at moves past it. NULL at the end. */
char *gs_csv_line(char **at);

#endif
