/* SPDX-License-Identifier: MIT
 * Single elements that are overwritten in operands already on the device: infinities, NaNs and other values that a verification at the requested size must contain. The rows and
 * columns of the reference that depend on them are computed again. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "common/epilogue.h"
#include "problem/layout.h"
#include "routing/routing.h"
#include "verify/check_run.h"

#define SHORT_VECTOR 4    /* elements: a shorter vector gets one special value only */
#define LEAST_VECTOR 12   /* elements: in a shorter vector special values would leave too few elements to judge */

/* The number of rows of D that are written, and which row the index-th of them is. */
static int64_t rows_of(const gs_check_run *trial) { return gs_rows_used(&trial->problem, trial->offsets); }
static int64_t row_of(const gs_check_run *trial, int64_t index) { return gs_row_used(&trial->problem, trial->offsets, index); }

static uint16_t infinity_of(const gs_problem *p) { return p->in == GS_BF16 ? 0x7f80 : 0x7c00; }

/* Quiet or signalling. */
static uint16_t nan_of(const gs_problem *p, bool negative, uint64_t bits)
{
    return (uint16_t)(infinity_of(p) | negative << 15 | (1 + gs_pick_below(bits, p->in == GS_BF16 ? 0x7f : 0x3ff)));
}

enum { ANYWHERE, FIRST, LAST };   /* within a group's range of K */
/* A random k, often near an end of the sum; with groups along K at an end of a group's range. */
static int64_t place_of(const gs_check_run *trial, uint64_t bits, int where)
{
    const gs_problem *const p = &trial->problem;
    for (int64_t i = 0; p->grouping == GS_GROUPS_K && i < p->batch; i++) {   /* the first non-empty group from a random one on */
        const int64_t group = (gs_pick_below(gs_mix(bits + 1), p->batch) + i) % p->batch, from = trial->offsets[group], count = trial->offsets[group + 1] - from;
        if (count > 0) return from + (where == FIRST ? 0 : where == LAST ? count - 1 : gs_special_place(bits, count));
    }
    return gs_special_place(bits, p->k);
}

/* The hash is a sum over all elements (gs_verify_hash), so one term of it is replaced. */
gs_status gs_check_run_put(gs_check_run *trial, int operand, int64_t at, uint16_t element, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    const gs_pointer to = trial->operand[operand].at + (gs_pointer)at * sizeof element;
    const uint64_t place = (uint64_t)at * 0x9e3779b97f4a7c15ull + 1;
    uint16_t before;
    GS_TRY(device->ops->copy_out(device, &before, to, sizeof before, error));
    GS_TRY(device->ops->copy_in(device, to, &element, sizeof element, error));
    trial->hash[operand] += gs_mix(place + element) - gs_mix(place + before);
    return GS_OK;
}

/* Writes the upper 16 bits of an element of any type, which is all that these numbers need; an f32's lower half becomes 0. */
static gs_status put_upper(gs_check_run *trial, int operand, int64_t at, uint16_t element, gs_error *error)
{
    const int wide = gs_shape_of(&trial->problem, GS_OPERAND_LETTERS[operand]).type == GS_F32;
    if (wide) GS_TRY(gs_check_run_put(trial, operand, 2 * at, 0, error));
    return gs_check_run_put(trial, operand, wide ? 2 * at + 1 : at, element, error);
}

/* The matrix of B that a row is multiplied by, and the range of rows that are multiplied by it. */
static void matrix_of(const gs_check_run *trial, int64_t row, int64_t *matrix, int64_t *first, int64_t *rows)
{
    const gs_problem *const p = &trial->problem;
    *matrix = row / p->m;
    *first = *matrix * p->m;
    *rows = p->m;
    if (!gs_has_offsets(p)) return;
    *matrix = gs_group_of_row(p, trial->offsets, row);
    const gs_group_rows of = gs_rows_of_group(p, trial->offsets, *matrix);
    *first = of.first;
    *rows = of.rows;
}

/* Computes a row of the reference again; where all matrices share one A, this row of every matrix. */
static gs_status refer_row(gs_check_run *trial, int64_t row, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const gs_pointer at[] = {trial->operand[0].at, trial->operand[1].at, trial->operand[2].at};
    const bool same = gs_shape_of(p, 'a').matrices < p->batch;
    int64_t matrix, first, rows;
    matrix_of(trial, row, &matrix, &first, &rows);
    for (int64_t batch = 0; same && batch < p->batch; batch++)
        GS_TRY(gs_reference_row(trial->verifier, p, at, trial->offsets, batch, batch * p->m + row % p->m, trial->reference, trial->verifier->queue, error));
    return same ? GS_OK : gs_reference_row(trial->verifier, p, at, trial->offsets, matrix, row, trial->reference, trial->verifier->queue, error);
}

/* Computes a column of the reference again, in the matrix of the row; where all matrices share one B, in every matrix. */
static gs_status refer_col(gs_check_run *trial, int64_t row, int64_t col, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const gs_pointer at[] = {trial->operand[0].at, trial->operand[1].at, trial->operand[2].at};
    const bool same = gs_shape_of(p, 'b').matrices < p->batch;
    int64_t matrix, first, rows;
    matrix_of(trial, row, &matrix, &first, &rows);
    for (int64_t i = 0; same && i < p->batch; i++)
        GS_TRY(gs_reference_col(trial->verifier, p, at, trial->offsets, i, i * p->m, p->m, col, trial->reference, trial->verifier->queue, error));
    return same ? GS_OK : gs_reference_col(trial->verifier, p, at, trial->offsets, matrix, first, rows, col, trial->reference, trial->verifier->queue, error);
}

/* 0 becomes 1, anything else 0: no sum of magnitudes exceeds the bound of its plan. */
static gs_status change_element(gs_check_run *trial, int operand, int64_t at, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    uint16_t element;
    GS_TRY(device->ops->copy_out(device, &element, trial->operand[operand].at + (gs_pointer)at * sizeof element, sizeof element, error));
    return gs_check_run_put(trial, operand, at, (element & 0x7fff) != 0 ? 0 : trial->problem.in == GS_BF16 ? 0x3f80 : 0x3c00, error);
}

/* The element of A changes a row of D, that of B a column: a contender that looks at only a few elements of each row misses one of the changes. */
gs_status gs_check_run_change(gs_check_run *trial, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const uint64_t bits = gs_mix(trial->seed + 0x3c6ef372u), more = gs_mix(bits + 1);
    const int64_t rows = rows_of(trial);
    if (rows == 0) return GS_OK;
    const int64_t row = row_of(trial, gs_pick_below(bits, rows)), col = gs_pick_below(more, gs_columns_of_b(p));
    int64_t matrix, first, count;
    matrix_of(trial, row, &matrix, &first, &count);
    GS_TRY(change_element(trial, 0, gs_place_in_a(p, row, gs_pick_below(gs_mix(bits), p->k)), error));
    GS_TRY(change_element(trial, 1, gs_place_in_b(p, matrix, gs_pick_below(gs_mix(more), p->k), col), error));
    GS_TRY(refer_row(trial, row, error));
    return refer_col(trial, row, col, error);
}

/* Fills row `row` of A with zeros. */
static gs_status clear_row(gs_check_run *trial, int64_t row, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    const gs_problem *const p = &trial->problem;
    if (gs_is_a_transposed(p->layout)) {   /* one element of each stored row */
        for (int64_t k = 0; k < p->k; k++) GS_TRY(gs_check_run_put(trial, 0, gs_place_in_a(p, row, k), 0, error));
        return GS_OK;
    }
    const size_t bytes = (size_t)p->k * sizeof(uint16_t);
    const gs_pointer to = trial->operand[0].at + (gs_pointer)gs_place_in_a(p, row, 0) * sizeof(uint16_t);
    uint16_t *const line = malloc(bytes);
    if (!line) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a row");
    gs_status status = device->ops->copy_out(device, line, to, bytes, error);
    for (int64_t k = 0; k < p->k; k++) {
        const uint64_t place = (uint64_t)gs_place_in_a(p, row, k) * 0x9e3779b97f4a7c15ull + 1;
        trial->hash[0] += gs_mix(place) - gs_mix(place + line[k]);
    }
    memset(line, 0, bytes);
    if (status == GS_OK) status = device->ops->copy_in(device, to, line, bytes, error);
    free(line);
    return status;
}

/* Two outputs at the largest number of D's type, one product each. f16: 1008 * 65 = 65520 is the smallest that rounds to infinity, 636 * 103 = 65508 rounds to the largest
 * number. bf16: 7 2^119 * 73 and 83 2^114 * 197 do the same. Their rows of A are zero otherwise, and the elements put into B are small. */
static gs_status put_edges_of_type(gs_check_run *trial, int64_t rows, uint64_t bits, gs_error *error)
{
    static const uint16_t a[3][2] = {{0x63e0, 0x60f8}, {0x447c, 0x441f}, {0x7c60, 0x7ba6}}, b[3][2] = {{0x5410, 0x5670}, {0x4282, 0x42ce}, {0x4292, 0x4345}};   /* [f16, bf16 to f16, bf16][which] */
    const gs_problem *const p = &trial->problem;
    const int type = p->out == GS_BF16 ? 2 : p->in == GS_BF16;
    if (p->out == GS_F32 || p->acc != GS_F32 || p->alpha != 1 || gs_has_epilogue(p) || rows < 3 || p->n < 3) return GS_OK;
    for (int i = 0; i < 2; i++) {
        const uint64_t more = gs_mix(bits + (uint64_t)i + 1);
        const int64_t row = row_of(trial, (trial->poked.index + 1 + i) % rows), col = (trial->poked.col + 1 + i) % p->n, k = gs_pick_below(more, p->k);
        int64_t batch, first, count;
        matrix_of(trial, row, &batch, &first, &count);
        GS_TRY(clear_row(trial, row, error));
        GS_TRY(gs_check_run_put(trial, 0, gs_place_in_a(p, row, k), a[type][i] | (uint16_t)((more & 1) << 15), error));
        GS_TRY(gs_check_run_put(trial, 1, gs_place_in_b(p, batch, k, col), b[type][i], error));
        GS_TRY(refer_row(trial, row, error));
        GS_TRY(refer_col(trial, row, col, error));
    }
    return GS_OK;
}

/* One row gets the special value with the other sign at the same k; another gets it at several k, as a signalling NaN if the first was quiet and the other way round. */
static gs_status put_into_other_rows(gs_check_run *trial, int64_t rows, uint16_t element, uint64_t bits, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const uint16_t quiet = p->in == GS_BF16 ? 0x40 : 0x200, fraction = p->in == GS_BF16 ? 0x7f : 0x3ff;
    for (int i = 0; i < 2 && rows > 4; i++) {
        const int64_t row = row_of(trial, (trial->poked.index + 3 + i) % rows);
        for (int j = 0; j < 1 + 3 * i; j++)
            GS_TRY(gs_check_run_put(trial, 0, gs_place_in_a(p, row, i == 0 && trial->poked.in_a ? trial->poked.k_a : place_of(trial, gs_mix(bits + (uint64_t)(i + j)), ANYWHERE)), element, error));
        GS_TRY(refer_row(trial, row, error));
        if (element & fraction) element = (uint16_t)((element ^ quiet) | 1);
    }
    return GS_OK;
}

static const uint16_t odd_numbers[2][3] = {{0x7e01, 0x7c00, 0x7b00}, {0x7fc1, 0x7f80, 0x4980}};   /* NaN, infinity, a large number (57344, 2^20): [f16, upper half of bf16 and f32] */

/* Computes the reference of a row of C again, in every matrix if all share one C. */
static gs_status refer_row_of_c(gs_check_run *trial, int64_t row, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const int64_t matrices = gs_shape_of(p, 'c').matrices < p->batch ? p->batch : 1;
    for (int64_t batch = 0; batch < matrices; batch++) GS_TRY(refer_row(trial, matrices > 1 ? batch * p->m + row % p->m : row, error));
    return GS_OK;
}

/* The row that A's first or second infinity (which) makes infinite, counted through all matrices; with few rows the first one's. With groups along K in the matrix to whose range
 * of K the first infinity's place belongs. */
static int64_t infinite_row(const gs_check_run *trial, int64_t rows, int which)
{
    const gs_problem *const p = &trial->problem;
    const int64_t row = which && rows > 4 ? row_of(trial, (trial->poked.index + 3) % rows) : trial->poked.row;
    int64_t matrix = p->grouping == GS_GROUPS_K ? 0 : row / p->m;
    while (p->grouping == GS_GROUPS_K && matrix + 1 < p->batch && trial->offsets[matrix + 1] <= trial->poked.k_a) matrix++;
    return matrix * p->m + row % p->m;
}

/* Overwrites an element of C or an aux with one of odd_numbers. */
static gs_status put_odd(gs_check_run *trial, int operand, int64_t row, int64_t col, int which, bool negative, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const gs_placed placed = gs_placed_of(p, GS_OPERAND_LETTERS[operand]);
    return put_upper(trial, operand, gs_placed_shared(&placed, row, col), odd_numbers[p->out != GS_F16][which] | (uint16_t)(negative << 15), error);
}

/* Puts NaN and infinities of both signs into such a row of C or an aux, each into a column of its own. */
static gs_status put_into_infinite(gs_check_run *trial, int operand, int64_t row, uint64_t bits, gs_error *error)
{
    enum { NUMBERS = 8 };
    const int64_t n = trial->problem.n, part = (n - 1) / NUMBERS;   /* beside poked.col */
    for (int i = 0; i < NUMBERS; i++)
        GS_TRY(put_odd(trial, operand, row, (trial->poked.col + 1 + i * part + gs_pick_below(gs_mix(bits + (uint64_t)i), part)) % n, i > 1, i & 1, error));
    return GS_OK;
}

/* Puts a NaN, an infinity and a large number into C where it is read: beside finite products, in the rows that A's special values make infinite or NaN, and one NaN and one
 * infinity in every row or column that a bias or scales make NaN or infinite. */
static gs_status put_into_c(gs_check_run *trial, int64_t rows, uint64_t bits, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const gs_poked *const to = &trial->poked;
    const int count = p->acc == GS_F16 || p->gate ? 2 : 3;   /* f16 sums cannot hold the large one */
    const bool wide = p->n >= LEAST_VECTOR;
    if (p->beta == 0) return GS_OK;
    for (int which = 0; wide && which < 2; which++) {
        const int64_t row = infinite_row(trial, rows, which);
        GS_TRY(put_into_infinite(trial, 2, row, bits + (uint64_t)which, error));
        GS_TRY(refer_row_of_c(trial, row, error));
    }
    for (int i = 0; i < count; i++) {   /* in an order by the seed: a D of one element keeps the last */
        const uint64_t more = gs_mix(bits + (uint64_t)i);
        const int64_t row = row_of(trial, (to->index + 5 + i) % rows);
        GS_TRY(put_odd(trial, 2, row, gs_pick_below(more, p->n), (int)((bits + (uint64_t)i) % (uint64_t)count), more & 1, error));
        GS_TRY(refer_row_of_c(trial, row, error));
    }
    for (int i = 0; wide && i < 2 * to->odd_lines; i++) {
        const uint64_t more = gs_mix(bits + (uint64_t)(count + i));
        const gs_odd_line *const line = &to->odd_line[i / 2];
        const int64_t row = line->row >= 0 ? line->row : row_of(trial, gs_pick_below(gs_mix(more), rows));
        GS_TRY(put_odd(trial, 2, row, line->col >= 0 ? line->col : gs_pick_below(more, p->n), i & 1, more & 1, error));
        GS_TRY(refer_row_of_c(trial, row, error));
    }
    return GS_OK;
}

/* Puts a NaN and an infinity, and into a bias also a large number, into a bias or scales. The reference does not depend on either: they are applied when results are compared. */
static gs_status put_into_vector(gs_check_run *trial, int operand, uint64_t bits, int64_t least, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const gs_shape s = gs_shape_of(p, GS_OPERAND_LETTERS[operand]);
    const bool along_m = operand == 7 || (operand == 4 && p->bias == GS_BIAS_M);
    const int kinds = operand == 4 && p->acc == GS_F32 && !p->gate ? 3 : 2, from = (int)(bits & 1), count = s.row >= SHORT_VECTOR ? kinds : 1;
    if (s.rows == 0 || s.row < least) return GS_OK;
    for (int i = 0; i < count; i++) {
        const uint64_t more = gs_mix(bits + (uint64_t)i);
        const int64_t part = s.row / (count > 1 ? 3 : 1), which = (from + (int64_t)i * part + gs_pick_below(gs_mix(more), part)) % s.row, at = gs_pick_below(more, s.rows) * s.ld + which;
        const int kind = count > 1 ? i : (int)((bits >> 8) % (uint64_t)kinds);
        const uint16_t element = odd_numbers[s.type != GS_F16][kind] | (uint16_t)((more & 1) << 15);
        GS_TRY(put_upper(trial, operand, at, element, error));
        if (kind == 2 || p->gate || s.rows > 1 || (along_m && gs_has_offsets(p))) continue;   /* a row that belongs to no group has no result */
        trial->poked.odd_line[trial->poked.odd_lines++] = along_m ? (gs_odd_line){which, -1} : (gs_odd_line){-1, which};
    }
    return GS_OK;
}

/* Normal data are poked only once, so A and B also get the other one of NaN and infinity, in another row and column if there is one: two in one line would hide each other. */
static gs_status put_the_other(gs_check_run *trial, int64_t rows, uint16_t in_a, uint16_t in_b, uint64_t bits, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const int64_t row = row_of(trial, (trial->poked.index + 8) % rows), col = (trial->poked.col + 3) % gs_columns_of_b(p);
    int64_t batch, first, count;
    matrix_of(trial, row, &batch, &first, &count);
    if (row != trial->poked.row) GS_TRY(gs_check_run_put(trial, 0, gs_place_in_a(p, row, place_of(trial, bits, ANYWHERE)), in_a, error));
    if (col != trial->poked.col) GS_TRY(gs_check_run_put(trial, 1, gs_place_in_b(p, batch, place_of(trial, gs_mix(bits), ANYWHERE), col), in_b, error));
    GS_TRY(refer_row(trial, row, error));
    return refer_col(trial, row, col, error);
}

/* Puts a NaN of either sign into an aux that is read, and special values into its rows that A's infinities make infinite. Slopes are applied when results are compared, so the
 * reference does not depend on aux. */
static gs_status put_into_aux(gs_check_run *trial, int64_t rows, uint64_t bits, gs_error *error)
{
    const int64_t n = trial->problem.n;
    for (int which = 0; n >= LEAST_VECTOR && which < 2; which++) GS_TRY(put_into_infinite(trial, 6, infinite_row(trial, rows, which), bits + (uint64_t)which, error));
    for (int i = 0; i < 2; i++) {
        const uint64_t more = gs_mix(bits + (uint64_t)(2 + i));
        GS_TRY(put_odd(trial, 6, row_of(trial, (trial->poked.index + 3 + i) % rows), gs_pick_below(more, n), 0, i, error));
    }
    return GS_OK;
}

/* At the k of A's special value, puts infinities of both signs, a NaN, and a zero with a sign (among fractions the smallest number) into B, each in a column of its own. */
static gs_status put_facing(gs_check_run *trial, int64_t batch, uint16_t inf, uint16_t nan, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const uint16_t element[] = {inf, inf | 0x8000, nan, trial->kind == GS_VALUES_NORMAL ? 1 : 0x8000};
    for (int i = 0; i < 4 && gs_columns_of_b(p) >= 16; i++) {
        const int64_t col = (trial->poked.col + 4 + i) % gs_columns_of_b(p);
        GS_TRY(gs_check_run_put(trial, 1, gs_place_in_b(p, batch, trial->poked.k_a, col), element[i], error));
        GS_TRY(refer_col(trial, trial->poked.row, col, error));
    }
    return GS_OK;
}

/* A random k at which the row of A has a zero, if some tries find one. */
static gs_status place_at_zero(const gs_check_run *trial, int64_t row, uint64_t bits, int64_t *k, gs_error *error)
{
    enum { TRIES = 48 };
    gs_device *const device = trial->verifier->device;
    uint16_t element = 1;
    for (int i = 0; i < TRIES && (element & 0x7fff) != 0; i++) {
        *k = place_of(trial, gs_mix(bits + (uint64_t)i), ANYWHERE);
        GS_TRY(device->ops->copy_out(device, &element, trial->operand[0].at + (gs_pointer)gs_place_in_a(&trial->problem, row, *k) * sizeof element, sizeof element, error));
    }
    return GS_OK;
}

/* Where a matrix has a single row: puts a NaN or an infinity into several columns of B, with a gate mostly columns of up, to detect a kernel that does not read them where the
 * gate is 0. Half of them meet zeros of A. */
static gs_status put_into_columns(gs_check_run *trial, int64_t batch, uint16_t inf, uint16_t nan, uint64_t bits, gs_error *error)
{
    enum { COLUMNS = 6 };
    const gs_problem *const p = &trial->problem;
    for (int i = 0; i < COLUMNS; i++) {
        const uint64_t more = gs_mix(bits + (uint64_t)i);
        const int64_t picked = gs_pick_below(more, p->n), col = p->gate ? gs_gate_column((int)p->gate, p->n, picked, i > 0) : picked;
        int64_t k = place_of(trial, gs_mix(more), ANYWHERE);
        if (i >= COLUMNS / 2) GS_TRY(place_at_zero(trial, trial->poked.row, more, &k, error));
        GS_TRY(gs_check_run_put(trial, 1, gs_place_in_b(p, batch, k, col), i & 1 ? nan : inf | (uint16_t)((more & 1) << 15), error));
        GS_TRY(refer_col(trial, trial->poked.row, col, error));
    }
    return GS_OK;
}

/* Special values in the operands other than A and B. least: the shortest vector that gets any. */
static gs_status put_into_others(gs_check_run *trial, int64_t rows, uint64_t bits, int64_t least, bool c, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    if (gs_is_gradient(p->activation)) GS_TRY(put_into_aux(trial, rows, gs_mix(bits + 9), error));
    if (gs_adds_bias(p)) GS_TRY(put_into_vector(trial, 4, gs_mix(bits + 6), least, error));
    if (p->scales & GS_SCALE_M) GS_TRY(put_into_vector(trial, 7, gs_mix(bits + 7), least, error));
    if (p->scales & GS_SCALE_N) GS_TRY(put_into_vector(trial, 8, gs_mix(bits + 8), least, error));
    return c ? put_into_c(trial, rows, gs_mix(bits + 4), error) : GS_OK;
}

gs_status gs_check_run_poke(gs_check_run *trial, bool nan_in_a, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const uint64_t bits = gs_mix(trial->seed + 0xa54ff53au + nan_in_a), more = gs_mix(bits);
    const uint16_t inf = infinity_of(p), sign = (uint16_t)((bits & 1) << 15), nan = nan_of(p, bits >> 1 & 1, bits);
    const int64_t rows = rows_of(trial);
    int64_t batch, first, count;
    if (rows == 0) return GS_OK;
    gs_poked *const to = &trial->poked;
    *to = (gs_poked){.any = true, .nan_in_a = nan_in_a, .index = gs_pick_below(bits, rows), .col = gs_pick_below(more, gs_columns_of_b(p)),
                     .k_a = place_of(trial, gs_mix(more), nan_in_a ? LAST : FIRST), .k_b = place_of(trial, gs_mix(more + 1), nan_in_a ? FIRST : LAST)};
    to->row = row_of(trial, to->index);
    matrix_of(trial, to->row, &batch, &first, &count);
    to->in_a = nan_in_a || count > 1;   /* with a single row it would hide what B has; with a single column the other way round */
    to->in_b = !nan_in_a || gs_columns_of_b(p) > 1;
    if (!nan_in_a && trial->kind != GS_VALUES_NORMAL) GS_TRY(put_edges_of_type(trial, rows, bits, error));
    if (to->in_a) {
        GS_TRY(gs_check_run_put(trial, 0, gs_place_in_a(p, to->row, to->k_a), nan_in_a ? nan : inf | sign, error));
        GS_TRY(put_facing(trial, batch, inf, nan, error));
    } else GS_TRY(put_into_columns(trial, batch, inf, nan, gs_mix(more + 10), error));
    if (to->in_a && !nan_in_a && p->k > 1)   /* a second infinity in the row, of either sign: makes some outputs NaN */
        GS_TRY(gs_check_run_put(trial, 0, gs_place_in_a(p, to->row, (to->k_a + 1 + gs_pick_below(gs_mix(more + 2), p->k - 1)) % p->k), inf | (uint16_t)((bits >> 2 & 1) << 15), error));
    GS_TRY(put_into_other_rows(trial, rows, nan_in_a ? nan ^ 0x8000 : inf | (sign ^ 0x8000), gs_mix(more + 3), error));
    if (to->in_b) GS_TRY(gs_check_run_put(trial, 1, gs_place_in_b(p, batch, to->k_b, to->col), nan_in_a ? inf | sign : nan, error));
    if (trial->kind == GS_VALUES_NORMAL) GS_TRY(put_the_other(trial, rows, nan_in_a ? inf | sign : nan, nan_in_a ? nan : inf | sign, gs_mix(more + 5), error));
    GS_TRY(put_into_others(trial, rows, more, LEAST_VECTOR, true, error));
    GS_TRY(refer_row(trial, to->row, error));
    return refer_col(trial, to->row, to->col, error);
}

/* ---- few rows or columns, or no products ----
 * gs_check_run_poke leaves a single row of A, a single column of B and short vectors alone: one special value would hide everything else. Here each operand has a launch. */

enum { FEW = 4, FEW_OF_EDGE = 15, MOST_LINES = 8 };   /* rows or columns of a matrix; edge problems are not poked otherwise; lines that get a special value */

static uint16_t special_of(const gs_problem *p, bool nan, uint64_t bits)
{
    return nan ? nan_of(p, bits & 1, gs_mix(bits)) : (uint16_t)(infinity_of(p) | (bits & 1) << 15);
}

/* The number of lines of A (of_b: of B) in all matrices that may get a special value. */
static int64_t lines_of(const gs_check_run *trial, bool of_b)
{
    const gs_problem *const p = &trial->problem;
    const bool same = gs_shape_of(p, of_b ? 'b' : 'a').matrices < p->batch;
    if (!of_b) return same ? p->m : rows_of(trial);
    return gs_columns_of_b(p) * (same ? 1 : p->groups ? p->groups : p->batch);
}

/* A row that is multiplied by this matrix of B; -1: there is none. */
static int64_t row_of_matrix(const gs_check_run *trial, int64_t matrix)
{
    const gs_problem *const p = &trial->problem;
    if (!p->groups) return matrix * p->m;
    const gs_group_rows of = gs_rows_of_group(p, trial->offsets, matrix);
    return of.rows > 0 ? of.first : -1;
}

static gs_status put_into_row(gs_check_run *trial, int64_t row, bool nan, uint64_t bits, gs_error *error)
{
    const int64_t k = place_of(trial, bits, ANYWHERE);
    const uint16_t element = special_of(&trial->problem, nan, bits);
    trial->poked.in_a = true, trial->poked.nan_in_a = nan, trial->poked.row = row, trial->poked.k_a = k;
    GS_TRY(gs_check_run_put(trial, 0, gs_place_in_a(&trial->problem, row, k), element, error));
    return refer_row(trial, row, error);
}

static gs_status put_into_col(gs_check_run *trial, int64_t matrix, int64_t col, bool nan, uint64_t bits, gs_error *error)
{
    const int64_t k = place_of(trial, bits, ANYWHERE), row = row_of_matrix(trial, matrix);
    if (row < 0) return GS_OK;
    const uint16_t element = special_of(&trial->problem, nan, bits);
    trial->poked.in_b = true, trial->poked.nan_in_a = !nan, trial->poked.k_b = k, trial->poked.col = col;
    GS_TRY(gs_check_run_put(trial, 1, gs_place_in_b(&trial->problem, matrix, k, col), element, error));
    return refer_col(trial, row, col, error);
}

/* NaNs and infinities in turn, one in each line. A single line has a NaN in one turn, an infinity in the other. */
static gs_status put_into_lines(gs_check_run *trial, bool of_b, int turn, uint64_t bits, gs_error *error)
{
    const int64_t all = lines_of(trial, of_b), count = GS_MIN(all, MOST_LINES), cols = gs_columns_of_b(&trial->problem), from = all ? gs_pick_below(bits, all) : 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t line = (from + i * all / count) % all;
        const uint64_t more = gs_mix(bits + (uint64_t)i + 1);
        const bool nan = (i + turn) & 1;
        GS_TRY(of_b ? put_into_col(trial, line / cols, line % cols, nan, more, error) : put_into_row(trial, row_of(trial, line), nan, more, error));
    }
    return GS_OK;
}

/* The row of a group of one row; -1: it has none, or more. */
static int64_t lone_row(const gs_check_run *trial, int64_t group)
{
    const gs_group_rows of = gs_rows_of_group(&trial->problem, trial->offsets, group);
    return of.rows == 1 ? of.first : -1;
}

static bool has_lone_row(const gs_check_run *trial)
{
    for (int64_t group = 0; group < trial->problem.groups; group++)
        if (lone_row(trial, group) >= 0) return true;
    return false;
}

static gs_status put_into_lone_rows(gs_check_run *trial, uint64_t bits, gs_error *error)
{
    int count = 0;
    for (int64_t group = 0; group < trial->problem.groups && count < MOST_LINES; group++) {
        const int64_t row = lone_row(trial, group);
        if (row >= 0) GS_TRY(put_into_row(trial, row, (bits + (uint64_t)count++) & 1, gs_mix(bits + (uint64_t)group), error));
    }
    return GS_OK;
}

static bool has_short_vector(const gs_problem *p)
{
    const int64_t bias = gs_adds_bias(p) ? gs_shape_of(p, 'e').row : SHORT_VECTOR;
    return bias < SHORT_VECTOR || (p->scales & GS_SCALE_M && p->m < SHORT_VECTOR) || (p->scales & GS_SCALE_N && gs_columns_of_b(p) < SHORT_VECTOR);
}

/* any false: nothing was done, all turns were taken. */
static gs_status poke_few(gs_check_run *trial, int kind, int turn, bool *any, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const uint64_t bits = gs_mix(trial->seed + 0x1b873593u + (uint64_t)(p->m * 512 + p->n));
    const int64_t few = trial->edge ? FEW_OF_EDGE : FEW;
    const bool products = p->k > 0 && p->alpha != 0, few_rows = p->m <= few, few_cols = gs_columns_of_b(p) <= few;
    const int in_a = !products ? 0 : !few_rows ? has_lone_row(trial) : lines_of(trial, false) == 1 ? 2 : 1, in_b = !products || !few_cols ? 0 : lines_of(trial, true) == 1 ? 2 : 1;
    const int beside = !gs_check_run_has_others(p) || (products && !few_rows && !few_cols) ? 0 : p->beta != 0 && has_short_vector(p) ? 2 : 1;
    *any = rows_of(trial) > 0 && p->n > 0 && turn < in_a + in_b + beside;
    if (!*any) return GS_OK;
    GS_TRY(gs_check_run_data(trial, kind, -1, error));
    const int64_t rows = rows_of(trial);   /* groups are drawn anew */
    if (rows == 0) return GS_OK;
    trial->poked = (gs_poked){.any = true, .index = gs_pick_below(bits, rows), .col = gs_pick_below(gs_mix(bits), gs_columns_of_b(p))};
    trial->poked.row = row_of(trial, trial->poked.index);
    if (turn < in_a) return few_rows ? put_into_lines(trial, false, turn, bits, error) : put_into_lone_rows(trial, bits, error);
    if (turn < in_a + in_b) return put_into_lines(trial, true, turn - in_a, bits, error);
    const bool last = turn == in_a + in_b + beside - 1;   /* C, or with short vectors first these, then C alone */
    return put_into_others(trial, rows, gs_mix(bits + 1), last && beside > 1 ? INT64_MAX : 1, last, error);
}

gs_status gs_check_run_few(gs_check_run *trial, int part, int kind, double tolerance, gs_error *error)
{
    bool any = trial->once;
    for (int turn = 0; any && !gs_check_run_failed(trial); turn++) {
        GS_TRY(poke_few(trial, kind, turn, &any, error));
        if (any) GS_TRY(gs_check_run_judge(trial, part, tolerance, error));
    }
    return GS_OK;
}
