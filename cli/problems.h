/* SPDX-License-Identifier: MIT
 * The problems that a command works on: from its words, --mnk and --file. A word or the file may also be a recorded file, or a folder of them. */
#ifndef CLI_PROBLEMS_H
#define CLI_PROBLEMS_H

#include <gemmsmith/problem.h>

#include "command.h"
#include "recorded/list.h"

typedef gs_problem_list cli_problems;

/* Settings shared by such commands, and their options. */
typedef struct cli_asked {
    cli_list    mnk;
    const char *file;
    const char *shard;     /* "1/4": every fourth problem of the list, beginning with the second */
    uint32_t    layouts;   /* bits: 1 nn, 2 tn; 0: the problem's own layout */
    int         acc;       /* -1: the problem's own; else an index into "fp32|f32|fp16|f16" */
} cli_asked;

#define CLI_ASKED_OPTIONS(settings, layouts_help)                                                                            \
    {"mnk",         0, CLI_LIST,    offsetof(settings, asked.mnk),     "M_N_K", "an f16 problem by its M, N and K; may be repeated"}, \
    {"file",        0, CLI_TEXT,    offsetof(settings, asked.file),    "FILE",  "problems from a file (-: standard input), one per line, # comments;\nor what gemmsmith record wrote, as any PROBLEM may be"}, \
    {"shard",       0, CLI_TEXT,    offsetof(settings, asked.shard),   "I/N",   "every N-th problem of the list, beginning with number I (from 0)"}, \
    {"acc-precise", 0, CLI_CHOICE,  offsetof(settings, asked.acc),     "fp32|f32|fp16|f16", "type of the accumulator, instead of the one in the problem"}, \
    {"layouts",     0, CLI_CHOICES, offsetof(settings, asked.layouts), "nn,tn", layouts_help}

#define CLI_NEEDS_PROBLEM "no problem given; for example f16:4096x4096x4096:tn, --mnk 4096_4096_4096 or --file problems.txt"

/* Adds problems to *out in every requested layout, without duplicates. Both return -1 to go on, else the exit code. A shard may be empty if there are fewer problems
 * than shards: then a note says so, and the exit code is 0. */
int  cli_problems_read(const cli_command *command, cli_problems *out, const cli_asked *asked, int count, char *const *words);
int  cli_problems_add(const cli_command *command, cli_problems *problems, const gs_problem *problem);
void cli_problems_free(cli_problems *problems);

#endif
