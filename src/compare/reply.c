/* SPDX-License-Identifier: MIT */
#include "compare/reply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/clock.h"
#include "base/error.h"
#include "compare/json.h"
#include "problem/layout.h"

/* ---- from reply to row ---- */

/* The samples of an entry; NULL if there are none. The caller frees them. */
static double *samples_of(const json_t *entry, bool server, int *count)
{
    const json_t *const list = json_object_get(entry, server ? "call_samples" : "device_samples");
    *count = (int)json_array_size(list);
    double *const values = *count > 0 ? malloc((size_t)*count * sizeof *values) : NULL;
    for (int i = 0; values && i < *count; i++) values[i] = json_number_value(json_array_get(list, (size_t)i));
    return values;
}

static json_t *ratio_of(const json_t *reference, const json_t *entry, bool server, int64_t seed)
{
    int first, second;
    double *const a = samples_of(reference, server, &first), *const b = samples_of(entry, server, &second);
    json_t *ratio = NULL;
    if (a && b) {
        const gs_ratio r = gs_ratio_paired(a, b, GS_MIN(first, second), (uint64_t)seed);
        ratio = json_pack("{s:f,s:f,s:f,s:s}", "median", r.median, "low", r.low, "high", r.high, "verdict",
                          gs_comparison_name(r.verdict));
    }
    free(a);
    free(b);
    return ratio;
}

static bool is_entry(const json_t *entry, const char *name, const char *layout)
{
    return strcmp(gs_compare_string(entry, "name"), name) == 0 && (!layout || strcmp(gs_compare_string(entry, "layout"), layout) == 0);
}

static void mark_own(json_t *entries, const gs_reply_context *context)
{
    size_t i;
    json_t *entry;
    if (strcmp(context->own, GS_RESULT_OWN) != 0) return;
    json_array_foreach(entries, i, entry)
        for (gs_layout layout = GS_NN; layout <= GS_TN; layout++)
            if (context->own_in[layout][0] && is_entry(entry, context->own_in[layout], gs_layout_name(gs_layout_with_b(context->problem->layout, layout))))
                json_object_set_new(entry, "own", json_true());
}

static bool is_reference(const json_t *entry, const gs_problem *problem)
{
    if (!problem->groups) return is_entry(entry, GS_RESULT_REFERENCE, NULL);
    return gs_result_is_reference_of_groups(gs_compare_string(entry, "name"));
}

/* The fastest of our entries by the clock that counts, or of the references if own is NULL; -1: none ran. layout NULL: any. */
static int fastest(const json_t *entries, const char *own, const char *layout, const gs_reply_context *context, bool server)
{
    int best = -1;
    double best_us = 0;
    size_t i;
    json_t *entry;
    json_array_foreach(entries, i, entry) {
        const double us = gs_compare_number(entry, server ? "call_us" : "device_us");
        if (!(own ? gs_result_is_own(entry, own) : is_reference(entry, context->problem)) || isnan(us) || (best >= 0 && us >= best_us)) continue;
        if (layout && strcmp(gs_compare_string(entry, "layout"), layout) != 0) continue;
        best = (int)i;
        best_us = us;
    }
    return best;
}

static const char *layout_name(const gs_reply_context *context, gs_layout b) { return gs_layout_name(gs_layout_with_b(context->problem->layout, b)); }

static void add_ratios(json_t *row, const gs_reply_context *context, bool server)
{
    json_t *const entries = json_object_get(row, "contenders");
    bool both = true;
    size_t i;
    json_t *entry;
    for (gs_layout layout = GS_NN; layout <= GS_TN; layout++) {
        const int at = fastest(entries, NULL, layout_name(context, layout), context, server);
        json_t *const reference = at < 0 ? NULL : json_array_get(entries, (size_t)at);
        bool asked = false;
        json_array_foreach(entries, i, entry) {
            if (strcmp(gs_compare_string(entry, "layout"), layout_name(context, layout)) != 0) continue;
            asked |= is_reference(entry, context->problem);
            json_object_del(entry, "device_ratio");   /* the worker's ratios compare across layouts */
            json_object_del(entry, "call_ratio");
            json_t *const ratio = reference ? ratio_of(reference, entry, server, context->seed) : NULL;
            if (ratio) json_object_set_new(entry, "ratio", ratio);
        }
        both &= asked;
        if (reference && context->problem->groups) json_object_set_new(reference, "reference", json_true());
    }
    if (!both) return;
    const int own = fastest(entries, context->own, NULL, context, server), reference = fastest(entries, NULL, NULL, context, server);
    if (own < 0 || reference < 0) return;
    json_t *const ratio = ratio_of(json_array_get(entries, (size_t)reference), json_array_get(entries, (size_t)own), server,
                                   context->seed);
    if (!ratio) return;
    json_object_set_new(ratio, "own", json_integer(own));
    json_object_set_new(ratio, "reference", json_integer(reference));
    json_object_set_new(row, "best", ratio);
}

void gs_reply_complete(json_t *reply, const gs_reply_context *context)
{
    const gs_device_session *const session = context->session;
    const bool server = strcmp(gs_compare_string(reply, "mode"), "server") == 0;
    const double floor_us = gs_floor_us(context->problem, &session->caps);
    char text[GS_PROBLEM_TEXT], date[GS_DATE_TEXT];
    json_object_del(reply, "ok");
    json_object_del(reply, "last");
    json_object_del(reply, "reference");
    json_t *const head = json_pack(
        "{s:s,s:s,s:s,s:s,s:f,s:i,s:I,s:s,s:i,s:i,s:i,s:i,s:i,s:s,s:s,s:s,s:s}", "problem", gs_problem_format(context->problem, text),
        "title", context->title, "own", context->own, "cache", context->cache, "floor_us", isfinite(floor_us) ? floor_us : 0.0,
        "band", gs_floor_band(context->problem, &session->caps), "seed", (json_int_t)context->seed, "gpu", session->caps.name,
        "cc", session->caps.cc, "sms", session->caps.sms, "driver", session->caps.driver, "cublaslt", session->cublaslt, "nvrtc",
        session->nvrtc, "version", session->session.version, "commit", session->session.commit, "date", gs_date_format(date), "command", session->command);
    json_object_update(reply, head);
    json_decref(head);
    mark_own(json_object_get(reply, "contenders"), context);
    add_ratios(reply, context, server);
}
