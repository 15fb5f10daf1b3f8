/* SPDX-License-Identifier: MIT
 * The stages of one problem of a list: race, verification, confirmation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "tune/batch.h"

enum { GROUP = 48, AGAIN = 12, INCUMBENTS = 3 };

/* ---- lists of known schedules ---- */

static bool same_types(const gs_problem *a, const gs_problem *b)
{
    return a->in == b->in && a->acc == b->acc && a->out == b->out && a->layout == b->layout;
}

static bool holds(const gs_list_schedules *s, const gs_problem *problem, const gs_schedule *schedule)
{
    for (int i = 0; i < s->count; i++)
        if (memcmp(&s->list[i].schedule, schedule, sizeof *schedule) == 0 && same_types(&s->list[i].like, problem)) return true;
    return false;
}

/* Without memory a schedule is forgotten, which only costs time. */
static void note(gs_list_schedules *s, const gs_problem *problem, const gs_schedule *schedule)
{
    if (!gs_grow(&s->list, s->count, &s->capacity, sizeof *s->list)) return;
    s->list[s->count].schedule = *schedule;
    s->list[s->count++].like = *problem;
}

static bool is_lost(const gs_candidate *c) { return c->verdict == GS_VERDICT_HANG || c->verdict == GS_VERDICT_FAULT; }

void gs_list_note_suspects(gs_list *l, const gs_list_item *it)
{
    for (int i = 0; i < it->run.count; i++) {
        const gs_candidate *const c = &it->run.list[i];
        if (!is_lost(c) || holds(&l->suspects, it->run.evaluator.problem, &c->schedule)) continue;
        gs_log(GS_LOG_WARNING, "%s: %s; it is left out for the rest of the list", c->text, gs_verdict_name(c->verdict));
        note(&l->suspects, it->run.evaluator.problem, &c->schedule);
    }
}

void gs_list_leave_out_suspects(const gs_list *l, gs_run *run, int from)
{
    int kept = from;
    for (int i = from; i < run->count; i++)
        if (!holds(&l->suspects, run->evaluator.problem, &run->list[i].schedule)) run->list[kept++] = run->list[i];
    run->count = kept;
}

/* ---- candidates and their race ---- */

/* Candidates that stayed to the end of their run come first; the others cannot be compared with them, because clocks have changed since. */
static int by_place(const void *left, const void *right)
{
    const gs_candidate *const a = *(gs_candidate *const *)left, *const b = *(gs_candidate *const *)right;
    if (a->rounds != b->rounds) return a->rounds > b->rounds ? -1 : 1;
    if (a->us != b->us) return a->us < b->us ? -1 : 1;
    return a->predicted_us < b->predicted_us ? -1 : a->predicted_us > b->predicted_us;
}

static void rank(gs_list_item *it)
{
    it->ranked = it->next = 0;
    for (int i = 0; i < it->run.count; i++)
        if (it->run.list[i].measured && !gs_candidate_out(&it->run.list[i])) it->rank[it->ranked++] = &it->run.list[i];
    qsort(it->rank, (size_t)it->ranked, sizeof *it->rank, by_place);
}

/* Rounds of a run that drops slow candidates: longer calls need fewer rounds. */
static int search_rounds(const gs_run *run) { return run->evaluator.floor_us > 1000 ? 9 : run->evaluator.floor_us > 100 ? 15 : 24; }
static int confirm_rounds(const gs_run *run) { return run->evaluator.floor_us > 1000 ? 11 : 21; }

gs_status gs_list_race(gs_list_item *it, int from, int turn, gs_error *error)
{
    gs_run *const run = &it->run;
    const int rounds = search_rounds(run) + 2 * turn, incumbents = GS_MIN(it->ranked, INCUMBENTS), count = incumbents + run->count - from;
    gs_candidate **const all = calloc((size_t)count + 1, sizeof(gs_candidate *));
    if (!all) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    gs_status status = GS_OK;
    for (int i = 0; i < count; i++) all[i] = i < incumbents ? it->rank[i] : &run->list[from + i - incumbents];
    for (int at = 0; at < count && status == GS_OK; at += GROUP) {
        gs_run_progress(run, GS_TUNE_RACE, at, count, all[at]->text);
        status = gs_evaluator_group(&run->evaluator, all + at, GS_MIN(GROUP, count - at), rounds, GS_STAGE_SEARCH, error);
    }
    free(all);
    if (status == GS_OK) rank(it);
    if (status == GS_OK && count > GROUP && it->ranked > 1) {
        status = gs_evaluator_group(&run->evaluator, it->rank, GS_MIN(it->ranked, AGAIN), rounds + 1, GS_STAGE_SEARCH, error);
        rank(it);
    }
    return status;
}

static gs_status take_candidates(gs_list *l, gs_list_item *it, const gs_trials *trials, gs_error *error)
{
    gs_run *const run = &it->run;
    const gs_list_known *const k = &l->known[it->index];
    if (k->state == GS_LIST_FOUND) return gs_run_shortlist(run, &l->policy, trials, 2, 2, &k->schedule, 1, error);   /* only this one: nothing else is proposed */
    int count = 0, failed = 0;
    gs_schedule earlier;
    double us;
    bool found = false;
    gs_run_progress(run, GS_TUNE_COMPILE, 0, l->ahead_most, NULL);
    GS_TRY(gs_ahead_take(l->ahead, k->ahead, l->first, &count, &failed, error));
    GS_TRY(gs_run_shortlist(run, &l->policy, trials, l->ahead_most, l->most + 1, l->first, count, error));
    if (!l->policy.builds_on_found) GS_TRY(gs_run_find_search(l->store, l->session, run->evaluator.text, &earlier, &us, &found, error));
    if (found) gs_run_add(run, &earlier, 1, trials);
    run->result->compiled = run->count - failed;
    if (run->result->proposed > count) return gs_run_compile(run, error);   /* more than were compiled ahead */
    return GS_OK;
}

void gs_list_ask_for_edges(const gs_list *l, const gs_list_item *it)
{
    if (it->ranked > 0 && l->known[it->index].ahead >= 0) gs_ahead_edges(l->ahead, l->known[it->index].ahead, &it->rank[0]->schedule);
}

gs_status gs_list_search(gs_list *l, gs_list_item *it, gs_error *error)
{
    gs_run *const run = &it->run;
    gs_trials trials;
    int64_t began = gs_clock_ns();
    gs_status status = gs_run_known(run, &trials, error);
    if (status == GS_OK) status = take_candidates(l, it, &trials, error);
    free(trials.list);
    run->result->spent.compile += gs_clock_since(began);
    GS_TRY(status);
    gs_list_leave_out_suspects(l, run, 0);
    it->rank = calloc((size_t)l->most + 2, sizeof(gs_candidate *));
    if (!it->rank) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    if (l->known[it->index].state == GS_LIST_FOUND) {
        for (int i = 0; i < run->count; i++) {
            run->list[i].us = l->known[it->index].us;
            it->rank[it->ranked++] = &run->list[i];
        }
        run->result->resumed = l->options.unconfirmed;
    } else {
        began = gs_clock_ns();
        status = gs_list_race(it, 0, 0, error);
        run->result->spent.race += gs_clock_since(began);
        gs_list_note_suspects(l, it);
        GS_TRY(status);
        GS_TRY(gs_evaluator_keep_times(&run->evaluator, run->list, run->count, error));
    }
    if (!l->policy.learn) gs_list_ask_for_edges(l, it);
    return GS_OK;
}

/* ---- verifying and confirming ---- */

gs_status gs_list_prove(gs_list *l, gs_list_item *it, gs_error *error)
{
    it->best = NULL;
    for (; it->next < it->ranked && !it->best; it->next++) {
        gs_candidate *const c = it->rank[it->next];
        const bool passed = gs_candidate_passed(c);   /* according to the store */
        c->edges_passed = !passed && holds(&l->proven, it->run.evaluator.problem, &c->schedule);
        gs_run_progress(&it->run, GS_TUNE_VERIFY, it->next, it->ranked, c->text);
        const gs_status status = passed ? GS_OK : gs_evaluator_prove(&it->run.evaluator, c, error);
        gs_list_note_suspects(l, it);
        GS_TRY(status);
        if (!gs_candidate_passed(c)) continue;
        if (!passed && !c->edges_passed) note(&l->proven, it->run.evaluator.problem, &c->schedule);
        it->best = c;
    }
    if (!it->best) return GS_OK;
    snprintf(it->result.best_own, sizeof it->result.best_own, "%s", it->best->text);
    it->result.best_own_us = it->best->us;
    return l->known[it->index].state == GS_LIST_FOUND ? GS_OK : gs_run_keep_search(&it->run, it->best, error);
}

gs_status gs_list_confirm(gs_list *l, gs_list_item *it, gs_error *error)
{
    gs_run *const run = &it->run;
    const int64_t began = gs_clock_ns();
    gs_status status = GS_OK;
    for (bool done = false; !done && status == GS_OK;) {
        if ((status = gs_evaluator_check(&run->evaluator, error)) != GS_OK) break;
        gs_run_progress(run, GS_TUNE_CONFIRM, 0, 1, it->best ? it->best->text : NULL);
        if (it->best)
            status = gs_evaluator_group(&run->evaluator, &it->best, 1, confirm_rounds(run), GS_STAGE_CONFIRM, error);
        else if (l->caps->emulated)
            status = gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no schedule passed on %s", run->evaluator.worker->device);
        else
            status = gs_evaluator_bench(&run->evaluator, NULL, 0, 5, GS_STAGE_RACE, error);   /* cuBLASLt wins by default */
        done = !it->best || !gs_candidate_out(it->best);
        if (status == GS_OK && !done) status = gs_list_prove(l, it, error);
    }
    run->result->spent.confirm += gs_clock_since(began);
    return status == GS_OK ? gs_run_record(run, it->best, error) : status;
}

/* ---- results of a problem ---- */

void gs_list_report(gs_list *l, gs_list_item *it)
{
    if (it->reported) return;
    it->reported = true;
    gs_run_account(&it->run);
    const bool ended = l->ended;
    it->result.seconds = it->result.spent.compile + it->result.spent.race + it->result.spent.verify + it->result.spent.confirm;
    if (!l->finished(l->self, it->index, it->status, &it->result, &it->error)) l->ended = true;
    gs_work_queue_end(l->turns, it->index, it->status == GS_OK || l->ended == ended);
}

gs_status gs_list_settle(gs_list *l, gs_list_item *it, gs_status status, const gs_error *why, gs_error *error)
{
    if (status == GS_OK) return GS_OK;
    if (status == GS_ERROR_INTERRUPTED || status == GS_ERROR_NO_COMPILER) {
        if (error) *error = *why;
        return status;
    }
    it->status = status;
    it->error = *why;
    gs_list_report(l, it);
    return GS_OK;
}
