/* SPDX-License-Identifier: MIT
 * Instructions: guard, opcode, operands. The children of an operand precede it in the entry's table; the operands of an instruction are adjacent, after all their
 * children. */
#include "ptx/internal.h"

#include <string.h>

typedef struct pending {
    gs_ptx_operand operand;
    gs_ptx_name   *label;      /* not NULL: it is a label, defined before or later */
    int            line;
} pending;

/* ---- special registers ---- */

static bool between(const char *number, int first, int last)
{
    int value = 0;
    const char *at = number;
    for (; *at >= '0' && *at <= '9' && at - number < 3; at++) value = value * 10 + (*at - '0');
    return at != number && (*number != '0' || at == number + 1) && (*at == '\0' || strcmp(at, "_64") == 0) && value >= first && value <= last;
}

static bool is_special(const char *name, bool *vector)
{
    static const char *const vectors[] = {
        "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid",
    };
    static const char *const scalars[] = {
        "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%is_explicit_cluster", "%cluster_ctarank", "%cluster_nctarank",
        "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%clock", "%clock_hi", "%clock64",
        "%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size",
        "%reserved_smem_offset_begin", "%reserved_smem_offset_end", "%reserved_smem_offset_cap", "%reserved_smem_offset_0",
        "%reserved_smem_offset_1", "%current_graph_exec", "WARP_SZ",
    };
    *vector = false;
    for (size_t i = 0; i < GS_COUNT(scalars); i++)
        if (strcmp(name, scalars[i]) == 0) return true;
    for (size_t i = 0; i < GS_COUNT(vectors); i++)
        if (strcmp(name, vectors[i]) == 0) return *vector = true;
    return (strncmp(name, "%pm", 3) == 0 && between(name + 3, 0, 7)) || (strncmp(name, "%envreg", 7) == 0 && between(name + 7, 0, 31));
}

/* Reads a special register at the word; *found: it is one. ".x" follows the word immediately. */
static gs_status read_special(gs_ptx_parser *p, gs_ptx_operand *out, bool *found)
{
    bool vector;
    gs_ptx_name *name = p->token.name;
    *found = is_special(name->text, &vector);
    if (!*found) return GS_OK;
    if (vector && p->end - p->at >= 2 && p->at[0] == '.' && memchr("xyzw", p->at[1], 4)) {
        p->at += 2;
        name = gs_ptx_intern(p, p->token.at, p->token.size + 2);
        if (!name) return gs_ptx_no_memory(p);
    }
    out->kind = GS_PTX_SPECIAL;
    out->name = name->text;
    return gs_ptx_next(p);
}

/* ---- single operands ---- */

static gs_status no_such_form(const gs_ptx_parser *p, const char *what)
{
    return gs_ptx_fail(p, p->token.line, GS_ERROR_UNSUPPORTED, "%s as an operand is not supported", what);
}

static gs_status unknown_name(const gs_ptx_parser *p, const gs_ptx_name *name, int line)
{
    return gs_ptx_fail(p, line, GS_ERROR_PARSE, "nothing here is named \"%.64s\"", name->text);
}

/* Checks that one of these marks follows the operand; otherwise its form is unknown. */
static gs_status check_end(const gs_ptx_parser *p, const char *marks, const char *wanted)
{
    if (p->token.kind == GS_PTX_MARK && strchr(marks, *p->token.at)) return GS_OK;
    if (p->token.kind == GS_PTX_MARK && strchr("+-*/%&|^~<>=!?:([", *p->token.at)) return no_such_form(p, "an expression");
    if (p->token.kind == GS_PTX_DIRECTIVE) return no_such_form(p, "a component");
    return gs_ptx_unexpected(p, wanted);
}

/* [+-] number, where an offset is allowed. */
static gs_status read_offset(gs_ptx_parser *p, int64_t *out)
{
    gs_ptx_value value;
    const bool negative = gs_ptx_mark(p, '-');
    *out = 0;
    if (!negative && !gs_ptx_mark(p, '+')) return GS_OK;
    GS_TRY(gs_ptx_next(p));
    if (p->token.kind == GS_PTX_WORD) return no_such_form(p, "a sum of names");
    GS_TRY(gs_ptx_number(p, &value));
    if (value.real) return gs_ptx_fail(p, p->token.line, GS_ERROR_PARSE, "an offset that is no whole number");
    *out = (int64_t)(negative ? 0 - value.bits : value.bits);
    return GS_OK;
}

static gs_status read_number(gs_ptx_parser *p, gs_ptx_operand *out)
{
    gs_ptx_value value;
    GS_TRY(gs_ptx_number(p, &value));
    out->kind = value.real ? GS_PTX_FLOAT : GS_PTX_INTEGER;
    out->wide = value.wide;
    out->bits = value.bits;
    return GS_OK;
}

/* Reads a word: a register, a variable, a special register; or, if *label is set, possibly a label. */
static gs_status read_name(gs_ptx_parser *p, gs_ptx_operand *out, gs_ptx_name **label)
{
    gs_ptx_name *const name = p->token.name;
    const gs_ptx_symbol *symbol;
    bool found;
    *label = NULL;
    if (gs_ptx_word(p, "_")) {
        out->kind = GS_PTX_SINK;
        return gs_ptx_next(p);
    }
    GS_TRY(gs_ptx_resolve(p, name, &symbol));
    if (!symbol || symbol->kind == GS_PTX_IS_LABEL) {
        GS_TRY(read_special(p, out, &found));
        if (found) return GS_OK;
        out->kind = GS_PTX_LABEL;
        *label = name;
        return gs_ptx_next(p);
    }
    out->kind = symbol->kind == GS_PTX_IS_REGISTER ? GS_PTX_REGISTER : GS_PTX_VARIABLE;
    out->index = symbol->index;
    return gs_ptx_next(p);
}

/* !p, -%r */
static gs_status read_negated(gs_ptx_parser *p, gs_ptx_operand *out)
{
    gs_ptx_name *label;
    GS_TRY(gs_ptx_next(p));
    if (p->token.kind != GS_PTX_WORD) return no_such_form(p, "an expression");
    const int line = p->token.line;
    GS_TRY(read_name(p, out, &label));
    if (label) return unknown_name(p, label, line);
    if (out->kind != GS_PTX_REGISTER) return no_such_form(p, "the negation of what is no register");
    out->negated = true;
    return GS_OK;
}

/* Whether the next token starts with a name. */
static bool name_follows(const gs_ptx_parser *p)
{
    const char *at = p->at;
    while (at < p->end && (*at == ' ' || *at == '\t')) at++;
    return at < p->end && (*at == '%' || *at == '_' || *at == '$' || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z'));
}

static gs_status read_scalar(gs_ptx_parser *p, gs_ptx_operand *out, gs_ptx_name **label)
{
    *out = (gs_ptx_operand){0};
    *label = NULL;
    if (gs_ptx_mark(p, '!') || (gs_ptx_mark(p, '-') && name_follows(p))) return read_negated(p, out);
    if (p->token.kind == GS_PTX_NUMBER || gs_ptx_mark(p, '-') || gs_ptx_mark(p, '+')) return read_number(p, out);
    if (gs_ptx_mark(p, '~') || gs_ptx_mark(p, '(')) return no_such_form(p, "an expression or a list in brackets");
    if (p->token.kind != GS_PTX_WORD) return gs_ptx_unexpected(p, "an operand");
    GS_TRY(read_name(p, out, label));
    return out->kind == GS_PTX_VARIABLE ? read_offset(p, &out->offset) : GS_OK;
}

/* ---- operands with children ---- */

static gs_status add_child(gs_ptx_parser *p, gs_ptx_operand *parent, const gs_ptx_operand *child)
{
    gs_ptx_operand *const made = gs_ptx_add(&p->operands, sizeof *made);
    if (!made) return gs_ptx_no_memory(p);
    *made = *child;
    if (parent->children++ == 0) parent->child = (int32_t)p->operands.count - 1;
    return GS_OK;
}

static gs_status read_child(gs_ptx_parser *p, gs_ptx_operand *parent)
{
    gs_ptx_operand child;
    gs_ptx_name *label;
    const int line = p->token.line;
    if (gs_ptx_mark(p, '{') || gs_ptx_mark(p, '[')) return no_such_form(p, "a list inside a list");
    GS_TRY(read_scalar(p, &child, &label));
    if (label) return unknown_name(p, label, line);
    return add_child(p, parent, &child);
}

/* { a, b }: children of parent */
static gs_status read_list(gs_ptx_parser *p, gs_ptx_operand *parent)
{
    GS_TRY(gs_ptx_expect(p, '{'));
    for (;;) {
        if (parent->children == GS_PTX_VECTOR_MAX)
            return gs_ptx_fail(p, p->token.line, GS_ERROR_RANGE, "a list of more than %d", GS_PTX_VECTOR_MAX);
        GS_TRY(read_child(p, parent));
        GS_TRY(check_end(p, ",}", "\",\" or \"}\""));
        const bool last = gs_ptx_mark(p, '}');
        GS_TRY(gs_ptx_next(p));
        if (last) return GS_OK;
    }
}

static gs_status read_address(gs_ptx_parser *p, gs_ptx_operand *out)
{
    gs_ptx_operand base = {0};
    gs_ptx_name *label = NULL;
    out->kind = GS_PTX_ADDRESS;
    GS_TRY(gs_ptx_expect(p, '['));
    const int line = p->token.line;
    if (p->token.kind == GS_PTX_WORD) GS_TRY(read_name(p, &base, &label));
    else if (p->token.kind == GS_PTX_NUMBER) GS_TRY(read_number(p, &base));
    else return check_end(p, "", "an address");
    if (label) return unknown_name(p, label, line);
    if (base.kind != GS_PTX_REGISTER && base.kind != GS_PTX_VARIABLE && base.kind != GS_PTX_INTEGER)
        return no_such_form(p, "an address that starts so");
    GS_TRY(read_offset(p, &out->offset));
    GS_TRY(add_child(p, out, &base));
    if (gs_ptx_mark(p, ',')) {
        GS_TRY(gs_ptx_next(p));
        if (!gs_ptx_mark(p, '{')) return no_such_form(p, "an address of several parts");
        GS_TRY(read_list(p, out));
        if (gs_ptx_mark(p, ',')) return no_such_form(p, "an address of several parts");
    }
    GS_TRY(check_end(p, "]", "\"]\""));
    return gs_ptx_next(p);
}

/* After the left operand: | b */
static gs_status read_pair(gs_ptx_parser *p, gs_ptx_operand *out)
{
    const gs_ptx_operand left = *out;
    if (left.kind != GS_PTX_REGISTER && left.kind != GS_PTX_SINK) return no_such_form(p, "an expression");
    *out = (gs_ptx_operand){.kind = GS_PTX_PAIR};
    GS_TRY(gs_ptx_next(p));
    GS_TRY(add_child(p, out, &left));
    return read_child(p, out);
}

static gs_status read_operand(gs_ptx_parser *p, pending *out)
{
    out->operand = (gs_ptx_operand){0};
    out->label = NULL;
    out->line = p->token.line;
    if (gs_ptx_mark(p, '{')) {
        out->operand.kind = GS_PTX_VECTOR;
        return read_list(p, &out->operand);
    }
    if (gs_ptx_mark(p, '[')) return read_address(p, &out->operand);
    GS_TRY(read_scalar(p, &out->operand, &out->label));
    return gs_ptx_mark(p, '|') ? read_pair(p, &out->operand) : GS_OK;
}

/* The operand of a branch is always a label, even if the name has another meaning. */
static gs_status read_target(gs_ptx_parser *p, pending *out)
{
    *out = (pending){.operand = {.kind = GS_PTX_LABEL}, .label = p->token.name, .line = p->token.line};
    if (p->token.kind != GS_PTX_WORD) return gs_ptx_unexpected(p, "a label");
    return gs_ptx_next(p);
}

/* ---- instructions ---- */

static gs_status read_guard(gs_ptx_parser *p, gs_ptx_instruction *out)
{
    const gs_ptx_symbol *symbol = NULL;
    GS_TRY(gs_ptx_expect(p, '@'));
    out->guard_not = gs_ptx_mark(p, '!');
    if (out->guard_not) GS_TRY(gs_ptx_next(p));
    if (p->token.kind == GS_PTX_WORD) GS_TRY(gs_ptx_resolve(p, p->token.name, &symbol));
    if (!symbol || symbol->kind != GS_PTX_IS_REGISTER || symbol->type != GS_PTX_PRED) return gs_ptx_unexpected(p, "a predicate register");
    out->guard = symbol->index;
    return gs_ptx_next(p);
}

/* Appends the operands to the entry's tables. */
static gs_status finish(gs_ptx_parser *p, gs_ptx_instruction *made, const pending *list, int count)
{
    const size_t first = p->operands.count;
    made->operand = (int32_t)first;
    made->operands = count;
    if (!gs_ptx_reach(&p->operands, sizeof(gs_ptx_operand), first + (size_t)count)) return gs_ptx_no_memory(p);
    for (int i = 0; i < count; i++) {
        ((gs_ptx_operand *)p->operands.data)[first + (size_t)i] = list[i].operand;
        if (list[i].label) GS_TRY(gs_ptx_refer(p, list[i].label, list[i].line, (int32_t)first + i));
    }
    gs_ptx_instruction *const out = gs_ptx_add(&p->instructions, sizeof *out);
    if (!out) return gs_ptx_no_memory(p);
    *out = *made;
    return GS_OK;
}

static gs_status read_operands(gs_ptx_parser *p, bool branch, pending *list, int *count)
{
    for (*count = 0; *count == 0 ? !gs_ptx_mark(p, ';') : gs_ptx_mark(p, ','); ) {
        if (*count > 0) GS_TRY(gs_ptx_next(p));
        if (*count == GS_PTX_OPERANDS)
            return gs_ptx_fail(p, p->token.line, GS_ERROR_RANGE, "more than %d operands", GS_PTX_OPERANDS);
        GS_TRY(branch ? read_target(p, &list[*count]) : read_operand(p, &list[*count]));
        ++*count;
        GS_TRY(check_end(p, ",;", "\",\" or \";\""));
    }
    return gs_ptx_next(p);
}

gs_status gs_ptx_read_instruction(gs_ptx_parser *p, gs_ptx_instruction *out, bool *call)
{
    gs_ptx_instruction made = {.guard = -1, .line = p->token.line, .location = p->location};
    pending list[GS_PTX_OPERANDS];
    gs_ptx_name *opcode;
    int count;
    if (gs_ptx_mark(p, '@')) GS_TRY(read_guard(p, &made));
    const char first = p->token.kind == GS_PTX_WORD ? *p->token.at : '_';
    if (first == '_' || first == '%' || first == '$') return gs_ptx_unexpected(p, "an instruction");
    GS_TRY(gs_ptx_read_opcode(p, &opcode));
    made.name = opcode->text;
    made.parts = opcode->opcode->parts;
    memcpy(made.part, opcode->opcode->part, sizeof made.part);
    *out = made;
    *call = strcmp(made.part[0], "call") == 0;
    if (*call) return GS_OK;
    const bool leaves = p->floor > 0 && strcmp(made.part[0], "ret") == 0;
    GS_TRY(read_operands(p, opcode->opcode->branch, list, &count));
    for (int i = 0; i < count; i++) GS_TRY(gs_ptx_check_passed(p, &made, &list[i].operand));
    GS_TRY(leaves ? gs_ptx_add_return(p, &made) : finish(p, &made, list, count));
    p->opcode = NULL;
    return GS_OK;
}
