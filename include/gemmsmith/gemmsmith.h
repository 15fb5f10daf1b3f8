/* SPDX-License-Identifier: MIT
 * gemmsmith: half-precision matrix multiplication with kernels that were found, proved and timed on your GPU.
 *
 *     gs_context *context;
 *     gs_open(&context, NULL, NULL);
 *     gs_problem problem = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 4096);
 *     gs_plan *plan;
 *     gs_plan_create(context, &problem, &plan, NULL);
 *     gs_plan_run(plan, &(gs_args){.a = a, .b = b, .d = d}, stream);
 *
 * status.h has the codes, problem.h the words for what is multiplied, plan.h the calls. */
#ifndef GEMMSMITH_H
#define GEMMSMITH_H

#include <gemmsmith/plan.h>
#include <gemmsmith/problem.h>
#include <gemmsmith/status.h>

#define GS_VERSION_MAJOR 0
#define GS_VERSION_MINOR 1
#define GS_VERSION_PATCH 0
#define GS_VERSION_TEXT  "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0": of the library that is loaded, to compare with GS_VERSION_TEXT. */
GS_API const char *gs_version(void);

#ifdef __cplusplus
}
#endif
#endif
