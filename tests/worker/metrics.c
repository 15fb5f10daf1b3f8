/* SPDX-License-Identifier: MIT
 * Proves that metrics have the same names from every source, that what a kernel's text and an emulated launch say is right, and that a profiler which is not there, fails or
 * hangs costs nothing but itself. This program is also the worker that it asks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "texts.h"
#include "metric_value.h"
#include "leaks.h"

static gs_text  out;
static gs_error error;

static int end(void **state)
{
    (void)state;
    gs_text_free(&out);
    unsetenv("GEMMSMITH_NCU");
    return 0;
}

static double value(const char *name) { return metric_value(gs_text_string(&out), name); }

static void is(const char *name, double want)
{
    const double got = value(name);
    if (!(fabs(got - want) <= 1e-4 * fabs(want))) fail_msg("%s is %g, not %g, in\n%s", name, got, want, gs_text_string(&out));
}

static char *read_text(const char *path)
{
    static char *text;
    size_t size;
    if (gs_file_read(path, 1 << 20, &text, &size, &error) != GS_OK) fail_msg("%s", error.text);
    return text;
}

/* ---- the profiler ---- */

static void a_page_of_the_profiler(void **state)
{
    (void)state;
    char *const csv = read_text(GS_SOURCE_DIR "/tests/worker/ncu.csv");
    assert_int_equal(gs_metrics_read_ncu(csv, &out, &error), GS_OK);
    is("registers", 168);
    is("threads", 384);
    is("launch_us", 7.456);
    is("tensor_busy", 14.8);
    is("sm_busy", 14.8);
    is("l1_busy", 49.16);
    is("l2_busy", 55.02);
    double stalls = 0;
    for (const gs_metric *m = gs_metrics; m->name; m++)
        if (strncmp(m->name, "stall_", 6) == 0) stalls += value(m->name);
    assert_true(stalls > 80 && stalls < 100);   /* the rest: chosen */
    is("stall_memory", 100 * 3.78 / 10.17);
    assert_true(isnan(value("device_load")));
    free(csv);
}

static void pages_that_are_none(void **state)
{
    (void)state;
    static const char *const none[] = {
        "", "==ERROR== no permission\n", "\"ID\",\"Kernel Name\"\n\"\",\"\"\n", "\"ID\",\"Name\"\n\"\",\"\"\n\"0\",\"k\"\n", "\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"0\"\n", "\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"0\",\"k\n",
    };
    for (size_t i = 0; i < GS_COUNT(none); i++) {
        assert_int_equal(gs_metrics_read_ncu(none[i], &out, &error), GS_ERROR_PARSE);
        assert_int_equal(out.size, 0);
    }
    assert_int_equal(gs_metrics_read_ncu("\"Kernel Name\",\"dram__bytes_read.sum\",\"lts__t_sectors_op_read.sum\",\"gpu__time_duration.sum\",\"launch__registers_per_thread\"\n"
                                         "\"\",\"Mbyte\",\"sector\",\"weeks\",\"\"\n\"a \"\"b\"\"\",\"1,234.5\",\"2\",\"3\",\"no data\"\r\n", &out, &error), GS_OK);
    assert_string_equal(gs_text_string(&out), "device_load 1.2345e+09\nl2_load 64\n");
}

/* A page of one kernel, with one column beside its name. */
static const char *page_of(const char *metric, const char *unit, const char *number)
{
    static char page[512];
    snprintf(page, sizeof page, "\"Kernel Name\",\"%s\"\n\"\",\"%s\"\n\"k\",\"%s\"\n", metric, unit, number);
    gs_text_clear(&out);
    if (gs_metrics_read_ncu(page, &out, &error) != GS_OK) fail_msg("%s: %s", page, error.text);
    return gs_text_string(&out);
}

/* Bytes and microseconds, whatever the profiler counts in; what has another unit, or is no number, is not there. */
static void numbers_and_units(void **state)
{
    (void)state;
    static const struct { const char *metric, *unit, *number, *line; } cases[] = {
        {"dram__bytes_read.sum",              "byte",    "12",      "device_load 12\n"},
        {"dram__bytes_read.sum",              "Kbyte",   "12",      "device_load 12000\n"},
        {"dram__bytes_write.sum",             "Mbyte",   "1.5",     "device_store 1.5e+06\n"},
        {"dram__bytes_write.sum",             "Gbyte",   "1.5",     "device_store 1.5e+09\n"},
        {"dram__bytes_write.sum",             "",        "1.5",     ""},
        {"dram__bytes_write.sum",             "us",      "1.5",     ""},
        {"lts__t_sectors_op_write.sum",       "",        "3",       "l2_store 96\n"},
        {"lts__t_sectors_op_write.sum",       "sector",  "3",       "l2_store 96\n"},
        {"lts__t_sectors_op_write.sum",       "Ksector", "3",       "l2_store 96000\n"},
        {"lts__t_sectors_op_write.sum",       "byte",    "3",       ""},
        {"gpu__time_duration.sum",            "ns",      "1,500",   "launch_us 1.5\n"},
        {"gpu__time_duration.sum",            "nsecond", "1,500",   "launch_us 1.5\n"},
        {"gpu__time_duration.sum",            "us",      "1.5",     "launch_us 1.5\n"},
        {"gpu__time_duration.sum",            "usecond", "1.5",     "launch_us 1.5\n"},
        {"gpu__time_duration.sum",            "ms",      "1.5",     "launch_us 1500\n"},
        {"gpu__time_duration.sum",            "msecond", "1.5",     "launch_us 1500\n"},
        {"gpu__time_duration.sum",            "s",       "1.5",     "launch_us 1.5e+06\n"},
        {"gpu__time_duration.sum",            "second",  "1.5",     "launch_us 1.5e+06\n"},
        {"gpu__time_duration.sum",            "byte",    "1.5",     ""},
        {"launch__registers_per_thread",      "register/thread", "1e2", "registers 100\n"},
        {"launch__registers_per_thread",      "",        "0",       "registers 0\n"},
        {"launch__registers_per_thread",      "",        "-1",      ""},
        {"launch__registers_per_thread",      "",        "",        ""},
        {"launch__registers_per_thread",      "",        ",",       ""},
        {"launch__registers_per_thread",      "",        "1 2",     ""},
        {"launch__registers_per_thread",      "",        "1-2",     ""},
        {"launch__registers_per_thread",      "",        "nan",     ""},
        {"launch__registers_per_thread",      "",        "1e999",   ""},
        {"launch__registers_per_thread",      "",        "000000000000000000000000000000000000007",  "registers 7\n"},   /* 39 characters */
        {"launch__registers_per_thread",      "",        "0000000000000000000000000000000000000007", ""},
        {"launch__registers_per_threads",     "",        "7",       ""},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const char *const got = page_of(cases[i].metric, cases[i].unit, cases[i].number);
        if (strcmp(got, cases[i].line) != 0) fail_msg("%s %s %s: '%s'", cases[i].metric, cases[i].unit, cases[i].number, got);
    }
}

/* Which columns are waits, and that each counts once. */
static void waits_of_warps(void **state)
{
    (void)state;
#define WAIT(what) "smsp__average_warps_issue_stalled_" what
    static const char *const none[] = {
        WAIT("barrier_per_issue_active"), WAIT("barrier_not_issued_per_issue_active.ratio"), WAIT("_per_x.ratio"),
        "sm__average_warps_issue_stalled_barrier_per_issue_active.ratio", WAIT("a_name_of_thirty_two_characters__per_x.ratio"), "smsp__average_warps_waiting.ratio", WAIT(".ratio"),
    };
    for (size_t i = 0; i < GS_COUNT(none); i++)
        if (*page_of(none[i], "inst", "2")) fail_msg("%s: %s", none[i], gs_text_string(&out));
    assert_non_null(strstr(page_of(WAIT("a_name_of_thirty_one_characters_per_x.ratio"), "inst", "2"), "stall_other 100\n"));
    assert_string_equal(page_of(WAIT("barrier_per_x.ratio"), "inst", "0"), "");
    assert_string_equal(page_of(WAIT("barrier_per_x.ratio"), "inst", "no data"), "");
    gs_text_clear(&out);
    assert_int_equal(gs_metrics_read_ncu("==PROF== Connected\n"
                                         "\"Kernel Name\",\"" WAIT("long_scoreboard_per_x.ratio") "\",\"" WAIT("barrier_per_x.ratio")
                                         "\",\"" WAIT("barrier_per_warp.ratio") "\",\"" WAIT("wait.ratio") "\",\"" WAIT("selected_per_x.ratio")
                                         "\",\"" WAIT("new_per_x.ratio") "\",\"" WAIT("branch_per_x.ratio") "\"\n"
                                         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"\n"
                                         "\"first\",\"9\",\"9\",\"9\",\"9\",\"9\",\"9\",\"9\"\n"
                                         "\"last\",\"3\",\"1\",\"7\",\"2\",\"1\",\"2\",\"1\"\n", &out, &error), GS_OK);
    assert_string_equal(gs_text_string(&out), "stall_memory 30\nstall_shared 0\nstall_barrier 10\nstall_wgmma 0\nstall_math 0\nstall_wait 20\n"
                                              "stall_code 0\nstall_queue 0\n"
                                              "stall_other 30\n");
}

/* Why a page is none. */
static void pages_say_why(void **state)
{
    (void)state;
    static const struct { const char *page, *message; } cases[] = {
        {"",                                                              "no kernel was profiled"},
        {"\"ID\",\"Kernel Name\"\n\"\",\"\"\n",                           "no kernel was profiled"},
        {"\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"0\"\n",                  "a line of 1 values under 2 names"},
        {"\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"0\",\"k\"x\n",           "a line of -1 values under 2 names"},
        {"\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"0\",k\n",               "a line of -1 values under 2 names"},
        {"\"ID\",\"Kernel Name\"\n\"\",\"\",\"\"\n\"0\",\"k\"\n",        "a line of 3 values under 2 names"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_text_clear(&out);
        assert_int_equal(gs_metrics_read_ncu(cases[i].page, &out, &error), GS_ERROR_PARSE);
        assert_string_equal(error.text, cases[i].message);
        assert_int_equal(out.size, 0);
    }
}

static void script(const char *path, const char *text)
{
    assert_int_equal(gs_file_write(path, text, strlen(text), &error), GS_OK);
    assert_int_equal(chmod(path, 0755), 0);
    setenv("GEMMSMITH_NCU", path, 1);
}

static void the_profiler_is_run(void **state)
{
    (void)state;
    char folder[] = "/tmp/gs-metrics-XXXXXX", path[64], asked[64], text[512];
    const gs_problem p = problem_of("f16:64x64x64:tn");
    gs_metrics_request r = {.problem = &p, .candidate = "splitk/64x64x64/s4/ab/c1x1/k1/any", .profile = "/bin/gemmsmith", .device = "cuda:0"};   /* no time is named: a minute */
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ncu", folder);
    snprintf(asked, sizeof asked, "%s/asked", folder);
    snprintf(text, sizeof text, "#!/bin/sh\necho \"$*\" >> %s\ncat %s/tests/worker/ncu.csv\n", asked, GS_SOURCE_DIR);
    script(path, text);
    assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_OK);
    is("registers", 168);
    char *said = read_text(asked);
    assert_non_null(strstr(said, "--kernel-name regex:^gs_splitk --launch-count 1"));
    assert_non_null(strstr(said, "--clock-control none"));
    assert_non_null(strstr(said, "/bin/gemmsmith verify f16:64x64x64:tn --schedule splitk/64x64x64/s4/ab/c1x1/k1/any --parts normal --device cuda:0 --quiet\n"));
    free(said);

    unlink(asked);
    snprintf(text, sizeof text, "#!/bin/sh\necho \"$*\" >> %s\nwhile [ \"$1\" != --source ]; do shift; done\ncat \"$2\" >> %s\ncat %s/tests/worker/ncu.csv\n", asked, asked, GS_SOURCE_DIR);
    script(path, text);
    r.candidate = "source:0";
    r.source = "the source\n";
    r.manifest = "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry mine\ngrid 1 1 1\nblock 32 1 1\n";
    gs_text_clear(&out);
    assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_OK);
    said = read_text(asked);
    assert_non_null(strstr(said, "--kernel-name regex:^mine$ "));
    assert_non_null(strstr(said, "/bin/gemmsmith score f16:64x64x64:tn --source /tmp/gemmsmith-profile-"));
    assert_non_null(strstr(said, " --device cuda:0 --quiet --no-emulator\nthe source\n"));   /* the profiled run does what counts alone */
    const char *const folder_of = strstr(said, "/tmp/gemmsmith-profile-");
    char gone[64];
    snprintf(gone, sizeof gone, "%.29s", folder_of);
    assert_false(gs_file_exists(gone));
    free(said);

    /* no right to read, and what hangs */
    gs_text_clear(&out);
    script(path, "#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM'\nexit 1\n");
    assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_ERROR_UNSUPPORTED);
    script(path, "#!/bin/sh\nsleep 60 & wait\n");
    r.timeout_s = 0.3;
    const int64_t began = gs_clock_ns();
    assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_ERROR_TIMEOUT);
    assert_true(gs_clock_ns() - began < (int64_t)20e9);
    setenv("GEMMSMITH_NCU", "/nonexistent/ncu", 1);
    assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_ERROR_NOT_FOUND);
    assert_int_equal(out.size, 0);
    r.worker = r.emulator = NULL;
    assert_int_equal(gs_metrics_take(&r, &out, &error), GS_OK);   /* nothing to be had is no failure */
    assert_int_equal(out.size, 0);
    unlink(asked);
    unlink(path);
    rmdir(folder);
}

#define SUMS "smsp__inst_executed.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_op_read.sum,lts__t_sectors_op_write.sum," \
             "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
#define ASKED "--clock-control none --target-processes all --kill yes --kernel-name regex:^gs_simple --launch-count 1 --csv --page raw " \
              "--section SpeedOfLight --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis --section WarpStateStats --section Occupancy --section LaunchStats "
#define PROFILED "/bin/gemmsmith verify f16:64x64x64:tn --schedule simple --parts normal --device cuda:1 --quiet\n"

/* A profiler that gives nothing is asked once more without the sums, which it may not know; what it does then is said. */
static void what_a_profiler_does(void **state)
{
    (void)state;
    char folder[] = "/tmp/gs-metrics-XXXXXX", path[64], asked[64], text[640];
    const gs_problem p = problem_of("f16:64x64x64:tn");
    gs_metrics_request r = {.problem = &p, .candidate = "simple", .profile = "/bin/gemmsmith", .device = "cuda:1", .timeout_s = 20};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ncu", folder);
    snprintf(asked, sizeof asked, "%s/asked", folder);
    static const struct { const char *what; gs_status status; int times; const char *message; } cases[] = {
        {"cat %s/tests/worker/ncu.csv", GS_OK, 1, ""},
        {"case \"$*\" in *--metrics*) exit 1;; esac; cat %s/tests/worker/ncu.csv", GS_OK, 2, ""},
        {"exit 0 # %s", GS_ERROR_UNSUPPORTED, 2, "the profiler gave no figures: it may not read the counters, or does not know them"},
        {"head -c 17000000 /dev/zero # %s", GS_ERROR_RANGE, 1, "the profiler does not stop talking"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char what[256];
        snprintf(what, sizeof what, cases[i].what, GS_SOURCE_DIR);
        snprintf(text, sizeof text, "#!/bin/sh\necho \"$*\" >> %s\n%s\n", asked, what);
        script(path, text);
        gs_text_clear(&out);
        error = (gs_error){0};
        assert_int_equal(gs_metrics_ncu(&r, &out, &error), cases[i].status);
        if (cases[i].status != GS_OK) {
            assert_string_equal(error.field, "ncu");
            assert_string_equal(error.text, cases[i].message);
        }
        assert_true((out.size > 0) == (cases[i].status == GS_OK));
        char *const said = read_text(asked);
        assert_string_equal(said, cases[i].times == 1 ? ASKED "--metrics " SUMS " " PROFILED : ASKED "--metrics " SUMS " " PROFILED ASKED PROFILED);
        free(said);
        unlink(asked);
    }
    gs_text_clear(&out);
    script(path, "no program\n");
    assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_ERROR_IO);
    assert_non_null(strstr(error.text, "cannot be started"));
    assert_non_null(strstr(error.text, path));
    script(path, "#!/bin/sh\nsleep 60 & wait\n");
    r.timeout_s = 0.1;
    assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_ERROR_TIMEOUT);
    assert_string_equal(error.text, "the profiler was not done in 0 s");
    gs_stop_requested = 1;
    assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_ERROR_INTERRUPTED);
    assert_int_equal(gs_metrics_take(&r, &out, &error), GS_ERROR_INTERRUPTED);   /* that alone is a failure there */
    gs_stop_requested = 0;
    assert_int_equal(gs_metrics_take(&r, &out, &error), GS_OK);
    assert_int_equal(out.size, 0);
    r.source = "the source\n";
    r.manifest = "nonsense";
    assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_ERROR_PARSE);
    unlink(path);
    rmdir(folder);
}

/* Without GEMMSMITH_NCU it is the first in PATH, whose parts may be empty; where there is none, the search ends. */
static void the_profiler_is_found_in_path(void **state)
{
    (void)state;
    char folder[] = "/tmp/gs-metrics-XXXXXX", path[64], text[160], list[256];
    const gs_problem p = problem_of("f16:64x64x64:tn");
    const gs_metrics_request r = {.problem = &p, .candidate = "splitk/64x64x64/s4/ab/c1x1/k1/any", .profile = "/bin/gemmsmith", .device = "cuda:0", .timeout_s = 20};
    static const char *const lists[] = {"%s:/usr/bin:/bin", ":%s:/usr/bin:/bin", "/nonexistent::%s:/usr/bin:/bin", "/usr/bin:/bin:%s"};
    char *const usual = strdup(getenv("PATH"));
    assert_non_null(usual);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ncu", folder);
    snprintf(text, sizeof text, "#!/bin/sh\ncat %s/tests/worker/ncu.csv\n", GS_SOURCE_DIR);
    script(path, text);
    unsetenv("GEMMSMITH_NCU");
    alarm(30);   /* a search without end ends the program */
    for (size_t i = 0; i < GS_COUNT(lists); i++) {
        snprintf(list, sizeof list, lists[i], folder);
        if (i == 3 && (access("/usr/bin/ncu", X_OK) == 0 || access("/bin/ncu", X_OK) == 0)) continue;
        setenv("PATH", list, 1);
        gs_text_clear(&out);
        if (gs_metrics_ncu(&r, &out, &error) != GS_OK) fail_msg("%s: %s", list, error.text);
        is("registers", 168);
    }
    gs_text_clear(&out);
    unlink(path);
    static const char *const without[] = {"", ":", "/nonexistent", "/nonexistent:", ":/nonexistent::"};
    for (size_t i = 0; i < GS_COUNT(without) && access("/usr/local/cuda/bin/ncu", X_OK) != 0; i++) {
        setenv("PATH", without[i], 1);
        assert_int_equal(gs_metrics_ncu(&r, &out, &error), GS_ERROR_NOT_FOUND);
    }
    alarm(0);
    setenv("PATH", usual, 1);
    free(usual);
    rmdir(folder);
}

/* ---- the worker ---- */

#define SOURCE                                                                                                                                       \
    "#include \"common/args.h\"\n#include \"common/convert.cuh\"\n"                                                                               \
    "extern \"C\" __global__ void mine(const gs_kernel_args p)\n{\n"                                                                              \
    "    __shared__ float table[64];\n    const int row = blockIdx.x, column = threadIdx.x;\n    float sum = 0;\n"                                 \
    "    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(((const unsigned short *)p.a)[row * p.lda + k]) * gs_f16_to_f32(((const unsigned short *)p.b)[column * p.ldb + k]);\n" \
    "    table[column] = sum;\n    __syncthreads();\n    asm volatile(\"cp.async.commit_group;\\n\\tcp.async.wait_group 0;\");\n"                     \
    "    ((unsigned short *)p.d)[row * p.ldd + column] = gs_f32_to_f16(p.alpha * table[column]);\n}\n"
#define MANIFEST "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry mine\ngrid m 1 1\nblock 64 1 1\n"

static void a_worker_is_asked(void **state)
{
    (void)state;
    gs_worker worker;
    const gs_problem p = problem_of("f16:64x64x64:tn"), large = problem_of("f16:4096x4096x4096:tn");
    if (gs_compiler_version(NULL) == 0) skip();
    unsetenv("GEMMSMITH_WORKER");
    gs_worker_init(&worker, "emu:h200", NULL);
    gs_metrics_request r = {.problem = &p, .candidate = "source:0123", .source = SOURCE, .manifest = MANIFEST, .worker = &worker, .emulator = &worker, .cache = ""};
    if (gs_metrics_take(&r, &out, &error) != GS_OK) fail_msg("%s", error.text);
    is("threads", 64);
    is("smem", 256);
    is("blocks_sm", 32);
    is("occupancy", 100);
    is("ptx_wgmma", 0);
    is("ptx_barrier", 3);    /* waiting for copies is one, */
    is("ptx_cp_async", 0);   /* but no copy */
    is("ptx_shared_store", 1);
    is("ptx_global_store", 1);
    assert_true(value("registers") >= 8 && value("ptx_global_load") >= 2 && value("ptx_other") > 10);
    is("device_load", 2 * 64 * 64 * 2);
    is("device_store", 64 * 64 * 2);
    assert_true(value("instructions") > 64 * 2 * 64);
    is("matrix_flops", 0);
    is("bank_conflicts", 0);
    assert_true(isnan(value("counted_m")));

    gs_text_clear(&out);   /* this one has matrix units, and is too large to be run as it is */
    r = (gs_metrics_request){.problem = &large, .candidate = "mma/64x64x32/w2x2/s3/g8", .worker = &worker, .emulator = &worker, .cache = ""};
    assert_int_equal(gs_metrics_take(&r, &out, &error), GS_OK);
    is("threads", 128);
    is("counted_m", 256);
    is("counted_n", 256);
    is("counted_k", 512);
    is("matrix_flops", 2.0 * 256 * 256 * 512);
    assert_true(value("ptx_mma") > 0 && value("ptx_ldmatrix") > 0 && value("ptx_cp_async") > 0 && value("blocks_sm") >= 1);

    gs_text_clear(&out);   /* what does not compile has none, and is no failure */
    r = (gs_metrics_request){.problem = &p, .candidate = "source:0124", .source = "nonsense", .manifest = MANIFEST, .worker = &worker, .emulator = &worker, .cache = ""};
    assert_int_equal(gs_metrics_take(&r, &out, &error), GS_OK);
    assert_int_equal(out.size, 0);
    r = (gs_metrics_request){.problem = &p, .candidate = "source:0125", .source = SOURCE, .manifest = "nonsense", .worker = &worker, .emulator = &worker, .cache = ""};
    assert_int_equal(gs_metrics_take(&r, &out, &error), GS_OK);
    assert_int_equal(out.size, 0);
    gs_worker_stop(&worker);
}

/* One line of PTX after the other, in a branch that is never taken; how many of which class they are. */
static void instructions_are_counted_by_class(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "ld.global.u32 %0, [%3];", "ldu.global.u32 %0, [%3];", "ld.u32 %0, [%3];", "ld.shared.u32 %0, [%2];", "ld.shared::cta.u32 %0, [%2];",
        "st.global.u32 [%3], %1;", "st.u32 [%3], %1;", "red.global.add.u32 [%3], %1;", "atom.global.add.u32 %0, [%3], %1;", "st.shared.u32 [%2], %1;", "atom.shared.add.u32 %0, [%2], %1;", "red.shared.add.u32 [%2], %1;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%2];", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%2], {%1};", "cp.async.ca.shared.global [%2], [%3], 4;", "cp.async.cg.shared.global [%2], [%3], 16;",
        "cp.async.commit_group;", "cp.async.wait_group 0;", "cp.async.wait_all;", "bar.sync 0;", "barrier.sync 1;", "membar.gl;", "fence.acq_rel.gpu;", "wgmma.fence.sync.aligned;", "mbarrier.init.shared.b64 [%2], 1;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%2], [%3], 16, [%2];", "cp.async.bulk.commit_group;", "shfl.sync.idx.b32 %0, %1, 0, 31, 0xffffffff;", "vote.sync.ballot.b32 %0, 1, 0xffffffff;", "activemask.b32 %0;",
    };
    static const struct { const char *name; double count; } wanted[] = {
        {"ptx_wgmma", 0}, {"ptx_mma", 0}, {"ptx_ldmatrix", 1}, {"ptx_tma", 1}, {"ptx_cp_async", 2}, {"ptx_global_load", 3}, {"ptx_global_store", 4}, {"ptx_shared_load", 2}, {"ptx_shared_store", 4}, {"ptx_barrier", 10}, {"ptx_shuffle", 3},
    };
    gs_worker worker;
    gs_text source = {0};
    const gs_problem p = problem_of("f16:64x64x64:tn");
    if (gs_compiler_version(NULL) == 0) skip();
    unsetenv("GEMMSMITH_WORKER");
    gs_text_add(&source, "#include \"common/args.h\"\nextern \"C\" __global__ void mine(const gs_kernel_args p)\n{\n    __shared__ unsigned table[64];\n    unsigned got = 0;\n    if (p.k >= 0) return;\n");
    for (size_t i = 0; i < GS_COUNT(lines); i++)
        gs_text_addf(&source, "    asm volatile(\"%s\" : \"+r\"(got) : \"r\"(1), \"r\"((unsigned)__cvta_generic_to_shared(table)), \"l\"(p.a) : \"memory\");\n", lines[i]);
    gs_text_add(&source, "}\n");
    gs_worker_init(&worker, "emu:h200", NULL);
    const gs_metrics_request r = {.problem = &p, .candidate = "source:0126", .source = gs_text_string(&source), .manifest = MANIFEST, .worker = &worker, .cache = ""};
    if (gs_metrics_take(&r, &out, &error) != GS_OK) fail_msg("%s", error.text);
    for (size_t i = 0; i < GS_COUNT(wanted); i++)
        if (value(wanted[i].name) != wanted[i].count) fail_msg("%s: %g\n%s", wanted[i].name, value(wanted[i].name), gs_text_string(&out));
    assert_true(isnan(value("launch_us")));   /* nobody ran it */
    gs_worker_stop(&worker);
    gs_text_free(&source);
}

/* The page that explains them has every name, and no other. */
static void the_page_has_every_name(void **state)
{
    (void)state;
    char *const page = read_text(GS_SOURCE_DIR "/docs/internals/metrics.md");
    int rows = 0, names = 0;
    for (const gs_metric *m = gs_metrics; m->name; m++, names++) {
        char row[160];
        snprintf(row, sizeof row, "\n| `%s` | %s | %s |", m->name, m->unit, m->what);
        if (!strstr(page, row)) fail_msg("there is no row '%s'", row + 1);
    }
    for (const char *at = page; (at = strstr(at, "\n| `")) != NULL; at++) rows++;
    assert_int_equal(rows, names);
    free(page);
}

#define CASE(name) cmocka_unit_test_teardown(name, end)

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "worker") == 0) return gs_worker_serve(argv[3]);
    const struct CMUnitTest tests[] = {
        CASE(a_page_of_the_profiler), CASE(pages_that_are_none), CASE(numbers_and_units), CASE(waits_of_warps), CASE(pages_say_why),
        CASE(the_profiler_is_run), CASE(what_a_profiler_does), CASE(the_profiler_is_found_in_path),
        CASE(a_worker_is_asked), CASE(instructions_are_counted_by_class), CASE(the_page_has_every_name),
    };
    return run_without_leaks("worker/metrics", tests, GS_COUNT(tests));
}
