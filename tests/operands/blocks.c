/* SPDX-License-Identifier: MIT
 * Memory blocks kept from one edge problem to the next: a request gets any free block that is large enough, and all blocks are freed at the end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "operands/blocks.h"

static int live, made;
static size_t last_bytes;
static gs_pointer next_at = 1 << 20;

static gs_status count_alloc(gs_device *unused, size_t bytes, gs_pointer *out, gs_error *error)
{
    (void)unused;
    if (bytes == 666) return gs_fail(error, GS_ERROR_MEMORY, NULL, "none");
    live++, made++;
    last_bytes = bytes;
    *out = next_at += 1 << 24;
    return GS_OK;
}

static void count_free(gs_device *unused, gs_pointer at)
{
    (void)unused;
    assert_true(at != 0);
    live--;
}

static const gs_device_ops counting = {.alloc = count_alloc, .free = count_free};

static gs_pointer take(gs_blocks *blocks, size_t bytes, gs_random *random)
{
    gs_pointer at = 0;
    gs_error error = {0};
    assert_int_equal(gs_blocks_take(blocks, &counting, NULL, bytes, random, &at, &error), GS_OK);
    return at;
}

static void given_out(void **state)
{
    (void)state;
    gs_random random = {7};
    gs_error error = {0};
    gs_blocks blocks = {0};
    gs_pointer at, first[4], seen = 0;
    at = take(&blocks, 100, &random);
    assert_true(last_bytes == 100 && made == 1);
    gs_blocks_give(&blocks, &counting, NULL, at);
    assert_int_equal(live, 0);   /* nothing is kept before `keeps` */
    blocks.keeps = true;
    for (int i = 0; i < 4; i++) first[i] = take(&blocks, 100, &random);
    assert_true(last_bytes == 1 << 20 && live == 4);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) assert_true(first[i] != first[j]);
    for (int i = 0; i < 4; i++) gs_blocks_give(&blocks, &counting, NULL, first[i]);
    gs_blocks_give(&blocks, &counting, NULL, 0);
    assert_int_equal(live, 4);
    const int before = made;
    for (int turn = 0; turn < 40; turn++) {   /* each of the four is handed out sometimes */
        at = take(&blocks, 1 << 20, &random);
        for (int i = 0; i < 4; i++) seen |= (gs_pointer)(at == first[i]) << i;
        gs_blocks_give(&blocks, &counting, NULL, at);
    }
    assert_true(seen == 15 && made == before);
    at = take(&blocks, (1 << 20) + 1, &random);   /* no kept block is large enough */
    assert_true(made == before + 1 && last_bytes == (1 << 20) + 1);
    gs_blocks_give(&blocks, &counting, NULL, at);
    assert_int_equal(gs_blocks_take(&blocks, &counting, NULL, 666, &random, &at, &error), GS_OK);   /* a kept block is available */
    gs_blocks_give(&blocks, &counting, NULL, at);
    gs_pointer many[GS_BLOCKS + 2];
    for (int i = 0; i < GS_BLOCKS + 2; i++) many[i] = take(&blocks, 1, &random);
    assert_int_equal(live, GS_BLOCKS + 2);
    for (int i = 0; i < GS_BLOCKS + 2; i++) gs_blocks_give(&blocks, &counting, NULL, many[i]);
    assert_int_equal(live, GS_BLOCKS);   /* the last two did not fit in the list */
    gs_blocks_end(&blocks, &counting, NULL);
    assert_true(live == 0 && !blocks.keeps);
    assert_int_equal(gs_blocks_take(&blocks, &counting, NULL, 666, &random, &at, &error), GS_ERROR_MEMORY);
    assert_int_equal(live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(given_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
