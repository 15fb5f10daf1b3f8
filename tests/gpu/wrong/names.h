/* SPDX-License-Identifier: MIT
 * The faults of faults.cu, as code for the host and, through WRONG, as text for the device compiler. */
WRONG(enum {
    /* honest, though odd */
    HONEST, REVERSED, INTERLEAVED, BLOCKWISE, PAIRWISE, WORKSPACE_WRITTEN_FIRST, COUNTS_TICKETS,
    /* less precision than declared */
    F16_SUM, F16_PARTIALS, SHORT_INPUTS, TRUNCATED,
    /* wrong elements */
    LOST_K_TAIL, LOST_LAST_BLOCK, DOUBLED_TERM, SWAPPED_HALVES, TRANSPOSED_TILE, MISSING_TILE, ZERO_TILE, EVEN_ROWS, CONSTANT, IGNORED_LD,
    /* scalars and special values */
    READS_C, IGNORED_ALPHA, IGNORED_BETA, SWALLOWED_NAN, CLAMPED_INF,
    /* memory */
    BEHIND_D, BEFORE_D, IN_PADDING, BEHIND_WORKSPACE, CHANGED_A, CHANGED_B, ADDS_TO_D, ADDS_TO_WORKSPACE, LEAVES_TICKETS, FINDS_OUTPUT,
    FINDS_MARK,
    /* time */
    REMEMBERS, CLOCKED_ORDER, CLOCKED_VALUE,
    FAULTS
};)
