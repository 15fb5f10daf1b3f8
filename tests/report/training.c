/* SPDX-License-Identifier: MIT
 * Logs of trainers as curves: TRL's state, lines, verl's lines; what is no log; what a run is called; what the store's trials found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "report/training.h"
#include "store_folder.h"
#include "leaks.h"

#define TRL "{\n \"epoch\": 1,\n \"global_step\": 2,\n \"log_history\": [\n" \
            "  {\"step\": 1, \"loss\": 0.5, \"reward\": -0.25, \"kl\": 0.01, \"entropy\": 0.4, \"gemmsmith/passed\": 0.5, \"gemmsmith/distinct\": 0.75, \"gemmsmith/best\": 0.1},\n" \
            "  {\"step\": 2, \"loss\": NaN, \"reward\": 0.5, \"kl\": -Infinity, \"note\": \"NaN\", \"grad_norm\": 2},\n  {\"train_runtime\": 3.0, \"step\": 2}, 7, {\"loss\": 1}]}\n"

static const gs_curve_points *find(const gs_curves *curves, const char *series)
{
    for (int i = 0; i < curves->count; i++)
        if (strcmp(curves->list[i].series, series) == 0) return &curves->list[i];
    return NULL;
}

static void expect(const gs_curves *curves, const char *series, int count, const double *x, const double *y)
{
    const gs_curve_points *const c = find(curves, series);
    if (!c) fail_msg("no %s", series);
    assert_int_equal(c->count, count);
    for (int i = 0; i < count; i++)
        if (c->x[i] != x[i] || c->y[i] != y[i]) fail_msg("%s, %d: %g %g", series, i, c->x[i], c->y[i]);
}

static void state_of_trl(void **state)
{
    gs_curves curves = {0};
    int unread = 0;
    (void)state;
    assert_true(gs_training_is(TRL));
    CHECK(gs_training_read(&curves, "rl.1", TRL, &unread, &error));
    expect(&curves, "training/reward", 2, (const double[]){1, 2}, (const double[]){-0.25, 0.5});
    expect(&curves, "training/loss", 1, (const double[]){1}, (const double[]){0.5});   /* NaN is none */
    expect(&curves, "training/kl", 1, (const double[]){1}, (const double[]){0.01});
    expect(&curves, "training/passed", 1, (const double[]){1}, (const double[]){0.5});
    expect(&curves, "training/distinct", 1, (const double[]){1}, (const double[]){0.75});
    expect(&curves, "training/best", 1, (const double[]){1}, (const double[]){0.1});
    expect(&curves, "training/entropy", 1, (const double[]){1}, (const double[]){0.4});
    expect(&curves, "training/gradient", 1, (const double[]){2}, (const double[]){2});
    assert_int_equal(curves.count, 8);
    assert_string_equal(curves.list[0].name, "rl.1");
    assert_int_equal(unread, 2);   /* 7 and an entry without a step */
    gs_curves_free(&curves);
}

static void lines_of_verl(void **state)
{
    static const char text[] = "{\"step\":0,\"data\":{\"val-aux/gemmsmith/passed/mean@4\":0.25,\"val-core/gemmsmith/reward/mean@4\":0.1}}\n"
                               "{\"step\":1,\"data\":{\"critic/rewards/mean\":0.5,\"critic/rewards/max\":1,\"actor/entropy\":0.9,\"actor/kl_loss\":0.02,\"actor/grad_norm\":0.3,\"response_length/mean\":900}}\n"
                               "\nbroken\n{\"step\":2,\"data\":{\"critic/rewards/mean\":\"high\",\"critic/score/mean\":0.75}}\n{\"step\":3,\"da";
    gs_curves curves = {0};
    int unread = 0;
    (void)state;
    assert_true(gs_training_is(text));
    CHECK(gs_training_read(&curves, "rloo", text, &unread, &error));
    expect(&curves, "training/reward", 2, (const double[]){1, 2}, (const double[]){0.5, 0.75});
    expect(&curves, "training/passed", 1, (const double[]){0}, (const double[]){0.25});
    expect(&curves, "training/best", 1, (const double[]){1}, (const double[]){1});
    expect(&curves, "training/length", 1, (const double[]){1}, (const double[]){900});
    assert_int_equal(curves.count, 7);
    assert_int_equal(unread, 2);
    gs_curves_free(&curves);
}

/* Each name that a trainer has for a figure; of several the first, unless it is no number. */
static void names_of_figures(void **state)
{
    (void)state;
    static const struct { const char *entry, *series; double y; } cases[] = {
        {"\"reward\":1,\"critic/rewards/mean\":2", "reward", 1}, {"\"critic/rewards/mean\":2,\"critic/score/mean\":3", "reward", 2}, {"\"critic/score/mean\":3", "reward", 3},
        {"\"reward\":null,\"critic/score/mean\":3", "reward", 3}, {"\"gemmsmith/passed\":1", "passed", 1}, {"\"val-aux/x/y/passed/mean@8\":2", "passed", 2},
        {"\"gemmsmith/best\":1", "best", 1}, {"\"critic/rewards/max\":2,\"critic/score/max\":3", "best", 2}, {"\"critic/score/max\":3", "best", 3}, {"\"gemmsmith/distinct\":4", "distinct", 4},
        {"\"entropy\":1,\"actor/entropy\":2", "entropy", 1}, {"\"actor/entropy\":2", "entropy", 2}, {"\"kl\":1,\"actor/kl_loss\":2", "kl", 1}, {"\"actor/kl_loss\":2,\"actor/reward_kl_penalty\":3", "kl", 2},
        {"\"actor/reward_kl_penalty\":3", "kl", 3}, {"\"loss\":1,\"actor/pg_loss\":2", "loss", 1}, {"\"actor/pg_loss\":2,\"train/loss\":3", "loss", 2}, {"\"train/loss\":3", "loss", 3},
        {"\"eval_loss\":1,\"val/loss\":2", "check", 1}, {"\"val/loss\":2", "check", 2}, {"\"completions/mean_length\":1,\"response_length/mean\":2", "length", 1}, {"\"response_length/mean\":2", "length", 2},
        {"\"grad_norm\":1,\"actor/grad_norm\":2", "gradient", 1}, {"\"actor/grad_norm\":2,\"train/grad_norm\":3", "gradient", 2}, {"\"train/grad_norm\":3", "gradient", 3},
        {"\"other\":1,\"val-aux/passed/mean\":2,\"reward\":\"NaN\"", NULL, 0}, {"\"reward\":Infinity", NULL, 0}, {"\"a\":\"\\\"NaN\",\"reward\":5", "reward", 5},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++)
        for (int within = 0; within < 2; within++) {
            char text[256], series[40];
            gs_curves curves = {0};
            int unread = 0;
            snprintf(text, sizeof text, within ? "{\"step\":7,\"data\":{%s}}" : "{\"step\":7,%s}", cases[i].entry);
            CHECK(gs_training_read(&curves, "a", text, &unread, &error));
            snprintf(series, sizeof series, "training/%s", cases[i].series ? cases[i].series : "");
            if (cases[i].series) expect(&curves, series, 1, (const double[]){7}, &cases[i].y);
            assert_int_equal(curves.count, cases[i].series != NULL);
            assert_int_equal(unread, 0);
            gs_curves_free(&curves);
        }
}

static void what_is_no_log(void **state)
{
    static const char *const others[] = {"", "{", "[]", "problem,mode\n", "{\"problem\":\"f16:64x64x64:nn\",\"step\":1}", "{\"step\":\"1\"}", "{\"step\":-1}", "{\"log_history\":1}", "{\"a\":1}\n{\"step\":1}"};
    gs_curves curves = {0};
    int unread = 0;
    (void)state;
    for (size_t i = 0; i < GS_COUNT(others); i++)
        if (gs_training_is(others[i])) fail_msg("'%s' is no log", others[i]);
    assert_int_equal(gs_training_read(&curves, "a", "{\"a\":1}\n", &unread, &error), GS_ERROR_CORRUPT);
    assert_int_equal(curves.count, 0);
    gs_curves_free(&curves);
}

static void names_of_runs(void **state)
{
    static const char *const names[][2] = {{"out/rl.1/trainer_state.json", "rl.1"}, {"/a/rl.2/checkpoint-120/trainer_state.json", "rl.2"}, {"checkpoint-7/trainer_state.json", "trainer_state"},
                                           {"rloo.jsonl", "rloo"}, {"gemmsmith/rloo.2.jsonl", "rloo.2"}, {"../x/./log.jsonl", "x"}, {"/log.jsonl", "log"}, {"a\nb/log.jsonl", "a?b"}, {"a\x1f\x7f\x80 b.csv", "a??\x80 b"}, {"./log.jsonl", "log"}, {"x/../log.jsonl", "x"}, {"", "run"}, {"a/", "run"}, {"a/.json", ".json"}};
    char name[GS_CURVE_NAME];
    (void)state;
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        gs_training_name(name, names[i][0]);
        assert_string_equal(name, names[i][1]);
    }
}

static void put(gs_store *store, const gs_session *session, const char *problem, const char *candidate, const char *verdict, double ratio, const char *date)
{
    gs_trial trial = {.us = ratio > 0 ? 10 / ratio : 0, .library_us = 10, .ratio = ratio, .low = ratio, .high = ratio, .rounds = 9};
    snprintf(trial.problem, sizeof trial.problem, "%s", problem);
    snprintf(trial.candidate, sizeof trial.candidate, "%s", candidate);
    snprintf(trial.verdict, sizeof trial.verdict, "%s", verdict);
    snprintf(trial.date, sizeof trial.date, "%s", date);
    CHECK(gs_store_put(store, session, &trial, &error));
}

static const gs_report_curve *report_curve(const gs_report *r, const char *series)
{
    for (int i = 0; i < r->curve_count; i++)
        if (strcmp(r->curves[i].points.series, series) == 0) return &r->curves[i];
    return NULL;
}

static void what_the_store_found(void **state)
{
    gs_store *const store = open_store("rewards.db");
    gs_session session = {.command = "serve", .version = "1", .commit = "", .device = DEVICE, .cc = 90, .sms = 132};
    char path[GS_PATH];
    (void)state;
    CHECK(gs_store_begin(store, &session, &error));
    put(store, &session, "f16:64x64x64:tn", "simple", "wrong", 0, "2026-11-23T10:00:00Z");
    put(store, &session, "f16:64x64x64:tn", "ws/64x64x64/s2/c1x1/coop/g1", "pass", 0.5, "2026-11-23T10:00:01Z");
    put(store, &session, "f16:64x64x128:tn", "ws/64x64x64/s2/c1x1/coop/g1", "pass", 2, "2026-11-23T10:00:02Z");
    put(store, &session, "f16:64x64x64:tn", "ws/64x64x64/s2/c1x1/coop/g2", "pass", 0.25, "2026-11-23T10:00:03Z");
    put(store, &session, "f16:64x64x64:tn", "ws/64x64x64/s2/c1x1/coop/g4", "pass", 2, "2026-11-23T10:00:04Z");
    CHECK(gs_file_write(path_of(path, "trainer_state.json"), TRL, strlen(TRL), &error));

    gs_report r = {0};
    CHECK(gs_report_add_store(&r, store, NULL, &error));
    assert_null(report_curve(&r, "training/store/best"));   /* without a log nothing says that it was training */
    gs_report_free(&r);
    CHECK(gs_report_add_file(&r, path, &error));
    CHECK(gs_report_add_store(&r, store, NULL, &error));
    const gs_report_curve *const best = report_curve(&r, "training/store/best"), *const passed = report_curve(&r, "training/store/passed");
    assert_non_null(best);
    assert_non_null(passed);
    assert_string_equal(best->device, DEVICE);
    static const double found[] = {0.5, 1, 1, 2}, share[] = {0, 1.0 / 2, 2.0 / 3, 3.0 / 4, 4.0 / 5};
    assert_int_equal(best->points.count, 4);
    assert_int_equal(passed->points.count, 5);
    for (int i = 0; i < 4; i++) assert_true(best->points.x[i] == i + 2 && fabs(best->points.y[i] - found[i]) < 1e-9);
    for (int i = 0; i < 5; i++) assert_true(passed->points.x[i] == i + 1 && fabs(passed->points.y[i] - share[i]) < 1e-9);
    gs_report_free(&r);
    gs_store *opened = store;
    gs_store_close(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_of_trl),
        cmocka_unit_test(lines_of_verl),
        cmocka_unit_test(names_of_figures),
        cmocka_unit_test(what_is_no_log),
        cmocka_unit_test(names_of_runs),
        cmocka_unit_test_setup_teardown(what_the_store_found, make_folder, remove_folder),
    };
    return run_without_leaks("report/training", tests, GS_COUNT(tests));
}
