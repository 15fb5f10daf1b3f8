/* SPDX-License-Identifier: MIT
 * A list of problems that is being tuned. batch.c has the list and its batches, batch_stages.c the stages of one problem, batch_second.c the
 * second round of a learning policy. */
#ifndef GS_TUNE_BATCH_H
#define GS_TUNE_BATCH_H

#include "tune/run.h"

enum { GS_LIST_BATCH = 32 };

/* A problem's way through the list. */
typedef enum gs_list_state { GS_LIST_BAD, GS_LIST_WON, GS_LIST_FOUND, GS_LIST_OPEN } gs_list_state;

typedef struct gs_list_known {
    gs_list_state state;
    int           ahead;      /* its place among those that are compiled ahead */
    gs_status     why;        /* BAD */
    gs_error      error;
    gs_schedule   schedule;   /* FOUND: by an earlier search, with that time */
    double        us;
    gs_trial      winner;     /* WON */
} gs_list_known;

typedef struct gs_list_item {
    int            index;
    gs_run         run;
    gs_tune_result result;
    gs_candidate **rank;    /* fastest first */
    int            ranked, next;
    gs_candidate  *best;    /* verified; NULL: none was, yet */
    gs_status      status;
    gs_error       error;
    bool           reported;
} gs_list_item;

/* Schedules of a kind of problem. */
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
    int               ahead_most;   /* of these, proposed and compiled ahead; the rest after those of a batch have been raced */
    gs_tune_options   options;      /* of each problem: without a budget of its own */
    double            budget_s, finish_s;    /* finish_s: so far the longest to prove and confirm a problem */
    int64_t           started;
    gs_tune_finished  finished;
    void             *self;
    gs_work_queue         *turns;
    gs_list_known    *known;
    gs_problem       *open;         /* those that are compiled ahead */
    int               open_count;
    gs_ahead         *ahead;
    gs_schedule      *first;        /* room for one problem's proposals */
    gs_found         *found;        /* where the policy builds on it */
    gs_policy         policy;
    gs_list_schedules proven;       /* their edge problems were right */
    gs_list_schedules suspects;     /* hung or faulted: every further time would cost a worker, and minutes */
    gs_list_item     *batch;
    int               items;
    bool              ended;        /* finished said so */
} gs_list;

/* ---- stages of one problem (batch_stages.c) ---- */

/* Candidates, and their race; those that a policy that learns adds later are asked for by gs_list_second. */
gs_status gs_list_search(gs_list *l, gs_list_item *it, gs_error *error);

/* The candidates from `from` on and, where that is not the first, those that are best so far; in one run if they are few, else those that were
 * best in theirs meet again. turn: a later race has a round more, so that those who were in it to the end stand before the others. */
gs_status gs_list_race(gs_list_item *it, int from, int turn, gs_error *error);

/* The fastest that passes, in it->best; NULL after the last. */
gs_status gs_list_prove(gs_list *l, gs_list_item *it, gs_error *error);

gs_status gs_list_confirm(gs_list *l, gs_list_item *it, gs_error *error);

/* Compiles ahead what the verification of the fastest will need. */
void      gs_list_ask_for_edges(const gs_list *l, const gs_list_item *it);

/* Remembers candidates that hung or faulted, for the rest of the list; removes those from the candidates from `from` on. */
void      gs_list_note_suspects(gs_list *l, const gs_list_item *it);
void      gs_list_leave_out_suspects(const gs_list *l, gs_run *run, int from);

/* Says once what came of a problem, and gives its lease back. */
void gs_list_report(gs_list *l, gs_list_item *it);

/* What a stage said about a problem; the list goes on unless it was stopped. */
gs_status gs_list_settle(gs_list *l, gs_list_item *it, gs_status status, const gs_error *why, gs_error *error);

/* ---- the second round (batch_second.c) ---- */

/* For a policy that learns: tells it what came of the batch, and races what it proposes then. */
gs_status gs_list_second(gs_list *l, gs_error *error);

#endif
