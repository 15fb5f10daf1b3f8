/* SPDX-License-Identifier: MIT
 * Workspaces of one plan: one for each stream, and one for each graph and stream that it is captured on, since graphs may run beside each other. Nothing is allocated while
 * a stream is captured: a spare one is held ready. */
#ifndef GS_TORCH_WORKSPACE_H
#define GS_TORCH_WORKSPACE_H

#include <stdbool.h>
#include <gemmsmith/plan.h>

#include "device/device.h"

enum { GS_TORCH_PLACES = 16 };   /* most of a plan; what needs another one is left to torch */

typedef struct gs_torch_workspaces gs_torch_workspaces;

/* Never freed: kernels of a graph may still use them. The first one is the plan's own. */
gs_status gs_torch_workspaces_create(gs_torch_workspaces **out, gs_device *device, size_t bytes, gs_error *error);

/* The workspace of a call, NULL for the plan's own. Calls wait for each other until gs_torch_workspaces_leave, so that one call's kernels follow each other. capture: 0, or the
 * number of the capture that the stream is in. false: there is none, and nothing is to be left. */
bool gs_torch_workspaces_take(gs_torch_workspaces *all, gs_stream stream, uint64_t capture, void **out);
void gs_torch_workspaces_leave(gs_torch_workspaces *all);

#endif
