/* SPDX-License-Identifier: MIT
 * A batch that is answered as its results come: a line of JSON for each, in whatever order they are done. */
#ifndef GS_SERVICE_STREAM_H
#define GS_SERVICE_STREAM_H

#include "jobs/jobs.h"
#include "service/watch.h"

/* Who is sent to; all of it lives as long as its request is being answered. */
typedef struct gs_service_listener {
    struct MHD_Connection *connection;
    gs_service_watch      *watch;
    gs_service_guest      *guest;
    int                    socket_number, idle_s;   /* idle_s: how long the connection may be silent afterwards */
} gs_service_listener;

/* Takes what is in request, and found, also where it fails (NULL: no memory). What has no result at until_ns is told so. */
struct MHD_Response *gs_service_stream_response(gs_service_jobs *jobs, gs_service_request *request, gs_service_found *found, int64_t until_ns, const gs_service_listener *listener);

#endif
