/* SPDX-License-Identifier: MIT */
#include "kernel/kernel.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/hash.h"
#include "device/device.h"
#include "output.h"
#include "plan/table.h"
#include "schedule/profile.h"
#include "evaluate/emulate.h"
#include "worker/client.h"

void cli_session_command(cli_session *session, int argc, char *const *argv)
{
    size_t size = (size_t)snprintf(session->command, sizeof session->command, "gemmsmith");
    for (int i = 0; i < argc && size < sizeof session->command; i++)
        size += (size_t)snprintf(session->command + size, sizeof session->command - size, " %s", argv[i]);
}

static gs_status hello(cli_session *session, const char *device, gs_error *error)
{
    gs_worker_init(&session->worker, device, NULL);
    return gs_worker_hello(&session->worker, &session->caps, &session->cublaslt, &session->nvrtc, error);
}

/* The worker finds out what there is: this process never opens a device. */
static gs_status start(cli_session *session, const char *device, gs_error *error)
{
    const char *const environment = getenv("GEMMSMITH_DEVICE");
    const bool named = (device && *device) || (environment && *environment);
    const gs_status status = hello(session, device && *device ? device : gs_device_gpu(), error);
    if (named || !gs_device_may_emulate(status)) return status;
    gs_worker_stop(&session->worker);
    cli_note("gemmsmith: " GS_DEVICE_EMULATES, error->text);
    return hello(session, GS_DEVICE_WITHOUT_GPU, error);
}

/* What results depend on beside the device: the kernels' sources and, where times are predicted, the profile that predicts them. */
static void name_version(cli_session *session)
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

int cli_dependent(const cli_command *command, bool *dependent)
{
    gs_error error;
    if (*dependent || gs_device_dependent(dependent, &error) == GS_OK) return -1;
    return cli_fail(command, NULL, &error);
}

int cli_session_open(const cli_command *command, cli_session *session, const char *device, bool dependent, bool want_store,
                     const char *store_path)
{
    gs_error error;
    cli_signals();
    if (start(session, device, &error) != GS_OK) {
        const int code = cli_fail(command, cli_exit_code(error.status) == CLI_NO_DEVICE ? "needs an NVIDIA GPU" : NULL, &error);
        cli_session_close(session);
        return code;
    }
    name_version(session);
    if (!want_store) return -1;
    /* predicted times are those of a launch that waits */
    snprintf(session->device, sizeof session->device, "%s%s", session->caps.slug, dependent && !session->caps.emulated ? GS_DEPENDENT_SUFFIX : "");
    session->session = (gs_session){
        .command = session->command,
        .version = session->version,
        .commit = GS_COMMIT,
        .device = session->device,
        .cc = session->caps.cc,
        .sms = session->caps.sms,
        .driver = session->caps.driver,
        .cublaslt = session->cublaslt,
        .nvrtc = session->nvrtc,
    };
    if (gs_store_open(&session->store, store_path, &error) == GS_OK &&
        gs_store_begin(session->store, &session->session, &error) == GS_OK)
        return -1;
    const int code = cli_fail(command, NULL, &error);
    cli_session_close(session);
    return code;
}

void cli_session_close(cli_session *session)
{
    gs_worker_stop(&session->worker);
    gs_worker_stop(&session->emulator);
    gs_store_close(&session->store);
}

gs_worker *cli_session_emulator(cli_session *session)
{
    char name[GS_WORKER_DEVICE];
    if (session->caps.emulated || !gs_emulation_device(&session->caps, name)) return NULL;
    gs_worker_init(&session->emulator, name, NULL);
    return &session->emulator;
}

void cli_announce(const gs_caps *caps, const char *device, const char *what, double seconds)
{
    char text[CLI_TIME_TEXT];
    if (caps->emulated && seconds > CLI_LONG_S) cli_note("%s on %s will take about %s on this machine", what, device, cli_time(text, seconds));
}

char *cli_library_version(int version, char text[CLI_VERSION_TEXT])
{
    snprintf(text, CLI_VERSION_TEXT, version > 0 ? "%d.%d.%d" : "none", version / 10000, version / 100 % 100, version % 100);
    return text;
}

char *cli_cuda_version(int version, char text[CLI_VERSION_TEXT])
{
    snprintf(text, CLI_VERSION_TEXT, version > 0 ? "%d.%d" : "none", version / 1000, version % 1000 / 10);
    return text;
}
