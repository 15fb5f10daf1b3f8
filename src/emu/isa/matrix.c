/* SPDX-License-Identifier: MIT
 * Warp matrix instructions: mma.sync, ldmatrix, stmatrix, movmatrix. All 32 lanes must participate. */
#include <math.h>
#include <string.h>

#include "emu/isa/wgmma_math.h"
#include "emu/isa/isa.h"

/* ---- common to the instructions ---- */

static gs_emu_result diverged(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "lanes %#x execute it; it takes all threads of the warp", lanes);
}

/* Requires an instruction with at least three parts. */
static bool is_aligned(const gs_ptx_instruction *in)
{
    return strcmp(in->part[1], "sync") == 0 && strcmp(in->part[2], "aligned") == 0;
}

/* ---- rows of 8 x 8 matrices in shared memory ---- */

#define ROW_BYTES 16

/* Shared memory passes for one matrix: different rows in the same banks are accessed one after the other. */
static uint32_t passes_of(const uint32_t *offset)
{
    uint32_t most = 1, banks = 0, in_bank[8] = {0};
    for (int i = 0; i < 8; i++) banks |= 1u << offset[i] / ROW_BYTES % 8;
    for (int i = 0; i < 8 && banks != 0xff; i++) {
        bool again = false;
        for (int j = 0; j < i; j++) again |= offset[j] == offset[i];
        if (again) continue;
        const uint32_t rows = ++in_bank[offset[i] / ROW_BYTES % 8];
        most = GS_MAX(most, rows);
    }
    return most;
}

static void count_rows(gs_emu_warp *w, const gs_emu_op *op, const uint32_t *offset, bool store)
{
    gs_emu_counters *const c = &w->cluster->counters;
    *(store ? &c->shared_store : &c->shared_load) += 8u * ROW_BYTES * op->count;
    for (int i = 0; i < op->count; i++) c->shared_passes += passes_of(offset + 8 * i);
}

/* The offset of a lane's row in the block's shared memory, for any form of address. false: a fatal finding was reported. */
static bool resolve_row(gs_emu_warp *w, const gs_emu_op *op, int lane, uint32_t *offset)
{
    gs_emu_place place;
    const uint64_t address = gs_emu_lane_address(w, op, 0, lane);
    if (!gs_emu_resolve(w, op, lane, (gs_ptx_space)op->space, address, ROW_BYTES, ROW_BYTES, &place)) return false;
    *offset = place.offset;
    if (place.space == GS_PTX_SHARED && place.block == w->block) return true;
    gs_emu_report(w, op, GS_EMU_OUT_OF_BOUNDS_FINDING, "lane %d: %#llx is not in the block's shared memory", lane, (unsigned long long)address);
    return false;
}

static void touch_rows(gs_emu_warp *w, const gs_emu_op *op, bool store, const uint32_t *offset)
{
    for (int i = 0; i < 8 * op->count; i++) {
        const gs_emu_place place = {.bytes = w->block->shared + offset[i], .space = GS_PTX_SHARED, .block = w->block, .offset = offset[i]};
        gs_emu_touch(w, op, &place, ROW_BYTES, store ? GS_EMU_WRITE : GS_EMU_READ);
    }
}

/* Offsets of the rows addressed by lanes 0 to 8 * count - 1. */
static bool find_rows(gs_emu_warp *w, const gs_emu_op *op, bool store, uint32_t offset[GS_EMU_LANES])
{
    const uint32_t size = w->cluster->launch->shared_bytes, reserved = w->code->reserved;
    const bool plain = op->space == GS_PTX_SHARED;
    for (int lane = 0; lane < 8 * op->count; lane++) {
        const uint64_t address = gs_emu_lane_address(w, op, 0, lane);
        offset[lane] = (uint32_t)address;
        if (plain && address % ROW_BYTES == 0 && address >= reserved && address < size && size - address >= ROW_BYTES) continue;   /* the usual case */
        if (!resolve_row(w, op, lane, &offset[lane])) return false;
    }
    if (w->cluster->check) touch_rows(w, op, store, offset);
    count_rows(w, op, offset, store);
    return true;
}

/* Transposes a matrix as lanes hold it: lane l has row l / 4, columns 2 (l % 4) and the next. */
static void transpose(uint16_t to[64], const uint16_t from[64])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) to[8 * i + j] = from[8 * j + i];
}

static gs_emu_result exec_ldmatrix(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint32_t offset[GS_EMU_LANES];
    uint16_t matrix[4][64];
    if (lanes != GS_EMU_FULL) return diverged(w, op, lanes);
    if (!find_rows(w, op, false, offset)) return GS_EMU_FAILED;
    for (int i = 0; i < 8 * op->count; i++) memcpy(&matrix[i / 8][i % 8 * 8], w->block->shared + offset[i], ROW_BYTES);
    for (int i = 0; i < op->count; i++) {
        uint16_t *const to = (uint16_t *)(void *)gs_emu_u32(w, w->code->list[op->list + (uint32_t)i]);
        if (op->flags & 1)
            transpose(to, matrix[i]);
        else
            memcpy(to, matrix[i], sizeof matrix[i]);
    }
    return GS_EMU_NEXT;
}

static gs_emu_result exec_stmatrix(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint32_t offset[GS_EMU_LANES];
    uint16_t matrix[64];
    if (lanes != GS_EMU_FULL) return diverged(w, op, lanes);
    if (!find_rows(w, op, true, offset)) return GS_EMU_FAILED;
    for (int i = 0; i < op->count; i++) {
        const uint16_t *const from = (const uint16_t *)(const void *)gs_emu_u32(w, w->code->list[op->list + (uint32_t)i]);
        if (op->flags & 1)
            transpose(matrix, from);
        else
            memcpy(matrix, from, sizeof matrix);
        for (int r = 0; r < 8; r++) memcpy(w->block->shared + offset[8 * i + r], matrix + 8 * r, ROW_BYTES);
    }
    w->cluster->quiet_steps = 0;   /* something was written */
    return GS_EMU_NEXT;
}

static gs_emu_result exec_movmatrix(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint16_t matrix[64];
    if (lanes != GS_EMU_FULL) return diverged(w, op, lanes);
    memcpy(matrix, gs_emu_u32(w, op->src[0]), sizeof matrix);
    transpose((uint16_t *)(void *)gs_emu_u32(w, op->dst), matrix);
    return GS_EMU_NEXT;
}

/* "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": the parts after "aligned", in this order; trans and the space are optional. */
static bool read_parts(const gs_ptx_instruction *in, gs_emu_op *op)
{
    int i = 3;
    if (i >= in->parts || !is_aligned(in) || strcmp(in->part[i++], "m8n8") != 0 || i >= in->parts) return false;
    op->count = strcmp(in->part[i], "x1") == 0 ? 1 : strcmp(in->part[i], "x2") == 0 ? 2 : strcmp(in->part[i], "x4") == 0 ? 4 : 0;
    if (op->count == 0 || ++i >= in->parts) return false;
    if (strcmp(in->part[i], "trans") == 0) op->flags |= 1, i++;
    op->space = GS_PTX_GENERIC;
    if (i < in->parts && (strcmp(in->part[i], "shared") == 0 || strcmp(in->part[i], "shared::cta") == 0)) op->space = GS_PTX_SHARED, i++;
    return i + 1 == in->parts && strcmp(in->part[i], "b16") == 0;
}

static gs_status decode_rows(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op, bool store)
{
    if (!read_parts(in, op)) return gs_emu_unsupported(d, "a modifier is not known");
    const gs_ptx_operand *const reg = gs_emu_operand(d, store ? 1 : 0), *const address = gs_emu_operand(d, store ? 0 : 1);
    if (!reg || !address) return d->status;
    op->exec = store ? exec_stmatrix : exec_ldmatrix;
    op->class = GS_EMU_SHARED;
    op->type = GS_PTX_B32;
    gs_emu_address(d, address, 0);
    op->lists = (uint16_t)(store ? gs_emu_sources(d, reg, GS_PTX_B32, &op->list) : gs_emu_destinations(d, reg, GS_PTX_B32, &op->list));
    GS_TRY(d->status);
    if (op->lists != op->count) return gs_emu_unsupported(d, "%d registers where %d are expected", (int)op->lists, (int)op->count);
    for (uint32_t i = 0; i < op->lists; i++)
        if (d->code->list[op->list + i] == GS_EMU_NONE) return gs_emu_unsupported(d, "a destination is missing");
    return GS_OK;
}

static gs_status decode_movmatrix(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->name, "movmatrix.sync.aligned.m8n8.trans.b16") != 0) return gs_emu_unsupported(d, "a modifier is not known");
    op->exec = exec_movmatrix;
    op->class = GS_EMU_EXCHANGE;
    op->type = GS_PTX_B32;
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), GS_PTX_B32);
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, 1), GS_PTX_B32);
    GS_TRY(d->status);
    return op->dst == GS_EMU_NONE ? gs_emu_unsupported(d, "a destination is missing") : GS_OK;
}

/* ---- mma.sync ---- */

/* legend: shape, type of A and B, type of C and D, depth along k, registers of A, B, C */
static const struct mma_shape {
    const char *name;
    uint8_t type, result, depth, a, b, c;
} shapes[] = {
    {"m16n8k16", GS_PTX_F16,  GS_PTX_F32, 16, 4, 2, 4},
    {"m16n8k16", GS_PTX_F16,  GS_PTX_F16, 16, 4, 2, 2},
    {"m16n8k16", GS_PTX_BF16, GS_PTX_F32, 16, 4, 2, 4},
    {"m16n8k8",  GS_PTX_F16,  GS_PTX_F32, 8,  2, 1, 4},
    {"m16n8k8",  GS_PTX_F16,  GS_PTX_F16, 8,  2, 1, 2},
    {"m16n8k8",  GS_PTX_BF16, GS_PTX_F32, 8,  2, 1, 4},
    {"m16n8k8",  GS_PTX_TF32, GS_PTX_F32, 8,  4, 2, 4},
    {"m16n8k4",  GS_PTX_TF32, GS_PTX_F32, 4,  2, 1, 4},
    {"m8n8k4",   GS_PTX_F64,  GS_PTX_F64, 4,  1, 1, 2},
};

/* list: D; list2: A, B and C in sequence; count: index of the shape. */
static gs_emu_result exec_mma(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const struct mma_shape *const shape = &shapes[op->count];
    const uint32_t *const source = w->code->list + op->list2, *const dst = w->code->list + op->list;
    const bool half = shape->result == GS_PTX_F16;
    float tile[8 * GS_EMU_ROWS], at[16 * GS_EMU_ROWS], b[8 * 16];
    const uint32_t *reg[6];
    if (lanes != GS_EMU_FULL) return diverged(w, op, lanes);
    for (int i = 0; i < shape->a + shape->b; i++) reg[i] = gs_emu_u32(w, source[i]);
    gs_emu_fragment_a(at, reg, shape->a, (gs_ptx_type)shape->type);
    gs_emu_fragment_b(b, reg + shape->a, shape->b, (gs_ptx_type)shape->type);
    for (int i = 0; i < shape->c; i++) gs_emu_tile_get(tile, gs_emu_u32(w, source[shape->a + shape->b + i]), i, half);
    gs_emu_multiply(tile, at, b, 8, shape->depth, 1, shape->depth, true, half);
    for (int i = 0; i < shape->c; i++) gs_emu_tile_put(tile, gs_emu_u32(w, dst[i]), i, half);
    w->cluster->counters.mma++;
    w->cluster->counters.matrix_flops += 2ull * GS_EMU_ROWS * 8 * shape->depth;
    return GS_EMU_NEXT;
}

/* a: (lane / 4, lane % 4); b: (lane % 4, lane / 4); c, d: (lane / 4, 2 (lane % 4) and the next). */
static gs_emu_result exec_mma_f64(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t *const source = w->code->list + op->list2, *const dst = w->code->list + op->list;
    double result[2][GS_EMU_LANES];
    if (lanes != GS_EMU_FULL) return diverged(w, op, lanes);
    const double *const a = gs_emu_f64(w, source[0]), *const b = gs_emu_f64(w, source[1]);
    for (int lane = 0; lane < GS_EMU_LANES; lane++)
        for (int c = 0; c < 2; c++) {
            const int row = lane / 4, column = lane % 4 * 2 + c;
            double sum = gs_emu_f64(w, source[2 + c])[lane];
            for (int k = 0; k < 4; k++) sum = fma(a[4 * row + k], b[4 * column + k], sum);
            result[c][lane] = sum;
        }
    for (int c = 0; c < 2; c++) memcpy(gs_emu_f64(w, dst[c]), result[c], sizeof result[c]);
    w->cluster->counters.mma++;
    w->cluster->counters.matrix_flops += 2ull * 8 * 8 * 4;
    return GS_EMU_NEXT;
}

/* "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" */
static const struct mma_shape *find_shape(const gs_ptx_instruction *in)
{
    if (in->parts != 10 || !is_aligned(in) || strcmp(in->part[4], "row") != 0 || strcmp(in->part[5], "col") != 0) return NULL;
    if (strcmp(in->part[6], in->part[9]) != 0 || strcmp(in->part[7], in->part[8]) != 0) return NULL;
    const gs_ptx_type result = gs_ptx_type_of(in->part[6]), type = gs_ptx_type_of(in->part[7]);
    for (size_t i = 0; i < GS_COUNT(shapes); i++)
        if (shapes[i].type == type && shapes[i].result == result && strcmp(shapes[i].name, in->part[3]) == 0) return &shapes[i];
    return NULL;
}

static gs_status decode_mma(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const struct mma_shape *const shape = find_shape(in);
    if (!shape) return gs_emu_unsupported(d, "the emulated device has no mma of this shape and these types");
    const bool wide = shape->type == GS_PTX_F64;
    const gs_ptx_type accumulator = wide ? GS_PTX_F64 : shape->result == GS_PTX_F32 ? GS_PTX_F32 : GS_PTX_B32;
    const gs_ptx_type element = wide ? GS_PTX_F64 : GS_PTX_B32;
    uint32_t b, c;
    op->exec = wide ? exec_mma_f64 : exec_mma;
    op->class = GS_EMU_MATRIX;
    op->type = shape->type;
    op->type2 = shape->result;
    op->count = (uint8_t)(shape - shapes);
    op->lists = (uint16_t)gs_emu_destinations(d, gs_emu_operand(d, 0), accumulator, &op->list);
    const int a_count = gs_emu_sources(d, gs_emu_operand(d, 1), element, &op->list2);   /* the three lists are adjacent */
    const int b_count = gs_emu_sources(d, gs_emu_operand(d, 2), element, &b);
    const int c_count = gs_emu_sources(d, gs_emu_operand(d, 3), accumulator, &c);
    GS_TRY(d->status);
    op->lists2 = (uint16_t)(a_count + b_count + c_count);
    if (op->lists != shape->c || a_count != shape->a || b_count != shape->b || c_count != shape->c)
        return gs_emu_unsupported(d, "the number of registers is not that of the shape");
    for (uint32_t i = 0; i < op->lists; i++)
        if (d->code->list[op->list + i] == GS_EMU_NONE) return gs_emu_unsupported(d, "a destination is missing");
    return GS_OK;
}

gs_status gs_emu_decode_matrix(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[0], "mma") == 0) return decode_mma(d, in, op);
    if (strcmp(in->part[0], "ldmatrix") == 0) return decode_rows(d, in, op, false);
    if (strcmp(in->part[0], "stmatrix") == 0) return decode_rows(d, in, op, true);
    if (strcmp(in->part[0], "movmatrix") == 0) return decode_movmatrix(d, in, op);
    return GS_ERROR_NOT_FOUND;
}
