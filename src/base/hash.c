/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

gs_hash gs_hash_bytes(const void *bytes, size_t size)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    return (gs_hash){hash.low64, hash.high64};
}

gs_hash gs_hash_strings(const char *const *strings, size_t count)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    for (size_t i = 0; i < count; i++) XXH3_128bits_update(&state, strings[i], strlen(strings[i]) + 1);
    const XXH128_hash_t hash = XXH3_128bits_digest(&state);
    return (gs_hash){hash.low64, hash.high64};
}

uint64_t gs_hash64(const void *bytes, size_t size) { return XXH3_64bits(bytes, size); }

char *gs_hash_format(gs_hash hash, char text[GS_HASH_TEXT])
{
    snprintf(text, GS_HASH_TEXT, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
    return text;
}
