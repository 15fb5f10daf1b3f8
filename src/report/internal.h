/* SPDX-License-Identifier: MIT
 * What the files of the report share. */
#ifndef GS_REPORT_INTERNAL_H
#define GS_REPORT_INTERNAL_H

#include "base/json.h"
#include "report/report.h"
#include "compare/result.h"

/* One element more, all zero; list: the address of a pointer to elements of that size. NULL: no memory, and the report has failed. */
void *gs_report_more(gs_report *r, void *list, int *count, int *capacity, size_t size);

gs_report_set *gs_report_find_set(gs_report *r, const char *gpu, const char *mode, bool predicted);   /* made if there is none; NULL: no memory */

/* The point of that key in the set, a new one (date empty, named by its key) if there is none. Good until the next call. NULL: no memory. */
gs_report_point *gs_report_find_point(gs_report *r, gs_report_set *set, const char *key, const gs_problem *parsed);
void             gs_report_name_point(gs_report_point *point, const char *problem);
void             gs_report_add_machine(gs_report *r, const gs_report_machine *machine);

/* The points of the curves go over to the report; the lists that are left are to be freed. */
void             gs_report_take_curves(gs_report *r, gs_curves *curves, const char *device);

/* Curves of what the trials of a device found, in the order of their dates: the best ratio so far, geometric mean over the problems that have one, and how many of
 * the last hundred passed. */
gs_status        gs_report_add_found(gs_report *r, gs_store *store, const char *device, gs_error *error);

/* Lineages of the kernels that models wrote; gpu NULL: of all. (lineages.c) */
gs_status        gs_report_add_lineages(gs_report *r, gs_store *store, const char *gpu, gs_error *error);
void             gs_report_put_lineages(gs_json *json, const gs_report *r);

void             gs_report_add_row(gs_report *r, const gs_result *row);

#endif
