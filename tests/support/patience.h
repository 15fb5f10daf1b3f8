/* SPDX-License-Identifier: MIT
 * Upper bounds of time in tests are an idle machine's; a busy or slow one takes several times as long and is right all the same. */
#ifndef GS_TEST_PATIENCE_H
#define GS_TEST_PATIENCE_H

#include <stdlib.h>

/* How many times slower than usual this machine may be: $GS_TIMEOUT_FACTOR, 4 without it, as ctest's own limits have it. */
static inline double patience(void)
{
    const char *const text = getenv("GS_TIMEOUT_FACTOR");
    const double factor = text ? atof(text) : 4;
    return factor > 1 ? factor : 1;
}

#endif
