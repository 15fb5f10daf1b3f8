/* SPDX-License-Identifier: MIT
 * What the code of a user kernel may not do: a user kernel, written by somebody who gains when a wrong or timed-out
 * answer passes. Its source is looked at before it is compiled, the PTX of it before it is loaded; what cannot be read is refused.
 * docs/internals/hacks.md says what each refusal is for. Families' own kernels are not inspected when they run; a test does it.
 *
 * A refusal is FORBIDDEN, its field one of the names of inspect.def, its text "mine.cu:12 (PTX line 57): what stands there". */
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

/* CUDA C before it is compiled: may it include what it includes? Codes: FORBIDDEN. */
gs_status gs_inspect_source(const char *name, const char *text, gs_error *error);

/* PTX (size bytes, no terminator needed) before it is loaded, against what the manifest declares and the problem asks for. Codes:
 * FORBIDDEN, MEMORY. Any text may be given; time and memory are in proportion to its size. */
gs_status gs_inspect_ptx(const char *ptx, size_t size, const gs_manifest *manifest, const gs_problem *problem, gs_error *error);

/* Both, for gs_device.inspector. */
extern const gs_kernel_inspector gs_inspect_user_kernels;

#endif
