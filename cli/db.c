/* SPDX-License-Identifier: MIT
 * gemmsmith db: looking into the store, and moving winners between the store and tuned tables. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "command.h"
#include "db.h"
#include "device/device.h"
#include "output.h"
#include "plan/table.h"
#include "compare/tables.h"
#include "store/store.h"
#include "verify/verdict.h"

typedef struct settings {
    cli_common  common;
    const char *store, *gpu;
    bool        json;
} settings;

static const cli_option options[] = {
    {"store", 0, CLI_TEXT, offsetof(settings, store), "FILE", "default $GEMMSMITH_STORE, else the user's"},
    {"gpu",   0, CLI_TEXT, offsetof(settings, gpu),   "NAME", "GPU as in the name of a table: nvidia-h200, emu-h200;\n"
     "nvidia-h200+dependent: of dependent launches;\n"
     "default: this machine's"},
    {"json",  0, CLI_FLAG, offsetof(settings, json),  NULL,   "one JSON object per line"},
    {NULL},
};

typedef struct db {
    const cli_command *command;
    const settings    *s;
    gs_store          *store;
    char               gpu[48];
    gs_table          *table;   /* export */
    int                rows;
    gs_status          status;
} db;

/* ---- printing trials ---- */

static bool print_trial(void *self, const gs_trial *trial)
{
    db *const d = self;
    d->rows++;
    if (d->s->json) {
        gs_text line = {0};
        gs_json json = gs_json_into(&line);
        gs_json_begin(&json, NULL, '{');
        gs_json_string(&json, "problem", trial->problem);
        gs_json_string(&json, "candidate", trial->candidate);
        gs_json_string(&json, "gpu", d->gpu);
        gs_json_string(&json, "verdict", trial->verdict);
        gs_json_string(&json, "reason", trial->reason);
        gs_json_string(&json, "stage", trial->stage);
        gs_json_double(&json, "predicted_us", trial->predicted_us);
        gs_json_double(&json, "us", trial->us);
        if (gs_gpu_emulated(d->gpu)) gs_json_bool(&json, "predicted", true);
        gs_json_double(&json, "library_us", trial->library_us);
        gs_json_double(&json, "ratio", trial->ratio);
        gs_json_double(&json, "low", trial->low);
        gs_json_double(&json, "high", trial->high);
        gs_json_int(&json, "rounds", trial->rounds);
        gs_json_int(&json, "registers", trial->registers);
        gs_json_int(&json, "smem", trial->smem);
        gs_json_int(&json, "mhz", trial->mhz);
        gs_json_string(&json, "date", trial->date);
        gs_json_end(&json, '}');
        printf("%s\n", gs_text_string(&line));
        gs_text_free(&line);
        return true;
    }
    printf("%-32s %-36s", trial->problem, trial->candidate);
    if (trial->us > 0 && gs_gpu_emulated(d->gpu))
        printf("  predicted %.2f us", trial->us);
    else if (trial->us > 0)
        printf("  %9.2f us  %.3f [%.3f, %.3f]", trial->us, trial->ratio, trial->low, trial->high);
    else if (trial->predicted_us > 0)
        printf("  predicted %.2f us", trial->predicted_us);
    if (*trial->verdict && !gs_verdict_passed(trial->verdict)) printf("  %s: %s", trial->verdict, trial->reason);
    printf("%s%s\n", *trial->stage ? "  " : "", trial->stage);
    return true;
}

static int finish(const db *d, gs_status status, const gs_error *error, const char *nothing)
{
    if (status != GS_OK) return cli_fail(d->command, NULL, error);
    if (d->rows == 0) cli_note("%s on %s in %s", nothing, d->gpu, gs_store_path(d->store));
    return CLI_OK;
}

static int run_list(db *d, char *const *words)
{
    gs_error error;
    (void)words;
    const gs_status status = gs_store_winners(d->store, d->gpu, print_trial, d, &error);
    return finish(d, status, &error, "no winners");
}

static int run_show(db *d, char *const *words)
{
    gs_error error;
    gs_problem problem;
    char text[GS_PROBLEM_TEXT];
    if (gs_problem_parse(&problem, words[0], &error) != GS_OK) return cli_fail(d->command, words[0], &error);
    const gs_status status = gs_store_trials(d->store, d->gpu, gs_problem_format(&problem, text), print_trial, d, &error);
    return finish(d, status, &error, "nothing was tried for this problem");
}

/* ---- tables ---- */

/* A winner that no table can hold is left out and counted by the caller through rows. */
static bool export_trial(void *self, const gs_trial *trial)
{
    db *const d = self;
    gs_row row;
    d->rows++;
    if (!gs_table_row_of(&row, trial, d->gpu)) return true;
    d->status = gs_table_put(d->table, &row);
    return d->status == GS_OK;
}

static int run_export(db *d, char *const *words)
{
    gs_error error;
    if (gs_table_create(&d->table) != GS_OK) d->status = GS_ERROR_MEMORY;
    gs_status status = d->status == GS_OK ? gs_store_winners(d->store, d->gpu, export_trial, d, &error) : d->status;
    if (status == GS_OK && d->status != GS_OK) status = gs_fail(&error, d->status, NULL, "no memory for a table");
    gs_text text = {0};
    if (status == GS_OK && d->rows > 0) {
        gs_table_format(d->table, &text);
        status = text.failed ? gs_fail(&error, GS_ERROR_MEMORY, NULL, "no memory for a table")
                             : gs_file_write(words[0], text.data, text.size, &error);
    }
    const int written = d->table ? gs_table_size(d->table) : 0;
    gs_text_free(&text);
    gs_table_destroy(&d->table);
    if (status == GS_OK && d->rows == 0) {
        gs_fail(&error, GS_ERROR_NOT_FOUND, NULL, "no winners on %s in %s: nothing to write", d->gpu, gs_store_path(d->store));
        return cli_fail(d->command, NULL, &error);
    }
    if (status != GS_OK) return cli_fail(d->command, NULL, &error);
    printf("%s: %d of %d winners on %s\n", words[0], written, d->rows, d->gpu);
    return CLI_OK;
}

static gs_status import_row(db *d, const gs_row *row, gs_error *error)
{
    char device[64];
    snprintf(device, sizeof device, "%s%s", row->gpu, gs_row_dependent(row) ? GS_DEPENDENT_SUFFIX : "");
    gs_session session = {.command = "gemmsmith db import",
                          .version = row->by,
                          .commit = "",
                          .device = device,
                          .cc = row->cc,
                          .sms = row->sms,
                          .cublaslt = row->cublaslt};
    gs_trial trial = {.verdict = "pass",
                      .us = row->us,
                      .library_us = row->library_us,
                      .ratio = row->ratio,
                      .low = row->low,
                      .high = row->high,
                      .mhz = row->mhz,
                      .stage = "import"};
    char schedule[GS_SCHEDULE_TEXT];
    gs_problem_format(&row->problem, trial.problem);
    snprintf(trial.candidate, sizeof trial.candidate, "%s", gs_row_choice(row, schedule));
    snprintf(trial.date, sizeof trial.date, "%s", row->date);
    GS_TRY(gs_store_begin(d->store, &session, error));
    return gs_store_win(d->store, &session, &trial, error);
}

static int run_import(db *d, char *const *words)
{
    gs_error error = {0};
    gs_table *table = NULL;
    int skipped = 0, kept = 0;
    gs_status status = gs_table_create(&table);
    if (status != GS_OK) gs_fail(&error, status, NULL, "no memory for a table");
    if (status == GS_OK) status = gs_table_load(table, words[0], NULL, &skipped, &error);
    /* What is wrong in a file is no wrong usage. */
    if (status == GS_ERROR_PARSE) error.status = status = GS_ERROR_CORRUPT;
    char first[600] = "";
    if (status == GS_OK && skipped > 0) gs_error_format(&error, first, sizeof first);
    for (; status == GS_OK && kept < gs_table_size(table); kept++) {
        status = import_row(d, gs_table_row(table, kept), &error);
        if (status != GS_OK) break;
    }
    gs_table_destroy(&table);
    if (status != GS_OK) return cli_fail(d->command, words[0], &error);
    printf("%s: %d rows imported", words[0], kept);
    printf(skipped ? ", %d skipped (the first: %s)\n" : "\n", skipped, first);
    return CLI_OK;
}

static int run_merge(db *d, char *const *words)
{
    gs_error error;
    int64_t copied = 0;
    if (gs_store_merge(d->store, words[0], &copied, &error) != GS_OK) return cli_fail(d->command, NULL, &error);
    printf("%s: %lld rows copied into %s\n", words[0], (long long)copied, gs_store_path(d->store));
    return CLI_OK;
}

static int run_compare(db *d, char *const *words)
{
    return cli_db_compare(d->command, &(cli_db_comparison){.left = words[0], .right = words[1], .gpu = d->s->gpu, .json = d->s->json});
}

static int run_curves(db *d, char *const *words)
{
    return cli_db_curves(d->command, d->store, words[0], d->s->gpu ? d->s->gpu : "", d->s->json);
}

/* ---- the command ---- */

/* legend: word, how many arguments, what they are, whether a GPU's name is needed, what does it, how many arguments more there may be,
 * whether it writes to the store: only then one is made or converted */
static const struct action {
    const char *name;
    int         words;
    const char *argument;
    bool        needs_gpu;
    int       (*run)(db *, char *const *);
    int         more;
    bool        writes;
} actions[] = {
    {"list",    0, "no argument",                  true,  run_list},
    {"show",    1, "a problem",                    true,  run_show},
    {"export",  1, "the file to write",            true,  run_export},
    {"import",  1, "a tuned table or a directory", false, run_import, 0, true},
    {"merge",   1, "another store",                false, run_merge, 0, true},
    {"compare", 2, "two tables or stores",         false, run_compare},
    {"curves",  0, "one file of rows, or none",    false, run_curves, 1},
};

/* --gpu, else the GPU of this machine. */
static int find_gpu(db *d)
{
    if (d->s->gpu) {
        if (strlen(d->s->gpu) >= sizeof d->gpu) return cli_usage(d->command, "--gpu: no such name");
        snprintf(d->gpu, sizeof d->gpu, "%s", d->s->gpu);
        return -1;
    }
    gs_device *device;
    if (gs_device_open(&device, NULL, NULL, NULL) != GS_OK)
        return cli_usage(d->command, "which GPU? There is none here: --gpu nvidia-h200");
    snprintf(d->gpu, sizeof d->gpu, "%s", device->caps.slug);
    gs_device_close(&device);
    return -1;
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {0};
    db d = {.command = command, .s = &s};
    int words;
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    if (words == 0) return cli_usage(command, "list, show, export, import, merge, compare or curves?");
    const struct action *action = actions;
    const struct action *const end = actions + GS_COUNT(actions);
    while (action < end && strcmp(action->name, argv[1]) != 0) action++;
    if (action == end) return cli_usage(command, "'%s' is none of list, show, export, import, merge, compare, curves", argv[1]);
    if (words - 1 < action->words || words - 1 > action->words + action->more) return cli_usage(command, "%s takes %s", action->name, action->argument);
    if (action->needs_gpu) code = find_gpu(&d);
    if (code >= 0) return code;
    if (action->run == run_compare) return run_compare(&d, argv + 2);   /* of the stores that it names, not of the user's */
    gs_error error;
    gs_problem problem;   /* what is wrong in the words is said before what is wrong with the store */
    if (action->run == run_show && gs_problem_parse(&problem, argv[2], &error) != GS_OK) return cli_fail(command, argv[2], &error);
    const bool writes = action->writes || words - 1 > action->words;   /* curves with a file keeps them */
    if ((writes ? gs_store_open : gs_store_open_read)(&d.store, s.store, &error) != GS_OK) return cli_fail(command, NULL, &error);
    char *const none = NULL;
    code = action->run(&d, words > 1 ? argv + 2 : &none);
    gs_store_close(&d.store);
    return code;
}

const cli_command cli_db = {
    .name     = "db",
    .words    = "list | show PROBLEM | export FILE | import FILE | merge STORE | compare A B | curves [FILE]",
    .summary  = "look into the store, move winners to and from tuned tables",
    .about    = "list    the winner of every problem tuned on a GPU\n"
                "show    everything that was tried for a problem, best first\n"
                "export  writes the winners as a tuned table, the file that programs read\n"
                "import  takes the rows of a tuned table, or of every table of a directory, as winners\n"
                "merge   copies what another store has and this one has not\n"
                "compare sets two tuned tables or stores side by side: choices, times, who is faster\n"
                "curves  prints the curves that were kept, as rows 'series,name,x,y'; with a file of such rows: keeps them, as of --gpu",
    .options  = options,
    .examples = "  gemmsmith db list\n"
                "  gemmsmith db show f16:4096x4096x4096:tn --json\n"
                "  gemmsmith db export nvidia-h200.tuned --gpu nvidia-h200\n"
                "  gemmsmith db compare before.tuned after.tuned",
    .run      = run,
};
