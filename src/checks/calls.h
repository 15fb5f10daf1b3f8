/* SPDX-License-Identifier: MIT
 * The verifier's kernels (kernels/verify.cu) as functions, for src/verify; those that timing needs are in checks.h. All return before the device is done, unless they say that
 * they wait. */
#ifndef GS_CHECKS_CALLS_H
#define GS_CHECKS_CALLS_H

#include "checks/bounds.h"
#include "checks/checks.h"
#include "common/check.h"
#include "operands/data.h"
#include "operands/operands.h"

enum {
    GS_CHECK_GENERATE, GS_CHECK_POISON, GS_CHECK_GUARD_FILL, GS_CHECK_GUARD, GS_CHECK_VEIL, GS_CHECK_HASH, GS_CHECK_PADDING, GS_CHECK_BANDS, GS_CHECK_MEASURE,
    GS_CHECK_COMPARE, GS_CHECK_SUMS, GS_CHECK_WORDS, GS_CHECK_TIMED, GS_CHECK_TIMED_SAMPLES, GS_CHECK_PASS, GS_CHECK_CHANGE, GS_CHECK_KERNELS
};

#define GS_REFERENCES 96   /* input type x output type x layout x whether C is read x whether a batch has strides */
#define GS_COUNTERS   32

/* beta C is in the reference; else the comparison adds it. */
static inline bool gs_reference_adds_c(const gs_problem *p) { return p->beta != 0 && !p->residual && !p->scales; }
/* With a beta of 0, which may come from device memory, a residual adds nothing. */
static inline bool gs_reference_residual(const gs_problem *p) { return p->residual && p->beta != 0; }

struct gs_verifier {
    gs_device  *device;
    gs_queue    queue;                        /* of gs_verify */
    gs_module   module;
    gs_function function[GS_CHECK_KERNELS];
    struct {
        gs_module   module;
        gs_function tiles, line;
    } reference[GS_REFERENCES];               /* loaded at first use */
    bool        tested;                       /* gs_check_selftest has passed */
    gs_pointer  counts;                       /* a gs_check_counts */
    gs_pointer  counters;                     /* GS_COUNTERS 64-bit numbers */
};

gs_status gs_check_generate(gs_verifier *verifier, const gs_datagen *what, gs_pointer to, gs_queue queue, gs_error *error);

/* gs_reference for an emulated device, computed by the host: emulating its kernel takes fifty times as long. Rows of the result are ld elements apart. Waits. */
gs_status gs_reference_emulated(gs_verifier *verifier, const gs_problem *problem, const gs_pointer operand[3], gs_pointer out, int64_t ld, gs_queue queue,
                                gs_error *error);

/* Runs one of the kernels as host code with the same parameter, if the device's memory is in this process (gs_device_ops.host). false: it did not. */
bool gs_check_native(gs_verifier *verifier, int kernel, const void *param, gs_queue queue);

/* Compute what gs_reference_of writes for one row (of m * batch), or for one column of a matrix whose rows begin at `first`, and nothing else. batch: the matrix of B, or the
 * group. */
gs_status gs_reference_row(gs_verifier *verifier, const gs_problem *problem, const gs_pointer operand[3], const int32_t *offsets, int64_t batch, int64_t row, gs_pointer out, gs_queue queue,
                           gs_error *error);
gs_status gs_reference_col(gs_verifier *verifier, const gs_problem *problem, const gs_pointer operand[3], const int32_t *offsets, int64_t batch, int64_t first, int64_t rows, int64_t col, gs_pointer out,
                           gs_queue queue, gs_error *error);

/* Fill a range. Its address and size must be even. */
gs_status gs_check_poison(gs_verifier *verifier, gs_pointer at, size_t bytes, uint32_t pattern, gs_queue queue, gs_error *error);
gs_status gs_check_guard_fill(gs_verifier *verifier, gs_pointer at, size_t bytes, uint64_t seed, gs_queue queue, gs_error *error);

/* Flips one bit in every second element of an output, between its last bit and the one worth 2^-6 of the element. */
gs_status gs_check_change(gs_verifier *verifier, const gs_problem *problem, char operand, gs_pointer at, gs_queue queue, gs_error *error);

/* These add to counter `slot`: changed 16-bit units of a guard band; a hash of an operand's contents, with padding for an input and without for an output; changed units of an
 * output's padding. */
gs_status gs_check_guard(gs_verifier *verifier, gs_pointer at, size_t bytes, uint64_t seed, int slot, gs_queue queue,
                         gs_error *error);
gs_status gs_check_hash(gs_verifier *verifier, const gs_problem *problem, char operand, gs_pointer at, int slot, gs_queue queue,
                        gs_error *error);
gs_status gs_check_padding(gs_verifier *verifier, const gs_problem *problem, char operand, gs_pointer at, uint32_t pattern, int slot,
                           gs_queue queue, gs_error *error);

/* Adds the number of units of a range that do not hold the pattern to counter `slot`. */
gs_status gs_check_pattern(gs_verifier *verifier, gs_pointer at, size_t bytes, uint32_t pattern, int slot, gs_queue queue, gs_error *error);

/* The same for guard bands of `band` bytes in front of and behind buffers: those of buffer i count in slot + i. At most GS_BANDS / 2 buffers. */
typedef struct gs_banded {
    gs_pointer at;
    size_t     bytes;
    uint32_t   pattern;
} gs_banded;
gs_status gs_check_bands(gs_verifier *verifier, const gs_banded *buffers, int count, size_t band, int slot, gs_queue queue, gs_error *error);

/* Adds a hash of a range, which depends on every 64-bit word and its place, to counter `slot`. */
gs_status gs_check_words(gs_verifier *verifier, gs_pointer at, size_t bytes, int slot, gs_queue queue, gs_error *error);

gs_status gs_check_counters_clear(gs_verifier *verifier, gs_queue queue, gs_error *error);
gs_status gs_check_counters_read(gs_verifier *verifier, uint64_t out[GS_COUNTERS], gs_queue queue, gs_error *error);    /* waits */

/* gs_compare_reference with all counts; elements that hold the poison are counted apart. once: for kernels that must round once, as ours and users' must: the bound applies to
 * the value before rounding, which is stricter by up to a step of a 16-bit type; worst is not counted. uneven: of A and B; NULL: their lines have the usual size. Waits. */
gs_status gs_check_compare(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference, double tolerance,
                           bool once, uint32_t poison, const gs_uneven *uneven, gs_check_counts *out, gs_queue queue, gs_error *error);

/* Compares the gradient of a bias, after gs_check_compare has found D right; adds to its counts. first is vector * n + column. Waits. */
gs_status gs_check_compare_sums(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference, double tolerance,
                                bool once, uint32_t poison, gs_check_counts *out, gs_queue queue, gs_error *error);

/* The right value of an element of D before it is rounded, from the product A B of its column and, with a gate, of up's column. Not for groups of rows. Nothing may be running. */
gs_status gs_check_value(const gs_verifier *verifier, const gs_problem *problem, const gs_args *args, const double products[2], int64_t row, int64_t col, double *value, gs_error *error);

/* Puts the first wrong sum into out: its column into col, its vector of the batch into row, and got and want. Waits. */
gs_status gs_check_summary_of_sums(gs_verifier *verifier, const gs_problem *problem, uint64_t first, const gs_args *args, gs_pointer reference, gs_compare *out, gs_error *error);

/* Converts counts to the public form, with the values of the first mismatch. Waits. */
gs_status gs_check_summary(gs_verifier *verifier, const gs_problem *problem, const gs_check_counts *counts, const gs_args *args,
                           gs_pointer reference, gs_compare *out, gs_error *error);

/* Tests once, on a small problem, that the functions above detect what they must on this device; later calls return at once. Waits. */
gs_status gs_check_selftest(gs_verifier *verifier, gs_error *error);

#endif
