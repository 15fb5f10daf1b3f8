/* SPDX-License-Identifier: MIT
 * Times of all that cuBLASLt suggests for problems, as tools/time_suggestions writes them, for `gemmsmith train`:
 *
 *     problem,suggestion,measured_us,sm_mhz,id,tile,stages,splitk,reduction,swizzle,cluster,custom,waves,workspace
 *     f16:64x64x64:nn,1,1.93,1980,66,15,35,1,0,0,3,1,0.0076,0 */
#ifndef GS_DATASET_SUGGESTIONS_H
#define GS_DATASET_SUGGESTIONS_H

#include <gemmsmith/status.h>

#include "learn/ranker.h"

typedef struct gs_suggestion_set {
    gs_suggestion_time *list;    /* those of a problem side by side */
    int                 count, capacity;
    int                 kept;    /* the first so many are not held out */
} gs_suggestion_set;

bool      gs_suggestion_set_is(const char *path);   /* a file that begins as such */

/* Behind those that the set has. IO, MEMORY; CORRUPT: a line that is none. Lines whose problem this program does not know are left out. */
gs_status gs_suggestion_set_read(gs_suggestion_set *set, const char *path, gs_error *error);
gs_status gs_suggestion_set_parse(gs_suggestion_set *set, const char *name, char *text, gs_error *error);   /* takes the text apart; name: for messages */

/* Moves those that are held out (gs_train_held_out) behind the others. MEMORY. */
gs_status gs_suggestion_set_hold_out(gs_suggestion_set *set, int of, gs_error *error);

/* Makes the ranker anew from those that are not held out; without any it stays as it is. MEMORY, CORRUPT (gs_net_diverged). */
gs_status gs_suggestion_set_learn(const gs_suggestion_set *set, gs_ranker *ranker, const gs_caps *caps, uint64_t seed, gs_error *error);
gs_ranker_worth gs_suggestion_set_judge(const gs_suggestion_set *set, const gs_ranker *ranker, const gs_caps *caps);   /* by those that are held out */

void      gs_suggestion_set_free(gs_suggestion_set *set);

#endif
