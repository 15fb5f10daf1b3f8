/* SPDX-License-Identifier: MIT
 * Offsets of groups, and counts of masked ones: drawn for proof and timing, and read back from the device. */
#ifndef GS_ROUTING_ROUTING_H
#define GS_ROUTING_ROUTING_H

#include "device/device.h"
#include <gemmsmith/problem.h>

typedef enum gs_routing {
    GS_ROUTING_EVEN,       /* every row to any group, all alike: what timing has, unless it is asked for another one */
    GS_ROUTING_SHORT,      /* the same of some rows, mostly of all but one: others lie behind the last group. Of masked groups in half of the draws all are full */
    GS_ROUTING_SKEWED,     /* the first eighth of the groups has half of the rows */
    GS_ROUTING_LAST,       /* the last group has all rows */
    GS_ROUTING_FIRST,      /* the first one has */
    GS_ROUTING_SPARSE,     /* about half of the groups are empty, the others begin at multiples of 8 */
    GS_ROUTING_BEHIND,     /* the same, and the first group is empty */
    GS_ROUTING_EQUAL,      /* as many rows for each group; of masked ones half of the room */
    GS_ROUTING_FEW,        /* one to three rows in all */
    GS_ROUTING_TOKENS,     /* a few rows for each group: 1, 2, 4 or 8, as far as they go; of masked ones so many, or another multiple of 8 each, and one to three for one of them */
    GS_ROUTINGS,
    GS_ROUTING_NONE = GS_ROUTINGS   /* no row at all */
} gs_routing;

/* Of those that timing has: GS_ROUTING_EVEN, "random", and GS_ROUTING_SKEWED, "skewed". false: no such name. */
const char *gs_routing_name(gs_routing routing);
bool        gs_routing_parse(const char *name, gs_routing *out);

/* groups + 1 numbers; of masked groups `groups`, none larger than their rows. Groups along K have terms of the sums in place of rows. */
void gs_offsets_draw(const gs_problem *problem, gs_routing routing, uint64_t seed, int32_t *offsets);

/* The same to the device; nothing where there are no groups. */
gs_status gs_offsets_put(gs_device *device, const gs_problem *problem, gs_routing routing, uint64_t seed, gs_pointer to, gs_error *error);

/* From the device, to be freed. CORRUPT: they are no offsets. Waits for nothing. */
gs_status gs_offsets_get(gs_device *device, const gs_problem *problem, gs_pointer from, int32_t **offsets, gs_error *error);

/* Rows of a group, and how many behind them belong to none. Of groups along K a matrix of the batch each. */
typedef struct gs_group_rows {
    int64_t first, rows, unused;
} gs_group_rows;
gs_group_rows gs_rows_of_group(const gs_problem *problem, const int32_t *offsets, int64_t group);
int64_t       gs_group_of_row(const gs_problem *problem, const int32_t *offsets, int64_t row);

/* What of K a group's sums have: all of it, but with groups along K. offsets NULL: there are no groups. */
typedef struct gs_group_terms {
    int64_t first, count;
} gs_group_terms;
gs_group_terms gs_terms_of_group(const gs_problem *problem, const int32_t *offsets, int64_t group);

/* Rows of all groups, and the index-th of them. offsets NULL: there are no groups, all rows of the batch. */
int64_t gs_rows_used(const gs_problem *problem, const int32_t *offsets);
int64_t gs_row_used(const gs_problem *problem, const int32_t *offsets, int64_t index);

/* The rows of D whose columns are added up to one vector of the gradient of a bias: of a group, or of one or all matrices. */
gs_status gs_rows_of_sum(gs_device *device, const gs_problem *problem, gs_pointer offsets, int64_t vector, gs_group_rows *out, gs_error *error);

/* No row of D is written from here on: those of sorted groups end, or without groups and with masked ones all of them. */
gs_status gs_rows_written(gs_device *device, const gs_problem *problem, gs_pointer offsets, int64_t *rows, gs_error *error);

#endif
