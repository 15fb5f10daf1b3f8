/* SPDX-License-Identifier: MIT
 * How long connections may take: one that sends its request, or takes its answer, byte after byte must not keep others out for ever. libmicrohttpd
 * closes what is silent; this closes what is never done. Nothing is counted while a request waits for its evaluation. */
#ifndef GS_SERVICE_WATCH_H
#define GS_SERVICE_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct serve_guest serve_guest;   /* one connection */

typedef struct serve_watch {
    pthread_mutex_t lock;
    serve_guest    *first;
    int             count;
} serve_watch;

void serve_watch_open(serve_watch *watch);
void serve_watch_close(serve_watch *watch);

serve_guest *serve_watch_add(serve_watch *watch, int socket_number);   /* NULL: no memory. It has its time for a request's headers */
int          serve_watch_among(const serve_guest *guest);              /* how many there were when it came, itself included; NULL: 0 */
void         serve_watch_remove(serve_watch *watch, serve_guest *guest);

/* What a connection is about, from now on, and how many bytes that is; guest may be NULL. */
typedef enum serve_turn { SERVE_HEADERS, SERVE_BODY, SERVE_ANSWER, SERVE_WAIT } serve_turn;
void serve_watch_turn(serve_watch *watch, serve_guest *guest, serve_turn turn, size_t bytes);

void serve_watch_sweep(serve_watch *watch, int64_t now_ns);   /* shuts those whose time is up */
bool serve_watch_gone(int socket_number);                     /* the other side has closed the connection, or its half of it */

#endif
