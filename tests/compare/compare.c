/* SPDX-License-Identifier: MIT
 * Contenders over a list of problems at a scripted worker: what is asked, what is kept and written, what is taken from the store, and what a problem, the
 * machine, a full disk and a stop do to the rest of the list. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/compare.h"
#include "table/table.h"
#include "comparing.h"

static gs_error error;

typedef struct heard {
    int  began, finished, resumed, failed, stop_after;
    char title[128], lost[128], why[512];
    bool json;
    double ratio;
} heard;

static void on_begin(void *self, int at, const char *title, int fresh)
{
    heard *const h = self;
    assert_int_equal(at, h->began++);
    assert_true(fresh <= at);
    snprintf(h->title, sizeof h->title, "%s", title);
}

static void on_finished(void *self, const gs_result *row, const char *text)
{
    heard *const h = self;
    h->finished++;
    h->resumed += row->resumed;
    h->json = *text == '{' && strstr(text, "\"commit\":\"c0\"");
    h->ratio = row->best.median;
    if (h->stop_after == h->finished) gs_stop_requested = 1;
}

static void on_failed(void *self, const char *title, const gs_error *why)
{
    heard *const h = self;
    h->failed++;
    snprintf(h->lost, sizeof h->lost, "%s", title);
    snprintf(h->why, sizeof h->why, "%s", why->text);
}

static gs_contest_options options_of(heard *h, const char *names)
{
    gs_contest_options o = {.layouts = 3, .call_time = -1, .seed = 3, .warmup_s = -1, .target_qps = 100, .events = {.self = h, .begins = on_begin, .finished = on_finished, .failed = on_failed}};
    char failed[GS_CONTENDER_NAME];
    assert_int_equal(gs_contender_names_read(&o.names, names, NULL, failed, &error), GS_OK);
    return o;
}

static const char *const list_of[] = {"f16:1024x1024x1024:nn", "f16:2048x2048x2048:nn", "f16:4096x4096x4096:nn"};

static gs_status run_list(bench *b, const gs_contest_options *o, int count, gs_contest_end *end)
{
    gs_problem list[3];
    gs_contest *contest;
    gs_contest_end none;
    for (int i = 0; i < count; i++) assert_int_equal(gs_problem_parse(&list[i], list_of[i], NULL), GS_OK);
    error = (gs_error){0};
    gs_status status = gs_contest_open(&contest, &b->session, o, &error);
    if (status != GS_OK) {
        assert_null(contest);
        return status;
    }
    status = gs_contest_run(contest, list, count, end ? end : &none, &error);
    const gs_status closed = gs_contest_close(&contest, status == GS_OK ? &error : NULL);
    assert_null(contest);
    return status == GS_OK ? closed : status;
}

/* ---- tests ---- */

static void a_list_is_measured_once(void **state)
{
    bench *const b = *state;
    heard h = {0};
    gs_contest_options o = options_of(&h, "plan," REFERENCE);
    gs_contest_end end;
    write_reply("plan", 200, 210, false);
    assert_int_equal(run_list(b, &o, 3, &end), GS_OK);
    assert_int_equal(h.began, 3);
    assert_int_equal(h.finished, 3);
    assert_int_equal(h.resumed + h.failed, 0);
    assert_true(h.json && end.at == 3 && !end.late && end.there == 0);
    assert_string_equal(h.title, "f16:4096x4096x4096:nn,tn");
    assert_true(h.ratio > 1.04 && h.ratio < 1.06);   /* 210 / 200: nn against nn */
    assert_int_equal(lines_of("requests"), 3);
    assert_non_null(strstr(read_text("requests"), "\"contenders\":[\"nn:plan\",\"nn:" REFERENCE "\",\"tn:plan\",\"tn:" REFERENCE "\"]"));

    h = (heard){0};   /* from the store */
    assert_int_equal(run_list(b, &o, 3, NULL), GS_OK);
    assert_int_equal(h.resumed, 3);
    assert_int_equal(lines_of("requests"), 3);

    h = (heard){0};   /* anew: asked for, another seed, another program */
    o.again = true;
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    o.again = false;
    o.seed = 4;
    h.began = 0;
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    snprintf(b->session.version, sizeof b->session.version, "0+2");
    h.began = 0;
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_int_equal(h.resumed, 0);
    assert_int_equal(lines_of("requests"), 6);
}

static void the_plans_choice_is_part_of_a_result(void **state)
{
    bench *const b = *state;
    heard h = {0};
    gs_contest_options o = options_of(&h, "plan," REFERENCE);
    o.table = "user.tuned";
    write_reply("plan", 200, 210, false);
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);   /* no table yet */
    write_text("user.tuned", "gemmsmith-tuned 1\nf16:1024x1024x1024:tn  " OWN "  9  9  1  1  1  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0\n");
    h.began = 0;
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_int_equal(h.resumed, 0);
    h.began = 0;
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_int_equal(h.resumed, 1);
    assert_int_equal(lines_of("requests"), 2);
    write_text("user.tuned", "nonsense\n");
    assert_int_equal(run_list(b, &o, 1, NULL), GS_ERROR_CORRUPT);
}

static bool copy_key(void *self, const char *key, const char *value)
{
    (void)value;
    snprintf(self, 4096, "%s", key);
    return false;
}

static void what_is_stored_and_broken_is_measured_again(void **state)
{
    bench *const b = *state;
    heard h = {0};
    const gs_contest_options o = options_of(&h, "plan," REFERENCE);
    write_reply("plan", 200, 210, false);
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    char key[4096] = "";
    assert_int_equal(gs_store_results(b->session.store, "eval ", copy_key, key, &error), GS_OK);
    assert_int_equal(gs_store_result_put(b->session.store, &b->session.session, key, "{\"problem\":1}", &error), GS_OK);
    h = (heard){0};
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_int_equal(h.finished, 1);
    assert_int_equal(h.resumed, 0);
}

static void files_have_every_result(void **state)
{
    bench *const b = *state;
    heard h = {0};
    gs_contest_options o = options_of(&h, "plan," REFERENCE);
    gs_contest_end end;
    o.csv = "rounds.csv";
    o.rows = "rows.csv";
    o.base_dir = "results/here";
    assert_int_equal(run_list(b, &o, 2, NULL), GS_ERROR_NOT_FOUND);   /* one folder is made, no more */
    assert_int_equal(mkdir("results", 0777), 0);
    write_reply("plan", 200, 210, false);
    assert_int_equal(run_list(b, &o, 2, NULL), GS_OK);
    assert_int_equal(lines_of("rounds.csv"), 1 + 2 * 4 * 5);
    assert_int_equal(lines_of("rows.csv"), 3 + 2 * 4);
    assert_true(gs_file_exists("results/here/f16_1024x1024x1024_nn_tn_offline_cold.json"));

    h = (heard){0};   /* what stands in the file of rows is not asked for, and not told */
    h.began = 2;
    o.csv = o.base_dir = NULL;
    assert_int_equal(run_list(b, &o, 3, &end), GS_OK);
    assert_int_equal(end.there, 2);
    assert_int_equal(h.finished, 1);
    assert_int_equal(lines_of("rows.csv"), 3 + 2 * 4 + 2 + 4);   /* two lines of comment say who went on */
}

static void a_lost_worker_costs_one_problem(void **state)
{
    bench *const b = *state;
    heard h = {0};
    const gs_contest_options o = options_of(&h, "plan," REFERENCE);
    write_reply("plan", 200, 210, false);
    write_text("dies", "2048x2048x2048\n");
    assert_int_equal(run_list(b, &o, 3, NULL), GS_OK);
    assert_int_equal(h.finished, 2);
    assert_int_equal(h.failed, 1);
    assert_string_equal(h.lost, "f16:2048x2048x2048:nn,tn");
    remove("dies");
    h = (heard){0};   /* it is not in the store */
    assert_int_equal(run_list(b, &o, 3, NULL), GS_OK);
    assert_int_equal(h.resumed, 2);
    assert_int_equal(h.finished, 3);
}

static void what_is_wrong_with_the_machine_ends_the_list(void **state)
{
    bench *const b = *state;
    heard h = {0};
    gs_contest_options o = options_of(&h, "plan," REFERENCE);
    write_reply("plan", 200, 210, false);
    o.base_dir = "worker";   /* a file */
    assert_int_equal(run_list(b, &o, 3, NULL), GS_ERROR_IO);
    assert_int_equal(h.began, 0);   /* said before anything is timed */
    o.base_dir = NULL;
    o.csv = "absent/rounds.csv";
    assert_int_equal(run_list(b, &o, 3, NULL), GS_ERROR_IO);
    assert_non_null(strstr(error.text, "absent/rounds.csv"));
    o.csv = NULL;
    o.rows = "absent/rows.csv";
    assert_int_equal(run_list(b, &o, 3, NULL), GS_ERROR_IO);
}

static void a_full_disk_is_said(void **state)
{
    bench *const b = *state;
    heard h = {0};
    gs_contest_options o = options_of(&h, "plan," REFERENCE);
    write_reply("plan", 200, 210, false);
    if (access("/dev/full", W_OK) != 0) skip();
    o.csv = "/dev/full";
    assert_int_equal(run_list(b, &o, 3, NULL), GS_ERROR_DISK_FULL);
    assert_int_equal(h.finished, 1);
    o.csv = NULL;
    o.rows = "/dev/full";
    o.again = true;
    assert_int_equal(run_list(b, &o, 3, NULL), GS_ERROR_DISK_FULL);
}

static void a_stop_and_the_budget_end_the_list(void **state)
{
    bench *const b = *state;
    heard h = {.stop_after = 2};
    gs_contest_options o = options_of(&h, "plan," REFERENCE);
    gs_contest_end end;
    write_reply("plan", 200, 210, false);
    assert_int_equal(run_list(b, &o, 3, &end), GS_ERROR_INTERRUPTED);
    assert_int_equal(end.at, 2);
    assert_false(end.late);
    gs_stop_requested = 0;
    h = (heard){0};
    o.budget_s = 1e-9;
    assert_int_equal(run_list(b, &o, 3, &end), GS_OK);
    assert_true(end.late && end.at == 0 && h.began == 0);
}

static bool take_winner(void *self, const gs_trial *trial)
{
    gs_trial *const last = self;
    if (strstr(trial->problem, ":tn")) *last = *trial;
    return true;
}

static void own_beside_the_reference_decides(void **state)
{
    bench *const b = *state;
    heard h = {0};
    gs_contest_options o = options_of(&h, "own," REFERENCE);
    char where[GS_OWN_WHERE];
    gs_trial winner = {0};
    write_text("own.txt", "f16:1024x1024x1024:nn " OWN "\nf16:1024x1024x1024:tn " OWN "\n");
    assert_int_equal(gs_own_list_read(&o.own, "own.txt", where, &error), GS_OK);
    o.record = true;
    o.record_table = "out/h200.tuned";
    assert_int_equal(mkdir("out", 0777), 0);
    write_reply(OWN, 200, 210, true);
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_int_equal(gs_store_winners(b->session.store, b->session.device, take_winner, &winner, &error), GS_OK);
    assert_string_equal(winner.candidate, OWN);
    assert_true(winner.us > 209 && winner.us < 211 && winner.rounds == 5 && winner.mhz == 1755);
    const char *const table = read_text("out/h200.tuned");
    assert_non_null(strstr(table, "f16:1024x1024x1024:tn"));
    assert_non_null(strstr(table, OWN));
    assert_non_null(strstr(table, "f16:1024x1024x1024:nn"));   /* ours was wrong there: the library's */
    assert_non_null(strstr(table, "cublaslt"));
    h = (heard){0};   /* what was measured earlier is not recorded again */
    assert_int_equal(remove("out/h200.tuned"), 0);
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_int_equal(h.resumed, 1);
    assert_false(gs_file_exists("out/h200.tuned"));

    h = (heard){0};   /* another problem: nothing is known for it, and nothing else was asked for */
    o.record = false;
    assert_int_equal(gs_contender_names_read(&o.names, "own", NULL, where, &error), GS_OK);
    gs_own_list_free(&o.own);
    o.own.from_file = true;
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_int_equal(h.failed, 1);
    assert_non_null(strstr(h.why, "no own schedule is known"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {
        TEST(a_list_is_measured_once),
        TEST(the_plans_choice_is_part_of_a_result),
        TEST(what_is_stored_and_broken_is_measured_again),
        TEST(files_have_every_result),
        TEST(a_lost_worker_costs_one_problem),
        TEST(what_is_wrong_with_the_machine_ends_the_list),
        TEST(a_full_disk_is_said),
        TEST(a_stop_and_the_budget_end_the_list),
        TEST(own_beside_the_reference_decides),
    };
    return cmocka_run_group_tests_name("compare/compare", tests, NULL, NULL);
}
