/* SPDX-License-Identifier: MIT
 * Several devices over one list: their names, the children's ends and what these come to, leases and signals; and a list one problem after the other at
 * a scripted worker. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "leaks.h"
#include "tune/device_group.h"
#include "tuning_list.h"

enum { LATE = 75 };

static gs_error why;

/* ---- names ---- */

static gs_status name(gs_device_group *group, const char *devices)
{
    *group = (gs_device_group){.late = LATE};
    why = (gs_error){0};
    return gs_device_group_name(group, devices, &why);
}

static void names_of_devices(void **state)
{
    gs_device_group group;
    gs_text many = {0};
    (void)state;
    assert_int_equal(name(&group, "cuda:1,emu:h200,emu:h200"), GS_OK);
    assert_int_equal(group.count, 3);
    assert_string_equal(group.member[0].device, "cuda:1");
    assert_string_equal(group.member[2].device, "emu:h200");
    assert_true(group.member[2].index == 2 && group.member[0].count == 3);
    gs_device_group_free(&group);
    assert_int_equal(name(&group, "cuda:0,cuda:1,cuda:0"), GS_ERROR_ARGUMENT);   /* they would measure each other */
    assert_non_null(strstr(why.text, "cuda:0 is named twice"));
    assert_null(group.member);
    assert_int_equal(name(&group, NULL), GS_OK);   /* the default, which the child finds */
    assert_true(group.count == 1 && group.member[0].count == 1);
    assert_string_equal(group.member[0].device, "");
    gs_device_group_free(&group);
    assert_int_equal(name(&group, "cuda:0,"), GS_ERROR_ARGUMENT);
    assert_int_equal(name(&group, ""), GS_ERROR_ARGUMENT);
    for (int i = 0; i <= GS_GROUP_MOST; i++) gs_text_addf(&many, "%scuda:%d", i ? "," : "", i);
    assert_int_equal(name(&group, gs_text_string(&many)), GS_ERROR_ARGUMENT);
    gs_text_free(&many);
    setenv("GEMMSMITH_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
    assert_int_equal(name(&group, "all"), GS_ERROR_NO_DRIVER);   /* what the child that asked it says */
    assert_non_null(strstr(why.text, "libcuda"));
    assert_null(group.member);
    unsetenv("GEMMSMITH_LIBCUDA");
}

/* ---- children ---- */

/* What each child does: '0' to '9' ends with that code, 'c' comes to the end of the list, 't' runs out of time, 'k' is killed, 's' sleeps until a signal. */
static int work(void *self, gs_group_member *member)
{
    const char what = ((const char *)self)[member->index];
    if (!member->lessee.run[0] || getpgrp() != getpid()) return 9;
    snprintf(member->slug, sizeof member->slug, "%s", strchr("kK", what) ? "" : "gpu");
    member->sum.tuned = member->index + 1;
    if (what == 'k') raise(SIGKILL);
    if (what == 's') pause();
    member->complete = what == 'c';
    return what == 't' ? LATE : what == 'c' ? 0 : what - '0';
}

static int done_most;

static void on_progress(void *self, int done)
{
    (void)self;
    done_most = GS_MAX(done, done_most);
}

static int run_group(bench *b, gs_device_group *group, const char *script, const char *devices)
{
    int code = -1;
    assert_int_equal(name(group, devices), GS_OK);
    group->store_path = b->store_path;
    group->work = work;
    group->progress = on_progress;
    group->self = (void *)(uintptr_t)script;
    why = (gs_error){0};
    const gs_status status = gs_device_group_run(group, &code, &why);
    if (status != GS_OK) fail_msg("%s", why.text);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);   /* no child is left */
    gs_store_close(&group->store);
    return code;
}

static void the_worst_end_counts(void **state)
{
    static const struct {
        const char *script;
        int         code;
    } ends[] = {{"00", 0}, {"01", 1}, {"t0", LATE}, {"1t", LATE}, {"t4", 4}, {"ct", 0}, {"c1", 1}, {"k0", 1}, {"kc", 0}, {"kt", LATE}};
    bench *const b = *state;
    for (size_t i = 0; i < GS_COUNT(ends); i++) {
        gs_device_group group;
        done_most = 0;
        const int code = run_group(b, &group, ends[i].script, "cuda:0,cuda:1");
        if (code != ends[i].code) fail_msg("%s: %d instead of %d", ends[i].script, code, ends[i].code);
        assert_int_equal(group.member[0].signal, ends[i].script[0] == 'k' ? SIGKILL : 0);
        assert_int_equal(group.member[0].covered, strchr(ends[i].script, 'c') != NULL);
        assert_int_equal(group.member[1].sum.tuned, 2);
        gs_device_group_free(&group);
        assert_null(group.member);
    }
    gs_device_group group;   /* another model's end of the list covers nothing */
    assert_int_equal(run_group(b, &group, "kc", "cuda:0,emu:h200"), 1);
    gs_device_group_free(&group);
}

static void on_alarm(int number) { gs_stop_requested = number == SIGALRM ? SIGTERM : number; }

static void a_signal_goes_to_the_children(void **state)
{
    bench *const b = *state;
    gs_device_group group;
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &action, &before);
    alarm(1);
    const int code = run_group(b, &group, "s0", "cuda:0,cuda:1");
    sigaction(SIGALRM, &before, NULL);
    assert_int_equal(code, 1);
    assert_int_equal(group.member[0].signal, SIGTERM);
    gs_device_group_free(&group);
}

static void a_store_that_cannot_be_opened(void **state)
{
    bench *const b = *state;
    gs_device_group group;
    int code;
    assert_int_equal(name(&group, "cuda:0"), GS_OK);
    group.store_path = b->folder;   /* a folder */
    group.work = work;
    assert_int_not_equal(gs_device_group_run(&group, &code, &why), GS_OK);
    assert_true(why.text[0] && group.member[0].sum.tuned == 0);   /* before there are children */
    gs_device_group_free(&group);
}

/* ---- one after the other ---- */

static int begun;

static void on_begin(void *self, int index)
{
    (void)self, (void)index;
    begun++;
}

static gs_status singly(bench *b, int count, const char *script, const gs_tune_options *options)
{
    gs_problem problems[MOST];
    const int end_after = seen.end_after;
    seen = (reports){.end_after = end_after};
    begun = 0;
    for (int i = 0; i < count; i++) problems[i] = problem_of(three[i]);
    setenv("FAKE_WORKER", script, 1);
    gs_worker_stop(&b->worker);
    return gs_tune_singly(b->store, &b->session, &b->worker, gs_caps_find("h200"), problems, count, 1, options, on_begin, on_finished, &seen, &why);
}

static void a_list_one_after_the_other(void **state)
{
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    assert_int_equal(singly(b, 2, "library=1.5", &options), GS_OK);
    for (int i = 0; i < 2; i++) expect_best(b, i, three[i], 0);
    assert_int_equal(begun, 2);
    seen.end_after = 1;
    assert_int_equal(singly(b, 2, "mode=abort", &options), GS_OK);   /* from the store, and its caller ends it */
    assert_int_equal(seen.count, 1);
    assert_true(seen.result[0].resumed);
    seen.end_after = 0;
    options.budget_s = 0.5;   /* less than a search takes */
    assert_int_equal(singly(b, 3, "library=1.5", &options), GS_ERROR_INTERRUPTED);
    assert_int_equal(begun, 0);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, start, finish)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_devices), TEST(the_worst_end_counts), TEST(a_signal_goes_to_the_children), TEST(a_store_that_cannot_be_opened), TEST(a_list_one_after_the_other),
    };
    return run_without_leaks("tune/devices", tests, GS_COUNT(tests));
}
