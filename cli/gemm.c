/* SPDX-License-Identifier: MIT
 * gemmsmith gemm: one multiplication, of files or random data, checked against a reference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "emu/emu.h"
#include "learn/weights.h"
#include "output.h"
#include "problems.h"
#include "session.h"
#include "product/product.h"

typedef struct settings {
    cli_common  common;
    const char *file[9];      /* a, b, c, d, bias, offsets, aux, scale_m, scale_n */
    const char *device;
    int64_t     seed;
    bool        no_check, counters, dependent, json;
} settings;

static const cli_option options[] = {
    {"a",        0, CLI_TEXT, offsetof(settings, file[0]), "FILE", "A as stored: nn, tn M x K; nt, tt K x M; default: random data"},
    {"b",        0, CLI_TEXT, offsetof(settings, file[1]), "FILE", "B as stored: nn, nt K x N; tn, tt N x K; default: random data"},
    {"c",        0, CLI_TEXT, offsetof(settings, file[2]), "FILE", "C, M x N, read where beta is not 0; default: random data"},
    {"bias",     0, CLI_TEXT, offsetof(settings, file[4]), "FILE", "the bias, N or M elements, read where the problem has one; default:\nrandom data; with ep=dbias it is written"},
    {"offsets",  0, CLI_TEXT, offsetof(settings, file[5]), "FILE", "raw 32-bit integers: groups + 1 offsets of g= and gk=,\ngroups counts of gm=; default: random"},
    {"aux",      0, CLI_TEXT, offsetof(settings, file[6]), "FILE", "aux, M x N: written with ep=relu+aux, read with ep=drelu;\ndefault: random data"},
    {"scale-m",  0, CLI_TEXT, offsetof(settings, file[7]), "FILE", "M f32 values, with ep=scale_m; default: random data"},
    {"scale-n",  0, CLI_TEXT, offsetof(settings, file[8]), "FILE", "N f32 values (2N with a gate; a set per group), with ep=scale_n;\ndefault: random data"},
    {"out",      0, CLI_OUTPUT, offsetof(settings, file[3]), "FILE", "write D, M x N; *.npy: as a NumPy file, else raw elements"},
    {"no-check", 0, CLI_FLAG, offsetof(settings, no_check), NULL,  "do not compare the result with a reference"},
    {"seed",     0, CLI_INT,  offsetof(settings, seed),    "N",    "seed of the random data; default 1", 1, 9e15},
    {"counters", 0, CLI_FLAG, offsetof(settings, counters), NULL,  "print the emulated device's counters of the kernel"},
    CLI_DEPENDENT_OPTION(settings),
    CLI_DEVICE_OPTIONS(settings),
    {"json",     0, CLI_FLAG, offsetof(settings, json),    NULL,   "one JSON object"},
    {NULL},
};

typedef struct job {
    const settings *s;
    gs_product      product;
    bool            counted;
    gs_emu_last     last;       /* counters of the multiplication's launch */
} job;

static gs_status multiply(job *j, gs_error *error)
{
    gs_product *const p = &j->product;
    GS_TRY(gs_weights_check_named(NULL, error));
    GS_TRY(gs_product_open(p, j->s->device, j->s->dependent, error));
    const gs_caps *const caps = &p->device->caps;
    if (j->s->counters && !caps->emulated)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "counters", "%s has no counters; use an emulated device, or a profiler", p->device->name);
    cli_announce(caps, p->device->name, "multiplying", gs_emulated_seconds(&p->problem, 1, j->s->no_check ? 0 : 1));
    GS_TRY(gs_product_run(p, j->s->seed, error));
    if (j->s->counters) j->counted = gs_emu_last_launch(p->device, &j->last);
    if (!j->s->no_check) GS_TRY(gs_product_check(p, error));
    return gs_product_write_all(p, j->s->file, error);
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
    const gs_product *const p = &j->product;
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", problem);
    gs_json_string(&json, "gpu", p->device->caps.name);
    gs_json_string(&json, "why", gs_plan_why(p->plan));
    if (j->s->dependent) gs_json_bool(&json, "dependent", true);
    gs_json_string(&json, "reference", !p->checked ? NULL : p->on_cpu ? "cpu" : "gpu");
    if (p->checked) {
        gs_json_int(&json, "wrong", p->compare.mismatches);
        gs_json_int(&json, "elements", p->m[3].rows * p->m[3].row);
        gs_json_double(&json, "frobenius", p->compare.frobenius);
        gs_json_double(&json, "worst", p->compare.worst);
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
    const gs_product *const p = &j->product;
    printf("%s on %s\n%s\n", problem, p->device->caps.name, gs_plan_why(p->plan));
    if (p->checked) {
        printf("%s: %lld of %lld elements wrong, Frobenius error %.3g, worst element %.3g of its bound (f64 reference of the %s)\n",
               p->compare.mismatches ? "WRONG" : "right", (long long)p->compare.mismatches,
               (long long)(p->m[3].rows * p->m[3].row), p->compare.frobenius, p->compare.worst, p->on_cpu ? "CPU" : "device");
        if (p->compare.mismatches)
            printf("%s%sthe first at row %lld, column %lld: %.9g instead of %.9g\n", p->of ? p->of : "", p->of ? ", beside a right D: " : "", (long long)p->compare.row,
                   (long long)p->compare.col, p->compare.got, p->compare.want);
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
    gs_problem problem;
    char text[GS_PROBLEM_TEXT];
    int words;
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code < 0) code = cli_dependent(command, &s.dependent);
    if (code >= 0) return code;
    if (words != 1) return cli_usage(command, words == 0 ? "no problem given; for example f16:512x512x512:tn" : "takes one problem");
    if (gs_problem_parse(&problem, argv[1], &error) != GS_OK || gs_problem_check(&problem, &error) != GS_OK)
        return cli_fail(command, argv[1], &error);
    if (s.file[2] && problem.beta == 0) return cli_usage(command, "--c: C is not read while beta is 0; write %s:beta=1", argv[1]);
    if (s.file[4] && !problem.bias) return cli_usage(command, "--bias: the problem has none; write %s:ep=bias", argv[1]);
    if (s.file[5] && gs_problem_bytes(&problem, 'f') == 0) return cli_usage(command, "--offsets: the problem has no groups; write %s:g=8", argv[1]);
    if (s.file[6] && !problem.aux && problem.activation < GS_DRELU) return cli_usage(command, "--aux: the problem has none; write %s:ep=relu+aux or ep=drelu", argv[1]);
    for (int i = 0; i < 2; i++)
        if (s.file[7 + i] && !(problem.scales & 1u << i)) return cli_usage(command, "--scale-%c: the problem has none; write %s:ep=scale_%c", "mn"[i], argv[1], "mn"[i]);
    gs_problem_format(&problem, text);
    gs_product_make(&j.product, &problem);
    for (int i = 0; i < (int)GS_COUNT(s.file) && code < 0; i++)
        if (s.file[i] && !j.product.m[i].output && gs_product_read(&j.product, i, s.file[i], &error) != GS_OK) code = cli_fail(command, s.file[i], &error);
    if (code < 0 && multiply(&j, &error) != GS_OK) code = cli_fail(command, cli_needs(error.status, s.device, text), &error);
    if (code < 0) {
        (s.json ? print_json : print_text)(&j, text);
        code = j.product.compare.mismatches ? CLI_VERIFY : CLI_OK;
    }
    gs_product_free(&j.product);
    return code;
}

const cli_command cli_gemm = {
    .name     = "gemm",
    .words    = "PROBLEM",
    .summary  = "compute one problem, and check the result",
    .about    = "Files are .npy ('<f2', '<f4', bf16 as its bits in '<u2') or raw elements, row by row without\npadding; a batch is the first axis. Operands without a file are random. The result is compared with\n"
                "an f64 reference; exit code 4 if it is wrong.",
    .options  = options,
    .examples = "  gemmsmith gemm f16:512x512x512:tn\n"
                "  gemmsmith gemm f16:64x4096x4096:tn --a x.npy --b weights.npy --out y.npy",
    .run      = run,
};
