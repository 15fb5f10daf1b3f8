/* SPDX-License-Identifier: MIT
 * Blocks of device memory that are kept from one edge problem to the next, so that the driver is not asked for memory each time. A request gets any block that is large enough,
 * by chance, so that the order of operands in memory differs from problem to problem. */
#ifndef GS_OPERANDS_BLOCKS_H
#define GS_OPERANDS_BLOCKS_H

#include "base/random.h"
#include "device/device.h"

enum { GS_BLOCKS = 18 };

typedef struct gs_blocks {
    bool keeps;             /* false: blocks are allocated each time, and freed when they are given back */
    struct {
        gs_pointer at;      /* 0: there is none */
        size_t     bytes;
        bool       used;
    } block[GS_BLOCKS];
} gs_blocks;

/* At least `bytes` bytes, allocated and freed by these ops. Contents are undefined. Errors: those of ops->alloc. */
gs_status gs_blocks_take(gs_blocks *blocks, const gs_device_ops *ops, gs_device *device, size_t bytes, gs_random *random, gs_pointer *out, gs_error *error);

/* at 0: does nothing. */
void gs_blocks_give(gs_blocks *blocks, const gs_device_ops *ops, gs_device *device, gs_pointer at);

/* Frees the kept blocks; all must have been given back. Nothing is kept from now on. */
void gs_blocks_end(gs_blocks *blocks, const gs_device_ops *ops, gs_device *device);

#endif
