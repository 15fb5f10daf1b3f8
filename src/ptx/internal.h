/* SPDX-License-Identifier: MIT
 * Shared by the files of the PTX parser.
 *   memory.c    arenas, lists that grow, names         variable.c  declarations, initialisers, parameters
 *   lex.c       tokens, numbers, opcodes               operand.c   operands, instructions
 *   scope.c     scopes and name resolution             parse.c     directives, entries, the module
 *   types.c     types by name                          call.c      functions, and inlining of calls
 * There are two arenas: `kept` becomes the module, `scratch` is freed with the parser. Names are interned, so they are compared by address. The current meanings of a
 * name are a list at the name, innermost scope first; a meaning is removed when its scope ends. */
#ifndef GS_PTX_INTERNAL_H
#define GS_PTX_INTERNAL_H

#include "base/error.h"
#include "ptx/ptx.h"

#define GS_PTX_TEXT_MAX      (64u << 20)    /* bytes of text */
#define GS_PTX_REGISTERS_MAX (1u << 20)     /* declared in an entry */
#define GS_PTX_SIZE_MAX      (1u << 30)     /* bytes of a variable */
#define GS_PTX_ALIGN_MAX     (1u << 16)
#define GS_PTX_PARAM_MAX     32764u         /* bytes of an entry's parameters, as for a GPU */
#define GS_PTX_FILES_MAX     (1 << 16)
#define GS_PTX_DEPTH         64             /* most nested scopes */
#define GS_PTX_DIMENSIONS    8
#define GS_PTX_OPERANDS      32             /* most per instruction, a vector counting once */
#define GS_PTX_VECTOR_MAX    512
#define GS_PTX_OPCODE_MAX    256            /* characters */
#define GS_PTX_INIT_SLACK    (1u << 20)     /* limit of initialised bytes: this, plus GS_PTX_INIT_SHARE per byte of text */
#define GS_PTX_INIT_SHARE    16u

/* ---- memory ---- */

typedef struct gs_ptx_chunk gs_ptx_chunk;

typedef struct gs_ptx_arena {
    gs_ptx_chunk *chunk;      /* the newest first */
} gs_ptx_arena;

typedef struct gs_ptx_list {
    void  *data;
    size_t count, capacity;   /* elements */
} gs_ptx_list;

void *gs_ptx_take(gs_ptx_arena *arena, size_t size);                    /* zeroed, aligned for any type; NULL: no memory */
char *gs_ptx_copy(gs_ptx_arena *arena, const char *text, size_t size);  /* terminated */
void *gs_ptx_keep(gs_ptx_arena *arena, const gs_ptx_list *list, size_t element);   /* an exact copy of the elements; NULL only if there is no memory */
void  gs_ptx_release(gs_ptx_arena *arena);
void *gs_ptx_add(gs_ptx_list *list, size_t element);                    /* appends a zeroed element; NULL: no memory */
bool  gs_ptx_reach(gs_ptx_list *list, size_t element, size_t count);    /* grows to at least count elements, new ones zeroed; false: no memory */
void  gs_ptx_list_free(gs_ptx_list *list);

/* ---- names ---- */

typedef struct gs_ptx_name gs_ptx_name;
typedef struct gs_ptx_function gs_ptx_function;

typedef struct gs_ptx_opcode {
    uint8_t     parts;
    bool        branch;       /* its operand is a label */
    const char *part[GS_PTX_PARTS];
} gs_ptx_opcode;

/* .reg .b32 %r<12>: kept at the name "%r"; "%r7" becomes a symbol when it is first used. */
typedef struct gs_ptx_range {
    struct gs_ptx_range *outer, *next;   /* outer: same prefix in an outer scope; next: same scope */
    gs_ptx_name         *name;
    uint8_t              type;
    int                  depth;
    uint64_t             count;
} gs_ptx_range;

typedef enum gs_ptx_symbol_kind { GS_PTX_IS_REGISTER, GS_PTX_IS_VARIABLE, GS_PTX_IS_LABEL } gs_ptx_symbol_kind;

typedef struct gs_ptx_symbol {
    struct gs_ptx_symbol *outer, *next;
    gs_ptx_name          *name;
    const gs_ptx_range   *range;         /* the range it was created from */
    uint8_t               kind, type;
    int                   depth;
    int32_t               index;         /* registers: -1 until an instruction uses it */
} gs_ptx_symbol;

struct gs_ptx_name {
    const char    *text;                 /* in the module, terminated */
    uint32_t       size;
    uint64_t       hash;
    gs_ptx_symbol *symbol;               /* innermost first */
    gs_ptx_range  *range;
    gs_ptx_opcode *opcode;               /* set once it was used as an opcode */
    gs_ptx_function *function;           /* function of this name; NULL: none */
    int32_t        shared;               /* 1 + the shared variable that a function last declared under this name; 0: none */
    /* for names that encode places of .loc lines: where that place was inlined */
    int32_t        place_entry, at_file, at_line;   /* place_entry: 1 + the entry in which it was seen */
    bool           ambiguous;                       /* inlined at more than one place */
};

typedef struct gs_ptx_names {
    gs_ptx_name **slot;
    size_t        count, capacity;       /* a power of two */
} gs_ptx_names;

/* ---- the parser ---- */

typedef enum gs_ptx_token_kind {
    GS_PTX_END, GS_PTX_WORD, GS_PTX_DIRECTIVE, GS_PTX_NUMBER, GS_PTX_STRING, GS_PTX_MARK
} gs_ptx_token_kind;

typedef struct gs_ptx_token {
    uint8_t      kind;
    int          line;
    const char  *at;          /* DIRECTIVE with its dot, STRING without its quotes */
    size_t       size;
    gs_ptx_name *name;        /* WORD */
} gs_ptx_token;

typedef struct gs_ptx_value {
    bool     real, wide;      /* a float, an f64 */
    uint64_t bits;
} gs_ptx_value;

/* A use of a name that may be a label defined later. */
typedef struct gs_ptx_reference {
    struct gs_ptx_reference *next;
    gs_ptx_name             *name;
    int32_t                  operand;    /* index into the entry's operands */
    int                      line;
    const char              *opcode;
} gs_ptx_reference;

typedef struct gs_ptx_scope {
    gs_ptx_symbol    *symbols;
    gs_ptx_range     *ranges;
    gs_ptx_reference *references;
    int               range_depth;       /* the innermost scope with ranges, counted from this one outwards; -1: none */
} gs_ptx_scope;

typedef struct gs_ptx_parser {
    const char     *at, *end;            /* at: after the token */
    int             line;                /* of at */
    gs_ptx_token    token;
    const char     *opcode;              /* of the current instruction, for messages; NULL: none */
    gs_ptx_unread  *unread;              /* may be NULL */
    bool            external;            /* the current declaration is .extern */
    gs_error       *error;
    gs_ptx_arena    kept, scratch;
    gs_ptx_names    names;
    gs_ptx_module  *module;              /* in kept */
    gs_ptx_list     entries, variables, files, init;
    size_t          init_left;           /* initialised bytes that are still allowed */
    gs_ptx_entry   *entry;               /* current entry; NULL: module scope */
    gs_ptx_list     registers, instructions, operands;   /* of the entry */
    uint64_t        declared;            /* registers declared in the entry */
    gs_ptx_location location;
    gs_ptx_scope    scope[GS_PTX_DEPTH];
    int             depth;               /* 0: module, 1: parameters and body, then { } */
    int             floor;               /* scope of the function that is being inlined: scopes between it and the module belong to the caller and are not visible; 0:
                                            none */
    size_t          unfold_left;         /* bytes of functions that may still be inlined */
    const char     *start;               /* of the text */
} gs_ptx_parser;

/* Where parsing continues after a call. */
typedef struct gs_ptx_position {
    const char      *at;
    int              line, floor;
    gs_ptx_token     token;
    gs_ptx_location  location;
    gs_ptx_function *function;
} gs_ptx_position;

gs_status gs_ptx_fail(const gs_ptx_parser *p, int line, gs_status status, const char *format, ...) GS_PRINTF(4, 5);
gs_status gs_ptx_fail_as(const gs_ptx_parser *p, int line, gs_ptx_unread_kind kind, const char *message);   /* UNSUPPORTED */
gs_status gs_ptx_fail_directive(const gs_ptx_parser *p, const char *where);   /* UNSUPPORTED: names the token; where: in which construct, or NULL */
gs_status gs_ptx_no_memory(const gs_ptx_parser *p);
gs_status gs_ptx_unexpected(const gs_ptx_parser *p, const char *wanted);   /* PARSE: the token is not the expected one */

gs_ptx_name *gs_ptx_intern(gs_ptx_parser *p, const char *text, size_t size);       /* NULL: no memory */
gs_ptx_name *gs_ptx_find(const gs_ptx_parser *p, const char *text, size_t size);   /* NULL: no such name */

/* tokens: p->token is the current one */
gs_status gs_ptx_next(gs_ptx_parser *p);
bool      gs_ptx_mark(const gs_ptx_parser *p, char mark);
bool      gs_ptx_word(const gs_ptx_parser *p, const char *text);       /* WORD or DIRECTIVE with this text */
gs_status gs_ptx_expect(gs_ptx_parser *p, char mark);                  /* checks for the mark and reads the next token */
gs_status gs_ptx_number(gs_ptx_parser *p, gs_ptx_value *out);          /* reads a number with optional sign, and the next token */
gs_status gs_ptx_integer(gs_ptx_parser *p, uint64_t most, uint64_t *out);  /* reads an integer, and the next token; RANGE above most */
bool      gs_ptx_is_label(gs_ptx_parser *p);                           /* whether the WORD is followed by a colon, which is then consumed */
gs_status gs_ptx_read_opcode(gs_ptx_parser *p, gs_ptx_name **out);     /* starts at the WORD; afterwards p->token is the first operand */
gs_status gs_ptx_opcode_of(gs_ptx_parser *p, const char *text, size_t size, int line, gs_ptx_name **out);   /* splits the given text */
gs_status gs_ptx_skip_block(gs_ptx_parser *p);                         /* skips raw text to the end of the next { } block */
double    gs_ptx_double(uint64_t bits);
uint64_t  gs_ptx_double_bits(double value);
uint32_t  gs_ptx_float_bits(float value);
float     gs_ptx_float(uint32_t bits);

/* scopes */
gs_status gs_ptx_open(gs_ptx_parser *p);
gs_status gs_ptx_close(gs_ptx_parser *p);
gs_status gs_ptx_declare(gs_ptx_parser *p, gs_ptx_name *name, int line, gs_ptx_symbol_kind kind, gs_ptx_type type, int32_t index);
gs_status gs_ptx_declare_range(gs_ptx_parser *p, gs_ptx_name *name, int line, gs_ptx_type type, uint64_t count);
gs_status gs_ptx_resolve(gs_ptx_parser *p, gs_ptx_name *name, const gs_ptx_symbol **out);   /* NULL: no such name is visible */
gs_status gs_ptx_refer(gs_ptx_parser *p, gs_ptx_name *name, int line, int32_t operand);

/* declarations and statements; each starts at its first token and ends after its last */
bool      gs_ptx_space_of(const gs_ptx_parser *p, gs_ptx_space *out);
gs_status gs_ptx_read_registers(gs_ptx_parser *p);
gs_status gs_ptx_read_variables(gs_ptx_parser *p);
gs_status gs_ptx_read_parameter(gs_ptx_parser *p);
gs_status gs_ptx_read_formal(gs_ptx_parser *p, int32_t variable);   /* a function's parameter: its name stands for the caller's variable */
/* Starts at the guard, or at the WORD after the label check. *call: it is a call, and only guard and opcode were read into *out. */
gs_status gs_ptx_read_instruction(gs_ptx_parser *p, gs_ptx_instruction *out, bool *call);

/* functions and calls */
gs_status gs_ptx_find_functions(gs_ptx_parser *p);     /* scans the whole text, then returns to its start */
gs_status gs_ptx_read_function(gs_ptx_parser *p);      /* starts at .func; skips it, because functions are read where they are called */
gs_status gs_ptx_enter_call(gs_ptx_parser *p, gs_ptx_instruction *made, gs_ptx_position *back);   /* after the opcode; continues at the function's first statement */
gs_status gs_ptx_leave_call(gs_ptx_parser *p, const gs_ptx_position *back);                       /* at the function's closing brace */
gs_status gs_ptx_add_return(gs_ptx_parser *p, gs_ptx_instruction *made);   /* a branch to the end of the function that is being inlined */
gs_status gs_ptx_check_passed(gs_ptx_parser *p, gs_ptx_instruction *made, const gs_ptx_operand *operand);

#endif
