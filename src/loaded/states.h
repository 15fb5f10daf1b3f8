/* SPDX-License-Identifier: MIT
 * Per-thread state of an object that many threads use at once; the object owns the states. A thread finds its state without a lock. At its
 * first use it takes the state of a thread that has ended, or a new one, so there are never more states than threads that were alive at
 * once. A thread that ends frees nothing that another thread may be using. */
#ifndef GS_LOADED_STATES_H
#define GS_LOADED_STATES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#define GS_THREAD_KEEPS 256   /* states that a thread finds without a lock; a power of two */

typedef struct gs_thread {
    atomic_int  references;     /* the thread's own, and one of each of its states */
    atomic_bool ended;
    struct {
        uint64_t id;            /* of the gs_states; 0: none */
        void    *state;
    } kept[GS_THREAD_KEEPS];    /* by id modulo their number */
} gs_thread;

typedef struct gs_state gs_state;
struct gs_state {               /* first member of a state */
    gs_state  *next;
    gs_thread *owner;           /* NULL: nobody's yet */
};

typedef struct gs_states {
    uint64_t        id;         /* never used again in this process */
    pthread_mutex_t lock;       /* the list and its owners */
    gs_state       *first;
    gs_state     *(*create)(void *self, gs_error *error);   /* a new state, its owner and next not set */
    void          (*destroy)(gs_state *state);
    void           *self;
} gs_states;

extern _Thread_local gs_thread *gs_this_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Also makes one state and what the calling thread needs, so that the first use by one thread allocates nothing. MEMORY and create's. */
gs_status gs_states_init(gs_states *states, gs_error *error);
void      gs_states_free(gs_states *states);     /* no thread may be using one; also after a failed or no init, if all zero */

/* The slow part of gs_states_mine. NULL: no memory. */
void *gs_states_claim(gs_states *states, gs_error *error);

/* The calling thread's state. */
static inline void *gs_states_mine(gs_states *states, gs_error *error)
{
    const gs_thread *const thread = gs_this_thread;
    const uint64_t at = states->id % GS_THREAD_KEEPS;
    if (__builtin_expect(thread && thread->kept[at].id == states->id, 1)) return thread->kept[at].state;
    return gs_states_claim(states, error);
}

#endif
