/* SPDX-License-Identifier: MIT
 * Mode check. Both results are sums of the same products in the accumulator's type, in different orders, each rounded once to D's type. The bound on their difference
 * assumes rounding errors of random sign. For an element of row x of A and column y of B, with K products:
 *
 *     2 eps(D) max(|D|, |D'|) + eps(acc) (8 |alpha| |x| |y| + (8 + K / 8) max(|D|, |D'|, |beta C|))
 *
 * where |x| |y| is at least the sum of the products' magnitudes over sqrt(K), and K / 8 allows for truncation of growing sums, as in matrix units. */
#include "shim/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/log.h"
#include "device/device.h"
#include "problem/layout.h"

typedef struct operand {
    void  *bytes;
    size_t size;
} operand;

typedef struct work {
    const gs_problem *problem;
    gs_device        *device;
    operand           a, b, before, c, own, real;   /* before: D before the call, with the gaps between its rows; c: C, if it is not D */
    double           *norm_a, *norm_b;           /* norms of the rows of A and of the columns of B, for one matrix of the batch */
    gs_pointer        scratch;
} work;

static double value_at(const void *bytes, gs_type type, int64_t at)
{
    if (type == GS_F32) return ((const float *)bytes)[at];
    const uint16_t half = ((const uint16_t *)bytes)[at];
    return type == GS_F16 ? gs_f16_to_f32(half) : gs_bf16_to_f32(half);
}

static double epsilon(gs_type type) { return type == GS_F16 ? 0x1p-11 : type == GS_BF16 ? 0x1p-8 : 0x1p-23; }

/* The smallest positive number of a type. */
static double least(gs_type type) { return type == GS_F16 ? 0x1p-24 : type == GS_BF16 ? 0x1p-133 : 0x1p-149; }

static bool copy(work *w, operand *to, const void *from, size_t size)
{
    to->size = size;
    to->bytes = malloc(size);
    return to->bytes && w->device->ops->copy_out(w->device, to->bytes, (gs_pointer)(uintptr_t)from, size, NULL) == GS_OK;
}

/* Norms of the vectors along K of matrix i. along_rows: each stored row is such a vector; else each stored column. */
static void norms(double *out, const operand *o, const gs_shape *s, int64_t i, bool along_rows)
{
    const int64_t start = i * s->stride, count = along_rows ? s->rows : s->row;
    memset(out, 0, (size_t)count * sizeof *out);
    for (int64_t row = 0; row < s->rows; row++)
        for (int64_t column = 0; column < s->row; column++) {
            const double value = value_at(o->bytes, s->type, start + row * s->ld + column);
            out[along_rows ? row : column] += value * value;
        }
    for (int64_t j = 0; j < count; j++) out[j] = sqrt(out[j]);
}

/* The largest number of a type. */
static double largest_of(gs_type type) { return type == GS_F16 ? 65504 : type == GS_BF16 ? 0x1.fep127 : 0x1.fffffep127; }

/* The largest number of the type in place of an infinity. */
static double bounded(double value, gs_type type) { return isinf(value) ? copysign(largest_of(type), value) : value; }

bool gs_shim_is_near(const gs_problem *p, double own, double real, double added, double products)
{
    if (own == real || (isnan(own) && isnan(real))) return true;
    if (p->acc == GS_F16 && products >= largest_of(GS_F16) && isfinite(products) && !(isfinite(own) && isfinite(real))) return true;
    if (isnan(own) || isnan(real)) return false;
    own = bounded(own, p->out);
    real = bounded(real, p->out);
    if (!isfinite(added)) added = 0;         /* then, and where an operand has infinities, */
    if (!isfinite(products)) products = 0;   /* both results are the same infinity or NaN */
    const double largest = fmax(fmax(fabs(own), fabs(real)), added), acc = p->acc == GS_F16 ? 0x1p-11 : 0x1p-23, more = p->acc == GS_F16 ? sqrt((double)p->k) : (double)p->k / 8;
    const double factor = p->bias || p->activation ? 2 : 1;   /* the slope of an activation is at most 1.13, and a bias is one more addition */
    return fabs(own - real) <= factor * (2 * epsilon(p->out) * largest + acc * (8 * products + (8 + more) * largest) + 2 * least(p->out));
}

typedef struct worst {
    int64_t wrong, matrix, row, column;
    double  own, real;
} worst;

static void compare(const work *w, double alpha, double beta, worst *found)
{
    const gs_problem *const p = w->problem;
    const gs_shape a = gs_shape_of(p, 'a'), b = gs_shape_of(p, 'b'), c_shape = gs_shape_of(p, 'c'), d = gs_shape_of(p, 'd');
    for (int64_t i = 0; i < p->batch; i++) {
        const operand *const before = w->c.bytes ? &w->c : &w->before;
        norms(w->norm_a, &w->a, &a, a.matrices > 1 ? i : 0, !gs_is_a_transposed(p->layout));
        norms(w->norm_b, &w->b, &b, b.matrices > 1 ? i : 0, gs_is_b_transposed(p->layout));
        for (int64_t row = 0; row < p->m; row++)
            for (int64_t column = 0; column < p->n; column++) {
                const int64_t at = i * d.stride + row * d.ld + column;
                const double own = value_at(w->own.bytes, p->out, at), real = value_at(w->real.bytes, p->out, at), c = beta == 0 ? 0 : value_at(before->bytes, p->out, i * c_shape.stride + row * c_shape.ld + column);
                if (gs_shim_is_near(p, own, real, fabs(beta * c), fabs(alpha) * w->norm_a[row] * w->norm_b[column])) continue;
                if (found->wrong++ == 0 || fabs(own - real) > fabs(found->own - found->real)) found->own = own, found->real = real, found->matrix = i, found->row = row, found->column = column;
            }
    }
}

static bool prepare(work *w, const gs_args *args, gs_stream stream)
{
    const gs_problem *const p = w->problem;
    const size_t bytes = gs_problem_bytes(p, 'd');
    if (w->device->ops->queue_wait(w->device, stream, NULL) != GS_OK) return false;
    w->norm_a = malloc((size_t)p->m * sizeof *w->norm_a);
    w->norm_b = malloc((size_t)p->n * sizeof *w->norm_b);
    if (!w->norm_a || !w->norm_b || !copy(w, &w->a, args->a, gs_problem_bytes(p, 'a')) || !copy(w, &w->b, args->b, gs_problem_bytes(p, 'b')) ||
        !copy(w, &w->before, args->d, bytes) || (args->c && args->c != args->d && !copy(w, &w->c, args->c, gs_problem_bytes(p, 'c')))) return false;
    return w->device->ops->alloc(w->device, bytes, &w->scratch, NULL) == GS_OK && w->device->ops->copy_in(w->device, w->scratch, w->before.bytes, bytes, NULL) == GS_OK;
}

static void drop(work *w)
{
    operand *const all[] = {&w->a, &w->b, &w->before, &w->c, &w->own, &w->real};
    for (size_t i = 0; i < GS_COUNT(all); i++) free(all[i]->bytes);
    free(w->norm_a);
    free(w->norm_b);
    w->device->ops->free(w->device, w->scratch);
}

static void say(gs_shim_function via, const gs_problem *problem, const worst *w)
{
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    gs_log(GS_LOG_ERROR, "blas: check: %s %s: %lld elements differ, most row %lld, column %lld of matrix %lld: %g, the library has %g", gs_shim_symbol(via), text,
           (long long)w->wrong, (long long)w->row, (long long)w->column, (long long)w->matrix, w->own, w->real);
}

static void judge(work *w, const gs_args *args, gs_stream stream, gs_shim_function via, int result)
{
    worst found = {0};
    const size_t bytes = w->before.size;
    if (result != 0 || w->device->ops->queue_wait(w->device, stream, NULL) != GS_OK || !copy(w, &w->own, args->d, bytes) || !copy(w, &w->real, (void *)(uintptr_t)w->scratch, bytes)) {
        gs_log(GS_LOG_WARNING, "blas: check: %s: the library's own result could not be had (status %d); nothing was compared", gs_shim_symbol(via), result);
        return;
    }
    compare(w, args->alpha ? *args->alpha : 1, args->beta ? *args->beta : w->problem->beta, &found);
    if (found.wrong) say(via, w->problem, &found);
    gs_shim_count_check(found.wrong == 0);
}

gs_shim_reason gs_shim_check(gs_shim_place *place, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_shim_function via, gs_shim_again *again, const void *call)
{
    work w = {.problem = problem, .device = gs_shim_place_device(place)};
    if (gs_shim_place_captures(place, stream) || gs_shim_place_captures(place, NULL) || gs_problem_check(problem, NULL) != GS_OK) return gs_shim_run(place, problem, args, stream, via);
    const bool ready = prepare(&w, args, stream);
    if (!ready) gs_log(GS_LOG_WARNING, "blas: check: %s: no memory to compare with; nothing was compared", gs_shim_symbol(via));
    const gs_shim_reason reason = gs_shim_run(place, problem, args, stream, via);
    void *const scratch = (void *)(uintptr_t)w.scratch;
    if (ready && reason == GS_SHIM_SERVED) judge(&w, args, stream, via, again(call, args->c && args->c != args->d ? args->c : scratch, scratch));
    drop(&w);
    return reason;
}
