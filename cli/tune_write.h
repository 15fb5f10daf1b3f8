/* SPDX-License-Identifier: MIT
 * gemmsmith tune --policy llm --mode source: a language model writes kernels, problem by problem. */
#ifndef CLI_TUNE_WRITE_H
#define CLI_TUNE_WRITE_H

#include "problems.h"
#include "session.h"
#include "author/author.h"

typedef struct cli_write_settings {
    const char    *from, *keep, *device, *store;
    int64_t        islands, turns, patience, seed, asks;
    double         budget;
    int            reward;
    gs_edits       edits;
    bool           dependent, again, json, no_emulator;
    gs_llm_options llm;
    gs_group_member *member;   /* if one of several devices; NULL: the only one */
} cli_write_settings;

/* Returns the program's exit code. */
int cli_write(const cli_command *command, cli_session *session, const cli_write_settings *settings, const cli_problems *problems);

#endif
