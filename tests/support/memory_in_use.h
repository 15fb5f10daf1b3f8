/* SPDX-License-Identifier: MIT
 * Checks that calls free the memory that they allocate, also in builds without LeakSanitizer. */
#ifndef TESTS_MEMORY_IN_USE_H
#define TESTS_MEMORY_IN_USE_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>

/* The first MEMORY_WARM of MEMORY_ROUNDS rounds of the same calls only fill caches of the C library, which count as in use. */
enum { MEMORY_WARM = 10, MEMORY_ROUNDS = 14 };

typedef struct memory_watch {
    size_t in_use;   /* bytes at the last look */
    int    looks, grew;
} memory_watch;

/* Call at the beginning of each round. A longer text may make a buffer grow in one round; a leak grows in every round. */
static inline void memory_round(memory_watch *watch)
{
    const struct mallinfo2 now = mallinfo2();
    const size_t in_use = now.uordblks + now.hblkhd;
    watch->grew += watch->looks > MEMORY_WARM && in_use > watch->in_use;
    watch->in_use = in_use;
    watch->looks++;
}

/* Call after the last round: whether memory grew in every round. Resets the watch. */
static inline bool memory_grows(memory_watch *watch)
{
    memory_round(watch);
    const bool grows = watch->grew == MEMORY_ROUNDS - MEMORY_WARM;
    *watch = (memory_watch){0};
    return grows;
}

#endif
