/* SPDX-License-Identifier: MIT
 * Declarations: registers, variables with their initialisers, the parameters of an entry. */
#include "ptx/internal.h"

#include <string.h>

/* ---- common to all declarations ---- */

typedef struct declaration {
    gs_ptx_space space;
    gs_ptx_type  type;
    uint64_t     align;        /* 0: not given */
    uint64_t     lanes;        /* .v2, .v4; else 1 */
    bool         external;
    /* per name */
    gs_ptx_name *name;
    const char  *at;
    int          line;
    int          dimensions;   /* .v2 and .v4 count as the innermost */
    uint64_t     dimension[GS_PTX_DIMENSIONS + 1];
    bool         open;         /* the first dimension is [] */
    uint64_t     element;      /* bytes */
    uint64_t     size;         /* bytes; while the first dimension is open: of one of its elements */
} declaration;

bool gs_ptx_space_of(const gs_ptx_parser *p, gs_ptx_space *out)
{
    static const struct {
        const char  *name;
        gs_ptx_space space;
    } spaces[] = {
        {".global", GS_PTX_GLOBAL}, {".const", GS_PTX_CONST}, {".shared", GS_PTX_SHARED}, {".local", GS_PTX_LOCAL},
        {".param",  GS_PTX_PARAM},  {".reg",   GS_PTX_REG},
    };
    for (size_t i = 0; i < GS_COUNT(spaces); i++)
        if (gs_ptx_word(p, spaces[i].name)) {
            *out = spaces[i].space;
            return true;
        }
    return false;
}

/* The type that the DIRECTIVE names; NONE: it is no type. */
static gs_ptx_type type_of(const gs_ptx_parser *p)
{
    char text[8];
    if (p->token.size > sizeof text) return GS_PTX_NONE;
    memcpy(text, p->token.at + 1, p->token.size - 1);
    text[p->token.size - 1] = '\0';
    return gs_ptx_type_of(text);
}

static gs_status read_align(gs_ptx_parser *p, uint64_t *out)
{
    const int line = p->token.line;
    GS_TRY(gs_ptx_next(p));
    GS_TRY(gs_ptx_integer(p, GS_PTX_ALIGN_MAX, out));
    if (*out == 0 || (*out & (*out - 1)) != 0) return gs_ptx_fail(p, line, GS_ERROR_PARSE, "an alignment that is no power of two");
    return GS_OK;
}

/* Reads the directives from the state space up to the name. After .ptr they describe what the parameter points to, and are ignored. */
static gs_status read_directives(gs_ptx_parser *p, declaration *d, const char *where)
{
    bool pointer = false;
    *d = (declaration){.external = d->external, .lanes = 1};
    if (!gs_ptx_space_of(p, &d->space)) return gs_ptx_unexpected(p, "a state space");
    GS_TRY(gs_ptx_next(p));
    while (p->token.kind == GS_PTX_DIRECTIVE) {
        gs_ptx_space space;
        uint64_t ignored;
        const gs_ptx_type type = type_of(p);
        if (gs_ptx_word(p, ".align")) {
            GS_TRY(read_align(p, pointer ? &ignored : &d->align));
            continue;
        }
        if (type != GS_PTX_NONE && d->type != GS_PTX_NONE) return gs_ptx_unexpected(p, "one type only");
        if (type != GS_PTX_NONE) d->type = type;
        else if (gs_ptx_word(p, ".v2") || gs_ptx_word(p, ".v4")) d->lanes = (uint64_t)(p->token.at[2] - '0');
        else if (gs_ptx_word(p, ".ptr") && d->space == GS_PTX_PARAM) pointer = true;
        else if (!pointer || !gs_ptx_space_of(p, &space)) return gs_ptx_fail_directive(p, where);
        GS_TRY(gs_ptx_next(p));
    }
    if (d->type == GS_PTX_NONE) return gs_ptx_unexpected(p, "a type");
    return GS_OK;
}

static gs_status read_name(gs_ptx_parser *p, gs_ptx_name **name, int *line)
{
    if (p->token.kind != GS_PTX_WORD || gs_ptx_word(p, "_")) return gs_ptx_unexpected(p, "a name");
    *name = p->token.name;
    *line = p->token.line;
    return gs_ptx_next(p);
}

/* ---- registers ---- */

static gs_status read_register(gs_ptx_parser *p, gs_ptx_type type)
{
    gs_ptx_name *name = NULL;
    int line = 0;
    uint64_t count = 0;
    GS_TRY(read_name(p, &name, &line));
    if (!gs_ptx_mark(p, '<')) return gs_ptx_declare(p, name, line, GS_PTX_IS_REGISTER, type, -1);
    GS_TRY(gs_ptx_next(p));
    GS_TRY(gs_ptx_integer(p, GS_PTX_REGISTERS_MAX, &count));
    GS_TRY(gs_ptx_expect(p, '>'));
    return gs_ptx_declare_range(p, name, line, type, count);
}

gs_status gs_ptx_read_registers(gs_ptx_parser *p)
{
    declaration d = {0};
    const int line = p->token.line;
    GS_TRY(read_directives(p, &d, "a register"));
    if (d.lanes != 1) return gs_ptx_fail(p, line, GS_ERROR_UNSUPPORTED, "vector registers are not supported");
    if (!p->entry) return gs_ptx_fail(p, line, GS_ERROR_UNSUPPORTED, "registers outside of an entry are not supported");
    for (;;) {
        GS_TRY(read_register(p, d.type));
        if (!gs_ptx_mark(p, ',')) return gs_ptx_expect(p, ';');
        GS_TRY(gs_ptx_next(p));
    }
}

/* ---- sizes ---- */

static gs_status too_large(const gs_ptx_parser *p, const declaration *d)
{
    return gs_ptx_fail(p, d->line, GS_ERROR_RANGE, "\"%.64s\" is larger than %u bytes", d->name->text, GS_PTX_SIZE_MAX);
}

/* [2][3], [] */
static gs_status read_dimensions(gs_ptx_parser *p, declaration *d)
{
    d->dimensions = 0;
    d->open = false;
    while (gs_ptx_mark(p, '[')) {
        uint64_t count = 1;
        GS_TRY(gs_ptx_next(p));
        if (d->dimensions == GS_PTX_DIMENSIONS) return gs_ptx_fail(p, d->line, GS_ERROR_RANGE, "more than %d dimensions", GS_PTX_DIMENSIONS);
        if (d->dimensions == 0 && gs_ptx_mark(p, ']')) d->open = true;
        else GS_TRY(gs_ptx_integer(p, UINT64_MAX, &count));
        d->dimension[d->dimensions++] = count;
        GS_TRY(gs_ptx_expect(p, ']'));
    }
    return GS_OK;
}

static gs_status read_declarator(gs_ptx_parser *p, declaration *d)
{
    if (d->type == GS_PTX_PRED) return gs_ptx_fail(p, p->token.line, GS_ERROR_PARSE, "a predicate outside of the registers");
    d->at = p->token.at;
    GS_TRY(read_name(p, &d->name, &d->line));
    GS_TRY(read_dimensions(p, d));
    d->element = (uint64_t)gs_ptx_type_bits(d->type) / 8;
    d->size = d->element * d->lanes;
    for (int i = 0; i < d->dimensions; i++) {
        if (d->dimension[i] > GS_PTX_SIZE_MAX / d->size) return too_large(p, d);
        d->size *= d->dimension[i];
        if (d->size == 0) break;
    }
    if (d->lanes > 1) d->dimension[d->dimensions++] = d->lanes;
    return GS_OK;
}

/* ---- initialisers ---- */

static gs_status not_initial(const gs_ptx_parser *p, const declaration *d, gs_status status, const char *why)
{
    return gs_ptx_fail(p, d->line, status, "\"%.64s\" starts as %s", d->name->text, why);
}

/* The bits of the value in the variable's type. */
static gs_status encode(const gs_ptx_parser *p, const declaration *d, const gs_ptx_value *value, uint64_t *out)
{
    const bool real = d->type == GS_PTX_F32 || d->type == GS_PTX_F64;
    const bool bits = d->type == GS_PTX_B32 || d->type == GS_PTX_B64;
    if (d->type >= GS_PTX_F16 && !real) return not_initial(p, d, GS_ERROR_UNSUPPORTED, "something, which its type does not allow");
    if (d->element > 8) return not_initial(p, d, GS_ERROR_UNSUPPORTED, "128 bits, which is not supported");
    if (value->real != real && !(value->real && bits)) return not_initial(p, d, GS_ERROR_PARSE, "a value of another type");
    *out = value->bits;
    if (!value->real) return GS_OK;
    if (value->wide && d->element == 4) *out = gs_ptx_float_bits((float)gs_ptx_double(value->bits));
    if (!value->wide && d->element == 8) *out = gs_ptx_double_bits(gs_ptx_float((uint32_t)value->bits));
    return GS_OK;
}

/* Stores one value; the limit on initialised bytes also bounds the offset. */
static gs_status store_value(gs_ptx_parser *p, const declaration *d, uint64_t offset)
{
    gs_ptx_value value;
    uint64_t bits = 0;
    if (p->token.kind == GS_PTX_WORD || gs_ptx_mark(p, '(') || gs_ptx_mark(p, '~'))
        return not_initial(p, d, GS_ERROR_UNSUPPORTED, "an address or an expression, which is not supported");
    GS_TRY(gs_ptx_number(p, &value));
    GS_TRY(encode(p, d, &value, &bits));
    if (offset + d->element > p->init_left) return not_initial(p, d, GS_ERROR_RANGE, "more bytes than its initialiser can stand for");
    if (!gs_ptx_reach(&p->init, 1, offset + d->element)) return gs_ptx_no_memory(p);
    for (uint64_t i = 0; i < d->element; i++) ((unsigned char *)p->init.data)[offset + i] = (unsigned char)(bits >> (8 * i));
    return GS_OK;
}

/* { { 1, 2 }, { 3, 4 } }: braces nested as deep as there are dimensions; short lists are filled with zeros. */
static gs_status read_list(gs_ptx_parser *p, declaration *d)
{
    uint64_t at[GS_PTX_DIMENSIONS + 1] = {0}, stride[GS_PTX_DIMENSIONS + 1];
    int level = 0;   /* open braces */
    stride[d->dimensions - 1] = d->element;
    for (int i = d->dimensions - 1; i > 0; i--) stride[i - 1] = stride[i] * d->dimension[i];
    do {
        if (level > 0 && at[level - 1] == d->dimension[level - 1] && !(level == 1 && d->open))
            return not_initial(p, d, GS_ERROR_PARSE, "more values than it has");
        if (level < d->dimensions) {
            GS_TRY(gs_ptx_expect(p, '{'));
            at[level++] = 0;
            continue;
        }
        uint64_t offset = 0;
        for (int i = 0; i < level; i++) offset += at[i] * stride[i];
        GS_TRY(store_value(p, d, offset));
        at[level - 1]++;
        while (level > 0 && gs_ptx_mark(p, '}')) {
            GS_TRY(gs_ptx_next(p));
            if (--level > 0) at[level - 1]++;
        }
        if (level > 0) GS_TRY(gs_ptx_expect(p, ','));
    } while (level > 0);
    if (d->open) d->size = at[0] * stride[0];
    return GS_OK;
}

static gs_status read_initialiser(gs_ptx_parser *p, declaration *d, gs_ptx_variable *variable)
{
    p->init.count = 0;
    if (!gs_ptx_mark(p, '=')) return GS_OK;
    if (d->external || (d->space != GS_PTX_GLOBAL && d->space != GS_PTX_CONST))
        return not_initial(p, d, GS_ERROR_PARSE, "something, which only .global and .const can");
    GS_TRY(gs_ptx_next(p));
    GS_TRY(d->dimensions ? read_list(p, d) : store_value(p, d, 0));
    d->open = false;
    if (d->size > p->init_left) return not_initial(p, d, GS_ERROR_RANGE, "more bytes than its initialiser can stand for");
    p->init_left -= d->size;
    if (!gs_ptx_reach(&p->init, 1, d->size)) return gs_ptx_no_memory(p);
    variable->init = gs_ptx_keep(&p->kept, &p->init, 1);
    return variable->init ? GS_OK : gs_ptx_no_memory(p);
}

/* ---- variables ---- */

/* .extern may repeat a declaration. */
static bool known(gs_ptx_parser *p, const declaration *d, const gs_ptx_variable *again)
{
    const gs_ptx_symbol *const symbol = d->name->symbol;
    if (!again->external || !symbol || symbol->depth != p->depth || symbol->kind != GS_PTX_IS_VARIABLE) return false;
    gs_ptx_variable *const first = (gs_ptx_variable *)p->variables.data + symbol->index;
    if (!first->external || first->space != again->space || first->size != again->size) return false;
    first->align = GS_MAX(first->align, again->align);
    return true;
}

/* Shared memory of a function exists once, however often the entry calls it: *out is the variable of an earlier call, -1: none. */
static gs_status called_before(gs_ptx_parser *p, const declaration *d, const gs_ptx_variable *again, int32_t *out)
{
    const gs_ptx_variable *const before = d->name->shared ? (gs_ptx_variable *)p->variables.data + d->name->shared - 1 : NULL;
    *out = -1;
    if (p->floor == 0 || again->space != GS_PTX_SHARED || again->external) return GS_OK;
    if (before && before->entry == again->entry) {
        if (before->place != again->place)
            return gs_ptx_fail(p, d->line, GS_ERROR_UNSUPPORTED, "\"%.64s\" in shared memory of several functions is not supported", d->name->text);
        *out = d->name->shared - 1;
    } else {
        d->name->shared = (int32_t)p->variables.count + 1;
    }
    return GS_OK;
}

static gs_status add_variable(gs_ptx_parser *p, declaration *d, gs_ptx_variable *variable)
{
    if ((d->open || d->size == 0) && !d->external) return gs_ptx_fail(p, d->line, GS_ERROR_PARSE, "\"%.64s\" has no size", d->name->text);
    if (variable->passed && d->size > GS_PTX_PARAM_MAX)
        return gs_ptx_fail(p, d->line, GS_ERROR_RANGE, "more than %u bytes of a parameter", GS_PTX_PARAM_MAX);
    variable->name = d->name->text;
    variable->space = (uint8_t)(variable->passed ? GS_PTX_LOCAL : d->space);
    variable->place = (uint32_t)(d->at - p->start);
    variable->external = d->external;
    variable->entry = p->entry ? (int32_t)p->entries.count - 1 : -1;
    variable->align = (uint32_t)(d->align ? d->align : d->element * d->lanes);
    variable->size = d->open ? 0 : (uint32_t)d->size;
    if (known(p, d, variable)) return GS_OK;
    int32_t again;
    GS_TRY(called_before(p, d, variable, &again));
    GS_TRY(gs_ptx_declare(p, d->name, d->line, GS_PTX_IS_VARIABLE, d->type, again < 0 ? (int32_t)p->variables.count : again));
    if (again >= 0) return GS_OK;
    gs_ptx_variable *const made = gs_ptx_add(&p->variables, sizeof *made);
    if (!made) return gs_ptx_no_memory(p);
    *made = *variable;
    return GS_OK;
}

gs_status gs_ptx_read_variables(gs_ptx_parser *p)
{
    declaration d = {.external = p->external};
    const int line = p->token.line;
    GS_TRY(read_directives(p, &d, "a variable"));
    const bool passed = d.space == GS_PTX_PARAM && p->entry;
    if (d.space == GS_PTX_PARAM && !passed) return gs_ptx_fail(p, line, GS_ERROR_UNSUPPORTED, ".param outside of an entry is not supported");
    if (p->floor > 0 && (d.space == GS_PTX_GLOBAL || d.space == GS_PTX_CONST))
        return gs_ptx_fail(p, line, GS_ERROR_UNSUPPORTED, "a variable of the module inside a function is not supported");
    if (d.space == GS_PTX_LOCAL && !p->entry) return gs_ptx_fail(p, line, GS_ERROR_UNSUPPORTED, ".local outside of an entry is not supported");
    for (;;) {
        gs_ptx_variable variable = {.parameter = -1, .passed = passed};
        GS_TRY(read_declarator(p, &d));
        GS_TRY(read_initialiser(p, &d, &variable));
        GS_TRY(add_variable(p, &d, &variable));
        if (!gs_ptx_mark(p, ',')) return gs_ptx_expect(p, ';');
        GS_TRY(gs_ptx_next(p));
    }
}

/* Reads one parameter of an entry; the comma or bracket after it is not consumed. */
gs_status gs_ptx_read_parameter(gs_ptx_parser *p)
{
    declaration d = {0};
    gs_ptx_variable variable = {.parameter = p->entry->parameters};
    if (!gs_ptx_word(p, ".param")) return gs_ptx_unexpected(p, ".param");
    GS_TRY(read_directives(p, &d, "a parameter"));
    if (d.lanes != 1) return gs_ptx_fail(p, p->token.line, GS_ERROR_UNSUPPORTED, "vector parameters are not supported");
    GS_TRY(read_declarator(p, &d));
    const uint64_t align = d.align ? d.align : d.element;
    const uint64_t address = (p->entry->parameter_bytes + align - 1) / align * align;
    if (address + d.size > GS_PTX_PARAM_MAX)
        return gs_ptx_fail(p, d.line, GS_ERROR_RANGE, "more than %u bytes of parameters", GS_PTX_PARAM_MAX);
    variable.address = (uint32_t)address;
    GS_TRY(add_variable(p, &d, &variable));
    p->entry->parameter_bytes = (uint32_t)(address + d.size);
    p->entry->parameters++;
    return GS_OK;
}

gs_status gs_ptx_read_formal(gs_ptx_parser *p, int32_t variable)
{
    declaration d = {0};
    if (!gs_ptx_word(p, ".param")) return gs_ptx_fail_directive(p, "the parameters of a function");
    GS_TRY(read_directives(p, &d, "a parameter"));
    if (d.lanes != 1) return gs_ptx_fail(p, p->token.line, GS_ERROR_UNSUPPORTED, "vector parameters are not supported");
    GS_TRY(read_declarator(p, &d));
    if (d.open || d.size != ((gs_ptx_variable *)p->variables.data)[variable].size)
        return gs_ptx_fail(p, d.line, GS_ERROR_PARSE, "\"%.64s\" has another size than what a call gives it", d.name->text);
    return gs_ptx_declare(p, d.name, d.line, GS_PTX_IS_VARIABLE, d.type, variable);
}
