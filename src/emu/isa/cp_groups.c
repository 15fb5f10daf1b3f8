/* SPDX-License-Identifier: MIT
 * Groups of cp.async. */
#include "emu/isa/cp_groups.h"

#include <stdlib.h>

void gs_emu_copy_free(gs_emu_warp *w)
{
    if (!w->copy) return;
    free(w->copy->under_way);
    free(w->copy);
    w->copy = NULL;
}

static struct gs_emu_copy_state *make_state(void)
{
    struct gs_emu_copy_state *const state = calloc(1, sizeof *state);
    if (!state) return NULL;
    state->rows = 8;
    state->under_way = calloc(state->rows, sizeof *state->under_way);
    if (!state->under_way) {
        free(state);
        return NULL;
    }
    for (int l = 0; l < GS_EMU_LANES; l++) state->oldest[l] = 1;
    return state;
}

uint32_t gs_emu_copy_oldest(struct gs_emu_copy_state *state, int lane)
{
    uint32_t *const oldest = &state->oldest[lane];
    while (*oldest <= state->committed[lane] && state->under_way[*oldest % state->rows][lane] == 0) ++*oldest;
    return *oldest;
}

static bool add_rows(struct gs_emu_copy_state *state)
{
    const uint32_t rows = 2 * state->rows;
    if (rows > 1u << 16) return false;
    uint32_t (*const grown)[GS_EMU_LANES] = calloc(rows, sizeof *grown);
    if (!grown) return false;
    for (int l = 0; l < GS_EMU_LANES; l++)
        for (uint32_t g = state->oldest[l]; g <= state->committed[l] + 1; g++) grown[g % rows][l] = state->under_way[g % state->rows][l];
    free(state->under_way);
    state->under_way = grown;
    state->rows = rows;
    return true;
}

bool gs_emu_copy_room(gs_emu_warp *w, uint32_t lanes, uint32_t more)
{
    if (!w->copy && !(w->copy = make_state())) return false;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        while (w->copy->committed[l] + 1 + more - gs_emu_copy_oldest(w->copy, l) >= w->copy->rows)
            if (!add_rows(w->copy)) return false;
    }
    return true;
}

bool gs_emu_copy_idle(const gs_emu_warp *w, uint32_t lanes)
{
    struct gs_emu_copy_state *const state = w->copy;
    if (!state) return true;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint32_t open = state->committed[l] + 1;
        if (gs_emu_copy_oldest(state, l) < open || state->under_way[open % state->rows][l]) return false;
    }
    return true;
}
