/* SPDX-License-Identifier: MIT
 * One multiplication of operands from files, on the emulated device: shapes and types of the files, the result, its check, and the file of D. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/half.h"
#include "product/product.h"
#include "store_folder.h"

#define PROBLEM "f16:4x8x16:nn"

static gs_product product_of(const char *text)
{
    gs_problem problem;
    gs_product p;
    assert_int_equal(gs_problem_parse(&problem, text, NULL), GS_OK);
    gs_product_make(&p, &problem);
    return p;
}

/* Without a compiler, frees what was read and skips the test. */
static void multiply(gs_product *p)
{
    CHECK(gs_product_open(p, "emu:h200", false, &error));
    const gs_status status = gs_product_run(p, 1, &error);
    if (status == GS_ERROR_NO_COMPILER) {
        gs_product_free(p);
        skip();
    }
    CHECK(status);
}

static void files_of_operands(void **state)
{
    static const char raw[4 * 16 * 2] = {0};
    gs_product p = product_of(PROBLEM);
    char path[GS_PATH];
    (void)state;
    assert_true(p.m[0].rows == 4 && p.m[0].row == 16 && p.m[1].rows == 16 && p.m[1].row == 8 && p.m[3].bytes == 4 * 8 * 2);
    CHECK(gs_file_write(path_of(path, "a.bin"), raw, sizeof raw, &error));
    CHECK(gs_product_read(&p, 0, path, &error));
    assert_non_null(p.m[0].host);
    assert_int_equal(gs_product_read(&p, 1, path, &error), GS_ERROR_CORRUPT);   /* the file of B is twice too large */
    assert_non_null(strstr(error.text, "B takes 16 x 8"));
    assert_int_equal(gs_product_read(&p, 1, "/nonexistent", &error), GS_ERROR_NOT_FOUND);
    gs_product_free(&p);
    assert_null(p.m[0].host);
}

/* Ones times random data, and the product as an operand of the next product. */
static void a_product_is_checked_and_written(void **state)
{
    gs_product p = product_of(PROBLEM), next = product_of("f16:4x2x8:tn");
    char path[GS_PATH];
    uint16_t ones[4 * 16];
    (void)state;
    for (size_t i = 0; i < GS_COUNT(ones); i++) ones[i] = 0x3c00;
    CHECK(gs_file_write(path_of(path, "ones.bin"), ones, sizeof ones, &error));
    CHECK(gs_product_read(&p, 0, path, &error));
    multiply(&p);
    assert_false(p.checked);
    assert_non_null(strstr(gs_plan_why(p.plan), "choice"));
    CHECK(gs_product_check(&p, &error));
    assert_true(p.checked && p.on_cpu && p.compare.mismatches == 0);
    CHECK(gs_product_write(&p, 3, path_of(path, "d.npy"), &error));
    for (int row = 1; row < 4; row++) assert_memory_equal(p.m[3].host, p.m[3].host + row * 16, 16);   /* each row has the sums of B's columns */
    p.device->ops->free(p.device, p.reference);
    CHECK(p.device->ops->fill(p.device, p.m[3].device + 16, 0x12345678, 4, NULL, &error));
    CHECK(p.device->ops->queue_wait(p.device, NULL, &error));
    CHECK(gs_product_check(&p, &error));
    assert_true(p.compare.mismatches == 2 && p.compare.row == 1 && p.compare.col == 0);
    gs_product_free(&p);
    CHECK(gs_product_read(&next, 0, path, &error));
    assert_int_equal(gs_product_read(&next, 1, path, &error), GS_ERROR_CORRUPT);
    gs_product_free(&next);
    assert_int_not_equal(gs_product_open(&next, "emu:none", false, &error), GS_OK);
    gs_product_free(&next);
}

/* An aux written by one product is read by the next one. */
static void aux_goes_from_a_product_to_the_next(void **state)
{
    gs_product p = product_of("f16:24x16x16:tn:ldaux=20:ep=bias+gelu+aux"), next = product_of("f16:24x16x8:nn:ldaux=17:ep=dgelu");
    char path[GS_PATH];
    (void)state;
    multiply(&p);
    CHECK(gs_product_check(&p, &error));
    assert_true(p.checked && p.compare.mismatches == 0);
    CHECK(gs_product_write(&p, 6, path_of(path, "aux.npy"), &error));
    p.checked = false;
    p.device->ops->free(p.device, p.reference);
    CHECK(p.device->ops->fill(p.device, p.m[6].device + 2, 0x12345678, 4, NULL, &error));
    CHECK(p.device->ops->queue_wait(p.device, NULL, &error));
    CHECK(gs_product_check(&p, &error));
    assert_true(p.of && strcmp(p.of, "aux") == 0 && p.compare.mismatches == 2 && p.compare.row == 0 && p.compare.col == 1);
    gs_product_free(&p);
    CHECK(gs_product_read(&next, 6, path, &error));
    multiply(&next);
    CHECK(gs_product_check(&next, &error));
    assert_true(next.checked && next.compare.mismatches == 0);
    gs_product_free(&next);
}

/* The sums of D's columns are checked if D is right, and named if they are wrong. */
static void sums_of_columns_are_checked(void **state)
{
    (void)state;
    gs_product p = product_of("f16:24x16x16:nn:ep=dbias");
    multiply(&p);
    CHECK(gs_product_check(&p, &error));
    assert_true(p.checked && !p.of && p.compare.mismatches == 0);
    p.device->ops->free(p.device, p.reference);
    CHECK(p.device->ops->fill(p.device, p.m[4].device + 4, 0x12345678, 4, NULL, &error));
    CHECK(p.device->ops->queue_wait(p.device, NULL, &error));
    CHECK(gs_product_check(&p, &error));
    assert_true(p.of && strcmp(p.of, "dbias") == 0 && p.compare.mismatches == 2 && p.compare.col == 2);
    p.of = NULL;
    p.device->ops->free(p.device, p.reference);
    CHECK(p.device->ops->fill(p.device, p.m[3].device, 0x12345678, 4, NULL, &error));   /* if D is wrong, the sums are not checked */
    CHECK(p.device->ops->queue_wait(p.device, NULL, &error));
    CHECK(gs_product_check(&p, &error));
    assert_true(!p.of && p.compare.mismatches == 2 && p.compare.row == 0 && p.compare.col == 0);
    gs_product_free(&p);
}

/* In files the matrices of a batch follow each other, whatever their pointers. */
static void a_batch_by_pointers(void **state)
{
    (void)state;
    gs_product p = product_of("f16:12x16x16:tn:b=4:matrices=pointers:beta=1:ep=bias+relu");
    char path[GS_PATH];
    multiply(&p);
    CHECK(gs_product_check(&p, &error));
    assert_int_equal(p.compare.mismatches, 0);
    CHECK(gs_product_write(&p, 3, path_of(path, "batch.bin"), &error));
    char *elements;
    size_t size;
    CHECK(gs_file_read(path, 1 << 20, &elements, &size, &error));
    assert_int_equal(size, 4 * 12 * 16 * 2);
    free(elements);
    gs_product_free(&p);
}

/* Scales from a file: D is three times what it is with other scales. Scales are f32 for every type of D. */
static void scales_of_a_file(void **state)
{
    (void)state;
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 24), }";
    gs_product plain = product_of("f16:24x16x16:tn"), p = product_of("f16:24x16x16:tn:ep=scale_m+scale_n");
    char path[GS_PATH], bytes[128 + 24 * 4] = "\x93NUMPY\x01";
    bytes[8] = 118;
    memset(bytes + 10, ' ', 118);
    memcpy(bytes + 10, header, sizeof header - 1);
    bytes[127] = '\n';
    for (int i = 0; i < 24; i++) memcpy(bytes + 128 + i * 4, &(float){i == 7 ? -2.0f : 0.5f}, 4);
    CHECK(gs_file_write(path_of(path, "scale.npy"), bytes, sizeof bytes, &error));
    CHECK(gs_product_read(&p, 7, path, &error));
    assert_int_equal(gs_product_read(&p, 8, path, &error), GS_ERROR_CORRUPT);   /* N has another length */
    float ones[16];
    for (int i = 0; i < 16; i++) ones[i] = 1;
    CHECK(gs_file_write(path_of(path, "ones"), (const char *)ones, sizeof ones, &error));
    CHECK(gs_product_read(&p, 8, path, &error));
    gs_product *const all[] = {&p, &plain};   /* p first, because only p has read operands */
    for (int i = 0; i < 2; i++) {
        multiply(all[i]);
        CHECK(gs_product_check(all[i], &error));
        assert_true(all[i]->checked && all[i]->compare.mismatches == 0);
        CHECK(gs_product_write(all[i], 3, path_of(path, "d.npy"), &error));
    }
    for (int row = 0; row < 24; row++)
        for (int col = 0; col < 16; col++) {
            const float without = gs_f16_to_f32(((const uint16_t *)(const void *)plain.m[3].host)[row * 16 + col]), with = gs_f16_to_f32(((const uint16_t *)(const void *)p.m[3].host)[row * 16 + col]);
            assert_true(with == without * (row == 7 ? -2.0f : 0.5f));
        }
    gs_product_free(&plain);
    gs_product_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_of_operands), cmocka_unit_test(a_product_is_checked_and_written), cmocka_unit_test(aux_goes_from_a_product_to_the_next), cmocka_unit_test(sums_of_columns_are_checked), cmocka_unit_test(a_batch_by_pointers), cmocka_unit_test(scales_of_a_file)};
    return cmocka_run_group_tests_name("product/product", tests, make_folder, remove_folder);
}
