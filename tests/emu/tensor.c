/* SPDX-License-Identifier: MIT
 * Tensor maps and tiles of the emulated device: what is encoded, what is refused, and every byte of a box compared with an element-by-element model. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/problem.h>

#include "base/random.h"
#include "emu/isa/tensor.h"

#define SHARED (64u << 10)
#define GLOBAL (1u << 20)
#define BASE   0x700000000ull

/* ---- maps ---- */

static gs_tensor good(void)
{
    return (gs_tensor){.address = BASE, .element = GS_F16, .extent = {300, 200}, .stride = 608, .box = {64, 128}, .swizzle = 128};
}

static void a_map_is_encoded(void **state)
{
    (void)state;
    static const struct { int type, ptx, bytes; } types[] = {{GS_F16, GS_PTX_F16, 2}, {GS_BF16, GS_PTX_BF16, 2}, {GS_F32, GS_PTX_F32, 4}};
    for (size_t i = 0; i < 3; i++) {
        gs_tensor tensor = good();
        gs_tensor_map out;
        gs_emu_map map;
        char text[160];
        tensor.element = types[i].type;
        tensor.box[0] = (uint32_t)(128 / types[i].bytes);
        assert_int_equal(gs_emu_map_encode(&tensor, &out, NULL), GS_OK);
        memcpy(&map, &out, sizeof map);
        assert_true(gs_emu_map_check(&map, text, sizeof text));
        assert_int_equal(map.type, types[i].ptx);
        assert_int_equal(map.element, types[i].bytes);
        assert_int_equal(map.address, BASE);
        assert_int_equal(map.dimensions, 2);
        assert_int_equal(map.extent[0], 300);
        assert_int_equal(map.extent[1], 200);
        assert_int_equal(map.stride[0], 608);
        assert_int_equal(map.box[0], tensor.box[0]);
        assert_int_equal(map.box[1], 128);
        assert_int_equal(map.swizzle, 128);
        assert_int_equal(map.fill_nan, 0);
    }
}

static void a_map_of_a_batch(void **state)
{
    (void)state;
    gs_tensor tensor = good();
    gs_tensor_map out;
    gs_emu_map map;
    gs_error error = {0};
    tensor.matrices = 5;
    tensor.step = 608 * 200;
    assert_int_equal(gs_emu_map_encode(&tensor, &out, NULL), GS_OK);
    memcpy(&map, &out, sizeof map);
    assert_true(map.dimensions == 3 && map.extent[2] == 5 && map.stride[0] == 608 && map.stride[1] == 608 * 200 && map.box[2] == 1);
    tensor.step += 8;
    assert_int_equal(gs_emu_map_encode(&tensor, &out, &error), GS_ERROR_ARGUMENT);
}

/* Rows alternate: eight of one half, eight of the other. */
static void a_map_in_turn(void **state)
{
    (void)state;
    gs_tensor tensor = good();
    gs_tensor_map out;
    gs_emu_map map;
    tensor.extent[1] = 208;
    tensor.second = 608 * 104;
    assert_int_equal(gs_emu_map_encode(&tensor, &out, NULL), GS_OK);
    memcpy(&map, &out, sizeof map);
    assert_true(map.dimensions == 4 && map.extent[1] == 8 && map.extent[2] == 2 && map.extent[3] == 13 && map.box[1] == 8 && map.box[2] == 2 && map.box[3] == 8);
    assert_true(map.stride[0] == 608 && map.stride[1] == 608 * 104 && map.stride[2] == 8 * 608);
    tensor.matrices = 3;
    tensor.step = 608 * 208;
    assert_int_equal(gs_emu_map_encode(&tensor, &out, NULL), GS_OK);
    memcpy(&map, &out, sizeof map);
    assert_true(map.dimensions == 5 && map.extent[4] == 3 && map.stride[3] == 608 * 208 && map.box[4] == 1);
}

static void refuse(gs_tensor tensor, const char *word)
{
    gs_tensor_map out;
    gs_error error = {0};
    assert_int_equal(gs_emu_map_encode(&tensor, &out, &error), GS_ERROR_ARGUMENT);
    if (!strstr(error.text, word)) fail_msg("\"%s\" does not say \"%s\"", error.text, word);
}

static gs_status encode(gs_tensor tensor)
{
    gs_tensor_map out;
    return gs_emu_map_encode(&tensor, &out, NULL);
}

static void what_the_driver_refuses(void **state)
{
    (void)state;
    gs_tensor t = good();
    t.address += 8, refuse(t, "no multiple of 16"), t = good();
    t.element = GS_F32 + 1, refuse(t, "element type"), t = good();
    t.extent[0] = 0, refuse(t, "extent 0 is 0"), t = good();
    t.extent[1] = (1ull << 32) + 1, refuse(t, "extent 1"), t = good();
    t.extent[1] = 1ull << 32, assert_int_equal(encode(t), GS_OK), t = good();
    t.stride = 600, refuse(t, "600"), t = good();
    t.stride = 1ull << 40, refuse(t, "below 2^40"), t = good();
    t.stride = (1ull << 40) - 16, assert_int_equal(encode(t), GS_OK), t = good();
    t.box[1] = 0, refuse(t, "extent 0 in dimension 1"), t = good();
    t.box[1] = 257, refuse(t, "257"), t = good();
    t.box[1] = 0x10001, refuse(t, "1 to 256"), t = good();
    t.box[1] = 256, assert_int_equal(encode(t), GS_OK), t = good();
    t.box[0] = 60, refuse(t, "120 bytes"), t = good();
    t.box[0] = 72, refuse(t, "swizzle of 128"), t = good();
    t.swizzle = 64, refuse(t, "swizzle of 64"), t = good();
    t.swizzle = 0, t.box[0] = 72, assert_int_equal(encode(t), GS_OK), t = good();
    t.swizzle = 96, refuse(t, "96"), t = good();
    t.swizzle = 256, refuse(t, "swizzle 256"), t = good();
    t.swizzle = 384, refuse(t, "swizzle 384"), t = good();
    t.swizzle = -128, refuse(t, "swizzle -128");
}

static void what_is_no_map(void **state)
{
    (void)state;
    gs_emu_map map, other;
    gs_tensor_map out;
    gs_tensor tensor = good();
    char text[160];
    assert_int_equal(gs_emu_map_encode(&tensor, &out, NULL), GS_OK);
    memcpy(&map, &out, sizeof map);
    other = map, other.magic++, assert_false(gs_emu_map_check(&other, text, sizeof text));
    assert_non_null(strstr(text, "no tensor map"));
    other = map, other.dimensions = 6, assert_false(gs_emu_map_check(&other, text, sizeof text));
    other = map, other.dimensions = 0, assert_false(gs_emu_map_check(&other, text, sizeof text));
    other = map, other.element = 4, assert_false(gs_emu_map_check(&other, text, sizeof text));
    other = map, other.type = GS_PTX_S8, other.element = 1, assert_false(gs_emu_map_check(&other, text, sizeof text));
    other = map, other.type = GS_PTX_PRED, other.element = 0, assert_false(gs_emu_map_check(&other, text, sizeof text));
    other = map, other.fill_nan = 1, assert_true(gs_emu_map_check(&other, text, sizeof text));
    other.type = GS_PTX_U16, assert_false(gs_emu_map_check(&other, text, sizeof text));
    other = map, other.dimensions = 5;
    for (int i = 2; i < 5; i++) other.extent[i] = 1, other.box[i] = 256, other.stride[i - 1] = 1024;
    assert_false(gs_emu_map_check(&other, text, sizeof text));   /* 2^37 bytes */
    assert_non_null(strstr(text, "shared memory"));
}

/* ---- tiles against a model ---- */

static gs_emu_map random_map(gs_random *random)
{
    static const uint8_t types[] = {GS_PTX_U8, GS_PTX_U16, GS_PTX_F16, GS_PTX_BF16, GS_PTX_U32, GS_PTX_F32, GS_PTX_U64, GS_PTX_F64};
    static const uint8_t swizzles[] = {0, 32, 64, 128};
    gs_emu_map map = {.magic = GS_EMU_MAP_MAGIC};
    map.type = types[gs_random_below(random, 8)];
    map.element = (uint8_t)gs_emu_map_element((gs_ptx_type)map.type);
    map.dimensions = (uint8_t)(1 + gs_random_below(random, 5));
    map.swizzle = swizzles[gs_random_below(random, 4)];
    map.address = BASE + 16 * gs_random_below(random, 8);
    const uint64_t most = map.swizzle ? map.swizzle / 16 : (uint64_t)256 * map.element / 16;
    map.box[0] = (uint16_t)((1 + gs_random_below(random, most)) * 16 / map.element);
    map.extent[0] = 1 + gs_random_below(random, 2u * map.box[0]);
    uint64_t stride = (map.extent[0] * map.element + 15) / 16 * 16;
    for (int i = 1; i < map.dimensions; i++) {
        map.stride[i - 1] = stride + 16 * gs_random_below(random, 3);
        map.extent[i] = 1 + gs_random_below(random, 4);
        map.box[i] = (uint16_t)(1 + gs_random_below(random, 4));
        stride = map.stride[i - 1] * map.extent[i];
    }
    if (map.type == GS_PTX_F16 || map.type == GS_PTX_F32 || map.type == GS_PTX_F64) map.fill_nan = (uint8_t)gs_random_below(random, 2);
    return map;
}

/* The offset of one element of the box in shared memory. */
static uint32_t model_offset(const gs_emu_map *map, uint32_t shared, uint32_t row, uint32_t column)
{
    const uint32_t width = map->box[0] * (uint32_t)map->element, pitch = width > map->swizzle ? width : map->swizzle;
    const uint32_t offset = shared + row * pitch + column * map->element, line = offset / 128 % 8, chunk = offset / 16 % 8;
    const uint32_t moved = map->swizzle == 128 ? chunk ^ line : map->swizzle == 64 ? chunk ^ line % 4 : map->swizzle == 32 ? chunk ^ line % 2 : chunk;
    return offset / 128 * 128 + moved * 16 + offset % 16;
}

typedef void visit(void *context, uint32_t offset, bool inside, uint64_t address);

/* Visits every element of the box, in nested loops. */
static void model(const gs_emu_map *map, const int32_t *coordinate, uint32_t shared, bool stored, visit *fn, void *context)
{
    uint32_t index[5] = {0}, box[5] = {1, 1, 1, 1, 1}, row = 0;
    for (int i = 0; i < map->dimensions; i++) box[i] = map->box[i];
    for (index[4] = 0; index[4] < box[4]; index[4]++)
        for (index[3] = 0; index[3] < box[3]; index[3]++)
            for (index[2] = 0; index[2] < box[2]; index[2]++)
                for (index[1] = 0; index[1] < box[1]; index[1]++, row++)
                    for (index[0] = 0; index[0] < box[0]; index[0]++) {
                        bool inside = true;
                        uint64_t address = map->address;
                        for (int i = 0; i < map->dimensions; i++) {
                            int64_t at = (int64_t)coordinate[i] + index[i];
                            address += (uint64_t)at * (i ? map->stride[i - 1] : map->element);
                            if (i == 0 && stored && at >= 0) at = at * map->element / 16 * 16 / map->element;   /* stores are limited by 16-byte units */
                            inside = inside && at >= 0 && (uint64_t)at < map->extent[i];
                        }
                        fn(context, model_offset(map, shared, row, index[0]), inside, address);
                    }
}

typedef struct image {
    const gs_emu_map *map;
    const uint8_t    *global;
    uint8_t          *to;
    uint8_t          *seen;
    bool              inside_only;
} image;

static void model_load(void *context, uint32_t offset, bool inside, uint64_t address)
{
    image *const i = context;
    static const uint8_t nan[] = {0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f}, zero[8] = {0};
    memcpy(i->to + offset, inside ? i->global + (address - BASE) : i->map->fill_nan ? nan : zero, i->map->element);
}

static void model_store(void *context, uint32_t offset, bool inside, uint64_t address)
{
    image *const i = context;
    if (inside) memcpy(i->to + (address - BASE), i->global + offset, i->map->element);
}

static void model_seen(void *context, uint32_t offset, bool inside, uint64_t address)
{
    image *const i = context;
    (void)address;
    for (int b = 0; b < i->map->element; b++) i->seen[offset + (uint32_t)b] += inside || !i->inside_only;
}

static void tile_seen(void *context, uint32_t offset, uint32_t bytes)
{
    image *const i = context;
    for (uint32_t b = 0; b < bytes; b++) i->seen[offset + b] += 0x10;
}

static void load(const gs_emu_tile *tile, const uint8_t *global, uint8_t *shared)
{
    for (uint32_t row = 0; row < tile->rows; row++) {
        gs_emu_piece piece[GS_EMU_PIECES];
        const int pieces = gs_emu_tile_pieces(tile, row, piece);
        assert_in_range(pieces, 1, GS_EMU_PIECES);
        for (int i = 0; i < pieces; i++) {
            if (piece[i].inside)
                memcpy(shared + piece[i].shared, global + (piece[i].address - BASE), piece[i].bytes);
            else
                gs_emu_tile_fill(tile, shared + piece[i].shared, piece[i].bytes);
        }
    }
}

static void store(const gs_emu_tile *tile, uint8_t *global, const uint8_t *shared)
{
    for (uint32_t row = 0; row < tile->rows; row++) {
        gs_emu_piece piece[GS_EMU_PIECES];
        const int pieces = gs_emu_tile_pieces(tile, row, piece);
        for (int i = 0; i < pieces; i++)
            if (piece[i].inside) memcpy(global + (piece[i].address - BASE), shared + piece[i].shared, piece[i].bytes);
    }
}

typedef struct buffers {
    uint8_t global[GLOBAL], shared[SHARED], expected[GLOBAL], found[GLOBAL], seen[SHARED], seen_model[SHARED];
} buffers;

static void check_ranges(buffers *b, const gs_emu_map *map, const gs_emu_tile *tile, const int32_t *at, uint32_t shared, bool inside_only)
{
    image i = {.map = map, .seen = b->seen, .inside_only = inside_only};
    memset(b->seen, 0, SHARED);
    model(map, at, shared, false, model_seen, &i);
    gs_emu_tile_ranges(tile, inside_only, tile_seen, &i);
    for (uint32_t o = 0; o < SHARED; o++)
        if (b->seen[o] != 0 && b->seen[o] != 0x11) fail_msg("byte %#x is %s", o, b->seen[o] & 0x10 ? "not of the box" : "missing");
}

/* step: of the inner coordinate, in bytes. */
static void compare(buffers *b, gs_random *random, uint32_t step)
{
    const gs_emu_map map = random_map(random);
    const uint32_t shared = 128 * (uint32_t)gs_random_below(random, 20);
    int32_t at[5] = {0};
    gs_emu_tile tile;
    char text[160];
    assert_true(gs_emu_map_check(&map, text, sizeof text));
    for (int i = 0; i < map.dimensions; i++) {
        const uint64_t most = map.extent[i] + 2u * map.box[i];
        at[i] = (int32_t)gs_random_below(random, most) - (int32_t)map.box[i];
    }
    if (step > map.element) at[0] = at[0] / (int32_t)(step / map.element) * (int32_t)(step / map.element);
    gs_emu_tile_box(&tile, &map, at, shared, false);
    if (shared + gs_emu_tile_span(&tile) > SHARED) return;
    memset(b->expected, 0xee, SHARED);
    memset(b->found, 0xee, SHARED);
    model(&map, at, shared, false, model_load, &(image){.map = &map, .global = b->global, .to = b->expected});
    load(&tile, b->global, b->found);
    assert_memory_equal(b->expected, b->found, SHARED);
    check_ranges(b, &map, &tile, at, shared, false);
    check_ranges(b, &map, &tile, at, shared, true);
    for (int i = 0; i < map.dimensions; i++)
        if (at[i] < 0) at[i] = 0;
    gs_emu_tile_box(&tile, &map, at, shared, true);
    memset(b->expected, 0xee, GLOBAL);
    memset(b->found, 0xee, GLOBAL);
    model(&map, at, shared, true, model_store, &(image){.map = &map, .global = b->shared, .to = b->expected});
    store(&tile, b->found, b->shared);
    assert_memory_equal(b->expected, b->found, GLOBAL);
}

static void as_the_model(void **state)
{
    (void)state;
    gs_random random = {11};
    buffers *const b = malloc(sizeof *b);
    assert_non_null(b);
    for (uint32_t i = 0; i < GLOBAL; i += 8) memcpy(b->global + i, &(uint64_t){gs_random_next(&random)}, 8);
    for (uint32_t i = 0; i < SHARED; i += 8) memcpy(b->shared + i, &(uint64_t){gs_random_next(&random)}, 8);
    for (int i = 0; i < 600; i++) compare(b, &random, i % 2 ? 16 : 0);
    free(b);
}

/* ---- behaviour measured on hardware ---- */

static gs_emu_map rows_of(uint64_t columns, uint16_t box, uint8_t swizzle)
{
    return (gs_emu_map){.magic = GS_EMU_MAP_MAGIC, .address = BASE, .extent = {columns, 16}, .stride = {96}, .box = {box, 4}, .dimensions = 2,
                        .element = 2, .type = GS_PTX_F16, .swizzle = swizzle};
}

static void a_store_ends_after_16_bytes(void **state)
{
    (void)state;
    const gs_emu_map map = rows_of(37, 64, 0);
    gs_emu_tile tile;
    gs_emu_piece piece[GS_EMU_PIECES];
    gs_emu_tile_box(&tile, &map, (int32_t[]){8, 0}, 0, true);
    assert_int_equal(gs_emu_tile_pieces(&tile, 1, piece), 2);
    assert_true(piece[0].inside);
    assert_int_equal(piece[0].address, BASE + 96 + 16);
    assert_int_equal(piece[0].bytes, 80 - 16);        /* 37 columns are 74 bytes */
    assert_false(piece[1].inside);
    gs_emu_tile_box(&tile, &map, (int32_t[]){8, 0}, 0, false);
    gs_emu_tile_pieces(&tile, 1, piece);
    assert_int_equal(piece[0].bytes, 74 - 16);
    gs_emu_tile_box(&tile, &map, (int32_t[]){40, 0}, 0, true);
    assert_int_equal(gs_emu_tile_pieces(&tile, 0, piece), 1);
    assert_false(piece[0].inside);
}

static void a_short_row_takes_the_swizzle_s_width(void **state)
{
    (void)state;
    const gs_emu_map map = rows_of(48, 8, 128);
    gs_emu_tile tile;
    gs_emu_piece piece[GS_EMU_PIECES];
    gs_emu_tile_box(&tile, &map, (int32_t[]){0, 0}, 384, false);
    assert_int_equal(gs_emu_tile_bytes(&tile), 4 * 16);
    assert_int_equal(gs_emu_tile_span(&tile), 4 * 128);
    assert_int_equal(gs_emu_tile_pieces(&tile, 2, piece), 1);
    assert_int_equal(piece[0].shared, 384 + 2 * 128 + 5 * 16);   /* the absolute address counts: line 5 */
}

static void sectors_are_counted(void **state)
{
    (void)state;
    gs_emu_map map = rows_of(37, 64, 128);
    gs_emu_tile tile;
    gs_emu_tile_box(&tile, &map, (int32_t[]){0, 0}, 0, false);
    assert_int_equal(gs_emu_tile_sectors(&tile), 4 * 96);             /* 74 bytes */
    gs_emu_tile_box(&tile, &map, (int32_t[]){0, 13}, 0, false);
    assert_int_equal(gs_emu_tile_sectors(&tile), 3 * 96);             /* one row is outside */
    gs_emu_tile_box(&tile, &map, (int32_t[]){64, 0}, 0, false);
    assert_int_equal(gs_emu_tile_sectors(&tile), 0);
    map = rows_of(48, 64, 128);
    gs_emu_tile_box(&tile, &map, (int32_t[]){0, 1}, 0, false);
    assert_int_equal(gs_emu_tile_sectors(&tile), 4 * 96);             /* rows without gaps */
    gs_emu_tile_line(&tile, BASE + 16, 48, 0);
    assert_int_equal(gs_emu_tile_sectors(&tile), 64);
    gs_emu_tile_line(&tile, BASE + 16, 64, 0);
    assert_int_equal(gs_emu_tile_sectors(&tile), 96);
}

/* A row of a box that lies completely outside the tensor is outside; a row that lies partly inside has that part. */
static void rows_that_are_outside(void **state)
{
    (void)state;
    gs_tensor tensor = good();
    gs_tensor_map out;
    gs_emu_map map;
    static const struct { int32_t at[2]; uint32_t row; bool inside; uint32_t first, bytes; } cases[] = {
        {{0, 0}, 0, true, 0, 128},    {{-64, 0}, 0, false, 0, 0},  {{-63, 0}, 0, true, 0, 2},     {{300, 0}, 0, false, 0, 0},  {{299, 0}, 0, true, 598, 2},
        {{0, -1}, 0, false, 0, 0},    {{0, -1}, 1, true, 0, 128},  {{0, 199}, 0, true, 0, 128},   {{0, 199}, 1, false, 0, 0},  {{-64, 199}, 1, false, 0, 0},
        {{-1000, 0}, 0, false, 0, 0}, {{1000, 0}, 0, false, 0, 0}, {{0, 100}, 127, false, 0, 0}, {{0, 72}, 127, true, 0, 128}};
    assert_int_equal(gs_emu_map_encode(&tensor, &out, NULL), GS_OK);
    memcpy(&map, &out, sizeof map);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_emu_tile tile;
        uint64_t address;
        uint32_t bytes;
        gs_emu_tile_box(&tile, &map, cases[i].at, 0, false);
        const bool inside = gs_emu_tile_row(&tile, cases[i].row, &address, &bytes);
        if (inside != cases[i].inside) fail_msg("row %d of the box at %d, %d: %d", (int)cases[i].row, cases[i].at[0], cases[i].at[1], inside);
        if (!inside) continue;
        assert_int_equal(address, BASE + 608 * (uint64_t)(cases[i].at[1] + (int)cases[i].row) + cases[i].first);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void a_line_is_a_tile(void **state)
{
    (void)state;
    for (uint32_t bytes = 16; bytes <= 4096; bytes += 16) {
        gs_emu_tile tile;
        uint32_t next = 0;
        gs_emu_tile_line(&tile, BASE, bytes, 48);
        assert_int_equal(gs_emu_tile_bytes(&tile), bytes);
        for (uint32_t row = 0; row < tile.rows; row++) {
            gs_emu_piece piece[GS_EMU_PIECES];
            assert_int_equal(gs_emu_tile_pieces(&tile, row, piece), 1);
            assert_true(piece[0].inside);
            assert_int_equal(piece[0].shared, 48 + next);
            assert_int_equal(piece[0].address, BASE + next);
            next += piece[0].bytes;
        }
        assert_int_equal(next, bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_encoded), cmocka_unit_test(a_map_of_a_batch), cmocka_unit_test(a_map_in_turn),
        cmocka_unit_test(what_the_driver_refuses),
        cmocka_unit_test(what_is_no_map),
        cmocka_unit_test(as_the_model),
        cmocka_unit_test(a_store_ends_after_16_bytes),
        cmocka_unit_test(a_short_row_takes_the_swizzle_s_width),
        cmocka_unit_test(sectors_are_counted),
        cmocka_unit_test(rows_that_are_outside), cmocka_unit_test(a_line_is_a_tile),
    };
    return cmocka_run_group_tests_name("emu_tensor", tests, NULL, NULL);
}
