/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <stdio.h>

#include "device/device.h"
#include "learn/weights.h"
#include "output.h"

void cli_session_command(cli_session *session, int argc, char *const *argv)
{
    size_t size = (size_t)snprintf(session->command, sizeof session->command, "gemmsmith");
    for (int i = 0; i < argc && size < sizeof session->command; i++)
        size += (size_t)snprintf(session->command + size, sizeof session->command - size, " %s", argv[i]);
}

int cli_dependent(const cli_command *command, bool *dependent)
{
    gs_error error;
    int asked = 1;
    if (*dependent || gs_device_dependent(&asked, &error) == GS_OK) {
        *dependent = asked == 1;
        return -1;
    }
    return cli_fail(command, NULL, &error);
}

int cli_devices(const cli_command *command, gs_device_group *group, const char *devices)
{
    gs_error error;
    const gs_status status = gs_device_group_name(group, devices, &error);
    if (status == GS_OK) return -1;
    if (status == GS_ERROR_ARGUMENT) return cli_usage(command, "--devices: %s", error.text);
    return cli_fail(command, cli_needs(status, devices, NULL), &error);
}

static void note(const char *text) { cli_note("%s", text); }

int cli_session_open(const cli_command *command, cli_session *session, const char *device, bool dependent, bool want_store,
                     const char *store_path)
{
    const gs_device_session_options options = {.device = device, .dependent = dependent, .store = want_store, .store_path = store_path, .commit = GS_COMMIT, .note = note};
    gs_error error;
    cli_signals();
    if (gs_weights_check_named(NULL, &error) != GS_OK) return cli_fail(command, NULL, &error);   /* the library would continue without the weights */
    if (gs_device_session_open(session, &options, &error) == GS_OK) return -1;
    return cli_fail(command, cli_needs(error.status, device, NULL), &error);
}

void cli_session_close(cli_session *session) { gs_device_session_close(session); }

gs_worker *cli_session_emulator(cli_session *session) { return gs_device_session_emulator(session); }

void cli_announce(const gs_caps *caps, const char *device, const char *what, double seconds)
{
    char text[CLI_TIME_TEXT];
    if (caps->emulated && seconds > CLI_LONG_S) cli_note("%s on %s will take about %s on this machine", what, device, cli_time(text, seconds));
}
