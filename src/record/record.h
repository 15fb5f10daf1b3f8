/* SPDX-License-Identifier: MIT
 * The recorder: writes down which problems a program multiplies while it runs, each with the call that asked for it and a count.
 *
 * Each process writes its own file recorded-HOST-PID-TIME.txt to a folder. The file is created at the first problem and only appended to:
 *
 *     gemmsmith recorded 1
 *     1<TAB>cublasGemmEx<TAB>bf16:16x4096x4096:tn         a new problem, written before the call that counts it returns
 *     63<TAB>cublasGemmEx<TAB>bf16:16x4096x4096:tn        further calls
 *
 * The reader adds up the lines (src/recorded). Lines are complete, except that the last one may be cut off if the process was killed while it wrote. */
#ifndef GS_RECORD_RECORD_H
#define GS_RECORD_RECORD_H

#include <gemmsmith/problem.h>

#define GS_RECORD_MAGIC    "gemmsmith recorded 1"
#define GS_RECORD_PROBLEMS 8192   /* distinct problems of a process; further ones are not recorded, which the log says once */

typedef struct gs_recorder gs_recorder;   /* a process may have several; after fork() the child writes its own files */

/* The process-wide recorder for the existing folder $GEMMSMITH_RECORD, which lives until the process ends. NULL: the variable is unset or empty, or the folder cannot be written to
 * (which is logged). Any thread. */
gs_recorder *gs_recorder_of_environment(void);

/* NOT_FOUND: the folder does not exist; IO: it cannot be written to; MEMORY. */
gs_status gs_recorder_open(gs_recorder **out, const char *folder, gs_error *error);
void      gs_recorder_close(gs_recorder **recorder);   /* flushes; no thread may still use it */

/* Counts one call. via: the name of the call (cublasGemmEx, aten::mm), a string with static lifetime whose address identifies it. As in tuned tables, alpha is ignored and of beta
 * only whether it is 0. Any thread; does nothing if recorder is NULL. A known problem takes no lock and no system call, except when its count has doubled (up to 64) or grown by at
 * least an eighth of the last power of two: then it is written, so that a killed process loses no problem and few counts. What cannot be written is kept and tried again; this is
 * logged once. */
void gs_recorder_count(gs_recorder *recorder, const gs_problem *problem, const char *via);

/* Writes all counts that are not written yet; called automatically at the end of the process. */
void gs_recorder_flush(gs_recorder *recorder);

#endif
