/* SPDX-License-Identifier: MIT
 * Decoding of a kernel: calls the decoding function of each instruction, places variables, and finds out whether blocks may communicate. Operands are read by
 * machine/operands.c. */
#include <stdlib.h>
#include <string.h>

#include "emu/isa/access.h"
#include "emu/isa/sync.h"
#include "emu/machine/operands.h"
#include "emu/run/internal.h"

#define MOST_LOCAL (512u << 10)   /* bytes per thread, as on a GPU */

/* ---- instructions ---- */

static gs_emu_decode *const decoders[] = {
    gs_emu_decode_warp,   /* first, because some forms of mov belong to it */
    gs_emu_decode_alu,  gs_emu_decode_convert, gs_emu_decode_access, gs_emu_decode_sync,
    gs_emu_decode_mbarrier, gs_emu_decode_bulk, gs_emu_decode_matrix, gs_emu_decode_wmma, gs_emu_decode_wgmma,
};

static gs_status decode_instruction(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    gs_emu_instruction_begin(d, in, op);
    gs_status status = GS_ERROR_NOT_FOUND;
    for (size_t i = 0; i < GS_COUNT(decoders) && status == GS_ERROR_NOT_FOUND && d->status == GS_OK; i++) status = decoders[i](d, in, op);
    if (status == GS_ERROR_NOT_FOUND && d->status == GS_OK) gs_emu_unsupported(d, "the emulated device does not execute this instruction");
    if (d->status == GS_OK && status != GS_OK) d->status = status;
    GS_TRY(d->status);
    return gs_emu_instruction_end(d);
}

/* ---- variables ---- */

/* Static shared memory in order of declaration, then the dynamic part; local variables in the same way. */
static gs_status place_variables(gs_emu_decoder *d, uint32_t *offset)
{
    gs_emu_code *const code = d->code;
    const int own = (int)(d->entry - d->module->entry);
    uint64_t shared = code->reserved, local = 0, dynamic_align = 16;
    for (int i = 0; i < d->module->variables; i++) {
        const gs_ptx_variable *const v = &d->module->variable[i];
        if (v->entry >= 0 && v->entry != own) continue;
        if (v->space == GS_PTX_SHARED && v->external) dynamic_align = GS_MAX(dynamic_align, v->align);
        if ((v->space != GS_PTX_SHARED && v->space != GS_PTX_LOCAL) || v->external) continue;
        uint64_t *const end = v->space == GS_PTX_SHARED ? &shared : &local;
        const uint64_t align = GS_MAX(v->align, 1u);
        const uint64_t at = (*end + align - 1) / align * align;
        if (at + v->size > (v->space == GS_PTX_SHARED ? 1u << GS_EMU_RANK_SHIFT : MOST_LOCAL))
            return gs_fail(d->error, GS_ERROR_RANGE, "ptx", "variable %.64s does not fit: %u bytes", v->name, v->size);
        offset[i] = (uint32_t)at;
        *end = at + v->size;
    }
    code->static_shared = (uint32_t)shared - code->reserved;
    code->local_bytes = (uint32_t)((local + 15) / 16 * 16);
    code->dynamic_offset = (uint32_t)((shared + dynamic_align - 1) / dynamic_align * dynamic_align);
    for (int i = 0; i < d->module->variables; i++)
        if (d->module->variable[i].space == GS_PTX_SHARED && d->module->variable[i].external) offset[i] = code->dynamic_offset;
    return GS_OK;
}

/* ---- communication between blocks ---- */

/* One byte per register byte: 1 at the start of a register that some instruction reads. */
static uint8_t *find_reads(const gs_emu_code *code)
{
    uint8_t *const read = calloc(1, (size_t)code->register_bytes + 1);
    for (uint32_t i = 0; read && i < code->ops; i++)
        for (int j = 0; j < code->op[i].read_count; j++) read[code->list[code->op[i].reads + (uint32_t)j]] = 1;
    return read;
}

static bool is_strong_store(const gs_ptx_instruction *in) { return strcmp(in->part[0], "st") == 0 && (gs_emu_part(in, "volatile") || gs_emu_part(in, "relaxed")); }

/* Whether the result may depend on the order of blocks: floating-point atomics or atomics with a result, loads that poll other blocks' stores, fences of a scope
 * beyond the block. */
static bool talks(const gs_ptx_instruction *in, bool is_read)
{
    const bool load = strcmp(in->part[0], "ld") == 0, reduces = strcmp(in->part[0], "red") == 0 || strcmp(in->part[0], "atom") == 0;
    if (is_strong_store(in) && gs_emu_part(in, "shared::cluster")) return true;
    for (int i = 1; i < in->parts; i++)
        if (strncmp(in->part[i], "shared", 6) == 0 && strncmp(in->name, "cp.", 3) != 0) return false;
    if (strcmp(in->name, "membar.gl") == 0 || strcmp(in->name, "membar.sys") == 0) return true;
    if (strcmp(in->part[0], "fence") == 0) return !gs_emu_part(in, "proxy") && (gs_emu_part(in, "gpu") || gs_emu_part(in, "sys"));
    if (is_strong_store(in) && !gs_emu_part(in, "global")) return true;   /* may be into another block's shared memory */
    if (load) return gs_emu_part(in, "volatile") || gs_emu_part(in, "acquire") || gs_emu_part(in, "relaxed");
    if (strcmp(in->part[1], "reduce") == 0 && gs_emu_part(in, "tensor")) return true;   /* the type is in the map */
    if (strncmp(in->name, "cp.reduce", 9) != 0 && !reduces) return false;
    if (gs_emu_part(in, "exch") || gs_emu_part(in, "cas") || gs_emu_part(in, "inc") || gs_emu_part(in, "dec")) return true;
    for (int i = 1; i < in->parts; i++)
        if (in->part[i][0] == 'f' || in->part[i][0] == 'b') {
            const gs_ptx_type type = gs_ptx_type_of(in->part[i]);
            if (type >= GS_PTX_F16) return true;
        }
    return is_read;
}

/* Whether other blocks should get a turn after this instruction, because they may interact with it. */
static bool meets(const gs_ptx_instruction *in)
{
    static const char *const words[] = {"volatile", "relaxed", "release"};
    if (is_strong_store(in) && gs_emu_part(in, "shared::cluster")) return true;
    for (int i = 1; i < in->parts; i++)
        if (strncmp(in->part[i], "shared", 6) == 0) return false;
    if (strcmp(in->part[0], "red") == 0 || strcmp(in->part[0], "atom") == 0) return true;
    if (strcmp(in->part[0], "st") != 0) return false;   /* polling loads give others a turn anyway */
    for (size_t i = 0; i < GS_COUNT(words); i++)
        if (gs_emu_part(in, words[i])) return true;
    return false;
}

/* Finds out whether blocks communicate, and which atomic operations have a result that is never read. */
static gs_status find_talk(gs_emu_decoder *d)
{
    gs_emu_code *const code = d->code;
    uint8_t *const read = find_reads(code);
    if (!read) return gs_fail(d->error, GS_ERROR_MEMORY, NULL, "no memory to decode a kernel");
    for (int i = 0; i < d->entry->instructions; i++) {
        const gs_ptx_instruction *const in = &d->entry->instruction[i];
        gs_emu_op *const op = &code->op[i];
        const bool is_read = op->dst != GS_EMU_NONE && read[op->dst];
        if (strcmp(in->part[0], "atom") == 0 && op->lists2 == 1 && !is_read) op->flags |= GS_EMU_ACCESS_UNREAD;
        code->talks = code->talks || talks(in, is_read);
        op->meets = meets(in);
    }
    free(read);
    return GS_OK;
}

/* ---- whole kernels ---- */

static bool stores(const char *name)
{
    static const char *const names[] = {"st.", "atom.", "red.", "cp.reduce."};
    for (size_t i = 0; i < GS_COUNT(names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
    return strstr(name, ".global.shared") != NULL;   /* cp.async.bulk */
}

static gs_status decode_all(gs_emu_decoder *d)
{
    gs_emu_code *const code = d->code;
    for (int i = 0; i < d->entry->instructions; i++) {
        GS_TRY(decode_instruction(d, &d->entry->instruction[i], &code->op[i]));
        code->op[i].stores = stores(d->entry->instruction[i].name);
    }
    /* reaching the end of the code is a return */
    code->op[code->ops - 1] = (gs_emu_op){
        .exec = gs_emu_exit, .guard = GS_EMU_NONE, .dst = GS_EMU_NONE, .dst2 = GS_EMU_NONE, .class = GS_EMU_CONTROL, .name = "exit",
        .src = {GS_EMU_NONE, GS_EMU_NONE, GS_EMU_NONE, GS_EMU_NONE},
    };
    GS_TRY(find_talk(d));
    GS_TRY(gs_emu_find_reconvergence(code, d->error));
    GS_TRY(gs_emu_contract(d));
    return gs_emu_find_starts(d);
}

static gs_status create(gs_emu_decoder *d, uint32_t *offset)
{
    gs_emu_code *const code = d->code;
    code->module = d->module;
    code->entry = d->entry;
    code->ops = (uint32_t)d->entry->instructions + 1;
    code->op = calloc(code->ops, sizeof *code->op);
    code->offset_of = malloc(((size_t)d->entry->registers + 1) * sizeof *code->offset_of);
    if (!code->op || !code->offset_of) return gs_emu_no_memory(d);
    memset(code->offset_of, 0xff, ((size_t)d->entry->registers + 1) * sizeof *code->offset_of);
    memset(code->special, 0xff, sizeof code->special);
    GS_TRY(place_variables(d, offset));
    GS_TRY(gs_emu_operands_start(d));
    return decode_all(d);
}

gs_status gs_emu_code_create(gs_emu_code **out, const gs_ptx_module *module, const gs_ptx_entry *entry, const uint64_t *global_address, uint32_t reserved, gs_error *error)
{
    *out = NULL;
    gs_emu_code *code = calloc(1, sizeof *code);
    void *const own = gs_emu_operands_create();
    uint32_t *const offset = calloc((size_t)module->variables + 1, sizeof *offset);
    gs_status status = GS_ERROR_MEMORY;
    if (code && own && offset) {
        code->reserved = reserved;
        gs_emu_decoder d = {.code = code, .module = module, .entry = entry, .error = error, .global_address = global_address,
                            .shared_offset = offset, .constants = own};
        status = create(&d, offset);
    } else {
        gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for decoded code");
    }
    gs_emu_operands_destroy(own);
    free(offset);
    if (status != GS_OK) gs_emu_code_free(&code);
    *out = code;
    return status;
}

void gs_emu_code_free(gs_emu_code **code)
{
    if (!code || !*code) return;
    gs_emu_wgmma_code_free(*code);
    free((*code)->op);
    free((*code)->list);
    free((*code)->reconverge);
    free((*code)->leader);
    free((*code)->image);
    free((*code)->garbage);
    free((*code)->shared_address);
    free((*code)->offset_of);
    free(*code);
    *code = NULL;
}
