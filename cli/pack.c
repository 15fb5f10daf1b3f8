/* SPDX-License-Identifier: MIT
 * gemmsmith pack: writes problems with their compiled kernels to one file, so that programs need no compiler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "command.h"
#include "device/device.h"
#include "inspect/inspect.h"
#include "output.h"
#include "packing/packing.h"
#include "plan/made.h"
#include "problems.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

typedef struct settings {
    cli_common  common;
    cli_asked   asked;
    const char *device, *out, *store, *list, *verify;
} settings;

static const cli_option options[] = {
    CLI_ASKED_OPTIONS(settings, "layouts of B to pack; default: the one in the problem"),
    {"out",    0, CLI_OUTPUT, offsetof(settings, out),    "FILE",  "the pack to write"},
    {"device", 0, CLI_TEXT,   offsetof(settings, device), "NAME",  "h200: compile for it without a GPU; or cuda:0, emu:h200, ...;\ndefault $GEMMSMITH_DEVICE, else the first GPU"},
    {"store",  0, CLI_TEXT,   offsetof(settings, store),  "STORE", "where the user kernels are that the tables name"},
    {"list",   0, CLI_TEXT,   offsetof(settings, list),   "FILE",  "print what a pack has"},
    {"verify", 0, CLI_TEXT,   offsetof(settings, verify), "FILE",  "check all checksums of a pack, and create each of its plans on the\npack's device"},
    {NULL},
};

/* ---- list, verify ---- */

static void print_entry(const gs_pack *pack, const gs_pack_entry *entry)
{
    gs_pack_kernel kernel = {0};
    const bool sound = entry->kernel < 0 || gs_pack_kernel_at(pack, entry->kernel, &kernel, NULL) == GS_OK;
    printf("%s  %s", entry->problem, entry->choice);
    if (entry->kernel >= 0) printf("  %zu bytes", kernel.code_size + kernel.ptx_size);
    if (kernel.spill_bytes > 0) printf(", %d bytes spilled", kernel.spill_bytes);
    if (!sound) printf(", damaged");
    if (entry->us > 0) printf("  %.2f us", entry->us);
    if (entry->us > 0 && entry->ratio > 0 && entry->suggestion == 0) printf("  %.3f", entry->ratio);
    printf("\n");
}

static int list(const cli_command *command, const char *path)
{
    gs_error error = {0};
    gs_pack *pack;
    gs_pack_entry entry;
    if (gs_pack_open(&pack, path, &error) != GS_OK) return cli_fail(command, NULL, &error);
    const gs_pack_head *const head = gs_pack_about(pack);
    for (int i = 0; gs_pack_entry_at(pack, i, &entry); i++) print_entry(pack, &entry);
    printf("%d problem%s, %d kernel%s, %zu bytes; gemmsmith %s, %s%s, chosen for %s", head->problems, head->problems == 1 ? "" : "s", head->kernels, head->kernels == 1 ? "" : "s", gs_pack_bytes(pack), head->version, head->target,
           head->emulated ? " emulated" : "", head->gpu);
    if (!head->emulated) printf(", CUDA %d.%d, driver %s or newer", head->nvrtc / 1000, head->nvrtc % 1000 / 10, gs_pack_driver_name(head->driver));
    printf("\n");
    gs_pack_close(&pack);
    return CLI_OK;
}

/* Verifies an entry as a program would use it, without a compiler. */
static int verify_entry(gs_context *context, const gs_pack_entry *entry, double *us)
{
    gs_error error = {0};
    gs_problem problem;
    gs_plan *plan = NULL;
    gs_status status = gs_problem_parse(&problem, entry->problem, &error);
    const int64_t start = gs_clock_ns();
    if (status == GS_OK) status = gs_plan_create(context, &problem, &plan, &error);
    *us = (double)(gs_clock_ns() - start) * 1e-3;
    const bool served = status == GS_OK && gs_plan_origin(plan) == GS_ORIGIN_PACK;
    printf("%s  %s  %s\n", served ? "ok  " : "FAIL", entry->problem, served ? entry->choice : status == GS_OK ? "not served by the pack" : error.text);
    gs_plan_destroy(&plan);
    return served ? 0 : 1;
}

static int verify(const cli_command *command, const char *path, const char *device)
{
    gs_error error = {0};
    gs_pack *pack;
    gs_pack_entry entry;
    gs_context *context = NULL;
    gs_config config = gs_config_default();
    char name[GS_DEVICE_NAME];
    int failed = 0, loose = 0;
    double first = 0, sum = 0, us;
    if (gs_pack_open(&pack, path, &error) != GS_OK) return cli_fail(command, NULL, &error);
    config.pack_path = path;
    config.device = device && *device ? device : gs_packing_made_for(pack, name);
    setenv("GEMMSMITH_COMPILE", "off", 1);
    gs_status status = gs_open(&context, &config, &error);
    const char *const needs = status == GS_OK ? NULL : cli_needs(status, config.device, NULL);
    if (status == GS_OK) status = gs_pack_fits(pack, gs_context_caps(context), &error);
    if (status != GS_OK) {
        gs_pack_close(&pack);
        gs_close(&context);
        return cli_fail(command, needs, &error);
    }
    for (int i = 0; gs_pack_entry_at(pack, i, &entry); i++) {
        failed += verify_entry(context, &entry, &us);
        sum += us;
        if (i == 0) first = us;
    }
    for (int i = 0; i < gs_pack_about(pack)->kernels; i++) {
        gs_pack_kernel kernel;
        loose += gs_pack_kernel_at(pack, i, &kernel, NULL) != GS_OK;
    }
    printf("%d of %d problems served, %d of %d kernels sound\n", gs_pack_about(pack)->problems - failed, gs_pack_about(pack)->problems,
           gs_pack_about(pack)->kernels - loose, gs_pack_about(pack)->kernels);
    cli_note("the first plan took %.0f us, all together %.0f us", first, sum);
    gs_pack_close(&pack);
    gs_close(&context);
    return failed || loose ? CLI_VERIFY : CLI_OK;
}

/* ---- making a pack ---- */

static gs_status source_of(void *self, const char *name, char **source, char **manifest, gs_error *error) { return gs_store_source_get(self, name, source, manifest, error); }

static int add_all(const cli_command *command, gs_packing *packing, const cli_problems *problems, int *added)
{
    for (int i = 0; i < problems->count && !cli_stopped(); i++) {
        char text[GS_PROBLEM_TEXT];
        gs_error error = {0};
        bool one = false;
        cli_progress("%d of %d: %s", i + 1, problems->count, gs_problem_format(&problems->list[i], text));
        const gs_status status = gs_packing_add(packing, &problems->list[i], &one, &error);
        if (status == GS_ERROR_UNSUPPORTED && problems->recorded) cli_note("left out: %s: %s", text, error.text);   /* a recorded program's other problems are packed */
        else if (status != GS_OK) return cli_fail(command, text, &error);
        *added += one;
    }
    cli_progress_clear();
    return cli_stopped() ? cli_stopped() : -1;
}

static int make(const cli_command *command, const settings *s, const cli_problems *problems, const gs_compiler *user_compiler, gs_packing *packing)
{
    gs_error error = {0};
    gs_config config = gs_config_default();
    gs_device *device;
    size_t size = 0;
    int added = 0;
    if (!gs_compiler_version(&error)) return cli_fail(command, NULL, &error);   /* without a compiler every entry would be cuBLASLt */
    if (gs_packing_device(&device, s->device, &error) != GS_OK) return cli_fail(command, cli_needs(error.status, s->device, NULL), &error);
    packing->device = device;
    config.measure = -1;
    device->inspector = &gs_inspect_user_kernels;
    device->user_compiler = user_compiler;
    if (gs_context_open_on(&packing->context, &config, device, &error) != GS_OK || gs_pack_writer_create(&packing->writer, &error) != GS_OK) return cli_fail(command, NULL, &error);
    const int code = add_all(command, packing, problems, &added);
    if (code >= 0) return code;
    if (gs_packing_write(packing, s->out, &size, &error) != GS_OK) return cli_fail(command, NULL, &error);
    cli_note("%s: %d problem%s, %zu bytes; %d by cuBLASLt, %d by user kernels, %d without a row of their own", s->out, added, added == 1 ? "" : "s", size, packing->library, packing->user, packing->uncovered);
    if (packing->uncovered && gs_table_size(gs_context_table(packing->context)) == 0)
        cli_note("no tuned table has rows of %s: these kernels were chosen, not measured; gemmsmith tune measures, and GEMMSMITH_TUNED names a table",
                 gs_context_caps(packing->context)->slug);
    return CLI_OK;
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.asked.acc = -1};
    cli_problems problems;
    gs_packing packing = {0};
    gs_store *store = NULL;
    gs_sandbox sandbox = {0};   /* user kernels are compiled in it */
    gs_error error = {0};
    int words;
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    if (!!s.list + !!s.verify + !!s.out > 1) return cli_usage(command, "only one of --out, --list and --verify can be done");
    if (s.list) return list(command, s.list);
    if (s.verify) return verify(command, s.verify, s.device);
    if (!s.out) return cli_usage(command, "--out FILE is needed");
    code = cli_problems_read(command, &problems, &s.asked, words, argv + 1);
    if (code >= 0) return code;
    if (problems.count == 0) code = cli_usage(command, CLI_NEEDS_PROBLEM);
    if (code < 0 && s.store && gs_sandbox_start(&sandbox, &error) != GS_OK) code = cli_fail(command, NULL, &error);
    if (code < 0 && s.store && gs_store_open_read(&store, s.store, &error) != GS_OK) code = cli_fail(command, NULL, &error);
    if (store) packing.sources = (gs_packing_sources){source_of, store};
    cli_signals();
    if (code < 0) code = make(command, &s, &problems, s.store ? &sandbox.compiler : NULL, &packing);
    gs_pack_writer_destroy(&packing.writer);
    gs_close(&packing.context);
    gs_store_close(&store);
    if (s.store) gs_sandbox_stop(&sandbox);
    cli_problems_free(&problems);
    return code;
}

const cli_command cli_pack = {
    .name     = "pack",
    .words    = "[PROBLEM...]",
    .summary  = "compiled kernels of problems in one file, for programs without a compiler",
    .about    = "Chooses for each problem what a plan would choose, by the tuned tables and the weights, compiles it,\nand writes all of it into one file.\n"
                "Programs that GEMMSMITH_PACK or gs_config.pack_path gives the file need no compiler, no cache and no\nwritable disk for these problems.\n"
                "GEMMSMITH_NVRTC names the compiler: what one of CUDA 12 (12.1 or later) makes runs on drivers from\n525 on, of CUDA 13 from 580 on.",
    .options  = options,
    .examples = "  gemmsmith pack --device h200 --file problems.txt --out model.pack\n"
                "  gemmsmith pack --list model.pack\n"
                "  GEMMSMITH_PACK=model.pack python3 serve.py",
    .run      = run,
};
