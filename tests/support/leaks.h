/* SPDX-License-Identifier: MIT
 * Checks that tests leak nothing: the group runs once, then once more, and in the second run each test must end with no more memory in use and no more open files than
 * it began with. What is made once per process is made in the first run. Sanitized builds find leaks themselves and run the group once. Included after cmocka. */
#ifndef TESTS_LEAKS_H
#define TESTS_LEAKS_H

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define LEAKS_TUNABLE "glibc.malloc.tcache_count=0"   /* memory in a thread's cache would count as in use */
enum { LEAKS_TESTS = 64 };

typedef struct leaks_use {
    size_t bytes;
    int    files;
} leaks_use;

/* cmocka allocates a text for each skipped test. */
static bool leaks_skipped;
#undef skip
#define skip() (leaks_skipped = true, _skip(__FILE__, __LINE__))

static struct CMUnitTest leaks_tests[LEAKS_TESTS];
static leaks_use         leaks_before;
static size_t            leaks_at;   /* index of the running test */

#ifndef __SANITIZE_ADDRESS__
static size_t leaks_environment;   /* bytes that setenv has taken */

/* Replaces the C library's setenv, which keeps every value that a variable ever had, to subtract that memory from what is in use. */
int setenv(const char *name, const char *value, int replace)
{
    int (*const set)(const char *, const char *, int) = (int (*)(const char *, const char *, int))dlsym(RTLD_NEXT, "setenv");
    const size_t before = mallinfo2().uordblks;
    const int    code = set(name, value, replace);
    leaks_environment += mallinfo2().uordblks - before;
    return code;
}
#else
enum { leaks_environment };
#endif

static inline leaks_use leaks_now(void)
{
    leaks_use use = {0};
    char      name[16];
    for (int i = 0; i < 64; i++) {   /* the environment's array never shrinks: grow it now, before memory is compared */
        snprintf(name, sizeof name, "LEAKS_%d", i % 32);
        if (i < 32) setenv(name, "", 1);
        else unsetenv(name);
    }
    DIR *const files = opendir("/proc/self/fd");
    while (files && readdir(files)) use.files++;
    if (files) closedir(files);
    const struct mallinfo2 heap = mallinfo2();
    use.bytes = heap.uordblks + heap.hblkhd - leaks_environment;
    return use;
}

static inline int leaks_setup(void **state)
{
    leaks_at = (size_t)((struct CMUnitTest *)*state - leaks_tests);
    *state = leaks_tests[leaks_at].initial_state;
    leaks_skipped = false;
    leaks_before = leaks_now();
    return leaks_tests[leaks_at].setup_func ? leaks_tests[leaks_at].setup_func(state) : 0;
}

static inline int leaks_teardown(void **state)
{
    const int code = leaks_tests[leaks_at].teardown_func ? leaks_tests[leaks_at].teardown_func(state) : 0;
    if (leaks_skipped) return code;
    const leaks_use now = leaks_now();
    if (now.bytes > leaks_before.bytes) print_error("%zu bytes are still in use\n", now.bytes - leaks_before.bytes);
    if (now.files > leaks_before.files) print_error("%d files are still open\n", now.files - leaks_before.files);
    return code != 0 || now.bytes > leaks_before.bytes || now.files > leaks_before.files ? -1 : 0;
}

/* Like cmocka_run_group_tests_name, but runs the group twice. First the program starts itself again, because the allocator reads GLIBC_TUNABLES only at startup. */
static inline int run_group_without_leaks(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
#ifndef __SANITIZE_ADDRESS__
    const char *const set = getenv("GLIBC_TUNABLES");
    if (!set || !strstr(set, LEAKS_TUNABLE)) {
        char *const arguments[] = {(char *)name, NULL};
        setenv("GLIBC_TUNABLES", LEAKS_TUNABLE, 1);
        execv("/proc/self/exe", arguments);
    }
    unsetenv("GLIBC_TUNABLES");
#endif
    const int failed = _cmocka_run_group_tests(name, tests, count, set_up, tear_down);
#ifndef __SANITIZE_ADDRESS__
    struct CMUnitTest again[LEAKS_TESTS];
    char              title[64];
    if (failed != 0 || count > LEAKS_TESTS) return failed != 0 ? failed : 1;
    for (size_t i = 0; i < count; i++) {
        leaks_tests[i] = again[i] = tests[i];
        again[i].setup_func = leaks_setup;
        again[i].teardown_func = leaks_teardown;
        again[i].initial_state = &leaks_tests[i];
    }
    snprintf(title, sizeof title, "%s, once more", name);
    if (_cmocka_run_group_tests(title, again, count, set_up, tear_down) == 0) return 0;
    snprintf(title, sizeof title, "%s, a third time", name);   /* a text that happens to be longer makes a buffer grow once; a leak takes memory in every run */
    return _cmocka_run_group_tests(title, again, count, set_up, tear_down);
#else
    return failed;
#endif
}

static inline int run_without_leaks(const char *name, const struct CMUnitTest *tests, size_t count) { return run_group_without_leaks(name, tests, count, NULL, NULL); }

#endif
