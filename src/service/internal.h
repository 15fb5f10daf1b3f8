/* SPDX-License-Identifier: MIT
 * What the keeper (jobs.c) and the evaluating threads (device.c) share: the table of open jobs and the queue (queue.c). */
#ifndef GS_SERVICE_INTERNAL_H
#define GS_SERVICE_INTERNAL_H

#include <pthread.h>

#include "service/jobs.h"

enum { GS_SERVICE_BUCKETS = 1024 };

typedef struct gs_service_op gs_service_op;

/* Of an open job the id alone is in memory; its texts are in the store. */
struct gs_service_job {
    char                 id[GS_HASH_TEXT];
    int                  holders;        /* waiting callers, and the table while it is open */
    const gs_service_op *owner;          /* who brought it, as long as it is not in the store */
    bool                 running, done, failed, cancelled;
    int64_t              expires;        /* gs_date_ms after which nobody wants its answer; 0: somebody always does */
    int64_t              bytes;          /* of its request */
    gs_status            status;         /* why it could not be kept */
    char                *answer;         /* once done */
    gs_service_job      *next, *after;   /* in its bucket, in the queue */
};

struct gs_service_op {
    gs_service_op            *next;
    const gs_service_request *request;   /* accept */
    const char               *id;        /* find */
    const gs_problem         *problem;   /* library */
    int64_t                   expires;   /* find: until then the answer is waited for; 0: nobody waits */
    bool                      cancel;    /* find: and end it without an answer */
    gs_service_found         *found;
    double                    us;
    int                       fresh;     /* jobs that it brought */
    gs_status                 status;
    gs_error                  error;
    bool                      done;
};

typedef struct gs_service_evaluator {
    gs_service_jobs   *jobs;
    pthread_t          thread;
    gs_service_session session;
    gs_service_device  state;    /* under the lock */
    gs_service_job    *job;      /* under way; under the lock */
    bool               started, ready;
    gs_status          status;   /* of the start */
    gs_error           error;
} gs_service_evaluator;

struct gs_service_jobs {
    gs_service_options   options;
    gs_service_counts    counts;
    pthread_mutex_t      lock;               /* all of what follows */
    pthread_cond_t       changed;            /* a job is done, an operation is done, a thread is ready, the service stops */
    pthread_cond_t       work;               /* something for the keeper */
    pthread_cond_t       queued;             /* something for an evaluator */
    gs_service_op       *first, *last;
    gs_service_job      *bucket[GS_SERVICE_BUCKETS];
    gs_service_job      *head, *tail;
    int                  open, running;
    int64_t              bytes;              /* of the requests of all open ones */
    bool                 stopping;           /* nothing new is begun */
    bool                 closing;            /* whoever waits for a job is told so */
    bool                 ended;              /* nobody asks the keeper any more: it ends */
    gs_store            *store;              /* the keeper's, from its start on */
    pthread_t            keeper;
    bool                 kept, keeper_ready;
    int64_t              prune_at, pruned;   /* the keeper's: when it looks for old answers again, and behind which number */
    gs_status            keeper_status;
    gs_error             keeper_error;
    gs_service_evaluator evaluator[GS_SERVICE_DEVICES];
    int                  evaluators;
};

/* The table and the queue; the lock is held. */
gs_service_job *gs_service_open_find(gs_service_jobs *jobs, const char *id);
gs_service_job *gs_service_open_add(gs_service_jobs *jobs, const char *id, int64_t bytes, int64_t expires);   /* held by the table; NULL: no memory */
void            gs_service_open_drop(gs_service_jobs *jobs, gs_service_job *job);
void            gs_service_hold(gs_service_found *found, gs_service_job *job);
void            gs_service_release(gs_service_job *job);
void            gs_service_enqueue(gs_service_jobs *jobs, gs_service_job *job, bool in_front);
bool            gs_service_unqueue(gs_service_jobs *jobs, gs_service_job *job);   /* false: it is not in the queue */
void            gs_service_want(gs_service_job *job, int64_t expires);            /* somebody does until then; 0: always */
bool            gs_service_job_expired(const gs_service_job *job);
void            gs_service_done(gs_service_jobs *jobs, gs_service_job *job, char *answer, bool failed);   /* takes the answer */

void *gs_service_main(void *evaluator);   /* an evaluating thread */

#endif
