/* SPDX-License-Identifier: MIT
 * The policy "spread": by predicted time, but with the first choices of every family early, so that a search of few candidates
 * does not depend on how well the time model compares families. Families whose best schedule is predicted to be far slower are left out. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/policies.h"

enum { SHORTEST = 16, SHARE = 8 };   /* each family gets an eighth of `most`, at least two */
#define FAR_BEHIND 4.0

typedef struct ranked {
    gs_schedule schedule;
    double      us;
    int         place;    /* rank in its family */
    bool        first;    /* among the first choices guaranteed to its family */
} ranked;

typedef struct spread {
    char         problem[GS_PROBLEM_TEXT];   /* the problem of the list */
    uint32_t     families;
    ranked      *list;
    gs_schedule *batch;
    int          capacity, count, next;
} spread;

/* The guaranteed first choices by time, then the others by time. */
static int by_turn(const void *left, const void *right)
{
    const ranked *const a = left, *const b = right;
    if (a->first != b->first) return a->first ? -1 : 1;
    if (a->us != b->us) return a->us < b->us ? -1 : 1;
    if (a->schedule.family != b->schedule.family) return a->schedule.family < b->schedule.family ? -1 : 1;
    return a->place - b->place;
}

static gs_status make_room(spread *self, int capacity)
{
    if (capacity <= self->capacity) return GS_OK;
    ranked *const list = realloc(self->list, (size_t)capacity * GS_FAMILIES * sizeof *list);
    if (list) self->list = list;
    gs_schedule *const batch = list ? realloc(self->batch, (size_t)capacity * sizeof *batch) : NULL;
    if (!batch) return GS_ERROR_MEMORY;
    self->batch = batch;
    self->capacity = capacity;
    return GS_OK;
}

/* Whether two schedules differ only in compiled-in sizes: then the second is no real alternative. */
static bool twins(const gs_schedule *a, const gs_schedule *b)
{
    if (a->family != b->family) return false;
    for (int parameter = 0; parameter < gs_family_parameters((gs_family_id)a->family); parameter++)
        if (a->value[parameter] != b->value[parameter] && strcmp(gs_family_parameter((gs_family_id)a->family, parameter)->name, "sizes") != 0) return false;
    return true;
}

/* Adds the shortlist of a family; its first `granted` schedules that are no twins are guaranteed a place. */
static void take_family(spread *self, const gs_problem *problem, const gs_caps *caps, int count, int granted)
{
    const int begin = self->count;
    for (int i = 0; i < count; i++) {
        bool first = granted > 0;
        for (int j = begin; j < self->count && first; j++) first = !(self->list[j].first && twins(&self->list[j].schedule, &self->batch[i]));
        granted -= first;
        self->list[self->count++] = (ranked){self->batch[i], gs_schedule_predict(&self->batch[i], problem, caps), i, first};
    }
}

static void rank_all(spread *self, const gs_problem *problem, const gs_caps *caps, int most)
{
    const int each = GS_MAX(most, SHORTEST), granted = GS_MAX(most / SHARE, 2);
    self->count = self->next = 0;
    if (make_room(self, each) != GS_OK) return;
    for (int family = 0; family < GS_FAMILIES; family++)
        if (self->families == 0 || (self->families >> family & 1))
            take_family(self, problem, caps, gs_schedule_shortlist(problem, caps, 1u << family, self->batch, each), granted);
    double best = self->count > 0 ? self->list[0].us : 0;
    for (int i = 1; i < self->count; i++) best = GS_MIN(best, self->list[i].us);
    for (int i = 0; i < self->count; i++) self->list[i].first &= self->list[i].us <= FAR_BEHIND * best;
    qsort(self->list, (size_t)self->count, sizeof *self->list, by_turn);
}

static int propose(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    spread *const self = policy->self;
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    if (strcmp(text, self->problem) != 0 || policy->families != self->families) {
        memcpy(self->problem, text, strlen(text) + 1);
        self->families = policy->families;
        rank_all(self, problem, caps, most);
    }
    int count = 0;
    while (count < most && self->next < self->count) list[count++] = self->list[self->next++].schedule;
    return count;
}

static void destroy(gs_policy *policy)
{
    spread *const self = policy->self;
    if (self) {
        free(self->list);
        free(self->batch);
    }
    free(self);
    *policy = (gs_policy){0};
}

gs_status gs_policy_spread(gs_policy *out, uint64_t seed, gs_error *error)
{
    (void)seed;
    spread *const self = calloc(1, sizeof *self);
    *out = (gs_policy){.name = "spread", .self = self, .propose = propose, .destroy = destroy};
    return self ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the policy");
}
