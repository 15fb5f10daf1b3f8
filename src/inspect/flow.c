/* SPDX-License-Identifier: MIT
 * Variables of the module may only be read. NVRTC puts constant arrays and static members into .global memory as well as into .const, with initial values or, for
 * zeros, without, so a variable alone is no state between launches; it becomes one if it is written. There is no data flow analysis: a register that may hold the
 * address of a variable counts as holding one in the whole entry. The few instructions that indexing needs are listed with the one operand that may hold the address;
 * their result is the address plus something that does not depend on it. Any other use is refused. So no number that is computed, compared, stored or loaded depends
 * on where a variable is, and a variable can be accessed only through such a register, which only loads accept. */
#include "inspect/internal.h"

#include <stdlib.h>
#include <string.h>

#define PASSES 64   /* most passes over the instructions: more than any honest table needs */

typedef struct flow {
    const gs_inspector *i;
    const gs_inspect_passed *passed;
    bool               *address;   /* per register: may hold the address of a variable */
    bool                changed;
} flow;

static bool is_table(const flow *f, const gs_ptx_operand *o)
{
    if (o->kind != GS_PTX_VARIABLE) return false;
    const uint8_t space = f->i->module->variable[o->index].space;
    return space == GS_PTX_GLOBAL || space == GS_PTX_CONST;
}

static bool holds_itself(const flow *f, const gs_ptx_operand *o) { return is_table(f, o) || (o->kind == GS_PTX_REGISTER && f->address[o->index]); }

static bool holds(const flow *f, const gs_ptx_operand *o)
{
    if (holds_itself(f, o)) return true;
    for (int c = 0; c < o->children; c++)
        if (holds_itself(f, &f->i->entry->operand[o->child + c])) return true;
    return false;
}

static bool is(const char *part, const char *text) { return strcmp(part, text) == 0; }

static bool has_type(const gs_ptx_instruction *at, int part, const char *const types[3])
{
    return at->parts == part + 1 && (is(at->part[part], types[0]) || is(at->part[part], types[1]) || is(at->part[part], types[2]));
}

/* The operands of an instruction that may hold an address, as bits. If one does, operand 0 must be a register, which then holds one too. */
static unsigned takes_address(const gs_ptx_instruction *at)
{
    static const char *const whole[3] = {"b64", "s64", "u64"}, *const half[3] = {"s32", "u32", "u32"};
    const char *const opcode = at->part[0];
    if (is(opcode, "mov") && at->operands == 2 && has_type(at, 1, whole)) return 1u << 1;
    if (is(opcode, "cvta") && at->operands == 2) return 1u << 1;
    if (is(opcode, "add") && at->operands == 3 && has_type(at, 1, whole)) return 1u << 1 | 1u << 2;
    if (is(opcode, "sub") && at->operands == 3 && has_type(at, 1, whole)) return 1u << 1;
    if (is(opcode, "selp") && at->operands == 4 && has_type(at, 1, whole)) return 1u << 1 | 1u << 2;
    if (is(opcode, "mad") && at->operands == 4 && is(at->part[1], "wide") && has_type(at, 2, half)) return 1u << 3;
    if (is(opcode, "mad") && at->operands == 4 && is(at->part[1], "lo") && has_type(at, 2, whole)) return 1u << 3;
    return 0;
}

/* Index of the operand that is loaded from; -1: none. cp.async may copy the data of a variable to shared memory. */
static int source_of(const gs_ptx_instruction *at)
{
    static const char *const elsewhere[] = {"shared", "shared::cta", "shared::cluster", "local", "param"};
    const char *const opcode = at->part[0];
    if (is(opcode, "prefetch") || is(opcode, "prefetchu")) return 0;
    if (is(opcode, "cp")) return is(at->part[1], "async") && (is(at->part[2], "ca") || is(at->part[2], "cg")) ? 1 : -1;
    if (!is(opcode, "ld") && !is(opcode, "ldu")) return -1;
    for (size_t n = 0; n < GS_COUNT(elsewhere); n++)
        if (gs_inspect_has(at, elsewhere[n])) return -1;
    return 1;
}

static gs_status refuse(const flow *f, const gs_ptx_instruction *at, const gs_ptx_operand *o)
{
    const bool stores = o->kind == GS_PTX_ADDRESS;
    if (is(at->part[0], "setp"))
        return gs_inspect_refuse(f->i, GS_REFUSAL_STATE, at, "%.60s compares the address of a variable of the module: count an index, which is compared instead", at->name);
    return gs_inspect_refuse(f->i, GS_REFUSAL_STATE, at, stores ? "%.60s to a variable of the module, which can be loaded from and nothing else"
                             : "%.60s takes the address of a variable of the module: it can be indexed and loaded from, and nothing else", at->name);
}

/* Whether operand 0 is written by the instruction. */
static bool gives_result(const gs_ptx_instruction *at, int source)
{
    static const char *const others[] = {"bar", "barrier", "brx", "setmaxnreg"};
    for (size_t n = 0; n < GS_COUNT(others); n++)
        if (is(at->part[0], others[n])) return false;
    return source != 0;
}

/* Parameters and results of calls are treated like registers. true: the instruction stores an address to one or loads an address from one. */
static bool goes_through_call(flow *f, const gs_ptx_instruction *at, const gs_ptx_operand *operand)
{
    const bool stores = is(at->part[0], "st");
    if (at->operands != 2 || gs_ptx_access_bytes(at) != 8 || (!stores && !is(at->part[0], "ld"))) return false;
    const gs_ptx_operand *const value = &operand[stores];
    const int64_t place = gs_inspect_passed_at(f->passed, f->i, &operand[!stores]);
    if (place < 0 || value->kind != GS_PTX_REGISTER) return false;
    uint8_t *const byte = &f->passed->byte[place];
    if (stores ? !f->address[value->index] : !(*byte & GS_INSPECT_ADDRESS)) return false;
    f->changed = f->changed || !f->address[value->index] || !(*byte & GS_INSPECT_ADDRESS);
    f->address[value->index] = true;
    *byte |= GS_INSPECT_ADDRESS;
    return true;
}

/* Whether a load reads only part of an address that is passed by a call. */
static bool cuts_address(const flow *f, const gs_ptx_instruction *at, const gs_ptx_operand *operand)
{
    const int64_t place = is(at->part[0], "ld") && at->operands == 2 ? gs_inspect_passed_at(f->passed, f->i, &operand[1]) : -1;
    if (place < 0) return false;
    const int64_t start = place - operand[1].offset, end = place + (int64_t)gs_ptx_access_bytes(at);
    for (int64_t b = GS_MAX(start, place - 7); b < end; b++)
        if (f->passed->byte[b] & GS_INSPECT_ADDRESS) return true;
    return false;
}

static gs_status follow(flow *f, const gs_ptx_instruction *at)
{
    const gs_ptx_operand *const operand = &f->i->entry->operand[at->operand];
    if (goes_through_call(f, at, operand)) return GS_OK;
    if (cuts_address(f, at, operand)) return refuse(f, at, &operand[0]);
    const unsigned taken = takes_address(at);
    const int source = source_of(at);
    int addresses = 0;
    for (int n = 0; n < at->operands; n++) {
        const gs_ptx_operand *const o = &operand[n];
        if (n == 0 && o->kind != GS_PTX_ADDRESS && o->kind != GS_PTX_VARIABLE && gives_result(at, source)) continue;   /* overwritten by the instruction */
        if (!holds(f, o)) continue;
        if (n == source && o->kind == GS_PTX_ADDRESS && o->children == 1) continue;
        if (!(taken >> n & 1) || !holds_itself(f, o) || o->negated) return refuse(f, at, o);
        addresses++;
    }
    if (addresses == 0) return GS_OK;
    const bool one = addresses == 1 || is(at->part[0], "selp");
    if (!one || operand[0].kind != GS_PTX_REGISTER) return refuse(f, at, &operand[0]);
    f->changed = f->changed || !f->address[operand[0].index];
    f->address[operand[0].index] = true;
    return GS_OK;
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

static bool has_tables(const gs_ptx_module *m)
{
    for (int v = 0; v < m->variables; v++)
        if (m->variable[v].space == GS_PTX_GLOBAL || m->variable[v].space == GS_PTX_CONST) return true;
    return false;
}

gs_status gs_inspect_tables(const gs_inspector *i, const gs_inspect_passed *passed)
{
    if (!has_tables(i->module)) return GS_OK;
    flow f = {.i = i, .passed = passed, .address = calloc((size_t)i->entry->registers + 1, sizeof *f.address)};
    if (!f.address) return gs_fail(i->error, GS_ERROR_MEMORY, NULL, "no memory for an inspection");
    const gs_status status = settle(&f);
    free(f.address);
    return status;
}
