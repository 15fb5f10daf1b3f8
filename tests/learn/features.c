/* SPDX-License-Identifier: MIT
 * Proves that the numbers that networks see mean what they meant when the weights that are installed were trained: each in its place, by problems whose
 * numbers differ. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/features.h"
#include "leaks.h"
#include "problem/layout.h"
#include "schedule/model.h"
#include "texts.h"

#define ASIDE 9   /* of the device's own rates: by its formula, below */

static double octaves(double value) { return log2(value) / 8 - 1; }

static void numbers_of_problems(void **state)
{
    (void)state;
    static const struct { const char *problem, *device; float x[GS_PROBLEM_FEATURES]; } cases[] = {
        {"f16:64x4096x65536:tn", "h200", {
            -0.25f, 0.5f, 1, -0.25f, 0.5f, 0.125f, -0.380549f, 0.75f, ASIDE, -0.00296929f, ASIDE, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0.5f,
            1, 1, ASIDE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0.25f, 1, 1, 1, 0.242424f, 0.121212f}},
        {"bf16:1000x520x136:nt:acc=f32:beta=1:lda=1004:ldb=522", "a100", {
            0.245723f, 0.127796f, -0.114067f, 0.127796f, 0.245723f, 0.18676f, -0.220842f, -0.117927f, ASIDE, -0.0217614f, ASIDE,
            1, 1, 0, 0, 1, 0, 0.666667f, 0.976562f, 0.902778f, 0.976562f, 0.8125f, 0.818182f, ASIDE, 0.333333f, 0.666667f, 1, 1,
            1, 1, 1, 1, 1, 0.992063f, 0.976562f, 0.677083f, 0.708333f, 0.53125f, 0.37037f, 0.222222f}},
        {"f16:129x257x63:nn:acc=f16:ldd=260", "h200", {
            -0.123597f, 0.000703069f, -0.25284f, -0.123597f, 0.000703069f, -0.0614468f, -0.753443f, 0.1243f, ASIDE, -0.102052f,
            ASIDE, 1, 0, 1, 0, 0, 0.333333f, 1, 0.671875f, 0.803125f, 0.503906f, 0.669271f, 1, ASIDE, 1, 1, 1, 1, 1, 1, 1, 1, 1,
            0.895833f, 0.503906f, 0.501953f, 0.984375f, 0.246094f, 0.0454545f, 0.030303f}},
        {"bf16:300x8192x200:tn:d=f32", "h200", {
            0.0286023f, 0.625f, -0.044518f, 0.0286023f, 0.625f, 0.326801f, 0.0230531f, 0.596398f, ASIDE, 0.0269588f, ASIDE, 0, 1,
            0, 1, 0, 0, 0, 0.9375f, 1, 0.78125f, 1, 1, ASIDE, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0.986842f, 0.585938f, 1, 0.78125f,
            0.78125f, 0.727273f, 0.727273f}},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        float x[GS_PROBLEM_FEATURES];
        const gs_caps *const caps = &gs_profile_find(cases[i].device)->caps;
        const gs_problem problem = problem_of(cases[i].problem);
        gs_problem_features(&problem, caps, x);
        const struct { int at; double value; } aside[] = {
            {8, octaves(gs_floor_us(&problem, caps) * 16)}, {10, octaves(gs_compulsory_bytes(&problem) / caps->l2_bytes * 256)}, {23, octaves(caps->memory_gbs / 16)},
        };
        for (size_t k = 0; k < GS_COUNT(aside); k++) assert_true(fabs(x[aside[k].at] - aside[k].value) < 1e-5);
        for (int k = 0; k < GS_PROBLEM_FEATURES; k++)
            if (cases[i].x[k] != ASIDE && fabsf(x[k] - cases[i].x[k]) > 2e-6f) fail_msg("%s, %d: %.7g", cases[i].problem, k, (double)x[k]);
    }
}

/* A gate's numbers are those of its sums. */
static void a_gate_is_seen_by_its_sums(void **state)
{
    (void)state;
    float x[GS_PROBLEM_FEATURES], y[GS_PROBLEM_FEATURES];
    const gs_caps *const caps = &gs_profile_find("h200")->caps;
    const gs_problem gated = problem_of("f16:256x512x128:tn:ep=silu+gate");
    const gs_problem sums = gs_problem_sums(&gated);
    gs_problem_features(&gated, caps, x);
    gs_problem_features(&sums, caps, y);
    assert_memory_equal(x, y, sizeof x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_of_problems), cmocka_unit_test(a_gate_is_seen_by_its_sums)};
    return run_without_leaks("learn/features", tests, GS_COUNT(tests));
}
