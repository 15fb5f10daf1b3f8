/* SPDX-License-Identifier: MIT */
#include "policy/llm_prompt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "llm/prompt.h"
#include "problem/layout.h"
#include "schedule/model.h"

enum {
    BEST     = 3,    /* the fastest, always shown */
    EACH     = 2,    /* from each bucket of slower ones */
    FAILURES = 5     /* most recent failures */
};
static const double buckets[] = {1.03, 1.1, 1.3, 2, INFINITY};   /* upper end of each bucket, relative to the fastest time */

/* ---- problem and device ---- */

void gs_llm_add_problem(gs_text *text, const gs_problem *p, const gs_caps *caps)
{
    char name[GS_PROBLEM_TEXT];
    const double flops = gs_problem_flops(p), bytes = gs_compulsory_bytes(p);
    gs_text_addf(text, "%s\n\n", gs_problem_format(p, name));
    gs_text_addf(text, "D = A B, M x N x K = %lld x %lld x %lld, batch %lld. Layout %s: A is %s, B is %s, both row by row.\n", (long long)p->m, (long long)p->n, (long long)p->k,
                 (long long)p->batch, gs_layout_name(p->layout), gs_is_a_transposed(p->layout) ? "K x M" : "M x K", gs_is_b_transposed(p->layout) ? "N x K" : "K x N");
    gs_text_addf(text, "%.6g FLOP, %.6g bytes that must be moved, %.4g FLOP per byte.\n", flops, bytes, flops / bytes);
    gs_text_addf(text, "The floor, below which the device cannot be: %.4g us.", gs_floor_us(p, caps));
}

void gs_llm_add_device(gs_text *text, const gs_caps *c)
{
    gs_text_addf(text, "%s, compute capability %d.%d: %d multiprocessors at up to %.0f MHz.\n", c->name, c->cc / 10, c->cc % 10, c->sms, c->clock_mhz);
    gs_text_addf(text, "Each: %d bytes of shared memory (%d for one block), %d registers, %d threads, %.0f dense half-precision FLOP per cycle.\n",
                 c->smem_sm, c->smem_block, c->registers_sm, c->threads_sm, c->tensor_flops);
    gs_text_addf(text, "L2: %.3g MB, %.4g GB/s to the multiprocessors. Memory: %.4g GB/s.", c->l2_bytes / 1e6, c->l2_gbs, c->memory_gbs);
    if (c->emulated) gs_text_add(text, "\nThe device is emulated: every time below is predicted, none is measured.");
}

/* ---- grammar ---- */

/* The values of a parameter that occur in valid schedules, in table order. */
static void add_values(gs_text *text, const gs_space *space, gs_family_id family, int parameter)
{
    const gs_parameter *const s = gs_family_parameter(family, parameter);
    bool seen[256] = {false};
    for (int i = 0; i < space->count; i++)
        if (space->list[i].family == family) seen[space->list[i].value[parameter]] = true;
    const char *comma = "";
    for (int value = 0; value < s->count; value++) {
        if (!seen[value]) continue;
        gs_text_addf(text, "%s%s", comma, s->values[value].text);
        comma = " ";
    }
}

static gs_status add_family(gs_text *text, const gs_llm_view *v, gs_family_id family, gs_error *error)
{
    gs_text values[GS_MAX_PARAMETERS] = {{0}};
    gs_prompt_field fields[GS_MAX_PARAMETERS + 1] = {{"summary", gs_family_summary(family)}};
    char name[64];
    const int parameters = gs_family_parameters(family);
    bool failed = false;
    for (int i = 0; i < parameters; i++) {
        add_values(&values[i], v->space, family, i);
        failed |= values[i].failed;
        fields[i + 1] = (gs_prompt_field){gs_family_parameter(family, i)->name, gs_text_string(&values[i])};
    }
    snprintf(name, sizeof name, "family-%s.md", gs_family_name(family));
    const gs_status status = failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt")
                                    : gs_prompt_add(text, v->folder, name, fields, parameters + 1, error);
    for (int i = 0; i < parameters; i++) gs_text_free(&values[i]);
    gs_text_add(text, "\n");
    return status;
}

static gs_status add_families(gs_text *text, const gs_llm_view *v, gs_error *error)
{
    bool takes[GS_FAMILIES] = {false};
    for (int i = 0; i < v->space->count; i++) takes[v->space->list[i].family] = true;
    for (int family = 0; family < GS_FAMILIES; family++)
        if (takes[family]) GS_TRY(add_family(text, v, (gs_family_id)family, error));
    return GS_OK;
}

/* ---- outcomes ---- */

void gs_llm_plain(char *to, size_t size, const char *from)
{
    size_t i = 0;
    for (; from && from[i] && i + 1 < size; i++) to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : ' ';
    to[i] = '\0';
}

static int by_us(const void *left, const void *right)
{
    const gs_llm_tried *const a = *(const gs_llm_tried *const *)left, *const b = *(const gs_llm_tried *const *)right;
    return (a->us > b->us) - (a->us < b->us);
}

static void add_timed(gs_text *text, const gs_llm_view *v, const gs_llm_tried *t)
{
    char name[GS_SCHEDULE_TEXT];
    gs_text_addf(text, "- %s: %.4g us, %.0f %% of the floor's speed", gs_schedule_format(&t->schedule, name), t->us,
                 100 * gs_floor_us(&v->space->problem, v->caps) / t->us);
    if (t->ratio > 0 && !v->caps->emulated) gs_text_addf(text, ", %.3f times the speed of cuBLASLt", t->ratio);
    gs_text_add(text, "\n");
}

/* Adds EACH random entries of list[from..to), fastest first. */
static void add_some(gs_text *text, const gs_llm_view *v, const gs_llm_tried *const *list, int from, int to, gs_random *random)
{
    for (int left = EACH; from < to && left > 0; from++) {
        if (gs_random_below(random, (uint64_t)(to - from)) >= (uint64_t)left) continue;
        add_timed(text, v, list[from]);
        left--;
    }
}

static gs_status add_measured(gs_text *text, const gs_llm_view *v, gs_random *random, gs_error *error)
{
    const gs_llm_tried **const list = calloc((size_t)v->tried_count + 1, sizeof *list);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    int count = 0;
    for (int i = 0; i < v->tried_count; i++)
        if (v->tried[i].us > 0) list[count++] = &v->tried[i];
    qsort(list, (size_t)count, sizeof *list, by_us);
    if (count == 0) gs_text_add(text, "Nothing yet.\n");
    if (count > 0) gs_text_addf(text, "%d so far. The fastest:\n", count);
    int at = count < BEST ? count : BEST;
    for (int i = 0; i < at; i++) add_timed(text, v, list[i]);
    if (at < count) gs_text_add(text, "Some of the others:\n");
    for (size_t bucket = 0; bucket < GS_COUNT(buckets); bucket++) {
        int end = at;
        while (end < count && !(list[end]->us > buckets[bucket] * list[0]->us)) end++;
        add_some(text, v, list, at, end, random);
        at = end;
    }
    free(list);
    return GS_OK;
}

static void add_failed(gs_text *text, const gs_llm_view *v)
{
    int left = 0, failed = 0;
    for (int i = 0; i < v->tried_count; i++) failed += !(v->tried[i].us > 0);
    if (failed == 0) gs_text_add(text, "Nothing.\n");
    left = failed - FAILURES;   /* the oldest are not shown */
    for (int i = 0; i < v->tried_count; i++) {
        const gs_llm_tried *const t = &v->tried[i];
        char name[GS_SCHEDULE_TEXT];
        if (t->us > 0 || left-- > 0) continue;
        gs_text_addf(text, "- %s: %s%s%s\n", gs_schedule_format(&t->schedule, name), t->verdict, t->reason[0] ? ": " : "", t->reason);
    }
}

/* ---- the whole prompt ---- */

enum { PROBLEM, DEVICE, FAMILIES, MEASURED, FAILED, FIELDS };

static gs_status fill(const gs_llm_view *v, gs_random *random, gs_text part[FIELDS], gs_text *system, gs_text *ask, gs_error *error)
{
    char count[16];
    gs_llm_add_problem(&part[PROBLEM], &v->space->problem, v->caps);
    gs_llm_add_device(&part[DEVICE], v->caps);
    GS_TRY(add_families(&part[FAMILIES], v, error));
    GS_TRY(add_measured(&part[MEASURED], v, random, error));
    add_failed(&part[FAILED], v);
    for (int i = 0; i < FIELDS; i++)
        if (part[i].failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    snprintf(count, sizeof count, "%d", v->count);
    const gs_prompt_field fields[] = {
        {"problem",  gs_text_string(&part[PROBLEM])},
        {"device",   gs_text_string(&part[DEVICE])},
        {"families", gs_text_string(&part[FAMILIES])},
        {"measured", gs_text_string(&part[MEASURED])},
        {"failed",   gs_text_string(&part[FAILED])},
        {"dropped",  v->dropped[0] ? v->dropped : "Nothing.\n"},
        {"count",    count},
    };
    GS_TRY(gs_prompt_add(system, v->folder, "schedules-system.md", fields, (int)GS_COUNT(fields), error));
    return gs_prompt_add(ask, v->folder, "schedules-ask.md", fields, (int)GS_COUNT(fields), error);
}

gs_status gs_llm_prompt(const gs_llm_view *view, gs_random *random, gs_text *system, gs_text *ask, gs_error *error)
{
    gs_text part[FIELDS] = {{0}};
    const gs_status status = fill(view, random, part, system, ask, error);
    for (int i = 0; i < FIELDS; i++) gs_text_free(&part[i]);
    return status;
}
