/* SPDX-License-Identifier: MIT */
#include "service/stream.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "service/reply.h"
#include "service/request.h"

#define CHUNK     ((size_t)16 << 10)
#define MOMENT_NS INT64_C(50000000)   /* between looks at all items */

typedef struct stream {
    gs_service_listener listener;
    gs_service_jobs   *jobs;
    gs_service_request request;
    gs_service_found  *found;
    bool              *said;
    int                left;
    int64_t            until;
    char              *line;    /* being sent */
    size_t             at, size;
} stream;

static void close_stream(void *self)
{
    stream *const s = self;
    for (int i = 0; i < s->request.count; i++) gs_service_found_free(s->jobs, &s->found[i]);
    gs_service_request_free(&s->request);
    free(s->found);
    free(s->said);
    free(s->line);
    free(s);
}

/* Whether an item can be answered: it has a result, or its time is up. */
static bool is_over(stream *s, int i, int64_t until)
{
    return !s->request.item[i].request || gs_service_jobs_wait(s->jobs, &s->found[i], until) || gs_clock_ns() >= s->until;
}

static bool say(stream *s, int i)
{
    const gs_service_item *const item = &s->request.item[i];
    json_t *const result = gs_service_reply_item(item, &s->found[i], item->reward, true, gs_service_jobs_stopping(s->jobs));
    if (result) json_object_set_new(result, "index", json_integer(i));
    char *const text = result ? json_dumps(result, JSON_COMPACT) : NULL;
    json_decref(result);
    if (!text) return false;
    free(s->line);
    s->line = text;
    s->size = strlen(text);
    s->line[s->size++] = '\n';   /* in place of the terminator */
    s->at = 0;
    s->said[i] = true;
    s->left--;
    gs_service_found_free(s->jobs, &s->found[i]);
    return true;
}

/* The next item that can be answered; waits a moment for the first open one. -1: none. */
static int next(stream *s)
{
    int first = -1;
    for (int i = 0; i < s->request.count; i++) {
        if (s->said[i]) continue;
        if (is_over(s, i, 0)) return i;
        if (first < 0) first = i;
    }
    return is_over(s, first, gs_clock_ns() + MOMENT_NS) ? first : -1;
}

static ssize_t read_stream(void *self, uint64_t position, char *out, size_t size)
{
    stream *const s = self;
    const gs_service_listener *const l = &s->listener;
    (void)position;
    if (s->at == s->size && s->left > 0) {
        gs_service_watch_turn(l->watch, l->guest, GS_SERVICE_WAIT, 0);
        int which;
        while ((which = next(s)) < 0)
            if (gs_service_watch_gone(l->socket_number)) return MHD_CONTENT_READER_END_WITH_ERROR;
        if (!say(s, which)) return MHD_CONTENT_READER_END_WITH_ERROR;
        gs_service_watch_turn(l->watch, l->guest, GS_SERVICE_ANSWER, s->size);
    }
    if (s->at == s->size) {
        MHD_set_connection_option(l->connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)l->idle_s);
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    const size_t some = GS_MIN(s->size - s->at, size);
    memcpy(out, s->line + s->at, some);
    s->at += some;
    return (ssize_t)some;
}

struct MHD_Response *gs_service_stream_response(gs_service_jobs *jobs, gs_service_request *request, gs_service_found *found, int64_t until_ns, const gs_service_listener *listener)
{
    stream *const s = calloc(1, sizeof *s);
    bool *const said = calloc((size_t)request->count, sizeof *said);
    struct MHD_Response *const response = s && said ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK, read_stream, s, close_stream) : NULL;
    if (response) {
        *s = (stream){.listener = *listener, .jobs = jobs, .request = *request, .found = found, .said = said, .left = request->count, .until = until_ns};
        MHD_set_connection_option(listener->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);   /* no timeout: the connection is silent while results are awaited */
    } else {
        for (int i = 0; i < request->count; i++) gs_service_found_free(jobs, &found[i]);
        gs_service_request_free(request);
        free(found);
        free(said);
        free(s);
    }
    *request = (gs_service_request){0};
    return response;
}
