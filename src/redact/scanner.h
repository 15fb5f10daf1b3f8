/* SPDX-License-Identifier: MIT
 * Shared by the files of the scanner: scanner.c moves over the text and shows words, directive.c handles lines that begin with #, source.c tokens and literals. */
#ifndef GS_REDACT_SCANNER_H
#define GS_REDACT_SCANNER_H

#include "redact/redact.h"

enum { GS_SOURCE_WORD = 256, GS_SOURCE_NESTED = 64 };

/* A position to which the output may be reset. */
typedef struct gs_scanner_mark {
    size_t size;
    int    line;
    bool   begun;
} gs_scanner_mark;

typedef struct gs_scanner {
    const char      *at;
    gs_source_shown *out;
    int              line, mapped;       /* line of the source; number of source lines that have a place in the text */
    int              shown;              /* current line of the text */
    bool             begun;              /* that line is not empty */
    int              breaks, indent;     /* line breaks and indentation to add before the next token */
    bool             blank, joined;
    bool             fresh;              /* so far only blanks and comments in this line of the source */
    bool             commented;          /* one of them was a comment: blanks after it are no indentation */
    bool             directive;          /* inside a directive, until the end of the line */
    int              row;                /* number of identifiers in a row */
    gs_scanner_mark  row_from;
    uint64_t         macro[GS_SOURCE_MACROS];   /* hashes of the first macros that are defined */
    int              macros;
    bool             open_angle;         /* the last token was a <, with nothing after it */
    int              parens, asm_at;     /* nesting depth; depth at which operands of asm are read, 0: not in asm */
    bool             asm_next;
    int              depth;
    bool             other_dead[GS_SOURCE_NESTED];   /* the group after #else is never compiled */
} gs_scanner;

char gs_scanner_peek(gs_scanner *s);   /* after line joins */
void gs_scanner_step(gs_scanner *s);
bool gs_scanner_is_word(char c);      /* c may be part of an identifier or a number */
char gs_scanner_second(const gs_scanner *s);
bool gs_scanner_same(const char *a, const char *word, size_t size);
void gs_scanner_drop(gs_scanner *s, const char *from, size_t size);   /* keeps what is left out */
void gs_scanner_skip_comment(gs_scanner *s);
bool gs_scanner_at_comment(gs_scanner *s);
void gs_scanner_drop_line(gs_scanner *s);   /* drops the rest of the logical line */
void gs_scanner_open_line(gs_scanner *s);   /* before anything is shown: adds the pending newline, indentation or blank */
void gs_scanner_show(gs_scanner *s, const char *bytes, size_t size);
void gs_scanner_show_word(gs_scanner *s, const char *word, size_t size);
size_t gs_scanner_read_word(gs_scanner *s, char word[GS_SOURCE_WORD]);
void gs_scanner_end_row(gs_scanner *s);
void gs_scanner_map_lines(gs_scanner *s, int to);   /* records the current text line for the source lines up to here */

size_t gs_scanner_at_hash(gs_scanner *s);    /* number of characters of a # or its other spellings; 0: none */
void   gs_scanner_directive(gs_scanner *s);  /* at a # at the beginning of a line */

#endif
