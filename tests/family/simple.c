/* SPDX-License-Identifier: MIT
 * Family simple: its kernel compiles for sm_80 and sm_90a without spills, over layouts, types and accumulators; it takes everything. */

/* Random problems on the emulated device, how many of them the family takes and must pass, and their seed (tests/CMakeLists.txt):
 * emulated 26 26 58
 * What compute-sanitizer watches on a GPU (scripts/check_gpu.sh): tool, problem, schedule.
 * memcheck  f16:33x35x37:nn:acc=f16              simple
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "device/device.h"
#include "loaded/loaded.h"
#include "texts.h"

static const char *const problems[] = {
    "f16:65x67x131:tn", "f16:65x67x131:nn:acc=f16", "bf16:65x67x131:tn:beta=1", "bf16:65x67x131:nn:d=f32", "f16:65x67x131:nn:d=f32:beta=1",
    "f16:65x67x131:tn:acc=f16:beta=1:b=3", "bf16:65x67x131:tn:beta=1:ep=bias_m+gelu_erf+residual", "f16:65x67x131:nn:ep=bias+gelu",
    "bf16:65x67x131:tn:d=f32:beta=1:b=3:saux=5000:ep=bias+silu+residual+aux", "f16:65x67x131:nn:ep=dgelu_erf", "bf16:65x67x131:tt:ep=dgelu", "f16:65x67x131:tn:b=3:se=70:ep=dsilu+dbias", "bf16:66x67x40:nn:gm=3:d=f32:ep=dbias", "f16:66x67x40:tn:g=70:beta=1:ep=scale_m+drelu+dbias",
    "bf16:33x17x40:tt:b=5:matrices=pointers:beta=1:ep=bias+relu", "f16:33x17x40:nn:b=5:matrices=pointers:ep=silu+gate",
};

static void test_accepts(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(problems); i++) allow("simple", problems[i], gs_caps_find("a100"));
    allow("simple", "f16:0x1x0:nn", gs_caps_find("h200"));
}

static void compile(const char *target, const gs_caps *caps, const char *text)
{
    const gs_schedule schedule = schedule_of("simple");
    const gs_problem problem = problem_of(text);
    gs_error error = {0};
    gs_kernel kernel;
    gs_kernel_source source;
    gs_image image = {0};
    assert_int_equal(gs_kernel_build(&kernel, &schedule, &problem, caps, &error), GS_OK);
    gs_kernel_to_source(&kernel, &source);
    if (gs_compile_for(target, &source.source, &image, &error) != GS_OK) fail_msg("%s %s: %s\n%s", target, text, error.text, image.log ? image.log : "");
    if (image.spill_bytes) fail_msg("%s %s: %d bytes spilled", target, text, image.spill_bytes);
    gs_image_free(&image);
}

static void test_compiles(void **state)
{
    (void)state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) {
        print_message("no NVRTC: %s\n", error.text);
        skip();
    }
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        if (i % 2) compile("sm_80", gs_caps_find("a100"), problems[i]);
        else compile("sm_90a", gs_caps_find("h200"), problems[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepts), cmocka_unit_test(test_compiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
