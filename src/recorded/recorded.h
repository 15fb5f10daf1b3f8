/* SPDX-License-Identifier: MIT
 * What programs were recorded to multiply (record/record.h), read back: files of many processes and lists of other tools, summed, in buckets of M, the most work first. */
#ifndef GS_RECORDED_RECORDED_H
#define GS_RECORDED_RECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "base/text.h"

#define GS_RECORDED_VIA 65   /* bytes of the longest name of a call, terminator included */

typedef struct gs_recorded_row {
    gs_problem problem;               /* alpha 1, beta 0 or 1, as the recorder writes them */
    uint64_t   count;                 /* calls; beyond 2^64 - 1 as that */
    char       via[GS_RECORDED_VIA];  /* by which call: "cublasGemmEx" */
} gs_recorded_row;

typedef struct gs_recorded {
    gs_recorded_row *rows;            /* each problem once for each call */
    int              count, capacity;
    int             *slots;           /* row + 1 by hash; 0: empty */
    int              slot_count;
    int              files;           /* that were read */
    int              cut;             /* of these, whose last line was cut off, and left out: their process was killed while it wrote */
} gs_recorded;                        /* zero-initialise */

void gs_recorded_free(gs_recorded *recorded);

/* Adds to the count of a problem, with alpha 1 and beta 0 or 1. New ones stand behind the others. MEMORY. */
gs_status gs_recorded_add(gs_recorded *recorded, const gs_problem *problem, const char *via, uint64_t count, gs_error *error);
gs_status gs_recorded_put(gs_recorded *recorded, const gs_problem *problem, const char *via, uint64_t count, gs_error *error);   /* the same of the problem as it is */

/* Whether a text is a recorded file, from its first bytes; a file of this path, or a folder, which is taken to be one of recorded files. */
bool gs_recorded_is(const char *text);
bool gs_recorded_is_path(const char *path);

/* Adds the lines of a recorded file. What stands behind its last end of line is left out: it was cut off, also where it reads as a problem. PARSE, RANGE,
 * UNSUPPORTED: another line is damaged, and error names it ("run/recorded-7.txt line 12"); then nothing of the text was added. MEMORY. text is changed. */
gs_status gs_recorded_read_text(gs_recorded *recorded, char *text, const char *name, gs_error *error);

/* The same of a file, or of all files recorded-*.txt of a folder. NOT_FOUND, IO; NOT_FOUND also: a folder without such a file. */
gs_status gs_recorded_read(gs_recorded *recorded, const char *path, gs_error *error);

/* Says where a line is that could not be read: the error's field is the line, and the file's name goes before what is wrong there. NULL: nobody wants to know. */
void gs_recorded_at_line(gs_error *error, const char *name, int line);

/* Problems that differ only in M, and whose M lie between the same two steps of a ladder, become one with the upper step as its M; calls are added. An M that is alone between its
 * steps, one below GS_RECORDED_LADDER, and the capacity of masked groups stay. *merged: how many problems are gone. MEMORY. */
#define GS_RECORDED_LADDER 64
int64_t   gs_recorded_step(int64_t m);   /* the step: m below 64; 64, 96, 128, 192, 256, 384, ... */
gs_status gs_recorded_bucket(gs_recorded *recorded, int *merged, gs_error *error);

/* What a row's calls cost at least, in microseconds: their number times the floor of an H200 (gs_floor_us). An order, not a prediction. */
double gs_recorded_work(const gs_recorded_row *row);

void     gs_recorded_sort(gs_recorded *recorded);           /* the most work first */
uint64_t gs_recorded_calls(const gs_recorded *recorded);
int      gs_recorded_problems(const gs_recorded *recorded); /* different ones, whatever call they came by */

/* A recorded file with these rows, in their order; and written, the most work first, at once or not at all ("-": standard output). */
void      gs_recorded_format(const gs_recorded *recorded, gs_text *out);
gs_status gs_recorded_write(gs_recorded *recorded, const char *path, gs_error *error);

#endif
