/* SPDX-License-Identifier: MIT
 * Running a program so that what it multiplies is recorded. */
#ifndef GS_RECORDED_RUN_H
#define GS_RECORDED_RUN_H

#include <stdbool.h>
#include <gemmsmith/status.h>

#include "base/file.h"

#define GS_RECORDED_SHIM "libgemmsmith_blas.so"   /* stands in for cuBLAS and cuBLASLt, and counts what it is asked for */

typedef struct gs_recorded_run {
    const char *folder;       /* is made if it is not there */
    const char *shim;         /* to preload; NULL: none */
} gs_recorded_run;

/* The shim beside the library: beside this program, or in the folder of libraries of its prefix. False: it is not there. */
bool gs_recorded_find_shim(char path[GS_PATH]);

/* Runs argv (ends with NULL) with $GEMMSMITH_RECORD and, with a shim, $LD_PRELOAD and $GEMMSMITH_BLAS=record, and waits for its end. Signals that this process gets are passed on; those of a
 * terminal go to the program by themselves. *code: its exit code, 128 plus the signal that ended it, or 127: there is no such program, 126: it cannot be run, which a
 * line says on standard error. IO, MEMORY: nothing was run. */
gs_status gs_recorded_run_program(const gs_recorded_run *run, char *const *argv, int *code, gs_error *error);

#endif
