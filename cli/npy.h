/* SPDX-License-Identifier: MIT
 * NumPy's .npy files, as far as a matrix needs them: little-endian f2, f4 and u2 (bf16 bits), C order, one to three axes. */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#include "base/text.h"

#define CLI_NPY_AXES 3

typedef enum cli_npy_type { CLI_NPY_F16, CLI_NPY_F32, CLI_NPY_U16 } cli_npy_type;

typedef struct cli_npy {
    cli_npy_type type;
    int          axes;
    int64_t      extent[CLI_NPY_AXES];   /* outermost first */
    size_t       data;                   /* where the elements start in the file */
    size_t       size;                   /* bytes of the elements */
} cli_npy;

/* True if the bytes start as a .npy file does. */
bool cli_npy_is(const void *bytes, size_t size);

/* Reads the header of a whole file in memory and checks that the elements are all there. Any bytes are safe input.
 * CORRUPT (no .npy file, or cut short) or UNSUPPORTED (type, order, axes); *error names the header's field. */
gs_status cli_npy_parse(cli_npy *npy, const void *bytes, size_t size, gs_error *error);

/* Adds the header of version 1.0 to the text; the elements follow. */
void cli_npy_header(gs_text *text, cli_npy_type type, const int64_t *extent, int axes);

#endif
