/* SPDX-License-Identifier: MIT
 * A device that is not there: it compiles kernels for a device whose capabilities are known, and says what a plan asks while it is made. It runs nothing and has no memory:
 * for those who make plans here that others are to run. */
#ifndef GS_DEVICE_PAPER_H
#define GS_DEVICE_PAPER_H

#include "device/device.h"

/* caps: copied, not of an emulated device. cache as in gs_device_open. MEMORY. */
gs_status gs_paper_open(gs_device **out, const gs_caps *caps, const char *cache, gs_error *error);

#endif
