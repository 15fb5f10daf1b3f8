/* SPDX-License-Identifier: MIT
 * A device without hardware: it has the given capabilities and compiles kernels, so that plans can be made for another machine. It runs nothing and has no memory. */
#ifndef GS_DEVICE_PAPER_H
#define GS_DEVICE_PAPER_H

#include "device/device.h"

/* caps: copied; not those of an emulated device. cache: as in gs_device_open. MEMORY. */
gs_status gs_paper_open(gs_device **out, const gs_caps *caps, const char *cache, gs_error *error);

#endif
