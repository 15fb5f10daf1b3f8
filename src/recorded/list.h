/* SPDX-License-Identifier: MIT
 * A list of problems from texts, lists and recorded files, each problem once, with how often it was asked for. */
#ifndef GS_RECORDED_LIST_H
#define GS_RECORDED_LIST_H

#include "base/file.h"
#include "recorded/recorded.h"

typedef struct gs_problem_list {
    int      acc;                     /* accumulator of all: a gs_type; -1: as written */
    uint32_t layouts;                 /* bits, 1 nn, 2 tn: each problem in these layouts of its B; 0: as written */
    int64_t  shard, shards;           /* of the problems as they are written, every so many-th from that one on; 0 shards: all */
    int64_t  seen;
    gs_problem *list;
    int      count, capacity;
    bool     recorded;                /* some are from recorded files */
    int      cut;                     /* recorded files whose last line was cut off */
    gs_recorded calls;                /* a row for each of the list, in its order: its count is how often a recorded program asked for it, else 1 */
    char     where[GS_PATH + 32];     /* the place of a failure: "problems.txt line 7"; empty: the error says it */
} gs_problem_list;                    /* the settings are the caller's, the rest is zero at first */

void gs_problem_list_free(gs_problem_list *list);

/* Adds a problem as it is; one that is there already gets the calls alone. Codes: of gs_problem_check, with the problem's text as the place; MEMORY. */
gs_status gs_problem_list_add(gs_problem_list *list, const gs_problem *problem, uint64_t calls, gs_error *error);

/* Adds a problem's text, in all layouts asked for. where: the place. */
gs_status gs_problem_list_add_text(gs_problem_list *list, const char *text, const char *where, gs_error *error);

/* Adds a recorded file, a folder of them (the most work first, without empty problems), or a file with a problem on each line, # comments; "-": standard input. Codes: also of gs_file_read, gs_recorded_read. */
gs_status gs_problem_list_add_file(gs_problem_list *list, const char *path, gs_error *error);

/* Adds what a word names: a problem by its text, else such a file or folder where one is there. Codes: of both; PARSE: it is neither. */
gs_status gs_problem_list_add_word(gs_problem_list *list, const char *word, gs_error *error);

#endif
