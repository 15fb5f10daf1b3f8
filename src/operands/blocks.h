/* SPDX-License-Identifier: MIT
 * Blocks of device memory that stay from one edge problem to the next, so that the driver is not asked for memory for each. Whoever asks gets any that is large enough, by chance, so that the
 * order of operands in memory differs from problem to problem. */
#ifndef GS_OPERANDS_BLOCKS_H
#define GS_OPERANDS_BLOCKS_H

#include "base/random.h"
#include "device/device.h"

enum { GS_BLOCKS = 18 };

typedef struct gs_blocks {
    bool keeps;             /* else each is allocated, and freed when it is given back */
    struct {
        gs_pointer at;      /* 0: there is none */
        size_t     bytes;
        bool       used;
    } block[GS_BLOCKS];
} gs_blocks;

/* So many bytes at least, by these calls of the device. Contents are undefined. MEMORY. */
gs_status gs_blocks_take(gs_blocks *blocks, const gs_device_ops *ops, gs_device *device, size_t bytes, gs_random *random, gs_pointer *out, gs_error *error);

/* 0 is none. */
void gs_blocks_give(gs_blocks *blocks, const gs_device_ops *ops, gs_device *device, gs_pointer at);

/* Frees what is kept; all were given back. Nothing is kept from now on. */
void gs_blocks_end(gs_blocks *blocks, const gs_device_ops *ops, gs_device *device);

#endif
