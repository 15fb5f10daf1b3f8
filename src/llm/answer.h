/* SPDX-License-Identifier: MIT
 * What a model was asked to answer, read strictly. Reasons are for the model too, in a second turn: they name the line and what was expected, and quote
 * nothing of the answer.
 *
 * A kernel:                          Schedules: a JSON array of schedule strings, alone or in one fenced block
 *
 *     # Analysis                         ```json
 *     what holds the kernel back         ["ws/128x256x64/s4/c2x1/coop/g8", "..."]
 *     # Plan                             ```
 *     what will change
 *     # Code
 *     ```cuda kernel.cu
 *     ...
 *     ```
 *
 * Headings have one to three #, any case, and perhaps a colon. A block opens with a language and its name. Thoughts in <think> at the beginning are no fault. */
#ifndef GS_LLM_ANSWER_H
#define GS_LLM_ANSWER_H

#include <stddef.h>
#include <gemmsmith/status.h>

enum {
    GS_ANSWER_BYTES     = 1 << 20,    /* of an answer */
    GS_ANSWER_PART      = 64 << 10,   /* of analysis and of plan */
    GS_ANSWER_BLOCK     = 512 << 10,  /* of a block */
    GS_ANSWER_BLOCKS    = 8,
    GS_ANSWER_SENTENCES = 64,
    GS_ANSWER_SENTENCE  = 128         /* with its end */
};

typedef struct gs_answer {
    char *memory;                     /* of all below; owned */
    const char *analysis, *plan;      /* terminated; without blank lines around them */
    struct {
        const char *name, *text;      /* lines as they were, each with its end; CR LF has become LF */
    } block[GS_ANSWER_BLOCKS];
    int blocks;
} gs_answer;

/* names: the blocks that there must be, each once and no other, ended by NULL; those that begin with ? may be missing, but not all. PARSE, RANGE (field: "line 12" or the part), MEMORY; *out is then empty. */
extern const char *const gs_answer_kernel[];   /* names: kernel.cu, manifest */
extern const char *const gs_answer_edits[];    /* the same, of which one may be missing (llm/edit.h) */
gs_status gs_answer_parse(gs_answer *out, const char *text, size_t size, const char *const *names, gs_error *error);
const char *gs_answer_block(const gs_answer *answer, const char *name);   /* NULL: none */
void      gs_answer_free(gs_answer *answer);

typedef struct gs_sentences {
    char text[GS_ANSWER_SENTENCES][GS_ANSWER_SENTENCE];   /* letters, digits and ._-/ alone; whether they are schedules is for others */
    int  count;
} gs_sentences;

/* At least one, at most `most`. PARSE, RANGE: "schedule string 3", "line 12" or "answer". */
gs_status gs_answer_sentences(gs_sentences *out, const char *text, size_t size, int most, gs_error *error);

#endif
