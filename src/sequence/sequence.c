/* SPDX-License-Identifier: MIT
 * Sequences: members, their capture into a graph, and changes to the graph. Whether a launch is dependent is decided during capture, from the launch before it;
 * captured members remember their graph nodes. */
#include <gemmsmith/sequence.h>

#include <stdlib.h>

#include "base/error.h"
#include "device/device.h"
#include "plan/member.h"
#include "problem/sized.h"

typedef struct member {
    const gs_plan    *plan;         /* NULL: a call */
    gs_sequence_call *call;
    void             *self;
    gs_args           args;         /* its host pointers to alpha and beta serve only as flags: */
    float             scalar[2];    /* the values are copied here */
    gs_captured       captured;     /* valid while there is a graph */
} member;

struct gs_sequence {
    gs_context *context;
    gs_device  *device;
    gs_queue    queue;              /* for capturing */
    member     *member;
    int         count, capacity;
    gs_graph    graph;              /* NULL: not built */
    gs_capture  capture;            /* of the graph */
    bool        busy;               /* being captured, perhaps in a user's callback */
};

/* ---- members ---- */

static bool on_device(const gs_plan *plan) { return gs_plan_problem(plan)->scalars == GS_SCALARS_DEVICE; }

static void take_args(member *m, const gs_args *args)
{
    gs_sized_copy(&m->args, args, sizeof m->args);
    if (on_device(m->plan)) return;
    if (m->args.alpha) m->scalar[0] = *m->args.alpha;
    if (m->args.beta) m->scalar[1] = *m->args.beta;
}

static gs_args args_of(const member *m)
{
    gs_args args = m->args;
    if (on_device(m->plan)) return args;
    if (args.alpha) args.alpha = &m->scalar[0];
    if (args.beta) args.beta = &m->scalar[1];
    return args;
}

static gs_status usable(const gs_sequence *sequence, gs_error *error)
{
    if (!sequence) return gs_fail(error, GS_ERROR_ARGUMENT, "sequence", "must not be NULL");
    if (sequence->busy) return gs_fail(error, GS_ERROR_ARGUMENT, "sequence", "is being captured: its calls may not use it");
    return GS_OK;
}

static gs_status append(gs_sequence *sequence, const member *added, gs_error *error)
{
    if (sequence->graph) return gs_fail(error, GS_ERROR_ARGUMENT, "sequence", "is built: members are added before");
    if (sequence->count == sequence->capacity) {
        const int capacity = sequence->capacity ? 2 * sequence->capacity : 8;
        member *const larger = realloc(sequence->member, (size_t)capacity * sizeof *larger);
        if (!larger) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d members", capacity);
        sequence->member = larger;
        sequence->capacity = capacity;
    }
    sequence->member[sequence->count++] = *added;
    return GS_OK;
}

gs_status gs_sequence_add(gs_sequence *sequence, const gs_plan *plan, const gs_args *args, int *index, gs_error *error)
{
    GS_TRY(usable(sequence, error));
    if (!plan || !args) return gs_fail(error, GS_ERROR_ARGUMENT, plan ? "args" : "plan", "must not be NULL");
    if (gs_plan_context(plan) != sequence->context) return gs_fail(error, GS_ERROR_ARGUMENT, "plan", "is of another context than the sequence");
    GS_TRY(gs_plan_check(plan, args, error));
    member added = {.plan = plan};
    take_args(&added, args);
    GS_TRY(append(sequence, &added, error));
    if (index) *index = sequence->count - 1;
    return GS_OK;
}

gs_status gs_sequence_add_call(gs_sequence *sequence, gs_sequence_call *call, void *self, gs_error *error)
{
    GS_TRY(usable(sequence, error));
    if (!call) return gs_fail(error, GS_ERROR_ARGUMENT, "call", "must not be NULL");
    return append(sequence, &(member){.call = call, .self = self}, error);
}

/* ---- capturing ---- */

static gs_status capture_member(gs_sequence *sequence, int index, gs_captured *out, gs_error *error)
{
    const member *const m = &sequence->member[index];
    gs_error local = {0};
    gs_status status;
    if (m->plan) {
        const gs_args args = args_of(m);
        status = gs_plan_capture(m->plan, &args, sequence->queue, out, &local);
        if (status != GS_OK) gs_fail(error, status, local.field, "member %d: %.380s", index, local.text);
        return status;
    }
    status = m->call(m->self, sequence->queue);
    return status == GS_OK ? GS_OK : gs_fail(error, status, "call", "member %d, a call, returned %s", index, gs_status_name(status));
}

/* Ends the capture and discards the graph. */
static void drop_capture(gs_sequence *sequence)
{
    gs_graph graph = NULL;
    if (sequence->device->ops->capture_end(sequence->device, sequence->queue, &graph, NULL) == GS_OK) sequence->device->ops->graph_destroy(sequence->device, graph);
}

static void drop_graph(gs_sequence *sequence)
{
    sequence->device->ops->graph_destroy(sequence->device, sequence->graph);
    sequence->device->ops->capture_free(sequence->device, sequence->capture);
    sequence->graph = NULL;
    sequence->capture = NULL;
}

static gs_status capture_members(gs_sequence *sequence, gs_captured *captured, gs_graph *graph, gs_capture *capture, gs_error *error)
{
    const gs_device_ops *const ops = sequence->device->ops;
    gs_status status = GS_OK;
    GS_TRY(ops->capture_begin(sequence->device, sequence->queue, error));
    sequence->busy = true;
    for (int i = 0; i < sequence->count && status == GS_OK; i++) status = capture_member(sequence, i, &captured[i], error);
    sequence->busy = false;
    if (status == GS_OK) return ops->capture_keep(sequence->device, sequence->queue, graph, capture, error);
    drop_capture(sequence);
    return status;
}

/* Builds a graph of the current members and replaces the old one. */
static gs_status build(gs_sequence *sequence, gs_error *error)
{
    gs_device *const device = sequence->device;
    gs_graph graph = NULL;
    gs_capture capture = NULL;
    bool capturing = false;
    GS_TRY(device->ops->capturing(device, NULL, &capturing, error));
    if (capturing) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "a stream is being captured: a sequence is captured before or after");
    gs_captured *const captured = calloc((size_t)sequence->count, sizeof *captured);
    if (!captured) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to capture %d members", sequence->count);
    const gs_status status = capture_members(sequence, captured, &graph, &capture, error);
    if (status == GS_OK) {
        if (sequence->graph) drop_graph(sequence);
        sequence->graph = graph;
        sequence->capture = capture;
        for (int i = 0; i < sequence->count; i++) sequence->member[i].captured = captured[i];
    }
    free(captured);
    return status;
}

gs_status gs_sequence_build(gs_sequence *sequence, gs_error *error)
{
    GS_TRY(usable(sequence, error));
    if (sequence->graph) return gs_fail(error, GS_ERROR_ARGUMENT, "sequence", "is built already");
    if (sequence->count == 0) return gs_fail(error, GS_ERROR_ARGUMENT, "sequence", "has no members");
    return build(sequence, error);
}

/* ---- changing ---- */

static gs_status change(gs_sequence *sequence, const member *m, gs_error *error)
{
    const gs_args args = args_of(m);
    return gs_plan_change(m->plan, &args, sequence->graph, &m->captured, error);
}

gs_status gs_sequence_set(gs_sequence *sequence, int index, const gs_args *args, gs_error *error)
{
    GS_TRY(usable(sequence, error));
    if (!args) return gs_fail(error, GS_ERROR_ARGUMENT, "args", "must not be NULL");
    if (index < 0 || index >= sequence->count) return gs_fail(error, GS_ERROR_ARGUMENT, "index", "there is no member %d, but %d members", index, sequence->count);
    member *const m = &sequence->member[index];
    if (!m->plan) return gs_fail(error, GS_ERROR_ARGUMENT, "index", "member %d is a call, which has no arguments", index);
    GS_TRY(gs_plan_check(m->plan, args, error));
    const member before = *m;
    take_args(m, args);
    if (!sequence->graph) return GS_OK;
    const gs_status status = m->captured.changeable ? change(sequence, m, error) : build(sequence, error);
    if (status == GS_OK) return GS_OK;
    *m = before;
    if (m->captured.changeable && change(sequence, m, NULL) != GS_OK) drop_graph(sequence);   /* a half-changed graph would compute nonsense */
    return status;
}

/* ---- launching ---- */

gs_status gs_sequence_launch(gs_sequence *sequence, gs_stream stream)
{
    if (!sequence || sequence->busy || !sequence->graph) return GS_ERROR_ARGUMENT;
    gs_device *const device = sequence->device;
    bool capturing;
    GS_TRY(device->ops->capturing(device, stream, &capturing, NULL));
    return capturing ? GS_ERROR_ARGUMENT : device->ops->graph_launch(device, sequence->graph, stream, NULL);   /* launching a graph would invalidate the capture */
}

int gs_sequence_dependent(const gs_sequence *sequence, int index)
{
    return sequence && sequence->graph && index >= 0 && index < sequence->count && sequence->member[index].captured.dependent;
}

/* ---- creating and destroying ---- */

gs_status gs_sequence_create(gs_context *context, gs_sequence **out, gs_error *error)
{
    if (!out) return gs_fail(error, GS_ERROR_ARGUMENT, "out", "must not be NULL");
    *out = NULL;
    if (!context) return gs_fail(error, GS_ERROR_ARGUMENT, "context", "must not be NULL");
    gs_sequence *const sequence = calloc(1, sizeof *sequence);
    if (!sequence) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a sequence");
    sequence->context = context;
    sequence->device = gs_context_device(context);
    const gs_status status = sequence->device->ops->queue_create(sequence->device, &sequence->queue, error);
    if (status == GS_OK) *out = sequence;
    else free(sequence);
    return status;
}

void gs_sequence_destroy(gs_sequence **sequence)
{
    if (!sequence || !*sequence || (*sequence)->busy) return;
    gs_sequence *const s = *sequence;
    if (s->graph) drop_graph(s);
    s->device->ops->queue_destroy(s->device, s->queue);
    free(s->member);
    free(s);
    *sequence = NULL;
}
