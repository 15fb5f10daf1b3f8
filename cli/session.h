/* SPDX-License-Identifier: MIT
 * What tune, eval and verify work with: a worker on a device, what that device can do, and the store. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "command.h"
#include "schedule/caps.h"
#include "store/store.h"
#include "worker/worker.h"

typedef struct cli_session {
    gs_worker  worker;
    gs_worker  emulator;       /* of the emulated device on which user kernels run before they touch this one; its name is "" where there is none */
    gs_caps    caps;
    int        cublaslt, nvrtc;
    gs_store  *store;          /* NULL: not asked for */
    gs_session session;
    char       command[1024];  /* the command line */
    char       device[64];     /* what the store calls it: the slug, with GS_DEPENDENT_SUFFIX where launches are dependent and timed */
    char       version[32];    /* of the program, and which kernel sources (and profile of an emulated device) it carries: results of
                                  others do not count */
} cli_session;

/* Asks the worker of the device for its capabilities, then opens the store. device NULL: $GEMMSMITH_DEVICE, else the first GPU, else,
 * with a note, the emulated device. dependent: what is kept in the store is measured so. Returns -1 to go on, else the exit code after one
 * line that says what is missing. argv must still be the user's own words. */
int  cli_session_open(const cli_command *command, cli_session *session, const char *device, bool dependent, bool want_store,
                      const char *store_path);
void cli_session_close(cli_session *session);

/* Where user kernels are to run first: session->emulator, which starts with the first of them and ends with the session. NULL: nowhere, because the
 * session's device is emulated itself, or none is known for it. */
gs_worker *cli_session_emulator(cli_session *session);

/* Whether launches are dependent: --dependent, else the environment. Before cli_session_open. Returns -1, or the exit code of a variable
 * that says neither. */
int cli_dependent(const cli_command *command, bool *dependent);

/* Remembers the command line as it was typed; before cli_parse, which moves words. */
void cli_session_command(cli_session *session, int argc, char *const *argv);

/* On an emulated device, before something that will take more than CLI_LONG_S there: a note that says how long. device: its name. */
#define CLI_LONG_S 600
void cli_announce(const gs_caps *caps, const char *device, const char *what, double seconds);

/* "13.1.0" from 130100, "13.0" from 13000, "none" from 0. Returns text. */
#define CLI_VERSION_TEXT 24
char *cli_library_version(int version, char text[CLI_VERSION_TEXT]);
char *cli_cuda_version(int version, char text[CLI_VERSION_TEXT]);

#endif
