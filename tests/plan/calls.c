/* SPDX-License-Identifier: MIT
 * Calls around plans, with a fake driver: sizes of structs, saving and loading, making plans in the background, the workspace limit, the log callback, scalars of a
 * call, and the limit on the plans that gs_gemm keeps. */
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
#include "base/hash.h"
#include "base/log.h"
#include "device/device.h"
#include "fake/opened.h"
#include "loaded/loaded.h"
#include "problem/layout.h"

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

static gs_error error;
static char     operand[1 << 16] __attribute__((aligned(256)));

static int group_setup(void **state)
{
    (void)state;
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CUBLASLT", "/nonexistent", 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    open_fake();
    return 0;
}

static void need_compiler(void)
{
    gs_error why;
    if (gs_compiler_version(&why) == 0) skip();
}

static gs_config settings(void)
{
    gs_config config = gs_config_default();
    config.tuned_path = GS_SOURCE_DIR "/tests/plan";   /* a folder without tables */
    config.use_cublaslt = 0;
    return config;
}

static gs_context *open_context(const gs_config *config)
{
    gs_context *context = NULL;
    OK(gs_open(&context, config, &error));
    return context;
}

static gs_args arguments(void) { return gs_args_make(operand, operand + 16384, operand + 32768, operand + 49152); }

static void test_sizes(void **state)
{
    (void)state;
    need_compiler();
    const gs_config good = settings();
    gs_config config = good;
    gs_context *context;
    config.size = 0;
    assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "size");
    assert_null(context);
    config = good;
    config.reserved[5] = 1;
    assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_UNSUPPORTED);
    config = good;
    config.measure = 2;
    assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_ARGUMENT);
    config = good;
    config.cached_plans = 0;
    assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_ARGUMENT);
    config = good;
    config.size = offsetof(gs_config, reserved);   /* the size that an older program passes */
    context = open_context(&config);

    gs_problem problem = gs_problem_make(GS_F16, GS_NN, 16, 16, 16);
    gs_plan *plan;
    problem.size = offsetof(gs_problem, reserved);
    problem.reserved[0] = 1;
    OK(gs_plan_create_schedule(context, &problem, "simple", &plan, &error));
    assert_int_equal(gs_plan_problem(plan)->size, sizeof(gs_problem));
    assert_int_equal(gs_plan_problem(plan)->reserved[0], 0);
    struct {
        gs_args  known;
        uint64_t later;
    } larger = {.known = arguments()};
    larger.known.size = sizeof larger;
    assert_int_equal(gs_plan_run(plan, &larger.known, NULL), GS_OK);
    assert_int_equal(gs_gemm(context, &problem, &larger.known, NULL, &error), GS_OK);
    larger.later = 1;
    assert_int_equal(gs_plan_run(plan, &larger.known, NULL), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_gemm(context, &problem, &larger.known, NULL, &error), GS_ERROR_ARGUMENT);
    gs_args args = arguments();
    args.size = 0;
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_ERROR_ARGUMENT);
    args = arguments();
    args.size = offsetof(gs_args, reserved);
    args.reserved[0] = 1;
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_OK);
    args.size = sizeof args;
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_ERROR_UNSUPPORTED);
    args = arguments();
    args.reserved_flags = 1;
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_gemm(context, &problem, &args, NULL, &error), GS_ERROR_UNSUPPORTED);
    problem.size = sizeof problem;
    args = arguments();
    assert_int_equal(gs_gemm(context, &problem, &args, NULL, &error), GS_ERROR_UNSUPPORTED);
    gs_plan_destroy(&plan);
    gs_close(&context);
    assert_int_equal(live(), 0);
}

static void count_lines(void *self, int level, const char *text)
{
    (void)level;
    *(int *)self += strstr(text, "pack not used: ") != NULL;
}

/* A pack whose path is too long is reported as left out, like a missing one. */
static void test_long_pack_path(void **state)
{
    (void)state;
    char path[5000];
    gs_config config = settings();
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    config.pack_path = path;
    int lines = 0;
    const int level = gs_log_level();
    gs_log_set_sink(&lines, count_lines, &lines, GS_LOG_WARNING);
    gs_context *context = open_context(&config);
    gs_log_drop_sink(&lines);
    gs_log_set_level(level);
    assert_int_equal(lines, 1);
    assert_int_equal(gs_context_status(context, &error), GS_ERROR_RANGE);
    assert_string_equal(error.field, "pack_path");
    gs_close(&context);
}

/* gs_plan_run, gs_gemm and gs_plan_check name the argument that is wrong. */
static void test_arguments(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_context(&config);
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 16, 64, 4096);
    gs_plan *plan;
    OK(gs_plan_create_schedule(context, &problem, "splitk/16x64x64/s8/ba/c1x1/t8/fixed", &plan, &error));
    assert_true(gs_plan_workspace(plan) > 0);
    gs_args args = arguments();
    OK(gs_plan_check(plan, &args, &error));
    args.workspace = operand + 256;
    OK(gs_plan_check(plan, &args, &error));
    args.workspace = operand + 8;
    assert_int_equal(gs_plan_check(plan, &args, &error), GS_ERROR_ALIGNMENT);
    assert_string_equal(error.field, "workspace");
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_ERROR_ALIGNMENT);
    args = arguments();
    args.b = NULL;
    assert_int_equal(gs_plan_check(plan, &args, NULL), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_gemm(context, &problem, &args, NULL, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "b");
    const float beta = 1;
    args = arguments();
    args.beta = &beta;
    assert_int_equal(gs_gemm(context, &problem, &args, NULL, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "beta");
    assert_int_equal(gs_plan_check(plan, NULL, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_plan_check(NULL, &args, &error), GS_ERROR_ARGUMENT);
    gs_plan_destroy(&plan);
    gs_close(&context);
    assert_int_equal(live(), 0);
}

static void test_scalars(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_context(&config);
    const gs_problem problem = gs_problem_make(GS_F16, GS_NN, 16, 16, 16);
    const float zero = 0, one = 1;
    gs_plan *plan;
    OK(gs_plan_create_schedule(context, &problem, "simple", &plan, &error));
    gs_args args = arguments();
    args.alpha = &one;
    args.beta = &zero;
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_OK);
    args.beta = &one;   /* the kernel does not read C */
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_ERROR_ARGUMENT);
    gs_plan_destroy(&plan);
    gs_close(&context);
}

/* The operands of a loaded plan include offsets and aux. */
static void test_saved_operands(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_context(&config);
    static const char *const problems[] = {"f16:64x256x64:tn:g=4", "f16:64x256x64:tn:ep=gelu+aux", "f16:64x256x64:tn:ep=bias+relu", "f16:64x256x64:tn:ep=scale_m+scale_n"};
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        gs_problem problem;
        gs_plan *plan = NULL, *again = NULL;
        size_t size = 0;
        OK(gs_problem_parse(&problem, problems[i], &error));
        OK(gs_plan_create_schedule(context, &problem, "simple", &plan, &error));
        OK(gs_plan_save(plan, NULL, &size, &error));
        char *const bytes = malloc(size);
        assert_non_null(bytes);
        OK(gs_plan_save(plan, bytes, &size, &error));
        OK(gs_plan_load(context, bytes, size, &again, &error));
        for (const char *name = GS_OPERAND_LETTERS; *name; name++) assert_int_equal(gs_plan_alignment(again, *name), gs_plan_alignment(plan, *name));
        gs_args args = arguments();
        args.offsets = args.a;
        args.aux = args.d;
        args.bias = args.a;
        if (i == 3) assert_int_equal(gs_plan_run(again, &args, NULL), GS_ERROR_ARGUMENT);   /* one operand is missing */
        args.scale_m = args.scale_n = args.a;
        assert_int_equal(gs_plan_run(again, &args, NULL), GS_OK);
        args.scale_n = (const float *)((const char *)args.a + 2);
        args.offsets = (const int32_t *)((const char *)args.a + 2);
        args.aux = (char *)args.d + 1;
        assert_int_equal(gs_plan_run(again, &args, NULL), i == 2 ? GS_OK : GS_ERROR_ALIGNMENT);   /* a plan that does not read them does not check them */
        gs_plan_destroy(&again);
        gs_plan_destroy(&plan);
        free(bytes);
    }
    gs_close(&context);
}

static void test_saved(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_context(&config);
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 256, 64), nothing = gs_problem_make(GS_F16, GS_TN, 0, 256, 64);
    static const char *const schedules[] = {"ws/64x64x64/s4/c2x1/coop/g8", "simple", NULL, "simple"};
    for (int i = 0; i < 4; i++) {   /* the last two multiply nothing */
        gs_plan *plan = NULL, *again = NULL;
        size_t size = 0, room;
        OK(schedules[i] ? gs_plan_create_schedule(context, i < 2 ? &problem : &nothing, schedules[i], &plan, &error) : gs_plan_create(context, &nothing, &plan, &error));
        OK(gs_plan_save(plan, NULL, &size, &error));
        char *const bytes = malloc(size);
        assert_non_null(bytes);
        room = size - 1;
        assert_int_equal(gs_plan_save(plan, bytes, &room, &error), GS_ERROR_RANGE);
        assert_int_equal(room, size);
        OK(gs_plan_save(plan, bytes, &room, &error));
        setenv("GEMMSMITH_NVRTC", "/nonexistent", 1);
        OK(gs_plan_load(context, bytes, size, &again, &error));
        unsetenv("GEMMSMITH_NVRTC");
        assert_string_equal(gs_plan_schedule(again), gs_plan_schedule(plan));
        assert_string_equal(gs_plan_why(again), gs_plan_why(plan));
        assert_int_equal(gs_plan_origin(again), gs_plan_origin(plan));
        assert_memory_equal(gs_plan_problem(again), gs_plan_problem(plan), sizeof problem);
        for (const char *name = GS_OPERAND_LETTERS; *name; name++) assert_int_equal(gs_plan_alignment(again, *name), gs_plan_alignment(plan, *name));
        assert_int_equal(gs_plan_alignment(plan, 'a' + GS_OPERANDS), 0);
        const gs_args args = arguments();
        assert_int_equal(gs_plan_run(plan, &args, NULL), GS_OK);
        const fake_cuda_launch before = *last_launch();
        assert_int_equal(gs_plan_run(again, &args, NULL), GS_OK);
        assert_memory_equal(before.grid, last_launch()->grid, sizeof before.grid);
        char *const twice = calloc(1, size);   /* saving the loaded plan gives the same bytes */
        assert_non_null(twice);
        OK(gs_plan_save(again, twice, &room, &error));
        assert_int_equal(room, size);
        assert_memory_equal(twice, bytes, size);
        free(twice);
        gs_plan_destroy(&again);
        for (size_t at = 0; at < size; at += 1 + size / 97) {   /* a flipped bit, then a truncated buffer */
            bytes[at] ^= 1;
            assert_int_equal(gs_plan_load(context, bytes, size, &again, &error), GS_ERROR_CORRUPT);
            assert_null(again);
            bytes[at] ^= 1;
            assert_int_equal(gs_plan_load(context, bytes, at, &again, &error), GS_ERROR_CORRUPT);
        }
        assert_int_equal(gs_plan_load(NULL, bytes, size, &again, &error), GS_ERROR_ARGUMENT);
        assert_int_equal(gs_plan_load(context, NULL, size, &again, &error), GS_ERROR_ARGUMENT);
        assert_int_equal(gs_plan_load(context, bytes, size, NULL, &error), GS_ERROR_ARGUMENT);
        assert_int_equal(gs_plan_save(NULL, bytes, &size, &error), GS_ERROR_ARGUMENT);
        assert_int_equal(gs_plan_save(plan, bytes, NULL, &error), GS_ERROR_ARGUMENT);

        char *const version = memmem(bytes, size, GS_VERSION_TEXT, strlen(GS_VERSION_TEXT)), *const target = memmem(bytes, size, "sm_90a", 6);
        char *const places[] = {version, target};
        for (int j = 0; j < 2; j++) {   /* another version, then another GPU, each with the right checksum */
            places[j][4] ^= 1;
            const gs_hash hash = gs_hash_bytes(bytes + 25, size - 25);
            memcpy(bytes + 9, &hash, sizeof hash);
            assert_int_equal(gs_plan_load(context, bytes, size, &again, &error), GS_ERROR_UNSUPPORTED);
            assert_non_null(strstr(error.text, "save it again"));
            places[j][4] ^= 1;
        }
        free(bytes);
        gs_plan_destroy(&plan);
    }
    gs_close(&context);
    assert_int_equal(live(), 0);
}

/* Loads the bytes after setting their size and checksum. */
static gs_status load_as(gs_context *context, char *bytes, uint64_t size)
{
    gs_plan *plan = NULL;
    memcpy(bytes + 25, &size, sizeof size);
    const gs_hash hash = gs_hash_bytes(bytes + 25, size - 25);
    memcpy(bytes + 9, &hash, sizeof hash);
    const gs_status status = gs_plan_load(context, bytes, size, &plan, &error);
    assert_true((status == GS_OK) == (plan != NULL));
    gs_plan_destroy(&plan);
    return status;
}

/* Contents that gemmsmith never writes are refused even if the checksum is right. */
static void test_saved_contents(void **state)
{
    (void)state;
    const gs_config config = settings();
    gs_context *context = open_context(&config);
    const gs_problem nothing = gs_problem_make(GS_F16, GS_TN, 0, 256, 64);
    gs_plan *plan = NULL;
    char bytes[1024];
    size_t size = sizeof bytes;
    OK(gs_plan_create(context, &nothing, &plan, &error));
    OK(gs_plan_save(plan, bytes, &size, &error));
    gs_plan_destroy(&plan);

    char *part[4], *at = bytes + 33;   /* strings: version, target, problem, numbers */
    for (int i = 0; i < 4; i++) {
        uint64_t wide;
        memcpy(&wide, at, sizeof wide);
        part[i] = at + sizeof wide;
        at = part[i] + wide;
    }
    int32_t numbers[2];   /* origin, kind */
    memcpy(numbers, part[3], sizeof numbers);
    assert_int_equal(numbers[0], GS_ORIGIN_EMPTY);
    assert_int_equal(numbers[1], 0);
    for (int32_t origin = GS_ORIGIN_TABLE - 1; origin <= GS_ORIGIN_PACK + 1; origin++) {
        memcpy(part[3], &origin, sizeof origin);
        assert_int_equal(load_as(context, bytes, size), origin >= GS_ORIGIN_TABLE && origin <= GS_ORIGIN_PACK ? GS_OK : GS_ERROR_CORRUPT);
    }
    memcpy(part[3], numbers, sizeof numbers);
    for (int32_t kind = -1; kind <= 3; kind++) {   /* 1: the kernel is missing; 2: cuBLASLt is not available */
        memcpy(part[3] + 4, &kind, sizeof kind);
        const gs_status status = load_as(context, bytes, size);
        if (kind == 2) assert_true(status != GS_OK && status != GS_ERROR_CORRUPT);
        else assert_int_equal(status, kind == 0 ? GS_OK : GS_ERROR_CORRUPT);
    }
    memcpy(part[3], numbers, sizeof numbers);
    char *const rows = strchr(part[2], ':') + 1;   /* M is 0: an empty plan of a problem that has a D would compute nothing */
    assert_int_equal(*rows, '0');
    *rows = '8';
    assert_int_equal(load_as(context, bytes, size), GS_ERROR_CORRUPT);
    *rows = '0';
    part[2][0] ^= 1;
    assert_int_equal(load_as(context, bytes, size), GS_ERROR_CORRUPT);
    part[2][0] ^= 1;
    for (size_t less = 33; less < size; less++) assert_int_equal(load_as(context, bytes, less), GS_ERROR_CORRUPT);
    assert_int_equal(load_as(context, bytes, size), GS_OK);
    gs_close(&context);
    assert_int_equal(live(), 0);
}

static void test_pending(void **state)
{
    (void)state;
    need_compiler();
    const gs_config config = settings();
    gs_context *context = open_context(&config);
    const gs_problem problem = gs_problem_make(GS_F16, GS_NN, 16, 16, 16), wrong = gs_problem_make(GS_F16, GS_NN, -1, 16, 16);
    gs_pending *pending;
    gs_plan *plan;
    assert_int_equal(gs_plan_start(context, &wrong, &pending, &error), GS_ERROR_RANGE);
    assert_null(pending);
    assert_int_equal(gs_plan_start(NULL, &problem, &pending, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_plan_start(context, &problem, NULL, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_plan_wait(&pending, &plan, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_plan_ready(NULL), 0);
    OK(gs_plan_start(context, &problem, &pending, &error));
    while (!gs_plan_ready(pending)) continue;
    assert_int_equal(gs_plan_wait(&pending, NULL, &error), GS_ERROR_ARGUMENT);
    OK(gs_plan_wait(&pending, &plan, &error));
    assert_null(pending);
    const gs_args args = arguments();
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_OK);
    gs_plan_destroy(&plan);
    setenv("FAKE_CUDA_FAIL", "cuModuleLoadDataEx", 1);
    OK(gs_plan_start(context, &problem, &pending, &error));
    assert_int_not_equal(gs_plan_wait(&pending, &plan, &error), GS_OK);
    unsetenv("FAKE_CUDA_FAIL");
    assert_null(plan);
    assert_non_null(strstr(error.text, "cuModuleLoadDataEx"));
    gs_close(&context);
    assert_int_equal(live(), 0);
}

static void test_workspace_limit(void **state)
{
    (void)state;
    need_compiler();
    gs_config config = settings();
    config.workspace_limit = 0;
    gs_context *context = open_context(&config);
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 512, 512, 512);
    gs_plan *plan;
    OK(gs_plan_create(context, &problem, &plan, &error));
    assert_int_equal(gs_plan_workspace(plan), 0);
    gs_plan_destroy(&plan);
    gs_close(&context);
    /* The size that is compared with the limit, and its overflow. */
    gs_manifest manifest;
    size_t need;
    OK(gs_manifest_parse(&manifest, "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=16 b=16 c=16 d=16\nworkspace m*n*4\nentry k\ngrid 1 1 1\nblock 32 1 1\n", &error));
    OK(gs_loaded_need(&manifest, &problem, gs_caps_find("h200"), &need, &error));
    assert_int_equal(need, 512 * 512 * 4);
    OK(gs_formula_set(&manifest.workspace, "m*n*k*m", &error));
    assert_int_equal(gs_loaded_need(&manifest, &(gs_problem){.m = 1 << 20, .n = 1 << 20, .k = 1}, gs_caps_find("h200"), &need, &error), GS_ERROR_RANGE);
}

static int lines;

static void count_line(void *self, int level, const char *line)
{
    assert_ptr_equal(self, &lines);
    assert_true(level >= 1 && level <= 4);
    assert_null(strchr(line, '\n'));
    lines++;
}

static void test_log(void **state)
{
    (void)state;
    need_compiler();
    gs_config config = settings();
    config.log = count_line;
    config.log_self = &lines;
    config.log_level = 9;
    gs_context *context;
    assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "log_level");
    config.log_level = GS_LOG_INFO;
    lines = 0;
    context = open_context(&config);
    const gs_problem problem = gs_problem_make(GS_F16, GS_NN, 16, 16, 16);
    gs_plan *plan;
    setenv("FAKE_CUDA_FAIL", "cuModuleLoadDataEx", 1);
    assert_int_not_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    unsetenv("FAKE_CUDA_FAIL");
    assert_true(lines > 0);   /* warnings that our kernel was not used */
    gs_close(&context);
    const int before = lines;
    gs_log(GS_LOG_ERROR, "nobody is told");
    assert_int_equal(lines, before);
}

static void test_bounded_cache(void **state)
{
    (void)state;
    need_compiler();
    gs_config config = settings();
    config.cached_plans = 3;
    gs_context *context = open_context(&config);
    const gs_args args = arguments();
    const int loads = calls("cuModuleLoadDataEx"), unloads = calls("cuModuleUnload");
    for (int i = 0; i < 6; i++) {
        const gs_problem problem = gs_problem_make(GS_F16, GS_NN, 17 + i, 17, 17), first = gs_problem_make(GS_F16, GS_NN, 17, 17, 17);
        OK(gs_gemm(context, &problem, &args, NULL, &error));
        OK(gs_gemm(context, &first, &args, NULL, &error));   /* the most recently used plan is kept */
    }
    assert_int_equal(calls("cuModuleLoadDataEx") - loads, 6);
    assert_int_equal(calls("cuModuleUnload") - unloads, 3);
    setenv("FAKE_CUDA_FAIL", "cuCtxSynchronize", 1);   /* the device cannot be synchronised: no plan may be dropped */
    const gs_problem more = gs_problem_make(GS_F16, GS_NN, 40, 17, 17);
    OK(gs_gemm(context, &more, &args, NULL, &error));
    unsetenv("FAKE_CUDA_FAIL");
    assert_int_equal(calls("cuModuleUnload") - unloads, 3);
    gs_close(&context);
    assert_int_equal(live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_long_pack_path), cmocka_unit_test(test_arguments),  cmocka_unit_test(test_scalars), cmocka_unit_test(test_saved_operands), cmocka_unit_test(test_saved),         cmocka_unit_test(test_saved_contents), cmocka_unit_test(test_pending),
        cmocka_unit_test(test_workspace_limit), cmocka_unit_test(test_log), cmocka_unit_test(test_bounded_cache),
    };
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
