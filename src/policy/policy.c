/* SPDX-License-Identifier: MIT */
#include "policy/policies.h"

#include <string.h>

#include "base/error.h"
#include "learn/weights.h"

/* legend: name, constructor */
static const struct {
    const char *name;
    gs_status (*create)(gs_policy *, uint64_t, gs_error *);
} policies[] = {
    {"enumerate", gs_policy_enumerate},
    {"evolve",    gs_policy_evolve},
    {"hybrid",    gs_policy_hybrid},
    {"learned",   gs_policy_learned},
    {"llm",       gs_policy_llm},
    {"random",    gs_policy_random},
    {"refine",    gs_policy_refine},
    {"spread",    gs_policy_spread},
};

static int find(const char *name)
{
    for (size_t i = 0; i < GS_COUNT(policies); i++)
        if (strcmp(name, policies[i].name) == 0) return (int)i;
    return -1;
}

gs_status gs_policy_check(const char *name, gs_error *error)
{
    if (find(name) >= 0) return GS_OK;
    return gs_fail(error, GS_ERROR_NOT_FOUND, "policy", "there is no policy '%.40s'; there are: enumerate, evolve, hybrid, learned, llm, random, refine, spread", name);
}

const char *gs_policy_usual(const gs_caps *caps) { return !caps->emulated && gs_weights_path_for(caps) ? "learned" : "enumerate"; }

gs_status gs_policy_create(gs_policy *out, const char *name, uint64_t seed, gs_error *error)
{
    *out = (gs_policy){0};
    GS_TRY(gs_policy_check(name, error));
    return policies[find(name)].create(out, seed, error);
}

gs_status gs_policy_create_with(gs_policy *out, const char *name, const gs_llm_options *options, bool keeps, uint64_t seed, gs_error *error)
{
    *out = (gs_policy){0};
    GS_TRY(gs_policy_check(name, error));
    const int which = find(name);
    if (policies[which].create == gs_policy_llm) return gs_policy_llm_with(out, options, seed, error);
    if (policies[which].create == gs_policy_hybrid) return gs_policy_hybrid_with(out, options, keeps, seed, error);
    return policies[which].create(out, seed, error);
}
