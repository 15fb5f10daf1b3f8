/* SPDX-License-Identifier: MIT
 * Proves that f16 and bf16 conversions on the host are exact when widening and round to nearest, ties to even, when narrowing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/half.h"
#include "base/random.h"
#include "common/datagen.h"

typedef float (*widen)(uint16_t);
typedef uint16_t (*narrow)(float);

static const struct format { const char *name; int mantissa, bias; widen widen; narrow narrow; } formats[] = {
    {"f16",  10, 15,  gs_f16_to_f32,  gs_f32_to_f16},
    {"bf16", 7,  127, gs_bf16_to_f32, gs_f32_to_bf16},
};

/* The value of the bits by the definition of the format. */
static double by_definition(const struct format *f, unsigned bits)
{
    const int exponent = (int)(bits >> f->mantissa & ((1u << (15 - f->mantissa)) - 1));
    const double fraction = (double)(bits & ((1u << f->mantissa) - 1));
    const double magnitude = exponent ? ldexp(fraction + ldexp(1, f->mantissa), exponent - f->bias - f->mantissa)
                                      : ldexp(fraction, 1 - f->bias - f->mantissa);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static bool is_finite(const struct format *f, unsigned bits)
{
    return (bits >> f->mantissa & ((1u << (15 - f->mantissa)) - 1)) != (1u << (15 - f->mantissa)) - 1;
}

static void every_pattern_widens_exactly_and_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct format *const f = &formats[i];
        for (unsigned bits = 0; bits < 65536; bits++) {
            const float value = f->widen((uint16_t)bits);
            if (is_finite(f, bits)) {
                if ((double)value != by_definition(f, bits) || !signbit(value) != !(bits & 0x8000))
                    fail_msg("%s %04x widens to %a", f->name, bits, (double)value);
                if (f->narrow(value) != bits) fail_msg("%s %04x comes back as %04x", f->name, bits, f->narrow(value));
            } else if (bits & ((1u << f->mantissa) - 1)) {
                assert_true(isnan(value));
                assert_true(isnan(f->widen(f->narrow(value))));
            } else {
                assert_true(isinf(value) && !signbit(value) == !(bits & 0x8000));
                assert_int_equal(f->narrow(value), bits);
            }
        }
    }
}

/* Between two neighbours: the midpoint goes to the even one, a hair to either side to the nearer. The midpoints are f32 values. */
static void every_gap_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct format *const f = &formats[i];
        for (unsigned bits = 0; is_finite(f, bits); bits++) {
            const double low = by_definition(f, bits),
                         high = is_finite(f, bits + 1) ? by_definition(f, bits + 1) : 2 * low - by_definition(f, bits - 1);
            const float middle = (float)((low + high) / 2);
            if ((double)middle != (low + high) / 2) fail_msg("no exact midpoint above %04x", bits);
            const unsigned even = bits + (bits & 1);
            for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
                const float signed_middle = sign ? -middle : middle, towards = sign ? -INFINITY : INFINITY;
                if (f->narrow(signed_middle) != (even | sign))
                    fail_msg("%s: the tie above %04x goes to %04x", f->name, bits, f->narrow(signed_middle));
                assert_int_equal(f->narrow(nextafterf(signed_middle, towards)), (bits + 1) | sign);
                assert_int_equal(f->narrow(nextafterf(signed_middle, 0)), bits | sign);
            }
        }
    }
}

static void beyond_the_range(void **state)
{
    (void)state;
    assert_int_equal(gs_f32_to_f16(65519.99f), 0x7bff);
    assert_int_equal(gs_f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(gs_f32_to_f16(-1e30f), 0xfc00);
    assert_int_equal(gs_f32_to_f16(0x1p-25f), 0);
    assert_int_equal(gs_f32_to_f16(nextafterf(0x1p-25f, 1)), 1);
    assert_int_equal(gs_f32_to_bf16(3.4028235e38f), 0x7f80);
    assert_true(isnan(gs_bf16_to_f32(gs_f32_to_bf16(NAN))));
}

#ifdef __FLT16_MAX__
/* The compiler's own type, where it has one, over random f32 patterns. */
static void as_the_compiler_converts(void **state)
{
    (void)state;
    gs_random random = {7};
    for (int i = 0; i < 2000000; i++) {
        const uint32_t bits = (uint32_t)gs_random_next(&random);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isnan(value)) continue;
        const _Float16 theirs = (_Float16)value;
        uint16_t theirs_bits;
        memcpy(&theirs_bits, &theirs, sizeof theirs_bits);
        if (gs_f32_to_f16(value) != theirs_bits)
            fail_msg("%a gives %04x, the compiler %04x", (double)value, gs_f32_to_f16(value), theirs_bits);
    }
}
#endif

/* Rounding an f64 to odd f32 and then to 16 bits is rounding it once: values a hair off a midpoint, where rounding twice fails. */
static void rounding_to_odd_rounds_once(void **state)
{
    (void)state;
    for (unsigned bits = 0x0400; bits < 0x7bff; bits += 3) {
        const double low = by_definition(&formats[0], bits), high = by_definition(&formats[0], bits + 1),
                     middle = (low + high) / 2, hair = (high - low) * 0x1p-40;
        assert_int_equal(gs_f32_to_f16(gs_round_to_odd(middle + hair)), bits + 1);
        assert_int_equal(gs_f32_to_f16(gs_round_to_odd(middle - hair)), bits);
        assert_int_equal(gs_f32_to_f16(gs_round_to_odd(-middle - hair)), (bits + 1) | 0x8000);
        assert_int_equal(gs_f32_to_f16(gs_round_to_odd(middle)), bits + (bits & 1));
    }
    assert_true(isnan(gs_round_to_odd(NAN)));
    assert_true(isinf(gs_round_to_odd(-INFINITY)));
    assert_int_equal(gs_f32_to_f16(gs_round_to_odd(1e300)), 0x7c00);
    assert_int_equal(gs_f32_to_bf16(gs_round_to_odd(-1e300)), 0xff80);
}

/* What tests of results rest on: f64 to both formats, at every value, at the middle of every gap, and beside it. */
static void doubles_round_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct format *const f = &formats[i];
        uint16_t (*const of)(double) = i == 0 ? gs_f64_to_f16 : gs_f64_to_bf16;
        for (unsigned bits = 0; is_finite(f, bits); bits++) {
            const double value = by_definition(f, bits);
            assert_int_equal(of(value), bits);
            assert_int_equal(of(-value), bits | 0x8000);
            /* behind the largest lies what would be the next power of two */
            const double next = is_finite(f, bits + 1) ? by_definition(f, bits + 1) : ldexp(1, f->bias + 1), middle = (value + next) / 2;
            assert_int_equal(of(middle), bits + (bits & 1));
            assert_int_equal(of(nextafter(middle, 0)), bits);
            assert_int_equal(of(nextafter(middle, INFINITY)), bits + 1);
        }
        const unsigned infinite = ((1u << (15 - f->mantissa)) - 1) << f->mantissa;
        assert_int_equal(of(INFINITY), infinite);
        assert_int_equal(of(-INFINITY), infinite | 0x8000);
        assert_int_equal(of(ldexp(1, f->bias + 1)), infinite);
        assert_int_equal(of(1e300), infinite);
        assert_int_equal(of(1e-300), 0);
        assert_int_equal(of(NAN), 0x7fff);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_widens_exactly_and_comes_back),
        cmocka_unit_test(every_gap_rounds_to_nearest_even),
        cmocka_unit_test(beyond_the_range), cmocka_unit_test(doubles_round_once),
#ifdef __FLT16_MAX__
        cmocka_unit_test(as_the_compiler_converts),
#endif
        cmocka_unit_test(rounding_to_odd_rounds_once),
    };
    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
