/* SPDX-License-Identifier: MIT
 * Chooses how the groups of a problem lie in each launch. */
#include <stdlib.h>

#include "base/error.h"
#include "problem/layout.h"
#include "routing/routing.h"
#include "verify/check_run.h"

/* At the requested size nearly every style of groups occurs, whatever the seed (skewed and equal groups by turns), so that a kernel that is wrong with one of them only at that
 * size is detected. Normal data are judged as a whole and need more than a few rows, single products need most of K. Along K an empty group's matrix is beta C, which has inf and
 * NaN in the range data. */
static gs_routing routing_asked(const gs_check_run *trial, int kind)
{
    const bool along_k = trial->problem.grouping == GS_GROUPS_K;
    const uint64_t bits = gs_mix(trial->seed + 0x923f82a4u), first = bits % 3;
    const bool last = bits >> 20 & 3;   /* either way the first group is empty in one launch and later ones have rows */
    const gs_routing one = last ? GS_ROUTING_LAST : GS_ROUTING_FIRST, sparse = last ? GS_ROUTING_SPARSE : GS_ROUTING_BEHIND, turns[] = {GS_ROUTING_SHORT, one, sparse};
    const gs_routing as_timed = trial->problem.grouping == GS_GROUPS_MASKED && bits >> 18 & 1 ? GS_ROUTING_SHORT : GS_ROUTING_EVEN;   /* masked groups may also all be full */
    switch (kind) {
    case GS_VALUES_INTEGER: return along_k ? sparse : turns[first];
    case GS_VALUES_CANCEL:  return along_k ? bits & 1 ? GS_ROUTING_SHORT : GS_ROUTING_FEW : turns[(first + 1) % 3];
    case GS_VALUES_RANGE:   return along_k ? sparse : turns[(first + 2) % 3];
    case GS_VALUES_INDEX:   return along_k ? one : bits >> 17 & 1 ? GS_ROUTING_TOKENS : GS_ROUTING_FEW;
    default:                return trial->in_order ? as_timed : bits >> 16 & 1 ? GS_ROUTING_SKEWED : GS_ROUTING_EQUAL;
    }
}

/* Edge problems rotate through all styles; now and then there is no row at all. */
static gs_routing routing_edge(gs_check_run *trial, int kind, uint64_t turn)
{
    const uint64_t styles = kind == GS_VALUES_NORMAL ? GS_ROUTING_FEW : GS_ROUTINGS;
    if (gs_mix(trial->seed + (uint64_t)trial->problem.m) % 12 == 0) return GS_ROUTING_NONE;
    return (gs_routing)((trial->seed % GS_ROUTINGS + (uint64_t)kind + turn) % styles);
}

gs_status gs_check_run_route(gs_check_run *trial, int kind, gs_error *error)
{
    const bool in_turn = trial->bare && trial->problem.grouping != GS_GROUPS_K;   /* part 8 rotates through all styles */
    const uint64_t turn = trial->edge || in_turn ? (uint64_t)trial->routes++ : 0;
    const uint64_t seed = gs_mix(trial->seed + 0x5be0cd19u + (uint64_t)kind + turn);
    const gs_routing routing = trial->no_rows ? GS_ROUTING_NONE : in_turn ? (gs_routing)((trial->seed + turn) % GS_ROUTINGS) : trial->edge ? routing_edge(trial, kind, turn) : routing_asked(trial, kind);
    if (!gs_has_offsets(&trial->problem) || trial->explains) return GS_OK;
    GS_TRY(trial->verifier->device->ops->queue_wait(trial->verifier->device, trial->verifier->queue, error));
    GS_TRY(gs_offsets_put(trial->verifier->device, &trial->problem, routing, seed, trial->operand[5].at, error));
    free(trial->offsets);
    trial->offsets = NULL;
    return gs_offsets_get(trial->verifier->device, &trial->problem, trial->operand[5].at, &trial->offsets, error);
}
