/* SPDX-License-Identifier: MIT
 * The policy "llm": asks a language model for schedules. It begins with some of the time model's choices, so that there are measurements to show, unless it
 * was told of some already. Then each question shows all measurements so far and asks for a batch; the outcomes of a batch must be learned before the next
 * question. An answer that cannot be read is asked for once more. When a budget is used up or the endpoint fails for good, nothing more is proposed, and
 * tuning ends with the results so far.
 *
 * Only schedules that parse are taken from an answer. Nothing else in it reaches a prompt, message or log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "llm/answer.h"
#include "llm/prompt.h"
#include "policy/llm_ask.h"
#include "policy/llm_prompt.h"
#include "policy/policies.h"
#include "policy/visited.h"

enum {
    FIRST      = 4,        /* the time model's choices before the first question */
    BATCH      = 15,       /* schedules per answer */
    QUESTIONS  = 16,       /* per problem, repeated ones not counted */
    BARREN     = 2,        /* after this many answers in a row without a new valid schedule, nothing more is proposed */
    MOST_LINES = 12        /* about what was wrong with an answer */
};

/* The outcome of a schedule that the model proposed; a later one replaces an earlier one. */
typedef struct fate {
    gs_schedule     schedule;
    gs_verdict_code verdict;
    double          us;
    bool            seen;
} fate;

typedef struct llm_policy {
    gs_llm_asker   asker;
    gs_random      random;
    uint64_t       seed;
    gs_visited       visited;
    gs_llm_tried  *tried;
    int            tried_count, tried_capacity;
    gs_text        dropped;                   /* lines about what was wrong with the last answer */
    int            questions, barren;
    bool           begun, waits;              /* begun: the first proposals were made; waits: for the outcomes of a batch */
    int            last_most;                 /* `most` of the last proposal */
    gs_schedule    proposed[BATCH];
    int            proposed_count;
    fate          *fates;                     /* for every schedule that the model proposed for the problem */
    int            fate_count, fate_capacity;
} llm_policy;

/* ---- the problem ---- */

/* Adds the outcomes of the problem's schedules to the tally. */
static void count_fates(const llm_policy *self, gs_llm_tally *tally)
{
    for (int i = 0; i < self->fate_count; i++) {
        const fate *const f = &self->fates[i];
        const bool wrong = f->seen && f->verdict != GS_VERDICT_UNKNOWN && f->verdict != GS_VERDICT_PASS;
        tally->compiled += f->seen && f->verdict != GS_VERDICT_COMPILE && f->verdict != GS_VERDICT_SPILL && f->verdict != GS_VERDICT_SERIALIZED;
        tally->timed += f->us > 0;
        tally->right += f->verdict == GS_VERDICT_PASS;
        tally->wrong += wrong;
        if (f->us <= 0 || wrong || (tally->best_us > 0 && tally->best_us <= f->us)) continue;
        tally->best_us = f->us;
        gs_schedule_format(&f->schedule, tally->best);
    }
}

static void forget(llm_policy *self)
{
    if (self->asker.llm) count_fates(self, &self->asker.llm->tally);
    free(self->fates);
    self->fates = NULL;
    self->fate_count = self->fate_capacity = 0;
    gs_visited_free(&self->visited);
    free(self->tried);
    gs_text_free(&self->dropped);
    self->tried = NULL;
    self->tried_count = self->tried_capacity = self->questions = self->barren = 0;
    self->begun = self->waits = false;
    self->proposed_count = 0;
}

static bool begin(llm_policy *self, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps)
{
    if (!gs_visited_other(&self->visited, policy, problem)) return self->visited.at != NULL;
    forget(self);
    self->random = (gs_random){self->seed};
    return gs_visited_begin(&self->visited, policy, problem, caps);
}

/* ---- a question ---- */

static gs_status read_sentences(void *self, const char *text, size_t size, gs_error *error)
{
    return gs_answer_sentences(self, text, size, GS_ANSWER_SENTENCES, error);
}

/* Passes a question and its answer to the sink. */
static gs_status keep(llm_policy *self, const char *system, const char *question, const char *answer, const char *fault, gs_error *error)
{
    const gs_llm_options *const o = &self->asker.options;
    if (!o->sink) return GS_OK;
    const gs_llm_turn turn = {.problem = &self->visited.space.problem, .model = o->model, .number = self->questions + 1, .system = system, .ask = question,
                              .answer = answer, .fault = fault};
    return o->sink->asked(o->sink->self, &turn, error);
}

/* Passes the outcomes of the answer's schedules to the sink. */
static void keep_outcomes(llm_policy *self, const gs_feedback *feedback, int count)
{
    const gs_llm_sink *const sink = self->asker.options.sink;
    gs_feedback outcomes[BATCH];
    gs_error error = {0};
    int observed = 0;
    for (int i = 0; i < self->proposed_count; i++)
        for (int k = 0; k < count; k++) {
            if (memcmp(&feedback[k].schedule, &self->proposed[i], sizeof self->proposed[i]) != 0) continue;
            outcomes[observed++] = feedback[k];
            break;
        }
    self->proposed_count = 0;
    if (sink && observed > 0 && sink->ended(sink->self, outcomes, observed, &error) != GS_OK)
        gs_log(GS_LOG_WARNING, "what came of a language model's schedules is not kept: %s", error.text);
}

static gs_status ask(llm_policy *self, const char *system, const char *question, gs_sentences *schedule_strings, char reason[GS_LLM_REASON], gs_error *error)
{
    gs_text answer = {0};
    gs_status status = gs_llm_ask(&self->asker, system, question, "think less, and answer with the array alone", read_sentences, schedule_strings, &answer, reason, error);
    if (status == GS_OK) status = keep(self, system, question, gs_text_string(&answer), reason, error);
    gs_text_free(&answer);
    return status;
}

/* Asks, and asks again if the answer cannot be read. No schedules: the second answer could not be read either. */
static gs_status ask_twice(llm_policy *self, const gs_text *system, gs_text *question, gs_sentences *schedule_strings, gs_error *error)
{
    char reason[GS_LLM_REASON];
    gs_llm_tally *const tally = &self->asker.llm->tally;
    schedule_strings->count = 0;
    tally->asked++;
    GS_TRY(ask(self, gs_text_string(system), gs_text_string(question), schedule_strings, reason, error));
    tally->answered++;
    if (!reason[0]) return tally->readable++, GS_OK;
    const gs_prompt_field fields[] = {{"reason", reason}};
    GS_TRY(gs_prompt_add(question, self->asker.options.prompts, "schedules-repair.md", fields, 1, error));
    tally->asked++;
    GS_TRY(ask(self, gs_text_string(system), gs_text_string(question), schedule_strings, reason, error));
    tally->answered++;
    if (!reason[0]) return tally->readable++, GS_OK;
    schedule_strings->count = 0;
    gs_text_clear(&self->dropped);
    gs_text_addf(&self->dropped, "- %s", reason);
    return GS_OK;
}

/* Takes up to `most` valid new schedules from an answer; notes for each of the others why it was not taken. */
static int choose(llm_policy *self, const gs_sentences *schedule_strings, const gs_caps *caps, gs_schedule *list, int most)
{
    gs_llm_tally *const tally = &self->asker.llm->tally;
    int count = 0, lines = 0;
    tally->strings += schedule_strings->count;
    for (int i = 0; i < schedule_strings->count && count < most; i++) {
        char text[GS_SCHEDULE_TEXT];
        gs_error why = {0};
        gs_schedule schedule;
        const bool parsed = gs_schedule_parse(&schedule, schedule_strings->text[i], &why) == GS_OK;
        tally->parsed += parsed;
        if (parsed && gs_visited_add(&self->visited, &schedule)) {
            list[count++] = schedule;
        } else if (lines++ >= MOST_LINES) {
            continue;
        } else if (!parsed) {
            gs_text_addf(&self->dropped, "- schedule string %d: not of the grammar, what is wrong is: %s\n", i + 1, why.field);
        } else if (gs_schedule_check(&schedule, &self->visited.space.problem, caps, &why) != GS_OK) {
            gs_text_addf(&self->dropped, "- %s: %s%s%s\n", gs_schedule_format(&schedule, text), why.field, why.field[0] ? ": " : "", why.text);
        } else {
            gs_text_addf(&self->dropped, "- %s: %s\n", gs_schedule_format(&schedule, text),
                         gs_space_find(&self->visited.space, &schedule) < 0 ? "of a family that is not searched" : "was proposed before");
        }
    }
    if (lines > MOST_LINES) gs_text_addf(&self->dropped, "- and %d more\n", lines - MOST_LINES);
    return count;
}

/* Without memory its outcome is not counted. */
static void note_proposed(llm_policy *self, const gs_schedule *schedule)
{
    self->asker.llm->tally.valid++;
    if (gs_grow(&self->fates, self->fate_count, &self->fate_capacity, sizeof *self->fates)) self->fates[self->fate_count++] = (fate){.schedule = *schedule, .verdict = GS_VERDICT_UNKNOWN};
}

static void note_fate(llm_policy *self, const gs_schedule *schedule, gs_verdict_code verdict, double us)
{
    for (int i = 0; i < self->fate_count; i++) {
        fate *const known = &self->fates[i];
        if (memcmp(&known->schedule, schedule, sizeof *schedule) != 0) continue;
        known->seen = true;
        if (verdict != GS_VERDICT_UNKNOWN) known->verdict = verdict;
        if (us > 0) known->us = us;
        return;
    }
}

static void judged(gs_policy *policy, const gs_schedule *schedule, gs_verdict_code verdict)
{
    if (verdict != GS_VERDICT_UNKNOWN) note_fate(policy->self, schedule, verdict, 0);
}

static gs_status turn(llm_policy *self, const gs_caps *caps, gs_schedule *list, int most, int *count, gs_error *error)
{
    gs_text system = {0}, question = {0};
    gs_sentences *const schedule_strings = malloc(sizeof *schedule_strings);
    const gs_llm_view view = {self->asker.options.prompts, caps, &self->visited.space, self->tried, self->tried_count, gs_text_string(&self->dropped), most};
    *count = 0;
    gs_status status = schedule_strings ? gs_llm_prompt(&view, &self->random, &system, &question, error)
                                 : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer");
    gs_text_clear(&self->dropped);
    if (status == GS_OK) status = ask_twice(self, &system, &question, schedule_strings, error);
    if (status == GS_OK) *count = choose(self, schedule_strings, caps, list, most);
    self->proposed_count = *count;
    for (int i = 0; i < *count; i++) note_proposed(self, &list[i]);
    memcpy(self->proposed, list, (size_t)*count * sizeof *list);
    gs_text_free(&system);
    gs_text_free(&question);
    free(schedule_strings);
    return status;
}

/* ---- the policy ---- */

/* Some of the time model's choices, at most half of what is asked for. */
static int propose_first(llm_policy *self, const gs_caps *caps, gs_schedule *list, int most)
{
    const int wanted = GS_MAX(GS_MIN(most / 2, FIRST), 1);
    const int got = gs_schedule_shortlist(&self->visited.space.problem, caps, self->visited.families, list, wanted);
    int count = 0;
    for (int i = 0; i < got; i++)
        if (gs_visited_add(&self->visited, &list[i])) list[count++] = list[i];
    self->begun = true;
    return count;
}

static int ask_for(llm_policy *self, const gs_caps *caps, gs_schedule *list, int most)
{
    int count = 0;
    while (count == 0 && !self->asker.llm->silent && self->questions < QUESTIONS && self->barren < BARREN && self->visited.count < self->visited.space.count) {
        gs_error error = {0};
        const int wanted = GS_MIN(GS_MIN(most, BATCH), self->visited.space.count - self->visited.count);
        const gs_status status = turn(self, caps, list, wanted, &count, &error);
        if (status == GS_ERROR_INTERRUPTED) return 0;
        if (status != GS_OK) gs_llm_give_up(&self->asker, &error);
        self->questions++;
        self->barren = count > 0 ? 0 : self->barren + 1;
    }
    return count;
}

/* If all proposals were known to be bad (so there is nothing to learn), the caller asks again with the same `most`. */
static int propose(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    llm_policy *const self = policy->self;
    if (most < 1 || !begin(self, policy, problem, caps) || (self->waits && most < self->last_most)) return 0;
    const int count = self->begun || self->tried_count > 0 ? ask_for(self, caps, list, most) : propose_first(self, caps, list, most);
    self->waits = count > 0;
    self->last_most = most;
    return count;
}

static gs_llm_tried *entry_of(llm_policy *self, const gs_schedule *schedule)
{
    for (int i = 0; i < self->tried_count; i++)
        if (memcmp(&self->tried[i].schedule, schedule, sizeof *schedule) == 0) return &self->tried[i];
    return gs_grow(&self->tried, self->tried_count, &self->tried_capacity, sizeof *self->tried) ? &self->tried[self->tried_count++] : NULL;
}

static void learn(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, const gs_feedback *feedback, int count)
{
    llm_policy *const self = policy->self;
    if (!begin(self, policy, problem, caps)) return;
    keep_outcomes(self, feedback, count);
    for (int i = 0; i < count; i++) {
        const gs_feedback *const f = &feedback[i];
        note_fate(self, &f->schedule, f->verdict, f->us);
        if (gs_space_find(&self->visited.space, &f->schedule) < 0) continue;
        gs_visited_add(&self->visited, &f->schedule);
        gs_llm_tried *const t = entry_of(self, &f->schedule);
        if (!t) return;   /* no memory: it will not be shown */
        *t = (gs_llm_tried){.schedule = f->schedule, .us = f->us > 0 ? f->us : 0, .ratio = f->ratio};
        gs_llm_plain(t->verdict, sizeof t->verdict, gs_verdict_word(f->verdict));
        gs_llm_plain(t->reason, sizeof t->reason, f->reason);
    }
    self->waits = false;
}

static void destroy(gs_policy *policy)
{
    llm_policy *const self = policy->self;
    if (self) {
        forget(self);
        gs_llm_asker_close(&self->asker);
    }
    free(self);
    *policy = (gs_policy){0};
}

gs_status gs_policy_llm_with(gs_policy *out, const gs_llm_options *options, uint64_t seed, gs_error *error)
{
    llm_policy *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the policy");
    self->seed = seed;
    *out = (gs_policy){.name = "llm", .self = self, .one_by_one = true, .propose = propose, .learn = learn, .judged = judged, .destroy = destroy};
    const gs_status status = gs_llm_asker_open(&self->asker, options, "schedules-repair.md", error);
    if (status != GS_OK) destroy(out);
    return status;
}

gs_status gs_policy_llm(gs_policy *out, uint64_t seed, gs_error *error) { return gs_policy_llm_with(out, NULL, seed, error); }
