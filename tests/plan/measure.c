/* SPDX-License-Identifier: MIT
 * Plans chosen by measuring: who wins a race, what must not win, where the result is kept, when nothing is measured, and that no failure on the way costs more than the
 * measurement. On a fake driver whose kernels take given times, and on the emulated device. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <gemmsmith/gemmsmith.h>

#include "allocations.h"
#include "base/error.h"
#include "base/file.h"
#include "cublas/library.h"
#include "fake/opened.h"
#include "folder.h"
#include "plan/made.h"
#include "plan/plan_internal.h"
#include "stage_clock.h"
#include "support/fork.h"
#include "texts.h"

#define FAKE_LT  GS_BINARY_DIR "/tests/fake/libfake_cublaslt.so"
#define PROBLEM  "f16:64x256x256:tn"
#define OK(call) do { const gs_status status_ = (call); if (status_ != GS_OK) fail_msg("%s: %s", #call, error.text); } while (0)

static char folder[] = "/tmp/gemmsmith-measure-XXXXXX";
static char cache[64], table[64];
static gs_error error;
static char lines[4096];
static void (**hook)(int suggestion, void *stream);

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(table, sizeof table, "%s/t.tuned", folder);
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CUBLASLT", FAKE_LT, 1);
    unsetenv("GEMMSMITH_WEIGHTS");
    setenv("FAKE_CUBLASLT", "1:0 2:0 3:0", 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    setenv("FAKE_CUDA_MEMORY", "8589934592", 1);
    unsetenv("GEMMSMITH_TUNED");
    unsetenv("GEMMSMITH_MEASURE");
    open_fake();
    void *const library = dlopen(FAKE_LT, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    put_function(library, "fake_cublaslt_hook", &hook);
    *hook = stage_library;
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    return remove_all(folder);
}

static void need_compiler(void)
{
    if (gs_compiler_version(&error) == 0) skip();
}

static void take_line(void *self, int level, const char *line)
{
    (void)self, (void)level;
    const size_t used = strlen(lines);
    snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static int count_of(const char *text)
{
    int count = 0;
    for (const char *at = lines; (at = strstr(at, text)); at++) count++;
    return count;
}

static gs_config settings(void)
{
    gs_config config = gs_config_default();
    config.device = "cuda:0";
    config.tuned_path = table;
    config.cache_path = cache;
    config.measure = 1;
    config.measure_total_ms = 1000000;
    config.log = take_line;
    config.log_level = 2;
    return config;
}

static gs_context *open_with(const gs_config *config, const char *rows)
{
    char text[1024];
    snprintf(text, sizeof text, "gemmsmith-tuned 1\n%s", rows);
    if (config->tuned_path && rows) OK(gs_file_write(config->tuned_path, text, strlen(text), &error));
    gs_context *context = NULL;
    lines[0] = '\0';
    OK(gs_open(&context, config, &error));
    if (!context->device->caps.emulated) stage_set(context->device);
    return context;
}

static gs_plan *plan_for(gs_context *context, const char *text)
{
    const gs_problem problem = problem_of(text);
    gs_plan *plan = NULL;
    OK(gs_plan_create(context, &problem, &plan, &error));
    return plan;
}

static void close_all(gs_plan **plan, gs_context **context)
{
    gs_plan_destroy(plan);
    gs_close(context);
    assert_int_equal(live(), 0);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" has no \"%s\"", text, part);
}

static gs_row row_in(const char *path, const char *text)
{
    const gs_problem problem = problem_of(text);
    gs_table *rows;
    int skipped;
    assert_int_equal(gs_table_create(&rows), GS_OK);
    OK(gs_table_load(rows, path, NULL, &skipped, &error));
    assert_int_equal(skipped, 0);
    const gs_row *const row = gs_table_find(rows, &problem);
    if (!row) fail_msg("no row of %s", text);
    const gs_row copy = *row;
    gs_table_destroy(&rows);
    return copy;
}

static bool has_row(const char *path, const char *text)
{
    char *data;
    size_t size;
    if (gs_file_read(path, 1 << 20, &data, &size, NULL) != GS_OK) return false;
    const bool found = strstr(data, text) != NULL;
    free(data);
    return found;
}

static void test_settings(void **state)
{
    (void)state;
    gs_config config = settings();
    gs_context *context = NULL;
    config.tuned_path = NULL;
    config.measure = 2;
    assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "measure");
    config.measure = 1;
    config.measure_ms = -1;
    assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "measure_ms");
    config.measure_ms = 0;
    config.measure_total_ms = -1;
    assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "measure_total_ms");

    /* variable: GEMMSMITH_MEASURE; measure: the setting; measured: whether plans are measured, -2: gs_open fails */
    static const struct {
        const char *variable;
        int         measure, measured;
    } cases[] = {{NULL, 0, 0}, {"", 0, 0}, {"off", 0, 0}, {"on", 0, 1}, {"off", 1, 1}, {"on", -1, 0}, {"1", 0, -2}, {"yes", 0, -2}, {"yes", 1, 1}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        config = settings();
        config.tuned_path = NULL;
        config.measure = cases[i].measure;
        if (cases[i].variable) setenv("GEMMSMITH_MEASURE", cases[i].variable, 1);
        const gs_status status = gs_open(&context, &config, &error);
        unsetenv("GEMMSMITH_MEASURE");
        assert_int_equal(status, cases[i].measured == -2 ? GS_ERROR_PARSE : GS_OK);
        if (status != GS_OK) continue;
        assert_int_equal(context->config.measure > 0, cases[i].measured);
        assert_int_equal(context->config.measure_ms, 100);
        gs_close(&context);
    }

    config = settings();
    context = open_with(&config, "");
    const gs_problem problem = problem_of(PROBLEM);
    gs_plan *plan = NULL;
    gs_plan_options options = gs_plan_options_default();
    assert_int_equal(options.size, sizeof options);
    options.measure = -2;
    assert_int_equal(gs_plan_create_with(context, &problem, &options, &plan, &error), GS_ERROR_ARGUMENT);
    options.measure = 1;
    options.measure_ms = -1;
    assert_int_equal(gs_plan_create_with(context, &problem, &options, &plan, &error), GS_ERROR_ARGUMENT);
    options.measure_ms = 0;
    options.reserved_int = 1;
    assert_int_equal(gs_plan_create_with(context, &problem, &options, &plan, &error), GS_ERROR_UNSUPPORTED);
    options.reserved_int = 0;
    options.reserved[5] = 1;
    assert_int_equal(gs_plan_create_with(context, &problem, &options, &plan, &error), GS_ERROR_UNSUPPORTED);
    options.size = 4;
    assert_int_equal(gs_plan_create_with(context, &problem, &options, &plan, &error), GS_ERROR_ARGUMENT);
    assert_null(plan);
    close_all(&plan, &context);
}

/* The fastest kernel wins, whatever the time model predicts. The context remembers it, and the table keeps it for later contexts. */
static void test_own_winner(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_with(&config, "");
    stage.own_us[2] = 20;
    gs_plan *plan = plan_for(context, PROBLEM), *again = NULL;
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    has(gs_plan_why(plan), "20.00 us (measured), cuBLASLt 60.00 us");
    has(gs_plan_why(plan), gs_plan_schedule(plan));
    assert_string_equal(lines, "");
    assert_true(stage.timed > 20);
    assert_true(stage.now_us < 1.2 * 100e3);

    const gs_row row = row_in(table, PROBLEM);
    char text[GS_SCHEDULE_TEXT];
    assert_string_equal(gs_schedule_format(&row.schedule, text), gs_plan_schedule(plan));
    assert_int_equal(row.library, 0);
    assert_float_equal(row.us, 20, 1e-3);
    assert_float_equal(row.library_us, 60, 1e-3);
    assert_float_equal(row.ratio, 3, 1e-3);
    assert_int_equal(row.cublaslt, 130100);
    assert_string_equal(row.gpu, "nvidia-h200");
    has(row.by, "measure-");

    const int timed = stage.timed, loaded = stage.loaded;
    again = plan_for(context, PROBLEM);
    assert_int_equal(gs_plan_origin(again), GS_ORIGIN_MEASURED);
    assert_string_equal(gs_plan_why(again), gs_plan_why(plan));
    assert_int_equal(stage.timed, timed);
    assert_int_equal(stage.loaded, loaded + 1);

    size_t size = 0;   /* a measured plan can be saved */
    OK(gs_plan_save(plan, NULL, &size, &error));
    char *const buffer = malloc(size);
    OK(gs_plan_save(plan, buffer, &size, &error));
    gs_plan_destroy(&again);
    OK(gs_plan_load(context, buffer, size, &again, &error));
    assert_int_equal(gs_plan_origin(again), GS_ORIGIN_MEASURED);
    free(buffer);
    gs_plan_destroy(&again);
    snprintf(text, sizeof text, "%s", gs_plan_schedule(plan));
    close_all(&plan, &context);

    context = NULL;
    lines[0] = '\0';
    OK(gs_open(&context, &config, &error));
    plan = plan_for(context, PROBLEM);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_TABLE);
    assert_string_equal(gs_plan_schedule(plan), text);
    close_all(&plan, &context);
}

/* cuBLASLt wins where one of its suggestions is faster, even if its first call is slow because it loads code. */
static void test_library_winner(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_with(&config, "");
    stage.library_us[2] = 10;
    stage.loading_us = 5000;
    gs_plan *plan = plan_for(context, PROBLEM), *again;
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    assert_string_equal(gs_plan_schedule(plan), "cublaslt/2");
    has(gs_plan_why(plan), "cublaslt/2 takes 10.00 us (measured), the best own kernel 50.00 us");
    const gs_row row = row_in(table, PROBLEM);
    assert_int_equal(row.library, 2);
    assert_float_equal(row.ratio, 1, 1e-6);
    again = plan_for(context, PROBLEM);
    assert_string_equal(gs_plan_why(again), gs_plan_why(plan));
    gs_plan_destroy(&again);
    close_all(&plan, &context);

    setenv("FAKE_CUBLASLT", "9:4 2:0", 1);   /* the first suggestion rounds its sums, so neither it nor a substitute races */
    setenv("FAKE_CUBLASLT_MASKED", "2:0", 1);
    context = open_with(&config, "");
    stage.library_us[2] = 10;
    plan = plan_for(context, PROBLEM);
    assert_string_equal(gs_plan_schedule(plan), "cublaslt/2");
    assert_int_equal(stage.called, 1u << 2);
    assert_int_equal(stage.library_calls, 2);
    close_all(&plan, &context);
    setenv("FAKE_CUBLASLT", "1:0 2:0 3:0", 1);
    unsetenv("FAKE_CUBLASLT_MASKED");

    gs_config lone = settings();   /* only suggestions raced: no row for other contexts is written */
    lone.use_ours = 0;
    context = open_with(&lone, "");
    stage.library_us[3] = 5;
    plan = plan_for(context, PROBLEM);
    assert_string_equal(gs_plan_schedule(plan), "cublaslt/3");
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    assert_false(has_row(table, PROBLEM));
    assert_int_equal(stage.loaded, 0);
    close_all(&plan, &context);

    lone = settings();   /* only our kernels */
    lone.use_cublaslt = 0;
    context = open_with(&lone, "");
    stage.library_us[1] = 1;
    plan = plan_for(context, PROBLEM);
    assert_null(strstr(gs_plan_why(plan), "cuBLASLt"));
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    assert_false(has_row(table, PROBLEM));
    close_all(&plan, &context);
}

/* A contender with a wrong result or a fault must not win, however fast it is. */
static void test_wrong_results(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_with(&config, "");
    stage.own_us[1] = 5;
    stage.own_us[3] = 25;
    stage.wrong = 1;
    stage.library_us[1] = 1;
    stage.wrong_library = 1;
    gs_plan *plan = plan_for(context, PROBLEM);
    has(gs_plan_why(plan), "25.00 us (measured), cuBLASLt 60.00 us");
    assert_int_equal(count_of("its result is wrong"), 2);
    has(lines, "cublaslt leaves");
    close_all(&plan, &context);

    context = open_with(&config, "");   /* after a fault the device is lost: no other schedule is tried, and nothing is kept */
    stage.faulty = 0;
    const gs_problem problem = problem_of(PROBLEM);
    plan = NULL;
    gs_plan_create(context, &problem, &plan, &error);
    assert_int_equal(count_of("not measured: a fault of the stage"), 1);
    if (plan) assert_int_not_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    assert_false(has_row(table, PROBLEM));
    close_all(&plan, &context);
}

/* One call takes longer than the budget: only the contenders that promise most are run. */
static void test_budgets(void **state)
{
    (void)state;
    need_compiler();
    gs_config config = settings();
    config.measure_ms = 10;
    gs_context *context = open_with(&config, "");
    for (int i = 0; i < STAGE_KERNELS; i++) stage.own_us[i] = 30e3;
    for (int i = 0; i < 16; i++) stage.library_us[i] = 20e3;
    gs_plan *plan = plan_for(context, PROBLEM);
    assert_string_equal(gs_plan_schedule(plan), "cublaslt");
    assert_true(stage.now_us < 2 * 30e3 + 2 * 20e3 + 1e3);
    close_all(&plan, &context);

    context = open_with(&config, "");   /* a plan's own budget */
    gs_plan_options options = gs_plan_options_default();
    const gs_problem problem = problem_of(PROBLEM);
    options.measure_ms = 200;
    OK(gs_plan_create_with(context, &problem, &options, &plan, &error));
    assert_true(stage.now_us > 50e3 && stage.now_us < 1.2 * 200e3);
    gs_plan_destroy(&plan);
    options.measure = -1;
    const gs_problem other = problem_of("f16:64x256x512:tn");
    OK(gs_plan_create_with(context, &other, &options, &plan, &error));
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    close_all(&plan, &context);

    config.measure = -1;   /* one measured plan in a context that does not measure */
    context = open_with(&config, "");
    options.measure = 1;
    OK(gs_plan_create_with(context, &problem, NULL, &plan, &error));
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    gs_plan_destroy(&plan);
    OK(gs_plan_create_with(context, &problem, &options, &plan, &error));
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    close_all(&plan, &context);

    config = settings();   /* earlier tests have used up more than this total */
    config.measure_total_ms = 1;
    config.log_level = 3;
    context = open_with(&config, "");
    plan = plan_for(context, PROBLEM);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    assert_int_equal(stage.timed, 0);
    has(lines, "the 1 ms that this process may take for measuring are used up");
    close_all(&plan, &context);
}

/* A plan with a table row is not measured; a row whose schedule does not work is replaced. */
static void test_rows(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_with(&config, "f16:64x256x256:tn simple 2 1 0.5 0.5 0.5 0 nvidia-h200 90 132 130100 - tune-0.1.0\n");
    gs_plan *plan = plan_for(context, PROBLEM);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_TABLE);
    assert_int_equal(stage.timed, 0);
    close_all(&plan, &context);

    context = open_with(&config, "f16:64x100x101:tn ws/128x256x64/s4/c2x1/coop/g8 2 1 0.5 0.5 0.5 0 nvidia-h200 90 132 130100 - tune-0.1.0\n");
    plan = plan_for(context, "f16:64x100x101:tn");
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    has(row_in(table, "f16:64x100x101:tn").by, "measure-");
    close_all(&plan, &context);

    /* The schedule of a similar problem takes part in the race. */
    context = open_with(&config, "bf16:64x256x256:tn simple 2 1 0.5 0.5 0.5 0 nvidia-h200 90 132 130100 - tune-0.1.0\n");
    stage.own_us[0] = 7;
    plan = plan_for(context, PROBLEM);
    assert_string_equal(gs_plan_schedule(plan), "simple");
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    close_all(&plan, &context);
}

/* If the table cannot be written, the only loss is that other processes measure again: one log line, and the context remembers the result. */
static void test_nowhere_to_write(void **state)
{
    (void)state;
    need_compiler();
    char home[96], file[96];
    snprintf(home, sizeof home, "%s/file", folder);
    snprintf(file, sizeof file, "%s/file", folder);
    OK(gs_file_write(file, "x", 1, &error));   /* nobody, not even root, can create a folder below a file */
    gs_config config = settings();
    config.tuned_path = NULL;
    setenv("XDG_DATA_HOME", home, 1);
    gs_context *context = open_with(&config, NULL);
    lines[0] = '\0';   /* drops the line about the user's tables, which cannot be read */
    gs_plan *plan = plan_for(context, PROBLEM), *again = plan_for(context, "f16:64x256x512:tn");
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    assert_int_equal(gs_plan_origin(again), GS_ORIGIN_MEASURED);
    assert_int_equal(count_of("kept for this process only"), 1);
    gs_plan_destroy(&again);
    const int timed = stage.timed;
    again = plan_for(context, PROBLEM);
    assert_int_equal(stage.timed, timed);
    gs_plan_destroy(&again);
    close_all(&plan, &context);

    snprintf(home, sizeof home, "%s/home", folder);   /* a folder that can be written */
    context = open_with(&config, NULL);
    plan = plan_for(context, PROBLEM);
    snprintf(file, sizeof file, "%s/home/gemmsmith/tuned/nvidia-h200.tuned", folder);
    assert_false(has_row(file, PROBLEM));
    close_all(&plan, &context);
    setenv("XDG_DATA_HOME", home, 1);
    context = open_with(&config, NULL);
    plan = plan_for(context, PROBLEM);
    assert_true(has_row(file, PROBLEM));
    assert_string_equal(lines, "");
    close_all(&plan, &context);
    unsetenv("XDG_DATA_HOME");

    config = settings();   /* a table with an unreadable row is not overwritten */
    context = open_with(&config, "nonsense\n");
    lines[0] = '\0';
    plan = plan_for(context, PROBLEM);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    assert_int_equal(count_of("kept for this process only"), 1);
    assert_true(has_row(table, "nonsense"));
    close_all(&plan, &context);
}

/* Nothing is measured while a stream that synchronises with the default stream is being captured, nor by gs_gemm on a captured stream. */
static void test_captures(void **state)
{
    (void)state;
    need_compiler();
    gs_config config = settings();
    config.log_level = 3;
    gs_context *context = open_with(&config, "");
    setenv("FAKE_CUDA_CAPTURED", "1", 1);
    gs_plan *plan = plan_for(context, PROBLEM);
    unsetenv("FAKE_CUDA_CAPTURED");
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    assert_int_equal(stage.timed, 0);
    assert_int_equal(count_of("not measured: a stream is being captured"), 1);

    static char operand[1 << 18] __attribute__((aligned(256)));
    gs_device *const device = context->device;
    const gs_args args = gs_args_make(operand, operand, NULL, operand);
    const gs_problem problem = problem_of(PROBLEM), other = problem_of("f16:64x256x512:tn");
    gs_queue queue;
    gs_graph graph;
    OK(device->ops->queue_create(device, &queue, &error));
    OK(device->ops->capture_begin(device, queue, &error));
    OK(gs_gemm(context, &problem, &args, queue, &error));
    assert_int_equal(stage.timed, 0);
    OK(device->ops->capture_end(device, queue, &graph, &error));
    assert_int_equal(count_of("not measured: a stream is being captured"), 2);
    OK(gs_gemm(context, &other, &args, queue, &error));
    assert_true(stage.timed > 0);
    device->ops->graph_destroy(device, graph);
    device->ops->queue_destroy(device, queue);
    close_all(&plan, &context);
}

/* Too little memory to measure: nothing is compiled for the race. */
static void test_no_memory(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_with(&config, "");
    setenv("FAKE_CUDA_MEMORY", "1000000", 1);
    gs_plan *plan = plan_for(context, PROBLEM);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    assert_int_equal(count_of("not measured: measuring takes"), 1);
    assert_int_equal(stage.loaded, 1);
    setenv("FAKE_CUDA_MEMORY", "8589934592", 1);
    gs_plan_destroy(&plan);
    plan = plan_for(context, PROBLEM);   /* now there is enough memory */
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
    close_all(&plan, &context);
}

/* A context takes an open device, and closes it if there is no memory for the context. */
static void test_no_memory_for_a_context(void **state)
{
    (void)state;
    gs_context *context = NULL;
    gs_device *device;
    assert_int_equal(gs_device_open(&device, "cuda:0", cache, &error), GS_OK);
    fail_at = 1;
    const gs_status status = gs_context_open_on(&context, NULL, device, &error);
    assert_true(allocation_failed());
    assert_int_equal(status, GS_ERROR_MEMORY);
    assert_string_equal(error.text, "no memory for a context");
    assert_null(context);
    assert_int_equal(live(), 0);
}

/* A contender whose workspace cannot be allocated drops out, however fast it is, and nothing of it stays. */
static void test_no_workspace(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    for (int fails = 0; fails < 2; fails++) {
        gs_context *context = open_with(&config, "bf16:64x256x256:tn splitk/64x64x64/s2/ab/c1x1/t2/any 2 1 0.5 0.5 0.5 0 nvidia-h200 90 132 130100 - tune-0.1.0\n");
        stage.own_us[0] = 7;   /* the schedule of the similar problem */
        if (fails) setenv("FAKE_CUDA_FAIL", "cuMemAlloc_v2:1", 1);
        gs_plan *plan = plan_for(context, PROBLEM);
        unsetenv("FAKE_CUDA_FAIL");
        assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
        assert_int_equal(strcmp(gs_plan_schedule(plan), "splitk/64x64x64/s2/ab/c1x1/t2/any") != 0, fails);
        close_all(&plan, &context);
    }
}

/* Each driver call fails once, at several places: either a plan is made or an error is returned, and nothing leaks. */
static void test_failing_driver(void **state)
{
    (void)state;
    need_compiler();
    static const char *const failing[] = {"cuMemAlloc_v2", "cuMemGetInfo_v2", "cuStreamIsCapturing", "cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuEventSynchronize",
                                          "cuEventElapsedTime", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuLaunchKernelEx", "cuMemsetD32Async", "cuMemcpyDtoH_v2",
                                          "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuStreamSynchronize"};
    static const int places[] = {1, 2, 5, 13, 40}, results[] = {2, 700, 999};
    const gs_problem problem = problem_of(PROBLEM);
    int measured = 0, others = 0;
    for (size_t i = 0; i < GS_COUNT(failing); i++)
        for (size_t j = 0; j < GS_COUNT(places); j++) {   /* results alternate, so that each function returns each of them at some place */
            const gs_config config = settings();
            gs_context *context = open_with(&config, "");
            gs_plan *plan = NULL;
            char text[64];
            snprintf(text, sizeof text, "%d", results[(i + j) % GS_COUNT(results)]);
            setenv("FAKE_CUDA_ERROR", text, 1);
            snprintf(text, sizeof text, "%s:%d", failing[i], places[j]);
            setenv("FAKE_CUDA_FAIL", text, 1);
            const gs_status status = gs_plan_create(context, &problem, &plan, &error);
            unsetenv("FAKE_CUDA_FAIL");
            setenv("FAKE_CUDA_FAIL", "none", 1);
            assert_true((status == GS_OK) == (plan != NULL));
            if (plan && gs_plan_origin(plan) == GS_ORIGIN_MEASURED) measured++;
            else others++;
            close_all(&plan, &context);
        }
    unsetenv("FAKE_CUDA_FAIL");
    assert_true(measured > 20 && others > 20);
}

/* ---- allocations of our own objects that fail ---- */

static void test_failing_allocations(void **state)
{
    (void)state;
    need_compiler();
    const gs_problem problem = problem_of(PROBLEM);
    int made = 0, failed = 0, which = 1;
    for (bool reached = true; reached; which += which < 60 ? 1 : which / 8) {
        const gs_config config = settings();
        gs_context *context = open_with(&config, "");
        gs_plan *plan = NULL;
        fail_at = which;
        const gs_status status = gs_plan_create(context, &problem, &plan, &error);
        reached = allocation_failed();
        assert_true((status == GS_OK) == (plan != NULL));
        if (plan) made++;
        else failed++;
        if (!reached) assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
        close_all(&plan, &context);
    }
    assert_true(made > 20 && failed > 0 && which > 60);
}

/* Several processes measure different problems at the same time: no row is lost. */
static void test_processes(void **state)
{
    (void)state;
    need_compiler();
    enum { PROCESSES = 4, EACH = 5 };
    const gs_config config = settings();
    gs_context *context = open_with(&config, "");
    gs_plan *plan = plan_for(context, PROBLEM);   /* compiles the kernels first */
    const gs_row row = row_in(table, PROBLEM);
    close_all(&plan, &context);
    for (int i = 0; i < PROCESSES; i++) {
        if (test_fork() != 0) continue;
        int failed = 0;
        for (int j = 0; j < EACH; j++) {
            gs_row own = row;
            own.problem.m = own.problem.ldc = own.problem.ldd = 1000 + i * EACH + j;
            own.problem.ldc = own.problem.ldd = row.problem.ldd;
            failed |= gs_table_keep(table, &own, true, NULL) != GS_OK;
        }
        gs_plan *mine = NULL;
        gs_context *here = NULL;
        gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 256, 256 + 64 * (i + 1));
        failed |= gs_open(&here, &config, NULL) != GS_OK;
        if (!failed) stage_set(here->device);
        failed |= failed || gs_plan_create(here, &problem, &mine, NULL) != GS_OK || gs_plan_origin(mine) != GS_ORIGIN_MEASURED;
        _exit(failed);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < PROCESSES * EACH; i++) {
        char text[64];
        snprintf(text, sizeof text, "f16:%dx256x256:tn", 1000 + i);
        assert_true(has_row(table, text));
    }
    for (int i = 0; i < PROCESSES; i++) {
        char text[64];
        snprintf(text, sizeof text, "f16:64x256x%d:tn", 256 + 64 * (i + 1));
        assert_true(has_row(table, text));
    }
}

/* Real kernels and results, with predicted times. */
static void test_emulated(void **state)
{
    (void)state;
    need_compiler();
    gs_config config = settings();
    config.device = "emu:h200,check=0";
    for (int i = 0; i < 2; i++) {
        static const char *const problems[] = {"f16:48x40x72:tn", "bf16:33x24x40:nn:beta=1"};
        gs_context *context = open_with(&config, "");
        gs_plan *plan = plan_for(context, problems[i]);
        assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_MEASURED);
        has(gs_plan_why(plan), "(predicted)");
        assert_string_equal(lines, "");
        assert_string_equal(row_in(table, problems[i]).gpu, "emu-h200");
        gs_plan_destroy(&plan);
        gs_close(&context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),     cmocka_unit_test(test_own_winner),        cmocka_unit_test(test_library_winner), cmocka_unit_test(test_wrong_results),
        cmocka_unit_test(test_budgets),      cmocka_unit_test(test_rows),              cmocka_unit_test(test_nowhere_to_write), cmocka_unit_test(test_captures),
        cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_no_workspace), cmocka_unit_test(test_no_memory_for_a_context),      cmocka_unit_test(test_failing_driver),    cmocka_unit_test(test_failing_allocations),  cmocka_unit_test(test_processes),      cmocka_unit_test(test_emulated),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
