/* SPDX-License-Identifier: MIT */
#include "torch/small.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "torch/choice.h"
#include "torch/driver.h"

enum { UNTRIED, OPENING, THERE, MISSING };

static void open_now(gs_torch_small *small, const gs_torch_small_kernel *kernel, void *call, gs_device *device, bool emulated)
{
    gs_torch_aside aside;
    gs_error error = {0};
    int untried = UNTRIED;
    if (!atomic_compare_exchange_strong(&small->state, &untried, OPENING)) return;
    if (!emulated) gs_torch_step_aside(&aside);
    const gs_status status = kernel->open(call, device, &error);
    if (!emulated) gs_torch_step_back(&aside);
    small->device = device;
    if (status != GS_OK) {
        snprintf(small->why, sizeof small->why, "%.199s", error.text);
        gs_log(GS_LOG_WARNING, "%s left to torch: %s", kernel->what, error.text);
    }
    atomic_store_explicit(&small->state, status == GS_OK ? THERE : MISSING, memory_order_release);
}

/* stream: NULL if compiling is allowed in any case. */
static gs_torch_reason ready(gs_torch_small *small, const gs_torch_small_kernel *kernel, void *call, int number, const gs_stream *stream, bool emulated)
{
    int state = atomic_load_explicit(&small->state, memory_order_acquire);
    if (state == UNTRIED) {
        if (stream && !emulated && gs_torch_capture(*stream) != 0) return GS_TORCH_NO_PLAN;
        gs_device *const device = gs_torch_device(number);
        if (!device) return GS_TORCH_NO_GPU;
        open_now(small, kernel, call, device, emulated);
        state = atomic_load_explicit(&small->state, memory_order_acquire);
    }
    return state == THERE ? GS_TORCH_FITS : state == MISSING ? GS_TORCH_RUN : GS_TORCH_NO_PLAN;
}

typedef struct staged_call {
    const gs_torch_small_kernel *kernel;
    const void                  *call;
} staged_call;

static gs_status launch_staged(const void *self, const gs_torch_staged_operand *operands, gs_error *error)
{
    const staged_call *const staged = self;
    void *at[GS_TORCH_SMALL_OPERANDS];
    for (int i = 0; i < GS_TORCH_SMALL_OPERANDS; i++) at[i] = (void *)(uintptr_t)operands[i].there;
    return staged->kernel->launch(staged->call, at, NULL, error);
}

static gs_status launch(const gs_torch_small *small, const gs_torch_small_kernel *kernel, const void *call, gs_torch_staged_operand *operands, gs_stream stream, bool emulated, gs_error *error)
{
    void *at[GS_TORCH_SMALL_OPERANDS];
    if (emulated) return gs_torch_staged(small->device, operands, GS_TORCH_SMALL_OPERANDS, launch_staged, &(staged_call){kernel, call}, error);
    for (int i = 0; i < GS_TORCH_SMALL_OPERANDS; i++) at[i] = operands[i].host;
    return kernel->launch(call, at, stream, error);
}

gs_torch_reason gs_torch_small_run(gs_torch_small *small, const gs_torch_small_kernel *kernel, void *call, int number, gs_torch_staged_operand operands[GS_TORCH_SMALL_OPERANDS], gs_stream stream,
                                   bool emulated)
{
    gs_error error = {0};
    gs_torch_reason reason = GS_TORCH_FORKED;
    if (!gs_torch_is_forked()) {   /* checked before a lock is taken that another thread may have held at the fork */
        if (emulated) gs_torch_stage(true);
        reason = ready(small, kernel, call, number, &stream, emulated);
        if (reason == GS_TORCH_FITS && launch(small, kernel, call, operands, stream, emulated, &error) != GS_OK) reason = GS_TORCH_RUN;
        if (emulated) gs_torch_stage(false);
    }
    if (error.text[0]) gs_log(GS_LOG_WARNING, "%s left to torch: %s", kernel->what, error.text);
    atomic_fetch_add_explicit(reason == GS_TORCH_FITS ? &small->calls : &small->passed, 1, memory_order_relaxed);
    return reason;
}

static const char *why_of(const gs_torch_small *small, int state, const char *there) { return state == THERE ? there : state == MISSING ? small->why : gs_torch_reason_text(GS_TORCH_NO_PLAN); }

void gs_torch_small_prepare(gs_torch_small *small, const gs_torch_small_kernel *kernel, void *call, int number, bool emulated, const char *there, char *text, size_t size)
{
    gs_torch_reason reason = GS_TORCH_FORKED;
    if (!gs_torch_is_forked()) {
        if (emulated) gs_torch_stage(true);
        reason = ready(small, kernel, call, number, NULL, emulated);
        if (emulated) gs_torch_stage(false);
    }
    const bool its_own = reason == GS_TORCH_FITS || reason == GS_TORCH_RUN || reason == GS_TORCH_NO_PLAN;
    snprintf(text, size, "%s%s", reason == GS_TORCH_FITS ? "" : "torch's own kernels: ", its_own ? why_of(small, atomic_load(&small->state), there) : gs_torch_reason_text(reason));
}

bool gs_torch_small_report(gs_torch_small *small, int number, const char *name, const char *kernel, const char *there, int *line, char *text, size_t size)
{
    const int state = atomic_load_explicit(&small->state, memory_order_acquire);
    const unsigned long long calls = atomic_load(&small->calls), passed = atomic_load(&small->passed);
    if ((state == UNTRIED && passed == 0) || (*line)-- > 0) return false;
    snprintf(text, size, "%d\t%llu\t%llu\t%s\t%s\t%s\t%s", number, calls, passed, name, state == THERE ? "default" : "torch", state == THERE ? kernel : "", why_of(small, state, there));
    return true;
}

int gs_torch_small_place(const char *name, size_t length, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return i;
    return -1;
}
