/* SPDX-License-Identifier: MIT
 * Conversions, comparisons and approximations of the emulated device, compared with rounding as defined by IEEE 754. */
#include "emu_alu.h"

/* ---- types ---- */

static const struct integer { const char *name; int bits; bool is_signed; char letter; } integers[] = {
    {"u8", 8, false, 'h'},   {"s8", 8, true, 'h'},   {"u16", 16, false, 'h'}, {"s16", 16, true, 'h'},
    {"u32", 32, false, 'r'}, {"s32", 32, true, 'r'}, {"u64", 64, false, 'q'}, {"s64", 64, true, 'q'},
};
static const struct real { const char *name; char kind, letter; int bits; alu_format format; } reals[] = {
    {"f16", 'h', 'h', 16, {11, -14, 15}}, {"bf16", 'b', 'h', 16, {8, -126, 127}},
    {"f32", 'f', 'r', 32, {24, -126, 127}}, {"f64", 'd', 'q', 64, {53, -1022, 1023}},
};

static __int128 number(uint64_t bits, int width, bool is_signed)
{
    const __int128 one = 1;
    const __int128 value = width == 64 ? (__int128)bits : (__int128)(bits & ((1ull << width) - 1));
    return is_signed && (bits >> (width - 1) & 1) ? value - (one << width) : value;
}

/* The low bits of a 16-, 32- or 64-bit register that holds the integer. */
static uint64_t in_register(__int128 value, char letter)
{
    return letter == 'q' ? (uint64_t)value : (uint64_t)value & ((1ull << alu_bits(letter)) - 1);
}

static double value_of(uint64_t bits, char kind)
{
    return kind == 'h' || kind == 'b' ? alu_half(bits, kind == 'b') : kind == 'f' ? alu_f32(bits) : gs_bits_f64(bits);
}

static uint64_t bits_of(double value, char kind)
{
    return kind == 'h' || kind == 'b' ? alu_of_half(value, kind == 'b') : kind == 'f' ? alu_of_f32(value) : gs_f64_bits(value);
}

typedef struct cvt_case {
    const struct integer *to_integer, *from_integer;
    const struct real    *to_real, *from_real;
    char mode;                 /* 0: none; n z m p: rounding to floating point; N Z M P: to an integral value */
    bool saturate, flush, relu, finite;
    char to_letter;
} cvt_case;

/* ---- integers to integers ---- */

static uint64_t ref_integer(const uint64_t v[4], const void *context)
{
    const cvt_case *const t = context;
    const int bits = t->to_integer->bits;
    const bool is_signed = t->to_integer->is_signed;
    __int128 value = number(v[0], t->from_integer->bits, t->from_integer->is_signed);
    if (t->saturate) {
        const __int128 most = ((__int128)1 << (is_signed ? bits - 1 : bits)) - 1, least = is_signed ? -most - 1 : 0;
        value = value > most ? most : value < least ? least : value;
    }
    return in_register(number((uint64_t)value, bits, is_signed), t->to_letter);
}

static void integers_are_cut_extended_and_saturated(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(integers); i++)
        for (size_t j = 0; j < GS_COUNT(integers); j++)
            for (const char *to = "hrq"; *to; to++)
                for (const char *from = "hrq"; *from; from++)
                    for (int saturate = 0; saturate < 2; saturate++) {
                        const cvt_case t = {.to_integer = &integers[i], .from_integer = &integers[j], .saturate = saturate, .to_letter = *to};
                        char text[64];
                        if (alu_bits(*to) < integers[i].bits || alu_bits(*from) < integers[j].bits) continue;   /* registers may be wider */
                        snprintf(text, sizeof text, "cvt%s.%s.%s %%%c0, %%%c1;", saturate ? ".sat" : "", integers[i].name,
                                 integers[j].name, *to, *from);
                        alu_check(text, "i", ref_integer, &t);
                    }
}

/* ---- integers and floating point ---- */

static uint64_t ref_from_integer(const uint64_t v[4], const void *context)
{
    const cvt_case *const t = context;
    double result = alu_round((long double)number(v[0], t->from_integer->bits, t->from_integer->is_signed), t->to_real->format, t->mode);
    if (t->saturate) result = result > 0 ? (result < 1 ? result : 1) : 0;
    return bits_of(result, t->to_real->kind);
}

static void integers_become_floating_point_in_every_rounding(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(integers); i++)
        for (size_t j = 0; j < GS_COUNT(reals); j++)
            for (const char *mode = "nzmp"; *mode; mode++)
                for (int saturate = 0; saturate < (reals[j].kind == 'b' ? 1 : 2); saturate++) {
                    const cvt_case t = {.from_integer = &integers[i], .to_real = &reals[j], .mode = *mode, .saturate = saturate};
                    char text[64];
                    snprintf(text, sizeof text, "cvt.r%c%s.%s.%s %%%c0, %%%c1;", *mode, saturate ? ".sat" : "", reals[j].name, integers[i].name,
                             reals[j].letter, integers[i].letter);
                    alu_check(text, "i", ref_from_integer, &t);
                }
}

static bool to_integral(char mode) { return mode >= 'A' && mode <= 'Z'; }

static double integral(double value, char mode)
{
    const double down = floor(value), part = value - down;
    if (!isfinite(value) || part == 0) return value;
    const bool up = mode == 'N' ? part > 0.5 || (part == 0.5 && fmod(down, 2) != 0) : mode == 'P' || (mode == 'Z' && value < 0);
    return copysign(down + up, value);
}

static double flushed(const cvt_case *t, double value)
{
    return t->flush && fabs(value) < 0x1p-126 ? copysign(0, value) : value;
}

static uint64_t ref_to_integer(const uint64_t v[4], const void *context)
{
    const cvt_case *const t = context;
    const int bits = t->to_integer->bits;
    const bool is_signed = t->to_integer->is_signed;
    const double value = integral(flushed(t, value_of(v[0], t->from_real->kind)), t->mode);
    const __int128 one = 1, most = (one << (is_signed ? bits - 1 : bits)) - 1, least = is_signed ? -most - 1 : 0;
    __int128 result;
    if (isnan(value)) result = bits == 64 || t->from_real->kind == 'd' ? (is_signed ? least : one << (bits - 1)) : 0;
    else if (fabs(value) > 0x1p100) result = value > 0 ? most : least;
    else result = (__int128)value > most ? most : (__int128)value < least ? least : (__int128)value;
    return in_register(result, t->to_letter);
}

static void floating_point_becomes_integers(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(integers); i++)
        for (size_t j = 0; j < GS_COUNT(reals); j++)
            for (const char *mode = "NZMP"; *mode; mode++)
                for (const char *to = "hrq"; *to; to++)
                    for (int flush = 0; flush < (reals[j].kind == 'f' ? 2 : 1); flush++) {
                        const cvt_case t = {.to_integer = &integers[i], .from_real = &reals[j], .mode = *mode, .flush = flush, .to_letter = *to};
                        const char kinds[2] = {reals[j].kind, 0};
                        char text[64];
                        if (alu_bits(*to) < integers[i].bits) continue;
                        snprintf(text, sizeof text, "cvt.r%ci%s.%s.%s %%%c0, %%%c1;", *mode - 'A' + 'a', flush ? ".ftz" : "", integers[i].name,
                                 reals[j].name, *to, reals[j].letter);
                        alu_check(text, kinds, ref_to_integer, &t);
                    }
}

/* ---- floating point ---- */

/* NaN: copied bits stay, an f64 keeps the sign and the first bits, otherwise there is a single NaN. */
static uint64_t nan_of(const cvt_case *t, uint64_t bits)
{
    const char from = t->from_real->kind, to = t->to_real->kind;
    if (t->saturate) return 0;
    if (to == 'd') return gs_f64_bits(NAN);
    if (from == 'd') return to == 'f' ? (bits >> 32 & 0x80000000) | 0x7fc00000 | (bits >> 29 & 0x3fffff)
                           : to == 'h' ? (bits >> 48 & 0x8000) | 0x7e00 | (bits >> 42 & 0x1ff) : (bits >> 48 & 0x8000) | 0x7fc0 | (bits >> 45 & 0x3f);
    if (to == 'f' && !t->flush && !to_integral(t->mode) && from != 'h') return from == 'b' ? bits << 16 : bits;
    return to == 'f' ? 0x7fffffff : 0x7fff;
}

static uint64_t ref_real(const uint64_t v[4], const void *context)
{
    const cvt_case *const t = context;
    const char from = t->from_real->kind, to = t->to_real->kind;
    double value = value_of(v[0], from);
    if (isnan(value)) return nan_of(t, v[0]);
    if (from == 'f' && to != 'h') value = flushed(t, value);   /* f16 keeps subnormal f32 numbers */
    if (to_integral(t->mode)) value = integral(value, t->mode);
    const alu_format endless = {24, -100000, 100000};
    const char mode = t->mode >= 'a' ? t->mode : 'n';
    if (to == 'f' && t->flush && fabs(alu_round(value, endless, mode)) < 0x1p-126) value = copysign(0, value);
    double result = alu_round(value, t->to_real->format, mode);
    if (t->saturate) result = result > 0 ? (result < 1 ? result : 1) : 0;
    if (t->finite && isinf(result)) result = copysign(to == 'h' ? 65504 : 0x1.fep127, result);
    if (t->relu) result = result > 0 ? result : 0;
    return bits_of(result, to);
}

static void floating_point_narrows_and_widens(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(reals); i++)
        for (size_t j = 0; j < GS_COUNT(reals); j++)
            for (const char *mode = "\0nzmpNZMP", *end = mode + 9; mode < end; mode++)
                for (int flags = 0; flags < 4; flags++) {
                    const cvt_case t = {.to_real = &reals[i], .from_real = &reals[j], .mode = *mode, .saturate = flags & 1, .flush = flags & 2};
                    const char from = reals[j].kind, to = reals[i].kind, kinds[2] = {from, 0};
                    const bool narrows = reals[i].bits < reals[j].bits || (i != j && reals[i].bits == 16), integral_mode = to_integral(*mode);
                    const bool legal = narrows ? *mode >= 'a' : i == j ? *mode < 'a' : !*mode;
                    const char small[2] = {(char)(integral_mode ? *mode + 'a' - 'A' : *mode), 0};
                    char text[64];
                    if (!legal || (t.saturate && (from == 'b' || to == 'b')) || (t.flush && from != 'f' && to != 'f')) continue;
                    if (i == j && !*mode && to != 'f' && to != 'd') continue;   /* a copy */
                    snprintf(text, sizeof text, "cvt%s%.1s%s%s%s.%s.%s %%%c0, %%%c1;", *mode ? ".r" : "", small, integral_mode ? "i" : "",
                             t.flush ? ".ftz" : "", t.saturate ? ".sat" : "", reals[i].name, reals[j].name, reals[i].letter, reals[j].letter);
                    alu_check(text, kinds, ref_real, &t);
                }
}

static uint64_t ref_pair(const uint64_t v[4], const void *context)
{
    const uint64_t high[4] = {v[0]}, low[4] = {v[1]};
    return ref_real(high, context) << 16 | ref_real(low, context);
}

static void pairs_of_halves_and_their_modifiers(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (const char *mode = "nz"; *mode; mode++)
            for (int flags = 0; flags < 4; flags++) {
                const cvt_case t = {.to_real = &reals[i], .from_real = &reals[2], .mode = *mode, .relu = flags & 1, .finite = flags & 2};
                const char *const relu = t.relu ? ".relu" : "", *const finite = t.finite ? ".satfinite" : "";
                char text[64];
                snprintf(text, sizeof text, "cvt.r%c%s%s.%s.f32 %%h0, %%r1;", *mode, relu, finite, reals[i].name);
                alu_check(text, "f", ref_real, &t);
                snprintf(text, sizeof text, "cvt.r%c%s%s.%sx2.f32 %%r0, %%r1, %%r2;", *mode, relu, finite, reals[i].name);
                alu_check(text, "ff", ref_pair, &t);
            }
}

static uint64_t ref_tf32(const uint64_t v[4], const void *context)
{
    const char *const mode = context;   /* rounding mode, and r: relu */
    const double value = alu_f32(v[0]);
    if (isnan(value)) return *mode == 'a' ? (v[0] | (~v[0] >> 22 & 1 ? 0x400000 : 0)) & 0xffffe000 : 0x7fffe000;
    const double result = alu_round(value, ALU_TF32, *mode);
    return mode[1] == 'r' && !(result > 0) ? 0 : alu_of_f32(result);
}

static void tf32_has_ten_bits_of_fraction(void **state)
{
    (void)state;
    alu_check("cvt.rna.tf32.f32 %r0, %r1;", "f", ref_tf32, "a");
    alu_check("cvt.rn.tf32.f32 %r0, %r1;", "f", ref_tf32, "n");
    alu_check("cvt.rz.tf32.f32 %r0, %r1;", "f", ref_tf32, "z");
    alu_check("cvt.rn.relu.tf32.f32 %r0, %r1;", "f", ref_tf32, "nr");
    assert_int_equal(alu_one("cvt.rna.satfinite.tf32.f32 %r0, %r1;", "r0", 0x7f7fffff, "r1", 0, NULL), 0x7f7fe000);
    assert_int_equal(alu_one("cvt.rna.satfinite.tf32.f32 %r0, %r1;", "r0", 0xff800000, "r1", 0, NULL), 0xff7fe000);
}

static uint64_t ref_pack(const uint64_t v[4], const void *context)
{
    const struct integer *const t = context;
    const int64_t most = (1ll << (t->is_signed ? t->bits - 1 : t->bits)) - 1, least = t->is_signed ? -most - 1 : 0;
    const uint64_t mask = (1ull << t->bits) - 1;
    uint64_t part[2];
    for (int i = 0; i < 2; i++) {
        const int64_t value = (int32_t)v[i];
        part[i] = (uint64_t)(value > most ? most : value < least ? least : value) & mask;
    }
    return ((t->bits == 8 ? v[2] << 16 : 0) | part[0] << t->bits | part[1]) & 0xffffffff;
}

static void packed_integers_are_saturated(void **state)
{
    (void)state;
    alu_check("cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;", "iii", ref_pack, &integers[0]);
    alu_check("cvt.pack.sat.s8.s32.b32 %r0, %r1, %r2, %r3;", "iii", ref_pack, &integers[1]);
    alu_check("cvt.pack.sat.u16.s32 %r0, %r1, %r2;", "ii", ref_pack, &integers[2]);
    alu_check("cvt.pack.sat.s16.s32 %r0, %r1, %r2;", "ii", ref_pack, &integers[3]);
}

/* ---- comparisons ---- */

typedef struct compare_case {
    const char *name;
    char        kind, boolean;
    int         bits;
    bool        is_signed, second, not_c, flush, upper;
    uint64_t    yes;
} compare_case;

static bool holds(const char *name, bool less, bool equal, bool greater, bool unordered)
{
    static const struct { const char *name; int when; } all[] = {   /* when: 1 less, 2 equal, 4 greater, 8 unordered */
        {"eq", 2}, {"ne", 5}, {"lt", 1}, {"le", 3}, {"gt", 4}, {"ge", 6}, {"lo", 1}, {"ls", 3}, {"hi", 4}, {"hs", 6},
        {"equ", 10}, {"neu", 13}, {"ltu", 9}, {"leu", 11}, {"gtu", 12}, {"geu", 14}, {"num", 7}, {"nan", 8},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++)
        if (strcmp(all[i].name, name) == 0) return all[i].when & (less | equal << 1 | greater << 2 | unordered << 3);
    fail_msg("no comparison %s", name);
    return false;
}

static uint64_t ref_compare(const uint64_t v[4], const void *context)
{
    const compare_case *const t = context;
    const int shift = t->upper ? 16 : 0;
    bool result;
    if (t->kind == 'i') {
        const __int128 a = number(v[0], t->bits, t->is_signed), b = number(v[1], t->bits, t->is_signed);
        result = holds(t->name, a < b, a == b, a > b, false);
    } else {
        double a = value_of(v[0] >> shift, t->kind), b = value_of(v[1] >> shift, t->kind);
        const double least = t->kind == 'h' ? 0x1p-14 : 0x1p-126;
        if (t->flush && fabs(a) < least) a = 0;
        if (t->flush && fabs(b) < least) b = 0;
        result = holds(t->name, a < b, a == b, a > b, isnan(a) || isnan(b));
    }
    const bool c = (v[2] != 0) != t->not_c, first = result != t->second;
    const bool combined = t->boolean == '&' ? first && c : t->boolean == '|' ? first || c : t->boolean == '^' ? first != c : first;
    return combined ? t->yes : 0;
}

static void integers_are_compared(void **state)
{
    (void)state;
    static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
    for (size_t i = 2; i < GS_COUNT(integers); i++)
        for (size_t c = 0; c < (integers[i].is_signed ? 6 : 10); c++) {
            const struct integer *const n = &integers[i];
            compare_case t = {.name = comparisons[c], .kind = 'i', .bits = n->bits, .is_signed = n->is_signed, .yes = 1};
            char text[96];
            snprintf(text, sizeof text, "setp.%s.%s %%p0, %%%c1, %%%c2;", t.name, n->name, n->letter, n->letter);
            alu_check(text, "ii", ref_compare, &t);
            t.yes = 0x3f800000;
            snprintf(text, sizeof text, "set.%s.f32.%s %%r0, %%%c1, %%%c2;", t.name, n->name, n->letter, n->letter);
            alu_check(text, "ii", ref_compare, &t);
        }
}

static void floating_point_is_compared(void **state)
{
    (void)state;
    static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    for (size_t i = 0; i < GS_COUNT(reals); i++)
        for (size_t c = 0; c < GS_COUNT(comparisons); c++)
            for (int flush = 0; flush < (reals[i].kind == 'f' || reals[i].kind == 'h' ? 2 : 1); flush++) {
                const struct real *const n = &reals[i];
                const char kinds[3] = {n->kind, n->kind, 0};
                compare_case t = {.name = comparisons[c], .kind = n->kind, .flush = flush, .yes = 1};
                char text[96];
                snprintf(text, sizeof text, "setp.%s%s.%s %%p0, %%%c1, %%%c2;", t.name, flush ? ".ftz" : "", n->name, n->letter, n->letter);
                alu_check(text, kinds, ref_compare, &t);
                t.yes = 0xffffffff;
                snprintf(text, sizeof text, "set.%s%s.u32.%s %%r0, %%%c1, %%%c2;", t.name, flush ? ".ftz" : "", n->name, n->letter, n->letter);
                alu_check(text, kinds, ref_compare, &t);
                if (n->bits != 16) continue;
                t.yes = 1;   /* for both numbers of a pair */
                snprintf(text, sizeof text, "setp.%s%s.%sx2 %%p0|%%p5, %%r1, %%r2;", t.name, flush ? ".ftz" : "", n->name);
                alu_check(text, kinds, ref_compare, &t);
                t.upper = true;
                snprintf(text, sizeof text, "setp.%s%s.%sx2 _|%%p0, %%r1, %%r2;", t.name, flush ? ".ftz" : "", n->name);
                alu_check(text, kinds, ref_compare, &t);
            }
}

static void results_are_combined_with_a_predicate(void **state)
{
    (void)state;
    static const struct { const char *statement; compare_case t; } all[] = {
        {"setp.lt.and.s32 %p0|%p5, %r1, %r2, %p3;",  {.name = "lt", .kind = 'i', .bits = 32, .is_signed = true, .boolean = '&', .yes = 1}},
        {"setp.lt.and.s32 %p5|%p0, %r1, %r2, %p3;",
         {.name = "lt", .kind = 'i', .bits = 32, .is_signed = true, .boolean = '&', .second = true, .yes = 1}},
        {"setp.eq.or.b64 _|%p0, %q1, %q2, !%p3;",
         {.name = "eq", .kind = 'i', .bits = 64, .boolean = '|', .second = true, .not_c = true, .yes = 1}},
        {"setp.gt.xor.u16 %p0, %h1, %h2, %p3;",      {.name = "gt", .kind = 'i', .bits = 16, .boolean = '^', .yes = 1}},
        {"set.ge.xor.s32.u32 %r0, %r1, %r2, !%p3;",  {.name = "ge", .kind = 'i', .bits = 32, .boolean = '^', .not_c = true, .yes = 0xffffffff}},
        {"set.ge.or.bf16.u32 %h0, %r1, %r2, %p3;",   {.name = "ge", .kind = 'i', .bits = 32, .boolean = '|', .yes = 0x3f80}},
        {"set.le.and.f16.s32 %h0, %r1, %r2, %p3;",   {.name = "le", .kind = 'i', .bits = 32, .is_signed = true, .boolean = '&', .yes = 0x3c00}},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) alu_check(all[i].statement, "iip", ref_compare, &all[i].t);
    const compare_case f32 = {.name = "ltu", .kind = 'f', .boolean = '&', .yes = 1};
    alu_check("setp.ltu.and.f32 %p0, %r1, %r2, %p3;", "ffp", ref_compare, &f32);
}

static uint64_t ref_set_pair(const uint64_t v[4], const void *context)
{
    compare_case upper = *(const compare_case *)context;
    upper.upper = true;
    return ref_compare(v, &upper) << 16 | ref_compare(v, context);
}

static uint64_t ref_testp(const uint64_t v[4], const void *context)
{
    const char *const name = context;
    const float x = (float)alu_f32(v[0]);
    const bool subnormal = x != 0 && fabsf(x) < 0x1p-126f;
    if (strcmp(name, "finite") == 0) return isfinite(x);
    if (strcmp(name, "infinite") == 0) return isinf(x) != 0;
    if (strcmp(name, "number") == 0) return !isnan(x);
    if (strcmp(name, "notanumber") == 0) return isnan(x);
    return strcmp(name, "subnormal") == 0 ? subnormal : isfinite(x) && !subnormal;
}

static void pairs_are_set_and_kinds_of_numbers_told_apart(void **state)
{
    (void)state;
    static const char *const tests[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    const compare_case f16 = {.name = "lt", .kind = 'h', .yes = 0x3c00}, bf16 = {.name = "geu", .kind = 'b', .yes = 0x3f80};
    alu_check("set.lt.f16x2.f16x2 %r0, %r1, %r2;", "hh", ref_set_pair, &f16);
    alu_check("set.geu.bf16x2.bf16x2 %r0, %r1, %r2;", "bb", ref_set_pair, &bf16);
    for (size_t i = 0; i < GS_COUNT(tests); i++) {
        char text[64];
        snprintf(text, sizeof text, "testp.%s.f32 %%p0, %%r1;", tests[i]);
        alu_check(text, "f", ref_testp, tests[i]);
    }
    assert_int_equal(alu_one("testp.subnormal.f64 %p0, %q1;", "p0", 1, "q1", 0, NULL), 1);
    assert_int_equal(alu_one("testp.normal.f64 %p0, %q1;", "p0", gs_f64_bits(-1), "q1", 0, NULL), 1);
}

/* ---- approximations ---- */

static uint64_t f32_result(const char *name, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%s.f32 %%r0, %%r1;", name);
    return alu_one(text, "r0", alu_of_f32(value), "r1", 0, NULL);
}

static void approximations_are_near_and_their_ends_are_right(void **state)
{
    (void)state;
    static const struct { const char *name; double (*exact)(double); double from, to, error; bool absolute; } all[] = {
        {"sin.approx", sin, -6, 6, 6.7e-7, true}, {"cos.approx", cos, -6, 6, 6.7e-7, true}, {"lg2.approx", log2, 0.001, 1e6, 1e-6, false}, {"ex2.approx", exp2, -20, 20, 1e-6, false},
        {"tanh.approx", tanh, -4, 4, 0x1p-16, false}, {"sqrt.approx", sqrt, 0, 1e6, 1e-6, false}, {"lg2.approx", log2, 0.5, 2, 0x1p-22, true}, {"lg2.approx", log2, 0.9999, 1.0001, 0x1p-22, true},
        {"sin.approx", sin, 1e5, 2e5, 0x1p-6, true},
    };
    gs_random random = {3};
    double worst[GS_COUNT(all)] = {0};
    for (size_t i = 0; i < GS_COUNT(all); i++)
        for (int n = 0; n < 200; n++) {
            const float x = (float)(all[i].from + (all[i].to - all[i].from) * gs_random_unit(&random));
            const double got = alu_f32(f32_result(all[i].name, x)), want = all[i].exact(x);
            if (fabs(got - want) > all[i].error * (all[i].absolute ? 1 : fmax(fabs(want), 1e-3))) fail_msg("%s(%g) gives %g, not %g", all[i].name, (double)x, got, want);
            worst[i] = fmax(worst[i], fabs(got - want) / fabs(want));
        }
    assert_true(worst[4] > 0x1p-17);   /* like an H200 */
    assert_true(worst[7] > 0x1p-12 && worst[8] > 0x1p-10);   /* few bits are right for a logarithm near 0 and for a large angle */
    assert_int_equal(f32_result("lg2.approx", 1), 0);
    assert_int_equal(f32_result("lg2.approx", 8), gs_f32_bits(3));
    assert_int_equal(f32_result("sin.approx", -0.0), 0x80000000);
    assert_int_equal(f32_result("cos.approx", 0), gs_f32_bits(1));
    assert_true(alu_f32(f32_result("sin.approx", 0x1p-40)) > 0);
    assert_int_equal(f32_result("rcp.approx", 0), 0x7f800000);
    assert_int_equal(f32_result("rcp.approx", -INFINITY), 0x80000000);
    assert_int_equal(f32_result("rcp.approx.ftz", 0x1p-130), 0x7f800000);
    assert_int_equal(f32_result("rsqrt.approx", 16), gs_f32_bits(0.25f));
    assert_int_equal(f32_result("rsqrt.approx", -1), 0x7fffffff);
    assert_int_equal(f32_result("lg2.approx", 0), 0xff800000);
    assert_int_equal(f32_result("sin.approx", NAN), 0x7fffffff);
    assert_int_equal(f32_result("cos.approx", NAN), 0x7fffffff);
    assert_int_equal(f32_result("sin.approx", INFINITY), 0x7fffffff);
    assert_int_equal(f32_result("ex2.approx", -INFINITY), 0);
    assert_int_equal(f32_result("ex2.approx.ftz", -130), 0);
    assert_int_equal(f32_result("ex2.approx", -130), gs_f32_bits(0x1p-130f));
    assert_int_equal(f32_result("sin.approx", INFINITY), 0x7fffffff);
    const char *const approx = "div.approx.f32 %r0, %r1, %r2;", *const full = "div.full.f32 %r0, %r1, %r2;";
    assert_int_equal(alu_one(approx, "r0", gs_f32_bits(6), "r1", gs_f32_bits(-4), "r2"), gs_f32_bits(-1.5f));
    int unlike = 0;   /* x / x may differ from 1: as on a GPU, a quotient is a product with an approximate reciprocal */
    for (int x = 1; x < 100; x++) {
        const uint32_t bits = gs_f32_bits((float)x);
        const double got = alu_f32(alu_one(x & 1 ? approx : full, "r0", bits, "r1", bits, "r2")), root = alu_f32(f32_result("sqrt.approx", x * x));
        assert_true(fabs(got - 1) <= 0x1p-22 && fabs(root - x) <= x * 0x1p-22);
        unlike += got != 1;
    }
    assert_in_range(unlike, 10, 90);
    assert_int_equal(alu_one(approx, "r0", gs_f32_bits(0x1p127f), "r1", gs_f32_bits(0x1p127f), "r2"), 0);
    for (int sign = -1; sign <= 1; sign += 2) {   /* on both sides of the largest divisor with a normal reciprocal */
        assert_int_equal(alu_one(approx, "r0", gs_f32_bits(0x1p126f), "r1", gs_f32_bits((float)sign * 0x1p126f), "r2"), gs_f32_bits((float)sign));
        assert_int_equal(alu_one(approx, "r0", gs_f32_bits(0x1p126f), "r1", gs_f32_bits((float)sign * 0x1.000002p126f), "r2"), gs_f32_bits((float)sign * 0.0f));
        assert_int_equal(alu_one(approx, "r0", gs_f32_bits(0x1p126f), "r1", gs_f32_bits((float)sign * 0x1.fffffep127f), "r2"), gs_f32_bits((float)sign * 0.0f));
        assert_int_equal(alu_one(approx, "r0", gs_f32_bits(1), "r1", gs_f32_bits((float)sign * INFINITY), "r2"), gs_f32_bits((float)sign * 0.0f));
    }
    assert_int_equal(alu_one(full, "r0", gs_f32_bits(0x1p127f), "r1", gs_f32_bits(0x1p127f), "r2"), gs_f32_bits(1));
    assert_int_equal(alu_one("rcp.approx.ftz.f64 %q0, %q1;", "q0", gs_f64_bits(4), "q1", 0, NULL), gs_f64_bits(0.25));
    assert_int_equal(alu_one("ex2.approx.f16x2 %r0, %r1;", "r0", 0x3c00c000, "r1", 0, NULL), 0x40003400);        /* 2^1, 2^-2 */
    assert_int_equal(alu_one("ex2.approx.ftz.bf16 %h0, %h1;", "h0", 0x4040, "h1", 0, NULL), 0x4100);             /* 2^3 */
    assert_int_equal(alu_one("tanh.approx.bf16x2 %r0, %r1;", "r0", 0x7f80ff80, "r1", 0, NULL), 0x3f80bf80);
}

/* A literal in place of a register has the width of the instruction's type. */
static void numbers_are_converted(void **state)
{
    (void)state;
    static const struct { const char *text, *result; uint64_t value; } cases[] = {
        {"cvt.u64.u32 %q0, 5;", "q0", 5}, {"cvt.s64.s32 %q0, -5;", "q0", (uint64_t)-5}, {"cvt.u32.u64 %r0, 0x1122334455667788;", "r0", 0x55667788}, {"cvt.u32.u8 %r0, 300;", "r0", 44},
        {"cvt.s32.s8 %r0, 200;", "r0", (uint32_t)-56}, {"cvt.u16.u32 %h0, 70000;", "h0", 70000 & 0xffff}, {"cvt.s32.s16 %r0, 0x8000;", "r0", 0xffff8000}, {"cvt.sat.u8.s32 %r0, -3;", "r0", 0},
        {"cvt.sat.u8.s32 %r0, 300;", "r0", 255}, {"cvt.rn.f32.s32 %r0, -7;", "r0", 0xc0e00000}, {"cvt.rn.f64.u32 %q0, 3;", "q0", 0x4008000000000000}, {"cvt.rn.f16.s32 %h0, 2;", "h0", 0x4000},
        {"cvt.rzi.s32.f32 %r0, 0fc0200000;", "r0", (uint32_t)-2}, {"cvt.f64.f32 %q0, 0f3fc00000;", "q0", 0x3ff8000000000000}, {"cvt.rn.f16.f32 %h0, 0f3f800000;", "h0", 0x3c00},
        {"cvt.rn.f16x2.f32 %r0, 0f3f800000, 0f40000000;", "r0", 0x3c004000},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const uint64_t value = alu_one(cases[i].text, cases[i].result, 0, NULL, 0, NULL);
        if (value != cases[i].value) fail_msg("%s: %llx", cases[i].text, (unsigned long long)value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_converted), cmocka_unit_test(integers_are_cut_extended_and_saturated),
        cmocka_unit_test(integers_become_floating_point_in_every_rounding),
        cmocka_unit_test(floating_point_becomes_integers),
        cmocka_unit_test(floating_point_narrows_and_widens),
        cmocka_unit_test(pairs_of_halves_and_their_modifiers),
        cmocka_unit_test(tf32_has_ten_bits_of_fraction),
        cmocka_unit_test(packed_integers_are_saturated),
        cmocka_unit_test(integers_are_compared),
        cmocka_unit_test(floating_point_is_compared),
        cmocka_unit_test(results_are_combined_with_a_predicate),
        cmocka_unit_test(pairs_are_set_and_kinds_of_numbers_told_apart),
        cmocka_unit_test(approximations_are_near_and_their_ends_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
