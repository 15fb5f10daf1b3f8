/* SPDX-License-Identifier: MIT
 * A contender allocates its workspace itself, so it is found by watching the device's alloc. Blocks beyond the list's end, and blocks allocated before, are left alone. */
#include "base/error.h"
#include "checks/watch.h"

static _Thread_local gs_watch *active;

static gs_status watched_alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error)
{
    gs_watch *const watch = active;
    const size_t guard = gs_guard(device);
    if (watch->count == GS_WATCHED || bytes > SIZE_MAX - guard - 1) return watch->ops->alloc(device, bytes, out, error);
    const size_t even = bytes + (bytes & 1);
    const gs_status status = watch->ops->alloc(device, even + guard, out, error);
    if (status != GS_OK) return status;
    watch->block[watch->count].at = *out;
    watch->block[watch->count++].bytes = even;
    return GS_OK;
}

static void watched_free(gs_device *device, gs_pointer pointer)
{
    gs_watch *const watch = active;
    for (int i = 0; i < watch->count; i++) {
        if (watch->block[i].at != pointer) continue;
        watch->block[i] = watch->block[--watch->count];
        break;
    }
    watch->ops->free(device, pointer);
}

void gs_watch_begin(gs_watch *watch, gs_verifier *verifier)
{
    *watch = (gs_watch){.verifier = verifier, .ops = verifier->device->ops, .watched = *verifier->device->ops};
    watch->watched.alloc = watched_alloc;
    watch->watched.free = watched_free;
    gs_watch_pause(watch, false);
}

void gs_watch_pause(gs_watch *watch, bool pause)
{
    active = pause ? NULL : watch;
    watch->verifier->device->ops = pause ? watch->ops : &watch->watched;
}

void gs_watch_end(gs_watch *watch) { gs_watch_pause(watch, true); }

gs_status gs_watch_fill(gs_watch *watch, const gs_contender *owner, uint32_t pattern, uint64_t seed, gs_queue queue, gs_error *error)
{
    gs_status status = GS_OK;
    for (int i = 0; status == GS_OK && i < watch->count; i++) {
        const size_t kept = pattern && watch->block[i].at == owner->zeroed ? GS_MIN(owner->zeroed_bytes, watch->block[i].bytes) : 0;
        status = gs_check_poison(watch->verifier, watch->block[i].at + kept, watch->block[i].bytes - kept, pattern, queue, error);
        if (status == GS_OK)
            status = gs_check_guard_fill(watch->verifier, watch->block[i].at + watch->block[i].bytes, gs_guard(watch->verifier->device), seed + (uint64_t)i, queue, error);
    }
    return status;
}

gs_status gs_watch_check(gs_watch *watch, uint64_t seed, int slot, gs_queue queue, gs_error *error)
{
    gs_status status = GS_OK;
    for (int i = 0; status == GS_OK && i < watch->count; i++)
        status = gs_check_guard(watch->verifier, watch->block[i].at + watch->block[i].bytes, gs_guard(watch->verifier->device), seed + (uint64_t)i, slot, queue, error);
    return status;
}
