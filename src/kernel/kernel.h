/* SPDX-License-Identifier: MIT
 * A kernel: CUDA C source, the options it is compiled with, and its launch manifest.
 * A family turns (schedule, problem) into one (src/family). Sources come from kernels/, embedded at build
 * time. */
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

/* Text of a file of kernels/, embedded: name relative to kernels/ ("common/mma.cuh"). NULL if there is none. */
const char *gs_embedded_find(const char *name);

/* Whether a kernel of that name may include a file of kernels/: those of common/, and those of the folder that is called like it (ws/ of ws.cu). */
bool gs_kernel_includes(const char *kernel, const char *file);

/* The kernel's text with the files of its own folder in their places: it includes common/ alone. Without the line of the licence. */
void gs_kernel_add_text(gs_text *out, const gs_kernel *kernel);

/* Eight hexadecimal digits over all embedded files: which kernel sources this is. Returns text. */
#define GS_SOURCES_ID 9
char *gs_kernel_sources_id(char text[GS_SOURCES_ID]);

/* Builds the kernel of a schedule for a problem; both must have passed gs_schedule_check. Sizes stay run-time
 * values unless the schedule says `fixed`: the same kernel serves every problem that gives the same options. */
gs_status gs_kernel_build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                          gs_error *error);

/* Adds "-Dname=value"; for the families. */
void gs_kernel_define(gs_kernel *kernel, const char *name, int value);

/* Defines that every family sets from the problem: GS_IN, GS_ACC, GS_OUT (values of gs_type), GS_LAYOUT (0 nn, 1 tn),
 * GS_BETA (1: C is read). */
void gs_kernel_define_problem(gs_kernel *kernel, const gs_problem *problem);

/* GS_EARLY_B where the problem says that B is constant, and GS_MORE with it: for a kernel that reads B where it lies, and before gs_dependent_wait where p.early_b says so. */
void gs_kernel_define_early_b(gs_kernel *kernel, const gs_problem *problem);

/* The extents and leading dimensions as constants (GS_FIXED 1, GS_M ... GS_LDD; read through kernels/common/sizes.cuh), for a schedule
 * whose parameter `sizes` says so: the kernel then serves this problem's sizes alone. All must fit an int. */
void gs_kernel_define_sizes(gs_kernel *kernel, const gs_problem *problem);

/* For a kernel with one entry that leaves so many rows of sums of D's columns in the workspace for each `rows` rows of a matrix: the workspace, and the entry that adds them up
 * (common/dbias.cuh). */
#define GS_SUM_COLUMNS 32   /* threads of a block along the columns, and for each of these (kernels/common/dbias.cuh) */
#define GS_SUM_LANES   8
gs_status gs_kernel_add_column_sums(gs_kernel *kernel, const gs_problem *problem, int rows, int parts, gs_error *error);

/* Of a kernel that was built for rows that promise less than the problem's: the problem's leading dimensions, where it has them as constants. */
void gs_kernel_set_rows(gs_kernel *kernel, const gs_problem *problem);

#endif
