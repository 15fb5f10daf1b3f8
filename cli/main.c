/* SPDX-License-Identifier: MIT
 * The program: finds the command, runs it, and checks that its output was written. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/text.h"
#include "command.h"
#include "evaluate/session.h"
#include "output.h"

static const cli_command cli_help;

static const cli_command *const commands[] = {
    &cli_tune, &cli_eval, &cli_gemm, &cli_verify, &cli_score, &cli_serve, &cli_db, &cli_record, &cli_pack, &cli_train, &cli_export, &cli_report, &cli_info, &cli_doctor, &cli_help, &cli_worker, NULL,
};

static const cli_command *find(const char *name)
{
    for (const cli_command *const *command = commands; *command; command++)
        if (strcmp((*command)->name, name) == 0) return *command;
    return NULL;
}

static int no_command(const char *typed)
{
    const char *names[GS_COUNT(commands)] = {NULL};
    for (size_t i = 0, count = 0; commands[i]; i++)
        if (!commands[i]->hidden) names[count++] = commands[i]->name;
    const char *const nearest = gs_text_nearest(names, typed, strlen(typed));
    if (nearest) fprintf(stderr, "gemmsmith: no command '%s'; did you mean %s? (gemmsmith help lists them)\n", typed, nearest);
    else fprintf(stderr, "gemmsmith: no command '%s' (gemmsmith help lists them)\n", typed);
    return CLI_USAGE;
}

static int run_help(const cli_command *command, int argc, char **argv)
{
    cli_common settings = {0};
    int words;
    const int code = cli_parse(command, argc, argv, &settings, &words);
    if (code >= 0) return code;
    if (words > 1) return cli_usage(command, "explains one command at a time");
    if (words == 0) {
        cli_help_program(commands);
        return CLI_OK;
    }
    const cli_command *const about = find(argv[1]);
    if (!about || about->hidden) return no_command(argv[1]);
    cli_help_command(about);
    return CLI_OK;
}

static const cli_command cli_help = {
    .name     = "help",
    .words    = "[COMMAND]",
    .summary  = "list the commands, or explain one",
    .run      = run_help,
};

static int run(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "gemmsmith: which command? (gemmsmith help lists them)\n");
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        char version[GS_SESSION_VERSION];
        printf("gemmsmith %s\n", gs_session_version(version));
        return CLI_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_help_program(commands);
        return CLI_OK;
    }
    const cli_command *const command = find(argv[1]);
    if (!command) return no_command(argv[1]);
    return command->run(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    signal(SIGCHLD, SIG_DFL);   /* if the parent ignores SIGCHLD, waiting for child processes would fail */
    signal(SIGXFSZ, SIG_IGN);   /* exceeding a file size limit is then reported like a full disk */
    const int code = run(argc, argv);
    cli_progress_clear();
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    if (full && code == CLI_STORE) return code;   /* already reported */
    perror("gemmsmith: standard output");
    return code != CLI_OK ? code : full ? CLI_STORE : CLI_FAILED;
}
