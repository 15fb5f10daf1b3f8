/* SPDX-License-Identifier: MIT
 * The peak of a launch is the cluster whose warp executed most instructions; among equals, the one with the lowest number. Several host threads run clusters, which end
 * in any order: in every order the peak and its figures, and the sum of polls, must be the same. */
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

/* Steps of each warp, and polls of each block's first warp. The longest warps, of 9 steps, are in clusters 1 and 3: the peak is cluster 1. */
static const struct { uint64_t steps[BLOCKS][WARPS]; uint64_t polls[BLOCKS]; } sample[CLUSTERS] = {
    {{{5, 6}, {7, 8}}, {1, 0}}, {{{9, 1}, {1, 1}}, {0, 2}}, {{{2, 2}, {2, 2}}, {4, 0}}, {{{1, 1}, {1, 9}}, {0, 8}}};

/* Counter c grows by 100 * id + c while cluster id runs. */
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
        memset(&cluster->counters, 1, sizeof cluster->counters);   /* left by earlier clusters; must not be counted */
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
        if (seen != (1 << CLUSTERS) - 1) continue;   /* a cluster occurs twice */
        gs_emu_peak peak;
        uint64_t polls;
        end_in_order(order, &peak, &polls);
        assert_int_equal(peak.cluster, 1);
        assert_int_equal(peak.longest, 9);
        assert_true(peak.share == 9 * 4 / 12.0);   /* the longest warp over the mean of the cluster's four warps */
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
