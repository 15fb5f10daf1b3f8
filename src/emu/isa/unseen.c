/* SPDX-License-Identifier: MIT */
#include "emu/isa/unseen.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };   /* of a block; beyond that they are visible at once */

typedef struct stored {
    uint8_t *at;
    uint32_t size;
    gs_emu_combine *reduces;               /* with the first 8 of its bytes; NULL: a store */
    uint8_t  bytes[GS_EMU_UNSEEN_BYTES];
} stored;

struct gs_emu_unseen {
    int     count;
    stored  list[MOST];
};

/* Where other blocks look: global memory, and their own shared memory. */
static bool is_for_others(const gs_emu_warp *w, const gs_emu_reach *reach)
{
    if (reach->space == GS_PTX_GLOBAL) return true;
    for (uint32_t left = reach->space == GS_PTX_GENERIC ? reach->lanes : 0; left; left &= left - 1) {
        const gs_emu_place *const place = &reach->place[__builtin_ctz(left)];
        if (place->space != GS_PTX_GLOBAL && (place->space != GS_PTX_SHARED || place->block == w->block)) return false;
    }
    return reach->space == GS_PTX_GENERIC;
}

bool gs_emu_unseen_has_room(gs_emu_block *block, int entries)
{
    if (!block->unseen) block->unseen = calloc(1, sizeof *block->unseen);
    return block->unseen && block->unseen->count <= MOST - entries;
}

bool gs_emu_unseen_begin(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, uint8_t before[GS_EMU_LANES][GS_EMU_UNSEEN_BYTES])
{
    gs_emu_block *const block = w->block;
    if (!op->meets || size > GS_EMU_UNSEEN_BYTES || !is_for_others(w, reach)) return false;
    if (op->flags & GS_EMU_ACCESS_RELEASE) {
        gs_emu_unseen_show(block);
        return false;
    }
    if (!gs_emu_unseen_has_room(block, GS_EMU_LANES)) return false;
    for (uint32_t left = reach->lanes; left; left &= left - 1) memcpy(before[__builtin_ctz(left)], reach->at[__builtin_ctz(left)], size);
    return true;
}

void gs_emu_unseen_keep(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size, uint8_t before[GS_EMU_LANES][GS_EMU_UNSEEN_BYTES])
{
    struct gs_emu_unseen *const unseen = w->block->unseen;
    for (uint32_t left = reach->lanes; left; left &= left - 1) {
        stored *const one = &unseen->list[unseen->count++];
        one->at = reach->at[__builtin_ctz(left)];
        one->size = size;
        one->reduces = NULL;
        memcpy(one->bytes, one->at, size);
    }
    for (uint32_t left = reach->lanes; left; left &= left - 1) memcpy(reach->at[__builtin_ctz(left)], before[__builtin_ctz(left)], size);
}

void gs_emu_unseen_reduce(gs_emu_warp *w, uint8_t *at, uint32_t size, gs_emu_combine *function, uint64_t value)
{
    stored *const one = &w->block->unseen->list[w->block->unseen->count++];
    *one = (stored){.at = at, .size = size, .reduces = function};
    memcpy(one->bytes, &value, sizeof value);
}

/* Whoever keeps them has one host thread. */
static void show(const stored *one)
{
    uint64_t value = 0, operand;
    memcpy(&operand, one->bytes, sizeof operand);
    if (!one->reduces) {
        memcpy(one->at, one->bytes, one->size);
        return;
    }
    memcpy(&value, one->at, one->size);
    value = one->reduces(value, operand, 0);
    memcpy(one->at, &value, one->size);
}

void gs_emu_unseen_show(gs_emu_block *block)
{
    if (!block->unseen || !block->unseen->count) return;
    for (int i = 0; i < block->unseen->count; i++) show(&block->unseen->list[i]);
    block->unseen->count = 0;
    block->cluster->quiet_steps = 0;
}

void gs_emu_unseen_touch(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size)
{
    const struct gs_emu_unseen *const unseen = w->block->unseen;
    for (int i = 0; unseen && i < unseen->count; i++)
        for (uint32_t left = reach->lanes; left; left &= left - 1) {
            const uint8_t *const at = reach->at[__builtin_ctz(left)];
            if (at + size <= unseen->list[i].at || unseen->list[i].at + unseen->list[i].size <= at) continue;
            gs_emu_unseen_show(w->block);
            return;
        }
}

void gs_emu_unseen_show_all(gs_emu_cluster *cluster)
{
    for (int b = 0; b < cluster->blocks; b++) gs_emu_unseen_show(&cluster->block[b]);
}

void gs_emu_unseen_free(gs_emu_block *block)
{
    free(block->unseen);
    block->unseen = NULL;
}
