/* SPDX-License-Identifier: MIT
 * The HTTP side of gemmsmith serve: libmicrohttpd, a thread per connection, which may wait for its answer. docs/howto/serve.md has the endpoints. */
#ifndef GS_SERVICE_HTTP_H
#define GS_SERVICE_HTTP_H

#include "jobs/jobs.h"
#include "service/service.h"

typedef struct gs_service_http gs_service_http;

/* Listens and answers from then on. Codes: ARGUMENT (address), IO, MEMORY. */
gs_status gs_service_http_start(gs_service_http **out, gs_service_jobs *jobs, const gs_service_options *options, gs_error *error);
int       gs_service_http_port(const gs_service_http *http);
void      gs_service_http_tend(gs_service_http *http);        /* now and then: closes connections that are never done */
void      gs_service_http_refuse(gs_service_http *http);      /* takes no new connection */
void      gs_service_http_stop(gs_service_http **http);       /* lets answers under way out, for some seconds at most */

#endif
