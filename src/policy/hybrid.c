/* SPDX-License-Identifier: MIT
 * The policy "hybrid": alternates between "learned" ("evolve" without weights) and "llm". The active policy proposes a batch and keeps the turn until it has
 * learned the outcomes. Both learn from everything: a question shows what the weights found, and the weights learn from the answers. If a policy has nothing
 * to propose at the start of its turn (endpoint gone, budget used up, everything proposed), the other one takes the turn. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/weights.h"
#include "policy/policies.h"

enum { MEMBERS = 2 };

typedef struct hybrid {
    gs_policy member[MEMBERS];            /* in the order of turns */
    char      problem[GS_PROBLEM_TEXT];
    int       turn;                       /* index of the active member */
    bool      waits;                      /* it has proposed schedules and not yet learned the outcomes */
    int       last_most;                  /* `most` of its last proposal */
} hybrid;

static void begin(hybrid *self, const gs_policy *policy, const gs_problem *problem)
{
    char text[GS_PROBLEM_TEXT];
    for (int i = 0; i < MEMBERS; i++) {
        self->member[i].families = policy->families;
        self->member[i].found = policy->found;
        self->member[i].found_count = policy->found_count;
    }
    if (strcmp(gs_problem_format(problem, text), self->problem) == 0) return;
    memcpy(self->problem, text, strlen(text) + 1);
    self->turn = 0;
    self->waits = false;
}

static int propose(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    hybrid *const self = policy->self;
    begin(self, policy, problem);
    const bool goes_on = self->waits && most < self->last_most;   /* the caller used only part of the proposals and asks for the rest */
    int count = 0;
    for (int tries = 0; tries < MEMBERS && count == 0; tries++) {
        if (tries > 0) self->turn = (self->turn + 1) % MEMBERS;
        gs_policy *const m = &self->member[self->turn];
        count = m->propose(m, problem, caps, list, most);
        if (goes_on) break;
    }
    self->waits = goes_on || count > 0;
    self->last_most = most;
    return count;
}

static void learn(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, const gs_feedback *feedback, int count)
{
    hybrid *const self = policy->self;
    begin(self, policy, problem);
    for (int i = 0; i < MEMBERS; i++) self->member[i].learn(&self->member[i], problem, caps, feedback, count);
    if (self->waits) self->turn = (self->turn + 1) % MEMBERS;
    self->waits = false;
}

static void judged(gs_policy *policy, const gs_schedule *schedule, gs_verdict_code verdict)
{
    hybrid *const self = policy->self;
    for (int i = 0; i < MEMBERS; i++)
        if (self->member[i].judged) self->member[i].judged(&self->member[i], schedule, verdict);
}

static gs_status save(gs_policy *policy, const char *path, gs_error *error)
{
    gs_policy *const learned = &((hybrid *)policy->self)->member[0];
    return learned->save(learned, path, error);
}

static gs_status load(gs_policy *policy, const char *path, gs_error *error)
{
    gs_policy *const learned = &((hybrid *)policy->self)->member[0];
    return learned->load(learned, path, error);
}

static void destroy(gs_policy *policy)
{
    hybrid *const self = policy->self;
    for (int i = 0; self && i < MEMBERS; i++)
        if (self->member[i].destroy) self->member[i].destroy(&self->member[i]);
    free(self);
    *policy = (gs_policy){0};
}

gs_status gs_policy_hybrid_with(gs_policy *out, const gs_llm_options *options, bool keeps, uint64_t seed, gs_error *error)
{
    hybrid *const self = calloc(1, sizeof *self);
    const bool weights = keeps || gs_weights_path();
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the policy");
    *out = (gs_policy){.name = "hybrid", .self = self, .one_by_one = true, .propose = propose, .learn = learn, .judged = judged, .destroy = destroy};
    if (weights) {
        out->save = save;
        out->load = load;
    }
    gs_status status = (weights ? gs_policy_learned : gs_policy_evolve)(&self->member[0], seed, error);
    if (status == GS_OK) status = gs_policy_llm_with(&self->member[1], options, seed, error);
    out->asks_found = self->member[0].asks_found;
    if (status != GS_OK) destroy(out);
    return status;
}

gs_status gs_policy_hybrid(gs_policy *out, uint64_t seed, gs_error *error) { return gs_policy_hybrid_with(out, NULL, false, seed, error); }
