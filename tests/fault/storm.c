/* SPDX-License-Identifier: MIT
 * Many bad candidates in the environment: a thousand with a scripted worker, and kernels of every kind on the emulated device. Afterwards nothing is left of them, none
 * took more than two seconds beyond its time limit, and a good candidate still passes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "worker/client.h"
#include "base/clock.h"
#include "device/device.h"
#include "evaluate/environment.h"
#include "tuning.h"

#ifdef __SANITIZE_ADDRESS__
#define STORM 200
#define GROWTH_KB 524288   /* the sanitizer keeps freed memory for a while; it finds leaks by itself */
#else
#define STORM 1000
#define GROWTH_KB 4096
#endif

#define SMALL     "f16:64x64x64:tn"
#define TIMEOUT_S 0.4
#define HANGS     50      /* one candidate in so many hangs */
#define WARM      100     /* candidates before memory is measured, which fill the store's caches */

/* ---- resources that could leak ---- */

static int entries_in(const char *folder)
{
    int count = 0;
    DIR *const d = opendir(folder);
    assert_non_null(d);
    while (readdir(d)) count++;
    closedir(d);
    return count;
}

static long resident_kb(void)
{
    long pages = 0, total;
    FILE *const file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &total, &pages), 2);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

typedef struct left {
    int  descriptors, files;
    long kb;
} left;

static left look(const bench *b) { return (left){entries_in("/proc/self/fd"), files_in(b->folder), resident_kb()}; }

/* Includes children whose parent has died: this process adopts them. */
static void no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* ---- candidates ---- */

static gs_error error;

static gs_evaluation evaluate(gs_environment *e, const char *problem_text, const gs_submission *submission)
{
    gs_evaluation got;
    const gs_problem problem = problem_of(problem_text);
    const gs_status status = gs_evaluate(e, &problem, submission, &got, &error);
    if (status != GS_OK) fail_msg("%s: %s", gs_status_name(status), error.text);
    return got;
}

/* A late reply of a busy machine must not count against a candidate that does not hang: try again. */
static gs_evaluation evaluate_prompt(gs_environment *e, const char *problem_text, const gs_submission *submission)
{
    gs_evaluation got = evaluate(e, problem_text, submission);
    for (int tries = 0; tries < 5 && strstr(got.reason, "did not answer"); tries++) got = evaluate(e, problem_text, submission);
    return got;
}

static void expect_bad(const gs_evaluation *got, const char *what, const char *verdict)
{
    if (strcmp(gs_verdict_word(got->verdict), verdict) != 0 || got->reward != -1) fail_msg("%s: %s (%s), reward %g", what, gs_verdict_word(got->verdict), got->reason, got->reward);
}

static void storm_of_candidates(gs_environment *e, int from, int to, double *slowest)
{
    /* cases: what the kernel does, the expected verdict; the last ones are texts that are no valid candidates */
    static const char *const kinds[][2] = {
        {"compile", "compile"}, {"choke", "compile"}, {"wrong", "exact"}, {"fault", "fault"}, {"crash", "fault"}, {"kill", "fault"}, {"garbage", "fault"},
        {"timed", "timed"}, {"fast", "floor"}, {"schedule", "launch"}, {"manifest", "launch"}, {"empty", "launch"}, {"misfit", "unsupported"},
    };
    for (int i = from; i < to; i++) {
        const bool hangs = i % HANGS == 0;
        const char *const kind = hangs ? i / HANGS % 2 ? "stuck" : "hang" : kinds[i % (int)GS_COUNT(kinds)][0];
        const char *const verdict = hangs ? i / HANGS % 2 ? "compile" : "hang" : kinds[i % (int)GS_COUNT(kinds)][1];
        char source[96], text[160];
        snprintf(source, sizeof source, "// fake: %s\n// fake: us=9\n// %d\n", kind, i);
        gs_submission s = {.source = source, .manifest = HEAD ENTRY};
        snprintf(text, sizeof text, strcmp(kind, "schedule") == 0 ? "ws/%dx9x\x01\xff{{{" : "manifest %d\n\xc3(", i);
        if (strcmp(kind, "schedule") == 0) s = (gs_submission){.schedule = text};
        if (strcmp(kind, "manifest") == 0) s.manifest = text;
        if (strcmp(kind, "empty") == 0) s = (gs_submission){.source = "", .manifest = ""};
        if (strcmp(kind, "misfit") == 0) s = (gs_submission){.schedule = "splitk/256x64x64/s2/ba/c1x1/k1/any"};
        const gs_evaluation got = hangs ? evaluate(e, SMALL, &s) : evaluate_prompt(e, SMALL, &s);
        expect_bad(&got, kind, verdict);
        const double recovery = got.spent.all - (hangs ? TIMEOUT_S : 0);
        *slowest = GS_MAX(*slowest, recovery);
    }
}

static void a_thousand_bad_candidates(void **state)
{
    bench *const b = *state;
    gs_environment *e;
    double slowest = 0;
    char good[64];
    const gs_problem problem = problem_of(SMALL);
    setenv("FAKE_WORKER", "library_us=10", 1);
    snprintf(good, sizeof good, "// fake: us=9.5");
    const gs_submission right = {.source = good, .manifest = HEAD ENTRY};
    const gs_environment_options options = {.seed = 3, .cache_path = "", .timeout_s = TIMEOUT_S, .compile_s = TIMEOUT_S};
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_true(gs_floor_us(&problem, gs_caps_find("h200")) < 9);
    assert_int_equal(gs_environment_create(&e, &b->worker, gs_caps_find("h200"), b->store, &b->session, &options, &error), GS_OK);
    assert_string_equal(gs_verdict_word(evaluate_prompt(e, SMALL, &right).verdict), "pass");
    storm_of_candidates(e, 0, WARM, &slowest);
    gs_worker_stop(&b->worker);
    no_children();
    const left before = look(b);
    const int64_t began = gs_clock_ns();
    for (int i = WARM; i < WARM + STORM; i += 100) {
        storm_of_candidates(e, i, i + 100, &slowest);
        assert_string_equal(gs_verdict_word(evaluate_prompt(e, SMALL, &right).verdict), "pass");
    }
    gs_worker_stop(&b->worker);
    no_children();
    const left after = look(b);
    print_message("%d bad candidates in %.1f s, %d workers; the slowest took %.2f s to get over; %ld KiB more\n", STORM,
                  1e-9 * (double)(gs_clock_ns() - began), b->worker.started, slowest, after.kb - before.kb);
    assert_int_equal(after.descriptors, before.descriptors);
    assert_int_equal(after.files, before.files);
    assert_true(after.kb - before.kb < GROWTH_KB);
    assert_true(slowest < 2);
    gs_environment_destroy(&e);
}

/* ---- the emulated device ---- */

#define PLAIN     "f16:40x56x72:tn"
#define GS_KERNEL "KERNEL gs_kernel(const gs_kernel_args p)"
#define ZEROS     GS_KERNEL " { EACH_ELEMENT; put(p, batch, row, col, 0); }"

/* cases: name, verdict, manifest after its head, kernel after plain.cuh */
static const char *const kernels[][4] = {
    {"no C",                  "compile",   ENTRY, "int x = ;"},
    {"a file",                "forbidden", ENTRY, "#include \"/etc/passwd\""},
    {"another name",          "launch",    "entry gs_other\ngrid 1 1 1\nblock 16 16 1\n", ZEROS},
    {"a negative grid",       "launch",    "entry gs_kernel\ngrid n-1000 1 1\nblock 16 16 1\n", ZEROS},
    {"a terabyte",            "memory",    "workspace 1000000000000\n" ENTRY, ZEROS},
    {"a grid of 2^31",        "launch",    "entry gs_kernel\ngrid 2147483648 1 1\nblock 16 16 1\n", ZEROS},
    {"more than 2^32 blocks", "launch",    "entry gs_kernel\ngrid 2147483647 65535 65535\nblock 16 16 1\n", ZEROS},
    {"a size beyond numbers", "launch",    "workspace m*n*k*9223372036854775807\n" ENTRY, ZEROS},
    {"zeros",                 "exact",     ENTRY, ZEROS},
    {"nothing",               "unwritten", ENTRY, GS_KERNEL " { }"},
    {"a counter",             "forbidden", ENTRY, "__device__ int count;\n" GS_KERNEL " { EACH_ELEMENT; put(p, batch, row, col, count++); }"},
    {"a clock",               "forbidden", ENTRY, GS_KERNEL " { EACH_ELEMENT; put(p, batch, row, col, clock64() & 1); }"},
    {"printf",                "forbidden", ENTRY, "extern \"C\" __device__ int printf(const char *, ...);\n" GS_KERNEL " { printf(\"fast\"); }"},
    {"an address of its own", "fault",     ENTRY, GS_KERNEL " { *(volatile int *)8 = 1; }"},
    {"half a barrier",        "fault",     ENTRY, GS_KERNEL " { if (threadIdx.y < 2) __syncthreads(); else asm volatile(\"bar.sync 1, 256;\"); }"},
};

/* Without the sandbox a compile bomb would cost the worker, its device and everything prepared there. */
static void a_compile_bomb(gs_worker *worker, const gs_caps *caps)
{
    static const char bomb[] = "template <int N, int M> struct t { enum { v = t<N - 1, M * 2>::v + t<N - 1, M * 2 + 1>::v }; };\n"
                               "template <int M> struct t<0, M> { enum { v = 1 }; };\n__device__ int y = t<40, 0>::v;\n";
    gs_environment *e;
    const gs_environment_options options = {.seed = 3, .compile_s = 4};
    const gs_submission s = {.source = bomb, .manifest = HEAD ENTRY};
    const int started = worker->started;
    assert_int_equal(gs_environment_create(&e, worker, caps, NULL, NULL, &options, &error), GS_OK);
    const gs_evaluation got = evaluate(e, PLAIN, &s);
    expect_bad(&got, "a compile bomb", "compile");
    assert_non_null(strstr(got.reason, "too long"));
    assert_string_equal(gs_step_name(got.step), "compile");
    assert_int_equal(worker->started, started);
    gs_environment_destroy(&e);
}

typedef struct killer {
    gs_worker *worker;
    int64_t    after_ns;
} killer;

static void *kill_soon(void *self)
{
    const killer *const k = self;
    gs_clock_sleep_ns(k->after_ns);
    kill(k->worker->pid, SIGKILL);
    return NULL;
}

static void kernels_of_every_kind(void **state)
{
    bench *const b = *state;
    gs_environment *e;
    gs_caps caps;
    char path[512], *plain;
    size_t size;
    gs_worker worker;
    if (!gs_compiler_version(&error)) {
        print_message("skipped: %s\n", error.text);
        skip();
    }
    snprintf(path, sizeof path, "%s/tests/hacks/plain.cuh", GS_SOURCE_DIR);
    assert_int_equal(gs_file_read(path, 1u << 20, &plain, &size, &error), GS_OK);
    setenv("XDG_CACHE_HOME", b->folder, 1);   /* the hello request, which opens the device, has no cache path */
    gs_worker_init(&worker, "emu:h200,seed=3", NULL);   /* starts this program with the argument `worker`, see main */
    const gs_environment_options options = {.seed = 3};
    assert_int_equal(gs_worker_hello(&worker, &caps, NULL, NULL, &error), GS_OK);
    assert_int_equal(gs_environment_create(&e, &worker, &caps, NULL, NULL, &options, &error), GS_OK);
    gs_text good = {0};
    gs_text_addf(&good, "%s\n" GS_KERNEL " { EACH_ELEMENT; put(p, batch, row, col, dot(p, batch, row, col)); }", plain);
    const gs_submission right = {.source = gs_text_string(&good), .manifest = HEAD ENTRY};

    const int descriptors = entries_in("/proc/self/fd");
    for (size_t i = 0; i < GS_COUNT(kernels); i++) {
        gs_text source = {0}, manifest = {0};
        gs_text_addf(&source, "%s\n%s\n", plain, kernels[i][3]);
        gs_text_addf(&manifest, HEAD "%s", kernels[i][2]);
        const gs_submission s = {.source = gs_text_string(&source), .manifest = gs_text_string(&manifest)};
        const gs_evaluation got = evaluate(e, PLAIN, &s);
        print_message("%-22s %-10s %5.2f s  %.100s\n", kernels[i][0], gs_verdict_word(got.verdict), got.spent.all, got.reason);
        expect_bad(&got, kernels[i][0], kernels[i][1]);
        assert_true(got.predicted && got.us == 0);
        gs_text_free(&source);
        gs_text_free(&manifest);
    }
    a_compile_bomb(&worker, &caps);
    assert_int_equal(entries_in("/proc/self/fd"), descriptors);

    /* The worker is killed while it works: the candidate is blamed, as for anything that ends a worker. */
    killer k = {&worker, 300000000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, kill_soon, &k), 0);
    const gs_evaluation shot = evaluate(e, PLAIN, &right);
    pthread_join(thread, NULL);
    assert_int_equal(shot.signal, SIGKILL);   /* also as a number, which the service uses */
    expect_bad(&shot, "killed", shot.step == GS_STEP_COMPILE ? "compile" : "fault");   /* on a busy machine it may still be compiling */
    assert_non_null(strstr(shot.reason, "signal 9"));

    const gs_evaluation got = evaluate(e, PLAIN, &right);
    assert_string_equal(gs_verdict_word(got.verdict), "pass");
    assert_true(got.predicted && got.us > got.floor_us && got.registers > 0);
    assert_float_equal(got.reward, gs_reward_predicted(got.us, got.floor_us), 1e-12);
    assert_true(got.l2_hit == -1 && got.library_us == 0 && !got.jumped);
    gs_environment_destroy(&e);
    gs_worker_stop(&worker);
    no_children();
    gs_text_free(&good);
    free(plain);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "worker") == 0) return gs_worker_serve(argv[3]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thousand_bad_candidates, start, finish),
        cmocka_unit_test_setup_teardown(kernels_of_every_kind, start, finish),
    };
    return cmocka_run_group_tests_name("a storm of bad candidates", tests, NULL, NULL);
}
