/* SPDX-License-Identifier: MIT
 * Every line of families.def is a complete family: all members of its struct, distinct names and values, and the files that CONTRIBUTING.md lists, in this tree or in
 * $GS_EXTRA_FAMILIES (tests/family/toy.sh). And every cost of the time model makes some schedule slower and none faster. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "kernel/kernel.h"
#include "schedule/family.h"

static const char *const names[GS_FAMILIES] = {
#define GS_FAMILY(ID, name) [GS_FAMILY_##ID] = #name,
#include "schedule/families.def"
#undef GS_FAMILY
};

/* Reads a family's file, whose path is `pattern` with the family's name for %s; fails if there is none. */
static char *text_of(const char *pattern, const char *name)
{
    const char *const roots[] = {GS_SOURCE_DIR, getenv("GS_EXTRA_FAMILIES")};
    char file[256], path[1024], *text = NULL;
    size_t size;
    snprintf(file, sizeof file, pattern, name);
    for (size_t i = 0; i < GS_COUNT(roots) && roots[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", roots[i], file);
        if (gs_file_read(path, 1 << 20, &text, &size, NULL) == GS_OK) return text;
    }
    fail_msg("family %s has no %s", name, file);
    return NULL;
}

static void test_members(void **state)
{
    (void)state;
    for (int i = 0; i < GS_FAMILIES; i++) {
        const gs_family *const f = gs_families[i];
        if (!f || !f->name || strcmp(f->name, names[i]) != 0) fail_msg("%s: its struct has another name", names[i]);
        if (!f->summary || !*f->summary) fail_msg("%s has no summary", f->name);
        if (!f->check || !f->resources || !f->work || !f->build) fail_msg("%s lacks one of check, resources, work, build", f->name);
        if (f->parameter_count < 0 || f->parameter_count > GS_MAX_PARAMETERS) fail_msg("%s has %d parameters", f->name, f->parameter_count);
        for (int k = 0; k < GS_FAMILIES; k++)
            if (gs_families[k]->old_name && (strcmp(f->name, gs_families[k]->old_name) == 0 || (k != i && f->old_name && strcmp(f->old_name, gs_families[k]->old_name) == 0)))
                fail_msg("%s and %s have a name in common", f->name, gs_families[k]->name);
    }
}

static void test_parameters(void **state)
{
    (void)state;
    for (int i = 0; i < GS_FAMILIES; i++)
        for (int p = 0; p < gs_families[i]->parameter_count; p++) {
            const gs_parameter *const parameter = &gs_families[i]->parameters[p];
            if (!parameter->name || !parameter->values || parameter->count < 1 || parameter->count > 255) fail_msg("%s: parameter %d", names[i], p);
            for (int a = 0; a < parameter->count; a++) {
                if (!parameter->values[a].text || strchr(parameter->values[a].text, '/')) fail_msg("%s: a value of %s", names[i], parameter->name);
                for (int b = 0; b < a; b++)
                    if (strcmp(parameter->values[a].text, parameter->values[b].text) == 0) fail_msg("%s: %s has %s twice", names[i], parameter->name, parameter->values[a].text);
            }
        }
}

static void test_files(void **state)
{
    (void)state;
    for (int i = 0; i < GS_FAMILIES; i++) {
        char kernel[64];
        snprintf(kernel, sizeof kernel, "%s.cu", names[i]);
        if (!gs_embedded_find(kernel)) fail_msg("%s is not embedded", kernel);
        free(text_of("src/family/%s.c", names[i]));
        free(text_of("kernels/%s.cu", names[i]));
        free(text_of("docs/internals/%s.md", names[i]));
        char *const test = text_of("tests/family/%s.c", names[i]), *const prompt = text_of("share/prompts/family-%s.md", names[i]);
        if (!strstr(test, "\n * emulated ")) fail_msg("tests/family/%s.c does not say how many problems are verified on the emulated device", names[i]);
        if (!strstr(prompt, "{{summary}}")) fail_msg("the prompt of %s has no {{summary}}", names[i]);
        for (int p = 0; p < gs_families[i]->parameter_count; p++) {
            char field[64];
            snprintf(field, sizeof field, "{{%s}}", gs_families[i]->parameters[p].name);
            if (!strstr(prompt, field)) fail_msg("the prompt of %s has no %s", names[i], field);
        }
        free(test);
        free(prompt);
    }
}

/* How the predicted time changes when a rate of the model grows: 1 up, -1 down, 0 either way or not used by families. */
static int way_of(const char *name, const char *unit)
{
    if (strncmp(name, "launch_", 7) == 0 || strcmp(name, "l2_latency") == 0) return 0;   /* for launches whose structure is unknown */
    if (strcmp(unit, "cycles") == 0 || strcmp(unit, "slots") == 0 || strcmp(unit, "k-blocks") == 0) return 1;
    return strncmp(unit, "bytes/", 6) == 0 || strcmp(unit, "rows/cycle") == 0 ? -1 : 0;
}

static const struct {
    const char *name, *unit;
    size_t      at;
} rates[] = {
#define GS_RATE(name, unit, least, most, what) {#name, unit, offsetof(gs_rates, name)},
    GS_RATES(GS_RATE)
#undef GS_RATE
};

static double us_of(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    const gs_work work = gs_families[schedule->family]->work(schedule, problem, profile);
    return gs_work_us(&work, profile);
}

/* No schedule gets faster when a cost grows, and every cost makes some schedule slower. */
static void test_costs(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{4096, 4096, 4096}, {64, 4096, 8192}, {8, 1024, 512}, {1000, 1001, 1003}, {1, 4096, 4096}};
    static bool slower[GS_COUNT(rates)];
    for (size_t s = 0; s < 4 * GS_COUNT(sizes); s++)
        for (int f = 0; f < GS_FAMILIES; f++) {
            const int64_t *const size = sizes[s / 4];
            gs_problem problem = gs_problem_make(GS_F16, s % 2 ? GS_NN : GS_TN, size[0], size[1], size[2]);
            if (s % 4 >= 2) problem.beta = 1;
            if (s % 3 == 0) problem.acc = GS_F16;
            gs_profile profile = *gs_profile_find("h200");
            gs_schedule schedule = gs_schedule_first((gs_family_id)f);
            int seen = 0;
            for (bool more = true; more && seen < 4000; more = gs_schedule_next(&schedule)) {
                if (gs_schedule_check(&schedule, &problem, &profile.caps, NULL) != GS_OK || seen++ % 16 != 0) continue;
                const double before = us_of(&schedule, &problem, &profile);
                for (size_t r = 0; r < GS_COUNT(rates); r++) {
                    const int way = way_of(rates[r].name, rates[r].unit);
                    double *const rate = (double *)(void *)((char *)&profile.rates + rates[r].at), kept = *rate;
                    if (way == 0) continue;
                    *rate = way > 0 ? 2 * kept + 1 : kept / 2;
                    const double after = us_of(&schedule, &problem, &profile);
                    *rate = kept;
                    char text[GS_SCHEDULE_TEXT];
                    if (after < before * (1 - 1e-9)) fail_msg("%s of %s: %g us become %g", rates[r].name, gs_schedule_format(&schedule, text), before, after);
                    slower[r] |= after > before * (1 + 1e-9);
                }
            }
        }
    for (size_t r = 0; r < GS_COUNT(rates); r++)
        if (way_of(rates[r].name, rates[r].unit) != 0 && !slower[r]) fail_msg("no schedule takes longer by %s", rates[r].name);
}

/* The factor of C needs neither registers nor memory: each schedule's resources are equal for beta 1 and 0.5. */
static void test_factors_of_c(void **state)
{
    (void)state;
    static const char *const problems[] = {"f16:512x512x512:tn", "bf16:32x32x32:tn:b=4096", "f16:4x512x512:tn", "f16:512x512x512:tn:b=3:matrices=pointers"};
    enum { IN_THE_TREE = 7 };   /* families in this tree; an additional one need not support C */
    const gs_caps *const caps = gs_caps_find("h200");
    int families = 0;
    for (int f = 0; f < GS_FAMILIES; f++) {
        int compared = 0;
        for (size_t i = 0; i < GS_COUNT(problems); i++) {
            gs_problem one, half;
            gs_schedule schedule = gs_schedule_first((gs_family_id)f);
            int seen = 0;
            assert_int_equal(gs_problem_parse(&one, problems[i], NULL), GS_OK);
            half = one;
            one.beta = 1, half.beta = 0.5;
            for (bool more = true; more && seen < 1000; more = gs_schedule_next(&schedule)) {
                if (gs_schedule_check(&schedule, &one, caps, NULL) != GS_OK) continue;
                const gs_resources with_one = gs_schedule_resources(&schedule, &one, caps), with_half = gs_schedule_resources(&schedule, &half, caps);
                char text[GS_SCHEDULE_TEXT];
                if (memcmp(&with_one, &with_half, sizeof with_one) != 0) fail_msg("%s: %s", problems[i], gs_schedule_format(&schedule, text));
                seen++;
            }
            compared += seen;
        }
        families += compared > 0;
    }
    assert_in_range(families, IN_THE_TREE, GS_FAMILIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_members), cmocka_unit_test(test_parameters), cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_costs), cmocka_unit_test(test_factors_of_c)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
