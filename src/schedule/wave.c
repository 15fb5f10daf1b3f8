/* SPDX-License-Identifier: MIT
 * Which sentences of family wave are valid for a problem, and what they ask of a multiprocessor. Mirrors kernels/wave.cu. */
#include "base/error.h"
#include "schedule/grammar.h"

gs_status gs_check_wave(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    (void)schedule;
    (void)problem;
    (void)caps;
    return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "wave is being written");
}

gs_resources gs_resources_wave(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    (void)schedule;
    (void)problem;
    (void)caps;
    return (gs_resources){.threads = 32, .registers = 255, .blocks_sm = 1, .cluster = 1};
}
