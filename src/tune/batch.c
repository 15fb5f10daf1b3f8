/* SPDX-License-Identifier: MIT
 * Tuning a list of problems: child processes propose and compile for the next problems while a batch of problems is raced. Then the fastest candidate
 * of each is verified, then one fresh worker confirms them all. Working in batches avoids waiting for each problem. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tune/batch.h"

enum { CANDIDATES = 16 };
#define OTHERS_NS 100000000   /* between checks of other tuners' progress */
#define REPLY_S 30.0   /* shortest timeout of a reply: everything is compiled by then, and a hanging candidate is found by bisection */

/* ---- what the store knows ---- */

static bool remember_winner(void *self, const gs_trial *winner)
{
    gs_list *const l = self;
    char text[GS_PROBLEM_TEXT];
    if (winner->cc != l->caps->cc || winner->sms != l->caps->sms) return true;
    for (int i = 0; i < l->count; i++) {
        if (l->known[i].state == GS_LIST_BAD || strcmp(gs_problem_format(&l->problems[i], text), winner->problem) != 0) continue;
        l->known[i].state = GS_LIST_WON;
        l->known[i].winner = *winner;
    }
    return true;
}

/* Sets the state to FOUND if the store has the result of an earlier search that is still valid. */
static gs_status look_for_search(const gs_list *l, int index, gs_error *error)
{
    gs_list_known *const k = &l->known[index];
    char text[GS_PROBLEM_TEXT];
    bool found = false;
    if (l->options.again || l->policy.builds_on_found) return GS_OK;
    GS_TRY(gs_run_find_search(l->store, l->session, gs_problem_format(&l->problems[index], text), &k->schedule, &k->us, &found, error));
    if (found && gs_schedule_check(&k->schedule, &l->problems[index], l->caps, NULL) == GS_OK) k->state = GS_LIST_FOUND;
    return GS_OK;
}

/* Checks what another tuner of the list (perhaps killed since) has stored since the list began. */
static gs_status look_again(const gs_list *l, const gs_list_item *it, gs_error *error)
{
    gs_list_known *const k = &l->known[it->index];
    bool won = false;
    if (!l->options.lessee || l->options.again || (k->state != GS_LIST_OPEN && k->state != GS_LIST_FOUND)) return GS_OK;
    GS_TRY(gs_run_winner(&it->run, &k->winner, &won, error));
    if (won) k->state = GS_LIST_WON;
    return k->state == GS_LIST_OPEN ? look_for_search(l, it->index, error) : GS_OK;
}

/* Determines the state of each problem, and the problems to compile ahead. */
static gs_status look_up(gs_list *l, gs_error *error)
{
    for (int i = 0; i < l->count; i++) {
        const gs_problem *const p = &l->problems[i];
        gs_list_known *const k = &l->known[i];
        *k = (gs_list_known){.state = GS_LIST_OPEN, .ahead = -1};
        k->why = gs_evaluator_takes(p, "tune", &k->error);
        if (k->why != GS_OK) k->state = GS_LIST_BAD;
    }
    if (!l->options.again) GS_TRY(gs_store_winners(l->store, l->session->device, remember_winner, l, error));
    for (int n = 0; n < l->count; n++) {   /* in the order in which they will be searched, for compiling ahead */
        const int i = (l->options.first + n) % l->count;
        gs_list_known *const k = &l->known[i];
        if (k->state == GS_LIST_OPEN) GS_TRY(look_for_search(l, i, error));
        if (k->state != GS_LIST_OPEN) continue;
        k->ahead = l->open_count;
        l->open[l->open_count++] = l->problems[i];
    }
    return GS_OK;
}

/* ---- a batch ---- */

static double left_s(const gs_list *l) { return l->budget_s > 0 ? l->budget_s - gs_clock_since(l->started) : 1e30; }

/* Whether there is time to search one more problem, and to verify and confirm it and the others of the batch. That takes as long as in earlier batches, but
 * at least twice as long as a search in this batch. */
static bool may_search(const gs_list *l, int64_t began)
{
    const double searched = l->items > 0 ? gs_clock_since(began) / l->items : 0;
    const double each = l->options.unconfirmed ? GS_MAX(0.2, searched) : GS_MAX(l->finish_s, 2 * searched);
    return left_s(l) > (l->items + 1) * each + 1;
}

static gs_status open_item(gs_list *l, int index, gs_error *error)
{
    gs_list_item *const it = &l->batch[l->items++];
    const gs_list_known *const k = &l->known[index];
    gs_error why = {0};
    *it = (gs_list_item){.index = index, .status = k->why, .error = k->error};
    it->run = gs_run_open(l->store, l->session, l->worker, l->caps, &l->problems[index], &l->options, &it->result);
    it->run.evaluator.search = true;
    it->run.evaluator.seed += (uint64_t)index;
    gs_status status = look_again(l, it, &why);
    if (status != GS_OK) return gs_list_settle(l, it, status, &why, error);
    if (k->state == GS_LIST_WON) {
        gs_trials trials;
        status = gs_run_known(&it->run, &trials, &why);
        if (status == GS_OK) status = gs_run_resume(&it->run, &trials, &k->winner, &why);
        free(trials.list);
        if (status == GS_OK) gs_list_report(l, it);
    } else if (k->state == GS_LIST_BAD) {
        gs_list_report(l, it);
    } else {
        status = gs_list_search(l, it, &why);
    }
    return gs_list_settle(l, it, status, &why, error);
}

static gs_status finish_batch(gs_list *l, gs_error *error)
{
    const int64_t began = gs_clock_ns();
    GS_TRY(gs_ahead_wait_edges(l->ahead, error));
    int to_confirm = 0;
    for (int i = 0; i < l->items && !l->ended; i++) {
        gs_list_item *const it = &l->batch[i];
        gs_error why = {0};
        if (it->reported) continue;
        GS_TRY(gs_list_settle(l, it, gs_list_prove(l, it, &why), &why, error));
        if (it->reported) continue;
        if (l->options.unconfirmed && !it->best) it->status = gs_fail(&it->error, GS_ERROR_UNSUPPORTED, NULL, "no schedule passed");
        if (l->options.unconfirmed) gs_list_report(l, it);
        to_confirm += !it->reported;
    }
    if (to_confirm > 0) gs_worker_stop(l->worker);   /* confirm in a fresh process, which has not run the race */
    for (int i = 0; i < l->items && !l->ended; i++) {
        gs_list_item *const it = &l->batch[i];
        gs_error why = {0};
        if (it->reported) continue;
        GS_TRY(gs_list_settle(l, it, gs_list_confirm(l, it, &why), &why, error));
        gs_list_report(l, it);
    }
    if (to_confirm > 0) l->finish_s = GS_MAX(l->finish_s, gs_clock_since(began) / to_confirm);
    return GS_OK;
}

static void close_batch(gs_list *l)
{
    for (int i = 0; i < l->items; i++) {
        if (!l->batch[i].reported) gs_work_queue_end(l->turns, l->batch[i].index, false);
        gs_run_close(&l->batch[i].run);
        free(l->batch[i].rank);
    }
    l->items = 0;
}

/* All remaining problems are leased by other tuners. */
static gs_status wait_for_others(const gs_list *l, gs_error *error)
{
    if (gs_stop_requested) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped while other tuners worked on what is left");
    gs_run_progress(&(gs_run){.options = &l->options}, GS_TUNE_OTHERS, l->count - gs_work_queue_left(l->turns), l->count, NULL);
    gs_clock_sleep_ns(OTHERS_NS);
    return GS_OK;
}

/* Opens as many problems as a batch has room and time for. */
static gs_status open_batch(gs_list *l, bool *time, gs_error *error)
{
    const int most = l->caps->emulated ? 1 : GS_LIST_BATCH;
    const int64_t began = gs_clock_ns();
    while (gs_work_queue_left(l->turns) > 0 && l->items < most && !l->ended) {
        int index;
        if (!(*time = may_search(l, began))) break;
        GS_TRY(gs_work_queue_next(l->turns, &index, error));
        if (index < 0) break;
        GS_TRY(open_item(l, index, error));
    }
    return GS_OK;
}

/* Saves what the policy learned from a batch, even if the batch was stopped. An error of the batch takes precedence over one of saving. */
static gs_status keep_learned(gs_list *l, gs_status status, gs_error *error)
{
    gs_error why = {0};
    if (!l->options.learn_path || !l->policy.save) return status;
    const gs_status saved = l->policy.save(&l->policy, l->options.learn_path, &why);
    if (status != GS_OK || saved == GS_OK) return status;
    if (error) *error = why;
    return saved;
}

static gs_status run_list(gs_list *l, gs_error *error)
{
    gs_status status = GS_OK;
    while (gs_work_queue_left(l->turns) > 0 && status == GS_OK && !l->ended) {
        bool time = true;
        status = open_batch(l, &time, error);
        const bool idle = l->items == 0;
        if (status == GS_OK && !l->ended) status = gs_list_second(l, error);
        if (status == GS_OK && !l->ended) status = finish_batch(l, error);
        close_batch(l);
        if (!idle) status = keep_learned(l, status, error);
        const int left = gs_work_queue_left(l->turns);
        if (status != GS_OK || left == 0) continue;
        if (!time)
            status = gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "the budget of %g s is used up after %d of %d problems", l->budget_s,
                             l->count - left, l->count);
        else if (idle)
            status = wait_for_others(l, error);
    }
    return status;
}

static gs_status prepare(gs_list *l, const gs_tune_options *options, gs_error *error)
{
    const size_t count = (size_t)GS_MAX(l->count, 1);
    l->known = calloc(count, sizeof *l->known);
    l->open = calloc(count, sizeof *l->open);
    l->first = calloc((size_t)l->most, sizeof *l->first);
    l->batch = calloc(GS_LIST_BATCH, sizeof *l->batch);
    if (!l->known || !l->open || !l->first || !l->batch) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d problems", l->count);
    GS_TRY(gs_run_policy(&l->policy, options, options->seed, error));
    if (l->policy.one_by_one)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "policy", "%s works on one problem at a time: it cannot propose for many ahead (tune without --quick)", l->policy.name);
    l->ahead_most = l->policy.learn ? l->most - l->most / 3 : l->most;
    if (l->policy.asks_found && !l->options.found) {
        GS_TRY(gs_run_found(l->store, l->session, &l->found, &l->options.found_count, error));
        l->options.found = l->found;
    }
    l->policy.found = l->options.found;
    l->policy.found_count = l->options.found_count;
    GS_TRY(gs_work_queue_create(&l->turns, l->store, l->session, l->problems, l->count, &l->options, error));
    GS_TRY(look_up(l, error));
    return gs_ahead_start(&l->ahead, l->caps, l->open, l->open_count, l->ahead_most, &l->options, l->worker->until, error);
}

gs_status gs_tune_list(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problems, int count,
                       const gs_tune_options *options, gs_tune_finished finished, void *self, gs_error *error)
{
    gs_list l = {
        .store = store, .session = session, .worker = worker, .caps = caps, .problems = problems, .count = count, .options = *options,
        .budget_s = options->budget_s, .finish_s = 0.5, .started = gs_clock_ns(), .finished = finished, .self = self,
        .most = gs_run_candidates(options, caps->emulated, CANDIDATES),
    };
    l.options.budget_s = 0;
    worker->until = options->budget_s > 0 ? l.started + (int64_t)(options->budget_s * 1e9) : 0;
    if (!(options->timeout_s > 0)) l.options.timeout_s = REPLY_S;
    gs_status status = prepare(&l, options, error);
    if (status == GS_OK) status = run_list(&l, error);
    worker->until = 0;
    gs_ahead_end(&l.ahead);
    gs_work_queue_destroy(&l.turns);
    if (l.policy.destroy) l.policy.destroy(&l.policy);
    free(l.known);
    free(l.open);
    free(l.first);
    free(l.found);
    free(l.batch);
    free(l.proven.list);
    free(l.suspects.list);
    return status;
}
