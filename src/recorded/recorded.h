/* SPDX-License-Identifier: MIT
 * Reading recorded problems (record/record.h): files of many processes and lists of other tools, summed, bucketed by M, sorted by decreasing work. */
#ifndef GS_RECORDED_RECORDED_H
#define GS_RECORDED_RECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "base/text.h"

#define GS_RECORDED_VIA 65   /* bytes of the longest name of a call, terminator included */

typedef struct gs_recorded_row {
    gs_problem problem;               /* alpha 1, beta 0 or 1, as the recorder writes them */
    uint64_t   count;                 /* calls; saturates at 2^64 - 1 */
    char       via[GS_RECORDED_VIA];  /* the name of the call: "cublasGemmEx" */
} gs_recorded_row;

typedef struct gs_recorded {
    gs_recorded_row *rows;            /* one for each pair of problem and name of call */
    int              count, capacity;
    int             *slots;           /* hash table: row index + 1; 0: empty */
    int              slot_count;
    int              files;           /* number of files read */
    int              cut;             /* of these, files whose last line was cut off, because the process was killed while it wrote; that line is ignored */
} gs_recorded;                        /* zero-initialise */

void gs_recorded_free(gs_recorded *recorded);

/* Adds calls of a problem, with alpha set to 1 and beta to 0 or 1. New rows go to the end. MEMORY. */
gs_status gs_recorded_add(gs_recorded *recorded, const gs_problem *problem, const char *via, uint64_t count, gs_error *error);
gs_status gs_recorded_put(gs_recorded *recorded, const gs_problem *problem, const char *via, uint64_t count, gs_error *error);   /* the same, with alpha and beta unchanged */

/* Whether a text is a recorded file, judged by its first bytes; whether a path is a recorded file or a folder (any folder is assumed to hold recorded files). */
bool gs_recorded_is(const char *text);
bool gs_recorded_is_path(const char *path);

/* Adds the lines of a recorded file. Text after the last line end is ignored, even if it reads as a problem: it was cut off. PARSE, RANGE, UNSUPPORTED: another line is
 * damaged; error names it ("run/recorded-7.txt line 12"), and nothing of the text was added. MEMORY. text is changed. */
gs_status gs_recorded_read_text(gs_recorded *recorded, char *text, const char *name, gs_error *error);

/* The same for a file, or for all files recorded-*.txt of a folder. NOT_FOUND, IO; NOT_FOUND also for a folder without such files. */
gs_status gs_recorded_read(gs_recorded *recorded, const char *path, gs_error *error);

/* Adds the place to an error in a line: the field becomes the line, and the file's name is put before the message. error may be NULL. */
void gs_recorded_at_line(gs_error *error, const char *name, int line);

/* Merges problems that differ only in M and whose M lie in the same step of a ladder: their M becomes the step's upper end, and calls are added. Unchanged: an M that is alone in
 * its step, an M below GS_RECORDED_LADDER, masked groups. *merged: by how many problems the list shrank. MEMORY. */
#define GS_RECORDED_LADDER 64
int64_t   gs_recorded_step(int64_t m);   /* upper end of M's step: m itself below 64; else 64, 96, 128, 192, 256, 384, ... */
gs_status gs_recorded_bucket(gs_recorded *recorded, int *merged, gs_error *error);

/* Lower bound of the time of a row's calls in microseconds: count times the floor on an H200 (gs_floor_us). For sorting; no prediction. */
double gs_recorded_work(const gs_recorded_row *row);

void     gs_recorded_sort(gs_recorded *recorded);           /* by decreasing work */
uint64_t gs_recorded_calls(const gs_recorded *recorded);
int      gs_recorded_problems(const gs_recorded *recorded); /* distinct problems, whatever the call */

/* Formats the rows, in their order, as a recorded file; sorts them by decreasing work and writes such a file atomically ("-": standard output). */
void      gs_recorded_format(const gs_recorded *recorded, gs_text *out);
gs_status gs_recorded_write(gs_recorded *recorded, const char *path, gs_error *error);

#endif
