/* SPDX-License-Identifier: MIT
 * What run.c and report.c share: the state of a launch that its threads have in common. */
#ifndef GS_EMU_MACHINE_RUN_H
#define GS_EMU_MACHINE_RUN_H

#include <pthread.h>

#include "emu/machine/decode.h"

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

gs_emu_report_fn   gs_emu_report_race;      /* for the race checker; context: the cluster */
gs_emu_describe_fn gs_emu_describe_op;
void gs_emu_report_deadlock(gs_emu_cluster *cluster);
void gs_emu_report_endless(gs_emu_cluster *cluster, gs_emu_warp *w);
void gs_emu_report_unwaited(gs_emu_launch *launch);   /* a dependent launch without griddepcontrol.wait, when nothing else was found */

#endif
