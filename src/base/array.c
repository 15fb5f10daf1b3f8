/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 16 };

bool gs_grow(void *list, int count, int *capacity, size_t size)
{
    void *elements;
    if (count < *capacity) return true;
    if (*capacity > INT_MAX / 2) return false;
    const int wanted = *capacity > 0 ? 2 * *capacity : FIRST;
    memcpy(&elements, list, sizeof elements);   /* all object pointers have the same representation */
    elements = realloc(elements, (size_t)wanted * size);
    if (!elements) return false;
    memcpy(list, &elements, sizeof elements);
    *capacity = wanted;
    return true;
}
