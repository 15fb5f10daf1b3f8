/* SPDX-License-Identifier: MIT
 * The archive of kernels that models wrote for a problem: the best of each kind, so that lineages stay different. A kind is a matrix instruction and ranges
 * of registers, shared memory and threads. */
#ifndef GS_AUTHOR_ARCHIVE_H
#define GS_AUTHOR_ARCHIVE_H

#include <stdbool.h>
#include <gemmsmith/status.h>

#include "base/random.h"

typedef enum gs_matrix { GS_MATRIX_NONE, GS_MATRIX_MMA, GS_MATRIX_WGMMA } gs_matrix;

typedef struct gs_kind {
    gs_matrix matrix;
    int       registers, smem, threads;   /* indices of ranges, from 0 */
} gs_kind;

/* The matrix instruction comes from the metrics (worker/metrics.h) or, without metrics, from the source without comments; the threads are those of the manifest's
 * largest block. */
gs_kind     gs_kind_of(const char *source, const char *manifest, const char *metrics, int registers, int smem);
const char *gs_kind_text(const gs_kind *kind, char text[64]);   /* "wgmma <=168 registers <=227 KiB <=384 threads" */

typedef struct gs_elite {
    gs_kind kind;
    int     attempt, island;              /* the caller's numbers */
    double  score;
} gs_elite;

typedef struct gs_archive {
    gs_elite *list;
    int       count, capacity;
} gs_archive;                             /* zero-initialise; free(list) */

/* Keeps the kernel unless one of its kind has at least its score. MEMORY. */
gs_status gs_archive_put(gs_archive *archive, const gs_elite *elite, gs_error *error);

/* A random kernel of the island (own) or of the other islands, uniformly; NULL: there is none. */
const gs_elite *gs_archive_draw(const gs_archive *archive, int island, bool own, gs_random *random);

const gs_elite *gs_archive_best(const gs_archive *archive);     /* NULL: there is none */
void            gs_archive_sort(gs_archive *archive);           /* best first */

#endif
