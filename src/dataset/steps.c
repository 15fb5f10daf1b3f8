/* SPDX-License-Identifier: MIT
 * Trajectories: turns of language models in order, with their outcomes, and candidates that were tried without a turn, each as a trajectory of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "dataset/rows.h"

/* The columns that say where a step comes from. */
typedef struct step {
    const char *mode, *model, *base, *fault, *date, *version;   /* NULL: null */
    char        trajectory[GS_HASH_TEXT];
    int         step, island, number;                           /* island, number -1: null */
} step;

static void number_or_null(gs_json *json, const char *name, int value)
{
    if (value >= 0) gs_json_int(json, name, value);
    else gs_json_string(json, name, NULL);
}

static void add_step(gs_json *json, const gs_known *k, const step *s)
{
    char task[GS_PROBLEM_TEXT + 16];
    gs_json_string(json, "task", gs_task_name(k, s->mode, task));
    gs_json_string(json, "mode", s->mode);
    gs_json_string(json, "trajectory", s->trajectory);
    gs_json_int(json, "step", s->step);
    number_or_null(json, "island", s->island);
    number_or_null(json, "number", s->number);
    gs_json_string(json, "model", s->model);
    gs_json_string(json, "base", s->base);
    gs_json_string(json, "fault", s->fault);
    gs_json_string(json, "version", s->version);
    gs_json_string(json, "date", s->date);
}

/* ---- turns ---- */

/* The best outcome: passed before failed, then faster, then earlier. */
static int best_of(const gs_known *k, const gs_turn *t)
{
    int best = -1;
    for (int i = 0; i < t->count; i++) {
        const bool passed = gs_outcome_passed(k, &t->outcomes[i]);
        const bool better = best < 0 || (passed && (!gs_outcome_passed(k, &t->outcomes[best]) || t->outcomes[i].us < t->outcomes[best].us));
        if (better) best = i;
    }
    return best;
}

static gs_status add_turn(gs_known *k, const gs_kept_turn *kept, gs_error *error)
{
    const gs_turn *const t = &kept->turn;
    const int best = best_of(k, t);
    const gs_turn_outcome none = {.verdict = "text", .reason = t->fault, .metrics = ""};
    const gs_message messages[] = {{"system", t->system}, {"user", t->ask}};
    const char *const parts[] = {"turn", t->uid};
    char island[16];
    step s = {.mode = t->mode, .model = t->model, .base = t->base, .fault = t->fault, .date = t->date, .step = kept->step, .island = t->island, .number = t->number};
    snprintf(island, sizeof island, "%d", t->island);
    const char *const line[] = {"line", k->device, k->text, t->mode, island};
    gs_hash_format(gs_hash_strings(line, GS_COUNT(line)), s.trajectory);
    gs_json json = gs_row_begin(k, "turn", parts, 2);
    add_step(&json, k, &s);
    gs_row_outcome(&json, k, best < 0 ? &none : &t->outcomes[best]);
    gs_json_int(&json, "candidates", t->count);
    gs_row_messages(&json, "prompt", messages, 2);
    gs_json_string(&json, "completion", t->answer);
    gs_json_begin(&json, "outcomes", '[');
    for (int i = 0; i < t->count; i++) {
        gs_json_begin(&json, NULL, '{');
        gs_row_outcome(&json, k, &t->outcomes[i]);
        gs_json_end(&json, '}');
    }
    gs_json_end(&json, ']');
    return gs_row_end(k, &json, error);
}

/* ---- trials ---- */

static bool is_of_a_turn(const gs_known *k, const char *candidate)
{
    for (int i = 0; i < k->turn_count; i++)
        for (int o = 0; o < k->turns[i].turn.count; o++)
            if (strcmp(k->turns[i].turn.outcomes[o].candidate, candidate) == 0) return true;
    return false;
}

/* The answer with this candidate; empty if no store has a user kernel's texts. */
static gs_status answer_of(const gs_known *k, const char *candidate, gs_text *text, gs_error *error)
{
    if (!gs_dataset_is_source(candidate)) {
        gs_answer_text(text, candidate, NULL, NULL);
        return GS_OK;
    }
    for (int i = 0; i < k->options->store_count; i++) {
        char *source, *manifest;
        const gs_status status = gs_store_source_get(k->options->stores[i], candidate, &source, &manifest, error);
        if (status == GS_OK) gs_answer_text(text, candidate, source, manifest);
        if (status == GS_OK) free(source), free(manifest);
        if (status != GS_ERROR_NOT_FOUND) return status;
    }
    return GS_OK;
}

static gs_status add_trial(gs_known *k, const gs_trial *t, gs_error *error)
{
    const bool source = gs_dataset_is_source(t->candidate);
    const char *const parts[] = {"trial", k->device, k->text, t->candidate};
    step s = {.mode = source ? "source" : "schedule", .date = t->date, .version = t->version, .island = -1, .number = -1};
    gs_text answer = {0};
    const gs_turn_outcome outcome = gs_outcome_of(t);
    gs_status status = answer_of(k, t->candidate, &answer, error);
    if (status == GS_OK && answer.failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer");
    if (status == GS_OK) {
        gs_hash_format(gs_hash_strings(parts, GS_COUNT(parts)), s.trajectory);
        gs_json json = gs_row_begin(k, "trial", parts, GS_COUNT(parts));
        add_step(&json, k, &s);
        gs_row_outcome(&json, k, &outcome);
        gs_json_int(&json, "candidates", 1);
        gs_row_messages(&json, "prompt", NULL, 0);
        gs_json_string(&json, "completion", answer.size ? answer.data : NULL);
        gs_json_begin(&json, "outcomes", '[');
        gs_json_end(&json, ']');
        status = gs_row_end(k, &json, error);
    }
    gs_text_free(&answer);
    return status;
}

static bool is_candidate(const char *name)
{
    gs_schedule schedule;
    return gs_dataset_is_source(name) || gs_schedule_parse(&schedule, name, NULL) == GS_OK;
}

static gs_status add_all(gs_known *k, gs_error *error)
{
    for (int i = 0; i < k->turn_count; i++)
        if (gs_dataset_mode(k->options, k->turns[i].turn.mode)) GS_TRY(add_turn(k, &k->turns[i], error));
    for (int i = 0; i < k->trial_count; i++) {
        const char *const candidate = k->trials[i].candidate;
        if (is_candidate(candidate) && gs_dataset_mode(k->options, candidate) && !is_of_a_turn(k, candidate)) GS_TRY(add_trial(k, &k->trials[i], error));
    }
    return GS_OK;
}

gs_status gs_dataset_trajectories(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error)
{
    *counts = (gs_dataset_counts){0};
    return gs_dataset_each(options, counts, add_all, error);
}
