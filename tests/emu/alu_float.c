/* SPDX-License-Identifier: MIT
 * Floating-point arithmetic, comparisons and conversions of the emulated device, compared with the host's instructions in each rounding mode, with exact integers, and
 * with rounding as defined by IEEE 754. */
#include "emu_alu.h"

#include <fenv.h>

/* ---- half.h ---- */

static void halves_widen_exactly_and_narrow_to_the_nearest(void **state)
{
    (void)state;
    for (int brain = 0; brain < 2; brain++) {
        const alu_format f = brain ? ALU_BF16 : ALU_F16;
        const uint32_t infinity = brain ? 0x7f80 : 0x7c00;
        for (uint32_t h = 0; h < 65536; h++) {
            const double value = alu_half(h, brain);
            if ((h & 0x7fff) > infinity) {
                assert_true(isnan(value));
                assert_int_equal(alu_of_half(value, brain), 0x7fff);
                continue;
            }
            const int exponent = (int)(h & 0x7fff) >> (f.precision - 1);
            const double fraction = (double)(h & ((1u << (f.precision - 1)) - 1)), hidden = exponent ? ldexp(1, f.precision - 1) : 0;
            const double finite = ldexp(fraction + hidden, (exponent ? exponent : 1) + f.least - f.precision);
            const double magnitude = (h & 0x7fff) == infinity ? INFINITY : finite;
            assert_true(fabs(value) == magnitude && !signbit(value) == !(h & 0x8000));
            assert_int_equal(alu_of_half(value, brain), h);
            assert_int_equal(brain ? gs_f32_to_bf16((float)value) : gs_f32_to_f16((float)value), h);
            if ((h & 0x7fff) >= infinity) continue;
            const double above = (h & 0x7fff) == infinity - 1 ? copysign(ldexp(1, f.most + 1), value) : alu_half(h + 1, brain);
            const double middle = (value + above) / 2;
            const uint32_t even = h & 1 ? h + 1 : h;
            assert_int_equal(alu_of_half(middle, brain), even);
            assert_int_equal(alu_of_half(nextafter(middle, value), brain), h);
            assert_int_equal(alu_of_half(nextafter(middle, copysign(INFINITY, value)), brain), h + 1);
            const float single = (float)middle;
            assert_int_equal(brain ? gs_f32_to_bf16(single) : gs_f32_to_f16(single), even);
            const float beyond = nextafterf(single, copysignf(INFINITY, single));
            assert_int_equal(brain ? gs_f32_to_bf16(beyond) : gs_f32_to_f16(beyond), h + 1);
        }
    }
}

/* ---- f32 ---- */

typedef struct float_case { char op, mode; bool flush, saturate; } float_case;

static int host_mode(char mode) { return mode == 'z' ? FE_TOWARDZERO : mode == 'm' ? FE_DOWNWARD : mode == 'p' ? FE_UPWARD : FE_TONEAREST; }

static float host_f32(const float_case *t, float x, float y, float z)
{
    const volatile float a = x, b = y, c = z;
    volatile float result = 0;
    const int before = fegetround();
    fesetround(host_mode(t->mode));
    switch (t->op) {
    case '+': result = a + b; break;
    case '-': result = a - b; break;
    case '*': result = a * b; break;
    case '/': result = a / b; break;
    case '1': result = 1 / a; break;
    case 'r': result = sqrtf(a); break;
    default:  result = fmaf(a, b, c); break;
    }
    fesetround(before);
    return result;
}

static float flushed(float v) { return fabsf(v) < 0x1p-126f ? copysignf(0, v) : v; }

static uint64_t ref_f32(const uint64_t v[4], const void *context)
{
    const float_case *const t = context;
    float a = (float)alu_f32(v[0]), b = (float)alu_f32(v[1]), c = (float)alu_f32(v[2]);
    if (t->flush) a = flushed(a), b = flushed(b), c = flushed(c);
    float result = host_f32(t, a, b, c);
    if (t->flush) {   /* flushes results that are subnormal before rounding with an unbounded exponent */
        const alu_format endless = {24, -100000, 100000};
        const long double exact = t->op == '*' ? (long double)a * b : t->op == '/' ? (long double)a / b : (long double)result;
        if (fabs(alu_round(exact, endless, t->mode)) < 0x1p-126) result = copysignf(0, result);
    }
    if (t->saturate) result = result > 0 ? (result < 1 ? result : 1) : 0;
    return isnan(result) ? 0x7fffffff : gs_f32_bits(result);
}

static void f32_in_every_rounding(void **state)
{
    (void)state;
    static const struct { const char *name; char op; int sources; bool saturates, must_round; } all[] = {
        {"add", '+', 2, true, false}, {"sub", '-', 2, true, false}, {"mul", '*', 2, true, false}, {"fma", 'f', 3, true, true},
        {"mad", 'f', 3, true, true},
        {"div", '/', 2, false, true}, {"rcp", '1', 1, false, true}, {"sqrt", 'r', 1, false, true},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++)
        for (const char *mode = all[i].must_round ? "nzmp" : "\0nzmp", *end = mode + (all[i].must_round ? 4 : 5); mode < end; mode++)
            for (int flags = 0; flags < 4; flags++) {
                const float_case t = {all[i].op, *mode ? *mode : 'n', flags & 1, flags & 2};
                if ((t.saturate && !all[i].saturates) || (t.flush && (t.op == 'f' || t.op == '1'))) continue;
                char text[96];
                snprintf(text, sizeof text, "%s%s%.1s%s%s.f32 %%r0, %%r1%s%s;", all[i].name, *mode ? ".r" : "", mode, t.flush ? ".ftz" : "",
                         t.saturate ? ".sat" : "", all[i].sources > 1 ? ", %r2" : "", all[i].sources > 2 ? ", %r3" : "");
                alu_check(text, &"fff"[3 - all[i].sources], ref_f32, &t);
            }
}

static uint64_t one_f32(const char *statement, float a, float b, float c)
{
    emu_alu t;
    alu_open(&t, statement);
    for (int lane = 0; lane < GS_EMU_LANES; lane++) {
        alu_set(&t, "r1", lane, gs_f32_bits(a));
        alu_set(&t, "r2", lane, gs_f32_bits(b));
        if (strstr(statement, "%r3")) alu_set(&t, "r3", lane, gs_f32_bits(c));
    }
    alu_run(&t, GS_EMU_FULL);
    const uint64_t value = alu_get(&t, "r0", 5);
    alu_close(&t);
    return value;
}

/* Cases in which rounding twice gives a wrong result. */
static void fma_rounds_once(void **state)
{
    (void)state;
    const float tie = 1 + 0x1p-12f;   /* its square is 1 + 2^-11 + 2^-24: between two f32 numbers */
    const char *const fma_rn = "fma.rn.f32 %r0, %r1, %r2, %r3;", *const ftz = "fma.rn.ftz.f32 %r0, %r1, %r2, %r3;";
    assert_int_equal(one_f32(fma_rn, tie, tie, 0), gs_f32_bits(1 + 0x1p-11f));
    assert_int_equal(one_f32(fma_rn, tie, tie, 0x1p-149f), gs_f32_bits(1 + 0x1p-11f + 0x1p-23f));
    assert_int_equal(one_f32(fma_rn, tie, tie, -0x1p-149f), gs_f32_bits(1 + 0x1p-11f));
    assert_int_equal(one_f32(ftz, tie, tie, 0x1p-126f), gs_f32_bits(1 + 0x1p-11f + 0x1p-23f));
    assert_int_equal(one_f32("fma.rz.f32 %r0, %r1, %r2, %r3;", 1, 1, -0x1p-149f), gs_f32_bits(1 - 0x1p-24f));
    assert_int_equal(one_f32("fma.rp.f32 %r0, %r1, %r2, %r3;", 1, 1, 0x1p-149f), gs_f32_bits(1 + 0x1p-23f));
    assert_int_equal(one_f32("fma.rm.f32 %r0, %r1, %r2, %r3;", 1, 1, -1), 0x80000000);
    assert_int_equal(one_f32("mul.ftz.f32 %r0, %r1, %r2;", 1 - 0x1p-24f, 0x1p-126f, 0), 0);
    assert_int_equal(one_f32("mul.f32 %r0, %r1, %r2;", 1 - 0x1p-24f, 0x1p-126f, 0), gs_f32_bits(0x1p-126f));
    assert_int_equal(one_f32(ftz, 0x1p-80f, 0x1p-80f, -0x1p-126f), gs_f32_bits(-0x1p-126f));
    assert_int_equal(one_f32(ftz, 0x1p-63f, 0x1p-64f, 0), 0);
}

typedef struct bound_case { bool greatest, flush, nan, xorsign; int half; } bound_case;   /* half: 0 f32, 1 f16, 2 bf16 */

static double ref_bound(const bound_case *t, double a, double b)
{
    const double least = t->half == 1 ? 0x1p-14 : 0x1p-126;
    if (t->flush && fabs(a) < least) a = copysign(0, a);
    if (t->flush && fabs(b) < least) b = copysign(0, b);
    const bool negative = t->xorsign && !signbit(a) != !signbit(b);
    if (t->xorsign) a = fabs(a), b = fabs(b);
    if (isnan(a) || isnan(b)) {
        const double other = isnan(a) ? b : a;
        return t->nan || isnan(other) ? NAN : negative ? -other : other;
    }
    const bool first = a == b ? !signbit(a) == t->greatest : (a > b) == t->greatest;
    const double chosen = first ? a : b;
    return negative ? -chosen : chosen;
}
static uint64_t ref_bound_f32(const uint64_t v[4], const void *context) { return alu_of_f32(ref_bound(context, alu_f32(v[0]), alu_f32(v[1]))); }
static uint64_t ref_bound_half(const uint64_t v[4], const void *context)
{
    const bool brain = ((const bound_case *)context)->half == 2;
    return alu_of_half(ref_bound(context, alu_half(v[0], brain), alu_half(v[1], brain)), brain);
}
static uint64_t ref_bound_pair(const uint64_t v[4], const void *context)
{
    const uint64_t upper[4] = {v[0] >> 16, v[1] >> 16}, lower[4] = {v[0] & 0xffff, v[1] & 0xffff};
    return ref_bound_half(upper, context) << 16 | ref_bound_half(lower, context);
}

static void smallest_and_greatest(void **state)
{
    (void)state;
    static const struct { const char *type; int half; char letter; bool pair; } all[] = {
        {"f32", 0, 'r', false}, {"f16", 1, 'h', false}, {"f16x2", 1, 'r', true}, {"bf16", 2, 'h', false}, {"bf16x2", 2, 'r', true},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++)
        for (int flags = 0; flags < 16; flags++) {
            const bound_case t = {flags & 1, flags & 2, flags & 4, flags & 8, all[i].half};
            char text[96];
            const char c = all[i].letter;
            if (t.flush && t.half == 2) continue;
            snprintf(text, sizeof text, "%s%s%s%s.%s %%%c0, %%%c1, %%%c2;", t.greatest ? "max" : "min", t.flush ? ".ftz" : "", t.nan ? ".NaN" : "",
                     t.xorsign ? ".xorsign.abs" : "", all[i].type, c, c, c);
            alu_reference *const reference = t.half == 0 ? ref_bound_f32 : all[i].pair ? ref_bound_pair : ref_bound_half;
            alu_check(text, t.half == 0 ? "ff" : t.half == 1 ? "hh" : "bb", reference, &t);
        }
    assert_int_equal(alu_one("min.f64 %q0, %q1, %q2;", "q0", 0, "q1", 1ull << 63, "q2"), 1ull << 63);
    assert_int_equal(alu_one("max.f64 %q0, %q1, %q2;", "q0", gs_f64_bits(NAN), "q1", gs_f64_bits(-2), "q2"), gs_f64_bits(-2));
}

static uint64_t ref_abs(const uint64_t v[4], const void *context) { (void)context; return alu_of_f32(fabs(alu_f32(v[0]))); }
static uint64_t ref_neg_ftz(const uint64_t v[4], const void *context) { (void)context; return alu_of_f32(-flushed((float)alu_f32(v[0]))); }
static uint64_t ref_neg_f16(const uint64_t v[4], const void *context) { (void)context; return alu_of_half(-alu_half(v[0], false), false); }
static uint64_t ref_abs_bf16(const uint64_t v[4], const void *context) { (void)context; return alu_of_half(fabs(alu_half(v[0], true)), true); }
static uint64_t ref_copysign(const uint64_t v[4], const void *context) { (void)context; return (v[0] & 0x80000000) | (v[1] & 0x7fffffff); }

static void signs(void **state)
{
    (void)state;
    alu_check("abs.f32 %r0, %r1;", "f", ref_abs, NULL);
    alu_check("neg.ftz.f32 %r0, %r1;", "f", ref_neg_ftz, NULL);
    alu_check("neg.f16 %h0, %h1;", "h", ref_neg_f16, NULL);
    alu_check("abs.bf16 %h0, %h1;", "b", ref_abs_bf16, NULL);
    alu_check("copysign.f32 %r0, %r1, %r2;", "ff", ref_copysign, NULL);
}

/* ---- f64 ---- */

/* The nearest result, corrected by the sign of the rounding error; exact unless the operation under- or overflows. */
static uint64_t ref_f64(const uint64_t v[4], const void *context)
{
    const float_case *const t = context;
    const double a = gs_bits_f64(v[0]), b = gs_bits_f64(v[1]);
    double near, rest;
    switch (t->op) {
    case '+': near = a + b, rest = fabs(a) > fabs(b) ? b - (near - a) : a - (near - b); break;
    case '*': near = a * b, rest = fma(a, b, -near); break;
    case '/': near = a / b, rest = copysign(1, b) * fma(-near, b, a); break;
    default:  near = sqrt(a), rest = fma(-near, near, a); break;
    }
    const bool ordinary = fabs(near) < 0x1p1000 && fabs(near) > 0x1p-900 && fabs(a) > 0x1p-900 && fabs(b) < 0x1p900;
    if (!ordinary) {   /* use the host's rounding mode */
        const volatile double x = a, y = b;
        volatile double result;
        fesetround(host_mode(t->mode));
        result = t->op == '+' ? x + y : t->op == '*' ? x * y : t->op == '/' ? x / y : sqrt(x);
        fesetround(FE_TONEAREST);
        return gs_f64_bits(result);
    }
    if (t->mode == 'z' && (rest > 0) != (near > 0) && rest != 0) near = nextafter(near, 0);
    if (t->mode == 'm' && rest < 0) near = nextafter(near, -INFINITY);
    if (t->mode == 'p' && rest > 0) near = nextafter(near, INFINITY);
    return gs_f64_bits(near);
}

static uint64_t ref_fma_f64(const uint64_t v[4], const void *context)
{
    (void)context;
    return gs_f64_bits(fma(gs_bits_f64(v[0]), gs_bits_f64(v[1]), gs_bits_f64(v[2])));
}

static void f64_in_every_rounding(void **state)
{
    (void)state;
    static const struct { const char *name; char op; int sources; } all[] = {{"add", '+', 2}, {"mul", '*', 2}, {"div", '/', 2}, {"sqrt", 'r', 1}};
    for (size_t i = 0; i < GS_COUNT(all); i++)
        for (const char *mode = "nzmp"; *mode; mode++) {
            const float_case t = {all[i].op, *mode, false, false};
            char text[96];
            snprintf(text, sizeof text, "%s.r%c.f64 %%q0, %%q1%s;", all[i].name, *mode, all[i].sources > 1 ? ", %q2" : "");
            alu_check(text, &"dd"[2 - all[i].sources], ref_f64, &t);
        }
    alu_check("fma.rn.f64 %q0, %q1, %q2, %q3;", "ddd", ref_fma_f64, NULL);
    assert_int_equal(alu_one("add.f64 %q0, %q1, 0f3FC00000;", "q0", gs_f64_bits(1), "q1", 0, NULL), gs_f64_bits(2.5));   /* an f32 literal is widened */
    assert_int_equal(alu_one("add.rp.f64 %q0, %q1, %q2;", "q0", gs_f64_bits(1), "q1", gs_f64_bits(0x1p-80), "q2"), gs_f64_bits(1 + 0x1p-52));
    assert_int_equal(fegetround(), FE_TONEAREST);   /* the host's rounding mode is restored */
}

/* ---- f16 and bf16 ---- */

/* Rounds an exact sum, an integer in units of 2^-unit, as defined by IEEE 754. */
static double round_integer(__int128 exact, int unit, alu_format f)
{
    const bool negative = exact < 0;
    unsigned __int128 m = negative ? -(unsigned __int128)exact : (unsigned __int128)exact;
    int bits = 0;
    while (bits < 128 && m >> bits) bits++;
    const int exponent = bits - 1 - unit, quantum = (exponent > f.least ? exponent : f.least) - (f.precision - 1), drop = quantum + unit;
    if (drop > 0) {
        const unsigned __int128 rest = m & (((unsigned __int128)1 << drop) - 1), half = (unsigned __int128)1 << (drop - 1);
        m >>= drop;
        if (rest > half || (rest == half && m & 1)) m++;
        m <<= drop;
    }
    const double magnitude = ldexp((double)m, -unit);
    return negative ? -magnitude : magnitude;
}

typedef struct half_case { char op; bool brain, flush, saturate, relu; } half_case;

static uint64_t ref_half(const uint64_t v[4], const void *context)
{
    const half_case *const t = context;
    const alu_format f = t->brain ? ALU_BF16 : ALU_F16;
    double x[3];
    for (int i = 0; i < 3; i++) {
        x[i] = alu_half(v[i], t->brain);
        if (t->flush && fabs(x[i]) < 0x1p-14) x[i] = copysign(0, x[i]);
    }
    const alu_format endless = {f.precision, -100000, 100000};
    const double product = x[0] * x[1];   /* exact */
    double exact = t->op == '+' ? x[0] + x[1] : t->op == '-' ? x[0] - x[1] : t->op == '*' ? product : product + x[2];
    double unbounded = alu_round(exact, endless, 'n');
    if (t->op == 'f' && isfinite(exact) && exact != 0) {
        const int unit = t->brain ? 80 : 48;
        const bool fits = fabs(product) < 0x1p44 && fabs(x[2]) < 0x1p44;
        const double p = ldexp(product, unit), c = ldexp(x[2], unit);
        if (fits && p == floor(p) && c == floor(c)) {
            const __int128 sum = (__int128)p + (__int128)c;
            unbounded = round_integer(sum, unit, endless);
            exact = round_integer(sum, unit, f);
        } else if (t->brain && product != 0 && x[2] != 0 && fabs(log2(fabs(product)) - log2(fabs(x[2]))) > 40) {
            const double large = fabs(product) > fabs(x[2]) ? product : x[2], small = large == product ? x[2] : product;
            exact = nextafter(large, small > 0 ? INFINITY : -INFINITY);   /* the smaller one only breaks ties */
        }
    }
    if (t->flush && fabs(unbounded) < 0x1p-14) exact = copysign(0, exact);
    double result = alu_round(exact, f, 'n');
    if (t->saturate) result = result > 0 ? (result < 1 ? result : 1) : 0;
    if (t->relu) result = isnan(result) || result > 0 ? result : 0;
    return alu_of_half(result, t->brain);
}

static uint64_t ref_half_pair(const uint64_t v[4], const void *context)
{
    uint64_t upper[4], lower[4];
    for (int i = 0; i < 4; i++) upper[i] = v[i] >> 16, lower[i] = v[i] & 0xffff;
    return ref_half(upper, context) << 16 | ref_half(lower, context);
}

static void halves_round_once(void **state)
{
    (void)state;
    static const struct { const char *name; char op; } all[] = {{"add", '+'}, {"sub", '-'}, {"mul", '*'}, {"fma.rn", 'f'}};
    for (size_t i = 0; i < GS_COUNT(all); i++)
        for (int flags = 0; flags < 32; flags++) {
            const bool brain = flags & 1, pair = flags & 2;
            const half_case t = {all[i].op, brain, flags & 4, flags & 8, flags & 16};
            const char c = pair ? 'r' : 'h';
            char text[96];
            if ((brain && (t.flush || t.saturate)) || (t.saturate && t.relu) || (t.relu && t.op != 'f')) continue;
            snprintf(text, sizeof text, "%s%s%s%s.%s%s %%%c0, %%%c1, %%%c2%s;", all[i].name, t.flush ? ".ftz" : "", t.saturate ? ".sat" : "",
                     t.relu ? ".relu" : "", brain ? "bf16" : "f16", pair ? "x2" : "", c, c, c, t.op != 'f' ? "" : pair ? ", %r3" : ", %h3");
            alu_check(text, brain ? &"bbb"[t.op == 'f' ? 0 : 1] : &"hhh"[t.op == 'f' ? 0 : 1], pair ? ref_half_pair : ref_half, &t);
        }
}

/* All pairs of numbers from a lattice over the whole range. */
static void f16_pairs_of_a_lattice(void **state)
{
    (void)state;
    static const char ops[] = "+-*";
    for (int k = 0; k < 3; k++) {
        const half_case c = {ops[k], false, false, false, false};
        emu_alu t;
        alu_open(&t, k == 0 ? "add.f16 %h0, %h1, %h2;" : k == 1 ? "sub.f16 %h0, %h1, %h2;" : "mul.f16 %h0, %h1, %h2;");
        uint16_t *const a = gs_emu_u16(&t.warp, alu_offset(&t, "h1")), *const b = gs_emu_u16(&t.warp, alu_offset(&t, "h2"));
        const uint16_t *const d = gs_emu_u16(&t.warp, alu_offset(&t, "h0"));
        for (uint32_t x = 0; x < 0x7c00; x += 109)
            for (uint32_t y = 0; y < 65536; y += 32 * 139) {
                for (uint32_t l = 0; l < GS_EMU_LANES; l++) a[l] = (uint16_t)x, b[l] = (uint16_t)(y + 139 * l);
                alu_run(&t, GS_EMU_FULL);
                for (int l = 0; l < GS_EMU_LANES; l++) {
                    const uint64_t v[4] = {a[l], b[l]};
                    if (d[l] != ref_half(v, &c)) fail_msg("%04x %c %04x gives %04x", a[l], ops[k], b[l], d[l]);
                }
            }
        alu_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_widen_exactly_and_narrow_to_the_nearest),
        cmocka_unit_test(f32_in_every_rounding),
        cmocka_unit_test(fma_rounds_once),
        cmocka_unit_test(smallest_and_greatest),
        cmocka_unit_test(signs),
        cmocka_unit_test(f64_in_every_rounding),
        cmocka_unit_test(halves_round_once),
        cmocka_unit_test(f16_pairs_of_a_lattice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
