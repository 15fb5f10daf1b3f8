/* SPDX-License-Identifier: MIT
 * What libgemmsmith-emu.so exports, its only symbol (device/emulator.h). */
#include "emu/emu.h"

#include <gemmsmith/gemmsmith.h>

#include "emu/door.h"

GS_API const gs_emulator gs_emulator_door = {
    .version = GS_VERSION_TEXT, .device_bytes = sizeof(gs_device), .ops_bytes = sizeof(gs_device_ops), .open = gs_emu_open,
};
