/* SPDX-License-Identifier: MIT
 * The contender "own": our fastest schedule of a problem and layout, as a search found it (from the store, or from a file), and what a
 * run that sets it beside the library says about the winner. */
#ifndef CLI_EVAL_OWN_H
#define CLI_EVAL_OWN_H

#include "eval_row.h"
#include "plan/table.h"

typedef struct eval_choice {
    gs_problem problem;
    char       schedule[GS_SCHEDULE_TEXT];
} eval_choice;

typedef struct eval_choices {
    bool         from_file;
    eval_choice *list;
    int          count, capacity;
} eval_choices;

/* Lines "PROBLEM SCHEDULE", more words and # comments ignored, so that a tuned table will do, or lines of tune --json; rows that name the
 * library are left out, a later line replaces an earlier one. path NULL: the store. Returns -1 to go on, else the exit code. */
int  eval_choices_read(const cli_command *command, eval_choices *choices, const char *path);
void eval_choices_free(eval_choices *choices);

/* Our schedule of a problem; empty: none is known. */
gs_status eval_choices_find(const eval_choices *choices, const cli_session *session, const gs_problem *problem, char text[GS_SCHEDULE_TEXT],
                            gs_error *error);

/* Puts down what a row says about every layout: the trial, the winner, the table's row. */
gs_status eval_record(cli_session *session, const gs_result *row, const char *table, gs_error *error);

#endif
