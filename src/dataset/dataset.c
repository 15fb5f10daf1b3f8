/* SPDX-License-Identifier: MIT
 * Reads everything that stores have, by device and problem, in an order that depends on the content only. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "train/train.h"
#include "table/table.h"
#include "schedule/profile.h"
#include "dataset/rows.h"

static gs_status no_memory(gs_error *error) { return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what the stores know"); }

/* ---- names ---- */

static bool add_name(gs_names *names, const char *name)
{
    if (names->count > 0 && strcmp(names->list[names->count - 1], name) == 0) return true;
    if (!gs_grow(&names->list, names->count, &names->capacity, sizeof *names->list)) return false;
    char *const copy = strdup(name);
    if (copy) names->list[names->count++] = copy;
    return copy;
}

static int by_name(const void *left, const void *right) { return strcmp(*(char *const *)left, *(char *const *)right); }

static void sort_names(gs_names *names)
{
    int count = 0;
    if (names->count > 1) qsort(names->list, (size_t)names->count, sizeof *names->list, by_name);
    for (int i = 0; i < names->count; i++) {
        if (count > 0 && strcmp(names->list[count - 1], names->list[i]) == 0) free(names->list[i]);
        else names->list[count++] = names->list[i];
    }
    names->count = count;
}

static void free_names(gs_names *names)
{
    for (int i = 0; i < names->count; i++) free(names->list[i]);
    free(names->list);
    *names = (gs_names){0};
}

/* State of reading one device. */
typedef struct reading {
    const gs_dataset_options *options;
    gs_names  names;
    gs_trial *winners;
    int       winner_count, winner_capacity;
    bool      failed, predictions;
} reading;

static bool see_session(void *self, const gs_session *session, const char *date)
{
    reading *const r = self;
    const gs_dataset_options *const o = r->options;
    (void)date;
    if (!*session->device || (o->device && strcmp(session->device, o->device) != 0)) return true;
    if (!o->device && !o->predicted && gs_gpu_emulated(session->device)) {
        r->predictions = true;
        return true;
    }
    r->failed = !add_name(&r->names, session->device);
    return !r->failed;
}

static bool see_trial(void *self, const gs_trial *trial)
{
    reading *const r = self;
    r->failed = !add_name(&r->names, trial->problem);
    return !r->failed;
}

static bool see_turn(void *self, const gs_turn *turn)
{
    reading *const r = self;
    r->failed = !add_name(&r->names, turn->problem);
    return !r->failed;
}

static bool see_winner(void *self, const gs_trial *trial)
{
    reading *const r = self;
    r->failed = !gs_grow(&r->winners, r->winner_count, &r->winner_capacity, sizeof *r->winners);
    if (r->failed) return false;
    r->winners[r->winner_count++] = *trial;
    return see_trial(self, trial);
}

/* Every problem of the device, and its winners; those of the first store come first. */
static gs_status read_device(reading *r, const char *device, gs_error *error)
{
    gs_status status = GS_OK;
    for (int i = 0; i < r->options->store_count && status == GS_OK; i++) {
        gs_store *const store = r->options->stores[i];
        status = gs_store_trials(store, device, NULL, see_trial, r, error);
        if (status == GS_OK) status = gs_store_winners(store, device, see_winner, r, error);
        if (status == GS_OK) status = gs_store_turns(store, device, NULL, see_turn, r, error);
        if (status == GS_OK && r->failed) status = no_memory(error);
    }
    sort_names(&r->names);
    return status;
}

/* ---- one problem ---- */

static bool take_trial(void *self, const gs_trial *trial)
{
    gs_known *const k = self;
    if (!trial->verdict[0]) {
        k->counts->unverified++;
        return true;
    }
    for (int i = 0; i < k->earlier; i++)
        if (strcmp(k->trials[i].candidate, trial->candidate) == 0) return true;   /* an earlier store has it */
    if (!gs_grow(&k->trials, k->trial_count, &k->trial_capacity, sizeof *k->trials)) {
        k->status = GS_ERROR_MEMORY;
        return false;
    }
    k->trials[k->trial_count++] = *trial;
    return true;
}

static int by_date(const void *left, const void *right)
{
    const gs_trial *const a = left, *const b = right;
    const int order = strcmp(a->date, b->date);
    return order ? order : strcmp(a->candidate, b->candidate);
}

static const char *copy_to(char **at, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *const copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

enum { TURN_TEXTS = 9, OUTCOME_TEXTS = 4 };

/* The text fields of a turn; their copies share one block of memory. */
static void texts_of(gs_turn *turn, const char **texts[TURN_TEXTS])
{
    const char **const all[TURN_TEXTS] = {&turn->uid, &turn->mode, &turn->model, &turn->base, &turn->system, &turn->ask, &turn->answer, &turn->fault, &turn->date};
    memcpy(texts, all, sizeof all);
}

static void outcome_texts_of(gs_turn_outcome *outcome, const char **texts[OUTCOME_TEXTS])
{
    const char **const all[OUTCOME_TEXTS] = {&outcome->candidate, &outcome->verdict, &outcome->reason, &outcome->metrics};
    memcpy(texts, all, sizeof all);
}

static bool copy_turn(gs_kept_turn *kept, const gs_turn *turn)
{
    gs_turn copy = *turn;
    const char **texts[TURN_TEXTS], **more[OUTCOME_TEXTS];
    size_t size = (size_t)turn->count * sizeof *turn->outcomes + 1;
    texts_of(&copy, texts);
    for (int i = 0; i < TURN_TEXTS; i++) size += strlen(*texts[i]) + 1;
    for (int i = 0; i < turn->count; i++) {
        gs_turn_outcome o = turn->outcomes[i];
        outcome_texts_of(&o, more);
        for (int t = 0; t < OUTCOME_TEXTS; t++) size += strlen(*more[t]) + 1;
    }
    kept->memory = malloc(size);
    if (!kept->memory) return false;
    gs_turn_outcome *const outcomes = (gs_turn_outcome *)kept->memory;
    char *at = kept->memory + (size_t)turn->count * sizeof *outcomes;
    for (int i = 0; i < TURN_TEXTS; i++) *texts[i] = copy_to(&at, *texts[i]);
    for (int i = 0; i < turn->count; i++) {
        outcomes[i] = turn->outcomes[i];
        outcome_texts_of(&outcomes[i], more);
        for (int t = 0; t < OUTCOME_TEXTS; t++) *more[t] = copy_to(&at, *more[t]);
    }
    copy.device = copy.problem = NULL;   /* not copied: the caller knows them */
    copy.outcomes = outcomes;
    kept->turn = copy;
    return true;
}

static bool take_turn(void *self, const gs_turn *turn)
{
    gs_known *const k = self;
    int step = 0;
    for (int i = 0; i < k->turn_count; i++) {
        const gs_turn *const t = &k->turns[i].turn;
        if (strcmp(t->uid, turn->uid) == 0) return true;   /* a copy from another store */
        step += strcmp(t->mode, turn->mode) == 0 && t->island == turn->island;
    }
    if (!gs_grow(&k->turns, k->turn_count, &k->turn_capacity, sizeof *k->turns) || !copy_turn(&k->turns[k->turn_count], turn)) {
        k->status = GS_ERROR_MEMORY;
        return false;
    }
    k->turns[k->turn_count++].step = step;
    return true;
}

static gs_status read_stores(gs_known *k, gs_error *error)
{
    for (int i = 0; i < k->options->store_count; i++) {
        gs_store *const store = k->options->stores[i];
        k->earlier = k->trial_count;
        GS_TRY(gs_store_trials(store, k->device, k->text, take_trial, k, error));
        if (k->status == GS_OK) GS_TRY(gs_store_turns(store, k->device, k->text, take_turn, k, error));
        if (k->status != GS_OK) return no_memory(error);
        if (k->library_us > 0) continue;
        const gs_status status = gs_store_library_us(store, k->device, k->text, &k->library_us, error);
        if (status != GS_OK && status != GS_ERROR_NOT_FOUND) return status;
    }
    if (k->trial_count > 1) qsort(k->trials, (size_t)k->trial_count, sizeof *k->trials, by_date);
    return GS_OK;
}

/* The caps of the profile for a device's name in the store; NULL: there is none. */
static const gs_caps *caps_of(const char *device)
{
    const size_t size = strcspn(device, "+");   /* "+dependent" */
    char name[64];
    if (size == 0 || size >= sizeof name) return NULL;
    memcpy(name, device, size);
    name[size] = '\0';
    if (gs_gpu_emulated(name)) return gs_caps_find(name + strlen(GS_EMULATED_SLUG));
    const char *profile;
    for (int i = 0; (profile = gs_profile_name(i)); i++)
        if (strcmp(gs_caps_find(profile)->slug, name) == 0) return gs_caps_find(profile);
    return NULL;
}

gs_status gs_known_read(gs_known *k, const char *device, const gs_problem *problem, gs_error *error)
{
    k->problem = *problem;
    k->device = device ? device : "";
    k->predicted = gs_gpu_emulated(k->device);
    k->held_out = gs_train_held_out(problem, k->options->held_out);
    const gs_status status = device ? read_stores(k, error) : GS_OK;
    if (!k->caps) k->caps = caps_of(k->device);
    if (k->caps && k->predicted) {
        k->emulated = *k->caps;
        k->emulated.emulated = true;
        k->caps = &k->emulated;
    }
    k->floor_us = k->caps ? gs_floor_us(problem, k->caps) : 0;
    return status;
}

void gs_known_free(gs_known *k)
{
    for (int i = 0; i < k->turn_count; i++) free(k->turns[i].memory);
    free(k->turns);
    free(k->trials);
    gs_text_free(&k->line);
    *k = (gs_known){0};
}

const gs_trial *gs_known_trial(const gs_known *k, const char *candidate)
{
    for (int i = 0; i < k->trial_count; i++)
        if (strcmp(k->trials[i].candidate, candidate) == 0) return &k->trials[i];
    return NULL;
}

bool gs_dataset_wants(const gs_dataset_options *options, bool held_out)
{
    return options->split == GS_SPLIT_ALL || (options->split == GS_SPLIT_HELD_OUT) == held_out;
}

bool gs_dataset_is_source(const char *of) { return strncmp(of, "source", 6) == 0; }

bool gs_dataset_mode(const gs_dataset_options *options, const char *of)
{
    return options->modes == 0 || (options->modes & (gs_dataset_is_source(of) ? GS_DATASET_SOURCE : GS_DATASET_SCHEDULE));
}

/* ---- all problems ---- */

bool gs_dataset_asked(const gs_dataset_options *o, const char *text)
{
    char name[GS_PROBLEM_TEXT];
    for (int i = 0; i < o->problem_count; i++)
        if (strcmp(gs_problem_format(&o->problems[i], name), text) == 0) return true;
    return o->problem_count == 0;
}

static gs_status visit_problem(const reading *r, gs_dataset_counts *counts, const char *device, const char *text, gs_known_visit visit, gs_error *error)
{
    const gs_dataset_options *const o = r->options;
    gs_known known = {.options = o, .counts = counts, .text = text};
    gs_problem problem;
    if (!gs_dataset_asked(o, text) || gs_problem_parse(&problem, text, NULL) != GS_OK) return GS_OK;
    if (!gs_dataset_wants(o, gs_train_held_out(&problem, o->held_out))) {
        counts->other_side++;
        return GS_OK;
    }
    for (int i = r->winner_count - 1; i >= 0; i--)
        if (strcmp(r->winners[i].problem, text) == 0) known.winner = r->winners[i];
    gs_status status = gs_known_read(&known, device, &problem, error);
    if (status == GS_OK) status = visit(&known, error);
    gs_known_free(&known);
    return status;
}

static gs_status visit_device(const gs_dataset_options *options, gs_dataset_counts *counts, const char *device, gs_known_visit visit, gs_error *error)
{
    reading r = {.options = options};
    gs_status status = read_device(&r, device, error);
    for (int i = 0; i < r.names.count && status == GS_OK; i++) status = visit_problem(&r, counts, device, r.names.list[i], visit, error);
    free_names(&r.names);
    free(r.winners);
    return status;
}

gs_status gs_dataset_each(const gs_dataset_options *options, gs_dataset_counts *counts, gs_known_visit visit, gs_error *error)
{
    reading r = {.options = options};
    gs_status status = GS_OK;
    for (int i = 0; i < options->store_count && status == GS_OK; i++) {
        status = gs_store_sessions(options->stores[i], see_session, &r, error);
        if (status == GS_OK && r.failed) status = no_memory(error);
    }
    counts->predictions = r.predictions;
    sort_names(&r.names);
    for (int i = 0; i < r.names.count && status == GS_OK; i++) status = visit_device(options, counts, r.names.list[i], visit, error);
    free_names(&r.names);
    return status;
}

gs_status gs_dataset_open(gs_store **list, int *count, const char *const *paths, int path_count, gs_error *error)
{
    *count = 0;
    if (path_count == 0) GS_TRY(gs_store_open_read(&list[(*count)++], NULL, error));
    for (int i = 0; i < path_count; i++) {
        if (!gs_store_may_be(paths[i])) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%.200s: no such file", paths[i]);
        GS_TRY(gs_store_open_read(&list[i], paths[i], error));
        *count = i + 1;
    }
    return GS_OK;
}
