/* SPDX-License-Identifier: MIT
 * Launches of a plan into a captured stream, on a fake driver: dependent after a launch that allows it, plain otherwise; and what the table's rows for chains decide. */
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
#include "device/device.h"
#include "fake/opened.h"
#include "folder.h"
#include "packing/packing.h"
#include "plan/made.h"
#include "plan/member.h"
#include "plan/plan_internal.h"

#define ROW     "f16:16x4096x14336:tn%s %s 2.000 2.200 %s 1.0 1.4 1700 nvidia-h200 90 132 130100 2026-11-26T12:00:00Z %s\n"
#define WS      "ws/128x128x64/s4/c1x1/coop/g8"
#define TICKETS "splitk/16x64x64/s8/ba/c1x1/t4/fixed"

static char      folder[] = "/tmp/gemmsmith-chain-XXXXXX", table[64];
static char      operand[1 << 17] __attribute__((aligned(256)));
static gs_error  error;
static uint32_t  constant;   /* gs_problem.constant of the next plan */

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(table, sizeof table, "%s/own.tuned", folder);
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CUBLASLT", GS_BINARY_DIR "/tests/fake/libfake_cublaslt.so", 1);
    setenv("GEMMSMITH_CACHE", folder, 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    setenv("FAKE_CUBLASLT", "66:0 24:0", 1);
    open_fake();
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    return remove_all(folder);
}

typedef struct work {
    gs_context *context;
    gs_plan    *plan;
    gs_device  *device;
    gs_queue    queue;
} work;

/* schedule NULL: chosen by the table, or without a row by the time model. */
static work begin(int dependent, const char *rows, const char *schedule)
{
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 16, 4096, 14336);
    gs_config config = gs_config_default();
    work w = {0};
    problem.constant = constant;
    FILE *const file = fopen(table, "w");
    fprintf(file, "gemmsmith-tuned 1\n%s", rows);
    fclose(file);
    config.tuned_path = table;
    config.dependent = dependent;
    OK(gs_open(&w.context, &config, &error));
    if (schedule) OK(gs_plan_create_schedule(w.context, &problem, schedule, &w.plan, &error));
    else OK(gs_plan_create(w.context, &problem, &w.plan, &error));
    w.device = gs_context_device(w.context);
    OK(w.device->ops->queue_create(w.device, &w.queue, &error));
    return w;
}

static void end(work *w)
{
    w->device->ops->queue_destroy(w->device, w->queue);
    gs_plan_destroy(&w->plan);
    gs_close(&w->context);
    assert_int_equal(live(), 0);
}

static gs_status run(const work *w)
{
    const gs_args args = gs_args_make(operand, operand + 32768, NULL, operand + 65536);
    return gs_plan_run(w->plan, &args, (gs_stream)w->queue);
}

/* Captures some runs of the plan and returns the number of programmatic edges; last_launch is then the last of them. */
static int edges(const work *w, int runs)
{
    gs_graph graph;
    OK(w->device->ops->capture_begin(w->device, w->queue, &error));
    for (int i = 0; i < runs; i++) assert_int_equal(run(w), GS_OK);
    OK(w->device->ops->capture_end(w->device, w->queue, &graph, &error));
    w->device->ops->graph_destroy(w->device, graph);
    return last_launch()->edges;
}

static void need_compiler(void)
{
    if (gs_compiler_version(&error) == 0) skip();
}

static const char *rows_of(const char *plain, const char *plain_ratio, const char *chained, const char *chained_ratio)
{
    static char text[1024];
    const int size = plain ? snprintf(text, sizeof text, ROW, "", plain, plain_ratio, "tune-1.0.0") : 0;
    snprintf(text + size, sizeof text - (size_t)size, ROW, "", chained, chained_ratio, "tune+dependent-1.0.0");
    return text;
}

static void the_mode_decides(void **state)
{
    (void)state;
    need_compiler();
    static const struct { int config; const char *environment; int edges, alone; } cases[] = {
        {0, NULL, 2, 0}, {0, "", 2, 0}, {0, "0", 0, 0}, {0, "1", 2, 1}, {2, NULL, 2, 0}, {2, "0", 2, 0}, {2, "1", 2, 0}, {-1, "1", 0, 0}, {1, "0", 2, 1},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        if (cases[i].environment) setenv("GEMMSMITH_DEPENDENT", cases[i].environment, 1);
        work w = begin(cases[i].config, "", WS);
        unsetenv("GEMMSMITH_DEPENDENT");
        const int found = edges(&w, 3);
        if (found != cases[i].edges) fail_msg("case %zu: %d edges", i, found);
        assert_int_equal(run(&w), GS_OK);   /* not captured: the preceding launch is unknown */
        assert_int_equal(last_launch()->dependent, cases[i].alone);
        assert_int_equal(edges(&w, 1), 0);           /* the last launch of another capture does not precede this one */
        end(&w);
    }
    gs_config config = gs_config_default();
    gs_context *context = NULL;
    for (config.dependent = -2; config.dependent <= 3; config.dependent += 5) {
        assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, "dependent");
    }
}

/* Launches outside of captures, by two families. */
static void single_launches(void **state)
{
    (void)state;
    need_compiler();
    static const struct {
        int         config;
        const char *environment;
        int         dependent;
    } cases[] = {{0, NULL, 0}, {1, NULL, 1}, {-1, NULL, 0}, {0, "1", 1}, {-1, "1", 0}, {1, "0", 1}, {0, "0", 0}, {2, NULL, 0}, {2, "1", 0}};
    assert_int_equal(gs_config_default().dependent, 0);
    for (size_t i = 0; i < GS_COUNT(cases); i++)
        for (int family = 0; family < 2; family++) {
            if (cases[i].environment) setenv("GEMMSMITH_DEPENDENT", cases[i].environment, 1);
            work w = begin(cases[i].config, "", family ? "mma/64x64x64/w2x2/s2/g1" : "simple");
            unsetenv("GEMMSMITH_DEPENDENT");
            assert_int_equal(run(&w), GS_OK);
            assert_int_equal(last_launch()->dependent, cases[i].dependent);
            end(&w);
        }
    setenv("GEMMSMITH_DEPENDENT", "maybe", 1);
    gs_context *context = (gs_context *)operand;
    assert_int_equal(gs_open(&context, NULL, &error), GS_ERROR_PARSE);
    assert_null(context);
    assert_string_equal(error.field, "GEMMSMITH_DEPENDENT");
    unsetenv("GEMMSMITH_DEPENDENT");
    assert_int_equal(live(), 0);
}

/* The row measured with dependent launches decides whether a plan uses them. */
static void the_table_decides(void **state)
{
    (void)state;
    need_compiler();
    static const struct { const char *plain, *plain_ratio, *chained, *chained_ratio; int edges; } cases[] = {
        {WS, "1.10", WS, "1.30", 1},                {WS, "1.10", WS, "1.05", 0},
        {WS, "0.0", WS, "1.3", 0},                  /* no ratios: compared by time, which is equal here */
        {WS, "1.10", "simple", "1.30", 1},          {WS, "1.10", "simple", "1.05", 0},      /* another kernel in the chain row: only whether its ratio is better counts */
        {TICKETS, "1.10", "simple", "1.30", 0},     {TICKETS, "1.10", TICKETS, "1.30", 1},  /* tickets are used only if measured to win */
        {WS, "1.10", "cublaslt", "1.00", 0},        {"cublaslt", "1.00", WS, "1.30", 0},    /* launches of cuBLASLt are not changed */
        {NULL, NULL, WS, "0.90", 1},                /* the only row: the plan uses it */
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        work w = begin(0, rows_of(cases[i].plain, cases[i].plain_ratio, cases[i].chained, cases[i].chained_ratio), NULL);
        const int before = last_launch()->count, found = edges(&w, 2);
        const bool ours = last_launch()->count > before;
        if (found != cases[i].edges && (ours || cases[i].edges)) fail_msg("case %zu: %d edges of %s", i, found, gs_plan_why(w.plan));
        end(&w);
    }
}

/* A plan reads a constant B early if a row for its own kernel says that this beats the other rows, and if its launch is dependent. */
static void a_row_decides_about_a_constant_b(void **state)
{
    (void)state;
    need_compiler();
    setenv("FAKE_CUDA_ARGS", "1", 1);
    setenv("FAKE_CUDA_MAPS", "2", 1);   /* of A and of B */
    static const char *const split = "splitk/16x64x64/s8/ba/c1x1/k1/fixed";
    static const struct { uint32_t constant; const char *plain, *chained_ratio, *early, *early_ratio; int edges, early_b; } cases[] = {
        {GS_CONSTANT_B, split, "1.20", split, "1.30", 1, 1}, {GS_CONSTANT_B, split, "1.20", split, "1.15", 1, 0}, {GS_CONSTANT_B, split, "1.00", split, "1.05", 0, 0},
        {GS_CONSTANT_B, split, "1.00", split, "1.15", 1, 1}, /* dependent launches alone lose */
        {GS_CONSTANT_NONE, split, "1.20", split, "1.30", 1, 0}, {GS_CONSTANT_B, split, "1.20", WS, "1.30", 1, 0}, {GS_CONSTANT_B, split, "1.20", NULL, NULL, 1, 0},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char rows[1024];
        const int size = snprintf(rows, sizeof rows, "%s", rows_of(cases[i].plain, "1.10", cases[i].plain, cases[i].chained_ratio));
        if (cases[i].early) snprintf(rows + size, sizeof rows - (size_t)size, ROW, ":const=b", cases[i].early, cases[i].early_ratio, "tune+dependent-1.0.0");
        constant = cases[i].constant;
        work w = begin(0, rows, NULL);
        const int found = edges(&w, 2), early_b = last_launch()->early_b;
        if (found != cases[i].edges || early_b != cases[i].early_b || early_b != (strstr(gs_plan_why(w.plan), "; B early in chains") != NULL)) fail_msg("case %zu: %d edges, early %d, %s", i, found, early_b, gs_plan_why(w.plan));
        edges(&w, 1);
        assert_int_equal(last_launch()->early_b, 0);   /* no launch precedes it, so there is nothing to start before */
        end(&w);
    }
    constant = GS_CONSTANT_NONE;
    unsetenv("FAKE_CUDA_ARGS");
    unsetenv("FAKE_CUDA_MAPS");
}

/* A pack keeps what the table said when the pack was made. */
static void a_pack_decides(void **state)
{
    (void)state;
    need_compiler();
    static const struct { const char *schedule, *chained_ratio; int edges; } cases[] = {{WS, "1.30", 1}, {WS, "1.05", 0}, {TICKETS, "1.30", 1}, {TICKETS, "1.05", 0}};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 16, 4096, 14336);
    char path[96];
    snprintf(path, sizeof path, "%s/x.pack", folder);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_packing packing = {0};
        gs_config config = gs_config_default();
        size_t size;
        bool added;
        work w = begin(0, rows_of(cases[i].schedule, "1.10", cases[i].schedule, cases[i].chained_ratio), NULL);   /* writes the table */
        end(&w);
        config.tuned_path = table;
        OK(gs_packing_device(&packing.device, "h200", &error));
        OK(gs_context_open_on(&packing.context, &config, packing.device, &error));
        OK(gs_pack_writer_create(&packing.writer, &error));
        OK(gs_packing_add(&packing, &problem, &added, &error));
        OK(gs_packing_write(&packing, path, &size, &error));
        gs_pack_writer_destroy(&packing.writer);
        gs_close(&packing.context);
        setenv("GEMMSMITH_PACK", path, 1);
        w = begin(0, "", NULL);
        unsetenv("GEMMSMITH_PACK");
        assert_int_equal(gs_plan_origin(w.plan), GS_ORIGIN_PACK);
        const int found = edges(&w, 2);
        if (found != cases[i].edges) fail_msg("case %zu: %d edges", i, found);
        end(&w);
    }
}

/* After launches that are not the plan's: the plan is launched dependently only if the launch before it was itself dependent. */
static void behind_others(void **state)
{
    (void)state;
    need_compiler();
    work w = begin(0, "", WS);
    const gs_kernel kernel = {.name = "k.cu", .source = "#include \"common/args.h\"\nextern \"C\" __global__ void k(gs_kernel_args) {}",
                              .manifest = {.accumulator = GS_F32, .align = {2, 2, 2, 2}, .entry_count = 1,
                                           .entry = {{.name = "k", .grid = {{"1"}, {"1"}, {"1"}}, .block = {32, 1, 1}, .cluster = {1, 1, 1}, .dependent = true}}}};
    const gs_args args = gs_args_make(operand, operand + 32768, NULL, operand + 65536);
    for (int dependent = 0; dependent < 2; dependent++) {
        gs_loaded *other;
        gs_graph graph;
        OK(gs_loaded_create(&other, w.device, &kernel, &w.plan->problem, &error));
        OK(gs_loaded_set_mode(other, dependent ? GS_LAUNCH_DEPENDENT : GS_LAUNCH_PLAIN, &error));
        OK(w.device->ops->capture_begin(w.device, w.queue, &error));
        for (int i = 0; i < 2; i++) OK(gs_loaded_run(other, &args, w.queue, &error));
        assert_int_equal(run(&w), GS_OK);
        assert_int_equal(last_launch()->dependent, dependent);
        OK(w.device->ops->capture_end(w.device, w.queue, &graph, &error));
        assert_int_equal(last_launch()->edges, 2 * dependent);
        w.device->ops->graph_destroy(w.device, graph);
        gs_loaded_destroy(&other);
    }
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_mode_decides), cmocka_unit_test(single_launches), cmocka_unit_test(the_table_decides), cmocka_unit_test(a_row_decides_about_a_constant_b), cmocka_unit_test(a_pack_decides), cmocka_unit_test(behind_others)};
    return cmocka_run_group_tests_name("plan/chain", tests, group_setup, group_teardown);
}
