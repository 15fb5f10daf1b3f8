/* SPDX-License-Identifier: MIT */
#include "routing/routing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "common/datagen.h"
#include "common/groups.h"
#include "problem/layout.h"

#define UNITS (1 << 20)   /* rows that are given to groups one by one; of more rows several at once */

const char *gs_routing_name(gs_routing routing) { return routing == GS_ROUTING_SKEWED ? "skewed" : "random"; }

bool gs_routing_parse(const char *name, gs_routing *out)
{
    *out = strcmp(name, "skewed") == 0 ? GS_ROUTING_SKEWED : GS_ROUTING_EVEN;
    return strcmp(name, gs_routing_name(*out)) == 0;
}

/* The extent that groups divide. */
static int64_t extent_of(const gs_problem *p) { return p->grouping == GS_GROUPS_K ? p->k : p->m; }

/* How much of it belongs to groups. */
static int64_t routed(int64_t m, gs_routing routing, uint64_t seed)
{
    switch (routing) {
    case GS_ROUTING_SHORT: return m - (gs_mix(seed + 4) % 4 ? GS_MIN(m, 1) : gs_pick_below(gs_mix(seed + 1), m / 2 + 1));
    case GS_ROUTING_FEW:   return GS_MIN(m, 1 + gs_pick_below(gs_mix(seed + 1), 3));
    case GS_ROUTING_NONE:  return 0;
    default:               return m;
    }
}

static int64_t group_for(int64_t groups, gs_routing routing, uint64_t seed, int64_t unit)
{
    const uint64_t bits = gs_mix(seed + (uint64_t)unit * 0x9e3779b97f4a7c15ull);
    const double part = (double)(bits >> 11) * 0x1p-53;
    switch (routing) {
    case GS_ROUTING_SKEWED: return (int64_t)((double)groups * part * part * part);
    case GS_ROUTING_LAST: return groups - 1;
    case GS_ROUTING_FIRST: return 0;
    case GS_ROUTING_SPARSE:
    /* One group is always empty: not the first, if there are three, nor the last. A group behind it gets the rows of the empty ones. */
    case GS_ROUTING_BEHIND: {
        const int64_t group = (int64_t)((double)groups * part), before = groups > 2;
        const int64_t empty = groups > 1 ? before + gs_pick_below(gs_mix(seed + 6), groups - 1 - before) : -1;
        const int64_t other = empty + 1 + gs_pick_below(gs_mix(seed + 2), groups - 1 - empty);
        const bool kept = gs_mix(seed + 3 + (uint64_t)group) & 1 && !(routing == GS_ROUTING_BEHIND && group == 0);
        return group != empty && kept ? group : other;
    }
    default: return (int64_t)((double)groups * part);
    }
}

/* Rows of a group for EQUAL and TOKENS, where they do not depend on where other rows go. left: rows not given to a group yet. */
static int64_t rows_of(const gs_problem *p, gs_routing routing, uint64_t seed, int64_t group, int64_t left)
{
    const bool masked = p->grouping == GS_GROUPS_MASKED;
    const int64_t groups = gs_group_count(p), room = masked ? gs_group_room(p) : left, rows = extent_of(p), few = (int64_t)1 << (gs_mix(seed + 7) & 3);
    if (routing == GS_ROUTING_EQUAL) return masked ? (room + 1) / 2 : rows < groups ? group < rows : rows / groups;
    const int64_t eights = 8 * gs_pick_below(gs_mix(seed + 8 + (uint64_t)group), room / 8 + 1);
    if (masked && few > 2 && group == gs_pick_below(gs_mix(seed + 9), groups)) return GS_MIN(1 + gs_pick_below(gs_mix(seed + 10), 3), room);
    return GS_MIN(masked && few == 8 ? eights : few, room);
}

void gs_offsets_draw(const gs_problem *p, gs_routing routing, uint64_t seed, int32_t *offsets)
{
    const int64_t rows = routed(extent_of(p), routing, seed), groups = gs_group_count(p), each = GS_MAX(routing == GS_ROUTING_SPARSE || routing == GS_ROUTING_BEHIND ? 8 : 1, (rows + UNITS - 1) / UNITS);
    const bool masked = p->grouping == GS_GROUPS_MASKED;
    int32_t *const counts = masked ? offsets : offsets + 1;
    memset(offsets, 0, gs_problem_bytes(p, 'f'));
    const bool full = masked && routing == GS_ROUTING_SHORT && gs_mix(seed + 5) & 1;
    const bool own = routing == GS_ROUTING_EQUAL || routing == GS_ROUTING_TOKENS;
    for (int64_t i = 0, left = rows; own && i < groups; left -= counts[i++]) counts[i] = (int32_t)rows_of(p, routing, seed, i, left);
    for (int64_t row = 0; row < rows && !own; row += each) counts[group_for(groups, routing, seed, row / each)] += (int32_t)GS_MIN(each, rows - row);
    for (int64_t i = 0; i < groups; i++) {
        if (masked) counts[i] = (int32_t)(full ? gs_group_room(p) : GS_MIN(counts[i], gs_group_room(p)));
        else offsets[i + 1] += offsets[i];
    }
}

static gs_status new_offsets(const gs_problem *p, int32_t **offsets, gs_error *error)
{
    *offsets = malloc(gs_problem_bytes(p, 'f'));
    return *offsets ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the offsets of %lld groups", (long long)gs_group_count(p));
}

gs_status gs_offsets_put(gs_device *device, const gs_problem *p, gs_routing routing, uint64_t seed, gs_pointer to, gs_error *error)
{
    int32_t *offsets;
    if (!gs_has_offsets(p)) return GS_OK;
    GS_TRY(new_offsets(p, &offsets, error));
    gs_offsets_draw(p, routing, seed, offsets);
    const gs_status status = device->ops->copy_in(device, to, offsets, gs_problem_bytes(p, 'f'), error);
    free(offsets);
    return status;
}

gs_status gs_offsets_get(gs_device *device, const gs_problem *p, gs_pointer from, int32_t **out, gs_error *error)
{
    int32_t *offsets;
    GS_TRY(new_offsets(p, &offsets, error));
    gs_status status = device->ops->copy_out(device, offsets, from, gs_problem_bytes(p, 'f'), error);
    const bool masked = p->grouping == GS_GROUPS_MASKED;
    const int64_t groups = gs_group_count(p);
    bool good = status != GS_OK || masked || (offsets[0] == 0 && offsets[groups] <= extent_of(p));
    for (int64_t i = 0; status == GS_OK && i < groups; i++) good &= masked ? offsets[i] >= 0 && offsets[i] <= gs_group_room(p) : offsets[i] <= offsets[i + 1];
    if (!good && masked) status = gs_fail(error, GS_ERROR_CORRUPT, "offsets", "counts of masked groups must be from 0 to their rows, %lld", (long long)gs_group_room(p));
    else if (!good) status = gs_fail(error, GS_ERROR_CORRUPT, "offsets", "must ascend from 0 to at most %s, %lld", p->grouping == GS_GROUPS_K ? "K" : "M", (long long)extent_of(p));
    if (status == GS_OK) *out = offsets;
    else free(offsets);
    return status;
}

gs_group_terms gs_terms_of_group(const gs_problem *p, const int32_t *offsets, int64_t group)
{
    if (!offsets || p->grouping != GS_GROUPS_K) return (gs_group_terms){0, p->k};
    return (gs_group_terms){offsets[group], offsets[group + 1] - offsets[group]};
}

gs_group_rows gs_rows_of_group(const gs_problem *p, const int32_t *offsets, int64_t group)
{
    if (p->grouping == GS_GROUPS_K) return (gs_group_rows){group * p->m, p->m, 0};
    if (p->grouping == GS_GROUPS_MASKED) return (gs_group_rows){group * gs_group_room(p), offsets[group], gs_group_room(p) - offsets[group]};
    const int64_t end = offsets[group + 1];
    return (gs_group_rows){offsets[group], end - offsets[group], group + 1 == p->groups ? p->m - end : 0};
}

int64_t gs_group_of_row(const gs_problem *p, const int32_t *offsets, int64_t row) { return p->grouping == GS_GROUPS_K ? row / p->m : gs_group_in(offsets, (int)p->groups, gs_group_room(p), row); }

int64_t gs_rows_used(const gs_problem *p, const int32_t *offsets)
{
    int64_t rows = 0;
    if (!offsets || p->grouping == GS_GROUPS_K) return p->m * p->batch;
    for (int64_t i = 0; i < p->groups; i++) rows += gs_rows_of_group(p, offsets, i).rows;
    return rows;
}

int64_t gs_row_used(const gs_problem *p, const int32_t *offsets, int64_t index)
{
    if (!offsets || p->grouping != GS_GROUPS_MASKED) return index;
    int64_t group = 0;
    for (; index >= offsets[group]; group++) index -= offsets[group];
    return group * gs_group_room(p) + index;
}

gs_status gs_rows_written(gs_device *device, const gs_problem *p, gs_pointer offsets, int64_t *rows, gs_error *error)
{
    int32_t end = 0;
    *rows = p->m * p->batch;
    if (!p->groups || p->grouping == GS_GROUPS_MASKED) return GS_OK;
    GS_TRY(device->ops->copy_out(device, &end, offsets + (gs_pointer)p->groups * sizeof end, sizeof end, error));
    *rows = GS_MIN(GS_MAX(end, 0), p->m);
    return GS_OK;
}

gs_status gs_rows_of_sum(gs_device *device, const gs_problem *p, gs_pointer offsets, int64_t vector, gs_group_rows *out, gs_error *error)
{
    const int64_t rows = p->m * p->batch / gs_dbias_vectors(p);
    int32_t *read;
    *out = (gs_group_rows){.first = vector * rows, .rows = rows};
    if (!p->groups) return GS_OK;
    GS_TRY(gs_offsets_get(device, p, offsets, &read, error));
    *out = gs_rows_of_group(p, read, vector);
    free(read);
    return GS_OK;
}
