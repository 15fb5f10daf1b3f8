/* SPDX-License-Identifier: MIT
 * Finds the cluster of a launch whose longest warp executed the most instructions: the launch takes at least as long as that one alone. Also sums how many
 * instructions only polled flags, a number that depends on the order of turns here. */
#include <pthread.h>

#include "emu/machine/pool.h"
#include "emu/run/internal.h"

#define COUNTERS (sizeof(gs_emu_counters) / sizeof(uint64_t))

void gs_emu_peak_start(gs_emu_cluster *cluster) { cluster->began = cluster->counters; }

/* With equal numbers the first cluster is kept, so that the number of host threads does not matter. */
void gs_emu_peak_end(gs_emu_cluster *cluster)
{
    gs_emu_launch *const launch = cluster->launch;
    uint64_t longest = 0, all = 0, polls = 0, warps = 0;
    for (int b = 0; b < cluster->blocks; b++)
        for (int i = 0; i < cluster->block[b].warps; i++, warps++) {
            const gs_emu_warp *const w = &cluster->block[b].warp[i];
            longest = GS_MAX(longest, w->steps);
            all += w->steps;
            polls += w->all_polls;
        }
    gs_emu_peak *const peak = &launch->peak;
    pthread_mutex_lock(&launch->pool->lock);
    launch->polls += polls;
    if (longest > peak->longest || (longest == peak->longest && cluster->id < peak->cluster)) {
        const uint64_t *const now = (const uint64_t *)(const void *)&cluster->counters, *const began = (const uint64_t *)(const void *)&cluster->began;
        uint64_t *const to = (uint64_t *)(void *)&peak->counters;
        for (size_t i = 0; i < COUNTERS; i++) to[i] = now[i] - began[i];
        peak->longest = longest;
        peak->cluster = cluster->id;
        peak->share = all ? (double)longest * (double)warps / (double)all : 1;
    }
    pthread_mutex_unlock(&launch->pool->lock);
}
