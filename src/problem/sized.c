/* SPDX-License-Identifier: MIT */
#include "problem/sized.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"

#define MOST_SIZE 65536   /* a larger size means an uninitialised struct */

static uint32_t size_of(const void *given)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

gs_status gs_sized_check(const void *given, size_t named, size_t known, const char *what, const char *make, gs_error *error)
{
    const unsigned char *const bytes = given;
    const size_t size = size_of(given);
    if (size < named || size > MOST_SIZE)
        return gs_fail(error, GS_ERROR_ARGUMENT, "size", "%s has a size of %zu bytes, at least %zu are needed; start from %s", what, size, named, make);
    for (size_t i = named; i < size; i++) {
        if (!bytes[i]) continue;
        if (i < known) return gs_fail(error, GS_ERROR_UNSUPPORTED, "reserved", "%s has a reserved field that is not zero; start from %s", what, make);
        return gs_fail(error, GS_ERROR_ARGUMENT, "size", "%s has fields that this version of the library does not know (%zu bytes, %zu are known)", what, size, known);
    }
    return GS_OK;
}

void gs_sized_copy(void *to, const void *given, size_t known)
{
    const size_t size = size_of(given);
    const uint32_t own = (uint32_t)known;
    memset(to, 0, known);
    memcpy(to, given, GS_MIN(size, known));
    memcpy(to, &own, sizeof own);
}
