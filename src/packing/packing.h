/* SPDX-License-Identifier: MIT
 * Making a pack: for each problem what a plan would choose here, compiled, with what was measured of it. */
#ifndef GS_PACKING_PACKING_H
#define GS_PACKING_PACKING_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "pack/pack.h"

/* The texts of user kernels by their names: "source:<hash>". NOT_FOUND; *source and *manifest are the caller's (free()). */
typedef struct gs_packing_sources {
    gs_status (*get)(void *self, const char *name, char **source, char **manifest, gs_error *error);
    void       *self;
} gs_packing_sources;

typedef struct gs_packing {
    gs_device      *device;    /* borrowed, open; with an inspector and a compiler of user kernels where those are wanted */
    gs_context     *context;   /* on that device */
    gs_packing_sources sources;   /* get NULL: there are none */
    gs_pack_writer *writer;
    int             library, user, uncovered;   /* problems that cuBLASLt, that user kernels serve; that have no row of their own */
} gs_packing;

/* The device of a name: an embedded profile ("h200"), for which is compiled only, or as gs_device_open has it. */
gs_status gs_packing_device(gs_device **out, const char *name, gs_error *error);

/* Where a pack is tried: $GEMMSMITH_DEVICE, else the emulated device that it was made for, else the first GPU. The text is name or static. */
const char *gs_packing_made_for(const gs_pack *pack, char name[GS_DEVICE_NAME]);

/* Adds what a plan of the problem is made of. *added: false, it was there, or there is nothing to compute. Codes: those of gs_plan_create; NOT_FOUND, FORBIDDEN, COMPILE,
 * SPILL, SERIALIZED of a user kernel that a row names. */
gs_status gs_packing_add(gs_packing *packing, const gs_problem *problem, bool *added, gs_error *error);

/* Writes the file, at once or not at all. */
gs_status gs_packing_write(gs_packing *packing, const char *path, size_t *size, gs_error *error);

#endif
