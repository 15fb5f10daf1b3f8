/* SPDX-License-Identifier: MIT
 * An environment from within: what one candidate (environment.c) and a race of many (race.c) have in common. */
#ifndef GS_EVALUATE_INTERNAL_H
#define GS_EVALUATE_INTERNAL_H

#include "evaluate/emulate.h"
#include "evaluate/environment.h"

/* The best time of a problem that passed here, where there is no store to ask. */
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
    uint64_t               seed;       /* goes from run to run */
    gs_known_best              *known;
    int                    known_count, known_capacity;
    gs_timed_ahead        *ahead;
};

gs_evaluator gs_environment_evaluator(const gs_environment *e, const gs_problem *problem);
gs_status    gs_environment_take_known(const gs_environment *e, gs_evaluator *run, gs_error *error);

/* What a schedule's text says before a worker has seen it. A candidate that is out has its verdict. */
gs_status gs_evaluator_read_schedule(gs_evaluator *run, const char *text, gs_candidate *c, gs_error *error);

/* timed: its figures belong to it. */
void gs_evaluation_fill(const gs_evaluator *run, const gs_candidate *c, bool timed, gs_evaluation *out);

/* The metrics of a candidate that has its figures in out: with what its worker says; or, added to these lines, what is known without. */
void gs_evaluation_measure(const gs_environment *e, const gs_evaluator *run, const gs_candidate *c, gs_evaluation *out);
void gs_evaluation_launch(const gs_evaluator *run, const gs_candidate *c, gs_text *lines, gs_evaluation *out);

#endif
