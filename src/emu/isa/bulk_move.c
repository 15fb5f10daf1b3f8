/* SPDX-License-Identifier: MIT
 * Pending bulk copies. Their bytes move in two to four steps, row by row in random order, so that code which does not wait for the end sees only a part of them. */
#include "emu/isa/bulk.h"

#include <stdlib.h>
#include <string.h>

#define POISON_OF_256 128u      /* how often, of 256, a load overwrites its destination with NaN before any data arrive */
#define POISON        0x7fffu   /* NaN in f16, in bf16 and, twice, in f32 */

/* Rows in random order, distributed over a number of steps. */
typedef struct shuffle {
    uint32_t rows, done;
    uint32_t start, stride;     /* row i of the order is start + i * stride modulo rows; stride and rows are coprime */
    uint32_t step, steps;
} shuffle;

static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static shuffle draw(gs_emu_cluster *cluster, uint32_t rows, uint32_t steps)
{
    shuffle s = {.rows = rows, .stride = 1, .steps = steps};
    if (rows < 2) return s;
    s.start = (uint32_t)gs_random_below(&cluster->random, rows);
    s.stride = 1 + (uint32_t)gs_random_below(&cluster->random, rows - 1);
    while (divisor(rows, s.stride) != 1) s.stride++;   /* ends at rows + 1 at the latest */
    return s;
}

/* Begins the next step; returns the number of rows done after it. */
static uint32_t goal(shuffle *s)
{
    s->step++;
    return s->step >= s->steps ? s->rows : (uint32_t)((uint64_t)s->rows * s->step / s->steps);
}

static uint32_t next_row(shuffle *s) { return (uint32_t)((s->start + (uint64_t)s->done++ * s->stride) % s->rows); }

/* Most pieces are 16 bytes, which every swizzle keeps together. */
static void copy_piece(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if (bytes == 16)
        memcpy(to, from, 16);
    else
        memmove(to, from, bytes);
}

/* ---- loads ---- */

typedef struct load {
    gs_emu_task      task;
    const gs_emu_op *op;
    gs_emu_tile      tile;
    gs_emu_block    *from, *to;
    gs_emu_mbarrier *barrier;
    uint32_t         copy;      /* number of the copy, for the checker */
    shuffle          order;
} load;

static void spoil(const load *l)
{
    const uint16_t poison = POISON;
    for (uint32_t row = 0; row < l->tile.rows; row++) {
        gs_emu_piece piece[GS_EMU_PIECES];
        const int pieces = gs_emu_tile_pieces(&l->tile, row, piece);
        for (int i = 0; i < pieces; i++)
            for (uint32_t at = 0; at + 2 <= piece[i].bytes; at += 2) memcpy(l->to->shared + piece[i].shared + at, &poison, 2);
    }
}

static void load_row(gs_emu_cluster *cluster, const load *l, uint32_t row)
{
    gs_emu_piece piece[GS_EMU_PIECES];
    const int pieces = gs_emu_tile_pieces(&l->tile, row, piece);
    uint64_t address = 0;
    uint32_t bytes = 0;
    const uint8_t *from = NULL;
    if (gs_emu_tile_row(&l->tile, row, &address, &bytes)) {
        const gs_emu_allocation *const a = l->from ? NULL : gs_emu_memory_find(cluster->launch->memory, address, bytes);
        from = l->from ? l->from->shared + address : a ? a->bytes + (address - a->address) : NULL;
        if (a) gs_emu_memory_touch(a, address, bytes, false);
    }
    for (int i = 0; i < pieces; i++) {
        uint8_t *const to = l->to->shared + piece[i].shared;
        if (piece[i].inside && from)
            copy_piece(to, from + (piece[i].address - address), piece[i].bytes);
        else
            gs_emu_tile_fill(&l->tile, to, piece[i].bytes);
    }
}

typedef struct ending {
    gs_emu_check *check;
    const load   *load;
} ending;

static void end_range(void *context, uint32_t offset, uint32_t bytes)
{
    const ending *const e = context;
    const load *const l = e->load;
    gs_emu_check_copy_end(e->check, l->to->rank, offset, bytes, l->copy, gs_emu_mbarrier_agent(l->barrier), gs_emu_mbarrier_clock(l->barrier));
}

static void finish_load(gs_emu_cluster *cluster, load *l)
{
    ending e = {cluster->check, l};
    if (e.check) gs_emu_tile_ranges(&l->tile, false, end_range, &e);
    if (l->from) l->from->copies_in--;
    l->to->copies_in--;
    gs_emu_mbarrier_complete(cluster, l->barrier, gs_emu_tile_bytes(&l->tile), l->op);
    gs_emu_happened(cluster);
}

static bool step_load(gs_emu_cluster *cluster, gs_emu_task *task)
{
    load *const l = (load *)task;
    if (l->order.step == 0 && gs_emu_chance(cluster, POISON_OF_256)) spoil(l);
    const uint32_t until = goal(&l->order);
    while (l->order.done < until) load_row(cluster, l, next_row(&l->order));
    if (l->order.step < l->order.steps) return false;
    finish_load(cluster, l);
    return true;
}

bool gs_emu_bulk_load(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_tile *tile, gs_emu_block *from, gs_emu_block *to, gs_emu_mbarrier *barrier,
                      uint32_t copy)
{
    gs_emu_cluster *const cluster = w->cluster;
    load *const l = calloc(1, sizeof *l);
    if (!l) return false;
    l->task.step = step_load;
    l->op = op;
    l->tile = *tile;
    l->from = from;
    l->to = to;
    l->barrier = barrier;
    l->copy = copy;
    l->order = draw(cluster, tile->rows, 2 + (uint32_t)gs_random_below(&cluster->random, 3));
    if (!gs_emu_task_add(cluster, &l->task)) return false;
    if (from) from->copies_in++;
    to->copies_in++;
    return true;
}

/* ---- stores and reductions ---- */

struct gs_emu_bulk_store {
    gs_emu_task      task;
    gs_emu_tile      tile;
    gs_emu_block    *block;
    struct gs_emu_bulk_state *state;
    gs_emu_bulk_store *previous, *next;   /* in the warp's list */
    shuffle          reading, writing;
    int              lane;
    uint32_t         group;
    gs_emu_reduction reduction;
    gs_ptx_type      type;
    uint8_t          data[];              /* rows, one after the other, not swizzled */
};

bool gs_emu_bulk_pending(const struct gs_emu_bulk_state *state, uint32_t lanes, uint32_t pending, bool only_read)
{
    for (const gs_emu_bulk_store *s = state->first; s; s = s->next) {
        const uint32_t committed = state->committed[s->lane];
        if (!(lanes >> s->lane & 1) || committed < pending || s->group > committed - pending) continue;
        if (!only_read || s->reading.done < s->reading.rows) return true;
    }
    return false;
}

static void read_row(gs_emu_bulk_store *s, uint32_t row)
{
    gs_emu_piece piece[GS_EMU_PIECES];
    const int pieces = gs_emu_tile_pieces(&s->tile, row, piece);
    uint8_t *const to = s->data + (size_t)row * s->tile.box[0];
    for (int i = 0; i < pieces; i++)
        if (piece[i].inside) copy_piece(to + piece[i].at, s->block->shared + piece[i].shared, piece[i].bytes);
}

static void write_row(gs_emu_cluster *cluster, const gs_emu_bulk_store *s, uint32_t row)
{
    const uint8_t *const from = s->data + (size_t)row * s->tile.box[0];   /* stores never begin before the tensor */
    uint64_t address;
    uint32_t bytes;
    if (!gs_emu_tile_row(&s->tile, row, &address, &bytes)) return;
    const gs_emu_allocation *const a = gs_emu_memory_find(cluster->launch->memory, address, bytes);
    if (!a) return;   /* cannot happen: checked at issue */
    uint8_t *const to = a->bytes + (address - a->address);
    if (s->reduction == GS_EMU_REDUCE_NONE)
        memcpy(to, from, bytes);
    else
        gs_emu_reduce(s->reduction, s->type, to, from, bytes);
    gs_emu_memory_mark(a, address, bytes);
    gs_emu_memory_touch(a, address, bytes, true);
}

static void take_out(gs_emu_bulk_store *s)
{
    if (s->previous)
        s->previous->next = s->next;
    else
        s->state->first = s->next;
    if (s->next) s->next->previous = s->previous;
}

static bool step_store(gs_emu_cluster *cluster, gs_emu_task *task)
{
    gs_emu_bulk_store *const s = (gs_emu_bulk_store *)task;
    if (s->reading.step < s->reading.steps) {
        const uint32_t until = goal(&s->reading);
        while (s->reading.done < until) read_row(s, next_row(&s->reading));
        if (s->reading.step == s->reading.steps) gs_emu_happened(cluster);
        return false;
    }
    const uint32_t until = goal(&s->writing);
    while (s->writing.done < until) write_row(cluster, s, next_row(&s->writing));
    if (s->writing.step < s->writing.steps) return false;
    take_out(s);
    gs_emu_happened(cluster);
    return true;
}

bool gs_emu_bulk_store_add(gs_emu_warp *w, int lane, const gs_emu_tile *tile, gs_emu_reduction reduction, gs_ptx_type type)
{
    gs_emu_cluster *const cluster = w->cluster;
    struct gs_emu_bulk_state *const state = w->bulk;
    gs_emu_bulk_store *const s = calloc(1, sizeof *s + gs_emu_tile_bytes(tile));
    if (!s) return false;
    s->task.step = step_store;
    s->tile = *tile;
    s->block = w->block;
    s->state = state;
    s->lane = lane;
    s->group = state->committed[lane] + 1;
    s->reduction = reduction;
    s->type = type;
    s->reading = draw(cluster, tile->rows, 1 + (uint32_t)gs_random_below(&cluster->random, 2));
    s->writing = draw(cluster, tile->rows, 1 + (uint32_t)gs_random_below(&cluster->random, 2));
    if (!gs_emu_task_add(cluster, &s->task)) return false;
    s->next = state->first;
    if (s->next) s->next->previous = s;
    state->first = s;
    state->last[lane] = s->group;
    return true;
}
