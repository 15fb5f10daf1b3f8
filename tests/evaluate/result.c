/* SPDX-License-Identifier: MIT
 * The text about an evaluation, character by character; and an evaluator without a worker: budgets, verdicts, what counts without cuBLASLt. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "evaluate/environment.h"
#include "support/allocations.h"
#include "texts.h"

static gs_error error;

static void is(const gs_evaluation *got, const char *want)
{
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_evaluation_put(&json, "f16:8x8x8:tn", got);
    gs_json_end(&json, '}');
    assert_string_equal(gs_text_string(&text), want);
    gs_text_free(&text);
}

#define BEGIN  "{\"problem\":\"f16:8x8x8:tn\",\"candidate\":\"simple\","
#define PASSED BEGIN "\"verdict\":\"pass\",\"part\":0,\"reason\":\"every test passed\",\"stage\":\"time\","
#define RATIO  "\"ratio\":1.5,\"low\":1.25,\"high\":1.75,\"rounds\":31,\"mhz\":1980,"
#define SPENT  "\"spent\":{\"compile\":1,\"emulator\":2,\"verify\":3,\"time\":4,\"again\":5,\"all\":16}}"

static gs_evaluation some(void)
{
    gs_evaluation e = {.candidate = "simple", .verdict = GS_VERDICT_PASS, .step = GS_STEP_TIME, .reason = "every test passed", .reward = 0.5,
                       .us = 8, .library_us = 12, .ratio = {1.5, 1.25, 1.75, GS_FASTER}, .first_us = 7, .floor_us = 2,
                       .l2_hit = 0.75, .rounds = 31, .mhz = 1980, .registers = 64, .smem = 1024};
    e.spent.compile = 1, e.spent.emulator = 2, e.spent.verify = 3, e.spent.time = 4, e.spent.second = 5, e.spent.all = 16;
    return e;
}

static void what_was_measured(void **state)
{
    (void)state;
    gs_evaluation e = some();
    snprintf(e.metrics, sizeof e.metrics, "registers 64\ntflops 1.5\n");
    is(&e, PASSED "\"reward\":0.5,"
           "\"us\":8,\"cublaslt_us\":12," RATIO "\"floor_us\":2,\"l2_hit\":0.75,\"registers\":64,\"smem\":1024,"
           "\"metrics\":{\"registers\":64,\"tflops\":1.5},"
           "\"metrics_note\":\"compiled kernel and measured time; model_: predicted by the time model; the GPU's counters are not read\"," SPENT);
    snprintf(e.note, sizeof e.note, "a note");
    e.metrics_lost = e.second = e.jumped = true;
    is(&e, PASSED "\"note\":\"a note\","
           "\"reward\":0.5,\"us\":8,\"cublaslt_us\":12," RATIO "\"floor_us\":2,\"l2_hit\":0.75,\"registers\":64,"
           "\"smem\":1024,\"metrics\":{\"registers\":64,\"tflops\":1.5},\"metrics_note\":\"the worker was lost with it: of the compiled kernel alone\","
           "\"jumped\":true,\"agreed\":false,\"first_us\":7," SPENT);
}

static void what_was_predicted(void **state)
{
    (void)state;
    gs_evaluation e = some();
    e.predicted = true;
    e.l2_hit = -1;
    snprintf(e.metrics, sizeof e.metrics, "registers 64");
    is(&e, PASSED "\"reward\":0.5,"
           "\"us\":8,\"predicted\":true," RATIO "\"floor_us\":2,\"registers\":64,\"smem\":1024,"
           "\"metrics\":{\"registers\":64},\"metrics_note\":\"predicted: times and counters are the emulated device's\"," SPENT);
    e.us = 0;
    e.metrics[0] = '\0';
    snprintf(e.untrusted, sizeof e.untrusted, "why");
    e.untrusted_us = 3;
    is(&e, PASSED "\"reward\":0.5,"
           "\"untrusted\":\"why\",\"untrusted_us\":3,\"floor_us\":2,\"registers\":64,\"smem\":1024,\"metrics\":null,"
           "\"metrics_note\":\"none were taken\"," SPENT);
}

static void what_was_refused(void **state)
{
    (void)state;
    static const struct { gs_step step; const char *name, *note; } cases[] = {
        {GS_STEP_NONE,     "",         "none were taken"},
        {GS_STEP_TEXT,     "text",     "none: its text was refused, nothing was compiled"},
        {GS_STEP_COMPILE,  "compile",  "none: it did not come through the compilation"},
        {GS_STEP_EMULATOR, "emulator", "none: the emulated device refused it before it was compiled for this one"},
        {GS_STEP_VERIFY,   "verify",   "none were taken"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char want[600];
        gs_evaluation e = some();
        e.us = 0;
        e.l2_hit = -1;
        e.verdict = GS_VERDICT_EXACT;
        e.part = 1;
        e.step = cases[i].step;
        snprintf(want, sizeof want, BEGIN "\"verdict\":\"exact\",\"part\":1,\"reason\":\"every test passed\",\"stage\":\"%s\","
                 "\"reward\":0.5,\"floor_us\":2,\"registers\":64,\"smem\":1024,\"metrics\":null,\"metrics_note\":\"%s\"," SPENT, cases[i].name, cases[i].note);
        is(&e, want);
    }
    assert_string_equal(gs_step_name((gs_step)99), "");
    assert_string_equal(gs_step_name((gs_step)-1), "");
    assert_string_equal(gs_stage_name((gs_stage)99), "");
    assert_string_equal(gs_stage_name(GS_STAGE_EMULATOR), "emulator");
    assert_string_equal(gs_stage_name(GS_STAGE_SEARCH), "search");
}

/* ---- an evaluator ---- */

static gs_evaluator open_for(const char *text, const gs_evaluator_options *options)
{
    static gs_problem problem;
    problem = problem_of(text);
    return gs_evaluator_open(NULL, NULL, NULL, gs_caps_find("h200"), &problem, options);
}

static void the_budget(void **state)
{
    (void)state;
    gs_evaluator e = open_for("f16:8x8x8:tn", NULL);
    assert_true(gs_evaluator_left_s(&e) == -1 && gs_evaluator_check(&e, &error) == GS_OK && e.seed != 0);
    assert_string_equal(e.text, "f16:8x8x8:tn");
    e = open_for("f16:8x8x8:tn", &(gs_evaluator_options){.budget_s = 1000, .seed = 7});
    assert_true(gs_evaluator_left_s(&e) > 900 && gs_evaluator_left_s(&e) <= 1000 && gs_evaluator_check(&e, &error) == GS_OK && e.seed == 7);
    e.started -= 2000000000000;
    assert_true(gs_evaluator_left_s(&e) == 0);
    assert_int_equal(gs_evaluator_check(&e, &error), GS_ERROR_INTERRUPTED);
    assert_string_equal(error.text, "the budget of 1000 s ran out before a winner was confirmed");
    e.options.whole_s = 1005;   /* the budget is as good as all of it */
    assert_int_equal(gs_evaluator_check(&e, &error), GS_ERROR_INTERRUPTED);
    assert_string_equal(error.text, "the budget of 1000 s ran out before a winner was confirmed");
    e.options.whole_s = 4000;
    assert_int_equal(gs_evaluator_check(&e, &error), GS_ERROR_INTERRUPTED);
    assert_string_equal(error.text, "its share of the budget of 4000 s, 1000 s, ran out before a winner was confirmed");
    gs_stop_requested = 1;
    assert_int_equal(gs_evaluator_check(&e, &error), GS_ERROR_INTERRUPTED);
    gs_stop_requested = 0;
    assert_string_equal(error.text, "stopped before a winner was confirmed");
}

static void what_is_evaluated(void **state)
{
    (void)state;
    static const char *const empty[] = {"f16:0x8x8:tn", "f16:8x0x8:tn", "f16:8x8x0:tn"};
    for (size_t i = 0; i < GS_COUNT(empty); i++) {
        const gs_problem problem = problem_of(empty[i]);
        assert_int_equal(gs_evaluator_takes(&problem, "time", &error), GS_ERROR_RANGE);
        assert_string_equal(error.text, "an empty problem has nothing to time");
    }
    gs_problem problem = problem_of("f16:8x8x8:tn");
    assert_int_equal(gs_evaluator_takes(&problem, "time", &error), GS_OK);
    problem.lda = 1;
    assert_int_equal(gs_evaluator_takes(&problem, "time", &error), GS_ERROR_RANGE);
    assert_string_equal(error.field, "lda");
}

/* Times that were not believed do not appear beside a verdict; other times do. */
static void a_verdict(void **state)
{
    (void)state;
    for (int doubted = 0; doubted < 2; doubted++) {
        gs_evaluator e = open_for("f16:8x8x8:tn", NULL);
        gs_candidate c = {.text = "simple", .doubted = doubted, .us = 3, .library_us = 4, .ratio = {1, 2, 3, GS_FASTER}, .rounds = 5, .mhz = 6};
        assert_int_equal(gs_evaluator_reject(&e, &c, GS_VERDICT_EXACT, 3, "a reason", &error), GS_OK);
        assert_true(c.verdict == GS_VERDICT_EXACT && c.part == 3 && !c.doubted && e.counts.rejected == 1);
        assert_string_equal(c.reason, "a reason");
        assert_true(doubted ? c.us == 0 && c.library_us == 0 && c.ratio.low == 0 && c.rounds == 0 && c.mhz == 0
                            : c.us == 3 && c.library_us == 4 && c.ratio.low == 2 && c.rounds == 5 && c.mhz == 6);
        assert_int_equal(gs_evaluator_reject(&e, &c, GS_VERDICT_HANG, 0, doubted ? NULL : "", &error), GS_OK);
        assert_string_equal(c.reason, gs_verdict_text(GS_VERDICT_HANG));   /* the verdict's own text where there is no reason */
        assert_int_equal(e.counts.rejected, 2);
    }
}

/* A status about the candidate becomes its verdict; one about the machine is returned with its message. */
static void a_status(void **state)
{
    (void)state;
    gs_evaluator e = open_for("f16:8x8x8:tn", NULL);
    gs_candidate c = {.text = "simple"};
    gs_error why = {0};
    gs_fail(&why, GS_ERROR_UNSUPPORTED, "tile", "too large");
    assert_int_equal(gs_evaluator_refuse(&e, &c, GS_ERROR_UNSUPPORTED, &why, &error), GS_OK);
    assert_int_equal(c.verdict, GS_VERDICT_UNSUPPORTED);
    assert_string_equal(c.reason, "tile: too large (not supported)");
    c = (gs_candidate){.text = "simple"};
    error = (gs_error){0};
    assert_int_equal(gs_evaluator_refuse(&e, &c, GS_ERROR_NO_COMPILER, &why, &error), GS_ERROR_NO_COMPILER);
    assert_true(c.verdict == GS_VERDICT_UNKNOWN && !c.reason[0] && e.counts.rejected == 1);
    assert_string_equal(error.text, "too large");
    assert_int_equal(gs_evaluator_refuse(&e, &c, GS_ERROR_NO_COMPILER, &why, NULL), GS_ERROR_NO_COMPILER);
}

/* If cuBLASLt is lost, candidates that were compared with it get a ratio from times alone, like all others. */
static void without_the_reference(void **state)
{
    (void)state;
    gs_evaluator e = open_for("f16:8x8x8:tn", NULL);
    gs_candidate compared = {.us = 8, .library_us = 12, .ratio = {1.5, 1.4, 1.6, GS_FASTER}}, alone = {.us = 9, .ratio = {7, 7, 7, GS_UNCLEAR}};
    gs_candidate *const list[] = {&compared, &alone};
    e.floor_us = 2;
    gs_evaluator_uncompare(&e, list, 2);
    assert_true(!gs_evaluator_lacks(&e) && compared.library_us == 12 && compared.ratio.low == 1.4);
    snprintf(e.lacks, sizeof e.lacks, "why");
    gs_evaluator_uncompare(&e, list, 2);
    assert_true(gs_evaluator_lacks(&e) && compared.library_us == 0);
    assert_true(compared.ratio.median == 0.25 && compared.ratio.low == 0.25 && compared.ratio.high == 0.25);
    assert_true(compared.ratio.verdict == GS_UNCLEAR && alone.ratio.low == 7);
}

/* ---- an environment ---- */

static void what_an_environment_needs(void **state)
{
    (void)state;
    gs_environment *e;
    gs_worker worker;
    gs_session session = {0};
    const gs_caps *const caps = gs_caps_find("h200");
    gs_worker_init(&worker, "cuda:0", "/nonexistent");
    assert_int_equal(gs_environment_create(&e, &worker, caps, NULL, &session, NULL, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.text, "a store and its session come together");
    assert_string_equal(error.field, "store");
    const gs_environment_options wrong[] = {{.reward = GS_REWARDS}, {.reward = (gs_reward_kind)-1}, {.rounds = -1}};
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        e = (gs_environment *)&worker;
        assert_int_equal(gs_environment_create(&e, &worker, caps, NULL, NULL, &wrong[i], &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.text, "no such reward, or less than no rounds");
        assert_null(e);
    }
    fail_at = 1;
    const gs_status status = gs_environment_create(&e, &worker, caps, NULL, NULL, NULL, &error);
    fail_at = 0;
    assert_int_equal(status, GS_ERROR_MEMORY);
    assert_string_equal(error.text, "no memory for an environment");
    assert_int_equal(gs_environment_create(&e, &worker, caps, NULL, NULL, NULL, &error), GS_OK);
    const gs_problem problem = problem_of("f16:8x8x8:tn"), empty = problem_of("f16:8x8x0:tn");
    const gs_submission none[] = {{0}, {.source = "a"}, {.manifest = "a"}, {.schedule = "simple", .source = "a", .manifest = "a"}};
    gs_evaluation got;
    for (size_t i = 0; i < GS_COUNT(none); i++) {
        assert_int_equal(gs_evaluate(e, &problem, &none[i], &got, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.text, "either a schedule, or a source and its manifest");
        assert_true(got.verdict == GS_VERDICT_UNKNOWN && got.step == GS_STEP_TEXT && got.reward == -1 && got.l2_hit == -1 && !got.predicted);
    }
    assert_int_equal(gs_evaluate(e, &empty, &(gs_submission){.schedule = "simple"}, &got, &error), GS_ERROR_RANGE);
    assert_string_equal(error.text, "an empty problem has nothing to evaluate");
    assert_int_equal(gs_evaluate(e, &problem, &(gs_submission){.schedule = "simple"}, &got, &error), GS_ERROR_WORKER_DIED);
    gs_environment_destroy(&e);
    assert_null(e);
    gs_environment_destroy(&e);
    gs_environment_destroy(NULL);
    gs_worker_stop(&worker);
}

/* ---- a worker: this program, which reports for everything it compiles that there are resource limits but no filter ---- */

static int serve(void)
{
    char line[1 << 16];
    while (fgets(line, sizeof line, stdin)) {
        puts("{\"ok\":true,\"registers\":40,\"smem\":512,\"unfiltered\":true}");
        fflush(stdout);
    }
    return 0;
}

static int warnings;

static void count_warning(void *self, int level, const char *text)
{
    (void)self;
    warnings += level == GS_LOG_WARNING && strstr(text, "this system has no filter of system calls (seccomp)") != NULL;
}

/* It is reported once that user kernels are compiled without a system-call filter. */
static void a_system_without_filters(void **state)
{
    (void)state;
    gs_evaluator e = open_for("f16:8x8x8:tn", NULL);
    gs_worker worker;
    gs_worker_init(&worker, "cuda:0", NULL);
    e.worker = &worker;
    gs_log_set_sink(&warnings, count_warning, NULL, GS_LOG_WARNING);
    for (int i = 0; i < 3; i++) {
        gs_candidate c = {.text = "source:1", .source = "a", .manifest = "b", .registers = 1, .smem = 2};
        assert_int_equal(gs_evaluator_prepare(&e, &c, 60, &error), GS_OK);
        assert_true(c.registers == 40 && c.smem == 512 && c.verdict == GS_VERDICT_UNKNOWN);
    }
    gs_log_drop_sink(&warnings);
    gs_worker_stop(&worker);
    assert_int_equal(warnings, 1);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "worker") == 0) return serve();
    unsetenv("GEMMSMITH_WORKER");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_measured), cmocka_unit_test(what_was_predicted), cmocka_unit_test(what_was_refused), cmocka_unit_test(the_budget),
        cmocka_unit_test(what_is_evaluated), cmocka_unit_test(a_verdict), cmocka_unit_test(a_status), cmocka_unit_test(without_the_reference),
        cmocka_unit_test(what_an_environment_needs), cmocka_unit_test(a_system_without_filters),
    };
    return cmocka_run_group_tests_name("evaluate/result", tests, NULL, NULL);
}
