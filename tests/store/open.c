/* SPDX-License-Identifier: MIT
 * Proves what a store's path may be. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "leaks.h"
#include "store/store.h"
#include "store_folder.h"

static void a_path_has_its_length(void **state)
{
    (void)state;
    char path[GS_PATH + 1], wanted[64];
    gs_store *store;
    memset(path, '/', GS_PATH);
    path[GS_PATH] = '\0';
    assert_int_equal(gs_store_open(&store, path, &error), GS_ERROR_ARGUMENT);
    snprintf(wanted, sizeof wanted, "the store's path is longer than %d bytes", GS_PATH - 1);
    assert_string_equal(error.text, wanted);
    path[GS_PATH - 1] = '\0';                            /* it is the folder that it names */
    assert_int_equal(gs_store_open(&store, path, &error), GS_ERROR_IO);
}

static void is_a_file(void **state)
{
    FILES_ONLY();
    (void)state;
    char fifo[GS_PATH], wanted[GS_PATH + 32];
    gs_store *ours = open_store("ours_is.db"), *store;
    assert_int_equal(mkfifo(path_of(fifo, "pipe"), 0600), 0);
    for (int i = 0; i < 2; i++) {
        const char *const path = i ? fifo : folder;
        snprintf(wanted, sizeof wanted, "%s: %s", path, i ? "not a regular file" : "is a directory");
        assert_int_equal(gs_store_open(&store, path, &error), GS_ERROR_IO);
        assert_string_equal(error.text, wanted);
        assert_int_equal(gs_store_open_read(&store, path, &error), GS_ERROR_IO);
        assert_string_equal(error.text, wanted);
        assert_int_equal(gs_store_merge(ours, path, NULL, &error), GS_ERROR_IO);
        assert_string_equal(error.text, wanted);
    }
    gs_store_close(&ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_path_has_its_length), cmocka_unit_test(is_a_file)};
    return run_group_without_leaks("store/open", tests, GS_COUNT(tests), make_folder, remove_folder);
}
