/* SPDX-License-Identifier: MIT
 * The constructors of the policies, one file each, <name>.c (random.c also has "evolve"). */
#ifndef GS_POLICY_POLICIES_H
#define GS_POLICY_POLICIES_H

#include "policy/llm.h"
#include "policy/policy.h"

gs_status gs_policy_enumerate(gs_policy *out, uint64_t seed, gs_error *error);
gs_status gs_policy_evolve(gs_policy *out, uint64_t seed, gs_error *error);
gs_status gs_policy_hybrid(gs_policy *out, uint64_t seed, gs_error *error);
gs_status gs_policy_learned(gs_policy *out, uint64_t seed, gs_error *error);
gs_status gs_policy_llm(gs_policy *out, uint64_t seed, gs_error *error);
gs_status gs_policy_random(gs_policy *out, uint64_t seed, gs_error *error);
gs_status gs_policy_refine(gs_policy *out, uint64_t seed, gs_error *error);
gs_status gs_policy_spread(gs_policy *out, uint64_t seed, gs_error *error);

/* "llm" with options (NULL: from the environment). The struct is copied, the strings are not. */
gs_status gs_policy_llm_with(gs_policy *out, const gs_llm_options *options, uint64_t seed, gs_error *error);

/* "hybrid" with these options. keeps: weights will be loaded or saved, so it creates some even if none are installed. */
gs_status gs_policy_hybrid_with(gs_policy *out, const gs_llm_options *options, bool keeps, uint64_t seed, gs_error *error);

#endif
