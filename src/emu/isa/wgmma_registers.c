/* SPDX-License-Identifier: MIT
 * Registers used by pending wgmma operations: accumulators that are not valid before the wait, A operands that must not change, and writes that need a fence. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/isa/wgmma.h"

/* ---- watched registers ---- */

typedef struct analysis {
    const gs_emu_code *code;
    struct gs_emu_wgmma_code *own;
    uint32_t  cells;      /* units of 4 bytes */
    uint32_t *parent;     /* per cell: union-find forest of registers that moves connect */
    uint32_t *slot;       /* per cell: NONE if not watched */
    uint8_t  *mark;
} analysis;

#define WRITTEN 1         /* an op writes it: it is not a constant or a special register */
#define WATCHED 2         /* root of a tree that wgmma uses */

static bool is_mma(const gs_emu_op *op) { return strncmp(op->name, "wgmma.mma_async.", 16) == 0; }

static bool is_move(const gs_emu_op *op) { return strncmp(op->name, "mov.", 4) == 0 && op->read_count == 1 && op->write_count == 1; }

static uint32_t root(uint32_t *parent, uint32_t at)
{
    while (parent[at] != at) at = parent[at] = parent[parent[at]];
    return at;
}

static void mark_list(analysis *a, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        const uint32_t cell = a->code->list[i] / 4;
        if (a->mark[cell] & WRITTEN) a->mark[root(a->parent, cell)] |= WATCHED;
    }
}

static void find_registers(analysis *a)
{
    const gs_emu_code *const code = a->code;
    for (uint32_t i = 0; i < a->cells; i++) a->parent[i] = i, a->slot[i] = GS_EMU_NONE;
    for (uint32_t i = 0; i < code->ops; i++)
        for (uint32_t j = 0; j < code->op[i].write_count; j++) a->mark[code->list[code->op[i].writes + j] / 4] |= WRITTEN;
    for (uint32_t i = 0; i < code->ops; i++) {
        const gs_emu_op *const op = &code->op[i];
        if (!is_move(op) || !(a->mark[code->list[op->reads] / 4] & WRITTEN)) continue;
        a->parent[root(a->parent, code->list[op->reads] / 4)] = root(a->parent, code->list[op->writes] / 4);
    }
    for (uint32_t i = 0; i < code->ops; i++) {
        const gs_emu_op *const op = &code->op[i];
        if (!is_mma(op)) continue;
        mark_list(a, op->list, op->lists);
        mark_list(a, op->list2, op->lists2);
    }
    for (uint32_t i = 0; i < a->cells; i++)
        if ((a->mark[i] & WRITTEN) && (a->mark[root(a->parent, i)] & WATCHED)) a->slot[i] = a->own->slots++;
}

/* Writes the entries of a list to `to`: those of watched registers, or all (raw). Without `to`, only counts them. */
static uint32_t list_entries(const analysis *a, uint32_t first, uint32_t count, bool raw, uint32_t write, uint32_t *to)
{
    uint32_t entries = 0;
    for (uint32_t i = first; i < first + count; i++) {
        const uint32_t slot = a->slot[a->code->list[i] / 4];
        if (slot == GS_EMU_NONE && !raw) continue;
        if (to) to[entries] = raw ? slot : 2 * slot + write;
        entries++;
    }
    return entries;
}

static uint32_t op_entries(const analysis *a, const gs_emu_op *op, uint32_t *to)
{
    const bool raw = is_mma(op);
    const uint32_t first = list_entries(a, raw ? op->list : op->reads, raw ? op->lists : op->read_count, raw, 0, to);
    return first + list_entries(a, raw ? op->list2 : op->writes, raw ? op->lists2 : op->write_count, raw, 1, to ? to + first : NULL);
}

static bool orders_memory(const gs_emu_op *op)
{
    switch (op->class) {
    case GS_EMU_INTEGER: case GS_EMU_FLOAT: case GS_EMU_DOUBLE: case GS_EMU_SPECIAL: case GS_EMU_CONTROL: case GS_EMU_MATRIX: return false;
    default: return strncmp(op->name, "wgmma.commit_group", 18) != 0;   /* the commit flushes by itself */
    }
}

static uint8_t watch_of(const gs_emu_op *op, uint32_t entries)
{
    if (is_mma(op)) return 0;
    return (uint8_t)((entries ? GS_EMU_WATCH_REGISTERS : 0) | (is_move(op) ? GS_EMU_WATCH_MOVE : 0) |
                     (strncmp(op->name, "mov.", 4) == 0 ? GS_EMU_WATCH_MOV : 0) | (orders_memory(op) ? GS_EMU_WATCH_FLUSH : 0));
}

static bool fill(analysis *a)
{
    const gs_emu_code *const code = a->code;
    struct gs_emu_wgmma_code *const own = a->own;
    find_registers(a);
    own->offset = malloc((own->slots + 1) * sizeof *own->offset);
    own->watch = malloc(code->ops);
    own->first = malloc((code->ops + 1) * sizeof *own->first);
    if (!own->offset || !own->watch || !own->first) return false;
    own->first[0] = 0;
    for (uint32_t i = 0; i < code->ops; i++) {
        const uint32_t entries = op_entries(a, &code->op[i], NULL);
        own->first[i + 1] = own->first[i] + entries;
        own->watch[i] = watch_of(&code->op[i], entries);
    }
    own->entry = malloc((own->first[code->ops] + 1) * sizeof *own->entry);
    if (!own->entry) return false;
    for (uint32_t i = 0; i < code->ops; i++) op_entries(a, &code->op[i], own->entry + own->first[i]);
    for (uint32_t i = 0; i < a->cells; i++)
        if (a->slot[i] != GS_EMU_NONE) own->offset[a->slot[i]] = 4 * i;
    return true;
}

static void empty(struct gs_emu_wgmma_code *own)
{
    free(own->offset);
    free(own->watch);
    free(own->first);
    free(own->entry);
    own->offset = own->first = own->entry = NULL;
    own->watch = NULL;
    own->slots = 0;
}

static bool analyse(const gs_emu_code *code)
{
    analysis a = {.code = code, .own = code->wgmma, .cells = code->register_bytes / 4 + 1};
    a.parent = malloc(a.cells * sizeof *a.parent);
    a.slot = malloc(a.cells * sizeof *a.slot);
    a.mark = calloc(a.cells, 1);
    const bool ok = a.parent && a.slot && a.mark && fill(&a);
    free(a.parent);
    free(a.slot);
    free(a.mark);
    if (!ok) empty(code->wgmma);
    return ok;
}

const struct gs_emu_wgmma_code *gs_emu_wgmma_watch(const gs_emu_code *code)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   /* clusters of a launch share the code */
    struct gs_emu_wgmma_code *const own = code->wgmma;
    if (atomic_load_explicit(&own->ready, memory_order_acquire)) return own;
    pthread_mutex_lock(&lock);
    if (!atomic_load_explicit(&own->ready, memory_order_relaxed) && analyse(code)) atomic_store_explicit(&own->ready, true, memory_order_release);
    pthread_mutex_unlock(&lock);
    return atomic_load_explicit(&own->ready, memory_order_acquire) ? own : NULL;
}

void gs_emu_wgmma_code_free(gs_emu_code *code)
{
    if (code->wgmma) empty(code->wgmma);
    free(code->wgmma);
    code->wgmma = NULL;
}

/* ---- chains ---- */

static const uint32_t *slots_of(const gs_emu_warp *w, const gs_emu_op *op)
{
    const struct gs_emu_wgmma_code *const code = w->wgmma->code;
    return code->entry + code->first[gs_emu_index(w, op)];
}

static const char *register_name(const gs_emu_warp *w, uint32_t slot)
{
    const gs_ptx_entry *const entry = w->code->entry;
    for (int i = 0; entry && w->code->offset_of && i < entry->registers; i++)
        if (w->code->offset_of[i] == w->wgmma->code->offset[slot]) return entry->reg[i].name;
    return "a register";
}

/* The chain whose elements these registers are, in order; NULL: none. *touched: some of them belong to a chain. */
static gs_emu_chain *common_chain(gs_emu_warp *w, const gs_emu_op *op, bool *touched)
{
    const uint32_t *const slot = slots_of(w, op);
    const gs_emu_tag *const tag = w->wgmma->tag;
    gs_emu_chain *const chain = tag[slot[0]].chain;
    const bool half = op->type2 == GS_PTX_F16;
    bool same = chain && chain->n == 8 * op->count && chain->half == half;
    *touched = false;
    for (uint32_t i = 0; i < op->lists; i++) {
        if (tag[slot[i]].chain) *touched = true;
        if (tag[slot[i]].chain != chain || tag[slot[i]].element != i) same = false;
    }
    return same ? chain : NULL;
}

gs_emu_chain *gs_emu_wgmma_chain(gs_emu_warp *w, const gs_emu_op *op, bool accumulate)
{
    struct gs_emu_wgmma_state *const s = w->wgmma;
    const uint32_t *const slot = slots_of(w, op);
    bool touched;
    gs_emu_chain *chain = common_chain(w, op, &touched);
    if (!chain) {
        const int n = 8 * op->count;
        if (touched)
            gs_emu_report(w, op, GS_EMU_WGMMA_REGISTER_FINDING,
                          "some of its accumulators are under way in a wgmma of another shape or order: wgmma.wait_group must come first");
        chain = malloc(sizeof *chain + (size_t)n * GS_EMU_ROWS * sizeof *chain->tile);
        if (!chain) return NULL;
        *chain = (gs_emu_chain){.next = s->chain, .n = n, .half = op->type2 == GS_PTX_F16};
        for (uint32_t i = 0; i < op->lists; i++) {
            if (accumulate) gs_emu_tile_get(chain->tile, gs_emu_u32(w, w->code->list[op->list + i]), (int)i, chain->half);
            s->tag[slot[i]].chain = chain;
            s->tag[slot[i]].element = i;
        }
        s->chain = chain;
    }
    chain->last_group = s->committed + 1;
    chain->line = op->line;
    return chain;
}

void gs_emu_wgmma_hold(gs_emu_warp *w, const gs_emu_op *op, uint32_t a[4][GS_EMU_LANES], uint32_t group)
{
    const uint32_t *const slot = slots_of(w, op) + op->lists;
    for (uint32_t i = 0; i < op->lists2; i++) {
        memcpy(a[i], gs_emu_u32(w, w->code->list[op->list2 + i]), sizeof a[i]);
        if (slot[i] == GS_EMU_NONE) continue;
        gs_emu_tag *const tag = &w->wgmma->tag[slot[i]];
        if (tag->chain)
            gs_emu_report(w, op, GS_EMU_WGMMA_REGISTER_FINDING, "%s, of A, is an accumulator of the wgmma of line %d: read before wgmma.wait_group",
                          register_name(w, slot[i]), (int)tag->chain->line);
        tag->held = group;
        tag->held_line = op->line;
    }
}

void gs_emu_wgmma_release(gs_emu_warp *w)
{
    struct gs_emu_wgmma_state *const s = w->wgmma;
    bool any = false;
    for (const gs_emu_chain *c = s->chain; c; c = c->next) any |= c->last_group <= s->waited;
    if (!any) return;
    for (uint32_t i = 0; i < s->code->slots; i++) {
        gs_emu_tag *const tag = &s->tag[i];
        if (!tag->chain || tag->chain->last_group > s->waited) continue;
        gs_emu_tile_put(tag->chain->tile, gs_emu_u32(w, s->code->offset[i]), (int)tag->element, tag->chain->half);
        tag->chain = NULL;
    }
    for (gs_emu_chain **at = &s->chain; *at;) {
        gs_emu_chain *const c = *at;
        if (c->last_group > s->waited) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        free(c);
    }
}

/* ---- the guard ---- */

void gs_emu_wgmma_check_fence(gs_emu_warp *w, const gs_emu_op *op)
{
    const struct gs_emu_wgmma_state *const s = w->wgmma;
    const uint32_t *const slot = slots_of(w, op);
    if (s->fences == 0) {
        gs_emu_report(w, op, GS_EMU_WGMMA_FENCE_FINDING, "no wgmma.fence before the warp's first wgmma");
        return;
    }
    for (uint32_t i = 0; i < (uint32_t)op->lists + op->lists2; i++) {
        if (slot[i] == GS_EMU_NONE || s->tag[slot[i]].written <= s->fences) continue;
        gs_emu_report(w, op, GS_EMU_WGMMA_FENCE_FINDING, "%s, of %s, was written after the last wgmma.fence", register_name(w, slot[i]),
                      i < op->lists ? "the accumulators" : "A");
        return;
    }
}

static void read_slot(gs_emu_warp *w, const gs_emu_op *op, uint32_t slot)
{
    const gs_emu_chain *const chain = w->wgmma->tag[slot].chain;
    if (chain)
        gs_emu_report(w, op, GS_EMU_WGMMA_REGISTER_FINDING, "%s, an accumulator of the wgmma of line %d, is read before wgmma.wait_group",
                      register_name(w, slot), (int)chain->line);
}

/* A write of some lanes only is an error for a register in a chain, because its other lanes would stay in the chain. */
static void write_slot(gs_emu_warp *w, const gs_emu_op *op, uint32_t slot, uint32_t lanes)
{
    const struct gs_emu_wgmma_state *const s = w->wgmma;
    gs_emu_tag *const tag = &s->tag[slot];
    if (tag->held > s->waited)
        gs_emu_report(w, op, GS_EMU_WGMMA_REGISTER_FINDING, "%s, of A of the wgmma of line %d, is written before wgmma.wait_group",
                      register_name(w, slot), (int)tag->held_line);
    if (tag->chain && lanes != w->alive)
        gs_emu_report(w, op, GS_EMU_WGMMA_REGISTER_FINDING,
                      "%s, an accumulator of the wgmma of line %d, is written in some lanes before wgmma.wait_group", register_name(w, slot),
                      (int)tag->chain->line);
    tag->chain = NULL;
}

static void move_slot(gs_emu_warp *w, const gs_emu_op *op, uint32_t from, uint32_t to, uint32_t lanes)
{
    gs_emu_tag *const tag = w->wgmma->tag;
    if (from == to) return;
    if (lanes != w->alive) read_slot(w, op, from);
    write_slot(w, op, to, lanes);
    if (lanes == w->alive) {
        tag[to].chain = tag[from].chain;
        tag[to].element = tag[from].element;
    }
    tag[to].written = tag[from].written;
}

bool gs_emu_wgmma_active(const gs_emu_warp *w) { return w->wgmma && (w->wgmma->chain || w->cluster->check); }

void gs_emu_wgmma_exit(gs_emu_warp *w, const gs_emu_op *op)
{
    const struct gs_emu_wgmma_state *const s = w->wgmma;
    if (!s) return;
    gs_emu_wgmma_flush(w);
    if (s->chain)
        gs_emu_report(w, op, GS_EMU_WGMMA_REGISTER_FINDING, "the warp exits with wgmma groups under way: nothing waits for the wgmma of line %d",
                      (int)s->chain->line);
}

bool gs_emu_wgmma_guard(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    struct gs_emu_wgmma_state *const s = w->wgmma;
    const uint32_t index = gs_emu_index(w, op);
    const uint8_t watch = s->code->watch[index];
    if (!(watch & (GS_EMU_WATCH_REGISTERS | GS_EMU_WATCH_FLUSH))) return true;
    if (watch & GS_EMU_WATCH_FLUSH) gs_emu_wgmma_flush(w);
    const uint32_t *const entry = s->code->entry + s->code->first[index];
    const uint32_t entries = s->code->first[index + 1] - s->code->first[index];
    if ((watch & GS_EMU_WATCH_MOVE) && entries == 2) {
        move_slot(w, op, entry[0] / 2, entry[1] / 2, lanes);
        return true;
    }
    for (uint32_t i = 0; i < entries; i++) {
        if (!(entry[i] & 1)) {
            read_slot(w, op, entry[i] / 2);
            continue;
        }
        write_slot(w, op, entry[i] / 2, lanes);
        if (!(watch & GS_EMU_WATCH_MOV)) s->tag[entry[i] / 2].written = s->fences + 1;
    }
    return true;
}
