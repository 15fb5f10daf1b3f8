/* SPDX-License-Identifier: MIT
 * One measurement from its request to its figures. run.c has what both modes share, offline.c and server.c the timed parts. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/internal.h"
#include "problem/layout.h"
#include "problem/pool.h"

#define SMALLEST_SCRATCH ((size_t)32 << 20)

gs_bench_options gs_bench_defaults(void) { return (gs_bench_options){.mode = GS_MODE_OFFLINE, .warmup_s = -1, .check = true}; }

static gs_bench_options complete(gs_bench_options options)
{
    if (options.rounds < 1) options.rounds = options.mode == GS_MODE_SERVER ? 200 : 30;
    if (!(options.warmup_s >= 0)) options.warmup_s = 0.05;
    if (!(options.replay_us > 0)) options.replay_us = GS_OPERAND_REPLAY_US;
    if (!(options.target_qps > 0)) options.target_qps = 100;
    if (options.seed == 0) options.seed = gs_random_entropy();
    return options;
}

/* Predicted times do not vary: one round of one call is enough. The host's clock would time the emulation. */
static gs_bench_options for_emulated(gs_bench_options options)
{
    options.rounds = 1;
    options.warmup_s = 0;
    options.call_time = options.narrow = false;
    options.slow = 0;
    return options;
}

static bool same_matrices(const gs_problem *x, const gs_problem *y)
{
    return x->in == y->in && x->acc == y->acc && x->out == y->out && x->m == y->m && x->n == y->n && x->k == y->k &&
           x->batch == y->batch && x->alpha == y->alpha && x->beta == y->beta && gs_same_epilogue(x, y) && x->scalars == y->scalars &&
           x->gate == y->gate && x->matrices == y->matrices && x->groups == y->groups && x->grouping == y->grouping;
}

static gs_status check_request(const gs_device *device, const gs_problem *problems, int count, const gs_bench_options *options, gs_error *error)
{
    if (device->caps.emulated && options->mode == GS_MODE_SERVER)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "mode", "server mode is about call time, which %s cannot predict", device->name);
    if (count < 1 || count > GS_MAX_CONTENDERS)
        return gs_fail(error, GS_ERROR_ARGUMENT, "count", "%d contenders: must be 1 to %d", count, GS_MAX_CONTENDERS);
    if (options->reference < 0 || options->reference >= count)
        return gs_fail(error, GS_ERROR_ARGUMENT, "reference", "there is no contender %d: must be 0 to %d", options->reference,
                       count - 1);
    if (problems[0].m == 0 || problems[0].n == 0 || problems[0].k == 0)
        return gs_fail(error, GS_ERROR_ARGUMENT, "problem", "an extent is 0: there is nothing to time");
    for (int i = 1; i < count; i++)
        if (!same_matrices(&problems[0], &problems[i]))
            return gs_fail(error, GS_ERROR_ARGUMENT, "problem",
                           "contender %d has another problem than contender 0: only layout and leading dimensions may differ", i);
    return GS_OK;
}

/* ---- results ---- */

static double *new_values(int count)
{
    double *const values = malloc((size_t)count * sizeof *values);
    for (int i = 0; values && i < count; i++) values[i] = NAN;
    return values;
}

static gs_status new_measurement(gs_measurement **out, int count, const gs_bench_options *options, gs_error *error)
{
    const bool calls = options->call_time || options->mode == GS_MODE_SERVER;
    gs_measurement *measurement = calloc(1, sizeof *measurement);
    bool whole = measurement != NULL;
    if (measurement) measurement->count = count;
    for (int i = 0; whole && i < count; i++) {
        gs_samples *const samples = &measurement->samples[i];
        samples->device_us = new_values(options->rounds);
        if (calls) samples->call_us = new_values(options->rounds);
        whole = samples->device_us && (!calls || samples->call_us);
        samples->compare.row = samples->compare.col = -1;
    }
    if (!whole) {
        gs_measurement_destroy(&measurement);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the samples of %d contenders", count);
    }
    *out = measurement;
    return GS_OK;
}

void gs_measurement_destroy(gs_measurement **measurement)
{
    if (!measurement || !*measurement) return;
    for (int i = 0; i < (*measurement)->count; i++) {
        free((*measurement)->samples[i].device_us);
        free((*measurement)->samples[i].call_us);
    }
    free(*measurement);
    *measurement = NULL;
}

static double percentile_of(const double *values, int count, double percent, double *copy)
{
    memcpy(copy, values, (size_t)count * sizeof *copy);
    return gs_percentile(copy, count, percent);
}

static bool usable(const gs_samples *samples) { return samples->status == GS_OK && !samples->wrong; }

static void summarise_one(const gs_bench_run *run, gs_samples *samples, double *copy)
{
    const gs_ratio unknown = {NAN, NAN, NAN, GS_UNCLEAR};
    const gs_samples *const reference = &run->out->samples[run->options.reference];
    const int rounds = samples->rounds, pairs = GS_MIN(rounds, reference->rounds);
    const bool paired = usable(samples) && usable(reference);
    samples->device_median = percentile_of(samples->device_us, rounds, 50, copy);
    samples->device = paired ? gs_ratio_paired(reference->device_us, samples->device_us, pairs, run->options.seed) : unknown;
    samples->call_median = samples->call_p50 = samples->call_p95 = samples->call_p99 = NAN;
    samples->call = unknown;
    if (!samples->call_us) return;
    samples->call_median = samples->call_p50 = percentile_of(samples->call_us, rounds, 50, copy);
    samples->call_p95 = percentile_of(samples->call_us, rounds, 95, copy);
    samples->call_p99 = percentile_of(samples->call_us, rounds, 99, copy);
    if (paired) samples->call = gs_ratio_paired(reference->call_us, samples->call_us, pairs, run->options.seed);
}

static gs_status summarise(const gs_bench_run *run, gs_error *error)
{
    double *const copy = malloc((size_t)run->options.rounds * sizeof *copy);
    if (!copy) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to sort %d samples", run->options.rounds);
    for (int i = 0; i < run->count; i++)
        if (!run->left[i]) run->out->samples[i].rounds = run->out->rounds;
    for (int i = 0; i < run->count; i++) summarise_one(run, &run->out->samples[i], copy);
    free(copy);
    run->out->predicted = run->device->caps.emulated;
    run->out->calls = run->calls;
    run->out->sets = run->sets.count;
    run->out->seconds = (double)(gs_clock_ns() - run->began_ns) * 1e-9;
    return GS_OK;
}

/* ---- the run ---- */

static gs_status reserve(gs_bench_run *run, gs_error *error)
{
    gs_device *const device = run->device;
    const gs_problem *const problem = &run->problems[0];
    GS_TRY(device->ops->queue_create(device, &run->queue, error));
    GS_TRY(device->ops->event_create(device, &run->start, error));
    GS_TRY(device->ops->event_create(device, &run->end, error));
    run->reference_bytes = run->options.check ? (size_t)problem->m * (size_t)gs_columns_of_b(problem) * (size_t)problem->batch * sizeof(double) : 0;
    if (!run->options.warm && !device->caps.emulated) {
        run->scratch_bytes = GS_MAX(4 * (size_t)device->caps.l2_bytes, SMALLEST_SCRATCH) / 4 * 4;
        GS_TRY(device->ops->alloc(device, run->scratch_bytes, &run->scratch, error));
    }
    const bool offline = run->options.mode == GS_MODE_OFFLINE;
    const double replay_us = fmax(run->options.replay_us, GS_OPERAND_REPLAY_US);   /* at least as many sets as verification assumes */
    const int most = offline ? gs_operand_most_sets(device->caps.launch_us, replay_us) : GS_BENCH_SETS;
    const int calls = offline ? gs_operand_calls(problem, &device->caps, replay_us) : 1;
    return gs_sets_create(&run->sets, device, run->verifier, run->problems, run->count, run->pointers, calls, most, run->options.warm || device->caps.emulated,
                          run->options.routing, run->reference_bytes, &run->random, run->queue, error);
}

/* Before anything runs: tells contenders whose host code must know it how many rows each group has. */
static gs_status tell_groups(gs_bench_run *run, gs_error *error)
{
    for (int i = 0; i < run->count; i++) {
        gs_error found = {0};
        const gs_status status = gs_sets_tell(&run->sets, run->device, &run->problems[i], &run->contenders[i], i, &found);
        GS_TRY(gs_bench_run_blame(run, i, status, &found, error));
    }
    return GS_OK;
}

/* The first run loads what a library loads lazily, outside any capture and any timing. */
static gs_status first_runs(gs_bench_run *run, gs_error *error)
{
    for (int i = 0; i < run->count; i++) {
        gs_error found = {0};
        if (!gs_bench_run_alive(run, i)) continue;
        const gs_args args = gs_sets_launch_args(&run->sets, i, 0);
        gs_status status = run->contenders[i].run(&run->contenders[i], &args, run->queue, &found);
        if (status == GS_OK) status = run->device->ops->queue_wait(run->device, run->queue, &found);
        GS_TRY(gs_bench_run_blame(run, i, status, &found, error));
    }
    return GS_OK;
}

/* After the timing: repeats a call on the same data with only the outputs poisoned. A kernel that remembers its inputs in its workspace, and writes no output when they are the
 * same, is detected here. */
static gs_status run_again(gs_bench_run *run, gs_error *error)
{
    for (int i = 0; run->options.check && i < run->count; i++) {
        const gs_samples *const samples = &run->out->samples[i];
        gs_error found = {0};
        gs_status status = GS_OK;
        for (int n = 0; n < GS_BENCH_AGAIN && status == GS_OK && samples->status == GS_OK && !samples->wrong; n++) status = gs_bench_run_repeat(run, i, &found);
        GS_TRY(gs_bench_run_blame(run, i, status, &found, error));
    }
    return GS_OK;
}

/* Whether the zeroed part of the workspace is zero, as every run must leave it. */
static gs_status see_zeros(gs_bench_run *run, int contender, bool *zero, gs_error *error)
{
    const gs_contender *const self = &run->contenders[contender];
    *zero = true;
    if (!self->zeroed) return GS_OK;
    uint8_t *const bytes = malloc(self->zeroed_bytes);
    if (!bytes) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %zu bytes of workspace", self->zeroed_bytes);
    const gs_status status = run->device->ops->copy_out(run->device, bytes, self->zeroed, self->zeroed_bytes, error);
    for (size_t i = 0; i < self->zeroed_bytes && status == GS_OK; i++) *zero &= bytes[i] == 0;
    free(bytes);
    return status;
}

/* Errors found after any replay count like those of the last one. */
static gs_status judge_looks(gs_bench_run *run, gs_error *error)
{
    if (!run->options.check || run->device->caps.emulated) return GS_OK;
    for (int i = 0; i < run->count; i++) {
        gs_samples *const samples = &run->out->samples[i];
        uint64_t found[2];
        bool zero;
        if (samples->status != GS_OK) continue;
        GS_TRY(gs_sets_found(&run->sets, run->device, i, found, run->queue, error));
        GS_TRY(see_zeros(run, i, &zero, error));
        if (samples->wrong || (found[0] + found[1] == 0 && zero)) continue;
        samples->wrong = true;
        samples->compare.mismatches = (int64_t)(found[0] + found[1] + !zero);
    }
    return GS_OK;
}

static gs_status measure(gs_bench_run *run, gs_error *error)
{
    GS_TRY(reserve(run, error));
    GS_TRY(tell_groups(run, error));
    if (!run->device->caps.emulated) GS_TRY(first_runs(run, error));
    GS_TRY(run->options.mode == GS_MODE_SERVER ? gs_bench_server(run, error) : gs_bench_offline(run, error));
    if (!run->device->caps.emulated) GS_TRY(run_again(run, error));   /* an emulated device detects reads of memory that was not written */
    GS_TRY(gs_bench_run_inputs(run, error));
    GS_TRY(judge_looks(run, error));
    return summarise(run, error);
}

/* Overwrites the reference first, which an error may have left readable: whoever gets its memory next must not find it. */
static void free_reference(gs_bench_run *run)
{
    gs_device *const device = run->device;
    if (device->ops->fill(device, run->reference, GS_POISON_FIRST, run->reference_bytes, run->queue, NULL) == GS_OK) device->ops->queue_wait(device, run->queue, NULL);
    device->ops->free(device, run->reference);
}

static void release(gs_bench_run *run)
{
    gs_device *const device = run->device;
    for (int i = 0; run->graphs && i < run->count; i++)
        if (run->graphs[i]) device->ops->graph_destroy(device, run->graphs[i]);
    free(run->graphs);
    gs_sets_destroy(&run->sets, device, run->count);
    if (run->scratch) device->ops->free(device, run->scratch);
    if (run->reference) free_reference(run);
    if (run->start) device->ops->event_destroy(device, run->start);
    if (run->end) device->ops->event_destroy(device, run->end);
    if (run->queue) device->ops->queue_destroy(device, run->queue);
}

gs_status gs_bench(gs_device *device, gs_verifier *verifier, const gs_problem *problems, gs_contender *contenders, int count,
                   const gs_bench_options *options, gs_measurement **out, gs_error *error)
{
    *out = NULL;
    gs_bench_options completed = complete(options ? *options : gs_bench_defaults());
    GS_TRY(check_request(device, problems, count, &completed, error));
    if (device->caps.emulated) completed = for_emulated(completed);
    gs_problem pools[GS_MAX_CONTENDERS];
    for (int i = 0; i < count; i++) pools[i] = gs_problem_pool(&problems[i]);
    gs_bench_run run = {.device = device, .verifier = verifier, .problems = pools, .pointers = problems[0].matrices == GS_MATRICES_POINTERS, .contenders = contenders, .count = count,
                  .options = completed, .random = {completed.seed}, .calls = 1, .began_ns = gs_clock_ns()};
    GS_TRY(new_measurement(&run.out, count, &completed, error));
    const gs_status status = measure(&run, error);
    release(&run);
    if (status == GS_OK)
        *out = run.out;
    else
        gs_measurement_destroy(&run.out);
    return status;
}
