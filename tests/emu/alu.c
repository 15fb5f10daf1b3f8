/* SPDX-License-Identifier: MIT
 * Integer arithmetic, bits, logic, moves and comparisons of the emulated device, against plain loops and 128-bit integers. */
#include "emu_alu.h"

typedef __int128 wide;

static const struct int_type { const char *name; int bits; bool is_signed; char letter; } types[] = {
    {"u16", 16, false, 'h'}, {"s16", 16, true, 'h'}, {"u32", 32, false, 'r'}, {"s32", 32, true, 'r'}, {"u64", 64, false, 'q'}, {"s64", 64, true, 'q'},
};

/* The integer in the low `width` bits. */
static wide number(uint64_t bits, int width, bool is_signed)
{
    const wide one = 1;
    const wide value = width == 64 ? (wide)bits : (wide)(bits & ((1ull << width) - 1));
    return is_signed && (bits >> (width - 1) & 1) ? value - (one << width) : value;
}

static uint64_t low(wide value, int width) { return width == 64 ? (uint64_t)value : (uint64_t)value & ((1ull << width) - 1); }

/* ---- integer arithmetic ---- */

typedef struct int_case {
    struct int_type type;
    wide (*function)(wide a, wide b, wide c, int bits);
    int sources;
    int result_bits;
    bool third_is_wide;
} int_case;

static uint64_t int_reference(const uint64_t v[4], const void *context)
{
    const int_case *const t = context;
    const int bits = t->type.bits, third = t->third_is_wide ? 2 * bits : bits;
    const bool s = t->type.is_signed;
    return low(t->function(number(v[0], bits, s), number(v[1], bits, s), number(v[2], third, s), bits), t->result_bits);
}

static wide ref_add(wide a, wide b, wide c, int n) { (void)c, (void)n; return a + b; }
static wide ref_sub(wide a, wide b, wide c, int n) { (void)c, (void)n; return a - b; }
static wide ref_mul(wide a, wide b, wide c, int n) { (void)c, (void)n; return (wide)((unsigned __int128)a * (unsigned __int128)b); }
static wide ref_high(wide a, wide b, wide c, int n) { (void)c; return ref_mul(a, b, 0, 0) >> n; }
static wide ref_mad(wide a, wide b, wide c, int n) { (void)n; return (wide)((unsigned __int128)ref_mul(a, b, 0, 0) + (unsigned __int128)c); }
static wide ref_mad_high(wide a, wide b, wide c, int n) { return ref_high(a, b, 0, n) + c; }
static wide ref_min(wide a, wide b, wide c, int n) { (void)c, (void)n; return a < b ? a : b; }
static wide ref_max(wide a, wide b, wide c, int n) { (void)c, (void)n; return a > b ? a : b; }
static wide ref_sad(wide a, wide b, wide c, int n) { (void)n; return c + (a < b ? b - a : a - b); }
static wide ref_div(wide a, wide b, wide c, int n) { (void)c, (void)n; return b ? a / b : -1; }
static wide ref_rem(wide a, wide b, wide c, int n) { (void)c, (void)n; return b ? a % b : -1; }
static wide ref_neg(wide a, wide b, wide c, int n) { (void)b, (void)c, (void)n; return -a; }
static wide ref_abs(wide a, wide b, wide c, int n) { (void)b, (void)c, (void)n; return a < 0 ? -a : a; }
static wide saturate(wide v, int n) { const wide most = ((wide)1 << (n - 1)) - 1; return v > most ? most : v < -most - 1 ? -most - 1 : v; }
static wide ref_add_sat(wide a, wide b, wide c, int n) { (void)c; return saturate(a + b, n); }
static wide ref_sub_sat(wide a, wide b, wide c, int n) { (void)c; return saturate(a - b, n); }
static wide ref_mad_sat(wide a, wide b, wide c, int n) { return saturate(ref_high(a, b, 0, n) + c, n); }
static wide ref_min_relu(wide a, wide b, wide c, int n) { const wide m = ref_min(a, b, c, n); return m < 0 ? 0 : m; }
static wide ref_max_relu(wide a, wide b, wide c, int n) { const wide m = ref_max(a, b, c, n); return m < 0 ? 0 : m; }

static void check_int(const char *name, const struct int_type *type, wide (*function)(wide, wide, wide, int), int sources, bool widens)
{
    char text[128];
    const char to = widens ? (type->bits == 16 ? 'r' : 'q') : type->letter;
    const int_case t = {*type, function, sources, widens ? 2 * type->bits : type->bits, widens};
    int at = snprintf(text, sizeof text, "%s.%s %%%c0", name, type->name, to);
    for (int i = 1; i <= sources; i++) at += snprintf(text + at, sizeof text - (size_t)at, ", %%%c%d", widens && i == 3 ? to : type->letter, i);
    snprintf(text + at, sizeof text - (size_t)at, ";");
    alu_check(text, sources == 1 ? "i" : sources == 2 ? "ii" : "iii", int_reference, &t);
}

static void integers_wrap_saturate_and_widen(void **state)
{
    (void)state;
    static const struct { const char *name; wide (*function)(wide, wide, wide, int); int sources; } all[] = {
        {"add", ref_add, 2}, {"sub", ref_sub, 2}, {"mul.lo", ref_mul, 2}, {"mul.hi", ref_high, 2}, {"mad.lo", ref_mad, 3},
        {"mad.hi", ref_mad_high, 3},
        {"min", ref_min, 2}, {"max", ref_max, 2}, {"sad", ref_sad, 3}, {"div", ref_div, 2}, {"rem", ref_rem, 2},
    };
    for (size_t t = 0; t < GS_COUNT(types); t++) {
        for (size_t i = 0; i < GS_COUNT(all); i++) check_int(all[i].name, &types[t], all[i].function, all[i].sources, false);
        if (types[t].bits < 64) check_int("mul.wide", &types[t], ref_mul, 2, true);
        if (types[t].bits < 64) check_int("mad.wide", &types[t], ref_mad, 3, true);
        if (types[t].is_signed) check_int("neg", &types[t], ref_neg, 1, false);
        if (types[t].is_signed) check_int("abs", &types[t], ref_abs, 1, false);
    }
    check_int("add.sat", &types[3], ref_add_sat, 2, false);
    check_int("sub.sat", &types[3], ref_sub_sat, 2, false);
    check_int("mad.hi.sat", &types[3], ref_mad_sat, 3, false);
    check_int("min.relu", &types[3], ref_min_relu, 2, false);
    check_int("max.relu", &types[3], ref_max_relu, 2, false);
}

static void division_by_zero_gives_ones_and_overflow_does_not_trap(void **state)
{
    (void)state;
    assert_int_equal(alu_one("div.u32 %r0, %r1, %r2;", "r0", 7, "r1", 0, "r2"), 0xffffffff);
    assert_int_equal(alu_one("rem.u64 %q0, %q1, %q2;", "q0", 7, "q1", 0, "q2"), UINT64_MAX);
    assert_int_equal(alu_one("div.s32 %r0, %r1, %r2;", "r0", 0x80000000, "r1", 0xffffffff, "r2"), 0x80000000);
    assert_int_equal(alu_one("rem.s32 %r0, %r1, %r2;", "r0", 0x80000000, "r1", 0xffffffff, "r2"), 0);
    assert_int_equal(alu_one("div.s64 %q0, %q1, %q2;", "q0", 1ull << 63, "q1", UINT64_MAX, "q2"), 1ull << 63);
}

static wide low24(wide v, bool is_signed) { return number((uint64_t)v, 24, is_signed); }
static wide ref_mul24_lo(wide a, wide b, wide c, int n) { (void)n; return low24(a, true) * low24(b, true) + c; }
static wide ref_mul24_hi(wide a, wide b, wide c, int n) { (void)n; return (low24(a, true) * low24(b, true) >> 16) + c; }
static wide ref_mul24_lo_u(wide a, wide b, wide c, int n) { (void)n; return low24(a, false) * low24(b, false) + c; }
static wide ref_mul24_hi_u(wide a, wide b, wide c, int n) { (void)n; return (low24(a, false) * low24(b, false) >> 16) + c; }

static void products_of_24_bits(void **state)
{
    (void)state;
    const struct int_type *const u = &types[2], *const s = &types[3];
    check_int("mul24.lo", s, ref_mul24_lo, 2, false);
    check_int("mul24.hi", s, ref_mul24_hi, 2, false);
    check_int("mul24.lo", u, ref_mul24_lo_u, 2, false);
    check_int("mul24.hi", u, ref_mul24_hi_u, 2, false);
    check_int("mad24.lo", s, ref_mul24_lo, 3, false);
    check_int("mad24.hi", s, ref_mul24_hi, 3, false);
    check_int("mad24.lo", u, ref_mul24_lo_u, 3, false);
    check_int("mad24.hi", u, ref_mul24_hi_u, 3, false);
}

/* Two 64-bit registers form one 128-bit number, with the carry flag. */
static uint64_t long_add(const uint64_t v[4], const void *context)
{
    const unsigned __int128 sum = ((unsigned __int128)v[1] << 64 | v[0]) + ((unsigned __int128)v[3] << 64 | v[2]);
    (void)context;
    return (uint64_t)(sum >> 64);
}
static uint64_t long_sub(const uint64_t v[4], const void *context)
{
    const unsigned __int128 sum = ((unsigned __int128)v[1] << 64 | v[0]) - ((unsigned __int128)v[3] << 64 | v[2]);
    (void)context;
    return (uint64_t)(sum >> 64);
}
static uint64_t long_mad(const uint64_t v[4], const void *context)   /* v0 x v1 + (v3, v2) */
{
    const unsigned __int128 sum = (unsigned __int128)v[0] * v[1] + ((unsigned __int128)v[3] << 64 | v[2]);
    (void)context;
    return (uint64_t)(sum >> 64);
}
static uint64_t three_words(const uint64_t v[4], const void *context)
{
    (void)context;
    const unsigned __int128 a = (unsigned __int128)v[0] << 32 | v[1], b = (unsigned __int128)v[2] << 32 | v[3];
    return (uint32_t)(((a << 32) + (b << 32 | v[0])) >> 64);
}

static void numbers_of_several_words_use_the_carry_flag(void **state)
{
    (void)state;
    alu_check("add.cc.u64 %q5, %q1, %q3; addc.u64 %q0, %q2, %q4;", "iiii", long_add, NULL);
    alu_check("sub.cc.s64 %q5, %q1, %q3; subc.s64 %q0, %q2, %q4;", "iiii", long_sub, NULL);
    alu_check("mad.lo.cc.u64 %q5, %q1, %q2, %q3; madc.hi.u64 %q0, %q1, %q2, %q4;", "iiii", long_mad, NULL);
    alu_check("add.cc.u32 %r5, 0, %r1; addc.cc.u32 %r6, %r2, %r4; addc.u32 %r0, %r1, %r3;", "iiii", three_words, NULL);
}

/* ---- bits ---- */

typedef struct bit_case { int bits; bool is_signed, flag; } bit_case;

static uint64_t ref_popc(const uint64_t v[4], const void *context)
{
    (void)context;
    uint64_t n = 0;
    for (int i = 0; i < 64; i++) n += v[0] >> i & 1;
    return n;
}
static uint64_t ref_clz(const uint64_t v[4], const void *context)
{
    const bit_case *const t = context;
    int n = 0;
    while (n < t->bits && !(v[0] >> (t->bits - 1 - n) & 1)) n++;
    return (uint64_t)n;
}
static uint64_t ref_brev(const uint64_t v[4], const void *context)
{
    const bit_case *const t = context;
    uint64_t out = 0;
    for (int i = 0; i < t->bits; i++) out |= (v[0] >> i & 1) << (t->bits - 1 - i);
    return out;
}
static uint64_t ref_bfind(const uint64_t v[4], const void *context)
{
    const bit_case *const t = context;
    const uint64_t sign = t->is_signed ? v[0] >> (t->bits - 1) & 1 : 0;
    for (int i = t->bits - 1; i >= 0; i--)
        if ((v[0] >> i & 1) != sign) return (uint64_t)(t->flag ? t->bits - 1 - i : i);
    return 0xffffffff;
}
static uint64_t ref_bfe(const uint64_t v[4], const void *context)
{
    const bit_case *const t = context;
    const int position = (int)(v[1] & 255), length = (int)(v[2] & 255), end = position + length - 1, last = end < t->bits - 1 ? end : t->bits - 1;
    const uint64_t sign = t->is_signed && length ? v[0] >> last & 1 : 0;
    uint64_t out = 0;
    for (int i = 0; i < t->bits; i++) out |= (i < length && position + i < t->bits ? v[0] >> (position + i) & 1 : sign) << i;
    return out;
}
static uint64_t ref_bfi(const uint64_t v[4], const void *context)
{
    const bit_case *const t = context;
    uint64_t out = v[1];
    for (int i = 0; i < (int)(v[3] & 255) && (int)(v[2] & 255) + i < t->bits; i++) {
        const int at = (int)(v[2] & 255) + i;
        out = (out & ~(1ull << at)) | (v[0] >> i & 1) << at;
    }
    return out;
}
static uint64_t ref_shift(const uint64_t v[4], const void *context)   /* flag: shift left */
{
    const bit_case *const t = context;
    uint64_t out = v[0];
    for (uint64_t i = 0; i < v[1] && i < 64; i++) out = t->flag ? out << 1 : (out >> 1) | (t->is_signed ? out & 1ull << (t->bits - 1) : 0);
    return low((wide)out, t->bits);
}
static uint64_t ref_funnel(const uint64_t v[4], const void *context)   /* flag: shift left; is_signed: clamp instead of wrap */
{
    const bit_case *const t = context;
    const uint64_t both = v[1] << 32 | v[0];
    uint64_t n = t->is_signed ? (v[2] < 32 ? v[2] : 32) : v[2] % 32;
    for (uint64_t out = both;; n--, out = t->flag ? out << 1 : out >> 1)
        if (n == 0) return t->flag ? out >> 32 : out & 0xffffffff;
}
static uint64_t ref_bmsk(const uint64_t v[4], const void *context)
{
    const bit_case *const t = context;
    const uint64_t from = t->flag ? v[0] : v[0] % 32, count = t->flag ? v[1] : v[1] % 32;
    uint64_t out = 0;
    for (uint64_t i = from; i < 32 && i < from + count; i++) out |= 1ull << i;
    return out;
}
static uint64_t ref_szext(const uint64_t v[4], const void *context)
{
    const bit_case *const t = context;
    const uint64_t n = t->flag ? v[1] : v[1] % 32;
    return n == 0 ? 0 : n >= 32 ? v[0] : low(number(v[0], (int)n, t->is_signed), 32);
}
static uint64_t ref_fns(const uint64_t v[4], const void *context)
{
    (void)context;
    const int32_t base = (int32_t)v[1], offset = (int32_t)v[2];
    if (offset == 0) return base < 32 && v[0] >> base & 1 ? v[1] : 0xffffffff;
    int32_t count = 0;
    for (int32_t at = base; at >= 0 && at < 32; at += offset > 0 ? 1 : -1) {
        count += (int32_t)(v[0] >> at & 1);
        if (count == abs(offset) && (v[0] >> at & 1)) return (uint64_t)at;
    }
    return 0xffffffff;
}

static void bits_are_counted_found_and_moved(void **state)
{
    (void)state;
    const bit_case b32 = {32, false, false}, b64 = {64, false, false}, s32 = {32, true, false}, s64 = {64, true, false};
    const bit_case f32 = {32, false, true}, f64 = {64, false, true}, sf32 = {32, true, true}, sf64 = {64, true, true}, b16 = {16, false, false},
                   s16 = {16, true, false}, f16 = {16, false, true};
    alu_check("popc.b32 %r0, %r1;", "i", ref_popc, NULL);
    alu_check("popc.b64 %r0, %q1;", "i", ref_popc, NULL);
    alu_check("clz.b32 %r0, %r1;", "i", ref_clz, &b32);
    alu_check("clz.b64 %r0, %q1;", "i", ref_clz, &b64);
    alu_check("brev.b32 %r0, %r1;", "i", ref_brev, &b32);
    alu_check("brev.b64 %q0, %q1;", "i", ref_brev, &b64);
    alu_check("bfind.u32 %r0, %r1;", "i", ref_bfind, &b32);
    alu_check("bfind.s32 %r0, %r1;", "i", ref_bfind, &s32);
    alu_check("bfind.u64 %r0, %q1;", "i", ref_bfind, &b64);
    alu_check("bfind.s64 %r0, %q1;", "i", ref_bfind, &s64);
    alu_check("bfind.shiftamt.u32 %r0, %r1;", "i", ref_bfind, &f32);
    alu_check("bfind.shiftamt.s32 %r0, %r1;", "i", ref_bfind, &sf32);
    alu_check("bfind.shiftamt.s64 %r0, %q1;", "i", ref_bfind, &sf64);
    alu_check("bfe.u32 %r0, %r1, %r2, %r3;", "iss", ref_bfe, &b32);
    alu_check("bfe.s32 %r0, %r1, %r2, %r3;", "iss", ref_bfe, &s32);
    alu_check("bfe.u64 %q0, %q1, %r2, %r3;", "iss", ref_bfe, &b64);
    alu_check("bfe.s64 %q0, %q1, %r2, %r3;", "iss", ref_bfe, &s64);
    alu_check("bfi.b32 %r0, %r1, %r2, %r3, %r4;", "iiss", ref_bfi, &b32);
    alu_check("bfi.b64 %q0, %q1, %q2, %r3, %r4;", "iiss", ref_bfi, &b64);
    alu_check("shl.b16 %h0, %h1, %r2;", "is", ref_shift, &f16);
    alu_check("shl.b32 %r0, %r1, %r2;", "is", ref_shift, &f32);
    alu_check("shl.b64 %q0, %q1, %r2;", "is", ref_shift, &f64);
    alu_check("shr.u16 %h0, %h1, %r2;", "is", ref_shift, &b16);
    alu_check("shr.s16 %h0, %h1, %r2;", "is", ref_shift, &s16);
    alu_check("shr.b32 %r0, %r1, %r2;", "is", ref_shift, &b32);
    alu_check("shr.s32 %r0, %r1, %r2;", "is", ref_shift, &s32);
    alu_check("shr.u64 %q0, %q1, %r2;", "is", ref_shift, &b64);
    alu_check("shr.s64 %q0, %q1, %r2;", "is", ref_shift, &s64);
    alu_check("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", "iis", ref_funnel, &f32);
    alu_check("shf.r.wrap.b32 %r0, %r1, %r2, %r3;", "iis", ref_funnel, &b32);
    alu_check("shf.l.clamp.b32 %r0, %r1, %r2, %r3;", "iis", ref_funnel, &sf32);
    alu_check("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", "iis", ref_funnel, &s32);
    alu_check("bmsk.clamp.b32 %r0, %r1, %r2;", "ss", ref_bmsk, &f32);
    alu_check("bmsk.wrap.b32 %r0, %r1, %r2;", "ss", ref_bmsk, &b32);
    alu_check("szext.clamp.u32 %r0, %r1, %r2;", "is", ref_szext, &f32);
    alu_check("szext.clamp.s32 %r0, %r1, %r2;", "is", ref_szext, &sf32);
    alu_check("szext.wrap.s32 %r0, %r1, %r2;", "is", ref_szext, &s32);
    alu_check("fns.b32 %r0, %r1, %r2, %r3;", "iln", ref_fns, NULL);
}

static uint64_t ref_prmt(const uint64_t v[4], const void *context)
{
    const char *const mode = context;
    const int n = (int)(v[2] & 3);
    uint64_t out = 0;
    for (int i = 0; i < 4; i++) {
        int from = (int)(v[2] >> 4 * i & 7);
        bool sign = v[2] >> (4 * i + 3) & 1;
        if (*mode) sign = false;
        if (strcmp(mode, ".f4e") == 0) from = n + i;
        if (strcmp(mode, ".b4e") == 0) from = (n - i) & 7;
        if (strcmp(mode, ".rc8") == 0) from = n;
        if (strcmp(mode, ".ecl") == 0) from = i > n ? i : n;
        if (strcmp(mode, ".ecr") == 0) from = i < n ? i : n;
        if (strcmp(mode, ".rc16") == 0) from = 2 * (n & 1) + (i & 1);
        const uint64_t byte = (from < 4 ? v[0] >> 8 * from : v[1] >> 8 * (from - 4)) & 255;
        out |= (sign ? (byte >> 7) * 255 : byte) << 8 * i;
    }
    return out;
}

static void prmt_in_all_modes(void **state)
{
    (void)state;
    static const char *const modes[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
    for (size_t i = 0; i < GS_COUNT(modes); i++) {
        char text[64];
        snprintf(text, sizeof text, "prmt.b32%s %%r0, %%r1, %%r2, %%r3;", modes[i]);
        alu_check(text, "iii", ref_prmt, modes[i]);
    }
}

typedef struct dot { bool a_signed, b_signed; int bytes, first; } dot;

static uint64_t ref_dot(const uint64_t v[4], const void *context)   /* bytes: parts of a, 4 of 8 bits or 2 of 16 */
{
    const dot *const t = context;
    wide sum = (wide)v[2];
    const int width = 32 / t->bytes;
    for (int i = 0; i < t->bytes; i++) sum += number(v[0] >> width * i, width, t->a_signed) * number(v[1] >> 8 * (i + t->first), 8, t->b_signed);
    return low(sum, 32);
}

static void sums_of_byte_products(void **state)
{
    (void)state;
    for (int s = 0; s < 4; s++) {
        const char *const a = s & 1 ? "s32" : "u32", *const b = s & 2 ? "s32" : "u32";
        const dot four = {s & 1, s & 2, 4, 0}, lower = {s & 1, s & 2, 2, 0}, upper = {s & 1, s & 2, 2, 2};
        char text[96];
        snprintf(text, sizeof text, "dp4a.%s.%s %%r0, %%r1, %%r2, %%r3;", a, b);
        alu_check(text, "iii", ref_dot, &four);
        snprintf(text, sizeof text, "dp2a.lo.%s.%s %%r0, %%r1, %%r2, %%r3;", a, b);
        alu_check(text, "iii", ref_dot, &lower);
        snprintf(text, sizeof text, "dp2a.hi.%s.%s %%r0, %%r1, %%r2, %%r3;", a, b);
        alu_check(text, "iii", ref_dot, &upper);
    }
}

typedef struct pair_case { wide (*function)(wide, wide, wide, int); bool is_signed; } pair_case;

static uint64_t ref_pair(const uint64_t v[4], const void *context)
{
    const pair_case *const t = context;
    uint64_t out = 0;
    const bool s = t->is_signed;
    for (int i = 0; i < 32; i += 16) out |= low(t->function(number(v[0] >> i, 16, s), number(v[1] >> i, 16, s), 0, 16), 16) << i;
    return out;
}

static void two_short_integers_in_a_register(void **state)
{
    (void)state;
    static const struct { const char *text; pair_case t; } all[] = {
        {"add.u16x2 %r0, %r1, %r2;", {ref_add, false}}, {"add.s16x2 %r0, %r1, %r2;", {ref_add, true}},
        {"min.u16x2 %r0, %r1, %r2;", {ref_min, false}}, {"max.u16x2 %r0, %r1, %r2;", {ref_max, false}},
        {"min.s16x2 %r0, %r1, %r2;", {ref_min, true}}, {"max.s16x2 %r0, %r1, %r2;", {ref_max, true}},
        {"min.relu.s16x2 %r0, %r1, %r2;", {ref_min_relu, true}}, {"max.relu.s16x2 %r0, %r1, %r2;", {ref_max_relu, true}},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) alu_check(all[i].text, "ii", ref_pair, &all[i].t);
}

/* ---- logic ---- */

static uint64_t ref_lop3(const uint64_t v[4], const void *context)
{
    const unsigned table = *(const unsigned *)context;
    uint64_t out = 0;
    for (int i = 0; i < 32; i++) out |= (uint64_t)(table >> ((v[0] >> i & 1) * 4 + (v[1] >> i & 1) * 2 + (v[2] >> i & 1)) & 1) << i;
    return out;
}
static uint64_t ref_lop3_or(const uint64_t v[4], const void *context) { return ref_lop3(v, context) != 0 || v[3]; }
static uint64_t ref_lop3_and_not(const uint64_t v[4], const void *context) { return ref_lop3(v, context) != 0 && !v[3]; }

static void lop3_with_every_table(void **state)
{
    (void)state;
    for (unsigned table = 0; table < 256; table++) {
        char text[64];
        snprintf(text, sizeof text, "lop3.b32 %%r0, %%r1, %%r2, %%r3, %u;", table);
        alu_check(text, "iii", ref_lop3, &table);
    }
    const unsigned majority = 0xe8, all = 0x80;
    alu_check("lop3.or.b32 %r5|%p0, %r1, %r2, %r3, 0x80, %p4;", "iiip", ref_lop3_or, &all);
    alu_check("lop3.and.b32 _|%p0, %r1, %r2, %r3, 0xe8, !%p4;", "iiip", ref_lop3_and_not, &majority);
}

static uint64_t ref_and(const uint64_t v[4], const void *context) { (void)context; return v[0] & v[1]; }
static uint64_t ref_or(const uint64_t v[4], const void *context)  { (void)context; return v[0] | v[1]; }
static uint64_t ref_xor(const uint64_t v[4], const void *context) { (void)context; return v[0] ^ v[1]; }
static uint64_t ref_and_not(const uint64_t v[4], const void *context) { (void)context; return v[0] & ~v[1] & 1; }
static uint64_t ref_not(const uint64_t v[4], const void *context) { return low(~(wide)v[0], ((const bit_case *)context)->bits); }
static uint64_t ref_cnot(const uint64_t v[4], const void *context) { (void)context; return v[0] == 0; }
static uint64_t ref_first(const uint64_t v[4], const void *context) { (void)context; return v[0]; }

static void logic_on_registers_and_predicates(void **state)
{
    (void)state;
    static const struct { const char *type; char letter; bit_case t; } all[] = {
        {"b16", 'h', {16, false, false}}, {"b32", 'r', {32, false, false}}, {"b64", 'q', {64, false, false}}, {"pred", 'p', {1, false, false}},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        static const struct { const char *name; alu_reference *reference; } two[] = {{"and", ref_and}, {"or", ref_or}, {"xor", ref_xor}};
        char text[96];
        const char c = all[i].letter;
        for (size_t j = 0; j < GS_COUNT(two); j++) {
            snprintf(text, sizeof text, "%s.%s %%%c0, %%%c1, %%%c2;", two[j].name, all[i].type, c, c, c);
            alu_check(text, "ii", two[j].reference, NULL);
        }
        snprintf(text, sizeof text, "not.%s %%%c0, %%%c1;", all[i].type, c, c);
        alu_check(text, "i", ref_not, &all[i].t);
        snprintf(text, sizeof text, "mov.%s %%%c0, %%%c1;", all[i].type, c, c);
        alu_check(text, "i", ref_first, NULL);
        if (c == 'p') continue;
        snprintf(text, sizeof text, "cnot.%s %%%c0, %%%c1;", all[i].type, c, c);
        alu_check(text, "i", ref_cnot, NULL);
    }
    alu_check("and.pred %p0, %p1, !%p2;", "pp", ref_and_not, NULL);
}

/* ---- moves ---- */

static uint64_t ref_pack(const uint64_t v[4], const void *context)
{
    const bit_case *const t = context;   /* bits of each part */
    uint64_t out = 0;
    for (int i = 0; i < 64 / t->bits && i < 4; i++) out |= v[i] << t->bits * i;
    return out;
}
static uint64_t ref_part(const uint64_t v[4], const void *context) { return low((wide)(v[0] >> ((const bit_case *)context)->bits), 16); }
static uint64_t ref_upper_word(const uint64_t v[4], const void *context) { (void)context; return v[0] >> 32; }
static uint64_t ref_selp(const uint64_t v[4], const void *context) { return (v[2] != 0) != (context != NULL) ? v[0] : v[1]; }
static uint64_t ref_slct(const uint64_t v[4], const void *context) { (void)context; return (int32_t)v[2] >= 0 ? v[0] : v[1]; }
static uint64_t ref_slct_float(const uint64_t v[4], const void *context)
{
    const float c = gs_bits_f32((uint32_t)v[2]);
    return c >= 0 || (context && fabsf(c) < 0x1p-126f) ? v[0] : v[1];
}

static void vectors_are_packed_and_taken_apart(void **state)
{
    (void)state;
    const bit_case words = {32, false, false}, halves = {16, false, false};
    alu_check("mov.b32 %r0, {%h1, %h2};", "ii", ref_pack, &halves);
    alu_check("mov.b64 %q0, {%r1, %r2};", "ii", ref_pack, &words);
    alu_check("mov.b64 %q0, {%h1, %h2, %h3, %h4};", "iiii", ref_pack, &halves);
    alu_check("mov.b64 {_, %r0}, %q1;", "i", ref_upper_word, NULL);
    alu_check("mov.b64 {%r5, %r0}, %q1;", "i", ref_upper_word, NULL);
    for (int i = 0; i < 4; i++) {
        const bit_case from = {16 * i, false, false};
        char text[64];
        snprintf(text, sizeof text, "mov.b64 {%s, %s, %s, %s}, %%q1;", i == 0 ? "%h0" : "_", i == 1 ? "%h0" : "_", i == 2 ? "%h0" : "_",
                 i == 3 ? "%h0" : "_");
        alu_check(text, "i", ref_part, &from);
    }
}

static void choices_by_predicate_and_sign(void **state)
{
    (void)state;
    alu_check("selp.b16 %h0, %h1, %h2, %p3;", "iip", ref_selp, NULL);
    alu_check("selp.f32 %r0, %r1, %r2, %p3;", "iip", ref_selp, NULL);
    alu_check("selp.u64 %q0, %q1, %q2, %p3;", "iip", ref_selp, NULL);
    alu_check("selp.b32 %r0, %r1, %r2, !%p3;", "iip", ref_selp, "not");
    alu_check("slct.u16.s32 %h0, %h1, %h2, %r3;", "iii", ref_slct, NULL);
    alu_check("slct.b64.s32 %q0, %q1, %q2, %r3;", "iii", ref_slct, NULL);
    alu_check("slct.u32.f32 %r0, %r1, %r2, %r3;", "iif", ref_slct_float, NULL);
    alu_check("slct.ftz.u32.f32 %r0, %r1, %r2, %r3;", "iif", ref_slct_float, "ftz");
}

/* ---- refusals ---- */

static void what_is_not_known_is_refused_by_name(void **state)
{
    (void)state;
    static const struct { const char *statement, *in_message; } all[] = {
        {"add.sat.u32 %r0, %r1, %r2;", "add.sat.u32"},       {"add.wild.s32 %r0, %r1, %r2;", ".wild"},
        {"mul.s32 %r0, %r1, %r2;", "mul.s32"},               {"add.rn.rz.f32 %r0, %r1, %r2;", "add.rn.rz.f32"},
        {"prmt.b32.f5e %r0, %r1, %r2, %r3;", ".f5e"},        {"fma.f32 %r0, %r1, %r2, %r3;", "fma.f32"},
        {"div.f32 %r0, %r1, %r2;", "div.f32"},               {"setp.like.s32 %p0, %r1, %r2;", "comparison"},
        {"setp.ltu.s32 %p0, %r1, %r2;", "setp.ltu.s32"},     {"cvt.f16.f32 %h0, %r1;", "cvt.f16.f32"},
        {"cvt.s32.f32 %r0, %r1;", "cvt.s32.f32"},            {"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", "e4m3x2"},
        {"add.s32 %r0, %r1;", "operands"},                   {"add.s64 %q0, %r1, %r2;", "%r1"},
        {"lop3.b32 %r0, %r1, %r2, %r3, %r4;", "table"},      {"mov.b64 {%h0, %h1, %h2}, %q1;", "mov.b64"},
        {"add.s32 _, %r1, %r2;", "no register"},             {"tanh.approx.ftz.f32 %r0, %r1;", "tanh"},
        {"add.cc.f32 %r0, %r1, %r2;", "add.cc.f32"},         {"madc.u32 %r0, %r1, %r2, %r3;", "madc.u32"},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        emu_alu t;
        const gs_status status = alu_decode(&t, all[i].statement);
        if (status != GS_ERROR_UNSUPPORTED || !strstr(t.error.text, all[i].in_message) || !strstr(t.error.text, "line 7"))
            fail_msg("%s: %s, %s", all[i].statement, gs_status_name(status), t.error.text);
        alu_close(&t);
    }
}

static void instructions_are_counted_by_what_they_cost(void **state)
{
    (void)state;
    static const struct { const char *statement; gs_emu_class class; } all[] = {
        {"add.s32 %r0, %r1, %r2;", GS_EMU_INTEGER}, {"div.u32 %r0, %r1, %r2;", GS_EMU_SPECIAL}, {"setp.lt.f32 %p0, %r1, %r2;", GS_EMU_INTEGER},
        {"fma.rn.f32 %r0, %r1, %r2, %r3;", GS_EMU_FLOAT}, {"fma.rn.f64 %q0, %q1, %q2, %q3;", GS_EMU_DOUBLE},
        {"ex2.approx.f32 %r0, %r1;", GS_EMU_SPECIAL},
        {"cvt.rn.f16.f32 %h0, %r1;", GS_EMU_FLOAT}, {"cvt.u32.u64 %r0, %q1;", GS_EMU_INTEGER}, {"cvt.f64.f32 %q0, %r1;", GS_EMU_DOUBLE},
        {"mov.b32 %r0, {%h1, %h2};", GS_EMU_INTEGER}, {"sqrt.rn.f32 %r0, %r1;", GS_EMU_SPECIAL}, {"min.f16x2 %r0, %r1, %r2;", GS_EMU_FLOAT},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        emu_alu t;
        alu_open(&t, all[i].statement);
        assert_int_equal(t.code->op[0].class, all[i].class);
        alu_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_wrap_saturate_and_widen),
        cmocka_unit_test(division_by_zero_gives_ones_and_overflow_does_not_trap),
        cmocka_unit_test(products_of_24_bits),
        cmocka_unit_test(numbers_of_several_words_use_the_carry_flag),
        cmocka_unit_test(bits_are_counted_found_and_moved),
        cmocka_unit_test(prmt_in_all_modes),
        cmocka_unit_test(sums_of_byte_products),
        cmocka_unit_test(two_short_integers_in_a_register),
        cmocka_unit_test(lop3_with_every_table),
        cmocka_unit_test(logic_on_registers_and_predicates),
        cmocka_unit_test(vectors_are_packed_and_taken_apart),
        cmocka_unit_test(choices_by_predicate_and_sign),
        cmocka_unit_test(what_is_not_known_is_refused_by_name),
        cmocka_unit_test(instructions_are_counted_by_what_they_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
