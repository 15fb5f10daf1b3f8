/* SPDX-License-Identifier: MIT
 * State shared by the threads of a launch, and operations on it. */
#ifndef GS_EMU_MACHINE_POOL_H
#define GS_EMU_MACHINE_POOL_H

#include <pthread.h>

#include "emu/machine/machine.h"

#define GS_EMU_MOST_FINDINGS 64

/* Shared by the threads of one launch. */
typedef struct gs_emu_pool {
    pthread_mutex_t  lock;
    atomic_ullong    next;            /* next cluster to start */
    atomic_bool      failed;          /* out of memory */
    atomic_bool      waited;          /* griddepcontrol.wait was executed */
    atomic_ullong    stop;            /* lowest number of a cluster that ended with a fatal finding: later clusters end, too; NOBODY: none */
    struct gs_emu_order *order;       /* NULL: not checked */
    uint32_t         clusters;
    int              warps;           /* per block */
    uint32_t         threads;         /* per block */
    int              at_once;         /* clusters that fit into memory at once */
    uint64_t         told[GS_EMU_MOST_FINDINGS];   /* per finding: cluster that it is reported for << 32 | number in that cluster */
} gs_emu_pool;

#define GS_EMU_NOBODY UINT64_MAX

void gs_emu_stop(gs_emu_cluster *cluster);   /* a fatal finding: ends the launch */
void gs_emu_sort_findings(gs_emu_launch *launch);   /* by cluster, so that the order does not depend on the number of threads */

/* Adds a finding of any kind; block NULL: not about a block. Ends the launch if it is fatal. */
void gs_emu_add_finding(gs_emu_cluster *cluster, const gs_emu_block *block, int warp, const gs_emu_op *op, gs_emu_finding_kind kind, const char *text);

void gs_emu_task_advance(gs_emu_cluster *cluster);   /* one step of one piece of asynchronous work, chosen at random; the oldest of those with the same order */
void gs_emu_tasks_drop(gs_emu_cluster *cluster);

gs_emu_report_fn   gs_emu_report_race;      /* for the race checker; context: the cluster */
gs_emu_describe_fn gs_emu_describe_op;
void gs_emu_report_endless(gs_emu_cluster *cluster, gs_emu_warp *w);
void gs_emu_report_overwritten(gs_emu_launch *launch); /* the previous launch wrote what this one may read before it has ended */
void gs_emu_report_unwaited(gs_emu_launch *launch);   /* a dependent launch without griddepcontrol.wait, if nothing else was found */

#endif
