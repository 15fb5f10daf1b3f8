/* SPDX-License-Identifier: MIT
 * The HTTP side of gemmsmith serve: libmicrohttpd, a thread per connection, which may wait for its answer. docs/howto/serve.md has the endpoints. */
#ifndef GS_SERVICE_HTTP_H
#define GS_SERVICE_HTTP_H

#include "problems.h"
#include "service/jobs.h"

typedef struct serve_http_options {
    const char  *address;        /* "127.0.0.1", "::1", "0.0.0.0" */
    int          port;           /* 0: any */
    const char  *token;          /* NULL: none is asked for; strings are borrowed */
    int          connections;
    size_t       most_body;      /* bytes */
    serve_terms  terms;
    cli_problems tasks;          /* what GET /v1/tasks lists; borrowed */
} serve_http_options;

typedef struct serve_http serve_http;

/* Listens and answers from then on. Codes: ARGUMENT (address), IO, MEMORY. */
gs_status serve_http_start(serve_http **out, serve_jobs *jobs, const serve_http_options *options, gs_error *error);
int       serve_http_port(const serve_http *http);
void      serve_http_tend(serve_http *http);        /* now and then: closes connections that are never done */
void      serve_http_refuse(serve_http *http);      /* takes no new connection */
void      serve_http_stop(serve_http **http);       /* lets answers under way out, for some seconds at most */

bool serve_address_loopback(const char *address);

#endif
