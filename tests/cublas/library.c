/* SPDX-License-Identifier: MIT
 * cuBLAS and cuBLASLt are found, or refused with a helpful message; problems that they do not support are refused before any call; and scalars and strides reach them
 * correctly. Needs no GPU; what needs NVIDIA's library is skipped without it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "baseline/baseline.h"
#include "cublas/cublas.h"
#include "cublas/library.h"

/* Read by the leak sanitizer: cublasLtCreate leaks 192 bytes when it finds no device. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:cublasLtCreate\n"; }

/* ---- a device without memory ---- */

static gs_status no_device(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    (void)device;
    *free_bytes = *total_bytes = 0;
    return gs_fail(error, GS_ERROR_NO_DEVICE, NULL, "no device");
}

static gs_status some_memory(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    (void)device;
    (void)error;
    *free_bytes = *total_bytes = (size_t)1 << 30;
    return GS_OK;
}

static gs_status no_memory(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error)
{
    (void)device;
    *out = 0;
    return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "no %zu bytes", bytes);
}

static void free_nothing(gs_device *device, gs_pointer pointer)
{
    (void)device;
    (void)pointer;
}

static const gs_device_ops absent_ops = {.memory_info = no_device, .alloc = no_memory, .free = free_nothing};
static const gs_device_ops empty_ops = {.memory_info = some_memory, .alloc = no_memory, .free = free_nothing};
static gs_device absent = {.ops = &absent_ops}, empty = {.ops = &empty_ops};

static gs_problem small(void) { return gs_problem_make(GS_F16, GS_TN, 128, 64, 256); }

/* ---- tests; the first ones run before any library is loaded ---- */

static void missing_file_is_named(void **state)
{
    (void)state;
    gs_error error = {0};
    setenv("GEMMSMITH_CUBLASLT", "/nowhere/libcublasLt.so", 1);
    setenv("GEMMSMITH_CUBLAS", "/nowhere/libcublas.so", 1);
    assert_int_equal(gs_library_version(&error), 0);
    assert_int_equal(error.status, GS_ERROR_NO_LIBRARY);
    assert_non_null(strstr(error.text, "GEMMSMITH_CUBLASLT=/nowhere/libcublasLt.so"));
    assert_null(strchr(error.text, '\n'));
    gs_library *library = (gs_library *)&error;
    const gs_problem problem = small();
    assert_int_equal(gs_library_create(&library, &empty, &problem, &error), GS_ERROR_NO_LIBRARY);
    assert_null(library);
    for (int i = 0; i < GS_BASELINES; i++) {
        gs_contender contender;
        assert_int_equal(gs_baseline_create(&contender, &empty, gs_baseline_names[i], NULL, &error), GS_ERROR_NO_LIBRARY);
        assert_null(contender.self);
    }
}

static void other_library_is_refused(void **state)
{
    (void)state;
    gs_error error = {0};
    setenv("GEMMSMITH_CUBLASLT", "/dev/null", 1);
    assert_int_equal(gs_library_version(&error), 0);
    assert_non_null(strstr(error.text, "/dev/null: not a regular file"));
    setenv("GEMMSMITH_CUBLASLT", "libm.so.6", 1);
    assert_int_equal(gs_library_version(&error), 0);
    assert_int_equal(error.status, GS_ERROR_NO_LIBRARY);
    assert_non_null(strstr(error.text, "cublasLtGetVersion"));
    unsetenv("GEMMSMITH_CUBLASLT");
    unsetenv("GEMMSMITH_CUBLAS");
}

static void version_is_read(void **state)
{
    (void)state;
    gs_error error = {0};
    const int version = gs_library_version(&error);
    if (version == 0 && error.status == GS_ERROR_NO_LIBRARY) {
        print_message("skipped: %s\n", error.text);
        skip();
    }
    print_message("cuBLASLt %d\n", version);
    assert_true(version >= 120000 && version < 1000000);
    assert_non_null(gs_cublas_open(&error));
}

static void creation_fails_cleanly(void **state)
{
    (void)state;
    gs_error error = {0};
    if (gs_library_version(NULL) == 0) skip();
    const gs_problem problem = small();
    gs_library *library = NULL;
    assert_int_equal(gs_library_create(&library, NULL, &problem, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_library_create(&library, &absent, &problem, &error), GS_ERROR_NO_DEVICE);
    assert_null(library);
    const gs_status status = gs_library_create(&library, &empty, &problem, &error);   /* without a GPU cuBLASLt itself refuses */
    assert_true((status == GS_OK) == (library != NULL));
    if (status != GS_OK) assert_true(error.text[0] != '\0');
    gs_library_destroy(&library);
    gs_library_destroy(&library);
    gs_library_destroy(NULL);
}

static void impossible_problems_are_refused(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_library *library;
    gs_problem wrong = small(), hollow = small();
    wrong.reserved[0] = 1;
    hollow.k = 0;
    assert_int_equal(gs_library_create(&library, &empty, &wrong, &error), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_library_create(&library, &empty, &hollow, &error), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "k");
    assert_null(library);
    gs_problem nothing = small();
    nothing.alpha = 0;
    nothing.n = 1;
    assert_int_equal(gs_library_create(&library, &empty, &nothing, &error), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "alpha");
}

static void baselines(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_contender contender;
    assert_int_equal(gs_baseline_create(&contender, &empty, "mkl", NULL, &error), GS_ERROR_NOT_FOUND);
    assert_non_null(strstr(error.text, "cublaslt-autotuning"));
    if (gs_library_version(NULL) == 0 || !gs_cublas_open(NULL)) skip();
    const gs_problem problem = small();
    gs_problem wide = small(), grouped = small();
    grouped.groups = 4;
    for (int i = 0; i < GS_BASELINES; i++) {
        assert_int_equal(gs_baseline_create(&contender, &absent, gs_baseline_names[i], NULL, &error), GS_OK);
        assert_string_equal(contender.name, gs_baseline_names[i]);
        const bool groups = strstr(contender.name, "groups"), tuned = strstr(contender.name, "autotuning") || strstr(contender.name, "lt-groups");   /* tuned: these lack their timing function */
        assert_int_equal(contender.prepare(&contender, groups ? &problem : &grouped, &error), tuned ? GS_ERROR_ARGUMENT : GS_ERROR_UNSUPPORTED);
        assert_int_equal(contender.prepare(&contender, groups ? &grouped : &problem, &error), tuned ? GS_ERROR_ARGUMENT : GS_ERROR_NO_DEVICE);
        contender.destroy(&contender);
        contender.destroy(&contender);
    }
    assert_int_equal(gs_baseline_create(&contender, &absent, "cublas", NULL, &error), GS_OK);
    wide.acc = GS_F16;
    wide.out = GS_F32;
    assert_int_equal(contender.prepare(&contender, &wide, &error), GS_ERROR_UNSUPPORTED);
    contender.destroy(&contender);
}

static uint16_t half_of(float value)
{
    gs_problem problem = small();
    problem.acc = GS_F16;
    problem.alpha = value;
    return gs_cublas_math_of(&problem).alpha.f16;
}

static void scalars(void **state)
{
    (void)state;
    static const struct { float value; uint16_t bits; } known[] = {
        {0.0f, 0x0000}, {-0.0f, 0x8000}, {1.0f, 0x3c00}, {-2.0f, 0xc000}, {0.1f, 0x2e66}, {65504.0f, 0x7bff}, {65519.0f, 0x7bff},
        {65520.0f, 0x7c00}, {1e30f, 0x7c00}, {-1e30f, 0xfc00}, {0x1p-14f, 0x0400}, {0x1p-24f, 0x0001}, {0x1p-25f, 0x0000},
        {0x1.8p-25f, 0x0001}, {0x1.8p-24f, 0x0002}, {0x1.ff8p-15f, 0x03ff}, {0x1.ffcp-15f, 0x0400}, {0x1p-26f, 0x0000},
        {1.0f + 0x1p-11f, 0x3c00}, {1.0f + 0x1.8p-10f, 0x3c02}, {1.0f + 0x1.004p-11f, 0x3c01}, {1e-30f, 0x0000},
    };
    for (size_t i = 0; i < GS_COUNT(known); i++) assert_int_equal(half_of(known[i].value), known[i].bits);
    assert_int_equal(half_of(INFINITY), 0x7c00);
    assert_true((half_of(NAN) & 0x7fff) > 0x7c00);

    gs_problem problem = small();
    problem.alpha = 0.3f;
    problem.beta = -4;
    const gs_cublas_math math = gs_cublas_math_of(&problem);
    assert_int_equal(math.compute_type, GS_CUBLAS_COMPUTE_32F);
    assert_int_equal(math.scale_type, GS_CUDA_R_32F);
    assert_true(math.alpha.f32 == 0.3f && math.beta.f32 == -4.0f);
    problem.acc = GS_F16;
    assert_int_equal(gs_cublas_math_of(&problem).compute_type, GS_CUBLAS_COMPUTE_16F);
    assert_int_equal(gs_cublas_math_of(&problem).scale_type, GS_CUDA_R_16F);
}

static void types(void **state)
{
    (void)state;
    assert_int_equal(gs_cuda_type(GS_F16), 2);
    assert_int_equal(gs_cuda_type(GS_BF16), 14);
    assert_int_equal(gs_cuda_type(GS_F32), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_file_is_named),
        cmocka_unit_test(other_library_is_refused),
        cmocka_unit_test(version_is_read),
        cmocka_unit_test(creation_fails_cleanly),
        cmocka_unit_test(impossible_problems_are_refused),
        cmocka_unit_test(baselines),
        cmocka_unit_test(scalars),
        cmocka_unit_test(types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
