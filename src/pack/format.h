/* SPDX-License-Identifier: MIT
 * The file format of packs. Only for src/pack. */
#ifndef GS_PACK_FORMAT_H
#define GS_PACK_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <gemmsmith/problem.h>

#include "base/hash.h"

#define GS_PACK_MAGIC   "gspack1\n"
#define GS_PACK_COUNT   (1u << 20)   /* most problems, most kernels */
#define GS_PACK_NOTHING UINT32_MAX

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers of a file are used as they lie");

typedef struct gs_pack_top {
    char     magic[8];
    uint64_t size;                         /* of the file */
    gs_hash  hash;                         /* of everything from the next field up to `code` */
    uint32_t head_bytes, entry_bytes, kernel_bytes;   /* sizes of these structs */
    uint32_t args_bytes;                   /* size of the kernels' arguments; a pack with another size is refused */
    uint32_t entries, kernels;
    uint64_t texts, code;                  /* their offsets; the entries follow the head, the kernels the entries */
    int32_t  cc, sms, nvrtc, driver, emulated, zero;
    char     version[32], target[16], gpu[48], date[24];
} gs_pack_top;
_Static_assert(sizeof(gs_pack_top) == 216, "no padding");
#define GS_PACK_HASHED_FROM (offsetof(gs_pack_top, hash) + sizeof(gs_hash))

typedef struct gs_pack_slot {
    gs_hash  key;
    uint32_t problem, choice, gpu, date, by;   /* offsets of texts from the first text */
    uint32_t kernel;                       /* GS_PACK_NOTHING: none */
    int32_t  suggestion, cublaslt, mhz, chain;
    double   us, library_us, ratio, low, high;
} gs_pack_slot;
_Static_assert(sizeof(gs_pack_slot) == 96, "no padding");

typedef struct gs_pack_module {
    uint64_t at, code_size, ptx_size, source_size;   /* the three parts follow each other in the file */
    gs_hash  hash;                         /* of these three parts */
    uint32_t manifest;
    int32_t  registers, spill_bytes, stack_bytes, static_smem, user;
} gs_pack_module;
_Static_assert(sizeof(gs_pack_module) == 72, "no padding");

/* The text by which a problem is looked up: with alpha 1 and beta 0 or 1, and default ldc and stride_c if C is not read. exact: the problem unchanged. Returns text. */
static inline char *gs_pack_key(const gs_problem *problem, bool exact, char text[GS_PROBLEM_TEXT])
{
    gs_problem key = *problem;
    if (!exact) {
        key.alpha = 1;
        key.beta = problem->beta != 0 ? 1.0f : 0.0f;
        if (problem->beta == 0) key.ldc = problem->n, key.stride_c = 0;   /* C is not read */
    }
    return gs_problem_format(&key, text);
}

/* Keys of user kernels are distinct: one of our kernels may serve a problem with the same text. */
static inline gs_hash gs_pack_hash(const char *text, bool user)
{
    gs_hash hash = gs_hash_bytes(text, strlen(text));
    hash.high ^= user;
    return hash;
}

static inline int gs_pack_order(const gs_hash *a, const gs_hash *b)
{
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    return a->high == b->high ? 0 : a->high < b->high ? -1 : 1;
}

#endif
