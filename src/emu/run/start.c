/* SPDX-License-Identifier: MIT
 * The register bytes of a warp before its first instruction: gs_emu_code.image, with constants and garbage. If a warp is reused for another block, its constants are
 * unchanged, and garbage must be restored only in registers that may be read before they are written. Restoring all of them would take most of the time of a kernel
 * with thousands of short blocks. Which registers these are is found by the usual liveness analysis. */
#include <stdlib.h>
#include <string.h>

#include "emu/isa/sync.h"
#include "emu/machine/operands.h"
#include "emu/run/internal.h"

enum { MOST_WORDS = 4 << 20 };   /* size of the sets; with more, every register is filled */

typedef struct liveness {
    const gs_emu_code *code;
    uint32_t *number;     /* per register byte at which a register begins: its number, from 1 */
    uint32_t *first;      /* per block: its first op, with an end entry */
    uint32_t *block_of;   /* per op that starts a block */
    uint32_t  blocks, words;
    uint64_t *live;       /* per block a set: live at its beginning */
    uint64_t *written;    /* per block a set: written by all lanes that execute it */
} liveness;

static bool has(const uint64_t *set, uint32_t number) { return set[number / 64] >> number % 64 & 1; }
static void add(uint64_t *set, uint32_t number) { set[number / 64] |= 1ull << number % 64; }

static void read_register(uint64_t *live, const uint64_t *written, uint32_t number)
{
    if (number && !has(written, number)) add(live, number);
}

static void look_at_block(const liveness *l, uint32_t block)
{
    const gs_emu_code *const code = l->code;
    uint64_t *const live = l->live + (size_t)block * l->words, *const written = l->written + (size_t)block * l->words;
    for (uint32_t i = l->first[block]; i < l->first[block + 1]; i++) {
        const gs_emu_op *const op = &code->op[i];
        if (op->guard != GS_EMU_NONE) read_register(live, written, l->number[op->guard]);
        for (uint32_t j = 0; j < op->read_count; j++) read_register(live, written, l->number[code->list[op->reads + j]]);
        for (uint32_t j = 0; j < op->write_count && op->guard == GS_EMU_NONE; j++) add(written, l->number[code->list[op->writes + j]]);
    }
}

/* Adds what is live at the beginning of the next block and not written in this one. */
static bool take(const liveness *l, uint32_t block, uint32_t next)
{
    uint64_t *const live = l->live + (size_t)block * l->words;
    const uint64_t *const written = l->written + (size_t)block * l->words, *const behind = l->live + (size_t)next * l->words;
    uint64_t more = 0;
    for (uint32_t i = 0; i < l->words; i++) {
        const uint64_t fresh = behind[i] & ~written[i] & ~live[i];
        live[i] |= fresh;
        more |= fresh;
    }
    return more != 0;
}

static void find_live(const liveness *l)
{
    for (uint32_t b = 0; b < l->blocks; b++) look_at_block(l, b);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = l->blocks; b-- > 0;) {
            const gs_emu_op *const last = &l->code->op[l->first[b + 1] - 1];
            const bool jumps = last->exec == gs_emu_branch, ends = jumps || last->exec == gs_emu_exit;
            if (jumps) changed |= take(l, b, l->block_of[last->target]);
            if ((!ends || last->guard != GS_EMU_NONE) && b + 1 < l->blocks) changed |= take(l, b, b + 1);
        }
    }
}

/* Pieces are added in ascending order. */
static void add_piece(gs_emu_code *code, uint32_t offset, uint32_t bytes)
{
    gs_emu_bytes *const last = code->garbages ? &code->garbage[code->garbages - 1] : NULL;
    if (last && offset == last->offset + last->bytes) last->bytes += bytes;
    else code->garbage[code->garbages++] = (gs_emu_bytes){offset, bytes};
}

static void list_pieces(gs_emu_decoder *d, const liveness *l, const uint8_t *type)
{
    gs_emu_code *const code = d->code;
    for (uint32_t at = 0; at < code->register_bytes;) {
        const uint32_t number = l->number[at], bytes = number ? gs_emu_register_size((gs_ptx_type)type[at]) : 4;
        if (number ? !l->live || has(l->live, number) : d->carry && at == d->carry) add_piece(code, at, bytes);
        at += bytes;
    }
}

gs_status gs_emu_find_starts(gs_emu_decoder *d)
{
    gs_emu_code *const code = d->code;
    const size_t places = (size_t)code->register_bytes + 4;
    liveness l = {.code = code};
    for (uint32_t i = 0; i < code->ops; i++) l.blocks += code->leader[i];
    l.words = ((uint32_t)d->entry->registers + 1) / 64 + 1;
    l.number = calloc(places, sizeof *l.number);
    l.first = malloc(((size_t)l.blocks + 1) * sizeof *l.first);
    l.block_of = malloc(code->ops * sizeof *l.block_of);
    uint8_t *const type = calloc(places, 1);
    code->garbage = malloc(((size_t)d->entry->registers + 2) * sizeof *code->garbage);
    const bool fits = (uint64_t)l.blocks * l.words <= MOST_WORDS;
    if (fits) {
        l.live = calloc((size_t)l.blocks * l.words, sizeof *l.live);
        l.written = calloc((size_t)l.blocks * l.words, sizeof *l.written);
    }
    if (!l.number || !l.first || !l.block_of || !type || !code->garbage || (fits && (!l.live || !l.written))) {
        gs_emu_no_memory(d);
    } else {
        uint32_t block = 0;
        for (uint32_t i = 0; i < code->ops; i++)
            if (code->leader[i]) l.block_of[i] = block, l.first[block++] = i;
        l.first[l.blocks] = code->ops;
        for (int i = 0; i < d->entry->registers; i++) {
            if (code->offset_of[i] == GS_EMU_NONE) continue;
            l.number[code->offset_of[i]] = (uint32_t)i + 1;
            type[code->offset_of[i]] = (uint8_t)d->entry->reg[i].type;
        }
        if (fits) find_live(&l);
        list_pieces(d, &l, type);
    }
    free(l.number);
    free(l.first);
    free(l.block_of);
    free(l.live);
    free(l.written);
    free(type);
    return d->status;
}
