/* SPDX-License-Identifier: MIT */
#include "llm/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/installed.h"

static const char *carried(const char *name)
{
    for (const gs_embedded *e = gs_embedded_prompts; e->name; e++)
        if (strcmp(e->name, name) == 0) return e->text;
    return NULL;
}

/* The caller frees *text. */
static gs_status find(const char *folder, const char *name, char **text, gs_error *error)
{
    const char *asked = folder ? folder : getenv(GS_PROMPT_FOLDER);
    char path[GS_PATH], installed[GS_PATH];
    if (asked && !*asked) asked = NULL;
    if (snprintf(installed, sizeof installed, "%s/prompts", gs_installed_folder()) >= (int)sizeof installed)
        return gs_fail(error, GS_ERROR_RANGE, "prompts", "the path of the installed folder is too long");
    const char *const where = asked ? asked : installed;
    struct stat about;
    size_t size;
    if (asked && (stat(where, &about) != 0 || !S_ISDIR(about.st_mode)))
        return gs_fail(error, GS_ERROR_NOT_FOUND, "prompts", "there is no folder '%.200s'", where);
    if (snprintf(path, sizeof path, "%s/%s", where, name) >= (int)sizeof path)
        return gs_fail(error, GS_ERROR_RANGE, "prompts", "the path of the folder is too long");
    if (gs_file_exists(path)) return gs_file_read(path, GS_PROMPT_BYTES, text, &size, error);
    const char *const ours = carried(name);
    if (!ours) return gs_fail(error, GS_ERROR_NOT_FOUND, "prompts", "there is no text '%.80s'", name);
    *text = strdup(ours);
    return *text ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
}

static const char *value_of(const gs_prompt_field *fields, int count, const char *name, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strncmp(fields[i].name, name, length) == 0 && fields[i].name[length] == '\0') return fields[i].value;
    return NULL;
}

static gs_status fill(gs_text *out, const char *name, const char *text, const gs_prompt_field *fields, int count, gs_error *error)
{
    const char *open;
    for (int line = 1; (open = strstr(text, "{{")); ) {
        gs_text_add_bytes(out, text, (size_t)(open - text));
        for (const char *c = text; c < open; c++) line += *c == '\n';
        const size_t length = strcspn(open + 2, "{}\n");
        if (strncmp(open + 2 + length, "}}", 2) != 0) return gs_fail(error, GS_ERROR_PARSE, name, "line %d: a field does not end with }}", line);
        const char *const value = value_of(fields, count, open + 2, length);
        if (!value) return gs_fail(error, GS_ERROR_PARSE, name, "line %d: there is no field '%.*s'", line, (int)length < 40 ? (int)length : 40, open + 2);
        gs_text_add(out, value);
        text = open + 2 + length + 2;
    }
    gs_text_add(out, text);
    return GS_OK;
}

gs_status gs_prompt_add(gs_text *out, const char *folder, const char *name, const gs_prompt_field *fields, int count, gs_error *error)
{
    char *text;
    gs_text filled = {0};
    GS_TRY(find(folder, name, &text, error));
    gs_status status = fill(&filled, name, text, fields, count, error);
    free(text);
    if (status == GS_OK && !filled.failed) gs_text_add(out, gs_text_string(&filled));
    if (status == GS_OK && (filled.failed || out->failed)) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    gs_text_free(&filled);
    return status;
}
