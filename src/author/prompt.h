/* SPDX-License-Identifier: MIT
 * What a model is shown when it is to write a kernel: task and contract, problem, device, the wrappers of kernels/common, a working kernel to begin from, what was
 * tried and what came of it, metrics and notes. From the texts of share/prompts, from numbers, and from the sources that the program carries. Of earlier
 * candidates it has what redact/redact.h lets through: code without comments and strings, messages without quotations.
 *
 *     gs_text system = {0}, question = {0};
 *     gs_source_prompt(&view, &random, &system, &question, &error);
 *     ... ask; where the answer (llm/answer.h, blocks "kernel.cu" and "manifest") cannot be read:
 *     gs_source_repair(view.folder, error.text, &question, &error); */
#ifndef GS_AUTHOR_PROMPT_H
#define GS_AUTHOR_PROMPT_H

#include <stdbool.h>
#include <gemmsmith/problem.h>

#include "base/random.h"
#include "base/text.h"
#include "schedule/caps.h"

enum { GS_SOURCE_PROMPT_BYTES = 96 << 10 };      /* of both texts together; examples go first, then notes, then the code of the last failure */

/* A kernel that was tried for the problem. Strings are the caller's; NULL is "". */
typedef struct gs_attempt {
    const char *name;                            /* "source:<hash>" */
    const char *source, *manifest;               /* as answered */
    const char *base;                            /* what it was developed from: "", a family, "source:..." */
    const char *verdict, *reason;                /* reason: one or more lines, as the compiler, the inspection or the verifier gave them */
    const char *metrics;                         /* lines "name value" (worker/metrics.h); "": none */
    double      us, ratio, reward;               /* us, ratio 0: not timed, not beside the library */
    int         registers, smem;
    bool        again;                           /* measured again: such go first as examples */
} gs_attempt;

typedef struct gs_source_view {
    const char       *folder;                    /* of prompts; NULL: as gs_prompt_add has it */
    const gs_caps    *caps;
    const gs_problem *problem;
    double            floor_us, library_us;      /* library_us 0: not known */
    const char       *best;                      /* the best schedule of the families known; NULL: none */
    double            best_us;
    const char       *family;                    /* whose working kernel is the template: "ws" (best, if it is of that family), or a schedule; NULL: none */
    const gs_attempt *parent;                    /* what is to be developed further; NULL: from the template, or from nothing */
    const gs_attempt *attempts;                  /* all that were tried, in the order in which they came */
    int               count;
    const gs_attempt *failure;                   /* the last that failed; NULL: none */
    const char       *notes;                     /* retrieved (store/note.h); NULL or "": none */
} gs_source_view;

/* Adds to both texts, which keep what they had on failure. random: which examples are shown; the same state gives the same texts. Codes: those of gs_prompt_add;
 * PARSE (family) for one that there is not; RANGE (prompts): the texts of the folder leave no room; MEMORY. */
gs_status gs_source_prompt(const gs_source_view *view, gs_random *random, gs_text *system, gs_text *question, gs_error *error);

/* Adds to a question that its answer could not be read. reason: of gs_answer_parse, or the manifest's parser: one that quotes nothing of the answer. */
gs_status gs_source_repair(const char *folder, const char *reason, gs_text *question, gs_error *error);

#endif
