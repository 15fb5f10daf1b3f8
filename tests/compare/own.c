/* SPDX-License-Identifier: MIT
 * What is asked for: names of contenders, and which schedules "own" has, from a file or from the store. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>

#include "compare/contenders.h"
#include "compare/own.h"
#include "compare/result.h"
#include "store/sql.h"
#include "table/table.h"
#include "comparing.h"
#include "leaks.h"
#include "texts.h"
#include "verdict/verdict.h"

static gs_error error;

static gs_status names(gs_contender_names *out, const char *list, const char *schedule, char failed[GS_CONTENDER_NAME])
{
    error = (gs_error){0};
    return gs_contender_names_read(out, list, schedule, failed, &error);
}

static void names_of_contenders(void **state)
{
    gs_contender_names n;
    char failed[GS_CONTENDER_NAME], many[1024] = "";
    (void)state;
    assert_int_equal(names(&n, GS_CONTENDERS_DEFAULT, NULL, failed), GS_OK);
    assert_int_equal(n.count, 4);
    assert_true(gs_contender_names_have(&n, "plan") && gs_contender_names_have(&n, REFERENCE) && !gs_contender_names_have(&n, "own"));
    assert_int_equal(names(&n, "own,simple,plan", OWN, failed), GS_OK);   /* a schedule in place of the plan's choice */
    assert_string_equal(n.name[1], "simple");
    assert_string_equal(n.name[2], OWN);
    assert_int_equal(names(&n, "plan,magic", NULL, failed), GS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "'magic' is none of measured,own,plan"));
    assert_string_equal(failed, "");
    assert_int_equal(names(&n, "", NULL, failed), GS_ERROR_ARGUMENT);
    assert_int_equal(names(&n, "plan,ws/1x2", NULL, failed), GS_ERROR_PARSE);
    assert_string_equal(failed, "ws/1x2");
    for (int i = 0; i <= GS_CONTENDERS_MOST; i++) strcat(many, "plan,");
    assert_int_equal(names(&n, many, NULL, failed), GS_ERROR_ARGUMENT);
    many[5 * GS_CONTENDERS_MOST] = '\0';
    assert_int_equal(names(&n, many, NULL, failed), GS_OK);
}

static void contenders_by_layout(void **state)
{
    gs_contender_names n;
    gs_contender_list list;
    char failed[GS_CONTENDER_NAME], own_in[2][GS_SCHEDULE_TEXT] = {"", OWN};
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    (void)state;
    assert_int_equal(names(&n, "own," REFERENCE, NULL, failed), GS_OK);
    gs_contender_list_make(&list, &n, &problem, 3, own_in);   /* nothing is known in nn */
    assert_int_equal(list.count, 3);
    assert_string_equal(list.list[0], "nn:" REFERENCE);
    assert_string_equal(list.list[1], "tn:" OWN);
    assert_string_equal(list.list[2], "tn:" REFERENCE);
    assert_int_equal(list.reference, 2);   /* the last of them: the one in the last layout */
    gs_contender_list_make(&list, &n, &problem, 2, own_in);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.reference, 1);
    problem.groups = 4;   /* those that take groups */
    assert_int_equal(names(&n, "cublas,own,cublaslt-heuristic," REFERENCE, NULL, failed), GS_OK);
    gs_contender_list_make(&list, &n, &problem, 2, own_in);
    assert_int_equal(list.count, 5);
    assert_string_equal(list.list[0], "tn:cublas-groups");
    assert_string_equal(list.list[2], "tn:cublaslt-heuristic");
    assert_string_equal(list.list[3], "tn:cublaslt-groups");
    assert_string_equal(list.list[4], "tn:cublaslt-groups-8");
    assert_int_equal(list.reference, 3);
}

static const char *found(bench *b, const gs_own_list *list, const char *problem)
{
    static char text[GS_SCHEDULE_TEXT];
    const gs_problem p = problem_of(problem);
    assert_int_equal(gs_own_list_find(list, &b->session, &p, text, &error), GS_OK);
    return text;
}

static void own_from_a_file(void **state)
{
    bench *const b = *state;
    gs_own_list list;
    char where[GS_OWN_WHERE];
    write_text("own.txt", "gemmsmith-tuned 1\n# a comment\n\n"
                          "f16:64x64x64:tn  simple  9.9 more words   # and a comment\r\n"
                          "f16:128x128x128:tn library 3\n"
                          "{\"problem\":\"f16:256x256x256:nn\",\"best_own\":\"" OWN "\"}\n"
                          "{\"problem\":\"f16:512x512x512:nn\",\"best_own\":\"\"}\n"
                          "f16:64x64x64:tn " OWN);
    assert_int_equal(gs_own_list_read(&list, "own.txt", where, &error), GS_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(found(b, &list, "f16:64x64x64:tn"), OWN);   /* the later line */
    assert_string_equal(found(b, &list, "f16:256x256x256:nn"), OWN);
    assert_string_equal(found(b, &list, "f16:128x128x128:tn"), "");
    assert_string_equal(found(b, &list, "f16:64x64x64:nn"), "");
    gs_own_list_free(&list);
    assert_null(list.list);
}

static void lines_that_cannot_be_read(void **state)
{
    static const char *const bad[] = {"f16:64x64x64:tn\n", "f16:64x64 simple\n", "f16:64x64x64:tn ws/1\n", "{\"problem\":\"f16:64x64x64:tn\"}\n", "{\n"};
    gs_own_list list;
    char where[GS_OWN_WHERE], text[256];
    (void)state;
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        snprintf(text, sizeof text, "f16:64x64x64:tn simple\n%s", bad[i]);
        write_text("own.txt", text);
        assert_int_not_equal(gs_own_list_read(&list, "own.txt", where, &error), GS_OK);
        assert_string_equal(where, "own.txt line 2");
        assert_null(list.list);
    }
    assert_int_equal(gs_own_list_read(&list, "absent", where, &error), GS_ERROR_NOT_FOUND);
    assert_string_equal(where, "");
}

static void own_from_the_store(void **state)
{
    bench *const b = *state;
    gs_own_list list;
    char where[GS_OWN_WHERE];
    gs_trial trial = {.us = 10, .ratio = 1};
    assert_int_equal(gs_own_list_read(&list, NULL, where, &error), GS_OK);
    assert_string_equal(found(b, &list, "f16:1024x1024x1024:tn"), "");
    snprintf(trial.problem, sizeof trial.problem, "f16:1024x1024x1024:tn");
    snprintf(trial.candidate, sizeof trial.candidate, OWN);
    snprintf(trial.verdict, sizeof trial.verdict, "%s", gs_verdict_name(GS_VERDICT_PASS));
    assert_int_equal(gs_store_put(b->session.store, &b->session.session, &trial, &error), GS_OK);
    assert_string_equal(found(b, &list, "f16:1024x1024x1024:tn"), OWN);
    const gs_problem problem = problem_of("f16:1024x1024x1024:tn");
    char text[GS_SCHEDULE_TEXT];
    assert_int_equal(gs_sql_text_run(b->session.store, "ALTER TABLE trial RENAME TO gone"), SQLITE_OK);
    assert_int_equal(gs_own_list_find(&list, &b->session, &problem, text, &error), GS_ERROR_STORE);
    assert_string_equal(text, "");
    gs_own_list_free(&list);
}

/* Records the row of a problem in one layout: ours, and the reference with these fields. */
static void record(bench *b, const char *ours, const char *reference)
{
    char text[1024];
    gs_result row;
    snprintf(text, sizeof text, "{\"problem\":\"f16:67x129x65:tn\",\"title\":\"f16:67x129x65:tn\",\"band\":1,\"floor_us\":1.5,\"rounds\":21,\"own\":\"own\",\"contenders\":["
             "{\"name\":\"simple\",\"own\":true,\"layout\":\"tn\",\"status\":\"GS_OK\",%s},{\"name\":\"" REFERENCE "\",\"layout\":\"tn\",\"suggestion\":3,%s}]}",
             ours, reference);
    json_t *const json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_int_equal(gs_result_read(&row, json, &error), GS_OK);
    assert_int_equal(gs_own_record(&b->session, &row, "own.tuned", &error), GS_OK);
    gs_result_free(&row);
}

/* Where the reference has no algorithm or a wrong one, ours wins without a ratio; where it failed for another reason, nothing is known. */
static void record_without_a_reference(void **state)
{
    static const char *const lacks[] = {"\"status\":\"GS_OK\",\"wrong\":true", "\"status\":\"GS_ERROR_UNSUPPORTED\",\"wrong\":false"};
    bench *const b = *state;
    gs_table *table;
    record(b, "\"device_us\":7.5", "\"status\":\"GS_ERROR_LIBRARY\",\"wrong\":false");
    record(b, "\"device_us\":7.5,\"wrong\":true", lacks[0]);
    assert_false(gs_file_exists("own.tuned"));
    for (int i = 0; i < 2; i++) {
        record(b, i ? "\"device_us\":6.25" : "\"device_us\":7.5", lacks[i]);
        assert_int_equal(gs_table_create(&table), GS_OK);
        assert_int_equal(gs_table_load(table, "own.tuned", NULL, NULL, &error), GS_OK);
        assert_int_equal(gs_table_size(table), 1);
        assert_true(gs_row_alone(gs_table_row(table, 0)) && gs_table_row(table, 0)->us == (i ? 6.25 : 7.5));
        gs_table_destroy(&table);
    }
}

/* Each layout on its own: where only the library ran it wins, and what has no reference is kept on an emulated device alone. */
static void record_of_one_side(void **state)
{
    static const char text[] =
        "{\"problem\":\"f16:67x129x65:tn\",\"title\":\"f16:67x129x65:tn\",\"band\":1,\"floor_us\":1.5,\"rounds\":21,\"own\":\"own\",\"contenders\":["
        "{\"name\":\"simple\",\"own\":true,\"layout\":\"tn\",\"status\":\"GS_OK\",\"device_us\":8},{\"name\":\"" REFERENCE "\",\"layout\":\"nn\",\"status\":\"GS_OK\",\"suggestion\":3,\"device_us\":5}]}";
    bench *const b = *state;
    for (int emulated = 0; emulated < 2; emulated++) {
        gs_result row;
        gs_table *table;
        json_t *const json = json_loads(text, 0, NULL);
        assert_non_null(json);
        b->session.caps.emulated = emulated;
        assert_int_equal(gs_result_read(&row, json, &error), GS_OK);
        assert_int_equal(gs_own_record(&b->session, &row, emulated ? "ours.tuned" : "theirs.tuned", &error), GS_OK);
        gs_result_free(&row);
        assert_int_equal(gs_table_create(&table), GS_OK);
        assert_int_equal(gs_table_load(table, emulated ? "ours.tuned" : "theirs.tuned", NULL, NULL, &error), GS_OK);
        assert_int_equal(gs_table_size(table), 1);
        const gs_row *const kept = gs_table_row(table, 0);
        assert_true(emulated ? !kept->library && kept->us == 8 && kept->problem.layout == GS_TN : kept->library && kept->library_us == 5 && kept->problem.layout == GS_NN);
        gs_table_destroy(&table);
    }
}

/* Of groups the fastest way of the libraries is the reference, and ours is what a plan takes also where that was faster. */
static void record_of_groups(void **state)
{
    static const char *const fails[] = {"\"status\":\"GS_ERROR_UNSUPPORTED\"", "\"status\":\"GS_ERROR_LIBRARY\"", "\"status\":\"GS_OK\",\"wrong\":true", "\"status\":\"GS_OK\",\"reference\":true,\"device_us\":5"};
    /* legend: how each of the three ways ended, whether there is a row, its ratio */
    static const struct { int way[3]; bool row; double ratio; } cases[] = {
        {{1, 0, 0}, false, 0}, {{0, 1, 0}, false, 0}, {{0, 0, 1}, false, 0}, {{0, 2, 0}, true, 0}, {{0, 1, 3}, true, 0.625}, {{3, 0, 2}, true, 0.625},
    };
    bench *const b = *state;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[1024], path[32];
        gs_result row;
        gs_table *table;
        snprintf(path, sizeof path, "groups%zu.tuned", i);
        snprintf(text, sizeof text, "{\"problem\":\"f16:67x129x65:tn:g=3\",\"title\":\"f16:67x129x65:tn:g=3\",\"band\":1,\"floor_us\":1.5,\"rounds\":21,\"own\":\"own\",\"contenders\":["
                 "{\"name\":\"simple\",\"own\":true,\"layout\":\"tn\",\"status\":\"GS_OK\",\"device_us\":8,\"ratio\":{\"median\":0.625,\"low\":0.62,\"high\":0.63,\"verdict\":\"slower\"}},"
                 "{\"name\":\"cublas-groups\",\"layout\":\"tn\",%s},{\"name\":\"cublaslt-groups\",\"layout\":\"tn\",%s},{\"name\":\"cublaslt-groups-8\",\"layout\":\"tn\",%s}]}",
                 fails[cases[i].way[0]], fails[cases[i].way[1]], fails[cases[i].way[2]]);
        json_t *const json = json_loads(text, 0, NULL);
        assert_non_null(json);
        assert_int_equal(gs_result_read(&row, json, &error), GS_OK);
        assert_int_equal(gs_own_record(&b->session, &row, path, &error), GS_OK);
        gs_result_free(&row);
        if (gs_file_exists(path) != cases[i].row) fail_msg("case %zu", i);
        if (!cases[i].row) continue;
        assert_int_equal(gs_table_create(&table), GS_OK);
        assert_int_equal(gs_table_load(table, path, NULL, NULL, &error), GS_OK);
        assert_int_equal(gs_table_size(table), 1);
        const gs_row *const kept = gs_table_row(table, 0);
        assert_int_equal(kept->library, 0);
        assert_true(kept->us == 8 && kept->ratio == cases[i].ratio && kept->library_us == (cases[i].ratio > 0 ? 5 : 0));
        gs_table_destroy(&table);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_contenders), cmocka_unit_test(contenders_by_layout), TEST(own_from_a_file), TEST(lines_that_cannot_be_read), TEST(own_from_the_store),
        TEST(record_without_a_reference), TEST(record_of_groups), TEST(record_of_one_side),
    };
    return run_without_leaks("compare/own", tests, GS_COUNT(tests));
}
