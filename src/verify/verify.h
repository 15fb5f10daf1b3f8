/* SPDX-License-Identifier: MIT
 * Verification: does a contender compute the problem, whatever the data, touching nothing else? The seven parts of
 * docs/internals/protocol.md, and an eighth for problems whose rows have bits of their own (docs/internals/invariant.md). Data are generated and compared on the device (kernels/verify.cu); the reference is the simple
 * family's f64 kernel, cross-checked on the CPU for small sizes. */
#ifndef GS_VERIFY_VERIFY_H
#define GS_VERIFY_VERIFY_H

#include "checks/checks.h"
#include "loaded/contender.h"
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

#endif
