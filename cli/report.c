/* SPDX-License-Identifier: MIT
 * gemmsmith report: results as one HTML page. */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "command.h"
#include "output.h"

typedef struct settings {
    cli_common  common;
    const char *store, *gpu, *out;
    bool        json;
} settings;

static const cli_option options[] = {
    {"out",   'o', CLI_OUTPUT, offsetof(settings, out),   "FILE", "HTML file to write; default gemmsmith-report.html; -: standard output"},
    {"store", 0,   CLI_TEXT, offsetof(settings, store), "FILE", "store to read; default: none if rows are given, else\n$GEMMSMITH_STORE, else the user's"},
    {"gpu",   0,   CLI_TEXT, offsetof(settings, gpu),   "NAME", "only this GPU's part of the store, as in the name of a tuned table:\nnvidia-h200, nvidia-h200+dependent, emu-h200; default: all"},
    {"json",  0,   CLI_FLAG, offsetof(settings, json),  NULL,   "what was written as one JSON object"},
    {NULL},
};

static gs_status add_store(gs_report *r, const settings *s, gs_error *error)
{
    gs_store *store;
    GS_TRY(gs_store_open_read(&store, s->store, error));
    const gs_status status = gs_report_add_store(r, store, s->gpu, error);
    gs_store_close(&store);
    return status;
}

static gs_status write_page(const gs_report *r, const char *path, gs_error *error)
{
    gs_text page = {0};
    char date[GS_DATE_TEXT];
    gs_report_page(&page, r, gs_date_format(date));
    gs_status status = GS_OK;
    if (page.failed)
        status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the page");
    else
        status = gs_file_write(path, page.data, page.size, error);
    gs_text_free(&page);
    return status;
}

/* If the page goes to standard output, nothing else may be printed there. */
static void say(const settings *s, const gs_report *r, int problems)
{
    gs_text line = {0};
    if (s->json) gs_report_summary(&line, r, s->out, problems);
    else gs_text_addf(&line, "%s: %d problem%s in %d set%s, %d curve%s, %d lineage%s", s->out, problems, problems == 1 ? "" : "s", r->set_count, r->set_count == 1 ? "" : "s",
                      r->curve_count, r->curve_count == 1 ? "" : "s", r->lineage_count, r->lineage_count == 1 ? "" : "s");
    fprintf(strcmp(s->out, "-") == 0 ? stderr : stdout, "%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.out = "gemmsmith-report.html"};
    gs_report r = {0};
    gs_error error = {0};
    int words;
    const int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    for (int i = 1; i <= words; i++)
        if (gs_file_same(s.out, argv[i]) && gs_file_need_regular(argv[i], NULL) == GS_OK) return cli_usage(command, "%s: cannot be read and replaced", argv[i]);
    gs_status status = GS_OK;
    for (int i = 1; i <= words && status == GS_OK; i++) status = gs_report_add_file(&r, argv[i], &error);
    if (status == GS_OK && (s.store || words == 0)) status = add_store(&r, &s, &error);
    if (status == GS_OK) status = write_page(&r, s.out, &error);
    int problems = 0;
    for (int i = 0; i < r.set_count; i++) problems += r.sets[i].count;
    if (status == GS_OK) say(&s, &r, problems);
    if (status == GS_OK && r.unread > 0) cli_note("%d rows could not be read and are missing", r.unread);
    gs_report_free(&r);
    return status == GS_OK ? CLI_OK : cli_fail(command, NULL, &error);
}

const cli_command cli_report = {
    .name     = "report",
    .words    = "[ROWS|LOG...]",
    .summary  = "show what was tuned, timed and learned as an HTML page with charts",
    .about    = "Reads winners, results of eval and curves from the store, files of eval --rows and eval --json, and\nlogs of trainers: TRL's trainer_state.json, lines of verl's logger file. The page is a single file\n"
                "that loads nothing else. Times that an emulated device predicted are shown apart and marked as\npredicted.",
    .options  = options,
    .examples = "  gemmsmith report\n"
                "  gemmsmith report --store store.db --gpu nvidia-h200 --out h200.html\n"
                "  gemmsmith report rows.csv server.csv --out page.html\n"
                "  gemmsmith report out/*/trainer_state.json --store rewards.db",
    .run      = run,
};
