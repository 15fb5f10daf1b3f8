/* SPDX-License-Identifier: MIT
 * Before a user kernel touches a GPU, it runs on an emulated device with the checker, at a small problem derived from the requested one.
 *
 * Which outcomes are verdicts. Verification launches a kernel for two dozen small problems on the GPU too (part 5), and a kernel must leave other memory alone for every problem
 * that its manifest can be evaluated for. So what the checker finds (a race, an access out of bounds, a deadlock, a trap), a write outside its buffers and a changed input are
 * verdicts, at any size. A wrong number is not: the kernel may be right at its own size, which the GPU tests. Nor is a manifest that cannot be evaluated at the small size, nor a
 * run that takes too long: these are notes, and the evaluation goes on. */
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

/* A small problem with the same types, layout, scalars, padding and epilogue. One that is small already stays as it is. Otherwise M and N become two tiles, the second with the
 * remainder of the extent, and K, if that is not small enough, nine blocks. Tiles are read off the manifest, from where its grid changes, else 256; blocks are from its tensor
 * maps, else 64. No extent grows. */
gs_problem gs_small_problem(const gs_problem *asked, const gs_manifest *manifest, int sms);

/* If fewer multiprocessors mean fewer blocks: changes the manifest as if there were as many multiprocessors as the largest cluster has blocks, and returns that number. 0: no
 * grid has fewer blocks then, and the manifest must not be used. */
int gs_crowd(gs_manifest *manifest, const gs_problem *problem, int sms);

/* Compiles the candidate and runs it on the emulated device, and once more as changed by gs_crowd, if that applies. Afterwards it has a verdict, which is kept, or none; *step:
 * where it ended (COMPILE, EMULATOR). note: why the emulated device gave no result, else "". Codes: of a machine that cannot, as gs_evaluator_prepare. */
gs_status gs_evaluator_emulate(gs_evaluator *e, gs_emulation *emulation, gs_candidate *candidate, gs_step *step, char note[160], gs_error *error);

/* The emulated device of the same target as this one, on which kernels run first. NULL: there is none. Returns name. */
const char *gs_emulation_device(const gs_caps *caps, char name[GS_WORKER_DEVICE]);

#endif
