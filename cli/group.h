/* SPDX-License-Identifier: MIT
 * Several devices of a machine over one list: a child process per device, which share the list by leases in one store. The parent starts
 * them, renews their leases, passes signals on, and puts together what they report. */
#ifndef CLI_GROUP_H
#define CLI_GROUP_H

#include "base/file.h"
#include "command.h"
#include "store/store.h"
#include "worker/worker.h"

enum { CLI_GROUP_MOST = 64 };

typedef struct cli_totals {
    int    tuned, won, failed;
    double log_sum;
} cli_totals;

/* A child and what it has done so far, in shared memory: the child writes, the parent reads. */
typedef struct cli_member {
    char       device[GS_WORKER_DEVICE];
    int        index, count;                /* of the group */
    gs_lessee  lessee;
    cli_totals sum;
    char       slug[64], table[GS_PATH];    /* empty until it knows its device */
    bool       emulated;
    bool       complete;                    /* it came to the end of the list: all is done, by whomever */
} cli_member;

typedef struct cli_group {
    const char *store_path;                 /* NULL: the default */
    int         problems;                   /* in the list, for the progress line */
    int       (*work)(void *self, cli_member *member);   /* in the child; its exit code */
    void       *self;
    gs_store   *store;                      /* the parent's, from the start of the children on; the caller closes it */
    cli_member *member;                     /* cli_group_free */
    int         count;
} cli_group;

/* devices: "all", every GPU of the driver, or names with commas between them. Returns -1 to go on, else the exit code after one line. */
int  cli_group_name(const cli_command *command, cli_group *group, const char *devices);

/* Runs the children to their end. The exit code: that of the signal that stopped them, else the worst of theirs. One that was killed, or
 * whose time was up, says nothing if another of the same GPU came to the end of the list. */
int  cli_group_run(const cli_command *command, cli_group *group);
void cli_group_free(cli_group *group);

#endif
