/* SPDX-License-Identifier: MIT
 * The watchdog on a GPU: a kernel that never ends, one that writes where nothing is and one for which there is no memory cost a
 * worker each, are told apart, and leave the GPU to the next worker. This program is its own worker. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/device.h"
#include "worker/worker.h"

static const char source[] = "extern \"C\" __global__ void spin(int *p) { while (*(volatile int *)p == 0) { } }\n"
                             "extern \"C\" __global__ void wild(int *p) { p[1ll << 40] = 1; }\n"
                             "extern \"C\" __global__ void tame(int *p) { *p = 42; }\n";

/* ---- the child ---- */

static gs_status run_kernel(gs_device *device, const char *name, gs_error *error)
{
    const gs_source what = {.name = "worker.cu", .text = source};
    gs_image image = {0};
    gs_module module = NULL;
    gs_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = {1, 1, 1}};
    gs_function_info info;
    gs_pointer memory = 0;
    gs_status status = device->ops->compile(device, &what, &image, error);
    if (status == GS_OK) status = device->ops->load(device, &image, &module, error);
    gs_image_free(&image);
    if (status == GS_OK) status = device->ops->function(device, module, name, &launch.function, &info, error);
    if (status == GS_OK) status = device->ops->alloc(device, 256, &memory, error);
    if (status == GS_OK) status = device->ops->fill(device, memory, 0, 256, NULL, error);
    launch.params = (void *[]){&memory};
    if (status == GS_OK) status = device->ops->launch(device, &launch, NULL, error);
    if (status == GS_OK) status = device->ops->queue_wait(device, NULL, error);
    int value = 0;
    if (status == GS_OK) status = device->ops->copy_out(device, &value, memory, sizeof value, error);
    return status == GS_OK && value != 42 ? GS_ERROR_DEVICE : status;
}

static int serve(const char *name)
{
    gs_device *device;
    gs_error error = {0};
    char line[256];
    if (gs_device_open(&device, name, "", &error) != GS_OK) return 3;
    while (fgets(line, sizeof line, stdin)) {
        gs_status status = GS_OK;
        gs_pointer memory;
        if (strstr(line, "memory"))
            status = device->ops->alloc(device, (size_t)1 << 45, &memory, &error);
        else
            status = run_kernel(device, strstr(line, "spin") ? "spin" : strstr(line, "wild") ? "wild" : "tame", &error);
        printf("{\"ok\":%s,\"status\":\"%s\"}\n", status == GS_OK ? "true" : "false", gs_status_name(status));
        fflush(stdout);
        if (status == GS_ERROR_FAULT) return 70;   /* the device is lost for this process */
    }
    gs_device_close(&device);
    return 0;
}

/* ---- the parent ---- */

static gs_worker worker;

static void expect_tame(void)
{
    char *reply = NULL;
    gs_error error = {0};
    if (gs_worker_call(&worker, "{\"op\":\"tame\"}", 60, &reply, &error) != GS_OK) fail_msg("%s", error.text);
    assert_non_null(strstr(reply, "GS_OK"));
    free(reply);
}

static void test_hang(void **state)
{
    (void)state;
    expect_tame();
    const int started = worker.started;
    char *reply = NULL;
    gs_error error = {0};
    const int64_t start = gs_clock_ns();
    assert_int_equal(gs_worker_call(&worker, "{\"op\":\"spin\"}", 3, &reply, &error), GS_ERROR_WORKER_HUNG);
    const double seconds = (double)(gs_clock_ns() - start) * 1e-9;
    if (seconds > 30) fail_msg("the hung worker was gone after %.1f s only", seconds);
    expect_tame();
    assert_int_equal(worker.started, started + 1);
    printf("{\"hung_worker_replaced_s\":%.2f}\n", (double)(gs_clock_ns() - start) * 1e-9);
}

static void test_fault(void **state)
{
    (void)state;
    char *reply = NULL;
    gs_error error = {0};
    if (gs_worker_call(&worker, "{\"op\":\"wild\"}", 60, &reply, &error) != GS_OK) fail_msg("%s", error.text);
    assert_non_null(strstr(reply, "GS_ERROR_FAULT"));
    free(reply);
    /* that child is on its way out; the call may meet it, the one after may not */
    if (gs_worker_call(&worker, "{\"op\":\"tame\"}", 60, &reply, &error) == GS_OK) free(reply);
    expect_tame();
}

static void test_memory(void **state)
{
    (void)state;
    char *reply = NULL;
    gs_error error = {0};
    if (gs_worker_call(&worker, "{\"op\":\"memory\"}", 60, &reply, &error) != GS_OK) fail_msg("%s", error.text);
    assert_non_null(strstr(reply, "GS_ERROR_DEVICE_MEMORY"));
    free(reply);
    expect_tame();
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "worker") == 0) return serve(argv[3]);
    gs_device *device;
    gs_error error;
    if (gs_device_open(&device, gs_device_gpu(), "", &error) != GS_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    char name[GS_DEVICE_NAME];
    snprintf(name, sizeof name, "%s", device->name);
    gs_device_close(&device);
    gs_worker_init(&worker, name, NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hang), cmocka_unit_test(test_fault), cmocka_unit_test(test_memory)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gs_worker_stop(&worker);
    return failed;
}
