/* SPDX-License-Identifier: MIT
 * Proves what a report takes from a store: machines of its sessions, winners with what is known of them, and what trials found in the order in which they came. */
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
#include "schedule/profile.h"
#include "store_folder.h"

#define DAY1 "2026-11-21T15:58:11Z"
#define DAY2 "2026-11-22T15:58:11Z"
#define DAY3 "2026-11-23T15:58:11Z"

static gs_session begin(gs_store *store, const char *device, int cc, int sms)
{
    gs_session session = {.command = "test", .version = "0.1.0", .commit = "c0", .device = device, .cc = cc, .sms = sms, .driver = cc ? 13000 : 0, .cublaslt = cc ? 130100 : 0,
                          .nvrtc = cc ? 12090 : 0};
    CHECK(gs_store_begin(store, &session, &error));
    return session;
}

static const gs_report_set *set_of(const gs_report *r, const char *gpu)
{
    for (int i = 0; i < r->set_count; i++)
        if (strcmp(r->sets[i].gpu, gpu) == 0) return &r->sets[i];
    return NULL;
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* legend: what the store has, and what is shown of it; 0: not known */
static const struct {
    const char *candidate;
    double      us, library_us, ratio, low, high, shown_us, shown_ratio;
    bool        library;
} winners[] = {
    {"ws/1",       10, 20, 2,   1.5, 2.5, 10, 2,   false},
    {"simple",     0,  0,  0,   0,   0,   0,  0,   false},
    {"cublaslt/3", 0,  7,  0,   0,   0,   7,  1,   true},
    {"cublaslt/4", 8,  9,  1.2, 1.1, 1.3, 8,  1.2, true},
};

static void winners_of_a_store(void **state)
{
    (void)state;
    gs_store *store = open_store("a.db");
    const gs_session session = begin(store, DEVICE, 90, 132);
    for (size_t i = 0; i < GS_COUNT(winners); i++) {
        gs_trial t = {.us = winners[i].us, .library_us = winners[i].library_us, .ratio = winners[i].ratio, .low = winners[i].low, .high = winners[i].high, .verdict = "pass", .date = DAY1};
        snprintf(t.problem, sizeof t.problem, "f16:64x128x%d:tn", 64 * ((int)i + 1));
        snprintf(t.candidate, sizeof t.candidate, "%s", winners[i].candidate);
        CHECK(gs_store_win(store, &session, &t, &error));
    }
    gs_report r = {0};
    CHECK(gs_report_add_store(&r, store, NULL, &error));
    assert_string_equal(gs_text_string(&r.sources), "store a.db\n");
    assert_true(r.set_count == 1 && r.unread == 0 && r.curve_count == 0);
    const gs_report_set *const set = set_of(&r, DEVICE);
    assert_true(!set->predicted && !set->dependent && !set->server && set->mode[0] == '\0');
    assert_int_equal(set->count, GS_COUNT(winners));
    for (int i = 0; i < set->count; i++) {
        const gs_report_point *const p = &set->list[i];
        size_t w = 0;
        while (w + 1 < GS_COUNT(winners) && strcmp(p->choice, winners[w].candidate) != 0) w++;
        char problem[GS_PROBLEM_TEXT];
        snprintf(problem, sizeof problem, "f16:64x128x%d:tn", 64 * ((int)w + 1));
        assert_string_equal(p->problem, problem);
        assert_string_equal(p->choice, winners[w].candidate);
        assert_string_equal(p->kind, "f16 tn");
        assert_string_equal(p->date, DAY1);
        assert_true(p->library == winners[w].library);
#define KNOWN(value) ((value) > 0 ? (value) : NAN)
        assert_true(same(p->us, KNOWN(winners[w].shown_us)) && same(p->library_us, KNOWN(winners[w].library_us)) && same(p->ratio, KNOWN(winners[w].shown_ratio)));
        assert_true(same(p->low, KNOWN(winners[w].low)) && same(p->high, KNOWN(winners[w].high)));
        const gs_caps *const caps = &gs_profile_find("h200")->caps;
        assert_true(p->floor_us == gs_floor_us(&p->parsed, caps) && p->band == gs_floor_band(&p->parsed, caps) && p->band >= 0);
    }
    gs_report_free(&r);
    gs_store_close(&store);
}

/* Devices with and without a known floor, emulated, with dependent launches; sessions that measured nothing are no machines. */
static void devices_of_a_store(void **state)
{
    (void)state;
    static const struct { const char *device; int cc, sms; bool wins, floor, predicted, dependent; } devices[] = {
        {DEVICE, 90, 132, true, true, false, false}, {"no-such-gpu", 70, 80, true, false, false, false}, {"emu-h200", 90, 132, true, true, true, false},
        {"emu-none", 90, 132, true, false, true, false}, {DEVICE "+dependent", 90, 132, true, true, false, true}, {"idle-gpu", 80, 108, false, false, false, false},
        {"no-cc", 0, 5, true, false, false, false}, {"", 90, 5, false, false, false, false},
    };
    gs_store *store = open_store("b.db");
    for (size_t i = 0; i < GS_COUNT(devices); i++) {
        const gs_session session = begin(store, devices[i].device, devices[i].cc, devices[i].sms);
        const gs_trial t = {.problem = "f16:64x64x64:tn", .candidate = "simple", .us = 5, .ratio = 1.5, .verdict = "pass", .date = DAY1};
        if (devices[i].wins) CHECK(gs_store_win(store, &session, &t, &error));
        if (i == 0) begin(store, devices[i].device, devices[i].cc, devices[i].sms);   /* twice on one machine */
    }
    gs_report r = {0};
    CHECK(gs_report_add_store(&r, store, NULL, &error));
    assert_int_equal(r.machine_count, 6);
    assert_int_equal(r.set_count, 5);
    for (size_t i = 0; i < GS_COUNT(devices); i++) {
        const gs_report_set *const set = set_of(&r, devices[i].device);
        int m = 0;
        while (m < r.machine_count && strcmp(r.machines[m].device, devices[i].device) != 0) m++;
        const bool measured = devices[i].cc > 0 && devices[i].device[0];
        assert_true((m < r.machine_count) == measured);
        assert_true((set != NULL) == (measured && devices[i].wins));
        if (measured) {
            assert_int_equal(r.machines[m].sms, devices[i].sms);
            assert_int_equal(r.machines[m].runs, i == 0 ? 2 : 1);
            assert_string_equal(r.machines[m].driver, "13.0");
            assert_string_equal(r.machines[m].cublaslt, "13.1.0");
            assert_string_equal(r.machines[m].nvrtc, "12.9");
            assert_string_equal(r.machines[m].version, "0.1.0");
            assert_string_equal(r.machines[m].commit, "c0");
            assert_true(strlen(r.machines[m].from) == 20 && strcmp(r.machines[m].from, r.machines[m].to) <= 0);
        }
        if (!set) continue;
        assert_int_equal(set->count, 1);
        assert_true(set->predicted == devices[i].predicted && set->dependent == devices[i].dependent);
        assert_true(isnan(set->list[0].floor_us) == !devices[i].floor && (set->list[0].band >= 0) == devices[i].floor);
    }
    gs_report_free(&r);
    CHECK(gs_report_add_store(&r, store, "no-such-gpu", &error));   /* only that one's */
    assert_true(r.machine_count == 1 && r.set_count == 1 && set_of(&r, "no-such-gpu"));
    gs_report_free(&r);
    gs_store_close(&store);
}

/* Curves of series, names and devices of their own; with a device, only its own and those of none. */
static void curves_of_a_store(void **state)
{
    (void)state;
    static const struct { const char *device, *series, *name; } curves[] = {{DEVICE, "a", "one"}, {DEVICE, "a", "two"}, {DEVICE, "b", "one"}, {"other", "a", "one"}, {"", "a", "one"}};
    gs_store *store = open_store("c.db");
    const double x[] = {1}, y[] = {2};
    for (size_t i = 0; i < GS_COUNT(curves); i++) {
        const gs_session session = begin(store, curves[i].device, 90, 132);
        CHECK(gs_store_curve(store, &session, curves[i].series, curves[i].name, x, y, 1, &error));
    }
    for (int all = 0; all < 2; all++) {
        gs_report r = {0};
        CHECK(gs_report_add_store(&r, store, all ? NULL : DEVICE, &error));
        assert_int_equal(r.curve_count, all ? 5 : 4);
        for (size_t i = 0; i < GS_COUNT(curves); i++) {
            int found = 0;
            for (int k = 0; k < r.curve_count; k++)
                found += strcmp(r.curves[k].device, curves[i].device) == 0 && strcmp(r.curves[k].points.series, curves[i].series) == 0 && strcmp(r.curves[k].points.name, curves[i].name) == 0;
            assert_int_equal(found, all || i != 3);
        }
        gs_report_free(&r);
    }
    gs_store_close(&store);
}

enum { TRIALS = 450 };

static const gs_curve_points *curve_of(const gs_report *r, const char *series)
{
    for (int i = 0; i < r->curve_count; i++)
        if (strcmp(r->curves[i].points.series, series) == 0) return &r->curves[i].points;
    fail_msg("no %s", series);
    return NULL;
}

/* What a trainer's run found: the best so far over three problems, and the share of the last hundred that passed, by the trials' dates and not by their place in the store. */
static void what_trials_found(void **state)
{
    (void)state;
    gs_store *store = open_store("d.db");
    const gs_session session = begin(store, DEVICE, 90, 132);
    static gs_trial trials[TRIALS];
    double best[3] = {0};
    for (int i = 0; i < TRIALS; i++) {
        gs_trial *const t = &trials[i];
        *t = (gs_trial){.us = 5, .ratio = i < 10 ? 0 : 0.5 + (double)(i * 37 % 101) / 100};
        snprintf(t->problem, sizeof t->problem, "f16:64x64x%d:tn", 64 * (i % 3 + 1));
        snprintf(t->candidate, sizeof t->candidate, "source:%d", i);
        snprintf(t->verdict, sizeof t->verdict, "%s", i % 4 == 1 ? "exact" : "pass");
        snprintf(t->date, sizeof t->date, "2026-01-%02dT00:%02d:00Z", 1 + i / 60, i % 60);
    }
    for (int i = TRIALS - 1; i >= 0; i--) CHECK(gs_store_put(store, &session, &trials[i], &error));   /* the last first */
    CHECK(gs_store_put(store, &session, &(gs_trial){.problem = "f16:64x64x64:tn", .candidate = "nobody judged it", .us = 5, .ratio = 9, .date = "2026-01-01T00:00:00Z"}, &error));
    gs_report r = {0};
    CHECK(gs_report_add_store(&r, store, NULL, &error));
    assert_int_equal(r.curve_count, 0);   /* without a trainer's log nobody asks */
    gs_report_free(&r);
    r.training = true;
    CHECK(gs_report_add_store(&r, store, NULL, &error));
    const gs_curve_points *const bests = curve_of(&r, "training/store/best"), *const passes = curve_of(&r, "training/store/passed");
    assert_string_equal(bests->name, DEVICE);
    assert_int_equal(passes->count, 200);
    int at = 0, at_best = 0;
    for (int i = 0; i < TRIALS; i++) {
        const bool pass = i % 4 != 1;
        if (pass && trials[i].ratio > best[i % 3]) best[i % 3] = trials[i].ratio;
        if (at == passes->count || passes->x[at] != i + 1) continue;
        int passed = 0, of = 0, found = 0;
        double sum = 0;
        for (int k = i; k >= 0 && of < 100; k--) passed += k % 4 != 1, of++;
        assert_true(fabs(passes->y[at++] - (double)passed / of) < 1e-12);
        for (int k = 0; k < 3; k++)
            if (best[k] > 0) sum += log(best[k]), found++;
        if (found == 0) continue;
        assert_true(bests->x[at_best] == i + 1);
        assert_true(fabs(bests->y[at_best++] - exp(sum / found)) < 1e-12);
    }
    assert_true(at == 200 && at_best == bests->count && bests->x[bests->count - 1] == TRIALS && passes->x[199] == TRIALS);
    gs_report_free(&r);
    gs_store_close(&store);
}

/* Wherever memory is short, that is told, and nothing is left. */
static void no_memory_for_a_report(void **state)
{
    (void)state;
    gs_store *store = open_store("e.db");
    gs_session session = begin(store, DEVICE, 90, 132);
    char name[GS_CONTENDER_NAME];
    const double x[] = {1}, y[] = {2};
    const gs_trial won = {.problem = "f16:64x64x64:tn", .candidate = "simple", .us = 5, .ratio = 1.5, .verdict = "pass", .date = DAY1};
    CHECK(gs_store_win(store, &session, &won, &error));
    CHECK(gs_store_put(store, &session, &won, &error));
    CHECK(gs_store_curve(store, &session, "a", "one", x, y, 1, &error));
    gs_submission_name("text", "manifest 1\n", name);
    CHECK(gs_store_source_put(store, name, "text", "manifest 1\n", &error));
    const gs_turn_outcome outcome = {.candidate = name, .verdict = "pass", .us = 10, .library_us = 20, .ratio = 2, .low = 2, .high = 2, .reward = 0.5};
    const gs_turn turn = {.problem = won.problem, .mode = "source", .model = "m", .number = 1, .base = "ws", .system = "s", .ask = "a", .answer = "x", .outcomes = &outcome, .count = 1};
    CHECK(gs_store_turn_put(store, &session, &turn, &error));
    CHECK(gs_store_result_put(store, &session, "eval 1 " DEVICE " a", "{\"title\":\"t\",\"problem\":\"f16:64x64x64:tn\",\"gpu\":\"g\",\"band\":1,\"contenders\":[{\"name\":\"plan\",\"own\":true,\"status\":\"GS_OK\",\"device_us\":1}]}", &error));
    int failures = 0;
    for (int at = 1;; at++) {
        gs_report r = {.training = true};
        fail_at = at;
        const gs_status status = gs_report_add_store(&r, store, NULL, &error);
        const bool reached = allocation_failed();
        if (status != GS_OK && status != GS_ERROR_MEMORY) fail_msg("allocation %d: %s", at, error.text);
        failures += status == GS_ERROR_MEMORY;
        if (status == GS_OK && !reached) assert_true(r.set_count == 2 && r.curve_count == 3 && r.lineage_count == 1 && r.lineages[0].count == 1);
        gs_report_free(&r);
        if (!reached) break;
    }
    assert_true(failures > 10);
    gs_store_close(&store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(winners_of_a_store), TEST(devices_of_a_store), TEST(curves_of_a_store), TEST(what_trials_found), TEST(no_memory_for_a_report)};
    return run_without_leaks("report/store", tests, GS_COUNT(tests));
}
