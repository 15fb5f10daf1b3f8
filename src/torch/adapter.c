/* SPDX-License-Identifier: MIT */
#include "torch/adapter.h"

#include <stdio.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "device/device.h"
#include "torch/choice.h"
#include "torch/gate.h"
#include "torch/kernels.h"
#include "torch/norm.h"
#include "torch/shim.h"

static gs_torch_shim    shim;
static gs_torch_library own, aten;
static char             key[8], emulated[64];

static int said(gs_status status, const gs_error *error, char *text, size_t size)
{
    if (status != GS_OK && error->text[0]) gs_error_format(error, text, size);
    else if (status != GS_OK) snprintf(text, size, "%s", gs_status_string(status));
    return (int)status;
}

static gs_status enroll(gs_torch_library *out, const char *space, const gs_torch_named *kernels, gs_error *error)
{
    if (shim.library_init_impl(space, key, __FILE__, __LINE__, out) != 0) return gs_fail(error, GS_ERROR_LIBRARY, "torch", "torch takes no kernels for %s and %s", space, key);
    for (const gs_torch_named *k = kernels; k->name; k++) {
        if (shim.library_impl(*out, k->name, k->kernel) == 0) continue;
        shim.delete_library_object(*out);
        *out = NULL;
        return gs_fail(error, GS_ERROR_LIBRARY, "torch", "torch does not take a kernel for %s::%s", space, k->name);
    }
    return GS_OK;
}

/* Checks that this emulated device exists. It is opened again when it is first needed. */
static gs_status try_device(const char *device, gs_error *error)
{
    gs_device *opened;
    GS_TRY(gs_device_open(&opened, device, NULL, error));
    gs_device_close(&opened);
    return GS_OK;
}

static gs_status load(const char *wanted, const char *device, int most_plans, gs_error *error)
{
    if (own && (strcmp(wanted, key) != 0 || strcmp(device ? device : "", emulated) != 0))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "calls of %s are taken already, by %s", key, emulated[0] ? emulated : "the GPU");
    if (own) return GS_OK;
    if (strlen(wanted) >= sizeof key || (device && strlen(device) >= sizeof emulated)) return gs_fail(error, GS_ERROR_RANGE, "key", "a name is too long");
    if (strcmp(wanted, "CUDA") != 0 && !device) return gs_fail(error, GS_ERROR_UNSUPPORTED, "key", "calls of %s can go to an emulated device only", wanted);
    if (device) GS_TRY(try_device(device, error));
    GS_TRY(gs_torch_shim_find(&shim, wanted, error));
    snprintf(key, sizeof key, "%s", wanted);
    snprintf(emulated, sizeof emulated, "%s", device ? device : "");
    const gs_torch_settings settings = {device ? emulated : NULL, most_plans > 0 ? most_plans : 1};
    gs_torch_choice_set(&settings);
    gs_torch_kernels_use(&shim, device != NULL);
    return enroll(&own, "gemmsmith", gs_torch_own, error);
}

int gs_torch_load(const char *wanted, const char *device, int most_plans, char *text, size_t size)
{
    gs_error error = {0};
    return said(load(wanted, device, most_plans, &error), &error, text, size);
}

static gs_status route(int on, gs_error *error)
{
    if (!own) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "nothing is loaded");
    if (on) return aten ? GS_OK : enroll(&aten, "aten", gs_torch_aten, error);
    if (aten && shim.delete_library_object(aten) != 0) return gs_fail(error, GS_ERROR_LIBRARY, "torch", "torch does not take its kernels back");
    aten = NULL;
    return GS_OK;
}

int gs_torch_route(int on, char *text, size_t size)
{
    gs_error error = {0};
    return said(route(on, &error), &error, text, size);
}

int gs_torch_invariant(int on, char *text, size_t size)
{
    (void)text, (void)size;
    gs_torch_choice_invariant(on != 0);
    return 0;
}

int gs_torch_constant(int on, char *text, size_t size)
{
    (void)text, (void)size;
    gs_torch_choice_constant(on != 0);
    return 0;
}

int gs_torch_prepare_text(int device, const char *problem, char *text, size_t size)
{
    gs_problem p;
    gs_error error = {0};
    if (gs_torch_is_gate(problem)) return said(gs_torch_gate_prepare(device, problem, emulated[0] != 0, text, size, &error), &error, text, size);
    if (gs_torch_is_norm(problem)) return said(gs_torch_norm_prepare(device, problem, emulated[0] != 0, text, size, &error), &error, text, size);
    gs_status status = gs_problem_parse(&p, problem, &error);
    if (status == GS_OK) status = gs_torch_prepare(device, &p, text, size, &error);
    return said(status, &error, text, size);
}

int gs_torch_why(int line, char *text, size_t size) { return gs_torch_report(&line, text, size) || gs_torch_gate_report(&line, text, size) || gs_torch_norm_report(&line, text, size); }

const char *gs_torch_version(void) { return gs_version(); }

int gs_torch_operators(void) { return 3; }
