/* SPDX-License-Identifier: MIT */
#include "dataset/edits.h"

#include <stdlib.h>
#include <string.h>

#include "author/prompt.h"
#include "base/error.h"
#include "llm/answer.h"
#include "llm/edit.h"
#include "llm/prompt.h"
#include "redact/redact.h"

typedef struct texts {
    char *source, *manifest;   /* as stored; NULL: missing */
    gs_source_shown shown;     /* the source as prompts show it */
    gs_text         canonical; /* the manifest as prompts show it */
} texts;

static void free_texts(texts *t)
{
    free(t->source);
    free(t->manifest);
    gs_source_shown_free(&t->shown);
    gs_text_free(&t->canonical);
}

static gs_status read_texts(const gs_known *k, const char *candidate, texts *t, gs_error *error)
{
    gs_status status = GS_ERROR_NOT_FOUND;
    for (int i = 0; i < k->options->store_count && status == GS_ERROR_NOT_FOUND; i++) status = gs_store_source_get(k->options->stores[i], candidate, &t->source, &t->manifest, error);
    if (status == GS_ERROR_NOT_FOUND || status == GS_ERROR_ARGUMENT) return GS_OK;
    GS_TRY(status);
    GS_TRY(gs_source_show(&t->shown, t->source, GS_SOURCE_PARENT_BYTES, error));
    gs_source_manifest(&t->canonical, t->manifest);
    return t->canonical.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel") : GS_OK;
}

bool gs_answer_is_edits(const char *answer)
{
    gs_answer read = {0};
    if (gs_answer_parse(&read, answer, strlen(answer), gs_answer_edits, NULL) != GS_OK) return false;
    const char *const source = gs_answer_block(&read, "kernel.cu"), *const manifest = gs_answer_block(&read, "manifest");
    const bool is = !source || !manifest || gs_edit_is(source) || gs_edit_is(manifest);
    gs_answer_free(&read);
    return is;
}

/* An answer with the analysis and plan of the turn's answer and these blocks. */
static gs_status add_answer(const gs_turn *turn, const char *blocks, gs_text *out, gs_error *error)
{
    gs_answer read = {0};
    if (gs_answer_parse(&read, turn->answer, strlen(turn->answer), gs_answer_edits, NULL) != GS_OK) return GS_OK;
    gs_text_addf(out, "# Analysis\n%s\n# Plan\n%s\n# Code\n%s", read.analysis, read.plan, blocks);
    gs_answer_free(&read);
    return out->failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer") : GS_OK;
}

static bool is_shown(const texts *t) { return t->source && t->shown.text.size > 0 && !t->shown.cut && t->canonical.size > 0; }

static gs_status make(const gs_known *k, const gs_turn *turn, const texts *from, const texts *to, gs_text *ask, gs_text *completion, gs_error *error)
{
    const gs_parent parent = {gs_text_string(&from->shown.text), gs_text_string(&from->canonical)}, child = {gs_text_string(&to->shown.text), gs_text_string(&to->canonical)};
    const gs_prompt_field which = {"which", "Answer with"};
    gs_text blocks = {0};
    gs_status status = gs_edit_blocks(&blocks, &parent, &child, error);
    if (status == GS_OK) status = add_answer(turn, gs_text_string(&blocks), completion, error);
    gs_text_free(&blocks);
    if (status == GS_ERROR_UNSUPPORTED) return GS_OK;
    GS_TRY(status);
    gs_text_addf(ask, "%s\n\n", turn->ask);
    return gs_prompt_add(ask, k->options->folder, "source-edits.md", &which, 1, error);
}

gs_status gs_edits_of_turn(const gs_known *known, const gs_turn *turn, gs_text *ask, gs_text *completion, bool *made, gs_error *error)
{
    texts from = {0}, to = {0};
    gs_status status = read_texts(known, turn->base, &from, error);
    if (status == GS_OK) status = read_texts(known, turn->outcomes[0].candidate, &to, error);
    if (status == GS_OK && is_shown(&from) && is_shown(&to)) status = make(known, turn, &from, &to, ask, completion, error);
    *made = status == GS_OK && completion->size > 0;
    free_texts(&from);
    free_texts(&to);
    return status;
}
