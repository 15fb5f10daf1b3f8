/* SPDX-License-Identifier: MIT
 * Proves that the embedded profiles can be read and are what the devices are, that a profile survives the way to text and back, and
 * that each kind of fault in a text is refused with its line. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "schedule/profile.h"

static void embedded_profiles_can_be_read(void **state)
{
    (void)state;
    int files = 0;
    for (const gs_embedded *file = gs_embedded_profiles; file->name; file++, files++) {
        gs_profile profile;
        gs_error error = {0};
        if (gs_profile_parse(&profile, file->text, &error) != GS_OK) fail_msg("%s: %s", file->name, error.text);
    }
    assert_true(files >= 2);
    for (int i = 0; i < files; i++) assert_non_null(gs_profile_find(gs_profile_name(i)));
    assert_null(gs_profile_name(files));
    assert_null(gs_profile_name(-1));
    assert_null(gs_profile_find("h2000"));
    assert_null(gs_profile_find(""));
    assert_null(gs_caps_find("none"));
}

static void profiles_are_the_devices(void **state)
{
    (void)state;
    const gs_profile *const h200 = gs_profile_find("h200"), *const a100 = gs_profile_find("a100");
    assert_string_equal(h200->caps.name, "NVIDIA H200");
    assert_string_equal(h200->caps.slug, "nvidia-h200");
    assert_string_equal(h200->caps.target, "sm_90a");
    assert_string_equal(h200->caps.uuid, "");
    assert_false(h200->caps.emulated);
    assert_int_equal(h200->caps.cc, 90);
    assert_int_equal(h200->caps.sms, 132);
    assert_int_equal(h200->caps.smem_block, 232448);
    assert_int_equal(h200->caps.l2_bytes, 60 << 20);
    assert_true(h200->caps.memory_bytes == (size_t)143771 << 20);
    assert_string_equal(a100->caps.target, "sm_80");
    assert_int_equal(a100->caps.cc, 80);
    assert_true(a100->caps.memory_bytes == (size_t)81251 << 20);
    assert_ptr_equal(gs_caps_find("h200"), &h200->caps);
}

/* Two devices that are described alike are timed alike; every other one gets the rates of the nearest that is not newer. */
static void a_device_gets_the_nearest_rates(void **state)
{
    (void)state;
    static const struct {
        int         cc;
        const char *profile;
    } cases[] = {{70, "a100"}, {75, "a100"}, {80, "a100"}, {86, "a100"}, {89, "a100"}, {90, "h200"}, {100, "h200"}, {120, "h200"}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_caps caps = *gs_caps_find("a100");
        caps.cc = cases[i].cc;
        const gs_rates *const expected = &gs_profile_find(cases[i].profile)->rates;
        assert_ptr_equal(gs_rates_of(&caps), expected);
        const gs_profile profile = gs_profile_of(&caps);
        assert_memory_equal(&profile.rates, expected, sizeof *expected);
        assert_int_equal(profile.caps.cc, cases[i].cc);
    }
}

static void text_and_back(void **state)
{
    (void)state;
    gs_profile profile = *gs_profile_find("h200"), again;
    profile.rates.l2_kept = 0.333333333333333;
    profile.rates.hbm_latency = 1234.56789012345;
    profile.rates.wgmma_issue = 0;
    profile.caps.memory_bytes = ((size_t)1 << 49) + 1;
    gs_text text = {0}, twice = {0};
    gs_profile_format(&profile, &text);
    assert_false(text.failed);
    memset(&again, 0xee, sizeof again);
    assert_int_equal(gs_profile_parse(&again, gs_text_string(&text), NULL), GS_OK);
    assert_memory_equal(&again.rates, &profile.rates, sizeof profile.rates);
    assert_true(again.caps.memory_bytes == profile.caps.memory_bytes);
    gs_profile_format(&again, &twice);
    assert_string_equal(gs_text_string(&text), gs_text_string(&twice));
    gs_text_free(&text);
    gs_text_free(&twice);
}

/* The text of a good profile with one line replaced ("": left out, "\n" at its end if it shall stay a line). */
static char *replaced(const char *name, const char *line)
{
    gs_text whole = {0}, text = {0};
    gs_profile_format(gs_profile_find("h200"), &whole);
    for (const char *at = gs_text_string(&whole); *at;) {
        const size_t size = strcspn(at, "\n") + 1;
        if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == ' ')
            gs_text_add(&text, line);
        else
            gs_text_add_bytes(&text, at, size);
        at += size;
    }
    gs_text_free(&whole);
    return gs_text_take(&text);
}

/* Constants of families had other prefixes before. */
static void old_names_are_read(void **state)
{
    (void)state;
    char *const text = replaced("splitk_start", "wave_start 7\n");
    gs_profile profile;
    assert_int_equal(gs_profile_parse(&profile, text, NULL), GS_OK);
    assert_true(profile.rates.splitk_start == 7);
    free(text);
}

static void faults_name_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *name, *line, *field, *text;
    } cases[] = {
        {"cc",           "cc 90\ncc 90\n",        "cc",           "line 5: stands there twice"},
        {"cc",           "cores 90\n",            "name",         "line 4: there is no such name"},
        {"cc",           "= 90\n",                "name",         "line 4: there is no such name"},
        {"cc",           "cc\n",                  "cc",           "line 4: a value is missing"},
        {"cc",           "cc # 90\n",             "cc",           "line 4: a value is missing"},
        {"cc",           "cc ninety\n",           "cc",           "line 4: expected a number"},
        {"cc",           "cc 90 0\n",             "cc",           "line 4: expected one number and nothing else"},
        {"cc",           "cc 90.5\n",             "cc",           "line 4: must be a whole number"},
        {"cc",           "cc -90\n",              "cc",           "line 4: must be 10 to 999"},
        {"cc",           "cc 9e99\n",             "cc",           "line 4: must be 10 to 999"},
        {"name",         "name   \n",             "name",         "line 1: a value is missing"},
        {"target",       "target sm_90a_and_far_beyond\n", "target", "line 3: too long a text"},
        {"sustained",    "sustained 1.5\n",       "sustained",    "line 18: must be 0.05 to 1"},
        {"sustained",    "sustained nan\n",       "sustained",    "line 18: expected a number"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char *const text = replaced(cases[i].name, cases[i].line);
        gs_profile profile, before;
        gs_error error = {0};
        memset(&profile, 0x5a, sizeof profile);
        before = profile;
        assert_non_null(text);
        assert_int_equal(gs_profile_parse(&profile, text, &error), GS_ERROR_PARSE);
        assert_string_equal(error.field, cases[i].field);
        if (strcmp(error.text, cases[i].text) != 0) fail_msg("\"%s\" instead of \"%s\"", error.text, cases[i].text);
        assert_memory_equal(&profile, &before, sizeof before);
        free(text);
    }
}

/* Every name is needed: leaving any out is an error that names it. */
static void nothing_may_be_missing(void **state)
{
    (void)state;
    gs_text whole = {0};
    gs_profile_format(gs_profile_find("a100"), &whole);
    int names = 0;
    for (const char *at = gs_text_string(&whole); *at; at += strcspn(at, "\n") + 1, names++) {
        char name[32], expected[64];
        gs_profile profile;
        gs_error error = {0};
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        char *const text = replaced(name, "");
        assert_non_null(text);
        assert_int_equal(gs_profile_parse(&profile, text, &error), GS_ERROR_PARSE);
        assert_string_equal(error.field, name);
        snprintf(expected, sizeof expected, "the text ends without %s", name);
        assert_non_null(strstr(error.text, expected));
        free(text);
    }
    assert_true(names > 60);
    gs_text_free(&whole);
    assert_int_equal(gs_profile_parse(&(gs_profile){0}, "", NULL), GS_ERROR_PARSE);
}

static void blanks_and_comments_are_free(void **state)
{
    (void)state;
    char *const text = replaced("cc", "\n  # a comment: cc 80\n\t\n  cc\t 90 \t# capability\r\n\r\n");
    gs_profile profile;
    gs_error error = {0};
    assert_non_null(text);
    if (gs_profile_parse(&profile, text, &error) != GS_OK) fail_msg("%s", error.text);
    assert_int_equal(profile.caps.cc, 90);
    assert_string_equal(profile.caps.name, "NVIDIA H200");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedded_profiles_can_be_read),
        cmocka_unit_test(profiles_are_the_devices),
        cmocka_unit_test(a_device_gets_the_nearest_rates),
        cmocka_unit_test(text_and_back),
        cmocka_unit_test(old_names_are_read),
        cmocka_unit_test(faults_name_their_line),
        cmocka_unit_test(nothing_may_be_missing),
        cmocka_unit_test(blanks_and_comments_are_free),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
