/* SPDX-License-Identifier: MIT
 * What a report shows: sets of problems that may be compared with each other (one device, one clock), the machines they were measured on, and
 * curves. report_data.c fills it from a store, report_rows.c from the rows of eval; report_figures.c and report_curves.c make pictures of it,
 * report_page.c the page. */
#ifndef GS_REPORT_REPORT_H
#define GS_REPORT_REPORT_H

#include <gemmsmith/problem.h>

#include "base/json.h"
#include "base/text.h"
#include "curves.h"
#include "eval_row.h"

#define REPORT_BANDS 6

enum { REPORT_P50, REPORT_P95, REPORT_P99, REPORT_PERCENTILES };

typedef struct report_point {
    char       key[GS_PROBLEM_TEXT + 4];       /* what tells it from the others of its set */
    char       problem[GS_PROBLEM_TEXT + 4];   /* as it is written, with all layouts that were compared */
    char       kind[GS_PROBLEM_TEXT];          /* the same without M, N and K: "f16 tn" */
    gs_problem parsed;
    char       choice[128], date[24];
    double     us, library_us;                 /* NaN: not known, also below */
    double     ratio, low, high;               /* predicted: floor over time */
    double     floor_us;
    int        band;                           /* -1: the device's floor is not known */
    bool       library;                        /* the library won */
    bool       marked;                         /* lines: which layout is the best was said */
    unsigned   layouts;                        /* lines: bits, 1 nn, 2 tn */
    double     own[REPORT_PERCENTILES], reference[REPORT_PERCENTILES];   /* of call time */
} report_point;

typedef struct report_set {
    char          gpu[96], mode[24];           /* mode: as a file of rows calls it; empty: winners of a store */
    bool          predicted, dependent, server;
    report_point *list;
    int           count, capacity;
    int           faults;                      /* of ours that were wrong or did not run */
} report_set;

/* Figures of runs with the same versions. */
typedef struct report_machine {
    char device[96], driver[24], cublaslt[24], nvrtc[24], version[64], commit[48], from[24], to[24];
    int  sms, runs;
} report_machine;

typedef struct report_curve {
    cli_curve points;
    char      device[64];
} report_curve;

typedef struct report {
    report_set     *sets;
    int             set_count, set_capacity;
    report_machine *machines;
    int             machine_count, machine_capacity;
    report_curve   *curves;
    int             curve_count, curve_capacity;
    gs_text         sources;      /* names of the files, a line each */
    int             unread;       /* lines and results that could not be read */
    bool            failed;       /* no memory */
} report;   /* zero-initialise */

/* ---- filling ---- */

report_set *report_find_set(report *r, const char *gpu, const char *mode, bool predicted);   /* made if there is none; NULL: no memory */

/* The point of that key in the set, a new one (date empty, named by its key) if there is none. Good until the next call. NULL: no memory. */
report_point *report_find_point(report *r, report_set *set, const char *key, const gs_problem *parsed);
void          report_name_point(report_point *point, const char *problem);
void          report_add_machine(report *r, const report_machine *machine);

/* gpu: only that one's; NULL: all. */
gs_status report_add_store(report *r, gs_store *store, const char *gpu, gs_error *error);
gs_status report_add_file(report *r, const char *path, gs_error *error);           /* rows of eval: --rows, or --json */
void      report_add_row(report *r, const eval_row *row);
void      report_free(report *r);

/* ---- figures of a set ---- */

typedef struct report_numbers {
    double *list;      /* ascending */
    int     count;
} report_numbers;

/* What `of` says of the points of a band (-1: all), without what is not finite or not above 0. The caller frees list. */
typedef double (*report_value)(const report_point *point);
report_numbers report_collect(const report_set *set, int band, report_value of);
double         report_quantile(const report_numbers *numbers, double share);       /* NaN: none */
double         report_mean(const report_numbers *numbers);                         /* geometric */
double         report_ratio_of(const report_point *point);
double         report_share_of(const report_point *point);                         /* floor over time */

/* ---- the page ---- */

typedef struct report_figure {
    const char *kind, *title, *note;   /* note: HTML, may be NULL */
    bool        predicted, wide;
} report_figure;

void report_escape(gs_text *page, const char *text);                               /* for HTML, attributes too */
void report_figure_begin(gs_text *page, const report_figure *figure, gs_text *data, gs_json *json);   /* the object in json is open */
void report_figure_table(gs_text *page, const report_figure *figure, gs_text *data, gs_json *json);   /* closes and frees data; the table follows */
void report_figure_end(gs_text *page);
void report_table_begin(gs_text *page, const char *const *heads, int count);
void report_cell(gs_text *page, const char *text);
void report_number(gs_text *page, const char *format, double value);               /* a cell; empty where the value is not finite */

void report_set_figures(gs_text *page, const report_set *set);
void report_curve_figures(gs_text *page, const report *r);
void report_page(gs_text *page, const report *r, const char *made);                /* made: when */

#endif
