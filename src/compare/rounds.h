/* SPDX-License-Identifier: MIT
 * The file of --csv: every round of every contender, unprocessed. */
#ifndef GS_COMPARE_ROUNDS_H
#define GS_COMPARE_ROUNDS_H

#include <stdio.h>

#include "compare/result.h"

void gs_rounds_head(FILE *file);
void gs_rounds_row(FILE *file, const gs_result *row);   /* flushes */

#endif
