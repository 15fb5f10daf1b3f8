/* SPDX-License-Identifier: MIT
 * Shared by the files of the report. */
#ifndef GS_REPORT_INTERNAL_H
#define GS_REPORT_INTERNAL_H

#include "base/json.h"
#include "report/report.h"
#include "compare/result.h"

/* Appends a zeroed element; list: the address of a pointer to elements of that size. NULL: no memory, then r->failed is set. */
void *gs_report_more(gs_report *r, void *list, int *count, int *capacity, size_t size);

gs_report_set *gs_report_find_set(gs_report *r, const char *gpu, const char *mode, bool predicted);   /* created if missing; NULL: no memory */

/* The point with that key in the set, created if missing (with an empty date, named by its key). Valid until the next call. NULL: no memory. */
gs_report_point *gs_report_find_point(gs_report *r, gs_report_set *set, const char *key, const gs_problem *parsed);
void             gs_report_name_point(gs_report_point *point, const char *problem);
void             gs_report_add_machine(gs_report *r, const gs_report_machine *machine);

/* Moves the curves' points to the report; the emptied lists must still be freed. */
void             gs_report_take_curves(gs_report *r, gs_curves *curves, const char *device);

/* Adds curves of a device's trials in order of date: the best ratio so far (geometric mean over the problems that have one), and the share that passed of the
 * last hundred. */
gs_status        gs_report_add_found(gs_report *r, gs_store *store, const char *device, gs_error *error);

/* lineages.c: lineages of the kernels that models wrote; gpu NULL: all. */
gs_status        gs_report_add_lineages(gs_report *r, gs_store *store, const char *gpu, gs_error *error);
void             gs_report_put_lineages(gs_json *json, const gs_report *r);

void             gs_report_add_row(gs_report *r, const gs_result *row);

#endif
