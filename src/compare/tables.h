/* SPDX-License-Identifier: MIT
 * Two tuned tables side by side, problem by problem: what each chose, its time, and who is faster; then what that comes to. Each side is a tuned table, a
 * directory of them, or a store, whose winners count. Both become a gs_table of one device, so that problems are equal here when they are for a plan. Times
 * of two runs are set side by side, which proves nothing about a per cent: so there is also how far the runs are apart where both chose alike, and how
 * far cuBLASLt's own times are. */
#ifndef GS_COMPARE_TABLES_H
#define GS_COMPARE_TABLES_H

#include "base/error.h"
#include "base/json.h"
#include "table/table.h"
#include "store/store.h"

typedef struct gs_tables_side {
    const char *name;              /* A or B */
    const char *path;
    gs_table   *table;             /* of one device */
    char        gpu[48];           /* as the store names it */
    int         skipped;           /* rows that could not be read */
    gs_error    first;             /* the first of them */
    int         others;            /* rows of other multiprocessors under the same name */
    int         kept_out;          /* winners that no table can hold */
    gs_status   status;            /* of the visits */
} gs_tables_side;

typedef struct gs_tables_pair {
    const gs_row *a, *b;           /* NULL: this side has no such problem */
    double        ratio;           /* time A / time B; 0: a time is missing */
} gs_tables_pair;

typedef struct gs_tables_mean {
    double sum;                    /* of logarithms */
    int    count;
} gs_tables_mean;

typedef struct gs_table_comparison {
    gs_tables_side  side[2];
    gs_tables_pair *pairs;        /* the problems of A in their order, then those that only B has */
    int              count;
    bool             predicted;
    int              both, only[2], untimed, faster[2], same, alike;   /* alike: both chose the same */
    gs_tables_mean  all, where_alike, library;
} gs_table_comparison;

/* gpu: of both; NULL: that of their rows, and of a store this machine's. *failed: the side that could not be read; NULL: it is about both. Codes: ARGUMENT
 * (which GPU?), UNSUPPORTED (a prediction beside a measurement), CORRUPT, NOT_FOUND, MEMORY, the store's. *out is to be freed, whatever is returned. */
gs_status gs_tables_compare(gs_table_comparison *out, const char *left, const char *right, const char *gpu, const char **failed, gs_error *error);
void      gs_tables_compare_free(gs_table_comparison *compare);

/* Says in the log how many rows of each side could not be read. */
void gs_tables_warn(const gs_table_comparison *compare);

double gs_tables_geomean(const gs_tables_mean *mean);   /* 0: of none */
int    gs_tables_faster(double ratio);                   /* 0: A, 1: B, -1: neither by more than 1 % */

/* A trial or a winner, as gemmsmith db list --json and db show --json print it. */
void gs_trial_object(gs_text *out, const gs_trial *trial, const char *gpu);

/* The fields of their JSON. */
void gs_tables_pair_put(gs_json *json, const gs_table_comparison *comparison, const gs_tables_pair *pair);
void gs_tables_summary_put(gs_json *json, const gs_table_comparison *comparison);

#endif
