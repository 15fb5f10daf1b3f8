/* SPDX-License-Identifier: MIT
 * Ancestry of the kernels that models wrote for a problem: each under the kernel that it was derived from. */
#ifndef GS_AUTHOR_ANCESTRY_H
#define GS_AUTHOR_ANCESTRY_H

#include "base/text.h"
#include "store/store.h"

/* A kernel and where it came from. */
typedef struct gs_descendant {
    const char *candidate, *base, *verdict;   /* base: the kernel or family that it was derived from; "": none */
    int         generation, island;           /* generation 1: derived from a family, or from nothing that the store has */
    double      us, ratio, reward;            /* us 0: not timed; ratio 0: not timed beside cuBLASLt */
    double      gain;                         /* its parent's time divided by its own; 0: one of them was not timed */
    bool        begins;                       /* the first with this base in generation 1 */
    bool        best_line;                    /* the fastest kernel, or an ancestor of it */
} gs_descendant;

/* Calls visit for every kernel of the problem on the device in the store, each after its parent. *count: kernels. Codes: the store's; MEMORY. */
typedef void (*gs_descendant_visit)(void *self, const gs_descendant *one);
gs_status gs_ancestry_walk(gs_store *store, const char *device, const char *problem, gs_descendant_visit visit, void *self, int *count, gs_error *error);

/* Appends a line for every kernel of the problem on the device in the store, after the family or kernel that it was derived from, indented by generation; the
 * fastest and its ancestors are marked with *. predicted: the times are of an emulated device. json: one object per line, with base and generation. *count:
 * kernels. Codes: the store's; MEMORY. */
gs_status gs_ancestry_print(gs_text *out, gs_store *store, const char *device, const char *problem, bool predicted, bool json, int *count, gs_error *error);

#endif
