/* SPDX-License-Identifier: MIT
 * Proves how a list of contenders is read, which name is wrong, and what a request asks for of them in each layout. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "compare/contenders.h"
#include "leaks.h"
#include "problem/layout.h"
#include "texts.h"

#define MMA "mma/64x64x64/w2x2/s3/g8"

static gs_error error;

static void lists_are_read(void **state)
{
    (void)state;
    static const struct { const char *list, *schedule; gs_status status; const char *names, *failed, *text; } cases[] = {
        {GS_CONTENDERS_DEFAULT, NULL, GS_OK, "plan cublas cublaslt-heuristic cublaslt-autotuning ", "", ""}, {"measured,own," MMA ",simple", NULL, GS_OK, "measured own " MMA " simple ", "", ""},
        {"plan,cublas", MMA, GS_OK, MMA " cublas ", "", ""}, {"own", MMA, GS_OK, "own ", "", ""}, {"own@dependent", NULL, GS_OK, "own@dependent ", "", ""}, {"plan,", NULL, GS_OK, "plan ", "", ""},
        {"", NULL, GS_ERROR_ARGUMENT, "", "", "the list is empty"}, {",plan", NULL, GS_ERROR_ARGUMENT, "", "", "'' is none of measured,own," GS_CONTENDERS_DEFAULT ", and no schedule"},
        {"plan,owner", NULL, GS_ERROR_ARGUMENT, "plan ", "", "'owner' is none of measured,own," GS_CONTENDERS_DEFAULT ", and no schedule"},
        {"abc@dependent", NULL, GS_ERROR_ARGUMENT, "", "", "'abc@dependent' is none of measured,own," GS_CONTENDERS_DEFAULT ", and no schedule"},
        {"ow", NULL, GS_ERROR_ARGUMENT, "", "", "'ow' is none of measured,own," GS_CONTENDERS_DEFAULT ", and no schedule"},
    };
    gs_contender_names names;
    char failed[GS_CONTENDER_NAME], all[400];
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        memset(&error, 0, sizeof error);
        const gs_status status = gs_contender_names_read(&names, cases[i].list, cases[i].schedule, failed, &error);
        all[0] = '\0';
        for (int n = 0; n < names.count; n++) snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", names.name[n]);
        if (status != cases[i].status || strcmp(all, cases[i].names) != 0 || strcmp(failed, cases[i].failed) != 0 || (status != GS_OK && strcmp(error.text, cases[i].text) != 0))
            fail_msg("%s: %s, '%s', '%s', %s", cases[i].list, gs_status_name(status), all, failed, error.text);
    }
    static const char *const wrong[] = {"mma/none", "simple/none", "simplest", "own@sideways"};   /* schedules that cannot be read, and a way of launching that is none */
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        char list[64];
        snprintf(list, sizeof list, "plan,%s,cublas", wrong[i]);
        assert_int_not_equal(gs_contender_names_read(&names, list, NULL, failed, &error), GS_OK);
        assert_string_equal(failed, wrong[i]);
    }
    for (int count = GS_CONTENDERS_MOST; count <= GS_CONTENDERS_MOST + 1; count++) {
        char list[40 * 8] = "";
        for (int i = 0; i < count; i++) strcat(list, "cublas,");
        assert_int_equal(gs_contender_names_read(&names, list, NULL, failed, &error), count == GS_CONTENDERS_MOST ? GS_OK : GS_ERROR_ARGUMENT);
        assert_int_equal(names.count, GS_CONTENDERS_MOST);
        if (count > GS_CONTENDERS_MOST) assert_string_equal(error.text, "more than 31");
    }
}

static void names_are_found(void **state)
{
    (void)state;
    gs_contender_names names;
    char failed[GS_CONTENDER_NAME];
    assert_int_equal(gs_contender_names_read(&names, "plan,own@dependent", NULL, failed, &error), GS_OK);
    assert_true(gs_contender_names_have(&names, "plan") && gs_contender_names_have(&names, "own") && gs_contender_names_have(&names, "own@dependent"));   /* however it is launched */
    assert_false(gs_contender_names_have(&names, "cublas") || gs_contender_names_have(&names, "pla"));
    assert_int_equal(gs_contender_names_read(&names, "plan", NULL, failed, &error), GS_OK);
    assert_false(gs_contender_names_have(&names, "own"));
}

static void requests_by_layout(void **state)
{
    (void)state;
    static const struct { const char *names, *problem; uint32_t layouts; const char *own[2], *list; int reference; } cases[] = {
        {"plan,cublaslt-autotuning", "f16:64x64x64:nn", 3, {"", ""}, "nn:plan nn:cublaslt-autotuning tn:plan tn:cublaslt-autotuning ", 3},
        {"plan,cublaslt-autotuning", "f16:64x64x64:nn", 1, {"", ""}, "nn:plan nn:cublaslt-autotuning ", 1}, {"plan", "f16:64x64x64:tn", 2, {"", ""}, "tn:plan ", 0},
        {"plan", "f16:64x64x64:nt", 3, {"", ""}, "nt:plan tt:plan ", 0}, {"own,plan", "f16:64x64x64:nn", 3, {"simple", ""}, "nn:simple nn:plan tn:plan ", 0},
        {"own@dependent,own", "f16:64x64x64:nn", 3, {"", MMA}, "tn:" MMA "@dependent tn:" MMA " ", 0}, {"own", "f16:64x64x64:nn", 3, {"", ""}, "", 0},
        {"cublas,cublaslt-autotuning,plan", "f16:64x64x64:tn:g=2", 2, {"", ""}, "tn:cublas-groups tn:cublaslt-groups tn:cublaslt-groups-8 tn:plan ", 1},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_contender_names names;
        gs_contender_list list;
        char failed[GS_CONTENDER_NAME], own_in[2][GS_SCHEDULE_TEXT], all[400] = "";
        assert_int_equal(gs_contender_names_read(&names, cases[i].names, NULL, failed, &error), GS_OK);
        const gs_problem problem = problem_of(cases[i].problem);
        for (int b = 0; b < 2; b++) snprintf(own_in[b], sizeof own_in[b], "%s", cases[i].own[b]);
        gs_contender_list_make(&list, &names, &problem, cases[i].layouts, own_in);
        for (int n = 0; n < list.count; n++) {
            assert_ptr_equal(list.list[n], list.name[n]);
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", list.list[n]);
        }
        assert_string_equal(all, cases[i].list);
        assert_int_equal(list.reference, cases[i].reference);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_are_read), cmocka_unit_test(names_are_found), cmocka_unit_test(requests_by_layout)};
    return run_without_leaks("compare/names", tests, GS_COUNT(tests));
}
