/* SPDX-License-Identifier: MIT
 * A product that is read only by one sum: if neither gives a rounding modifier, the assembler contracts the two to one fused instruction, which rounds once. (mul.rn,
 * add.rn and __fmul_rn give two roundings.) The same is done here; the product is still computed, but its result is not used. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "emu/isa/alu.h"
#include "emu/run/internal.h"

enum { FARTHEST = 64 };   /* most instructions between a product and its sum */

static bool lists(const gs_emu_code *code, uint32_t first, uint32_t count, uint32_t offset)
{
    for (uint32_t i = 0; i < count; i++)
        if (code->list[first + i] == offset) return true;
    return false;
}

static bool sets(const gs_emu_code *code, const gs_emu_op *op, uint32_t offset) { return op->dst == offset || lists(code, op->writes, op->write_count, offset); }

/* Number of reads of each register, up to 2, indexed by its first byte. */
static uint8_t *count_reads(const gs_emu_code *code)
{
    uint8_t *const reads = calloc(1, (size_t)code->register_bytes + 1);
    for (uint32_t i = 0; reads && i < code->ops; i++)
        for (uint32_t j = 0; j < code->op[i].read_count; j++) {
            uint8_t *const r = &reads[code->list[code->op[i].reads + j]];
            *r = (uint8_t)(*r < 2 ? *r + 1 : 2);
        }
    return reads;
}

/* The product in the same basic block with the result `offset`, whose operands have not changed since; NULL: none. */
static const gs_emu_op *find_product(const gs_emu_code *code, uint32_t sum, uint32_t offset, const char *name)
{
    for (uint32_t i = sum; i > 0 && sum - i < FARTHEST && !code->leader[i]; i--) {
        const gs_emu_op *const op = &code->op[i - 1];
        if (!sets(code, op, offset)) continue;
        if (strcmp(op->name, name) != 0 || op->guard != code->op[sum].guard || op->guard_not != code->op[sum].guard_not) return NULL;
        for (uint32_t j = i; j < sum; j++)
            if (sets(code, &code->op[j], op->src[0]) || sets(code, &code->op[j], op->src[1]) || (op->guard != GS_EMU_NONE && sets(code, &code->op[j], op->guard))) return NULL;
        return op;
    }
    return NULL;
}

static void fuse(const gs_emu_code *code, const uint8_t *reads, uint32_t at, bool less, bool wide)
{
    gs_emu_op *const op = &code->op[at];
    for (int i = 1; i >= 0; i--) {
        if (op->src[i] >= code->register_bytes || reads[op->src[i]] != 1) continue;
        const gs_emu_op *const product = find_product(code, at, op->src[i], wide ? "mul.f64" : "mul.f32");
        if (!product) continue;
        const uint32_t other = op->src[1 - i];
        op->exec = wide ? gs_emu_fused_f64 : gs_emu_fused_f32;
        op->src[0] = product->src[0], op->src[1] = product->src[1], op->src[2] = other;
        op->flags = (uint16_t)(!less ? 0 : i == 1 ? GS_EMU_FUSED_LESS_PRODUCT : GS_EMU_FUSED_LESS_OTHER);
        return;
    }
}

gs_status gs_emu_contract(gs_emu_decoder *d)
{
    static const struct { const char *name; bool less, wide; } sums[] = {{"add.f32", false, false}, {"sub.f32", true, false}, {"add.f64", false, true}, {"sub.f64", true, true}};
    const gs_emu_code *const code = d->code;
    bool products = false;
    for (uint32_t i = 0; i < code->ops; i++) products = products || strcmp(code->op[i].name, "mul.f32") == 0 || strcmp(code->op[i].name, "mul.f64") == 0;
    if (!products) return GS_OK;
    uint8_t *const reads = count_reads(code);
    if (!reads) return gs_fail(d->error, GS_ERROR_MEMORY, NULL, "no memory to decode a kernel");
    for (uint32_t i = 0; i < code->ops; i++)
        for (size_t s = 0; s < GS_COUNT(sums); s++)
            if (strcmp(code->op[i].name, sums[s].name) == 0) fuse(code, reads, i, sums[s].less, sums[s].wide);
    free(reads);
    return GS_OK;
}
