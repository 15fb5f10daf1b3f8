/* SPDX-License-Identifier: MIT
 * What both modes of a measurement share: the cold cache before every timed call, the reference, the comparison, and when it ends. */
#include "base/clock.h"
#include "base/error.h"
#include "bench/internal.h"

gs_status gs_bench_run_blame(gs_bench_run *run, int contender, gs_status status, const gs_error *found, gs_error *error)
{
    if (status == GS_OK) return GS_OK;
    const bool emulated = run->device->caps.emulated;
    if (emulated) run->device->ops->queue_wait(run->device, run->queue, NULL);   /* a fault is this contender's alone */
    if ((status == GS_ERROR_FAULT && !emulated) || status == GS_ERROR_TIMEOUT)
        return gs_fail(error, status, NULL, "%s: %s", run->contenders[contender].name, found->text);
    gs_samples *const samples = &run->out->samples[contender];
    samples->status = status;
    samples->error = *found;
    return GS_OK;
}

gs_status gs_bench_run_lead_in(gs_bench_run *run, int contender, gs_error *error)
{
    const gs_device_ops *const ops = run->device->ops;
    if (run->device->caps.emulated) return GS_OK;   /* nothing to wait for, no cache */
    if (run->scratch) return ops->fill(run->device, run->scratch, 0, run->scratch_bytes, run->queue, error);
    if (run->graphs && run->graphs[contender]) return ops->graph_launch(run->device, run->graphs[contender], run->queue, error);
    return GS_OK;
}

/* Hides the reference from contenders, or restores it. */
static gs_status veil(gs_bench_run *run, gs_error *error)
{
    return gs_veil(run->verifier, run->reference, run->reference_bytes / sizeof(double), run->key, run->queue, error);
}

static gs_status hide_reference(gs_bench_run *run, gs_error *error)
{
    run->key = gs_random_entropy();
    GS_TRY(veil(run, error));
    return run->device->ops->queue_wait(run->device, run->queue, error);
}

gs_status gs_bench_run_reference(gs_bench_run *run, int sets, gs_error *error)
{
    if (!run->options.check) return GS_OK;
    GS_TRY(gs_bench_run_inputs(run, error));   /* contenders have run and may have changed the inputs */
    run->checked = (int)gs_random_below(&run->random, (uint64_t)sets);
    const gs_args args = gs_sets_args(&run->sets, 0, run->checked);
    GS_TRY(run->device->ops->alloc(run->device, run->reference_bytes, &run->reference, error));
    GS_TRY(gs_reference_of(run->verifier, &run->problems[0], &args, run->reference, run->queue, error));
    return hide_reference(run, error);
}

static double tolerance_of(const gs_bench_run *run, int contender) { return run->contenders[contender].rounds_products ? GS_TOLERANCE_ROUNDED : GS_BENCH_TOLERANCE; }

/* Compares the other outputs, after D was found right. */
static gs_status compare_beside(gs_bench_run *run, int contender, gs_args args, gs_error *error)
{
    const gs_problem *const p = &run->problems[contender];
    gs_compare *const out = &run->out->samples[contender].compare;
    if (p->bias == GS_DBIAS && p->m > 0) {
        gs_compare of_sums;
        GS_TRY(gs_compare_sums(run->verifier, p, &args, run->reference, tolerance_of(run, contender), &of_sums, run->queue, error));
        if (of_sums.mismatches) *out = of_sums;
    }
    if (p->aux && out->mismatches == 0) {
        const gs_problem before = gs_problem_of_aux(p);
        gs_compare of_aux;
        args.d = args.aux;
        GS_TRY(gs_compare_reference(run->verifier, &before, &args, run->reference, tolerance_of(run, contender), &of_aux, run->queue, error));
        if (of_aux.mismatches) *out = of_aux;
    }
    return GS_OK;
}

static gs_status compare_outputs(gs_bench_run *run, int contender, gs_error *error)
{
    gs_samples *const samples = &run->out->samples[contender];
    const gs_args args = gs_sets_args(&run->sets, contender, run->checked);
    GS_TRY(gs_compare_reference(run->verifier, &run->problems[contender], &args, run->reference, tolerance_of(run, contender), &samples->compare,
                                run->queue, error));
    if (samples->compare.mismatches == 0) GS_TRY(compare_beside(run, contender, args, error));
    samples->wrong = samples->compare.mismatches > 0;
    if (samples->wrong || run->device->caps.emulated) return GS_OK;
    return gs_sets_hash_outputs(&run->sets, run->device, run->verifier, run->count, contender, run->checked, &run->right[contender], run->queue, error);
}

gs_status gs_bench_run_compare(gs_bench_run *run, int contender, gs_error *error)
{
    GS_TRY(run->device->ops->queue_wait(run->device, run->queue, error));   /* no contender runs while the reference can be read */
    GS_TRY(veil(run, error));
    const gs_status status = compare_outputs(run, contender, error);
    const gs_status hidden = hide_reference(run, status == GS_OK ? error : NULL);
    return status == GS_OK ? hidden : status;
}

/* Verification uses both patterns too. */
static uint32_t poison_of(int round) { return round % 2 ? GS_POISON_SECOND : GS_POISON_FIRST; }

gs_status gs_bench_run_repeat(gs_bench_run *run, int contender, gs_error *error)
{
    gs_contender *const self = &run->contenders[contender];
    const gs_args args = gs_sets_launch_args(&run->sets, contender, run->checked);
    uint64_t now;
    GS_TRY(gs_sets_poison(&run->sets, run->device, contender, poison_of(run->out->rounds - 1), run->queue, error));
    GS_TRY(self->run(self, &args, run->queue, error));
    GS_TRY(gs_sets_hash_outputs(&run->sets, run->device, run->verifier, run->count, contender, run->checked, &now, run->queue, error));
    return now == run->right[contender] ? GS_OK : gs_bench_run_compare(run, contender, error);   /* another order of additions may round differently */
}

static bool looks(const gs_bench_run *run) { return run->options.check && !run->device->caps.emulated; }

gs_status gs_bench_run_poison(gs_bench_run *run, int contender, int round, gs_error *error)
{
    const gs_contender *const self = &run->contenders[contender];
    if (!looks(run)) return run->options.check ? gs_sets_poison(&run->sets, run->device, contender, GS_POISON_FIRST, run->queue, error) : GS_OK;
    GS_TRY(gs_sets_poison(&run->sets, run->device, contender, poison_of(round), run->queue, error));
    if (self->scratch_bytes < 4) return GS_OK;
    return run->device->ops->fill(run->device, self->scratch, poison_of(round), self->scratch_bytes / 4 * 4, run->queue, error);
}

gs_status gs_bench_run_look(gs_bench_run *run, int contender, int round, int first, int count, gs_error *error)
{
    if (!looks(run)) return GS_OK;
    return gs_sets_look(&run->sets, run->verifier, &run->problems[contender], tolerance_of(run, contender), contender, first, count, poison_of(round), gs_random_next(&run->random), run->queue, error);
}

/* ---- inputs ---- */

/* Runs a contender as it is timed, on restored inputs, and checks whether these stay as they are. */
static gs_status spoils(gs_bench_run *run, int contender, bool *intact, gs_error *error)
{
    gs_contender *const self = &run->contenders[contender];
    GS_TRY(gs_sets_generate(&run->sets, run->device, run->verifier, run->queue, error));
    GS_TRY(gs_bench_run_poison(run, contender, 0, error));
    gs_error found = {0};
    gs_status status = GS_OK;
    for (int set = 0; set < run->sets.count && status == GS_OK; set++) {
        const gs_args args = gs_sets_launch_args(&run->sets, contender, set);
        status = self->run(self, &args, run->queue, &found);
    }
    GS_TRY(gs_bench_run_blame(run, contender, status, &found, error));
    return gs_sets_intact(&run->sets, run->device, run->verifier, run->count, intact, run->queue, error);
}

static void blame_inputs(gs_bench_run *run, int contender)
{
    gs_samples *const samples = &run->out->samples[contender];
    samples->wrong = true;
    samples->compare.mismatches = GS_MAX(samples->compare.mismatches, 1);
}

gs_status gs_bench_run_inputs(gs_bench_run *run, gs_error *error)
{
    bool intact = true, found = false;
    if (!looks(run)) return GS_OK;
    GS_TRY(gs_sets_intact(&run->sets, run->device, run->verifier, run->count, &intact, run->queue, error));
    if (intact) return GS_OK;
    for (int i = 0; i < run->count; i++) {
        if (run->out->samples[i].status != GS_OK) continue;   /* also those that were dropped */
        GS_TRY(spoils(run, i, &intact, error));
        if (!intact) blame_inputs(run, i);
        found |= !intact;
    }
    for (int i = 0; i < run->count && !found; i++)
        if (run->out->samples[i].status == GS_OK) blame_inputs(run, i);
    GS_TRY(gs_sets_generate(&run->sets, run->device, run->verifier, run->queue, error));
    return run->device->ops->queue_wait(run->device, run->queue, error);
}

bool gs_bench_run_last(const gs_bench_run *run, int round)
{
    if (round + 1 >= run->options.rounds) return true;
    const double spent_s = (double)(gs_clock_ns() - run->began_ns) * 1e-9;
    return run->options.budget_s > 0 && round + 1 >= GS_BENCH_ROUNDS && spent_s >= run->options.budget_s;
}
