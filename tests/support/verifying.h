/* SPDX-License-Identifier: MIT
 * An emulated H200 and its verifier, opened once for a test program. Included after cmocka, by one file of a program. */
#ifndef TESTS_VERIFYING_H
#define TESTS_VERIFYING_H

#include "device/device.h"
#include "verify/verify.h"

#ifndef VERIFYING_DEVICE
#define VERIFYING_DEVICE "emu:h200"
#endif

/* Sanitized builds test every third row of a table of kernels: to a sanitizer they are only data, and the release build tests all of them. */
#ifdef __SANITIZE_ADDRESS__
#define VERIFYING_EACH 3
#else
#define VERIFYING_EACH 1
#endif

static gs_device   *device;
static gs_verifier *verifier;

static int open_device(void **state)
{
    gs_error error = {0};
    (void)state;
    if (gs_device_open(&device, VERIFYING_DEVICE, NULL, &error) == GS_OK && gs_verifier_create(&verifier, device, &error) == GS_OK) return 0;
    print_message("%s\n", error.text);
    return 1;
}

static int close_device(void **state)
{
    (void)state;
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return 0;
}

#endif
