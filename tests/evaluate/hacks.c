/* SPDX-License-Identifier: MIT
 * The hack suite on the emulated device: every kernel of tests/hacks gets the verdict at its head from the environment, as an untrusted candidate: compiled in the
 * sandbox, inspected, verified, timed. Kernels of refused.cu, hacks.cu, values.cu, order.cu and blocks.cu must be caught: an endpoint returns them one after the other
 * in the loop of a model that writes kernels (author/author.h), followed by a right one, which the loop must find. more.cu, more_beside.cu, more_corners.cu,
 * more_paths.cu, more_few.cu, more_lines.cu, more_shapes.cu and more_honest.cu are for problems with more arguments. Kernels of module.cu differ from what their manifests declare. honest.cu, blocks_honest.cu and
 * module_honest.cu have unusual kernels that must pass. Edge problems of one honest kernel take the environment 3 to 30 s, of all of them four minutes: one in WHOLE
 * goes through it, the same in every run, which covers every kind (by elements, shared memory, shuffles, traps, __constant__, inline assembly, persistent, dependent).
 * The others are inspected and verified in this process, without edge problems. A kernel named on the command line goes through the environment.
 *
 *     test_evaluate_hacks [-v] [-s SEED] [part of a name]      -v: the whole table; -s: another seed (1), with which some kernels pass by chance; "": every kernel, some minutes */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "worker/client.h"
#include "inspect/inspect.h"
#include "author/author.h"
#include "tuning.h"
#include "verify/verify.h"
#include "writing.h"

#ifdef __SANITIZE_ADDRESS__
#define SHARE 6   /* sanitized builds test one in so many kernels, the release build all of them */
#else
#define SHARE 1
#endif
#define DEVICE "emu:h200,threads=1,seed=3"
#define WHOLE  5

#define PLAIN "f16:40x56x72:tn"

typedef struct hack {
    char    name[120], right[120], problem[GS_PROBLEM_TEXT], said[120];   /* said: words that the reason must contain */
    gs_text source, manifest;
} hack;

static gs_worker    worker;   /* this program, started with the argument `worker` */
static gs_caps      caps;
static gs_device   *device;   /* a second emulated device, in this process */
static gs_verifier *verifier;
static bool         all;      /* print the whole table */
static const char  *only;
static uint64_t     first_seed = 1;   /* seed of the loop that asks for the kernels */

/* ---- reading a file of kernels ---- */

static char *read_text(const char *name)
{
    static char *text;   /* static only because gcc warns about a pointer to a local variable */
    char path[512];
    size_t size;
    gs_error error;
    snprintf(path, sizeof path, "%s/tests/hacks/%s", GS_SOURCE_DIR, name);
    if (gs_file_read(path, 1u << 20, &text, &size, &error) != GS_OK) fail_msg("%s", error.text);
    return text;
}

/* Files whose kernels are about edge problems and about the arguments that GS_MORE adds. */
static bool has_more(const char *name) { return strncmp(name, "more", 4) == 0; }

/* The text in front of every kernel of a file. */
static char *read_plain(const char *name)
{
    char *const plain = read_text("plain.cuh");
    if (!has_more(name)) return plain;
    gs_text with = {0};
    gs_text_addf(&with, "#define GS_MORE\n%s", plain);
    free(plain);
    return with.data;
}

/* Reads up to the next '|' or the end of the line, without surrounding blanks. */
static const char *read_field(const char *at, char *out, size_t size)
{
    at += strspn(at, " ");
    const size_t length = strcspn(at, "|\n");
    size_t n = GS_MIN(length, size - 1);
    while (n > 0 && at[n - 1] == ' ') n--;
    memcpy(out, at, n);
    out[n] = '\0';
    return at + length + (at[length] == '|');
}

/* The offset of the next kernel's "//// ", or of the end. */
static size_t find_hack(const char *text, size_t from)
{
    const char *const next = strstr(text + from, "\n//// ");
    return next ? (size_t)(next - text) + 1 : strlen(text);
}

/* Reads the kernel whose "//// " is at `at`. */
static void read_hack(const char *at, const char *plain, hack *h)
{
    *h = (hack){.source = {0}};
    at = read_field(at + 5, h->name, sizeof h->name);
    at = read_field(at, h->right, sizeof h->right);
    at = read_field(at, h->problem, sizeof h->problem);
    if (!h->problem[0]) snprintf(h->problem, sizeof h->problem, PLAIN);
    const char *const body = at, *const align = strstr(body, "\n//: align "), *const end = strstr(body, "\n//// ");   /* replaces HEAD's align line */
    gs_text_addf(&h->manifest, "%.*s", (int)(align && (!end || align < end) ? strstr(HEAD, "align") - HEAD : (long)sizeof HEAD - 1), HEAD);
    gs_text_addf(&h->source, "%s#line 2\n", plain);
    const size_t head = h->manifest.size;
    at += *at == '\n';
    while (*at && strncmp(at, "//// ", 5) != 0) {
        const size_t length = strcspn(at, "\n");
        if (strncmp(at, "//! ", 4) == 0) read_field(at + 4, h->said, sizeof h->said);
        if (strncmp(at, "//: ", 4) == 0) gs_text_addf(&h->manifest, "%.*s\n", (int)length - 4, at + 4);
        gs_text_addf(&h->source, "%.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
    if (h->manifest.size == head) gs_text_add(&h->manifest, ENTRY);
}

static void free_hack(hack *h)
{
    gs_text_free(&h->source);
    gs_text_free(&h->manifest);
}

/* ---- verdicts ---- */

static void print_verdict(const hack *h, const char *got, const char *why, bool right)
{
    if (!right || all) print_message("%s%-72s | %-40s | %-22s %s\n", right ? "" : "WRONG ", h->name, h->right, got, why);
}

/* The verdict as text, such as "exact" or "forbidden:state", and the reason. */
static void name_verdict(const gs_evaluation *result, char got[64], char why[512])
{
    snprintf(why, 512, "%s: %s", gs_step_name(result->step), result->reason);
    snprintf(got, 64, "%s", gs_verdict_word(result->verdict));
    assert_true((strcmp(got, "pass") == 0) == ((result->us > 0 || result->untrusted[0]) && result->step == GS_STEP_TIME));
    if (strcmp(got, "forbidden") != 0) return;
    char reason[32] = "";
    assert_int_equal(sscanf(result->reason, "%31[a-z]:", reason), 1);
    assert_true(gs_refusal_find(reason) != GS_REFUSALS);
    assert_string_equal(gs_step_name(result->step), "compile");
    snprintf(got, 64, "forbidden:%s", reason);
}

static void judge(const hack *h, uint64_t seed, char got[64], char why[512])
{
    gs_error error = {0};
    gs_environment *environment;
    gs_evaluation result;
    const gs_problem problem = problem_of(h->problem);
    const gs_environment_options options = {.seed = seed, .dependent = problem.constant == GS_CONSTANT_B};
    const gs_submission submission = {.source = gs_text_string(&h->source), .manifest = gs_text_string(&h->manifest)};
    assert_int_equal(gs_environment_create(&environment, &worker, &caps, NULL, NULL, &options, &error), GS_OK);
    const gs_status status = gs_evaluate(environment, &problem, &submission, &result, &error);
    gs_environment_destroy(&environment);
    if (status != GS_OK) fail_msg("%s: %s: %s", h->name, error.field, error.text);
    name_verdict(&result, got, why);
}

/* Judges a kernel in this process, without the sandbox, timing and edge problems. */
static void judge_here(const hack *h, uint64_t seed, char got[64], char why[512])
{
    gs_kernel kernel = {.name = "hack.cu", .source = gs_text_string(&h->source)};
    gs_error error = {0};
    gs_contender contender;
    gs_verdict verdict;
    const gs_problem problem = problem_of(h->problem);
    const gs_verify_options options = {.seed = seed, .parts = GS_PART_ALL & ~(uint32_t)GS_PART_EDGES};
    if (gs_manifest_parse(&kernel.manifest, gs_text_string(&h->manifest), &error) != GS_OK) fail_msg("%s: %s: %s", h->name, error.field, error.text);
    assert_int_equal(gs_contender_kernel(&contender, device, h->name, &kernel, &error), GS_OK);
    const gs_status status = gs_verify(verifier, &contender, &problem, &options, &verdict, &error);
    contender.destroy(&contender);
    if (status != GS_OK) fail_msg("%s: %s: %s", h->name, error.field, error.text);
    snprintf(why, 512, "here: %s", verdict.reason);
    snprintf(got, 64, "%s", gs_verdict_name(verdict.code));
}

static bool is_right(const char *right, const char *got)
{
    const size_t size = strlen(got);
    for (const char *at = right; (at = strstr(at, got)) != NULL; at += size)
        if ((at == right || at[-1] == ' ') && (at[size] == '\0' || at[size] == ' ')) return true;
    return false;
}

/* ---- honest kernels ---- */

static void try_honest(const char *name, int least)
{
    char *const text = read_text(name), *const plain = read_plain(name);
    int seen = 0, count = 0, missed = 0, here = 0;
    for (size_t at = find_hack(text, 0); text[at]; at = find_hack(text, at + 1)) {
        hack h;
        char got[64], why[512];
        read_hack(text + at, plain, &h);
        if (only ? strstr(h.name, only) != NULL : seen++ % SHARE == 0) {
            const bool apart = !only && count % WHOLE != 0 && !has_more(name);
            if (apart) judge_here(&h, 1 + (uint64_t)count, got, why);
            else judge(&h, 1 + (uint64_t)count, got, why);
            here += apart;
            const bool right = is_right(h.right, got);
            print_verdict(&h, got, why, right);
            missed += !right;
            count++;
        }
        free_hack(&h);
    }
    free(text);
    free(plain);
    print_message("%s: %d kernels, %d of them through the environment\n", name, count, count - here);
    assert_true(only || seen >= least);
    assert_int_equal(missed, 0);
}

static void test_honest(void **state)
{
    (void)state;
    try_honest("honest.cu", 33);
    try_honest("blocks_honest.cu", 8);
}

static void test_honest_modules(void **state)
{
    (void)state;
    try_honest("module_honest.cu", 18);
}

static void test_honest_more(void **state)
{
    (void)state;
    try_honest("more_honest.cu", 8);
}

/* ---- the catalogue of hacks, as answers of a model ---- */

enum { HACKS = 512, LEAST = 403 };   /* HACKS: capacity; LEAST: hacks that the files must contain at least */

static hack catalogue[HACKS];
static int  hacks;

/* The answers of a run in order, and how far the run has come. */
typedef struct answers {
    const hack *list[HACKS];
    int         count, judged, missed;
} answers;

static void read_catalogue(const char *name, int *seen)
{
    char *const text = read_text(name), *const plain = read_plain(name);
    for (size_t at = find_hack(text, 0); text[at]; at = find_hack(text, at + 1)) {
        assert_true(hacks < HACKS);
        hack *const h = &catalogue[hacks];
        read_hack(text + at, plain, h);
        if (only ? strstr(h->name, only) != NULL : *seen % SHARE == 0) hacks++;
        else free_hack(h);
        ++*seen;
    }
    free(text);
    free(plain);
}

static void told(void *self, const gs_author_turn *turn)
{
    answers *const a = self;
    char got[64], why[512];
    assert_true(a->judged < a->count);
    const hack *const h = a->list[a->judged++];
    if (!turn->got || turn->again) fail_msg("%s: %s", h->name, turn->got ? "the same as one before" : turn->fault);
    name_verdict(turn->got, got, why);
    const bool right = is_right(h->right, got) && strstr(why, h->said);
    print_verdict(h, got, why, right);
    a->missed += !right;
}

/* Stores a time for the loop to start from, so that none is measured. It is so fast that no kernel's time counts as a jump, which would be measured again. */
static void put_figure(bench *b, const gs_problem *problem, const char *text)
{
    gs_trial trial = {.verdict = "pass", .us = 2};
    gs_schedule schedule;
    gs_error error;
    assert_int_equal(gs_schedule_shortlist(problem, &caps, 0, &schedule, 1), 1);
    snprintf(trial.problem, sizeof trial.problem, "%s", text);
    gs_schedule_format(&schedule, trial.candidate);
    assert_int_equal(gs_store_put(b->store, &b->session, &trial, &error), GS_OK);
}

/* The loop must reach its end and find the good kernel: the last answer, if there is one. */
static void ask_all(bench *b, const char *text, answers *a)
{
    static said script[HACKS + 1];
    const gs_problem problem = problem_of(text);
    const gs_environment_options rules = {.seed = first_seed, .dependent = problem.constant == GS_CONSTANT_B};   /* otherwise no kernel reads B early */
    gs_author_result result;
    gs_error error = {0};
    int good = 0;
    for (int i = 0; i < a->count; i++) {
        script[i] = says_kernel(gs_text_string(&a->list[i]->source), gs_text_string(&a->list[i]->manifest));
        good += strcmp(a->list[i]->right, "pass") == 0;
    }
    endpoint_start(&server, script, a->count);
    const gs_llm_options llm = {.model = "tiny", .wait_s = 0.01, .url = server.url};
    const gs_author_options how = {.llm = &llm, .environment = &rules, .from = GS_AUTHOR_NOTHING, .islands = 1, .turns = a->count, .told = told, .self = a};
    put_figure(b, &problem, text);
    const gs_status status = gs_author_run(b->store, &b->session, &worker, &caps, &problem, &how, &result, &error);
    endpoint_stop(&server);
    if (status != GS_OK) fail_msg("%s: %s: %s", text, error.field, error.text);
    print_message("%s: %d kernels in %.1f s\n", text, a->count, result.seconds);
    assert_int_equal(a->judged, a->count);
    assert_int_equal(server.requests, a->count);
    assert_int_equal(result.end, GS_AUTHOR_DONE);
    assert_int_equal(result.judged, a->count);
    assert_int_equal(result.unread, 0);
    if (a->missed == 0) assert_int_equal(result.passed, good);
    if (a->missed == 0 && good > 0) assert_string_equal(result.elite[0].source, gs_text_string(&a->list[a->count - 1]->source));
    gs_author_free(&result);
    forget_said();
}

/* A run for each problem; for the usual problem the last answer is a right kernel. */
static void test_hacks(void **state)
{
    bench *const b = *state;
    char *const plain = read_text("plain.cuh");
    static hack right = {.name = "planted", .right = "pass", .problem = PLAIN};
    int seen = 0, missed = 0;
    unset_models();
    b->session.device = caps.slug;
    read_catalogue("refused.cu", &seen);
    read_catalogue("hacks.cu", &seen);
    read_catalogue("values.cu", &seen);
    read_catalogue("order.cu", &seen);
    read_catalogue("blocks.cu", &seen);
    read_catalogue("module.cu", &seen);
    read_catalogue("more.cu", &seen);
    read_catalogue("more_beside.cu", &seen);
    read_catalogue("more_corners.cu", &seen);
    read_catalogue("more_paths.cu", &seen);
    read_catalogue("more_few.cu", &seen);
    read_catalogue("more_lines.cu", &seen);
    read_catalogue("more_shapes.cu", &seen);
    assert_true(seen >= LEAST);
    gs_text_addf(&right.source, "%s%s", plain, PLANTED);
    gs_text_add(&right.manifest, HEAD PLANTED_ENTRY);
    for (int i = 0; i < hacks; i++) {
        static answers a;
        bool before = false;
        a = (answers){.count = 0};
        for (int j = 0; j < i; j++) before |= strcmp(catalogue[j].problem, catalogue[i].problem) == 0;
        if (before) continue;
        for (int j = i; j < hacks; j++)
            if (strcmp(catalogue[j].problem, catalogue[i].problem) == 0) a.list[a.count++] = &catalogue[j];
        if (strcmp(catalogue[i].problem, right.problem) == 0) a.list[a.count++] = &right;
        ask_all(b, catalogue[i].problem, &a);
        missed += a.missed;
    }
    for (int i = 0; i < hacks; i++) free_hack(&catalogue[i]);
    free_hack(&right);
    free(plain);
    assert_int_equal(missed, 0);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "worker") == 0) return gs_worker_serve(argv[3]);
    gs_error error = {0};
    char text[512];
    if (!gs_compiler_version(&error)) {
        print_message("skipped: %s\n", error.text);
        return 77;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0) all = true;
        else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc) first_seed = strtoull(argv[++i], NULL, 10);
        else only = argv[i];
    }
    gs_worker_init(&worker, DEVICE, NULL);
    gs_status status = gs_worker_hello(&worker, &caps, NULL, NULL, &error);
    if (status == GS_OK) status = gs_device_open(&device, DEVICE, NULL, &error);
    if (status == GS_OK) status = gs_verifier_create(&verifier, device, &error);
    if (status != GS_OK) {
        print_error("%s\n", gs_error_format(&error, text, sizeof text));
        return 1;
    }
    device->inspector = &gs_inspect_user_kernels;
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_hacks, start, finish), cmocka_unit_test(test_honest), cmocka_unit_test(test_honest_modules),
                                       cmocka_unit_test(test_honest_more)};
    const int failed = cmocka_run_group_tests_name("the hack suite", tests, NULL, NULL);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    gs_worker_stop(&worker);
    return failed;
}
