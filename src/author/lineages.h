/* SPDX-License-Identifier: MIT
 * Lineages: what models have tried for a problem, island by island, and what to improve next. All of it is computed from the turns in the
 * store, so a run that is continued has the same state. */
#ifndef GS_AUTHOR_LINEAGES_H
#define GS_AUTHOR_LINEAGES_H

#include "store/store.h"
#include "author/archive.h"
#include "author/prompt.h"
#include "author/author.h"

typedef struct gs_lineage {
    int    turns, asked;   /* turns of the island; of these, asked of the current model */
    int    barren;         /* turns in a row without improvement */
    int    parent;         /* the attempt to improve; -1: none yet */
    int    failure;        /* the last failed attempt since the lineage began or was restarted; -1: none */
    double score;          /* the parent's; 0: none */
} gs_lineage;

/* An answer in the store that was not evaluated yet. */
typedef struct gs_owed {
    char  uid[GS_STORE_UID];
    int   island, number;
    char *base, *answer;
} gs_owed;

typedef struct gs_tried {
    int             island;
    double          score;
    gs_turn_outcome outcome;   /* its texts are the attempt's */
} gs_tried;

typedef struct gs_lineages {
    gs_attempt *attempt;    /* every candidate once, in the order in which they came; texts are owned */
    gs_tried   *tried;      /* of each */
    int         count, capacity, tried_capacity;
    gs_lineage  lineage[GS_AUTHOR_ISLANDS];
    gs_archive  archive;
    gs_owed    *owed;
    int         owed_count, owed_capacity;
    int         patience;   /* after so many barren turns an island is restarted from another one's elite */
} gs_lineages;

/* Reads what the store has of the problem on the device. Turns of other models count as attempts, but not as asked of this model. */
gs_status gs_lineages_read(gs_lineages *out, gs_store *store, const char *device, const char *problem, const char *model, int patience, gs_error *error);
void      gs_lineages_free(gs_lineages *lineages);

typedef struct gs_pick {
    int  parent;   /* attempt; -1: the template, or nothing */
    bool restarted;
} gs_pick;

/* What the next turn of an island is to improve: mostly the best of its lineage, sometimes another elite of the island; after too many barren turns an elite of
 * another island. */
gs_pick gs_lineages_pick(const gs_lineages *lineages, int island, gs_random *random);

/* A turn of an island begins: base as in the turn; asked: the model that is asked now. */
void gs_lineages_begin(gs_lineages *lineages, int island, int number, const char *base, bool asked);

/* The outcome of its candidate. source, manifest: copied; NULL: the candidate is no kernel. improved: it is better than the best of the lineage. MEMORY. */
gs_status gs_lineages_take(gs_lineages *lineages, int island, const char *base, const gs_turn_outcome *outcome, const char *source, const char *manifest, bool *improved,
                        gs_error *error);

bool gs_lineages_is_family(const char *base);
int gs_lineages_find(const gs_lineages *lineages, const char *candidate);   /* -1: it was not tried */

/* The score of a candidate: the lower end of its ratio's interval, so that noise does not count; of a predicted time the ratio. 0: it did not pass. */
double gs_outcome_score(const gs_turn_outcome *outcome);

#endif
