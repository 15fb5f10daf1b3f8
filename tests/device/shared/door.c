/* SPDX-License-Identifier: MIT
 * Shared objects that are not the emulated device of this build: DOOR is what they say of themselves; without it, nothing. */
#include <gemmsmith/gemmsmith.h>

#include "device/emulator.h"

int gs_test_nothing(void);
int gs_test_nothing(void) { return 0; }

#ifdef DOOR
extern const gs_emulator gs_emulator_door;
__attribute__((visibility("default"))) const gs_emulator gs_emulator_door = {DOOR};
#endif
