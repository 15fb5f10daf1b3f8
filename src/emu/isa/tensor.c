/* SPDX-License-Identifier: MIT
 * Tensor maps of the emulated device: encoding, checking, iterating over a box. */
#include "emu/isa/tensor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <gemmsmith/problem.h>

#include "base/error.h"

#define UNIT        16u               /* bytes: granularity of the swizzle, and to which stores are clipped */
#define SECTOR      32u
#define FILL_NAN    0x7ff7u
#define MOST_EXTENT (1ull << 32)
#define MOST_STRIDE (1ull << 40)
#define MOST_BOX    256
#define MOST_BYTES  (256u << 10)      /* per box: more than any block has */
#define MOST_ROW    256u              /* bytes per row of a linear copy */

_Static_assert(sizeof(gs_emu_map) <= sizeof(gs_tensor_map), "a map fits where kernels expect one");

/* ---- maps ---- */

uint32_t gs_emu_map_element(gs_ptx_type type)
{
    switch (type) {
    case GS_PTX_U8: return 1;
    case GS_PTX_U16:
    case GS_PTX_F16:
    case GS_PTX_BF16: return 2;
    case GS_PTX_U32:
    case GS_PTX_S32:
    case GS_PTX_F32: return 4;
    case GS_PTX_U64:
    case GS_PTX_S64:
    case GS_PTX_F64: return 8;
    default: return 0;
    }
}

static bool wrong(char *text, size_t size, const char *format, ...) GS_PRINTF(3, 4);
static bool wrong(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return false;
}

static bool check_format(const gs_emu_map *map, char *text, size_t size)
{
    const bool is_float = map->type == GS_PTX_F16 || map->type == GS_PTX_BF16 || map->type == GS_PTX_F32 || map->type == GS_PTX_F64;
    const uint32_t row = (uint32_t)map->box[0] * map->element;
    if (map->element == 0 || gs_emu_map_element((gs_ptx_type)map->type) != map->element)
        return wrong(text, size, "the tensor map has elements of type %u and %u bytes", map->type, map->element);
    if (map->swizzle != 0 && map->swizzle != 32 && map->swizzle != 64 && map->swizzle != 128)
        return wrong(text, size, "the tensor map's swizzle is %u bytes: 0, 32, 64 and 128 exist", map->swizzle);
    if (map->fill_nan > 1 || (map->fill_nan && !is_float))
        return wrong(text, size, "the tensor map fills with NaN (%u), but its elements are no floating-point numbers", map->fill_nan);
    if (row % UNIT) return wrong(text, size, "the rows of the tensor map's box have %u bytes: no multiple of 16", row);
    if (map->swizzle && row > map->swizzle)
        return wrong(text, size, "the rows of the tensor map's box have %u bytes: more than its swizzle of %u", row, map->swizzle);
    uint64_t bytes = GS_MAX(row, (uint32_t)map->swizzle);
    for (int i = 1; i < map->dimensions; i++) bytes *= map->box[i];
    if (bytes > MOST_BYTES) return wrong(text, size, "the tensor map's box takes %llu bytes of shared memory", (unsigned long long)bytes);
    return true;
}

bool gs_emu_map_check(const gs_emu_map *map, char *text, size_t size)
{
    if (map->magic != GS_EMU_MAP_MAGIC) return wrong(text, size, "there is no tensor map at that address");
    if (map->dimensions < 1 || map->dimensions > 5) return wrong(text, size, "the tensor map has %u dimensions: 1 to 5 exist", map->dimensions);
    if (map->address % UNIT)
        return wrong(text, size, "the tensor map's address %#llx is no multiple of 16", (unsigned long long)map->address);
    for (int i = 0; i < map->dimensions; i++) {
        if (map->extent[i] < 1 || map->extent[i] > MOST_EXTENT)
            return wrong(text, size, "the tensor map's extent %d is %llu: 1 to 2^32 is possible", i, (unsigned long long)map->extent[i]);
        if (map->box[i] < 1 || map->box[i] > MOST_BOX)
            return wrong(text, size, "the tensor map's box has extent %u in dimension %d: 1 to %d is possible", map->box[i], i, MOST_BOX);
    }
    for (int i = 0; i < map->dimensions - 1; i++)
        if (map->stride[i] % UNIT || map->stride[i] >= MOST_STRIDE)
            return wrong(text, size, "the tensor map's stride of dimension %d is %llu bytes: a multiple of 16 below 2^40 is needed", i + 1,
                         (unsigned long long)map->stride[i]);
    return check_format(map, text, size);
}

static bool element_type(int type, uint8_t *ptx)
{
    switch (type) {
    case GS_F16: *ptx = GS_PTX_F16; return true;
    case GS_BF16: *ptx = GS_PTX_BF16; return true;
    case GS_F32: *ptx = GS_PTX_F32; return true;
    default: return false;
    }
}

gs_status gs_emu_map_encode(const gs_tensor *tensor, gs_tensor_map *out, gs_error *error)
{
    char text[160];
    gs_emu_map map = {.magic = GS_EMU_MAP_MAGIC, .address = tensor->address};
    uint64_t extent[5], stride[4];
    uint32_t box[5];
    memset(out, 0, sizeof *out);
    if (!element_type(tensor->element, &map.type))
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "a tensor map of element type %d does not exist", tensor->element);
    if (tensor->swizzle < 0 || tensor->swizzle > 128)
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "a tensor map of swizzle %d does not exist", tensor->swizzle);
    map.element = (uint8_t)gs_emu_map_element((gs_ptx_type)map.type);
    map.swizzle = (uint8_t)tensor->swizzle;
    const int dimensions = gs_tensor_dimensions(tensor, extent, stride, box);
    map.dimensions = (uint8_t)dimensions;
    for (int i = 0; i < dimensions; i++) {
        map.extent[i] = extent[i];
        map.box[i] = (uint16_t)GS_MIN(box[i], 0xffffu);
        if (i > 0) map.stride[i - 1] = stride[i - 1];
    }
    if (!gs_emu_map_check(&map, text, sizeof text)) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s", text);
    memcpy(out, &map, sizeof map);
    return GS_OK;
}

/* ---- tiles ---- */

static int64_t clamp(int64_t value, uint32_t limit) { return GS_MAX(0, GS_MIN(value, (int64_t)limit)); }

static void finish(gs_emu_tile *tile)
{
    tile->rows = 1;
    for (int i = 1; i < tile->dimensions; i++) tile->rows *= tile->box[i];
    tile->first = (uint32_t)clamp(-tile->origin[0], tile->box[0]);
    tile->end = (uint32_t)clamp((int64_t)tile->extent[0] - tile->origin[0], tile->box[0]);
}

void gs_emu_tile_box(gs_emu_tile *tile, const gs_emu_map *map, const int32_t *coordinate, uint32_t shared, bool stored)
{
    const uint64_t row = map->extent[0] * map->element;
    *tile = (gs_emu_tile){.address = map->address, .dimensions = map->dimensions, .shared = shared, .fill_nan = map->fill_nan};
    for (int i = 1; i < map->dimensions; i++) {
        tile->origin[i] = coordinate[i];
        tile->extent[i] = map->extent[i];
        tile->stride[i] = map->stride[i - 1];
        tile->box[i] = map->box[i];
    }
    tile->origin[0] = (int64_t)coordinate[0] * map->element;
    tile->extent[0] = stored ? (row + UNIT - 1) / UNIT * UNIT : row;
    tile->box[0] = (uint32_t)map->box[0] * map->element;
    tile->pitch = GS_MAX(tile->box[0], (uint32_t)map->swizzle);
    tile->swizzle = map->swizzle ? map->swizzle - UNIT : 0;
    finish(tile);
}

void gs_emu_tile_line(gs_emu_tile *tile, uint64_t address, uint32_t bytes, uint32_t shared)
{
    uint32_t row = MOST_ROW;
    while (bytes % row) row /= 2;
    *tile = (gs_emu_tile){
        .address = address, .dimensions = 2, .shared = shared, .pitch = row,
        .extent = {row, bytes / row}, .box = {row, bytes / row}, .stride = {0, row},
    };
    finish(tile);
}

/* Whether the row is inside in the outer dimensions; *address: of its first byte, which may be outside in the inner dimension. */
static bool place_row(const gs_emu_tile *tile, uint32_t row, uint64_t *address)
{
    bool inside = true;
    uint64_t at = tile->address + (uint64_t)tile->origin[0];
    for (int i = 1; i < tile->dimensions; i++) {
        const int64_t coordinate = tile->origin[i] + row % tile->box[i];
        inside = inside && (uint64_t)coordinate < tile->extent[i];   /* negative values become huge */
        at += (uint64_t)coordinate * tile->stride[i];
        row /= tile->box[i];
    }
    *address = at;
    return inside;
}

bool gs_emu_tile_row(const gs_emu_tile *tile, uint32_t row, uint64_t *address, uint32_t *bytes)
{
    if (tile->first >= tile->end || !place_row(tile, row, address)) return false;
    *address += tile->first;
    *bytes = tile->end - tile->first;
    return true;
}

/* XORs bits 4 to 6 with bits 7 to 9: the position of 16 bytes depends on which of eight lines of 128 bytes they are in. */
static uint32_t swizzled(const gs_emu_tile *tile, uint32_t offset) { return offset ^ (offset >> 3 & tile->swizzle); }

int gs_emu_tile_pieces(const gs_emu_tile *tile, uint32_t row, gs_emu_piece piece[GS_EMU_PIECES])
{
    uint64_t address;
    const bool outer = place_row(tile, row, &address);
    const uint32_t first = outer ? tile->first : 0, end = outer ? tile->end : 0, base = tile->shared + row * tile->pitch;
    int pieces = 0;
    for (uint32_t at = 0, next; at < tile->box[0]; at = next) {
        const bool inside = at >= first && at < end;
        next = inside ? end : at < first ? first : tile->box[0];
        if (tile->swizzle) next = GS_MIN(next, at / UNIT * UNIT + UNIT);
        piece[pieces++] = (gs_emu_piece){at, swizzled(tile, base + at), next - at, inside, address + at};
    }
    return pieces;
}

/* Merges adjacent ranges. */
typedef struct gather {
    gs_emu_range_fn *fn;
    void            *context;
    uint32_t         offset, bytes;
} gather;

static void add_range(gather *g, uint32_t offset, uint32_t bytes)
{
    if (g->bytes && g->offset + g->bytes != offset) {
        g->fn(g->context, g->offset, g->bytes);
        g->bytes = 0;
    }
    if (!g->bytes) g->offset = offset;
    g->bytes += bytes;
}

void gs_emu_tile_ranges(const gs_emu_tile *tile, bool inside, gs_emu_range_fn *fn, void *context)
{
    gather g = {fn, context, 0, 0};
    const bool dense = tile->pitch == tile->box[0];   /* the swizzle then only moves bytes within a row */
    for (uint32_t row = 0; row < tile->rows; row++) {
        gs_emu_piece piece[GS_EMU_PIECES];
        uint64_t address;
        const bool outer = place_row(tile, row, &address);
        if (inside && (!outer || tile->first >= tile->end)) continue;
        if (dense && (!inside || (tile->first == 0 && tile->end == tile->box[0]))) {
            add_range(&g, tile->shared + row * tile->pitch, tile->pitch);
            continue;
        }
        const int pieces = gs_emu_tile_pieces(tile, row, piece);
        for (int i = 0; i < pieces; i++)
            if (!inside || piece[i].inside) add_range(&g, piece[i].shared, piece[i].bytes);
    }
    if (g.bytes) fn(context, g.offset, g.bytes);
}

static uint64_t sectors(uint64_t from, uint64_t to) { return (to + SECTOR - 1) / SECTOR * SECTOR - from / SECTOR * SECTOR; }

uint64_t gs_emu_tile_sectors(const gs_emu_tile *tile)
{
    uint64_t sum = 0, from = 0, to = 0;
    for (uint32_t row = 0; row < tile->rows; row++) {
        uint64_t address;
        uint32_t bytes;
        if (!gs_emu_tile_row(tile, row, &address, &bytes)) continue;
        if (address != to) {
            sum += sectors(from, to);
            from = address;
        }
        to = address + bytes;
    }
    return sum + sectors(from, to);
}

void gs_emu_tile_fill(const gs_emu_tile *tile, uint8_t *to, uint32_t bytes)
{
    const uint16_t nan = FILL_NAN;
    if (!tile->fill_nan) {
        memset(to, 0, bytes);
        return;
    }
    for (uint32_t i = 0; i + 2 <= bytes; i += 2) memcpy(to + i, &nan, 2);
}
