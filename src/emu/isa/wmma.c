/* SPDX-License-Identifier: MIT
 * wmma: matrix products of a warp with a device-specific fragment layout. Here a fragment of A or B holds the elements in memory order, so that a product whose layout
 * differs from that of its load is wrong; a fragment of C or D holds them by rows. Element e of n is in lane e / slots, where slots is the number of elements per
 * lane; if the registers have room for more, everything is repeated. */
#include <string.h>

#include "base/half.h"
#include "emu/isa/access.h"
#include "emu/isa/wgmma_math.h"

enum { PIECE = 16, MOST = 512, COLUMNS_A = 1, COLUMNS_B = 2, HALF_C = 4, HALF_D = 8 };   /* COLUMNS_A to HALF_D: op->flags of a product */

/* legend: name, m, n, registers of A and B with f16, with bf16; k is 16 */
static const struct shape {
    const char *name;
    uint8_t m, n, a, b, wide_a, wide_b;
} shapes[] = {
    {"m16n16k16", 16, 16, 8, 8, 4, 4}, {"m32n8k16", 32, 8, 8, 8, 8, 2}, {"m8n32k16", 8, 32, 8, 8, 2, 8},
};

enum { DEPTH = 16 };

/* The matrix of a load or a store: lines of adjacent elements. */
typedef struct area {
    uint32_t lines, length, size;      /* size: bytes per element */
} area;

static gs_emu_result diverged(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "lanes %#x execute it; it takes all threads of the warp", lanes);
}

/* ---- registers ---- */

static void *slot_of(gs_emu_warp *w, const uint32_t *list, uint32_t lane, uint32_t slot, uint32_t size)
{
    return w->registers + list[slot * size / 4] + lane * 4 + slot * size % 4;
}

static void put_fragment(gs_emu_warp *w, const uint32_t *list, uint32_t registers, const uint8_t *from, uint32_t elements, uint32_t size)
{
    const uint32_t slots = registers * 4 / size;
    for (uint32_t lane = 0; lane < GS_EMU_LANES; lane++)
        for (uint32_t s = 0; s < slots; s++) memcpy(slot_of(w, list, lane, s, size), from + (lane * slots + s) % elements * size, size);
}

static void get_fragment(gs_emu_warp *w, const uint32_t *list, uint32_t registers, uint8_t *to, uint32_t elements, uint32_t size)
{
    const uint32_t slots = registers * 4 / size;
    for (uint32_t e = 0; e < elements; e++) memcpy(to + e * size, slot_of(w, list, e / slots, e % slots, size), size);
}

/* ---- loads and stores ---- */

/* op->count: shape; type: of the elements; type2: 'a', 'b', 'c' or 'd'; the flag COLUMNS_A: column-major. */
static area area_of(const gs_emu_op *op)
{
    const struct shape *const s = &shapes[op->count];
    const uint32_t rows = op->type2 == 'b' ? DEPTH : s->m, columns = op->type2 == 'a' ? DEPTH : s->n;
    const bool turned = op->flags & COLUMNS_A;
    return (area){turned ? columns : rows, turned ? rows : columns, op->type == GS_PTX_F32 ? 4 : 2};
}

/* Copies between memory and `bytes`, in memory order: pieces of 16 bytes, one per lane, in one or two rounds. */
static bool move_area(gs_emu_warp *w, const gs_emu_op *op, const area *a, uint8_t *bytes, bool store)
{
    const uint32_t per_line = a->length * a->size / PIECE, pieces = per_line * a->lines;
    const uint64_t base = gs_emu_lane_address(w, op, 0, 0);
    const uint64_t stride = (uint64_t)(op->src[1] == GS_EMU_NONE ? a->length : gs_emu_u32(w, op->src[1])[0]) * a->size;
    for (uint32_t first = 0; first < pieces; first += GS_EMU_LANES) {
        gs_emu_reach reach = {.straight = false};
        const uint32_t count = GS_MIN(pieces - first, (uint32_t)GS_EMU_LANES), lanes = count == GS_EMU_LANES ? GS_EMU_FULL : (1u << count) - 1;
        for (uint32_t l = 0; l < GS_EMU_LANES; l++) {
            const uint32_t piece = first + l % count;
            reach.address[l] = base + piece / per_line * stride + piece % per_line * PIECE;
        }
        if (!gs_emu_reach_find(w, op, (gs_ptx_space)op->space, lanes, PIECE, &reach)) return false;
        gs_emu_reach_touch(w, op, &reach, PIECE, store ? GS_EMU_WRITE : GS_EMU_READ);
        gs_emu_reach_count(w, &reach, PIECE, store);
        for (uint32_t l = 0; l < count; l++) {
            uint8_t *const here = bytes + (first + l) * PIECE;
            memcpy(store ? reach.at[l] : here, store ? here : reach.at[l], PIECE);
        }
    }
    return true;
}

/* Transposes lines to columns. */
static void turn(uint8_t *to, const uint8_t *from, const area *a)
{
    for (uint32_t i = 0; i < a->lines; i++)
        for (uint32_t j = 0; j < a->length; j++) memcpy(to + (j * a->lines + i) * a->size, from + (i * a->length + j) * a->size, a->size);
}

static gs_emu_result exec_load(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint8_t bytes[MOST * 4], turned[MOST * 4];
    const area a = area_of(op);
    const bool turns = op->type2 == 'c' && (op->flags & COLUMNS_A);
    if (lanes != GS_EMU_FULL) return diverged(w, op, lanes);
    if (!move_area(w, op, &a, bytes, false)) return GS_EMU_FAILED;
    if (turns) turn(turned, bytes, &a);
    put_fragment(w, w->code->list + op->list, op->lists, turns ? turned : bytes, a.lines * a.length, a.size);
    return GS_EMU_NEXT;
}

static gs_emu_result exec_store(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint8_t bytes[MOST * 4], turned[MOST * 4];
    const area a = area_of(op), rows = {a.length, a.lines, a.size};
    const bool turns = op->flags & COLUMNS_A;
    if (lanes != GS_EMU_FULL) return diverged(w, op, lanes);
    get_fragment(w, w->code->list + op->list, op->lists, bytes, a.lines * a.length, a.size);
    if (turns) turn(turned, bytes, &rows);
    if (!move_area(w, op, &a, turns ? turned : bytes, true)) return GS_EMU_FAILED;
    w->cluster->quiet_steps = 0;   /* something was written */
    return GS_EMU_NEXT;
}

/* ---- products ---- */

static float value_of(const uint8_t *at, gs_ptx_type type)
{
    uint16_t half;
    float wide;
    if (type == GS_PTX_F32) return memcpy(&wide, at, sizeof wide), wide;
    memcpy(&half, at, sizeof half);
    return type == GS_PTX_BF16 ? gs_bf16_to_f32(half) : gs_f16_to_f32(half);
}

/* list: D; list2: A, B and C in sequence; count: index of the shape. */
static gs_emu_result exec_product(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const struct shape *const s = &shapes[op->count];
    const gs_ptx_type type = (gs_ptx_type)op->type;
    const uint32_t m = s->m, n = s->n, *const source = w->code->list + op->list2;
    const uint32_t a_count = type == GS_PTX_BF16 ? s->wide_a : s->a, b_count = type == GS_PTX_BF16 ? s->wide_b : s->b;
    const bool half_c = op->flags & HALF_C, half_d = op->flags & HALF_D;
    uint8_t a[MOST * 2], b[MOST * 2], c[256 * 4];
    float columns[MOST], at[GS_EMU_ROWS * DEPTH], tile[GS_EMU_ROWS * 32];
    if (lanes != GS_EMU_FULL) return diverged(w, op, lanes);
    get_fragment(w, source, a_count, a, m * DEPTH, 2);
    get_fragment(w, source + a_count, b_count, b, n * DEPTH, 2);
    get_fragment(w, source + a_count + b_count, half_c ? 4 : 8, c, m * n, half_c ? 2 : 4);
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t k = 0; k < DEPTH; k++) columns[j * DEPTH + k] = value_of(b + 2 * (op->flags & COLUMNS_B ? j * DEPTH + k : k * n + j), type);
    for (uint32_t top = 0; top < m; top += GS_EMU_ROWS) {
        const uint32_t rows = GS_MIN(m, (uint32_t)GS_EMU_ROWS);
        memset(at, 0, sizeof at);
        memset(tile, 0, sizeof tile);
        for (uint32_t i = 0; i < rows; i++) {
            for (uint32_t k = 0; k < DEPTH; k++)
                at[GS_EMU_ROWS * k + i] = value_of(a + 2 * (op->flags & COLUMNS_A ? k * m + top + i : (top + i) * DEPTH + k), type);
            for (uint32_t j = 0; j < n; j++)
                tile[GS_EMU_ROWS * j + i] = value_of(c + ((top + i) * n + j) * (half_c ? 2 : 4), half_c ? GS_PTX_F16 : GS_PTX_F32);
        }
        gs_emu_multiply(tile, at, columns, (int)n, DEPTH, 1, DEPTH, true, half_d);
        for (uint32_t i = 0; i < rows; i++)
            for (uint32_t j = 0; j < n; j++) {
                const float value = tile[GS_EMU_ROWS * j + i];
                const uint32_t e = (top + i) * n + j;
                const uint16_t half = gs_f32_to_f16(value);
                memcpy(slot_of(w, w->code->list + op->list, e / 8, e % 8, half_d ? 2 : 4), half_d ? (const void *)&half : &value, half_d ? 2 : 4);
            }
    }
    w->cluster->counters.mma += 2;   /* as many as m16n8k16 */
    w->cluster->counters.matrix_flops += 2ull * m * n * DEPTH;
    return GS_EMU_NEXT;
}

/* ---- decoding ---- */

static int shape_of(const char *part)
{
    for (int i = 0; i < (int)GS_COUNT(shapes); i++)
        if (strcmp(shapes[i].name, part) == 0) return i;
    return -1;
}

/* Sets the flag for "col"; false: neither "row" nor "col". */
static bool read_layout(const char *part, uint16_t flag, gs_emu_op *op)
{
    if (strcmp(part, "col") == 0) op->flags |= flag;
    return strcmp(part, "col") == 0 || strcmp(part, "row") == 0;
}

static gs_status check_destinations(gs_emu_decoder *d, const gs_emu_op *op)
{
    for (uint32_t i = 0; i < op->lists; i++)
        if (d->code->list[op->list + i] == GS_EMU_NONE) return gs_emu_unsupported(d, "a destination is missing");
    return GS_OK;
}

/* "wmma.load.a.sync.aligned.row.m16n16k16.global.f16"; the space is optional. */
static bool read_move(const gs_ptx_instruction *in, gs_emu_op *op)
{
    int i = 7;
    if (in->parts < 8 || strcmp(in->part[3], "sync") != 0 || strcmp(in->part[4], "aligned") != 0 || in->part[2][1]) return false;
    const int shape = shape_of(in->part[6]);
    if (!read_layout(in->part[5], COLUMNS_A, op) || shape < 0) return false;
    op->space = GS_PTX_GENERIC;
    if (strcmp(in->part[i], "global") == 0) op->space = GS_PTX_GLOBAL, i++;
    else if (strcmp(in->part[i], "shared") == 0 || strcmp(in->part[i], "shared::cta") == 0) op->space = GS_PTX_SHARED, i++;
    if (i + 1 != in->parts) return false;
    op->count = (uint8_t)shape;
    op->type = (uint8_t)gs_ptx_type_of(in->part[i]);
    op->type2 = (uint8_t)in->part[2][0];
    return true;
}

static gs_status decode_move(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op, bool store)
{
    if (!read_move(in, op)) return gs_emu_unsupported(d, "the emulated device has no wmma of this shape or form");
    const struct shape *const s = &shapes[op->count];
    const bool input = op->type2 == 'a' || op->type2 == 'b', bf16 = op->type == GS_PTX_BF16;
    const bool known = store ? op->type2 == 'd' : input || op->type2 == 'c';
    if (!known || !(op->type == GS_PTX_F16 || (input ? bf16 : op->type == GS_PTX_F32))) return gs_emu_unsupported(d, "the emulated device has no wmma of this type");
    const int expected = op->type2 == 'a' ? (bf16 ? s->wide_a : s->a) : op->type2 == 'b' ? (bf16 ? s->wide_b : s->b) : op->type == GS_PTX_F32 ? 8 : 4;
    GS_TRY(gs_emu_access_operands(d, 2, 3));
    const gs_ptx_operand *const reg = gs_emu_operand(d, store ? 1 : 0);
    const gs_ptx_type element = op->type == GS_PTX_F32 ? GS_PTX_F32 : GS_PTX_B32;
    op->exec = store ? exec_store : exec_load;
    op->class = op->space == GS_PTX_SHARED ? GS_EMU_SHARED : GS_EMU_GLOBAL;
    gs_emu_access_address(d, gs_emu_operand(d, store ? 0 : 1), (gs_ptx_space)op->space);
    op->lists = (uint16_t)(store ? gs_emu_sources(d, reg, element, &op->list) : gs_emu_destinations(d, reg, element, &op->list));
    if (in->operands == 3) op->src[1] = gs_emu_source(d, gs_emu_operand(d, 2), GS_PTX_B32);
    GS_TRY(d->status);
    if (op->lists != expected) return gs_emu_unsupported(d, "%d registers where %d are expected", (int)op->lists, expected);
    return check_destinations(d, op);
}

/* "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32" with f16, "... .f32.bf16.bf16.f32": types of D and C, or of all four. */
static bool read_product(const gs_ptx_instruction *in, gs_emu_op *op)
{
    const bool short_form = in->parts == 9;
    if ((!short_form && in->parts != 11) || strcmp(in->part[2], "sync") != 0 || strcmp(in->part[3], "aligned") != 0) return false;
    const int shape = shape_of(in->part[6]);
    if (shape < 0 || !read_layout(in->part[4], COLUMNS_A, op) || !read_layout(in->part[5], COLUMNS_B, op)) return false;
    const gs_ptx_type to = gs_ptx_type_of(in->part[7]), from = gs_ptx_type_of(in->part[short_form ? 8 : 10]);
    const gs_ptx_type type = short_form ? GS_PTX_F16 : gs_ptx_type_of(in->part[8]);
    if (!short_form && (strcmp(in->part[8], in->part[9]) != 0 || type != GS_PTX_BF16 || to != GS_PTX_F32 || from != GS_PTX_F32)) return false;
    if ((to != GS_PTX_F32 && to != GS_PTX_F16) || (from != GS_PTX_F32 && from != GS_PTX_F16)) return false;
    op->count = (uint8_t)shape;
    op->type = (uint8_t)type;
    op->flags |= (uint16_t)((to == GS_PTX_F16 ? HALF_D : 0) | (from == GS_PTX_F16 ? HALF_C : 0));
    return true;
}

static gs_status decode_product(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (!read_product(in, op)) return gs_emu_unsupported(d, "the emulated device has no wmma of this shape and these types");
    const struct shape *const s = &shapes[op->count];
    const bool bf16 = op->type == GS_PTX_BF16, half_c = op->flags & HALF_C, half_d = op->flags & HALF_D;
    uint32_t b, c;
    op->exec = exec_product;
    op->class = GS_EMU_MATRIX;
    op->lists = (uint16_t)gs_emu_destinations(d, gs_emu_operand(d, 0), half_d ? GS_PTX_B32 : GS_PTX_F32, &op->list);
    const int a_count = gs_emu_sources(d, gs_emu_operand(d, 1), GS_PTX_B32, &op->list2);   /* the three lists are adjacent */
    const int b_count = gs_emu_sources(d, gs_emu_operand(d, 2), GS_PTX_B32, &b);
    const int c_count = gs_emu_sources(d, gs_emu_operand(d, 3), half_c ? GS_PTX_B32 : GS_PTX_F32, &c);
    GS_TRY(d->status);
    op->lists2 = (uint16_t)(a_count + b_count + c_count);
    if (op->lists != (half_d ? 4 : 8) || a_count != (bf16 ? s->wide_a : s->a) || b_count != (bf16 ? s->wide_b : s->b) || c_count != (half_c ? 4 : 8))
        return gs_emu_unsupported(d, "the number of registers is not that of the shape");
    return check_destinations(d, op);
}

gs_status gs_emu_decode_wmma(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[0], "wmma") != 0) return GS_ERROR_NOT_FOUND;
    if (strcmp(in->part[1], "load") == 0 || strcmp(in->part[1], "store") == 0) return decode_move(d, in, op, in->part[1][0] == 's');
    if (strcmp(in->part[1], "mma") == 0) return decode_product(d, in, op);
    return gs_emu_unsupported(d, "only wmma.load, .store and .mma");
}
