/* SPDX-License-Identifier: MIT
 * The cluster of a launch whose longest warp executed most is the same one, with the same figures, in whatever order clusters end: how many threads run them
 * does not matter. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "emu/machine/pool.h"
#include "emu/run/internal.h"

enum { CLUSTERS = 4, BLOCKS = 2, WARPS = 2 };

/* Steps of each warp; polls of the first one of each block. Clusters 1 and 3 have the longest warps. */
static const struct { uint64_t steps[BLOCKS][WARPS]; uint64_t polls[BLOCKS]; } sample[CLUSTERS] = {
    {{{5, 6}, {7, 8}}, {1, 0}}, {{{9, 1}, {1, 1}}, {0, 2}}, {{{2, 2}, {2, 2}}, {4, 0}}, {{{1, 1}, {1, 9}}, {0, 8}}};

static void end_in_order(const int order[CLUSTERS], gs_emu_peak *peak, uint64_t *polls)
{
    gs_emu_pool pool;
    gs_emu_launch launch = {.pool = &pool};
    gs_emu_warp *const warp = calloc(BLOCKS * WARPS, sizeof *warp);
    gs_emu_cluster *const cluster = calloc(1, sizeof *cluster);
    gs_emu_block *const block = calloc(BLOCKS, sizeof *block);
    assert_true(warp && cluster && block);
    memset(&pool, 0, sizeof pool);
    pthread_mutex_init(&pool.lock, NULL);
    for (int i = 0; i < CLUSTERS; i++) {
        const int id = order[i];
        *cluster = (gs_emu_cluster){.launch = &launch, .block = block, .blocks = BLOCKS, .id = (uint32_t)id};
        for (int b = 0; b < BLOCKS; b++) {
            block[b] = (gs_emu_block){.cluster = cluster, .warp = warp + b * WARPS, .warps = WARPS};
            for (int w = 0; w < WARPS; w++) warp[b * WARPS + w].steps = sample[id].steps[b][w];
            warp[b * WARPS].all_polls = sample[id].polls[b];
        }
        memset(&cluster->counters, 1, sizeof cluster->counters);   /* of clusters before it */
        gs_emu_peak_start(cluster);
        uint64_t *const counters = (uint64_t *)(void *)&cluster->counters;
        for (size_t c = 0; c < sizeof cluster->counters / sizeof *counters; c++) counters[c] += 100 * (uint64_t)id + c;
        gs_emu_peak_end(cluster);
    }
    *peak = launch.peak;
    *polls = launch.polls;
    pthread_mutex_destroy(&pool.lock);
    free(warp);
    free(cluster);
    free(block);
}

static void clusters_end_in_any_order(void **state)
{
    (void)state;
    for (int i = 0; i < CLUSTERS * CLUSTERS * CLUSTERS * CLUSTERS; i++) {
        const int order[CLUSTERS] = {i / 64, i / 16 % 4, i / 4 % 4, i % 4};
        int seen = 0;
        for (int j = 0; j < CLUSTERS; j++) seen |= 1 << order[j];
        if (seen != (1 << CLUSTERS) - 1) continue;
        gs_emu_peak peak;
        uint64_t polls;
        end_in_order(order, &peak, &polls);
        assert_int_equal(peak.cluster, 1);
        assert_int_equal(peak.longest, 9);
        assert_true(peak.share == 9 * 4 / 12.0);
        assert_int_equal(polls, 15);
        const uint64_t *const counters = (const uint64_t *)(const void *)&peak.counters;
        for (size_t c = 0; c < sizeof peak.counters / sizeof *counters; c++) assert_int_equal(counters[c], 100 + c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clusters_end_in_any_order)};
    return cmocka_run_group_tests_name("peak", tests, NULL, NULL);
}
