/* SPDX-License-Identifier: MIT
 * Data for training language models, out of stores, as lines of JSON: tasks (prompts of problems), trajectories (what was asked, answered and tried, in order)
 * and pairs (prompts with answers that passed, answers that failed with the next that passed, better with worse ones). docs/internals/export.md has the columns.
 *
 * What all have in common: one row is one line; the same stores and options give the same bytes; a time is there only where verification passed; what an
 * emulated device predicted is left out unless it is asked for, and is marked; problems of the same M, N, K are on the same side of the split, and no row
 * of the training side names a problem of the other, in whatever text. */
#ifndef GS_DATASET_DATASET_H
#define GS_DATASET_DATASET_H

#include "store/store.h"

typedef enum gs_split { GS_SPLIT_ALL, GS_SPLIT_TRAIN, GS_SPLIT_HELD_OUT } gs_split;

enum { GS_DATASET_SCHEDULE = 1, GS_DATASET_SOURCE = 2 };   /* modes: schedule strings of the grammar, kernels */

enum { GS_DATASET_WINNERS = 1, GS_DATASET_REPAIRS = 2, GS_DATASET_PREFERENCES = 4 };

typedef struct gs_dataset_options {
    gs_store *const  *stores;        /* where several know the same, the first one's stands */
    int               store_count;
    const gs_problem *problems;      /* tasks: whose; else only these, 0: all */
    int               problem_count;
    const char       *device;        /* as stores call it; NULL: all. tasks: whose figures are looked up */
    const gs_caps    *caps;          /* tasks: of the device that prompts speak of */
    const char       *folder;        /* of prompts; NULL: as gs_prompt_add has it */
    uint32_t          modes;         /* 0: all */
    uint32_t          kinds;         /* of pairs; 0: all */
    int               held_out;      /* one in so many sizes; 0: none */
    gs_split          split;
    bool              predicted;     /* what emulated devices predicted, too */
    bool              examples;      /* tasks: prompts show what was tried of their problem */
    double            least;         /* pairs: the lower end of a winner's ratio to the library, at least; not asked of predicted times */
    double            apart;         /* pairs: by how much the interval of the better one lies above the worse one's: 0.02 */
    bool            (*line)(void *self, const char *text);   /* with its end; false: no more, the call returns IO */
    void             *self;
} gs_dataset_options;

typedef struct gs_dataset_counts {
    int64_t rows;
    int64_t other_side;              /* problems that the split left out */
    int64_t leaking;                 /* rows, because they name a held-out problem */
    int64_t unverified;              /* candidates of which no verdict is known */
    bool    predictions;             /* there are some of emulated devices, which nobody asked for */
} gs_dataset_counts;

/* Codes: the stores'; those of gs_prompt_add; MEMORY; IO. counts is filled in any case. */
gs_status gs_dataset_tasks(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);
gs_status gs_dataset_trajectories(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);
gs_status gs_dataset_pairs(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);

/* Whether a text names a problem that is held out: as f16:64x4096x64..., K = 64 x 4096 x 64 or 64_4096_64; without what is before them, with an extent over
 * 512, too: smaller ones may be a tile. */
bool gs_dataset_mentions_held_out(const char *text, int held_out);

#endif
