/* SPDX-License-Identifier: MIT
 * Proves that recorded files are summed exactly whatever their order, that a line that was cut off is never read as another problem, that damage is named with its line and adds
 * nothing, that buckets merge only what differs in M alone, that TunableOp's lists become the row-major problems that cuBLAS was asked, and that a program that is run
 * keeps its exit code, gets its signals and its environment. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "recorded/import.h"
#include "recorded/recorded.h"
#include "recorded/run.h"
#include "support/folder.h"
#include "support/leaks.h"

#define MAGIC  "gemmsmith recorded 1\n"
#define NAME64 "a_name_of_sixty_four_characters_which_is_as_long_as_one_may_be__"

static char     folder[64];
static gs_error error;

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/gs_recorded_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    return remove_all(folder);
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put_file(const char *name, const char *text) { assert_int_equal(gs_file_write(path_of(name), text, strlen(text), NULL), GS_OK); }

static gs_status read_text(gs_recorded *r, const char *text)
{
    char *const copy = strdup(text);
    const gs_status status = gs_recorded_read_text(r, copy, "some.txt", &error);
    free(copy);
    return status;
}

static gs_status import(gs_recorded *r, gs_import_others *others, const char *text)
{
    char *const copy = strdup(text);
    const gs_status status = gs_import_tunableop_text(r, others, copy, "some.csv", &error);
    free(copy);
    return status;
}

static void assert_text(const gs_recorded *r, const char *lines)
{
    gs_text text = {0};
    gs_recorded_format(r, &text);
    assert_memory_equal(text.data, MAGIC, strlen(MAGIC));
    assert_string_equal(text.data + strlen(MAGIC), lines);
    gs_text_free(&text);
}

/* ---- files ---- */

static void test_counts_are_added(void **state)
{
    (void)state;
    gs_recorded r = {0}, again = {0}, once = {0};
    gs_text text = {0};
    assert_int_equal(read_text(&r, MAGIC "1\tgs_gemm\tf16:16x4096x4096:tn\n\n# a remark\n2\tcublasGemmEx\tbf16:64x64x64:nn\r\n40\tgs_gemm\tf16:16x4096x4096:tn\n"), GS_OK);
    assert_int_equal(read_text(&once, MAGIC "18446744073709551615\t" NAME64 "\tf16:1x1x1:tn\n"), GS_OK);   /* the most calls, the longest name */
    assert_text(&once, "18446744073709551615\t" NAME64 "\tf16:1x1x1:tn\n");
    gs_recorded_free(&once);
    assert_int_equal(read_text(&r, MAGIC "5\tcublasGemmEx\tf16:16x4096x4096:tn:alpha=2\n9000\tcublasGemmEx\tbf16:64x64x64:nn\n"), GS_OK);
    assert_int_equal(r.files, 2);
    assert_int_equal(r.cut, 0);
    assert_int_equal(r.count, 3);
    assert_int_equal(gs_recorded_problems(&r), 2);
    assert_int_equal(gs_recorded_calls(&r), 9048);
    gs_recorded_sort(&r);
    assert_text(&r, "9002\tcublasGemmEx\tbf16:64x64x64:nn\n41\tgs_gemm\tf16:16x4096x4096:tn\n5\tcublasGemmEx\tf16:16x4096x4096:tn\n");
    gs_recorded_format(&r, &text);
    assert_int_equal(read_text(&again, gs_text_string(&text)), GS_OK);
    assert_int_equal(again.count, 3);
    assert_int_equal(gs_recorded_add(&r, &again.rows[0].problem, "cublasGemmEx", 1, NULL), GS_OK);   /* found also after sorting */
    assert_int_equal(r.count, 3);
    gs_text_free(&text);
    gs_recorded_free(&r);
    gs_recorded_free(&again);
}

static void test_many(void **state)
{
    (void)state;
    gs_recorded r = {0};
    for (int round = 0; round < 2; round++) {
        for (int m = 1; m <= 5000; m++) {
            const gs_problem p = gs_problem_make(GS_F16, GS_TN, m, 64, 64);
            assert_int_equal(gs_recorded_add(&r, &p, "a", UINT64_MAX / 2 + 1, NULL), GS_OK);
        }
    }
    assert_int_equal(r.count, 5000);
    for (int i = 0; i < r.count; i++) assert_true(r.rows[i].count == UINT64_MAX);   /* it does not begin anew */
    assert_true(gs_recorded_calls(&r) == UINT64_MAX);
    gs_recorded_free(&r);
}

/* Every beginning of a file is one that a killed process may leave: none is refused, and none has a problem that was not there. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    static const char whole[] = MAGIC "1\tgs_gemm\tf16:16x4096x4096:tn\n12\tgs_gemm\tf16:16x4096x4096:tn\n";
    for (size_t length = 0; length < sizeof whole; length++) {
        char text[sizeof whole] = "";
        gs_recorded r = {0};
        memcpy(text, whole, length);
        assert_int_equal(read_text(&r, text), GS_OK);
        const char *const last = strrchr(text, '\n');
        const bool inside = length > 0 && !(last && last[1] == '\0');
        assert_int_equal(r.cut, inside);
        assert_int_equal(r.files, 1);
        const uint64_t calls = gs_recorded_calls(&r);
        assert_int_equal(calls, length == sizeof whole - 1 ? 13 : length > 50 && r.count ? 1 : 0);
        if (r.count) assert_int_equal(r.rows[0].problem.k, 4096);
        gs_recorded_free(&r);
    }
}

static void test_damage_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *why;
        int column;   /* 0: any */
    } cases[] = {
        {"1\tgs_gemm\tf16:16x4096x4096:tn\n", "line 1", "some.txt is no recorded file"},
        {"gemmsmith recorded 12\n", "line 1", "no recorded file"},
        {"gemmsmith recorded 2", "line 1", "no recorded file"},
        {MAGIC "1\tgs_gemm\tf16:16x4096x4096:tn\nrubbish\n", "line 3", "some.txt: 'rubbish' is not a count"},
        {MAGIC "\n\nx\tgs_gemm\tf16:16x4096x4096:tn\n", "line 4", "'x' is not a count of calls"},
        {MAGIC "0\tgs_gemm\tf16:16x4096x4096:tn\n", "line 2", "not a count of calls"},
        {MAGIC "-1\tgs_gemm\tf16:16x4096x4096:tn\n", "line 2", "not a count of calls"},
        {MAGIC "1\tgs\x1b[2Jgemm\tf16:16x4096x4096:tn\n", "line 2", "control character", 5},
        {MAGIC "1\tgs_gemm\x7f\tf16:16x4096x4096:tn\n", "line 2", "control character", 10},
        {MAGIC "99999999999999999999\tgs_gemm\tf16:16x4096x4096:tn\n", "line 2", "not a count of calls"},
        {MAGIC "1\t\tf16:16x4096x4096:tn\n", "line 2", "the name of the call has 0 bytes, at most 64 are allowed", 3},
        {MAGIC "12\t" NAME64 "x\tf16:16x4096x4096:tn\n", "line 2", "the name of the call has 65 bytes, at most 64 are allowed", 4},
        {MAGIC "1 \tgs_gemm\tf16:16x4096x4096:tn\n", "line 2", "'1 ' is not a count of calls"},
        {MAGIC "1/\tgs_gemm\tf16:16x4096x4096:tn\n", "line 2", "'1/' is not a count of calls"},
        {MAGIC "1:\tgs_gemm\tf16:16x4096x4096:tn\n", "line 2", "'1:' is not a count of calls"},
        {MAGIC "\tgs_gemm\tf16:16x4096x4096:tn\n", "line 2", "'' is not a count of calls", 1},
        {MAGIC "18446744073709551616\tgs_gemm\tf16:16x4096x4096:tn\n", "line 2", "not a count of calls"},
        {MAGIC "1\tgs_gemm\n", "line 2", "is not a count, a call and a problem"},
        {MAGIC "1\tgs_gemm\tf16:16x4096x4096:xx\n", "line 2", "layout", 28},
        {MAGIC "\r\n \n", "line 3", "' ' is not a count"},
        {MAGIC "1\tgs_gemm\tf16:16x4096x4096:xx\n", "line 2", "some.txt: layout: "},
        {MAGIC "1\tgs_gemm\tf16:16x4096x4096:tn:lda=1\n", "line 2", "lda"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_recorded r = {0};
        error = (gs_error){0};
        assert_int_not_equal(read_text(&r, cases[i].text), GS_OK);
        if (strcmp(error.field, cases[i].place) != 0 || !strstr(error.text, cases[i].why)) fail_msg("%zu: %s: %s", i, error.field, error.text);
        if (cases[i].column) assert_int_equal(error.column, cases[i].column);
        assert_int_equal(r.count, 0);   /* nothing of a damaged file */
        assert_int_equal(r.files, 0);
        gs_recorded_free(&r);
    }
}

static void test_folder(void **state)
{
    (void)state;
    gs_recorded r = {0};
    assert_int_equal(gs_recorded_read(&r, folder, &error), GS_ERROR_NOT_FOUND);
    assert_int_equal(gs_recorded_read(&r, path_of("nowhere"), &error), GS_ERROR_NOT_FOUND);
    put_file("recorded-a.txt", MAGIC "1\tx\tf16:16x64x64:tn\n");
    put_file("recorded-b.txt", MAGIC "2\tx\tf16:16x64x64:tn\n2\tx\tf16:16x64x6");
    put_file("notes.txt", "something else");
    put_file("recorded-c.log", "something else");
    assert_int_equal(gs_recorded_read(&r, folder, &error), GS_OK);
    assert_int_equal(r.files, 2);
    assert_int_equal(r.cut, 1);
    assert_text(&r, "3\tx\tf16:16x64x64:tn\n");
    put_file("recorded-d.txt", MAGIC "damaged\n");
    assert_int_equal(gs_recorded_read(&r, folder, &error), GS_ERROR_PARSE);
    assert_non_null(strstr(error.text, "recorded-d.txt"));
    assert_true(gs_recorded_is_path(folder));
    assert_true(gs_recorded_is_path(path_of("recorded-a.txt")));
    assert_false(gs_recorded_is_path(path_of("notes.txt")));
    assert_false(gs_recorded_is_path("/dev/null"));
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_false(gs_recorded_is_path(path_of("pipe")));   /* which is not waited for */
    static const struct { const char *text; bool is; } starts[] = {
        {"gemmsmith recorded 1", true}, {"gemmsmith recorded 1\r\n", true}, {"gemmsmith recorded 1\nmore", true}, {"gemmsmith recorded 12", false}, {"gemmsmith recorded", false}, {"", false},
    };
    for (size_t i = 0; i < GS_COUNT(starts); i++) {
        put_file("start", starts[i].text);
        if (gs_recorded_is_path(path_of("start")) != starts[i].is) fail_msg("%s", starts[i].text);
    }
    assert_false(gs_recorded_is_path(path_of("nowhere")));
    gs_recorded_free(&r);
}

/* What cannot be written leaves the file that was there, and nothing beside it. */
static void test_writing_fails(void **state)
{
    (void)state;
    gs_recorded r = {0};
    struct rlimit before, small;
    char *text;
    assert_int_equal(read_text(&r, MAGIC "1\tx\tf16:16x64x64:tn\n2\tx\tbf16:1600x64x64:tn\n"), GS_OK);
    assert_int_equal(gs_recorded_write(&r, path_of("list.txt"), &error), GS_OK);
    assert_int_equal(gs_recorded_add(&r, &r.rows[0].problem, "y", 5, NULL), GS_OK);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 30, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const gs_status status = gs_recorded_write(&r, path_of("list.txt"), &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_not_equal(status, GS_OK);
    assert_non_null(strstr(error.text, "list.txt"));
    assert_int_equal(gs_file_read_text(path_of("list.txt"), 1 << 20, &text, NULL), GS_OK);
    assert_string_equal(text, MAGIC "2\tx\tbf16:1600x64x64:tn\n1\tx\tf16:16x64x64:tn\n");
    free(text);
    assert_int_equal(gs_recorded_write(&r, "/dev/full", &error), GS_ERROR_DISK_FULL);
    assert_int_equal(gs_recorded_write(&r, path_of("none/list.txt"), &error), GS_ERROR_NOT_FOUND);
    gs_recorded_free(&r);
    assert_int_equal(unlink(path_of("list.txt")), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
}

/* ---- buckets ---- */

static void test_steps(void **state)
{
    (void)state;
    static const int64_t steps[][2] = {{0, 0}, {1, 1}, {63, 63}, {64, 64}, {65, 96}, {96, 96}, {97, 128}, {128, 128}, {129, 192}, {193, 256}, {257, 384}, {4096, 4096}, {4097, 6144}, {6145, 8192}};
    for (size_t i = 0; i < GS_COUNT(steps); i++) assert_int_equal(gs_recorded_step(steps[i][0]), steps[i][1]);
    assert_true(gs_recorded_step(GS_MAX_EXTENT) > GS_MAX_EXTENT);
    for (int64_t m = 64; m < 70000; m++) {
        const int64_t step = gs_recorded_step(m);
        assert_true(step >= m && step * 2 <= m * 3 + 2 && step % 8 == 0 && (step < 128 || step % 64 == 0) && (step < 256 || step % 128 == 0));
    }
}

static void test_buckets(void **state)
{
    (void)state;
    gs_recorded r = {0};
    int merged = -1;
    assert_int_equal(read_text(&r, MAGIC "1\tx\tbf16:100x4096x4096:tn\n2\tx\tbf16:101x4096x4096:tn\n3\ty\tbf16:128x4096x4096:tn\n"   /* of one step */
                                         "4\tx\tbf16:17x4096x4096:tn\n5\tx\tbf16:18x4096x4096:tn\n"                                /* below the ladder */
                                         "6\tx\tbf16:1000x4096x4096:tn\n7\ty\tbf16:1000x4096x4096:tn\n"                            /* alone between its steps, by two calls */
                                         "8\tx\tbf16:102x4096x4096:nn\n9\tx\tbf16:102x4096x4096:tn:ep=bias\n"                      /* differ in more */
                                         "10\tx\tbf16:200x64x64:nt\n11\tx\tbf16:201x64x64:nt\n"                                    /* A stored K x M: its rows grow */
                                         "12\tx\tbf16:200x64x64:nn:b=4\n13\tx\tbf16:222x64x64:nn:b=4\n"                            /* its strides grow */
                                         "14\tx\tbf16:136x64x64:tn:gm=8\n15\tx\tbf16:144x64x64:tn:gm=8\n"),                        /* rooms of groups stay */
                     GS_OK);
    assert_int_equal(gs_recorded_bucket(&r, &merged, &error), GS_OK);
    assert_int_equal(merged, 4);
    assert_int_equal(r.files, 1);
    assert_text(&r, "3\tx\tbf16:128x4096x4096:tn\n3\ty\tbf16:128x4096x4096:tn\n4\tx\tbf16:17x4096x4096:tn\n5\tx\tbf16:18x4096x4096:tn\n"
                    "6\tx\tbf16:1000x4096x4096:tn\n7\ty\tbf16:1000x4096x4096:tn\n8\tx\tbf16:102x4096x4096:nn\n9\tx\tbf16:102x4096x4096:tn:ep=bias\n"
                    "21\tx\tbf16:256x64x64:nt\n25\tx\tbf16:256x64x64:nn:b=4\n14\tx\tbf16:136x64x64:tn:gm=8\n15\tx\tbf16:144x64x64:tn:gm=8\n");
    const uint64_t calls = gs_recorded_calls(&r);
    assert_int_equal(calls, 120);
    assert_int_equal(gs_recorded_bucket(&r, &merged, &error), GS_OK);   /* once more changes nothing */
    assert_int_equal(merged, 0);
    gs_recorded_free(&r);
}

/* ---- TunableOp ---- */

static void test_tunableop(void **state)
{
    (void)state;
    gs_recorded r = {0};
    gs_import_others others = {0};
    assert_int_equal(import(&r, &others, "Validator,PT_VERSION,2.11.0\n"
                                         "GemmTunableOp_Half_TN,tn_4096_16_2048_ld_2056_2064_4104\n"
                                         "GemmTunableOp_BFloat16_NT,nt_25088_4096_64\n"
                                         "GemmTunableOp_BFloat16_NT,nt_25088_4096_64,Gemm_Hipblaslt_1234,0.0171\r\n"
                                         "GemmStridedBatchedTunableOp_Half_NN,nn_64_128_256_B_96_ld_64_256_64\n"
                                         "GemmStridedBatchedTunableOp_Half_NN,nn_64_128_256_B_96\n"
                                         "GemmStridedBatchedTunableOp_Half_NN,nn_64_128_256_B_1\n"
                                         "GemmAndBiasTunableOp_Half_TN,tn_768_1024_3072_ld_3072_3072_768\n"
                                         "GemmTunableOp_float_TN,tn_1_2_3\n"
                                         "GemmTunableOp_tf32_TN,tn_1_2_3_ld_3_3_1\n"
                                         "GemmTunableOp_float_TN,tn_4_2_3\n"
                                         "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,tn_1_2_3_ld_3_3_1_rw_0_bias_None\n"
                                         "GemmTunableOp_Half_TN,tn_4096_*_2048_ld_2056_2064_4104\n"
                                         "GemmTunableOp_Half_TN,tn_4096_16_20"),
                     GS_OK);
    assert_text(&r, "1\tGemmTunableOp\tf16:16x4096x2048:tn:lda=2064:ldb=2056:ldd=4104\n2\tGemmTunableOp\tbf16:4096x25088x64:nt\n"
                    "2\tGemmStridedBatchedTunableOp\tf16:128x64x256:nn:b=96\n1\tGemmStridedBatchedTunableOp\tf16:128x64x256:nn\n1\tGemmAndBiasTunableOp\tf16:1024x768x3072:tn:ep=bias\n");
    assert_int_equal(r.cut, 1);
    assert_int_equal(others.lines, 5);
    assert_int_equal(others.count, 4);
    assert_string_equal(others.list[0].operation, "GemmTunableOp_float_TN");
    assert_int_equal(others.list[0].lines, 2);
    assert_string_equal(others.list[3].operation, "GemmTunableOp_Half_TN");
    gs_recorded_free(&r);
}

static void test_tunableop_damage(void **state)
{
    (void)state;
    static const struct {
        const char *line, *why;
    } cases[] = {
        {"rubbish", "no line of a TunableOp list"},
        {"a,b,c", "no line of a TunableOp list"},
        {"GemmTunableOp_Half_TN", "no line of a TunableOp list"},
        {"GemmTunableOp_Half_TN,nt_1_2_3", "letters and three sizes"},
        {"GemmTunableOp_Half_TN,tn_1_2", "letters and three sizes"},
        {"GemmTunableOp_Half_TN,tn_1_0_2", "letters and three sizes"},
        {"GemmTunableOp_Half_TN,tn_1_2_3_ld_3_3", "three leading dimensions"},
        {"GemmTunableOp_Half_TN,tn_1_2_3_B_4", "has a batch"},
        {"GemmStridedBatchedTunableOp_Half_TN,tn_1_2_3_B_x", "no batch behind"},
        {"GemmStridedBatchedTunableOp_Half_TN,tn_1_2_3_B_0", "no batch behind"},
        {"GemmTunableOp_Half_TN,tn_1_2_3_more", "goes on"},
        {"GemmTunableOp_Half_TN,tn_1_2_99999999999", "sizes that no problem"},
        {"GemmTunableOp_Half_TN,tn_10_20_30_ld_30_3_10", "lda"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_recorded r = {0};
        gs_import_others others = {0};
        char text[512];
        snprintf(text, sizeof text, "GemmTunableOp_Half_TN,tn_1_2_3\nGemmTunableOp_float_TN,tn_1_2_3\n%s\n", cases[i].line);
        error = (gs_error){0};
        assert_int_not_equal(import(&r, &others, text), GS_OK);
        if (strcmp(error.field, "line 3") != 0 || !strstr(error.text, cases[i].why)) fail_msg("%s: %s: %s", cases[i].line, error.field, error.text);
        const char *const comma = strchr(cases[i].line, ',');
        assert_int_equal(error.column, comma && i > 2 ? comma - cases[i].line + 2 : 1);   /* where the key begins */
        assert_int_equal(r.count, 0);
        assert_int_equal(others.lines, 0);
        gs_recorded_free(&r);
    }
}

static void test_tunableop_many_others(void **state)
{
    (void)state;
    gs_recorded r = {0};
    gs_import_others others = {0};
    gs_text text = {0};
    for (int i = 0; i < GS_IMPORT_OTHERS + 5; i++) gs_text_addf(&text, "TunableOp_%d,x\n", i);
    assert_int_equal(import(&r, &others, gs_text_string(&text)), GS_OK);
    assert_int_equal(others.count, GS_IMPORT_OTHERS);
    assert_int_equal(others.beyond, 5);
    assert_int_equal(others.lines, GS_IMPORT_OTHERS + 5);
    gs_text_free(&text);
    gs_recorded_free(&r);
}

/* Their names are told apart by as much as is kept of them; a second list goes on with the counts of the first. */
static void test_tunableop_others_by_name(void **state)
{
    (void)state;
    gs_recorded r = {0};
    gs_import_others others = {0};
    gs_text text = {0};
    const int kept = sizeof others.list[0].operation - 1;
    for (int more = 0; more < 3; more++) gs_text_addf(&text, "TunableOp_%0*d%s,x\n", kept - 10, 7, more == 0 ? "" : more == 1 ? "a" : "b");   /* as long as is kept, and longer */
    gs_text_addf(&text, "TunableOp_%0*d,x\n", kept - 10, 8);
    assert_int_equal(import(&r, &others, gs_text_string(&text)), GS_OK);
    assert_int_equal(others.count, 2);
    assert_int_equal(others.list[0].lines, 3);
    assert_int_equal(others.list[1].lines, 1);
    assert_int_equal(strlen(others.list[0].operation), kept);
    assert_int_equal(import(&r, &others, gs_text_string(&text)), GS_OK);
    assert_int_equal(others.list[0].lines, 6);
    assert_int_equal(others.lines, 8);
    assert_int_equal(r.files, 2);
    gs_text_free(&text);
    gs_recorded_free(&r);
}

/* The extents and batches that a problem may have, and no more; blank lines and ends of lines of other systems are none. */
static void test_tunableop_limits(void **state)
{
    (void)state;
    static const struct { const char *text; gs_status status; const char *lines; } cases[] = {
        {"\n\r\nGemmTunableOp_Half_NN,nn_8_16_32\r\n", GS_OK, "1\tGemmTunableOp\tf16:16x8x32:nn\n"},
        {"GemmTunableOp_Half_NN,nn_1_2147483648_1\n", GS_ERROR_PARSE, ""},
        {"GemmTunableOp_Half_NN,nn_2147483648_1_1\n", GS_ERROR_PARSE, ""},
        {"GemmTunableOp_Half_NN,nn_1_1_2147483648\n", GS_ERROR_PARSE, ""},
        {"GemmTunableOp_Half_NN,nn_8_16_32_B_1\n", GS_OK, "1\tGemmTunableOp\tf16:16x8x32:nn\n"},
        {"GemmTunableOp_Half_NN,nn_8_16_32_ld_0_8_8\n", GS_ERROR_PARSE, ""},
        {"GemmTunableOp_Half_nn,nn_8_16_32\n", GS_OK, ""},      /* another operation */
        {"GemmTunableOp_Half_NNN,nn_8_16_32\n", GS_OK, ""},
        {"GemmTunableOp_Half_N,nn_8_16_32\n", GS_OK, ""},
        {"Validator,\nValidatorTunableOp\n", GS_ERROR_PARSE, ""},
        {"", GS_OK, ""},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_recorded r = {0};
        gs_import_others others = {0};
        assert_int_equal(import(&r, &others, cases[i].text), cases[i].status);
        assert_text(&r, cases[i].lines);
        assert_int_equal(r.files, cases[i].status == GS_OK);
        assert_int_equal(r.cut, 0);
        gs_recorded_free(&r);
    }
}

/* ---- running ---- */

static gs_status run_it(const gs_recorded_run *how, const char *const *argv, int *code, gs_error *why) { return gs_recorded_run_program(how, (char *const *)(uintptr_t)argv, code, why); }

static int run_shell(const char *shim, const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const gs_recorded_run how = {.folder = folder, .shim = shim};
    int code = -1;
    sigset_t blocked;
    assert_int_equal(run_it(&how, argv, &code, &error), GS_OK);
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &blocked), 0);   /* as before it */
    assert_false(sigismember(&blocked, SIGCHLD) || sigismember(&blocked, SIGTERM));
    return code;
}

static void test_exit_codes(void **state)
{
    (void)state;
    char script[256], real[256];
    assert_int_equal(run_shell(NULL, "exit 0"), 0);
    assert_int_equal(run_shell(NULL, "exit 41"), 41);
    assert_int_equal(run_shell(NULL, "kill -9 $$"), 128 + SIGKILL);
    assert_non_null(realpath(folder, real));
    snprintf(script, sizeof script, "test \"$GEMMSMITH_RECORD\" = '%s' && test -z \"$LD_PRELOAD$GEMMSMITH_BLAS\"", real);
    unsetenv("LD_PRELOAD");
    assert_int_equal(run_shell(NULL, script), 0);
    const char *const nowhere[] = {"/nowhere/at/all", NULL}, *const file[] = {path_of("recorded-a.txt"), NULL};
    const gs_recorded_run how = {.folder = folder};
    int code = -1;
    assert_int_equal(run_it(&how, nowhere, &code, &error), GS_OK);
    assert_int_equal(code, 127);
    put_file("recorded-a.txt", "not to be run");
    assert_int_equal(run_it(&how, file, &code, &error), GS_OK);
    assert_int_equal(code, 126);
}

static void test_shim_is_preloaded(void **state)
{
    (void)state;
    setenv("LD_PRELOAD", "libm.so.6", 1);
    assert_int_equal(run_shell("/lib/none.so", "LD_PRELOAD_WAS=$LD_PRELOAD; unset LD_PRELOAD; test \"$LD_PRELOAD_WAS\" = libm.so.6:/lib/none.so && test \"$GEMMSMITH_BLAS\" = record"), 0);
    unsetenv("LD_PRELOAD");
}

static void *send_signal(void *self)
{
    (void)self;
    for (int i = 0; i < 1000 && access(path_of("ready"), F_OK) != 0; i++) gs_clock_sleep_ns(10000000);
    kill(getpid(), SIGTERM);
    return NULL;
}

static void test_signals_are_passed_on(void **state)
{
    (void)state;
    pthread_t thread;
    char script[256];
    sigset_t mask, before;
    signal(SIGCHLD, SIG_IGN);   /* as some programs leave it to theirs */
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);   /* the sender's thread has it blocked too */
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    assert_int_equal(pthread_create(&thread, NULL, send_signal, NULL), 0);
    snprintf(script, sizeof script, "trap 'exit 7' TERM; : > %s/ready; while :; do sleep 0.01; done", folder);
    const char *const argv[] = {"sh", "-c", script, NULL};
    pthread_sigmask(SIG_SETMASK, &before, NULL);   /* this thread alone: the program gets its mask */
    const gs_recorded_run how = {.folder = folder};
    int code = -1;
    assert_int_equal(run_it(&how, argv, &code, &error), GS_OK);
    pthread_join(thread, NULL);
    assert_int_equal(code, 7);
}

static void test_folder_refused(void **state)
{
    (void)state;
    const char *const argv[] = {"true", NULL};
    int code = -1;
    put_file("file", "");
    const gs_recorded_run inside = {.folder = path_of("file/below")};
    assert_int_not_equal(run_it(&inside, argv, &code, &error), GS_OK);
    assert_true(error.text[0] != '\0');
    assert_int_equal(code, -1);
    const gs_recorded_run deep = {.folder = path_of("made/now")};
    assert_int_equal(run_it(&deep, argv, &code, &error), GS_OK);
    assert_int_equal(access(path_of("made/now"), W_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_added),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_damage_is_named),
        cmocka_unit_test_setup_teardown(test_folder, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_writing_fails, make_folder, drop_folder),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_tunableop),
        cmocka_unit_test(test_tunableop_damage),
        cmocka_unit_test(test_tunableop_many_others),
        cmocka_unit_test(test_tunableop_others_by_name),
        cmocka_unit_test(test_tunableop_limits),
        cmocka_unit_test_setup_teardown(test_exit_codes, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_shim_is_preloaded, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_signals_are_passed_on, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_folder_refused, make_folder, drop_folder),
    };
    return run_without_leaks("recorded/recorded", tests, GS_COUNT(tests));
}
