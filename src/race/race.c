/* SPDX-License-Identifier: MIT
 * The race itself: a first call of each contender, whose result is checked, then rounds in which every contender left replays a graph of calls with a cold cache. */
#include "race/race.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "problem/pool.h"
#include "race/track.h"

#define TOO_SLOW   3.0    /* times the fastest first call: dropped before the rounds */
#define LONGEST_US 300.0  /* of a replay, unless a call alone is longer */
#define REPLAYS    24     /* of every contender, that the budget should allow */

typedef struct race {
    gs_track  track;
    gs_racer *racers;
    int       count;
    double    budget_us;
    double    fastest_us;              /* first call */
    gs_graph  graph[GS_RACERS];
    int       calls[GS_RACERS];        /* of a replay */
    int       order[GS_RACERS], alive; /* those left, in the order of their times after each stage */
} race;

/* Errors after which no other contender can run either. */
static bool is_lost(const race *r, gs_status status)
{
    return (status == GS_ERROR_FAULT && !r->track.device->caps.emulated) || status == GS_ERROR_TIMEOUT || status == GS_ERROR_MEMORY;
}

static void leave(race *r, int index, gs_status status, const char *why)
{
    gs_racer *const racer = &r->racers[index];
    racer->status = status;
    gs_log(status == GS_ERROR_VERIFY ? GS_LOG_WARNING : GS_LOG_INFO, "race: %s leaves: %s", racer->name, why);
    if (r->track.device->caps.emulated) r->track.device->ops->queue_wait(r->track.device, r->track.queue, NULL);   /* clears a fault, which is this contender's only */
}

static gs_status call(void *self, int index, gs_queue queue, gs_error *error)
{
    race *const r = self;
    gs_racer *const racer = &r->racers[index];
    for (int set = 0; set < r->track.calls; set++) {
        const gs_args args = gs_track_args(&r->track, set);
        GS_TRY(racer->run(racer->self, &args, queue, error));
    }
    return GS_OK;
}

/* The first call is checked, a second one counts: the first one loads code, cuBLASLt's for milliseconds, so its time says nothing about speed. A first call that took the whole
 * budget is not repeated; for others the budget is charged at most twice the second call. */
static gs_status first_calls(race *r, int index, gs_error *error)
{
    gs_racer *const racer = &r->racers[index];
    const double begun = r->track.spent_us;
    bool wrong;
    double us;
    r->track.calls = 1;
    GS_TRY(gs_track_poison(&r->track, error));
    GS_TRY(gs_track_time(&r->track, call, r, index, &us, error));
    GS_TRY(gs_track_check(&r->track, &wrong, error));
    if (wrong) return gs_fail(error, GS_ERROR_VERIFY, NULL, "its result is wrong");
    if (us < r->budget_us) {
        const double before = r->track.spent_us;
        GS_TRY(gs_track_time(&r->track, call, r, index, &us, error));
        r->track.spent_us = fmin(r->track.spent_us, begun + 2 * (r->track.spent_us - before));
    }
    racer->us = us;
    if (r->fastest_us <= 0 || us < r->fastest_us) r->fastest_us = us;
    return GS_OK;
}

static gs_status begin(race *r, gs_error *error)
{
    for (int i = 0; i < r->count; i++) {
        gs_error why = {0};
        if (i >= 2 && r->fastest_us > 0 && r->track.spent_us > r->budget_us / 2) {   /* calls are this long; the most promising contenders come first */
            leave(r, i, GS_ERROR_UNSUPPORTED, "no time was left for it");
            continue;
        }
        const gs_status status = first_calls(r, i, &why);
        if (status == GS_OK) continue;
        leave(r, i, status, why.text);
        if (!is_lost(r, status)) continue;
        if (error) *error = why;
        return status;
    }
    for (int i = 0; i < r->count; i++) {
        gs_racer *const racer = &r->racers[i];
        if (racer->status == GS_OK && racer->us <= TOO_SLOW * r->fastest_us) r->order[r->alive++] = i;
    }
    return r->alive > 0 ? GS_OK : gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no contender came to a result");
}

/* The graph of a contender: as many calls as fit into a replay, each with operands of its own. */
static gs_status record(race *r, int index, double replay_us, gs_error *error)
{
    const double calls = floor(replay_us / fmax(r->racers[index].us, 0.1));
    r->calls[index] = r->track.calls = (int)fmin(fmax(calls, 1), r->track.sets);
    return gs_track_record(&r->track, call, r, index, &r->graph[index], error);
}

static int by_float(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double median(const gs_racer *racer)
{
    float sorted[GS_RACE_SAMPLES];
    memcpy(sorted, racer->sample, sizeof sorted);
    qsort(sorted, (size_t)racer->rounds, sizeof *sorted, by_float);
    const int half = racer->rounds / 2;
    return racer->rounds % 2 ? (double)sorted[half] : ((double)sorted[half - 1] + (double)sorted[half]) / 2;
}

/* Removes those that failed, and sorts the others by their times. */
static void sort(race *r)
{
    int kept = 0;
    for (int i = 0; i < r->alive; i++) {
        const int index = r->order[i];
        gs_racer *const racer = &r->racers[index];
        if (racer->status != GS_OK) continue;
        if (racer->rounds > 0) racer->us = median(racer);
        int at = kept++;
        for (; at > 0 && r->racers[r->order[at - 1]].us > racer->us; at--) r->order[at] = r->order[at - 1];
        r->order[at] = index;
    }
    r->alive = kept;
}

static gs_status replay(race *r, int index, gs_error *error)
{
    gs_racer *const racer = &r->racers[index];
    gs_error why = {0};
    double us;
    const gs_status status = gs_track_replay(&r->track, r->graph[index], &us, &why);
    if (status == GS_OK) {
        racer->sample[racer->rounds++] = (float)(us / r->calls[index]);
        return GS_OK;
    }
    leave(r, index, status, why.text);
    if (!is_lost(r, status)) return GS_OK;
    if (error) *error = why;
    return status;
}

/* Rounds until so much time of the device is spent. Every other round goes in reverse order. */
static gs_status stage(race *r, double until_us, gs_error *error)
{
    for (int round = 0; round < GS_RACE_SAMPLES; round++) {
        for (int i = 0; i < r->alive; i++) {
            const int index = r->order[round % 2 ? r->alive - 1 - i : i];
            if (r->racers[index].status != GS_OK || r->racers[index].rounds == GS_RACE_SAMPLES) continue;
            GS_TRY(replay(r, index, error));
        }
        if (r->track.spent_us >= until_us) return GS_OK;
    }
    return GS_OK;
}

static gs_status rounds(race *r, gs_error *error)
{
    if (r->track.device->caps.emulated) {   /* times are predicted: a second one would be the same */
        sort(r);
        return GS_OK;
    }
    const double replay_us = fmin(fmax(r->budget_us / (r->count * REPLAYS), 10), LONGEST_US);
    for (int i = 0; i < r->alive; i++) {
        gs_error why = {0};
        const gs_status status = record(r, r->order[i], replay_us, &why);
        if (status == GS_OK) continue;
        leave(r, r->order[i], status, why.text);
        if (!is_lost(r, status)) continue;
        if (error) *error = why;
        return status;
    }
    for (sort(r); r->alive > 1 && r->track.spent_us < r->budget_us;) {
        const double stages = ceil(log2(r->alive));
        GS_TRY(stage(r, r->track.spent_us + (r->budget_us - r->track.spent_us) / stages, error));
        sort(r);
        r->alive = (r->alive + 1) / 2;
    }
    return r->alive > 0 ? GS_OK : gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no contender came to a result");
}

gs_status gs_race_fits(gs_device *device, const gs_problem *problem, gs_error *error)
{
    gs_track track = {.device = device, .problem = gs_problem_pool(problem), .by_pointers = problem->matrices == GS_MATRICES_POINTERS};
    return gs_track_size(&track, error);
}

gs_status gs_race(gs_device *device, const gs_problem *problem, gs_racer *racers, int count, double budget_us, int *winner, double *spent_us, gs_error *error)
{
    race r = {.racers = racers, .count = count, .budget_us = budget_us};
    for (int i = 0; i < count; i++) {
        racers[i].status = GS_OK;
        racers[i].us = racers[i].rounds = 0;
    }
    gs_status status = gs_track_open(&r.track, device, problem, error);
    if (status == GS_OK) status = begin(&r, error);
    if (status == GS_OK) status = rounds(&r, error);
    if (status == GS_OK) *winner = r.order[0];
    *spent_us = r.track.spent_us;
    for (int i = 0; i < count; i++)
        if (r.graph[i]) device->ops->graph_destroy(device, r.graph[i]);
    gs_track_close(&r.track);
    return status;
}
