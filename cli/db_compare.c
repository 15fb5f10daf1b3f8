/* SPDX-License-Identifier: MIT
 * gemmsmith db compare: two tables side by side, problem by problem: what each chose, its time, and who is faster; then what that comes to.
 * Each side is a tuned table, a directory of them, or a store, whose winners count. Both become a gs_table of one device, so that problems are
 * equal here when they are for a plan. Times of two runs are set side by side, which proves nothing about a per cent: so the summary also says
 * how far the runs are apart where both chose alike, and by the library's own times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "db.h"
#include "device/device.h"
#include "output.h"

#define SAME  1.01   /* within 1 % is the same, as everywhere */
#define SHOWN 10     /* of the largest differences */

typedef struct side {
    const char *name;              /* A or B */
    const char *path;
    gs_table   *table;             /* of one device */
    char        gpu[48];           /* as the store names it */
    int         skipped;           /* rows that could not be read */
    gs_error    first;             /* the first of them */
    int         others;            /* rows of other multiprocessors under the same name */
    int         kept_out;          /* winners that no table can hold */
    gs_status   status;            /* of the visits */
} side;

typedef struct pair {
    const gs_row *a, *b;           /* NULL: this side has no such problem */
    double        ratio;           /* time A / time B; 0: a time is missing */
} pair;

typedef struct mean {
    double sum;                    /* of logarithms */
    int    count;
} mean;

typedef struct comparison {
    const cli_command *command;
    side               side[2];
    pair              *pairs;
    int                count;
    bool               predicted;
    int                both, only[2], untimed, faster[2], same, alike;   /* alike: both chose the same */
    mean               all, where_alike, library;
} comparison;

/* ---- reading ---- */

static bool is_store(const char *path)
{
    char head[16] = "";
    FILE *const file = gs_file_need_regular(path, NULL) == GS_OK ? fopen(path, "rb") : NULL;   /* a pipe would be waited for */
    if (!file) return false;
    const size_t size = fread(head, 1, sizeof head, file);
    fclose(file);
    return size == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0;
}

static gs_status put_row(side *s, const gs_row *row)
{
    const gs_row *const first = gs_table_row(s->table, 0);
    if (first && (first->cc != row->cc || first->sms != row->sms)) {
        s->others++;
        return GS_OK;
    }
    return gs_table_put(s->table, row);
}

static bool take_winner(void *self, const gs_trial *trial)
{
    side *const s = self;
    gs_row row;
    if (!cli_db_row(&row, trial, s->gpu)) {
        s->kept_out++;
        return true;
    }
    s->status = put_row(s, &row);
    return s->status == GS_OK;
}

static gs_status read_store(side *s, gs_error *error)
{
    gs_store *store;
    GS_TRY(gs_store_open_read(&store, s->path, error));
    gs_status status = gs_store_winners(store, s->gpu, take_winner, s, error);
    if (status == GS_OK && s->status != GS_OK) status = gs_fail(error, s->status, NULL, "no memory for a table");
    gs_store_close(&store);
    return status;
}

/* Of the device that is wanted; none is wanted by name: of the only one that there is. */
static gs_status keep_rows(side *s, const gs_table *all, gs_error *error)
{
    char gpu[sizeof s->gpu];
    snprintf(gpu, sizeof gpu, "%s", s->gpu);
    char *const suffix = strstr(gpu, GS_DEPENDENT_SUFFIX);
    if (suffix) *suffix = '\0';
    for (int i = 0; i < gs_table_size(all); i++) {
        const gs_row *const row = gs_table_row(all, i);
        if (!*gpu) snprintf(gpu, sizeof gpu, "%s", row->gpu);
        if (strcmp(row->gpu, gpu) != 0) {
            if (*s->gpu) continue;
            return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "rows of %s and of %s: --gpu names the one that counts", gpu, row->gpu);
        }
        if (suffix && !gs_row_dependent(row)) continue;
        if (put_row(s, row) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
    }
    if (!*s->gpu) snprintf(s->gpu, sizeof s->gpu, "%s", gpu);
    return GS_OK;
}

static gs_status read_file(side *s, gs_error *error)
{
    gs_table *all;
    if (gs_table_create(&all) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
    gs_status status = gs_table_load(all, s->path, NULL, &s->skipped, &s->first);
    if (status != GS_OK) *error = s->first;
    if (status == GS_ERROR_PARSE) error->status = status = GS_ERROR_CORRUPT;   /* what is wrong in a file is no wrong usage */
    if (status == GS_OK) status = keep_rows(s, all, error);
    gs_table_destroy(&all);
    return status;
}

static gs_status this_gpu(char gpu[48], gs_error *error)
{
    gs_device *device;
    if (gs_device_open(&device, NULL, NULL, NULL) != GS_OK)
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "which GPU? There is none here: --gpu nvidia-h200");
    snprintf(gpu, 48, "%s", device->caps.slug);
    gs_device_close(&device);
    return GS_OK;
}

/* Tables first: where only one side is a store, the other says of which device. */
static gs_status read_sides(comparison *c, const char **failed, gs_error *error)
{
    const bool stores[2] = {is_store(c->side[0].path), is_store(c->side[1].path)};
    for (int turn = 0; turn < 4; turn++) {
        side *const s = &c->side[turn % 2];
        const bool store = turn >= 2;
        if (stores[turn % 2] != store) continue;
        *failed = s->path;
        if (gs_table_create(&s->table) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
        if (store && !*s->gpu) memcpy(s->gpu, c->side[1 - turn % 2].gpu, sizeof s->gpu);
        if (store && !*s->gpu) GS_TRY(this_gpu(s->gpu, error));
        GS_TRY(store ? read_store(s, error) : read_file(s, error));
    }
    return GS_OK;
}

/* ---- comparing ---- */

static void add(mean *m, double ratio)
{
    m->sum += log(ratio);
    m->count++;
}

static double geometric(const mean *m) { return m->count ? exp(m->sum / m->count) : 0; }

static bool chose_alike(const gs_row *a, const gs_row *b)
{
    char one[GS_SCHEDULE_TEXT], two[GS_SCHEDULE_TEXT];
    return strcmp(gs_row_choice(a, one), gs_row_choice(b, two)) == 0;
}

/* 0: A is faster, 1: B is, -1: neither by more than 1 %. */
static int faster_side(double ratio) { return ratio * SAME < 1 ? 0 : ratio > SAME ? 1 : -1; }

static void count_pair(comparison *c, pair *p)
{
    if (!p->a || !p->b) {
        c->only[p->a ? 0 : 1]++;
        return;
    }
    const bool alike = chose_alike(p->a, p->b);
    c->both++;
    c->alike += alike;
    if (p->a->library_us > 0 && p->b->library_us > 0) add(&c->library, p->a->library_us / p->b->library_us);
    if (!(p->a->us > 0 && p->b->us > 0)) {
        c->untimed++;
        return;
    }
    p->ratio = p->a->us / p->b->us;
    add(&c->all, p->ratio);
    if (alike) add(&c->where_alike, p->ratio);
    const int faster = faster_side(p->ratio);
    ++*(faster < 0 ? &c->same : &c->faster[faster]);
}

/* The problems of A in their order, then those that only B has. */
static gs_status pair_up(comparison *c, gs_error *error)
{
    const gs_table *const a = c->side[0].table, *const b = c->side[1].table;
    const size_t most = (size_t)gs_table_size(a) + (size_t)gs_table_size(b);
    c->pairs = calloc(GS_MAX(most, 1), sizeof *c->pairs);
    if (!c->pairs) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %zu problems", most);
    for (int i = 0; i < gs_table_size(a); i++) {
        const gs_row *const row = gs_table_row(a, i);
        c->pairs[c->count++] = (pair){.a = row, .b = gs_table_find(b, &row->problem)};
    }
    for (int i = 0; i < gs_table_size(b); i++) {
        const gs_row *const row = gs_table_row(b, i);
        if (!gs_table_find(a, &row->problem)) c->pairs[c->count++] = (pair){.b = row};
    }
    for (int i = 0; i < c->count; i++) count_pair(c, &c->pairs[i]);
    return GS_OK;
}

/* A prediction is never set beside a measurement. */
static gs_status check_kinds(comparison *c, gs_error *error)
{
    const bool a = gs_gpu_emulated(c->side[0].gpu), b = gs_gpu_emulated(c->side[1].gpu);
    c->predicted = a;
    if (a == b || gs_table_size(c->side[0].table) == 0 || gs_table_size(c->side[1].table) == 0) return GS_OK;
    return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the times of %s are predicted, those of %s are measured: they do not compare",
                   c->side[b].gpu, c->side[a].gpu);
}

/* ---- printing ---- */

static void print_choice(const gs_row *row)
{
    char choice[GS_SCHEDULE_TEXT];
    if (row)
        printf("  %-36s %9.2f us%s", gs_row_choice(row, choice), row->us, gs_row_predicted(row) ? " (predicted)" : "");
    else
        printf("  %-36s %12s", "-", "");
}

static void print_verdict(double ratio)
{
    const int faster = faster_side(ratio);
    if (faster < 0)
        printf("same");
    else
        printf("%c is faster by %.1f %%", "AB"[faster], (faster == 0 ? 1 / ratio - 1 : ratio - 1) * 100);
}

static void print_pair(const pair *p)
{
    char text[GS_PROBLEM_TEXT];
    printf("%-32s", gs_problem_format(&(p->a ? p->a : p->b)->problem, text));
    print_choice(p->a);
    print_choice(p->b);
    if (p->ratio > 0) printf("  %.4f  ", p->ratio);
    if (p->ratio > 0)
        print_verdict(p->ratio);
    else
        printf("  %s", !p->b ? "only in A" : !p->a ? "only in B" : "no time");
    printf("\n");
}

static void json_side(gs_json *json, const char *name, const gs_row *row)
{
    char choice[GS_SCHEDULE_TEXT];
    if (!row) {
        gs_json_string(json, name, NULL);
        return;
    }
    gs_json_begin(json, name, '{');
    gs_json_string(json, "choice", gs_row_choice(row, choice));
    gs_json_double(json, "us", row->us);
    gs_json_double(json, "library_us", row->library_us);
    gs_json_double(json, "ratio", row->ratio);
    gs_json_double(json, "low", row->low);
    gs_json_double(json, "high", row->high);
    gs_json_int(json, "mhz", row->mhz);
    gs_json_int(json, "cublaslt", row->cublaslt);
    gs_json_string(json, "date", row->date);
    gs_json_string(json, "by", row->by);
    gs_json_end(json, '}');
}

static void json_pair(const comparison *c, const pair *p)
{
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    char text[GS_PROBLEM_TEXT];
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", gs_problem_format(&(p->a ? p->a : p->b)->problem, text));
    json_side(&json, "a", p->a);
    json_side(&json, "b", p->b);
    if (p->ratio > 0) {
        const int faster = faster_side(p->ratio);
        gs_json_double(&json, "time_ratio", p->ratio);
        gs_json_string(&json, "faster", faster < 0 ? "same" : faster == 0 ? "a" : "b");
    }
    if (c->predicted) gs_json_bool(&json, "predicted", true);
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static void json_mean(gs_json *json, const char *name, const mean *m)
{
    gs_json_begin(json, name, '{');
    gs_json_int(json, "problems", m->count);
    if (m->count > 0) gs_json_double(json, "geomean", geometric(m));
    gs_json_end(json, '}');
}

static void json_summary(const comparison *c)
{
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_json_begin(&json, "summary", '{');
    for (int i = 0; i < 2; i++) {
        const side *const s = &c->side[i];
        const gs_row *const row = gs_table_row(s->table, 0);
        gs_json_begin(&json, i == 0 ? "a" : "b", '{');
        gs_json_string(&json, "file", s->path);
        gs_json_string(&json, "gpu", s->gpu);
        gs_json_int(&json, "cc", row ? row->cc : 0);
        gs_json_int(&json, "sms", row ? row->sms : 0);
        gs_json_int(&json, "problems", gs_table_size(s->table));
        gs_json_int(&json, "skipped", s->skipped + s->others + s->kept_out);
        gs_json_int(&json, "only_here", c->only[i]);
        gs_json_int(&json, "faster", c->faster[i]);
        gs_json_end(&json, '}');
    }
    gs_json_int(&json, "both", c->both);
    gs_json_int(&json, "same", c->same);
    gs_json_int(&json, "untimed", c->untimed);
    gs_json_int(&json, "chose_alike", c->alike);
    json_mean(&json, "time_ratio", &c->all);
    json_mean(&json, "time_ratio_where_alike", &c->where_alike);
    json_mean(&json, "library_time_ratio", &c->library);
    if (c->predicted) gs_json_bool(&json, "predicted", true);
    gs_json_end(&json, '}');
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static void print_side(const side *s)
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
    const double x = ((const pair *)a)->ratio, y = ((const pair *)b)->ratio;
    return x < y ? -1 : x > y;
}

/* The largest differences, from either end of the pairs in the order of their ratios. */
static void print_extremes(const comparison *c)
{
    for (int s = 0; s < 2; s++) {
        if (c->faster[s] == 0) continue;
        printf("where %s is faster by most:\n", c->side[s].name);
        for (int i = 0; i < GS_MIN(c->faster[s], SHOWN); i++) print_pair(&c->pairs[s == 0 ? c->count - c->all.count + i : c->count - 1 - i]);
    }
}

static void print_mean(const char *what, const mean *m)
{
    if (m->count > 0) printf("%-52s %.4f  (%d problems)\n", what, geometric(m), m->count);
}

static void print_summary(comparison *c)
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

int cli_db_compare(const cli_command *command, const cli_db_comparison *what)
{
    comparison c = {.command = command, .side = {{.name = "A", .path = what->left}, {.name = "B", .path = what->right}}};
    gs_error error = {0};
    const char *failed = NULL;
    if (what->gpu && strlen(what->gpu) >= sizeof c.side[0].gpu) return cli_usage(command, "--gpu: no such name");
    for (int i = 0; what->gpu && i < 2; i++) snprintf(c.side[i].gpu, sizeof c.side[i].gpu, "%s", what->gpu);
    gs_status status = read_sides(&c, &failed, &error);
    if (status == GS_OK) failed = NULL, status = check_kinds(&c, &error);
    if (status == GS_OK) status = pair_up(&c, &error);
    for (int i = 0; status == GS_OK && i < c.count; i++) {
        if (what->json)
            json_pair(&c, &c.pairs[i]);
        else
            print_pair(&c.pairs[i]);
    }
    if (status == GS_OK && what->json) json_summary(&c);
    if (status == GS_OK && !what->json) print_summary(&c);
    free(c.pairs);
    for (int i = 0; i < 2; i++) gs_table_destroy(&c.side[i].table);
    return status == GS_OK ? CLI_OK : cli_fail(command, failed, &error);
}
