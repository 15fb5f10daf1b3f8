/* SPDX-License-Identifier: MIT
 * Tasks: problems as prompts, in the columns that trainers expect. A prompt is the one of `tune --policy llm`, without measurements unless examples are
 * wanted, and for one schedule or one kernel, because one reward belongs to one candidate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "dataset/rows.h"
#include "policy/llm_prompt.h"
#include "author/prompt.h"
#include "verdict/verdict.h"

static const char *const modes[] = {"schedule", "source"};

char *gs_task_name(const gs_known *k, const char *mode, char name[GS_PROBLEM_TEXT + 16])
{
    char text[GS_PROBLEM_TEXT];
    snprintf(name, GS_PROBLEM_TEXT + 16, "%s %s", mode, gs_problem_format(&k->problem, text));
    return name;
}

/* ---- prompts ---- */

static int add_tried(const gs_known *k, const gs_space *space, gs_llm_tried *tried)
{
    int count = 0;
    for (int i = 0; i < k->trial_count; i++) {
        const gs_trial *const t = &k->trials[i];
        gs_schedule schedule;
        const bool passed = gs_trial_passed(t);
        if (gs_schedule_parse(&schedule, t->candidate, NULL) != GS_OK || gs_space_find(space, &schedule) < 0 || (passed && !(t->us > 0))) continue;
        tried[count] = (gs_llm_tried){.schedule = schedule, .us = passed ? t->us : 0, .ratio = passed && !k->predicted ? t->ratio : 0};
        gs_llm_plain(tried[count].verdict, sizeof tried[count].verdict, t->verdict);
        gs_llm_plain(tried[count].reason, sizeof tried[count].reason, t->reason);
        count++;
    }
    return count;
}

/* Seeded by the problem, so that the same problem and examples give the same texts whatever else is exported. */
static gs_random random_of(const gs_known *k)
{
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(&k->problem, text);
    return (gs_random){gs_hash64(text, strlen(text))};
}

/* The outcome of the last attempt takes the place of an answer's faults. */
static gs_status add_last(const gs_known *k, const gs_attempt *last, gs_text *out, gs_error *error)
{
    const gs_source_view view = {.caps = k->caps, .problem = &k->problem, .floor_us = k->floor_us};
    if (!last) return GS_OK;
    GS_TRY(gs_attempt_show(out, &view, last, error));
    return out->failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt") : GS_OK;
}

static gs_status schedule_prompt(const gs_known *k, const gs_task_view *of, gs_text *system, gs_text *ask, gs_error *error)
{
    gs_text last = {0};
    gs_space space;
    gs_random random = random_of(k);
    GS_TRY(gs_space_create(&space, &k->problem, k->caps, 0, error));
    gs_llm_tried *const tried = calloc((size_t)k->trial_count + 1, sizeof *tried);
    gs_status status = tried ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    if (status == GS_OK) status = add_last(k, of->last, &last, error);
    const gs_llm_view view = {k->options->folder, k->caps, &space, tried, tried && of->examples ? add_tried(k, &space, tried) : 0, gs_text_string(&last), 1};
    if (status == GS_OK && space.count > 0) status = gs_llm_prompt(&view, &random, system, ask, error);
    gs_text_free(&last);
    free(tried);
    gs_space_free(&space);
    return status;
}

/* Kernels that were tried for the problem and whose texts a store has. */
typedef struct attempts {
    gs_attempt *list;
    char      **texts;   /* source and manifest per kernel */
    int         count;
} attempts;

static void free_attempts(attempts *a)
{
    for (int i = 0; i < 2 * a->count; i++) free(a->texts[i]);
    free(a->texts);
    free(a->list);
    *a = (attempts){0};
}

/* Metrics from the turn that wrote the candidate; "": there is none. */
static const char *metrics_of(const gs_known *k, const char *candidate)
{
    for (int i = 0; i < k->turn_count; i++) {
        const gs_turn *const turn = &k->turns[i].turn;
        for (int o = 0; o < turn->count; o++)
            if (strcmp(turn->outcomes[o].candidate, candidate) == 0 && turn->outcomes[o].metrics[0]) return turn->outcomes[o].metrics;
    }
    return "";
}

static gs_status add_attempt(const gs_known *k, const gs_trial *t, attempts *a, gs_error *error)
{
    const bool passed = gs_trial_passed(t);
    char **const texts = &a->texts[2 * a->count];
    gs_status status = GS_ERROR_NOT_FOUND;
    for (int i = 0; i < k->options->store_count && status == GS_ERROR_NOT_FOUND; i++)
        status = gs_store_source_get(k->options->stores[i], t->candidate, &texts[0], &texts[1], error);
    if (status != GS_OK) return status == GS_ERROR_NOT_FOUND ? GS_OK : status;
    const gs_turn_outcome outcome = gs_outcome_of(t);
    const double reward = gs_known_reward(k, &outcome, GS_REWARD_HEADROOM);
    a->list[a->count++] = (gs_attempt){.name = t->candidate, .source = texts[0], .manifest = texts[1], .base = "", .verdict = t->verdict, .reason = t->reason, .metrics = metrics_of(k, t->candidate),
                                       .us = passed ? t->us : 0, .ratio = passed && !k->predicted ? t->ratio : 0, .reward = isnan(reward) ? 0 : reward, .registers = t->registers, .smem = t->smem};
    return GS_OK;
}

static gs_status find_attempts(const gs_known *k, attempts *a, gs_error *error)
{
    a->list = calloc((size_t)k->trial_count + 1, sizeof *a->list);
    a->texts = calloc(2 * (size_t)k->trial_count + 1, sizeof *a->texts);
    gs_status status = a->list && a->texts ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    for (int i = 0; i < k->trial_count && status == GS_OK; i++)
        if (gs_dataset_is_source(k->trials[i].candidate)) status = add_attempt(k, &k->trials[i], a, error);
    return status;
}

static const gs_trial *best_schedule(const gs_known *k)
{
    const gs_trial *best = NULL;
    for (int i = 0; i < k->trial_count; i++) {
        const gs_trial *const t = &k->trials[i];
        gs_schedule schedule;
        if (gs_trial_passed(t) && t->us > 0 && (!best || t->us < best->us) && gs_schedule_parse(&schedule, t->candidate, NULL) == GS_OK) best = t;
    }
    return best;
}

/* The kernel to improve is the last attempt if it has code; otherwise the template: with examples the best measured schedule, else the time model's first
 * choice. */
static gs_status source_prompt(const gs_known *k, const gs_task_view *of, gs_text *system, gs_text *ask, gs_error *error)
{
    char first[GS_SCHEDULE_TEXT];
    gs_schedule schedule;
    gs_random random = random_of(k);
    attempts tried = {0};
    if (gs_schedule_shortlist(&k->problem, k->caps, 0, &schedule, 1) == 0) return GS_OK;
    gs_source_view view = {.folder = k->options->folder, .caps = k->caps, .problem = &k->problem, .floor_us = gs_floor_us(&k->problem, k->caps), .library_us = k->library_us,
                           .family = gs_schedule_format(&schedule, first), .edits = of->edits, .notes = of->notes};
    gs_status status = of->examples ? find_attempts(k, &tried, error) : GS_OK;
    const gs_trial *const best = of->examples ? best_schedule(k) : NULL;
    if (best) view.family = view.best = best->candidate, view.best_us = best->us;
    view.attempts = tried.list;
    view.count = tried.count;
    for (int i = 0; i < tried.count; i++)
        if (!gs_verdict_passed(tried.list[i].verdict)) view.failure = &tried.list[i];
    if (of->last && of->last->source) view.parent = of->last;
    if (of->last && !(of->last->us > 0) && !gs_verdict_passed(of->last->verdict)) view.failure = of->last;
    if (status == GS_OK) status = gs_source_prompt(&view, &random, system, ask, error);
    if (status == GS_OK && of->source && !view.parent) status = gs_source_template(&view, of->source, of->manifest, error);
    free_attempts(&tried);
    return status;
}

gs_status gs_task_prompt_of(const gs_known *k, const char *mode, const gs_task_view *of, gs_text *system, gs_text *ask, gs_error *error)
{
    if (!k->caps) return GS_OK;
    return (gs_dataset_is_source(mode) ? source_prompt : schedule_prompt)(k, of, system, ask, error);
}

gs_status gs_task_prompt(const gs_known *k, const char *mode, bool examples, gs_text *system, gs_text *ask, gs_error *error)
{
    return gs_task_prompt_of(k, mode, &(gs_task_view){.examples = examples}, system, ask, error);
}

void gs_answer_text(gs_text *text, const char *candidate, const char *source, const char *manifest)
{
    if (!source) {
        gs_text_addf(text, "```json\n[\"%s\"]\n```\n", candidate);
        return;
    }
    const size_t size = strlen(source), more = strlen(manifest);
    gs_text_addf(text, "# Code\n```cuda kernel.cu\n%s%s```\n", source, size && source[size - 1] == '\n' ? "" : "\n");
    gs_text_addf(text, "```text manifest\n%s%s```\n", manifest, more && manifest[more - 1] == '\n' ? "" : "\n");
}

/* ---- rows ---- */

/* verl passes reward_model.ground_truth and extra_info to compute_score. */
static void add_trainers_columns(gs_json *json, const gs_known *k, const char *mode)
{
    gs_json_string(json, "data_source", "gemmsmith");
    gs_json_string(json, "ability", "gemm");
    gs_json_begin(json, "reward_model", '{');
    gs_json_string(json, "style", "rule");
    gs_json_string(json, "ground_truth", k->text);
    gs_json_end(json, '}');
    gs_json_begin(json, "extra_info", '{');
    gs_json_int(json, "index", k->counts->rows);
    gs_json_string(json, "split", k->held_out ? "held_out" : "train");
    gs_json_string(json, "mode", mode);
    gs_json_string(json, "problem", k->text);
    gs_json_end(json, '}');
}

static gs_status add_task(gs_known *k, const char *mode, gs_error *error)
{
    gs_text system = {0}, ask = {0};
    char name[GS_PROBLEM_TEXT + 16];
    const char *const parts[] = {"task", gs_task_name(k, mode, name)};
    gs_status status = gs_task_prompt(k, mode, k->options->examples, &system, &ask, error);
    if (status == GS_OK && (system.failed || ask.failed)) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    if (status == GS_OK && ask.size > 0) {   /* otherwise no family accepts the problem */
        const gs_message messages[] = {{"system", gs_text_string(&system)}, {"user", gs_text_string(&ask)}};
        gs_json json = gs_row_begin(k, "task", parts, 2);
        gs_json_string(&json, "task", name);
        gs_json_string(&json, "mode", mode);
        gs_row_positive(&json, "cublaslt_us", k->library_us);
        add_trainers_columns(&json, k, mode);
        gs_row_messages(&json, "prompt", messages, 2);
        status = gs_row_end(k, &json, error);
    }
    gs_text_free(&system);
    gs_text_free(&ask);
    return status;
}

static gs_status add_tasks(gs_known *k, gs_error *error)
{
    gs_status status = GS_OK;
    for (size_t i = 0; i < GS_COUNT(modes) && status == GS_OK; i++)
        if (gs_dataset_mode(k->options, modes[i])) status = add_task(k, modes[i], error);
    return status;
}

gs_status gs_dataset_tasks(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error)
{
    gs_status status = GS_OK;
    *counts = (gs_dataset_counts){0};
    for (int i = 0; i < options->problem_count && status == GS_OK; i++) {
        char text[GS_PROBLEM_TEXT];
        gs_known known = {.options = options, .counts = counts, .caps = options->caps, .text = gs_problem_format(&options->problems[i], text)};
        status = gs_known_read(&known, options->device, &options->problems[i], error);
        if (status == GS_OK && !gs_dataset_wants(options, known.held_out)) counts->other_side++;
        else if (status == GS_OK) status = add_tasks(&known, error);
        gs_known_free(&known);
    }
    if (!options->examples) counts->unverified = 0;   /* prompts without examples show no candidates, so none was left out */
    return status;
}
