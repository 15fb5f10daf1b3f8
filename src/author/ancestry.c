/* SPDX-License-Identifier: MIT */
#include "author/ancestry.h"

#include <stdlib.h>
#include <string.h>

#include "author/lineages.h"
#include "base/error.h"
#include "base/json.h"
#include "verdict/verdict.h"

enum { DEEPEST = 200 };   /* deepest generation shown as such */

typedef struct tree {
    const gs_lineages *all;
    int  *parent;           /* per attempt: the parent's index, or -1 */
    bool *shown, *chosen;   /* chosen: the fastest and its ancestors */
    gs_descendant_visit visit;
    void *self;
} tree;

static double gain_of(const tree *t, int at)
{
    const double us = t->all->attempt[at].us, before = t->parent[at] >= 0 ? t->all->attempt[t->parent[at]].us : 0;
    return us > 0 && before > 0 ? before / us : 0;
}

/* Visits an attempt and what was derived from it. A merged store may have cycles: each attempt is visited once. */
static void show(tree *t, int at, int generation, bool begins)
{
    const gs_attempt *const a = &t->all->attempt[at];
    if (t->shown[at]) return;
    t->shown[at] = true;
    t->visit(t->self, &(gs_descendant){.candidate = a->name, .base = a->base, .verdict = a->verdict, .generation = generation, .island = t->all->tried[at].island, .us = a->us,
                                       .ratio = a->ratio, .reward = a->reward, .gain = gain_of(t, at), .begins = begins, .best_line = t->chosen[at]});
    for (int i = 0; i < t->all->count; i++)
        if (t->parent[i] == at && generation < DEEPEST) show(t, i, generation + 1, false);
}

static void choose(tree *t)
{
    int best = -1;
    for (int i = 0; i < t->all->count; i++)
        if (t->all->attempt[i].us > 0 && (best < 0 || t->all->tried[i].score > t->all->tried[best].score)) best = i;
    for (; best >= 0 && !t->chosen[best]; best = t->parent[best]) t->chosen[best] = true;
}

static void show_all(tree *t)
{
    const gs_lineages *const all = t->all;
    for (int i = 0; i < all->count; i++) t->parent[i] = gs_lineages_find(all, all->attempt[i].base);
    choose(t);
    for (int i = 0; i < all->count; i++) {
        if (t->shown[i] || t->parent[i] >= 0) continue;
        const char *const base = all->attempt[i].base;
        for (int k = i; k < all->count; k++)   /* all in generation 1 with the same base */
            if (t->parent[k] < 0 && strcmp(all->attempt[k].base, base) == 0) show(t, k, 1, k == i);
    }
    for (int i = 0; i < all->count; i++) show(t, i, 1, false);   /* members of cycles, and generations behind DEEPEST */
}

gs_status gs_ancestry_walk(gs_store *store, const char *device, const char *problem, gs_descendant_visit visit, void *self, int *count, gs_error *error)
{
    gs_lineages *const all = malloc(sizeof *all);
    *count = 0;
    if (!all) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for lineages");
    gs_status status = gs_lineages_read(all, store, device, problem, "", 1, error);
    *count = all->count;
    const size_t room = (size_t)all->count + 1;
    tree t = {.all = all, .parent = calloc(room, sizeof *t.parent), .shown = calloc(room, 1), .chosen = calloc(room, 1), .visit = visit, .self = self};
    if (status == GS_OK && !(t.parent && t.shown && t.chosen)) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for lineages");
    if (status == GS_OK) show_all(&t);
    free(t.parent);
    free(t.shown);
    free(t.chosen);
    gs_lineages_free(all);
    free(all);
    return status;
}

/* ---- lines ---- */

typedef struct lines {
    gs_text *out;
    bool     predicted;
} lines;

static void put_object(void *self, const gs_descendant *one)
{
    const lines *const to = self;
    gs_json json = gs_json_into(to->out);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "candidate", one->candidate);
    gs_json_string(&json, "base", one->base);
    gs_json_int(&json, "generation", one->generation);
    gs_json_int(&json, "island", one->island);
    gs_json_string(&json, "verdict", one->verdict);
    if (one->us > 0) {
        gs_json_double(&json, "us", one->us);
        if (to->predicted) gs_json_bool(&json, "predicted", true);
        gs_json_double(&json, "ratio", one->ratio);
        gs_json_double(&json, "reward", one->reward);
    }
    gs_json_bool(&json, "best_line", one->best_line);
    gs_json_end(&json, '}');
    gs_text_add(to->out, "\n");
}

static void put_line(void *self, const gs_descendant *one)
{
    const lines *const to = self;
    if (one->begins) gs_text_addf(to->out, "%s\n", *one->base ? one->base : GS_AUTHOR_NOTHING);
    gs_text_addf(to->out, "%s%*s%s  ", one->best_line ? "* " : "  ", 2 * one->generation, "", one->candidate);
    if (!(one->us > 0)) gs_text_add(to->out, gs_verdict_name(gs_verdict_find(one->verdict)));
    else if (to->predicted) gs_text_addf(to->out, "predicted %.2f us", one->us);
    else gs_text_addf(to->out, "%.2f us  %.3f", one->us, one->ratio);
    gs_text_addf(to->out, "  island %d\n", one->island);
}

gs_status gs_ancestry_print(gs_text *out, gs_store *store, const char *device, const char *problem, bool predicted, bool json, int *count, gs_error *error)
{
    lines to = {out, predicted};
    GS_TRY(gs_ancestry_walk(store, device, problem, json ? put_object : put_line, &to, count, error));
    return out->failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for lineages") : GS_OK;
}
