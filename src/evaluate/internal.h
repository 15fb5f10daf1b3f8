/* SPDX-License-Identifier: MIT
 * Inside an environment: what one candidate (environment.c) and a race of many (race.c) share. */
#ifndef GS_EVALUATE_INTERNAL_H
#define GS_EVALUATE_INTERNAL_H

#include "evaluate/emulate.h"
#include "evaluate/environment.h"

/* The best time of a problem that passed in this environment, for when there is no store. */
typedef struct gs_known_best {
    char   problem[GS_PROBLEM_TEXT];
    double us;
} gs_known_best;

/* Schedules that were timed beside a candidate of the same problem, because they are about to be evaluated. */
typedef struct gs_timed_ahead {
    char         problem[GS_PROBLEM_TEXT];
    int          count;
    gs_candidate list[GS_BESIDE];
    gs_samples_ahead     samples[GS_BESIDE];
} gs_timed_ahead;

struct gs_environment {
    gs_worker             *worker;
    gs_caps                caps;
    gs_store              *store;      /* NULL: nothing is kept */
    gs_session            *session;
    gs_environment_options options;
    gs_emulation           emulation;
    uint64_t               seed;       /* carried from run to run */
    gs_known_best              *known;
    int                    known_count, known_capacity;
    gs_timed_ahead        *ahead;
};

gs_evaluator gs_environment_evaluator(const gs_environment *e, const gs_problem *problem);
gs_status    gs_environment_take_known(const gs_environment *e, gs_evaluator *run, gs_error *error);

/* Reads and checks the text of a schedule, before a worker sees it. If it is not valid, that is the candidate's verdict. */
gs_status gs_evaluator_read_schedule(gs_evaluator *run, const char *text, gs_candidate *c, gs_error *error);

/* timed: fills its figures too. */
void gs_evaluation_fill(const gs_evaluator *run, const gs_candidate *c, bool timed, gs_evaluation *out);

/* Fill out->metrics of a candidate whose figures are in out. _measure also asks its worker; _launch adds to `lines` what is known without one. */
void gs_evaluation_measure(const gs_environment *e, const gs_evaluator *run, const gs_candidate *c, gs_evaluation *out);
void gs_evaluation_launch(const gs_evaluator *run, const gs_candidate *c, gs_text *lines, gs_evaluation *out);

#endif
