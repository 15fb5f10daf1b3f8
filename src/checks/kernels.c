/* SPDX-License-Identifier: MIT
 * The verifier: kernels/verify.cu and the f64 reference of kernels/simple.cu, loaded and launched. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "common/args.h"
#include "loaded/loaded.h"
#include "problem/layout.h"
#include "routing/routing.h"
#include "checks/calls.h"

_Static_assert(sizeof(gs_tensor_map) == GS_MAP_BYTES && sizeof(gs_kernel_args) == GS_ARGS_EARLY_BYTES &&
               offsetof(gs_kernel_args, stride_a) == GS_ARGS_BYTES && offsetof(gs_kernel_args, early_b) == GS_ARGS_MORE_BYTES && _Alignof(gs_tensor_map) == GS_MAP_ALIGN &&
               _Alignof(gs_kernel_args) == GS_ARGS_ALIGN, "what an entry takes is what is inspected");
_Static_assert(GS_BANDS == 2 * GS_OPERANDS, "two guard bands of each operand");

#define THREADS        256
#define EMULATED_UNITS 16    /* indices per thread, where starting a block and its reductions cost more than parallel blocks gain */

static const char *const names[GS_CHECK_KERNELS] = {
    [GS_CHECK_GENERATE]   = "gs_verify_generate",
    [GS_CHECK_POISON]     = "gs_verify_poison",
    [GS_CHECK_GUARD_FILL] = "gs_verify_guard_fill",
    [GS_CHECK_GUARD]      = "gs_verify_guard_check",
    [GS_CHECK_VEIL]       = "gs_verify_veil",
    [GS_CHECK_HASH]       = "gs_verify_hash",
    [GS_CHECK_PADDING]    = "gs_verify_padding",
    [GS_CHECK_BANDS]      = "gs_verify_bands",
    [GS_CHECK_MEASURE]    = "gs_verify_measure",
    [GS_CHECK_COMPARE]    = "gs_verify_compare",
    [GS_CHECK_SUMS]       = "gs_verify_sums",
    [GS_CHECK_WORDS]      = "gs_verify_words",
    [GS_CHECK_TIMED]      = "gs_verify_timed",
    [GS_CHECK_TIMED_SAMPLES] = "gs_verify_timed_samples",
    [GS_CHECK_PASS]       = "gs_verify_pass",
    [GS_CHECK_CHANGE]     = "gs_verify_change",
};

_Static_assert((int)GS_VALUES_NORMAL == (int)GS_DATA_NORMAL && (int)GS_VALUES_INTEGER == (int)GS_DATA_INTEGER &&
               (int)GS_VALUES_CANCEL == (int)GS_DATA_CANCEL && (int)GS_VALUES_INDEX == (int)GS_DATA_INDEX &&
               (int)GS_VALUES_SPECIAL == (int)GS_DATA_SPECIAL, "the generator's first kinds are gs_data");

static gs_status load(gs_device *device, const gs_kernel *kernel, gs_module *module, gs_error *error)
{
    gs_kernel_source source;
    gs_kernel_to_source(kernel, &source);
    const gs_status status = gs_device_build(device, &source.source, module, error);
    if (status != GS_ERROR_UNSUPPORTED) return status;
    /* UNSUPPORTED is for a contender that refuses; here the device cannot do what verification needs */
    gs_error why = error ? *error : (gs_error){0};
    return gs_fail(error, GS_ERROR_DEVICE, NULL, "%s: %s", kernel->name, why.text);
}

static gs_status open_verifier(gs_verifier *verifier, gs_error *error)
{
    gs_device *const device = verifier->device;
    const gs_kernel kernel = {.name = "verify.cu", .source = gs_embedded_find("verify.cu")};
    if (!kernel.source) return gs_fail(error, GS_ERROR_NOT_FOUND, kernel.name, "kernel source is not part of this build");
    GS_TRY(device->ops->queue_create(device, &verifier->queue, error));
    GS_TRY(load(device, &kernel, &verifier->module, error));
    for (int i = 0; i < GS_CHECK_KERNELS; i++) {
        gs_function_info info;
        GS_TRY(device->ops->function(device, verifier->module, names[i], &verifier->function[i], &info, error));
    }
    GS_TRY(device->ops->alloc(device, sizeof(gs_check_counts), &verifier->counts, error));
    return device->ops->alloc(device, GS_COUNTERS * sizeof(uint64_t), &verifier->counters, error);
}

gs_status gs_verifier_create(gs_verifier **out, gs_device *device, gs_error *error)
{
    *out = NULL;
    gs_verifier *verifier = calloc(1, sizeof *verifier);
    if (!verifier) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a verifier");
    verifier->device = device;
    const gs_status status = open_verifier(verifier, error);
    if (status == GS_OK) *out = verifier;
    else gs_verifier_destroy(&verifier);
    return status;
}

void gs_verifier_destroy(gs_verifier **verifier)
{
    if (!verifier || !*verifier) return;
    gs_verifier *const v = *verifier;
    gs_device *const device = v->device;
    if (v->counters) device->ops->free(device, v->counters);
    if (v->counts) device->ops->free(device, v->counts);
    for (int i = 0; i < GS_REFERENCES; i++)
        if (v->reference[i].module) device->ops->unload(device, v->reference[i].module);
    if (v->module) device->ops->unload(device, v->module);
    if (v->queue) device->ops->queue_destroy(device, v->queue);
    free(v);
    *verifier = NULL;
}

/* Launches a grid-stride kernel over `total` indices. */
static gs_status launch(gs_verifier *verifier, int kernel, void *param, uint64_t total, gs_queue queue, gs_error *error)
{
    if (total == 0 || gs_check_native(verifier, kernel, param, queue)) return GS_OK;
    gs_device *const device = verifier->device;
    const uint64_t units = device->caps.emulated ? THREADS * EMULATED_UNITS : THREADS;
    const uint64_t blocks = (total + units - 1) / units, most = (uint64_t)device->caps.sms * 16;
    const gs_launch what = {
        .function = verifier->function[kernel], .grid = {(uint32_t)GS_MIN(blocks, GS_MAX(most, 1)), 1, 1},
        .block = {THREADS, 1, 1}, .cluster = {1, 1, 1}, .params = (void *[]){param},
    };
    return device->ops->launch(device, &what, queue, error);
}

static void *address(gs_pointer pointer) { return (void *)(uintptr_t)pointer; }

gs_status gs_check_generate(gs_verifier *verifier, const gs_datagen *what, gs_pointer to, gs_queue queue, gs_error *error)
{
    gs_datagen g = *what;
    if (g.rows <= 0 || g.cols <= 0) return GS_OK;
    g.to = address(to);
    const gs_placed placed = gs_datagen_placed(&g);
    return launch(verifier, GS_CHECK_GENERATE, &g, (uint64_t)gs_placed_end(&placed), queue, error);
}

gs_status gs_generate(gs_verifier *verifier, const gs_problem *problem, char operand, gs_data kind, uint64_t seed, gs_pointer to,
                      gs_queue queue, gs_error *error)
{
    if (operand < 'a' || operand > 'i' || operand == 'd') return gs_fail(error, GS_ERROR_ARGUMENT, "operand", "must be a, b, c, e, f, g, h or i");
    if (operand == 'f') return gs_offsets_put(verifier->device, problem, GS_ROUTING_EVEN, seed, to, error);
    const gs_datagen g = gs_datagen_make(problem, operand, (int)kind, seed);
    return gs_check_generate(verifier, &g, to, queue, error);
}

static gs_status on_range(gs_verifier *verifier, int kernel, gs_pointer at, size_t bytes, uint64_t seed, gs_pointer count,
                          gs_queue queue, gs_error *error)
{
    gs_range range = {.at = address(at), .units = bytes / 2, .seed = seed, .count = address(count)};
    return launch(verifier, kernel, &range, range.units, queue, error);
}

gs_status gs_check_poison(gs_verifier *verifier, gs_pointer at, size_t bytes, uint32_t pattern, gs_queue queue, gs_error *error)
{
    return on_range(verifier, GS_CHECK_POISON, at, bytes, pattern, 0, queue, error);
}

gs_status gs_check_guard_fill(gs_verifier *verifier, gs_pointer at, size_t bytes, uint64_t seed, gs_queue queue, gs_error *error)
{
    return on_range(verifier, GS_CHECK_GUARD_FILL, at, bytes, seed, 0, queue, error);
}

gs_status gs_check_change(gs_verifier *verifier, const gs_problem *problem, char operand, gs_pointer at, gs_queue queue, gs_error *error)
{
    enum { HIGHEST = 6 };
    gs_changed changed = {.at = address(at), .placed = gs_placed_of(problem, operand), .type = problem->out, .bits = (problem->out == GS_F16 ? 10 : problem->out == GS_BF16 ? 7 : 23) - HIGHEST + 1};
    return launch(verifier, GS_CHECK_CHANGE, &changed, (uint64_t)(changed.placed.matrices * changed.placed.rows * ((changed.placed.cols + 1) / 2)), queue, error);
}

static gs_pointer counter(const gs_verifier *verifier, int slot)
{
    return verifier->counters + (gs_pointer)slot * sizeof(uint64_t);
}

gs_status gs_check_guard(gs_verifier *verifier, gs_pointer at, size_t bytes, uint64_t seed, int slot, gs_queue queue,
                         gs_error *error)
{
    return on_range(verifier, GS_CHECK_GUARD, at, bytes, seed, counter(verifier, slot), queue, error);
}

/* An output in units of 16 bits. */
static gs_placed units_of(const gs_problem *problem, char operand)
{
    const long long units = (long long)gs_type_size(problem->out) / 2;
    gs_placed placed = gs_placed_of(problem, operand);
    placed.cols *= units;
    placed.ld *= units;
    placed.stride *= units;
    return placed;
}

gs_status gs_check_hash(gs_verifier *verifier, const gs_problem *problem, char operand, gs_pointer at, int slot, gs_queue queue,
                        gs_error *error)
{
    gs_rows rows = {.at = address(at), .placed = {1, (long long)(gs_problem_bytes(problem, operand) / 2), 0, 0, 1}, .out = address(counter(verifier, slot))};
    if (gs_is_written(problem, operand)) rows.placed = units_of(problem, operand);
    return launch(verifier, GS_CHECK_HASH, &rows, (uint64_t)(rows.placed.matrices * rows.placed.rows * rows.placed.cols), queue, error);
}

gs_status gs_check_padding(gs_verifier *verifier, const gs_problem *problem, char operand, gs_pointer at, uint32_t pattern, int slot,
                           gs_queue queue, gs_error *error)
{
    gs_rows rows = {.at = address(at), .placed = units_of(problem, operand), .pattern = pattern, .out = address(counter(verifier, slot))};
    const gs_placed *const placed = &rows.placed;
    if (placed->rows == 0 || placed->cols == 0) return GS_OK;
    return launch(verifier, GS_CHECK_PADDING, &rows, (uint64_t)(gs_placed_end(placed) - placed->matrices * placed->rows * placed->cols), queue, error);
}

gs_status gs_check_pattern(gs_verifier *verifier, gs_pointer at, size_t bytes, uint32_t pattern, int slot, gs_queue queue, gs_error *error)
{
    const long long units = (long long)(bytes / 2);
    gs_rows rows = {.at = address(at), .placed = {2, 0, units, 0, 1}, .pattern = pattern, .out = address(counter(verifier, slot))};   /* nothing but padding */
    return launch(verifier, GS_CHECK_PADDING, &rows, (uint64_t)units, queue, error);
}

gs_status gs_check_words(gs_verifier *verifier, gs_pointer at, size_t bytes, int slot, gs_queue queue, gs_error *error)
{
    return gs_words_hash(verifier, at, bytes, counter(verifier, slot), queue, error);
}

gs_status gs_check_bands(gs_verifier *verifier, const gs_banded *buffers, int count, size_t band, int slot, gs_queue queue, gs_error *error)
{
    gs_bands bands = {.units = band / 2, .count = 2 * (gs_u64)count, .out = address(counter(verifier, slot))};
    for (int i = 0; i < count; i++) {
        bands.at[2 * i] = address(buffers[i].at - band);
        bands.at[2 * i + 1] = address(buffers[i].at + buffers[i].bytes);
        bands.pattern[2 * i] = bands.pattern[2 * i + 1] = buffers[i].pattern;
    }
    return launch(verifier, GS_CHECK_BANDS, &bands, bands.units * bands.count, queue, error);
}

gs_status gs_check_counters_clear(gs_verifier *verifier, gs_queue queue, gs_error *error)
{
    return verifier->device->ops->fill(verifier->device, verifier->counters, 0, GS_COUNTERS * sizeof(uint64_t), queue, error);
}

gs_status gs_check_counters_read(gs_verifier *verifier, uint64_t out[GS_COUNTERS], gs_queue queue, gs_error *error)
{
    GS_TRY(verifier->device->ops->queue_wait(verifier->device, queue, error));
    return verifier->device->ops->copy_out(verifier->device, out, verifier->counters, GS_COUNTERS * sizeof(uint64_t), error);
}

/* ---- after a timed replay ---- */

gs_status gs_words_hash(gs_verifier *verifier, gs_pointer at, size_t bytes, gs_pointer sum, gs_queue queue, gs_error *error)
{
    gs_range range = {.at = address(at), .units = bytes / 8 * 4, .count = address(sum)};
    return launch(verifier, GS_CHECK_WORDS, &range, range.units / 4, queue, error);
}

gs_status gs_veil(gs_verifier *verifier, gs_pointer at, size_t words, uint64_t key, gs_queue queue, gs_error *error)
{
    gs_range range = {.at = address(at), .units = words, .seed = key};
    return launch(verifier, GS_CHECK_VEIL, &range, (words + 255) / 256 * 32, queue, error);
}

gs_status gs_pass_over(gs_verifier *verifier, gs_pointer at, size_t bytes, gs_queue queue, gs_error *error)
{
    gs_range range = {.at = address(at), .units = bytes / 2};
    return launch(verifier, GS_CHECK_PASS, &range, (range.units + 3) / 4, queue, error);
}

gs_status gs_timed_check(gs_verifier *verifier, const gs_problem *p, double tolerance, gs_pointer sets, int count, uint32_t poison, uint64_t seed, gs_pointer found,
                         gs_queue queue, gs_error *error)
{
    enum { SAMPLES = 128 };
    const gs_bound bound = gs_bound_make(p, tolerance);
    gs_timed timed = {
        .sets = address(sets), .count = (gs_u64)count, .samples = SAMPLES, .seed = seed, .m = p->m, .n = p->n, .k = p->k, .batch = p->batch,
        .lda = p->lda, .ldb = p->ldb, .stride_a = gs_shape_of(p, 'a').stride, .stride_b = gs_shape_of(p, 'b').stride, .stride_bias = gs_shape_of(p, 'e').stride,
        .placed_c = gs_placed_of(p, 'c'), .placed_d = gs_placed_of(p, 'd'), .placed_aux = gs_placed_of(p, 'g'), .writes_aux = (int)p->aux, .in = (int)p->in, .out = (int)p->out, .layout = (int)p->layout, .alpha = p->alpha,
        .beta = p->beta, .activation = (int)p->activation, .along = gs_adds_bias(p) ? (int)p->bias : 0, .dbias = p->bias == GS_DBIAS ? (int)gs_dbias_vectors(p) : 0, .residual = gs_reference_residual(p), .gate = (int)p->gate, .groups = (int)p->groups, .room = gs_group_room(p), .scales = (int)p->scales, .k_groups = p->grouping == GS_GROUPS_K, .least = gs_least_sum(p),
        .relative = bound.relative, .spread = bound.spread,
        .absolute = bound.absolute, .poison = poison, .found = address(found),
    };
    const gs_placed of[GS_TIMED_OUTPUTS] = {timed.placed_d, timed.placed_aux, {.rows = gs_dbias_vectors(p), .cols = p->n, .ld = GS_MAX(gs_dbias_stride(p), p->n), .matrices = 1}};
    const bool written[GS_TIMED_OUTPUTS] = {true, p->aux != 0, p->bias == GS_DBIAS && p->m > 0};
    for (int i = 0; i < GS_TIMED_OUTPUTS; i++) {
        if (!written[i]) continue;
        timed.output = i;
        timed.looked_at = of[i];
        GS_TRY(launch(verifier, GS_CHECK_TIMED, &timed, (uint64_t)count * (uint64_t)(of[i].rows * of[i].matrices + GS_TIMED_AROUND) * 32, queue, error));
    }
    return launch(verifier, GS_CHECK_TIMED_SAMPLES, &timed, SAMPLES * 32, queue, error);
}

/* ---- the reference ---- */

/* line: for a product with one row or one column. */
static gs_status reference_function(gs_verifier *verifier, const gs_problem *problem, bool line, gs_function *out, gs_error *error)
{
    const bool adds_c = gs_reference_adds_c(problem);
    gs_problem plain = gs_problem_sums(problem);
    const bool strides = gs_problem_wants(&plain) & GS_WANTS_STRIDES;   /* of the operands that the compiled kernel has; a stride of biases does not count */
    const int index = ((((problem->in == GS_BF16) * 3 + (int)problem->out) * GS_LAYOUTS + (int)problem->layout) * 2 + adds_c) * 2 + strides;
    gs_module *const module = &verifier->reference[index].module;
    gs_function *const function = line ? &verifier->reference[index].line : &verifier->reference[index].tiles;
    if (!*module) {
        plain.acc = GS_F32;
        plain.beta = adds_c;
        const gs_schedule schedule = {.family = GS_FAMILY_SIMPLE};
        gs_kernel kernel = {0};
        GS_TRY(gs_kernel_build(&kernel, &schedule, &plain, &verifier->device->caps, error));
        GS_TRY(load(verifier->device, &kernel, module, error));
    }
    gs_function_info info;
    if (!*function) GS_TRY(verifier->device->ops->function(verifier->device, *module, line ? "gs_reference_line" : "gs_reference", function, &info, error));
    *out = *function;
    return GS_OK;
}

static gs_status launch_with(gs_verifier *verifier, const gs_problem *p, const gs_pointer operand[3], gs_pointer out, int64_t ld, gs_launch *what, gs_queue queue, gs_error *error)
{
    gs_kernel_args args = {
        .a = address(operand[0]), .b = address(operand[1]), .c = address(operand[2]), .d = address(out), .lda = p->lda, .ldb = p->ldb, .ldc = p->ldc,
        .ldd = ld, .m = (int)p->m, .n = (int)p->n, .k = (int)p->k, .batch = (int)p->batch, .alpha = p->alpha, .beta = p->beta,
        .stride_a = gs_shape_of(p, 'a').stride, .stride_b = gs_shape_of(p, 'b').stride, .stride_c = gs_shape_of(p, 'c').stride, .stride_d = p->m * ld,
    };
    what->params = (void *[]){&args};
    return verifier->device->ops->launch(verifier->device, what, queue, error);
}

/* Rows of the result are ld elements apart. */
static gs_status launch_reference(gs_verifier *verifier, const gs_problem *p, const gs_pointer operand[3], gs_pointer out, int64_t ld, gs_queue queue,
                                  gs_error *error)
{
    if (p->m == 0 || p->n == 0) return GS_OK;
    if (verifier->device->caps.emulated) return gs_reference_emulated(verifier, p, operand, out, ld, queue, error);
    gs_launch what = {.block = {16, 16, 1}, .cluster = {1, 1, 1}};
    GS_TRY(reference_function(verifier, p, false, &what.function, error));
    what.grid[0] = (uint32_t)((p->m + 63) / 64);
    what.grid[1] = (uint32_t)GS_MIN((p->n + 63) / 64, 65535);
    what.grid[2] = (uint32_t)GS_MIN(p->batch, 65535);
    return launch_with(verifier, p, operand, out, ld, &what, queue, error);
}

/* For one row or column. Adds up in another order than gs_reference, so only exact data give the same bits. */
static gs_status launch_line(gs_verifier *verifier, const gs_problem *p, const gs_pointer operand[3], gs_pointer out, int64_t ld, gs_queue queue, gs_error *error)
{
    if (p->m == 0 || p->n == 0 || verifier->device->caps.emulated) return launch_reference(verifier, p, operand, out, ld, queue, error);
    gs_launch what = {.block = {16, 16, 1}, .cluster = {1, 1, 1}, .grid = {(uint32_t)((p->m * p->n + 7) / 8), 1, 1}};
    GS_TRY(reference_function(verifier, p, true, &what.function, error));
    return launch_with(verifier, p, operand, out, ld, &what, queue, error);
}

/* The problem that the reference computes: with a gate the products with all columns of B. */
static gs_problem summed(const gs_problem *p) { return p->gate ? gs_problem_sums(p) : *p; }

gs_status gs_reference(gs_verifier *verifier, const gs_problem *p, gs_pointer a, gs_pointer b, gs_pointer c, gs_pointer out,
                       gs_queue queue, gs_error *error)
{
    const gs_problem sums = summed(p);
    return launch_reference(verifier, &sums, (const gs_pointer[]){a, b, c}, out, sums.n, queue, error);
}

/* A part of one group's product: rows and columns from (first, col) on, over its range of K. product_of makes a problem of it; at: the addresses of its operands. */
typedef struct part {
    int64_t group, first, rows, col, cols;
    gs_group_terms terms;
} part;

static gs_problem product_of(const gs_problem *p, const gs_pointer operand[3], const part *of, gs_pointer at[3])
{
    gs_problem one = *p;
    one.groups = one.grouping = 0;
    one.batch = 1;
    one.m = of->rows;
    one.n = of->cols;
    one.k = of->terms.count;
    at[0] = operand[0] + (gs_pointer)gs_place_in_a(p, of->first, of->terms.first) * gs_type_size(p->in);
    at[1] = operand[1] + (gs_pointer)gs_place_in_b(p, of->group, of->terms.first, of->col) * gs_type_size(p->in);
    at[2] = operand[2] + (gs_pointer)gs_place_in_c(p, of->first, of->col) * gs_type_size(p->out);
    return one;
}

static gs_pointer result_at(const gs_problem *p, gs_pointer out, int64_t row, int64_t col) { return out + (gs_pointer)(row * p->n + col) * sizeof(double); }

gs_status gs_reference_of(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer out, gs_queue queue, gs_error *error)
{
    const gs_pointer operand[] = {(uintptr_t)args->a, (uintptr_t)args->b, (uintptr_t)args->c};
    gs_device *const device = verifier->device;
    const gs_problem sums = summed(problem), *const p = &sums;
    int32_t *offsets;
    if (!gs_has_offsets(p) || p->m == 0) return gs_reference(verifier, problem, operand[0], operand[1], operand[2], out, queue, error);
    GS_TRY(device->ops->queue_wait(device, queue, error));
    GS_TRY(gs_offsets_get(device, p, (uintptr_t)args->offsets, &offsets, error));
    gs_status status = GS_OK;
    for (int64_t i = 0; i < gs_group_count(p) && status == GS_OK; i++) {
        gs_pointer at[3];
        const gs_group_rows of = gs_rows_of_group(p, offsets, i);
        const gs_problem one = product_of(p, operand, &(part){i, of.first, of.rows, 0, p->n, gs_terms_of_group(p, offsets, i)}, at);
        const size_t left = (size_t)(of.unused * p->n) * sizeof(double);
        if (one.m > 0) status = launch_reference(verifier, &one, at, result_at(p, out, of.first, 0), p->n, queue, error);
        if (status == GS_OK && left > 0) status = device->ops->fill(device, result_at(p, out, of.first + of.rows, 0), 0, left, queue, error);
    }
    free(offsets);
    return status == GS_OK ? device->ops->queue_wait(device, queue, error) : status;
}

gs_status gs_reference_row(gs_verifier *verifier, const gs_problem *problem, const gs_pointer operand[3], const int32_t *offsets, int64_t batch, int64_t row, gs_pointer out,
                           gs_queue queue, gs_error *error)
{
    const gs_problem sums = summed(problem), *const p = &sums;
    gs_pointer at[3];
    const gs_problem one = product_of(p, operand, &(part){batch, row, 1, 0, p->n, gs_terms_of_group(p, offsets, batch)}, at);
    return launch_line(verifier, &one, at, result_at(p, out, row, 0), p->n, queue, error);
}

gs_status gs_reference_col(gs_verifier *verifier, const gs_problem *problem, const gs_pointer operand[3], const int32_t *offsets, int64_t batch, int64_t first, int64_t rows, int64_t col,
                           gs_pointer out, gs_queue queue, gs_error *error)
{
    const gs_problem sums = summed(problem), *const p = &sums;
    gs_pointer at[3];
    const gs_problem one = product_of(p, operand, &(part){batch, first, rows, col, 1, gs_terms_of_group(p, offsets, batch)}, at);
    return launch_line(verifier, &one, at, result_at(p, out, first, col), p->n, queue, error);
}

/* ---- comparison ---- */

static gs_epilogue epilogue_of(const gs_problem *p, const gs_args *args)
{
    return (gs_epilogue){.c = args->c, .bias = args->bias, .placed_c = gs_placed_of(p, 'c'), .m = p->m, .stride_bias = gs_shape_of(p, 'e').stride, .activation = (int)p->activation, .along = gs_adds_bias(p) ? (int)p->bias : 0,
                         .residual = gs_reference_residual(p), .gate = (int)p->gate, .n = p->n, .beta = p->beta, .least = gs_least_sum(p), .offsets = args->offsets, .groups = (int)p->groups, .room = gs_group_room(p),
                         .aux = args->aux, .placed_aux = gs_placed_of(p, 'g'), .scale_m = p->scales & GS_SCALE_M ? args->scale_m : NULL, .scale_n = p->scales & GS_SCALE_N ? args->scale_n : NULL,
                         .joins = p->beta != 0 && !p->residual && p->scales};
}

static gs_check check_of(const gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference, double tolerance, bool once, uint32_t poison)
{
    const gs_bound bound = gs_bound_make(problem, tolerance);
    return (gs_check){
        .d = args->d, .reference = address(reference), .epilogue = epilogue_of(problem, args), .rows = (uint64_t)(problem->m * problem->batch),
        .placed = gs_placed_of(problem, 'd'), .cols = (uint64_t)problem->n, .type = (int)problem->out, .exact = tolerance == 0 && bound.activation == 0, .once = once,
        .relative = bound.relative - (once ? bound.rounding : 0), .spread = bound.spread, .least_rms = bound.least_rms, .absolute = bound.absolute - (once ? bound.least : 0), .activation = bound.activation,
        .poison = poison, .counts = address(verifier->counts),
    };
}

gs_status gs_check_compare(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference, double tolerance,
                           bool once, uint32_t poison, const gs_uneven *uneven, gs_check_counts *out, gs_queue queue, gs_error *error)
{
    gs_device *const device = verifier->device;
    gs_check check = check_of(verifier, problem, args, reference, tolerance, once, poison);
    if (uneven) check.uneven = *uneven;
    *out = (gs_check_counts){.first = UINT64_MAX, .row_low = UINT64_MAX, .col_low = UINT64_MAX};
    GS_TRY(device->ops->queue_wait(device, queue, error));   /* the counts may still be in use */
    int64_t rows;
    GS_TRY(gs_rows_written(device, problem, (uintptr_t)args->offsets, &rows, error));
    check.rows = (uint64_t)rows;
    GS_TRY(device->ops->copy_in(device, verifier->counts, out, sizeof *out, error));
    GS_TRY(launch(verifier, GS_CHECK_MEASURE, &check, check.rows * check.cols, queue, error));
    GS_TRY(launch(verifier, GS_CHECK_COMPARE, &check, check.rows * check.cols, queue, error));
    GS_TRY(device->ops->queue_wait(device, queue, error));
    return device->ops->copy_out(device, out, verifier->counts, sizeof *out, error);
}

gs_status gs_check_compare_sums(gs_verifier *verifier, const gs_problem *problem, const gs_args *args, gs_pointer reference, double tolerance,
                                bool once, uint32_t poison, gs_check_counts *out, gs_queue queue, gs_error *error)
{
    gs_device *const device = verifier->device;
    gs_check_sums sums = gs_sums_bound(problem, tolerance);
    sums.of = check_of(verifier, problem, args, reference, tolerance, once, poison);
    sums.at = args->bias;
    sums.vectors = (gs_u64)gs_dbias_vectors(problem);
    sums.stride = gs_dbias_stride(problem);
    GS_TRY(launch(verifier, GS_CHECK_SUMS, &sums, sums.vectors * sums.of.cols, queue, error));
    GS_TRY(device->ops->queue_wait(device, queue, error));
    return device->ops->copy_out(device, out, verifier->counts, sizeof *out, error);
}

static gs_status read_element(const gs_verifier *verifier, gs_type type, const void *matrix, int64_t index, double *out, gs_error *error)
{
    const size_t size = gs_type_size(type);
    float wide = 0;
    uint16_t narrow = 0;
    gs_device *const device = verifier->device;
    const gs_pointer at = (gs_pointer)(uintptr_t)matrix + (gs_pointer)index * size;
    GS_TRY(device->ops->copy_out(device, size == 4 ? (void *)&wide : (void *)&narrow, at, size, error));
    *out = (double)(type == GS_F32 ? wide : type == GS_BF16 ? gs_bf16_to_f32(narrow) : gs_f16_to_f32(narrow));
    return GS_OK;
}

/* Multiplies a sum by its scales. e->offsets must be in host memory. */
static gs_status scale_element(const gs_verifier *verifier, const gs_epilogue *e, int64_t row, int64_t col, double *sum, gs_error *error)
{
    const gs_epilogue of_n = {.groups = e->groups, .offsets = e->offsets, .room = e->room, .along = GS_BIAS_N, .gate = e->gate, .n = e->n, .m = e->m};
    double scale[2] = {1, 1};
    if (e->scale_m) GS_TRY(read_element(verifier, GS_F32, e->scale_m, row % e->m, &scale[0], error));
    if (e->scale_n) GS_TRY(read_element(verifier, GS_F32, e->scale_n, (int64_t)gs_bias_place(&of_n, (gs_u64)row, (gs_u64)col), &scale[1], error));
    *sum *= scale[0] * scale[1];
    return GS_OK;
}

/* Applies the epilogue to the sums of an element, as kernels/verify.cu does. e->offsets must be in host memory. */
static gs_status finish_sums(const gs_verifier *verifier, const gs_problem *p, const gs_args *args, const gs_epilogue *e, double sum[2], int64_t row, int64_t col, double *value, gs_error *error)
{
    double bias = 0, c = 0;
    for (int up = 0; up < (p->gate ? 2 : 1); up++) {
        const int64_t at = p->gate ? gs_gate_column((int)p->gate, p->n, col, up) : col;
        const int64_t place = gs_adds_bias(p) ? (int64_t)gs_bias_place(e, (gs_u64)row, (gs_u64)at) : 0;
        GS_TRY(scale_element(verifier, e, row, at, &sum[up], error));
        if (e->joins) GS_TRY(read_element(verifier, p->out, args->c, gs_place_in_c(p, row, col), &c, error));
        if (gs_adds_bias(p)) GS_TRY(read_element(verifier, p->out, args->bias, place, &bias, error));
        sum[up] += bias + (e->joins ? (double)p->beta * c : 0);
    }
    if (gs_reference_residual(p)) GS_TRY(read_element(verifier, p->out, args->c, gs_place_in_c(p, row, col), &c, error));
    if (gs_is_gradient(p->activation)) {
        double z;
        const gs_shape s = gs_shape_of(p, 'g');
        const gs_placed placed = {s.rows, s.row, s.ld, s.stride, s.matrices};
        GS_TRY(read_element(verifier, p->out, args->aux, gs_placed_at(&placed, row, col), &z, error));
        *value = gs_slope_result((int)p->activation, sum[0], z, 0, e->least).value;
    } else {
        *value = gs_activate((int)p->activation, sum[0]) * (p->gate ? sum[1] : 1);
    }
    if (gs_reference_residual(p)) *value += (double)p->beta * c;
    return GS_OK;
}

/* The right value of one element, from the reference's sums. */
static gs_status finish(const gs_verifier *verifier, const gs_problem *p, const gs_args *args, gs_pointer reference, int64_t row, int64_t col, double *value, gs_error *error)
{
    double sum[2] = {0, 0};
    int32_t *offsets = NULL;
    gs_status status = GS_OK;
    for (int up = 0; up < (p->gate ? 2 : 1) && status == GS_OK; up++) {
        const int64_t at = p->gate ? gs_gate_column((int)p->gate, p->n, col, up) : col;
        status = verifier->device->ops->copy_out(verifier->device, &sum[up], reference + (gs_pointer)(row * gs_columns_of_b(p) + at) * sizeof(double), sizeof(double), error);
    }
    if (status == GS_OK && p->groups) status = gs_offsets_get(verifier->device, p, (uintptr_t)args->offsets, &offsets, error);
    gs_epilogue e = epilogue_of(p, args);
    e.offsets = offsets;
    if (status == GS_OK) status = finish_sums(verifier, p, args, &e, sum, row, col, value, error);
    free(offsets);
    return status;
}

gs_status gs_check_value(const gs_verifier *verifier, const gs_problem *p, const gs_args *args, const double products[2], int64_t row, int64_t col, double *value, gs_error *error)
{
    const gs_epilogue e = epilogue_of(p, args);
    double c = 0, sum[2];
    if (gs_reference_adds_c(p)) GS_TRY(read_element(verifier, p->out, args->c, gs_place_in_c(p, row, col), &c, error));
    for (int up = 0; up < 2; up++) sum[up] = (double)p->alpha * products[up] + (double)p->beta * c;
    return finish_sums(verifier, p, args, &e, sum, row, col, value, error);
}

/* The right sum of a column, and the one that was written. first: vector * n + column. */
gs_status gs_check_summary_of_sums(gs_verifier *verifier, const gs_problem *p, uint64_t first, const gs_args *args, gs_pointer reference, gs_compare *out, gs_error *error)
{
    const int64_t vector = (int64_t)(first / (uint64_t)p->n);
    gs_group_rows of;
    GS_TRY(gs_rows_of_sum(verifier->device, p, (uintptr_t)args->offsets, vector, &of, error));
    out->col = (int64_t)(first % (uint64_t)p->n);
    out->row = vector;
    out->want = 0;
    for (int64_t row = of.first; row < of.first + of.rows; row++) {
        double value;
        GS_TRY(finish(verifier, p, args, reference, row, out->col, &value, error));
        out->want += value;
    }
    return read_element(verifier, p->out, args->bias, vector * gs_dbias_stride(p) + out->col, &out->got, error);
}

gs_status gs_check_summary(gs_verifier *verifier, const gs_problem *problem, const gs_check_counts *counts, const gs_args *args,
                           gs_pointer reference, gs_compare *out, gs_error *error)
{
    double worst;
    memcpy(&worst, &counts->worst, sizeof worst);
    *out = (gs_compare){.mismatches = (int64_t)counts->mismatches, .row = -1, .col = -1, .worst = worst};
    if (counts->error2 > 0) out->frobenius = counts->reference2 > 0 ? sqrt(counts->error2 / counts->reference2) : 1;
    if (counts->absolute_error > 0) out->bias = counts->signed_error / counts->absolute_error;
    if (counts->first == UINT64_MAX) return GS_OK;

    out->row = (int64_t)(counts->first / (uint64_t)problem->n);
    out->col = (int64_t)(counts->first % (uint64_t)problem->n);
    GS_TRY(read_element(verifier, problem->out, args->d, gs_place_in_d(problem, out->row, out->col), &out->got, error));
    return finish(verifier, problem, args, reference, out->row, out->col, &out->want, error);
}
