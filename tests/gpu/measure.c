/* SPDX-License-Identifier: MIT
 * Plans that are measured on a GPU: whoever wins computes the right product, is not slower than cuBLASLt's first suggestion, is in the table
 * afterwards, and the race kept to its time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "folder.h"
#include "plan/plan_internal.h"
#include "verify/verify.h"

static char        folder[] = "/tmp/gemmsmith-gpu-measure-XXXXXX";
static char        table[64];
static gs_context *context;
static gs_device  *device;
static gs_error    error;

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

static gs_problem problem_of(const char *text)
{
    gs_problem problem;
    OK(gs_problem_parse(&problem, text, &error));
    return problem;
}

static gs_context *open_measuring(void)
{
    gs_config config = gs_config_default();
    gs_context *opened = NULL;
    config.device = gs_device_gpu();
    config.tuned_path = table;
    config.measure = 1;
    OK(gs_open(&opened, &config, &error));
    return opened;
}

/* Device time of a call, of 50 in a graph. */
static double time_of(const gs_plan *plan, const gs_args *args)
{
    const gs_device_ops *const ops = device->ops;
    gs_queue queue;
    gs_event start, end;
    gs_graph graph;
    double us = 0, best = 0;
    OK(ops->queue_create(device, &queue, &error));
    OK(ops->event_create(device, &start, &error));
    OK(ops->event_create(device, &end, &error));
    assert_int_equal(gs_plan_run(plan, args, queue), GS_OK);
    OK(ops->queue_wait(device, queue, &error));
    OK(ops->capture_begin(device, queue, &error));
    bool captured = false;
    OK(ops->capturing(device, queue, &captured, &error));
    assert_true(captured);
    for (int i = 0; i < 50; i++) assert_int_equal(gs_plan_run(plan, args, queue), GS_OK);
    OK(ops->capture_end(device, queue, &graph, &error));
    for (int i = 0; i < 8; i++) {
        OK(ops->event_record(device, start, queue, &error));
        OK(ops->graph_launch(device, graph, queue, &error));
        OK(ops->event_record(device, end, queue, &error));
        OK(ops->event_us(device, start, end, &us, &error));
        if (i == 0 || us < best) best = us;
    }
    ops->graph_destroy(device, graph);
    ops->event_destroy(device, start);
    ops->event_destroy(device, end);
    ops->queue_destroy(device, queue);
    return best / 50;
}

static void test_winners(void **state)
{
    (void)state;
    static const char *const problems[] = {"f16:512x4096x4096:tn", "bf16:100x1000x1000:nn", "f16:37x1001x999:tn", "f16:4096x4096x1024:nn:beta=0.5", "bf16:8x4096x4096:tn:d=f32"};
    gs_verifier *verifier;
    OK(gs_verifier_create(&verifier, device, &error));
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        const gs_problem problem = problem_of(problems[i]);
        gs_plan *plan = NULL, *library = NULL;
        gs_pointer at[4], reference;
        gs_compare compare;
        for (int j = 0; j < 4; j++) OK(device->ops->alloc(device, gs_problem_bytes(&problem, "abcd"[j]) + 256, &at[j], &error));
        OK(device->ops->alloc(device, (size_t)(problem.m * problem.n) * 8, &reference, &error));
        for (int j = 0; j < 3; j++) OK(gs_generate(verifier, &problem, "abc"[j], GS_DATA_NORMAL, 7, at[j], NULL, &error));
        OK(gs_reference(verifier, &problem, at[0], at[1], at[2], reference, NULL, &error));
        OK(device->ops->fill(device, at[3], 0x7fff7fff, gs_problem_bytes(&problem, 'd') / 4 * 4, NULL, &error));
        const gs_args args = gs_args_make((void *)at[0], (void *)at[1], (void *)at[2], (void *)at[3]);
        OK(gs_plan_create(context, &problem, &plan, &error));
        OK(gs_plan_create_schedule(context, &problem, "cublaslt", &library, &error));
        assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
        assert_int_equal(gs_plan_run(plan, &args, NULL), GS_OK);
        OK(device->ops->queue_wait(device, NULL, &error));
        OK(gs_compare_reference(verifier, &problem, &(gs_args){.d = (void *)(uintptr_t)at[3]}, reference, 2, &compare, NULL, &error));
        assert_int_equal(compare.mismatches, 0);
        const double ours = time_of(plan, &args), theirs = time_of(library, &args);
        printf("%s: %s; in a warm cache %.2f us, cuBLASLt's first suggestion %.2f us\n", problems[i], gs_plan_why(plan), ours, theirs);
        if (ours > 1.15 * theirs) fail_msg("%s: %.2f us, cuBLASLt %.2f us", gs_plan_why(plan), ours, theirs);
        gs_plan_destroy(&plan);
        gs_plan_destroy(&library);
        for (int j = 0; j < 4; j++) device->ops->free(device, at[j]);
        device->ops->free(device, reference);
    }
    gs_verifier_destroy(&verifier);
    for (size_t i = 0; i < GS_COUNT(problems); i++) {   /* what the next process finds */
        const gs_problem problem = problem_of(problems[i]);
        gs_context *next = open_measuring();
        gs_plan *plan = NULL;
        OK(gs_plan_create(next, &problem, &plan, &error));
        assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_TABLE);
        gs_plan_destroy(&plan);
        gs_close(&next);
    }
}

int main(void)
{
    if (gs_device_open(&device, gs_device_gpu(), NULL, &error) != GS_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    gs_device_close(&device);
    if (!mkdtemp(folder)) return 1;
    snprintf(table, sizeof table, "%s/t.tuned", folder);
    FILE *const file = fopen(table, "w");
    if (!file || fputs("gemmsmith-tuned 1\n", file) < 0 || fclose(file) != 0) return 1;
    context = open_measuring();
    device = context->device;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_winners)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gs_close(&context);
    remove_all(folder);
    return failed;
}
