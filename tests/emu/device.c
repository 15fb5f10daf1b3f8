/* SPDX-License-Identifier: MIT
 * An emulated device fulfils the contract of device/device.h, apart from running code: names and options, memory, queues and events. It is never taken for a GPU, and is
 * the default only if no device is named. Code is tested in launch.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "baseline/baseline.h"
#include "emu/emu.h"
#include "emu_device.h"
#include "cublas/library.h"

/* ---- names ---- */

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        gs_status   status;
        int         column;
    } cases[] = {
        {"emu:", GS_ERROR_PARSE, 0}, {"emu:h300", GS_ERROR_NO_DEVICE, 0}, {"emu:H200", GS_ERROR_NO_DEVICE, 0}, {"emu", GS_ERROR_PARSE, 0},
        {"emu:h200,", GS_ERROR_PARSE, 10}, {"emu:h200,seed", GS_ERROR_PARSE, 14}, {"emu:h200,seed=", GS_ERROR_PARSE, 15},
        {"emu:h200,seed=-1", GS_ERROR_PARSE, 15}, {"emu:h200,seed=x", GS_ERROR_PARSE, 15}, {"emu:h200,check=2", GS_ERROR_PARSE, 16},
        {"emu:h200,threads=1025", GS_ERROR_PARSE, 18}, {"emu:h200,order=2", GS_ERROR_PARSE, 16}, {"emu:h200,native=2", GS_ERROR_PARSE, 17}, {"emu:h200,seed=1,seed=1", GS_ERROR_PARSE, 17}, {"emu:h200 ", GS_ERROR_PARSE, 9},
        {"emu:h200,seed=1 ", GS_ERROR_PARSE, 16}, {"emu:h200,speed=1", GS_ERROR_PARSE, 10}, {"emu:h200;seed=1", GS_ERROR_PARSE, 9},
        {"emu:h200,seed=00000000000000000000000000000000000000000000000001", GS_ERROR_PARSE, 0},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_device *device = (gs_device *)1;
        gs_error error = {0};
        const gs_status status = gs_device_open(&device, cases[i].name, "", &error);
        if (status != cases[i].status || error.column != cases[i].column)
            fail_msg("%s: status %d, column %d: %s", cases[i].name, (int)status, error.column, error.text);
        assert_null(device);
        assert_int_equal(gs_device_open(&device, cases[i].name, "", NULL), status);
    }
    static const char *const good[] = {"emu:h200", "emu:a100", "emu:h200,seed=7,check=0,threads=2,order=1,native=0", "emu:h200,threads=0", "emu:a100,check=1"};
    for (size_t i = 0; i < GS_COUNT(good); i++) {
        gs_device *device = open_device(good[i]);
        assert_string_equal(device->name, good[i]);
        gs_device_close(&device);
        assert_null(device);
    }
}

static void test_environment(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_device *device;
    setenv("GEMMSMITH_EMU_SEED", "9", 1);
    setenv("GEMMSMITH_EMU_CHECK", "0", 1);
    device = open_device("emu:h200,seed=3");
    assert_int_equal(gs_emu_of(device)->seed, 3);
    assert_false(gs_emu_of(device)->check);
    gs_device_close(&device);
    device = open_device("emu:h200,check=1");
    assert_int_equal(gs_emu_of(device)->seed, 9);
    assert_true(gs_emu_of(device)->check);
    gs_device_close(&device);
    setenv("GEMMSMITH_EMU_CHECK", "yes", 1);
    assert_int_equal(gs_device_open(&device, "emu:h200", "", &error), GS_ERROR_PARSE);
    assert_string_equal(error.field, "GEMMSMITH_EMU_CHECK");
    setenv("GEMMSMITH_EMU_CHECK", "", 1);
    setenv("GEMMSMITH_EMU_SEED", "1 ", 1);
    assert_int_equal(gs_device_open(&device, "emu:h200", "", &error), GS_ERROR_PARSE);
    assert_string_equal(error.field, "GEMMSMITH_EMU_SEED");
    unsetenv("GEMMSMITH_EMU_CHECK");
    unsetenv("GEMMSMITH_EMU_SEED");
    device = open_device("emu:h200");
    assert_int_equal(gs_emu_of(device)->seed, 1);
    assert_true(gs_emu_of(device)->check);
    gs_device_close(&device);
}

/* Host access to device memory: the address, which bytes count as written, and when it is refused. */
static void test_host_memory(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_device *device = open_device("emu:h200"), *emulating = open_device("emu:h200,native=0");
    gs_pointer at, other;
    gs_queue queue;
    gs_graph graph;
    char text[8] = "";
    assert_int_equal(device->ops->alloc(device, 1000, &at, &error), GS_OK);
    assert_int_equal(emulating->ops->alloc(emulating, 1000, &other, &error), GS_OK);
    char *const host = device->ops->host(device, at + 100, 900, false, NULL);
    assert_non_null(host);
    memcpy(host, "written", 8);
    assert_int_equal(device->ops->copy_out(device, text, at + 100, 8, &error), GS_OK);
    assert_string_equal(text, "written");
    const gs_emu_allocation *const a = gs_emu_memory_find(gs_emu_of(device)->memory, at, 1000);
    assert_false(gs_emu_memory_written(a, at + 100, 8));
    assert_ptr_equal(device->ops->host(device, at + 100, 8, true, NULL), host);
    assert_true(gs_emu_memory_written(a, at + 100, 8));
    assert_false(gs_emu_memory_written(a, at + 100, 9));
    assert_null(device->ops->host(device, at + 100, 901, false, NULL));
    assert_null(emulating->ops->host(emulating, other, 8, false, NULL));
    assert_int_equal(device->ops->queue_create(device, &queue, &error), GS_OK);
    assert_int_equal(device->ops->capture_begin(device, queue, &error), GS_OK);
    assert_null(device->ops->host(device, at, 8, false, queue));   /* the access must become part of the graph */
    assert_non_null(device->ops->host(device, at, 8, false, NULL));
    assert_int_equal(device->ops->capture_end(device, queue, &graph, &error), GS_OK);
    device->ops->graph_destroy(device, graph);
    device->ops->queue_destroy(device, queue);
    device->ops->free(device, at);
    emulating->ops->free(emulating, other);
    gs_device_close(&device);
    gs_device_close(&emulating);
}

static void test_list_and_caps(void **state)
{
    (void)state;
    char name[GS_DEVICE_NAME];
    int count = 0;
    bool h200 = false, a100 = false;
    for (; gs_device_emulated(count, name); count++) {
        gs_device *device = open_device(name);
        assert_true(device->caps.emulated);
        assert_int_equal(strncmp(device->caps.slug, GS_EMULATED_SLUG, 4), 0);
        assert_true(device->caps.memory_bytes > (size_t)64 << 20);
        h200 |= strcmp(name, "emu:h200") == 0;
        a100 |= strcmp(name, "emu:a100") == 0;
        gs_device_close(&device);
    }
    assert_true(count >= 2 && h200 && a100);
    gs_device *device = open_device("emu:h200,seed=5");
    assert_string_equal(device->caps.slug, "emu-h200");   /* its own tuned table, whatever the options */
    assert_string_equal(device->caps.target, "sm_90a");
    assert_int_equal(device->caps.sms, 132);
    gs_clocks clocks;
    assert_int_equal(device->ops->clocks(device, &clocks, NULL), GS_OK);
    assert_true(clocks.sm_mhz == (int)device->caps.clock_mhz && clocks.power_w == 0);
    gs_device_close(&device);
    device = open_device("emu:a100");
    assert_string_equal(device->caps.target, "sm_80");
    gs_device_close(&device);
}

/* The emulated device is the default only if no device is named, and never where it would be useless. */
static void test_default(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_device *device;
    gs_context *context;
    setenv("GEMMSMITH_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
    unsetenv("GEMMSMITH_DEVICE");
    device = open_device(NULL);
    assert_string_equal(device->name, "emu:h200");
    gs_device_close(&device);
    assert_string_equal(gs_device_gpu(), "cuda:0");
    assert_int_equal(gs_device_open(&device, "cuda:0", "", &error), GS_ERROR_NO_DRIVER);
    assert_int_equal(gs_open(&context, NULL, &error), GS_ERROR_NO_DRIVER);
    setenv("GEMMSMITH_DEVICE", "cuda:0", 1);
    assert_int_equal(gs_device_open(&device, NULL, "", &error), GS_ERROR_NO_DRIVER);
    setenv("GEMMSMITH_DEVICE", "emu:a100", 1);
    device = open_device("");
    assert_string_equal(device->name, "emu:a100");
    gs_device_close(&device);
    assert_string_equal(gs_device_gpu(), "emu:a100");
    assert_int_equal(gs_open(&context, NULL, &error), GS_ERROR_ARGUMENT);   /* the environment alone does not redirect a program to an emulated device */
    assert_string_equal(error.field, "GEMMSMITH_DEVICE");
    gs_config named = gs_config_default();
    named.device = "emu:a100";
    OK(gs_open(&context, &named, &error));
    gs_close(&context);
    unsetenv("GEMMSMITH_DEVICE");
    unsetenv("GEMMSMITH_LIBCUDA");
}

/* cuBLAS, if this machine has it, must not get an emulated device's pointers. */
static void test_no_library(void **state)
{
    (void)state;
    gs_device *device = open_device("emu:h200");
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    gs_library *library;
    gs_contender contender;
    gs_error error = {0};
    assert_int_equal(gs_library_create(&library, device, &problem, &error), GS_ERROR_NO_LIBRARY);
    assert_mentions(&error, "emu:h200");
    for (int i = 0; i < GS_BASELINES; i++) {
        assert_int_equal(gs_baseline_create(&contender, device, gs_baseline_names[i], NULL, &error), GS_ERROR_NO_LIBRARY);
        assert_mentions(&error, "emu:h200");
    }
    assert_int_equal(gs_baseline_create(&contender, device, "mkl", NULL, &error), GS_ERROR_NOT_FOUND);
    gs_device_close(&device);
}

/* ---- memory ---- */

static void test_memory(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_device *device = open_device("emu:h200");
    const gs_device_ops *const ops = device->ops;
    size_t free_before, free_now, total;
    gs_pointer at, none, other;
    OK(ops->memory_info(device, &free_before, &total, &error));
    assert_true(total == device->caps.memory_bytes && free_before == total);
    OK(ops->alloc(device, 0, &none, &error));
    assert_int_equal(none, 0);
    OK(ops->alloc(device, 1000, &at, &error));
    OK(ops->alloc(device, 5000, &other, &error));
    assert_true(at % 256 == 0 && other % 256 == 0 && at != other);
    OK(ops->memory_info(device, &free_now, &total, &error));
    assert_true(free_now + 6000 <= free_before);

    uint32_t words[250], back[250];
    for (int i = 0; i < 250; i++) words[i] = (uint32_t)i * 2654435761u;
    OK(ops->copy_in(device, at, words, sizeof words, &error));
    OK(ops->fill(device, at + 400, 0xdeadbeef, 100, NULL, &error));
    OK(ops->queue_wait(device, NULL, &error));
    OK(ops->copy_out(device, back, at, sizeof back, &error));
    for (int i = 0; i < 250; i++) assert_int_equal(back[i], i >= 100 && i < 125 ? 0xdeadbeef : words[i]);
    OK(ops->copy_in(device, 0, words, 0, &error));
    OK(ops->fill(device, 0, 0, 0, NULL, &error));
    assert_int_equal(ops->fill(device, at, 0, 6, NULL, &error), GS_ERROR_ARGUMENT);

    assert_int_equal(ops->copy_in(device, at + 8, words, sizeof words, &error), GS_ERROR_DEVICE);
    assert_mentions(&error, "1000");
    assert_int_equal(ops->copy_out(device, back, 12345, 4, &error), GS_ERROR_DEVICE);
    assert_int_equal(ops->fill(device, at + 996, 0, 8, NULL, &error), GS_ERROR_DEVICE);
    assert_int_equal(ops->alloc(device, (size_t)1 << 45, &none, &error), GS_ERROR_DEVICE_MEMORY);
    assert_int_equal(none, 0);
    ops->free(device, at);
    ops->free(device, 0);
    assert_int_equal(ops->copy_out(device, back, at, 4, &error), GS_ERROR_DEVICE);
    ops->free(device, other);
    OK(ops->memory_info(device, &free_now, &total, &error));
    assert_true(free_now == free_before);
    gs_device_close(&device);
}

/* Handles with the same name share one emulated machine, like handles of a GPU; other options make another machine. */
static void test_handles_share(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_device *first = open_device("emu:h200"), *second = open_device("emu:h200"), *other = open_device("emu:h200,seed=2");
    gs_pointer at;
    int value = 42, back = 0;
    OK(first->ops->alloc(first, 4, &at, &error));
    OK(first->ops->copy_in(first, at, &value, 4, &error));
    OK(second->ops->copy_out(second, &back, at, 4, &error));
    assert_int_equal(back, 42);
    assert_int_equal(other->ops->copy_out(other, &back, at, 4, &error), GS_ERROR_DEVICE);
    gs_device_close(&first);
    OK(second->ops->copy_out(second, &back, at, 4, &error));
    gs_device_close(&second);
    gs_device_close(&other);
    first = open_device("emu:h200");   /* the machine was freed with its last handle */
    assert_int_equal(first->ops->copy_out(first, &back, at, 4, &error), GS_ERROR_DEVICE);
    gs_device_close(&first);
}

/* ---- queues, events ---- */

static void test_time(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_device *device = open_device("emu:h200");
    const gs_device_ops *const ops = device->ops;
    gs_queue queue, idle;
    gs_event start, end;
    gs_pointer at;
    double us, longer;
    OK(ops->queue_create(device, &queue, &error));
    OK(ops->queue_create(device, &idle, &error));
    OK(ops->event_create(device, &start, &error));
    OK(ops->event_create(device, &end, &error));
    OK(ops->alloc(device, 512, &at, &error));
    assert_int_equal(ops->fill(device, at, 0, 512, &us, &error), GS_ERROR_ARGUMENT);   /* a program may pass any pointer as a stream */
    assert_string_equal(error.field, "stream");
    ops->free(device, at);
    assert_int_equal(ops->event_us(device, start, end, &us, &error), GS_ERROR_DEVICE);
    OK(ops->alloc(device, 4 << 20, &at, &error));
    OK(ops->event_record(device, start, queue, &error));
    OK(ops->event_record(device, end, queue, &error));
    OK(ops->event_us(device, start, end, &us, &error));
    assert_true(us == 0);
    OK(ops->fill(device, at, 0, 4 << 20, queue, &error));
    OK(ops->event_record(device, end, queue, &error));
    OK(ops->event_us(device, start, end, &us, &error));
    assert_true(us > (4 << 20) / (device->caps.memory_gbs * 1e3));
    OK(ops->fill(device, at, 0, 4 << 20, queue, &error));
    OK(ops->event_record(device, end, queue, &error));
    OK(ops->event_us(device, start, end, &longer, &error));
    assert_float_equal(longer, 2 * us, 1e-9);
    OK(ops->event_record(device, start, idle, &error));   /* each queue has its own time */
    OK(ops->event_record(device, end, idle, &error));
    OK(ops->event_us(device, start, end, &us, &error));
    assert_true(us == 0);
    ops->event_destroy(device, start);
    ops->event_destroy(device, end);
    ops->queue_destroy(device, idle);
    ops->queue_destroy(device, queue);
    ops->queue_destroy(device, NULL);
    gs_device_close(&device);
}

/* All three extents count. */
static void test_shape(void **state)
{
    (void)state;
    gs_emu_function function = {.info = {.static_smem = 20, .registers = 40}};
    const gs_emu_work work = {.function = &function, .grid = {2, 3, 5}, .block = {7, 11, 13}, .cluster = {2, 3, 1}, .smem = 100};
    const gs_launch_shape shape = gs_emu_shape_of(&work);
    assert_true(shape.grid == 30);
    assert_int_equal(shape.threads, 1001);
    assert_int_equal(shape.cluster, 6);
    assert_int_equal(shape.smem, 120);
    assert_int_equal(shape.registers, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_environment), cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_list_and_caps),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_handles_share),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
