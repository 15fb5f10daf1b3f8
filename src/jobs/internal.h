/* SPDX-License-Identifier: MIT
 * Shared by the keeper (jobs.c; shared.c: jobs of other services), the threads of the stages (thread.c) and their work on a job (work.c): the table of open jobs and the
 * queues (queue.c). */
#ifndef GS_JOBS_INTERNAL_H
#define GS_JOBS_INTERNAL_H

#include <pthread.h>

#include "jobs/jobs.h"

enum { GS_SERVICE_BUCKETS = 1024 };
#define GS_SERVICE_LEASE_S 30.0   /* how long a job stays with a service that no longer renews its lease */

typedef struct gs_service_op gs_service_op;

/* An open job. Memory holds its id and state only; its texts are in the store. */
struct gs_service_job {
    char                 id[GS_HASH_TEXT];
    int                  holders;        /* references: waiting callers, and the table while the job is open */
    const gs_service_op *owner;          /* the operation that brought it, until it is in the store */
    bool                 queued, done, failed, cancelled;
    bool                 aside;          /* another service with the same store has it; its answer is awaited */
    int64_t              seen;           /* number of the keeper's last look at the store that found it open */
    int                  at_work;        /* threads working on it */
    gs_jobs_stage        stage;          /* the stage where it waits or is being worked on */
    int                  parts, next;    /* a race: number of schedules, which can be prepared concurrently, and the next of them. parts 0: not known yet */
    gs_preparation       prepared;
    const struct gs_service_evaluator *timed;   /* the device that timed it along with another job, and has its figures; NULL: none */
    int64_t              turn;           /* queues are sorted by turn, the smallest first */
    uint64_t             alike;          /* a hash of the problem, equal for jobs that are alike; 0: unknown */
    bool                 schedule;       /* the candidate is a schedule; false: or unknown */
    int64_t              expires;        /* gs_date_ms after which nobody needs its answer; 0: never */
    int64_t              bytes;          /* size of its request */
    gs_status            status;         /* why it could not be stored */
    char                *answer;         /* once done */
    gs_service_job      *next_open, *after;   /* next in its bucket; next in its queue, or in the list of jobs that are aside */
};

struct gs_service_op {
    gs_service_op            *next;
    const gs_service_request *request;   /* accept */
    const char               *id;        /* find */
    const gs_problem         *problem;   /* library */
    int64_t                   expires;   /* find: the caller waits until then; 0: it does not wait */
    bool                      cancel;    /* find: also end the job without an answer */
    gs_service_found         *found;
    double                    us;
    int                       fresh;     /* number of new jobs that it brought */
    gs_status                 status;
    gs_error                  error;
    bool                      done;
};

/* A thread of a stage: of a device, or a preparing one. */
typedef struct gs_service_evaluator {
    gs_service_jobs   *jobs;
    gs_jobs_stage      stage;
    pthread_t          thread;
    gs_service_session session;
    gs_worker          worker;   /* of a preparing thread */
    gs_session         as;       /* of a preparing thread: the session of its trials */
    gs_service_device  state;    /* guarded by the lock */
    gs_service_job    *job;      /* being worked on; guarded by the lock */
    uint64_t           alike;    /* of the last job; guarded by the lock */
    int                streak;   /* consecutive jobs like it that were taken ahead of the queue's head */
    bool               started, ready;
    gs_status          status;   /* of starting the thread */
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
    pthread_mutex_t      lock;               /* guards everything below */
    pthread_cond_t       changed;            /* a job or an operation is done, a thread is ready, or the service stops */
    pthread_cond_t       work;               /* there is work for the keeper */
    gs_service_op       *first, *last;
    gs_service_job      *bucket[GS_SERVICE_BUCKETS];
    gs_jobs_queue        queue[GS_JOBS_STAGES];
    int64_t              turn;               /* the largest turn that devices have reached */
    gs_service_job      *aside;              /* list of jobs that other services have */
    int                  open, running;
    int64_t              bytes;              /* sizes of the requests of all open jobs */
    bool                 stopping;           /* no new work is begun */
    bool                 closing;            /* callers that wait for a job are woken up */
    bool                 ended;              /* no more operations will come: the keeper ends */
    gs_store            *store;              /* the keeper's, opened when it starts */
    pthread_t            keeper;
    bool                 kept, keeper_ready;
    gs_lessee            who;                /* this service, as the holder of leases */
    int64_t              prune_at, pruned;   /* of the keeper: when it prunes old answers again, and behind which number */
    int64_t              renew_at, look_at;  /* of the keeper: when it renews its leases, and when it looks at other services' jobs (guarded by the lock) */
    int64_t              looks;
    gs_status            keeper_status;
    gs_error             keeper_error;
    gs_service_evaluator evaluator[GS_SERVICE_DEVICES], preparer[GS_SERVICE_PREPARERS];
    int                  evaluators, preparers;
};

/* The table and the queues; the caller holds the lock. */
gs_service_job *gs_service_open_find(gs_service_jobs *jobs, const char *id);
gs_service_job *gs_service_open_add(gs_service_jobs *jobs, const char *id, int64_t bytes, int64_t expires);   /* the table holds one reference; NULL: no memory */
void            gs_service_open_drop(gs_service_jobs *jobs, gs_service_job *job);
void            gs_service_hold(gs_service_found *found, gs_service_job *job);
void            gs_service_release(gs_service_job *job);
void            gs_service_enqueue(gs_service_jobs *jobs, gs_service_job *job, gs_jobs_stage stage, bool in_front);   /* sorted by turn, or in front of all */
bool            gs_service_unqueue(gs_service_jobs *jobs, gs_service_job *job);   /* false: it was in no queue */
bool            gs_service_others_wait(const gs_service_jobs *jobs, const gs_service_job *job);
gs_jobs_stage   gs_service_first_stage(const gs_service_jobs *jobs);
uint64_t        gs_service_alike(const gs_problem *problem);
void            gs_service_want(gs_service_job *job, int64_t expires);            /* extends its expiry; 0: it never expires */
bool            gs_service_job_expired(const gs_service_job *job);
void            gs_service_done(gs_service_jobs *jobs, gs_service_job *job, char *answer, bool failed);   /* takes ownership of the answer */

/* ---- jobs of other services with the same store (shared.c) ---- */

void    gs_service_put_aside(gs_service_jobs *jobs, gs_service_job *job);    /* it must be in no queue; the caller holds the lock, as for the next one */
bool    gs_service_take_back(gs_service_jobs *jobs, gs_service_job *job);    /* false: it was not aside */
void    gs_service_share(gs_service_jobs *jobs);         /* called by the keeper: renews this service's leases, gets answers of other services, and takes over jobs that nobody
                                                            holds any more */
int64_t gs_service_share_at(const gs_service_jobs *jobs);   /* when it must be called next */

/* Waits for the next job of the thread's stage, and marks the thread as working on it; *part: the schedule of a race to prepare. NULL: the service stops. */
gs_service_job *gs_service_take(gs_service_evaluator *e, int *part);
/* Finds at most `most` waiting schedules of the same problem, which this device will time along with the job; returns their number. */
int             gs_service_peers(gs_service_evaluator *e, const gs_service_job *job, char (*ids)[GS_HASH_TEXT], int most);
void            gs_service_leave(gs_service_evaluator *e, gs_service_job *job);   /* ends the thread's work on the job; the caller holds the lock */

/* Does the thread's work on a job. false: the job must be given back and begun again. */
bool gs_service_work(gs_service_evaluator *e, gs_environment *environment, gs_service_job *job, int part);
bool gs_service_unwanted(void *evaluator);   /* a worker callback, polled while a call waits */
bool gs_service_stops(gs_service_evaluator *e);

void *gs_service_main(void *evaluator);   /* main function of a stage's thread */

/* ---- races (race.c) ---- */

struct json_t;
/* The schedules of a race's request; NULL: it is not a race, or no memory. The strings belong to the request. */
const char **gs_service_race_list(const struct json_t *request, int *count);
/* The stored answer of a race; got: one per schedule. The caller frees it; NULL: no memory. */
char        *gs_service_race_answer(const char *problem, const gs_evaluation *got, int count);

#endif
