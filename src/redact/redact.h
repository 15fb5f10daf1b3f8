/* SPDX-License-Identifier: MIT
 * A kernel that somebody else wrote, and what a compiler or the verifier said of it, as they may be shown to a model that is to write another one: without what
 * could speak to it. Nothing here is understood by what it means to a compiler; where a text can be taken in two ways, less is shown.
 *
 * Of CUDA C stay: identifiers of at most 40 characters and at most two in a row beside types, control words and macros (what is more is prose, as in a group that is compiled out), numbers, operators,
 * one letter or digit between quotes; #define, #undef, conditions, #include of common/, #pragma unroll; of assembly what source_asm.c knows as PTX. Comments, strings,
 * other directives, what stands under #if 0, bytes outside of ASCII, and what chat templates or fences could be made of (`, <|, </, <word>) do not. */
#ifndef GS_REDACT_REDACT_H
#define GS_REDACT_REDACT_H

#include "base/text.h"

enum {
    GS_SOURCE_NAME    = 40,           /* characters of the longest identifier that is shown; a longer one is name_<hash> */
    GS_SOURCE_ROW     = 2,            /* identifiers in a row, but for words of types and a few macros */
    GS_SOURCE_MACROS  = 16,           /* so many */
    GS_REASON_SHOWN   = 1200,         /* bytes of a reason */
    GS_SOURCE_DROPPED = 256 << 10     /* bytes of what was left out that are remembered, to be looked for in reasons */
};

typedef struct gs_source_shown {
    gs_text text;                     /* the code; ends with a line's end, or is empty */
    gs_text dropped;                  /* what was left out, in pieces with a line's end behind each; at most GS_SOURCE_DROPPED */
    int    *line;                     /* line[i]: where line i + 1 of the source went in text, from 1 */
    int     lines, capacity;
    bool    renamed;                  /* there is a #line: file names and lines of messages mean nothing */
    bool    cut;                      /* text is not all: the limit was reached, or conditions are nested too deep */
    bool    failed;                   /* MEMORY */
} gs_source_shown;                    /* zero-initialise; gs_source_shown_free */

/* limit: most bytes of the text; the rest of it is cut at a line's end. Codes: MEMORY. Time in proportion to the source. */
gs_status gs_source_show(gs_source_shown *out, const char *source, size_t limit, gs_error *error);
void      gs_source_shown_free(gs_source_shown *shown);

/* Adds what was said of a candidate: kinds, places (by the lines of the shown text, where it is given) and plain characters. Lines that quote the source, texts
 * of #error, #warning, static_assert, attributes and pragmas, and what stands in its comments or strings are left out; of quotations identifiers and types stay.
 * shown: of that candidate; NULL: it has no source (a schedule), or it is not known: then places alone stay of what a compiler said. */
void gs_reason_show(gs_text *out, const char *reason, const gs_source_shown *shown);

/* source_asm.c: the text between the quotes of an asm statement, escapes resolved, without its comments; false: there is something in it that is not PTX, and *out is
 * as it was; or memory was short (out->failed). */
bool gs_asm_show(gs_text *out, const char *text, size_t size);

/* A word of types and qualifiers, of which several stand beside each other in code; one that chat templates are made of, in any case. */
bool gs_word_plain(const char *word, size_t size);
bool gs_word_role(const char *word, size_t size);

/* A name for one: the word as it is, or name_<hash> of one that is too long. */
void gs_name_show(gs_text *out, const char *word, size_t size);

#endif
