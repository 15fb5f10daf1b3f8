/* SPDX-License-Identifier: MIT
 * The prompt for one problem, from a store that may still grow: what a trainer requests during training. The texts are those of tasks (rows.h), with what the
 * store has now. */
#ifndef GS_DATASET_ASK_H
#define GS_DATASET_ASK_H

#include "author/prompt.h"
#include "store/store.h"

typedef struct gs_ask {
    gs_store         *store;
    const char       *device;     /* the device's name in the store */
    const gs_caps    *caps;       /* NULL: those of the device's profile */
    const gs_problem *problem;
    const char       *folder;     /* of prompt templates; NULL: as for gs_prompt_add */
    bool              source;     /* the prompt asks for a kernel, otherwise for a schedule */
    bool              examples;   /* show earlier candidates, fast and slow, and notes about the store's winners */
    gs_edits          edits;      /* source only */
    const gs_attempt *last;       /* the last attempt, or NULL; without source it is a schedule, whose kernel is then the parent in a source prompt */
} gs_ask;

typedef struct gs_asked {
    gs_text system, ask;
    gs_text source, manifest;     /* the kernel to begin with, unless it is the last attempt's own; else empty */
    double  floor_us, library_us; /* library_us 0: not known */
    bool    predicted;            /* the device's times are predictions */
    int     timed, failed;        /* candidates of this kind in the store, shown or not; 0 without examples */
} gs_asked;                       /* free with gs_asked_free, also after a failure */

/* Codes: UNSUPPORTED (device: it has no profile; problem: no family accepts it there); the store's; those of gs_prompt_add; MEMORY. */
gs_status gs_dataset_ask(const gs_ask *how, gs_asked *out, gs_error *error);
void      gs_asked_free(gs_asked *asked);

#endif
