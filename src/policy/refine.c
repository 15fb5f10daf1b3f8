/* SPDX-License-Identifier: MIT
 * The policy "refine": starts from the results of earlier searches. First what was found for this problem, then for the problems
 * nearest to it, then alternately a variation of the first of these (one value changed) and a schedule of the shortlist, each by predicted time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "policy/policies.h"
#include "problem/layout.h"

enum { NEIGHBOURS = 2 };           /* 1 / NEIGHBOURS of the candidates come from other problems */
#define OTHER_LAYOUT 0.25          /* another layout counts like an extent that differs by a quarter of an octave */
#define FAR          6.0           /* largest distance: octaves, summed over the extents */

typedef struct near {
    double   distance;
    int      place;
} near;

typedef struct varied {
    gs_schedule schedule;
    double      us;
} varied;

typedef struct refine {
    char         problem[GS_PROBLEM_TEXT];   /* the problem of the list */
    uint32_t     families;
    gs_schedule *list;
    int          capacity, count, next;
} refine;

static bool same_kind(const gs_problem *a, const gs_problem *b)
{
    return a->in == b->in && a->acc == b->acc && a->out == b->out && a->batch == b->batch && gs_same_epilogue(a, b);
}

static double distance(const gs_problem *a, const gs_problem *b)
{
    return fabs(log2((double)a->m / (double)b->m)) + fabs(log2((double)a->n / (double)b->n)) + fabs(log2((double)a->k / (double)b->k)) +
           (a->layout != b->layout ? OTHER_LAYOUT : 0);
}

static int by_distance(const void *left, const void *right)
{
    const near *const a = left, *const b = right;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    return a->place - b->place;
}

static int by_time(const void *left, const void *right)
{
    const varied *const a = left, *const b = right;
    if (a->us != b->us) return a->us < b->us ? -1 : 1;
    return memcmp(&a->schedule, &b->schedule, sizeof a->schedule);
}

/* Adds a schedule to the list; false if it is invalid, of another family, in the list already, or there is no memory. */
static bool take(refine *self, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    if (self->families != 0 && !(self->families >> schedule->family & 1)) return false;
    if (gs_schedule_check(schedule, problem, caps, NULL) != GS_OK) return false;
    for (int i = 0; i < self->count; i++)
        if (memcmp(&self->list[i], schedule, sizeof *schedule) == 0) return false;
    if (!gs_grow(&self->list, self->count, &self->capacity, sizeof *self->list)) return false;
    self->list[self->count++] = *schedule;
    return true;
}

static void take_found(refine *self, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps, int most)
{
    near *const list = malloc(((size_t)policy->found_count + 1) * sizeof *list);
    int count = 0;
    for (int i = 0; list && i < policy->found_count; i++) {
        const gs_problem *const other = &policy->found[i].problem;
        if (!same_kind(other, problem) || other->m < 1 || other->n < 1 || other->k < 1) continue;
        const double far = distance(other, problem);
        if (far <= FAR) list[count++] = (near){far, i};
    }
    if (count > 1) qsort(list, (size_t)count, sizeof *list, by_distance);
    for (int i = 0; i < count && self->count < GS_MAX(most / NEIGHBOURS, 1); i++) take(self, &policy->found[list[i].place].schedule, problem, caps);
    free(list);
}

/* The valid variations of the list's first schedule in one value, by predicted time. The caller frees *out. */
static int vary(const refine *self, const gs_problem *problem, const gs_caps *caps, varied **out)
{
    *out = NULL;
    if (self->count == 0) return 0;
    const gs_schedule from = self->list[0];
    const int parameters = gs_family_parameters((gs_family_id)from.family);
    int count = 0, values = 0;
    for (int parameter = 0; parameter < parameters; parameter++) values += gs_family_parameter((gs_family_id)from.family, parameter)->count;
    varied *const list = malloc(((size_t)values + 1) * sizeof *list);
    for (int parameter = 0; list && parameter < parameters; parameter++)
        for (int value = 0; value < gs_family_parameter((gs_family_id)from.family, parameter)->count; value++) {
            gs_schedule schedule = from;
            schedule.value[parameter] = (uint8_t)value;
            if (gs_schedule_check(&schedule, problem, caps, NULL) == GS_OK) list[count++] = (varied){schedule, gs_schedule_predict(&schedule, problem, caps)};
        }
    if (count > 1) qsort(list, (size_t)count, sizeof *list, by_time);
    *out = list;
    return count;
}

static void take_new(refine *self, const gs_problem *problem, const gs_caps *caps, int most)
{
    varied *near_first;
    const int near_count = vary(self, problem, caps, &near_first);
    gs_schedule *const shortlist = calloc((size_t)most, sizeof *shortlist);
    const int count = shortlist ? gs_schedule_shortlist(problem, caps, self->families, shortlist, most) : 0;
    for (int i = 0, j = 0; i < near_count || j < count;) {
        while (i < near_count && !take(self, &near_first[i++].schedule, problem, caps)) continue;
        while (j < count && !take(self, &shortlist[j++], problem, caps)) continue;
    }
    free(near_first);
    free(shortlist);
}

static int propose(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    refine *const self = policy->self;
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    if (strcmp(text, self->problem) != 0 || policy->families != self->families) {
        memcpy(self->problem, text, strlen(text) + 1);
        self->families = policy->families;
        self->count = self->next = 0;
        take_found(self, policy, problem, caps, most);
        take_new(self, problem, caps, most);
    }
    int count = 0;
    while (count < most && self->next < self->count) list[count++] = self->list[self->next++];
    return count;
}

static void destroy(gs_policy *policy)
{
    refine *const self = policy->self;
    if (self) free(self->list);
    free(self);
    *policy = (gs_policy){0};
}

gs_status gs_policy_refine(gs_policy *out, uint64_t seed, gs_error *error)
{
    (void)seed;
    refine *const self = calloc(1, sizeof *self);
    *out = (gs_policy){.name = "refine", .self = self, .asks_found = true, .builds_on_found = true, .propose = propose, .destroy = destroy};
    return self ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the policy");
}
