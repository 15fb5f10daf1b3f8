/* SPDX-License-Identifier: MIT
 * "cublaslt-autotuning", the contender that our kernels are compared with. For a single product: cuBLASLt with its fastest suggestion. For groups: the fastest of
 * NVIDIA's ways to compute them whose result is right. */
#include "baseline/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cublas/library.h"

typedef struct reference {
    gs_device       *device;
    gs_pick_function pick;
    gs_contender     way;         /* the chosen contender; all zero before prepare */
    bool             on_device;   /* for groups: a call's alpha and beta are in device memory; the contender uses the problem's */
} reference;

/* ---- groups ---- */

enum { IN_TURN, AT_ONCE, ONE_CALL, WAYS };

static gs_status create(gs_contender *out, const reference *self, int which, gs_error *error)
{
    static const char *const names[WAYS] = {"cublaslt-groups", "cublaslt-groups-8", "cublas-groups"};
    *out = (gs_contender){0};
    GS_TRY(which == ONE_CALL ? gs_baseline_cublas_groups(out, self->device, error)
                             : gs_baseline_cublaslt_groups(out, self->device, which == AT_ONCE ? GS_BRANCHES : 1, self->pick, error));
    snprintf(out->name, sizeof out->name, "%s", names[which]);
    out->any_order = out->rounds_products = out->bitwise = true;
    return GS_OK;
}

/* Ways that do not support the problem, or are missing in this version of a library, are left out. *refused keeps the error of the first way, for the case that none
 * is left. */
static gs_status prepare_all(gs_contender *list, int *count, const reference *self, const gs_problem *problem, gs_error *refused, gs_error *error)
{
    *count = 0;
    for (int i = 0; i < WAYS; i++) {
        gs_contender *const way = &list[*count];
        gs_error why = {0};
        gs_status status = create(way, self, i, &why);
        const bool created = status == GS_OK;
        if (created) status = way->prepare(way, problem, &why);
        *count += status == GS_OK;
        if (status == GS_OK) continue;
        if (created) way->destroy(way);
        if (i == 0) *refused = why;
        if (status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_NO_LIBRARY) continue;
        if (error) *error = why;
        return status;
    }
    return GS_OK;
}

static gs_status choose(const double *us, int count, int *best, gs_error *error)
{
    *best = -1;
    for (int i = 0; i < count; i++)
        if (isfinite(us[i]) && (*best < 0 || us[i] < us[*best])) *best = i;
    return *best >= 0 ? GS_OK : gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "none of the %d ways in which NVIDIA's libraries take these groups computes a right result", count);
}

static gs_status fastest_of_groups(const reference *self, const gs_problem *problem, gs_contender *out, gs_error *error)
{
    gs_contender list[WAYS];
    double us[WAYS];
    int count, best = -1;
    gs_error refused = {0};
    gs_status status = prepare_all(list, &count, self, problem, &refused, error);
    if (status == GS_OK && count == 0) status = gs_fail(error, GS_ERROR_UNSUPPORTED, refused.field, "%s", refused.text);
    if (status == GS_OK) status = self->pick(self->device, problem, list, count, us, error);
    if (status == GS_OK) status = choose(us, count, &best, error);
    if (status == GS_OK) {
        *out = list[best];
        list[best] = list[--count];
    }
    for (int i = 0; i < count; i++) list[i].destroy(&list[i]);
    return status;
}

/* ---- the contender ---- */

static void forget(reference *self)
{
    if (self->way.destroy) self->way.destroy(&self->way);
    self->way = (gs_contender){0};
}

static gs_status prepare_groups(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    reference *const self = contender->self;
    gs_problem host = *problem;
    host.scalars = GS_SCALARS_HOST;
    self->on_device = problem->scalars == GS_SCALARS_DEVICE;
    GS_TRY(fastest_of_groups(self, &host, &self->way, error));
    snprintf(contender->detail, sizeof contender->detail, "%.20s: %.130s", self->way.name, self->way.detail);
    contender->suggestion = 0;
    return GS_OK;
}

static gs_status prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    reference *const self = contender->self;
    forget(self);
    if (!self->pick) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "cublaslt-autotuning needs a timing function: give gs_baseline_create one");
    self->on_device = false;
    if (problem->groups) return prepare_groups(contender, problem, error);
    GS_TRY(gs_baseline_cublaslt(&self->way, self->device, true, self->pick, error));
    const gs_status status = self->way.prepare(&self->way, problem, error);
    if (status != GS_OK) {
        forget(self);
        return status;
    }
    snprintf(contender->detail, sizeof contender->detail, "%s", self->way.detail);
    contender->suggestion = self->way.suggestion;
    return GS_OK;
}

static gs_status run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    reference *const self = contender->self;
    if (!self->way.run) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s was not prepared", contender->name);
    gs_args with = *args;
    if (self->on_device) with.alpha = with.beta = NULL;
    return self->way.run(&self->way, &with, queue, error);
}

/* Called for problems with groups only. */
static gs_status expect(gs_contender *contender, const gs_args *args, const int32_t *offsets, int sets, gs_error *error)
{
    reference *const self = contender->self;
    return self->way.expect(&self->way, args, offsets, sets, error);
}

static void destroy(gs_contender *contender)
{
    if (!contender->self) return;
    forget(contender->self);
    free(contender->self);
    contender->self = NULL;
}

gs_status gs_baseline_reference(gs_contender *out, gs_device *device, gs_pick_function pick, gs_error *error)
{
    if (gs_library_version(error) == 0) return GS_ERROR_NO_LIBRARY;
    reference *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a contender");
    self->device = device;
    self->pick = pick;
    out->self = self;
    out->prepare = prepare;
    out->run = run;
    out->expect = expect;
    out->destroy = destroy;
    return GS_OK;
}
