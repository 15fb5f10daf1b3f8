/* SPDX-License-Identifier: MIT */
#include "tune/payoff.h"

#include "base/error.h"
#include "schedule/schedule.h"

static const double USUAL_GAIN = 0.05;   /* assumed lead over cuBLASLt without a prediction, as a share of cuBLASLt's time */
static const double LEAST_GAIN = 0.01;   /* minimum gain of a first search, since predictions may be wrong */
static const double MORE_GAIN  = 0.03;   /* gain expected from doubling the candidates for the first time */
static const double LAGGING    = 0.1;    /* weight of a gain that is not expected to reach cuBLASLt */
static const double SLOWER     = 1.5;    /* duration relative to the slice before: it adds as many candidates as all before it */

gs_payoff gs_payoff_expect(const gs_problem *problem, double calls, const gs_caps *caps, const gs_weights *weights)
{
    const gs_profile profile = gs_profile_of(caps);
    gs_payoff w = {.calls = calls, .floor_us = gs_floor_us(problem, caps)};
    gs_schedule first;
    if (weights && gs_weights_choose(weights, problem, caps, 0, &first, 1) == 1) {
        w.expected_us = gs_surrogate_us(&weights->surrogate, &first, problem, &profile);
        w.expected_library_us = gs_surrogate_library_us(&weights->surrogate, problem, &profile);
    } else if (gs_schedule_shortlist(problem, caps, 0, &first, 1) == 1) {
        w.expected_us = gs_schedule_predict(&first, problem, caps);
    }
    if (!(w.expected_us > w.floor_us)) w.expected_us = w.floor_us;
    if (!(w.expected_library_us > 0)) w.expected_library_us = w.expected_us / (1 - USUAL_GAIN);
    return w;
}

int gs_payoff_candidates(int most, int slice) { return slice >= GS_PAYOFF_SLICES - 1 ? most : GS_MAX(most >> (GS_PAYOFF_SLICES - 1 - slice), 1); }

int gs_payoff_slices(int most, int tried)
{
    int slices = 0;
    while (slices < GS_PAYOFF_SLICES && tried >= gs_payoff_candidates(most, slices)) slices++;
    return slices;
}

void gs_payoff_update(gs_payoff *w, double own_us, double us, double seconds)
{
    const double before = w->slices > 0 ? w->own_us : w->expected_library_us;
    if (!(own_us > 0)) own_us = us;   /* none of ours passed */
    w->gained_us = before > own_us ? before - own_us : 0;
    w->own_us = w->slices > 0 && w->own_us < own_us ? w->own_us : own_us;
    w->us = us;
    w->last_s = seconds;
    w->slices++;
}

double gs_payoff_gain(const gs_payoff *w)
{
    if (w->slices == 0) return GS_MAX(w->expected_library_us - w->expected_us, LEAST_GAIN * w->expected_us);
    const double room = GS_MAX(w->own_us - w->floor_us, 0), lag = GS_MAX(w->own_us - w->us, 0);
    const double next = GS_MIN(room, GS_MAX(w->gained_us / 2, MORE_GAIN * w->own_us / (double)(1 << (w->slices - 1))));
    return GS_MAX(next - lag, LAGGING * next);
}

double gs_payoff_seconds(const gs_payoff *w, double usual_s) { return w->last_s > 0 ? w->last_s * SLOWER : usual_s; }

double gs_payoff_rate(const gs_payoff *w, double usual_s) { return w->calls * gs_payoff_gain(w) * 1e-6 / GS_MAX(gs_payoff_seconds(w, usual_s), 1e-3); }
