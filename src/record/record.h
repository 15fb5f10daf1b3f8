/* SPDX-License-Identifier: MIT
 * What a program multiplies, written down while it runs: every distinct problem, by which call it was asked for, and how often.
 *
 * A folder gets a file of each process, recorded-HOST-PID-TIME.txt, made at the process's first problem and only ever added to:
 *
 *     gemmsmith recorded 1
 *     1<TAB>cublasGemmEx<TAB>bf16:16x4096x4096:tn         a new problem, written before the call that counts it returns
 *     63<TAB>cublasGemmEx<TAB>bf16:16x4096x4096:tn        further counts
 *
 * Who reads it sums the lines (src/recorded). A line stands there whole or not at all, but for the last one of a file whose process was killed while it wrote. */
#ifndef GS_RECORD_RECORD_H
#define GS_RECORD_RECORD_H

#include <gemmsmith/problem.h>

#define GS_RECORD_MAGIC    "gemmsmith recorded 1"
#define GS_RECORD_PROBLEMS 8192   /* different ones of a process; what comes behind them is not recorded, and the log says so once */

typedef struct gs_recorder gs_recorder;   /* one process may have several; a fork's child goes on with files of its own */

/* That of $GEMMSMITH_RECORD, an existing folder; one for the process, which lasts as long as it does. NULL: the variable is not set or empty, or its folder
 * cannot be written to, which a line of the log says. Any thread. */
gs_recorder *gs_recorder_of_environment(void);

/* NOT_FOUND, IO: the folder is not there or cannot be written to. */
gs_status gs_recorder_open(gs_recorder **out, const char *folder, gs_error *error);
void      gs_recorder_close(gs_recorder **recorder);   /* flushed; nobody may count any more */

/* One call of via, a word that stays where it is as long as the recorder: cublasGemmEx, aten::mm. alpha does not count and beta only whether it is 0, as in tuned tables. Any
 * thread, and NULL for the recorder does nothing. A problem that is there already takes no lock and no system call, but when its count has grown by an eighth
 * (below 64: has doubled): that is written, so a process that is killed loses no problem and little of the counts. What cannot be written is kept and tried
 * again; the log says it once. */
void gs_recorder_count(gs_recorder *recorder, const gs_problem *problem, const char *via);

/* Writes what is not written yet; happens by itself at the end of the process. */
void gs_recorder_flush(gs_recorder *recorder);

#endif
