/* SPDX-License-Identifier: MIT
 * Events of a running cluster: waking waiting warps, asynchronous work, random choices, the end after a fatal finding. */
#include <stdlib.h>

#include "emu/machine/pool.h"

void gs_emu_happened(gs_emu_cluster *cluster)
{
    cluster->event++;
    cluster->quiet_steps = 0;
}

bool gs_emu_chance(gs_emu_cluster *cluster, uint32_t of_256) { return (gs_random_next(&cluster->random) >> 56) < of_256; }

bool gs_emu_task_add(gs_emu_cluster *cluster, gs_emu_task *task)
{
    if (cluster->tasks == cluster->task_capacity) {
        const int capacity = cluster->task_capacity ? 2 * cluster->task_capacity : 64;
        gs_emu_task **const grown = realloc(cluster->task, (size_t)capacity * sizeof *grown);
        if (!grown) {
            if (task->drop) task->drop(task);
            free(task);
            cluster->failed = true;
            atomic_store(&cluster->launch->pool->failed, true);
            return false;
        }
        cluster->task = grown;
        cluster->task_capacity = capacity;
    }
    task->serial = ++cluster->task_serial;
    cluster->task[cluster->tasks++] = task;
    return true;
}

void gs_emu_task_advance(gs_emu_cluster *cluster)
{
    cluster->quiet_steps++;
    cluster->advanced = cluster->steps;
    int at = (int)gs_random_below(&cluster->random, (uint64_t)cluster->tasks);
    const void *const order = cluster->task[at]->order;
    for (int i = 0; order && i < cluster->tasks; i++)
        if (cluster->task[i]->order == order && cluster->task[i]->serial < cluster->task[at]->serial) at = i;
    gs_emu_task *const task = cluster->task[at];
    if (!task->step(cluster, task)) return;
    cluster->task[at] = cluster->task[--cluster->tasks];
    free(task);
}

void gs_emu_stop(gs_emu_cluster *cluster)
{
    atomic_ullong *const stop = &cluster->launch->pool->stop;
    unsigned long long first = atomic_load(stop);
    cluster->failed = true;
    while (cluster->id < first && !atomic_compare_exchange_weak(stop, &first, cluster->id)) continue;
}

void gs_emu_tasks_drop(gs_emu_cluster *cluster)
{
    for (int i = 0; i < cluster->tasks; i++) {
        if (cluster->task[i]->drop) cluster->task[i]->drop(cluster->task[i]);
        free(cluster->task[i]);
    }
    cluster->tasks = 0;
}

void gs_emu_visit(gs_emu_warp *w, gs_emu_block *block)
{
    if (block->remote && block != w->block) block->remote[w->number] = gs_emu_check_clock(w->cluster->check, w->number);
}
