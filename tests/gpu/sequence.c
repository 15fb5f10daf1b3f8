/* SPDX-License-Identifier: MIT
 * Sequences on a GPU: three layers with a kernel of the caller between two of them have the bits of runs one by one, also with operands that were changed in the graph,
 * while earlier launches are still under way, and for every kind of kernel. Prints call time and device time of sequences and of single launches as JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "allocations.h"
#include "base/clock.h"
#include "base/error.h"
#include "bench/stats.h"
#include "plan/made.h"
#include "verify/verify.h"

static gs_device   *device;
static gs_verifier *verifier;
static gs_context  *context, *plain;   /* plain: without dependent launches */
static gs_error     error;

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

static bool programmatic(void) { return gs_device_is_programmatic(device); }

/* ---- the caller's kernel ---- */

typedef struct relu {
    gs_module   module;
    gs_function function;
    gs_pointer  at;
    int         count;
} relu;

static void load_relu(relu *r)
{
    static const char text[] = "extern \"C\" __global__ void relu(unsigned short *x, int n)\n"
                               "{ const int i = blockIdx.x * 256 + threadIdx.x; if (i < n && (x[i] & 0x8000)) x[i] = 0; }\n";
    const gs_source source = {.name = "relu.cu", .text = text};
    gs_image image = {0};
    OK(device->ops->compile(device, &source, &image, &error));
    OK(device->ops->load(device, &image, &r->module, &error));
    OK(device->ops->function(device, r->module, "relu", &r->function, NULL, &error));
    gs_image_free(&image);
}

static gs_status run_relu(void *self, gs_stream stream)
{
    relu *const r = self;
    const gs_launch launch = {.function = r->function, .grid = {(uint32_t)(r->count + 255) / 256, 1, 1}, .block = {256, 1, 1}, .cluster = {1, 1, 1}, .params = (void *[]){&r->at, &r->count}};
    return device->ops->launch(device, &launch, stream, NULL);
}

/* ---- three layers: h = relu(x W1), g = h W2, y = g W3 ---- */

enum { LAYERS = 3, DEEP = 1024, WIDE = 4096 };

typedef struct layers {
    gs_problem problem[LAYERS];
    gs_plan   *plan[LAYERS], *plain[LAYERS];
    gs_pointer x[2], weight[LAYERS], h, g, y[2];
    size_t     bytes;                    /* of y */
    relu       relu;
    gs_queue   queue;
    gs_sequence *sequence, *all_plain;
    int        index[LAYERS];
} layers;

static gs_pointer random_operand(const gs_problem *problem, char operand, uint64_t seed)
{
    gs_pointer at;
    OK(device->ops->alloc(device, gs_problem_bytes(problem, operand), &at, &error));
    OK(gs_generate(verifier, problem, operand, GS_DATA_NORMAL, seed, at, NULL, &error));
    return at;
}

static gs_args args_of(const layers *l, int layer, int which)
{
    const gs_pointer from[LAYERS] = {l->x[which], l->h, l->g}, to[LAYERS] = {l->h, l->g, l->y[which]};
    return gs_args_make((void *)from[layer], (void *)l->weight[layer], NULL, (void *)to[layer]);
}

static gs_sequence *build(layers *l, gs_context *of, gs_plan *const plan[LAYERS], int index[LAYERS])
{
    gs_sequence *sequence = NULL;
    OK(gs_sequence_create(of, &sequence, &error));
    for (int i = 0; i < LAYERS; i++) {
        const gs_args args = args_of(l, i, 0);
        OK(gs_sequence_add(sequence, plan[i], &args, &index[i], &error));
        if (i == 0) OK(gs_sequence_add_call(sequence, run_relu, &l->relu, &error));
    }
    OK(gs_sequence_build(sequence, &error));
    return sequence;
}

/* schedule NULL: the plan's choice. */
static void make_layers(layers *l, int64_t m, const char *schedule)
{
    static const int64_t n[LAYERS] = {WIDE, DEEP, DEEP}, k[LAYERS] = {DEEP, WIDE, DEEP};
    int ignored[LAYERS];
    memset(l, 0, sizeof *l);
    load_relu(&l->relu);
    OK(device->ops->queue_create(device, &l->queue, &error));
    for (int i = 0; i < LAYERS; i++) {
        l->problem[i] = gs_problem_make(GS_F16, GS_TN, m, n[i], k[i]);
        l->problem[i].alpha = i == 1 ? 1.0f / 64 : 1.0f / 32;   /* values stay about 1 */
        for (int j = 0; j < 2; j++) {
            gs_plan **const plan = j ? &l->plain[i] : &l->plan[i];
            if (schedule) OK(gs_plan_create_schedule(j ? plain : context, &l->problem[i], schedule, plan, &error));
            else OK(gs_plan_create(j ? plain : context, &l->problem[i], plan, &error));
        }
        l->weight[i] = random_operand(&l->problem[i], 'b', (uint64_t)i + 10);
    }
    for (int i = 0; i < 2; i++) l->x[i] = random_operand(&l->problem[0], 'a', (uint64_t)i + 1);
    l->bytes = gs_problem_bytes(&l->problem[2], 'd');
    OK(device->ops->alloc(device, gs_problem_bytes(&l->problem[0], 'd'), &l->h, &error));
    OK(device->ops->alloc(device, gs_problem_bytes(&l->problem[1], 'd'), &l->g, &error));
    for (int i = 0; i < 2; i++) OK(device->ops->alloc(device, l->bytes, &l->y[i], &error));
    l->relu.at = l->h;
    l->relu.count = (int)(m * WIDE);
    OK(device->ops->queue_wait(device, NULL, &error));
    l->sequence = build(l, context, l->plan, l->index);
    l->all_plain = build(l, plain, l->plain, ignored);
}

static void free_layers(layers *l)
{
    gs_sequence_destroy(&l->sequence);
    gs_sequence_destroy(&l->all_plain);
    for (int i = 0; i < LAYERS; i++) {
        gs_plan_destroy(&l->plan[i]);
        gs_plan_destroy(&l->plain[i]);
        device->ops->free(device, l->weight[i]);
    }
    const gs_pointer others[] = {l->x[0], l->x[1], l->h, l->g, l->y[0], l->y[1]};
    for (size_t i = 0; i < GS_COUNT(others); i++) device->ops->free(device, others[i]);
    device->ops->queue_destroy(device, l->queue);
    device->ops->unload(device, l->relu.module);
}

static void run_single(layers *l, int which)
{
    for (int i = 0; i < LAYERS; i++) {
        const gs_args args = args_of(l, i, which);
        OK(gs_plan_run(l->plain[i], &args, l->queue));
        if (i == 0) OK(run_relu(&l->relu, l->queue));
    }
}

static void clear(layers *l, int which) { OK(device->ops->fill(device, l->y[which], 0x7fff7fff, l->bytes, l->queue, &error)); }

static void read_y(layers *l, int which, char *out)
{
    OK(device->ops->queue_wait(device, l->queue, &error));
    OK(device->ops->copy_out(device, out, l->y[which], l->bytes, &error));
}

static void expect_y(layers *l, int which, const char *want, const char *what)
{
    char *const got = malloc(l->bytes);
    assert_non_null(got);
    read_y(l, which, got);
    const bool same = memcmp(want, got, l->bytes) == 0;
    free(got);
    if (!same) fail_msg("M = %lld, %s, %s: other bits than runs one by one", (long long)l->problem[0].m, gs_plan_schedule(l->plan[0]), what);
}

/* The chain's first and last member on the other operands, or back. */
static void turn(layers *l, int which)
{
    const gs_args first = args_of(l, 0, which), last = args_of(l, 2, which);
    OK(gs_sequence_set(l->sequence, l->index[0], &first, &error));
    OK(gs_sequence_set(l->sequence, l->index[2], &last, &error));
}

/* Every plan adds up in the same order each time. */
static bool is_repeatable(const layers *l)
{
    for (int i = 0; i < LAYERS; i++)
        for (int j = 0; j < 2; j++) {
            const gs_loaded *const loaded = gs_plan_loaded(j ? l->plain[i] : l->plan[i]);
            if (loaded && !gs_loaded_manifest(loaded)->bitwise) return false;
        }
    return true;
}

static void check_bits(layers *l)
{
    char *const want[2] = {malloc(l->bytes), malloc(l->bytes)};
    assert_true(want[0] && want[1]);
    for (int i = 0; i < 2; i++) {
        clear(l, i);
        run_single(l, i);
        read_y(l, i, want[i]);
        clear(l, i);
    }
    OK(gs_sequence_launch(l->sequence, l->queue));
    expect_y(l, 0, want[0], "captured");
    turn(l, 1);
    for (int i = 0; i < 3; i++) OK(gs_sequence_launch(l->sequence, l->queue));
    expect_y(l, 1, want[1], "changed");
    for (int i = 0; i < 2; i++) clear(l, i);
    for (int i = 0; i < 40; i++) {   /* nothing is waited for: each launch has the operands of its time */
        OK(gs_sequence_launch(l->sequence, l->queue));
        turn(l, i % 2);
    }
    expect_y(l, 0, want[0], "changed behind launches");
    expect_y(l, 1, want[1], "changed behind launches");
    turn(l, 0);
    clear(l, 0);
    OK(gs_sequence_launch(l->all_plain, l->queue));
    expect_y(l, 0, want[0], "plain");
    free(want[0]);
    free(want[1]);
}

static void layers_have_the_bits_of_single_runs(void **state)
{
    (void)state;
    static const char *const schedules[] = {NULL, "mma/64x64x64/w2x2/s3/g8", "ws/64x64x64/s4/c1x1/coop/g8", "ws/64x64x64/s4/c2x1/coop/g8", "simple", "cublaslt"};
    static const int64_t sizes[] = {1, 16, 100, 512};
    for (size_t i = 0; i < GS_COUNT(schedules); i++) {
        if (schedules[i] && strncmp(schedules[i], "ws", 2) == 0 && device->caps.cc != 90) continue;
        for (size_t j = 0; j < GS_COUNT(sizes); j++) {
            layers l;
            make_layers(&l, sizes[j], schedules[i]);
            if (is_repeatable(&l)) check_bits(&l);
            else printf("left out: M = %lld, a kernel whose sums have no fixed order\n", (long long)sizes[j]);
            assert_false(gs_sequence_dependent(l.sequence, l.index[0]));
            assert_false(gs_sequence_dependent(l.sequence, l.index[1]));   /* behind the caller's kernel */
            const bool own = strncmp(gs_plan_schedule(l.plan[1]), "cublaslt", 8) != 0 && strncmp(gs_plan_schedule(l.plan[2]), "cublaslt", 8) != 0;
            assert_int_equal(gs_sequence_dependent(l.sequence, l.index[2]), own && programmatic());
            assert_false(gs_sequence_dependent(l.all_plain, l.index[2]));
            free_layers(&l);
        }
    }
}

/* A member of two launches, and one with a workspace of the caller's own. */
static void kernels_of_several_launches(void **state)
{
    (void)state;
    static const struct { const char *schedule, *problem; } cases[] = {
        {"ws/128x128x64/s4/c1x1/coop/g8/pack", "f16:333x257x129:tn"}, {"splitk/64x64x64/s4/ab/c1x1/k8/fixed", "f16:64x64x4096:tn"}, {"mma/32x32x64/w2x2/s2/g1/k4", "f16:64x64x4096:tn"},
    };
    if (device->caps.cc != 90) skip();
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_problem p;
        gs_plan *plan;
        gs_sequence *sequence;
        gs_queue queue;
        gs_pointer a[2], b, d, workspace = 0;
        int index;
        OK(gs_problem_parse(&p, cases[i].problem, &error));
        const size_t bytes = gs_problem_bytes(&p, 'd');
        char *const want = malloc(bytes), *const got = malloc(bytes);
        assert_true(want && got);
        OK(device->ops->queue_create(device, &queue, &error));
        OK(gs_plan_create_schedule(context, &p, cases[i].schedule, &plan, &error));
        for (int j = 0; j < 2; j++) a[j] = random_operand(&p, 'a', (uint64_t)j + 1);
        b = random_operand(&p, 'b', 3);
        OK(device->ops->alloc(device, bytes, &d, &error));
        gs_args args = gs_args_make((void *)a[1], (void *)b, NULL, (void *)d);
        OK(device->ops->queue_wait(device, NULL, &error));
        OK(gs_plan_run(plan, &args, queue));
        OK(device->ops->queue_wait(device, queue, &error));
        OK(device->ops->copy_out(device, want, d, bytes, &error));
        args.a = (void *)a[0];
        OK(gs_sequence_create(context, &sequence, &error));
        OK(gs_sequence_add(sequence, plan, &args, &index, &error));
        OK(gs_sequence_build(sequence, &error));
        OK(gs_sequence_launch(sequence, queue));
        args.a = (void *)a[1];
        if (gs_plan_workspace(plan)) {
            OK(device->ops->alloc(device, gs_plan_workspace(plan), &workspace, &error));
            OK(device->ops->fill(device, workspace, 0, (gs_plan_workspace(plan) + 3) / 4 * 4, queue, &error));
            args.workspace = (void *)workspace;
        }
        OK(gs_sequence_set(sequence, index, &args, &error));
        for (int j = 0; j < 3; j++) OK(gs_sequence_launch(sequence, queue));
        OK(device->ops->queue_wait(device, queue, &error));
        OK(device->ops->copy_out(device, got, d, bytes, &error));
        if (memcmp(want, got, bytes) != 0) fail_msg("%s: other bits", cases[i].schedule);
        gs_sequence_destroy(&sequence);
        gs_plan_destroy(&plan);
        const gs_pointer all[] = {a[0], a[1], b, d, workspace};
        for (size_t j = 0; j < GS_COUNT(all); j++) device->ops->free(device, all[j]);
        device->ops->queue_destroy(device, queue);
        free(want);
        free(got);
    }
}

/* A stream that is being captured takes no sequence, and its capture goes on. */
static void captured_streams_are_spared(void **state)
{
    (void)state;
    layers l;
    gs_graph graph;
    make_layers(&l, 16, NULL);
    const gs_args args = args_of(&l, 0, 0);
    OK(device->ops->capture_begin(device, l.queue, &error));
    OK(gs_plan_run(l.plan[0], &args, l.queue));
    assert_int_equal(gs_sequence_launch(l.sequence, l.queue), GS_ERROR_ARGUMENT);
    OK(gs_plan_run(l.plan[0], &args, l.queue));
    OK(device->ops->capture_end(device, l.queue, &graph, &error));
    OK(device->ops->graph_launch(device, graph, l.queue, &error));
    OK(device->ops->queue_wait(device, l.queue, &error));
    device->ops->graph_destroy(device, graph);
    free_layers(&l);
}

/* ---- times ---- */

enum { SINGLE, PLAIN, SEQUENCE, CHANGED, WAYS, ROUNDS = 31, CHAINS = 20, BEFORE = 1 << 30 };

static const char *const way_names[WAYS] = {"single launches", "sequence, plain", "sequence", "sequence, first and last member set"};

static void issue(layers *l, int way, int chain)
{
    if (way == SINGLE) run_single(l, 0);
    else if (way == PLAIN) OK(gs_sequence_launch(l->all_plain, l->queue));
    else {
        if (way == CHANGED) turn(l, chain % 2);
        OK(gs_sequence_launch(l->sequence, l->queue));
    }
}

/* Behind a long fill, so that the device never waits for the host: host time of a chain, device time of a chain. */
static void measure(layers *l, gs_pointer large, int way, double *host_ns, double *device_us)
{
    gs_event start, end;
    OK(device->ops->event_create(device, &start, &error));
    OK(device->ops->event_create(device, &end, &error));
    OK(device->ops->fill(device, large, 0, BEFORE, l->queue, &error));
    OK(device->ops->event_record(device, start, l->queue, &error));
    const int64_t from = gs_clock_ns();
    for (int i = 0; i < CHAINS; i++) issue(l, way, i);
    const int64_t to = gs_clock_ns();
    OK(device->ops->event_record(device, end, l->queue, &error));
    OK(device->ops->event_us(device, start, end, device_us, &error));
    *host_ns = (double)(to - from) / CHAINS;
    *device_us /= CHAINS;
    device->ops->event_destroy(device, start);
    device->ops->event_destroy(device, end);
}

static void times(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 16, 64, 256, 1024};
    static double host[WAYS][ROUNDS], on_device[WAYS][ROUNDS];
    gs_pointer large;
    OK(device->ops->alloc(device, BEFORE, &large, &error));
    for (size_t i = 0; i < GS_COUNT(sizes); i++) {
        layers l;
        make_layers(&l, sizes[i], NULL);
        for (int way = 0; way < WAYS; way++) issue(&l, way, 0);   /* first runs allocate */
        OK(device->ops->queue_wait(device, l.queue, &error));
        const int before = allocations;
        for (int round = 0; round < ROUNDS; round++)
            for (int j = 0; j < WAYS; j++) {
                const int way = (j + round) % WAYS;
                measure(&l, large, way, &host[way][round], &on_device[way][round]);
            }
        assert_int_equal(allocations, before);
        double call[WAYS];
        for (int way = 0; way < WAYS; way++) {
            call[way] = gs_median(host[way], ROUNDS);
            printf("{\"chain\":\"%lldx4096x1024 relu %lldx1024x4096 %lldx1024x1024 f16 tn\",\"way\":\"%s\",\"call_ns\":%.0f,\"device_us\":%.3f,\"p5\":%.3f,\"p95\":%.3f,\"dependent\":%d,\"rounds\":%d,\"chains\":%d}\n",
                   (long long)sizes[i], (long long)sizes[i], (long long)sizes[i], way_names[way], call[way], gs_median(on_device[way], ROUNDS), gs_percentile(on_device[way], ROUNDS, 5),
                   gs_percentile(on_device[way], ROUNDS, 95), way >= SEQUENCE ? gs_sequence_dependent(l.sequence, l.index[2]) : 0, ROUNDS, CHAINS);
        }
        assert_true(call[SEQUENCE] < call[SINGLE]);
        free_layers(&l);
    }
    device->ops->free(device, large);
}

static gs_status open_both(void)
{
    gs_config config = gs_config_default();
    const gs_status status = gs_open(&context, &config, &error);
    config.dependent = -1;
    return status == GS_OK ? gs_open(&plain, &config, &error) : status;
}

int main(void)
{
    if (gs_device_open(&device, gs_device_gpu(), NULL, &error) != GS_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    if (gs_verifier_create(&verifier, device, &error) != GS_OK || open_both() != GS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_the_bits_of_single_runs), cmocka_unit_test(kernels_of_several_launches), cmocka_unit_test(captured_streams_are_spared), cmocka_unit_test(times),
    };
    const int failed = cmocka_run_group_tests_name("gpu/sequence", tests, NULL, NULL);
    gs_close(&context);
    gs_close(&plain);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return failed;
}
