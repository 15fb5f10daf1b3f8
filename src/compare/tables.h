/* SPDX-License-Identifier: MIT
 * Compares two tuned tables, problem by problem: the choices, their times, and which is faster; then totals. Each side is a tuned table, a directory of them,
 * or a store, whose winners are used. Both are read into a gs_table of one device, so that problems are equal if they are equal for a plan. Times of two runs
 * differ by more than the kernels do; as a measure of that, there are also the ratio of problems where both made the same choice, and that of cuBLASLt's own
 * times. */
#ifndef GS_COMPARE_TABLES_H
#define GS_COMPARE_TABLES_H

#include "base/error.h"
#include "base/json.h"
#include "table/table.h"
#include "store/store.h"

typedef struct gs_tables_side {
    const char *name;              /* A or B */
    const char *path;
    gs_table   *table;             /* rows of one device */
    char        gpu[48];           /* its name in stores */
    int         skipped;           /* rows that could not be parsed */
    gs_error    first;             /* the error of the first of them */
    int         others;            /* skipped rows of GPUs with the same name but another number of multiprocessors */
    int         kept_out;          /* winners that a table cannot represent */
    gs_status   status;            /* of the store's visits */
} gs_tables_side;

typedef struct gs_tables_pair {
    const gs_row *a, *b;           /* NULL: this side does not have the problem */
    double        ratio;           /* time A / time B; 0: a time is missing */
} gs_tables_pair;

typedef struct gs_tables_mean {
    double sum;                    /* of logarithms */
    int    count;
} gs_tables_mean;

typedef struct gs_table_comparison {
    gs_tables_side  side[2];
    gs_tables_pair *pairs;        /* the problems of A in order, then those of B only */
    int              count;
    bool             predicted;
    int              both, only[2], untimed, faster[2], same, alike;   /* alike: both have the same choice */
    gs_tables_mean  all, where_alike, library;
} gs_table_comparison;

/* gpu: for both sides; NULL: that of their rows, or for stores this machine's. *failed: the path of the side that could not be read; NULL: the error concerns
 * both. Codes: ARGUMENT (which GPU?), UNSUPPORTED (predicted against measured times), CORRUPT, NOT_FOUND, MEMORY, the store's. *out must be freed, whatever
 * is returned. */
gs_status gs_tables_compare(gs_table_comparison *out, const char *left, const char *right, const char *gpu, const char **failed, gs_error *error);
void      gs_tables_compare_free(gs_table_comparison *compare);

/* Logs how many rows of each side could not be parsed. */
void gs_tables_warn(const gs_table_comparison *compare);

double gs_tables_geomean(const gs_tables_mean *mean);   /* 0: no ratios */
int    gs_tables_faster(double ratio);                   /* 0: A, 1: B, -1: neither by more than 1 % */

/* A trial or a winner in the JSON of gemmsmith db list --json and db show --json. */
void gs_trial_object(gs_text *out, const gs_trial *trial, const char *gpu);

/* Fields of the JSON of db compare. */
void gs_tables_pair_put(gs_json *json, const gs_table_comparison *comparison, const gs_tables_pair *pair);
void gs_tables_summary_put(gs_json *json, const gs_table_comparison *comparison);

#endif
