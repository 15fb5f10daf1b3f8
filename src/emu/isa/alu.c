/* SPDX-License-Identifier: MIT
 * Decoding of arithmetic: finds the function for an opcode in the tables of the alu_*.c files. */
#include <string.h>

#include "emu/isa/alu.h"

/* Reads the destination and the sources of a row; "!p" of source i sets bit i of op->flags. */
static void decode_operands(gs_emu_decoder *d, gs_emu_op *op, const gs_emu_row *row)
{
    int sources = 0;
    while (sources + 1 < GS_EMU_ROW_OPERANDS && row->operand[sources + 1]) sources++;
    if (!gs_emu_operand_count(d, sources + 1, sources + 1)) return;
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), (gs_ptx_type)row->operand[0]);
    if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
    for (int i = 0; i < sources; i++) {
        const gs_ptx_type type = (gs_ptx_type)row->operand[i + 1];
        const gs_ptx_operand *const operand = gs_emu_operand(d, i + 1);
        bool negated = false;
        op->src[i] = type == GS_PTX_PRED ? gs_emu_source_predicate(d, operand, &negated) : gs_emu_source(d, operand, type);
        if (negated) op->flags |= (uint16_t)(1 << i);
    }
}

static const gs_emu_rows *const tables[] = {
    &gs_emu_rows_integer, &gs_emu_rows_bits, &gs_emu_rows_logic, &gs_emu_rows_float, &gs_emu_rows_fma, &gs_emu_rows_double,
    &gs_emu_rows_half, &gs_emu_rows_special,
};

static bool fits(const gs_emu_row *row, const gs_emu_parts *parts)
{
    const uint32_t rounding = parts->modifiers & GS_EMU_M_ROUND;
    return parts->type[0] == row->type && parts->type[1] == row->type2 && parts->types <= 2 &&
           (parts->modifiers & row->need) == row->need && !(parts->modifiers & ~(row->need | row->may)) && !(rounding & (rounding - 1));
}

static gs_status decode_row(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    gs_emu_parts parts = {0};
    bool named = false;
    for (size_t t = 0; t < GS_COUNT(tables); t++)
        for (size_t i = 0; i < tables[t]->rows; i++) {
            const gs_emu_row *const row = &tables[t]->row[i];
            if (strcmp(in->part[0], row->name) != 0) continue;
            if (!named) GS_TRY(gs_emu_read_parts(d, in, 1, &parts));
            named = true;
            if (!fits(row, &parts)) continue;
            op->flags = (uint16_t)(parts.modifiers & GS_EMU_FLAGS);
            op->type = row->type;
            op->type2 = row->type2;
            decode_operands(d, op, row);
            return gs_emu_finish_decode(d, op, row->exec, (gs_emu_class)row->class);
        }
    return named ? gs_emu_unsupported(d, GS_EMU_NO_FORM) : GS_ERROR_NOT_FOUND;
}

gs_status gs_emu_decode_alu(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static gs_emu_decode *const decoders[] = {
        gs_emu_decode_move, gs_emu_decode_compare, gs_emu_decode_carry, gs_emu_decode_logic, gs_emu_decode_permute,
    };
    for (size_t i = 0; i < GS_COUNT(decoders); i++) {
        const gs_status status = decoders[i](d, in, op);
        if (status != GS_ERROR_NOT_FOUND) return status;
    }
    return decode_row(d, in, op);
}
