/* SPDX-License-Identifier: MIT
 * Contenders timed against each other over a list of problems, through the worker: the door of this room. A finished problem is a row
 * (compare/result.h), kept in the store under everything that it depends on: a run that was stopped, and the same again, takes it from there.
 *
 *     gs_contest_open(&c, &session, &options, &error);
 *     gs_contest_run(c, problems, count, &end, &error);
 *     gs_contest_close(&c, &error);
 *
 * Two tuned tables side by side: compare/tables.h. */
#ifndef GS_COMPARE_COMPARE_H
#define GS_COMPARE_COMPARE_H

#include "compare/contenders.h"

/* What a run tells while it works; each may be NULL. */
typedef struct gs_contest_events {
    void *self;
    void (*compiling)(void *self);                                /* what "own" is going to run, before the first problem */
    void (*compiled)(void *self);
    void (*begins)(void *self, int at, const char *title, int fresh);   /* fresh: problems that were measured so far */
    void (*estimate)(void *self, const char *title, double seconds);    /* once, before the first measurement: of all of them; 0 for a GPU */
    void (*finished)(void *self, const gs_result *row, const char *text);   /* text: the row's JSON */
    void (*failed)(void *self, const char *title, const gs_error *error);
} gs_contest_events;

typedef struct gs_contest_options {
    gs_contender_names names;
    gs_own_list  own;             /* what the contender "own" runs */
    uint32_t     layouts;         /* bits: 1 nn, 2 tn */
    const char  *schedule;        /* in place of the plan's choice; NULL: that */
    bool         server, warm, dependent, torch, again;
    bool         behind;          /* each call behind an element-wise kernel over A */
    bool         skewed;          /* routing of problems with groups */
    bool         quick;           /* fewer rounds and shorter waits, for many problems */
    int          call_time;       /* 0: not measured, 1: measured, -1: unless quick */
    int64_t      rounds, seed;    /* rounds 0: as many as suit */
    double       warmup_s;        /* < 0: the worker's default */
    double       benchmark_s;     /* measure that long; 0: a number of rounds */
    double       target_qps;      /* server */
    double       budget_s;        /* begin no problem after that; 0: no limit */
    const char  *base_dir, *csv, *rows;   /* files for results; NULL: none */
    const char  *table;           /* the user's tuned table: a plan's choice is part of what a result depends on; NULL or absent: none */
    bool         record;          /* "own" beside the reference decides who wins: written to the store and to record_table */
    const char  *record_table;
    gs_contest_events events;
} gs_contest_options;

typedef struct gs_contest_end {
    int  at;       /* problems that were gone through */
    int  there;    /* of these: stood in the file of rows already */
    bool late;     /* the budget ended before the list */
} gs_contest_end;

typedef struct gs_contest gs_contest;

/* Opens the files. session has a store; it and what options names live as long. Codes: CORRUPT (the user's table), IO, MEMORY. */
gs_status gs_contest_open(gs_contest **out, gs_device_session *session, const gs_contest_options *options, gs_error *error);

/* problems: each in the first of its layouts; the others are measured with it. A problem that fails is told and left out; what is wrong with the machine
 * ends the run with its code, after failed() was told. INTERRUPTED: gs_stop_requested was set. */
gs_status gs_contest_run(gs_contest *c, const gs_problem *problems, int count, gs_contest_end *end, gs_error *error);

/* The code is that of a file that could not be written to its end. */
gs_status gs_contest_close(gs_contest **c, gs_error *error);

#endif
