/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/error.h"
#include "bench/internal.h"

int gs_bench_calls(double us, double replay_us)
{
    if (!(us > 0)) return GS_BENCH_CALLS;
    const double calls = ceil(replay_us / us);
    return calls < 1 ? 1 : calls > GS_BENCH_CALLS ? GS_BENCH_CALLS : (int)calls;
}

int gs_bench_turn(int round, int place, int count) { return (int)(((int64_t)round + place) % count); }

int gs_bench_keep(int rounds, int count)
{
    const bool power = rounds >= 2 && (rounds & (rounds - 1)) == 0;
    return power ? GS_MIN(count, GS_MAX((count + 1) / 2, GS_BENCH_LEFT)) : count;
}

double gs_bench_gap(gs_random *random, double mean) { return -log(1 - gs_random_unit(random)) * mean; }

void gs_bench_shuffle(gs_random *random, int *list, int count)
{
    for (int i = count - 1; i > 0; i--) {
        const int other = (int)gs_random_below(random, (uint64_t)i + 1);
        const int value = list[i];
        list[i] = list[other];
        list[other] = value;
    }
}
