/* SPDX-License-Identifier: MIT
 * The rules: which earlier accesses conflict with an access, what kind of finding that is, and its text. */
#include "emu/check/check_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define WORDS 640          /* most characters of a finding's text */
#define PLACE 160          /* most characters of a source place */

typedef enum author { BY_GENERIC, BY_WGMMA, BY_COPY, BY_BULK, BY_BARRIER, BY_COPYING } author;

static author author_of(const gs_emu_check *check, const gs_emu_trace *trace)
{
    if (trace->agent == GS_EMU_AGENT_COPYING) return BY_COPYING;
    if (trace->agent >= check->all_warps * GS_EMU_AGENT_KINDS) return BY_BARRIER;
    return (author)(trace->agent % GS_EMU_AGENT_KINDS);
}

/* ---- the verdict ---- */

/* Accesses of the asynchronous proxy, which see generic writes only after a proxy fence. */
static bool other_proxy(gs_emu_deed deed) { return deed == GS_EMU_DEED_ASYNC_READ || deed == GS_EMU_DEED_BULK_WRITE; }

/* Whether a write by another block was released to the cluster. */
static bool is_released(const gs_emu_check *check, const gs_emu_action *action, const gs_emu_trace *trace, author who)
{
    if (!check->clustered || gs_emu_trace_reads_only(trace) || who != BY_GENERIC) return true;
    return gs_emu_reached(check, action->warp, (int)(trace->agent / GS_EMU_AGENT_KINDS), trace->clock);
}

/* The kind of finding; GS_EMU_FINDING_KINDS: no conflict. */
static gs_emu_finding_kind verdict(const gs_emu_check *check, const gs_emu_action *action, const gs_emu_trace *trace)
{
    const bool reads = gs_emu_deed_reads_only(action->deed);
    if (gs_emu_trace_reads_only(trace) && reads) return GS_EMU_FINDING_KINDS;
    const author who = author_of(check, trace);
    if (!gs_emu_has(gs_emu_known(check, action->warp), trace)) {
        if (gs_emu_trace_strong(trace) && gs_emu_deed_strong(action->deed)) return GS_EMU_FINDING_KINDS;
        if (who == BY_GENERIC) return GS_EMU_RACE_FINDING;
        return reads ? GS_EMU_EARLY_READ_FINDING : GS_EMU_OVERWRITE_FINDING;
    }
    if (reads && !is_released(check, action, trace, who)) return GS_EMU_RACE_FINDING;
    const bool generic_write = !gs_emu_trace_reads_only(trace) && (who == BY_GENERIC || who == BY_COPY);
    if (generic_write && other_proxy(action->deed) && !gs_emu_has(gs_emu_fenced(check, action->warp), trace)) return GS_EMU_PROXY_FENCE_FINDING;
    return GS_EMU_FINDING_KINDS;
}

/* ---- words ---- */

typedef struct words {
    char   text[WORDS];
    size_t size;
} words;

static void say(words *w, const char *format, ...) GS_PRINTF(2, 3);
static void say(words *w, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int size = vsnprintf(w->text + w->size, sizeof w->text - w->size, format, values);
    va_end(values);
    if (size > 0) w->size += (size_t)size;
    if (w->size >= sizeof w->text) w->size = sizeof w->text - 1;
}

static void say_warp(words *w, const gs_emu_check *check, uint32_t warp)
{
    say(w, "warp %u of block %u", warp % (uint32_t)check->warps, warp / (uint32_t)check->warps);
}

static const char *name_of(const gs_emu_action *action)
{
    switch (action->deed) {
    case GS_EMU_DEED_READ:
    case GS_EMU_DEED_STRONG_READ: return "read";
    case GS_EMU_DEED_ATOMIC: return "atomic";
    case GS_EMU_DEED_ASYNC_READ: return action->agent % GS_EMU_AGENT_KINDS == GS_EMU_AGENT_WGMMA ? "wgmma read" : "bulk store";
    case GS_EMU_DEED_COPY_WRITE: return "cp.async";
    case GS_EMU_DEED_BULK_WRITE: return "bulk copy";
    default: return "write";
    }
}

/* "read of 16 bytes at 0x400 by warp 3 of block 0; 0x408 ": the byte is added only if it is not the first one. */
static void say_action(words *w, const gs_emu_check *check, const gs_emu_action *action, uint32_t byte)
{
    say(w, "%s of %u bytes at 0x%x ", name_of(action), action->bytes, action->offset);
    if (action->block != action->warp / check->warps) say(w, "of block %d ", action->block);
    say(w, "by ");
    say_warp(w, check, (uint32_t)action->warp);
    say(w, "; ");
    if (byte > action->offset) say(w, "0x%x ", byte);
}

/* "written by warp 1 of block 0 at mma.cu:120" */
static void say_trace(words *w, const gs_emu_check *check, const gs_emu_trace *trace)
{
    static const char *const verbs[] = {"read", "written", "changed by an atomic", "read", "written"};
    const author who = author_of(check, trace);
    char place[PLACE] = "";
    say(w, "%s ", verbs[trace->kind]);
    if (who == BY_BARRIER || who == BY_COPYING) {
        say(w, "by the bulk copy");
    } else {
        static const char *const means[] = {
            [BY_GENERIC] = "", [BY_WGMMA] = "the wgmma of ", [BY_COPY] = "the cp.async of ", [BY_BULK] = "the bulk store of ",
        };
        say(w, "%s%s", trace->kind == GS_EMU_TRACE_ATOMIC ? "of " : "by ", means[who]);
        say_warp(w, check, trace->agent / GS_EMU_AGENT_KINDS);
    }
    check->describe(check->context, trace->op, place, sizeof place);
    say(w, " at %s", place);
}

/* " with no wait for phase 3 of the mbarrier at 0x8000 of block 1 between" */
static void say_missing_phase(words *w, const gs_emu_check *check, const gs_emu_trace *trace)
{
    const gs_emu_check_barrier *const barrier = &check->barrier[trace->agent - check->all_warps * GS_EMU_AGENT_KINDS];
    say(w, " with no wait for phase %u of the mbarrier at 0x%x of block %d between", trace->clock - 1, barrier->offset, barrier->block);
}

/* Names the wait or fence that would have ordered the two accesses. */
static void say_missing(words *w, const gs_emu_check *check, const gs_emu_action *action, const gs_emu_trace *trace, gs_emu_finding_kind kind)
{
    static const char *const waits[] = {
        [BY_WGMMA] = "wgmma.wait_group", [BY_COPY] = "cp.async.wait_group", [BY_BULK] = "cp.async.bulk.wait_group.read",
    };
    const author who = author_of(check, trace);
    if (kind == GS_EMU_PROXY_FENCE_FINDING)
        say(w, " with no fence.proxy.async between");
    else if (who == BY_COPYING)
        say(w, ", which is still under way");
    else if (who == BY_BARRIER)
        say_missing_phase(w, check, trace);
    else if (who == BY_GENERIC && gs_emu_has(gs_emu_known(check, action->warp), trace))
        say(w, " with no release to the cluster between: a fence, or an arrival, of scope .cta (as an mbarrier's is unless it says .cluster), or a relaxed one");
    else if (who == BY_GENERIC)
        say(w, " with no barrier between");
    else
        say(w, " with no %s%s between", waits[who], trace->agent / GS_EMU_AGENT_KINDS == (uint32_t)action->warp ? "" : " and barrier");
}

/* ---- findings ---- */

static bool is_news(gs_emu_action *action, gs_emu_finding_kind kind)
{
    const bool news = !(action->reported >> kind & 1);
    action->reported |= 1u << kind;
    return news;
}

static uint32_t first_byte(uint32_t cell, uint32_t mask)
{
    uint32_t byte = cell * GS_EMU_CELL;
    for (; !(mask & 1); mask >>= 1) byte++;
    return byte;
}

static void tell(const gs_emu_check *check, gs_emu_action *action, const gs_emu_trace *trace, gs_emu_finding_kind kind, uint32_t byte)
{
    words w = {.size = 0};
    if (!is_news(action, kind)) return;
    say_action(&w, check, action, byte);
    if (trace) {
        say_trace(&w, check, trace);
        say_missing(&w, check, action, trace, kind);
    } else {
        say(&w, "never written");
    }
    check->report(check->context, kind, action->warp, action->op, w.text);
}

bool gs_emu_judge(gs_emu_check *check, gs_emu_action *action, const gs_emu_state *state, uint32_t cell, uint32_t mask)
{
    bool right = true;
    if (action->deed == GS_EMU_DEED_SYNC || action->deed == GS_EMU_DEED_BULK_END) return true;
    for (uint32_t i = 0; i < state->traces; i++) {
        const gs_emu_trace *const trace = &state->trace[i];
        if (!(trace->mask & mask)) continue;
        const gs_emu_finding_kind kind = verdict(check, action, trace);
        if (kind == GS_EMU_FINDING_KINDS) continue;
        tell(check, action, trace, kind, first_byte(cell, trace->mask & mask));
        right = false;
    }
    const uint32_t missing = mask & ~(uint32_t)state->written;
    if (!missing || !(gs_emu_deed_reads_only(action->deed) || action->deed == GS_EMU_DEED_ATOMIC)) return right;
    tell(check, action, NULL, GS_EMU_UNINITIALIZED_FINDING, first_byte(cell, missing));
    return false;
}
