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

enum { GS_DATASET_SCHEDULE = 1, GS_DATASET_SOURCE = 2 };   /* modes: schedule strings, kernels */

enum { GS_DATASET_WINNERS = 1, GS_DATASET_REPAIRS = 2, GS_DATASET_PREFERENCES = 4, GS_DATASET_EDITS = 8 };

typedef struct gs_dataset_options {
    gs_store *const  *stores;        /* if several have the same candidate, the first one's counts */
    int               store_count;
    const gs_problem *problems;      /* tasks: one for each; others: restricted to these, if any */
    int               problem_count;
    const char       *device;        /* its name in stores; NULL: all. tasks: the device whose times are used */
    const gs_caps    *caps;          /* tasks: the device that prompts describe */
    const char       *folder;        /* of prompt templates; NULL: as for gs_prompt_add */
    uint32_t          modes;         /* 0: all */
    uint32_t          kinds;         /* of pairs; 0: all */
    int               held_out;      /* one in this many sizes is held out; 0: none */
    gs_split          split;
    bool              predicted;     /* include times predicted by emulated devices */
    bool              examples;      /* tasks: prompts show earlier candidates for the problem */
    double            least;         /* pairs: least lower confidence bound of a winner's ratio to cuBLASLt; not applied to predicted times */
    double            apart;         /* pairs: least gap between the intervals of the better and the worse one, as a fraction: 0.02 */
    char *const      *times;         /* lessons: stores, and files of `gemmsmith train --rows`; none: the first of `stores` */
    int               times_count;
    int               lessons;       /* per group of times */
    uint64_t          seed;          /* lessons: for what is shown and how many schedules are asked for */
    bool            (*line)(void *self, const char *text);   /* receives a row with its line end; false: stop, the call returns IO */
    void             *self;
} gs_dataset_options;

typedef struct gs_dataset_counts {
    int64_t rows;
    int64_t other_side;              /* problems on the other side of the split */
    int64_t leaking;                 /* rows omitted because they name a held-out problem */
    int64_t unverified;              /* candidates without a verdict */
    bool    predictions;             /* predicted times were omitted */
} gs_dataset_counts;

/* Opens the named stores, or the user's default, for reading; none is created. The first *count of the list are open, also on failure. */
gs_status gs_dataset_open(gs_store **list, int *count, const char *const *paths, int path_count, gs_error *error);

/* Codes: the stores'; those of gs_prompt_add; MEMORY; IO. counts is filled in also on failure. */
gs_status gs_dataset_tasks(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);
gs_status gs_dataset_trajectories(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);
gs_status gs_dataset_pairs(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);

/* Prompts that show some of a problem's measured schedules, with the fastest of the others as the answer; groups have at least 8 times. Codes: also those of
 * gs_sample_set_read. */
gs_status gs_dataset_lessons(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);

/* The project's own texts (kernels, headers, notes, pages, prompts), for continued pretraining: text, path, license, kind. Uses only the options held_out,
 * line and self. Codes: MEMORY, IO. */
gs_status gs_dataset_corpus(const gs_dataset_options *options, gs_dataset_counts *counts, gs_error *error);

/* Whether a text names a held-out problem, as f16:64x4096x64..., K = 64 x 4096 x 64 or 64_4096_64. Bare extents (64x4096x64) count only if one exceeds 512;
 * smaller ones may be a tile. */
bool gs_dataset_mentions_held_out(const char *text, int held_out);

#endif
