/* SPDX-License-Identifier: MIT
 * The means of evaluating jobs: devices and how they are opened, preparing processes, the store. */
#ifndef GS_JOBS_OPTIONS_H
#define GS_JOBS_OPTIONS_H

#include "evaluate/environment.h"

enum { GS_SERVICE_DEVICES = 64, GS_SERVICE_PREPARERS = 128 };

/* What a device's thread works with; owned by the opener, valid until close. */
typedef struct gs_service_session {
    void          *self;       /* for the opener */
    gs_worker     *worker;
    gs_worker     *emulator;   /* where user kernels run before they touch the device; NULL: they do not */
    const gs_caps *caps;
    gs_store      *store;
    gs_session    *session;
    const char    *device;     /* its name in the store */
    const char    *version;    /* of the program and its kernels; answers depend on it too */
} gs_service_session;

/* Opens devices. Each device's thread calls open once, and close when it ends: a worker ends with the thread that started it. */
typedef struct gs_service_opener {
    void     *self;
    gs_status (*open)(void *self, int index, gs_service_session *out, gs_error *error);
    void      (*close)(gs_service_session *session);
} gs_service_opener;

typedef struct gs_jobs_options {
    gs_service_opener      opener;
    int                    devices;       /* at most GS_SERVICE_DEVICES, numbered from 0 */
    int                    prepare;       /* processes that compile and emulate while devices are busy, at most GS_SERVICE_PREPARERS; 0: each device's thread does it */
    const char            *store;         /* NULL: the default */
    int                    queue;         /* most open jobs, including those being worked on */
    double                 keep_s;        /* seconds that answers are kept; 0: for ever */
    gs_environment_options environment;   /* its reward and its emulator are ignored */
    /* Whether a request with this text would have this id here: only then may a job that another service left be continued. NULL: none is */
    bool                 (*ours)(const char *scope, const char *device, const char *version, const char *request, const char *id);
    const char            *scope;         /* first argument of ours */
    /* The answer of an evaluation, as JSON, which is stored and sent. The caller frees it; NULL: no memory. */
    char                *(*answer)(const char *problem, const gs_evaluation *got);
} gs_jobs_options;

/* How many preparing processes leave a free core per device, and one more. */
int gs_jobs_preparers(int devices);

#endif
