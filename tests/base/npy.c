/* SPDX-License-Identifier: MIT
 * Proves what is read of .npy files: each version of the format, every place at which a file can end too early, and what its header may not say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/npy.h"

#define SHAPE "{'descr': '<f2', 'fortran_order': False, 'shape': (3, 5), }"

static gs_npy   npy;
static gs_error error;

/* Exactly these bytes, so that whoever reads one more is seen by the sanitized build. */
static gs_status parse(const char *bytes, size_t size)
{
    char *const copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    error = (gs_error){0};
    const gs_status status = gs_npy_parse(&npy, copy, size, &error);
    free(copy);
    return status;
}

/* A file of this version with this header and so many bytes of elements; returns its size. */
static size_t file_of(char *out, int version, const char *header, size_t padding, size_t elements)
{
    const size_t length = strlen(header) + padding, width = version == 1 ? 2 : 4;
    char *at = out;
    memcpy(at, "\x93NUMPY", 6), at += 6;
    *at++ = (char)version;
    *at++ = 0;
    for (size_t i = 0; i < width; i++) *at++ = (char)(length >> 8 * i);
    memcpy(at, header, strlen(header)), at += strlen(header);
    memset(at, ' ', padding), at += padding;
    memset(at, 1, elements), at += elements;
    return (size_t)(at - out);
}

static void each_version_is_read(void **state)
{
    (void)state;
    char bytes[512];
    for (int version = 1; version <= 3; version++) {
        const size_t size = file_of(bytes, version, SHAPE, 7, 30);
        if (parse(bytes, size) != GS_OK) fail_msg("version %d: %s", version, error.text);
        assert_true(npy.type == GS_NPY_F16 && npy.axes == 2 && npy.extent[0] == 3 && npy.extent[1] == 5);
        assert_int_equal(npy.data, size - 30);
        assert_int_equal(npy.size, 30);
        for (size_t cut = 0; cut < size; cut++) {
            if (parse(bytes, cut) != GS_ERROR_CORRUPT) fail_msg("version %d of %zu bytes cut to %zu: %s", version, size, cut, error.text);
            const char *const field = cut < 6 ? "magic" : cut < 8 ? "version" : cut < size - 30 ? "header" : "shape";
            assert_string_equal(error.field, field);
        }
    }
    for (int version = 0; version <= 4; version += 4) {
        const size_t size = file_of(bytes, version, SHAPE, 0, 30);
        assert_int_equal(parse(bytes, size), GS_ERROR_UNSUPPORTED);
        assert_string_equal(error.field, "version");
    }
}

static void long_headers(void **state)
{
    (void)state;
    static char bytes[8192];
    size_t size = file_of(bytes, 1, SHAPE, 4096 - strlen(SHAPE), 30);
    assert_int_equal(parse(bytes, size), GS_OK);
    assert_int_equal(npy.data, 10 + 4096);
    size = file_of(bytes, 1, SHAPE, 4097 - strlen(SHAPE), 30);
    assert_int_equal(parse(bytes, size), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "header");
}

static void shapes_that_are_too_large(void **state)
{
    (void)state;
    char bytes[512];
    static const char *const shapes[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }",
    };
    for (size_t i = 0; i < GS_COUNT(shapes); i++) {
        const size_t size = file_of(bytes, 1, shapes[i], 0, 35);   /* nine floats are 36 bytes */
        if (parse(bytes, size) != GS_ERROR_CORRUPT) fail_msg("%s: %s", shapes[i], error.text);
        assert_string_equal(error.field, "shape");
    }
    assert_int_equal(parse(bytes, file_of(bytes, 1, shapes[2], 0, 36)), GS_OK);
}

/* Words without their second quote, and one that is longer than any type is. */
static void words_end(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<f2, 'fortran_order': False, 'shape': (3, 5), }", "{'descr': '<f2", "{'descr: ", "{'descr': \"<f2', 'shape': (3, 5), }", "{'", "{'descr': '",
        "{'descr': '<f2<f2<f2<f2<f2<f2<f2<f2<f2<f2<f2<f2', 'fortran_order': False, 'shape': (3, 5), }",
        "{'fortran_order_fortran_order_fortran_order_fortran_order': False, 'shape': (3, 5), }",
    };
    for (size_t i = 0; i < GS_COUNT(headers); i++) {
        char bytes[512];
        if (parse(bytes, file_of(bytes, 1, headers[i], 0, 30)) == GS_OK) fail_msg("%s is read", headers[i]);
        assert_true(error.text[0] != '\0');
    }
    for (size_t length = 16; length <= 4000; length += 83) {   /* as long as a header can be */
        static char header[4096], file[8192];
        snprintf(header, sizeof header, "{'descr': '%0*d', 'fortran_order': False, 'shape': (3, 5), }", (int)length, 0);
        if (parse(file, file_of(file, 1, header, 0, 30)) == GS_OK) fail_msg("a type of %zu characters is read", length);
        snprintf(header, sizeof header, "{'%0*d': '<f2', 'fortran_order': False, 'shape': (3, 5), }", (int)length, 0);
        if (parse(file, file_of(file, 1, header, 0, 30)) == GS_OK) fail_msg("a key of %zu characters is read", length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_version_is_read), cmocka_unit_test(long_headers), cmocka_unit_test(shapes_that_are_too_large),
                                       cmocka_unit_test(words_end)};
    return cmocka_run_group_tests_name("base/npy", tests, NULL, NULL);
}
