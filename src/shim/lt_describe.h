/* SPDX-License-Identifier: MIT
 * The descriptors of a cublasLtMatmul as a problem. */
#ifndef GS_SHIM_LT_DESCRIBE_H
#define GS_SHIM_LT_DESCRIBE_H

#include "shim/real.h"
#include "shim/shim.h"

typedef struct gs_lt_asked {
    gs_shim_reason reason;     /* SERVED: the rest is known */
    gs_problem     problem;    /* alpha 1, beta 0 */
    bool           c_differs;  /* C's layout is not one that the problem can have: with a beta the call is not ours */
    bool           half;       /* alpha and beta are f16 */
    const void    *bias;
    void          *aux;
} gs_lt_asked;

/* Asks the real library for each attribute: those that are not known here must be as in a fresh descriptor. */
void gs_lt_describe(const gs_real_cublaslt *real, void *desc, void *a, void *b, void *c, void *d, gs_lt_asked *out);

/* The same, kept for each thread by the descriptors' own bytes. The result lasts to the thread's next call. */
const gs_lt_asked *gs_lt_described(const gs_real_cublaslt *real, void *desc, void *a, void *b, void *c, void *d);

/* An algorithm that the library suggested first is its own choice; any other is the caller's. */
void gs_lt_suggested(const void *algo);
bool gs_lt_is_suggested(const void *algo);

#endif
