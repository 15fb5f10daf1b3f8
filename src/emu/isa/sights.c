/* SPDX-License-Identifier: MIT */
#include "emu/isa/sights.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 1024, MOST = 1 << 20 };   /* places; with more, nothing is found any more */

typedef struct sight {
    uint64_t place;   /* 0: unused */
    uint32_t segment, clock;
    int      warp;
} sight;

struct gs_emu_sights {
    sight   *list;    /* open addressing, at most half full */
    uint32_t count, capacity;
};

static sight *slot_of(const gs_emu_sights *sights, uint64_t place, int warp)
{
    uint32_t at = (uint32_t)((place / 4 * 0x9e3779b97f4a7c15ull + (uint64_t)warp * 0xc2b2ae3d27d4eb4full) >> 40) & (sights->capacity - 1);
    while (sights->list[at].place && (sights->list[at].place != place || sights->list[at].warp != warp)) at = (at + 1) & (sights->capacity - 1);
    return &sights->list[at];
}

static bool grow(gs_emu_sights *sights)
{
    const gs_emu_sights before = *sights;
    const uint32_t capacity = before.capacity ? 2 * before.capacity : FIRST;
    sight *const list = capacity > MOST ? NULL : calloc(capacity, sizeof *list);
    if (!list) return false;
    sights->list = list;
    sights->capacity = capacity;
    for (uint32_t i = 0; i < before.capacity; i++)
        if (before.list[i].place) *slot_of(sights, before.list[i].place, before.list[i].warp) = before.list[i];
    free(before.list);
    return true;
}

bool gs_emu_sights_add(gs_emu_sights **sights, uint64_t place, int warp, uint32_t segment, uint32_t clock)
{
    if (!*sights) *sights = calloc(1, sizeof **sights);
    gs_emu_sights *const s = *sights;
    if (!s || (2 * s->count >= s->capacity && !grow(s))) return false;
    sight *const one = slot_of(s, place, warp);
    s->count += !one->place;
    *one = (sight){place, segment, clock, warp};
    return true;
}

uint32_t gs_emu_sights_when(const gs_emu_sights *sights, uint64_t place, int warp, uint32_t segment)
{
    const sight *const s = sights && sights->capacity ? slot_of(sights, place, warp) : NULL;   /* the list is NULL if there was no memory for the first entry */
    return s && s->place && s->segment == segment ? s->clock : 0;
}

void gs_emu_sights_clear(gs_emu_sights *sights)
{
    if (!sights || !sights->capacity) return;
    memset(sights->list, 0, sights->capacity * sizeof *sights->list);
    sights->count = 0;
}

void gs_emu_sights_destroy(gs_emu_sights *sights)
{
    if (sights) free(sights->list);
    free(sights);
}
