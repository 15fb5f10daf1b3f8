/* SPDX-License-Identifier: MIT
 * The binary interface: sizes and offsets of the structs that callers share with the library. A change here breaks programs that are already compiled: this file may
 * change only when a reserved field gets a name or a field is added at the end. For 64-bit pointers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <gemmsmith/gemmsmith.h>

#define AT(type, field, place) _Static_assert(offsetof(type, field) == (place), #type "." #field)
#define SIZE(type, bytes)      _Static_assert(sizeof(type) == (bytes), #type)

SIZE(gs_error, 512);
AT(gs_error, status, 0);
AT(gs_error, column, 4);
AT(gs_error, field, 8);
AT(gs_error, text, 40);
AT(gs_error, reserved, 456);

SIZE(gs_problem, 208);
AT(gs_problem, size, 0);
AT(gs_problem, in, 4);
AT(gs_problem, acc, 8);
AT(gs_problem, out, 12);
AT(gs_problem, layout, 16);
AT(gs_problem, scalars, 20);
AT(gs_problem, m, 24);
AT(gs_problem, n, 32);
AT(gs_problem, k, 40);
AT(gs_problem, lda, 48);
AT(gs_problem, ldb, 56);
AT(gs_problem, ldc, 64);
AT(gs_problem, ldd, 72);
AT(gs_problem, batch, 80);
AT(gs_problem, alpha, 88);
AT(gs_problem, beta, 92);
AT(gs_problem, activation, 96);
AT(gs_problem, bias, 100);
AT(gs_problem, residual, 104);
AT(gs_problem, gate, 108);
AT(gs_problem, stride_a, 112);
AT(gs_problem, stride_b, 120);
AT(gs_problem, stride_c, 128);
AT(gs_problem, stride_d, 136);
AT(gs_problem, stride_bias, 144);
AT(gs_problem, groups, 152);
AT(gs_problem, aux, 160);
AT(gs_problem, grouping, 164);
AT(gs_problem, ldaux, 168);
AT(gs_problem, stride_aux, 176);
AT(gs_problem, matrices, 184);
AT(gs_problem, scales, 188);
AT(gs_problem, invariant, 192);
AT(gs_problem, constant, 196);
AT(gs_problem, reserved, 200);

SIZE(gs_args, 112);
AT(gs_args, size, 0);
AT(gs_args, reserved_flags, 4);
AT(gs_args, a, 8);
AT(gs_args, b, 16);
AT(gs_args, c, 24);
AT(gs_args, d, 32);
AT(gs_args, workspace, 40);
AT(gs_args, alpha, 48);
AT(gs_args, beta, 56);
AT(gs_args, bias, 64);
AT(gs_args, offsets, 72);
AT(gs_args, aux, 80);
AT(gs_args, scale_m, 88);
AT(gs_args, scale_n, 96);
AT(gs_args, reserved, 104);

SIZE(gs_config, 144);
AT(gs_config, size, 0);
AT(gs_config, use_cublaslt, 4);
AT(gs_config, use_ours, 8);
AT(gs_config, dependent, 12);
AT(gs_config, device, 16);
AT(gs_config, tuned_path, 24);
AT(gs_config, cache_path, 32);
AT(gs_config, workspace_limit, 40);
AT(gs_config, cached_plans, 48);
AT(gs_config, log, 56);
AT(gs_config, log_self, 64);
AT(gs_config, log_level, 72);
AT(gs_config, measure, 76);
AT(gs_config, measure_ms, 80);
AT(gs_config, measure_total_ms, 84);
AT(gs_config, pack_path, 88);
AT(gs_config, reserved, 96);

SIZE(gs_plan_options, 64);
AT(gs_plan_options, size, 0);
AT(gs_plan_options, measure, 4);
AT(gs_plan_options, measure_ms, 8);
AT(gs_plan_options, reserved_int, 12);
AT(gs_plan_options, reserved, 16);

SIZE(gs_type, 4);
SIZE(gs_status, 4);
SIZE(gs_origin, 4);

static void values(void **state)
{
    (void)state;
    static const struct {
        int value, is;
    } fixed[] = {
        {GS_F16, 0}, {GS_BF16, 1}, {GS_F32, 2}, {GS_NN, 0}, {GS_TN, 1}, {GS_ORIGIN_TABLE, 0}, {GS_ORIGIN_NEAREST, 1}, {GS_ORIGIN_DEFAULT, 2},
        {GS_ORIGIN_CUBLASLT, 3}, {GS_ORIGIN_EXPLICIT, 4}, {GS_ORIGIN_EMPTY, 5}, {GS_ORIGIN_MEASURED, 6}, {GS_ORIGIN_PACK, 7}, {GS_OK, 0}, {GS_ERROR_ARGUMENT, 10}, {GS_ERROR_PARSE, 11},
        {GS_ERROR_RANGE, 12}, {GS_ERROR_UNSUPPORTED, 13}, {GS_ERROR_NOT_FOUND, 14}, {GS_ERROR_ALIGNMENT, 15}, {GS_ERROR_MEMORY, 20},
        {GS_ERROR_CORRUPT, 25}, {GS_ERROR_NO_DRIVER, 30}, {GS_ERROR_DEVICE, 37}, {GS_ERROR_NO_COMPILER, 40}, {GS_ERROR_VERIFY, 50},
        {GS_ERROR_STORE, 60}, {GS_ERROR_NO_LIBRARY, 70}, {GS_ERROR_WORKER_DIED, 80},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) assert_int_equal(fixed[i].value, fixed[i].is);
    assert_true(GS_NO_LIMIT == SIZE_MAX);
    assert_int_equal(gs_config_default().size, sizeof(gs_config));
    assert_int_equal(gs_args_make(NULL, NULL, NULL, NULL).size, sizeof(gs_args));
    assert_int_equal(gs_problem_make(GS_F16, GS_NN, 1, 1, 1).size, sizeof(gs_problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
