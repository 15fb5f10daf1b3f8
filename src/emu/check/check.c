/* SPDX-License-Identifier: MIT
 * The race checker: clocks, vectors, and the functions that the machine calls. */
#include "emu/check/check_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- creation, reset ---- */

static uint32_t padded(uint32_t clocks) { return (clocks + GS_EMU_CHECK_PAD - 1) / GS_EMU_CHECK_PAD * GS_EMU_CHECK_PAD; }

gs_emu_check *gs_emu_check_create(int blocks, int warps, uint32_t shared_bytes, bool publishes, gs_emu_report_fn *report,
                                  gs_emu_describe_fn *describe, void *context)
{
    gs_emu_check *const check = calloc(1, sizeof *check);
    if (!check) return NULL;
    const size_t all_blocks = (size_t)blocks, all_warps = all_blocks * (size_t)warps;
    check->blocks = blocks;
    check->warps = warps;
    check->all_warps = (uint32_t)all_warps;
    check->shared_bytes = shared_bytes;
    check->report = report;
    check->describe = describe;
    check->context = context;
    check->row = padded((uint32_t)(all_warps * GS_EMU_AGENT_KINDS + all_blocks * GS_EMU_CHECK_BARRIERS));
    check->known = calloc(all_warps * check->row, sizeof *check->known);
    check->fenced = calloc(all_warps * check->row, sizeof *check->fenced);
    check->published_row = publishes ? padded((uint32_t)all_warps) : 0;
    check->published = publishes ? calloc(all_warps * check->published_row, sizeof *check->published) : NULL;
    check->clustered_row = blocks > 1 ? padded((uint32_t)all_warps) : 0;
    check->clustered = blocks > 1 ? calloc(all_warps * check->clustered_row, sizeof *check->clustered) : NULL;
    check->copy = calloc(all_warps, sizeof *check->copy);
    check->barrier = calloc(all_blocks * GS_EMU_CHECK_BARRIERS, sizeof *check->barrier);
    check->block_barriers = calloc(all_blocks, sizeof *check->block_barriers);
    if (!gs_emu_shadow_create(check) || !check->known || !check->fenced || (publishes && !check->published) || (blocks > 1 && !check->clustered) || !check->copy || !check->barrier ||
        !check->block_barriers) {
        gs_emu_check_destroy(check);
        return NULL;
    }
    gs_emu_check_reset(check);
    return check;
}

/* Clocks beyond the agents in use are always zero. */
void gs_emu_check_reset(gs_emu_check *check)
{
    const size_t used = padded(check->agents) * sizeof *check->known;
    for (int warp = 0; warp < (int)check->all_warps; warp++) {
        memset(gs_emu_known(check, warp), 0, used);
        memset(gs_emu_fenced(check, warp), 0, used);
        gs_emu_known(check, warp)[gs_emu_generic_agent(warp)] = 1;
    }
    if (check->published) memset(check->published, 0, (size_t)check->all_warps * check->published_row * sizeof *check->published);
    if (check->clustered) memset(check->clustered, 0, (size_t)check->all_warps * check->clustered_row * sizeof *check->clustered);
    check->agents = check->all_warps * GS_EMU_AGENT_KINDS;
    check->barriers = 0;
    memset(check->copy, 0, check->all_warps * sizeof *check->copy);
    memset(check->block_barriers, 0, (size_t)check->blocks * sizeof *check->block_barriers);
    gs_emu_shadow_reset(check);
}

void gs_emu_check_destroy(gs_emu_check *check)
{
    if (!check) return;
    gs_emu_shadow_destroy(check);
    free(check->known);
    free(check->fenced);
    free(check->published);
    free(check->clustered);
    free(check->copy);
    free(check->barrier);
    free(check->block_barriers);
    free(check);
}

/* ---- vectors ---- */

struct gs_emu_vector {
    uint32_t row;       /* clocks in `known` and in `fenced` */
    uint32_t used;      /* clocks in use, a multiple of the pad; the rest is zero */
    uint32_t published, clustered;   /* clocks in `published` and in `clustered` */
    uint32_t clock[];   /* known, fenced, published, clustered */
};

gs_emu_vector *gs_emu_vector_create(const gs_emu_check *check)
{
    gs_emu_vector *const vector = calloc(1, sizeof *vector + (2 * (size_t)check->row + check->published_row + check->clustered_row) * sizeof vector->clock[0]);
    if (!vector) return NULL;
    vector->row = check->row;
    vector->published = check->published_row;
    vector->clustered = check->clustered_row;
    return vector;
}

void gs_emu_vector_destroy(gs_emu_vector *vector) { free(vector); }

void gs_emu_vector_clear(gs_emu_vector *vector)
{
    memset(vector->clock, 0, vector->used * sizeof vector->clock[0]);
    memset(vector->clock + vector->row, 0, vector->used * sizeof vector->clock[0]);
    memset(vector->clock + 2 * vector->row, 0, (vector->published + vector->clustered) * sizeof vector->clock[0]);
    vector->used = 0;
}

/* Element-wise maximum. In pieces of a fixed length, which compilers vectorise. */
static void join(uint32_t *restrict into, const uint32_t *restrict from, uint32_t clocks)
{
    for (uint32_t i = 0; i < clocks; i += GS_EMU_CHECK_PAD)
        for (uint32_t j = 0; j < GS_EMU_CHECK_PAD; j++) into[i + j] = from[i + j] > into[i + j] ? from[i + j] : into[i + j];
}

static void use(gs_emu_vector *vector, uint32_t clocks)
{
    if (vector->used < clocks) vector->used = clocks;
}

void gs_emu_vector_join(gs_emu_vector *into, const gs_emu_vector *from)
{
    if (into == from) return;
    join(into->clock, from->clock, from->used);
    join(into->clock + into->row, from->clock + from->row, from->used);
    join(into->clock + 2 * into->row, from->clock + 2 * from->row, from->published + from->clustered);
    use(into, from->used);
}

/* ---- synchronisation ---- */

static uint32_t *published(const gs_emu_check *check, int warp) { return check->published + (size_t)warp * check->published_row; }

static void raise(uint32_t *clock, uint32_t to)
{
    if (*clock < to) *clock = to;
}

/* Later actions of the warp get a later clock than earlier ones. */
static void tick(gs_emu_check *check, int warp)
{
    uint32_t *const clock = &gs_emu_known(check, warp)[gs_emu_generic_agent(warp)];
    if (*clock < UINT32_MAX) ++*clock;
}

bool gs_emu_check_knows(const gs_emu_check *check, int warp, int block)
{
    const uint32_t *const known = gs_emu_known(check, warp);
    for (int i = block * check->warps; i < (block + 1) * check->warps; i++)
        if (known[gs_emu_generic_agent(i)] > 0 || (check->published && published(check, i)[i] > 0)) return true;
    return false;
}

void gs_emu_check_release(gs_emu_check *check, int warp, gs_emu_vector *into)
{
    const uint32_t clocks = padded(check->agents);
    join(into->clock, gs_emu_known(check, warp), clocks);
    join(into->clock + into->row, gs_emu_fenced(check, warp), clocks);
    if (check->published) join(into->clock + 2 * into->row, published(check, warp), check->published_row);
    if (check->clustered) join(into->clock + 2 * into->row + into->published, gs_emu_clustered(check, warp), check->clustered_row);
    use(into, clocks);
    tick(check, warp);
}

void gs_emu_check_acquire(gs_emu_check *check, int warp, const gs_emu_vector *from)
{
    join(gs_emu_known(check, warp), from->clock, from->used);
    join(gs_emu_fenced(check, warp), from->clock + from->row, from->used);
    if (check->published) join(published(check, warp), from->clock + 2 * from->row, check->published_row);
    if (check->clustered) join(gs_emu_clustered(check, warp), from->clock + 2 * from->row + from->published, check->clustered_row);
}

/* Releases only what the warp's own block did: other blocks release their own. */
void gs_emu_check_to_cluster(gs_emu_check *check, int warp)
{
    const int first = warp / check->warps * check->warps;
    for (int i = first; check->clustered && i < first + check->warps; i++) raise(&gs_emu_clustered(check, warp)[i], gs_emu_known(check, warp)[gs_emu_generic_agent(i)]);
    tick(check, warp);
}

const uint32_t *gs_emu_check_released(const gs_emu_check *check, int warp) { return check->clustered ? gs_emu_clustered(check, warp) : published(check, warp); }

void gs_emu_check_learn(gs_emu_check *check, int warp, const uint32_t *clock)
{
    for (uint32_t i = 0; i < check->all_warps; i++) {
        raise(&gs_emu_known(check, warp)[gs_emu_generic_agent((int)i)], clock[i]);
        if (check->clustered) raise(&gs_emu_clustered(check, warp)[i], clock[i]);
    }
}

void gs_emu_vector_learn(const gs_emu_check *check, gs_emu_vector *into, const uint32_t *clock)
{
    use(into, padded(check->agents));
    for (uint32_t i = 0; i < check->all_warps; i++) {
        raise(&into->clock[gs_emu_generic_agent((int)i)], clock[i]);
        if (check->clustered) raise(&into->clock[2 * into->row + into->published + i], clock[i]);
    }
}

bool gs_emu_check_clustered(const gs_emu_check *check, int by, int warp, uint32_t clock) { return gs_emu_reached(check, by, warp, clock); }

void gs_emu_check_publish(gs_emu_check *check, int warp)
{
    uint32_t *const row = published(check, warp);
    for (uint32_t i = 0; i < check->all_warps; i++) {   /* from other blocks only what they released to this one */
        const uint32_t clock = gs_emu_known(check, warp)[gs_emu_generic_agent((int)i)];
        const bool own = !check->clustered || (int)i / check->warps == warp / check->warps;
        raise(&row[i], own || clock < gs_emu_clustered(check, warp)[i] ? clock : gs_emu_clustered(check, warp)[i]);
    }
    tick(check, warp);
}

const uint32_t *gs_emu_check_published(const gs_emu_check *check, int warp) { return published(check, warp); }

/* The clock ticks, so that writes after the fence are not covered by it. */
void gs_emu_check_fence_async(gs_emu_check *check, int warp)
{
    memcpy(gs_emu_fenced(check, warp), gs_emu_known(check, warp), check->agents * sizeof *check->known);
    tick(check, warp);
}

static uint32_t agent_of(int warp, gs_emu_agent_kind kind) { return (uint32_t)warp * GS_EMU_AGENT_KINDS + kind; }

/* Waiting for a group before the last arrival does not cover that arrival, hence the - 1. */
void gs_emu_check_done(gs_emu_check *check, int warp, gs_emu_agent_kind kind, uint32_t clock)
{
    const gs_emu_copy_clock *const copy = &check->copy[warp];
    if (kind == GS_EMU_AGENT_COPY) clock += copy->arrivals - (clock < copy->arrival_group);
    raise(&gs_emu_known(check, warp)[agent_of(warp, kind)], clock);
}

void gs_emu_check_copies(gs_emu_check *check, int warp, gs_emu_vector *into)
{
    gs_emu_copy_clock *const copy = &check->copy[warp];
    use(into, padded(check->agents));
    raise(&into->clock[agent_of(warp, GS_EMU_AGENT_COPY)], copy->latest);
    if (!copy->fresh) return;
    copy->fresh = false;
    copy->arrivals++;
    copy->arrival_group = copy->group;
}

static uint32_t copy_written(gs_emu_check *check, int warp, uint32_t group)
{
    gs_emu_copy_clock *const copy = &check->copy[warp];
    copy->fresh = true;
    raise(&copy->group, group);
    raise(&copy->latest, group + copy->arrivals);
    return group + copy->arrivals;
}

int gs_emu_check_mbarrier(gs_emu_check *check, int block, uint32_t offset)
{
    const uint32_t first = check->all_warps * GS_EMU_AGENT_KINDS;
    for (uint32_t i = 0; i < check->barriers; i++)
        if (check->barrier[i].block == block && check->barrier[i].offset == offset) return (int)(first + i);
    if (check->block_barriers[block] == GS_EMU_CHECK_BARRIERS) return -1;
    check->block_barriers[block]++;
    check->barrier[check->barriers++] = (gs_emu_check_barrier){block, offset};
    return (int)check->agents++;
}

void gs_emu_check_phase(gs_emu_check *check, int agent, uint32_t clock, gs_emu_vector *into)
{
    if (agent < 0) return;
    use(into, padded(check->agents));
    raise(&into->clock[agent], clock);
}

bool gs_emu_check_known(const gs_emu_check *check, int by, int warp, uint32_t clock)
{
    return gs_emu_known(check, by)[gs_emu_generic_agent(warp)] >= clock;
}

bool gs_emu_check_fenced(const gs_emu_check *check, int by, int warp, uint32_t clock)
{
    return gs_emu_fenced(check, by)[gs_emu_generic_agent(warp)] >= clock;
}

uint32_t gs_emu_check_clock(const gs_emu_check *check, int warp) { return gs_emu_known(check, warp)[gs_emu_generic_agent(warp)]; }

/* ---- accesses ---- */

void gs_emu_check_access(gs_emu_check *check, int warp, uint32_t op, int block, uint32_t offset, uint32_t bytes, gs_emu_access access,
                         gs_emu_agent_kind kind, uint32_t clock)
{
    const bool async = access == GS_EMU_ASYNC_READ || access == GS_EMU_COPY_WRITE;
    gs_emu_action action = {
        .deed = (gs_emu_deed)access, .warp = warp, .block = block, .offset = offset, .bytes = bytes, .op = op,
        .agent = async ? agent_of(warp, kind) : gs_emu_generic_agent(warp),
        .clock = access == GS_EMU_COPY_WRITE ? copy_written(check, warp, clock) : async ? clock : gs_emu_check_clock(check, warp),
    };
    gs_emu_shadow_act(check, &action);
}

void gs_emu_check_copy_begin(gs_emu_check *check, int warp, uint32_t op, int block, uint32_t offset, uint32_t bytes, uint32_t copy)
{
    gs_emu_action action = {
        .deed = GS_EMU_DEED_BULK_WRITE, .warp = warp, .block = block, .offset = offset, .bytes = bytes, .op = op,
        .agent = GS_EMU_AGENT_COPYING, .clock = copy,
    };
    gs_emu_shadow_act(check, &action);
}

void gs_emu_check_copy_end(gs_emu_check *check, int block, uint32_t offset, uint32_t bytes, uint32_t copy, int agent, uint32_t clock)
{
    gs_emu_action action = {
        .deed = GS_EMU_DEED_BULK_END, .block = block, .offset = offset, .bytes = bytes, .agent = GS_EMU_AGENT_COPYING, .clock = copy,
        .heir = agent < 0 ? GS_EMU_AGENT_COPYING : (uint32_t)agent, .heir_clock = clock,
    };
    gs_emu_shadow_act(check, &action);
}
