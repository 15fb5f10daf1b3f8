/* SPDX-License-Identifier: MIT
 * The contender "own": our fastest schedule of a problem and layout, as a search found it (from the store or a file), and recording the winner of a run
 * against cuBLASLt. */
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

/* Reads lines "PROBLEM SCHEDULE" (further words and # comments are ignored, so a tuned table works) or lines of tune --json. Rows that name cuBLASLt are
 * skipped; a later line replaces an earlier one. path NULL: the store is used instead. where: the invalid line, "FILE line 7"; empty: the error concerns the
 * file. */
#define GS_OWN_WHERE (GS_PATH + 32)
gs_status gs_own_list_read(gs_own_list *choices, const char *path, char where[GS_OWN_WHERE], gs_error *error);
void      gs_own_list_free(gs_own_list *choices);

/* text: our schedule of the problem; empty: none is known. */
gs_status gs_own_list_find(const gs_own_list *choices, const gs_device_session *session, const gs_problem *problem, char text[GS_SCHEDULE_TEXT],
                            gs_error *error);

/* Records the result of a row for every layout: the trial, the winner, the table's row. */
gs_status gs_own_record(gs_device_session *session, const gs_result *row, const char *table, gs_error *error);

#endif
