/* SPDX-License-Identifier: MIT
 * One multiplication on a device, of operands from files or of random data, and its comparison with an f64 reference:
 *
 *     gs_product_make(&p, &problem);
 *     gs_product_read(&p, 0, "a.npy", &error);
 *     gs_product_open(&p, "emu:h200", false, &error);
 *     gs_product_run(&p, 1, &error);
 *     gs_product_check(&p, &error);
 *     gs_product_write(&p, 3, "d.npy", &error);
 *     gs_product_free(&p); */
#ifndef GS_PRODUCT_PRODUCT_H
#define GS_PRODUCT_PRODUCT_H

#include <gemmsmith/gemmsmith.h>

#include "base/npy.h"
#include "verify/verify.h"

/* An operand as it lies in memory: rows (of all its matrices) of row elements, ld apart in a matrix. */
typedef struct gs_product_operand {
    const char *name;        /* "A" to "D", "bias", "offsets", "aux", "scale_m", "scale_n" */
    int64_t     rows, row, ld;
    int64_t     matrices, stride;
    gs_npy_type type;
    size_t      element, bytes;
    bool        output;
    char       *host;        /* NULL: not read from a file */
    gs_pointer  device;
} gs_product_operand;

typedef struct gs_product {
    gs_problem   asked;
    gs_problem   problem;    /* as it lies in memory: gs_problem_pool */
    gs_product_operand m[9]; /* A, B, C, D, bias, offsets, aux, scale_m, scale_n */
    gs_device   *device;
    gs_context  *context;
    gs_plan     *plan;       /* of gs_product_run: gs_plan_why says which kernel it was */
    gs_verifier *verifier;
    gs_pointer   reference;
    gs_pointer   pointers;   /* arrays of pointers of a batch by pointers, else 0 */
    gs_pointer   scalars;    /* alpha and beta, if they are in device memory; else 0 */
    gs_compare   compare;    /* of gs_product_check */
    const char  *of;         /* the output that `compare` is about: NULL, D; "aux" or "dbias", if D is right and that is wrong */
    bool         checked;    /* false: there is nothing to check, or nobody did */
    bool         dependent;
    bool         on_cpu;     /* the reference was computed there */
} gs_product;

void gs_product_make(gs_product *p, const gs_problem *problem);

/* Operand 0 to 2, or 4 to 8, from a .npy file or one of raw elements, row by row without padding. A batch is the first axis; the bias is one row, or one for each group; offsets
 * are raw 32-bit integers. Inputs that are not read from a file are random. CORRUPT: it is not of this shape and type. */
gs_status gs_product_read(gs_product *p, int index, const char *path, gs_error *error);

gs_status gs_product_open(gs_product *p, const char *device, bool dependent, gs_error *error);
gs_status gs_product_run(gs_product *p, int64_t seed, gs_error *error);   /* once; then the outputs are on the device */
gs_status gs_product_check(gs_product *p, gs_error *error);
gs_status gs_product_write(gs_product *p, int index, const char *path, gs_error *error);   /* D (3), aux (6) or the gradient of the bias (4), as gs_product_read reads it: .npy by the name's end */
gs_status gs_product_write_all(gs_product *p, const char *const path[9], gs_error *error);   /* each output that has a path */
void      gs_product_free(gs_product *p);

#endif
