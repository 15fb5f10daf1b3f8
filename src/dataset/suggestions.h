/* SPDX-License-Identifier: MIT
 * Times of everything that cuBLASLt suggests for problems, as tools/time_suggestions writes them, for `gemmsmith train`:
 *
 *     problem,suggestion,measured_us,sm_mhz,id,tile,stages,splitk,reduction,swizzle,cluster,custom,waves,workspace
 *     f16:64x64x64:nn,1,1.93,1980,66,15,35,1,0,0,3,1,0.0076,0 */
#ifndef GS_DATASET_SUGGESTIONS_H
#define GS_DATASET_SUGGESTIONS_H

#include <gemmsmith/status.h>

#include "learn/ranker.h"

typedef struct gs_suggestion_set {
    gs_suggestion_time *list;    /* those of a problem are adjacent */
    int                 count, capacity;
    int                 kept;    /* how many, at the front, are not held out */
} gs_suggestion_set;

bool      gs_suggestion_set_is(const char *path);   /* the file begins with this header line */

/* Appends to the set. IO, MEMORY; CORRUPT: an invalid line. Lines with a problem that this program cannot parse are skipped. */
gs_status gs_suggestion_set_read(gs_suggestion_set *set, const char *path, gs_error *error);
gs_status gs_suggestion_set_parse(gs_suggestion_set *set, const char *name, char *text, gs_error *error);   /* modifies text; name: for messages */

/* Moves held-out times (gs_train_held_out) behind the others. MEMORY. */
gs_status gs_suggestion_set_hold_out(gs_suggestion_set *set, int of, gs_error *error);

/* Trains the ranker anew on the times that are not held out; without any it is unchanged. MEMORY, CORRUPT (gs_net_diverged). */
gs_status gs_suggestion_set_learn(const gs_suggestion_set *set, gs_ranker *ranker, const gs_caps *caps, uint64_t seed, gs_error *error);
gs_ranker_worth gs_suggestion_set_judge(const gs_suggestion_set *set, const gs_ranker *ranker, const gs_caps *caps);   /* on the held-out times */

void      gs_suggestion_set_free(gs_suggestion_set *set);

#endif
