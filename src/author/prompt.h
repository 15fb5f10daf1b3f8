/* SPDX-License-Identifier: MIT
 * The prompt for a model that writes a kernel: task and contract, problem, device, the wrappers of kernels/common, a working kernel to start from, earlier attempts
 * with their outcomes, metrics and notes. It is made from the texts of share/prompts, numbers, and the embedded sources. Of earlier candidates it shows only
 * what redact/redact.h lets through: code without comments and strings, messages without quotations.
 *
 *     gs_text system = {0}, question = {0};
 *     gs_source_prompt(&view, &random, &system, &question, &error);
 *     ... ask; if the answer (llm/answer.h, blocks "kernel.cu" and "manifest") cannot be read:
 *     gs_source_repair(view.folder, error.text, &question, &error); */
#ifndef GS_AUTHOR_PROMPT_H
#define GS_AUTHOR_PROMPT_H

#include <stdbool.h>
#include <gemmsmith/problem.h>

#include "base/random.h"
#include "base/text.h"
#include "schedule/caps.h"

enum { GS_SOURCE_PARENT_BYTES = 28 << 10 };      /* of the source of the kernel to improve, at most */
enum { GS_SOURCE_PROMPT_BYTES = 144 << 10 };     /* both texts together; if they do not fit, examples are dropped first, then notes, then the code of the last failure */

/* A kernel that was tried for the problem. Strings are not owned; NULL is "". */
typedef struct gs_attempt {
    const char *name;                            /* "source:<hash>" */
    const char *source, *manifest;               /* as answered */
    const char *base;                            /* what it was derived from: "" (nothing), a family, "source:..." */
    const char *verdict, *reason;                /* reason: one or more lines from the compiler, the inspection or the verifier */
    const char *metrics;                         /* lines "name value" (worker/metrics.h); "": none */
    double      us, ratio, reward;               /* us 0: not timed; ratio 0: not timed beside cuBLASLt */
    int         registers, smem;
    bool        again;                           /* measured a second time: preferred as an example */
} gs_attempt;

typedef enum gs_edits { GS_EDITS_NONE, GS_EDITS_ALSO, GS_EDITS_ONLY } gs_edits;

typedef struct gs_source_view {
    const char       *folder;                    /* of prompt templates; NULL: as for gs_prompt_add */
    const gs_caps    *caps;
    const gs_problem *problem;
    double            floor_us, library_us;      /* library_us 0: not known */
    const char       *best;                      /* the best known schedule of the families; NULL: none */
    double            best_us;
    const char       *family;                    /* "ws": the template is the working kernel of this family, of `best` if that belongs to it; or a schedule, whose kernel is the
                                                    template; NULL: no template */
    const gs_attempt *parent;                    /* the attempt to improve; NULL: start from the template, or from nothing */
    const gs_attempt *attempts;                  /* all attempts, in order of arrival */
    int               count;
    const gs_attempt *failure;                   /* the last that failed; NULL: none */
    gs_edits          edits;                     /* whether the answer may, or must, be edits of the parent or the template, if there is one */
    const char       *notes;                     /* retrieved (notes/note.h); NULL or "": none */
} gs_source_view;

/* Appends to both texts; on failure they are unchanged. random chooses the examples; the same state gives the same texts. Codes: those of gs_prompt_add;
 * PARSE (family): unknown family; RANGE (prompts): the templates of the folder leave no room; MEMORY. */
gs_status gs_source_prompt(const gs_source_view *view, gs_random *random, gs_text *system, gs_text *question, gs_error *error);

/* The texts of the template that the prompt shows; both stay empty if there is none. Codes: those of gs_source_prompt for it. */
gs_status gs_source_template(const gs_source_view *view, gs_text *source, gs_text *manifest, gs_error *error);

/* Appends everything known of an attempt except its code: figures, base, metrics, verdict and reason. Codes: MEMORY. */
gs_status gs_attempt_show(gs_text *out, const gs_source_view *view, const gs_attempt *attempt, gs_error *error);

/* Appends a manifest in the form of the prompts. false: it cannot be parsed. */
bool gs_source_manifest(gs_text *out, const char *text);

/* Appends to a question why its answer could not be parsed. reason: from gs_answer_parse or the manifest's parser; it must not quote the answer. */
gs_status gs_source_repair(const char *folder, const char *reason, gs_text *question, gs_error *error);

#endif
