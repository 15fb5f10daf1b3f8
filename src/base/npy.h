/* SPDX-License-Identifier: MIT
 * The subset of NumPy's .npy format that matrices need: little-endian f2, f4 and u2 (bf16 bits), C order, one to three axes. */
#ifndef GS_BASE_NPY_H
#define GS_BASE_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#include "base/text.h"

#define GS_NPY_AXES 3

typedef enum gs_npy_type { GS_NPY_F16, GS_NPY_F32, GS_NPY_U16 } gs_npy_type;

typedef struct gs_npy {
    gs_npy_type type;
    int         axes;
    int64_t     extent[GS_NPY_AXES];   /* outermost first */
    size_t      data;                  /* where the elements start in the file */
    size_t      size;                  /* bytes of the elements */
} gs_npy;

/* True if the bytes start as a .npy file does. */
bool gs_npy_is(const void *bytes, size_t size);

/* Reads the header of a file that is wholly in memory and checks that all elements are present. Any bytes are safe input.
 * CORRUPT (no .npy file, or truncated) or UNSUPPORTED (type, order, axes); *error names the header's field. */
gs_status gs_npy_parse(gs_npy *npy, const void *bytes, size_t size, gs_error *error);

/* Appends a header of format version 1.0 to the text; the caller appends the elements. */
void gs_npy_header(gs_text *text, gs_npy_type type, const int64_t *extent, int axes);

#endif
