/* SPDX-License-Identifier: MIT
 * The context's device memory, for callers who have no other way to allocate it (emulated devices). */
#include <gemmsmith/plan.h>

#include "base/error.h"
#include "plan/plan_internal.h"

static gs_status begin(gs_context *context, const void *pointer, const char *field, gs_error *error)
{
    if (!context) return gs_fail(error, GS_ERROR_ARGUMENT, "context", "must not be NULL");
    if (!pointer) return gs_fail(error, GS_ERROR_ARGUMENT, field, "must not be NULL");
    gs_context_enter(context);
    return GS_OK;
}

gs_status gs_memory_create(gs_context *context, size_t bytes, void **out, gs_error *error)
{
    gs_pointer at = 0;
    if (out) *out = NULL;
    GS_TRY(begin(context, out, "out", error));
    const gs_status status = context->device->ops->alloc(context->device, bytes ? bytes : 1, &at, error);
    gs_context_leave(context);
    if (status == GS_OK) *out = (void *)(uintptr_t)at;
    return status;
}

void gs_memory_destroy(gs_context *context, void *memory)
{
    if (!context || !memory) return;
    gs_context_enter(context);
    context->device->ops->free(context->device, (gs_pointer)(uintptr_t)memory);
    gs_context_leave(context);
}

gs_status gs_memory_write(gs_context *context, void *to, const void *from, size_t bytes, gs_error *error)
{
    if (bytes == 0) return GS_OK;
    if (!from) return gs_fail(error, GS_ERROR_ARGUMENT, "from", "must not be NULL");
    GS_TRY(begin(context, to, "to", error));
    const gs_status status = context->device->ops->copy_in(context->device, (gs_pointer)(uintptr_t)to, from, bytes, error);
    gs_context_leave(context);
    return status;
}

gs_status gs_memory_read(gs_context *context, void *to, const void *from, size_t bytes, gs_error *error)
{
    if (bytes == 0) return GS_OK;
    if (!to) return gs_fail(error, GS_ERROR_ARGUMENT, "to", "must not be NULL");
    GS_TRY(begin(context, from, "from", error));
    gs_device *const device = context->device;
    gs_status status = device->ops->wait ? device->ops->wait(device, error) : GS_OK;
    if (status == GS_OK) status = device->ops->copy_out(device, to, (gs_pointer)(uintptr_t)from, bytes, error);
    gs_context_leave(context);
    return status;
}
