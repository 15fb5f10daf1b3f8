/* SPDX-License-Identifier: MIT
 * Names of the verdicts, and the verdict that a failed prepare or run means. */
#include <string.h>

#include "verify/verify.h"

static const struct { const char *name, *text; } verdicts[GS_VERDICTS] = {
#define GS_VERDICT(id, name, text) {name, text},
#include "verify/verdicts.def"
#undef GS_VERDICT
};

const char *gs_verdict_name(gs_verdict_code code) { return (unsigned)code < GS_VERDICTS ? verdicts[code].name : "unknown"; }
const char *gs_verdict_text(gs_verdict_code code) { return (unsigned)code < GS_VERDICTS ? verdicts[code].text : "unknown verdict"; }

gs_verdict_code gs_verdict_find(const char *name)
{
    int code = 0;
    while (code < GS_VERDICTS && strcmp(verdicts[code].name, name) != 0) code++;
    return (gs_verdict_code)code;
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
    default:                     return GS_VERDICTS;   /* the machine's fault */
    }
}
