/* SPDX-License-Identifier: MIT
 * A kernel: CUDA C source, its compiler options and its launch manifest. A family builds one from a schedule and a problem (src/family).
 * Sources come from kernels/, embedded at build time. */
#ifndef GS_KERNEL_KERNEL_H
#define GS_KERNEL_KERNEL_H

#include "base/embedded.h"
#include "base/text.h"
#include "kernel/manifest.h"
#include "schedule/schedule.h"

#define GS_MAX_OPTIONS 40
#define GS_OPTION      48

typedef struct gs_kernel {
    const char *name;                          /* file name, for compiler messages; static or owned by the caller */
    const char *source;                        /* CUDA C; static or owned by the caller */
    int         option_count;
    char        option[GS_MAX_OPTIONS][GS_OPTION];   /* "-DGS_BM=128"; target and language options are the device's */
    gs_manifest manifest;
} gs_kernel;

/* Text of an embedded file, by its name relative to kernels/ ("common/args.h"). NULL if there is none. */
const char *gs_embedded_find(const char *name);

/* Whether a kernel may include a file of kernels/: those of common/ and those of the folder with its own name (ws/ for ws.cu). */
bool gs_kernel_includes(const char *kernel, const char *file);

/* Appends the kernel's source with the files of its own folder expanded, so that it includes only common/. Without licence lines. */
void gs_kernel_add_text(gs_text *out, const gs_kernel *kernel);

/* Hash of all embedded kernel sources, eight hexadecimal digits. Returns text. */
#define GS_SOURCES_ID 9
char *gs_kernel_sources_id(char text[GS_SOURCES_ID]);

/* Builds the kernel of a schedule for a problem; both must have passed gs_schedule_check. Sizes are run-time values unless the schedule has
 * `fixed`, so one kernel serves all problems that give the same options. */
gs_status gs_kernel_build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                          gs_error *error);

/* Adds "-Dname=value"; for the families. */
void gs_kernel_define(gs_kernel *kernel, const char *name, int value);

/* Defines that every family sets from the problem: GS_IN, GS_ACC, GS_OUT (values of gs_type), GS_LAYOUT (0 nn, 1 tn),
 * GS_BETA (1: C is read). */
void gs_kernel_define_problem(gs_kernel *kernel, const gs_problem *problem);

/* If B is constant: defines GS_EARLY_B, and GS_MORE, which it needs. For kernels that read B directly, and may do so before gs_dependent_wait if p.early_b is set. */
void gs_kernel_define_early_b(gs_kernel *kernel, const gs_problem *problem);

/* Defines the extents and leading dimensions as constants (GS_FIXED 1, GS_M ... GS_LDD; read through kernels/common/sizes.cuh), for a schedule
 * with fixed sizes. The kernel then serves only these sizes. All must fit an int. */
void gs_kernel_define_sizes(gs_kernel *kernel, const gs_problem *problem);

/* For a kernel with one entry that leaves partial column sums of D in the workspace, `parts` rows of them for each `rows` rows of a matrix: sets the workspace and
 * adds the entry that adds them up (common/dbias.cuh). */
#define GS_SUM_COLUMNS 32   /* block of that entry: threads along the columns, and per column (kernels/common/dbias.cuh) */
#define GS_SUM_LANES   8
gs_status gs_kernel_add_column_sums(gs_kernel *kernel, const gs_problem *problem, int rows, int parts, gs_error *error);

/* For a kernel built for rows with less alignment than the problem's: puts in the problem's leading dimensions if they are constants. */
void gs_kernel_set_rows(gs_kernel *kernel, const gs_problem *problem);

#endif
