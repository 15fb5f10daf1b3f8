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

/* A kernel whose folder has parts is one text that includes common/ alone; what is called alike, and folders of others, stay as they are. */
static void parts_are_put_in_their_places(void **state)
{
    (void)state;
    gs_text text = {0};
    reset();
    snprintf(names[0], SIZE, "x/part.cuh");
    snprintf(texts[0], SIZE, "/* SPDX-License-Identifier: MIT\n * Part. */\nint part;\n");
    snprintf(names[1], SIZE, "xy/part.cuh");
    const gs_kernel kernel = {.name = "x.cu", .source = "/* SPDX-License-Identifier: MIT\n * X. */\n#include \"common/file2.cuh\"\n#include \"x/part.cuh\"\n#include \"xy/part.cuh\"\n#include \"x/none.cuh\"\nint last;"};
    gs_kernel_add_text(&text, &kernel);
    assert_string_equal(gs_text_string(&text), "/* X. */\n#include \"common/file2.cuh\"\n/* Part. */\nint part;\n#include \"xy/part.cuh\"\n#include \"x/none.cuh\"\nint last;");
    gs_text_free(&text);
    const gs_kernel other = {.name = "xy.cu", .source = "#include \"x/part.cuh\"\n"};
    gs_kernel_add_text(&text, &other);
    assert_string_equal(gs_text_string(&text), other.source);
    gs_text_free(&text);
    assert_true(gs_kernel_includes("x.cu", "x/part.cuh") && gs_kernel_includes("x.cu", "common/a.h") && gs_kernel_includes("x", "x/part.cuh"));
    assert_false(gs_kernel_includes("x.cu", "xy/part.cuh") || gs_kernel_includes("xy.cu", "x/part.cuh") || gs_kernel_includes("x.cu", "x.cu") || gs_kernel_includes("x.cu", "commons/a.h"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_part_counts), cmocka_unit_test(files_are_found_by_name), cmocka_unit_test(parts_are_put_in_their_places)};
    return cmocka_run_group_tests_name("kernel/sources", tests, NULL, NULL);
}
