/* SPDX-License-Identifier: MIT */
#include "service/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"

#define TURN_NS     (INT64_C(45) * 1000000000)
#define SLOWEST_NS  (INT64_C(1000000000) / (64 << 10))   /* a byte: 64 KiB/s, beside that */

struct gs_service_guest {
    int          socket_number, among;
    int64_t      until;            /* 0: as long as it likes */
    gs_service_guest *next, **here;
};

void gs_service_watch_open(gs_service_watch *watch)
{
    *watch = (gs_service_watch){0};
    pthread_mutex_init(&watch->lock, NULL);
}

void gs_service_watch_close(gs_service_watch *watch)
{
    while (watch->first) gs_service_watch_remove(watch, watch->first);
    pthread_mutex_destroy(&watch->lock);
}

gs_service_guest *gs_service_watch_add(gs_service_watch *watch, int socket_number)
{
    gs_service_guest *const guest = calloc(1, sizeof *guest);
    if (!guest) return NULL;
    *guest = (gs_service_guest){.socket_number = socket_number, .until = gs_clock_ns() + TURN_NS};
    pthread_mutex_lock(&watch->lock);
    guest->among = ++watch->count;
    guest->here = &watch->first;
    guest->next = watch->first;
    if (guest->next) guest->next->here = &guest->next;
    watch->first = guest;
    pthread_mutex_unlock(&watch->lock);
    return guest;
}

int gs_service_watch_among(const gs_service_guest *guest) { return guest ? guest->among : 0; }

void gs_service_watch_remove(gs_service_watch *watch, gs_service_guest *guest)
{
    if (!guest) return;
    pthread_mutex_lock(&watch->lock);
    watch->count--;
    *guest->here = guest->next;
    if (guest->next) guest->next->here = guest->here;
    pthread_mutex_unlock(&watch->lock);
    free(guest);
}

void gs_service_watch_turn(gs_service_watch *watch, gs_service_guest *guest, gs_service_turn turn, size_t bytes)
{
    if (!guest) return;
    pthread_mutex_lock(&watch->lock);
    guest->until = turn == GS_SERVICE_WAIT ? 0 : gs_clock_ns() + TURN_NS + (int64_t)bytes * SLOWEST_NS;
    pthread_mutex_unlock(&watch->lock);
}

/* The lock is held so that no socket is shut whose number is another one's by now: a guest is removed before its socket is closed. */
void gs_service_watch_sweep(gs_service_watch *watch, int64_t now_ns)
{
    pthread_mutex_lock(&watch->lock);
    for (gs_service_guest *guest = watch->first; guest; guest = guest->next)
        if (guest->until != 0 && guest->until < now_ns) shutdown(guest->socket_number, SHUT_RDWR);
    pthread_mutex_unlock(&watch->lock);
}

bool gs_service_watch_gone(int socket_number)
{
    struct pollfd look = {.fd = socket_number, .events = POLLRDHUP};
    return poll(&look, 1, 0) > 0;
}
