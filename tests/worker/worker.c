/* SPDX-License-Identifier: MIT
 * Proves the child's side of the worker as far as it goes without a GPU: bad requests are answered, not fatal; nothing but replies
 * reaches the parent; contender names and layouts are read right. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/contenders.h"
#include "worker/wire.h"
#include "worker/worker.h"
#include "folder.h"
#include "support/fork.h"

/* ---- names and layouts ---- */

static void names_are_split(void **state)
{
    (void)state;
    /* legend: problem's layout, text, layout and name that it means */
    static const struct {
        gs_layout   own;
        const char *text;
        gs_layout   layout;
        const char *name;
    } good[] = {
        {GS_TN, "cublas",                 GS_TN, "cublas"},
        {GS_NN, "cublas",                 GS_NN, "cublas"},
        {GS_NN, "tn:cublaslt-heuristic",  GS_TN, "cublaslt-heuristic"},
        {GS_TN, "nn:plan",                GS_NN, "plan"},
        {GS_NN, "source:12ab",            GS_NN, "source:12ab"},
        {GS_NN, "tn:source:12ab",         GS_TN, "source:12ab"},
        {GS_NN, ":mma/64x64x32/w2x2/s3/g1", GS_NN, "mma/64x64x32/w2x2/s3/g1"},
    };
    gs_layout layout;
    char name[GS_CONTENDER_NAME];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const gs_problem problem = gs_problem_make(GS_F16, good[i].own, 64, 64, 64);
        assert_int_equal(gs_contender_split(good[i].text, &problem, &layout, name, NULL), GS_OK);
        assert_int_equal(layout, good[i].layout);
        assert_string_equal(name, good[i].name);
    }
    static const char *const bad[] = {"", ":", "tn:", "nt:cublas", "TN:cublas"};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(gs_contender_split(bad[i], &problem, &layout, name, NULL), GS_ERROR_PARSE);
    char lengthy[GS_CONTENDER_NAME + 1];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    assert_int_equal(gs_contender_split(lengthy, &problem, &layout, name, NULL), GS_ERROR_PARSE);
}

static void statuses_are_found_by_name(void **state)
{
    (void)state;
    assert_int_equal(gs_status_find("GS_OK"), GS_OK);
    assert_int_equal(gs_status_find("GS_ERROR_COMPILE"), GS_ERROR_COMPILE);
    assert_int_equal(gs_status_find(gs_status_name(GS_ERROR_WORKER_HUNG)), GS_ERROR_WORKER_HUNG);
    assert_int_equal(gs_status_find("no such code"), GS_ERROR_DEVICE);
}

/* ---- the loop ---- */

typedef struct child {
    pid_t pid;
    FILE *to, *from;
} child;

static child serve(const char *device)
{
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    const pid_t pid = test_fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[0]);
        close(in[1]);
        close(out[0]);
        close(out[1]);
        setvbuf(stdin, NULL, _IOFBF, BUFSIZ);
        _exit(gs_worker_serve(device));
    }
    close(in[0]);
    close(out[1]);
    return (child){pid, fdopen(in[1], "w"), fdopen(out[0], "r")};
}

static json_t *ask(const child *c, const char *request)
{
    char *line = NULL;
    size_t capacity = 0;
    fprintf(c->to, "%s\n", request);
    fflush(c->to);
    assert_true(getline(&line, &capacity, c->from) > 0);
    json_t *const reply = json_loads(line, 0, NULL);
    free(line);
    assert_non_null(reply);
    return reply;
}

static int finish(const child *c)
{
    int code = -1;
    fclose(c->to);
    assert_int_equal(waitpid(c->pid, &code, 0), c->pid);
    assert_int_equal(fgetc(c->from), EOF);
    fclose(c->from);
    assert_true(WIFEXITED(code));
    return WEXITSTATUS(code);
}

static void expect_refusal(const child *c, const char *request, const char *status, const char *field)
{
    json_t *const reply = ask(c, request);
    assert_true(json_is_false(json_object_get(reply, "ok")));
    if (strcmp(gs_reply_string(reply, "status", ""), status) != 0)
        print_error("%s: %s\n", request, gs_reply_string(reply, "message", ""));
    assert_string_equal(gs_reply_string(reply, "status", ""), status);
    if (field) assert_string_equal(gs_reply_string(reply, "field", ""), field);
    assert_true(gs_reply_string(reply, "message", "")[0] != '\0');
    assert_null(json_object_get(reply, "last"));
    json_decref(reply);
}

/* The device's name is nonsense, so that this is the same on a machine with a GPU. */
static void bad_requests_are_answered(void **state)
{
    (void)state;
    const child c = serve("toaster:0");
    expect_refusal(&c, "this is no JSON", "GS_ERROR_PARSE", "request");
    expect_refusal(&c, "[1,2,3]", "GS_ERROR_PARSE", "request");
    expect_refusal(&c, "", "GS_ERROR_PARSE", "request");
    expect_refusal(&c, "{}", "GS_ERROR_NOT_FOUND", "op");
    expect_refusal(&c, "{\"op\":\"dance\"}", "GS_ERROR_NOT_FOUND", "op");
    expect_refusal(&c, "{\"op\":7}", "GS_ERROR_NOT_FOUND", "op");
    expect_refusal(&c, "{\"op\":\"verify\"}", "GS_ERROR_ARGUMENT", "problem");
    expect_refusal(&c, "{\"op\":\"verify\",\"problem\":\"f16:64x64\"}", "GS_ERROR_PARSE", NULL);
    expect_refusal(&c, "{\"op\":\"verify\",\"problem\":\"f16:64x64x64:tn\",\"candidate\":\"xx:cublas\"}", "GS_ERROR_PARSE",
                   "contender");
    expect_refusal(&c, "{\"op\":\"bench\",\"problem\":\"f16:64x64x64:tn:acc=f64\"}", "GS_ERROR_PARSE", NULL);
    expect_refusal(&c, "{\"op\":\"hello\"}", "GS_ERROR_PARSE", "device");
    expect_refusal(&c, "{\"op\":\"hello\"}", "GS_ERROR_PARSE", "device");   /* still there */
    assert_int_equal(finish(&c), 0);
}

/* On a driver whose launches do nothing: who can run is timed, who cannot is told why, the others do not suffer. */
static void a_failing_contender_fails_alone(void **state)
{
    (void)state;
    if (gs_compiler_version(NULL) == 0) skip();
    setenv("GEMMSMITH_LIBCUDA", GS_BINARY_DIR "/tests/fake/libfake_cuda.so", 1);
    setenv("GEMMSMITH_CUBLASLT", "/nonexistent/libcublasLt.so", 1);
    const child c = serve("cuda:0");
    json_t *reply = ask(&c, "{\"op\":\"hello\",\"cache\":\"\"}");
    assert_true(gs_reply_bool(reply, "ok", false));
    assert_int_equal(gs_reply_int(json_object_get(reply, "caps"), "sms", 0), 132);
    json_decref(reply);

    reply = ask(&c, "{\"op\":\"bench\",\"problem\":\"f16:64x64x64:tn\",\"contenders\":[\"cublaslt-heuristic\",\"simple\"],"
                    "\"rounds\":3,\"check\":false}");
    assert_true(gs_reply_bool(reply, "ok", false));
    assert_int_equal(gs_reply_int(reply, "reference", 7), -1);
    const json_t *const entries = json_object_get(reply, "contenders");
    const json_t *const library = json_array_get(entries, 0), *const simple = json_array_get(entries, 1);
    assert_string_not_equal(gs_reply_string(library, "status", ""), "GS_OK");
    assert_true(gs_reply_string(library, "message", "")[0] != '\0');
    assert_null(json_object_get(library, "device_us"));
    assert_string_equal(gs_reply_string(simple, "status", ""), "GS_OK");
    assert_true(gs_reply_number(simple, "device_us", 0) > 0);
    assert_null(json_object_get(simple, "device_ratio"));
    json_decref(reply);

    reply = ask(&c, "{\"op\":\"bench\",\"problem\":\"f16:64x64x64:tn\",\"contenders\":[\"simple\",\"nn:simple\",\"no/such\"],"
                    "\"rounds\":3,\"check\":false,\"samples\":true}");
    assert_int_equal(gs_reply_int(reply, "reference", 7), 0);
    const json_t *const other = json_array_get(json_object_get(reply, "contenders"), 1);
    assert_string_equal(gs_reply_string(other, "layout", ""), "nn");
    assert_non_null(json_object_get(other, "device_ratio"));
    assert_int_equal(json_array_size(json_object_get(other, "device_samples")), 3);
    assert_string_equal(gs_reply_string(json_array_get(json_object_get(reply, "contenders"), 2), "status", ""), "GS_ERROR_PARSE");
    json_decref(reply);

    /* a user kernel comes with the request */
#define COMPILE "{\"op\":\"compile\",\"problem\":\"f16:64x64x64:tn\",\"candidate\":"
#define KERNEL(name, source, entry) "\"kernel\":{\"name\":\"" name "\",\"source\":\"" source "\",\"manifest\":\"manifest 1\\naccumulator f32\\n" \
    "determinism bitwise\\nalign a=2 b=2 c=2 d=2\\nentry " entry "\\ngrid 1 1 1\\nblock 32 1 1\\n\"}}"
#define NOTHING "#include \\\"common/args.h\\\"\\nextern \\\"C\\\" __global__ void gs_kernel(gs_kernel_args) { __shared__ volatile int x[64]; x[threadIdx.x] = 0; }"
    expect_refusal(&c, COMPILE "\"source:1\"}", "GS_ERROR_NOT_FOUND", "contender");
    expect_refusal(&c, COMPILE "\"source:1\"," KERNEL("mine", NOTHING, "gs_kernel"), "GS_ERROR_PARSE", "kernel");
    expect_refusal(&c, COMPILE "\"source:1\",\"kernel\":{\"name\":\"source:1\",\"manifest\":\"\"}}", "GS_ERROR_PARSE", NULL);
    expect_refusal(&c, COMPILE "\"source:1\"," KERNEL("source:1", "int x = ;", "gs_kernel"), "GS_ERROR_COMPILE", NULL);
    expect_refusal(&c, COMPILE "\"source:1\"," KERNEL("source:1", "#include </etc/passwd>", "gs_kernel"), "GS_ERROR_FORBIDDEN", "include");
    reply = ask(&c, COMPILE "\"source:1\"," KERNEL("source:1", NOTHING, "gs_kernel"));
    assert_true(gs_reply_bool(reply, "ok", false));
    assert_true(gs_reply_int(reply, "registers", 0) > 0);
    assert_int_equal(gs_reply_int(reply, "smem", 0), 256);
    json_decref(reply);
    expect_refusal(&c, COMPILE "\"source:2\"," KERNEL("source:1", NOTHING, "gs_kernel"), "GS_ERROR_NOT_FOUND", "contender");
    expect_refusal(&c, COMPILE "\"source:1\"}", "GS_ERROR_NOT_FOUND", "contender");   /* it must come with each */
    reply = ask(&c, COMPILE "\"source:2\"," KERNEL("source:2", NOTHING, "gs_kernel"));
    assert_true(gs_reply_bool(reply, "ok", false));
    json_decref(reply);
    expect_refusal(&c, COMPILE "\"source:1\"}", "GS_ERROR_NOT_FOUND", "contender");   /* not what was prepared under that name */

    /* a verifier whose kernels do nothing says so instead of passing everything */
    expect_refusal(&c, "{\"op\":\"verify\",\"problem\":\"f16:64x64x64:tn\",\"candidate\":\"simple\"}", "GS_ERROR_DEVICE",
                   "verifier");
    expect_refusal(&c, "{\"op\":\"bench\",\"problem\":\"f16:64x64x64:tn\",\"contenders\":[]}", "GS_ERROR_RANGE", "contenders");
    expect_refusal(&c, "{\"op\":\"bench\",\"problem\":\"f16:64x64x64:tn\",\"contenders\":[\"simple\"],\"reference\":1}",
                   "GS_ERROR_RANGE", "reference");
    expect_refusal(&c, "{\"op\":\"bench\",\"problem\":\"f16:64x64x64:tn\",\"contenders\":[\"simple\"],\"mode\":\"x\"}",
                   "GS_ERROR_PARSE", "mode");
    assert_int_equal(finish(&c), 0);
    unsetenv("GEMMSMITH_LIBCUDA");
}

static void lacks_line(const char *lines, const char *name)
{
    if (strstr(lines, name)) fail_msg("%s is in\n%s", name, lines);
}

/* A device whose kernels bring no PTX: it is compiled again for them. Counters need an emulated one. */
static void metrics_of_a_device(void **state)
{
    (void)state;
    if (gs_compiler_version(NULL) == 0) skip();
    setenv("GEMMSMITH_LIBCUDA", GS_BINARY_DIR "/tests/fake/libfake_cuda.so", 1);
    setenv("GEMMSMITH_CUBLASLT", "/nonexistent/libcublasLt.so", 1);
    const child c = serve("cuda:0");
#define METRICS "{\"op\":\"metrics\",\"problem\":\"f16:64x64x64:tn\",\"candidate\":"
    json_t *const reply = ask(&c, METRICS "\"mma/64x64x32/w2x2/s3/g8\"}");
    const char *const lines = gs_reply_string(reply, "metrics", "");
    assert_non_null(strstr(lines, "threads 128\n"));
    assert_non_null(strstr(lines, "\nblocks_sm "));
    assert_non_null(strstr(lines, "\nptx_ldmatrix "));
    lacks_line(lines, "ptx_mma 0\n");
    lacks_line(lines, "ptx_cp_async 0\n");
    lacks_line(lines, "launch_us");
    json_decref(reply);
    expect_refusal(&c, METRICS "\"mma/64x64x32/w2x2/s3/g8\",\"launch\":true}", "GS_ERROR_UNSUPPORTED", "device");
    static const char *const planned[] = {"plan", "measured"};
    for (int i = 0; i < 2; i++) {   /* they have a name, and no kernel of their own */
        char request[160], message[80];
        snprintf(request, sizeof request, METRICS "\"%s\"}", planned[i]);
        snprintf(message, sizeof message, "%s is no kernel that can be looked into", planned[i]);
        expect_refusal(&c, request, "GS_ERROR_UNSUPPORTED", "candidate");
        json_t *const refused = ask(&c, request);
        assert_string_equal(gs_reply_string(refused, "message", ""), message);
        json_decref(refused);
    }
    expect_refusal(&c, METRICS "\"no/such\"}", "GS_ERROR_PARSE", "family");
    expect_refusal(&c, "{\"op\":\"metrics\",\"candidate\":\"simple\"}", "GS_ERROR_ARGUMENT", "problem");
    assert_int_equal(finish(&c), 0);
    unsetenv("GEMMSMITH_LIBCUDA");
}

/* ---- for a device that is not there ---- */

static int files_in(const char *folder)
{
    int count = 0;
    DIR *const d = opendir(folder);
    const struct dirent *entry;
    while (d && (entry = readdir(d))) count += entry->d_name[0] != '.';
    if (d) closedir(d);
    return count;
}

/* A request about a problem for the caps of an H200, with its kernels kept in the folder. */
static const char *precompile(const char *folder, const char *rest)
{
    static char line[4096];
    gs_text text = {0};
    gs_text_addf(&text, "{\"op\":\"precompile\",\"problem\":\"f16:64x64x64:tn\",\"cache\":\"%s\",%s", folder, rest);
    gs_json json = {&text, true};
    gs_caps_put(&json, gs_caps_find("h200"));
    gs_json_end(&json, '}');
    snprintf(line, sizeof line, "%s", gs_text_string(&text));
    gs_text_free(&text);
    return line;
}

/* Compiled into the cache without opening a device, and refused for what can be seen without one. */
static void kernels_are_compiled_ahead(void **state)
{
    (void)state;
    char folder[] = "/tmp/gs-ahead-XXXXXX";
    if (gs_compiler_version(NULL) == 0) skip();
    assert_non_null(mkdtemp(folder));
    const child c = serve("toaster:0");
    json_t *reply = ask(&c, precompile(folder, "\"candidate\":\"simple\""));
    assert_true(gs_reply_bool(reply, "ok", false));
    assert_int_equal(json_object_size(reply), 1);
    json_decref(reply);
    const int one = files_in(folder);
    assert_true(one > 0);
#define OF(source) "\"candidate\":\"source:1\"," KERNEL("source:1", source, "gs_kernel")
    gs_text text = {0};
    gs_text_add(&text, OF(NOTHING));
    text.data[--text.size] = '\0';   /* KERNEL ends the request */
    reply = ask(&c, precompile(folder, gs_text_string(&text)));
    assert_true(gs_reply_bool(reply, "ok", false));
    json_decref(reply);
    assert_true(files_in(folder) > one);
    const int two = files_in(folder);
    static const struct { const char *rest, *status, *field; } wrong[] = {
        {"\"candidate\":\"no/such\"", "GS_ERROR_PARSE", "family"},
        {"\"candidate\":\"ws/256x128x64/s12/c2x1/coop/g8\"", "GS_ERROR_UNSUPPORTED", NULL},
        {OF("int x = ;"), "GS_ERROR_COMPILE", NULL},
        {OF("#include </etc/passwd>"), "GS_ERROR_FORBIDDEN", "include"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        gs_text_clear(&text);
        gs_text_add(&text, wrong[i].rest);
        if (i > 1) text.data[--text.size] = '\0';
        expect_refusal(&c, precompile(folder, gs_text_string(&text)), wrong[i].status, wrong[i].field);
    }
    gs_text_free(&text);
    assert_int_equal(files_in(folder), two);
    assert_int_equal(finish(&c), 0);
    remove_all(folder);
}

/* ---- on an emulated device ---- */

static const char *string_of(const json_t *object, const char *name)
{
    if (!json_is_string(json_object_get(object, name))) fail_msg("there is no %s", name);
    return json_string_value(json_object_get(object, name));
}

static double number_of(const json_t *object, const char *name)
{
    if (!json_is_number(json_object_get(object, name))) fail_msg("there is no %s", name);
    return json_number_value(json_object_get(object, name));
}

static bool truth_of(const json_t *object, const char *name)
{
    if (!json_is_boolean(json_object_get(object, name))) fail_msg("there is no %s", name);
    return json_is_true(json_object_get(object, name));
}

static json_t *good(const child *c, const char *request)
{
    json_t *const reply = ask(c, request);
    if (!json_is_true(json_object_get(reply, "ok"))) fail_msg("%s: %s", request, gs_reply_string(reply, "message", ""));
    return reply;
}

static const json_t *entry_of(const json_t *reply, size_t at) { return json_array_get(json_object_get(reply, "contenders"), at); }

#define TINY   "\"problem\":\"f16:16x8x16:tn\""
#define ZEROES "\"kernel\":{\"name\":\"source:9\",\"source\":\"#include \\\"common/args.h\\\"\\n" \
    "extern \\\"C\\\" __global__ void gs_kernel(gs_kernel_args p) { ((unsigned short *)p.d)[blockIdx.x * p.ldd + threadIdx.x] = 0; }\"," \
    "\"manifest\":\"manifest 1\\naccumulator f32\\ndeterminism bitwise\\nalign a=2 b=2 c=2 d=2\\nentry gs_kernel\\ngrid m 1 1\\nblock 8 1 1\\n\"}"

/* Every field that a verdict has, of a good schedule and of a kernel that writes zeros. */
static void verdicts_of_an_emulated_device(void **state)
{
    (void)state;
    if (gs_compiler_version(NULL) == 0) skip();
    const child c = serve("emu:h200,seed=3");
    json_t *reply = good(&c, "{\"op\":\"hello\"}");
    assert_string_equal(string_of(reply, "device"), "emu:h200,seed=3");
    assert_true(number_of(reply, "cublaslt") == 0 && number_of(reply, "nvrtc") > 0 && truth_of(json_object_get(reply, "caps"), "emulated"));
    json_decref(reply);

    reply = good(&c, "{\"op\":\"verify\"," TINY ",\"candidate\":\"simple\",\"parts\":1,\"seed\":5}");
    assert_string_equal(string_of(reply, "verdict"), "pass");
    assert_string_equal(string_of(reply, "problem"), "f16:16x8x16:tn");
    assert_true(number_of(reply, "part") == 0 && number_of(reply, "mismatches") == 0 && number_of(reply, "row") == -1 && number_of(reply, "col") == -1);
    assert_true(number_of(reply, "got") == 0 && number_of(reply, "want") == 0 && number_of(reply, "error") == 0 && number_of(reply, "limit") == 0);
    assert_true(string_of(reply, "reason")[0] && string_of(reply, "detail")[0] && !truth_of(reply, "cublaslt") && !truth_of(reply, "yardstick"));
    assert_true(number_of(reply, "registers") > 0 && number_of(reply, "smem") >= 0 && number_of(reply, "seconds") > 0);
    json_decref(reply);

    reply = good(&c, "{\"op\":\"verify\"," TINY ",\"candidate\":\"source:9\",\"parts\":1," ZEROES "}");
    assert_string_equal(string_of(reply, "verdict"), "exact");
    assert_string_equal(string_of(reply, "problem"), "f16:16x8x16:tn");
    assert_true(number_of(reply, "part") == 1 && number_of(reply, "mismatches") > 8 && number_of(reply, "row") >= 0 && number_of(reply, "col") >= 0);
    assert_true(number_of(reply, "got") == 0 && number_of(reply, "want") != 0 && number_of(reply, "registers") == 0 && number_of(reply, "smem") == 0);
    assert_non_null(strstr(string_of(reply, "reason"), " of 128 elements, first ("));
    json_decref(reply);

    reply = good(&c, "{\"op\":\"metrics\"," TINY ",\"candidate\":\"simple\",\"launch\":true}");
    assert_non_null(strstr(string_of(reply, "metrics"), "device_store 256\n"));
    json_decref(reply);
    reply = good(&c, "{\"op\":\"compile\"," TINY ",\"candidate\":\"simple\"}");
    assert_true(number_of(reply, "registers") > 0 && number_of(reply, "smem") >= 0 && string_of(reply, "detail")[0] && !json_object_get(reply, "unfiltered"));
    json_decref(reply);
    assert_int_equal(finish(&c), 0);
}

/* Every field of a measurement, and which are not there where something was not asked for, or is wrong. */
static void timings_of_an_emulated_device(void **state)
{
    (void)state;
    if (gs_compiler_version(NULL) == 0) skip();
    const child c = serve("emu:h200,seed=3");
    json_t *reply = good(&c, "{\"op\":\"bench\"," TINY ",\"contenders\":[\"simple\",\"nn:simple\",\"no/such\",\"source:9\"],"
                               "\"rounds\":3,\"samples\":true," ZEROES "}");
    assert_true(number_of(reply, "reference") == 0 && truth_of(reply, "predicted") && number_of(reply, "rounds") >= 1 && number_of(reply, "calls") >= 1);
    assert_true(number_of(reply, "sets") >= 1 && number_of(reply, "seconds") >= 0);
    assert_string_equal(string_of(reply, "mode"), "offline");
    assert_true(!json_object_get(reply, "dependent") && !json_object_get(reply, "behind") && !json_object_get(reply, "routing"));
    const json_t *const both = json_object_get(reply, "clocks"), *const before = json_object_get(both, "before"), *const after = json_object_get(both, "after");
    static const char *const clocks[] = {"sm_mhz", "memory_mhz", "power_w", "temperature_c"};
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) assert_true(number_of(before, clocks[i]) >= 0 && number_of(after, clocks[i]) >= 0);
    const json_t *const one = entry_of(reply, 0), *const turned = entry_of(reply, 1), *const none = entry_of(reply, 2), *const wrong = entry_of(reply, 3);
    assert_int_equal(json_array_size(json_object_get(reply, "contenders")), 4);
    assert_string_equal(string_of(one, "name"), "simple");
    assert_string_equal(string_of(one, "layout"), "tn");
    assert_string_equal(string_of(one, "problem"), "f16:16x8x16:tn");
    assert_string_equal(string_of(one, "status"), "GS_OK");
    assert_string_equal(string_of(one, "message"), "");
    assert_true(string_of(one, "detail")[0] && number_of(one, "suggestion") == 0 && !truth_of(one, "wrong") && number_of(one, "mismatches") == 0);
    assert_true(number_of(one, "device_us") > 0 && !json_object_get(one, "rounds"));
    const json_t *const ratio = json_object_get(one, "device_ratio");
    assert_true(number_of(ratio, "median") == 1 && number_of(ratio, "low") == 1 && number_of(ratio, "high") == 1 && string_of(ratio, "verdict")[0]);
    assert_int_equal(json_array_size(json_object_get(one, "device_samples")), (int)number_of(reply, "rounds"));
    assert_string_equal(string_of(turned, "layout"), "nn");
    assert_string_equal(string_of(turned, "problem"), "f16:16x8x16:nn");
    assert_string_equal(string_of(none, "status"), "GS_ERROR_PARSE");
    assert_true(string_of(none, "message")[0] && !truth_of(none, "wrong") && !json_object_get(none, "device_us") && number_of(none, "mismatches") == 0);
    assert_string_equal(string_of(wrong, "status"), "GS_OK");
    assert_true(truth_of(wrong, "wrong") && number_of(wrong, "mismatches") > 0);
    assert_true(!json_object_get(wrong, "device_us") && !json_object_get(wrong, "device_ratio"));
    json_decref(reply);

    /* the one that the others are compared with is wrong, or there is none; without samples; what was asked for is said */
    reply = good(&c, "{\"op\":\"bench\"," TINY ",\"contenders\":[\"source:9\",\"simple\"],\"rounds\":3,\"dependent\":true," ZEROES "}");
    assert_true(number_of(reply, "reference") == -1 && truth_of(reply, "dependent"));
    assert_true(number_of(entry_of(reply, 1), "device_us") > 0);
    assert_true(!json_object_get(entry_of(reply, 1), "device_ratio") && !json_object_get(entry_of(reply, 1), "device_samples"));
    json_decref(reply);
    reply = good(&c, "{\"op\":\"bench\"," TINY ",\"contenders\":[\"no/such\"]}");
    assert_true(number_of(reply, "reference") == -1 && number_of(reply, "rounds") == 0 && number_of(reply, "calls") == 0 && number_of(reply, "sets") == 0);
    assert_true(number_of(reply, "seconds") == 0 && !json_object_get(reply, "predicted") && !json_object_get(reply, "clocks"));
    json_decref(reply);
    reply = good(&c, "{\"op\":\"bench\",\"problem\":\"bf16:16x8x16:tn:g=2\",\"contenders\":[\"simple\"],\"rounds\":3,\"routing\":\"skewed\"}");
    assert_string_equal(string_of(reply, "routing"), "skewed");
    json_decref(reply);

    expect_refusal(&c, "{\"op\":\"bench\"," TINY ",\"contenders\":[\"simple\"],\"routing\":\"x\"}", "GS_ERROR_PARSE", "routing");
    expect_refusal(&c, "{\"op\":\"bench\"," TINY ",\"contenders\":[\"simple\",7]}", "GS_ERROR_PARSE", "contenders");
    expect_refusal(&c, "{\"op\":\"bench\"," TINY ",\"contenders\":[\"simple\"],\"reference\":-1}", "GS_ERROR_RANGE", "reference");
    assert_int_equal(finish(&c), 0);
}

static void a_parent_that_is_gone_ends_the_child(void **state)
{
    (void)state;
    const child c = serve("toaster:0");
    assert_int_equal(finish(&c), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_split), cmocka_unit_test(statuses_are_found_by_name),
        cmocka_unit_test(bad_requests_are_answered), cmocka_unit_test(a_failing_contender_fails_alone),
        cmocka_unit_test(metrics_of_a_device), cmocka_unit_test(kernels_are_compiled_ahead),
        cmocka_unit_test(verdicts_of_an_emulated_device), cmocka_unit_test(timings_of_an_emulated_device),
        cmocka_unit_test(a_parent_that_is_gone_ends_the_child),
    };
    return cmocka_run_group_tests_name("worker/worker", tests, NULL, NULL);
}
