/* SPDX-License-Identifier: MIT
 * The policy "llm": asks a language model for schedules. It begins with a few of the time model's, so that there is something to learn from; then each
 * question shows what was measured so far and asks for a batch, of which nothing more is said before it is told what came of it. An answer that cannot
 * be read is asked for once more. When a budget is used up, or the endpoint fails for good, it proposes nothing more, and tuning ends with what there is.
 *
 * Of an answer only schedules that parse are kept. What else was in it reaches no prompt, message or log. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "llm/answer.h"
#include "llm/chat.h"
#include "llm/prompt.h"
#include "tune/llm_prompt.h"
#include "tune/policies.h"

enum {
    FIRST      = 4,        /* of the time model's, before the first question */
    BATCH      = 15,       /* sentences of an answer */
    QUESTIONS  = 16,       /* of a problem, without second ones */
    BARREN     = 2,        /* answers in a row without a new valid sentence; then it has no more to say */
    MOST_LINES = 12,       /* of what was wrong with an answer */
    MAX_TOKENS = 16384
};
#define ATTEMPT_S 300.0

typedef struct asking {
    gs_llm_options options;
    gs_llm         own;                       /* where nobody shares one */
    gs_llm        *llm;
    gs_random      random;
    uint64_t       seed;
    char           problem[GS_PROBLEM_TEXT];  /* whose space this is */
    uint32_t       families;
    gs_space       space;
    bool          *taken;                     /* of the space */
    int            taken_count;
    gs_llm_tried  *tried;
    int            tried_count, tried_capacity;
    gs_text        dropped;                   /* lines of what was wrong with the last answer */
    int            questions, barren;
    bool           begun, waits;              /* it has said its first ones; it has said a batch and was not told what came of it */
    int            last_most;                 /* that it was asked for then */
} asking;

/* ---- options ---- */

static const char *word_of(const char *given, const char *variable)
{
    const char *const word = given ? given : getenv(variable);
    return word && *word ? word : NULL;
}

static bool positive(gs_scan *scan, double most, double *value)
{
    return gs_scan_double(scan, value) && *value > 0 && *value <= most;
}

static gs_status read_budget(const char *text, gs_spent *most, gs_error *error)
{
    static const char *const names[] = {"requests=", "tokens=", "seconds=", "cost="};
    double value[GS_COUNT(names)] = {0};
    gs_scan scan = gs_scan_from(text);
    do {
        size_t i = 0;
        while (i < GS_COUNT(names) && !gs_scan_take(&scan, names[i])) i++;
        if (i == GS_COUNT(names))
            return gs_fail_at(error, GS_ERROR_ARGUMENT, gs_scan_column(&scan), "llm_budget", "expected requests=, tokens=, seconds= or cost=, with commas between them");
        if (value[i] > 0) return gs_fail_at(error, GS_ERROR_ARGUMENT, gs_scan_column(&scan), "llm_budget", "%s is there twice", names[i]);
        const int column = gs_scan_column(&scan);
        if (!positive(&scan, 1e12, &value[i]) || (i < 2 && value[i] != floor(value[i])))
            return gs_fail_at(error, GS_ERROR_ARGUMENT, column, "llm_budget", "expected a %snumber over 0", i < 2 ? "whole " : "");
    } while (gs_scan_take(&scan, ","));
    if (!gs_scan_end(&scan)) return gs_fail_at(error, GS_ERROR_ARGUMENT, gs_scan_column(&scan), "llm_budget", "expected a comma or the end");
    *most = (gs_spent){(int64_t)value[0], (int64_t)value[1], value[2], value[3]};
    return GS_OK;
}

static gs_status read_price(const char *text, double *in, double *out, gs_error *error)
{
    gs_scan scan = gs_scan_from(text);
    if (!gs_scan_double(&scan, in) || !gs_scan_take(&scan, ",") || !gs_scan_double(&scan, out) || !gs_scan_end(&scan) || !(*in >= 0 && *out >= 0 && *in + *out > 0))
        return gs_fail_at(error, GS_ERROR_ARGUMENT, gs_scan_column(&scan), "llm_price", "expected the prices of a million tokens of prompts and of answers: 0.5,2");
    return GS_OK;
}

gs_status gs_llm_open(gs_llm *out, const gs_llm_options *options, gs_error *error)
{
    static const gs_llm_options none = {0};
    const gs_llm_options *const o = options ? options : &none;
    const char *const budget = word_of(o->budget, "GEMMSMITH_LLM_BUDGET"), *const price = word_of(o->price, "GEMMSMITH_LLM_PRICE");
    gs_ledger_options ledger = {.path = word_of(o->ledger, "GEMMSMITH_LLM_LEDGER")};
    *out = (gs_llm){0};
    if (budget) GS_TRY(read_budget(budget, &ledger.most, error));
    if (price) GS_TRY(read_price(price, &ledger.price_in, &ledger.price_out, error));
    if (ledger.most.cost > 0 && !price)
        return gs_fail(error, GS_ERROR_ARGUMENT, "llm_budget", "a budget for cost needs the prices of tokens (llm_price, $GEMMSMITH_LLM_PRICE)");
    return gs_ledger_open(&out->ledger, &ledger, error);
}

void gs_llm_close(gs_llm *llm)
{
    gs_ledger_close(&llm->ledger);
    *llm = (gs_llm){0};
}

/* ---- the problem ---- */

static void forget(asking *self)
{
    gs_space_free(&self->space);
    free(self->taken);
    free(self->tried);
    gs_text_free(&self->dropped);
    self->taken = NULL;
    self->tried = NULL;
    self->taken_count = self->tried_count = self->tried_capacity = self->questions = self->barren = 0;
    self->begun = self->waits = false;
}

static bool begin(asking *self, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps)
{
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    if (strcmp(text, self->problem) == 0 && policy->families == self->families) return self->taken != NULL;
    forget(self);
    self->random = (gs_random){self->seed};
    memcpy(self->problem, text, strlen(text) + 1);
    self->families = policy->families;
    if (gs_space_create(&self->space, problem, caps, self->families, NULL) != GS_OK) return false;
    self->taken = calloc((size_t)self->space.count + 1, sizeof *self->taken);
    return self->taken != NULL;
}

/* Whether it is valid and was not taken before. */
static bool take(asking *self, const gs_schedule *schedule)
{
    const int at = gs_space_find(&self->space, schedule);
    if (at < 0 || self->taken[at]) return false;
    self->taken[at] = true;
    self->taken_count++;
    return true;
}

/* ---- a question ---- */

static void give_up(asking *self, const gs_error *why)
{
    char text[sizeof why->text + 128];
    self->llm->silent = true;
    snprintf(text, sizeof text, "no more questions to the language model: %s%s%s", why->field, why->field[0] ? ": " : "", why->text);
    if (self->options.note) self->options.note(text);
    else gs_log(GS_LOG_WARNING, "%s", text);
}

/* Asks, and reads the answer. OK with a reason: it could not be read. */
static gs_status ask(asking *self, const char *system, const char *question, gs_sentences *sentences, char reason[512], gs_error *error)
{
    gs_chat_answer answer;
    gs_error why = {0};
    const gs_llm_options *const o = &self->options;
    const int max_tokens = o->max_tokens > 0 ? o->max_tokens : MAX_TOKENS;
    const gs_chat_message messages[] = {{"system", system}, {"user", question}};
    const gs_chat_options how = {.url = o->url, .model = o->model, .key_variable = o->key_variable, .max_tokens = max_tokens, .wait_s = o->wait_s,
                                 .total_s = o->answer_s, .attempt_s = o->answer_s > 0 ? fmin(o->answer_s, ATTEMPT_S) : 0,
                                 .ledger = self->llm->ledger, .stop = &gs_stop_requested};
    reason[0] = '\0';
    GS_TRY(gs_chat(&how, messages, 2, &answer, error));
    const gs_chat_choice *const choice = &answer.choice[0];
    gs_status status = GS_OK;
    if (choice->finish == GS_FINISH_LENGTH) {
        snprintf(reason, 512, "It was cut at %d tokens: think less, and answer with the array alone.\n", max_tokens);
    } else if (choice->refusal || choice->finish == GS_FINISH_REFUSAL || choice->finish == GS_FINISH_FILTER) {
        snprintf(reason, 512, "It was no answer, but a refusal.\n");
    } else {
        status = gs_answer_sentences(sentences, choice->text, choice->size, GS_ANSWER_SENTENCES, &why);
        if (status != GS_OK && status != GS_ERROR_MEMORY) snprintf(reason, 512, "%s: %s.\n", why.field, why.text);
    }
    gs_chat_answer_free(&answer);
    return status == GS_ERROR_MEMORY ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer") : GS_OK;
}

/* With a second question where the first answer cannot be read. No sentences: nor the second one. */
static gs_status ask_twice(asking *self, const gs_text *system, gs_text *question, gs_sentences *sentences, gs_error *error)
{
    char reason[512];
    sentences->count = 0;
    GS_TRY(ask(self, gs_text_string(system), gs_text_string(question), sentences, reason, error));
    if (!reason[0]) return GS_OK;
    const gs_prompt_field fields[] = {{"reason", reason}};
    GS_TRY(gs_prompt_add(question, self->options.prompts, "schedules-repair.md", fields, 1, error));
    GS_TRY(ask(self, gs_text_string(system), gs_text_string(question), sentences, reason, error));
    if (!reason[0]) return GS_OK;
    sentences->count = 0;
    gs_text_clear(&self->dropped);
    gs_text_addf(&self->dropped, "- %s", reason);
    return GS_OK;
}

/* The schedules of an answer that are valid and new, at most `most`; of the others a line each why not. */
static int choose(asking *self, const gs_sentences *sentences, const gs_caps *caps, gs_schedule *list, int most)
{
    int count = 0, lines = 0;
    for (int i = 0; i < sentences->count && count < most; i++) {
        char text[GS_SCHEDULE_TEXT];
        gs_error why = {0};
        gs_schedule schedule;
        const bool parsed = gs_schedule_parse(&schedule, sentences->text[i], &why) == GS_OK;
        if (parsed && take(self, &schedule)) {
            list[count++] = schedule;
        } else if (lines++ >= MOST_LINES) {
            continue;
        } else if (!parsed) {
            gs_text_addf(&self->dropped, "- sentence %d: not of the grammar, what is wrong is: %s\n", i + 1, why.field);
        } else if (gs_schedule_check(&schedule, &self->space.problem, caps, &why) != GS_OK) {
            gs_text_addf(&self->dropped, "- %s: %s%s%s\n", gs_schedule_format(&schedule, text), why.field, why.field[0] ? ": " : "", why.text);
        } else {
            gs_text_addf(&self->dropped, "- %s: %s\n", gs_schedule_format(&schedule, text),
                         gs_space_find(&self->space, &schedule) < 0 ? "of a family that is not searched" : "was proposed before");
        }
    }
    if (lines > MOST_LINES) gs_text_addf(&self->dropped, "- and %d more\n", lines - MOST_LINES);
    return count;
}

static gs_status turn(asking *self, const gs_caps *caps, gs_schedule *list, int most, int *count, gs_error *error)
{
    gs_text system = {0}, question = {0};
    gs_sentences *const sentences = malloc(sizeof *sentences);
    const gs_llm_view view = {self->options.prompts, caps, &self->space, self->tried, self->tried_count, gs_text_string(&self->dropped), most};
    *count = 0;
    gs_status status = sentences ? gs_llm_prompt(&view, &self->random, &system, &question, error)
                                 : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer");
    gs_text_clear(&self->dropped);
    if (status == GS_OK) status = ask_twice(self, &system, &question, sentences, error);
    if (status == GS_OK) *count = choose(self, sentences, caps, list, most);
    gs_text_free(&system);
    gs_text_free(&question);
    free(sentences);
    return status;
}

/* ---- the policy ---- */

/* Some of the time model's, half of what is asked for at most. */
static int say_first(asking *self, const gs_caps *caps, gs_schedule *list, int most)
{
    const int wanted = GS_MAX(GS_MIN(most / 2, FIRST), 1);
    const int got = gs_schedule_shortlist(&self->space.problem, caps, self->families, list, wanted);
    int count = 0;
    for (int i = 0; i < got; i++)
        if (take(self, &list[i])) list[count++] = list[i];
    self->begun = true;
    return count;
}

static int ask_for(asking *self, const gs_caps *caps, gs_schedule *list, int most)
{
    int count = 0;
    while (count == 0 && !self->llm->silent && self->questions < QUESTIONS && self->barren < BARREN && self->taken_count < self->space.count) {
        gs_error error = {0};
        const int wanted = GS_MIN(GS_MIN(most, BATCH), self->space.count - self->taken_count);
        const gs_status status = turn(self, caps, list, wanted, &count, &error);
        if (status == GS_ERROR_INTERRUPTED) return 0;
        if (status != GS_OK) give_up(self, &error);
        self->questions++;
        self->barren = count > 0 ? 0 : self->barren + 1;
    }
    return count;
}

/* Where all that it said was known to be bad, which nobody tells it, it is asked for as many again. */
static int propose(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    asking *const self = policy->self;
    if (most < 1 || !begin(self, policy, problem, caps) || (self->waits && most < self->last_most)) return 0;
    const int count = self->begun ? ask_for(self, caps, list, most) : say_first(self, caps, list, most);
    self->waits = count > 0;
    self->last_most = most;
    return count;
}

static gs_llm_tried *entry_of(asking *self, const gs_schedule *schedule)
{
    for (int i = 0; i < self->tried_count; i++)
        if (memcmp(&self->tried[i].schedule, schedule, sizeof *schedule) == 0) return &self->tried[i];
    if (self->tried_count == self->tried_capacity) {
        const int capacity = self->tried_capacity ? 2 * self->tried_capacity : 64;
        gs_llm_tried *const grown = realloc(self->tried, (size_t)capacity * sizeof *grown);
        if (!grown) return NULL;
        self->tried = grown;
        self->tried_capacity = capacity;
    }
    return &self->tried[self->tried_count++];
}

/* On one line, and of characters that every model knows. */
static void copy_plain(char *to, size_t size, const char *from)
{
    size_t i = 0;
    for (; from && from[i] && i + 1 < size; i++) to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : ' ';
    to[i] = '\0';
}

static void learn(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, const gs_feedback *feedback, int count)
{
    asking *const self = policy->self;
    if (!begin(self, policy, problem, caps)) return;
    for (int i = 0; i < count; i++) {
        const gs_feedback *const f = &feedback[i];
        if (gs_space_find(&self->space, &f->schedule) < 0) continue;
        take(self, &f->schedule);
        gs_llm_tried *const t = entry_of(self, &f->schedule);
        if (!t) return;   /* no memory: it is not shown */
        *t = (gs_llm_tried){.schedule = f->schedule, .us = f->us > 0 ? f->us : 0, .ratio = f->ratio};
        copy_plain(t->verdict, sizeof t->verdict, f->verdict);
        copy_plain(t->reason, sizeof t->reason, f->reason);
    }
    self->waits = false;
}

static void destroy(gs_policy *policy)
{
    asking *const self = policy->self;
    if (self) {
        forget(self);
        gs_llm_close(&self->own);
    }
    free(self);
    *policy = (gs_policy){0};
}

static gs_status set_up(asking *self, gs_error *error)
{
    gs_llm_options *const o = &self->options;
    gs_text text = {0};
    o->url = word_of(o->url, GS_CHAT_URL);
    o->model = word_of(o->model, "GEMMSMITH_LLM_MODEL");
    o->key_variable = word_of(o->key_variable, "GEMMSMITH_LLM_KEY_ENV");
    if (!o->url) return gs_fail(error, GS_ERROR_ARGUMENT, "llm_url", "the policy llm needs an endpoint: llm_url, $GEMMSMITH_LLM_URL");
    if (!o->model) return gs_fail(error, GS_ERROR_ARGUMENT, "llm_model", "the policy llm needs the name of a model: llm_model, $GEMMSMITH_LLM_MODEL");
    if (o->key_variable && o->key_variable[strspn(o->key_variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")])   /* a key, perhaps: not said again */
        return gs_fail(error, GS_ERROR_ARGUMENT, "llm_key_env", "expected the name of an environment variable, not a key");
    const gs_prompt_field fields[] = {{"reason", ""}};
    const gs_status status = gs_prompt_add(&text, o->prompts, "schedules-repair.md", fields, 1, error);   /* is the folder there? */
    gs_text_free(&text);
    GS_TRY(status);
    self->llm = o->shared ? o->shared : &self->own;
    return o->shared ? GS_OK : gs_llm_open(&self->own, o, error);
}

gs_status gs_policy_llm_with(gs_policy *out, const gs_llm_options *options, uint64_t seed, gs_error *error)
{
    asking *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the policy");
    if (options) self->options = *options;
    self->seed = seed;
    *out = (gs_policy){.name = "llm", .self = self, .one_by_one = true, .propose = propose, .learn = learn, .destroy = destroy};
    const gs_status status = set_up(self, error);
    if (status != GS_OK) destroy(out);
    return status;
}

gs_status gs_policy_llm(gs_policy *out, uint64_t seed, gs_error *error) { return gs_policy_llm_with(out, NULL, seed, error); }
