/* SPDX-License-Identifier: MIT */
#include "dataset/ask.h"

#include <string.h>

#include "base/error.h"
#include "dataset/rows.h"
#include "notes/note.h"

enum { NOTES = 8 << 10 };

static void count_known(const gs_known *k, bool source, gs_asked *out)
{
    for (int i = 0; i < k->trial_count; i++) {
        const gs_trial *const t = &k->trials[i];
        const bool passed = gs_trial_passed(t);
        if (gs_dataset_is_source(t->candidate) != source) continue;
        out->timed += passed && t->us > 0;
        out->failed += !passed;
    }
}

/* Finds nothing if this machine's SQLite has no full-text search. */
static gs_status find_notes(const gs_ask *how, const gs_known *k, gs_text *out, gs_error *error)
{
    gs_notes *notes;
    gs_text words = {0};
    const gs_attempt *const last = how->last && !(how->last->us > 0) ? how->last : NULL;
    gs_error why = {0};
    gs_status status = gs_notes_open(&notes, NULL, &why);
    if (status == GS_ERROR_UNSUPPORTED) return GS_OK;
    if (status == GS_OK && how->examples) status = gs_notes_learn(notes, how->store, how->device, &why);
    if (last) gs_text_addf(&words, "%s %s", last->verdict ? last->verdict : "", last->reason ? last->reason : "");
    const gs_note_query query = {how->problem, k->caps, NULL, last ? gs_text_string(&words) : NULL};
    if (status == GS_OK) status = gs_notes_find(notes, &query, NOTES, out, &why);
    gs_notes_close(&notes);
    gs_text_free(&words);
    if (status != GS_OK && error) *error = why;
    return status;
}

/* If the last attempt was a schedule, gives it that schedule's kernel as its code. */
static gs_status take_schedule(const gs_known *k, const gs_attempt *last, gs_attempt *kernel, gs_asked *out, gs_error *error)
{
    gs_schedule schedule;
    *kernel = *last;
    if (last->source || gs_schedule_parse(&schedule, last->name ? last->name : "", NULL) != GS_OK || gs_schedule_check(&schedule, &k->problem, k->caps, NULL) != GS_OK) return GS_OK;
    const gs_source_view view = {.caps = k->caps, .problem = &k->problem, .family = last->name};
    GS_TRY(gs_source_template(&view, &out->source, &out->manifest, error));
    kernel->source = out->source.data;   /* NULL: the kernel cannot be written as an answer */
    kernel->manifest = out->manifest.data;
    return GS_OK;
}

static gs_status write_prompt(const gs_ask *how, const gs_known *k, gs_asked *out, gs_error *error)
{
    gs_text notes = {0};
    gs_attempt kernel;
    gs_task_view view = {.examples = how->examples, .edits = how->edits, .last = how->last, .source = &out->source, .manifest = &out->manifest};
    gs_status status = how->source ? find_notes(how, k, &notes, error) : GS_OK;
    if (status == GS_OK && how->source && how->last) {
        status = take_schedule(k, how->last, &kernel, out, error);
        view.last = &kernel;
    }
    view.notes = gs_text_string(&notes);
    if (status == GS_OK) status = gs_task_prompt_of(k, how->source ? "source" : "schedule", &view, &out->system, &out->ask, error);
    if (status == GS_OK && (notes.failed || out->system.failed || out->ask.failed)) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    gs_text_free(&notes);
    if (status == GS_OK && out->ask.size == 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "problem", "no family takes it on this device");
    return status;
}

gs_status gs_dataset_ask(const gs_ask *how, gs_asked *out, gs_error *error)
{
    char text[GS_PROBLEM_TEXT];
    gs_store *const stores[] = {how->store};
    const gs_dataset_options options = {.stores = stores, .store_count = 1, .folder = how->folder, .predicted = true};
    gs_dataset_counts counts = {0};
    gs_known known = {.options = &options, .counts = &counts, .caps = how->caps, .text = gs_problem_format(how->problem, text)};
    *out = (gs_asked){0};
    gs_status status = gs_known_read(&known, how->device, how->problem, error);
    if (status == GS_OK && !known.caps) status = gs_fail(error, GS_ERROR_UNSUPPORTED, "device", "there is no profile of such a device");
    if (status == GS_OK) status = write_prompt(how, &known, out, error);
    out->floor_us = known.floor_us;
    out->library_us = known.predicted ? 0 : known.library_us;
    out->predicted = known.predicted;
    if (status == GS_OK && how->examples) count_known(&known, how->source, out);
    gs_known_free(&known);
    return status;
}

void gs_asked_free(gs_asked *asked)
{
    gs_text_free(&asked->system);
    gs_text_free(&asked->ask);
    gs_text_free(&asked->source);
    gs_text_free(&asked->manifest);
    *asked = (gs_asked){0};
}
