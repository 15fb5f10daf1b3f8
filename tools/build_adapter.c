/* SPDX-License-Identifier: MIT
 * Wraps one build of the library in three functions for tools/compare_builds.c: compiled against the headers of that build and linked with it.
 * docs/performance/builds has the commands. */
#include <stdio.h>
#include <gemmsmith/gemmsmith.h>

__attribute__((visibility("default"))) const char *build_open(const char *device);
__attribute__((visibility("default"))) const char *build_plan(const char *problem, const char *schedule, void **plan);
__attribute__((visibility("default"))) int         build_run(void *plan, const void *a, const void *b, const void *c, void *d, void *stream);

static gs_context *context;
static gs_error    error;

/* Returns NULL, or the error message. */
const char *build_open(const char *device)
{
    gs_config config = gs_config_default();
    config.device = device;
    return gs_open(&context, &config, &error) == GS_OK ? NULL : error.text;
}

const char *build_plan(const char *problem, const char *schedule, void **plan)
{
    gs_problem parsed;
    if (gs_problem_parse(&parsed, problem, &error) != GS_OK) return error.text;
    return gs_plan_create_schedule(context, &parsed, schedule, (gs_plan **)plan, &error) == GS_OK ? NULL : error.text;
}

int build_run(void *plan, const void *a, const void *b, const void *c, void *d, void *stream)
{
#if GS_VERSION_MAJOR > 0 || GS_VERSION_MINOR > 1
    const gs_args args = gs_args_make(a, b, c, d);
#else
    const gs_args args = {.a = a, .b = b, .c = c, .d = d};
#endif
    return (int)gs_plan_run(plan, &args, stream);
}
