/* SPDX-License-Identifier: MIT
 * What jobs are evaluated with: devices and who opens them, processes that prepare, the store. */
#ifndef GS_JOBS_OPTIONS_H
#define GS_JOBS_OPTIONS_H

#include "evaluate/environment.h"

enum { GS_SERVICE_DEVICES = 64, GS_SERVICE_PREPARERS = 128 };

/* What an evaluating thread works with; all of it is the opener's, and stays until close. */
typedef struct gs_service_session {
    void          *self;       /* of the opener */
    gs_worker     *worker;
    gs_worker     *emulator;   /* where user kernels run before they touch the device; NULL: nowhere */
    const gs_caps *caps;
    gs_store      *store;
    gs_session    *session;
    const char    *device;     /* what the store calls it */
    const char    *version;    /* of the program and its kernels: what else an answer depends on */
} gs_service_session;

/* Who opens devices. Each thread calls open once, for its own device, and close when it ends: a worker ends with the thread that started it. */
typedef struct gs_service_opener {
    void     *self;
    gs_status (*open)(void *self, int index, gs_service_session *out, gs_error *error);
    void      (*close)(gs_service_session *session);
} gs_service_opener;

typedef struct gs_jobs_options {
    gs_service_opener      opener;
    int                    devices;       /* at most GS_SERVICE_DEVICES, numbered from 0 */
    int                    prepare;       /* processes that compile and emulate while devices are busy, at most GS_SERVICE_PREPARERS; 0: each device's own thread does it */
    const char            *store;         /* NULL: the default */
    int                    queue;         /* open jobs, those under way included */
    double                 keep_s;        /* how long answers are kept; 0: for ever */
    gs_environment_options environment;   /* its reward and its emulator are not looked at */
    /* Whether a request of this text would have this id here: then what another service with the same store has left may be gone on with. NULL: nothing is */
    bool                 (*ours)(const char *scope, const char *device, const char *version, const char *request, const char *id);
    const char            *scope;         /* for that */
    /* What is kept and sent of an evaluation, as JSON; the caller's. NULL: no memory. */
    char                *(*answer)(const char *problem, const gs_evaluation *got);
} gs_jobs_options;

/* So many processes that prepare leave each device a core of its own, and another one. */
int gs_jobs_preparers(int devices);

#endif
