/* SPDX-License-Identifier: MIT
 * The contender "own": our fastest schedule of a problem and layout, as a search found it (from the store, or from a file), and what a
 * run that sets it beside the library says about the winner. */
#ifndef GS_COMPARE_OWN_H
#define GS_COMPARE_OWN_H

#include "base/file.h"
#include "compare/result.h"
#include "evaluate/session.h"

typedef struct gs_own_choice {
    gs_problem problem;
    char       schedule[GS_SCHEDULE_TEXT];
} gs_own_choice;

typedef struct gs_own_list {
    bool           from_file;
    gs_own_choice *list;
    int            count, capacity;
} gs_own_list;

/* Lines "PROBLEM SCHEDULE", more words and # comments ignored, so that a tuned table will do, or lines of tune --json; rows that name the
 * library are left out, a later line replaces an earlier one. path NULL: the store. where: the line that cannot be read, "FILE line 7"; empty: it is about
 * the file. */
#define GS_OWN_WHERE (GS_PATH + 32)
gs_status gs_own_list_read(gs_own_list *choices, const char *path, char where[GS_OWN_WHERE], gs_error *error);
void      gs_own_list_free(gs_own_list *choices);

/* Our schedule of a problem; empty: none is known. */
gs_status gs_own_list_find(const gs_own_list *choices, const gs_device_session *session, const gs_problem *problem, char text[GS_SCHEDULE_TEXT],
                            gs_error *error);

/* Puts down what a row says about every layout: the trial, the winner, the table's row. */
gs_status gs_own_record(gs_device_session *session, const gs_result *row, const char *table, gs_error *error);

#endif
