/* SPDX-License-Identifier: MIT
 * Before a user kernel touches a GPU: it runs on an emulated device with the checker, at a small problem made from the one that is asked for.
 *
 * What is a verdict there. Verification asks a kernel for two dozen small problems on the GPU too (part 5), and whatever a manifest can be evaluated for the
 * kernel must leave memory alone: so what the checker finds (a race, an access outside, a deadlock, a trap), a write outside of its buffers and a changed
 * input are verdicts, at whatever size. A wrong number is none: the kernel may be right at its own size, and the GPU says that. Nor is a manifest that
 * cannot be evaluated at the small size, nor that the emulated device took too long: these are notes, and the kernel goes on. */
#ifndef GS_EVALUATE_EMULATE_H
#define GS_EVALUATE_EMULATE_H

#include "evaluate/evaluate.h"
#include "kernel/manifest.h"

#define GS_EMULATE_S 60.0

typedef struct gs_emulation {
    gs_worker *worker;         /* borrowed, of an emulated device; NULL: there is none, and nothing is emulated */
    gs_caps    caps;           /* known after the first kernel */
    bool       known;
    double     compile_s, limit_s;
} gs_emulation;

/* The same types, layout, scalars, padding and epilogue. A problem that is small stays as it is. Otherwise two tiles are left of M and N, the second with the
 * remainder that the extent has, and, where that is not small, nine blocks of K: tiles are read off the manifest, from where its grid changes, else taken for
 * 256; blocks from its tensor maps, else taken for 64. No extent grows. */
gs_problem gs_small_problem(const gs_problem *asked, const gs_manifest *manifest, int sms);

/* Where fewer multiprocessors make fewer blocks: the manifest as if there were as many as the largest cluster has blocks, whose number it returns. 0: a grid has as
 * many blocks as before, and the manifest is of no use. */
int gs_crowd(gs_manifest *manifest, const gs_problem *problem, int sms);

/* Compiles the candidate and runs it there, once more as gs_crowd says where that says something. It has a verdict afterwards, kept, or not; *step: where it
 * ended (COMPILE, EMULATOR). note: why the emulated device said nothing, else "". Codes: of a machine that cannot, as gs_evaluator_prepare. */
gs_status gs_evaluator_emulate(gs_evaluator *e, gs_emulation *emulation, gs_candidate *candidate, gs_step *step, char note[160], gs_error *error);

/* The emulated device that stands for this one before kernels touch it: of the same target. NULL: none. Returns name. */
const char *gs_emulation_device(const gs_caps *caps, char name[GS_WORKER_DEVICE]);

#endif
