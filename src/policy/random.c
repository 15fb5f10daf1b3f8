/* SPDX-License-Identifier: MIT
 * The policies "random" and "evolve", which know only which schedules are valid. random draws uniformly. evolve draws the first FIRST at random, then
 * proposes children of the fastest observed schedules: one with one or two values changed, or a mix of the values of two of the same family. */
#include <stdlib.h>

#include "base/error.h"
#include "base/random.h"
#include "policy/policies.h"
#include "policy/visited.h"

enum {
    FIRST     = 8,     /* drawn at random before children are made */
    PARENTS   = 4,     /* number of fastest schedules that have children */
    TRIES     = 64     /* attempts to make a valid new child before one is drawn at random */
};

typedef struct observed {
    gs_schedule schedule;
    double      us;
} observed;

typedef struct drawing {
    gs_random random;
    uint64_t  seed;
    bool      evolves;
    gs_visited  visited;
    observed      best[PARENTS];   /* fastest first */
    int       best_count;
} drawing;

static bool begin(drawing *self, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps)
{
    if (!gs_visited_other(&self->visited, policy, problem)) return self->visited.at != NULL;
    self->random = (gs_random){self->seed};
    self->best_count = 0;
    return gs_visited_begin(&self->visited, policy, problem, caps);
}

/* The index of a random schedule that was not visited yet; there must be one. */
static int draw(drawing *self)
{
    const int count = self->visited.space.count;
    int at = (int)gs_random_below(&self->random, (uint64_t)count);
    while (self->visited.at[at]) at = (at + 1) % count;
    return at;
}

static void change_word(drawing *self, gs_schedule *schedule)
{
    const gs_family_id family = (gs_family_id)schedule->family;
    if (gs_family_parameters(family) == 0) return;
    const int parameter = (int)gs_random_below(&self->random, (uint64_t)gs_family_parameters(family));
    schedule->value[parameter] = (uint8_t)gs_random_below(&self->random, (uint64_t)gs_family_parameter(family, parameter)->count);
}

static int child(drawing *self)
{
    for (int i = 0; i < TRIES; i++) {
        const observed *const a = &self->best[gs_random_below(&self->random, (uint64_t)self->best_count)];
        const observed *const b = &self->best[gs_random_below(&self->random, (uint64_t)self->best_count)];
        gs_schedule next = a->schedule;
        if (a != b && b->schedule.family == next.family && gs_random_below(&self->random, 2))
            for (int parameter = 0; parameter < GS_MAX_PARAMETERS; parameter++)
                if (gs_random_below(&self->random, 2)) next.value[parameter] = b->schedule.value[parameter];
        change_word(self, &next);
        if (gs_random_below(&self->random, 3) == 0) change_word(self, &next);
        const int at = gs_space_find(&self->visited.space, &next);
        if (at >= 0 && !self->visited.at[at]) return at;
    }
    return draw(self);
}

static int propose(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    drawing *const self = policy->self;
    if (!begin(self, policy, problem, caps)) return 0;
    int count = 0;
    gs_visited *const visited = &self->visited;
    while (count < most && visited->count < visited->space.count) {
        list[count] = visited->space.list[self->evolves && visited->count >= FIRST && self->best_count > 0 ? child(self) : draw(self)];
        gs_visited_add(visited, &list[count++]);
    }
    return count;
}

static void learn(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, const gs_feedback *feedback, int count)
{
    drawing *const self = policy->self;
    if (!begin(self, policy, problem, caps)) return;
    for (int i = 0; i < count; i++) {
        const observed next = {feedback[i].schedule, feedback[i].us};
        gs_visited_add(&self->visited, &next.schedule);
        if (!(next.us > 0) || gs_space_find(&self->visited.space, &next.schedule) < 0) continue;
        int at = self->best_count < PARENTS ? self->best_count++ : next.us < self->best[PARENTS - 1].us ? PARENTS - 1 : -1;
        for (; at > 0 && self->best[at - 1].us > next.us; at--) self->best[at] = self->best[at - 1];
        if (at >= 0) self->best[at] = next;
    }
}

static void destroy(gs_policy *policy)
{
    drawing *const self = policy->self;
    if (self) gs_visited_free(&self->visited);
    free(self);
    *policy = (gs_policy){0};
}

static gs_status create(gs_policy *out, const char *name, bool evolves, uint64_t seed, gs_error *error)
{
    drawing *const self = calloc(1, sizeof *self);
    if (self) *self = (drawing){.seed = seed, .evolves = evolves};
    *out = (gs_policy){.name = name, .self = self, .propose = propose, .learn = evolves ? learn : NULL, .destroy = destroy};
    return self ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the policy");
}

gs_status gs_policy_random(gs_policy *out, uint64_t seed, gs_error *error) { return create(out, "random", false, seed, error); }
gs_status gs_policy_evolve(gs_policy *out, uint64_t seed, gs_error *error) { return create(out, "evolve", true, seed, error); }
