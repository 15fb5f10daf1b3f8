/* SPDX-License-Identifier: MIT
 * Rows by problem and call, indexed by an open-addressed hash table that is rebuilt when it is half full. */
#include "recorded/recorded.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "problem/layout.h"
#include "record/record.h"
#include "schedule/caps.h"

enum { FIRST_SLOTS = 1024 };

void gs_recorded_free(gs_recorded *recorded)
{
    free(recorded->rows);
    free(recorded->slots);
    *recorded = (gs_recorded){0};
}

static uint64_t hash_of(const gs_problem *problem, const char *via) { return gs_hash64(problem, sizeof *problem) ^ gs_hash64(via, strlen(via)); }

/* The slot of a problem, or the empty slot where it goes. */
static int *find(const gs_recorded *r, const gs_problem *problem, const char *via)
{
    uint32_t at = (uint32_t)(hash_of(problem, via) % (uint32_t)r->slot_count);
    while (r->slots[at]) {
        const gs_recorded_row *const row = &r->rows[r->slots[at] - 1];
        if (memcmp(&row->problem, problem, sizeof *problem) == 0 && strcmp(row->via, via) == 0) break;
        at = (at + 1) % (uint32_t)r->slot_count;
    }
    return &r->slots[at];
}

static bool make_slots(gs_recorded *r, int count)
{
    int *const slots = calloc((size_t)count, sizeof *slots);
    if (!slots) return false;
    free(r->slots);
    r->slots = slots;
    r->slot_count = count;
    for (int i = 0; i < r->count; i++) *find(r, &r->rows[i].problem, r->rows[i].via) = i + 1;
    return true;
}

gs_status gs_recorded_put(gs_recorded *r, const gs_problem *problem, const char *via, uint64_t count, gs_error *error)
{
    if (r->count * 2 >= r->slot_count && !make_slots(r, r->slot_count ? r->slot_count * 2 : FIRST_SLOTS)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d problems", r->count + 1);
    int *const slot = find(r, problem, via);
    if (!*slot) {
        if (!gs_grow(&r->rows, r->count, &r->capacity, sizeof *r->rows)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d problems", r->count + 1);
        gs_recorded_row *const row = &r->rows[r->count];
        *row = (gs_recorded_row){.problem = *problem};
        strncpy(row->via, via, sizeof row->via - 1);
        *slot = ++r->count;
    }
    uint64_t *const sum = &r->rows[*slot - 1].count;
    *sum = *sum > UINT64_MAX - count ? UINT64_MAX : *sum + count;
    return GS_OK;
}

gs_status gs_recorded_add(gs_recorded *r, const gs_problem *asked, const char *via, uint64_t count, gs_error *error)
{
    gs_problem problem = *asked;
    problem.alpha = 1;
    problem.beta = asked->beta != 0 ? 1.0f : 0.0f;
    return gs_recorded_put(r, &problem, via, count, error);
}

/* ---- order and sums ---- */

double gs_recorded_work(const gs_recorded_row *row) { return (double)row->count * gs_floor_us(&row->problem, gs_caps_find("h200")); }

static int by_work(const void *a, const void *b)
{
    const gs_recorded_row *const x = a, *const y = b;
    const double more = gs_recorded_work(y) - gs_recorded_work(x);
    char first[GS_PROBLEM_TEXT], second[GS_PROBLEM_TEXT];
    if (more != 0) return more > 0 ? 1 : -1;
    const int texts = strcmp(gs_problem_format(&x->problem, first), gs_problem_format(&y->problem, second));
    return texts ? texts : strcmp(x->via, y->via);
}

void gs_recorded_sort(gs_recorded *r)
{
    if (r->count > 1) qsort(r->rows, (size_t)r->count, sizeof *r->rows, by_work);
    if (r->slot_count > 0) memset(r->slots, 0, (size_t)r->slot_count * sizeof *r->slots);
    for (int i = 0; i < r->count; i++) *find(r, &r->rows[i].problem, r->rows[i].via) = i + 1;
}

uint64_t gs_recorded_calls(const gs_recorded *r)
{
    uint64_t sum = 0;
    for (int i = 0; i < r->count; i++) sum = sum > UINT64_MAX - r->rows[i].count ? UINT64_MAX : sum + r->rows[i].count;
    return sum;
}

int gs_recorded_problems(const gs_recorded *r)
{
    gs_recorded once = {0};
    gs_status status = GS_OK;
    for (int i = 0; i < r->count && status == GS_OK; i++) status = gs_recorded_add(&once, &r->rows[i].problem, "", 1, NULL);
    const int count = status == GS_OK ? once.count : r->count;   /* upper limit if there is no memory */
    gs_recorded_free(&once);
    return count;
}

void gs_recorded_format(const gs_recorded *r, gs_text *out)
{
    char text[GS_PROBLEM_TEXT];
    gs_text_add(out, GS_RECORD_MAGIC "\n");
    for (int i = 0; i < r->count; i++)
        gs_text_addf(out, "%llu\t%s\t%s\n", (unsigned long long)r->rows[i].count, r->rows[i].via, gs_problem_format(&r->rows[i].problem, text));
}

gs_status gs_recorded_write(gs_recorded *r, const char *path, gs_error *error)
{
    gs_text text = {0};
    gs_recorded_sort(r);
    gs_recorded_format(r, &text);
    const gs_status status = text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the list") : gs_file_write(path, text.data, text.size, error);
    gs_text_free(&text);
    return status;
}

/* ---- buckets ---- */

int64_t gs_recorded_step(int64_t m)
{
    if (m < GS_RECORDED_LADDER) return m;
    for (int64_t step = GS_RECORDED_LADDER;; step *= 2) {
        if (m <= step) return step;
        if (m <= step / 2 * 3) return step / 2 * 3;
    }
}

/* The problem with M raised to the end of its step; unchanged if it is not bucketed. */
static gs_problem bucket_of(const gs_problem *p)
{
    const int64_t step = gs_recorded_step(p->m);
    if (step == p->m || step > GS_MAX_EXTENT || (p->groups && p->grouping == GS_GROUPS_MASKED)) return *p;
    const gs_problem other = gs_problem_resized(p, step, p->n, p->k);
    return gs_problem_check(&other, NULL) == GS_OK ? other : *p;
}

gs_status gs_recorded_bucket(gs_recorded *r, int *merged, gs_error *error)
{
    gs_recorded seen = {0}, ms = {0}, out = {.files = r->files, .cut = r->cut};   /* ms: the buckets, with their number of distinct problems as count */
    gs_status status = GS_OK;
    for (int i = 0; i < r->count && status == GS_OK; i++) {
        const gs_problem bucket = bucket_of(&r->rows[i].problem);
        const int before = seen.count;
        status = gs_recorded_add(&seen, &r->rows[i].problem, "", 1, error);
        if (status == GS_OK && seen.count > before) status = gs_recorded_add(&ms, &bucket, "", 1, error);
    }
    const int had = seen.count;
    for (int i = 0; i < r->count && status == GS_OK; i++) {
        const gs_recorded_row *const row = &r->rows[i];
        const gs_problem bucket = bucket_of(&row->problem);
        const bool several = ms.rows[*find(&ms, &bucket, "") - 1].count > 1;
        status = gs_recorded_add(&out, several ? &bucket : &row->problem, row->via, row->count, error);
    }
    gs_recorded_free(&seen);
    gs_recorded_free(&ms);
    if (status != GS_OK) {
        gs_recorded_free(&out);
        return status;
    }
    *merged = had - gs_recorded_problems(&out);
    gs_recorded_free(r);
    *r = out;
    return GS_OK;
}
