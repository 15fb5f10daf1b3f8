/* SPDX-License-Identifier: MIT
 * The emulated device's table of functions (device/emulator.h). */
#ifndef GS_EMU_DOOR_H
#define GS_EMU_DOOR_H

#include <gemmsmith/status.h>

#include "device/emulator.h"

GS_API extern const gs_emulator gs_emulator_door;

#endif
