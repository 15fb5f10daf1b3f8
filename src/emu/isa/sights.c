/* SPDX-License-Identifier: MIT */
#include "emu/isa/sights.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 4096, PROBES = 16 };

typedef struct sight {
    uint64_t place;   /* 0: unused */
    uint32_t segment;
    int      warp;
} sight;

struct gs_emu_sights {
    sight list[PLACES];
};

/* Where it is, or would be: a free place, or that of another one. */
static uint32_t slot_of(const gs_emu_sights *sights, uint64_t place, int warp)
{
    const uint32_t first = (uint32_t)((place / 4 * 0x9e3779b97f4a7c15ull + (uint64_t)warp * 0xc2b2ae3d27d4eb4full) >> 40);
    for (uint32_t i = 0; i < PROBES; i++) {
        const sight *const s = &sights->list[(first + i) % PLACES];
        if (!s->place || (s->place == place && s->warp == warp)) return (first + i) % PLACES;
    }
    return first % PLACES;
}

bool gs_emu_sights_add(gs_emu_sights **sights, uint64_t place, int warp, uint32_t segment)
{
    if (!*sights) *sights = calloc(1, sizeof **sights);
    if (*sights) (*sights)->list[slot_of(*sights, place, warp)] = (sight){place, segment, warp};
    return *sights != NULL;
}

bool gs_emu_sights_has(const gs_emu_sights *sights, uint64_t place, int warp, uint32_t segment)
{
    const sight *const s = sights ? &sights->list[slot_of(sights, place, warp)] : NULL;
    return s && s->place == place && s->warp == warp && s->segment == segment;
}

void gs_emu_sights_clear(gs_emu_sights *sights)
{
    if (sights) memset(sights, 0, sizeof *sights);
}

void gs_emu_sights_destroy(gs_emu_sights *sights) { free(sights); }
