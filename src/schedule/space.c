/* SPDX-License-Identifier: MIT */
#include "schedule/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, sizeof(gs_schedule)); }

static gs_status add(gs_space *space, int *capacity, const gs_schedule *schedule, gs_error *error)
{
    if (!gs_grow(&space->list, space->count, capacity, sizeof *space->list)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the valid schedules of a problem");
    space->list[space->count++] = *schedule;
    return GS_OK;
}

gs_status gs_space_create(gs_space *space, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_error *error)
{
    *space = (gs_space){.problem = *problem};
    gs_status status = GS_OK;
    int capacity = 0;
    for (int family = 0; family < GS_FAMILIES && status == GS_OK; family++) {   /* the schedules come in byte order */
        if (families != 0 && !(families >> family & 1)) continue;
        gs_valid valid;
        for (bool more = gs_valid_first(&valid, (gs_family_id)family, problem, caps); more && status == GS_OK; more = gs_valid_next(&valid))
            status = add(space, &capacity, &valid.schedule, error);
    }
    if (status != GS_OK) gs_space_free(space);
    return status;
}

void gs_space_free(gs_space *space)
{
    free(space->list);
    *space = (gs_space){0};
}

int gs_space_find(const gs_space *space, const gs_schedule *schedule)
{
    const gs_schedule *const at = space->count ? bsearch(schedule, space->list, (size_t)space->count, sizeof *schedule, by_bytes) : NULL;
    return at ? (int)(at - space->list) : -1;
}
