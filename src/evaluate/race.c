/* SPDX-License-Identifier: MIT
 * A race of given schedules: few paired rounds for all, more for those near the best, in groups beside cuBLASLt. A group that takes its worker down is halved until the cause is
 * found. Nothing is verified here except what timing checks. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "evaluate/internal.h"

enum { GROUP = 24, FIRST_ROUNDS = 5, SECOND_ROUNDS = 11, SECOND_MOST = 16 };   /* rounds as in a search (tune/race.c) */
#define FIRST_WITHIN 1.5    /* times the best: stays in after the first rounds */

gs_status gs_evaluate_race_prepare(gs_environment *e, const gs_problem *problem, const char *schedule, gs_error *error)
{
    GS_TRY(gs_evaluator_takes(problem, "race", error));
    gs_evaluator run = gs_environment_evaluator(e, problem);
    gs_candidate c = {0};
    run.store = NULL;   /* its verdict is found again, and stored, in the race */
    GS_TRY(gs_evaluator_read_schedule(&run, schedule, &c, error));
    const gs_status status = gs_candidate_out(&c) ? GS_OK : gs_evaluator_precompile(&run, &c, false, e->options.compile_s, error);
    e->seed = run.seed;
    return status;
}

static bool is_in(const gs_candidate *c) { return !gs_candidate_out(c); }

static int by_ratio(const void *left, const void *right)
{
    const gs_candidate *const a = *(gs_candidate *const *)left, *const b = *(gs_candidate *const *)right;
    return a->ratio.median > b->ratio.median ? -1 : a->ratio.median < b->ratio.median;
}

/* Updates the best known time. */
static void learn(gs_evaluator *run, gs_candidate *const *list, int count)
{
    for (int i = 0; i < count; i++) {
        const gs_candidate *const c = list[i];
        if (c->measured && !c->doubted && is_in(c) && (run->known_us == 0 || c->us < run->known_us)) run->known_us = c->us;
    }
}

static gs_status race_list(gs_evaluator *run, gs_candidate *const *list, int count, int rounds, gs_error *error)
{
    for (int at = 0; at < count; at += GROUP) {
        const int group = GS_MIN(GROUP, count - at);
        GS_TRY(gs_evaluator_check(run, error));
        GS_TRY(gs_evaluator_group(run, list + at, group, rounds, GS_STAGE_RACE, error));
        GS_TRY(gs_evaluator_doubted(run, list + at, group, rounds, GS_STAGE_RACE, error));
        learn(run, list + at, group);
    }
    return GS_OK;
}

static gs_status race(gs_evaluator *run, gs_candidate *all, gs_candidate **list, int count, gs_error *error)
{
    int in = 0;
    for (int i = 0; i < count; i++)
        if (is_in(&all[i])) list[in++] = &all[i];
    GS_TRY(race_list(run, list, in, FIRST_ROUNDS, error));
    if (run->caps->emulated) return GS_OK;   /* times are predicted: more rounds would give the same */
    int measured = 0, near = 0;
    for (int i = 0; i < in; i++)
        if (is_in(list[i]) && list[i]->measured) list[measured++] = list[i];
    qsort(list, (size_t)measured, sizeof *list, by_ratio);
    while (near < measured && near < SECOND_MOST && list[near]->ratio.median * FIRST_WITHIN >= list[0]->ratio.median) near++;
    return near < 2 ? GS_OK : race_list(run, list, near, SECOND_ROUNDS, error);
}

/* Its verdict was found by running it. */
static bool came_to_run(const gs_candidate *c)
{
    return c->verdict == GS_VERDICT_FAULT || c->verdict == GS_VERDICT_HANG || c->verdict == GS_VERDICT_TIMED || c->verdict == GS_VERDICT_FLOOR;
}

gs_status gs_evaluate_race(gs_environment *e, const gs_problem *problem, const char *const *schedules, int count, bool alone, gs_evaluation *out, gs_error *error)
{
    GS_TRY(gs_evaluator_takes(problem, "race", error));
    gs_evaluator run = gs_environment_evaluator(e, problem);
    gs_candidate *const all = calloc((size_t)count + 1, sizeof *all), **const list = calloc((size_t)count + 1, sizeof(gs_candidate *));
    gs_status status = all && list ? gs_environment_take_known(e, &run, error) : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    run.doubts = run.follows = true;
    if (alone) {
        run.store = NULL;
        snprintf(run.lacks, sizeof run.lacks, "not asked for");
    }
    for (int i = 0; i < count && status == GS_OK; i++) status = gs_evaluator_read_schedule(&run, schedules[i], &all[i], error);
    if (status == GS_OK) status = race(&run, all, list, count, error);
    for (int i = 0; i < count && status == GS_OK; i++) {
        const bool timed = is_in(&all[i]) && all[i].measured;
        out[i] = (gs_evaluation){.step = timed || came_to_run(&all[i]) ? GS_STEP_TIME : GS_STEP_COMPILE, .reward = -1, .l2_hit = -1, .predicted = e->caps.emulated, .floor_us = run.floor_us};
        gs_evaluation_fill(&run, &all[i], timed, &out[i]);
        if (gs_verdict_failed(all[i].verdict) && !all[i].text[0]) out[i].step = GS_STEP_TEXT;
        gs_text lines = {0};
        if (timed) gs_evaluation_launch(&run, &all[i], &lines, &out[i]);
        gs_text_free(&lines);
    }
    e->seed = run.seed;
    free(all);
    free(list);
    return status;
}
