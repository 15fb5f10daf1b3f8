/* SPDX-License-Identifier: MIT
 * Shared by tests of driver failures: the fake driver with its default settings, a call that fails, an open device. Included after cmocka.h. */
#ifndef TESTS_FAILING_DRIVER_H
#define TESTS_FAILING_DRIVER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/cuda/driver_api.h"
#include "device/device.h"
#include "fake/opened.h"

static gs_cu_result (*get_current)(gs_cu_context *context);
static gs_cu_result (*set_current)(gs_cu_context context);

static int group_setup(void **state)
{
    (void)state;
    void *const library = open_fake();
    put_function(library, "cuCtxGetCurrent", &get_current);
    put_function(library, "cuCtxSetCurrent", &set_current);
    return 0;
}

static void inject(const char *call, int result)
{
    char text[16];
    if (!call) {
        unsetenv("FAKE_CUDA_FAIL");
        return;
    }
    snprintf(text, sizeof text, "%d", result);
    setenv("FAKE_CUDA_FAIL", call, 1);
    setenv("FAKE_CUDA_ERROR", text, 1);
}

static int setup(void **state)
{
    (void)state;
    static const char *const names[] = {"FAKE_CUDA_VERSION", "FAKE_CUDA_DEVICES", "FAKE_CUDA_CC", "FAKE_CUDA_NAME",
                                        "FAKE_CUDA_MEMORY", "FAKE_CUDA_FAIL", "FAKE_CUDA_ERROR", "GEMMSMITH_DEVICE"};
    for (size_t i = 0; i < GS_COUNT(names); i++) unsetenv(names[i]);
    return 0;
}

static gs_device *open_device(const char *name)
{
    gs_device *device;
    gs_error error = {0};
    if (gs_device_open(&device, name, "", &error) != GS_OK) fail_msg("%s", error.text);
    return device;
}

static void assert_mentions(const gs_error *error, const char *text)
{
    if (!strstr(error->text, text)) fail_msg("\"%s\" does not mention \"%s\"", error->text, text);
}

#endif
