/* SPDX-License-Identifier: MIT
 * Parameters and results of calls. The parser has inlined the functions at their calls, so every check of an entry covers them; what is left are the variables through
 * which values are passed. They may be in local memory, where an earlier launch may have left data, so every byte that is loaded must be stored somewhere. */
#include "inspect/internal.h"

#include <stdlib.h>
#include <string.h>

#define PASSED_MAX (1u << 20)   /* most bytes per entry */

int64_t gs_inspect_passed_at(const gs_inspect_passed *passed, const gs_inspector *i, const gs_ptx_operand *o)
{
    const gs_ptx_operand *const base = o->kind == GS_PTX_ADDRESS ? &i->entry->operand[o->child] : NULL;
    if (!base || base->kind != GS_PTX_VARIABLE || !i->module->variable[base->index].passed) return -1;
    return (int64_t)passed->start[base->index] + o->offset;
}

static gs_status place(gs_inspect_passed *p, const gs_inspector *i)
{
    const int32_t own = (int32_t)(i->entry - i->module->entry);
    uint64_t bytes = 0;
    p->start = calloc((size_t)i->module->variables + 1, sizeof *p->start);
    if (!p->start) return gs_fail(i->error, GS_ERROR_MEMORY, NULL, "no memory for an inspection");
    for (int v = 0; v < i->module->variables; v++) {
        const gs_ptx_variable *const variable = &i->module->variable[v];
        if (!variable->passed || variable->entry != own) continue;
        p->start[v] = (uint32_t)bytes;
        bytes += variable->size;
        if (bytes > PASSED_MAX)
            return gs_inspect_refuse(i, GS_REFUSAL_SIZE, NULL, "calls in entry %.64s pass more than %u bytes", i->entry->name, PASSED_MAX);
    }
    p->byte = calloc((size_t)bytes + 1, 1);
    return p->byte ? GS_OK : gs_fail(i->error, GS_ERROR_MEMORY, NULL, "no memory for an inspection");
}

static void find_stores(gs_inspect_passed *p, const gs_inspector *i)
{
    for (int n = 0; n < i->entry->instructions; n++) {
        const gs_ptx_instruction *const at = &i->entry->instruction[n];
        if (strcmp(at->part[0], "st") != 0 || at->operands < 1) continue;
        const int64_t to = gs_inspect_passed_at(p, i, &i->entry->operand[at->operand]);
        if (to >= 0) memset(p->byte + to, GS_INSPECT_STORED, gs_ptx_access_bytes(at));
    }
}

static gs_status check_loads(const gs_inspect_passed *p, const gs_inspector *i)
{
    for (int n = 0; n < i->entry->instructions; n++) {
        const gs_ptx_instruction *const at = &i->entry->instruction[n];
        if (strcmp(at->part[0], "ld") != 0 || at->operands < 2) continue;
        const int64_t from = gs_inspect_passed_at(p, i, &i->entry->operand[at->operand + 1]);
        if (from >= 0 && memchr(p->byte + from, 0, gs_ptx_access_bytes(at)))
            return gs_inspect_refuse(i, GS_REFUSAL_STATE, at, "%.40s takes from a call what nobody has put there", at->name);
    }
    return GS_OK;
}

gs_status gs_inspect_calls(const gs_inspector *i, gs_inspect_passed *out)
{
    *out = (gs_inspect_passed){0};
    GS_TRY(place(out, i));
    find_stores(out, i);
    return check_loads(out, i);
}

void gs_inspect_passed_free(gs_inspect_passed *passed)
{
    free(passed->start);
    free(passed->byte);
    *passed = (gs_inspect_passed){0};
}
