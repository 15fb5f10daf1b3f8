/* SPDX-License-Identifier: MIT
 * The content of a report: sets of problems that can be compared with each other (one device, one clock), the machines, curves, and lineages of kernels. This
 * header is the interface of the room: a report is filled from stores (store.c), rows of eval and trainers' logs (rows.c), and written as a page (page.c). */
#ifndef GS_REPORT_REPORT_H
#define GS_REPORT_REPORT_H

#include <gemmsmith/problem.h>

#include "base/text.h"
#include "report/curves.h"

#define GS_REPORT_BANDS 6

enum { GS_REPORT_P50, GS_REPORT_P95, GS_REPORT_P99, GS_REPORT_PERCENTILES };

typedef struct gs_report_point {
    char       key[GS_PROBLEM_TEXT + 4];                                       /* identifies it in its set */
    char       problem[GS_PROBLEM_TEXT + 4];                                   /* for display, with all layouts that were compared */
    char       kind[GS_PROBLEM_TEXT];                                          /* the same without M, N and K: "f16 tn" */
    gs_problem parsed;
    char       choice[128], date[24];
    double     us, library_us;                                                 /* NaN: unknown, also below */
    double     ratio, low, high;                                               /* predicted: floor divided by time */
    double     floor_us;
    int        band;                                                           /* -1: the device's floor is unknown */
    bool       library;                                                        /* cuBLASLt won */
    bool       marked;                                                         /* of lines: a line was marked as the best layout */
    unsigned   layouts;                                                        /* of lines: bits, 1 nn, 2 tn */
    double     own[GS_REPORT_PERCENTILES], reference[GS_REPORT_PERCENTILES];   /* of call time */
} gs_report_point;

typedef struct gs_report_set {
    char             gpu[96], mode[40];   /* mode: as in a file of rows; empty: winners of a store */
    bool             predicted, dependent, server;
    gs_report_point *list;
    int              count, capacity;
    int              faults;              /* entries of ours that were wrong or did not run */
} gs_report_set;

/* Runs of a device with the same versions. */
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
    double us, ratio, gain, reward;       /* NaN: unknown; gain: the parent's time divided by its own */
    bool   best;                          /* the fastest, or an ancestor of it */
} gs_report_kernel;

/* The kernels for one problem on one device: parents before their children, depth first. */
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
    gs_text            sources;   /* names of the files, one per line */
    bool               training;  /* a trainer's log is among them */
    int                unread;    /* lines and results that could not be parsed */
    bool               failed;    /* out of memory */
} gs_report;   /* zero-initialise */

/* ---- filling ---- */

/* gpu: only this one; NULL: all. If a trainer's log was added before, also adds curves of the trials. */
gs_status gs_report_add_store(gs_report *r, gs_store *store, const char *gpu, gs_error *error);
gs_status gs_report_add_file(gs_report *r, const char *path, gs_error *error);           /* rows of eval (--rows or --json), or a trainer's log (training.h) */
void      gs_report_free(gs_report *r);

/* What was written, as a JSON object. */
void gs_report_summary(gs_text *out, const gs_report *r, const char *path, int problems);

/* The page as HTML. made: its date. */
void gs_report_page(gs_text *page, const gs_report *r, const char *made);

#endif
