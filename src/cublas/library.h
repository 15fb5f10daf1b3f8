/* SPDX-License-Identifier: MIT
 * cuBLASLt as a way to compute a problem: descriptors, algorithm and workspace are prepared once, then one call per run. cuBLAS and cuBLASLt are opened with dlopen at
 * first use; NO_LIBRARY lists where they were searched. */
#ifndef GS_CUBLAS_LIBRARY_H
#define GS_CUBLAS_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include <gemmsmith/plan.h>

#include "cublas/suggestion.h"
#include "device/device.h"

#define GS_LIBRARY_ASKED     100            /* algorithms requested per call of the heuristic */
#define GS_LIBRARY_MOST      200            /* most algorithms of a problem; a tuned table names one by its number */
#define GS_LIBRARY_WORKSPACE (64u << 20)       /* most bytes of workspace offered to the heuristic */

typedef struct gs_library gs_library;

/* Creates the descriptors and the list of suggested algorithms, best first in cuBLASLt's opinion; chooses the first one that accumulates as the problem asks. If D is
 * narrower than the accumulator, an algorithm that splits K and stores the partial sums in D's type does not: it keeps its number in the list but cannot be chosen;
 * the algorithms that the library suggests instead are at the end of the list. f32 accumulation uses CUBLAS_COMPUTE_32F with an f32 scale, f16 CUBLAS_COMPUTE_16F with
 * an f16 scale.
 *
 * Where cuBLASLt supports the epilogue (bias along N, relu, gelu, gelu with aux, the gradient of gelu, with or without the gradient of a bias), it computes it. After
 * those algorithms, or alone if it does not support the epilogue, follow those for the plain product with the epilogue in a kernel of ours (finishing.h), which rounds
 * twice.
 *
 * gs_library_create_within: only algorithms that need at most workspace_most bytes. NO_LIBRARY (also: an emulated device), UNSUPPORTED (no algorithm), LIBRARY,
 * DEVICE_MEMORY. */
gs_status gs_library_create(gs_library **out, gs_device *device, const gs_problem *problem, gs_error *error);

/* Estimated time of that kernel of ours, microseconds; 0 if cuBLASLt computes the epilogue. */
double gs_library_behind_us(const gs_problem *problem, const gs_caps *caps);
gs_status gs_library_create_within(gs_library **out, gs_device *device, const gs_problem *problem, size_t workspace_most, gs_error *error);

/* The same problem with M rows and only the algorithm that `like` has chosen. It has no workspace of its own, so gs_library_run needs args->workspace. `like` must
 * outlive it. UNSUPPORTED: the algorithm does not support the problem. */
gs_status gs_library_create_like(gs_library **out, const gs_library *like, int64_t m, gs_error *error);
void      gs_library_destroy(gs_library **library);

int       gs_library_count(const gs_library *library);              /* algorithms, >= 1 */
gs_status gs_library_choose(gs_library *library, int index);        /* the algorithm that run uses; RANGE; UNSUPPORTED: it rounds partial sums to D's type */
int       gs_library_chosen(const gs_library *library);             /* its index */
int       gs_library_suggestions(const gs_library *library, gs_suggestion list[GS_LIBRARY_MOST]);   /* describes all of them; returns how many */
void      gs_library_describe(const gs_library *library, char *text, size_t size);  /* "algo 66 tile 20 stages 36 splitk 1 ... (3 of 8)" */
size_t    gs_library_workspace(const gs_library *library);          /* bytes that the chosen algorithm needs */
size_t    gs_library_alignment(const gs_library *library, char operand);            /* bytes that an operand's pointer must be a multiple of */
bool      gs_library_is_fused(const gs_library *library);           /* the chosen algorithm includes the epilogue */

/* args->workspace NULL: the object's own. Any number of threads may run it at once, each with its own workspace if one is needed; not while an algorithm is being
 * chosen. args->size is ignored. */
gs_status gs_library_run(gs_library *library, const gs_args *args, gs_queue queue, gs_error *error);

/* Whether gs_library_run supports a call's alpha and beta. UNSUPPORTED. */
gs_status gs_library_check(const gs_library *library, const gs_args *args, gs_error *error);

/* Whether an algorithm with this reduction scheme (GS_LT_REDUCTION_*) accumulates as the problem asks. */
bool gs_library_accumulates(const gs_problem *problem, uint32_t reduction);

int gs_library_version(gs_error *error);                            /* version of cuBLASLt, e.g. 130100; 0 if it cannot be opened */

#endif
