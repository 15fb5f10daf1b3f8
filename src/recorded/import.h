/* SPDX-License-Identifier: MIT
 * Lists of other tools. PyTorch's TunableOp writes the products that it met to tunableop_untuned0.csv, and what it chose to tunableop_results0.csv:
 *
 *     Validator,PT_VERSION,2.11.0                                                     results alone
 *     GemmTunableOp_Half_TN,tn_4096_16_4096_ld_4096_4096_4096                         operation, transa transb m n k, leading dimensions of A, B, C
 *     GemmTunableOp_BFloat16_NT,nt_25088_4096_64,Gemm_Hipblaslt_1234,0.017            older versions of torch wrote no leading dimensions: packed
 *     GemmStridedBatchedTunableOp_Half_NN,nn_64_128_128_B_96_ld_64_128_64             a batch
 *     GemmAndBiasTunableOp_Half_TN,tn_768_1024_768_ld_768_768_768                     a bias; an activation is not told
 *
 * All is cuBLAS's and column-major; docs/internals/baseline.md has the way to our row-major problems: M and N are exchanged, and A and B. The lists do not have what a
 * problem needs beyond this: beta is taken as 0, no activation, and the matrices of a batch as one behind the other. */
#ifndef GS_RECORDED_IMPORT_H
#define GS_RECORDED_IMPORT_H

#include "recorded/recorded.h"

#define GS_IMPORT_OTHERS 16

/* Lines that are not ours: of another type or operation. */
typedef struct gs_import_others {
    struct {
        char operation[64];
        int  lines;
    } list[GS_IMPORT_OTHERS];
    int count, beyond;   /* beyond: lines of further operations, which found no room here */
    int lines;           /* of all */
} gs_import_others;

/* Adds a list's problems, one call for each line, via its operation without types: "GemmTunableOp". PARSE: a line of ours whose key cannot be read, or one that is no line of such a
 * list; error names it; nothing of the text was added. RANGE, UNSUPPORTED: a problem that no problem can be. text is changed. */
gs_status gs_import_tunableop_text(gs_recorded *recorded, gs_import_others *others, char *text, const char *name, gs_error *error);
gs_status gs_import_tunableop(gs_recorded *recorded, gs_import_others *others, const char *path, gs_error *error);

#endif
