/* SPDX-License-Identifier: MIT
 * One warp: its fragments (lanes that execute together), where they part and meet, the turns they get; branches, exits. */
#include <string.h>

#include "emu/machine/decode.h"

/* ---- fragments and scopes ---- */

static gs_emu_fragment *add_fragment(gs_emu_warp *w, uint32_t pc, uint32_t lanes, int32_t scope)
{
    gs_emu_fragment *const f = &w->fragment[w->fragments++];
    *f = (gs_emu_fragment){.pc = pc, .lanes = lanes, .scope = scope};
    return f;
}

/* Fragments stay dense: the last one takes the place. */
static void remove_fragment(gs_emu_warp *w, int at)
{
    w->fragment[at] = w->fragment[--w->fragments];
    w->fragment[w->fragments].lanes = 0;
}

static int32_t take_scope(gs_emu_warp *w)
{
    int32_t at = 0;
    while (w->scope[at].expected) at++;   /* a scope parts lanes: there are fewer of them than lanes */
    return at;
}

/* Every lane of a scope is at its end: they go on together. */
static void finish_scope(gs_emu_warp *w, int32_t at)
{
    gs_emu_scope *const s = &w->scope[at];
    add_fragment(w, s->pc, s->expected, s->parent);
    s->expected = s->arrived = 0;
}

/* The fragment stands where its scope ends. */
static void arrive(gs_emu_warp *w, int at)
{
    const gs_emu_fragment f = w->fragment[at];
    gs_emu_scope *const s = &w->scope[f.scope];
    s->arrived |= f.lanes;
    remove_fragment(w, at);
    if (s->arrived == s->expected) finish_scope(w, f.scope);
}

/* Lanes of a scope will never come. */
static void leave_scopes(gs_emu_warp *w, int32_t at, uint32_t lanes)
{
    while (at >= 0) {
        gs_emu_scope *const s = &w->scope[at];
        const int32_t parent = s->parent;
        s->expected &= ~lanes;
        if (s->expected && s->arrived == s->expected) finish_scope(w, at);
        at = parent;
    }
}

void gs_emu_warp_split(gs_emu_warp *w, uint32_t lanes)
{
    gs_emu_fragment *const f = &w->fragment[w->current];
    f->lanes &= ~lanes;
    add_fragment(w, f->pc, lanes, f->scope);
}

void gs_emu_warp_merge(gs_emu_warp *w, int at)
{
    w->fragment[w->current].lanes |= w->fragment[at].lanes;
    remove_fragment(w, at);
    if (w->current == w->fragments) w->current = at;
}

void gs_emu_warp_start(gs_emu_warp *w)
{
    memset(w->fragment, 0, sizeof w->fragment);
    memset(w->scope, 0, sizeof w->scope);
    w->fragments = 0;
    w->current = 0;
    w->alive = w->threads;
    add_fragment(w, 0, w->threads, -1);
}

/* ---- branches and exits ---- */

gs_emu_result gs_emu_branch(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    gs_emu_fragment *const f = &w->fragment[w->current];
    if (lanes == f->lanes) {
        f->pc = op->target;
        return GS_EMU_JUMPED;
    }
    const uint32_t here = gs_emu_index(w, op), meet = w->code->reconverge[here];
    int32_t scope = f->scope;
    if (meet != GS_EMU_NONE && (scope < 0 || w->scope[scope].pc != meet)) {
        const int32_t at = take_scope(w);
        w->scope[at] = (gs_emu_scope){.pc = meet, .expected = f->lanes, .parent = scope};
        scope = at;
    }
    /* either side may go first */
    const bool jump_first = gs_random_next(&w->cluster->random) & 1;
    const uint32_t others = f->lanes & ~lanes;
    add_fragment(w, jump_first ? here + 1 : op->target, jump_first ? others : lanes, scope);
    f->lanes = jump_first ? lanes : others;
    f->pc = jump_first ? op->target : here + 1;
    f->scope = scope;
    return GS_EMU_JUMPED;
}

gs_emu_result gs_emu_exit(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    gs_emu_fragment *const f = &w->fragment[w->current];
    const int32_t scope = f->scope;
    const uint32_t rest = f->lanes & ~lanes;
    w->alive &= ~lanes;
    if (rest) {
        f->lanes = rest;
        f->pc = gs_emu_index(w, op) + 1;
    } else {
        remove_fragment(w, w->current);
    }
    leave_scopes(w, scope, lanes);
    gs_emu_happened(w->cluster);
    if (w->alive == 0)
        gs_emu_warp_ended(w, op);
    else
        gs_emu_cluster_barrier_check(w->cluster);
    return w->cluster->failed ? GS_EMU_FAILED : GS_EMU_JUMPED;
}

/* ---- turns ---- */

static bool ready(const gs_emu_warp *w, const gs_emu_fragment *f) { return !f->waiting || f->event != w->cluster->event; }

bool gs_emu_warp_ready(const gs_emu_warp *w)
{
    for (int i = 0; i < w->fragments; i++)
        if (ready(w, &w->fragment[i])) return true;
    return false;
}

static int choose_fragment(gs_emu_warp *w)
{
    if (w->fragments == 1) return 0;
    const int first = (int)gs_random_below(&w->cluster->random, (uint64_t)w->fragments);
    for (int i = 0; i < w->fragments; i++) {
        const int at = (first + i) % w->fragments;
        if (ready(w, &w->fragment[at])) return at;
    }
    return 0;
}

static uint32_t guarded(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (op->guard == GS_EMU_NONE) return lanes;
    const uint32_t mask = *gs_emu_mask(w, op->guard);
    return lanes & (op->guard_not ? ~mask : mask);
}

static void count(gs_emu_cluster *c, const gs_emu_op *op, uint32_t lanes)
{
    c->steps++;
    c->quiet_steps++;
    c->counters.issued[op->class]++;
    c->counters.threads += lanes == GS_EMU_FULL ? GS_EMU_LANES : (unsigned)__builtin_popcount(lanes);
}

/* What an executed instruction means for the fragment. false: its turn is over. */
static bool go_on(gs_emu_warp *w, gs_emu_result result)
{
    gs_emu_fragment *const f = &w->fragment[w->current];
    switch (result) {
    case GS_EMU_NEXT: f->pc++; return true;
    case GS_EMU_YIELD: f->pc++; return false;
    case GS_EMU_WAIT:
        f->waiting = true;
        f->event = w->cluster->event;
        return false;
    default: return false;
    }
}

bool gs_emu_warp_turn(gs_emu_warp *w, uint32_t budget)
{
    gs_emu_cluster *const cluster = w->cluster;
    const gs_emu_code *const code = w->code;
    const bool watched = gs_emu_wgmma_active(w);
    w->current = choose_fragment(w);
    w->fragment[w->current].waiting = false;
    for (bool watch = watched; budget > 0; budget--) {
        gs_emu_fragment *f = &w->fragment[w->current];
        if (code->leader[f->pc] && f->scope >= 0 && w->scope[f->scope].pc == f->pc) {
            arrive(w, w->current);
            return true;
        }
        const gs_emu_op *const op = &code->op[f->pc];
        const uint32_t lanes = guarded(w, op, f->lanes);
        gs_emu_result result = GS_EMU_NEXT;
        if (lanes) {
            if (watch && !gs_emu_wgmma_guard(w, op, lanes)) return false;
            result = op->exec(w, op, lanes);
        }
        if (result == GS_EMU_NEXT) {   /* the usual case, kept short; exec leaves `current` at its fragment */
            count(cluster, op, lanes);
            w->fragment[w->current].pc++;
            continue;
        }
        if (result == GS_EMU_FAILED) return false;
        if (result != GS_EMU_WAIT) count(cluster, op, lanes);
        if (result == GS_EMU_JUMPED) {
            if (w->current >= w->fragments || op->exec != gs_emu_branch) return true;
            continue;
        }
        if (!go_on(w, result)) return true;
    }
    return true;
}
