/* SPDX-License-Identifier: MIT
 * gemmsmith gemm: one multiplication, from files or of random data, checked against a reference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "base/text.h"
#include "command.h"
#include "device/device.h"
#include "emu/emu.h"
#include "output.h"
#include "problems.h"
#include "session.h"
#include "verify/verify.h"

#define FILE_LIMIT   ((size_t)1 << 40)
#define CPU_FLOPS    5e8      /* the CPU computes the reference up to here, a second of work */
#define TOLERANCE    1.5
#define POISON       0xffffffffu

typedef struct settings {
    cli_common  common;
    const char *file[4];      /* a, b, c, d */
    const char *device;
    int64_t     seed;
    bool        no_check, counters, dependent, json;
} settings;

static const cli_option options[] = {
    {"a",        0, CLI_TEXT, offsetof(settings, file[0]), "FILE", "A, M x K; default: random data"},
    {"b",        0, CLI_TEXT, offsetof(settings, file[1]), "FILE", "B as stored: nn K x N, tn N x K; default: random data"},
    {"c",        0, CLI_TEXT, offsetof(settings, file[2]), "FILE", "C, M x N, read where beta is not 0; default: random data"},
    {"out",      0, CLI_TEXT, offsetof(settings, file[3]), "FILE", "where D, M x N, goes; *.npy becomes a NumPy file, else raw"},
    {"no-check", 0, CLI_FLAG, offsetof(settings, no_check), NULL,  "do not compare the result with a reference"},
    {"seed",     0, CLI_INT,  offsetof(settings, seed),    "N",    "seed of the random data; default 1", 1, 9e15},
    {"counters", 0, CLI_FLAG, offsetof(settings, counters), NULL,  "what the kernel did, on an emulated device"},
    CLI_DEPENDENT_OPTION(settings),
    CLI_DEVICE_OPTIONS(settings),
    {"json",     0, CLI_FLAG, offsetof(settings, json),    NULL,   "one JSON object"},
    {NULL},
};

/* ---- matrices and files ---- */

/* An operand as it lies in memory: rows (all of the batch) of row elements, ld apart. */
typedef struct matrix {
    char         name;        /* 'A' to 'D' */
    int64_t      rows, row, ld;
    gs_npy_type type;
    size_t       element, bytes;
    char        *host;        /* bytes, NULL: not read from a file */
    gs_pointer   device;
} matrix;

static gs_npy_type npy_type(gs_type type) { return type == GS_F16 ? GS_NPY_F16 : type == GS_F32 ? GS_NPY_F32 : GS_NPY_U16; }

static matrix matrix_of(const gs_problem *p, int index)
{
    const bool tn = p->layout == GS_TN;
    const int64_t rows[] = {p->m, tn ? p->n : p->k, p->m, p->m}, row[] = {p->k, tn ? p->k : p->n, p->n, p->n},
                  ld[] = {p->lda, p->ldb, p->ldc, p->ldd};
    const gs_type type = index < 2 ? p->in : p->out;
    return (matrix){.name = (char)('A' + index),
                    .rows = rows[index] * p->batch,
                    .row = row[index],
                    .ld = ld[index],
                    .type = npy_type(type),
                    .element = gs_type_size(type),
                    .bytes = gs_problem_bytes(p, (char)('a' + index))};
}

static size_t packed_size(const matrix *m) { return (size_t)m->rows * (size_t)m->row * m->element; }

/* Where the elements start in the file; checks that they are the matrix's. */
static gs_status find_elements(const matrix *m, const gs_problem *problem, const char *data, size_t size, size_t *start,
                               gs_error *error)
{
    *start = 0;
    const size_t want = packed_size(m);
    if (!gs_npy_is(data, size)) {
        if (size == want) return GS_OK;
        return gs_fail(error, GS_ERROR_CORRUPT, NULL, "%zu bytes, %c takes %lld x %lld elements of %zu: %zu bytes", size, m->name,
                       (long long)m->rows, (long long)m->row, m->element, want);
    }
    gs_npy npy;
    GS_TRY(gs_npy_parse(&npy, data, size, error));
    if (npy.type != m->type) {
        static const char *const names[] = {[GS_NPY_F16] = "<f2", [GS_NPY_F32] = "<f4", [GS_NPY_U16] = "<u2"};
        return gs_fail(error, GS_ERROR_CORRUPT, "descr", "elements are %s, %c of this problem takes %s", names[npy.type], m->name,
                       names[m->type]);
    }
    const int64_t *const extent = npy.extent + (npy.axes == 3);
    const int64_t batch = npy.axes == 3 ? npy.extent[0] : 1;
    if (npy.axes < 2 || batch != problem->batch || extent[0] * batch != m->rows || extent[1] != m->row) {
        return gs_fail(error, GS_ERROR_CORRUPT, "shape", "%c of this problem takes %s%lld x %lld", m->name,
                       problem->batch > 1 ? "batch x " : "", (long long)(m->rows / problem->batch), (long long)m->row);
    }
    *start = npy.data;
    return GS_OK;
}

static gs_status read_matrix(matrix *m, const gs_problem *problem, const char *path, gs_error *error)
{
    char *data;
    size_t size, start;
    GS_TRY(gs_file_read(path, FILE_LIMIT, &data, &size, error));
    gs_status status = find_elements(m, problem, data, size, &start, error);
    if (status == GS_OK && !(m->host = calloc(1, m->bytes + 1)))
        status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %c", m->name);
    const size_t row = (size_t)m->row * m->element;
    for (int64_t i = 0; status == GS_OK && i < m->rows && row > 0; i++)
        memcpy(m->host + (size_t)(i * m->ld) * m->element, data + start + (size_t)i * row, row);
    free(data);
    return status;
}

static gs_status write_matrix(const matrix *m, const gs_problem *problem, const char *path, gs_error *error)
{
    gs_text text = {0};
    const size_t length = strlen(path), row = (size_t)m->row * m->element;
    if (length >= 4 && strcmp(path + length - 4, ".npy") == 0) {
        const int64_t extent[] = {problem->batch, m->rows / problem->batch, m->row};
        const bool one = problem->batch == 1;
        gs_npy_header(&text, m->type, extent + one, 3 - one);
    }
    for (int64_t i = 0; i < m->rows && !text.failed; i++)
        gs_text_add_bytes(&text, m->host + (size_t)(i * m->ld) * m->element, row);
    const gs_status status = text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the file of D")
                                         : gs_file_write(path, text.data ? text.data : "", text.size, error);
    gs_text_free(&text);
    return status;
}

/* ---- on the device ---- */

typedef struct job {
    const settings *s;
    gs_problem      problem;
    matrix          m[4];
    gs_device      *device;
    gs_context     *context;
    gs_verifier    *verifier;
    gs_pointer      reference;
    gs_compare      compare;
    bool            checked, on_cpu;
    bool            counted;
    gs_emu_last     last;       /* what the multiplication's launch did */
} job;

static bool needed(const job *j, int index) { return index != 2 || j->problem.beta != 0; }

static gs_status fill_operands(job *j, gs_error *error)
{
    const gs_device_ops *const ops = j->device->ops;
    for (int i = 0; i < 4; i++) {
        matrix *const m = &j->m[i];
        if (!needed(j, i)) continue;
        const size_t size = (m->bytes + 255) / 256 * 256 + 256;
        GS_TRY(ops->alloc(j->device, size, &m->device, error));
        GS_TRY(ops->fill(j->device, m->device, POISON, size, NULL, error));
        GS_TRY(ops->queue_wait(j->device, NULL, error));
        if (m->host)
            GS_TRY(ops->copy_in(j->device, m->device, m->host, m->bytes, error));
        else if (i < 3 && m->bytes > 0)
            GS_TRY(gs_generate(j->verifier, &j->problem, (char)('a' + i), GS_DATA_NORMAL, (uint64_t)j->s->seed, m->device, NULL,
                               error));
    }
    return ops->queue_wait(j->device, NULL, error);
}

static gs_status fetch(job *j, int index, gs_error *error)
{
    matrix *const m = &j->m[index];
    if (!m->host && !(m->host = calloc(1, m->bytes + 1)))
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %c", m->name);
    return m->bytes > 0 ? j->device->ops->copy_out(j->device, m->host, m->device, m->bytes, error) : GS_OK;
}

static gs_status reference_on_cpu(job *j, size_t bytes, gs_error *error)
{
    double *const out = malloc(bytes);
    if (!out) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the reference");
    gs_status status = GS_OK;
    for (int i = 0; i < 3 && status == GS_OK; i++)
        if (needed(j, i)) status = fetch(j, i, error);
    if (status == GS_OK) {
        gs_reference_cpu(&j->problem, j->m[0].host, j->m[1].host, j->m[2].host, out);
        status = j->device->ops->copy_in(j->device, j->reference, out, bytes, error);
    }
    free(out);
    return status;
}

static gs_status check_result(job *j, gs_error *error)
{
    const size_t bytes = (size_t)j->m[3].rows * (size_t)j->m[3].row * sizeof(double);
    if (bytes == 0) return GS_OK;
    GS_TRY(j->device->ops->alloc(j->device, bytes, &j->reference, error));
    j->on_cpu = gs_problem_flops(&j->problem) <= CPU_FLOPS;
    if (j->on_cpu)
        GS_TRY(reference_on_cpu(j, bytes, error));
    else
        GS_TRY(gs_reference(j->verifier, &j->problem, j->m[0].device, j->m[1].device, j->m[2].device, j->reference, NULL, error));
    GS_TRY(gs_compare_reference(j->verifier, &j->problem, j->m[3].device, j->reference, TOLERANCE, &j->compare, NULL, error));
    j->checked = true;
    return GS_OK;
}

static gs_status multiply(job *j, gs_error *error)
{
    gs_config config = gs_config_default();
    GS_TRY(gs_device_open(&j->device, j->s->device, NULL, error));
    if (j->s->counters && !j->device->caps.emulated)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "counters", "%s counts nothing; use an emulated device, or a profiler", j->device->name);
    config.device = j->device->name;
    config.dependent = j->s->dependent ? 1 : -1;
    GS_TRY(gs_open(&j->context, &config, error));
    GS_TRY(gs_verifier_create(&j->verifier, j->device, error));
    cli_announce(&j->device->caps, j->device->name, "multiplying", gs_emulated_seconds(&j->problem, 1, j->s->no_check ? 0 : 1));
    GS_TRY(fill_operands(j, error));
    const gs_args args = {.size = sizeof args, .a = (const void *)(uintptr_t)j->m[0].device, .b = (const void *)(uintptr_t)j->m[1].device,
                          .c = (const void *)(uintptr_t)j->m[2].device, .d = (void *)(uintptr_t)j->m[3].device};
    GS_TRY(gs_gemm(j->context, &j->problem, &args, NULL, error));
    GS_TRY(j->device->ops->queue_wait(j->device, NULL, error));
    if (j->s->counters) j->counted = gs_emu_last_launch(j->device, &j->last);
    if (!j->s->no_check) GS_TRY(check_result(j, error));
    if (!j->s->file[3]) return GS_OK;
    GS_TRY(fetch(j, 3, error));
    return write_matrix(&j->m[3], &j->problem, j->s->file[3], error);
}

static void clean_up(job *j)
{
    for (int i = 0; i < 4; i++) {
        if (j->device && j->m[i].device) j->device->ops->free(j->device, j->m[i].device);
        free(j->m[i].host);
    }
    if (j->device && j->reference) j->device->ops->free(j->device, j->reference);
    gs_verifier_destroy(&j->verifier);
    gs_close(&j->context);
    gs_device_close(&j->device);
}

/* ---- counters ---- */

typedef struct count_row {
    const char *name, *what;
    double      value;
} count_row;

static int count_rows(const gs_emu_last *last, count_row *row)
{
    const gs_emu_counters *const c = &last->counters;
    int rows = 0;
#define GS_EMU_CLASS(id, text, meaning) row[rows++] = (count_row){"issued_" text, "warp instructions: " meaning, (double)c->issued[GS_EMU_##id]};
    GS_EMU_CLASSES(GS_EMU_CLASS)
#undef GS_EMU_CLASS
    const count_row others[] = {
        {"matrix_flops",   "of wgmma and mma",                                    (double)c->matrix_flops},
        {"wgmma_flops",    "of these: by wgmma",                                  (double)c->wgmma_flops},
        {"wgmma",          "warp-level operations",                               (double)c->wgmma},
        {"mma",            "warp-level operations",                               (double)c->mma},
        {"device_load",    "bytes of device memory at least, each sector once",   (double)c->device_load},
        {"device_store",   "the same, written",                                   (double)c->device_store},
        {"l2_load",        "bytes asked of L2",                                   (double)c->global_load},
        {"l2_store",       "the same, written",                                   (double)c->global_store},
        {"copy_load",      "of these: by bulk copies",                            (double)c->copy_load},
        {"copy_store",     "the same, written",                                   (double)c->copy_store},
        {"shared_load",    "bytes",                                               (double)c->shared_load},
        {"shared_store",   "bytes",                                               (double)c->shared_store},
        {"shared_passes",  "of 128 bytes, bank conflicts included",               (double)c->shared_passes},
        {"multicast",      "bytes from another block's copy",                     (double)c->multicast},
        {"distributed",    "bytes to and from other blocks' shared memory",       (double)c->distributed},
        {"barrier_waits",  "waits that had to wait (depends on the seed)",        (double)c->barrier_waits},
        {"mbarrier_waits", "the same at mbarriers",                               (double)c->mbarrier_waits},
        {"blocks",         "in the grid",                                         (double)c->blocks},
        {"registers",      "per thread",                                          last->shape.registers},
        {"smem",           "bytes of a block",                                    last->shape.smem},
        {"resident",       "blocks that fit on a multiprocessor",                 last->resident},
        {"predicted_us",   "time of the launch, not measured",                    last->us},
    };
    memcpy(row + rows, others, sizeof others);
    return rows + (int)GS_COUNT(others);
}

static void print_counters(const gs_emu_last *last)
{
    count_row row[64];
    const int rows = count_rows(last, row);
    printf("%s, grid %u x %u x %u, block %u x %u x %u, cluster %u x %u x %u\n", last->kernel, last->grid[0], last->grid[1], last->grid[2], last->block[0],
           last->block[1], last->block[2], last->cluster[0], last->cluster[1], last->cluster[2]);
    for (int i = 0; i < rows; i++) printf("  %-16s %14.*f  %s\n", row[i].name, row[i].value == floor(row[i].value) ? 0 : 2, row[i].value, row[i].what);
}

/* ---- the command ---- */

static void print_json(const job *j, const char *problem)
{
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", problem);
    gs_json_string(&json, "gpu", j->device->caps.name);
    if (j->s->dependent) gs_json_bool(&json, "dependent", true);
    gs_json_string(&json, "reference", !j->checked ? NULL : j->on_cpu ? "cpu" : "gpu");
    if (j->checked) {
        gs_json_int(&json, "wrong", j->compare.mismatches);
        gs_json_int(&json, "elements", j->m[3].rows * j->m[3].row);
        gs_json_double(&json, "frobenius", j->compare.frobenius);
        gs_json_double(&json, "worst", j->compare.worst);
    }
    gs_json_string(&json, "out", j->s->file[3]);
    if (j->counted) {
        count_row row[64];
        const int rows = count_rows(&j->last, row);
        gs_json_begin(&json, "counters", '{');
        gs_json_string(&json, "kernel", j->last.kernel);
        for (int i = 0; i < rows; i++) gs_json_double(&json, row[i].name, row[i].value);
        gs_json_end(&json, '}');
    }
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&text));
    gs_text_free(&text);
}

static void print_text(const job *j, const char *problem)
{
    printf("%s on %s\n", problem, j->device->caps.name);
    if (j->checked) {
        printf("%s: %lld of %lld elements wrong, Frobenius error %.3g, worst element %.3g of its bound"
               " (f64 reference of the %s)\n",
               j->compare.mismatches ? "WRONG" : "right", (long long)j->compare.mismatches,
               (long long)(j->m[3].rows * j->m[3].row), j->compare.frobenius, j->compare.worst, j->on_cpu ? "CPU" : "GPU");
        if (j->compare.mismatches)
            printf("the first at row %lld, column %lld: %.9g instead of %.9g\n", (long long)j->compare.row,
                   (long long)j->compare.col, j->compare.got, j->compare.want);
    } else {
        printf("not checked\n");
    }
    if (j->s->file[3]) printf("D: %s\n", j->s->file[3]);
    if (j->counted) print_counters(&j->last);
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.seed = 1};
    job j = {.s = &s};
    gs_error error;
    char text[GS_PROBLEM_TEXT];
    int words;
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    code = cli_dependent(command, &s.dependent);
    if (code >= 0) return code;
    if (words != 1) return cli_usage(command, words == 0 ? "which problem? For example f16:512x512x512:tn" : "takes one problem");
    if (gs_problem_parse(&j.problem, argv[1], &error) != GS_OK || gs_problem_check(&j.problem, &error) != GS_OK)
        return cli_fail(command, argv[1], &error);
    if (s.file[2] && j.problem.beta == 0)
        return cli_usage(command, "--c: C is not read while beta is 0; write %s:beta=1", argv[1]);
    gs_problem_format(&j.problem, text);
    for (int i = 0; i < 4; i++) j.m[i] = matrix_of(&j.problem, i);
    for (int i = 0; i < 3 && code < 0; i++)
        if (s.file[i] && read_matrix(&j.m[i], &j.problem, s.file[i], &error) != GS_OK) code = cli_fail(command, s.file[i], &error);
    if (code < 0) {
        if (multiply(&j, &error) != GS_OK) {
            code = cli_fail(command, cli_exit_code(error.status) == CLI_NO_DEVICE ? "needs an NVIDIA GPU" : text, &error);
        } else {
            (s.json ? print_json : print_text)(&j, text);
            code = j.compare.mismatches ? CLI_VERIFY : CLI_OK;
        }
    }
    clean_up(&j);
    return code;
}

const cli_command cli_gemm = {
    .name     = "gemm",
    .words    = "PROBLEM",
    .summary  = "compute one problem, and check the result",
    .about    = "Files are .npy ('<f2', '<f4', bf16 as its bits in '<u2') or raw elements, row by row without padding; a batch is the first\n"
                "axis. What is not named is random. The result is compared with an f64 reference; exit code 4 if it is wrong.",
    .options  = options,
    .examples = "  gemmsmith gemm f16:512x512x512:tn\n"
                "  gemmsmith gemm f16:64x4096x4096:tn --a x.npy --b weights.npy --out y.npy",
    .run      = run,
};
