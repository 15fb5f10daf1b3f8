/* SPDX-License-Identifier: MIT
 * The memory and timing of a race, on a device that only records its calls: how much memory is used and where everything lies in it, what is filled before a timed call,
 * the arguments of the kernels that fill and check, and that nothing leaks when a call fails. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/leaks.h"
#include "base/error.h"
#include "common/race.h"
#include "problem/pool.h"
#include "race/track.h"
#include "texts.h"

enum { GAP = 4352, MOST = 64, LAUNCHES = 16 };

static gs_error error;

/* For a call that must succeed; its message is in `error`. */
#define OK(call)                                                       \
    do {                                                               \
        if ((call) != GS_OK) fail_msg("%s: %s", #call, error.text);    \
    } while (0)

/* ---- the device ----
 * It records a letter for each call that uses the queue:
 *
 *     ( < >    an event is recorded: lead, start, end
 *     f        memory is filled with a pattern
 *     l s S    a kernel: fills an operand, checks a sample, checks all results
 *     c        the timed call
 *     [ ] g    a capture begins, ends, its graph is launched
 *     .        the host waits for the queue */

static struct {
    size_t free_bytes, taken;
    int    fails_at, calls, live;      /* fails_at: number of the call that fails; 0: none */
    char   said[MOST];                 /* the recorded letters */
    gs_pointer filled;                 /* the last fill */
    uint32_t pattern;
    size_t filled_bytes;
    struct { gs_function function; uint32_t blocks, threads; gs_race_fill fill; gs_race_check check; } launch[LAUNCHES];
    int    launches;
    uint64_t wrong;                    /* wrong elements that the kernels report */
} sim;

static gs_function functions[3] = {(gs_function)"fill", (gs_function)"sample", (gs_function)"scan"};

static gs_status next(char letter, gs_error *why)
{
    if (letter && strlen(sim.said) < MOST - 1) sim.said[strlen(sim.said)] = letter;
    return ++sim.calls == sim.fails_at ? gs_fail(why, GS_ERROR_DEVICE, NULL, "call %d fails", sim.calls) : GS_OK;
}

static gs_status memory_info(gs_device *d, size_t *free_bytes, size_t *total_bytes, gs_error *why)
{
    (void)d;
    *free_bytes = *total_bytes = sim.free_bytes;
    return next(0, why);
}

static gs_status alloc(gs_device *d, size_t bytes, gs_pointer *out, gs_error *why)
{
    (void)d;
    GS_TRY(next(0, why));
    *out = (gs_pointer)(uintptr_t)calloc(1, bytes);
    sim.taken = bytes, sim.live++;
    return GS_OK;
}

static void release(gs_device *d, gs_pointer at)
{
    (void)d;
    free((void *)(uintptr_t)at);
    sim.live--;
}

static gs_status copy_in(gs_device *d, gs_pointer to, const void *from, size_t bytes, gs_error *why)
{
    (void)d;
    GS_TRY(next(0, why));
    memcpy((void *)(uintptr_t)to, from, bytes);
    return GS_OK;
}

static gs_status copy_out(gs_device *d, void *to, gs_pointer from, size_t bytes, gs_error *why)
{
    (void)d, (void)from;
    assert_int_equal(bytes, sizeof sim.wrong);
    memcpy(to, &sim.wrong, bytes);
    return next(0, why);
}

static gs_status fill(gs_device *d, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *why)
{
    (void)d, (void)queue;
    sim.filled = to, sim.pattern = pattern, sim.filled_bytes = bytes;
    return next('f', why);
}

static gs_status compile(gs_device *d, const gs_source *source, gs_image *out, gs_error *why)
{
    (void)d;
    assert_string_equal(source->name, "race.cu");
    for (int i = 0; i < source->header_count; i++) assert_non_null(source->header_texts[i]);
    *out = (gs_image){0};
    return next(0, why);
}

static gs_status load(gs_device *d, const gs_image *image, gs_module *out, gs_error *why)
{
    (void)d, (void)image;
    GS_TRY(next(0, why));
    *out = &sim, sim.live++;
    return GS_OK;
}

static void unload(gs_device *d, gs_module module)
{
    (void)d;
    assert_ptr_equal(module, &sim);
    sim.live--;
}

static gs_status function(gs_device *d, gs_module module, const char *name, gs_function *out, gs_function_info *info, gs_error *why)
{
    (void)d, (void)module, (void)info;
    *out = functions[strcmp(name, "gs_race_sample") == 0 ? 1 : strcmp(name, "gs_race_scan") == 0 ? 2 : 0];
    return next(0, why);
}

static gs_status launch(gs_device *d, const gs_launch *what, gs_queue queue, gs_error *why)
{
    (void)d;
    assert_non_null(queue);
    assert_true(what->grid[1] == 1 && what->grid[2] == 1 && what->block[1] == 1 && sim.launches < LAUNCHES);
    const int at = sim.launches++;
    sim.launch[at].function = what->function;
    sim.launch[at].blocks = what->grid[0], sim.launch[at].threads = what->block[0];
    if (what->function == functions[0]) sim.launch[at].fill = *(const gs_race_fill *)what->params[0];
    else sim.launch[at].check = *(const gs_race_check *)what->params[0];
    return next(what->function == functions[0] ? 'l' : what->function == functions[1] ? 's' : 'S', why);
}

static gs_status create(gs_device *d, void **out, gs_error *why)
{
    (void)d;
    GS_TRY(next(0, why));
    *out = malloc(1);
    sim.live++;
    return GS_OK;
}

static void drop(gs_device *d, void *it)
{
    (void)d;
    free(it);
    sim.live--;
}

static gs_track track;

static gs_status event_record(gs_device *d, gs_event event, gs_queue queue, gs_error *why)
{
    (void)d;
    assert_ptr_equal(queue, track.queue);
    return next(event == track.lead ? '(' : event == track.start ? '<' : '>', why);
}

/* lead to end: 100 us; start to end: 10 us. */
static gs_status event_us(gs_device *d, gs_event start, gs_event end, double *us, gs_error *why)
{
    (void)d;
    assert_ptr_equal(end, track.end);
    *us = start == track.lead ? 100 : 10;
    return next(0, why);
}

static gs_status queue_wait(gs_device *d, gs_queue queue, gs_error *why)
{
    (void)d;
    assert_ptr_equal(queue, track.queue);
    return next('.', why);
}

static gs_status capture_begin(gs_device *d, gs_queue queue, gs_error *why)
{
    (void)d, (void)queue;
    return next('[', why);
}

static gs_status capture_end(gs_device *d, gs_queue queue, gs_graph *out, gs_error *why)
{
    (void)d, (void)queue;
    *out = NULL;
    GS_TRY(next(']', why));
    *out = malloc(1);
    sim.live++;
    return GS_OK;
}

static gs_status graph_launch(gs_device *d, gs_graph graph, gs_queue queue, gs_error *why)
{
    (void)d, (void)queue;
    assert_non_null(graph);
    return next('g', why);
}

static const gs_device_ops ops = {.memory_info = memory_info, .alloc = alloc, .free = release, .copy_in = copy_in, .copy_out = copy_out, .fill = fill, .compile = compile, .load = load,
    .unload = unload, .function = function, .launch = launch, .queue_create = create, .queue_destroy = drop, .event_create = create, .event_destroy = drop, .event_record = event_record,
    .event_us = event_us, .queue_wait = queue_wait, .capture_begin = capture_begin, .capture_end = capture_end, .graph_launch = graph_launch, .graph_destroy = drop};
static gs_device device = {.ops = &ops, .caps = {.sms = 4, .l2_bytes = 1 << 20}};

static int fresh(void **state)
{
    (void)state;
    memset(&sim, 0, sizeof sim);
    sim.free_bytes = (size_t)1 << 30;
    device.caps.emulated = false;
    return 0;
}

static void open_for(const char *text)
{
    const gs_problem problem = problem_of(text);
    memset(sim.said, 0, sizeof sim.said);
    OK(gs_track_open(&track, &device, &problem, &error));
    const size_t length = strlen(sim.said);
    assert_true(sim.said[0] == '(' && strcmp(sim.said + length - 2, ">.") == 0 && strspn(sim.said + 1, "l") == length - 3);   /* filling counts as spent time, and is waited for */
    memset(sim.said, 0, sizeof sim.said);
}

static size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }

/* ---- memory ---- */

/* A has 64 KiB, B 128 KiB; rows of D have gaps. */
static void sizes(void **state)
{
    (void)state;
    const size_t cache = 1 << 20, d = (31 * 128 + 64) * 2, used = 65536 + 131072 + d, set = 65536 + 131072 + rounded(d) + 3 * GAP;
    gs_track t = {.device = &device, .problem = problem_of("f16:32x64x1024:tn:ldd=128")};
    OK(gs_track_size(&t, &error));
    assert_int_equal(t.sets, 4 * cache / used + 1);
    assert_int_equal(t.scratch_bytes, cache / 2);   /* the sets fill the cache already; this keeps the device busy for a while */
    assert_int_equal(t.bytes, set * (size_t)t.sets + t.scratch_bytes + 256);
    assert_true(t.room[0] == 65536 + GAP && t.room[1] == 131072 + GAP && t.room[2] == 0 && t.room[3] == rounded(d) + GAP && t.room[4] == 0);

    sim.free_bytes = 8 * set;   /* an eighth of the free memory holds one set */
    OK(gs_track_size(&t, &error));
    assert_int_equal(t.sets, 1);
    sim.free_bytes = 8 * set - 8;
    assert_int_equal(gs_track_size(&t, &error), GS_ERROR_DEVICE_MEMORY);
    assert_non_null(strstr(error.text, "measuring takes 0 MiB of device memory, and may take an eighth of the 1 MiB that are free"));
    sim.free_bytes = 8 * 3 * set;
    OK(gs_track_size(&t, &error));
    assert_int_equal(t.sets, 3);

    gs_track large = {.device = &device, .problem = problem_of("f16:32x64x1048576:tn")};   /* one set is larger than the cache */
    sim.free_bytes = (size_t)1 << 40;
    OK(gs_track_size(&large, &error));
    assert_true(large.sets == 1 && large.scratch_bytes == cache / 2);
    sim.free_bytes = 8 * (large.room[0] + large.room[1] + large.room[3] + cache / 2);
    large.scratch_bytes = 0;
    OK(gs_track_size(&large, &error));
    assert_true(large.sets == 1 && large.scratch_bytes == cache / 2);
    sim.free_bytes -= 8;
    large.scratch_bytes = 0;
    OK(gs_track_size(&large, &error));
    assert_true(large.sets == 1 && large.scratch_bytes == 0);   /* no memory for the scratch buffer */

    gs_track small = {.device = &device, .problem = problem_of("f16:8x8x8:tn")}, read = {.device = &device, .problem = problem_of("f16:32x64x1024:tn:beta=1")};
    sim.free_bytes = (size_t)1 << 30;
    OK(gs_track_size(&small, &error));
    assert_true(small.sets == 256 && small.scratch_bytes == 2 * cache);   /* the maximum number of sets, which still do not fill the cache */
    device.caps.emulated = true;
    OK(gs_track_size(&small, &error));
    assert_true(small.sets == 1 && small.scratch_bytes == 0);
    OK(gs_track_size(&read, &error));
    assert_int_equal(read.room[2], 32 * 64 * 2 + GAP);
}

static void places(void **state)
{
    (void)state;
    open_for("bf16:64x32x128:tn:beta=1:ep=scale_m+scale_n+bias+relu+aux");
    static const size_t bytes[GS_OPERANDS] = {64 * 128 * 2, 32 * 128 * 2, 64 * 32 * 2, 64 * 32 * 2, 32 * 2, 0, 64 * 32 * 2, 64 * 4, 32 * 4};
    gs_pointer at = track.memory + 256;
    assert_int_equal(track.wrong, track.memory);
    for (int i = 0; i < GS_OPERANDS; i++) {
        if (bytes[i] == 0) {
            assert_int_equal(track.at[i], 0);
            continue;
        }
        assert_int_equal(track.at[i], at);
        assert_int_equal(track.room[i], rounded(bytes[i]) + GAP);
        at += track.room[i] * (size_t)track.sets;
    }
    assert_int_equal(track.scratch, at);
    assert_int_equal(track.memory + track.bytes, at + track.scratch_bytes);
    assert_int_equal(sim.taken, track.bytes);
    for (int set = 0; set < 3; set++) {
        const gs_args args = gs_track_args(&track, set);
        const void *const given[GS_OPERANDS] = {args.a, args.b, args.c, args.d, args.bias, args.offsets, args.aux, args.scale_m, args.scale_n};
        for (int i = 0; i < GS_OPERANDS; i++) assert_int_equal((uintptr_t)given[i], bytes[i] ? track.at[i] + (size_t)set * track.room[i] : 0);
        assert_true(!args.alpha && !args.beta);
    }
    /* all operands that are read are filled in all sets; those that are written are not */
    static const int read[] = {0, 1, 2, 4, 7, 8};
    assert_int_equal(sim.launches, 6);
    for (int i = 0; i < 6; i++) {
        const gs_race_fill *const f = &sim.launch[i].fill;
        const size_t size = read[i] >= 7 ? 4 : 2, elements = track.room[read[i]] * (size_t)track.sets / size;
        assert_int_equal((uintptr_t)f->to, track.at[read[i]]);
        assert_int_equal(f->elements, elements);
        assert_int_equal(f->type, size == 4 ? GS_F32 : GS_BF16);
        assert_int_equal(f->seed, 0x6765656dull + (unsigned)read[i]);
        assert_int_equal(sim.launch[i].threads, 256);
        assert_int_equal(sim.launch[i].blocks, GS_MIN((elements + 255) / 256, 16 * 4));
    }
    assert_true(track.spent_us == 100);
    gs_track_close(&track);
    assert_int_equal(sim.live, 0);
}

static void scalars_and_pointers(void **state)
{
    (void)state;
    open_for("f16:16x16x16:tn:b=5:matrices=pointers:scalars=device:alpha=2:beta=3");
    const gs_problem asked = problem_of("f16:16x16x16:tn:b=5:matrices=pointers:scalars=device:alpha=2:beta=3"), pool = gs_problem_pool(&asked);
    assert_true(track.by_pointers && track.problem.matrices == GS_MATRICES_STRIDED && track.problem.stride_b == pool.stride_b);
    for (int set = 0; set < 2; set++) {
        const gs_args args = gs_track_args(&track, set);
        uint64_t wanted[20], at[4];
        for (int i = 0; i < 4; i++) at[i] = track.at[i] + track.room[i] * (size_t)set;
        gs_pool_pointers(&track.problem, at, 0x6765656dull + (unsigned)set, wanted);
        assert_memory_equal(args.a, wanted, 40);
        assert_memory_equal(args.b, wanted + 5, 40);
        assert_memory_equal(args.c, wanted + 10, 40);
        assert_memory_equal(args.d, wanted + 15, 40);
        assert_true(*args.alpha == 2 && *args.beta == 3);
        assert_true((gs_pointer)(uintptr_t)args.alpha >= track.wrong + 8 && (gs_pointer)(uintptr_t)args.beta + 4 <= track.at[0]);
    }
    assert_int_equal(track.pointers, track.at[3] + track.room[3] * (size_t)track.sets);
    assert_int_equal(track.scratch, track.pointers + 160 * (size_t)track.sets);
    assert_int_equal(track.memory + track.bytes, track.scratch + track.scratch_bytes);
    gs_track_close(&track);
    assert_int_equal(sim.live, 0);
}

/* Every row belongs to a group, the same in every set; a masked group gets no more rows than it has room for. */
static void offsets_of_sets(void **state)
{
    (void)state;
    static const struct { const char *problem; int groups, total, room; } cases[] = {
        {"bf16:96x16x16:tn:g=4", 4, 96, 0}, {"bf16:96x16x16:tn:gm=4", 4, 96, 24}, {"bf16:16x16x96:nt:gk=4", 4, 96, 0}, {"bf16:3000000x1x1:tn:g=3", 3, 3000000, 0}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        fresh(NULL);
        open_for(cases[i].problem);
        const int32_t *const first = gs_track_args(&track, 0).offsets, *const last = gs_track_args(&track, track.sets - 1).offsets;
        assert_memory_equal(first, last, (size_t)cases[i].groups * 4);
        int sum = 0;
        for (int group = 0; group < cases[i].groups; group++) {
            const int rows = cases[i].room ? first[group] : first[group + 1] - first[group];
            assert_true(rows > cases[i].total / cases[i].groups / 3 && (!cases[i].room || rows <= cases[i].room));
            sum += rows;
        }
        assert_true(cases[i].room ? sum > cases[i].total / 2 : sum == cases[i].total && first[0] == 0);
        gs_track_close(&track);
        assert_int_equal(sim.live, 0);
    }
}

/* ---- the clock ---- */

static gs_status one_call(void *self, int index, gs_queue queue, gs_error *why)
{
    assert_ptr_equal(queue, track.queue);
    *(int *)self = index;
    return next('c', why);
}

/* The cache is filled before a timed call; that time counts as spent. */
static void what_is_timed(void **state)
{
    (void)state;
    int index = 0;
    double us = 0;
    gs_graph graph;
    open_for("f16:64x64x64:tn");
    assert_true(track.scratch != 0);
    OK(gs_track_time(&track, one_call, &index, 7, &us, &error));
    assert_string_equal(sim.said, "(f<c>.");
    assert_true(index == 7 && us == 10 && track.spent_us == 200);
    assert_true(sim.filled == track.scratch && sim.filled_bytes == track.scratch_bytes && sim.pattern == 0);
    memset(sim.said, 0, sizeof sim.said);
    OK(gs_track_record(&track, one_call, &index, 3, &graph, &error));
    assert_string_equal(sim.said, "[c]");
    memset(sim.said, 0, sizeof sim.said);
    OK(gs_track_replay(&track, graph, &us, &error));
    assert_string_equal(sim.said, "(f<g>.");
    assert_true(track.spent_us == 300 && index == 3);
    drop(&device, graph);
    gs_track_close(&track);

    sim.free_bytes = 8 * (8192 * 3 + 3 * GAP);   /* no memory for the scratch buffer */
    open_for("f16:64x64x64:tn");
    assert_true(track.scratch == 0 && track.sets == 1);
    OK(gs_track_time(&track, one_call, &index, 1, &us, &error));
    assert_string_equal(sim.said, "(<c>.");
    gs_track_close(&track);
    assert_int_equal(sim.live, 0);
}

/* A capture always ends, and a capture with a failed call leaves no graph. */
static void calls_that_fail(void **state)
{
    (void)state;
    static const struct { int fails; const char *said; } cases[] = {{1, "["}, {2, "[c]"}, {3, "[c]"}};
    open_for("f16:64x64x64:tn");
    const int before = sim.live;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        int index;
        gs_graph graph = NULL;
        memset(sim.said, 0, sizeof sim.said);
        sim.fails_at = sim.calls + cases[i].fails;
        char wanted[32];
        snprintf(wanted, sizeof wanted, "call %d fails", sim.fails_at);
        assert_int_equal(gs_track_record(&track, one_call, &index, 3, &graph, &error), GS_ERROR_DEVICE);
        assert_string_equal(error.text, wanted);
        assert_string_equal(sim.said, cases[i].said);
        assert_null(graph);
        assert_int_equal(sim.live, before);
    }
    for (int fails = 1; fails <= 7; fails++) {   /* every call of a replay, including the wait */
        double us;
        sim.fails_at = sim.calls + fails;
        assert_int_equal(gs_track_replay(&track, functions[0], &us, &error), GS_ERROR_DEVICE);
    }
    sim.fails_at = 0;
    gs_track_close(&track);
    assert_int_equal(sim.live, 0);
}

/* Whichever call fails, opening returns the error. Closing waits for the queue and frees everything, even if that wait fails. */
static void opening_that_fails(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("bf16:64x64x64:tn:g=2:scalars=device:beta=1");
    OK(gs_track_open(&track, &device, &problem, &error));
    const int calls = sim.calls;
    gs_track_close(&track);
    assert_int_equal(sim.calls, calls + 1);
    for (int fails = 1; fails <= calls + 1; fails++) {
        fresh(NULL);
        sim.fails_at = fails;
        const gs_status status = gs_track_open(&track, &device, &problem, &error);
        if (status != (fails <= calls ? GS_ERROR_DEVICE : GS_OK)) fail_msg("call %d of %d: %s", fails, calls, gs_status_name(status));
        gs_track_close(&track);
        assert_int_equal(sim.live, 0);
    }
}

/* ---- results ---- */

static void what_is_checked(void **state)
{
    (void)state;
    bool wrong = true;
    open_for("bf16:64x32x128:nn:beta=0.5:alpha=2:lda=136:ldb=40:ldc=48:ldd=56:ldaux=64:b=3:ep=bias+gelu+aux");
    const gs_problem *const p = &track.problem;
    sim.launches = 0;
    OK(gs_track_poison(&track, &error));
    assert_true(sim.filled == track.at[3] && sim.pattern == 0x7fe57fe5u && sim.filled_bytes == rounded(gs_problem_bytes(p, 'd')));
    memset(sim.said, 0, sizeof sim.said);
    OK(gs_track_check(&track, &wrong, &error));
    assert_false(wrong);
    assert_string_equal(sim.said, "(fSs>.");
    assert_true(sim.filled == track.wrong && sim.filled_bytes == 8 && sim.pattern == 0 && track.spent_us == 200);
    assert_int_equal(sim.launch[0].blocks, 3 * 64 * 32 / 256);
    assert_int_equal(sim.launch[1].blocks, 64);   /* 2048 warps: limited to the maximum number of blocks */
    const gs_race_check *const c = &sim.launch[0].check;
    assert_memory_equal(c, &sim.launch[1].check, sizeof *c);
    const void *const given[] = {c->a, c->b, c->c, c->d, c->bias, c->offsets, c->aux, c->scale_m, c->scale_n};
    for (int i = 0; i < GS_OPERANDS; i++) assert_int_equal((uintptr_t)given[i], track.at[i]);
    assert_int_equal((uintptr_t)c->wrong, track.wrong);
    assert_true(c->lda == 136 && c->ldb == 40 && c->ldc == 48 && c->ldd == 56 && c->ldaux == 64);
    assert_true(c->m == 64 && c->n == 32 && c->k == 128 && c->batch == 3 && c->in == GS_BF16 && c->out == GS_BF16 && c->layout == GS_NN);
    assert_true(c->stride_a == 64 * 136 && c->stride_b == 128 * 40 && c->stride_c == 64 * 48 && c->stride_d == 64 * 56 && c->stride_aux == 64 * 64 && c->stride_bias == 0);
    assert_true(c->alpha == 2 && c->beta == 0.5f && c->activation == GS_GELU && c->along == GS_BIAS_N && c->dbias == 0 && c->residual == 0 && c->gate == 0 && c->writes_aux == 1);
    assert_true(c->groups == 0 && c->room == 0 && c->k_groups == 0 && c->seed == 0x6765656dull && c->samples == 2048);
    assert_true(c->relative == 0x1p-7 && c->spread == 0.01);
    sim.wrong = 1;
    OK(gs_track_check(&track, &wrong, &error));
    assert_true(wrong);
    for (int fails = 1; fails <= 8; fails++) {
        sim.fails_at = sim.calls + fails;
        assert_int_equal(gs_track_check(&track, &wrong, &error), GS_ERROR_DEVICE);
        assert_false(wrong);   /* wrong is not set */
        sim.launches = 0;
    }
    sim.fails_at = 0;
    gs_track_close(&track);
    assert_int_equal(sim.live, 0);
}

static void kinds_that_are_checked(void **state)
{
    (void)state;
    static const struct { const char *problem; int along, dbias, residual, gate, groups, k_groups; int64_t room; double relative, spread; } cases[] = {
        {"f16:64x32x128:nn", 0, 0, 0, 0, 0, 0, 0, 0x1p-10, 0.01},
        {"f16:64x32x128:nn:d=f32", 0, 0, 0, 0, 0, 0, 0, 1e-4, 0.01},
        {"f16:64x32x128:nn:acc=f16", 0, 0, 0, 0, 0, 0, 0, 0x1p-10, 0.05 + 128 * 0x1p-15},
        {"f16:64x32x128:nn:ep=bias_m", GS_BIAS_M, 0, 0, 0, 0, 0, 0, 0x1p-10, 0.01},
        {"f16:64x32x128:nn:ep=dbias", 0, 1, 0, 0, 0, 0, 0, 0x1p-10, 0.01},
        {"f16:64x32x128:nn:g=4:ep=dbias", 0, 4, 0, 0, 4, 0, 0, 0x1p-10, 0.01},
        {"f16:64x32x128:tn:gm=4", 0, 0, 0, 0, 4, 0, 16, 0x1p-10, 0.01},
        {"f16:64x32x128:nt:gk=4", 0, 0, 0, 0, 0, 1, 0, 0x1p-10, 0.01},
        {"f16:64x32x128:tn:beta=1:ep=silu+gate_i+residual", 0, 0, 1, GS_GATE_INTERLEAVED, 0, 0, 0, 0x1p-10, 0.01},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        bool wrong;
        fresh(NULL);
        device.caps.emulated = true;
        open_for(cases[i].problem);
        sim.launches = 0;
        OK(gs_track_check(&track, &wrong, &error));
        const gs_race_check *const c = &sim.launch[0].check;
        if (c->along != cases[i].along || c->dbias != cases[i].dbias || c->residual != cases[i].residual || c->gate != cases[i].gate || c->groups != cases[i].groups ||
            c->k_groups != cases[i].k_groups || c->room != cases[i].room || c->relative != cases[i].relative || c->spread != cases[i].spread || c->samples != 64)
            fail_msg("%s: %d %d %d %d %d %d %d %g %g", cases[i].problem, c->along, c->dbias, c->residual, c->gate, c->groups, c->k_groups, (int)c->room, c->relative, c->spread);
        assert_int_equal(sim.launch[1].blocks, 1);   /* 16 times more threads per block where there are few */
        gs_track_close(&track);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sizes, fresh), cmocka_unit_test_setup(places, fresh), cmocka_unit_test_setup(scalars_and_pointers, fresh), cmocka_unit_test_setup(offsets_of_sets, fresh),
        cmocka_unit_test_setup(what_is_timed, fresh), cmocka_unit_test_setup(calls_that_fail, fresh), cmocka_unit_test_setup(opening_that_fails, fresh),
        cmocka_unit_test_setup(what_is_checked, fresh), cmocka_unit_test_setup(kinds_that_are_checked, fresh)};
    return run_without_leaks("track", tests, sizeof tests / sizeof *tests);
}
