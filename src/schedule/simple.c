/* SPDX-License-Identifier: MIT
 * Rules of the family "simple": one thread per element, so only an epilogue is beyond it. */
#include "base/error.h"
#include "schedule/grammar.h"

#define THREADS   256
#define REGISTERS 64   /* upper bound: pointers, indices, one accumulator, a few loads in flight */

gs_status gs_check_simple(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    (void)schedule, (void)caps;
    if (problem->epilogue != GS_EPILOGUE_NONE) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "simple has no epilogue");
    return GS_OK;
}

gs_resources gs_resources_simple(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    (void)schedule, (void)problem;
    const int blocks = GS_MIN(caps->threads_sm / THREADS, caps->registers_sm / (THREADS * REGISTERS));
    return (gs_resources){.threads = THREADS, .registers = REGISTERS, .smem = 0, .blocks_sm = GS_MAX(blocks, 1), .cluster = 1};
}
