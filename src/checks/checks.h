/* SPDX-License-Identifier: MIT
 * Test data, f64 references and comparisons on the device (kernels/verify.cu), for verification and for timing. All pointers are device memory. */
#ifndef GS_CHECKS_CHECKS_H
#define GS_CHECKS_CHECKS_H

#include <stdbool.h>
#include <gemmsmith/plan.h>

#include "device/device.h"

/* What verification keeps between calls: its own kernels, loaded once per device. */
typedef struct gs_verifier gs_verifier;
gs_status gs_verifier_create(gs_verifier **out, gs_device *device, gs_error *error);
void      gs_verifier_destroy(gs_verifier **verifier);

typedef enum gs_data {
    GS_DATA_NORMAL,        /* N(0,1), with some larger numbers in C, a bias and an aux */
    GS_DATA_INTEGER,       /* part 1 */
    GS_DATA_CANCEL,        /* part 2 */
    GS_DATA_INDEX,         /* part 3 */
    GS_DATA_SPECIAL        /* part 5: normal with inf and NaN here and there */
} gs_data;

/* Fills operand 'a', 'b', 'c', 'e' (the bias), 'f' (the groups' offsets: every row to any group), 'g' (aux), 'h' or 'i' (scale_m, scale_n) of the problem. The value depends on
 * (kind, seed, operand, logical row, logical column) only, so that nn and tn hold the same matrix. Padding between rows is NaN, for integer data 3. */
gs_status gs_generate(gs_verifier *verifier, const gs_problem *problem, char operand, gs_data kind, uint64_t seed, gs_pointer to,
                      gs_queue queue, gs_error *error);

/* f64 reference of the problem into out (M x N x 8 bytes, packed): alpha A B + beta C, without C where it is a residual or where there are scales. Scales, bias and activation
 * are applied by the comparison. */
gs_status gs_reference(gs_verifier *verifier, const gs_problem *problem, gs_pointer a, gs_pointer b, gs_pointer c, gs_pointer out,
                       gs_queue queue, gs_error *error);

/* The same for the operands of a call, groups included; rows of `out` that belong to no group are 0. Waits if there are groups. */
gs_status gs_reference_of(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer out, gs_queue queue, gs_error *error);

typedef struct gs_compare {
    int64_t mismatches;        /* elements beyond the bound, NaN where none should be, or unwritten */
    int64_t row, col;          /* of the first; -1 */
    double  got, want;
    double  frobenius;         /* |D - R| / |R| */
    double  worst;             /* largest componentwise error over its bound */
    double  bias;              /* mean signed error over the mean absolute error */
} gs_compare;

#define GS_TOLERANCE_ROUNDED 5.0

/* Compares D (problem.out, ldd) with a reference, to which it applies the epilogue; of the arguments it reads D and what the epilogue needs. A written aux is compared with
 * gs_problem_of_aux. Componentwise bound: tolerance times (the rounding of the output type plus the accumulator's error for K terms of this magnitude). Tolerance 1: any correct
 * kernel on normal data stays below, f32 accumulation on tensor cores included; 0: bit for bit after rounding the reference once; GS_TOLERANCE_ROUNDED: a product may be rounded
 * to D's type before anything is added to it. Waits for the queue. */
gs_status gs_compare_reference(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference,
                               double tolerance, gs_compare *out, gs_queue queue, gs_error *error);

/* The same for the gradient of a bias, if the problem has one. D must be right. */
gs_status gs_compare_sums(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference,
                          double tolerance, gs_compare *out, gs_queue queue, gs_error *error);

/* The operands of a timed call, for a table in device memory. Between begin and end of an output (GS_TIMED_D, ...: D, a written aux, the sums of D's columns) lies nothing else,
 * all poisoned before the call. Addresses are multiples of 4 bytes. */
typedef struct gs_timed_operands {
    gs_pointer a, b, c, d, bias, offsets, aux, scale_m, scale_n;
    gs_pointer begin[3], end[3];
} gs_timed_operands;

/* Checks every output of a replay that used each set of the table once. Adds to two 64-bit counts at `found`: elements that still hold the poison (GS_POISON_*) and places beside
 * outputs that do not; and wrong elements among some that are chosen by the seed and computed again. Returns before it is done. */
gs_status gs_timed_check(gs_verifier *verifier, const gs_problem *problem, double tolerance, gs_pointer sets, int count, uint32_t poison, uint64_t seed,
                         gs_pointer found, gs_queue queue, gs_error *error);

/* Adds a hash of a range to the 64-bit number at `sum`; it depends on every 64-bit word and its place. Returns before it is done. */
gs_status gs_words_hash(gs_verifier *verifier, gs_pointer at, size_t bytes, gs_pointer sum, gs_queue queue, gs_error *error);

/* Hides 64-bit words by xor with a secret sequence, of which known words tell nothing; a second call with the same key restores them. Returns before it is done. */
gs_status gs_veil(gs_verifier *verifier, gs_pointer at, size_t words, uint64_t key, gs_queue queue, gs_error *error);

/* Runs an element-wise kernel that reads and writes every 16-bit unit of a range and leaves it as it is. Returns before it is done. */
gs_status gs_pass_over(gs_verifier *verifier, gs_pointer at, size_t bytes, gs_queue queue, gs_error *error);

/* gs_reference on the CPU, with host copies, for small sizes and tests: writes the same to out. */
void gs_reference_cpu(const gs_problem *problem, const void *a, const void *b, const void *c, double *out);

#endif
