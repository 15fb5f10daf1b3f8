/* SPDX-License-Identifier: MIT
 * An algorithm that cuBLASLt suggests for a problem, as numbers. */
#ifndef GS_CUBLAS_SUGGESTION_H
#define GS_CUBLAS_SUGGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In cuBLASLt's own numbers (cublasLtMatmulAlgoConfigAttributes_t); 0: not given. */
typedef struct gs_suggestion {
    uint32_t id, tile, stages, splitk, reduction, swizzle, cluster, custom;
    float    waves;         /* waves of blocks on the device, as cuBLASLt counts them */
    size_t   workspace;     /* bytes, for the product alone */
    bool     can_choose;    /* it accumulates as the problem asks */
    bool     apart;         /* computes the product alone; a kernel of ours computes the epilogue */
} gs_suggestion;

/* Rows and columns of a cublasLtMatmulTile_t, for a column-major D: its rows are our columns. false: unknown number. */
bool gs_suggestion_tile(uint32_t tile, int *rows, int *cols);

#endif
