/* SPDX-License-Identifier: MIT
 * A worker without a device: speaks the protocol of worker/worker.h with simulated times (times.h) and behaves as badly as
 * $FAKE_WORKER tells it to: rules "key=value" separated by ';'.
 *
 *     mode=M           at the first request: exit (code 3), abort, mute, close, garbage, half, long, silent-exit
 *     start=MS         waits before it answers anything
 *     delay=MS         waits before every bench reply
 *     library=F        cuBLASLt takes F times the model's first choice (1.05); library_us=US: takes US, computed sooner
 *     reference=S      the reference cannot run, with status S; reference=wrong: its result is wrong
 *     reference_from=N the `reference` rule holds from the Nth request of a process on
 *     hang=C crash=C kill=C garbage=C   what a bench or verify request with this candidate does
 *     wrong=C fault=C  verdict of the verification: "exact", or "fault" with the end of the process
 *     timed=C fast=C compile=C   in a bench: wrong result, impossible time, does not compile
 *     stuck=C choke=C  what a compile or precompile request does: hang, crash
 *     prepare=MS       waits before every precompile reply; for a user kernel its source says it: "fake: prepare=MS"
 *     refuse=S         every precompile reply is a failure with status S
 *     late=C           wrong result in a bench beside the library
 *     once=C leap=C    twice as fast in a bench, except for the first request of a process, or always
 *     hungry=C         there is no device memory for a bench with it
 *     frail=C          a bench that is the first request of a process crashes
 *                      A user kernel obeys its source instead: "fake: hang" and so on, "fake: us=12.5".
 *     log=FILE         appends "op candidate..." of every request */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "bench/stats.h"
#include "fake/times.h"
#include "worker/wire.h"

enum { ROUNDS_MOST = 1000, CONTENDERS_MOST = 128 };

static char kernel_name[128], kernel_source[512];   /* the start of the source is enough */
static int  requests;

/* Finds "fake: key" in a user kernel's source; out gets the rest of the line. */
static bool kernel_rule(const char *key, char *out, size_t size)
{
    char word[32];
    const int length = snprintf(word, sizeof word, "fake: %s", key);
    const char *const at = strstr(kernel_source, word);
    if (!at || (at[length] != '\0' && at[length] != '\n' && at[length] != '=')) return false;
    if (out) snprintf(out, size, "%.*s", (int)strcspn(at + length, "\n"), at + length);
    return true;
}

/* Whether there is a rule key=value; value NULL: any value. Copies the value of the first match. */
static bool rule(const char *key, const char *value, char *out, size_t size)
{
    const char *at = getenv("FAKE_WORKER");
    const size_t key_size = strlen(key);
    if (value && kernel_name[0] && strcmp(value, kernel_name) == 0) return kernel_rule(key, out, size);
    while (at && *at) {
        const char *const end = strchr(at, ';') ? strchr(at, ';') : at + strlen(at);
        const char *const text = at + key_size + 1;
        if (strncmp(at, key, key_size) == 0 && at[key_size] == '=' &&
            (!value || ((size_t)(end - text) == strlen(value) && strncmp(text, value, strlen(value)) == 0))) {
            if (out) snprintf(out, size, "%.*s", (int)(end - text), text);
            return true;
        }
        at = *end ? end + 1 : end;
    }
    return false;
}

static double number_rule(const char *key, double otherwise)
{
    char text[64];
    return rule(key, NULL, text, sizeof text) ? strtod(text, NULL) : otherwise;
}

static void wait_rule(const char *key)
{
    const double ms = number_rule(key, 0);
    if (ms > 0) gs_clock_sleep_ns((int64_t)(ms * 1e6));
}

static _Noreturn void hang(void)
{
    for (;;) pause();
}

static _Noreturn void crash(void)
{
    static const char words[] = "starting\nCUDA error: illegal instruction\n";
    prctl(PR_SET_DUMPABLE, 0);
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0) _exit(9);
    abort();
}

static void misbehave(const char *candidate)
{
    if (rule("hang", candidate, NULL, 0)) hang();
    if (rule("crash", candidate, NULL, 0)) crash();
    if (rule("kill", candidate, NULL, 0)) raise(SIGKILL);
    if (rule("garbage", candidate, NULL, 0)) {
        printf("Segmentation fault (just kidding)\n");
        fflush(stdout);
        hang();
    }
}

static void play_mode(void)
{
    char mode[32];
    if (!rule("mode", NULL, mode, sizeof mode)) return;
    if (strcmp(mode, "exit") == 0) {
        fprintf(stderr, "no device left\n");
        exit(3);
    }
    if (strcmp(mode, "silent-exit") == 0) exit(0);
    if (strcmp(mode, "abort") == 0) crash();
    if (strcmp(mode, "mute") == 0) hang();
    if (strcmp(mode, "close") == 0) {
        close(STDOUT_FILENO);
        hang();
    }
    if (strcmp(mode, "half") == 0) {
        printf("{\"ok\":true,\"devi");
        fflush(stdout);
        exit(0);
    }
    if (strcmp(mode, "garbage") == 0) {
        printf("\x01\xff{{{ not a reply\n");
        fflush(stdout);
        hang();
    }
    static char block[1 << 16];
    memset(block, 'x', sizeof block);
    for (int i = 0; strcmp(mode, "long") == 0 && i < 100 * 16; i++)
        if (fwrite(block, 1, sizeof block, stdout) != sizeof block) exit(4);
}

static void log_request(const char *line)
{
    char path[512];
    if (!rule("log", NULL, path, sizeof path)) return;
    FILE *const file = fopen(path, "a");
    if (!file) exit(5);
    fputs(line, file);
    fclose(file);
}

/* ---- replies ---- */

static void hello(gs_json *json)
{
    const gs_caps *const caps = gs_caps_find("h200");
    gs_json_string(json, "device", "cuda:0");
    gs_json_int(json, "cublaslt", 130100);
    gs_json_int(json, "nvrtc", 13000);
    gs_caps_put(json, caps);
}

static bool verify(gs_json *json, const char *candidate)
{
    misbehave(candidate);
    const bool fault = rule("fault", candidate, NULL, 0), wrong = rule("wrong", candidate, NULL, 0);
    gs_json_string(json, "verdict", fault ? "fault" : wrong ? "exact" : "pass");
    gs_json_int(json, "part", wrong ? 1 : 0);
    gs_json_string(json, "reason", fault || wrong ? "as the script says" : "");
    return fault;
}

static void put_ratio(gs_json *json, const gs_ratio *ratio)
{
    gs_json_begin(json, "device_ratio", '{');
    gs_json_double(json, "median", ratio->median);
    gs_json_double(json, "low", ratio->low);
    gs_json_double(json, "high", ratio->high);
    gs_json_string(json, "verdict", gs_comparison_name(ratio->verdict));
    gs_json_end(json, '}');
}

static double library_us(const gs_problem *problem)
{
    const double us = number_rule("library_us", 0);
    return us > 0 ? us : fake_library_us(problem, number_rule("library", 1.05));
}

static double base_us(const char *name, const gs_problem *problem)
{
    gs_schedule schedule;
    char us[32];
    if (strcmp(name, kernel_name) == 0 && kernel_rule("us", us, sizeof us)) return strtod(us + 1, NULL);
    if (strcmp(name, "cublaslt-autotuning") != 0 && gs_schedule_parse(&schedule, name, NULL) == GS_OK) return fake_us(&schedule, problem);
    return library_us(problem);
}

static bool reference_fails(void) { return rule("reference", NULL, NULL, 0) && requests >= number_rule("reference_from", 0); }

static void put_entry(gs_json *json, const char *name, const gs_problem *problem, const double *reference, int rounds, double base,
                      uint64_t seed, bool raw)
{
    double us[ROUNDS_MOST], sorted[ROUNDS_MOST];
    char status[48] = "GS_OK";
    const bool rules = strcmp(name, "cublaslt-autotuning") == 0 && reference_fails(), wrongly = rules && rule("reference", "wrong", NULL, 0);
    if (rules && !wrongly) rule("reference", NULL, status, sizeof status);
    if (rule("compile", name, NULL, 0)) snprintf(status, sizeof status, "GS_ERROR_COMPILE");
    if (rule("fast", name, NULL, 0)) base *= 1e-3;
    if (rule("leap", name, NULL, 0) || (requests > 1 && rule("once", name, NULL, 0))) base /= 2;
    const bool wrong = wrongly || rule("timed", name, NULL, 0) || (reference && rule("late", name, NULL, 0)), ok = strcmp(status, "GS_OK") == 0;
    gs_random random = {seed ^ gs_hash64(name, strlen(name))};
    for (int i = 0; i < rounds; i++) sorted[i] = us[i] = base * (1 + 0.002 * (gs_random_unit(&random) - 0.5));

    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "name", name);
    gs_json_string(json, "layout", problem->layout == GS_NN ? "nn" : "tn");
    gs_json_string(json, "status", status);
    gs_json_string(json, "message", ok ? "" : "as the script says");
    gs_json_int(json, "suggestion", strstr(name, "cublaslt") ? 3 : 0);
    gs_json_bool(json, "wrong", wrong);
    gs_json_int(json, "rounds", rounds);
    if (ok && !wrong) {
        const gs_ratio ratio = gs_ratio_paired(reference ? reference : us, us, rounds, seed);
        gs_json_double(json, "device_us", gs_median(sorted, rounds));
        put_ratio(json, &ratio);
        if (raw) {
            gs_json_begin(json, "device_samples", '[');
            for (int i = 0; i < rounds; i++) gs_json_double(json, NULL, us[i]);
            gs_json_end(json, ']');
        }
    }
    gs_json_end(json, '}');
}

/* Returns false if there is no memory for it. */
static bool bench(gs_json *json, const json_t *request, const gs_problem *problem)
{
    const json_t *const names = json_object_get(request, "contenders");
    const int rounds = (int)json_integer_value(json_object_get(request, "rounds"));
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(request, "seed"));
    const bool raw = json_is_true(json_object_get(request, "samples")), narrow = json_is_true(json_object_get(request, "narrow"));
    const char *const first = json_string_value(json_array_get(names, 0));
    const bool library = first && strcmp(first, "cublaslt-autotuning") == 0;
    if (rounds < 1 || rounds > ROUNDS_MOST) exit(6);
    wait_rule("delay");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *const name = json_string_value(json_array_get(names, i));
        misbehave(name);
        if (rule("hungry", name, NULL, 0)) return false;
        if (requests == 1 && rule("frail", name, NULL, 0)) crash();
    }

    double reference[ROUNDS_MOST];
    gs_random random = {seed};
    const double base = library ? library_us(problem) : 1;
    for (int i = 0; i < rounds; i++) reference[i] = base * (1 + 0.002 * (gs_random_unit(&random) - 0.5));
    gs_json_int(json, "reference", library && reference_fails() ? -1 : 0);
    gs_json_int(json, "rounds", rounds);
    gs_json_begin(json, "clocks", '{');
    gs_json_begin(json, "after", '{');
    gs_json_int(json, "sm_mhz", 1755);
    gs_json_end(json, '}');
    gs_json_end(json, '}');
    gs_json_begin(json, "contenders", '[');
    const size_t count = json_array_size(names);
    double us[CONTENDERS_MOST];
    if (count > CONTENDERS_MOST) exit(9);
    for (size_t i = 0; i < count; i++) us[i] = i == 0 && library ? base : base_us(json_string_value(json_array_get(names, i)), problem);
    for (size_t i = 0; i < count; i++) {
        size_t faster = 0;
        for (size_t j = 0; j < count; j++) faster += us[j] < us[i];
        /* in a narrowing run the slower half leaves early, at clocks higher than the others get later */
        const bool left = narrow && 2 * faster >= count && faster > 2;
        put_entry(json, json_string_value(json_array_get(names, i)), problem, i && library ? reference : NULL, left ? 2 : rounds,
                  left ? 0.5 * us[i] : us[i], seed, raw);
    }
    gs_json_end(json, ']');
    return true;
}

/* NULL, or the status with which the candidate is refused. */
static const char *precompile(const char *candidate)
{
    static char status[48];
    char ms[32];
    if (kernel_name[0] && kernel_rule("prepare", ms, sizeof ms)) gs_clock_sleep_ns((int64_t)(strtod(ms + 1, NULL) * 1e6));
    else wait_rule("prepare");
    if (rule("stuck", candidate, NULL, 0)) hang();
    if (rule("choke", candidate, NULL, 0)) crash();
    if (rule("refuse", NULL, status, sizeof status)) return status;
    return rule("compile", candidate, NULL, 0) ? "COMPILE" : NULL;
}

static bool compile(gs_json *json, const char *candidate)
{
    if (rule("stuck", candidate, NULL, 0)) hang();
    if (rule("choke", candidate, NULL, 0)) crash();
    if (rule("compile", candidate, NULL, 0)) return false;
    gs_json_int(json, "registers", 64);
    gs_json_int(json, "smem", 1024);
    return true;
}

static void take_kernel(const json_t *kernel)
{
    const char *const name = json_string_value(json_object_get(kernel, "name")), *const source = json_string_value(json_object_get(kernel, "source"));
    snprintf(kernel_name, sizeof kernel_name, "%s", name ? name : "");
    snprintf(kernel_source, sizeof kernel_source, "%s", source ? source : "");
}

static bool answer(const char *line)
{
    json_t *const request = json_loads(line, 0, NULL);
    const char *const op = json_string_value(json_object_get(request, "op"));
    const char *const text = json_string_value(json_object_get(request, "problem"));
    const char *const candidate = json_string_value(json_object_get(request, "candidate"));
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 1, 1, 1);
    if (!op || (text && gs_problem_parse(&problem, text, NULL) != GS_OK)) exit(7);
    take_kernel(json_object_get(request, "kernel"));
    requests++;
    gs_text reply = {0};
    gs_json json = gs_json_into(&reply);
    bool last = false;
    const char *refused = NULL;
    gs_json_begin(&json, NULL, '{');
    gs_json_bool(&json, "ok", true);
    if (strcmp(op, "hello") == 0)
        hello(&json);
    else if (strcmp(op, "verify") == 0 && candidate)
        last = verify(&json, candidate);
    else if (strcmp(op, "bench") == 0)
        refused = bench(&json, request, &problem) ? NULL : "DEVICE_MEMORY";
    else if (strcmp(op, "compile") == 0 && candidate)
        refused = compile(&json, candidate) ? NULL : "COMPILE";
    else if (strcmp(op, "precompile") == 0 && candidate)
        refused = precompile(candidate);
    else if (strcmp(op, "metrics") == 0 && candidate) {
        gs_json_string(&json, "metrics", "registers 64\nsmem 1024\nthreads 256\nptx_mma 8\n");
        requests--;   /* rules count only requests that lead to a candidate's verdict */
    } else
        exit(8);
    if (refused) {
        gs_text_clear(&reply);
        gs_text_addf(&reply, "{\"ok\":false,\"status\":\"GS_ERROR_%s\",\"message\":\"as the script says\"", refused);
    }
    printf("%s%s", gs_text_string(&reply), last ? ",\"last\":true}\n" : "}\n");
    fflush(stdout);
    gs_text_free(&reply);
    json_decref(request);
    return !last;
}

int main(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[1], "worker") != 0 || strcmp(argv[2], "--device") != 0 || !argv[3][0]) return 2;
    char *line = NULL;
    size_t capacity = 0;
    bool going = true;
    wait_rule("start");
    while (going && getline(&line, &capacity, stdin) > 0) {
        log_request(line);
        play_mode();
        going = answer(line);
    }
    free(line);
    return going ? 0 : 70;
}
