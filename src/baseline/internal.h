/* SPDX-License-Identifier: MIT
 * Internal to src/baseline: creation of the contenders, and what those of groups share. */
#ifndef GS_BASELINE_INTERNAL_H
#define GS_BASELINE_INTERNAL_H

#include "baseline/baseline.h"
#include "cublas/finishing.h"

/* ---- groups (groups.c) ---- */

/* UNSUPPORTED: none of these contenders computes the problem. */
gs_status gs_baseline_check_groups(const gs_problem *problem, gs_error *error);

/* The sets of arguments whose group sizes a contender was given. */
typedef struct gs_expected {
    int             sets;
    int64_t         groups;
    const int32_t **at;        /* args.offsets of each set, the key for finding it */
    int32_t        *offsets;   /* groups + 1 of each set */
} gs_expected;

/* Replaces the contents. CORRUPT: the offsets do not ascend from 0 to at most M; MEMORY. Empty after a failure. */
gs_status gs_expected_set(gs_expected *expected, const gs_problem *problem, const gs_args *args, const int32_t *offsets, int sets, gs_error *error);
void      gs_expected_free(gs_expected *expected);

/* Finds the set of these arguments. UNSUPPORTED: not found; the offsets on the device are not read. */
gs_status gs_expected_find(const gs_expected *expected, const gs_args *args, int *set, gs_error *error);

static inline const int32_t *gs_expected_offsets(const gs_expected *expected, int set) { return expected->offsets + set * (expected->groups + 1); }

/* The problem of a single group with so many rows, and its arguments. */
gs_problem gs_group_problem(const gs_problem *problem, int64_t rows);
gs_args    gs_group_args(const gs_problem *problem, const gs_args *args, int64_t group, int64_t first_row);

/* If the library does not support the epilogue: the product of all groups goes to a buffer, and one kernel computes the epilogue for all rows. */
typedef struct gs_behind {
    bool         used;       /* false: the library computes the whole problem */
    gs_problem   product;
    gs_finishing finishing;
    gs_pointer   middle;     /* buffer for the product */
} gs_behind;

/* fused: the library's calls compute this epilogue. UNSUPPORTED: one kernel cannot compute it for all groups. */
gs_status gs_behind_open(gs_behind *behind, gs_device *device, const gs_problem *problem, bool fused, gs_error *error);
void      gs_behind_close(gs_behind *behind, gs_device *device);
gs_args   gs_behind_args(const gs_behind *behind, const gs_args *args);   /* the arguments for the product */
gs_status gs_behind_run(const gs_behind *behind, const gs_args *args, int64_t rows, gs_queue queue, gs_error *error);

gs_status gs_baseline_cublas_groups(gs_contender *out, gs_device *device, gs_error *error);
/* branches: number of concurrent queues, 1 to GS_BRANCHES. */
#define GS_BRANCHES 8
gs_status gs_baseline_cublaslt_groups(gs_contender *out, gs_device *device, int branches, gs_pick_function pick, gs_error *error);

/* ---- cuBLAS (cublas.c) ---- */

/* A handle with a workspace; set to one queue at a time. */
typedef struct gs_blas {
    gs_device              *device;
    const struct gs_cublas *calls;
    void                   *handle;      /* NULL: not opened */
    gs_pointer              workspace;
    gs_queue                queue;       /* the queue that the handle is set to */
    bool                    queue_set;
} gs_blas;

gs_status gs_blas_open(gs_blas *blas, gs_error *error);                      /* does nothing if it is open */
gs_status gs_blas_set_queue(gs_blas *blas, gs_queue queue, gs_error *error);
void      gs_blas_close(gs_blas *blas);
void      gs_blas_describe(const gs_blas *blas, char *text, size_t size);   /* "cuBLAS 130100, workspace 67108864" */
gs_status gs_blas_failed(gs_error *error, const char *call, int status);

/* ---- the others ---- */

gs_status gs_baseline_cublas(gs_contender *out, gs_device *device, gs_error *error);
gs_status gs_baseline_cublaslt(gs_contender *out, gs_device *device, bool tune, gs_pick_function pick, gs_error *error);   /* pick: used if tune */
gs_status gs_baseline_reference(gs_contender *out, gs_device *device, gs_pick_function pick, gs_error *error);

#endif
