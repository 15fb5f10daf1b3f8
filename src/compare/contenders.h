/* SPDX-License-Identifier: MIT
 * The contenders of a list of problems: parsing their names, and the list for one problem's request. */
#ifndef GS_COMPARE_CONTENDERS_H
#define GS_COMPARE_CONTENDERS_H

#include "compare/own.h"
#include "worker/client.h"

#define GS_CONTENDERS_DEFAULT "plan,cublas,cublaslt-heuristic,cublaslt-autotuning"
#define GS_CONTENDERS_MOST    (GS_RESULT_ENTRIES / 2 - 1)

typedef struct gs_contender_names {
    int  count;
    char name[GS_CONTENDERS_MOST][GS_CONTENDER_NAME];
} gs_contender_names;

/* Parses "plan,own,cublas,SCHEDULE"; schedule, if not NULL, replaces "plan". ARGUMENT: unknown name, too many, an empty list; an invalid schedule gives
 * gs_schedule_parse's code, and failed is its text; otherwise failed is empty. */
gs_status gs_contender_names_read(gs_contender_names *out, const char *list, const char *schedule, char failed[GS_CONTENDER_NAME], gs_error *error);
bool      gs_contender_names_have(const gs_contender_names *names, const char *name);

/* The contenders of a request, grouped by layout: "nn:plan", "tn:plan", ... */
typedef struct gs_contender_list {
    char        name[GS_RESULT_ENTRIES][GS_CONTENDER_NAME + 8];
    const char *list[GS_RESULT_ENTRIES];
    int         count, reference;
} gs_contender_list;

/* layouts: bits, 1 nn, 2 tn. For problems with groups "cublas" and "cublaslt-autotuning" become cublas-groups, cublaslt-groups and cublaslt-groups-8, which
 * support them. Names beyond GS_RESULT_ENTRIES are dropped. own_in: the schedule of "own" by layout; empty: "own" is left out. out points into itself and
 * must not be moved. */
void gs_contender_list_make(gs_contender_list *out, const gs_contender_names *names, const gs_problem *problem, uint32_t layouts, char (*own_in)[GS_SCHEDULE_TEXT]);

#endif
