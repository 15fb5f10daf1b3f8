/* SPDX-License-Identifier: MIT
 * The metrics of an evaluated candidate, with a scripted worker: which names it has, that their values are right, and that a result without metrics says why. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "evaluating.h"
#include "schedule/schedule.h"
#include "memory_in_use.h"
#include "metric_value.h"

static double metric_of(const gs_evaluation *got, const char *name) { return metric_value(got->metrics, name); }

static char *json_of(const gs_evaluation *got)
{
    static char line[8192];
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_evaluation_put_metrics(&json, got);
    gs_json_end(&json, '}');
    snprintf(line, sizeof line, "%s", gs_text_string(&text));
    gs_text_free(&text);
    return line;
}

static void results_have_metrics(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    right_answers(PROBLEM, best);
    char rules[256];
    snprintf(rules, sizeof rules, "wrong=%s", best[1].text);
    const gs_problem problem = problem_of(PROBLEM);
    const gs_caps *const caps = gs_caps_find("h200");
    gs_environment *e = environment_of(b, rules, &(gs_environment_options){0}, false);

    gs_evaluation got = evaluate_schedule(e, best[0].text);
    assert_float_equal(metric_of(&got, "registers"), got.registers, 0);
    assert_float_equal(metric_of(&got, "smem"), got.smem, 0);
    assert_float_equal(metric_of(&got, "tflops") / (gs_problem_flops(&problem) / got.us / 1e6), 1, 1e-4);
    assert_float_equal(metric_of(&got, "floor_share") / (100 * got.floor_us / got.us), 1, 1e-4);
    const gs_schedule schedule = schedule_of(best[0].text);
    assert_float_equal(metric_of(&got, "model_us") / gs_schedule_predict(&schedule, &problem, caps), 1, 1e-4);
    assert_true(metric_of(&got, "threads") >= 32 && metric_of(&got, "blocks_sm") >= 1 && metric_of(&got, "gbs") > 0 && metric_of(&got, "model_device_bytes") > 0);
    assert_float_equal(metric_of(&got, "occupancy") / (100 * metric_of(&got, "blocks_sm") * metric_of(&got, "threads") / caps->threads_sm), 1, 1e-4);
    assert_true(isnan(metric_of(&got, "ptx_mma")));   /* would need another compilation */
    assert_int_equal(asked(b, "metrics"), 0);
    assert_non_null(strstr(json_of(&got), "measured time"));

    got = evaluate_schedule(e, best[1].text);   /* refused by verification: launch metrics are known, but no time */
    assert_string_equal(gs_verdict_word(got.verdict), "exact");
    assert_true(metric_of(&got, "registers") > 0 && isnan(metric_of(&got, "tflops")));

    got = evaluate_schedule(e, "nonsense");
    assert_int_equal(got.metrics[0], 0);
    assert_string_equal(json_of(&got), "{\"metrics\":null,\"metrics_note\":\"none: its text was refused, nothing was compiled\"}");

    got = evaluate_source(e, "// fake: us=9\n");
    assert_float_equal(metric_of(&got, "ptx_mma"), 8, 0);   /* from the worker */
    assert_float_equal(metric_of(&got, "threads"), 256, 0);
    assert_true(metric_of(&got, "tflops") > 0 && isnan(metric_of(&got, "model_us")));
    assert_int_equal(asked(b, "metrics"), 1);

    got = evaluate_source(e, "// fake: compile\n");
    if (got.step == GS_STEP_COMPILE) assert_non_null(strstr(json_of(&got), "null"));

    got = evaluate_source(e, "// fake: crash\n");   /* the worker that knew them is gone */
    assert_true(isnan(metric_of(&got, "ptx_mma")));
    assert_true(got.metrics_lost);
    assert_non_null(strstr(json_of(&got), "lost with it"));
    gs_environment_destroy(&e);

    e = environment_of(b, "", &(gs_environment_options){.without_metrics = true}, false);
    got = evaluate_schedule(e, best[0].text);
    assert_string_equal(json_of(&got), "{\"metrics\":null,\"metrics_note\":\"none were taken\"}");
    gs_environment_destroy(&e);
}

/* Memory in use does not grow over evaluations and races. */
static void nothing_is_kept(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    char rules[256];
    memory_watch watch = {0};
    right_answers(PROBLEM, best);
    snprintf(rules, sizeof rules, "wrong=%s", best[1].text);
    gs_environment *e = environment_of(b, rules, &(gs_environment_options){0}, false);
    const gs_problem problem = problem_of(PROBLEM);
    const char *const list[] = {best[0].text, "nonsense", best[2].text};
    for (int i = 0; i < MEMORY_ROUNDS; i++) {
        gs_evaluation got[3];
        memory_round(&watch);
        const gs_evaluation wrong = evaluate_schedule(e, best[1].text);
        assert_true(wrong.verdict == GS_VERDICT_EXACT && wrong.metrics[0]);
        assert_int_equal(gs_evaluate_race(e, &problem, list, 3, true, got, &error), GS_OK);
    }
    assert_false(memory_grows(&watch));
    gs_environment_destroy(&e);
}

static void races_have_metrics(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    right_answers(PROBLEM, best);
    const gs_problem problem = problem_of(PROBLEM);
    char refused[GS_SCHEDULE_TEXT];
    gs_schedule unfit = gs_schedule_first(GS_FAMILY_WS);
    while (gs_schedule_check(&unfit, &problem, gs_caps_find("h200"), NULL) == GS_OK) assert_true(gs_schedule_next(&unfit));
    const char *const list[] = {best[0].text, "nonsense", best[1].text, best[2].text, gs_schedule_format(&unfit, refused)};
    gs_evaluation got[5];
    char rules[256];
    snprintf(rules, sizeof rules, "timed=%s", best[2].text);
    gs_environment *e = environment_of(b, rules, &(gs_environment_options){0}, false);
    assert_int_equal(gs_evaluate_race(e, &problem, list, 5, false, got, &error), GS_OK);
    assert_true(metric_of(&got[0], "tflops") > 0 && metric_of(&got[2], "occupancy") > 0);
    assert_non_null(strstr(json_of(&got[1]), "none: its text was refused"));
    assert_string_equal(gs_verdict_word(got[3].verdict), "timed");
    assert_non_null(strstr(json_of(&got[3]), "none were taken"));
    assert_string_equal(gs_verdict_word(got[4].verdict), "unsupported");
    static const gs_step steps[] = {GS_STEP_TIME, GS_STEP_TEXT, GS_STEP_TIME, GS_STEP_TIME, GS_STEP_COMPILE};   /* the last step of each */
    for (int i = 0; i < 5; i++) assert_int_equal(got[i].step, steps[i]);
    gs_environment_destroy(&e);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(results_have_metrics), TEST(nothing_is_kept), TEST(races_have_metrics)};
    return cmocka_run_group_tests_name("evaluate/metrics", tests, NULL, NULL);
}
