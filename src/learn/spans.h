/* SPDX-License-Identifier: MIT
 * Groups of samples, which are shuffled before each training pass. */
#ifndef GS_LEARN_SPANS_H
#define GS_LEARN_SPANS_H

#include "base/random.h"

typedef struct gs_span {
    int begin, count;   /* indices of samples */
} gs_span;

static inline void gs_spans_shuffle(gs_span *spans, int count, gs_random *random)
{
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)gs_random_below(random, (uint64_t)i + 1);
        const gs_span swap = spans[i];
        spans[i] = spans[j];
        spans[j] = swap;
    }
}

#endif
