/* SPDX-License-Identifier: MIT
 * Who came from whom: the kernels that models wrote for a problem, each under the one that it was made from. */
#ifndef GS_AUTHOR_ANCESTRY_H
#define GS_AUTHOR_ANCESTRY_H

#include "base/text.h"
#include "store/store.h"

/* A kernel and where it came from. */
typedef struct gs_descendant {
    const char *candidate, *base, *verdict;   /* base: the kernel or the family that it was made from; "": nothing */
    int         generation, island;           /* generation 1: of a family, or of nothing that the store has */
    double      us, ratio, reward;            /* us 0: it was not timed; ratio 0: not beside cuBLASLt */
    double      gain;                         /* its parent's time over its own; 0: one of them has none */
    bool        begins;                       /* the first of those that were made from this base */
    bool        best_line;                    /* the fastest, or an ancestor of it */
} gs_descendant;

/* Calls visit for every kernel that the store has of the problem on the device, each behind the one that it was made from. *count: kernels. Codes: the store's; MEMORY. */
typedef void (*gs_descendant_visit)(void *self, const gs_descendant *one);
gs_status gs_ancestry_walk(gs_store *store, const char *device, const char *problem, gs_descendant_visit visit, void *self, int *count, gs_error *error);

/* Appends a line for every kernel that the store has of the problem on the device, behind the family or the kernel that it was made from, indented by its generation; the
 * fastest and its ancestors have a * in front. predicted: its times are of an emulated device. json: an object a line, with base and generation. *count: kernels. Codes: the store's; MEMORY. */
gs_status gs_ancestry_print(gs_text *out, gs_store *store, const char *device, const char *problem, bool predicted, bool json, int *count, gs_error *error);

#endif
