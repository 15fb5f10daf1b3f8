/* SPDX-License-Identifier: MIT
 * Strict parser of a language model's answer. Error messages are also sent to the model in a second turn: they name the line and what was expected, and
 * quote nothing of the answer.
 *
 * A kernel:                          Schedules: a JSON array of schedule strings, alone or in one fenced block
 *
 *     # Analysis                         ```json
 *     what limits the kernel             ["ws/128x256x64/s4/c2x1/coop/g8", "..."]
 *     # Plan                             ```
 *     what will change
 *     # Code
 *     ```cuda kernel.cu
 *     ...
 *     ```
 *
 * A heading has one to three #, in any case, with an optional colon. A block opens with its language and its name. A leading <think>...</think> is skipped. */
#ifndef GS_LLM_ANSWER_H
#define GS_LLM_ANSWER_H

#include <stddef.h>
#include <gemmsmith/status.h>

enum {
    GS_ANSWER_BYTES     = 1 << 20,    /* of an answer */
    GS_ANSWER_PART      = 64 << 10,   /* analysis and plan, each */
    GS_ANSWER_BLOCK     = 512 << 10,  /* of a block */
    GS_ANSWER_BLOCKS    = 8,
    GS_ANSWER_SENTENCES = 64,
    GS_ANSWER_SENTENCE  = 128         /* the longest schedule string, with its terminator */
};

typedef struct gs_answer {
    char *memory;                     /* holds all texts below; owned */
    const char *analysis, *plan;      /* terminated, without surrounding blank lines */
    struct {
        const char *name, *text;      /* lines as in the answer, each with its line end; CR LF has become LF */
    } block[GS_ANSWER_BLOCKS];
    int blocks;
} gs_answer;

/* names: the required blocks, each exactly once and no others, ended by NULL; a name with a leading ? may be missing, but not all blocks. PARSE, RANGE
 * (field: "line 12" or the part), MEMORY; *out is then empty. */
extern const char *const gs_answer_kernel[];   /* names: kernel.cu, manifest */
extern const char *const gs_answer_edits[];    /* the same blocks, each optional, but not both (llm/edit.h) */
gs_status gs_answer_parse(gs_answer *out, const char *text, size_t size, const char *const *names, gs_error *error);
const char *gs_answer_block(const gs_answer *answer, const char *name);   /* NULL: none */
void      gs_answer_free(gs_answer *answer);

typedef struct gs_sentences {
    char text[GS_ANSWER_SENTENCES][GS_ANSWER_SENTENCE];   /* letters, digits and ._-/ only; whether they are schedules is not checked */
    int  count;
} gs_sentences;

/* Parses 1 to `most` schedule strings. PARSE, RANGE: "schedule string 3", "line 12" or "answer". */
gs_status gs_answer_sentences(gs_sentences *out, const char *text, size_t size, int most, gs_error *error);

#endif
