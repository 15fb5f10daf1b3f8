/* SPDX-License-Identifier: MIT
 * Proves on a GPU that verification sees through every wrong kernel and passes honest ones, that the simple family is right, and
 * that the GPU's f64 reference, generator and comparison agree with the host's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "common/datagen.h"
#include "gpu/wrong.h"
#include "loaded/contender.h"
#include "operands/data.h"

static gs_device   *device;
static gs_verifier *verifier;

static void check(gs_status status, const gs_error *error)
{
    char text[512];
    if (status != GS_OK) fail_msg("%s", gs_error_format(error, text, sizeof text));
}

static gs_verdict verdict_of(gs_contender *contender, const gs_problem *problem, const gs_verify_options *options)
{
    gs_verdict verdict;
    gs_error error = {0};
    check(gs_verify(verifier, contender, problem, options, &verdict, &error), &error);
    return verdict;
}

static void every_wrong_kernel_gets_its_verdict(void **state)
{
    (void)state;
    int missed = 0;
    for (size_t i = 0; i < GS_COUNT(wrongs); i++)
        for (int layout = GS_NN; layout <= GS_TN; layout++) {
            const wrong_case *const w = &wrongs[i];
            const gs_problem problem = wrong_problem((gs_layout)layout);
            gs_kernel kernel;
            gs_error error = {0};
            check(wrong_kernel(w, (gs_layout)layout, &kernel, &error), &error);
            gs_contender contender;
            check(gs_contender_kernel_own(&contender, device, w->name, &kernel, &error), &error);
            const gs_verdict verdict = verdict_of(&contender, &problem, NULL);
            contender.destroy(&contender);
            if (wrong_accepts(w, verdict.code)) continue;
            print_message("%s (%s): %s, part %d, %s: %s\n", w->name, layout ? "tn" : "nn", gs_verdict_name(verdict.code), verdict.part, verdict.problem, verdict.reason);
            missed++;
        }
    assert_int_equal(missed, 0);
}

static void simple_passes(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "f16:256x192x320:tn", "f16:256x192x320:nn", "f16:257x129x511:tn:acc=f16", "f16:64x64x4096:nn:acc=f16", "bf16:130x70x1000:tn", "bf16:130x70x1000:nn:d=f32",
        "f16:200x264x520:nn:d=f32:alpha=0.3:beta=0.7", "f16:128x128x64:tn:alpha=0.5:beta=-1.5", "f16:33x65x97:tn:lda=101:ldb=103:ldc=67:ldd=71:b=3", "f16:1x4096x4096:tn",
        "f16:64x64x0:tn:beta=2", "f16:0x64x64:tn", "f16:512x512x16384:tn",
    };
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        gs_problem problem;
        gs_error error = {0};
        check(gs_problem_parse(&problem, problems[i], &error), &error);
        gs_contender contender;
        check(gs_contender_schedule(&contender, device, "simple", &error), &error);
        const gs_verdict verdict = verdict_of(&contender, &problem, NULL);
        contender.destroy(&contender);
        if (verdict.code != GS_VERDICT_PASS) fail_msg("%s: %s, part %d, %s: %s", problems[i], gs_verdict_name(verdict.code), verdict.part, verdict.problem, verdict.reason);
    }
}

/* A refusal of the main problem is no failure of the machine. */
static void refused_problems_are_unsupported(void **state)
{
    (void)state;
    gs_contender contender;
    gs_error error = {0};
    check(gs_contender_schedule(&contender, device, "ws/128x256x64/s4/c1x1/coop/g8", &error), &error);
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 63);   /* rows that no tensor map can have */
    assert_int_equal(verdict_of(&contender, &problem, NULL).code, GS_VERDICT_UNSUPPORTED);
    contender.destroy(&contender);
}

/* Device memory of an operand, read back. */
static void *read_back(gs_pointer from, size_t bytes)
{
    gs_error error = {0};
    void *const copy = malloc(bytes);
    assert_non_null(copy);
    check(device->ops->copy_out(device, copy, from, bytes, &error), &error);
    return copy;
}

static gs_pointer device_memory(size_t bytes)
{
    gs_pointer pointer;
    gs_error error = {0};
    check(device->ops->alloc(device, bytes, &pointer, &error), &error);
    return pointer;
}

static void reference_and_generator_agree_with_the_host(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "f16:70x90x133:tn:lda=140:ldb=150:beta=0.5:alpha=1.25", "bf16:65x33x64:nn:b=2:d=f32:beta=1", "f16:1x1x1:nn", "bf16:129x64x40:tn",
        "bf16:9x8x16:tn:b=3:ep=bias:se=16", "bf16:9x8x16:tn:b=3:sa=160:sb=144",   /* one kernel for the first would not heed the strides of the second */
    };
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        gs_problem p;
        gs_error error = {0};
        check(gs_problem_parse(&p, problems[i], &error), &error);
        gs_pointer operand[3];
        void *host[3];
        for (int o = 0; o < 3; o++) {
            const size_t bytes = gs_problem_bytes(&p, (char)('a' + o));
            operand[o] = device_memory(bytes);
            check(gs_generate(verifier, &p, (char)('a' + o), GS_DATA_INTEGER, 42, operand[o], NULL, &error), &error);
            check(device->ops->queue_wait(device, NULL, &error), &error);
            host[o] = read_back(operand[o], bytes);
        }
        /* A as the host generates it, and what it has behind the rows: a number, beside integers */
        const gs_datagen g = gs_datagen_make(&p, 'a', GS_VALUES_INTEGER, 42);
        for (int64_t row = 0; row < p.m; row++)
            for (int64_t col = 0; col < (row < p.m - 1 ? p.lda : p.k); col++) {
                const uint16_t bits = ((const uint16_t *)host[0])[row * p.lda + col];
                const float got = p.in == GS_F16 ? gs_f16_to_f32(bits) : gs_bf16_to_f32(bits);
                if (got != (col < p.k ? gs_value(&g, 0, row, col) : gs_between_rows(&g))) fail_msg("%s: A(%lld, %lld) is %g", problems[i], (long long)row, (long long)col, (double)got);
            }
        const size_t elements = (size_t)(p.m * p.n * p.batch);
        const gs_pointer out = device_memory(elements * sizeof(double));
        check(gs_reference(verifier, &p, operand[0], operand[1], operand[2], out, NULL, &error), &error);
        check(device->ops->queue_wait(device, NULL, &error), &error);
        double *const theirs = read_back(out, elements * sizeof(double)), *const ours = malloc(elements * sizeof(double));
        assert_non_null(ours);
        gs_reference_cpu(&p, host[0], host[1], host[2], ours);
        for (size_t e = 0; e < elements; e++)
            if (ours[e] != theirs[e]) fail_msg("%s: element %zu is %.17g, on the host %.17g", problems[i], e, theirs[e], ours[e]);
        free(ours);
        free(theirs);
        device->ops->free(device, out);
        for (int o = 0; o < 3; o++) {
            free(host[o]);
            device->ops->free(device, operand[o]);
        }
    }
}

/* nn and tn hold the same matrix. */
static void layouts_hold_the_same_matrix(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_problem nn = gs_problem_make(GS_F16, GS_NN, 8, 37, 53), tn = gs_problem_make(GS_F16, GS_TN, 8, 37, 53);
    uint16_t *b[2];
    for (int i = 0; i < 2; i++) {
        const gs_problem *const p = i ? &tn : &nn;
        const gs_pointer at = device_memory(gs_problem_bytes(p, 'b'));
        check(gs_generate(verifier, p, 'b', GS_DATA_NORMAL, 3, at, NULL, &error), &error);
        check(device->ops->queue_wait(device, NULL, &error), &error);
        b[i] = read_back(at, gs_problem_bytes(p, 'b'));
        device->ops->free(device, at);
    }
    for (int k = 0; k < 53; k++)
        for (int n = 0; n < 37; n++) assert_int_equal(b[0][k * 37 + n], b[1][n * 53 + k]);
    free(b[0]);
    free(b[1]);
}

/* One changed bit in one element is found, and located. */
static void comparison_finds_one_bit(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_problem p = gs_problem_make(GS_F16, GS_TN, 100, 60, 64);
    p.ldd = 64;
    const gs_pointer a = device_memory(gs_problem_bytes(&p, 'a')), b = device_memory(gs_problem_bytes(&p, 'b')), d = device_memory(gs_problem_bytes(&p, 'd'));
    const gs_pointer reference = device_memory(100 * 60 * sizeof(double));
    check(gs_generate(verifier, &p, 'a', GS_DATA_INTEGER, 8, a, NULL, &error), &error);
    check(gs_generate(verifier, &p, 'b', GS_DATA_INTEGER, 8, b, NULL, &error), &error);
    check(gs_reference(verifier, &p, a, b, 0, reference, NULL, &error), &error);
    gs_contender contender;
    check(gs_contender_schedule(&contender, device, "simple", &error), &error);
    check(contender.prepare(&contender, &p, &error), &error);
    check(contender.run(&contender, &(gs_args){.a = (void *)(uintptr_t)a, .b = (void *)(uintptr_t)b, .d = (void *)(uintptr_t)d}, NULL, &error), &error);
    gs_compare compare;
    check(gs_compare_reference(verifier, &p, &(gs_args){.d = (void *)(uintptr_t)d}, reference, 0, &compare, NULL, &error), &error);
    assert_int_equal(compare.mismatches, 0);
    uint16_t bits;
    const gs_pointer victim = d + (77 * 64 + 59) * 2;
    check(device->ops->copy_out(device, &bits, victim, 2, &error), &error);
    bits ^= 1;
    check(device->ops->copy_in(device, victim, &bits, 2, &error), &error);
    check(gs_compare_reference(verifier, &p, &(gs_args){.d = (void *)(uintptr_t)d}, reference, 0, &compare, NULL, &error), &error);
    assert_int_equal(compare.mismatches, 1);
    assert_int_equal(compare.row, 77);
    assert_int_equal(compare.col, 59);
    assert_true(compare.got == (double)gs_f16_to_f32(bits) && compare.got != compare.want);
    contender.destroy(&contender);
    device->ops->free(device, a);
    device->ops->free(device, b);
    device->ops->free(device, d);
    device->ops->free(device, reference);
}

/* A seed gives the same verdict and error again, another seed other data. */
static void seeds_repeat(void **state)
{
    (void)state;
    gs_contender contender;
    gs_error error = {0};
    check(gs_contender_schedule(&contender, device, "simple", &error), &error);
    const gs_problem p = gs_problem_make(GS_F16, GS_TN, 128, 128, 128);
    const gs_verdict first = verdict_of(&contender, &p, &(gs_verify_options){.parts = GS_PART_NORMAL, .seed = 5});
    const gs_verdict again = verdict_of(&contender, &p, &(gs_verify_options){.parts = GS_PART_NORMAL, .seed = 5});
    const gs_verdict other = verdict_of(&contender, &p, &(gs_verify_options){.parts = GS_PART_NORMAL, .seed = 6});
    contender.destroy(&contender);
    assert_true(first.code == GS_VERDICT_PASS && other.code == GS_VERDICT_PASS);
    assert_true(fabs(first.error - again.error) <= 1e-9 * first.error);   /* the order of the comparison's own sums is free */
    assert_true(fabs(first.error - other.error) > 1e-7 * first.error);
}

int main(void)
{
    gs_error error = {0};
    char text[512];
    gs_status status = gs_device_open(&device, gs_device_gpu(), NULL, &error);
    if (status == GS_ERROR_NO_DRIVER || status == GS_ERROR_NO_DEVICE || status == GS_ERROR_DRIVER_TOO_OLD) {
        print_message("skipped: %s\n", gs_error_format(&error, text, sizeof text));
        return 77;
    }
    if (status == GS_OK) status = gs_verifier_create(&verifier, device, &error);
    if (status != GS_OK) {
        print_error("%s\n", gs_error_format(&error, text, sizeof text));
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_and_generator_agree_with_the_host),
        cmocka_unit_test(layouts_hold_the_same_matrix),
        cmocka_unit_test(comparison_finds_one_bit),
        cmocka_unit_test(simple_passes),
        cmocka_unit_test(refused_problems_are_unsupported),
        cmocka_unit_test(seeds_repeat),
        cmocka_unit_test(every_wrong_kernel_gets_its_verdict),
    };
    const int failed = cmocka_run_group_tests_name("verify", tests, NULL, NULL);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return failed;
}
