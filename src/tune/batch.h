/* SPDX-License-Identifier: MIT
 * Tuning a list of problems: batch.c has the list and its batches, batch_stages.c the stages of one problem, batch_second.c the
 * second round of a learning policy. */
#ifndef GS_TUNE_BATCH_H
#define GS_TUNE_BATCH_H

#include "tune/run.h"

enum { GS_LIST_BATCH = 32 };

/* State of a problem: cannot be tuned; has a winner in the store; has the result of an earlier search; is to be searched. */
typedef enum gs_list_state { GS_LIST_BAD, GS_LIST_WON, GS_LIST_FOUND, GS_LIST_OPEN } gs_list_state;

typedef struct gs_list_known {
    gs_list_state state;
    int           ahead;      /* its index among the problems that are compiled ahead; -1: none */
    gs_status     why;        /* BAD */
    gs_error      error;
    gs_schedule   schedule;   /* FOUND: the result of an earlier search, and its time */
    double        us;
    gs_trial      winner;     /* WON */
} gs_list_known;

typedef struct gs_list_item {
    int            index;
    gs_run         run;
    gs_tune_result result;
    gs_candidate **rank;    /* fastest first */
    int            ranked, next;
    gs_candidate  *best;    /* verified; NULL: none yet */
    gs_status      status;
    gs_error       error;
    bool           reported;
} gs_list_item;

/* Schedules, each for problems with the types and layout of `like`. */
typedef struct gs_list_schedules {
    struct {
        gs_schedule schedule;
        gs_problem  like;
    } *list;
    int count, capacity;
} gs_list_schedules;

typedef struct gs_list {
    gs_store         *store;
    gs_session       *session;
    gs_worker        *worker;
    const gs_caps    *caps;
    const gs_problem *problems;
    int               count, most;
    int               ahead_most;   /* of `most`, the candidates proposed and compiled ahead; the others follow after a batch has been raced */
    gs_tune_options   options;      /* for each problem, without a budget of its own */
    double            budget_s, finish_s;    /* finish_s: the longest time so far to verify and confirm a problem */
    int64_t           started;
    gs_tune_finished  finished;
    void             *self;
    gs_work_queue         *turns;
    gs_list_known    *known;
    gs_problem       *open;         /* the problems that are compiled ahead */
    int               open_count;
    gs_ahead         *ahead;
    gs_schedule      *first;        /* room for one problem's proposals */
    gs_found         *found;        /* if the policy builds on it */
    gs_policy         policy;
    gs_list_schedules proven;       /* passed verification's edge problems */
    gs_list_schedules suspects;     /* hung or faulted: trying them again would cost a worker, and minutes */
    gs_list_item     *batch;
    int               items;
    bool              ended;        /* finished returned false */
} gs_list;

/* ---- stages of one problem (batch_stages.c) ---- */

/* Gets the candidates proposed ahead and races them; gs_list_second asks a learning policy for the rest. */
gs_status gs_list_search(gs_list *l, gs_list_item *it, gs_error *error);

/* Races the candidates from `from` on, and if from > 0 the best so far with them. In one run if they are few, else in several, whose best meet in a further run.
 * turn: number of the race; a later race has more rounds, so that its finalists rank before the earlier ones. */
gs_status gs_list_race(gs_list_item *it, int from, int turn, gs_error *error);

/* Verifies candidates, fastest first, until one passes: it->best; NULL if none is left. */
gs_status gs_list_prove(gs_list *l, gs_list_item *it, gs_error *error);

gs_status gs_list_confirm(gs_list *l, gs_list_item *it, gs_error *error);

/* Compiles ahead what verification of the fastest candidate will need. */
void      gs_list_ask_for_edges(const gs_list *l, const gs_list_item *it);

/* note: remembers candidates that hung or faulted for the rest of the list; leave_out: removes these from a run's candidates from `from` on. */
void      gs_list_note_suspects(gs_list *l, const gs_list_item *it);
void      gs_list_leave_out_suspects(const gs_list *l, gs_run *run, int from);

/* Reports the result of a problem once, and returns its lease. */
void gs_list_report(gs_list *l, gs_list_item *it);

/* Records the status of a stage of a problem; returns an error only if it stops the list. */
gs_status gs_list_settle(gs_list *l, gs_list_item *it, gs_status status, const gs_error *why, gs_error *error);

/* ---- the second round (batch_second.c) ---- */

/* For a learning policy: tells it the outcomes of the batch, and races its further proposals. */
gs_status gs_list_second(gs_list *l, gs_error *error);

#endif
