/* SPDX-License-Identifier: MIT
 * What a report shows: sets of problems that may be compared with each other (one device, one clock), the machines they were measured on, curves, and lineages of kernels.
 * This is the door of the room: filled from stores (store.c), rows of eval and logs of trainers (rows.c), a report becomes a page (page.c). */
#ifndef GS_REPORT_REPORT_H
#define GS_REPORT_REPORT_H

#include <gemmsmith/problem.h>

#include "base/text.h"
#include "report/curves.h"

#define GS_REPORT_BANDS 6

enum { GS_REPORT_P50, GS_REPORT_P95, GS_REPORT_P99, GS_REPORT_PERCENTILES };

typedef struct gs_report_point {
    char       key[GS_PROBLEM_TEXT + 4];                                       /* what tells it from the others of its set */
    char       problem[GS_PROBLEM_TEXT + 4];                                   /* as it is written, with all layouts that were compared */
    char       kind[GS_PROBLEM_TEXT];                                          /* the same without M, N and K: "f16 tn" */
    gs_problem parsed;
    char       choice[128], date[24];
    double     us, library_us;                                                 /* NaN: not known, also below */
    double     ratio, low, high;                                               /* predicted: floor over time */
    double     floor_us;
    int        band;                                                           /* -1: the device's floor is not known */
    bool       library;                                                        /* cuBLASLt won */
    bool       marked;                                                         /* lines: which layout is the best was said */
    unsigned   layouts;                                                        /* lines: bits, 1 nn, 2 tn */
    double     own[GS_REPORT_PERCENTILES], reference[GS_REPORT_PERCENTILES];   /* of call time */
} gs_report_point;

typedef struct gs_report_set {
    char             gpu[96], mode[40];   /* mode: as a file of rows calls it; empty: winners of a store */
    bool             predicted, dependent, server;
    gs_report_point *list;
    int              count, capacity;
    int              faults;              /* of ours that were wrong or did not run */
} gs_report_set;

/* Figures of runs with the same versions. */
typedef struct gs_report_machine {
    char device[96], driver[24], cublaslt[24], nvrtc[24], version[64], commit[48], from[24], to[24];
    int  sms, runs;
} gs_report_machine;

typedef struct gs_report_curve {
    gs_curve_points points;
    char      device[64];
} gs_report_curve;

/* A kernel that a model wrote. */
typedef struct gs_report_kernel {
    char   candidate[128], base[128], verdict[24];
    int    generation, island;
    double us, ratio, gain, reward;       /* NaN: not known; gain: the parent's time over its own */
    bool   best;                          /* the fastest, or an ancestor of it */
} gs_report_kernel;

/* What came from whom for one problem on one device: parents before their children, depth first. */
typedef struct gs_report_lineage {
    char              device[64], problem[GS_PROBLEM_TEXT];
    gs_report_kernel *list;
    int               count, capacity;
} gs_report_lineage;

typedef struct gs_report {
    gs_report_set     *sets;
    int                set_count, set_capacity;
    gs_report_machine *machines;
    int                machine_count, machine_capacity;
    gs_report_curve   *curves;
    int                curve_count, curve_capacity;
    gs_report_lineage *lineages;
    int                lineage_count, lineage_capacity;
    gs_text            sources;   /* names of the files, a line each */
    bool               training;  /* a trainer's log is among them */
    int                unread;    /* lines and results that could not be read */
    bool               failed;    /* no memory */
} gs_report;   /* zero-initialise */

/* ---- filling ---- */

/* gpu: only that one's; NULL: all. Where a trainer's log was added before: also what the trials found. */
gs_status gs_report_add_store(gs_report *r, gs_store *store, const char *gpu, gs_error *error);
gs_status gs_report_add_file(gs_report *r, const char *path, gs_error *error);           /* rows of eval: --rows, or --json; or a trainer's log (training.h) */
void      gs_report_free(gs_report *r);

/* What was written where, as an object of JSON. */
void gs_report_summary(gs_text *out, const gs_report *r, const char *path, int problems);

/* The page, as HTML. made: when. */
void gs_report_page(gs_text *page, const gs_report *r, const char *made);

#endif
