/* SPDX-License-Identifier: MIT
 * gemmsmith db: shows the store, moves winners between the store and tuned tables, compares two tables, prints curves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "author/ancestry.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "command.h"
#include "compare/tables.h"
#include "compare/winners.h"
#include "device/device.h"
#include "output.h"
#include "report/curves.h"
#include "store/store.h"
#include "verdict/verdict.h"

#define SHOWN 10   /* largest differences shown */

typedef struct settings {
    cli_common  common;
    const char *store, *gpu;
    bool        json;
} settings;

static const cli_option options[] = {
    {"store", 0, CLI_TEXT, offsetof(settings, store), "FILE", "the store; default $GEMMSMITH_STORE, else the user's"},
    {"gpu",   0, CLI_TEXT, offsetof(settings, gpu),   "NAME", "GPU, as in the name of a tuned table: nvidia-h200, emu-h200;\n"
     "nvidia-h200+dependent: with dependent launches;\n"
     "default: this machine's"},
    {"json",  0, CLI_FLAG, offsetof(settings, json),  NULL,   "one JSON object per line"},
    {NULL},
};

typedef struct db {
    const cli_command *command;
    const settings    *s;
    gs_store          *store;
    char               gpu[48], problem[GS_PROBLEM_TEXT];   /* problem: for show and lineage */
    int                rows;
} db;

/* ---- printing trials ---- */

static bool print_trial(void *self, const gs_trial *trial)
{
    db *const d = self;
    d->rows++;
    if (d->s->json) {
        gs_text line = {0};
        gs_trial_object(&line, trial, d->gpu);
        printf("%s\n", gs_text_string(&line));
        gs_text_free(&line);
        return true;
    }
    printf("%-32s %-36s", trial->problem, trial->candidate);
    if (trial->us > 0 && gs_gpu_emulated(d->gpu))
        printf("  predicted %.2f us", trial->us);
    else if (trial->us > 0 && !(trial->ratio > 0))
        printf("  %9.2f us", trial->us);
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
    (void)words;
    const gs_status status = gs_store_trials(d->store, d->gpu, d->problem, print_trial, d, &error);
    return finish(d, status, &error, "nothing was tried for this problem");
}

static int run_lineage(db *d, char *const *words)
{
    gs_error error;
    gs_text lines = {0};
    (void)words;
    const gs_status status = gs_ancestry_print(&lines, d->store, d->gpu, d->problem, gs_gpu_emulated(d->gpu), d->s->json, &d->rows, &error);
    fputs(gs_text_string(&lines), stdout);
    gs_text_free(&lines);
    return finish(d, status, &error, "no model wrote a kernel for this problem");
}

/* ---- tables ---- */

static int run_export(db *d, char *const *words)
{
    gs_error error;
    int winners, written;
    const int code = cli_output_file(d->command, words[0], false);
    if (code >= 0) return code;
    if (gs_winners_export(d->store, d->gpu, words[0], &winners, &written, &error) != GS_OK) return cli_fail(d->command, NULL, &error);
    printf("%s: %d of %d winners on %s\n", words[0], written, winners, d->gpu);
    return CLI_OK;
}

static int run_import(db *d, char *const *words)
{
    char text[600];
    gs_error error = {0}, first;
    int taken, skipped;
    if (gs_winners_import(d->store, words[0], &taken, &skipped, &first, &error) != GS_OK) return cli_fail(d->command, words[0], &error);
    printf("%s: %d row%s imported", words[0], taken, taken == 1 ? "" : "s");
    printf(skipped ? ", %d skipped (the first: %s)\n" : "\n", skipped, gs_error_format(&first, text, sizeof text));
    return CLI_OK;
}

static int run_merge(db *d, char *const *words)
{
    gs_error error;
    int64_t copied = 0;
    if (gs_store_merge(d->store, words[0], &copied, &error) != GS_OK) return cli_fail(d->command, NULL, &error);
    printf("%s: %lld row%s copied into %s\n", words[0], (long long)copied, copied == 1 ? "" : "s", gs_store_path(d->store));
    return CLI_OK;
}

/* ---- checksums ---- */

static int run_check(db *d, char *const *words)
{
    gs_error error;
    int64_t pages;
    (void)words;
    if (gs_store_check(d->store, &pages, &error) != GS_OK) return cli_fail(d->command, NULL, &error);
    printf(pages > 0 ? "%s: sound, %lld pages have their checksums\n" : "%s: sound, of a version without checksums\n", gs_store_path(d->store), (long long)pages);
    return CLI_OK;
}

static int run_seal(db *d, char *const *words)
{
    gs_error error;
    int64_t accepted;
    const char *const path = words[0] ? words[0] : d->s->store;
    if (gs_store_seal(path, &accepted, &error) != GS_OK) return cli_fail(d->command, NULL, &error);
    printf("%s: sealed as it is, %lld pages had other checksums\n", path ? path : "the store", (long long)accepted);
    return CLI_OK;
}

/* ---- comparing two tables ---- */

static void print_choice(const gs_row *row)
{
    char choice[GS_SCHEDULE_TEXT];
    if (row)
        printf("  %-36s %9.2f us%s", gs_row_choice(row, choice), row->us, gs_row_predicted(row) ? " (predicted)" : "");
    else
        printf("  %-36s %12s", "-", "");
}

static void print_faster(double ratio)
{
    const int faster = gs_tables_faster(ratio);
    if (faster < 0)
        printf("same");
    else
        printf("%c is faster by %.1f %%", "AB"[faster], (faster == 0 ? 1 / ratio - 1 : ratio - 1) * 100);
}

static void print_pair(const gs_tables_pair *p)
{
    char text[GS_PROBLEM_TEXT];
    printf("%-32s", gs_problem_format(&(p->a ? p->a : p->b)->problem, text));
    print_choice(p->a);
    print_choice(p->b);
    if (p->ratio > 0) printf("  %.4f  ", p->ratio);
    if (p->ratio > 0)
        print_faster(p->ratio);
    else
        printf("  %s", !p->b ? "only in A" : !p->a ? "only in B" : "no time");
    printf("\n");
}

static void print_json(const gs_table_comparison *c, const gs_tables_pair *p)
{
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    if (p) gs_tables_pair_put(&json, c, p);
    else gs_tables_summary_put(&json, c);
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static void print_side(const gs_tables_side *s)
{
    char line[600];
    const gs_row *const row = gs_table_row(s->table, 0);
    int dependent = 0;
    for (int i = 0; i < gs_table_size(s->table); i++) dependent += gs_row_dependent(gs_table_row(s->table, i));
    printf("%s: %s: %d problems on %s", s->name, s->path, gs_table_size(s->table), *s->gpu ? s->gpu : "no device");
    if (row) printf(" (compute capability %d.%d, %d multiprocessors)", row->cc / 10, row->cc % 10, row->sms);
    printf("\n");
    if (dependent > 0) printf("   %d of them with dependent launches\n", dependent);
    if (s->skipped > 0) printf("   %d rows skipped (the first: %s)\n", s->skipped, gs_error_format(&s->first, line, sizeof line));
    if (s->others > 0) printf("   %d rows skipped: other multiprocessors than the first row's\n", s->others);
    if (s->kept_out > 0) printf("   %d winners skipped: user kernels\n", s->kept_out);
}

static int by_ratio(const void *a, const void *b)
{
    const double x = ((const gs_tables_pair *)a)->ratio, y = ((const gs_tables_pair *)b)->ratio;
    return x < y ? -1 : x > y;
}

/* Prints the largest differences: both ends of the pairs, which are sorted by ratio. */
static void print_extremes(const gs_table_comparison *c)
{
    for (int s = 0; s < 2; s++) {
        if (c->faster[s] == 0) continue;
        printf("where %s is faster by most:\n", c->side[s].name);
        for (int i = 0; i < GS_MIN(c->faster[s], SHOWN); i++) print_pair(&c->pairs[s == 0 ? c->count - c->all.count + i : c->count - 1 - i]);
    }
}

static void print_mean(const char *what, const gs_tables_mean *m)
{
    if (m->count > 0) printf("%-52s %.4f  (%d problems)\n", what, gs_tables_geomean(m), m->count);
}

static void print_summary(gs_table_comparison *c)
{
    printf("\n");
    for (int i = 0; i < 2; i++) print_side(&c->side[i]);
    printf("in both %d, only in A %d, only in B %d\n", c->both, c->only[0], c->only[1]);
    printf("A is faster %d, B is faster %d, same (within 1 %%) %d", c->faster[0], c->faster[1], c->same);
    if (c->untimed > 0) printf(", no time %d", c->untimed);
    printf("; both chose alike %d\n", c->alike);
    print_mean("time A / time B, geometric mean", &c->all);
    print_mean("the same where both chose alike", &c->where_alike);
    print_mean("cuBLASLt's time in A / in B, geometric mean", &c->library);
    qsort(c->pairs, (size_t)c->count, sizeof *c->pairs, by_ratio);   /* those without a ratio come first */
    print_extremes(c);
}

static int run_compare(db *d, char *const *words)
{
    gs_table_comparison c;
    gs_error error = {0};
    const char *failed;
    const gs_status status = gs_tables_compare(&c, words[0], words[1], d->s->gpu, &failed, &error);
    for (int i = 0; status == GS_OK && i < c.count; i++) {
        if (d->s->json)
            print_json(&c, &c.pairs[i]);
        else
            print_pair(&c.pairs[i]);
    }
    if (status == GS_OK && d->s->json) {
        print_json(&c, NULL);
        gs_tables_warn(&c);   /* the printed lines are for programs, so the warning is separate */
    }
    if (status == GS_OK && !d->s->json) print_summary(&c);
    gs_tables_compare_free(&c);
    return status == GS_OK ? CLI_OK : cli_fail(d->command, failed, &error);
}

/* ---- curves ---- */

static bool print_rows(void *self, const gs_curve *curve)
{
    int *const count = self;
    gs_text text = {0};
    if ((*count)++ == 0) printf(GS_CURVES_HEAD "\n");
    gs_curve_rows(&text, curve);
    fputs(gs_text_string(&text), stdout);
    gs_text_free(&text);
    return true;
}

static bool print_curve(void *self, const gs_curve *curve)
{
    gs_text text = {0};
    ++*(int *)self;
    gs_curve_object(&text, curve);
    printf("%s\n", gs_text_string(&text));
    gs_text_free(&text);
    return true;
}

static int keep_file(const cli_command *command, gs_store *store, const char *path, const char *device)
{
    gs_error error;
    gs_curves curves = {0};
    gs_session session = {.command = "gemmsmith db curves", .version = gs_version(), .commit = GS_COMMIT, .device = device};
    gs_status status = gs_curves_read(&curves, path, &error);
    if (status == GS_OK && curves.count > 0) status = gs_store_begin(store, &session, &error);
    if (status == GS_OK) status = gs_curves_keep(&curves, store, &session, &error);
    if (status == GS_OK) printf("%s: %d curves\n", path, curves.count);
    gs_curves_free(&curves);
    return status == GS_OK ? CLI_OK : cli_fail(command, NULL, &error);
}

/* With a file, also stores its curves. */
static int run_curves(db *d, char *const *words)
{
    gs_error error;
    int count = 0;
    if (words[0]) return keep_file(d->command, d->store, words[0], d->s->gpu ? d->s->gpu : "");
    if (gs_store_curves(d->store, "", d->s->json ? print_curve : print_rows, &count, &error) != GS_OK) return cli_fail(d->command, NULL, &error);
    if (count == 0) cli_note("no curves in %s", gs_store_path(d->store));
    return CLI_OK;
}

/* ---- the command ---- */

/* legend: word, number of arguments, what they are, whether a GPU's name is needed, function, number of optional arguments, whether it writes to the store: only then
 * a store is created or converted */
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
    {"lineage", 1, "a problem",                    true,  run_lineage},
    {"export",  1, "the file to write",            true,  run_export},
    {"import",  1, "a tuned table or a directory", false, run_import, 0, true},
    {"merge",   1, "another store",                false, run_merge, 0, true},
    {"compare", 2, "two tables or stores",         false, run_compare},
    {"curves",  0, "one file of rows, or none",    false, run_curves, 1},
    {"check",   0, "no argument",                  false, run_check},
    {"seal",    0, "a store, or nothing",          false, run_seal, 1},
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
    if (words == 0) return cli_usage(command, "list, show, lineage, export, import, merge, compare, curves, check or seal?");
    const struct action *action = actions;
    const struct action *const end = actions + GS_COUNT(actions);
    while (action < end && strcmp(action->name, argv[1]) != 0) action++;
    if (action == end) return cli_usage(command, "'%s' is none of list, show, lineage, export, import, merge, compare, curves, check, seal", argv[1]);
    if (words - 1 < action->words || words - 1 > action->words + action->more) return cli_usage(command, "%s takes %s", action->name, action->argument);
    if (action->needs_gpu) code = find_gpu(&d);
    if (code >= 0) return code;
    char *const none = NULL;
    if (action->run == run_compare) return run_compare(&d, argv + 2);   /* reads the stores that it names, not the user's */
    if (action->run == run_seal) return run_seal(&d, words > 1 ? argv + 2 : &none);
    gs_error error;
    gs_problem problem;   /* errors in the words are reported before errors of the store */
    const bool asked = action->run == run_show || action->run == run_lineage;
    if (asked && gs_problem_parse(&problem, argv[2], &error) != GS_OK) return cli_fail(command, argv[2], &error);
    if (asked) gs_problem_format(&problem, d.problem);
    const bool writes = action->writes || words - 1 > action->words;   /* curves with a file stores them */
    /* no store is created if the file does not exist */
    if (writes && !gs_store_may_be(argv[2]) && gs_fail(&error, GS_ERROR_NOT_FOUND, NULL, "%.300s: no such file", argv[2])) return cli_fail(command, NULL, &error);
    if ((writes ? gs_store_open : gs_store_open_read)(&d.store, s.store, &error) != GS_OK) return cli_fail(command, NULL, &error);
    code = action->run(&d, words > 1 ? argv + 2 : &none);
    gs_store_close(&d.store);
    return code;
}

const cli_command cli_db = {
    .name     = "db",
    .words    = "list | show PROBLEM | lineage PROBLEM | export FILE | import FILE | merge STORE | compare A B | curves [FILE] | check | seal [STORE]",
    .summary  = "print what the store has, move winners to and from tuned tables",
    .about    = "list    the winner of every problem tuned on a GPU\n"
                "show    everything that was tried for a problem, the fastest first\n"
                "lineage every kernel that a model wrote for a problem, under the one that it was made from\n"
                "export  writes the winners as a tuned table, the file that programs read\n"
                "import  takes the rows of a tuned table, or of every table of a directory, as winners\n"
                "merge   copies everything from another store that this one does not have\n"
                "compare compares two tuned tables or stores: choices, times, which is faster\n"
                "curves  prints stored curves as rows 'series,name,x,y', or stores such rows of a file for --gpu\n"
                "check   reads everything in the store and compares it with its checksums\n"
                "seal    gives a store that was changed with sqlite3 new checksums: takes it as it is",
    .options  = options,
    .examples = "  gemmsmith db list\n"
                "  gemmsmith db show f16:4096x4096x4096:tn --json\n"
                "  gemmsmith db export nvidia-h200.tuned --gpu nvidia-h200\n"
                "  gemmsmith db compare before.tuned after.tuned",
    .run      = run,
};
