/* SPDX-License-Identifier: MIT
 * One prompt for one problem, from a store that grows: what a trainer asks for while it trains. The texts are those of tasks (rows.h), with what is known now. */
#ifndef GS_DATASET_ASK_H
#define GS_DATASET_ASK_H

#include "author/prompt.h"
#include "store/store.h"

typedef struct gs_ask {
    gs_store         *store;
    const char       *device;     /* its name in the store */
    const gs_caps    *caps;       /* NULL: of the device's profile */
    const gs_problem *problem;
    const char       *folder;     /* of prompts; NULL: as gs_prompt_add has it */
    bool              source;     /* a kernel is asked for, and not a schedule */
    bool              examples;   /* earlier candidates, fast and slow, and notes of the store's winners */
    gs_edits          edits;      /* source */
    const gs_attempt *last;       /* the last attempt, or NULL; one without source is a schedule, whose kernel a source prompt begins with */
} gs_ask;

typedef struct gs_asked {
    gs_text system, ask;
    gs_text source, manifest;     /* the kernel to begin with, where it is not the last attempt's own; else empty */
    double  floor_us, library_us; /* library_us 0: not known */
    bool    predicted;            /* the device's times are */
    int     timed, failed;        /* candidates of the mode that the store knows, shown or not; 0 without examples */
} gs_asked;                       /* gs_asked_free, also after a failure */

/* Codes: UNSUPPORTED (device: it has no profile; problem: no family takes it there); the store's; those of gs_prompt_add; MEMORY. */
gs_status gs_dataset_ask(const gs_ask *how, gs_asked *out, gs_error *error);
void      gs_asked_free(gs_asked *asked);

#endif
