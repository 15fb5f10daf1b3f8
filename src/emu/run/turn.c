/* SPDX-License-Identifier: MIT
 * Turns of a warp: which of its fragments executes, and the effect of its instructions on the fragment. */
#include "emu/isa/isa.h"
#include "emu/machine/warp.h"
#include "emu/run/internal.h"

#define PAUSES 64   /* of 256: how often other clusters get a turn after an instruction that may interact with them */

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
    const unsigned threads = lanes == GS_EMU_FULL ? GS_EMU_LANES : (unsigned)__builtin_popcount(lanes);
    c->steps++;
    c->quiet_steps++;
    c->work += op->stores ? 2 * threads : 1;   /* the checker processes the lanes of a store one by one */
    c->counters.issued[op->class]++;
    c->counters.threads += threads;
}

/* Whether other clusters get a turn after this instruction. */
static bool pauses(gs_emu_warp *w, const gs_emu_op *op)
{
    gs_emu_cluster *const cluster = w->cluster;
    if (op->meets && w->code->talks && gs_emu_chance(cluster, PAUSES)) cluster->pauses = true;
    return cluster->pauses;
}

/* The effect of an executed instruction on the fragment. false: its turn is over. */
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
            gs_emu_warp_arrive(w, w->current);
            return true;
        }
        const gs_emu_op *const op = &code->op[f->pc];
        const uint32_t lanes = guarded(w, op, f->lanes);
        gs_emu_result result = GS_EMU_NEXT;
        if (lanes) {
            if (watch && !gs_emu_wgmma_guard(w, op, lanes)) return false;
            result = op->exec(w, op, lanes);
        }
        if (result == GS_EMU_NEXT) {   /* the usual case, kept short; exec does not change `current` */
            count(cluster, op, lanes);
            w->fragment[w->current].pc++;
            if (!pauses(w, op)) continue;
            return true;
        }
        if (result == GS_EMU_FAILED) return false;
        if (result != GS_EMU_WAIT) count(cluster, op, lanes);
        if (result == GS_EMU_JUMPED) {
            if (w->current >= w->fragments || op->exec != gs_emu_branch) return true;
            continue;
        }
        if (!go_on(w, result)) {
            if (result == GS_EMU_YIELD) pauses(w, op);
            return true;
        }
    }
    return true;
}
