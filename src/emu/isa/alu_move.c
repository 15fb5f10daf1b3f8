/* SPDX-License-Identifier: MIT
 * Moves: mov in all its forms (copies, packing vectors into a register and unpacking them), selp, slct. */
#include <string.h>

#include "emu/isa/alu.h"

/* ---- copies ---- */

GS_EMU_EXEC1(mov_16, uint16_t, uint16_t, a)
GS_EMU_EXEC1(mov_32, uint32_t, uint32_t, a)
GS_EMU_EXEC1(mov_64, uint64_t, uint64_t, a)

static gs_emu_result mov_pred(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    gs_emu_set_mask(w, op->dst, lanes, *gs_emu_mask(w, op->src[0]) ^ (op->flags ? GS_EMU_FULL : 0));
    return GS_EMU_NEXT;
}

/* ---- vectors: element i is in part i of the register, counted from the low end ---- */

#define PACK(name, count, part, whole)                                                                             \
    static gs_emu_result pack_##name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                          \
    {                                                                                                              \
        const uint32_t *const element = w->code->list + op->list;                                                  \
        whole *const d = GS_EMU_AT(w, whole, op->dst);                                                             \
        whole gathered[GS_EMU_LANES] = {0};                                                                        \
        for (int i = 0; i < count; i++) {                                                                          \
            const part *const from = GS_EMU_AT(w, part, element[i]);                                               \
            GS_EMU_ALL(l, GS_EMU_LANES, gathered[l] |= (whole)from[l] << (8 * sizeof(part) * (unsigned)i));        \
        }                                                                                                          \
        GS_EMU_EACH(l, lanes, d[l] = gathered[l]);                                                                 \
        return GS_EMU_NEXT;                                                                                        \
    }                                                                                                              \
    static gs_emu_result unpack_##name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                        \
    {                                                                                                              \
        const uint32_t *const element = w->code->list + op->list;                                                  \
        const whole *const from = GS_EMU_AT(w, whole, op->src[0]);                                                 \
        for (int i = 0; i < count; i++) {                                                                          \
            if (element[i] == GS_EMU_NONE) continue;                                                               \
            part *const d = GS_EMU_AT(w, part, element[i]);                                                        \
            GS_EMU_EACH(l, lanes, d[l] = (part)(from[l] >> (8 * sizeof(part) * (unsigned)i)));                     \
        }                                                                                                          \
        return GS_EMU_NEXT;                                                                                        \
    }
PACK(2x16, 2, uint16_t, uint32_t)
PACK(2x32, 2, uint32_t, uint64_t)
PACK(4x16, 4, uint16_t, uint64_t)

static const struct packing { uint8_t bits, count, part; gs_emu_exec *pack, *unpack; } packings[] = {
    {32, 2, GS_PTX_B16, pack_2x16, unpack_2x16},
    {64, 2, GS_PTX_B32, pack_2x32, unpack_2x32},
    {64, 4, GS_PTX_B16, pack_4x16, unpack_4x16},
};

static gs_status decode_vector(gs_emu_decoder *d, gs_emu_op *op, const gs_ptx_operand *to, const gs_ptx_operand *from, gs_ptx_type type)
{
    const bool pack = from->kind == GS_PTX_VECTOR;
    const int count = pack ? from->children : to->children;
    const struct packing *found = NULL;
    for (size_t i = 0; i < GS_COUNT(packings); i++)
        if (packings[i].bits == gs_ptx_type_bits(type) && packings[i].count == count) found = &packings[i];
    if (!found || (pack && to->kind == GS_PTX_VECTOR)) return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    if (pack) {
        gs_emu_sources(d, from, (gs_ptx_type)found->part, &op->list);
        op->dst = gs_emu_destination(d, to, type);
        if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
    } else {
        op->src[0] = gs_emu_source(d, from, type);
        gs_emu_destinations(d, to, (gs_ptx_type)found->part, &op->list);
    }
    op->lists = (uint16_t)count;
    return gs_emu_finish_decode(d, op, pack ? found->pack : found->unpack, GS_EMU_INTEGER);
}

/* ---- choices ---- */

#define SELECT(bits)                                                                                                         \
    static gs_emu_result selp_##bits(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                                    \
    {                                                                                                                        \
        const uint##bits##_t *const a = GS_EMU_AT(w, uint##bits##_t, op->src[0]), *const b = GS_EMU_AT(w, uint##bits##_t, op->src[1]); \
        const uint32_t mask = *gs_emu_mask(w, op->src[2]) ^ (op->flags ? GS_EMU_FULL : 0);                                   \
        uint##bits##_t *const d = GS_EMU_AT(w, uint##bits##_t, op->dst);                                                     \
        GS_EMU_EACH(l, lanes, const uint##bits##_t x = a[l]; const uint##bits##_t y = b[l];                                  \
                    d[l] = mask & gs_emu_lane_bit[l] ? x : y);                                                               \
        return GS_EMU_NEXT;                                                                                                  \
    }                                                                                                                        \
    GS_EMU_EXEC3(slct_s32_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, int32_t, c >= 0 ? a : b)                   \
    GS_EMU_EXEC3(slct_f32_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, float, c >= 0 ? a : b)                     \
    GS_EMU_EXEC3(slct_ftz_f32_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, float, gs_emu_flush(c) >= 0 ? a : b)
SELECT(16)
SELECT(32)
SELECT(64)

#define BY_WIDTH(bits, name) ((bits) == 16 ? name##_16 : (bits) == 32 ? name##_32 : name##_64)

static gs_status decode_select(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op, bool by_predicate)
{
    gs_emu_parts parts;
    GS_TRY(gs_emu_read_parts(d, in, 1, &parts));
    const gs_ptx_type type = parts.type[0], by = parts.type[1];
    const int bits = gs_ptx_type_bits(type);
    const bool ftz = parts.modifiers == GS_EMU_M_FTZ;
    if ((bits != 16 && bits != 32 && bits != 64) || parts.types != (by_predicate ? 1 : 2) ||
        (!by_predicate && by != GS_PTX_S32 && by != GS_PTX_F32) || (parts.modifiers && !(ftz && by == GS_PTX_F32)))
        return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    if (!gs_emu_operand_count(d, 4, 4)) return d->status;
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), type);
    if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, 1), type);
    op->src[1] = gs_emu_source(d, gs_emu_operand(d, 2), type);
    if (by_predicate) {
        bool negated = false;
        op->src[2] = gs_emu_source_predicate(d, gs_emu_operand(d, 3), &negated);
        op->flags = negated;
        return gs_emu_finish_decode(d, op, BY_WIDTH(bits, selp), GS_EMU_INTEGER);
    }
    op->src[2] = gs_emu_source(d, gs_emu_operand(d, 3), by);
    gs_emu_exec *const by_float = ftz ? BY_WIDTH(bits, slct_ftz_f32) : BY_WIDTH(bits, slct_f32);
    return gs_emu_finish_decode(d, op, by == GS_PTX_S32 ? BY_WIDTH(bits, slct_s32) : by_float, GS_EMU_INTEGER);
}

/* ---- decoding ---- */

static gs_status decode_mov(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const gs_ptx_type type = in->parts == 2 ? gs_ptx_type_of(in->part[1]) : GS_PTX_NONE;
    const int bits = gs_ptx_type_bits(type);
    if (type != GS_PTX_PRED && bits != 16 && bits != 32 && bits != 64) return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    if (!gs_emu_operand_count(d, 2, 2)) return d->status;
    const gs_ptx_operand *const to = gs_emu_operand(d, 0), *const from = gs_emu_operand(d, 1);
    if (to->kind == GS_PTX_VECTOR || from->kind == GS_PTX_VECTOR) return decode_vector(d, op, to, from, type);
    bool negated = false;
    op->dst = gs_emu_destination(d, to, type);
    if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
    op->src[0] = type == GS_PTX_PRED ? gs_emu_source_predicate(d, from, &negated) : gs_emu_source(d, from, type);
    op->flags = negated;
    return gs_emu_finish_decode(d, op, type == GS_PTX_PRED ? mov_pred : BY_WIDTH(bits, mov), GS_EMU_INTEGER);
}

gs_status gs_emu_decode_move(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[0], "mov") == 0) return decode_mov(d, in, op);
    if (strcmp(in->part[0], "selp") == 0) return decode_select(d, in, op, true);
    if (strcmp(in->part[0], "slct") == 0) return decode_select(d, in, op, false);
    return GS_ERROR_NOT_FOUND;
}
