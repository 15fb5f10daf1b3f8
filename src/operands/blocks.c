/* SPDX-License-Identifier: MIT */
#include "operands/blocks.h"

#include "base/error.h"

enum { LEAST = 1 << 20 };   /* bytes: more than an operand of an edge problem with its guard bands and gap */

/* A random block that is free and large enough; -1: there is none. */
static int any_of(const gs_blocks *blocks, size_t bytes, gs_random *random)
{
    int found = -1, count = 0;
    for (int i = 0; i < GS_BLOCKS; i++)
        if (blocks->block[i].at && !blocks->block[i].used && blocks->block[i].bytes >= bytes && gs_random_below(random, (uint64_t)++count) == 0) found = i;
    return found;
}

static int free_place(const gs_blocks *blocks)
{
    for (int i = 0; i < GS_BLOCKS; i++)
        if (!blocks->block[i].at) return i;
    return -1;
}

gs_status gs_blocks_take(gs_blocks *blocks, const gs_device_ops *ops, gs_device *device, size_t bytes, gs_random *random, gs_pointer *out, gs_error *error)
{
    if (!blocks->keeps) return ops->alloc(device, bytes, out, error);
    int i = any_of(blocks, bytes, random);
    if (i < 0) {
        const size_t size = GS_MAX(bytes, (size_t)LEAST);
        i = free_place(blocks);
        GS_TRY(ops->alloc(device, size, out, error));
        if (i < 0) return GS_OK;
        blocks->block[i].at = *out;
        blocks->block[i].bytes = size;
    }
    blocks->block[i].used = true;
    *out = blocks->block[i].at;
    return GS_OK;
}

void gs_blocks_give(gs_blocks *blocks, const gs_device_ops *ops, gs_device *device, gs_pointer at)
{
    if (!at) return;
    for (int i = 0; i < GS_BLOCKS; i++) {
        if (blocks->block[i].at != at) continue;
        blocks->block[i].used = false;
        return;
    }
    ops->free(device, at);
}

void gs_blocks_end(gs_blocks *blocks, const gs_device_ops *ops, gs_device *device)
{
    for (int i = 0; i < GS_BLOCKS; i++)
        if (blocks->block[i].at) ops->free(device, blocks->block[i].at);
    *blocks = (gs_blocks){0};
}
