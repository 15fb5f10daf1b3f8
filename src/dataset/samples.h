/* SPDX-License-Identifier: MIT
 * Measured times for training, from stores or from files of rows, as `gemmsmith train` reads them:
 *
 *     group,problem,schedule,us
 *     1,f16:64x64x64:nn,slicek/16x16/w1x1x4/d1/k1/fixed/f128,1.8766
 *     1,f16:64x64x64:nn,cublaslt/1,1.9       cuBLASLt's first suggestion, from which the network learns what to expect of it
 *
 * or times of all that cuBLASLt suggests (dataset/suggestions.h). */
#ifndef GS_DATASET_SAMPLES_H
#define GS_DATASET_SAMPLES_H

#include "dataset/suggestions.h"
#include "learn/weights.h"

typedef struct gs_sample_set {
    const gs_caps *caps;       /* of the device; not owned. Schedules that are not valid on it are skipped */
    gs_sample     *list;       /* sorted by group: one problem, one program version and one store */
    int            count, capacity, group;
    gs_suggestion_set suggestions;
    char           key[GS_PROBLEM_TEXT + 80];   /* of the last group: problem, version, index of the store */
    int            store;
    bool           failed;
} gs_sample_set;

/* paths: stores, of which times of gpu (a name as in table files) are read, and files of rows. Codes: NOT_FOUND, CORRUPT, MEMORY, the store's. */
gs_status gs_sample_set_read(gs_sample_set *set, const char *gpu, char *const *paths, int count, gs_error *error);
gs_status gs_sample_set_parse(gs_sample_set *set, const char *name, char *text, gs_error *error);   /* parses rows and modifies text. name: for messages */
gs_status gs_sample_set_write(const gs_sample_set *set, const char *path, gs_error *error);   /* as rows */

/* Moves held-out samples (gs_train_held_out) behind the others; *kept: how many are not held out. The same for suggestions. */
gs_status gs_sample_set_hold_out(gs_sample_set *set, int of, int *kept, gs_error *error);
void      gs_sample_set_free(gs_sample_set *set);

#endif
