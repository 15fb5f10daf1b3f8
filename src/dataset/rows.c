/* SPDX-License-Identifier: MIT
 * The columns of a row. */
#include "dataset/rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "problem/layout.h"
#include "verdict/verdict.h"

/* ---- columns ---- */

void gs_row_positive(gs_json *json, const char *name, double value) { gs_json_double(json, name, value > 0 ? value : (double)NAN); }

gs_json gs_row_begin(gs_known *k, const char *kind, const char *const *parts, int count)
{
    static const char *const types[] = {[GS_F16] = "f16", [GS_BF16] = "bf16", [GS_F32] = "f32"};
    const gs_problem *const p = &k->problem;
    char id[GS_HASH_TEXT], text[GS_PROBLEM_TEXT];
    gs_text_clear(&k->line);
    gs_json json = gs_json_into(&k->line);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "id", gs_hash_format(gs_hash_strings(parts, (size_t)count), id));
    gs_json_string(&json, "kind", kind);
    gs_json_string(&json, "problem", gs_problem_format(p, text));
    gs_json_string(&json, "split", k->held_out ? "held_out" : "train");
    gs_json_int(&json, "m", p->m);
    gs_json_int(&json, "n", p->n);
    gs_json_int(&json, "k", p->k);
    gs_json_string(&json, "layout", gs_layout_name(p->layout));
    gs_json_string(&json, "in", types[p->in]);
    gs_json_string(&json, "acc", types[p->acc]);
    gs_json_string(&json, "out", types[p->out]);
    gs_json_int(&json, "batch", p->batch);
    gs_json_string(&json, "device", k->device[0] ? k->device : NULL);
    gs_json_bool(&json, "predicted", k->predicted);
    gs_row_positive(&json, "floor_us", k->floor_us);
    return json;
}

gs_status gs_row_end(gs_known *k, gs_json *json, gs_error *error)
{
    gs_json_end(json, '}');
    gs_text_add(&k->line, "\n");
    if (k->line.failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a row");
    if (!k->held_out && gs_dataset_mentions_held_out(k->line.data, k->options->held_out)) {
        k->counts->leaking++;
        return GS_OK;
    }
    k->counts->rows++;
    return k->options->line(k->options->self, k->line.data) ? GS_OK : gs_fail_errno(error, errno, NULL, "a row could not be written");
}

void gs_row_messages(gs_json *json, const char *name, const gs_message *messages, int count)
{
    if (count == 0) {
        gs_json_string(json, name, NULL);
        return;
    }
    gs_json_begin(json, name, '[');
    for (int i = 0; i < count; i++) {
        gs_json_begin(json, NULL, '{');
        gs_json_string(json, "role", messages[i].role);
        gs_json_string(json, "content", messages[i].content);
        gs_json_end(json, '}');
    }
    gs_json_end(json, ']');
}

/* ---- outcomes ---- */

bool gs_trial_passed(const gs_trial *trial) { return gs_verdict_passed(trial->verdict); }

gs_turn_outcome gs_outcome_of(const gs_trial *t)
{
    return (gs_turn_outcome){.candidate = t->candidate, .verdict = t->verdict, .reason = t->reason, .part = t->part, .us = t->us, .library_us = t->library_us,
                             .ratio = t->ratio, .low = t->low, .high = t->high, .registers = t->registers, .smem = t->smem, .metrics = ""};
}

/* The outcome, replaced by a later verdict if that is a failure. */
static gs_turn_outcome as_known(const gs_known *k, const gs_turn_outcome *outcome)
{
    gs_turn_outcome o = *outcome;
    const gs_trial *const later = o.candidate && gs_verdict_passed(o.verdict) ? gs_known_trial(k, o.candidate) : NULL;
    if (!later || gs_trial_passed(later)) return o;
    o.verdict = later->verdict;
    o.reason = later->reason;
    o.part = later->part;
    return o;
}

bool gs_outcome_passed(const gs_known *k, const gs_turn_outcome *outcome)
{
    return outcome->us > 0 && gs_verdict_passed(as_known(k, outcome).verdict);
}

static double l2_hit_of(const gs_known *k, const char *candidate)
{
    gs_schedule schedule;
    if (!k->caps || gs_schedule_parse(&schedule, candidate, NULL) != GS_OK || gs_schedule_check(&schedule, &k->problem, k->caps, NULL) != GS_OK) return -1;
    return gs_l2_hit(&schedule, &k->problem, k->caps);
}

/* The size of the candidate's source; 0: a schedule; NaN: no store has the text. */
static double bytes_of(const gs_known *k, const char *candidate)
{
    char *source = NULL, *manifest = NULL;
    double bytes = (double)NAN;
    if (!candidate || !gs_dataset_is_source(candidate)) return 0;
    for (int i = 0; i < k->options->store_count && isnan(bytes); i++)
        if (gs_store_source_get(k->options->stores[i], candidate, &source, &manifest, NULL) == GS_OK) bytes = (double)strlen(source);
    free(source);
    free(manifest);
    return bytes;
}

/* NaN: a time without cuBLASLt's beside it, a candidate without a verdict, or a source of unknown length. */
double gs_known_reward(const gs_known *k, const gs_turn_outcome *o, gs_reward_kind kind)
{
    const bool passed = gs_outcome_passed(k, o);
    const double bytes = passed && (kind == GS_REWARD_LENGTH || kind == GS_REWARD_CLIPPED) ? bytes_of(k, o->candidate) : 0;
    const gs_judged judged = {.passed = passed, .bytes = bytes, .alone = k->predicted, .ratio = {o->ratio, o->low, o->high, GS_UNCLEAR}, .us = o->us, .library_us = o->library_us,
                              .floor_us = k->floor_us, .l2_hit = passed ? l2_hit_of(k, o->candidate) : -1};
    const bool judgeable = !isnan(bytes) && k->floor_us > 0 && (k->predicted || o->low > 0);
    return !o->verdict[0] || (passed && !judgeable) ? (double)NAN : gs_reward_of(kind, &judged);
}

void gs_row_outcome(gs_json *json, const gs_known *k, const gs_turn_outcome *outcome)
{
    const gs_turn_outcome now = as_known(k, outcome), *const o = &now;
    const bool passed = gs_outcome_passed(k, o);
    const double none = (double)NAN;
    gs_json_string(json, "candidate", o->candidate);
    gs_json_string(json, "verdict", o->verdict);
    gs_json_int(json, "part", o->part);
    gs_json_string(json, "reason", o->reason);
    gs_row_positive(json, "us", passed ? o->us : none);
    gs_row_positive(json, "cublaslt_us", passed && !k->predicted ? o->library_us : none);
    gs_row_positive(json, "ratio", passed && !k->predicted ? o->ratio : none);
    gs_row_positive(json, "low", passed && !k->predicted ? o->low : none);
    gs_row_positive(json, "high", passed && !k->predicted ? o->high : none);
    for (int kind = 0; kind < GS_REWARDS; kind++) {
        char name[32];
        snprintf(name, sizeof name, "reward_%s", gs_reward_name((gs_reward_kind)kind));
        gs_json_double(json, name, gs_known_reward(k, o, (gs_reward_kind)kind));
    }
    gs_row_positive(json, "registers", o->registers);
    gs_json_double(json, "smem", o->registers > 0 ? o->smem : none);   /* 0 bytes is a valid value */
    gs_json_string(json, "metrics", o->metrics);
}
