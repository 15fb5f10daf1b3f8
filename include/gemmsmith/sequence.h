/* SPDX-License-Identifier: MIT
 * Sequences: several plans and the caller's own kernels between them, captured once as a CUDA graph and launched many times by one call, with operands that
 * can be changed without capturing anew.
 *
 *     gs_sequence *sequence;
 *     int up, down;
 *     gs_sequence_create(context, &sequence, &error);
 *     gs_sequence_add(sequence, plan_up, &args_up, &up, &error);           h = x * W1
 *     gs_sequence_add_call(sequence, activate, &state, &error);            h = f(h): activate(&state, stream) launches the caller's kernel
 *     gs_sequence_add(sequence, plan_down, &args_down, &down, &error);     y = h * W2
 *     gs_sequence_build(sequence, &error);
 *     for each x: gs_sequence_set(sequence, up, &args_of_x, &error), gs_sequence_launch(sequence, stream);
 *
 * Members run one after the other, in the order in which they were added, each with the results of those before it. They have numbers from 0, calls included.
 *
 * Dependent launches: a plan's kernel may begin before the kernel in front of it has ended, and then waits for it on the device. Behind a kernel that lets the
 * next begin early (one of ours, or one of a call that is launched dependently itself) that saves time, behind any other it costs some. So a member is launched
 * so exactly behind such a kernel, unless its plan loses by it, on a GPU of compute capability 9.0 or later with a driver of CUDA 12.3 or later;
 * gs_config.dependent = -1 switches it off.
 *
 * Ownership: plans, and what the calls use, are borrowed: they stay until the sequence is destroyed and the device has finished its work. Structs and host scalars
 * are copied. Operands in device memory stay until the launches that use them have run.
 *
 * Workspace: members run one after the other, so a plan's own workspace serves, also for several members of one plan. Launches that may overlap on the device
 * (of two sequences with the same plan, or of one sequence on two streams, or beside gs_plan_run) need workspaces of their own: gs_args.workspace.
 *
 * Threads: one thread at a time per sequence. Other sequences, also with the same plans, may be used at the same time. */
#ifndef GEMMSMITH_SEQUENCE_H
#define GEMMSMITH_SEQUENCE_H

#include <gemmsmith/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gs_sequence gs_sequence;

/* Puts the caller's own work on the stream while that is captured: nothing runs yet, and nothing may wait for the stream or the device. What it puts on other
 * streams must have come back to this one (events) when it returns. GS_OK, or a code that gs_sequence_build returns. It is called again
 * whenever the sequence is captured anew, and may not use the sequence. */
typedef gs_status gs_sequence_call(void *self, gs_stream stream);

/* A sequence without members. *out is NULL on failure. Codes: ARGUMENT, MEMORY, DEVICE. */
GS_API gs_status gs_sequence_create(gs_context *context, gs_sequence **out, gs_error *error);

/* Adds a plan of the same context, with its arguments. *index (index may be NULL) is its number, for gs_sequence_set.
 * Codes: ARGUMENT (also: the plan is of another context; the sequence is built), MEMORY, and those of gs_plan_run for arguments. */
GS_API gs_status gs_sequence_add(gs_sequence *sequence, const gs_plan *plan, const gs_args *args, int *index, gs_error *error);

/* Adds work of the caller. Codes: ARGUMENT (also: the sequence is built), MEMORY. */
GS_API gs_status gs_sequence_add_call(gs_sequence *sequence, gs_sequence_call *call, void *self, gs_error *error);

/* Captures the members, on a stream of the sequence's own, and makes a graph of them. Nothing runs. After a failure the sequence is as it was before, and
 * may be built again. Never call it while a stream is being captured.
 * Codes: ARGUMENT (there are no members; it is built; a stream is being captured), what a call returned, MEMORY, LAUNCH, DEVICE, DEVICE_MEMORY, LIBRARY. */
GS_API gs_status gs_sequence_build(gs_sequence *sequence, gs_error *error);

/* Other arguments for one member, all of them, for launches from now on; earlier ones keep theirs, also if they have not run yet. Before gs_sequence_build it replaces
 * those of gs_sequence_add. Our own kernels are changed in the graph: a few microseconds. A member of cuBLASLt, and any member with a driver that cannot change a
 * graph, makes the sequence capture anew, which takes as long as gs_sequence_build and calls its calls again. After a failure
 * the arguments of before are in force; only if the device refuses those too, the sequence is no longer built.
 * Codes: ARGUMENT (also: no such member; it is a call), those of gs_plan_run for arguments, those of gs_sequence_build. */
GS_API gs_status gs_sequence_set(gs_sequence *sequence, int index, const gs_args *args, gs_error *error);

/* Puts all members on the stream by one launch. Allocates nothing.
 * Codes: ARGUMENT (it is not built; the stream is being captured), LAUNCH, DEVICE, FAULT. */
GS_API gs_status gs_sequence_launch(gs_sequence *sequence, gs_stream stream);

/* 1: this member is launched dependently; 0: it is not, it is a call, there is no such member, or the sequence is not built. */
GS_API int gs_sequence_dependent(const gs_sequence *sequence, int index);

/* Destroys the sequence, then sets *sequence to NULL. Its launches go on. Accepts NULL and *sequence == NULL. */
GS_API void gs_sequence_destroy(gs_sequence **sequence);

#ifdef __cplusplus
}
#endif
#endif
