/* SPDX-License-Identifier: MIT
 * Verification: does a contender compute the problem correctly for any data, without touching other memory? Seven parts (docs/internals/protocol.md), and an eighth for
 * batch-invariant problems (docs/internals/invariant.md). Data are generated and compared on the device (kernels/verify.cu). The reference is the f64 kernel of the simple
 * family, cross-checked on the CPU for small sizes. */
#ifndef GS_VERIFY_VERIFY_H
#define GS_VERIFY_VERIFY_H

#include "checks/checks.h"
#include "loaded/contender.h"
#include "verdict/verdict.h"

typedef struct gs_verdict {
    gs_verdict_code code;
    int             part;             /* 1 to 8: the part that failed; 0: none */
    char            problem[GS_PROBLEM_TEXT];   /* the problem it failed on: may be an edge problem */
    int64_t         mismatches;       /* wrong elements, in the failing test */
    int64_t         row, col;         /* first wrong element; -1 if none */
    double          got, want;        /* its values */
    double          error, limit;     /* part 4: Frobenius error and its limit */
    char            reason[480];      /* one line for a person */
} gs_verdict;

enum {
    GS_PART_EXACT = 1, GS_PART_CANCELLATION = 2, GS_PART_INDEX = 4, GS_PART_NORMAL = 8,
    GS_PART_EDGES = 16, GS_PART_MEMORY = 32, GS_PART_REPEAT = 64,
    GS_PART_INVARIANT = 128,   /* batch-invariant problems only */
    GS_PART_ALL = 255,
    GS_EDGES_ONCE = 256        /* with GS_PART_EDGES: edge problems are launched once, with one kind of data, which is enough for their memory accesses */
};

#define GS_VERIFY_REPEATS 8

typedef struct gs_verify_options {
    uint32_t      parts;        /* GS_PART_* bits; 0: all */
    uint64_t      seed;         /* 0: from the operating system */
    gs_contender *yardstick;    /* cuBLAS, for part 4; NULL: an analytic bound */
    int           repeats;      /* part 7; 0: GS_VERIFY_REPEATS */
} gs_verify_options;            /* all zero: all parts, a random seed, no yardstick */

/* Verifies the contender on the problem. Calls contender->prepare for it and for derived problems; afterwards the contender is prepared for whichever came last. The status is
 * about the machine, the verdict about the contender. After a FAULT verdict the device is lost for this process, unless it is emulated. options NULL: all zero. Device memory
 * that the contender allocates meanwhile counts as its workspace: it is poisoned before every launch, except the part declared zeroed, and followed by a guard band. */
gs_status gs_verify(gs_verifier *verifier, gs_contender *contender, const gs_problem *problem, const gs_verify_options *options,
                    gs_verdict *verdict, gs_error *error);

/* The small problems of part 5, 0 <= index < count, for callers that compile their kernels in advance. They have the types, layout, epilogue and grouping of `like`, and sizes
 * and scalars of their own. */
int        gs_verify_edges_count(void);
gs_problem gs_verify_edge(const gs_problem *like, int index);

/* Rough times in seconds that an emulated device needs on this machine, using all cores: for `launches` launches of a kernel on matrix units and `references` of a kernel with
 * one thread per element (as the reference), including generation and comparison of data; and for gs_verify of a kernel that uses matrix units or does not. */
double gs_emulated_seconds(const gs_problem *problem, double launches, double references);
int    gs_emulated_cores(void);   /* number of cores; a launch of a user kernel uses one */
double gs_verify_seconds(const gs_problem *problem, uint32_t parts, bool matrix);

#endif
