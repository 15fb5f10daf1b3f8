/* SPDX-License-Identifier: MIT
 * Proves that the store says so when memory is short, whichever allocation fails, and leaves nothing behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "leaks.h"
#include "store_folder.h"

static char path[GS_PATH];

static bool on_curve(void *self, const gs_curve *curve) { return *(int *)self += curve->count, true; }
static bool on_turn(void *self, const gs_turn *turn) { return *(int *)self += turn->count, true; }

static gs_status opens(gs_store *store, int *seen)
{
    (void)store;
    gs_store *again;
    const gs_status status = gs_store_open(&again, path, &error);
    *seen = 1;
    if (status == GS_OK) gs_store_close(&again);
    else assert_null(again);
    return status;
}

static gs_status opens_to_read(gs_store *store, int *seen)
{
    (void)store;
    gs_store *again;
    const gs_status status = gs_store_open_read(&again, path, &error);
    *seen = 1;
    if (status == GS_OK) gs_store_close(&again);
    return status;
}

static gs_status reads_curves(gs_store *store, int *seen) { return gs_store_curves(store, "", on_curve, seen, &error); }
static gs_status reads_turns(gs_store *store, int *seen) { return gs_store_turns(store, NULL, NULL, on_turn, seen, &error); }

static void whichever_allocation_fails(void **state)
{
    (void)state;
    static const struct { const char *what; gs_status (*call)(gs_store *store, int *seen); int seen; } calls[] = {
        {"open", opens, 1}, {"open to read", opens_to_read, 1}, {"curves", reads_curves, 300}, {"turns", reads_turns, 2},
    };
    enum { POINTS = 300 };   /* more than a curve has room for at first */
    double x[POINTS];
    for (int i = 0; i < POINTS; i++) x[i] = i;
    path_of(path, "memory.db");
    gs_store *store = open_store("memory.db");
    gs_session session = {.device = DEVICE};
    CHECK(gs_store_begin(store, &session, &error));
    CHECK(gs_store_curve(store, &session, "a", "one", x, x, POINTS, &error));
    const gs_turn_outcome outcomes[] = {{.candidate = "a", .verdict = "pass"}, {.candidate = "b", .verdict = "exact"}};
    CHECK(gs_store_turn_put(store, &session, &(gs_turn){.problem = "f16:64x64x64:tn", .mode = "source", .ask = "?", .outcomes = outcomes, .count = 2}, &error));
    for (size_t c = 0; c < GS_COUNT(calls); c++) {
        int failures = 0;
        for (int at = 1;; at++) {
            int seen = 0;
            fail_at = at;
            const gs_status status = calls[c].call(store, &seen);
            const bool reached = allocation_failed();
            if (status != GS_OK && status != GS_ERROR_MEMORY) fail_msg("%s, allocation %d: %s: %s", calls[c].what, at, gs_status_name(status), error.text);
            if (reached && status == GS_OK) fail_msg("%s, allocation %d: nobody noticed", calls[c].what, at);
            failures += status == GS_ERROR_MEMORY;
            if (reached) continue;
            assert_int_equal(seen, calls[c].seen);
            break;
        }
        assert_true(failures > 0);
    }
    gs_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whichever_allocation_fails)};
    return run_group_without_leaks("store/memory", tests, GS_COUNT(tests), make_folder, remove_folder);
}
