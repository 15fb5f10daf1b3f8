/* SPDX-License-Identifier: MIT
 * The contenders that a list of problems is measured with: their names as they are asked for, and the request that a problem makes of them. */
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

/* From "plan,own,cublas,SCHEDULE"; schedule, where it is not NULL, takes the place of "plan". ARGUMENT: a name that is none, too many, an empty
 * list; a schedule that cannot be read gives gs_schedule_parse's code, and then failed is its text, else empty. */
gs_status gs_contender_names_read(gs_contender_names *out, const char *list, const char *schedule, char failed[GS_CONTENDER_NAME], gs_error *error);
bool      gs_contender_names_have(const gs_contender_names *names, const char *name);

/* The contenders of a request, layout by layout: "nn:plan", "tn:plan", ... */
typedef struct gs_contender_list {
    char        name[GS_RESULT_ENTRIES][GS_CONTENDER_NAME + 8];
    const char *list[GS_RESULT_ENTRIES];
    int         count, reference;
} gs_contender_list;

/* layouts: bits, 1 nn, 2 tn. Where the problem has groups, "cublas" and "cublaslt-autotuning" are those that take them,
 * cublas-groups, cublaslt-groups and cublaslt-groups-8; beyond GS_RESULT_ENTRIES the last are left out. own_in: our schedule by layout, in place of "own"; empty: it is left out there. out does not move. */
void gs_contender_list_make(gs_contender_list *out, const gs_contender_names *names, const gs_problem *problem, uint32_t layouts, char (*own_in)[GS_SCHEDULE_TEXT]);

#endif
