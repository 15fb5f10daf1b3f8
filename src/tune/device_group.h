/* SPDX-License-Identifier: MIT
 * Several devices of a machine over one list: a child process per device, which share the list by leases in one store. The parent starts
 * them, renews their leases, passes signals on, and puts together what they report. */
#ifndef GS_TUNE_DEVICE_GROUP_H
#define GS_TUNE_DEVICE_GROUP_H

#include "base/file.h"
#include "store/store.h"
#include "worker/worker.h"

enum { GS_GROUP_MOST = 64 };

typedef struct gs_group_totals {
    int    tuned, won, failed;
    int    late;       /* whose share of the time was up before there was a winner */
    int    measured;   /* timings of those, which the store keeps */
    int    alone;      /* of those won: without cuBLASLt beside them */
    double log_sum;
    double plain_s, now_s;   /* of a recorded program's calls of what was tuned, where both are known: without the rows (0 on an emulated device), and with them */
    int    compared;         /* problems in these */
} gs_group_totals;

/* A child and what it has done so far, in shared memory: the child writes, the parent reads. */
typedef struct gs_group_member {
    char            device[GS_WORKER_DEVICE]; /* empty: the default, until the child says which one that is */
    int             index, count;            /* of the group */
    gs_lessee       lessee;
    gs_group_totals sum;
    char            slug[64], table[GS_PATH]; /* empty until it knows its device */
    bool            emulated;
    bool            complete;                /* it came to the end of the list: all is done, by whomever */
    int             signal;                  /* that ended its process; 0: it ended itself. Of gs_device_group_run */
    bool            covered;                 /* another one of the same GPU came to the end of the list. Of gs_device_group_run */
} gs_group_member;

typedef struct gs_device_group {
    const char *store_path;                  /* NULL: the default */
    const char *run;                         /* whose leases and marks these are, with groups of other machines or processes; NULL: this group's alone */
    int       (*work)(void *self, gs_group_member *member);   /* in the child; its exit code */
    void      (*progress)(void *self, int done);              /* in the parent, now and then: problems of all of them; NULL: nobody is told */
    void       *self;
    int         late;                        /* exit code of a child whose time was up before the end of the list */
    gs_store   *store;                       /* the parent's, from the start of the children on; the caller closes it */
    gs_group_member *member;                 /* gs_device_group_free */
    int         count;
} gs_device_group;

/* devices: "all", every GPU of the driver, or names with commas between them; NULL: one member, of the device that a session without a name takes. Codes: ARGUMENT (no device's name, one named twice, too many), those of
 * gs_device_count, MEMORY. */
gs_status gs_device_group_name(gs_device_group *group, const char *devices, gs_error *error);

/* Runs the children to their end. *code: the worst of their exit codes, 1 for one that was killed. One that was killed, or whose time was up,
 * does not count if it is covered. gs_stop_requested goes to them as the signal that it is. Codes: the store's, IO or MEMORY where no child starts. */
gs_status gs_device_group_run(gs_device_group *group, int *code, gs_error *error);
void      gs_device_group_free(gs_device_group *group);

#endif
