/* SPDX-License-Identifier: MIT
 * Each live thread has its own state; a new thread takes over the state of a thread that has ended; all states are freed with their object. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/error.h"
#include "loaded/states.h"

typedef struct counted {
    gs_state state;
    int      number;
} counted;

static atomic_int made, gone, fails;

static gs_state *create(void *self, gs_error *error)
{
    assert_ptr_equal(self, &made);
    counted *const c = fails ? NULL : calloc(1, sizeof *c);
    if (!c) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a state"), NULL;
    c->number = ++made;
    return &c->state;
}

static void destroy(gs_state *state)
{
    gone++;
    free(state);
}

static int begin(void **state)
{
    (void)state;
    made = gone = fails = 0;
    return 0;
}

static gs_states new_states(void)
{
    gs_states states = {.create = create, .destroy = destroy, .self = &made};
    return states;
}

/* ---- threads ---- */

typedef struct visitor {
    gs_states *states;
    counted   *mine;
    pthread_t  thread;
    pthread_barrier_t *meet;   /* NULL: the thread ends at once */
} visitor;

static void *visit(void *argument)
{
    visitor *const v = argument;
    v->mine = gs_states_mine(v->states, NULL);
    if (v->mine != gs_states_mine(v->states, NULL)) v->mine = NULL;
    if (v->meet) pthread_barrier_wait(v->meet);   /* until all threads have a state */
    return NULL;
}

static counted *visit_once(gs_states *states)
{
    visitor v = {.states = states};
    assert_int_equal(pthread_create(&v.thread, NULL, visit, &v), 0);
    pthread_join(v.thread, NULL);
    return v.mine;
}

static void threads_have_one_each(void **state)
{
    (void)state;
    gs_states states = new_states();
    assert_int_equal(gs_states_init(&states, NULL), GS_OK);
    assert_int_equal(made, 1);
    counted *const own = gs_states_mine(&states, NULL);
    assert_true(own && own->number == 1 && gs_states_mine(&states, NULL) == own);
    counted *const second = visit_once(&states);
    assert_true(second && second != own && second->number == 2);
    assert_ptr_equal(visit_once(&states), second);   /* the state of the thread that has ended */
    assert_ptr_equal(visit_once(&states), second);
    enum { THREADS = 5 };
    visitor all[THREADS];
    pthread_barrier_t meet;
    pthread_barrier_init(&meet, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        all[i] = (visitor){.states = &states, .meet = &meet};
        assert_int_equal(pthread_create(&all[i].thread, NULL, visit, &all[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(all[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < i; j++) assert_true(all[i].mine && all[i].mine != all[j].mine && all[i].mine != own);
    assert_int_equal(made, 1 + THREADS);   /* no more states than threads that were alive at once */
    assert_ptr_equal(gs_states_mine(&states, NULL), own);
    gs_states_free(&states);
    assert_int_equal(gone, made);
    assert_true(states.id == 0 && !states.first);
    gs_states_free(&states);
    assert_int_equal(gone, made);
}

/* The state made with the object goes to the first thread that asks, even if another thread made the object. */
static void the_first_is_there(void **state)
{
    (void)state;
    gs_states states = new_states();
    assert_int_equal(gs_states_init(&states, NULL), GS_OK);
    fails = 1;
    gs_error error = {0};
    assert_non_null(visit_once(&states));
    assert_non_null(gs_states_mine(&states, &error));   /* takes over the ended thread's state */
    assert_null(visit_once(&states));   /* now this thread holds it */
    fails = 0;
    assert_non_null(visit_once(&states));
    assert_int_equal(made, 2);
    gs_states_free(&states);
    assert_int_equal(gone, 2);
}

/* A thread caches fewer states than there are objects: it still finds its own state of each object, and none of a freed object. */
static void many_objects(void **state)
{
    (void)state;
    enum { OBJECTS = 3 * GS_THREAD_KEEPS };
    static gs_states all[OBJECTS];
    static counted *mine[OBJECTS];
    for (int i = 0; i < OBJECTS; i++) {
        all[i] = new_states();
        assert_int_equal(gs_states_init(&all[i], NULL), GS_OK);
        mine[i] = gs_states_mine(&all[i], NULL);
        assert_int_equal(mine[i]->number, i + 1);
        if (i > 0) assert_true(all[i].id != all[i - 1].id);
    }
    for (int again = 0; again < 2; again++)
        for (int i = OBJECTS - 1; i >= 0; i--) assert_ptr_equal(gs_states_mine(&all[i], NULL), mine[i]);
    assert_int_equal(made, OBJECTS);
    for (int i = 0; i < OBJECTS; i++) gs_states_free(&all[i]);
    assert_int_equal(gone, OBJECTS);
    gs_states other = new_states();
    assert_int_equal(gs_states_init(&other, NULL), GS_OK);
    assert_int_equal(((counted *)gs_states_mine(&other, NULL))->number, OBJECTS + 1);
    gs_states_free(&other);
}

static void no_memory(void **state)
{
    (void)state;
    gs_states states = new_states();
    gs_error error = {0};
    fails = 1;
    assert_int_equal(gs_states_init(&states, &error), GS_ERROR_MEMORY);
    assert_string_equal(error.text, "no memory for a state");
    assert_true(states.id == 0);
    gs_states_free(&states);
    assert_int_equal(gone, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(threads_have_one_each, begin), cmocka_unit_test_setup(the_first_is_there, begin), cmocka_unit_test_setup(many_objects, begin),
                                       cmocka_unit_test_setup(no_memory, begin)};
    return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
