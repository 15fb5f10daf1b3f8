/* SPDX-License-Identifier: MIT
 * Rows of eval for people, raw rows as CSV, and the figures over many problems. */
#ifndef CLI_EVAL_PRINT_H
#define CLI_EVAL_PRINT_H

#include <stdio.h>

#include "eval_row.h"

void eval_print_head(const cli_session *session);
void eval_print_row(const gs_result *row);

void eval_csv_head(FILE *file);
void eval_csv_row(FILE *file, const gs_result *row);   /* every round of every contender */

/* Ratios of our contender over many problems. */
typedef struct eval_point {
    int      group, band;   /* group 0: nn, 1: tn, 2: best against best */
    gs_ratio ratio;
} eval_point;

typedef struct eval_totals {
    eval_point *points;
    int         count, capacity;
    int         problems, failed, wrong, resumed;
    bool        server;
} eval_totals;

void eval_totals_add(eval_totals *totals, const gs_result *row);
void eval_totals_print(const eval_totals *totals);
void eval_totals_free(eval_totals *totals);

#endif
