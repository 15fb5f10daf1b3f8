/* SPDX-License-Identifier: MIT */
#include "product/product.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "device/device.h"
#include "problem/layout.h"
#include "operands/operands.h"

#define FILE_LIMIT ((size_t)1 << 40)
#define CPU_FLOPS  5e8      /* the CPU computes the reference of smaller problems: up to a second of work */
#define TOLERANCE  1.5
#define POISON     0xffffffffu

/* ---- matrices and files ---- */

static gs_npy_type npy_type(gs_type type) { return type == GS_F16 ? GS_NPY_F16 : type == GS_F32 ? GS_NPY_F32 : GS_NPY_U16; }

static gs_product_operand matrix_of(const gs_problem *p, int index)
{
    static const char *const names[GS_OPERANDS] = {"A", "B", "C", "D", "bias", "offsets", "aux", "scale_m", "scale_n"};
    const char letter = GS_OPERAND_LETTERS[index];
    const gs_shape s = gs_shape_of(p, letter);
    return (gs_product_operand){.name = names[index],
                    .rows = s.rows * s.matrices,
                    .matrices = s.matrices, .stride = s.stride,
                    .row = s.row,
                    .ld = s.ld,
                    .type = npy_type(s.type),
                    .output = gs_is_written(p, letter),
                    .element = gs_type_size(s.type),
                    .bytes = gs_problem_bytes(p, letter)};
}

/* Offset of row i, in bytes. */
static size_t place_of(const gs_product_operand *m, int64_t i)
{
    const int64_t rows = m->rows / m->matrices;
    return (size_t)(i / rows * m->stride + i % rows * m->ld) * m->element;
}

static size_t packed_size(const gs_product_operand *m) { return (size_t)m->rows * (size_t)m->row * m->element; }

/* The axis of rows may be missing if there is one row, as for a bias. */
static bool fits(const gs_product_operand *m, const gs_npy *npy)
{
    const int64_t rows = m->rows / m->matrices, *const extent = npy->extent;
    if (npy->axes == 3) return extent[0] == m->matrices && extent[1] == rows && extent[2] == m->row;
    if (npy->axes == 2) return (m->matrices == 1 || rows == 1) && extent[0] == m->rows && extent[1] == m->row;
    return m->rows == 1 && extent[0] == m->row;
}

/* Finds where the elements start in the file; checks that they have the operand's size or shape and type. */
static gs_status find_elements(const gs_product_operand *m, const char *data, size_t size, size_t *start,
                               gs_error *error)
{
    *start = 0;
    const size_t want = packed_size(m);
    if (!gs_npy_is(data, size)) {
        if (size == want) return GS_OK;
        return gs_fail(error, GS_ERROR_CORRUPT, NULL, "%zu bytes, %s takes %lld x %lld elements of %zu: %zu bytes", size, m->name,
                       (long long)m->rows, (long long)m->row, m->element, want);
    }
    gs_npy npy;
    GS_TRY(gs_npy_parse(&npy, data, size, error));
    if (npy.type != m->type) {
        static const char *const names[] = {[GS_NPY_F16] = "<f2", [GS_NPY_F32] = "<f4", [GS_NPY_U16] = "<u2"};
        return gs_fail(error, GS_ERROR_CORRUPT, "descr", "elements are %s, %s of this problem takes %s", names[npy.type], m->name,
                       names[m->type]);
    }
    if (!fits(m, &npy)) {
        char has[80] = "";
        for (int i = 0; i < npy.axes; i++) snprintf(has + strlen(has), sizeof has - strlen(has), "%s%lld", i ? " x " : "", (long long)npy.extent[i]);
        return gs_fail(error, GS_ERROR_CORRUPT, "shape", "%s, %s of this problem takes %s%lld x %lld", has, m->name,
                       m->matrices > 1 ? "batch x " : "", (long long)(m->rows / m->matrices), (long long)m->row);
    }
    *start = npy.data;
    return GS_OK;
}

static gs_status read_matrix(gs_product_operand *m, const char *path, gs_error *error)
{
    char *data;
    size_t size, start;
    GS_TRY(gs_file_read(path, FILE_LIMIT, &data, &size, error));
    gs_status status = find_elements(m, data, size, &start, error);
    if (status == GS_OK && !(m->host = calloc(1, m->bytes + 1)))
        status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %s", m->name);
    const size_t row = (size_t)m->row * m->element;
    for (int64_t i = 0; status == GS_OK && i < m->rows && row > 0; i++)
        memcpy(m->host + place_of(m, i), data + start + (size_t)i * row, row);
    free(data);
    return status;
}

static gs_status write_matrix(const gs_product_operand *m, const gs_problem *problem, const char *path, gs_error *error)
{
    gs_text text = {0};
    const size_t length = strlen(path), row = (size_t)m->row * m->element;
    if (length >= 4 && strcmp(path + length - 4, ".npy") == 0) {
        const int64_t extent[] = {problem->batch, m->rows / problem->batch, m->row};
        const bool one = problem->batch == 1;
        gs_npy_header(&text, m->type, extent + one, 3 - one);
    }
    for (int64_t i = 0; i < m->rows && !text.failed; i++)
        gs_text_add_bytes(&text, m->host + place_of(m, i), row);
    const gs_status status = text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the file of %s", m->name)
                                         : gs_file_write(path, text.data ? text.data : "", text.size, error);
    gs_text_free(&text);
    return status;
}

void gs_product_make(gs_product *p, const gs_problem *problem)
{
    *p = (gs_product){.asked = *problem, .problem = gs_problem_pool(problem)};
    for (int i = 0; i < GS_OPERANDS; i++) p->m[i] = matrix_of(&p->problem, i);
}

gs_status gs_product_read(gs_product *p, int index, const char *path, gs_error *error) { return read_matrix(&p->m[index], path, error); }

/* ---- on the device ---- */

static bool needed(const gs_product *p, int index) { return gs_is_written(&p->problem, GS_OPERAND_LETTERS[index]) || gs_is_read(&p->problem, GS_OPERAND_LETTERS[index]); }

static gs_status fill_operands(gs_product *p, int64_t seed, gs_error *error)
{
    const gs_device_ops *const ops = p->device->ops;
    for (int i = 0; i < GS_OPERANDS; i++) {
        gs_product_operand *const m = &p->m[i];
        if (!needed(p, i)) continue;
        const size_t size = (m->bytes + 255) / 256 * 256 + 256;
        GS_TRY(ops->alloc(p->device, size, &m->device, error));
        GS_TRY(ops->fill(p->device, m->device, POISON, size, NULL, error));
        GS_TRY(ops->queue_wait(p->device, NULL, error));
        if (m->host)
            GS_TRY(ops->copy_in(p->device, m->device, m->host, m->bytes, error));
        else if (!gs_is_written(&p->problem, GS_OPERAND_LETTERS[i]) && m->bytes > 0)
            GS_TRY(gs_generate(p->verifier, &p->problem, GS_OPERAND_LETTERS[i], GS_DATA_NORMAL, (uint64_t)seed, m->device, NULL,
                               error));
    }
    GS_TRY(gs_operand_scalars(p->device, &p->problem, &p->scalars, error));
    if (p->asked.matrices) {
        const gs_pointer at[] = {p->m[0].device, p->m[1].device, p->m[2].device, p->m[3].device};
        GS_TRY(ops->alloc(p->device, gs_pool_pointers_size(&p->problem), &p->pointers, error));
        GS_TRY(gs_operand_put_pointers(p->device, &p->problem, at, (uint64_t)seed, p->pointers, error));
    }
    return ops->queue_wait(p->device, NULL, error);
}

static gs_status fetch(gs_product *p, int index, gs_error *error)
{
    gs_product_operand *const m = &p->m[index];
    if (!m->host && !(m->host = calloc(1, m->bytes + 1)))
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %s", m->name);
    return m->bytes > 0 ? p->device->ops->copy_out(p->device, m->host, m->device, m->bytes, error) : GS_OK;
}

static gs_status reference_on_cpu(gs_product *p, size_t bytes, gs_error *error)
{
    double *const out = malloc(bytes);
    if (!out) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the reference");
    gs_status status = GS_OK;
    for (int i = 0; i < 3 && status == GS_OK; i++)
        if (needed(p, i)) status = fetch(p, i, error);
    if (status == GS_OK) {
        gs_reference_cpu(&p->problem, p->m[0].host, p->m[1].host, p->m[2].host, out);
        status = p->device->ops->copy_in(p->device, p->reference, out, bytes, error);
    }
    free(out);
    return status;
}

static gs_args args_of(const gs_product *p)
{
    gs_pointer at[GS_OPERANDS];
    for (int i = 0; i < GS_OPERANDS; i++) at[i] = p->m[i].device;
    gs_args args = gs_operand_args(at);
    args.size = sizeof args;
    gs_operand_set_scalars(&args, true, p->scalars);
    return args;
}

gs_status gs_product_check(gs_product *p, gs_error *error)
{
    const size_t bytes = (size_t)p->m[3].rows * (size_t)gs_columns_of_b(&p->problem) * sizeof(double);
    if (bytes == 0) return GS_OK;
    GS_TRY(p->device->ops->alloc(p->device, bytes, &p->reference, error));
    p->on_cpu = !gs_has_offsets(&p->problem) && gs_problem_flops(&p->problem) <= CPU_FLOPS;
    const gs_args args = args_of(p);
    if (p->on_cpu)
        GS_TRY(reference_on_cpu(p, bytes, error));
    else
        GS_TRY(gs_reference_of(p->verifier, &p->problem, &args, p->reference, NULL, error));
    GS_TRY(gs_compare_reference(p->verifier, &p->problem, &args, p->reference, TOLERANCE, &p->compare, NULL, error));
    if (p->problem.aux && !p->compare.mismatches) {
        const gs_problem before = gs_problem_of_aux(&p->problem);
        gs_compare of_aux;
        gs_args beside = args;
        beside.d = args.aux;
        GS_TRY(gs_compare_reference(p->verifier, &before, &beside, p->reference, TOLERANCE, &of_aux, NULL, error));
        if (of_aux.mismatches) p->of = "aux", p->compare = of_aux;
    }
    if (p->problem.bias == GS_DBIAS && p->problem.m > 0 && !p->compare.mismatches) {
        gs_compare of_sums;
        GS_TRY(gs_compare_sums(p->verifier, &p->problem, &args, p->reference, TOLERANCE, &of_sums, NULL, error));
        if (of_sums.mismatches) p->of = "dbias", p->compare = of_sums;
    }
    p->checked = true;
    return GS_OK;
}

gs_status gs_product_open(gs_product *p, const char *device, bool dependent, gs_error *error)
{
    p->dependent = dependent;
    return gs_device_open(&p->device, device, NULL, error);
}

/* Takes seconds, so it is separate from gs_product_open: the caller can first say how long everything will take. */
static gs_status prepare(gs_product *p, gs_error *error)
{
    gs_config config = gs_config_default();
    config.device = p->device->name;
    config.dependent = p->dependent ? 1 : -1;
    GS_TRY(gs_open(&p->context, &config, error));
    return gs_verifier_create(&p->verifier, p->device, error);
}

/* Runs the plan; gs_plan_check names the argument that was refused. */
static gs_status run_plan(gs_plan *plan, const gs_args *args, gs_error *error)
{
    const gs_status status = gs_plan_run(plan, args, NULL);
    if (status == GS_OK) return GS_OK;
    return gs_plan_check(plan, args, error) == status ? status : gs_fail(error, status, NULL, "%s: GEMMSMITH_LOG=2 prints what is known of it", gs_status_string(status));
}

gs_status gs_product_run(gs_product *p, int64_t seed, gs_error *error)
{
    GS_TRY(prepare(p, error));
    GS_TRY(fill_operands(p, seed, error));
    gs_args args = args_of(p);
    gs_operand_set_pointers(&args, &p->problem, p->pointers);
    GS_TRY(gs_plan_create(p->context, &p->asked, &p->plan, error));
    GS_TRY(run_plan(p->plan, &args, error));
    return p->device->ops->queue_wait(p->device, NULL, error);
}

gs_status gs_product_write_all(gs_product *p, const char *const path[GS_OPERANDS], gs_error *error)
{
    for (int i = 0; i < GS_OPERANDS; i++)
        if (path[i] && p->m[i].output) GS_TRY(gs_product_write(p, i, path[i], error));
    return GS_OK;
}

gs_status gs_product_write(gs_product *p, int index, const char *path, gs_error *error)
{
    GS_TRY(fetch(p, index, error));
    return write_matrix(&p->m[index], &p->problem, path, error);
}

void gs_product_free(gs_product *p)
{
    for (int i = 0; i < GS_OPERANDS; i++) {
        if (p->device && p->m[i].device) p->device->ops->free(p->device, p->m[i].device);
        free(p->m[i].host);
    }
    if (p->device && p->pointers) p->device->ops->free(p->device, p->pointers);
    if (p->device && p->scalars) p->device->ops->free(p->device, p->scalars);
    if (p->device && p->reference) p->device->ops->free(p->device, p->reference);
    gs_verifier_destroy(&p->verifier);
    gs_plan_destroy(&p->plan);
    gs_close(&p->context);
    gs_device_close(&p->device);
    *p = (gs_product){0};
}
