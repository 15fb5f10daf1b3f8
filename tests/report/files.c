/* SPDX-License-Identifier: MIT
 * What a report takes from files of eval: lines of values and objects, with the machines that they name, the newest run of a problem, and what cannot be read; and curves from rows
 * and back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "allocations.h"
#include "evaluate/environment.h"
#include "leaks.h"
#include "report/report.h"
#include "store_folder.h"

#define HEAD "problem,mode,cache,layout,contender,choice,device_us,ratio,low,high,is_best,best_ratio,best_low,best_high,verified,floor_us,band,call_us,call_p50,call_p95,call_p99,date\n"
#define H200 "# NVIDIA H200, driver CUDA 13.0, cuBLASLt 13.1.0, NVRTC 13.0, gemmsmith 0.1.0+d21e1b27 c79996c, "
#define DAY1 "2026-11-21T15:58:11Z"
#define DAY2 "2026-11-22T15:58:11Z"

static const char *file(const char *name, const char *text)
{
    static char path[GS_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(gs_file_write(path, text, strlen(text), &error));
    return path;
}

/* Of the set's problem, which is there once. */
static const gs_report_point *point_of(const gs_report_set *set, const char *problem)
{
    const gs_report_point *found = NULL;
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->list[i].problem, problem) == 0) {
            assert_null(found);
            found = &set->list[i];
        }
    if (!found) fail_msg("no %s", problem);
    return found;
}

static void lines_of_values(void **state)
{
    gs_report r = {0};
    gs_text summary = {0};
    (void)state;
    CHECK(gs_report_add_file(&r, file("rows.csv",
        H200 DAY1 "\n\n" HEAD
        "f16:64x64x64:nn,offline,cold,nn,own,simple,10,1.1,1,1.2,0,,,,ok,5,2,14,11,12,13," DAY1 "\n"
        "f16:64x64x64:nn,offline,cold,tn,own,tiny,8,1.5,1.4,1.6,1,1.25,1.125,1.5,ok,5,2,12,11.5,12.5,13.5," DAY1 "\n"
        "f16:64x64x64:nn,offline,cold,nn,cublaslt-autotuning,,12,1,1,1,0,,,,,5,2,16,1,2,3," DAY1 "\n"
        "f16:64x64x64:nn,offline,cold,tn,cublaslt-autotuning,,11,1,1,1,1,,,,,5,2,15,4,5,6," DAY1 "\n"
        "f16:64x64x64:nn,offline,warm,tn,own,tiny,1,1,1,1,1,9,9,9,ok,5,2,1,1,1,1," DAY1 "\n"
        "f16:64x64x64:nn,offline,cold,tn,own,tiny,1,1,1,1,1,9,9,9,wrong,5,2,1,1,1,1," DAY1 "\n"
        "f16:128x64x64:tn,server,cold,tn,own,tiny,8,1.5,1.4,1.6,1,1.25,1.125,1.5,ok,5,1,12,11.5,12.5,13.5," DAY2 "\n"
        "f16:32x64x64:tn,predicted,cold,tn,own,tiny,10,,,,1,,,,ok,5,0,,,,," DAY2 "\n"
        "nonsense,offline,cold,tn,own,tiny,10,,,,1,,,,ok,5,0,,,,," DAY2 "\n"
        "f16:8x8x8:tn,offline,cold,tn,own,tiny,10,,,,1,,,,ok,5,6,,,,," DAY2 "\n"
        "f16:8x8x8:tn,sometimes,cold,tn,own,tiny,10,,,,1,,,,ok,5,0,,,,," DAY2 "\n"
        "f16:8x8x8:tn,offline\n"
        H200 DAY2 "\n"), &error));
    assert_int_equal(r.unread, 4);
    assert_int_equal(r.set_count, 3);
    const gs_report_set *const set = &r.sets[0];
    assert_string_equal(set->gpu, "NVIDIA H200");
    assert_string_equal(set->mode, "offline");
    assert_true(!set->server && !set->predicted && !set->dependent && set->count == 1 && set->faults == 1);
    const gs_report_point *const p = point_of(set, "f16:64x64x64:nn,tn");
    assert_string_equal(p->kind, "f16 nn,tn");
    assert_string_equal(p->choice, "tn tiny");
    assert_string_equal(p->date, DAY1);
    assert_true(p->us == 8 && p->ratio == 1.25 && p->low == 1.125 && p->high == 1.5 && p->floor_us == 5 && p->band == 2 && p->layouts == 3);
    assert_true(p->library_us == 11 && p->own[GS_REPORT_P50] == 11.5 && p->own[GS_REPORT_P99] == 13.5 && p->reference[GS_REPORT_P95] == 5);
    const gs_report_point *const call = point_of(&r.sets[1], "f16:128x64x64:tn"), *const predicted = point_of(&r.sets[2], "f16:32x64x64:tn");
    assert_true(r.sets[1].server && call->us == 12 && isnan(call->library_us));
    assert_true(r.sets[2].predicted && predicted->us == 10 && predicted->ratio == 0.5 && isnan(predicted->low));
    assert_int_equal(r.machine_count, 1);
    const gs_report_machine *const m = &r.machines[0];
    assert_string_equal(m->device, "NVIDIA H200");
    assert_string_equal(m->driver, "13.0");
    assert_string_equal(m->cublaslt, "13.1.0");
    assert_string_equal(m->commit, "c79996c");
    assert_true(m->runs == 2 && strcmp(m->from, DAY1) == 0 && strcmp(m->to, DAY2) == 0);
    assert_string_equal(gs_text_string(&r.sources), "rows rows.csv\n");
    gs_report_summary(&summary, &r, "page.html", 3);
    assert_string_equal(gs_text_string(&summary), "{\"out\":\"page.html\",\"problems\":3,\"sets\":3,\"curves\":0,\"lineages\":0,\"unread\":4}");
    gs_text_free(&summary);
    gs_report_free(&r);
    assert_true(r.set_count == 0 && !r.sets && !r.machines);
    /* written outside a checkout: without a commit */
    CHECK(gs_report_add_file(&r, file("rows.csv",
        "# NVIDIA H200, driver CUDA 13.0, cuBLASLt 13.1.0, NVRTC 13.0, gemmsmith 0.1.0 , " DAY1 "\n" HEAD
        "f16:64x64x64:nn,offline,cold,nn,own,simple,10,1.1,1,1.2,1,1.1,1,1.2,ok,5,2,14,11,12,13," DAY1 "\n"), &error));
    assert_int_equal(r.machine_count, 1);
    assert_string_equal(r.machines[0].version, "0.1.0");
    assert_true(r.machines[0].commit[0] == '\0' && strcmp(r.machines[0].from, DAY1) == 0);
    gs_report_free(&r);
}

#define ROW(mode, contender, choice, us, best, more) "f16:64x64x64:nn," mode ",cold,nn," contender "," choice "," us ",1.1,1,1.2," best ",1.25,1.125,1.5," more ",5,2,14,11,12,13," DAY1 "\n"

/* The fastest of ours, unless it is said which one is the best: that one, whatever comes behind it. */
static void ours_that_count(void **state)
{
    (void)state;
    static const struct { const char *rows, *choice; double us, ratio; } cases[] = {
        {ROW("offline", "own", "a", "10", "0", "ok") ROW("offline", "own", "b", "8", "0", "ok") ROW("offline", "own", "c", "9", "0", "ok") ROW("offline", "own", "d", "8", "0", "ok"), "nn b", 8, NAN},
        {ROW("offline", "own", "a", "10", "0", "ok") ROW("offline", "own", "b", "20", "1", "ok") ROW("offline", "own", "c", "1", "0", "ok"), "nn b", 20, 1.25},
        {ROW("offline", "own", "a", "20", "1", "ok") ROW("offline", "own", "b", "10", "1", "ok"), "nn a", 20, 1.25},
        {ROW("offline", "own", "a", "10x", "1", "ok"), "nn a", NAN, 1.25},
        {ROW("offline", "own", "a", "", "1", "ok"), "nn a", NAN, 1.25},
        {ROW("offline", "own", "a", "10", "1", "wrong"), "", NAN, NAN},
        {ROW("offline", "other", "a", "10", "1", "ok"), "", NAN, NAN},
        {ROW("offline", "cublaslt-autotuning", "a", "10", "1", "ok"), "", NAN, NAN},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[2000];
        gs_report r = {0};
        snprintf(text, sizeof text, HEAD "%s", cases[i].rows);
        CHECK(gs_report_add_file(&r, file("rows.csv", text), &error));
        const gs_report_point *const p = point_of(&r.sets[0], "f16:64x64x64:nn");
        assert_string_equal(p->choice, cases[i].choice);
        assert_true((p->us == cases[i].us || (isnan(p->us) && isnan(cases[i].us))) && (p->ratio == cases[i].ratio || (isnan(p->ratio) && isnan(cases[i].ratio))));
        assert_true((p->library_us == 10) == (strstr(cases[i].rows, "autotuning") != NULL));
        assert_int_equal(r.sets[0].faults, strstr(cases[i].rows, "wrong") != NULL);
        gs_report_free(&r);
    }
}

static void modes_of_lines(void **state)
{
    (void)state;
    static const struct { const char *mode; bool known, server, dependent, predicted; } cases[] = {
        {"offline", true, false, false, false}, {"offline+dependent", true, false, true, false}, {"server", true, true, false, false}, {"server+dependent", true, true, true, false},
        {"predicted", true, false, false, true}, {"offline+behind", true, false, false, false}, {"server+skewed", true, true, false, false}, {"offline+dependent+skewed", true, false, true, false},
        {"offline+skewed+behind", true, false, false, false}, {"", false}, {"off", false}, {"offline+", false}, {"offline+behind2", false}, {"+behind", false}, {"offlines", false}, {"predicted+dependent", false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[600];
        gs_report r = {0};
        snprintf(text, sizeof text, HEAD "f16:64x64x64:nn,%s,cold,nn,own,tiny,10,1.1,1,1.2,1,1.25,1.125,1.5,ok,5,2,14,11,12,13," DAY1 "\n", cases[i].mode);
        CHECK(gs_report_add_file(&r, file("rows.csv", text), &error));
        if (r.set_count != cases[i].known || r.unread != !cases[i].known) fail_msg("%s", cases[i].mode);
        if (cases[i].known) {
            const gs_report_set *const set = &r.sets[0];
            assert_string_equal(set->mode, cases[i].mode);
            assert_true(set->server == cases[i].server && set->dependent == cases[i].dependent && set->predicted == cases[i].predicted);
            assert_true(set->list[0].us == (cases[i].server ? 14 : 10) && set->list[0].ratio == (cases[i].predicted ? 0.5 : 1.25) && isnan(set->list[0].low) == cases[i].predicted);
        }
        gs_report_free(&r);
    }
}

/* Every column is looked for by its name, in any order, and missed. */
static void columns_of_lines(void **state)
{
    (void)state;
    gs_report r = {0};
    CHECK(gs_report_add_file(&r, file("rows.csv", "problem,date,call_p99,call_p95,call_p50,call_us,band,floor_us,verified,best_high,best_low,best_ratio,is_best,high,low,ratio,device_us,choice,contender,layout,cache,mode,more\n"
                                                  "f16:64x64x64:nn," DAY1 ",13,12,11,14,2,5,ok,1.5,1.125,1.25,1,1.2,1,1.1,10,tiny,own,tn,cold,offline,x\n"), &error));
    const gs_report_point *const p = point_of(&r.sets[0], "f16:64x64x64:tn");
    assert_true(p->us == 10 && p->ratio == 1.25 && p->low == 1.125 && p->high == 1.5 && p->floor_us == 5 && p->band == 2 && p->own[0] == 11 && p->own[1] == 12 && p->own[2] == 13);
    gs_report_free(&r);
    static const char *const names[] = {"mode", "cache", "layout", "contender", "choice", "device_us", "ratio", "low", "high", "is_best", "best_ratio", "best_low", "best_high", "verified", "floor_us",
                                        "band", "call_us", "call_p50", "call_p95", "call_p99", "date"};
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        char text[400] = "problem";
        for (size_t k = 0; k < GS_COUNT(names); k++)
            if (k != i) strcat(strcat(text, ","), names[k]);
        assert_int_equal(gs_report_add_file(&r, file("rows.csv", strcat(text, "\n")), &error), GS_ERROR_CORRUPT);
        assert_string_equal(error.field, names[i]);
        assert_non_null(strstr(error.text, "no such column"));
        gs_report_free(&r);
    }
}

static void the_newest_run_of_a_problem_counts(void **state)
{
    gs_report r = {0};
    (void)state;
    static const char *const texts[] = {
        HEAD "f16:64x64x64:nn,offline,cold,nn,own,simple,10,1.1,1,1.2,1,1.1,1,1.2,ok,5,2,14,11,12,13," DAY2 "\n",
        HEAD "f16:64x64x64:nn,offline,cold,tn,own,tiny,5,1.1,1,1.2,1,1.1,1,1.2,ok,5,2,14,11,12,13," DAY1 "\n",
        HEAD "f16:64x64x64:nn,offline,cold,tn,own,tiny,20,1.1,1,1.2,1,1.1,1,1.2,ok,5,2,14,11,12,13,2026-11-23T00:00:00Z\n"};
    for (int i = 0; i < 3; i++) {
        CHECK(gs_report_add_file(&r, file("rows.csv", texts[i]), &error));
        assert_true(r.set_count == 1 && r.sets[0].count == 1 && r.sets[0].list[0].us == (i < 2 ? 10 : 20));
        assert_string_equal(r.sets[0].list[0].problem, i < 2 ? "f16:64x64x64:nn" : "f16:64x64x64:tn");
    }
    assert_string_equal(r.sets[0].gpu, "unknown GPU");
    gs_report_free(&r);
}

#define ENTRY(name, layout, us, more) "{\"name\":\"" name "\",\"layout\":\"" layout "\",\"status\":\"GS_OK\",\"detail\":\"tiny\",\"device_us\":" us ",\"call_us\":7,\"call_p50\":6" more "}"
#define OBJECT(date, more, entries) "{\"title\":\"f16:64x64x64:nn,tn\",\"problem\":\"f16:64x64x64:nn\",\"mode\":\"offline\",\"cache\":\"cold\",\"gpu\":\"NVIDIA H200\",\"sms\":132,\"driver\":13000," \
                                    "\"cublaslt\":130100,\"nvrtc\":13010,\"version\":\"0.1.0\",\"commit\":\"c0\",\"date\":\"" date "\",\"band\":2,\"floor_us\":4,\"own\":\"plan\"" more \
                                    ",\"contenders\":[" entries "]}\n"

static void objects_of_eval(void **state)
{
    gs_report r = {0};
    (void)state;
    CHECK(gs_report_add_file(&r, file("eval.json",
        OBJECT(DAY1, ",\"best\":{\"median\":1.25,\"low\":1.125,\"high\":1.5,\"verdict\":\"faster\",\"own\":0,\"reference\":1}",
               ENTRY("plan", "tn", "8", "") "," ENTRY("cublaslt-autotuning", "tn", "10", "") "," ENTRY("plan", "nn", "9", ",\"wrong\":true"))
        "{\"problem\":1}\n" "not an object\n" "\n"), &error));
    assert_true(r.unread == 2 && r.set_count == 1 && r.machine_count == 1);
    const gs_report_point *p = point_of(&r.sets[0], "f16:64x64x64:nn,tn");
    assert_true(p->us == 8 && p->library_us == 10 && p->ratio == 1.25 && p->low == 1.125 && p->high == 1.5 && p->floor_us == 4 && p->band == 2);
    assert_true(p->own[GS_REPORT_P50] == 6 && r.sets[0].faults == 1);
    assert_string_equal(p->choice, "tn tiny");
    const gs_report_machine *const m = &r.machines[0];
    assert_string_equal(m->device, "NVIDIA H200");
    assert_string_equal(m->driver, "13.0");
    assert_string_equal(m->cublaslt, "13.1.0");
    assert_string_equal(m->nvrtc, "13.1");
    assert_string_equal(m->version, "0.1.0");
    assert_true(m->sms == 132 && m->runs == 1 && strcmp(m->commit, "c0") == 0 && strcmp(m->from, DAY1) == 0 && strcmp(m->to, DAY1) == 0);
    /* newer, where nothing says which is the best: the fastest of ours that is right, and the reference in its layout */
    CHECK(gs_report_add_file(&r, file("eval.json", OBJECT(DAY2, "", ENTRY("plan", "nn", "9", "") "," ENTRY("plan", "tn", "7", ",\"wrong\":true") "," ENTRY("cublaslt-autotuning", "tn", "10", "") ","
                                                          ENTRY("cublaslt-autotuning", "nn", "11", ""))), &error));
    p = point_of(&r.sets[0], "f16:64x64x64:nn,tn");
    assert_true(p->us == 9 && p->library_us == 11 && isnan(p->ratio) && r.machines[0].runs == 2 && strcmp(r.machines[0].to, DAY2) == 0);
    /* the first of all is ours, with its ratio; then it does not run, and nothing of ours counts */
    CHECK(gs_report_add_file(&r, file("eval.json", OBJECT(DAY2, "", ENTRY("plan", "nn", "9", ",\"ratio\":{\"median\":1.25,\"low\":1,\"high\":1.5}") "," ENTRY("cublaslt-autotuning", "nn", "11", ""))), &error));
    p = point_of(&r.sets[0], "f16:64x64x64:nn,tn");
    assert_true(p->us == 9 && p->ratio == 1.25 && p->library_us == 11);
    CHECK(gs_report_add_file(&r, file("eval.json", OBJECT(DAY2, "", "{\"name\":\"plan\",\"layout\":\"nn\",\"status\":\"GS_ERROR_FAULT\",\"device_us\":3}," ENTRY("cublaslt-autotuning", "nn", "11", ""))), &error));
    p = point_of(&r.sets[0], "f16:64x64x64:nn,tn");
    assert_true(isnan(p->us) && isnan(p->library_us) && !*p->choice);
    CHECK(gs_report_add_file(&r, file("eval.json", OBJECT(DAY2, ",\"predicted\":true", ENTRY("plan", "nn", "16", ""))), &error));
    assert_true(r.set_count == 2 && r.sets[1].predicted && r.sets[1].list[0].ratio == 0.25 && isnan(r.sets[1].list[0].library_us));
    gs_report_free(&r);
}

static void what_is_no_file_of_eval(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"f16:64x64x64:nn,offline\n", "neither the rows nor the objects of eval"},
        {"problem,mode\n", "no such column: is it of eval --rows?"},
        {"{\"problem\":1}\n", "no line is an object of eval --json"},
    };
    (void)state;
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        gs_report r = {0};
        error = (gs_error){0};
        assert_int_equal(gs_report_add_file(&r, file("bad", bad[i].text), &error), GS_ERROR_CORRUPT);
        assert_non_null(strstr(error.text, bad[i].says));
        assert_non_null(strstr(error.text, "/bad: "));
        gs_report_free(&r);
    }
    gs_report r = {0};
    assert_int_equal(gs_report_add_file(&r, "/nonexistent/rows.csv", &error), GS_ERROR_NOT_FOUND);
    CHECK(gs_report_add_file(&r, file("empty", ""), &error));
    assert_int_equal(r.set_count, 0);
    gs_report_free(&r);
}

static void curves_from_rows_and_back(void **state)
{
    gs_curves curves = {0};
    gs_text text = {0};
    (void)state;
    CHECK(gs_curves_read(&curves, file("curves.csv", "# a comment\n\nseries,name,x,y\r\nregret/a,one,1,0.5\nregret/a,two,1,\n\"regret/a\",one,2,0.25\n"), &error));
    assert_int_equal(curves.count, 2);
    assert_true(curves.list[0].count == 2 && curves.list[0].x[1] == 2 && curves.list[0].y[1] == 0.25);
    assert_true(curves.list[1].count == 1 && isnan(curves.list[1].y[0]));
    const gs_curve one = {.series = "regret/a", .name = "a,b", .device = "nvidia-h200", .date = DAY1, .x = (const double[]){1, 2}, .y = (const double[]){0.5, NAN}, .count = 2};
    gs_curve_rows(&text, &one);
    assert_string_equal(gs_text_string(&text), "regret/a,\"a,b\",1,0.5\nregret/a,\"a,b\",2,\n");
    gs_text_clear(&text);
    gs_curve_object(&text, &one);
    assert_string_equal(gs_text_string(&text), "{\"series\":\"regret/a\",\"name\":\"a,b\",\"gpu\":\"nvidia-h200\",\"date\":\"" DAY1 "\",\"x\":[1,2],\"y\":[0.5,null]}");
    gs_text_free(&text);
    gs_curves_free(&curves);
    assert_true(!curves.list && curves.count == 0);
}

static void rows_that_are_no_curve(void **state)
{
    char longest[GS_CURVE_NAME + 1];
    memset(longest, 'n', sizeof longest);
    longest[GS_CURVE_NAME] = '\0';
    static const struct {
        const char *row, *field, *says;
    } bad[] = {
        {"a,b,1", "", "line 2: not 'series,name,x,y'"},         {"a,b,x,1", "", "line 2: not "},          {"a,b,1,y", "", "line 2: not "},
        {"a,b,inf,1", "", "line 2: not "},                        {"a,b,1,2,3", "", "line 2: not "},        {"a\x01,b,1,1", "series", "line 2: a control character"},
        {"a,b\x7f,1,1", "name", "line 2: a control character"}, {",b,1,1", "series", "must have 1 to 127 characters"},   {"a,,1,1", "name", "must have 1 to "},
    };
    char text[4 * GS_CURVE_NAME];
    (void)state;
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        gs_curves curves = {0};
        snprintf(text, sizeof text, "series,name,x,y\n%s\n", bad[i].row);
        error = (gs_error){0};
        assert_int_equal(gs_curves_read(&curves, file("bad.csv", text), &error), GS_ERROR_CORRUPT);
        if (!strstr(error.text, bad[i].says)) fail_msg("%s: %s", bad[i].row, error.text);
        assert_string_equal(error.field, bad[i].field);
        gs_curves_free(&curves);
    }
    for (int more = 0; more < 2; more++) {   /* as long as may be, and longer */
        gs_curves curves = {0};
        snprintf(text, sizeof text, "series,name,x,y\na,%s,1,1\n", longest + 1 - more);
        assert_int_equal(gs_curves_read(&curves, file("long.csv", text), &error), more ? GS_ERROR_CORRUPT : GS_OK);
        gs_curves_free(&curves);
    }
    gs_curves curves = {0};
    assert_int_equal(gs_curves_read(&curves, file("bad.csv", "a,b,1,1\n"), &error), GS_ERROR_CORRUPT);
    assert_non_null(strstr(error.text, "line 1: the head 'series,name,x,y' is expected"));
    gs_curves_free(&curves);
}

/* Where no best is said, the fastest of ours that ran and is right counts, wherever it stands. */
static void the_fastest_of_an_object(void **state)
{
    static const struct { const char *entries; double us; } cases[] = {
        {ENTRY("plan", "nn", "8", "") "," ENTRY("plan", "tn", "9", ""), 8}, {ENTRY("plan", "nn", "9", "") "," ENTRY("plan", "tn", "8", ""), 8}, {ENTRY("plan", "nn", "8", ",\"wrong\":true") "," ENTRY("plan", "tn", "9", ""), 9},
        {ENTRY("other", "nn", "8", "") "," ENTRY("plan", "tn", "9", ""), 9}, {ENTRY("plan", "nn", "8", "") "," ENTRY("plan", "tn", "8", ""), 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_report r = {0};
        char text[2000];
        snprintf(text, sizeof text, OBJECT(DAY1, "", "%s"), cases[i].entries);
        CHECK(gs_report_add_file(&r, file("eval.json", text), &error));
        assert_true(point_of(&r.sets[0], "f16:64x64x64:nn,tn")->us == cases[i].us);
        gs_report_free(&r);
    }
}

/* Versions that are not known are not told. */
static void machines_without_versions(void **state)
{
    gs_report r = {0};
    (void)state;
    CHECK(gs_report_add_file(&r, file("eval.json", "{\"title\":\"t\",\"problem\":\"f16:64x64x64:nn\",\"gpu\":\"g\",\"band\":1,\"driver\":0,\"cublaslt\":0,\"nvrtc\":0,\"contenders\":[]}\n"
                                                   "{\"title\":\"t\",\"problem\":\"f16:64x64x64:nn\",\"gpu\":\"h\",\"band\":1,\"contenders\":[]}\n"), &error));
    assert_int_equal(r.machine_count, 2);
    for (int i = 0; i < 2; i++) assert_true(r.machines[i].driver[0] == '\0' && r.machines[i].cublaslt[0] == '\0' && r.machines[i].nvrtc[0] == '\0' && r.machines[i].sms == 0);
    gs_report_free(&r);
}

/* Kernels of models, from the store's turns. */
static void lineages_of_a_store(void **state)
{
    gs_report r = {0};
    gs_store *store = open_store("s.db");
    gs_session session = {.command = "test", .version = "0", .device = DEVICE};
    char name[GS_CONTENDER_NAME];
    (void)state;
    CHECK(gs_store_begin(store, &session, &error));
    gs_submission_name("text", "manifest 1\n", name);
    CHECK(gs_store_source_put(store, name, "text", "manifest 1\n", &error));
    const gs_turn_outcome outcome = {.candidate = name, .verdict = "pass", .us = 10, .library_us = 20, .ratio = 2, .low = 2, .high = 2, .reward = 0.5};
    const gs_turn turn = {.problem = "f16:64x64x64:tn", .mode = "source", .model = "m", .number = 1, .base = "ws", .system = "s", .ask = "a", .answer = "x", .outcomes = &outcome, .count = 1};
    CHECK(gs_store_turn_put(store, &session, &turn, &error));
    CHECK(gs_report_add_store(&r, store, NULL, &error));
    assert_int_equal(r.lineage_count, 1);
    const gs_report_lineage *const l = &r.lineages[0];
    assert_string_equal(l->device, DEVICE);
    assert_string_equal(l->problem, "f16:64x64x64:tn");
    assert_int_equal(l->count, 1);
    assert_string_equal(l->list[0].candidate, name);
    assert_true(l->list[0].us == 10 && l->list[0].ratio == 2 && l->list[0].best);
    gs_report_free(&r);
    /* another kernel of the same problem, and one of another */
    char second[GS_CONTENDER_NAME];
    gs_submission_name("text 2", "manifest 1\n", second);
    CHECK(gs_store_source_put(store, second, "text 2", "manifest 1\n", &error));
    const gs_turn_outcome slower = {.candidate = second, .verdict = "pass", .us = 12};
    gs_turn more = {.problem = "f16:64x64x64:tn", .mode = "source", .model = "m", .number = 2, .base = name, .system = "s", .ask = "a", .answer = "x", .outcomes = &slower, .count = 1};
    CHECK(gs_store_turn_put(store, &session, &more, &error));
    more.problem = "f16:64x64x128:tn";
    more.base = "ws";
    CHECK(gs_store_turn_put(store, &session, &more, &error));
    more.mode = "schedule";   /* nobody's kernel */
    more.problem = "f16:64x64x192:tn";
    CHECK(gs_store_turn_put(store, &session, &more, &error));
    more.mode = "source";   /* and one whose text nobody has */
    more.problem = "f16:64x64x256:tn";
    more.outcomes = &(gs_turn_outcome){.candidate = "source:0123456789abcdef0123456789abcdef", .verdict = "pass", .us = 12};
    CHECK(gs_store_turn_put(store, &session, &more, &error));
    CHECK(gs_report_add_store(&r, store, NULL, &error));
    assert_int_equal(r.lineage_count, 2);
    assert_true(r.lineages[0].count == 2 && r.lineages[1].count == 1 && r.lineages[0].list[0].best && !r.lineages[0].list[1].best && isnan(r.lineages[0].list[1].ratio));
    assert_string_equal(r.lineages[1].problem, "f16:64x64x128:tn");
    gs_report_free(&r);
    CHECK(gs_report_add_store(&r, store, "another GPU", &error));
    assert_int_equal(r.lineage_count, 0);
    gs_report_free(&r);
    gs_store_close(&store);
}

/* Results as eval keeps them: those of the GPU that is asked for; what cannot be read is counted. Of curves put in again the last counts. */
static void results_and_curves_of_a_store(void **state)
{
    gs_store *store = open_store("s.db");
    gs_session session = {.command = "test", .version = "0", .device = DEVICE};
    (void)state;
    CHECK(gs_store_begin(store, &session, &error));
    CHECK(gs_store_result_put(store, &session, "eval 1 " DEVICE " a", OBJECT(DAY1, "", ENTRY("plan", "nn", "9", "")), &error));
    CHECK(gs_store_result_put(store, &session, "eval 1 another b", OBJECT(DAY2, "", ENTRY("plan", "nn", "8", "")), &error));
    CHECK(gs_store_result_put(store, &session, "eval 1 " DEVICE " c", "no object", &error));
    CHECK(gs_store_result_put(store, &session, "eval 1 " DEVICE " d", "{}", &error));
    CHECK(gs_store_result_put(store, &session, "eval 1 " DEVICE " e", "{\"problem\":1}", &error));
    for (int i = 0; i < 2; i++) {
        const double x[] = {1, 2, 3}, y[] = {4.0 + i, 5, 6};
        if (i > 0) CHECK(gs_store_begin(store, &session, &error));
        CHECK(gs_store_curve(store, &session, "regret/a", "one", x, y, 3 - i, &error));
    }
    static const struct { const char *gpu; double us; int curves; } cases[] = {{NULL, 8, 1}, {DEVICE, 9, 1}, {"another", 8, 0}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_report r = {0};
        CHECK(gs_report_add_store(&r, store, cases[i].gpu, &error));
        assert_int_equal(r.unread, 3);
        assert_int_equal(r.set_count, 1);
        assert_true(point_of(&r.sets[0], "f16:64x64x64:nn,tn")->us == cases[i].us);
        assert_int_equal(r.curve_count, cases[i].curves);
        if (cases[i].curves) {
            const gs_curve_points *const c = &r.curves[0].points;
            assert_true(c->count == 2 && c->x[1] == 2 && c->y[0] == 5 && c->y[1] == 5);
        }
        gs_report_free(&r);
    }
    gs_store_close(&store);
}

/* Whichever allocation of ours fails, that is said, and nothing is left. */
static void no_memory_for_a_file(void **state)
{
    (void)state;
    static const char *const texts[] = {
        H200 DAY1 "\n" HEAD "f16:64x64x64:nn,offline,cold,nn,own,simple,10,1.1,1,1.2,1,1.1,1,1.2,ok,5,2,14,11,12,13," DAY1 "\n",
        OBJECT(DAY1, "", ENTRY("plan", "nn", "9", "")),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int failures = 0;
        const char *const path = file("memory.txt", texts[i]);
        for (int at = 1;; at++) {
            gs_report r = {0};
            gs_text page = {0};
            fail_at = at;
            gs_status status = gs_report_add_file(&r, path, &error);
            if (status == GS_OK) gs_report_page(&page, &r, "now");
            const bool reached = allocation_failed();
            if (status != GS_OK && status != GS_ERROR_MEMORY) fail_msg("%zu, allocation %d: %s: %s", i, at, gs_status_name(status), error.text);
            const bool whole = r.set_count == 1 && r.unread == 0 && r.machine_count == 1;   /* whether it is a trainer's log could not be looked at, which it is not */
            if (reached && status == GS_OK && !page.failed && !r.sources.failed && !whole) fail_msg("%zu, allocation %d: nobody noticed", i, at);
            failures += status != GS_OK || page.failed;
            gs_report_free(&r);
            gs_text_free(&page);
            if (!reached) break;
        }
        assert_true(failures > 5);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(lines_of_values),         TEST(ours_that_count), TEST(modes_of_lines), TEST(columns_of_lines), TEST(the_newest_run_of_a_problem_counts), TEST(objects_of_eval), TEST(the_fastest_of_an_object), TEST(machines_without_versions),
                                       TEST(what_is_no_file_of_eval), TEST(curves_from_rows_and_back),          TEST(rows_that_are_no_curve), TEST(lineages_of_a_store),
                                       TEST(results_and_curves_of_a_store), TEST(no_memory_for_a_file)};
    return run_without_leaks("report/files", tests, GS_COUNT(tests));
}
