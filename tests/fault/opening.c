/* SPDX-License-Identifier: MIT
 * On a fake libcuda: a device is opened, or refused for the right reason. Old and missing drivers are told apart, every call on the way may fail without a leak, and the
 * device's caps are those that the driver reports. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>
#include <gemmsmith/problem.h>

#include "failing_driver.h"

#define FAKE_OLD GS_BINARY_DIR "/tests/fake/libfake_cuda_old.so"

/* ---- cases that need a process without a loaded driver: this program runs itself ---- */

/* Runs "<self> <mode>" with the settings; returns its exit code and its output. */
static int run_self(const char *settings, const char *mode, char *output, size_t size)
{
    char self[512], command[1400];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof command, "env GEMMSMITH_LIBCUDA='%s' %s '%s' %s", FAKE, settings, self, mode);
    FILE *const pipe = popen(command, "r");
    assert_non_null(pipe);
    const size_t got = fread(output, 1, size - 1, pipe);
    output[got] = '\0';
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The child: opens a device, prints the error and exits with the status. */
static int child_open(void)
{
    gs_device *device;
    gs_error error = {0};
    const gs_status status = gs_device_open(&device, "cuda:0", "", &error);
    printf("%s\n", error.text);
    gs_device_close(&device);
    return (int)status;
}

static void test_opening_says_what_is_missing(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        gs_status   status;
        const char *text;
    } cases[] = {
        {"GEMMSMITH_LIBCUDA=/nonexistent/libcuda.so.1",          GS_ERROR_NO_DRIVER,      "install NVIDIA's driver"},
        {"GEMMSMITH_LIBCUDA=/dev/null",                          GS_ERROR_NO_DRIVER,      "/dev/null: not a regular file"},
        {"GEMMSMITH_LIBCUDA=libm.so.6",                          GS_ERROR_NO_DRIVER,      "not NVIDIA's driver"},
        {"FAKE_CUDA_VERSION=11080",                              GS_ERROR_DRIVER_TOO_OLD, "CUDA 11.8, needed is 12.0"},
        {"FAKE_CUDA_VERSION=12000",                              GS_OK,                   ""},
        {"FAKE_CUDA_DEVICES=0",                                  GS_ERROR_NO_DEVICE,      "0 devices"},
        {"FAKE_CUDA_CC=75",                                      GS_ERROR_DEVICE_UNKNOWN, "7.5"},
        {"FAKE_CUDA_FAIL=cuDriverGetVersion",                    GS_ERROR_NO_DRIVER,      "cuDriverGetVersion"},
        {"FAKE_CUDA_FAIL=cuInit FAKE_CUDA_ERROR=100",            GS_ERROR_NO_DEVICE,      "cuInit"},
        {"FAKE_CUDA_FAIL=cuInit FAKE_CUDA_ERROR=34",             GS_ERROR_NO_DRIVER,      "cuInit"},
        {"FAKE_CUDA_FAIL=cuInit FAKE_CUDA_ERROR=803",            GS_ERROR_NO_DRIVER,      "cuInit"},
        {"FAKE_CUDA_FAIL=cuInit FAKE_CUDA_ERROR=804",            GS_ERROR_DRIVER_TOO_OLD, "cuInit"},
        {"FAKE_CUDA_FAIL=cuInit FAKE_CUDA_ERROR=999",            GS_ERROR_DEVICE,         "cuInit"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char output[1024];
        const int code = run_self(cases[i].settings, "open", output, sizeof output);
        if (code != (int)cases[i].status || !strstr(output, cases[i].text))
            fail_msg("%s: status %d, expected %d with \"%s\": %s", cases[i].settings, code, (int)cases[i].status, cases[i].text,
                     output);
    }
}

/* The child with a driver without the optional entry points: exits with the number of the first check that failed. */
static int child_old(void)
{
    gs_device *device;
    gs_module module;
    gs_function function;
    gs_error error = {0};
    int clusters;
    gs_tensor_map map;
    static char code[] = "cubin";
    const gs_image image = {.code = code, .size = sizeof code};
    const gs_tensor tensor = {.address = 4096, .element = GS_F16, .extent = {64, 64}, .stride = 128, .box = {64, 64},
                              .swizzle = 128};

    if (gs_device_open(&device, "cuda:0", "", &error) != GS_OK) return 1;
    if (strncmp(device->caps.uuid, "GPU-", 4) != 0) return 2;
    if (device->ops->load(device, &image, &module, NULL) != GS_OK) return 3;
    if (device->ops->function(device, module, "k", &function, NULL, NULL) != GS_OK) return 4;
    gs_launch launch = {.function = function, .grid = {1, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}, .dependent = true};
    if (device->ops->launch(device, &launch, NULL, NULL) != GS_OK) return 5;
    if (device->ops->max_clusters(device, &launch, &clusters, &error) != GS_ERROR_UNSUPPORTED) return 6;
    launch.cluster[0] = 2;
    if (device->ops->launch(device, &launch, NULL, &error) != GS_ERROR_UNSUPPORTED) return 7;
    if (device->ops->tensor_map(device, &tensor, &map, &error) != GS_ERROR_UNSUPPORTED) return 8;
    gs_queue queue;
    gs_graph graph;
    gs_capture capture;
    gs_node node = &map;
    launch.cluster[0] = 1;
    if (device->ops->queue_create(device, &queue, NULL) != GS_OK || device->ops->capture_begin(device, queue, NULL) != GS_OK) return 9;
    if (device->ops->launch(device, &launch, queue, NULL) != GS_OK) return 10;
    if (device->ops->capture_node(device, queue, &node, &error) != GS_ERROR_UNSUPPORTED || node || !strstr(error.text, "cuGraphExecKernelNodeSetParams")) return 11;
    if (device->ops->capture_keep(device, queue, &graph, &capture, &error) != GS_OK) return 12;   /* the graph itself works */
    if (device->ops->graph_launch(device, graph, queue, &error) != GS_OK) return 13;
    device->ops->graph_destroy(device, graph);
    device->ops->capture_free(device, capture);
    device->ops->queue_destroy(device, queue);
    device->ops->unload(device, module);
    gs_device_close(&device);
    return 0;
}

/* The child captures three launches that allow dependence, with the switch on, and exits with the number of programmatic edges. */
static int child_graph(void)
{
    gs_device *device;
    gs_module module;
    gs_function function;
    gs_queue queue;
    gs_graph graph;
    static char code[] = "cubin";
    const gs_image image = {.code = code, .size = sizeof code};
    open_fake();
    if (gs_device_open(&device, "cuda:0", "", NULL) != GS_OK) return 101;
    const gs_device_ops *const ops = device->ops;
    const bool before_edges = device->caps.driver < 12030;
    if (ops->load(device, &image, &module, NULL) != GS_OK || ops->function(device, module, "k", &function, NULL, NULL) != GS_OK) return 102;
    const gs_launch launch = {.function = function, .grid = {1, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}, .dependent = true};
    device->dependent = true;
    if (ops->queue_create(device, &queue, NULL) != GS_OK || ops->capture_begin(device, queue, NULL) != GS_OK) return 103;
    for (int i = 0; i < 3; i++)
        if (ops->launch(device, &launch, queue, NULL) != GS_OK) return 104;
    gs_node node;
    if (ops->capture_node(device, queue, &node, NULL) != GS_OK) return 107;
    if (calls(before_edges ? "cuStreamGetCaptureInfo_v2" : "cuStreamGetCaptureInfo_v3") != 1) return 108;   /* the variant that the driver's version has */
    if (ops->capture_end(device, queue, &graph, NULL) != GS_OK) return 105;
    const int edges = last_launch()->edges;
    ops->graph_destroy(device, graph);
    ops->queue_destroy(device, queue);
    ops->unload(device, module);
    gs_device_close(&device);
    return live() ? 106 : edges;
}

static void test_dependent_launches_where_they_can_be(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        int         edges;
    } cases[] = {
        {"FAKE_CUDA_VERSION=12030", 2}, {"FAKE_CUDA_VERSION=12020", 0}, {"FAKE_CUDA_CC=80", 0}, {"FAKE_CUDA_CC=100", 2},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char output[256];
        const int code = run_self(cases[i].settings, "graph", output, sizeof output);
        if (code != cases[i].edges) fail_msg("%s: %d", cases[i].settings, code);
    }
}

static void test_dependent_by_environment(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        gs_status   status;
        int         dependent;
    } cases[] = {
        {NULL, GS_OK, 0}, {"", GS_OK, 0}, {"0", GS_OK, -1}, {"1", GS_OK, 1}, {"yes", GS_ERROR_PARSE, -1}, {"10", GS_ERROR_PARSE, -1},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_error error = {0};
        int dependent = 7;
        if (cases[i].text) setenv("GEMMSMITH_DEPENDENT", cases[i].text, 1);
        assert_int_equal(gs_device_dependent(&dependent, &error), cases[i].status);
        assert_int_equal(dependent, cases[i].dependent);
        if (cases[i].status != GS_OK) assert_string_equal(error.field, "GEMMSMITH_DEPENDENT");
        gs_device *const device = open_device("cuda:0");
        assert_false(device->dependent);   /* the variable does not change a device that is opened directly */
        gs_device_close(&(gs_device *){device});
    }
    unsetenv("GEMMSMITH_DEPENDENT");
}

static void test_old_driver_without_optional_entries(void **state)
{
    (void)state;
    char output[256];
    assert_int_equal(run_self("GEMMSMITH_LIBCUDA='" FAKE_OLD "'", "old", output, sizeof output), 0);
}

/* ---- opening ---- */

static void test_device_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        gs_status   status;
    } cases[] = {
        {"cuda:", GS_ERROR_PARSE}, {"cuda:x", GS_ERROR_PARSE}, {"cuda:-1", GS_ERROR_PARSE}, {"cuda:0 ", GS_ERROR_PARSE},
        {"cuda:99999999999999999999", GS_ERROR_PARSE}, {"cuda", GS_ERROR_PARSE}, {"gpu0", GS_ERROR_PARSE},
        {"cuda:1", GS_ERROR_NO_DEVICE},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_device *device = (gs_device *)1;
        gs_error error = {0};
        const gs_status status = gs_device_open(&device, cases[i].name, "", &error);
        if (status != cases[i].status) fail_msg("%s: status %d", cases[i].name, (int)status);
        assert_null(device);
        assert_true(error.text[0]);
        assert_int_equal(gs_device_open(&device, cases[i].name, "", NULL), status);
    }
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    setenv("GEMMSMITH_DEVICE", "cuda:1", 1);
    gs_device *device = open_device(NULL);
    assert_string_equal(device->name, "cuda:1");
    gs_device_close(&device);
    assert_null(device);
    gs_device_close(&device);
    gs_device_close(NULL);
    assert_int_equal(live(), 0);
}

static void test_count(void **state)
{
    (void)state;
    gs_error error = {0};
    setenv("FAKE_CUDA_DEVICES", "3", 1);
    assert_int_equal(gs_device_count(&error), 3);
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    assert_int_equal(gs_device_count(&error), 0);
    assert_int_equal(error.status, GS_ERROR_NO_DEVICE);
    assert_int_equal(gs_device_count(NULL), 0);
}

static void test_caps(void **state)
{
    (void)state;
    static const struct {
        const char *cc, *name, *target, *slug;
    } cases[] = {
        {"80",  "NVIDIA A100-SXM4-80GB",   "sm_80",   "nvidia-a100-sxm4-80gb"},
        {"86",  "NVIDIA RTX  A6000 (x)",   "sm_86",   "nvidia-rtx-a6000-x"},
        {"89",  "NVIDIA GeForce RTX 4090", "sm_89",   "nvidia-geforce-rtx-4090"},
        {"90",  "NVIDIA H200",             "sm_90a",  "nvidia-h200"},
        {"100", "NVIDIA B200",             "sm_100a", "nvidia-b200"},
        {"103", "NVIDIA B300",             "sm_103",  "nvidia-b300"},
        {"121", "--NVIDIA--",              "sm_121",  "nvidia"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        setenv("FAKE_CUDA_CC", cases[i].cc, 1);
        setenv("FAKE_CUDA_NAME", cases[i].name, 1);
        gs_device *device = open_device("cuda:0");
        assert_string_equal(device->caps.target, cases[i].target);
        assert_string_equal(device->caps.slug, cases[i].slug);
        assert_string_equal(device->caps.name, cases[i].name);
        assert_int_equal(device->caps.cc, atoi(cases[i].cc));
        gs_device_close(&device);
    }
    setup(NULL);
    gs_device *device = open_device("cuda:0");
    const gs_caps *const caps = &device->caps;
    assert_string_equal(caps->uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
    assert_int_equal(caps->sms, 132);
    assert_int_equal(caps->smem_block, 232448);
    assert_int_equal(caps->smem_sm, 233472);
    assert_int_equal(caps->registers_sm, 65536);
    assert_int_equal(caps->threads_sm, 2048);
    assert_int_equal(caps->l2_bytes, 60 << 20);
    assert_int_equal(caps->memory_bytes, 1 << 30);
    assert_int_equal(caps->driver, 13000);
    assert_true(caps->clock_mhz == 1980.0);
    assert_true(caps->tensor_flops > 0 && caps->memory_gbs > 0 && caps->l2_gbs > 0 && caps->launch_us > 0);
    gs_device_close(&device);
    assert_int_equal(live(), 0);
}

static void expect_open_fails(const char *call, int result, gs_status expected, const char *mentions)
{
    gs_device *device;
    gs_error error = {0};
    set_current(NULL);
    inject(call, result);
    const gs_status status = gs_device_open(&device, "cuda:0", "", &error);
    inject(NULL, 0);
    if (status != expected) fail_msg("%s failing with %d: status %d", call, result, (int)status);
    assert_null(device);
    assert_mentions(&error, mentions);
    assert_int_equal(live(), 0);
}

static void test_every_call_of_open_may_fail(void **state)
{
    (void)state;
    static const struct {
        const char *call, *mentions;
    } cases[] = {
        {"cuInit", "cuInit"}, {"cuDeviceGetCount", "cuDeviceGetCount"}, {"cuDeviceGet", "cuDeviceGet"},
        {"cuDeviceGetName", "cuDeviceGetName"}, {"cuDeviceTotalMem_v2", "cuDeviceTotalMem"},
        {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain"}, {"cuCtxGetCurrent", "cuCtxGetCurrent"},
        {"cuCtxSetCurrent", "cuCtxSetCurrent"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) expect_open_fails(cases[i].call, 999, GS_ERROR_DEVICE, cases[i].mentions);
    expect_open_fails("cuDevicePrimaryCtxRetain", GS_CU_ERROR_OUT_OF_MEMORY, GS_ERROR_DEVICE_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY");

    const int before = calls("cuDeviceGetAttribute");
    gs_device *device = open_device("cuda:0");
    gs_device_close(&device);
    const int attributes = calls("cuDeviceGetAttribute") - before;
    assert_true(attributes >= 11);
    for (int i = 1; i <= attributes; i++) {
        char call[64];
        snprintf(call, sizeof call, "cuDeviceGetAttribute:%d", i);
        expect_open_fails(call, 999, GS_ERROR_DEVICE, "cuDeviceGetAttribute");
    }

    /* A device without a readable UUID can still be used. */
    inject("cuDeviceGetUuid_v2", 801);
    device = open_device("cuda:0");
    assert_string_equal(device->caps.uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
    inject(NULL, 0);
    gs_device_close(&device);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "open") == 0) return child_open();
    if (argc == 2 && strcmp(argv[1], "old") == 0) return child_old();
    if (argc == 2 && strcmp(argv[1], "graph") == 0) return child_graph();
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_opening_says_what_is_missing, setup),
        cmocka_unit_test_setup(test_old_driver_without_optional_entries, setup),
        cmocka_unit_test_setup(test_dependent_launches_where_they_can_be, setup),
        cmocka_unit_test_setup(test_dependent_by_environment, setup),
        cmocka_unit_test_setup(test_device_names, setup),
        cmocka_unit_test_setup(test_count, setup),
        cmocka_unit_test_setup(test_caps, setup),
        cmocka_unit_test_setup(test_every_call_of_open_may_fail, setup),
    };
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
