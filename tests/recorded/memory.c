/* SPDX-License-Identifier: MIT
 * Proves that each allocation on the way from a recorded file to a written list may fail: MEMORY is said, what was there stays, nothing is leaked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocations.h"
#include "base/error.h"
#include "base/file.h"
#include "leaks.h"
#include "recorded/import.h"
#include "recorded/list.h"

static char path[32];

static int make_file(void **state)
{
    (void)state;
    strcpy(path, "/tmp/gs_memory_XXXXXX");
    const int made = mkstemp(path);
    return made < 0 ? -1 : close(made);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* So many problems that rows and slots grow. */
static char *text_of(int problems)
{
    gs_text text = {0};
    gs_text_add(&text, "gemmsmith recorded 1\n");
    for (int m = 0; m < problems; m++) gs_text_addf(&text, "%d\ta\tf16:%dx64x64:tn\n", m + 1, 100 + m);
    return gs_text_take(&text);
}

static gs_status whole_way(const char *file, const char *csv, gs_error *error)
{
    gs_recorded r = {0};
    gs_import_others others = {0};
    gs_problem_list list = {.acc = -1};
    char *const copy = strdup(file), *const lines = strdup(csv);   /* of the C library: they do not fail */
    int merged = 0;
    gs_status status = gs_recorded_read_text(&r, copy, "x", error);
    const int before = r.count;
    if (status == GS_OK) status = gs_import_tunableop_text(&r, &others, lines, "y", error);
    if (status != GS_OK) assert_true(r.count >= before);
    const uint64_t calls = gs_recorded_calls(&r);
    if (status == GS_OK) status = gs_recorded_bucket(&r, &merged, error);
    assert_true(gs_recorded_calls(&r) == calls);   /* also where it failed */
    if (status == GS_OK) status = gs_recorded_write(&r, path, error);
    if (status == GS_OK) status = gs_problem_list_add_file(&list, path, error);
    gs_problem_list_free(&list);
    gs_recorded_free(&r);
    free(copy);
    free(lines);
    return status;
}

static void test_each_allocation(void **state)
{
    (void)state;
    static const char csv[] = "GemmTunableOp_Half_TN,tn_4096_16_4096\nGemmTunableOp_float_TN,tn_1_2_3\n";
    char *const file = text_of(600);
    gs_error error;
    allocations = 0;
    assert_int_equal(whole_way(file, csv, &error), GS_OK);
    const int all = allocations;
    assert_true(all > 20);
    int failed = 0;
    for (int i = 1; i <= all; i++) {
        error = (gs_error){0};
        fail_at = i;
        const gs_status status = whole_way(file, csv, &error);
        fail_at = 0;
        if (status == GS_OK) continue;   /* what can do without */
        failed++;
        if (status != GS_ERROR_MEMORY || !error.text[0]) fail_msg("%d of %d: %s: %s", i, all, gs_status_name(status), error.text);
    }
    assert_true(failed > 10);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation)};
    return run_group_without_leaks("recorded/memory", tests, GS_COUNT(tests), make_file, remove_file);
}
