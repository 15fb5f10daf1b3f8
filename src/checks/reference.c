/* SPDX-License-Identifier: MIT
 * The f64 reference on the CPU. Its sums are those of the kernel gs_reference bit for bit: the products of two 16-bit numbers are exact
 * in f64, and both add them up by rising k. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "problem/layout.h"
#include "checks/calls.h"

enum { COLS = 64, DEPTH = 64, GROUP = 16 };   /* part of B, as doubles, that fits the nearest cache; columns whose sums stay in registers */

typedef double panel[DEPTH][COLS];

static double element(const void *matrix, gs_type type, int64_t index)
{
    switch (type) {
    case GS_F16:  return (double)gs_f16_to_f32(((const uint16_t *)matrix)[index]);
    case GS_BF16: return (double)gs_bf16_to_f32(((const uint16_t *)matrix)[index]);
    case GS_F32:  break;
    }
    return (double)((const float *)matrix)[index];
}

/* Part of B; columns beyond the last are zero. */
static void fill_panel(panel to, const gs_problem *p, const void *b, int64_t first, int depth, int cols)
{
    const bool t = gs_is_b_transposed(p->layout);
    const int64_t step_k = t ? 1 : p->ldb, step_n = t ? p->ldb : 1;
    for (int k = 0; k < depth; k++)
        for (int col = 0; col < COLS; col++) to[k][col] = col < cols ? element(b, p->in, first + k * step_k + col * step_n) : 0;
}

static void add_products(double *restrict sums, const double *restrict a, const panel b, int depth)
{
    for (int first = 0; first < COLS; first += GROUP) {
        double sum[GROUP];
        memcpy(sum, sums + first, sizeof sum);
        for (int k = 0; k < depth; k++)
            for (int i = 0; i < GROUP; i++) sum[i] += a[k] * b[k][first + i];
        memcpy(sums + first, sum, sizeof sum);
    }
}

/* Up to COLS columns of the product's m rows of one batch, added to what is in out. */
static void add_panel(const gs_problem *p, const void *a, int64_t first_row, const panel b, int64_t first_k, int depth, int64_t first_col, int cols,
                      double *out)
{
    for (int64_t row = first_row; row < first_row + p->m; row++) {
        double *const to = out + row * p->n + first_col;
        double sums[COLS] = {0}, factors[DEPTH];
        for (int k = 0; k < depth; k++) factors[k] = element(a, p->in, gs_place_in_a(p, row, first_k + k));
        memcpy(sums, to, (size_t)cols * sizeof *to);
        add_products(sums, factors, b, depth);
        memcpy(to, sums, (size_t)cols * sizeof *to);
    }
}

void gs_reference_cpu(const gs_problem *problem, const void *a, const void *b, const void *c, double *out)
{
    const gs_problem sums = problem->gate ? gs_problem_sums(problem) : *problem, *const p = &sums;
    const int64_t rows = p->m * p->batch;
    panel part;
    for (int64_t i = 0; i < rows * p->n; i++) out[i] = 0;
    for (int64_t batch = 0; batch < p->batch; batch++)
        for (int64_t col = 0; col < p->n; col += COLS)
            for (int64_t k = 0; k < p->k; k += DEPTH) {
                const int cols = (int)GS_MIN(p->n - col, COLS), depth = (int)GS_MIN(p->k - k, DEPTH);
                fill_panel(part, p, b, gs_place_in_b(p, batch, k, col), depth, cols);
                add_panel(p, a, batch * p->m, part, k, depth, col, cols, out);
            }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < p->n; col++) {
            double *const value = &out[row * p->n + col];
            *value *= (double)p->alpha;
            if (gs_reference_adds_c(p)) *value = fma((double)p->beta, element(c, p->out, gs_place_in_c(p, row, col)), *value);
        }
}

gs_status gs_reference_emulated(gs_verifier *verifier, const gs_problem *p, const gs_pointer operand[3], gs_pointer out, int64_t ld,
                                gs_queue queue, gs_error *error)
{
    gs_device *const device = verifier->device;
    const size_t bytes = (size_t)(p->m * p->batch) * (size_t)p->n * sizeof(double);
    void *host[3] = {0};
    double *const result = malloc(GS_MAX(bytes, 1));
    gs_status status = result ? device->ops->queue_wait(device, queue, error) : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a reference");
    for (int i = 0; status == GS_OK && i < (gs_reference_adds_c(p) ? 3 : 2); i++) {
        const size_t size = gs_problem_bytes(p, (char)('a' + i));
        if (size == 0) continue;
        host[i] = malloc(size);
        status = host[i] ? device->ops->copy_out(device, host[i], operand[i], size, error) : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a reference");
    }
    if (status == GS_OK) {
        gs_reference_cpu(p, host[0], host[1], host[2], result);
        const int64_t rows = ld == p->n ? 1 : p->m * p->batch;
        const size_t row = bytes / (size_t)rows;
        for (int64_t i = 0; status == GS_OK && i < rows; i++)
            status = device->ops->copy_in(device, out + (gs_pointer)(i * ld) * sizeof(double), result + i * p->n, row, error);
    }
    for (int i = 0; i < 3; i++) free(host[i]);
    free(result);
    return status;
}
