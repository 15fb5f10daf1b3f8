/* SPDX-License-Identifier: MIT
 * The sandbox of the compiler, without the inspection before it: what it gives for a good text, what it cannot read, and that every bomb ends in bounded time
 * and memory with COMPILE. What of it needs the filter of system calls says so where there is none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "sandbox/restrict.h"
#include "sandbox/sandbox.h"
#include "support/fork.h"

#define TARGET  "sm_90a"
#define KERNEL  "extern \"C\" __global__ void gs_kernel(float *p) { p[threadIdx.x] = 1; }\n"
#define LIMIT_S  2.0
#define MARGIN_S 6.0    /* on a machine that is busy */

static gs_sandbox sandbox;
static gs_error   error;
static bool       filters;

static gs_status compile(const char *text, gs_image *image)
{
    const gs_source source = {.name = "candidate.cu", .text = text, .ptx = true};
    error = (gs_error){0};
    return gs_sandbox_compile(&sandbox, TARGET, &source, image, &error);
}

static void refused(const char *text, const char *word)
{
    gs_image image;
    const int64_t began = gs_clock_ns();
    const gs_status status = compile(text, &image);
    const double seconds = 1e-9 * (double)(gs_clock_ns() - began);
    print_message("%5.2f s  %.110s\n", seconds, error.text);
    if (status != GS_ERROR_COMPILE || !strstr(error.text, word)) fail_msg("%s: \"%s\", expected \"%s\"", gs_status_name(status), error.text, word);
    assert_null(image.code);
    assert_true(seconds < LIMIT_S + MARGIN_S);
}

static int descriptors_of(pid_t pid)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *const d = opendir(path);
    assert_non_null(d);
    while (readdir(d)) count++;
    closedir(d);
    return count;
}

static int descriptors(void) { return descriptors_of(getpid()); }

/* ---- good texts ---- */

static void the_same_as_without(void **state)
{
    (void)state;
    const char *const names[] = {"common/one.h"}, *const texts[] = {"#define ONE 1.0f\n"}, *const options[] = {"-DTWO=2.0f"};
    gs_source source = {.name = "candidate.cu", .text = "#include \"common/one.h\"\nextern \"C\" __global__ void k(float *p) { *p = ONE + TWO; }\n",
                              .options = options, .option_count = 1, .header_names = names, .header_texts = texts, .header_count = 1};
    gs_image inside, outside;
    assert_int_equal(gs_sandbox_compile(&sandbox, TARGET, &source, &inside, &error), GS_OK);
    assert_int_equal(gs_compile_for(TARGET, &source, &outside, &error), GS_OK);
    assert_int_equal(inside.size, outside.size);
    assert_memory_equal(inside.code, outside.code, inside.size);
    assert_true(!inside.ptx && !outside.ptx && inside.registers == outside.registers && inside.registers > 0 && inside.compile_ms > 0 && !inside.cached);
    gs_image_free(&inside);
    gs_image_free(&outside);
    source.ptx = true;   /* with lines, and the name of the file without this machine's folders */
    assert_int_equal(gs_sandbox_compile(&sandbox, TARGET, &source, &inside, &error), GS_OK);
    assert_non_null(strstr(inside.ptx, "\"/candidate.cu\""));
    assert_int_equal(inside.ptx_size, strlen(inside.ptx));
    gs_image_free(&inside);
}

static void texts_that_are_wrong(void **state)
{
    (void)state;
    refused("int x = ;\n", "candidate.cu(1): error");
    refused("\n\nstatic_assert(false, \"IGNORE ALL\");\n", "candidate.cu(3): error: static assertion failed");
    assert_null(strstr(error.text, "IGNORE"));
    refused("#error IGNORE ALL\n", "#error directive");
    assert_null(strstr(error.text, "IGNORE"));
    refused("#include \"~caf\xc3\xa9\x7f\"\n", "\"~caf???\"");   /* what cannot be printed */
}

static void options_are_ours(void **state)
{
    (void)state;
    static const char *const theirs[] = {"-I/etc", "--include-path=/etc", "--pre-include=/etc/passwd", "-dlto", "--relocatable-device-code=true", "-D", "@/etc/passwd", "--device-int128"};
    gs_image image;
    for (size_t i = 0; i < GS_COUNT(theirs); i++) {
        const gs_source source = {.name = "candidate.cu", .text = KERNEL, .options = &theirs[i], .option_count = 1, .ptx = true};
        assert_int_equal(gs_sandbox_compile(&sandbox, TARGET, &source, &image, &error), GS_ERROR_COMPILE);
        assert_int_equal(gs_compile_for(TARGET, &source, &image, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, "options");
    }
}

/* ---- files ---- */

static bool compiles_here(const char *text)
{
    const gs_source source = {.name = "candidate.cu", .text = text, .ptx = true};
    gs_image image;
    const gs_status status = gs_compile_for(TARGET, &source, &image, &error);
    gs_image_free(&image);
    return status == GS_OK;
}

/* Each text compiles if it can see the file, and only then. NVRTC in this process sees it, which is why the sandbox is there. */
static void no_file_is_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "#include \"%s\"\n#ifndef SEEN\n#error not seen\n#endif\n" KERNEL,
        "#include <%s>\n#ifndef SEEN\n#error not seen\n#endif\n" KERNEL,
        "#define NAME <%s>\n#include NAME\n#ifndef SEEN\n#error not seen\n#endif\n" KERNEL,
        "#if !__has_include(\"%s\")\n#error not seen\n#endif\n" KERNEL,
        "#if !__has_include(<%s>)\n#error not seen\n#endif\n" KERNEL,
        "#include \"../../../../../../../../../../%s\"\n#ifndef SEEN\n#error not seen\n#endif\n" KERNEL,
    };
    char path[] = "/tmp/gs-sandbox-XXXXXX", text[512];
    if (!filters) {
        print_message("no filter of system calls here: skipped\n");
        skip();
    }
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "#define SEEN\n", 13), 13);
    close(file);
    int seen = 0;
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        gs_image image;
        snprintf(text, sizeof text, texts[i], path);
        seen += compiles_here(text);
        assert_int_equal(compile(text, &image), GS_ERROR_COMPILE);
        gs_image_free(&image);
    }
    assert_true(seen >= 4);
    refused("#embed \"/etc/passwd\"\n" KERNEL, "candidate.cu(1)");
    refused("#include \"/etc/passwd\"\n" KERNEL, "cannot open source file");
    refused("#include \"/dev/stdin\"\n" KERNEL, "cannot open source file");
    refused("#include \"/proc/self/environ\"\n" KERNEL, "cannot open source file");
    remove(path);
}

/* ---- bombs ---- */

static void bombs_of_time(void **state)
{
    (void)state;
    refused("template <int N> struct t { typename t<N + 1>::a x; };\n__device__ t<0> y;\n", "");
    refused("constexpr unsigned f() { unsigned x = 0; for (unsigned long long i = 0; i < ~0ull; i++) x += (unsigned)i; return x; }\nconstexpr unsigned y = f();\n", "");
    refused("constexpr int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\nconstexpr int y = f(60);\n", "");
    refused("template <int N, int M> struct t { enum { v = t<N - 1, M * 2>::v + t<N - 1, M * 2 + 1>::v }; };\ntemplate <int M> struct t<0, M> { enum { v = 1 }; };\n"
            "__device__ int y = t<40, 0>::v;\n", "");
}

static void bombs_of_memory(void **state)
{
    (void)state;
    gs_text text = {0};
    gs_text_add(&text, "#define A0 x+x\n");
    for (int i = 1; i <= 30; i++) gs_text_addf(&text, "#define A%d A%d+A%d\n", i, i - 1, i - 1);
    gs_text_add(&text, "__device__ int x;\n__device__ int y() { return A30; }\n");
    refused(gs_text_string(&text), "");
    gs_text_clear(&text);
    gs_text_add(&text, "__device__ int x = 1");
    while (text.size < 1 << 20) gs_text_add(&text, "++++++++++++++++");
    gs_text_add(&text, "1;\n");
    refused(gs_text_string(&text), "");
    gs_text_clear(&text);
    gs_text_add(&text, "__device__ int x = ");
    while (text.size < 1 << 20) gs_text_add(&text, "((((((((((((((((");
    refused(gs_text_string(&text), "");
    gs_text_free(&text);
    refused("__device__ int a[1ull << 40] = {1};\n" KERNEL, "");

}

static void a_good_one_after_them(void **state)
{
    (void)state;
    gs_image image;
    assert_int_equal(compile(KERNEL, &image), GS_OK);
    assert_true(sandbox.unfiltered == !filters);
    gs_image_free(&image);
}

/* It serves for as long as its parent lives: nothing that it opens for one compilation may stay open, however that ends. */
static void no_descriptor_stays_open(void **state)
{
    (void)state;
    gs_image image;
    assert_int_equal(compile(KERNEL, &image), GS_OK);
    gs_image_free(&image);
    const int before = descriptors_of(sandbox.pid);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(compile(KERNEL, &image), GS_OK);
        gs_image_free(&image);
        assert_int_equal(compile("no kernel", &image), GS_ERROR_COMPILE);
    }
    assert_int_equal(descriptors_of(sandbox.pid), before);
}

/* kB of addresses. */
static long size_of(pid_t pid)
{
    char path[64], line[256];
    long kb = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *const file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) sscanf(line, "VmSize: %ld kB", &kb);
    fclose(file);
    assert_true(kb > 0);
    return kb;
}

/* Nor does it keep what it was asked. */
static void no_text_stays_there(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip();   /* it keeps what was freed, to find who uses it */
#endif
    const size_t size = (size_t)1 << 20;
    char *const text = malloc(size + sizeof KERNEL);
    gs_image image;
    long before = 0;
    assert_non_null(text);
    memset(text, ' ', size);
    memcpy(text + size, "/", 2);   /* no kernel */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(compile(text, &image), GS_ERROR_COMPILE);
        if (i == 1) before = size_of(sandbox.pid);
    }
    free(text);
    assert_true(size_of(sandbox.pid) - before < (long)size / 1024);
}

/* ---- what a restricted process can do ---- */

static int exit_code_of(void (*what)(int pipe))
{
    int ends[2], code = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = test_fork();
    if (pid == 0) what(ends[1]);
    assert_true(pid > 0);
    close(ends[1]);
    assert_int_equal(waitpid(pid, &code, 0), pid);
    close(ends[0]);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 256 + WTERMSIG(code);
}

/* Also what restricting itself opened, as a file of /proc that tells about the machine, is closed. */
static _Noreturn void look_for_descriptors(int pipe)
{
    int open_ones = 0;
    if (gs_restrict(pipe, 20, NULL) != GS_OK) _exit(100);
    for (int i = 0; i < 64; i++) open_ones += close(i) == 0;
    _exit(open_ones);
}

static void the_pipe_alone_is_open(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(look_for_descriptors), 1);
}

static _Noreturn void try_what_is_forbidden(int pipe)
{
    int refusals = 0;
    const pid_t parent = getppid();
    char *const arguments[] = {(char *)"/bin/true", NULL};
    if (gs_restrict(pipe, 20, NULL) != GS_OK) _exit(100);
    refusals += open("/etc/passwd", O_RDONLY) < 0 && errno == EPERM;
    refusals += creat("/tmp/gs-forbidden", 0600) < 0 && errno == EPERM;
    refusals += access("/etc/passwd", F_OK) < 0 && errno == EPERM;
    refusals += socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM;
    refusals += fork() < 0 && errno == EPERM;
    refusals += execve(arguments[0], arguments, NULL) < 0 && errno == EPERM;
    refusals += ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM;
    refusals += kill(parent, SIGTERM) < 0 && errno == EPERM;
    refusals += write(GS_RESTRICT_PIPE, "x", 1) == 1;
    refusals += write(GS_RESTRICT_PIPE + 1, "x", 1) < 0;
    _exit(refusals);
}

static void the_forbidden_is_refused(void **state)
{
    (void)state;
    if (!filters) {
        print_message("no filter of system calls here: skipped\n");
        skip();
    }
    assert_int_equal(exit_code_of(try_what_is_forbidden), 10);
}

/* A filter that allows everything, set without libseccomp: where that can be, ours can. */
static void set_any_filter(int pipe)
{
    struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {1, &all};
    (void)pipe;
    _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : 1);
}

static void there_is_a_filter_where_there_can_be(void **state)
{
    (void)state;
    assert_int_equal(filters, exit_code_of(set_any_filter) == 0);
}

static void take_memory(int pipe)
{
    size_t taken = 0;
    if (gs_restrict(pipe, 20, NULL) != GS_OK) _exit(100);
    while (taken < 3 * GS_RESTRICT_MEMORY && calloc(1, (size_t)64 << 20)) taken += (size_t)64 << 20;
    _exit(taken > GS_RESTRICT_MEMORY / 2 && taken <= GS_RESTRICT_MEMORY ? 0 : 1);
}

static void take_time(int pipe)
{
    if (gs_restrict(pipe, 1, NULL) != GS_OK) _exit(100);
    for (volatile unsigned i = 0;; i++) continue;
}

static void memory_and_time_end(void **state)
{
    (void)state;
#ifndef __SANITIZE_ADDRESS__   /* there calloc ends the process with a report */
    assert_int_equal(exit_code_of(take_memory), 0);
#else
    (void)take_memory;
#endif
    assert_int_equal(exit_code_of(take_time), 256 + SIGXCPU);
}

/* ---- its end ---- */

static void a_lost_sandbox(void **state)
{
    (void)state;
    gs_image image;
    const int before = descriptors();
    assert_int_equal(kill(sandbox.pid, SIGKILL), 0);
    assert_int_equal(compile(KERNEL, &image), GS_ERROR_IO);
    assert_int_equal(sandbox.pid, 0);
    assert_int_equal(descriptors(), before - 1);
    assert_int_equal(compile(KERNEL, &image), GS_ERROR_IO);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    if (gs_sandbox_start(&sandbox, &error) != GS_OK || gs_restrict_probe(&filters, &error) != GS_OK) {
        print_error("%s\n", error.text);
        return 1;
    }
    sandbox.limit_s = LIMIT_S;
    if (!gs_compiler_version(&error)) {
        print_message("skipped: %s\n", error.text);
        gs_sandbox_stop(&sandbox);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_as_without), cmocka_unit_test(texts_that_are_wrong), cmocka_unit_test(options_are_ours), cmocka_unit_test(no_file_is_read),
        cmocka_unit_test(bombs_of_time), cmocka_unit_test(bombs_of_memory), cmocka_unit_test(a_good_one_after_them), cmocka_unit_test(no_descriptor_stays_open),
        cmocka_unit_test(no_text_stays_there),
        cmocka_unit_test(the_forbidden_is_refused), cmocka_unit_test(the_pipe_alone_is_open),
        cmocka_unit_test(there_is_a_filter_where_there_can_be),
        cmocka_unit_test(memory_and_time_end), cmocka_unit_test(a_lost_sandbox),
    };
    return cmocka_run_group_tests_name("the compiler's sandbox", tests, NULL, NULL);
}
