/* SPDX-License-Identifier: MIT
 * A trial: one contender on one problem, with guarded buffers, test data, their reference, and launches over poisoned outputs. The status of a function is about the machine;
 * what the contender did wrong is written to the verdict (gs_check_run_failed). */
#ifndef GS_VERIFY_CHECK_RUN_H
#define GS_VERIFY_CHECK_RUN_H

#include "checks/watch.h"
#include "operands/blocks.h"
#include "verify/verify.h"

typedef struct gs_buffer {
    gs_pointer base, home, at;   /* the allocation; the operand's usual address in it; its present address, with guard bands before and behind its bytes */
    size_t     bytes;
} gs_buffer;

/* A row or a column of D; the other one is -1. */
typedef struct gs_odd_line {
    int64_t row, col;
} gs_odd_line;

/* Where gs_check_run_poke put an infinity and a NaN into A and B. */
typedef struct gs_poked {
    bool    any, nan_in_a;
    bool    in_a, in_b;        /* whether this operand has one of them */
    int64_t row, k_a;          /* of A; rows are counted through all matrices */
    int64_t index;             /* of this row, among the rows that belong to a group */
    int64_t k_b, col;          /* of B, in the matrix that the row is multiplied by */
    gs_odd_line odd_line[8];   /* rows and columns that a bias or scales make NaN or infinite */
    int     odd_lines;
} gs_poked;

typedef struct gs_check_run {
    gs_verifier  *verifier;
    gs_contender *contender;
    gs_watch      watch;
    gs_verdict   *verdict;
    uint32_t      parts;
    uint64_t      seed;        /* of this run of gs_verify */

    gs_problem    asked;       /* what the contender is prepared for */
    gs_problem    problem;     /* the same, with the strides that its matrices have in memory (gs_problem_pool) */
    gs_buffer     operand[GS_OPERANDS];   /* in the order of GS_OPERAND_LETTERS; bytes is 0 for absent ones */
    gs_pointer    tables;      /* batch by pointers: allocation of the arrays of pointers; else 0 */
    gs_pointer    pointers;    /* where they begin in it: less aligned where the operands are */
    gs_pointer    scalars;     /* alpha and beta, if they are in device memory; else 0 */
    gs_pointer    reference;
    gs_blocks     blocks;      /* allocator of the operands and the reference */
    int32_t      *offsets;     /* host copy of the groups' offsets or counts; NULL: none yet */
    uint64_t      hash[GS_OPERANDS];      /* of the inputs, to detect changes */
    uint64_t      pointers_hash;
    int           kind;        /* GS_VALUES_* of the present data */
    int           far;         /* CANCEL data: products of A and B are 2^far times as large, and alpha 2^(lift - far) times */
    int           lift;        /* CANCEL data: results are 2^lift times as large */
    gs_poked      poked;       /* special values that were put into the data */
    uint32_t      poison;      /* of the last launch */
    uint32_t      around;      /* pattern in the guard bands of outputs */
    int           launches;    /* launches over poison so far */
    int           moves;       /* times that the operands were moved to less aligned addresses */
    int           routes;      /* routings drawn for edge problems or part 8 */
    /* From the next data on, operands lie as in programs: at multiples of 512 bytes, and matrices by pointers in order (gs_pool_align). */
    bool          in_order, packed;
    bool          aligned;     /* they lie so now; in some edge problems only the matrices by pointers do */
    bool          no_rows;     /* the next data give no group a row */
    bool          near;        /* CANCEL data are not scaled (far, lift) */
    gs_uneven     uneven;      /* of NORMAL data, while uneven_launch shows them; else none */
    bool          null_c;      /* with the present data C is NULL, if there is none: with every second data */
    bool          without_c;   /* the problem that the contender was prepared for has a beta of 0; one in device memory may be 0 all the same */
    bool          in_place;    /* gs_check_run_launch passes D's memory as C */
    bool          bare;        /* part 8: no reference, results are compared with each other */
    bool          edge;        /* an edge problem of part 5: the verdict's reason names it */
    bool          once;        /* the contender is a kernel of ours or a user's, which must round results once */
    bool          explains;    /* looking for the cause of a wrong result: groups are not drawn again */
    bool          right;       /* a launch since prepare gave a right result */
    bool          of_aux;      /* the last comparison found D right and aux wrong */
    bool          of_sums;     /* the last comparison found D right and the gradient of the bias wrong */
} gs_check_run;

static inline bool gs_check_run_failed(const gs_check_run *trial) { return trial->verdict->code != GS_VERDICT_PASS; }

/* Prepares the contender. A refusal becomes the verdict. */
gs_status gs_check_run_prepare(gs_check_run *trial, const gs_problem *problem, gs_error *error);

/* Allocates the operands with their guard bands, and the reference. least: as for gs_check_run_move. as_timed: in one of as many places as timing has sets of operands. */
gs_status gs_check_run_alloc(gs_check_run *trial, bool as_timed, bool least, gs_error *error);
void      gs_check_run_free(gs_check_run *trial);

/* Moves the operands. least false: to their usual addresses. least true: to addresses that are aligned as the contender demands (gs_contender.align) and no better; every second
 * time all operands, else one, and the others by the seed at their usual address or a power of two times that alignment behind it. Data must be generated again. */
gs_status gs_check_run_move(gs_check_run *trial, bool least, gs_error *error);

/* Generates the inputs and the reference, and keeps the inputs' hashes. c_kind: the data of C; -1: the same kind, or NaN when beta is 0 (gs_operand_c_kind). */
gs_status gs_check_run_data(gs_check_run *trial, int kind, int c_kind, gs_error *error);

/* Makes the products of the CANCEL data generated next 2^far times as large and alpha smaller by as much, and prepares the contender for that alpha. far 0 undoes it. */
gs_status gs_check_run_far(gs_check_run *trial, int far, gs_error *error);

/* Makes products and results of the CANCEL data generated next 2^lift times as large; alpha stays. Nothing may be scaled before. */
static inline void gs_check_run_lift(gs_check_run *trial, int lift) { trial->far = trial->lift = lift; }

/* Draws the groups for a kind of data (route.c). Does nothing without groups. */
gs_status gs_check_run_route(gs_check_run *trial, int kind, gs_error *error);

/* Generates the present kind of data again at the operands' present addresses, without special values put in. The reference is not computed: it is right already. */
gs_status gs_check_run_refill(gs_check_run *trial, gs_error *error);

/* Part 8 takes rows from a pool: row i of each matrix is row (i * step + from) mod pool of the pool. */
typedef struct gs_pool_rows {
    int64_t pool, step, from;
} gs_pool_rows;
static inline int64_t gs_pool_row(const gs_pool_rows *rows, int64_t row) { return (row * rows->step + rows->from) % rows->pool; }

/* Generates inputs with rows of a pool, and no reference. kind: GS_VALUES_WIDE, where most sums cancel, or GS_VALUES_NORMAL. */
gs_status gs_check_run_rows(gs_check_run *trial, int kind, const gs_pool_rows *rows, gs_error *error);

/* Poisons all outputs and the workspaces (zero: fills them with zeros), launches, waits, and checks the memory (part 6). */
gs_status gs_check_run_launch(gs_check_run *trial, bool zero, gs_error *error);

/* Before a launch over outputs that other data left: poisons the workspaces, which a new prepare may have replaced, and fills the gradient of a bias with numbers, because data
 * with a NaN leave nothing but NaN in it. */
gs_status gs_check_run_age(gs_check_run *trial, gs_error *error);

/* Launches as timing does: outputs and workspaces hold what the launch before left. */
gs_status gs_check_run_launch_stale(gs_check_run *trial, gs_error *error);

/* Whether C and D may be the same matrix: their layouts are equal, and for a library packed and without groups. And whether D is aligned as the contender demands of C. */
bool gs_check_run_may_be_in_place(const gs_check_run *trial);
bool gs_check_run_is_aligned_in_place(const gs_check_run *trial);

/* Changes one element of A and one of B, and updates the reference and the hashes. Integer data stay exact. m, n and k must not be 0. */
gs_status gs_check_run_change(gs_check_run *trial, gs_error *error);

/* Puts an infinity into A and a NaN into B, or (nan_in_a) the other way round, and further special values into other lines and operands (poke.c). Updates the reference and the
 * hashes. m, n and k must not be 0. */
gs_status gs_check_run_poke(gs_check_run *trial, bool nan_in_a, gs_error *error);

/* For problems with few rows or columns, groups of one row, or no products: one launch for the special values of each operand, put into data of the kind. Does nothing for other
 * problems, and for libraries. */
gs_status gs_check_run_few(gs_check_run *trial, int part, int kind, double tolerance, gs_error *error);

/* Whether D depends on operands other than A and B. */
static inline bool gs_check_run_has_others(const gs_problem *p) { return p->beta != 0 || gs_adds_bias(p) || p->scales || gs_is_gradient(p->activation); }

/* Overwrites the 16-bit unit at index `at` of an operand (0: A, 1: B, ...), and updates its hash. The reference stays. */
gs_status gs_check_run_put(gs_check_run *trial, int operand, int64_t at, uint16_t element, gs_error *error);

/* The addresses of the operands; the same with arrays of pointers, as a launch gets them. */
gs_args gs_check_run_args(const gs_check_run *trial);
gs_args gs_check_run_launch_args(const gs_check_run *trial);

/* The same launch by another contender, which is not verified: its memory is not checked. */
gs_status gs_check_run_launch_other(gs_check_run *trial, gs_contender *other, gs_error *error);

/* Compares D and, if D is right, the gradient of a bias and aux. The counts are those of the output that is wrong. */
gs_status gs_check_run_compare(gs_check_run *trial, double tolerance, gs_check_counts *counts, gs_error *error);
gs_status gs_check_run_output_hash(gs_check_run *trial, uint64_t *hash, gs_error *error);

/* Writes the verdict. format: its reason. */
void gs_check_run_blame(gs_check_run *trial, gs_verdict_code code, int part, const char *format, ...) GS_PRINTF(4, 5);

/* Writes the first mismatch of the last comparison to the verdict, and describes it in text. */
#define GS_WHERE 192
gs_status gs_check_run_describe(gs_check_run *trial, const gs_check_counts *counts, char text[GS_WHERE], gs_error *error);

/* Write the verdict for GS_VALUES_INDEX or GS_VALUES_RANGE data, whose outputs are single products, from what the first mismatch shows. where: from gs_check_run_describe. */
gs_status gs_check_run_blame_index(gs_check_run *trial, const gs_check_counts *counts, const char *where, gs_error *error);
void      gs_check_run_blame_range(gs_check_run *trial, int part, const gs_check_counts *counts, const char *where);

/* Launches over poison on the data in place, and judges the result. part: 1 to 5. */
gs_status gs_check_run_judge(gs_check_run *trial, int part, double tolerance, gs_error *error);

/* Finds the most specific reason for a wrong result of the last launch, and writes the verdict. part: 1 to 5. */
gs_status gs_check_run_diagnose(gs_check_run *trial, int part, double tolerance, const gs_check_counts *counts, gs_error *error);

/* Part 8: rows of a pool at other places, beside other rows and with other M, which the contender may refuse. *taken: number of launches. The trial must hold no buffers. */
gs_status gs_verify_rows(gs_check_run *trial, const gs_problem *problem, int *taken, gs_error *error);

/* Part 5: derived problems, each of which the contender may refuse. *offered: their number; *taken: those not refused. The trial must hold no buffers. */
gs_status gs_verify_edges(gs_check_run *trial, const gs_problem *problem, int *taken, int *offered, gs_error *error);

#endif
