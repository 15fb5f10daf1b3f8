/* SPDX-License-Identifier: MIT
 * The islands' state. A run, and reading back an earlier run's turns, apply the same steps. */
#include "author/lineages.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "worker/contenders.h"
#include "verdict/verdict.h"

#define BETTER 1.01   /* a smaller gain may be noise and does not reset barren */
enum { NUMBER_MOST = 1 << 24 };   /* largest turn number accepted, so that counts stay within int */

/* ---- attempts ---- */

int gs_lineages_find(const gs_lineages *lineages, const char *candidate)
{
    for (int i = 0; i < lineages->count; i++)
        if (strcmp(lineages->attempt[i].name, candidate) == 0) return i;
    return -1;
}

static void free_attempt(gs_attempt *a)
{
    const char *const texts[] = {a->name, a->source, a->manifest, a->base, a->verdict, a->reason, a->metrics};
    for (size_t i = 0; i < GS_COUNT(texts); i++) free((char *)texts[i]);
    *a = (gs_attempt){0};
}

static gs_status no_memory(gs_error *error) { return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what was tried"); }

static gs_status add_attempt(gs_lineages *lineages, const gs_tried *tried, const gs_attempt *from, gs_error *error)
{
    if (!gs_grow(&lineages->attempt, lineages->count, &lineages->capacity, sizeof *lineages->attempt)) return no_memory(error);
    if (!gs_grow(&lineages->tried, lineages->count, &lineages->tried_capacity, sizeof *lineages->tried)) return no_memory(error);
    gs_attempt *const to = &lineages->attempt[lineages->count];
    *to = *from;
    const char **const texts[] = {&to->name, &to->source, &to->manifest, &to->base, &to->verdict, &to->reason, &to->metrics};
    bool whole = true;
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        *texts[i] = strdup(*texts[i] ? *texts[i] : "");
        whole &= *texts[i] != NULL;
    }
    lineages->tried[lineages->count] = *tried;
    gs_turn_outcome *const outcome = &lineages->tried[lineages->count].outcome;
    outcome->candidate = to->name;
    outcome->verdict = to->verdict;
    outcome->reason = to->reason;
    outcome->metrics = to->metrics;
    if (whole) lineages->count++;
    else free_attempt(to);
    return whole ? GS_OK : no_memory(error);
}

void gs_lineages_free(gs_lineages *lineages)
{
    for (int i = 0; i < lineages->count; i++) free_attempt(&lineages->attempt[i]);
    for (int i = 0; i < lineages->owed_count; i++) {
        free(lineages->owed[i].base);
        free(lineages->owed[i].answer);
    }
    free(lineages->attempt);
    free(lineages->tried);
    free(lineages->archive.list);
    free(lineages->owed);
    *lineages = (gs_lineages){0};
}

/* ---- steps ---- */

double gs_outcome_score(const gs_turn_outcome *outcome)
{
    if (!outcome->verdict || !gs_verdict_passed(outcome->verdict) || !(outcome->us > 0)) return 0;
    return outcome->low > 0 ? outcome->low : outcome->ratio;
}

static void restart(gs_lineages *lineages, gs_lineage *lineage, const char *base)
{
    lineage->parent = gs_lineages_find(lineages, base);
    lineage->failure = -1;
    lineage->barren = 0;
    lineage->score = lineage->parent >= 0 ? lineages->tried[lineage->parent].score : 0;
}

void gs_lineages_begin(gs_lineages *lineages, int island, int number, const char *base, bool asked)
{
    gs_lineage *const lineage = &lineages->lineage[island];
    if (number <= lineage->turns) return;   /* the repair question of the same turn */
    lineage->turns = number;
    lineage->asked += asked;
    if (lineage->barren >= lineages->patience) restart(lineages, lineage, base);
    lineage->barren++;
}

gs_status gs_lineages_take(gs_lineages *lineages, int island, const char *base, const gs_turn_outcome *outcome, const char *source, const char *manifest, bool *improved,
                        gs_error *error)
{
    gs_lineage *const lineage = &lineages->lineage[island];
    const double score = gs_outcome_score(outcome);
    const bool judged = outcome->verdict && outcome->verdict[0];
    *improved = false;
    if (!source || !judged) return GS_OK;   /* the worker was lost: nothing is known of it */
    int at = gs_lineages_find(lineages, outcome->candidate);
    if (at < 0) {
        const gs_attempt attempt = {
            .name = outcome->candidate, .source = source, .manifest = manifest, .base = base, .verdict = outcome->verdict, .reason = outcome->reason,
            .metrics = outcome->metrics, .us = outcome->us, .ratio = outcome->ratio, .reward = outcome->reward, .registers = outcome->registers, .smem = outcome->smem,
        };
        at = lineages->count;
        GS_TRY(add_attempt(lineages, &(gs_tried){island, score, *outcome}, &attempt, error));
        const gs_elite elite = {gs_kind_of(source, manifest, outcome->metrics, outcome->registers, outcome->smem), at, island, score};
        if (score > 0) GS_TRY(gs_archive_put(&lineages->archive, &elite, error));
    }
    if (!(score > 0)) {
        lineage->failure = at;
    } else if (score > lineage->score) {
        *improved = score > BETTER *lineage->score;
        if (*improved) lineage->barren = 0;
        lineage->parent = at;
        lineage->score = score;
    }
    return GS_OK;
}

/* ---- reading the store ---- */

typedef struct reading {
    gs_lineages   *lineages;
    gs_store   *store;
    const char *model;
    gs_status   status;
    gs_error   *error;
} reading;

static gs_status owe(gs_lineages *lineages, const gs_turn *turn, gs_error *error)
{
    if (!gs_grow(&lineages->owed, lineages->owed_count, &lineages->owed_capacity, sizeof *lineages->owed)) return no_memory(error);
    gs_owed *const owed = &lineages->owed[lineages->owed_count];
    *owed = (gs_owed){.island = turn->island, .number = turn->number, .base = strdup(turn->base), .answer = strdup(turn->answer)};
    memcpy(owed->uid, turn->uid, GS_MIN(strlen(turn->uid), sizeof owed->uid - 1));
    lineages->owed_count++;
    return owed->base && owed->answer ? GS_OK : no_memory(error);
}

bool gs_lineages_is_family(const char *base)
{
    for (int f = 0; f < GS_FAMILIES; f++)
        if (strcmp(base, gs_family_name((gs_family_id)f)) == 0) return true;
    return false;
}

/* Whether a turn may have this base. Checked because names are shown to the model and a store may have been merged from anywhere. */
static bool is_base(const char *base)
{
    return !*base || gs_lineages_is_family(base) || (strncmp(base, GS_USER_KERNEL, strlen(GS_USER_KERNEL)) == 0 && strspn(base + strlen(GS_USER_KERNEL), "0123456789abcdef") == strlen(base + strlen(GS_USER_KERNEL)));
}

static gs_status take_outcome(reading *r, const gs_turn *turn, const gs_turn_outcome *outcome)
{
    char *source, *manifest, name[GS_CONTENDER_NAME];
    bool improved;
    gs_status status = gs_store_source_get(r->store, outcome->candidate, &source, &manifest, r->error);
    if (status == GS_ERROR_NOT_FOUND || status == GS_ERROR_ARGUMENT) return GS_OK;   /* the store lacks its texts: it cannot be improved */
    const bool is = status == GS_OK && strcmp(gs_submission_name(source, manifest, name), outcome->candidate) == 0;
    if (is) status = gs_lineages_take(r->lineages, turn->island, turn->base, outcome, source, manifest, &improved, r->error);
    free(source);
    free(manifest);
    return status;
}

static bool take_turn(void *self, const gs_turn *turn)
{
    reading *const r = self;
    if (strcmp(turn->mode, "source") != 0 || turn->island < 0 || turn->island >= GS_AUTHOR_ISLANDS || turn->number < 1 || turn->number > NUMBER_MOST || !is_base(turn->base))
        return true;
    gs_lineages_begin(r->lineages, turn->island, turn->number, turn->base, strcmp(turn->model, r->model) == 0);
    for (int i = 0; i < turn->count && r->status == GS_OK; i++) r->status = take_outcome(r, turn, &turn->outcomes[i]);
    if (turn->count == 0 && !turn->fault[0] && r->status == GS_OK) r->status = owe(r->lineages, turn, r->error);
    return r->status == GS_OK;
}

/* An outcome does not tell whether it was measured twice; the stage of the trial does. */
static bool take_confirmed(void *self, const gs_trial *trial)
{
    gs_lineages *const lineages = self;
    const int at = strcmp(trial->stage, gs_stage_name(GS_STAGE_CONFIRM)) == 0 && gs_verdict_passed(trial->verdict) ? gs_lineages_find(lineages, trial->candidate) : -1;
    if (at >= 0) lineages->attempt[at].again = true;
    return true;
}

gs_status gs_lineages_read(gs_lineages *out, gs_store *store, const char *device, const char *problem, const char *model, int patience, gs_error *error)
{
    *out = (gs_lineages){.patience = patience};
    for (int i = 0; i < GS_AUTHOR_ISLANDS; i++) out->lineage[i].parent = out->lineage[i].failure = -1;
    reading r = {out, store, model, GS_OK, error};
    GS_TRY(gs_store_turns(store, device, problem, take_turn, &r, error));
    GS_TRY(r.status);
    return gs_store_trials(store, device, problem, take_confirmed, out, error);
}

/* ---- the next turn ---- */

gs_pick gs_lineages_pick(const gs_lineages *lineages, int island, gs_random *random)
{
    const gs_lineage *const lineage = &lineages->lineage[island];
    if (lineage->barren >= lineages->patience) {
        const gs_elite *const other = gs_archive_draw(&lineages->archive, island, false, random);
        return (gs_pick){other ? other->attempt : -1, true};
    }
    const bool stray = gs_random_below(random, 4) == 0;
    const gs_elite *const elite = stray && lineage->parent >= 0 ? gs_archive_draw(&lineages->archive, island, true, random) : NULL;
    return (gs_pick){elite ? elite->attempt : lineage->parent, false};
}
