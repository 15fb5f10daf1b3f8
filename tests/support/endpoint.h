/* SPDX-License-Identifier: MIT
 * An HTTP endpoint on a thread of the test that answers from a script: request i gets reply i, later ones the last reply. It keeps the requests. */
#ifndef TESTS_ENDPOINT_H
#define TESTS_ENDPOINT_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENDPOINT_KEPT 8

typedef struct said {
    int         http;        /* status; 0: closes without an answer */
    const char *type;        /* Content-Type; NULL: none */
    const char *headers;     /* further header lines, each with its CRLF; NULL: none */
    const char *body;
    int         claim;       /* added to Content-Length; then the connection is closed early. With chunked: the last chunk is missing */
    int         piece;       /* bytes at a time; 0: all at once */
    int         pause_ms;    /* pause after each piece */
    bool        chunked;     /* each piece is a chunk */
    int         repeat;      /* how often the body is sent; 0: once. If more than once, there is no Content-Length */
    bool        hang;        /* the connection stays open after the reply */
    bool        mute;        /* no reply, and the connection stays open */
} said;

typedef struct endpoint {
    const said *script;
    int         count, port, listener, end[2];
    pthread_t   thread;
    int         requests;
    char        request[ENDPOINT_KEPT][196608];
    char        url[64];
} endpoint;

static bool endpoint_send(int to, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t put = send(to, bytes, size, MSG_NOSIGNAL);
        if (put <= 0) return false;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

static bool endpoint_send_body(int to, const said *s, const char *bytes)
{
    char length[32];
    for (size_t size = strlen(bytes); size > 0;) {
        const size_t some = s->piece > 0 && (size_t)s->piece < size ? (size_t)s->piece : size;
        snprintf(length, sizeof length, "%zx\r\n", some);
        if (s->chunked && !endpoint_send(to, length, strlen(length))) return false;
        if (!endpoint_send(to, bytes, some) || (s->chunked && !endpoint_send(to, "\r\n", 2))) return false;
        bytes += some;
        size -= some;
        if (s->pause_ms > 0) usleep((useconds_t)s->pause_ms * 1000);
    }
    return true;
}

/* Keeps the connection open until the client closes it or the test ends. */
static void endpoint_hold(endpoint *e, int connection)
{
    struct pollfd both[] = {{.fd = connection, .events = POLLIN}, {.fd = e->end[0], .events = POLLIN}};
    poll(both, 2, 20000);
}

static void endpoint_read(endpoint *e, int from)
{
    char *const text = e->request[e->requests % ENDPOINT_KEPT];
    size_t have = 0, need = sizeof e->request[0] - 1;
    while (have < need) {
        const ssize_t got = recv(from, text + have, need - have, 0);
        if (got <= 0) break;
        have += (size_t)got;
        text[have] = '\0';
        const char *const body = strstr(text, "\r\n\r\n"), *const length = strcasestr(text, "content-length:");
        if (body && length && have >= (size_t)(body + 4 - text) + (size_t)atol(length + 15)) break;
    }
    text[have] = '\0';
}

static void endpoint_reply(endpoint *e, int to, const said *s)
{
    if (s->mute) endpoint_hold(e, to);
    if (s->mute || s->http == 0) return;
    const char *const body = s->body ? s->body : "";
    char head[1024], length[64] = "", type[128] = "";
    if (s->type) snprintf(type, sizeof type, "Content-Type: %s\r\n", s->type);
    const bool stream = s->type && strncmp(s->type, "text/event-stream", 17) == 0;
    if (s->chunked) snprintf(length, sizeof length, "Transfer-Encoding: chunked\r\n");
    else if (s->repeat == 0 && !stream) snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(body) + (size_t)s->claim);
    snprintf(head, sizeof head, "HTTP/1.1 %d Said\r\n%s%s%sConnection: close\r\n\r\n", s->http, type, length, s->headers ? s->headers : "");
    bool open = endpoint_send(to, head, strlen(head));
    for (int i = 0; open && i < (s->repeat ? s->repeat : 1); i++) open = endpoint_send_body(to, s, body);
    if (open && s->chunked && s->claim == 0) open = endpoint_send(to, "0\r\n\r\n", 5);
    if (open && s->hang) endpoint_hold(e, to);
}

static void *endpoint_run(void *self)
{
    endpoint *const e = self;
    for (;;) {
        struct pollfd both[] = {{.fd = e->listener, .events = POLLIN}, {.fd = e->end[0], .events = POLLIN}};
        if (poll(both, 2, -1) < 0 || both[1].revents) return NULL;
        const int connection = accept(e->listener, NULL, NULL);
        if (connection < 0) continue;
        endpoint_read(e, connection);
        const int number = __atomic_fetch_add(&e->requests, 1, __ATOMIC_SEQ_CST);
        endpoint_reply(e, connection, &e->script[number < e->count ? number : e->count - 1]);
        close(connection);
    }
}

static inline void endpoint_start(endpoint *e, const said *script, int count)
{
    *e = (endpoint){.script = script, .count = count};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    e->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (e->listener < 0 || bind(e->listener, (struct sockaddr *)&address, size) != 0 || listen(e->listener, 8) != 0 || pipe(e->end) != 0) abort();
    if (getsockname(e->listener, (struct sockaddr *)&address, &size) != 0) abort();
    e->port = ntohs(address.sin_port);
    snprintf(e->url, sizeof e->url, "http://127.0.0.1:%d", e->port);
    if (pthread_create(&e->thread, NULL, endpoint_run, e) != 0) abort();
}

/* Waits until `count` requests were read, at most 10 s, and returns how many were: a client that gives up may do so before its request is read. */
static inline int endpoint_requests(endpoint *e, int count)
{
    for (int i = 0; i < 2000 && __atomic_load_n(&e->requests, __ATOMIC_SEQ_CST) < count; i++) usleep(5000);
    return __atomic_load_n(&e->requests, __ATOMIC_SEQ_CST);
}

static inline void endpoint_stop(endpoint *e)
{
    if (write(e->end[1], "", 1) != 1) abort();
    pthread_join(e->thread, NULL);
    close(e->listener);
    close(e->end[0]);
    close(e->end[1]);
}

#endif
