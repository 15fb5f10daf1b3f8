/* SPDX-License-Identifier: MIT
 * Sessions on a device as commands open them: with exit codes, notes and the command line. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "base/file.h"
#include "command.h"
#include "evaluate/session.h"
#include "tune/device_group.h"

typedef gs_device_session cli_session;

/* gs_device_session_open, after the signals are taken. Returns -1 to go on, else the exit code after one line that says what is missing. */
int  cli_session_open(const cli_command *command, cli_session *session, const char *device, bool dependent, bool want_store,
                      const char *store_path);
void cli_session_close(cli_session *session);
gs_worker *cli_session_emulator(cli_session *session);   /* gs_device_session_emulator */

/* Whether launches are dependent: --dependent, else the environment. Before cli_session_open. Returns -1, or the exit code of a variable
 * that says neither. */
int cli_dependent(const cli_command *command, bool *dependent);

/* gs_device_group_name of --devices. Returns -1 to go on, else the exit code after one line. */
int cli_devices(const cli_command *command, gs_device_group *group, const char *devices);

/* Remembers the command line as it was typed; before cli_parse, which moves words, and before open. */
void cli_session_command(cli_session *session, int argc, char *const *argv);

/* On an emulated device, before something that will take more than CLI_LONG_S there: a note that says how long. device: its name. */
#define CLI_LONG_S 10
void cli_announce(const gs_caps *caps, const char *device, const char *what, double seconds);

#endif
