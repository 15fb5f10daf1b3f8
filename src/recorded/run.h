/* SPDX-License-Identifier: MIT
 * Running a program with its matrix products recorded. */
#ifndef GS_RECORDED_RUN_H
#define GS_RECORDED_RUN_H

#include <stdbool.h>
#include <gemmsmith/status.h>

#include "base/file.h"

#define GS_RECORDED_SHIM "libgemmsmith_blas.so"   /* preloaded in place of cuBLAS and cuBLASLt; counts the calls */

typedef struct gs_recorded_run {
    const char *folder;       /* created if missing */
    const char *shim;         /* to preload; NULL: none */
} gs_recorded_run;

/* Finds the shim beside this program, or in the library folder of its prefix. False: it is not there, or its path cannot be used in LD_PRELOAD. */
bool gs_recorded_find_shim(char path[GS_PATH]);

/* Runs argv (NULL-terminated) with $GEMMSMITH_RECORD and, with a shim, $LD_PRELOAD and $GEMMSMITH_BLAS=record, and waits for its end. Signals to this process are forwarded, except
 * those from the terminal, which the program gets anyway. *code: the exit code, or 128 plus the signal that ended it; 127: no such program; 126: cannot be run (both with a message
 * on standard error). IO, MEMORY: nothing was run. */
gs_status gs_recorded_run_program(const gs_recorded_run *run, char *const *argv, int *code, gs_error *error);

#endif
