/* SPDX-License-Identifier: MIT
 * What the client asks of a worker, letter by letter, and what it makes of the replies. The worker is this program once more: it answers whatever a file
 * says, and puts down what it was asked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "worker/client.h"
#include "worker/wire.h"
#include "folder.h"
#include "support/allocations.h"
#include "support/memory_in_use.h"

#define PLENTY 60.0
#define FOLDER "GS_TEST_CLIENT"   /* variable: where the two files are */

/* ---- the worker ---- */

static void path_of(char path[GS_PATH], const char *name) { snprintf(path, GS_PATH, "%s/%s", getenv(FOLDER), name); }

static int serve(void)
{
    char *line = NULL, asked[GS_PATH], says[GS_PATH];
    size_t capacity = 0;
    path_of(asked, "asked");
    path_of(says, "says");
    while (getline(&line, &capacity, stdin) > 0) {
        char *reply = NULL;
        size_t size = 0;
        FILE *const file = fopen(asked, "w");
        if (!file || fputs(line, file) < 0 || fclose(file) != 0 || gs_file_read(says, 1 << 20, &reply, &size, NULL) != GS_OK) return 1;
        if (strcmp(reply, "nothing") == 0) sleep(60);
        if (strcmp(reply, "exit") == 0 || strcmp(reply, "close") == 0) fprintf(stderr, "some words\nlast words \n\n");
        if (strcmp(reply, "exit") == 0) _exit(3);
        if (strcmp(reply, "silence") == 0) _exit(0);
        if (strcmp(reply, "kill") == 0) kill(getpid(), SIGKILL);
        if (strcmp(reply, "close") == 0) close(STDOUT_FILENO), sleep(60);
        printf("%s\n", reply);
        fflush(stdout);
        free(reply);
    }
    free(line);
    return 0;
}

/* ---- the other side ---- */

static gs_worker worker;
static gs_error  error;
static char      folder[] = "/tmp/gs-client-XXXXXX";

static void says(const char *reply)
{
    char path[GS_PATH];
    path_of(path, "says");
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(reply, file) >= 0);
    assert_int_equal(fclose(file), 0);
    error = (gs_error){0};
}

static void asked(const char *request)
{
    char path[GS_PATH], *text;
    size_t size;
    path_of(path, "asked");
    assert_int_equal(gs_file_read(path, 1 << 20, &text, &size, &error), GS_OK);
    if (size > 0 && text[size - 1] == '\n') text[size - 1] = '\0';
    assert_string_equal(text, request);
    free(text);
}

#define PROBLEM "f16:64x64x64:tn"
static const gs_worker_subject plain = {.problem = PROBLEM, .candidate = "simple", .seed = 5};
static const gs_worker_subject whole = {.problem = PROBLEM, .candidate = "source:1", .kernel = {"source:1", "int \"a\";", "manifest 1\n", 1.5},
                                        .cache = "/c", .seed = 7, .dependent = true};
#define REST_PLAIN "\"seed\":5}"
#define KERNEL     "\"kernel\":{\"name\":\"source:1\",\"source\":\"int \\\"a\\\";\",\"manifest\":\"manifest 1\\n\",\"compile_s\":1.5}"
#define REST_WHOLE KERNEL ",\"cache\":\"/c\",\"seed\":7,\"dependent\":true}"
#define ABOUT(op, candidate) "{\"op\":\"" op "\",\"problem\":\"" PROBLEM "\",\"candidate\":\"" candidate "\","

/* ---- hello ---- */

static gs_caps some_caps(void)
{
    gs_caps caps = *gs_caps_find("h200");
    snprintf(caps.uuid, sizeof caps.uuid, "GPU-12");
    caps.emulated = true;
    return caps;
}

static void assert_caps(const gs_caps *got, const gs_caps *want)
{
    assert_string_equal(got->name, want->name);
    assert_string_equal(got->slug, want->slug);
    assert_string_equal(got->uuid, want->uuid);
    assert_string_equal(got->target, want->target);
#define SAME(field) assert_true(got->field == want->field);
    GS_CAPS_INTS(SAME)
    GS_CAPS_REALS(SAME)
#undef SAME
    assert_true(got->memory_bytes == want->memory_bytes && got->emulated == want->emulated);
}

static void say_hello(const gs_caps *caps, const char *more)
{
    gs_text text = {0};
    gs_text_addf(&text, "{\"ok\":true%s", more);
    gs_json json = {&text, true};
    gs_caps_put(&json, caps);
    gs_json_end(&json, '}');
    says(gs_text_string(&text));
    gs_text_free(&text);
}

static void hello(void **state)
{
    (void)state;
    gs_caps want = some_caps(), got;
    int cublaslt = 7, nvrtc = 7;
    say_hello(&want, ",\"cublaslt\":130100,\"nvrtc\":13000");
    assert_int_equal(gs_worker_hello(&worker, &got, &cublaslt, &nvrtc, &error), GS_OK);
    asked("{\"op\":\"hello\"}");
    assert_caps(&got, &want);
    assert_true(cublaslt == 130100 && nvrtc == 13000);
    want.emulated = false;
    want.uuid[0] = '\0';
    say_hello(&want, ",\"cublaslt\":\"130100\"");
    assert_int_equal(gs_worker_hello(&worker, &got, &cublaslt, &nvrtc, &error), GS_OK);
    assert_caps(&got, &want);
    assert_true(cublaslt == 0 && nvrtc == 0);
    assert_int_equal(gs_worker_hello(&worker, &got, NULL, NULL, &error), GS_OK);
    for (int i = 0; i < 4; i++) {   /* who does not say what there is, is of no use */
        gs_caps lacks = some_caps();
        if (i == 0) lacks.cc = 0;
        if (i == 1) lacks.sms = 0;
        if (i == 2) lacks.slug[0] = '\0';
        if (i == 3) says("{\"ok\":true}");
        else say_hello(&lacks, "");
        assert_int_equal(gs_worker_hello(&worker, &got, NULL, NULL, &error), GS_ERROR_DEVICE_UNKNOWN);
        assert_string_equal(error.text, "the worker of cuda:3 does not say what its device can do");
    }
    assert_int_equal(worker.started, 1);
}

/* ---- compile, verify, metrics ---- */

static void compile(void **state)
{
    (void)state;
    gs_worker_compiled out = {.registers = 1, .smem = 2, .unfiltered = true};
    says("{\"ok\":true,\"registers\":168,\"smem\":\"many\"}");
    assert_int_equal(gs_worker_compile(&worker, &plain, PLENTY, &out, &error), GS_OK);
    asked(ABOUT("compile", "simple") REST_PLAIN);
    assert_true(out.registers == 168 && out.smem == 2 && !out.unfiltered);
    says("{\"ok\":true,\"smem\":4096,\"unfiltered\":true}");
    assert_int_equal(gs_worker_compile(&worker, &whole, PLENTY, &out, &error), GS_OK);
    asked(ABOUT("compile", "source:1") REST_WHOLE);
    assert_true(out.registers == 168 && out.smem == 4096 && out.unfiltered);
    gs_worker_subject subject = whole;
    subject.kernel.compile_s = 0;   /* the worker's own limit */
    assert_int_equal(gs_worker_compile(&worker, &subject, PLENTY, &out, &error), GS_OK);
    asked(ABOUT("compile", "source:1") "\"kernel\":{\"name\":\"source:1\",\"source\":\"int \\\"a\\\";\",\"manifest\":\"manifest 1\\n\"},"
          "\"cache\":\"/c\",\"seed\":7,\"dependent\":true}");
}

static void precompile(void **state)
{
    (void)state;
    const gs_caps caps = some_caps();
    for (int edges = 0; edges < 2; edges++) {
        gs_text text = {0};
        gs_text_addf(&text, ABOUT("precompile", "simple") "%s", edges ? "\"edges\":true" : "");
        gs_json json = {&text, edges != 0};
        gs_caps_put(&json, &caps);
        gs_text_add(&text, "," REST_PLAIN);
        says("{\"ok\":true}");
        assert_int_equal(gs_worker_precompile(&worker, &plain, &caps, edges, PLENTY, &error), GS_OK);
        asked(gs_text_string(&text));
        gs_text_free(&text);
    }
}

static void verify(void **state)
{
    (void)state;
    gs_verdict out;
    worker.busy = 0;
    says("{\"ok\":true,\"verdict\":\"edge\",\"part\":5,\"problem\":\"f16:1x2x3:tn\",\"mismatches\":9,\"row\":3,\"col\":4,"
         "\"got\":1.5,\"want\":2,\"error\":0.25,\"limit\":0.125,"
         "\"reason\":\"9 of 12\"}");
    assert_int_equal(gs_worker_verify(&worker, &plain, 9, PLENTY, &out, &error), GS_OK);
    asked(ABOUT("verify", "simple") "\"parts\":9," REST_PLAIN);
    assert_true(worker.busy > 0);
    assert_true(out.code == GS_VERDICT_EDGE && out.part == 5 && out.mismatches == 9 && out.row == 3 && out.col == 4);
    assert_true(out.got == 1.5 && out.want == 2 && out.error == 0.25 && out.limit == 0.125);
    assert_string_equal(out.problem, "f16:1x2x3:tn");
    assert_string_equal(out.reason, "9 of 12");
    says("{\"ok\":true,\"verdict\":\"pass\"}");
    assert_int_equal(gs_worker_verify(&worker, &whole, 255, PLENTY, &out, &error), GS_OK);
    asked(ABOUT("verify", "source:1") "\"parts\":255," REST_WHOLE);
    assert_true(out.code == GS_VERDICT_PASS && out.part == 0 && out.mismatches == 0 && out.row == -1 && out.col == -1);
    assert_true(out.got == 0 && out.want == 0 && out.error == 0 && out.limit == 0 && !*out.problem && !*out.reason);
    static const char *const unknown[] = {"{\"ok\":true,\"verdict\":\"splendid\"}", "{\"ok\":true}", "{\"ok\":true,\"verdict\":\"unknown\"}"};
    for (size_t i = 0; i < GS_COUNT(unknown); i++) {
        says(unknown[i]);
        assert_int_equal(gs_worker_verify(&worker, &plain, 255, PLENTY, &out, &error), GS_ERROR_WORKER_DIED);
        assert_string_equal(error.text, "the worker of cuda:3 gave no verdict that is known");
    }
}

static void metrics(void **state)
{
    (void)state;
    gs_text out = {0};
    gs_text_add(&out, "before\n");
    says("{\"ok\":true,\"metrics\":\"registers 168\\nsmem 4096\\n\"}");
    assert_int_equal(gs_worker_metrics(&worker, &plain, false, PLENTY, &out, &error), GS_OK);
    asked(ABOUT("metrics", "simple") "\"launch\":false," REST_PLAIN);
    assert_string_equal(gs_text_string(&out), "before\nregisters 168\nsmem 4096\n");
    says("{\"ok\":true}");
    assert_int_equal(gs_worker_metrics(&worker, &whole, true, PLENTY, &out, &error), GS_OK);
    asked(ABOUT("metrics", "source:1") "\"launch\":true," REST_WHOLE);
    assert_string_equal(gs_text_string(&out), "before\nregisters 168\nsmem 4096\n");
    gs_text_free(&out);
}

/* ---- bench ---- */

static const char *const names[] = {"cublaslt-autotuning", "simple"};

static void bench_requests(void **state)
{
    (void)state;
    gs_worker_timings out;
    says("{\"ok\":true}");
    gs_worker_bench_request request = {.subject = {.problem = PROBLEM, .candidate = "not looked at", .seed = 3}, .contenders = names, .count = 2,
                                       .warmup_s = -1};
    assert_int_equal(gs_worker_bench(&worker, &request, PLENTY, &out, &error), GS_OK);
    asked("{\"op\":\"bench\",\"problem\":\"" PROBLEM "\",\"contenders\":[\"cublaslt-autotuning\",\"simple\"],\"reference\":0,\"mode\":\"offline\",\"rounds\":0,"
          "\"warm\":false,\"warmup_s\":-1,\"budget_s\":0,\"target_qps\":0,\"call_time\":false,\"seed\":3,\"samples\":false}");
    assert_true(out.count == 0 && out.reference == -1 && out.rounds == 0 && out.mhz == 0);
    gs_worker_timings_free(&out);
    request = (gs_worker_bench_request){
        .subject = whole, .contenders = names, .count = 1, .reference = 1, .server = true, .rounds = 30, .warm = true, .call_time = true, .samples = true,
        .warmup_s = 0.5, .budget_s = 2, .target_qps = 100, .replay_us = 200, .narrow = true, .unchecked = true, .behind = true, .slow = 1.25, .skewed = true,
    };
    assert_int_equal(gs_worker_bench(&worker, &request, PLENTY, &out, &error), GS_OK);
    asked("{\"op\":\"bench\",\"problem\":\"" PROBLEM "\",\"contenders\":[\"cublaslt-autotuning\"],\"reference\":1,\"mode\":\"server\",\"rounds\":30,"
          "\"warm\":true,\"warmup_s\":0.5,\"budget_s\":2,\"target_qps\":100,\"call_time\":true,\"seed\":7,\"samples\":true,"
          "\"dependent\":true,\"routing\":\"skewed\"," KERNEL ",\"cache\":\"/c\",\"narrow\":true,"
          "\"behind\":true,\"check\":false,\"slow\":1.25,\"replay_us\":200}");
    gs_worker_timings_free(&out);
}

#define RATIO   "\"device_ratio\":{\"median\":1.5,\"low\":1.25,\"high\":1.75,\"verdict\":\"faster\"}"
#define TIMED   "{\"status\":\"GS_OK\",\"message\":\"\",\"suggestion\":4,\"wrong\":false,\"rounds\":12,\"device_us\":12.5,\"untrusted\":\"why\"," RATIO ","
#define TIMINGS "{\"ok\":true,\"reference\":0,\"rounds\":30,\"clocks\":{\"before\":{\"sm_mhz\":1},\"after\":{\"sm_mhz\":1980}}," \
                "\"contenders\":[" TIMED "\"device_samples\":[12.5,13,12]},{\"status\":\"GS_ERROR_COMPILE\",\"message\":\"no\",\"wrong\":true}]}"

static void bench_replies(void **state)
{
    (void)state;
    const gs_worker_bench_request request = {.subject = plain, .contenders = names, .count = 2};
    gs_worker_timings out;
    worker.busy = 0;
    says(TIMINGS);
    assert_int_equal(gs_worker_bench(&worker, &request, PLENTY, &out, &error), GS_OK);
    assert_true(worker.busy > 0);
    assert_true(out.count == 2 && out.reference == 0 && out.rounds == 30 && out.mhz == 1980 && out.json);
    const gs_worker_timing *const a = &out.list[0], *const b = &out.list[1];
    assert_true(a->status == GS_OK && !a->wrong && a->rounds == 12 && a->suggestion == 4 && a->device_us == 12.5);
    assert_string_equal(a->untrusted, "why");
    assert_true(a->device_ratio.median == 1.5 && a->device_ratio.low == 1.25 && a->device_ratio.high == 1.75);
    assert_int_equal(a->device_ratio.verdict, GS_UNCLEAR);
    assert_true(a->sample_count == 3 && a->samples[0] == 12.5 && a->samples[1] == 13 && a->samples[2] == 12);
    assert_true(b->status == GS_ERROR_COMPILE && b->wrong && b->rounds == 0 && b->suggestion == 1 && b->device_us == 0);
    assert_true(b->device_ratio.median == 0 && b->device_ratio.low == 0 && b->device_ratio.high == 0);
    assert_string_equal(b->message, "no");
    assert_string_equal(b->untrusted, "");
    assert_true(!b->samples && b->sample_count == 0);
    gs_worker_timings_free(&out);
    assert_true(!out.json && !out.list && out.count == 0 && out.reference == -1);
    gs_worker_timings_free(&out);
}

/* ---- failures ---- */

static void a_worker_that_refuses(void **state)
{
    (void)state;
    static const struct { const char *reply; gs_status status; const char *field; int column; const char *text; } cases[] = {
        {"{\"ok\":false,\"status\":\"GS_ERROR_PARSE\",\"field\":\"m\",\"column\":7,\"message\":\"a 100% reason\"}", GS_ERROR_PARSE, "m", 7, "a 100% reason"},
        {"{\"ok\":false,\"status\":\"GS_ERROR_COMPILE\",\"field\":\"\",\"column\":0,\"message\":\"why\"}",           GS_ERROR_COMPILE, "", 0, "why"},
        {"{\"ok\":false}",                              GS_ERROR_DEVICE, "", 0, "the worker gave no reason"},
        {"{\"ok\":false,\"status\":\"GS_OK\"}",         GS_ERROR_DEVICE, "", 0, "the worker gave no reason"},
        {"{\"ok\":false,\"status\":\"GS_ERROR_NEW\"}",  GS_ERROR_DEVICE, "", 0, "the worker gave no reason"},
    };
    gs_caps caps = {0};
    gs_verdict verdict;
    gs_text text = {0};
    gs_worker_timings timings;
    gs_worker_compiled compiled = {.registers = 3};
    const gs_worker_bench_request request = {.subject = plain, .contenders = names, .count = 2};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        for (int call = 0; call < 6; call++) {
            says(cases[i].reply);
            const gs_status status = call == 0   ? gs_worker_hello(&worker, &caps, NULL, NULL, &error)
                                     : call == 1 ? gs_worker_compile(&worker, &plain, PLENTY, &compiled, &error)
                                     : call == 2 ? gs_worker_precompile(&worker, &plain, &caps, false, PLENTY, &error)
                                     : call == 3 ? gs_worker_verify(&worker, &plain, 1, PLENTY, &verdict, &error)
                                     : call == 4 ? gs_worker_metrics(&worker, &plain, false, PLENTY, &text, &error)
                                                 : gs_worker_bench(&worker, &request, PLENTY, &timings, &error);
            assert_int_equal(status, cases[i].status);
            assert_string_equal(error.field, cases[i].field);
            assert_int_equal(error.column, cases[i].column);
            assert_string_equal(error.text, cases[i].text);
        }
    }
    assert_true(compiled.registers == 3 && text.size == 0 && !timings.json && !timings.list && verdict.row == -1);
    assert_int_equal(worker.started, 1);   /* it lives */
}

static void a_worker_that_talks_nonsense(void **state)
{
    (void)state;
    static const char *const replies[] = {"no JSON at all", "[true]", "{\"yes\":true}", "{\"ok\":\"true\"}", "{\"ok\":1}", "{\"ok\":true} x"};
    for (size_t i = 0; i < GS_COUNT(replies); i++) {
        char text[128];
        gs_worker_compiled out;
        says(replies[i]);
        assert_int_equal(gs_worker_compile(&worker, &plain, PLENTY, &out, &error), GS_ERROR_WORKER_DIED);
        snprintf(text, sizeof text, "the worker of cuda:3 wrote something that is no reply: %s", replies[i]);
        assert_string_equal(error.text, text);
        assert_int_equal(worker.pid, 0);
        says("{\"ok\":true,\"registers\":1}");
        assert_int_equal(gs_worker_compile(&worker, &plain, PLENTY, &out, &error), GS_OK);
        assert_int_equal(worker.started, (int)i + 2);
    }
}

static gs_status every_call(const char **what)
{
    const gs_caps caps = some_caps();
    const gs_worker_bench_request request = {.subject = whole, .contenders = names, .count = 2};
    gs_worker_compiled compiled;
    gs_verdict verdict;
    gs_worker_timings timings;
    gs_caps got;
    gs_text text = {0};
    *what = "hello";
    GS_TRY(gs_worker_hello(&worker, &got, NULL, NULL, &error));
    *what = "compile";
    GS_TRY(gs_worker_compile(&worker, &whole, PLENTY, &compiled, &error));
    *what = "precompile";
    GS_TRY(gs_worker_precompile(&worker, &whole, &caps, true, PLENTY, &error));
    *what = "verify";
    GS_TRY(gs_worker_verify(&worker, &whole, 1, PLENTY, &verdict, &error));
    *what = "metrics";
    const gs_status status = gs_worker_metrics(&worker, &whole, true, PLENTY, &text, &error);
    const bool failed = text.failed;
    gs_text_free(&text);
    GS_TRY(status);
    if (failed) return GS_ERROR_MEMORY;
    *what = "bench";
    GS_TRY(gs_worker_bench(&worker, &request, PLENTY, &timings, &error));
    gs_worker_timings_free(&timings);
    return GS_OK;
}

/* One reply that suits every request. */
static void say_everything(void)
{
    const gs_caps caps = some_caps();
    say_hello(&caps, ",\"verdict\":\"pass\",\"metrics\":\"registers 1\\n\"," "\"contenders\":[{\"status\":\"GS_OK\",\"device_samples\":[1,2]},{}]");
}

static int descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 256; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static void nothing_is_kept(void **state)
{
    (void)state;
    const char *what;
    memory_watch watch = {0};
    const int open_ones = descriptors();
    say_everything();
    for (int i = 0; i < MEMORY_ROUNDS; i++) {
        memory_round(&watch);
        if (every_call(&what) != GS_OK) fail_msg("%s: %s", what, error.text);
    }
    assert_false(memory_grows(&watch));
    says("{\"ok\":false,\"status\":\"GS_ERROR_COMPILE\"}");
    for (int i = 0; i < MEMORY_ROUNDS; i++) {
        memory_round(&watch);
        assert_int_equal(every_call(&what), GS_ERROR_COMPILE);
    }
    assert_false(memory_grows(&watch));
    says("[\"nonsense\"]");
    for (int i = 0; i < MEMORY_ROUNDS; i++) {
        memory_round(&watch);
        assert_int_equal(every_call(&what), GS_ERROR_WORKER_DIED);
    }
    assert_false(memory_grows(&watch));
    assert_int_equal(descriptors(), open_ones);   /* of every one that was started */
}

/* Whichever allocation fails: MEMORY, and the next call is as good as ever. */
static void short_of_memory(void **state)
{
    (void)state;
    const char *what;
    gs_status status;
    int count = 0;
    say_everything();
    assert_int_equal(every_call(&what), GS_OK);
    do {
        fail_at = ++count;
        status = every_call(&what);
        fail_at = 0;
        if (status != GS_OK && status != GS_ERROR_MEMORY) fail_msg("%s, allocation %d: %s: %s", what, count, gs_status_name(status), error.text);
        const char *again;
        assert_int_equal(every_call(&again), GS_OK);
    } while (status != GS_OK);
    assert_in_range(count, 15, 200);
    int failed = 0;
    for (int at = 1; at < 5; at++) {   /* of a line of nothing, too */
        char *reply = NULL;
        says("");
        fail_at = at;
        status = gs_worker_call(&worker, "{}", PLENTY, &reply, &error);
        fail_at = 0;
        failed += status != GS_OK;
        assert_true(status == GS_OK ? reply != NULL : status == GS_ERROR_MEMORY && !reply);
        if (status != GS_OK) assert_string_equal(error.text, "no memory for the reply of the worker");
        free(reply);
    }
    assert_true(failed > 0);
}

/* How it ended, and what it said last. */
static void a_worker_that_ends(void **state)
{
    (void)state;
    static const struct { const char *reply, *text; int signal; } cases[] = {
        {"exit",    "the worker of cuda:3 exited with code 3: last words",                     0},
        {"silence", "the worker of cuda:3 exited with code 0",                                 0},
        {"kill",    "the worker of cuda:3 was killed by signal 9 (Killed)",                    SIGKILL},
        {"close",   "the worker of cuda:3 closed its pipe without a reply: last words",        0},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char *reply;
        says(cases[i].reply);
        worker.signal = 77;
        assert_int_equal(gs_worker_call(&worker, "{}", PLENTY, &reply, &error), GS_ERROR_WORKER_DIED);
        assert_string_equal(error.text, cases[i].text);
        assert_true(!reply && worker.pid == 0 && worker.signal == cases[i].signal && worker.started == (int)i + 1);
    }
}

/* A death between two calls is no failure of the next one, which a fresh worker answers. */
static void a_worker_that_ended_before(void **state)
{
    (void)state;
    const gs_caps caps = some_caps();
    gs_caps got;
    siginfo_t info;
    say_hello(&caps, "");
    for (int i = 1; i < 4; i++) {
        assert_int_equal(gs_worker_hello(&worker, &got, NULL, NULL, &error), GS_OK);
        assert_int_equal(worker.started, i);
        assert_int_equal(kill(worker.pid, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)worker.pid, &info, WEXITED | WNOWAIT), 0);
    }
}

static void a_program_that_is_none(void **state)
{
    (void)state;
    char *reply = NULL;
    const int open_ones = descriptors();
    gs_worker_init(&worker, "cuda:3", "/nonexistent/gemmsmith");
    assert_int_equal(gs_worker_call(&worker, "{}", PLENTY, &reply, &error), GS_ERROR_WORKER_DIED);
    assert_string_equal(error.text, "the worker /nonexistent/gemmsmith cannot be started: No such file or directory");
    assert_true(!reply && worker.pid == 0 && worker.started == 0);
    assert_int_equal(descriptors(), open_ones);
}

static bool is_past(void *self) { return gs_clock_ns() >= *(const int64_t *)self; }

/* An answer that nobody wants any more is not waited for; a time that has come neither, before and while somebody answers. */
static void nobody_waits_for_ever(void **state)
{
    (void)state;
    char *reply = NULL;
    says("nothing");
    const int64_t began = gs_clock_ns();
    int64_t at = began + 50000000;
    worker.unwanted = is_past;
    worker.self = &at;
    assert_int_equal(gs_worker_call(&worker, "{}", PLENTY, &reply, &error), GS_ERROR_INTERRUPTED);
    assert_string_equal(error.text, "given up while the worker of cuda:3 was busy: nobody wants the answer any more");
    assert_true(!reply && worker.pid == 0);
    worker.unwanted = NULL;
    worker.until = gs_clock_ns() + 20000000;
    assert_int_equal(gs_worker_call(&worker, "{}", PLENTY, &reply, &error), GS_ERROR_INTERRUPTED);
    assert_string_equal(error.text, "given up while the worker of cuda:3 was busy: the time limit of the whole work is reached");
    assert_int_equal(worker.pid, 0);
    worker.until = 0;
    assert_int_equal(gs_worker_call(&worker, "{}", 0.02, &reply, &error), GS_ERROR_WORKER_HUNG);
    assert_string_equal(error.text, "the worker of cuda:3 did not answer within 0.02 s and was killed");
    assert_int_equal(worker.pid, 0);
    at = gs_clock_ns() + 50000000;
    worker.unwanted = is_past;
    worker.until = gs_clock_ns() + 3600000000000;   /* whichever comes first */
    assert_int_equal(gs_worker_call(&worker, "{}", PLENTY, &reply, &error), GS_ERROR_INTERRUPTED);
    assert_true(gs_clock_since(began) < 20);
    worker.until = 0;
    worker.unwanted = NULL;
    assert_int_equal(gs_worker_call(&worker, "{}\n{}", PLENTY, &reply, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.text, "a request is one line");
}

/* With so few descriptors that nobody can be listened to, or started. */
static void without_descriptors(void **state)
{
    (void)state;
    const gs_caps caps = some_caps();
    gs_caps got;
    char *reply = NULL;
    struct rlimit before;
    say_hello(&caps, "");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int started = 1; started >= 0; started--) {
        if (started) assert_int_equal(gs_worker_hello(&worker, &got, NULL, NULL, &error), GS_OK);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){2, before.rlim_max}), 0);
        const gs_status status = gs_worker_call(&worker, "{}", PLENTY, &reply, &error);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(status, GS_ERROR_IO);
        assert_non_null(strstr(error.text, started ? "poll failed" : "no pipes for the worker"));
        assert_true(!reply && worker.pid == 0);   /* or the next call would take this one's reply for its own */
    }
    assert_int_equal(gs_worker_hello(&worker, &got, NULL, NULL, &error), GS_OK);
}

/* Where whoever started this program does not wait for children, the kernel does: a worker's end is an end all the same. */
static void children_that_nobody_waits_for(void **state)
{
    (void)state;
    const gs_caps caps = some_caps();
    gs_caps got;
    say_hello(&caps, "");
    signal(SIGCHLD, SIG_IGN);
    const gs_status status = gs_worker_hello(&worker, &got, NULL, NULL, &error);
    const int64_t began = gs_clock_ns();
    gs_worker_stop(&worker);
    const double seconds = gs_clock_since(began);
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(status, GS_OK);
    assert_int_equal(worker.pid, 0);
    assert_true(seconds < 10);   /* whoever cannot be killed is waited for longer */
}

static int start(void **state)
{
    (void)state;
    gs_worker_init(&worker, "cuda:3", NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    gs_worker_stop(&worker);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "worker") == 0) return serve();
    unsetenv("GEMMSMITH_WORKER");
    if (!mkdtemp(folder) || setenv(FOLDER, folder, 1) != 0) return 1;
    const struct CMUnitTest tests[] = {
        CASE(hello), CASE(compile), CASE(precompile), CASE(verify), CASE(metrics), CASE(bench_requests), CASE(bench_replies), CASE(a_worker_that_refuses),
        CASE(a_worker_that_talks_nonsense), CASE(nothing_is_kept), CASE(short_of_memory), CASE(children_that_nobody_waits_for),
        CASE(a_worker_that_ends), CASE(a_worker_that_ended_before), CASE(without_descriptors), CASE(a_program_that_is_none), CASE(nobody_waits_for_ever),
    };
    const int failed = cmocka_run_group_tests_name("worker/client", tests, NULL, NULL);
    remove_all(folder);
    return failed;
}
