/* SPDX-License-Identifier: MIT
 * Making a pack: for each problem the choice of a plan on this device, compiled, with its measurement. */
#ifndef GS_PACKING_PACKING_H
#define GS_PACKING_PACKING_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "pack/pack.h"

/* Provides the texts of user kernels by name, "source:<hash>". NOT_FOUND; *source and *manifest are owned by the caller (free()). */
typedef struct gs_packing_sources {
    gs_status (*get)(void *self, const char *name, char **source, char **manifest, gs_error *error);
    void       *self;
} gs_packing_sources;

typedef struct gs_packing {
    gs_device      *device;    /* borrowed, open; for user kernels with an inspector and a compiler */
    gs_context     *context;   /* on that device */
    gs_packing_sources sources;   /* get NULL: no user kernels */
    gs_pack_writer *writer;
    int             library, user, uncovered;   /* number of problems served by cuBLASLt, by user kernels, and without a row of their own */
} gs_packing;

/* Opens a device: for the name of an embedded profile ("h200") one that only compiles, else as gs_device_open. */
gs_status gs_packing_device(gs_device **out, const char *name, gs_error *error);

/* The device on which a pack is tested: $GEMMSMITH_DEVICE, else the emulated device it was made for, else the first GPU. Returns name or a static string. */
const char *gs_packing_made_for(const gs_pack *pack, char name[GS_DEVICE_NAME]);

/* Adds the plan of a problem. *added is false if it was there already, or if the problem is empty. Codes: those of gs_plan_create; for a user kernel that a row names also NOT_FOUND,
 * FORBIDDEN, COMPILE, SPILL, SERIALIZED. */
gs_status gs_packing_add(gs_packing *packing, const gs_problem *problem, bool *added, gs_error *error);

/* Writes the file atomically. */
gs_status gs_packing_write(gs_packing *packing, const char *path, size_t *size, gs_error *error);

#endif
