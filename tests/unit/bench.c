/* Proves, on a simulated device with its own clock: timing is cold, rotated and paired, its outputs are checked, failing and
 * cheating contenders are found, a lost device ends the run, and nothing leaks. Needs no GPU: verification's kernels are
 * replaced by the few lines at the top. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/internal.h"

/* ---- the simulated device: memory is the host's, time passes only where work says so ---- */

#define L2 (1 << 20)

typedef struct work {
    double cost_us;
    bool   writes;
    gs_args args;
    const void **kept;           /* the A of the call before it, whose D is still there; NULL: it remembers nothing */
} work;

typedef struct graph {
    int  owner, count;
    work list[GS_BENCH_CALLS];
} graph;

static struct {
    double now_us, slowdown;     /* per microsecond: the clock falls as the device heats up */
    graph *capturing;
    int    live;                 /* allocations, queues, events and graphs not given back */
    bool   fault;
    int    replays[4096], replay_count, waits;
    uint64_t generated[3];       /* calls of gs_generate for a, b, c */
} sim;

static gs_status sim_alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error)
{
    (void)device;
    *out = (gs_pointer)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*out) return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "no memory");
    sim.live++;
    return GS_OK;
}

static void sim_free(gs_device *device, gs_pointer pointer)
{
    (void)device;
    free((void *)(uintptr_t)pointer);
    sim.live--;
}

static gs_status sim_fill(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    assert_int_equal(bytes % 4, 0);
    uint32_t *const words = (uint32_t *)(uintptr_t)to;
    for (size_t i = 0; pattern && i < bytes / 4; i++) words[i] = pattern;   /* zeros only push other data out of the L2 */
    sim.now_us += 1;
    return GS_OK;
}

static gs_status sim_memory_info(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    (void)device, (void)error;
    *free_bytes = *total_bytes = (size_t)256 << 20;
    return GS_OK;
}

static gs_status sim_make(gs_device *device, void **out, gs_error *error)
{
    (void)device, (void)error;
    *out = calloc(1, sizeof(double));
    sim.live++;
    return GS_OK;
}

static void sim_unmake(gs_device *device, void *thing)
{
    (void)device;
    free(thing);
    sim.live--;
}

static gs_status sim_wait(gs_device *device, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue;
    sim.waits++;
    return sim.fault ? gs_fail(error, GS_ERROR_FAULT, NULL, "illegal address") : GS_OK;
}

static gs_status sim_record(gs_device *device, gs_event event, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    *(double *)event = sim.now_us;
    return GS_OK;
}

static gs_status sim_event_us(gs_device *device, gs_event start, gs_event end, double *us, gs_error *error)
{
    GS_TRY(sim_wait(device, NULL, error));
    *us = *(double *)end - *(double *)start;
    return GS_OK;
}

static gs_status sim_capture_begin(gs_device *device, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    assert_null(sim.capturing);
    sim.capturing = calloc(1, sizeof *sim.capturing);
    sim.live++;
    return GS_OK;
}

static gs_status sim_capture_end(gs_device *device, gs_queue queue, gs_graph *out, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    assert_non_null(sim.capturing);
    *out = sim.capturing;
    sim.capturing = NULL;
    return GS_OK;
}

/* D is right when each of its first words is A's first word plus one. */
static void execute(const work *item)
{
    const bool same = item->kept && *item->kept == item->args.a;
    if (item->kept) *item->kept = same ? NULL : item->args.a;
    sim.now_us += (same ? 0.1 : item->cost_us) * (1 + sim.slowdown * sim.now_us);
    if (item->writes && !same) *(uint32_t *)item->args.d = *(const uint32_t *)item->args.a + 1;
}

static gs_status sim_graph_launch(gs_device *device, gs_graph handle, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    const graph *const replayed = handle;
    for (int i = 0; i < replayed->count; i++) execute(&replayed->list[i]);
    if (sim.replay_count < (int)GS_COUNT(sim.replays)) sim.replays[sim.replay_count++] = replayed->owner;
    return GS_OK;
}

static gs_status sim_clocks(gs_device *device, gs_clocks *out, gs_error *error)
{
    (void)device;
    *out = (gs_clocks){.sm_mhz = sim.waits ? 1755 : 0};
    (void)error;
    return GS_OK;
}

static const gs_device_ops sim_ops = {
    .alloc = sim_alloc, .free = sim_free, .fill = sim_fill, .memory_info = sim_memory_info, .queue_create = sim_make,
    .queue_destroy = sim_unmake, .queue_wait = sim_wait, .event_create = sim_make, .event_destroy = sim_unmake,
    .event_record = sim_record, .event_us = sim_event_us, .capture_begin = sim_capture_begin, .capture_end = sim_capture_end,
    .graph_launch = sim_graph_launch, .graph_destroy = sim_unmake, .clocks = sim_clocks,
};
static gs_device device = {.ops = &sim_ops, .caps = {.l2_bytes = L2}};

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
    (void)self, (void)problem, (void)queue, (void)error;
    assert_int_equal(kind, GS_DATA_NORMAL);
    *(uint32_t *)(uintptr_t)to = (uint32_t)seed & 0xffffff;
    sim.generated[operand - 'a']++;
    return GS_OK;
}

gs_status gs_reference(gs_verifier *self, const gs_problem *problem, gs_pointer a, gs_pointer b, gs_pointer c, gs_pointer out,
                       gs_queue queue, gs_error *error)
{
    (void)self, (void)problem, (void)b, (void)c, (void)queue, (void)error;
    *(uint32_t *)(uintptr_t)out = *(uint32_t *)(uintptr_t)a + 1;
    return GS_OK;
}

gs_status gs_compare_reference(gs_verifier *self, const gs_problem *problem, gs_pointer d, gs_pointer reference, double tolerance,
                               gs_compare *out, gs_queue queue, gs_error *error)
{
    (void)self, (void)problem, (void)queue, (void)error;
    assert_true(tolerance > 0);
    *out = (gs_compare){.mismatches = *(uint32_t *)(uintptr_t)d != *(uint32_t *)(uintptr_t)reference, .row = -1, .col = -1};
    return GS_OK;
}

/* ---- contenders ---- */

typedef struct player {
    int       id;
    double    cost_us;
    int       runs;              /* so far */
    int       honest_runs;       /* computes nothing after that many; 0: always honest */
    int       fails_at;          /* returns `status` at that run; 0: never */
    gs_status status;
    bool      remembers;         /* computes nothing where it was called with the same A before, every other time */
    const void *kept;
    int       faults_at;         /* the device is lost after that run; 0: never */
    const void *a[GS_BENCH_SETS], *b[GS_BENCH_SETS];   /* addresses seen, by run */
} player;

static gs_status player_run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    (void)queue;
    player *const self = contender->self;
    if (self->runs < GS_BENCH_SETS) {
        self->a[self->runs] = args->a;
        self->b[self->runs] = args->b;
    }
    self->runs++;
    if (self->fails_at && self->runs >= self->fails_at) return gs_fail(error, self->status, NULL, "refused");
    if (self->faults_at && self->runs >= self->faults_at) sim.fault = true;
    const bool writes = !self->honest_runs || self->runs <= self->honest_runs;
    const work item = {writes ? self->cost_us : 0.1, writes, *args, self->remembers ? &self->kept : NULL};
    if (!sim.capturing) {
        execute(&item);
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
static int fresh(void **state)
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

static gs_bench_options quick(void)
{
    gs_bench_options options = gs_bench_defaults();
    options.warmup_s = 0;
    options.seed = 7;
    return options;
}

static gs_measurement *measure(int count, const gs_bench_options *options)
{
    gs_error error = {0};
    gs_measurement *measurement = NULL;
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, count, options, &measurement, &error), GS_OK);
    assert_non_null(measurement);
    assert_int_equal(sim.live, 0);
    assert_int_equal(measurement->count, count);
    return measurement;
}

/* ---- arithmetic ---- */

static void number_of_sets(void **state)
{
    (void)state;
    const size_t mib = (size_t)1 << 20, gib = (size_t)1 << 30;
    for (size_t used = 1000; used < gib; used = used * 3 / 2) {
        const int sets = gs_bench_sets(used, used, 50 * mib, 100 * gib, false);
        assert_true(sets >= 2 && sets <= GS_BENCH_SETS);
        assert_true(sets == GS_BENCH_SETS || (size_t)sets * used > 200 * mib);
        assert_true(sets == 2 || (size_t)(sets - 1) * used <= 200 * mib);
    }
    assert_int_equal(gs_bench_sets(gib, gib, 50 * mib, 100 * gib, false), 2);
    assert_int_equal(gs_bench_sets(mib, mib, 50 * mib, 100 * mib, false), 60);    /* 60 % of what is free */
    assert_int_equal(gs_bench_sets(mib, mib, 50 * mib, mib, false), 2);
    assert_int_equal(gs_bench_sets(1, 1, 50 * mib, gib, true), 1);
    assert_int_equal(gs_bench_most_sets(0, 500), GS_BENCH_SETS);
    assert_in_range(gs_bench_most_sets(2, 500), 550, 551);   /* a call each for 1 us, and a tenth more */
    assert_int_equal(gs_bench_most_sets(0.1, 500), GS_BENCH_SETS);
    assert_int_equal(gs_bench_most_sets(1e6, 500), 2);
}

static void number_of_calls(void **state)
{
    (void)state;
    assert_int_equal(gs_bench_calls(10, 500), 50);
    assert_int_equal(gs_bench_calls(9.9, 500), 51);
    assert_int_equal(gs_bench_calls(600, 500), 1);
    assert_int_equal(gs_bench_calls(0.01, 500), GS_BENCH_CALLS);
    assert_int_equal(gs_bench_calls(0, 500), GS_BENCH_CALLS);
    assert_int_equal(gs_bench_calls(NAN, 500), GS_BENCH_CALLS);
    assert_int_equal(gs_bench_calls(INFINITY, 500), 1);
}

static void turns(void **state)
{
    (void)state;
    for (int count = 1; count < 6; count++)
        for (int round = 0; round < 20; round++) {
            int seen = 0;
            for (int place = 0; place < count; place++) seen |= 1 << gs_bench_turn(round, place, count);
            assert_int_equal(seen, (1 << count) - 1);
            assert_int_equal(gs_bench_turn(round + 1, 0, count), gs_bench_turn(round, count > 1, count));
        }
}

static void gaps_are_exponential(void **state)
{
    (void)state;
    gs_random random = {5};
    double sum = 0, square = 0;
    int beyond = 0;
    const int count = 100000;
    for (int i = 0; i < count; i++) {
        const double gap = gs_bench_gap(&random, 10);
        assert_true(gap >= 0 && isfinite(gap));
        sum += gap;
        square += gap * gap;
        beyond += gap > 20;
    }
    const double mean = sum / count;
    assert_true(fabs(mean - 10) < 0.15);
    assert_true(fabs(sqrt(square / count - mean * mean) - 10) < 0.3);
    assert_true(fabs((double)beyond / count - exp(-2)) < 0.005);
}

static void shuffles_are_fair(void **state)
{
    (void)state;
    gs_random random = {9};
    int first[3] = {0};
    for (int i = 0; i < 30000; i++) {
        int list[3] = {0, 1, 2};
        gs_bench_shuffle(&random, list, 3);
        assert_int_equal((1 << list[0]) | (1 << list[1]) | (1 << list[2]), 7);
        first[list[0]]++;
    }
    for (int i = 0; i < 3; i++) assert_true(abs(first[i] - 10000) < 400);
}

/* ---- offline ---- */

static void ratios_survive_a_falling_clock(void **state)
{
    (void)state;
    sim.slowdown = 1e-5;
    const gs_bench_options options = quick();
    gs_measurement *measurement = measure(3, &options);
    const gs_samples *const samples = measurement->samples;
    assert_int_equal(measurement->rounds, 30);
    assert_true(samples[0].device_us[29] > 1.1 * samples[0].device_us[0]);
    assert_int_equal(samples[0].device.verdict, GS_SAME);
    assert_int_equal(samples[1].device.verdict, GS_SAME);
    assert_int_equal(samples[2].device.verdict, GS_FASTER);
    assert_true(fabs(samples[2].device.median - 1.25) < 0.02);
    assert_true(measurement->calls * samples[2].device_us[0] >= 500);
    for (int i = 0; i < 3; i++) assert_false(samples[i].wrong);
    assert_null(samples[0].call_us);
    gs_measurement_destroy(&measurement);
    gs_measurement_destroy(&measurement);
}

static void rounds_are_rotated(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.rounds = 6;
    gs_measurement *measurement = measure(3, &options);
    const int *const replays = sim.replays + sim.replay_count - 18;
    for (int round = 0; round < 6; round++)
        for (int place = 0; place < 3; place++) assert_int_equal(replays[3 * round + place], (round + place) % 3);
    gs_measurement_destroy(&measurement);
}

static void operands_are_cold(void **state)
{
    (void)state;
    problems[1].layout = GS_NN;
    gs_bench_options options = quick();
    gs_measurement *measurement = measure(2, &options);
    const size_t used = 3 * 64 * 64 * 2;
    const int sets = measurement->sets;
    assert_true((size_t)sets * used > 4 * L2);
    assert_int_equal(sim.generated[0], sets);
    assert_int_equal(sim.generated[1], 2 * sets);   /* once per layout */
    assert_int_equal(sim.generated[2], 0);
    int odd_steps = 0;
    const player *const tn = &players[0], *const nn = &players[1];
    for (int i = TRIALS; i < 40; i++) {   /* the first capture, in order of the sets */
        assert_true((uintptr_t)tn->a[i] % 256 == 0 && (uintptr_t)tn->b[i] % 256 == 0);
        odd_steps += (const char *)tn->a[i + 1] - (const char *)tn->a[i] != (const char *)tn->a[TRIALS + 1] - (const char *)tn->a[TRIALS];
    }
    assert_true(odd_steps > 10);
    assert_ptr_equal(tn->a[0], nn->a[0]);
    assert_ptr_not_equal(tn->b[0], nn->b[0]);
    gs_measurement_destroy(&measurement);

    /* no more than a replay can use, which rotates through all of them */
    device.caps.launch_us = 10;
    measurement = measure(2, &options);
    device.caps.launch_us = 0;
    assert_in_range(measurement->sets, 110, 111);   /* of 5 us in 550 */
    assert_true(measurement->calls <= measurement->sets);
    gs_measurement_destroy(&measurement);

    options.warm = true;
    measurement = measure(2, &options);
    assert_int_equal(measurement->sets, 1);
    assert_int_equal(measurement->samples[1].device.verdict, GS_SAME);
    gs_measurement_destroy(&measurement);
}

static void call_time_is_the_host_clock(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.call_time = true;
    gs_measurement *measurement = measure(2, &options);
    const gs_samples *const samples = measurement->samples;
    assert_non_null(samples[0].call_us);
    assert_true(samples[0].call_median > 0 && samples[0].call_median < 10);   /* the simulated 10 us take the host no time */
    assert_true(samples[0].call_p50 <= samples[0].call_p95 && samples[0].call_p95 <= samples[0].call_p99);
    assert_true(fabs(samples[0].device_median - 10) < 0.01);
    gs_measurement_destroy(&measurement);
}

static void idle_contender_is_caught(void **state)
{
    (void)state;
    const gs_bench_options options = quick();
    static const int until[] = {1, 3, TRIALS};   /* in the first run, among the trials, up to the capture */
    for (size_t i = 0; i < GS_COUNT(until); i++) {
        fresh(NULL);
        players[1].honest_runs = until[i];   /* then it "computes" a hundred times faster */
        gs_measurement *measurement = measure(3, &options);
        assert_true(measurement->samples[1].wrong);
        assert_true(measurement->samples[1].compare.mismatches > 0);
        assert_int_equal(measurement->samples[1].device.verdict, GS_UNCLEAR);
        assert_true(isnan(measurement->samples[1].device.median));
        assert_false(measurement->samples[0].wrong || measurement->samples[2].wrong);
        assert_int_equal(measurement->samples[2].device.verdict, GS_FASTER);
        gs_measurement_destroy(&measurement);
    }
}

/* It is right at the end of every replay: what it saves is seen where the same data is computed twice with nothing in between. */
static void remembering_contender_is_caught(void **state)
{
    (void)state;
    for (int warm = 0; warm < 2; warm++)
        for (int server = 0; server < 2; server++) {
            gs_bench_options options = quick();
            fresh(NULL);
            options.warm = warm;
            options.mode = server ? GS_MODE_SERVER : GS_MODE_OFFLINE;
            options.target_qps = server ? 20000 : options.target_qps;
            players[1].remembers = true;
            gs_measurement *measurement = measure(3, &options);
            assert_true(measurement->samples[1].wrong && !measurement->samples[0].wrong && !measurement->samples[2].wrong);
            gs_measurement_destroy(&measurement);
        }
}

static void failing_contender_is_left_out(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.call_time = true;
    for (int at = 1; at < 800; at += 47) {   /* in the first run, a trial, a capture, a timed round */
        fresh(NULL);
        players[1].fails_at = at;
        players[1].status = GS_ERROR_LIBRARY;
        gs_measurement *measurement = measure(3, &options);
        assert_int_equal(measurement->samples[1].status, GS_ERROR_LIBRARY);
        assert_string_equal(measurement->samples[1].error.text, "refused");
        assert_true(isnan(measurement->samples[1].device.median));
        assert_int_equal(players[1].runs, at);   /* not asked again */
        assert_int_equal(measurement->samples[2].status, GS_OK);
        assert_int_equal(measurement->samples[2].device.verdict, GS_FASTER);
        gs_measurement_destroy(&measurement);
    }
}

static void nobody_left(void **state)
{
    (void)state;
    const gs_bench_options options = quick();
    players[0].fails_at = players[1].fails_at = 1;
    players[0].status = players[1].status = GS_ERROR_UNSUPPORTED;
    gs_measurement *measurement = measure(2, &options);
    assert_int_equal(measurement->rounds, 0);
    assert_true(isnan(measurement->samples[0].device_median) && isnan(measurement->samples[1].device.median));
    gs_measurement_destroy(&measurement);
}

static void lost_device_ends_the_run(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    for (int mode = 0; mode < 2; mode++) {
        options.mode = mode ? GS_MODE_SERVER : GS_MODE_OFFLINE;
        options.target_qps = 1e6;
        for (int at = 1; at < 100; at += 33) {
            fresh(NULL);
            players[1].faults_at = at;
            gs_error error = {0};
            gs_measurement *measurement = (gs_measurement *)&error;
            assert_int_equal(gs_bench(&device, verifier, problems, contenders, 3, &options, &measurement, &error), GS_ERROR_FAULT);
            assert_null(measurement);
            assert_int_equal(error.status, GS_ERROR_FAULT);
            assert_int_equal(sim.live, 0);
        }
    }
}

/* Eight, four, three: the slower ones leave, the others go on to the end, and what they did together is compared. */
static void slow_ones_leave(void **state)
{
    static const double cost[PLAYERS] = {10, 30, 8, 12, 9, 11, 40, 8.5};
    static const int rounds[PLAYERS] = {4, 2, 12, 2, 12, 2, 2, 12};
    (void)state;
    for (int i = 0; i < PLAYERS; i++) players[i].cost_us = cost[i];
    gs_bench_options options = quick();
    options.narrow = true;
    options.rounds = 12;
    gs_measurement *measurement = measure(PLAYERS, &options);
    assert_int_equal(measurement->rounds, 12);
    int replays[PLAYERS] = {0}, timed = 0;
    for (int i = 0; i < PLAYERS; i++) {
        const gs_samples *const samples = &measurement->samples[i];
        assert_int_equal(samples->rounds, rounds[i]);
        assert_true(fabs(samples->device_median - cost[i]) < 0.01);
        assert_true(fabs(samples->device.median - cost[0] / cost[i]) < 0.01);
        assert_false(samples->wrong);
        timed += rounds[i];
    }
    for (int i = sim.replay_count - timed; i < sim.replay_count; i++) replays[sim.replays[i]]++;
    assert_memory_equal(replays, rounds, sizeof replays);
    gs_measurement_destroy(&measurement);

    options.narrow = false;
    measurement = measure(PLAYERS, &options);
    for (int i = 0; i < PLAYERS; i++) assert_int_equal(measurement->samples[i].rounds, 12);
    gs_measurement_destroy(&measurement);
}

static void numbers_that_are_kept(void **state)
{
    (void)state;
    assert_int_equal(gs_bench_keep(1, 16), 16);
    assert_int_equal(gs_bench_keep(2, 16), 8);
    assert_int_equal(gs_bench_keep(3, 8), 8);
    assert_int_equal(gs_bench_keep(4, 8), 4);
    assert_int_equal(gs_bench_keep(8, 4), 3);
    assert_int_equal(gs_bench_keep(16, 3), 3);
    assert_int_equal(gs_bench_keep(2, 1), 1);
    assert_int_equal(gs_bench_keep(2, 17), 9);
    assert_int_equal(gs_bench_keep(0, 9), 9);
}

/* What takes milliseconds is not tried more often than an estimate needs. */
static void long_calls_are_tried_once(void **state)
{
    (void)state;
    players[0].cost_us = players[1].cost_us = 5000;
    gs_bench_options options = quick();
    options.rounds = 7;
    gs_measurement *measurement = measure(2, &options);
    assert_int_equal(measurement->calls, 1);
    assert_int_equal(players[0].runs, 3 + GS_BENCH_AGAIN);   /* the first, a trial, the capture */
    assert_int_equal(sim.replay_count, 2 * (1 + 7));
    gs_measurement_destroy(&measurement);
}

static void budget_ends_at_a_round(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.rounds = 1000;
    options.budget_s = 1e-9;
    gs_measurement *measurement = measure(2, &options);
    assert_int_equal(measurement->rounds, GS_BENCH_ROUNDS);
    assert_true(isfinite(measurement->samples[1].device.low));
    gs_measurement_destroy(&measurement);
}

/* ---- server ---- */

static void server_mode(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.mode = GS_MODE_SERVER;
    options.rounds = 40;
    options.target_qps = 2000;
    players[1].honest_runs = 20;
    const int64_t began = gs_clock_ns();
    gs_measurement *measurement = measure(3, &options);
    const double seconds = (double)(gs_clock_ns() - began) * 1e-9;
    assert_true(seconds > 0.03);   /* 120 gaps of 0.5 ms on average */
    assert_int_equal(measurement->rounds, 40);
    const gs_samples *const samples = measurement->samples;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(players[i].runs, 41 + (i == 1 ? 0 : GS_BENCH_AGAIN));
        assert_true(samples[i].call_p50 < 200);   /* microseconds: the simulated device is done at once */
        assert_true(samples[i].call_p50 > 0 && samples[i].call_p50 <= samples[i].call_p95 &&
                    samples[i].call_p95 <= samples[i].call_p99);
    }
    assert_true(fabs(samples[0].device_median - 10) < 0.01 && fabs(samples[2].device_median - 8) < 0.01);
    assert_true(samples[1].wrong && !samples[0].wrong && !samples[2].wrong);
    assert_int_equal(samples[2].device.verdict, GS_FASTER);
    gs_measurement_destroy(&measurement);
}

/* ---- the pick of cublaslt-autotuning ---- */

static void pick_finds_the_fastest(void **state)
{
    (void)state;
    gs_error error = {0};
    double us[4];
    players[1].fails_at = 3;
    players[1].status = GS_ERROR_LIBRARY;
    players[3].cost_us = 8.2;
    assert_int_equal(gs_bench_pick(&device, &problems[0], contenders, 4, us, &error), GS_OK);
    assert_int_equal(sim.live, 0);
    assert_true(us[2] < us[3] && us[3] < us[0]);
    assert_true(fabs(us[2] - 8) < 0.01 && fabs(us[3] - 8.2) < 0.01);
    assert_true(isinf(us[1]));
    for (int i = 0; i < 4; i++) {
        players[i].fails_at = 1;
        players[i].status = GS_ERROR_LIBRARY;
    }
    assert_int_equal(gs_bench_pick(&device, &problems[0], contenders, 4, us, &error), GS_OK);
    for (int i = 0; i < 4; i++) assert_true(isinf(us[i]));
    assert_int_equal(gs_bench_pick(&device, &problems[0], contenders, 0, us, &error), GS_ERROR_ARGUMENT);
}

static void impossible_requests(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_measurement *measurement;
    gs_bench_options options = quick();
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, 0, &options, &measurement, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, GS_MAX_CONTENDERS + 1, &options, &measurement, &error),
                     GS_ERROR_ARGUMENT);
    options.reference = 2;
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, 2, &options, &measurement, &error), GS_ERROR_ARGUMENT);
    options.reference = 0;
    problems[1].n = 128;
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, 2, &options, &measurement, &error), GS_ERROR_ARGUMENT);
    problems[0].k = problems[1].k = 0;
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, 1, &options, &measurement, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(sim.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_of_sets),
        cmocka_unit_test(number_of_calls),
        cmocka_unit_test(turns),
        cmocka_unit_test(gaps_are_exponential),
        cmocka_unit_test(shuffles_are_fair),
        cmocka_unit_test_setup(ratios_survive_a_falling_clock, fresh),
        cmocka_unit_test_setup(rounds_are_rotated, fresh),
        cmocka_unit_test_setup(operands_are_cold, fresh),
        cmocka_unit_test_setup(call_time_is_the_host_clock, fresh),
        cmocka_unit_test_setup(idle_contender_is_caught, fresh),
        cmocka_unit_test_setup(remembering_contender_is_caught, fresh),
        cmocka_unit_test_setup(failing_contender_is_left_out, fresh),
        cmocka_unit_test_setup(nobody_left, fresh),
        cmocka_unit_test_setup(lost_device_ends_the_run, fresh),
        cmocka_unit_test(numbers_that_are_kept),
        cmocka_unit_test_setup(slow_ones_leave, fresh),
        cmocka_unit_test_setup(long_calls_are_tried_once, fresh),
        cmocka_unit_test_setup(budget_ends_at_a_round, fresh),
        cmocka_unit_test_setup(server_mode, fresh),
        cmocka_unit_test_setup(pick_finds_the_fastest, fresh),
        cmocka_unit_test_setup(impossible_requests, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
