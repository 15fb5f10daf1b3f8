/* SPDX-License-Identifier: MIT
 * Whether what a call took is given back, in builds without LeakSanitizer too. */
#ifndef TESTS_MEMORY_IN_USE_H
#define TESTS_MEMORY_IN_USE_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>

/* Of these rounds of the same calls, so many only fill what the C library keeps for later, which counts as in use. */
enum { MEMORY_WARM = 10, MEMORY_ROUNDS = 14 };

typedef struct memory_watch {
    size_t in_use;   /* bytes, when it was looked last */
    int    looks, grew;
} memory_watch;

/* At the beginning of each round. A text may be longer than the one before, so that its memory grows once; what is not given back grows in every round. */
static inline void memory_round(memory_watch *watch)
{
    const struct mallinfo2 now = mallinfo2();
    const size_t in_use = now.uordblks + now.hblkhd;
    watch->grew += watch->looks > MEMORY_WARM && in_use > watch->in_use;
    watch->in_use = in_use;
    watch->looks++;
}

/* Behind the last round. The watch begins again. */
static inline bool memory_grows(memory_watch *watch)
{
    memory_round(watch);
    const bool grows = watch->grew == MEMORY_ROUNDS - MEMORY_WARM;
    *watch = (memory_watch){0};
    return grows;
}

#endif
