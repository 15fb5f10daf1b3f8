/* SPDX-License-Identifier: MIT */
#include "plan/member.h"

#include "plan/plan_internal.h"

const gs_context *gs_plan_context(const gs_plan *plan) { return plan->context; }
gs_device *gs_context_device(const gs_context *context) { return context->device; }
