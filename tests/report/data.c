/* SPDX-License-Identifier: MIT
 * Proves what data a page carries, name by name and in their order, and how a report keeps its lists. How the page looks with it is in page.py. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "leaks.h"
#include "report/internal.h"
#include "texts.h"

#define DATA "<script type=\"application/json\" id=\"data\">"

/* The page's data, without the program's version. */
static char *data_of(const gs_report *r)
{
    gs_text page = {0};
    gs_report_page(&page, r, "2026-01-31");
    const char *const begin = strstr(gs_text_string(&page), DATA);
    assert_non_null(begin);
    char *const data = strdup(begin + strlen(DATA));
    char *const end = strstr(data, "</script>\n");
    assert_non_null(end);
    *end = '\0';
    gs_text_free(&page);
    char version[80];
    snprintf(version, sizeof version, "\"version\":\"%s\",", gs_version());
    char *const at = strstr(data, version);
    assert_non_null(at);
    memmove(at, at + strlen(version), strlen(at + strlen(version)) + 1);
    return data;
}

#define COLUMNS                                                                                                                                                     \
    "\"columns\":[\"problem\",\"kind\",\"m\",\"n\",\"k\",\"choice\",\"cublaslt\",\"us\",\"cublaslt_us\",\"ratio\",\"low\",\"high\",\"floor\",\"band\",\"date\",\"ours\"," \
    "\"reference\"],"
#define LINEAGES "\"lineage_columns\":[\"candidate\",\"base\",\"verdict\",\"generation\",\"island\",\"us\",\"ratio\",\"gain\",\"reward\",\"best\"],\"lineages\":["

static void nothing(void **state)
{
    (void)state;
    const gs_report r = {0};
    char *const data = data_of(&r);
    assert_non_null(strstr(data, "{\"made\":\"2026-01-31\",\"sources\":[],\"unread\":0,\"bands\":["));
    assert_non_null(strstr(data, COLUMNS "\"machines\":[],\"sets\":[],\"curves\":[]," LINEAGES "]}"));
    free(data);
}

/* Of every list more than one, and no two numbers alike. */
static void everything(void **state)
{
    (void)state;
    gs_report r = {.unread = 3};
    const gs_problem problem = problem_of("f16:64x128x256:tn");
    gs_text_add(&r.sources, "store a.db\nrows <b>.csv\n");
    gs_report_set *set = gs_report_find_set(&r, "NVIDIA H200", "server", false);
    set->faults = 2;
    gs_report_point *p = gs_report_find_point(&r, set, "f16:64x128x256:tn", &problem);
    p->us = 1.5, p->library_us = 2.5, p->ratio = 3.5, p->low = 4.5, p->high = 5.5, p->floor_us = 6.5, p->band = 4, p->library = true;
    for (int i = 0; i < GS_REPORT_PERCENTILES; i++) p->own[i] = 10 + i, p->reference[i] = 20 + i;
    strcpy(p->choice, "tn tiny");
    strcpy(p->date, "2026-01-30");
    set = gs_report_find_set(&r, "emu-h200", "predicted+dependent", true);
    gs_report_find_point(&r, set, "f16:64x128x256:tn:acc=f16", &problem);
    gs_report_find_point(&r, set, "other", &problem);
    gs_report_add_machine(&r, &(gs_report_machine){"d1", "13.0", "13.1", "12.9", "0.1", "c0", "2026-01-02", "2026-01-03", 132, 1});
    gs_report_add_machine(&r, &(gs_report_machine){.device = "d2", .runs = 2});

    gs_curves curves = {0};
    gs_error error;
    assert_int_equal(gs_curves_add(&curves, "one", "n1", 1, 2, &error), GS_OK);
    assert_int_equal(gs_curves_add(&curves, "one", "n1", 3, NAN, &error), GS_OK);
    assert_int_equal(gs_curves_add(&curves, "one", "n2", 5, 6, &error), GS_OK);
    assert_int_equal(gs_curves_add(&curves, "two", "n1", 7, 8, &error), GS_OK);
    assert_int_equal(gs_curves_add(&curves, "one", "n1", 9, 10, &error), GS_OK);
    assert_int_equal(curves.count, 3);
    gs_report_take_curves(&r, &curves, "emu-h200");
    gs_curves_free(&curves);
    assert_int_equal(gs_curves_add(&curves, "three", "n", 1, 1, &error), GS_OK);
    gs_report_take_curves(&r, &curves, "nvidia-h200");
    gs_curves_free(&curves);

    gs_report_lineage *line = gs_report_more(&r, &r.lineages, &r.lineage_count, &r.lineage_capacity, sizeof *line);
    strcpy(line->device, "emu-h200");
    strcpy(line->problem, "p1");
    gs_report_kernel *k = gs_report_more(&r, &line->list, &line->count, &line->capacity, sizeof *k);
    *k = (gs_report_kernel){"source:1", "ws", "pass", 2, 3, 1.5, 2.5, 3.5, 0.5, true};
    k = gs_report_more(&r, &line->list, &line->count, &line->capacity, sizeof *k);
    *k = (gs_report_kernel){"source:2", "source:1", "exact", 4, 5, NAN, NAN, NAN, -1, false};
    line = gs_report_more(&r, &r.lineages, &r.lineage_count, &r.lineage_capacity, sizeof *line);
    strcpy(line->device, "nvidia-h200");
    assert_false(r.failed);
    char *const data = data_of(&r);
    const char *const rest = strstr(data, "\"columns\"");
    assert_non_null(strstr(data, "{\"made\":\"2026-01-31\",\"sources\":[\"store a.db\",\"rows \\u003cb>.csv\"],\"unread\":3,\"bands\":["));
    assert_null(strchr(data, '<'));
    assert_string_equal(rest,
        COLUMNS "\"machines\":[[\"d1\",132,\"13.0\",\"13.1\",\"12.9\",\"0.1\",\"c0\",1,\"2026-01-02\",\"2026-01-03\"],[\"d2\",null,\"\",\"\",\"\",\"\",\"\",2,\"\",\"\"]],"
        "\"sets\":[{\"gpu\":\"NVIDIA H200\",\"mode\":\"server\",\"predicted\":false,\"dependent\":false,\"server\":true,\"faults\":2,\"points\":["
        "[\"f16:64x128x256:tn\",\"f16 tn\",64,128,256,\"tn tiny\",true,1.5,2.5,3.5,4.5,5.5,6.5,4,\"2026-01-30\",[10,11,12],[20,21,22]]]},"
        "{\"gpu\":\"emu-h200\",\"mode\":\"predicted+dependent\",\"predicted\":true,\"dependent\":true,\"server\":false,\"faults\":0,\"points\":["
        "[\"f16:64x128x256:tn:acc=f16\",\"f16 tn acc=f16\",64,128,256,\"\",false,null,null,null,null,null,null,-1,\"\",[null,null,null],[null,null,null]],"
        "[\"other\",\"other\",64,128,256,\"\",false,null,null,null,null,null,null,-1,\"\",[null,null,null],[null,null,null]]]}],"
        "\"curves\":[{\"series\":\"one\",\"name\":\"n1\",\"device\":\"emu-h200\",\"predicted\":true,\"x\":[1,3,9],\"y\":[2,null,10]},"
        "{\"series\":\"one\",\"name\":\"n2\",\"device\":\"emu-h200\",\"predicted\":true,\"x\":[5],\"y\":[6]},"
        "{\"series\":\"two\",\"name\":\"n1\",\"device\":\"emu-h200\",\"predicted\":true,\"x\":[7],\"y\":[8]},"
        "{\"series\":\"three\",\"name\":\"n\",\"device\":\"nvidia-h200\",\"predicted\":false,\"x\":[1],\"y\":[1]}],"
        LINEAGES "{\"device\":\"emu-h200\",\"problem\":\"p1\",\"predicted\":true,\"kernels\":[[\"source:1\",\"ws\",\"pass\",2,3,1.5,2.5,3.5,0.5,true],"
        "[\"source:2\",\"source:1\",\"exact\",4,5,null,null,null,-1,false]]},{\"device\":\"nvidia-h200\",\"problem\":\"\",\"predicted\":false,\"kernels\":[]}]}");
    free(data);
    gs_report_free(&r);
}

/* A set is one of a device, a mode, and of what is predicted; a point one of its set. */
static void sets_and_points_are_found_again(void **state)
{
    (void)state;
    gs_report r = {0};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 8, 8, 8);
    static const struct { const char *gpu, *mode; bool predicted; int at; } sets[] = {
        {"a", "offline", false, 0}, {"b", "offline", false, 1}, {"a", "server", false, 2}, {"a", "offline", true, 3}, {"a", "offline", false, 0}, {"a", "offline", true, 3}, {"a", "server", false, 2},
    };
    for (size_t i = 0; i < GS_COUNT(sets); i++) {
        const gs_report_set *const set = gs_report_find_set(&r, sets[i].gpu, sets[i].mode, sets[i].predicted);
        assert_int_equal(set - r.sets, sets[i].at);
    }
    assert_int_equal(r.set_count, 4);
    gs_report_set *const set = &r.sets[0];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 20; i++) {
            char key[16];
            snprintf(key, sizeof key, "key %d", i);
            assert_int_equal(gs_report_find_point(&r, set, key, &problem) - set->list, i);
        }
    assert_int_equal(set->count, 20);
    gs_report_free(&r);
    assert_true(r.sets == NULL && r.set_count == 0);
}

/* Two runs are of one machine if nothing that is known of it differs; then their dates are joined. */
static void runs_of_one_machine_are_one(void **state)
{
    (void)state;
    const gs_report_machine one = {"d", "1", "2", "3", "4", "5", "2026-01-05", "2026-01-06", 132, 1};
    gs_report r = {0};
    for (int field = 0; field <= 7; field++) {
        gs_report_machine m = one;
        char *const texts[] = {m.device, m.driver, m.cublaslt, m.nvrtc, m.version, m.commit};
        if (field < 6) texts[field][0] = 'x';
        if (field == 6) m.sms = 114;
        gs_report_add_machine(&r, &m);
        gs_report_add_machine(&r, &m);
        assert_int_equal(r.machine_count, field + 1);
        assert_int_equal(r.machines[field].runs, 2);
    }
    gs_report_machine more = one;
    more.runs = 5;
    strcpy(more.from, "2026-01-04");
    strcpy(more.to, "2026-01-05");
    gs_report_add_machine(&r, &more);
    strcpy(more.from, "2026-01-06");
    strcpy(more.to, "2026-01-07");
    gs_report_add_machine(&r, &more);
    assert_int_equal(r.machine_count, 8);
    assert_int_equal(r.machines[7].runs, 12);
    assert_string_equal(r.machines[7].from, "2026-01-04");
    assert_string_equal(r.machines[7].to, "2026-01-07");
    gs_report_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing), cmocka_unit_test(everything), cmocka_unit_test(sets_and_points_are_found_again), cmocka_unit_test(runs_of_one_machine_are_one),
    };
    return run_without_leaks("report/data", tests, GS_COUNT(tests));
}
