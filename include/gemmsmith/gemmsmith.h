/* SPDX-License-Identifier: MIT
 * gemmsmith: half-precision matrix multiplication with kernels that were found, proved and timed on your GPU.
 *
 *     gs_context *context;
 *     gs_open(&context, NULL, NULL);
 *     gs_problem problem = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 4096);
 *     gs_plan *plan;
 *     gs_plan_create(context, &problem, &plan, NULL);
 *     gs_args args = gs_args_make(a, b, NULL, d);
 *     gs_plan_run(plan, &args, stream);
 *
 * status.h has the error codes, problem.h describes a multiplication, plan.h has contexts and plans, sequence.h has sequences of plans. */
#ifndef GEMMSMITH_H
#define GEMMSMITH_H

#include <gemmsmith/plan.h>
#include <gemmsmith/problem.h>
#include <gemmsmith/sequence.h>
#include <gemmsmith/status.h>

#define GS_VERSION_MAJOR 1
#define GS_VERSION_MINOR 0
#define GS_VERSION_PATCH 0
#define GS_VERSION_TEXT  "1.0.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the loaded library, such as "1.0.0". GS_VERSION_TEXT is the version of the headers. */
GS_API const char *gs_version(void);

#ifdef __cplusplus
}
#endif
#endif
