/* SPDX-License-Identifier: MIT
 * The reward service: accepts candidates over HTTP, has them evaluated (jobs/jobs.h), keeps every answer. This header is the interface of the room: starting
 * and ending a service. docs/howto/serve.md has the endpoints, docs/internals/serve.md the inner structure. */
#ifndef GS_SERVICE_SERVICE_H
#define GS_SERVICE_SERVICE_H

#include "base/text.h"
#include "jobs/options.h"

typedef struct gs_service_options {
    gs_jobs_options        jobs;          /* its answer, ours and scope are set by the service */
    const char            *scope;         /* options that answers depend on, as text */
    /* HTTP; strings and lists must stay valid until gs_service_free */
    const char            *address;       /* "127.0.0.1", "::1", "0.0.0.0" */
    int                    port;          /* 0: any */
    const char            *token;         /* NULL: not required */
    int                    connections;
    size_t                 most_body;     /* bytes */
    double                 deadline_s;    /* seconds, if the client gives none */
    const gs_problem      *tasks;         /* listed by GET /v1/tasks */
    int                    task_count;
    bool                   only_tasks;    /* other problems are refused */
} gs_service_options;

typedef struct gs_service gs_service;

/* Starts the devices one after another, continues the open jobs of the store, then listens. Codes: ARGUMENT (address, devices of different models), IO,
 * MEMORY, the opener's, the store's. */
gs_status gs_service_start(gs_service **out, const gs_service_options *options, gs_error *error);
void      gs_service_tend(gs_service *service);         /* to be called regularly: closes connections that never finish */
/* Refuses new requests, finishes running evaluations within ten seconds or gives them back, and answers those who wait. Returns the number of jobs left open. */
int       gs_service_stop(gs_service *service);
void      gs_service_free(gs_service **service);        /* stops it first */

int         gs_service_port(const gs_service *service);
const char *gs_service_device_name(const gs_service *service);

/* Address and state as a JSON object, for programs that start a service. */
void gs_service_object(gs_service *service, const char *url, bool token, bool listed, gs_text *out);
int         gs_service_open_jobs(const gs_service *service);

/* The problems offered by default: M, N and K in ten sizes, as scripts/list_problems.py grid writes them. The caller frees them; NULL: no memory. */
gs_problem *gs_service_grid(int *count);

bool gs_service_address_loopback(const char *address);

#endif
