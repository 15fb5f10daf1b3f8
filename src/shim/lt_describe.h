/* SPDX-License-Identifier: MIT
 * Converts the descriptors of a cublasLtMatmul to a problem. */
#ifndef GS_SHIM_LT_DESCRIBE_H
#define GS_SHIM_LT_DESCRIBE_H

#include "shim/real.h"
#include "shim/shim.h"

typedef struct gs_lt_asked {
    gs_shim_reason reason;     /* SERVED: the other fields are valid */
    gs_problem     problem;    /* alpha 1, beta 0 */
    bool           c_differs;  /* the problem cannot have C's layout: a call with beta other than 0 is not served */
    bool           half;       /* alpha and beta of the call are f16 */
    const void    *bias;
    void          *aux;
} gs_lt_asked;

/* Reads all attributes from the real library. Attributes that this code does not interpret must have their default values. */
void gs_lt_describe(const gs_real_cublaslt *real, void *desc, void *a, void *b, void *c, void *d, gs_lt_asked *out);

/* The same, with a cache per thread, keyed by the descriptors' bytes. The result is valid until the thread's next call. */
const gs_lt_asked *gs_lt_described(const gs_real_cublaslt *real, void *desc, void *a, void *b, void *c, void *d);

/* Records an algorithm that the library suggested first. A call with such an algorithm leaves the choice to the library; any other algorithm is the caller's choice
 * and is respected. */
void gs_lt_suggested(const void *algo);
bool gs_lt_is_suggested(const void *algo);

#endif
