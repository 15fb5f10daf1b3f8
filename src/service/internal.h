/* SPDX-License-Identifier: MIT
 * What the keeper (serve_jobs.c) and the evaluating threads (serve_device.c) share. */
#ifndef GS_SERVICE_INTERNAL_H
#define GS_SERVICE_INTERNAL_H

#include <pthread.h>

#include "service/jobs.h"

enum { SERVE_BUCKETS = 1024 };

typedef struct serve_op serve_op;

/* Of an open job the id alone is in memory; its texts are in the store. */
struct serve_job {
    char       id[GS_HASH_TEXT];
    int        holders;       /* waiting callers, and the table while it is open */
    const serve_op *owner;    /* who brought it, as long as it is not in the store */
    bool       running, done, failed;
    gs_status  status;        /* why it could not be kept */
    char      *answer;        /* once done */
    serve_job *next, *after;  /* in its bucket, in the queue */
};

struct serve_op {
    serve_op            *next;
    const serve_request *request;   /* accept */
    const char          *id;        /* find */
    const gs_problem    *problem;   /* library */
    serve_found         *found;
    double               us;
    int                  fresh;     /* jobs that it brought */
    gs_status            status;
    gs_error             error;
    bool                 done;
};

typedef struct serve_evaluator {
    serve_jobs  *jobs;
    pthread_t    thread;
    cli_session  session;
    serve_device state;      /* under the lock */
    bool         started, ready;
    int          code;       /* of a start that failed; -1: none did */
} serve_evaluator;

struct serve_jobs {
    const cli_command *command;
    serve_options      options;
    serve_counts       counts;
    pthread_mutex_t    lock;      /* all of what follows */
    pthread_cond_t     changed;   /* a job is done, an operation is done, a thread is ready, the service stops */
    pthread_cond_t     work;      /* something for the keeper */
    pthread_cond_t     queued;    /* something for an evaluator */
    serve_op          *first, *last;
    serve_job         *bucket[SERVE_BUCKETS];
    serve_job         *head, *tail;
    int                open, running;
    bool               stopping;       /* nothing new is begun */
    bool               closing;        /* whoever waits for a job is told so */
    bool               ended;          /* nobody asks the keeper any more: it ends */
    gs_store          *store;          /* the keeper's, from its start on */
    pthread_t          keeper;
    bool               kept, keeper_ready;
    int64_t            prune_at, pruned;   /* the keeper's: when it looks for old answers again, and behind which number */
    int                keeper_code;
    serve_evaluator    evaluator[SERVE_DEVICES];
    int                evaluators;
};

/* All but serve_main want the lock held. */
void  serve_enqueue(serve_jobs *jobs, serve_job *job, bool in_front);
void  serve_done(serve_jobs *jobs, serve_job *job, char *answer, bool failed);   /* takes the answer */
void *serve_main(void *evaluator);

#endif
