/* SPDX-License-Identifier: MIT
 * Requests that may cost a worker: which candidate was at fault, and which ones are measured a second time. */
#include <stdlib.h>

#include "base/error.h"
#include "evaluate/evaluate.h"
#include "worker/client.h"

/* After a worker was lost with this one candidate: its verdict is hang or fault, unless a fresh worker cannot even run the reference (or answer, where there is none, as on an
 * emulated device); then that failure is returned. */
static gs_status blame(gs_evaluator *e, gs_candidate *c, gs_status lost, const gs_error *why, gs_error *error)
{
    const int signal = lost == GS_ERROR_WORKER_DIED ? e->worker->signal : 0;   /* before the next worker starts */
    GS_TRY(gs_evaluator_bench(e, NULL, 0, 5, GS_STAGE_RACE, error));
    c->signal = signal;
    return gs_evaluator_reject(e, c, lost == GS_ERROR_WORKER_HUNG ? GS_VERDICT_HANG : GS_VERDICT_FAULT, 0, why->text, error);
}

gs_status gs_evaluator_group(gs_evaluator *e, gs_candidate *const *list, int count, int rounds, gs_stage stage, gs_error *error)
{
    gs_error why = {0};
    const gs_status status = gs_evaluator_bench(e, list, count, rounds, stage, &why);
    if (!gs_worker_lost(status)) {
        if (status != GS_OK && error) *error = why;
        return status;
    }
    if (count == 1) return blame(e, list[0], status, &why, error);
    GS_TRY(gs_evaluator_check(e, error));
    GS_TRY(gs_evaluator_group(e, list, count / 2, rounds, stage, error));
    return gs_evaluator_group(e, list + count / 2, count - count / 2, rounds, stage, error);
}

gs_status gs_evaluator_doubted(gs_evaluator *e, gs_candidate *const *list, int count, int rounds, gs_stage stage, gs_error *error)
{
    gs_candidate **const doubted = calloc((size_t)count + 1, sizeof(gs_candidate *));
    if (!doubted) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    int doubts = 0;
    for (int i = 0; i < count; i++) {
        if (!list[i]->doubted) continue;
        list[i]->second = true;
        doubted[doubts++] = list[i];
    }
    gs_status status = GS_OK;
    if (doubts > 0) {
        gs_worker_stop(e->worker);   /* the next request starts a fresh one and has another seed */
        status = gs_evaluator_group(e, doubted, doubts, rounds, stage, error);
    }
    free(doubted);
    return status;
}

gs_status gs_evaluator_prove(gs_evaluator *e, gs_candidate *candidate, gs_error *error)
{
    gs_error why = {0};
    GS_TRY(gs_evaluator_check(e, error));
    const int64_t began = gs_clock_ns();
    gs_status status = gs_evaluator_verify(e, candidate, &why);
    if (gs_worker_lost(status))
        status = blame(e, candidate, status, &why, error);
    else if (status != GS_OK && error)
        *error = why;
    e->counts.verify_s += gs_clock_since(began);
    return status;
}
