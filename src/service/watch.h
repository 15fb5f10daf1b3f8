/* SPDX-License-Identifier: MIT
 * How long connections may take: one that sends its request, or takes its answer, byte after byte must not keep others out for ever. libmicrohttpd
 * closes what is silent; this closes what is never done. Nothing is counted while a request waits for its evaluation. */
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

/* NULL: no memory. It has its time for a request's headers. Beyond `most` connections it takes the place of one that is slow, if there is any: one that has been at its
 * request or its answer for two seconds, of the address with the most of them, is shut. address: of the other side, NULL: nobody knows. */
struct sockaddr;
gs_service_guest *gs_service_watch_add(gs_service_watch *watch, int socket_number, const struct sockaddr *address, int most);
int          gs_service_watch_among(const gs_service_guest *guest);              /* how many there were when it came, itself included, without those that made room; NULL: 0 */
void         gs_service_watch_remove(gs_service_watch *watch, gs_service_guest *guest);

/* What a connection is about, from now on, and how many bytes that is; guest may be NULL. */
typedef enum gs_service_turn { GS_SERVICE_HEADERS, GS_SERVICE_BODY, GS_SERVICE_ANSWER, GS_SERVICE_WAIT } gs_service_turn;
void gs_service_watch_turn(gs_service_watch *watch, gs_service_guest *guest, gs_service_turn turn, size_t bytes);

void gs_service_watch_sweep(gs_service_watch *watch, int64_t now_ns);   /* shuts those whose time is up */
bool gs_service_watch_gone(int socket_number);                     /* the other side has closed the connection, or its half of it */

#endif
