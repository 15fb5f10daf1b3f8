/* SPDX-License-Identifier: MIT
 * f16 and bf16 on the host: widening, which is exact, and narrowing from f32 and f64, rounded once to nearest, ties to even. A NaN
 * narrows to 0x7fff, as on the GPU; widening keeps its bits. No branches, so that loops over lanes become vector code. They rely on the
 * host's default rounding mode. */
#ifndef GS_BASE_HALF_H
#define GS_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t gs_f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float gs_bits_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t gs_f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double gs_bits_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Selects without a branch: otherwise the compiler may compute a value only under the condition, and the loop is not vectorised. */
static inline uint32_t gs_choose(int condition, uint32_t yes, uint32_t no)
{
    const uint32_t mask = 0u - (uint32_t)(condition != 0);
    return (yes & mask) | (no & ~mask);
}

static inline uint64_t gs_choose_64(int condition, uint64_t yes, uint64_t no)
{
    const uint64_t mask = 0u - (uint64_t)(condition != 0);
    return (yes & mask) | (no & ~mask);
}

/* Moves exponent and fraction into place; the exponent's bias differs by 112. Infinity and NaN need 112 more. A subnormal is its
 * fraction in units of 2^-24: with the exponent of 2^-14 put in front, and 2^-14 subtracted again, the hardware normalises it. */
static inline float gs_f16_to_f32(uint16_t half)
{
    const uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    const uint32_t normal = magnitude + gs_choose(magnitude >= 0x7c00u << 13, 224u << 23, 112u << 23);
    const uint32_t subnormal = gs_f32_bits(gs_bits_f32(magnitude + (113u << 23)) - gs_bits_f32(113u << 23));
    const uint32_t bits = gs_choose(magnitude < 0x0400u << 13, subnormal, normal);
    return gs_bits_f32(bits | (uint32_t)(half & 0x8000) << 16);
}

/* Normal results: half a unit is added to the bits, and the carry runs into the exponent, up to infinity. Subnormal ones: adding 0.5,
 * whose unit is 2^-24, makes the hardware round to that unit. */
static inline uint16_t gs_f32_to_f16(float value)
{
    const uint32_t bits = gs_f32_bits(value), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    const uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const uint32_t subnormal = gs_f32_bits(gs_bits_f32(magnitude) + 0.5f) - (126u << 23);
    uint32_t half = gs_choose(magnitude < 113u << 23, subnormal, normal);
    half = gs_choose(magnitude >= 143u << 23, 0x7c00u, half);
    return (uint16_t)gs_choose(magnitude > 0x7f800000u, 0x7fffu, half | sign);
}

static inline float gs_bf16_to_f32(uint16_t half) { return gs_bits_f32((uint32_t)half << 16); }

static inline uint16_t gs_f32_to_bf16(float value)
{
    const uint32_t bits = gs_f32_bits(value);
    const uint32_t half = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)gs_choose((bits & 0x7fffffffu) > 0x7f800000u, 0x7fffu, half);
}

/* The same from f64: the spacing of doubles at 2^(53 - bias - fraction) is the smallest subnormal of the result. */
static inline uint16_t gs_f64_to_half(double value, int fraction, int bias)
{
    const uint64_t bits = gs_f64_bits(value), magnitude = bits & 0x7fffffffffffffffull;
    const int drop = 52 - fraction;
    const uint64_t normal = (magnitude - ((uint64_t)(1023 - bias) << 52) + ((1ull << (drop - 1)) - 1) + (magnitude >> drop & 1)) >> drop;
    const uint64_t unit = (uint64_t)(1023 + 53 - bias - fraction) << 52;
    const uint64_t subnormal = gs_f64_bits(gs_bits_f64(magnitude) + gs_bits_f64(unit)) - unit;
    const double least = gs_bits_f64((uint64_t)(1024 - bias) << 52), most = gs_bits_f64((uint64_t)(1024 + bias) << 52);
    uint64_t half = gs_choose_64(gs_bits_f64(magnitude) < least, subnormal, normal);
    half = gs_choose_64(gs_bits_f64(magnitude) >= most, (uint64_t)(2 * bias + 1) << fraction, half);
    return (uint16_t)gs_choose_64(value != value, 0x7fff, half | (bits >> 48 & 0x8000));
}

static inline uint16_t gs_f64_to_f16(double value)  { return gs_f64_to_half(value, 10, 15); }
static inline uint16_t gs_f64_to_bf16(double value) { return gs_f64_to_half(value, 7, 127); }

#endif
