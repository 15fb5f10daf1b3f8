/* SPDX-License-Identifier: MIT
 * The policy "enumerate": the time model's shortlist (which has variety), then all other valid schedules by predicted time. It does not learn. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/policies.h"

typedef struct ranked {
    gs_schedule schedule;
    double      us;
    int         place;       /* order in the grammar, for ties; below 0: in the shortlist */
} ranked;

typedef struct enumerate {
    char         problem[GS_PROBLEM_TEXT];   /* the problem of the list */
    uint32_t     families;
    gs_schedule *first;                      /* the shortlist */
    int          shortlisted;
    bool         whole;                      /* list was made; usually the shortlist is enough */
    ranked      *list;                       /* all valid schedules, the shortlist first */
    int          capacity, count, next;
} enumerate;

enum { SHORTEST = 16 };

/* Number of schedules of all families, valid or not. */
static int schedule_strings(void)
{
    int total = 0;
    for (int family = 0; family < GS_FAMILIES; family++) {
        int product = 1;
        for (int parameter = 0; parameter < gs_family_parameters((gs_family_id)family); parameter++)
            product *= gs_family_parameter((gs_family_id)family, parameter)->count;
        total += product;
    }
    return total;
}

static int by_time(const void *left, const void *right)
{
    const ranked *const a = left, *const b = right;
    if (a->us != b->us) return a->us < b->us ? -1 : 1;
    return a->place - b->place;
}

/* By time, but the shortlist (place below 0) first, in its order. */
static int by_place(const void *left, const void *right)
{
    const ranked *const a = left, *const b = right;
    return a->place < 0 || b->place < 0 ? (a->place > b->place) - (a->place < b->place) : by_time(left, right);
}

static void rank_all(enumerate *self, const gs_problem *problem, const gs_caps *caps)
{
    self->count = 0;
    self->whole = true;
    for (int family = 0; family < GS_FAMILIES; family++) {
        if (self->families != 0 && !(self->families >> family & 1)) continue;
        gs_valid valid;
        for (bool more = gs_valid_first(&valid, (gs_family_id)family, problem, caps); more; more = gs_valid_next(&valid)) {
            ranked *const r = &self->list[self->count];
            *r = (ranked){valid.schedule, gs_schedule_predict(&valid.schedule, problem, caps), self->count};
            for (int i = 0; i < self->shortlisted; i++)
                if (memcmp(&self->first[i], &valid.schedule, sizeof valid.schedule) == 0) r->place = i - self->shortlisted;
            self->count++;
        }
    }
    qsort(self->list, (size_t)self->count, sizeof *self->list, by_place);
}

static int propose(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    enumerate *const self = policy->self;
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    if (strcmp(text, self->problem) != 0 || policy->families != self->families) {
        memcpy(self->problem, text, strlen(text) + 1);
        self->families = policy->families;
        self->shortlisted = gs_schedule_shortlist(problem, caps, self->families, self->first, GS_MIN(GS_MAX(most, SHORTEST), self->capacity));
        self->next = 0;
        self->whole = false;
    }
    int count = 0;
    while (count < most && self->next < self->shortlisted) list[count++] = self->first[self->next++];
    if (count < most && !self->whole) rank_all(self, problem, caps);
    while (count < most && self->next < self->count) list[count++] = self->list[self->next++].schedule;
    return count;
}

static void destroy(gs_policy *policy)
{
    enumerate *const self = policy->self;
    if (self) {
        free(self->list);
        free(self->first);
    }
    free(self);
    *policy = (gs_policy){0};
}

gs_status gs_policy_enumerate(gs_policy *out, uint64_t seed, gs_error *error)
{
    (void)seed;
    enumerate *const self = calloc(1, sizeof *self);
    *out = (gs_policy){.name = "enumerate", .self = self, .propose = propose, .destroy = destroy};
    if (self) {
        self->capacity = schedule_strings();
        self->list = calloc((size_t)self->capacity, sizeof *self->list);
        self->first = calloc((size_t)self->capacity, sizeof *self->first);
    }
    if (self && self->list && self->first) return GS_OK;
    destroy(out);
    return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the policy");
}
