/* SPDX-License-Identifier: MIT
 * Pointers with the alignment of one element, on the emulated device: the kernel is chosen as for odd leading dimensions but run with the real ones, which are constants
 * in a schedule with fixed sizes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "device/device.h"
#include "plan/plan_internal.h"
#include "verify/verify.h"

static gs_context  *context;
static gs_device   *device;
static gs_verifier *verifier;
static gs_error     error;

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

/* Runs the plan on operands one element behind a multiple of 256 bytes. */
static void multiply(const gs_plan *plan, const gs_problem *problem)
{
    const gs_device_ops *const ops = device->ops;
    gs_pointer memory[4], at[4], reference;
    gs_queue queue;
    gs_compare compare;
    OK(ops->queue_create(device, &queue, &error));
    for (int i = 0; i < 4; i++) {
        const size_t bytes = (gs_problem_bytes(problem, "abcd"[i]) + 256 + 3) / 4 * 4;
        OK(ops->alloc(device, bytes, &memory[i], &error));
        OK(ops->fill(device, memory[i], 0x7fff7fff, bytes, queue, &error));
        at[i] = memory[i] + gs_type_size(i < 2 ? problem->in : problem->out);
        if (i < 3) OK(gs_generate(verifier, problem, "abcd"[i], GS_DATA_NORMAL, 7, at[i], queue, &error));
    }
    OK(ops->alloc(device, (size_t)(problem->batch * problem->m * problem->n) * 8, &reference, &error));
    OK(gs_reference(verifier, problem, at[0], at[1], at[2], reference, queue, &error));
    const gs_args args = {.size = sizeof(gs_args), .a = (void *)at[0], .b = (void *)at[1], .c = (void *)at[2], .d = (void *)at[3]};
    if (gs_plan_run(plan, &args, (gs_stream)queue) != GS_OK || ops->queue_wait(device, queue, &error) != GS_OK) fail_msg("%s: %s", gs_plan_schedule(plan), error.text);
    OK(gs_compare_reference(verifier, problem, &(gs_args){.d = (void *)(uintptr_t)at[3]}, reference, 2, &compare, queue, &error));
    if (compare.mismatches) fail_msg("%s: %lld wrong, %g instead of %g", gs_plan_schedule(plan), (long long)compare.mismatches, compare.got, compare.want);
    for (int i = 0; i < 4; i++) ops->free(device, memory[i]);
    ops->free(device, reference);
    ops->queue_destroy(device, queue);
}

static void test_fixed_sizes(void **state)
{
    static const char *const texts[] = {"f16:16x24x40:tn", "bf16:33x48x72:tn:beta=0.5", "f16:65x72x64:nn", "f16:24x40x200:tn:d=f32", "f16:16x16x16:tn:b=100",
                                        "bf16:24x40x56:nn:b=70:beta=1", "f16:32x18x64:nt:b=64:d=f32", "f16:16x16x64:tn:b=500"};
    (void)state;
    if (gs_compiler_version(&error) == 0) skip();
    gs_config config = gs_config_default();
    config.device = "emu:h200";
    config.tuned_path = GS_SOURCE_DIR "/tests/plan";   /* a folder without tables */
    setenv("GEMMSMITH_WEIGHTS", GS_SOURCE_DIR "/tuned/nvidia-h200.weights", 1);
    OK(gs_open(&context, &config, &error));
    device = context->device;
    OK(gs_verifier_create(&verifier, device, &error));
    int fixed = 0, tiny = 0;
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        gs_problem problem;
        gs_plan *plan = NULL;
        OK(gs_problem_parse(&problem, texts[i], &error));
        OK(gs_plan_create_unaligned(context, &problem, &plan, &error));
        fixed += strstr(gs_plan_schedule(plan), "/fixed") != NULL;
        tiny += strncmp(gs_plan_schedule(plan), "tiny/", 5) == 0;
        multiply(plan, &problem);
        gs_plan_destroy(&plan);
    }
    assert_true(fixed > 0 && tiny > 0);   /* otherwise the test covers nothing and needs other problems */
    gs_verifier_destroy(&verifier);
    gs_close(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
