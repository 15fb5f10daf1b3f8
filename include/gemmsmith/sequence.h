/* SPDX-License-Identifier: MIT
 * Sequences: several plans, with calls of the caller's own kernels between them, captured once as a CUDA graph and launched many times by one call. Operands can be
 * changed without capturing again.
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
 * Members run one after the other, in the order in which they were added, each with the results of those before it. They are numbered from 0, calls included.
 *
 * Dependent launches: a plan's kernel may begin before the previous kernel has ended; it then waits for that kernel on the device. After a kernel that lets the next
 * one begin early (one of ours, or the kernel of a call that is itself launched dependently) that saves time; after any other it costs some. So a member is launched
 * dependently only after such a kernel, unless its plan is slower that way, on a GPU of compute capability 9.0 or later with a driver of CUDA 12.3 or later;
 * gs_config.dependent = -1 switches it off.
 *
 * Ownership: plans, and whatever the calls use, are borrowed. They must stay valid until the sequence is destroyed and the device has finished its work. Structs and
 * host scalars are copied. Operands in device memory must stay valid until the launches that use them have run.
 *
 * Workspace: because members run one after the other, they can share a plan's own workspace, even if several members use one plan. Launches that may overlap on the
 * device (two sequences with the same plan, one sequence on two streams, or a sequence and gs_plan_run) each need their own: gs_args.workspace.
 *
 * Threads: one thread at a time per sequence. Other sequences, even with the same plans, may be used at the same time. */
#ifndef GEMMSMITH_SEQUENCE_H
#define GEMMSMITH_SEQUENCE_H

#include <gemmsmith/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gs_sequence gs_sequence;

/* Puts the caller's own work on the stream while the stream is being captured: nothing runs yet, and the call must not wait for the stream or the device. Work that it
 * puts on other streams must have joined this one again (by events) when it returns. Returns GS_OK, or a code that gs_sequence_build returns. It is called again
 * whenever the sequence is captured again, and must not use the sequence. */
typedef gs_status gs_sequence_call(void *self, gs_stream stream);

/* A sequence without members. *out is NULL on failure. Codes: ARGUMENT, MEMORY, DEVICE. */
GS_API gs_status gs_sequence_create(gs_context *context, gs_sequence **out, gs_error *error);

/* Adds a plan of the same context, with its arguments. *index (index may be NULL) is its number, for gs_sequence_set.
 * Codes: ARGUMENT (also: the plan is of another context; the sequence is built), MEMORY, and those of gs_plan_run for arguments. */
GS_API gs_status gs_sequence_add(gs_sequence *sequence, const gs_plan *plan, const gs_args *args, int *index, gs_error *error);

/* Adds work of the caller. Codes: ARGUMENT (also: the sequence is built), MEMORY. */
GS_API gs_status gs_sequence_add_call(gs_sequence *sequence, gs_sequence_call *call, void *self, gs_error *error);

/* Captures the members on a stream of the sequence's own and instantiates a graph. Nothing runs. After a failure the sequence is as it was before, and may be built
 * again. Never call it while a stream is being captured.
 * Codes: ARGUMENT (there are no members; it is built; a stream is being captured), what a call returned, MEMORY, LAUNCH, DEVICE, DEVICE_MEMORY, LIBRARY. */
GS_API gs_status gs_sequence_build(gs_sequence *sequence, gs_error *error);

/* Replaces all arguments of one member for later launches. Earlier launches keep theirs, even if they have not run yet. Before gs_sequence_build it replaces the
 * arguments of gs_sequence_add. For our own kernels the graph is updated, which takes a few microseconds. For a member that uses cuBLASLt, and for any member if the
 * driver cannot update a graph, the sequence is captured again, which takes as long as gs_sequence_build and calls its calls again. After a failure the previous
 * arguments are in force; only if the device refuses those too, the sequence is no longer built.
 * Codes: ARGUMENT (also: no such member; it is a call), those of gs_plan_run for arguments, those of gs_sequence_build. */
GS_API gs_status gs_sequence_set(gs_sequence *sequence, int index, const gs_args *args, gs_error *error);

/* Launches all members on the stream with one graph launch. Allocates nothing. Codes: ARGUMENT (it is not built; the stream is being captured), LAUNCH, DEVICE, FAULT. */
GS_API gs_status gs_sequence_launch(gs_sequence *sequence, gs_stream stream);

/* Returns 1 if this member is launched dependently; 0 if it is not, it is a call, there is no such member, or the sequence is not built. */
GS_API int gs_sequence_dependent(const gs_sequence *sequence, int index);

/* Destroys the sequence, then sets *sequence to NULL. Its pending launches still run. Accepts NULL and *sequence == NULL. */
GS_API void gs_sequence_destroy(gs_sequence **sequence);

#ifdef __cplusplus
}
#endif
#endif
