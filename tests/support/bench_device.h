/* SPDX-License-Identifier: MIT
 * A simulated device with its own clock, for tests of timing. Its memory is host memory; time passes only where the simulation advances the clock. Verification's
 * kernels are replaced by a few lines; contenders take the time that the test gives them, and fail or cheat when told to. Included after cmocka, by one file of a
 * program. */
#ifndef TESTS_BENCH_DEVICE_H
#define TESTS_BENCH_DEVICE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench/internal.h"
#include "common/datagen.h"

/* ---- the simulated device ---- */

#define L2 (1 << 20)

typedef struct work {
    double cost_us;
    bool   writes;
    gs_args args;
    const void **kept;           /* A of the contender's last call, whose D it may return again; NULL: it never skips the work */
    bool   wobbles;
    double varies;
} work;

typedef struct graph {
    int  owner, count;
    work list[GS_BENCH_CALLS];
} graph;

static struct {
    double now_us, slowdown;     /* relative increase of costs per microsecond of the clock: the SM clock falls as the device heats up */
    graph *capturing;
    int    live;                 /* allocations, queues, events and graphs that were not freed */
    bool   fault;
    int    replays[4096], replay_count, waits;
    uint64_t generated[3];       /* calls of gs_generate for a, b, c */
    void *reference;             /* in device memory; NULL: none */
    int  references;             /* how often a reference was made or read */
    bool veiled;                 /* the reference is hidden */
    int  exposed;                /* calls of contenders while a reference in device memory was not hidden */
    int  passes;                 /* element-wise kernels over A, and */
    size_t passed;               /* the bytes that one of them covers */
    int  looks;                  /* checks of all outputs */
    uint32_t wobble;
    double host_us;              /* that a call takes longer outside of a graph */
    gs_random luck;              /* of replays of contenders whose times vary */
} sim;

static inline gs_status sim_alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error)
{
    (void)device;
    *out = (gs_pointer)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*out) return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "no memory");
    sim.live++;
    return GS_OK;
}

static inline void sim_free(gs_device *device, gs_pointer pointer)
{
    (void)device;
    if (sim.reference && sim.reference == (void *)(uintptr_t)pointer) {
        assert_int_equal(*(uint32_t *)sim.reference, GS_POISON_FIRST);   /* freed memory must not show the reference to whoever gets it next */
        sim.reference = NULL;
    }
    free((void *)(uintptr_t)pointer);
    sim.live--;
}

static inline gs_status sim_fill(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    assert_int_equal(bytes % 4, 0);
    uint32_t *const words = (uint32_t *)(uintptr_t)to;
    for (size_t i = 0; pattern && i < bytes / 4; i++) words[i] = pattern;   /* zeros only push other data out of the L2, so they are not written */
    sim.now_us += 1;
    return GS_OK;
}

static inline gs_status sim_copy_in(gs_device *device, gs_pointer to, const void *from, size_t bytes, gs_error *error)
{
    (void)device, (void)error;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return GS_OK;
}

static inline gs_status sim_copy_out(gs_device *device, void *to, gs_pointer from, size_t bytes, gs_error *error)
{
    (void)device, (void)error;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return GS_OK;
}

static inline gs_status sim_memory_info(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    (void)device, (void)error;
    *free_bytes = *total_bytes = (size_t)256 << 20;
    return GS_OK;
}

static inline gs_status sim_make(gs_device *device, void **out, gs_error *error)
{
    (void)device;
    *out = calloc(1, sizeof(double));
    if (!*out) return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "no memory");
    sim.live++;
    return GS_OK;
}

static inline void sim_unmake(gs_device *device, void *thing)
{
    (void)device;
    free(thing);
    sim.live--;
}

static inline gs_status sim_wait(gs_device *device, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue;
    sim.waits++;
    return sim.fault ? gs_fail(error, GS_ERROR_FAULT, NULL, "illegal address") : GS_OK;
}

static inline gs_status sim_record(gs_device *device, gs_event event, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    *(double *)event = sim.now_us;
    return GS_OK;
}

static inline gs_status sim_event_us(gs_device *device, gs_event start, gs_event end, double *us, gs_error *error)
{
    GS_TRY(sim_wait(device, NULL, error));
    *us = *(double *)end - *(double *)start;
    return GS_OK;
}

static inline gs_status sim_capture_begin(gs_device *device, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue;
    assert_null(sim.capturing);
    sim.capturing = calloc(1, sizeof *sim.capturing);
    if (!sim.capturing) return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "no memory");
    sim.live++;
    return GS_OK;
}

static inline gs_status sim_capture_end(gs_device *device, gs_queue queue, gs_graph *out, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    assert_non_null(sim.capturing);
    *out = sim.capturing;
    sim.capturing = NULL;
    return GS_OK;
}

/* D is right if its first word is A's first word plus one. */
static inline void execute(const work *item, double luck)
{
    const bool same = item->kept && *item->kept == item->args.a;
    sim.exposed += sim.reference && !sim.veiled;
    if (item->kept) *item->kept = same ? NULL : item->args.a;
    sim.now_us += (same ? 0.1 : item->cost_us) * (1 + sim.slowdown * sim.now_us) * (1 + luck * item->varies);
    if (item->writes && !same) *(uint32_t *)item->args.d = *(const uint32_t *)item->args.a + 1;
    if (item->wobbles) ((uint32_t *)item->args.d)[1] = ++sim.wobble;
}

static inline gs_status sim_graph_launch(gs_device *device, gs_graph handle, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    const graph *const replayed = handle;
    const double luck = 2 * gs_random_unit(&sim.luck) - 1;
    for (int i = 0; i < replayed->count; i++) execute(&replayed->list[i], luck);
    if (sim.replay_count < (int)GS_COUNT(sim.replays)) sim.replays[sim.replay_count++] = replayed->owner;
    return GS_OK;
}

static inline gs_status sim_clocks(gs_device *device, gs_clocks *out, gs_error *error)
{
    (void)device;
    *out = (gs_clocks){.sm_mhz = sim.waits ? 1755 : 0};
    (void)error;
    return GS_OK;
}

static const gs_device_ops sim_ops = {
    .alloc = sim_alloc, .free = sim_free, .fill = sim_fill, .copy_in = sim_copy_in, .copy_out = sim_copy_out, .memory_info = sim_memory_info, .queue_create = sim_make,
    .queue_destroy = sim_unmake, .queue_wait = sim_wait, .event_create = sim_make, .event_destroy = sim_unmake,
    .event_record = sim_record, .event_us = sim_event_us, .capture_begin = sim_capture_begin, .capture_end = sim_capture_end,
    .graph_launch = sim_graph_launch, .graph_destroy = sim_unmake, .clocks = sim_clocks,
};
static gs_device device = {.ops = &sim_ops, .caps = {.l2_bytes = L2, .launch_us = 4}};

/* ---- in place of src/verify ---- */

static gs_verifier *const verifier = (gs_verifier *)&device;

gs_status gs_verifier_create(gs_verifier **out, gs_device *on, gs_error *error)
{
    (void)on, (void)error;
    *out = verifier;
    sim.live++;
    return GS_OK;
}

void gs_verifier_destroy(gs_verifier **out)
{
    if (*out) sim.live--;
    *out = NULL;
}

gs_status gs_generate(gs_verifier *self, const gs_problem *problem, char operand, gs_data kind, uint64_t seed, gs_pointer to,
                      gs_queue queue, gs_error *error)
{
    (void)self, (void)queue, (void)error;
    assert_int_equal((int)kind, operand == 'c' ? gs_operand_c_kind(problem, GS_DATA_NORMAL) : GS_DATA_NORMAL);
    *(uint32_t *)(uintptr_t)to = (uint32_t)seed & 0xffffff;
    sim.generated[operand - 'a']++;
    return GS_OK;
}

gs_status gs_reference_of(gs_verifier *self, const gs_problem *problem, const gs_args *args, gs_pointer out, gs_queue queue, gs_error *error)
{
    return gs_reference(self, problem, (uintptr_t)args->a, (uintptr_t)args->b, (uintptr_t)args->c, out, queue, error);
}

gs_status gs_reference(gs_verifier *self, const gs_problem *problem, gs_pointer a, gs_pointer b, gs_pointer c, gs_pointer out,
                       gs_queue queue, gs_error *error)
{
    (void)self, (void)b, (void)c, (void)queue, (void)error;
    sim.reference = (void *)(uintptr_t)out;
    sim.veiled = false;
    sim.references++;
    memset(sim.reference, 0, (size_t)problem->m * (size_t)problem->n * (size_t)problem->batch * sizeof(double));
    *(uint32_t *)sim.reference = *(uint32_t *)(uintptr_t)a + 1;
    return GS_OK;
}

gs_status gs_compare_reference(gs_verifier *self, const gs_problem *problem, const gs_args *args, gs_pointer reference, double tolerance,
                               gs_compare *out, gs_queue queue, gs_error *error)
{
    (void)self, (void)problem, (void)queue, (void)error;
    assert_true(tolerance > 0);
    assert_true(sim.reference == (void *)(uintptr_t)reference && !sim.veiled);
    sim.references++;
    *out = (gs_compare){.mismatches = *(uint32_t *)args->d != *(uint32_t *)(uintptr_t)reference, .row = -1, .col = -1};
    return GS_OK;
}

gs_status gs_compare_sums(gs_verifier *self, const gs_problem *problem, const gs_args *args, gs_pointer reference, double tolerance,
                          gs_compare *out, gs_queue queue, gs_error *error)
{
    (void)self, (void)problem, (void)args, (void)reference, (void)tolerance, (void)queue, (void)error;
    *out = (gs_compare){.row = -1, .col = -1};
    return GS_OK;
}

gs_status gs_words_hash(gs_verifier *self, gs_pointer at, size_t bytes, gs_pointer sum, gs_queue queue, gs_error *error)
{
    (void)self, (void)queue, (void)error;
    for (size_t i = 0; i < bytes / 8; i++) *(uint64_t *)(uintptr_t)sum += gs_mix(i + ((const uint64_t *)(uintptr_t)at)[i]);
    return GS_OK;
}

gs_status gs_veil(gs_verifier *self, gs_pointer at, size_t words, uint64_t key, gs_queue queue, gs_error *error)
{
    (void)self, (void)queue, (void)error;
    assert_true(sim.reference == (void *)(uintptr_t)at && words > 0);
    *(uint64_t *)sim.reference ^= key;
    sim.veiled = !sim.veiled;
    return GS_OK;
}

gs_status gs_pass_over(gs_verifier *self, gs_pointer at, size_t bytes, gs_queue queue, gs_error *error)
{
    (void)self, (void)at, (void)queue, (void)error;
    sim.passes++;
    sim.passed = bytes;
    return GS_OK;
}

/* Checks only the first word of each D, and only the last word of the guard around it. */
gs_status gs_timed_check(gs_verifier *self, const gs_problem *problem, double tolerance, gs_pointer sets, int count, uint32_t poison, uint64_t seed, gs_pointer found,
                         gs_queue queue, gs_error *error)
{
    (void)self, (void)problem, (void)tolerance, (void)seed, (void)queue, (void)error;
    uint64_t *const counts = (uint64_t *)(uintptr_t)found;
    sim.looks++;
    for (int i = 0; i < count; i++) {
        const gs_timed_operands *const set = &((const gs_timed_operands *)(uintptr_t)sets)[i];
        const uint32_t d = *(const uint32_t *)(uintptr_t)set->d;
        counts[0] += d == poison;
        counts[0] += *(const uint32_t *)(uintptr_t)(set->end[0] - 4) != poison;
        counts[1] += d != poison && d != *(const uint32_t *)(uintptr_t)set->a + 1;
    }
    return GS_OK;
}

/* ---- contenders ---- */

typedef struct player {
    int       id;
    double    cost_us;
    int       runs;              /* so far */
    int       honest_runs;       /* computes nothing after that many runs; 0: always honest */
    int       fails_at;          /* returns `status` from that run on; 0: never */
    gs_status status;
    bool      remembers;         /* every other call with the A of the call before it computes nothing */
    bool      wobbles;           /* a different D in every run, each of them right */
    double    varies;            /* by so much, relative to its cost, a replay takes more or less time than another one */
    const void *kept;
    int       faults_at;         /* the device is lost from that run on; 0: never */
    int       spoils_at;         /* writes into B in that run; 0: never */
    const void *a[GS_BENCH_SETS], *b[GS_BENCH_SETS], *c[GS_BENCH_SETS], *d[GS_BENCH_SETS];   /* addresses seen, by run */
} player;

static inline gs_status player_run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    (void)queue;
    player *const self = contender->self;
    if (self->runs < GS_BENCH_SETS) {
        self->a[self->runs] = args->a;
        self->b[self->runs] = args->b;
        self->c[self->runs] = args->c;
        self->d[self->runs] = args->d;
    }
    self->runs++;
    if (self->fails_at && self->runs >= self->fails_at) return gs_fail(error, self->status, NULL, "refused");
    if (self->faults_at && self->runs >= self->faults_at) sim.fault = true;
    if (self->runs == self->spoils_at) ++*(uint32_t *)(uintptr_t)args->b;
    const bool writes = !self->honest_runs || self->runs <= self->honest_runs;
    const work item = {writes ? self->cost_us : 0.1, writes, *args, self->remembers ? &self->kept : NULL, self->wobbles, self->varies};
    if (!sim.capturing) {
        execute(&item, 0);
        sim.now_us += sim.host_us;
        return GS_OK;
    }
    sim.capturing->owner = self->id;
    assert_true(sim.capturing->count < GS_BENCH_CALLS);
    sim.capturing->list[sim.capturing->count++] = item;
    return GS_OK;
}

enum { PLAYERS = 8, TRIALS = 6 };   /* TRIALS: runs before the first capture */

static player       players[PLAYERS];
static gs_contender contenders[PLAYERS];
static gs_problem   problems[PLAYERS];

/* Three honest contenders of 10, 10 and 8 microseconds on a small problem. */
static inline int fresh(void **state)
{
    (void)state;
    memset(&sim, 0, sizeof sim);
    memset(players, 0, sizeof players);
    for (int i = 0; i < PLAYERS; i++) {
        players[i].id = i;
        players[i].cost_us = i == 2 ? 8 : 10;
        contenders[i] = (gs_contender){.self = &players[i], .run = player_run};
        snprintf(contenders[i].name, sizeof contenders[i].name, "player-%d", i);
        problems[i] = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    }
    return 0;
}

static inline gs_bench_options quick(void)
{
    gs_bench_options options = gs_bench_defaults();
    options.warmup_s = 0;
    options.seed = 7;
    return options;
}

static inline gs_measurement *measure(int count, const gs_bench_options *options)
{
    gs_error error = {0};
    gs_measurement *measurement = NULL;
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, count, options, &measurement, &error), GS_OK);
    assert_non_null(measurement);
    assert_int_equal(sim.live, 0);
    assert_int_equal(sim.exposed, 0);
    assert_int_equal(measurement->count, count);
    return measurement;
}

#endif
