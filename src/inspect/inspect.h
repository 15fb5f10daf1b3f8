/* SPDX-License-Identifier: MIT
 * What the code of a user kernel may not do. User kernels come from authors who may gain if a wrong result or a false time is accepted. The source is inspected before
 * it is compiled, the PTX before it is loaded; anything that cannot be parsed is refused. docs/internals/hacks.md gives the reason for each refusal. The families' own
 * kernels are not inspected when they run; a test does it.
 *
 * A refusal has the code FORBIDDEN, a name from inspect.def as its field, and a text "mine.cu:12 (PTX line 57): what was found there". */
#ifndef GS_INSPECT_INSPECT_H
#define GS_INSPECT_INSPECT_H

#include <gemmsmith/problem.h>

#include "kernel/inspector.h"
#include "kernel/manifest.h"

#define GS_INSPECT_SOURCE_MAX  ((size_t)1 << 20)    /* bytes of CUDA C */
#define GS_INSPECT_PTX_MAX     ((size_t)32 << 20)   /* bytes of PTX */
#define GS_INSPECT_TABLES_MAX  65536u               /* bytes of the module's variables outside of shared memory */

typedef enum gs_refusal {
#define GS_REFUSAL(id, name, text) GS_REFUSAL_##id,
#include "inspect/reasons.def"
#undef GS_REFUSAL
    GS_REFUSALS
} gs_refusal;

const char *gs_refusal_name(gs_refusal refusal);        /* "clock" */
const char *gs_refusal_text(gs_refusal refusal);
gs_refusal  gs_refusal_find(const char *name);          /* GS_REFUSALS if unknown */

/* Checks which files CUDA C source includes, before it is compiled. Codes: FORBIDDEN. */
gs_status gs_inspect_source(const char *name, const char *text, gs_error *error);

/* Checks PTX (size bytes, no terminator needed) before it is loaded, against the manifest and the problem. Codes: FORBIDDEN, MEMORY. Accepts any text; takes time and
 * memory proportional to its size. */
gs_status gs_inspect_ptx(const char *ptx, size_t size, const gs_manifest *manifest, const gs_problem *problem, gs_error *error);

/* Both checks, for gs_device.inspector. */
extern const gs_kernel_inspector gs_inspect_user_kernels;

#endif
