/* SPDX-License-Identifier: MIT
 * gemmsmith db compare: prints two tables side by side (report/compare.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "db.h"
#include "output.h"
#include "compare/tables.h"

#define SHOWN 10   /* of the largest differences */

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

static void json_pair(const gs_table_comparison *c, const gs_tables_pair *p)
{
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    char text[GS_PROBLEM_TEXT];
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", gs_problem_format(&(p->a ? p->a : p->b)->problem, text));
    json_side(&json, "a", p->a);
    json_side(&json, "b", p->b);
    if (p->ratio > 0) {
        const int faster = gs_tables_faster(p->ratio);
        gs_json_double(&json, "time_ratio", p->ratio);
        gs_json_string(&json, "faster", faster < 0 ? "same" : faster == 0 ? "a" : "b");
    }
    if (c->predicted) gs_json_bool(&json, "predicted", true);
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static void json_mean(gs_json *json, const char *name, const gs_tables_mean *m)
{
    gs_json_begin(json, name, '{');
    gs_json_int(json, "problems", m->count);
    if (m->count > 0) gs_json_double(json, "geomean", gs_tables_geomean(m));
    gs_json_end(json, '}');
}

static void json_summary(const gs_table_comparison *c)
{
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_json_begin(&json, "summary", '{');
    for (int i = 0; i < 2; i++) {
        const gs_tables_side *const s = &c->side[i];
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

/* The largest differences, from either end of the pairs in the order of their ratios. */
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

int cli_db_compare(const cli_command *command, const cli_db_comparison *what)
{
    gs_table_comparison c;
    gs_error error = {0};
    const char *failed;
    const gs_status status = gs_tables_compare(&c, what->left, what->right, what->gpu, &failed, &error);
    for (int i = 0; status == GS_OK && i < c.count; i++) {
        if (what->json)
            json_pair(&c, &c.pairs[i]);
        else
            print_pair(&c.pairs[i]);
    }
    if (status == GS_OK && what->json) json_summary(&c);
    if (status == GS_OK && !what->json) print_summary(&c);
    gs_tables_compare_free(&c);
    return status == GS_OK ? CLI_OK : cli_fail(command, failed, &error);
}
