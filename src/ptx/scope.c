/* SPDX-License-Identifier: MIT
 * Scopes and name resolution: registers and their ranges, labels that are used before they are defined. */
#include "ptx/internal.h"

#include <string.h>

/* ---- scopes ---- */

gs_status gs_ptx_open(gs_ptx_parser *p)
{
    if (p->depth + 1 == GS_PTX_DEPTH)
        return gs_ptx_fail(p, p->token.line, GS_ERROR_RANGE, "more than %d scopes inside each other", GS_PTX_DEPTH - 1);
    p->depth++;
    p->scope[p->depth] = (gs_ptx_scope){.range_depth = p->scope[p->depth - 1].range_depth};
    return GS_OK;
}

/* Resolves references to labels of this scope; the others are passed to the enclosing scope, or are an error (for the first line). */
static gs_status settle(gs_ptx_parser *p)
{
    gs_ptx_scope *const scope = &p->scope[p->depth];
    gs_ptx_operand *const operands = p->operands.data;
    const gs_ptx_reference *unknown = NULL;
    for (gs_ptx_reference *r = scope->references, *next; r; r = next) {
        const gs_ptx_symbol *const symbol = r->name->symbol;
        next = r->next;
        if (symbol && symbol->depth == p->depth && symbol->kind == GS_PTX_IS_LABEL) {
            operands[r->operand].index = symbol->index;
        } else if (p->depth > 1 && p->depth != p->floor) {
            r->next = p->scope[p->depth - 1].references;
            p->scope[p->depth - 1].references = r;
        } else if (!unknown || r->line <= unknown->line) {   /* the list is in reverse order */
            unknown = r;
        }
    }
    if (!unknown) return GS_OK;
    p->opcode = unknown->opcode;
    return gs_ptx_fail(p, unknown->line, GS_ERROR_PARSE, "nothing here is named \"%.64s\"", unknown->name->text);
}

gs_status gs_ptx_close(gs_ptx_parser *p)
{
    GS_TRY(settle(p));
    gs_ptx_scope *const scope = &p->scope[p->depth--];
    for (const gs_ptx_symbol *s = scope->symbols; s; s = s->next) s->name->symbol = s->outer;
    for (const gs_ptx_range *r = scope->ranges; r; r = r->next) r->name->range = r->outer;
    return GS_OK;
}

gs_status gs_ptx_refer(gs_ptx_parser *p, gs_ptx_name *name, int line, int32_t operand)
{
    gs_ptx_reference *const r = gs_ptx_take(&p->scratch, sizeof *r);
    if (!r) return gs_ptx_no_memory(p);
    *r = (gs_ptx_reference){p->scope[p->depth].references, name, operand, line, p->opcode};
    p->scope[p->depth].references = r;
    return GS_OK;
}

/* ---- declarations ---- */

static gs_status twice(const gs_ptx_parser *p, const gs_ptx_name *name, int line)
{
    return gs_ptx_fail(p, line, GS_ERROR_PARSE, "\"%.64s\" is declared twice", name->text);
}

static gs_ptx_symbol *add_symbol(gs_ptx_parser *p, gs_ptx_name *name, int depth)
{
    gs_ptx_symbol *const symbol = gs_ptx_take(&p->scratch, sizeof *symbol);
    if (!symbol) return NULL;
    symbol->name = name;
    symbol->depth = depth;
    symbol->outer = name->symbol;
    symbol->next = p->scope[depth].symbols;
    p->scope[depth].symbols = symbol;
    return name->symbol = symbol;
}

static gs_status count_registers(gs_ptx_parser *p, int line, uint64_t count)
{
    if (count > GS_PTX_REGISTERS_MAX - p->declared)
        return gs_ptx_fail(p, line, GS_ERROR_RANGE, "more than %u registers in an entry", GS_PTX_REGISTERS_MAX);
    p->declared += count;
    return GS_OK;
}

gs_status gs_ptx_declare(gs_ptx_parser *p, gs_ptx_name *name, int line, gs_ptx_symbol_kind kind, gs_ptx_type type, int32_t index)
{
    if (name->symbol && name->symbol->depth == p->depth) return twice(p, name, line);
    if (kind == GS_PTX_IS_REGISTER) GS_TRY(count_registers(p, line, 1));
    gs_ptx_symbol *const symbol = add_symbol(p, name, p->depth);
    if (!symbol) return gs_ptx_no_memory(p);
    symbol->kind = (uint8_t)kind;
    symbol->type = (uint8_t)type;
    symbol->index = index;
    return GS_OK;
}

gs_status gs_ptx_declare_range(gs_ptx_parser *p, gs_ptx_name *name, int line, gs_ptx_type type, uint64_t count)
{
    gs_ptx_scope *const scope = &p->scope[p->depth];
    if (name->range && name->range->depth == p->depth) return twice(p, name, line);
    GS_TRY(count_registers(p, line, count));
    gs_ptx_range *const range = gs_ptx_take(&p->scratch, sizeof *range);
    if (!range) return gs_ptx_no_memory(p);
    *range = (gs_ptx_range){name->range, scope->ranges, name, (uint8_t)type, p->depth, count};
    name->range = range;
    scope->ranges = range;
    scope->range_depth = p->depth;
    return GS_OK;
}

/* ---- resolution ---- */

/* Scopes between the module and the function that is being inlined belong to the caller. */
static bool is_hidden(const gs_ptx_parser *p, int depth) { return depth > 0 && depth < p->floor; }

/* The innermost range that contains the name; NULL: none. "%r12" may be register 12 of "%r" or 2 of "%r1". */
static gs_status range_of(const gs_ptx_parser *p, const gs_ptx_name *name, int line, const gs_ptx_range **out)
{
    uint64_t number = 0, scale = 1;
    *out = NULL;
    for (uint32_t size = name->size; size > 1 && scale <= GS_PTX_REGISTERS_MAX; scale *= 10) {
        const char digit = name->text[--size];
        if (digit < '0' || digit > '9') break;
        number += (uint64_t)(digit - '0') * scale;
        if (digit == '0' && size + 1 != name->size) continue;   /* "%r07" is in no range */
        const gs_ptx_name *const prefix = gs_ptx_find(p, name->text, size);
        const gs_ptx_range *range = prefix ? prefix->range : NULL;
        while (range && (number >= range->count || is_hidden(p, range->depth))) range = range->outer;
        if (!range || (*out && (*out)->depth > range->depth)) continue;
        if (*out && (*out)->depth == range->depth) return twice(p, name, line);
        *out = range;
    }
    return GS_OK;
}

static gs_status symbol_of(gs_ptx_parser *p, gs_ptx_name *name, gs_ptx_symbol **out)
{
    gs_ptx_symbol *symbol = name->symbol;
    const gs_ptx_range *range;
    const int ranges = p->scope[p->depth].range_depth;
    while (symbol && is_hidden(p, symbol->depth)) symbol = symbol->outer;
    *out = symbol;
    if (symbol && (symbol->depth > ranges || (symbol->depth == ranges && symbol->range))) return GS_OK;
    GS_TRY(range_of(p, name, p->token.line, &range));
    if (!range || (symbol && symbol->depth > range->depth) || (symbol && symbol->range == range)) return GS_OK;
    if (symbol && symbol->depth == range->depth) return twice(p, name, p->token.line);
    if (!(*out = add_symbol(p, name, range->depth))) return gs_ptx_no_memory(p);
    (*out)->kind = GS_PTX_IS_REGISTER;
    (*out)->type = range->type;
    (*out)->range = range;
    (*out)->index = -1;
    return GS_OK;
}

/* A register is added to the entry's table when an instruction uses it, so that a declared range alone costs nothing. */
gs_status gs_ptx_resolve(gs_ptx_parser *p, gs_ptx_name *name, const gs_ptx_symbol **out)
{
    gs_ptx_symbol *symbol;
    GS_TRY(symbol_of(p, name, &symbol));
    *out = symbol;
    if (!symbol || symbol->kind != GS_PTX_IS_REGISTER || symbol->index >= 0) return GS_OK;
    gs_ptx_register *const reg = gs_ptx_add(&p->registers, sizeof *reg);
    if (!reg) return gs_ptx_no_memory(p);
    reg->name = name->text;
    reg->type = symbol->type;
    symbol->index = (int32_t)p->registers.count - 1;
    return GS_OK;
}
