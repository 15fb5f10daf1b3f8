/* SPDX-License-Identifier: MIT
 * One emulated H200 for all tests of a program, opened and closed by the group's setup and teardown. Included last, by one file of a program, because inline functions
 * of other headers have parameters that are called `device` too. */
#ifndef TESTS_EMU_GROUP_H
#define TESTS_EMU_GROUP_H

#include "emu_device.h"

static gs_device *device;

static int open_group(void **state)
{
    (void)state;
    device = open_device("emu:h200,seed=5");
    return 0;
}

static int close_group(void **state)
{
    (void)state;
    gs_device_close(&device);
    return 0;
}

#endif
