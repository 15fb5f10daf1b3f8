/* SPDX-License-Identifier: MIT
 * Answers a batch as its results become ready: a JSON line for each, in order of completion. */
#ifndef GS_SERVICE_STREAM_H
#define GS_SERVICE_STREAM_H

#include "jobs/jobs.h"
#include "service/watch.h"

/* The connection that gets the answer; valid as long as its request is being answered. */
typedef struct gs_service_listener {
    struct MHD_Connection *connection;
    gs_service_watch      *watch;
    gs_service_guest      *guest;
    int                    socket_number, idle_s;   /* idle_s: the connection's timeout afterwards */
} gs_service_listener;

/* Takes ownership of the content of request and of found, also on failure (NULL: no memory). Items without a result at until_ns get the verdict "deadline". */
struct MHD_Response *gs_service_stream_response(gs_service_jobs *jobs, gs_service_request *request, gs_service_found *found, int64_t until_ns, const gs_service_listener *listener);

#endif
