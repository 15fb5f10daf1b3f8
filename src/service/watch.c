/* SPDX-License-Identifier: MIT */
#include "service/watch.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

#define TURN_NS     (INT64_C(45) * 1000000000)
#define SLOW_NS     (INT64_C(2) * 1000000000)            /* a connection slower than this may have to make room */
#define SLOWEST_NS  (INT64_C(1000000000) / (64 << 10))   /* additional time per byte: 64 KiB/s */

struct gs_service_guest {
    int          socket_number, among;
    int64_t      until;            /* 0: no limit */
    int64_t      since;            /* when its turn began */
    bool         shut;             /* shut down to make room for another one; no longer counted */
    unsigned char address[16];     /* of the client; zero: unknown */
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

static void take_address(gs_service_guest *guest, const struct sockaddr *address)
{
    if (address && address->sa_family == AF_INET) memcpy(guest->address, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    if (address && address->sa_family == AF_INET6) memcpy(guest->address, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
}

static bool is_slow(const gs_service_guest *guest, int64_t now) { return !guest->shut && guest->until != 0 && now - guest->since > SLOW_NS; }

static int slow_ones(const gs_service_watch *watch, const gs_service_guest *like, int64_t now)
{
    int count = 0;
    for (const gs_service_guest *guest = watch->first; guest; guest = guest->next)
        count += is_slow(guest, now) && memcmp(guest->address, like->address, sizeof guest->address) == 0;
    return count;
}

/* Shuts down the slowest connection of the client with the most slow ones, so that a client with many cannot displace one with a single connection. The
 * caller holds the lock. */
static void make_room(gs_service_watch *watch, int64_t now)
{
    gs_service_guest *out = NULL;
    int most = 0;
    for (gs_service_guest *guest = watch->first; guest; guest = guest->next) {
        if (!is_slow(guest, now)) continue;
        const int count = slow_ones(watch, guest, now);
        if (count < most || (count == most && guest->since > out->since)) continue;
        most = count;
        out = guest;
    }
    if (!out) return;
    shutdown(out->socket_number, SHUT_RDWR);
    out->shut = true;
    watch->count--;
}

gs_service_guest *gs_service_watch_add(gs_service_watch *watch, int socket_number, const struct sockaddr *address, int most)
{
    gs_service_guest *const guest = calloc(1, sizeof *guest);
    if (!guest) return NULL;
    const int64_t now = gs_clock_ns();
    *guest = (gs_service_guest){.socket_number = socket_number, .until = now + TURN_NS, .since = now};
    take_address(guest, address);
    pthread_mutex_lock(&watch->lock);
    if (watch->count >= most) make_room(watch, now);
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
    watch->count -= !guest->shut;
    *guest->here = guest->next;
    if (guest->next) guest->next->here = guest->here;
    pthread_mutex_unlock(&watch->lock);
    free(guest);
}

void gs_service_watch_turn(gs_service_watch *watch, gs_service_guest *guest, gs_service_turn turn, size_t bytes)
{
    if (!guest) return;
    pthread_mutex_lock(&watch->lock);
    guest->since = gs_clock_ns();
    guest->until = turn == GS_SERVICE_WAIT ? 0 : guest->since + TURN_NS + (int64_t)bytes * SLOWEST_NS;
    pthread_mutex_unlock(&watch->lock);
}

/* The lock ensures that no reused socket number is shut down: a guest is removed before its socket is closed. */
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
