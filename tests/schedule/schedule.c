/* SPDX-License-Identifier: MIT
 * Proves that every schedule string of the grammar round-trips as text, that enumeration visits each once, that errors say what could
 * have stood there, and that tokens from outside are checked before they index a table. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "family/splitk.h"
#include "family/ws.h"
#include "problem/layout.h"
#include "schedule/family.h"

static long schedule_strings(gs_family_id family)
{
    long count = 1;
    for (int parameter = 0; parameter < gs_family_parameters(family); parameter++) count *= gs_family_parameter(family, parameter)->count;
    return count;
}

static void every_sentence_round_trips_once(void **state)
{
    (void)state;
    for (int family = 0; family < GS_FAMILIES; family++) {
        gs_schedule schedule = gs_schedule_first((gs_family_id)family), last = {0};
        long count = 0;
        do {
            char text[GS_SCHEDULE_TEXT];
            gs_schedule back;
            gs_schedule_format(&schedule, text);
            if (gs_schedule_parse(&back, text, NULL) != GS_OK) fail_msg("%s is not read", text);
            assert_memory_equal(&schedule, &back, sizeof back);
            if (count++ > 0) assert_true(memcmp(&schedule, &last, sizeof last) > 0);   /* strictly upwards: none comes twice */
            last = schedule;
        } while (gs_schedule_next(&schedule));
        assert_int_equal(count, schedule_strings((gs_family_id)family));
    }
}

static void numbers_are_those_of_the_text(void **state)
{
    (void)state;
    gs_schedule schedule;
    char text[GS_SCHEDULE_TEXT];
    assert_int_equal(gs_schedule_parse(&schedule, "ws/128x256x64/s4/c2x1/coop/g8", NULL), GS_OK);
    const int16_t *const tile = gs_schedule_value(&schedule, GS_WS_TILE), *const cluster = gs_schedule_value(&schedule,
                                                                                                             GS_WS_CLUSTER);
    assert_true(tile[0] == 128 && tile[1] == 256 && tile[2] == 64);
    assert_true(cluster[0] == 2 && cluster[1] == 1);
    assert_int_equal(gs_schedule_value(&schedule, GS_WS_STAGES)[0], 4);

    /* every word's text says its numbers: the digits in it, in order */
    for (int family = 0; family < GS_FAMILIES; family++)
        for (int parameter = 0; parameter < gs_family_parameters((gs_family_id)family); parameter++) {
            const gs_parameter *const s = gs_family_parameter((gs_family_id)family, parameter);
            for (int i = 0; i < s->count; i++) {
                int value = 0;
                if (family == GS_FAMILY_SPLITK && parameter == GS_SPLITK_SPLIT) {   /* how many shares K has: blocks times clusters */
                    int shares = 1;
                    for (const char *p = s->values[i].text; *p; p++)
                        if (*p < '0' || *p > '9') shares *= (int)strtol(p + 1, NULL, 10);
                    assert_int_equal(shares, s->values[i].number[0]);
                    continue;
                }
                for (const char *p = s->values[i].text + strcspn(s->values[i].text, "0123456789"); *p; value++) {
                    char *end;
                    assert_int_equal(strtol(p, &end, 10), s->values[i].number[value]);
                    p = *end ? end + 1 : end;
                }
            }
        }
    assert_string_equal(gs_schedule_format(&(gs_schedule){.family = GS_FAMILY_SIMPLE}, text), "simple");
}

/* legend: text, field, column, a word that the message must offer */
static void old_names_of_families_are_read(void **state)
{
    static const char *const names[][2] = {
        {"sliced/16x16/w1x1x4/d4/k2/fixed/f128", "slicek/16x16/w1x1x4/d4/k2/fixed/f128"},
        {"wave/64x64x64/s4/ab/c1x1/k1/any",      "splitk/64x64x64/s4/ab/c1x1/k1/any"},
        {"dot/8x16/w8/d4/r128/p0/k1/fixed",      "gemv/8x16/w8/d4/r128/p0/k1/fixed"},
    };
    (void)state;
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        gs_schedule schedule;
        char text[GS_SCHEDULE_TEXT];
        assert_int_equal(gs_schedule_parse(&schedule, names[i][0], NULL), GS_OK);
        assert_string_equal(gs_schedule_format(&schedule, text), names[i][1]);
    }
}

static void errors_say_what_is_possible(void **state)
{
    (void)state;
    static const struct {
        const char *text, *field;
        int         column;
        const char *offered;
    } cases[] = {
        {"",                                 "family",  1,  "simple mma ws"},
        {"wsx/128x256x64",                   "family",  1,  "ws"},
        {"ws",                               "tile",    3,  "256x128x64"},
        {"ws/",                              "tile",    4,  "256x128x64"},
        {"ws/128x256x65/s4/c2x1/coop/g8",    "tile",    4,  "128x256x64"},
        {"ws/128x256x64/s9/c2x1/coop/g8",    "stages",  15, "s12"},
        {"ws/128x256x64/s4/c2x1/coop",       "raster",  27, "g16"},
        {"ws/128x256x64/s4/c2x1/coop/g8/",   "rows",    31, "given pack"},
        {"ws/128x256x64/s4/c2x1/coop/g8/pack/", "ws",   35, "6 parameters"},
        {"ws/128x256x64/s4/c2x1/coop/g8 ",   "ws",      30, "the end"},
        {"mma/64x64x64/w9x9/s2/g1",          "warps",   14, "w2x2"},
        {"simple/",                          "simple",  7,  "the end"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_schedule schedule = {.family = 99}, before = schedule;
        gs_error error = {0};
        assert_int_equal(gs_schedule_parse(&schedule, cases[i].text, &error), GS_ERROR_PARSE);
        if (strcmp(error.field, cases[i].field) != 0 || error.column != cases[i].column || !strstr(error.text, cases[i].offered))
            fail_msg("'%s': field '%s' column %d: %s", cases[i].text, error.field, error.column, error.text);
        assert_memory_equal(&schedule, &before, sizeof before);
    }
}

/* Of a wrong value all values are offered, in order; where they are too many as many as 335 characters hold with the last one. */
static void errors_list_the_values(void **state)
{
    (void)state;
    enum { ROOM = 335 };
    int cut = 0, whole = 0;
    for (int family = 0; family < GS_FAMILIES; family++) {
        char begin[GS_SCHEDULE_TEXT];
        const gs_schedule first = gs_schedule_first((gs_family_id)family);
        gs_schedule_format(&first, begin);
        for (int parameter = 0; parameter < gs_family_parameters((gs_family_id)family); parameter++) {
            const gs_parameter *const of = gs_family_parameter((gs_family_id)family, parameter);
            char text[2 * GS_SCHEDULE_TEXT], listed[8192] = "", shown[8192] = "";
            const char *at = begin;
            for (int i = 0; i <= parameter && at; i++) at = strchr(at + (i > 0), '/');
            const char *const last = of->values[of->count - 1].text;
            snprintf(text, sizeof text, "%.*s/?", at ? (int)(at - begin) : (int)strlen(begin), begin);
            if (!at) continue;   /* the first schedule has no optional ones */
            for (int i = 0; i < of->count; i++) {
                snprintf(listed + strlen(listed), sizeof listed - strlen(listed), "%s%s", i ? " " : "", of->values[i].text);
                if (i + 1 < of->count && strlen(listed) + strlen(" ... ") + strlen(last) <= ROOM) snprintf(shown, sizeof shown, "%s ... %s", listed, last);
            }
            gs_schedule schedule;
            gs_error error = {0};
            assert_int_equal(gs_schedule_parse(&schedule, text, &error), GS_ERROR_PARSE);
            const char *const values = strstr(error.text, "one of: ") + strlen("one of: ");
            const bool all = strcmp(values, listed) == 0;
            if (!all && strcmp(values, shown) != 0) fail_msg("%s: %s", text, error.text);
            if (!all && strlen(listed) + strlen(" ... ") <= ROOM) fail_msg("%s: there was room for all: %s", text, error.text);
            cut += !all, whole += all;
        }
    }
    assert_true(cut > 0 && whole > 10);
}

/* Whether the separator is missing or the word behind it is wrong. */
static void errors_say_what_is_missing(void **state)
{
    (void)state;
    static const struct { const char *text, *message; } cases[] = {
        {"mma/64x64x64/w2x2",         "expected '/' and one of: s2 s3 s4 s5 s6"},
        {"mma/64x64x64/w2x2 s2",      "expected '/' and one of: s2 s3 s4 s5 s6"},
        {"mma/64x64x64/w2x2/s1/g1",   "expected one of: s2 s3 s4 s5 s6"},
        {"mma/64x64x64/w2x2//g1",     "expected one of: s2 s3 s4 s5 s6"},
        {"simple/",                   "expected the end: this family has 0 parameters"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_schedule schedule;
        gs_error error = {0};
        assert_int_equal(gs_schedule_parse(&schedule, cases[i].text, &error), GS_ERROR_PARSE);
        assert_string_equal(error.text, cases[i].message);
    }
}

/* What a problem wants and a family does not take is named, for each family and each wish; a layout and a device likewise. */
static void what_a_family_does_not_take(void **state)
{
    (void)state;
    static const struct { const char *problem, *field, *what; unsigned wish; } wishes[] = {
        {"f16:64x64x64:tn:b=2:sa=8192",       "stride",   "strides of a batch",            GS_WANTS_STRIDES},
        {"f16:64x64x64:tn:scalars=device",    "scalars",  "alpha and beta in device memory", GS_WANTS_SCALARS},
        {"f16:64x64x64:tn:ep=silu+gate",      "gate",     "a gated activation",            GS_WANTS_GATE},
        {"bf16:64x64x64:tn:g=2",              "groups",   "groups of rows",                GS_WANTS_GROUPS},
        {"f16:64x64x64:tn:ep=bias+gelu+aux",  "aux",      "an auxiliary matrix",           GS_WANTS_AUX},
        {"f16:64x64x64:tn:ep=dbias",          "dbias",    "the gradient of a bias",        GS_WANTS_DBIAS},
        {"bf16:64x64x64:nt:gk=2",             "gk",       "groups along K",                GS_WANTS_K_GROUPS},
        {"f16:64x64x64:tn:b=2:matrices=pointers", "matrices", "pointers to the matrices of a batch", GS_WANTS_POINTERS},
        {"f16:64x64x64:tn:ep=scale_m",        "scales",   "a factor for each row or column", GS_WANTS_SCALES},
        {"bf16:64x64x64:tn:inv=1",            "inv",      "rows whose bits do not depend on M", GS_WANTS_INVARIANT},
    };
    int refused = 0;
    for (size_t i = 0; i < GS_COUNT(wishes); i++) {
        gs_problem problem;
        gs_error error = {0};
        if (gs_problem_parse(&problem, wishes[i].problem, &error) != GS_OK) fail_msg("%s: %s: %s", wishes[i].problem, error.field, error.text);
        assert_int_equal(gs_problem_wants(&problem) & wishes[i].wish, wishes[i].wish);
        for (int family = 0; family < GS_FAMILIES; family++) {
            char text[128];
            const gs_schedule schedule = gs_schedule_first((gs_family_id)family);
            if (gs_problem_wants(&problem) & ~gs_families[family]->takes & ~wishes[i].wish || gs_families[family]->takes & wishes[i].wish) continue;
            if (gs_is_a_transposed(problem.layout) && !gs_families[family]->a_transposed) continue;
            assert_int_equal(gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), &error), GS_ERROR_UNSUPPORTED);
            assert_string_equal(error.field, wishes[i].field);
            snprintf(text, sizeof text, "%s does not take %s", gs_families[family]->name, wishes[i].what);
            assert_string_equal(error.text, text);
            refused++;
        }
    }
    assert_true(refused > 10);
    for (int family = 0; family < GS_FAMILIES; family++) {
        const gs_schedule schedule = gs_schedule_first((gs_family_id)family);
        const gs_problem here = gs_problem_make(GS_F16, GS_TN, 64, 64, 64), turned = gs_problem_make(GS_F16, GS_TT, 64, 64, 64);
        gs_error error = {0};
        if (gs_families[family]->hopper) {
            char text[128];
            assert_int_equal(gs_schedule_check(&schedule, &here, gs_caps_find("a100"), &error), GS_ERROR_UNSUPPORTED);
            assert_string_equal(error.field, "family");
            snprintf(text, sizeof text, "%s needs compute capability 9.0 (wgmma); this device has 8.0", gs_families[family]->name);
            assert_string_equal(error.text, text);
        }
        if (!gs_families[family]->a_transposed) {
            char text[128];
            assert_int_equal(gs_schedule_check(&schedule, &turned, gs_caps_find("h200"), &error), GS_ERROR_UNSUPPORTED);
            assert_string_equal(error.field, "layout");
            snprintf(text, sizeof text, "%s reads A stored M x K, not K x M as in tt", gs_families[family]->name);
            assert_string_equal(error.text, text);
        }
    }
}

/* The first and the last word of every parameter are offered, however many there are. */
static void lists_are_complete(void **state)
{
    (void)state;
    for (int family = 0; family < GS_FAMILIES; family++) {
        char text[GS_SCHEDULE_TEXT];
        snprintf(text, sizeof text, "%s", gs_family_name((gs_family_id)family));
        for (int parameter = 0; parameter < gs_family_parameters((gs_family_id)family); parameter++) {
            const gs_parameter *const s = gs_family_parameter((gs_family_id)family, parameter);
            gs_schedule schedule;
            gs_error error = {0};
            const size_t have = strlen(text);
            if (s->optional) {
                assert_int_equal(gs_schedule_parse(&schedule, text, NULL), GS_OK);   /* its first value */
                assert_int_equal(schedule.value[parameter], 0);
                snprintf(text + have, sizeof text - have, "/?");
            }
            assert_int_equal(gs_schedule_parse(&schedule, text, &error), GS_ERROR_PARSE);
            assert_string_equal(error.field, s->name);
            assert_non_null(strstr(error.text, s->values[0].text));
            assert_non_null(strstr(error.text, s->values[s->count - 1].text));
            snprintf(text + have, sizeof text - have, "/%s", s->values[0].text);
        }
    }
}

static void foreign_tokens_are_refused(void **state)
{
    (void)state;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    char text[GS_SCHEDULE_TEXT];
    const gs_schedule bad[] = {{.family = GS_FAMILIES}, {.family = GS_FAMILY_WS, .value = {200}},
                               {.family = GS_FAMILY_MMA, .value = {0, 0, 0, 10}}};
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        gs_error error = {0};
        assert_int_equal(gs_schedule_check(&bad[i], &problem, gs_caps_find("h200"), &error), GS_ERROR_RANGE);
        assert_true(error.text[0] != '\0');
        assert_string_equal(gs_schedule_format(&bad[i], text), "?");
    }
}

static void simple_takes_everything(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:1x1x1:nn", "bf16:257x33x7:tn:d=f32:lda=9:beta=1:b=3", "f16:0x4x4:nn:acc=f16",
                                        "f16:4x4x0:nn:beta=2"};
    const gs_schedule simple = gs_schedule_first(GS_FAMILY_SIMPLE);
    gs_problem problem;
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        assert_int_equal(gs_problem_parse(&problem, texts[i], NULL), GS_OK);
        assert_int_equal(gs_schedule_check(&simple, &problem, gs_caps_find("h200"), NULL), GS_OK);
        assert_int_equal(gs_schedule_check(&simple, &problem, gs_caps_find("a100"), NULL), GS_OK);
    }
}

/* What passes the check must fit the device, whatever the family. */
static void valid_schedules_fit_the_device(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:4096x4096x4096:tn", "bf16:129x4096x64:nn:d=f32:beta=1", "f16:64x64x64:nn:acc=f16",
                                        "f16:33x17x65:tn"};
    const gs_caps *const devices[] = {gs_caps_find("h200"), gs_caps_find("a100")};
    for (size_t d = 0; d < GS_COUNT(devices); d++)
        for (size_t i = 0; i < GS_COUNT(texts); i++) {
            gs_problem problem;
            long valid[GS_FAMILIES] = {0};
            assert_int_equal(gs_problem_parse(&problem, texts[i], NULL), GS_OK);
            for (int family = 0; family < GS_FAMILIES; family++) {
                gs_schedule schedule = gs_schedule_first((gs_family_id)family);
                do {
                    gs_error error = {0};
                    const gs_status status = gs_schedule_check(&schedule, &problem, devices[d], &error);
                    if (status != GS_OK) {
                        assert_int_equal(status, GS_ERROR_UNSUPPORTED);
                        assert_true(error.field[0] != '\0' && error.text[0] != '\0');
                        continue;
                    }
                    const gs_resources r = gs_schedule_resources(&schedule, &problem, devices[d]);
                    assert_in_range(r.threads, 32, 1024);
                    assert_in_range(r.registers, 16, 255);
                    assert_in_range(r.smem, 0, devices[d]->smem_block);
                    assert_true(r.blocks_sm >= 1 && r.blocks_sm * r.threads <= devices[d]->threads_sm);
                    assert_true((long)r.blocks_sm * r.smem <= devices[d]->smem_sm);
                    assert_in_range(r.cluster, 1, 16);
                    valid[family]++;
                } while (gs_schedule_next(&schedule));
            }
            assert_int_equal(valid[GS_FAMILY_SIMPLE], 1);
            assert_true(valid[GS_FAMILY_MMA] > 0);
            for (int family = 0; family < GS_FAMILIES; family++) assert_true(valid[family] == 0 || !gs_families[family]->hopper || devices[d]->cc == 90);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sentence_round_trips_once),
        cmocka_unit_test(numbers_are_those_of_the_text),
        cmocka_unit_test(old_names_of_families_are_read),
        cmocka_unit_test(errors_say_what_is_possible), cmocka_unit_test(errors_list_the_values),
        cmocka_unit_test(errors_say_what_is_missing),
        cmocka_unit_test(what_a_family_does_not_take),
        cmocka_unit_test(lists_are_complete),
        cmocka_unit_test(foreign_tokens_are_refused),
        cmocka_unit_test(simple_takes_everything),
        cmocka_unit_test(valid_schedules_fit_the_device),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
