/* SPDX-License-Identifier: MIT
 * A pool of child processes that work through numbered jobs, while the parent waits or does something else. A job that crashes its
 * child, or does not end, costs that job alone: another child goes on. */
#ifndef GS_WORKER_POOL_H
#define GS_WORKER_POOL_H

#include <stdbool.h>
#include <gemmsmith/status.h>

typedef struct gs_pool gs_pool;

/* Jobs of the urgent lane go first. */
typedef enum gs_lane { GS_LANE_URGENT, GS_LANE_NORMAL, GS_LANES } gs_lane;

typedef enum gs_job_state { GS_JOB_WAITING, GS_JOB_RUNNING, GS_JOB_DONE, GS_JOB_FAILED } gs_job_state;

typedef struct gs_pool_plan {
    int  children;              /* 0: one per core; never more than jobs */
    bool background;            /* at low priority, because the parent needs the cores for other work */
    int  capacity[GS_LANES];    /* most jobs that will be offered */
    /* Runs in a child, with all files closed but the standard three: what it needs must be in memory when the pool starts, or in shared memory. NO_COMPILER ends the pool. */
    gs_status (*work)(void *self, gs_lane lane, int job);
    void *self;
} gs_pool_plan;

int gs_pool_cores(void);   /* that this process may use */

/* The children wait until something is offered. The thread that starts the pool must live as long as it. */
gs_status gs_pool_start(gs_pool **out, const gs_pool_plan *plan, gs_error *error);
void      gs_pool_end(gs_pool **pool);   /* lets every child finish its job, for two seconds at most */

void gs_pool_offer(gs_pool *pool, gs_lane lane, int count);   /* the next so many jobs of a lane may be taken */
void gs_pool_close(gs_pool *pool);                            /* nothing more will be offered: children end when all is done */

/* Replaces children that died, kills those that have been at one job for five minutes. Call it regularly. False: all have ended. */
bool         gs_pool_look(gs_pool *pool);
gs_job_state gs_pool_state(const gs_pool *pool, gs_lane lane, int job);
bool         gs_pool_no_compiler(const gs_pool *pool);   /* a job returned NO_COMPILER */

static inline bool gs_pool_finished(const gs_pool *pool, gs_lane lane, int job) { return gs_pool_state(pool, lane, job) >= GS_JOB_DONE; }

#endif
