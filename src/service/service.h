/* SPDX-License-Identifier: MIT
 * The reward service: accepts candidates over HTTP, has them evaluated (jobs/jobs.h), keeps every answer. This is the door of the room: how
 * a program starts a service, and ends it. docs/howto/serve.md has the endpoints, docs/internals/serve.md what is inside. */
#ifndef GS_SERVICE_SERVICE_H
#define GS_SERVICE_SERVICE_H

#include "base/text.h"
#include "jobs/options.h"

typedef struct gs_service_options {
    gs_jobs_options        jobs;          /* but for what is said of an evaluation, which is the service's own */
    const char            *scope;         /* options that answers depend on, as text */
    /* HTTP; strings and lists are borrowed until the end */
    const char            *address;       /* "127.0.0.1", "::1", "0.0.0.0" */
    int                    port;          /* 0: any */
    const char            *token;         /* NULL: none is asked for */
    int                    connections;
    size_t                 most_body;     /* bytes */
    double                 deadline_s;    /* where the client names none */
    const gs_problem      *tasks;         /* what GET /v1/tasks lists */
    int                    task_count;
    bool                   only_tasks;    /* no other problem is evaluated */
} gs_service_options;

typedef struct gs_service gs_service;

/* Starts the devices one after another, goes on with the jobs that the store has open, then listens. Codes: ARGUMENT (address, devices of different
 * models), IO, MEMORY, what the opener says, the store's. */
gs_status gs_service_start(gs_service **out, const gs_service_options *options, gs_error *error);
void      gs_service_tend(gs_service *service);         /* now and then: closes connections that never finish */
/* Refuses what is new, finishes what is under way within ten seconds or gives it back, and tells those who wait. Returns how many jobs stay open. */
int       gs_service_stop(gs_service *service);
void      gs_service_free(gs_service **service);        /* stops it first */

int         gs_service_port(const gs_service *service);
const char *gs_service_device_name(const gs_service *service);

/* Where and what it serves, as an object of JSON: for programs that start one. */
void gs_service_object(gs_service *service, const char *url, bool token, bool listed, gs_text *out);
int         gs_service_open_jobs(const gs_service *service);

/* What is offered where nobody lists problems: M, N and K in ten sizes, as scripts/list_problems.py grid writes them. free(); NULL: no memory. */
gs_problem *gs_service_grid(int *count);

bool gs_service_address_loopback(const char *address);

#endif
