/* SPDX-License-Identifier: MIT
 * The HTTP side of gemmsmith serve: libmicrohttpd with a thread per connection, which may block until its answer is there. docs/howto/serve.md has the
 * endpoints. */
#ifndef GS_SERVICE_HTTP_H
#define GS_SERVICE_HTTP_H

#include "jobs/jobs.h"
#include "service/service.h"

typedef struct gs_service_http gs_service_http;

/* Begins to listen and answer. Codes: ARGUMENT (address), IO, MEMORY. */
gs_status gs_service_http_start(gs_service_http **out, gs_service_jobs *jobs, const gs_service_options *options, gs_error *error);
int       gs_service_http_port(const gs_service_http *http);
void      gs_service_http_tend(gs_service_http *http);        /* to be called regularly: closes connections that take too long */
void      gs_service_http_refuse(gs_service_http *http);      /* stops accepting connections */
void      gs_service_http_stop(gs_service_http **http);       /* waits some seconds for answers that are being sent */

#endif
