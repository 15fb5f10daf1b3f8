/* SPDX-License-Identifier: MIT
 * cuBLASLt on groups: one call for each group that has rows, in sequence, or distributed over several queues that fork from the caller's queue and join it again, so
 * that a captured graph has parallel branches. Groups of similar size share an algorithm, the one that cublaslt-autotuning finds for a product of about so many rows.
 * An epilogue that cuBLASLt does not support is computed by one kernel after all calls. */
#include "baseline/internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "cublas/library.h"
#include "problem/layout.h"

/* ---- results of tuning ---- */

/* Results are kept as long as the process lives: other problems have groups of the same sizes, and tuning takes longer than timing. */
#define KEPT 1024
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept {
    char text[GS_PROBLEM_TEXT], device[GS_DEVICE_NAME];
    int  suggestion;   /* from 1 */
} *kept[KEPT];
static int kept_count;

/* The suggestion that was fastest; 0: unknown. */
static int recall(const gs_device *device, const char *text)
{
    int found = 0;
    pthread_mutex_lock(&kept_lock);
    for (int i = 0; i < kept_count && !found; i++)
        if (!strcmp(kept[i]->text, text) && !strcmp(kept[i]->device, device->name)) found = kept[i]->suggestion;
    pthread_mutex_unlock(&kept_lock);
    return found;
}

static void keep(const gs_device *device, const char *text, int suggestion)
{
    struct kept *const one = calloc(1, sizeof *one);
    if (!one) return;
    snprintf(one->text, sizeof one->text, "%s", text);
    snprintf(one->device, sizeof one->device, "%s", device->name);
    one->suggestion = suggestion;
    pthread_mutex_lock(&kept_lock);
    const bool room = kept_count < KEPT;
    if (room) kept[kept_count++] = one;
    pthread_mutex_unlock(&kept_lock);
    if (!room) free(one);
}

/* ---- the contender ---- */

/* The product for a number of rows. */
typedef struct size {
    int64_t     rows;
    gs_library *library;
} size;

typedef struct sizes {
    size *list;
    int   count, capacity;
} sizes;

typedef struct cublaslt_groups {
    gs_device       *device;
    gs_pick_function pick;
    gs_problem       problem;    /* the product, without the epilogue */
    gs_behind        behind;
    gs_expected      expected;
    sizes            tuned;      /* by number of rows, rounded, that products were tuned for */
    sizes            exact;      /* by exact number of rows of a group; entries that are also in `tuned` are freed there */
    gs_pointer       workspace;
    size_t           workspace_bytes;   /* per branch, whose calls run in sequence */
    int              branches;   /* including the caller's queue, which is branch 0 */
    gs_queue         queue[GS_BRANCHES];    /* [0]: unused */
    gs_event         ended[GS_BRANCHES];    /* [0]: the fork */
} cublaslt_groups;

static gs_library *find(const sizes *in, int64_t rows)
{
    for (int i = 0; i < in->count; i++)
        if (in->list[i].rows == rows) return in->list[i].library;
    return NULL;
}

static gs_status add(sizes *to, int64_t rows, gs_library *library, gs_error *error)
{
    if (!gs_grow(&to->list, to->count, &to->capacity, sizeof *to->list)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the sizes of groups");
    to->list[to->count++] = (size){rows, library};
    return GS_OK;
}

static void forget(cublaslt_groups *self)
{
    for (int i = 0; i < self->exact.count; i++)
        if (find(&self->tuned, self->exact.list[i].rows) != self->exact.list[i].library) gs_library_destroy(&self->exact.list[i].library);
    for (int i = 0; i < self->tuned.count; i++) gs_library_destroy(&self->tuned.list[i].library);
    free(self->exact.list);
    free(self->tuned.list);
    self->exact = self->tuned = (sizes){0};
    if (self->workspace) self->device->ops->free(self->device, self->workspace);
    self->workspace = 0;
    self->workspace_bytes = 0;
    gs_expected_free(&self->expected);
}

/* ---- branches ---- */

static void close_branches(cublaslt_groups *self)
{
    for (int i = 0; i < self->branches; i++) {
        if (self->queue[i]) self->device->ops->queue_destroy(self->device, self->queue[i]);
        if (self->ended[i]) self->device->ops->event_destroy(self->device, self->ended[i]);
        self->queue[i] = NULL;
        self->ended[i] = NULL;
    }
}

static gs_status open_branches(cublaslt_groups *self, gs_error *error)
{
    const gs_device_ops *const ops = self->device->ops;
    if (self->branches == 1 || self->ended[0]) return GS_OK;
    if (!ops->queue_follow) return gs_fail(error, GS_ERROR_UNSUPPORTED, "device", "%s has no queues that wait for each other", self->device->name);
    gs_status status = GS_OK;
    for (int i = 0; i < self->branches && status == GS_OK; i++) {
        if (i > 0) status = ops->queue_create(self->device, &self->queue[i], error);
        if (status == GS_OK) status = ops->event_create(self->device, &self->ended[i], error);
    }
    if (status != GS_OK) close_branches(self);
    return status;
}

/* Makes the first `branches` queues wait for the caller's queue. */
static gs_status fork_branches(const cublaslt_groups *self, int branches, gs_queue queue, gs_error *error)
{
    const gs_device_ops *const ops = self->device->ops;
    if (branches > 1) GS_TRY(ops->event_record(self->device, self->ended[0], queue, error));
    for (int i = 1; i < branches; i++) GS_TRY(ops->queue_follow(self->device, self->queue[i], self->ended[0], error));
    return GS_OK;
}

static gs_status join_branches(const cublaslt_groups *self, int branches, gs_queue queue, gs_error *error)
{
    const gs_device_ops *const ops = self->device->ops;
    for (int i = 1; i < branches; i++) {
        GS_TRY(ops->event_record(self->device, self->ended[i], self->queue[i], error));
        GS_TRY(ops->queue_follow(self->device, queue, self->ended[i], error));
    }
    return GS_OK;
}

/* ---- the contender's calls ---- */

/* The epilogues that cuBLASLt, or a kernel after each of its calls, must compute because a kernel after all calls cannot; and those that cuBLASLt fuses. */
static bool each_has_its_own(const gs_problem *p)
{
    const bool known = p->activation == GS_ACTIVATION_NONE || p->activation == GS_RELU || p->activation == GS_GELU;
    return p->bias == GS_BIAS_N || p->scales || (p->beta != 0 && !p->residual) || (known && !p->gate && !p->residual && !p->aux && p->bias != GS_BIAS_M);
}

static gs_status prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    cublaslt_groups *const self = contender->self;
    forget(self);
    gs_behind_close(&self->behind, self->device);
    if (!self->pick) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "cublaslt-groups needs a timing function: give gs_baseline_create one");
    GS_TRY(gs_baseline_check_groups(problem, error));
    GS_TRY(open_branches(self, error));
    /* creating it for the largest possible group tells whether the library supports such products */
    GS_TRY(gs_behind_open(&self->behind, self->device, problem, each_has_its_own(problem), error));
    const gs_problem most = gs_group_problem(&self->behind.product, problem->m);
    gs_library *library;
    GS_TRY(gs_library_create(&library, self->device, &most, error));
    gs_library_destroy(&library);
    self->problem = self->behind.product;
    snprintf(contender->detail, sizeof contender->detail, "one cublasLtMatmul per group");
    return GS_OK;
}

/* At most 4 rows unchanged, else rounded up to the next of 6, 8, 12, 16, 24, ... rows. */
static int64_t about(int64_t rows)
{
    int64_t power = 1;
    if (rows <= 4) return rows;
    while (power < rows) power *= 2;
    return rows <= power / 4 * 3 ? power / 4 * 3 : power;
}

static gs_status tune(cublaslt_groups *self, const gs_problem *one, const char *text, gs_library *library, gs_error *error)
{
    gs_contender tuned = {0};
    GS_TRY(gs_baseline_cublaslt(&tuned, self->device, true, self->pick, error));
    const gs_status status = tuned.prepare(&tuned, one, error);
    const int suggestion = tuned.suggestion;
    tuned.destroy(&tuned);
    GS_TRY(status);
    keep(self->device, text, suggestion);
    return gs_library_choose(library, suggestion - 1) == GS_OK ? GS_OK : gs_fail(error, GS_ERROR_LIBRARY, NULL, "cuBLASLt suggested something else for %s", text);
}

/* The product for this number of rows with the fastest algorithm. */
static gs_status tuned_of(cublaslt_groups *self, int64_t rows, gs_library **out, gs_error *error)
{
    *out = find(&self->tuned, rows);
    if (*out) return GS_OK;
    const gs_problem one = gs_group_problem(&self->problem, rows);
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(&one, text);
    const int known = recall(self->device, text);
    gs_library *library;
    GS_TRY(gs_library_create(&library, self->device, &one, error));
    gs_status status = known && gs_library_choose(library, known - 1) == GS_OK ? GS_OK : tune(self, &one, text, library, error);
    if (status == GS_OK) status = add(&self->tuned, rows, library, error);
    if (status == GS_OK) *out = library;
    else gs_library_destroy(&library);
    return status;
}

/* That algorithm for the exact number of rows of a group; if it does not support it, the library's own choice. */
static gs_status make_exact(cublaslt_groups *self, int64_t rows, gs_error *error)
{
    gs_library *like, *library;
    if (find(&self->exact, rows)) return GS_OK;
    GS_TRY(tuned_of(self, about(rows), &like, error));
    if (about(rows) == rows) {
        library = like;
    } else if (gs_library_create_like(&library, like, rows, NULL) != GS_OK) {
        const gs_problem one = gs_group_problem(&self->problem, rows);
        GS_TRY(gs_library_create(&library, self->device, &one, error));
    }
    self->workspace_bytes = GS_MAX(self->workspace_bytes, gs_library_workspace(library));
    const gs_status status = add(&self->exact, rows, library, error);
    if (status != GS_OK && library != like) gs_library_destroy(&library);
    return status;
}

static gs_status expect(gs_contender *contender, const gs_args *args, const int32_t *offsets, int sets, gs_error *error)
{
    cublaslt_groups *const self = contender->self;
    forget(self);
    GS_TRY(gs_expected_set(&self->expected, &self->problem, args, offsets, sets, error));
    gs_status status = GS_OK;
    for (int set = 0; set < sets; set++)
        for (int64_t group = 0; group < self->problem.groups && status == GS_OK; group++) {
            const int32_t *const of = gs_expected_offsets(&self->expected, set) + group;
            if (of[1] > of[0]) status = make_exact(self, of[1] - of[0], error);
        }
    self->workspace_bytes = (self->workspace_bytes + 255) / 256 * 256;
    if (status == GS_OK && self->workspace_bytes) status = self->device->ops->alloc(self->device, self->workspace_bytes * (size_t)self->branches, &self->workspace, error);
    if (status != GS_OK) {
        forget(self);
        return status;
    }
    snprintf(contender->detail, sizeof contender->detail, "one cublasLtMatmul per group, %d sizes of groups, algorithms of %d, %d at once", self->exact.count, self->tuned.count,
             self->branches);
    return GS_OK;
}

/* A failed call only ends the loop: the caller must still join the branches, or an enclosing capture becomes invalid. */
static gs_status multiply(const cublaslt_groups *self, const gs_args *args, const int32_t *offsets, int branches, gs_queue queue, gs_error *error)
{
    const gs_problem *const p = &self->problem;
    gs_status status = GS_OK;
    for (int64_t group = 0, turn = 0; group < p->groups && status == GS_OK; group++) {
        const int64_t rows = offsets[group + 1] - offsets[group];
        if (rows == 0) continue;
        const int branch = (int)(turn++ % branches);
        gs_args one = gs_group_args(p, args, group, offsets[group]);
        one.workspace = (void *)(uintptr_t)(self->workspace + (gs_pointer)branch * self->workspace_bytes);
        status = gs_library_run(find(&self->exact, rows), &one, branch ? self->queue[branch] : queue, error);
    }
    return status;
}

static gs_status run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    cublaslt_groups *const self = contender->self;
    const gs_problem *const p = &self->problem;
    int set;
    GS_TRY(gs_expected_find(&self->expected, args, &set, error));
    const int32_t *const offsets = gs_expected_offsets(&self->expected, set);
    const gs_args product = gs_behind_args(&self->behind, args);
    int filled = 0;
    for (int64_t group = 0; group < p->groups; group++) filled += offsets[group + 1] > offsets[group];
    const int branches = GS_MAX(GS_MIN(self->branches, filled), 1);
    GS_TRY(fork_branches(self, branches, queue, error));
    const gs_status multiplied = multiply(self, &product, offsets, branches, queue, error);
    const gs_status joined = join_branches(self, branches, queue, multiplied == GS_OK ? error : NULL);
    GS_TRY(multiplied);
    GS_TRY(joined);
    return gs_behind_run(&self->behind, args, offsets[p->groups], queue, error);
}

static void destroy(gs_contender *contender)
{
    cublaslt_groups *const self = contender->self;
    if (!self) return;
    forget(self);
    gs_behind_close(&self->behind, self->device);
    close_branches(self);
    free(self);
    contender->self = NULL;
}

gs_status gs_baseline_cublaslt_groups(gs_contender *out, gs_device *device, int branches, gs_pick_function pick, gs_error *error)
{
    if (gs_library_version(error) == 0) return GS_ERROR_NO_LIBRARY;
    cublaslt_groups *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a contender");
    self->device = device;
    self->pick = pick;
    self->branches = branches;
    out->self = self;
    out->prepare = prepare;
    out->expect = expect;
    out->run = run;
    out->destroy = destroy;
    return GS_OK;
}
