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
    int    turns, asked;   /* turns of the island; those of them in which the current model was asked */
    int    barren;         /* consecutive turns without improvement */
    int    parent;         /* index of the attempt to improve; -1: none yet */
    int    failure;        /* index of the last failed attempt since the lineage began or was restarted; -1: none */
    double score;          /* the parent's; 0: none */
} gs_lineage;

/* An answer in the store that was not evaluated yet, because a run was stopped. */
typedef struct gs_owed {
    char  uid[GS_STORE_UID];
    int   island, number;
    char *base, *answer;
} gs_owed;

typedef struct gs_tried {
    int             island;
    double          score;
    gs_turn_outcome outcome;   /* its texts belong to the attempt of the same index */
} gs_tried;

typedef struct gs_lineages {
    gs_attempt *attempt;    /* every candidate once, in order of arrival; texts are owned */
    gs_tried   *tried;      /* one per attempt */
    int         count, capacity, tried_capacity;
    gs_lineage  lineage[GS_AUTHOR_ISLANDS];
    gs_archive  archive;
    gs_owed    *owed;
    int         owed_count, owed_capacity;
    int         patience;   /* after this many barren turns an island is restarted from another island's elite */
} gs_lineages;

/* Reads the turns of the problem on the device from the store. Those of other models count as attempts, but not in `asked`. */
gs_status gs_lineages_read(gs_lineages *out, gs_store *store, const char *device, const char *problem, const char *model, int patience, gs_error *error);
void      gs_lineages_free(gs_lineages *lineages);

typedef struct gs_pick {
    int  parent;   /* index of an attempt; -1: the template, or nothing */
    bool restarted;
} gs_pick;

/* What the next turn of an island improves: usually the best of its lineage, sometimes another elite of the island; after `patience` barren turns an elite of
 * another island. */
gs_pick gs_lineages_pick(const gs_lineages *lineages, int island, gs_random *random);

/* Begins a turn of an island. base: as in the turn; asked: it is a question to the current model. */
void gs_lineages_begin(gs_lineages *lineages, int island, int number, const char *base, bool asked);

/* Records the outcome of the turn's candidate. source, manifest: copied; NULL: it is not a kernel. improved: it is better than the best of the lineage.
 * MEMORY. */
gs_status gs_lineages_take(gs_lineages *lineages, int island, const char *base, const gs_turn_outcome *outcome, const char *source, const char *manifest, bool *improved,
                        gs_error *error);

bool gs_lineages_is_family(const char *base);
int gs_lineages_find(const gs_lineages *lineages, const char *candidate);   /* -1: not tried yet */

/* The score of a candidate: the lower confidence bound of its ratio, so that noise does not count; for a predicted time the ratio. 0: it did not pass. */
double gs_outcome_score(const gs_turn_outcome *outcome);

#endif
