/* SPDX-License-Identifier: MIT
 * Tuning a list of problems one after the other, each with its own search and its share of the time. */
#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "tune/tune.h"

#define OTHERS_NS 100000000   /* between checks of other tuners' progress */
#define LEAST_S   1           /* no search begins with less time left */

typedef struct singly {
    gs_store              *store;
    gs_session            *session;
    gs_worker             *worker;
    const gs_caps         *caps;
    const gs_problem      *problems;
    gs_tune_options        how;       /* options for the next problem */
    double                 budget_s;  /* for all problems */
    int                    tuners;
    int64_t                started;
    gs_work_queue         *turns;
    gs_tune_begins         begins;
    gs_tune_finished       finished;
    void                  *self;
} singly;

/* Sets the next problem's share of the remaining time; false: none is left. */
static bool share_time(singly *s)
{
    if (!(s->budget_s > 0)) return true;
    const double left = s->budget_s - gs_clock_since(s->started);
    s->how.budget_s = GS_MIN(left * s->tuners / gs_work_queue_left(s->turns), left);
    s->how.whole_s = s->budget_s;
    return left >= LEAST_S;
}

/* Tunes a problem; returns whether to continue. */
static bool tune_one(singly *s, int index)
{
    const gs_problem *const problem = &s->problems[index];
    gs_tune_result result = {0};
    gs_error error = {0};
    if (s->begins) s->begins(s->self, index);
    const gs_status status = gs_tune(s->store, s->session, s->worker, s->caps, problem, &s->how, &result, &error);
    const bool more = s->finished(s->self, index, status, &result, &error);
    gs_work_queue_end(s->turns, index, more);   /* the reason to stop this tuner need not be the problem's fault */
    return more;
}

static gs_status tune_all(singly *s, gs_error *error)
{
    bool more = true;
    while (more && gs_work_queue_left(s->turns) > 0) {
        int index;
        if (!share_time(s)) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "the time is up");
        GS_TRY(gs_work_queue_next(s->turns, &index, error));
        if (index >= 0) {
            more = tune_one(s, index);
        } else if (gs_work_queue_left(s->turns) > 0) {   /* leased by other tuners */
            if (gs_stop_requested) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped while other tuners worked on what is left");
            gs_clock_sleep_ns(OTHERS_NS);
        }
    }
    return GS_OK;
}

gs_status gs_tune_singly(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problems, int count, int tuners,
                         const gs_tune_options *options, gs_tune_begins begins, gs_tune_finished finished, void *self, gs_error *error)
{
    singly s = {.store = store, .session = session, .worker = worker, .caps = caps, .problems = problems, .how = *options, .budget_s = options->budget_s,
                .tuners = tuners, .started = gs_clock_ns(), .begins = begins, .finished = finished, .self = self};
    GS_TRY(gs_work_queue_create(&s.turns, store, session, problems, count, options, error));
    const gs_status status = tune_all(&s, error);
    gs_work_queue_destroy(&s.turns);
    return status;
}
