/* SPDX-License-Identifier: MIT
 * Kernels that a language model writes for one problem: turn by turn, on several islands, each with its own lineage. A turn shows the model the
 * kernel to improve and what was tried, asks for a kernel and its manifest, and evaluates it. Every answer is stored before it is used, and its outcome
 * after it, so a run that was stopped continues without asking the same question twice.
 *
 * No text of an answer reaches a message, a path or a log: candidates are named by the hash of their texts. docs/internals/write.md. */
#ifndef GS_AUTHOR_AUTHOR_H
#define GS_AUTHOR_AUTHOR_H

#include "author/prompt.h"
#include "evaluate/environment.h"
#include "policy/llm.h"

#define GS_AUTHOR_NOTHING "nothing"
#define GS_AUTHOR_ISLANDS 64

typedef struct gs_author_turn {
    int         island, number;        /* island: 0, 1, ...; number: the island's turns, 1, 2, ... */
    int         done, total;           /* turns of all islands: done, and to do in total; turns of earlier runs count */
    const char *base;                  /* what was to be improved: "" (nothing), a family, "source:<hash>" */
    const char *fault;                 /* why the answer could not be parsed; "": it was */
    const gs_evaluation *got;          /* NULL: nothing was evaluated. Its reason may quote the candidate; show this one: */
    const char *reason;                /* the reason without quotes (redact/redact.h); "" if there is nothing to add to the verdict */
    bool        edited;                /* the answer consisted of edits of the base */
    bool        again;                 /* an identical candidate had been evaluated before; its result is used */
    bool        improved, best;        /* better than the best of its lineage; than the best for the problem */
} gs_author_turn;

typedef struct gs_author_options {
    const gs_llm_options *llm;
    const gs_environment_options *environment;
    const char *from;                  /* family whose working kernel is the template, or GS_AUTHOR_NOTHING; NULL: the family of the best schedule */
    int         islands, turns;        /* turns: per island. 0: 4, 8. At most GS_AUTHOR_ISLANDS islands */
    int         patience;              /* after this many turns without improvement an island restarts from another island's elite; 0: 3 */
    int         asks;                  /* concurrent questions, of different islands; 0: 1 */
    gs_edits    edits;                 /* whether answers may, or must, be edits of the base */
    bool        again;                 /* `turns` counts in addition to those in the store */
    double      budget_s;              /* 0: unlimited */
    const char *profile;               /* the program that Nsight Compute profiles, if it is installed; NULL: no profile */
    uint64_t    seed;                  /* for choosing what is shown and improved; 0: 1 */
    void      (*begins)(void *self, int done, int total, int island);   /* at the start of a turn; may be NULL */
    void      (*told)(void *self, const gs_author_turn *turn);           /* at its end; may be NULL */
    void       *self;
} gs_author_options;

typedef enum gs_author_end { GS_AUTHOR_DONE, GS_AUTHOR_SILENT, GS_AUTHOR_TIME, GS_AUTHOR_STOPPED } gs_author_end;
const char *gs_author_end_name(gs_author_end end);   /* "turns"; "silent": the endpoint failed or a budget is used up; "time"; "stopped" */

/* A kernel of the archive: the best of its kind. */
typedef struct gs_author_kernel {
    char    candidate[GS_CONTENDER_NAME], base[GS_CONTENDER_NAME], kind[64];
    char   *source, *manifest;
    double  us, ratio, score, reward;  /* score: the lower confidence bound of the ratio; for a prediction the ratio */
    int     registers, smem, island;
} gs_author_kernel;

typedef struct gs_author_result {
    gs_author_end end;
    int          turns, before;        /* turns of all islands; those of earlier runs */
    int          judged, passed, unread;   /* in this run: kernels with a verdict; kernels that passed; answers that could not be parsed even after a repair */
    char         schedule[GS_SCHEDULE_TEXT];   /* the best schedule known; "": none */
    double       schedule_us, library_us, floor_us;
    gs_author_kernel  *elite;                /* best first */
    int          count;
    double       seconds;
} gs_author_result;

/* Free *result whatever is returned. A stop, the end of the time budget and a failing endpoint are not errors: see result->end. Codes: ARGUMENT, UNSUPPORTED
 * (no family accepts the problem, or options->from does not), PARSE and NOT_FOUND (prompts), and the codes of the environment and the store. */
gs_status gs_author_run(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem, const gs_author_options *options,
                   gs_author_result *result, gs_error *error);
void      gs_author_free(gs_author_result *result);

#endif
