/* SPDX-License-Identifier: MIT
 * The folder of --keep: kernels by the hash of their texts, a line for each; what is replaced, what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "author/keep.h"
#include "leaks.h"
#include "schedule/profile.h"
#include "store_folder.h"

#define PROBLEM "f16:64x64x64:tn"

static gs_author_kernel kernel_of(const char *source, double us)
{
    return (gs_author_kernel){.candidate = "source:1", .base = "ws", .kind = "mma", .source = (char *)(uintptr_t)source, .manifest = (char *)(uintptr_t)"manifest 1\n", .us = us, .ratio = 1.1};
}

static gs_status put(gs_kept *kept, const char *problem, const char *caps, gs_author_kernel *list, int count)
{
    const gs_author_result result = {.elite = list, .count = count};
    return gs_kept_put(kept, problem, gs_caps_find(caps), &result, &error);
}

static int lines(const char *with)
{
    char path[GS_PATH], *data = NULL;
    size_t size;
    int count = 0;
    if (gs_file_read(path_of(path, "kept/elites.jsonl"), 1 << 20, &data, &size, NULL) != GS_OK) return 0;
    for (const char *at = data; (at = strstr(at, with)); at += strlen(with)) count++;
    free(data);
    return count;
}

static void kernels_are_kept(void **state)
{
    gs_kept kept;
    char where[GS_PATH], path[GS_PATH], hash[GS_CONTENDER_NAME];
    gs_author_kernel two[] = {kernel_of("// one\n", 10), kernel_of("// two\n", 11)}, one[] = {kernel_of("// three\n", 9)};
    (void)state;
    CHECK(gs_kept_open(&kept, path_of(where, "kept"), &error));
    CHECK(put(&kept, PROBLEM, "h200", two, 2));
    CHECK(put(&kept, "f16:128x64x64:tn", "h200", one, 1));
    CHECK(put(&kept, PROBLEM, "a100", one, 1));
    assert_int_equal(lines("\n"), 4);
    gs_submission_name("// two\n", "manifest 1\n", hash);
    char name[GS_PATH];
    snprintf(name, sizeof name, "kept/%.100s/kernel.cu", strchr(hash, ':') + 1);
    assert_true(gs_file_exists(path_of(path, name)));
    gs_kept_free(&kept);

    CHECK(gs_kept_open(&kept, where, &error));   /* a later run: its rows of this problem on this GPU replace those that are there */
    CHECK(put(&kept, PROBLEM, "h200", one, 1));
    assert_int_equal(lines("\n"), 3);
    assert_int_equal(lines("\"us\":10"), 0);
    assert_int_equal(lines(PROBLEM), 2);
    gs_kept_free(&kept);
}

/* Two runs with one folder: what the other one put meanwhile stays. */
static void two_keep_in_one_folder(void **state)
{
    gs_kept first, second;
    char where[GS_PATH];
    gs_author_kernel one[] = {kernel_of("// one\n", 10)}, two[] = {kernel_of("// two\n", 11)};
    (void)state;
    CHECK(gs_kept_open(&first, path_of(where, "kept"), &error));
    CHECK(gs_kept_open(&second, where, &error));
    CHECK(put(&first, PROBLEM, "h200", one, 1));
    CHECK(put(&second, "f16:128x64x64:tn", "h200", two, 1));
    CHECK(put(&first, "f16:256x64x64:tn", "h200", one, 1));
    assert_int_equal(lines("\n"), 3);
    gs_kept_free(&first);
    gs_kept_free(&second);
}

static void what_is_refused(void **state)
{
    gs_kept kept;
    char where[GS_PATH], path[GS_PATH];
    gs_author_kernel one[] = {kernel_of("// one\n", 10)};
    (void)state;
    CHECK(gs_directory_make(path_of(where, "kept"), &error));
    CHECK(gs_file_write(path_of(path, "kept/elites.jsonl"), "{\"other\":1}\n", 12, &error));
    assert_int_equal(gs_kept_open(&kept, path_of(where, "kept"), &error), GS_ERROR_PARSE);
    gs_kept_free(&kept);
    assert_int_equal(lines("other"), 1);   /* and is left alone */
    CHECK(gs_file_write(path_of(path, "file"), "", 0, &error));
    assert_int_equal(gs_kept_open(&kept, path, &error), GS_ERROR_IO);
    gs_kept_free(&kept);
    assert_int_equal(gs_kept_open(&kept, path_of(where, "absent/below"), &error), GS_ERROR_NOT_FOUND);   /* one folder is made, no more */
    gs_kept_free(&kept);
    assert_false(gs_file_exists(path_of(where, "absent")));
    CHECK(gs_kept_open(&kept, path_of(where, "gone"), &error));
    assert_int_equal(rmdir(where), 0);
    CHECK(gs_file_write(where, "", 0, &error));   /* a file in its place */
    assert_int_equal(put(&kept, PROBLEM, "h200", one, 1), GS_ERROR_IO);
    gs_kept_free(&kept);
}

/* What gemmsmith author --json prints, to the last comma. */
static void a_result_as_json(void **state)
{
    gs_author_kernel best = kernel_of("// one\n", 10);
    best.reward = 0.25;
    best.registers = 168;
    best.smem = 1024;
    best.island = 2;
    const gs_author_result none = {.end = GS_AUTHOR_SILENT, .floor_us = 4, .seconds = 2.5},
                           some = {.end = GS_AUTHOR_DONE, .turns = 9, .before = 8, .judged = 7, .passed = 6, .unread = 5, .elite = &best, .count = 1, .schedule = "simple",
                                   .schedule_us = 12, .library_us = 11, .floor_us = 4, .seconds = 2.5};
    const gs_spent spent = {.requests = 3, .tokens = 300, .seconds = 1.5, .cost = 0.5};
    gs_text text = {0};
    (void)state;
    gs_author_result_line(&text, PROBLEM, gs_caps_find("h200"), &some, &spent);
    assert_string_equal(gs_text_string(&text),
        "{\"problem\":\"" PROBLEM "\",\"gpu\":\"nvidia-h200\",\"ended\":\"turns\",\"turns\":9,\"before\":8,\"judged\":7,\"passed\":6,\"unread\":5,\"elites\":1,"
        "\"best\":{\"candidate\":\"source:1\",\"base\":\"ws\",\"kind\":\"mma\",\"us\":10,\"ratio\":1.1,\"reward\":0.25,\"registers\":168,\"smem\":1024,\"island\":2},"
        "\"schedule\":\"simple\",\"schedule_us\":12,\"cublaslt_us\":11,\"floor_us\":4,\"seconds\":2.5,\"asked\":{\"requests\":3,\"tokens\":300,\"seconds\":1.5,\"cost\":0.5}}\n");
    gs_text_clear(&text);
    gs_author_result_line(&text, PROBLEM, gs_caps_find("h200"), &none, &spent);
    assert_string_equal(gs_text_string(&text),
        "{\"problem\":\"" PROBLEM "\",\"gpu\":\"nvidia-h200\",\"ended\":\"silent\",\"turns\":0,\"before\":0,\"judged\":0,\"passed\":0,\"unread\":0,\"elites\":0,"
        "\"floor_us\":4,\"seconds\":2.5,\"asked\":{\"requests\":3,\"tokens\":300,\"seconds\":1.5,\"cost\":0.5}}\n");
    gs_text_clear(&text);
    gs_author_turn_line(&text, PROBLEM, &(gs_author_turn){.island = 1, .number = 2, .base = "ws", .fault = "no kernel\nin it"});
    assert_string_equal(gs_text_string(&text), "{\"island\":1,\"turn\":2,\"base\":\"ws\",\"problem\":\"" PROBLEM "\",\"fault\":\"no kernel\"}\n");
    gs_text_clear(&text);
    const gs_evaluation got = {.candidate = "source:1", .verdict = GS_VERDICT_EXACT, .reason = "as it was", .reward = -1};
    gs_author_turn_line(&text, PROBLEM, &(gs_author_turn){.base = "", .got = &got, .reason = "without quotes", .edited = true, .again = true, .improved = false, .best = true});
    assert_non_null(strstr(gs_text_string(&text), "\"edited\":true,\"repeated\":true,\"improved\":false,\"best\":true,\"problem\":\"" PROBLEM "\""));
    assert_non_null(strstr(gs_text_string(&text), "\"reason\":\"without quotes\""));
    assert_null(strstr(gs_text_string(&text), "as it was"));
    gs_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kernels_are_kept, make_folder, remove_folder), cmocka_unit_test_setup_teardown(two_keep_in_one_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_refused, make_folder, remove_folder), cmocka_unit_test(a_result_as_json),
    };
    return run_without_leaks("author/keep", tests, GS_COUNT(tests));
}
