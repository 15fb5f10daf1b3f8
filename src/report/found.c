/* SPDX-License-Identifier: MIT
 * What a training run has found: curves of the trials in its reward service's store, in order of date. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "report/internal.h"
#include "verdict/verdict.h"

enum { POINTS = 200, LAST = 100 };   /* points per curve; trials over which the share of passes is taken */

typedef struct tried {
    char   problem[GS_PROBLEM_TEXT], date[24];
    int64_t id;
    double  ratio;   /* 0: none */
    bool    passed;
} tried;

typedef struct list {
    tried *item;
    int    count, capacity;
    bool   failed;
} list;

/* Skips trials without a verdict. */
static bool take(void *self, const gs_trial *trial)
{
    list *const l = self;
    if (!trial->verdict[0]) return true;
    l->failed = !gs_grow(&l->item, l->count, &l->capacity, sizeof *l->item);
    if (l->failed) return false;
    tried *const t = &l->item[l->count++];
    *t = (tried){.id = trial->id, .passed = gs_verdict_passed(trial->verdict)};
    t->ratio = t->passed && trial->ratio > 0 && isfinite(trial->ratio) ? trial->ratio : 0;
    snprintf(t->problem, sizeof t->problem, "%s", trial->problem);
    snprintf(t->date, sizeof t->date, "%s", trial->date);
    return true;
}

static int by_problem(const void *left, const void *right) { return strcmp(((const tried *)left)->problem, ((const tried *)right)->problem); }

static int by_date(const void *left, const void *right)
{
    const tried *const a = left, *const b = right;
    const int dates = strcmp(a->date, b->date);
    return dates ? dates : (a->id > b->id) - (a->id < b->id);
}

/* Replaces each problem's text by its number, as text; returns the number of problems. */
static int number_problems(list *l)
{
    char last[GS_PROBLEM_TEXT] = "";
    int count = 0;
    qsort(l->item, (size_t)l->count, sizeof *l->item, by_problem);
    for (int i = 0; i < l->count; i++) {
        if (strcmp(l->item[i].problem, last) != 0) {
            snprintf(last, sizeof last, "%s", l->item[i].problem);
            count++;
        }
        snprintf(l->item[i].problem, sizeof l->item[i].problem, "%d", count - 1);
    }
    return count;
}

static gs_status add_curves(gs_curves *curves, const char *device, const list *l, double *best, gs_error *error)
{
    double sum = 0;   /* of the logarithms of the best ratios */
    int found = 0, passed = 0;
    for (int i = 0; i < l->count; i++) {
        const tried *const t = &l->item[i];
        double *const known = &best[atoi(t->problem)];
        if (t->ratio > 0 && !(*known > 0)) found++;
        if (t->ratio > *known) {
            sum += log(t->ratio) - (*known > 0 ? log(*known) : 0);
            *known = t->ratio;
        }
        passed += t->passed - (i >= LAST && l->item[i - LAST].passed);
        if ((int64_t)(i + 1) * POINTS / l->count == (int64_t)i * POINTS / l->count) continue;   /* about POINTS points, always including the last trial */
        if (found > 0) GS_TRY(gs_curves_add(curves, "training/store/best", device, i + 1, exp(sum / found), error));
        GS_TRY(gs_curves_add(curves, "training/store/passed", device, i + 1, passed / fmin(i + 1, LAST), error));
    }
    return GS_OK;
}

gs_status gs_report_add_found(gs_report *r, gs_store *store, const char *device, gs_error *error)
{
    list l = {0};
    gs_curves curves = {0};
    gs_status status = gs_store_trials(store, device, NULL, take, &l, error);
    const int problems = l.count > 0 ? number_problems(&l) : 0;
    if (l.count > 1) qsort(l.item, (size_t)l.count, sizeof *l.item, by_date);
    double *const best = calloc((size_t)problems + 1, sizeof *best);
    if (status == GS_OK && (l.failed || !best)) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for trials");
    if (status == GS_OK) status = add_curves(&curves, device, &l, best, error);
    if (status == GS_OK) gs_report_take_curves(r, &curves, device);
    gs_curves_free(&curves);
    free(best);
    free(l.item);
    return status;
}
