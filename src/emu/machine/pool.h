/* SPDX-License-Identifier: MIT
 * The state of a launch that its threads have in common, and what is done to it. */
#ifndef GS_EMU_MACHINE_POOL_H
#define GS_EMU_MACHINE_POOL_H

#include <pthread.h>

#include "emu/machine/machine.h"

#define GS_EMU_MOST_FINDINGS 64

/* What the threads of one launch share. */
typedef struct gs_emu_pool {
    pthread_mutex_t  lock;
    atomic_ullong    next;            /* cluster to start */
    atomic_bool      failed;          /* for want of memory */
    atomic_bool      waited;          /* somebody executed griddepcontrol.wait */
    atomic_ullong    stop;            /* the first cluster, by number, that ended with a fatal finding: later ones end, too; NOBODY: none did */
    struct gs_emu_order *order;       /* NULL: not checked */
    uint32_t         clusters;
    int              warps;           /* of a block */
    uint32_t         threads;         /* of a block */
    int              at_once;         /* clusters that there is memory for */
    uint64_t         told[GS_EMU_MOST_FINDINGS];   /* of each finding: the cluster it is taken from << 32 | number in that */
} gs_emu_pool;

#define GS_EMU_NOBODY UINT64_MAX

void gs_emu_stop(gs_emu_cluster *cluster);   /* a fatal finding: the launch ends */
void gs_emu_sort_findings(gs_emu_launch *launch);   /* in the order of clusters: the same for any number of threads */

/* A finding of any kind; block NULL: of none. Ends the launch if it is fatal. */
void gs_emu_add_finding(gs_emu_cluster *cluster, const gs_emu_block *block, int warp, const gs_emu_op *op, gs_emu_finding_kind kind, const char *text);

void gs_emu_task_advance(gs_emu_cluster *cluster);   /* one step of one piece of asynchronous work, any of them; of those in one order the oldest */
void gs_emu_tasks_drop(gs_emu_cluster *cluster);

gs_emu_report_fn   gs_emu_report_race;      /* for the race checker; context: the cluster */
gs_emu_describe_fn gs_emu_describe_op;
void gs_emu_report_endless(gs_emu_cluster *cluster, gs_emu_warp *w);
void gs_emu_report_overwritten(gs_emu_launch *launch); /* the launch before wrote what this one may read before that has ended */
void gs_emu_report_unwaited(gs_emu_launch *launch);   /* a dependent launch without griddepcontrol.wait, when nothing else was found */

#endif
