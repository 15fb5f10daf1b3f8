/* SPDX-License-Identifier: MIT
 * cuBLASLt as a contender: its first suggestion, or the fastest of all suggestions whose result is right. */
#include "baseline/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cublas/library.h"

typedef struct cublaslt {
    gs_device  *device;
    gs_library *library;       /* for the problem prepared last */
    bool        tune;
    bool        on_device;     /* a call's alpha and beta are in device memory; the library uses the problem's */
    gs_pick_function pick;     /* NULL: none given */
} cublaslt;

/* One suggestion of a shared library object. Its run does not allocate, because every suggestion was chosen once before. */
typedef struct suggestion {
    gs_library *library;
    int         index;
} suggestion;

static gs_status suggestion_run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    const suggestion *const self = contender->self;
    const gs_status status = gs_library_choose(self->library, self->index);
    if (status != GS_OK) return gs_fail(error, status, NULL, "suggestion %d of cuBLASLt cannot be chosen", self->index + 1);
    return gs_library_run(self->library, args, queue, error);
}

static gs_status suggestion_prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    (void)contender;
    (void)problem;
    return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "a suggestion of cuBLASLt belongs to the problem that it was made for");
}

static void suggestion_destroy(gs_contender *contender) { contender->self = NULL; }

/* The suggestions that can be chosen (they accumulate as the problem asks, and their workspace fits into memory), as contenders; returns how many. */
static int list_suggestions(gs_library *library, gs_contender *list, suggestion *self)
{
    int count = 0;
    for (int i = 0; i < gs_library_count(library) && count < GS_LIBRARY_ASKED; i++) {
        if (gs_library_choose(library, i) != GS_OK) continue;
        self[count] = (suggestion){library, i};
        list[count] = (gs_contender){.bitwise = true, .any_order = true, .rounds_products = true, .self = &self[count], .prepare = suggestion_prepare, .run = suggestion_run,
                                     .destroy = suggestion_destroy};
        snprintf(list[count].name, sizeof list[count].name, "cublaslt-%d", i + 1);
        count++;
    }
    return count;
}

static gs_status keep_fastest(cublaslt *self, const gs_problem *problem, gs_contender *list, const suggestion *suggestions,
                              int count, gs_error *error)
{
    double us[GS_LIBRARY_ASKED];
    GS_TRY(self->pick(self->device, problem, list, count, us, error));
    int best = -1;
    for (int i = 0; i < count; i++)
        if (isfinite(us[i]) && (best < 0 || us[i] < us[best])) best = i;
    if (best < 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "none of the %d suggestions of cuBLASLt computes a right result", count);
    return gs_library_choose(self->library, suggestions[best].index);
}

static gs_status tune(cublaslt *self, const gs_problem *problem, gs_error *error)
{
    const int most = gs_library_count(self->library);
    gs_contender *const list = calloc((size_t)most, sizeof *list);
    suggestion *const suggestions = calloc((size_t)most, sizeof *suggestions);
    gs_status status = GS_OK;
    if (!list || !suggestions)
        status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d suggestions of cuBLASLt", most);
    else
        status = keep_fastest(self, problem, list, suggestions, list_suggestions(self->library, list, suggestions), error);
    free(list);
    free(suggestions);
    return status;
}

static gs_status prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    cublaslt *const self = contender->self;
    gs_library_destroy(&self->library);
    gs_problem host = *problem;   /* the library takes alpha and beta from the host; the product is the same */
    host.scalars = GS_SCALARS_HOST;
    self->on_device = problem->scalars == GS_SCALARS_DEVICE;
    GS_TRY(gs_library_create(&self->library, self->device, &host, error));
    if (self->tune) GS_TRY(tune(self, &host, error));
    gs_library_describe(self->library, contender->detail, sizeof contender->detail);
    contender->suggestion = gs_library_chosen(self->library) + 1;
    return GS_OK;
}

static gs_status run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    cublaslt *const self = contender->self;
    if (!self->library) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s was not prepared", contender->name);
    gs_args with = *args;
    if (self->on_device) with.alpha = with.beta = NULL;
    return gs_library_run(self->library, &with, queue, error);
}

static void destroy(gs_contender *contender)
{
    cublaslt *const self = contender->self;
    if (!self) return;
    gs_library_destroy(&self->library);
    free(self);
    contender->self = NULL;
}

gs_status gs_baseline_cublaslt(gs_contender *out, gs_device *device, bool tune_it, gs_pick_function pick, gs_error *error)
{
    if (gs_library_version(error) == 0) return GS_ERROR_NO_LIBRARY;
    cublaslt *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a contender");
    self->device = device;
    self->tune = tune_it;
    self->pick = pick;
    out->self = self;
    out->prepare = prepare;
    out->run = run;
    out->destroy = destroy;
    return GS_OK;
}
