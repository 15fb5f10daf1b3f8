/* SPDX-License-Identifier: MIT
 * Shared by the decoders of arithmetic: modifiers and types of an opcode, number of operands. */
#include <string.h>

#include "emu/isa/alu.h"

const uint32_t gs_emu_lane_bit[GS_EMU_LANES] = {
#define FOUR(i) 1u << (i), 2u << (i), 4u << (i), 8u << (i)
    FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28),
#undef FOUR
};

/* ---- modifiers ---- */

static const char *const modifier_text[] = {
#define GS_EMU_MODIFIER(name, text) text,
    GS_EMU_MODIFIERS(GS_EMU_MODIFIER)
#undef GS_EMU_MODIFIER
};

static uint32_t modifier_of(const char *part)
{
    for (int i = 0; i < GS_EMU_MODIFIER_COUNT; i++)
        if (strcmp(part, modifier_text[i]) == 0) return 1u << i;
    return 0;
}

gs_status gs_emu_read_parts(gs_emu_decoder *d, const gs_ptx_instruction *in, int first, gs_emu_parts *out)
{
    *out = (gs_emu_parts){0};
    for (int i = first; i < in->parts; i++) {
        const gs_ptx_type type = gs_ptx_type_of(in->part[i]);
        const uint32_t modifier = type == GS_PTX_NONE ? modifier_of(in->part[i]) : 0;
        if (type == GS_PTX_NONE && !modifier) return gs_emu_unsupported(d, "unknown modifier .%s", in->part[i]);
        if (out->modifiers & modifier) return gs_emu_unsupported(d, "modifier .%s stands twice", in->part[i]);
        if (type != GS_PTX_NONE && out->types == (int)GS_COUNT(out->type)) return gs_emu_unsupported(d, "too many types");
        if (type != GS_PTX_NONE) out->type[out->types++] = type;
        out->modifiers |= modifier;
    }
    return GS_OK;
}

/* ---- tables ---- */

bool gs_emu_operand_count(gs_emu_decoder *d, int least, int most)
{
    if (d->in->operands >= least && d->in->operands <= most) return true;
    gs_emu_unsupported(d, "%d operands where %d are expected", (int)d->in->operands, d->in->operands < least ? least : most);
    return false;
}

gs_status gs_emu_finish_decode(gs_emu_decoder *d, gs_emu_op *op, gs_emu_exec *exec, gs_emu_class class)
{
    if (d->status != GS_OK) return d->status;
    op->exec = gs_emu_faster(exec);
    op->class = (uint8_t)class;
    return GS_OK;
}
