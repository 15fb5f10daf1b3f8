/* SPDX-License-Identifier: MIT
 * One of the ways that cuBLASLt suggests to compute a problem, as numbers. */
#ifndef GS_CUBLAS_SUGGESTION_H
#define GS_CUBLAS_SUGGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In cuBLASLt's own numbers (cublasLtMatmulAlgoConfigAttributes_t; 0: it does not say). */
typedef struct gs_suggestion {
    uint32_t id, tile, stages, splitk, reduction, swizzle, cluster, custom;
    float    waves;         /* of blocks on the device, by cuBLASLt's own count */
    size_t   workspace;     /* bytes, of the product alone */
    bool     can_choose;    /* it accumulates as the problem asks */
    bool     apart;         /* the product alone; a kernel of ours follows */
} gs_suggestion;

/* Rows and columns of a cublasLtMatmulTile_t, of a column-major D: rows are columns of ours. false: of this number nothing is known. */
bool gs_suggestion_tile(uint32_t tile, int *rows, int *cols);

#endif
