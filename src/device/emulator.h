/* SPDX-License-Identifier: MIT
 * Access to the emulated device. It (src/emu) is not part of libgemmsmith.so but a shared object of its own,
 * libgemmsmith-emu.so.<major>, which emulator.c opens when a device name begins with "emu:".
 *
 * The command line and the tests contain the emulated device: they are linked with emu/linked.c instead of emulator.c. Both
 * define gs_emulator_find, and the build chooses one. So no constructor is needed, which linking from an archive would drop, and no weak
 * symbol, which C17 lacks; a program with neither file does not link. */
#ifndef GS_DEVICE_EMULATOR_H
#define GS_DEVICE_EMULATOR_H

#include "device/device.h"

/* What the shared object exports as GS_EMULATOR_SYMBOL. Version and sizes are compared before anything is called. */
typedef struct gs_emulator {
    char      version[16];    /* version of the gemmsmith that it belongs to */
    uint32_t  device_bytes;   /* sizes of gs_device and gs_device_ops, to refuse other builds of the same version */
    uint32_t  ops_bytes;
    /* rest: the name after "emu:", a profile with options. cache: as in gs_device_open. */
    gs_status (*open)(gs_device **out, const char *rest, const char *cache, gs_error *error);
    /* Sends all lines of the shared object's own log to `line`, which filters by level. */
    void (*log_to)(void (*line)(int level, const char *text));
} gs_emulator;

#define GS_EMULATOR_SYMBOL "gs_emulator_door"

/* NO_DEVICE: the shared object is missing or of another version; *error names the file. */
gs_status gs_emulator_find(const gs_emulator **out, gs_error *error);

#endif
