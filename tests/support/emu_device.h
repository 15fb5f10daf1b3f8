/* SPDX-License-Identifier: MIT
 * An emulated device through device/device.h, for tests: opening one, calls that must succeed, what a message says, and tests that compile. Included after cmocka. */
#ifndef TESTS_EMU_DEVICE_H
#define TESTS_EMU_DEVICE_H

#include <string.h>

#include "base/error.h"
#include "device/device.h"

#define OK(call)                                                                        \
    do {                                                                                \
        if ((call) != GS_OK) fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, error.text); \
    } while (0)

static inline void assert_mentions(const gs_error *error, const char *part)
{
    if (!strstr(error->text, part)) fail_msg("\"%s\" does not mention \"%s\"", error->text, part);
}

/* Skips the test where NVRTC is missing. Must be the test's first call. */
static inline void need_compiler(void)
{
    if (gs_compiler_version(NULL) == 0) skip();
}

static inline gs_device *open_device(const char *name)
{
    gs_device *device;
    gs_error error = {0};
    OK(gs_device_open(&device, name, "", &error));
    return device;
}

#endif
