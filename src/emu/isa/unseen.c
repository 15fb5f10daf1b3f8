/* SPDX-License-Identifier: MIT */
#include "emu/isa/unseen.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST = 4096,   /* per block, and for ended clusters; further stores become visible at once */
    AT_ONCE = 4    /* one in so many stores becomes visible before those that precede it */
};

typedef struct stored {
    uint8_t *at;
    uint32_t size;
    bool     global;                       /* in global memory; false: in another block's shared memory */
    bool     cluster;                      /* visible to the blocks of its cluster */
    bool     lent;                         /* temporarily in memory, for a load of its own block */
    gs_emu_combine *reduces;               /* reduction with the first 8 of the bytes; NULL: a store */
    uint8_t  bytes[GS_EMU_UNSEEN_BYTES];   /* while a store is lent: the previous contents */
} stored;

struct gs_emu_unseen {
    int            count;
    const uint8_t *from, *to;              /* a range that contains all entries; may be larger than necessary */
    stored         list[MOST];
};

/* Whether other blocks can see the places: global memory, or their own shared memory. */
static bool is_for_others(const gs_emu_warp *w, const gs_emu_reach *reach)
{
    if (reach->space == GS_PTX_GLOBAL) return true;
    for (uint32_t left = reach->space == GS_PTX_GENERIC ? reach->lanes : 0; left; left &= left - 1) {
        const gs_emu_place *const place = &reach->place[__builtin_ctz(left)];
        if (place->space != GS_PTX_GLOBAL && (place->space != GS_PTX_SHARED || place->block == w->block)) return false;
    }
    return reach->space == GS_PTX_GENERIC;
}

/* ---- becoming visible ---- */

static void apply(const stored *one)
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

static bool overlap(const uint8_t *a, uint32_t a_size, const uint8_t *b, uint32_t b_size) { return a < b + b_size && b < a + a_size; }

/* Applies entries that overlap the bytes, in their order; released: only those that were released to the cluster. */
static void show_bytes(struct gs_emu_unseen *unseen, const uint8_t *at, uint32_t size, bool released)
{
    if (at >= unseen->to || at + size <= unseen->from) return;
    int kept = 0;
    for (int i = 0; i < unseen->count; i++) {
        const stored one = unseen->list[i];
        if (!one.lent && (!released || one.cluster) && overlap(at, size, one.at, one.size)) apply(&one);
        else unseen->list[kept++] = one;
    }
    unseen->count = kept;
}

/* Applies one entry, after the earlier entries that overlap it. */
static void show_one(struct gs_emu_unseen *unseen, int which)
{
    const stored one = unseen->list[which];
    int kept = 0;
    while (!overlap(one.at, one.size, unseen->list[kept].at, unseen->list[kept].size)) kept++;   /* stops at the entry itself at the latest */
    for (int i = kept; i < unseen->count; i++) {
        const stored other = unseen->list[i];
        if (i <= which && overlap(one.at, one.size, other.at, other.size)) apply(&other);
        else unseen->list[kept++] = other;
    }
    unseen->count = kept;
}

static void show_all(struct gs_emu_unseen *unseen)
{
    for (int i = 0; i < unseen->count; i++) apply(&unseen->list[i]);
    unseen->count = 0;
    unseen->from = unseen->to = NULL;
}

/* Applies all of the block's stores, and those that other blocks of the cluster released to it. */
void gs_emu_unseen_show(gs_emu_block *block)
{
    for (int b = 0; b < block->cluster->blocks; b++) {
        struct gs_emu_unseen *const unseen = block->cluster->block[b].unseen;
        int kept = 0;
        if (!unseen || !unseen->count) continue;
        for (int i = 0; i < unseen->count; i++) {
            const stored one = unseen->list[i];
            if (b == block->rank || one.cluster) apply(&one);
            else unseen->list[kept++] = one;
        }
        unseen->count = kept;
        block->cluster->quiet_steps = 0;
    }
}

void gs_emu_unseen_show_cluster(gs_emu_block *block)
{
    struct gs_emu_unseen *const unseen = block->unseen;
    int kept = 0;
    for (int i = 0; unseen && i < unseen->count; i++) {
        stored one = unseen->list[i];
        one.cluster = true;
        if (one.global) unseen->list[kept++] = one;
        else apply(&one);
    }
    if (!unseen || unseen->count == kept) return;
    unseen->count = kept;
    block->cluster->quiet_steps = 0;
}

void gs_emu_unseen_release(gs_emu_block *block, uint32_t flags)
{
    if (!(flags & GS_EMU_ACCESS_RELEASE) || flags & GS_EMU_ACCESS_IN_BLOCK) return;
    if (flags & GS_EMU_ACCESS_IN_CLUSTER) gs_emu_unseen_show_cluster(block);
    else gs_emu_unseen_show(block);
}

/* Applies random entries, all of them, or the latest ones in reverse order. stuck: never all. */
static bool show_some(struct gs_emu_unseen *unseen, gs_random *random, bool stuck)
{
    if (!unseen || !unseen->count) return false;
    const bool latest = gs_random_below(random, 2);
    if (!stuck && gs_random_below(random, 4) == 0) {
        show_all(unseen);
        return true;
    }
    for (int left = stuck ? 1 + unseen->count / 4 : 1 + (int)gs_random_below(random, (uint64_t)unseen->count); left > 0 && unseen->count > 0; left--)
        show_one(unseen, latest ? unseen->count - 1 : (int)gs_random_below(random, (uint64_t)unseen->count));
    return true;
}

bool gs_emu_unseen_show_some(gs_emu_cluster *cluster, gs_random *random, bool stuck)
{
    bool any = show_some(cluster->launch->left_behind, random, stuck);
    for (int b = 0; b < cluster->blocks; b++) any |= show_some(cluster->block[b].unseen, random, stuck);
    if (any) cluster->quiet_steps = 0;
    return any;
}

static void touch(struct gs_emu_unseen *unseen, const gs_emu_reach *reach, uint32_t size, bool released)
{
    for (uint32_t left = reach->lanes; unseen && unseen->count && left; left &= left - 1) show_bytes(unseen, reach->at[__builtin_ctz(left)], size, released);
}

void gs_emu_unseen_touch(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size)
{
    for (int b = 0; b < w->cluster->blocks; b++) touch(w->cluster->block[b].unseen, reach, size, b != w->block->rank);
}

void gs_emu_unseen_touch_place(gs_emu_warp *w, const gs_emu_place *place, uint32_t size)
{
    for (int b = 0; b < w->cluster->blocks; b++)
        if (w->cluster->block[b].unseen) show_bytes(w->cluster->block[b].unseen, place->bytes, size, b != w->block->rank);
}

/* ---- a block's view of its own stores ---- */

static bool reads(const gs_emu_reach *reach, uint32_t size, const stored *one)
{
    if (reach->straight) return overlap(reach->at[0], GS_EMU_LANES * size, one->at, one->size);
    for (uint32_t left = reach->lanes; left; left &= left - 1)
        if (overlap(reach->at[__builtin_ctz(left)], size, one->at, one->size)) return true;
    return false;
}

/* Whether a lane reads between the first and the last entry. */
static bool may_read(const struct gs_emu_unseen *unseen, const gs_emu_reach *reach, uint32_t size)
{
    for (uint32_t left = unseen && unseen->count ? reach->lanes : 0; left; left &= left - 1)
        if (reach->at[__builtin_ctz(left)] < unseen->to && reach->at[__builtin_ctz(left)] + size > unseen->from) return true;
    return false;
}

static void exchange(stored *one)
{
    uint8_t there[GS_EMU_UNSEEN_BYTES];
    memcpy(there, one->at, one->size);
    memcpy(one->at, one->bytes, one->size);
    memcpy(one->bytes, there, one->size);
}

bool gs_emu_unseen_lend(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size)
{
    struct gs_emu_unseen *const unseen = w->block->unseen;
    bool any = false, sums = false;
    for (int b = 0; b < w->cluster->blocks; b++)
        if (b != w->block->rank) touch(w->cluster->block[b].unseen, reach, size, true);
    if (!may_read(unseen, reach, size)) return false;
    for (int i = 0; i < unseen->count && !sums; i++) sums = unseen->list[i].reduces && reads(reach, size, &unseen->list[i]);
    if (sums) touch(unseen, reach, size, false);
    for (int i = 0; i < unseen->count; i++) {
        stored *const one = &unseen->list[i];
        if (!reads(reach, size, one)) continue;
        exchange(one);
        one->lent = any = true;
    }
    return any;
}

void gs_emu_unseen_restore(gs_emu_block *block)
{
    for (int i = block->unseen->count - 1; i >= 0; i--) {
        stored *const one = &block->unseen->list[i];
        if (one->lent) exchange(one);
        one->lent = false;
    }
}

/* ---- storing ---- */

bool gs_emu_unseen_has_room(gs_emu_block *block, int entries)
{
    if (!block->unseen) block->unseen = calloc(1, sizeof *block->unseen);
    return block->unseen && block->unseen->count <= MOST - entries;
}

static stored *add(struct gs_emu_unseen *unseen, stored one)
{
    if (!unseen->count || one.at < unseen->from) unseen->from = one.at;
    if (!unseen->count || one.at + one.size > unseen->to) unseen->to = one.at + one.size;
    unseen->list[unseen->count] = one;
    return &unseen->list[unseen->count++];
}

bool gs_emu_unseen_begin(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, uint8_t before[GS_EMU_LANES][GS_EMU_UNSEEN_BYTES])
{
    if (!op->meets || size > GS_EMU_UNSEEN_BYTES || !is_for_others(w, reach)) return false;
    if (!gs_emu_unseen_has_room(w->block, GS_EMU_LANES)) return false;
    for (uint32_t left = reach->lanes; left; left &= left - 1) memcpy(before[__builtin_ctz(left)], reach->at[__builtin_ctz(left)], size);
    return true;
}

void gs_emu_unseen_keep(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size, uint8_t before[GS_EMU_LANES][GS_EMU_UNSEEN_BYTES])
{
    for (uint32_t left = reach->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const bool global = reach->space == GS_PTX_GLOBAL || reach->place[l].space == GS_PTX_GLOBAL;
        stored *const one = add(w->block->unseen, (stored){.at = reach->at[l], .size = size, .global = global});
        memcpy(one->bytes, one->at, size);
    }
    for (uint32_t left = reach->lanes; left; left &= left - 1) memcpy(reach->at[__builtin_ctz(left)], before[__builtin_ctz(left)], size);
    if (gs_random_below(&w->cluster->random, AT_ONCE)) return;
    for (int left = __builtin_popcount(reach->lanes); left > 0 && w->block->unseen->count > 0; left--) show_one(w->block->unseen, w->block->unseen->count - 1);
}

void gs_emu_unseen_reduce(gs_emu_warp *w, uint8_t *at, uint32_t size, gs_emu_combine *function, uint64_t value)
{
    stored *const one = add(w->block->unseen, (stored){.at = at, .size = size, .global = true, .reduces = function});
    memcpy(one->bytes, &value, sizeof value);
}

/* ---- the end ---- */

static void leave(gs_emu_launch *launch, struct gs_emu_unseen *unseen)
{
    struct gs_emu_unseen **const left = &launch->left_behind;
    if (!*left) *left = calloc(1, sizeof **left);
    for (int i = 0; i < unseen->count; i++) {
        if (*left && (*left)->count == MOST) show_all(*left);
        if (*left && unseen->list[i].global) add(*left, unseen->list[i]);
        else apply(&unseen->list[i]);
    }
    unseen->count = 0;
}

void gs_emu_unseen_leave(gs_emu_cluster *cluster)
{
    for (int b = 0; b < cluster->blocks; b++)
        if (cluster->block[b].unseen && cluster->block[b].unseen->count) leave(cluster->launch, cluster->block[b].unseen);
}

void gs_emu_unseen_end(gs_emu_launch *launch)
{
    if (!launch->left_behind) return;
    show_all(launch->left_behind);
    free(launch->left_behind);
    launch->left_behind = NULL;
}

void gs_emu_unseen_free(gs_emu_block *block)
{
    free(block->unseen);
    block->unseen = NULL;
}
