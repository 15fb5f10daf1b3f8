/* SPDX-License-Identifier: MIT */
#include "evaluate/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "device/device.h"
#include "evaluate/emulate.h"
#include "kernel/kernel.h"
#include "table/table.h"
#include "schedule/profile.h"
#include "worker/client.h"

static gs_status hello(gs_device_session *session, const char *device, gs_error *error)
{
    gs_worker_init(&session->worker, device, NULL);
    return gs_worker_hello(&session->worker, &session->caps, &session->cublaslt, &session->nvrtc, error);
}

/* The worker finds out what there is: this process never opens a device. */
static gs_status start(gs_device_session *session, const gs_device_session_options *o, gs_error *error)
{
    const char *const environment = getenv("GEMMSMITH_DEVICE");
    const bool named = (o->device && *o->device) || (environment && *environment);
    const gs_status status = hello(session, o->device && *o->device ? o->device : gs_device_gpu(), error);
    if (named || !gs_device_may_emulate(status)) return status;
    char text[sizeof error->text + 256];
    gs_worker_stop(&session->worker);
    snprintf(text, sizeof text, "gemmsmith warning: " GS_DEVICE_EMULATES, error->text);
    if (o->note) o->note(text);
    else gs_log(GS_LOG_WARNING, "%s", text);
    return hello(session, GS_DEVICE_WITHOUT_GPU, error);
}

char *gs_session_version(char text[GS_SESSION_VERSION])
{
    char sources[GS_SOURCES_ID];
    snprintf(text, GS_SESSION_VERSION, "%s+%s", GS_VERSION_TEXT, gs_kernel_sources_id(sources));
    return text;
}

/* What results depend on besides the device: the kernels' sources and, where times are predicted, the profile that predicts them. */
static void name_version(gs_device_session *session)
{
    char sources[GS_SOURCES_ID];
    gs_kernel_sources_id(sources);
    const gs_profile *const profile = session->caps.emulated ? gs_profile_find(session->caps.slug + strlen(GS_EMULATED_SLUG)) : NULL;
    if (profile) {
        gs_text text = {0};
        gs_text_add(&text, sources);
        gs_profile_format(profile, &text);
        snprintf(sources, sizeof sources, "%08x", (unsigned)gs_hash64(gs_text_string(&text), text.size));
        gs_text_free(&text);
    }
    snprintf(session->version, sizeof session->version, "%s+%s", GS_VERSION_TEXT, sources);
}

static gs_status open_store(gs_device_session *session, const gs_device_session_options *o, gs_error *error)
{
    /* predicted times are those of ordinary launches */
    snprintf(session->device, sizeof session->device, "%s%s", session->caps.slug, o->dependent && !session->caps.emulated ? GS_DEPENDENT_SUFFIX : "");
    session->session = (gs_session){
        .command = session->command,
        .version = session->version,
        .commit = o->commit,
        .device = session->device,
        .cc = session->caps.cc,
        .sms = session->caps.sms,
        .driver = session->caps.driver,
        .cublaslt = session->cublaslt,
        .nvrtc = session->nvrtc,
    };
    GS_TRY(gs_store_open(&session->store, o->store_path, error));
    return gs_store_begin(session->store, &session->session, error);
}

gs_status gs_device_session_open(gs_device_session *session, const gs_device_session_options *options, gs_error *error)
{
    gs_status status = start(session, options, error);
    if (status == GS_OK) name_version(session);
    if (status == GS_OK && options->store) status = open_store(session, options, error);
    if (status != GS_OK) gs_device_session_close(session);
    return status;
}

void gs_device_session_close(gs_device_session *session)
{
    gs_worker_stop(&session->worker);
    gs_worker_stop(&session->emulator);
    gs_store_close(&session->store);
}

gs_worker *gs_device_session_emulator(gs_device_session *session)
{
    char name[GS_WORKER_DEVICE];
    if (session->caps.emulated || !gs_emulation_device(&session->caps, name)) return NULL;
    gs_worker_init(&session->emulator, name, NULL);
    return &session->emulator;
}
