/* SPDX-License-Identifier: MIT
 * Networks and spaces of schedules for tests. Included after cmocka. */
#ifndef TESTS_NETWORKS_H
#define TESTS_NETWORKS_H

#include "base/random.h"
#include "learn/weights.h"
#include "schedule/space.h"
#include "texts.h"

static inline const gs_caps *h200(void) { return gs_caps_find("h200"); }

static inline void random_weights(gs_net *net, uint64_t seed)
{
    gs_random random = {seed};
    for (int i = 0; i < net->count; i++) net->weights[i] = (float)(gs_random_unit(&random) - 0.5);
}

static inline void fresh(gs_weights *weights) { assert_int_equal(gs_weights_create(weights, 1, 3, NULL), GS_OK); }

static inline void space_of(gs_space *space, const char *problem, uint32_t families)
{
    const gs_problem p = problem_of(problem);
    assert_int_equal(gs_space_create(space, &p, h200(), families, NULL), GS_OK);
    assert_true(space->count > 1);
}

#endif
