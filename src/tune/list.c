/* SPDX-License-Identifier: MIT
 * Tuning a list of problems: while children propose and compile for those that come next, a batch of problems is raced, then the fastest
 * of each is verified, then a fresh worker confirms them all. What can wait for something else never does so problem by problem. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "tune/run.h"

enum { CANDIDATES = 16, BATCH = 32, GROUP = 48, AGAIN = 12, INCUMBENTS = 3 };
#define OTHERS_NS 100000000   /* between two looks at what other tuners do */
#define REPLY_S 30.0   /* shortest wait: nothing is left to compile, and who hangs is found by halving */

/* A problem's way through the list. */
typedef enum state { BAD, WON, FOUND, OPEN } state;

typedef struct known {
    state       state;
    int         ahead;      /* its place among those that are compiled ahead */
    gs_status   why;        /* BAD */
    gs_error    error;
    gs_schedule schedule;   /* FOUND: by an earlier search, with that time */
    double      us;
    gs_trial    winner;     /* WON */
} known;

typedef struct item {
    int            index;
    gs_run         run;
    gs_tune_result result;
    gs_candidate **rank;    /* fastest first */
    int            ranked, next;
    gs_candidate  *best;    /* verified; NULL: none was, yet */
    gs_status      status;
    gs_error       error;
    bool           reported;
} item;

/* Schedules of a kind of problem. */
typedef struct schedules {
    struct {
        gs_schedule schedule;
        gs_problem  like;
    } *list;
    int count, capacity;
} schedules;

typedef struct list {
    gs_store         *store;
    gs_session       *session;
    gs_worker        *worker;
    const gs_caps    *caps;
    const gs_problem *problems;
    int               count, most;
    int               ahead_most;   /* of these, proposed and compiled ahead; the rest after those of a batch have been raced */
    gs_tune_options   options;      /* of each problem: without a budget of its own */
    double            budget_s, confirm_s;   /* confirm_s: so far the longest of a problem */
    int64_t           started;
    gs_tune_finished  finished;
    void             *self;
    gs_turns         *turns;
    known            *known;
    gs_problem       *open;         /* those that are compiled ahead */
    int               open_count;
    gs_ahead         *ahead;
    gs_schedule      *first;        /* room for one problem's proposals */
    gs_found         *found;        /* where the policy builds on it */
    gs_policy         policy;
    schedules         proven;       /* their edge problems were right */
    schedules         suspects;     /* hung or faulted: every further time would cost a worker, and minutes */
    item             *batch;
    int               items;
    bool              ended;        /* finished said so */
} list;

/* ---- what the store knows ---- */

static bool remember_winner(void *self, const gs_trial *winner)
{
    list *const l = self;
    char text[GS_PROBLEM_TEXT];
    if (winner->cc != l->caps->cc || winner->sms != l->caps->sms) return true;
    for (int i = 0; i < l->count; i++) {
        if (l->known[i].state == BAD || strcmp(gs_problem_format(&l->problems[i], text), winner->problem) != 0) continue;
        l->known[i].state = WON;
        l->known[i].winner = *winner;
    }
    return true;
}

/* Whether an earlier search found something that is still good. */
static gs_status look_for_search(const list *l, int index, gs_error *error)
{
    known *const k = &l->known[index];
    char text[GS_PROBLEM_TEXT];
    bool found = false;
    if (l->options.again || l->policy.builds_on_found) return GS_OK;
    GS_TRY(gs_run_find_search(l->store, l->session, gs_problem_format(&l->problems[index], text), &k->schedule, &k->us, &found, error));
    if (found && gs_schedule_check(&k->schedule, &l->problems[index], l->caps, NULL) == GS_OK) k->state = FOUND;
    return GS_OK;
}

/* What another tuner of the list, which may have been killed, has found out since the list began. */
static gs_status look_again(const list *l, const item *it, gs_error *error)
{
    known *const k = &l->known[it->index];
    bool won = false;
    if (!l->options.lessee || l->options.again || (k->state != OPEN && k->state != FOUND)) return GS_OK;
    GS_TRY(gs_run_winner(&it->run, &k->winner, &won, error));
    if (won) k->state = WON;
    return k->state == OPEN ? look_for_search(l, it->index, error) : GS_OK;
}

/* Sorts the problems into those to be searched, those that were, and those that cannot be. */
static gs_status look_up(list *l, gs_error *error)
{
    for (int i = 0; i < l->count; i++) {
        const gs_problem *const p = &l->problems[i];
        known *const k = &l->known[i];
        *k = (known){.state = OPEN, .ahead = -1, .why = gs_problem_check(p, &k->error)};
        if (k->why == GS_OK && (p->m == 0 || p->n == 0 || p->k == 0 || p->batch == 0))
            k->why = gs_fail(&k->error, GS_ERROR_RANGE, NULL, "an empty problem has nothing to tune");
        if (k->why != GS_OK) k->state = BAD;
    }
    if (!l->options.again) GS_TRY(gs_store_winners(l->store, l->session->device, remember_winner, l, error));
    for (int n = 0; n < l->count; n++) {   /* in the order in which they come: that is the order in which they are compiled */
        const int i = (l->options.first + n) % l->count;
        known *const k = &l->known[i];
        if (k->state == OPEN) GS_TRY(look_for_search(l, i, error));
        if (k->state != OPEN) continue;
        k->ahead = l->open_count;
        l->open[l->open_count++] = l->problems[i];
    }
    return GS_OK;
}

/* ---- schedules that something is known about ---- */

static bool same_types(const gs_problem *a, const gs_problem *b)
{
    return a->in == b->in && a->acc == b->acc && a->out == b->out && a->layout == b->layout;
}

static bool holds(const schedules *s, const gs_problem *problem, const gs_schedule *schedule)
{
    for (int i = 0; i < s->count; i++)
        if (memcmp(&s->list[i].schedule, schedule, sizeof *schedule) == 0 && same_types(&s->list[i].like, problem)) return true;
    return false;
}

/* Without memory one is forgotten, which costs time only. */
static void note(schedules *s, const gs_problem *problem, const gs_schedule *schedule)
{
    if (s->count == s->capacity) {
        const int capacity = s->capacity ? 2 * s->capacity : 64;
        void *const grown = realloc(s->list, (size_t)capacity * sizeof *s->list);
        if (!grown) return;
        s->list = grown;
        s->capacity = capacity;
    }
    s->list[s->count].schedule = *schedule;
    s->list[s->count++].like = *problem;
}

static bool is_lost(const gs_candidate *c)
{
    return strcmp(c->verdict, gs_verdict_name(GS_VERDICT_HANG)) == 0 || strcmp(c->verdict, gs_verdict_name(GS_VERDICT_FAULT)) == 0;
}

static void note_suspects(list *l, const item *it)
{
    for (int i = 0; i < it->run.count; i++) {
        const gs_candidate *const c = &it->run.list[i];
        if (!is_lost(c) || holds(&l->suspects, it->run.problem, &c->schedule)) continue;
        gs_log(GS_LOG_WARNING, "%s: %s; it is left out for the rest of the list", c->text, c->verdict);
        note(&l->suspects, it->run.problem, &c->schedule);
    }
}

/* Of the candidates from `from` on. */
static void leave_out_suspects(const list *l, gs_run *run, int from)
{
    int kept = from;
    for (int i = from; i < run->count; i++)
        if (!holds(&l->suspects, run->problem, &run->list[i].schedule)) run->list[kept++] = run->list[i];
    run->count = kept;
}

/* ---- stages of one problem ---- */

/* Those that were in to the end of their run, then the others, which are not compared with them: clocks have changed since. */
static int by_place(const void *left, const void *right)
{
    const gs_candidate *const a = *(gs_candidate *const *)left, *const b = *(gs_candidate *const *)right;
    if (a->rounds != b->rounds) return a->rounds > b->rounds ? -1 : 1;
    if (a->us != b->us) return a->us < b->us ? -1 : 1;
    return a->predicted_us < b->predicted_us ? -1 : a->predicted_us > b->predicted_us;
}

static void rank(item *it)
{
    it->ranked = it->next = 0;
    for (int i = 0; i < it->run.count; i++)
        if (it->run.list[i].measured && !gs_candidate_out(&it->run.list[i])) it->rank[it->ranked++] = &it->run.list[i];
    qsort(it->rank, (size_t)it->ranked, sizeof *it->rank, by_place);
}

/* Rounds of a narrowing run: a call of a millisecond says more than one of a microsecond. */
static int search_rounds(const gs_run *run) { return run->floor_us > 1000 ? 9 : run->floor_us > 100 ? 15 : 24; }
static int confirm_rounds(const gs_run *run) { return run->floor_us > 1000 ? 11 : 21; }

/* The candidates from `from` on and, where that is not the first, those that are best so far; in one run if they are few, else those that were
 * best in theirs meet again. turn: a later race has a round more, so that those who were in it to the end stand before the others. */
static gs_status race(item *it, int from, int turn, gs_error *error)
{
    gs_run *const run = &it->run;
    const int rounds = search_rounds(run) + 2 * turn, incumbents = GS_MIN(it->ranked, INCUMBENTS), count = incumbents + run->count - from;
    gs_candidate **const all = calloc((size_t)count + 1, sizeof(gs_candidate *));
    if (!all) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    gs_status status = GS_OK;
    for (int i = 0; i < count; i++) all[i] = i < incumbents ? it->rank[i] : &run->list[from + i - incumbents];
    for (int at = 0; at < count && status == GS_OK; at += GROUP) {
        gs_run_progress(run, "race", at, count, all[at]->text);
        status = gs_run_group(run, all + at, GS_MIN(GROUP, count - at), rounds, "search", error);
    }
    free(all);
    if (status == GS_OK) rank(it);
    if (status == GS_OK && count > GROUP && it->ranked > 1) {
        status = gs_run_group(run, it->rank, GS_MIN(it->ranked, AGAIN), rounds + 1, "search", error);
        rank(it);
    }
    return status;
}

static gs_status take_candidates(list *l, item *it, const gs_trials *trials, gs_error *error)
{
    gs_run *const run = &it->run;
    const known *const k = &l->known[it->index];
    if (k->state == FOUND) return gs_run_shortlist(run, &l->policy, trials, 2, 2, &k->schedule, 1, error);   /* it alone: nothing else is proposed */
    int count = 0, failed = 0;
    gs_schedule earlier;
    double us;
    bool found = false;
    gs_run_progress(run, "compile", 0, l->ahead_most, NULL);
    GS_TRY(gs_ahead_take(l->ahead, k->ahead, l->first, &count, &failed, error));
    GS_TRY(gs_run_shortlist(run, &l->policy, trials, l->ahead_most, l->most + 1, l->first, count, error));
    if (!l->policy.builds_on_found) GS_TRY(gs_run_find_search(l->store, l->session, run->text, &earlier, &us, &found, error));
    for (int i = 0; i < run->count && found; i++) found = memcmp(&run->list[i].schedule, &earlier, sizeof earlier) != 0;
    if (found) gs_run_add(run, &earlier, 1, trials);
    run->result->compiled = run->count - failed;
    if (run->result->proposed > count) return gs_run_compile(run, error);   /* more than what was compiled ahead */
    return GS_OK;
}

static void ask_for_edges(const list *l, const item *it)
{
    if (it->ranked > 0 && l->known[it->index].ahead >= 0) gs_ahead_edges(l->ahead, l->known[it->index].ahead, &it->rank[0]->schedule);
}

static gs_status search(list *l, item *it, gs_error *error)
{
    gs_run *const run = &it->run;
    gs_trials trials;
    int64_t began = gs_clock_ns();
    gs_status status = gs_run_known(run, &trials, error);
    if (status == GS_OK) status = take_candidates(l, it, &trials, error);
    free(trials.list);
    run->result->spent.compile += gs_run_since(began);
    GS_TRY(status);
    leave_out_suspects(l, run, 0);
    it->rank = calloc((size_t)l->most + 2, sizeof(gs_candidate *));
    if (!it->rank) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    if (l->known[it->index].state == FOUND) {
        for (int i = 0; i < run->count; i++) {
            run->list[i].us = l->known[it->index].us;
            it->rank[it->ranked++] = &run->list[i];
        }
        run->result->resumed = l->options.unconfirmed;
    } else {
        began = gs_clock_ns();
        status = race(it, 0, 0, error);
        run->result->spent.race += gs_run_since(began);
        note_suspects(l, it);
        GS_TRY(status);
        GS_TRY(gs_run_keep_times(run, error));
    }
    if (!l->policy.learn) ask_for_edges(l, it);
    return GS_OK;
}

static void report(list *l, item *it)
{
    if (it->reported) return;
    it->reported = true;
    const bool ended = l->ended;
    it->result.seconds = it->result.spent.compile + it->result.spent.race + it->result.spent.verify + it->result.spent.confirm;
    if (!l->finished(l->self, it->index, it->status, &it->result, &it->error)) l->ended = true;
    gs_turns_end(l->turns, it->index, it->status == GS_OK || l->ended == ended);
}

/* What a stage said about a problem; the list goes on unless it was stopped. */
static gs_status settle(list *l, item *it, gs_status status, const gs_error *why, gs_error *error)
{
    if (status == GS_OK) return GS_OK;
    if (status == GS_ERROR_INTERRUPTED || status == GS_ERROR_NO_COMPILER) {
        if (error) *error = *why;
        return status;
    }
    it->status = status;
    it->error = *why;
    report(l, it);
    return GS_OK;
}

/* ---- the second round ---- */

static bool learns_from(const list *l, const item *it) { return !it->reported && it->status == GS_OK && l->known[it->index].state == OPEN && it->ranked > 0; }

/* Further candidates of every problem, after what came of the first: behind them in its list. first[i]: where they begin. */
static gs_status propose_again(list *l, int *first, gs_error *error)
{
    for (int i = 0; i < l->items; i++) {
        item *const it = &l->batch[i];
        gs_trials trials;
        first[i] = it->run.count;
        if (!learns_from(l, it)) continue;
        gs_run_teach(&it->run, &l->policy, 0);
        gs_status status = gs_run_known(&it->run, &trials, error);
        if (status == GS_OK) status = gs_run_more(&it->run, &l->policy, &trials, GS_MIN(l->most - l->ahead_most, l->most + 1 - it->run.count), error);
        free(trials.list);
        GS_TRY(status);
        leave_out_suspects(l, &it->run, first[i]);
    }
    return GS_OK;
}

static gs_status compile_again(const list *l, const int *first, gs_error *error)
{
    int count = 0, failed = 0, room = 1;
    for (int i = 0; i < l->items; i++) room += l->batch[i].run.count - first[i];
    gs_problem *const problems = calloc((size_t)room, sizeof *problems);
    gs_schedule *const all = calloc((size_t)room, sizeof *all);
    for (int i = 0; problems && all && i < l->items; i++)
        for (int c = first[i]; c < l->batch[i].run.count; c++) {
            problems[count] = *l->batch[i].run.problem;
            all[count++] = l->batch[i].run.list[c].schedule;
        }
    const gs_status status = problems && all ? gs_precompile_pairs(l->caps, problems, all, count, l->options.jobs, l->options.cache_path, &failed, error)
                                                   : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d candidates", room);
    free(problems);
    free(all);
    return status;
}

static gs_status race_again(list *l, item *it, int first, gs_error *error)
{
    const int64_t began = gs_clock_ns();
    const gs_status status = race(it, first, 1, error);
    it->run.result->spent.race += gs_run_since(began);
    note_suspects(l, it);
    GS_TRY(status);
    gs_run_teach(&it->run, &l->policy, first);
    return gs_run_keep_times(&it->run, error);
}

/* For a policy that learns. */
static gs_status go_again(list *l, gs_error *error)
{
    int first[BATCH];
    if (!l->policy.learn) return GS_OK;
    GS_TRY(propose_again(l, first, error));
    GS_TRY(compile_again(l, first, error));
    for (int i = 0; i < l->items && !l->ended; i++) {
        item *const it = &l->batch[i];
        gs_error why = {0};
        if (it->run.count > first[i]) GS_TRY(settle(l, it, race_again(l, it, first[i], &why), &why, error));
        if (!it->reported) ask_for_edges(l, it);
    }
    return l->options.learn_path && l->policy.save ? l->policy.save(&l->policy, l->options.learn_path, error) : GS_OK;
}

/* The fastest that passes; NULL after the last. */
static gs_status prove(list *l, item *it, gs_error *error)
{
    it->best = NULL;
    for (; it->next < it->ranked && !it->best; it->next++) {
        gs_candidate *const c = it->rank[it->next];
        const bool passed = gs_candidate_passed(c);   /* the store says so */
        c->edges_passed = !passed && holds(&l->proven, it->run.problem, &c->schedule);
        gs_run_progress(&it->run, "verify", it->next, it->ranked, c->text);
        const gs_status status = passed ? GS_OK : gs_run_prove(&it->run, c, error);
        note_suspects(l, it);
        GS_TRY(status);
        if (!gs_candidate_passed(c)) continue;
        if (!passed && !c->edges_passed) note(&l->proven, it->run.problem, &c->schedule);
        it->best = c;
    }
    if (!it->best) return GS_OK;
    snprintf(it->result.best_own, sizeof it->result.best_own, "%s", it->best->text);
    it->result.best_own_us = it->best->us;
    return l->known[it->index].state == FOUND ? GS_OK : gs_run_keep_search(&it->run, it->best, error);
}

static gs_status confirm(list *l, item *it, gs_error *error)
{
    gs_run *const run = &it->run;
    const int64_t began = gs_clock_ns();
    gs_status status = GS_OK;
    for (bool done = false; !done && status == GS_OK;) {
        if ((status = gs_run_check(run, error)) != GS_OK) break;
        gs_run_progress(run, "confirm", 0, 1, it->best ? it->best->text : NULL);
        if (it->best)
            status = gs_run_group(run, &it->best, 1, confirm_rounds(run), "confirm", error);
        else if (l->caps->emulated)
            status = gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no schedule passed on %s", run->worker->device);
        else
            status = gs_run_bench(run, NULL, 0, 5, "race", error);   /* the library wins by default */
        done = !it->best || !gs_candidate_out(it->best);
        if (status == GS_OK && !done) status = prove(l, it, error);
    }
    run->result->spent.confirm += gs_run_since(began);
    return status == GS_OK ? gs_run_record(run, it->best, error) : status;
}

/* ---- a batch ---- */

static double left_s(const list *l) { return l->budget_s > 0 ? l->budget_s - gs_run_since(l->started) : 1e30; }

/* Time for one more, and for confirming it and those before it. */
static bool may_search(const list *l)
{
    const double each = l->options.unconfirmed ? 0.2 : l->confirm_s;
    return left_s(l) > (l->items + 1) * each + 1;
}

static gs_status open_item(list *l, int index, gs_error *error)
{
    item *const it = &l->batch[l->items++];
    const known *const k = &l->known[index];
    gs_error why = {0};
    *it = (item){.index = index, .status = k->why, .error = k->error};
    it->run = gs_run_open(l->store, l->session, l->worker, l->caps, &l->problems[index], &l->options, &it->result);
    it->run.search = true;
    it->run.seed += (uint64_t)index;
    gs_status status = look_again(l, it, &why);
    if (status != GS_OK) return settle(l, it, status, &why, error);
    if (k->state == WON) {
        gs_trials trials;
        status = gs_run_known(&it->run, &trials, &why);
        if (status == GS_OK) status = gs_run_resume(&it->run, &trials, &k->winner, &why);
        free(trials.list);
        if (status == GS_OK) report(l, it);
    } else if (k->state == BAD) {
        report(l, it);
    } else {
        status = search(l, it, &why);
    }
    return settle(l, it, status, &why, error);
}

static gs_status finish_batch(list *l, gs_error *error)
{
    GS_TRY(gs_ahead_wait_edges(l->ahead, error));
    int to_confirm = 0;
    for (int i = 0; i < l->items && !l->ended; i++) {
        item *const it = &l->batch[i];
        gs_error why = {0};
        if (it->reported) continue;
        GS_TRY(settle(l, it, prove(l, it, &why), &why, error));
        if (it->reported) continue;
        if (l->options.unconfirmed && !it->best) it->status = gs_fail(&it->error, GS_ERROR_UNSUPPORTED, NULL, "no schedule passed");
        if (l->options.unconfirmed) report(l, it);
        to_confirm += !it->reported;
    }
    if (to_confirm > 0) gs_worker_stop(l->worker);   /* the process that confirms has not seen the race */
    for (int i = 0; i < l->items && !l->ended; i++) {
        item *const it = &l->batch[i];
        gs_error why = {0};
        if (it->reported) continue;
        GS_TRY(settle(l, it, confirm(l, it, &why), &why, error));
        l->confirm_s = GS_MAX(l->confirm_s, it->result.spent.confirm);
        report(l, it);
    }
    return GS_OK;
}

static void close_batch(list *l)
{
    for (int i = 0; i < l->items; i++) {
        if (!l->batch[i].reported) gs_turns_end(l->turns, l->batch[i].index, false);
        gs_run_close(&l->batch[i].run);
        free(l->batch[i].rank);
    }
    l->items = 0;
}

/* All that are left are other tuners'. */
static gs_status wait_for_others(const list *l, gs_error *error)
{
    if (gs_stop_requested) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped while other tuners worked on what is left");
    gs_run_progress(&(gs_run){.text = "", .options = &l->options}, "others", l->count - gs_turns_left(l->turns), l->count, NULL);
    gs_clock_sleep_ns(OTHERS_NS);
    return GS_OK;
}

/* As many as a batch has room and time for. */
static gs_status open_batch(list *l, bool *time, gs_error *error)
{
    const int most = l->caps->emulated ? 1 : BATCH;
    while (gs_turns_left(l->turns) > 0 && l->items < most && !l->ended) {
        int index;
        if (!(*time = may_search(l))) break;
        GS_TRY(gs_turns_next(l->turns, &index, error));
        if (index < 0) break;
        GS_TRY(open_item(l, index, error));
    }
    return GS_OK;
}

static gs_status run_list(list *l, gs_error *error)
{
    gs_status status = GS_OK;
    while (gs_turns_left(l->turns) > 0 && status == GS_OK && !l->ended) {
        bool time = true;
        status = open_batch(l, &time, error);
        const bool idle = l->items == 0;
        if (status == GS_OK && !l->ended) status = go_again(l, error);
        if (status == GS_OK && !l->ended) status = finish_batch(l, error);
        close_batch(l);
        const int left = gs_turns_left(l->turns);
        if (status != GS_OK || left == 0) continue;
        if (!time)
            status = gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "the budget of %g s is used up after %d of %d problems", l->budget_s,
                             l->count - left, l->count);
        else if (idle)
            status = wait_for_others(l, error);
    }
    return status;
}

static gs_status prepare(list *l, const gs_tune_options *options, gs_error *error)
{
    const size_t count = (size_t)GS_MAX(l->count, 1);
    l->known = calloc(count, sizeof *l->known);
    l->open = calloc(count, sizeof *l->open);
    l->first = calloc((size_t)l->most, sizeof *l->first);
    l->batch = calloc(BATCH, sizeof *l->batch);
    if (!l->known || !l->open || !l->first || !l->batch) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d problems", l->count);
    GS_TRY(gs_run_policy(&l->policy, options, options->seed, error));
    l->ahead_most = l->policy.learn ? l->most - l->most / 3 : l->most;
    if (l->policy.builds_on_found && !l->options.found) {
        GS_TRY(gs_run_found(l->store, l->session, &l->found, &l->options.found_count, error));
        l->options.found = l->found;
    }
    l->policy.found = l->options.found;
    l->policy.found_count = l->options.found_count;
    GS_TRY(gs_turns_create(&l->turns, l->store, l->session, l->problems, l->count, &l->options, error));
    GS_TRY(look_up(l, error));
    return gs_ahead_start(&l->ahead, l->caps, l->open, l->open_count, l->ahead_most, &l->options, error);
}

gs_status gs_tune_list(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problems, int count,
                       const gs_tune_options *options, gs_tune_finished finished, void *self, gs_error *error)
{
    list l = {
        .store = store, .session = session, .worker = worker, .caps = caps, .problems = problems, .count = count, .options = *options,
        .budget_s = options->budget_s, .confirm_s = 0.5, .started = gs_clock_ns(), .finished = finished, .self = self,
        .most = gs_run_candidates(options, caps->emulated, CANDIDATES),
    };
    l.options.budget_s = 0;
    if (!(options->timeout_s > 0)) l.options.timeout_s = REPLY_S;
    gs_status status = prepare(&l, options, error);
    if (status == GS_OK) status = run_list(&l, error);
    gs_ahead_end(&l.ahead);
    gs_turns_destroy(&l.turns);
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
