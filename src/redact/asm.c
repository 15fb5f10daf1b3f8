/* SPDX-License-Identifier: MIT
 * Decides whether a text is inline PTX. Opcodes and their dotted parts are on a list. A name that is not a machine register has at most 16 characters and occurs at
 * least twice (declared and used); two names in a row must be separated by a comma. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "redact/redact.h"

enum { NAME = 16, NAMES = 48, PARTS = 20 };

static const char *const opcodes[] = {
    "abs", "activemask", "add", "addc", "and", "applypriority", "atom", "bar", "barrier", "bfe", "bfi", "bfind", "bmsk", "bra", "brev", "clz", "copysign", "cos",
    "cp", "createpolicy", "cvt", "cvta", "div", "dp2a", "dp4a", "elect", "ex2", "exit", "fence", "fma", "fns", "getctarank", "griddepcontrol", "isspacep", "ld",
    "ldmatrix", "ldu", "lg2", "lop3", "mad", "mapa", "match", "max", "mbarrier", "membar", "min", "mma", "mov", "movmatrix", "mul", "nanosleep", "neg", "not",
    "or", "popc", "prefetch", "prefetchu", "prmt", "rcp", "red", "redux", "rem", "ret", "rsqrt", "selp", "set", "setmaxnreg", "setp", "shf", "shfl", "shl", "shr",
    "sin", "slct", "sqrt", "st", "stmatrix", "sub", "subc", "tanh", "testp", "trap", "vote", "wgmma", "wmma", "xor",
};

static const char *const parts[] = {
    "reg", "pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "bf16", "bf16x2", "tf32", "f32", "f64",
    "e4m3", "e5m2", "global", "shared", "const", "local", "param", "generic", "cta", "cluster", "gpu", "sys", "nc", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "L1", "L2",
    "64B", "128B", "256B", "no_allocate", "evict_first", "evict_last", "evict_normal", "evict_unchanged", "cache_hint", "fractional", "range", "volatile", "relaxed",
    "acquire", "release", "acq_rel", "sc", "weak", "alias", "async", "bulk", "tensor", "tensormap", "tile", "mbarrier", "complete_tx", "bytes", "multicast",
    "bulk_group", "commit_group", "wait_group", "wait_all", "read", "reduce", "try_wait", "test_wait", "parity", "arrive", "expect_tx", "init", "inval", "noComplete",
    "pending_count", "noinc", "wait", "sync", "aligned", "proxy", "mbarrier_init", "mma_async", "fence", "row", "col", "trans", "inc", "dec", "exch", "cas", "add", "min",
    "max", "and", "or", "xor", "popc", "any", "all", "uni", "ballot", "idx", "up", "down", "bfly", "lo", "hi", "wide", "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi",
    "rpi", "ftz", "sat", "satfinite", "relu", "approx", "full", "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "ls", "hs",
    "to", "l", "r", "clamp", "wrap", "launch_dependents", "cc", "num_x", "x1", "x2", "x4", "v2", "v4", "v8", "1d", "2d", "3d", "4d", "5d", "im2col", "group", "level", "noftz",
    "f4e", "b4e", "rc8", "ecl", "ecr", "rc16", "reg", "align", "ctarank", "cta_group", "volatile", "unified", "mmio", "entry",
};

static const char *const machine[] = {
    "tid", "ntid", "ctaid", "nctaid", "laneid", "warpid", "nwarpid", "smid", "nsmid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid", "cluster_ctarank",
    "cluster_nctarank", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "dynamic_smem_size", "total_smem_size", "x", "y", "z", "w", "_",
};

static bool listed(const char *const *list, size_t count, const char *word, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == size && memcmp(list[i], word, size) == 0) return true;
    return false;
}
#define LISTED(list, word, size) listed(list, GS_COUNT(list), word, size)

/* m64n256k16, m8n8, 16x256b: alternating numbers and single letters. */
static bool is_shape(const char *word, size_t size)
{
    size_t digits = 0, letters = 0;
    for (size_t i = 0; i < size; i++) {
        if (isdigit((unsigned char)word[i])) {
            digits++;
            letters = 0;
        } else if (!strchr("mnkxbd", word[i]) || ++letters > 1) {
            return false;
        }
    }
    return digits > 0;
}

static bool is_part(const char *word, size_t size)
{
    for (;;) {   /* "shared::cta": checks its parts; word_size has checked that there are two colons with something after them */
        const char *const colon = memchr(word, ':', size);
        const size_t length = colon ? (size_t)(colon - word) : size;
        if (!LISTED(parts, word, length) && !is_shape(word, length)) return false;
        if (!colon) return true;
        word += length + 2;
        size -= length + 2;
    }
}

/* "ld.global.v4.u32", ".reg"; also "ld.global." if a macro supplies the rest. */
static bool is_opcode(const char *word, size_t size)
{
    for (int n = 0; n < PARTS; n++) {
        const char *const dot = memchr(word, '.', size);
        const size_t length = dot ? (size_t)(dot - word) : size;
        if (n == 0 ? length > 0 && !LISTED(opcodes, word, length) : length > 0 ? !is_part(word, length) : size > 0) return false;
        if (!dot) return true;
        word += length + 1;
        size -= length + 1;
        if (size == 0) return true;
    }
    return false;
}

/* ---- the reader ---- */

typedef struct reader {
    const char *at, *end;
    struct { const char *name; size_t size; int times; } name[NAMES];
    int names;
} reader;

static void skip(reader *r) { while (r->at < r->end && isspace((unsigned char)*r->at)) r->at++; }

static size_t word_size(const reader *r)
{
    size_t size = 0;
    for (; r->at + size < r->end; size++) {
        const char c = r->at[size];
        if (c == ':' && r->at + size + 2 < r->end && r->at[size + 1] == ':' && isalnum((unsigned char)r->at[size + 2]) && size > 0) {
            size++;
            continue;
        }
        if (!isalnum((unsigned char)c) && !strchr("_$.%", c) && !(c == '=' && size > 0 && r->at[size - 1] == '%')) break;
    }
    return size;
}

/* A name chosen by the author; counts its uses. */
static bool take_name(reader *r, const char *word, size_t size)
{
    if (size > NAME || memchr(word, '.', size)) return false;
    for (int i = 0; i < r->names; i++)
        if (r->name[i].size == size && memcmp(r->name[i].name, word, size) == 0) return ++r->name[i].times;
    if (r->names == NAMES) return false;
    r->name[r->names].name = word;
    r->name[r->names].size = size;
    r->name[r->names++].times = 1;
    return true;
}

/* %0, %%r1, %tid.x, 0x1f, 0f3F800000, .b32 in an operand list, a name. */
static bool take_word(reader *r, const char *word, size_t size)
{
    while (size > 0 && *word == '%') word++, size--;
    if (size == 0) return false;
    if (*word == '.') return is_opcode(word, size);
    if (isdigit((unsigned char)*word)) {
        for (size_t i = 0; i < size; i++)
            if (!isxdigit((unsigned char)word[i]) && !strchr("xXfFuUdD.", word[i])) return false;
        return size <= 20;
    }
    const char *const dot = memchr(word, '.', size);
    const size_t head = dot ? (size_t)(dot - word) : size;
    if (LISTED(machine, word, head) && (!dot || LISTED(machine, dot + 1, size - head - 1))) return true;
    return take_name(r, word, size);
}

/* Reads operands up to the end of the statement. */
static bool take_operands(reader *r, bool declares)
{
    bool beside = false;   /* the previous token was a word with nothing after it */
    for (skip(r); r->at < r->end && *r->at != ';'; skip(r)) {
        const size_t size = word_size(r);
        if (size == 0) {
            const bool range = *r->at == '<' ? r->at + 1 < r->end && isdigit((unsigned char)r->at[1]) : *r->at == '>' && isdigit((unsigned char)r->at[-1]);   /* %r<4> */
            if (!range && !strchr(",[]{}()|!-+&*", *r->at)) return false;
            r->at++;
            beside = false;
            continue;
        }
        const bool dotted = *r->at == '.';
        if ((beside && !(declares && !dotted)) || !take_word(r, r->at, size)) return false;
        if (declares && !dotted) declares = false;
        beside = !dotted;
        r->at += size;
    }
    return true;
}

static bool take_statement(reader *r)
{
    if (*r->at == '@') {
        r->at++;
        if (r->at < r->end && *r->at == '!') r->at++;
        const size_t guard = word_size(r);
        if (guard == 0 || !take_word(r, r->at, guard)) return false;
        r->at += guard;
        skip(r);
    }
    const size_t size = word_size(r);
    if (size == 0) return false;
    const char *const word = r->at;
    r->at += size;
    skip(r);
    if (r->at < r->end && *r->at == ':') {
        r->at++;
        return take_word(r, word, size);
    }
    return is_opcode(word, size) && take_operands(r, *word == '.');
}

static bool is_ptx(const char *text, size_t size)
{
    reader r = {.at = text, .end = text + size};
    for (skip(&r); r.at < r.end; skip(&r)) {
        if (strchr("{};", *r.at))
            r.at++;
        else if (!take_statement(&r))
            return false;
    }
    for (int i = 0; i < r.names; i++)
        if (r.name[i].times < 2) return false;
    return true;
}

/* Removes comments; false: a comment does not end, or a byte is not allowed in PTX. */
static bool strip(gs_text *out, const char *text, size_t size)
{
    const char *const end = text + size;
    for (const char *at = text; at < end; at++) {
        if (*at == '/' && at + 1 < end && at[1] == '/') {
            while (at + 1 < end && at[1] != '\n') at++;
        } else if (*at == '/' && at + 1 < end && at[1] == '*') {
            for (at += 2; at + 1 < end && !(at[0] == '*' && at[1] == '/');) at++;
            if (at + 1 >= end) return false;
            at++;
            gs_text_add(out, " ");
        } else if ((*at < ' ' && *at != '\n' && *at != '\t') || *at > '~') {
            return false;
        } else {
            gs_text_add_bytes(out, *at == '\t' ? " " : at, 1);
        }
    }
    return !out->failed;
}

bool gs_asm_show(gs_text *out, const char *text, size_t size)
{
    gs_text clean = {0};
    const bool fine = strip(&clean, text, size) && is_ptx(gs_text_string(&clean), clean.size);
    if (fine) gs_text_add(out, gs_text_string(&clean));
    out->failed |= clean.failed;
    gs_text_free(&clean);
    return fine && !out->failed;
}
