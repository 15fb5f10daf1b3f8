/* SPDX-License-Identifier: MIT
 * Importing problem lists of other tools. PyTorch's TunableOp writes the products it met to tunableop_untuned0.csv, and its choices to tunableop_results0.csv:
 *
 *     Validator,PT_VERSION,2.11.0                                                     only in results
 *     GemmTunableOp_Half_TN,tn_4096_16_4096_ld_4096_4096_4096                         operation, transa transb m n k, leading dimensions of A, B, C
 *     GemmTunableOp_BFloat16_NT,nt_25088_4096_64,Gemm_Hipblaslt_1234,0.017            older versions of torch write no leading dimensions: packed
 *     GemmStridedBatchedTunableOp_Half_NN,nn_64_128_128_B_96_ld_64_128_64             a batch
 *     GemmAndBiasTunableOp_Half_TN,tn_768_1024_768_ld_768_768_768                     a bias; the list does not say which activation
 *
 * The entries are column-major, as in cuBLAS. For our row-major problems M and N, and A and B, are exchanged (docs/internals/baseline.md). The lists lack some fields:
 * we assume beta 0, no activation, and packed matrices of a batch. */
#ifndef GS_RECORDED_IMPORT_H
#define GS_RECORDED_IMPORT_H

#include "recorded/recorded.h"

#define GS_IMPORT_OTHERS 16

/* Lines that are skipped: types or operations that we do not support. */
typedef struct gs_import_others {
    struct {
        char operation[64];
        int  lines;
    } list[GS_IMPORT_OTHERS];
    int count, beyond;   /* beyond: skipped lines whose operation found no room in list */
    int lines;           /* skipped lines in all */
} gs_import_others;

/* Adds a list's problems, one call per line; via is the operation without types: "GemmTunableOp". text is changed. PARSE: the key of a supported operation cannot be read, or a line
 * does not belong to such a list; error names it, and nothing of the text was added. RANGE, UNSUPPORTED: the problem is invalid. */
gs_status gs_import_tunableop_text(gs_recorded *recorded, gs_import_others *others, char *text, const char *name, gs_error *error);
gs_status gs_import_tunableop(gs_recorded *recorded, gs_import_others *others, const char *path, gs_error *error);

#endif
