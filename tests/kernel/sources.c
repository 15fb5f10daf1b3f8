/* SPDX-License-Identifier: MIT
 * Proves that the id of the kernels' sources changes with each part of each file. The files are this program's own, in place of those of kernels/. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "kernel/kernel.h"

enum { FILES = 3, SIZE = 64 };

static char names[FILES][SIZE], texts[FILES][SIZE];

const gs_embedded gs_embedded_files[] = {{names[0], texts[0]}, {names[1], texts[1]}, {names[2], texts[2]}, {NULL, NULL}};

static void reset(void)
{
    for (int i = 0; i < FILES; i++) {
        snprintf(names[i], SIZE, "common/file%d.cuh", i);
        snprintf(texts[i], SIZE, "__device__ int number%d(void) { return %d; }\n", i, i);
    }
}

static char *id(void)
{
    static char text[GS_SOURCES_ID];
    return gs_kernel_sources_id(text);
}

static void expect_other(const char *before, const char *what, int file)
{
    if (strcmp(id(), before) == 0) fail_msg("%s of file %d changed, and the id did not", what, file);
    reset();
    assert_string_equal(id(), before);
}

static void every_part_counts(void **state)
{
    (void)state;
    char before[GS_SOURCES_ID];
    reset();
    snprintf(before, sizeof before, "%s", id());
    assert_int_equal(strlen(before), 8);
    assert_int_equal(strspn(before, "0123456789abcdef"), 8);
    for (int i = 0; i < FILES; i++) {
        texts[i][0]++;
        expect_other(before, "the first character", i);
        texts[i][strlen(texts[i]) - 1] = ' ';
        expect_other(before, "the last character", i);
        texts[i][strlen(texts[i]) - 1] = '\0';
        expect_other(before, "the length", i);
        texts[i][0] = '\0';
        expect_other(before, "all", i);
        names[i][strlen(names[i]) - 1]++;
        expect_other(before, "the name", i);
        const int other = (i + 1) % FILES;
        char kept[SIZE];
        memcpy(kept, texts[i], SIZE);
        memcpy(texts[i], texts[other], SIZE);
        memcpy(texts[other], kept, SIZE);
        expect_other(before, "what the next one contained instead", i);
    }
}

static void files_are_found_by_name(void **state)
{
    (void)state;
    reset();
    for (int i = 0; i < FILES; i++) assert_ptr_equal(gs_embedded_find(names[i]), texts[i]);
    assert_null(gs_embedded_find("common/file.cuh"));
    assert_null(gs_embedded_find("file0.cuh"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_part_counts), cmocka_unit_test(files_are_found_by_name)};
    return cmocka_run_group_tests_name("kernel/sources", tests, NULL, NULL);
}
