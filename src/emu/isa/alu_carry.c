/* SPDX-License-Identifier: MIT
 * Multi-word arithmetic: add, sub and mad that read or write the carry flag. The flag is a predicate register without a name. As in the hardware, a subtraction adds
 * the complement, so a set flag means no borrow. */
#include <string.h>

#include "emu/isa/alu.h"

enum { SUBTRACT = 1, CARRY_IN = 2, CARRY_OUT = 4 };   /* op->flags */

/* d = left + right + carry; the sum has wrapped if it is less than an operand, or equal to it with an incoming carry. */
#define CHAIN(name, type, left, right)                                                                                           \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                                               \
    {                                                                                                                            \
        const type *const a_ = GS_EMU_AT(w, type, op->src[0]), *const b_ = GS_EMU_AT(w, type, op->src[1]);                       \
        const type *const c_ = GS_EMU_AT(w, type, op->src[2]);                                                                   \
        type *const d_ = GS_EMU_AT(w, type, op->dst);                                                                            \
        const type flip = op->flags & SUBTRACT ? (type)-1 : 0;                                                                   \
        const uint32_t in = op->flags & CARRY_IN ? *gs_emu_mask(w, op->dst2) : op->flags & SUBTRACT ? GS_EMU_FULL : 0;           \
        uint32_t out = 0;                                                                                                        \
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {                                                                    \
            const int lane = __builtin_ctz(rest);                                                                                \
            const type a = a_[lane], b = b_[lane], c = c_[lane], x = (left), y = (right) ^ flip, carry = in >> lane & 1;         \
            const type sum = x + y + carry;                                                                                      \
            (void)b, (void)c;                                                                                                    \
            out |= (uint32_t)(sum < x || (carry && sum == x)) << lane;                                                           \
            d_[lane] = sum;                                                                                                      \
        }                                                                                                                        \
        if (op->flags & CARRY_OUT) gs_emu_set_mask(w, op->dst2, lanes, out);                                                     \
        return GS_EMU_NEXT;                                                                                                      \
    }
CHAIN(chain_u32, uint32_t, a, b)
CHAIN(chain_u64, uint64_t, a, b)
CHAIN(chain_lo_u32, uint32_t, a * b, c)
CHAIN(chain_lo_u64, uint64_t, a * b, c)
CHAIN(chain_hi_u32, uint32_t, gs_emu_high_u32(a, b), c)
CHAIN(chain_hi_s32, uint32_t, gs_emu_high_s32(a, b), c)
CHAIN(chain_hi_u64, uint64_t, gs_emu_high_u64(a, b), c)
CHAIN(chain_hi_s64, uint64_t, gs_emu_high_s64(a, b), c)

static gs_emu_exec *exec_of(gs_ptx_type type, uint32_t product)
{
    const bool wide = gs_ptx_type_bits(type) == 64, is_signed = type == GS_PTX_S32 || type == GS_PTX_S64;
    if (!product) return wide ? chain_u64 : chain_u32;
    if (product == GS_EMU_M_LO) return wide ? chain_lo_u64 : chain_lo_u32;
    if (wide) return is_signed ? chain_hi_s64 : chain_hi_u64;
    return is_signed ? chain_hi_s32 : chain_hi_u32;
}

gs_status gs_emu_decode_carry(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const char *const names[] = {"add", "sub", "mad", "addc", "subc", "madc"};
    size_t name = 0;
    while (name < GS_COUNT(names) && strcmp(in->part[0], names[name]) != 0) name++;
    if (name == GS_COUNT(names)) return GS_ERROR_NOT_FOUND;
    const bool reads = name >= 3, product = name % 3 == 2;
    if (!reads && !gs_emu_part(in, "cc")) return GS_ERROR_NOT_FOUND;
    gs_emu_parts parts;
    GS_TRY(gs_emu_read_parts(d, in, 1, &parts));
    const uint32_t half = parts.modifiers & (GS_EMU_M_LO | GS_EMU_M_HI);
    const gs_ptx_type type = parts.type[0];
    if (parts.types != 1 || (parts.modifiers & ~(GS_EMU_M_CC | half)) || (product ? half != GS_EMU_M_LO && half != GS_EMU_M_HI : half != 0) ||
        (type != GS_PTX_U32 && type != GS_PTX_S32 && type != GS_PTX_U64 && type != GS_PTX_S64))
        return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    const int sources = product ? 3 : 2;
    if (!gs_emu_operand_count(d, sources + 1, sources + 1)) return d->status;
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), type);
    if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
    for (int i = 0; i < 3; i++) op->src[i] = gs_emu_source(d, gs_emu_operand(d, i < sources ? i + 1 : 1), type);
    op->dst2 = gs_emu_carry(d);
    op->flags = (uint16_t)((name % 3 == 1 ? SUBTRACT : 0) | (reads ? CARRY_IN : 0) | (parts.modifiers & GS_EMU_M_CC ? CARRY_OUT : 0));
    op->type = (uint8_t)type;
    return gs_emu_finish_decode(d, op, exec_of(type, half), GS_EMU_INTEGER);
}
