/* SPDX-License-Identifier: MIT */
#include "kernel/kernel.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "output.h"

void cli_session_command(cli_session *session, int argc, char *const *argv)
{
    size_t size = (size_t)snprintf(session->command, sizeof session->command, "gemmsmith");
    for (int i = 0; i < argc && size < sizeof session->command; i++)
        size += (size_t)snprintf(session->command + size, sizeof session->command - size, " %s", argv[i]);
}

int cli_session_open(const cli_command *command, cli_session *session, const char *device, bool want_store, const char *store_path)
{
    gs_error error;
    const char *const environment = getenv("GEMMSMITH_DEVICE");
    gs_worker_init(&session->worker, device ? device : environment && *environment ? environment : "cuda:0", NULL);
    cli_signals();
    if (gs_worker_hello(&session->worker, &session->caps, &session->cublaslt, &session->nvrtc, &error) != GS_OK) {
        const int code = cli_fail(command, cli_exit_code(error.status) == CLI_NO_DEVICE ? "needs an NVIDIA GPU" : NULL, &error);
        cli_session_close(session);
        return code;
    }
    char sources[GS_SOURCES_ID];
    snprintf(session->version, sizeof session->version, "%s+%s", GS_VERSION_TEXT, gs_kernel_sources_id(sources));
    if (!want_store) return -1;
    session->session = (gs_session){
        .command = session->command,
        .version = session->version,
        .commit = GS_COMMIT,
        .device = session->caps.slug,
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
    gs_store_close(&session->store);
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
