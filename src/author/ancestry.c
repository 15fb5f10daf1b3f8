/* SPDX-License-Identifier: MIT */
#include "author/ancestry.h"

#include <stdlib.h>
#include <string.h>

#include "author/lineages.h"
#include "base/error.h"
#include "base/json.h"
#include "verify/verdict.h"

enum { DEEPEST = 200 };   /* generations that are told apart */

typedef struct tree {
    const gs_lineages *all;
    int  *parent;           /* of each attempt: an attempt, or -1 */
    bool *shown, *chosen;   /* chosen: the fastest and its ancestors */
    bool  predicted, json;
    gs_text *out;
} tree;

static void put_object(tree *t, const gs_attempt *a, int at, int generation)
{
    gs_json json = gs_json_into(t->out);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "candidate", a->name);
    gs_json_string(&json, "base", a->base);
    gs_json_int(&json, "generation", generation);
    gs_json_int(&json, "island", t->all->tried[at].island);
    gs_json_string(&json, "verdict", a->verdict);
    if (a->us > 0) {
        gs_json_double(&json, "us", a->us);
        if (t->predicted) gs_json_bool(&json, "predicted", true);
        gs_json_double(&json, "ratio", a->ratio);
        gs_json_double(&json, "reward", a->reward);
    }
    gs_json_bool(&json, "best_line", t->chosen[at]);
    gs_json_end(&json, '}');
    gs_text_add(t->out, "\n");
}

static void put_line(tree *t, const gs_attempt *a, int at, int generation)
{
    gs_text_addf(t->out, "%s%*s%s  ", t->chosen[at] ? "* " : "  ", 2 * generation, "", a->name);
    if (!(a->us > 0)) gs_text_add(t->out, gs_verdict_name(gs_verdict_find(a->verdict)));
    else if (t->predicted) gs_text_addf(t->out, "predicted %.2f us", a->us);
    else gs_text_addf(t->out, "%.2f us  %.3f", a->us, a->ratio);
    gs_text_addf(t->out, "  island %d\n", t->all->tried[at].island);
}

/* An attempt and what was made from it. A store that was merged from anywhere may have circles: each is shown once. */
static void show(tree *t, int at, int generation)
{
    const gs_attempt *const a = &t->all->attempt[at];
    if (t->shown[at]) return;
    t->shown[at] = true;
    (t->json ? put_object : put_line)(t, a, at, generation);
    for (int i = 0; i < t->all->count; i++)
        if (t->parent[i] == at && generation < DEEPEST) show(t, i, generation + 1);
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
        if (!t->json) gs_text_addf(t->out, "%s\n", *base ? base : GS_AUTHOR_NOTHING);
        for (int k = i; k < all->count; k++)   /* all that begin with the same */
            if (t->parent[k] < 0 && strcmp(all->attempt[k].base, base) == 0) show(t, k, 1);
    }
    for (int i = 0; i < all->count; i++) show(t, i, 1);   /* of circles, and what is deeper than that */
}

gs_status gs_ancestry_print(gs_text *out, gs_store *store, const char *device, const char *problem, bool predicted, bool json, int *count, gs_error *error)
{
    gs_lineages *const all = malloc(sizeof *all);
    if (!all) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for lineages");
    gs_status status = gs_lineages_read(all, store, device, problem, "", 1, error);
    *count = all->count;
    const size_t room = (size_t)all->count + 1;
    tree t = {.all = all, .parent = calloc(room, sizeof *t.parent), .shown = calloc(room, 1), .chosen = calloc(room, 1), .predicted = predicted, .json = json, .out = out};
    if (status == GS_OK && !(t.parent && t.shown && t.chosen)) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for lineages");
    if (status == GS_OK) show_all(&t);
    if (status == GS_OK && out->failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for lineages");
    free(t.parent);
    free(t.shown);
    free(t.chosen);
    gs_lineages_free(all);
    free(all);
    return status;
}
