/* SPDX-License-Identifier: MIT
 * Contenders over a list of problems at a scripted worker: what is asked, what is kept and written, what is taken from the store, and what a problem, the
 * machine, a full disk and a stop do to the rest of the list. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/resource.h>

#include "compare/compare.h"
#include "compare/torch.h"
#include "table/table.h"
#include "verify/verify.h"
#include "allocations.h"
#include "comparing.h"
#include "leaks.h"

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

/* ---- what is asked of the worker ---- */

/* The options are asked for, and the request has this in it; rounds 0: as many as suit. */
static void expect_request(bench *b, const gs_contest_options *o, const char *part)
{
    remove("requests");
    assert_int_equal(run_list(b, o, 1, NULL), GS_OK);
    if (!strstr(read_text("requests"), part)) fail_msg("%s has no %s", read_text("requests"), part);
}

static void rounds_are_as_many_as_suit(void **state)
{
    bench *const b = *state;
    gs_contest_options o = options_of(NULL, "plan," REFERENCE);
    o.events = (gs_contest_events){0};
    o.again = true;
    write_reply("plan", 200, 210, false);
    expect_request(b, &o, "\"rounds\":30,");
    expect_request(b, &o, "\"call_time\":true");
    o.quick = true;
    expect_request(b, &o, "\"rounds\":21,");
    expect_request(b, &o, "\"call_time\":false");
    o.call_time = 1;
    expect_request(b, &o, "\"call_time\":true");
    o.server = true;
    expect_request(b, &o, "\"rounds\":200,");
    expect_request(b, &o, "\"mode\":\"server\"");
    o.benchmark_s = 2;
    expect_request(b, &o, "\"rounds\":10000,");
    expect_request(b, &o, "\"budget_s\":2,");
    o.rounds = 7;
    expect_request(b, &o, "\"rounds\":7,");
    o.layouts = 2;
    o.call_time = 0;
    expect_request(b, &o, "\"contenders\":[\"tn:plan\",\"tn:" REFERENCE "\"]");
    expect_request(b, &o, "\"call_time\":false");
}

typedef struct spoken {
    char   title[128], own[32];
    double seconds;
    int    estimates;
} spoken;

static void on_estimate(void *self, const char *title, double seconds)
{
    spoken *const said = self;
    snprintf(said->title, sizeof said->title, "%s", title);
    said->seconds = seconds;
    said->estimates++;
}

static void on_compiling(void *self) { strcat(((spoken *)self)->own, "compiling "); }
static void on_compiled(void *self) { strcat(((spoken *)self)->own, "compiled"); }

static void what_a_list_will_take_is_said_once(void **state)
{
    bench *const b = *state;
    spoken said = {0};
    gs_contest_options o = options_of(NULL, "plan," REFERENCE);
    o.events = (gs_contest_events){.self = &said, .estimate = on_estimate, .compiling = on_compiling, .compiled = on_compiled};
    o.rows = "rows.csv";
    write_reply("plan", 200, 210, false);
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_string_equal(said.title, "f16:1024x1024x1024:nn,tn");
    assert_true(said.estimates == 1 && said.seconds == 0);   /* a GPU */
    said = (spoken){0};
    assert_int_equal(run_list(b, &o, 3, NULL), GS_OK);
    assert_string_equal(said.title, "2 problems");           /* the first stands in the file */
    said = (spoken){0};
    assert_int_equal(run_list(b, &o, 3, NULL), GS_OK);
    assert_int_equal(said.estimates, 0);
    assert_string_equal(said.own, "");                       /* nothing of ours was asked for by its name */
    o.rows = NULL;
    b->session.caps.emulated = true;
    assert_int_equal(run_list(b, &o, 3, NULL), GS_OK);
    assert_string_equal(said.title, "3 problems");
    const double both = said.seconds;
    o.layouts = 2;
    assert_int_equal(run_list(b, &o, 3, NULL), GS_OK);
    double two = 0, one = 0;
    for (int i = 0; i < 3; i++) {
        gs_problem problem;
        assert_int_equal(gs_problem_parse(&problem, list_of[i], NULL), GS_OK);
        two += gs_emulated_seconds(&problem, 4, 1);   /* contenders, in both layouts */
        one += gs_emulated_seconds(&problem, 2, 1);
    }
    assert_true(one > 0 && one < two);
    assert_true(both > 0.999 * two && both < 1.001 * two && said.seconds > 0.999 * one && said.seconds < 1.001 * one);
}

static void ours_is_compiled_before_anything_is_timed(void **state)
{
    bench *const b = *state;
    spoken said = {0};
    char where[GS_OWN_WHERE];
    gs_contest_options o = options_of(NULL, "own," REFERENCE);
    o.events = (gs_contest_events){.self = &said, .compiling = on_compiling, .compiled = on_compiled};
    o.rows = "rows.csv";
    write_text("own.txt", "f16:1024x1024x1024:nn simple\nf16:1024x1024x1024:tn simple\n");
    assert_int_equal(gs_own_list_read(&o.own, "own.txt", where, &error), GS_OK);
    write_reply("simple", 200, 210, false);
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_string_equal(said.own, "compiling compiled");
    said = (spoken){0};
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);   /* it stands in the file */
    assert_string_equal(said.own, "compiled");
    gs_own_list_free(&o.own);
}

/* ---- files ---- */

static void nothing_is_written_where_something_cannot_be_opened(void **state)
{
    bench *const b = *state;
    gs_contest_options o = options_of(NULL, "plan," REFERENCE);
    o.table = "user.tuned";
    o.csv = "rounds.csv";
    o.base_dir = "results";
    o.rows = "rows.csv";
    write_text("user.tuned", "nonsense\n");
    assert_int_equal(run_list(b, &o, 1, NULL), GS_ERROR_CORRUPT);
    assert_false(gs_file_exists("rounds.csv") || gs_file_exists("results") || gs_file_exists("rows.csv"));
    o.table = NULL;
    o.record = true;
    o.record_table = "user.tuned";
    assert_true(run_list(b, &o, 1, NULL) != GS_OK);   /* what is there is no table */
    assert_string_equal(read_text("user.tuned"), "nonsense\n");
    assert_false(gs_file_exists("results") || gs_file_exists("rows.csv"));
    o.record = false;
    o.base_dir = "user.tuned";
    assert_true(run_list(b, &o, 1, NULL) != GS_OK);
    assert_false(gs_file_exists("rows.csv"));
    assert_int_equal(lines_of("requests"), 0);
}

static void a_path_is_as_long_as_it_may_be(void **state)
{
    static const char file[] = "/f16_1024x1024x1024_nn_tn_offline_cold.json";
    bench *const b = *state;
    heard h = {0};
    char folder[GS_PATH];
    gs_contest_options o = options_of(&h, "plan," REFERENCE);
    write_reply("plan", 200, 210, false);
    for (int room = 1; room >= 0; room--) {   /* for the name that it has while it is written; or for all but its end */
        size_t size = 0;
        while (size < GS_PATH - sizeof file + 1 - (room ? 40 : 0)) folder[size] = size % 2 ? '/' : '.', size++;
        folder[size] = '\0';
        if (folder[size - 1] == '/') folder[size - 1] = '.', folder[size - 2] = '/', folder[size - 3] = '/';
        o.base_dir = folder;
        h = (heard){0};
        const gs_status status = run_list(b, &o, 1, NULL);
        assert_int_equal(status, room ? GS_OK : GS_ERROR_ARGUMENT);
        if (!room) assert_string_equal(error.text, "path too long");
        assert_true(gs_file_exists(file + 1));
    }
}

static void a_late_problem_is_no_failed_one(void **state)
{
    bench *const b = *state;
    heard h = {0};
    gs_contest_options o = options_of(&h, "plan," REFERENCE);
    gs_contest_end end;
    write_text("worker", "#!/bin/sh\nsleep 100\n");
    o.budget_s = 0.2;
    assert_int_equal(run_list(b, &o, 3, &end), GS_OK);
    assert_true(end.late && end.at == 0 && h.began == 1 && h.failed == 0 && h.finished == 0);
    assert_int_equal(b->session.worker.until, 0);
}

/* Each allocation fails in turn: it is said, or does not matter. */
static void without_memory_it_is_said(void **state)
{
    enum { MOST = 400 };
    bench *const b = *state;
    heard h = {0};
    gs_contest_options o = options_of(&h, "plan," REFERENCE);
    gs_contest *contest;
    int said = 0, n = 1;
    o.again = true;
    o.rows = "rows.csv";
    write_reply("plan", 200, 210, false);
    fail_at = 1;
    assert_int_equal(gs_contest_open(&contest, &b->session, &o, &error), GS_ERROR_MEMORY);
    assert_null(contest);
    assert_string_equal(error.text, "no memory for the contenders");
    for (bool over = false; !over && n < MOST; n++) {
        h = (heard){0};
        fail_at = n;
        const gs_status status = run_list(b, &o, 1, NULL);
        over = !allocation_failed();
        if (status != GS_OK) assert_true(error.text[0] && error.status == status);
        assert_int_equal(h.finished, status == GS_OK && h.failed == 0);
        said += status != GS_OK || h.failed > 0;
    }
    assert_true(n < MOST && said > 3);
    assert_int_equal(h.finished, 1);
}

/* ---- torch.matmul, played by a script ---- */

static void torch_says(const char *script)
{
    mkdir("python", 0777);
    mkdir("python/gemmsmith", 0777);
    write_text("python/gemmsmith/torch_contender.py", script);
}

static void expect_torch(const char *key, const char *wanted)
{
    json_t *const got = gs_torch_measure("f16:64x64x64:tn", "cuda:3", true, 9);
    assert_non_null(got);
    const char *const text = json_string_value(json_object_get(got, key));
    if (!text || strcmp(text, wanted) != 0) fail_msg("%s is %s", key, text ? text : "not there");
    json_decref(got);
}

static void torch_is_asked_through_its_script(void **state)
{
    (void)state;
    setenv("GEMMSMITH_PYTHON", "absent", 1);
    expect_torch("message", "gemmsmith/torch_contender.py is not there: set GEMMSMITH_PYTHON to the folder python/");
    unsetenv("GEMMSMITH_PYTHON");
    torch_says("import json, os, sys\n"
               "print(json.dumps({'arguments': ' '.join(sys.argv[1:]), 'device': os.environ['GEMMSMITH_DEVICE'], 'dependent': os.environ['GEMMSMITH_DEPENDENT']}))\n");
    expect_torch("arguments", "f16:64x64x64:tn --library libgemmsmith.so --rounds 9 --json");
    expect_torch("device", "cuda:3");
    expect_torch("dependent", "1");
    setenv("GEMMSMITH_PYTHON", "python", 1);
    setenv("GEMMSMITH_LIBRARY", "elsewhere/lib.so", 1);
    expect_torch("arguments", "f16:64x64x64:tn --library elsewhere/lib.so --rounds 9 --json");
    unsetenv("GEMMSMITH_LIBRARY");
    torch_says("import sys\nprint('first', file=sys.stderr)\nprint('the last word', file=sys.stderr)\nprint('', file=sys.stderr)\nprint('[1]')\n");
    expect_torch("message", "the last word");
    torch_says("");
    expect_torch("message", "the script gave no result");
    unsetenv("GEMMSMITH_PYTHON");
    unsetenv("GEMMSMITH_DEVICE");
    unsetenv("GEMMSMITH_DEPENDENT");
}

/* So many more files than now may be opened. */
static void expect_torch_with_files(int more, const char *wanted)
{
    struct rlimit limit, before;
    const int next = dup(0);
    assert_true(next > 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){(rlim_t)(next + more), before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    json_t *const got = gs_torch_measure("f16:64x64x64:tn", "cuda:3", false, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_string_equal(json_string_value(json_object_get(got, "message")), wanted);
    json_decref(got);
}

static void torch_is_left_out_where_nothing_can_be_started(void **state)
{
    char path[4096];
    (void)state;
    torch_says("print('{}')\n");
    expect_torch_with_files(0, "no temporary file");
    expect_torch_with_files(1, "python3 is not there");
    expect_torch_with_files(2, "python3 is not there");
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    setenv("PATH", "absent", 1);
    expect_torch("message", "python3 is not there");
    setenv("PATH", path, 1);
    unsetenv("GEMMSMITH_DEVICE");
    unsetenv("GEMMSMITH_DEPENDENT");
}

static void torch_stands_in_the_row(void **state)
{
    bench *const b = *state;
    gs_contest_options o = options_of(NULL, "plan," REFERENCE);
    o.events = (gs_contest_events){0};
    o.torch = o.again = true;
    o.base_dir = ".";
    static const char file[] = "f16_1024x1024x1024_nn_tn_offline_cold.json", warm[] = "f16_1024x1024x1024_nn_tn_offline_warm.json";
    write_reply("plan", 200, 210, false);
    torch_says("print('{\"message\":\"played\"}')\n");
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_non_null(strstr(read_text(file), "\"torch\":{\"message\":\"played\"}"));
    o.warm = true;
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_non_null(strstr(read_text(warm), "timed in offline mode with a cold cache only"));
    b->session.caps.emulated = true;
    assert_int_equal(run_list(b, &o, 1, NULL), GS_OK);
    assert_non_null(strstr(read_text(warm), "torch.matmul needs a GPU"));
    unsetenv("GEMMSMITH_DEVICE");
    unsetenv("GEMMSMITH_DEPENDENT");
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
        TEST(rounds_are_as_many_as_suit),
        TEST(what_a_list_will_take_is_said_once),
        TEST(ours_is_compiled_before_anything_is_timed),
        TEST(nothing_is_written_where_something_cannot_be_opened),
        TEST(a_path_is_as_long_as_it_may_be),
        TEST(a_late_problem_is_no_failed_one),
        TEST(without_memory_it_is_said),
        TEST(torch_is_asked_through_its_script),
        TEST(torch_is_left_out_where_nothing_can_be_started),
        TEST(torch_stands_in_the_row),
    };
    return run_without_leaks("compare/compare", tests, GS_COUNT(tests));
}
