/* SPDX-License-Identifier: MIT
 * The policy "learned": of the schedules that the time model finds fast and of those that the actor says, the ones that the surrogate finds
 * fastest. The weights are those that $GEMMSMITH_WEIGHTS names, else the installed ones, else untrained ones, which leave the order to the
 * time model. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/weights.h"
#include "tune/policies.h"

enum {
    BY_MODEL = 768,   /* looked at, of those that the time model finds fastest */
    BY_ACTOR = 128    /* and so many sentences of the actor's */
};

typedef struct ranked {
    gs_schedule schedule;
    double      us;
} ranked;

typedef struct learned {
    gs_weights weights;
    gs_random  random;
    uint64_t   seed;
    char       problem[GS_PROBLEM_TEXT];   /* whose list this is */
    uint32_t   families;
    ranked    *list;
    int        count, next;
} learned;

static int by_time(const void *left, const void *right)
{
    const ranked *const a = left, *const b = right;
    if (a->us != b->us) return a->us < b->us ? -1 : 1;
    return memcmp(&a->schedule, &b->schedule, sizeof a->schedule);
}

static bool has_twin(const ranked *list, int count, const gs_schedule *schedule)
{
    for (int i = 0; i < count; i++)
        if (gs_schedule_twins(&list[i].schedule, schedule)) return true;
    return false;
}

/* Twins behind the others, each part as it was. */
static gs_status twins_last(learned *self)
{
    ranked *const late = malloc(((size_t)self->count + 1) * sizeof *late);
    int first = 0, later = 0;
    if (!late) return GS_ERROR_MEMORY;
    for (int i = 0; i < self->count; i++) {
        if (has_twin(self->list, first, &self->list[i].schedule))
            late[later++] = self->list[i];
        else
            self->list[first++] = self->list[i];
    }
    memcpy(self->list + first, late, (size_t)later * sizeof *late);
    free(late);
    return GS_OK;
}

static gs_status rank_all(learned *self, const gs_problem *problem, const gs_caps *caps)
{
    const gs_profile profile = gs_profile_of(caps);
    gs_space space;
    free(self->list);
    self->list = NULL;
    self->count = self->next = 0;
    self->random = (gs_random){self->seed};
    GS_TRY(gs_space_create(&space, problem, caps, self->families, NULL));
    self->list = malloc(((size_t)space.count + BY_ACTOR) * sizeof *self->list);
    gs_status status = self->list ? GS_OK : GS_ERROR_MEMORY;
    if (status == GS_OK && space.count > 0) {
        for (int i = 0; i < space.count; i++) self->list[i] = (ranked){space.list[i], gs_schedule_predict(&space.list[i], problem, caps)};
        qsort(self->list, (size_t)space.count, sizeof *self->list, by_time);
        self->count = GS_MIN(space.count, BY_MODEL);
        self->list[self->count++].schedule = gs_actor_best(&self->weights.actor, &space);
        for (int i = 1; i < BY_ACTOR; i++) self->list[self->count++].schedule = gs_actor_say(&self->weights.actor, &space, &self->random, NULL);
        for (int i = 0; i < self->count; i++) self->list[i].us = gs_surrogate_us(&self->weights.surrogate, &self->list[i].schedule, problem, &profile);
        qsort(self->list, (size_t)self->count, sizeof *self->list, by_time);
        int kept = 1;   /* what both named stands there twice */
        for (int i = 1; i < self->count; i++)
            if (memcmp(&self->list[i].schedule, &self->list[kept - 1].schedule, sizeof(gs_schedule)) != 0) self->list[kept++] = self->list[i];
        self->count = kept;
        status = twins_last(self);
    }
    gs_space_free(&space);
    if (status != GS_OK) self->count = 0;
    return status;
}

static int propose(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    learned *const self = policy->self;
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    if (strcmp(text, self->problem) != 0 || policy->families != self->families) {
        memcpy(self->problem, text, strlen(text) + 1);
        self->families = policy->families;
        if (rank_all(self, problem, caps) != GS_OK) return 0;
    }
    int count = 0;
    while (count < most && self->next < self->count) list[count++] = self->list[self->next++].schedule;
    return count;
}

static gs_status save(const gs_policy *policy, const char *path, gs_error *error)
{
    const learned *const self = policy->self;
    return gs_weights_save(&self->weights, path, error);
}

static gs_status load(gs_policy *policy, const char *path, gs_error *error)
{
    learned *const self = policy->self;
    gs_weights weights;
    GS_TRY(gs_weights_load(&weights, path, error));
    gs_weights_free(&self->weights);
    self->weights = weights;
    self->problem[0] = '\0';
    return GS_OK;
}

static void destroy(gs_policy *policy)
{
    learned *const self = policy->self;
    if (self) {
        gs_weights_free(&self->weights);
        free(self->list);
    }
    free(self);
    *policy = (gs_policy){0};
}

gs_status gs_policy_learned(gs_policy *out, uint64_t seed, gs_error *error)
{
    const char *const path = gs_weights_path();
    learned *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the policy");
    self->seed = seed;
    const gs_status status = path ? gs_weights_load(&self->weights, path, error) : gs_weights_create(&self->weights, seed, error);
    if (status != GS_OK) {
        free(self);
        return status;
    }
    *out = (gs_policy){.name = "learned", .self = self, .propose = propose, .save = save, .load = load, .destroy = destroy};
    return GS_OK;
}
