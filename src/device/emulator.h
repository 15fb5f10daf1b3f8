/* SPDX-License-Identifier: MIT
 * The door to the emulated device. The device itself (src/emu) is no part of libgemmsmith.so: it is a shared object of its own,
 * libgemmsmith-emu.so.<major>, which emulator.c opens when a device name begins with "emu:".
 *
 * The command line and the tests contain the emulated device. They are linked with emu/linked.c in the place of emulator.c: both
 * define gs_emulator_find, and the build chooses one. That needs neither a constructor, which an archive would drop, nor a weak
 * symbol, which C17 does not have, and a program that has neither file does not link. */
#ifndef GS_DEVICE_EMULATOR_H
#define GS_DEVICE_EMULATOR_H

#include "device/device.h"

/* What the shared object exports, under the name GS_EMULATOR_SYMBOL. The first two are compared before anything is called. */
typedef struct gs_emulator {
    char      version[16];    /* of the gemmsmith that it was built with */
    uint32_t  device_bytes;   /* sizes of gs_device and of its table: a build of another state of the sources is refused */
    uint32_t  ops_bytes;
    /* "emu:" has been read; rest is a profile's name and its options. cache as in gs_device_open. */
    gs_status (*open)(gs_device **out, const char *rest, const char *cache, gs_error *error);
    /* Hands every line of the shared object's own log to this, from now on: which of them count is decided behind it. */
    void (*log_to)(void (*line)(int level, const char *text));
} gs_emulator;

#define GS_EMULATOR_SYMBOL "gs_emulator_door"

/* The emulated device. NO_DEVICE: the shared object is missing, or is of another version; *error names the file. */
gs_status gs_emulator_find(const gs_emulator **out, gs_error *error);

#endif
