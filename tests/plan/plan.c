/* SPDX-License-Identifier: MIT
 * Plans on a fake driver: what a plan is chosen from and why, what is launched, that running allocates nothing, that bad arguments are refused, that gs_gemm keeps its
 * plans, and that a failing driver causes no leak. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemmsmith/gemmsmith.h>

#include "allocations.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "device/device.h"
#include "fake/opened.h"
#include "inspect/inspect.h"
#include "learn/weights.h"
#include "loaded/contender.h"
#include "loaded/loaded.h"
#include "schedule/schedule.h"

static char folder[] = "/tmp/gemmsmith-plan-XXXXXX";
static char cache[64], table[64], no_tables[64];

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(table, sizeof table, "%s/t.tuned", folder);
    snprintf(no_tables, sizeof no_tables, "%s/no-tables", folder);
    if (gs_directory_make(no_tables, NULL) != GS_OK) return -1;
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CUBLASLT", "/nonexistent", 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    open_fake();
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void need_compiler(void)
{
    gs_error error;
    if (gs_compiler_version(&error) == 0) skip();
}

static gs_context *open_with(const char *rows)
{
    char text[1024];
    snprintf(text, sizeof text, "gemmsmith-tuned 1\n%s", rows);
    gs_error error = {0};
    assert_int_equal(gs_file_write(table, text, strlen(text), &error), GS_OK);
    gs_config config = gs_config_default();
    config.tuned_path = table;
    config.cache_path = cache;
    config.use_cublaslt = 0;
    gs_context *context = NULL;
    if (gs_open(&context, &config, &error) != GS_OK) fail_msg("%s", error.text);
    return context;
}

static char operand[1 << 16] __attribute__((aligned(256)));
static const gs_args good = {.size = sizeof(gs_args), .a = operand, .b = operand + 16384, .c = operand + 32768, .d = operand + 49152};

static const char row_4096[] =
    "f16:4096x4096x4096:tn ws/128x256x64/s4/c2x1/coop/g8 196.2 199.1 1.0150 1.0120 1.0170"
    " 1755 nvidia-h200 90 132 130100 2026-01-01T00:00:00Z test\n"
    "f16:64x64x64:tn library 2.0 1.9 0.95 0.94 0.96 1755 nvidia-h200 90 132 130100 2026-01-01T00:00:00Z test\n";

static gs_status open_named(const char *named, gs_error *error)
{
    gs_config config = gs_config_default();
    gs_context *context = NULL;
    config.tuned_path = named;
    config.cache_path = cache;
    const gs_status status = gs_open(&context, &config, error);
    assert_true((status == GS_OK) == (context != NULL));
    gs_close(&context);
    return status;
}

/* A table that the user named must exist and be a table: otherwise programs would run untuned without a hint. */
static void test_named_tables(void **state)
{
    (void)state;
    /* name in the folder, content (NULL: no file), status of gs_open */
    static const struct {
        const char *name, *content;
        gs_status   status;
    } cases[] = {
        {"none.tuned", NULL, GS_ERROR_NOT_FOUND},
        {"none/at/all", NULL, GS_ERROR_NOT_FOUND},
        {"garbage.tuned", "nothing of a table\n", GS_ERROR_CORRUPT},
        {"empty.tuned", "", GS_ERROR_CORRUPT},
        {"garbage.tuned/below", NULL, GS_ERROR_IO},
        {"good.tuned", row_4096, GS_OK},
        {"bad-line.tuned", "nonsense\n", GS_OK},
        {".", NULL, GS_OK},   /* a folder of tables, in which some files are no tables */
    };
    const int level = gs_log_level();
    gs_log_set_level(GS_LOG_OFF);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char path[128], text[1024];
        gs_error error = {0};
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].name);
        snprintf(text, sizeof text, "%s%s", cases[i].status == GS_OK ? "gemmsmith-tuned 1\n" : "", cases[i].content ? cases[i].content : "");
        if (cases[i].content) assert_int_equal(gs_file_write(path, text, strlen(text), &error), GS_OK);
        for (int variable = 0; variable < 2; variable++) {
            if (variable) setenv("GEMMSMITH_TUNED", path, 1);
            const gs_status status = open_named(variable ? NULL : path, &error);
            unsetenv("GEMMSMITH_TUNED");
            if (status != cases[i].status) fail_msg("%s: %d %s", path, (int)status, error.text);
            if (status == GS_OK) continue;
            assert_non_null(strstr(error.text, variable ? "GEMMSMITH_TUNED: " : "tuned_path: "));
            assert_non_null(strstr(error.text, path));
            assert_null(strchr(error.text, '\n'));
        }
    }
    setenv("GEMMSMITH_TUNED", "", 1);   /* an empty variable counts as unset */
    assert_int_equal(open_named("", NULL), GS_OK);
    unsetenv("GEMMSMITH_TUNED");
    gs_log_set_level(level);
}

/* For a problem without a row the weights choose, or the time model if there are no weights or they are broken. */
static void test_weights(void **state)
{
    (void)state;
    need_compiler();
    const gs_problem problem = gs_problem_make(GS_BF16, GS_NN, 100, 104, 104);
    const gs_caps *const caps = gs_caps_find("h200");
    gs_error error = {0};
    gs_weights weights;
    gs_schedule first, learned;
    gs_plan *plan = NULL;
    char path[96], text[GS_SCHEDULE_TEXT];
    snprintf(path, sizeof path, "%s/w.weights", folder);
    assert_int_equal(gs_weights_create(&weights, 1, 1, &error), GS_OK);
    assert_int_equal(gs_schedule_shortlist(&problem, caps, 0, &first, 1), 1);
    gs_net *const net = &weights.surrogate.net[0];   /* make the tokens of the time model's first choice look slow */
    for (int slot = 0; slot < gs_family_parameters((gs_family_id)first.family); slot++) {
        const int token = gs_token_of((gs_family_id)first.family, slot, first.value[slot]);
        net->weights[(GS_PROBLEM_FEATURES + GS_WORK_FEATURES + token) * GS_HIDDEN] = 50;
    }
    net->weights[net->width[0] * GS_HIDDEN + GS_HIDDEN] = 1;   /* hidden 0 -> 0 -> out */
    net->weights[net->count - 1 - GS_HIDDEN] = 1;
    assert_int_equal(gs_weights_save(&weights, path, &error), GS_OK);
    assert_int_equal(gs_weights_choose(&weights, &problem, caps, 0, &learned, 1), 1);
    assert_true(memcmp(&learned, &first, sizeof first) != 0);

    setenv("GEMMSMITH_WEIGHTS", path, 1);
    gs_context *context = open_with("");
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    assert_string_equal(gs_plan_schedule(plan), gs_schedule_format(&learned, text));
    assert_non_null(strstr(gs_plan_why(plan), "the learned weights' choice"));
    gs_plan_destroy(&plan);
    gs_close(&context);

    context = open_with(row_4096);   /* the weights rank above the row of a similar problem, but below a row that differs in the type only */
    const gs_problem near = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 8192), twin = gs_problem_make(GS_BF16, GS_TN, 4096, 4096, 4096);
    assert_int_equal(gs_plan_create(context, &near, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    gs_plan_destroy(&plan);
    assert_int_equal(gs_plan_create(context, &twin, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_NEAREST);
    gs_plan_destroy(&plan);
    gs_close(&context);

    assert_int_equal(gs_file_write(path, "none", 4, &error), GS_OK);
    const int level = gs_log_level();
    gs_log_set_level(GS_LOG_OFF);
    context = open_with("");
    gs_log_set_level(level);
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    assert_string_equal(gs_plan_schedule(plan), gs_schedule_format(&first, text));
    assert_non_null(strstr(gs_plan_why(plan), "the time model's choice"));
    gs_plan_destroy(&plan);
    gs_close(&context);
    unsetenv("GEMMSMITH_WEIGHTS");
    gs_weights_free(&weights);
}

/* ---- a fault in a table or in weights is logged once, and the next source of a choice is used ---- */

typedef struct said {
    int  lines;
    char last[1024];
} said;

static void hear(void *self, int level, const char *text)
{
    said *const s = self;
    (void)level;
    s->lines++;
    snprintf(s->last, sizeof s->last, "%s", text);
}

static void test_bad_row(void **state)
{
    (void)state;
    need_compiler();
    static const char row[] = "f16:128x256x257:tn ws/128x256x64/s4/c2x1/coop/g8 2.0 2.1 1.05 1.04 1.06 1755 nvidia-h200 90 132 130100 2026-01-01T00:00:00Z test\n"
                              "f16:128x256x264:tn mma/64x32x64/w4x1/s2/g1 2.5 0.0 0.0 0.0 0.0 1755 nvidia-h200 90 132 130100 2026-01-01T00:00:00Z test\n";
    gs_context *context = open_with(row);   /* the row's leading dimension is odd, which TMA cannot load */
    gs_error error = {0};
    gs_plan *plan = NULL;
    said s = {0};
    const int level = gs_log_level();
    gs_log_set_sink(&s, hear, &s, GS_LOG_WARNING);
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 128, 256, 257), other = gs_problem_make(GS_F16, GS_TN, 128, 256, 264);
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    assert_int_equal(s.lines, 1);
    assert_non_null(strstr(s.last, "f16:128x256x257:tn: table entry not used: "));
    gs_plan_destroy(&plan);
    assert_int_equal(gs_plan_create(context, &other, &plan, &error), GS_OK);   /* the other rows are used, also one without a time of cuBLASLt */
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_TABLE);
    assert_non_null(strstr(gs_plan_why(plan), "2.50 us, no time of cuBLASLt beside it"));
    assert_int_equal(s.lines, 1);
    gs_plan_destroy(&plan);
    gs_close(&context);
    gs_log_drop_sink(&s);
    gs_log_set_level(level);
}

static void test_weights_of_other_features(void **state)
{
    (void)state;
    need_compiler();
    char path[96];
    gs_weights weights;
    gs_error error = {0};
    gs_plan *plan = NULL;
    char *data;
    size_t size;
    said s = {0};
    const gs_problem problem = gs_problem_make(GS_BF16, GS_NN, 100, 104, 104);
    snprintf(path, sizeof path, "%s/other.weights", folder);
    assert_int_equal(gs_weights_create(&weights, 1, 1, &error), GS_OK);
    assert_int_equal(gs_weights_save(&weights, path, &error), GS_OK);
    gs_weights_free(&weights);
    assert_int_equal(gs_file_read(path, 1 << 26, &data, &size, &error), GS_OK);
    char *const numbers = strstr(data, "\nnumbers ");
    assert_non_null(numbers);
    numbers[9] = numbers[9] == '9' ? '8' : (char)(numbers[9] + 1);
    assert_int_equal(gs_file_write(path, data, size, &error), GS_OK);
    free(data);

    const int level = gs_log_level();
    setenv("GEMMSMITH_WEIGHTS", path, 1);
    gs_log_set_sink(&s, hear, &s, GS_LOG_WARNING);
    gs_context *context = open_with(row_4096);
    assert_int_equal(s.lines, 1);
    assert_non_null(strstr(s.last, "other numbers than this program's"));
    assert_non_null(strstr(s.last, "GEMMSMITH_WEIGHTS: "));
    assert_int_equal(gs_context_status(context, NULL), GS_ERROR_CORRUPT);   /* for programs that do not read the log */
    assert_int_equal(gs_context_status(context, &error), GS_ERROR_CORRUPT);
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, "other numbers than this program's"));
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    assert_non_null(strstr(gs_plan_why(plan), "the time model's choice"));
    gs_plan_destroy(&plan);
    const gs_problem known = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 4096);
    assert_int_equal(gs_plan_create(context, &known, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_TABLE);
    gs_plan_destroy(&plan);
    gs_close(&context);
    assert_int_equal(s.lines, 1);
    setenv("GEMMSMITH_WEIGHTS", "absent.weights", 1);
    context = open_with("");
    assert_int_equal(s.lines, 2);
    assert_int_equal(gs_context_status(context, &error), GS_ERROR_NOT_FOUND);
    gs_close(&context);
    unsetenv("GEMMSMITH_WEIGHTS");
    context = open_with("f16:128x256x257:tn magic/1\n");   /* a row that cannot be parsed */
    assert_int_equal(s.lines, 3);
    assert_int_equal(gs_context_status(context, &error), GS_ERROR_CORRUPT);
    assert_non_null(strstr(error.text, "1 row skipped; the first: "));
    gs_close(&context);
    char edited[1024];   /* an edited row is used, and reported */
    snprintf(edited, sizeof edited, "# checksum 0123456789abcdef\n%s", row_4096);
    context = open_with(edited);
    assert_int_equal(s.lines, 4);
    assert_int_equal(gs_context_status(context, &error), GS_ERROR_CORRUPT);
    assert_non_null(strstr(error.text, "not those that were written"));
    assert_null(strstr(error.text, "skipped"));
    assert_int_equal(gs_plan_create(context, &known, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_TABLE);
    gs_plan_destroy(&plan);
    gs_close(&context);
    context = open_with(row_4096);
    assert_int_equal(gs_context_status(context, &error), GS_OK);
    assert_int_equal(error.status, GS_OK);
    gs_close(&context);
    assert_int_equal(gs_context_status(NULL, &error), GS_ERROR_ARGUMENT);
    gs_log_drop_sink(&s);
    gs_log_set_level(level);
}

/* The schedule of the row without C cannot add C: a similar row is used. */
static void test_row_that_suits(void **state)
{
    (void)state;
    need_compiler();
    gs_context *context = open_with("f16:4096x4096x4096:tn ws/128x256x64/s4/c2x1/lag/g8 196.2 199.1 1.0150 1.0120 1.0170 1755 nvidia-h200 90 132 130100 2026-01-01T00:00:00Z test\n");
    gs_plan *plan = NULL;
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 4096);
    problem.beta = 1;
    assert_int_equal(gs_plan_create(context, &problem, &plan, NULL), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_NEAREST);
    assert_int_equal(strncmp(gs_plan_schedule(plan), "ws/128x256x64/s4/c2x1/", strlen("ws/128x256x64/s4/c2x1/")), 0);
    assert_null(strstr(gs_plan_schedule(plan), "lag"));
    assert_int_equal(gs_plan_alignment(plan, 'c'), 16);
    gs_plan_destroy(&plan);
    gs_close(&context);
}

static void test_ladder(void **state)
{
    (void)state;
    need_compiler();
    gs_context *context = open_with(row_4096);
    gs_error error = {0};
    gs_plan *plan = NULL;

    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 4096);
    if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) fail_msg("%s", error.text);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_TABLE);
    assert_string_equal(gs_plan_schedule(plan), "ws/128x256x64/s4/c2x1/coop/g8");
    assert_non_null(strstr(gs_plan_why(plan), "tuned table, exact"));
    assert_int_equal(gs_plan_alignment(plan, 'a'), 16);
    assert_int_equal(gs_plan_run(plan, &good, NULL), GS_OK);
    assert_int_equal(last_launch()->grid[0], 132);
    assert_int_equal(last_launch()->block[0], 384);
    assert_int_equal(last_launch()->cluster[0], 2);
    gs_plan_destroy(&plan);
    assert_null(plan);

    problem = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 8192);
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_NEAREST);
    assert_string_equal(gs_plan_schedule(plan), "ws/128x256x64/s4/c2x1/coop/g8");
    gs_plan_destroy(&plan);

    problem = gs_problem_make(GS_BF16, GS_TN, 4096, 4096, 4096);   /* the same with the other input type */
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_NEAREST);
    assert_string_equal(gs_plan_schedule(plan), "ws/128x256x64/s4/c2x1/coop/g8");
    assert_non_null(strstr(gs_plan_why(plan), "nearest (f16:4096x4096x4096:tn)"));
    gs_plan_destroy(&plan);

    problem = gs_problem_make(GS_BF16, GS_NN, 100, 100, 100);
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    gs_plan_destroy(&plan);

    /* The row says cuBLASLt, which this context must not use: the time model chooses. */
    problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    gs_plan_destroy(&plan);

    problem = gs_problem_make(GS_F16, GS_TN, 0, 64, 64);
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_EMPTY);
    const int before = calls("cuLaunchKernelEx");
    assert_int_equal(gs_plan_run(plan, &good, NULL), GS_OK);
    assert_int_equal(calls("cuLaunchKernelEx"), before);
    gs_plan_destroy(&plan);

    assert_int_equal(gs_plan_create_schedule(context, &(gs_problem){0}, "simple", &plan, &error), GS_ERROR_ARGUMENT);
    problem = gs_problem_make(GS_F16, GS_NN, 33, 35, 37);
    assert_int_equal(gs_plan_create_schedule(context, &problem, "simple", &plan, &error), GS_OK);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_EXPLICIT);
    gs_plan_destroy(&plan);
    /* An empty problem is not launched, even with a named schedule. */
    const gs_problem empty = gs_problem_make(GS_F16, GS_TN, 64, 0, 64);
    assert_int_equal(gs_plan_create_schedule(context, &empty, "simple", &plan, &error), GS_OK);
    assert_int_equal(gs_plan_run(plan, &(gs_args){.size = sizeof(gs_args), .a = operand, .b = operand}, NULL), GS_OK);
    assert_int_equal(calls("cuLaunchKernelEx"), before);
    gs_plan_destroy(&plan);
    assert_int_equal(gs_plan_create_schedule(context, &problem, "ws/128x256x64/s4/c2x1/coop/g8", &plan, &error),
                     GS_ERROR_UNSUPPORTED);
    assert_null(plan);
    assert_int_equal(gs_plan_create_schedule(context, &problem, "nonsense", &plan, &error), GS_ERROR_PARSE);
    assert_int_equal(gs_plan_create_schedule(context, &problem, "cublaslt", &plan, &error), GS_ERROR_NO_LIBRARY);
    gs_close(&context);
    assert_null(context);
    assert_int_equal(live(), 0);
}

static void test_arguments(void **state)
{
    (void)state;
    need_compiler();
    gs_context *context = open_with(row_4096);
    gs_error error = {0};
    gs_plan *plan = NULL;
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 4096);
    problem.beta = 1;
    assert_int_equal(gs_plan_create(NULL, &problem, &plan, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_plan_create(context, NULL, &plan, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_plan_create(context, &problem, NULL, &error), GS_ERROR_ARGUMENT);
    if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) fail_msg("%s", error.text);
    assert_int_equal(gs_plan_run(NULL, &good, NULL), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_plan_run(plan, NULL, NULL), GS_ERROR_ARGUMENT);
    gs_args args = good;
    args.a = NULL;
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_ERROR_ARGUMENT);
    args = good;
    args.c = NULL;
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_ERROR_ARGUMENT);
    args = good;
    args.d = operand + 2;
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_ERROR_ALIGNMENT);
    assert_int_equal(gs_plan_run(plan, &good, NULL), GS_OK);
    gs_plan_destroy(&plan);
    gs_plan_destroy(&plan);
    gs_plan_destroy(NULL);
    gs_close(&context);
    gs_close(NULL);
    assert_int_equal(gs_open(NULL, NULL, &error), GS_ERROR_ARGUMENT);
}

static void test_runs_allocate_nothing(void **state)
{
    (void)state;
    need_compiler();
    gs_context *context = open_with(row_4096);
    gs_plan *plan = NULL;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 4096);
    assert_int_equal(gs_plan_create(context, &problem, &plan, NULL), GS_OK);
    gs_args other = good;
    other.d = operand;
    setenv("FAKE_CUDA_MAPS", "3", 1);
    const int before = allocations, device_before = calls("cuMemAlloc_v2"), encoded = calls("cuTensorMapEncodeTiled");
    assert_true(before > 0);   /* the counter works */
    for (int i = 0; i < 10; i++) assert_int_equal(gs_plan_run(plan, &good, NULL), GS_OK);
    assert_int_equal(calls("cuTensorMapEncodeTiled") - encoded, 3);   /* three maps, each encoded once */
    for (int i = 0; i < 10; i++) assert_int_equal(gs_plan_run(plan, i % 2 ? &good : &other, NULL), GS_OK);
    assert_int_equal(calls("cuTensorMapEncodeTiled") - encoded, 4);   /* one more */
    for (int i = 0; i < 160; i++) {   /* maps of buffers in rotation are cached, and each launch gets its own */
        const char *const buffer = operand + i % 16 * 256;
        const gs_args rotated = {.size = sizeof(gs_args), .a = buffer, .b = buffer + 16384, .c = buffer + 32768, .d = (char *)operand + 49152 + i % 16 * 256};
        assert_int_equal(gs_plan_run(plan, &rotated, NULL), GS_OK);
        assert_ptr_equal(last_launch()->addresses[0], buffer);
        assert_ptr_equal(last_launch()->addresses[1], buffer + 16384);
        assert_ptr_equal(last_launch()->addresses[2], rotated.d);
    }
    assert_in_range(calls("cuTensorMapEncodeTiled") - encoded, 4 + 45, 4 + 60);
    /* A map whose encoding failed must not stay in the cache. */
    gs_args fresh = good;
    fresh.b = operand + 20480;
    setenv("FAKE_CUDA_FAIL", "cuTensorMapEncodeTiled", 1);
    assert_int_equal(gs_plan_run(plan, &fresh, NULL), GS_ERROR_DEVICE);
    unsetenv("FAKE_CUDA_FAIL");
    assert_int_equal(gs_plan_run(plan, &fresh, NULL), GS_OK);
    assert_ptr_equal(last_launch()->addresses[1], fresh.b);
    unsetenv("FAKE_CUDA_MAPS");
    assert_int_equal(allocations, before);
    assert_int_equal(calls("cuMemAlloc_v2"), device_before);
    gs_plan_destroy(&plan);
    gs_close(&context);
}

static void test_gemm_keeps_plans(void **state)
{
    (void)state;
    need_compiler();
    gs_context *context = open_with(row_4096);
    gs_error error = {0};
    for (int round = 0; round < 2; round++) {
        const int loaded = calls("cuModuleLoadDataEx");
        for (int n = 8; n <= 8 * 40; n += 8) {   /* enough to make the table of plans grow */
            const gs_problem problem = gs_problem_make(GS_F16, GS_NN, 16, n, 32);
            if (gs_gemm(context, &problem, &good, NULL, &error) != GS_OK) fail_msg("%s", error.text);
        }
        assert_int_equal(calls("cuModuleLoadDataEx") - loaded, round == 0 ? 40 : 0);
    }
    /* Another alpha needs no other plan, nor does another stream if the plan has no workspace; a beta that reads C does. */
    gs_problem scaled = gs_problem_make(GS_F16, GS_NN, 16, 8, 32);
    const int before = calls("cuModuleLoadDataEx");
    scaled.alpha = 3;
    assert_int_equal(gs_gemm(context, &scaled, &good, operand, &error), GS_OK);
    assert_int_equal(calls("cuModuleLoadDataEx"), before);
    scaled.beta = 1;
    assert_int_equal(gs_gemm(context, &scaled, &good, NULL, &error), GS_OK);
    assert_int_equal(calls("cuModuleLoadDataEx"), before + 1);
    /* A pointer that is not aligned enough for the plan gets another kernel. */
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 4096);
    gs_args shifted = good;
    shifted.a = operand + 2;
    if (gs_gemm(context, &problem, &shifted, NULL, &error) != GS_OK) fail_msg("%s", error.text);
    shifted.a = NULL;
    assert_int_equal(gs_gemm(context, &problem, &shifted, NULL, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(error.status, GS_ERROR_ARGUMENT);
    problem.m = -1;
    assert_int_equal(gs_gemm(context, &problem, &good, NULL, &error), GS_ERROR_RANGE);
    gs_close(&context);
    assert_int_equal(live(), 0);
}

/* Each driver call that makes a plan fails in turn: a status, a message that names the call, no leak. */
static void test_failing_driver(void **state)
{
    (void)state;
    need_compiler();
    static const char *const failing[] = {"cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncSetAttribute",
                                          "cuOccupancyMaxActiveClusters"};
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++) {
        gs_context *context = open_with(row_4096);
        gs_plan *plan = NULL;
        gs_error error = {0};
        const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 4096, 4096, 4096);
        setenv("FAKE_CUDA_FAIL", failing[i], 1);
        const gs_status status = gs_plan_create_schedule(context, &problem, "ws/128x256x64/s4/c2x1/coop/g8", &plan, &error);
        unsetenv("FAKE_CUDA_FAIL");
        if (status == GS_OK) fail_msg("%s failed, and nobody noticed", failing[i]);
        assert_non_null(strstr(error.text, failing[i]));
        assert_null(plan);
        gs_close(&context);
        assert_int_equal(live(), 0);
    }
}

/* A user kernel is never run without inspection: without an inspector it is refused before it is compiled. */
static void test_no_inspector(void **state)
{
    (void)state;
    gs_device *device;
    gs_contender contender;
    gs_error error = {0};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 128, 64, 33);
    const gs_kernel kernel = {.name = "k.cu", .source = "no CUDA C at all",
                              .manifest = {.accumulator = GS_F32, .align = {2, 2, 2, 2}, .entry_count = 1,
                                           .entry = {{.name = "k", .grid = {{"1"}, {"1"}, {"1"}}, .block = {32, 1, 1}, .cluster = {1, 1, 1}}}}};
    assert_int_equal(gs_device_open(&device, "cuda:0", cache, &error), GS_OK);
    assert_int_equal(gs_contender_kernel(&contender, device, "k", &kernel, &error), GS_OK);
    assert_int_equal(contender.prepare(&contender, &problem, &error), GS_ERROR_FORBIDDEN);
    assert_non_null(strstr(error.text, "nobody inspects user kernels"));
    contender.destroy(&contender);
    gs_device_close(&device);
}

/* A schedule that does not support the problem is refused with a reason, before anything is compiled. */
static void test_not_its_problem(void **state)
{
    (void)state;
    gs_device *device;
    gs_contender contender;
    gs_error error = {0};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 17, 4096, 4096);
    assert_int_equal(gs_device_open(&device, "cuda:0", cache, &error), GS_OK);
    assert_int_equal(gs_contender_schedule(&contender, device, "gemv/8x16/w8/d4/r128/p0/k1/any", &error), GS_OK);
    assert_int_equal(contender.prepare(&contender, &problem, &error), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "m");
    contender.destroy(&contender);
    gs_device_close(&device);
}

/* The driver's limits for the compiled code are compared with the launch. */
static void test_declared(void **state)
{
    (void)state;
    need_compiler();
    static const struct {
        const char *name, *told, *said;   /* name: FAKE_CUDA_*; told: its value; said: the expected error, NULL: success */
    } cases[] = {
        {"THREADS", "32", NULL},
        {"THREADS", "31", "32 threads, the code of k takes at most 31"},
        {"STATIC", "32448", NULL},
        {"STATIC", "32449", "200000 bytes of dynamic and 32449 of static shared memory: a block of k may have 232448 together"},
    };
    gs_device *device;
    gs_error error = {0};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 128, 64, 33);
    const gs_kernel kernel = {.name = "k.cu", .source = "#include \"common/args.h\"\nextern \"C\" __global__ void k(gs_kernel_args) {}",
                              .manifest = {.accumulator = GS_F32, .align = {2, 2, 2, 2}, .entry_count = 1,
                                           .entry = {{.name = "k", .grid = {{"1"}, {"1"}, {"1"}}, .smem = {"200000"}, .block = {32, 1, 1}, .cluster = {1, 1, 1}}}}};
    assert_int_equal(gs_device_open(&device, "cuda:0", cache, &error), GS_OK);
    device->inspector = &gs_inspect_user_kernels;
    assert_int_equal(device->caps.smem_block, 232448);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gs_contender contender;
        char name[40];
        snprintf(name, sizeof name, "FAKE_CUDA_%s", cases[i].name);
        if (cases[i].told) setenv(name, cases[i].told, 1);
        assert_int_equal(gs_contender_kernel(&contender, device, "k", &kernel, &error), GS_OK);
        const gs_status status = contender.prepare(&contender, &problem, &error);
        if (status != (cases[i].said ? GS_ERROR_LAUNCH : GS_OK)) fail_msg("%s=%s: status %d: %s", name, cases[i].told, (int)status, error.text);
        if (cases[i].said && !strstr(error.text, cases[i].said)) fail_msg("%s is not in: %s", cases[i].said, error.text);
        contender.destroy(&contender);
        unsetenv(name);
    }
    gs_device_close(&device);
}

/* The part of the workspace that the manifest declares zeroed is zeroed when the workspace is made, the rest is not touched. It must not be larger than the workspace. */
static void test_zeroed_workspace(void **state)
{
    (void)state;
    need_compiler();
    static const struct {
        const char *workspace, *zeroed;
        gs_status   status;
    } cases[] = {
        {"m*n", "4*cdiv(m,64)", GS_OK},
        {"m*n", "m*n",          GS_OK},
        {"m*n", "m*n+4",        GS_ERROR_RANGE},
        {"m*n", "k",            GS_ERROR_RANGE},   /* k = 33 is no multiple of 4 */
        {"m*n", "m*n-n*m-4",    GS_ERROR_RANGE},
        {"m*n", "",             GS_OK},
        {"",    "",             GS_OK},
    };
    gs_device *device;
    gs_error error = {0};
    assert_int_equal(gs_device_open(&device, "cuda:0", cache, &error), GS_OK);
    device->inspector = &gs_inspect_user_kernels;
    const int before = live();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gs_kernel kernel = {.name = "k.cu", .source = "#include \"common/args.h\"\nextern \"C\" __global__ void k(gs_kernel_args) {}",
                            .manifest = {.accumulator = GS_F32, .align = {2, 2, 2, 2}, .entry_count = 1,
                                         .entry = {{.name = "k", .grid = {{"1"}, {"1"}, {"1"}}, .block = {32, 1, 1}, .cluster = {1, 1, 1}}}}};
        snprintf(kernel.manifest.workspace.text, sizeof kernel.manifest.workspace.text, "%s", cases[i].workspace);
        snprintf(kernel.manifest.zeroed.text, sizeof kernel.manifest.zeroed.text, "%s", cases[i].zeroed);
        const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 128, 64, 33);
        gs_contender contender;
        assert_int_equal(gs_contender_kernel(&contender, device, "k", &kernel, &error), GS_OK);
        const gs_status status = contender.prepare(&contender, &problem, &error);
        if (status != cases[i].status) fail_msg("zeroed %s: status %d: %s", cases[i].zeroed, (int)status, error.text);
        if (status != GS_OK) assert_string_equal(error.field, strchr(cases[i].zeroed, '-') ? "formula" : "zeroed");
        if (status == GS_OK && cases[i].workspace[0]) {
            const size_t zeroed = cases[i].zeroed[0] == '4' ? 8 : cases[i].zeroed[0] ? 8192 : 0;
            assert_int_equal(contender.zeroed_bytes, zeroed);
            const unsigned char *const bytes = (const unsigned char *)(uintptr_t)contender.zeroed;
            for (size_t b = 0; b < zeroed; b++) assert_int_equal(bytes[b], 0);
            if (zeroed < 4096) assert_int_equal(bytes[zeroed], 0x5a);
        }
        contender.destroy(&contender);
        assert_int_equal(live(), before);
    }
    gs_device_close(&device);
}

/* Unreadable rows or a missing user table do not make gs_open fail. */
static void test_odd_tables(void **state)
{
    (void)state;
    gs_context *context = open_with("f16:oops ws/none 1 2 3\n");
    gs_close(&context);
    setenv("XDG_DATA_HOME", "/nonexistent", 1);
    gs_config config = gs_config_default();
    config.cache_path = cache;
    gs_error error = {0};
    assert_int_equal(gs_open(&context, &config, &error), GS_OK);
    unsetenv("XDG_DATA_HOME");
    gs_close(&context);
    assert_int_equal(live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ladder),
        cmocka_unit_test(test_row_that_suits),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_bad_row),
        cmocka_unit_test(test_weights_of_other_features),
        cmocka_unit_test(test_named_tables),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_runs_allocate_nothing),
        cmocka_unit_test(test_gemm_keeps_plans),
        cmocka_unit_test(test_failing_driver),
        cmocka_unit_test(test_no_inspector), cmocka_unit_test(test_not_its_problem),
        cmocka_unit_test(test_declared),
        cmocka_unit_test(test_zeroed_workspace),
        cmocka_unit_test(test_odd_tables),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
