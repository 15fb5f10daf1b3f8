/* SPDX-License-Identifier: MIT
 * Lessons: what is shown is not asked for, the answer is the fastest of the rest, the same seed gives the same bytes, nothing held out is in them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/text.h"
#include "dataset/dataset.h"
#include "leaks.h"
#include "schedule/profile.h"
#include "schedule/space.h"
#include "store_folder.h"
#include "train/train.h"

enum { TIMES = 12, EACH = 40 };

static json_t *rows;
static gs_text text;

static bool keep(void *self, const char *line)
{
    (void)self;
    json_t *const row = json_loads(line, 0, NULL);
    if (!row) fail_msg("not JSON: %s", line);
    json_array_append_new(rows, row);
    gs_text_add(&text, line);
    return true;
}

/* ws/64x64x64/s2/c1x1/coop/g1 is the slowest, each with more stages or another raster faster by a microsecond; the list of the rows is in no order. */
static const char *const schedules[TIMES] = {
    "ws/64x64x64/s2/c1x1/coop/g1", "ws/64x64x64/s3/c1x1/coop/g1", "ws/64x64x64/s4/c1x1/coop/g1", "ws/64x64x64/s2/c1x1/coop/g2", "ws/64x64x64/s3/c1x1/coop/g2",
    "ws/64x64x64/s4/c1x1/coop/g2", "ws/64x64x64/s2/c1x1/coop/g4", "ws/64x64x64/s3/c1x1/coop/g4", "ws/64x64x64/s4/c1x1/coop/g4", "ws/64x64x64/s2/c1x1/coop/g8",
    "ws/64x64x64/s3/c1x1/coop/g8", "ws/64x64x64/s4/c1x1/coop/g8",
};
static double us_of(int i) { return 30.0 - i; }

static void add_group(gs_text *out, int group, const char *problem, int count)
{
    for (int i = 0; i < count; i++) gs_text_addf(out, "%d,%s,%s,%g\n", group, problem, schedules[i * 5 % TIMES], us_of(i * 5 % TIMES));
    gs_text_addf(out, "%d,%s,cublaslt/1,1\n", group, problem);
}

static const char *held_out_problem(char name[GS_PROBLEM_TEXT])
{
    for (int m = 512;; m += 64) {
        gs_problem problem;
        snprintf(name, GS_PROBLEM_TEXT, "f16:%dx1024x2048:tn", m);
        CHECK(gs_problem_parse(&problem, name, &error));
        if (gs_train_held_out(&problem, 10)) return name;
    }
}

static gs_dataset_counts export(const gs_text *times, uint64_t seed, gs_split split)
{
    char path[GS_PATH];
    char *const paths[] = {path};
    gs_dataset_counts counts;
    const gs_dataset_options how = {.device = "nvidia-h200", .caps = gs_caps_find("h200"), .folder = GS_SOURCE_DIR "/share/prompts", .held_out = 10, .split = split, .line = keep,
                                    .times = paths, .times_count = 1, .lessons = EACH, .seed = seed};
    CHECK(gs_file_write(path_of(path, "times.csv"), gs_text_string(times), times->size, &error));
    json_decref(rows);
    rows = json_array();
    gs_text_clear(&text);
    CHECK(gs_dataset_lessons(&how, &counts, &error));
    return counts;
}

static int place_of(const char *schedule)
{
    for (int i = 0; i < TIMES; i++)
        if (strcmp(schedules[i], schedule) == 0) return i;
    fail_msg("%s was not measured", schedule);
    return -1;
}

static const char *content_of(const json_t *row, const char *column, size_t message)
{
    return json_string_value(json_object_get(json_array_get(json_object_get(row, column), message), "content"));
}

static void check_lesson(const json_t *row)
{
    const char *const ask = content_of(row, "prompt", 1), *const answer = content_of(row, "completion", 0);
    const int asked = (int)json_integer_value(json_object_get(row, "asked")), shown = (int)json_integer_value(json_object_get(row, "shown"));
    char line[80], name[64];
    int count = 0, last = TIMES;
    snprintf(line, sizeof line, "a JSON array of %d new", asked);
    assert_non_null(strstr(ask, line));
    snprintf(line, sizeof line, "%d so far", shown);
    assert_non_null(strstr(ask, shown ? line : "Nothing yet."));
    assert_true(shown <= TIMES / 2);
    for (const char *at = strchr(answer, '"'); at; at = strchr(strchr(at + 1, '"') + 1, '"'), count++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
        const int place = place_of(name);
        assert_true(place < last);   /* fastest first */
        last = place;
        snprintf(line, sizeof line, "- %s:", name);
        assert_null(strstr(ask, line));
        if (count == 0) assert_true(us_of(place) == json_number_value(json_object_get(row, "us")));
    }
    assert_int_equal(count, asked);
    /* what is faster than the first answer was shown */
    const int first = place_of(json_string_value(json_object_get(row, "candidate")));
    for (int i = first + 1; i < TIMES; i++) {
        snprintf(line, sizeof line, "- %s:", schedules[i]);
        if (TIMES - i <= 3) assert_non_null(strstr(ask, line));   /* the three fastest are always shown */
    }
    assert_true(json_number_value(json_object_get(row, "best_us")) == us_of(TIMES - 1));
}

static void answers_are_the_fastest_that_are_not_shown(void **state)
{
    gs_text times = {0};
    bool one = false, many = false, nothing = false;
    (void)state;
    gs_text_add(&times, "group,problem,schedule,us\n");
    add_group(&times, 1, "f16:1024x1024x1024:tn", TIMES);
    add_group(&times, 2, "f16:1024x1024x512:tn", 7);   /* too few */
    const gs_dataset_counts counts = export(&times, 1, GS_SPLIT_TRAIN);
    assert_int_equal(counts.rows, EACH);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *const row = json_array_get(rows, i);
        check_lesson(row);
        one |= json_integer_value(json_object_get(row, "asked")) == 1;
        many |= json_integer_value(json_object_get(row, "asked")) > 5;
        nothing |= json_integer_value(json_object_get(row, "shown")) == 0;
    }
    assert_true(one && many && nothing);
    gs_text_free(&times);
}

/* Of many times no more than 40 are shown, and no more than 15 asked for. */
static void lessons_have_bounds(void **state)
{
    gs_text times = {0};
    gs_space space;
    char name[GS_SCHEDULE_TEXT];
    int shown = 0, asked = 0;
    gs_problem problem;
    (void)state;
    CHECK(gs_problem_parse(&problem, "f16:1024x1024x1024:tn", &error));
    CHECK(gs_space_create(&space, &problem, gs_caps_find("h200"), 0, &error));
    assert_true(space.count > 200);
    gs_text_add(&times, "group,problem,schedule,us\n");
    for (int i = 0; i < 100; i++) gs_text_addf(&times, "1,f16:1024x1024x1024:tn,%s,%d\n", gs_schedule_format(&space.list[i], name), 10 + i);
    assert_int_equal(export(&times, 1, GS_SPLIT_TRAIN).rows, EACH);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *const row = json_array_get(rows, i);
        shown = GS_MAX(shown, (int)json_integer_value(json_object_get(row, "shown")));
        asked = GS_MAX(asked, (int)json_integer_value(json_object_get(row, "asked")));
    }
    assert_in_range(shown, 30, 40);
    assert_in_range(asked, 12, 15);
    gs_space_free(&space);
    gs_text_free(&times);
}

static void a_seed_gives_the_same_bytes(void **state)
{
    gs_text times = {0}, first = {0};
    (void)state;
    gs_text_add(&times, "group,problem,schedule,us\n");
    add_group(&times, 1, "f16:1024x1024x1024:tn", TIMES);
    export(&times, 5, GS_SPLIT_TRAIN);
    gs_text_add(&first, gs_text_string(&text));
    export(&times, 5, GS_SPLIT_TRAIN);
    assert_string_equal(gs_text_string(&text), gs_text_string(&first));
    export(&times, 6, GS_SPLIT_TRAIN);
    assert_string_not_equal(gs_text_string(&text), gs_text_string(&first));
    gs_text_free(&times);
    gs_text_free(&first);
}

static void sides_of_the_split(void **state)
{
    gs_text times = {0};
    char name[GS_PROBLEM_TEXT];
    (void)state;
    gs_text_add(&times, "group,problem,schedule,us\n");
    add_group(&times, 1, "f16:1024x1024x1024:tn", TIMES);
    add_group(&times, 2, held_out_problem(name), TIMES);
    for (int side = GS_SPLIT_TRAIN; side <= GS_SPLIT_HELD_OUT; side++) {
        const gs_dataset_counts counts = export(&times, 1, (gs_split)side);
        assert_int_equal(counts.rows, EACH);
        assert_int_equal(counts.other_side, 1);
        assert_true((strcmp(json_string_value(json_object_get(json_array_get(rows, 0), "problem")), name) == 0) == (side == GS_SPLIT_HELD_OUT));
    }
    gs_text_free(&times);
}

static void without_times_it_says_so(void **state)
{
    gs_dataset_counts counts;
    const gs_dataset_options how = {.caps = gs_caps_find("h200"), .line = keep};
    (void)state;
    assert_int_equal(gs_dataset_lessons(&how, &counts, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "store");
}

static int end(void **state)
{
    json_decref(rows);
    rows = NULL;
    gs_text_free(&text);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_are_the_fastest_that_are_not_shown, make_folder, end),
        cmocka_unit_test_setup_teardown(lessons_have_bounds, make_folder, end),
        cmocka_unit_test_setup_teardown(a_seed_gives_the_same_bytes, make_folder, end),
        cmocka_unit_test_setup_teardown(sides_of_the_split, make_folder, end),
        cmocka_unit_test_setup_teardown(without_times_it_says_so, make_folder, end),
    };
    return run_without_leaks("dataset/lessons", tests, GS_COUNT(tests));
}
