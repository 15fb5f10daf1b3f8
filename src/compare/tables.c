/* SPDX-License-Identifier: MIT */
#include "compare/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "compare/winners.h"
#include "device/device.h"

#define SAME 1.01   /* within 1 % counts as the same, as everywhere */

/* ---- reading ---- */

static bool is_store(const char *path)
{
    char head[16] = "";
    if (gs_store_is_server(path)) return true;
    FILE *const file = gs_file_need_regular(path, NULL) == GS_OK ? fopen(path, "rb") : NULL;   /* reading a pipe would block */
    if (!file) return false;
    const size_t size = fread(head, 1, sizeof head, file);
    fclose(file);
    return size == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0;
}

static gs_status put_row(gs_tables_side *s, const gs_row *row)
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
    gs_tables_side *const s = self;
    gs_row row;
    if (!gs_table_row_of(&row, trial, s->gpu)) {
        s->kept_out++;
        return true;
    }
    s->status = put_row(s, &row);
    return s->status == GS_OK;
}

static gs_status read_store(gs_tables_side *s, gs_error *error)
{
    gs_store *store;
    GS_TRY(gs_store_open_read(&store, s->path, error));
    gs_status status = gs_store_winners(store, s->gpu, take_winner, s, error);
    if (status == GS_OK && s->status != GS_OK) status = gs_fail(error, s->status, NULL, "no memory for a table");
    gs_store_close(&store);
    return status;
}

/* Keeps the rows of the wanted GPU; without one, all rows must be of the same GPU. */
static gs_status keep_rows(gs_tables_side *s, const gs_table *all, gs_error *error)
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

static gs_status read_file(gs_tables_side *s, gs_error *error)
{
    gs_table *all;
    if (gs_table_create(&all) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
    gs_status status = gs_table_load(all, s->path, NULL, &s->skipped, &s->first);
    if (status != GS_OK) *error = s->first;
    if (status == GS_ERROR_PARSE) error->status = status = GS_ERROR_CORRUPT;   /* PARSE would mean wrong usage; this is a wrong file */
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

/* Reads tables first: a store without --gpu uses the GPU of the table on the other side. */
static gs_status read_sides(gs_table_comparison *c, const char **failed, gs_error *error)
{
    const bool stores[2] = {is_store(c->side[0].path), is_store(c->side[1].path)};
    for (int turn = 0; turn < 4; turn++) {
        gs_tables_side *const s = &c->side[turn % 2];
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

void gs_tables_warn(const gs_table_comparison *compare)
{
    char line[600];
    for (int i = 0; i < 2; i++) {
        const gs_tables_side *const s = &compare->side[i];
        if (s->skipped > 0) gs_log(GS_LOG_WARNING, "%s: %d rows skipped (the first: %s)", s->path, s->skipped, gs_error_format(&s->first, line, sizeof line));
    }
}

/* ---- comparing ---- */

static void add(gs_tables_mean *m, double ratio)
{
    m->sum += log(ratio);
    m->count++;
}

double gs_tables_geomean(const gs_tables_mean *m) { return m->count ? exp(m->sum / m->count) : 0; }

static bool chose_alike(const gs_row *a, const gs_row *b)
{
    char one[GS_SCHEDULE_TEXT], two[GS_SCHEDULE_TEXT];
    return strcmp(gs_row_choice(a, one), gs_row_choice(b, two)) == 0;
}

int gs_tables_faster(double ratio) { return ratio * SAME < 1 ? 0 : ratio > SAME ? 1 : -1; }

static void count_pair(gs_table_comparison *c, gs_tables_pair *p)
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
    const int faster = gs_tables_faster(p->ratio);
    ++*(faster < 0 ? &c->same : &c->faster[faster]);
}

/* The row of the other table to compare with: preferably with the same kind of launches; if the other table has none, or this row is not its table's default
 * for the problem, its default row. */
static const gs_row *counterpart(const gs_table *table, const gs_row *row, const gs_table *of)
{
    const gs_row *const same = gs_row_dependent(row) ? gs_table_find_dependent(table, &row->problem) : NULL;
    return same || gs_table_find(of, &row->problem) != row ? same : gs_table_find(table, &row->problem);
}

/* The problems of A in order, then those of B only. */
static gs_status pair_up(gs_table_comparison *c, gs_error *error)
{
    const gs_table *const a = c->side[0].table, *const b = c->side[1].table;
    const size_t most = (size_t)gs_table_size(a) + (size_t)gs_table_size(b);
    c->pairs = calloc(GS_MAX(most, 1), sizeof *c->pairs);
    if (!c->pairs) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %zu problems", most);
    for (int i = 0; i < gs_table_size(a); i++) {
        const gs_row *const row = gs_table_row(a, i);
        c->pairs[c->count++] = (gs_tables_pair){.a = row, .b = counterpart(b, row, a)};
    }
    for (int i = 0; i < gs_table_size(b); i++) {
        const gs_row *const row = gs_table_row(b, i);
        const gs_row *const other = counterpart(a, row, b);
        if (!other || counterpart(b, other, a) != row) c->pairs[c->count++] = (gs_tables_pair){.b = row};
    }
    for (int i = 0; i < c->count; i++) count_pair(c, &c->pairs[i]);
    return GS_OK;
}

/* A prediction is never compared with a measurement. */
static gs_status check_kinds(gs_table_comparison *c, gs_error *error)
{
    const bool a = gs_gpu_emulated(c->side[0].gpu), b = gs_gpu_emulated(c->side[1].gpu);
    c->predicted = a;
    if (a == b || gs_table_size(c->side[0].table) == 0 || gs_table_size(c->side[1].table) == 0) return GS_OK;
    return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the times of %s are predicted, those of %s are measured: they do not compare",
                   c->side[b].gpu, c->side[a].gpu);
}

gs_status gs_tables_compare(gs_table_comparison *out, const char *left, const char *right, const char *gpu, const char **failed, gs_error *error)
{
    *out = (gs_table_comparison){.side = {{.name = "A", .path = left}, {.name = "B", .path = right}}};
    *failed = NULL;
    if (gpu && strlen(gpu) >= sizeof out->side[0].gpu) return gs_fail(error, GS_ERROR_ARGUMENT, "gpu", "no such name");
    for (int i = 0; gpu && i < 2; i++) snprintf(out->side[i].gpu, sizeof out->side[i].gpu, "%s", gpu);
    GS_TRY(read_sides(out, failed, error));
    *failed = NULL;
    GS_TRY(check_kinds(out, error));
    return pair_up(out, error);
}

void gs_tables_compare_free(gs_table_comparison *compare)
{
    free(compare->pairs);
    for (int i = 0; i < 2; i++) gs_table_destroy(&compare->side[i].table);
    *compare = (gs_table_comparison){0};
}
