/* SPDX-License-Identifier: MIT
 * Parses PTX text as NVRTC writes it (ISA 7.0 to 9.x, 64-bit addresses) into plain tables. The meaning of instructions is decided later (decode.h): here an opcode is
 * its dotted parts. Names are resolved: an operand refers to a register or a variable by index. All tables and strings belong to the module. Any text gives a module
 * or a PARSE error that names the line. Sizes are bounded, so that memory stays proportional to the length of the text, even for a hostile one. */
#ifndef GS_PTX_PTX_H
#define GS_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#define GS_PTX_PARTS 20   /* most dotted parts of an opcode */

typedef enum gs_ptx_space {
    GS_PTX_GENERIC, GS_PTX_REG, GS_PTX_GLOBAL, GS_PTX_CONST, GS_PTX_SHARED, GS_PTX_LOCAL, GS_PTX_PARAM
} gs_ptx_space;

/* Types as written in declarations and as opcode parts. */
typedef enum gs_ptx_type {
    GS_PTX_NONE,
    GS_PTX_PRED,
    GS_PTX_B8,  GS_PTX_B16, GS_PTX_B32, GS_PTX_B64, GS_PTX_B128,
    GS_PTX_U8,  GS_PTX_U16, GS_PTX_U32, GS_PTX_U64,
    GS_PTX_S8,  GS_PTX_S16, GS_PTX_S32, GS_PTX_S64,
    GS_PTX_F16, GS_PTX_F16X2, GS_PTX_BF16, GS_PTX_BF16X2, GS_PTX_TF32, GS_PTX_F32, GS_PTX_F64
} gs_ptx_type;

gs_ptx_type gs_ptx_type_of(const char *part);   /* "u32" -> GS_PTX_U32; NONE if it is no type */
int         gs_ptx_type_bits(gs_ptx_type type); /* 1 for PRED, 32 for F16X2 and TF32, 0 for NONE */

typedef enum gs_ptx_operand_kind {
    GS_PTX_REGISTER,      /* index: into the entry's registers */
    GS_PTX_INTEGER,       /* bits: two's complement; 0x, 0, 0b and decimal forms, U suffix, leading minus */
    GS_PTX_FLOAT,         /* bits: of an f32 (0f...) or of an f64 (0d..., or a decimal literal): see wide */
    GS_PTX_VARIABLE,      /* index: into the module's variables; plus offset ("name+16" as an immediate) */
    GS_PTX_SPECIAL,       /* name: "%tid.x", "%laneid", "%cluster_ctarank", "WARP_SZ" */
    GS_PTX_LABEL,         /* index: of the instruction after the label (== instruction_count: the end) */
    GS_PTX_ADDRESS,       /* [base + offset, {coordinates}]: child[0] is the base (REGISTER, VARIABLE or INTEGER), the rest coordinates */
    GS_PTX_VECTOR,        /* {a, b, ...}: children */
    GS_PTX_PAIR,          /* a|b: two children (destination and its predicate) */
    GS_PTX_SINK           /* _ */
} gs_ptx_operand_kind;

typedef struct gs_ptx_operand {
    uint8_t     kind;     /* gs_ptx_operand_kind */
    bool        negated;  /* !p, or -%r */
    bool        wide;     /* FLOAT: bits are those of an f64 */
    int32_t     index;
    uint64_t    bits;
    int64_t     offset;   /* ADDRESS, VARIABLE: bytes */
    const char *name;     /* SPECIAL */
    int32_t     child;    /* first child: index into the entry's operands */
    int32_t     children;
} gs_ptx_operand;

typedef struct gs_ptx_location {
    int32_t file, line;         /* innermost location, file as numbered by .file; 0: unknown */
    int32_t at_file, at_line;   /* where it was inlined into the kernel (outermost known); 0: not inlined */
} gs_ptx_location;

typedef struct gs_ptx_instruction {
    const char     *name;       /* "add.s32", whole opcode */
    const char     *part[GS_PTX_PARTS];   /* split at '.', "shared::cta" is one part; interned in the module; parts beyond the last are "" */
    uint8_t         parts;
    int32_t         guard;      /* register index of the predicate, -1: none */
    bool            guard_not;
    int32_t         operand;    /* first operand: index into the entry's operands */
    int32_t         operands;
    int32_t         line;       /* of the PTX text, from 1 */
    gs_ptx_location location;
} gs_ptx_instruction;

typedef struct gs_ptx_register {
    const char *name;           /* "%r12"; scoped names ({ .reg .pred p; }) get one entry each; only registers that are used */
    uint8_t     type;           /* gs_ptx_type */
} gs_ptx_register;

typedef struct gs_ptx_variable {
    const char *name;
    uint8_t     space;          /* GLOBAL, CONST, SHARED, LOCAL, PARAM */
    bool        external;       /* .extern: dynamic shared memory when the size is 0 */
    bool        passed;         /* LOCAL: a parameter or a result of a call, accessed at constant offsets only */
    int32_t     entry;          /* index of the entry that declares it, -1: module scope */
    int32_t     parameter;      /* PARAM: position, from 0; else -1 */
    uint32_t    align, size;    /* bytes */
    uint32_t    address;        /* PARAM: offset in the parameter block */
    uint32_t    place;          /* byte offset of its name in the text */
    const void *init;           /* size bytes, or NULL: zero */
} gs_ptx_variable;

typedef struct gs_ptx_entry {
    const char         *name;
    gs_ptx_register    *reg;
    gs_ptx_instruction *instruction;
    gs_ptx_operand     *operand;
    int                 registers, instructions, operands;
    int                 parameters;
    uint32_t            parameter_bytes;
    uint32_t            maxntid[3], reqntid[3];   /* 0: not given */
    uint32_t            reqnctapercluster[3];
    uint32_t            maxclusterrank;           /* 0: not given */
    bool                explicitcluster;          /* must run in clusters */
    bool                blocksareclusters;        /* a launch's grid is counted in clusters */
    int                 line;
} gs_ptx_entry;

typedef struct gs_ptx_module {
    int              version;   /* 90: ISA 9.0 */
    char             target[16];
    gs_ptx_entry    *entry;
    int              entries;
    gs_ptx_variable *variable;
    int              variables;
    const char     **file;      /* by number; NULL: no .file has it */
    int              files;
    void            *memory;    /* for gs_ptx_free */
} gs_ptx_module;

/* The reason why a text could not be parsed. */
typedef enum gs_ptx_unread_kind {
    GS_PTX_UNREAD_OTHER,        /* any other reason */
    GS_PTX_UNREAD_EXTERNAL,     /* a definition is elsewhere: .extern, .alias */
    GS_PTX_UNREAD_FUNCTION,     /* a call that cannot be inlined */
    GS_PTX_UNREAD_ATTRIBUTE     /* .attribute */
} gs_ptx_unread_kind;

typedef struct gs_ptx_unread {
    gs_ptx_unread_kind kind;
    int                line;    /* of the text, from 1; 0: no particular line */
} gs_ptx_unread;

/* Parses text of `size` bytes (no terminator needed). Codes: PARSE (text: "line 12: ..."), UNSUPPORTED (something that the emulated device does not support:
 * recursion, indirect calls, textures), MEMORY, RANGE (a limit exceeded). On failure *out is NULL, and *unread, if not NULL, says what could not be read. */
gs_status gs_ptx_parse(gs_ptx_module **out, const char *text, size_t size, gs_ptx_unread *unread, gs_error *error);
/* Bytes that ld or st transfers per thread; 0: not known. */
uint64_t  gs_ptx_access_bytes(const gs_ptx_instruction *at);
void      gs_ptx_free(gs_ptx_module **module);

#endif
