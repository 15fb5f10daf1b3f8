/* SPDX-License-Identifier: MIT
 * Whether what a call took is given back, in builds without LeakSanitizer too. */
#ifndef TESTS_MEMORY_IN_USE_H
#define TESTS_MEMORY_IN_USE_H

#include <malloc.h>
#include <stddef.h>

/* Of these rounds of the same calls, so many only fill what the C library keeps for later, which counts as in use. */
enum { MEMORY_WARM = 10, MEMORY_ROUNDS = 14 };

/* Bytes. */
static inline size_t memory_in_use(void)
{
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

#endif
