/* SPDX-License-Identifier: MIT
 * Family wave: schedule and problem -> kernels/wave.cu with its defines and manifest. */
#include "base/error.h"
#include "kernel/kernel.h"
#include "schedule/grammar.h"

gs_status gs_kernel_build_wave(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                             gs_error *error)
{
    (void)schedule;
    (void)problem;
    (void)caps;
    kernel->name = "wave.cu";
    return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "wave is being written");
}
