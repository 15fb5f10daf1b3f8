/* SPDX-License-Identifier: MIT
 * What the keeper (jobs.c; shared.c: jobs that other services have), the threads of the stages (thread.c) and what they do with a job (work.c) share: the table of open jobs and the queues (queue.c). */
#ifndef GS_JOBS_INTERNAL_H
#define GS_JOBS_INTERNAL_H

#include <pthread.h>

#include "jobs/jobs.h"

enum { GS_SERVICE_BUCKETS = 1024 };
#define GS_SERVICE_LEASE_S 30.0   /* how long a job stays with a service of which nobody hears */

typedef struct gs_service_op gs_service_op;

/* Of an open job the id alone is in memory; its texts are in the store. */
struct gs_service_job {
    char                 id[GS_HASH_TEXT];
    int                  holders;        /* waiting callers, and the table while it is open */
    const gs_service_op *owner;          /* who brought it, as long as it is not in the store */
    bool                 queued, done, failed, cancelled;
    bool                 aside;          /* another service with the same store has it: its answer is waited for */
    int64_t              seen;           /* the keeper's look at the store that found it open last */
    int                  at_work;        /* threads */
    gs_jobs_stage        stage;          /* where it waits or is under way */
    int                  parts, next;    /* that may be prepared at once, and the next of them: the schedules of a race. parts 0: nobody has looked yet */
    gs_preparation       prepared;
    const struct gs_service_evaluator *timed;   /* the device that has timed it beside another one, and has its figures; NULL: none */
    int64_t              turn;           /* jobs with smaller ones go first */
    uint64_t             alike;          /* the same for all jobs of a problem; 0: not known */
    bool                 schedule;       /* its candidate is one; false: not known */
    int64_t              expires;        /* gs_date_ms after which nobody wants its answer; 0: somebody always does */
    int64_t              bytes;          /* of its request */
    gs_status            status;         /* why it could not be kept */
    char                *answer;         /* once done */
    gs_service_job      *next_open, *after;   /* in its bucket; in its queue, or among those that are aside */
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

/* A thread of a stage: a device's, or one that prepares. */
typedef struct gs_service_evaluator {
    gs_service_jobs   *jobs;
    gs_jobs_stage      stage;
    pthread_t          thread;
    gs_service_session session;
    gs_worker          worker;   /* of one that prepares */
    gs_session         as;       /* likewise: under which name trials are kept */
    gs_service_device  state;    /* under the lock */
    gs_service_job    *job;      /* under way; under the lock */
    uint64_t           alike;    /* of the last job; under the lock */
    int                streak;   /* such jobs in a row that others were passed over for */
    bool               started, ready;
    gs_status          status;   /* of the start */
    gs_error           error;
} gs_service_evaluator;

typedef struct gs_jobs_queue {
    gs_service_job *head, *tail;
    pthread_cond_t  filled;
    gs_jobs_load    load;
} gs_jobs_queue;

struct gs_service_jobs {
    gs_jobs_options      options;
    gs_service_counts    counts;
    pthread_mutex_t      lock;               /* all of what follows */
    pthread_cond_t       changed;            /* a job is done, an operation is done, a thread is ready, the service stops */
    pthread_cond_t       work;               /* something for the keeper */
    gs_service_op       *first, *last;
    gs_service_job      *bucket[GS_SERVICE_BUCKETS];
    gs_jobs_queue        queue[GS_JOBS_STAGES];
    int64_t              turn;               /* how far devices have come */
    gs_service_job      *aside;              /* those that other services have */
    int                  open, running;
    int64_t              bytes;              /* of the requests of all open ones */
    bool                 stopping;           /* nothing new is begun */
    bool                 closing;            /* whoever waits for a job is told so */
    bool                 ended;              /* nobody asks the keeper any more: it ends */
    gs_store            *store;              /* the keeper's, from its start on */
    pthread_t            keeper;
    bool                 kept, keeper_ready;
    gs_lessee            who;                /* this service, as the store knows it */
    int64_t              prune_at, pruned;   /* the keeper's: when it looks for old answers again, and behind which number */
    int64_t              renew_at, look_at;  /* likewise: when it renews its leases, and looks after other services' jobs (under the lock) */
    int64_t              looks;
    gs_status            keeper_status;
    gs_error             keeper_error;
    gs_service_evaluator evaluator[GS_SERVICE_DEVICES], preparer[GS_SERVICE_PREPARERS];
    int                  evaluators, preparers;
};

/* The table and the queues; the lock is held. */
gs_service_job *gs_service_open_find(gs_service_jobs *jobs, const char *id);
gs_service_job *gs_service_open_add(gs_service_jobs *jobs, const char *id, int64_t bytes, int64_t expires);   /* held by the table; NULL: no memory */
void            gs_service_open_drop(gs_service_jobs *jobs, gs_service_job *job);
void            gs_service_hold(gs_service_found *found, gs_service_job *job);
void            gs_service_release(gs_service_job *job);
void            gs_service_enqueue(gs_service_jobs *jobs, gs_service_job *job, gs_jobs_stage stage, bool in_front);   /* by its turn, or before all others */
bool            gs_service_unqueue(gs_service_jobs *jobs, gs_service_job *job);   /* false: it is in no queue */
bool            gs_service_others_wait(const gs_service_jobs *jobs, const gs_service_job *job);
gs_jobs_stage   gs_service_first_stage(const gs_service_jobs *jobs);
uint64_t        gs_service_alike(const gs_problem *problem);
void            gs_service_want(gs_service_job *job, int64_t expires);            /* somebody does until then; 0: always */
bool            gs_service_job_expired(const gs_service_job *job);
void            gs_service_done(gs_service_jobs *jobs, gs_service_job *job, char *answer, bool failed);   /* takes the answer */

/* ---- jobs that other services with the same store have (shared.c) ---- */

void    gs_service_put_aside(gs_service_jobs *jobs, gs_service_job *job);    /* it is in no queue; the lock is held, as for the next one */
bool    gs_service_take_back(gs_service_jobs *jobs, gs_service_job *job);    /* false: it was not aside */
void    gs_service_share(gs_service_jobs *jobs);         /* the keeper's, now and then: renews what is this service's, looks for answers of others, goes on with what nobody has any more */
int64_t gs_service_share_at(const gs_service_jobs *jobs);   /* when it wants to do that */

/* The next job of a thread's stage, which is at work on it from now on, and the part of it that is to be prepared; waits. NULL: the service stops. */
gs_service_job *gs_service_take(gs_service_evaluator *e, int *part);
/* Ids of schedules of the same problem that wait for a device, too, at most so many, which this device will have timed; returns how many. */
int             gs_service_peers(gs_service_evaluator *e, const gs_service_job *job, char (*ids)[GS_HASH_TEXT], int most);
void            gs_service_leave(gs_service_evaluator *e, gs_service_job *job);   /* the thread is at work on it no more; the lock is held */

/* What a thread does with a job. false: it is to be given back, and begun again. */
bool gs_service_work(gs_service_evaluator *e, gs_environment *environment, gs_service_job *job, int part);
bool gs_service_unwanted(void *evaluator);   /* asked by the worker's call while it waits */
bool gs_service_stops(gs_service_evaluator *e);

void *gs_service_main(void *evaluator);   /* a thread of a stage */

/* ---- races (race.c) ---- */

struct json_t;
/* The schedules of a race's request; NULL: it is none, or there is no memory. The strings are the request's. */
const char **gs_service_race_list(const struct json_t *request, int *count);
/* What is kept and sent of a race; got: of each schedule. The caller's; NULL: no memory. */
char        *gs_service_race_answer(const char *problem, const gs_evaluation *got, int count);

#endif
