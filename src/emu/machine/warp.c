/* SPDX-License-Identifier: MIT
 * One warp: its fragments (lanes that execute together), divergence and reconvergence, branches. */
#include <string.h>

#include "emu/machine/warp.h"

/* ---- fragments and scopes ---- */

static gs_emu_fragment *add_fragment(gs_emu_warp *w, uint32_t pc, uint32_t lanes, int32_t scope)
{
    gs_emu_fragment *const f = &w->fragment[w->fragments++];
    *f = (gs_emu_fragment){.pc = pc, .lanes = lanes, .scope = scope};
    return f;
}

/* Fragments have no gaps: the last one takes the free place. */
static void remove_fragment(gs_emu_warp *w, int at)
{
    w->fragment[at] = w->fragment[--w->fragments];
    w->fragment[w->fragments].lanes = 0;
}

static int32_t take_scope(gs_emu_warp *w)
{
    int32_t at = 0;
    while (w->scope[at].expected) at++;   /* each scope splits lanes, so there are fewer scopes than lanes */
    return at;
}

/* All lanes of a scope are at its end: they continue together. */
static void finish_scope(gs_emu_warp *w, int32_t at)
{
    gs_emu_scope *const s = &w->scope[at];
    add_fragment(w, s->pc, s->expected, s->parent);
    s->expected = s->arrived = 0;
}

void gs_emu_warp_arrive(gs_emu_warp *w, int at)
{
    const gs_emu_fragment f = w->fragment[at];
    gs_emu_scope *const s = &w->scope[f.scope];
    s->arrived |= f.lanes;
    remove_fragment(w, at);
    if (s->arrived == s->expected) finish_scope(w, f.scope);
}

/* Lanes of a scope that will never arrive. */
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

/* ---- branches, exits of lanes ---- */

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

void gs_emu_warp_leave(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
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
}
