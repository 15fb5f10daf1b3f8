/* SPDX-License-Identifier: MIT
 * Schedules that invariant problems may have give the same bits: every row of D, over M from 1 to 4096, at any place and beside any rows, in all of them. One row of a pool
 * of 67 has one right answer, that of the first schedule; whole matrices of such rows, in three orders, are multiplied by each of the others, and by plans.
 *
 *     test_gpu_invariant [PART/PARTS | ROWS] [SECONDS]
 *
 * takes every PARTS-th schedule, so that processes can share the compiling; after SECONDS (150) no further one is begun. A line of JSON for each schedule, to the file ROWS if
 * one is named. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "operands/operands.h"
#include "loaded/contender.h"
#include "plan/made.h"
#include "problem/layout.h"
#include "schedule/space.h"
#include "verify/verify.h"

enum { POOL = 67, ORDERS = 3, MOST_SIZES = 128, OF_EACH = 40, OF_EACH_EMULATED = 5, REPORTED = 20 };

static const int order_step[ORDERS] = {1, 29, 50}, order_from[ORDERS] = {0, 7, 61};

static const char *const problems[] = {   /* M is another one each time */
    "bf16:67x6144x4096:tn:inv=1",  "bf16:67x4096x4096:tn:inv=1",  "bf16:67x28672x4096:tn:inv=1", "bf16:67x4096x14336:tn:inv=1", "f16:67x6144x4096:tn:inv=1",
    "f16:67x4096x14336:tn:inv=1",  "bf16:67x4096x4096:nn:inv=1",  "f16:67x1000x5120:nn:inv=1",   "bf16:67x4608x3584:tn:inv=1",  "bf16:67x328x1096:tn:d=f32:inv=1",
    "f16:67x257x999:tn:inv=1",     "bf16:67x1031x515:nn:inv=1",   "f16:67x4096x4096:tn:acc=f16:inv=1", "bf16:67x1024x4096:nt:lda=4096:inv=1",
    "f16:67x2048x2048:tn:alpha=0.3:beta=0.7:inv=1:ep=bias+gelu+residual", "bf16:67x2048x4096:tn:inv=1:ep=silu+gate", "bf16:67x2048x2048:tn:alpha=0.3:inv=1:ep=scale_m+scale_n+bias",
    "bf16:67x2048x2048:tn:alpha=1.7:beta=-0.6:inv=1:ep=bias+gelu_erf",     "f16:67x2048x2048:tn:alpha=0.3:inv=1:ep=bias+silu+gate",
};
static const char *const emulated_problems[] = {
    "bf16:67x136x200:tn:inv=1", "f16:67x72x328:nn:inv=1", "f16:67x65x77:tn:inv=1", "f16:67x64x136:tn:acc=f16:inv=1", "f16:67x72x136:tn:alpha=0.3:beta=0.7:inv=1:ep=bias+gelu+residual",
    "bf16:67x64x136:tn:alpha=0.3:inv=1:ep=scale_m+scale_n+bias", "f16:67x64x72:tn:alpha=0.3:inv=1:ep=bias+silu+gate",
};

typedef struct run {
    gs_device   *device;
    gs_verifier *verifier;
    gs_context  *context;
    gs_queue     queue;
    FILE        *out;
    int          part, parts;
    double       deadline_s, start_s;
    int          sizes[MOST_SIZES], size_count, largest;
    /* of a problem */
    gs_problem   problem;
    gs_pointer   operand[ORDERS][GS_OPERANDS];   /* those that have no rows of their own are the same in all orders */
    gs_pointer   d;
    char        *host;
    uint64_t     right[POOL];
    int          passed, failed, reported;
    long long    schedules, launches, rows;
} run;

static double seconds(void) { return (double)gs_clock_ns() * 1e-9; }

static int pool_row(int order, int64_t row) { return (int)((row * order_step[order] + order_from[order]) % POOL); }

static gs_problem resized(const run *r, int m)
{
    gs_problem p = gs_problem_resized(&r->problem, m, r->problem.n, r->problem.k);
    if (gs_is_a_transposed(p.layout)) p.lda = r->problem.lda;   /* rows of the same matrix: only the first M of its columns are used */
    return p;
}

/* ---- operands ---- */

static bool has_rows(const gs_problem *p, char operand) { return operand == 'a' || operand == 'c' || operand == 'h' || (operand == 'e' && p->bias == GS_BIAS_M); }

/* Where row `row` of an operand begins, and how its elements follow each other. */
static size_t element_at(const gs_problem *p, char operand, int64_t row, int64_t i)
{
    const gs_shape s = gs_shape_of(p, operand);
    const bool turned = operand == 'h' || operand == 'e' || (operand == 'a' && gs_is_a_transposed(p->layout));
    return (size_t)(turned ? i * s.ld + row : row * s.ld + i) * gs_type_size(s.type);
}

/* Rows of the pool as an order has them. */
static gs_status spread(run *r, char operand, const char *pool, const gs_problem *whole, int order, gs_error *error)
{
    const gs_shape s = gs_shape_of(whole, operand);
    const size_t bytes = gs_problem_bytes(whole, operand), size = gs_type_size(s.type);
    const int64_t elements = operand == 'a' ? whole->k : operand == 'c' ? whole->n : 1;
    char *const all = calloc(1, bytes);
    if (!all) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an operand");
    for (int64_t row = 0; row < whole->m; row++)
        for (int64_t i = 0; i < elements; i++) memcpy(all + element_at(whole, operand, row, i), pool + element_at(&r->problem, operand, pool_row(order, row), i), size);
    gs_status status = r->device->ops->alloc(r->device, bytes, &r->operand[order][operand - 'a'], error);
    if (status == GS_OK) status = r->device->ops->copy_in(r->device, r->operand[order][operand - 'a'], all, bytes, error);
    free(all);
    return status;
}

static gs_status make_operand(run *r, char operand, const gs_problem *whole, gs_error *error)
{
    gs_device *const device = r->device;
    const int at = operand - 'a';
    const size_t bytes = gs_problem_bytes(&r->problem, operand);
    gs_pointer pool;
    GS_TRY(device->ops->alloc(device, GS_MAX(bytes, 4), &pool, error));
    GS_TRY(gs_generate(r->verifier, &r->problem, operand, GS_DATA_NORMAL, 4711, pool, r->queue, error));
    GS_TRY(device->ops->queue_wait(device, r->queue, error));
    if (!has_rows(&r->problem, operand)) {
        for (int order = 0; order < ORDERS; order++) r->operand[order][at] = pool;
        return GS_OK;
    }
    char *const copy = malloc(bytes);
    gs_status status = copy ? device->ops->copy_out(device, copy, pool, bytes, error) : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an operand");
    for (int order = 0; order < ORDERS && status == GS_OK; order++) status = spread(r, operand, copy, whole, order, error);
    free(copy);
    device->ops->free(device, pool);
    return status;
}

static gs_status make_operands(run *r, gs_error *error)
{
    if (gs_is_a_transposed(r->problem.layout)) r->problem.lda = (r->largest + 7) / 8 * 8;
    const gs_problem large = resized(r, r->largest);
    memset(r->operand, 0, sizeof r->operand);
    for (const char *operand = GS_OPERAND_LETTERS; *operand; operand++)
        if (*operand != 'd' && gs_is_read(&r->problem, *operand)) GS_TRY(make_operand(r, *operand, &large, error));
    const size_t bytes = gs_problem_bytes(&large, 'd');
    r->host = malloc(bytes);
    if (!r->host) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for D");
    return r->device->ops->alloc(r->device, bytes, &r->d, error);
}

static void free_operands(run *r)
{
    for (int i = 0; i < GS_OPERANDS; i++)
        for (int order = 0; order < ORDERS; order++)
            if (r->operand[order][i] && (order == 0 || r->operand[order][i] != r->operand[0][i])) r->device->ops->free(r->device, r->operand[order][i]);
    if (r->d) r->device->ops->free(r->device, r->d);
    free(r->host);
    r->d = 0;
    r->host = NULL;
}

/* ---- launches ---- */

/* D of so many rows, launched from the row `from` of an order on, is on the host. */
static gs_status multiply(run *r, gs_contender *contender, const gs_plan *plan, const gs_problem *p, int order, int from, gs_error *error)
{
    gs_pointer at[GS_OPERANDS];
    memcpy(at, r->operand[order], sizeof at);
    for (int i = 0; i < GS_OPERANDS; i++)
        if (at[i] && has_rows(p, GS_OPERAND_LETTERS[i])) at[i] += element_at(p, GS_OPERAND_LETTERS[i], from, 0);
    at[3] = r->d;
    gs_args args = gs_operand_args(at);
    args.size = sizeof args;
    GS_TRY(r->device->ops->fill(r->device, r->d, 0x7fe57fe5u, (gs_problem_bytes(p, 'd') + 3) / 4 * 4, r->queue, error));
    if (plan) {
        const gs_status status = gs_plan_run(plan, &args, (gs_stream)r->queue);
        if (status != GS_OK) return gs_fail(error, status, NULL, "%s: %s", gs_plan_schedule(plan), gs_status_string(status));
    } else GS_TRY(contender->run(contender, &args, r->queue, error));
    GS_TRY(r->device->ops->queue_wait(r->device, r->queue, error));
    r->launches++;
    return r->device->ops->copy_out(r->device, r->host, r->d, gs_problem_bytes(p, 'd'), error);
}

static uint64_t row_hash(const run *r, const gs_problem *p, int64_t row)
{
    const size_t size = gs_type_size(p->out);
    return gs_hash64(r->host + (size_t)(row * p->ldd) * size, (size_t)p->n * size);
}

/* How many rows have other bits than theirs; *first: the first of them. */
static int64_t compare(run *r, const gs_problem *p, int order, int from, int64_t *first)
{
    int64_t different = 0;
    for (int64_t row = 0; row < p->m; row++) {
        if (row_hash(r, p, row) == r->right[pool_row(order, row + from)]) continue;
        if (different++ == 0) *first = row;
    }
    r->rows += p->m;
    return different;
}

/* A fifth of the rows before the first one, so that M fits behind them; where A is stored K x M pointers stay aligned. */
static int from_of(const run *r, int m, const gs_problem *p)
{
    const int room = r->largest - m, from = GS_MIN(room, (m * 13 + 5) % POOL);
    return gs_is_a_transposed(p->layout) || p->scales || p->bias == GS_BIAS_M ? from / 8 * 8 : from;
}

static bool over(const run *r) { return seconds() - r->start_s > r->deadline_s; }

/* All sizes that it takes. Plans: of every PARTS-th size. */
static gs_status try_sizes(run *r, gs_contender *contender, const char *name, gs_error *error)
{
    char text[GS_PROBLEM_TEXT];
    int taken = 0;
    int64_t different = 0, rows = r->rows;
    char where[96] = "";
    for (int i = 0; i < r->size_count; i++) {
        const gs_problem p = resized(r, r->sizes[i]);
        gs_plan *plan = NULL;
        if (!contender && (i % r->parts != r->part || over(r))) continue;
        const gs_status prepared = contender ? contender->prepare(contender, &p, error) : gs_plan_create(r->context, &p, &plan, error);
        if (contender && prepared == GS_ERROR_UNSUPPORTED) continue;
        GS_TRY(prepared);
        const int order = i % ORDERS, from = from_of(r, r->sizes[i], &p);
        int64_t first = 0;
        const gs_status status = multiply(r, contender, plan, &p, order, from, error);
        const int64_t wrong = status == GS_OK ? compare(r, &p, order, from, &first) : 0;
        if (wrong && !different) snprintf(where, sizeof where, ",\"first\":\"M %d, row %lld, %s\"", r->sizes[i], (long long)first, plan ? gs_plan_schedule(plan) : "");
        gs_plan_destroy(&plan);
        GS_TRY(status);
        different += wrong;
        taken++;
    }
    if (!taken) return GS_OK;
    r->schedules++;
    *(different ? &r->failed : &r->passed) += 1;
    fprintf(r->out, "{\"problem\":\"%s\",\"schedule\":\"%s\",\"sizes\":%d,\"rows\":%lld,\"different\":%lld%s}\n", gs_problem_format(&r->problem, text), name, taken, (long long)(r->rows - rows),
           (long long)different, where);
    fflush(r->out);
    return GS_OK;
}

/* ---- schedules ---- */

typedef struct candidate {
    gs_schedule schedule;
    uint64_t    order;
} candidate;

static int by_order(const void *a, const void *b)
{
    const candidate *const x = a, *const y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Those that small, middle and large sizes have, in an order that chance gives, the same for all problems: what one compiles another finds in the cache. */
static int gather(run *r, candidate **out, gs_error *error)
{
    static const int sizes[] = {8, 67, 300, 2048};
    candidate *list = NULL;
    int count = 0;
    for (size_t i = 0; i < GS_COUNT(sizes); i++) {
        gs_space space;
        const gs_problem p = resized(r, sizes[i]);
        if (sizes[i] > r->largest || gs_space_create(&space, &p, &r->device->caps, 0, error) != GS_OK) continue;
        candidate *const more = realloc(list, (size_t)(count + space.count + 1) * sizeof *list);
        for (int j = 0; more && j < space.count; j++) {
            char text[GS_SCHEDULE_TEXT];
            gs_schedule_format(&space.list[j], text);
            more[count++] = (candidate){space.list[j], gs_hash64(text, strlen(text))};
        }
        if (more) list = more;
        gs_space_free(&space);
    }
    qsort(list, (size_t)count, sizeof *list, by_order);
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (kept == 0 || list[kept - 1].order != list[i].order) list[kept++] = list[i];
    *out = list;
    return kept;
}

/* By families in turn: ws has most. */
static int choose(const candidate *list, int count, int most, gs_schedule *out)
{
    int chosen = 0;
    for (int family = 0; family < GS_FAMILIES; family++) {
        int of_family = 0;
        for (int i = 0; i < count && of_family < most / 3 && chosen < most; i++) {
            if (list[i].schedule.family != family) continue;
            out[chosen++] = list[i].schedule;
            of_family++;
        }
    }
    return chosen;
}

/* What everything else is compared with. */
static gs_status make_right(run *r, const gs_schedule *list, int count, gs_error *error)
{
    gs_status status = GS_ERROR_UNSUPPORTED;
    for (int i = 0; i < count && status != GS_OK; i++) {
        char text[GS_SCHEDULE_TEXT];
        gs_contender contender = {{0}};
        GS_TRY(gs_contender_schedule(&contender, r->device, gs_schedule_format(&list[i], text), error));
        status = contender.prepare(&contender, &r->problem, error);
        if (status == GS_OK) status = multiply(r, &contender, NULL, &r->problem, 0, 0, error);
        for (int row = 0; row < POOL && status == GS_OK; row++) r->right[row] = row_hash(r, &r->problem, row);
        contender.destroy(&contender);
        if (status != GS_OK && status != GS_ERROR_UNSUPPORTED) return status;
    }
    return status;
}

static gs_status try_problem(run *r, const char *text, gs_error *error)
{
    gs_schedule chosen[OF_EACH];
    candidate *list = NULL;
    GS_TRY(gs_problem_parse(&r->problem, text, error));
    GS_TRY(make_operands(r, error));
    const int count = gather(r, &list, error), taken = choose(list, count, r->device->caps.emulated ? OF_EACH_EMULATED : OF_EACH, chosen);
    free(list);
    GS_TRY(make_right(r, chosen, taken, error));
    for (int i = r->part; i < taken && !over(r); i += r->parts) {
        char name[GS_SCHEDULE_TEXT];
        gs_contender contender = {{0}};
        GS_TRY(gs_contender_schedule(&contender, r->device, gs_schedule_format(&chosen[i], name), error));
        const gs_status status = try_sizes(r, &contender, name, error);
        contender.destroy(&contender);
        GS_TRY(status);
    }
    return over(r) ? GS_OK : try_sizes(r, NULL, "plans", error);
}

static void list_sizes(run *r)
{
    static const int more[] = {65,  66,  67,  71,  72,  79,  80,  88,  96,  97,  100, 104, 112,  113,  120,  127,  128,  129,  136,  144,  160,  176,  191,  192,  193, 200,
                               255, 256, 257, 300, 320, 384, 400, 448, 500, 509, 512, 513,  640,  768,  1000, 1021, 1024, 1025, 1500, 2047, 2048, 2049, 3000, 4093, 4096};
    static const int emulated[] = {1, 2, 3, 16, 17, 33, 64, 65, 67, 100, 129, 130};
    if (r->device->caps.emulated) {
        for (size_t i = 0; i < GS_COUNT(emulated); i++) r->sizes[r->size_count++] = emulated[i];
    } else {
        for (int m = 1; m <= 64; m++) r->sizes[r->size_count++] = m;
        for (size_t i = 0; i < GS_COUNT(more); i++) r->sizes[r->size_count++] = more[i];
    }
    r->largest = r->sizes[r->size_count - 1] + POOL;
}

static gs_status everything(run *r, gs_error *error)
{
    const bool emulated = r->device->caps.emulated;
    const char *const *const list = emulated ? emulated_problems : problems;
    const int count = emulated ? (int)GS_COUNT(emulated_problems) : (int)GS_COUNT(problems);
    for (int i = 0; i < count && !over(r); i++) {
        const gs_status status = try_problem(r, list[i], error);
        free_operands(r);
        if (status == GS_OK) continue;
        printf("%s: %s\n", list[i], error ? error->text : "");
        r->failed++;
        if (status == GS_ERROR_FAULT) return status;
    }
    return GS_OK;
}

int main(int argc, char **argv)
{
    static run r = {.parts = 1, .deadline_s = 150};
    gs_error error = {0};
    r.out = stdout;
    if (argc > 1 && sscanf(argv[1], "%d/%d", &r.part, &r.parts) != 2) r.out = fopen(argv[1], "w");
    if (!r.out || r.part < 0 || r.part >= r.parts) {
        printf("usage: %s [PART/PARTS | ROWS] [SECONDS], parts from 0 on; ROWS can be written\n", argv[0]);
        return 2;
    }
    if (argc > 2) r.deadline_s = atof(argv[2]);
    r.start_s = seconds();
    if (gs_device_open(&r.device, gs_device_gpu(), NULL, &error) != GS_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    gs_status status = gs_context_open_on(&r.context, NULL, r.device, &error);   /* plans run where the operands are */
    if (status == GS_OK) status = gs_verifier_create(&r.verifier, r.device, &error);
    if (status == GS_OK) status = r.device->ops->queue_create(r.device, &r.queue, &error);
    list_sizes(&r);
    if (status == GS_OK) status = everything(&r, &error);
    if (status != GS_OK) printf("%s\n", error.text);
    printf("{\"part\":\"%d/%d\",\"schedules\":%lld,\"launches\":%lld,\"rows\":%lld,\"seconds\":%.1f}\n", r.part, r.parts, r.schedules, r.launches, r.rows, seconds() - r.start_s);
    printf("%d passed, %d failed\n", r.passed, r.failed + (status != GS_OK));
    if (r.queue) r.device->ops->queue_destroy(r.device, r.queue);
    gs_verifier_destroy(&r.verifier);
    gs_close(&r.context);
    const bool written = r.out == stdout || fclose(r.out) == 0;
    return status != GS_OK || r.failed || !r.passed || !written;
}
