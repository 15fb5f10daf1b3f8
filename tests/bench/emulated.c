/* SPDX-License-Identifier: MIT
 * Timing and verification on an emulated device: one exact round, no call time, faults that cost only one contender or one verdict, and a device that can be used
 * afterwards. Skipped without NVRTC. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "bench/bench.h"
#include "loaded/loaded.h"
#include "operands/operands.h"

#define OK(call)                                                                        \
    do {                                                                                \
        if ((call) != GS_OK) fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, error.text); \
    } while (0)

static gs_device   *device;
static gs_verifier *verifier;

/* A contender whose kernel writes far behind D. */
typedef struct wild {
    gs_module   module;
    gs_function function;
} wild;

static gs_status prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    (void)contender, (void)problem, (void)error;
    return GS_OK;
}

static gs_status run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    const wild *const self = contender->self;
    void *d = args->d;
    const gs_launch launch = {.function = self->function, .grid = {1, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}, .params = (void *[]){&d}};
    return device->ops->launch(device, &launch, queue, error);
}

static void destroy(gs_contender *contender) { (void)contender; }

static gs_contender wild_contender(wild *self)
{
    gs_error error = {0};
    gs_image image;
    const gs_source source = {.name = "wild.cu", .text = "extern \"C\" __global__ void wild(short *d) { d[1 << 28] = 1; }\n"};
    OK(device->ops->compile(device, &source, &image, &error));
    OK(device->ops->load(device, &image, &self->module, &error));
    OK(device->ops->function(device, self->module, "wild", &self->function, NULL, &error));
    gs_image_free(&image);
    return (gs_contender){.name = "wild", .bitwise = true, .self = self, .prepare = prepare, .run = run, .destroy = destroy};
}

static void one_exact_round(void **state)
{
    (void)state;
    gs_error error = {0};
    wild self;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 48, 32), problems[] = {problem, problem, problem};
    gs_contender list[3];
    OK(gs_contender_schedule(&list[0], device, "simple", &error));
    list[1] = wild_contender(&self);
    OK(gs_contender_schedule(&list[2], device, "mma/64x64x64/w2x2/s2/g1", &error));
    OK(list[0].prepare(&list[0], &problem, &error));
    OK(list[2].prepare(&list[2], &problem, &error));
    gs_bench_options options = gs_bench_defaults();
    options.rounds = 30;
    options.call_time = true;
    options.seed = 3;
    double us[2] = {0};
    for (int again = 0; again < 2; again++) {
        gs_measurement *m;
        OK(gs_bench(device, verifier, problems, list, 3, &options, &m, &error));
        assert_true(m->predicted);
        assert_true(m->rounds == 1 && m->calls == 1 && m->sets == 1);
        assert_int_equal(m->before.sm_mhz, (int)device->caps.clock_mhz);
        const gs_samples *const simple = &m->samples[0], *const faulty = &m->samples[1], *const mma = &m->samples[2];
        assert_true(simple->status == GS_OK && !simple->wrong && simple->compare.mismatches == 0);
        assert_true(mma->status == GS_OK && !mma->wrong);
        assert_null(simple->call_us);
        assert_true(simple->device_median >= device->caps.launch_us && mma->device_median >= device->caps.launch_us);
        assert_true(mma->device.median == simple->device_median / mma->device_median && mma->device.low == mma->device.high);
        assert_int_equal(faulty->status, GS_ERROR_FAULT);
        assert_non_null(strstr(faulty->error.text, "wild.cu:1"));
        if (again) assert_true(simple->device_median == us[0] && mma->device_median == us[1]);
        us[0] = simple->device_median;
        us[1] = mma->device_median;
        gs_measurement_destroy(&m);
    }
    options.mode = GS_MODE_SERVER;
    gs_measurement *none;
    assert_int_equal(gs_bench(device, verifier, problems, list, 3, &options, &none, &error), GS_ERROR_UNSUPPORTED);
    list[0].destroy(&list[0]);
    list[2].destroy(&list[2]);
    device->ops->unload(device, self.module);
}

/* A kernel before the timed call adds its own time and changes nothing: inputs and sums are the same as without it. */
static void behind_an_elementwise_kernel(void **state)
{
    (void)state;
    gs_error error = {0};
    double us[2];
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 63, 48, 33);   /* 2079 elements of A, an odd number of 16-bit elements */
    gs_contender contender;
    OK(gs_contender_schedule(&contender, device, "simple", &error));
    OK(contender.prepare(&contender, &problem, &error));
    for (int behind = 0; behind < 2; behind++) {
        gs_bench_options options = gs_bench_defaults();
        options.seed = 3;
        options.behind = behind;
        gs_measurement *m;
        OK(gs_bench(device, verifier, &problem, &contender, 1, &options, &m, &error));
        assert_true(m->samples[0].status == GS_OK && !m->samples[0].wrong);
        us[behind] = m->samples[0].device_median;
        gs_measurement_destroy(&m);
    }
    assert_true(us[1] >= us[0] + device->caps.launch_us);
    contender.destroy(&contender);
}

static void passing_over_changes_nothing(void **state)
{
    (void)state;
    enum { UNITS = 1001 };
    gs_error error = {0};
    gs_pointer memory;
    uint16_t before[UNITS + 2], after[UNITS + 2];
    for (int i = 0; i < UNITS + 2; i++) before[i] = (uint16_t)(i * 40503);
    OK(device->ops->alloc(device, sizeof before, &memory, &error));
    OK(device->ops->copy_in(device, memory, before, sizeof before, &error));
    for (int from = 0; from < 2; from++) OK(gs_pass_over(verifier, memory + (gs_pointer)from * 2, UNITS * 2, NULL, &error));
    OK(device->ops->queue_wait(device, NULL, &error));
    OK(device->ops->copy_out(device, after, memory, sizeof after, &error));
    assert_memory_equal(before, after, sizeof before);
    device->ops->free(device, memory);
}

/* Contenders get arrays of pointers; this one's results are twice too large. */
static gs_status run_twice_as_large(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    static const float two = 2;
    gs_args with = *args;
    with.alpha = &two;
    return ((gs_contender *)contender->self)->run(contender->self, &with, queue, error);
}

static gs_status prepare_nothing(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    (void)contender, (void)problem, (void)error;
    return GS_OK;
}

static void pointers_to_matrices(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 24, 16, 32);
    problem.batch = 4;
    problem.matrices = GS_MATRICES_POINTERS;
    gs_problem across = problem;
    across.layout = GS_NN;
    across.ldb = 16;
    const gs_problem problems[] = {problem, problem, across};
    gs_contender list[3] = {0};
    OK(gs_contender_schedule(&list[0], device, "simple", &error));
    OK(gs_contender_schedule(&list[2], device, "simple", &error));
    OK(list[0].prepare(&list[0], &problem, &error));
    OK(list[2].prepare(&list[2], &across, &error));
    list[1] = (gs_contender){.name = "twice", .self = &list[0], .prepare = prepare_nothing, .run = run_twice_as_large};
    gs_bench_options options = gs_bench_defaults();
    options.seed = 5;
    gs_measurement *m;
    OK(gs_bench(device, verifier, problems, list, 3, &options, &m, &error));
    if (m->samples[0].status != GS_OK || m->samples[0].wrong) fail_msg("%s, %lld wrong", m->samples[0].error.text, (long long)m->samples[0].compare.mismatches);
    assert_true(m->samples[1].status == GS_OK && m->samples[1].wrong);
    assert_true(m->samples[1].compare.mismatches > 3 * 24 * 16);
    assert_true(m->samples[2].status == GS_OK && !m->samples[2].wrong);
    gs_measurement_destroy(&m);
    const gs_problem mixed[] = {problem, gs_problem_make(GS_F16, GS_TN, 24, 16, 32)};
    assert_int_equal(gs_bench(device, verifier, mixed, list, 2, &options, &m, &error), GS_ERROR_ARGUMENT);
    list[0].destroy(&list[0]);
    list[2].destroy(&list[2]);
}

/* A contender that writes only one half of each row of aux, with a product of its own. */
typedef struct half_done {
    gs_contender *of, *half;
    gs_problem    problem;
    gs_pointer    room;     /* as large as aux */
    bool          second;   /* writes the second half */
} half_done;

static gs_status run_half(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    const half_done *const self = contender->self;
    const int64_t n = self->second ? self->problem.n : 0;
    gs_args with = *args;
    with.aux = (void *)(uintptr_t)self->room;
    GS_TRY(self->of->run(self->of, &with, queue, error));
    with.b = (const char *)args->b + n * self->problem.ldb * 2;
    with.bias = (const char *)args->bias + n * 2;
    with.d = (char *)args->aux + n * 2;
    return self->half->run(self->half, &with, queue, error);
}

/* The result is right, but it writes behind aux, where samples do not look. */
static gs_status run_beside(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    const half_done *const self = contender->self;
    GS_TRY(self->of->run(self->of, args, queue, error));
    return device->ops->fill(device, (gs_pointer)(uintptr_t)args->aux + (gs_problem_bytes(&self->problem, 'g') + 3) / 4 * 4, 0, 4, queue, error);
}

/* Times the contenders and expects that only the first is right. as_gpu: times as on a GPU, where outputs are checked after each replay. */
static void first_alone_is_right(const gs_problem *problem, gs_contender *list, int count, bool as_gpu, const char *text)
{
    gs_error error = {0};
    const gs_problem problems[] = {*problem, *problem, *problem, *problem};
    gs_bench_options options = gs_bench_defaults();
    options.seed = 7;
    options.rounds = 2;
    options.warmup_s = 0;
    gs_measurement *m;
    const gs_caps caps = device->caps;
    device->caps.emulated = !as_gpu;
    device->caps.l2_bytes = 8192;
    device->caps.launch_us = 60;   /* few calls in a replay, hence few sets */
    OK(gs_bench(device, verifier, problems, list, count, &options, &m, &error));
    device->caps = caps;
    for (int i = 0; i < count; i++)
        if (m->samples[i].status != GS_OK || m->samples[i].wrong != (i > 0)) fail_msg("%s, %d: %s, %lld wrong", text, i, m->samples[i].error.text, (long long)m->samples[i].compare.mismatches);
    gs_measurement_destroy(&m);
}

static void aux_of_a_gate_is_looked_at(void **state)
{
    (void)state;
    static const char text[] = "f16:24x16x32:tn:ldaux=40:ep=bias+silu+gate+aux";
    gs_error error = {0};
    gs_problem problem, half;
    gs_contender list[4] = {0}, part;
    half_done of[2];
    OK(gs_problem_parse(&problem, text, &error));
    OK(gs_problem_parse(&half, "f16:24x16x32:tn:ldd=40:ep=bias", &error));
    OK(gs_contender_schedule(&list[0], device, "simple", &error));
    OK(gs_contender_schedule(&part, device, "simple", &error));
    OK(list[0].prepare(&list[0], &problem, &error));
    OK(part.prepare(&part, &half, &error));
    for (int i = 0; i < 2; i++) {
        of[i] = (half_done){.of = &list[0], .half = &part, .problem = problem, .second = i};
        OK(device->ops->alloc(device, gs_problem_bytes(&problem, 'g'), &of[i].room, &error));
        list[1 + i] = (gs_contender){.name = "half", .self = &of[i], .prepare = prepare_nothing, .run = run_half};
    }
    list[3] = (gs_contender){.name = "beside", .self = &of[0], .prepare = prepare_nothing, .run = run_beside};
    first_alone_is_right(&problem, list, 4, true, text);
    first_alone_is_right(&problem, list, 3, false, text);
    for (int i = 0; i < 2; i++) device->ops->free(device, of[i].room);
    list[0].destroy(&list[0]);
    part.destroy(&part);
}

/* Writes the bias gradient to other memory. */
static gs_status run_elsewhere(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    const half_done *const self = contender->self;
    gs_args with = *args;
    with.bias = (const void *)(uintptr_t)self->room;
    return self->of->run(self->of, &with, queue, error);
}

/* Each group has its own sums; rows of no group do not count. */
static void sums_of_groups_are_looked_at(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:24x16x32:tn:g=3:ep=dbias", "bf16:24x16x32:tn:gm=4:ep=drelu+dbias"};
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        gs_error error = {0};
        gs_problem problem;
        gs_contender list[2] = {0};
        half_done of = {.of = &list[0]};
        OK(gs_problem_parse(&problem, texts[i], &error));
        OK(gs_contender_schedule(&list[0], device, "simple", &error));
        OK(list[0].prepare(&list[0], &problem, &error));
        OK(device->ops->alloc(device, gs_problem_bytes(&problem, 'e'), &of.room, &error));
        list[1] = (gs_contender){.name = "elsewhere", .self = &of, .prepare = prepare_nothing, .run = run_elsewhere};
        first_alone_is_right(&problem, list, 2, true, texts[i]);
        first_alone_is_right(&problem, list, 2, false, texts[i]);
        device->ops->free(device, of.room);
        list[0].destroy(&list[0]);
    }
}

static void a_finding_is_a_verdict(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_verdict verdict;
    wild self;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 16, 16, 16);
    gs_contender contender = wild_contender(&self), good;
    OK(gs_verify(verifier, &contender, &problem, &(gs_verify_options){.parts = GS_PART_EXACT, .seed = 1}, &verdict, &error));
    assert_int_equal(verdict.code, GS_VERDICT_FAULT);
    assert_non_null(strstr(verdict.reason, "out-of-bounds"));
    device->ops->unload(device, self.module);
    OK(gs_contender_schedule(&good, device, "simple", &error));   /* on the same device with the same verifier */
    OK(gs_verify(verifier, &good, &problem, &(gs_verify_options){.parts = GS_PART_EXACT | GS_PART_MEMORY, .seed = 1}, &verdict, &error));
    if (verdict.code != GS_VERDICT_PASS) fail_msg("%s: %s", gs_verdict_name(verdict.code), verdict.reason);
    good.destroy(&good);
}

/* ---- the reference of timing ---- */

enum { M = 64, N = 48, K = 32, SEARCHED = 4 << 20 };

static const gs_device_ops *real;    /* the device's original functions */
static gs_args              peeped;  /* arguments of the timed call */
static int                  searches, found;

/* Searches device memory around A for the right result as f64 when a timed graph starts. */
static gs_status search_launch(gs_device *on, gs_graph graph, gs_queue queue, gs_error *error)
{
    static uint16_t a[M * K], b[N * K];
    static double right[M * N];
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, M, N, K);
    GS_TRY(real->copy_out(on, a, (gs_pointer)(uintptr_t)peeped.a, sizeof a, error));
    GS_TRY(real->copy_out(on, b, (gs_pointer)(uintptr_t)peeped.b, sizeof b, error));
    gs_reference_cpu(&problem, a, b, NULL, right);
    for (gs_pointer at = ((gs_pointer)(uintptr_t)peeped.a - SEARCHED) / 256 * 256; at < (gs_pointer)(uintptr_t)peeped.a + SEARCHED; at += 256) {
        double value[2];
        gs_error nothing;
        if (real->copy_out(on, value, at, sizeof value, &nothing) != GS_OK) continue;
        found += fabs(value[0] - right[0]) < 1e-9 && fabs(value[1] - right[1]) < 1e-9;
    }
    searches++;
    return real->graph_launch(on, graph, queue, error);
}

/* Copies D from before A, where references of timing once lay. */
static gs_status peep_run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    const wild *const self = contender->self;
    peeped = *args;
    void *d = args->d;
    const double *from = (const double *)((uintptr_t)args->a - 4096 - (M * N * sizeof(double) + 255) / 256 * 256);
    const gs_launch launch = {.function = self->function, .grid = {12, 1, 1}, .block = {256, 1, 1}, .cluster = {1, 1, 1}, .params = (void *[]){&d, &from}};
    return device->ops->launch(device, &launch, queue, error);
}

static void the_reference_is_out_of_reach(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_image image;
    gs_measurement *m;
    wild self;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, M, N, K), problems[] = {problem, problem};
    const gs_source source = {.name = "peep.cu", .text = "#include \"common/convert.cuh\"\n"
        "extern \"C\" __global__ void peep(unsigned short *d, const double *from)\n"
        "{ const int i = blockIdx.x * 256 + threadIdx.x; d[i] = gs_f32_to_f16((float)from[i]); }\n"};
    gs_kernel kernel = {.name = "peep.cu", .source = source.text};
    gs_kernel_source whole;
    gs_kernel_to_source(&kernel, &whole);
    OK(device->ops->compile(device, &whole.source, &image, &error));
    OK(device->ops->load(device, &image, &self.module, &error));
    OK(device->ops->function(device, self.module, "peep", &self.function, NULL, &error));
    gs_image_free(&image);
    gs_contender list[2] = {{.name = "peep", .self = &self, .prepare = prepare, .run = peep_run, .destroy = destroy}};
    OK(gs_contender_schedule(&list[1], device, "simple", &error));
    OK(list[1].prepare(&list[1], &problem, &error));
    gs_device_ops searching = *(real = device->ops);
    searching.graph_launch = search_launch;
    device->ops = &searching;
    const gs_status status = gs_bench(device, verifier, problems, list, 2, NULL, &m, &error);
    device->ops = real;
    OK(status);
    assert_true(searches == 2 && found == 0);
    assert_int_equal(m->samples[0].status, GS_ERROR_FAULT);
    assert_true(m->samples[1].status == GS_OK && !m->samples[1].wrong);
    gs_measurement_destroy(&m);
    list[1].destroy(&list[1]);
    device->ops->unload(device, self.module);
}

/* ---- verification and timing give a kernel the same environment ---- */

enum { SEEDS = 6, DISTANCES = 3 };

/* For calls of the timed size: the distances of B, C and D from A, and the values in C and D. */
typedef struct seen {
    int64_t  least[DISTANCES], most[DISTANCES];
    int      calls;
    uint32_t d;                      /* poison in D, if there was any */
    bool     c_nan, c_number;
} seen;

static gs_contender honest;          /* the contender that computes */
static seen        *now;
static gs_problem   timed, given;    /* timed: the timed problem; given: the problem prepared last */

static gs_status watch_prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    (void)contender;
    if (memcmp(&given, problem, sizeof given) == 0) return GS_OK;   /* already compiled */
    given = *problem;
    return honest.prepare(&honest, problem, error);
}

static void look_at_values(const gs_args *args)
{
    gs_error error = {0};
    uint16_t c;
    uint32_t d;
    OK(device->ops->copy_out(device, &c, (gs_pointer)(uintptr_t)args->c, sizeof c, &error));
    OK(device->ops->copy_out(device, &d, (gs_pointer)(uintptr_t)args->d, sizeof d, &error));
    const bool nan = (c & 0x7c00) == 0x7c00 && (c & 0x3ff) != 0;
    now->c_nan |= nan;
    now->c_number |= !nan;
    if ((d & 0x7c00) == 0x7c00 && (d & 0x3ff) != 0 && now->d != GS_POISON_FIRST) now->d = d;
}

static gs_status watch_run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    (void)contender;
    if (given.m == timed.m && given.n == timed.n && given.k == timed.k && given.beta == timed.beta && (args->c || timed.beta != 0)) {   /* without a C verification passes NULL half of the time */
        const void *const at[DISTANCES] = {args->b, args->c, args->d};
        for (int i = 0; i < DISTANCES; i++) {
            const int64_t distance = (int64_t)(uintptr_t)at[i] - (int64_t)(uintptr_t)args->a;
            if (!at[i] || distance == 0 || (uintptr_t)at[i] % 256 != 0) fail_msg("operand %d is at %p, A at %p", i + 1, at[i], args->a);
            now->least[i] = now->calls ? GS_MIN(now->least[i], distance) : distance;
            now->most[i] = now->calls ? GS_MAX(now->most[i], distance) : distance;
        }
        assert_ptr_not_equal(args->c, args->d);
        look_at_values(args);
        now->calls++;
    }
    return honest.run(&honest, args, queue, error);
}

static void see_both(gs_contender *watched, seen *proof, seen *timing)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        gs_error error = {0};
        gs_verdict verdict;
        gs_measurement *m;
        const gs_verify_options options = {.parts = GS_PART_NORMAL, .seed = seed};
        gs_bench_options bench = gs_bench_defaults();
        bench.seed = seed;
        bench.rounds = 2;
        bench.replay_us = 1;
        bench.warmup_s = 0;
        now = proof;
        OK(gs_verify(verifier, watched, &timed, &options, &verdict, &error));
        if (verdict.code != GS_VERDICT_PASS) fail_msg("%s", verdict.reason);
        now = timing;
        OK(watched->prepare(watched, &timed, &error));
        OK(gs_bench(device, verifier, &timed, watched, 1, &bench, &m, &error));
        assert_true(m->samples[0].status == GS_OK && !m->samples[0].wrong);
        gs_measurement_destroy(&m);
    }
}

/* Runs twice; the second time the device claims to be a GPU, so that many operand sets and replays are used. */
static void a_kernel_cannot_tell_proof_from_timing(void **state)
{
    (void)state;
    gs_error error = {0};
    const gs_caps caps = device->caps;
    OK(gs_contender_schedule(&honest, device, "simple", &error));
    gs_contender watched = honest;
    watched.prepare = watch_prepare;
    watched.run = watch_run;
    for (int gpu = 0; gpu < 2; gpu++)
        for (int beta = 0; beta < 2; beta++) {
            seen proof = {.calls = 0}, timing = {.calls = 0};
            timed = gs_problem_make(GS_F16, GS_TN, 24, 40, 16);
            timed.beta = (float)beta;
            device->caps.emulated = !gpu;
            if (gpu) {
                device->caps.l2_bytes = 8192;
                device->caps.launch_us = 60;   /* few calls in a replay, hence few sets */
            }
            see_both(&watched, &proof, &timing);
            device->caps = caps;
            given = (gs_problem){.m = 0};
            assert_true(proof.calls >= SEEDS / 2 && timing.calls >= SEEDS);
            for (int i = 0; i < DISTANCES; i++)
                if (proof.least[i] > timing.most[i] || timing.least[i] > proof.most[i] || proof.least[i] == proof.most[i])
                    fail_msg("gpu %d, beta %d, operand %d: %lld to %lld behind A in proof, %lld to %lld in timing", gpu, beta, i + 1, (long long)proof.least[i],
                             (long long)proof.most[i], (long long)timing.least[i], (long long)timing.most[i]);
            assert_true(proof.c_nan == !beta && timing.c_nan == !beta && proof.c_number == beta && timing.c_number == beta);
            assert_true(gpu || timing.d == 0 || timing.d == proof.d);
        }
    honest.destroy(&honest);
}

/* ---- groups ---- */

enum { GROUPS = 8, ROWS = 96 };

static int32_t told[GROUPS + 1];
static int     tellings;

static gs_status hear(gs_contender *contender, const gs_args *args, const int32_t *offsets, int sets, gs_error *error)
{
    (void)contender;
    int32_t there[GROUPS + 1];
    for (int set = 0; set < sets; set++) {
        GS_TRY(device->ops->copy_out(device, there, (gs_pointer)(uintptr_t)args[set].offsets, sizeof there, error));
        assert_memory_equal(there, offsets + set * (GROUPS + 1), sizeof there);
        assert_true(there[0] == 0 && there[GROUPS] == ROWS);
    }
    memcpy(told, offsets, sizeof told);
    tellings++;
    return GS_OK;
}

static gs_status deaf(gs_contender *contender, const gs_args *args, const int32_t *offsets, int sets, gs_error *error)
{
    (void)contender, (void)args, (void)offsets, (void)sets;
    return gs_fail(error, GS_ERROR_UNSUPPORTED, "g", "no");
}

/* Contenders that ask for it are told the offsets in device memory before anything runs. The routing is the requested one, and the same in every run. */
static void groups_are_told(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, ROWS, 24, 16);
    problem.groups = GROUPS;
    const gs_problem problems[] = {problem, problem};
    gs_contender list[2];
    int32_t first[2][GROUPS + 1];
    for (int i = 0; i < 2; i++) {
        OK(gs_contender_schedule(&list[i], device, "simple", &error));
        OK(list[i].prepare(&list[i], &problem, &error));
        list[i].expect = i ? deaf : hear;
    }
    for (int run = 0; run < 4; run++) {
        gs_bench_options options = gs_bench_defaults();
        gs_measurement *m;
        options.routing = run < 2 ? GS_ROUTING_EVEN : GS_ROUTING_SKEWED;
        OK(gs_bench(device, verifier, problems, list, 2, &options, &m, &error));
        assert_int_equal(tellings, run + 1);
        assert_true(m->samples[0].status == GS_OK && !m->samples[0].wrong && m->samples[0].device_median > 0);
        assert_int_equal(m->samples[1].status, GS_ERROR_UNSUPPORTED);   /* only this contender fails */
        gs_measurement_destroy(&m);
        if (run % 2) assert_memory_equal(first[run / 2], told, sizeof told);
        memcpy(first[run / 2], told, sizeof told);
    }
    assert_true(first[1][1] > ROWS / 3 && first[0][1] < ROWS / 3);   /* half of the rows go to the first eighth of the groups */
    for (int i = 0; i < 2; i++) list[i].destroy(&list[i]);
}

int main(void)
{
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    if (gs_device_open(&device, "emu:h200", "", &error) != GS_OK || gs_verifier_create(&verifier, device, &error) != GS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_exact_round), cmocka_unit_test(behind_an_elementwise_kernel), cmocka_unit_test(passing_over_changes_nothing),
                                       cmocka_unit_test(pointers_to_matrices), cmocka_unit_test(aux_of_a_gate_is_looked_at), cmocka_unit_test(sums_of_groups_are_looked_at), cmocka_unit_test(a_finding_is_a_verdict), cmocka_unit_test(the_reference_is_out_of_reach),
                                       cmocka_unit_test(a_kernel_cannot_tell_proof_from_timing), cmocka_unit_test(groups_are_told)};
    const int failed = cmocka_run_group_tests_name("bench/emulated", tests, NULL, NULL);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return failed;
}
