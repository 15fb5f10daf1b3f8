/* SPDX-License-Identifier: MIT
 * The second round of a list: a learning policy proposes further candidates for every problem of a batch, which race against the best of the first. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tune/batch.h"

static bool learns_from(const gs_list *l, const gs_list_item *it)
{
    return !it->reported && it->status == GS_OK && l->known[it->index].state == GS_LIST_OPEN && it->ranked > 0;
}

/* Appends further candidates to each problem's list, after teaching the policy the first outcomes. first[i]: index of the first new one. */
static gs_status propose_second(gs_list *l, int *first, gs_error *error)
{
    for (int i = 0; i < l->items; i++) {
        gs_list_item *const it = &l->batch[i];
        gs_trials trials;
        first[i] = it->run.count;
        if (!learns_from(l, it)) continue;
        gs_run_teach(&it->run, &l->policy, 0);
        gs_status status = gs_run_known(&it->run, &trials, error);
        if (status == GS_OK) status = gs_run_more(&it->run, &l->policy, &trials, GS_MIN(l->most - l->ahead_most, l->most + 1 - it->run.count), error);
        free(trials.list);
        GS_TRY(status);
        gs_list_leave_out_suspects(l, &it->run, first[i]);
    }
    return GS_OK;
}

static gs_status compile_second(gs_list *l, const int *first, gs_error *error)
{
    const int64_t began = gs_clock_ns();
    int count = 0, failed = 0, room = 1;
    for (int i = 0; i < l->items; i++) room += l->batch[i].run.count - first[i];
    gs_problem *const problems = calloc((size_t)room, sizeof *problems);
    gs_schedule *const all = calloc((size_t)room, sizeof *all);
    for (int i = 0; problems && all && i < l->items; i++)
        for (int c = first[i]; c < l->batch[i].run.count; c++) {
            problems[count] = *l->batch[i].run.evaluator.problem;
            all[count++] = l->batch[i].run.list[c].schedule;
        }
    const gs_status status = problems && all ? gs_precompile_pairs(l->caps, problems, all, count, l->options.jobs, l->worker->until, l->options.cache_path, &failed, error)
                                                   : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d candidates", room);
    free(problems);
    free(all);
    for (int i = 0; i < l->items; i++) {
        gs_list_item *const it = &l->batch[i];
        const int more = it->run.count - first[i];
        it->result.spent.compile += count > 0 ? gs_clock_since(began) * more / count : 0;
    }
    return status;
}

static gs_status race_second(gs_list *l, gs_list_item *it, int first, gs_error *error)
{
    const int64_t began = gs_clock_ns();
    const gs_status status = gs_list_race(it, first, 1, error);
    it->run.result->spent.race += gs_clock_since(began);
    gs_list_note_suspects(l, it);
    GS_TRY(status);
    for (int i = first; i < it->run.count; i++) it->result.compiled += it->run.list[i].verdict != GS_VERDICT_COMPILE;
    gs_run_teach(&it->run, &l->policy, first);
    return gs_evaluator_keep_times(&it->run.evaluator, it->run.list, it->run.count, error);
}

gs_status gs_list_second(gs_list *l, gs_error *error)
{
    int first[GS_LIST_BATCH];
    if (!l->policy.learn) return GS_OK;
    GS_TRY(propose_second(l, first, error));
    GS_TRY(compile_second(l, first, error));
    for (int i = 0; i < l->items && !l->ended; i++) {
        gs_list_item *const it = &l->batch[i];
        gs_error why = {0};
        if (it->run.count > first[i]) GS_TRY(gs_list_settle(l, it, race_second(l, it, first[i], &why), &why, error));
        if (!it->reported) gs_list_ask_for_edges(l, it);
    }
    return GS_OK;
}
