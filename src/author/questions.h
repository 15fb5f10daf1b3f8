/* SPDX-License-Identifier: MIT
 * Questions under way: each waits for its answer in a thread of its own. The threads see the asker, which is not changed meanwhile, and their own question; the store,
 * the lineages and the device are the caller's alone. */
#ifndef GS_AUTHOR_QUESTIONS_H
#define GS_AUTHOR_QUESTIONS_H

#include <pthread.h>

#include "author/prompt.h"
#include "llm/edit.h"
#include "policy/llm_ask.h"
#include "store/store.h"
#include "worker/contenders.h"

/* What a model answered. */
typedef struct gs_written {
    char *source, *manifest;           /* owned; NULL: nothing could be read */
    bool  edited;
} gs_written;

/* How answers are read: gs_author_read's first argument. */
typedef struct gs_reading {
    gs_parent  parent;                 /* what edits are of; without texts: whole kernels alone */
    gs_edits   edits;
    gs_written written;
} gs_reading;

/* A gs_llm_read: the kernel of an answer, whole or made by edits, with a manifest that can be parsed. */
gs_status gs_author_read(void *reading, const char *text, size_t size, gs_error *error);
void      gs_written_free(gs_written *written);

typedef struct gs_question {
    int       island, number;
    char      base[GS_CONTENDER_NAME], uid[GS_STORE_UID];
    bool      second;                  /* the first answer could not be read */
    gs_text   system, question;
    gs_text   parent_source, parent_manifest;
    /* of its end */
    gs_status  status;
    gs_error   error;
    gs_text    said;                   /* the answer, unchanged */
    char       reason[GS_LLM_REASON];  /* why it could not be read; "": it was */
    gs_reading reading;
    /* of questions.c */
    gs_llm_asker        asker;         /* a copy, with this question's limits */
    struct gs_questions *pool;
    struct gs_question  *next;
    pthread_t           thread;
} gs_question;

typedef struct gs_questions {
    pthread_mutex_t mutex;
    pthread_cond_t  ended;
    gs_question    *list;              /* that have ended, and were not taken yet */
    int             under_way;         /* begun and not taken */
} gs_questions;

void gs_questions_open(gs_questions *pool);
void gs_questions_close(gs_questions *pool);   /* none is under way */

/* Asks; seconds: limit of the answer, 0: the asker's. On failure (MEMORY) it is not under way. */
gs_status gs_questions_begin(gs_questions *pool, const gs_llm_asker *asker, gs_question *question, double seconds, gs_error *error);

/* Waits for the end of one, of which there must be one under way, and takes it. */
gs_question *gs_questions_end(gs_questions *pool);

gs_question *gs_question_create(gs_error *error);
void         gs_question_free(gs_question *question);   /* NULL: nothing */

#endif
