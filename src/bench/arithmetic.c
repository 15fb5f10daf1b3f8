/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/error.h"
#include "bench/internal.h"

int gs_bench_sets(size_t used_bytes, size_t set_bytes, size_t l2_bytes, size_t free_bytes, bool warm)
{
    if (warm) return 1;
    const size_t needed = 4 * l2_bytes / GS_MAX(used_bytes, 1u) + 1;
    const size_t fitting = free_bytes / 10 * 6 / GS_MAX(set_bytes, 1u);
    size_t sets = GS_MIN(needed, (size_t)GS_BENCH_SETS);
    sets = GS_MIN(sets, fitting);
    return (int)GS_MAX(sets, 2u);
}

int gs_bench_most_sets(double launch_us, double replay_us)
{
    return launch_us > 0 ? GS_MIN(GS_MAX(gs_bench_calls(launch_us / 2, 1.1 * replay_us), 2), GS_BENCH_SETS) : GS_BENCH_SETS;
}

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
