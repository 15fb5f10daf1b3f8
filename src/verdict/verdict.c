/* SPDX-License-Identifier: MIT
 * Names of the verdicts, and the verdict that a failed prepare or run means. */
#include <string.h>

#include "verdict/verdict.h"

static const struct { const char *name, *text; } verdicts[GS_VERDICTS] = {
    {"unknown", "unknown verdict"},
#define GS_VERDICT(id, name, text) {name, text},
#include "verdict/verdicts.def"
#undef GS_VERDICT
};

const char *gs_verdict_name(gs_verdict_code code) { return verdicts[(unsigned)code < GS_VERDICTS ? code : GS_VERDICT_UNKNOWN].name; }
const char *gs_verdict_word(gs_verdict_code code) { return code == GS_VERDICT_UNKNOWN ? "" : gs_verdict_name(code); }
const char *gs_verdict_text(gs_verdict_code code) { return verdicts[(unsigned)code < GS_VERDICTS ? code : GS_VERDICT_UNKNOWN].text; }

gs_verdict_code gs_verdict_find(const char *name)
{
    for (int code = GS_VERDICT_PASS; code < GS_VERDICTS; code++)
        if (strcmp(verdicts[code].name, name) == 0) return (gs_verdict_code)code;
    return GS_VERDICT_UNKNOWN;
}

gs_verdict_code gs_verdict_from_status(gs_status status)
{
    switch (status) {
    case GS_OK:                  return GS_VERDICT_PASS;
    case GS_ERROR_UNSUPPORTED:
    case GS_ERROR_ALIGNMENT:     return GS_VERDICT_UNSUPPORTED;
    case GS_ERROR_COMPILE:       return GS_VERDICT_COMPILE;
    case GS_ERROR_SPILL:         return GS_VERDICT_SPILL;
    case GS_ERROR_SERIALIZED:    return GS_VERDICT_SERIALIZED;
    case GS_ERROR_FORBIDDEN:     return GS_VERDICT_FORBIDDEN;
    case GS_ERROR_ARGUMENT:
    case GS_ERROR_PARSE:
    case GS_ERROR_RANGE:
    case GS_ERROR_NOT_FOUND:
    case GS_ERROR_LIBRARY:
    case GS_ERROR_LAUNCH:        return GS_VERDICT_LAUNCH;
    case GS_ERROR_FAULT:
    case GS_ERROR_WORKER_DIED:   return GS_VERDICT_FAULT;
    case GS_ERROR_TIMEOUT:
    case GS_ERROR_WORKER_HUNG:   return GS_VERDICT_HANG;
    case GS_ERROR_DEVICE_MEMORY: return GS_VERDICT_MEMORY;
    default:                     return GS_VERDICT_UNKNOWN;   /* the machine's fault */
    }
}
