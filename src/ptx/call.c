/* SPDX-License-Identifier: MIT
 * Functions and calls. A call is parsed by reading the text of the called function, in a scope of its own that sees nothing of the caller (inlining): a pass over an
 * entry's instructions therefore covers everything that it calls. The parameters' names stand for the caller's variables, and `ret` is a branch to the end. What
 * cannot be inlined, recursion and calls through a register, is refused. */
#include "ptx/internal.h"

#include <string.h>

#define CALL_PARAMETERS 64           /* most parameters of a call, results included */
#define UNFOLD_SLACK    (1u << 20)   /* limit of function text read for calls, bytes: this, plus a multiple of the size of the text */
#define UNFOLD_SHARE    16u

struct gs_ptx_function {
    const char *at;                  /* after .func */
    int         line;
    size_t      size;                /* bytes from there to the end of the body */
    bool        reading;             /* a call of it is being inlined */
};

/* ---- finding the functions ---- */

static gs_status skip_list(gs_ptx_parser *p)
{
    if (!gs_ptx_mark(p, '(')) return GS_OK;
    while (!gs_ptx_mark(p, ')')) {
        if (p->token.kind == GS_PTX_END) return gs_ptx_unexpected(p, "\")\"");
        GS_TRY(gs_ptx_next(p));
    }
    return gs_ptx_next(p);
}

/* Skips a function, starting at .func. *name is its name; *body: this is its definition, not a declaration. */
static gs_status skip_function(gs_ptx_parser *p, gs_ptx_name **name, bool *body)
{
    GS_TRY(gs_ptx_next(p));
    while (p->token.kind == GS_PTX_DIRECTIVE) {
        if (!gs_ptx_word(p, ".noreturn")) return gs_ptx_fail_directive(p, "a function");
        GS_TRY(gs_ptx_next(p));
    }
    GS_TRY(skip_list(p));
    if (p->token.kind != GS_PTX_WORD) return gs_ptx_unexpected(p, "the name of the function");
    *name = p->token.name;
    while (!gs_ptx_mark(p, ';') && !gs_ptx_mark(p, '{')) {
        if (p->token.kind == GS_PTX_END) return gs_ptx_unexpected(p, "the body of a function");
        GS_TRY(gs_ptx_next(p));
    }
    *body = gs_ptx_mark(p, '{');
    if (!*body) return gs_ptx_next(p);
    p->at = p->token.at;
    return gs_ptx_skip_block(p);
}

static bool has_functions(const gs_ptx_parser *p)
{
    static const char word[] = ".func";
    for (const char *at = p->at; (size_t)(p->end - at) >= sizeof word - 1 && (at = memchr(at, '.', (size_t)(p->end - at))); at++)
        if ((size_t)(p->end - at) >= sizeof word - 1 && memcmp(at, word, sizeof word - 1) == 0) return true;
    return false;
}

static gs_status find_function(gs_ptx_parser *p)
{
    const char *const at = p->at;
    const int line = p->line;
    gs_ptx_name *name = NULL;
    bool body = false;
    GS_TRY(skip_function(p, &name, &body));
    if (!body) return GS_OK;
    if (name->function) return gs_ptx_fail(p, line, GS_ERROR_PARSE, "\"%.64s\" is declared twice", name->text);
    if (!(name->function = gs_ptx_take(&p->scratch, sizeof *name->function))) return gs_ptx_no_memory(p);
    *name->function = (gs_ptx_function){.at = at, .line = line, .size = (size_t)(p->token.at - at)};
    return GS_OK;
}

gs_status gs_ptx_find_functions(gs_ptx_parser *p)
{
    const char *const at = p->at;
    p->unfold_left = UNFOLD_SLACK + (size_t)UNFOLD_SHARE * (size_t)(p->end - at);
    if (!has_functions(p)) return GS_OK;
    GS_TRY(gs_ptx_next(p));
    while (p->token.kind != GS_PTX_END) GS_TRY(gs_ptx_word(p, ".func") ? find_function(p) : gs_ptx_next(p));
    p->at = at;
    p->line = 1;
    return GS_OK;
}

gs_status gs_ptx_read_function(gs_ptx_parser *p)
{
    gs_ptx_name *name;
    bool body;
    return p->external ? gs_ptx_fail_directive(p, NULL) : skip_function(p, &name, &body);
}

/* ---- a call ---- */

typedef struct call {
    gs_ptx_name *name;
    int          line;
    int          results, all;                  /* results first */
    int32_t      variable[CALL_PARAMETERS];     /* variables of the caller */
} call;

/* (param0, param1): variables of the caller that were declared for passing */
static gs_status read_passed(gs_ptx_parser *p, call *c)
{
    GS_TRY(gs_ptx_expect(p, '('));
    while (!gs_ptx_mark(p, ')')) {
        const gs_ptx_symbol *symbol = NULL;
        if (c->all == CALL_PARAMETERS) return gs_ptx_fail(p, p->token.line, GS_ERROR_RANGE, "more than %d parameters of a call", CALL_PARAMETERS);
        if (p->token.kind == GS_PTX_WORD) GS_TRY(gs_ptx_resolve(p, p->token.name, &symbol));
        if (!symbol || symbol->kind != GS_PTX_IS_VARIABLE || !((gs_ptx_variable *)p->variables.data)[symbol->index].passed)
            return gs_ptx_fail_as(p, p->token.line, GS_PTX_UNREAD_FUNCTION, "what is passed is no variable of .param");
        c->variable[c->all++] = symbol->index;
        GS_TRY(gs_ptx_next(p));
        if (gs_ptx_mark(p, ',')) GS_TRY(gs_ptx_next(p));
        else if (!gs_ptx_mark(p, ')')) return gs_ptx_unexpected(p, "\",\" or \")\"");
    }
    return gs_ptx_next(p);
}

/* The callee must be named by a function's own name, which no other declaration hides. */
static gs_status read_callee(gs_ptx_parser *p, call *c)
{
    const gs_ptx_symbol *symbol = NULL;
    if (p->token.kind != GS_PTX_WORD) return gs_ptx_unexpected(p, "the name of a function");
    c->name = p->token.name;
    c->line = p->token.line;
    GS_TRY(gs_ptx_resolve(p, c->name, &symbol));
    if (symbol && symbol->kind == GS_PTX_IS_REGISTER)
        return gs_ptx_fail_as(p, c->line, GS_PTX_UNREAD_FUNCTION, "an indirect call, of which nobody knows where it leads: call the function by its name");
    if (symbol || !c->name->function) return gs_ptx_fail_as(p, c->line, GS_PTX_UNREAD_FUNCTION, "calls what is no function of this text");
    if (c->name->function->reading)
        return gs_ptx_fail_as(p, c->line, GS_PTX_UNREAD_FUNCTION, "a function that calls itself: recursion is not supported, write a loop");
    if (c->name->function->size > p->unfold_left)
        return gs_ptx_fail_as(p, c->line, GS_PTX_UNREAD_FUNCTION, "the functions that are called, one call after the other, are too long a text");
    p->unfold_left -= c->name->function->size;
    return gs_ptx_next(p);
}

static gs_status read_formals(gs_ptx_parser *p, const call *c, int *at)
{
    GS_TRY(gs_ptx_expect(p, '('));
    while (!gs_ptx_mark(p, ')')) {
        if (*at == c->all) return gs_ptx_fail(p, p->token.line, GS_ERROR_PARSE, "\"%.64s\" has more parameters than a call gives it", c->name->text);
        GS_TRY(gs_ptx_read_formal(p, c->variable[(*at)++]));
        if (gs_ptx_mark(p, ',')) GS_TRY(gs_ptx_next(p));
        else if (!gs_ptx_mark(p, ')')) return gs_ptx_unexpected(p, "\",\" or \")\"");
    }
    return gs_ptx_next(p);
}

/* Reads the function's head: from after .func to the brace of the body. */
static gs_status read_head(gs_ptx_parser *p, const call *c)
{
    int at = 0;
    GS_TRY(gs_ptx_next(p));
    while (gs_ptx_word(p, ".noreturn")) GS_TRY(gs_ptx_next(p));
    if (gs_ptx_mark(p, '(')) GS_TRY(read_formals(p, c, &at));
    if (at != c->results) return gs_ptx_fail(p, p->token.line, GS_ERROR_PARSE, "\"%.64s\" gives back %d, and a call takes %d", c->name->text, at, c->results);
    GS_TRY(gs_ptx_next(p));
    if (gs_ptx_mark(p, '(')) GS_TRY(read_formals(p, c, &at));
    if (at != c->all) return gs_ptx_fail(p, p->token.line, GS_ERROR_PARSE, "\"%.64s\" has fewer parameters than a call gives it", c->name->text);
    while (gs_ptx_word(p, ".noreturn")) GS_TRY(gs_ptx_next(p));
    if (p->token.kind == GS_PTX_DIRECTIVE) return gs_ptx_fail_directive(p, "a function");
    return gs_ptx_expect(p, '{');
}

static gs_ptx_name *end_of_function(gs_ptx_parser *p) { return gs_ptx_intern(p, "\0return", 7); }

/* Makes the instruction, whose guard has been read, a branch to the end of the function. */
gs_status gs_ptx_add_return(gs_ptx_parser *p, gs_ptx_instruction *made)
{
    gs_ptx_name *bra, *const end = end_of_function(p);
    GS_TRY(gs_ptx_opcode_of(p, "bra", 3, made->line, &bra));
    if (!end) return gs_ptx_no_memory(p);
    made->name = bra->text;
    made->parts = bra->opcode->parts;
    memcpy(made->part, bra->opcode->part, sizeof made->part);
    made->operand = (int32_t)p->operands.count;
    made->operands = 1;
    gs_ptx_operand *const label = gs_ptx_add(&p->operands, sizeof *label);
    gs_ptx_instruction *const out = gs_ptx_add(&p->instructions, sizeof *out);
    if (!label || !out) return gs_ptx_no_memory(p);
    label->kind = GS_PTX_LABEL;
    *out = *made;
    return gs_ptx_refer(p, end, made->line, made->operand);
}

gs_status gs_ptx_enter_call(gs_ptx_parser *p, gs_ptx_instruction *made, gs_ptx_position *back)
{
    call c = {0};
    if (gs_ptx_mark(p, '(')) GS_TRY(read_passed(p, &c));
    c.results = c.all;
    if (c.all > 0) GS_TRY(gs_ptx_expect(p, ','));
    GS_TRY(read_callee(p, &c));
    if (gs_ptx_mark(p, ',')) {
        GS_TRY(gs_ptx_next(p));
        GS_TRY(read_passed(p, &c));
    }
    GS_TRY(gs_ptx_expect(p, ';'));
    *back = (gs_ptx_position){p->at, p->line, p->floor, p->token, p->location, c.name->function};
    c.name->function->reading = true;
    p->at = c.name->function->at;
    p->line = c.name->function->line;
    GS_TRY(gs_ptx_open(p));
    p->floor = p->depth;
    p->scope[p->depth].range_depth = -1;
    GS_TRY(read_head(p, &c));
    if (made->guard >= 0) {   /* a guarded call: a branch around it is added */
        made->guard_not = !made->guard_not;
        GS_TRY(gs_ptx_add_return(p, made));
    }
    p->opcode = NULL;
    return GS_OK;
}

gs_status gs_ptx_leave_call(gs_ptx_parser *p, const gs_ptx_position *back)
{
    gs_ptx_name *const end = end_of_function(p);
    if (!end) return gs_ptx_no_memory(p);
    GS_TRY(gs_ptx_declare(p, end, p->token.line, GS_PTX_IS_LABEL, GS_PTX_NONE, (int32_t)p->instructions.count));
    GS_TRY(gs_ptx_close(p));
    back->function->reading = false;
    p->at = back->at, p->line = back->line, p->floor = back->floor, p->token = back->token, p->location = back->location;
    return GS_OK;
}

/* ---- parameters of calls ---- */

/* Bytes that ld or st transfers per thread; 0: not known. */
uint64_t gs_ptx_access_bytes(const gs_ptx_instruction *at)
{
    uint64_t lanes = 1;
    for (int i = 1; i < at->parts; i++)
        if (at->part[i][0] == 'v' && at->part[i][1] >= '2' && at->part[i][1] <= '8' && at->part[i][2] == '\0') lanes = (uint64_t)(at->part[i][1] - '0');
    return at->parts > 1 ? lanes * (uint64_t)gs_ptx_type_bits(gs_ptx_type_of(at->part[at->parts - 1])) / 8 : 0;
}

/* Checks an access to a parameter of a call: only ld and st at a known offset may name it. It becomes an access to local memory, where the parameter is. */
gs_status gs_ptx_check_passed(gs_ptx_parser *p, gs_ptx_instruction *made, const gs_ptx_operand *o)
{
    const gs_ptx_variable *const variables = p->variables.data;
    const gs_ptx_operand *const base = o->kind == GS_PTX_ADDRESS ? (gs_ptx_operand *)p->operands.data + o->child : o;
    if (base->kind != GS_PTX_VARIABLE || !variables[base->index].passed) return GS_OK;
    const bool plain = made->guard < 0 && o->kind == GS_PTX_ADDRESS && o->children == 1;
    if (!plain || (strcmp(made->part[0], "ld") != 0 && strcmp(made->part[0], "st") != 0) || strncmp(made->part[1], "param", 5) != 0)
        return gs_ptx_fail_as(p, made->line, GS_PTX_UNREAD_FUNCTION, "a parameter of a call can be loaded and stored, and nothing else");
    made->part[1] = "local";
    const uint64_t bytes = gs_ptx_access_bytes(made);
    if (o->offset < 0 || bytes == 0 || (uint64_t)o->offset + bytes > variables[base->index].size)
        return gs_ptx_fail(p, made->line, GS_ERROR_PARSE, "an access beyond \"%.64s\"", variables[base->index].name);
    return GS_OK;
}
