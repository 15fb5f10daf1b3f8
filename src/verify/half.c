/* SPDX-License-Identifier: MIT
 * f16, bf16 <-> f32 on the host, by the bits: round to nearest, ties to even, NaN stays NaN. */
#include <string.h>

#include "verify/verify.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float gs_f16_to_f32(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    if (exponent == 31) return float_of(sign | 0x7f800000 | mantissa << 13);
    if (exponent) return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    const float magnitude = (float)mantissa * 0x1p-24f;   /* zero and subnormals: exact */
    return sign ? -magnitude : magnitude;
}

/* value >> shift, rounded to nearest, ties to even; shift from 1 to 31. */
static uint32_t shift_rounded(uint32_t value, int shift)
{
    const uint32_t half = 1u << (shift - 1), rest = value & ((half << 1) - 1), kept = value >> shift;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t gs_f32_to_f16(float value)
{
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000) return 0x7fff;                                /* as cvt gives it */
    if (magnitude >= 0x477ff000) return sign | 0x7c00;                        /* 65520 and beyond */
    if (magnitude >= 0x38800000) return (uint16_t)(sign | (shift_rounded(magnitude, 13) - (112u << 10)));
    if (magnitude < 0x33000000) return sign;                                  /* below half of the least subnormal */
    return (uint16_t)(sign | shift_rounded((magnitude & 0x7fffff) | 0x800000, 126 - (int)(magnitude >> 23)));
}

float gs_bf16_to_f32(uint16_t bits) { return float_of((uint32_t)bits << 16); }

uint16_t gs_f32_to_bf16(float value)
{
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7fff;
    return (uint16_t)((bits >> 16 & 0x8000) | shift_rounded(magnitude, 16));
}
