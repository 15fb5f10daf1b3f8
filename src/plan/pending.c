/* SPDX-License-Identifier: MIT
 * Plans that are made in the background, one thread each. */
#include "plan/plan_internal.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "problem/sized.h"

struct gs_pending {
    pthread_t   thread;
    atomic_bool ready;
    gs_context *context;
    gs_problem  problem;
    gs_plan    *plan;
    gs_status   status;
    gs_error    error;
};

static void *work(void *argument)
{
    gs_pending *const pending = argument;
    pending->status = gs_plan_create(pending->context, &pending->problem, &pending->plan, &pending->error);
    atomic_store_explicit(&pending->ready, true, memory_order_release);
    return NULL;
}

gs_status gs_plan_start(gs_context *context, const gs_problem *problem, gs_pending **out, gs_error *error)
{
    if (!out) return gs_fail(error, GS_ERROR_ARGUMENT, "out", "must not be NULL");
    *out = NULL;
    if (!context || !problem) return gs_fail(error, GS_ERROR_ARGUMENT, context ? "problem" : "context", "must not be NULL");
    GS_TRY(gs_problem_check(problem, error));
    gs_pending *const pending = calloc(1, sizeof *pending);
    if (!pending) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a plan");
    pending->context = context;
    gs_sized_copy(&pending->problem, problem, sizeof pending->problem);
    if (pthread_create(&pending->thread, NULL, work, pending) != 0) {
        free(pending);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no thread can be started");
    }
    *out = pending;
    return GS_OK;
}

int gs_plan_ready(const gs_pending *pending) { return pending && atomic_load_explicit(&pending->ready, memory_order_acquire); }

gs_status gs_plan_wait(gs_pending **address, gs_plan **out, gs_error *error)
{
    if (out) *out = NULL;
    if (!address || !*address || !out) return gs_fail(error, GS_ERROR_ARGUMENT, out ? "pending" : "out", "must not be NULL");
    gs_pending *const pending = *address;
    pthread_join(pending->thread, NULL);
    const gs_status status = pending->status;
    if (status != GS_OK && error) *error = pending->error;
    *out = pending->plan;
    free(pending);
    *address = NULL;
    return status;
}
