/* SPDX-License-Identifier: MIT
 * The arithmetic of bulk reductions, as measured on an H200: sums keep subnormal numbers; a NaN becomes the canonical one, but an f64 NaN keeps its bits; minimum and
 * maximum prefer a number to a NaN, and order -0 < 0. */
#include "emu/isa/bulk.h"

#include <string.h>

#include "base/half.h"

#define F64_NAN 0xfff8000000000000ull   /* result of infinity - infinity */

#define BIT(type) (1u << (type))
#define HALVES    (BIT(GS_PTX_F16) | BIT(GS_PTX_BF16))

bool gs_emu_reduction_exists(gs_emu_reduction reduction, gs_ptx_type type)
{
    static const uint32_t types[] = {
        [GS_EMU_REDUCE_ADD] = HALVES | BIT(GS_PTX_F32) | BIT(GS_PTX_F64) | BIT(GS_PTX_U32) | BIT(GS_PTX_S32) | BIT(GS_PTX_U64),
        [GS_EMU_REDUCE_MIN] = HALVES | BIT(GS_PTX_U32) | BIT(GS_PTX_S32) | BIT(GS_PTX_U64) | BIT(GS_PTX_S64),
        [GS_EMU_REDUCE_MAX] = HALVES | BIT(GS_PTX_U32) | BIT(GS_PTX_S32) | BIT(GS_PTX_U64) | BIT(GS_PTX_S64),
        [GS_EMU_REDUCE_INC] = BIT(GS_PTX_U32),
        [GS_EMU_REDUCE_DEC] = BIT(GS_PTX_U32),
        [GS_EMU_REDUCE_AND] = BIT(GS_PTX_B32) | BIT(GS_PTX_B64) | BIT(GS_PTX_U32) | BIT(GS_PTX_S32) | BIT(GS_PTX_U64),
        [GS_EMU_REDUCE_OR]  = BIT(GS_PTX_B32) | BIT(GS_PTX_B64) | BIT(GS_PTX_U32) | BIT(GS_PTX_S32) | BIT(GS_PTX_U64),
        [GS_EMU_REDUCE_XOR] = BIT(GS_PTX_B32) | BIT(GS_PTX_B64) | BIT(GS_PTX_U32) | BIT(GS_PTX_S32) | BIT(GS_PTX_U64),
    };
    return types[reduction] >> type & 1;
}

/* ---- one element ---- */

static uint64_t add_f64(uint64_t old, uint64_t value)
{
    const double a = gs_bits_f64(old), b = gs_bits_f64(value);
    if (b != b) return value;
    if (a != a) return old;
    const double sum = a + b;
    return sum != sum ? F64_NAN : gs_f64_bits(sum);
}

static uint64_t add(gs_ptx_type type, uint64_t old, uint64_t value)
{
    const uint16_t a = (uint16_t)old, b = (uint16_t)value;
    switch (type) {
    case GS_PTX_F16: return gs_f32_to_f16(gs_f16_to_f32(a) + gs_f16_to_f32(b));      /* f32 has more than twice the digits, so this is rounded once */
    case GS_PTX_BF16: return gs_f32_to_bf16(gs_bf16_to_f32(a) + gs_bf16_to_f32(b));
    case GS_PTX_F64: return add_f64(old, value);
    case GS_PTX_F32: {
        const float sum = gs_bits_f32((uint32_t)old) + gs_bits_f32((uint32_t)value);
        return sum != sum ? 0x7fffffffu : gs_f32_bits(sum);
    }
    default: return old + value;
    }
}

/* Order as integers: negative below positive, -0 below 0. */
static int order_of(uint64_t half) { return half & 0x8000 ? -(int)(half & 0x7fff) - 1 : (int)half; }

static uint64_t least_half(gs_ptx_type type, uint64_t old, uint64_t value, bool greatest)
{
    const uint64_t infinity = type == GS_PTX_F16 ? 0x7c00 : 0x7f80;
    const bool old_nan = (old & 0x7fff) > infinity, value_nan = (value & 0x7fff) > infinity;
    if (old_nan && value_nan) return 0x7fff;
    if (old_nan || value_nan) return old_nan ? value : old;
    return (order_of(old) < order_of(value)) != greatest ? old : value;
}

static uint64_t least(gs_ptx_type type, uint64_t old, uint64_t value, bool greatest)
{
    bool below;
    switch (type) {
    case GS_PTX_F16:
    case GS_PTX_BF16: return least_half(type, old, value, greatest);
    case GS_PTX_S32: below = (int32_t)old < (int32_t)value; break;
    case GS_PTX_S64: below = (int64_t)old < (int64_t)value; break;
    default: below = old < value; break;
    }
    return below != greatest ? old : value;
}

static uint64_t combine(gs_emu_reduction reduction, gs_ptx_type type, uint64_t old, uint64_t value)
{
    switch (reduction) {
    case GS_EMU_REDUCE_ADD: return add(type, old, value);
    case GS_EMU_REDUCE_MIN: return least(type, old, value, false);
    case GS_EMU_REDUCE_MAX: return least(type, old, value, true);
    case GS_EMU_REDUCE_INC: return old >= value ? 0 : old + 1;
    case GS_EMU_REDUCE_DEC: return old == 0 || old > value ? value : old - 1;
    case GS_EMU_REDUCE_AND: return old & value;
    case GS_EMU_REDUCE_OR: return old | value;
    case GS_EMU_REDUCE_XOR: return old ^ value;
    default: return value;
    }
}

/* ---- many ---- */

#define REDUCE(integer)                                                                                             \
    static void reduce_##integer(gs_emu_reduction reduction, gs_ptx_type type, uint8_t *to, const uint8_t *from)    \
    {                                                                                                               \
        integer *const at = (integer *)(void *)to;                                                                  \
        integer value, fresh, old = __atomic_load_n(at, __ATOMIC_RELAXED);                                          \
        memcpy(&value, from, sizeof value);                                                                         \
        do fresh = (integer)combine(reduction, type, old, value);                                                   \
        while (!__atomic_compare_exchange_n(at, &old, fresh, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));            \
    }
REDUCE(uint16_t)
REDUCE(uint32_t)
REDUCE(uint64_t)

void gs_emu_reduce(gs_emu_reduction reduction, gs_ptx_type type, uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    const uint32_t size = (uint32_t)gs_ptx_type_bits(type) / 8;
    for (uint32_t i = 0; i < bytes; i += size) {
        if (size == 2)
            reduce_uint16_t(reduction, type, to + i, from + i);
        else if (size == 4)
            reduce_uint32_t(reduction, type, to + i, from + i);
        else
            reduce_uint64_t(reduction, type, to + i, from + i);
    }
}
