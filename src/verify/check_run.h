/* SPDX-License-Identifier: MIT
 * A trial: one contender on one problem, with guarded buffers, test data, their reference, and launches over poison.
 * Functions return the state of the machine; what the contender did wrong is written to the verdict, and gs_check_run_failed says so. */
#ifndef GS_VERIFY_CHECK_RUN_H
#define GS_VERIFY_CHECK_RUN_H

#include "checks/watch.h"
#include "operands/blocks.h"
#include "verify/verify.h"

typedef struct gs_buffer {
    gs_pointer base, home, at;   /* allocation; where it was put there; first element: guard bands lie before it and behind the last */
    size_t     bytes;
} gs_buffer;

/* A row of D, or a column: the other is -1. */
typedef struct gs_odd_line {
    int64_t row, col;
} gs_odd_line;

/* Where A and B have been given an infinity and a NaN. */
typedef struct gs_poked {
    bool    any, nan_in_a;
    bool    in_a, in_b;        /* whether that operand has */
    int64_t row, k_a;          /* of A, of the rows of all matrices */
    int64_t index;             /* of the row among those that are used */
    int64_t k_b, col;          /* of B, of the same matrix */
    gs_odd_line odd_line[8];   /* to which a bias or scales have given a NaN or an infinity */
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
    gs_problem    problem;     /* the same as it lies in memory: gs_problem_pool */
    gs_buffer     operand[GS_OPERANDS];   /* a b c d, the bias, the offsets, aux and the scales, if there are any */
    gs_pointer    tables;      /* allocation of the pointers to the matrices of a batch by pointers, else 0, */
    gs_pointer    pointers;    /* and where they begin there: aligned as gs_buffer.at is */
    gs_pointer    scalars;     /* alpha and beta where they are in device memory, else 0 */
    gs_pointer    reference;
    gs_blocks     blocks;      /* where operands and the reference come from */
    int32_t      *offsets;     /* of the groups, as they were drawn; NULL: none yet */
    uint64_t      hash[GS_OPERANDS];      /* of the inputs */
    uint64_t      pointers_hash;
    int           kind;        /* of the data */
    int           far;         /* products of CANCEL are larger by so many powers of two, and the problem's alpha is smaller */
    int           lift;        /* results of CANCEL are larger by so many: of far, alpha leaves them */
    gs_poked      poked;       /* and what has been put into the data */
    uint32_t      poison;      /* of the last launch */
    uint32_t      around;      /* what D's guard bands hold */
    int           launches;    /* over poison */
    int           veils;       /* of the reference */
    int           moves;       /* of the operands, to where they are less aligned */
    int           routes;      /* groups that edge problems, or the launches of part 8, have had */
    bool          in_order;    /* operands shall lie as programs have them, at multiples of 512 bytes, and matrices by pointers as those of one tensor do (gs_pool_align), from the next data on; */
    bool          aligned;     /* and do; of edge problems the matrices alone, of some */
    bool          no_rows;     /* of the data that are made next, no row belongs to a group */
    bool          near;        /* products stay as they are, whatever the part */
    bool          in_place;    /* launches over poison have C where D is */
    bool          bare;        /* there is no reference: results are compared with each other */
    bool          edge;        /* the problem is one of part 5's: reasons name it */
    bool          once;        /* the contender is a kernel, ours or a user's, and rounds its results once */
    bool          explains;    /* a result was wrong and its cause is looked for: groups stay as they are */
    bool          right;       /* a launch since prepare gave a right result */
    bool          of_aux;      /* D was right, and what was compared last is aux, */
    bool          of_sums;     /* or the gradient of a bias */
} gs_check_run;

static inline bool gs_check_run_failed(const gs_check_run *trial) { return trial->verdict->code != GS_VERDICT_PASS; }

/* Prepares the contender. A refusal is a verdict. */
gs_status gs_check_run_prepare(gs_check_run *trial, const gs_problem *problem, gs_error *error);

/* Allocates the buffers of the problem, with their guard bands. least: as in gs_check_run_move, else as_timed: where timing may place them, one of so many sets. */
gs_status gs_check_run_alloc(gs_check_run *trial, bool as_timed, bool least, gs_error *error);
void      gs_check_run_free(gs_check_run *trial);

/* Where the operands lie from now on: as they were allocated, or, least, at addresses that are multiples of what the contender asks for (gs_contender.align): every second
 * time all of them of no more, else each as the seed says, at home or at a power of two times that behind. Their data are made anew. */
gs_status gs_check_run_move(gs_check_run *trial, bool least, gs_error *error);

/* Generates A, B and C (NaN when beta is 0, or c_kind when it is not -1) and the reference; remembers the inputs' hashes. */
gs_status gs_check_run_data(gs_check_run *trial, int kind, int c_kind, gs_error *error);

/* Moves the products of CANCEL far from 1, and alpha the other way: what is prepared from now on has it. Of a contender that rounds once, where that can be; 0 brings both back. */
gs_status gs_check_run_far(gs_check_run *trial, int far, gs_error *error);

/* Moves the products of the CANCEL data that are made next, and results with them: alpha stays. Nothing may be moved before. */
static inline void gs_check_run_lift(gs_check_run *trial, int lift) { trial->far = trial->lift = lift; }

/* Draws other groups for each kind of data (route.c); nothing where there are none. */
gs_status gs_check_run_route(gs_check_run *trial, int kind, gs_error *error);

/* The same data once more, where the operands lie now, without what has been put into them; the reference is right already. */
gs_status gs_check_run_refill(gs_check_run *trial, gs_error *error);

/* Rows of a pool in place of the problem's own: row i, of each matrix, is the (i * step + from)-th of so many. */
typedef struct gs_pool_rows {
    int64_t pool, step, from;
} gs_pool_rows;
static inline int64_t gs_pool_row(const gs_pool_rows *rows, int64_t row) { return (row * rows->step + rows->from) % rows->pool; }

/* The inputs of gs_check_run_data, of such rows, for a trial without a reference. kind: GS_VALUES_WIDE, sums of most of which cancel, or GS_VALUES_NORMAL. */
gs_status gs_check_run_rows(gs_check_run *trial, int kind, const gs_pool_rows *rows, gs_error *error);

/* Poisons what is written, D and what is beside it, and the workspaces (zero: fills them with zeros instead), launches, waits, looks after the memory. */
gs_status gs_check_run_launch(gs_check_run *trial, bool zero, gs_error *error);

/* For a launch over old outputs that another problem's come from: the workspaces are poisoned, they may be others; the gradient of a bias has numbers, not the NaN that data with some
 * have left in all of it. */
gs_status gs_check_run_age(gs_check_run *trial, gs_error *error);

/* As when it is timed: D and the workspace hold what the launch before left. */
gs_status gs_check_run_launch_stale(gs_check_run *trial, gs_error *error);

/* Whether C may be D: both lie alike. Libraries are asked for packed ones only. And whether D is aligned as C must be. */
bool gs_check_run_may_be_in_place(const gs_check_run *trial);
bool gs_check_run_is_aligned_in_place(const gs_check_run *trial);

/* Changes one element of A and one of B, and with them the reference and the hashes. Integer data stay exact. m, n and k must not be 0. */
gs_status gs_check_run_change(gs_check_run *trial, gs_error *error);

/* An infinity in one element of A and a NaN in one of B, or the other way round, somewhere; everything else stays. m, n and k must not be 0. */
gs_status gs_check_run_poke(gs_check_run *trial, bool nan_in_a, gs_error *error);

/* Another element at so many from the first of A (operand 0) or B (1), and the hash that is its own then. The reference stays. */
gs_status gs_check_run_put(gs_check_run *trial, int operand, int64_t at, uint16_t element, gs_error *error);

/* Where its operands are, and what it is launched with. */
gs_args gs_check_run_args(const gs_check_run *trial);
gs_args gs_check_run_launch_args(const gs_check_run *trial);

/* The same launch by another contender, which is not on trial and is not looked after. */
gs_status gs_check_run_launch_other(gs_check_run *trial, gs_contender *other, gs_error *error);

/* D, and where that is right what is written beside it, aux and the gradient of a bias: the counts are of the one that is wrong. */
gs_status gs_check_run_compare(gs_check_run *trial, double tolerance, gs_check_counts *counts, gs_error *error);
gs_status gs_check_run_output_hash(gs_check_run *trial, uint64_t *hash, gs_error *error);

/* Writes a verdict. */
void gs_check_run_blame(gs_check_run *trial, gs_verdict_code code, int part, const char *format, ...) GS_PRINTF(4, 5);

/* First mismatch of the launch before into the verdict, and into a line. */
#define GS_WHERE 192
gs_status gs_check_run_describe(gs_check_run *trial, const gs_check_counts *counts, char text[GS_WHERE], gs_error *error);

/* What the first mismatch of the launch before says about single products, where the data are GS_VALUES_INDEX or GS_VALUES_RANGE, into the verdict. */
gs_status gs_check_run_blame_index(gs_check_run *trial, const gs_check_counts *counts, const char *where, gs_error *error);
void      gs_check_run_blame_range(gs_check_run *trial, int part, const gs_check_counts *counts, const char *where);

/* Finds the most specific reason for a wrong result of the launch before, and writes the verdict. part: 1 to 5. */
gs_status gs_check_run_diagnose(gs_check_run *trial, int part, double tolerance, const gs_check_counts *counts, gs_error *error);

/* Part 8: rows of a pool beside other rows and at other places, for other M, which the contender may refuse. *taken: how many launches there were. The trial's buffers must be free. */
gs_status gs_verify_rows(gs_check_run *trial, const gs_problem *problem, int *taken, gs_error *error);

/* Part 5: derived problems, each of which the contender may refuse. *taken counts those it did not. The trial's buffers must be
 * free. */
gs_status gs_verify_edges(gs_check_run *trial, const gs_problem *problem, int *taken, int *offered, gs_error *error);

#endif
