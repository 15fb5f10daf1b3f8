/* SPDX-License-Identifier: MIT
 * Proves that timing and verification on an emulated device are what they should be there: one exact round, no call time, faults that
 * cost one contender and one verdict, and a device that goes on. Without NVRTC all of it is skipped. */
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

#define OK(call)                                                                        \
    do {                                                                                \
        if ((call) != GS_OK) fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, error.text); \
    } while (0)

static gs_device   *device;
static gs_verifier *verifier;

/* A kernel that writes far behind D, as a contender. */
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
    OK(gs_contender_schedule(&good, device, "simple", &error));   /* the same device, the same verifier */
    OK(gs_verify(verifier, &good, &problem, &(gs_verify_options){.parts = GS_PART_EXACT | GS_PART_MEMORY, .seed = 1}, &verdict, &error));
    if (verdict.code != GS_VERDICT_PASS) fail_msg("%s: %s", gs_verdict_name(verdict.code), verdict.reason);
    good.destroy(&good);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_exact_round), cmocka_unit_test(a_finding_is_a_verdict)};
    const int failed = cmocka_run_group_tests_name("unit/emu_bench", tests, NULL, NULL);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return failed;
}
