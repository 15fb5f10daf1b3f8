/* SPDX-License-Identifier: MIT */
#include "loaded/states.h"

#include <stdlib.h>

#include "base/error.h"

_Thread_local gs_thread *gs_this_thread;

static pthread_once_t       once = PTHREAD_ONCE_INIT;
static pthread_key_t        key;
static bool                 has_key;
static atomic_uint_fast64_t last_id;

static void release(gs_thread *thread)
{
    if (thread && atomic_fetch_sub_explicit(&thread->references, 1, memory_order_acq_rel) == 1) free(thread);
}

static void thread_ends(void *value)
{
    gs_thread *const thread = value;
    gs_this_thread = NULL;
    atomic_store_explicit(&thread->ended, true, memory_order_release);
    release(thread);
}

static void make_key(void) { has_key = pthread_key_create(&key, thread_ends) == 0; }

/* The library may be unloaded before a thread that used it ends. */
__attribute__((destructor)) static void delete_key(void)
{
    if (has_key) pthread_key_delete(key);
}

static gs_thread *this_thread(gs_error *error)
{
    if (gs_this_thread) return gs_this_thread;
    pthread_once(&once, make_key);
    gs_thread *const thread = has_key ? calloc(1, sizeof *thread) : NULL;
    if (thread && pthread_setspecific(key, thread) == 0) {
        atomic_store(&thread->references, 1);
        gs_this_thread = thread;
        return thread;
    }
    free(thread);
    gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what a thread keeps of its launches");
    return NULL;
}

static void own(gs_state *state, gs_thread *thread)
{
    release(state->owner);
    state->owner = thread;
    atomic_fetch_add_explicit(&thread->references, 1, memory_order_relaxed);
}

/* A state that the thread owns but no longer has at hand, or one whose owner has ended. */
static gs_state *find(gs_states *states, gs_thread *thread)
{
    gs_state *free_one = NULL;
    for (gs_state *state = states->first; state; state = state->next) {
        if (state->owner == thread) return state;
        if (!free_one && (!state->owner || atomic_load_explicit(&state->owner->ended, memory_order_acquire))) free_one = state;
    }
    if (free_one) own(free_one, thread);
    return free_one;
}

void *gs_states_claim(gs_states *states, gs_error *error)
{
    gs_thread *const thread = this_thread(error);
    if (!thread) return NULL;
    pthread_mutex_lock(&states->lock);
    gs_state *state = find(states, thread);
    if (!state && (state = states->create(states->self, error)) != NULL) {
        state->owner = NULL;
        own(state, thread);
        state->next = states->first;
        states->first = state;
    }
    pthread_mutex_unlock(&states->lock);
    if (!state) return NULL;
    const uint64_t at = states->id % GS_THREAD_KEEPS;
    thread->kept[at].id = states->id;
    thread->kept[at].state = state;
    return state;
}

gs_status gs_states_init(gs_states *states, gs_error *error)
{
    if (!this_thread(error)) return GS_ERROR_MEMORY;
    gs_state *const state = states->create(states->self, error);
    if (!state) return GS_ERROR_MEMORY;
    state->next = NULL;
    state->owner = NULL;
    pthread_mutex_init(&states->lock, NULL);
    states->first = state;
    states->id = atomic_fetch_add(&last_id, 1) + 1;
    return GS_OK;
}

void gs_states_free(gs_states *states)
{
    if (!states->id) return;
    for (gs_state *state = states->first, *next; state; state = next) {
        next = state->next;
        release(state->owner);
        states->destroy(state);
    }
    pthread_mutex_destroy(&states->lock);
    *states = (gs_states){0};
}
