/* SPDX-License-Identifier: MIT
 * On an emulated device plans are made and destroyed one at a time. */
#include "plan/plan_internal.h"

void gs_context_enter(gs_context *context)
{
    if (context->device->caps.emulated) pthread_mutex_lock(&context->making);
}

void gs_context_leave(gs_context *context)
{
    if (context->device->caps.emulated) pthread_mutex_unlock(&context->making);
}
