/* SPDX-License-Identifier: MIT
 * Hands out the problems of a list one after the other, each once; if several tuners share the list, only those that this tuner has
 * leased. */
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "tune/tune.h"

struct gs_work_queue {
    gs_store         *store;
    const char       *device;
    const gs_problem *problems;
    const gs_lessee  *lessee;   /* NULL: the list is not shared */
    int               count, left, at;
    bool              settled[];
};

gs_status gs_work_queue_create(gs_work_queue **out, gs_store *store, const gs_session *session, const gs_problem *problems, int count,
                          const gs_tune_options *options, gs_error *error)
{
    gs_work_queue *const turns = *out = calloc(1, sizeof *turns + (size_t)count);
    if (!turns) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d problems", count);
    *turns = (gs_work_queue){
        .store = store, .device = session->device, .problems = problems, .lessee = options->lessee, .count = count, .left = count,
        .at = count > 0 ? options->first % count : 0,
    };
    return GS_OK;
}

void gs_work_queue_destroy(gs_work_queue **turns)
{
    free(*turns);
    *turns = NULL;
}

gs_status gs_work_queue_next(gs_work_queue *turns, int *index, gs_error *error)
{
    *index = -1;
    for (int looked = 0; looked < turns->count && *index < 0; looked++) {
        const int i = turns->at;
        gs_lease lease = GS_LEASE_TAKEN;
        turns->at = (i + 1) % turns->count;
        if (turns->settled[i]) continue;
        if (turns->lessee) {
            char text[GS_PROBLEM_TEXT];
            GS_TRY(gs_store_lease(turns->store, turns->device, gs_problem_format(&turns->problems[i], text), turns->lessee, GS_LEASE_S, &lease,
                                  error));
        }
        if (lease == GS_LEASE_HELD) continue;
        turns->settled[i] = true;
        turns->left--;
        if (lease == GS_LEASE_TAKEN) *index = i;
    }
    return GS_OK;
}

int gs_work_queue_left(const gs_work_queue *turns) { return turns->left; }

/* If a lease cannot be released it ends with the process; the results are in the store by then. */
void gs_work_queue_end(gs_work_queue *turns, int index, bool done)
{
    char text[GS_PROBLEM_TEXT];
    gs_error error = {0};
    if (!turns->lessee) return;
    gs_problem_format(&turns->problems[index], text);
    if (gs_store_release(turns->store, turns->device, text, turns->lessee, done, &error) != GS_OK)
        gs_log(GS_LOG_WARNING, "%s: its lease was not given back: %s", text, error.text);
}
