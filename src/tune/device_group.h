/* SPDX-License-Identifier: MIT
 * Tuning one list on several devices of a machine: one child process per device; the children share the list by leases in one store. The parent starts
 * them, renews their leases, forwards signals, and combines their results. */
#ifndef GS_TUNE_DEVICE_GROUP_H
#define GS_TUNE_DEVICE_GROUP_H

#include "base/file.h"
#include "store/store.h"
#include "worker/worker.h"

enum { GS_GROUP_MOST = 64 };

typedef struct gs_group_totals {
    int    tuned, won, failed;
    int    late;       /* their share of the time ran out before there was a winner */
    int    measured;   /* timings of those; the store keeps them */
    int    alone;      /* of those won: measured without cuBLASLt */
    double log_sum;
    double plain_s, now_s;   /* seconds of a recorded program's calls of tuned problems: without the rows (0 on an emulated device) and with them, where both are known */
    int    compared;         /* number of problems in plain_s and now_s */
} gs_group_totals;

/* A child and its progress, in shared memory: the child writes, the parent reads. */
typedef struct gs_group_member {
    char            device[GS_WORKER_DEVICE]; /* empty: the default device, until the child enters its name */
    int             index, count;            /* place in the group, and size of the group */
    gs_lessee       lessee;
    gs_group_totals sum;
    char            slug[64], table[GS_PATH]; /* empty until the child knows its device */
    bool            emulated;
    bool            complete;                /* it reached the end of the list: all problems are done, by whichever child */
    int             signal;                  /* signal that ended its process; 0: it exited. Set by gs_device_group_run */
    bool            covered;                 /* another child on the same kind of GPU is complete. Set by gs_device_group_run */
} gs_group_member;

typedef struct gs_device_group {
    const char *store_path;                  /* NULL: the default */
    const char *run;                         /* name of the run for leases, shared with groups on other machines or in other processes; NULL: only this group */
    int       (*work)(void *self, gs_group_member *member);   /* runs in the child; returns its exit code */
    void      (*progress)(void *self, int done);              /* called in the parent now and then; done: finished problems of all children; may be NULL */
    void       *self;
    int         late;                        /* exit code of a child that ran out of time before the end of the list */
    gs_store   *store;                       /* the parent's, opened after the children have started; the caller closes it */
    gs_group_member *member;                 /* freed by gs_device_group_free */
    int         count;
} gs_device_group;

/* Sets up the members. devices: "all" (every GPU), or names separated by commas; NULL: one member with the default device of a session. Codes: ARGUMENT (no device name, one named
 * twice, too many), those of gs_device_count, MEMORY. */
gs_status gs_device_group_name(gs_device_group *group, const char *devices, gs_error *error);

/* Runs the children to their end. *code: the worst of their exit codes; 1 for a killed child. A child that was killed or ran out of time
 * does not count if it is covered. gs_stop_requested is forwarded to them as the same signal. Codes: the store's; IO or MEMORY if no child can be started. */
gs_status gs_device_group_run(gs_device_group *group, int *code, gs_error *error);
void      gs_device_group_free(gs_device_group *group);

#endif
