/* SPDX-License-Identifier: MIT
 * Proves, on a GPU: the same kernel under two names is never told apart, cuBLASLt's suggestions all compute the problem,
 * auto-tuning is not slower than the first suggestion, and a contender that stops computing in timed runs is caught. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "baseline/baseline.h"
#include "bench/bench.h"
#include "cublas/library.h"

static gs_device   *device;
static gs_verifier *verifier;

static gs_bench_options quick(void)
{
    gs_bench_options options = gs_bench_defaults();
    options.seed = 42;
    options.budget_s = 3;
    return options;
}

static void must(gs_status status, const gs_error *error)
{
    if (status != GS_OK) fail_msg("%s: %s", gs_status_name(status), error->text);
}

/* First schedule of the time model for the problem. */
static void best_schedule(const gs_problem *problem, char text[GS_SCHEDULE_TEXT])
{
    gs_schedule schedule;
    assert_int_equal(gs_schedule_shortlist(problem, &device->caps, 0, &schedule, 1), 1);
    gs_schedule_format(&schedule, text);
}

static gs_contender own_contender(const gs_problem *problem)
{
    gs_error error = {0};
    gs_contender contender;
    char text[GS_SCHEDULE_TEXT];
    best_schedule(problem, text);
    must(gs_contender_schedule(&contender, device, text, &error), &error);
    must(contender.prepare(&contender, problem, &error), &error);
    return contender;
}

static void same_kernel_is_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:64x64x64:tn", "f16:256x512x1024:nn", "f16:1024x1024x1024:tn", "bf16:4096x4096x512:tn", "f16:8x4096x4096:tn"};
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        gs_error error = {0};
        gs_problem problem;
        must(gs_problem_parse(&problem, texts[i], &error), &error);
        const gs_problem problems[2] = {problem, problem};
        gs_contender pair[2] = {own_contender(&problem), own_contender(&problem)};
        const gs_bench_options options = quick();
        gs_measurement *measurement;
        must(gs_bench(device, verifier, problems, pair, 2, &options, &measurement, &error), &error);
        const gs_samples *const samples = measurement->samples;
        print_message("%s %s: %.3f us, ratio %.4f [%.4f, %.4f], %d sets, %d calls\n", texts[i], pair[0].name, samples[0].device_median,
                      samples[1].device.median, samples[1].device.low, samples[1].device.high, measurement->sets, measurement->calls);
        assert_int_equal(samples[0].status, GS_OK);
        assert_false(samples[0].wrong || samples[1].wrong);
        assert_int_equal(samples[1].device.verdict, GS_SAME);
        gs_measurement_destroy(&measurement);
        for (int j = 0; j < 2; j++) pair[j].destroy(&pair[j]);
    }
}

static void server_mode_serves(void **state)
{
    (void)state;
    gs_error error = {0};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 512, 512, 512);
    gs_contender contender = own_contender(&problem);
    gs_bench_options options = quick();
    options.mode = GS_MODE_SERVER;
    options.target_qps = 500;
    options.rounds = 100;
    gs_measurement *measurement;
    must(gs_bench(device, verifier, &problem, &contender, 1, &options, &measurement, &error), &error);
    const gs_samples *const samples = measurement->samples;
    assert_int_equal(samples->status, GS_OK);
    assert_false(samples->wrong);
    assert_true(samples->device_median > 0 && samples->call_p50 > samples->device_median);
    assert_true(samples->call_p50 <= samples->call_p95 && samples->call_p95 <= samples->call_p99);
    gs_measurement_destroy(&measurement);
    contender.destroy(&contender);
}

/* ---- cuBLAS ---- */

typedef struct indexed {
    gs_library *library;
    int         index;
} indexed;

static gs_status indexed_prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    indexed *const self = contender->self;
    gs_library_destroy(&self->library);
    GS_TRY(gs_library_create(&self->library, device, problem, error));
    return gs_library_choose(self->library, GS_MIN(self->index, gs_library_count(self->library) - 1));
}

static gs_status indexed_run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    return gs_library_run(((indexed *)contender->self)->library, args, queue, error);
}

static void suggestions_verify(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:256x192x512:nn", "f16:256x192x512:tn", "bf16:136x520x264:tn", "f16:256x256x256:tn:acc=f16", "f16:128x64x96:nn:b=3",
                                        "f16:128x256x64:tn:d=f32:beta=0.5"};
    if (gs_library_version(NULL) == 0) skip();
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        gs_error error = {0};
        gs_problem problem;
        must(gs_problem_parse(&problem, texts[i], &error), &error);
        indexed self = {0};
        gs_contender contender = {.self = &self, .bitwise = true, .prepare = indexed_prepare, .run = indexed_run};
        must(contender.prepare(&contender, &problem, &error), &error);
        const int count = gs_library_count(self.library);
        for (self.index = 0; self.index < count; self.index++) {
            gs_verdict verdict;
            const gs_verify_options options = {.parts = GS_PART_EXACT | GS_PART_NORMAL | GS_PART_MEMORY, .seed = 1};
            must(gs_verify(verifier, &contender, &problem, &options, &verdict, &error), &error);
            if (verdict.code != GS_VERDICT_PASS) {
                char text[160];
                gs_library_describe(self.library, text, sizeof text);
                fail_msg("%s, %s: %s", texts[i], text, verdict.reason);
            }
        }
        print_message("%s: %d suggestions\n", texts[i], count);
        gs_library_destroy(&self.library);
    }
}

static void baselines_agree(void **state)
{
    (void)state;
    if (gs_library_version(NULL) == 0) skip();
    gs_error error = {0};
    enum { ONE_PRODUCT = 3 };   /* the others are for groups */
    gs_contender list[2 * ONE_PRODUCT];
    gs_problem problems[2 * ONE_PRODUCT];
    for (int i = 0; i < 2 * ONE_PRODUCT; i++) {
        problems[i] = gs_problem_make(GS_F16, i < ONE_PRODUCT ? GS_TN : GS_NN, 512, 1024, 2048);
        must(gs_baseline_create(&list[i], device, gs_baseline_names[i % ONE_PRODUCT], gs_bench_pick, &error), &error);
        must(list[i].prepare(&list[i], &problems[i], &error), &error);
    }
    gs_bench_options options = quick();
    options.reference = 1;
    options.call_time = true;
    gs_measurement *measurement;
    must(gs_bench(device, verifier, problems, list, 2 * ONE_PRODUCT, &options, &measurement, &error), &error);
    for (int i = 0; i < 2 * ONE_PRODUCT; i++) {
        const gs_samples *const samples = &measurement->samples[i];
        print_message("%s %s: device %.2f us, call %.2f us, %s (%s)\n", i < ONE_PRODUCT ? "tn" : "nn", list[i].name, samples->device_median,
                      samples->call_median, gs_comparison_name(samples->device.verdict), list[i].detail);
        assert_int_equal(samples->status, GS_OK);
        assert_false(samples->wrong);
        list[i].destroy(&list[i]);
    }
    assert_int_not_equal(measurement->samples[2].device.verdict, GS_SLOWER);   /* auto-tuned against its own first suggestion */
    gs_measurement_destroy(&measurement);
}

/* ---- a cheat ---- */

typedef struct cheat {
    gs_contender honest;
    int          runs, honest_runs;
} cheat;

static gs_status cheat_run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    cheat *const self = contender->self;
    return self->runs++ < self->honest_runs ? self->honest.run(&self->honest, args, queue, error) : GS_OK;
}

static void cheat_is_caught(void **state)
{
    (void)state;
    gs_error error = {0};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 512, 512, 512);
    const gs_problem problems[2] = {problem, problem};
    cheat self = {.honest = own_contender(&problem), .honest_runs = 9};   /* up to the capture */
    gs_contender pair[2] = {own_contender(&problem), {.self = &self, .run = cheat_run}};
    snprintf(pair[1].name, sizeof pair[1].name, "cheat");
    const gs_bench_options options = quick();
    gs_measurement *measurement;
    must(gs_bench(device, verifier, problems, pair, 2, &options, &measurement, &error), &error);
    assert_false(measurement->samples[0].wrong);
    assert_true(measurement->samples[1].wrong);
    assert_int_equal(measurement->samples[1].device.verdict, GS_UNCLEAR);
    gs_measurement_destroy(&measurement);
    self.honest.destroy(&self.honest);
    pair[0].destroy(&pair[0]);
}

int main(void)
{
    gs_error error = {0};
    if (gs_device_open(&device, gs_device_gpu(), NULL, &error) != GS_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    if (gs_verifier_create(&verifier, device, &error) != GS_OK) {
        printf("verification cannot start: %s\n", error.text);
        gs_device_close(&device);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_kernel_is_the_same),
        cmocka_unit_test(server_mode_serves),
        cmocka_unit_test(suggestions_verify),
        cmocka_unit_test(baselines_agree),
        cmocka_unit_test(cheat_is_caught),
    };
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return failures ? 1 : 0;
}
