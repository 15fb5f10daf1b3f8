/* SPDX-License-Identifier: MIT
 * 128-bit content hashes (XXH3) and their text form. Not cryptographic: for names, not for protection. */
#ifndef GS_BASE_HASH_H
#define GS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define GS_HASH_TEXT 33

typedef struct gs_hash {
    uint64_t low, high;
} gs_hash;

gs_hash  gs_hash_bytes(const void *bytes, size_t size);
gs_hash  gs_hash_strings(const char *const *strings, size_t count);   /* {"ab",""} and {"a","b"} have different hashes */
uint64_t gs_hash64(const void *bytes, size_t size);
char    *gs_hash_format(gs_hash hash, char text[GS_HASH_TEXT]);       /* 32 hexadecimal digits; returns text */

#endif
