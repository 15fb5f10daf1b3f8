/* SPDX-License-Identifier: MIT
 * Server mode: single requests at random, exponential gaps, each served by one contender; the contenders' order is shuffled
 * anew for every round. Between requests the device idles, as it does behind a service that is not saturated. */
#include "base/clock.h"
#include "base/error.h"
#include "bench/internal.h"

/* One request. The end event is recorded while the device works, so that the call time is launch to synchronised and no more. */
static gs_status serve(gs_bench_run *run, int contender, int set, double *device_us, double *call_us, gs_error *error)
{
    gs_device *const device = run->device;
    gs_contender *const self = &run->contenders[contender];
    const gs_args args = gs_sets_launch_args(&run->sets, contender, set);
    GS_TRY(device->ops->event_record(device, run->start, run->queue, error));
    const int64_t began = gs_clock_ns();
    GS_TRY(self->run(self, &args, run->queue, error));
    GS_TRY(device->ops->event_record(device, run->end, run->queue, error));
    GS_TRY(device->ops->queue_wait(device, run->queue, error));
    *call_us = (double)(gs_clock_ns() - began) * 1e-3;
    return device->ops->event_us(device, run->start, run->end, device_us, error);
}

/* Makes the caches cold, then waits for the request to arrive. */
static gs_status await(gs_bench_run *run, int contender, int64_t arrival_ns, gs_error *error)
{
    GS_TRY(gs_bench_run_lead_in(run, contender, error));
    GS_TRY(run->device->ops->queue_wait(run->device, run->queue, error));
    const int64_t left = arrival_ns - gs_clock_ns();
    if (left > 0) gs_clock_sleep_ns(left);
    return GS_OK;
}

static gs_status request(gs_bench_run *run, int contender, int set, int round, bool check, int64_t arrival_ns, gs_error *error)
{
    gs_samples *const samples = &run->out->samples[contender];
    GS_TRY(gs_bench_run_poison(run, contender, round, error));
    GS_TRY(await(run, contender, arrival_ns, error));
    GS_TRY(serve(run, contender, set, &samples->device_us[round], &samples->call_us[round], error));
    GS_TRY(gs_bench_run_look(run, contender, round, set, 1, error));
    return check ? gs_bench_run_compare(run, contender, error) : GS_OK;
}

static gs_status warm_up(gs_bench_run *run, gs_error *error)
{
    const int64_t end = gs_clock_ns() + (int64_t)(run->options.warmup_s * 1e9);
    bool some = true;
    for (int set = 0; some && gs_clock_ns() < end; set = (set + 1) % run->sets.count) {
        some = false;
        for (int i = 0; i < run->count; i++) {
            if (!gs_bench_run_alive(run, i)) continue;
            some = true;
            gs_error found = {0};
            double device_us, call_us;
            const gs_status status = serve(run, i, set, &device_us, &call_us, &found);
            GS_TRY(gs_bench_run_blame(run, i, status, &found, error));
        }
    }
    return GS_OK;
}

gs_status gs_bench_server(gs_bench_run *run, gs_error *error)
{
    int order[GS_MAX_CONTENDERS], alive = 0;
    for (int i = 0; i < run->count; i++) {
        order[i] = i;
        alive += gs_bench_run_alive(run, i);
    }
    GS_TRY(gs_bench_run_reference(run, run->sets.count, error));
    GS_TRY(warm_up(run, error));
    run->device->ops->clocks(run->device, &run->out->before, NULL);
    const double mean_ns = 1e9 / run->options.target_qps;
    bool last = alive == 0;
    int next_set = 0;
    for (int round = 0; !last; round++) {
        last = gs_bench_run_last(run, round);
        const bool check = last && run->options.check;
        gs_bench_shuffle(&run->random, order, run->count);
        for (int place = 0; place < run->count; place++) {
            const int contender = order[place];
            if (!gs_bench_run_alive(run, contender)) continue;
            const int64_t arrival = gs_clock_ns() + (int64_t)gs_bench_gap(&run->random, mean_ns);
            gs_error found = {0};
            const gs_status status = request(run, contender, check ? run->checked : next_set, round, check, arrival, &found);
            GS_TRY(gs_bench_run_blame(run, contender, status, &found, error));
            next_set = (next_set + 1) % run->sets.count;
        }
        run->out->rounds = round + 1;
    }
    run->device->ops->clocks(run->device, &run->out->after, NULL);
    return GS_OK;
}
