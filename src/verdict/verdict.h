/* SPDX-License-Identifier: MIT
 * What is known about a candidate: it passed, or why it is rejected. Code uses the enum; names are for stores, JSON and people. */
#ifndef GS_VERDICT_VERDICT_H
#define GS_VERDICT_VERDICT_H

#include <stdbool.h>
#include <gemmsmith/status.h>

typedef enum gs_verdict_code {
    GS_VERDICT_UNKNOWN,   /* 0: nothing is known, so that a value nobody has set is not a pass */
#define GS_VERDICT(id, name, text) GS_VERDICT_##id,
#include "verdict/verdicts.def"
#undef GS_VERDICT
    GS_VERDICTS
} gs_verdict_code;

const char     *gs_verdict_name(gs_verdict_code code);        /* "accumulator"; "unknown" */
const char     *gs_verdict_word(gs_verdict_code code);        /* the same for stores and JSON: "" for UNKNOWN */
const char     *gs_verdict_text(gs_verdict_code code);
gs_verdict_code gs_verdict_find(const char *name);            /* UNKNOWN: there is no such name */
gs_verdict_code gs_verdict_from_status(gs_status status);     /* COMPILE, SPILL, FAULT, ... for a failed prepare or run; UNKNOWN: the machine is at fault */

/* name: as stores and JSON have it. */
static inline bool gs_verdict_passed(const char *name) { return gs_verdict_find(name) == GS_VERDICT_PASS; }

/* There is a verdict, and it is not "pass". */
static inline bool gs_verdict_failed(gs_verdict_code code) { return code != GS_VERDICT_UNKNOWN && code != GS_VERDICT_PASS; }

/* Results are wrong, as opposed to: it could not run, or it touched other memory. */
static inline bool gs_verdict_of_results(gs_verdict_code code) { return code >= GS_VERDICT_EXACT && code <= GS_VERDICT_UNWRITTEN; }

#endif
