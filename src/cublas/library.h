/* SPDX-License-Identifier: MIT
 * cuBLASLt as one more way to compute a problem: descriptors, algorithm and workspace prepared once, one call per run.
 * cuBLAS and cuBLASLt are opened with dlopen at first use; NO_LIBRARY says where was looked. */
#ifndef GS_CUBLAS_LIBRARY_H
#define GS_CUBLAS_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include <gemmsmith/plan.h>

#include "cublas/suggestion.h"
#include "device/device.h"

#define GS_LIBRARY_ASKED     100            /* algorithms asked for at a time */
#define GS_LIBRARY_MOST      200            /* algorithms of a problem; a tuned table names one by its number */
#define GS_LIBRARY_WORKSPACE (64u << 20)       /* bytes offered to the heuristic */

typedef struct gs_library gs_library;

/* Descriptors of the problem and the list of suggested algorithms, best first by the library's own opinion; the first of those that
 * accumulate as the problem asks is chosen. Where D is narrower than the accumulator, an algorithm that splits K and keeps the sums of its
 * parts in D's type does not: it has its number in the list but cannot be chosen, and others that the library suggests in place of such
 * stand behind the list. f32 accumulation uses CUBLAS_COMPUTE_32F with an f32 scale, f16 CUBLAS_COMPUTE_16F with an f16 scale.
 * An epilogue that cuBLASLt has (bias along N, relu, gelu, gelu with aux, the gradient of gelu, and that of a bias with it) is its own; behind those suggestions, or alone where it has none, stand those of the plain product,
 * which a kernel of ours follows (finishing.h). That rounds twice.
 * within: with suggestions that need no more workspace than that. NO_LIBRARY (also: an emulated device), UNSUPPORTED (no algorithm),
 * LIBRARY, DEVICE_MEMORY. */
gs_status gs_library_create(gs_library **out, gs_device *device, const gs_problem *problem, gs_error *error);

/* About how long that kernel of ours takes, microseconds; 0 where none follows. */
double gs_library_behind_us(const gs_problem *problem, const gs_caps *caps);
gs_status gs_library_create_within(gs_library **out, gs_device *device, const gs_problem *problem, size_t workspace_most, gs_error *error);

/* The same problem with M rows and the algorithm that `like` has chosen, and no other; it has no workspace of its own, so that args->workspace must be given to run.
 * `like` must outlive it. UNSUPPORTED: the algorithm does not take it. */
gs_status gs_library_create_like(gs_library **out, const gs_library *like, int64_t m, gs_error *error);
void      gs_library_destroy(gs_library **library);

int       gs_library_count(const gs_library *library);              /* algorithms, >= 1 */
gs_status gs_library_choose(gs_library *library, int index);        /* which one run uses; RANGE; UNSUPPORTED: rounds its sums to D's type */
int       gs_library_chosen(const gs_library *library);             /* its index */
int       gs_library_suggestions(const gs_library *library, gs_suggestion list[GS_LIBRARY_MOST]);   /* all of them; returns how many */
void      gs_library_describe(const gs_library *library, char *text, size_t size);  /* "algo 66 tile 20 stages 36 splitk 1 ... (3 of 8)" */
size_t    gs_library_workspace(const gs_library *library);          /* bytes that the chosen algorithm needs */
size_t    gs_library_alignment(const gs_library *library, char operand);            /* bytes that a pointer, by its operand's letter, must be a multiple of */
bool      gs_library_is_fused(const gs_library *library);           /* what was chosen is one call of cuBLASLt */

/* args->workspace NULL: the library object's own. Any number of threads may run it at once, each with a workspace of its own if any is
 * needed; not while an algorithm is chosen. args->size does not count. */
gs_status gs_library_run(gs_library *library, const gs_args *args, gs_queue queue, gs_error *error);

/* Whether run takes a call's scalars. UNSUPPORTED. */
gs_status gs_library_check(const gs_library *library, const gs_args *args, gs_error *error);

/* Whether an algorithm with this reduction scheme (GS_LT_REDUCTION_*) accumulates as the problem asks. */
bool gs_library_accumulates(const gs_problem *problem, uint32_t reduction);

int gs_library_version(gs_error *error);                            /* of cuBLASLt, e.g. 130100; 0 if it cannot be opened */

#endif
