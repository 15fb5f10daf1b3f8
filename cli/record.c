/* SPDX-License-Identifier: MIT
 * gemmsmith record: runs a program and records its multiplications; merges such files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command.h"
#include "output.h"
#include "recorded/import.h"
#include "recorded/recorded.h"
#include "recorded/run.h"

typedef struct settings {
    cli_common  common;
    const char *out;
    bool        merge, import, buckets;
} settings;

static const cli_option options[] = {
    {"out",     0, CLI_TEXT, offsetof(settings, out),     "PATH", "folder of the recorded files, made if it is not there; default\nrecorded. With --merge or --import: the file to write; default:\nstandard output"},
    {"merge",   0, CLI_FLAG, offsetof(settings, merge),   NULL,   "put recorded files, or folders of them, together in one, with counts\nadded and the most work first"},
    {"import",  0, CLI_FLAG, offsetof(settings, import),  NULL,   "the same, of lists of PyTorch's TunableOp: tunableop_untuned*.csv or\ntunableop_results*.csv"},
    {"buckets", 0, CLI_FLAG, offsetof(settings, buckets), NULL,   "problems that differ only in M, from 65 on: one for each step of\n64, 96, 128, 192, 256, 384, ..., with counts added"},
    {NULL},
};

static void say_sums(const char *where, const gs_recorded *r)
{
    cli_note("%s: %d problem%s, %llu call%s, %d file%s", where, gs_recorded_problems(r), gs_recorded_problems(r) == 1 ? "" : "s", (unsigned long long)gs_recorded_calls(r), gs_recorded_calls(r) == 1 ? "" : "s", r->files, r->files == 1 ? "" : "s");
    if (r->cut > 0) cli_note("the last line of %d file%s was cut off, because the process was killed, and is left out", r->cut, r->cut == 1 ? "" : "s");
}

/* ---- merging ---- */

static gs_status read_word(gs_recorded *r, gs_import_others *others, const settings *s, const char *path, gs_error *error)
{
    return s->import && !gs_recorded_is_path(path) ? gs_import_tunableop(r, others, path, error) : gs_recorded_read(r, path, error);
}

static int merge(const cli_command *command, const settings *s, char *const *words, int count)
{
    gs_recorded r = {0};
    gs_import_others others = {0};
    gs_error error = {0};
    gs_status status = GS_OK;
    int merged = 0, code = s->out ? cli_output_file(command, s->out, false) : -1;
    if (code >= 0) return code;
    for (int i = 0; i < count && status == GS_OK; i++) status = read_word(&r, &others, s, words[i], &error);
    if (status == GS_OK && s->buckets) status = gs_recorded_bucket(&r, &merged, &error);
    if (status == GS_OK) status = gs_recorded_write(&r, s->out ? s->out : "-", &error);
    if (status == GS_OK) say_sums(s->out ? s->out : "all together", &r);
    if (status == GS_OK && s->buckets) cli_note("with buckets of M: %d problem%s fewer", merged, merged == 1 ? "" : "s");
    for (int i = 0; i < others.count && status == GS_OK; i++) cli_note("left out: %d line%s of %s", others.list[i].lines, others.list[i].lines == 1 ? "" : "s", others.list[i].operation);
    if (others.beyond > 0 && status == GS_OK) cli_note("left out: %d lines of other operations", others.beyond);
    gs_recorded_free(&r);
    return status == GS_OK ? CLI_OK : cli_fail(command, NULL, &error);
}

/* ---- running ---- */

static void say_recorded(const char *folder, const char *program)
{
    gs_recorded r = {0};
    gs_error error = {0};
    const gs_status status = gs_recorded_read(&r, folder, &error);
    if (status == GS_OK) say_sums(folder, &r);
    else if (status == GS_ERROR_NOT_FOUND) cli_note("%s: nothing was recorded: %s asked for no product that we know", folder, program);
    else cli_note("%s", error.text);
    gs_recorded_free(&r);
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {0};
    char shim[GS_PATH];
    gs_error error;
    int words;
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    argv[words + 1] = NULL;
    if (words == 0) return cli_usage(command, s.merge || s.import ? "no file given" : "no program given; for example gemmsmith record -- python3 train.py");
    if (s.merge || s.import) return merge(command, &s, argv + 1, words);
    if (s.buckets) return cli_usage(command, "--buckets needs --merge or --import");
    const char *const blas = getenv("GEMMSMITH_BLAS");
    const bool off = blas && strcmp(blas, "off") == 0, there = !off && gs_recorded_find_shim(shim);
    if (!there && !off) cli_note(GS_RECORDED_SHIM " is not beside this program: calls of cuBLAS and cuBLASLt are not recorded, those of gemmsmith are");
    const gs_recorded_run how = {.folder = s.out ? s.out : "recorded", .shim = there ? shim : NULL};
    if (gs_recorded_run_program(&how, argv + 1, &code, &error) != GS_OK) return cli_fail(command, NULL, &error);
    if (code != 126 && code != 127) say_recorded(how.folder, argv[1]);
    return code;
}

const cli_command cli_record = {
    .name     = "record",
    .words    = "-- PROGRAM [ARGUMENT...] | --merge PATH... | --import FILE...",
    .summary  = "write down what a program multiplies, for tune and pack",
    .about    = "Runs the program with GEMMSMITH_RECORD: every process of it writes the problems that it asks cuBLAS,\ncuBLASLt or gemmsmith for, and how often, into a file of its own in the folder. With\n"
                "GEMMSMITH_BLAS=off calls of cuBLAS and cuBLASLt are left alone. The exit code is the program's, or\n128 + the signal that ended it.\n"
                "tune, pack and others take such a folder, or what --merge wrote, as a list of problems.",
    .options  = options,
    .examples = "  gemmsmith record --out run -- python3 train.py --steps 20\n"
                "  gemmsmith record --merge run --buckets --out problems.txt\n"
                "  gemmsmith record --import tunableop_untuned*.csv --out problems.txt\n"
                "  gemmsmith tune problems.txt --time 2h\n"
                "  gemmsmith pack run --device h200 --out model.pack",
    .run      = run,
};
