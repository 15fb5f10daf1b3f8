/* SPDX-License-Identifier: MIT
 * Workspaces of one plan: one for each stream, and one for each captured graph and stream, since graphs may run concurrently. Nothing is allocated while a stream is
 * being captured; a spare workspace is kept for that case. */
#ifndef GS_TORCH_WORKSPACE_H
#define GS_TORCH_WORKSPACE_H

#include <stdbool.h>
#include <gemmsmith/plan.h>

#include "device/device.h"

enum { GS_TORCH_PLACES = 16 };   /* most workspaces of a plan; calls that need more are left to torch */

typedef struct gs_torch_workspaces gs_torch_workspaces;

/* The workspaces are never freed, because kernels of a graph may still use them. The first one is the plan's own. */
gs_status gs_torch_workspaces_create(gs_torch_workspaces **out, gs_device *device, size_t bytes, gs_error *error);

/* Takes the workspace for a call, NULL for the plan's own, and holds a lock until gs_torch_workspaces_leave, so that the kernels of different calls do not interleave.
 * capture: 0, or the id of the capture of the stream. false: there is none; do not call gs_torch_workspaces_leave. */
bool gs_torch_workspaces_take(gs_torch_workspaces *all, gs_stream stream, uint64_t capture, void **out);
void gs_torch_workspaces_leave(gs_torch_workspaces *all);

#endif
