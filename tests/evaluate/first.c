/* SPDX-License-Identifier: MIT
 * Candidates run on an emulated device before the GPU: a real emulated device, and a scripted worker in place of the GPU, which obeys the source of each kernel. A
 * kernel that the checker finds fault with never reaches the GPU; one that is only wrong, or cannot be emulated, does. Also the small problem that is made from a large
 * one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/log.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "evaluate/emulate.h"
#include "evaluate/environment.h"
#include "tuning.h"

#define KERNEL   "KERNEL gs_kernel(const gs_kernel_args p) "
/* TILES: a block computes several tiles of 16 x 16 if there are fewer blocks than tiles; `w` runs between two tiles, with or without a barrier. */
#define CROWDED  "entry gs_kernel\ngrid min(sms,cdiv(m,16)*cdiv(n,16)) 1 1/(k/1024)\n" BLOCK   /* its edge problems have more tiles than sms */
#define TILES(w) KERNEL "{\n    __shared__ float sum[16][16];\n"                                                                             \
                 "    const int wide = (p.n + 15) / 16, count = wide * ((p.m + 15) / 16), last = gridDim.x;\n"                                \
                 "    for (int tile = blockIdx.x; tile < count; tile += last) {\n"                                                            \
                 "        const long long row = tile / wide * 16 + threadIdx.y, col = tile % wide * 16 + threadIdx.x;\n"                      \
                 "        sum[threadIdx.x][threadIdx.y] = row < p.m && col < p.n ? dot(p, 0, row, col) : 0;\n        __syncthreads();\n"       \
                 "        const long long down = tile / wide * 16 + threadIdx.x, right = tile % wide * 16 + threadIdx.y;\n"                   \
                 "        if (down < p.m && right < p.n) put(p, 0, down, right, sum[threadIdx.y][threadIdx.x]);\n        " w "\n    }\n}\n"
#define RIGHT    KERNEL "{ EACH_ELEMENT; put(p, batch, row, col, dot(p, batch, row, col)); }\n"
#define LARGE    "f16:1024x1024x1024:tn"

static gs_error       error;
static gs_environment *environment;
static gs_worker      emulator;
static char          *plain;

/* Log lines about a candidate. */
static int lines_said;

static void count_line(void *self, int level, const char *text)
{
    (void)self, (void)level;
    lines_said += strncmp(text, "source:", 7) == 0 && strstr(text, ": not checked at ") != NULL;
}

/* The GPU's scripted worker obeys "fake:" lines; by default it finds nothing wrong and reports 9 us. */
static gs_evaluation evaluate(bench *b, const char *manifest, const char *kernel)
{
    gs_text source = {0};
    gs_evaluation got;
    const gs_problem problem = problem_of(LARGE);
    gs_text_addf(&source, "// fake: us=9\n%s\n%s", plain, kernel);
    const gs_submission submission = {.source = gs_text_string(&source), .manifest = manifest};
    remove(b->log_path);
    lines_said = 0;
    gs_log_set_sink(&lines_said, count_line, NULL, GS_LOG_INFO);
    const gs_status status = gs_evaluate(environment, &problem, &submission, &got, &error);
    gs_log_drop_sink(&lines_said);
    if (status != GS_OK) fail_msg("%s: %s", gs_status_name(status), error.text);
    assert_int_equal(lines_said, got.note[0] != '\0');
    print_message("%-9s %-9s %5.2f s  %.90s%s%.90s\n", gs_verdict_word(got.verdict), gs_step_name(got.step), got.spent.all, got.reason, got.note[0] ? " NOTE " : "", got.note);
    gs_text_free(&source);
    return got;
}

/* Whether the GPU's worker got a request about a user kernel. */
static bool reached_gpu(const bench *b)
{
    char *text;
    size_t size;
    if (gs_file_read(b->log_path, 1 << 24, &text, &size, NULL) != GS_OK) return false;
    const bool reached = strstr(text, "source:") != NULL;
    free(text);
    return reached;
}

static int begin(void **state)
{
    char script[512], path[512];
    size_t size;
    if (start(state) != 0) return -1;
    bench *const b = *state;
    snprintf(path, sizeof path, "%s/tests/hacks/plain.cuh", GS_SOURCE_DIR);
    if (gs_file_read(path, 1u << 20, &plain, &size, &error) != GS_OK) return -1;
    snprintf(script, sizeof script, "library_us=10;log=%s", b->log_path);
    setenv("FAKE_WORKER", script, 1);
    gs_worker_init(&emulator, "emu:h200,seed=3", NULL);   /* starts this program with the argument `worker`, see main */
    const gs_environment_options options = {.seed = 3, .emulator = &emulator, .emulator_s = 60};
    return gs_environment_create(&environment, &b->worker, gs_caps_find("h200"), b->store, &b->session, &options, &error) == GS_OK ? 0 : -1;
}

static int end(void **state)
{
    gs_environment_destroy(&environment);
    gs_worker_stop(&emulator);
    free(plain);
    return finish(state);
}

/* ---- kernels and their verdicts ---- */

typedef struct expected {
    const char *what, *verdict, *stage, *word;   /* word: in the reason, or in the note if it passes */
    const char *manifest, *kernel;
    bool        gpu;                              /* it reaches the GPU */
} expected;

static const expected kernels[] = {
    {"right", "pass", "time", "", HEAD ENTRY, RIGHT, true},
    {"wrong, which the GPU must say", "pass", "time", "", HEAD ENTRY, KERNEL "{ EACH_ELEMENT; put(p, batch, row, col, 0); }\n", true},
    {"no C", "compile", "compile", "candidate.cu(", HEAD ENTRY, "int x = ;\n", false},
    {"forbidden", "forbidden", "compile", "clock", HEAD ENTRY, KERNEL "{ EACH_ELEMENT; put(p, batch, row, col, (float)clock64()); }\n", false},
    {"far outside", "fault", "emulator", "out-of-bounds", HEAD ENTRY, KERNEL "{ EACH_ELEMENT; ((volatile char *)p.d)[1ll << 40] = 1; put(p, batch, row, col, 0); }\n", false},
    {"a row too many", "fault", "emulator", "outside of what the kernel may write", HEAD ENTRY,
     KERNEL "{ EACH_ELEMENT; put(p, batch, row, col, dot(p, batch, row, col)); if (row == p.m - 1) put(p, batch, p.m, col, 1); }\n", false},
    {"changes A", "fault", "emulator", "only read", HEAD ENTRY, KERNEL "{ EACH_ELEMENT; put(p, batch, row, col, dot(p, batch, row, col)); *(unsigned short *)p.a = 1; }\n", false},
    {"a race", "fault", "emulator", "race", HEAD ENTRY,
     KERNEL "{ __shared__ float s; EACH_ELEMENT; s = dot(p, batch, row, col); __syncthreads(); put(p, batch, row, col, s); }\n", false},
    {"a deadlock", "fault", "emulator", "deadlock", HEAD ENTRY,
     KERNEL "{ if (threadIdx.y < 2) __syncthreads(); else asm volatile(\"bar.sync 1, 256;\"); }\n", false},
    {"several tiles a block", "pass", "time", "", HEAD CROWDED, TILES("__syncthreads();"), true},
    {"a race between two tiles of a block", "fault", "emulator", ", sms = 1: ", HEAD CROWDED, TILES(""), false},
    {"its size alone", "pass", "time", "not checked", HEAD "entry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) 1/(m/1024)\n" BLOCK, RIGHT, true},
    {"a workspace for this machine", "pass", "time", "1 GiB", HEAD "workspace 3000000000\n" ENTRY, RIGHT, true},
};

static void what_comes_of_them(void **state)
{
    bench *const b = *state;
    if (!gs_compiler_version(&error)) {
        print_message("skipped: %s\n", error.text);
        skip();
    }
    for (size_t i = 0; i < GS_COUNT(kernels); i++) {
        const expected *const k = &kernels[i];
        const gs_evaluation got = evaluate(b, k->manifest, k->kernel);
        const char *const said = got.verdict == GS_VERDICT_PASS ? got.note : got.reason;
        if (strcmp(gs_verdict_word(got.verdict), k->verdict) != 0 || strcmp(gs_step_name(got.step), k->stage) != 0 || !strstr(said, k->word) || reached_gpu(b) != k->gpu)
            fail_msg("%s: %s at %s (%s), expected %s at %s; reached the GPU: %d", k->what, gs_verdict_word(got.verdict), gs_step_name(got.step), said, k->verdict, k->stage, reached_gpu(b));
        assert_true((got.verdict == GS_VERDICT_PASS) == (got.us > 0));
        assert_true(!*k->word || got.verdict != GS_VERDICT_PASS || got.note[0]);
        assert_true(got.spent.emulator > 0 && got.spent.emulator <= got.spent.all);
    }
}

/* Persistent kernels of a family, in the form in which a model sees them. */
static void persistent_ones_pass(void **state)
{
    (void)state;
    static const char *const schedules[] = {
        "ws/64x128x64/s3/c1x1/pp/g1",
#ifndef __SANITIZE_ADDRESS__   /* takes half a minute with the sanitizer */
        "ws/64x64x64/s2/c2x1/coop/g1",
#endif
    };
    const gs_problem problem = problem_of(LARGE);
    if (!gs_compiler_version(&error)) skip();
    gs_kernel *const kernel = malloc(sizeof *kernel);
    assert_non_null(kernel);
    for (size_t i = 0; i < GS_COUNT(schedules); i++) {
        gs_schedule schedule;
        gs_text source = {0}, manifest = {0};
        gs_evaluation got;
        assert_int_equal(gs_schedule_parse(&schedule, schedules[i], &error), GS_OK);
        if (gs_kernel_build(kernel, &schedule, &problem, gs_caps_find("h200"), &error) != GS_OK) fail_msg("%s", error.text);
        gs_text_add(&source, "// fake: us=9\n");
        for (int o = 0; o < kernel->option_count; o++) {
            const char *const value = strchr(kernel->option[o], '=');
            gs_text_addf(&source, "#define %.*s %s\n", (int)(value - kernel->option[o] - 2), kernel->option[o] + 2, value + 1);
        }
        gs_kernel_add_text(&source, kernel);
        gs_manifest_format(&kernel->manifest, &manifest);
        assert_true(gs_crowd(&kernel->manifest, &problem, 132) > 0);   /* it is launched a second time, with few blocks */
        const gs_submission submission = {.source = gs_text_string(&source), .manifest = gs_text_string(&manifest)};
        const gs_status status = gs_evaluate(environment, &problem, &submission, &got, &error);
        if (status != GS_OK) fail_msg("%s: %s", gs_status_name(status), error.text);
        print_message("%-9s %-9s %5.2f s  %s\n", gs_verdict_word(got.verdict), gs_step_name(got.step), got.spent.all, schedules[i]);
        if (got.verdict != GS_VERDICT_PASS || got.note[0]) fail_msg("%s: %s (%s) %s", schedules[i], gs_verdict_word(got.verdict), got.reason, got.note);
        gs_text_free(&source);
        gs_text_free(&manifest);
    }
    free(kernel);
}

static bool count_stage(void *self, const gs_trial *trial)
{
    int *const count = self;
    *count += strcmp(trial->stage, "emulator") == 0 && strncmp(trial->candidate, "source:", 7) == 0 && strstr(trial->reason, "emulated f16:32x32x1024:tn") != NULL;
    return true;
}

static void the_store_keeps_where(void **state)
{
    bench *const b = *state;
    int count = 0;
    if (!gs_compiler_version(&error)) skip();
    evaluate(b, HEAD ENTRY, kernels[4].kernel);
    assert_int_equal(gs_store_trials(b->store, b->session.device, LARGE, count_stage, &count, &error), GS_OK);
    assert_int_equal(count, 1);
}

/* An endless kernel costs only the emulator's time limit, and is no failure found by the emulator. */
static void time_is_bounded(void **state)
{
    bench *const b = *state;
    if (!gs_compiler_version(&error)) skip();
    gs_environment_destroy(&environment);
    gs_environment_options options = {.seed = 3, .emulator = &emulator, .emulator_s = 1};
    assert_int_equal(gs_environment_create(&environment, &b->worker, gs_caps_find("h200"), NULL, NULL, &options, &error), GS_OK);
    const gs_evaluation got = evaluate(b, HEAD ENTRY, KERNEL "{ volatile int *x = (volatile int *)p.d; for (;;) *x = *x + 1; }\n");
    assert_string_equal(gs_verdict_word(got.verdict), "pass");   /* as the scripted worker says */
    assert_non_null(strstr(got.note, "too long"));
    assert_true(got.spent.emulator < 15 && reached_gpu(b));
    options.emulator_s = 60;
    gs_environment_destroy(&environment);
    assert_int_equal(gs_environment_create(&environment, &b->worker, gs_caps_find("h200"), NULL, NULL, &options, &error), GS_OK);
    assert_string_equal(gs_step_name(evaluate(b, HEAD ENTRY, kernels[4].kernel).step), "emulator");   /* the next kernel is checked by a new emulator process */
}

/* Our own schedules are not emulated first; a worker that is no emulated device has no say; an emulator that cannot be started is a failure of the machine. */
static void who_is_asked(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_evaluation got;
    const gs_problem problem = problem_of(PROBLEM);
    right_answers(PROBLEM, best);
    assert_int_equal(gs_evaluate(environment, &problem, &(gs_submission){.schedule = best[0].text}, &got, &error), GS_OK);
    assert_int_equal(emulator.started, 0);
    assert_string_equal(gs_step_name(got.step), "time");

    const gs_submission right = {.source = "// fake: us=9\n", .manifest = HEAD ENTRY};
    gs_environment_options options = {.seed = 3, .emulator = &b->worker};
    gs_environment_destroy(&environment);
    assert_int_equal(gs_environment_create(&environment, &b->worker, gs_caps_find("h200"), NULL, NULL, &options, &error), GS_OK);
    assert_int_equal(gs_evaluate(environment, &problem, &right, &got, &error), GS_OK);
    assert_string_equal(gs_verdict_word(got.verdict), "pass");

    gs_worker none;
    gs_worker_init(&none, "emu:h200", "/nonexistent/gemmsmith");
    options.emulator = &none;
    gs_environment_destroy(&environment);
    assert_int_equal(gs_environment_create(&environment, &b->worker, gs_caps_find("h200"), NULL, NULL, &options, &error), GS_OK);
    assert_int_equal(gs_evaluate(environment, &problem, &right, &got, &error), GS_ERROR_WORKER_DIED);
}

static void devices_that_stand_for_others(void **state)
{
    (void)state;
    char name[GS_WORKER_DEVICE];
    gs_caps caps = *gs_caps_find("h200");
    assert_string_equal(gs_emulation_device(&caps, name), "emu:h200");
    caps = *gs_caps_find("a100");
    assert_string_equal(gs_emulation_device(&caps, name), "emu:a100");
    snprintf(caps.target, sizeof caps.target, "sm_100a");
    assert_null(gs_emulation_device(&caps, name));
}

/* ---- the small problem ---- */

static void the_small_problem(void **state)
{
    (void)state;
    /* cases: problem, entry of the manifest, the small problem */
    static const char *const cases[][3] = {
        {"f16:4096x4096x4096:tn", "grid cdiv(n,128) cdiv(m,256) 1\n" BLOCK, "f16:512x256x640:tn"},
        {"f16:4100x4104x10000:tn", "grid cdiv(n,128) cdiv(m,256) 1\n" BLOCK, "f16:260x136x528:tn"},
        {"f16:4096x4096x4096:tn", "grid cdiv(n,128)*cdiv(m,256) 1 1\n" BLOCK, "f16:512x256x640:tn"},
        {"f16:4096x4096x4096:tn", "grid min(sms,cdiv(n,128)*cdiv(m,256)) 1 1\n" BLOCK, "f16:512x256x640:tn"},
        {"f16:4096x4096x4096:tn", "grid cdiv(n,128) cdiv(m,128) 1\n" BLOCK "cluster 2 1 1\n", "f16:512x512x640:tn"},
        {"f16:4096x4096x4096:tn", "grid cdiv(n,192) cdiv(m,64) cdiv(k,1024)\n" BLOCK, "f16:128x256x2048:tn"},
        {"f16:4096x4096x16384:tn", "grid cdiv(n,192) cdiv(m,64) cdiv(k,4096)\n" BLOCK, "f16:128x256x8192:tn"},   /* the longest part of K that is found */
        {"f16:4096x4096x4096:tn", "grid cdiv(n,1024) cdiv(m,128) 1\n" BLOCK, "f16:256x2048x640:tn"},
        {"f16:4096x4096x4096:tn", "grid cdiv(n,1040) cdiv(m,128) 1\n" BLOCK, "f16:256x512x640:tn"},
        {"f16:1000x4096x4096:tn", "grid cdiv(n,128) cdiv(m,512) 1\n" BLOCK, "f16:1000x256x640:tn"},   /* the grid changes only once along M, at the end of the first tile */
        {"f16:4096x4096x4096:tn", "grid n m 1\n" BLOCK, "f16:32x32x4096:tn"},
        {"f16:4096x4096x4096:tn", "grid 132 1 1\n" BLOCK "map a 32x128 sw64\nmap b 32x256 sw64\n", "f16:512x512x320:tn"},
        {"bf16:40x56x72:nn", "grid cdiv(n,16) cdiv(m,16) batch\n" BLOCK, "bf16:40x56x72:nn"},
        {"f16:64x64x16384:tn", "grid cdiv(n,64)*cdiv(m,64) 32 1\n" BLOCK, "f16:64x64x16384:tn"},
        {"f16:64x64x64:tn", "grid cdiv(n,128) cdiv(m,128) 1\n" BLOCK, "f16:64x64x64:tn"},
        {"f16:4096x4096x4096:tn", "grid 1/(m-4095) 1 1\n" BLOCK, "f16:512x512x640:tn"},
        {"f16:4092x4096x4096:tn:gm=12", "grid cdiv(n,128) cdiv(m,256) 1\n" BLOCK, "f16:516x256x640:tn:gm=12"},   /* all groups have the same number of rows */
        {"f16:4096x4096x4096:tn:lda=4104:b=5:alpha=2:beta=1", "grid cdiv(n,64) cdiv(m,64) batch\n" BLOCK, "f16:128x128x640:tn:lda=648:b=2:alpha=2:beta=1"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[GS_PROBLEM_TEXT], manifest_text[512], wanted[GS_PROBLEM_TEXT];
        gs_manifest manifest;
        const gs_problem asked = problem_of(cases[i][0]), want = problem_of(cases[i][2]);
        snprintf(manifest_text, sizeof manifest_text, "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=16 b=16 c=2 d=2\nentry gs_kernel\n%s", cases[i][1]);
        if (gs_manifest_parse(&manifest, manifest_text, &error) != GS_OK) fail_msg("%s: %s", error.field, error.text);
        const gs_problem small = gs_small_problem(&asked, &manifest, 132);
        assert_int_equal(gs_problem_check(&small, &error), GS_OK);
        if (strcmp(gs_problem_format(&small, text), gs_problem_format(&want, wanted)) != 0) fail_msg("%s: %s of %s, expected %s", cases[i][1], text, cases[i][0], wanted);
        assert_true(small.m <= asked.m && small.n <= asked.n && small.k <= asked.k);
    }
}

static void the_crowded_grid(void **state)
{
    (void)state;
    /* cases: manifest after its head, the same for few multiprocessors; "": no such manifest */
    static const char *const cases[][2] = {
        {"entry e\ngrid min(sms,cdiv(m,64)*cdiv(n,64)) 1 1\n" BLOCK, "entry e\ngrid min(1,cdiv(m,64)*cdiv(n,64)) 1 1\n" BLOCK},
        {"workspace sms*4\nentry e\ngrid min(sms/2,cdiv(m,64))*2 1 1\n" BLOCK "cluster 2 1 1\nsmem sms\n",
         "workspace 2*4\nentry e\ngrid min(2/2,cdiv(m,64))*2 1 1\n" BLOCK "cluster 2 1 1\nsmem 2\n"},
        {"entry e\ngrid sms 1 1\n" BLOCK "entry f\ngrid m 1 1\n" BLOCK, "entry e\ngrid 1 1 1\n" BLOCK "entry f\ngrid m 1 1\n" BLOCK},
        {"workspace sms*4\nentry sms\ngrid cdiv(m,64) cdiv(n,64) 1\n" BLOCK, ""},
        {"entry e\ngrid min(sms,1) 1 1\n" BLOCK, ""},
        {"entry e\ngrid 264/(sms-1) 1 1\n" BLOCK, ""},
    };
    const gs_problem problem = problem_of("f16:128x128x64:tn");
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_manifest manifest, want;
        gs_text text = {0}, wanted = {0};
        gs_text_addf(&text, HEAD "%s", cases[i][0]);
        assert_int_equal(gs_manifest_parse(&manifest, gs_text_string(&text), &error), GS_OK);
        const int sms = gs_crowd(&manifest, &problem, 132);
        assert_int_equal(sms, *cases[i][1] ? manifest.entry[0].cluster[0] : 0);
        gs_text_addf(&wanted, HEAD "%s", cases[i][1]);
        if (sms > 0) {
            assert_int_equal(gs_manifest_parse(&want, gs_text_string(&wanted), &error), GS_OK);
            gs_text_clear(&text);
            gs_text_clear(&wanted);
            gs_manifest_format(&manifest, &text);
            gs_manifest_format(&want, &wanted);
            assert_string_equal(gs_text_string(&text), gs_text_string(&wanted));
        }
        gs_text_free(&text);
        gs_text_free(&wanted);
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "worker") == 0) return gs_worker_serve(argv[3]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_small_problem), cmocka_unit_test(the_crowded_grid), cmocka_unit_test(devices_that_stand_for_others), cmocka_unit_test_setup_teardown(what_comes_of_them, begin, end),
        cmocka_unit_test_setup_teardown(persistent_ones_pass, begin, end), cmocka_unit_test_setup_teardown(the_store_keeps_where, begin, end),
        cmocka_unit_test_setup_teardown(time_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(who_is_asked, begin, end),
    };
    return cmocka_run_group_tests_name("the emulated device first", tests, NULL, NULL);
}
