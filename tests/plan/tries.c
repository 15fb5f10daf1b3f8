/* SPDX-License-Identifier: MIT
 * A plan without a table row, on a fake driver that loads no module: how many of the time model's choices are tried, and the error message. */
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
#include "kernel/kernel.h"
#include "loaded/loaded.h"
#include "schedule/schedule.h"
#include "texts.h"

enum { TRIES = 4, MOST = 32 };

static char folder[] = "/tmp/gemmsmith-tries-XXXXXX";

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CUBLASLT", "/nonexistent", 1);
    setenv("GEMMSMITH_CACHE", folder, 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    unsetenv("GEMMSMITH_TUNED");
    unsetenv("GEMMSMITH_WEIGHTS");
    open_fake();
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    return remove_all(folder);
}

/* How many of the choices need no more workspace than the limit; the others do not count as tried. *last: the last one does not. */
static int affordable(const gs_schedule list[], const gs_problem *problem, size_t limit, bool *last)
{
    int count = 0;
    for (int i = 0; i < MOST; i++) {
        gs_kernel kernel;
        size_t need;
        assert_int_equal(gs_kernel_build(&kernel, &list[i], problem, gs_caps_find("h200"), NULL), GS_OK);
        assert_int_equal(gs_loaded_need(&kernel.manifest, problem, gs_caps_find("h200"), &need, NULL), GS_OK);
        *last = need <= limit;
        count += *last;
    }
    return count;
}

/* Modules that are loaded while making a plan, where every load fails. error: the last message. */
static int tries_of(const gs_config *config, const gs_problem *problem, gs_error *error)
{
    gs_context *context = NULL;
    gs_plan *plan = NULL;
    if (gs_open(&context, config, error) != GS_OK) fail_msg("%s", error->text);
    const int before = calls("cuModuleLoadDataEx");
    setenv("FAKE_CUDA_FAIL", "cuModuleLoadDataEx", 1);
    setenv("FAKE_CUDA_ERROR", "209", 1);   /* no code for this device, which is no fault of the device */
    const gs_status status = gs_plan_create(context, problem, &plan, error);
    unsetenv("FAKE_CUDA_FAIL");
    unsetenv("FAKE_CUDA_ERROR");
    assert_true(status != GS_OK && !plan);
    const int tries = calls("cuModuleLoadDataEx") - before;
    gs_close(&context);
    assert_int_equal(live(), 0);
    return tries;
}

/* enough: at least TRIES choices need no more than the allowed workspace. */
static void expect_tries(const char *text, size_t limit, bool enough)
{
    gs_schedule list[MOST];
    gs_error error = {0};
    const gs_problem problem = problem_of(text);
    gs_config config = gs_config_default();
    bool last = false;
    config.use_cublaslt = 0;
    config.workspace_limit = limit;
    assert_int_equal(gs_schedule_shortlist(&problem, gs_caps_find("h200"), 0, list, MOST), MOST);
    const int possible = affordable(list, &problem, limit, &last);
    assert_true(enough ? possible >= TRIES : possible < TRIES && !last);
    assert_int_equal(tries_of(&config, &problem, &error), GS_MIN(possible, TRIES));
    assert_non_null(strstr(error.text, enough ? "cuModuleLoadDataEx" : "bytes of workspace are needed"));
}

static void a_few_of_many_are_tried(void **state)
{
    (void)state;
    gs_error error;
    if (gs_compiler_version(&error) == 0) skip();
    expect_tries("f16:512x512x512:tn", (size_t)1 << 30, true);
}

/* If all choices need more workspace than allowed, the whole list is tried. */
static void all_are_looked_at(void **state)
{
    (void)state;
    gs_error error;
    if (gs_compiler_version(&error) == 0) skip();
    expect_tries("f16:64x4096x16384:tn", 0, false);
}

/* When choices are measured, at most a dozen are compiled while none can run; then a few for a plan without measuring. */
static void a_dozen_are_tried_for_a_race(void **state)
{
    (void)state;
    enum { RACE = 12 };
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    gs_config config = gs_config_default();
    const gs_problem problem = problem_of("f16:512x512x512:tn");
    config.use_cublaslt = 0;
    config.measure = 1;
    config.tuned_path = folder;
    assert_int_equal(tries_of(&config, &problem, &error), RACE + TRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_few_of_many_are_tried), cmocka_unit_test(all_are_looked_at), cmocka_unit_test(a_dozen_are_tried_for_a_race)};
    return cmocka_run_group_tests_name("plan/tries", tests, group_setup, group_teardown);
}
