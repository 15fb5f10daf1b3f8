/* SPDX-License-Identifier: MIT
 * What is known of a candidate: that it passed, or why it is out. Control flow goes by the code; the name is for stores, JSON and people. */
#ifndef GS_VERIFY_VERDICT_H
#define GS_VERIFY_VERDICT_H

#include <stdbool.h>
#include <gemmsmith/status.h>

typedef enum gs_verdict_code {
    GS_VERDICT_UNKNOWN,   /* 0: nothing is known, so that nothing passes because somebody forgot to say more */
#define GS_VERDICT(id, name, text) GS_VERDICT_##id,
#include "verify/verdicts.def"
#undef GS_VERDICT
    GS_VERDICTS
} gs_verdict_code;

const char     *gs_verdict_name(gs_verdict_code code);        /* "accumulator"; "unknown" */
const char     *gs_verdict_word(gs_verdict_code code);        /* the same as stores and JSON have it: "" where nothing is known */
const char     *gs_verdict_text(gs_verdict_code code);
gs_verdict_code gs_verdict_find(const char *name);            /* UNKNOWN if there is none of this name */
gs_verdict_code gs_verdict_from_status(gs_status status);     /* COMPILE, SPILL, FAULT, ... for a failed prepare or run; UNKNOWN: it is the machine's fault */

/* Of a verdict as stores and JSON have it. */
static inline bool gs_verdict_passed(const char *name) { return gs_verdict_find(name) == GS_VERDICT_PASS; }

/* There is a verdict, and it is not "pass". */
static inline bool gs_verdict_failed(gs_verdict_code code) { return code != GS_VERDICT_UNKNOWN && code != GS_VERDICT_PASS; }

/* It says that results are wrong: not that it could not run, nor what it touched. */
static inline bool gs_verdict_of_results(gs_verdict_code code) { return code >= GS_VERDICT_EXACT && code <= GS_VERDICT_UNWRITTEN; }

#endif
