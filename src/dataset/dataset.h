/* SPDX-License-Identifier: MIT
 * Training data for language models, exported from stores as lines of JSON: tasks (prompts for problems), trajectories (questions, answers and outcomes, in order),
 * pairs (a prompt with an answer that passed; a failed answer with the next that passed; a better answer with a worse one; edits that made a kernel faster),
 * lessons and a corpus (below). docs/internals/export.md has the columns.
 *
 * For all of them: one row is one line; the same stores and options give the same bytes; only candidates that passed verification have times; times that an
 * emulated device predicted are left out unless asked for, and are marked; problems with the same M, N, K are on the same side of the split, and no text of a
 * training row names a held-out problem. */
#ifndef GS_DATASET_DATASET_H
#define GS_DATASET_DATASET_H

#include "store/store.h"

typedef enum gs_split { GS_SPLIT_ALL, GS_SPLIT_TRAIN, GS_SPLIT_HELD_OUT } gs_split;

enum { GS_DATASET_SCHEDULE = 1, GS_DATASET_SOURCE = 2 };   /* modes: schedule strings of the grammar, kernels */

enum { GS_DATASET_WINNERS = 1, GS_DATASET_REPAIRS = 2, GS_DATASET_PREFERENCES = 4, GS_DATASET_EDITS = 8 };

typedef struct gs_dataset_options {
    gs_store *const  *stores;        /* if several have the same candidate, the first one counts */
    int               store_count;
    const gs_problem *problems;      /* tasks: of these; others: only these. 0: all */
    int               problem_count;
    const char       *device;        /* its name in stores; NULL: all. tasks: the device whose times are looked up */
    const gs_caps    *caps;          /* tasks: the device that prompts describe */
    const char       *folder;        /* of prompts; NULL: as gs_prompt_add has it */
    uint32_t          modes;         /* 0: all */
    uint32_t          kinds;         /* of pairs; 0: all */
    int               held_out;      /* one in so many sizes; 0: none */
    gs_split          split;
    bool              predicted;     /* with the times that emulated devices predicted */
    bool              examples;      /* tasks: prompts show earlier candidates for their problem */
    double            least;         /* pairs: least lower end of a winner's ratio to cuBLASLt; not applied to predicted times */
    double            apart;         /* pairs: least distance of the better one's interval above the worse one's: 0.02 */
    char *const      *times;         /* lessons: stores, and files of rows of `gemmsmith train --rows`; none: the first of `stores` */
    int               times_count;
    int               lessons;       /* of each group of times */
    uint64_t          seed;          /* lessons: of what is shown and what is asked for */
    bool            (*line)(void *self, const char *text);   /* receives a row with its line end; false: stop, the call returns IO */
    void             *self;
} gs_dataset_options;

typedef struct gs_dataset_counts {
    int64_t rows;
    int64_t other_side;              /* problems on the other side of the split */
    int64_t leaking;                 /* rows left out because they name a held-out problem */
    int64_t unverified;              /* candidates without a verdict */
    bool    predictions;             /* predicted times were left out */
} gs_dataset_counts;

/* Opens the stores that were named, or the user's, for reading; those that are not there are not made. The first *count of the list are open, also on failure. */
gs_status gs_dataset_open(gs_store **list, int *count, const char *const *paths, int path_count, gs_error *error);

/* Codes: the stores'; those of gs_prompt_add; MEMORY; IO. counts is filled in even on failure. */
gs_status gs_dataset_tasks(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);
gs_status gs_dataset_trajectories(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);
gs_status gs_dataset_pairs(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);

/* Prompts that show some measured schedules, with the fastest of the others as the answer, from groups of 8 times and more. Codes: gs_sample_set_read's, too. */
gs_status gs_dataset_lessons(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);

/* What the project has written (kernels, headers, notes, pages, prompts), for continued pretraining: text, path, license, kind. Of the options held_out, line and self are looked at.
 * Codes: MEMORY, IO. */
gs_status gs_dataset_corpus(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);

/* Whether a text names a held-out problem, as f16:64x4096x64..., K = 64 x 4096 x 64 or 64_4096_64. Bare extents (64x4096x64) count if one is over 512; smaller
 * ones may be a tile. */
bool gs_dataset_mentions_held_out(const char *text, int held_out);

#endif
