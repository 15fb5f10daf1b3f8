/* SPDX-License-Identifier: MIT
 * gemmsmith worker: the child process in which candidates run; started by the program, not by users. */
#include "command.h"
#include "worker/worker.h"

typedef struct settings {
    cli_common  common;
    const char *device;
} settings;

static const cli_option options[] = {
    {"device", 0, CLI_TEXT, offsetof(settings, device), "NAME", "cuda:0, cuda:1, ..., emu:h200"},
    {NULL},
};

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {0};
    int words;
    const int code = cli_parse(command, argc, argv, &s, &words);
    return code >= 0 ? code : gs_worker_serve(s.device);
}

const cli_command cli_worker = {
    .name     = "worker",
    .summary  = "serve requests of a parent process on standard input",
    .options  = options,
    .hidden   = true,
    .run      = run,
};
