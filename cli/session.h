/* SPDX-License-Identifier: MIT
 * Device sessions of commands: with exit codes, notes and the command line. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "base/file.h"
#include "command.h"
#include "evaluate/session.h"
#include "tune/device_group.h"

typedef gs_device_session cli_session;

/* gs_device_session_open, after installing the signal handlers. Returns -1 to go on, else the exit code after one line that says what is missing. */
int  cli_session_open(const cli_command *command, cli_session *session, const char *device, bool dependent, bool want_store,
                      const char *store_path);
void cli_session_close(cli_session *session);
gs_worker *cli_session_emulator(cli_session *session);   /* gs_device_session_emulator */

/* Whether launches are dependent: --dependent, else the environment variable. Call it before cli_session_open. Returns -1, or the exit code for an invalid variable. */
int cli_dependent(const cli_command *command, bool *dependent);

/* Applies gs_device_group_name to --devices. Returns -1 to go on, else the exit code after one line. */
int cli_devices(const cli_command *command, gs_device_group *group, const char *devices);

/* Keeps the command line as typed. Call it before cli_parse, which moves words, and before cli_session_open. */
void cli_session_command(cli_session *session, int argc, char *const *argv);

/* Prints a note with the expected duration if something will take more than CLI_LONG_S on an emulated device. device: its name. */
#define CLI_LONG_S 10
void cli_announce(const gs_caps *caps, const char *device, const char *what, double seconds);

#endif
