/* SPDX-License-Identifier: MIT
 * Times contenders against each other over a list of problems, through the worker; the interface of this room. A finished problem is a row
 * (compare/result.h), stored under a key of everything that it depends on, so that a continued or repeated run takes it from the store.
 *
 *     gs_contest_open(&c, &session, &options, &error);
 *     gs_contest_run(c, problems, count, &end, &error);
 *     gs_contest_close(&c, &error);
 *
 * compare/tables.h compares two tuned tables. */
#ifndef GS_COMPARE_COMPARE_H
#define GS_COMPARE_COMPARE_H

#include "compare/contenders.h"

/* Progress callbacks; each may be NULL. */
typedef struct gs_contest_events {
    void *self;
    void (*compiling)(void *self);                                /* before the first problem, the schedules of "own" are compiled */
    void (*compiled)(void *self);
    void (*begins)(void *self, int at, const char *title, int fresh);   /* fresh: problems measured so far */
    void (*estimate)(void *self, const char *title, double seconds);    /* once, before the first measurement: for all problems; 0 for a GPU */
    void (*finished)(void *self, const gs_result *row, const char *text);   /* text: the row's JSON */
    void (*failed)(void *self, const char *title, const gs_error *error);
} gs_contest_events;

typedef struct gs_contest_options {
    gs_contender_names names;
    gs_own_list  own;             /* schedules of the contender "own" */
    uint32_t     layouts;         /* bits: 1 nn, 2 tn */
    const char  *schedule;        /* replaces the plan's choice; NULL: does not */
    bool         server, warm, dependent, torch, again;
    bool         behind;          /* run each call behind an element-wise kernel over A */
    bool         skewed;          /* problems with groups: the first groups get most rows */
    bool         quick;           /* fewer rounds and shorter waits, for many problems */
    int          call_time;       /* 0: not measured, 1: measured, -1: unless quick */
    int64_t      rounds, seed;    /* rounds 0: chosen automatically */
    double       warmup_s;        /* < 0: the worker's default */
    double       benchmark_s;     /* measure for this long; 0: by rounds */
    double       target_qps;      /* server mode */
    double       budget_s;        /* begin no problem after this time; 0: unlimited */
    const char  *base_dir, *csv, *rows;   /* result files; NULL: none */
    const char  *table;           /* the user's tuned table, on which a plan's choice, and so a result, depends; NULL or missing file: none */
    bool         record;          /* write the winner of "own" against the reference to the store and to record_table */
    const char  *record_table;
    gs_contest_events events;
} gs_contest_options;

typedef struct gs_contest_end {
    int  at;       /* problems handled */
    int  there;    /* of them: already in the file of rows */
    bool late;     /* budget_s was used up before the end of the list */
} gs_contest_end;

typedef struct gs_contest gs_contest;

/* Opens the files. session must have a store; it and the pointers in options must stay valid until close. Codes: CORRUPT (the user's table), IO, MEMORY. */
gs_status gs_contest_open(gs_contest **out, gs_device_session *session, const gs_contest_options *options, gs_error *error);

/* problems: each in the first of its layouts; the others are derived. A problem that fails is reported by failed() and skipped; a failure of the machine is
 * reported too and ends the run with its code. INTERRUPTED: gs_stop_requested was set. */
gs_status gs_contest_run(gs_contest *c, const gs_problem *problems, int count, gs_contest_end *end, gs_error *error);

/* The code of the first file that could not be written completely. */
gs_status gs_contest_close(gs_contest **c, gs_error *error);

#endif
