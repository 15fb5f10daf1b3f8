/* SPDX-License-Identifier: MIT
 * Refusals of a user kernel: their names and messages. */
#include "inspect/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

static const struct { const char *name, *text; } refusals[GS_REFUSALS] = {
#define GS_REFUSAL(id, name, text) {name, text},
#include "inspect/reasons.def"
#undef GS_REFUSAL
};

const char *gs_refusal_name(gs_refusal refusal) { return (unsigned)refusal < GS_REFUSALS ? refusals[refusal].name : "unknown"; }
const char *gs_refusal_text(gs_refusal refusal) { return (unsigned)refusal < GS_REFUSALS ? refusals[refusal].text : "unknown refusal"; }

gs_refusal gs_refusal_find(const char *name)
{
    int refusal = 0;
    while (refusal < GS_REFUSALS && strcmp(refusals[refusal].name, name) != 0) refusal++;
    return (gs_refusal)refusal;
}

/* ---- refusing ---- */

static const char *file_of(const gs_ptx_module *m, int32_t file)
{
    return file > 0 && file < m->files && m->file[file] ? m->file[file] : "the source";
}

gs_status gs_inspect_refuse(const gs_inspector *i, gs_refusal refusal, const gs_ptx_instruction *at, const char *format, ...)
{
    char what[200], where[140] = "";
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    if (at && at->location.line > 0)
        snprintf(where, sizeof where, "%.60s:%d (PTX line %d): ", file_of(i->module, at->location.file), at->location.line, at->line);
    else if (at)
        snprintf(where, sizeof where, "PTX line %d: ", at->line);
    return gs_fail(i->error, GS_ERROR_FORBIDDEN, gs_refusal_name(refusal), "%s%s", where, what);
}

bool gs_inspect_has(const gs_ptx_instruction *at, const char *part)
{
    for (int p = 1; p < at->parts; p++)
        if (strcmp(at->part[p], part) == 0) return true;
    return false;
}
