/* SPDX-License-Identifier: MIT
 * Variables of the module can be read only. NVRTC puts constant arrays and static members into .global memory as well as into .const, with
 * values or, for zeros, without, so a variable is no state by itself; it becomes one where somebody writes to it. Whatever is computed from
 * its address is called its address too, in any order of the instructions; with such a value a kernel may load, and nothing else: not store
 * to it, not store it, not decide by it. */
#include "inspect/internal.h"

#include <stdlib.h>
#include <string.h>

#define PASSES 64   /* how often the instructions are gone through: more than any honest table needs */

typedef struct flow {
    const gs_inspector *i;
    bool               *address;   /* of registers: derived from a table's address */
    bool                changed;
} flow;

static bool is_table(const flow *f, const gs_ptx_operand *o)
{
    if (o->kind != GS_PTX_VARIABLE) return false;
    const uint8_t space = f->i->module->variable[o->index].space;
    return space == GS_PTX_GLOBAL || space == GS_PTX_CONST;
}

static const gs_ptx_operand *child(const flow *f, const gs_ptx_operand *o, int c) { return &f->i->entry->operand[o->child + c]; }

static bool holds(const flow *f, const gs_ptx_operand *o)
{
    if (is_table(f, o) || (o->kind == GS_PTX_REGISTER && f->address[o->index])) return true;
    for (int c = 0; c < o->children; c++) {
        const gs_ptx_operand *const inner = child(f, o, c);
        if (is_table(f, inner) || (inner->kind == GS_PTX_REGISTER && f->address[inner->index])) return true;
    }
    return false;
}

static void mark(flow *f, const gs_ptx_operand *o)
{
    if (o->kind == GS_PTX_REGISTER && !f->address[o->index]) f->address[o->index] = f->changed = true;
    for (int c = 0; c < o->children; c++) {
        const gs_ptx_operand *const inner = child(f, o, c);
        if (inner->kind == GS_PTX_REGISTER && !f->address[inner->index]) f->address[inner->index] = f->changed = true;
    }
}

static bool is_one_of(const char *opcode, const char *const *list, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (strcmp(opcode, list[n]) == 0) return true;
    return false;
}

static gs_status follow(flow *f, const gs_ptx_instruction *at)
{
    static const char *const loads[] = {"ld", "ldu", "prefetch", "prefetchu"};
    static const char *const stays[] = {"st", "atom", "red", "cp", "bra", "brx", "shfl", "mbarrier", "vote", "match", "redux", "bar", "barrier"};
    const gs_ptx_operand *const operand = &f->i->entry->operand[at->operand];
    const bool loading = is_one_of(at->part[0], loads, GS_COUNT(loads)), stay = is_one_of(at->part[0], stays, GS_COUNT(stays));
    bool used = at->guard >= 0 && f->address[at->guard];
    if (used) return gs_inspect_refuse(f->i, GS_REFUSAL_STATE, at, "%.60s depends on where a variable of the module lies", at->name);
    for (int n = 0; n < at->operands; n++) {
        if (!holds(f, &operand[n])) continue;
        if (operand[n].kind == GS_PTX_ADDRESS && !loading)
            return gs_inspect_refuse(f->i, GS_REFUSAL_STATE, at, "%.60s to a variable of the module", at->name);
        used = used || n > 0 || stay;   /* operand 0 alone is a destination, which is overwritten */
    }
    if (loading || !used) return GS_OK;   /* a value that was loaded is no address */
    if (stay)
        return gs_inspect_refuse(f->i, GS_REFUSAL_STATE, at, "%.60s hands on the address of a variable of the module", at->name);
    mark(f, &operand[0]);
    return GS_OK;
}

static bool has_tables(const gs_ptx_module *m)
{
    for (int v = 0; v < m->variables; v++)
        if (m->variable[v].space == GS_PTX_GLOBAL || m->variable[v].space == GS_PTX_CONST) return true;
    return false;
}

static gs_status settle(flow *f)
{
    for (int pass = 0; pass < PASSES; pass++) {
        f->changed = false;
        for (int n = 0; n < f->i->entry->instructions; n++) GS_TRY(follow(f, &f->i->entry->instruction[n]));
        if (!f->changed) return GS_OK;
    }
    return gs_inspect_refuse(f->i, GS_REFUSAL_STATE, NULL, "entry %.64s computes too much from the addresses of its variables", f->i->entry->name);
}

gs_status gs_inspect_tables(const gs_inspector *i)
{
    if (!has_tables(i->module)) return GS_OK;
    flow f = {.i = i, .address = calloc((size_t)i->entry->registers + 1, sizeof *f.address)};
    if (!f.address) return gs_fail(i->error, GS_ERROR_MEMORY, NULL, "no memory for an inspection");
    const gs_status status = settle(&f);
    free(f.address);
    return status;
}
