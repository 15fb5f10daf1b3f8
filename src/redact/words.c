/* SPDX-License-Identifier: MIT
 * Lists of words: which may follow each other in code, which open chat templates; and the longest name that is shown. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "redact/redact.h"

/* Types, qualifiers and similar words, several of which may follow each other in code. */
static const char *const plain[] = {
    "alignas", "asm", "auto", "bool", "char", "class", "const", "constexpr", "consteval", "decltype", "double", "enum", "extern", "float", "inline", "int", "long", "noexcept",
    "case", "else", "goto", "namespace", "operator", "register", "return", "short", "sizeof", "signed", "static", "struct", "template", "typedef", "typename", "union", "unsigned", "using", "void", "volatile", "half", "half2", "uint2",
    "uint4", "int2", "int4", "float2", "float4", "size_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "int8_t", "int16_t", "int32_t", "int64_t", "__half", "__half2",
    "__nv_bfloat16", "__nv_bfloat162", "__device__", "__global__", "__host__", "__shared__", "__constant__", "__forceinline__", "__noinline__", "__restrict__",
    "__restrict", "__grid_constant__", "__launch_bounds__", "__cluster_dims__", "__align__", "__volatile__", "__inline__", "__asm__",
};

/* Words of which chat templates are made. */
static const char *const roles[] = {"think", "system", "user", "assistant", "tool", "inst", "sys", "eos", "bos", "pad", "unk", "human", "s"};

bool gs_word_plain(const char *word, size_t size)
{
    for (size_t i = 0; i < GS_COUNT(plain); i++)
        if (strlen(plain[i]) == size && memcmp(plain[i], word, size) == 0) return true;
    return false;
}

bool gs_word_role(const char *word, size_t size)
{
    for (size_t i = 0; i < GS_COUNT(roles); i++) {
        size_t n = 0;
        while (n < size && tolower((unsigned char)word[n]) == roles[i][n]) n++;
        if (n == size && !roles[i][n]) return true;
    }
    return false;
}

void gs_name_show(gs_text *out, const char *word, size_t size)
{
    if (size <= GS_SOURCE_NAME)
        gs_text_add_bytes(out, word, size);
    else
        gs_text_addf(out, "name_%08x", (unsigned)gs_hash64(word, size));
}
