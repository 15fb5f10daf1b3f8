/* SPDX-License-Identifier: MIT
 * Offsets of groups, and counts of masked groups: drawn for verification and timing, and read back from the device. */
#ifndef GS_ROUTING_ROUTING_H
#define GS_ROUTING_ROUTING_H

#include "device/device.h"
#include <gemmsmith/problem.h>

typedef enum gs_routing {
    GS_ROUTING_EVEN,       /* every row goes to a random group: timing's default */
    GS_ROUTING_SHORT,      /* the same for some rows, mostly all but one; the others lie behind the last group. Masked groups are all full in half of the draws */
    GS_ROUTING_SKEWED,     /* the first eighth of the groups has half of the rows */
    GS_ROUTING_LAST,       /* the last group has all rows */
    GS_ROUTING_FIRST,      /* the first group has all rows */
    GS_ROUTING_SPARSE,     /* about half of the groups are empty, the others begin at multiples of 8 */
    GS_ROUTING_BEHIND,     /* as SPARSE, with the first group empty */
    GS_ROUTING_EQUAL,      /* each group has as many rows; masked groups are half full */
    GS_ROUTING_FEW,        /* one to three rows in all */
    GS_ROUTING_TOKENS,     /* 1, 2, 4 or 8 rows for each group, as far as rows go; masked groups: any multiple of 8 in place of 8, and in place of 4 or 8 one group has one to three */
    GS_ROUTINGS,
    GS_ROUTING_NONE = GS_ROUTINGS   /* no row at all */
} gs_routing;

/* Names of the routings that timing offers: "random" for GS_ROUTING_EVEN, "skewed" for GS_ROUTING_SKEWED. false: no such name. */
const char *gs_routing_name(gs_routing routing);
bool        gs_routing_parse(const char *name, gs_routing *out);

/* Draws groups + 1 offsets, or for masked groups `groups` counts, none larger than a group's rows. Groups along K divide K in place of rows. */
void gs_offsets_draw(const gs_problem *problem, gs_routing routing, uint64_t seed, int32_t *offsets);

/* The same, written to the device; does nothing without groups. */
gs_status gs_offsets_put(gs_device *device, const gs_problem *problem, gs_routing routing, uint64_t seed, gs_pointer to, gs_error *error);

/* Reads them from the device; the caller frees *offsets. CORRUPT: they are not valid. Does not wait. */
gs_status gs_offsets_get(gs_device *device, const gs_problem *problem, gs_pointer from, int32_t **offsets, gs_error *error);

/* Rows of a group, and how many rows behind them belong to no group. With groups along K each group has the rows of one matrix of the batch. */
typedef struct gs_group_rows {
    int64_t first, rows, unused;
} gs_group_rows;
gs_group_rows gs_rows_of_group(const gs_problem *problem, const int32_t *offsets, int64_t group);
int64_t       gs_group_of_row(const gs_problem *problem, const int32_t *offsets, int64_t row);

/* The range of K that a group's sums have: all of K, except with groups along K. offsets NULL: there are no groups. */
typedef struct gs_group_terms {
    int64_t first, count;
} gs_group_terms;
gs_group_terms gs_terms_of_group(const gs_problem *problem, const int32_t *offsets, int64_t group);

/* The number of rows in all groups, and which row the index-th of these is. offsets NULL: there are no groups, all rows of the batch count. */
int64_t gs_rows_used(const gs_problem *problem, const int32_t *offsets);
int64_t gs_row_used(const gs_problem *problem, const int32_t *offsets, int64_t index);

/* The rows of D whose columns are summed to one vector of the gradient of a bias: those of a group, of one matrix or of all. */
gs_status gs_rows_of_sum(gs_device *device, const gs_problem *problem, gs_pointer offsets, int64_t vector, gs_group_rows *out, gs_error *error);

/* *rows: rows of D from here on are not written. Sorted groups: the end of the last one; else all rows. */
gs_status gs_rows_written(gs_device *device, const gs_problem *problem, gs_pointer offsets, int64_t *rows, gs_error *error);

#endif
