/* SPDX-License-Identifier: MIT
 * Pairs for training: prompts with winners, failed answers with the next ones that passed, better with worse candidates, and edits. Winners and the better
 * candidate of a preference have passed verification, and no later verdict contradicts that. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "llm/answer.h"
#include "llm/prompt.h"
#include "dataset/edits.h"
#include "dataset/rows.h"
#include "redact/redact.h"

static const double buckets[] = {1.1, 1.3, 2, INFINITY};   /* upper bounds of how much slower the worse one is; one pair per bucket */

/* The fields of a row of pairs; null if the kind does not have them. */
typedef struct pair {
    const char            *kind, *mode, *model;     /* model NULL: none */
    const gs_message      *prompt;
    int                    messages;
    const char            *completion;              /* winner, repair */
    const char            *chosen, *rejected;       /* preference */
    const gs_turn_outcome *outcome;                 /* of completion or chosen */
    const char            *rejected_candidate, *rejected_verdict;
    double                 apart;                   /* ratio by which the chosen one is faster; 0: the other one failed */
} pair;

static void answer_message(gs_json *json, const char *name, const char *text)
{
    const gs_message message = {"assistant", text};
    gs_row_messages(json, name, &message, text ? 1 : 0);
}

/* The id is a hash of the content: kind, prompt and answers. */
static gs_status add_pair(gs_known *k, const pair *p, gs_error *error)
{
    char task[GS_PROBLEM_TEXT + 16];
    const char *parts[2 + 4 + 3] = {p->kind, k->device};
    int count = 2;
    for (int i = 0; i < p->messages; i++) parts[count++] = p->prompt[i].content;
    if (p->completion) parts[count++] = p->completion;
    if (p->chosen) parts[count++] = p->chosen;
    if (p->rejected) parts[count++] = p->rejected;
    gs_json json = gs_row_begin(k, p->kind, parts, count);
    gs_json_string(&json, "task", gs_task_name(k, p->mode, task));
    gs_json_string(&json, "mode", p->mode);
    gs_json_string(&json, "model", p->model);
    gs_row_outcome(&json, k, p->outcome);
    gs_json_string(&json, "rejected_candidate", p->rejected_candidate);
    gs_json_string(&json, "rejected_verdict", p->rejected_verdict);
    gs_row_positive(&json, "apart", p->apart);
    gs_row_messages(&json, "prompt", p->prompt, p->messages);
    answer_message(&json, "completion", p->completion);
    answer_message(&json, "chosen", p->chosen);
    answer_message(&json, "rejected", p->rejected);
    return gs_row_end(k, &json, error);
}

/* system and ask of the task as messages; *count 0: no family accepts the problem. */
static gs_status task_messages(const gs_known *k, const char *mode, gs_text texts[2], gs_message messages[2], int *count, gs_error *error)
{
    GS_TRY(gs_task_prompt(k, mode, false, &texts[0], &texts[1], error));
    if (texts[0].failed || texts[1].failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    messages[0] = (gs_message){"system", gs_text_string(&texts[0])};
    messages[1] = (gs_message){"user", gs_text_string(&texts[1])};
    *count = texts[1].size > 0 ? 2 : 0;
    return GS_OK;
}

/* ---- winners ---- */

static bool is_fast(const gs_known *k, const gs_turn_outcome *o) { return k->predicted || o->low >= k->options->least; }

/* The confirmed choice for the problem, if it is a schedule. */
static gs_status schedule_winner(gs_known *k, gs_error *error)
{
    gs_schedule schedule;
    gs_text texts[2] = {{0}}, answer = {0};
    gs_message messages[2];
    int count = 0;
    const gs_turn_outcome outcome = gs_outcome_of(&k->winner);
    if (gs_schedule_parse(&schedule, k->winner.candidate, NULL) != GS_OK || !gs_outcome_passed(k, &outcome) || !is_fast(k, &outcome)) return GS_OK;
    gs_answer_text(&answer, k->winner.candidate, NULL, NULL);
    gs_status status = answer.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer") : task_messages(k, "schedule", texts, messages, &count, error);
    const pair p = {.kind = "winner", .mode = "schedule", .prompt = messages, .messages = 2, .completion = answer.data, .outcome = &outcome};
    if (status == GS_OK && count > 0) status = add_pair(k, &p, error);
    gs_text_free(&texts[0]);
    gs_text_free(&texts[1]);
    gs_text_free(&answer);
    return status;
}

/* The fastest outcome of a turn that passed; NULL: none. */
static const gs_turn_outcome *passed_of(const gs_known *k, const gs_turn *turn)
{
    const gs_turn_outcome *best = NULL;
    for (int i = 0; i < turn->count; i++)
        if (gs_outcome_passed(k, &turn->outcomes[i]) && (!best || turn->outcomes[i].us < best->us)) best = &turn->outcomes[i];
    return best;
}

static gs_status source_winner(gs_known *k, gs_error *error)
{
    const gs_turn *from = NULL;
    const gs_turn_outcome *best = NULL;
    for (int i = 0; i < k->turn_count; i++) {
        const gs_turn *const t = &k->turns[i].turn;
        const gs_turn_outcome *const o = gs_dataset_is_source(t->mode) ? passed_of(k, t) : NULL;
        if (!o || !is_fast(k, o) || (best && !(o->us < best->us))) continue;
        best = o;
        from = t;
    }
    if (!from) return GS_OK;
    const gs_message messages[] = {{"system", from->system}, {"user", from->ask}};
    const pair p = {.kind = "winner", .mode = "source", .model = from->model, .prompt = messages, .messages = 2, .completion = from->answer, .outcome = best};
    return add_pair(k, &p, error);
}

/* ---- repairs ---- */

/* Whether the answer could not be parsed, or nothing in it passed. A candidate without a verdict (the worker was lost) did not fail. */
static bool failed(const gs_known *k, const gs_turn *turn)
{
    for (int i = 0; i < turn->count; i++)
        if (!turn->outcomes[i].verdict[0]) return false;
    return turn->fault[0] || (turn->count > 0 && !passed_of(k, turn));
}

static const gs_turn *next_that_passed(const gs_known *k, int from)
{
    const gs_turn *const bad = &k->turns[from].turn;
    for (int i = from + 1; i < k->turn_count; i++) {
        const gs_turn *const t = &k->turns[i].turn;
        if (strcmp(t->mode, bad->mode) == 0 && t->island == bad->island && !t->fault[0] && passed_of(k, t))
            return strcmp(t->base, bad->base) != 0 && gs_answer_is_edits(t->answer) ? NULL : t;   /* edits of a kernel that the failed turn's prompt did not show */
    }
    return NULL;
}

/* The reason as the author's loop would show it: what the compiler or the verifier said, without quotations of the answer. */
static gs_status add_reason(const gs_turn *bad, gs_text *out, gs_error *error)
{
    gs_answer answer = {0};
    gs_source_shown shown = {0};
    gs_status status = GS_OK;
    if (bad->fault[0]) {
        gs_text_add_bytes(out, bad->fault, strcspn(bad->fault, "\n"));   /* never quotes the answer */
        return GS_OK;
    }
    const bool kernel = gs_dataset_is_source(bad->mode) && gs_answer_parse(&answer, bad->answer, strlen(bad->answer), gs_answer_kernel, NULL) == GS_OK;
    if (kernel) status = gs_source_show(&shown, gs_answer_block(&answer, "kernel.cu"), GS_ANSWER_BLOCK, error);
    if (status == GS_OK) gs_reason_show(out, bad->outcomes[0].reason, kernel ? &shown : NULL);
    gs_source_shown_free(&shown);
    gs_answer_free(&answer);
    return status;
}

static gs_status add_repair(gs_known *k, const gs_turn *bad, const gs_turn *good, gs_error *error)
{
    gs_text why = {0}, reason = {0};
    gs_status status = add_reason(bad, &reason, error);
    const gs_prompt_field fields[] = {
        {"verdict", bad->fault[0] ? "It could not be read" : bad->outcomes[0].verdict},
        {"reason",  gs_text_string(&reason)},
    };
    if (status == GS_OK && reason.failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a reason");
    if (status == GS_OK) status = gs_prompt_add(&why, k->options->folder, "failed.md", fields, (int)GS_COUNT(fields), error);
    if (status == GS_OK && why.failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    const gs_message messages[] = {{"system", bad->system}, {"user", bad->ask}, {"assistant", bad->answer}, {"user", gs_text_string(&why)}};
    const pair p = {.kind = "repair", .mode = bad->mode, .model = good->model, .prompt = messages, .messages = 4, .completion = good->answer,
                    .outcome = passed_of(k, good), .rejected_candidate = bad->count > 0 ? bad->outcomes[0].candidate : NULL,
                    .rejected_verdict = bad->count > 0 ? bad->outcomes[0].verdict : "text"};
    if (status == GS_OK) status = add_pair(k, &p, error);
    gs_text_free(&why);
    gs_text_free(&reason);
    return status;
}

static bool same_answers(const gs_turn *a, const gs_turn *b) { return strcmp(a->ask, b->ask) == 0 && strcmp(a->answer, b->answer) == 0; }

static gs_status add_repairs(gs_known *k, gs_error *error)
{
    for (int i = 0; i < k->turn_count; i++) {
        const gs_turn *const bad = &k->turns[i].turn;
        if (!gs_dataset_mode(k->options, bad->mode) || !failed(k, bad) || !bad->answer[0]) continue;
        const gs_turn *const good = next_that_passed(k, i);
        bool twice = !good || strcmp(good->answer, bad->answer) == 0;
        for (int earlier = 0; earlier < i && !twice; earlier++) twice = same_answers(&k->turns[earlier].turn, bad) && next_that_passed(k, earlier) == good;
        if (!twice) GS_TRY(add_repair(k, bad, good, error));
    }
    return GS_OK;
}

/* ---- preferences ---- */

/* A candidate with its answer. For predicted times low and high are 1 / us. */
typedef struct scored {
    gs_turn_outcome outcome;
    const char     *answer;      /* NULL: made from the candidate's name */
    double          low, high;
    bool            passed;
} scored;

typedef struct scores {
    scored *list;
    int     count, capacity;
} scores;

static bool add_scored(const gs_known *k, scores *s, const gs_turn_outcome *o, const char *answer)
{
    if (!o->verdict[0]) return true;
    scored one = {.outcome = *o, .answer = answer, .passed = gs_outcome_passed(k, o)};
    if (one.passed && k->predicted) one.low = one.high = 1 / o->us;
    else if (one.passed) one.low = o->low, one.high = o->high;
    if (one.passed && !(one.low > 0)) return true;   /* not timed beside cuBLASLt */
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->list[i].outcome.candidate, o->candidate) == 0) return true;
    if (!gs_grow(&s->list, s->count, &s->capacity, sizeof *s->list)) return false;
    s->list[s->count++] = one;
    return true;
}

/* Schedules, whose times must be of one program version and one cuBLASLt version to be comparable: those of the newest trial that passed. */
static bool collect_schedules(const gs_known *k, scores *s)
{
    const gs_trial *newest = NULL;
    for (int i = 0; i < k->trial_count; i++)
        if (gs_trial_passed(&k->trials[i]) && !gs_dataset_is_source(k->trials[i].candidate)) newest = &k->trials[i];
    for (int i = 0; newest && i < k->trial_count; i++) {
        const gs_trial *const t = &k->trials[i];
        gs_schedule schedule;
        const gs_turn_outcome outcome = gs_outcome_of(t);
        if (gs_schedule_parse(&schedule, t->candidate, NULL) != GS_OK || strcmp(t->version, newest->version) != 0 || t->cublaslt != newest->cublaslt) continue;
        if (!add_scored(k, s, &outcome, NULL)) return false;
    }
    return true;
}

/* User kernels of turns with one candidate, written as a whole. */
static bool collect_sources(const gs_known *k, scores *s)
{
    for (int i = 0; i < k->turn_count; i++) {
        const gs_turn *const t = &k->turns[i].turn;
        if (gs_dataset_is_source(t->mode) && t->count == 1 && !t->fault[0] && !gs_answer_is_edits(t->answer) && !add_scored(k, s, &t->outcomes[0], t->answer)) return false;
    }
    return true;
}

static gs_status add_preference(gs_known *k, const char *mode, const gs_message messages[2], const scored *chosen, const scored *rejected, gs_error *error)
{
    gs_text texts[2] = {{0}};
    const scored *const both[] = {chosen, rejected};
    const char *answer[2];
    bool lacks = false;
    for (int i = 0; i < 2; i++) {
        if (!both[i]->answer) gs_answer_text(&texts[i], both[i]->outcome.candidate, NULL, NULL);
        answer[i] = both[i]->answer ? both[i]->answer : gs_text_string(&texts[i]);
        lacks |= texts[i].failed;
    }
    const pair p = {.kind = "preference", .mode = mode, .prompt = messages, .messages = 2, .chosen = answer[0], .rejected = answer[1], .outcome = &chosen->outcome,
                    .rejected_candidate = rejected->outcome.candidate, .rejected_verdict = rejected->outcome.verdict,
                    .apart = rejected->passed ? chosen->low / rejected->high : 0};
    const gs_status status = lacks ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer") : add_pair(k, &p, error);
    gs_text_free(&texts[0]);
    gs_text_free(&texts[1]);
    return status;
}

/* Pairs the best with the fastest of each bucket that is slower beyond the noise, and with the first that failed. */
static gs_status add_preferences(gs_known *k, const char *mode, const scores *s, const gs_message messages[2], gs_error *error)
{
    const scored *best = NULL, *failed_one = NULL;
    for (int i = 0; i < s->count; i++) {
        const scored *const c = &s->list[i];
        if (c->passed && (!best || c->low > best->low)) best = c;
        if (!c->passed && !failed_one) failed_one = c;
    }
    if (!best) return GS_OK;
    double above = 1 + k->options->apart;
    for (size_t bucket = 0; bucket < GS_COUNT(buckets); bucket++) {
        const scored *worse = NULL;
        for (int i = 0; i < s->count; i++) {
            const scored *const c = &s->list[i];
            const double apart = c->passed ? best->low / c->high : 0;
            if (apart >= above && apart < buckets[bucket] && (!worse || c->high > worse->high)) worse = c;
        }
        if (worse) GS_TRY(add_preference(k, mode, messages, best, worse, error));
        above = fmax(above, buckets[bucket]);
    }
    return failed_one ? add_preference(k, mode, messages, best, failed_one, error) : GS_OK;
}

static gs_status compare(gs_known *k, const char *mode, bool (*collect)(const gs_known *, scores *), gs_error *error)
{
    scores s = {0};
    gs_text texts[2] = {{0}};
    gs_message messages[2];
    int count = 0;
    gs_status status = collect(k, &s) ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for candidates");
    if (status == GS_OK && s.count > 1) status = task_messages(k, mode, texts, messages, &count, error);
    if (status == GS_OK && count > 0) status = add_preferences(k, mode, &s, messages, error);
    gs_text_free(&texts[0]);
    gs_text_free(&texts[1]);
    free(s.list);
    return status;
}

/* ---- edits ---- */

/* The outcome of the kernel that a turn began with, if it passed. */
static const gs_turn_outcome *base_of(const gs_known *k, const gs_turn *turn)
{
    for (int i = 0; i < k->turn_count; i++) {
        const gs_turn *const t = &k->turns[i].turn;
        if (gs_dataset_is_source(t->mode) && t->count == 1 && strcmp(t->outcomes[0].candidate, turn->base) == 0) return passed_of(k, t);
    }
    return NULL;
}

/* Turns whose kernel is faster than its base beyond the noise, as edits of the base. */
static gs_status add_edits(gs_known *k, gs_error *error)
{
    for (int i = 0; i < k->turn_count; i++) {
        const gs_turn *const t = &k->turns[i].turn;
        const gs_turn_outcome *const child = gs_dataset_is_source(t->mode) && t->count == 1 && !t->fault[0] ? passed_of(k, t) : NULL, *const from = child ? base_of(k, t) : NULL;
        const double apart = !from ? 0 : k->predicted ? from->us / child->us : from->high > 0 ? child->low / from->high : 0;
        gs_text ask = {0}, completion = {0};
        bool made = false;
        if (!(apart >= 1 + k->options->apart)) continue;
        gs_status status = gs_edits_of_turn(k, t, &ask, &completion, &made, error);
        const gs_message messages[] = {{"system", t->system}, {"user", gs_text_string(&ask)}};
        const pair p = {.kind = "edit", .mode = "source", .model = t->model, .prompt = messages, .messages = 2, .completion = completion.data, .outcome = child,
                        .rejected_candidate = t->base, .rejected_verdict = from->verdict, .apart = apart};
        if (status == GS_OK && made) status = add_pair(k, &p, error);
        gs_text_free(&ask);
        gs_text_free(&completion);
        GS_TRY(status);
    }
    return GS_OK;
}

/* ---- all kinds ---- */

static bool wants(const gs_known *k, uint32_t kind) { return k->options->kinds == 0 || (k->options->kinds & kind); }

static gs_status add_all(gs_known *k, gs_error *error)
{
    const bool schedules = gs_dataset_mode(k->options, "schedule"), sources = gs_dataset_mode(k->options, "source");
    if (wants(k, GS_DATASET_WINNERS) && schedules) GS_TRY(schedule_winner(k, error));
    if (wants(k, GS_DATASET_WINNERS) && sources) GS_TRY(source_winner(k, error));
    if (wants(k, GS_DATASET_REPAIRS)) GS_TRY(add_repairs(k, error));
    if (wants(k, GS_DATASET_PREFERENCES) && schedules) GS_TRY(compare(k, "schedule", collect_schedules, error));
    if (wants(k, GS_DATASET_PREFERENCES) && sources) GS_TRY(compare(k, "source", collect_sources, error));
    if (wants(k, GS_DATASET_EDITS) && sources) GS_TRY(add_edits(k, error));
    return GS_OK;
}

gs_status gs_dataset_pairs(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error)
{
    *counts = (gs_dataset_counts){0};
    return gs_dataset_each(options, counts, add_all, error);
}
