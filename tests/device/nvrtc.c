/* SPDX-License-Identifier: MIT
 * Proves, with real compiles, that NVRTC's code, errors, register and spill figures and warnings arrive, that options and
 * headers are confined, and that the compile cache is used. Without NVRTC only the log reader is tested and the exit code is 77. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "device/cuda/nvrtc.h"
#include "device/device.h"

static const char good_text[] = "#include \"common/scale.h\"\n"
                                "extern \"C\" __global__ void k(float *x)\n"
                                "{\n"
                                "    __shared__ float s[128];\n"
                                "    s[threadIdx.x] = x[threadIdx.x];\n"
                                "    __syncthreads();\n"
                                "    x[threadIdx.x] = s[127 - threadIdx.x] * SCALE * FACTOR;\n"
                                "}\n";
static const char *const header_names[] = {"common/scale.h"};
static const char *const header_texts[] = {"#define SCALE 3\n"};
static const char *const options[] = {"-DFACTOR=2"};

static gs_source good_source(void)
{
    return (gs_source){.name = "good.cu", .text = good_text, .options = options, .option_count = 1,
                       .header_names = header_names, .header_texts = header_texts, .header_count = 1};
}

static gs_source plain(const char *text) { return (gs_source){.name = "plain.cu", .text = text}; }

static void assert_mentions(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not mention \"%s\"", text, part);
}

/* ---- the log reader, with texts as ptxas writes them ---- */

static gs_image read_text(const char *text)
{
    gs_image image = {.log = strdup(text)};
    assert_non_null(image.log);
    gs_nvrtc_read_log(&image);
    free(image.log);
    return image;
}

static void test_log_figures(void **state)
{
    (void)state;
    const gs_image image = read_text("ptxas info    : 0 bytes gmem\n"
                                     "ptxas info    : Compiling entry function 'a' for 'sm_80'\n"
                                     "ptxas         .     352 bytes stack frame, 620 bytes spill stores, 680 bytes spill loads\n"
                                     "ptxas info    : Used 32 registers, used 0 barriers, 352 bytes cumulative stack size, 364 bytes cmem[0]\n"
                                     "    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
                                     "ptxas info    : Used 168 registers, used 1 barriers, 1024 bytes smem\n"
                                     "ptxas info    : Used 40 registers, 512 bytes smem");
    assert_int_equal(image.registers, 168);
    assert_int_equal(image.spill_bytes, 620 + 680 + 4 + 8);
    assert_int_equal(image.stack_bytes, 352);
    assert_int_equal(image.static_smem, 1024);
    assert_false(image.serialized);
    const gs_image empty = read_text("");
    assert_true(empty.registers == 0 && empty.spill_bytes == 0 && !empty.serialized);
    assert_int_equal(read_text(" registers\n bytes smem").registers, 0);
}

static void test_log_serialized(void **state)
{
    (void)state;
    static const char *const codes[] = {"C7504", "C7508", "C7510", "C7511", "C7512", "C7514", "C7602"};
    for (size_t i = 0; i < GS_COUNT(codes); i++) {
        char line[160];
        snprintf(line, sizeof line, "first\nptxas info    : (%s) Potential Performance Loss: ...\nlast\n", codes[i]);
        assert_true(read_text(line).serialized);
    }
    assert_false(read_text("ptxas info    : (C7519) Potential Performance Loss: warpgroup.arrive is injected\n").serialized);
}

/* ---- real compiles ---- */

static bool have_compiler;

static void need_compiler(void **state)
{
    (void)state;
    if (!have_compiler) skip();
}

static void test_version(void **state)
{
    need_compiler(state);
    gs_error error = {0};
    const int version = gs_compiler_version(&error);
    assert_true(version >= 12000 && version % 10 == 0);
}

static void test_good_kernel(void **state)
{
    need_compiler(state);
    static const char *const targets[] = {"sm_80", "sm_90a"};
    const gs_source source = good_source();
    for (size_t i = 0; i < GS_COUNT(targets); i++) {
        gs_image image;
        gs_error error = {0};
        if (gs_compile_for(targets[i], &source, &image, &error) != GS_OK) fail_msg("%s: %s", targets[i], error.text);
        assert_true(image.size > 100);
        assert_memory_equal(image.code, "\177ELF", 4);
        assert_true(image.registers > 0 && image.registers < 64);
        assert_int_equal(image.static_smem, 512);
        assert_int_equal(image.spill_bytes, 0);
        assert_false(image.serialized);
        assert_false(image.cached);
        assert_true(image.compile_ms > 0);
        assert_mentions(image.log, targets[i]);
        gs_image_free(&image);
    }
}

static void test_byte_order_mark(void **state)
{
    need_compiler(state);
    const gs_source source = plain("\xef\xbb\xbf" "extern \"C\" __global__ void k(float *x)\r\n{\r\n    x[0] = 1;\r\n}\r\n");
    gs_image image;
    gs_error error = {0};
    if (gs_compile_for("sm_90a", &source, &image, &error) != GS_OK) fail_msg("%s", error.text);
    gs_image_free(&image);
}

/* The assembler counts such memory and fails without a word. */
#define LARGE_SHARED "307200 bytes of static shared memory: a block of sm_90a may have 232448, static and dynamic together"

static void test_errors_carry_line_and_log(void **state)
{
    need_compiler(state);
    static const struct {
        const char *text, *first, *log;
    } cases[] = {
        {"extern \"C\" __global__ void k(float *x)\n{\n    int error_free;\n    x[0] = undefined_thing;\n}\n",
         "plain.cu(4): error: identifier \"undefined_thing\" is undefined", "1 error detected"},
        {"extern \"C\" __global__ void k(float *x) { asm volatile(\"foo.u32 240;\"); x[0] = 1; }\n", "error", "ptxas"},
        {"#include \"no/such/file.h\"\n", "no/such/file.h", "plain.cu(1)"},
        {"__shared__ volatile char big[300 << 10];\nextern \"C\" __global__ void k(int i) { big[i] = 1; }\n", LARGE_SHARED, "307200 bytes smem"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_source source = plain(cases[i].text);
        gs_image image;
        gs_error error = {0};
        assert_int_equal(gs_compile_for("sm_90a", &source, &image, &error), GS_ERROR_COMPILE);
        assert_mentions(error.text, cases[i].first);
        assert_mentions(image.log, cases[i].log);
        assert_null(strchr(error.text, '\n'));
        assert_null(image.code);
        gs_image_free(&image);
    }
}

static void test_spills_are_counted(void **state)
{
    need_compiler(state);
    const gs_source source = plain("extern \"C\" __global__ void __launch_bounds__(1024, 2) k(float *x, int n)\n"
                                   "{\n"
                                   "    float a[64];\n"
                                   "#pragma unroll\n"
                                   "    for (int i = 0; i < 64; i++) a[i] = x[i * 1024 + threadIdx.x];\n"
                                   "    for (int j = 0; j < n; j++) {\n"
                                   "#pragma unroll\n"
                                   "        for (int i = 0; i < 64; i++) a[i] = a[i] * a[(i + 17) % 64] + x[j];\n"
                                   "    }\n"
                                   "#pragma unroll\n"
                                   "    for (int i = 0; i < 64; i++) x[i * 1024 + threadIdx.x] = a[i];\n"
                                   "}\n");
    gs_image image;
    assert_int_equal(gs_compile_for("sm_80", &source, &image, NULL), GS_OK);
    assert_true(image.spill_bytes > 0);
    assert_true(image.stack_bytes > 0);
    assert_int_equal(image.registers, 32);
    gs_image_free(&image);
}

/* Without launch bounds the assembler cannot know the register count at entry and ignores setmaxnreg. */
static void test_ignored_setmaxnreg_is_reported(void **state)
{
    need_compiler(state);
    gs_source source = plain("extern \"C\" __global__ void k(float *x)\n"
                             "{ asm volatile(\"setmaxnreg.inc.sync.aligned.u32 240;\"); x[threadIdx.x] = 1; }\n");
    gs_image image;
    assert_int_equal(gs_compile_for("sm_90a", &source, &image, NULL), GS_OK);
    assert_true(image.serialized);
    gs_image_free(&image);
    source.text = "extern \"C\" __global__ void __launch_bounds__(256, 1) k(float *x)\n"
                  "{ asm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\"); x[threadIdx.x] = 1; }\n";
    assert_int_equal(gs_compile_for("sm_90a", &source, &image, NULL), GS_OK);
    assert_false(image.serialized);
    gs_image_free(&image);
}

static void test_options_are_confined(void **state)
{
    need_compiler(state);
    static const char *const forbidden[] = {"-I/usr/include", "--include-path=/", "-D", "", "-lineinfo",
                                            "--pre-include=/etc/passwd", " -DA"};
    gs_source source = good_source();
    source.option_count = 1;
    for (size_t i = 0; i < GS_COUNT(forbidden); i++) {
        gs_image image;
        gs_error error = {0};
        source.options = &forbidden[i];
        assert_int_equal(gs_compile_for("sm_80", &source, &image, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, "options");
        assert_null(image.code);
    }
    const char *many[100];
    for (size_t i = 0; i < GS_COUNT(many); i++) many[i] = "-DA";
    gs_image image;
    source.options = many;
    source.option_count = (int)GS_COUNT(many);
    assert_int_equal(gs_compile_for("sm_80", &source, &image, NULL), GS_ERROR_RANGE);
}

static void test_unknown_target(void **state)
{
    need_compiler(state);
    const gs_source source = good_source();
    gs_image image;
    gs_error error = {0};
    assert_int_equal(gs_compile_for("sm_1", &source, &image, &error), GS_ERROR_COMPILE);
    assert_mentions(error.text, "sm_1");
    gs_image_free(&image);
    char target[200];
    memset(target, 'x', sizeof target - 1);
    target[sizeof target - 1] = '\0';
    assert_int_equal(gs_compile_for(target, &source, &image, &error), GS_ERROR_ARGUMENT);
    target[63 - strlen("--gpu-architecture=")] = '\0';   /* the longest that has room: the compiler refuses it */
    assert_int_equal(gs_compile_for(target, &source, &image, &error), GS_ERROR_COMPILE);
    gs_image_free(&image);
    target[strlen(target)] = 'x';
    target[64 - strlen("--gpu-architecture=")] = '\0';
    assert_int_equal(gs_compile_for(target, &source, &image, &error), GS_ERROR_ARGUMENT);
}

static void make_folder(char folder[GS_PATH])
{
    const char *const base = getenv("TMPDIR");
    snprintf(folder, GS_PATH, "%s/gemmsmith-nvrtc-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
}

static void remove_folder(const char *folder)
{
    DIR *const directory = opendir(folder);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char path[GS_PATH + 300];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') remove(path);
    }
    closedir(directory);
    assert_int_equal(rmdir(folder), 0);
}

/* A file of the current folder is not found by #include: a kernel sees its headers and nothing else. */
static void test_current_folder_is_not_searched(void **state)
{
    need_compiler(state);
    char folder[GS_PATH], here[GS_PATH];
    make_folder(folder);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(gs_file_write("beside.h", "#define BESIDE 1\n", 17, NULL), GS_OK);
    const gs_source source = plain("#include \"beside.h\"\nextern \"C\" __global__ void k(int *x) { *x = BESIDE; }\n");
    gs_image image;
    const gs_status status = gs_compile_for("sm_80", &source, &image, NULL);
    assert_int_equal(chdir(here), 0);
    remove_folder(folder);
    gs_image_free(&image);
    assert_int_equal(status, GS_ERROR_COMPILE);
}

static void test_cache_is_used(void **state)
{
    need_compiler(state);
    char folder[GS_PATH];
    make_folder(folder);
    gs_source source = good_source();
    gs_image first, second, third;
    assert_int_equal(gs_compile_cached("sm_80", folder, &source, &first, NULL), GS_OK);
    assert_int_equal(gs_compile_cached("sm_80", folder, &source, &second, NULL), GS_OK);
    assert_false(first.cached);
    assert_true(second.cached);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.code, second.code, first.size);
    assert_string_equal(first.log, second.log);
    assert_int_equal(first.registers, second.registers);
    static const char *const other[] = {"-DFACTOR=4"};
    source.options = other;
    assert_int_equal(gs_compile_cached("sm_80", folder, &source, &third, NULL), GS_OK);
    assert_false(third.cached);
    gs_image_free(&third);
    /* A folder that cannot be used costs a compile, not an error. */
    assert_int_equal(gs_compile_cached("sm_80", "/dev/null/none", &source, &third, NULL), GS_OK);
    assert_false(third.cached);
    gs_image_free(&third);
    assert_int_equal(gs_compile_cached("sm_80", NULL, &source, &third, NULL), GS_OK);
    gs_image_free(&third);
    gs_image_free(&first);
    gs_image_free(&second);
    /* A kernel that does not compile is not kept. */
    source = plain("nonsense\n");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gs_compile_cached("sm_80", folder, &source, &third, NULL), GS_ERROR_COMPILE);
        assert_true(third.log && third.log[0]);
        gs_image_free(&third);
    }
    remove_folder(folder);
}

/* The PTX is there when it is asked for, with line numbers; the cubin's figures stay what they are; the cache keeps the two apart. */
static void test_ptx(void **state)
{
    need_compiler(state);
    char folder[GS_PATH];
    make_folder(folder);
    gs_source source = good_source();
    gs_image plain_image, with, again;
    assert_int_equal(gs_compile_cached("sm_90a", folder, &source, &plain_image, NULL), GS_OK);
    assert_null(plain_image.ptx);
    source.ptx = true;
    assert_int_equal(gs_compile_cached("sm_90a", folder, &source, &with, NULL), GS_OK);
    assert_false(with.cached);
    assert_non_null(with.ptx);
    assert_int_equal(strlen(with.ptx), with.ptx_size);
    assert_mentions(with.ptx, ".target sm_90a");
    assert_mentions(with.ptx, "\t.loc\t");
    assert_mentions(with.ptx, "good.cu\"");
    assert_memory_equal(with.code, "\177ELF", 4);
    assert_int_equal(with.registers, plain_image.registers);
    assert_int_equal(with.static_smem, plain_image.static_smem);
    assert_int_equal(gs_compile_cached("sm_90a", folder, &source, &again, NULL), GS_OK);
    assert_true(again.cached);
    assert_string_equal(again.ptx, with.ptx);
    assert_int_equal(again.registers, with.registers);
    gs_image_free(&again);
    assert_null(again.ptx);
    gs_image_free(&with);
    gs_image_free(&plain_image);
    source.ptx = false;
    assert_int_equal(gs_compile_cached("sm_90a", folder, &source, &plain_image, NULL), GS_OK);
    assert_true(plain_image.cached && !plain_image.ptx);
    gs_image_free(&plain_image);
    remove_folder(folder);
}

/* A pipe that nobody writes to would be waited for. Before a compiler was found, which stays. */
static void test_a_pipe_is_no_compiler(void)
{
    char folder[] = "/tmp/gemmsmith-nvrtc.XXXXXX", path[64], home[64], text[sizeof((gs_error *)0)->text];
    gs_error error = {0};
    if (!mkdtemp(folder)) abort();
    const char *const set = getenv("GEMMSMITH_NVRTC"), *const before = getenv("CUDA_HOME");
    char *const nvrtc = set ? strdup(set) : NULL, *const toolkit = before ? strdup(before) : NULL;
    snprintf(path, sizeof path, "%s/lib64", folder);
    if (mkdir(path, 0700) != 0) abort();
    snprintf(path, sizeof path, "%s/lib64/libnvrtc.so.13", folder);
    if (mkfifo(path, 0600) != 0) abort();
    alarm(60);
    setenv("GEMMSMITH_NVRTC", path, 1);
    const int version = gs_compiler_version(&error);
    snprintf(text, sizeof text, "%s", error.text);
    setenv("GEMMSMITH_NVRTC", "", 1);
    setenv("CUDA_HOME", folder, 1);
    gs_compiler_version(&error);   /* neither is one in a folder that is looked through */
    alarm(0);
    if (nvrtc) setenv("GEMMSMITH_NVRTC", nvrtc, 1);
    else unsetenv("GEMMSMITH_NVRTC");
    if (toolkit) setenv("CUDA_HOME", toolkit, 1);
    else unsetenv("CUDA_HOME");
    free(nvrtc);
    free(toolkit);
    unlink(path);
    snprintf(home, sizeof home, "%s/lib64", folder);
    rmdir(home);
    rmdir(folder);
    if (version != 0 || !strstr(text, "GEMMSMITH_NVRTC") || !strstr(text, path) || !strstr(text, "not a regular file") || strchr(text, '\n')) {
        fprintf(stderr, "a pipe as NVRTC: version %d, %s\n", version, text);
        exit(1);
    }
}

/* Before a compiler was found, likewise. */
static void test_an_old_compiler_is_refused(void)
{
    static const char *const old[] = {"12.0", "11.8"};
    const char *const set = getenv("GEMMSMITH_NVRTC");
    char *const nvrtc = set ? strdup(set) : NULL;
    setenv("GEMMSMITH_NVRTC", GS_BINARY_DIR "/tests/fake/libfake_nvrtc.so", 1);
    for (int i = 0; i < 3; i++) {
        gs_error error = {0};
        char want[96] = "NVRTC does not tell its version";
        if (i < 2) snprintf(want, sizeof want, "NVRTC is version %s, needed is 12.1 or newer", old[i]);
        if (i < 2) setenv("FAKE_NVRTC", old[i], 1);
        else unsetenv("FAKE_NVRTC");
        const int version = gs_compiler_version(&error);
        if (version == 0 && error.status == GS_ERROR_NO_COMPILER && strcmp(error.text, want) == 0) continue;
        fprintf(stderr, "version %d, %s\nexpected: %s\n", version, error.text, want);
        exit(1);
    }
    if (nvrtc) setenv("GEMMSMITH_NVRTC", nvrtc, 1);
    else unsetenv("GEMMSMITH_NVRTC");
    free(nvrtc);
}

int main(void)
{
    gs_error error = {0};
    test_an_old_compiler_is_refused();
    test_a_pipe_is_no_compiler();   /* which finds another one */
    have_compiler = gs_compiler_version(&error) != 0;
    if (!have_compiler) fprintf(stderr, "NVRTC is missing, real compiles are skipped: %s\n", error.text);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_figures),
        cmocka_unit_test(test_log_serialized),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_good_kernel),
        cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_errors_carry_line_and_log),
        cmocka_unit_test(test_spills_are_counted),
        cmocka_unit_test(test_ignored_setmaxnreg_is_reported),
        cmocka_unit_test(test_options_are_confined),
        cmocka_unit_test(test_unknown_target),
        cmocka_unit_test(test_current_folder_is_not_searched),
        cmocka_unit_test(test_cache_is_used),
        cmocka_unit_test(test_ptx),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : have_compiler ? 0 : 77;
}
