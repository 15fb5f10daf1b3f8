/* SPDX-License-Identifier: MIT
 * Shows a kernel that somebody else wrote, and messages about it, to a model that is to write another kernel, without text that could address the model. The source is
 * not parsed like a compiler does; if a text can be read in two ways, less of it is shown.
 *
 * Shown of CUDA C: identifiers of at most 40 characters, at most two in a row besides types, control words and macros (more in a row is prose, and is treated like a
 * group that is compiled out), numbers, operators, single letters or digits in quotes; #define, #undef, conditions, #include of common/, #pragma unroll; of inline
 * assembly what asm.c knows as PTX. Not shown: comments, strings, other directives, code under #if 0, bytes outside of ASCII, and character sequences that could form
 * chat templates or code fences (`, <|, </, <word>). */
#ifndef GS_REDACT_REDACT_H
#define GS_REDACT_REDACT_H

#include "base/text.h"

enum {
    GS_SOURCE_NAME    = 40,           /* longest identifier that is shown; a longer one becomes name_<hash> */
    GS_SOURCE_ROW     = 2,            /* most identifiers in a row, besides words of types and a few macros */
    GS_SOURCE_MACROS  = 16,           /* number of those macros */
    GS_REASON_SHOWN   = 1200,         /* most bytes of a shown message */
    GS_SOURCE_DROPPED = 256 << 10     /* most bytes of omitted text that are kept, to be searched for in messages */
};

typedef struct gs_source_shown {
    gs_text text;                     /* the code; ends with a newline, or is empty */
    gs_text dropped;                  /* what was left out, each piece followed by a newline; at most GS_SOURCE_DROPPED bytes */
    int    *line;                     /* line[i]: the line of text, from 1, that has line i + 1 of the source */
    int     lines, capacity;
    bool    renamed;                  /* the source has a #line: file names and line numbers in messages are not reliable */
    bool    cut;                      /* text is incomplete: the limit was reached, or conditions are nested too deep */
    bool    failed;                   /* MEMORY */
} gs_source_shown;                    /* zero-initialise; gs_source_shown_free */

/* limit: most bytes of the text, which is cut at the end of a line. Codes: MEMORY. Takes time proportional to the source. */
gs_status gs_source_show(gs_source_shown *out, const char *source, size_t limit, gs_error *error);
void      gs_source_shown_free(gs_source_shown *shown);

/* Adds a message about a candidate: kinds of errors, places (as lines of the shown text, if given) and plain characters. Left out: lines that quote the source, texts
 * of #error, #warning, static_assert, attributes and pragmas, and contents of comments or strings. Of quoted text identifiers and types are kept. shown: the same
 * candidate's source; NULL: it has none (a schedule) or it is not known; then of a compiler's message only the place and kind are kept. */
void gs_reason_show(gs_text *out, const char *reason, const gs_source_shown *shown);

/* asm.c: the text between the quotes of an asm statement, escapes resolved, without its comments. false: it contains something that is not PTX, and *out is unchanged;
 * or out of memory (out->failed). */
bool gs_asm_show(gs_text *out, const char *text, size_t size);

/* gs_word_plain: types and qualifiers, several of which may follow each other in code. gs_word_role: words of which chat templates are made, in upper or lower case. */
bool gs_word_plain(const char *word, size_t size);
bool gs_word_role(const char *word, size_t size);

/* Adds a name: the word itself, or name_<hash> if it is too long. */
void gs_name_show(gs_text *out, const char *word, size_t size);

#endif
