/* SPDX-License-Identifier: MIT
 * Tuned tables: problem -> schedule, with what was measured and where. Text, one row per line; all that the library reads of a search.
 *
 *     gemmsmith-tuned 1
 *     # problem              schedule                       us       cublaslt_us  ratio   low     high    mhz   gpu          cc  sms  cublaslt  date                  by
 *     f16:4096x4096x4096:tn  ws/128x256x64/s4/c2x1/coop/g8  196.200  199.100      1.0150  1.0120  1.0170  1755  nvidia-h200  90  132  130100    2026-11-20T12:00:00Z  tune-0.1.0
 *
 * Columns are separated by blanks, nothing is quoted, "-" is an empty gpu, date or by; a line that begins with '#' is a comment.
 * schedule may be "cublaslt/3": cuBLASLt was faster, with the third of the algorithms that it suggests for the problem ("cublaslt":
 * the first). The number counts only if the row's cublaslt version is the loaded one.
 * It may be "kernel/HASH" too: the user kernel "source:HASH" of a store, proved and measured for exactly this problem; plans have it from packs.
 * us and cublaslt_us are device times; ratio = cublaslt_us / us (over 1: ours is faster), a median of paired rounds with its
 * 95 % interval. Where cuBLASLt has no right algorithm, cublaslt_us, ratio, low and high are 0. A row whose gpu begins with "emu-" comes from an emulated device: us is predicted, cublaslt_us is 0, ratio, low and
 * high are the floor over us. Rows of one device are never used on another.
 * `by` names the program, "measure-0.1.0" the library that measured when it made a plan; there low and high are the extremes of a few rounds, and
 * ratio is 0 where there was no cuBLASLt. "tune+dependent-0.1.0": us was measured with dependent launches (docs/internals/bench.md).
 * A row of another gpu, cc or sms is left out, with a line in the log. A row that cannot be read is skipped and counted, with its
 * reason. Neither fails the whole file. */
#ifndef GS_TABLE_TABLE_H
#define GS_TABLE_TABLE_H

#include <gemmsmith/problem.h>

#include "base/hash.h"
#include "base/text.h"
#include "schedule/schedule.h"

typedef struct gs_row {
    gs_problem  problem;      /* alpha 1; beta 0 or 1 */
    int         library;      /* 0: our schedule, or a user kernel; n: cuBLASLt with its n-th suggestion */
    char        kernel[GS_HASH_TEXT];   /* of a user kernel: its hash; "": none */
    gs_schedule schedule;
    double      us, library_us, ratio, low, high;
    int         mhz;
    char        gpu[48];
    int         cc, sms, cublaslt;
    char        date[24];
    char        by[32];
} gs_row;

/* Whether the row comes from an emulated device: us is predicted, there is no library_us, and ratio is the floor over us. */
bool gs_row_predicted(const gs_row *row);
bool gs_gpu_emulated(const char *gpu);   /* the same of a device's short name */

/* Whether our schedule was measured without cuBLASLt beside it, which computes nothing right there: library_us, ratio, low and high are 0. */
bool gs_row_alone(const gs_row *row);

/* "cublaslt" or "cublaslt/3" -> 1 or 3, also "library" and "library/3" of older files; 0 for any other text. */
int gs_library_parse(const char *text);

/* "kernel/HASH" or "source:HASH", as stores have it, to the hash, 32 hexadecimal digits; false for any other text, and hash is "". */
bool gs_kernel_parse(const char *text, char hash[GS_HASH_TEXT]);

/* The text form of a row's choice: its schedule, "kernel/HASH" or "cublaslt/3". Returns text. */
char *gs_row_choice(const gs_row *row, char text[GS_SCHEDULE_TEXT]);

/* What was measured with dependent launches stands in the store under the device's name and this. */
#define GS_DEPENDENT_SUFFIX "+dependent"

/* Fills `by` from the version of the program that found the row: "tune-0.1.0", "predict-0.1.0" on an emulated device (gpu is set before);
 * a version that names its program already, as those of imported rows do, is taken whole. A gpu that ends in GS_DEPENDENT_SUFFIX loses
 * that, and `by` says it: "tune+dependent-0.1.0". gs_row_dependent: whether it does. */
bool gs_row_dependent(const gs_row *row);
void gs_row_sign(gs_row *row, const char *version);

typedef struct gs_table gs_table;   /* rows and an index by problem */

gs_status gs_table_create(gs_table **out);
void      gs_table_destroy(gs_table **table);

/* Adds the rows of a text; later rows of the same problem, device (gpu, cc, sms) and kind of launches (plain, dependent) replace earlier ones, in their place.
 * caps NULL: keep every row; else only this device's.
 * *skipped (may be NULL) counts rows that could not be read; the first such error, with its line, is in *error while the return
 * is GS_OK. PARSE only if the text is no tuned table at all, or one of another version. */
gs_status gs_table_read(gs_table *table, const char *text, const gs_caps *caps, int *skipped, gs_error *error);

/* The same for a file, or every *.tuned file of a directory in the order of their names. NOT_FOUND, IO; in a directory a file
 * that cannot be read counts as one skipped row and the others are still read. */
gs_status gs_table_load(gs_table *table, const char *path, const gs_caps *caps, int *skipped, gs_error *error);

/* Replaces the row of the same problem, device and kind of launches, or adds one. MEMORY: the table is as before. Pointers to rows that were
 * handed out earlier end here. */
gs_status     gs_table_put(gs_table *table, const gs_row *row);
int           gs_table_size(const gs_table *table);
const gs_row *gs_table_row(const gs_table *table, int index);            /* in order of insertion; NULL beyond */

/* Problems are equal for the table when they need the same kernel at the same speed: alpha and the value of beta do not count,
 * whether beta is 0 does; where it is 0, nor does the leading dimension of C. NULL if there is none; in a table of several
 * devices, the first row of the problem. */
const gs_row *gs_table_find(const gs_table *table, const gs_problem *problem);

/* The row of the same problem that was measured with dependent launches (gs_row_dependent), or NULL. gs_table_find returns it only where there is no other. Such rows of a problem
 * with a constant B are others; all other calls take a constant B for one that is not. */
const gs_row *gs_table_find_dependent(const gs_table *table, const gs_problem *problem);

/* Row of the same problem with the other type of A and B (and of C and D, where they are of that type): it runs the same instructions on as many bytes. NULL if
 * there is none, or it names a user kernel, which is right for its own problem alone. */
const gs_row *gs_table_twin(const gs_table *table, const gs_problem *problem);

/* Row of the same types and layout whose schedule can run the problem, with the smallest distance
 * |log2 m| + |log2 n| + |log2 k| (of the quotients) of at most 3, the earlier one of equals; NULL if none. Rows of the library
 * and of other devices do not count. */
const gs_row *gs_table_nearest(const gs_table *table, const gs_problem *problem, const gs_caps *caps);

/* The row that a plan takes: the problem's own (*exact), its twin, that of the product without its epilogue (or its twin), or, for a device without
 * weights, the nearest. NULL: none of them. For an invariant problem that has no row of its own: the same ones, and behind each the row of the same problem without that wish, if their
 * schedules keep the order of summation. */
const gs_row *gs_table_choose(const gs_table *table, const gs_problem *problem, const gs_caps *caps, bool weights, bool *exact);

/* Puts a row into the file of a table, which is made where it is missing; several processes at once lose nothing. only_if_absent: a row of the
 * same problem, device and kind of launches stays. A file with rows that cannot be read is left alone: PARSE. */
gs_status gs_table_keep(const char *path, const gs_row *row, bool only_if_absent, gs_error *error);

void gs_table_format(const gs_table *table, gs_text *text);              /* aligned, sorted by problem */

#endif
