/* SPDX-License-Identifier: MIT
 * Time limits in tests are meant for an idle machine; a busy or slow machine may take several times as long without a fault. */
#ifndef GS_TEST_PATIENCE_H
#define GS_TEST_PATIENCE_H

#include <stdlib.h>

/* How many times slower than an idle machine this one may be: $GS_TIMEOUT_FACTOR, by default 4, as for ctest's own limits. */
static inline double patience(void)
{
    const char *const text = getenv("GS_TIMEOUT_FACTOR");
    const double factor = text ? atof(text) : 4;
    return factor > 1 ? factor : 1;
}

#endif
