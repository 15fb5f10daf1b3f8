/* SPDX-License-Identifier: MIT
 * The inspection of user kernels accepts the kernels that our families build: random schedules of every family for problems of all types. What our own kernels need, a
 * user's kernel may need too.
 *
 *     test_inspect_families [kernels of each family [seed]] */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "inspect/inspect.h"
#include "loaded/loaded.h"
#include "schedule/schedule.h"
#include "texts.h"

#define TRIES 20000   /* random schedules until one is valid for the problem */

static long     kernels = 4;   /* for each family */
static uint64_t first_seed = 1;

static const char *const problems[] = {
    "f16:512x512x512:tn", "bf16:512x256x1024:nn:beta=1", "f16:256x512x512:nn:acc=f16", "f16:512x512x1024:tn:d=f32:beta=1", "bf16:16x2048x1024:tn",
    "f16:257x129x512:tn:ldd=200", "f16:8x1024x2048:nn", "f16:64x64x4096:tn:acc=f16:d=f32", "bf16:128x384x640:tn:d=f32", "f16:4x4096x1024:tn", "f16:24x32x40:tn:b=100", "bf16:16x16x17:nt:b=1000:beta=1",
};

static bool draw(gs_random *random, gs_family_id family, const gs_problem *problem, gs_schedule *schedule)
{
    for (int i = 0; i < TRIES; i++) {
        *schedule = gs_schedule_first(family);
        for (int parameter = 0; parameter < gs_family_parameters(family); parameter++)
            schedule->value[parameter] = (uint8_t)gs_random_below(random, (uint64_t)gs_family_parameter(family, parameter)->count);
        if (gs_schedule_check(schedule, problem, gs_caps_find("h200"), NULL) == GS_OK) return true;
    }
    return false;
}

static void inspect(const gs_schedule *schedule, const gs_problem *problem)
{
    gs_kernel kernel;
    gs_kernel_source source;
    gs_image image = {0};
    gs_error error = {0};
    char text[GS_SCHEDULE_TEXT], what[GS_PROBLEM_TEXT];
    assert_int_equal(gs_kernel_build(&kernel, schedule, problem, gs_caps_find("h200"), &error), GS_OK);
    gs_kernel_to_source(&kernel, &source);
    source.source.ptx = true;
    gs_schedule_format(schedule, text);
    gs_problem_format(problem, what);
    gs_status status = gs_compile_cached("sm_90a", getenv("GS_TEST_CACHE"), &source.source, &image, &error);
    if (status != GS_OK) fail_msg("%s %s: %s", what, text, error.text);
    gs_text whole = {0};
    gs_kernel_add_text(&whole, &kernel);
    status = gs_inspect_source(kernel.name, gs_text_string(&whole), &error);
    gs_text_free(&whole);
    if (status == GS_OK) status = gs_inspect_ptx(image.ptx, image.ptx_size, &kernel.manifest, problem, &error);
    if (status != GS_OK) fail_msg("%s %s: %s: %s", what, text, error.field, error.text);
    gs_image_free(&image);
}

static void test_families(void **state)
{
    (void)state;
    for (int family = 0; family < GS_FAMILIES; family++) {
        gs_random random = {first_seed + (uint64_t)family};
        long done = 0;
        for (long tries = 0; done < kernels && tries < 10 * kernels; tries++) {
            const gs_problem problem = problem_of(problems[gs_random_below(&random, GS_COUNT(problems))]);
            gs_schedule schedule;
            if (!draw(&random, (gs_family_id)family, &problem, &schedule)) continue;
            inspect(&schedule, &problem);
            done++;
        }
        assert_true(done >= kernels / 2 && done > 0);
    }
}

int main(int argc, char **argv)
{
    gs_error error;
    if (argc > 1) kernels = atol(argv[1]);
    if (argc > 2) first_seed = (uint64_t)atoll(argv[2]);
    if (!gs_compiler_version(&error)) {
        print_message("skipped: %s\n", error.text);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families)};
    return cmocka_run_group_tests_name("inspection of the families' kernels", tests, NULL, NULL);
}
