/* SPDX-License-Identifier: MIT
 * Conversions: cvt between integers and floating-point numbers of all sizes, and cvt.pack. Common ones have a function each. The others are done in passes over the 32
 * lanes: load, convert to f64 or 64-bit integers, round once, store; only one pass depends on each type. Registers may be wider than the types: the low bits of a
 * source are used, a result is extended according to its type. */
#include <string.h>

#include "emu/isa/alu.h"

#define LANES GS_EMU_LANES

/* op->type, type2: types of result and source; op->count: bits of the source register, op->lists: bits of the result register. */
static inline gs_ptx_type to_of(const gs_emu_op *op)   { return (gs_ptx_type)op->type; }
static inline gs_ptx_type from_of(const gs_emu_op *op) { return (gs_ptx_type)op->type2; }

static bool is_signed(gs_ptx_type type)  { return type >= GS_PTX_S8 && type <= GS_PTX_S64; }
static bool is_integer(gs_ptx_type type) { return type >= GS_PTX_U8 && type <= GS_PTX_S64; }
static bool is_float(gs_ptx_type type)   { return type == GS_PTX_F16 || type == GS_PTX_BF16 || type == GS_PTX_F32 || type == GS_PTX_F64; }

/* ---- load and store ---- */

static void load_bits(gs_emu_warp *w, const gs_emu_op *op, uint32_t offset, uint64_t out[LANES])
{
    const uint16_t *const h = gs_emu_u16(w, offset);
    const uint32_t *const s = gs_emu_u32(w, offset);
    const uint64_t *const d = gs_emu_u64(w, offset);
    if (op->count == 16) for (int l = 0; l < LANES; l++) out[l] = h[l];
    if (op->count == 32) for (int l = 0; l < LANES; l++) out[l] = s[l];
    if (op->count == 64) for (int l = 0; l < LANES; l++) out[l] = d[l];
}

static void store_bits(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, const uint64_t value[LANES])
{
    uint16_t *const h = gs_emu_u16(w, op->dst);
    uint32_t *const s = gs_emu_u32(w, op->dst);
    uint64_t *const d = gs_emu_u64(w, op->dst);
    if (op->lists == 16) GS_EMU_EACH(l, lanes, h[l] = (uint16_t)value[l]);
    if (op->lists == 32) GS_EMU_EACH(l, lanes, s[l] = (uint32_t)value[l]);
    if (op->lists == 64) GS_EMU_EACH(l, lanes, d[l] = value[l]);
}

/* Sign- or zero-extends the low bits of a number. */
static void extend(gs_ptx_type type, uint64_t value[LANES])
{
    const int rest = 64 - gs_ptx_type_bits(type);
    if (is_signed(type)) for (int l = 0; l < LANES; l++) value[l] = (uint64_t)((int64_t)(value[l] << rest) >> rest);
    else for (int l = 0; l < LANES; l++) value[l] = value[l] << rest >> rest;
}

/* f64 represents every f16, bf16 and f32. */
static void load_float(gs_emu_warp *w, const gs_emu_op *op, uint32_t offset, double out[LANES])
{
    const bool flush = op->flags & GS_EMU_M_FTZ && to_of(op) != GS_PTX_F16;   /* f16 has no number that small except zero, so the GPU does not flush for it */
    uint64_t bits[LANES];
    load_bits(w, op, offset, bits);
    switch (from_of(op)) {
    case GS_PTX_F16:  for (int l = 0; l < LANES; l++) out[l] = gs_f16_to_f32((uint16_t)bits[l]); break;
    case GS_PTX_BF16: for (int l = 0; l < LANES; l++) out[l] = gs_bf16_to_f32((uint16_t)bits[l]); break;
    case GS_PTX_F64:  for (int l = 0; l < LANES; l++) out[l] = gs_bits_f64(bits[l]); break;
    default:
        for (int l = 0; l < LANES; l++) {
            const float value = gs_bits_f32((uint32_t)bits[l]);
            out[l] = flush ? gs_emu_flush(value) : value;
        }
    }
}

/* ---- rounding to integers ---- */

/* To nearest: numbers above 2^52 have no fraction; for others, adding 2^52 rounds it off. */
static inline double to_nearest(double value)
{
    const double magnitude = fabs(value), sum = magnitude + 0x1p52;
    return magnitude < 0x1p52 ? copysign(sum - 0x1p52, value) : value;
}

static inline double to_lower(double value)
{
    const double near = to_nearest(value);
    return near > value ? copysign(near - 1, value) : near;
}

static void round_to_integers(uint32_t flags, double value[LANES])
{
    if (flags & GS_EMU_M_RNI) for (int l = 0; l < LANES; l++) value[l] = to_nearest(value[l]);
    if (flags & GS_EMU_M_RZI) for (int l = 0; l < LANES; l++) value[l] = copysign(to_lower(fabs(value[l])), value[l]);
    if (flags & GS_EMU_M_RMI) for (int l = 0; l < LANES; l++) value[l] = to_lower(value[l]);
    if (flags & GS_EMU_M_RPI) for (int l = 0; l < LANES; l++) value[l] = -to_lower(-value[l]);
}

/* ---- to integers ---- */

static gs_emu_result integer_to_integer(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint64_t value[LANES];
    const gs_ptx_type to = to_of(op), from = from_of(op);
    load_bits(w, op, op->src[0], value);
    extend(from, value);
    if (op->flags & GS_EMU_M_SAT) {
        const int bits = gs_ptx_type_bits(to);
        const uint64_t most = is_signed(to) ? (1ull << (bits - 1)) - 1 : ~0ull >> (64 - bits);
        const int64_t least = is_signed(to) ? -(int64_t)most - 1 : 0;
        if (is_signed(from))
            for (int l = 0; l < LANES; l++) {
                const int64_t v = (int64_t)value[l];
                value[l] = v < least ? (uint64_t)least : v >= 0 && value[l] > most ? most : value[l];
            }
        else
            for (int l = 0; l < LANES; l++) value[l] = value[l] > most ? most : value[l];
    }
    extend(to, value);
    store_bits(w, op, lanes, value);
    return GS_EMU_NEXT;
}

/* Out of range gives the nearest integer. NaN gives zero, but if one of the types has 64 bits, an integer with only the highest bit set. */
static gs_emu_result float_to_integer(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    double value[LANES];
    uint64_t out[LANES];
    const gs_ptx_type to = to_of(op);
    const int bits = gs_ptx_type_bits(to);
    const bool wide = bits == 64 || from_of(op) == GS_PTX_F64;
    load_float(w, op, op->src[0], value);
    round_to_integers(op->flags, value);
    const uint64_t most = is_signed(to) ? (1ull << (bits - 1)) - 1 : ~0ull >> (64 - bits), least = is_signed(to) ? ~most : 0;
    const uint64_t none = wide ? 1ull << (bits - 1) : 0;
    const double above = ldexp(1, is_signed(to) ? bits - 1 : bits), below = is_signed(to) ? -above : 0;
    for (int l = 0; l < LANES; l++) {
        const double v = value[l];
        if (v != v) out[l] = none;
        else if (v >= above) out[l] = most;
        else if (v < below) out[l] = least;
        else out[l] = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
    }
    extend(to, out);
    store_bits(w, op, lanes, out);
    return GS_EMU_NEXT;
}

/* ---- to floating point ---- */

/* Half precision in a directed mode: the nearest number, or its neighbour if that is on the wrong side. */
static inline uint16_t narrow_half(double value, gs_emu_round round, bool brain)
{
    const uint16_t near = brain ? gs_f64_to_bf16(value) : gs_f64_to_f16(value);
    const double back = brain ? gs_bf16_to_f32(near) : gs_f16_to_f32(near);
    const bool above = back > value, below = back < value, negative = value < 0;
    int step = 0;
    if (round == GS_EMU_RZ) step = (negative ? below : above) ? -1 : 0;
    if (round == GS_EMU_RM) step = above ? (negative ? 1 : -1) : 0;
    if (round == GS_EMU_RP) step = below ? (negative ? -1 : 1) : 0;
    return (uint16_t)(near + step);
}

/* tf32: f32 without its low 13 bits. RNA: nearest, ties away from zero; the hardware applies the same integer arithmetic to NaN. */
static inline uint32_t narrow_tf32(float value, uint32_t flags)
{
    const uint32_t bits = gs_f32_bits(value), magnitude = bits & 0x7fffffffu, sign = bits & 0x80000000u;
    if (magnitude > 0x7f800000u && !(flags & GS_EMU_M_RNA)) return GS_EMU_NAN_F32 & 0xffffe000u;
    const uint32_t half = magnitude >= 0x7f800000u ? 0 : flags & GS_EMU_M_RNA ? 0x1000u : flags & GS_EMU_M_RN ? 0x0fffu + (magnitude >> 13 & 1) : 0;
    uint32_t rounded = (magnitude + half) & 0xffffe000u;
    if (flags & GS_EMU_M_SATFINITE && rounded >= 0x7f800000u) rounded -= 0x2000u;
    return flags & GS_EMU_M_RELU && sign ? 0 : sign | rounded;
}

/* The NaN for an f64 NaN: the same sign and leading bits. */
static inline uint32_t nan_of_f64(double value, bool brain)
{
    const uint64_t bits = gs_f64_bits(value);
    return (uint32_t)(bits >> 48 & 0x8000) | (brain ? 0x7fc0 | (uint32_t)(bits >> 45 & 0x7f) : 0x7e00 | (uint32_t)(bits >> 42 & 0x3ff));
}

static void to_half(const double value[LANES], uint32_t flags, bool brain, uint64_t out[LANES])
{
    const gs_emu_round round = gs_emu_round_of(flags);
    const uint32_t infinity = brain ? 0x7f80 : 0x7c00, one = brain ? 0x3f80 : 0x3c00;
    for (int l = 0; l < LANES; l++) out[l] = narrow_half(value[l], round, brain);
    for (int l = 0; l < LANES && flags & GS_EMU_M_SATFINITE; l++)
        if ((out[l] & 0x7fff) == infinity) out[l]--;
    for (int l = 0; l < LANES && flags & GS_EMU_M_RELU; l++)
        if (out[l] & 0x8000) out[l] = 0;
    for (int l = 0; l < LANES && flags & GS_EMU_M_SAT; l++) out[l] = out[l] > infinity ? 0 : out[l] > one ? one : out[l];
}

static void to_f32(const double value[LANES], const gs_emu_op *op, uint64_t out[LANES])
{
    const gs_emu_round round = gs_emu_round_of(op->flags);
    const bool canonical = from_of(op) != GS_PTX_F64;   /* an f64 NaN becomes an f32 NaN with its sign */
    for (int l = 0; l < LANES; l++) {
        float near = gs_emu_narrow(op->flags & GS_EMU_M_FTZ ? gs_emu_flush_exact(value[l], round) : value[l], round);
        if (op->flags & GS_EMU_M_SAT) near = near > 0 ? (near < 1 ? near : 1) : 0;
        out[l] = gs_f32_bits(canonical ? gs_emu_canonical(near) : near);
    }
}

static void to_f64(const double value[LANES], const gs_emu_op *op, uint64_t out[LANES])
{
    for (int l = 0; l < LANES; l++) {
        const double v = value[l];
        out[l] = gs_f64_bits(op->flags & GS_EMU_M_SAT ? (v > 0 ? (v < 1 ? v : 1) : 0) : v);
    }
}

static void store_float(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, const double value[LANES])
{
    uint64_t out[LANES];
    switch (to_of(op)) {
    case GS_PTX_F16:
    case GS_PTX_BF16:
        to_half(value, op->flags, to_of(op) == GS_PTX_BF16, out);
        if (from_of(op) == GS_PTX_F64 && !(op->flags & GS_EMU_M_SAT))
            for (int l = 0; l < LANES; l++) out[l] = value[l] != value[l] ? nan_of_f64(value[l], to_of(op) == GS_PTX_BF16) : out[l];
        break;
    case GS_PTX_F64:  to_f64(value, op, out); break;
    case GS_PTX_TF32: for (int l = 0; l < LANES; l++) out[l] = narrow_tf32((float)value[l], op->flags); break;
    default:          to_f32(value, op, out); break;
    }
    store_bits(w, op, lanes, out);
}

static gs_emu_result float_to_float(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    double value[LANES];
    load_float(w, op, op->src[0], value);
    round_to_integers(op->flags, value);
    store_float(w, op, lanes, value);
    return GS_EMU_NEXT;
}

/* An f64 rounded in a directed mode, from the nearest f64 and the sign of the rounding error. Integers are never near the limits of the range. */
static inline double direct(double near, double rest, gs_emu_round round)
{
    const bool toward_zero = (rest > 0) != (near > 0);
    const uint64_t bits = gs_f64_bits(near);
    if (rest == 0) return near;
    if (round == GS_EMU_RZ) return toward_zero ? gs_bits_f64(bits - 1) : near;
    if (round == GS_EMU_RM && rest < 0) return gs_bits_f64(toward_zero ? bits - 1 : bits + 1);
    if (round == GS_EMU_RP && rest > 0) return gs_bits_f64(toward_zero ? bits - 1 : bits + 1);
    return near;
}

/* Adds the integer's two halves, each of which is exact as f64. */
static gs_emu_result integer_to_float(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint64_t bits[LANES];
    double value[LANES];
    const gs_emu_round round = gs_emu_round_of(op->flags);
    load_bits(w, op, op->src[0], bits);
    extend(from_of(op), bits);
    for (int l = 0; l < LANES; l++) {
        const double high = is_signed(from_of(op)) ? (double)(int32_t)(bits[l] >> 32) : (double)(uint32_t)(bits[l] >> 32);
        double rest;
        const double near = gs_emu_two_sum(high * 0x1p32, (double)(uint32_t)bits[l], &rest);
        value[l] = to_of(op) == GS_PTX_F64 ? direct(near, rest, round) : gs_emu_to_odd(near, rest);
    }
    store_float(w, op, lanes, value);
    return GS_EMU_NEXT;
}

/* Two f32 to a pair of halves; the first source becomes the upper half. */
static gs_emu_result float_to_pair(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const bool brain = to_of(op) == GS_PTX_BF16X2;
    double value[LANES];
    uint64_t high[LANES], low[LANES];
    load_float(w, op, op->src[0], value);
    to_half(value, op->flags, brain, high);
    load_float(w, op, op->src[1], value);
    to_half(value, op->flags, brain, low);
    for (int l = 0; l < LANES; l++) low[l] |= high[l] << 16;
    store_bits(w, op, lanes, low);
    return GS_EMU_NEXT;
}

/* ---- common conversions ---- */

GS_EMU_EXEC1(f16_to_f32, float, uint16_t, gs_emu_canonical(gs_f16_to_f32(a)))
GS_EMU_EXEC1(bf16_to_f32, uint32_t, uint16_t, (uint32_t)a << 16)   /* moves bits, also for NaN */
GS_EMU_EXEC1(f32_to_f32, uint32_t, uint32_t, a)
GS_EMU_EXEC1(f32_to_f16, uint16_t, float, gs_f32_to_f16(a))
GS_EMU_EXEC1(f32_to_bf16, uint16_t, float, gs_f32_to_bf16(a))
GS_EMU_EXEC2(f32_to_f16x2, uint32_t, float, float, (uint32_t)gs_f32_to_f16(a) << 16 | gs_f32_to_f16(b))
GS_EMU_EXEC2(f32_to_bf16x2, uint32_t, float, float, (uint32_t)gs_f32_to_bf16(a) << 16 | gs_f32_to_bf16(b))
GS_EMU_EXEC1(f32_to_f64, double, float, a)
GS_EMU_EXEC1(f64_to_f32, float, double, a)
GS_EMU_EXEC1(s32_to_f32, float, int32_t, a)
GS_EMU_EXEC1(u32_to_f32, float, uint32_t, a)
GS_EMU_EXEC1(s32_to_f64, double, int32_t, a)
GS_EMU_EXEC1(u32_to_f64, double, uint32_t, a)
GS_EMU_EXEC1(u16_to_32, uint32_t, uint16_t, a)
GS_EMU_EXEC1(s16_to_32, uint32_t, int16_t, a)
GS_EMU_EXEC1(u16_to_64, uint64_t, uint16_t, a)
GS_EMU_EXEC1(s16_to_64, uint64_t, int16_t, a)
GS_EMU_EXEC1(u32_to_64, uint64_t, uint32_t, a)
GS_EMU_EXEC1(s32_to_64, uint64_t, int32_t, a)
GS_EMU_EXEC1(low_16_of_32, uint16_t, uint32_t, a)
GS_EMU_EXEC1(low_16_of_64, uint16_t, uint64_t, a)
GS_EMU_EXEC1(low_32_of_64, uint32_t, uint64_t, a)

static const struct common { uint8_t to, from; uint32_t modifiers; gs_emu_exec *exec; } commons[] = {
    {GS_PTX_F32, GS_PTX_F16, 0, f16_to_f32},                      {GS_PTX_F32, GS_PTX_BF16, 0, bf16_to_f32}, {GS_PTX_F32, GS_PTX_F32, 0, f32_to_f32},
    {GS_PTX_F16, GS_PTX_F32, GS_EMU_M_RN, f32_to_f16},            {GS_PTX_BF16, GS_PTX_F32, GS_EMU_M_RN, f32_to_bf16},
    {GS_PTX_F16X2, GS_PTX_F32, GS_EMU_M_RN, f32_to_f16x2},        {GS_PTX_BF16X2, GS_PTX_F32, GS_EMU_M_RN, f32_to_bf16x2},
    {GS_PTX_F64, GS_PTX_F32, 0, f32_to_f64},                      {GS_PTX_F32, GS_PTX_F64, GS_EMU_M_RN, f64_to_f32},
    {GS_PTX_F32, GS_PTX_S32, GS_EMU_M_RN, s32_to_f32},            {GS_PTX_F32, GS_PTX_U32, GS_EMU_M_RN, u32_to_f32},
    {GS_PTX_F64, GS_PTX_S32, GS_EMU_M_RN, s32_to_f64},            {GS_PTX_F64, GS_PTX_U32, GS_EMU_M_RN, u32_to_f64},
#define BOTH(from, bits, exec) {GS_PTX_U##bits, GS_PTX_##from, 0, exec}, {GS_PTX_S##bits, GS_PTX_##from, 0, exec}
    BOTH(U16, 32, u16_to_32), BOTH(U16, 64, u16_to_64), BOTH(U32, 64, u32_to_64),
    BOTH(S16, 32, s16_to_32), BOTH(S16, 64, s16_to_64), BOTH(S32, 64, s32_to_64),
    {GS_PTX_U16, GS_PTX_U32, 0, low_16_of_32}, {GS_PTX_S16, GS_PTX_S32, 0, low_16_of_32},
    {GS_PTX_U16, GS_PTX_U64, 0, low_16_of_64}, {GS_PTX_S16, GS_PTX_S64, 0, low_16_of_64},
    BOTH(U64, 32, low_32_of_64), BOTH(S64, 32, low_32_of_64),
#undef BOTH
};

/* ---- cvt.pack: two integers, saturated and packed; the rest of the register comes from c ---- */

static inline uint32_t saturate(int32_t value, int32_t least, int32_t most)
{
    return (uint32_t)(value < least ? least : value > most ? most : value);
}

#define PACK16(name, least, most) \
    GS_EMU_EXEC2(name, uint32_t, int32_t, int32_t, saturate(a, least, most) << 16 | (saturate(b, least, most) & 0xffff))
#define PACK8(name, least, most) \
    GS_EMU_EXEC3(name, uint32_t, int32_t, int32_t, uint32_t, c << 16 | (saturate(a, least, most) & 0xff) << 8 | (saturate(b, least, most) & 0xff))
PACK16(pack_u16, 0, 65535)
PACK16(pack_s16, -32768, 32767)
PACK8(pack_u8, 0, 255)
PACK8(pack_s8, -128, 127)

static gs_status decode_pack(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    gs_emu_parts parts;
    GS_TRY(gs_emu_read_parts(d, in, 2, &parts));
    const bool halves = parts.types == 2 && (parts.type[0] == GS_PTX_U16 || parts.type[0] == GS_PTX_S16);
    const bool bytes = parts.types == 3 && (parts.type[0] == GS_PTX_U8 || parts.type[0] == GS_PTX_S8) && parts.type[2] == GS_PTX_B32;
    if (parts.modifiers != GS_EMU_M_SAT || (!halves && !bytes) || parts.type[1] != GS_PTX_S32)
        return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    const int sources = bytes ? 3 : 2;
    if (!gs_emu_operand_count(d, sources + 1, sources + 1)) return d->status;
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), GS_PTX_B32);
    if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
    for (int i = 0; i < sources; i++) op->src[i] = gs_emu_source(d, gs_emu_operand(d, i + 1), GS_PTX_B32);
    gs_emu_exec *const exec = halves ? (parts.type[0] == GS_PTX_U16 ? pack_u16 : pack_s16) : parts.type[0] == GS_PTX_U8 ? pack_u8 : pack_s8;
    return gs_emu_finish_decode(d, op, exec, GS_EMU_INTEGER);
}

/* ---- decoding ---- */

/* The type in which an operand's lanes are accessed: its register's width, if that is more than the type's. */
static gs_ptx_type lanes_of(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type)
{
    const int bits = gs_ptx_type_bits(type);
    if (!operand || operand->kind != GS_PTX_REGISTER) return bits < 16 ? GS_PTX_B16 : type;
    const int own = gs_ptx_type_bits((gs_ptx_type)d->entry->reg[operand->index].type);
    if (own < bits || own > 64 || own < 8) return type;   /* too narrow or too wide: reading the operand reports it */
    return own <= 16 ? GS_PTX_B16 : own == 32 ? GS_PTX_B32 : GS_PTX_B64;
}

#define INTEGRAL (GS_EMU_M_RNI | GS_EMU_M_RZI | GS_EMU_M_RMI | GS_EMU_M_RPI)

/* Whether the modifiers are allowed for two floating-point types, according to the PTX ISA. */
static bool float_form(gs_ptx_type to, gs_ptx_type from, uint32_t modifiers)
{
    const uint32_t rounding = modifiers & (GS_EMU_M_ROUND | GS_EMU_M_RNA | INTEGRAL), rest = modifiers & ~rounding;
    const bool narrows = gs_ptx_type_bits(to) < gs_ptx_type_bits(from) || (to != from && gs_ptx_type_bits(to) == 16);
    const bool plain = rounding == GS_EMU_M_RN || rounding == GS_EMU_M_RZ;
    if (rounding & (rounding - 1)) return false;
    if (to == GS_PTX_TF32)
        return from == GS_PTX_F32 && (rounding == GS_EMU_M_RNA ? !(rest & ~GS_EMU_M_SATFINITE) : plain && !(rest & ~GS_EMU_M_RELU));
    if (rest & (GS_EMU_M_RELU | GS_EMU_M_SATFINITE))
        return from == GS_PTX_F32 && gs_ptx_type_bits(to) == 16 && plain && !(rest & ~(GS_EMU_M_RELU | GS_EMU_M_SATFINITE));
    if ((rest & ~(GS_EMU_M_FTZ | GS_EMU_M_SAT)) || (rest & GS_EMU_M_FTZ && to != GS_PTX_F32 && from != GS_PTX_F32)) return false;
    if (narrows) return rounding & GS_EMU_M_ROUND;
    if (rounding & INTEGRAL) return to == from;
    return !rounding || (rounding & GS_EMU_M_ROUND && from == GS_PTX_BF16 && to != from);
}

static gs_emu_exec *exec_of(gs_ptx_type to, gs_ptx_type from, uint32_t m)
{
    const uint32_t rounding = m & (GS_EMU_M_ROUND | GS_EMU_M_RNA | INTEGRAL), rest = m & ~rounding;
    const bool single = rounding && !(rounding & (rounding - 1));
    if (m & GS_EMU_M_SAT && (to == GS_PTX_BF16 || from == GS_PTX_BF16)) return NULL;
    if (to == GS_PTX_F16X2 || to == GS_PTX_BF16X2) {
        const bool plain = rounding == GS_EMU_M_RN || rounding == GS_EMU_M_RZ;
        return from == GS_PTX_F32 && plain && !(rest & ~(GS_EMU_M_RELU | GS_EMU_M_SATFINITE)) ? float_to_pair : NULL;
    }
    if (is_integer(to) && is_integer(from)) return m & ~GS_EMU_M_SAT ? NULL : integer_to_integer;
    if (is_integer(to) && is_float(from)) {
        const uint32_t allowed = from == GS_PTX_F32 ? GS_EMU_M_SAT | GS_EMU_M_FTZ : GS_EMU_M_SAT;
        return single && rounding & INTEGRAL && !(rest & ~allowed) ? float_to_integer : NULL;
    }
    if (is_float(to) && is_integer(from)) return single && rounding & GS_EMU_M_ROUND && !(rest & ~GS_EMU_M_SAT) ? integer_to_float : NULL;
    return (is_float(to) || to == GS_PTX_TF32) && is_float(from) && float_form(to, from, m) ? float_to_float : NULL;
}

static gs_status decode_cvt(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    gs_emu_parts parts;
    GS_TRY(gs_emu_read_parts(d, in, 1, &parts));
    const gs_ptx_type to = parts.type[0], from = parts.type[1];
    gs_emu_exec *exec = parts.types == 2 ? exec_of(to, from, parts.modifiers) : NULL;
    if (!exec) return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    const int sources = exec == float_to_pair ? 2 : 1;
    if (!gs_emu_operand_count(d, sources + 1, sources + 1)) return d->status;
    const gs_ptx_type to_lanes = lanes_of(d, gs_emu_operand(d, 0), to), from_lanes = lanes_of(d, gs_emu_operand(d, 1), from);
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), to_lanes);
    if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
    for (int i = 0; i < sources; i++) {
        const gs_ptx_operand *const operand = gs_emu_operand(d, i + 1);
        const bool plain = operand->kind == GS_PTX_FLOAT;   /* a literal is converted to the type itself */
        op->src[i] = gs_emu_source(d, operand, plain ? from : from_lanes);
    }
    op->type = (uint8_t)to;
    op->type2 = (uint8_t)from;
    op->flags = (uint16_t)(parts.modifiers & GS_EMU_FLAGS);
    op->count = (uint8_t)gs_ptx_type_bits(from_lanes);
    op->lists = (uint16_t)gs_ptx_type_bits(to_lanes);
    /* bf16 to f32 is exact, so the rounding modifier has no effect */
    const uint32_t modifiers = to == GS_PTX_F32 && from == GS_PTX_BF16 ? parts.modifiers & ~GS_EMU_M_ROUND : parts.modifiers;
    if (op->lists == gs_ptx_type_bits(to) && op->count == gs_ptx_type_bits(from))
        for (size_t i = 0; i < GS_COUNT(commons); i++)
            if (commons[i].to == to && commons[i].from == from && commons[i].modifiers == modifiers) exec = commons[i].exec;
    const bool wide = to == GS_PTX_F64 || from == GS_PTX_F64;
    return gs_emu_finish_decode(d, op, exec, wide ? GS_EMU_DOUBLE : is_integer(to) && is_integer(from) ? GS_EMU_INTEGER : GS_EMU_FLOAT);
}

gs_status gs_emu_decode_convert(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[0], "cvt") != 0) return GS_ERROR_NOT_FOUND;
    return in->parts > 1 && strcmp(in->part[1], "pack") == 0 ? decode_pack(d, in, op) : decode_cvt(d, in, op);
}
