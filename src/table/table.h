/* SPDX-License-Identifier: MIT
 * Tuned tables: problem -> schedule, with the measurement. Text, one row per line; all that the library reads of a search.
 *
 *     gemmsmith-tuned 1
 *     # problem              schedule                       us       cublaslt_us  ratio   low     high    mhz   gpu          cc  sms  cublaslt  date                  by
 *     f16:4096x4096x4096:tn  ws/128x256x64/s4/c2x1/coop/g8  196.200  199.100      1.0150  1.0120  1.0170  1755  nvidia-h200  90  132  130100    2026-11-20T12:00:00Z  tune-0.1.0
 *
 * Columns are separated by blanks, nothing is quoted, "-" is an empty gpu, date or by; a line that begins with '#' is a comment.
 * schedule may be "cublaslt/3": cuBLASLt was faster, with the third of the algorithms that it suggests for the problem ("cublaslt":
 * the first). The number is valid only if the row's cublaslt version is the loaded one.
 * It may also be "kernel/HASH": the user kernel "source:HASH" of a store, verified and measured for exactly this problem; plans get it from packs.
 * us and cublaslt_us are device times; ratio = cublaslt_us / us (above 1: ours is faster), a median of paired rounds with its
 * 95 % interval. If cuBLASLt has no correct algorithm, cublaslt_us, ratio, low and high are 0. A row whose gpu begins with "emu-" comes from an emulated device: us is predicted,
 * cublaslt_us is 0, and ratio, low and high are the floor divided by us. Rows of one device are never used on another.
 * `by` names the program, or "measure-0.1.0" if the library measured while it made a plan; then low and high are the extremes of a few rounds, and
 * ratio is 0 without cuBLASLt. "tune+dependent-0.1.0": us was measured with dependent launches (docs/internals/bench.md).
 * Rows of another gpu, cc or sms are ignored, with a line in the log. A row that cannot be read is skipped and counted, with its
 * reason. Neither makes reading the file fail. */
#ifndef GS_TABLE_TABLE_H
#define GS_TABLE_TABLE_H

#include <gemmsmith/problem.h>

#include "base/hash.h"
#include "base/text.h"
#include "schedule/schedule.h"

typedef struct gs_row {
    gs_problem  problem;      /* alpha 1; beta 0 or 1 */
    int         library;      /* 0: our schedule, or a user kernel; n: cuBLASLt with its n-th suggestion */
    char        kernel[GS_HASH_TEXT];   /* hash of a user kernel; "": none */
    gs_schedule schedule;
    double      us, library_us, ratio, low, high;
    int         mhz;
    char        gpu[48];
    int         cc, sms, cublaslt;
    char        date[24];
    char        by[32];
} gs_row;

/* Whether the row comes from an emulated device: us is predicted, library_us is 0, and ratio is the floor divided by us. */
bool gs_row_predicted(const gs_row *row);
bool gs_gpu_emulated(const char *gpu);   /* the same for a device's slug */

/* Whether our schedule was measured without cuBLASLt, because cuBLASLt has no correct algorithm: library_us, ratio, low and high are 0. */
bool gs_row_alone(const gs_row *row);

/* 1 for "cublaslt", 3 for "cublaslt/3", and the same for "library" and "library/3" of older files; 0 for any other text. */
int gs_library_parse(const char *text);

/* The 32-digit hash in "kernel/HASH" or "source:HASH" (as in stores); false and "" for any other text. */
bool gs_kernel_parse(const char *text, char hash[GS_HASH_TEXT]);

/* The text form of a row's choice: its schedule, "kernel/HASH" or "cublaslt/3". Returns text. */
char *gs_row_choice(const gs_row *row, char text[GS_SCHEDULE_TEXT]);

/* Suffix of the device's name in the store for measurements with dependent launches. */
#define GS_DEPENDENT_SUFFIX "+dependent"

/* Fills `by` from the version of the program that found the row: "tune-0.1.0", "predict-0.1.0" on an emulated device (set gpu first);
 * a version that already names its program, as in imported rows, is used unchanged. GS_DEPENDENT_SUFFIX is removed from gpu
 * and becomes part of `by`: "tune+dependent-0.1.0". gs_row_dependent: whether `by` has it. */
bool gs_row_dependent(const gs_row *row);
void gs_row_sign(gs_row *row, const char *version);

typedef struct gs_table gs_table;   /* rows and an index by problem */

gs_status gs_table_create(gs_table **out);
void      gs_table_destroy(gs_table **table);

/* Adds the rows of a text; a row replaces an earlier one of the same problem, device (gpu, cc, sms) and kind of launches (plain, dependent), in its place.
 * caps NULL: keep every row; else only this device's.
 * *skipped (may be NULL) is increased by the number of unreadable rows; *error then describes the first one, although the result
 * is GS_OK. PARSE only if the text is no tuned table, or one of another version. */
gs_status gs_table_read(gs_table *table, const char *text, const gs_caps *caps, int *skipped, gs_error *error);

/* The same for a file, or every *.tuned file of a directory in byte order of their names. NOT_FOUND, IO; in a directory a file
 * that cannot be read counts as one skipped row, and reading goes on. */
gs_status gs_table_load(gs_table *table, const char *path, const gs_caps *caps, int *skipped, gs_error *error);

/* Replaces the row of the same problem, device and kind of launches, or adds one. MEMORY: the table is unchanged. Invalidates pointers to
 * rows. */
gs_status     gs_table_put(gs_table *table, const gs_row *row);
int           gs_table_size(const gs_table *table);
const gs_row *gs_table_row(const gs_table *table, int index);            /* in order of insertion; NULL beyond */

/* Problems are equal for the table if they need the same kernel and run at the same speed: alpha and the value of beta are ignored,
 * except whether beta is 0; if it is, C's leading dimension is ignored too. NULL: no row; in a table of several
 * devices, the first row of the problem. */
const gs_row *gs_table_find(const gs_table *table, const gs_problem *problem);

/* The row of the same problem that was measured with dependent launches (gs_row_dependent), or NULL. gs_table_find returns it only if there is no other row. Among rows with
 * dependent launches, problems with and without a constant B have rows of their own; all other functions ignore that B is constant. */
const gs_row *gs_table_find_dependent(const gs_table *table, const gs_problem *problem);

/* The row of the same problem with the other type of A and B (and of C and D, if they have the same type): the same instructions on the same number of bytes. NULL: none,
 * or it is a user kernel, which is valid only for its own problem. */
const gs_row *gs_table_twin(const gs_table *table, const gs_problem *problem);

/* The row of the same types and layout whose schedule can run the problem, with the smallest distance
 * |log2 m| + |log2 n| + |log2 k| (of the quotients), at most 3; of equals the earlier one. NULL: none. Rows of cuBLASLt, user kernels
 * and other devices are ignored. */
const gs_row *gs_table_nearest(const gs_table *table, const gs_problem *problem, const gs_caps *caps);

/* The row that a plan uses: the problem's own (*exact), its twin, that of the plain product or packed matrices (or its twin), or, for a device without weights and for groups, the
 * nearest. NULL: none. For an invariant problem without its own row: the same candidates, each also without `inv`, as long as their schedules keep the order of summation. */
const gs_row *gs_table_choose(const gs_table *table, const gs_problem *problem, const gs_caps *caps, bool weights, bool *exact);

/* Adds a row to a table file, which is created if missing; safe for several processes at once. only_if_absent: keeps an existing row of the
 * same problem, device and kind of launches. PARSE, without a change, if the file has unreadable rows. */
gs_status gs_table_keep(const char *path, const gs_row *row, bool only_if_absent, gs_error *error);

void gs_table_format(const gs_table *table, gs_text *text);              /* aligned, sorted by problem */

#endif
