/* SPDX-License-Identifier: MIT
 * Numbers for the examples. */
#ifndef EXAMPLE_NUMBERS_H
#define EXAMPLE_NUMBERS_H

#include <stdint.h>

/* Small integers from -2 to 2, also as f16 bits. Sums of their products need no rounding, so results can be compared exactly. */
static inline int small_integer(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)(*state >> 24) % 5 - 2;
}

static inline uint16_t f16_bits(int small)
{
    static const uint16_t bits[] = {0xc000, 0xbc00, 0x0000, 0x3c00, 0x4000};
    return bits[small + 2];
}

#endif
