/* SPDX-License-Identifier: MIT
 * Kernels that a language model writes for one problem: turn by turn, on several islands, each with its own line of development. A turn shows the model what
 * is to be developed and what was tried, asks for a kernel and its manifest, and has the environment judge it. Every answer is in the store before anything
 * is done with it, and what came of it behind it: a run that is stopped goes on, and asks nothing twice.
 *
 * Of an answer nothing reaches a message, a path or a log: candidates are called by the hash of their texts. docs/internals/write.md. */
#ifndef GS_AUTHOR_AUTHOR_H
#define GS_AUTHOR_AUTHOR_H

#include "evaluate/environment.h"
#include "policy/llm.h"

#define GS_AUTHOR_NOTHING "nothing"
#define GS_AUTHOR_ISLANDS 64

typedef struct gs_author_turn {
    int         island, number;        /* 0, 1, ...; of the island's turns: 1, 2, ... */
    int         done, total;           /* turns of all islands that were asked for; what an earlier run did counts */
    const char *base;                  /* what was developed: "", a family, "source:<hash>" */
    const char *fault;                 /* why the answer could not be read; "": it could */
    const gs_evaluation *got;          /* NULL: nothing to judge. Its reason may have words of the candidate in it: */
    const char *reason;                /* the same as it may be shown (redact/redact.h); "" where the verdict says all */
    bool        again;                 /* it was tried before, and is not tried again */
    bool        improved, best;        /* better than what its lineage had; than all of the problem's */
} gs_author_turn;

typedef struct gs_author_options {
    const gs_llm_options *llm;
    const gs_environment_options *environment;
    const char *from;                  /* family whose working kernel is the template, GS_AUTHOR_NOTHING; NULL: that of the best schedule */
    int         islands, turns;        /* turns of each; 0: 4, 8. At most GS_AUTHOR_ISLANDS islands */
    int         patience;              /* turns without a gain after which an island goes on from another one's elite; 0: 3 */
    bool        again;                 /* as many turns as that behind those that the store has */
    double      budget_s;              /* 0: none */
    const char *profile;               /* the program, which Nsight Compute runs where there is one; NULL: it is not asked */
    uint64_t    seed;                  /* of what is shown and developed; 0: 1 */
    void      (*begins)(void *self, int done, int total, int island);   /* a turn; may be NULL */
    void      (*told)(void *self, const gs_author_turn *turn);           /* what came of it; may be NULL */
    void       *self;
} gs_author_options;

typedef enum gs_author_end { GS_AUTHOR_DONE, GS_AUTHOR_SILENT, GS_AUTHOR_TIME, GS_AUTHOR_STOPPED } gs_author_end;
const char *gs_author_end_name(gs_author_end end);   /* "turns", "silent": the endpoint is given up or a budget used up, "time", "stopped" */

/* A kernel of the archive, the best of its kind. */
typedef struct gs_author_kernel {
    char    candidate[GS_CONTENDER_NAME], base[GS_CONTENDER_NAME], kind[64];
    char   *source, *manifest;
    double  us, ratio, score, reward;  /* score: the lower end of the ratio; of a prediction the ratio */
    int     registers, smem, island;
} gs_author_kernel;

typedef struct gs_author_result {
    gs_author_end end;
    int          turns, before;        /* of all islands; those that the store had */
    int          judged, passed, unread;   /* here: kernels that have a verdict; answers that could not be read, also at the second attempt */
    char         schedule[GS_SCHEDULE_TEXT];   /* the best one of the families; "": none is known */
    double       schedule_us, library_us, floor_us;
    gs_author_kernel  *elite;                /* best first */
    int          count;
    double       seconds;
} gs_author_result;

/* *result is to be freed, whatever is returned. A stop, the end of the time and an endpoint that is given up are no failures: the result says so. Codes: ARGUMENT,
 * UNSUPPORTED (no family takes the problem, or not this one), PARSE and NOT_FOUND (prompts), those of the environment and of the store: the machine. */
gs_status gs_author_run(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem, const gs_author_options *options,
                   gs_author_result *result, gs_error *error);
void      gs_author_free(gs_author_result *result);

#endif
