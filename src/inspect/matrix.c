/* SPDX-License-Identifier: MIT
 * Types of arithmetic: matrix instructions must take the problem's input types and have the declared accumulators; if f32 is declared, nothing may be added or
 * multiplied in 16 bits; nothing may be converted to types that no operand has. */
#include "inspect/internal.h"

#include <string.h>

static bool is(const char *part, const char *text) { return strcmp(part, text) == 0; }

static bool is_half(const char *part) { return is(part, "f16") || is(part, "f16x2") || is(part, "bf16") || is(part, "bf16x2"); }

static bool any_half(const gs_ptx_instruction *at)
{
    for (int p = 1; p < at->parts; p++)
        if (is_half(at->part[p])) return true;
    return false;
}

/* Whether a part of an opcode is the type of a matrix operand. */
static bool is_type(const char *part)
{
    static const char *const types[] = {"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "s8", "u8", "s4", "u4", "b1", "s32"};
    for (size_t t = 0; t < GS_COUNT(types); t++)
        if (is(part, types[t])) return true;
    return false;
}

static gs_status check_result(const gs_inspector *i, const gs_ptx_instruction *at, const char *type)
{
    if (is(type, "f32") || (is(type, "f16") && !i->wide)) return GS_OK;
    return gs_inspect_refuse(i, GS_REFUSAL_ACCUMULATOR, at, "%.100s accumulates in %s, %s", at->name, type, i->wide ? "f32 is declared" : "f32 and f16 are possible");
}

static gs_status check_input(const gs_inspector *i, const gs_ptx_instruction *at, const char *type)
{
    const char *const wanted = i->problem->in == GS_BF16 ? "bf16" : "f16";
    if (is(type, wanted)) return GS_OK;
    return gs_inspect_refuse(i, GS_REFUSAL_TYPE, at, "%.100s multiplies %s, the problem's operands are %s", at->name, type, wanted);
}

/* Order of the types: mma and wmma D A B C, wmma of f16 inputs D C only, wgmma D A B. */
static gs_status check_matrix(const gs_inspector *i, const gs_ptx_instruction *at)
{
    const char *type[4];
    int types = 0;
    for (int p = 1; p < at->parts; p++)
        if (is_type(at->part[p])) {
            if (types == 4) return gs_inspect_refuse(i, GS_REFUSAL_TYPE, at, "%.100s has more types than operands", at->name);
            type[types++] = at->part[p];
        }
    const bool warpgroup = is(at->part[0], "wgmma"), short_form = is(at->part[0], "wmma") && types == 2;
    if (!short_form && types != (warpgroup ? 3 : 4)) return gs_inspect_refuse(i, GS_REFUSAL_TYPE, at, "%.100s does not say its types", at->name);
    GS_TRY(check_input(i, at, short_form ? "f16" : type[1]));
    if (!short_form) GS_TRY(check_input(i, at, type[2]));
    GS_TRY(check_result(i, at, type[0]));
    return warpgroup ? GS_OK : check_result(i, at, type[types - 1]);
}

static bool multiplies(const gs_ptx_instruction *at)
{
    if (is(at->part[0], "mma")) return true;
    return (is(at->part[0], "wmma") && is(at->part[1], "mma")) || (is(at->part[0], "wgmma") && is(at->part[1], "mma_async"));
}

/* The allowed types of conversions, those of A, B, C, D, accumulators and indices: an input converted to any other type could have lost bits. */
static gs_status check_conversion(const gs_inspector *i, const gs_ptx_instruction *at)
{
    static const char *const known[] = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
    static const char *const words[] = {"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "relu", "satfinite", "pack"};
    for (int p = 1; p < at->parts; p++) {
        bool found = false;
        for (size_t n = 0; !found && n < GS_COUNT(known); n++) found = is(at->part[p], known[n]);
        for (size_t n = 0; !found && n < GS_COUNT(words); n++) found = is(at->part[p], words[n]);
        if (!found) return gs_inspect_refuse(i, GS_REFUSAL_TYPE, at, "%.100s converts by way of %.40s", at->name, at->part[p]);
    }
    return GS_OK;
}

gs_status gs_inspect_types(const gs_inspector *i, const gs_ptx_instruction *at)
{
    static const char *const sums[] = {"add", "sub", "mul", "fma", "mad"};
    const char *const opcode = at->part[0];
    if (is(opcode, "cvt")) return check_conversion(i, at);
    if (multiplies(at) && (gs_inspect_has(at, "sp") || gs_inspect_has(at, "sp::ordered_metadata")))
        return gs_inspect_refuse(i, GS_REFUSAL_TYPE, at, "%.100s takes every other element of A for zero", at->name);
    if (multiplies(at)) return check_matrix(i, at);
    if (!i->wide || !any_half(at)) return GS_OK;
    bool sums_up = (is(opcode, "atom") || is(opcode, "red") || is(opcode, "cp")) && gs_inspect_has(at, "add");
    for (size_t n = 0; n < GS_COUNT(sums); n++) sums_up = sums_up || is(opcode, sums[n]);
    if (!sums_up) return GS_OK;
    return gs_inspect_refuse(i, GS_REFUSAL_ACCUMULATOR, at, "%.100s: arithmetic in 16 bits, f32 is declared", at->name);
}
