/* SPDX-License-Identifier: MIT
 * The search loop: which island is next, asking, and evaluating the answer. The state derived from turns is in lineages.c, the prompt in prompt.c. */
#include "author/author.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "llm/answer.h"
#include "notes/note.h"
#include "author/lineages.h"
#include "author/questions.h"
#include "policy/llm_ask.h"
#include "worker/metrics.h"
#include "redact/redact.h"

enum { ISLANDS = 4, TURNS = 8, PATIENCE = 3, NOTES = 6 << 10 };

typedef struct writing {
    gs_store               *store;
    gs_session             *session;
    gs_worker              *worker;
    const gs_caps          *caps;
    const gs_problem       *problem;
    const gs_author_options *options;
    gs_author_result        *result;
    gs_environment         *environment;
    gs_llm_asker            asker;
    gs_notes               *notes;                   /* NULL: this SQLite has no full-text search */
    gs_lineages                lineages;
    char                    text[GS_PROBLEM_TEXT];
    char                    family[24];              /* of the template; "": no template */
    int                     islands, goal[GS_AUTHOR_ISLANDS], total;
    int64_t                 started;
    gs_questions            questions;
    bool                    busy[GS_AUTHOR_ISLANDS]; /* the island has a question under way */
    int                     asks;                    /* most concurrent questions */
} writing;

const char *gs_author_end_name(gs_author_end end)
{
    static const char *const words[] = {"turns", "silent", "time", "stopped"};
    return words[end];
}

static double left_s(const writing *w) { return w->options->budget_s > 0 ? GS_MAX(w->options->budget_s - gs_clock_since(w->started), 0.0) : INFINITY; }

/* The remaining time is too short for an answer. */
static bool time_is_up(const writing *w) { return left_s(w) < GS_MIN(1.0, 0.1 * w->options->budget_s); }

static int done_turns(const writing *w)
{
    int open = 0;
    for (int i = 0; i < w->islands; i++) open += GS_MAX(w->goal[i] - w->lineages.lineage[i].asked, 0);
    return w->total - open;
}

/* ---- before the first question ---- */

typedef struct best {
    const char *version;
    char        schedule[GS_SCHEDULE_TEXT];
    double      us, library_us;
} best;

static bool find_best(void *self, const gs_trial *trial)
{
    best *const b = self;
    gs_schedule schedule;
    if (strcmp(trial->version, b->version) != 0 || gs_verdict_find(trial->verdict) != GS_VERDICT_PASS || !(trial->us > 0) || (b->us > 0 && trial->us >= b->us)) return true;
    if (gs_schedule_parse(&schedule, trial->candidate, NULL) != GS_OK) return true;
    gs_schedule_format(&schedule, b->schedule);
    b->us = trial->us;
    b->library_us = trial->library_us;
    return true;
}

static void set_best(gs_author_result *r, const best *b)
{
    r->library_us = b->library_us;
    r->schedule_us = b->us;
    if (b->us > 0) memcpy(r->schedule, b->schedule, sizeof r->schedule);
}

/* Reads the figures that a kernel is to beat from the store. */
static gs_status find_figures(writing *w, gs_error *error)
{
    best b = {.version = w->session->version ? w->session->version : ""};
    GS_TRY(gs_store_trials(w->store, w->session->device, w->text, find_best, &b, error));
    set_best(w->result, &b);
    return GS_OK;
}

/* If the store has none, measures the time model's first choice. */
static gs_status measure_figures(writing *w, gs_error *error)
{
    best b = {.schedule = ""};
    gs_schedule first;
    gs_evaluation got;
    if (w->result->schedule[0] || gs_schedule_shortlist(w->problem, w->caps, 0, &first, 1) < 1) return GS_OK;
    GS_TRY(gs_evaluate(w->environment, w->problem, &(gs_submission){.schedule = gs_schedule_format(&first, b.schedule)}, &got, error));
    b.us = got.us;
    b.library_us = got.library_us;
    set_best(w->result, &b);
    return GS_OK;
}

static gs_status check_from(writing *w, gs_error *error)
{
    gs_schedule first;
    const char *const from = w->options->from;
    if (!from || strcmp(from, GS_AUTHOR_NOTHING) == 0) return GS_OK;
    for (int f = 0; f < GS_FAMILIES; f++) {
        if (strcmp(gs_family_name((gs_family_id)f), from) != 0) continue;
        snprintf(w->family, sizeof w->family, "%s", from);
        return gs_schedule_shortlist(w->problem, w->caps, 1u << f, &first, 1) > 0 ? GS_OK
               : gs_fail(error, GS_ERROR_UNSUPPORTED, "from", "no schedule of the family %s takes the problem on this device", w->family);
    }
    return gs_fail(error, GS_ERROR_ARGUMENT, "from", "must be a family or " GS_AUTHOR_NOTHING);
}

/* The template's family if options->from is NULL. */
static void choose_family(writing *w)
{
    gs_schedule schedule;
    if (!w->options->from && (gs_schedule_parse(&schedule, w->result->schedule, NULL) == GS_OK || gs_schedule_shortlist(w->problem, w->caps, 0, &schedule, 1) > 0))
        snprintf(w->family, sizeof w->family, "%s", gs_family_name(schedule.family));
}

/* ---- a question ---- */

/* The name of what a pick improves: an attempt or the template's family; "": nothing. */
static const char *base_of(const writing *w, const gs_pick *pick)
{
    return pick->parent >= 0 ? w->lineages.attempt[pick->parent].name : w->family;
}

static gs_status find_notes(writing *w, const gs_attempt *failure, gs_text *notes, gs_error *error)
{
    gs_text words = {0};
    if (!w->notes) return GS_OK;
    if (failure) gs_text_addf(&words, "%s %s", failure->verdict, failure->reason);
    const gs_note_query query = {w->problem, w->caps, w->family[0] ? w->family : NULL, failure ? gs_text_string(&words) : NULL};
    const gs_status status = gs_notes_find(w->notes, &query, NOTES, notes, error);
    gs_text_free(&words);
    return status;
}

/* The texts that edits apply to, as the prompt shows them. */
static gs_status find_parent(const writing *w, const char *base, const gs_source_view *view, gs_question *q, gs_error *error)
{
    const int at = gs_lineages_find(&w->lineages, base);
    if (w->options->edits == GS_EDITS_NONE) return GS_OK;
    if (at >= 0) {
        gs_text_add(&q->parent_source, w->lineages.attempt[at].source);
        gs_text_add(&q->parent_manifest, w->lineages.attempt[at].manifest);
    } else {
        GS_TRY(gs_source_template(view, &q->parent_source, &q->parent_manifest, error));
    }
    if (q->parent_source.failed || q->parent_manifest.failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel");
    q->reading.edits = w->options->edits;
    if (q->parent_source.size > 0) q->reading.parent = (gs_parent){gs_text_string(&q->parent_source), gs_text_string(&q->parent_manifest)};
    return GS_OK;
}

static gs_status make_prompt(writing *w, const gs_pick *pick, gs_random *random, gs_question *q, gs_error *error)
{
    const gs_lineages *const lineages = &w->lineages;
    const gs_author_result *const r = w->result;
    const gs_lineage *const lineage = &lineages->lineage[q->island];
    gs_attempt *const own = malloc(((size_t)lineages->count + 1) * sizeof *own);
    const gs_attempt *const failure = lineage->failure >= 0 && !pick->restarted ? &lineages->attempt[lineage->failure] : NULL;
    gs_text notes = {0};
    int count = 0;
    if (!own) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what was tried");
    for (int i = 0; i < lineages->count; i++)
        if (lineages->tried[i].island == q->island || i == pick->parent) own[count++] = lineages->attempt[i];
    gs_status status = find_notes(w, failure, &notes, error);
    const gs_source_view view = {
        .folder = w->asker.options.prompts, .caps = w->caps, .problem = w->problem, .floor_us = r->floor_us, .library_us = r->library_us,
        .best = r->schedule[0] ? r->schedule : NULL, .best_us = r->schedule_us, .family = w->family[0] ? w->family : NULL,
        .parent = pick->parent >= 0 ? &lineages->attempt[pick->parent] : NULL, .attempts = own, .count = count,
        .failure = failure, .notes = gs_text_string(&notes), .edits = w->options->edits,
    };
    if (status == GS_OK) status = gs_source_prompt(&view, random, &q->system, &q->question, error);
    if (status == GS_OK) status = find_parent(w, q->base, &view, q, error);
    gs_text_free(&notes);
    free(own);
    return status;
}

/* Asks; the store gets a turn of its own for each question. */
static gs_status begin_question(writing *w, gs_question *q, gs_error *error)
{
    const double most = w->options->llm ? w->options->llm->answer_s : 0;
    gs_store_uid(q->uid);
    GS_TRY(gs_questions_begin(&w->questions, &w->asker, q, isinf(left_s(w)) ? most : GS_MAX(most > 0 ? GS_MIN(most, left_s(w)) : left_s(w), 0.1), error));
    w->busy[q->island] = true;
    return GS_OK;
}

/* Stores the answer before it is used. */
static gs_status keep_answer(writing *w, const gs_question *q, gs_error *error)
{
    const gs_turn turn = {
        .uid = q->uid, .problem = w->text, .mode = "source", .model = w->asker.options.model, .island = q->island, .number = q->number, .base = q->base,
        .system = gs_text_string(&q->system), .ask = gs_text_string(&q->question), .answer = gs_text_string(&q->said), .fault = q->reason,
    };
    return gs_store_turn_put(w->store, w->session, &turn, error);
}

/* ---- an answer ---- */

static gs_turn_outcome outcome_of(const gs_evaluation *got)
{
    return (gs_turn_outcome){
        .candidate = got->candidate, .verdict = gs_verdict_word(got->verdict), .reason = got->reason, .part = got->part, .us = got->us, .library_us = got->library_us,
        .ratio = got->ratio.median, .low = got->ratio.low, .high = got->ratio.high, .reward = got->reward, .registers = got->registers, .smem = got->smem,
    };
}

/* The result of an identical kernel that was evaluated before. */
static gs_evaluation repeat_of(const writing *w, const gs_turn_outcome *o)
{
    gs_evaluation got = {
        .verdict = gs_verdict_find(o->verdict), .part = o->part, .reward = o->reward, .us = o->us, .library_us = o->library_us,
        .ratio = {.median = o->ratio, .low = o->low, .high = o->high}, .floor_us = w->result->floor_us, .l2_hit = -1, .registers = o->registers, .smem = o->smem,
        .predicted = w->caps->emulated,
    };
    snprintf(got.candidate, sizeof got.candidate, "%s", o->candidate);
    snprintf(got.reason, sizeof got.reason, "%s", o->reason);
    return got;
}

static void tell(writing *w, gs_author_turn *turn)
{
    turn->done = done_turns(w);
    turn->total = w->total;
    if (w->options->told) w->options->told(w->options->self, turn);
}

/* Reports the turn, with a reason that quotes nothing of the candidate. */
static gs_status tell_verdict(writing *w, gs_author_turn *turn, const char *source, gs_error *error)
{
    gs_source_shown shown = {0};
    gs_text reason = {0};
    gs_status status = gs_source_show(&shown, source, GS_ANSWER_BLOCK, error);
    if (status == GS_OK && turn->got->verdict != GS_VERDICT_PASS) gs_reason_show(&reason, turn->got->reason, &shown);
    if (reason.failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a reason");
    turn->reason = gs_text_string(&reason);
    if (status == GS_OK) tell(w, turn);
    gs_source_shown_free(&shown);
    gs_text_free(&reason);
    return status;
}

/* Records a candidate that killed the worker, with an empty verdict, so that the next run does not evaluate it again. */
static gs_status keep_loss(writing *w, const char *uid, const char *candidate, gs_status lost, gs_error *error)
{
    const gs_turn_outcome outcome = {.candidate = candidate, .verdict = "", .reason = gs_status_name(lost), .reward = -1};
    if (gs_worker_lost(lost)) GS_TRY(gs_store_turn_end(w->store, uid, &outcome, 1, error));
    return lost;
}

/* Metrics of a kernel that passed; failing to get them is not an error. */
static void take_metrics(writing *w, const gs_submission *submission, const char *name, gs_text *metrics)
{
    const gs_environment_options *const e = w->options->environment;
    const gs_metrics_request request = {
        .problem = w->problem, .candidate = name, .source = submission->source, .manifest = submission->manifest, .worker = w->worker,
        .emulator = w->caps->emulated ? w->worker : e ? e->emulator : NULL, .cache = e ? e->cache_path : NULL,
        .profile = w->caps->emulated ? NULL : w->options->profile, .device = w->worker->device,
    };
    if (gs_metrics_take(&request, metrics, NULL) != GS_OK) gs_text_clear(metrics);
}

static gs_status judge(writing *w, const char *uid, const gs_written *written, gs_author_turn *turn, gs_error *error)
{
    const gs_submission submission = {.source = written->source, .manifest = written->manifest};
    const gs_elite *const before = gs_archive_best(&w->lineages.archive);
    const double best_score = before ? before->score : 0;
    char name[GS_CONTENDER_NAME];
    gs_evaluation got;
    const int known = gs_lineages_find(&w->lineages, gs_submission_name(submission.source, submission.manifest, name));
    turn->again = known >= 0;
    turn->edited = written->edited;
    if (turn->again) {
        got = repeat_of(w, &w->lineages.tried[known].outcome);
    } else {
        const gs_status status = gs_evaluate(w->environment, w->problem, &submission, &got, error);
        if (status != GS_OK) return keep_loss(w, uid, name, status, error);
    }
    gs_turn_outcome outcome = turn->again ? w->lineages.tried[known].outcome : outcome_of(&got);
    gs_text metrics = {0};
    if (!turn->again && got.us > 0) take_metrics(w, &submission, name, &metrics);
    if (!turn->again) outcome.metrics = gs_text_string(&metrics);
    snprintf(got.metrics, sizeof got.metrics, "%s", outcome.metrics ? outcome.metrics : "");
    gs_status status = gs_store_turn_end(w->store, uid, &outcome, 1, error);
    if (status == GS_OK) status = gs_lineages_take(&w->lineages, turn->island, turn->base, &outcome, submission.source, submission.manifest, &turn->improved, error);
    gs_text_free(&metrics);
    GS_TRY(status);
    if (got.second && got.us > 0) w->lineages.attempt[gs_lineages_find(&w->lineages, name)].again = true;
    w->result->judged++;
    w->result->passed += got.us > 0;
    if (got.library_us > 0) w->result->library_us = got.library_us;
    turn->best = !turn->again && gs_outcome_score(&outcome) > best_score;
    turn->got = &got;
    return tell_verdict(w, turn, submission.source, error);
}

/* Evaluates an answer that an earlier run stored but did not evaluate. */
static gs_status settle(writing *w, const gs_owed *owed, gs_error *error)
{
    const gs_author_result *const r = w->result;
    const gs_source_view view = {.caps = w->caps, .problem = w->problem, .best = r->schedule[0] ? r->schedule : NULL, .family = gs_lineages_is_family(owed->base) ? owed->base : NULL};
    gs_author_turn turn = {.island = owed->island, .number = owed->number, .base = owed->base, .fault = ""};
    gs_question *const q = gs_question_create(error);
    if (!q) return GS_ERROR_MEMORY;
    gs_status status = find_parent(w, owed->base, &view, q, error);
    if (q->reading.edits == GS_EDITS_ONLY) q->reading.edits = GS_EDITS_ALSO;   /* the earlier run may have had another setting */
    if (status == GS_OK) status = gs_author_read(&q->reading, owed->answer, strlen(owed->answer), error);
    if (status == GS_OK) status = judge(w, owed->uid, &q->reading.written, &turn, error);
    else if (status != GS_ERROR_MEMORY) status = GS_OK;   /* a program of another version may be able to parse it */
    gs_question_free(q);
    return status;
}

/* ---- turns ---- */

static gs_status finish_turn(writing *w, const gs_question *q, gs_error *error)
{
    gs_author_turn told = {.island = q->island, .number = q->number, .base = q->base, .fault = q->reason};
    if (!q->reason[0]) return judge(w, q->uid, &q->reading.written, &told, error);
    w->result->unread++;
    tell(w, &told);
    return GS_OK;
}

static gs_status begin_turn(writing *w, int island, gs_error *error)
{
    gs_lineage *const lineage = &w->lineages.lineage[island];
    const uint64_t key[] = {w->options->seed ? w->options->seed : 1, (uint64_t)island, (uint64_t)lineage->turns, gs_hash64(w->text, strlen(w->text))};
    gs_random random = {gs_hash64(key, sizeof key)};
    const gs_pick pick = gs_lineages_pick(&w->lineages, island, &random);
    gs_question *const q = gs_question_create(error);
    if (!q) return GS_ERROR_MEMORY;
    q->island = island;
    q->number = lineage->turns + 1;
    snprintf(q->base, sizeof q->base, "%s", base_of(w, &pick));
    if (w->options->begins) w->options->begins(w->options->self, done_turns(w), w->total, island);
    gs_status status = make_prompt(w, &pick, &random, q, error);
    if (status == GS_OK) status = begin_question(w, q, error);
    if (status != GS_OK) gs_question_free(q);
    return status;
}

/* The question failed. If the budget is used up while other questions are under way, what they leave may be enough: the question is asked again later, with
 * fewer at once. */
static gs_status fail_turn(writing *w, const gs_question *q, gs_error *error)
{
    if (q->status == GS_ERROR_MEMORY) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer");
    if (gs_stop_requested || time_is_up(w)) return GS_OK;
    if (q->status == GS_ERROR_RANGE && w->questions.under_way > 0) w->asks = w->questions.under_way;
    else if (!w->asker.llm->silent) gs_llm_give_up(&w->asker, &q->error);
    return GS_OK;
}

/* Waits for an answer, stores it, asks for a repair if it cannot be parsed, and evaluates it. only: it is only stored. */
static gs_status end_turn(writing *w, bool only, gs_error *error)
{
    gs_question *const q = gs_questions_end(&w->questions);
    gs_status status = q->status == GS_OK ? keep_answer(w, q, error) : fail_turn(w, q, error);
    bool goes_on = false;
    w->busy[q->island] = false;
    if (status == GS_OK && q->status == GS_OK && q->reason[0] && !q->second && !w->asker.llm->silent && !gs_stop_requested && !only) {
        q->second = goes_on = true;
        status = gs_source_repair(w->asker.options.prompts, q->reason, &q->question, error);
        if (status == GS_OK) status = begin_question(w, q, error);
        goes_on = status == GS_OK;
    } else if (status == GS_OK && q->status == GS_OK && !only) {
        gs_lineages_begin(&w->lineages, q->island, q->number, q->base, true);
        status = finish_turn(w, q, error);
    }
    if (!goes_on) gs_question_free(q);
    return status;
}

/* The free island with the fewest turns; -1: all have finished, or have a question under way. */
static int next_island(const writing *w)
{
    int next = -1;
    for (int i = 0; i < w->islands; i++)
        if (!w->busy[i] && w->lineages.lineage[i].asked < w->goal[i] && (next < 0 || w->lineages.lineage[i].turns < w->lineages.lineage[next].turns)) next = i;
    return next;
}

/* Whether the run ends for a reason that is not an error; *end: the reason. */
static bool ends(const writing *w, gs_status status, gs_author_end *end)
{
    if (gs_stop_requested) *end = GS_AUTHOR_STOPPED;
    else if (time_is_up(w)) *end = GS_AUTHOR_TIME;
    else if (w->asker.llm->silent) *end = GS_AUTHOR_SILENT;
    else return false;
    return status == GS_OK || status == GS_ERROR_INTERRUPTED;
}

/* Begins questions up to the limit. A failure does not affect those under way. */
static gs_status begin_turns(writing *w, gs_error *error)
{
    gs_author_end end;
    for (int island; w->questions.under_way < w->asks && (island = next_island(w)) >= 0 && !ends(w, GS_OK, &end);) GS_TRY(begin_turn(w, island, error));
    return GS_OK;
}

static gs_status run_turns(writing *w, gs_error *error)
{
    gs_author_end *const end = &w->result->end;
    gs_status status = GS_OK;
    *end = GS_AUTHOR_DONE;
    for (int i = 0; i < w->lineages.owed_count && status == GS_OK; i++) {
        if (ends(w, status, end)) return GS_OK;
        status = settle(w, &w->lineages.owed[i], error);
    }
    if (next_island(w) >= 0 && status == GS_OK && !ends(w, status, end)) status = measure_figures(w, error);
    choose_family(w);
    if (status == GS_OK) status = begin_turns(w, error);
    while (w->questions.under_way > 0) {   /* after a failure too, answers that were paid for are stored */
        gs_error why = {0};
        const bool only = status != GS_OK || gs_stop_requested || time_is_up(w);
        gs_status next = end_turn(w, only, &why);
        if (next == GS_OK && !only) next = begin_turns(w, &why);
        if (status == GS_OK && next != GS_OK && error) *error = why;
        if (status == GS_OK) status = next;
    }
    if (status == GS_OK && next_island(w) >= 0) ends(w, status, end);
    return status == GS_OK || ends(w, status, end) ? GS_OK : status;
}

/* ---- the run ---- */

static gs_status take_elites(writing *w, gs_error *error)
{
    gs_author_result *const r = w->result;
    gs_archive *const archive = &w->lineages.archive;
    r->elite = calloc((size_t)archive->count + 1, sizeof *r->elite);
    if (!r->elite) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what was written");
    gs_archive_sort(archive);
    for (int i = 0; i < archive->count; i++) {
        const gs_elite *const e = &archive->list[i];
        gs_attempt *const a = &w->lineages.attempt[e->attempt];
        gs_author_kernel *const to = &r->elite[r->count++];
        *to = (gs_author_kernel){.source = strdup(a->source), .manifest = strdup(a->manifest), .us = a->us, .ratio = a->ratio, .score = e->score, .reward = a->reward,
                           .registers = a->registers, .smem = a->smem, .island = e->island};
        snprintf(to->candidate, sizeof to->candidate, "%s", a->name);
        snprintf(to->base, sizeof to->base, "%s", a->base);
        gs_kind_text(&e->kind, to->kind);
        if (!to->source || !to->manifest) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what was written");
    }
    return GS_OK;
}

static gs_status set_goals(writing *w, gs_error *error)
{
    const gs_author_options *const o = w->options;
    const int turns = o->turns > 0 ? o->turns : TURNS;
    if (o->islands < 0 || o->islands > GS_AUTHOR_ISLANDS) return gs_fail(error, GS_ERROR_ARGUMENT, "islands", "must be from 1 to %d", GS_AUTHOR_ISLANDS);
    w->islands = o->islands > 0 ? o->islands : ISLANDS;
    GS_TRY(gs_lineages_read(&w->lineages, w->store, w->session->device, w->text, w->asker.options.model, o->patience > 0 ? o->patience : PATIENCE, error));
    for (int i = 0; i < GS_AUTHOR_ISLANDS; i++) w->result->before += w->lineages.lineage[i].turns;
    for (int i = 0; i < w->islands; i++) {
        w->goal[i] = turns + (o->again ? w->lineages.lineage[i].asked : 0);
        w->total += GS_MAX(w->goal[i], w->lineages.lineage[i].asked);
    }
    return GS_OK;
}

static gs_status open_notes(writing *w, gs_error *error)
{
    const gs_status status = gs_notes_open(&w->notes, NULL, error);
    if (status == GS_ERROR_UNSUPPORTED) return GS_OK;
    GS_TRY(status);
    return w->caps->emulated ? GS_OK : gs_notes_learn(w->notes, w->store, w->session->device, error);
}

/* Workers stop at the budget's end; until 0: no limit. */
static void limit(const writing *w, int64_t until)
{
    gs_worker *const emulator = w->options->environment ? w->options->environment->emulator : NULL;
    w->worker->until = until;
    if (emulator) emulator->until = until;
}

static gs_status write_all(writing *w, gs_error *error)
{
    GS_TRY(check_from(w, error));
    GS_TRY(gs_llm_asker_open(&w->asker, w->options->llm, "source-repair.md", error));
    GS_TRY(set_goals(w, error));
    GS_TRY(find_figures(w, error));
    GS_TRY(open_notes(w, error));
    GS_TRY(gs_environment_create(&w->environment, w->worker, w->caps, w->store, w->session, w->options->environment, error));
    w->asks = w->options->asks > 0 ? w->options->asks : 1;
    gs_questions_open(&w->questions);
    const gs_status status = run_turns(w, error);
    gs_questions_close(&w->questions);
    GS_TRY(status);
    return take_elites(w, error);
}

gs_status gs_author_run(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem, const gs_author_options *options,
                   gs_author_result *result, gs_error *error)
{
    *result = (gs_author_result){0};
    GS_TRY(gs_problem_check(problem, error));
    if (problem->m == 0 || problem->n == 0 || problem->k == 0 || problem->batch == 0)
        return gs_fail(error, GS_ERROR_RANGE, NULL, "an empty problem has nothing to write a kernel for");
    writing *const w = calloc(1, sizeof *w);
    if (!w) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the islands");
    *w = (writing){.store = store, .session = session, .worker = worker, .caps = caps, .problem = problem, .options = options, .result = result,
                   .started = gs_clock_ns()};
    gs_problem_format(problem, w->text);
    result->floor_us = gs_floor_us(problem, caps);
    if (options->budget_s > 0) limit(w, w->started + (int64_t)(options->budget_s * 1e9));
    const gs_status status = write_all(w, error);
    limit(w, 0);
    for (int i = 0; i < GS_AUTHOR_ISLANDS; i++) result->turns += w->lineages.lineage[i].turns;
    result->seconds = gs_clock_since(w->started);
    gs_environment_destroy(&w->environment);
    gs_llm_asker_close(&w->asker);
    gs_notes_close(&w->notes);
    gs_lineages_free(&w->lineages);
    free(w);
    return status;
}

void gs_author_free(gs_author_result *result)
{
    for (int i = 0; i < result->count; i++) {
        free(result->elite[i].source);
        free(result->elite[i].manifest);
    }
    free(result->elite);
    *result = (gs_author_result){0};
}
