/* SPDX-License-Identifier: MIT
 * Proves what the fields of a row of eval become, what is no row, and how a row's mode is called; and that winners that go out of a store come back as they were. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "compare/result.h"
#include "compare/rounds.h"
#include "compare/totals.h"
#include "compare/winners.h"
#include "leaks.h"
#include "store_folder.h"

#define ROW(more, contenders) "{\"title\":\"t\",\"problem\":\"f16:64x64x64:tn\",\"band\":3,\"own\":\"plan\"" more ",\"contenders\":[" contenders "]}"

static gs_status read_row(gs_result *row, const char *text)
{
    json_t *const json = json_loads(text, 0, NULL);
    if (!json) fail_msg("%s", text);
    return gs_result_read(row, json, &error);
}

static void fields_of_a_row(void **state)
{
    (void)state;
    gs_result row;
    CHECK(read_row(&row, ROW(",\"floor_us\":1.5,\"mode\":\"server\"",
        "{\"name\":\"plan\",\"layout\":\"tn\",\"detail\":\"d\",\"untrusted\":\"u\",\"message\":\"m\",\"status\":\"GS_OK\",\"device_us\":1,\"call_us\":2,\"call_p50\":3,\"call_p95\":4,\"call_p99\":5,"
        "\"ratio\":{\"median\":1.25,\"low\":1.125,\"high\":1.5,\"verdict\":\"faster\"}},"
        "{\"name\":\"cublaslt-autotuning\",\"wrong\":true,\"status\":\"GS_ERROR_IO\"}")));
    assert_true(row.problem.m == 64 && row.floor_us == 1.5 && row.server && row.band == 3 && row.count == 2 && !row.resumed);
    assert_string_equal(row.title, "t");
    const gs_result_entry *const e = row.entry;
    assert_string_equal(e[0].name, "plan");
    assert_string_equal(e[0].layout, "tn");
    assert_string_equal(e[0].detail, "d");
    assert_string_equal(e[0].untrusted, "u");
    assert_string_equal(e[0].message, "m");
    assert_true(e[0].ran && !e[0].wrong && e[0].own && !e[0].reference && e[0].device_us == 1 && e[0].call_us == 2 && e[0].p50 == 3 && e[0].p95 == 4 && e[0].p99 == 5);
    assert_true(e[0].compared && e[0].ratio.median == 1.25 && e[0].ratio.low == 1.125 && e[0].ratio.high == 1.5 && e[0].ratio.verdict == GS_FASTER);
    assert_true(!e[1].ran && e[1].wrong && !e[1].own && e[1].reference && isnan(e[1].device_us) && !e[1].compared);
    assert_string_equal(e[1].message, "");
    assert_false(row.best_compared);
    gs_result_free(&row);
    assert_true(row.json == NULL && row.count == 0);
}

static void names_of_ours(void **state)
{
    (void)state;
    static const struct { const char *entry, *own; bool is; } cases[] = {
        {"{\"name\":\"plan\"}", "plan", true}, {"{\"name\":\"plan@2\"}", "plan", true}, {"{\"name\":\"plans\"}", "plan", false}, {"{\"name\":\"pla\"}", "plan", false},
        {"{\"name\":\"x\",\"own\":true}", "plan", true}, {"{\"name\":\"x\",\"own\":1}", "plan", false}, {"{}", "", true}, {"{\"name\":\"@x\"}", "", false}, {"{}", "plan", false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        json_t *const entry = json_loads(cases[i].entry, 0, NULL);
        if (gs_result_is_own(entry, cases[i].own) != cases[i].is) fail_msg("%s of %s", cases[i].entry, cases[i].own);
        json_decref(entry);
    }
    static const struct { const char *name; bool is; } groups[] = {{GS_RESULT_CUBLAS_GROUPS, true}, {GS_RESULT_CUBLASLT_GROUPS, true}, {GS_RESULT_CUBLASLT_AT_ONCE, true}, {GS_RESULT_REFERENCE, false}, {"", false}};
    for (size_t i = 0; i < GS_COUNT(groups); i++) assert_true(gs_result_is_reference_of_groups(groups[i].name) == groups[i].is);
}

static void what_is_no_row(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{}", "{\"title\":\"t\",\"problem\":\"f16:64x64x64:tn\",\"band\":3,\"contenders\":{}}", "{\"title\":\"t\",\"problem\":\"f16:64x64x64:tn\",\"band\":\"3\",\"contenders\":[]}",
        "{\"title\":\"t\",\"problem\":\"f16:64x64x64:tn\",\"band\":-1,\"contenders\":[]}", "{\"title\":\"t\",\"problem\":\"f16:64x64x64:tn\",\"band\":6,\"contenders\":[]}",
        "{\"title\":\"\",\"problem\":\"f16:64x64x64:tn\",\"band\":3,\"contenders\":[]}", "{\"title\":\"t\",\"problem\":\"f16\",\"band\":3,\"contenders\":[]}", "{\"title\":\"t\",\"problem\":\"f16:64x64x64:tn\",\"contenders\":[]}",
    };
    gs_result row;
    for (size_t i = 0; i < GS_COUNT(bad); i++)
        if (read_row(&row, bad[i]) != GS_ERROR_CORRUPT || row.json) fail_msg("%s", bad[i]);
    for (int band = 0; band <= 5; band += 5) {
        char text[200];
        snprintf(text, sizeof text, "{\"title\":\"t\",\"problem\":\"f16:64x64x64:tn\",\"band\":%d,\"contenders\":[]}", band);
        CHECK(read_row(&row, text));
        assert_true(row.band == band && row.count == 0 && isnan(row.floor_us));
        gs_result_free(&row);
    }
    gs_text many = {0};   /* more contenders than there is room for */
    for (int i = 0; i < GS_RESULT_ENTRIES + 1; i++) gs_text_addf(&many, "%s{\"name\":\"c%d\"}", i ? "," : "", i);
    char *const text = malloc(many.size + 200);
    snprintf(text, many.size + 200, ROW("", "%s"), gs_text_string(&many));
    CHECK(read_row(&row, text));
    assert_int_equal(row.count, GS_RESULT_ENTRIES);
    assert_string_equal(row.entry[GS_RESULT_ENTRIES - 1].name, "c63");
    gs_result_free(&row);
    free(text);
    gs_text_free(&many);
}

/* The best of a row is of two of its contenders, and has a figure. */
static void the_best_of_a_row(void **state)
{
    (void)state;
    static const struct { const char *best; bool compared; gs_comparison verdict; } cases[] = {
        {"{\"median\":1.5,\"own\":0,\"reference\":1,\"verdict\":\"faster\"}", true, GS_FASTER}, {"{\"median\":1.5,\"own\":1,\"reference\":0,\"verdict\":\"slower\"}", true, GS_SLOWER},
        {"{\"median\":1,\"own\":1,\"reference\":1,\"verdict\":\"same\"}", true, GS_SAME}, {"{\"median\":1,\"own\":1,\"reference\":1,\"verdict\":\"other\"}", true, GS_UNCLEAR}, {"{\"median\":1}", true, GS_UNCLEAR},
        {"{\"own\":0,\"reference\":1}", false, GS_UNCLEAR}, {"{\"median\":1,\"own\":2,\"reference\":1}", false, GS_UNCLEAR}, {"{\"median\":1,\"own\":-1,\"reference\":1}", false, GS_UNCLEAR},
        {"{\"median\":1,\"own\":0,\"reference\":2}", false, GS_UNCLEAR}, {"{\"median\":1,\"own\":0,\"reference\":-1}", false, GS_UNCLEAR}, {"null", false, GS_SAME}, {"[]", false, GS_SAME},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_result row;
        char text[400];
        snprintf(text, sizeof text, ROW(",\"best\":%s", "{\"name\":\"a\"},{\"name\":\"b\"}"), cases[i].best);
        CHECK(read_row(&row, text));
        if (row.best_compared != cases[i].compared || (cases[i].compared && row.best.verdict != cases[i].verdict)) fail_msg("%s", cases[i].best);
        gs_result_free(&row);
    }
}

static void modes(void **state)
{
    (void)state;
    static const struct { const char *more, *mode; } cases[] = {
        {"", "offline"}, {",\"mode\":\"offline\"", "offline"}, {",\"mode\":\"server\"", "server"}, {",\"dependent\":true", "offline+dependent"}, {",\"mode\":\"server\",\"dependent\":true", "server+dependent"},
        {",\"predicted\":true,\"dependent\":true", "predicted"}, {",\"predicted\":true,\"mode\":\"server\"", "predicted"}, {",\"behind\":true", "offline+behind"}, {",\"routing\":\"skewed\"", "offline+skewed"},
        {",\"routing\":\"even\"", "offline"}, {",\"dependent\":true,\"behind\":true,\"routing\":\"skewed\"", "offline+dependent+skewed+behind"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_result row;
        char text[400], mode[GS_RESULT_MODE];
        snprintf(text, sizeof text, ROW("%s", ""), cases[i].more);
        CHECK(read_row(&row, text));
        assert_string_equal(gs_result_mode(&row, mode), cases[i].mode);
        gs_result_free(&row);
    }
}

/* A line for each round that either clock has; what one has not is empty. */
static void rounds_of_a_row(void **state)
{
    (void)state;
    gs_result row;
    char *text = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&text, &size);
    CHECK(read_row(&row, ROW(",\"cache\":\"cold\"", "{\"name\":\"a\",\"layout\":\"nn\",\"device_samples\":[1.5,2,3],\"call_samples\":[4,null]},{\"name\":\"b\",\"layout\":\"tn\",\"call_samples\":[0.123456789012]},{\"name\":\"c\"}")));
    gs_rounds_head(file);
    gs_rounds_row(file, &row);
    assert_string_equal(text, "problem,mode,cache,layout,contender,round,device_us,call_us\n\"f16:64x64x64:tn\",offline,cold,nn,a,0,1.5,4\n\"f16:64x64x64:tn\",offline,cold,nn,a,1,2,\n"
                              "\"f16:64x64x64:tn\",offline,cold,nn,a,2,3,\n\"f16:64x64x64:tn\",offline,cold,tn,b,0,,0.123456789\n");   /* written at once */
    fclose(file);
    free(text);
    gs_result_free(&row);
}

#define FIGURE(median, verdict) "\"ratio\":{\"median\":" median ",\"low\":0.5,\"high\":3,\"verdict\":\"" verdict "\"}"

/* Of every layout, of the best of each row, and of each band of sizes. */
static void figures_over_rows(void **state)
{
    (void)state;
    static const struct { const char *row; bool resumed; } rows[] = {
        {ROW(",\"best\":{\"median\":2,\"own\":0,\"reference\":1,\"verdict\":\"faster\"}", "{\"name\":\"plan\",\"layout\":\"nn\",\"status\":\"GS_OK\"," FIGURE("2", "faster") "},{\"name\":\"x\",\"layout\":\"nn\",\"status\":\"no\",\"wrong\":true," FIGURE("9", "faster") "}"), false},
        {ROW(",\"mode\":\"server\"", "{\"name\":\"plan\",\"layout\":\"nn\",\"status\":\"GS_OK\"," FIGURE("0.5", "slower") "},{\"name\":\"plan\",\"layout\":\"tn\",\"status\":\"GS_ERROR_IO\"}"), true},
        {ROW("", "{\"name\":\"plan\",\"layout\":\"tt\",\"status\":\"GS_OK\",\"wrong\":true," FIGURE("1", "same") "},{\"name\":\"plan\",\"layout\":\"nt\",\"status\":\"GS_OK\"," FIGURE("4", "unclear") "}"), false},
    };
    static const struct { gs_totals_group group; int band, count, faster, slower; double mean, median, worst; } wanted[] = {
        {GS_TOTALS_NN, -1, 3, 1, 1, 1.5874010519681994, 2, 0.5}, {GS_TOTALS_NN, 3, 3, 1, 1, 1.5874010519681994, 2, 0.5}, {GS_TOTALS_NN, 2, 0, 0, 0, 0, 0, 0}, {GS_TOTALS_TN, -1, 1, 0, 0, 1, 1, 1},
        {GS_TOTALS_BEST, -1, 1, 1, 0, 2, 2, 2}, {GS_TOTALS_BEST, 0, 0, 0, 0, 0, 0, 0},
    };
    gs_totals totals = {0};
    for (size_t i = 0; i < GS_COUNT(rows); i++) {
        gs_result row;
        CHECK(read_row(&row, rows[i].row));
        row.resumed = rows[i].resumed;
        gs_totals_add(&totals, &row);
        assert_true(totals.server == (i == 1));
        gs_result_free(&row);
    }
    assert_true(totals.problems == 3 && totals.resumed == 1 && totals.wrong == 1 && totals.failed == 1);
    for (size_t i = 0; i < GS_COUNT(wanted); i++) {
        gs_totals_figures f;
        assert_true(gs_totals_of(&totals, wanted[i].group, wanted[i].band, &f) == (wanted[i].count > 0));
        assert_int_equal(f.count, wanted[i].count);
        if (f.count == 0) continue;
        assert_true(f.faster == wanted[i].faster && f.slower == wanted[i].slower && fabs(f.mean - wanted[i].mean) < 1e-12 && f.median == wanted[i].median && f.worst == wanted[i].worst);
    }
    gs_totals_free(&totals);
    assert_true(totals.problems == 0 && totals.points == NULL);
}

/* ---- winners ---- */

static int  kept;
static char seen[8][700];

static bool keep(void *self, const gs_trial *t)
{
    (void)self;
    snprintf(seen[kept++], sizeof seen[0], "%s %s %s %g %g %g %g %g %d %d %d %d %s", t->problem, t->candidate, t->verdict, t->us, t->library_us, t->ratio, t->low, t->high, t->mhz, t->cc, t->sms, t->cublaslt, t->date);
    return true;
}

static void winners_go_out_and_come_back(void **state)
{
    (void)state;
    static const char *const candidates[] = {"ws/128x256x64/s4/c2x1/coop/g8", "cublaslt/3", "source:0123456789abcdef0123456789abcdef", "no such candidate"};
    static const char *const devices[] = {"nvidia-h200", "nvidia-h200+dependent"};
    char path[GS_PATH];
    int winners, written, taken, skipped;
    gs_error first;
    for (size_t d = 0; d < GS_COUNT(devices); d++) {
        char name[32];
        snprintf(name, sizeof name, "from%zu.db", d);
        gs_store *from = open_store(name), *to;
        gs_session session = {.command = "tune", .version = "0.1.0", .commit = "c0", .device = devices[d], .cc = 90, .sms = 132, .cublaslt = 130100};
        CHECK(gs_store_begin(from, &session, &error));
        assert_int_equal(gs_winners_export(from, devices[d], path_of(path, "none.txt"), &winners, &written, &error), GS_ERROR_NOT_FOUND);
        assert_non_null(strstr(error.text, "no winners on nvidia-h200"));
        for (size_t i = 0; i < GS_COUNT(candidates); i++) {
            gs_trial t = {.us = 10.5 + (double)i, .library_us = 21, .ratio = 1.5, .low = 1.25, .high = 1.75, .mhz = 1980, .verdict = "pass", .date = "2026-01-31T12:00:00Z"};
            snprintf(t.problem, sizeof t.problem, "f16:64x64x%zu:tn", 64 * (i + 1));
            snprintf(t.candidate, sizeof t.candidate, "%s", candidates[i]);
            CHECK(gs_store_win(from, &session, &t, &error));
        }
        CHECK(gs_winners_export(from, devices[d], path_of(path, "winners.txt"), &winners, &written, &error));
        assert_int_equal(winners, 4);
        assert_int_equal(written, 3);   /* one is nothing that a table holds */
        snprintf(name, sizeof name, "to%zu.db", d);
        to = open_store(name);
        CHECK(gs_winners_import(to, path, &taken, &skipped, &first, &error));
        assert_true(taken == 3 && skipped == 0);
        kept = 0;
        CHECK(gs_store_winners(to, devices[d], keep, NULL, &error));
        assert_int_equal(kept, 3);
        for (int i = 0; i < 3; i++) {
            size_t c = 0;
            while (c < 3 && !strstr(seen[i], candidates[c])) c++;
            char want[700];
            snprintf(want, sizeof want, "f16:64x64x%zu:tn %s pass %g 21 1.5 1.25 1.75 1980 90 132 130100 2026-01-31T12:00:00Z", 64 * (c + 1), candidates[c], 10.5 + (double)c);
            assert_string_equal(seen[i], want);
        }
        gs_store_close(&from);
        gs_store_close(&to);
    }
    gs_store *store = open_store("bad.db");
    CHECK(gs_file_write(path_of(path, "bad.txt"), "rubbish\n", 8, &error));
    assert_int_equal(gs_winners_import(store, path, &taken, &skipped, &first, &error), GS_ERROR_CORRUPT);
    assert_int_equal(gs_winners_import(store, path_of(path, "absent.txt"), &taken, &skipped, &first, &error), GS_ERROR_NOT_FOUND);
    assert_int_equal(taken, 0);
    gs_store_close(&store);
}

/* Whichever allocation of ours fails, that is said, and nothing is left. */
static void no_memory_for_winners(void **state)
{
    (void)state;
    char path[GS_PATH], again[GS_PATH];
    gs_error first;
    int winners, written, taken, skipped, failures = 0;
    gs_store *from = open_store("from.db"), *to = open_store("to.db");
    gs_session session = {.command = "tune", .version = "0.1.0", .device = "nvidia-h200", .cc = 90, .sms = 132};
    CHECK(gs_store_begin(from, &session, &error));
    CHECK(gs_store_win(from, &session, &(gs_trial){.problem = "f16:64x64x64:tn", .candidate = "simple", .us = 5, .library_us = 6, .ratio = 1.2, .verdict = "pass"}, &error));
    CHECK(gs_winners_export(from, "nvidia-h200", path_of(path, "w.txt"), &winners, &written, &error));
    path_of(again, "again.txt");
    for (int call = 0; call < 2; call++)
        for (int at = 1;; at++) {
            fail_at = at;
            const gs_status status = call == 0 ? gs_winners_export(from, "nvidia-h200", again, &winners, &written, &error) : gs_winners_import(to, path, &taken, &skipped, &first, &error);
            const bool reached = allocation_failed();
            if (status != (reached ? GS_ERROR_MEMORY : GS_OK)) fail_msg("%d, allocation %d: %s: %s", call, at, gs_status_name(status), error.text);
            failures += reached;
            if (!reached) break;
        }
    assert_true(failures > 3);
    gs_store_close(&from);
    gs_store_close(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_a_row), cmocka_unit_test(names_of_ours), cmocka_unit_test(what_is_no_row), cmocka_unit_test(the_best_of_a_row), cmocka_unit_test(modes), cmocka_unit_test(rounds_of_a_row),
        cmocka_unit_test(figures_over_rows),
        cmocka_unit_test_setup_teardown(winners_go_out_and_come_back, make_folder, remove_folder), cmocka_unit_test_setup_teardown(no_memory_for_winners, make_folder, remove_folder),
    };
    return run_without_leaks("compare/result", tests, GS_COUNT(tests));
}
