/* SPDX-License-Identifier: MIT
 * Proves that connections which are never done are shut when their time is up, those that wait for an evaluation are not, and that it is seen when the
 * other side has gone. The clock is the test's. And that a port which is taken leaves no socket behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "jobs/internal.h"
#include "leaks.h"
#include "service/http.h"
#include "service/watch.h"

#define SECOND INT64_C(1000000000)

/* Whether the other end of the pair is still there. */
static bool is_open(const int pair[2]) { return send(pair[1], "x", 1, MSG_NOSIGNAL) == 1; }

static void what_is_never_done_is_shut(void **state)
{
    enum { PAIRS = 4 };
    gs_service_watch watch;
    gs_service_guest *guest[PAIRS];
    int pair[PAIRS][2];
    (void)state;
    gs_service_watch_open(&watch);
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
        guest[i] = gs_service_watch_add(&watch, pair[i][0], NULL, 100);
        assert_non_null(guest[i]);
        assert_int_equal(gs_service_watch_among(guest[i]), i + 1);
    }
    const int64_t now = gs_clock_ns();
    gs_service_watch_turn(&watch, guest[1], GS_SERVICE_WAIT, 0);
    gs_service_watch_turn(&watch, guest[2], GS_SERVICE_BODY, 64 << 20);   /* a long one has longer */
    gs_service_watch_remove(&watch, guest[3]);                       /* closed; its number may be another one's */
    assert_int_equal(watch.count, PAIRS - 1);
    gs_service_watch_sweep(&watch, now + 40 * SECOND);
    for (int i = 0; i < PAIRS; i++) assert_true(is_open(pair[i]));
    gs_service_watch_sweep(&watch, now + 60 * SECOND);
    assert_false(is_open(pair[0]));
    for (int i = 1; i < PAIRS; i++) assert_true(is_open(pair[i]));
    gs_service_watch_turn(&watch, guest[1], GS_SERVICE_ANSWER, 100);
    gs_service_watch_sweep(&watch, now + 3600 * SECOND);
    assert_false(is_open(pair[1]));
    assert_false(is_open(pair[2]));
    assert_true(is_open(pair[3]));
    gs_service_watch_turn(&watch, NULL, GS_SERVICE_WAIT, 0);
    gs_service_watch_remove(&watch, NULL);
    gs_service_watch_close(&watch);
    for (int i = 0; i < PAIRS; i++) {
        close(pair[i][0]);
        close(pair[i][1]);
    }
}

/* The client with the most slow connections loses its oldest; those that wait for an evaluation and those that have just begun are left alone. */
static void slow_ones_make_room(void **state)
{
    enum { PAIRS = 6 };
    struct sockaddr_in many = {.sin_family = AF_INET, .sin_addr.s_addr = 1}, one = {.sin_family = AF_INET, .sin_addr.s_addr = 2};
    gs_service_watch watch;
    gs_service_guest *guest[PAIRS];
    int pair[PAIRS][2];
    (void)state;
    gs_service_watch_open(&watch);
    for (int i = 0; i < PAIRS; i++) assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
    guest[0] = gs_service_watch_add(&watch, pair[0][0], (struct sockaddr *)&one, 4);   /* slow, too, but alone */
    for (int i = 1; i < 4; i++) guest[i] = gs_service_watch_add(&watch, pair[i][0], (struct sockaddr *)&many, 4);
    gs_service_watch_turn(&watch, guest[1], GS_SERVICE_WAIT, 0);
    guest[4] = gs_service_watch_add(&watch, pair[4][0], (struct sockaddr *)&one, 4);
    assert_int_equal(gs_service_watch_among(guest[4]), 5);   /* nobody was slow yet */
    gs_service_watch_remove(&watch, guest[4]);
    gs_clock_sleep_ns(SECOND * 21 / 10);
    guest[5] = gs_service_watch_add(&watch, pair[5][0], (struct sockaddr *)&one, 4);
    assert_int_equal(gs_service_watch_among(guest[5]), 4);
    for (int i = 0; i < PAIRS; i++) assert_int_equal(is_open(pair[i]), i != 2);
    gs_service_watch_remove(&watch, guest[2]);
    assert_int_equal(watch.count, 4);
    gs_service_watch_close(&watch);
    for (int i = 0; i < PAIRS; i++) {
        close(pair[i][0]);
        close(pair[i][1]);
    }
}

static void who_has_gone_is_seen(void **state)
{
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(send(pair[1], "more", 4, 0), 4);
    assert_false(gs_service_watch_gone(pair[0]));
    shutdown(pair[1], SHUT_WR);
    assert_true(gs_service_watch_gone(pair[0]));
    close(pair[1]);
    assert_true(gs_service_watch_gone(pair[0]));
    close(pair[0]);
}

/* The number that the next descriptor gets. */
static int next_descriptor(void)
{
    const int number = dup(0);
    close(number);
    return number;
}

static void a_port_that_is_taken_leaves_nothing_open(void **state)
{
    static gs_service_jobs jobs;
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name;
    gs_service_http *http;
    gs_error error;
    const int taken = socket(AF_INET, SOCK_STREAM, 0);
    (void)state;
    assert_int_equal(bind(taken, (struct sockaddr *)&name, size), 0);
    assert_int_equal(listen(taken, 1), 0);
    assert_int_equal(getsockname(taken, (struct sockaddr *)&name, &size), 0);
    const gs_service_options options = {.address = "127.0.0.1", .port = ntohs(name.sin_port), .connections = 1};
    const int before = next_descriptor();
    assert_int_equal(gs_service_http_start(&http, &jobs, &options, &error), GS_ERROR_IO);
    assert_null(http);
    assert_non_null(strstr(error.text, "--port takes another one"));
    assert_int_equal(next_descriptor(), before);
    close(taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_never_done_is_shut), cmocka_unit_test(slow_ones_make_room), cmocka_unit_test(who_has_gone_is_seen),
                                       cmocka_unit_test(a_port_that_is_taken_leaves_nothing_open)};
    return run_without_leaks("service/watch", tests, GS_COUNT(tests));
}
