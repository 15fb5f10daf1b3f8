/* SPDX-License-Identifier: MIT
 * Offline mode: calls back to back. Device time from replays of a graph of n calls, call time from the same n calls issued
 * by the host. All contenders have the same n, which rotates through the operand sets from set 0; very slow ones have fewer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/internal.h"

#define TRIAL_CALLS 4   /* of the first, rough estimate */
#define LONG        4   /* times the requested replay: one timing of that length is estimate enough */
#define DECIDED     11  /* rounds after which contenders slower than options.slow are dropped */
#define CLEAR       3   /* rounds after which contenders are dropped that were HOPELESS in all of them */
#define HOPELESS    4   /* times slower than the reference, or more */
#define SLOW        3   /* times the requested replay: a longer replay gets fewer calls */

int gs_bench_run_calls(const gs_bench_run *run, int contender)
{
    const double most = SLOW * run->options.replay_us / run->us[contender];
    return run->us[contender] > 0 && most < run->calls ? (int)fmax(most, 1) : run->calls;
}

/* The kernel in front of a layer in a model. It is launched ordinarily, and lets the next one start only when it ends. */
static gs_status pass_a(gs_bench_run *run, int contender, int set, gs_error *error)
{
    const gs_args args = gs_sets_args(&run->sets, contender, set);
    return gs_pass_over(run->verifier, (gs_pointer)(uintptr_t)args.a, gs_problem_bytes(&run->problems[contender], 'a'), run->queue, error);
}

static gs_status issue(gs_bench_run *run, int contender, int calls, gs_error *error)
{
    gs_contender *const self = &run->contenders[contender];
    for (int call = 0; call < calls; call++) {
        const gs_args args = gs_sets_launch_args(&run->sets, contender, call % run->sets.count);
        if (run->options.behind) GS_TRY(pass_a(run, contender, call % run->sets.count, error));
        GS_TRY(self->run(self, &args, run->queue, error));
    }
    return GS_OK;
}

static gs_status capture(gs_bench_run *run, int contender, gs_error *error)
{
    gs_device *const device = run->device;
    gs_graph *const graph = &run->graphs[contender];
    if (*graph) device->ops->graph_destroy(device, *graph);
    *graph = NULL;
    GS_TRY(device->ops->capture_begin(device, run->queue, error));
    run->captured[contender] = gs_bench_run_calls(run, contender);
    const gs_status issued = issue(run, contender, run->captured[contender], error);
    gs_error second;
    const gs_status ended = device->ops->capture_end(device, run->queue, graph, issued == GS_OK ? error : &second);
    return issued == GS_OK ? ended : issued;
}

/* Device time of the calls put on the queue between two events; they are issued behind the lead-in, so that no waiting for
 * the host is in it. */
static gs_status time_device(gs_bench_run *run, int contender, bool replay, int calls, double *us, gs_error *error)
{
    gs_device *const device = run->device;
    GS_TRY(gs_bench_run_lead_in(run, contender, error));
    GS_TRY(device->ops->event_record(device, run->start, run->queue, error));
    if (replay)
        GS_TRY(device->ops->graph_launch(device, run->graphs[contender], run->queue, error));
    else
        GS_TRY(issue(run, contender, calls, error));
    GS_TRY(device->ops->event_record(device, run->end, run->queue, error));
    GS_TRY(device->ops->event_us(device, run->start, run->end, us, error));
    *us /= calls;
    return GS_OK;
}

static gs_status time_calls(gs_bench_run *run, int contender, double *us, gs_error *error)
{
    gs_device *const device = run->device;
    const int calls = gs_bench_run_calls(run, contender);
    GS_TRY(gs_bench_run_lead_in(run, contender, error));
    GS_TRY(device->ops->queue_wait(device, run->queue, error));
    const int64_t began = gs_clock_ns();
    GS_TRY(issue(run, contender, calls, error));
    GS_TRY(device->ops->queue_wait(device, run->queue, error));
    *us = (double)(gs_clock_ns() - began) * 1e-3 / calls;
    return GS_OK;
}

/* The shortest time of a call among the contenders; failures are recorded. *fastest stays as it is if none runs. Slow contenders whose graphs stay as they are are not replayed again. */
static gs_status estimate(gs_bench_run *run, bool replay, double *fastest, gs_error *error)
{
    for (int i = 0; i < run->count; i++) {
        if (!gs_bench_run_alive(run, i) || (replay && run->captured[i] == gs_bench_run_calls(run, i))) continue;
        gs_error found = {0};
        double us = NAN;
        gs_status status = replay ? capture(run, i, &found) : GS_OK;
        for (int repeat = 0; status == GS_OK && repeat < 2; repeat++) {   /* the first replay uploads the graph */
            const int calls = replay ? gs_bench_run_calls(run, i) : repeat == 0 ? 1 : TRIAL_CALLS;
            status = time_device(run, i, replay, calls, &us, &found);
            if (us * calls > LONG * run->options.replay_us || calls < run->calls) break;   /* a slow one's time decides nothing */
        }
        GS_TRY(gs_bench_run_blame(run, i, status, &found, error));
        if (status == GS_OK && us < *fastest) *fastest = us;
        if (status == GS_OK && !replay) run->us[i] = us;
    }
    return GS_OK;
}

static gs_status capture_all(gs_bench_run *run, gs_error *error)
{
    for (int i = 0; i < run->count; i++) {
        gs_error found = {0};
        const gs_status status = gs_bench_run_alive(run, i) ? capture(run, i, &found) : GS_OK;
        GS_TRY(gs_bench_run_blame(run, i, status, &found, error));
    }
    return GS_OK;
}

/* In a replay that is checked no set occurs twice: a kernel might reuse results that it keeps in its workspace. */
static int calls_of(const gs_bench_run *run, double us, double replay_us)
{
    const int calls = gs_bench_calls(us, replay_us);
    return run->options.check && !run->options.warm ? GS_MIN(calls, run->sets.count) : calls;
}

/* A few direct calls first; if these wait for the host, the replay turns out too short and the number of calls is increased. */
static gs_status calibrate(gs_bench_run *run, gs_error *error)
{
    if (run->device->caps.emulated) return capture_all(run, error);   /* each of one call: run->calls is 1 */
    const double replay_us = run->options.replay_us;
    double fastest = INFINITY;
    GS_TRY(estimate(run, false, &fastest, error));
    run->calls = calls_of(run, fastest, replay_us);
    for (int attempt = 0; attempt < 3; attempt++) {
        fastest = INFINITY;
        GS_TRY(estimate(run, true, &fastest, error));
        const int calls = calls_of(run, fastest, 1.1 * replay_us);
        if (fastest * run->calls >= replay_us || run->calls == calls || attempt == 2) break;
        run->calls = calls;
    }
    return GS_OK;
}

static int alive(const gs_bench_run *run)
{
    int count = 0;
    for (int i = 0; i < run->count; i++) count += gs_bench_run_alive(run, i);
    return count;
}

/* The number of calls, and so of sets, that all contenders use. */
static int fewest_calls(const gs_bench_run *run)
{
    int calls = run->calls;
    for (int i = 0; i < run->count; i++)
        if (gs_bench_run_alive(run, i)) calls = GS_MIN(calls, gs_bench_run_calls(run, i));
    return calls;
}

/* Whether no contender is near the reference: then the clocks need not have settled. */
static bool all_hopeless(const gs_bench_run *run)
{
    const int reference = run->options.reference;
    for (int i = 0; i < run->count; i++)
        if (i != reference && gs_bench_run_alive(run, i) && !(run->us[i] > HOPELESS * run->us[reference])) return false;
    return run->options.slow > 0 && run->us[reference] > 0;
}

static gs_status warm_up(gs_bench_run *run, gs_error *error)
{
    const double seconds = all_hopeless(run) ? run->options.warmup_s / 20 : run->options.warmup_s;
    const int64_t end = gs_clock_ns() + (int64_t)(seconds * 1e9);
    while (gs_clock_ns() < end && alive(run) > 0) {
        for (int i = 0; i < run->count; i++) {
            if (!gs_bench_run_alive(run, i)) continue;
            gs_error found = {0};
            double us;
            const gs_status status = time_device(run, i, true, gs_bench_run_calls(run, i), &us, &found);
            GS_TRY(gs_bench_run_blame(run, i, status, &found, error));
        }
    }
    return GS_OK;
}

/* Drops the contenders whose best round so far is slowest. */
static void narrow(gs_bench_run *run, int rounds)
{
    int list[GS_MAX_CONTENDERS], count = 0;
    double best[GS_MAX_CONTENDERS];
    for (int i = 0; i < run->count; i++) {
        if (!gs_bench_run_alive(run, i)) continue;
        best[i] = INFINITY;
        for (int round = 0; round < rounds; round++) best[i] = fmin(best[i], run->out->samples[i].device_us[round]);
        int at = count++;
        for (; at > 0 && best[list[at - 1]] > best[i]; at--) list[at] = list[at - 1];
        list[at] = i;
    }
    for (int place = gs_bench_keep(rounds, count); place < count; place++) {
        run->left[list[place]] = true;
        run->out->samples[list[place]].rounds = rounds;
    }
}

static gs_status serve(gs_bench_run *run, int contender, int round, bool check, gs_error *error)
{
    gs_samples *const samples = &run->out->samples[contender];
    const int calls = gs_bench_run_calls(run, contender), sets = GS_MIN(calls, run->sets.count);
    GS_TRY(gs_bench_run_poison(run, contender, round, error));
    GS_TRY(time_device(run, contender, true, calls, &samples->device_us[round], error));
    if (run->device->ops->untrusted) run->device->ops->untrusted(run->device, run->queue, samples->untrusted, sizeof samples->untrusted);
    GS_TRY(gs_bench_run_look(run, contender, round, 0, sets, error));
    if (check) GS_TRY(gs_bench_run_compare(run, contender, error));
    if (!samples->call_us) return GS_OK;
    GS_TRY(gs_bench_run_poison(run, contender, round, error));
    GS_TRY(time_calls(run, contender, &samples->call_us[round], error));
    return gs_bench_run_look(run, contender, round, 0, sets, error);
}

static double median_so_far(const gs_bench_run *run, int contender, int rounds)
{
    double copy[DECIDED];
    memcpy(copy, run->out->samples[contender].device_us, (size_t)rounds * sizeof *copy);
    return gs_percentile(copy, rounds, 50);
}

/* Whether it is so much slower than the reference that more rounds would not change that. */
static bool is_slow(const gs_bench_run *run, int contender, int rounds)
{
    const int reference = run->options.reference;
    if (rounds == DECIDED) return median_so_far(run, contender, rounds) > run->options.slow * median_so_far(run, reference, rounds);
    bool hopeless = rounds == CLEAR;
    for (int round = 0; hopeless && round < rounds; round++) hopeless = run->out->samples[contender].device_us[round] > HOPELESS * run->out->samples[reference].device_us[round];
    return hopeless;
}

/* Drops a contender after so many rounds: repeats its last round with all checks of a last round. */
static gs_status leave(gs_bench_run *run, int contender, int rounds, gs_error *error)
{
    gs_error found = {0};
    const gs_status status = serve(run, contender, rounds - 1, run->options.check, &found);
    run->left[contender] = true;
    run->out->samples[contender].rounds = rounds;
    return gs_bench_run_blame(run, contender, status, &found, error);
}

/* Drops contenders that are clearly slower than the reference. *done: only the reference was left, and it has ended too. */
static gs_status leave_slow(gs_bench_run *run, int rounds, bool *done, gs_error *error)
{
    const int reference = run->options.reference;
    bool left = rounds >= GS_BENCH_ROUNDS;   /* a reference that is alone from the beginning ends then */
    if (!(run->options.slow > 0) || !gs_bench_run_alive(run, reference)) return GS_OK;
    for (int i = 0; i < run->count; i++) {
        if (i == reference || !gs_bench_run_alive(run, i) || !is_slow(run, i, rounds)) continue;
        GS_TRY(leave(run, i, rounds, error));
        left = true;
    }
    *done = left && alive(run) == 1;
    return *done ? leave(run, reference, rounds, error) : GS_OK;
}

gs_status gs_bench_offline(gs_bench_run *run, gs_error *error)
{
    run->graphs = calloc((size_t)run->count, sizeof *run->graphs);
    if (!run->graphs) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the graphs of %d contenders", run->count);
    GS_TRY(calibrate(run, error));
    GS_TRY(gs_bench_run_reference(run, GS_MIN(fewest_calls(run), run->sets.count), error));
    GS_TRY(warm_up(run, error));
    run->device->ops->clocks(run->device, &run->out->before, NULL);
    bool last = alive(run) == 0;
    for (int round = 0; !last; round++) {
        last = gs_bench_run_last(run, round);
        for (int place = 0; place < run->count; place++) {
            const int contender = gs_bench_turn(round, place, run->count);
            if (!gs_bench_run_alive(run, contender)) continue;
            gs_error found = {0};
            const gs_status status = serve(run, contender, round, last && run->options.check, &found);
            GS_TRY(gs_bench_run_blame(run, contender, status, &found, error));
        }
        run->out->rounds = round + 1;
        if (run->options.narrow && !last) narrow(run, round + 1);
        if (!last) GS_TRY(leave_slow(run, round + 1, &last, error));
    }
    run->device->ops->clocks(run->device, &run->out->after, NULL);
    return GS_OK;
}
