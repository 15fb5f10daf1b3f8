/* SPDX-License-Identifier: MIT
 * A list of distinct problems from texts, lists and recorded files, with the number of calls of each. */
#ifndef GS_RECORDED_LIST_H
#define GS_RECORDED_LIST_H

#include "base/file.h"
#include "recorded/recorded.h"

typedef struct gs_problem_list {
    int      acc;                     /* gs_type: accumulator for all problems; -1: as written */
    uint32_t layouts;                 /* bits, 1 nn, 2 tn: adds each problem with B in these layouts; 0: as written */
    int64_t  shard, shards;           /* takes problems number shard, shard + shards, ... of the input; shards 0: all */
    int64_t  seen;
    gs_problem *list;
    int      count, capacity;
    bool     recorded;                /* some problems are from recorded files */
    int      cut;                     /* number of recorded files whose last line was cut off */
    gs_recorded calls;                /* a row for each problem, in the same order; count: calls in recorded programs, 1 for each mention elsewhere */
    char     where[GS_PATH + 32];     /* place of the error: "problems.txt line 7"; empty: the error names it */
} gs_problem_list;                    /* the caller sets acc, layouts, shard and shards; the rest starts as zero */

void gs_problem_list_free(gs_problem_list *list);

/* Adds a problem unchanged; if it is in the list, only the calls are added. Errors: those of gs_problem_check, with the problem's text as the place; MEMORY. */
gs_status gs_problem_list_add(gs_problem_list *list, const gs_problem *problem, uint64_t calls, gs_error *error);

/* Parses a problem and adds it in the layouts asked for. where: the place for errors. */
gs_status gs_problem_list_add_text(gs_problem_list *list, const char *text, const char *where, gs_error *error);

/* Adds a recorded file, a folder of them (by decreasing work, without empty problems), or a file with one problem per line and # comments; "-": standard input. Errors: also those of
 * gs_file_read and gs_recorded_read. */
gs_status gs_problem_list_add_file(gs_problem_list *list, const char *path, gs_error *error);

/* Adds a problem given by its text, or else the file or folder of that name. Errors: those of both; PARSE: neither. */
gs_status gs_problem_list_add_word(gs_problem_list *list, const char *word, gs_error *error);

#endif
