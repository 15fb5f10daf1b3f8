/* SPDX-License-Identifier: MIT
 * Verification: does a contender compute the problem, whatever the data, touching nothing else? The seven parts of
 * docs/internals/protocol.md, and an eighth for problems whose rows have bits of their own (docs/internals/invariant.md). Data are generated and compared on the device (kernels/verify.cu); the reference is the simple
 * family's f64 kernel, cross-checked on the CPU for small sizes. */
#ifndef GS_VERIFY_VERIFY_H
#define GS_VERIFY_VERIFY_H

#include "plan/contender.h"
#include "verify/verdict.h"

typedef struct gs_verdict {
    gs_verdict_code code;
    int             part;             /* 1 to 8: the part that failed; 0: none */
    char            problem[GS_PROBLEM_TEXT];   /* the problem it failed on (edges differ from the one asked for) */
    int64_t         mismatches;       /* wrong elements, in the failing test */
    int64_t         row, col;         /* first wrong element; -1 if none */
    double          got, want;        /* its values */
    double          error, limit;     /* part 4: Frobenius error and what was allowed */
    char            reason[480];      /* one line for a person */
} gs_verdict;

enum {
    GS_PART_EXACT = 1, GS_PART_CANCELLATION = 2, GS_PART_INDEX = 4, GS_PART_NORMAL = 8,
    GS_PART_EDGES = 16, GS_PART_MEMORY = 32, GS_PART_REPEAT = 64,
    GS_PART_INVARIANT = 128,   /* of invariant problems only */
    GS_PART_ALL = 255
};

#define GS_VERIFY_REPEATS 8

typedef struct gs_verify_options {
    uint32_t      parts;        /* GS_PART_* bits; 0: all */
    uint64_t      seed;         /* 0: from the operating system */
    gs_contender *yardstick;    /* cuBLAS, for part 4; NULL: an analytic bound */
    int           repeats;      /* part 7; 0: GS_VERIFY_REPEATS */
} gs_verify_options;            /* all zero: everything, fresh data, no yardstick */

/* What verification keeps between calls: its own kernels, loaded once per device. */
typedef struct gs_verifier gs_verifier;
gs_status gs_verifier_create(gs_verifier **out, gs_device *device, gs_error *error);
void      gs_verifier_destroy(gs_verifier **verifier);

/* Verifies contender on problem (contender->prepare is called here, for this and for the edge problems). The status is about
 * the machine; the verdict is about the contender. After a FAULT verdict the device is lost for this process, unless it is
 * emulated. options NULL: all zero. Afterwards the contender is prepared for whatever was tried last. What it allocates from the
 * device meanwhile is taken for its workspace: poisoned before every launch, but for the part that it declares zeroed, with a guard
 * band behind. */
gs_status gs_verify(gs_verifier *verifier, gs_contender *contender, const gs_problem *problem, const gs_verify_options *options,
                    gs_verdict *verdict, gs_error *error);

/* The small problems of part 5, which depend on the types and the layout of the one asked for only: 0 <= index < count. For whoever wants
 * to have their kernels compiled before. */
int        gs_verify_edges_count(void);
gs_problem gs_verify_edge(const gs_problem *like, int index);

/* Seconds that an emulated device will roughly need on this machine, with all its cores: for so many launches on matrix units and so
 * many of one thread per element (the reference is one of these), with what is generated and compared around them; and for gs_verify
 * of a kernel that uses matrix units or does not. */
double gs_emulated_seconds(const gs_problem *problem, double launches, double references);
int    gs_emulated_cores(void);   /* how many those are; launches of user kernels have one of them */
double gs_verify_seconds(const gs_problem *problem, uint32_t parts, bool matrix);

/* Pieces that timing uses too. All pointers are device memory. */

typedef enum gs_data {
    GS_DATA_NORMAL,        /* N(0,1) */
    GS_DATA_INTEGER,       /* part 1 */
    GS_DATA_CANCEL,        /* part 2 */
    GS_DATA_INDEX,         /* part 3 */
    GS_DATA_SPECIAL        /* part 5: normal with inf and NaN here and there */
} gs_data;

/* Fills operand 'a', 'b', 'c', 'e' (the bias), 'f' (the groups' offsets: every row to any group), 'g' (aux), 'h' or 'i' (scale_m, scale_n) of the problem. The value
 * depends on (kind, seed, operand, logical row, logical column) only, so that nn and tn hold the same matrix. Padding of the rows is filled with NaN. */
gs_status gs_generate(gs_verifier *verifier, const gs_problem *problem, char operand, gs_data kind, uint64_t seed, gs_pointer to,
                      gs_queue queue, gs_error *error);

/* f64 reference of the problem into out (M x N x 8 bytes, packed): alpha A B + beta C, without C where it is a residual or where there are scales. Scales, bias and activation are for the
 * comparison. */
gs_status gs_reference(gs_verifier *verifier, const gs_problem *problem, gs_pointer a, gs_pointer b, gs_pointer c, gs_pointer out,
                       gs_queue queue, gs_error *error);

/* The same of the operands of a call, also with groups, whose rows are a product each; rows of `out` behind the last group are 0. Waits where there are
 * groups. */
gs_status gs_reference_of(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer out, gs_queue queue, gs_error *error);

typedef struct gs_compare {
    int64_t mismatches;        /* elements beyond the bound, NaN where none should be, or unwritten */
    int64_t row, col;          /* of the first; -1 */
    double  got, want;
    double  frobenius;         /* |D - R| / |R| */
    double  worst;             /* largest componentwise error over its bound */
    double  bias;              /* mean signed error over the mean absolute error */
} gs_compare;

/* Compares D (problem.out, ldd) with a reference, to which the epilogue is applied; of the arguments c, bias and aux are read as it says.
 * Of a problem that writes aux, aux is looked at with gs_problem_of_aux. Componentwise bound: tolerance times (the rounding of the output type plus
 * the accumulator's error for K terms of this magnitude): 1 is what any honest kernel on normal data stays below, f32 accumulation
 * on tensor cores included; 0: bit for bit after rounding the reference once. Waits for the queue. */
gs_status gs_compare_reference(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference,
                               double tolerance, gs_compare *out, gs_queue queue, gs_error *error);

/* The same of the gradient of a bias, where the problem has one and D was right. */
gs_status gs_compare_sums(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference,
                          double tolerance, gs_compare *out, gs_queue queue, gs_error *error);

/* The operands of a call that is timed, as a table of them lies on the device; D is all that lies between begin and end, poisoned before the
 * call. Addresses of 4 bytes. */
typedef struct gs_timed_operands {
    gs_pointer a, b, c, d, begin, end, bias, offsets, aux, scale_m, scale_n;
} gs_timed_operands;

/* Looks at every output of a replay that used each set of the table once: elements that still hold the poison (a pattern of GS_POISON_*), places
 * beside D that do not; and at some elements, chosen by the seed, whose products are computed anew. Adds to two 64-bit numbers at `found`: how many
 * of the first kind, how many elements are wrong. Returns before it is done. */
gs_status gs_timed_check(gs_verifier *verifier, const gs_problem *problem, gs_pointer sets, int count, uint32_t poison, uint64_t seed,
                         gs_pointer found, gs_queue queue, gs_error *error);

/* Adds to the 64-bit number at `sum` what depends on every 64-bit word of a range and its place. Returns before it is done. */
gs_status gs_words_hash(gs_verifier *verifier, gs_pointer at, size_t bytes, gs_pointer sum, gs_queue queue, gs_error *error);

/* An element-wise kernel over a range, which it leaves as it is: every 16-bit unit is read and written. Returns before it is done. */
gs_status gs_pass_over(gs_verifier *verifier, gs_pointer at, size_t bytes, gs_queue queue, gs_error *error);

/* gs_reference on the CPU, from host copies, for small sizes and for tests: what that writes. */
void gs_reference_cpu(const gs_problem *problem, const void *a, const void *b, const void *c, double *out);

#endif
