/* SPDX-License-Identifier: MIT
 * What the files of the scanner share: scanner.c moves over the text and shows words, directive.c has the lines that begin with #, source.c tokens and
 * literals. */
#ifndef GS_REDACT_SCANNER_H
#define GS_REDACT_SCANNER_H

#include "redact/redact.h"

enum { GS_SOURCE_WORD = 256, GS_SOURCE_NESTED = 64 };

/* Where an output may be taken back to. */
typedef struct gs_scanner_mark {
    size_t size;
    int    line;
    bool   begun;
} gs_scanner_mark;

typedef struct gs_scanner {
    const char      *at;
    gs_source_shown *out;
    int              line, mapped;       /* of the source; how many of its lines have a place */
    int              shown;              /* line of the text */
    bool             begun;              /* something stands in it */
    int              breaks, indent;     /* before the next token */
    bool             blank, joined;
    bool             fresh;              /* nothing but blanks and comments in this line of the source */
    bool             commented;          /* there was one: blanks behind it are no indentation */
    bool             directive;          /* until the line's end */
    int              row;                /* identifiers without anything between them */
    gs_scanner_mark  row_from;
    uint64_t         macro[GS_SOURCE_MACROS];   /* hashes of the first that are defined */
    int              macros;
    bool             open_angle;         /* the last thing was a <, with nothing behind it */
    int              parens, asm_at;     /* depth; where the operands of asm stand, 0: nowhere */
    bool             asm_next;
    int              depth;
    bool             other_dead[GS_SOURCE_NESTED];   /* the group behind #else is never compiled */
} gs_scanner;

char gs_scanner_peek(gs_scanner *s);   /* over joined lines */
void gs_scanner_step(gs_scanner *s);
bool gs_scanner_is_word(char c);      /* of an identifier or a number */
char gs_scanner_second(const gs_scanner *s);
bool gs_scanner_same(const char *a, const char *word, size_t size);
void gs_scanner_drop(gs_scanner *s, const char *from, size_t size);   /* remembers what is left out */
void gs_scanner_skip_comment(gs_scanner *s);
bool gs_scanner_at_comment(gs_scanner *s);
void gs_scanner_drop_line(gs_scanner *s);   /* up to the end of the line that a compiler sees */
void gs_scanner_open_line(gs_scanner *s);   /* before whatever is shown: the line's end, indentation or blank that is due */
void gs_scanner_show(gs_scanner *s, const char *bytes, size_t size);
void gs_scanner_show_word(gs_scanner *s, const char *word, size_t size);
size_t gs_scanner_read_word(gs_scanner *s, char word[GS_SOURCE_WORD]);
void gs_scanner_end_row(gs_scanner *s);
void gs_scanner_map_lines(gs_scanner *s, int to);   /* of the source up to here: they are shown in that line */

size_t gs_scanner_at_hash(gs_scanner *s);    /* characters of # or of what stands for it; 0: none */
void   gs_scanner_directive(gs_scanner *s);  /* at a # that begins a line */

#endif
