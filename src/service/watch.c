/* SPDX-License-Identifier: MIT */
#include "service/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"

#define TURN_NS     (INT64_C(45) * 1000000000)
#define SLOWEST_NS  (INT64_C(1000000000) / (64 << 10))   /* a byte: 64 KiB/s, beside that */

struct serve_guest {
    int          socket_number, among;
    int64_t      until;            /* 0: as long as it likes */
    serve_guest *next, **here;
};

void serve_watch_open(serve_watch *watch)
{
    *watch = (serve_watch){0};
    pthread_mutex_init(&watch->lock, NULL);
}

void serve_watch_close(serve_watch *watch)
{
    while (watch->first) serve_watch_remove(watch, watch->first);
    pthread_mutex_destroy(&watch->lock);
}

serve_guest *serve_watch_add(serve_watch *watch, int socket_number)
{
    serve_guest *const guest = calloc(1, sizeof *guest);
    if (!guest) return NULL;
    *guest = (serve_guest){.socket_number = socket_number, .until = gs_clock_ns() + TURN_NS};
    pthread_mutex_lock(&watch->lock);
    guest->among = ++watch->count;
    guest->here = &watch->first;
    guest->next = watch->first;
    if (guest->next) guest->next->here = &guest->next;
    watch->first = guest;
    pthread_mutex_unlock(&watch->lock);
    return guest;
}

int serve_watch_among(const serve_guest *guest) { return guest ? guest->among : 0; }

void serve_watch_remove(serve_watch *watch, serve_guest *guest)
{
    if (!guest) return;
    pthread_mutex_lock(&watch->lock);
    watch->count--;
    *guest->here = guest->next;
    if (guest->next) guest->next->here = guest->here;
    pthread_mutex_unlock(&watch->lock);
    free(guest);
}

void serve_watch_turn(serve_watch *watch, serve_guest *guest, serve_turn turn, size_t bytes)
{
    if (!guest) return;
    pthread_mutex_lock(&watch->lock);
    guest->until = turn == SERVE_WAIT ? 0 : gs_clock_ns() + TURN_NS + (int64_t)bytes * SLOWEST_NS;
    pthread_mutex_unlock(&watch->lock);
}

/* The lock is held so that no socket is shut whose number is another one's by now: a guest is removed before its socket is closed. */
void serve_watch_sweep(serve_watch *watch, int64_t now_ns)
{
    pthread_mutex_lock(&watch->lock);
    for (serve_guest *guest = watch->first; guest; guest = guest->next)
        if (guest->until != 0 && guest->until < now_ns) shutdown(guest->socket_number, SHUT_RDWR);
    pthread_mutex_unlock(&watch->lock);
}

bool serve_watch_gone(int socket_number)
{
    struct pollfd look = {.fd = socket_number, .events = POLLRDHUP};
    return poll(&look, 1, 0) > 0;
}
