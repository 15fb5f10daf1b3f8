/* SPDX-License-Identifier: MIT
 * A corpus for continued pretraining: the project's own texts, one row per file, pages and notes one per section. All of them are embedded in the program, so
 * that an installed program exports those of its own version. */
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "dataset/rows.h"

/* files: the table; folder: what its names are relative to; sections: split at headings */
static const struct part {
    const gs_embedded *files;
    const char        *folder, *kind;
    bool               sections;
} parts[] = {
    {gs_embedded_files,   "kernels/",           "kernel", false},
    {gs_embedded_headers, "include/gemmsmith/", "header", false},
    {gs_embedded_notes,   "share/notes/",       "note",   true},
    {gs_embedded_pages,   "docs/",              "page",   true},
    {gs_embedded_prompts, "share/prompts/",     "prompt", false},
};

static gs_status add_row(gs_known *k, const struct part *part, const char *name, const char *text, size_t size, gs_error *error)
{
    gs_text path = {0}, own = {0};
    gs_text_addf(&path, "%s%s", part->folder, name);
    gs_text_add_bytes(&own, text, size);
    gs_text_clear(&k->line);
    gs_json json = gs_json_into(&k->line);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "text", gs_text_string(&own));
    gs_json_string(&json, "path", gs_text_string(&path));
    gs_json_string(&json, "license", "MIT");
    gs_json_string(&json, "kind", part->kind);
    const gs_status status = path.failed || own.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a row") : gs_row_end(k, &json, error);
    gs_text_free(&path);
    gs_text_free(&own);
    return status;
}

/* The length up to the next section: a heading outside fenced blocks. */
static size_t section_end(const char *text)
{
    bool fenced = false;
    size_t at = strcspn(text, "\n");
    while (text[at]) {
        const char *const line = text + ++at;
        if (strncmp(line, "```", 3) == 0) fenced = !fenced;
        if (!fenced && strncmp(line, "## ", 3) == 0) return at;
        at += strcspn(line, "\n");
    }
    return at;
}

static gs_status add_file(gs_known *k, const struct part *part, const gs_embedded *file, gs_error *error)
{
    if (!part->sections) return add_row(k, part, file->name, file->text, strlen(file->text), error);
    for (const char *at = file->text; *at;) {
        const size_t size = section_end(at);
        GS_TRY(add_row(k, part, file->name, at, size, error));
        at += size;
    }
    return GS_OK;
}

gs_status gs_dataset_corpus(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error)
{
    gs_known known = {.options = options, .counts = counts};
    gs_status status = GS_OK;
    *counts = (gs_dataset_counts){0};
    for (size_t i = 0; i < GS_COUNT(parts) && status == GS_OK; i++)
        for (const gs_embedded *file = parts[i].files; file->name && status == GS_OK; file++) status = add_file(&known, &parts[i], file, error);
    gs_known_free(&known);
    return status;
}
