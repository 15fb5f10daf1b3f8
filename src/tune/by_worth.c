/* SPDX-License-Identifier: MIT
 * Tuning the problems of a recorded program, with the number of calls of each: time is spent where it saves most. A problem's search is divided into slices of growing numbers of
 * candidates; the next slice is always that of the problem with the largest expected saving per second of search (payoff.h). The store keeps everything known about a problem, so
 * a stopped run can continue, and devices that share the list can continue each other's problems. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "tune/run.h"
#include "tune/payoff.h"

enum { CANDIDATES = 48 };
#define OTHERS_NS 100000000   /* between checks of other tuners' progress */
#define LEAST_S   1.0         /* no slice begins with less time left */
#define USUAL_S   10.0        /* assumed time of a first slice until one was timed */

typedef struct state {
    gs_payoff       worth;
    bool           settled;   /* reported, by this tuner or another one, or nothing to do */
    bool           has;       /* there is a result */
    bool           won;       /* the store had a winner at the start */
    bool           late;      /* there was no time for its next slice */
    char           text[GS_PROBLEM_TEXT];
    gs_tune_result result;    /* the latest */
} state;

typedef struct by_worth {
    gs_store         *store;
    gs_session       *session;
    gs_worker        *worker;
    const gs_caps    *caps;
    const gs_problem *problems;
    int               count, most;
    const gs_tune_options *options;
    int64_t           started;
    gs_tune_begins    begins;
    gs_tune_finished  finished;
    void             *self;
    state            *states;
    double            first_s;   /* sum over the first slices of this run */
    int               firsts;
    bool              ended;     /* finished returned false */
} by_worth;

static double left_s(const by_worth *b) { return b->options->budget_s > 0 ? b->options->budget_s - gs_clock_since(b->started) : 1e30; }
static double usual_s(const by_worth *b) { return b->firsts > 0 ? b->first_s / b->firsts : USUAL_S; }

/* ---- leases ---- */

static gs_status lease(const by_worth *b, int index, gs_lease *out, gs_error *error)
{
    *out = GS_LEASE_TAKEN;
    if (!b->options->lessee) return GS_OK;
    return gs_store_lease(b->store, b->session->device, b->states[index].text, b->options->lessee, GS_LEASE_S, out, error);
}

static void release(const by_worth *b, int index, bool done)
{
    const char *const text = b->states[index].text;
    gs_error error = {0};
    if (!b->options->lessee) return;
    if (gs_store_release(b->store, b->session->device, text, b->options->lessee, done, &error) != GS_OK) gs_log(GS_LOG_WARNING, "%s: its lease was not given back: %s", text, error.text);
}

/* ---- a problem ---- */

static void take_row(state *s, double seconds)
{
    const gs_row *const row = &s->result.row;
    const double us = row->library ? row->library_us : row->us;
    double own = row->library ? 0 : row->us;
    if (row->library && s->result.best_own_ratio > 0) own = row->library_us / s->result.best_own_ratio;
    gs_payoff_update(&s->worth, own, us, seconds);
}

/* Reads from the store how many candidates of a problem were tried, and whether there is a winner. */
static gs_status look_up(by_worth *b, int index, bool *won, gs_error *error)
{
    state *const s = &b->states[index];
    gs_tune_result unused = {0};
    gs_trials known = {0};
    gs_trial winner;
    gs_run run = gs_run_open(b->store, b->session, b->worker, b->caps, &b->problems[index], b->options, &unused);
    gs_status status = gs_run_known(&run, &known, error);
    if (status == GS_OK) status = gs_run_winner(&run, &winner, won, error);
    gs_run_close(&run);
    free(known.list);
    const int slices = gs_payoff_slices(b->most, known.count);
    if (status == GS_OK && *won && slices > s->worth.slices) s->worth.slices = slices;
    return status;
}

static bool mark_winner(void *self, const gs_trial *winner)
{
    by_worth *const b = self;
    for (int i = 0; i < b->count; i++) b->states[i].won |= winner->cc == b->caps->cc && winner->sms == b->caps->sms && strcmp(b->states[i].text, winner->problem) == 0;
    return true;
}

/* Reports the result of a problem, once. */
static void report(by_worth *b, int index, gs_status status, const gs_error *error)
{
    state *const s = &b->states[index];
    s->settled = true;
    b->ended |= !b->finished(b->self, index, status, &s->result, error);
    release(b, index, status != GS_ERROR_INTERRUPTED && (!b->ended || status == GS_OK));   /* the reason to stop this tuner need not be the problem's fault */
}

/* The same without holding the lease: only the tuner that gets it reports. */
static gs_status report_alone(by_worth *b, int index, gs_status status, const gs_error *why, gs_error *error)
{
    gs_lease mine;
    GS_TRY(lease(b, index, &mine, error));
    if (mine == GS_LEASE_TAKEN) report(b, index, status, why);
    b->states[index].settled = true;
    return GS_OK;
}

/* Runs the next slice of a problem; its lease must be held. */
static void run_slice(by_worth *b, int index)
{
    state *const s = &b->states[index];
    gs_tune_options how = *b->options;
    gs_tune_result result;
    gs_error error = {0};
    const int slice = s->worth.slices;
    how.candidates = gs_payoff_candidates(b->most, slice);
    how.further = s->has;
    how.whole_s = how.budget_s;
    how.budget_s = how.budget_s > 0 ? GS_MAX(left_s(b), 0.1) : 0;
    if (!s->has && b->begins) b->begins(b->self, index);
    const gs_status status = gs_tune(b->store, b->session, b->worker, b->caps, &b->problems[index], &how, &result, &error);
    const bool first = !s->has && slice == 0;
    if (status == GS_OK) {
        const double seconds = result.seconds;
        if (s->has) {
            result.measured += s->result.measured;
            result.rejected += s->result.rejected;
            result.seconds += s->result.seconds;
        }
        s->result = result;
        s->has = true;
        take_row(s, seconds);
        b->first_s += first ? seconds : 0;
        b->firsts += first;
        if (how.candidates >= b->most || (!result.resumed && result.proposed < how.candidates)) report(b, index, GS_OK, &error);
        else release(b, index, false);
    } else if (status == GS_ERROR_INTERRUPTED) {   /* budget used up or stopped: the store keeps the measurements */
        if (!s->has) s->result = result;
        s->late = true;
        release(b, index, false);
    } else if (s->has && status == GS_ERROR_UNSUPPORTED) {   /* nothing better found: the earlier result stays */
        report(b, index, GS_OK, &error);
    } else {
        s->result = result;
        report(b, index, status, &error);
    }
}

/* ---- the list ---- */

/* Takes over results in the store: nothing is measured, but missing rows are added to the table. */
static gs_status resume_all(by_worth *b, const gs_weights *weights, const double *calls, gs_error *error)
{
    for (int i = 0; i < b->count; i++) gs_problem_format(&b->problems[i], b->states[i].text);
    if (!b->options->again) GS_TRY(gs_store_winners(b->store, b->session->device, mark_winner, b, error));
    for (int i = 0; i < b->count && !b->ended; i++) {
        state *const s = &b->states[i];
        bool won = s->won;
        gs_error why = {0};
        const gs_status status = gs_evaluator_takes(&b->problems[i], "tune", &why);
        if (status != GS_OK) {
            GS_TRY(report_alone(b, i, status, &why, error));
            continue;
        }
        s->worth = (gs_payoff){.calls = calls[i], .floor_us = gs_floor_us(&b->problems[i], b->caps)};
        if (won) GS_TRY(look_up(b, i, &won, error));
        if (!won) {
            s->worth = gs_payoff_expect(&b->problems[i], calls[i], b->caps, weights);
            continue;
        }
        const int slices = s->worth.slices;
        GS_TRY(gs_tune(b->store, b->session, b->worker, b->caps, &b->problems[i], b->options, &s->result, error));
        s->has = true;
        take_row(s, 0);
        s->worth.slices = GS_MAX(slices, 1);
        if (slices >= GS_PAYOFF_SLICES) GS_TRY(report_alone(b, i, GS_OK, &why, error));
    }
    return GS_OK;
}

/* Picks the problem whose next slice is worth most, of those for which there is time, and leases it. -1: none. *others: some are leased by other tuners. */
static gs_status pick(by_worth *b, bool *passed, int *index, bool *others, gs_error *error)
{
    memset(passed, 0, (size_t)b->count);
    *others = false;
    for (;;) {
        double best = -1;
        *index = -1;
        for (int i = 0; i < b->count; i++) {
            const state *const s = &b->states[i];
            if (s->settled || s->late || passed[i] || (s->has && gs_payoff_seconds(&s->worth, usual_s(b)) > left_s(b))) continue;
            const double rate = gs_payoff_rate(&s->worth, usual_s(b));
            if (rate > best) best = rate, *index = i;
        }
        if (*index < 0) return GS_OK;
        gs_lease mine;
        bool won;
        GS_TRY(lease(b, *index, &mine, error));
        if (mine == GS_LEASE_DONE) b->states[*index].settled = true;
        *others |= mine == GS_LEASE_HELD;
        passed[*index] = true;
        if (mine != GS_LEASE_TAKEN) continue;
        if (!b->options->lessee || b->options->again) return GS_OK;
        const gs_status status = look_up(b, *index, &won, error);   /* another tuner may have continued it */
        if (status != GS_OK) release(b, *index, false);
        return status;
    }
}

static gs_status spend(by_worth *b, gs_error *error)
{
    bool *const passed = calloc((size_t)GS_MAX(b->count, 1), sizeof *passed);
    if (!passed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d problems", b->count);
    gs_status status = GS_OK;
    while (status == GS_OK && !b->ended && !gs_stop_requested && left_s(b) >= LEAST_S) {
        int index;
        bool others;
        status = pick(b, passed, &index, &others, error);
        if (status != GS_OK) break;
        if (index >= 0) run_slice(b, index);
        else if (others) gs_clock_sleep_ns(OTHERS_NS);
        else break;
    }
    free(passed);
    return status;
}

/* Problems with a result are reported, by the tuner that gets the lease; those without one are too late. */
static gs_status end_all(by_worth *b, gs_error *error)
{
    int late = 0;
    for (int i = 0; i < b->count && !b->ended; i++) {
        state *const s = &b->states[i];
        gs_lease mine = GS_LEASE_TAKEN;
        gs_error why = {0};
        if (s->settled) continue;
        GS_TRY(lease(b, i, &mine, error));
        if (mine != GS_LEASE_TAKEN) continue;
        late += !s->has;
        if (s->has) report(b, i, GS_OK, &why);
        else if (s->result.measured > 0) report(b, i, gs_fail(&why, GS_ERROR_INTERRUPTED, NULL, "its share of the time was up before there was a winner"), &why);
        else release(b, i, false);
    }
    if (gs_stop_requested) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped");
    if (late > 0) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "the time is up before %d of %d problems had their turn", late, b->count);
    return GS_OK;
}

gs_status gs_tune_by_worth(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problems, const double *calls, int count,
                           const gs_tune_options *options, gs_tune_begins begins, gs_tune_finished finished, void *self, gs_error *error)
{
    by_worth b = {.store = store, .session = session, .worker = worker, .caps = caps, .problems = problems, .count = count, .options = options, .started = gs_clock_ns(), .begins = begins,
                  .finished = finished, .self = self, .most = gs_run_candidates(options, caps->emulated, CANDIDATES), .states = calloc((size_t)GS_MAX(count, 1), sizeof(state))};
    const char *const path = gs_weights_path_for(caps);
    gs_weights weights;
    if (!b.states) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d problems", count);
    const bool learned = path && !caps->emulated && gs_weights_load_used(&weights, path, NULL) == GS_OK;
    gs_status status = resume_all(&b, learned ? &weights : NULL, calls, error);
    if (status == GS_OK) status = spend(&b, error);
    if (status == GS_OK) status = end_all(&b, error);
    if (learned) gs_weights_free(&weights);
    free(b.states);
    return status;
}

bool gs_tune_saving(const gs_caps *caps, const gs_row *row, double *plain_us, double *now_us)
{
    *now_us = row->library ? row->library_us : row->us;
    *plain_us = row->library_us;
    return *now_us > 0 && (*plain_us > 0 || caps->emulated);
}
