/* SPDX-License-Identifier: MIT
 * Lineages of the kernels that models wrote, for the report: what each was derived from, and what it gained. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "author/ancestry.h"
#include "base/error.h"
#include "table/table.h"
#include "report/internal.h"

typedef struct search {
    gs_report  *r;
    const char *gpu;
} search;

/* Adds an empty lineage for every problem with a kernel; filled later, because a visit must not start another one. */
static bool on_turn(void *self, const gs_turn *turn)
{
    const search *const s = self;
    gs_report *const r = s->r;
    if (strcmp(turn->mode, "source") != 0 || turn->count == 0 || (s->gpu && strcmp(s->gpu, turn->device) != 0)) return true;
    for (int i = 0; i < r->lineage_count; i++)
        if (strcmp(r->lineages[i].device, turn->device) == 0 && strcmp(r->lineages[i].problem, turn->problem) == 0) return true;
    gs_report_lineage *const to = gs_report_more(r, &r->lineages, &r->lineage_count, &r->lineage_capacity, sizeof *to);
    if (!to) return false;
    snprintf(to->device, sizeof to->device, "%s", turn->device);
    snprintf(to->problem, sizeof to->problem, "%s", turn->problem);
    return true;
}

typedef struct filling {
    gs_report         *r;
    gs_report_lineage *to;
} filling;

static double known(double value) { return value > 0 ? value : NAN; }

static void on_kernel(void *self, const gs_descendant *one)
{
    const filling *const f = self;
    gs_report_kernel *const k = gs_report_more(f->r, &f->to->list, &f->to->count, &f->to->capacity, sizeof *k);
    if (!k) return;
    *k = (gs_report_kernel){.generation = one->generation, .island = one->island, .us = known(one->us), .ratio = known(one->ratio), .gain = known(one->gain),
                            .reward = one->reward, .best = one->best_line};
    snprintf(k->candidate, sizeof k->candidate, "%s", one->candidate);
    snprintf(k->base, sizeof k->base, "%s", one->base);
    snprintf(k->verdict, sizeof k->verdict, "%s", one->verdict);
}

gs_status gs_report_add_lineages(gs_report *r, gs_store *store, const char *gpu, gs_error *error)
{
    search s = {r, gpu};
    GS_TRY(gs_store_turns(store, NULL, NULL, on_turn, &s, error));
    gs_status status = GS_OK;
    for (int i = 0; i < r->lineage_count && status == GS_OK; i++) {
        filling f = {r, &r->lineages[i]};
        int count;
        status = gs_ancestry_walk(store, f.to->device, f.to->problem, on_kernel, &f, &count, error);
    }
    int some = 0;
    for (int i = 0; i < r->lineage_count; i++)   /* a store without the kernels' texts gives empty lineages */
        if (r->lineages[i].count > 0) r->lineages[some++] = r->lineages[i];
    r->lineage_count = some;
    return status;
}

/* ---- the data of the page ---- */

static void put_kernel(gs_json *json, const gs_report_kernel *k)
{
    const double numbers[] = {k->us, k->ratio, k->gain, k->reward};
    gs_json_begin(json, NULL, '[');
    gs_json_string(json, NULL, k->candidate);
    gs_json_string(json, NULL, k->base);
    gs_json_string(json, NULL, k->verdict);
    gs_json_int(json, NULL, k->generation);
    gs_json_int(json, NULL, k->island);
    for (size_t i = 0; i < GS_COUNT(numbers); i++) gs_json_double(json, NULL, numbers[i]);
    gs_json_bool(json, NULL, k->best);
    gs_json_end(json, ']');
}

void gs_report_put_lineages(gs_json *json, const gs_report *r)
{
    static const char *const columns[] = {"candidate", "base", "verdict", "generation", "island", "us", "ratio", "gain", "reward", "best"};   /* in the order of put_kernel */
    gs_json_begin(json, "lineage_columns", '[');
    for (size_t i = 0; i < GS_COUNT(columns); i++) gs_json_string(json, NULL, columns[i]);
    gs_json_end(json, ']');
    gs_json_begin(json, "lineages", '[');
    for (int i = 0; i < r->lineage_count; i++) {
        const gs_report_lineage *const l = &r->lineages[i];
        gs_json_begin(json, NULL, '{');
        gs_json_string(json, "device", l->device);
        gs_json_string(json, "problem", l->problem);
        gs_json_bool(json, "predicted", gs_gpu_emulated(l->device));
        gs_json_begin(json, "kernels", '[');
        for (int k = 0; k < l->count; k++) put_kernel(json, &l->list[k]);
        gs_json_end(json, ']');
        gs_json_end(json, '}');
    }
    gs_json_end(json, ']');
}
