/* SPDX-License-Identifier: MIT
 * A small seeded random number generator (splitmix64) for sampling, bootstrap and tests; not for secrets. */
#ifndef GS_BASE_RANDOM_H
#define GS_BASE_RANDOM_H

#include <stdint.h>

typedef struct gs_random {
    uint64_t state;
} gs_random;

static inline uint64_t gs_random_next(gs_random *random)
{
    uint64_t z = (random->state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Uniform in [0, limit), limit >= 1. */
static inline uint64_t gs_random_below(gs_random *random, uint64_t limit)
{
    return (uint64_t)(((unsigned __int128)gs_random_next(random) * limit) >> 64);
}

/* Uniform in [0, 1). */
static inline double gs_random_unit(gs_random *random) { return (double)(gs_random_next(random) >> 11) * 0x1p-53; }

uint64_t gs_random_entropy(void);   /* from the operating system */

#endif
