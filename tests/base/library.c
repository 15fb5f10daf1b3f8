/* SPDX-License-Identifier: MIT
 * Proves that nothing but a regular file, or what the loader finds by a name, is opened as a library: a pipe without a writer would be waited for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/library.h"

static char folder[] = "/tmp/gemmsmith-library.XXXXXX", pipe_path[64];

static int make(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    alarm(60);   /* nothing here waits */
    return mkfifo(pipe_path, 0600);
}

static int drop(void **state)
{
    (void)state;
    unlink(pipe_path);
    return rmdir(folder);
}

static void refused(const char *path, const char *because)
{
    const char *why = NULL;
    assert_null(gs_library_open(path, &why));
    assert_non_null(why);
    if (!strstr(why, because) || !strstr(why, path) || strchr(why, '\n')) fail_msg("%s: %s", path, why);
}

static void what_is_no_file(void **state)
{
    (void)state;
    refused(pipe_path, "not a regular file");
    refused("/dev/null", "not a regular file");
    refused(folder, "is a directory");
    refused("/nonexistent/library.so", "No such file");
}

static void what_is(void **state)
{
    (void)state;
    const char *why = pipe_path;
    void *library = gs_library_open("libm.so.6", &why);   /* a name for the loader */
    assert_non_null(library);
    assert_null(why);
    Dl_info info;
    assert_int_not_equal(dladdr(dlsym(library, "cos"), &info), 0);
    void *const same = gs_library_open(info.dli_fname, &why);   /* a path */
    assert_ptr_equal(same, library);
    dlclose(same);
    dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_no_file), cmocka_unit_test(what_is)};
    return cmocka_run_group_tests_name("base/library", tests, make, drop);
}
