/* SPDX-License-Identifier: MIT
 * Limits how long connections may take: one that sends its request, or reads its answer, byte by byte must not keep others out for ever. libmicrohttpd closes
 * silent connections; this closes those that never finish. Time spent waiting for an evaluation does not count. */
#ifndef GS_SERVICE_WATCH_H
#define GS_SERVICE_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gs_service_guest gs_service_guest;   /* one connection */

typedef struct gs_service_watch {
    pthread_mutex_t   lock;
    gs_service_guest *first;
    int               count;
} gs_service_watch;

void gs_service_watch_open(gs_service_watch *watch);
void gs_service_watch_close(gs_service_watch *watch);

/* Adds a connection, whose time for the request's headers begins; NULL: no memory. Beyond `most` connections a slow one is shut down to make room: one that
 * has been sending its request or reading its answer for two seconds, from the address with the most of them. address: the client's, NULL: unknown. */
struct sockaddr;
gs_service_guest *gs_service_watch_add(gs_service_watch *watch, int socket_number, const struct sockaddr *address, int most);
int          gs_service_watch_among(const gs_service_guest *guest);              /* the number of connections when it came, including itself, without those shut down; NULL: 0 */
void         gs_service_watch_remove(gs_service_watch *watch, gs_service_guest *guest);

/* What a connection does from now on, and with how many bytes; guest may be NULL. */
typedef enum gs_service_turn { GS_SERVICE_HEADERS, GS_SERVICE_BODY, GS_SERVICE_ANSWER, GS_SERVICE_WAIT } gs_service_turn;
void gs_service_watch_turn(gs_service_watch *watch, gs_service_guest *guest, gs_service_turn turn, size_t bytes);

void gs_service_watch_sweep(gs_service_watch *watch, int64_t now_ns);   /* shuts down connections whose time is up */
bool gs_service_watch_gone(int socket_number);                     /* the client has closed the connection, or its sending half */

#endif
